//! Eigenvalues and eigenvectors of small symmetric matrices.
//!
//! Cyclic Jacobi rotations (Golub & Van Loan, Matrix Computations, 4th ed., §8.5.4): slower than a
//! tridiagonal method, but small eigenvalues come out accurate and a dozen unknowns take microseconds.

/// Eigen-decomposition A = Σ λ q qᵀ of a symmetric matrix; eigenvalues ascend.
#[derive(Clone, Debug)]
pub struct SymmetricEigen {
    n: usize,
    values: Vec<f64>,
    vectors: Vec<f64>,
}

impl SymmetricEigen {
    /// Decomposes the `n` × `n` matrix `a`, row-major; its symmetric part is used.
    ///
    /// # Panics
    /// If `a` doesn't hold `n * n` entries.
    pub fn new(n: usize, a: &[f64]) -> SymmetricEigen {
        assert_eq!(a.len(), n * n, "a symmetric {n} x {n} matrix");
        let mut m: Vec<f64> = (0..n * n)
            .map(|k| 0.5 * (a[k] + a[(k % n) * n + k / n]))
            .collect();
        // Rows of q are the vectors: rotations act on contiguous memory.
        let mut q = vec![0.0; n * n];
        for i in 0..n {
            q[i * n + i] = 1.0;
        }
        // Convergence is quadratic: six to ten sweeps reach rounding for any size used here.
        for _ in 0..50 {
            let off: f64 = (0..n)
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .map(|(i, j)| m[i * n + j] * m[i * n + j])
                .sum();
            let size: f64 = m.iter().map(|v| v * v).sum();
            if off <= size * 1e-40 || !size.is_finite() {
                break;
            }
            for i in 0..n {
                for j in i + 1..n {
                    rotate(n, &mut m, &mut q, i, j);
                }
            }
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| m[i * n + i].total_cmp(&m[j * n + j]));
        SymmetricEigen {
            n,
            values: order.iter().map(|&i| m[i * n + i]).collect(),
            vectors: order
                .iter()
                .flat_map(|&i| q[i * n..(i + 1) * n].to_vec())
                .collect(),
        }
    }

    /// Eigenvalues, ascending.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Unit eigenvector of eigenvalue `k`.
    ///
    /// # Panics
    /// If `k` isn't smaller than the size of the matrix.
    pub fn vector(&self, k: usize) -> &[f64] {
        &self.vectors[k * self.n..(k + 1) * self.n]
    }
}

/// Makes entry (`i`, `j`) of `m` zero by a rotation, applied to the rows of `q` as well.
fn rotate(n: usize, m: &mut [f64], q: &mut [f64], i: usize, j: usize) {
    let off = m[i * n + j];
    if off == 0.0 {
        return;
    }
    let theta = (m[j * n + j] - m[i * n + i]) / (2.0 * off);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for k in 0..n {
        let (a, b) = (m[k * n + i], m[k * n + j]);
        m[k * n + i] = c * a - s * b;
        m[k * n + j] = s * a + c * b;
    }
    for k in 0..n {
        let (a, b) = (m[i * n + k], m[j * n + k]);
        m[i * n + k] = c * a - s * b;
        m[j * n + k] = s * a + c * b;
        let (a, b) = (q[i * n + k], q[j * n + k]);
        q[i * n + k] = c * a - s * b;
        q[j * n + k] = s * a + c * b;
    }
    m[i * n + j] = 0.0;
    m[j * n + i] = 0.0;
}
