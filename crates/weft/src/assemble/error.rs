//! Errors of assembly.

use crate::Real;
use crate::element::ElementError;
use crate::form::FormError;
use crate::sparse::{BlockMatrix, Pattern};
use std::sync::Arc;
use thiserror::Error;

/// Why a form could not be planned or assembled.
#[derive(Debug, Error)]
pub enum AssembleError {
    /// The form or expression is wrong.
    #[error(transparent)]
    Form(#[from] FormError),
    /// No quadrature rule or shape function for the request.
    #[error("{context}: {source}")]
    Element {
        /// The integrand concerned.
        context: String,
        /// What is missing.
        source: ElementError,
    },
    /// The mesh was rebuilt after a space or plan was made on it.
    #[error(
        "the mesh was rebuilt after the space was made on it; make the space and the plan again"
    )]
    MeshRebuilt,
    /// Cells moved after points were located in them.
    #[error("the cells moved since points were located in those of `{0}`; make the plan again")]
    Moved(String),
    /// Points of one geometry lie outside another one.
    #[error(
        "{count} of {total} points lie outside the geometry of the trial function, the first at {first:?}"
    )]
    Outside {
        /// How many.
        count: usize,
        /// Of how many.
        total: usize,
        /// Where the first is.
        first: [f64; 3],
    },
    /// The array or matrix to assemble into does not belong to the plan.
    #[error("{what} has {got} entries where the plan has {expected}")]
    Target {
        /// Vector or matrix.
        what: &'static str,
        /// Entries given.
        got: usize,
        /// Entries of the plan.
        expected: usize,
    },
    /// More matrix entries than the plan can address.
    #[error("the matrix would have {0} blocks; a plan addresses at most {max}", max = u32::MAX)]
    TooManyEntries(u64),
    /// The particles are in cells that are no more.
    #[error("the particles were sorted into cells that changed since; rebuild their quadrature")]
    StaleParticles,
    /// Particle data for another number of particles.
    #[error("the particle data `{name}` is of {got} particles where the cloud has {expected}")]
    ParticleData {
        /// Its name.
        name: String,
        /// Particles it has values for.
        got: usize,
        /// Particles of the cloud.
        expected: usize,
    },
    /// Numbers at points for another number of points.
    #[error(
        "`{name}` is of {got} points where the rule has {expected}, {points} in each element; give the \
         measure the degree of the rule that the points are of"
    )]
    PointData {
        /// Its name.
        name: String,
        /// Points it has values for.
        got: usize,
        /// Points of all elements.
        expected: usize,
        /// Points of an element.
        points: usize,
    },
    /// The value of a functional is not a finite number.
    #[error("an integral is not a finite number; the integrand is `{0}`")]
    NotFinite(String),
}

/// A plan writes into matrices of its own `pattern` and `block` only.
pub(super) fn check_made<T: Real>(
    matrix: &BlockMatrix<T>,
    pattern: &Arc<Pattern>,
    block: [usize; 2],
) -> Result<(), AssembleError> {
    if Arc::ptr_eq(matrix.pattern(), pattern) && matrix.block() == block {
        return Ok(());
    }
    Err(AssembleError::Target {
        what: "a matrix that this plan did not make",
        got: matrix.values().len(),
        expected: pattern.entry_count() * block[0] * block[1],
    })
}
