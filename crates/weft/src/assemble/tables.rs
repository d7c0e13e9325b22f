//! Shape functions at the points of a tile.
//!
//! A tile is some points of a block. With a rule all lanes have the same points, so functions are
//! tabulated once with the plan ([`RuleTile`]). With particles each lane has those of its own cell,
//! and functions are evaluated there as they come ([`ParticleTile`]); lanes with fewer points than the
//! fullest have points without weight at the end.

use super::domain::Block;
use super::integral::{Functions, Group, IntegralPlan, ParticlePlan, SideTables};
use super::lanes::{LANES, Lane, load, splat};
use super::vector::VectorTable;
use crate::form::lower::scalar_slot::PAIRS;
use crate::particle::ParticleSamples;
use fearless_simd::{Simd, f64x8};

/// Values, reference gradients and, if planned, second derivatives of the functions of one element:
/// function `i` at point `q` of the tile has number `q * nodes + i`.
pub(crate) trait Table: Copy {
    fn nodes(self) -> usize;
    fn value<S: Simd>(self, simd: S, at: usize) -> f64x8<S>;
    fn gradient<S: Simd>(self, simd: S, at: usize, axis: usize) -> f64x8<S>;
    /// Along the axes [`PAIRS`]`[pair]`.
    fn second<S: Simd>(self, simd: S, at: usize, pair: usize) -> f64x8<S>;
}

/// The same in all lanes.
#[derive(Clone, Copy)]
pub(crate) struct Common<'a> {
    nodes: usize,
    values: &'a [f64],
    gradients: &'a [[f64; 3]],
    hessians: &'a [[[f64; 3]; 3]],
}

impl Table for Common<'_> {
    #[inline(always)]
    fn nodes(self) -> usize {
        self.nodes
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, at: usize) -> f64x8<S> {
        splat(simd, self.values[at])
    }
    #[inline(always)]
    fn gradient<S: Simd>(self, simd: S, at: usize, axis: usize) -> f64x8<S> {
        splat(simd, self.gradients[at][axis])
    }
    #[inline(always)]
    fn second<S: Simd>(self, simd: S, at: usize, pair: usize) -> f64x8<S> {
        let [a, b] = PAIRS[pair];
        splat(simd, self.hessians[at][a][b])
    }
}

/// Each lane's own.
#[derive(Clone, Copy)]
pub(crate) struct PerLane<'a> {
    nodes: usize,
    dim: usize,
    values: &'a [Lane],
    gradients: &'a [Lane],
    seconds: &'a [Lane],
}

impl Table for PerLane<'_> {
    #[inline(always)]
    fn nodes(self) -> usize {
        self.nodes
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, at: usize) -> f64x8<S> {
        load(simd, &self.values[at])
    }
    #[inline(always)]
    fn gradient<S: Simd>(self, simd: S, at: usize, axis: usize) -> f64x8<S> {
        load(simd, &self.gradients[at * self.dim + axis])
    }
    #[inline(always)]
    fn second<S: Simd>(self, simd: S, at: usize, pair: usize) -> f64x8<S> {
        load(simd, &self.seconds[at * PAIRS.len() + pair])
    }
}

/// Whose functions.
#[derive(Clone, Copy)]
pub(crate) enum Basis {
    /// The geometry's map.
    Map,
    Test,
    Trial,
    /// Field of the program.
    Field(usize),
}

