//! New voxel grids from old ones.

use rayon::prelude::*;

use super::VoxelGrid;
use super::build::{check_capacity, gather_voxels};
use super::cells::VoxelCells;
use super::environments::Environments;
use super::leaf::{EMPTY, Gather, LIMIT, LeafSet, Mask, key_of, point};
use super::place::VoxelMap;
use crate::geometry::GeometryError;

/// A grid of a set of cells.
pub(super) fn grid(
    set: LeafSet,
    map: VoxelMap,
    environments: Environments,
    otherwise: &str,
) -> Result<VoxelGrid, GeometryError> {
    let (cells, leaves) = (set.tally(), set.keys().len());
    if cells == 0 {
        return Err(GeometryError::NoActiveCell {
            found: otherwise.to_owned(),
        });
    }
    check_capacity(cells, leaves, None)?;
    let mut made = VoxelCells::vacant(map);
    made.set = set;
    made.environments = environments;
    made.finish();
    Ok(VoxelGrid::from_cells(made))
}

fn single(cells: &VoxelCells, operation: &'static str) -> Result<(), GeometryError> {
    match cells.environment_count() {
        1 => Ok(()),
        count => Err(GeometryError::SeveralEnvironments { operation, count }),
    }
}

/// Checks that cells may be `by` further along each axis.
fn room(cells: &VoxelCells, by: i64) -> Result<(), GeometryError> {
    let far = |at: &[i32; 3]| {
        let outside = |&c: &i32| c as i64 - by < -LIMIT as i64 || c as i64 + by >= LIMIT as i64;
        at.iter().any(outside)
    };
    match cells.coordinates.iter().position(far) {
        None => Ok(()),
        Some(index) => Err(GeometryError::VoxelRange {
            what: "a neighbour of cell",
            index,
            voxel: cells.coordinates[index].map(|c| {
                let away = if c < 0 { -by } else { by };
                (c as i64 + away) as f64
            }),
            limit: LIMIT,
        }),
    }
}

impl VoxelGrid {
    /// The grid with all cells within `n` cells of it along each axis: `n` times the 3 × 3 × 3
    /// neighbourhood.
    ///
    /// # Errors
    /// [`VoxelRange`](GeometryError::VoxelRange), [`TooMany`](GeometryError::TooMany),
    /// [`SeveralEnvironments`](GeometryError::SeveralEnvironments).
    pub fn dilated(&self, n: usize) -> Result<VoxelGrid, GeometryError> {
        let cells = self.cells();
        single(&cells, "dilated")?;
        room(&cells, n.min(LIMIT as usize * 2) as i64)?;
        let mut set = cells.set.clone();
        for _ in 0..n {
            // Along z first: masks are cheapest to move there and stay fewer for longer.
            for axis in [2, 1, 0] {
                set = set.grown(axis, true);
                check_capacity(set.tally(), 0, None)?;
            }
        }
        grid(set, cells.map, Environments::single(), "the grid has none")
    }

    /// The cells of both grids, which must have equal maps.
    ///
    /// # Errors
    /// [`DifferentVoxelMaps`](GeometryError::DifferentVoxelMaps),
    /// [`TooMany`](GeometryError::TooMany),
    /// [`SeveralEnvironments`](GeometryError::SeveralEnvironments).
    pub fn merged(&self, other: &VoxelGrid) -> Result<VoxelGrid, GeometryError> {
        let (a, b) = (self.cells(), other.cells());
        single(&a, "merged")?;
        single(&b, "merged")?;
        if a.map != b.map {
            return Err(GeometryError::DifferentVoxelMaps);
        }
        let mut gather = Gather::new();
        for set in [&a.set, &b.set] {
            for (leaf, &key) in set.keys().iter().enumerate() {
                gather.add(key, set.mask(leaf));
            }
        }
        let set = LeafSet::from_gather(&gather);
        grid(set, a.map, Environments::single(), "the grids have none")
    }

    /// The cells for which `keep`, called with the cell's number, is true. Environments stay.
    ///
    /// # Errors
    /// [`NoActiveCell`](GeometryError::NoActiveCell) if no cell is kept.
    pub fn pruned(&self, keep: impl Fn(usize) -> bool) -> Result<VoxelGrid, GeometryError> {
        let cells = self.cells();
        let kept = (0..cells.cell_count()).filter(|&c| keep(c));
        let gather = gather_voxels("cell", kept.map(|c| cells.coordinates[c]))?;
        let set = LeafSet::from_gather(&gather);
        grid(
            set,
            cells.map,
            cells.environments.clone(),
            "all were pruned",
        )
    }

