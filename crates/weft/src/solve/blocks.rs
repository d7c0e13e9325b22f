//! Systems made of blocks, such as [A Bᵀ; B 0]: one operator over matrices that stay where they are.
//!
//! - [`BlockSystem`]: the operator, its matrix if one is wanted, and its constants that give zero;
//! - [`Nullspace`]: these constants, taken out of right-hand sides and solutions;
//! - [`BlockDiagonal`], [`BlockTriangular`], [`Scaled`]: preconditioners put together from those of the
//!   blocks (Benzi, Golub & Liesen 2005, §10.1);
//! - [`schur_by_diagonal`]: B diag(A)⁻¹ Bᵀ, to make one of them for the second block.
//!
//! Unknowns are numbered block by block. Invariant: a system has as many blocks along as down, block (i, i)
//! is square, and all sizes fit.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::{SolveError, check_size};
use super::operator::LinearOperator;
use super::precondition::Preconditioner;
use super::vector;
use crate::Real;
use crate::sparse::{BlockMatrix, Pattern, ProductPlan};

/// One block of a [`BlockSystem`].
#[derive(Clone, Copy)]
pub enum Block<'a, T: Real = f64> {
    /// Nothing.
    Zero,
    /// A matrix.
    Matrix(&'a BlockMatrix<T>),
    /// A matrix, read as its transpose.
    Transposed(&'a BlockMatrix<T>),
    /// Any other linear map.
    Operator(&'a dyn LinearOperator<T>),
}

impl<T: Real> Block<'_, T> {
    fn size(&self) -> Option<[usize; 2]> {
        match self {
            Block::Zero => None,
            Block::Matrix(m) => Some([m.rows(), m.cols()]),
            Block::Transposed(m) => Some([m.cols(), m.rows()]),
            Block::Operator(m) => Some([m.rows(), m.cols()]),
        }
    }

    /// Unknowns of a node among the columns.
    fn components(&self) -> Option<usize> {
        match self {
            Block::Matrix(m) => Some(m.block()[1]),
            Block::Transposed(m) => Some(m.block()[0]),
            Block::Zero | Block::Operator(_) => None,
        }
    }
}

/// A square system of n × n blocks, as one operator. Nothing is copied.
pub struct BlockSystem<'a, T: Real = f64> {
    /// Row by row.
    blocks: Vec<Block<'a, T>>,
    /// Where the unknowns of each block start, and the end.
    starts: Vec<usize>,
}

impl<'a, T: Real> BlockSystem<'a, T> {
    /// The system of these blocks, row by row: 1, 4, 9 … of them.
    ///
    /// # Errors
    /// If their number isn't a square, sizes don't fit, a diagonal block isn't square, or a row and column
    /// hold nothing that tells their size.
    pub fn new(blocks: Vec<Block<'a, T>>) -> Result<BlockSystem<'a, T>, SolveError> {
        let n = blocks.len().isqrt();
        check_size("the list of blocks", blocks.len(), n * n)?;
        let mut starts = vec![0];
        for i in 0..n {
            let in_row = (0..n).filter_map(|j| blocks[i * n + j].size().map(|s| s[0]));
            let in_column = (0..n).filter_map(|j| blocks[j * n + i].size().map(|s| s[1]));
            let mut sizes = in_row.chain(in_column);
            let Some(size) = sizes.next() else {
                return Err(SolveError::Singular {
                    reason: format!("row and column {i} of its blocks hold nothing"),
                });
            };
            for other in sizes {
                check_size("a block of the system", other, size)?;
            }
            starts.push(starts[i] + size);
        }
        Ok(BlockSystem { blocks, starts })
    }

    /// The saddle point [A Bᵀ; B 0].
    ///
    /// # Errors
    /// If A isn't square or B hasn't as many columns.
    pub fn saddle(
        a: &'a BlockMatrix<T>,
        b: &'a BlockMatrix<T>,
    ) -> Result<BlockSystem<'a, T>, SolveError> {
        BlockSystem::new(vec![
            Block::Matrix(a),
            Block::Transposed(b),
            Block::Matrix(b),
            Block::Zero,
        ])
    }

