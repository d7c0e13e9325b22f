//! Contraction of coefficients with basis functions: the inner loops of assembly.

use super::lanes::{Lane, load, splat};
use super::second::second_slots;
use super::tables::Table;
use crate::form::lower::scalar_slot::SECOND;
use fearless_simd::{Simd, prelude::*};

/// Physical basis slots `out[(i * points + q) * axes + a]` of all basis functions, as in
/// [`scalar_slot`](crate::form::lower::scalar_slot), in ascending order.
#[inline(always)]
pub(crate) fn basis_slots<S: Simd, T: Table>(
    simd: S,
    gd: usize,
    td: usize,
    axes: &[u8],
    table: T,
    points: usize,
    stride: usize,
    inverse: &[Lane],
    second: &[Lane],
    out: &mut [Lane],
) {
    let all = axes.len() == gd && axes[0] == 1 && usize::from(axes[gd - 1]) == gd;
    let first = axes.iter().filter(|&&a| usize::from(a) < SECOND).count();
    if first < axes.len() {
        second_slots(
            simd, gd, axes, first, table, points, stride, inverse, second, out,
        );
    }
    for q in 0..points {
        let inv = &inverse[q * stride * td * gd..(q * stride + 1) * td * gd];
        if all {
            match (gd, td) {
                (3, 3) => gradients_at::<S, T, 3, 3>(simd, inv, table, points, q, out),
                (2, 2) => gradients_at::<S, T, 2, 2>(simd, inv, table, points, q, out),
                (3, 2) => gradients_at::<S, T, 3, 2>(simd, inv, table, points, q, out),
                _ => some_slots(simd, gd, td, axes, gd, table, inv, points, q, out),
            }
        } else {
            let width = axes.len();
            some_slots(
                simd,
                gd,
                td,
                &axes[..first],
                width,
                table,
                inv,
                points,
                q,
                out,
            );
        }
    }
}

#[inline(always)]
fn gradients_at<S: Simd, T: Table, const GD: usize, const TD: usize>(
    simd: S,
    inv: &[Lane],
    table: T,
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
    for i in 0..table.nodes() {
        let mut g = [splat(simd, 0.0); TD];
        for k in 0..TD {
            g[k] = table.gradient(simd, q * table.nodes() + i, k);
        }
        let out = &mut out[(i * points + q) * GD..(i * points + q + 1) * GD];
        for d in 0..GD {
            let mut sum = j[0][d] * g[0];
            for k in 1..TD {
                sum = j[k][d].mul_add(g[k], sum);
            }
            out[d] = sum.into();
        }
    }
}

/// Values and first derivatives, the first `axes` of `width` slots.
#[inline(always)]
fn some_slots<S: Simd, T: Table>(
    simd: S,
    gd: usize,
    td: usize,
    axes: &[u8],
    width: usize,
    table: T,
    inv: &[Lane],
    points: usize,
    q: usize,
    out: &mut [Lane],
) {
    for i in 0..table.nodes() {
        let at = q * table.nodes() + i;
        let out = &mut out[(i * points + q) * width..(i * points + q + 1) * width];
        for (slot, &axis) in out.iter_mut().zip(axes) {
            let sum = match axis {
                0 => table.value(simd, at),
                d => {
                    let mut sum = splat(simd, 0.0);
                    for k in 0..td {
                        let j = load(simd, &inv[k * gd + d as usize - 1]);
                        sum = j.mul_add(table.gradient(simd, at, k), sum);
                    }
                    sum
                }
            };
            *slot = sum.into();
        }
    }
}

/// What a contraction reads and where its results go.
///
/// `basis` holds the functions one after another, `points` × axes lanes each; `slots` holds
/// `components` × axes lanes a point. Row `r`, component `m` goes to
/// `out[start + r * step + m]`, added to what is there if `add`.
pub(crate) struct Contraction<'a> {
    pub points: usize,
    pub rows: usize,
    pub components: usize,
    pub basis: &'a [Lane],
    pub slots: &'a [Lane],
    pub add: bool,
    pub start: usize,
    pub step: usize,
}

// The loops below hold no closures: a closure that is not inlined would be compiled without
// the wide instructions and pass vectors through memory.

/// `R` rows from `row`, `M` components from `offset`, `A` axes.
#[inline(always)]
fn contract_rows<S: Simd, const R: usize, const M: usize, const A: usize>(
    simd: S,
    job: &Contraction,
    row: usize,
    offset: usize,
    out: &mut [Lane],
) {
    let width = job.components * A;
    let length = job.points * A;
    let basis = &job.basis[row * length..(row + R) * length];
    let mut sum = [[splat(simd, 0.0); M]; R];
    for (q, slots) in job.slots.chunks_exact(width).enumerate() {
        let slots = &slots[offset * A..offset * A + M * A];
        for a in 0..A {
            let mut s = [splat(simd, 0.0); M];
            for m in 0..M {
                s[m] = load(simd, &slots[m * A + a]);
            }
            for r in 0..R {
                let g = load(simd, &basis[r * length + q * A + a]);
                for m in 0..M {
                    sum[r][m] = g.mul_add(s[m], sum[r][m]);
                }
            }
        }
    }
    for r in 0..R {
        let at = job.start + (row + r) * job.step + offset;
        let out = &mut out[at..at + M];
        for m in 0..M {
            let total = if job.add {
                load(simd, &out[m]) + sum[r][m]
            } else {
                sum[r][m]
            };
            out[m] = total.into();
        }
    }
}

#[inline(always)]
fn all_rows<S: Simd, const R: usize, const M: usize, const A: usize>(
    simd: S,
    job: &Contraction,
    offset: usize,
    out: &mut [Lane],
) {
    let mut row = 0;
    while row + R <= job.rows {
        contract_rows::<S, R, M, A>(simd, job, row, offset, out);
        row += R;
    }
    while row < job.rows {
        contract_rows::<S, 1, M, A>(simd, job, row, offset, out);
        row += 1;
    }
}

/// Most axes of a contraction.
pub(crate) const MOST_AXES: usize = 4;

/// `out[row][m] (+)= Σ_q Σ_a basis[row][q][a] · slots[q][m][a]`, several rows at once so that
/// enough independent sums are in flight.
#[inline(always)]
pub(crate) fn contract<S: Simd>(simd: S, axes: usize, job: &Contraction, out: &mut [Lane]) {
    match axes {
        1 => by_components::<S, 1>(simd, job, out),
        2 => by_components::<S, 2>(simd, job, out),
        3 => by_components::<S, 3>(simd, job, out),
        _ => by_components::<S, MOST_AXES>(simd, job, out),
    }
}

#[inline(always)]
fn by_components<S: Simd, const A: usize>(simd: S, job: &Contraction, out: &mut [Lane]) {
    match job.components {
        1 => all_rows::<S, 6, 1, A>(simd, job, 0, out),
        2 => all_rows::<S, 4, 2, A>(simd, job, 0, out),
        3 => all_rows::<S, 4, 3, A>(simd, job, 0, out),
        4 => all_rows::<S, 3, 4, A>(simd, job, 0, out),
        9 => all_rows::<S, 2, 9, A>(simd, job, 0, out),
        n => {
            for offset in 0..n {
                all_rows::<S, 6, 1, A>(simd, job, offset, out);
            }
        }
    }
}
