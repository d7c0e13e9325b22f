//! Local results of a block: coefficients contracted with basis functions, and added to the
//! global array.

use super::domain::Block;
use super::engine::{Scratch, Sink, Snapshot};
use super::integral::{IntegralPlan, MatrixPart, Parts, VectorPart};
use super::kernel::{Contraction, basis_slots, contract as contract_slots};
use super::lanes::{LANES, Lane, load, splat};
use super::scatter::Shared;
use super::tables::{Basis, Tile, for_table};
use super::tape;
use super::vector::vector_slots;
use crate::form::lower::Operand;
use crate::space::Space;
use fearless_simd::{Simd, f64x8, prelude::*};

#[inline(always)]
pub(super) fn contract<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    tile: Tile,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    sums: &mut [f64; LANES],
    sink: Sink,
) {
    let count = tile.count();
    // Weights and measures together from here on.
    tile.weigh(simd, scratch.measure);
    match &plan.parts {
        Parts::Matrix(parts) => {
            let mut local = 0;
            for part in parts {
                matrix_part(simd, plan, part, tile, snapshot, scratch, local);
                local += local_size(plan, part);
            }
        }
        Parts::Vector(parts) => {
            let mut local = 0;
            for part in parts {
                vector_part(simd, plan, part, tile, snapshot, scratch, local);
                local += part.components * nodes_of(&plan.program.test);
            }
        }
        Parts::Scalar(Some(value)) => {
            let mut sum = splat(simd, 0.0);
            for q in 0..count {
                let w = load(simd, &scratch.measure[q]);
                let v = tape::fetch(simd, scratch.registers, snapshot.uniforms, count, *value, q);
                sum = w.mul_add(counted(simd, tile, w, v), sum);
            }
            let sum: Lane = sum.into();
            for lane in 0..LANES {
                sums[lane] += sum[lane];
            }
        }
        Parts::Scalar(None) => {}
        Parts::Values { values, weights } => {
            let Sink::Values(out) = sink else { return };
            let width = values.len() + usize::from(*weights);
            for (lane, &element) in block.element[..block.count as usize].iter().enumerate() {
                let element = plan.value_place(element);
                for q in 0..count {
                    let Some((place, factor)) = tile.place(element, lane, q) else {
                        continue;
                    };
                    // SAFETY: every element is in one block only, and no two of its points have
                    // one place.
                    let out = unsafe { out.part(place * width, width) };
                    if *weights {
                        out[values.len()] = scratch.measure[q][lane];
                    }
                    for (out, value) in out.iter_mut().zip(values) {
                        let value = match *value {
                            None => 0.0,
                            Some(Operand::Uniform(u)) => snapshot.uniforms[u as usize],
                            Some(Operand::Register(r)) => {
                                scratch.registers[r as usize * count + q][lane]
                            }
                        };
                        *out = factor * value;
                    }
                }
            }
        }
    }
}

/// The integrand where it counts: at points without weight it may be anything, even not a number.
#[inline(always)]
fn counted<S: Simd>(simd: S, tile: Tile, weight: f64x8<S>, value: f64x8<S>) -> f64x8<S> {
    if !tile.ragged() {
        return value;
    }
    let zero = splat(simd, 0.0);
    weight.simd_eq(zero).select(zero, value)
}

fn local_size(plan: &IntegralPlan, part: &MatrixPart) -> usize {
    nodes_of(&plan.program.test) * nodes_of(&plan.program.trial) * part.components()
}

fn nodes_of(space: &Option<Space>) -> usize {
    space.as_ref().map_or(0, Space::nodes_per_cell)
}

/// Points and axes of a contraction.
fn folded(points: usize, axes: usize, folded: bool) -> (usize, usize) {
    if folded {
        (points * axes, 1)
    } else {
        (points, axes)
    }
}

/// Slots of the test or trial functions of a side.
#[inline(always)]
fn slots_of<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    tile: Tile,
    basis: Basis,
    side: usize,
    axes: &[u8],
    snapshot: &Snapshot,
    inverse: &[Lane],
    second: &[Lane],
    out: &mut [Lane],
) {
    let (points, stride) = (tile.count(), snapshot.stride);
    let half = inverse.len() / plan.sides;
    let inverse = &inverse[side * half..(side + 1) * half];
    if let Some(piola) = plan.piola(basis) {
        let table = tile.vectors(side, basis);
        let second = &second[plan.seconds(snapshot, points, side)];
        macro_rules! run {
            ($d:literal) => {
                vector_slots::<S, $d>(
                    simd, piola, axes, table, points, stride, inverse, second, out,
                )
            };
        }
        match plan.space_dim {
            2 => run!(2),
            _ => run!(3),
        }
        return;
    }
    for_table!(tile.table(side, basis), t => basis_slots(
        simd,
        plan.space_dim,
        plan.topology.cell_kind().dim(),
        axes,
        t,
        points,
        stride,
        inverse,
        out,
    ));
}

