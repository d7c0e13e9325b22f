//! Evaluating the blocks of one integral: geometry, inputs, tape, contraction, scatter.

use super::domain::Block;
use super::frame::{jacobians, side_frames};
use super::integral::{FieldUse, IntegralPlan};
use super::lanes::{LANES, Lane, load, splat};
use super::local::{contract, scatter};
use super::quantity;
use super::scatter::Shared;
use super::second::field_seconds;
use super::tables::{Basis, ParticleTile, RuleTile, Run, Table, Tile, for_table, tabulate};
use super::tape;
use super::vector::{gather_orientations, orient, orient_local, second_derivatives, vector_field};
use crate::form::lower::Input;
use crate::form::lower::scalar_slot::SECOND;
use crate::memory::Pool;
use crate::particle::ParticleSamples;
use fearless_simd::{Level, Simd, dispatch, prelude::*};
use std::ops::Range;

/// Values that an assembly reads: everything that may change between two assemblies.
pub(crate) struct Snapshot<'a> {
    /// Positions of the geometry nodes.
    pub nodes: &'a [[f64; 3]],
    /// Geometry nodes of each cell.
    pub cell_nodes: &'a [u32],
    /// 0 if the Jacobian is constant in each cell, else 1.
    pub stride: usize,
    pub uniforms: &'a [f64],
    /// Values of the fields of the program.
    pub fields: &'a [Vec<f64>],
    /// Data of the program at particles or points.
    pub particle_data: &'a [Vec<f64>],
    /// Where the particles are, if the integral is over particles.
    pub samples: Option<&'a ParticleSamples>,
}

/// Where results go.
#[derive(Clone, Copy)]
pub(crate) enum Sink<'a> {
    /// Values of a block matrix.
    Matrix(&'a Shared<'a>),
    Vector(&'a Shared<'a>),
    /// One sum for each chunk; the number is the chunk's.
    Scalar(&'a Shared<'a>, usize),
    /// `[cell][point][component]`, or by particle or sample.
    Values(&'a Shared<'a>),
}

/// Block arrays, cut from one borrowed buffer.
pub(super) struct Scratch<'a> {
    pub coords: &'a mut [Lane],
    pub inverse: &'a mut [Lane],
    pub measure: &'a mut [Lane],
    pub normal: &'a mut [Lane],
    pub registers: &'a mut [Lane],
    pub dofs: &'a mut [Lane],
    pub native: &'a mut [Lane],
    pub test: &'a mut [Lane],
    pub trial: &'a mut [Lane],
    pub weighted: &'a mut [Lane],
    pub slots: &'a mut [Lane],
    pub local: &'a mut [Lane],
    pub turns: &'a mut [Lane],
    pub second: &'a mut [Lane],
}

/// Work through one chunk of blocks with the widest instructions of this processor.
pub(crate) fn run_chunk(
    plan: &IntegralPlan,
    chunk: Range<usize>,
    snapshot: &Snapshot,
    pool: &Pool,
    sink: Sink,
) {
    let layout = plan.layout;
    let mut buffer = pool.borrow_dirty::<Lane>(layout.total());
    let mut rest: &mut [Lane] = &mut buffer;
    let mut cut = |len: usize| {
        let (part, tail) = std::mem::take(&mut rest).split_at_mut(len);
        rest = tail;
        part
    };
    let mut scratch = Scratch {
        coords: cut(layout.coords),
        inverse: cut(layout.inverse),
        measure: cut(layout.measure),
        normal: cut(layout.normal),
        registers: cut(layout.registers),
        dofs: cut(layout.dofs),
        native: cut(layout.native),
        test: cut(layout.test),
        trial: cut(layout.trial),
        weighted: cut(layout.weighted),
        slots: cut(layout.slots),
        local: cut(layout.local),
        turns: cut(layout.turns),
        second: cut(layout.second),
    };
    let mut functions = Functions {
        tables: cut(layout.tables),
        work: cut(layout.work),
    };
    let level = Level::new();
    dispatch!(level, simd => chunk_with(simd, plan, chunk, snapshot, &mut scratch, &mut functions, sink));
}

