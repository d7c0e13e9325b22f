//! Unstructured meshes, straight or curved.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::check::{Judge, check_dims, check_points, map_class};
use super::equispaced;
use super::{
    Geometry, GeometryError, GeometryId, GeometryMap, MapClass, MeshWarning, Snapshot, Tags,
    Topology, warn,
};
use crate::element::CellKind;

/// Largest degree of a curved mesh; equispaced nodes are ill-conditioned past it.
const MAX_DEGREE: usize = 10;

/// An unstructured mesh of cells of one kind; a cheap handle.
///
/// The mesh may lie in a space of higher dimension than its cells (surfaces, curves). Tables,
/// tags and positions are replaced as a whole: readers hold snapshots, and a change that fails
/// leaves the mesh as it was.
///
/// ```
/// use weft::element::CellKind;
/// use weft::geometry::{Geometry, Mesh};
///
/// let points = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
/// let mesh = Mesh::new(CellKind::Triangle, 2, points, vec![0, 1, 2, 0, 2, 3])?;
/// assert_eq!(mesh.topology().side_count(), 5);
/// # Ok::<(), weft::geometry::GeometryError>(())
/// ```
#[derive(Clone)]
pub struct Mesh {
    inner: Arc<Inner>,
}

struct Inner {
    id: GeometryId,
    kind: CellKind,
    space_dim: usize,
    state: RwLock<Arc<State>>,
}

/// Everything that changes, in one piece.
#[derive(Clone)]
pub(super) struct State {
    pub topology: Arc<Topology>,
    pub tags: Arc<Tags>,
    pub map: Arc<GeometryMap>,
    class: MapClass,
    warnings: OnceLock<Vec<MeshWarning>>,
}

impl State {
    /// Straight cells, in the order of [`CellKind`].
    pub fn straight(
        kind: CellKind,
        space_dim: usize,
        points: Vec<[f64; 3]>,
        cells: Vec<u32>,
    ) -> Result<State, GeometryError> {
        check_dims(kind, space_dim)?;
        check_points(space_dim, &points)?;
        if cells.is_empty() {
            return Err(GeometryError::NoCells);
        }
        let topology = Topology::build(kind, points.len(), cells)?;
        let lattice = to_lattice(kind, topology.cells());
        let map = GeometryMap {
            degree: 1,
            nodes: points,
            cell_nodes: Arc::new(lattice),
            vertex_nodes: None,
        };
        State::assemble(space_dim, Arc::new(topology), map, Arc::default())
    }

    /// Cells of any degree, in Lagrange numbering.
    pub fn curved(
        kind: CellKind,
        space_dim: usize,
        degree: usize,
        nodes: Vec<[f64; 3]>,
        cell_nodes: Vec<u32>,
    ) -> Result<State, GeometryError> {
        check_dims(kind, space_dim)?;
        check_degree(degree)?;
        check_points(space_dim, &nodes)?;
        check_cell_nodes(kind, degree, nodes.len(), &cell_nodes)?;
        let n = equispaced::node_count(kind, degree);
        let corners = equispaced::vertex_nodes(kind, degree);
        let mut cells = Vec::with_capacity(cell_nodes.len() / n * corners.len());
        for cell in cell_nodes.chunks_exact(n) {
            cells.extend(corners.iter().map(|&c| cell[c]));
        }
        let mut vertex_nodes = None;
        let mut vertex_count = nodes.len();
        if degree > 1 {
            // Vertices keep the order of their nodes.
            let mut number = vec![u32::MAX; nodes.len()];
            cells.iter().for_each(|&node| number[node as usize] = 0);
            let mut kept = Vec::new();
            for (node, n) in number.iter_mut().enumerate().filter(|(_, n)| **n == 0) {
                *n = kept.len() as u32;
                kept.push(node as u32);
            }
            cells.iter_mut().for_each(|c| *c = number[*c as usize]);
            vertex_count = kept.len();
            vertex_nodes = Some(Arc::new(kept));
        }
        let topology = Topology::build(kind, vertex_count, cells)?;
        let map = GeometryMap {
            degree,
            nodes,
            cell_nodes: Arc::new(cell_nodes),
            vertex_nodes,
        };
        if degree > 1 {
            check_side_nodes(&topology, degree, &map.cell_nodes)?;
        }
        State::assemble(space_dim, Arc::new(topology), map, Arc::default())
    }

