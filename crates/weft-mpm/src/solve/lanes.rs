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

/// N registers from N lanes.
#[inline(always)]
pub(super) fn load_all<S: Simd, const N: usize>(
    simd: S,
    lanes: &[[f32; LANES]; N],
) -> [f32x8<S>; N] {
    std::array::from_fn(|i| load(simd, &lanes[i]))
}

/// N registers from N lanes.
#[inline(always)]
pub(super) fn load_wide<S: Simd, const N: usize>(simd: S, lanes: &[Wide]) -> [f32x8<S>; N] {
    let lanes = &lanes[..N];
    std::array::from_fn(|i| load(simd, &lanes[i].0))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    fearless_simd::kernel!(
        /// Transposes the 4 × 4 matrices in the halves of four registers.
        #[inline(always)]
        pub(super) fn transpose(_token: Avx2, a: [__m256; 4]) -> [__m256; 4] {
            let low = (
                _mm256_unpacklo_ps(a[0], a[1]),
                _mm256_unpacklo_ps(a[2], a[3]),
            );
            let high = (
                _mm256_unpackhi_ps(a[0], a[1]),
                _mm256_unpackhi_ps(a[2], a[3]),
            );
            let pair = |a: __m256, b: __m256| {
                let (a, b) = (_mm256_castps_pd(a), _mm256_castps_pd(b));
                (
                    _mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),
                    _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)),
                )
            };
            let (x, y) = pair(low.0, low.1);
            let (z, w) = pair(high.0, high.1);
            [x, y, z, w]
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
    // SAFETY: promised by the caller.
    let node = |lane: usize| -> f32x4<S> {
        f32x4::load_array_ref(simd, unsafe { &*nodes.add(columns[lane] as usize) })
    };
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = simd.level().as_avx2() {
        let rows = std::array::from_fn(|i| simd.combine_f32x4(node(i), node(i + 4)).into());
        return x86::transpose(token, rows).map(|row| row.simd_into(simd));
    }
    let pair = |i: usize| simd.combine_f32x4(node(2 * i), node(2 * i + 1));
    let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
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
    let mut out = [[0.0; 4]; LANES];
    // SAFETY: promised by the caller.
    let write = |lane: usize, half: f32x4<S>| unsafe {
        *nodes.add(columns[lane] as usize) = half.into();
    };
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = simd.level().as_avx2() {
        let rows = x86::transpose(token, value.map(|row| row.into()));
        for (i, row) in rows.into_iter().enumerate() {
            let (low, high) = simd.split_f32x8(row.simd_into(simd));
            if used == LANES {
                write(i, low);
                write(i + 4, high);
            } else {
                out[i] = low.into();
                out[i + 4] = high.into();
            }
        }
        if used < LANES {
            for lane in 0..used {
                // SAFETY: promised by the caller.
                unsafe { *nodes.add(columns[lane] as usize) = out[lane] };
            }
        }
        return;
    }
    let [x, y, z, w] = value;
    let low = (simd.zip_low_f32x8(x, z), simd.zip_low_f32x8(y, w));
    let high = (simd.zip_high_f32x8(x, z), simd.zip_high_f32x8(y, w));
    let rows = [
        simd.zip_low_f32x8(low.0, low.1),
        simd.zip_high_f32x8(low.0, low.1),
        simd.zip_low_f32x8(high.0, high.1),
        simd.zip_high_f32x8(high.0, high.1),
    ];
    for (i, row) in rows.into_iter().enumerate() {
        let (first, second) = simd.split_f32x8(row);
        out[2 * i] = first.into();
        out[2 * i + 1] = second.into();
    }
    for lane in 0..used {
        // SAFETY: promised by the caller.
        unsafe { *nodes.add(columns[lane] as usize) = out[lane] };
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