/// Shape functions at particles, and room to evaluate one element.
struct Functions<'a> {
    tables: &'a mut [Lane],
    work: &'a mut [Lane],
}

#[inline(always)]
fn chunk_with<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    chunk: Range<usize>,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    functions: &mut Functions,
    sink: Sink,
) {
    let mut total = 0.0;
    for number in chunk {
        let block = &plan.blocks[number];
        let mut sums = [0.0; LANES];
        let particles = plan.particles.as_ref().zip(snapshot.samples);
        let run = particles.and_then(|(_, samples)| Run::new(samples, block));
        let points = match (&run, &plan.particles) {
            (Some(run), _) => run.points(),
            (None, None) => plan.points,
            // No particle in any of the cells.
            (None, Some(_)) => continue,
        };
        for first in (0..points).step_by(plan.tile) {
            let count = plan.tile.min(points - first);
            let tile = match (&run, &plan.particles) {
                (Some(run), Some(particles)) => {
                    let Functions { tables, work } = functions;
                    tabulate(particles, run, first, count, tables, work);
                    Tile::Particles(ParticleTile {
                        plan: particles,
                        run,
                        tables,
                        first,
                        count,
                    })
                }
                _ => Tile::Rule(RuleTile {
                    plan,
                    group: &plan.groups[block.group as usize],
                    first,
                    count,
                }),
            };
            evaluate(simd, plan, block, tile, snapshot, scratch);
            contract(simd, plan, block, tile, snapshot, scratch, &mut sums, sink);
        }
        if plan.turns {
            orient_local(simd, plan, block, scratch);
        }
        scatter(plan, number, block, scratch, sink);
        // Unused lanes repeat an element and do not count.
        total += sums[..block.count as usize].iter().sum::<f64>();
    }
    if let Sink::Scalar(out, chunk) = sink {
        // SAFETY: every chunk has a number of its own.
        unsafe { out.part(chunk, 1)[0] = total };
    }
}

/// Geometry, inputs and tape for some points of a block.
#[inline(always)]
fn evaluate<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    tile: Tile,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
) {
    let gd = plan.space_dim;
    let td = plan.topology.cell_kind().dim();
    let group = &plan.groups[block.group as usize];
    let count = tile.count();
    let half = scratch.inverse.len() / plan.sides;
    // The outer side first, so that position and measure end up as the inner side's.
    for side in (0..plan.sides).rev() {
        let cells = block.cells(side);
        gather_coords(plan, cells, snapshot, scratch.coords);
        let jacobian_points = if snapshot.stride == 0 { 1 } else { count };
        let table = tile.table(side, Basis::Map);
        let seconds = plan.seconds(snapshot, count, side);
        if !seconds.is_empty() {
            let out = &mut scratch.second[seconds];
            for_table!(table, t => second_derivatives(simd, gd, t, scratch.coords, out));
        }
        let inverse = &mut scratch.inverse[side * half..(side + 1) * half];
        macro_rules! run {
            ($gd:literal, $td:literal) => {
                for_table!(table, t => jacobians::<S, _, $gd, $td>(
                    simd,
                    t,
                    scratch.coords,
                    jacobian_points,
                    inverse,
                    scratch.measure,
                ))
            };
        }
        match (gd, td) {
            (3, 3) => run!(3, 3),
            (2, 2) => run!(2, 2),
            (3, 2) => run!(3, 2),
            (2, 1) => run!(2, 1),
            (3, 1) => run!(3, 1),
            _ => run!(1, 1),
        }
        quantity::fill_cell_measures(
            simd,
            plan,
            side,
            count,
            &scratch.measure[..jacobian_points],
            scratch.registers,
        );
        if side == 0 {
            if let Some(reference) = group.normal {
                side_frames(
                    simd,
                    gd,
                    td,
                    reference,
                    jacobian_points,
                    1,
                    inverse,
                    scratch.measure,
                    scratch.normal,
                );
            }
            for q in jacobian_points..count {
                scratch.measure[q] = scratch.measure[0];
                for d in 0..gd {
                    scratch.normal[q * gd + d] = scratch.normal[d];
                }
            }
        }
        fill_inputs(simd, plan, block, side, tile, snapshot, scratch);
        quantity::fill(simd, plan, block, side, tile, snapshot, scratch);
    }
    fill_fields(simd, plan, block, tile, snapshot, scratch);
    tape::run(
        simd,
        &plan.program.tape,
        scratch.registers,
        snapshot.uniforms,
        count,
        scratch.native,
    );
}

