//! Adaptive voxel grids: cubic cells of up to eight levels on one integer lattice.
//!
//! [`AdaptiveVoxelGrid`] is the geometry, a [`VoxelMap`] says where its lattice lies. Cells are
//! refined and joined by [`Mark`]s under a [`Grading`]; [`Lineage`] and [`Overlaps`] relate the
//! cells of the old and the new grid. Continuous spaces conform across hanging faces and edges
//! through [`Geometry::node_numbering`].
//!
//! The one invariant: cells are aligned to their size, disjoint and sorted by Morton code, so
//! that each is an interval of codes.

mod cells;
mod error;
mod faces;
mod grade;
mod morton;
mod nodes;
mod overlap;
mod query;
mod sample;

use std::sync::{Arc, OnceLock};

use super::once::once;
use super::{
    Geometry, GeometryError, GeometryId, GeometryMap, MapClass, Nearest, NodeNumbering, SideMap,
    Tags, Topology, VoxelMap,
};
use crate::element::CellKind;
use cells::Cells;
use faces::Tables;

pub use error::AdaptiveError;
pub use grade::{Grading, Mark};
pub use overlap::{Lineage, Overlap, Overlaps};

/// The largest level of a cell, whose edges are then 128 finest voxels long.
pub const MAX_LEVEL: usize = 7;

#[derive(Debug)]
struct Inner {
    id: GeometryId,
    cells: Cells,
    map: VoxelMap,
    grading: Grading,
    tables: OnceLock<Tables>,
    tags: OnceLock<Arc<Tags>>,
    geometry_map: OnceLock<Arc<GeometryMap>>,
}

/// Disjoint cubic cells (in lattice coordinates) of levels 0 (finest) to [`MAX_LEVEL`]; a cheap
/// handle.
///
/// A cell of level `l` has edges of `2^l` finest voxels and begins at a multiple of that. All
/// cell corners have coordinates from −2²⁰ to 2²⁰ − 1. Cells are numbered along the Morton
/// curve, last axis fastest, so that any aligned block is a range of cells; [`find_cell`]
/// tells which cell holds a voxel.
///
/// Vertices are all corners of cells, hanging ones included, along the same curve. After them
/// come those corners of boundary sides that no cell has.
///
/// Sides: two touching cells have one side, of the size of the smaller. The part of a face that
/// nothing touches is cut into boundary sides, each as large a quadrant (of a quadrant …) of the
/// face as possible. A face can so have many sides ([`Topology::face_sides`]), of which
/// [`Topology::cell_sides`] gives the first. Sides are numbered in order of cell, local face and
/// quadrant, those inside at the smaller of their two cells. A side's inner cell is the one
/// before it along the axis; on the boundary the only cell is both, and the normal points out.
///
/// Side tags: `left`, `right`, `front`, `back`, `bottom`, `top` for the boundary sides on the
/// lower and upper x, y and z plane of the box around all cells.
///
/// [`find_cell`]: Self::find_cell
#[derive(Clone, Debug)]
pub struct AdaptiveVoxelGrid(Arc<Inner>);

impl AdaptiveVoxelGrid {
    fn new(cells: Cells, map: VoxelMap, grading: Grading) -> Result<Self, GeometryError> {
        if cells.len() == 0 {
            return Err(GeometryError::NoCells);
        }
        check_reach(&map.checked()?, cells.bounds())?;
        Ok(AdaptiveVoxelGrid(Arc::new(Inner {
            id: GeometryId::unique(),
            cells,
            map,
            grading,
            tables: OnceLock::new(),
            tags: OnceLock::new(),
            geometry_map: OnceLock::new(),
        })))
    }

    /// Cells given by their lowest finest voxel and level, in any order; not graded.
    ///
    /// # Errors
    /// [`NoCells`](GeometryError::NoCells), or [`GeometryError::Adaptive`] with the cells that
    /// have an invalid level, are not aligned, leave the range or overlap, or for a `map` so far
    /// from the origin that positions of vertices could not be told apart.
    pub fn from_cells(cells: &[([i32; 3], u8)], map: VoxelMap) -> Result<Self, GeometryError> {
        let given: Vec<_> = cells
            .iter()
            .map(|&(origin, level)| (origin.map(i64::from), usize::from(level)))
            .collect();
        Self::new(Cells::checked(&given)?, map, Grading::None)
    }

