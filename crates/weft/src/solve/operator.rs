//! What an iterative method needs of a matrix: its product with a vector.

use crate::Real;
use crate::sparse::BlockMatrix;

/// A linear map given by its action: an assembled matrix, a matrix-free form, a product of maps.
///
/// `Sync`, since methods run inside the thread pool.
pub trait LinearOperator<T: Real = f64>: Sync {
    /// Number of scalar rows.
    fn rows(&self) -> usize;
    /// Number of scalar columns.
    fn cols(&self) -> usize;
    /// y = A x, with `x` of `cols()` and `y` of `rows()` entries; overwrites all of `y`.
    ///
    /// Solvers check the lengths once before they call this.
    fn apply(&self, x: &[T], y: &mut [T]);
    /// y = `alpha` A x + `beta` y; with `beta` 0 the old `y` isn't read. As given here it allocates a vector.
    fn apply_add(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) {
        let mut product = vec![T::ZERO; y.len()];
        self.apply(x, &mut product);
        for (y, p) in y.iter_mut().zip(product) {
            let old = match beta {
                0.0 => T::ZERO,
                _ => T::round(beta) * *y,
            };
            *y = T::round(alpha) * p + old;
        }
    }
}

impl<T: Real> LinearOperator<T> for BlockMatrix<T> {
    fn rows(&self) -> usize {
        BlockMatrix::rows(self)
    }

    fn cols(&self) -> usize {
        BlockMatrix::cols(self)
    }

    /// # Panics
    /// If a vector has the wrong length; [`BlockMatrix::multiply`] returns an error instead.
    fn apply(&self, x: &[T], y: &mut [T]) {
        if let Err(error) = self.multiply(x, y) {
            panic!("{error}");
        }
    }

    /// # Panics
    /// As [`apply`](LinearOperator::apply).
    fn apply_add(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) {
        if let Err(error) = self.multiply_add(alpha, x, beta, y) {
            panic!("{error}");
        }
    }
}
