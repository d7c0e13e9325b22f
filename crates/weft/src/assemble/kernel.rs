//! Contraction of coefficients with basis functions: the inner loops of assembly.

use super::lanes::{Lane, load, splat};
use super::tables::Table;
use crate::form::lower::scalar_slot::{PAIRS, SECOND};
use fearless_simd::{Simd, f64x8, prelude::*};

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
    for q in 0..points {
        let inv = &inverse[q * stride * td * gd..(q * stride + 1) * td * gd];
        if first < axes.len() {
            macro_rules! run {
                ($d:literal) => {{
                    let bend = Bend::<S, $d>::new(simd, inv, second, q);
                    second_slots(simd, &bend, axes, first, table, points, q, out)
                }};
            }
            match gd {
                3 => run!(3),
                2 => run!(2),
                _ => run!(1),
            }
        }
        if all {
            match (gd, td) {
                (3, 3) => gradients_at::<S, T, 3, 3>(simd, inv, table, points, q, out),
                (2, 2) => gradients_at::<S, T, 2, 2>(simd, inv, table, points, q, out),
                (3, 2) => gradients_at::<S, T, 3, 2>(simd, inv, table, points, q, out),
                _ => some_slots(simd, gd, td, axes, table, inv, points, q, out),
            }
        } else {
            some_slots(simd, gd, td, axes, table, inv, points, q, out);
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

#[inline(always)]
fn some_slots<S: Simd, T: Table>(
    simd: S,
    gd: usize,
    td: usize,
    axes: &[u8],
    table: T,
    inv: &[Lane],
    points: usize,
    q: usize,
    out: &mut [Lane],
) {
    for i in 0..table.nodes() {
        let at = q * table.nodes() + i;
        let out = &mut out[(i * points + q) * axes.len()..(i * points + q + 1) * axes.len()];
        for (slot, &axis) in out.iter_mut().zip(axes) {
            if usize::from(axis) >= SECOND {
                break;
            }
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

/// What takes second derivatives from the reference cell to space at a point of a cell that is not
/// embedded: with u = û ∘ ξ, ∇∇u = J⁻ᵀ (∇∇û - Σ_c ∂u/∂x_c ∇∇x_c) J⁻¹.
pub(crate) struct Bend<'a, S: Simd, const D: usize> {
    inverse: [[f64x8<S>; D]; D],
    /// Second derivatives of the map, as [`second_derivatives`](super::vector::second_derivatives)
    /// writes them; none if the cell is straight.
    map: &'a [Lane],
}

impl<'a, S: Simd, const D: usize> Bend<'a, S, D> {
    /// At point `q`; `second` is empty if no cell is bent.
    #[inline(always)]
    pub fn new(simd: S, inv: &[Lane], second: &'a [Lane], q: usize) -> Bend<'a, S, D> {
        let mut inverse = [[splat(simd, 0.0); D]; D];
        for k in 0..D {
            for d in 0..D {
                inverse[k][d] = load(simd, &inv[k * D + d]);
            }
        }
        let cube = D * D * D;
        let map = match second.is_empty() {
            true => second,
            false => &second[q * cube..(q + 1) * cube],
        };
        Bend { inverse, map }
    }

    /// From reference gradient and second derivatives (of the pairs of the first `D` axes) to a slot.
    #[inline(always)]
    pub fn apply(
        &self,
        simd: S,
        gradient: &[f64x8<S>; D],
        second: &[f64x8<S>; PAIRS.len()],
        slots: &[u8],
        out: &mut [Lane],
    ) {
        let mut own = [[splat(simd, 0.0); D]; D];
        for (pair, &[a, b]) in PAIRS.iter().enumerate() {
            if b < D {
                own[a][b] = second[pair];
            }
        }
        if !self.map.is_empty() {
            for c in 0..D {
                let mut slope = splat(simd, 0.0);
                for k in 0..D {
                    slope = self.inverse[k][c].mul_add(gradient[k], slope);
                }
                for a in 0..D {
                    for b in a..D {
                        let bend = load(simd, &self.map[(c * D + a) * D + b]);
                        own[a][b] -= slope * bend;
                    }
                }
            }
        }
        for a in 0..D {
            for b in 0..a {
                own[a][b] = own[b][a];
            }
        }
        for (out, &slot) in out.iter_mut().zip(slots) {
            let [d, e] = PAIRS[usize::from(slot) - SECOND];
            let mut sum = splat(simd, 0.0);
            for a in 0..D {
                let mut along = splat(simd, 0.0);
                for b in 0..D {
                    along = self.inverse[b][e].mul_add(own[a][b], along);
                }
                sum = self.inverse[a][d].mul_add(along, sum);
            }
            *out = sum.into();
        }
    }
}

/// The second derivatives among the slots, which begin at `first`.
#[inline(always)]
fn second_slots<S: Simd, T: Table, const D: usize>(
    simd: S,
    bend: &Bend<S, D>,
    axes: &[u8],
    first: usize,
    table: T,
    points: usize,
    q: usize,
    out: &mut [Lane],
) {
    for i in 0..table.nodes() {
        let at = q * table.nodes() + i;
        let mut gradient = [splat(simd, 0.0); D];
        for k in 0..D {
            gradient[k] = table.gradient(simd, at, k);
        }
        let mut second = [splat(simd, 0.0); PAIRS.len()];
        for (pair, second) in second.iter_mut().enumerate() {
            if PAIRS[pair][1] < D {
                *second = table.second(simd, at, pair);
            }
        }
        let out = &mut out[(i * points + q) * axes.len()..(i * points + q + 1) * axes.len()];
        bend.apply(simd, &gradient, &second, &axes[first..], &mut out[first..]);
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