    /// The voxels of several lattices, from the finest to the coarsest, each twice as coarse as
    /// the one before: `levels[l]` has indices in voxels of level `l`. Not graded.
    ///
    /// # Errors
    /// As [`from_cells`](Self::from_cells), with cells counted through all levels, and for more
    /// than eight levels.
    pub fn from_hierarchy(levels: &[Vec<[i32; 3]>], map: VoxelMap) -> Result<Self, GeometryError> {
        if levels.len() > MAX_LEVEL + 1 {
            let levels = levels.len();
            return Err(AdaptiveError::LevelCount { levels }.into());
        }
        let mut given = Vec::new();
        for (level, voxels) in levels.iter().enumerate() {
            given.extend(
                voxels
                    .iter()
                    .map(|v| (sample::lowest(v.map(i64::from), level), level)),
            );
        }
        Self::new(Cells::checked(&given)?, map, Grading::None)
    }

    /// Cells of one level, with indices in voxels of that level.
    ///
    /// # Errors
    /// As [`from_cells`](Self::from_cells).
    pub fn uniform(
        voxels: &[[i32; 3]],
        level: usize,
        map: VoxelMap,
    ) -> Result<Self, GeometryError> {
        if level > MAX_LEVEL {
            return Err(AdaptiveError::Level { cell: 0, level }.into());
        }
        let given: Vec<_> = voxels
            .iter()
            .map(|v| (sample::lowest(v.map(i64::from), level), level))
            .collect();
        Self::new(Cells::checked(&given)?, map, Grading::None)
    }

    /// Coarse voxels cut up to `levels - 1` times as a field of position asks: a voxel of level
    /// `l` is cut if the least of the field's values at random points in it, times `levels`, is
    /// less than `l`. So values near 0 ask for the finest level and from 1 on for none. Points
    /// where the field is negative or NaN do not count, and voxels without others are left out.
    ///
    /// `map` is that of the coarse voxels; the grid's has voxels `2^-(levels-1)` times as
    /// large. Each voxel has random numbers of its own, the same in every run.
    ///
    /// # Errors
    /// As [`from_cells`](Self::from_cells), for no samples, and unless there are 1 to 8 levels.
    pub fn from_field(
        coarse: &[[i32; 3]],
        map: VoxelMap,
        levels: usize,
        field: impl Fn([f64; 3]) -> f64 + Sync,
        samples: usize,
        grading: Grading,
    ) -> Result<Self, GeometryError> {
        let map = map.finer(levels.saturating_sub(1).min(MAX_LEVEL) as i32);
        let cells = sample::cells(coarse, &map, levels, samples, &field)?;
        Self::new(grade::graded(cells, grading)?, map, grading)
    }

    /// The grid with the fewest more cells that satisfies a grading, which the grids adapted
    /// from it keep. Returns the same handle if nothing changes.
    ///
    /// # Errors
    /// [`AdaptiveError::TooManyCells`].
    pub fn graded(&self, grading: Grading) -> Result<Self, GeometryError> {
        let inner = &self.0;
        let cells = grade::graded(inner.cells.clone(), grading)?;
        if cells == inner.cells && grading == inner.grading {
            return Ok(self.clone());
        }
        Self::new(cells, inner.map, grading)
    }