#[inline(always)]
fn gather_coords(
    plan: &IntegralPlan,
    cells: &[u32; LANES],
    snapshot: &Snapshot,
    coords: &mut [Lane],
) {
    let n = plan.map_nodes;
    let gd = plan.space_dim;
    for (lane, &cell) in cells.iter().enumerate() {
        let nodes = &snapshot.cell_nodes[cell as usize * n..(cell as usize + 1) * n];
        for (i, &node) in nodes.iter().enumerate() {
            let x = &snapshot.nodes[node as usize];
            for d in 0..gd {
                coords[i * gd + d][lane] = x[d];
            }
        }
    }
}

/// Position, normal, cell size and cell data that the tape reads from this side.
#[inline(always)]
fn fill_inputs<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    side: usize,
    tile: Tile,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
) {
    let gd = plan.space_dim;
    let cells = block.cells(side);
    let points = tile.count();
    let table = tile.table(side, Basis::Map);
    let here = |s: &crate::form::SideOf| (*s == crate::form::SideOf::Outside) as usize == side;
    for (input, register) in &plan.program.inputs {
        let at = *register as usize * points;
        let out = &mut scratch.registers[at..at + points];
        match input {
            Input::Position(d) if side == 0 => {
                for_table!(table, t => positions(simd, t, *d, gd, scratch.coords, out));
            }
            Input::Normal(d) if side == 0 => {
                for (q, out) in out.iter_mut().enumerate() {
                    *out = scratch.normal[q * gd + d];
                }
            }
            Input::CellSize(s) if here(s) => {
                let mut square = splat(simd, 0.0);
                for i in 0..plan.map_nodes {
                    for j in 0..i {
                        let mut sum = splat(simd, 0.0);
                        for d in 0..gd {
                            let x = load(simd, &scratch.coords[i * gd + d])
                                - load(simd, &scratch.coords[j * gd + d]);
                            sum = x.mul_add(x, sum);
                        }
                        square = square.max(sum);
                    }
                }
                out.fill(square.sqrt().into());
            }
            Input::CellData(s, data) if here(s) => {
                out.fill(cells.map(|c| data.values[c as usize]));
            }
            Input::SideData(data) if side == 0 => {
                out.fill(block.element.map(|s| data.values[s as usize]));
            }
            &Input::ParticleData { data, component } if side == 0 => {
                let components = plan.program.particle_data[data].shape().len();
                tile.gather(
                    block,
                    &snapshot.particle_data[data],
                    components,
                    component,
                    out,
                );
            }
            _ => {}
        }
    }
}

