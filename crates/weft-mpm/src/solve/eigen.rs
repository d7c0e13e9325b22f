//! Eigenvectors of small symmetric matrices, eight at once.

use super::lanes::splat;
use fearless_simd::{Simd, f32x8, prelude::*};

/// A 3 × 3 matrix in each lane, `[row][column]`.
pub(super) type Matrix<S> = [[f32x8<S>; 3]; 3];

/// Cyclic Jacobi sweeps: the error is squared, at least, in each.
const SWEEPS: usize = 6;

/// Eigenvalues q and eigenvectors E (columns) of a symmetric matrix of norm about 1:
/// A = E diag(q) Eᵀ, E orthogonal.
#[inline(always)]
pub(super) fn eigen<S: Simd>(simd: S, matrix: &Matrix<S>) -> ([f32x8<S>; 3], Matrix<S>) {
    let zero = splat(simd, 0.0);
    let one = splat(simd, 1.0);
    let mut a = *matrix;
    let mut e = [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
    for _ in 0..SWEEPS {
        for (p, q, r) in [(0, 1, 2), (0, 2, 1), (1, 2, 0)] {
            let (c, s, t) = rotation(simd, a[p][p], a[q][q], a[p][q]);
            a[p][p] -= t * a[p][q];
            a[q][q] += t * a[p][q];
            a[p][q] = zero;
            a[q][p] = zero;
            let (rp, rq) = (a[r][p], a[r][q]);
            a[r][p] = c * rp - s * rq;
            a[r][q] = s * rp + c * rq;
            a[p][r] = a[r][p];
            a[q][r] = a[r][q];
            for row in &mut e {
                let (ep, eq) = (row[p], row[q]);
                row[p] = c * ep - s * eq;
                row[q] = s * ep + c * eq;
            }
        }
        let off = a[0][1].abs().max(a[0][2].abs()).max(a[1][2].abs());
        if !off.simd_gt(splat(simd, 1e-9)).any_true() {
            break;
        }
    }
    ([a[0][0], a[1][1], a[2][2]], e)
}

/// Cosine, sine and tangent of the rotation that makes [[p, m], [m, q]] diagonal:
/// p - t m and q + t m on it, with new axes (c, -s) and (s, c).
#[inline(always)]
pub(super) fn rotation<S: Simd>(
    simd: S,
    p: f32x8<S>,
    q: f32x8<S>,
    m: f32x8<S>,
) -> (f32x8<S>, f32x8<S>, f32x8<S>) {
    let one = splat(simd, 1.0);
    let zero = splat(simd, 0.0);
    let tau = (q - p) / (m + m);
    let t = one / (tau.abs() + tau.mul_add(tau, one).sqrt());
    let t = t.copysign(tau);
    // Without an off-diagonal part there is nothing to do (and tau may be 0 / 0).
    let t = m.abs().simd_gt(splat(simd, 1e-30)).select(t, zero);
    let c = one / t.mul_add(t, one).sqrt();
    (c, t * c, t)
}

#[cfg(test)]
mod tests {
    use super::super::LANES;
    use super::super::lanes::{array, load};
    use super::super::tests::Draws;
    use super::*;
    use fearless_simd::{Level, dispatch};

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let mut draws = Draws::new(5);
        for case in 0..200 {
            // Sums of squares with many, two, one or no directions, some almost equal.
            let mut lanes = [[[0.0f32; LANES]; 3]; 3];
            for l in 0..LANES {
                for _ in 0..case % 5 {
                    let x: [f32; 3] = std::array::from_fn(|_| draws.draw() as f32 - 0.5);
                    for i in 0..3 {
                        for j in 0..3 {
                            lanes[i][j][l] += x[i] * x[j];
                        }
                    }
                }
                for i in 0..3 {
                    lanes[i][i][l] += (case % 3) as f32;
                }
            }
            let (q, e) = dispatch!(Level::new(), simd => {
                let matrix = lanes.map(|row| row.map(|lane| load(simd, &lane)));
                let (q, e) = eigen(simd, &matrix);
                (q.map(array), e.map(|row| row.map(array)))
            });
            for l in 0..LANES {
                for i in 0..3 {
                    for j in 0..3 {
                        let sum: f32 = (0..3).map(|k| e[i][k][l] * q[k][l] * e[j][k][l]).sum();
                        assert!((sum - lanes[i][j][l]).abs() < 1e-5, "{case}");
                        let dot: f32 = (0..3).map(|k| e[k][i][l] * e[k][j][l]).sum();
                        assert!((dot - if i == j { 1.0 } else { 0.0 }).abs() < 2e-6);
                    }
                }
            }
        }
    }
}