    /// The grid refined and coarsened: marked cells are cut into eight, others where the
    /// grading asks for it; then families of eight siblings that are all marked are joined,
    /// finest first, where the grading stays satisfied. Returns the same handle if nothing
    /// changes.
    ///
    /// If cells of level 0 are to be cut, the lattice becomes twice as fine, and all levels
    /// rise by one.
    ///
    /// # Errors
    /// [`AdaptiveError::MarkCount`]; [`AdaptiveError::Finest`] if the lattice cannot become
    /// finer; [`AdaptiveError::TooManyCells`].
    pub fn adapted(&self, marks: &[Mark]) -> Result<Self, GeometryError> {
        let inner = &self.0;
        if marks.len() != inner.cells.len() {
            return Err(AdaptiveError::MarkCount {
                expected: inner.cells.len(),
                found: marks.len(),
            }
            .into());
        }
        let finest =
            (0..marks.len()).find(|&c| marks[c] == Mark::Refine && inner.cells.level(c) == 0);
        let (old, map) = match finest {
            None => (inner.cells.clone(), inner.map),
            Some(cell) => {
                let refuse = |why| AdaptiveError::Finest { cell, why };
                if inner
                    .cells
                    .levels()
                    .iter()
                    .any(|&l| usize::from(l) == MAX_LEVEL)
                {
                    return Err(refuse("the grid has cells of the largest level").into());
                }
                let finer = inner.cells.on_finer(1);
                let finer = finer.ok_or(refuse("the finer lattice would leave its range"))?;
                (finer, inner.map.finer(1))
            }
        };
        let new = grade::adapted(&old, marks, inner.grading)?;
        if finest.is_none() && new == inner.cells {
            return Ok(self.clone());
        }
        Self::new(new, map, inner.grading)
    }

    /// The same cells on the coarsest lattice that holds them, on which the smallest cell has
    /// level 0. Returns the same handle if that is so already.
    pub fn trimmed(&self) -> Self {
        let inner = &self.0;
        let by = inner.cells.levels().iter().copied().min().unwrap_or(0);
        if by == 0 {
            return self.clone();
        }
        AdaptiveVoxelGrid(Arc::new(Inner {
            id: GeometryId::unique(),
            cells: inner.cells.on_coarser(by.into()),
            map: inner.map.finer(-i32::from(by)),
            grading: inner.grading,
            tables: OnceLock::new(),
            tags: OnceLock::new(),
            geometry_map: OnceLock::new(),
        }))
    }

    /// What each cell of this grid was in an older one, on the same lattice or one `2^k` times
    /// as fine or coarse.
    ///
    /// # Errors
    /// [`AdaptiveError::Lattices`].
    pub fn lineage(&self, old: &AdaptiveVoxelGrid) -> Result<Vec<Lineage>, GeometryError> {
        self.with_common_lattice(old, overlap::lineage)
    }

    /// For each cell of this grid the cells of another one that lie in it or hold it, with the
    /// maps between their reference coordinates: what interpolation and projection of fields
    /// need.
    ///
    /// # Errors
    /// As [`lineage`](Self::lineage).
    pub fn overlaps(&self, old: &AdaptiveVoxelGrid) -> Result<Overlaps, GeometryError> {
        self.with_common_lattice(old, overlap::overlaps)
    }

    fn with_common_lattice<T>(
        &self,
        old: &AdaptiveVoxelGrid,
        compare: impl Fn(&Cells, &Cells) -> T,
    ) -> Result<T, GeometryError> {
        let (new, old) = (&self.0, &old.0);
        let above = new.map.levels_above(&old.map);
        let above = above.ok_or(AdaptiveError::Lattices)?;
        let finer = |cells: &Cells| {
            let finer = cells.on_finer(above.unsigned_abs());
            finer.ok_or(AdaptiveError::Lattices)
        };
        Ok(match above {
            0 => compare(&new.cells, &old.cells),
            1.. => compare(&finer(&new.cells)?, &old.cells),
            _ => compare(&new.cells, &finer(&old.cells)?),
        })
    }

    /// Number of cells; builds no table.
    pub fn cell_count(&self) -> usize {
        self.0.cells.len()
    }

