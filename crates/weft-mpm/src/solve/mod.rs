//! The implicit solve of a step: velocity, stress and contact impulses from assembled data.
//!
//! Stress r and strain increment u of every strain row obey u = B v + C r + offset and the flow law,
//! velocity is v* + M⁻¹(Bᵀ r + Hᵀ λ), and contact impulses λ obey Coulomb's law. Sites, eight side
//! by side, are solved one after another with the velocity kept up to date.

mod blocks;
mod contact;
mod crew;
mod eigen;
mod flow;
mod kernels;
mod krylov;
mod lanes;
mod rheology;
mod rows;
mod shared;
#[cfg(test)]
mod tests;

use crate::bytes::{Bytes, sum_of_bytes};
pub(crate) use flow::project;
#[cfg(test)]
pub(crate) use rheology::SolveReport;
pub(crate) use rheology::{RheologySolver, SolveOptions};

/// Sites in a block.
pub(crate) const LANES: usize = 8;

/// One number for each site of a block.
pub(crate) type Lane = [f32; LANES];

/// A grid node: velocity and inverse mass `[vx, vy, vz, 1/m]`.
pub(crate) type Node = [f32; 4];

/// Strain rows. A site is a group of rows that share their velocity nodes and are solved one after
/// another in one lane: a cell (P0: 1 row, P1d: 4, Q1d: 8, particles: up to N) or, for continuous
/// strain, a node (1 row, up to 27 columns). A block is eight sites of one colour.
///
/// **Invariant.** Sites of one colour share no velocity node.
#[derive(Default)]
pub(crate) struct Sites {
    /// Columns (velocity nodes) of a site. Unused columns come last and repeat the site's first
    /// one, with b = 0.
    pub width: usize,
    /// Rows of a site. A row with volume 0 is empty: it is skipped, its stress is 0.
    pub rows: usize,
    /// Block offsets of the colours, colours + 1 entries.
    pub colours: Vec<usize>,
    /// Lanes in use in each block: the first ones. The others repeat the columns of a used one and
    /// are never written.
    pub used: Vec<u8>,
    /// `[block * width + column]`
    pub columns: Vec<[u32; LANES]>,
    /// `[(block * rows + row) * width + column]`: (dt / h³) Σ_p V_p φ_i ∇N_j.
    pub b: Vec<[Lane; 3]>,
    /// `[block * rows + row]`: integrated volume over h³.
    pub volume: Vec<Lane>,
    /// `[block * rows + row]`: strain that stress has to make up for, integrated.
    pub offset: Vec<[Lane; 6]>,
    /// `[block * rows + row]`: pressure and tension bounds, stress, friction times pressure,
    /// dilatancy, viscosity / dt, all divided by the volume.
    pub yields: Vec<[Lane; 6]>,
    /// `[(block * rows + row) * rows + other]`: spherical and deviatoric; empty when nothing is
    /// compliant.
    pub compliance: Vec<[Lane; 2]>,
    /// `[block * rows + row]`: first guess in, solution out, compression positive, Pa.
    pub stress: Vec<[Lane; 6]>,
    /// `[block]`: worlds of the sites; empty unless worlds are separate.
    pub world: Vec<[u32; LANES]>,
    /// Number of worlds; 1 unless they are separate.
    pub worlds: usize,
}

impl Bytes for Sites {
    fn bytes(&self) -> usize {
        let Self {
            colours,
            used,
            columns,
            b,
            volume,
            offset,
            yields,
            compliance,
            stress,
            world,
            width: _,
            rows: _,
            worlds: _,
        } = self;
        sum_of_bytes!(
            colours, used, columns, b, volume, offset, yields, compliance, stress, world
        )
    }
}

impl Sites {
    /// World of a site.
    fn world_of(&self, block: usize, lane: usize) -> usize {
        match self.world.get(block) {
            Some(world) if self.worlds > 1 => world[lane] as usize,
            _ => 0,
        }
    }
}

/// Active contacts, eight side by side. Lanes beyond `count` hold finite numbers and valid nodes.
#[derive(Default)]
pub(crate) struct Contacts {
    /// Most velocity nodes of a contact.
    pub width: usize,
    pub count: usize,
    /// `[block * width + column]`; unused ones repeat a valid node with weight 0.
    pub columns: Vec<[u32; LANES]>,
    /// `[block * width + column]`: H_kj.
    pub weights: Vec<Lane>,
    /// `[block]`: unit normals, out of the collider.
    pub normal: Vec<[Lane; 3]>,
    /// `[block]`: velocity of the collider; of finite-mass bodies, before this step's impulses.
    pub target: Vec<[Lane; 3]>,
    pub friction: Vec<Lane>,
    /// Bound of the attracting impulse.
    pub adhesion: Vec<Lane>,
    /// λ, on the material: first guess in, solution out.
    pub impulse: Vec<[Lane; 3]>,
    /// Index into `bodies`, or `u32::MAX`. May be empty if there are no bodies.
    pub body: Vec<[u32; LANES]>,
    /// Contact point from the centre of mass of the body, as `body`.
    pub arm: Vec<[Lane; 3]>,
    /// Bodies with finite mass.
    pub bodies: Vec<BodyResponse>,
    /// h³: impulses are per volume.
    pub cell_volume: f32,
}

impl Bytes for Contacts {
    fn bytes(&self) -> usize {
        let Self {
            columns,
            weights,
            normal,
            target,
            friction,
            adhesion,
            impulse,
            body,
            arm,
            bodies,
            width: _,
            count: _,
            cell_volume: _,
        } = self;
        sum_of_bytes!(
            columns, weights, normal, target, friction, adhesion, impulse, body, arm, bodies
        )
    }
}

/// How a body answers impulses.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct BodyResponse {
    pub inverse_mass: f32,
    /// In world axes.
    pub inverse_inertia: [[f32; 3]; 3],
    /// Velocity gained so far.
    pub linear: [f32; 3],
    /// Angular velocity gained so far.
    pub angular: [f32; 3],
}
