//! Strain rows in the axes of their local blocks.
//!
//! The local block of a row is D = C + Σ_j m_j⁻¹ Σ_a t_a t_aᵀ with t_a = 2 T(e_a ⊗ b_j). Written out,
//! it maps a stress S to 2 C S + Q S + S Q with Q = Σ_j m_j⁻¹ b_j b_jᵀ. So its axes are those of the
//! 3 × 3 matrix Q = E diag(q) Eᵀ: there the shear parts stand alone, with q_j + q_k, and the two
//! other deviatoric parts need one plane rotation. Rows are kept in these axes: b as Eᵀ b, so that
//! (Σ v ⊗ b) E comes for free, and stress, offset and 1/D in six local numbers.

use super::eigen::{Matrix, eigen, rotation};
use super::flow::{SURFACE, Surface, surface};
use super::lanes::{Wide, array, each, gather, load, load_all, load_wide, splat, store_wide};
use super::{LANES, Lane, Node, Sites};
use fearless_simd::{Simd, f32x8, prelude::*};
use std::ops::Range;

const SQRT_3: f32 = 1.732_050_8;
const SQRT_6: f32 = 2.449_489_7;
/// Part of the mean eigenvalue that is added to all: damps directions without stiffness.
const FLOOR: f32 = 1e-6;
/// Most columns of a site.
pub(super) const MOST_COLUMNS: usize = 128;

// Places in the first part of a record.
/// E, row by row, then cosine and sine of the plane rotation.
const AXES: usize = 0;
/// 1/D; 0 for rows that bear nothing.
pub(super) const INVERSE: usize = 11;
pub(super) const STRESS: usize = 17;
const YIELD: usize = 23;
const FIXED: usize = YIELD + SURFACE;

/// The numbers of a row that every row has.
pub(super) type Fixed = [Wide; FIXED];

/// What else is in the records: the columns Eᵀ b come after [`Fixed`], then these numbers.
#[derive(Clone, Copy, Default)]
pub(super) struct Layout {
    /// Columns of a site.
    pub width: usize,
    /// Rows of a site.
    pub rows: usize,
    pub dilatant: bool,
    /// Viscosity over volume: one number.
    pub viscosity: Option<usize>,
    /// Offset in local axes: six numbers.
    pub offset: Option<usize>,
    /// Compliance with each row of the site: spherical, deviatoric.
    pub compliance: Option<usize>,
    /// Numbers of a record.
    pub size: usize,
}

impl Layout {
    pub fn new(sites: &Sites, viscous: bool, dilatant: bool) -> Layout {
        // Without compliance there is an offset only where material may compact.
        let offset = !sites.compliance.is_empty()
            || sites.offset.iter().flatten().flatten().any(|x| *x != 0.0);
        let mut size = 0;
        let mut place = |wanted: bool, numbers: usize| {
            let at = size;
            size += if wanted { numbers } else { 0 };
            wanted.then_some(at)
        };
        Layout {
            width: sites.width,
            rows: sites.rows,
            dilatant,
            viscosity: place(viscous, 1),
            offset: place(offset, 6),
            compliance: place(!sites.compliance.is_empty(), 2 * sites.rows),
            size: FIXED + 3 * sites.width + size,
        }
    }

    /// Whether stress of one row strains another.
    pub fn coupled(&self) -> bool {
        self.compliance.is_some() && self.rows > 1
    }
}

/// A record: the fixed numbers, Eᵀ b of each column, the rest.
pub(super) type Parts<'a> = (&'a Fixed, &'a [[Wide; 3]], &'a [Wide]);

/// Cuts a record.
#[inline(always)]
pub(super) fn parts(record: &[Wide], width: usize) -> Parts<'_> {
    let (fixed, rest) = record.split_at(FIXED);
    let (columns, extra) = rest.split_at(3 * width);
    (first(fixed, 0), columns.as_chunks().0, extra)
}

/// Cuts a record whose stress is to change.
#[inline(always)]
pub(super) fn parts_mut(
    record: &mut [Wide],
    width: usize,
) -> (&mut Fixed, &mut [[Wide; 3]], &mut [Wide]) {
    let (fixed, rest) = record.split_at_mut(FIXED);
    let (columns, extra) = rest.split_at_mut(3 * width);
    (first_mut(fixed, 0), columns.as_chunks_mut().0, extra)
}

/// N numbers from a place on.
#[inline(always)]
pub(super) fn first<const N: usize>(numbers: &[Wide], at: usize) -> &[Wide; N] {
    match numbers[at..].first_chunk() {
        Some(chunk) => chunk,
        None => panic!("a record ends early"),
    }
}

