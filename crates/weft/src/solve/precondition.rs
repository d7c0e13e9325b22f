//! Preconditioners made from the diagonal of a matrix.
//!
//! Main types: [`Identity`], [`Jacobi`], [`BlockJacobi`]. Each is positive definite whenever the
//! matrix is, so conjugate gradients and MINRES may use it.

use rayon::prelude::*;

use super::error::{SolveError, check_size};
use super::{SymmetricEigen, vector};
use crate::Real;
use crate::sparse::BlockMatrix;

/// An approximate inverse, applied to a residual.
pub trait Preconditioner<T: Real = f64>: Sync {
    /// z = M⁻¹ r; overwrites all of `z`, which is as long as `r`.
    fn apply(&self, r: &[T], z: &mut [T]);
    /// Number of unknowns it is made for, or `None` if any will do.
    fn size(&self) -> Option<usize> {
        None
    }
}

/// No preconditioning: z = r.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<T: Real> Preconditioner<T> for Identity {
    fn apply(&self, r: &[T], z: &mut [T]) {
        vector::over_chunks([z], [r], &|[z], [r]| {
            z.copy_from_slice(r);
            []
        });
    }
}

/// Division by the absolute values of the diagonal.
///
/// Absolute values keep it positive definite for indefinite matrices, as MINRES requires. Where the
/// diagonal is zero the residual passes unchanged.
#[derive(Clone, Debug)]
pub struct Jacobi<T: Real = f64> {
    inverse: Vec<T>,
}

impl<T: Real> Jacobi<T> {
    /// Jacobi preconditioner of a square matrix.
    ///
    /// # Errors
    /// If the matrix isn't square or has a diagonal entry that isn't finite.
    pub fn new(a: &BlockMatrix<T>) -> Result<Jacobi<T>, SolveError> {
        check_square(a)?;
        let mut jacobi = Jacobi {
            inverse: vec![T::round(1.0); a.rows()],
        };
        jacobi.update(a)?;
        Ok(jacobi)
    }

    /// Takes the diagonal of a matrix of the same size, without allocating.
    ///
    /// # Errors
    /// As [`Jacobi::new`], and if the size differs. After one about an entry the preconditioner is part old, part
    /// new.
    pub fn update(&mut self, a: &BlockMatrix<T>) -> Result<(), SolveError> {
        check_square(a)?;
        check_size(
            "the matrix of the Jacobi preconditioner",
            a.rows(),
            self.inverse.len(),
        )?;
        let b = a.block()[0];
        for node in 0..a.pattern().rows() {
            let block = a.get(node, node);
            for i in 0..b {
                let d = block.map_or(0.0, |block| block[i * b + i].widen());
                let index = node * b + i;
                if !d.is_finite() {
                    return Err(SolveError::NonFinite {
                        what: "the diagonal",
                        index,
                        value: d,
                    });
                }
                self.inverse[index] = inverse_size(d);
            }
        }
        Ok(())
    }
}

impl<T: Real> Preconditioner<T> for Jacobi<T> {
    fn apply(&self, r: &[T], z: &mut [T]) {
        vector::over_chunks([z], [r, &self.inverse], &|[z], [r, inverse]| {
            for ((z, r), d) in z.iter_mut().zip(r).zip(inverse) {
                *z = *r * *d;
            }
            []
        });
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverse.len())
    }
}

/// Exact inverses of the diagonal blocks, one block a node.
///
/// A singular block: if symmetric, its null directions are divided by its largest eigenvalue
/// instead; otherwise each of its unknowns is divided by the absolute diagonal (or by 1 where that
/// is 0). Where an inverse is beyond the range of the precision, the residual passes unchanged.
#[derive(Clone, Debug)]
pub struct BlockJacobi<T: Real = f64> {
    block: usize,
    inverses: Vec<T>,
    /// The block, its copy that is eliminated, and the inverse, in `f64`.
    scratch: Vec<f64>,
}

