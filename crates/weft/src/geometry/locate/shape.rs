//! The map of a cell of any kind and degree with its first and second derivatives.

use super::vector::Vec3;
use crate::element::CellKind;
use crate::geometry::equispaced;

/// Most nodes along an edge: one more than the highest degree of a map.
const LINE: usize = 11;

/// Value, first and second derivative of polynomials in one variable.
type Table = [[f64; 3]; LINE];

/// Position and derivatives at one point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jet {
    pub x: Vec3,
    /// `first[k] = ∂X/∂ξ_k`.
    pub first: [Vec3; 3],
    /// `second[k][l] = ∂²X/∂ξ_k∂ξ_l`, for `k ≤ l`.
    pub second: [[Vec3; 3]; 3],
}

/// An entity of the reference cell as an affine patch: `origin + Σ s_i directions[i]`.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    pub dim: usize,
    pub origin: Vec3,
    pub directions: [Vec3; 3],
}

/// Basis on equispaced nodes, in Lagrange numbering.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub kind: CellKind,
    pub degree: usize,
    /// Lattice place of each node; of simplices the one of vertex 0 follows at index `dim`.
    places: Vec<[u8; 4]>,
    /// The cell itself, its faces, edges and vertices.
    pub patches: Vec<Patch>,
}

/// Silvester's polynomials `0..=p` in `t` with two derivatives (see `equispaced`).
fn silvester(p: usize, t: f64) -> Table {
    let mut table = [[0.0; 3]; LINE];
    table[0][0] = 1.0;
    let p = p as f64;
    let mut m = 0;
    while (m as f64) < p {
        let scale = 1.0 / (m + 1) as f64;
        let (factor, slope) = ((p * t - m as f64) * scale, p * scale);
        let [v, d, s] = table[m];
        table[m + 1] = [
            v * factor,
            d * factor + v * slope,
            s * factor + 2.0 * d * slope,
        ];
        m += 1;
    }
    table
}

/// The Lagrange polynomials of degree `p` on `[0, 1]`.
fn lagrange(p: usize, t: f64) -> Table {
    if p == 1 {
        let mut table = [[0.0; 3]; LINE];
        table[0] = [1.0 - t, -1.0, 0.0];
        table[1] = [t, 1.0, 0.0];
        return table;
    }
    let (up, down) = (silvester(p, t), silvester(p, 1.0 - t));
    std::array::from_fn(|m| {
        if m > p {
            return [0.0; 3];
        }
        let ([u, du, ddu], [v, dv, ddv]) = (up[m], down[p - m]);
        // The second factor falls as `t` rises.
        [u * v, du * v - u * dv, ddu * v - 2.0 * du * dv + u * ddv]
    })
}

impl Shape {
    pub fn new(kind: CellKind, degree: usize) -> Shape {
        let dim = kind.dim();
        let places = equispaced::places(kind, degree)
            .into_iter()
            .map(|p| {
                let mut place = [p[0] as u8, p[1] as u8, p[2] as u8, 0];
                if !kind.is_tensor() {
                    place[dim] = (degree - p.iter().sum::<usize>()) as u8;
                }
                place
            })
            .collect();
        let mut patches = Vec::new();
        for d in (0..=dim).rev() {
            for index in 0..kind.entity_count(d) {
                let local = kind.entity_vertices(d, index);
                let at = |i: usize| kind.vertices()[usize::from(local[i])];
                // Neighbours of the first vertex; quads and the bottom of a hex are cyclic.
                let ends: &[usize] = match (d, local.len()) {
                    (0, _) => &[],
                    (1, _) => &[1],
                    (2, 3) => &[1, 2],
                    (2, _) => &[1, 3],
                    (_, 4) => &[1, 2, 3],
                    _ => &[1, 3, 4],
                };
                let mut directions = [[0.0; 3]; 3];
                for (direction, &end) in directions.iter_mut().zip(ends) {
                    *direction = super::vector::sub(at(end), at(0));
                }
                patches.push(Patch {
                    dim: d,
                    origin: at(0),
                    directions,
                });
            }
        }
        Shape {
            kind,
            degree,
            places,
            patches,
        }
    }

    pub fn node_count(&self) -> usize {
        self.places.len()
    }

    /// Whether patch coordinates lie in the patch.
    pub fn in_patch(&self, dim: usize, s: &[f64; 3]) -> bool {
        // Faces of a tet are simplices, all patches of tensor cells are products.
        s[..dim].iter().all(|&c| c >= 0.0)
            && if self.kind.is_tensor() {
                s[..dim].iter().all(|&c| c <= 1.0)
            } else {
                s[..dim].iter().sum::<f64>() <= 1.0
            }
    }

