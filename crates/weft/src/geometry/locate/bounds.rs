//! Boxes around cells.
//!
//! A straight cell lies in the box of its vertices. A curved one lies in the box of its Bézier
//! control points (the map is a convex combination of them), which come from the nodes by a
//! matrix that depends on kind and degree alone; of tensor cells by one for each axis.

use super::vector::{Bounds, Vec3, along};
use crate::element::CellKind;
use crate::geometry::equispaced;

/// From the nodes of a curved cell to its Bézier control points.
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// Nodes along an axis and number of axes, for tensor cells; otherwise all nodes and 1.
    size: usize,
    axes: usize,
    /// `size × size`, row by row.
    matrix: Vec<f64>,
    /// Bound of the rounding errors of control points, relative to the size of the nodes.
    pub error: f64,
}

fn binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

impl Control {
    pub fn new(kind: CellKind, degree: usize) -> Control {
        let p = degree;
        let power = |x: f64, n: usize| x.powi(n as i32);
        let collocation: Vec<Vec<f64>> = if kind.is_tensor() {
            let value = |i: usize, j: usize| {
                let t = i as f64 / p as f64;
                binomial(p, j) * power(t, j) * power(1.0 - t, p - j)
            };
            (0..=p)
                .map(|i| (0..=p).map(|j| value(i, j)).collect())
                .collect()
        } else {
            let places = equispaced::places(kind, p);
            let value = |at: &[usize; 3], a: &[usize; 3]| {
                let mut left = p;
                let mut value = 1.0;
                for d in 0..kind.dim() {
                    value *= binomial(left, a[d]) * power(at[d] as f64 / p as f64, a[d]);
                    left -= a[d];
                }
                let rest = p - at.iter().sum::<usize>();
                value * power(rest as f64 / p as f64, left)
            };
            let row = |at: &[usize; 3]| places.iter().map(|a| value(at, a)).collect();
            places.iter().map(row).collect()
        };
        let size = collocation.len();
        let axes = if kind.is_tensor() { kind.dim() } else { 1 };
        let matrix = inverse(collocation);
        // Sums of `size` products with coefficients that are themselves rounded, axis by axis.
        let rows = matrix.chunks_exact(size);
        let norm = rows.map(|row| row.iter().map(|m| m.abs()).sum());
        let norm = norm.fold(1.0, f64::max).powi(axes as i32);
        Control {
            size,
            axes,
            matrix,
            error: 4.0 * f64::EPSILON * (axes * (size + 2)) as f64 * norm,
        }
    }

    /// Bounds of the control points; `nodes` are the cell's nodes and are overwritten.
    pub fn bounds(&self, nodes: &mut [Vec3], line: &mut Vec<Vec3>) -> Bounds {
        let mut stride = 1;
        for _ in 0..self.axes {
            for start in 0..nodes.len() / self.size {
                let first = start / stride * stride * self.size + start % stride;
                line.clear();
                line.extend((0..self.size).map(|i| nodes[first + i * stride]));
                for (i, row) in self.matrix.chunks_exact(self.size).enumerate() {
                    let mut sum = [0.0; 3];
                    for (x, m) in line.iter().zip(row) {
                        sum = along(sum, *x, *m);
                    }
                    nodes[first + i * stride] = sum;
                }
            }
            stride *= self.size;
        }
        let mut bounds = Bounds::EMPTY;
        nodes.iter().for_each(|&x| bounds.add(x));
        bounds
    }
}

/// Inverse by Gauss–Jordan elimination with pivoting, row by row in one array. The collocation
/// matrices of Bernstein polynomials on equispaced nodes are regular.
fn inverse(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    let unit = |i: usize| (0..n).map(|j| f64::from(u8::from(i == j))).collect();
    let mut b: Vec<Vec<f64>> = (0..n).map(unit).collect();
    for k in 0..n {
        let pivot = (k..n)
            .max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))
            .unwrap_or(k);
        a.swap(k, pivot);
        b.swap(k, pivot);
        let scale = 1.0 / a[k][k];
        a[k].iter_mut().chain(&mut b[k]).for_each(|x| *x *= scale);
        let (row_a, row_b) = (a[k].clone(), b[k].clone());
        for i in (0..n).filter(|&i| i != k) {
            let factor = a[i][k];
            if factor != 0.0 {
                for j in 0..n {
                    a[i][j] -= factor * row_a[j];
                    b[i][j] -= factor * row_b[j];
                }
            }
        }
    }
    b.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_points_reproduce_the_nodes_of_straight_cells() {
        // A linear map has its control points at its nodes, whatever the degree.
        for kind in CellKind::CELLS {
            for p in 1..=10 {
                let nodes: Vec<Vec3> = equispaced::places(kind, p)
                    .iter()
                    .map(|place| place.map(|i| i as f64 / p as f64))
                    .collect();
                let mut found = nodes.clone();
                let control = Control::new(kind, p);
                control.bounds(&mut found, &mut Vec::new());
                assert!(control.error < 1e-10 || p > 3, "{kind:?} {p}");
                for (a, b) in nodes.iter().zip(&found) {
                    for d in 0..3 {
                        let difference = (a[d] - b[d]).abs();
                        assert!(difference <= control.error, "{kind:?} {p}: {a:?} {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn curved_cells_lie_in_their_bounds() {
        use crate::geometry::locate::shape::Shape;
        let mut state = 1u64;
        let mut random = || {
            // The generator of D. Knuth's MMIX.
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for kind in CellKind::CELLS {
            for p in 2..=10 {
                let shape = Shape::new(kind, p);
                let control = Control::new(kind, p);
                let mut outside_nodes = false;
                for _ in 0..8 {
                    let nodes: Vec<Vec3> = equispaced::places(kind, p)
                        .iter()
                        .map(|place| place.map(|i| i as f64 / p as f64 + 0.3 * random()))
                        .collect();
                    let bounds = control.bounds(&mut nodes.clone(), &mut Vec::new());
                    let mut box_of_nodes = Bounds::EMPTY;
                    nodes.iter().for_each(|&x| box_of_nodes.add(x));
                    let bounds = bounds.widened(control.error);
                    for _ in 0..500 {
                        let mut xi = [0.0; 3];
                        xi[..kind.dim()].fill_with(&mut random);
                        let sum: f64 = xi.iter().sum();
                        if !kind.is_tensor() && sum > 1.0 {
                            xi = xi.map(|c| c / sum);
                        }
                        let x = shape.jet(&nodes, xi).x;
                        assert_eq!(bounds.distance2(x), 0.0, "{kind:?} {p}");
                        outside_nodes |= box_of_nodes.distance2(x) > 0.0;
                    }
                }
                // Otherwise the test would prove nothing.
                assert!(outside_nodes, "{kind:?} {p}");
            }
        }
    }
}