    /// Number of blocks along and down.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of unknowns.
    pub fn size(&self) -> usize {
        self.starts[self.count()]
    }

    /// Where the unknowns of block `i` lie.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn range(&self, i: usize) -> Range<usize> {
        self.starts[i]..self.starts[i + 1]
    }

    fn block(&self, i: usize, j: usize) -> Block<'a, T> {
        self.blocks[i * self.count() + j]
    }

    /// y_i = `alpha` Σ_j A_ij x_j + `beta` y_i over the columns `js`.
    fn row(&self, i: usize, js: Range<usize>, alpha: f64, x: &[T], beta: f64, y: &mut [T]) {
        let mut beta = beta;
        for j in js {
            let x = &x[self.range(j)];
            // Sizes were checked when the system was made.
            let fits = match self.block(i, j) {
                Block::Zero => continue,
                Block::Matrix(m) => m.multiply_add(alpha, x, beta, y).is_ok(),
                Block::Transposed(m) => m.multiply_transposed(alpha, x, beta, y).is_ok(),
                Block::Operator(m) => {
                    m.apply_add(alpha, x, beta, y);
                    true
                }
            };
            debug_assert!(fits);
            beta = 1.0;
        }
        if beta == 0.0 {
            y.fill(T::ZERO);
        } else if beta != 1.0 {
            vector::scale(beta, y);
        }
    }

    /// All blocks as one matrix of 1 × 1 blocks, for a direct solver. Every diagonal entry is stored.
    ///
    /// # Errors
    /// If a block is an operator, whose entries aren't known, or there are too many unknowns.
    pub fn monolithic(&self) -> Result<BlockMatrix<T>, SolveError> {
        let n = self.count();
        let mut scalars = Vec::with_capacity(n * n);
        for block in &self.blocks {
            scalars.push(match block {
                Block::Zero => None,
                Block::Matrix(m) => Some(m.with_block([1, 1])?),
                Block::Transposed(m) => Some(m.transpose().with_block([1, 1])?),
                Block::Operator(_) => {
                    return Err(SolveError::Unassembled);
                }
            });
        }
        let size = self.size();
        let mut offsets = vec![0];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for i in 0..n {
            for row in 0..self.range(i).len() {
                for j in 0..n {
                    let start = self.starts[j];
                    let (theirs, numbers) = match &scalars[i * n + j] {
                        Some(m) => m.row(row),
                        None => (&[][..], &[][..]),
                    };
                    let missing = i == j && theirs.binary_search(&(row as u32)).is_err();
                    let before = match missing {
                        true => theirs.partition_point(|&c| (c as usize) < row),
                        false => theirs.len(),
                    };
                    columns.extend(theirs[..before].iter().map(|&c| c as usize + start));
                    values.extend_from_slice(&numbers[..before]);
                    if missing {
                        columns.push(row + start);
                        values.push(T::ZERO);
                    }
                    columns.extend(theirs[before..].iter().map(|&c| c as usize + start));
                    values.extend_from_slice(&numbers[before..]);
                }
                offsets.push(columns.len());
            }
        }
        if size > u32::MAX as usize {
            let (what, count) = ("rows", size);
            return Err(crate::sparse::SparseError::TooMany { what, count }.into());
        }
        let columns = columns.into_iter().map(|c| c as u32).collect();
        let pattern = Pattern::trusted(size, size, offsets, columns);
        Ok(BlockMatrix::new(Arc::new(pattern), [1, 1], values)?)
    }

    /// The constants that the system and its transpose map to zero: of each block and each component of
    /// its nodes the vector of ones, such as the pressure of an enclosed flow. An entry of the image counts as
    /// zero if it is below 1e-12 (1.2e-5 in `f32`) of what the absolute values of its row give, or if these are rounding
    /// themselves: below 8 ε of what a column that the row meets gives. Blocks that meet an operator are not looked at.
    pub fn constants(&self) -> Nullspace {
        let mut null = Nullspace {
            size: self.size(),
            vectors: Vec::new(),
        };
        for j in 0..self.count() {
            let column = || (0..self.count()).map(move |i| self.block(i, j));
            let row = || (0..self.count()).map(move |i| self.block(j, i));
            let known = |b: Block<T>| !matches!(b, Block::Operator(_));
            let Some(components) = column().find_map(|b| b.components()) else {
                continue;
            };
            if !column().chain(row()).all(known) {
                continue;
            }
            let flipped = |b: Block<'a, T>| match b {
                Block::Matrix(m) => Block::Transposed(m),
                Block::Transposed(m) => Block::Matrix(m),
                other => other,
            };
            for component in 0..components {
                let zero = |b: Block<T>| maps_to_zero(b, component, components);
                if column().all(zero) && row().map(flipped).all(zero) {
                    let indices = self.range(j).skip(component).step_by(components);
                    null.vectors.push(Constant {
                        block: j,
                        component,
                        indices: indices.map(|k| k as u32).collect(),
                    });
                }
            }
        }
        null
    }
}

