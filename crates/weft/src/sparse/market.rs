//! Matrix Market files: the exchange format of sparse matrices (Boisvert, Pozo & Remington, NISTIR 5935).
//!
//! [`MatrixMarket`] reads and writes the coordinate format with real numbers. Invariant: whatever the
//! bytes, reading gives a matrix or an error that names the line, and memory grows no
//! faster than the size of the file.

use std::io::{self, BufRead, Write};

use thiserror::Error;

use super::{BlockMatrix, SparseError};
use crate::Real;

/// Which entries a file leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// None.
    General,
    /// Those above the diagonal: a_ij = a_ji.
    Symmetric,
    /// Those on and above the diagonal: a_ij = −a_ji.
    Skew,
}

impl Symmetry {
    fn word(self) -> &'static str {
        match self {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::Skew => "skew-symmetric",
        }
    }
}

/// Why a Matrix Market file could not be read or written.
#[derive(Debug, Error)]
pub enum MarketError {
    /// The file itself failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is wrong.
    #[error("line {line}: {reason}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong, and what would be accepted.
        reason: String,
    },
    /// The matrix isn't of the symmetry it is to be written with.
    #[error("the matrix isn't {0}; `general` writes any matrix")]
    NotSymmetric(&'static str),
    /// A value can't be written.
    #[error("entry ({row}, {col}) is {value}; a file holds finite numbers only")]
    NonFinite {
        /// Scalar row, from 0.
        row: usize,
        /// Scalar column, from 0.
        col: usize,
        /// The value.
        value: f64,
    },
    /// The matrix can't be made.
    #[error(transparent)]
    Sparse(#[from] SparseError),
}

/// Rows and columns that a file may have whatever the number of its entries.
const FREE_ROWS: usize = 1 << 16;
/// Rows and columns that a file may have beyond these for each entry: empty rows take memory too.
const ROWS_PER_ENTRY: usize = 8;

/// A matrix as a Matrix Market file holds it.
#[derive(Clone, Debug)]
pub struct MatrixMarket {
    /// All entries, in 1 × 1 blocks, also those that the file leaves out.
    pub matrix: BlockMatrix,
    /// The symmetry that the file states.
    pub symmetry: Symmetry,
}

impl MatrixMarket {
    /// Reads `matrix coordinate real` (or `integer`) of `general`, `symmetric` or `skew-symmetric` kind.
    /// Entries at the same place are added up.
    ///
    /// # Errors
    /// If reading fails, a line is wrong, or the sizes are out of all proportion to the entries (more
    /// than 65536 rows or columns and 8 for each entry).
    pub fn read(input: impl BufRead) -> Result<MatrixMarket, MarketError> {
        let mut lines = Lines {
            input,
            number: 0,
            bytes: Vec::new(),
        };
        let header = match lines.next()? {
            Some(line) => line.to_ascii_lowercase(),
            None => String::new(),
        };
        let words: Vec<&str> = header.split_ascii_whitespace().collect();
        let symmetry = match words[..] {
            [
                "%%matrixmarket",
                "matrix",
                "coordinate",
                "real" | "integer",
                symmetry,
            ] => {
                let known = [Symmetry::General, Symmetry::Symmetric, Symmetry::Skew];
                match known.into_iter().find(|s| s.word() == symmetry) {
                    Some(symmetry) => symmetry,
                    None => {
                        return lines.fail(format!(
                            "symmetry `{}` isn't supported; general, symmetric and skew-symmetric are",
                            shown(symmetry)
                        ));
                    }
                }
            }
            ["%%matrixmarket", "matrix", "coordinate", field, _] => {
                return lines.fail(format!(
                    "entries of type `{}` aren't supported; real and integer are",
                    shown(field)
                ));
            }
            ["%%matrixmarket", "matrix", "array", ..] => {
                return lines.fail("dense arrays aren't supported; coordinate is".to_owned());
            }
            _ => {
                return lines.fail(
                    "a file starts with `%%MatrixMarket matrix coordinate real general` or the like"
                        .to_owned(),
                );
            }
        };
        let Some(sizes) = lines.content()?.map(numbers::<3>) else {
            return lines.fail("the file ends before the line `rows columns entries`".to_owned());
        };
        let [rows, cols, count] = match sizes {
            Ok(sizes) => sizes,
            Err(reason) => {
                return lines.fail(format!("{reason}; needed are `rows columns entries`"));
            }
        };
        if symmetry != Symmetry::General && rows != cols {
            return lines.fail(format!(
                "a {} matrix is square, not {rows} × {cols}",
                symmetry.word()
            ));
        }
        let most = FREE_ROWS.saturating_add(count.saturating_mul(ROWS_PER_ENTRY));
        if rows.max(cols) > most.min(u32::MAX as usize) {
            return lines.fail(format!(
                "a matrix of {rows} × {cols} with {count} entries is too large"
            ));
        }
        let size_line = lines.number;
        let (mut r, mut c, mut v) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = 0;
        while let Some(line) = lines.content()? {
            if found == count {
                return lines.fail(format!("an entry beyond the {count} of line {size_line}"));
            }
            let (row, col, value) = match entry(line, [rows, cols], symmetry) {
                Ok(entry) => entry,
                Err(reason) => return lines.fail(reason),
            };
            found += 1;
            r.push(row);
            c.push(col);
            v.push(value);
            if row != col && symmetry != Symmetry::General {
                r.push(col);
                c.push(row);
                v.push(if symmetry == Symmetry::Skew {
                    -value
                } else {
                    value
                });
            }
        }
        if found < count {
            return lines.fail(format!(
                "the file ends after {found} entries of the {count} of line {size_line}"
            ));
        }
        let matrix = BlockMatrix::from_triplets(rows, cols, [1, 1], &r, &c, &v)?;
        Ok(MatrixMarket { matrix, symmetry })
    }

    /// Writes every stored entry of `matrix` that `symmetry` doesn't leave out, blocks as their scalars,
    /// with as many digits as give the same numbers again.
    ///
    /// # Errors
    /// If writing fails, a value isn't finite, or the matrix isn't exactly of this symmetry.
    pub fn write<T: Real>(
        matrix: &BlockMatrix<T>,
        symmetry: Symmetry,
        mut out: impl Write,
    ) -> Result<(), MarketError> {
        let scalar = matrix.with_block([1, 1])?.to::<f64>();
        let sign = match symmetry {
            Symmetry::General => 0.0,
            Symmetry::Symmetric => 1.0,
            Symmetry::Skew => -1.0,
        };
        if let Some((row, col, value)) = entries(&scalar).find(|e| !e.2.is_finite()) {
            return Err(MarketError::NonFinite { row, col, value });
        }
        if sign != 0.0 {
            let square = scalar.rows() == scalar.cols();
            let mirrored = |i: usize, j: usize| scalar.get(j, i).map_or(0.0, |v| v[0]);
            if !square || !entries(&scalar).all(|(i, j, v)| v == sign * mirrored(i, j)) {
                return Err(MarketError::NotSymmetric(symmetry.word()));
            }
        }
        let written = |i: usize, j: usize| match symmetry {
            Symmetry::General => true,
            Symmetry::Symmetric => j <= i,
            Symmetry::Skew => j < i,
        };
        let count = entries(&scalar).filter(|&(i, j, _)| written(i, j)).count();
        writeln!(
            out,
            "%%MatrixMarket matrix coordinate real {}",
            symmetry.word()
        )?;
        writeln!(out, "{} {} {count}", scalar.rows(), scalar.cols())?;
        for (i, j, value) in entries(&scalar).filter(|&(i, j, _)| written(i, j)) {
            writeln!(out, "{} {} {value:e}", i + 1, j + 1)?;
        }
        out.flush()?;
        Ok(())
    }
}

/// Row, column and value of every stored scalar.
fn entries(scalar: &BlockMatrix) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
    (0..scalar.rows()).flat_map(move |i| {
        let (columns, values) = scalar.row(i);
        let columns = columns.iter().map(|&j| j as usize);
        columns.zip(values).map(move |(j, &v)| (i, j, v))
    })
}

