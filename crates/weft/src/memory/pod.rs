//! [`Pod`]: the element types a buffer may have.
//!
//! Invariant: every bit pattern of the type's size is a value, and no byte of a value is padding.
//! Memory once written stays initialised whatever type it served before, so a block can be reused
//! without clearing it.

use std::fmt::Debug;

/// Plain numbers and arrays of them: what a [`Buffer`](super::Buffer) can hold.
///
/// The trait is sealed; its safety rests on the list below.
pub trait Pod: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// The value whose bytes are all zero.
    const ZERO: Self;
}

mod sealed {
    /// # Safety
    /// Implementors have no padding, accept every bit pattern, hold no pointer, and need at most
    /// the alignment of a block.
    pub unsafe trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty: $zero:literal),*) => {$(
        // SAFETY: a primitive number.
        unsafe impl sealed::Sealed for $number {}
        impl Pod for $number {
            const ZERO: Self = $zero;
        }
    )*};
}

numbers!(f32: 0.0, f64: 0.0, u8: 0, u16: 0, u32: 0, u64: 0, usize: 0, i32: 0, i64: 0);

// SAFETY: an array is its elements side by side, without padding.
unsafe impl<T: Pod, const N: usize> sealed::Sealed for [T; N] {}
impl<T: Pod, const N: usize> Pod for [T; N] {
    const ZERO: Self = [T::ZERO; N];
}
