//! Relaxation with the inverse diagonal blocks, and the largest eigenvalue that it needs.

use rayon::prelude::*;

use super::Smoother;
use crate::Real;
use crate::solve::precondition::{BlockJacobi, Preconditioner};
use crate::solve::{SolveError, SymmetricEigen, vector};
use crate::sparse::BlockMatrix;

/// Steps of the estimate of the largest eigenvalue.
const STEPS: usize = 12;
/// The estimate is from below; a bound that is too large only slows down.
const MARGIN: f64 = 1.1;
/// Nodes of one parallel task.
const TASK_NODES: usize = 2048;

/// Inverses of the diagonal blocks, one after the other, and a bound of the eigenvalues of D⁻¹ A.
pub(super) fn scaling(a: &BlockMatrix) -> Result<(Vec<f64>, f64), SolveError> {
    let jacobi = BlockJacobi::new(a)?;
    let bound = MARGIN * largest_eigenvalue(a, &jacobi);
    let mut inverses = jacobi.into_inverses();
    let b = a.block()[0];
    for inverse in inverses.chunks_exact_mut((b * b).max(1)) {
        for i in 0..b {
            for j in 0..i {
                let mean = 0.5 * (inverse[i * b + j] + inverse[j * b + i]);
                inverse[i * b + j] = mean;
                inverse[j * b + i] = mean;
            }
        }
    }
    Ok((inverses, bound))
}

