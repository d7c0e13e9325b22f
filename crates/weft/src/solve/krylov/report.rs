//! Methods, options, and what a solve reports.

use std::fmt;

use crate::solve::{SolveError, check_tolerance};

/// Iterative methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Conjugate gradients (Hestenes & Stiefel 1952): symmetric positive definite matrices.
    Cg,
    /// MINRES (Paige & Saunders 1975): symmetric matrices, definite or not; singular ones if the
    /// right-hand side is in their range. The preconditioner must be positive definite.
    Minres,
    /// BiCGSTAB (van der Vorst 1992), preconditioned from the right: any square matrix; six vectors.
    BiCgStab,
    /// GMRES (Saad & Schultz 1986), preconditioned from the right, restarted: any square matrix;
    /// restart + 2 vectors.
    Gmres,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Cg => "CG",
            Method::Minres => "MINRES",
            Method::BiCgStab => "BiCGSTAB",
            Method::Gmres => "GMRES",
        })
    }
}

/// When to stop, and how much memory GMRES may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KrylovOptions {
    /// Largest accepted |b − A x| / |b|. Default 1e-10.
    pub tolerance: f64,
    /// Largest accepted |b − A x|, if that is more than `tolerance` allows. Default 0.
    pub absolute: f64,
    /// Limit on iterations (products with A; BiCGSTAB: pairs of them). Default `None`: the number of
    /// unknowns, at least 1000.
    pub max_iterations: Option<usize>,
    /// Iterations after which GMRES starts anew, at most 10000. Default 50.
    pub restart: usize,
}

/// Largest restart: the triangular factor of GMRES takes its square.
const MAX_RESTART: usize = 10_000;

impl Default for KrylovOptions {
    fn default() -> KrylovOptions {
        KrylovOptions {
            tolerance: 1e-10,
            absolute: 0.0,
            max_iterations: None,
            restart: 50,
        }
    }
}

impl KrylovOptions {
    pub(crate) fn check(&self) -> Result<(), SolveError> {
        for (name, value) in [("tolerance", self.tolerance), ("absolute", self.absolute)] {
            check_tolerance(name, value)?;
        }
        if !(1..=MAX_RESTART).contains(&self.restart) {
            let accepted = "it must be between 1 and 10000";
            let value = self.restart as f64;
            return Err(SolveError::Option {
                name: "restart",
                value,
                accepted,
            });
        }
        Ok(())
    }
}

/// What a solve reports. Norms are Euclidean.
#[derive(Clone, Debug, PartialEq)]
pub struct Convergence {
    /// Iterations done.
    pub iterations: usize,
    /// |b − A x|, computed from the answer.
    pub residual: f64,
    /// |b − A x| / |b|; 0 if b = 0.
    pub relative_residual: f64,
    /// The relative residual asked for: max(tolerance, absolute / |b|).
    pub target: f64,
    /// Why it stopped.
    pub reason: StopReason,
    /// Residual norm at the start and after each iteration, as the recurrence has it.
    pub history: Vec<f64>,
}

impl Default for Convergence {
    fn default() -> Convergence {
        Convergence {
            iterations: 0,
            residual: 0.0,
            relative_residual: 0.0,
            target: 0.0,
            reason: StopReason::ZeroRhs,
            history: Vec::new(),
        }
    }
}

/// Why a method stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopReason {
    /// The tolerance is reached.
    Converged,
    /// b = 0, so x = 0.
    ZeroRhs,
    /// The limit on iterations is reached.
    MaxIterations,
    /// CG met a direction with pᵀA p ≤ 0 (or zero to rounding): A isn't positive definite.
    NotPositive {
        /// The iteration.
        iteration: usize,
        /// pᵀA p / pᵀp there.
        curvature: f64,
    },
    /// The preconditioner gave rᵀM⁻¹r ≤ 0: it isn't positive definite.
    PreconditionerNotPositive {
        /// The iteration.
        iteration: usize,
    },
    /// A division by (nearly) zero: the method can't go on from here.
    Breakdown {
        /// The iteration.
        iteration: usize,
        /// Which quantity vanished.
        kind: BreakdownKind,
    },
    /// The residual no longer falls: A is singular and b not in its range, or rounding limits it.
    Stagnated {
        /// The iteration.
        iteration: usize,
    },
    /// The residual is below 1e-140 (1e-28 in `f32`): its square, or its entries, may underflow.
    Underflow,
    /// NaN or infinity came up: in the matrix, the preconditioner, or by overflow.
    NonFinite {
        /// The iteration.
        iteration: usize,
    },
}

/// Quantity that vanished in a breakdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakdownKind {
    /// BiCGSTAB: the shadow residual is orthogonal to the residual.
    Shadow,
    /// BiCGSTAB: the shadow residual is orthogonal to A p.
    Direction,
    /// BiCGSTAB: the stabilising step is zero.
    Stabilisation,
    /// GMRES: the image of the search space has lost a dimension, so A is singular on it.
    Hessenberg,
}

impl StopReason {
    /// Whether a fresh start from the last iterate may get past it.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self,
            StopReason::Breakdown { .. } | StopReason::Stagnated { .. }
        )
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            StopReason::Converged => write!(f, "the tolerance is reached"),
            StopReason::ZeroRhs => write!(f, "the right-hand side is zero"),
            StopReason::MaxIterations => write!(f, "the limit on iterations is reached"),
            StopReason::NotPositive {
                iteration,
                curvature,
            } => write!(
                f,
                "the matrix isn't positive definite (curvature {curvature:.3e} in iteration \
                 {iteration}); MINRES, GMRES or a direct solver may do"
            ),
            StopReason::PreconditionerNotPositive { iteration } => write!(
                f,
                "the preconditioner isn't positive definite (iteration {iteration})"
            ),
            StopReason::Breakdown { iteration, kind } => write!(
                f,
                "breakdown in iteration {iteration}: {}",
                match kind {
                    BreakdownKind::Shadow => "the shadow residual is orthogonal to the residual",
                    BreakdownKind::Direction => "the shadow residual is orthogonal to A p",
                    BreakdownKind::Stabilisation => "the stabilising step is zero",
                    BreakdownKind::Hessenberg => "the matrix is singular on the search space",
                }
            ),
            StopReason::Stagnated { iteration } => write!(
                f,
                "the residual no longer falls (iteration {iteration}): the matrix is singular, or \
                 the tolerance beyond rounding"
            ),
            StopReason::Underflow => write!(
                f,
                "the residual is too small a number to go on with; multiply the system by a large one"
            ),
            StopReason::NonFinite { iteration } => write!(
                f,
                "numbers that aren't finite came up (iteration {iteration}): in the matrix, the \
                 preconditioner, or by overflow"
            ),
        }
    }
}
