//! Particles to grid: mass and momentum, and averages of what particles carry.

use crate::bins::Bins;
use crate::bytes::{Bytes, sum_of_bytes};
use crate::config::VelocityBasis;
use crate::grid::{Cells, NodeSet};
use crate::shape::{Group, places, shapes};
use crate::solve::Node;
use crate::{Config, PROXY, Particles, Transfer};
use fearless_simd::{Level, Simd, dispatch, f32x8, prelude::*};
use rayon::prelude::*;

/// Density of kinematic particles, kg/m³.
const KINEMATIC: f32 = 1e12;
/// Cells that a task works on at least.
const GRAIN: usize = 64;

/// Sums over particles, cell by cell and then node by node.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// `[(cell * groups + group) * 4 + quantity][lane]`.
    of_cell: Vec<[f32; 8]>,
    /// Four quantities of each node.
    pub of_node: Vec<[f32; 4]>,
}

impl Bytes for Sums {
    fn bytes(&self) -> usize {
        let Self { of_cell, of_node } = self;
        sum_of_bytes!(of_cell, of_node)
    }
}

/// What a sum needs of a particle: a constant and a linear part of four quantities, in reference
/// coordinates from the sample on; `None` leaves the particle out.
trait Carried: Sync {
    fn of(&self, particle: usize, xi: [f32; 3], weight: f32) -> Option<[[f32; 4]; 4]>;
}

impl Sums {
    fn gather<C: Carried>(
        &mut self,
        level: Level,
        basis: VelocityBasis,
        bins: &Bins,
        cells: usize,
        nodes: &NodeSet,
        carried: &C,
    ) {
        let groups = nodes.slots() / 8;
        self.of_cell.resize(cells * groups * 4, [0.0; 8]);
        self.of_cell
            .par_chunks_mut(GRAIN * groups * 4)
            .enumerate()
            .for_each(|(chunk, out)| {
                let first = chunk * GRAIN;
                if groups == 1 {
                    dispatch!(level, simd => cell_sums::<_, 1, C>(simd, basis, bins, first, out, carried));
                } else {
                    dispatch!(level, simd => cell_sums::<_, 8, C>(simd, basis, bins, first, out, carried));
                }
            });
        let (of_cell, slots) = (&self.of_cell, nodes.slots() as u32);
        self.of_node.resize(nodes.count(), [0.0; 4]);
        self.of_node
            .par_iter_mut()
            .with_min_len(512)
            .enumerate()
            .for_each(|(n, out)| {
                let around = nodes.first[n] as usize..nodes.first[n + 1] as usize;
                let mut sum = [0.0; 4];
                for &at in &nodes.around[around] {
                    let (cell, slot) = ((at / slots) as usize, (at % slots) as usize);
                    let base = (cell * groups + slot / 8) * 4;
                    for (s, quantity) in sum.iter_mut().zip(&of_cell[base..base + 4]) {
                        *s += quantity[slot % 8];
                    }
                }
                *out = sum;
            });
    }
}

#[inline(always)]
fn cell_sums<S: Simd, const G: usize, C: Carried>(
    simd: S,
    basis: VelocityBasis,
    bins: &Bins,
    first: usize,
    out: &mut [[f32; 8]],
    carried: &C,
) {
    let place = places::<S, G>(simd);
    let splat = |x: f32| f32x8::splat(simd, x);
    for (c, out) in out.chunks_mut(G * 4).enumerate() {
        let mut sum = [[splat(0.0); 4]; G];
        for sample in bins.of(first + c) {
            let xi = bins.xi[sample];
            let particle = bins.particle[sample] as usize;
            let Some(parts) = carried.of(particle, xi, bins.weight[sample]) else {
                continue;
            };
            let shape: [Group<S>; G] = shapes(simd, basis, xi, 1.0);
            for g in 0..G {
                for q in 0..4 {
                    let mut value = splat(parts[q][0]);
                    for d in 0..3 {
                        value = place[g][d].mul_add(splat(parts[q][1 + d]), value);
                    }
                    sum[g][q] = shape[g][0].mul_add(value, sum[g][q]);
                }
            }
        }
        for g in 0..G {
            for q in 0..4 {
                sum[g][q].store_array(&mut out[g * 4 + q]);
            }
        }
    }
}

