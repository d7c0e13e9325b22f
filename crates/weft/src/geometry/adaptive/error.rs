//! What can be wrong with an adaptive grid.

use super::MAX_LEVEL;
use super::morton::{MAX, MIN};

/// Why an adaptive grid was refused. Cells are numbered as they were given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AdaptiveError {
    /// A level above the largest.
    #[error("cell {cell} has level {level}; accepted are 0 (finest) to {MAX_LEVEL}")]
    Level {
        /// The cell.
        cell: usize,
        /// Its level.
        level: usize,
    },
    /// A number of levels that no grid can have.
    #[error("{levels} levels; accepted are 1 to {}", MAX_LEVEL + 1)]
    LevelCount {
        /// The number asked for.
        levels: usize,
    },
    /// A cell that does not begin at a multiple of its size.
    #[error(
        "cell {cell} of level {level} begins at voxel ({}, {}, {}); each index must be a multiple of {}",
        origin[0], origin[1], origin[2], 1u32 << level
    )]
    Alignment {
        /// The cell.
        cell: usize,
        /// Its lowest voxel.
        origin: [i32; 3],
        /// Its level.
        level: u8,
    },
    /// A cell outside the range of the lattice.
    #[error(
        "cell {cell} of level {level} begins at voxel ({}, {}, {}); all corners must lie in {MIN}..={MAX}",
        origin[0], origin[1], origin[2]
    )]
    Range {
        /// The cell.
        cell: usize,
        /// Its lowest voxel, in voxels of the finest level.
        origin: [i64; 3],
        /// Its level.
        level: u8,
    },
    /// Two cells with a common voxel.
    #[error(
        "cells {} (level {}) and {} (level {}) both hold voxel ({}, {}, {}); cells must be disjoint",
        cells[0], levels[0], cells[1], levels[1], voxel[0], voxel[1], voxel[2]
    )]
    Overlap {
        /// The two cells, the smaller number first.
        cells: [usize; 2],
        /// Their levels.
        levels: [u8; 2],
        /// A voxel in both.
        voxel: [i32; 3],
    },
    /// More cells than can be numbered with all their sides.
    #[error("{count} cells are too many; at most {limit} can be numbered")]
    TooManyCells {
        /// How many there are.
        count: usize,
        /// How many are accepted.
        limit: usize,
    },
    /// Voxels too far from the origin for their size.
    #[error(
        "the grid has coordinates up to {reach:e}, where voxels {thickness:e} thick cannot be told \
         apart; move it to the origin, or make its voxels larger (coordinates up to 1e100 are \
         accepted)"
    )]
    Reach {
        /// The largest coordinate, in size.
        reach: f64,
        /// Least distance of opposite faces of a voxel.
        thickness: f64,
    },
    /// Marks for another number of cells.
    #[error("{found} marks for {expected} cells; one mark per cell is needed")]
    MarkCount {
        /// Cells of the grid.
        expected: usize,
        /// Marks given.
        found: usize,
    },
    /// Finest cells are to be refined, and all levels are in use or the range is exhausted.
    #[error(
        "cell {cell} is on the finest level and cannot be refined: {why}; keep it, or coarsen the largest cells first"
    )]
    Finest {
        /// The first such cell.
        cell: usize,
        /// What stands in the way.
        why: &'static str,
    },
    /// Two grids whose lattices do not fit onto each other.
    #[error(
        "the two grids have different lattices; their maps must be the same but for voxels a power of two as large"
    )]
    Lattices,
}
