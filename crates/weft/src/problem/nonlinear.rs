//! Nonlinear problems: find u with F(u; v) = 0 for all v by Newton's method with line search.
//!
//! The Jacobian is the exact Gateaux derivative of the residual, made by [`Form::deriv`].

use super::linear::{check_conditions, check_regular, constraints, square_space};
use super::solver::System;
use super::{Dirichlet, ProblemError, Solver};
use crate::assemble::{MatrixPlan, VectorPlan};
use crate::field::Field;
use crate::form::{Expr, Form};
use crate::solve::Constraints;
use crate::sparse::BlockMatrix;

/// When Newton's method stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonOptions {
    /// Largest accepted |F| relative to |F| at the start. Default 1e-10.
    pub tolerance: f64,
    /// Largest accepted |F|. Default 1e-13.
    pub absolute: f64,
    /// Limit on steps. Default 50.
    pub max_iterations: usize,
}

impl Default for NewtonOptions {
    fn default() -> NewtonOptions {
        NewtonOptions {
            tolerance: 1e-10,
            absolute: 1e-13,
            max_iterations: 50,
        }
    }
}

/// How Newton's method went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewtonReport {
    /// Steps done.
    pub iterations: usize,
    /// |F| of the free unknowns at the start and after each step.
    pub history: Vec<f64>,
    /// Iterations of the linear solver, in all.
    pub linear_iterations: usize,
}

/// Halvings of a step before it is given up.
const MAX_HALVINGS: usize = 12;
/// Share of the predicted decrease that a step must reach (Armijo).
const SUFFICIENT: f64 = 1e-4;

/// A nonlinear problem with its plans, matrix and factorisation.
pub struct NonlinearProblem {
    residual_plan: VectorPlan,
    jacobian_plan: MatrixPlan,
    unknown: Field,
    conditions: Vec<Dirichlet>,
    matrix: BlockMatrix,
    residual: Vec<f64>,
    step: Vec<f64>,
    start: Vec<f64>,
    system: System,
    options: NewtonOptions,
}

impl NonlinearProblem {
    /// Plan the problem: `residual` holds a test function and the field `unknown`, whose
    /// values are the first guess and become the solution.
    pub fn new(
        residual: &Form,
        unknown: &Field,
        conditions: &[Dirichlet],
        solver: Solver,
        options: NewtonOptions,
    ) -> Result<NonlinearProblem, ProblemError> {
        let space = unknown.space();
        let residual_plan = VectorPlan::new(residual)?;
        if !residual_plan.test_space().same(space) {
            return Err(ProblemError::Mismatch(
                "the residual must be tested with the space of the unknown".to_owned(),
            ));
        }
        let jacobian = residual.deriv(unknown, &Expr::trial(space));
        if jacobian.check().is_ok() && jacobian.is_zero() {
            return Err(ProblemError::Mismatch(
                "the residual does not depend on the unknown".to_owned(),
            ));
        }
        let jacobian_plan = MatrixPlan::new(&jacobian)?;
        square_space(&jacobian_plan)?;
        check_conditions(conditions, space)?;
        let zeros = || vec![0.0; space.dof_count()];
        Ok(NonlinearProblem {
            matrix: jacobian_plan.matrix(),
            residual_plan,
            jacobian_plan,
            unknown: unknown.clone(),
            conditions: conditions.to_vec(),
            residual: zeros(),
            step: zeros(),
            start: zeros(),
            system: System::new(solver),
            options,
        })
    }

    /// The unknown.
    pub fn solution(&self) -> &Field {
        &self.unknown
    }

    /// The residual F(u; ·) without regard to the conditions: at constrained nodes the
    /// reactions.
    pub fn reactions(&mut self) -> Result<Vec<f64>, ProblemError> {
        let mut reactions = vec![0.0; self.residual.len()];
        self.residual_plan.assemble(&mut reactions)?;
        Ok(reactions)
    }

    /// Solve from the values the unknown has now.
    pub fn solve(&mut self) -> Result<NewtonReport, ProblemError> {
        let constraints = constraints(&self.conditions, self.unknown.space())?;
        // In a copy: no lock on the field is held while threads work.
        self.start.copy_from_slice(&self.unknown.values());
        constraints.set(&mut self.start)?;
        self.unknown.values_mut().copy_from_slice(&self.start);
        let mut report = NewtonReport::default();
        let mut norm = self.residual_norm(&constraints)?;
        let target = self.options.absolute.max(self.options.tolerance * norm);
        report.history.push(norm);
        let stopped = |report: &NewtonReport, norm: f64, reason: &'static str| {
            Err(ProblemError::Newton {
                iterations: report.iterations,
                residual: norm,
                target,
                reason,
            })
        };
        if !norm.is_finite() {
            return stopped(
                &report,
                norm,
                "the residual of the first guess is not finite",
            );
        }
        while norm > target {
            if report.iterations == self.options.max_iterations {
                return stopped(&report, norm, "the limit on iterations is reached");
            }
            self.jacobian_plan.assemble(&mut self.matrix)?;
            constraints.eliminate(&mut self.matrix)?;
            if report.iterations == 0 {
                check_regular(&self.matrix, self.unknown.space(), &constraints)?;
            }
            self.system.prepare(&self.matrix)?;
            self.step.fill(0.0);
            let done = self
                .system
                .solve(&self.matrix, &self.residual, &mut self.step)?;
            report.linear_iterations += done.iterations;

            self.start.copy_from_slice(&self.unknown.values());
            let mut length = 1.0;
            let mut halvings = 0;
            loop {
                let mut values = self.unknown.values_mut();
                for (k, value) in values.iter_mut().enumerate() {
                    *value = self.start[k] - length * self.step[k];
                }
                drop(values);
                let trial = self.residual_norm(&constraints)?;
                if trial <= (1.0 - SUFFICIENT * length) * norm || trial <= target {
                    norm = trial;
                    break;
                }
                if halvings == MAX_HALVINGS {
                    self.unknown.values_mut().copy_from_slice(&self.start);
                    self.residual_norm(&constraints)?;
                    return stopped(&report, norm, "no step along the Newton direction helps");
                }
                halvings += 1;
                length *= 0.5;
            }
            report.iterations += 1;
            report.history.push(norm);
        }
        Ok(report)
    }

    /// Assemble the residual of the free unknowns; its Euclidean norm.
    fn residual_norm(&mut self, constraints: &Constraints) -> Result<f64, ProblemError> {
        self.residual_plan.assemble(&mut self.residual)?;
        constraints.lift_homogeneous(&mut self.residual)?;
        Ok(crate::solve::norm(&self.residual))
    }
}