    /// Values of the basis at a point, written to `out`.
    pub fn values(&self, xi: Vec3, out: &mut [f64]) {
        let tables = self.tables(xi);
        let factors = self.factors();
        for (value, place) in out.iter_mut().zip(&self.places) {
            *value = (0..factors)
                .map(|f| tables[f][place[f] as usize][0])
                .product();
        }
    }

    fn factors(&self) -> usize {
        self.kind.dim() + usize::from(!self.kind.is_tensor())
    }

    fn tables(&self, xi: Vec3) -> [Table; 4] {
        let dim = self.kind.dim();
        let mut tables = [[[0.0; 3]; LINE]; 4];
        for d in 0..dim {
            tables[d] = if self.kind.is_tensor() {
                lagrange(self.degree, xi[d])
            } else {
                silvester(self.degree, xi[d])
            };
        }
        if !self.kind.is_tensor() {
            tables[dim] = silvester(self.degree, 1.0 - xi[..dim].iter().sum::<f64>());
        }
        tables
    }

    /// Position and derivatives at `xi` of the cell with the given nodes.
    pub fn jet(&self, nodes: &[Vec3], xi: Vec3) -> Jet {
        let dim = self.kind.dim();
        let factors = self.factors();
        let tables = self.tables(xi);
        let mut jet = Jet {
            x: [0.0; 3],
            first: [[0.0; 3]; 3],
            second: [[[0.0; 3]; 3]; 3],
        };
        let simplex = !self.kind.is_tensor();
        for (place, x) in self.places.iter().zip(nodes) {
            let f: [[f64; 3]; 4] = std::array::from_fn(|i| {
                if i < factors {
                    tables[i][place[i] as usize]
                } else {
                    [1.0, 0.0, 0.0]
                }
            });
            // The product with factor `a` differentiated, and with `a` and `b`.
            let one =
                |a: usize| f[a][1] * f[(a + 1) % 4][0] * f[(a + 2) % 4][0] * f[(a + 3) % 4][0];
            let two = |a: usize, b: usize| {
                (0..4).fold(1.0, |product, i| {
                    product * f[i][usize::from(i == a) + usize::from(i == b)]
                })
            };
            let value = f[0][0] * f[1][0] * f[2][0] * f[3][0];
            let (rest, rest2) = if simplex {
                (one(dim), two(dim, dim))
            } else {
                (0.0, 0.0)
            };
            for k in 0..dim {
                let slope = one(k) - rest;
                for l in k..dim {
                    let mut curvature = two(k, l);
                    if simplex {
                        curvature += rest2 - two(k, dim) - two(l, dim);
                    }
                    for d in 0..3 {
                        jet.second[k][l][d] += curvature * x[d];
                    }
                }
                for d in 0..3 {
                    jet.first[k][d] += slope * x[d];
                }
            }
            for d in 0..3 {
                jet.x[d] += value * x[d];
            }
        }
        jet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_basis() {
        for kind in CellKind::CELLS {
            for p in 1..=10 {
                let shape = Shape::new(kind, p);
                let nodes: Vec<Vec3> = equispaced::places(kind, p)
                    .iter()
                    .map(|place| place.map(|i| i as f64 / p as f64))
                    .map(|[a, b, c]| [a + 0.1 * b * c, b - 0.2 * a, c + 0.1 * (a + b).sin()])
                    .collect();
                let xi: Vec3 = std::array::from_fn(|d| {
                    if d < kind.dim() {
                        0.2 + 0.05 * d as f64
                    } else {
                        0.0
                    }
                });
                let jet = shape.jet(&nodes, xi);
                let gradients = equispaced::gradients(kind, p, &[xi]);
                let values = equispaced::values(kind, p, &[xi]);
                for d in 0..3 {
                    let x: f64 = nodes.iter().zip(&values).map(|(n, v)| n[d] * v).sum();
                    assert!((x - jet.x[d]).abs() < 1e-11);
                    for k in 0..kind.dim() {
                        let g: f64 = nodes.iter().zip(&gradients).map(|(n, g)| n[d] * g[k]).sum();
                        assert!((g - jet.first[k][d]).abs() < 1e-10, "{kind:?} {p}");
                    }
                }
                // Second derivatives against differences of the first; the error of the
                // central difference is of order step² and of rounding over step.
                let step = 1e-5;
                for l in 0..kind.dim() {
                    let (mut low, mut high) = (xi, xi);
                    low[l] -= step;
                    high[l] += step;
                    let (low, high) = (shape.jet(&nodes, low), shape.jet(&nodes, high));
                    for k in 0..=l {
                        for d in 0..3 {
                            let h = (high.first[k][d] - low.first[k][d]) / (2.0 * step);
                            assert!((h - jet.second[k][l][d]).abs() < 1e-5, "{kind:?} {p}");
                        }
                    }
                }
            }
        }
    }
}
