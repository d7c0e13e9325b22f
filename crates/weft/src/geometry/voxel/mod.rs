//! Voxel grids: the active cells of an unbounded lattice.
//!
//! [`VoxelGrid`] is a handle; [`VoxelCells`] is a snapshot of its cells, for queries; a
//! [`VoxelMap`] places the lattice. Cells are kept in leaves of 8³ with a bit for each (`leaf`),
//! which are hashed for lookup and sorted along the Morton curve for numbering. Tables are made
//! when asked for (`tables`), rebuilds reuse memory (`build`), closest cells are found by
//! descending the curve (`search`).
//!
//! The one invariant: numbering depends on the set of cells only, so that equal sets have equal
//! tables however they were made, on any number of threads.

mod build;
mod cells;
mod environments;
mod leaf;
mod ops;
mod place;
mod search;
mod table;
mod tables;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::{Geometry, GeometryError, GeometryId, GeometryMap, MapClass, Snapshot, Tags, Topology};
use crate::element::CellKind;

use build::{Assignment, Source, Workshop, gather_voxels};
use environments::{Environments, Packing};
use leaf::LeafSet;

use super::Nearest;
pub use build::{RebuildReport, VoxelCapacity};
pub use cells::VoxelCells;
pub use place::VoxelMap;
pub use search::{CellPoint, Lookup};

/// The active cells of an unbounded lattice; a cheap handle.
///
/// Cell `(i, j, k)` spans `[i, i+1) × [j, j+1) × [k, k+1)` in lattice coordinates, which a
/// [`VoxelMap`] places in space. Numbering of cells and vertices is told at [`VoxelCells`].
/// Sides are numbered axis by axis (those across x first), and for each axis as the cells are, by
/// the cell behind them, there or not. A side's inner cell is the one before it along its axis, so
/// that the normal points along the axis; on the boundary the only cell is both inner and outer,
/// and the normal points out. Edges are numbered in order of first appearance, going over the
/// cells and in each over its local edges.
///
/// Side tags: `left`, `right` (boundary sides that face to lower and upper x), `front`, `back`
/// (y), `bottom`, `top` (z), along the lattice's axes.
///
/// ```
/// use weft::geometry::{Geometry, VoxelGrid, VoxelMap};
///
/// let points = [[0.1, 0.2, 0.3], [-0.1, 0.2, 0.3], [f64::NAN, 0.0, 0.0]];
/// let (grid, report) = VoxelGrid::from_points(&points, None, VoxelMap::uniform(0.5)?)?;
/// assert_eq!((report.cells, report.skipped_not_finite), (2, 1));
/// assert_eq!(grid.topology().side_count(), 11);
///
/// // In place, seen through every handle; what was made from the same cells stays.
/// let before = grid.topology();
/// let report = grid.rebuild(&[[0.4, 0.4, 0.4], [-0.4, 0.4, 0.4]], None)?;
/// assert!(report.unchanged && std::sync::Arc::ptr_eq(&before, &grid.topology()));
/// # Ok::<(), weft::geometry::GeometryError>(())
/// ```
#[derive(Clone)]
pub struct VoxelGrid {
    inner: Arc<Inner>,
}

struct Inner {
    id: GeometryId,
    map: VoxelMap,
    /// Where environments go; `None` in an ordinary grid.
    packing: Option<Packing>,
    cells: RwLock<Arc<VoxelCells>>,
    /// Out while a rebuild uses it: nothing is locked while work is done.
    workshop: Mutex<Option<Workshop>>,
    capacity: Mutex<Option<VoxelCapacity>>,
    status: AtomicU8,
}

/// What went wrong in rebuilds since the status was last cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoxelStatus {
    /// A rebuild had more cells than the capacity.
    pub too_many_cells: bool,
    /// A rebuild had more leaves than the capacity.
    pub too_many_leaves: bool,
    /// A rebuild had a point out of the lattice's range.
    pub out_of_range: bool,
    /// A rebuild had no point left.
    pub no_cells: bool,
}

