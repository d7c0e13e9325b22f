//! Lagrange polynomials in product form: on a segment (for tensor cells) and on simplices with
//! equispaced nodes.
//!
//! Main types: [`LineBasis`] and [`ProductBasis`]. Products of differences keep every value and
//! derivative accurate to a few units in the last place of its own terms, at and between nodes.

use super::lagrange::MAX_LAGRANGE_DEGREE;
use super::lattice::LatticePoint;

const N: usize = MAX_LAGRANGE_DEGREE + 1;

/// Second derivatives of a function, symmetric.
pub(super) type Hessian = [[f64; 3]; 3];

/// `1 / (k + 1)`.
const RECIPROCALS: [f64; N] = {
    let mut out = [1.0; N];
    let mut k = 0;
    while k < N {
        out[k] = 1.0 / (k + 1) as f64;
        k += 1;
    }
    out
};

/// Values and derivatives of the polynomials of one direction.
pub(super) type LineValues = [[f64; 2]; N];

/// The Lagrange polynomials of given points on a line.
#[derive(Clone, Debug)]
pub(super) struct LineBasis {
    nodes: Vec<f64>,
    /// Reciprocal of the product of distances from each node to the others.
    scales: Vec<f64>,
}

impl LineBasis {
    /// For at most `N` distinct nodes.
    pub(super) fn new(nodes: Vec<f64>) -> LineBasis {
        let scale = |i: usize| -> f64 {
            (0..nodes.len())
                .filter(|&j| j != i)
                .map(|j| nodes[i] - nodes[j])
                .product()
        };
        let scales = (0..nodes.len()).map(|i| 1.0 / scale(i)).collect();
        LineBasis { nodes, scales }
    }

    /// `[value, derivative]` of each polynomial at `x`: the node's factor is left out of the product
    /// of differences by multiplying what stands before it with what stands after.
    pub(super) fn evaluate(&self, x: f64) -> LineValues {
        let mut out = [[0.0; 2]; N];
        let mut before = [1.0, 0.0];
        for (i, &node) in self.nodes.iter().enumerate() {
            out[i] = before;
            before = times_difference(before, x - node);
        }
        let mut after = [1.0, 0.0];
        for (i, &node) in self.nodes.iter().enumerate().rev() {
            let [b, db] = out[i];
            let s = self.scales[i];
            out[i] = [s * b * after[0], s * (db * after[0] + b * after[1])];
            after = times_difference(after, x - node);
        }
        out
    }

    /// `[value, derivative, second derivative]` of each polynomial at `x`.
    fn evaluate_second(&self, x: f64) -> [[f64; 3]; N] {
        let mut out = [[0.0; 3]; N];
        let mut before = [1.0, 0.0, 0.0];
        for (i, &node) in self.nodes.iter().enumerate() {
            out[i] = before;
            before = times_factor(before, x - node);
        }
        let mut after = [1.0, 0.0, 0.0];
        for (i, &node) in self.nodes.iter().enumerate().rev() {
            let [b, db, ddb] = out[i];
            let [a, da, dda] = after;
            out[i] = [b * a, db * a + b * da, ddb * a + 2.0 * db * da + b * dda]
                .map(|v| self.scales[i] * v);
            after = times_factor(after, x - node);
        }
        out
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}

fn times_difference([v, d]: [f64; 2], difference: f64) -> [f64; 2] {
    [v * difference, d * difference + v]
}

fn times_factor([v, d, dd]: [f64; 3], difference: f64) -> [f64; 3] {
    [
        v * difference,
        d * difference + v,
        dd * difference + 2.0 * d,
    ]
}

/// Second derivatives of the product of three functions of one variable each, given as `[value,
/// derivative, second derivative]`.
pub(super) fn product_hessian(x: [f64; 3], y: [f64; 3], z: [f64; 3]) -> Hessian {
    let xy = x[1] * y[1] * z[0];
    let xz = x[1] * y[0] * z[1];
    let yz = x[0] * y[1] * z[1];
    [
        [x[2] * y[0] * z[0], xy, xz],
        [xy, x[0] * y[2] * z[0], yz],
        [xz, yz, x[0] * y[0] * z[2]],
    ]
}

/// Second derivatives of all products of a function of each axis, the last axis fastest.
pub(super) fn product_hessians(axes: [&[[f64; 3]]; 3], hessians: &mut [Hessian]) {
    let mut all = hessians.iter_mut();
    for x in axes[0] {
        for y in axes[1] {
            for (z, out) in axes[2].iter().zip(&mut all) {
                *out = product_hessian(*x, *y, *z);
            }
        }
    }
}

/// Second derivatives on a segment, quad or hex (`dim` 1 to 3).
pub(super) fn tensor_hessians(
    line: &LineBasis,
    dim: usize,
    point: [f64; 3],
    hessians: &mut [Hessian],
) {
    let mut axes = [[[1.0, 0.0, 0.0]; N]; 3];
    for (axis, &x) in axes.iter_mut().zip(&point).take(dim) {
        *axis = line.evaluate_second(x);
    }
    let count = |d: usize| if d < dim { line.len() } else { 1 };
    product_hessians([0, 1, 2].map(|d| &axes[d][..count(d)]), hessians);
}

/// Values and gradients on a segment, quad or hex (`dim` 1 to 3).
pub(super) fn evaluate_tensor(
    line: &LineBasis,
    dim: usize,
    point: [f64; 3],
    values: &mut [f64],
    gradients: &mut [[f64; 3]],
) {
    let n = line.len();
    let x = line.evaluate(point[0]);
    if dim == 1 {
        for i in 0..n {
            values[i] = x[i][0];
            gradients[i] = [x[i][1], 0.0, 0.0];
        }
        return;
    }
    let y = line.evaluate(point[1]);
    if dim == 2 {
        for i in 0..n {
            for j in 0..n {
                values[i * n + j] = x[i][0] * y[j][0];
                gradients[i * n + j] = [x[i][1] * y[j][0], x[i][0] * y[j][1], 0.0];
            }
        }
        return;
    }
    let z = line.evaluate(point[2]);
    for i in 0..n {
        for j in 0..n {
            let (xy, dx, dy) = (x[i][0] * y[j][0], x[i][1] * y[j][0], x[i][0] * y[j][1]);
            let row = (i * n + j) * n;
            for k in 0..n {
                values[row + k] = xy * z[k][0];
                gradients[row + k] = [dx * z[k][0], dy * z[k][0], xy * z[k][1]];
            }
        }
    }
}

/// Lagrange polynomials of equispaced nodes on a triangle or tet, as products of one factor for
/// each barycentric coordinate (P. Silvester, High-order polynomial triangular finite elements for
/// potential problems, 1969).
#[derive(Clone, Debug)]
pub(super) struct ProductBasis {
    degree: usize,
    nodes: Vec<LatticePoint>,
}

impl ProductBasis {
    pub(super) fn new(degree: usize, nodes: Vec<LatticePoint>) -> ProductBasis {
        ProductBasis { degree, nodes }
    }

