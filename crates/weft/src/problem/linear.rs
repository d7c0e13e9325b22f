//! Linear problems: find u with a(u, v) = L(v) for all v, and u given on parts of the boundary.

use super::solver::System;
use super::{Dirichlet, ProblemError, SolveReport, Solver};
use crate::assemble::{MatrixPlan, VectorPlan};
use crate::field::Field;
use crate::form::{Form, FormError};
use crate::solve::{Constraints, diagnose};
use crate::space::Space;
use crate::sparse::BlockMatrix;

/// Solve once: find the field with `a = l` under the conditions.
pub fn solve(
    a: &Form,
    l: &Form,
    conditions: &[Dirichlet],
    solver: Solver,
) -> Result<Field, ProblemError> {
    let mut problem = LinearProblem::new(a, l, conditions, solver)?;
    problem.solve()?;
    Ok(problem.solution().clone())
}

/// A linear problem with its plans, matrix and factorisation.
pub struct LinearProblem {
    matrix_plan: MatrixPlan,
    load_plan: Option<VectorPlan>,
    /// a(u, ·) for the solution, for reactions; planned on first use.
    action_plan: Option<VectorPlan>,
    form: Form,
    conditions: Vec<Dirichlet>,
    matrix: BlockMatrix,
    rhs: Vec<f64>,
    /// Iterate of the solver; no lock on the field is held while threads work.
    iterate: Vec<f64>,
    solution: Field,
    system: System,
    diagnosed: bool,
}

impl LinearProblem {
    /// Plan the problem. `l` may be [`Form::zero`].
    pub fn new(
        a: &Form,
        l: &Form,
        conditions: &[Dirichlet],
        solver: Solver,
    ) -> Result<LinearProblem, ProblemError> {
        let matrix_plan = MatrixPlan::new(a)?;
        let space = square_space(&matrix_plan)?;
        l.check()?;
        let load_plan = if l.is_zero() {
            None
        } else {
            Some(VectorPlan::new(l)?)
        };
        if let Some(load) = &load_plan
            && !load.test_space().same(&space)
        {
            return Err(ProblemError::Mismatch(
                "the two forms have test functions of different spaces".to_owned(),
            ));
        }
        check_conditions(conditions, &space)?;
        Ok(LinearProblem {
            matrix: matrix_plan.matrix(),
            rhs: vec![0.0; space.dof_count()],
            iterate: vec![0.0; space.dof_count()],
            solution: Field::zeros(&space),
            matrix_plan,
            load_plan,
            action_plan: None,
            form: a.clone(),
            conditions: conditions.to_vec(),
            system: System::new(solver),
            diagnosed: false,
        })
    }

    /// Assemble and solve with everything as it is now.
    pub fn solve(&mut self) -> Result<SolveReport, ProblemError> {
        self.assemble()?;
        self.solve_assembled()
    }

    /// Assemble matrix and right-hand side and put the conditions in.
    pub fn assemble(&mut self) -> Result<(), ProblemError> {
        self.matrix_plan.assemble(&mut self.matrix)?;
        match &mut self.load_plan {
            Some(plan) => plan.assemble(&mut self.rhs)?,
            None => self.rhs.fill(0.0),
        }
        let constraints = constraints(&self.conditions, self.solution.space())?;
        constraints.apply(&mut self.matrix, &mut self.rhs)?;
        if !self.diagnosed {
            check_regular(&self.matrix, self.solution.space(), &constraints)?;
            self.diagnosed = true;
        }
        Ok(())
    }

    /// Solve the system that [`LinearProblem::assemble`] set up.
    pub fn solve_assembled(&mut self) -> Result<SolveReport, ProblemError> {
        self.system.prepare(&self.matrix)?;
        self.iterate.copy_from_slice(&self.solution.values());
        let report = self
            .system
            .solve(&self.matrix, &self.rhs, &mut self.iterate)?;
        self.solution.values_mut().copy_from_slice(&self.iterate);
        Ok(report)
    }

    /// The solution; zero before the first solve.
    pub fn solution(&self) -> &Field {
        &self.solution
    }

    /// The matrix with the conditions put in.
    pub fn matrix(&self) -> &BlockMatrix {
        &self.matrix
    }

    /// The residual a(u, ·) − L of the solution without regard to the conditions: at
    /// constrained nodes the reactions, elsewhere zero as far as the solver went.
    pub fn reactions(&mut self) -> Result<Vec<f64>, ProblemError> {
        let plan = match &mut self.action_plan {
            Some(plan) => plan,
            empty => empty.insert(VectorPlan::new(&self.form.action(&self.solution))?),
        };
        let mut residual = vec![0.0; self.rhs.len()];
        plan.assemble(&mut residual)?;
        if let Some(load) = &mut self.load_plan {
            let mut b = vec![0.0; self.rhs.len()];
            load.assemble(&mut b)?;
            residual.iter_mut().zip(&b).for_each(|(r, b)| *r -= b);
        }
        Ok(residual)
    }
}

pub(super) fn square_space(plan: &MatrixPlan) -> Result<Space, ProblemError> {
    if !plan.test_space().same(plan.trial_space()) {
        return Err(FormError::Arguments(
            "test and trial function must come from one space to solve for it".to_owned(),
        )
        .into());
    }
    Ok(plan.trial_space().clone())
}

pub(super) fn check_conditions(
    conditions: &[Dirichlet],
    space: &Space,
) -> Result<(), ProblemError> {
    match conditions.iter().position(|c| !c.space().same(space)) {
        Some(k) => Err(ProblemError::Mismatch(format!(
            "Dirichlet condition {k} belongs to another space than the unknown"
        ))),
        None => Ok(()),
    }
}

pub(super) fn constraints(
    conditions: &[Dirichlet],
    space: &Space,
) -> Result<Constraints, ProblemError> {
    let mut constraints = Constraints::empty(space.node_count(), space.components());
    for condition in conditions {
        condition.apply(&mut constraints)?;
    }
    Ok(constraints)
}

/// Names what leaves the system singular, before a solver stumbles over it.
pub(super) fn check_regular(
    matrix: &BlockMatrix,
    space: &Space,
    constraints: &Constraints,
) -> Result<(), ProblemError> {
    let positions = space.node_positions();
    let found = diagnose(
        matrix,
        &positions,
        constraints,
        space.geometry().space_dim(),
    )?;
    match found {
        Some(singularity) => Err(ProblemError::Singular(singularity.to_string())),
        None => Ok(()),
    }
}