impl VoxelStatus {
    /// Whether all went well.
    pub fn is_ok(&self) -> bool {
        *self == VoxelStatus::default()
    }
}

const STATUS_CELLS: u8 = 1;
const STATUS_LEAVES: u8 = 2;
const STATUS_RANGE: u8 = 4;
const STATUS_NONE: u8 = 8;

impl VoxelGrid {
    /// The cells at these lattice coordinates, in any order; duplicates count once.
    ///
    /// # Errors
    /// [`NoActiveCell`](GeometryError::NoActiveCell) for none;
    /// [`VoxelRange`](GeometryError::VoxelRange) unless all coordinates are from
    /// `-LIMIT` to `LIMIT - 1`, see [`VoxelCells::LIMIT`];
    /// [`TooMany`](GeometryError::TooMany) past 32-bit indices.
    pub fn from_coordinates(
        voxels: &[[i32; 3]],
        map: VoxelMap,
    ) -> Result<VoxelGrid, GeometryError> {
        let gather = gather_voxels("coordinates", voxels.iter().copied())?;
        let set = LeafSet::from_gather(&gather);
        ops::grid(
            set,
            map,
            Environments::single(),
            None,
            "no coordinates were given",
        )
    }

    /// The cells that hold points. Points with a coordinate that is NaN or infinite, or with
    /// `false` in the mask (one entry per point), are left out and counted.
    ///
    /// # Errors
    /// As [`from_coordinates`](Self::from_coordinates);
    /// [`EntryCount`](GeometryError::EntryCount) for a mask of the wrong length.
    pub fn from_points(
        points: &[[f64; 3]],
        mask: Option<&[bool]>,
        map: VoxelMap,
    ) -> Result<(VoxelGrid, RebuildReport), GeometryError> {
        VoxelGrid::from_source(
            &Source {
                points,
                mask,
                environments: None,
            },
            map,
        )
    }

    /// The cells with their centre in the box between the corners `lower` and `upper` (in space)
    /// where `f` is negative at the centre.
    ///
    /// # Errors
    /// [`Bounds`](GeometryError::Bounds) unless `lower < upper`, and as
    /// [`from_coordinates`](Self::from_coordinates).
    pub fn from_level_set(
        lower: [f64; 3],
        upper: [f64; 3],
        map: VoxelMap,
        f: impl Fn([f64; 3]) -> f64 + Sync,
    ) -> Result<VoxelGrid, GeometryError> {
        let set = ops::level_set(lower, upper, map, f)?;
        let otherwise = "the level set is not negative at any centre of a voxel in the bounds";
        ops::grid(set, map, Environments::single(), None, otherwise)
    }

    /// Independent environments in one grid: voxel `n` belongs to environment
    /// `environments[n]`, below `count`. Those of each are moved along x by an offset (0 for the
    /// first that has any), with `guard` vacant layers between, so that no side or vertex is
    /// shared; positions in space are as if each were alone.
    ///
    /// # Errors
    /// As [`from_coordinates`](Self::from_coordinates);
    /// [`EntryCount`](GeometryError::EntryCount) unless there is an environment for each voxel;
    /// [`EnvironmentIndex`](GeometryError::EnvironmentIndex);
    /// [`ZeroCount`](GeometryError::ZeroCount) for no environments;
    /// [`EnvironmentGuard`](GeometryError::EnvironmentGuard) unless the guard is 1 to 2²⁰.
    pub fn from_environments(
        voxels: &[[i32; 3]],
        environments: &[u32],
        count: usize,
        guard: i32,
        map: VoxelMap,
    ) -> Result<VoxelGrid, GeometryError> {
        let packing = Packing::side_by_side(guard);
        VoxelGrid::packed(voxels, environments, count, packing, map)
    }