#[inline(always)]
fn matrix_part<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    part: &MatrixPart,
    tile: Tile,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    local: usize,
) {
    let count = tile.count();
    let rows = nodes_of(&plan.program.test);
    slots_of(
        simd,
        plan,
        tile,
        Basis::Test,
        part.test_side,
        &part.test_axes,
        snapshot,
        scratch.inverse,
        scratch.second,
        scratch.test,
    );
    let shared = part.test_side == part.trial_side
        && plan.same_functions
        && part.test_axes == part.trial_axes;
    if !shared {
        slots_of(
            simd,
            plan,
            tile,
            Basis::Trial,
            part.trial_side,
            &part.trial_axes,
            snapshot,
            scratch.inverse,
            scratch.second,
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
            scratch.weighted[q * operands + k] = (w * counted(simd, tile, w, v)).into();
        }
    }
    let trial_lanes: &[Lane] = if shared { scratch.test } else { scratch.trial };
    let trial_axes = part.trial_axes.len();
    let components = part.components();
    let width = part.targets.len();
    let n = nodes_of(&plan.program.trial);
    let add = tile.first() > 0;
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
        let rows = if part.symmetric { j + 1 } else { rows };
        // All slots of a vector-valued function multiply one degree of freedom, so they are summed
        // like further points.
        let (points, axes) = folded(count, part.test_axes.len(), part.folded);
        let job = Contraction {
            points,
            rows,
            components,
            basis: scratch.test,
            slots: &scratch.slots[..count * width],
            add,
            start: j * components,
            step: n * components,
        };
        contract_slots(simd, axes, &job, &mut scratch.local[local..]);
    }
}

#[inline(always)]
fn vector_part<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    part: &VectorPart,
    tile: Tile,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    local: usize,
) {
    let count = tile.count();
    slots_of(
        simd,
        plan,
        tile,
        Basis::Test,
        part.side,
        &part.axes,
        snapshot,
        scratch.inverse,
        scratch.second,
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
            scratch.slots[q * width + k] = (w * counted(simd, tile, w, v)).into();
        }
    }
    let components = part.components;
    let (points, axes) = folded(count, part.axes.len(), part.folded);
    let job = Contraction {
        points,
        rows: nodes_of(&plan.program.test),
        components,
        basis: scratch.test,
        slots: &scratch.slots[..count * width],
        add: tile.first() > 0,
        start: 0,
        step: components,
    };
    contract_slots(simd, axes, &job, &mut scratch.local[local..]);
}

/// Add the local results of a block to the global array.
#[inline(always)]
pub(super) fn scatter(
    plan: &IntegralPlan,
    number: usize,
    block: &Block,
    scratch: &Scratch,
    sink: Sink,
) {
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
    // Only i ≤ j was computed; the other half is its transpose. Mirrored entries are written
    // together: they receive the same numbers in the same order, and symmetry is exact.
    let n = pairs.isqrt();
    let b = part.blocks[0];
    for i in 0..n {
        for j in i..n {
            let values = &local[(i * n + j) * components..(i * n + j + 1) * components];
            let upper = &positions[(i * n + j) * LANES..(i * n + j) * LANES + lanes];
            let lower = &positions[(j * n + i) * LANES..(j * n + i) * LANES + lanes];
            for (lane, (&position, &mirrored)) in upper.iter().zip(lower).enumerate() {
                // SAFETY: as above.
                let out_upper = unsafe { out.part(position as usize * components, components) };
                if i == j {
                    for c in 0..b {
                        for d in 0..b {
                            // The upper half of the block serves its lower half too.
                            out_upper[c * b + d] += values[c.min(d) * b + c.max(d)][lane];
                        }
                    }
                    continue;
                }
                for (out, value) in out_upper.iter_mut().zip(values) {
                    *out += value[lane];
                }
                // SAFETY: as above, and the part before is no longer in use.
                let out_lower = unsafe { out.part(mirrored as usize * components, components) };
                if components == 1 {
                    out_lower[0] += values[0][lane];
                    continue;
                }
                for c in 0..b {
                    for d in 0..b {
                        out_lower[c * b + d] += values[d * b + c][lane];
                    }
                }
            }
        }
    }
}
