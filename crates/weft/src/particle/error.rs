//! What can be wrong with a cloud of particles.

use crate::geometry::GeometryError;
use crate::partition::PartitionError;
use std::collections::TryReserveError;
use thiserror::Error;

/// Why a cloud was refused. The quadrature is then as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ParticleError {
    /// An array of the wrong length.
    #[error(
        "{what} has {found} entries; there are {expected} particles, one entry for each is needed"
    )]
    Length {
        /// The array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Number of particles.
        expected: usize,
    },
    /// A sample of a cell or a particle that does not exist.
    #[error("sample {sample} is of {what} {index}; there are {count}, numbered from 0")]
    Index {
        /// The sample.
        sample: usize,
        /// Cell or particle.
        what: &'static str,
        /// The number given.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// More than 32-bit indices can number.
    #[error("{count} samples are too many; at most {limit} can be numbered", limit = u32::MAX - 2)]
    TooMany {
        /// How many there are.
        count: u64,
    },
    /// Extended particles on a geometry whose cells are not equal boxes.
    #[error(
        "particles with an extent need a grid of equal cells (Grid2, Grid3, VoxelGrid); give only positions on other geometries"
    )]
    NeedsGrid,
    /// A particle that is larger than a cell, or of negative extent.
    #[error(
        "particle {particle} has the half-width {half_width}; accepted are 0 to {limit}, half the smallest extent of a cell"
    )]
    HalfWidth {
        /// The particle.
        particle: usize,
        /// Its half-width.
        half_width: f64,
        /// The largest that is accepted.
        limit: f64,
    },
    /// Environments of particles on a geometry that has none.
    #[error(
        "environments were given for particles on a geometry without them; only VoxelGrid has them"
    )]
    NoEnvironments,
    /// An environment that is missing or does not exist.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// No memory for the samples.
    #[error("no memory for the samples of {0} particles")]
    Memory(usize),
}

impl ParticleError {
    pub(super) fn memory(particles: usize) -> impl Fn(TryReserveError) -> ParticleError {
        move |_| ParticleError::Memory(particles)
    }

    /// Counts and indices are checked before, so what is left is memory.
    pub(super) fn sorting(particles: usize) -> impl Fn(PartitionError) -> ParticleError {
        move |_| ParticleError::Memory(particles)
    }
}
