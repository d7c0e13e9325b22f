//! Lagrange polynomials of any nodes on a triangle or tet, through an orthonormal basis.
//!
//! The main type is [`ModalBasis`]. The orthonormal (Dubiner, Koornwinder) polynomials come from
//! recurrences in homogeneous form, which have no singular vertex (R. Kirby, Singularity-free
//! evaluation of collapsed-coordinate orthogonal polynomials, 2010); the inverse of their values at
//! the nodes turns them into the Lagrange polynomials.

use super::CellKind;
use super::basis::Hessian;
use super::lagrange::MAX_LAGRANGE_DEGREE;
use super::line::jacobi_recurrence;

const P: usize = MAX_LAGRANGE_DEGREE;
/// Dimension of the polynomials of the highest degree on a tet.
pub(super) const MAX_MODES: usize = (P + 1) * (P + 2) * (P + 3) / 6;

/// A degree up to which little scratch memory is needed, and the modes of a tet there.
const FEW: usize = 4;
const FEW_MODES: usize = 35;

/// A value and its three derivatives; a jet of 10 numbers holds the second derivatives xx, xy, xz,
/// yy, yz, zz too.
pub(super) type Jet = [f64; 4];

/// The axes of the second derivatives in a jet.
const PAIRS: [[usize; 2]; 6] = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]];

pub(super) fn times<const J: usize>(a: [f64; J], b: [f64; J]) -> [f64; J] {
    let mut out = [0.0; J];
    out[0] = a[0] * b[0];
    for d in 1..4 {
        out[d] = a[d] * b[0] + a[0] * b[d];
    }
    for (k, &[i, j]) in (4..J).zip(&PAIRS) {
        let mixed = a[1 + i] * b[1 + j] + a[1 + j] * b[1 + i];
        out[k] = a[k] * b[0] + mixed + a[0] * b[k];
    }
    out
}

fn combine<const J: usize>(s: f64, a: [f64; J], t: f64, b: [f64; J]) -> [f64; J] {
    std::array::from_fn(|i| s * a[i] + t * b[i])
}

