//! The block-sparse matrix: construction, entries, transposition, norms.

use std::ops::Range;
use std::sync::Arc;

use super::{Pattern, SparseError, check_length};

/// A sparse matrix of dense blocks of one size, `f64` values.
///
/// Values are stored block by block in the order of the pattern; each block row-major.
#[derive(Clone, Debug)]
pub struct BlockMatrix {
    pattern: Arc<Pattern>,
    block: [usize; 2],
    values: Vec<f64>,
}

impl BlockMatrix {
    /// A matrix of zeros on `pattern`, with blocks of `block[0]` rows and `block[1]` columns.
    pub fn zeros(pattern: Arc<Pattern>, block: [usize; 2]) -> BlockMatrix {
        let values = vec![0.0; pattern.entry_count() * block[0] * block[1]];
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
        values: Vec<f64>,
    ) -> Result<BlockMatrix, SparseError> {
        let expected = pattern.entry_count() * block[0] * block[1];
        check_length("the list of values", values.len(), expected)?;
        Ok(BlockMatrix {
            pattern,
            block,
            values,
        })
    }

    /// A matrix of `rows` × `cols` blocks from blocks at (`row_indices[k]`, `col_indices[k]`), whose
    /// values follow one another in `values`. Blocks at the same place are added in the given order.
    ///
    /// # Errors
    /// If lengths differ or an index is out of range.
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        block: [usize; 2],
        row_indices: &[u32],
        col_indices: &[u32],
        values: &[f64],
    ) -> Result<BlockMatrix, SparseError> {
        let count = row_indices.len();
        let size = block[0] * block[1];
        check_length("the list of column indices", col_indices.len(), count)?;
        check_length("the list of values", values.len(), count * size)?;
        let mut starts = vec![0usize; rows + 1];
        for (entry, (&row, &column)) in row_indices.iter().zip(col_indices).enumerate() {
            if row as usize >= rows {
                return Err(SparseError::Row { entry, row, rows });
            }
            if column as usize >= cols {
                return Err(SparseError::Column {
                    row: row as usize,
                    column,
                    cols,
                });
            }
            starts[row as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut order = vec![0usize; count];
        let mut next = starts.clone();
        for (entry, &row) in row_indices.iter().enumerate() {
            order[next[row as usize]] = entry;
            next[row as usize] += 1;
        }
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let mut columns: Vec<u32> = Vec::with_capacity(count);
        let mut sums: Vec<f64> = Vec::with_capacity(count * size);
        for row in 0..rows {
            let entries = &mut order[starts[row]..starts[row + 1]];
            // Stable: equal columns keep the order of the input.
            entries.sort_by_key(|&entry| col_indices[entry]);
            let first = columns.len();
            for &entry in entries.iter() {
                let column = col_indices[entry];
                let from = &values[entry * size..(entry + 1) * size];
                if columns.len() > first && columns[columns.len() - 1] == column {
                    let start = sums.len() - size;
                    for (sum, v) in sums[start..].iter_mut().zip(from) {
                        *sum += v;
                    }
                } else {
                    columns.push(column);
                    sums.extend_from_slice(from);
                }
            }
            offsets.push(columns.len());
        }
        let pattern = Pattern::new(rows, cols, offsets, columns)?;
        Ok(BlockMatrix {
            pattern: Arc::new(pattern),
            block,
            values: sums,
        })
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
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All values, to be written.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Where the values of the block at `position` of the pattern lie in [`values`](Self::values).
    pub fn value_range(&self, position: usize) -> Range<usize> {
        let size = self.block[0] * self.block[1];
        position * size..(position + 1) * size
    }

    /// Values of block (`row`, `col`), row-major, or `None` if it isn't stored.
    pub fn get(&self, row: usize, col: usize) -> Option<&[f64]> {
        let position = self.pattern.position(row, col)?;
        Some(&self.values[self.value_range(position)])
    }

    /// Values of block (`row`, `col`), to be written, or `None` if it isn't stored.
    pub fn get_mut(&mut self, row: usize, col: usize) -> Option<&mut [f64]> {
        let position = self.pattern.position(row, col)?;
        let range = self.value_range(position);
        Some(&mut self.values[range])
    }

    /// Block columns of block row `row` and the values of its blocks, one after the other.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.pattern.row_range(row);
        let size = self.block[0] * self.block[1];
        (
            &self.pattern.columns()[range.clone()],
            &self.values[range.start * size..range.end * size],
        )
    }

    /// Calls `f(row, columns, values)` for every block row, in parallel.
    pub fn for_each_row_mut(&mut self, f: impl Fn(usize, &[u32], &mut [f64]) + Sync) {
        let rows = 0..self.pattern.rows();
        let size = self.block[0] * self.block[1];
        split_rows(&self.pattern, size, rows, &mut self.values, &f);
    }

    /// Multiplies every value by `factor`.
    pub fn scale(&mut self, factor: f64) {
        self.for_each_row_mut(|_, _, values| values.iter_mut().for_each(|v| *v *= factor));
    }

    /// Sets every value to zero.
    pub fn fill_zero(&mut self) {
        self.for_each_row_mut(|_, _, values| values.fill(0.0));
    }

    /// The transposed matrix.
    pub fn transpose(&self) -> BlockMatrix {
        let [r, c] = self.block;
        let (pattern, source) = self.pattern.transpose();
        let mut values = Vec::with_capacity(self.values.len());
        for &k in &source {
            let from = &self.values[self.value_range(k)];
            values.extend((0..c).flat_map(|j| (0..r).map(move |i| from[i * c + j])));
        }
        BlockMatrix {
            pattern: Arc::new(pattern),
            block: [c, r],
            values,
        }
    }

    /// The scalar diagonal, `min(rows, cols)` entries; 0 where nothing is stored.
    pub fn diagonal(&self) -> Vec<f64> {
        let [r, c] = self.block;
        let n = self.rows().min(self.cols());
        (0..n)
            .map(|i| {
                self.get(i / r, i / c)
                    .map_or(0.0, |block| block[(i % r) * c + i % c])
            })
            .collect()
    }

    /// The diagonal blocks one after the other, each row-major; zeros where nothing is stored.
    pub fn block_diagonal(&self) -> Vec<f64> {
        let size = self.block[0] * self.block[1];
        let n = self.pattern.rows().min(self.pattern.cols());
        let mut blocks = vec![0.0; n * size];
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
            .map(|v| (v / largest) * (v / largest))
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
                        let mirrored = other.map_or(0.0, |o| o[b * r + a]);
                        let difference = (block[a * r + b] - mirrored).abs();
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
        self.values.iter().position(|v| !v.is_finite())
    }

    /// All entries as a dense row-major array of `rows()` × `cols()`; for tests and small matrices.
    pub fn to_dense(&self) -> Vec<f64> {
        let [r, c] = self.block;
        let cols = self.cols();
        let mut dense = vec![0.0; self.rows() * cols];
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
        self.values.capacity() * size_of::<f64>() + self.pattern.memory_bytes()
    }
}

/// Rows handled by one task of [`BlockMatrix::for_each_row_mut`].
const TASK_ROWS: usize = 512;

fn split_rows<F: Fn(usize, &[u32], &mut [f64]) + Sync>(
    pattern: &Pattern,
    size: usize,
    rows: Range<usize>,
    values: &mut [f64],
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
