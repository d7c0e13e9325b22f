//! New voxel grids from old ones.

use std::sync::Arc;

use rayon::prelude::*;

use super::VoxelGrid;
use super::build::{check_capacity, gather_voxels};
use super::cells::VoxelCells;
use super::environments::{Environments, Extent, Packing};
use super::leaf::{EMPTY, Gather, LIMIT, LeafSet, Mask, key_of, point};
use super::place::VoxelMap;
use crate::geometry::GeometryError;

/// A grid of a set of cells.
pub(super) fn grid(
    set: LeafSet,
    map: VoxelMap,
    environments: Environments,
    packing: Option<Packing>,
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
    Ok(VoxelGrid::new(Arc::new(made), map, packing))
}

/// A voxel with its environment, by the coordinates that it has there.
type Local = (u32, [i32; 3]);

/// The grid of some voxels of `count` environments, or of an ordinary grid without `packing`;
/// they are called `what` in errors.
pub(super) fn packed(
    what: &'static str,
    voxels: impl Iterator<Item = Local> + Clone,
    count: usize,
    map: VoxelMap,
    packing: Option<Packing>,
    otherwise: &str,
) -> Result<VoxelGrid, GeometryError> {
    // Refuses coordinates out of range before anything is computed with them.
    let gather = gather_voxels(what, voxels.clone().map(|v| v.1))?;
    let mut environments = Environments::single();
    let Some(packing) = packing else {
        let set = LeafSet::from_gather(&gather);
        return grid(set, map, environments, None, otherwise);
    };
    let mut extents = vec![Extent::NONE; count];
    for (environment, voxel) in voxels.clone() {
        let Some(extent) = extents.get_mut(environment as usize) else {
            return Err(GeometryError::EnvironmentIndex {
                environment: environment as usize,
                count,
            });
        };
        extent.add(voxel);
    }
    environments.pack(&extents, &packing)?;
    let mut gather = Gather::new();
    for (environment, voxel) in voxels {
        let shift = environments.shifts()[environment as usize];
        gather.insert(std::array::from_fn(|d| voxel[d] + shift[d]));
    }
    let set = LeafSet::from_gather(&gather);
    grid(set, map, environments, Some(packing), otherwise)
}

/// The cells as they were given for their environments.
fn local(cells: &VoxelCells) -> impl Iterator<Item = Local> + Clone + '_ {
    let environments = &cells.environments;
    cells.coordinates.iter().map(|&at| {
        let environment = environments.at(at);
        let shift = environments.shifts()[environment];
        let voxel = std::array::from_fn(|d| at[d] - shift[d]);
        (environment as u32, voxel)
    })
}

/// Checks that cells may be `by` further along each axis.
fn room(voxels: impl Iterator<Item = Local>, by: i64) -> Result<(), GeometryError> {
    let outside = |c: i64| c - by < -LIMIT as i64 || c + by >= LIMIT as i64;
    for (index, (_, at)) in voxels.enumerate() {
        let at = at.map(i64::from);
        if at.iter().any(|&c| outside(c)) {
            return Err(GeometryError::VoxelRange {
                what: "a neighbour of cell",
                index,
                voxel: at.map(|c| (c + if c < 0 { -by } else { by }) as f64),
                limit: LIMIT,
            });
        }
    }
    Ok(())
}

/// The set with all points within `n` of it along each axis.
fn dilated(mut set: LeafSet, n: usize) -> Result<LeafSet, GeometryError> {
    for _ in 0..n {
        // Along z first: masks are cheapest to move there and stay fewer for longer.
        for axis in [2, 1, 0] {
            set = set.grown(axis, true);
            check_capacity(set.tally(), 0, None)?;
        }
    }
    Ok(set)
}

/// New grids from this one.
///
/// Environments are treated each by itself, in the coordinates that their voxels were given in, so
/// that they stay apart. They are then packed anew: with the offsets that were given, if any and if
/// the lattice stays the same, else side by side.
impl VoxelGrid {
    /// The grid with all cells within `n` cells of it along each axis: `n` times the 3 × 3 × 3
    /// neighbourhood.
    ///
    /// # Errors
    /// [`VoxelRange`](GeometryError::VoxelRange), [`TooMany`](GeometryError::TooMany);
    /// [`EnvironmentOverlap`](GeometryError::EnvironmentOverlap) if offsets that were given bring
    /// the larger environments too close together.
    pub fn dilated(&self, n: usize) -> Result<VoxelGrid, GeometryError> {
        let cells = self.cells();
        room(local(&cells), n.min(LIMIT as usize * 2) as i64)?;
        let otherwise = "the grid has none";
        let Some(packing) = &self.inner.packing else {
            let set = dilated(cells.set.clone(), n)?;
            return grid(set, cells.map, Environments::single(), None, otherwise);
        };
        let mut voxels: Vec<Local> = local(&cells).collect();
        voxels.sort_unstable_by_key(|v| v.0);
        let mut grown: Vec<Local> = Vec::new();
        for of_one in voxels.chunk_by(|a, b| a.0 == b.0) {
            let gather = gather_voxels("cell", of_one.iter().map(|v| v.1))?;
            let set = dilated(LeafSet::from_gather(&gather), n)?;
            grown.extend(set.points().map(|at| (of_one[0].0, at)));
        }
        packed(
            "cell",
            grown.iter().copied(),
            cells.environment_count(),
            cells.map,
            Some(packing.clone()),
            otherwise,
        )
    }

