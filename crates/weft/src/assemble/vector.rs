//! Vector-valued functions in a block: Piola maps of tabulated functions and of fields, and the
//! orientations of edges and faces.
//!
//! Tables hold the functions as the reference cell has them. What neighbours share are combinations of
//! these on each edge and face, c = K c' from shared to own degrees of freedom. Kernels work with a
//! cell's own functions; fields are turned before they are evaluated, and local results after they
//! are summed: a row by Kᵀ, a column by K.

use super::domain::Block;
use super::engine::Scratch;
use super::frame::adjugate;
use super::integral::{FieldUse, IntegralPlan, MatrixPart, Parts};
use super::lanes::{LANES, Lane, load, splat};
use crate::element::{Piola, VectorTabulation};
use crate::form::lower::vector_slot::{COUNT, CURL, DIVERGENCE, GRADIENT};
use crate::space::{MAX_SHARED, Space, VectorBasis};
use fearless_simd::{Simd, f64x8, prelude::*};

/// Values and reference derivatives of vector-valued functions: function `i` at point `q` of the
/// tile has number `q * functions + i`.
#[derive(Clone, Copy)]
pub(crate) struct VectorTable<'a> {
    functions: usize,
    values: &'a [[f64; 3]],
    derivatives: &'a [[[f64; 3]; 3]],
}

impl<'a> VectorTable<'a> {
    /// The points `first .. first + count` of a table.
    pub fn new(table: &'a VectorTabulation, first: usize, count: usize) -> VectorTable<'a> {
        let n = table.functions;
        let range = first * n..(first + count) * n;
        VectorTable {
            functions: n,
            values: &table.values[range.clone()],
            derivatives: &table.derivatives[range],
        }
    }
}

/// A vector function of the reference cell at a point.
struct Reference<S: Simd, const D: usize> {
    value: [f64x8<S>; D],
    /// `[component][axis]`.
    derivative: [[f64x8<S>; D]; D],
}

/// The maps at a point.
struct Maps<S: Simd, const D: usize> {
    /// Reference vectors to vectors, `[c][a]`.
    push: [[f64x8<S>; D]; D],
    /// `[b][d]` = ∂ξ_b/∂x_d.
    inverse: [[f64x8<S>; D]; D],
    /// J / det J, which is the adjugate of the inverse.
    contravariant: [[f64x8<S>; D]; D],
    /// 1 / det J, with the sign of the cell's orientation.
    density: f64x8<S>,
    /// Derivatives of `push` along the reference axes, `[b][c][a]`, where they are not 0.
    bend: Option<[[[f64x8<S>; D]; D]; D]>,
}

impl<S: Simd, const D: usize> Maps<S, D> {
    #[inline(always)]
    fn new(simd: S, piola: Piola, inv: &[Lane], second: Option<&[Lane]>) -> Maps<S, D> {
        let zero = splat(simd, 0.0);
        let mut inverse = [[zero; D]; D];
        for b in 0..D {
            for d in 0..D {
                inverse[b][d] = load(simd, &inv[b * D + d]);
            }
        }
        let (adjugate, density) = adjugate::<S, D>(simd, &inverse);
        let mut contravariant = [[zero; D]; D];
        let mut push = [[zero; D]; D];
        for c in 0..D {
            for a in 0..D {
                contravariant[c][a] = adjugate[c][a];
                push[c][a] = match piola {
                    Piola::Covariant => inverse[a][c],
                    Piola::Contravariant => adjugate[c][a],
                };
            }
        }
        let bend = second.map(|second| {
            let mut bend = [[[zero; D]; D]; D];
            for (b, bend) in bend.iter_mut().enumerate() {
                // J⁻¹ ∂J, whose trace is the relative change of det J.
                let mut relative = [[zero; D]; D];
                let mut growth = zero;
                for k in 0..D {
                    for a in 0..D {
                        for d in 0..D {
                            let slope = load(simd, &second[(d * D + a) * D + b]);
                            relative[k][a] = inverse[k][d].mul_add(slope, relative[k][a]);
                        }
                    }
                    growth += relative[k][k];
                }
                for c in 0..D {
                    for a in 0..D {
                        bend[c][a] = match piola {
                            // ∂(J⁻¹) = -J⁻¹ ∂J J⁻¹
                            Piola::Covariant => {
                                let mut sum = zero;
                                for k in 0..D {
                                    sum = relative[a][k].mul_add(inverse[k][c], sum);
                                }
                                -sum
                            }
                            // ∂(J / det J) = ∂J / det J - J / det J · ∂det J / det J
                            Piola::Contravariant => {
                                let slope = load(simd, &second[(c * D + a) * D + b]);
                                slope * density - push[c][a] * growth
                            }
                        };
                    }
                }
            }
            bend
        });
        Maps {
            push,
            inverse,
            contravariant,
            density,
            bend,
        }
    }

