//! Which cells, sides, edges and vertices there are, and how they touch.

use std::sync::OnceLock;

use super::group::first_slots;
use super::sides::{FaceSides, Sides, check_cells, find_sides};
use super::{GeometryError, Tags};
use crate::element::CellKind;

/// Tables of the entities of cells of one kind.
///
/// Sides and edges are numbered in order of first appearance, going over the cells and in each
/// over its local sides or edges. (Grids number their sides by their own rule, see
/// [`Grid2`](super::Grid2).) A side's *inner* cell is the smaller of its two cells, and its
/// vertices are listed in that cell's local order; on the boundary both cells are the same.
/// In two dimensions the edges are the sides, under the same numbers; in one dimension they are
/// the cells.
pub struct Topology {
    kind: CellKind,
    vertex_count: usize,
    cells: Vec<u32>,
    cell_sides: Vec<u32>,
    side_vertices: Vec<u32>,
    side_cells: Vec<[u32; 2]>,
    side_locals: Vec<[u8; 2]>,
    boundary: Vec<u32>,
    interior: OnceLock<Vec<u32>>,
    edges: OnceLock<Edges>,
    vertex_cells: OnceLock<VertexCells>,
    pub(super) faces: Option<FaceSides>,
    /// Sides by their sorted vertices, for faces with several sides.
    by_vertices: OnceLock<Vec<([u32; 4], u32)>>,
}

struct Edges {
    vertices: Vec<[u32; 2]>,
    cell_edges: Vec<u32>,
}

struct VertexCells {
    offsets: Vec<u32>,
    cells: Vec<u32>,
}

fn sorted<const M: usize>(mut items: [u32; M]) -> [u32; M] {
    items.sort_unstable();
    items
}

impl Topology {
    /// Finds the sides of cells given by their vertices (cells × vertices per cell, in the
    /// order of [`CellKind`]).
    ///
    /// # Errors
    /// [`UnsupportedKind`](GeometryError::UnsupportedKind) for points,
    /// [`Length`](GeometryError::Length), [`TooMany`](GeometryError::TooMany),
    /// [`IndexOutOfRange`](GeometryError::IndexOutOfRange),
    /// [`RepeatedVertex`](GeometryError::RepeatedVertex),
    /// [`NonManifoldSide`](GeometryError::NonManifoldSide) where three or more cells share a
    /// side, [`TwistedSide`](GeometryError::TwistedSide) where two hexes disagree about a face.
    pub fn build(
        kind: CellKind,
        vertex_count: usize,
        cells: Vec<u32>,
    ) -> Result<Topology, GeometryError> {
        check_cells(kind, vertex_count, &cells)?;
        let sides = find_sides(kind, vertex_count, &cells)?;
        Ok(Topology::from_sides(kind, vertex_count, cells, sides))
    }

    /// A topology with sides found elsewhere; all tables must be consistent.
    pub(super) fn from_sides(
        kind: CellKind,
        vertex_count: usize,
        cells: Vec<u32>,
        sides: Sides,
    ) -> Topology {
        let boundary = (0..sides.cells.len() as u32)
            .filter(|&s| sides.cells[s as usize][0] == sides.cells[s as usize][1])
            .collect();
        Topology {
            kind,
            vertex_count,
            cells,
            cell_sides: sides.cell_sides,
            side_vertices: sides.vertices,
            side_cells: sides.cells,
            side_locals: sides.locals,
            boundary,
            interior: OnceLock::new(),
            edges: OnceLock::new(),
            vertex_cells: OnceLock::new(),
            faces: sides.faces,
            by_vertices: OnceLock::new(),
        }
    }

    /// Kind of the cells.
    pub fn cell_kind(&self) -> CellKind {
        self.kind
    }

