//! Matrix times matrix: the pattern once, the numbers as often as wanted.
//!
//! Each row of the product is computed by one thread, its sums in ascending order of the inner index, so
//! the result doesn't depend on the number of threads.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::{BlockMatrix, Pattern, SparseError, check_size};
use crate::Real;

/// Fewest block rows of a task while the pattern is made, and most tasks: some of them need an array as long as
/// a row.
const TASK_ROWS: usize = 512;
const TASKS: usize = 64;

/// The pattern of a product A B, for any number of matrices on the patterns of A and B.
#[derive(Clone, Debug)]
pub struct ProductPlan {
    left: Arc<Pattern>,
    right: Arc<Pattern>,
    product: Arc<Pattern>,
}

impl ProductPlan {
    /// Finds the pattern of the product of matrices on `left` and `right`.
    ///
    /// # Errors
    /// If `right` hasn't as many block rows as `left` has block columns.
    pub fn new(left: &Arc<Pattern>, right: &Arc<Pattern>) -> Result<ProductPlan, SparseError> {
        let expected = [left.cols(), right.cols()];
        let found = [right.rows(), right.cols()];
        check_size("the right factor, in blocks,", found, expected)?;
        let step = TASK_ROWS.max(left.rows().div_ceil(TASKS));
        let tasks: Vec<Range<usize>> = (0..left.rows())
            .step_by(step)
            .map(|first| first..left.rows().min(first + step))
            .collect();
        let parts: Vec<(Vec<usize>, Vec<u32>)> = tasks
            .into_par_iter()
            .map_init(
                || vec![u32::MAX; right.cols()],
                |seen, rows| product_rows(left, right, rows, seen),
            )
            .collect();
        let mut offsets = Vec::with_capacity(left.rows() + 1);
        offsets.push(0);
        let mut end = 0;
        for count in parts.iter().flat_map(|(counts, _)| counts) {
            end += count;
            offsets.push(end);
        }
        let columns = parts.iter().flat_map(|(_, c)| c).copied().collect();
        let product = Pattern::trusted(left.rows(), right.cols(), offsets, columns);
        Ok(ProductPlan {
            left: left.clone(),
            right: right.clone(),
            product: Arc::new(product),
        })
    }

    /// The pattern of the product.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.product
    }

    /// c = a b, with `c` on [`pattern`](Self::pattern) and blocks of `a`'s rows and `b`'s columns.
    /// Allocates nothing.
    ///
    /// # Errors
    /// If a matrix has another pattern than planned, or blocks don't fit; nothing is written then.
    pub fn multiply<T: Real>(
        &self,
        a: &BlockMatrix<T>,
        b: &BlockMatrix<T>,
        c: &mut BlockMatrix<T>,
    ) -> Result<(), SparseError> {
        self.multiply_add(1.0, a, b, 0.0, c)
    }

    /// c = `alpha` a b + `beta` c; with `beta` 0 the old `c` isn't read. Otherwise as
    /// [`multiply`](Self::multiply).
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply).
    pub fn multiply_add<T: Real>(
        &self,
        alpha: f64,
        a: &BlockMatrix<T>,
        b: &BlockMatrix<T>,
        beta: f64,
        c: &mut BlockMatrix<T>,
    ) -> Result<(), SparseError> {
        for (what, planned, given) in [
            ("the left factor", &self.left, a.pattern()),
            ("the right factor", &self.right, b.pattern()),
            ("the product", &self.product, c.pattern()),
        ] {
            if !Arc::ptr_eq(planned, given) && **planned != **given {
                return Err(SparseError::OtherPattern { what });
            }
        }
        let [r, inner] = a.block();
        let width = b.block()[1];
        check_size("a block of the right factor", b.block(), [inner, width])?;
        check_size("a block of the product", c.block(), [r, width])?;
        match [r, inner, width] {
            [1, 1, 1] => self.run::<T, 1, 1, 1>(alpha, a, b, beta, c),
            [2, 2, 2] => self.run::<T, 2, 2, 2>(alpha, a, b, beta, c),
            [3, 3, 3] => self.run::<T, 3, 3, 3>(alpha, a, b, beta, c),
            [1, 2, 1] => self.run::<T, 1, 2, 1>(alpha, a, b, beta, c),
            [1, 3, 1] => self.run::<T, 1, 3, 1>(alpha, a, b, beta, c),
            _ => each_row(alpha, a, b, beta, c, |factor, x, y, z| {
                for i in 0..r {
                    for k in 0..inner {
                        let x = factor * x[i * inner + k];
                        let y = &y[k * width..(k + 1) * width];
                        for (z, y) in z[i * width..(i + 1) * width].iter_mut().zip(y) {
                            *z += x * *y;
                        }
                    }
                }
            }),
        }
        Ok(())
    }

    /// With blocks of known size, so that their loops are unrolled.
    fn run<T: Real, const R: usize, const K: usize, const C: usize>(
        &self,
        alpha: f64,
        a: &BlockMatrix<T>,
        b: &BlockMatrix<T>,
        beta: f64,
        c: &mut BlockMatrix<T>,
    ) {
        each_row(alpha, a, b, beta, c, |factor, x, y, z| {
            let x = x.as_chunks::<K>().0;
            let y = y.as_chunks::<C>().0;
            let z = z.as_chunks_mut::<C>().0;
            for i in 0..R {
                for k in 0..K {
                    let x = factor * x[i][k];
                    for j in 0..C {
                        z[i][j] += x * y[k][j];
                    }
                }
            }
        });
    }
}

