//! A geometry whose cells were moved: topology, tags and side numbering of another geometry,
//! positions of its own.

use super::check::{Judge, check_points, map_class};
use super::mesh::{check_cell_nodes, check_degree, check_side_nodes};
use super::{
    Frozen, Geometry, GeometryError, GeometryId, GeometryMap, MapClass, NodeNumbering, SideMap,
    Snapshot, Tags, Topology, equispaced,
};
use crate::element::CellKind;
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Debug)]
struct State {
    map: Arc<GeometryMap>,
    class: MapClass,
}

#[derive(Debug)]
struct Inner {
    id: GeometryId,
    base: Arc<dyn Geometry>,
    /// Of the base as it was.
    topology: Arc<Topology>,
    tags: Arc<Tags>,
    /// Vertices that no cell has, whose nodes come after the given ones.
    loose: Vec<Loose>,
    state: RwLock<State>,
}

/// Where a vertex goes that no cell has: to a combination of nodes.
#[derive(Debug)]
struct Loose {
    at: [f64; 3],
    nodes: Vec<(u32, f64)>,
}

/// A base geometry under a polynomial map of any degree in each cell. Cloning copies a handle.
///
/// Cells, sides and tags are those that the base had, even if it is rebuilt later. (After
/// [`Batch::refresh`](crate::partition::Batch::refresh) to other cells continuous spaces are
/// refused.) A vertex that no cell has lies where the cell whose face it is on takes it, or where
/// the base has it.
///
/// [`crate::assemble::Deformation`] makes one from a field or an expression.
#[derive(Clone, Debug)]
pub struct Deformed(Arc<Inner>);

fn checked(base: &dyn Geometry, map: GeometryMap) -> Result<State, GeometryError> {
    let (kind, dim) = (base.cell_kind(), base.space_dim());
    check_points(dim, &map.nodes)?;
    Judge::new(kind, dim, map.degree).check(&map.nodes, &map.cell_nodes)?;
    let class = map_class(kind, map.degree, &map.nodes, &map.cell_nodes);
    Ok(State {
        map: Arc::new(map),
        class,
    })
}

/// The node of each vertex of `base`, those of loose vertices from `first` on.
fn vertex_nodes(
    base: &dyn Geometry,
    degree: usize,
    cell_nodes: &[u32],
    first: usize,
) -> (Vec<u32>, Vec<Loose>) {
    const NONE: u32 = u32::MAX;
    let (kind, topology) = (base.cell_kind(), base.topology());
    let corners = equispaced::vertex_nodes(kind, degree);
    let per_cell = equispaced::node_count(kind, degree);
    let mut numbers = vec![NONE; topology.vertex_count()];
    for (cell, nodes) in cell_nodes.chunks_exact(per_cell).enumerate() {
        for (&vertex, &corner) in topology.cell_vertices(cell).iter().zip(&corners) {
            numbers[vertex as usize] = nodes[corner];
        }
    }
    let mut loose: Vec<Loose> = Vec::new();
    if !numbers.contains(&NONE) {
        return (numbers, loose);
    }
    // Corners of parts of boundary faces.
    for &side in topology.boundary_sides() {
        let vertices = topology.side_vertices(side as usize);
        for (&vertex, &corner) in vertices.iter().zip(kind.side_kind().vertices()) {
            if numbers[vertex as usize] != NONE {
                continue;
            }
            let [seen, _] = base.side_maps(&topology, side as usize);
            let weights = equispaced::values(kind, degree, &[seen.apply(corner)]);
            let cell = topology.side_cells(side as usize)[0] as usize;
            let nodes = cell_nodes[cell * per_cell..][..per_cell].iter().copied();
            numbers[vertex as usize] = (first + loose.len()) as u32;
            loose.push(Loose {
                at: [0.0; 3],
                nodes: nodes.zip(weights).collect(),
            });
        }
    }
    let map = base.map();
    for (vertex, number) in numbers.iter_mut().enumerate() {
        if *number == NONE {
            *number = (first + loose.len()) as u32;
            loose.push(Loose {
                at: map.vertex(vertex as u32),
                nodes: Vec::new(),
            });
        }
    }
    (numbers, loose)
}

/// Appends the places of loose vertices.
fn place(loose: &[Loose], nodes: &mut Vec<[f64; 3]>) {
    for Loose { at, nodes: of } in loose {
        let mut x = *at;
        for &(node, weight) in of {
            (0..3).for_each(|d| x[d] += weight * nodes[node as usize][d]);
        }
        nodes.push(x);
    }
}

