//! What is done with the blocks of a chunk: sweep, apply stress, measure strain.
//!
//! Kernels are generic in N, the columns of a site if there are 8, else the most there can be.

use super::lanes::{
    Wide, array, each, gather, load, load_all, load_wide, scatter, splat, store_all, store_wide,
};
use super::rows::{
    Axes, INVERSE, Layout, STRESS, bend, first, first_mut, gradient, parts, parts_mut, push,
    surface_of, total_strain,
};
use super::shared::Shared;
use super::{LANES, Lane, Node};
use fearless_simd::{Simd, f32x8, prelude::*};
use std::ops::Range;

/// What a sweep over blocks is told.
#[derive(Clone, Copy)]
pub(super) struct Sweep {
    /// Part of each correction that is applied.
    pub relaxation: f32,
    /// Factor of the stress that acts on velocity.
    pub adjoint: f32,
    /// Measure the corrections.
    pub measure: bool,
}

/// What all kernels read.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub layout: Layout,
    pub columns: &'a [[u32; LANES]],
    pub used: &'a [u8],
    pub nodes: Shared<'a, Node>,
}

impl View<'_> {
    /// Velocities and inverse masses of the columns of a block.
    ///
    /// # Safety
    /// Columns are indices of nodes, which nobody writes.
    #[inline(always)]
    unsafe fn gather<S: Simd>(&self, simd: S, block: usize, v: &mut [[f32x8<S>; 4]]) {
        let columns = &self.columns[block * v.len()..(block + 1) * v.len()];
        for (v, columns) in v.iter_mut().zip(columns) {
            // SAFETY: promised by the caller.
            *v = unsafe { gather(simd, self.nodes.start(), columns) };
        }
    }

    /// Writes them back.
    ///
    /// # Safety
    /// Columns are indices of nodes, which nobody else reads or writes.
    #[inline(always)]
    unsafe fn scatter<S: Simd>(&self, simd: S, block: usize, v: &[[f32x8<S>; 4]]) {
        let columns = &self.columns[block * v.len()..(block + 1) * v.len()];
        let used = usize::from(self.used[block]);
        // Unused columns come last and repeat the first: their old value must not stay.
        for (v, columns) in v.iter().zip(columns).rev() {
            // SAFETY: promised by the caller.
            unsafe { scatter(simd, self.nodes.start(), columns, used, *v) };
        }
    }

    #[inline(always)]
    fn width<const N: usize>(&self) -> usize {
        if N == 8 { 8 } else { self.layout.width }
    }
}

/// What a sweep writes, and what it needs to share nodes.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub sweep: Sweep,
    pub records: Shared<'a, Wide>,
    /// `[row]`: stress in global axes, kept up to date when rows are coupled.
    pub stress: Shared<'a, [Lane; 6]>,
    /// `[block]`: squared corrections.
    pub residual: Shared<'a, [Wide; 2]>,
    /// `[row][6]`: changes of stress, when velocity stays as it is.
    pub delta: Shared<'a, Wide>,
    /// `[block][column]`: sites that share the node; empty when velocity is kept up to date.
    pub share: &'a [Wide],
}

/// Local solves of some blocks, one after another.
///
/// # Safety
/// Columns are indices of nodes; no block is in two ranges at the same time; blocks of the ranges
/// share no node, or velocity stays as it is.
#[inline(always)]
pub(super) unsafe fn sweep<S: Simd, const N: usize>(
    simd: S,
    view: &View,
    target: &Target,
    range: Range<usize>,
) {
    let layout = &view.layout;
    let width = view.width::<N>();
    let (rows, size) = (layout.rows, layout.size);
    let split = !target.share.is_empty();
    let zero = splat(simd, 0.0);
    let mut v = [[zero; 4]; N];
    let v = &mut v[..width];
    // SAFETY: every block is in one range.
    let (records, stress, residual) = unsafe {
        (
            target
                .records
                .part(range.start * rows * size, range.len() * rows * size),
            target.stress.part(range.start * rows, range.len() * rows),
            target.residual.part(range.start, range.len()),
        )
    };
    let all = records
        .chunks_exact_mut(rows * size)
        .zip(stress.chunks_exact_mut(rows));
    for ((block, (records, site)), residual) in range.zip(all).zip(residual) {
        // SAFETY: as promised.
        unsafe { view.gather(simd, block, v) };
        if split {
            let share = &target.share[block * width..(block + 1) * width];
            for (v, share) in v.iter_mut().zip(share) {
                v[3] *= load(simd, &share.0);
            }
        }
        let mut worst = zero;
        let mut total = zero;
        for (row, record) in records.chunks_exact_mut(size).enumerate() {
            let (delta, square) =
                solve_row(simd, layout, width, &target.sweep, row, record, site, v);
            worst = worst.max(square);
            total += square;
            if split {
                // SAFETY: every block is in one range.
                let out = unsafe { target.delta.part(6 * (block * rows + row), 6) };
                store_wide(first_mut(out, 0), &delta);
            }
        }
        if target.sweep.measure {
            store_wide(residual, &[total, worst]);
        }
        if !split {
            // SAFETY: as promised.
            unsafe { view.scatter(simd, block, v) };
        }
    }
}