    /// Values and gradients. On a triangle the last multi-index entry is 0, so its factor is 1.
    pub(super) fn evaluate(&self, point: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        let first = 1.0 - point[0] - point[1] - point[2];
        let coordinates = [first, point[0], point[1], point[2]];
        if self.degree == 1 {
            let slopes = [[-1.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            let n = self.nodes.len();
            values.copy_from_slice(&coordinates[..n]);
            gradients.copy_from_slice(&slopes[..n]);
            return;
        }
        // For each m the products of (p c - k) / (k + 1) for k < m, and their derivatives, one
        // lane for each barycentric coordinate c.
        let p = self.degree as f64;
        let (mut f, mut df) = ([[1.0; 4]; N], [[0.0; 4]; N]);
        for m in 0..self.degree {
            let scale = RECIPROCALS[m];
            for c in 0..4 {
                let factor = (p * coordinates[c] - m as f64) * scale;
                f[m + 1][c] = f[m][c] * factor;
                df[m + 1][c] = df[m][c] * factor + f[m][c] * p * scale;
            }
        }
        for ((a, value), gradient) in self.nodes.iter().zip(values).zip(gradients) {
            let [i0, i1, i2, i3] = a.map(usize::from);
            let (f0, f1, f2, f3) = (f[i0][0], f[i1][1], f[i2][2], f[i3][3]);
            let (d0, d1, d2, d3) = (df[i0][0], df[i1][1], df[i2][2], df[i3][3]);
            let (f01, f23) = (f0 * f1, f2 * f3);
            *value = f01 * f23;
            let common = d0 * f1 * f23;
            *gradient = [
                f0 * d1 * f23 - common,
                f01 * d2 * f3 - common,
                f01 * f2 * d3 - common,
            ];
        }
    }

    /// Second derivatives, by the chain rule from those along the barycentric coordinates.
    pub(super) fn hessians(&self, point: [f64; 3], hessians: &mut [Hessian]) {
        let first = 1.0 - point[0] - point[1] - point[2];
        let coordinates = [first, point[0], point[1], point[2]];
        let p = self.degree as f64;
        // As in `evaluate`, with second derivatives.
        let mut f = [[[1.0, 0.0, 0.0]; 4]; N];
        for m in 0..self.degree {
            let scale = RECIPROCALS[m];
            for c in 0..4 {
                let factor = (p * coordinates[c] - m as f64) * scale;
                let [v, d, dd] = f[m][c];
                let slope = p * scale;
                f[m + 1][c] = [
                    v * factor,
                    d * factor + v * slope,
                    dd * factor + 2.0 * d * slope,
                ];
            }
        }
        for (a, hessian) in self.nodes.iter().zip(hessians) {
            let of = |c: usize, order: usize| f[a[c] as usize][c][order];
            let along = |i: usize, j: usize| -> f64 {
                (0..4)
                    .map(|c| of(c, usize::from(c == i) + usize::from(c == j)))
                    .product()
            };
            let common = along(0, 0);
            for i in 0..3 {
                for j in 0..=i {
                    let value = along(i + 1, j + 1) - along(0, i + 1) - along(0, j + 1) + common;
                    hessian[i][j] = value;
                    hessian[j][i] = value;
                }
            }
        }
    }
}