    /// The same topology and tags with other positions.
    pub fn with_nodes(
        &self,
        space_dim: usize,
        nodes: Vec<[f64; 3]>,
    ) -> Result<State, GeometryError> {
        if nodes.len() != self.map.nodes.len() {
            return Err(GeometryError::PointCount {
                expected: self.map.nodes.len(),
                found: nodes.len(),
            });
        }
        check_points(space_dim, &nodes)?;
        let map = GeometryMap {
            degree: self.map.degree,
            nodes,
            cell_nodes: self.map.cell_nodes.clone(),
            vertex_nodes: self.map.vertex_nodes.clone(),
        };
        State::assemble(space_dim, self.topology.clone(), map, self.tags.clone())
    }

    /// The same mesh with other tags.
    pub fn with_tags(&self, tags: Tags) -> Result<State, GeometryError> {
        tags.check(&self.topology)?;
        Ok(State {
            tags: Arc::new(tags),
            ..self.clone()
        })
    }

    fn assemble(
        space_dim: usize,
        topology: Arc<Topology>,
        map: GeometryMap,
        tags: Arc<Tags>,
    ) -> Result<State, GeometryError> {
        let kind = topology.cell_kind();
        Judge::new(kind, space_dim, map.degree).check(&map.nodes, &map.cell_nodes)?;
        let class = map_class(kind, map.degree, &map.nodes, &map.cell_nodes);
        Ok(State {
            topology,
            tags,
            map: Arc::new(map),
            class,
            warnings: OnceLock::new(),
        })
    }
}

/// Cells in the order of [`CellKind`] to lattice order, which differs for quads and hexes.
fn to_lattice(kind: CellKind, cells: &[u32]) -> Vec<u32> {
    let corners = equispaced::vertex_nodes(kind, 1);
    let mut lattice = vec![0; cells.len()];
    let n = corners.len();
    for (out, cell) in lattice.chunks_exact_mut(n).zip(cells.chunks_exact(n)) {
        for (v, &node) in corners.iter().enumerate() {
            out[node] = cell[v];
        }
    }
    lattice
}

pub(super) fn check_degree(degree: usize) -> Result<(), GeometryError> {
    if degree == 0 || degree > MAX_DEGREE {
        return Err(GeometryError::Degree {
            degree,
            max: MAX_DEGREE,
        });
    }
    Ok(())
}

pub(super) fn check_cell_nodes(
    kind: CellKind,
    degree: usize,
    node_count: usize,
    cell_nodes: &[u32],
) -> Result<(), GeometryError> {
    let n = equispaced::node_count(kind, degree);
    if cell_nodes.is_empty() {
        return Err(GeometryError::NoCells);
    }
    if !cell_nodes.len().is_multiple_of(n) {
        return Err(GeometryError::Length {
            kind,
            length: cell_nodes.len(),
            per_cell: n,
        });
    }
    if node_count > u32::MAX as usize {
        return Err(GeometryError::TooMany {
            what: "geometry nodes",
            count: node_count as u128,
            limit: u32::MAX as u128,
        });
    }
    match cell_nodes.iter().position(|&i| i as usize >= node_count) {
        Some(at) => Err(GeometryError::IndexOutOfRange {
            cell: at / n,
            local: at % n,
            index: cell_nodes[at],
            limit: node_count,
        }),
        None => Ok(()),
    }
}

/// Cells that share a side must share all geometry nodes on it, or there would be a gap.
pub(super) fn check_side_nodes(
    topology: &Topology,
    degree: usize,
    cell_nodes: &[u32],
) -> Result<(), GeometryError> {
    let kind = topology.cell_kind();
    let n = equispaced::node_count(kind, degree);
    let on_side = equispaced::side_nodes(kind, degree);
    let nodes = |cell: u32, local: u8| {
        let cell = &cell_nodes[cell as usize * n..][..n];
        let mut nodes: Vec<u32> = on_side[local as usize].iter().map(|&i| cell[i]).collect();
        nodes.sort_unstable();
        nodes
    };
    for &side in topology.interior_sides() {
        let cells = topology.side_cells(side as usize);
        let locals = topology.side_locals(side as usize);
        if nodes(cells[0], locals[0]) != nodes(cells[1], locals[1]) {
            return Err(GeometryError::SideNodes {
                vertices: topology.side_vertices(side as usize).to_vec(),
                cells,
            });
        }
    }
    Ok(())
}

