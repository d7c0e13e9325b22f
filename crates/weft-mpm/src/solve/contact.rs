//! Coulomb contact: impulses from velocities, and their effect on velocities and bodies.
//!
//! All contacts see the velocity before a sweep; the mass of a node is shared in equal parts by the
//! contacts that touch it. Velocities then gather their impulses through the transposed weights, in
//! the order of the contacts: no two threads write one node, and sums don't depend on threads.

use super::blocks::chunks;
use super::crew::Crew;
use super::eigen::eigen;
use super::lanes::{Wide, array, each, gather, load, load_all, scatter, splat, store_all};
use super::shared::Shared;
use super::{BodyResponse, Contacts, LANES, Lane, Node};
use crate::bytes::{Bytes, sum_of_bytes};
use fearless_simd::{Level, Simd, dispatch, f32x4, f32x8, prelude::*};
use std::ops::Range;

/// What a solve keeps about its contacts.
#[derive(Default)]
pub(super) struct Touch {
    /// `[block]`: 1 / w, w being the velocity that a unit impulse gives; 0 if nothing moves.
    inverse: Vec<Wide>,
    /// `[block * LANES + lane]`: the last change of impulse.
    delta: Vec<Node>,
    /// Contacts of each node.
    counts: Vec<u32>,
    /// Contacts of each body.
    body_counts: Vec<u32>,
    /// Nodes with contacts; `starts` their entries in `entries`.
    nodes: Vec<u32>,
    starts: Vec<u32>,
    /// Contact and weight.
    entries: Vec<(u32, f32)>,
    /// Impulse and moment on each body.
    sums: Vec<[f64; 6]>,
}

impl Bytes for Touch {
    fn bytes(&self) -> usize {
        let Self {
            inverse,
            delta,
            counts,
            body_counts,
            nodes,
            starts,
            entries,
            sums,
        } = self;
        sum_of_bytes!(
            inverse,
            delta,
            counts,
            body_counts,
            nodes,
            starts,
            entries,
            sums
        )
    }
}

