//! Strain rows in the axes of their local blocks, and what a sweep does with one.
//!
//! The local block of a row is D = C + Σ_j m_j⁻¹ Σ_a t_a t_aᵀ with t_a = 2 T(e_a ⊗ b_j). Written out,
//! it maps a stress S to 2 C S + Q S + S Q with Q = Σ_j m_j⁻¹ b_j b_jᵀ. So its axes are those of the
//! 3 × 3 matrix Q = E diag(q) Eᵀ: there the shear parts stand alone, with q_j + q_k, and the two
//! other deviatoric parts need one plane rotation. Rows are kept in these axes: b as Eᵀ b, so that
//! (Σ v ⊗ b) E comes for free, and stress, offset and 1/D in six local numbers.
//!
//! **Layout.** All numbers of a row of a block, in lanes, follow one another in one record, and the
//! records follow one another in the order of a sweep: a sweep reads and writes one stream.

use super::crew::Crew;
use super::eigen::{Matrix, eigen, rotation};
use super::flow::{SURFACE, Surface, surface};
use super::lanes::{Wide, array, gather, load, load_all, load_wide, scatter, splat};
use super::shared::Shared;
use super::{LANES, Node, Sites};
use fearless_simd::{Level, Simd, dispatch, f32x8, prelude::*};
use std::ops::Range;

const SQRT_3: f32 = 1.732_050_8;
const SQRT_6: f32 = 2.449_489_7;
/// Part of the mean eigenvalue that is added to all: damps directions without stiffness.
const FLOOR: f32 = 1e-6;
/// Most columns of a site.
pub(super) const MOST_COLUMNS: usize = 128;
/// Blocks for a thread to take at once.
const CHUNK: usize = 8;

/// Where the numbers of a row are in its record, in units of [`Wide`].
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

/// Offsets after Eᵀ b, 3 numbers a column.
const AXES: usize = 0;
const TURN: usize = 9;
const INVERSE: usize = 11;
const STRESS: usize = 17;
const YIELD: usize = 23;
const FIXED: usize = YIELD + SURFACE;

impl Layout {
    fn new(sites: &Sites, viscous: bool, dilatant: bool, offset: bool) -> Layout {
        let mut size = 3 * sites.width + FIXED;
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
            size,
        }
    }
}

/// How velocities are seen by the sites of a colour or batch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Coupling {
    /// Sites of one colour at a time, that share no node.
    Sequential,
    /// So many batches of colours. Sites of a batch share the mass of a node in equal parts.
    Split(usize),
}

/// Rows of all blocks.
#[derive(Default)]
pub(super) struct Blocks {
    pub layout: Layout,
    /// `[block][row]` records.
    pub records: Vec<Wide>,
    /// Colours of each batch, batches + 1 entries; empty when sequential.
    pub batches: Vec<usize>,
    /// `[block][column]`: sites of the batch that share the node; empty when sequential.
    share: Vec<Wide>,
    /// `[block][row][6]`: changes of stress that are still to reach the velocity.
    pub delta: Vec<[Wide; 6]>,
    /// `[block]`: squared strain corrections of the sites, summed over their rows; largest of a row.
    pub residual: Vec<[Wide; 2]>,
    counts: Vec<u32>,
}

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

/// Chunks of some blocks for the threads of a crew.
pub(super) fn chunks(crew: &Crew, range: Range<usize>, work: impl Fn(Range<usize>) + Sync) {
    let blocks = range.len();
    if crew.threads() == 1 {
        return work(range);
    }
    let chunk = CHUNK
        .min(blocks.div_ceil(4 * crew.threads()).max(1))
        .max(blocks.div_ceil(super::crew::MOST_CHUNKS));
    crew.phase(blocks.div_ceil(chunk), |number| {
        let first = range.start + number * chunk;
        work(first..(first + chunk).min(range.end));
    });
}

/// Calls a function that is generic in the most columns of a site.
macro_rules! by_width {
    ($width:expr, $function:ident::<_, N>($($argument:expr),* $(,)?)) => {
        match $width {
            8 => $function::<_, 8>($($argument),*),
            width if width <= 32 => $function::<_, 32>($($argument),*),
            _ => $function::<_, MOST_COLUMNS>($($argument),*),
        }
    };
}

