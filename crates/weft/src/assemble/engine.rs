//! Evaluating the blocks of one integral: geometry, inputs, tape, contraction, scatter.

use super::domain::Block;
use super::frame::{MapTable, jacobians, side_frames};
use super::integral::IntegralPlan;
use super::lanes::{LANES, Lane, load, splat};
use super::local::{contract, scatter};
use super::scatter::Shared;
use super::tape;
use crate::element::Tabulation;
use crate::form::lower::Input;
use crate::memory::Pool;
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
}

/// Where results go.
#[derive(Clone, Copy)]
pub(crate) enum Sink<'a> {
    /// Values of a block matrix.
    Matrix(&'a Shared<'a>),
    Vector(&'a Shared<'a>),
    /// One sum for each chunk; the number is the chunk's.
    Scalar(&'a Shared<'a>, usize),
    /// `[cell][point][component]`.
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
    };
    let level = Level::new();
    dispatch!(level, simd => chunk_with(simd, plan, chunk, snapshot, &mut scratch, sink));
}

#[inline(always)]
fn chunk_with<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    chunk: Range<usize>,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    sink: Sink,
) {
    let mut total = 0.0;
    for number in chunk {
        let block = &plan.blocks[number];
        let mut sums = [0.0; LANES];
        let mut first = 0;
        while first < plan.points {
            let points = first..(first + plan.tile).min(plan.points);
            evaluate(simd, plan, block, points.clone(), snapshot, scratch);
            contract(
                simd,
                plan,
                block,
                points.clone(),
                snapshot,
                scratch,
                &mut sums,
                sink,
            );
            first = points.end;
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
    points: Range<usize>,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
) {
    let gd = plan.space_dim;
    let td = plan.topology.cell_kind().dim();
    let group = &plan.groups[block.group as usize];
    let count = points.len();
    let half = scratch.inverse.len() / plan.sides;
    // The outer side first, so that position and measure end up as the inner side's.
    for side in (0..plan.sides).rev() {
        let cells = block.cells(side);
        gather_coords(plan, cells, snapshot, scratch.coords);
        let map = &group.sides[side].map;
        let jacobian_points = if snapshot.stride == 0 { 1 } else { count };
        let table = MapTable {
            nodes: map.nodes,
            values: &map.values[points.start * map.nodes..points.end * map.nodes],
            gradients: &map.gradients[points.start * map.nodes..points.end * map.nodes],
        };
        let inverse = &mut scratch.inverse[side * half..(side + 1) * half];
        macro_rules! run {
            ($gd:literal, $td:literal) => {
                jacobians::<S, $gd, $td>(
                    simd,
                    &table,
                    scratch.coords,
                    jacobian_points,
                    inverse,
                    scratch.measure,
                )
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
        fill_inputs(simd, plan, side, cells, &table, count, scratch);
    }
    fill_fields(simd, plan, block, points, snapshot, scratch);
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
    side: usize,
    cells: &[u32; LANES],
    table: &MapTable,
    points: usize,
    scratch: &mut Scratch,
) {
    let gd = plan.space_dim;
    let here = |s: &crate::form::SideOf| (*s == crate::form::SideOf::Outside) as usize == side;
    for (input, register) in &plan.program.inputs {
        let at = *register as usize * points;
        let out = &mut scratch.registers[at..at + points];
        match input {
            Input::Position(d) if side == 0 => {
                for (q, out) in out.iter_mut().enumerate() {
                    let mut sum = splat(simd, 0.0);
                    for i in 0..table.nodes {
                        let x = load(simd, &scratch.coords[i * gd + d]);
                        sum = x.mul_add(splat(simd, table.values[q * table.nodes + i]), sum);
                    }
                    *out = sum.into();
                }
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
    points: Range<usize>,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
) {
    let gd = plan.space_dim;
    let td = plan.topology.cell_kind().dim();
    let count = points.len();
    let half = scratch.inverse.len() / plan.sides;
    let group = &plan.groups[block.group as usize];
    for part in &plan.fields {
        let space = plan.program.fields[part.field].space();
        let table: &Tabulation = &group.sides[part.side].fields[part.field];
        let values = &snapshot.fields[part.field];
        let components = space.components();
        for (lane, &cell) in block.cells(part.side).iter().enumerate() {
            for (i, &node) in space.cell_nodes(cell as usize).iter().enumerate() {
                scratch.dofs[i][lane] = values[node as usize * components + part.dof];
            }
        }
        let inverse = &scratch.inverse[part.side * half..(part.side + 1) * half];
        let derivatives = part.registers[1..].iter().any(Option::is_some);
        for q in 0..count {
            let from = (points.start + q) * table.nodes;
            if let Some(register) = part.registers[0] {
                let mut sum = splat(simd, 0.0);
                for (i, &n) in table.values[from..from + table.nodes].iter().enumerate() {
                    sum = load(simd, &scratch.dofs[i]).mul_add(splat(simd, n), sum);
                }
                scratch.registers[register as usize * count + q] = sum.into();
            }
            if !derivatives {
                continue;
            }
            let mut reference = [splat(simd, 0.0); 3];
            for (i, g) in table.gradients[from..from + table.nodes].iter().enumerate() {
                let u = load(simd, &scratch.dofs[i]);
                for k in 0..td {
                    reference[k] = u.mul_add(splat(simd, g[k]), reference[k]);
                }
            }
            let inv = &inverse[q * snapshot.stride * td * gd..][..td * gd];
            for d in 0..gd {
                let Some(register) = part.registers[1 + d] else {
                    continue;
                };
                let mut sum = splat(simd, 0.0);
                for k in 0..td {
                    sum = load(simd, &inv[k * gd + d]).mul_add(reference[k], sum);
                }
                scratch.registers[register as usize * count + q] = sum.into();
            }
        }
    }
}