    /// As [`from_environments`](Self::from_environments), with the offsets that the voxels of each
    /// environment are moved by; `guard` is the least number of vacant layers between the boxes
    /// around any two of them, along some axis.
    ///
    /// ```
    /// use weft::geometry::{VoxelGrid, VoxelMap};
    ///
    /// // Two environments with the same voxels, one above the other in the lattice.
    /// let voxels = [[0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0]];
    /// let offsets = [[0, 0, 0], [0, 0, 4]];
    /// let map = VoxelMap::uniform(1.0)?;
    /// let grid = VoxelGrid::from_environments_at(&voxels, &[0, 0, 1, 1], &offsets, 3, map)?;
    /// assert_eq!(grid.cells().find_in(1, [1, 0, 0])?, grid.cells().find([1, 0, 4]));
    /// # Ok::<(), weft::geometry::GeometryError>(())
    /// ```
    ///
    /// # Errors
    /// As there; [`EnvironmentOverlap`](GeometryError::EnvironmentOverlap) names two environments
    /// that would be closer.
    pub fn from_environments_at(
        voxels: &[[i32; 3]],
        environments: &[u32],
        offsets: &[[i32; 3]],
        guard: i32,
        map: VoxelMap,
    ) -> Result<VoxelGrid, GeometryError> {
        let packing = Packing {
            guard,
            offsets: Some(offsets.to_vec()),
        };
        VoxelGrid::packed(voxels, environments, offsets.len(), packing, map)
    }

    fn packed(
        voxels: &[[i32; 3]],
        environments: &[u32],
        count: usize,
        packing: Packing,
        map: VoxelMap,
    ) -> Result<VoxelGrid, GeometryError> {
        let (n, listed) = (voxels.len(), environments.len());
        build::check_environments("voxels", n, listed, count, &packing)?;
        let pairs = environments.iter().copied().zip(voxels.iter().copied());
        let otherwise = "no coordinates were given";
        ops::packed("coordinates", pairs, count, map, Some(packing), otherwise)
    }

    /// As [`from_environments`](Self::from_environments), for points in space, as in
    /// [`from_points`](Self::from_points).
    ///
    /// # Errors
    /// Those of both.
    pub fn from_environment_points(
        points: &[[f64; 3]],
        mask: Option<&[bool]>,
        environments: &[u32],
        count: usize,
        guard: i32,
        map: VoxelMap,
    ) -> Result<(VoxelGrid, RebuildReport), GeometryError> {
        let packing = Packing::side_by_side(guard);
        VoxelGrid::packed_points(points, mask, environments, count, packing, map)
    }

    /// As [`from_environment_points`](Self::from_environment_points), with offsets as in
    /// [`from_environments_at`](Self::from_environments_at).
    ///
    /// # Errors
    /// Those of both.
    pub fn from_environment_points_at(
        points: &[[f64; 3]],
        mask: Option<&[bool]>,
        environments: &[u32],
        offsets: &[[i32; 3]],
        guard: i32,
        map: VoxelMap,
    ) -> Result<(VoxelGrid, RebuildReport), GeometryError> {
        let packing = Packing {
            guard,
            offsets: Some(offsets.to_vec()),
        };
        VoxelGrid::packed_points(points, mask, environments, offsets.len(), packing, map)
    }

    fn packed_points(
        points: &[[f64; 3]],
        mask: Option<&[bool]>,
        environments: &[u32],
        count: usize,
        packing: Packing,
        map: VoxelMap,
    ) -> Result<(VoxelGrid, RebuildReport), GeometryError> {
        VoxelGrid::from_source(
            &Source {
                points,
                mask,
                environments: Some(Assignment {
                    list: Some(environments),
                    count,
                    packing: &packing,
                }),
            },
            map,
        )
    }

