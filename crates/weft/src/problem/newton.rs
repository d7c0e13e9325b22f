//! Newton's method with line search, for problems of one unknown and of several.

use super::ProblemError;
use crate::field::Field;
use crate::solve::{SolveError, check_tolerance};
use crate::sparse::BlockMatrix;

/// When Newton's method stops.
///
/// Whatever the tolerances, a residual that is rounding is zero: one below 32 ε of what the absolute values
/// of the Jacobian and of the unknowns give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonOptions {
    /// Largest accepted |F| relative to |F| at the start. Default 1e-10.
    pub tolerance: f64,
    /// Largest accepted |F|, if that is more than `tolerance` allows; in the units of F. Default 0.
    pub absolute: f64,
    /// Limit on steps. Default 50.
    pub max_iterations: usize,
}

impl Default for NewtonOptions {
    fn default() -> NewtonOptions {
        NewtonOptions {
            tolerance: 1e-10,
            absolute: 0.0,
            max_iterations: 50,
        }
    }
}

impl NewtonOptions {
    pub(super) fn check(&self) -> Result<(), SolveError> {
        for (name, value) in [("tolerance", self.tolerance), ("absolute", self.absolute)] {
            check_tolerance(name, value)?;
        }
        Ok(())
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
/// A residual up to this part of its terms is rounding.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// What Newton's method needs of F(u) = 0.
pub(super) trait NewtonSystem {
    /// Assembles F at the unknowns; the norm of what is free.
    fn residual(&mut self) -> Result<f64, ProblemError>;
    /// Assembles the Jacobian at the unknowns.
    fn linearise(&mut self) -> Result<(), ProblemError>;
    /// | |J| |u| |: the size of the terms that F is a sum of.
    fn terms(&mut self) -> f64;
    /// Solves J δ = F and keeps δ; iterations of the linear solver.
    fn solve(&mut self) -> Result<usize, ProblemError>;
    /// Sets the unknowns to those of the last `linearise` less `length` δ.
    fn go(&mut self, length: f64);
}

/// From the values that the unknowns have now.
pub(super) fn newton(
    system: &mut impl NewtonSystem,
    options: NewtonOptions,
) -> Result<NewtonReport, ProblemError> {
    let mut report = NewtonReport::default();
    let mut norm = system.residual()?;
    let mut target = options.absolute.max(options.tolerance * norm);
    report.history.push(norm);
    let stopped = |report: &NewtonReport, residual, target, reason| {
        Err(ProblemError::Newton {
            iterations: report.iterations,
            residual,
            target,
            reason,
        })
    };
    if !norm.is_finite() {
        let reason = "the residual of the first guess is not finite";
        return stopped(&report, norm, target, reason);
    }
    while norm > target {
        if report.iterations == options.max_iterations {
            let reason = "the limit on iterations is reached";
            return stopped(&report, norm, target, reason);
        }
        system.linearise()?;
        target = target.max(ROUNDING * system.terms());
        if norm <= target {
            break;
        }
        report.linear_iterations += system.solve()?;
        let mut length = 1.0;
        let mut halvings = 0;
        loop {
            system.go(length);
            let trial = system.residual()?;
            if trial <= (1.0 - SUFFICIENT * length) * norm || trial <= target {
                norm = trial;
                break;
            }
            if halvings == MAX_HALVINGS {
                system.go(0.0);
                let reason = "no step along the Newton direction helps";
                return stopped(&report, norm, target, reason);
            }
            halvings += 1;
            length *= 0.5;
        }
        report.iterations += 1;
        report.history.push(norm);
    }
    Ok(report)
}

/// Sets `unknown` to `start` less `length` times `step`.
pub(super) fn step_back(unknown: &Field, start: &[f64], step: &[f64], length: f64) {
    let mut values = unknown.values_mut();
    for (value, (start, step)) in values.iter_mut().zip(start.iter().zip(step)) {
        *value = start - length * step;
    }
}

/// `sums` += |A| |x|.
pub(super) fn add_terms(a: &BlockMatrix, x: &[f64], sums: &mut [f64]) {
    let [r, c] = a.block();
    if r * c == 0 {
        return;
    }
    for (node, sums) in sums.chunks_exact_mut(r).enumerate() {
        let (columns, values) = a.row(node);
        for (&column, block) in columns.iter().zip(values.chunks_exact(r * c)) {
            let x = &x[column as usize * c..][..c];
            for (sum, row) in sums.iter_mut().zip(block.chunks_exact(c)) {
                *sum += row.iter().zip(x).map(|(a, x)| (a * x).abs()).sum::<f64>();
            }
        }
    }
}