struct Momentum<'a> {
    particles: &'a Particles,
    config: &'a Config,
    apic: bool,
    dt: f32,
    h: f32,
}

impl Carried for Momentum<'_> {
    #[inline(always)]
    fn of(&self, p: usize, xi: [f32; 3], weight: f32) -> Option<[[f32; 4]; 4]> {
        let particles = self.particles;
        let mass = particles.mass[p];
        let edge = 2.0 * particles.radius[p];
        let density = match mass {
            0.0 => KINEMATIC,
            _ => mass / (edge * edge * edge),
        };
        let m = weight * density;
        let mut parts = [[m, 0.0, 0.0, 0.0]; 4];
        let gravity = self.config.gravity_of(particles.world[p] as usize);
        let fall = if mass > 0.0 { self.dt } else { 0.0 };
        for i in 0..3 {
            let mut constant = particles.velocity[p][i] + fall * gravity[i];
            let mut slope = [0.0; 3];
            if self.apic {
                for d in 0..3 {
                    slope[d] = particles.gradient[p][i][d] * self.h;
                    constant -= slope[d] * xi[d];
                }
            }
            parts[1 + i] = [m * constant, m * slope[0], m * slope[1], m * slope[2]];
        }
        Some(parts)
    }
}

/// Mass and velocity of the grid before stress and contact: `nodes` gets v* and 1/m.
pub(crate) fn momentum(
    level: Level,
    config: &Config,
    particles: &Particles,
    bins: &Bins,
    cells: &Cells,
    set: &NodeSet,
    dt: f32,
    sums: &mut Sums,
    nodes: &mut Vec<Node>,
) {
    let carried = Momentum {
        particles,
        config,
        apic: config.transfer == Transfer::Apic,
        dt,
        h: cells.size as f32,
    };
    sums.gather(
        level,
        config.velocity_basis,
        bins,
        cells.count(),
        set,
        &carried,
    );
    let drag = config.air_drag * dt;
    nodes.resize(set.count(), [0.0; 4]);
    let both = (&mut nodes[..], &sums.of_node[..]);
    both.into_par_iter()
        .with_min_len(1 << 12)
        .for_each(|(node, sum)| {
            let mass = sum[0] + drag;
            let inverse = if mass > 0.0 { 1.0 / mass } else { 0.0 };
            *node = [
                sum[1] * inverse,
                sum[2] * inverse,
                sum[3] * inverse,
                inverse,
            ];
        });
}

struct Elastic<'a> {
    particles: &'a Particles,
    /// Young's modulus, Poisson's ratio, damping of each material.
    materials: &'a [[f32; 3]],
}

impl Carried for Elastic<'_> {
    #[inline(always)]
    fn of(&self, p: usize, _: [f32; 3], weight: f32) -> Option<[[f32; 4]; 4]> {
        if self.particles.flags[p] & PROXY != 0 {
            return None;
        }
        let [e, nu, damping] = self.materials[usize::from(self.particles.material[p])];
        let constant = |x: f32| [weight * x, 0.0, 0.0, 0.0];
        Some([constant(1.0), constant(e), constant(nu), constant(damping)])
    }
}

/// Volume-weighted averages of (E, ν, d) of the materials at the nodes, with the volume as the
/// last number.
pub(crate) fn elastic_average(
    level: Level,
    basis: VelocityBasis,
    particles: &Particles,
    materials: &[[f32; 3]],
    bins: &Bins,
    cells: &Cells,
    set: &NodeSet,
    sums: &mut Sums,
    average: &mut Vec<[f32; 4]>,
) {
    let carried = Elastic {
        particles,
        materials,
    };
    sums.gather(level, basis, bins, cells.count(), set, &carried);
    average.resize(set.count(), [0.0; 4]);
    for (out, sum) in average.iter_mut().zip(&sums.of_node) {
        let inverse = if sum[0] > 0.0 { 1.0 / sum[0] } else { 0.0 };
        *out = [sum[1] * inverse, sum[2] * inverse, sum[3] * inverse, sum[0]];
    }
}
