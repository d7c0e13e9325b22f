//! The block-sparse matrix: construction, entries, transposition, norms.

use std::ops::Range;
use std::sync::Arc;

use super::{Pattern, SparseError, check_length, check_size};
use crate::Real;

/// A sparse matrix of dense blocks of one size, with values of `f64` unless said otherwise.
///
/// Values are stored block by block in the order of the pattern; each block row-major.
#[derive(Clone, Debug)]
pub struct BlockMatrix<T: Real = f64> {
    pattern: Arc<Pattern>,
    block: [usize; 2],
    values: Vec<T>,
}

impl<T: Real> BlockMatrix<T> {
    /// A matrix of zeros on `pattern`, with blocks of `block[0]` rows and `block[1]` columns.
    pub fn zeros(pattern: Arc<Pattern>, block: [usize; 2]) -> BlockMatrix<T> {
        let values = vec![T::ZERO; pattern.entry_count() * block[0] * block[1]];
        BlockMatrix {
            pattern,
            block,
            values,
        }
    }

    /// A matrix with these values.
    ///
    /// # Errors
    /// If the number of values isn't the number of stored blocks times the size of a block.
    pub fn new(
        pattern: Arc<Pattern>,
        block: [usize; 2],
        values: Vec<T>,
    ) -> Result<BlockMatrix<T>, SparseError> {
        let expected = pattern.entry_count() * block[0] * block[1];
        check_length("the list of values", values.len(), expected)?;
        Ok(BlockMatrix {
            pattern,
            block,
            values,
        })
    }

    /// A matrix whose values are known to fit.
    pub(super) fn trusted(
        pattern: Arc<Pattern>,
        block: [usize; 2],
        values: Vec<T>,
    ) -> BlockMatrix<T> {
        debug_assert_eq!(values.len(), pattern.entry_count() * block[0] * block[1]);
        BlockMatrix {
            pattern,
            block,
            values,
        }
    }

    /// The matrix with every value rounded to `U`; the pattern is shared.
    pub fn to<U: Real>(&self) -> BlockMatrix<U> {
        let values = self.values.iter().map(|v| U::round(v.widen())).collect();
        BlockMatrix {
            pattern: self.pattern.clone(),
            block: self.block,
            values,
        }
    }

    /// Pattern and values.
    pub(super) fn into_parts(self) -> (Arc<Pattern>, Vec<T>) {
        (self.pattern, self.values)
    }

    /// The pattern, shared with other matrices.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Rows and columns of a block.
    pub fn block(&self) -> [usize; 2] {
        self.block
    }

    /// Number of scalar rows.
    pub fn rows(&self) -> usize {
        self.pattern.rows() * self.block[0]
    }

    /// Number of scalar columns.
    pub fn cols(&self) -> usize {
        self.pattern.cols() * self.block[1]
    }

    /// All values: block by block in the order of the pattern, each block row-major.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, to be written.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Where the values of the block at `position` of the pattern lie in [`values`](Self::values).
    pub fn value_range(&self, position: usize) -> Range<usize> {
        let size = self.block[0] * self.block[1];
        position * size..(position + 1) * size
    }

    /// Values of block (`row`, `col`), row-major, or `None` if it isn't stored.
    pub fn get(&self, row: usize, col: usize) -> Option<&[T]> {
        let position = self.pattern.position(row, col)?;
        Some(&self.values[self.value_range(position)])
    }

    /// Values of block (`row`, `col`), to be written, or `None` if it isn't stored.
    pub fn get_mut(&mut self, row: usize, col: usize) -> Option<&mut [T]> {
        let position = self.pattern.position(row, col)?;
        let range = self.value_range(position);
        Some(&mut self.values[range])
    }

