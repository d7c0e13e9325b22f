//! Lagrange bases on equispaced nodes: how a geometry map turns nodes into positions.
//!
//! Nodes are in Lagrange numbering: segments, quads and hexes lattice by lattice with the last
//! axis fastest; triangles and tets vertices, edges, faces and interior, recursively.

use crate::element::CellKind;

type Place = [usize; 3];

/// Number of nodes of a cell.
pub(super) fn node_count(kind: CellKind, p: usize) -> usize {
    match kind {
        CellKind::Point => 1,
        CellKind::Segment => p + 1,
        CellKind::Triangle => (p + 1) * (p + 2) / 2,
        CellKind::Quad => (p + 1) * (p + 1),
        CellKind::Tet => (p + 1) * (p + 2) * (p + 3) / 6,
        CellKind::Hex => (p + 1) * (p + 1) * (p + 1),
    }
}

/// Places of the nodes: reference coordinates times the degree `p`, which are integers.
pub(super) fn places(kind: CellKind, p: usize) -> Vec<Place> {
    let mut out = Vec::with_capacity(node_count(kind, p));
    match kind {
        CellKind::Point => out.push([0; 3]),
        CellKind::Triangle => triangle(p, corners(kind, p), &mut out),
        CellKind::Tet => tet(p, corners(kind, p), &mut out),
        _ => {
            let end = |axis: usize| if axis < kind.dim() { p } else { 0 };
            for i in 0..=end(0) {
                for j in 0..=end(1) {
                    out.extend((0..=end(2)).map(|k| [i, j, k]));
                }
            }
        }
    }
    out
}

/// Local node of each vertex.
pub(super) fn vertex_nodes(kind: CellKind, p: usize) -> Vec<usize> {
    let places = places(kind, p);
    kind.vertices()
        .iter()
        .map(|v| find(&places, v.map(|x| x as usize * p)))
        .collect()
}

/// Local nodes on each side.
pub(super) fn side_nodes(kind: CellKind, p: usize) -> Vec<Vec<usize>> {
    let places = places(kind, p);
    (0..kind.side_count())
        .map(|side| {
            // A side is where its outward normal's linear form has its largest value.
            let normal = kind.side_normal(side);
            let form = |x: [f64; 3]| (0..3).map(|d| normal[d] * x[d]).sum::<f64>();
            let level = form(kind.vertices()[kind.side_vertices(side)[0] as usize]) * p as f64;
            (0..places.len())
                .filter(|&n| (form(places[n].map(|i| i as f64)) - level).abs() < 0.5)
                .collect()
        })
        .collect()
}

/// The permutation of nodes that turns an inverted cell round: new node `n` is old node
/// `flip[n]`. On the vertices it agrees with `flipped_vertices`.
pub(super) fn flip(kind: CellKind, p: usize) -> Vec<usize> {
    let places = places(kind, p);
    places
        .iter()
        .map(|&[a, b, c]| {
            let mirrored = match kind {
                CellKind::Point => [a, b, c],
                CellKind::Segment => [p - a, b, c],
                CellKind::Triangle | CellKind::Quad => [b, a, c],
                CellKind::Tet => [a, c, b],
                CellKind::Hex => [a, b, p - c],
            };
            find(&places, mirrored)
        })
        .collect()
}

fn find(places: &[Place], place: Place) -> usize {
    // Every place asked for is a node of the lattice.
    places.iter().position(|&q| q == place).unwrap_or(0)
}

fn corners<const N: usize>(kind: CellKind, p: usize) -> [Place; N] {
    std::array::from_fn(|v| kind.vertices()[v].map(|x| x as usize * p))
}

/// The place `a` moved by `k` of the `p` steps towards each of `targets`.
fn towards(a: Place, targets: &[Place], k: usize, p: usize) -> Place {
    std::array::from_fn(|d| {
        let sum: usize = targets.iter().map(|t| t[d]).sum();
        // Differences of corners are multiples of `p`, in both directions.
        let steps = (sum as isize - (targets.len() * a[d]) as isize) / p as isize;
        (a[d] as isize + steps * k as isize) as usize
    })
}

