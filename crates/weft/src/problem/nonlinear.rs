//! Nonlinear problems: find u with F(u; v) = 0 for all v by Newton's method with line search.
//!
//! The Jacobian is the exact Gateaux derivative of the residual, made by [`Form::deriv`].

use super::linear::{check_conditions, check_regular, constraints, square_space};
use super::newton::{NewtonOptions, NewtonReport, NewtonSystem, add_terms, newton, step_back};
use super::solver::System;
use super::{Dirichlet, ProblemError, Solver};
use crate::assemble::{MatrixPlan, VectorPlan};
use crate::field::Field;
use crate::form::{Expr, Form};
use crate::solve::Constraints;
use crate::sparse::BlockMatrix;

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
    ///
    /// # Errors
    /// If an option is out of its range, or forms, conditions and unknown don't fit together.
    pub fn new(
        residual: &Form,
        unknown: &Field,
        conditions: &[Dirichlet],
        solver: Solver,
        options: NewtonOptions,
    ) -> Result<NonlinearProblem, ProblemError> {
        options.check()?;
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
    ///
    /// # Errors
    /// If the linear solver fails, or Newton's method doesn't reach its tolerance.
    pub fn solve(&mut self) -> Result<NewtonReport, ProblemError> {
        let constraints = constraints(&self.conditions, self.unknown.space())?;
        // In a copy: no lock on the field is held while threads work.
        self.start.copy_from_slice(&self.unknown.values());
        constraints.set(&mut self.start)?;
        self.unknown.values_mut().copy_from_slice(&self.start);
        let options = self.options;
        let mut run = Run {
            problem: self,
            constraints: &constraints,
            diagnosed: false,
        };
        newton(&mut run, options)
    }
}

/// A solve under way.
struct Run<'a> {
    problem: &'a mut NonlinearProblem,
    constraints: &'a Constraints,
    diagnosed: bool,
}

impl NewtonSystem for Run<'_> {
    fn residual(&mut self) -> Result<f64, ProblemError> {
        let p = &mut *self.problem;
        p.residual_plan.assemble(&mut p.residual)?;
        self.constraints.lift_homogeneous(&mut p.residual)?;
        Ok(crate::solve::norm(&p.residual))
    }

    fn linearise(&mut self) -> Result<(), ProblemError> {
        let p = &mut *self.problem;
        p.start.copy_from_slice(&p.unknown.values());
        p.jacobian_plan.assemble(&mut p.matrix)?;
        self.constraints.eliminate(&mut p.matrix)?;
        if !self.diagnosed {
            check_regular(&p.matrix, p.unknown.space(), self.constraints)?;
            self.diagnosed = true;
        }
        Ok(())
    }

    fn terms(&mut self) -> f64 {
        let p = &mut *self.problem;
        p.step.fill(0.0);
        add_terms(&p.matrix, &p.start, &mut p.step);
        crate::solve::norm(&p.step)
    }

    fn solve(&mut self) -> Result<usize, ProblemError> {
        let p = &mut *self.problem;
        p.system.prepare(&p.matrix)?;
        p.step.fill(0.0);
        let done = p.system.solve(&p.matrix, &p.residual, &mut p.step)?;
        Ok(done.iterations)
    }

    fn go(&mut self, length: f64) {
        let p = &mut *self.problem;
        step_back(&p.unknown, &p.start, &p.step, length);
    }
}