    /// Block columns of block row `row` and the values of its blocks, one after the other.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.pattern.row_range(row);
        let size = self.block[0] * self.block[1];
        (
            &self.pattern.columns()[range.clone()],
            &self.values[range.start * size..range.end * size],
        )
    }

    /// Calls `f(row, columns, values)` for every block row, in parallel.
    pub fn for_each_row_mut(&mut self, f: impl Fn(usize, &[u32], &mut [T]) + Sync) {
        let rows = 0..self.pattern.rows();
        let size = self.block[0] * self.block[1];
        split_rows(&self.pattern, size, rows, &mut self.values, &f);
    }

    /// Multiplies every value by `factor`.
    pub fn scale(&mut self, factor: f64) {
        self.for_each_row_mut(|_, _, values| {
            values.iter_mut().for_each(|v| *v *= T::round(factor))
        });
    }

    /// Sets every value to zero.
    pub fn fill_zero(&mut self) {
        self.for_each_row_mut(|_, _, values| values.fill(T::ZERO));
    }

    /// The transposed matrix.
    pub fn transpose(&self) -> BlockMatrix<T> {
        let (pattern, source) = self.pattern.transpose();
        let [r, c] = self.block;
        let mut transposed = BlockMatrix::zeros(Arc::new(pattern), [c, r]);
        self.transpose_values(&source, &mut transposed);
        transposed
    }

    /// Writes the transposed values into `target`, on the pattern and with the positions `source` that
    /// [`Pattern::transpose`] gave. Allocates nothing.
    ///
    /// # Errors
    /// If sizes or blocks don't fit; nothing is written then.
    pub fn transpose_into(
        &self,
        source: &[usize],
        target: &mut BlockMatrix<T>,
    ) -> Result<(), SparseError> {
        let [r, c] = self.block;
        check_size("a block of the transposed matrix", target.block, [c, r])?;
        check_size(
            "the transposed matrix, in blocks,",
            [target.pattern.rows(), target.pattern.cols()],
            [self.pattern.cols(), self.pattern.rows()],
        )?;
        let entries = self.pattern.entry_count();
        check_length("the list of positions", source.len(), entries)?;
        let found = target.pattern.entry_count();
        check_length("the transposed pattern", found, entries)?;
        if let Some(&found) = source.iter().find(|&&k| k >= entries) {
            let what = "a position to transpose from";
            return Err(SparseError::Position {
                what,
                found,
                entries,
            });
        }
        self.transpose_values(source, target);
        Ok(())
    }

    fn transpose_values(&self, source: &[usize], target: &mut BlockMatrix<T>) {
        let [r, c] = self.block;
        let pattern = target.pattern.clone();
        target.for_each_row_mut(|row, _, values| {
            let sources = &source[pattern.row_range(row)];
            for (&k, to) in sources.iter().zip(values.chunks_exact_mut((r * c).max(1))) {
                let from = &self.values[self.value_range(k)];
                for (n, to) in to.iter_mut().enumerate() {
                    *to = from[(n % r) * c + n / r];
                }
            }
        });
    }

    /// The scalar diagonal, `min(rows, cols)` entries; 0 where nothing is stored.
    pub fn diagonal(&self) -> Vec<T> {
        let [r, c] = self.block;
        let n = self.rows().min(self.cols());
        (0..n)
            .map(|i| {
                self.get(i / r, i / c)
                    .map_or(T::ZERO, |block| block[(i % r) * c + i % c])
            })
            .collect()
    }

    /// The diagonal blocks one after the other, each row-major; zeros where nothing is stored.
    pub fn block_diagonal(&self) -> Vec<T> {
        let size = self.block[0] * self.block[1];
        let n = self.pattern.rows().min(self.pattern.cols());
        let mut blocks = vec![T::ZERO; n * size];
        for i in 0..n {
            if let Some(block) = self.get(i, i) {
                blocks[i * size..(i + 1) * size].copy_from_slice(block);
            }
        }
        blocks
    }

    /// Largest absolute value; NaN if there is one.
    pub fn max_abs(&self) -> f64 {
        self.values.iter().fold(0.0, |m: f64, v| {
            let v = v.widen();
            if v.is_nan() || m.is_nan() {
                f64::NAN
            } else {
                m.max(v.abs())
            }
        })
    }

    /// Square root of the sum of the squares of all values, without overflow.
    pub fn frobenius_norm(&self) -> f64 {
        let largest = self.max_abs();
        if largest == 0.0 || !largest.is_finite() {
            return largest;
        }
        let sum: f64 = self
            .values
            .iter()
            .map(|v| (v.widen() / largest).powi(2))
            .sum();
        largest * sum.sqrt()
    }

    /// Whether |a_ij − a_ji| ≤ `tolerance` × the largest absolute value, for all entries; a block that
    /// isn't stored counts as zero. NaN makes a matrix unsymmetric.
    pub fn is_symmetric(&self, tolerance: f64) -> bool {
        let [r, c] = self.block;
        let n = self.pattern.rows();
        if r != c || n != self.pattern.cols() {
            return false;
        }
        let limit = tolerance * self.max_abs();
        // Rows i ascend, so each row j is asked for columns in ascending order: a cursor finds them.
        let mut cursor = self.pattern.offsets()[..n].to_vec();
        let columns = self.pattern.columns();
        for i in 0..n {
            for k in self.pattern.row_range(i) {
                let j = columns[k] as usize;
                let end = self.pattern.offsets()[j + 1];
                let here = &mut cursor[j];
                while *here < end && (columns[*here] as usize) < i {
                    *here += 1;
                }
                let block = &self.values[self.value_range(k)];
                let other = (*here < end && columns[*here] as usize == i)
                    .then(|| &self.values[self.value_range(*here)]);
                for a in 0..r {
                    for b in 0..r {
                        let mirrored = other.map_or(T::ZERO, |o| o[b * r + a]);
                        let difference = (block[a * r + b] - mirrored).widen().abs();
                        if difference.is_nan() || difference > limit {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    /// Position in [`values`](Self::values) of the first value that is NaN or infinite.
    pub fn first_non_finite(&self) -> Option<usize> {
        self.values.iter().position(|v| !v.widen().is_finite())
    }

    /// All entries as a dense row-major array of `rows()` × `cols()`; for tests and small matrices.
    pub fn to_dense(&self) -> Vec<T> {
        let [r, c] = self.block;
        let cols = self.cols();
        let mut dense = vec![T::ZERO; self.rows() * cols];
        for i in 0..self.pattern.rows() {
            for k in self.pattern.row_range(i) {
                let j = self.pattern.columns()[k] as usize;
                let block = &self.values[self.value_range(k)];
                for a in 0..r {
                    let start = (i * r + a) * cols + j * c;
                    dense[start..start + c].copy_from_slice(&block[a * c..(a + 1) * c]);
                }
            }
        }
        dense
    }

    /// Bytes of memory held by values and pattern (the pattern may be shared).
    pub fn memory_bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>() + self.pattern.memory_bytes()
    }
}

/// Rows handled by one task of [`BlockMatrix::for_each_row_mut`].
const TASK_ROWS: usize = 512;

fn split_rows<T: Real, F: Fn(usize, &[u32], &mut [T]) + Sync>(
    pattern: &Pattern,
    size: usize,
    rows: Range<usize>,
    values: &mut [T],
    f: &F,
) {
    if rows.len() > TASK_ROWS {
        let middle = rows.start + rows.len() / 2;
        let cut = (pattern.offsets()[middle] - pattern.offsets()[rows.start]) * size;
        let (low, high) = values.split_at_mut(cut);
        rayon::join(
            || split_rows(pattern, size, rows.start..middle, low, f),
            || split_rows(pattern, size, middle..rows.end, high, f),
        );
        return;
    }
    let mut rest = values;
    for row in rows {
        let columns = pattern.row(row);
        let (head, tail) = rest.split_at_mut(columns.len() * size);
        f(row, columns, head);
        rest = tail;
    }
}