impl Blocks {
    /// Fills the records: local axes, blocks, first guess of stress.
    pub fn prepare(
        &mut self,
        crew: &Crew,
        sites: &Sites,
        nodes: &mut [Node],
        coupling: Coupling,
        viscous: bool,
        dilatant: bool,
    ) {
        let blocks = sites.used.len();
        // Without compliance there is an offset only where material may compact.
        let offset = !sites.compliance.is_empty()
            || sites.offset.iter().flatten().flatten().any(|x| *x != 0.0);
        self.layout = Layout::new(sites, viscous, dilatant, offset);
        self.records
            .resize(blocks * sites.rows * self.layout.size, Wide::default());
        self.residual.resize(blocks, Default::default());
        self.residual.fill(Default::default());
        self.share_masses(sites, nodes.len(), coupling);
        let layout = self.layout;
        let share = &self.share;
        let records = Shared::new(&mut self.records);
        let nodes = Shared::new(nodes);
        chunks(crew, 0..blocks, |range| {
            let size = layout.rows * layout.size;
            // SAFETY: every block is in one chunk.
            let records = unsafe { records.part(range.start * size, range.len() * size) };
            // SAFETY: columns are checked by the caller; nodes are only read here.
            dispatch!(Level::new(), simd => unsafe {
                fill(simd, &layout, sites, range, records, share, nodes.start())
            });
        });
    }

    /// Batches of colours and, for each site of a batch, how many share each of its nodes.
    fn share_masses(&mut self, sites: &Sites, nodes: usize, coupling: Coupling) {
        self.batches.clear();
        self.share.clear();
        self.delta.clear();
        let Coupling::Split(count) = coupling else {
            return;
        };
        let (blocks, width) = (sites.used.len(), sites.width);
        let colours = sites.colours.len() - 1;
        let count = count.clamp(1, colours.max(1));
        self.batches
            .extend((0..=count).map(|batch| batch * colours / count));
        self.share.resize(blocks * width, Wide([1.0; LANES]));
        self.delta.resize(blocks * sites.rows, Default::default());
        self.counts.clear();
        self.counts.resize(nodes, 0);
        let seen = |block: usize, column: usize, lane: usize| {
            lane < usize::from(sites.used[block])
                && (0..sites.rows).any(|row| {
                    let b = &sites.b[(block * sites.rows + row) * width + column];
                    b.iter().any(|b| b[lane] != 0.0)
                })
        };
        for batch in self.batches.windows(2) {
            let range = sites.colours[batch[0]]..sites.colours[batch[1]];
            for pass in 0..3 {
                for block in range.clone() {
                    for column in 0..width {
                        let entry = block * width + column;
                        for (lane, &node) in sites.columns[entry].iter().enumerate() {
                            let counter = &mut self.counts[node as usize];
                            match pass {
                                0 => *counter += u32::from(seen(block, column, lane)),
                                1 => self.share[entry].0[lane] = (*counter).max(1) as f32,
                                _ => *counter = 0,
                            }
                        }
                    }
                }
            }
        }
    }

    /// One sweep over all blocks.
    ///
    /// # Safety
    /// Columns are indices of nodes, and sites of one colour share none.
    pub unsafe fn sweep(
        &mut self,
        crew: &Crew,
        sites: &mut Sites,
        nodes: &mut [Node],
        sweep: Sweep,
    ) {
        let Blocks {
            layout,
            records,
            batches,
            share,
            delta,
            residual,
            ..
        } = self;
        let layout = *layout;
        let columns = &sites.columns;
        let used = &sites.used;
        let view = View {
            layout,
            columns,
            used,
            share,
            records: Shared::new(records),
            delta: Shared::new(delta),
            residual: Shared::new(residual),
            stress: Shared::new(&mut sites.stress),
            nodes: Shared::new(nodes),
            sweep,
        };
        if batches.is_empty() {
            for colour in sites.colours.windows(2) {
                chunks(crew, colour[0]..colour[1], |range| {
                    // SAFETY: as promised, sites of a colour share no node; blocks are disjoint.
                    dispatch!(Level::new(), simd => unsafe {
                        by_width!(layout.width, sweep_blocks::<_, N>(simd, &view, range))
                    });
                });
            }
            return;
        }
        for batch in batches.windows(2) {
            let range = sites.colours[batch[0]]..sites.colours[batch[1]];
            chunks(crew, range, |range| {
                // SAFETY: nodes are only read in this phase; blocks are disjoint.
                dispatch!(Level::new(), simd => unsafe {
                    by_width!(layout.width, sweep_blocks::<_, N>(simd, &view, range))
                });
            });
            for colour in sites.colours[batch[0]..=batch[1]].windows(2) {
                chunks(crew, colour[0]..colour[1], |range| {
                    // SAFETY: as promised, sites of a colour share no node; blocks are disjoint.
                    let delta = |row| unsafe { view.delta.part(row, 1)[0] };
                    dispatch!(Level::new(), simd => unsafe {
                        by_width!(layout.width, push_blocks::<_, N>(simd, &view, range, delta))
                    });
                });
            }
        }
    }

