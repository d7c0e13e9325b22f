//! Boundary-value problems: a form, conditions, a solver.
//!
//! [`solve`] does a linear problem in one call. [`LinearProblem`] and [`NonlinearProblem`] keep
//! plans, matrix and factorisation, so that solving again after parameters, fields or
//! positions changed allocates nothing that grows. [`MixedProblem`] has several unknowns.

mod dirichlet;
mod linear;
mod mixed;
mod newton;
mod nonlinear;
mod solver;

pub use dirichlet::Dirichlet;
pub use linear::{LinearProblem, solve};
pub use mixed::{MixedProblem, MixedReport};
pub use newton::{NewtonOptions, NewtonReport};
pub use nonlinear::NonlinearProblem;
pub use solver::{PreconditionerKind, SolveReport, Solver};

use crate::assemble::AssembleError;
use crate::form::FormError;
use crate::solve::SolveError;
use crate::space::SpaceError;
use thiserror::Error;

/// Why a problem could not be set up or solved.
#[derive(Debug, Error)]
pub enum ProblemError {
    /// The form is wrong.
    #[error(transparent)]
    Form(#[from] FormError),
    /// Planning or assembly failed.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// The linear solver failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// A space or tag is wrong.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The system has no unique solution; says what is free.
    #[error("{0}")]
    Singular(String),
    /// The parts of the problem do not fit together.
    #[error("{0}")]
    Mismatch(String),
    /// Newton's method did not reach its tolerance.
    #[error(
        "Newton's method stopped after {iterations} iterations with residual {residual:.3e} \
         (wanted {target:.3e}): {reason}"
    )]
    Newton {
        /// Iterations done.
        iterations: usize,
        /// Norm of the residual.
        residual: f64,
        /// Norm wanted.
        target: f64,
        /// Why it stopped.
        reason: &'static str,
    },
}