impl<T: Real> BlockJacobi<T> {
    /// Block Jacobi preconditioner of a square matrix with square blocks.
    ///
    /// # Errors
    /// If the matrix or its blocks aren't square, or a diagonal block isn't finite.
    pub fn new(a: &BlockMatrix<T>) -> Result<BlockJacobi<T>, SolveError> {
        check_square(a)?;
        let block = a.block()[0];
        let mut this = BlockJacobi {
            block,
            inverses: vec![T::ZERO; a.rows() * block],
            scratch: vec![0.0; 3 * block * block],
        };
        this.update(a)?;
        Ok(this)
    }

    /// Inverts the diagonal blocks of a matrix of the same size; allocates for singular blocks only.
    ///
    /// # Errors
    /// As [`BlockJacobi::new`], and if the size differs. After one about an entry the preconditioner is part old,
    /// part new.
    pub fn update(&mut self, a: &BlockMatrix<T>) -> Result<(), SolveError> {
        check_square(a)?;
        let b = self.block;
        check_size(
            "the block of the block Jacobi preconditioner",
            a.block()[0],
            b,
        )?;
        check_size(
            "the matrix of the preconditioner",
            a.rows() * b,
            self.inverses.len(),
        )?;
        for node in 0..a.pattern().rows() {
            let (block, rest) = self.scratch.split_at_mut(b * b);
            let (copy, inverse) = rest.split_at_mut(b * b);
            match a.get(node, node) {
                Some(from) => widen_into(from, block),
                None => identity(b, block),
            }
            if let Some(k) = block.iter().position(|v| !v.is_finite()) {
                let index = node * b + k / b;
                return Err(SolveError::NonFinite {
                    what: "a diagonal block",
                    index,
                    value: block[k],
                });
            }
            let finite = |m: &[f64]| m.iter().all(|v| T::round(*v).widen().is_finite());
            if !invert(b, block, inverse, copy, 1e-14 * T::COARSENESS) || !finite(inverse) {
                invert_singular(b, block, inverse, 1e-12 * T::COARSENESS);
            }
            if !finite(inverse) {
                identity(b, inverse);
            }
            let to = &mut self.inverses[node * b * b..(node + 1) * b * b];
            for (to, from) in to.iter_mut().zip(&*inverse) {
                *to = T::round(*from);
            }
        }
        Ok(())
    }

    /// The inverses one after the other, each row-major.
    pub(super) fn into_inverses(self) -> Vec<T> {
        self.inverses
    }
}

impl<T: Real> Preconditioner<T> for BlockJacobi<T> {
    fn apply(&self, r: &[T], z: &mut [T]) {
        match self.block {
            0 => {}
            1 => {
                vector::over_chunks([z], [r, &self.inverses], &|[z], [r, inverse]| {
                    for ((z, r), d) in z.iter_mut().zip(r).zip(inverse) {
                        *z = *r * *d;
                    }
                    []
                });
            }
            2 => apply_blocks::<T, 2>(&self.inverses, r, z),
            3 => apply_blocks::<T, 3>(&self.inverses, r, z),
            b => {
                for (node, z) in z.chunks_exact_mut(b).enumerate() {
                    let r = &r[node * b..(node + 1) * b];
                    let rows = self.inverses[node * b * b..(node + 1) * b * b].chunks_exact(b);
                    for (z, row) in z.iter_mut().zip(rows) {
                        *z = row.iter().zip(r).map(|(m, r)| *m * *r).sum();
                    }
                }
            }
        }
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverses.len() / self.block.max(1))
    }
}

/// Nodes of one parallel task of a block preconditioner.
const TASK_NODES: usize = 4096;

