//! Bases of spans of products of Legendre polynomials on segments, quads and hexes.
//!
//! The main type is [`LegendreBasis`]: the functions dual to nodes in such a span, by the inverse of
//! the orthonormal products' values there. [`superlinear`] and [`total`] list the products of two
//! spans; both lists are closed under lower degrees, so that monomials span the same.

use super::basis::{Hessian, product_hessian};
use super::lagrange::MAX_LAGRANGE_DEGREE;
use super::line::{LineRule, jacobi_recurrence};
use super::modal::inverse;
use super::{CellKind, ElementError};

const N: usize = MAX_LAGRANGE_DEGREE + 1;

/// Degree along each axis.
pub(super) type Mode = [u8; 3];

/// Orthonormal Legendre polynomials of degree up to `degree` on `[0, 1]`, and their first and second
/// derivatives.
pub(super) fn legendre(degree: usize, x: f64) -> [[f64; 3]; N] {
    let mut p = [[0.0; 3]; N];
    p[0] = [1.0, 0.0, 0.0];
    let u = 2.0 * x - 1.0;
    for k in 0..degree {
        let (a, b, c) = jacobi_recurrence(k, 0);
        let factor = a * u + b;
        let before = if k > 0 { p[k - 1] } else { [0.0; 3] };
        p[k + 1] = [
            factor * p[k][0] - c * before[0],
            2.0 * a * p[k][0] + factor * p[k][1] - c * before[1],
            4.0 * a * p[k][1] + factor * p[k][2] - c * before[2],
        ];
    }
    for (k, q) in p.iter_mut().enumerate() {
        *q = q.map(|v| v * ((2 * k + 1) as f64).sqrt());
    }
    p
}

fn modes(dim: usize, degree: usize, keep: impl Fn(Mode) -> bool) -> Vec<Mode> {
    let top = |axis: usize| if axis < dim { degree as u8 } else { 0 };
    let mut modes = Vec::new();
    for i in 0..=top(0) {
        for j in 0..=top(1) {
            modes.extend((0..=top(2)).map(|k| [i, j, k]).filter(|&m| keep(m)));
        }
    }
    modes
}

/// Products of superlinear degree up to `degree`: the degree without the axes along which it is 1
/// (D. N. Arnold and G. Awanou, The serendipity family of finite elements, 2011).
pub(super) fn superlinear(dim: usize, degree: usize) -> Vec<Mode> {
    let superlinear = |m: Mode| {
        m.iter()
            .filter(|&&k| k > 1)
            .map(|&k| k as usize)
            .sum::<usize>()
    };
    modes(dim, degree.max(1), |m| superlinear(m) <= degree)
}

/// Products of total degree up to `degree`.
pub(super) fn total(dim: usize, degree: usize) -> Vec<Mode> {
    let total = |m: Mode| m.iter().map(|&k| k as usize).sum::<usize>();
    modes(dim, degree, |m| total(m) <= degree)
}

/// Values of the products of `modes` at a point.
fn values(modes: &[Mode], degree: usize, x: [f64; 3]) -> impl Iterator<Item = f64> + '_ {
    let p = x.map(|x| legendre(degree, x));
    modes
        .iter()
        .map(move |m| (0..3).map(|d| p[d][m[d] as usize][0]).product())
}

/// The functions of a span that are dual to nodes.
#[derive(Clone, Debug)]
pub(super) struct LegendreBasis {
    degree: usize,
    modes: Vec<Mode>,
    /// Row `i` holds the coefficients of the function of node `i`.
    coefficients: Vec<f64>,
}

impl LegendreBasis {
    /// For nodes that determine the functions of the span, as many as `modes`.
    pub(super) fn new(modes: Vec<Mode>, nodes: &[[f64; 3]]) -> LegendreBasis {
        let n = modes.len();
        let degree = modes.iter().flatten().copied().max().unwrap_or(0) as usize;
        let mut matrix = vec![0.0; n * n];
        for (i, &node) in nodes.iter().enumerate() {
            for (k, value) in values(&modes, degree, node).enumerate() {
                matrix[k * n + i] = value;
            }
        }
        LegendreBasis {
            degree,
            modes,
            coefficients: inverse(matrix, n),
        }
    }

    pub(super) fn evaluate(&self, x: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        let p = x.map(|x| legendre(self.degree, x));
        let n = self.modes.len();
        values[..n].fill(0.0);
        gradients[..n].fill([0.0; 3]);
        for (k, mode) in self.modes.iter().enumerate() {
            let [[x, dx, _], [y, dy, _], [z, dz, _]] = [0, 1, 2].map(|d| p[d][mode[d] as usize]);
            let (value, slope) = (x * y * z, [dx * y * z, x * dy * z, x * y * dz]);
            for i in 0..n {
                let c = self.coefficients[i * n + k];
                values[i] += c * value;
                for d in 0..3 {
                    gradients[i][d] += c * slope[d];
                }
            }
        }
    }

    pub(super) fn hessians(&self, x: [f64; 3], hessians: &mut [Hessian]) {
        let p = x.map(|x| legendre(self.degree, x));
        let n = self.modes.len();
        hessians[..n].fill([[0.0; 3]; 3]);
        for (k, mode) in self.modes.iter().enumerate() {
            let [x, y, z] = [0, 1, 2].map(|d| p[d][mode[d] as usize]);
            let second = product_hessian(x, y, z);
            for (i, hessian) in hessians[..n].iter_mut().enumerate() {
                let c = self.coefficients[i * n + k];
                for (out, row) in hessian.iter_mut().zip(&second) {
                    for (out, s) in out.iter_mut().zip(row) {
                        *out += c * s;
                    }
                }
            }
        }
    }
}

/// Nodes that determine the functions of a span well: from a lattice of Lobatto points, one after
/// the other that which is farthest from what the earlier ones say (approximate Fekete points,
/// A. Sommariva and M. Vianello, 2009).
pub(super) fn fekete(kind: CellKind, modes: &[Mode]) -> Result<Vec<[f64; 3]>, ElementError> {
    let degree = modes.iter().flatten().copied().max().unwrap_or(0) as usize;
    if degree == 0 {
        return Ok(vec![kind.center()]);
    }
    let line = LineRule::gauss_lobatto(degree + 2)?;
    let axis = |d: usize| {
        if d < kind.dim() {
            line.points()
        } else {
            &[0.0]
        }
    };
    let mut points = Vec::new();
    for &x in axis(0) {
        for &y in axis(1) {
            points.extend(axis(2).iter().map(|&z| [x, y, z]));
        }
    }
    let n = modes.len();
    let mut rows: Vec<f64> = points
        .iter()
        .flat_map(|&x| values(modes, degree, x))
        .collect();
    let mut chosen = Vec::with_capacity(n);
    for _ in 0..n {
        let (mut best, mut size) = (0, 0.0);
        for (i, row) in rows.chunks_exact(n).enumerate() {
            let square: f64 = row.iter().map(|v| v * v).sum();
            // Rounding must not choose between points that symmetry makes equal.
            if square > size * (1.0 + 1e-9) {
                (best, size) = (i, square);
            }
        }
        chosen.push(best);
        let direction: Vec<f64> = rows[best * n..(best + 1) * n].to_vec();
        for row in rows.chunks_exact_mut(n) {
            let along: f64 = row.iter().zip(&direction).map(|(a, b)| a * b).sum();
            for (v, d) in row.iter_mut().zip(&direction) {
                *v -= along / size * d;
            }
        }
    }
    chosen.sort_unstable();
    Ok(chosen.into_iter().map(|i| points[i]).collect())
}