/// The bodies of eight contacts, if any has finite mass.
fn bodies_of(contacts: &Contacts, block: usize) -> Option<&[u32; LANES]> {
    let body = contacts.body.get(block)?;
    body.iter()
        .any(|b| (*b as usize) < contacts.bodies.len())
        .then_some(body)
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// Velocity at `arm` that a unit impulse there gives the body: I/m + [r] I⁻¹ [r]ᵀ.
fn response(body: &BodyResponse, arm: [f32; 3]) -> [[f32; 3]; 3] {
    let inertia = &body.inverse_inertia;
    let mut turned = [[0.0; 3]; 3];
    for column in 0..3 {
        let product = cross(
            arm,
            [inertia[0][column], inertia[1][column], inertia[2][column]],
        );
        for row in 0..3 {
            turned[row][column] = product[row];
        }
    }
    let mut out = turned.map(|row| cross(arm, row));
    for (i, row) in out.iter_mut().enumerate() {
        row[i] += body.inverse_mass;
    }
    out
}

impl Touch {
    /// Transposes the weights and finds what an impulse does.
    pub fn prepare(&mut self, crew: &Crew, contacts: &Contacts, nodes: &mut [Node]) {
        let width = contacts.width;
        let blocks = contacts.count.div_ceil(LANES);
        self.delta.clear();
        self.delta.resize(blocks * LANES, [0.0; 4]);
        self.inverse.clear();
        self.inverse.resize(blocks, Wide::default());
        self.nodes.clear();
        self.starts.clear();
        self.entries.clear();
        if contacts.count == 0 {
            return;
        }
        let weights = |contact: usize| {
            let (block, lane) = (contact / LANES, contact % LANES);
            (block * width..(block + 1) * width)
                .map(move |at| {
                    (
                        contacts.columns[at][lane] as usize,
                        contacts.weights[at][lane],
                    )
                })
                .filter(|(_, weight)| *weight != 0.0)
        };
        // Counting sort of the weights by node.
        self.counts.clear();
        self.counts.resize(nodes.len(), 0);
        for contact in 0..contacts.count {
            for (node, _) in weights(contact) {
                self.counts[node] += 1;
            }
        }
        let mut total = 0;
        for (node, count) in self.counts.iter().enumerate() {
            if *count > 0 {
                self.nodes.push(node as u32);
                self.starts.push(total);
                total += count;
            }
        }
        self.starts.push(total);
        self.find_inverse(crew, contacts, nodes);
        // From here on, counts are the places to fill.
        for (node, start) in self.nodes.iter().zip(&self.starts) {
            self.counts[*node as usize] = *start;
        }
        self.entries.resize(total as usize, (0, 0.0));
        for contact in 0..contacts.count {
            for (node, weight) in weights(contact) {
                let place = &mut self.counts[node];
                self.entries[*place as usize] = (contact as u32, weight);
                *place += 1;
            }
        }
    }

    fn find_inverse(&mut self, crew: &Crew, contacts: &Contacts, nodes: &mut [Node]) {
        let width = contacts.width;
        self.body_counts.clear();
        self.body_counts.resize(contacts.bodies.len(), 0);
        self.sums.clear();
        self.sums.resize(contacts.bodies.len(), [0.0; 6]);
        if !contacts.bodies.is_empty() {
            for contact in 0..contacts.count {
                let body = contacts.body[contact / LANES][contact % LANES];
                if let Some(count) = self.body_counts.get_mut(body as usize) {
                    *count += 1;
                }
            }
        }
        let counts = &self.counts;
        let body_counts = &self.body_counts;
        let blocks = self.inverse.len();
        let inverse = Shared::new(&mut self.inverse);
        let nodes = &*nodes;
        chunks(crew, 0..blocks, |range| {
            for block in range {
                let mut w = [0.0; LANES];
                for at in block * width..(block + 1) * width {
                    for lane in 0..LANES {
                        let weight = contacts.weights[at][lane];
                        let node = contacts.columns[at][lane] as usize;
                        w[lane] += weight * weight * nodes[node][3] * counts[node] as f32;
                    }
                }
                if let Some(bodies) = bodies_of(contacts, block) {
                    let share = body_share(contacts, block, bodies, body_counts);
                    for (w, share) in w.iter_mut().zip(share) {
                        *w += share;
                    }
                }
                // SAFETY: every block is in one chunk.
                let out = unsafe { &mut inverse.part(block, 1)[0] };
                for lane in 0..LANES {
                    let used = block * LANES + lane < contacts.count;
                    out.0[lane] = if used && w[lane] > 0.0 {
                        1.0 / w[lane]
                    } else {
                        0.0
                    };
                }
            }
        });
    }

    /// Projects the first guess on the cone and applies it.
    pub fn first(&mut self, crew: &Crew, contacts: &mut Contacts, nodes: &mut [Node]) {
        if contacts.count == 0 {
            return;
        }
        for block in 0..self.inverse.len() {
            dispatch!(Level::new(), simd => {
                let n = load_all(simd, &contacts.normal[block]);
                let adhesion = load(simd, &contacts.adhesion[block]);
                let friction = load(simd, &contacts.friction[block]);
                let old: [f32x8<_>; 3] = load_all(simd, &contacts.impulse[block]);
                let new = bear(simd, old, &n, friction, adhesion);
                store_all(&mut contacts.impulse[block], &new);
                let start = &mut self.delta[block * LANES..(block + 1) * LANES];
                write_delta(simd, start, new);
            });
        }
        self.spread(crew, contacts, nodes);
    }

    /// New impulses from the velocity, then new velocities.
    pub fn sweep(&mut self, crew: &Crew, contacts: &mut Contacts, nodes: &mut [Node]) {
        if contacts.count == 0 {
            return;
        }
        let blocks = self.inverse.len();
        let mut impulse = std::mem::take(&mut contacts.impulse);
        let task = Task {
            contacts,
            inverse: &self.inverse,
            impulse: Shared::new(&mut impulse),
            delta: Shared::new(&mut self.delta),
        };
        let view = Shared::new(nodes);
        chunks(crew, 0..blocks, |range| {
            // SAFETY: columns are checked by the solver; nodes are only read in this phase.
            dispatch!(Level::new(), simd => unsafe {
                sweep_blocks(simd, &task, view.start(), range)
            });
        });
        contacts.impulse = impulse;
        self.spread(crew, contacts, nodes);
    }

    /// Applies the last change of impulse to velocities and bodies.
    fn spread(&mut self, crew: &Crew, contacts: &mut Contacts, nodes: &mut [Node]) {
        let view = Shared::new(nodes);
        let this = &*self;
        // Nodes in chunks as large as blocks of contacts.
        chunks(crew, 0..this.nodes.len().div_ceil(LANES), |range| {
            let first = range.start * LANES;
            let last = (range.end * LANES).min(this.nodes.len());
            dispatch!(Level::new(), simd => for at in first..last {
                let entries = this.starts[at] as usize..this.starts[at + 1] as usize;
                let mut sum = f32x4::splat(simd, 0.0);
                for (contact, weight) in &this.entries[entries] {
                    let delta = f32x4::load_array_ref(simd, &this.delta[*contact as usize]);
                    sum = delta.mul_add(f32x4::splat(simd, *weight), sum);
                }
                // SAFETY: every touched node is listed once.
                let node = unsafe { &mut view.part(this.nodes[at] as usize, 1)[0] };
                let sum: [f32; 4] = sum.into();
                for d in 0..3 {
                    node[d] += node[3] * sum[d];
                }
            });
        });
        if contacts.bodies.is_empty() {
            return;
        }
        self.sums.fill([0.0; 6]);
        for contact in 0..contacts.count {
            let (block, lane) = (contact / LANES, contact % LANES);
            let Some(sum) = self.sums.get_mut(contacts.body[block][lane] as usize) else {
                continue;
            };
            let [x, y, z, _] = self.delta[contact];
            let arm = contacts.arm[block].map(|arm| arm[lane]);
            let moment = cross(arm, [x, y, z]);
            for d in 0..3 {
                sum[d] += f64::from([x, y, z][d]);
                sum[3 + d] += f64::from(moment[d]);
            }
        }
        for (body, sum) in contacts.bodies.iter_mut().zip(&self.sums) {
            // The reaction: against what the material gets.
            let sum = sum.map(|sum| -sum * f64::from(contacts.cell_volume));
            for d in 0..3 {
                let row = body.inverse_inertia[d];
                body.linear[d] += (f64::from(body.inverse_mass) * sum[d]) as f32;
                body.angular[d] +=
                    (0..3).map(|k| f64::from(row[k]) * sum[3 + k]).sum::<f64>() as f32;
            }
        }
    }
}

/// Largest velocity that a unit impulse gives the body, which its contacts share.
fn body_share(
    contacts: &Contacts,
    block: usize,
    bodies: &[u32; LANES],
    counts: &[u32],
) -> [f32; LANES] {
    let mut matrix = [[[0.0; LANES]; 3]; 3];
    let mut factor = [0.0; LANES];
    for lane in 0..LANES {
        let Some(body) = contacts.bodies.get(bodies[lane] as usize) else {
            continue;
        };
        let arm = contacts.arm[block].map(|arm| arm[lane]);
        let response = response(body, arm);
        let trace = response[0][0] + response[1][1] + response[2][2];
        if trace > 0.0 {
            let count = counts[bodies[lane] as usize] as f32;
            factor[lane] = trace * count * contacts.cell_volume;
            for i in 0..3 {
                for j in 0..3 {
                    // Symmetric up to rounding.
                    matrix[i][j][lane] = 0.5 * (response[i][j] + response[j][i]) / trace;
                }
            }
        }
    }
    dispatch!(Level::new(), simd => {
        let matrix = [
            load_all(simd, &matrix[0]),
            load_all(simd, &matrix[1]),
            load_all(simd, &matrix[2]),
        ];
        let ([x, y, z], _) = eigen(simd, &matrix);
        array(x.max(y).max(z) * load(simd, &factor))
    })
}

struct Task<'a> {
    contacts: &'a Contacts,
    inverse: &'a [Wide],
    impulse: Shared<'a, [Lane; 3]>,
    delta: Shared<'a, Node>,
}

