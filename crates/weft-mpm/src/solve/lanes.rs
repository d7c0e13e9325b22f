//! Lanes: eight sites side by side, and nodes gathered into them.

use super::{LANES, Node};
use fearless_simd::{Simd, f32x4, f32x8, prelude::*};

/// One number for each site of a block, where a vector load finds it in one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub(super) struct Wide(pub [f32; LANES]);

/// The lanes as a vector register.
#[inline(always)]
pub(super) fn load<S: Simd>(simd: S, lane: &[f32; LANES]) -> f32x8<S> {
    f32x8::load_array_ref(simd, lane)
}

/// One number in all lanes.
#[inline(always)]
pub(super) fn splat<S: Simd>(simd: S, value: f32) -> f32x8<S> {
    f32x8::splat(simd, value)
}

/// The eight numbers.
#[inline(always)]
pub(super) fn array<S: Simd>(value: f32x8<S>) -> [f32; LANES] {
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
) -> [f32x8<S>; N] {
    each!(simd, |i| load(simd, &lanes[i]))
}

/// N registers from N lanes.
#[inline(always)]
pub(super) fn load_wide<S: Simd, const N: usize>(simd: S, lanes: &[Wide; N]) -> [f32x8<S>; N] {
    each!(simd, |i| load(simd, &lanes[i].0))
}

/// N lanes from N registers.
#[inline(always)]
pub(super) fn store_all<S: Simd, const N: usize>(
    out: &mut [[f32; LANES]; N],
    values: &[f32x8<S>; N],
) {
    for i in 0..N {
        out[i] = array(values[i]);
    }
}

/// N lanes from N registers.
#[inline(always)]
pub(super) fn store_wide<S: Simd, const N: usize>(out: &mut [Wide; N], values: &[f32x8<S>; N]) {
    for i in 0..N {
        out[i].0 = array(values[i]);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    fearless_simd::kernel!(
        /// Transposes the 4 × 4 matrices in the halves of four registers.
        #[inline(always)]
        pub(super) fn transpose(_token: Avx2, rows: [__m256; 4]) -> [__m256; 4] {
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

/// The components of eight nodes.
///
/// # Safety
/// Each column is an index of a node, and nobody writes these nodes meanwhile.
#[inline(always)]
pub(super) unsafe fn gather<S: Simd>(
    simd: S,
    nodes: *const Node,
    columns: &[u32; LANES],
) -> [f32x8<S>; 4] {
    let mut node = [f32x4::splat(simd, 0.0); LANES];
    for lane in 0..LANES {
        // SAFETY: promised by the caller.
        node[lane] = f32x4::load_array_ref(simd, unsafe { &*nodes.add(columns[lane] as usize) });
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = simd.level().as_avx2() {
        let [x, y, z, w] = x86::transpose(
            token,
            [
                simd.combine_f32x4(node[0], node[4]).into(),
                simd.combine_f32x4(node[1], node[5]).into(),
                simd.combine_f32x4(node[2], node[6]).into(),
                simd.combine_f32x4(node[3], node[7]).into(),
            ],
        );
        return [
            x.simd_into(simd),
            y.simd_into(simd),
            z.simd_into(simd),
            w.simd_into(simd),
        ];
    }
    let a = simd.combine_f32x4(node[0], node[1]);
    let b = simd.combine_f32x4(node[2], node[3]);
    let c = simd.combine_f32x4(node[4], node[5]);
    let d = simd.combine_f32x4(node[6], node[7]);
    let even = (simd.unzip_low_f32x8(a, b), simd.unzip_low_f32x8(c, d));
    let odd = (simd.unzip_high_f32x8(a, b), simd.unzip_high_f32x8(c, d));
    [
        simd.unzip_low_f32x8(even.0, even.1),
        simd.unzip_low_f32x8(odd.0, odd.1),
        simd.unzip_high_f32x8(even.0, even.1),
        simd.unzip_high_f32x8(odd.0, odd.1),
    ]
}

/// Writes the components back to the first `used` of eight nodes.
///
/// # Safety
/// Each column is an index of a node, and nobody else reads or writes the first `used` meanwhile.
#[inline(always)]
pub(super) unsafe fn scatter<S: Simd>(
    simd: S,
    nodes: *mut Node,
    columns: &[u32; LANES],
    used: usize,
    value: [f32x8<S>; 4],
) {
    let rows = rows(simd, value);
    if used == LANES {
        for lane in 0..LANES {
            // SAFETY: promised by the caller.
            unsafe { *nodes.add(columns[lane] as usize) = rows[lane].into() };
        }
    } else {
        for (row, column) in rows.iter().zip(columns).take(used) {
            // SAFETY: promised by the caller.
            unsafe { *nodes.add(*column as usize) = (*row).into() };
        }
    }
}

/// Eight nodes from their components.
#[inline(always)]
fn rows<S: Simd>(simd: S, value: [f32x8<S>; 4]) -> [f32x4<S>; LANES] {
    let [x, y, z, w] = value;
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = simd.level().as_avx2() {
        let [a, b, c, d] = x86::transpose(token, [x.into(), y.into(), z.into(), w.into()]);
        let a = simd.split_f32x8(a.simd_into(simd));
        let b = simd.split_f32x8(b.simd_into(simd));
        let c = simd.split_f32x8(c.simd_into(simd));
        let d = simd.split_f32x8(d.simd_into(simd));
        return [a.0, b.0, c.0, d.0, a.1, b.1, c.1, d.1];
    }
    let low = (simd.zip_low_f32x8(x, z), simd.zip_low_f32x8(y, w));
    let high = (simd.zip_high_f32x8(x, z), simd.zip_high_f32x8(y, w));
    let a = simd.split_f32x8(simd.zip_low_f32x8(low.0, low.1));
    let b = simd.split_f32x8(simd.zip_high_f32x8(low.0, low.1));
    let c = simd.split_f32x8(simd.zip_low_f32x8(high.0, high.1));
    let d = simd.split_f32x8(simd.zip_high_f32x8(high.0, high.1));
    [a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1]
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
        let columns = [3, 17, 0, 5, 6, 11, 19, 2];
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
