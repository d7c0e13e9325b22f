//! The implicit solve of a step: velocity, stress and contact impulses from assembled data.
//!
//! Stress r and strain increment u of every strain row obey u = B v + C r + offset and the flow law,
//! velocity is v* + M⁻¹(Bᵀ r + Hᵀ λ), and contact impulses λ obey Coulomb's law. Sites, eight side
//! by side, are solved one after another with the velocity kept up to date.

mod crew;
mod flow;
mod lanes;

/// Sites in a block.
pub(crate) const LANES: usize = 8;

/// One number for each site of a block.
pub(crate) type Lane = [f32; LANES];

/// A grid node: velocity and inverse mass `[vx, vy, vz, 1/m]`.
pub(crate) type Node = [f32; 4];

pub(crate) use flow::project;
