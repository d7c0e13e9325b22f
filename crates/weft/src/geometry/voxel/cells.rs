//! Which voxels are active: the part of a voxel grid that queries read.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::environments::Environments;
use super::leaf::{LIMIT, LeafSet, bits, corner, point};
use super::place::VoxelMap;
use super::tables::Tables;
use crate::geometry::{GeometryError, GeometryMap, Tags};

/// A snapshot of the cells of a [`VoxelGrid`](super::VoxelGrid); take one for many queries.
///
/// Cells are numbered leaf by leaf: leaves of 8³ cells (aligned to multiples of 8) along the
/// Morton curve of their coordinates, x in the highest bit, and in a leaf by x, then y, then z,
/// the last fastest. Going up along one axis therefore always goes to a larger number. Vertices
/// are numbered by the same rule.
///
/// A snapshot held over a rebuild stays as it is; the rebuild then allocates memory of its own.
#[derive(Debug)]
pub struct VoxelCells {
    pub(super) set: LeafSet,
    /// Lattice coordinates of each cell.
    pub(super) coordinates: Vec<[i32; 3]>,
    pub(super) map: VoxelMap,
    pub(super) environments: Environments,
    pub(super) tables: OnceLock<Arc<Tables>>,
    pub(super) positions: OnceLock<Arc<GeometryMap>>,
    pub(super) tags: OnceLock<Arc<Tags>>,
}

/// Whether a voxel is in the range that grids accept.
#[inline]
pub(super) fn in_range(voxel: [i32; 3]) -> bool {
    voxel.iter().all(|c| (-LIMIT..LIMIT).contains(c))
}

/// Most cells whose vertices, sides and edges 32-bit indices can number.
pub(super) const MAX_CELLS: u64 = u32::MAX as u64 / 12;

impl VoxelCells {
    /// Cells have lattice coordinates from `-LIMIT` to `LIMIT - 1` along each axis.
    pub const LIMIT: i32 = LIMIT;

    pub(super) fn vacant(map: VoxelMap) -> VoxelCells {
        VoxelCells {
            set: LeafSet::default(),
            coordinates: Vec::new(),
            map,
            environments: Environments::single(),
            tables: OnceLock::new(),
            positions: OnceLock::new(),
            tags: OnceLock::new(),
        }
    }

    /// Drops everything made on demand.
    pub(super) fn forget_tables(&mut self) {
        self.tables.take();
        self.positions.take();
        self.tags.take();
    }

    /// Completes the arrays once keys and masks are there.
    pub(super) fn finish(&mut self) {
        self.set.finish();
        self.coordinates.resize(self.set.count(), [0; 3]);
        let set = &self.set;
        set.for_leaves(1, &mut self.coordinates, &|leaf, part| {
            let base = corner(set.keys()[leaf]);
            for (to, bit) in part.iter_mut().zip(bits(set.mask(leaf))) {
                *to = point(base, bit);
            }
        });
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.coordinates.len()
    }

    /// Number of leaves of 8³ cells with a cell.
    pub fn leaf_count(&self) -> usize {
        self.set.keys().len()
    }

    /// Lattice coordinates of a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn coordinates(&self, cell: usize) -> [i32; 3] {
        self.coordinates[cell]
    }

    /// Lattice coordinates of all cells.
    pub fn all_coordinates(&self) -> &[[i32; 3]] {
        &self.coordinates
    }

    /// The cell at these lattice coordinates, if it is active.
    pub fn find(&self, voxel: [i32; 3]) -> Option<usize> {
        (in_range(voxel)).then(|| self.set.find(voxel).map(|c| c as usize))?
    }

    /// Where the lattice lies.
    pub fn voxel_map(&self) -> &VoxelMap {
        &self.map
    }

    /// The cells at the six sides of a cell, in the order of local sides: lower and upper x, y, z.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn neighbours(&self, cell: usize) -> [Option<usize>; 6] {
        let at = self.coordinates[cell];
        std::array::from_fn(|side| {
            let mut next = at;
            next[side / 2] += if side % 2 == 0 { -1 } else { 1 };
            // One leaf beyond the range has keys, see `LIMIT`.
            self.set.find(next).map(|c| c as usize)
        })
    }

    /// For each cell the sides with no active cell beyond: bit `s` for local side `s`.
    pub fn missing_neighbours(&self) -> Vec<u8> {
        let flags = |cell: usize| {
            let missing = self.neighbours(cell).map(|n| n.is_none() as u8);
            (0..6).fold(0, |flags, side| flags | missing[side] << side)
        };
        (0..self.cell_count()).into_par_iter().map(flags).collect()
    }

    /// Place in space of a point of a cell, given by its reference coordinates.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn position(&self, cell: usize, xi: [f64; 3]) -> [f64; 3] {
        let at = self.coordinates[cell];
        let shift = self.environments.shift_at(at);
        self.map
            .position(std::array::from_fn(|d| (at[d] - shift[d]) as f64 + xi[d]))
    }

    /// Number of environments, 1 for ordinary grids.
    pub fn environment_count(&self) -> usize {
        self.environments.count()
    }

    /// The environment a cell belongs to.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn environment_of(&self, cell: usize) -> usize {
        self.environments.at(self.coordinates[cell])
    }

    /// Lattice coordinates of each environment's origin: what its voxels were moved by.
    pub fn environment_offsets(&self) -> &[[i32; 3]] {
        self.environments.shifts()
    }

    /// The cell at lattice coordinates of one environment, as they were given for it.
    ///
    /// # Errors
    /// [`EnvironmentIndex`](GeometryError::EnvironmentIndex).
    pub fn find_in(
        &self,
        environment: usize,
        voxel: [i32; 3],
    ) -> Result<Option<usize>, GeometryError> {
        let shift = self.environments.shift(environment)?;
        let packed: [Option<i32>; 3] = std::array::from_fn(|d| voxel[d].checked_add(shift[d]));
        let [Some(x), Some(y), Some(z)] = packed else {
            return Ok(None);
        };
        let found = self.find([x, y, z]);
        Ok(found.filter(|_| self.environments.holds(environment, [x, y, z])))
    }
}
