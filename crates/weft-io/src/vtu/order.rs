//! The order of nodes in VTK's Lagrange cells, against Weft's Lagrange numbering.
//!
//! Both are written as rules that list lattice points (whole numbers from 0 to the degree in
//! each coordinate); matching the lists gives the permutation.
//!
//! Source of VTK's order: "Modeling Arbitrary-order Lagrange Finite Elements in the
//! Visualization Toolkit" (Kitware blog, 2017) and `vtkLagrange*::GetParametricCoords`, of
//! which the tests hold copies. The last two edges of the hexahedron are in the order that
//! file versions from 2.2 on use.

use weft::element::CellKind;

type Node = [i32; 3];

fn step(from: Node, to: Node, parts: i32) -> Node {
    [0, 1, 2].map(|d| (to[d] - from[d]) / parts)
}

fn along(from: Node, step: Node, times: i32) -> Node {
    [0, 1, 2].map(|d| from[d] + times * step[d])
}

/// Adds the nodes inside the edge from `a` to `b`.
fn edge(a: Node, b: Node, p: i32, out: &mut Vec<Node>) {
    let s = step(a, b, p);
    out.extend((1..p).map(|k| along(a, s, k)));
}

/// The simplex that the interior nodes of a simplex form: each vertex moves one step towards
/// every other one.
fn inner<const N: usize>(v: [Node; N], p: i32) -> [Node; N] {
    let mut moved = v;
    for i in 0..N {
        for j in 0..N {
            moved[i] = along(moved[i], step(v[i], v[j], p), 1);
        }
    }
    moved
}

fn triangle(v: [Node; 3], p: i32, out: &mut Vec<Node>) {
    if p == 0 {
        return out.push(v[0]);
    }
    out.extend(v);
    for (a, b) in [(0, 1), (1, 2), (2, 0)] {
        edge(v[a], v[b], p, out);
    }
    if p >= 3 {
        triangle(inner(v, p), p - 3, out);
    }
}

fn tet(v: [Node; 4], p: i32, faces: &[[usize; 3]; 4], out: &mut Vec<Node>) {
    if p == 0 {
        return out.push(v[0]);
    }
    out.extend(v);
    for (a, b) in [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)] {
        edge(v[a], v[b], p, out);
    }
    if p >= 3 {
        for face in faces {
            triangle(inner(face.map(|i| v[i]), p), p - 3, out);
        }
    }
    if p >= 4 {
        tet(inner(v, p), p - 4, faces, out);
    }
}

fn scaled(kind: CellKind, vertex: usize, p: i32) -> Node {
    kind.vertices()[vertex].map(|x| x as i32 * p)
}

fn corners<const N: usize>(kind: CellKind, p: i32) -> [Node; N] {
    std::array::from_fn(|i| scaled(kind, i, p))
}

const WEFT_FACES: [[usize; 3]; 4] = [[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]];
const VTK_FACES: [[usize; 3]; 4] = [[0, 1, 3], [2, 3, 1], [0, 3, 2], [0, 2, 1]];

/// The lattice points of a cell in Weft's Lagrange numbering.
fn weft_order(kind: CellKind, p: i32) -> Vec<Node> {
    let mut out = Vec::new();
    match kind {
        CellKind::Point => out.push([0; 3]),
        CellKind::Triangle => triangle(corners(kind, p), p, &mut out),
        CellKind::Tet => tet(corners(kind, p), p, &WEFT_FACES, &mut out),
        CellKind::Segment | CellKind::Quad | CellKind::Hex => {
            let last = |axis| if axis < kind.dim() { p } else { 0 };
            for i in 0..=last(0) {
                for j in 0..=last(1) {
                    out.extend((0..=last(2)).map(|k| [i, j, k]));
                }
            }
        }
    }
    out
}

/// The lattice points of a cell in the order of VTK.
fn vtk_order(kind: CellKind, p: i32) -> Vec<Node> {
    let mut out = Vec::new();
    match kind {
        CellKind::Point => return weft_order(kind, p),
        CellKind::Triangle => triangle(corners(kind, p), p, &mut out),
        CellKind::Tet => tet(corners(kind, p), p, &VTK_FACES, &mut out),
        CellKind::Segment | CellKind::Quad | CellKind::Hex => {
            out.extend((0..kind.vertex_count()).map(|v| scaled(kind, v, p)));
            // Edges run along the axes: in VTK the quad's edges are the hexahedron's first four.
            let edges = match kind {
                CellKind::Segment => &CellKind::Hex.edges()[..1],
                CellKind::Quad => &CellKind::Hex.edges()[..4],
                _ => CellKind::Hex.edges(),
            };
            for &[a, b] in edges {
                edge(
                    scaled(kind, a as usize, p),
                    scaled(kind, b as usize, p),
                    p,
                    &mut out,
                );
            }
            if kind == CellKind::Hex {
                // Faces x=0 x=1 y=0 y=1 z=0 z=1, the lower axis running fastest.
                for axis in 0..3 {
                    let [u, v] = [[1, 2], [0, 2], [0, 1]][axis];
                    for at in [0, p] {
                        for j in 1..p {
                            for i in 1..p {
                                let mut node = [at; 3];
                                (node[u], node[v]) = (i, j);
                                out.push(node);
                            }
                        }
                    }
                }
                for k in 1..p {
                    for j in 1..p {
                        out.extend((1..p).map(|i| [i, j, k]));
                    }
                }
            } else if kind == CellKind::Quad {
                for j in 1..p {
                    out.extend((1..p).map(|i| [i, j, 0]));
                }
            }
        }
    }
    out
}