/// Whether a block maps the vector with ones in one component to zero, up to rounding.
fn maps_to_zero<T: Real>(block: Block<T>, component: usize, components: usize) -> bool {
    let (m, transposed) = match block {
        Block::Zero => return true,
        Block::Operator(_) => return false,
        Block::Matrix(m) => (m, false),
        Block::Transposed(m) => (m, true),
    };
    let [r, c] = m.block();
    if (if transposed { r } else { c }) != components {
        return false;
    }
    // Row, node of the column, and entry of the block that is asked about, for its one component.
    let visit = |f: &mut dyn FnMut(usize, usize, f64)| {
        for row in 0..m.pattern().rows() {
            let (columns, values) = m.row(row);
            for (&column, block) in columns.iter().zip(values.chunks_exact((r * c).max(1))) {
                let column = column as usize;
                if transposed {
                    let entries = &block[component * c..(component + 1) * c];
                    (0..c).for_each(|j| f(column * c + j, row, entries[j].widen()));
                } else {
                    (0..r).for_each(|i| f(row * r + i, column, block[i * c + component].widen()));
                }
            }
        }
    };
    let (rows, nodes) = match transposed {
        true => (m.cols(), m.pattern().rows()),
        false => (m.rows(), m.pattern().cols()),
    };
    let (mut sums, mut sizes, mut largest) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]);
    let mut columns = vec![0.0; nodes];
    visit(&mut |row, column, v| {
        sums[row] += v;
        sizes[row] += v.abs();
        columns[column] += v.abs();
    });
    visit(&mut |row, column, v| {
        if v != 0.0 {
            largest[row] = f64::max(largest[row], columns[column]);
        }
    });
    let rounding = f64::max(1e-12, 100.0 * T::EPSILON);
    // NaN isn't zero.
    (0..rows).all(|row| {
        let (sum, size): (f64, f64) = (sums[row], sizes[row]);
        sum.abs() <= rounding * size || size <= 8.0 * T::EPSILON * largest[row]
    })
}

impl<T: Real> LinearOperator<T> for BlockSystem<'_, T> {
    fn rows(&self) -> usize {
        self.size()
    }

    fn cols(&self) -> usize {
        self.size()
    }

    fn apply(&self, x: &[T], y: &mut [T]) {
        for i in 0..self.count() {
            self.row(i, 0..self.count(), 1.0, x, 0.0, &mut y[self.range(i)]);
        }
    }
}

/// Ones in one component of one block.
#[derive(Clone, Debug, PartialEq)]
struct Constant {
    block: usize,
    component: usize,
    indices: Vec<u32>,
}

/// Constants that a [`BlockSystem`] and its transpose map to zero. A system with such a null space has a
/// solution only for right-hand sides orthogonal to it, and then any number of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Nullspace {
    size: usize,
    vectors: Vec<Constant>,
}

impl Nullspace {
    /// Number of constants.
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Block and component of each constant.
    pub fn constants(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.vectors.iter().map(|v| (v.block, v.component))
    }