impl Mesh {
    /// A mesh of straight cells: positions of the vertices (coordinates past `space_dim` 0),
    /// and for each cell its vertices in the order of [`CellKind`], cells × vertices per cell.
    ///
    /// # Errors
    /// Those of [`Topology::build`]; [`SpaceDim`](GeometryError::SpaceDim);
    /// [`BadCoordinate`](GeometryError::BadCoordinate) and
    /// [`OutsideSpace`](GeometryError::OutsideSpace) for positions;
    /// [`NoCells`](GeometryError::NoCells); [`InvertedCell`](GeometryError::InvertedCell)
    /// (see [`reoriented`](Self::reoriented)), [`DegenerateCell`](GeometryError::DegenerateCell)
    /// and [`FoldedCell`](GeometryError::FoldedCell) for cells whose Jacobian, taken at the
    /// vertices, is not positive. What is odd but allowed is in [`warnings`](Self::warnings).
    pub fn new(
        kind: CellKind,
        space_dim: usize,
        points: Vec<[f64; 3]>,
        cells: Vec<u32>,
    ) -> Result<Mesh, GeometryError> {
        let state = State::straight(kind, space_dim, points, cells)?;
        Ok(Mesh::from_state(space_dim, state))
    }

    /// As [`new`](Self::new), with inverted cells (as some tools write them) turned round.
    /// Cells of surfaces and curves in a higher space have no sign and stay as they are.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) but `InvertedCell`.
    pub fn reoriented(
        kind: CellKind,
        space_dim: usize,
        points: Vec<[f64; 3]>,
        mut cells: Vec<u32>,
    ) -> Result<Mesh, GeometryError> {
        check_dims(kind, space_dim)?;
        check_points(space_dim, &points)?;
        // Judging needs valid indices; where they are not, `new` says so.
        let valid = cells.iter().all(|&v| (v as usize) < points.len());
        if valid && kind.dim() == space_dim {
            let corners = equispaced::vertex_nodes(kind, 1);
            let flip = equispaced::flip(kind, 1);
            let judge = Judge::new(kind, space_dim, 1);
            let mut local = vec![0; corners.len()];
            for cell in cells.chunks_exact_mut(corners.len()) {
                for (v, &node) in corners.iter().enumerate() {
                    local[node] = cell[v];
                }
                if judge.is_inverted(&points, &local) {
                    for (v, &node) in corners.iter().enumerate() {
                        cell[v] = local[flip[node]];
                    }
                }
            }
        }
        Mesh::new(kind, space_dim, points, cells)
    }

    /// A mesh whose cells are images of the reference cell under polynomials of degree
    /// `degree` (1 to 10): positions of the geometry nodes, and for each cell its nodes in
    /// Lagrange numbering on equispaced nodes (for quads and hexes lattice order, even in
    /// degree 1). Vertices are the nodes at cell corners, numbered in the order of the nodes;
    /// in degree 1 every node is a vertex.
    ///
    /// # Errors
    /// As [`new`](Self::new), with the Jacobian taken at all nodes;
    /// [`Degree`](GeometryError::Degree); [`SideNodes`](GeometryError::SideNodes) where
    /// neighbours disagree about the nodes of their common side.
    pub fn curved(
        kind: CellKind,
        space_dim: usize,
        degree: usize,
        nodes: Vec<[f64; 3]>,
        cell_nodes: Vec<u32>,
    ) -> Result<Mesh, GeometryError> {
        let state = State::curved(kind, space_dim, degree, nodes, cell_nodes)?;
        Ok(Mesh::from_state(space_dim, state))
    }

    /// As [`curved`](Self::curved), with inverted cells turned round.
    ///
    /// # Errors
    /// Those of [`curved`](Self::curved) but `InvertedCell`.
    pub fn curved_reoriented(
        kind: CellKind,
        space_dim: usize,
        degree: usize,
        nodes: Vec<[f64; 3]>,
        mut cell_nodes: Vec<u32>,
    ) -> Result<Mesh, GeometryError> {
        check_dims(kind, space_dim)?;
        check_degree(degree)?;
        check_points(space_dim, &nodes)?;
        check_cell_nodes(kind, degree, nodes.len(), &cell_nodes)?;
        if kind.dim() == space_dim {
            let judge = Judge::new(kind, space_dim, degree);
            let flip = equispaced::flip(kind, degree);
            for cell in cell_nodes.chunks_exact_mut(flip.len()) {
                if judge.is_inverted(&nodes, cell) {
                    let old = cell.to_vec();
                    (0..flip.len()).for_each(|n| cell[n] = old[flip[n]]);
                }
            }
        }
        Mesh::curved(kind, space_dim, degree, nodes, cell_nodes)
    }