    /// Number of vertices, used or not.
    pub fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.cells.len() / self.kind.vertex_count()
    }

    /// Vertices of a cell, in the order of [`CellKind`].
    ///
    /// # Panics
    /// Like all accessors here, if the index is out of range.
    pub fn cell_vertices(&self, cell: usize) -> &[u32] {
        let n = self.kind.vertex_count();
        &self.cells[cell * n..(cell + 1) * n]
    }

    /// Vertices of all cells, cells × vertices per cell.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// Number of sides.
    pub fn side_count(&self) -> usize {
        self.side_cells.len()
    }

    /// Sides of a cell, in local side order; of a face with several sides the first.
    pub fn cell_sides(&self, cell: usize) -> &[u32] {
        let n = self.kind.side_count();
        &self.cell_sides[cell * n..(cell + 1) * n]
    }

    /// All sides on a cell's local side `local`, ascending: more than one where small cells
    /// meet a large one, see [`AdaptiveVoxelGrid`](super::AdaptiveVoxelGrid).
    pub fn face_sides(&self, cell: usize, local: usize) -> &[u32] {
        let face = cell * self.kind.side_count() + local;
        match &self.faces {
            None => &self.cell_sides[face..=face],
            Some(f) => &f.sides[f.offsets[face] as usize..f.offsets[face + 1] as usize],
        }
    }

    /// Vertices of a side, in the inner cell's local order of that side.
    pub fn side_vertices(&self, side: usize) -> &[u32] {
        let n = self.kind.side_kind().vertex_count();
        &self.side_vertices[side * n..(side + 1) * n]
    }

    /// Inner and outer cell of a side; equal on the boundary.
    pub fn side_cells(&self, side: usize) -> [u32; 2] {
        self.side_cells[side]
    }

    /// Local number of a side in its inner and outer cell; equal on the boundary.
    pub fn side_locals(&self, side: usize) -> [u8; 2] {
        self.side_locals[side]
    }

    /// Sides with one cell, ascending.
    pub fn boundary_sides(&self) -> &[u32] {
        &self.boundary
    }

    /// Sides with two cells, ascending.
    pub fn interior_sides(&self) -> &[u32] {
        self.interior.get_or_init(|| {
            (0..self.side_count() as u32)
                .filter(|&s| !self.is_boundary(s as usize))
                .collect()
        })
    }

    /// Whether a side has one cell.
    pub fn is_boundary(&self, side: usize) -> bool {
        let [inner, outer] = self.side_cells[side];
        inner == outer
    }

    /// Number of edges. In three dimensions the first request finds them.
    pub fn edge_count(&self) -> usize {
        match self.kind.dim() {
            2 => self.side_count(),
            _ => self.edge_tables().vertices.len(),
        }
    }

    /// Vertices of an edge, the smaller first.
    pub fn edge_vertices(&self, edge: usize) -> [u32; 2] {
        match self.kind.dim() {
            2 => sorted([
                self.side_vertices[2 * edge],
                self.side_vertices[2 * edge + 1],
            ]),
            _ => self.edge_tables().vertices[edge],
        }
    }

    /// Edges of a cell, in local edge order.
    pub fn cell_edges(&self, cell: usize) -> &[u32] {
        match self.kind.dim() {
            2 => self.cell_sides(cell),
            _ => {
                let n = self.kind.edges().len();
                &self.edge_tables().cell_edges[cell * n..(cell + 1) * n]
            }
        }
    }

    /// Cells at a vertex, ascending.
    pub fn vertex_cells(&self, vertex: usize) -> &[u32] {
        let table = self.vertex_cells.get_or_init(|| self.find_vertex_cells());
        &table.cells[table.offsets[vertex] as usize..table.offsets[vertex + 1] as usize]
    }

    /// The side with these vertices, given in any order.
    pub fn find_side(&self, vertices: &[u32]) -> Option<u32> {
        let m = self.kind.side_kind().vertex_count();
        if vertices.len() != m || vertices.iter().any(|&v| v as usize >= self.vertex_count) {
            return None;
        }
        let mut wanted = [0u32; 4];
        wanted[..m].copy_from_slice(vertices);
        wanted[..m].sort_unstable();
        if self.faces.is_some() {
            let table = self.by_vertices.get_or_init(|| self.sort_sides());
            let at = table.binary_search_by_key(&wanted, |entry| entry.0).ok()?;
            return Some(table[at].1);
        }
        let cells = vertices
            .iter()
            .map(|&v| self.vertex_cells(v as usize))
            .min_by_key(|cells| cells.len())?;
        let mut found = [0u32; 4];
        for &cell in cells {
            for &side in self.cell_sides(cell as usize) {
                found[..m].copy_from_slice(self.side_vertices(side as usize));
                found[..m].sort_unstable();
                if found[..m] == wanted[..m] {
                    return Some(side);
                }
            }
        }
        None
    }

    /// The edge between two vertices, given in any order.
    pub fn find_edge(&self, a: u32, b: u32) -> Option<u32> {
        let [a, b] = sorted([a, b]);
        if b as usize >= self.vertex_count {
            return None;
        }
        let (cells_a, cells_b) = (self.vertex_cells(a as usize), self.vertex_cells(b as usize));
        let cells = if cells_a.len() <= cells_b.len() {
            cells_a
        } else {
            cells_b
        };
        cells
            .iter()
            .flat_map(|&cell| self.cell_edges(cell as usize))
            .copied()
            .find(|&edge| self.edge_vertices(edge as usize) == [a, b])
    }

    /// Sides of the side tag `name`.
    ///
    /// # Errors
    /// [`GeometryError::UnknownTag`] with the names there are;
    /// [`GeometryError::TagIndex`] if the tag is not of this topology.
    pub fn sides_of_tag<'t>(&self, tags: &'t Tags, name: &str) -> Result<&'t [u32], GeometryError> {
        let sides = tags.sides(name).ok_or_else(|| GeometryError::UnknownTag {
            entity: "side",
            tag: name.to_string(),
            known: tags.side_names().map(str::to_string).collect(),
        })?;
        match sides.last() {
            Some(&last) if last as usize >= self.side_count() => Err(GeometryError::TagIndex {
                entity: "side",
                tag: name.to_string(),
                index: last,
                limit: self.side_count(),
            }),
            _ => Ok(sides),
        }
    }

    /// The connected part each cell belongs to; cells with a common vertex or side are
    /// connected, and parts are numbered in order of their smallest cell.
    pub fn components(&self) -> Vec<u32> {
        let mut parent: Vec<u32> = (0..self.vertex_count as u32).collect();
        fn root(parent: &mut [u32], mut v: u32) -> u32 {
            while parent[v as usize] != v {
                // Path halving keeps the trees flat.
                parent[v as usize] = parent[parent[v as usize] as usize];
                v = parent[v as usize];
            }
            v
        }
        for cell in self.cells.chunks_exact(self.kind.vertex_count()) {
            let mut a = root(&mut parent, cell[0]);
            for &v in &cell[1..] {
                let b = root(&mut parent, v);
                let low = a.min(b);
                parent[a.max(b) as usize] = low;
                a = low;
            }
        }
        // Where faces have several sides, neighbours need not have a common vertex.
        for pair in self.side_cells.iter().filter(|_| self.faces.is_some()) {
            let [a, b] = pair.map(|cell| root(&mut parent, self.cell_vertices(cell as usize)[0]));
            parent[a.max(b) as usize] = a.min(b);
        }
        let mut number = vec![u32::MAX; self.vertex_count];
        let mut parts = 0;
        (0..self.cell_count())
            .map(|cell| {
                let r = root(&mut parent, self.cell_vertices(cell)[0]) as usize;
                if number[r] == u32::MAX {
                    number[r] = parts;
                    parts += 1;
                }
                number[r]
            })
            .collect()
    }

    fn sort_sides(&self) -> Vec<([u32; 4], u32)> {
        let m = self.kind.side_kind().vertex_count();
        let mut table: Vec<_> = (0..self.side_count())
            .map(|side| {
                let mut key = [0u32; 4];
                key[..m].copy_from_slice(self.side_vertices(side));
                key[..m].sort_unstable();
                (key, side as u32)
            })
            .collect();
        table.sort_unstable();
        table
    }

    fn edge_tables(&self) -> &Edges {
        self.edges.get_or_init(|| match self.kind.dim() {
            3 => self.find_edges(),
            _ => Edges {
                vertices: self
                    .cells
                    .chunks_exact(2)
                    .map(|c| sorted([c[0], c[1]]))
                    .collect(),
                cell_edges: (0..self.cell_count() as u32).collect(),
            },
        })
    }

    fn find_edges(&self) -> Edges {
        let local = self.kind.edges();
        let (n, m) = (self.kind.vertex_count(), local.len());
        let slots = self.cell_count() * m;
        let key = |slot: usize| {
            let (cell, [a, b]) = (slot / m * n, local[slot % m]);
            let [low, high] =
                sorted([self.cells[cell + a as usize], self.cells[cell + b as usize]]);
            (low, [high])
        };
        let first = match first_slots(self.vertex_count, slots, usize::MAX, false, key) {
            Ok(first) => first,
            Err(_) => unreachable!("a group cannot have more than usize::MAX members"),
        };
        let mut vertices = Vec::new();
        let mut cell_edges = vec![0u32; slots];
        for slot in 0..slots {
            let found = first[slot] as usize;
            cell_edges[slot] = if found == slot {
                let (low, [high]) = key(slot);
                vertices.push([low, high]);
                vertices.len() as u32 - 1
            } else {
                cell_edges[found]
            };
        }
        Edges {
            vertices,
            cell_edges,
        }
    }

    fn find_vertex_cells(&self) -> VertexCells {
        let mut offsets = vec![0u32; self.vertex_count + 1];
        for &v in &self.cells {
            offsets[v as usize + 1] += 1;
        }
        for v in 0..self.vertex_count {
            offsets[v + 1] += offsets[v];
        }
        let mut next = offsets.clone();
        let mut cells = vec![0u32; self.cells.len()];
        let n = self.kind.vertex_count();
        for (i, &v) in self.cells.iter().enumerate() {
            cells[next[v as usize] as usize] = (i / n) as u32;
            next[v as usize] += 1;
        }
        VertexCells { offsets, cells }
    }
}

impl std::fmt::Debug for Topology {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Topology")
            .field("kind", &self.kind)
            .field("vertices", &self.vertex_count)
            .field("cells", &self.cell_count())
            .field("sides", &self.side_count())
            .field("boundary_sides", &self.boundary.len())
            .finish()
    }
}
