//! Lanes: sixteen sites side by side, and nodes gathered into them.

use super::{LANES, Node};
use fearless_simd::{Simd, f32x4, f32x16, prelude::*};

/// One number for each site of a block, where a vector load finds it in one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Wide(pub [f32; LANES]);

/// The lanes as a vector register.
#[inline(always)]
pub(super) fn load<S: Simd>(simd: S, lane: &[f32; LANES]) -> f32x16<S> {
    f32x16::load_array_ref(simd, lane)
}

/// One number in all lanes.
#[inline(always)]
pub(super) fn splat<S: Simd>(simd: S, value: f32) -> f32x16<S> {
    f32x16::splat(simd, value)
}

/// 1 / x to rounding, for x from 1e-37 to 1e37: cheaper than a division on x86.
#[inline(always)]
pub(super) fn reciprocal<S: Simd>(simd: S, x: f32x16<S>) -> f32x16<S> {
    #[cfg(target_arch = "x86_64")]
    if simd.level().as_avx2().is_some() {
        // At least 11 bits, then twice as many.
        let guess = simd.approximate_recip_f32x16(x);
        return (splat(simd, 2.0) - x * guess) * guess;
    }
    splat(simd, 1.0) / x
}

/// The numbers.
#[inline(always)]
pub(super) fn array<S: Simd>(value: f32x16<S>) -> [f32; LANES] {
    value.into()
}

/// An array of registers, entry by entry. (A closure would be compiled without the instructions
/// that `dispatch!` selects, unless it happens to be inlined.)
macro_rules! each {
    ($simd:expr, |$i:ident| $value:expr) => {{
        let mut out = [$crate::solve::lanes::splat($simd, 0.0); _];
        for $i in 0..out.len() {
            out[$i] = $value;
        }
        out
    }};
}
pub(super) use each;

/// N registers from N lanes.
#[inline(always)]
pub(super) fn load_all<S: Simd, const N: usize>(
    simd: S,
    lanes: &[[f32; LANES]; N],
) -> [f32x16<S>; N] {
    each!(simd, |i| load(simd, &lanes[i]))
}

/// N registers from N lanes.
#[inline(always)]
pub(super) fn load_wide<S: Simd, const N: usize>(simd: S, lanes: &[Wide; N]) -> [f32x16<S>; N] {
    each!(simd, |i| load(simd, &lanes[i].0))
}

/// N lanes from N registers.
#[inline(always)]
pub(super) fn store_all<S: Simd, const N: usize>(
    out: &mut [[f32; LANES]; N],
    values: &[f32x16<S>; N],
) {
    for i in 0..N {
        out[i] = array(values[i]);
    }
}

