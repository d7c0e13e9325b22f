//! The rows of all blocks, and phases of work on them.
//!
//! **Layout.** All numbers of a row of a block, in lanes, follow one another in one record, and the
//! records follow one another in the order of a sweep: a sweep reads and writes one stream.

use super::crew::{Crew, MOST_CHUNKS};
use super::kernels::{self, Stress, Sweep, Target, View};
use super::lanes::Wide;
use super::rows::{Layout, MOST_COLUMNS, STRESS, fill};
use super::shared::Shared;
use super::{LANES, Lane, Node, Sites};
use crate::bytes::{Bytes, sum_of_bytes};
use fearless_simd::{Level, dispatch};
use std::ops::Range;

/// Blocks for a thread to take at once.
const CHUNK: usize = 8;

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
    /// `[block]`: squared strain corrections of the sites, summed over their rows; largest of a row.
    pub residual: Vec<[Wide; 2]>,
    /// Colours of each batch, batches + 1 entries; empty when sequential.
    batches: Vec<usize>,
    /// `[block][column]`: sites of the batch that share the node; empty when sequential.
    share: Vec<Wide>,
    /// `[block][row][6]`: changes of stress that are still to reach the velocity.
    delta: Vec<Wide>,
    counts: Vec<u32>,
}

impl Bytes for Blocks {
    fn bytes(&self) -> usize {
        let Self {
            records,
            residual,
            batches,
            share,
            delta,
            counts,
            layout: _,
        } = self;
        sum_of_bytes!(records, residual, batches, share, delta, counts)
    }
}

/// Chunks of some blocks for the threads of a crew.
pub(super) fn chunks(crew: &Crew, range: Range<usize>, work: impl Fn(Range<usize>) + Sync) {
    let blocks = range.len();
    if blocks == 0 {
        return;
    }
    if crew.threads() == 1 {
        return work(range);
    }
    let chunk = CHUNK
        .min(blocks.div_ceil(4 * crew.threads()))
        .max(blocks.div_ceil(MOST_CHUNKS));
    crew.phase(blocks.div_ceil(chunk), |number| {
        let first = range.start + number * chunk;
        work(first..(first + chunk).min(range.end));
    });
}

/// Runs a kernel that is generic in the columns of a site, with this processor's instructions.
macro_rules! kernel {
    ($width:expr, $function:ident($($argument:expr),* $(,)?)) => {
        dispatch!(Level::new(), simd => match $width {
            8 => kernels::$function::<_, 8>(simd, $($argument),*),
            _ => kernels::$function::<_, MOST_COLUMNS>(simd, $($argument),*),
        })
    };
}