/// Brings the stress of a row to what its strain asks for, and velocity along. Gives the change of
/// stress and, if it is measured, the squared strain correction.
#[inline(always)]
fn solve_row<S: Simd>(
    simd: S,
    layout: &Layout,
    width: usize,
    sweep: &Sweep,
    row: usize,
    record: &mut [Wide],
    site: &mut [[Lane; 6]],
    v: &mut [[f32x8<S>; 4]],
) -> ([f32x8<S>; 6], f32x8<S>) {
    let zero = splat(simd, 0.0);
    let (fixed, columns, extra) = parts_mut(record, width);
    let axes = Axes::of(simd, fixed);
    let old: [f32x8<S>; 6] = load_wide(simd, first(fixed, STRESS));
    let strain = total_strain(simd, layout, &axes, columns, extra, &old, site, v);
    let inverse: [f32x8<S>; 6] = load_wide(simd, first(fixed, INVERSE));
    let trial: [f32x8<S>; 6] = each!(simd, |i| old[i] - strain[i] * inverse[i]);
    let surface = surface_of(simd, fixed);
    let new = match layout.viscosity {
        None => surface.flow(simd, trial, &inverse, layout.dilatant),
        Some(place) => {
            let viscosity = load(simd, &extra[place].0);
            let slow: [f32x8<S>; 6] = each!(simd, |i| inverse[i] + viscosity);
            let plastic = surface.flow(simd, trial, &slow, layout.dilatant);
            // A part of what is above the surface is borne by viscosity.
            each!(simd, |i| {
                let part = slow[i].simd_gt(zero).select(inverse[i] / slow[i], zero);
                (plastic[i] - trial[i]).mul_add(part, trial[i])
            })
        }
    };
    let delta: [f32x8<S>; 6] = each!(simd, |i| new[i] - old[i]);
    let mut square = zero;
    if sweep.measure {
        for i in 0..6 {
            let live = inverse[i].simd_gt(zero);
            let part = live.select(delta[i] / inverse[i], zero);
            square = part.mul_add(part, square);
        }
    }
    let delta: [f32x8<S>; 6] = each!(simd, |i| delta[i] * sweep.relaxation);
    let new: [f32x8<S>; 6] = each!(simd, |i| old[i] + delta[i]);
    store_wide(first_mut(fixed, STRESS), &new);
    if layout.coupled() {
        let global = axes.to_global(&delta);
        for i in 0..6 {
            site[row][i] = array(load(simd, &site[row][i]) + global[i]);
        }
    }
    let acting = each!(simd, |i| delta[i] * sweep.adjoint);
    push(simd, columns, &axes.adjoint(&acting), v);
    (delta, square)
}

/// Six numbers for each row, in local axes: at `source[row * stride + offset]`.
#[derive(Clone, Copy)]
pub(super) struct Stress<'a> {
    pub source: &'a [Wide],
    pub stride: usize,
    pub offset: usize,
}

impl Stress<'_> {
    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, row: usize) -> [f32x8<S>; 6] {
        load_wide(simd, first(self.source, row * self.stride + self.offset))
    }
}

/// v += M⁻¹ Bᵀ (factor r).
///
/// # Safety
/// Columns are indices of nodes; blocks that are worked on at the same time share none.
#[inline(always)]
pub(super) unsafe fn apply<S: Simd, const N: usize>(
    simd: S,
    view: &View,
    records: &[Wide],
    stress: Stress,
    factor: f32,
    range: Range<usize>,
) {
    let layout = &view.layout;
    let width = view.width::<N>();
    let mut v = [[splat(simd, 0.0); 4]; N];
    let v = &mut v[..width];
    for block in range {
        // SAFETY: promised by the caller.
        unsafe { view.gather(simd, block, v) };
        for row in block * layout.rows..(block + 1) * layout.rows {
            let record = &records[row * layout.size..(row + 1) * layout.size];
            let (fixed, columns, _) = parts(record, width);
            let stress = stress.load(simd, row);
            let acting = each!(simd, |i| stress[i] * factor);
            push(simd, columns, &Axes::of(simd, fixed).adjoint(&acting), v);
        }
        // SAFETY: promised by the caller.
        unsafe { view.scatter(simd, block, v) };
    }
}