/// The second derivatives in a jet.
pub(super) fn hessian_of(jet: &[f64; 10]) -> Hessian {
    let [_, _, _, _, xx, xy, xz, yy, yz, zz] = *jet;
    [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
}

/// The Jacobi polynomials `P_k^{(alpha, 0)}(u / s) s^k` up to `degree`, times `start`: polynomials in
/// `u` and `s`, so that nothing happens where `s` vanishes.
fn homogeneous_jacobi<const J: usize>(
    degree: usize,
    alpha: usize,
    u: [f64; J],
    s: [f64; J],
    start: [f64; J],
) -> [[f64; J]; P + 1] {
    let mut out = [[0.0; J]; P + 1];
    out[0] = start;
    let square = times(s, s);
    for k in 0..degree {
        let (a, b, c) = jacobi_recurrence(k, alpha);
        out[k + 1] = times(combine(a, u, b, s), out[k]);
        if k > 0 {
            out[k + 1] = combine(1.0, out[k + 1], -c, times(square, out[k - 1]));
        }
    }
    out
}

/// Evaluates the orthonormal polynomials (for the normalised measure, up to a constant factor) of
/// total degree up to `degree`, and their derivatives; returns how many there are.
pub(super) fn orthonormal<const J: usize>(
    kind: CellKind,
    degree: usize,
    point: [f64; 3],
    out: &mut [[f64; J]],
) -> usize {
    let mut one = [0.0; J];
    one[0] = 1.0;
    let c: [[f64; J]; 3] = std::array::from_fn(|d| {
        let mut jet = [0.0; J];
        (jet[0], jet[1 + d]) = (point[d], 1.0);
        jet
    });
    // Partial sums of the barycentric coordinates from the last one down: 1 - y - z, 1 - z, 1.
    let s2 = combine(1.0, one, -1.0, c[2]);
    let s1 = combine(1.0, s2, -1.0, c[1]);
    let tet = kind == CellKind::Tet;
    let mut count = 0;
    let first = homogeneous_jacobi(degree, 0, combine(2.0, c[0], -1.0, s1), s1, one);
    for p in 0..=degree {
        let norm_p = (2 * p + 1) as f64;
        let u = combine(2.0, c[1], -1.0, s2);
        let second = homogeneous_jacobi(degree - p, 2 * p + 1, u, s2, first[p]);
        for q in 0..=degree - p {
            let norm_q = norm_p * (2 * (p + q) + 2) as f64;
            if !tet {
                out[count] = second[q].map(|v| v * norm_q.sqrt());
                count += 1;
                continue;
            }
            let u = combine(2.0, c[2], -1.0, one);
            let third = homogeneous_jacobi(degree - p - q, 2 * (p + q) + 2, u, one, second[q]);
            for r in 0..=degree - p - q {
                let norm = norm_q * (2 * (p + q + r) + 3) as f64;
                out[count] = third[r].map(|v| v * norm.sqrt());
                count += 1;
            }
        }
    }
    count
}

/// Lagrange polynomials of a unisolvent set of nodes on a triangle or tet.
#[derive(Clone, Debug)]
pub(super) struct ModalBasis {
    kind: CellKind,
    degree: usize,
    /// Row `i` holds the orthonormal coefficients of the polynomial of node `i`.
    coefficients: Vec<f64>,
}

impl ModalBasis {
    pub(super) fn new(kind: CellKind, degree: usize, nodes: &[[f64; 3]]) -> ModalBasis {
        let n = nodes.len();
        let mut modes: [Jet; MAX_MODES] = [[0.0; 4]; MAX_MODES];
        // Column i: the modes at node i, so that coefficients × matrix = identity.
        let mut matrix = vec![0.0; n * n];
        for (i, &node) in nodes.iter().enumerate() {
            orthonormal(kind, degree, node, &mut modes);
            for k in 0..n {
                matrix[k * n + i] = modes[k][0];
            }
        }
        ModalBasis {
            kind,
            degree,
            coefficients: inverse(matrix, n),
        }
    }

    pub(super) fn evaluate(&self, point: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        // Clearing room for all modes would cost more than evaluating few of them.
        if self.degree <= FEW {
            self.evaluate_in(&mut [[0.0; 4]; FEW_MODES], point, values, gradients);
        } else {
            self.evaluate_in(&mut [[0.0; 4]; MAX_MODES], point, values, gradients);
        }
    }

    fn evaluate_in(
        &self,
        modes: &mut [Jet],
        point: [f64; 3],
        values: &mut [f64],
        gradients: &mut [[f64; 3]],
    ) {
        let n = orthonormal(self.kind, self.degree, point, modes);
        for (i, row) in self.coefficients.chunks_exact(n).enumerate() {
            let mut sum = [0.0; 4];
            for (&c, mode) in row.iter().zip(&modes[..n]) {
                for d in 0..4 {
                    sum[d] += c * mode[d];
                }
            }
            values[i] = sum[0];
            gradients[i] = [sum[1], sum[2], sum[3]];
        }
    }

    pub(super) fn hessians(&self, point: [f64; 3], hessians: &mut [Hessian]) {
        let mut modes = [[0.0; 10]; MAX_MODES];
        let n = orthonormal(self.kind, self.degree, point, &mut modes);
        for (row, hessian) in self.coefficients.chunks_exact(n).zip(hessians) {
            let mut sum = [0.0; 10];
            for (&c, mode) in row.iter().zip(&modes[..n]) {
                sum = combine(1.0, sum, c, *mode);
            }
            *hessian = hessian_of(&sum);
        }
    }
}

/// Inverse of an invertible `n` × `n` matrix, row-major, by Gauss-Jordan elimination with row pivots.
pub(super) fn inverse(mut a: Vec<f64>, n: usize) -> Vec<f64> {
    let mut b = vec![0.0; n * n];
    for i in 0..n {
        b[i * n + i] = 1.0;
    }
    for k in 0..n {
        let pivot = (k..n).fold(k, |m, i| {
            if a[i * n + k].abs() > a[m * n + k].abs() {
                i
            } else {
                m
            }
        });
        for j in 0..n {
            a.swap(k * n + j, pivot * n + j);
            b.swap(k * n + j, pivot * n + j);
        }
        let scale = 1.0 / a[k * n + k];
        for j in 0..n {
            a[k * n + j] *= scale;
            b[k * n + j] *= scale;
        }
        for i in (0..n).filter(|&i| i != k) {
            let factor = a[i * n + k];
            if factor != 0.0 {
                for j in 0..n {
                    a[i * n + j] -= factor * a[k * n + j];
                    b[i * n + j] -= factor * b[k * n + j];
                }
            }
        }
    }
    b
}

#[cfg(test)]
mod tests {
    use super::super::basis::ProductBasis;
    use super::super::lattice::lattice;
    use super::*;

    #[test]
    fn orthonormal_polynomials_are_orthonormal() {
        for (kind, degree) in [(CellKind::Triangle, P), (CellKind::Tet, 6)] {
            let rule = super::super::Quadrature::new(kind, 2 * degree).unwrap();
            let mut modes: [Jet; MAX_MODES] = [[0.0; 4]; MAX_MODES];
            let n = orthonormal(kind, degree, [0.0; 3], &mut modes);
            let mut gram = vec![0.0; n * n];
            for (&x, w) in rule.points().iter().zip(rule.weights()) {
                orthonormal(kind, degree, x, &mut modes);
                for i in 0..n {
                    for j in 0..n {
                        // The polynomials are normalised for the reference measure.
                        gram[i * n + j] += w * kind.reference_measure() * modes[i][0] * modes[j][0];
                    }
                }
            }
            for i in 0..n {
                for j in 0..n {
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!(
                        (gram[i * n + j] - expected).abs() < 1e-12,
                        "{kind:?} {i} {j}"
                    );
                }
            }
        }
    }

    #[test]
    fn modal_and_product_forms_agree_on_equispaced_nodes() {
        for kind in [CellKind::Triangle, CellKind::Tet] {
            for degree in 1..=6 {
                let points = lattice(kind, degree);
                let nodes: Vec<[f64; 3]> = points
                    .iter()
                    .map(|a| [a[1], a[2], a[3]].map(|i| f64::from(i) / degree as f64))
                    .collect();
                let n = nodes.len();
                let modal = ModalBasis::new(kind, degree, &nodes);
                let product = ProductBasis::new(degree, points);
                let (mut v, mut w) = (vec![0.0; n], vec![0.0; n]);
                let (mut g, mut h) = (vec![[0.0; 3]; n], vec![[0.0; 3]; n]);
                let z = if kind == CellKind::Tet { 0.31 } else { 0.0 };
                for x in [[0.17, 0.23, z], [0.0, 1.0, 0.0], [-0.1, 0.4, z], [0.0; 3]] {
                    modal.evaluate(x, &mut v, &mut g);
                    product.evaluate(x, &mut w, &mut h);
                    for i in 0..n {
                        assert!((v[i] - w[i]).abs() < 1e-12, "{kind:?} {degree} {i}");
                        for d in 0..kind.dim() {
                            // Gradients grow like degree² and so do their rounding errors.
                            assert!((g[i][d] - h[i][d]).abs() < 1e-10, "{kind:?} {degree} {i}");
                        }
                    }
                }
            }
        }
    }
}
