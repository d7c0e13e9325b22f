//! Block-sparse matrices and their algebra.
//!
//! [`Pattern`] says which blocks are stored, [`BlockMatrix`] adds their values. A pattern is shared
//! (`Arc`) by all matrices assembled on it, so assembling again touches values only. [`ProductPlan`] keeps
//! the pattern of a product, [`MatrixMarket`] reads and writes files.
//!
//! Invariant: the columns of each row are sorted, unique and smaller than the number of block
//! columns. [`Pattern::new`] checks it and nothing can break it afterwards.

mod algebra;
mod market;
mod matrix;
mod multiply;
mod pattern;
mod product;
mod triplets;

pub use algebra::Csr;
pub use market::{MarketError, MatrixMarket, Symmetry};
pub use matrix::BlockMatrix;
pub use pattern::Pattern;
pub use product::ProductPlan;

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
    /// A matrix or block has the wrong size.
    #[error("{what} is {} × {} where {} × {} is needed", .found[0], .found[1], .expected[0], .expected[1])]
    Size {
        /// The matrix or block.
        what: &'static str,
        /// Its rows and columns.
        found: [usize; 2],
        /// The right ones.
        expected: [usize; 2],
    },
    /// A matrix can't be divided into blocks of this shape.
    #[error(
        "a matrix of {rows} × {cols} can't be divided into blocks of {} × {}", .block[0], .block[1]
    )]
    BlockShape {
        /// Scalar rows.
        rows: usize,
        /// Scalar columns.
        cols: usize,
        /// Rows and columns of a block.
        block: [usize; 2],
    },
    /// A block is to be written that isn't stored.
    #[error("block ({row}, {col}) isn't in the pattern of the matrix to be written")]
    Outside {
        /// Block row.
        row: usize,
        /// Block column.
        col: usize,
    },
    /// A matrix has another pattern than was planned for.
    #[error("{what} has another pattern than the plan was made for; make the plan again")]
    OtherPattern {
        /// The matrix.
        what: &'static str,
    },
    /// A position is beyond the stored blocks.
    #[error("{what} is {found}; there are {entries} stored blocks")]
    Position {
        /// The position.
        what: &'static str,
        /// Its value.
        found: usize,
        /// Number of stored blocks.
        entries: usize,
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

/// `Ok` if `found == expected`, otherwise [`SparseError::Size`].
pub(crate) fn check_size(
    what: &'static str,
    found: [usize; 2],
    expected: [usize; 2],
) -> Result<(), SparseError> {
    if found == expected {
        Ok(())
    } else {
        Err(SparseError::Size {
            what,
            found,
            expected,
        })
    }
}