    fn from_source(
        source: &Source,
        map: VoxelMap,
    ) -> Result<(VoxelGrid, RebuildReport), GeometryError> {
        let mut workshop = Workshop::default();
        let (cells, report) = workshop.build(source, &map, None, None)?;
        let packing = source.environments.map(|of| of.packing.clone());
        let grid = VoxelGrid::new(cells, map, packing);
        grid.return_workshop(workshop);
        Ok((grid, report))
    }

    fn new(cells: Arc<VoxelCells>, map: VoxelMap, packing: Option<Packing>) -> VoxelGrid {
        VoxelGrid {
            inner: Arc::new(Inner {
                id: GeometryId::unique(),
                map,
                packing,
                cells: RwLock::new(cells),
                workshop: Mutex::new(None),
                capacity: Mutex::new(None),
                status: AtomicU8::new(0),
            }),
        }
    }

    /// The cells as they are now.
    pub fn cells(&self) -> Arc<VoxelCells> {
        // The lock guards one pointer, which is whole whatever panicked meanwhile.
        let guard = self.inner.cells.read();
        guard.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.cells().cell_count()
    }

    /// Where the lattice lies.
    pub fn voxel_map(&self) -> VoxelMap {
        self.inner.map
    }

    /// Replaces the cells by those that hold points, as [`from_points`](Self::from_points) does,
    /// seen through every handle. If the set of cells stays the same, so do numbering and all
    /// snapshots. A grid made with one environment keeps its offset. Memory is used again: once
    /// sizes stop growing nothing is allocated, unless
    /// someone keeps a [`VoxelCells`] from before.
    ///
    /// # Errors
    /// Those of [`from_points`](Self::from_points),
    /// [`VoxelCapacity`](GeometryError::VoxelCapacity) past the
    /// [capacity](Self::set_capacity), [`NeedsEnvironment`](GeometryError::NeedsEnvironment) in
    /// a grid of several environments; the grid is then as it was, and
    /// [`status`](Self::status) remembers.
    pub fn rebuild(
        &self,
        points: &[[f64; 3]],
        mask: Option<&[bool]>,
    ) -> Result<RebuildReport, GeometryError> {
        let count = self.cells().environment_count();
        if count > 1 {
            return Err(GeometryError::NeedsEnvironment { count });
        }
        self.rebuild_from(&Source {
            points,
            mask,
            environments: self.inner.packing.as_ref().map(|packing| Assignment {
                list: None,
                count,
                packing,
            }),
        })
    }

    /// As [`rebuild`](Self::rebuild) with an environment for each point. Their number stays, and
    /// so do the vacant layers between them and the offsets that were given; others may change.
    ///
    /// # Errors
    /// As [`rebuild`](Self::rebuild) and [`from_environments`](Self::from_environments).
    pub fn rebuild_environments(
        &self,
        points: &[[f64; 3]],
        mask: Option<&[bool]>,
        environments: &[u32],
    ) -> Result<RebuildReport, GeometryError> {
        let count = self.cells().environment_count();
        let ordinary = Packing::side_by_side(1);
        let packing = self.inner.packing.as_ref().unwrap_or(&ordinary);
        self.rebuild_from(&Source {
            points,
            mask,
            environments: Some(Assignment {
                list: Some(environments),
                count,
                packing,
            }),
        })
    }

    fn rebuild_from(&self, source: &Source) -> Result<RebuildReport, GeometryError> {
        let inner = &*self.inner;
        let mut workshop = inner
            .workshop
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .unwrap_or_default();
        let capacity = *inner
            .capacity
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let current = self.cells();
        let built = workshop.build(source, &inner.map, capacity, Some(&current));
        drop(current);
        let result = built.map(|(mut cells, report)| {
            if !report.unchanged {
                let guard = inner.cells.write();
                std::mem::swap(
                    &mut *guard.unwrap_or_else(PoisonError::into_inner),
                    &mut cells,
                );
            }
            workshop.retire(cells);
            report
        });
        self.return_workshop(workshop);
        if let Err(error) = &result {
            let bit = match error {
                GeometryError::VoxelCapacity { what: "leaves", .. } => STATUS_LEAVES,
                GeometryError::VoxelCapacity { .. } | GeometryError::TooMany { .. } => STATUS_CELLS,
                GeometryError::VoxelRange { .. } => STATUS_RANGE,
                GeometryError::NoActiveCell { .. } => STATUS_NONE,
                _ => 0,
            };
            inner.status.fetch_or(bit, Ordering::Relaxed);
        }
        result
    }