/// A table of either kind. Code that reads tables is compiled for both ([`for_table`]), the rest of
/// an assembly is not.
#[derive(Clone, Copy)]
pub(crate) enum AnyTable<'a> {
    Common(Common<'a>),
    PerLane(PerLane<'a>),
}

/// An expression with `$table` standing for the table of `$any`.
macro_rules! for_table {
    ($any:expr, $table:ident => $e:expr) => {
        match $any {
            $crate::assemble::tables::AnyTable::Common($table) => $e,
            $crate::assemble::tables::AnyTable::PerLane($table) => $e,
        }
    };
}
pub(crate) use for_table;

#[derive(Clone, Copy)]
pub(crate) enum Tile<'a> {
    Rule(RuleTile<'a>),
    Particles(ParticleTile<'a>),
}

impl<'a> Tile<'a> {
    /// Number of the first point.
    #[inline(always)]
    pub fn first(self) -> usize {
        match self {
            Tile::Rule(t) => t.first,
            Tile::Particles(t) => t.first,
        }
    }

    /// Number of points.
    #[inline(always)]
    pub fn count(self) -> usize {
        match self {
            Tile::Rule(t) => t.count,
            Tile::Particles(t) => t.count,
        }
    }

    /// Whether points may have no weight, where the integrand need not be a number.
    #[inline(always)]
    pub fn ragged(self) -> bool {
        matches!(self, Tile::Particles(_))
    }

    #[inline(always)]
    pub fn table(self, side: usize, basis: Basis) -> AnyTable<'a> {
        match self {
            Tile::Rule(t) => AnyTable::Common(t.table(side, basis)),
            Tile::Particles(t) => AnyTable::PerLane(t.table(basis)),
        }
    }

    /// The table of vector-valued functions.
    #[inline(always)]
    pub fn vectors(self, side: usize, basis: Basis) -> VectorTable<'a> {
        match self {
            Tile::Rule(t) => t.vectors(side, basis),
            // Refused when the form was planned.
            Tile::Particles(_) => unreachable!("no vector-valued functions at particles"),
        }
    }

    /// Coordinate `k` of the points in the reference cell.
    #[inline(always)]
    pub fn reference(self, side: usize, k: usize, out: &mut [Lane]) {
        match self {
            Tile::Rule(t) => {
                let points = &t.group.sides[side].points[t.first..t.first + t.count];
                for (out, xi) in out.iter_mut().zip(points) {
                    *out = [xi[k]; LANES];
                }
            }
            Tile::Particles(t) => {
                for (q, out) in out.iter_mut().enumerate() {
                    for (lane, out) in out.iter_mut().enumerate() {
                        let sample = t.run.sample(lane, t.first + q);
                        *out = sample.map_or(0.0, |s| t.run.samples.xi()[s][k]);
                    }
                }
            }
        }
    }

    /// From measure densities to weights.
    #[inline(always)]
    pub fn weigh<S: Simd>(self, simd: S, measure: &mut [Lane]) {
        match self {
            Tile::Rule(t) => {
                let weights = &t.plan.weights[t.first..t.first + t.count];
                for (measure, &w) in measure.iter_mut().zip(weights) {
                    *measure = (load(simd, measure) * w).into();
                }
            }
            Tile::Particles(t) => t.weigh(measure),
        }
    }

    /// Where the value at a point goes, in units of values, and a factor for it.
    #[inline(always)]
    pub fn place(self, element: u32, lane: usize, q: usize) -> Option<(usize, f64)> {
        match self {
            Tile::Rule(t) => Some((element as usize * t.plan.points + t.first + q, 1.0)),
            Tile::Particles(t) => t.place(lane, q),
        }
    }

    /// A component of data at the points.
    #[inline(always)]
    pub fn gather(
        self,
        block: &Block,
        values: &[f64],
        components: usize,
        component: usize,
        out: &mut [Lane],
    ) {
        match self {
            Tile::Rule(t) => {
                for (q, out) in out.iter_mut().enumerate() {
                    let at = |e: u32| e as usize * t.plan.points + t.first + q;
                    *out = block
                        .element
                        .map(|e| values[at(e) * components + component]);
                }
            }
            Tile::Particles(t) => t.gather(values, components, component, out),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct RuleTile<'a> {
    pub plan: &'a IntegralPlan,
    pub group: &'a Group,
    pub first: usize,
    pub count: usize,
}

/// # Panics
/// Never: tables are made for whatever the program holds.
fn planned<T>(table: Option<T>) -> T {
    match table {
        Some(table) => table,
        None => unreachable!("the program holds this function"),
    }
}

impl<'a> RuleTile<'a> {
    #[inline(always)]
    fn functions(self, side: usize, basis: Basis) -> &'a Functions {
        let tables: &SideTables = &self.group.sides[side];
        match basis {
            Basis::Map | Basis::Test => planned(tables.test.as_ref()),
            Basis::Trial => planned(tables.trial.as_ref()),
            Basis::Field(field) => &tables.fields[field],
        }
    }

    #[inline(always)]
    fn vectors(self, side: usize, basis: Basis) -> VectorTable<'a> {
        match self.functions(side, basis) {
            Functions::Vectors(table) => VectorTable::new(table, self.first, self.count),
            Functions::Scalars(_) => unreachable!("vector-valued functions are asked for"),
        }
    }

    #[inline(always)]
    fn table(self, side: usize, basis: Basis) -> Common<'a> {
        let tables: &SideTables = &self.group.sides[side];
        let all = match basis {
            Basis::Map => &tables.map,
            _ => match self.functions(side, basis) {
                Functions::Scalars(table) => table,
                Functions::Vectors(_) => unreachable!("scalar functions are asked for"),
            },
        };
        let range = self.first * all.nodes..(self.first + self.count) * all.nodes;
        Common {
            nodes: all.nodes,
            values: &all.values[range.clone()],
            gradients: &all.gradients[range.clone()],
            hessians: all.hessians.get(range).unwrap_or(&[]),
        }
    }
}

/// The samples of the cells of a block.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub samples: &'a ParticleSamples,
    starts: [usize; LANES],
    counts: [usize; LANES],
    /// Some sample of the block.
    any: usize,
}

