//! Evaluating the blocks of one integral: geometry, inputs, tape, contraction, scatter.

use super::domain::Block;
use super::frame::{MapTable, jacobians, side_frames};
use super::integral::{IntegralPlan, MatrixPart, Parts, VectorPart};
use super::kernel::{Contraction, basis_slots, contract as contract_slots};
use super::lanes::{LANES, Lane, load, splat};
use super::scatter::Shared;
use super::tape;
use crate::element::Tabulation;
use crate::form::lower::{Input, Operand};
use crate::memory::Pool;
use fearless_simd::{Level, Simd, dispatch, prelude::*};
use std::ops::Range;

/// Values that an assembly reads: everything that may change between two assemblies.
pub(crate) struct Snapshot<'a> {
    /// Positions of the geometry nodes.
    pub nodes: &'a [[f64; 3]],
    /// Geometry nodes of each cell.
    pub cell_nodes: &'a [u32],
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
struct Scratch<'a> {
    coords: &'a mut [Lane],
    inverse: &'a mut [Lane],
    measure: &'a mut [Lane],
    normal: &'a mut [Lane],
    registers: &'a mut [Lane],
    dofs: &'a mut [Lane],
    native: &'a mut [Lane],
    test: &'a mut [Lane],
    trial: &'a mut [Lane],
    weighted: &'a mut [Lane],
    slots: &'a mut [Lane],
    local: &'a mut [Lane],
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
        let jacobian_points = if plan.stride == 0 { 1 } else { count };
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
        fill_inputs(simd, plan, side, cells, &table, count, scratch, snapshot);
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
    _snapshot: &Snapshot,
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
            let inv = &inverse[q * plan.stride * td * gd..][..td * gd];
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

#[inline(always)]
fn contract<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    points: Range<usize>,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    sums: &mut [f64; LANES],
    sink: Sink,
) {
    let count = points.len();
    // Weights and measures together from here on.
    for (q, &w) in plan.weights[points.clone()].iter().enumerate() {
        scratch.measure[q] = (load(simd, &scratch.measure[q]) * w).into();
    }
    match &plan.parts {
        Parts::Matrix(parts) => {
            let mut local = 0;
            for part in parts {
                matrix_part(simd, plan, block, part, &points, snapshot, scratch, local);
                local += local_size(plan, part);
            }
        }
        Parts::Vector(parts) => {
            let mut local = 0;
            for part in parts {
                vector_part(simd, plan, block, part, &points, snapshot, scratch, local);
                local +=
                    part.components * plan.program.test.as_ref().map_or(0, |s| s.nodes_per_cell());
            }
        }
        Parts::Scalar(Some(value)) => {
            let mut sum = splat(simd, 0.0);
            for q in 0..count {
                let v = tape::fetch(simd, scratch.registers, snapshot.uniforms, count, *value, q);
                sum = load(simd, &scratch.measure[q]).mul_add(v, sum);
            }
            let sum: Lane = sum.into();
            for lane in 0..LANES {
                sums[lane] += sum[lane];
            }
        }
        Parts::Scalar(None) => {}
        Parts::Values(values) => {
            let Sink::Values(out) = sink else { return };
            for (lane, &cell) in block.inside[..block.count as usize].iter().enumerate() {
                let at = (cell as usize * plan.points + points.start) * values.len();
                // SAFETY: every cell is in one block only.
                let out = unsafe { out.part(at, count * values.len()) };
                for (k, out) in out.iter_mut().enumerate() {
                    let (q, component) = (k / values.len(), k % values.len());
                    *out = match values[component] {
                        None => 0.0,
                        Some(Operand::Uniform(u)) => snapshot.uniforms[u as usize],
                        Some(Operand::Register(r)) => {
                            scratch.registers[r as usize * count + q][lane]
                        }
                    };
                }
            }
        }
    }
}

