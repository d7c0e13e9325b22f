//! New meshes from old ones: refined, scaled, moved, lifted, tagged.
//!
//! Each method leaves its mesh alone and makes a new geometry; tables that stay the same are
//! shared.

use super::mesh::State;
use super::{Geometry, GeometryError, Mesh, Tags, equispaced, refine};

impl Mesh {
    /// Each segment cut into 2, triangle and quad into 4, tet and hex into 8 cells (tets after
    /// Bey) that lie, in a curved mesh too, exactly on their parent. The children of cell `c` are the `2^dim` cells from `c·2^dim`; the
    /// vertices keep their numbers and new ones follow.
    ///
    /// Cell and side tags go to all children. Vertex tags keep their vertices and get no new
    /// ones: a group that should cover a side is better a side tag.
    ///
    /// # Errors
    /// [`TooMany`](GeometryError::TooMany) past 32-bit indices;
    /// [`FoldedCell`](GeometryError::FoldedCell) for a curved child whose map folds at a node
    /// that was none of its parent's.
    pub fn refined(&self) -> Result<Mesh, GeometryError> {
        refine::refined(self)
    }

    /// The same cells with a map of degree `degree`, which no place notices until the new nodes
    /// are moved: `sphere(2)?.elevated(3)?.moved(onto_the_sphere)?` is a curved sphere.
    /// Vertices, sides and tags keep their numbers.
    ///
    /// # Errors
    /// [`Degree`](GeometryError::Degree) unless 1 to 10,
    /// [`LowerDegree`](GeometryError::LowerDegree) below the present degree,
    /// [`TooMany`](GeometryError::TooMany) past 32-bit indices.
    pub fn elevated(&self, degree: usize) -> Result<Mesh, GeometryError> {
        refine::elevated(self, degree)
    }

    /// The mesh scaled about the origin by a factor for each axis. A negative product of the
    /// factors mirrors it; the cells are then turned round, so that bodies stay positively
    /// oriented and the normals of a closed surface keep pointing the same way (outward or
    /// inward). Tags stay on their sides, whose numbers may change.
    ///
    /// # Errors
    /// [`ScaleFactor`](GeometryError::ScaleFactor) for a factor of an axis of the space that
    /// is 0 or not finite; [`BadCoordinate`](GeometryError::BadCoordinate) if the result is
    /// too large, [`DegenerateCell`](GeometryError::DegenerateCell) if it is too flat.
    pub fn scaled(&self, factors: [f64; 3]) -> Result<Mesh, GeometryError> {
        let dim = self.space_dim();
        for (axis, &factor) in factors[..dim].iter().enumerate() {
            if factor == 0.0 || !factor.is_finite() {
                return Err(GeometryError::ScaleFactor { axis, factor });
            }
        }
        let state = self.state();
        let nodes = state.map.nodes.iter().map(|x| {
            let mut y = [0.0; 3];
            (0..dim).for_each(|d| y[d] = x[d] * factors[d]);
            y
        });
        let nodes = nodes.collect();
        let negative = factors[..dim].iter().filter(|&&f| f < 0.0).count();
        if negative % 2 == 0 {
            return Ok(Mesh::from_state(dim, state.with_nodes(dim, nodes)?));
        }
        let (kind, degree) = (self.cell_kind(), state.map.degree);
        let flip = equispaced::flip(kind, degree);
        let old = state.map.cell_nodes.chunks_exact(flip.len());
        let cell_nodes = old.flat_map(|cell| flip.iter().map(|&n| cell[n])).collect();
        let new = State::curved(kind, dim, degree, nodes, cell_nodes)?;
        let mut tags = Tags::new();
        for name in state.tags.cell_names() {
            let cells = state.tags.cells(name).unwrap_or_default();
            tags.insert_cells(name, cells.to_vec());
        }
        for name in state.tags.vertex_names() {
            let vertices = state.tags.vertices(name).unwrap_or_default();
            tags.insert_vertices(name, vertices.to_vec());
        }
        for name in state.tags.side_names() {
            let sides = state.tags.sides(name).unwrap_or_default();
            let moved = sides.iter().filter_map(|&s| {
                let vertices = state.topology.side_vertices(s as usize);
                new.topology.find_side(vertices)
            });
            tags.insert_sides(name, moved.collect());
        }
        Ok(Mesh::from_state(dim, new.with_tags(tags)?))
    }