/// For each node in VTK's order, its place in Weft's Lagrange numbering.
pub(super) fn permutation(kind: CellKind, degree: usize) -> Vec<u32> {
    // The caller has checked the degree against MAX_DEGREE.
    let p = degree as i32;
    let mut ours: Vec<(Node, u32)> = weft_order(kind, p).into_iter().zip(0..).collect();
    ours.sort_unstable();
    vtk_order(kind, p)
        .iter()
        .map(|node| {
            // Both rules list the same lattice, which the tests check.
            let at = ours.binary_search_by_key(node, |e| e.0).unwrap_or_default();
            ours[at].1
        })
        .collect()
}

/// VTK's cell type.
pub(super) fn cell_type(kind: CellKind, degree: usize) -> u8 {
    match (kind, degree) {
        (CellKind::Point, _) => 1,
        (CellKind::Segment, 1) => 3,
        (CellKind::Triangle, 1) => 5,
        (CellKind::Quad, 1) => 9,
        (CellKind::Tet, 1) => 10,
        (CellKind::Hex, 1) => 12,
        (CellKind::Segment, _) => 68,
        (CellKind::Triangle, _) => 69,
        (CellKind::Quad, _) => 70,
        (CellKind::Tet, _) => 71,
        (CellKind::Hex, _) => 72,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [CellKind; 6] = [
        CellKind::Point,
        CellKind::Segment,
        CellKind::Triangle,
        CellKind::Quad,
        CellKind::Tet,
        CellKind::Hex,
    ];

    #[test]
    fn both_orders_list_the_lattice_once() {
        for kind in KINDS {
            for p in 1..=8 {
                let count = match kind {
                    CellKind::Point => 1,
                    CellKind::Segment => p + 1,
                    CellKind::Triangle => (p + 1) * (p + 2) / 2,
                    CellKind::Quad => (p + 1) * (p + 1),
                    CellKind::Tet => (p + 1) * (p + 2) * (p + 3) / 6,
                    CellKind::Hex => (p + 1) * (p + 1) * (p + 1),
                };
                let mut ours = weft_order(kind, p as i32);
                let mut theirs = vtk_order(kind, p as i32);
                assert_eq!(ours.len(), count, "{kind:?} {p}");
                ours.sort_unstable();
                theirs.sort_unstable();
                assert_eq!(ours, theirs, "{kind:?} {p}");
                ours.dedup();
                assert_eq!(ours.len(), count);
            }
        }
    }

    fn digits(text: &str) -> Vec<Node> {
        let node = |w: &str| std::array::from_fn(|d| i32::from(w.as_bytes()[d] - b'0'));
        text.split_ascii_whitespace().map(node).collect()
    }

    /// `GetParametricCoords` of VTK 9.7, times the degree.
    #[test]
    fn the_order_is_that_of_vtk() {
        for (kind, p, nodes) in VTK_NODES {
            assert_eq!(vtk_order(*kind, *p), digits(nodes), "{kind:?} {p}");
        }
    }

    #[test]
    fn known_permutations() {
        assert_eq!(permutation(CellKind::Segment, 3), [0, 3, 1, 2]);
        assert_eq!(permutation(CellKind::Quad, 1), [0, 2, 3, 1]);
        assert_eq!(permutation(CellKind::Hex, 1), [0, 4, 6, 2, 1, 5, 7, 3]);
        assert_eq!(permutation(CellKind::Quad, 2), [0, 6, 8, 2, 3, 7, 5, 1, 4]);
        assert_eq!(permutation(CellKind::Tet, 2), (0..10).collect::<Vec<_>>());
    }

    const VTK_NODES: &[(CellKind, i32, &str)] = &[
        (CellKind::Segment, 4, "000 400 100 200 300"),
        (
            CellKind::Triangle,
            4,
            "000 400 040 100 200 300 310 220 130 030 020 010 110 210 120",
        ),
        (
            CellKind::Triangle,
            7,
            "000 700 070 100 200 300 400 500 600 610 520 430 340 250 160 060 050 040 030 020 \
             010 110 510 150 210 310 410 420 330 240 140 130 120 220 320 230",
        ),
        (
            CellKind::Quad,
            3,
            "000 300 330 030 100 200 310 320 130 230 010 020 110 210 120 220",
        ),
        (
            CellKind::Tet,
            3,
            "000 300 030 003 100 200 210 120 020 010 001 002 201 102 021 012 101 111 011 110",
        ),
        (
            CellKind::Tet,
            5,
            "000 500 050 005 100 200 300 400 410 320 230 140 040 030 020 010 001 002 003 004 \
             401 302 203 104 041 032 023 014 101 301 103 201 202 102 131 113 311 122 212 221 \
             011 013 031 012 022 021 110 130 310 120 220 210 111 211 121 112",
        ),
        (
            CellKind::Tet,
            6,
            "000 600 060 006 100 200 300 400 500 510 420 330 240 150 050 040 030 020 010 001 \
             002 003 004 005 501 402 303 204 105 051 042 033 024 015 101 401 104 201 301 302 \
             203 103 102 202 141 114 411 132 123 213 312 321 231 222 011 014 041 012 013 023 \
             032 031 021 022 110 140 410 120 130 230 320 310 210 220 111 311 131 113 211 221 \
             121 112 212 122",
        ),
        (
            CellKind::Hex,
            2,
            "000 200 220 020 002 202 222 022 100 210 120 010 102 212 122 012 001 201 221 021 \
             011 211 101 121 110 112 111",
        ),
        (
            CellKind::Hex,
            3,
            "000 300 330 030 003 303 333 033 100 200 310 320 130 230 010 020 103 203 313 323 \
             133 233 013 023 001 002 301 302 331 332 031 032 011 021 012 022 311 321 312 322 \
             101 201 102 202 131 231 132 232 110 210 120 220 113 213 123 223 111 211 121 221 \
             112 212 122 222",
        ),
    ];
}
