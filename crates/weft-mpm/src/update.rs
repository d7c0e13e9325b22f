//! Grid to particles: motion, strain, strength and stress.

use crate::bins::Bins;
use crate::eigen::{left_cauchy_green, symmetric};
use crate::grid::{NONE, NodeSet};
use crate::shape::{Group, linear, shapes, trilinear_values};
use crate::solve::{Node, project};
use crate::strain::{StrainRows, yield_parameters};
use crate::tensor::{Mat3, unpack};
use crate::{ACTIVE, Material, PROXY, Particles, StrainBasis, VelocityBasis};
use fearless_simd::{Level, Simd, dispatch, f32x8, prelude::*};
use rayon::prelude::*;

/// Particles that a task works on.
const GRAIN: usize = 1 << 10;

/// Singular values of elastic deformation are kept within these.
const STRETCH: [f64; 2] = [1e-6, 1e6];

/// Strain of a step by degree of freedom.
pub(crate) struct StrainFields<'a> {
    pub rows: &'a StrainRows,
    pub plastic: &'a [[f32; 6]],
    pub elastic: &'a [[f32; 6]],
    pub stress: &'a [[f32; 6]],
}

/// What the grid gives to the particles.
pub(crate) struct Update<'a> {
    pub level: Level,
    pub basis: VelocityBasis,
    pub bins: &'a Bins,
    pub set: &'a NodeSet,
    pub nodes: &'a [Node],
    pub strain: Option<StrainFields<'a>>,
    pub materials: &'a [Material],
    pub h: f32,
    pub dt: f32,
    pub max_velocity: f32,
}

/// State of one particle that changes.
struct State<'a> {
    position: &'a mut [f64; 3],
    velocity: &'a mut [f32; 3],
    gradient: &'a mut Mat3,
    elastic: &'a mut Mat3,
    plastic_volume: &'a mut f32,
    stress: &'a mut [f32; 6],
}