pub(crate) fn local_size(plan: &IntegralPlan, part: &MatrixPart) -> usize {
    let nodes =
        |space: &Option<crate::space::Space>| space.as_ref().map_or(0, |s| s.nodes_per_cell());
    nodes(&plan.program.test) * nodes(&plan.program.trial) * part.components()
}

#[inline(always)]
fn slots_of<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    table: &Tabulation,
    side: usize,
    axes: &[u8],
    points: &Range<usize>,
    inverse: &[Lane],
    out: &mut [Lane],
) {
    let half = inverse.len() / plan.sides;
    let n = table.nodes;
    basis_slots(
        simd,
        plan.space_dim,
        plan.topology.cell_kind().dim(),
        axes,
        n,
        &table.values[points.start * n..points.end * n],
        &table.gradients[points.start * n..points.end * n],
        points.len(),
        plan.stride,
        &inverse[side * half..(side + 1) * half],
        out,
    );
}

#[inline(always)]
fn matrix_part<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    part: &MatrixPart,
    points: &Range<usize>,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    local: usize,
) {
    let count = points.len();
    let group = &plan.groups[block.group as usize];
    let (Some(test), Some(trial)) = (
        &group.sides[part.test_side].test,
        &group.sides[part.trial_side].trial,
    ) else {
        return;
    };
    slots_of(
        simd,
        plan,
        test,
        part.test_side,
        &part.test_axes,
        points,
        scratch.inverse,
        scratch.test,
    );
    let shared = part.test_side == part.trial_side
        && std::sync::Arc::ptr_eq(test, trial)
        && part.test_axes == part.trial_axes;
    if !shared {
        slots_of(
            simd,
            plan,
            trial,
            part.trial_side,
            &part.trial_axes,
            points,
            scratch.inverse,
            scratch.trial,
        );
    }
    let operands = part.operands.len();
    for q in 0..count {
        let w = load(simd, &scratch.measure[q]);
        for (k, &operand) in part.operands.iter().enumerate() {
            let v = tape::fetch(
                simd,
                scratch.registers,
                snapshot.uniforms,
                count,
                operand,
                q,
            );
            scratch.weighted[q * operands + k] = (w * v).into();
        }
    }
    let trial_lanes: &[Lane] = if shared { scratch.test } else { scratch.trial };
    let trial_axes = part.trial_axes.len();
    let components = part.components();
    let width = part.targets.len();
    let n = trial.nodes;
    let add = points.start > 0;
    for j in 0..n {
        // Trial function j with the coefficients put in: what the test slots multiply.
        for q in 0..count {
            let weighted = &scratch.weighted[q * operands..(q + 1) * operands];
            let basis = &trial_lanes[(j * count + q) * trial_axes..][..trial_axes];
            let slots = &mut scratch.slots[q * width..(q + 1) * width];
            for (slot, &(from, to)) in slots.iter_mut().zip(&part.targets) {
                let mut sum = splat(simd, 0.0);
                for &(operand, axis) in &part.entries[from as usize..to as usize] {
                    let c = load(simd, &weighted[operand as usize]);
                    sum = c.mul_add(load(simd, &basis[axis as usize]), sum);
                }
                *slot = sum.into();
            }
        }
        let rows = if part.symmetric { j + 1 } else { test.nodes };
        let job = Contraction {
            points: count,
            rows,
            components,
            basis: scratch.test,
            slots: &scratch.slots[..count * width],
            add,
            start: j * components,
            step: n * components,
        };
        contract_slots(
            simd,
            part.test_axes.len(),
            &job,
            &mut scratch.local[local..],
        );
    }
}

