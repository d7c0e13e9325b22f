//! Block-sparse matrices and their algebra.
//!
//! [`Pattern`] says which blocks are stored, [`BlockMatrix`] adds their values. A pattern is shared
//! (`Arc`) by all matrices assembled on it, so assembling again touches values only.
//!
//! Invariant: the columns of each row are sorted, unique and smaller than the number of block
//! columns. [`Pattern::new`] checks it and nothing can break it afterwards.

mod matrix;
mod multiply;
mod pattern;

pub use matrix::BlockMatrix;
pub use pattern::Pattern;

use thiserror::Error;

/// What can be wrong with a pattern, a matrix or the vectors handed to it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SparseError {
    /// An array has the wrong length.
    #[error("{what} has {found} entries where {expected} are needed")]
    Length {
        /// The array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The right length.
        expected: usize,
    },
    /// Row offsets must start at 0, never decrease and end at the number of columns stored.
    #[error(
        "row offsets must start at 0, never decrease and end at {entries}: entry {row} is {value}"
    )]
    Offsets {
        /// Index in the offsets.
        row: usize,
        /// The offset there.
        value: usize,
        /// Number of stored columns.
        entries: usize,
    },
    /// A column is out of range.
    #[error("row {row} has column {column}; the matrix has {cols} block columns")]
    Column {
        /// Block row.
        row: usize,
        /// The column.
        column: u32,
        /// Number of block columns.
        cols: usize,
    },
    /// A row index is out of range.
    #[error("entry {entry} is in row {row}; the matrix has {rows} block rows")]
    Row {
        /// Index in the list of triplets.
        entry: usize,
        /// The row.
        row: u32,
        /// Number of block rows.
        rows: usize,
    },
    /// Columns of a row are not sorted, or one is there twice.
    #[error("row {row} has column {second} after column {first}; columns must increase")]
    Unsorted {
        /// Block row.
        row: usize,
        /// A column.
        first: u32,
        /// The column stored after it.
        second: u32,
    },
    /// More than 2^32 block rows or columns.
    #[error(
        "{count} block {what} are too many; at most {} fit the index type",
        u32::MAX
    )]
    TooMany {
        /// Rows or columns.
        what: &'static str,
        /// How many.
        count: usize,
    },
}

/// `Ok` if `found == expected`, otherwise [`SparseError::Length`].
pub(crate) fn check_length(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), SparseError> {
    if found == expected {
        Ok(())
    } else {
        Err(SparseError::Length {
            what,
            found,
            expected,
        })
    }
}