impl Update<'_> {
    /// Moves all active particles by a step and updates what they carry. Active particles outside
    /// all cells come to rest.
    pub fn run(&self, particles: &mut Particles) {
        let Particles {
            position,
            velocity,
            gradient,
            elastic,
            plastic_volume,
            stress,
            mass,
            radius,
            material,
            flags,
            ..
        } = particles;
        let (mass, radius, material, flags) = (&mass[..], &radius[..], &material[..], &flags[..]);
        let lists = (
            position.par_chunks_mut(GRAIN),
            velocity.par_chunks_mut(GRAIN),
            gradient.par_chunks_mut(GRAIN),
            elastic.par_chunks_mut(GRAIN),
            plastic_volume.par_chunks_mut(GRAIN),
            stress.par_chunks_mut(GRAIN),
        );
        let q1 = self.set.slots() == 8;
        lists.into_par_iter().enumerate().for_each(
            |(chunk, (position, velocity, gradient, elastic, plastic_volume, stress))| {
                dispatch!(self.level, simd => {
                    for i in 0..position.len() {
                        let p = chunk * GRAIN + i;
                        if flags[p] & ACTIVE == 0 {
                            continue;
                        }
                        let state = State {
                            position: &mut position[i],
                            velocity: &mut velocity[i],
                            gradient: &mut gradient[i],
                            elastic: &mut elastic[i],
                            plastic_volume: &mut plastic_volume[i],
                            stress: &mut stress[i],
                        };
                        let edge = 2.0 * radius[p] / self.h;
                        let inverse = 1.0 / (edge * edge * edge);
                        let material = &self.materials[usize::from(material[p])];
                        let has_strain = mass[p] > 0.0 && flags[p] & PROXY == 0;
                        if q1 {
                            self.particle::<_, 1>(simd, p, inverse, material, has_strain, state);
                        } else {
                            self.particle::<_, 8>(simd, p, inverse, material, has_strain, state);
                        }
                    }
                });
            },
        );
    }

    #[inline(always)]
    fn particle<S: Simd, const G: usize>(
        &self,
        simd: S,
        p: usize,
        inverse_volume: f32,
        material: &Material,
        has_strain: bool,
        state: State,
    ) {
        let (bins, slots) = (self.bins, self.set.slots());
        let mut v = [0.0f32; 3];
        let mut g = [[0.0f32; 3]; 3];
        let mut plastic = [0.0f32; 6];
        let mut elastic = [0.0f32; 6];
        let mut stress = [0.0f32; 6];
        let mut found = false;
        for &sample in &bins.of_particle[p * bins.most..(p + 1) * bins.most] {
            if sample == NONE {
                break;
            }
            found = true;
            let sample = sample as usize;
            let share = match bins.most {
                1 => 1.0,
                _ => bins.weight[sample] * inverse_volume,
            };
            let (cell, xi) = (bins.cell[sample] as usize, bins.xi[sample]);
            let of_cell = &self.set.of_cell[cell * slots..(cell + 1) * slots];
            let shape: [Group<S>; G] = shapes(simd, self.basis, xi, 1.0 / self.h);
            for group in 0..G {
                let mut lanes = [[0.0f32; 8]; 3];
                for l in 0..8 {
                    let node = &self.nodes[of_cell[group * 8 + l] as usize];
                    for i in 0..3 {
                        lanes[i][l] = node[i];
                    }
                }
                for i in 0..3 {
                    let value = f32x8::load_array(simd, lanes[i]) * share;
                    v[i] += sum(value * shape[group][0]);
                    for d in 0..3 {
                        g[i][d] += sum(value * shape[group][1 + d]);
                    }
                }
            }
            if let Some(fields) = self.strain.as_ref().filter(|_| has_strain) {
                let rows = fields.rows;
                let mut add = |dof: u32, weight: f32| {
                    let dof = dof as usize;
                    for k in 0..6 {
                        plastic[k] += weight * fields.plastic[dof][k];
                        elastic[k] += weight * fields.elastic[dof][k];
                        stress[k] += weight * fields.stress[dof][k];
                    }
                };
                let dofs = || &rows.dofs[cell * rows.rows_of_cell..(cell + 1) * rows.rows_of_cell];
                match rows.basis {
                    StrainBasis::P0 => add(cell as u32, share),
                    StrainBasis::P1d => {
                        for (dof, value) in dofs().iter().zip(linear(xi)) {
                            add(*dof, share * value);
                        }
                    }
                    StrainBasis::Q1 | StrainBasis::Q1d => {
                        for (dof, value) in dofs().iter().zip(trilinear_values(xi)) {
                            add(*dof, share * value);
                        }
                    }
                    StrainBasis::Particle(_) => {
                        let dof = rows.of_particle[p];
                        if dof != NONE {
                            add(dof, share);
                        }
                    }
                }
            }
        }
        if !found {
            *state.velocity = [0.0; 3];
            *state.gradient = [[0.0; 3]; 3];
            return;
        }
        if has_strain && self.strain.is_some() {
            self.strain_update(
                material,
                &g,
                &plastic,
                &elastic,
                &stress,
                state.plastic_volume,
                state.elastic,
                state.stress,
            );
        }
        // Squares may be beyond single precision.
        let speed = v.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        if speed > f64::from(self.max_velocity) {
            let scale = f64::from(self.max_velocity) / speed;
            v = v.map(|x| (f64::from(x) * scale) as f32);
        }
        *state.velocity = v;
        *state.gradient = g;
        for d in 0..3 {
            state.position[d] += f64::from(self.dt) * f64::from(v[d]);
        }
    }

    fn strain_update(
        &self,
        material: &Material,
        g: &Mat3,
        plastic: &[f32; 6],
        elastic: &[f32; 6],
        stress: &[f32; 6],
        jp: &mut f32,
        f: &mut Mat3,
        kept: &mut [f32; 6],
    ) {
        let trace = plastic[0] * 6f32.sqrt();
        let rate = match trace < 0.0 {
            true => material.hardening_rate,
            false => material.softening_rate,
        };
        *jp *= (rate * trace).exp().clamp(0.01, 10.0);
        let factor = material.hardening_factor(*jp);
        *kept = project(&yield_parameters(material, factor, 0.0), stress);
        if !material.is_compliant() {
            return;
        }
        let strain = unpack(elastic);
        let mut step = [[0.0; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                let spin = 0.5 * self.dt * (g[i][j] - g[j][i]);
                step[i][j] = strain[i][j] + spin;
            }
        }
        let mut next = *f;
        for i in 0..3 {
            for j in 0..3 {
                // F + step F: the identity is not rounded in.
                next[i][j] += (0..3).map(|k| step[i][k] * f[k][j]).sum::<f32>();
            }
        }
        if within_limits(&next) {
            *f = next;
        }
    }
}

#[inline(always)]
fn sum<S: Simd>(x: f32x8<S>) -> f32 {
    let x = x.as_slice();
    ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
}

/// Whether the singular values are within limits.
fn within_limits(f: &Mat3) -> bool {
    let b = left_cauchy_green(f);
    let trace = b[0][0] + b[1][1] + b[2][2];
    let det = b[0][0] * (b[1][1] * b[2][2] - b[1][2] * b[2][1])
        - b[0][1] * (b[1][0] * b[2][2] - b[1][2] * b[2][0])
        + b[0][2] * (b[1][0] * b[2][1] - b[1][1] * b[2][0]);
    let [low, high] = STRETCH.map(|s| s * s);
    // The smallest eigenvalue is at least det / trace²: this settles all but extreme cases.
    if trace < high && det > low * trace * trace {
        return true;
    }
    let (values, _) = symmetric(b);
    values.iter().all(|v| (low..=high).contains(v))
}