/// Adds `block(alpha, a_ik, b_kj, c_ij)` for all k.
fn each_row<T: Real>(
    alpha: f64,
    a: &BlockMatrix<T>,
    b: &BlockMatrix<T>,
    beta: f64,
    c: &mut BlockMatrix<T>,
    block: impl Fn(T, &[T], &[T], &mut [T]) + Sync,
) {
    let size = |m: &BlockMatrix<T>| m.block()[0] * m.block()[1];
    let (size_a, size_b, size_c) = (size(a), size(b), size(c));
    c.for_each_row_mut(|row, columns, values| {
        match beta {
            0.0 => values.fill(T::ZERO),
            _ => values.iter_mut().for_each(|v| *v *= T::round(beta)),
        }
        if size_a == 0 || size_b == 0 {
            return;
        }
        let (inner, lefts) = a.row(row);
        for (&k, x) in inner.iter().zip(lefts.chunks_exact(size_a)) {
            let (rights, right_values) = b.row(k as usize);
            // Both lists ascend: a cursor finds the place.
            let mut at = 0;
            for (&j, y) in rights.iter().zip(right_values.chunks_exact(size_b)) {
                while columns[at] != j {
                    at += 1;
                }
                block(
                    T::round(alpha),
                    x,
                    y,
                    &mut values[at * size_c..(at + 1) * size_c],
                );
            }
        }
    });
}

/// Number of blocks in each of some rows of the product, and their columns. `seen[j]` is the last row in
/// which column j came up.
fn product_rows(
    left: &Pattern,
    right: &Pattern,
    rows: Range<usize>,
    seen: &mut [u32],
) -> (Vec<usize>, Vec<u32>) {
    let mut counts = Vec::with_capacity(rows.len());
    let mut columns = Vec::new();
    for row in rows {
        let start = columns.len();
        for &k in left.row(row) {
            for &j in right.row(k as usize) {
                if seen[j as usize] != row as u32 {
                    seen[j as usize] = row as u32;
                    columns.push(j);
                }
            }
        }
        columns[start..].sort_unstable();
        counts.push(columns.len() - start);
    }
    (counts, columns)
}

impl<T: Real> BlockMatrix<T> {
    /// The product self · `b`; for repeated products see [`ProductPlan`].
    ///
    /// # Errors
    /// If the factors don't fit.
    pub fn times(&self, b: &BlockMatrix<T>) -> Result<BlockMatrix<T>, SparseError> {
        let plan = ProductPlan::new(self.pattern(), b.pattern())?;
        let mut product =
            BlockMatrix::zeros(plan.pattern().clone(), [self.block()[0], b.block()[1]]);
        plan.multiply(self, b, &mut product)?;
        Ok(product)
    }
}