    /// Takes the constants out: each component of a solution gets mean zero over its nodes, and a right-hand
    /// side one that has a solution. Returns the part taken out, |P v| / |v| (0 if v = 0).
    ///
    /// # Errors
    /// If `v` has the wrong length.
    pub fn project<T: Real>(&self, v: &mut [T]) -> Result<f64, SolveError> {
        check_size("the vector to project", v.len(), self.size)?;
        let whole = vector::norm(v);
        let mut square = 0.0;
        for constant in &self.vectors {
            let count = constant.indices.len() as f64;
            let sum: f64 = constant
                .indices
                .iter()
                .map(|&k| v[k as usize].widen())
                .sum();
            let mean = sum / count.max(1.0);
            for &k in &constant.indices {
                let v = &mut v[k as usize];
                *v = T::round(v.widen() - mean);
            }
            square += mean * mean * count;
        }
        Ok(if whole > 0.0 {
            square.sqrt() / whole
        } else {
            0.0
        })
    }

    /// Fixes the first unknown of each constant at zero: row and column become those of the identity, times
    /// the largest entry of the matrix. The solution of a projected right-hand side, with zero in these
    /// unknowns, then is one of the singular system.
    ///
    /// # Errors
    /// If the matrix isn't the [monolithic](BlockSystem::monolithic) one of such a system.
    pub fn pin<T: Real>(&self, matrix: &mut BlockMatrix<T>) -> Result<(), SolveError> {
        check_size("the matrix to pin", matrix.rows(), self.size)?;
        check_size("the block of the matrix to pin", matrix.block()[0], 1)?;
        let pins = self.pins();
        let size = match matrix.max_abs() {
            size if size > 0.0 => size,
            _ => 1.0,
        };
        for &pin in &pins {
            if matrix.pattern().position(pin, pin).is_none() {
                return Err(SolveError::Constraint {
                    node: pin,
                    reason: "the matrix has no diagonal entry there".to_owned(),
                });
            }
        }
        matrix.for_each_row_mut(|row, columns, values| {
            let whole = pins.contains(&row);
            for (&column, v) in columns.iter().zip(values) {
                let column = column as usize;
                if whole || pins.contains(&column) {
                    *v = T::round(if column == row { size } else { 0.0 });
                }
            }
        });
        Ok(())
    }

    /// Sets the pinned unknowns of a right-hand side to zero.
    ///
    /// # Errors
    /// If `b` has the wrong length.
    pub fn pin_rhs<T: Real>(&self, b: &mut [T]) -> Result<(), SolveError> {
        check_size("the right-hand side to pin", b.len(), self.size)?;
        self.pins().into_iter().for_each(|k| b[k] = T::ZERO);
        Ok(())
    }

    fn pins(&self) -> Vec<usize> {
        let first = |v: &Constant| v.indices.first().map(|&k| k as usize);
        self.vectors.iter().filter_map(first).collect()
    }
}

/// A preconditioner times a number, which may be negative: for the second block of a triangular one.
pub struct Scaled<'a, T: Real = f64> {
    /// The number.
    pub factor: f64,
    /// The preconditioner.
    pub inner: &'a dyn Preconditioner<T>,
}

impl<T: Real> Preconditioner<T> for Scaled<'_, T> {
    fn apply(&self, r: &[T], z: &mut [T]) {
        self.inner.apply(r, z);
        vector::scale(self.factor, z);
    }

    fn size(&self) -> Option<usize> {
        self.inner.size()
    }
}

/// Preconditioners of the blocks side by side: positive definite if they are, so fit for MINRES.
pub struct BlockDiagonal<'a, T: Real = f64> {
    parts: Vec<&'a dyn Preconditioner<T>>,
    starts: Vec<usize>,
}

impl<'a, T: Real> BlockDiagonal<'a, T> {
    /// One preconditioner for each block of `system`.
    ///
    /// # Errors
    /// If their number or a size differs.
    pub fn new(
        system: &BlockSystem<T>,
        parts: Vec<&'a dyn Preconditioner<T>>,
    ) -> Result<BlockDiagonal<'a, T>, SolveError> {
        check_parts(system, &parts)?;
        let starts = system.starts.clone();
        Ok(BlockDiagonal { parts, starts })
    }
}

