//! Contraction of coefficients with basis functions: the inner loops of assembly.

use super::lanes::{Lane, load, splat};
use fearless_simd::{Simd, f64x8, prelude::*};

/// Physical basis slots `out[(i * points + q) * axes + a]` of all basis functions: the value
/// for axis 0, the derivative along x_d for axis 1 + d.
#[inline(always)]
pub(crate) fn basis_slots<S: Simd>(
    simd: S,
    gd: usize,
    td: usize,
    axes: &[u8],
    nodes: usize,
    values: &[f64],
    gradients: &[[f64; 3]],
    points: usize,
    stride: usize,
    inverse: &[Lane],
    out: &mut [Lane],
) {
    let all = axes.len() == gd && axes[0] == 1;
    for q in 0..points {
        let inv = &inverse[q * stride * td * gd..(q * stride + 1) * td * gd];
        let gradients = &gradients[q * nodes..(q + 1) * nodes];
        if all {
            match (gd, td) {
                (3, 3) => gradients_at::<S, 3, 3>(simd, inv, gradients, points, q, out),
                (2, 2) => gradients_at::<S, 2, 2>(simd, inv, gradients, points, q, out),
                (3, 2) => gradients_at::<S, 3, 2>(simd, inv, gradients, points, q, out),
                _ => some_slots(simd, gd, td, axes, values, gradients, inv, points, q, out),
            }
        } else {
            some_slots(simd, gd, td, axes, values, gradients, inv, points, q, out);
        }
    }
}

#[inline(always)]
fn gradients_at<S: Simd, const GD: usize, const TD: usize>(
    simd: S,
    inv: &[Lane],
    gradients: &[[f64; 3]],
    points: usize,
    q: usize,
    out: &mut [Lane],
) {
    let mut j = [[splat(simd, 0.0); GD]; TD];
    for k in 0..TD {
        for d in 0..GD {
            j[k][d] = load(simd, &inv[k * GD + d]);
        }
    }
    for (i, g) in gradients.iter().enumerate() {
        let out = &mut out[(i * points + q) * GD..(i * points + q + 1) * GD];
        for d in 0..GD {
            let mut sum = j[0][d] * splat(simd, g[0]);
            for k in 1..TD {
                sum = j[k][d].mul_add(splat(simd, g[k]), sum);
            }
            out[d] = sum.into();
        }
    }
}

#[inline(always)]
fn some_slots<S: Simd>(
    simd: S,
    gd: usize,
    td: usize,
    axes: &[u8],
    values: &[f64],
    gradients: &[[f64; 3]],
    inv: &[Lane],
    points: usize,
    q: usize,
    out: &mut [Lane],
) {
    let nodes = gradients.len();
    for (i, g) in gradients.iter().enumerate() {
        let out = &mut out[(i * points + q) * axes.len()..(i * points + q + 1) * axes.len()];
        for (slot, &axis) in out.iter_mut().zip(axes) {
            let sum = match axis {
                0 => splat(simd, values[q * nodes + i]),
                d => {
                    let mut sum = splat(simd, 0.0);
                    for k in 0..td {
                        let j = load(simd, &inv[k * gd + d as usize - 1]);
                        sum = j.mul_add(splat(simd, g[k]), sum);
                    }
                    sum
                }
            };
            *slot = sum.into();
        }
    }
}

/// `out[r][m] (+)= Σ_q Σ_a basis_r[q][a] · s[q][m][a]` for `R` basis functions at once.
///
/// `basis` holds the functions one after another, `points * A` lanes each; `s` holds `width`
/// lanes a point, the block of interest starting at `offset`.
#[inline(always)]
fn contract<S: Simd, const R: usize, const M: usize, const A: usize>(
    simd: S,
    points: usize,
    basis: &[Lane],
    s: &[Lane],
    width: usize,
    offset: usize,
) -> [[f64x8<S>; M]; R] {
    let mut sum = [[splat(simd, 0.0); M]; R];
    let rows: [&[Lane]; R] =
        std::array::from_fn(|r| &basis[r * points * A..(r + 1) * points * A]);
    for (q, s) in s.chunks_exact(width).enumerate().take(points) {
        let s = &s[offset..offset + M * A];
        for a in 0..A {
            let s: [f64x8<S>; M] = std::array::from_fn(|m| load(simd, &s[m * A + a]));
            for r in 0..R {
                let g = load(simd, &rows[r][q * A + a]);
                for m in 0..M {
                    sum[r][m] = g.mul_add(s[m], sum[r][m]);
                }
            }
        }
    }
    sum
}

/// Where contractions go: `out[row(r) * width + offset + m]`.
#[inline(always)]
fn contract_rows<S: Simd, const R: usize, const M: usize, const A: usize>(
    simd: S,
    points: usize,
    rows: usize,
    basis: &[Lane],
    s: &[Lane],
    offset: usize,
    components: usize,
    add: bool,
    mut store: impl FnMut(usize) -> usize,
    out: &mut [Lane],
) {
    let width = components * A;
    let mut put = |row: usize, sums: &[f64x8<S>; M]| {
        let at = store(row) + offset;
        for m in 0..M {
            let old = if add { load(simd, &out[at + m]) } else { splat(simd, 0.0) };
            out[at + m] = (old + sums[m]).into();
        }
    };
    let mut row = 0;
    while row + R <= rows {
        let sums =
            contract::<S, R, M, A>(simd, points, &basis[row * points * A..], s, width, offset * A);
        for (r, sums) in sums.iter().enumerate() {
            put(row + r, sums);
        }
        row += R;
    }
    while row < rows {
        let sums =
            contract::<S, 1, M, A>(simd, points, &basis[row * points * A..], s, width, offset * A);
        put(row, &sums[0]);
        row += 1;
    }
}

/// Contract the first `rows` basis functions with `s` of `components` × `axes` lanes a point
/// and add to or set `out[store(i) + component]`.
#[inline(always)]
pub(crate) fn contract_all<S: Simd>(
    simd: S,
    axes: usize,
    points: usize,
    rows: usize,
    components: usize,
    basis: &[Lane],
    s: &[Lane],
    add: bool,
    store: impl FnMut(usize) -> usize + Copy,
    out: &mut [Lane],
) {
    match axes {
        1 => by_components::<S, 1>(simd, points, rows, components, basis, s, add, store, out),
        2 => by_components::<S, 2>(simd, points, rows, components, basis, s, add, store, out),
        3 => by_components::<S, 3>(simd, points, rows, components, basis, s, add, store, out),
        _ => by_components::<S, 4>(simd, points, rows, components, basis, s, add, store, out),
    }
}

#[inline(always)]
fn by_components<S: Simd, const A: usize>(
    simd: S,
    points: usize,
    rows: usize,
    components: usize,
    basis: &[Lane],
    s: &[Lane],
    add: bool,
    store: impl FnMut(usize) -> usize + Copy,
    out: &mut [Lane],
) {
    macro_rules! go {
        ($r:literal, $m:literal, $offset:expr) => {
            contract_rows::<S, $r, $m, A>(
                simd, points, rows, basis, s, $offset, components, add, store, out,
            )
        };
    }
    match components {
        1 => go!(6, 1, 0),
        2 => go!(4, 2, 0),
        3 => go!(4, 3, 0),
        4 => go!(3, 4, 0),
        9 => go!(2, 9, 0),
        n => {
            for m in 0..n {
                go!(6, 1, m);
            }
        }
    }
}