    /// Projects the stress on the yield surface, if asked, and applies it to the velocity.
    ///
    /// # Safety
    /// As [`Blocks::sweep`].
    pub unsafe fn apply(
        &mut self,
        crew: &Crew,
        sites: &mut Sites,
        nodes: &mut [Node],
        sweep: Sweep,
        project: bool,
    ) {
        let layout = self.layout;
        if project {
            self.project(crew, sites);
        }
        let view = View {
            layout,
            columns: &sites.columns,
            used: &sites.used,
            share: &[],
            records: Shared::new(&mut self.records),
            delta: Shared::new(&mut []),
            residual: Shared::new(&mut []),
            stress: Shared::new(&mut []),
            nodes: Shared::new(nodes),
            sweep,
        };
        for colour in sites.colours.windows(2) {
            chunks(crew, colour[0]..colour[1], |range| {
                let stress = |row: usize| -> [Wide; 6] {
                    let at = row * layout.size + 3 * layout.width + STRESS;
                    // SAFETY: blocks are disjoint.
                    let part = unsafe { view.records.part(at, 6) };
                    std::array::from_fn(|i| part[i])
                };
                // SAFETY: as promised, sites of a colour share no node.
                dispatch!(Level::new(), simd => unsafe {
                    by_width!(layout.width, push_blocks::<_, N>(simd, &view, range, stress))
                });
            });
        }
    }

    fn project(&mut self, crew: &Crew, sites: &mut Sites) {
        let layout = self.layout;
        let rows = layout.rows;
        let records = Shared::new(&mut self.records);
        let stress = Shared::new(&mut sites.stress);
        chunks(crew, 0..sites.used.len(), |range| {
            let (first, count) = (range.start * rows, range.len() * rows);
            // SAFETY: every block is in one chunk.
            let (records, stress) = unsafe {
                (
                    records.part(first * layout.size, count * layout.size),
                    stress.part(first, count),
                )
            };
            dispatch!(Level::new(), simd => {
                for (record, stress) in records.chunks_exact_mut(layout.size).zip(stress) {
                    project_row(simd, &layout, record, stress);
                }
            });
        });
    }

    /// Writes the stress back in global axes.
    pub fn finish(&mut self, crew: &Crew, sites: &mut Sites) {
        let layout = self.layout;
        let rows = layout.rows;
        let records = &self.records;
        let stress = Shared::new(&mut sites.stress);
        chunks(crew, 0..sites.used.len(), |range| {
            let (first, count) = (range.start * rows, range.len() * rows);
            // SAFETY: every block is in one chunk.
            let stress = unsafe { stress.part(first, count) };
            let records = &records[first * layout.size..(first + count) * layout.size];
            dispatch!(Level::new(), simd => {
                for (record, stress) in records.chunks_exact(layout.size).zip(stress) {
                    let row = Row::of(simd, &layout, record);
                    let local = load_wide(simd, &record[row.fixed + STRESS..]);
                    *stress = row.to_global(local).map(array);
                }
            });
        });
    }

    /// Integrated plastic and elastic strain increments of all rows, in global axes.
    ///
    /// # Safety
    /// Columns are indices of nodes.
    pub unsafe fn increments(
        &self,
        sites: &Sites,
        nodes: &[Node],
        critical: &[[f32; LANES]],
        plastic: &mut [[[f32; LANES]; 6]],
        elastic: &mut [[[f32; LANES]; 6]],
    ) {
        use rayon::prelude::*;
        let layout = self.layout;
        let rows = layout.rows;
        let size = CHUNK * rows;
        plastic
            .par_chunks_mut(size)
            .zip(elastic.par_chunks_mut(size))
            .enumerate()
            .for_each(|(chunk, (plastic, elastic))| {
                let first = chunk * CHUNK;
                let blocks = first..first + plastic.len() / rows;
                // SAFETY: promised by the caller.
                dispatch!(Level::new(), simd => unsafe {
                    by_width!(layout.width, increments_of::<_, N>(
                        simd, &layout, &self.records, sites, nodes, critical, blocks, plastic, elastic
                    ))
                });
            });
    }
}

/// Everything that a sweep touches.
struct View<'a> {
    layout: Layout,
    columns: &'a [[u32; LANES]],
    used: &'a [u8],
    share: &'a [Wide],
    records: Shared<'a, Wide>,
    delta: Shared<'a, [Wide; 6]>,
    residual: Shared<'a, [Wide; 2]>,
    stress: Shared<'a, [[f32; LANES]; 6]>,
    nodes: Shared<'a, Node>,
    sweep: Sweep,
}

