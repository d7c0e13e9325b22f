//! The sparsity pattern: compressed rows of sorted block columns.

use super::{SparseError, check_length};

/// Which blocks of a matrix are stored: compressed sparse rows, columns sorted in each row.
///
/// Offsets are `usize`, so more than 2^32 entries are possible; columns are `u32`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    rows: usize,
    cols: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
}

impl Pattern {
    /// A pattern of `rows` × `cols` blocks; row `i` holds `columns[offsets[i]..offsets[i + 1]]`.
    ///
    /// # Errors
    /// If the offsets don't fit the rows and columns, or the columns of a row are out of range,
    /// unsorted or repeated.
    pub fn new(
        rows: usize,
        cols: usize,
        offsets: Vec<usize>,
        columns: Vec<u32>,
    ) -> Result<Pattern, SparseError> {
        for (what, count) in [("rows", rows), ("columns", cols)] {
            if count > u32::MAX as usize {
                return Err(SparseError::TooMany { what, count });
            }
        }
        check_length("the list of row offsets", offsets.len(), rows + 1)?;
        let entries = columns.len();
        for (row, &value) in offsets.iter().enumerate() {
            let previous = if row == 0 { 0 } else { offsets[row - 1] };
            let wrong = (row == 0 && value != 0)
                || value < previous
                || value > entries
                || (row == rows && value != entries);
            if wrong {
                return Err(SparseError::Offsets {
                    row,
                    value,
                    entries,
                });
            }
        }
        for row in 0..rows {
            let list = &columns[offsets[row]..offsets[row + 1]];
            for pair in list.windows(2) {
                if pair[0] >= pair[1] {
                    let (first, second) = (pair[0], pair[1]);
                    return Err(SparseError::Unsorted { row, first, second });
                }
            }
            if let Some(&column) = list.last()
                && column as usize >= cols
            {
                return Err(SparseError::Column { row, column, cols });
            }
        }
        Ok(Pattern {
            rows,
            cols,
            offsets,
            columns,
        })
    }

    /// A pattern whose invariant holds by construction.
    pub(crate) fn trusted(
        rows: usize,
        cols: usize,
        offsets: Vec<usize>,
        columns: Vec<u32>,
    ) -> Pattern {
        debug_assert!(Pattern::new(rows, cols, offsets.clone(), columns.clone()).is_ok());
        Pattern {
            rows,
            cols,
            offsets,
            columns,
        }
    }

    /// The diagonal of an `n` × `n` matrix.
    ///
    /// # Errors
    /// If `n` exceeds the index type.
    pub fn diagonal(n: usize) -> Result<Pattern, SparseError> {
        if n > u32::MAX as usize {
            return Err(SparseError::TooMany {
                what: "rows",
                count: n,
            });
        }
        Ok(Pattern::trusted(
            n,
            n,
            (0..=n).collect(),
            (0..n as u32).collect(),
        ))
    }

    /// Number of block rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of block columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Start of each row in [`columns`](Self::columns), and the end of the last: `rows + 1` entries.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Block columns of all rows, one row after the other.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Number of stored blocks.
    pub fn entry_count(&self) -> usize {
        self.columns.len()
    }

    /// Positions of row `row` in [`columns`](Self::columns).
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_range(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }

    /// Sorted block columns of row `row`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.row_range(row)]
    }

    /// Where block (`row`, `col`) is stored, or `None` if it isn't.
    pub fn position(&self, row: usize, col: usize) -> Option<usize> {
        if row >= self.rows || col >= self.cols {
            return None;
        }
        let range = self.row_range(row);
        self.columns[range.clone()]
            .binary_search(&(col as u32))
            .ok()
            .map(|k| range.start + k)
    }

    /// The transposed pattern, and for each of its entries the position it had here.
    pub fn transpose(&self) -> (Pattern, Vec<usize>) {
        let mut offsets = vec![0; self.cols + 1];
        for &c in &self.columns {
            offsets[c as usize + 1] += 1;
        }
        for c in 0..self.cols {
            offsets[c + 1] += offsets[c];
        }
        let mut next = offsets.clone();
        let mut columns = vec![0; self.columns.len()];
        let mut source = vec![0; self.columns.len()];
        // Rows ascend, so each new row comes out sorted.
        for row in 0..self.rows {
            for k in self.row_range(row) {
                let slot = &mut next[self.columns[k] as usize];
                columns[*slot] = row as u32;
                source[*slot] = k;
                *slot += 1;
            }
        }
        (
            Pattern::trusted(self.cols, self.rows, offsets, columns),
            source,
        )
    }

    /// Offsets and columns.
    pub(super) fn into_parts(self) -> (Vec<usize>, Vec<u32>) {
        (self.offsets, self.columns)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.offsets.capacity() * size_of::<usize>() + self.columns.capacity() * size_of::<u32>()
    }
}