    /// The grid of cells twice as long along each axis that hold a cell of this one: cell
    /// `(i, j, k)` lies in `(⌊i/2⌋, ⌊j/2⌋, ⌊k/2⌋)`.
    ///
    /// # Errors
    /// [`VoxelMap`](GeometryError::VoxelMap) if the cells would be too large,
    /// [`SeveralEnvironments`](GeometryError::SeveralEnvironments).
    pub fn coarsened(&self) -> Result<VoxelGrid, GeometryError> {
        let cells = self.cells();
        single(&cells, "coarsened")?;
        let map = cells.map.rescaled(2.0)?;
        let parents = cells.coordinates.iter().map(|at| at.map(|c| c >> 1));
        let set = LeafSet::from_gather(&gather_voxels("cell", parents)?);
        grid(set, map, Environments::single(), "the grid has none")
    }

    /// The grid with each cell cut into 8: cell `(i, j, k)` into those from `(2i, 2j, 2k)`.
    ///
    /// # Errors
    /// [`VoxelMap`](GeometryError::VoxelMap) if the cells would be too small,
    /// [`VoxelRange`](GeometryError::VoxelRange), [`TooMany`](GeometryError::TooMany),
    /// [`SeveralEnvironments`](GeometryError::SeveralEnvironments).
    pub fn refined(&self) -> Result<VoxelGrid, GeometryError> {
        let cells = self.cells();
        single(&cells, "refined")?;
        check_capacity(8 * cells.cell_count() as u64, 0, None)?;
        let map = cells.map.rescaled(0.5)?;
        let children = cells.coordinates.iter().flat_map(|at| {
            (0..8).map(move |n| {
                [
                    2 * at[0] + (n >> 2),
                    2 * at[1] + (n >> 1 & 1),
                    2 * at[2] + (n & 1),
                ]
            })
        });
        let set = LeafSet::from_gather(&gather_voxels("a part of cell, part", children)?);
        grid(set, map, Environments::single(), "the grid has none")
    }
}

/// The cells with their centre in the box between two corners in space and `f` negative there.
pub(super) fn level_set(
    lower: [f64; 3],
    upper: [f64; 3],
    map: VoxelMap,
    f: impl Fn([f64; 3]) -> f64 + Sync,
) -> Result<LeafSet, GeometryError> {
    for axis in 0..3 {
        let (a, b) = (lower[axis], upper[axis]);
        if !(a < b && a.abs() <= 1e100 && b.abs() <= 1e100) {
            return Err(GeometryError::Bounds {
                axis,
                lower: a,
                upper: b,
                cells: 1,
            });
        }
    }
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for n in 0..8 {
        let x = std::array::from_fn(|d| if n >> d & 1 == 0 { lower[d] } else { upper[d] });
        let u = map.lattice(x);
        for d in 0..3 {
            low[d] = low[d].min(u[d].floor());
            high[d] = high[d].max(u[d].floor());
        }
    }
    let limit = LIMIT as f64;
    for corner in [low, high] {
        if corner.iter().any(|c| !(-limit..limit).contains(c)) {
            return Err(GeometryError::VoxelRange {
                what: "a corner of the bounds, coordinates",
                index: 0,
                voxel: corner,
                limit: LIMIT,
            });
        }
    }
    let first = low.map(|c| c as i32 >> 3);
    let count: [u64; 3] = std::array::from_fn(|d| ((high[d] as i32 >> 3) - first[d] + 1) as u64);
    let leaves = count.iter().map(|&c| c as u128).product::<u128>();
    if leaves > u32::MAX as u128 {
        return Err(GeometryError::TooMany {
            what: "leaves of 8 × 8 × 8 voxels in the bounds",
            count: leaves,
            limit: u32::MAX as u128,
        });
    }
    let found: Vec<(u64, Mask)> = (0..leaves as u64)
        .into_par_iter()
        .filter_map(|n| {
            let at = [
                n / (count[1] * count[2]),
                n / count[2] % count[1],
                n % count[2],
            ];
            let base = std::array::from_fn(|d| (first[d] + at[d] as i32) * 8);
            let mut mask = EMPTY;
            for bit in 0..512 {
                let x = map.position(point(base, bit).map(|c| c as f64 + 0.5));
                let inside = (0..3).all(|d| lower[d] <= x[d] && x[d] <= upper[d]);
                if inside && f(x) < 0.0 {
                    mask[bit >> 6] |= 1 << (bit & 63);
                }
            }
            (mask != EMPTY).then(|| (key_of(base), mask))
        })
        .collect();
    let mut gather = Gather::new();
    for (key, mask) in &found {
        gather.add(*key, mask);
    }
    Ok(LeafSet::from_gather(&gather))
}
