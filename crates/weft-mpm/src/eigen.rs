//! Eigenvalues of small symmetric matrices.

use crate::tensor::Mat3;

/// Eigenvalues and eigenvectors (rows of the second) of a symmetric matrix, by cyclic Jacobi
/// rotations.
pub(crate) fn symmetric<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    let mut v = [[0.0; N]; N];
    for i in 0..N {
        v[i][i] = 1.0;
    }
    let scale: f64 = a.iter().flatten().map(|x| x * x).sum();
    for _ in 0..30 {
        let mut off = 0.0;
        for i in 0..N {
            for j in 0..i {
                off += a[i][j] * a[i][j];
            }
        }
        if off.is_nan() || off <= 1e-30 * scale {
            break;
        }
        for p in 0..N {
            for q in p + 1..N {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..N {
                    let (x, y) = (a[k][p], a[k][q]);
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for k in 0..N {
                    let (x, y) = (a[p][k], a[q][k]);
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                }
                for k in 0..N {
                    let (x, y) = (v[p][k], v[q][k]);
                    v[p][k] = c * x - s * y;
                    v[q][k] = s * x + c * y;
                }
            }
        }
    }
    (std::array::from_fn(|i| a[i][i]), v)
}

/// F Fᵀ.
pub(crate) fn left_cauchy_green(f: &Mat3) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            (0..3)
                .map(|k| f64::from(f[i][k]) * f64::from(f[j][k]))
                .sum()
        })
    })
}

/// Logarithm of the left stretch, ½ ln(F Fᵀ) (Hencky strain).
pub(crate) fn log_stretch(f: &Mat3) -> Mat3 {
    let (values, vectors) = symmetric(left_cauchy_green(f));
    let logs = values.map(|x| 0.5 * x.max(1e-24).ln());
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            (0..3)
                .map(|k| logs[k] * vectors[k][i] * vectors[k][j])
                .sum::<f64>() as f32
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_diagonalise() {
        let a = [
            [4.0, 1.0, -2.0, 0.5],
            [1.0, 3.0, 0.0, 0.25],
            [-2.0, 0.0, 2.0, 1.0],
            [0.5, 0.25, 1.0, 1.0],
        ];
        let (values, v) = symmetric(a);
        for i in 0..4 {
            for j in 0..4 {
                let av: f64 = (0..4).map(|k| a[j][k] * v[i][k]).sum();
                assert!((av - values[i] * v[i][j]).abs() < 1e-13);
                let dot: f64 = (0..4).map(|k| v[i][k] * v[j][k]).sum();
                assert!((dot - f64::from(i == j)).abs() < 1e-13);
            }
        }
        assert!(symmetric([[f64::NAN; 3]; 3]).0[0].is_nan());
        assert_eq!(symmetric([[0.0; 3]; 3]).0, [0.0; 3]);
    }

    #[test]
    fn log_stretch_of_a_rotated_stretch_is_the_log_of_the_stretch() {
        // F = V R with V diagonal, so ½ ln(F Fᵀ) = ln V.
        let (s, c) = 0.7f32.sin_cos();
        let r = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]];
        let stretch = [1.5f32, 0.5, 2.0];
        let f = std::array::from_fn(|i| std::array::from_fn(|j| stretch[i] * r[i][j]));
        let log = log_stretch(&f);
        for i in 0..3 {
            for j in 0..3 {
                let exact = if i == j { stretch[i].ln() } else { 0.0 };
                assert!((log[i][j] - exact).abs() < 1e-6);
            }
        }
    }
}