/// Lines with their numbers.
struct Lines<R> {
    input: R,
    number: usize,
    bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The next line, whatever it holds.
    fn next(&mut self) -> Result<Option<&str>, MarketError> {
        self.bytes.clear();
        self.number += 1;
        if self.input.read_until(b'\n', &mut self.bytes)? == 0 {
            return Ok(None);
        }
        match std::str::from_utf8(&self.bytes) {
            Ok(line) => Ok(Some(line.trim())),
            Err(_) => Err(MarketError::Line {
                line: self.number,
                reason: "the line isn't text (UTF-8)".to_owned(),
            }),
        }
    }

    /// The next line that is neither empty nor a comment.
    fn content(&mut self) -> Result<Option<&str>, MarketError> {
        loop {
            match self.next()? {
                None => return Ok(None),
                Some(line) if line.is_empty() || line.starts_with('%') => {}
                // Asked for again below, since a borrow can't leave a loop.
                Some(_) => break,
            }
        }
        Ok(std::str::from_utf8(&self.bytes).ok().map(str::trim))
    }

    fn fail<T>(&self, reason: String) -> Result<T, MarketError> {
        Err(MarketError::Line {
            line: self.number,
            reason,
        })
    }
}

/// Exactly `N` whole numbers.
fn numbers<const N: usize>(line: &str) -> Result<[usize; N], String> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(N + 1).collect();
    let Ok(words) = <[&str; N]>::try_from(words) else {
        return Err(format!("`{}` doesn't hold {N} whole numbers", shown(line)));
    };
    let mut numbers = [0; N];
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = match word.parse() {
            Ok(number) => number,
            Err(_) => return Err(format!("`{}` isn't a whole number from 0", shown(word))),
        };
    }
    Ok(numbers)
}

/// Row and column from 0, and the value.
fn entry(line: &str, size: [usize; 2], symmetry: Symmetry) -> Result<(u32, u32, f64), String> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(4).collect();
    let [row, col, value] = words[..] else {
        return Err(format!("`{}` isn't `row column value`", shown(line)));
    };
    let index = |what: &str, word: &str, count: usize| match word.parse::<usize>() {
        Ok(k) if (1..=count).contains(&k) => Ok((k - 1) as u32),
        _ => Err(format!("{what} `{}` isn't in 1 to {count}", shown(word))),
    };
    let (row, col) = (index("row", row, size[0])?, index("column", col, size[1])?);
    let value = match value.parse::<f64>() {
        Ok(value) if value.is_finite() => value,
        _ => return Err(format!("`{}` isn't a finite number", shown(value))),
    };
    let wrong = match symmetry {
        Symmetry::General => None,
        Symmetry::Symmetric => (col > row).then_some("above"),
        Symmetry::Skew => (col >= row).then_some("on or above"),
    };
    match wrong {
        None => Ok((row, col, value)),
        Some(place) => Err(format!(
            "entry ({}, {}) lies {place} the diagonal, which a {} file leaves out",
            row + 1,
            col + 1,
            symmetry.word()
        )),
    }
}

/// The beginning of a text, for messages.
fn shown(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