/// The largest eigenvalue of D⁻¹ A, at least 1 (their mean), from the Lanczos matrix of conjugate gradients
/// (Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., §6.7.3).
fn largest_eigenvalue(a: &BlockMatrix, jacobi: &BlockJacobi) -> f64 {
    let n = a.rows();
    // Any start will do that isn't orthogonal to the vector sought; this one has all frequencies.
    let mut r: Vec<f64> = (0..n as u64)
        .map(|i| {
            let hash = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let hash = (hash ^ (hash >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (hash >> 40) as f64 / (1u64 << 23) as f64 - 1.0
        })
        .collect();
    let (mut z, mut q) = (vec![0.0; n], vec![0.0; n]);
    jacobi.apply(&r, &mut z);
    let mut p = z.clone();
    let mut rho = vector::dot(&r, &z);
    let first = rho;
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut carried = 0.0;
    for _ in 0..STEPS {
        if rho.is_nan() || rho <= 1e-20 * first {
            break;
        }
        a.multiply(&p, &mut q)
            .expect("vectors of the matrix's size");
        let curvature = vector::dot(&p, &q);
        if curvature.is_nan() || curvature <= 0.0 {
            break;
        }
        let alpha = rho / curvature;
        vector::axpy(-alpha, &q, &mut r);
        jacobi.apply(&r, &mut z);
        let next = vector::dot(&r, &z);
        let beta = next / rho;
        diagonal.push(1.0 / alpha + carried);
        beside.push(beta.max(0.0).sqrt() / alpha);
        carried = beta / alpha;
        vector::xpby(&z, beta, &mut p);
        rho = next;
    }
    let steps = diagonal.len();
    let mut lanczos = vec![0.0; steps * steps];
    for k in 0..steps {
        lanczos[k * steps + k] = diagonal[k];
        if k + 1 < steps {
            lanczos[k * steps + k + 1] = beside[k];
            lanczos[(k + 1) * steps + k] = beside[k];
        }
    }
    let largest = SymmetricEigen::new(steps, &lanczos)
        .values()
        .last()
        .copied();
    largest.filter(|v| v.is_finite()).unwrap_or(1.0).max(1.0)
}

/// A matrix with what relaxation needs.
#[derive(Debug)]
pub(super) struct Relaxation<T: Real> {
    pub(super) a: BlockMatrix<T>,
    pub(super) inverses: Vec<T>,
    /// No eigenvalue of D⁻¹ A is larger.
    pub(super) bound: f64,
}

impl<T: Real> Relaxation<T> {
    /// Relaxes A x = b; both `r` and `d` are overwritten. With `from_zero` the old `x` isn't read.
    ///
    /// x changes by p(D⁻¹ A) D⁻¹ (b − A x) with a polynomial p that doesn't depend on anything but the options: a
    /// symmetric matrix times the residual, as conjugate gradients require.
    pub(super) fn relax(
        &self,
        smoother: Smoother,
        from_zero: bool,
        b: &[T],
        x: &mut [T],
        r: &mut [T],
        d: &mut [T],
    ) {
        let steps = match smoother {
            Smoother::Chebyshev { degree, .. } => degree,
            Smoother::Jacobi { sweeps } => sweeps,
        };
        let mut recurrence = 0.0;
        for step in 0..steps {
            let start = step == 0 && from_zero;
            if start {
                r.copy_from_slice(b);
            } else {
                self.residual(b, x, r);
            }
            let (old, new) = match smoother {
                Smoother::Jacobi { .. } => (0.0, 4.0 / (3.0 * self.bound)),
                Smoother::Chebyshev { ratio, .. } => {
                    let low = self.bound / ratio;
                    let centre = 0.5 * (self.bound + low);
                    let half = 0.5 * (self.bound - low);
                    // Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 12.1.
                    if step == 0 {
                        recurrence = half / centre;
                        (0.0, 1.0 / centre)
                    } else {
                        let before = recurrence;
                        recurrence = 1.0 / (2.0 * centre / half - before);
                        (recurrence * before, 2.0 * recurrence / half)
                    }
                }
            };
            self.step(old, new, start, r, d, x);
        }
    }

    /// r = b − A x.
    pub(super) fn residual(&self, b: &[T], x: &[T], r: &mut [T]) {
        r.copy_from_slice(b);
        self.a
            .multiply_add(-1.0, x, 1.0, r)
            .expect("vectors of the level's size");
    }

    /// d = `old` d + `new` D⁻¹ r, then x += d, or x = d if `start`; with `old` 0 the old `d` isn't read.
    fn step(&self, old: f64, new: f64, start: bool, r: &[T], d: &mut [T], x: &mut [T]) {
        let b = self.a.block()[0];
        if x.is_empty() {
            return;
        }
        let nodes = |x: &mut [T], d: &mut [T], r: &[T], inverses: &[T]| {
            // Constants let the compiler unroll.
            match b {
                1 => step_nodes(1, old, new, start, inverses, r, d, x),
                2 => step_nodes(2, old, new, start, inverses, r, d, x),
                3 => step_nodes(3, old, new, start, inverses, r, d, x),
                6 => step_nodes(6, old, new, start, inverses, r, d, x),
                _ => step_nodes(b, old, new, start, inverses, r, d, x),
            }
        };
        if x.len() <= TASK_NODES * b {
            nodes(x, d, r, &self.inverses);
            return;
        }
        let size = TASK_NODES * b;
        let read = r.par_chunks(size).zip(self.inverses.par_chunks(size * b));
        x.par_chunks_mut(size)
            .zip(d.par_chunks_mut(size))
            .zip(read)
            .for_each(|((x, d), (r, inverses))| nodes(x, d, r, inverses));
    }
}

#[inline(always)]
fn step_nodes<T: Real>(
    b: usize,
    old: f64,
    new: f64,
    start: bool,
    inverses: &[T],
    r: &[T],
    d: &mut [T],
    x: &mut [T],
) {
    let (fresh, old, new) = (old == 0.0, T::round(old), T::round(new));
    let nodes = x.chunks_exact_mut(b).zip(d.chunks_exact_mut(b));
    let read = r.chunks_exact(b).zip(inverses.chunks_exact(b * b));
    for ((x, d), (r, inverse)) in nodes.zip(read) {
        for i in 0..b {
            let mut sum = T::ZERO;
            for j in 0..b {
                sum += inverse[i * b + j] * r[j];
            }
            d[i] = if fresh {
                new * sum
            } else {
                old * d[i] + new * sum
            };
            x[i] = if start { d[i] } else { x[i] + d[i] };
        }
    }
}