/// The axes of a row: E, and the plane rotation of the first two deviatoric parts.
struct Row<S: Simd> {
    /// Where the numbers after the columns start.
    fixed: usize,
    axes: Matrix<S>,
    cosine: f32x8<S>,
    sine: f32x8<S>,
}

impl<S: Simd> Row<S> {
    #[inline(always)]
    fn of(simd: S, layout: &Layout, record: &[Wide]) -> Row<S> {
        Row::at(simd, 3 * layout.width, record)
    }

    #[inline(always)]
    fn at(simd: S, fixed: usize, record: &[Wide]) -> Row<S> {
        let numbers: [f32x8<S>; 11] = load_wide(simd, &record[fixed + AXES..]);
        let [a, b, c, d, e, f, g, h, i, cosine, sine] = numbers;
        Row {
            fixed,
            axes: [[a, b, c], [d, e, f], [g, h, i]],
            cosine,
            sine,
        }
    }

    /// Twice the local six numbers of sym(L), from L E.
    #[inline(always)]
    fn strain(&self, turned: &Matrix<S>) -> [f32x8<S>; 6] {
        // Eᵀ L E; only what is needed.
        let entry = |i: usize, k: usize| {
            let e = &self.axes;
            e[2][i].mul_add(
                turned[2][k],
                e[1][i].mul_add(turned[1][k], e[0][i] * turned[0][k]),
            )
        };
        let (x, y, z) = (entry(0, 0), entry(1, 1), entry(2, 2));
        let first = x - y;
        let second = (z + z - x - y) * (1.0 / SQRT_3);
        [
            (x + y + z) * (2.0 / SQRT_6),
            self.cosine * first - self.sine * second,
            self.sine * first + self.cosine * second,
            entry(1, 2) + entry(2, 1),
            entry(0, 2) + entry(2, 0),
            entry(0, 1) + entry(1, 0),
        ]
    }

    /// E S of the stress with these local numbers: S b = (E S)(Eᵀ b).
    #[inline(always)]
    fn adjoint(&self, local: &[f32x8<S>; 6]) -> Matrix<S> {
        let s = self.tensor(local);
        std::array::from_fn(|i| {
            let e = &self.axes[i];
            std::array::from_fn(|k| e[2].mul_add(s[2][k], e[1].mul_add(s[1][k], e[0] * s[0][k])))
        })
    }

    /// The tensor in principal axes.
    #[inline(always)]
    fn tensor(&self, local: &[f32x8<S>; 6]) -> Matrix<S> {
        let [n, p, q, yz, xz, xy] = *local;
        let first = self.cosine * p + self.sine * q;
        let second = (self.cosine * q - self.sine * p) * (1.0 / SQRT_3);
        let a = n * (SQRT_6 / 3.0);
        let b = a - second;
        [
            [b + first, xy, xz],
            [xy, b - first, yz],
            [xz, yz, a + second + second],
        ]
    }

    /// Six numbers in global axes.
    #[inline(always)]
    fn to_global(&self, local: [f32x8<S>; 6]) -> [f32x8<S>; 6] {
        let g = self.adjoint(&local);
        let entry = |i: usize, j: usize| {
            let e = &self.axes[j];
            e[2].mul_add(g[i][2], e[1].mul_add(g[i][1], e[0] * g[i][0]))
        };
        let (x, y, z) = (entry(0, 0), entry(1, 1), entry(2, 2));
        [
            local[0],
            (x - y) * 0.5,
            (z + z - x - y) * (0.5 / SQRT_3),
            entry(1, 2),
            entry(0, 2),
            entry(0, 1),
        ]
    }

    /// Local numbers of six in global axes.
    #[inline(always)]
    fn to_local(&self, global: [f32x8<S>; 6]) -> [f32x8<S>; 6] {
        let [n, p, q, yz, xz, xy] = global;
        let a = n * (SQRT_6 / 3.0);
        let q = q * (1.0 / SQRT_3);
        let s = [
            [a + p - q, xy, xz],
            [xy, a - p - q, yz],
            [xz, yz, a + q + q],
        ];
        // L E with L = S / 2: `strain` doubles it.
        let turned = std::array::from_fn(|i| {
            std::array::from_fn(|k| {
                let e = &self.axes;
                let sum = s[i][2].mul_add(e[2][k], s[i][1].mul_add(e[1][k], s[i][0] * e[0][k]));
                sum * 0.5
            })
        });
        self.strain(&turned)
    }
}