/// The nearest impulse that contact can bear: with the adhesion added to its normal part it pushes,
/// and its tangential part is at most friction times that.
#[inline(always)]
fn bear<S: Simd>(
    simd: S,
    impulse: [f32x8<S>; 3],
    normal: &[f32x8<S>; 3],
    friction: f32x8<S>,
    adhesion: f32x8<S>,
) -> [f32x8<S>; 3] {
    let zero = splat(simd, 0.0);
    let n = impulse[2].mul_add(
        normal[2],
        impulse[1].mul_add(normal[1], impulse[0] * normal[0]),
    );
    let t: [f32x8<S>; 3] = each!(simd, |d| impulse[d] - n * normal[d]);
    let size = t[2].mul_add(t[2], t[1].mul_add(t[1], t[0] * t[0])).sqrt();
    let push = n + adhesion;
    let bound = friction * push;
    let excess = size.simd_gt(bound).select((size - bound) / size, zero);
    let pushes = push.simd_gt(zero);
    each!(simd, |d| pushes
        .select(impulse[d] - excess * t[d], -adhesion * normal[d]))
}

/// Eight impulses, contact by contact.
#[inline(always)]
fn write_delta<S: Simd>(simd: S, out: &mut [Node], delta: [f32x8<S>; 3]) {
    assert_eq!(out.len(), LANES);
    let [x, y, z] = delta;
    let columns = [0, 1, 2, 3, 4, 5, 6, 7];
    // SAFETY: `out` has eight elements.
    unsafe {
        scatter(
            simd,
            out.as_mut_ptr(),
            &columns,
            LANES,
            [x, y, z, splat(simd, 0.0)],
        )
    };
}

