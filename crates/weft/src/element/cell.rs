//! Reference cells: their vertices, edges, faces and sides, and how these are numbered.
//!
//! The numbering is stated with pictures in `docs/conventions.md`; every table of local
//! entities in the library comes from here.

/// The shape of a cell or of one of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CellKind {
    /// A single point, the side of a segment.
    Point,
    /// The unit segment `[0, 1]`.
    Segment,
    /// The triangle with vertices `(0,0) (1,0) (0,1)`.
    Triangle,
    /// The unit square; vertices counter-clockwise from the origin.
    Quad,
    /// The tetrahedron with vertices `(0,0,0) (1,0,0) (0,1,0) (0,0,1)`.
    Tet,
    /// The unit cube; bottom vertices counter-clockwise, then the top ones.
    Hex,
}

use CellKind::*;

const SEGMENT_VERTICES: &[[f64; 3]] = &[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
const TRIANGLE_VERTICES: &[[f64; 3]] = &[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
const QUAD_VERTICES: &[[f64; 3]] = &[
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
];
const TET_VERTICES: &[[f64; 3]] = &[
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
];
const HEX_VERTICES: &[[f64; 3]] = &[
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 0.0, 1.0],
    [1.0, 1.0, 1.0],
    [0.0, 1.0, 1.0],
];

const TET_FACES: &[&[u8]] = &[&[0, 1, 2], &[1, 2, 3], &[2, 3, 0], &[3, 0, 1]];
const HEX_FACES: &[&[u8]] = &[
    &[0, 4, 7, 3],
    &[1, 2, 6, 5],
    &[0, 1, 5, 4],
    &[3, 7, 6, 2],
    &[0, 3, 2, 1],
    &[4, 5, 6, 7],
];

const LOCAL_VERTICES: &[u8; 8] = &[0, 1, 2, 3, 4, 5, 6, 7];

impl CellKind {
    /// Every kind that can be the cell of a mesh.
    pub const CELLS: [CellKind; 5] = [Segment, Triangle, Quad, Tet, Hex];

    /// Dimension of the reference cell.
    pub fn dim(self) -> usize {
        match self {
            Point => 0,
            Segment => 1,
            Triangle | Quad => 2,
            Tet | Hex => 3,
        }
    }

    /// Lower-case name used in messages and case files.
    pub fn name(self) -> &'static str {
        match self {
            Point => "point",
            Segment => "segment",
            Triangle => "triangle",
            Quad => "quad",
            Tet => "tet",
            Hex => "hex",
        }
    }

    /// Reference coordinates of the vertices; unused coordinates are 0.
    pub fn vertices(self) -> &'static [[f64; 3]] {
        match self {
            Point => &SEGMENT_VERTICES[..1],
            Segment => SEGMENT_VERTICES,
            Triangle => TRIANGLE_VERTICES,
            Quad => QUAD_VERTICES,
            Tet => TET_VERTICES,
            Hex => HEX_VERTICES,
        }
    }

    /// Number of vertices.
    pub fn vertex_count(self) -> usize {
        self.vertices().len()
    }

    /// Local vertices of each edge (entity of dimension 1). A segment is its own edge.
    pub fn edges(self) -> &'static [[u8; 2]] {
        match self {
            Point => &[],
            Segment => &[[0, 1]],
            Triangle => &[[0, 1], [1, 2], [2, 0]],
            Quad => &[[0, 1], [1, 2], [2, 3], [3, 0]],
            Tet => &[[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]],
            Hex => &[
                [0, 1],
                [1, 2],
                [3, 2],
                [0, 3],
                [4, 5],
                [5, 6],
                [7, 6],
                [4, 7],
                [0, 4],
                [1, 5],
                [2, 6],
                [3, 7],
            ],
        }
    }

    /// Number of sides (entities of dimension one less than the cell).
    pub fn side_count(self) -> usize {
        match self {
            Point => 0,
            Segment => 2,
            Triangle => 3,
            Quad | Tet => 4,
            Hex => 6,
        }
    }

    /// Local vertices of side `side`; for a hex in cyclic order, outward by the right-hand rule.
    ///
    /// # Panics
    /// If `side >= self.side_count()`.
    pub fn side_vertices(self, side: usize) -> &'static [u8] {
        match self {
            Point => panic!("a point has no sides"),
            Segment => [&[0u8] as &[u8], &[1]][side],
            Triangle | Quad => &self.edges()[side],
            Tet => TET_FACES[side],
            Hex => HEX_FACES[side],
        }
    }

    /// Number of entities of dimension `dim`: vertices, edges, faces, the cell itself.
    pub fn entity_count(self, dim: usize) -> usize {
        match dim {
            0 => self.vertex_count(),
            _ if dim > self.dim() => 0,
            _ if dim == self.dim() => 1,
            1 => self.edges().len(),
            _ => self.side_count(),
        }
    }

    /// Local vertices of an entity: a vertex, an edge as in [`edges`](Self::edges), a face as in
    /// [`side_vertices`](Self::side_vertices), or all vertices for the cell itself.
    ///
    /// # Panics
    /// If `index >= self.entity_count(dim)`.
    pub fn entity_vertices(self, dim: usize, index: usize) -> &'static [u8] {
        assert!(
            index < self.entity_count(dim),
            "a {} has no entity {index} of dimension {dim}",
            self.name()
        );
        match dim {
            0 => &LOCAL_VERTICES[index..=index],
            _ if dim == self.dim() => &LOCAL_VERTICES[..self.vertex_count()],
            1 => &self.edges()[index],
            _ => self.side_vertices(index),
        }
    }

    /// Kind of the sides.
    pub fn side_kind(self) -> CellKind {
        match self {
            Point | Segment => Point,
            Triangle | Quad => Segment,
            Tet => Triangle,
            Hex => Quad,
        }
    }

    /// Length, area or volume of the reference cell.
    pub fn reference_measure(self) -> f64 {
        match self {
            Point | Segment | Quad | Hex => 1.0,
            Triangle => 0.5,
            Tet => 1.0 / 6.0,
        }
    }

    /// Centroid of the reference cell.
    pub fn center(self) -> [f64; 3] {
        let mut c = [0.0; 3];
        for v in self.vertices() {
            for d in 0..3 {
                c[d] += v[d] / self.vertex_count() as f64;
            }
        }
        c
    }

    /// Whether the cell is a product of segments (segment, quad, hex).
    pub fn is_tensor(self) -> bool {
        matches!(self, Segment | Quad | Hex)
    }

    /// Outward normal of side `side` in reference space, scaled so that for any map with
    /// Jacobian `J` the physical side's measure density (with respect to the side's own
    /// reference measure) is `|det J| · |J⁻ᵀ n|`.
    pub fn side_normal(self, side: usize) -> [f64; 3] {
        let v = self.side_vertices(side);
        let p = |i: usize| self.vertices()[v[i] as usize];
        let sub = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
        let n = match self.dim() {
            1 => [1.0, 0.0, 0.0],
            2 => {
                let t = sub(p(1), p(0));
                [t[1], -t[0], 0.0]
            }
            _ => {
                // For a quad face use the two edges that leave the first vertex.
                let last = v.len() - 1;
                let (a, b) = (sub(p(1), p(0)), sub(p(last), p(0)));
                [
                    a[1] * b[2] - a[2] * b[1],
                    a[2] * b[0] - a[0] * b[2],
                    a[0] * b[1] - a[1] * b[0],
                ]
            }
        };
        let outward = sub(p(0), self.center());
        let sign = (n[0] * outward[0] + n[1] * outward[1] + n[2] * outward[2]).signum();
        [sign * n[0], sign * n[1], sign * n[2]]
    }
}
