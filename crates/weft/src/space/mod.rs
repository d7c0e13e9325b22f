//! Function spaces: an element, a value shape, and the numbering of their nodes on a geometry.
//!
//! [`Space`] is a cheap handle. A space points at its geometry and never the other way, and
//! it keeps the topology that it was numbered on: after [`crate::geometry::Mesh::rebuild`]
//! it refers to the mesh as it was, and assembly says so instead of mixing the two.

mod numbering;
mod particles;
mod value;
mod vector;

pub(crate) use numbering::Nodes;
use particles::AtParticles;
pub use value::ValueKind;
pub(crate) use vector::{MAX_SHARED, VectorBasis};

use crate::element::{
    CellKind, Element, ElementError, Kernel, NodeFamily, Quadrature, VectorElement, VectorFamily,
};
use crate::form::Shape;
use crate::geometry::{Geometry, Hanging, Topology};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// What can be wrong with a space or with a request to it.
#[derive(Debug, Error)]
pub enum SpaceError {
    /// The element does not exist.
    #[error(transparent)]
    Element(#[from] ElementError),
    /// A value of this shape cannot be stored.
    #[error("a value needs between 1 and 16 components, got {0}")]
    ValueSize(usize),
    /// No tensors of this kind with this many rows.
    #[error("{kind} has 2 or 3 rows, not {size}")]
    TensorSize {
        /// The kind, with its article.
        kind: &'static str,
        /// Rows asked for.
        size: usize,
    },
    /// More nodes than a 32-bit index can hold.
    #[error("the space would have {0} nodes; at most {max} are supported", max = u32::MAX)]
    TooManyNodes(u64),
    /// The mesh is not the one that the space was numbered on.
    #[error("the mesh was rebuilt after the space was made on it; make the space again")]
    MeshRebuilt,
    /// The particles are not those that the space was made at.
    #[error("the particles were rebuilt after the space at them was made; make the space again")]
    ParticlesRebuilt,
    /// More particles in a cell than it can have functions.
    #[error("{0} samples of particles are in one cell; at most {max} have functions", max = crate::element::MAX_POINTS)]
    ManyParticles(usize),
    /// The basis has no hanging nodes.
    #[error(
        "on a grid with hanging nodes a continuous space has Lagrange functions, not {0}; use `Space::lagrange`"
    )]
    Hanging(String),
    /// Splines need a lattice.
    #[error("a {0} needs the cells of a lattice: use a `Grid2`, `Grid3` or `VoxelGrid`")]
    NoLattice(String),
    /// Hanging nodes of degree 3 and more exist for equispaced nodes only.
    #[error("on a grid with hanging nodes a space of degree 3 or more needs equispaced nodes")]
    NeedsEquispaced,
    /// A continuous space needs at least degree 1.
    #[error("a continuous space needs degree 1 or more; use `.discontinuous()` for degree 0")]
    ContinuousDegreeZero,
    /// Vector-valued elements live on cells of the dimension of space.
    #[error(
        "no {element} space on cells of dimension {cells} in space of dimension {space}: the two must be equal"
    )]
    VectorOnSurface {
        /// Family of the element.
        element: &'static str,
        /// Dimension of the cells.
        cells: usize,
        /// Dimension of space.
        space: usize,
    },
    /// Vector-valued elements need cells that meet side to side.
    #[error(
        "no {0} space on a grid whose nodes may hang: use a grid or mesh whose cells meet side to side"
    )]
    VectorHanging(&'static str),
    /// The values of a vector-valued element are vectors by themselves.
    #[error("the values of a {0} space are vectors already; take a Lagrange space for others")]
    VectorValue(&'static str),
    /// The element is for other cells.
    #[error("the element is {element}, but the geometry's cells are of kind {}", kind.name())]
    CellKind {
        /// Name of the element.
        element: String,
        /// Cells of the geometry.
        kind: CellKind,
    },
    /// No group of this name.
    #[error("no group of {what} is called \"{name}\"; the mesh has {known}")]
    UnknownTag {
        /// What was looked for: sides or vertices.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
}

#[derive(Debug)]
struct Inner {
    id: u64,
    geometry: Arc<dyn Geometry>,
    topology: Arc<Topology>,
    element: Element,
    /// Whether neighbours share nodes.
    shared: bool,
    value: ValueKind,
    nodes: Arc<Nodes>,
    /// If the functions are vectors.
    vector: Option<Arc<VectorBasis>>,
    /// If the nodes are particles; they are numbered by these then.
    particles: Option<Arc<AtParticles>>,
}

/// A function space on a geometry. Cloning copies a handle.
///
/// Degrees of freedom are numbered node by node: the components of one node are neighbours.
#[derive(Clone, Debug)]
pub struct Space(Arc<Inner>);

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Lobatto nodes, or equispaced ones where nodes hang.
pub(crate) fn default_family(geometry: &dyn Geometry) -> NodeFamily {
    if geometry.nodes_may_hang() {
        NodeFamily::Equispaced
    } else {
        NodeFamily::Lobatto
    }
}

impl Space {
    /// Continuous scalar Lagrange space of degree 1 to 10 with Lobatto nodes (equispaced ones on
    /// grids with hanging nodes).
    pub fn lagrange<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let family = default_family(geometry);
        Space::on(Arc::new(geometry.clone()), degree, family, true)
    }

    /// Discontinuous scalar Lagrange space: every cell has nodes of its own. Degree 0 to 10.
    pub fn discontinuous<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        Space::on(
            Arc::new(geometry.clone()),
            degree,
            NodeFamily::Lobatto,
            false,
        )
    }

    /// Continuous scalar serendipity space of degree 1 to 4 on quads and hexes: fewer nodes than
    /// [`lagrange`](Space::lagrange) and the same order, as long as cells are parallelograms or
    /// parallelepipeds; see [`Element::new_serendipity`].
    ///
    /// # Errors
    /// For another degree, on simplices for degrees above 2, and from degree 2 on on quads and hexes with hanging
    /// nodes.
    pub fn serendipity<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let element = Element::new_serendipity(geometry.cell_kind(), degree)?;
        Space::with_element(Arc::new(geometry.clone()), element, true)
    }

    /// Discontinuous scalar space of all polynomials of total degree `degree` (0 to 10) in each
    /// reference cell. On quads and hexes it has fewer nodes than
    /// [`discontinuous`](Space::discontinuous), on other cells it is the same.
    ///
    /// # Errors
    /// For a higher degree.
    pub fn polynomials<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let element = Element::new_polynomial(geometry.cell_kind(), degree)?;
        Space::with_element(Arc::new(geometry.clone()), element, false)
    }

    /// Scalar Crouzeix-Raviart space on simplices: linear in each cell, continuous in the middles of
    /// sides.
    ///
    /// # Errors
    /// On quads and hexes.
    pub fn crouzeix_raviart<G>(geometry: &G) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let element = Element::new_crouzeix_raviart(geometry.cell_kind())?;
        Space::with_element(Arc::new(geometry.clone()), element, true)
    }

    /// Continuous scalar space of degree 1 with a bubble in each cell: as a vector space, the velocity
    /// of the MINI element.
    ///
    /// # Errors
    /// On grids with hanging nodes.
    pub fn bubble<G>(geometry: &G) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let element = Element::new_bubble(geometry.cell_kind())?;
        Space::with_element(Arc::new(geometry.clone()), element, true)
    }

    /// Scalar space of uniform B-splines of degree 1 to 3, `degree - 1` times continuously
    /// differentiable, on a lattice: [`Grid2`](crate::geometry::Grid2),
    /// [`Grid3`](crate::geometry::Grid3) or [`VoxelGrid`](crate::geometry::VoxelGrid).
    ///
    /// Nodes are lattice vertices, from degree 2 on those one layer around the cells too. There, a
    /// degree of freedom is not the value at its node: boundary values are to be imposed weakly, and
    /// interpolation, which takes the values at the nodes, is exact for linear functions only (use
    /// [`project`](crate::assemble::project) for more). Rules of quadrature are cut at the knots.
    ///
    /// # Errors
    /// For another degree, on simplices, and from degree 2 on on meshes.
    pub fn splines<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let element = Element::new_spline(geometry.cell_kind(), degree)?;
        Space::with_element(Arc::new(geometry.clone()), element, true)
    }

    /// Scalar space of values at the points of the default rule of `degree` in every cell; see
    /// [`Element::new_points`]. Integrals are sums over these points: the mass matrix is diagonal.
    /// Functions have no values elsewhere, and no derivatives.
    ///
    /// # Errors
    /// If there is no such rule, or if it has more than [`MAX_POINTS`](crate::element::MAX_POINTS) points.
    pub fn points<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let rule = Quadrature::new(geometry.cell_kind(), degree)?;
        let element = Element::new_points(&rule, &Kernel::dirac())?;
        Space::with_element(Arc::new(geometry.clone()), element, false)
    }

    /// Scalar Lagrange space with every choice spelt out.
    pub fn on(
        geometry: Arc<dyn Geometry>,
        degree: usize,
        family: NodeFamily,
        continuous: bool,
    ) -> Result<Space, SpaceError> {
        let element = Element::new_lagrange(geometry.cell_kind(), degree, family)?;
        Space::with_element(geometry, element, continuous)
    }

    /// Scalar space of any element of the geometry's kind of cell. Neighbours share the nodes
    /// on their common entities, or every cell has nodes of its own.
    ///
    /// # Errors
    /// [`SpaceError::CellKind`] for an element of another kind of cell;
    /// [`SpaceError::TooManyNodes`]; what the element demands of the geometry.
    pub fn with_element(
        geometry: Arc<dyn Geometry>,
        element: Element,
        shared: bool,
    ) -> Result<Space, SpaceError> {
        if element.kind() != geometry.cell_kind() {
            return Err(SpaceError::CellKind {
                element: element.name(),
                kind: geometry.cell_kind(),
            });
        }
        if shared && element.lagrange().is_some_and(|l| l.degree() == 0) {
            return Err(SpaceError::ContinuousDegreeZero);
        }
        let topology = geometry.topology();
        let nodes = Nodes::new(&*geometry, &topology, &element, shared)?;
        Ok(Space(Arc::new(Inner {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            geometry,
            topology,
            element,
            shared,
            value: ValueKind::Scalar,
            nodes: Arc::new(nodes),
            vector: None,
            particles: None,
        })))
    }

    /// Space of the Nédélec element of the first kind for H(curl), degree 1 to 3: tangential
    /// components are continuous. Degree 1 has one function an edge.
    pub fn nedelec<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        Space::of_vectors(Arc::new(geometry.clone()), VectorFamily::Nedelec, degree)
    }

    /// Space of the Nédélec element of the second kind for H(curl) on simplices, degree 1 to 3: all
    /// vector polynomials of the degree, with continuous tangential components.
    pub fn nedelec_second<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let family = VectorFamily::NedelecSecond;
        Space::of_vectors(Arc::new(geometry.clone()), family, degree)
    }

    /// Space of the Raviart-Thomas element for H(div), degree 1 to 3: normal components are
    /// continuous. Degree 1 has one function a side.
    pub fn raviart_thomas<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let family = VectorFamily::RaviartThomas;
        Space::of_vectors(Arc::new(geometry.clone()), family, degree)
    }

    /// Space of the Brezzi-Douglas-Marini element for H(div) on simplices, degree 1 to 3: all vector
    /// polynomials of the degree, with continuous normal components.
    pub fn bdm<G>(geometry: &G, degree: usize) -> Result<Space, SpaceError>
    where
        G: Geometry + Clone + 'static,
    {
        let family = VectorFamily::BrezziDouglasMarini;
        Space::of_vectors(Arc::new(geometry.clone()), family, degree)
    }

    /// Space of a vector-valued element. Each node is a moment on an edge, on a face or in a cell, with
    /// one degree of freedom; nodes are grouped in that order.
    ///
    /// # Errors
    /// [`SpaceError::Element`] if the family or degree does not exist on the geometry's cells;
    /// [`SpaceError::VectorOnSurface`]; [`SpaceError::VectorHanging`];
    /// [`SpaceError::TooManyNodes`].
    pub fn of_vectors(
        geometry: Arc<dyn Geometry>,
        family: VectorFamily,
        degree: usize,
    ) -> Result<Space, SpaceError> {
        let kind = geometry.cell_kind();
        let element = VectorElement::new(family, kind, degree)?;
        let topology = geometry.topology();
        let (basis, nodes) = VectorBasis::new(&*geometry, &topology, element)?;
        Ok(Space(Arc::new(Inner {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            value: ValueKind::Vector(geometry.space_dim()),
            geometry,
            topology,
            element: Element::new_lagrange(kind, degree, NodeFamily::Lobatto)?,
            shared: true,
            nodes: Arc::new(nodes),
            vector: Some(Arc::new(basis)),
            particles: None,
        })))
    }

    /// The same nodes with a vector of `n` components at each.
    pub fn vector(&self, n: usize) -> Result<Space, SpaceError> {
        self.with_value(ValueKind::Vector(n))
    }

    /// The same nodes with a `rows × columns` matrix at each.
    pub fn matrix(&self, rows: usize, columns: usize) -> Result<Space, SpaceError> {
        self.with_value(ValueKind::Matrix(rows, columns))
    }

    /// The same nodes with a symmetric `n × n` tensor at each, `n` = 2 or 3.
    pub fn symmetric(&self, n: usize) -> Result<Space, SpaceError> {
        self.with_value(ValueKind::Symmetric(n))
    }

    /// The same nodes with a skew-symmetric `n × n` tensor at each, `n` = 2 or 3.
    pub fn skew(&self, n: usize) -> Result<Space, SpaceError> {
        self.with_value(ValueKind::Skew(n))
    }

    /// The same nodes with another kind of value at each.
    pub fn with_value(&self, value: ValueKind) -> Result<Space, SpaceError> {
        value.validate()?;
        let s = &self.0;
        if let Some(element) = self.vector_element() {
            return Err(SpaceError::VectorValue(element.family().name()));
        }
        Ok(Space(Arc::new(Inner {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            geometry: s.geometry.clone(),
            topology: s.topology.clone(),
            element: s.element.clone(),
            shared: s.shared,
            value,
            nodes: s.nodes.clone(),
            vector: None,
            particles: s.particles.clone(),
        })))
    }

    /// The geometry the space lives on.
    pub fn geometry(&self) -> &Arc<dyn Geometry> {
        &self.0.geometry
    }

    /// The topology the nodes were numbered on.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.0.topology
    }

    /// The scalar element; in spaces of vector-valued elements the Lagrange element whose polynomials
    /// hold their components in reference coordinates.
    pub fn element(&self) -> &Element {
        &self.0.element
    }

    /// The vector-valued element, in spaces of such.
    pub fn vector_element(&self) -> Option<&VectorElement> {
        self.0.vector.as_ref().map(|v| v.element())
    }

    /// The vector-valued element with the orientations of all cells.
    pub(crate) fn vector_basis(&self) -> Option<&VectorBasis> {
        self.0.vector.as_deref()
    }

    /// Polynomial degree of the element.
    pub fn degree(&self) -> usize {
        self.0.element.degree()
    }

    /// Whether functions of the space are continuous across cells.
    pub fn is_continuous(&self) -> bool {
        self.0.vector.is_none() && self.0.shared && self.0.element.is_conforming()
    }

    /// Whether neighbours share nodes; else each cell has nodes of its own, numbered cell by cell.
    pub fn shares_nodes(&self) -> bool {
        self.0.shared
    }

    /// Kind of value at each node.
    pub fn value(&self) -> ValueKind {
        self.0.value
    }

    /// Shape of a value of the space.
    pub fn shape(&self) -> Shape {
        self.0.value.shape()
    }

    /// Degrees of freedom at each node.
    pub fn components(&self) -> usize {
        match self.0.vector {
            Some(_) => 1,
            None => self.0.value.components(),
        }
    }

    /// Number of nodes with degrees of freedom.
    pub fn node_count(&self) -> usize {
        self.0.nodes.count
    }

    /// Number of degrees of freedom: nodes × components.
    pub fn dof_count(&self) -> usize {
        self.node_count() * self.components()
    }

    /// Nodes of each cell; in spaces of [particles](Space::particles) of the fullest, or 1 if all are
    /// empty.
    pub fn nodes_per_cell(&self) -> usize {
        match &self.0.vector {
            Some(vector) => vector.element().function_count(),
            None => self.0.element.node_count(),
        }
    }

    /// Nodes without degrees of freedom, whose values follow from others. Their numbers start
    /// at [`Space::node_count`].
    pub fn hanging(&self) -> &Hanging {
        &self.0.nodes.hanging
    }

    /// Number of all nodes, hanging ones included.
    pub fn all_node_count(&self) -> usize {
        self.node_count() + self.hanging().len()
    }

    /// Complete `values`, which hold the degrees of freedom, by those of the hanging nodes.
    pub fn append_hanging(&self, values: &mut Vec<f64>) {
        let per_node = self.components();
        values.truncate(self.dof_count());
        for k in 0..self.hanging().len() {
            let at = values.len();
            values.resize(at + per_node, 0.0);
            for (master, weight) in self.hanging().masters(k) {
                for c in 0..per_node {
                    values[at + c] += weight * values[master as usize * per_node + c];
                }
            }
        }
    }

    /// Add what the hanging nodes received to their masters, the transpose of
    /// [`Space::append_hanging`]: from one entry for each component of all nodes to one for
    /// each degree of freedom.
    pub(crate) fn fold_hanging(&self, all: &[f64], out: &mut [f64]) {
        let per_node = self.components();
        let (free, hanging) = all.split_at(self.dof_count());
        out.copy_from_slice(free);
        for (k, received) in hanging.chunks_exact(per_node).enumerate() {
            for (master, weight) in self.hanging().masters(k) {
                for c in 0..per_node {
                    out[master as usize * per_node + c] += weight * received[c];
                }
            }
        }
    }

    /// The nodes with degrees of freedom behind node `node`, with their weights.
    pub(crate) fn expansion(&self, node: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let free = (node as usize) < self.node_count();
        let itself = free.then_some((node, 1.0));
        let masters = (!free).then(|| self.hanging().masters(node as usize - self.node_count()));
        itself.into_iter().chain(masters.into_iter().flatten())
    }

    /// Global node numbers of cell `cell`, in the element's local order; numbers from
    /// [`Space::node_count`] on are hanging nodes. In spaces of [particles](Space::particles) they are
    /// the particles in the cell, as many as there are.
    ///
    /// # Panics
    /// If `cell` is not a cell of the geometry.
    pub fn cell_nodes(&self, cell: usize) -> &[u32] {
        if let Some(particles) = &self.0.particles {
            return particles.cell_nodes(cell);
        }
        let n = self.nodes_per_cell();
        &self.0.nodes.cell_nodes[cell * n..(cell + 1) * n]
    }

    /// An error if the mesh, or the particles whose space this is, were rebuilt after it was made.
    pub fn check_current(&self) -> Result<(), SpaceError> {
        if !Arc::ptr_eq(&self.0.topology, &self.0.geometry.topology()) {
            return Err(SpaceError::MeshRebuilt);
        }
        match &self.0.particles {
            Some(particles) if !particles.is_current() => Err(SpaceError::ParticlesRebuilt),
            _ => Ok(()),
        }
    }

    /// Positions of all nodes with degrees of freedom on the geometry as it is now; NaN if the
    /// mesh was rebuilt after the space was made, and for particles in no cell. Moments have the
    /// centres of their edges, faces and cells.
    pub fn node_positions(&self) -> Vec<[f64; 3]> {
        if self.check_current().is_err() {
            return vec![[f64::NAN; 3]; self.node_count()];
        }
        if let Some(samples) = self.particle_samples() {
            return self.particle_positions(samples);
        }
        match &self.0.vector {
            Some(vector) => self.0.nodes.positions(&*self.0.geometry, &vector.centres()),
            None => {
                let at = self.0.element.nodes();
                self.0.nodes.positions(&*self.0.geometry, at)
            }
        }
    }

    /// Nodes on the sides called `tag`, or the vertices called so if no sides are; sorted.
    pub fn tagged_nodes(&self, tag: &str) -> Result<Vec<u32>, SpaceError> {
        self.check_current()?;
        let tags = self.0.geometry.tags();
        let mut nodes = Vec::new();
        if let Some(sides) = tags.sides(tag) {
            for &side in sides {
                nodes.extend(self.side_nodes(side as usize));
            }
        } else if let Some(vertices) = tags.vertices(tag) {
            for &vertex in vertices {
                nodes.extend(self.vertex_nodes(vertex));
            }
        } else {
            let mut known: Vec<String> = tags.side_names().map(|n| format!("\"{n}\"")).collect();
            known.extend(tags.vertex_names().map(|n| format!("\"{n}\"")));
            return Err(SpaceError::UnknownTag {
                what: "sides or vertices",
                name: tag.to_owned(),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                },
            });
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }

    /// Nodes with degrees of freedom on side `side`, of both neighbours if the space is
    /// discontinuous. A side may be a part of a cell's face.
    pub fn side_nodes(&self, side: usize) -> impl Iterator<Item = u32> + '_ {
        let topology = &self.0.topology;
        let cells = topology.side_cells(side);
        let locals = topology.side_locals(side);
        let maps = self.0.geometry.side_maps(topology, side);
        let both = if cells[0] == cells[1] { 1 } else { 2 };
        (0..both).flat_map(move |k| {
            let nodes = self.cell_nodes(cells[k] as usize);
            let element = &self.0.element;
            let vector = self.vector_basis();
            let local = locals[k] as usize;
            let on_side = match vector {
                Some(vector) => vector.side_functions(local),
                None => element.closure_nodes(local),
            };
            // A part of a face holds some of its nodes; moments are on whole faces, and nodes of
            // splines lie around the side.
            let whole = vector.is_some() || !element.is_nodal();
            let holds = move |i: u16| whole || maps[k].holds(element.nodes()[i as usize]);
            on_side
                .iter()
                .filter(move |&&i| holds(i))
                .map(move |&i| nodes[i as usize])
                .filter(|&node| (node as usize) < self.node_count())
        })
    }

    /// Nodes at a vertex: one, or one a cell if the space is discontinuous.
    fn vertex_nodes(&self, vertex: u32) -> Vec<u32> {
        let mut found = Vec::new();
        if self.0.vector.is_some() {
            return found;
        }
        for &cell in self.0.topology.vertex_cells(vertex as usize) {
            let vertices = self.0.topology.cell_vertices(cell as usize);
            let Some(local) = vertices.iter().position(|&v| v == vertex) else {
                continue;
            };
            for &i in self.0.element.entity_nodes(0, local) {
                found.push(self.cell_nodes(cell as usize)[i as usize]);
            }
        }
        found.retain(|&node| (node as usize) < self.node_count());
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether both handles name the same space.
    pub fn same(&self, other: &Space) -> bool {
        self.0.id == other.0.id
    }

    /// A number that no other space of this process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }
}
