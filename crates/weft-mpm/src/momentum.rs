//! Particles to grid: mass and momentum, and averages of what particles carry.

use crate::bins::Bins;
use crate::bytes::bytes_of;
use crate::config::VelocityBasis;
use crate::grid::{Cells, INSET, NodeSet};
use crate::shape::{Group, places, shapes};
use crate::solve::Node;
use crate::{Config, PROXY, Particles, Transfer};
use fearless_simd::{Level, Simd, dispatch, f32x8, prelude::*};
use rayon::prelude::*;

/// Weight of kinematic particles from which on they prescribe a node's velocity.
const PRESCRIBES: f32 = 1e-6;
/// Kinematic particles this close to a face of their cell are on it, and give its far nodes
/// nothing.
const ON_FACE: f32 = 10.0 * INSET;
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

bytes_of! {
    Sums: of_cell, of_node
}

/// Four quantities of a particle, and the slopes of the last three in reference coordinates:
/// quantity 1 + i is `value[1 + i] + slope[i] · x` at the point x of the cell.
struct Parts {
    value: [f32; 4],
    slope: [[f32; 3]; 3],
}

/// What a sum needs of a particle; `None` leaves it out.
trait Carried: Sync {
    /// Whether slopes are not all 0.
    const SLOPES: bool;

    /// Where a sample at `xi` counts.
    #[inline(always)]
    fn place(&self, xi: [f32; 3]) -> [f32; 3] {
        xi
    }