/// Local axes, 1/D, surface and first guess of the rows of some blocks.
///
/// # Safety
/// Columns are indices of nodes, which nobody writes.
#[inline(always)]
unsafe fn fill<S: Simd>(
    simd: S,
    layout: &Layout,
    sites: &Sites,
    blocks: Range<usize>,
    records: &mut [Wide],
    share: &[Wide],
    nodes: *const Node,
) {
    let (width, rows) = (layout.width, layout.rows);
    let zero = splat(simd, 0.0);
    let mut mass = [zero; MOST_COLUMNS];
    for (block, records) in blocks.zip(records.chunks_exact_mut(rows * layout.size)) {
        let used = usize::from(sites.used[block]);
        for (column, mass) in mass[..width].iter_mut().enumerate() {
            // SAFETY: promised by the caller.
            let node = unsafe { gather(simd, nodes, &sites.columns[block * width + column]) };
            *mass = node[3];
            if !share.is_empty() {
                *mass = *mass * load(simd, &share[block * width + column].0);
            }
        }
        for (row, record) in records.chunks_exact_mut(layout.size).enumerate() {
            let at = block * rows + row;
            let b = &sites.b[at * width..(at + 1) * width];
            fill_row(
                simd,
                layout,
                sites,
                at,
                row,
                used,
                b,
                &mass[..width],
                record,
            );
        }
    }
}

#[inline(always)]
fn fill_row<S: Simd>(
    simd: S,
    layout: &Layout,
    sites: &Sites,
    at: usize,
    row: usize,
    used: usize,
    columns: &[[[f32; LANES]; 3]],
    mass: &[f32x8<S>],
    record: &mut [Wide],
) {
    let zero = splat(simd, 0.0);
    let one = splat(simd, 1.0);
    // Q, and from it axes and eigenvalues of D.
    let mut q = [zero; 6];
    for (b, &mass) in columns.iter().zip(mass) {
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
        Some(_) => {
            let all = &sites.compliance[at * layout.rows..(at + 1) * layout.rows];
            load_all(simd, &all[row])
        }
    };
    let total = trace * 4.0 + compliance[0] + compliance[1] * 5.0;
    // Rows without volume or stiffness, and lanes not in use, bear nothing. A NaN fails the tests.
    let mut volume = sites.volume[at];
    volume[used..].fill(0.0);
    let volume = load(simd, &volume);
    let live =
        volume.simd_gt(zero) & total.simd_gt(splat(simd, 1e-30)) & total.simd_lt(splat(simd, 1e30));
    let scale = trace.simd_gt(splat(simd, 1e-30)).select(one / trace, zero);
    let scale = live.select(scale, zero);
    let q = q.map(|q| live.select(q * scale, zero));
    let matrix = [[q[0], q[5], q[4]], [q[5], q[1], q[3]], [q[4], q[3], q[2]]];
    let ([x, y, z], axes) = eigen(simd, &matrix);
    let first = x + y;
    let second = (first + z * 4.0) * (1.0 / 3.0);
    let mixed = (y - x) * (1.0 / SQRT_3);
    let (cosine, sine, tangent) = rotation(simd, first, second, mixed);
    let values = [
        splat(simd, 2.0 / 3.0),
        first - tangent * mixed,
        second + tangent * mixed,
        y + z,
        x + z,
        first,
    ];
    let trace = live.select(trace, zero);
    let floor = total * (FLOOR / 6.0);
    let mut inverse = [zero; 6];
    for (i, (inverse, value)) in inverse.iter_mut().zip(values).enumerate() {
        let value = value.max(zero).mul_add(trace, compliance[i.min(1)] + floor);
        *inverse = live.select(one / value, zero);
    }
    for (out, b) in record.chunks_exact_mut(3).zip(columns) {
        let b: [f32x8<S>; 3] = load_all(simd, b);
        for (k, out) in out.iter_mut().enumerate() {
            let turned = axes[2][k].mul_add(b[2], axes[1][k].mul_add(b[1], axes[0][k] * b[0]));
            out.0 = array(live.select(turned, zero));
        }
    }
    let fixed = 3 * layout.width;
    for i in 0..3 {
        for k in 0..3 {
            record[fixed + AXES + 3 * i + k].0 = array(axes[i][k]);
        }
    }
    record[fixed + TURN].0 = array(cosine);
    record[fixed + TURN + 1].0 = array(sine);
    for (i, inverse) in inverse.iter().enumerate() {
        record[fixed + INVERSE + i].0 = array(*inverse);
    }
    let alive = array(live.select(one, zero));
    for lane in 0..LANES {
        let yields = sites.yields[at].map(|y| y[lane]);
        let surface = if alive[lane] > 0.0 {
            surface(&yields)
        } else {
            [0.0; SURFACE]
        };
        for (i, value) in surface.into_iter().enumerate() {
            record[fixed + YIELD + i].0[lane] = value;
        }
    }
    let row_axes = Row::at(simd, fixed, record);
    let stress = row_axes.to_local(load_all(simd, &sites.stress[at]));
    for (i, stress) in stress.into_iter().enumerate() {
        record[fixed + STRESS + i].0 = array(live.select(stress, zero));
    }
    if let Some(place) = layout.viscosity {
        let viscosity = load(simd, &sites.yields[at][5]).max(zero) / volume;
        record[place].0 = array(live.select(viscosity, zero));
    }
    if let Some(place) = layout.offset {
        let offset = row_axes.to_local(load_all(simd, &sites.offset[at]));
        for (i, offset) in offset.into_iter().enumerate() {
            record[place + i].0 = array(live.select(offset, zero));
        }
    }
    if let Some(place) = layout.compliance {
        for other in 0..layout.rows {
            for (i, lane) in sites.compliance[at * layout.rows + other]
                .iter()
                .enumerate()
            {
                record[place + 2 * other + i].0 = array(live.select(load(simd, lane), zero));
            }
        }
    }
}

