//! What can go wrong.

use thiserror::Error;

/// A time step: a finite number that is not negative.
pub(crate) fn check_step(dt: f64) -> Result<(), MpmError> {
    match dt.is_finite() && dt >= 0.0 {
        true => Ok(()),
        false => Err(MpmError::TimeStep { dt }),
    }
}

/// An error of this crate.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MpmError {
    /// An option, or two that do not go together.
    #[error("{option}: {reason}")]
    Config {
        /// The option's name as in [`Config`](crate::Config), with its value.
        option: String,
        /// What is wrong and what would be accepted.
        reason: String,
    },
    /// A value of a material.
    #[error("material {material}: {name} = {value}; {accepted}")]
    Material {
        /// Index of the material.
        material: usize,
        /// Name of the value.
        name: &'static str,
        /// What it is.
        value: f32,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// A value of a particle.
    #[error("particle {particle}: {name} is {value}; {accepted}")]
    Particle {
        /// Index of the particle.
        particle: usize,
        /// Which array.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// Arrays that should be of one length.
    #[error("particle array {name} has {found} entries, expected {expected} as in position")]
    Length {
        /// Which array.
        name: &'static str,
        /// Its length.
        found: usize,
        /// Length of the positions.
        expected: usize,
    },
    /// A collider, body or shape that cannot be used.
    #[error("collider {collider}: {reason}")]
    Collider {
        /// Index of the collider.
        collider: usize,
        /// What is wrong and what would be accepted.
        reason: String,
    },
    /// A time step that is negative or not finite, or 0 where bodies are to move.
    #[error("time step {dt} s; expected a finite number above 0")]
    TimeStep {
        /// The step asked for.
        dt: f64,
    },
    /// The grid cannot hold the particles.
    #[error("grid: {0}")]
    Grid(#[from] weft::geometry::GeometryError),
    /// A particle, or a world packed beside others, too far from the origin.
    #[error("a particle lies in cell {cell:?}; cells go from -{limit} to {limit} along each axis")]
    Far {
        /// Lattice coordinates of the cell.
        cell: [i32; 3],
        /// How many cells from the origin there may be.
        limit: i32,
    },
    /// Numbers of a step left the range of single precision.
    #[error(
        "the velocity at a grid node is not finite (strain residual {residual}); expected smaller \
         velocities, gravity or moduli, or a shorter step"
    )]
    NotFinite {
        /// Largest strain correction of the last sweep.
        residual: f32,
    },
    /// Saved state that does not fit the solver, or is damaged.
    #[error("saved state: {0}")]
    Saved(String),
    /// More cells than the capacity.
    #[error("{needed} active cells, more than max_active_cell_count = {capacity}")]
    Capacity {
        /// Cells that hold particles.
        needed: usize,
        /// The capacity.
        capacity: usize,
    },
    /// More cells than whole numbers of 32 bits can count.
    #[error(
        "{cells} cells with {each} nodes each; expected at most {limit} together: larger cells, or \
         particles closer together"
    )]
    TooManyCells {
        /// Cells.
        cells: usize,
        /// Nodes, or strains, of each.
        each: usize,
        /// Most nodes of all cells.
        limit: usize,
    },
    /// An emitter or sampler that cannot be used.
    #[error("sampler: {0}")]
    Sampler(String),
}
