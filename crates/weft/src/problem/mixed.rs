//! Problems of several unknowns, such as velocity and pressure: find u_1 … u_n with F_i(u_1, …, u_n; v_i) = 0
//! for all v_i by Newton's method with line search.
//!
//! A linear problem is one whose residual is linear: Newton's method then takes one step. Every block of the
//! Jacobian is the exact Gateaux derivative. Constants that nothing fixes, such as the pressure of an
//! enclosed flow, are found and taken out: see [`MixedReport::free`].

use super::linear::constraints;
use super::newton::{NewtonSystem, add_terms, newton, step_back};
use super::{Dirichlet, NewtonOptions, ProblemError};
use crate::assemble::{MatrixPlan, VectorPlan};
use crate::field::Field;
use crate::form::{Expr, Form};
use crate::solve::{Block, BlockSystem, Constraints, Nullspace, SolveError};
#[cfg(feature = "direct")]
use crate::solve::{DirectKind, DirectSolver};
use crate::sparse::{BlockMatrix, Pattern};
use std::sync::Arc;

/// How a solve went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MixedReport {
    /// Newton steps done.
    pub iterations: usize,
    /// |F| of the free unknowns at the start and after each step.
    pub history: Vec<f64>,
    /// Iterations of the linear solver, in all.
    pub linear_iterations: usize,
    /// Unknowns and components that are determined up to a constant only; their mean over the nodes is that
    /// of the first guess.
    pub free: Vec<(usize, usize)>,
    /// Part of the first residual that no solution can remove because of these constants, |P F| / |F|: for an
    /// enclosed flow the net flux through the boundary. It is left out.
    pub imbalance: f64,
}

/// A problem of several unknowns with its plans and matrices.
pub struct MixedProblem {
    residual_plans: Vec<VectorPlan>,
    /// Row by row.
    jacobian: Vec<Option<(MatrixPlan, BlockMatrix)>>,
    /// Diagonals for unknowns that are prescribed in places but meet no equation of their own.
    diagonals: Vec<Option<BlockMatrix>>,
    unknowns: Vec<Field>,
    conditions: Vec<Vec<Dirichlet>>,
    starts: Vec<usize>,
    residual: Vec<f64>,
    step: Vec<f64>,
    start: Vec<f64>,
    options: NewtonOptions,
    #[cfg(feature = "direct")]
    direct: Option<DirectSolver>,
}

impl MixedProblem {
    /// Plan the problem: `residuals[i]` is tested with the space of `unknowns[i]` and may hold all unknowns,
    /// whose values are the first guess and become the solution. A condition is one on the first unknown of
    /// its space.
    ///
    /// # Errors
    /// If an option is out of its range, the numbers differ, a residual is tested with another space, or a
    /// condition belongs to none.
    pub fn new(
        residuals: &[Form],
        unknowns: &[Field],
        conditions: &[Dirichlet],
        options: NewtonOptions,
    ) -> Result<MixedProblem, ProblemError> {
        options.check()?;
        let n = unknowns.len();
        if residuals.len() != n {
            return Err(ProblemError::Mismatch(format!(
                "{} residuals for {n} unknowns: each unknown needs one",
                residuals.len()
            )));
        }
        let mut sorted = vec![Vec::new(); n];
        for (k, condition) in conditions.iter().enumerate() {
            let space = condition.space();
            let Some(i) = unknowns.iter().position(|u| u.space().same(space)) else {
                return Err(ProblemError::Mismatch(format!(
                    "Dirichlet condition {k} belongs to another space than the unknowns"
                )));
            };
            sorted[i].push(condition.clone());
        }
        let mut residual_plans = Vec::new();
        let mut jacobian = Vec::new();
        let mut diagonals = Vec::new();
        let mut starts = vec![0];
        for (i, residual) in residuals.iter().enumerate() {
            let space = unknowns[i].space();
            let plan = VectorPlan::new(residual)?;
            if !plan.test_space().same(space) {
                return Err(ProblemError::Mismatch(format!(
                    "residual {i} must be tested with the space of unknown {i}"
                )));
            }
            residual_plans.push(plan);
            for unknown in unknowns {
                let derivative = residual.deriv(unknown, &Expr::trial(unknown.space()));
                derivative.check()?;
                jacobian.push(if derivative.is_zero() {
                    None
                } else {
                    let plan = MatrixPlan::new(&derivative)?;
                    let matrix = plan.matrix();
                    Some((plan, matrix))
                });
            }
            let missing = jacobian[i * n + i].is_none() && !sorted[i].is_empty();
            diagonals.push(if missing {
                let pattern = Pattern::diagonal(space.node_count()).map_err(SolveError::from)?;
                let block = [space.components(); 2];
                Some(BlockMatrix::zeros(Arc::new(pattern), block))
            } else {
                None
            });
            starts.push(starts[i] + space.dof_count());
        }
        let zeros = || vec![0.0; starts[n]];
        Ok(MixedProblem {
            residual_plans,
            jacobian,
            diagonals,
            unknowns: unknowns.to_vec(),
            conditions: sorted,
            residual: zeros(),
            step: zeros(),
            start: zeros(),
            starts,
            options,
            #[cfg(feature = "direct")]
            direct: None,
        })
    }

