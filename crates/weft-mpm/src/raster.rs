//! Colliders sampled on the grid: distances, normals, and the contacts of a step.

use crate::bins::Bins;
use crate::bytes::bytes_of;
use crate::collider::Colliders;
use crate::config::{ColliderBasis, Config};
use crate::grid::{Cells, NodeSet, world_of};
use crate::shape::{trilinear_values, values};
use crate::solve::{BodyResponse, Contacts, LANES};
use crate::{MpmError, Particles};
use fearless_simd::Level;
use rayon::prelude::*;

/// Distance where no collider is near, m.
const FAR: f32 = 1e6;
/// Depth that is on a surface up to rounding, in cells.
const SURFACE: f32 = 1e-6;
/// No body that yields.
const NO_BODY: u32 = u32::MAX;

/// A collider at a sample.
#[derive(Clone, Copy, Debug)]
struct Hit {
    position: [f64; 3],
    /// To the shape less its thickness.
    distance: f32,
    thickness: f32,
    normal: [f32; 3],
    velocity: [f32; 3],
    friction: f32,
    adhesion: f32,
    collider: u32,
    body: u32,
}

const NOTHING: Hit = Hit {
    position: [0.0; 3],
    distance: FAR,
    thickness: 0.0,
    normal: [0.0; 3],
    velocity: [0.0; 3],
    friction: -1.0,
    adhesion: 0.0,
    collider: u32::MAX,
    body: NO_BODY,
};

/// Samples of colliders, and contacts where they touch the material.
#[derive(Default)]
pub(crate) struct Raster {
    /// Samples on a lattice; none for particles.
    pub set: Option<NodeSet>,
    most: usize,
    /// Largest distance of a contact, in cells.
    reach: f32,
    hits: Vec<Hit>,
    /// Cell and reference coordinates of each sample.
    places: Vec<(u32, [f32; 3])>,
    /// Share of a cell's volume that a sample stands for.
    share: Vec<f32>,
    /// Particle of each sample, for particle samples.
    particle: Vec<u32>,
    /// Samples in contact.
    pub active: Vec<u32>,
    pub contacts: Contacts,
    /// Velocity nodes and weights of each contact: `links[first_link[k]..first_link[k + 1]]`.
    links: Vec<(u32, f32)>,
    first_link: Vec<u32>,
    gradient: Vec<[f32; 4]>,
}

bytes_of! {
    Raster: set, hits, places, share, particle, active, contacts, links, first_link, gradient
    without most, reach
}

impl Raster {
    pub fn new(basis: ColliderBasis) -> Raster {
        let (set, reach, most) = match basis {
            ColliderBasis::Q1 => (Some(NodeSet::vertices()), 0.5, 0),
            ColliderBasis::S2 => (Some(NodeSet::edges(2)), 0.25, 0),
            ColliderBasis::S3 => (Some(NodeSet::edges(3)), 1.0 / 6.0, 0),
            ColliderBasis::Particle(most) => (None, 0.0, most),
        };
        Raster {
            set,
            reach,
            most,
            ..Raster::default()
        }
    }

    /// Makes the samples for a new set of cells.
    pub fn lay_out(&mut self, cells: &Cells) -> Result<(), MpmError> {
        let Some(set) = &mut self.set else {
            return Ok(());
        };
        set.rebuild(&cells.coordinates)?;
        self.places.clear();
        self.share.clear();
        // Diagonal lumping keeps shares positive: of the quadratic hexahedron's ∫φ² the corners
        // have 7/248 each, the edges 16/248; else all the same.
        let slots = set.slots();
        let share_of = |slot: usize| match (slots, set.reference(slot)) {
            (20, at) if at.contains(&0.5) => 16.0 / 248.0,
            (20, _) => 7.0 / 248.0,
            _ => 1.0 / slots as f32,
        };
        for node in 0..set.count() {
            let (cell, slot) = set.host(node);
            self.places.push((cell as u32, set.reference(slot)));
            let around = &set.around[set.first[node] as usize..set.first[node + 1] as usize];
            self.share
                .push(around.iter().map(|&at| share_of(at as usize % slots)).sum());
        }
        Ok(())
    }

    /// Asks the colliders at all samples.
    pub fn sample(
        &mut self,
        colliders: &Colliders,
        cells: &Cells,
        particles: &Particles,
        bins: &Bins,
        config: &Config,
        dt: f64,
    ) {
        if self.set.is_none() {
            self.places.clear();
            self.share.clear();
            self.particle.clear();
            for cell in 0..cells.count() {
                for sample in bins.of(cell).take(self.most) {
                    self.places.push((cell as u32, bins.xi[sample]));
                    self.share.push(bins.weight[sample]);
                    self.particle.push(bins.particle[sample]);
                }
            }
        }
        self.hits.resize(self.places.len(), NOTHING);
        let (set, particle) = (&self.set, &self.particle);
        let worlds = cells.shifts.len();
        self.hits
            .par_iter_mut()
            .with_min_len(512)
            .zip(&self.places)
            .enumerate()
            .for_each(|(i, (hit, &(cell, _)))| {
                let world = cells.world_of(cell as usize);
                let x = match set {
                    Some(set) => {
                        let factor = f64::from(set.factor());
                        cells.position(world, set.coordinates[i].map(|c| f64::from(c) / factor))
                    }
                    None => particles.position[particle[i] as usize],
                };
                let world = match set {
                    None => world_of(particles, particle[i] as usize, worlds),
                    Some(_) => world,
                };
                *hit = query(
                    colliders,
                    x,
                    (worlds > 1).then_some(world as u32),
                    config,
                    dt,
                );
            });
        if config.normals_from_distance {
            self.smooth_normals(cells);
        }
    }