    pub(super) fn from_state(space_dim: usize, state: State) -> Mesh {
        Mesh {
            inner: Arc::new(Inner {
                id: GeometryId::unique(),
                kind: state.topology.cell_kind(),
                space_dim,
                state: RwLock::new(Arc::new(state)),
            }),
        }
    }

    pub(super) fn state(&self) -> Arc<State> {
        // The lock guards one pointer, which is whole whatever panicked meanwhile.
        let guard = self.inner.state.read();
        guard.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the state by one made from it. Nothing is locked while it is made (the work may
    /// run on a thread pool, where waiting with a lock can deadlock); if another change came
    /// first, it is made again from that one.
    fn replace(
        &self,
        make: impl Fn(&State) -> Result<State, GeometryError>,
    ) -> Result<(), GeometryError> {
        loop {
            let old = self.state();
            let new = Arc::new(make(&old)?);
            let guard = self.inner.state.write();
            let mut current = guard.unwrap_or_else(PoisonError::into_inner);
            if Arc::ptr_eq(&current, &old) {
                *current = new;
                return Ok(());
            }
        }
    }

    /// A mesh of the same cells with these tags instead of the present ones. It is a new
    /// geometry (with an id of its own) that shares the tables.
    ///
    /// # Errors
    /// [`TagIndex`](GeometryError::TagIndex), [`TagName`](GeometryError::TagName).
    pub fn with_tags(self, tags: Tags) -> Result<Mesh, GeometryError> {
        let state = self.state().with_tags(tags)?;
        Ok(Mesh::from_state(self.inner.space_dim, state))
    }

    /// What is odd about the mesh but allowed. Found on the first request.
    pub fn warnings(&self) -> Vec<MeshWarning> {
        let state = self.state();
        state
            .warnings
            .get_or_init(|| warn::warnings(&state.topology, &state.map))
            .clone()
    }

    /// Moves the vertices (in a curved mesh all geometry nodes) of this mesh, seen through
    /// every handle. Topology and tags stay the same objects.
    ///
    /// # Errors
    /// [`PointCount`](GeometryError::PointCount) and those of [`new`](Self::new) for positions
    /// and cells; the mesh is then as it was.
    pub fn move_vertices(&self, positions: Vec<[f64; 3]>) -> Result<(), GeometryError> {
        self.replace(|state| state.with_nodes(self.inner.space_dim, positions.clone()))
    }

    /// Replaces vertices and cells of this mesh, seen through every handle; kind and space
    /// dimension stay, the map becomes straight. The tags are dropped, since their numbers say
    /// nothing about the new cells; give new ones with [`retag`](Self::retag). Snapshots taken
    /// before stay valid, and [`Arc::ptr_eq`] on the topology tells that they are old.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); the mesh is then as it was.
    pub fn rebuild(&self, points: Vec<[f64; 3]>, cells: Vec<u32>) -> Result<(), GeometryError> {
        let Inner {
            kind, space_dim, ..
        } = *self.inner;
        let new = Arc::new(State::straight(kind, space_dim, points, cells)?);
        let guard = self.inner.state.write();
        *guard.unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// Replaces the tags of this mesh, seen through every handle.
    ///
    /// # Errors
    /// As [`with_tags`](Self::with_tags); the mesh is then as it was.
    pub fn retag(&self, tags: Tags) -> Result<(), GeometryError> {
        self.replace(|state| state.with_tags(tags.clone()))
    }
}

impl Geometry for Mesh {
    fn id(&self) -> GeometryId {
        self.inner.id
    }
    fn cell_kind(&self) -> CellKind {
        self.inner.kind
    }
    fn space_dim(&self) -> usize {
        self.inner.space_dim
    }
    fn topology(&self) -> Arc<Topology> {
        self.state().topology.clone()
    }
    fn tags(&self) -> Arc<Tags> {
        self.state().tags.clone()
    }
    fn map(&self) -> Arc<GeometryMap> {
        self.state().map.clone()
    }
    fn map_class(&self) -> MapClass {
        self.state().class
    }
    fn snapshot(&self) -> Snapshot {
        let state = self.state();
        Snapshot {
            topology: state.topology.clone(),
            tags: state.tags.clone(),
            map: state.map.clone(),
            class: state.class,
        }
    }
}

impl std::fmt::Debug for Mesh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Mesh")
            .field("id", &self.inner.id)
            .field("space_dim", &self.inner.space_dim)
            .field("degree", &state.map.degree)
            .field("topology", &state.topology)
            .finish()
    }
}
