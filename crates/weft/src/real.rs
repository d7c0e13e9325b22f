//! [`Real`]: the two precisions that matrices, vectors and solvers come in.

use crate::memory::Pod;
use std::fmt::{Display, LowerExp};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// `f64` or `f32`: what the values of a [`BlockMatrix`](crate::sparse::BlockMatrix) and the vectors of a
/// [`Krylov`](crate::solve::Krylov) solve are stored in.
///
/// Geometry, forms and fields are evaluated in `f64`; an assembly rounds its sums once when the matrix is
/// of `f32`. Tolerances, inner products and norms are `f64` in either precision; factors are given in `f64`
/// and rounded before they multiply. A matrix of one precision and a vector of the other don't compile:
///
/// ```compile_fail,E0308
/// # use weft::sparse::BlockMatrix;
/// let a = BlockMatrix::<f32>::identity(3, 1).unwrap();
/// let mut y = vec![0.0f32; 3];
/// a.multiply(&vec![1.0f64; 3], &mut y).unwrap();
/// ```
///
/// [`BlockMatrix::to`](crate::sparse::BlockMatrix::to) rounds a matrix.
///
/// ```
/// # use weft::sparse::BlockMatrix;
/// let a: BlockMatrix = BlockMatrix::identity(3, 1).unwrap();
/// let mut y = vec![0.0f32; 3];
/// a.to::<f32>().multiply(&[1.0; 3], &mut y).unwrap();
/// assert_eq!(y, [1.0f32; 3]);
/// ```
pub trait Real:
    Pod
    + PartialOrd
    + Default
    + Display
    + LowerExp
    + Sum
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// Distance from 1 to the next larger number.
    const EPSILON: f64;
    /// [`EPSILON`](Self::EPSILON) over that of `f64`.
    const COARSENESS: f64 = Self::EPSILON / f64::EPSILON;

    /// Norm of a vector below which inner products of its like, or their entries, underflow.
    const SMALL: f64;

    /// The nearest number of this precision.
    fn round(x: f64) -> Self;
    /// The number itself.
    fn widen(self) -> f64;
    /// The array itself, if it is of `f64`.
    fn doubles(values: &mut [Self]) -> Option<&mut [f64]>;
}

impl Real for f64 {
    const EPSILON: f64 = f64::EPSILON;
    const SMALL: f64 = 1e-140;

    #[inline(always)]
    fn round(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }

    fn doubles(values: &mut [f64]) -> Option<&mut [f64]> {
        Some(values)
    }
}

impl Real for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    const SMALL: f64 = 1e-28;

    #[inline(always)]
    fn round(x: f64) -> f32 {
        x as f32
    }

    #[inline(always)]
    fn widen(self) -> f64 {
        self.into()
    }

    fn doubles(_: &mut [f32]) -> Option<&mut [f64]> {
        None
    }
}