/// B v + C r, with the offset if asked for, of the rows of some blocks, in local axes.
/// `global` is r in global axes; it is only read when rows are coupled.
///
/// # Safety
/// Columns are indices of nodes, which nobody writes.
#[inline(always)]
pub(super) unsafe fn strain<S: Simd, const N: usize>(
    simd: S,
    view: &View,
    records: &[Wide],
    stress: Stress,
    global: &[[Lane; 6]],
    offset: bool,
    range: Range<usize>,
    out: &mut [Wide],
) {
    let layout = &view.layout;
    let width = view.width::<N>();
    let rows = layout.rows;
    let mut v = [[splat(simd, 0.0); 4]; N];
    let v = &mut v[..width];
    let first_row = range.start * rows;
    for block in range {
        // SAFETY: promised by the caller.
        unsafe { view.gather(simd, block, v) };
        let site = &global[block * rows..(block + 1) * rows];
        for row in block * rows..(block + 1) * rows {
            let record = &records[row * layout.size..(row + 1) * layout.size];
            let (fixed, columns, extra) = parts(record, width);
            let axes = Axes::of(simd, fixed);
            let old = stress.load(simd, row);
            let sum = if offset {
                total_strain(simd, layout, &axes, columns, extra, &old, site, v)
            } else {
                let mut sum = axes.strain(&gradient(simd, columns, v));
                if let Some(bent) = bend(simd, layout, &axes, extra, &old, site) {
                    for i in 0..6 {
                        sum[i] += bent[i];
                    }
                }
                sum
            };
            store_wide(first_mut(out, 6 * (row - first_row)), &sum);
        }
    }
}

/// Six numbers of each row in global axes; `first_row` is the row of the first of them.
#[inline(always)]
pub(super) fn globalise<S: Simd>(
    simd: S,
    layout: &Layout,
    records: &[Wide],
    stress: Stress,
    first_row: usize,
    out: &mut [[Lane; 6]],
) {
    for (at, out) in out.iter_mut().enumerate() {
        let row = first_row + at;
        let record = &records[row * layout.size..(row + 1) * layout.size];
        let axes = Axes::of(simd, parts(record, layout.width).0);
        store_all(out, &axes.to_global(&stress.load(simd, row)));
    }
}

/// Projects the stress of some records on their yield surfaces; `global` follows.
#[inline(always)]
pub(super) fn project<S: Simd>(
    simd: S,
    layout: &Layout,
    records: &mut [Wide],
    global: &mut [[Lane; 6]],
) {
    for (record, global) in records.chunks_exact_mut(layout.size).zip(global) {
        let (fixed, ..) = parts_mut(record, layout.width);
        let stress = load_wide(simd, first(fixed, STRESS));
        let stress = surface_of(simd, fixed).project(simd, stress);
        store_wide(first_mut(fixed, STRESS), &stress);
        if layout.coupled() {
            store_all(global, &Axes::of(simd, fixed).to_global(&stress));
        }
    }
}

/// Plastic and elastic strain increments of the rows of some blocks, in global axes. `stress` is
/// that of all rows, `critical` the part of their offsets that is not elastic, or empty.
///
/// # Safety
/// Columns are indices of nodes, which nobody writes.
#[inline(always)]
pub(super) unsafe fn increments<S: Simd, const N: usize>(
    simd: S,
    view: &View,
    records: &[Wide],
    stress: &[[Lane; 6]],
    critical: &[Lane],
    range: Range<usize>,
    plastic: &mut [[Lane; 6]],
    elastic: &mut [[Lane; 6]],
) {
    let layout = &view.layout;
    let width = view.width::<N>();
    let rows = layout.rows;
    let zero = splat(simd, 0.0);
    let mut v = [[zero; 4]; N];
    let v = &mut v[..width];
    let first_row = range.start * rows;
    for block in range {
        // SAFETY: promised by the caller.
        unsafe { view.gather(simd, block, v) };
        let site = &stress[block * rows..(block + 1) * rows];
        for row in block * rows..(block + 1) * rows {
            let record = &records[row * layout.size..(row + 1) * layout.size];
            let (fixed, columns, extra) = parts(record, width);
            let axes = Axes::of(simd, fixed);
            let old: [f32x8<S>; 6] = load_wide(simd, first(fixed, STRESS));
            let strain = total_strain(simd, layout, &axes, columns, extra, &old, site, v);
            let inverse: [f32x8<S>; 6] = load_wide(simd, first(fixed, INVERSE));
            let trial = each!(simd, |i| old[i] - strain[i] * inverse[i]);
            let viscosity = match layout.viscosity {
                Some(place) => load(simd, &extra[place].0),
                None => zero,
            };
            let slow = each!(simd, |i| inverse[i] + viscosity);
            let borne = surface_of(simd, fixed).flow(simd, trial, &slow, layout.dilatant);
            let live = inverse[0].simd_gt(zero);
            let flow = each!(simd, |i| live.select((borne[i] - trial[i]) / slow[i], zero));
            store_all(&mut plastic[row - first_row], &axes.to_global(&flow));
            let mut rest = match layout.offset {
                Some(place) => load_wide(simd, first(extra, place)),
                None => [zero; 6],
            };
            if let Some(bent) = bend(simd, layout, &axes, extra, &old, site) {
                for i in 0..6 {
                    rest[i] += bent[i];
                }
            }
            if let Some(critical) = critical.get(row) {
                rest[0] = live.select(rest[0] - load_all(simd, &[*critical])[0], zero);
            }
            let gained = each!(simd, |i| -rest[i]);
            store_all(&mut elastic[row - first_row], &axes.to_global(&gained));
        }
    }
}