fn edge(p: usize, a: Place, b: Place, out: &mut Vec<Place>) {
    out.extend((1..p).map(|k| towards(a, &[b], k, p)));
}

fn triangle(p: usize, c: [Place; 3], out: &mut Vec<Place>) {
    if p == 0 {
        out.push(c[0]);
        return;
    }
    out.extend(c);
    for [a, b] in [[0, 1], [1, 2], [2, 0]] {
        edge(p, c[a], c[b], out);
    }
    triangle_interior(p, c, out);
}

fn triangle_interior(p: usize, c: [Place; 3], out: &mut Vec<Place>) {
    if p >= 3 {
        let inner = [0, 1, 2].map(|i| towards(c[i], &[c[(i + 1) % 3], c[(i + 2) % 3]], 1, p));
        triangle(p - 3, inner, out);
    }
}

fn tet(p: usize, c: [Place; 4], out: &mut Vec<Place>) {
    if p == 0 {
        out.push(c[0]);
        return;
    }
    out.extend(c);
    for &[a, b] in CellKind::Tet.edges() {
        edge(p, c[a as usize], c[b as usize], out);
    }
    for side in 0..4 {
        let face = CellKind::Tet.side_vertices(side);
        triangle_interior(p, [0, 1, 2].map(|i| c[face[i] as usize]), out);
    }
    if p >= 4 {
        let others = |i: usize| [1, 2, 3].map(|k| c[(i + k) % 4]);
        tet(
            p - 4,
            [0, 1, 2, 3].map(|i| towards(c[i], &others(i), 1, p)),
            out,
        );
    }
}

/// Value and derivative of Silvester's polynomial of degree `m`, which is 0 at the first `m`
/// of the points `k/p` and 1 at `m/p`.
fn silvester(p: usize, m: usize, t: f64) -> [f64; 2] {
    let (mut value, mut slope) = (1.0, 0.0);
    for k in 0..m {
        let scale = 1.0 / (k + 1) as f64;
        let factor = (p as f64 * t - k as f64) * scale;
        slope = slope * factor + value * p as f64 * scale;
        value *= factor;
    }
    [value, slope]
}

/// Values of the basis of degree `p` at `points`, `[point × nodes + node]`.
pub(super) fn values(kind: CellKind, p: usize, points: &[[f64; 3]]) -> Vec<f64> {
    basis(kind, p, points, |factors, _| {
        factors.iter().map(|f| f[0]).product()
    })
}

/// Gradients of the basis of degree `p` at `points`, in the same order.
pub(super) fn gradients(kind: CellKind, p: usize, points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let dim = kind.dim();
    basis(kind, p, points, |factors, simplex| {
        // The product with its factor `of` differentiated.
        let slope = |of: usize| -> f64 {
            let pick = |(i, f): (usize, &[f64; 2])| f[usize::from(i == of)];
            factors.iter().enumerate().map(pick).product()
        };
        let mut gradient = [0.0; 3];
        for d in 0..dim {
            // The last barycentric coordinate falls where any other rises.
            gradient[d] = slope(d) - if simplex { slope(dim) } else { 0.0 };
        }
        gradient
    })
}