    /// Normals from the gradient of the sampled distance, averaged over cells. Where distances in a
    /// cell jump, those beyond the least by more than their separation are replaced by those to the
    /// plane there.
    fn smooth_normals(&mut self, cells: &Cells) {
        let Some(set) = &self.set else {
            return;
        };
        let (slots, h) = (set.slots(), cells.size as f32);
        self.gradient.clear();
        self.gradient.resize(self.hits.len(), [0.0; 4]);
        for cell in 0..cells.count() {
            let of_cell = &set.of_cell[cell * slots..(cell + 1) * slots];
            let distance = |s: usize| self.hits[of_cell[s] as usize].distance;
            let Some(least) = (0..slots).min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
            else {
                continue;
            };
            let near = &self.hits[of_cell[least] as usize];
            if near.collider == u32::MAX {
                continue;
            }
            let at = set.reference(least);
            // Least squares slope of the distances along each axis.
            let (mut slope, mut spread) = ([0.0f32; 3], [0.0f32; 3]);
            for s in 0..slots {
                let to = set.reference(s);
                let step: [f32; 3] = std::array::from_fn(|d| (to[d] - at[d]) * h);
                let length = step.iter().map(|x| x * x).sum::<f32>().sqrt();
                let along: f32 = (0..3).map(|d| step[d] * near.normal[d]).sum();
                let value = match distance(s) {
                    far if far > near.distance + length => near.distance + along,
                    fine => fine,
                };
                for d in 0..3 {
                    let from_centre = (to[d] - 0.5) * h;
                    slope[d] += from_centre * value;
                    spread[d] += from_centre * from_centre;
                }
            }
            for &node in of_cell {
                for d in 0..3 {
                    self.gradient[node as usize][d] += slope[d] / spread[d];
                }
            }
        }
        for (hit, g) in self.hits.iter_mut().zip(&self.gradient) {
            let length = (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]).sqrt();
            if hit.collider != u32::MAX && length > 1e-6 {
                hit.normal = [g[0] / length, g[1] / length, g[2] / length];
            }
        }
    }

    /// Fills the contacts: samples close enough to a collider and next to material. `masses` are
    /// those of the nodes, as their first numbers; nodes without mass take no part: an impulse on
    /// them would be lost.
    pub fn contacts(
        &mut self,
        level: Level,
        colliders: &Colliders,
        cells: &Cells,
        velocity: &NodeSet,
        masses: &[[f32; 4]],
        config: &Config,
        dt: f32,
    ) {
        let h = cells.size as f32;
        let limit = self.reach * h;
        self.active.clear();
        let close = |hit: &Hit| hit.distance < limit || (limit == 0.0 && hit.distance <= 0.0);
        let slots = velocity.slots();
        self.links.clear();
        self.first_link.clear();
        self.first_link.push(0);
        for (i, hit) in self.hits.iter().enumerate() {
            if !close(hit) {
                continue;
            }
            let (cell, xi) = self.places[i];
            let nodes = &velocity.of_cell[cell as usize * slots..(cell as usize + 1) * slots];
            let weights = values(level, config.velocity_basis, xi);
            let start = self.links.len();
            let linked =
                |&(&node, &weight): &(&u32, &f32)| weight > 1e-6 && masses[node as usize][0] > 0.0;
            let links = nodes.iter().zip(&weights).filter(linked);
            self.links
                .extend(links.map(|(&node, &weight)| (node, weight)));
            let own = &mut self.links[start..];
            if own.is_empty() {
                continue;
            }
            let total: f32 = own.iter().map(|link| link.1).sum();
            own.iter_mut().for_each(|link| link.1 /= total);
            self.active.push(i as u32);
            self.first_link.push(self.links.len() as u32);
        }
        let (links, first) = (&self.links, &self.first_link);
        let links_of = |k: usize| &links[first[k] as usize..first[k + 1] as usize];
        let contacts = &mut self.contacts;
        contacts.cell_volume = h * h * h;
        contacts.count = self.active.len();
        let widths = (0..contacts.count).map(|k| links_of(k).len());
        contacts.width = widths.max().unwrap_or(1);
        let width = contacts.width;
        let blocks = contacts.count.div_ceil(LANES);
        contacts.columns.resize(blocks * width, [0; LANES]);
        contacts.weights.resize(blocks * width, [0.0; LANES]);
        for list in [
            &mut contacts.normal,
            &mut contacts.target,
            &mut contacts.impulse,
            &mut contacts.arm,
        ] {
            list.resize(blocks, [[0.0; LANES]; 3]);
        }
        for list in [&mut contacts.friction, &mut contacts.adhesion] {
            list.resize(blocks, [0.0; LANES]);
        }
        contacts.body.resize(blocks, [NO_BODY; LANES]);
        contacts.bodies.clear();
        for body in 0..colliders.body_count() {
            contacts.bodies.push(BodyResponse {
                inverse_mass: colliders.inverse_mass(body) as f32,
                inverse_inertia: colliders
                    .inverse_inertia(body)
                    .map(|row| row.map(|x| x as f32)),
                ..BodyResponse::default()
            });
        }
        for k in 0..blocks * LANES {
            let (block, lane) = (k / LANES, k % LANES);
            // Lanes out of use repeat the last contact without weight.
            let own = k.min(contacts.count - 1);
            let live = k == own;
            let sample = self.active[own];
            let hit = &self.hits[sample as usize];
            for column in 0..width {
                // Columns past the last link repeat the first without weight.
                let (node, weight) = match links_of(own).get(column) {
                    Some(&(node, weight)) => (node, if live { weight } else { 0.0 }),
                    None => (links_of(own)[0].0, 0.0),
                };
                contacts.columns[block * width + column][lane] = node;
                contacts.weights[block * width + column][lane] = weight;
            }
            let centre = match hit.body {
                NO_BODY => [0.0; 3],
                body => colliders.center_of_mass(body as usize),
            };
            for d in 0..3 {
                contacts.normal[block][d][lane] = hit.normal[d];
                contacts.target[block][d][lane] = hit.velocity[d];
                contacts.impulse[block][d][lane] = 0.0;
                contacts.arm[block][d][lane] = (hit.position[d] - centre[d]) as f32;
            }
            contacts.friction[block][lane] = hit.friction;
            contacts.adhesion[block][lane] = hit.adhesion * dt * self.share[sample as usize] / h;
            contacts.body[block][lane] = if live { hit.body } else { NO_BODY };
        }
    }

    /// Forgets the contacts.
    pub fn clear_contacts(&mut self) {
        self.active.clear();
        self.contacts.count = 0;
    }

    /// Part of a cell's volume that lies outside the colliders' shapes: of its eighths, by the
    /// distance at their middles, linear between the vertices. A middle on a surface is outside:
    /// so are those of cells whose vertices all lie on walls.
    pub fn outside(&self, cells: &Cells, cell: usize) -> f32 {
        let Some(set) = &self.set else {
            return 1.0;
        };
        let slots = set.slots();
        let mut corner = [0.0f32; 8];
        for slot in 0..slots {
            let at = set.reference(slot);
            if at.iter().all(|&x| x == 0.0 || x == 1.0) {
                let c = 4 * at[0] as usize + 2 * at[1] as usize + at[2] as usize;
                let hit = &self.hits[set.of_cell[cell * slots + slot] as usize];
                corner[c] = hit.distance + hit.thickness;
            }
        }
        let inside = |&eighth: &usize| {
            let at = [2, 1, 0].map(|b| if eighth >> b & 1 == 1 { 0.75 } else { 0.25 });
            let values = trilinear_values(at);
            let distance: f32 = (0..8).map(|c| values[c] * corner[c]).sum();
            distance < -SURFACE * cells.size as f32
        };
        1.0 - (0..8).filter(inside).count() as f32 / 8.0
    }

    /// Position and collider of a sample in contact.
    pub fn contact(&self, k: usize) -> ([f64; 3], usize) {
        let hit = &self.hits[self.active[k] as usize];
        (hit.position, hit.collider as usize)
    }

    /// World of a sample.
    pub fn world_of(&self, cells: &Cells, sample: usize) -> usize {
        cells.world_of(self.places[sample].0 as usize)
    }
}

fn query(colliders: &Colliders, x: [f64; 3], world: Option<u32>, config: &Config, dt: f64) -> Hit {
    let Some(found) = colliders.query(x, colliders.search_range(), world) else {
        return Hit {
            position: x,
            ..NOTHING
        };
    };
    let mode = config.collider_velocity;
    let velocity = colliders.velocity_at(found.collider, found.point, dt, mode);
    let yields = colliders.inverse_mass(found.body) > 0.0;
    Hit {
        position: x,
        distance: found.distance as f32,
        thickness: found.thickness as f32,
        normal: found.normal.map(|n| n as f32),
        velocity: velocity.map(|v| v as f32),
        friction: found.friction as f32,
        adhesion: found.adhesion as f32,
        collider: found.collider as u32,
        body: if yields { found.body as u32 } else { NO_BODY },
    }
}
