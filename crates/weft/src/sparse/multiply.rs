//! Matrix times vector.
//!
//! Each row is summed by one thread in one order, so the result doesn't depend on the number of
//! threads. The kernels read a value and 4 bytes a block: they run at the speed of memory.

use rayon::prelude::*;

use super::{BlockMatrix, Pattern, SparseError, check_length};
use crate::Real;

/// Block rows of one parallel task.
const TASK_ROWS: usize = 2048;
/// Below this many values one thread is faster than waking others.
const SERIAL_VALUES: usize = 1 << 15;

impl<T: Real> BlockMatrix<T> {
    /// y = A x, with `x` of [`cols()`](Self::cols) and `y` of [`rows()`](Self::rows) entries.
    ///
    /// # Errors
    /// If a vector has the wrong length; nothing is written then.
    pub fn multiply(&self, x: &[T], y: &mut [T]) -> Result<(), SparseError> {
        self.check_vectors(x, y)?;
        self.run(x, y, |y, sum| *y = sum);
        Ok(())
    }

    /// y = `alpha` A x + `beta` y; with `beta` 0 the old `y` isn't read.
    ///
    /// # Errors
    /// If a vector has the wrong length; nothing is written then.
    pub fn multiply_add(
        &self,
        alpha: f64,
        x: &[T],
        beta: f64,
        y: &mut [T],
    ) -> Result<(), SparseError> {
        self.check_vectors(x, y)?;
        let (alpha, scale) = (T::round(alpha), T::round(beta));
        if beta == 0.0 {
            self.run(x, y, |y, sum| *y = alpha * sum);
        } else {
            self.run(x, y, |y, sum| *y = alpha * sum + scale * *y);
        }
        Ok(())
    }

    /// y = `alpha` Aᵀ x + `beta` y without transposing the matrix, with `x` of [`rows()`](Self::rows) and `y`
    /// of [`cols()`](Self::cols) entries; with `beta` 0 the old `y` isn't read. Each entry is added up in
    /// ascending order of the rows. Slower than a product with a transposed matrix: every thread goes through
    /// all rows, for its own columns.
    ///
    /// # Errors
    /// If a vector has the wrong length; nothing is written then.
    pub fn multiply_transposed(
        &self,
        alpha: f64,
        x: &[T],
        beta: f64,
        y: &mut [T],
    ) -> Result<(), SparseError> {
        check_length("x in y = Aᵀ x", x.len(), self.rows())?;
        check_length("y in y = Aᵀ x", y.len(), self.cols())?;
        if beta == 0.0 {
            y.fill(T::ZERO);
        } else {
            y.iter_mut().for_each(|y| *y *= T::round(beta));
        }
        let alpha = T::round(alpha);
        let [r, c] = self.block();
        if y.is_empty() || r == 0 {
            return Ok(());
        }
        if self.values().len() <= SERIAL_VALUES {
            self.columns_into(alpha, x, 0, y);
        } else {
            let cols = self.pattern().cols();
            let share = cols.div_ceil(rayon::current_num_threads());
            y.par_chunks_mut(share * c)
                .enumerate()
                .for_each(|(task, y)| self.columns_into(alpha, x, task * share, y));
        }
        Ok(())
    }

    /// Adds to columns `first..` for as many as `y` holds.
    fn columns_into(&self, alpha: T, x: &[T], first: usize, y: &mut [T]) {
        let [r, c] = self.block();
        let end = first + y.len() / c;
        for (row, x) in x.chunks_exact(r).enumerate() {
            let (columns, values) = self.row(row);
            let skip = match first {
                0 => 0,
                _ => columns.partition_point(|&j| (j as usize) < first),
            };
            let blocks = values[skip * r * c..].chunks_exact(r * c);
            for (&column, block) in columns[skip..].iter().zip(blocks) {
                if column as usize >= end {
                    break;
                }
                let y = &mut y[(column as usize - first) * c..][..c];
                for (row, x) in block.chunks_exact(c).zip(x) {
                    for (y, v) in y.iter_mut().zip(row) {
                        *y += alpha * *x * *v;
                    }
                }
            }
        }
    }