#[inline(always)]
fn project_row<S: Simd>(
    simd: S,
    layout: &Layout,
    record: &mut [Wide],
    global: &mut [[f32; LANES]; 6],
) {
    let row = Row::of(simd, layout, record);
    let surface = surface_of(simd, row.fixed, record);
    let stress = load_wide(simd, &record[row.fixed + STRESS..]);
    let stress = surface.project(simd, stress);
    for (i, stress) in stress.into_iter().enumerate() {
        record[row.fixed + STRESS + i].0 = array(stress);
    }
    if layout.compliance.is_some() {
        *global = row.to_global(stress).map(array);
    }
}

#[inline(always)]
fn surface_of<S: Simd>(simd: S, fixed: usize, record: &[Wide]) -> Surface<S> {
    let [lowest, highest, slope, cohesion, dilatancy] = load_wide(simd, &record[fixed + YIELD..]);
    Surface {
        lowest,
        highest,
        slope,
        cohesion,
        dilatancy,
    }
}

/// (Σ_j v_j ⊗ b_j) E.
#[inline(always)]
fn gradient<S: Simd>(simd: S, record: &[Wide], v: &[[f32x8<S>; 4]]) -> Matrix<S> {
    let zero = splat(simd, 0.0);
    let mut sum = [[zero; 3]; 3];
    for (v, b) in v.iter().zip(record.chunks_exact(3)) {
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
fn push<S: Simd>(simd: S, record: &[Wide], stress: &Matrix<S>, v: &mut [[f32x8<S>; 4]]) {
    for (v, b) in v.iter_mut().zip(record.chunks_exact(3)) {
        let b: [f32x8<S>; 3] = load_wide(simd, b);
        for i in 0..3 {
            let s = &stress[i];
            let force = s[2].mul_add(b[2], s[1].mul_add(b[1], s[0] * b[0]));
            v[i] = v[3].mul_add(force, v[i]);
        }
    }
}

/// Strain without stress-dependent parts, plus offset and compliance: u of the row.
#[inline(always)]
fn total_strain<S: Simd>(
    simd: S,
    layout: &Layout,
    row: &Row<S>,
    record: &[Wide],
    stress: &[f32x8<S>; 6],
    global: &[[[f32; LANES]; 6]],
    v: &[[f32x8<S>; 4]],
) -> [f32x8<S>; 6] {
    let mut strain = row.strain(&gradient(simd, record, v));
    if let Some(place) = layout.offset {
        let offset: [f32x8<S>; 6] = load_wide(simd, &record[place..]);
        for (strain, offset) in strain.iter_mut().zip(offset) {
            *strain += offset;
        }
    }
    let bent = compliant(simd, layout, row, record, stress, global);
    if let Some(bent) = bent {
        for (strain, bent) in strain.iter_mut().zip(bent) {
            *strain += bent;
        }
    }
    strain
}

/// C r in local axes. `global` is the stress of all rows of the site.
#[inline(always)]
fn compliant<S: Simd>(
    simd: S,
    layout: &Layout,
    row: &Row<S>,
    record: &[Wide],
    stress: &[f32x8<S>; 6],
    global: &[[[f32; LANES]; 6]],
) -> Option<[f32x8<S>; 6]> {
    let place = layout.compliance?;
    if layout.rows == 1 {
        let c: [f32x8<S>; 2] = load_wide(simd, &record[place..]);
        return Some(std::array::from_fn(|i| c[i.min(1)] * stress[i]));
    }
    let mut sum = [splat(simd, 0.0); 6];
    for (other, global) in global.iter().enumerate() {
        let c: [f32x8<S>; 2] = load_wide(simd, &record[place + 2 * other..]);
        for (i, sum) in sum.iter_mut().enumerate() {
            *sum = c[i.min(1)].mul_add(load(simd, &global[i]), *sum);
        }
    }
    Some(row.to_local(sum))
}

/// Local solves of some blocks, one after another.
///
/// # Safety
/// As [`Blocks::sweep`], and no block is in two ranges that are worked on at the same time.
#[inline(always)]
unsafe fn sweep_blocks<S: Simd, const N: usize>(simd: S, view: &View, range: Range<usize>) {
    let layout = &view.layout;
    let width = if N == 8 { 8 } else { layout.width };
    let rows = layout.rows;
    let split = !view.share.is_empty();
    let zero = splat(simd, 0.0);
    let relaxation = splat(simd, view.sweep.relaxation);
    let mut v = [[zero; 4]; N];
    let v = &mut v[..width];
    // SAFETY: every block is in one range.
    let (records, stress, residual) = unsafe {
        (
            view.records.part(
                range.start * rows * layout.size,
                range.len() * rows * layout.size,
            ),
            view.stress.part(range.start * rows, range.len() * rows),
            view.residual.part(range.start, range.len()),
        )
    };
    for (number, block) in range.clone().enumerate() {
        let columns = &view.columns[block * width..(block + 1) * width];
        for (v, columns) in v.iter_mut().zip(columns) {
            // SAFETY: columns are indices of nodes that only this block's sites touch, or that
            // nobody writes.
            *v = unsafe { gather(simd, view.nodes.start(), columns) };
        }
        if split {
            let share = &view.share[block * width..(block + 1) * width];
            for (v, share) in v.iter_mut().zip(share) {
                v[3] = v[3] * load(simd, &share.0);
            }
        }
        let mut worst = zero;
        let mut total = zero;
        for row in 0..rows {
            let at = (number * rows + row) * layout.size;
            let record = &mut records[at..at + layout.size];
            let site = &mut stress[number * rows..(number + 1) * rows];
            let axes = Row::at(simd, 3 * width, record);
            let old: [f32x8<S>; 6] = load_wide(simd, &record[3 * width + STRESS..]);
            let strain = total_strain(simd, layout, &axes, record, &old, site, v);
            let inverse: [f32x8<S>; 6] = load_wide(simd, &record[3 * width + INVERSE..]);
            let trial = std::array::from_fn(|i| old[i] - strain[i] * inverse[i]);
            let surface = surface_of(simd, 3 * width, record);
            let new = match layout.viscosity {
                None => surface.flow(simd, trial, &inverse, layout.dilatant),
                Some(place) => {
                    let viscosity = load(simd, &record[place].0);
                    let slow = inverse.map(|inverse| inverse + viscosity);
                    let plastic = surface.flow(simd, trial, &slow, layout.dilatant);
                    // A part of the trial stress is borne by viscosity.
                    std::array::from_fn(|i| {
                        let part = slow[i].simd_gt(zero).select(inverse[i] / slow[i], zero);
                        (plastic[i] - trial[i]).mul_add(part, trial[i])
                    })
                }
            };
            let mut delta: [f32x8<S>; 6] = std::array::from_fn(|i| new[i] - old[i]);
            if view.sweep.measure {
                let mut square = zero;
                for i in 0..6 {
                    let live = inverse[i].simd_gt(zero);
                    let part = live.select(delta[i] / inverse[i], zero);
                    square = part.mul_add(part, square);
                }
                worst = worst.max(square);
                total += square;
            }
            delta = delta.map(|delta| delta * relaxation);
            for i in 0..6 {
                record[3 * width + STRESS + i].0 = array(old[i] + delta[i]);
            }
            if layout.compliance.is_some() && rows > 1 {
                let global = axes.to_global(delta);
                for (sum, global) in site[row].iter_mut().zip(global) {
                    *sum = array(load(simd, sum) + global);
                }
            }
            let force = axes
                .adjoint(&delta)
                .map(|row| row.map(|entry| entry * view.sweep.adjoint));
            push(simd, record, &force, v);
            if split {
                // SAFETY: every block is in one range.
                let out = unsafe { &mut view.delta.part(block * rows + row, 1)[0] };
                *out = delta.map(|delta| Wide(array(delta)));
            }
        }
        if view.sweep.measure {
            residual[number] = [Wide(array(total)), Wide(array(worst))];
        }
        if !split {
            let used = usize::from(view.used[block]);
            // Unused columns come last and repeat the first: their old value must not stay.
            for (v, columns) in v.iter().zip(columns).rev() {
                // SAFETY: sites of a colour share no node.
                unsafe { scatter(simd, view.nodes.start(), columns, used, *v) };
            }
        }
    }
}

/// Applies stress to velocity: `delta` gives it for a row of all blocks.
///
/// # Safety
/// Sites of the blocks that are worked on at the same time share no node.
#[inline(always)]
unsafe fn push_blocks<S: Simd, const N: usize>(
    simd: S,
    view: &View,
    range: Range<usize>,
    delta: impl Fn(usize) -> [Wide; 6],
) {
    let layout = &view.layout;
    let width = if N == 8 { 8 } else { layout.width };
    let zero = splat(simd, 0.0);
    let mut v = [[zero; 4]; N];
    let v = &mut v[..width];
    for block in range {
        let columns = &view.columns[block * width..(block + 1) * width];
        for (v, columns) in v.iter_mut().zip(columns) {
            // SAFETY: promised by the caller.
            *v = unsafe { gather(simd, view.nodes.start(), columns) };
        }
        for row in block * layout.rows..(block + 1) * layout.rows {
            let delta = delta(row).map(|delta| load(simd, &delta.0));
            // SAFETY: every block is in one range; the record is only read.
            let record = unsafe { view.records.part(row * layout.size, layout.size) };
            let force = Row::at(simd, 3 * width, record)
                .adjoint(&delta)
                .map(|row| row.map(|entry| entry * view.sweep.adjoint));
            push(simd, record, &force, v);
        }
        let used = usize::from(view.used[block]);
        for (v, columns) in v.iter().zip(columns).rev() {
            // SAFETY: promised by the caller.
            unsafe { scatter(simd, view.nodes.start(), columns, used, *v) };
        }
    }
}

/// Strain increments of some blocks.
///
/// # Safety
/// Columns are indices of nodes.
#[inline(always)]
unsafe fn increments_of<S: Simd, const N: usize>(
    simd: S,
    layout: &Layout,
    records: &[Wide],
    sites: &Sites,
    nodes: &[Node],
    critical: &[[f32; LANES]],
    blocks: Range<usize>,
    plastic: &mut [[[f32; LANES]; 6]],
    elastic: &mut [[[f32; LANES]; 6]],
) {
    let (width, rows) = (layout.width, layout.rows);
    let zero = splat(simd, 0.0);
    let mut v = [[zero; 4]; N];
    let v = &mut v[..width];
    let first = blocks.start * rows;
    for block in blocks {
        let columns = &sites.columns[block * width..(block + 1) * width];
        for (v, columns) in v.iter_mut().zip(columns) {
            // SAFETY: promised by the caller.
            *v = unsafe { gather(simd, nodes.as_ptr(), columns) };
        }
        let site = &sites.stress[block * rows..(block + 1) * rows];
        for at in block * rows..(block + 1) * rows {
            let record = &records[at * layout.size..(at + 1) * layout.size];
            let axes = Row::of(simd, layout, record);
            let stress: [f32x8<S>; 6] = load_wide(simd, &record[axes.fixed + STRESS..]);
            let strain = total_strain(simd, layout, &axes, record, &stress, site, v);
            let inverse: [f32x8<S>; 6] = load_wide(simd, &record[axes.fixed + INVERSE..]);
            let trial = std::array::from_fn(|i| stress[i] - strain[i] * inverse[i]);
            let viscosity = match layout.viscosity {
                Some(place) => load(simd, &record[place].0),
                None => zero,
            };
            let slow = inverse.map(|inverse| inverse + viscosity);
            let surface = surface_of(simd, axes.fixed, record);
            let borne = surface.flow(simd, trial, &slow, layout.dilatant);
            let live = inverse[0].simd_gt(zero);
            let flow = std::array::from_fn(|i| live.select((borne[i] - trial[i]) / slow[i], zero));
            plastic[at - first] = axes.to_global(flow).map(array);
            let mut rest = match layout.offset {
                Some(place) => load_wide(simd, &record[place..]),
                None => [zero; 6],
            };
            if let Some(bent) = compliant(simd, layout, &axes, record, &stress, site) {
                for (rest, bent) in rest.iter_mut().zip(bent) {
                    *rest += bent;
                }
            }
            if let Some(critical) = critical.get(at) {
                rest[0] = live.select(rest[0] - load(simd, critical), zero);
            }
            elastic[at - first] = axes.to_global(rest.map(|rest| -rest)).map(array);
        }
    }
}