impl<'a> Run<'a> {
    /// `None` if there is no sample in the block.
    pub fn new(samples: &'a ParticleSamples, block: &Block) -> Option<Run<'a>> {
        let ranges = block.inside.map(|cell| samples.in_cell(cell as usize));
        let used = &ranges[..block.count as usize];
        let any = used.iter().find(|r| !r.is_empty())?.start;
        let mut counts = [0; LANES];
        for (count, range) in counts.iter_mut().zip(used) {
            *count = range.len();
        }
        Some(Run {
            samples,
            starts: ranges.map(|r| r.start),
            counts,
            any,
        })
    }

    /// Points in the fullest cell.
    pub fn points(&self) -> usize {
        self.counts.into_iter().max().unwrap_or(0)
    }

    #[inline(always)]
    fn sample(&self, lane: usize, point: usize) -> Option<usize> {
        (point < self.counts[lane]).then(|| self.starts[lane] + point)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct ParticleTile<'a> {
    pub plan: &'a ParticlePlan,
    pub run: &'a Run<'a>,
    /// Filled by [`tabulate`].
    pub tables: &'a [Lane],
    pub first: usize,
    pub count: usize,
}

impl<'a> ParticleTile<'a> {
    #[inline(always)]
    fn table(self, basis: Basis) -> PerLane<'a> {
        let plan = self.plan;
        let element = match basis {
            Basis::Map => plan.map,
            Basis::Test => planned(plan.test),
            Basis::Trial => planned(plan.trial),
            Basis::Field(field) => plan.fields[field],
        };
        let (nodes, dim) = (plan.elements[element].node_count(), plan.dim);
        let [values, gradients, seconds] = plan.ranges(element, self.count);
        PerLane {
            nodes,
            dim,
            values: &self.tables[values],
            gradients: &self.tables[gradients],
            seconds: &self.tables[seconds],
        }
    }

    fn weigh(self, measure: &mut [Lane]) {
        for (q, measure) in measure[..self.count].iter_mut().enumerate() {
            for (lane, measure) in measure.iter_mut().enumerate() {
                let sample = self.run.sample(lane, self.first + q);
                *measure = sample.map_or(0.0, |s| self.run.samples.weights()[s]);
            }
        }
    }

    fn place(self, lane: usize, q: usize) -> Option<(usize, f64)> {
        let sample = self.run.sample(lane, self.first + q)?;
        let samples = self.run.samples;
        let place = match samples.several() {
            true => sample,
            false => samples.particles()[sample] as usize,
        };
        let factor = match self.plan.weighted {
            true => samples.weights()[sample],
            false => samples.shares()[sample],
        };
        Some((place, factor))
    }

    fn gather(self, values: &[f64], components: usize, component: usize, out: &mut [Lane]) {
        for (q, out) in out.iter_mut().enumerate() {
            for (lane, out) in out.iter_mut().enumerate() {
                let sample = self.run.sample(lane, self.first + q);
                let particle = self.run.samples.particles()[sample.unwrap_or(self.run.any)];
                *out = values[particle as usize * components + component];
            }
        }
    }
}

/// Evaluate all elements of a plan at points `first .. first + count` of a run. `work` has room
/// for the values and derivatives of one element.
pub(super) fn tabulate(
    plan: &ParticlePlan,
    run: &Run,
    first: usize,
    count: usize,
    tables: &mut [Lane],
    work: &mut [Lane],
) {
    let dim = plan.dim;
    let work = work.as_flattened_mut();
    for (number, element) in plan.elements.iter().enumerate() {
        let n = element.node_count();
        let (own_values, rest) = work.split_at_mut(n);
        let (own_gradients, rest) = rest.split_at_mut(3 * n);
        let own_gradients = own_gradients.as_chunks_mut::<3>().0;
        let own_hessians = rest.as_chunks_mut::<3>().0.as_chunks_mut::<3>().0;
        let centre = &plan.centres[number];
        let [values, gradients, seconds] = plan.ranges(number, count);
        for q in 0..count {
            for lane in 0..LANES {
                let (from, slopes): (&[f64], &[[f64; 3]]) = match run.sample(lane, first + q) {
                    Some(sample) => {
                        element.evaluate(run.samples.xi()[sample], own_values, own_gradients);
                        if element.is_of_particles() {
                            own_values[first + q] = 1.0;
                        }
                        (own_values, own_gradients)
                    }
                    None => (&centre.values, &centre.gradients),
                };
                let to = &mut tables[values.start + q * n..][..n];
                for (to, from) in to.iter_mut().zip(from) {
                    to[lane] = *from;
                }
                let to = &mut tables[gradients.start + q * n * dim..][..n * dim];
                for (to, from) in to.chunks_exact_mut(dim).zip(slopes) {
                    for (to, from) in to.iter_mut().zip(from) {
                        to[lane] = *from;
                    }
                }
                if !plan.second {
                    continue;
                }
                let hessians: &[[[f64; 3]; 3]] = match run.sample(lane, first + q) {
                    Some(sample) => {
                        element.hessians(run.samples.xi()[sample], own_hessians);
                        own_hessians
                    }
                    None => &centre.hessians,
                };
                let each = PAIRS.len();
                let to = &mut tables[seconds.start + q * n * each..][..n * each];
                for (to, from) in to.chunks_exact_mut(each).zip(hessians) {
                    for (to, [a, b]) in to.iter_mut().zip(PAIRS) {
                        to[lane] = from[a][b];
                    }
                }
            }
        }
    }
}