    /// Lowest finest voxel of a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn cell_origin(&self, cell: usize) -> [i32; 3] {
        self.0.cells.origin(cell)
    }

    /// Level of a cell: its edges are `2^level` finest voxels long.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn cell_level(&self, cell: usize) -> u8 {
        self.0.cells.level(cell)
    }

    /// The cell that holds a finest voxel.
    pub fn find_cell(&self, voxel: [i32; 3]) -> Option<usize> {
        self.0.cells.find(voxel)
    }

    /// Where the lattice lies, with the finest voxels as cells.
    pub fn voxel_map(&self) -> VoxelMap {
        self.0.map
    }

    /// The grading that adapted grids keep.
    pub fn grading(&self) -> Grading {
        self.0.grading
    }

    /// Volume of a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn cell_volume(&self, cell: usize) -> f64 {
        cells::volume(self.0.cells.level(cell)) as f64 * self.0.map.volume()
    }

    /// The cell that holds a position, boundary included, and the reference coordinates there.
    /// On a border between cells it is the one after it along each axis, if there is one, else of
    /// several the smallest.
    pub fn locate(&self, x: [f64; 3]) -> Option<(usize, [f64; 3])> {
        query::locate(&self.0.cells, &self.0.map, x)
    }

    /// The closest cell at most `max_dist` away (which may be infinite): the one that
    /// [`locate`](Self::locate) finds if there is one, else the closest, of several the smallest.
    pub fn closest(&self, x: [f64; 3], max_dist: f64) -> Option<Nearest> {
        query::closest(&self.0.cells, &self.0.map, x, max_dist)
    }

    fn tables(&self) -> &Tables {
        once(&self.0.tables, || Tables::build(&self.0.cells))
    }

    fn build_map(&self) -> GeometryMap {
        let (tables, map) = (self.tables(), &self.0.map);
        let position = |&code: &u64| map.position(morton::decode(code).map(f64::from));
        // From the order of hex vertices to lattice order.
        const LATTICE: [usize; 8] = [0, 4, 3, 7, 1, 5, 2, 6];
        let cells = tables.topology.cells().chunks_exact(8);
        GeometryMap {
            degree: 1,
            nodes: tables.vertices.iter().map(position).collect(),
            cell_nodes: Arc::new(cells.flat_map(|cell| LATTICE.map(|l| cell[l])).collect()),
            vertex_nodes: None,
        }
    }
}

/// Checks that neighbouring vertices between two corners can be told apart, with some digits to
/// spare.
fn check_reach(map: &VoxelMap, bounds: [[i32; 3]; 2]) -> Result<(), AdaptiveError> {
    let mut reach = 0.0f64;
    for corner in 0..8 {
        let r = std::array::from_fn(|d| f64::from(bounds[corner >> d & 1][d]));
        reach = map.position(r).iter().fold(reach, |m, c| m.max(c.abs()));
    }
    let thickness = map.thickness();
    if reach <= 1e100 && thickness > 64.0 * f64::EPSILON * reach {
        return Ok(());
    }
    Err(AdaptiveError::Reach { reach, thickness })
}

impl Geometry for AdaptiveVoxelGrid {
    fn id(&self) -> GeometryId {
        self.0.id
    }

    fn cell_kind(&self) -> CellKind {
        CellKind::Hex
    }

    fn space_dim(&self) -> usize {
        3
    }

    fn topology(&self) -> Arc<Topology> {
        self.tables().topology.clone()
    }

    fn tags(&self) -> Arc<Tags> {
        let build = || Arc::new(self.tables().tags(self.0.cells.bounds()));
        once(&self.0.tags, build).clone()
    }

    fn map(&self) -> Arc<GeometryMap> {
        once(&self.0.geometry_map, || Arc::new(self.build_map())).clone()
    }

    fn map_class(&self) -> MapClass {
        MapClass::Affine
    }

    fn side_maps(&self, _: &Topology, side: usize) -> [SideMap; 2] {
        self.tables().side_maps(&self.0.cells, side)
    }

    fn nodes_may_hang(&self) -> bool {
        true
    }

    fn node_numbering(&self, _: &Topology, degree: usize) -> Option<NodeNumbering> {
        (degree > 0).then(|| nodes::number(&self.0.cells, degree))
    }
}