fn apply_blocks<T: Real, const B: usize>(inverses: &[T], r: &[T], z: &mut [T]) {
    let inverses = inverses.as_chunks::<B>().0.as_chunks::<B>().0;
    let r = r.as_chunks::<B>().0;
    let z = z.as_chunks_mut::<B>().0;
    if z.len() <= TASK_NODES {
        multiply_blocks(inverses, r, z);
        return;
    }
    z.par_chunks_mut(TASK_NODES)
        .zip(r.par_chunks(TASK_NODES))
        .zip(inverses.par_chunks(TASK_NODES))
        .for_each(|((z, r), inverses)| multiply_blocks(inverses, r, z));
}

fn multiply_blocks<T: Real, const B: usize>(
    inverses: &[[[T; B]; B]],
    r: &[[T; B]],
    z: &mut [[T; B]],
) {
    for ((z, r), inverse) in z.iter_mut().zip(r).zip(inverses) {
        *z = std::array::from_fn(|i| (0..B).map(|j| inverse[i][j] * r[j]).sum());
    }
}

pub(super) fn check_square<T: Real>(a: &BlockMatrix<T>) -> Result<(), SolveError> {
    let [r, c] = a.block();
    if r != c || a.rows() != a.cols() {
        return Err(SolveError::NotSquare {
            rows: a.rows(),
            cols: a.cols(),
        });
    }
    Ok(())
}

/// 1 over |d|, or 1 where that isn't finite.
fn inverse_size<T: Real>(d: f64) -> T {
    let inverse = T::round(1.0 / d.abs());
    if inverse.widen().is_finite() {
        inverse
    } else {
        T::round(1.0)
    }
}

fn widen_into<T: Real>(from: &[T], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.widen();
    }
}

fn identity(b: usize, m: &mut [f64]) {
    m.fill(0.0);
    for i in 0..b {
        m[i * b + i] = 1.0;
    }
}

/// Gauss–Jordan with row pivoting; false if a pivot is negligible against its row's size.
fn invert(b: usize, a: &[f64], inverse: &mut [f64], m: &mut [f64], rounding: f64) -> bool {
    m.copy_from_slice(a);
    identity(b, inverse);
    let size = a.iter().fold(0.0, |s: f64, v| s.max(v.abs()));
    let negligible = rounding * size;
    for k in 0..b {
        let mut pivot = k;
        for i in k + 1..b {
            if m[i * b + k].abs() > m[pivot * b + k].abs() {
                pivot = i;
            }
        }
        let p = m[pivot * b + k];
        if p.abs() <= negligible || !(1.0 / p).is_finite() {
            return false;
        }
        for j in 0..b {
            m.swap(k * b + j, pivot * b + j);
            inverse.swap(k * b + j, pivot * b + j);
        }
        for j in 0..b {
            m[k * b + j] /= p;
            inverse[k * b + j] /= p;
        }
        for i in 0..b {
            let factor = m[i * b + k];
            if i == k || factor == 0.0 {
                continue;
            }
            for j in 0..b {
                m[i * b + j] -= factor * m[k * b + j];
                inverse[i * b + j] -= factor * inverse[k * b + j];
            }
        }
    }
    true
}

fn invert_singular(b: usize, a: &[f64], inverse: &mut [f64], rounding: f64) {
    let size = a.iter().fold(0.0, |s: f64, v| s.max(v.abs()));
    let symmetric =
        (0..b).all(|i| (0..i).all(|j| (a[i * b + j] - a[j * b + i]).abs() <= rounding * size));
    inverse.fill(0.0);
    if symmetric && size > 0.0 {
        let eigen = SymmetricEigen::new(b, a);
        let largest = eigen.values().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        for (k, &value) in eigen.values().iter().enumerate() {
            let divisor = if value.abs() > rounding * largest {
                value
            } else {
                largest
            };
            let q = eigen.vector(k);
            for i in 0..b {
                for j in 0..b {
                    inverse[i * b + j] += q[i] * q[j] / divisor;
                }
            }
        }
        return;
    }
    for i in 0..b {
        inverse[i * b + i] = inverse_size(a[i * b + i]);
    }
}