/// N numbers from a place on.
#[inline(always)]
pub(super) fn first_mut<const N: usize>(numbers: &mut [Wide], at: usize) -> &mut [Wide; N] {
    match numbers[at..].first_chunk_mut() {
        Some(chunk) => chunk,
        None => panic!("a record ends early"),
    }
}

/// The yield surface of a row.
#[inline(always)]
pub(super) fn surface_of<S: Simd>(simd: S, fixed: &Fixed) -> Surface<S> {
    Surface::load(simd, first(fixed, YIELD))
}

/// The axes of a row: E, and the plane rotation of the first two deviatoric parts.
pub(super) struct Axes<S: Simd> {
    simd: S,
    e: Matrix<S>,
    cosine: f32x8<S>,
    sine: f32x8<S>,
}

/// a₀ b₀ + a₁ b₁ + a₂ b₂.
#[inline(always)]
fn dot<S: Simd>(a: [f32x8<S>; 3], b: [f32x8<S>; 3]) -> f32x8<S> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

#[inline(always)]
fn transposed<S: Simd>(a: &Matrix<S>) -> Matrix<S> {
    [
        [a[0][0], a[1][0], a[2][0]],
        [a[0][1], a[1][1], a[2][1]],
        [a[0][2], a[1][2], a[2][2]],
    ]
}

/// A Bᵀ.
#[inline(always)]
fn times<S: Simd>(simd: S, a: &Matrix<S>, b: &Matrix<S>) -> Matrix<S> {
    let mut out = [[splat(simd, 0.0); 3]; 3];
    for i in 0..3 {
        for k in 0..3 {
            out[i][k] = dot(a[i], b[k]);
        }
    }
    out
}

/// The tensor of six numbers, T⁻¹.
#[inline(always)]
fn tensor<S: Simd>(d: &[f32x8<S>; 6]) -> Matrix<S> {
    let [n, first, second, yz, xz, xy] = *d;
    let a = n * (SQRT_6 / 3.0);
    let second = second * (1.0 / SQRT_3);
    let b = a - second;
    [
        [b + first, xy, xz],
        [xy, b - first, yz],
        [xz, yz, a + second + second],
    ]
}

impl<S: Simd> Axes<S> {
    #[inline(always)]
    pub fn of(simd: S, fixed: &Fixed) -> Axes<S> {
        let [a, b, c, d, e, f, g, h, i, cosine, sine] = load_wide(simd, first(fixed, AXES));
        Axes {
            simd,
            e: [[a, b, c], [d, e, f], [g, h, i]],
            cosine,
            sine,
        }
    }

    /// Twice the local six numbers of sym(L), from L E.
    #[inline(always)]
    pub fn strain(&self, turned: &Matrix<S>) -> [f32x8<S>; 6] {
        // Eᵀ L E.
        let m = times(self.simd, &transposed(&self.e), &transposed(turned));
        let (x, y, z) = (m[0][0], m[1][1], m[2][2]);
        let first = x - y;
        let second = (z + z - x - y) * (1.0 / SQRT_3);
        [
            (x + y + z) * (2.0 / SQRT_6),
            self.cosine * first - self.sine * second,
            self.sine * first + self.cosine * second,
            m[1][2] + m[2][1],
            m[0][2] + m[2][0],
            m[0][1] + m[1][0],
        ]
    }

    /// E S of the stress with these local numbers: S b = (E S)(Eᵀ b).
    #[inline(always)]
    pub fn adjoint(&self, local: &[f32x8<S>; 6]) -> Matrix<S> {
        let [n, p, q, yz, xz, xy] = *local;
        let first = self.cosine * p + self.sine * q;
        let second = self.cosine * q - self.sine * p;
        // S is symmetric.
        times(self.simd, &self.e, &tensor(&[n, first, second, yz, xz, xy]))
    }

    /// Six numbers in global axes.
    #[inline(always)]
    pub fn to_global(&self, local: &[f32x8<S>; 6]) -> [f32x8<S>; 6] {
        let m = times(self.simd, &self.adjoint(local), &self.e);
        let (x, y, z) = (m[0][0], m[1][1], m[2][2]);
        [
            local[0],
            (x - y) * 0.5,
            (z + z - x - y) * (0.5 / SQRT_3),
            m[1][2],
            m[0][2],
            m[0][1],
        ]
    }

    /// Local numbers of six in global axes.
    #[inline(always)]
    pub fn to_local(&self, global: &[f32x8<S>; 6]) -> [f32x8<S>; 6] {
        // `strain` doubles.
        let half = each!(self.simd, |i| global[i] * 0.5);
        self.strain(&times(self.simd, &tensor(&half), &transposed(&self.e)))
    }
}