    /// The cells of both grids, which must have equal maps. Those of an environment are added to
    /// those of the same one; the offsets that were given for the first grid hold.
    ///
    /// # Errors
    /// [`DifferentVoxelMaps`](GeometryError::DifferentVoxelMaps),
    /// [`EnvironmentCounts`](GeometryError::EnvironmentCounts) unless there are equally many
    /// environments, [`TooMany`](GeometryError::TooMany), and
    /// [`VoxelRange`](GeometryError::VoxelRange) and
    /// [`EnvironmentOverlap`](GeometryError::EnvironmentOverlap) from packing.
    pub fn merged(&self, other: &VoxelGrid) -> Result<VoxelGrid, GeometryError> {
        let (a, b) = (self.cells(), other.cells());
        if a.map != b.map {
            return Err(GeometryError::DifferentVoxelMaps);
        }
        let counts = [&a, &b].map(|cells| cells.environment_count());
        if counts[0] != counts[1] {
            return Err(GeometryError::EnvironmentCounts { counts });
        }
        let otherwise = "the grids have none";
        if self.inner.packing.is_none() && b.environments.shifts() == [[0; 3]] {
            let mut gather = Gather::new();
            for set in [&a.set, &b.set] {
                for (leaf, &key) in set.keys().iter().enumerate() {
                    gather.add(key, set.mask(leaf));
                }
            }
            let set = LeafSet::from_gather(&gather);
            return grid(set, a.map, Environments::single(), None, otherwise);
        }
        packed(
            "cell",
            local(&a).chain(local(&b)),
            counts[0],
            a.map,
            self.inner.packing.clone(),
            otherwise,
        )
    }

    /// The cells for which `keep`, called with the cell's number, is true; they stay where they
    /// are, environments too.
    ///
    /// # Errors
    /// [`NoActiveCell`](GeometryError::NoActiveCell) if no cell is kept.
    pub fn pruned(&self, keep: impl Fn(usize) -> bool) -> Result<VoxelGrid, GeometryError> {
        let cells = self.cells();
        let kept = (0..cells.cell_count()).filter(|&c| keep(c));
        let gather = gather_voxels("cell", kept.map(|c| cells.coordinates[c]))?;
        grid(
            LeafSet::from_gather(&gather),
            cells.map,
            cells.environments.clone(),
            self.inner.packing.clone(),
            "all were pruned",
        )
    }

    /// The grid of cells twice as long along each axis that hold a cell of this one: cell
    /// `(i, j, k)` lies in `(⌊i/2⌋, ⌊j/2⌋, ⌊k/2⌋)`.
    ///
    /// # Errors
    /// [`VoxelMap`](GeometryError::VoxelMap) if the cells would be too large,
    /// [`VoxelRange`](GeometryError::VoxelRange) if environments do not fit side by side.
    pub fn coarsened(&self) -> Result<VoxelGrid, GeometryError> {
        let cells = self.cells();
        packed(
            "cell",
            local(&cells).map(|(e, at)| (e, at.map(|c| c >> 1))),
            cells.environment_count(),
            cells.map.finer(-1).checked()?,
            self.packing_elsewhere(),
            "the grid has none",
        )
    }

    /// The grid with each cell cut into 8: cell `(i, j, k)` into those from `(2i, 2j, 2k)`.
    ///
    /// # Errors
    /// [`VoxelMap`](GeometryError::VoxelMap) if the cells would be too small,
    /// [`VoxelRange`](GeometryError::VoxelRange), [`TooMany`](GeometryError::TooMany).
    pub fn refined(&self) -> Result<VoxelGrid, GeometryError> {
        let cells = self.cells();
        check_capacity(8 * cells.cell_count() as u64, 0, None)?;
        let parts = |(e, at): Local| {
            let part = move |n: i32| {
                let step = [n >> 2, n >> 1 & 1, n & 1];
                (e, std::array::from_fn(|d| 2 * at[d] + step[d]))
            };
            (0..8).map(part)
        };
        packed(
            "a part of cell, part",
            local(&cells).flat_map(parts),
            cells.environment_count(),
            cells.map.finer(1).checked()?,
            self.packing_elsewhere(),
            "the grid has none",
        )
    }

    /// How environments are packed in another lattice, where offsets mean nothing.
    fn packing_elsewhere(&self) -> Option<Packing> {
        let packing = self.inner.packing.as_ref()?;
        Some(Packing::side_by_side(packing.guard))
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
