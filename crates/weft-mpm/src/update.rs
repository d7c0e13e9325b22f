//! Grid to particles: motion, strain, strength and stress.

use crate::bins::Bins;
use crate::eigen::{left_cauchy_green, symmetric};
use crate::grid::{NONE, NodeSet};
use crate::shape::{Group, linear, shapes, trilinear_values};
use crate::solve::{Node, project};
use crate::strain::{StrainRows, yield_parameters};
use crate::tensor::{Mat3, unpack};
use crate::{ACTIVE, Material, PROXY, Particles, StrainBasis, VelocityBasis};
use fearless_simd::{Level, Simd, dispatch, f32x4, f32x8, prelude::*};
use rayon::prelude::*;

/// Particles that a task works on.
const GRAIN: usize = 1 << 10;

/// Singular values of elastic deformation are kept within these.
const STRETCH: [f64; 2] = [1e-6, 1e6];

/// The plastic volume ratio is kept within these.
const VOLUME_RATIO: [f32; 2] = [1e-12, 1e12];

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
            material,
            flags,
            ..
        } = particles;
        let (mass, material, flags) = (&mass[..], &material[..], &flags[..]);
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
                        let material = &self.materials[usize::from(material[p])];
                        let has_strain = mass[p] > 0.0 && flags[p] & PROXY == 0;
                        if q1 {
                            self.particle::<_, 1>(simd, p, material, has_strain, state);
                        } else {
                            self.particle::<_, 8>(simd, p, material, has_strain, state);
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
        let places = p * bins.most..(p + 1) * bins.most;
        for (sample, &number) in bins.found[places.clone()].iter().zip(&bins.number[places]) {
            if sample.cell == NONE {
                break;
            }
            found = true;
            let (cell, xi, share) = (sample.cell as usize, sample.xi, sample.share);
            let of_cell = &self.set.of_cell[cell * slots..(cell + 1) * slots];
            let [value, slopes @ ..] = match G {
                1 => trilinear_field(simd, self.nodes, of_cell, xi, 1.0 / self.h),
                _ => spline_field::<_, G>(simd, self.basis, self.nodes, of_cell, xi, 1.0 / self.h),
            };
            for i in 0..3 {
                v[i] += share * value[i];
                for d in 0..3 {
                    g[i][d] += share * slopes[d][i];
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
                        let dof = rows.of_sample[number as usize];
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
        let [low, high] = VOLUME_RATIO;
        *jp = (*jp * (rate * trace).exp().clamp(0.01, 10.0)).clamp(low, high);
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

/// Velocity and its three derivatives at `xi` in a cell with these vertices, slot 4i + 2j + k;
/// `inverse` is 1/h. From differences, axis by axis: exact where the velocity is even.
#[inline(always)]
fn trilinear_field<S: Simd>(
    simd: S,
    nodes: &[Node],
    of_cell: &[u32],
    xi: [f32; 3],
    inverse: f32,
) -> [[f32; 4]; 4] {
    let mut at = [f32x4::splat(simd, 0.0); 8];
    for (at, &node) in at.iter_mut().zip(of_cell) {
        *at = f32x4::load_array_ref(simd, &nodes[node as usize]);
    }
    let [x, y, z] = xi.map(|c| f32x4::splat(simd, c));
    let between = |a: f32x4<S>, b: f32x4<S>, t: f32x4<S>| (b - a).mul_add(t, a);
    // On the four edges along z, the two faces across x, and in between.
    let mut edge = [[f32x4::splat(simd, 0.0); 2]; 4];
    for m in 0..4 {
        let (a, b) = (at[2 * m], at[2 * m + 1]);
        edge[m] = [between(a, b, z), b - a];
    }
    let mut face = [[f32x4::splat(simd, 0.0); 3]; 2];
    for i in 0..2 {
        let ([a, az], [b, bz]) = (edge[2 * i], edge[2 * i + 1]);
        face[i] = [between(a, b, y), b - a, between(az, bz, y)];
    }
    let [[a, ay, az], [b, by, bz]] = face;
    let scale = f32x4::splat(simd, inverse);
    let slopes = [b - a, between(ay, by, x), between(az, bz, x)];
    let mut out = [[0.0; 4]; 4];
    between(a, b, x).store_array(&mut out[0]);
    for d in 0..3 {
        (slopes[d] * scale).store_array(&mut out[1 + d]);
    }
    out
}

/// The same of splines.
#[inline(always)]
fn spline_field<S: Simd, const G: usize>(
    simd: S,
    basis: VelocityBasis,
    nodes: &[Node],
    of_cell: &[u32],
    xi: [f32; 3],
    inverse: f32,
) -> [[f32; 4]; 4] {
    let shape: [Group<S>; G] = shapes(simd, basis, xi, inverse);
    let mut sums = [[f32x8::splat(simd, 0.0); 3]; 4];
    for (shape, of_group) in shape.iter().zip(of_cell.chunks_exact(8)) {
        let mut lanes = [[0.0f32; 8]; 3];
        for (l, &node) in of_group.iter().enumerate() {
            let node = &nodes[node as usize];
            for i in 0..3 {
                lanes[i][l] = node[i];
            }
        }
        for i in 0..3 {
            let velocity = f32x8::load_array(simd, lanes[i]);
            for k in 0..4 {
                sums[k][i] += velocity * shape[k];
            }
        }
    }
    sums.map(|[x, y, z]| [sum(x), sum(y), sum(z), 0.0])
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Velocity and derivatives as sums over shape functions.
    fn plain<const G: usize>(
        basis: VelocityBasis,
        nodes: &[Node],
        xi: [f32; 3],
        inverse: f32,
    ) -> [[f64; 3]; 4] {
        let mut out = [[0.0; 3]; 4];
        dispatch!(Level::new(), simd => {
            let shape: [Group<_>; G] = shapes(simd, basis, xi, inverse);
            for (n, node) in nodes.iter().enumerate() {
                for k in 0..4 {
                    let value = f64::from(shape[n / 8][k].as_slice()[n % 8]);
                    for i in 0..3 {
                        out[k][i] += value * f64::from(node[i]);
                    }
                }
            }
        });
        out
    }

    fn nodes(n: usize) -> Vec<Node> {
        let number = |k: usize| ((k * 7919 + 13) % 1000) as f32 / 500.0 - 1.0;
        (0..n)
            .map(|k| [0, 1, 2, 3].map(|i| number(4 * k + i)))
            .collect()
    }

    #[test]
    fn fields_are_sums_over_shape_functions() {
        use VelocityBasis::{B2, B3, Q1};
        for xi in [
            [0.1, 0.6, 0.9],
            [0.5; 3],
            [0.0, 1.0, 0.25],
            [1e-5, 0.99999, 0.3],
        ] {
            let inverse = 10.0;
            for basis in [Q1, B2, B3] {
                let n = if basis == Q1 { 8 } else { 64 };
                let nodes = nodes(n);
                let of_cell: Vec<u32> = (0..n as u32).collect();
                let (found, wanted) = match basis {
                    Q1 => (
                        dispatch!(Level::new(), simd => trilinear_field(simd, &nodes, &of_cell, xi, inverse)),
                        plain::<1>(basis, &nodes, xi, inverse),
                    ),
                    _ => (
                        dispatch!(Level::new(), simd => spline_field::<_, 8>(simd, basis, &nodes, &of_cell, xi, inverse)),
                        plain::<8>(basis, &nodes, xi, inverse),
                    ),
                };
                for k in 0..4 {
                    let scale = if k == 0 {
                        1e-6
                    } else {
                        1e-6 * f64::from(inverse)
                    };
                    for i in 0..3 {
                        let error = (f64::from(found[k][i]) - wanted[k][i]).abs();
                        assert!(
                            error < 5.0 * scale,
                            "{basis:?} {k} {i}: {found:?} {wanted:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn an_even_velocity_is_exact() {
        let nodes = vec![[0.1, -0.7, 1.3, 5.0]; 8];
        let of_cell: Vec<u32> = (0..8).collect();
        let found = dispatch!(Level::new(), simd => trilinear_field(simd, &nodes, &of_cell, [0.37, 0.11, 0.93], 10.0));
        assert_eq!(found[0][..3], nodes[0][..3]);
        assert!(found[1..].iter().flatten().all(|&x| x == 0.0));
    }
}
