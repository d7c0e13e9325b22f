//! Matrices from lists of entries.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::{BlockMatrix, Pattern, SparseError, check_length};
use crate::Real;

/// Block rows of one parallel task.
const TASK_ROWS: usize = 1024;

/// Rows of one task: blocks in each row, their columns, their values.
type Part<T> = (Vec<usize>, Vec<u32>, Vec<T>);

impl<T: Real> BlockMatrix<T> {
    /// A matrix of `rows` × `cols` blocks from blocks at (`row_indices[k]`, `col_indices[k]`), whose
    /// values follow one another in `values`. Blocks at the same place are added in the given order,
    /// whatever the number of threads. Blocks of zeros are stored too, so a list can lay out room for
    /// later; [`without_zeros`](Self::without_zeros) drops them.
    ///
    /// # Errors
    /// If lengths differ or an index is out of range.
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        block: [usize; 2],
        row_indices: &[u32],
        col_indices: &[u32],
        values: &[T],
    ) -> Result<BlockMatrix<T>, SparseError> {
        let size = block[0] * block[1];
        check_triplets([rows, cols], size, row_indices, col_indices, values)?;
        let (starts, mut order) = by_row(rows, row_indices);
        // Each task sorts and adds up the entries of its own rows.
        let mut tasks = Vec::new();
        let mut rest = &mut order[..];
        for first in (0..rows).step_by(TASK_ROWS) {
            let range = first..rows.min(first + TASK_ROWS);
            let (head, tail) = rest.split_at_mut(starts[range.end] - starts[range.start]);
            tasks.push((range, head));
            rest = tail;
        }
        let parts: Vec<Part<T>> = tasks
            .into_par_iter()
            .map(|(range, order)| add_rows(range, &starts, order, col_indices, values, size))
            .collect();
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let mut end = 0;
        for count in parts.iter().flat_map(|(counts, ..)| counts) {
            end += count;
            offsets.push(end);
        }
        let columns = parts.iter().flat_map(|(_, c, _)| c).copied().collect();
        let sums = parts.iter().flat_map(|(.., v)| v).copied().collect();
        BlockMatrix::new(
            Arc::new(Pattern::new(rows, cols, offsets, columns)?),
            block,
            sums,
        )
    }

    /// Sets all values to the sums of blocks at (`row_indices[k]`, `col_indices[k]`), added in the given
    /// order; stored blocks that the list doesn't name become zero. Allocates nothing.
    ///
    /// # Errors
    /// If lengths differ, an index is out of range, or a block isn't in the pattern; the values are
    /// then unchanged.
    pub fn set_triplets(
        &mut self,
        row_indices: &[u32],
        col_indices: &[u32],
        values: &[T],
    ) -> Result<(), SparseError> {
        let [r, c] = self.block();
        let size = r * c;
        let (rows, cols) = (self.pattern().rows(), self.pattern().cols());
        check_triplets([rows, cols], size, row_indices, col_indices, values)?;
        for (&row, &col) in row_indices.iter().zip(col_indices) {
            self.place(row as usize, col as usize)?;
        }
        self.fill_zero();
        for (k, (&row, &col)) in row_indices.iter().zip(col_indices).enumerate() {
            let position = self.place(row as usize, col as usize)?;
            let range = self.value_range(position);
            let from = &values[k * size..(k + 1) * size];
            for (sum, v) in self.values_mut()[range].iter_mut().zip(from) {
                *sum += *v;
            }
        }
        Ok(())
    }

    /// Position of a block that has to be stored.
    fn place(&self, row: usize, col: usize) -> Result<usize, SparseError> {
        self.pattern()
            .position(row, col)
            .ok_or(SparseError::Outside { row, col })
    }
}

fn check_triplets<T>(
    [rows, cols]: [usize; 2],
    size: usize,
    row_indices: &[u32],
    col_indices: &[u32],
    values: &[T],
) -> Result<(), SparseError> {
    let count = row_indices.len();
    for (what, count) in [("rows", rows), ("columns", cols)] {
        if count > u32::MAX as usize {
            return Err(SparseError::TooMany { what, count });
        }
    }
    check_length("the list of column indices", col_indices.len(), count)?;
    check_length("the list of values", values.len(), count * size)?;
    for (entry, (&row, &column)) in row_indices.iter().zip(col_indices).enumerate() {
        if row as usize >= rows {
            return Err(SparseError::Row { entry, row, rows });
        }
        if column as usize >= cols {
            let row = row as usize;
            return Err(SparseError::Column { row, column, cols });
        }
    }
    Ok(())
}

/// Entries sorted by row, in the given order within a row: where each row starts, and the entries.
fn by_row(rows: usize, row_indices: &[u32]) -> (Vec<usize>, Vec<usize>) {
    let mut starts = vec![0usize; rows + 1];
    for &row in row_indices {
        starts[row as usize + 1] += 1;
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let mut order = vec![0usize; row_indices.len()];
    let mut next = starts.clone();
    for (entry, &row) in row_indices.iter().enumerate() {
        order[next[row as usize]] = entry;
        next[row as usize] += 1;
    }
    (starts, order)
}

/// Sorts the entries of some rows by column and adds up those of equal place.
fn add_rows<T: Real>(
    rows: Range<usize>,
    starts: &[usize],
    order: &mut [usize],
    col_indices: &[u32],
    values: &[T],
    size: usize,
) -> Part<T> {
    let first = starts[rows.start];
    let mut counts = Vec::with_capacity(rows.len());
    let mut columns: Vec<u32> = Vec::with_capacity(order.len());
    let mut sums: Vec<T> = Vec::with_capacity(order.len() * size);
    for row in rows {
        let entries = &mut order[starts[row] - first..starts[row + 1] - first];
        // Stable: equal columns keep the order of the input.
        entries.sort_by_key(|&entry| col_indices[entry]);
        let before = columns.len();
        for &entry in entries.iter() {
            let column = col_indices[entry];
            let from = &values[entry * size..(entry + 1) * size];
            if columns.len() > before && columns[columns.len() - 1] == column {
                let start = sums.len() - size;
                for (sum, v) in sums[start..].iter_mut().zip(from) {
                    *sum += *v;
                }
            } else {
                columns.push(column);
                sums.extend_from_slice(from);
            }
        }
        counts.push(columns.len() - before);
    }
    (counts, columns, sums)
}
