//! Geometries: which cells there are, how they touch, and where they lie.
//!
//! A geometry answers three questions, each with a shared snapshot: [`Topology`] (cells, sides,
//! edges, vertices and their neighbours), [`Tags`] (named groups of them) and [`GeometryMap`]
//! (positions). [`Grid2`] and [`Grid3`] are axis-aligned grids that hold only their bounds until
//! a table is asked for; [`VoxelGrid`] holds the active cells of an unbounded lattice,
//! [`AdaptiveVoxelGrid`] cubes of several sizes; [`Mesh`] is an unstructured mesh, straight or
//! curved. The [`shapes`] module makes meshes of simple bodies.
//!
//! The one invariant: whatever a constructor returned has indices in range, finite coordinates,
//! manifold sides and positively oriented cells of non-zero measure, so nothing later has to ask.

mod adaptive;
mod check;
mod deformed;
mod equispaced;
mod error;
mod frame;
mod frozen;
mod grid;
mod group;
mod inverse;
mod lattice;
mod locate;
mod mesh;
mod metric;
mod morton;
mod nodes;
mod numbering;
mod once;
mod refine;
mod repeat;
pub mod shapes;
pub(crate) mod side_map;
mod sides;
mod surface;
mod tags;
mod topology;
mod transform;
mod voxel;
mod warn;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::element::CellKind;

pub use adaptive::{
    AdaptiveError, AdaptiveVoxelGrid, Grading, Lineage, MAX_LEVEL, Mark, Overlap, Overlaps,
};
pub use deformed::Deformed;
pub use error::{GeometryError, MeshWarning};
pub use frame::{Frame, frame_at, map_element};
pub(crate) use frame::{VectorPush, frame_from, frames_anywhere, frames_at};
pub(crate) use frozen::Frozen;
pub use grid::{Grid2, Grid3};
pub use inverse::cell_coordinates;
pub use locate::{
    LocateError, Location, Locator, Nearest, Search, cell_bounds, closest_point, locate,
};
pub use mesh::Mesh;
pub use numbering::{Hanging, NodeNumbering};
pub use side_map::SideMap;
pub use surface::{SignedDistance, Surface, SurfaceError};
pub use tags::Tags;
pub use topology::Topology;
pub use voxel::{
    CellPoint, Lookup, RebuildReport, VoxelCapacity, VoxelCells, VoxelGrid, VoxelMap, VoxelStatus,
};

/// Identity of a geometry object: two handles are the same geometry exactly when these are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GeometryId(u64);

impl GeometryId {
    /// An identity that no other geometry of this process has.
    pub fn unique() -> GeometryId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        GeometryId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// How much the Jacobian of the cells' maps varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapClass {
    /// The same Jacobian in all cells.
    Uniform,
    /// Constant in each cell.
    Affine,
    /// Varying inside cells.
    General,
}

/// Snapshot of where the cells of a geometry are.
#[derive(Clone, Debug, PartialEq)]
pub struct GeometryMap {
    /// Polynomial degree of the map from the reference cell; 1 for straight cells.
    pub degree: usize,
    /// Positions of the geometry nodes: the vertices and, in curved meshes, more (vertices that no
    /// cell has come last in deformed geometries).
    /// Coordinates past the space dimension are 0.
    pub nodes: Vec<[f64; 3]>,
    /// Nodes of each cell, cells × nodes per cell, in Lagrange numbering of `degree` on
    /// equispaced nodes. For quads and hexes this is the lattice order, not the order of
    /// [`Topology::cell_vertices`]. Shared by maps that differ in positions only.
    pub cell_nodes: Arc<Vec<u32>>,
    /// The node of each vertex; `None` when vertex `v` is node `v`.
    pub vertex_nodes: Option<Arc<Vec<u32>>>,
}