    /// The unknowns.
    pub fn solution(&self) -> &[Field] {
        &self.unknowns
    }

    /// Solve from the values the unknowns have now, by factorising the whole Jacobian.
    ///
    /// # Errors
    /// If the linear solver fails, or Newton's method doesn't reach its tolerance.
    #[cfg(feature = "direct")]
    pub fn solve(&mut self) -> Result<MixedReport, ProblemError> {
        let mut direct = self.direct.take();
        let report = self.solve_with(|system, null, b, x| {
            let mut matrix = system.monolithic()?;
            null.pin(&mut matrix)?;
            let mut pinned = b.to_vec();
            null.pin_rhs(&mut pinned)?;
            match &mut direct {
                Some(solver) => solver.refactor(&matrix)?,
                empty => *empty = Some(DirectSolver::new(&matrix, DirectKind::Auto)?),
            }
            if let Some(solver) = &direct {
                solver.solve(&pinned, x)?;
            }
            Ok(1)
        });
        self.direct = direct;
        report
    }

    /// Solve from the values the unknowns have now, with a linear solver of your own:
    /// `linear(system, null, b, x)` solves `system` x = b for a right-hand side that is orthogonal to `null`,
    /// starting from x = 0, and returns the number of iterations.
    ///
    /// # Errors
    /// If `linear` fails, or Newton's method doesn't reach its tolerance.
    pub fn solve_with(
        &mut self,
        linear: impl FnMut(&BlockSystem, &Nullspace, &[f64], &mut [f64]) -> Result<usize, SolveError>,
    ) -> Result<MixedReport, ProblemError> {
        let n = self.unknowns.len();
        let constraints = (0..n)
            .map(|i| constraints(&self.conditions[i], self.unknowns[i].space()))
            .collect::<Result<Vec<_>, _>>()?;
        for (i, unknown) in self.unknowns.iter().enumerate() {
            let part = &mut self.start[self.starts[i]..self.starts[i + 1]];
            part.copy_from_slice(&unknown.values());
            constraints[i].set(part)?;
            unknown.values_mut().copy_from_slice(part);
        }
        // The Jacobian tells which constants are free, and with that what counts as residual.
        self.assemble(&constraints)?;
        let null = self.system()?.constants();
        let free = null.constants().collect();
        let options = self.options;
        let mut run = Run {
            problem: self,
            constraints: &constraints,
            null,
            linear,
            assembled: true,
            imbalance: None,
        };
        let done = newton(&mut run, options)?;
        Ok(MixedReport {
            iterations: done.iterations,
            history: done.history,
            linear_iterations: done.linear_iterations,
            free,
            imbalance: run.imbalance.unwrap_or(0.0),
        })
    }