impl Deformed {
    /// The cells of `base` as images under polynomials of degree `degree`: positions of nodes,
    /// and the nodes of each cell in Lagrange numbering on equispaced nodes.
    ///
    /// Where cells meet in whole sides they must have the nodes of the side in common; where they
    /// meet in parts of sides it is up to the caller to leave no gap.
    ///
    /// # Errors
    /// As for a curved mesh: positions that are not finite, cells turned over or flattened,
    /// neighbours that disagree about the nodes of their common side.
    pub fn new(
        base: Arc<dyn Geometry>,
        degree: usize,
        mut nodes: Vec<[f64; 3]>,
        cell_nodes: Vec<u32>,
    ) -> Result<Deformed, GeometryError> {
        let frozen = Frozen::new(&*base);
        let (kind, topology) = (base.cell_kind(), frozen.topology());
        check_degree(degree)?;
        check_cell_nodes(kind, degree, nodes.len(), &cell_nodes)?;
        let expected = topology.cell_count() * equispaced::node_count(kind, degree);
        if cell_nodes.len() != expected {
            return Err(GeometryError::PointCount {
                expected,
                found: cell_nodes.len(),
            });
        }
        if !base.nodes_may_hang() {
            check_side_nodes(&topology, degree, &cell_nodes)?;
        }
        let (vertex_nodes, loose) = vertex_nodes(&frozen, degree, &cell_nodes, nodes.len());
        place(&loose, &mut nodes);
        let map = GeometryMap {
            degree,
            nodes,
            cell_nodes: Arc::new(cell_nodes),
            vertex_nodes: Some(Arc::new(vertex_nodes)),
        };
        let state = RwLock::new(checked(&frozen, map)?);
        let tags = frozen.tags();
        Ok(Deformed(Arc::new(Inner {
            id: GeometryId::unique(),
            base,
            topology,
            tags,
            loose,
            state,
        })))
    }

    /// Move the nodes, given as in [`new`](Self::new); all or nothing.
    ///
    /// # Errors
    /// As [`new`](Self::new), or if their number differs; the geometry is then as it was.
    pub fn move_nodes(&self, mut nodes: Vec<[f64; 3]>) -> Result<(), GeometryError> {
        let old = self.map();
        let expected = old.nodes.len() - self.0.loose.len();
        if nodes.len() != expected {
            return Err(GeometryError::PointCount {
                expected,
                found: nodes.len(),
            });
        }
        place(&self.0.loose, &mut nodes);
        let map = GeometryMap {
            degree: old.degree,
            nodes,
            cell_nodes: old.cell_nodes.clone(),
            vertex_nodes: old.vertex_nodes.clone(),
        };
        let state = checked(&*self.0.base, map)?;
        *self.0.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        Ok(())
    }

    /// The geometry that was moved.
    pub fn base(&self) -> &Arc<dyn Geometry> {
        &self.0.base
    }
}

impl Geometry for Deformed {
    fn id(&self) -> GeometryId {
        self.0.id
    }

    fn cell_kind(&self) -> CellKind {
        self.0.base.cell_kind()
    }

    fn space_dim(&self) -> usize {
        self.0.base.space_dim()
    }

    fn topology(&self) -> Arc<Topology> {
        self.0.topology.clone()
    }

    fn tags(&self) -> Arc<Tags> {
        self.0.tags.clone()
    }

    fn map(&self) -> Arc<GeometryMap> {
        self.snapshot().map
    }

    fn map_class(&self) -> MapClass {
        self.snapshot().class
    }

    fn snapshot(&self) -> Snapshot {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot {
            topology: self.0.topology.clone(),
            tags: self.0.tags.clone(),
            map: state.map.clone(),
            class: state.class,
        }
    }

    fn side_maps(&self, topology: &Topology, side: usize) -> [SideMap; 2] {
        self.0.base.side_maps(topology, side)
    }

    fn nodes_may_hang(&self) -> bool {
        self.0.base.nodes_may_hang()
    }

    fn node_numbering(&self, topology: &Topology, degree: usize) -> Option<NodeNumbering> {
        self.0.base.node_numbering(topology, degree)
    }

    fn lattice_cells(&self, topology: &Topology) -> Option<Vec<[i32; 4]>> {
        self.0.base.lattice_cells(topology)
    }
    fn lattice(&self) -> Option<[usize; 3]> {
        self.0.base.lattice()
    }
}