/// Values and physical derivatives of discrete fields.
#[inline(always)]
fn fill_fields<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    tile: Tile,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
) {
    let gd = plan.space_dim;
    let td = plan.topology.cell_kind().dim();
    let count = tile.count();
    let half = scratch.inverse.len() / plan.sides;
    for part in &plan.fields {
        let space = plan.program.fields[part.field].space();
        let values = &snapshot.fields[part.field];
        let components = space.components();
        for (lane, &cell) in block.cells(part.side).iter().enumerate() {
            let nodes = space.cell_nodes(cell as usize);
            for (i, &node) in nodes.iter().enumerate() {
                scratch.dofs[i][lane] = values[node as usize * components + part.dof];
            }
            for dofs in &mut scratch.dofs[nodes.len()..space.nodes_per_cell()] {
                dofs[lane] = 0.0;
            }
        }
        let basis = Basis::Field(part.field);
        let inverse = &scratch.inverse[part.side * half..(part.side + 1) * half];
        if let Some(vectors) = space.vector_basis() {
            gather_orientations(vectors, block.cells(part.side), scratch.turns);
            orient(simd, vectors, scratch.turns, false, scratch.dofs, 0, 1);
            let table = tile.vectors(part.side, basis);
            macro_rules! run {
                ($d:literal) => {
                    vector_field::<S, $d>(
                        simd,
                        part,
                        vectors.element().piola(),
                        table,
                        count,
                        snapshot.stride,
                        inverse,
                        &scratch.second[plan.seconds(snapshot, count, part.side)],
                        scratch.dofs,
                        scratch.registers,
                    )
                };
            }
            match gd {
                2 => run!(2),
                _ => run!(3),
            }
            continue;
        }
        let table = tile.table(part.side, basis);
        for_table!(table, t => field_values(
            simd,
            part,
            t,
            [gd, td],
            count,
            snapshot.stride,
            inverse,
            scratch.dofs,
            scratch.registers,
        ));
        if part.registers[SECOND..].iter().all(Option::is_none) {
            continue;
        }
        let second = &scratch.second[plan.seconds(snapshot, count, part.side)];
        for_table!(table, t => field_seconds(
            simd,
            gd,
            part,
            t,
            count,
            snapshot.stride,
            inverse,
            second,
            scratch.dofs,
            scratch.registers,
        ));
    }
}

/// Coordinate `d` of the positions.
#[inline(always)]
fn positions<S: Simd, T: Table>(
    simd: S,
    table: T,
    d: usize,
    gd: usize,
    coords: &[Lane],
    out: &mut [Lane],
) {
    for (q, out) in out.iter_mut().enumerate() {
        let mut sum = splat(simd, 0.0);
        for i in 0..table.nodes() {
            let x = load(simd, &coords[i * gd + d]);
            sum = x.mul_add(table.value(simd, q * table.nodes() + i), sum);
        }
        *out = sum.into();
    }
}

/// One component of a field with the degrees of freedom `dofs`.
#[inline(always)]
fn field_values<S: Simd, T: Table>(
    simd: S,
    part: &FieldUse,
    table: T,
    [gd, td]: [usize; 2],
    count: usize,
    stride: usize,
    inverse: &[Lane],
    dofs: &[Lane],
    registers: &mut [Lane],
) {
    let derivatives = part.registers[1..SECOND].iter().any(Option::is_some);
    for q in 0..count {
        let from = q * table.nodes();
        if let Some(register) = part.registers[0] {
            let mut sum = splat(simd, 0.0);
            for i in 0..table.nodes() {
                let n = table.value(simd, from + i);
                sum = load(simd, &dofs[i]).mul_add(n, sum);
            }
            registers[register as usize * count + q] = sum.into();
        }
        if !derivatives {
            continue;
        }
        let mut reference = [splat(simd, 0.0); 3];
        for i in 0..table.nodes() {
            let u = load(simd, &dofs[i]);
            for k in 0..td {
                let g = table.gradient(simd, from + i, k);
                reference[k] = u.mul_add(g, reference[k]);
            }
        }
        let inv = &inverse[q * stride * td * gd..][..td * gd];
        for d in 0..gd {
            let Some(register) = part.registers[1 + d] else {
                continue;
            };
            let mut sum = splat(simd, 0.0);
            for k in 0..td {
                sum = load(simd, &inv[k * gd + d]).mul_add(reference[k], sum);
            }
            registers[register as usize * count + q] = sum.into();
        }
    }
}