    fn check_vectors(&self, x: &[T], y: &[T]) -> Result<(), SparseError> {
        check_length("x in y = A x", x.len(), self.cols())?;
        check_length("y in y = A x", y.len(), self.rows())
    }

    fn run(&self, x: &[T], y: &mut [T], finish: impl Fn(&mut T, T) + Sync) {
        let [r, _] = self.block();
        if y.is_empty() {
            return;
        }
        if self.values().len() <= SERIAL_VALUES {
            self.rows_into(x, 0, y, &finish);
        } else {
            y.par_chunks_mut(TASK_ROWS * r)
                .enumerate()
                .for_each(|(task, y)| self.rows_into(x, task * TASK_ROWS, y, &finish));
        }
    }

    /// Rows `first..` for as many as `y` holds.
    fn rows_into(&self, x: &[T], first: usize, y: &mut [T], finish: &impl Fn(&mut T, T)) {
        let (pattern, values) = (&**self.pattern(), self.values());
        match self.block() {
            [1, 1] => scalar_rows(pattern, values, x, first, y, finish),
            [2, 2] => block_rows::<T, 2, 2>(pattern, values, x, first, y, finish),
            [3, 3] => block_rows::<T, 3, 3>(pattern, values, x, first, y, finish),
            block => general_rows(pattern, values, block, x, first, y, finish),
        }
    }
}

fn scalar_rows<T: Real>(
    pattern: &Pattern,
    values: &[T],
    x: &[T],
    first: usize,
    y: &mut [T],
    finish: &impl Fn(&mut T, T),
) {
    let offsets = &pattern.offsets()[first..first + y.len() + 1];
    for (y, ends) in y.iter_mut().zip(offsets.windows(2)) {
        let columns = &pattern.columns()[ends[0]..ends[1]];
        let values = &values[ends[0]..ends[1]];
        let (mut even, mut odd) = (T::ZERO, T::ZERO);
        let (column_pairs, column_rest) = columns.as_chunks::<2>();
        let (value_pairs, value_rest) = values.as_chunks::<2>();
        for (c, v) in column_pairs.iter().zip(value_pairs) {
            even += v[0] * x[c[0] as usize];
            odd += v[1] * x[c[1] as usize];
        }
        for (&c, v) in column_rest.iter().zip(value_rest) {
            even += *v * x[c as usize];
        }
        finish(y, even + odd);
    }
}

fn block_rows<T: Real, const R: usize, const C: usize>(
    pattern: &Pattern,
    values: &[T],
    x: &[T],
    first: usize,
    y: &mut [T],
    finish: &impl Fn(&mut T, T),
) {
    let x = x.as_chunks::<C>().0;
    let value_rows = values.as_chunks::<C>().0;
    let y = y.as_chunks_mut::<R>().0;
    let offsets = &pattern.offsets()[first..first + y.len() + 1];
    for (y, ends) in y.iter_mut().zip(offsets.windows(2)) {
        let columns = &pattern.columns()[ends[0]..ends[1]];
        let blocks = value_rows[ends[0] * R..ends[1] * R].as_chunks::<R>().0;
        let mut sums = [[T::ZERO; C]; R];
        for (&column, block) in columns.iter().zip(blocks) {
            let x = &x[column as usize];
            for i in 0..R {
                for j in 0..C {
                    sums[i][j] += block[i][j] * x[j];
                }
            }
        }
        for (y, sums) in y.iter_mut().zip(&sums) {
            finish(y, sums.iter().copied().sum());
        }
    }
}

fn general_rows<T: Real>(
    pattern: &Pattern,
    values: &[T],
    [r, c]: [usize; 2],
    x: &[T],
    first: usize,
    y: &mut [T],
    finish: &impl Fn(&mut T, T),
) {
    for (k, y) in y.chunks_exact_mut(r).enumerate() {
        let range = pattern.row_range(first + k);
        for (i, y) in y.iter_mut().enumerate() {
            let mut sum = T::ZERO;
            for position in range.clone() {
                let column = pattern.columns()[position] as usize;
                let start = (position * r + i) * c;
                let x = &x[column * c..(column + 1) * c];
                for (v, x) in values[start..start + c].iter().zip(x) {
                    sum += *v * *x;
                }
            }
            finish(y, sum);
        }
    }
}
