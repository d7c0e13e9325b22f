//! The solve of a step.
#![allow(dead_code)]
mod flow;
mod lanes;
mod plain;
pub(crate) use flow::project;
pub(crate) const LANES: usize = 8;
pub(crate) type Lane = [f32; LANES];
pub(crate) type Node = [f32; 4];
#[derive(Debug, Default)]
pub(crate) struct Sites {
    pub width: usize,
    pub rows: usize,
    pub colours: Vec<usize>,
    pub used: Vec<u8>,
    pub columns: Vec<[u32; LANES]>,
    pub b: Vec<[Lane; 3]>,
    pub volume: Vec<Lane>,
    pub offset: Vec<[Lane; 6]>,
    pub yields: Vec<[Lane; 6]>,
    pub compliance: Vec<[Lane; 2]>,
    pub stress: Vec<[Lane; 6]>,
    pub world: Vec<[u32; LANES]>,
    pub worlds: usize,
}
#[derive(Debug, Default)]
pub(crate) struct Contacts {
    pub width: usize,
    pub count: usize,
    pub columns: Vec<[u32; LANES]>,
    pub weights: Vec<Lane>,
    pub normal: Vec<[Lane; 3]>,
    pub target: Vec<[Lane; 3]>,
    pub friction: Vec<Lane>,
    pub adhesion: Vec<Lane>,
    pub impulse: Vec<[Lane; 3]>,
    pub body: Vec<[u32; LANES]>,
    pub arm: Vec<[Lane; 3]>,
    pub bodies: Vec<BodyResponse>,
    pub cell_volume: f32,
}
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BodyResponse {
    pub inverse_mass: f32,
    pub inverse_inertia: [[f32; 3]; 3],
    pub linear: [f32; 3],
    pub angular: [f32; 3],
}
pub(crate) struct SolveOptions<'a> {
    pub max_iterations: usize,
    pub tolerance: f32,
    pub relaxation: f32,
    pub legacy_half_adjoint: bool,
    pub check_every: usize,
    pub stages: &'a [crate::Stage],
    pub viscous: bool,
    pub dilatant: bool,
}
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SolveReport {
    pub sweeps: usize,
    pub residual_l2: f32,
    pub residual_max: f32,
    pub linear_iterations: usize,
}
pub(crate) use plain::RheologySolver;