impl<T: Real> Preconditioner<T> for BlockDiagonal<'_, T> {
    fn apply(&self, r: &[T], z: &mut [T]) {
        for (part, ends) in self.parts.iter().zip(self.starts.windows(2)) {
            let range = ends[0]..ends[1];
            part.apply(&r[range.clone()], &mut z[range]);
        }
    }

    fn size(&self) -> Option<usize> {
        self.starts.last().copied()
    }
}

/// Back substitution through the blocks above the diagonal: z_i = M_i⁻¹ (r_i − Σ_{j>i} A_ij z_j). For
/// [A Bᵀ; B 0] and GMRES, with an approximation of A for M_1 and of −B A⁻¹ Bᵀ, negative, for M_2: exact
/// ones would end it after two iterations (Murphy, Golub & Wathen 2000).
pub struct BlockTriangular<'a, T: Real = f64> {
    system: &'a BlockSystem<'a, T>,
    parts: Vec<&'a dyn Preconditioner<T>>,
    /// Right-hand side of a block.
    scratch: Mutex<Vec<T>>,
}

impl<'a, T: Real> BlockTriangular<'a, T> {
    /// One preconditioner for each diagonal block of `system`.
    ///
    /// # Errors
    /// If their number or a size differs.
    pub fn new(
        system: &'a BlockSystem<'a, T>,
        parts: Vec<&'a dyn Preconditioner<T>>,
    ) -> Result<BlockTriangular<'a, T>, SolveError> {
        check_parts(system, &parts)?;
        let scratch = Mutex::new(vec![T::ZERO; system.size()]);
        Ok(BlockTriangular {
            system,
            parts,
            scratch,
        })
    }
}

impl<T: Real> Preconditioner<T> for BlockTriangular<'_, T> {
    fn apply(&self, r: &[T], z: &mut [T]) {
        // A poisoned lock is harmless: nothing is kept from one use to the next.
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let n = self.system.count();
        scratch.copy_from_slice(r);
        for i in (0..n).rev() {
            let range = self.system.range(i);
            let rest = &mut scratch[range.clone()];
            self.system.row(i, i + 1..n, -1.0, z, 1.0, rest);
            self.parts[i].apply(rest, &mut z[range]);
        }
    }

    fn size(&self) -> Option<usize> {
        Some(self.system.size())
    }
}

fn check_parts<T: Real>(
    system: &BlockSystem<T>,
    parts: &[&dyn Preconditioner<T>],
) -> Result<(), SolveError> {
    check_size(
        "the list of the blocks' preconditioners",
        parts.len(),
        system.count(),
    )?;
    for (i, part) in parts.iter().enumerate() {
        if let Some(size) = part.size() {
            check_size("the preconditioner of a block", size, system.range(i).len())?;
        }
    }
    Ok(())
}

/// B diag(A)⁻¹ Bᵀ: the Schur complement with the diagonal in place of A.
///
/// # Errors
/// If sizes don't fit, or the diagonal of A has an entry whose inverse isn't finite in this precision.
pub fn schur_by_diagonal<T: Real>(
    a: &BlockMatrix<T>,
    b: &BlockMatrix<T>,
) -> Result<BlockMatrix<T>, SolveError> {
    if a.rows() != a.cols() {
        let (rows, cols) = (a.rows(), a.cols());
        return Err(SolveError::NotSquare { rows, cols });
    }
    let inverse: Vec<f64> = a.diagonal().iter().map(|d| 1.0 / d.widen()).collect();
    let finite = |v: &f64| T::round(*v).widen().is_finite();
    if let Some(index) = inverse.iter().position(|v| !finite(v)) {
        return Err(SolveError::NonFinite {
            what: "the inverse diagonal",
            index,
            value: inverse[index],
        });
    }
    let mut scaled = b.clone();
    scaled.scale_columns(&inverse)?;
    let transposed = b.transpose();
    let plan = ProductPlan::new(b.pattern(), transposed.pattern())?;
    let [r, _] = b.block();
    let mut schur = BlockMatrix::zeros(plan.pattern().clone(), [r, r]);
    plan.multiply(&scaled, &transposed, &mut schur)?;
    Ok(schur)
}
