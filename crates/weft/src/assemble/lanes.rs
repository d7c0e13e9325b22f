//! Lanes: eight elements side by side, the unit of all block arrays.

use fearless_simd::{Simd, f64x8, prelude::*};

/// Elements in a block.
pub(crate) const LANES: usize = 8;

/// One number for each element of a block.
pub(crate) type Lane = [f64; LANES];

/// The lanes as a vector register.
#[inline(always)]
pub(crate) fn load<S: Simd>(simd: S, lane: &Lane) -> f64x8<S> {
    f64x8::load_array_ref(simd, lane)
}

/// One number in all lanes.
#[inline(always)]
pub(crate) fn splat<S: Simd>(simd: S, value: f64) -> f64x8<S> {
    f64x8::splat(simd, value)
}