#[inline(always)]
fn vector_part<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    part: &VectorPart,
    points: &Range<usize>,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    local: usize,
) {
    let count = points.len();
    let group = &plan.groups[block.group as usize];
    let Some(test) = &group.sides[part.side].test else {
        return;
    };
    slots_of(
        simd,
        plan,
        test,
        part.side,
        &part.axes,
        points,
        scratch.inverse,
        scratch.test,
    );
    let width = part.coefficients.len();
    for q in 0..count {
        let w = load(simd, &scratch.measure[q]);
        for (k, coefficient) in part.coefficients.iter().enumerate() {
            let v = match coefficient {
                None => splat(simd, 0.0),
                Some(operand) => tape::fetch(
                    simd,
                    scratch.registers,
                    snapshot.uniforms,
                    count,
                    *operand,
                    q,
                ),
            };
            scratch.slots[q * width + k] = (w * v).into();
        }
    }
    let components = part.components;
    let job = Contraction {
        points: count,
        rows: test.nodes,
        components,
        basis: scratch.test,
        slots: &scratch.slots[..count * width],
        add: points.start > 0,
        start: 0,
        step: components,
    };
    contract_slots(simd, part.axes.len(), &job, &mut scratch.local[local..]);
}

/// Add the local results of a block to the global array.
#[inline(always)]
fn scatter(plan: &IntegralPlan, number: usize, block: &Block, scratch: &Scratch, sink: Sink) {
    let lanes = block.count as usize;
    match (&plan.parts, sink) {
        (Parts::Matrix(parts), Sink::Matrix(out)) => {
            let mut local = 0;
            for part in parts {
                let size = local_size(plan, part);
                matrix_scatter(
                    number,
                    part,
                    &scratch.local[local..local + size],
                    lanes,
                    out,
                );
                local += size;
            }
        }
        (Parts::Vector(parts), Sink::Vector(out)) => {
            let Some(space) = &plan.program.test else {
                return;
            };
            let mut local = 0;
            for part in parts {
                let components = part.components;
                for (lane, &cell) in block.cells(part.side)[..lanes].iter().enumerate() {
                    for (i, &node) in space.cell_nodes(cell as usize).iter().enumerate() {
                        let at = node as usize * components;
                        // SAFETY: chunks of one colour share no node.
                        let out = unsafe { out.part(at, components) };
                        for (c, out) in out.iter_mut().enumerate() {
                            *out += scratch.local[local + i * components + c][lane];
                        }
                    }
                }
                local += components * space.nodes_per_cell();
            }
        }
        _ => {}
    }
}

#[inline(always)]
fn matrix_scatter(number: usize, part: &MatrixPart, local: &[Lane], lanes: usize, out: &Shared) {
    let components = part.components();
    let pairs = local.len() / components;
    let positions = &part.positions[number * pairs * LANES..(number + 1) * pairs * LANES];
    if !part.symmetric {
        for (positions, values) in positions
            .chunks_exact(LANES)
            .zip(local.chunks_exact(components))
        {
            for (lane, &position) in positions[..lanes].iter().enumerate() {
                // SAFETY: chunks of one colour share no test node, so no matrix row.
                let out = unsafe { out.part(position as usize * components, components) };
                for (out, value) in out.iter_mut().zip(values) {
                    *out += value[lane];
                }
            }
        }
        return;
    }
    // Only i ≤ j was computed; the other half is its transpose.
    let n = pairs.isqrt();
    let b = part.blocks[0];
    for i in 0..n {
        for j in 0..n {
            let pair = i * n + j;
            let source = if i <= j { pair } else { j * n + i };
            let values = &local[source * components..(source + 1) * components];
            let positions = &positions[pair * LANES..pair * LANES + lanes];
            for (lane, &position) in positions.iter().enumerate() {
                // SAFETY: as above.
                let out = unsafe { out.part(position as usize * components, components) };
                if i <= j || components == 1 {
                    for (out, value) in out.iter_mut().zip(values) {
                        *out += value[lane];
                    }
                } else {
                    for c in 0..b {
                        for d in 0..b {
                            out[c * b + d] += values[d * b + c][lane];
                        }
                    }
                }
            }
        }
    }
}