impl Blocks {
    /// Fills the records: local axes, blocks, first guess of stress.
    ///
    /// # Safety
    /// Columns are indices of nodes.
    pub unsafe fn prepare(
        &mut self,
        crew: &Crew,
        sites: &Sites,
        nodes: &[Node],
        coupling: Coupling,
        viscous: bool,
        dilatant: bool,
    ) {
        let blocks = sites.used.len();
        self.layout = Layout::new(sites, viscous, dilatant);
        self.records
            .resize(blocks * sites.rows * self.layout.size, Wide::default());
        self.residual.clear();
        self.residual.resize(blocks, Default::default());
        self.share_masses(sites, nodes.len(), coupling);
        let layout = self.layout;
        let share = &self.share;
        let records = Shared::new(&mut self.records);
        chunks(crew, 0..blocks, |range| {
            let size = layout.rows * layout.size;
            // SAFETY: every block is in one chunk.
            let records = unsafe { records.part(range.start * size, range.len() * size) };
            // SAFETY: promised by the caller; nodes are borrowed.
            dispatch!(Level::new(), simd => unsafe {
                fill(simd, &layout, sites, range, records, share, nodes.as_ptr())
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
        let colours = sites.colours.len().saturating_sub(1);
        let count = count.clamp(1, colours.max(1));
        self.batches
            .extend((0..=count).map(|batch| batch * colours / count));
        self.share.resize(blocks * width, Wide([1.0; LANES]));
        self.delta.resize(blocks * sites.rows * 6, Wide::default());
        self.counts.clear();
        self.counts.resize(nodes, 0);
        let touches = |block: usize, column: usize, lane: usize| {
            lane < usize::from(sites.used[block])
                && (0..sites.rows).any(|row| {
                    let b = &sites.b[(block * sites.rows + row) * width + column];
                    b.iter().any(|b| b[lane] != 0.0)
                })
        };
        for batch in self.batches.windows(2) {
            let range = sites.colours[batch[0]]..sites.colours[batch[1]];
            // Count, note, clear.
            for pass in 0..3 {
                for block in range.clone() {
                    for column in 0..width {
                        let entry = block * width + column;
                        for (lane, &node) in sites.columns[entry].iter().enumerate() {
                            let counter = &mut self.counts[node as usize];
                            match pass {
                                0 => *counter += u32::from(touches(block, column, lane)),
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
        let width = self.layout.width;
        let view = View {
            layout: self.layout,
            columns: &sites.columns,
            used: &sites.used,
            nodes: Shared::new(nodes),
        };
        if self.batches.is_empty() {
            let target = Target {
                sweep,
                records: Shared::new(&mut self.records),
                stress: Shared::new(&mut sites.stress),
                residual: Shared::new(&mut self.residual),
                delta: Shared::new(&mut []),
                share: &[],
            };
            for colour in sites.colours.windows(2) {
                chunks(crew, colour[0]..colour[1], |range| {
                    // SAFETY: as promised, sites of a colour share no node.
                    unsafe { kernel!(width, sweep(&view, &target, range)) }
                });
            }
            return;
        }
        for batch in self.batches.windows(2) {
            let target = Target {
                sweep,
                records: Shared::new(&mut self.records),
                stress: Shared::new(&mut sites.stress),
                residual: Shared::new(&mut self.residual),
                delta: Shared::new(&mut self.delta),
                share: &self.share,
            };
            let range = sites.colours[batch[0]]..sites.colours[batch[1]];
            chunks(crew, range, |range| {
                // SAFETY: velocity stays as it is.
                unsafe { kernel!(width, sweep(&view, &target, range)) }
            });
            let stress = Stress {
                source: &self.delta,
                stride: 6,
                offset: 0,
            };
            let records = &self.records;
            for colour in sites.colours[batch[0]..=batch[1]].windows(2) {
                chunks(crew, colour[0]..colour[1], |range| {
                    // SAFETY: as promised, sites of a colour share no node.
                    unsafe { kernel!(width, apply(&view, records, stress, sweep.adjoint, range)) }
                });
            }
        }
    }

    /// The stress of the records, or six numbers a row from elsewhere.
    fn stress_or<'a>(&'a self, other: Option<&'a [Wide]>) -> Stress<'a> {
        match other {
            Some(source) => Stress {
                source,
                stride: 6,
                offset: 0,
            },
            None => Stress {
                source: &self.records,
                stride: self.layout.size,
                offset: STRESS,
            },
        }
    }

    /// v += M⁻¹ Bᵀ (factor r); r is the stress of the records, or given.
    ///
    /// # Safety
    /// As [`Blocks::sweep`].
    pub unsafe fn apply(
        &self,
        crew: &Crew,
        sites: &Sites,
        nodes: &mut [Node],
        stress: Option<&[Wide]>,
        factor: f32,
    ) {
        let view = View {
            layout: self.layout,
            columns: &sites.columns,
            used: &sites.used,
            nodes: Shared::new(nodes),
        };
        let stress = self.stress_or(stress);
        for colour in sites.colours.windows(2) {
            chunks(crew, colour[0]..colour[1], |range| {
                // SAFETY: as promised, sites of a colour share no node.
                unsafe {
                    kernel!(
                        view.layout.width,
                        apply(&view, &self.records, stress, factor, range)
                    )
                }
            });
        }
    }

    /// B v + C r, and the offset if asked for, of all rows; r is the stress of the records, or
    /// given. Uses `sites.stress` as scratch if rows are coupled.
    ///
    /// # Safety
    /// Columns are indices of nodes.
    pub unsafe fn strain(
        &self,
        crew: &Crew,
        sites: &mut Sites,
        nodes: &[Node],
        stress: Option<&[Wide]>,
        offset: bool,
        out: &mut [Wide],
    ) {
        if self.layout.coupled() {
            self.globalise(crew, sites, stress);
        }
        let view = View {
            layout: self.layout,
            columns: &sites.columns,
            used: &sites.used,
            nodes: Shared::reading(nodes),
        };
        let stress = self.stress_or(stress);
        let size = 6 * self.layout.rows;
        let out = Shared::new(out);
        chunks(crew, 0..sites.used.len(), |range| {
            // SAFETY: every block is in one chunk.
            let out = unsafe { out.part(range.start * size, range.len() * size) };
            // SAFETY: promised by the caller; nobody writes nodes.
            unsafe {
                kernel!(
                    view.layout.width,
                    strain(
                        &view,
                        &self.records,
                        stress,
                        &sites.stress,
                        offset,
                        range,
                        out
                    )
                )
            }
        });
    }

    /// Writes the stress of the records, or one given, to `sites.stress` in global axes.
    pub fn globalise(&self, crew: &Crew, sites: &mut Sites, stress: Option<&[Wide]>) {
        let rows = self.layout.rows;
        let stress = self.stress_or(stress);
        let blocks = sites.used.len();
        let out = Shared::new(&mut sites.stress);
        chunks(crew, 0..blocks, |range| {
            // SAFETY: every block is in one chunk.
            let out = unsafe { out.part(range.start * rows, range.len() * rows) };
            let first = range.start * rows;
            dispatch!(Level::new(), simd => {
                kernels::globalise(simd, &self.layout, &self.records, stress, first, out)
            });
        });
    }

    /// Sets the stress of the records from six numbers a row.
    pub fn set_stress(&mut self, stress: &[Wide]) {
        let records = self.records.chunks_exact_mut(self.layout.size);
        for (record, stress) in records.zip(stress.chunks_exact(6)) {
            record[STRESS..STRESS + 6].copy_from_slice(stress);
        }
    }

    /// Takes six numbers a row for its strain correction.
    pub fn set_residual(&mut self, strain: &[Wide]) {
        let sites = strain.chunks_exact(6 * self.layout.rows.max(1));
        for (residual, site) in self.residual.iter_mut().zip(sites) {
            *residual = Default::default();
            for row in site.chunks_exact(6) {
                for lane in 0..LANES {
                    let square: f32 = row.iter().map(|x| x.0[lane] * x.0[lane]).sum();
                    residual[0].0[lane] += square;
                    residual[1].0[lane] = residual[1].0[lane].max(square);
                }
            }
        }
    }

    /// Projects the stress on the yield surface.
    pub fn project(&mut self, crew: &Crew, sites: &mut Sites) {
        let layout = self.layout;
        let rows = layout.rows;
        let records = Shared::new(&mut self.records);
        let blocks = sites.used.len();
        let stress = Shared::new(&mut sites.stress);
        chunks(crew, 0..blocks, |range| {
            let (first, count) = (range.start * rows, range.len() * rows);
            // SAFETY: every block is in one chunk.
            let (records, stress) = unsafe {
                (
                    records.part(first * layout.size, count * layout.size),
                    stress.part(first, count),
                )
            };
            dispatch!(Level::new(), simd => kernels::project(simd, &layout, records, stress));
        });
    }

    /// Integrated plastic and elastic strain increments of all rows, in global axes.
    ///
    /// # Safety
    /// Columns are indices of nodes.
    pub unsafe fn increments(
        &self,
        crew: &Crew,
        sites: &Sites,
        nodes: &[Node],
        critical: &[Lane],
        plastic: &mut [[Lane; 6]],
        elastic: &mut [[Lane; 6]],
    ) {
        let rows = self.layout.rows;
        let view = View {
            layout: self.layout,
            columns: &sites.columns,
            used: &sites.used,
            nodes: Shared::reading(nodes),
        };
        let (plastic, elastic) = (Shared::new(plastic), Shared::new(elastic));
        chunks(crew, 0..sites.used.len(), |range| {
            let (first, count) = (range.start * rows, range.len() * rows);
            // SAFETY: every block is in one chunk.
            let (plastic, elastic) =
                unsafe { (plastic.part(first, count), elastic.part(first, count)) };
            // SAFETY: promised by the caller; nobody writes nodes.
            unsafe {
                kernel!(
                    view.layout.width,
                    increments(
                        &view,
                        &self.records,
                        &sites.stress,
                        critical,
                        range,
                        plastic,
                        elastic
                    )
                )
            }
        });
    }
}