/// Applies `f` to the factors (value and derivative) of each basis function at each point:
/// Silvester's polynomials (P. Silvester, "High-order polynomial triangular finite elements for
/// potential problems", 1969) in each barycentric coordinate of a simplex, the one of vertex 0
/// last, or one-dimensional Lagrange polynomials in each coordinate of a tensor cell.
fn basis<T>(
    kind: CellKind,
    p: usize,
    points: &[[f64; 3]],
    f: impl Fn(&[[f64; 2]], bool) -> T,
) -> Vec<T> {
    let dim = kind.dim();
    let simplex = !kind.is_tensor();
    let places = places(kind, p);
    let mut out = Vec::with_capacity(points.len() * places.len());
    let mut factors = [[1.0, 0.0]; 4];
    for x in points {
        for place in &places {
            for d in 0..dim {
                let [u, du] = silvester(p, place[d], x[d]);
                factors[d] = if simplex {
                    [u, du]
                } else {
                    let [v, dv] = silvester(p, p - place[d], 1.0 - x[d]);
                    [u * v, du * v - u * dv]
                };
            }
            if simplex {
                let rest = 1.0 - x[..dim].iter().sum::<f64>();
                factors[dim] = silvester(p, p - place.iter().sum::<usize>(), rest);
            }
            out.push(f(&factors[..dim + usize::from(simplex)], simplex));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_whole_lattice_once() {
        for kind in CellKind::CELLS {
            for p in 1..=10 {
                let mut all = places(kind, p);
                assert_eq!(all.len(), node_count(kind, p), "{kind:?} {p}");
                all.sort_unstable();
                all.dedup();
                assert_eq!(all.len(), node_count(kind, p), "{kind:?} {p}");
                for place in all {
                    let sum: usize = place.iter().sum();
                    assert!(place.iter().all(|&i| i <= p));
                    assert!(kind.is_tensor() || sum <= p);
                }
                for (v, &n) in vertex_nodes(kind, p).iter().enumerate() {
                    let place = places(kind, p)[n].map(|i| i as f64 / p as f64);
                    assert_eq!(place, kind.vertices()[v]);
                }
            }
        }
    }

    #[test]
    fn cubic_triangle_and_tet_numbering() {
        // Written down by hand from the rule: vertices, edges 01, 12, 20, interior.
        assert_eq!(
            places(CellKind::Triangle, 3),
            [
                [0, 0, 0],
                [3, 0, 0],
                [0, 3, 0],
                [1, 0, 0],
                [2, 0, 0],
                [2, 1, 0],
                [1, 2, 0],
                [0, 2, 0],
                [0, 1, 0],
                [1, 1, 0]
            ]
        );
        // Faces 012, 123, 230, 301.
        assert_eq!(
            places(CellKind::Tet, 3)[16..],
            [[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]]
        );
    }

    #[test]
    fn side_nodes_have_the_side_count() {
        for kind in CellKind::CELLS {
            for p in 1..=5 {
                for nodes in side_nodes(kind, p) {
                    assert_eq!(nodes.len(), node_count(kind.side_kind(), p));
                }
            }
        }
    }

    #[test]
    fn flip_is_its_own_inverse() {
        for kind in CellKind::CELLS {
            let flip = flip(kind, 4);
            assert!((0..flip.len()).all(|n| flip[flip[n]] == n));
        }
    }

    #[test]
    fn values_are_the_identity_at_the_nodes() {
        for kind in CellKind::CELLS {
            for p in 1..=10 {
                let nodes = places(kind, p);
                let points: Vec<_> = nodes
                    .iter()
                    .map(|place| place.map(|i| i as f64 / p as f64))
                    .collect();
                let n = nodes.len();
                for (i, value) in values(kind, p, &points).into_iter().enumerate() {
                    let exact = if i / n == i % n { 1.0 } else { 0.0 };
                    // Products of up to 10 factors up to 10, each rounded.
                    assert!((value - exact).abs() < 1e-11, "{kind:?} {p}: {value}");
                }
            }
        }
    }

    #[test]
    fn gradients_reproduce_linear_functions() {
        for kind in CellKind::CELLS {
            for p in 1..=6 {
                let nodes = places(kind, p);
                let x = kind.center();
                let g = gradients(kind, p, &[x]);
                for d in 0..kind.dim() {
                    for e in 0..kind.dim() {
                        // Σ x_d(node) ∂φ/∂ξ_e = δ_de.
                        let sum: f64 = (0..nodes.len())
                            .map(|n| nodes[n][d] as f64 / p as f64 * g[n][e])
                            .sum();
                        let exact = if d == e { 1.0 } else { 0.0 };
                        assert!((sum - exact).abs() < 1e-12, "{kind:?} {p}: {sum}");
                    }
                }
            }
        }
    }
}