impl GeometryMap {
    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertex_nodes
            .as_ref()
            .map_or(self.nodes.len(), |map| map.len())
    }

    /// The geometry node that vertex `vertex` is.
    ///
    /// # Panics
    /// If a curved mesh has no such vertex.
    pub fn vertex_node(&self, vertex: u32) -> u32 {
        match &self.vertex_nodes {
            Some(map) => map[vertex as usize],
            None => vertex,
        }
    }

    /// Position of vertex `vertex`.
    ///
    /// # Panics
    /// If there is no such vertex.
    pub fn vertex(&self, vertex: u32) -> [f64; 3] {
        self.nodes[self.vertex_node(vertex) as usize]
    }

    /// Mean position of some vertices; the origin if there are none.
    pub fn mean(&self, vertices: &[u32]) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for &v in vertices {
            let x = self.vertex(v);
            for d in 0..3 {
                sum[d] += x[d];
            }
        }
        sum.map(|s| s / vertices.len().max(1) as f64)
    }
}

/// Cells, groups and positions of a geometry that belong together.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Cells, sides, edges, vertices and how they touch.
    pub topology: Arc<Topology>,
    /// Named groups of them.
    pub tags: Arc<Tags>,
    /// Where they are.
    pub map: Arc<GeometryMap>,
    /// How much the Jacobian varies.
    pub class: MapClass,
}

/// A set of cells of one kind in space.
///
/// All answers are snapshots behind `Arc`: a geometry that changes (see [`Mesh::move_vertices`]
/// and [`Mesh::rebuild`]) hands out new ones, so comparing with [`Arc::ptr_eq`] tells whether
/// what was built from an earlier answer is still current. Where another thread may change the
/// geometry between two questions, ask for a [`snapshot`](Geometry::snapshot).
pub trait Geometry: std::fmt::Debug + Send + Sync {
    /// Identity of this geometry.
    fn id(&self) -> GeometryId;
    /// Kind of all its cells.
    fn cell_kind(&self) -> CellKind;
    /// Number of coordinates of a position: 1, 2 or 3.
    fn space_dim(&self) -> usize;
    /// Cells, sides, edges, vertices and how they touch.
    fn topology(&self) -> Arc<Topology>;
    /// Named groups of cells, sides and vertices.
    fn tags(&self) -> Arc<Tags>;
    /// Where the cells are.
    fn map(&self) -> Arc<GeometryMap>;
    /// How much the Jacobian varies.
    fn map_class(&self) -> MapClass;
    /// All of these from one moment. A geometry that can change overrides this.
    fn snapshot(&self) -> Snapshot {
        Snapshot {
            topology: self.topology(),
            tags: self.tags(),
            map: self.map(),
            class: self.map_class(),
        }
    }
    /// How the inner and the outer cell of a side see it, in a topology that the geometry has or
    /// had.
    fn side_maps(&self, topology: &Topology, side: usize) -> [SideMap; 2] {
        side_map::of_topology(topology, side)
    }
    /// Whether nodes may hang in [`node_numbering`](Geometry::node_numbering), so that spaces of
    /// degree 3 and more need equispaced nodes.
    fn nodes_may_hang(&self) -> bool {
        false
    }
    /// Numbering of the nodes of continuous Lagrange spaces of degree `degree` on a topology that
    /// the geometry has or had, where the geometry prescribes one; `None` for the numbering by
    /// vertices, edges, faces and cells. A numbering without any cell says that the geometry no
    /// longer knows the topology.
    fn node_numbering(&self, topology: &Topology, degree: usize) -> Option<NodeNumbering> {
        let _ = (topology, degree);
        None
    }
    /// Where the cells lie, if they are those of one lattice, in a topology that the geometry has or
    /// had: the environment and the lattice coordinates of each cell; `None` for anything else. An
    /// answer without any cell says that the geometry no longer knows the topology.
    fn lattice_cells(&self, topology: &Topology) -> Option<Vec<[i32; 4]>> {
        let _ = topology;
        let [nx, ny, nz] = self.lattice()?.map(|n| n as i32);
        let rows = (0..nx).flat_map(|i| (0..ny).map(move |j| [i, j]));
        let cells = rows.flat_map(|[i, j]| (0..nz).map(move |k| [0, i, j, k]));
        Some(cells.collect())
    }
    /// Cells per axis of a grid (1 for unused axes); `None` for anything else.
    fn lattice(&self) -> Option<[usize; 3]> {
        None
    }
}