    /// The mesh with each vertex (and further geometry node) at the place `f` gives it.
    ///
    /// # Errors
    /// As [`move_vertices`](Self::move_vertices).
    pub fn moved(&self, f: impl Fn([f64; 3]) -> [f64; 3]) -> Result<Mesh, GeometryError> {
        let state = self.state();
        let nodes = state.map.nodes.iter().map(|&x| f(x)).collect();
        let new = state.with_nodes(self.space_dim(), nodes)?;
        Ok(Mesh::from_state(self.space_dim(), new))
    }

    /// The plane mesh as the surface `z = f(x, y)` in space.
    ///
    /// # Errors
    /// [`NotPlanar`](GeometryError::NotPlanar) unless the space dimension is 2;
    /// [`BadCoordinate`](GeometryError::BadCoordinate) for heights that are not finite.
    pub fn lifted(&self, f: impl Fn(f64, f64) -> f64) -> Result<Mesh, GeometryError> {
        if self.space_dim() != 2 {
            return Err(GeometryError::NotPlanar {
                space_dim: self.space_dim(),
            });
        }
        let state = self.state();
        let lift = |x: &[f64; 3]| [x[0], x[1], f(x[0], x[1])];
        let nodes = state.map.nodes.iter().map(lift).collect();
        Ok(Mesh::from_state(3, state.with_nodes(3, nodes)?))
    }

    /// The mesh with the boundary sides whose midpoint (mean of the vertices) satisfies
    /// `select` added to the side tag `name`. Interior sides are never selected; to tag some,
    /// use [`Topology::interior_sides`](super::Topology::interior_sides) and [`Tags`].
    ///
    /// # Errors
    /// [`EmptyTag`](GeometryError::EmptyTag) if no side satisfies it,
    /// [`TagName`](GeometryError::TagName) for an empty name.
    pub fn with_tag_sides(
        &self,
        name: &str,
        select: impl Fn([f64; 3]) -> bool,
    ) -> Result<Mesh, GeometryError> {
        let state = self.state();
        let midpoint = |s: u32| state.map.mean(state.topology.side_vertices(s as usize));
        let all = state.topology.boundary_sides().iter().copied();
        let sides: Vec<u32> = all.filter(|&s| select(midpoint(s))).collect();
        self.with_tag("boundary side", name, sides, Tags::insert_sides)
    }

    /// The mesh with the cells whose midpoint (mean of the vertices) satisfies `select` added
    /// to the cell tag `name`.
    ///
    /// # Errors
    /// As [`with_tag_sides`](Self::with_tag_sides).
    pub fn with_tag_cells(
        &self,
        name: &str,
        select: impl Fn([f64; 3]) -> bool,
    ) -> Result<Mesh, GeometryError> {
        let state = self.state();
        let midpoint = |c: u32| state.map.mean(state.topology.cell_vertices(c as usize));
        let all = 0..state.topology.cell_count() as u32;
        let cells: Vec<u32> = all.filter(|&c| select(midpoint(c))).collect();
        self.with_tag("cell", name, cells, Tags::insert_cells)
    }

    /// The mesh with the vertices whose position satisfies `select` added to the vertex tag
    /// `name`.
    ///
    /// # Errors
    /// As [`with_tag_sides`](Self::with_tag_sides).
    pub fn with_tag_vertices(
        &self,
        name: &str,
        select: impl Fn([f64; 3]) -> bool,
    ) -> Result<Mesh, GeometryError> {
        let state = self.state();
        let all = 0..state.topology.vertex_count() as u32;
        let vertices: Vec<u32> = all.filter(|&v| select(state.map.vertex(v))).collect();
        self.with_tag("vertex", name, vertices, Tags::insert_vertices)
    }

    fn with_tag(
        &self,
        entity: &'static str,
        name: &str,
        items: Vec<u32>,
        insert: impl Fn(&mut Tags, String, Vec<u32>),
    ) -> Result<Mesh, GeometryError> {
        if items.is_empty() {
            return Err(GeometryError::EmptyTag {
                entity,
                tag: name.to_string(),
            });
        }
        let state = self.state();
        let mut tags = (*state.tags).clone();
        insert(&mut tags, name.to_string(), items);
        Ok(Mesh::from_state(self.space_dim(), state.with_tags(tags)?))
    }
}