    fn return_workshop(&self, workshop: Workshop) {
        let place = self.inner.workshop.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = Some(workshop);
    }

    /// Limits what rebuilds may make; `None` for no limit. The present cells stay.
    pub fn set_capacity(&self, capacity: Option<VoxelCapacity>) {
        let place = self.inner.capacity.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = capacity;
    }

    /// What went wrong in rebuilds since [`clear_status`](Self::clear_status).
    pub fn status(&self) -> VoxelStatus {
        let bits = self.inner.status.load(Ordering::Relaxed);
        VoxelStatus {
            too_many_cells: bits & STATUS_CELLS != 0,
            too_many_leaves: bits & STATUS_LEAVES != 0,
            out_of_range: bits & STATUS_RANGE != 0,
            no_cells: bits & STATUS_NONE != 0,
        }
    }

    /// Forgets what went wrong.
    pub fn clear_status(&self) {
        self.inner.status.store(0, Ordering::Relaxed);
    }

    /// See [`VoxelCells::locate`].
    ///
    /// # Errors
    /// As there.
    pub fn locate(
        &self,
        position: [f64; 3],
        lookup: &Lookup,
    ) -> Result<Option<CellPoint>, GeometryError> {
        self.cells().locate(position, lookup)
    }

    /// See [`VoxelCells::closest`].
    ///
    /// # Errors
    /// As there.
    pub fn closest(
        &self,
        position: [f64; 3],
        max_distance: f64,
        lookup: &Lookup,
    ) -> Result<Option<Nearest>, GeometryError> {
        self.cells().closest(position, max_distance, lookup)
    }
}

impl Geometry for VoxelGrid {
    fn id(&self) -> GeometryId {
        self.inner.id
    }
    fn cell_kind(&self) -> CellKind {
        CellKind::Hex
    }
    fn space_dim(&self) -> usize {
        3
    }
    fn topology(&self) -> Arc<Topology> {
        self.cells().tables().topology.clone()
    }
    fn tags(&self) -> Arc<Tags> {
        self.cells().direction_tags().clone()
    }
    fn map(&self) -> Arc<GeometryMap> {
        self.cells().geometry_map().clone()
    }
    fn map_class(&self) -> MapClass {
        MapClass::Uniform
    }
    fn snapshot(&self) -> Snapshot {
        let cells = self.cells();
        Snapshot {
            topology: cells.tables().topology.clone(),
            tags: cells.direction_tags().clone(),
            map: cells.geometry_map().clone(),
            class: MapClass::Uniform,
        }
    }
    fn lattice_cells(&self, topology: &Topology) -> Option<Vec<[i32; 4]>> {
        let cells = self.cells();
        if !std::ptr::eq(topology, &*cells.tables().topology) {
            return Some(Vec::new());
        }
        let place =
            |(cell, &[i, j, k]): (usize, &[i32; 3])| [cells.environment_of(cell) as i32, i, j, k];
        Some(
            cells
                .all_coordinates()
                .iter()
                .enumerate()
                .map(place)
                .collect(),
        )
    }
}

impl std::fmt::Debug for VoxelGrid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cells = self.cells();
        f.debug_struct("VoxelGrid")
            .field("id", &self.inner.id)
            .field("cells", &cells.cell_count())
            .field("leaves", &cells.leaf_count())
            .field("environments", &cells.environment_count())
            .field("map", &self.inner.map)
            .finish()
    }
}