/// (Σ_j v_j ⊗ b_j) E.
#[inline(always)]
pub(super) fn gradient<S: Simd>(simd: S, columns: &[[Wide; 3]], v: &[[f32x8<S>; 4]]) -> Matrix<S> {
    let mut sum = [[splat(simd, 0.0); 3]; 3];
    for (v, b) in v.iter().zip(columns) {
        let b: [f32x8<S>; 3] = load_wide(simd, b);
        for i in 0..3 {
            for k in 0..3 {
                sum[i][k] = v[i].mul_add(b[k], sum[i][k]);
            }
        }
    }
    sum
}

/// v_j += m_j⁻¹ S b_j, with E S given.
#[inline(always)]
pub(super) fn push<S: Simd>(
    simd: S,
    columns: &[[Wide; 3]],
    stress: &Matrix<S>,
    v: &mut [[f32x8<S>; 4]],
) {
    for (v, b) in v.iter_mut().zip(columns) {
        let b: [f32x8<S>; 3] = load_wide(simd, b);
        for i in 0..3 {
            v[i] = v[3].mul_add(dot(stress[i], b), v[i]);
        }
    }
}

/// C r in local axes. `global` is the stress of all rows of the site; it is only read when rows
/// are coupled.
#[inline(always)]
pub(super) fn bend<S: Simd>(
    simd: S,
    layout: &Layout,
    axes: &Axes<S>,
    extra: &[Wide],
    stress: &[f32x8<S>; 6],
    global: &[[Lane; 6]],
) -> Option<[f32x8<S>; 6]> {
    let place = layout.compliance?;
    if !layout.coupled() {
        let [s, d] = load_wide(simd, first(extra, place));
        return Some(each!(simd, |i| stress[i] * if i == 0 { s } else { d }));
    }
    let mut sum = [splat(simd, 0.0); 6];
    for (other, global) in global.iter().enumerate() {
        let [s, d] = load_wide(simd, first(extra, place + 2 * other));
        for i in 0..6 {
            let c = if i == 0 { s } else { d };
            sum[i] = c.mul_add(load(simd, &global[i]), sum[i]);
        }
    }
    Some(axes.to_local(&sum))
}

/// Integrated strain B v + C r + offset of a row, in local axes.
#[inline(always)]
pub(super) fn total_strain<S: Simd>(
    simd: S,
    layout: &Layout,
    axes: &Axes<S>,
    columns: &[[Wide; 3]],
    extra: &[Wide],
    stress: &[f32x8<S>; 6],
    global: &[[Lane; 6]],
    v: &[[f32x8<S>; 4]],
) -> [f32x8<S>; 6] {
    let mut strain = axes.strain(&gradient(simd, columns, v));
    if let Some(place) = layout.offset {
        let offset: [f32x8<S>; 6] = load_wide(simd, first(extra, place));
        for i in 0..6 {
            strain[i] += offset[i];
        }
    }
    if let Some(bent) = bend(simd, layout, axes, extra, stress, global) {
        for i in 0..6 {
            strain[i] += bent[i];
        }
    }
    strain
}

/// Fills the records of some blocks.
///
/// # Safety
/// Columns are indices of nodes, which nobody writes.
#[inline(always)]
pub(super) unsafe fn fill<S: Simd>(
    simd: S,
    layout: &Layout,
    sites: &Sites,
    blocks: Range<usize>,
    records: &mut [Wide],
    share: &[Wide],
    nodes: *const Node,
) {
    let (width, rows) = (layout.width, layout.rows);
    let mut mass = [splat(simd, 0.0); MOST_COLUMNS];
    for (block, records) in blocks.zip(records.chunks_exact_mut(rows * layout.size)) {
        for (column, mass) in mass[..width].iter_mut().enumerate() {
            // SAFETY: promised by the caller.
            let node = unsafe { gather(simd, nodes, &sites.columns[block * width + column]) };
            *mass = node[3];
            if !share.is_empty() {
                *mass *= load(simd, &share[block * width + column].0);
            }
        }
        for (row, record) in records.chunks_exact_mut(layout.size).enumerate() {
            let at = block * rows + row;
            fill_row(
                simd,
                layout,
                sites,
                at,
                row,
                sites.used[block].into(),
                &mass[..width],
                record,
            );
        }
    }
}