    /// One slot of a function.
    #[inline(always)]
    fn slot(&self, simd: S, slot: usize, u: &Reference<S, D>) -> f64x8<S> {
        let mut sum = splat(simd, 0.0);
        if slot < DIVERGENCE {
            for a in 0..D {
                sum = self.push[slot][a].mul_add(u.value[a], sum);
            }
        } else if slot == DIVERGENCE {
            for a in 0..D {
                sum += u.derivative[a][a];
            }
            sum *= self.density;
        } else if slot < GRADIENT {
            if D == 2 {
                return (u.derivative[1][0] - u.derivative[0][1]) * self.density;
            }
            for a in 0..D {
                let (b, c) = ((a + 1) % D, (a + 2) % D);
                let curl = u.derivative[c][b] - u.derivative[b][c];
                sum = self.contravariant[slot - CURL][a].mul_add(curl, sum);
            }
        } else {
            let (c, d) = ((slot - GRADIENT) / 3, (slot - GRADIENT) % 3);
            for b in 0..D {
                let mut along = splat(simd, 0.0);
                for a in 0..D {
                    along = self.push[c][a].mul_add(u.derivative[a][b], along);
                    if let Some(bend) = &self.bend {
                        along = bend[b][c][a].mul_add(u.value[a], along);
                    }
                }
                sum = along.mul_add(self.inverse[b][d], sum);
            }
        }
        sum
    }
}

/// Second derivatives of the map at a point, if it has any.
#[inline(always)]
fn second_of<const D: usize>(second: &[Lane], point: usize) -> Option<&[Lane]> {
    second.chunks_exact(D * D * D).nth(point)
}

/// Second derivatives of the map, `second[((q * dim + d) * dim + a) * dim + b]` = ∂²x_d / ∂ξ_a ∂ξ_b, from node
/// coordinates and the second derivatives of the map's functions.
#[inline(always)]
pub(super) fn second_derivatives<S: Simd>(
    simd: S,
    dim: usize,
    table: &[[[f64; 3]; 3]],
    coords: &[Lane],
    out: &mut [Lane],
) {
    let nodes = coords.len() / dim;
    let cube = dim * dim * dim;
    for (table, out) in table.chunks_exact(nodes).zip(out.chunks_exact_mut(cube)) {
        for d in 0..dim {
            for a in 0..dim {
                for b in 0..dim {
                    let mut sum = splat(simd, 0.0);
                    for (i, slopes) in table.iter().enumerate() {
                        let x = load(simd, &coords[i * dim + d]);
                        sum = x.mul_add(splat(simd, slopes[a][b]), sum);
                    }
                    out[(d * dim + a) * dim + b] = sum.into();
                }
            }
        }
    }
}

/// Slots `out[(i * points + q) * axes + a]` of all functions, see
/// [`vector_slot`](crate::form::lower::vector_slot).
#[inline(always)]
pub(super) fn vector_slots<S: Simd, const D: usize>(
    simd: S,
    piola: Piola,
    axes: &[u8],
    table: VectorTable,
    points: usize,
    stride: usize,
    inverse: &[Lane],
    second: &[Lane],
    out: &mut [Lane],
) {
    let zero = splat(simd, 0.0);
    for q in 0..points {
        let inv = &inverse[q * stride * D * D..][..D * D];
        let maps = Maps::<S, D>::new(simd, piola, inv, second_of::<D>(second, q));
        for i in 0..table.functions {
            let at = q * table.functions + i;
            let (value, derivative) = (&table.values[at], &table.derivatives[at]);
            let mut u = Reference {
                value: [zero; D],
                derivative: [[zero; D]; D],
            };
            for a in 0..D {
                u.value[a] = splat(simd, value[a]);
                for b in 0..D {
                    u.derivative[a][b] = splat(simd, derivative[a][b]);
                }
            }
            let out = &mut out[(i * points + q) * axes.len()..][..axes.len()];
            for (out, &slot) in out.iter_mut().zip(axes) {
                *out = maps.slot(simd, slot as usize, &u).into();
            }
        }
    }
}

/// The slots of a field with the degrees of freedom `dofs`, those of the cells.
#[inline(always)]
pub(super) fn vector_field<S: Simd, const D: usize>(
    simd: S,
    part: &FieldUse,
    piola: Piola,
    table: VectorTable,
    count: usize,
    stride: usize,
    inverse: &[Lane],
    second: &[Lane],
    dofs: &[Lane],
    registers: &mut [Lane],
) {
    let zero = splat(simd, 0.0);
    let derivatives = part.registers[DIVERGENCE..].iter().any(Option::is_some);
    for q in 0..count {
        let mut u = Reference {
            value: [zero; D],
            derivative: [[zero; D]; D],
        };
        for i in 0..table.functions {
            let at = q * table.functions + i;
            let dof = load(simd, &dofs[i]);
            let (value, derivative) = (&table.values[at], &table.derivatives[at]);
            for a in 0..D {
                u.value[a] = dof.mul_add(splat(simd, value[a]), u.value[a]);
            }
            if !derivatives {
                continue;
            }
            for a in 0..D {
                for b in 0..D {
                    let slope = splat(simd, derivative[a][b]);
                    u.derivative[a][b] = dof.mul_add(slope, u.derivative[a][b]);
                }
            }
        }
        let inv = &inverse[q * stride * D * D..][..D * D];
        let maps = Maps::<S, D>::new(simd, piola, inv, second_of::<D>(second, q));
        for slot in 0..COUNT {
            if let Some(register) = part.registers[slot] {
                registers[register as usize * count + q] = maps.slot(simd, slot, &u).into();
            }
        }
    }
}

/// The matrices K of the edges and faces of the cells.
#[inline(always)]
pub(super) fn gather_orientations(basis: &VectorBasis, cells: &[u32; LANES], out: &mut [Lane]) {
    for (lane, &cell) in cells.iter().enumerate() {
        let mut at = 0;
        for ((_, o), way) in basis.shared_entities().zip(basis.ways(cell as usize)) {
            for (out, &entry) in out[at..].iter_mut().zip(&o.to_cell[way]) {
                out[lane] = entry;
            }
            at += o.rows.len();
        }
    }
}

/// Multiplies the numbers `data[start + i * step]` of all functions `i` by K or its transpose.
#[inline(always)]
pub(super) fn orient<S: Simd>(
    simd: S,
    basis: &VectorBasis,
    entries: &[Lane],
    transposed: bool,
    data: &mut [Lane],
    start: usize,
    step: usize,
) {
    let zero = splat(simd, 0.0);
    let mut next = 0;
    for (first, o) in basis.shared_entities() {
        let entries = &entries[next..next + o.rows.len()];
        next += o.rows.len();
        let at = |i: usize| start + (first + i) * step;
        let mut old = [zero; MAX_SHARED];
        let mut new = [zero; MAX_SHARED];
        for i in 0..o.count {
            old[i] = load(simd, &data[at(i)]);
        }
        for ((entry, &row), &column) in entries.iter().zip(&o.rows).zip(&o.columns) {
            let (to, from) = if transposed {
                (column as usize, row as usize)
            } else {
                (row as usize, column as usize)
            };
            new[to] = load(simd, entry).mul_add(old[from], new[to]);
        }
        for i in 0..o.count {
            data[at(i)] = new[i].into();
        }
    }
}

/// From the local results for the cells' own functions to those for shared ones.
#[inline(always)]
pub(super) fn orient_local<S: Simd>(
    simd: S,
    plan: &IntegralPlan,
    block: &Block,
    scratch: &mut Scratch,
) {
    let nodes = |space: &Option<Space>| space.as_ref().map_or(0, Space::nodes_per_cell);
    let (rows, columns) = (nodes(&plan.program.test), nodes(&plan.program.trial));
    let basis = |space| Option::<&Space>::and_then(space, Space::vector_basis);
    let test = basis(plan.program.test.as_ref());
    let trial = basis(plan.program.trial.as_ref());
    let mut local = 0;
    match &plan.parts {
        Parts::Matrix(parts) => {
            for part in parts {
                let width = columns * part.components();
                let matrix = &mut scratch.local[local..local + rows * width];
                local += rows * width;
                if part.symmetric && test.is_some() {
                    mirror(matrix, rows);
                }
                orient_matrix(
                    simd,
                    part,
                    [test, trial],
                    block,
                    width,
                    matrix,
                    scratch.turns,
                );
            }
        }
        Parts::Vector(parts) => {
            let Some(test) = test else { return };
            for part in parts {
                gather_orientations(test, block.cells(part.side), scratch.turns);
                orient(simd, test, scratch.turns, true, scratch.local, local, 1);
                local += rows;
            }
        }
        Parts::Scalar(_) | Parts::Values { .. } => {}
    }
}

#[inline(always)]
fn orient_matrix<S: Simd>(
    simd: S,
    part: &MatrixPart,
    [test, trial]: [Option<&VectorBasis>; 2],
    block: &Block,
    width: usize,
    matrix: &mut [Lane],
    turns: &mut [Lane],
) {
    if let Some(basis) = test {
        gather_orientations(basis, block.cells(part.test_side), turns);
        for column in 0..width {
            orient(simd, basis, turns, true, matrix, column, width);
        }
    }
    if let Some(basis) = trial {
        gather_orientations(basis, block.cells(part.trial_side), turns);
        // A vector-valued function has one degree of freedom, so all components are rows.
        let step = part.components();
        let rows = matrix.len() / width;
        for row in 0..rows {
            for m in 0..step {
                orient(simd, basis, turns, true, matrix, row * width + m, step);
            }
        }
    }
}

/// Completes a symmetric matrix of which only i ≤ j was computed.
#[inline(always)]
fn mirror(matrix: &mut [Lane], n: usize) {
    for i in 0..n {
        for j in 0..i {
            matrix[i * n + j] = matrix[j * n + i];
        }
    }
}
