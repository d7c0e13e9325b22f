//! What can go wrong when a system is set up or solved.

use thiserror::Error;

use super::krylov::{Convergence, Method};
use crate::Real;
use crate::sparse::SparseError;

/// Failure of a solver, a preconditioner or a constraint.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SolveError {
    /// A vector or matrix has the wrong size.
    #[error("{what} has size {found} where {expected} is needed")]
    Size {
        /// The object.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The right size.
        expected: usize,
    },
    /// A system with a block that is only known by its action has no matrix.
    #[error("a block of the system is an operator; a matrix can be made of matrices only")]
    Unassembled,
    /// The matrix isn't square.
    #[error("the matrix has {rows} rows and {cols} columns; it must be square, with square blocks")]
    NotSquare {
        /// Scalar rows.
        rows: usize,
        /// Scalar columns.
        cols: usize,
    },
    /// A number given is NaN or infinite.
    #[error("{what} holds {value} at entry {index}; all entries must be finite")]
    NonFinite {
        /// Right-hand side, initial guess or matrix.
        what: &'static str,
        /// Index of the first such entry.
        index: usize,
        /// The entry.
        value: f64,
    },
    /// A diagonal entry that has to be positive isn't.
    #[error(
        "the diagonal of the matrix is {value} at entry {index}; multigrid needs positive ones"
    )]
    Diagonal {
        /// Scalar row of the first such entry.
        index: usize,
        /// The entry; 0 where none is stored.
        value: f64,
    },
    /// An option is outside its range.
    #[error("option {name} is {value}; {accepted}")]
    Option {
        /// Name of the option.
        name: &'static str,
        /// The value given.
        value: f64,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// An iterative method stopped before reaching its tolerance.
    #[error(
        "{method} stopped after {} iterations with residual {:.3e}, {:.3e} of the right-hand side \
         (wanted {:.1e}): {}",
        .convergence.iterations, .convergence.residual, .convergence.relative_residual,
        .convergence.target, .convergence.reason
    )]
    NotConverged {
        /// The method.
        method: Method,
        /// How far it came, and why it stopped.
        convergence: Box<Convergence>,
    },
    /// The matrix has no inverse, or none that double precision can tell from that.
    #[error("the matrix is singular: {reason}")]
    Singular {
        /// What shows it.
        reason: String,
    },
    /// Cholesky factorisation of a matrix that isn't positive definite.
    #[error(
        "the matrix isn't positive definite (Cholesky pivot {pivot} isn't positive); \
         LDLᵀ, LU or Auto may factorise it"
    )]
    NotPositive {
        /// Number of the pivot, in elimination order.
        pivot: usize,
    },
    /// Cholesky or LDLᵀ of a matrix that isn't symmetric.
    #[error("the matrix isn't symmetric; {kind} needs a symmetric one, LU doesn't")]
    NotSymmetric {
        /// The factorisation asked for.
        kind: &'static str,
    },
    /// A direct solution doesn't satisfy its equations.
    #[error(
        "the direct solution has relative residual {residual:.1e}, more than {limit:.1e}: the \
         matrix is too ill-conditioned for this factorisation"
    )]
    Inaccurate {
        /// |b − A x| / |b|.
        residual: f64,
        /// The largest accepted.
        limit: f64,
    },
    /// A matrix handed to `refactor` has another pattern or block size.
    #[error("the matrix to refactor has another sparsity pattern or block size than the first")]
    PatternChanged,
    /// The factors don't fit the memory or the index type.
    #[error("the factorisation of a matrix of size {size} failed: {reason}")]
    Factorisation {
        /// Scalar rows.
        size: usize,
        /// What the factorisation said.
        reason: String,
    },
    /// Two conditions on one node contradict each other.
    #[error(
        "conflicting conditions on node {node}: along direction {direction:?} the value is already \
         {present}, not {wanted}"
    )]
    Conflict {
        /// The node.
        node: usize,
        /// Unit direction of the second condition.
        direction: Vec<f64>,
        /// Value that follows from the earlier conditions.
        present: f64,
        /// Value of the second condition.
        wanted: f64,
    },
    /// A condition that can't be imposed.
    #[error("condition on node {node}: {reason}")]
    Constraint {
        /// The node.
        node: usize,
        /// What is wrong, and what would be accepted.
        reason: String,
    },
    /// A sparse matrix operation failed.
    #[error(transparent)]
    Sparse(#[from] SparseError),
}

/// `Ok` if `found == expected`, otherwise [`SolveError::Size`].
pub(crate) fn check_size(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), SolveError> {
    if found == expected {
        Ok(())
    } else {
        Err(SolveError::Size {
            what,
            found,
            expected,
        })
    }
}

/// `Ok` if all entries are finite, otherwise [`SolveError::NonFinite`].
pub(crate) fn check_finite<T: Real>(what: &'static str, values: &[T]) -> Result<(), SolveError> {
    match values.iter().position(|v| !v.widen().is_finite()) {
        None => Ok(()),
        Some(index) => Err(SolveError::NonFinite {
            what,
            index,
            value: values[index].widen(),
        }),
    }
}

/// `Ok` for a tolerance, otherwise [`SolveError::Option`].
pub(crate) fn check_tolerance(name: &'static str, value: f64) -> Result<(), SolveError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    let accepted = "it must be finite and not negative";
    Err(SolveError::Option {
        name,
        value,
        accepted,
    })
}