/// Fills a record: `at` is the row of all, `row` the row of its site.
#[inline(always)]
fn fill_row<S: Simd>(
    simd: S,
    layout: &Layout,
    sites: &Sites,
    at: usize,
    row: usize,
    used: usize,
    mass: &[f32x8<S>],
    record: &mut [Wide],
) {
    let zero = splat(simd, 0.0);
    let one = splat(simd, 1.0);
    let (fixed, columns, extra) = parts_mut(record, layout.width);
    let b = &sites.b[at * layout.width..(at + 1) * layout.width];
    let mut q = [zero; 6];
    for (b, &mass) in b.iter().zip(mass) {
        let [x, y, z] = load_all(simd, b);
        let (mx, my, mz) = (mass * x, mass * y, mass * z);
        q[0] = mx.mul_add(x, q[0]);
        q[1] = my.mul_add(y, q[1]);
        q[2] = mz.mul_add(z, q[2]);
        q[3] = my.mul_add(z, q[3]);
        q[4] = mx.mul_add(z, q[4]);
        q[5] = mx.mul_add(y, q[5]);
    }
    let trace = q[0] + q[1] + q[2];
    let compliance = match layout.compliance {
        None => [zero; 2],
        Some(_) => load_all(simd, &sites.compliance[at * layout.rows + row]),
    };
    let total = trace * 4.0 + compliance[0] + compliance[1] * 5.0;
    // Rows without volume or stiffness, and lanes not in use, bear nothing. A NaN fails the tests.
    let mut volume = sites.volume[at];
    volume[used..].fill(0.0);
    let volume = load(simd, &volume);
    let tiny = splat(simd, 1e-30);
    let live = volume.simd_gt(zero) & total.simd_gt(tiny) & total.simd_lt(splat(simd, 1e30));
    let scale = (live & trace.simd_gt(tiny)).select(one / trace, zero);
    let trace = live.select(trace, zero);
    let q: [f32x8<S>; 6] = each!(simd, |i| live.select(q[i] * scale, zero));
    let matrix = [[q[0], q[5], q[4]], [q[5], q[1], q[3]], [q[4], q[3], q[2]]];
    let ([x, y, z], e) = eigen(simd, &matrix);
    let first_part = x + y;
    let second_part = (first_part + z * 4.0) * (1.0 / 3.0);
    let mixed = (y - x) * (1.0 / SQRT_3);
    let (cosine, sine, tangent) = rotation(simd, first_part, second_part, mixed);
    let values = [
        splat(simd, 2.0 / 3.0),
        first_part - tangent * mixed,
        second_part + tangent * mixed,
        y + z,
        x + z,
        first_part,
    ];
    let floor = total * (FLOOR / 6.0);
    let inverse: [f32x8<S>; 6] = each!(simd, |i| {
        let bent = compliance[i.min(1)] + floor;
        live.select(one / values[i].max(zero).mul_add(trace, bent), zero)
    });
    let turn = transposed(&e);
    for (out, b) in columns.iter_mut().zip(b) {
        let b = load_all(simd, b);
        for k in 0..3 {
            out[k].0 = array(live.select(dot(turn[k], b), zero));
        }
    }
    let [[a, b, c], [d, f, g], [h, i, j]] = e;
    store_wide(
        first_mut(fixed, AXES),
        &[a, b, c, d, f, g, h, i, j, cosine, sine],
    );
    store_wide(first_mut(fixed, INVERSE), &inverse);
    let alive = array(live.select(one, zero));
    for lane in 0..LANES {
        let yields = sites.yields[at].map(|y| y[lane]);
        let numbers = if alive[lane] > 0.0 {
            surface(&yields)
        } else {
            [0.0; SURFACE]
        };
        for (i, number) in numbers.into_iter().enumerate() {
            fixed[YIELD + i].0[lane] = number;
        }
    }
    let axes = Axes::of(simd, fixed);
    let stress = axes.to_local(&load_all(simd, &sites.stress[at]));
    let stress: [f32x8<S>; 6] = each!(simd, |i| live.select(stress[i], zero));
    store_wide(first_mut(fixed, STRESS), &stress);
    if let Some(place) = layout.viscosity {
        let viscosity = load(simd, &sites.yields[at][5]).max(zero) / volume;
        extra[place].0 = array(live.select(viscosity, zero));
    }
    if let Some(place) = layout.offset {
        let offset = axes.to_local(&load_all(simd, &sites.offset[at]));
        let offset: [f32x8<S>; 6] = each!(simd, |i| live.select(offset[i], zero));
        store_wide(first_mut(extra, place), &offset);
    }
    if let Some(place) = layout.compliance {
        let all = &sites.compliance[at * layout.rows..(at + 1) * layout.rows];
        for (other, c) in all.iter().enumerate() {
            for i in 0..2 {
                let c = live.select(load(simd, &c[i]), zero);
                extra[place + 2 * other + i].0 = array(c);
            }
        }
    }
}
