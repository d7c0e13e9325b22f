//! Filling in what integrands ask of their place: see [`Quantity`].

use super::domain::Block;
use super::engine::{Scratch, Snapshot};
use super::integral::IntegralPlan;
use super::lanes::{Lane, load, splat};
use super::tables::{Basis, Table, Tile, for_table};
use crate::form::lower::Input;
use crate::form::{Quantity, SideOf};
use fearless_simd::{Simd, f64x8, prelude::*};

/// Quantities of the cells on one side, as (quantity, component, register).
fn quantities(plan: &IntegralPlan, side: usize) -> impl Iterator<Item = (Quantity, usize, u32)> {
    let here = move |of: &SideOf| (*of == SideOf::Outside) as usize == side;
    let inputs = plan.program.inputs.iter();
    inputs.filter_map(move |(input, register)| match input {
        Input::Quantity(q, _, of, component) if here(of) => Some((*q, *component, *register)),
        _ => None,
    })
}

/// Measures of the cells, from their densities at all points or at one.
#[inline(always)]
pub(super) fn fill_cell_measures<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    side: usize,
    points: usize,
    densities: &[Lane],
    registers: &mut [Lane],
) {
    let reference = plan.topology.cell_kind().reference_measure();
    for (_, _, register) in quantities(plan, side).filter(|q| q.0 == Quantity::CellMeasure) {
        let out = &mut registers[register as usize * points..][..points];
        for (q, out) in out.iter_mut().enumerate() {
            let density = &densities[q.min(densities.len() - 1)];
            *out = (load(simd, density) * reference).into();
        }
    }
}

/// All others, for the points of a tile.
#[inline(always)]
pub(super) fn fill<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    side: usize,
    tile: Tile,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
) {
    let gd = plan.space_dim;
    let td = plan.topology.cell_kind().dim();
    let points = tile.count();
    let half = scratch.inverse.len() / plan.sides;
    for (quantity, k, register) in quantities(plan, side) {
        let out = &mut scratch.registers[register as usize * points..][..points];
        match quantity {
            Quantity::CellMeasure => {}
            Quantity::Measure => {
                for (out, density) in out.iter_mut().zip(scratch.measure.iter()) {
                    *out = (load(simd, density) * plan.reference_measure).into();
                }
            }
            Quantity::Jacobian | Quantity::SideJacobian | Quantity::CellNormal => {
                let table = tile.table(side, Basis::Map);
                let axes = plan.groups[block.group as usize].axes;
                for_table!(table, t => {
                    for (q, out) in out.iter_mut().enumerate() {
                        let j = jacobian(simd, t, q, [gd, td], scratch.coords);
                        *out = match quantity {
                            Quantity::Jacobian => j[k / td][k % td],
                            Quantity::SideJacobian => {
                                let (row, axis) = (&j[k / (td - 1)], &axes[k % (td - 1)]);
                                (0..td).fold(splat(simd, 0.0), |sum, m| {
                                    row[m].mul_add(splat(simd, axis[m]), sum)
                                })
                            }
                            _ => normal(simd, &j, td, k),
                        }
                        .into();
                    }
                });
            }
            Quantity::InverseJacobian => {
                let inverse = &scratch.inverse[side * half..(side + 1) * half];
                for (q, out) in out.iter_mut().enumerate() {
                    *out = inverse[q * snapshot.stride * td * gd + k];
                }
            }
            Quantity::ReferencePosition => tile.reference(side, k, out),
            Quantity::ElementIndex => out.fill(block.element.map(f64::from)),
            Quantity::CellIndex => out.fill(block.cells(side).map(f64::from)),
            Quantity::QuadratureWeight => {
                out.copy_from_slice(&scratch.measure[..points]);
                tile.weigh(simd, out);
                // Weight over measure.
                for (out, density) in out.iter_mut().zip(scratch.measure.iter()) {
                    let measure = load(simd, density) * plan.reference_measure;
                    *out = (load(simd, out) / measure).into();
                }
            }
        }
    }
}

/// `[d][k]` = ∂x_d/∂ξ_k at point `q`.
#[inline(always)]
fn jacobian<S: Simd, T: Table>(
    simd: S,
    table: T,
    q: usize,
    [gd, td]: [usize; 2],
    coords: &[Lane],
) -> [[f64x8<S>; 3]; 3] {
    let mut j = [[splat(simd, 0.0); 3]; 3];
    for i in 0..table.nodes() {
        for k in 0..td {
            let g = table.gradient(simd, q * table.nodes() + i, k);
            for d in 0..gd {
                j[d][k] = load(simd, &coords[i * gd + d]).mul_add(g, j[d][k]);
            }
        }
    }
    j
}

/// Component `k` of the unit normal of a surface or a curve in the plane.
#[inline(always)]
fn normal<S: Simd>(simd: S, j: &[[f64x8<S>; 3]; 3], td: usize, k: usize) -> f64x8<S> {
    let column = |a: usize| j.map(|row| row[a]);
    let n = match td {
        1 => [j[1][0], -j[0][0], splat(simd, 0.0)],
        _ => {
            let (a, b) = (column(0), column(1));
            [
                a[1] * b[2] - a[2] * b[1],
                a[2] * b[0] - a[0] * b[2],
                a[0] * b[1] - a[1] * b[0],
            ]
        }
    };
    let square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    n[k] / square.sqrt()
}
