//! Sums, diagonals, masks, and other shapes of blocks.

use std::sync::Arc;

use rayon::prelude::*;

use super::{BlockMatrix, Pattern, SparseError, check_length, check_size};
use crate::Real;

/// Compressed sparse rows of scalars: row offsets, columns, values.
pub type Csr<T = f64> = (Vec<usize>, Vec<u32>, Vec<T>);

impl Pattern {
    /// The blocks that are in either pattern.
    ///
    /// # Errors
    /// If the sizes differ.
    pub fn union(&self, other: &Pattern) -> Result<Pattern, SparseError> {
        let size = [self.rows(), self.cols()];
        check_size("the second pattern", [other.rows(), other.cols()], size)?;
        let mut offsets = Vec::with_capacity(self.rows() + 1);
        offsets.push(0);
        let mut columns = Vec::with_capacity(self.entry_count().max(other.entry_count()));
        for row in 0..self.rows() {
            let (mut a, mut b) = (self.row(row), other.row(row));
            while let (Some(&x), Some(&y)) = (a.first(), b.first()) {
                columns.push(x.min(y));
                a = &a[(x <= y) as usize..];
                b = &b[(y <= x) as usize..];
            }
            columns.extend_from_slice(a);
            columns.extend_from_slice(b);
            offsets.push(columns.len());
        }
        Ok(Pattern::trusted(size[0], size[1], offsets, columns))
    }

    /// The blocks for which `keep(row, column)` holds.
    pub fn filtered(&self, mut keep: impl FnMut(usize, usize) -> bool) -> Pattern {
        let mut offsets = Vec::with_capacity(self.rows() + 1);
        offsets.push(0);
        let mut columns = Vec::new();
        for row in 0..self.rows() {
            let kept = self.row(row).iter().filter(|&&c| keep(row, c as usize));
            columns.extend(kept);
            offsets.push(columns.len());
        }
        Pattern::trusted(self.rows(), self.cols(), offsets, columns)
    }
}

impl<T: Real> BlockMatrix<T> {
    /// The identity of `n` blocks of `block` × `block`.
    ///
    /// # Errors
    /// If `n` exceeds the index type.
    pub fn identity(n: usize, block: usize) -> Result<BlockMatrix<T>, SparseError> {
        // The pattern first: it knows the limit.
        let pattern = Arc::new(Pattern::diagonal(n)?);
        let mut matrix = BlockMatrix::zeros(pattern, [block, block]);
        let entries = matrix.values_mut().chunks_exact_mut((block * block).max(1));
        for one in entries.flat_map(|b| b.iter_mut().step_by(block + 1)) {
            *one = T::round(1.0);
        }
        Ok(matrix)
    }

    /// The matrix with these diagonal blocks, one after the other, each row-major.
    ///
    /// # Errors
    /// If `values` isn't a whole number of blocks, or has more than the index type counts.
    pub fn from_block_diagonal(
        block: [usize; 2],
        values: Vec<T>,
    ) -> Result<BlockMatrix<T>, SparseError> {
        let n = values.len() / (block[0] * block[1]).max(1);
        BlockMatrix::new(Arc::new(Pattern::diagonal(n)?), block, values)
    }

    /// Replaces the stored diagonal blocks by those given, each row-major. Allocates nothing.
    ///
    /// # Errors
    /// If there are not as many as block rows, or one isn't stored; nothing is written then.
    pub fn set_block_diagonal(&mut self, blocks: &[T]) -> Result<(), SparseError> {
        let size = self.block()[0] * self.block()[1];
        let n = self.pattern().rows().min(self.pattern().cols());
        check_length("the list of diagonal blocks", blocks.len(), n * size)?;
        let missing = (0..n).find(|&i| self.pattern().position(i, i).is_none());
        if let Some(i) = missing {
            return Err(SparseError::Outside { row: i, col: i });
        }
        for (i, from) in blocks.chunks_exact(size.max(1)).enumerate() {
            if let Some(block) = self.get_mut(i, i) {
                block.copy_from_slice(from);
            }
        }
        Ok(())
    }

