//! The coarsest level: dense Cholesky with pivots, good for singular matrices too.

/// P A Pᵀ = L Lᵀ, up to where pivots become rounding; unknowns after that are set to zero.
///
/// So the solve is a symmetric, positive semidefinite generalised inverse: exact for right-hand sides in the
/// range of A (Golub & Van Loan, Matrix Computations, 4th ed., §4.2.8).
#[derive(Debug)]
pub(super) struct Dense {
    order: Vec<usize>,
    /// Rows of L one after the other; row i has min(i, rank) + 1 entries up to the rank.
    lower: Vec<f64>,
    rank: usize,
}

impl Dense {
    /// Factorises the `n` × `n` matrix `a`, row-major; its lower part is used. Pivots below `rounding` of the
    /// first are zero.
    pub(super) fn new(n: usize, mut a: Vec<f64>, rounding: f64) -> Dense {
        debug_assert_eq!(a.len(), n * n);
        let mut order: Vec<usize> = (0..n).collect();
        // What is left of the diagonal of each unknown, relative to what it was: scales don't matter then.
        let scale: Vec<f64> = (0..n)
            .map(|i| {
                let d = a[i * n + i];
                if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 }
            })
            .collect();
        for i in 0..n {
            for j in 0..=i {
                a[i * n + j] *= scale[i] * scale[j];
                a[j * n + i] = a[i * n + j];
            }
        }
        let mut rank = 0;
        while rank < n {
            let left = |k: usize| a[order[k] * n + order[k]];
            let mut pivot = rank;
            for k in rank + 1..n {
                if left(k) > left(pivot) {
                    pivot = k;
                }
            }
            if left(pivot).is_nan() || left(pivot) <= rounding {
                break;
            }
            order.swap(rank, pivot);
            let p = order[rank];
            let root = a[p * n + p].sqrt();
            let column: Vec<f64> = order[rank + 1..]
                .iter()
                .map(|&i| a[p * n + i] / root)
                .collect();
            a[p * n + p] = root;
            for (&i, &l) in order[rank + 1..].iter().zip(&column) {
                let row = &mut a[i * n..(i + 1) * n];
                // Entry (i, p) isn't needed any more: it holds L.
                row[p] = l;
                for (&j, &m) in order[rank + 1..].iter().zip(&column) {
                    row[j] -= l * m;
                }
            }
            rank += 1;
        }
        // L of the scaled matrix, times the root of the diagonal.
        let mut lower = Vec::with_capacity(rank * (rank + 1) / 2);
        for k in 0..rank {
            let i = order[k];
            lower.extend(order[..=k].iter().map(|&j| a[i * n + j] / scale[i]));
        }
        order.truncate(rank);
        Dense { order, lower, rank }
    }

    /// x = A⁺ b in the sense above; `work` has room for the rank.
    pub(super) fn solve(&self, b: impl Fn(usize) -> f64, work: &mut [f64]) {
        let y = &mut work[..self.rank];
        let mut start = 0;
        for (k, &i) in self.order.iter().enumerate() {
            let row = &self.lower[start..start + k + 1];
            let sum: f64 = row[..k].iter().zip(&*y).map(|(l, y)| l * y).sum();
            y[k] = (b(i) - sum) / row[k];
            start += k + 1;
        }
        for k in (0..self.rank).rev() {
            start -= k + 1;
            let row = &self.lower[start..start + k + 1];
            y[k] /= row[k];
            let x = y[k];
            for (y, l) in y[..k].iter_mut().zip(row) {
                *y -= l * x;
            }
        }
    }

    /// The unknowns that [`solve`](Self::solve) finds, in its order; all others are zero.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::Dense;

    fn solve(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
        let dense = Dense::new(n, a.to_vec(), 1e-13);
        let mut work = vec![0.0; n];
        dense.solve(|i| b[i], &mut work);
        let mut x = vec![0.0; n];
        for (&i, w) in dense.order().iter().zip(&work) {
            x[i] = *w;
        }
        x
    }

    #[test]
    fn systems_in_the_range_are_solved() {
        for n in 0..20_usize {
            for rank in [n, n.saturating_sub(1), n / 2] {
                // G Gᵀ with rows of very different size.
                let g: Vec<f64> = (0..n * rank)
                    .map(|k| {
                        ((k * k + 3 * k) as f64).sin() * 10f64.powi((k / rank.max(1)) as i32 % 4)
                    })
                    .collect();
                let entry = |i: usize, j: usize| -> f64 {
                    (0..rank).map(|k| g[i * rank + k] * g[j * rank + k]).sum()
                };
                let a: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
                let exact: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
                let times = |x: &[f64]| -> Vec<f64> {
                    (0..n)
                        .map(|i| (0..n).map(|j| a[i * n + j] * x[j]).sum())
                        .collect()
                };
                let b = times(&exact);
                let again = times(&solve(n, &a, &b));
                for (i, (x, y)) in b.iter().zip(&again).enumerate() {
                    let size: f64 = (0..n).map(|j| a[i * n + j].abs()).sum();
                    assert!((x - y).abs() <= 1e-7 * size, "{n} {rank}: {x} {y}");
                }
            }
        }
    }
}