/// # Safety
/// Columns are indices of nodes, which nobody writes; no block is in two ranges.
#[inline(always)]
unsafe fn sweep_blocks<S: Simd>(simd: S, task: &Task, nodes: *const Node, blocks: Range<usize>) {
    let contacts = task.contacts;
    let width = contacts.width;
    for block in blocks {
        let mut u: [f32x8<S>; 3] = load_all(simd, &contacts.target[block]);
        if let Some(bodies) = bodies_of(contacts, block) {
            let moved = body_velocity(contacts, block, bodies);
            for (u, moved) in u.iter_mut().zip(&moved) {
                *u += load(simd, moved);
            }
        }
        for u in &mut u {
            *u = -*u;
        }
        for at in block * width..(block + 1) * width {
            // SAFETY: promised by the caller.
            let node = unsafe { gather(simd, nodes, &contacts.columns[at]) };
            let weight = load(simd, &contacts.weights[at]);
            for d in 0..3 {
                u[d] = weight.mul_add(node[d], u[d]);
            }
        }
        let inverse = load(simd, &task.inverse[block].0);
        let n = load_all(simd, &contacts.normal[block]);
        let adhesion = load(simd, &contacts.adhesion[block]);
        let friction = load(simd, &contacts.friction[block]);
        // SAFETY: every block is in one range.
        let (impulse, delta) = unsafe {
            (
                &mut task.impulse.part(block, 1)[0],
                task.delta.part(block * LANES, LANES),
            )
        };
        let old: [f32x8<S>; 3] = load_all(simd, impulse);
        // The impulse that would stop all motion, as far as it can be borne.
        let trial: [f32x8<S>; 3] = each!(simd, |d| old[d] - u[d] * inverse);
        let new = bear(simd, trial, &n, friction, adhesion);
        let moves = inverse.simd_gt(splat(simd, 0.0));
        let new: [f32x8<S>; 3] = each!(simd, |d| moves.select(new[d], old[d]));
        store_all(impulse, &new);
        write_delta(simd, delta, each!(simd, |d| new[d] - old[d]));
    }
}

/// Velocity that the bodies of eight contacts have gained.
fn body_velocity(contacts: &Contacts, block: usize, bodies: &[u32; LANES]) -> [Lane; 3] {
    let mut out = [[0.0; LANES]; 3];
    for lane in 0..LANES {
        if let Some(body) = contacts.bodies.get(bodies[lane] as usize) {
            let turned = cross(body.angular, contacts.arm[block].map(|arm| arm[lane]));
            for d in 0..3 {
                out[d][lane] = body.linear[d] + turned[d];
            }
        }
    }
    out
}