    /// `alpha` · `a` + `beta` · `b`, on the union of their patterns (shared if they share one).
    ///
    /// # Errors
    /// If sizes or blocks differ.
    pub fn sum(
        alpha: f64,
        a: &BlockMatrix<T>,
        beta: f64,
        b: &BlockMatrix<T>,
    ) -> Result<BlockMatrix<T>, SparseError> {
        let pattern = if Arc::ptr_eq(a.pattern(), b.pattern()) {
            a.pattern().clone()
        } else {
            Arc::new(a.pattern().union(b.pattern())?)
        };
        let mut sum = BlockMatrix::zeros(pattern, a.block());
        sum.add_scaled(alpha, a)?;
        sum.add_scaled(beta, b)?;
        Ok(sum)
    }

    /// self += `alpha` · `b`. The pattern has to hold every block of `b`'s. Allocates nothing.
    ///
    /// # Errors
    /// If sizes or blocks differ, or a block of `b` isn't in the pattern; nothing is written then.
    pub fn add_scaled(&mut self, alpha: f64, b: &BlockMatrix<T>) -> Result<(), SparseError> {
        self.check_same_size(b)?;
        let alpha = T::round(alpha);
        let here = self.pattern().clone();
        if !Arc::ptr_eq(&here, b.pattern()) {
            let outside = (0..here.rows()).into_par_iter().find_map_first(|row| {
                let mut at = 0;
                let list = here.row(row);
                b.pattern().row(row).iter().find_map(|&c| {
                    at += list[at..].iter().take_while(|&&l| l < c).count();
                    (list.get(at) != Some(&c)).then_some((row, c as usize))
                })
            });
            if let Some((row, col)) = outside {
                return Err(SparseError::Outside { row, col });
            }
        }
        self.for_common(b, |_, to, from| {
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to += alpha * *from);
        });
        Ok(())
    }

    /// Takes the values of `b` where both store a block, and zero where only this matrix does: `b`
    /// seen through the mask of this pattern. Allocates nothing.
    ///
    /// # Errors
    /// If sizes or blocks differ.
    pub fn set_masked(&mut self, b: &BlockMatrix<T>) -> Result<(), SparseError> {
        self.check_same_size(b)?;
        self.fill_zero();
        self.for_common(b, |_, to, from| to.copy_from_slice(from));
        Ok(())
    }

    fn check_same_size(&self, b: &BlockMatrix<T>) -> Result<(), SparseError> {
        check_size("a block of the second matrix", b.block(), self.block())?;
        let (here, there) = (self.pattern(), b.pattern());
        check_size(
            "the second matrix, in blocks,",
            [there.rows(), there.cols()],
            [here.rows(), here.cols()],
        )
    }

    /// Calls `f(row, block here, block there)` for blocks stored in both.
    fn for_common(&mut self, b: &BlockMatrix<T>, f: impl Fn(usize, &mut [T], &[T]) + Sync) {
        let size = self.block()[0] * self.block()[1];
        if size == 0 {
            return;
        }
        self.for_each_row_mut(|row, columns, values| {
            let (others, other_values) = b.row(row);
            let mut k = 0;
            for (&column, block) in columns.iter().zip(values.chunks_exact_mut(size)) {
                k += others[k..].iter().take_while(|&&o| o < column).count();
                if others.get(k) == Some(&column) {
                    f(row, block, &other_values[k * size..(k + 1) * size]);
                }
            }
        });
    }

    /// Multiplies scalar row `i` by `factors[i]`.
    ///
    /// # Errors
    /// If there aren't as many factors as rows.
    pub fn scale_rows(&mut self, factors: &[f64]) -> Result<(), SparseError> {
        check_length("the list of factors", factors.len(), self.rows())?;
        let [r, c] = self.block();
        self.for_each_row_mut(|row, _, values| {
            for (k, v) in values.iter_mut().enumerate() {
                *v *= T::round(factors[row * r + (k / c) % r]);
            }
        });
        Ok(())
    }

    /// Multiplies scalar column `j` by `factors[j]`.
    ///
    /// # Errors
    /// If there aren't as many factors as columns.
    pub fn scale_columns(&mut self, factors: &[f64]) -> Result<(), SparseError> {
        check_length("the list of factors", factors.len(), self.cols())?;
        let [r, c] = self.block();
        self.for_each_row_mut(|_, columns, values| {
            for (k, v) in values.iter_mut().enumerate() {
                *v *= T::round(factors[columns[k / (r * c)] as usize * c + k % c]);
            }
        });
        Ok(())
    }

    /// The blocks for which `keep(row, column, values)` holds.
    pub fn filtered(&self, keep: impl Fn(usize, usize, &[T]) -> bool) -> BlockMatrix<T> {
        let mut values = Vec::new();
        let mut position = 0;
        let pattern = self.pattern().filtered(|row, col| {
            let block = &self.values()[self.value_range(position)];
            position += 1;
            let kept = keep(row, col, block);
            if kept {
                values.extend_from_slice(block);
            }
            kept
        });
        BlockMatrix::trusted(Arc::new(pattern), self.block(), values)
    }

    /// Without the blocks that hold zeros only.
    pub fn without_zeros(&self) -> BlockMatrix<T> {
        self.filtered(|_, _, block| block.iter().any(|v| *v != T::ZERO))
    }

    /// The same matrix in blocks of another shape. Smaller blocks keep every entry that is stored now;
    /// larger ones are filled up with zeros.
    ///
    /// # Errors
    /// If rows or columns can't be divided into such blocks, or become too many.
    pub fn with_block(&self, block: [usize; 2]) -> Result<BlockMatrix<T>, SparseError> {
        if block == self.block() {
            return Ok(self.clone());
        }
        let (rows, cols) = (self.rows(), self.cols());
        let fits = |n: usize, b: usize| b > 0 && n.is_multiple_of(b);
        if !fits(rows, block[0]) || !fits(cols, block[1]) {
            return Err(SparseError::BlockShape { rows, cols, block });
        }
        let [r, c] = self.block();
        let [s, t] = block;
        let (mut offsets, mut columns) = (vec![0], Vec::<u32>::new());
        let count = |what, count: usize| match count > u32::MAX as usize {
            true => Err(SparseError::TooMany { what, count }),
            false => Ok(count),
        };
        let (new_rows, new_cols) = (count("rows", rows / s)?, count("columns", cols / t)?);
        // Block rows of this matrix that a new block row meets: neighbours, so few.
        let met = |row: usize| row * s / r..((row + 1) * s).div_ceil(r);
        for row in 0..new_rows {
            let start = columns.len();
            for old in met(row) {
                for &column in self.pattern().row(old) {
                    let first = column as usize * c;
                    columns.extend((first / t..(first + c).div_ceil(t)).map(|j| j as u32));
                }
            }
            columns[start..].sort_unstable();
            let mut end = start;
            for k in start..columns.len() {
                if k == start || columns[k] != columns[end - 1] {
                    columns[end] = columns[k];
                    end += 1;
                }
            }
            columns.truncate(end);
            offsets.push(end);
        }
        let pattern = Pattern::trusted(new_rows, new_cols, offsets, columns);
        let mut matrix = BlockMatrix::zeros(Arc::new(pattern), block);
        matrix.for_each_row_mut(|row, columns, values| {
            for old in met(row) {
                let (others, other_values) = self.row(old);
                for (&other, from) in others.iter().zip(other_values.chunks_exact((r * c).max(1))) {
                    for a in 0..r {
                        let Some(i) = (old * r + a).checked_sub(row * s).filter(|&i| i < s) else {
                            continue;
                        };
                        let first = other as usize * c;
                        let mut k = columns.partition_point(|&j| (j as usize) < first / t);
                        for b in 0..c {
                            k += (b > 0 && (first + b).is_multiple_of(t)) as usize;
                            values[(k * s + i) * t + (first + b) % t] = from[a * c + b];
                        }
                    }
                }
            }
        });
        Ok(matrix)
    }

    /// A matrix of 1 × 1 blocks from compressed sparse rows. The arrays are taken over, not copied.
    ///
    /// # Errors
    /// As [`Pattern::new`], and if there are not as many values as columns.
    pub fn from_csr(
        rows: usize,
        cols: usize,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<BlockMatrix<T>, SparseError> {
        let pattern = Pattern::new(rows, cols, offsets, columns)?;
        BlockMatrix::new(Arc::new(pattern), [1, 1], values)
    }

    /// The matrix as compressed sparse rows of scalars. Nothing is copied if blocks are 1 × 1 and no other matrix shares the pattern.
    ///
    /// # Errors
    /// If there are more scalar rows or columns than the index type counts.
    pub fn into_csr(self) -> Result<Csr<T>, SparseError> {
        let scalar = if self.block() == [1, 1] {
            self
        } else {
            self.with_block([1, 1])?
        };
        let (pattern, values) = scalar.into_parts();
        let pattern = Arc::try_unwrap(pattern).unwrap_or_else(|shared| (*shared).clone());
        let (offsets, columns) = pattern.into_parts();
        Ok((offsets, columns, values))
    }
}
