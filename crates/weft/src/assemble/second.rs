//! Second derivatives of scalar functions and fields in space.
//!
//! Rare, so compiled once for each kind of table and each width of instructions, not inlined into the
//! loops of every form: `vectorize` gives a function of its own the wide instructions.

use super::integral::FieldUse;
use super::lanes::{Lane, load, splat};
use super::tables::Table;
use crate::form::lower::scalar_slot::{COUNT, PAIRS, SECOND};
use fearless_simd::{Simd, f64x8, prelude::*};

/// What takes second derivatives from the reference cell to space at a point of a cell that is not
/// embedded: with u = û ∘ ξ, ∇∇u = J⁻ᵀ (∇∇û - Σ_c ∂u/∂x_c ∇∇x_c) J⁻¹.
struct Bend<'a, S: Simd> {
    dim: usize,
    inverse: [[f64x8<S>; 3]; 3],
    /// Second derivatives of the map, as [`second_derivatives`](super::vector::second_derivatives)
    /// writes them; none if the cell is straight.
    map: &'a [Lane],
}

/// Reference gradient and second derivatives, the latter of the [`PAIRS`] of axes that there are.
struct Reference<S: Simd> {
    gradient: [f64x8<S>; 3],
    second: [f64x8<S>; PAIRS.len()],
}

impl<'a, S: Simd> Bend<'a, S> {
    /// At point `q`; `second` is empty if no cell is bent.
    #[inline(always)]
    fn new(simd: S, dim: usize, inv: &[Lane], second: &'a [Lane], q: usize) -> Bend<'a, S> {
        let mut inverse = [[splat(simd, 0.0); 3]; 3];
        for k in 0..dim {
            for d in 0..dim {
                inverse[k][d] = load(simd, &inv[k * dim + d]);
            }
        }
        let cube = dim * dim * dim;
        let map = match second.is_empty() {
            true => second,
            false => &second[q * cube..(q + 1) * cube],
        };
        Bend { dim, inverse, map }
    }

    /// ∇∇û - Σ_c ∂u/∂x_c ∇∇x_c.
    #[inline(always)]
    fn straightened(&self, simd: S, u: &Reference<S>) -> [[f64x8<S>; 3]; 3] {
        let dim = self.dim;
        let mut own = [[splat(simd, 0.0); 3]; 3];
        for (pair, &[a, b]) in PAIRS.iter().enumerate() {
            own[a][b] = u.second[pair];
            own[b][a] = u.second[pair];
        }
        if self.map.is_empty() {
            return own;
        }
        for c in 0..dim {
            let mut slope = splat(simd, 0.0);
            for k in 0..dim {
                slope = self.inverse[k][c].mul_add(u.gradient[k], slope);
            }
            for a in 0..dim {
                for b in 0..dim {
                    own[a][b] -= slope * load(simd, &self.map[(c * dim + a) * dim + b]);
                }
            }
        }
        own
    }

    /// The second derivative of a slot.
    #[inline(always)]
    fn slot(&self, simd: S, own: &[[f64x8<S>; 3]; 3], slot: usize) -> Lane {
        let [d, e] = PAIRS[slot - SECOND];
        let mut sum = splat(simd, 0.0);
        for a in 0..self.dim {
            let mut along = splat(simd, 0.0);
            for b in 0..self.dim {
                along = self.inverse[b][e].mul_add(own[a][b], along);
            }
            sum = self.inverse[a][d].mul_add(along, sum);
        }
        sum.into()
    }
}

impl<S: Simd> Reference<S> {
    #[inline(always)]
    fn zero(simd: S) -> Reference<S> {
        Reference {
            gradient: [splat(simd, 0.0); 3],
            second: [splat(simd, 0.0); PAIRS.len()],
        }
    }

    /// Adds `factor` times function `at` of a table.
    #[inline(always)]
    fn add<T: Table>(&mut self, simd: S, dim: usize, table: T, at: usize, factor: f64x8<S>) {
        for k in 0..dim {
            self.gradient[k] = factor.mul_add(table.gradient(simd, at, k), self.gradient[k]);
        }
        for (pair, [_, b]) in PAIRS.into_iter().enumerate() {
            if b < dim {
                let second = table.second(simd, at, pair);
                self.second[pair] = factor.mul_add(second, self.second[pair]);
            }
        }
    }
}

/// The second derivatives among slots, which begin at `first`, as in
/// [`basis_slots`](super::kernel::basis_slots).
#[inline(never)]
pub(super) fn second_slots<S: Simd, T: Table>(
    simd: S,
    dim: usize,
    axes: &[u8],
    first: usize,
    table: T,
    points: usize,
    stride: usize,
    inverse: &[Lane],
    second: &[Lane],
    out: &mut [Lane],
) {
    simd.vectorize(
        #[inline(always)]
        || {
            let one = splat(simd, 1.0);
            for q in 0..points {
                let inv = &inverse[q * stride * dim * dim..][..dim * dim];
                let bend = Bend::new(simd, dim, inv, second, q);
                for i in 0..table.nodes() {
                    let mut u = Reference::zero(simd);
                    u.add(simd, dim, table, q * table.nodes() + i, one);
                    let own = bend.straightened(simd, &u);
                    let out = &mut out[(i * points + q) * axes.len()..][..axes.len()];
                    for (out, &slot) in out[first..].iter_mut().zip(&axes[first..]) {
                        *out = bend.slot(simd, &own, usize::from(slot));
                    }
                }
            }
        },
    );
}

/// Second derivatives of one component of a field with the degrees of freedom `dofs`.
#[inline(never)]
pub(super) fn field_seconds<S: Simd, T: Table>(
    simd: S,
    dim: usize,
    part: &FieldUse,
    table: T,
    count: usize,
    stride: usize,
    inverse: &[Lane],
    second: &[Lane],
    dofs: &[Lane],
    registers: &mut [Lane],
) {
    simd.vectorize(
        #[inline(always)]
        || {
            for q in 0..count {
                let inv = &inverse[q * stride * dim * dim..][..dim * dim];
                let bend = Bend::new(simd, dim, inv, second, q);
                let mut u = Reference::zero(simd);
                for i in 0..table.nodes() {
                    let dof = load(simd, &dofs[i]);
                    u.add(simd, dim, table, q * table.nodes() + i, dof);
                }
                let own = bend.straightened(simd, &u);
                for slot in SECOND..COUNT {
                    if let Some(register) = part.registers[slot] {
                        registers[register as usize * count + q] = bend.slot(simd, &own, slot);
                    }
                }
            }
        },
    );
}