/// N lanes from N registers.
#[inline(always)]
pub(super) fn store_wide<S: Simd, const N: usize>(out: &mut [Wide; N], values: &[f32x16<S>; N]) {
    for i in 0..N {
        out[i].0 = array(values[i]);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    fearless_simd::kernel!(
        /// Transposes the 4 × 4 matrices in the quarters of four registers.
        #[inline(always)]
        pub(super) fn transpose(_token: Avx512, rows: [__m512; 4]) -> [__m512; 4] {
            let [a, b, c, d] = rows;
            let low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
            let high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
            let low_2 = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
            let high_2 = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
            [
                _mm512_castpd_ps(_mm512_unpacklo_pd(low, low_2)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(low, low_2)),
                _mm512_castpd_ps(_mm512_unpacklo_pd(high, high_2)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(high, high_2)),
            ]
        }
    );

    fearless_simd::kernel!(
        /// As [`transpose`], in halves of four registers.
        #[inline(always)]
        pub(super) fn transpose_halves(_token: Avx2, rows: [__m256; 4]) -> [__m256; 4] {
            let [a, b, c, d] = rows;
            let low = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
            let high = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
            let low_2 = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
            let high_2 = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
            [
                _mm256_castpd_ps(_mm256_unpacklo_pd(low, low_2)),
                _mm256_castpd_ps(_mm256_unpackhi_pd(low, low_2)),
                _mm256_castpd_ps(_mm256_unpacklo_pd(high, high_2)),
                _mm256_castpd_ps(_mm256_unpackhi_pd(high, high_2)),
            ]
        }
    );
}

/// The transposes of the 4 × 4 matrices in the quarters of four registers.
#[inline(always)]
fn transpose<S: Simd>(simd: S, rows: [f32x16<S>; 4]) -> [f32x16<S>; 4] {
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = simd.level().as_avx512() {
        let rows = rows.map(|row| row.into());
        return x86::transpose(token, rows).map(|row| row.simd_into(simd));
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = simd.level().as_avx2() {
        let halves = rows.map(|row| simd.split_f32x16(row));
        let low = x86::transpose_halves(token, halves.map(|half| half.0.into()));
        let high = x86::transpose_halves(token, halves.map(|half| half.1.into()));
        return std::array::from_fn(|i| {
            simd.combine_f32x8(low[i].simd_into(simd), high[i].simd_into(simd))
        });
    }
    let quarters = rows.map(|row| {
        let (low, high) = simd.split_f32x16(row);
        let ((a, b), (c, d)) = (simd.split_f32x8(low), simd.split_f32x8(high));
        [a, b, c, d]
    });
    let mut out = rows;
    let turned: [[f32x4<S>; 4]; 4] = std::array::from_fn(|quarter| {
        let [a, b, c, d] = quarters.map(|row| row[quarter]);
        let (low, high) = (simd.zip_low_f32x4(a, c), simd.zip_high_f32x4(a, c));
        let (low_2, high_2) = (simd.zip_low_f32x4(b, d), simd.zip_high_f32x4(b, d));
        [
            simd.zip_low_f32x4(low, low_2),
            simd.zip_high_f32x4(low, low_2),
            simd.zip_low_f32x4(high, high_2),
            simd.zip_high_f32x4(high, high_2),
        ]
    });
    for (i, out) in out.iter_mut().enumerate() {
        *out = join(simd, turned.map(|quarter| quarter[i]));
    }
    out
}

/// One register from its quarters.
#[inline(always)]
fn join<S: Simd>(simd: S, quarters: [f32x4<S>; 4]) -> f32x16<S> {
    let [a, b, c, d] = quarters;
    simd.combine_f32x8(simd.combine_f32x4(a, b), simd.combine_f32x4(c, d))
}

/// The components of the nodes of a block's sites.
///
/// # Safety
/// Each column is an index of a node, and nobody writes these nodes meanwhile.
#[inline(always)]
pub(super) unsafe fn gather<S: Simd>(
    simd: S,
    nodes: *const Node,
    columns: &[u32; LANES],
) -> [f32x16<S>; 4] {
    // SAFETY: promised by the caller.
    let node =
        |lane: usize| unsafe { f32x4::load_array_ref(simd, &*nodes.add(columns[lane] as usize)) };
    let mut rows = [f32x16::splat(simd, 0.0); 4];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = join(simd, [node(i), node(i + 4), node(i + 8), node(i + 12)]);
    }
    transpose(simd, rows)
}

/// Writes the components back to the first `used` of the nodes.
///
/// # Safety
/// Each column is an index of a node, and nobody else reads or writes the first `used` meanwhile.
#[inline(always)]
pub(super) unsafe fn scatter<S: Simd>(
    simd: S,
    nodes: *mut Node,
    columns: &[u32; LANES],
    used: usize,
    value: [f32x16<S>; 4],
) {
    let rows = transpose(simd, value);
    for (i, row) in rows.into_iter().enumerate() {
        let (low, high) = simd.split_f32x16(row);
        let ((a, b), (c, d)) = (simd.split_f32x8(low), simd.split_f32x8(high));
        for (quarter, node) in [a, b, c, d].into_iter().enumerate() {
            let lane = 4 * quarter + i;
            if lane < used {
                // SAFETY: promised by the caller.
                unsafe { *nodes.add(columns[lane] as usize) = node.into() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::{Level, dispatch};

    #[inline(always)]
    fn round_trip<S: Simd>(simd: S, used: usize) {
        let nodes: Vec<Node> = (0..20)
            .map(|i| std::array::from_fn(|d| (10 * i + d) as f32))
            .collect();
        let columns = [3, 17, 0, 5, 6, 11, 19, 2, 1, 4, 7, 12, 13, 18, 9, 8];
        // SAFETY: all columns are below 20, and there is one thread.
        let lanes = unsafe { gather(simd, nodes.as_ptr(), &columns) };
        for (d, lane) in lanes.iter().enumerate() {
            let values = array(*lane);
            for (value, &column) in values.iter().zip(&columns) {
                assert_eq!(*value, nodes[column as usize][d]);
            }
        }
        let mut out = vec![[-1.0; 4]; 20];
        // SAFETY: as above.
        unsafe { scatter(simd, out.as_mut_ptr(), &columns, used, lanes) };
        for (node, value) in out.iter().enumerate() {
            let written = columns[..used].contains(&(node as u32));
            assert_eq!(*value, if written { nodes[node] } else { [-1.0; 4] });
        }
    }

    #[test]
    fn gathered_nodes_come_back() {
        for used in 0..=LANES {
            dispatch!(Level::new(), simd => round_trip(simd, used));
            dispatch!(Level::baseline(), simd => round_trip(simd, used));
        }
    }
}