    fn of(&self, particle: usize, xi: [f32; 3], weight: f32) -> Option<Parts>;
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
        // Σ N slope of the eight vertices; their places are the same for all particles.
        let mut slopes = [[splat(0.0); 3]; 3];
        for sample in bins.of(first + c) {
            let xi = carried.place(bins.xi[sample]);
            let particle = bins.particle[sample] as usize;
            let Some(parts) = carried.of(particle, xi, bins.weight[sample]) else {
                continue;
            };
            let shape: [Group<S>; G] = shapes(simd, basis, xi, 1.0);
            for g in 0..G {
                for q in 0..4 {
                    let mut value = splat(parts.value[q]);
                    if C::SLOPES && G > 1 && q > 0 {
                        for d in 0..3 {
                            value = place[g][d].mul_add(splat(parts.slope[q - 1][d]), value);
                        }
                    }
                    sum[g][q] = shape[g][0].mul_add(value, sum[g][q]);
                }
            }
            if C::SLOPES && G == 1 {
                for i in 0..3 {
                    for d in 0..3 {
                        let slope = splat(parts.slope[i][d]);
                        slopes[i][d] = shape[0][0].mul_add(slope, slopes[i][d]);
                    }
                }
            }
        }
        if C::SLOPES && G == 1 {
            for i in 0..3 {
                for d in 0..3 {
                    sum[0][1 + i] = place[0][d].mul_add(slopes[i][d], sum[0][1 + i]);
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
    /// Kinematic particles, with density 1, or those with mass.
    kinematic: bool,
    /// Gravity, where it is the same in all worlds.
    gravity: Option<[f32; 3]>,
    /// 1 / h³ where samples are whole particles.
    whole: Option<f32>,
    dt: f32,
    h: f32,
}

/// Momentum with the velocity gradient, or without.
struct Transferred<'a, const APIC: bool>(&'a Momentum<'a>);

impl<const APIC: bool> Carried for Transferred<'_, APIC> {
    const SLOPES: bool = APIC;

    #[inline(always)]
    fn place(&self, xi: [f32; 3]) -> [f32; 3] {
        if !self.0.kinematic {
            return xi;
        }
        xi.map(|x| match x {
            ..=ON_FACE => 0.0,
            x if x >= 1.0 - ON_FACE => 1.0,
            x => x,
        })
    }

    #[inline(always)]
    fn of(&self, p: usize, xi: [f32; 3], weight: f32) -> Option<Parts> {
        let Transferred(of) = self;
        let particles = of.particles;
        let mass = particles.mass[p];
        if (mass == 0.0) != of.kinematic {
            return None;
        }
        let m = match of.whole {
            _ if of.kinematic => weight,
            Some(inverse) => mass * inverse,
            None => {
                let edge = 2.0 * particles.radius[p];
                weight * (mass / (edge * edge * edge))
            }
        };
        let gravity = match of.gravity {
            Some(gravity) => gravity,
            None => of.config.gravity_of(particles.world[p] as usize),
        };
        let fall = if of.kinematic { 0.0 } else { of.dt };
        let mut parts = Parts {
            value: [m; 4],
            slope: [[0.0; 3]; 3],
        };
        let (velocity, gradient) = (&particles.velocity[p], &particles.gradient[p]);
        for i in 0..3 {
            let mut value = velocity[i] + fall * gravity[i];
            if APIC {
                for d in 0..3 {
                    let slope = gradient[i][d] * of.h;
                    value -= slope * xi[d];
                    parts.slope[i][d] = m * slope;
                }
            }
            parts.value[1 + i] = m * value;
        }
        Some(parts)
    }
}

/// Mass and velocity of the grid before stress and contact: `nodes` gets v* and 1/m.
///
/// Where kinematic particles are, mass is infinite: 1/m is exactly 0, so that neither stress nor
/// contact pushes such a node, and none of them grows without bound against it.
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
    let h = cells.size as f32;
    let gravity = match config.gravity.len() {
        1 => Some(config.gravity_of(0)),
        _ => None,
    };
    let whole = (bins.most == 1).then_some(1.0 / (h * h * h));
    let (basis, count) = (config.velocity_basis, cells.count());
    let gather = |sums: &mut Sums, kinematic: bool| {
        let of = Momentum {
            particles,
            config,
            kinematic,
            gravity,
            whole,
            dt,
            h,
        };
        match config.transfer {
            Transfer::Apic => {
                sums.gather(level, basis, bins, count, set, &Transferred::<true>(&of));
            }
            Transfer::Pic => {
                sums.gather(level, basis, bins, count, set, &Transferred::<false>(&of));
            }
        }
    };
    nodes.clear();
    nodes.resize(set.count(), [0.0; 4]);
    if particles.mass.contains(&0.0) {
        gather(sums, true);
        nodes.copy_from_slice(&sums.of_node);
    }
    gather(sums, false);
    let drag = config.air_drag * dt;
    let both = (&mut nodes[..], &mut sums.of_node[..]);
    both.into_par_iter()
        .with_min_len(1 << 12)
        .for_each(|(node, sum)| {
            // A node without mass has no velocity but the prescribed one.
            if node[0] > PRESCRIBES || (sum[0] == 0.0 && node[0] > 0.0) {
                let [weight, x, y, z] = *node;
                *node = [x / weight, y / weight, z / weight, 0.0];
                sum[0] = f32::INFINITY;
                return;
            }
            let mass = sum[0] + drag;
            // What is below has no inverse in single precision.
            let inverse = match mass >= f32::MIN_POSITIVE {
                true => 1.0 / mass,
                false => 0.0,
            };
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
    const SLOPES: bool = false;

    #[inline(always)]
    fn of(&self, p: usize, _: [f32; 3], weight: f32) -> Option<Parts> {
        if self.particles.flags[p] & PROXY != 0 {
            return None;
        }
        let [e, nu, damping] = self.materials[usize::from(self.particles.material[p])];
        Some(Parts {
            value: [1.0, e, nu, damping].map(|x| weight * x),
            slope: [[0.0; 3]; 3],
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collider::Colliders;
    use crate::shape::values;
    use crate::{Integration, Solver};

    /// Mass and momentum of the nodes as their definition says, in double precision.
    fn plain(
        config: &Config,
        particles: &Particles,
        bins: &Bins,
        cells: &Cells,
        set: &NodeSet,
        dt: f32,
    ) -> Vec<[f64; 4]> {
        let mut sums = vec![[0.0; 4]; set.count()];
        let (slots, h) = (set.slots(), cells.size);
        for s in 0..bins.cell.len() {
            let (cell, p) = (bins.cell[s] as usize, bins.particle[s] as usize);
            // The mass of nodes that kinematic particles prescribe is infinite.
            let density = match particles.mass[p] {
                0.0 => f64::INFINITY,
                mass => f64::from(mass) / f64::from(2.0 * particles.radius[p]).powi(3),
            };
            let m = f64::from(bins.weight[s]) * density;
            let of_cell = &set.of_cell[cell * slots..(cell + 1) * slots];
            let all = values(Level::new(), config.velocity_basis, bins.xi[s]);
            for (slot, (&node, &n)) in of_cell.iter().zip(&all).enumerate() {
                let at = set.reference(slot);
                if n == 0.0 {
                    continue;
                }
                let weight = m * f64::from(n);
                sums[node as usize][0] += weight;
                for i in 0..3 {
                    let gravity = config.gravity_of(particles.world[p] as usize)[i];
                    let mut v = f64::from(particles.velocity[p][i] + dt * gravity);
                    if config.transfer == Transfer::Apic {
                        for d in 0..3 {
                            let arm = f64::from(at[d] - bins.xi[s][d]) * h;
                            v += f64::from(particles.gradient[p][i][d]) * arm;
                        }
                    }
                    sums[node as usize][1 + i] += weight * v;
                }
            }
        }
        sums
    }

    /// A cloud with velocities and gradients, some of it kinematic.
    fn cloud(n: usize) -> Particles {
        let mut particles = Particles::new();
        let mut seed = 3u64;
        let mut next = || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        };
        for i in 0..n {
            let x = [next(), next(), next()].map(f64::from);
            let mass = if i % 50 == 0 { 0.0 } else { 1.0 + next() };
            particles.push(x, mass, 0.03 + 0.02 * next());
            particles.velocity[i] = [next(), next(), next()];
            particles.gradient[i] = [
                [next(), next(), next()],
                [next(), next(), next()],
                [next(), next(), next()],
            ];
            particles.world[i] = (i % 2) as u32;
        }
        particles
    }

    #[test]
    fn sums_are_those_of_the_definition_and_do_not_depend_on_threads() {
        use VelocityBasis::{B2, B3, Q1};
        for (basis, transfer, integration, worlds) in [
            (Q1, Transfer::Apic, Integration::Pic, 1),
            (Q1, Transfer::Apic, Integration::Gimp, 2),
            (Q1, Transfer::Pic, Integration::Pic, 2),
            (B2, Transfer::Apic, Integration::Pic, 1),
            (B3, Transfer::Pic, Integration::Gimp, 1),
        ] {
            let mut particles = cloud(6000);
            for i in 0..particles.len() {
                // Kinematic matter outweighs all else where it is: in a corner of its own.
                if particles.mass[i] == 0.0 {
                    particles.position[i] = particles.position[i].map(|x| x + 3.0);
                }
            }
            let config = Config {
                velocity_basis: basis,
                transfer,
                integration,
                separate_worlds: worlds > 1,
                gravity: vec![[1.0, 2.0, -9.0], [0.5, 0.0, 3.0]][..worlds].to_vec(),
                ..Config::default()
            };
            let mut first: Option<Vec<[u32; 4]>> = None;
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let sums = pool.install(|| {
                    let none = Colliders::new(0.1).unwrap();
                    let mut solver = Solver::new(
                        config.clone(),
                        vec![crate::Material::default()],
                        &particles,
                        &none,
                    )
                    .unwrap();
                    solver.sums_for_tests(&particles, 0.01, |bins, cells, set, sums| {
                        let wanted = plain(&config, &particles, bins, cells, set, 0.01);
                        for (sum, wanted) in sums.of_node.iter().zip(&wanted) {
                            if wanted[0].is_infinite() {
                                assert_eq!(sum[0], f32::INFINITY, "{basis:?}");
                                continue;
                            }
                            for k in 0..4 {
                                let size = wanted[0].max(1e-3);
                                let error = (f64::from(sum[k]) - wanted[k]).abs();
                                assert!(
                                    error < 1e-5 * size,
                                    "{basis:?} {k}: {} {}",
                                    sum[k],
                                    wanted[k]
                                );
                            }
                        }
                        sums.of_node
                            .iter()
                            .map(|s| s.map(f32::to_bits))
                            .collect::<Vec<_>>()
                    })
                });
                match &first {
                    None => first = Some(sums),
                    Some(first) => assert!(*first == sums, "{basis:?}, {threads} threads"),
                }
            }
        }
    }

    /// Kinematic particles on vertices, up to rounding: those vertices and no others are rigid.
    #[test]
    fn issue_005_kinematic_faces() {
        for (basis, integration, radius) in [
            (VelocityBasis::Q1, Integration::Pic, 0.05),
            (VelocityBasis::Q1, Integration::Gimp, 0.02),
        ] {
            for off in [0.0, 1e-15, -1e-15, 1e-6, -1e-6] {
                let mut particles = Particles::new();
                for i in -2..3 {
                    for j in -2..3 {
                        let x = [f64::from(i) * 0.1 + off, f64::from(j) * 0.1 - off, off];
                        // Several, whose weights add up.
                        for _ in 0..4 {
                            particles.push(x, 0.0, radius);
                        }
                        for k in -2..2 {
                            let x = [x[0] + 0.05, x[1] + 0.05, 0.1 * f64::from(k) + 0.05];
                            particles.push(x, 1.0, radius);
                        }
                    }
                }
                let config = Config {
                    velocity_basis: basis,
                    integration,
                    grid: crate::GridKind::Dense,
                    ..Config::default()
                };
                let none = Colliders::new(0.1).unwrap();
                let materials = vec![crate::Material::default()];
                let mut solver = Solver::new(config, materials, &particles, &none).unwrap();
                solver.sums_for_tests(&particles, 0.01, |_, _, set, sums| {
                    let mut rigid = 0;
                    for (c, sum) in set.coordinates.iter().zip(&sums.of_node) {
                        let on = c[2] == 0 && c[0].abs() <= 2 && c[1].abs() <= 2;
                        assert_eq!(sum[0] == f32::INFINITY, on, "{integration:?} {off} {c:?}");
                        rigid += usize::from(on);
                    }
                    assert_eq!(rigid, 25);
                });
            }
        }
    }
}