    /// The Jacobian as it was assembled last, with the conditions put in.
    fn system(&self) -> Result<BlockSystem<'_>, SolveError> {
        let n = self.unknowns.len();
        let block = |k: usize| match (&self.jacobian[k], &self.diagonals[k / n]) {
            (Some((_, matrix)), _) => Block::Matrix(matrix),
            (None, Some(diagonal)) if k / n == k % n => Block::Matrix(diagonal),
            _ => Block::Zero,
        };
        BlockSystem::new((0..n * n).map(block).collect())
    }

    fn assemble(&mut self, constraints: &[Constraints]) -> Result<(), ProblemError> {
        let n = self.unknowns.len();
        for (k, block) in self.jacobian.iter_mut().enumerate() {
            let Some((plan, matrix)) = block else {
                continue;
            };
            plan.assemble(matrix)?;
            let (i, j) = (k / n, k % n);
            if i == j {
                constraints[i].eliminate(matrix)?;
            } else {
                constraints[i].eliminate_rows(matrix)?;
                constraints[j].eliminate_columns(matrix)?;
            }
        }
        for (diagonal, constraints) in self.diagonals.iter_mut().zip(constraints) {
            if let Some(diagonal) = diagonal {
                diagonal.fill_zero();
                constraints.eliminate(diagonal)?;
            }
        }
        Ok(())
    }
}

/// A solve under way.
struct Run<'a, F> {
    problem: &'a mut MixedProblem,
    constraints: &'a [Constraints],
    null: Nullspace,
    linear: F,
    /// Whether the Jacobian is that of the unknowns already.
    assembled: bool,
    /// Of the first residual.
    imbalance: Option<f64>,
}

impl<F> NewtonSystem for Run<'_, F>
where
    F: FnMut(&BlockSystem, &Nullspace, &[f64], &mut [f64]) -> Result<usize, SolveError>,
{
    fn residual(&mut self) -> Result<f64, ProblemError> {
        let p = &mut *self.problem;
        for (i, plan) in p.residual_plans.iter_mut().enumerate() {
            let part = &mut p.residual[p.starts[i]..p.starts[i + 1]];
            plan.assemble(part)?;
            self.constraints[i].lift_homogeneous(part)?;
        }
        let removed = self.null.project(&mut p.residual)?;
        self.imbalance.get_or_insert(removed);
        Ok(crate::solve::norm(&p.residual))
    }

    fn linearise(&mut self) -> Result<(), ProblemError> {
        let p = &mut *self.problem;
        for (i, unknown) in p.unknowns.iter().enumerate() {
            p.start[p.starts[i]..p.starts[i + 1]].copy_from_slice(&unknown.values());
        }
        if !std::mem::take(&mut self.assembled) {
            p.assemble(self.constraints)?;
            self.null = p.system()?.constants();
        }
        Ok(())
    }

    fn terms(&mut self) -> f64 {
        let p = &mut *self.problem;
        let n = p.unknowns.len();
        p.step.fill(0.0);
        for (k, block) in p.jacobian.iter().enumerate() {
            if let Some((_, matrix)) = block {
                let (i, j) = (k / n, k % n);
                let x = &p.start[p.starts[j]..p.starts[j + 1]];
                add_terms(matrix, x, &mut p.step[p.starts[i]..p.starts[i + 1]]);
            }
        }
        crate::solve::norm(&p.step)
    }

    fn solve(&mut self) -> Result<usize, ProblemError> {
        let p = &mut *self.problem;
        p.step.fill(0.0);
        let mut step = std::mem::take(&mut p.step);
        let solved = p
            .system()
            .and_then(|system| (self.linear)(&system, &self.null, &p.residual, &mut step))
            .and_then(|count| self.null.project(&mut step).map(|_| count));
        p.step = step;
        Ok(solved?)
    }

    fn go(&mut self, length: f64) {
        let p = &mut *self.problem;
        for (i, unknown) in p.unknowns.iter().enumerate() {
            let part = p.starts[i]..p.starts[i + 1];
            step_back(unknown, &p.start[part.clone()], &p.step[part], length);
        }
    }
}
