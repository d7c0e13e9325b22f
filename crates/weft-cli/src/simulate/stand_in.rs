//! Temporary.
#![allow(missing_docs)]
use weft_mpm::collider::Colliders;
use weft_mpm::*;

#[derive(Clone, Copy, Debug, Default)]
pub struct PhaseSeconds {
    pub grid: f64,
    pub colliders: f64,
    pub momentum: f64,
    pub elasticity: f64,
    pub strain: f64,
    pub solve: f64,
    pub update: f64,
}
#[derive(Clone, Copy, Debug, Default)]
pub struct StepReport {
    pub sweeps: usize,
    pub residual_l2: f32,
    pub residual_max: f32,
    pub cells: usize,
    pub strain_nodes: usize,
    pub velocity_nodes: usize,
    pub contacts: usize,
    pub binned: usize,
    pub dropped: usize,
    pub seconds: PhaseSeconds,
}
pub struct Impulse {
    pub position: [f64; 3],
    pub impulse: [f64; 3],
    pub collider: usize,
}
pub struct Solver {
    config: Config,
    count: u64,
}
impl Solver {
    pub fn new(
        config: Config,
        materials: Vec<Material>,
        particles: &Particles,
        colliders: &Colliders,
    ) -> Result<Solver, MpmError> {
        config.check(!colliders.is_empty())?;
        particles.check(materials.len())?;
        Ok(Solver { config, count: 0 })
    }
    pub fn step(
        &mut self,
        particles: &mut Particles,
        _: &mut Colliders,
        dt: f64,
    ) -> Result<StepReport, MpmError> {
        self.count += 1;
        for i in 0..particles.len() {
            for d in 0..3 {
                if particles.mass[i] > 0.0 {
                    particles.velocity[i][d] += (dt as f32) * self.config.gravity[0][d];
                }
                particles.position[i][d] += dt * f64::from(particles.velocity[i][d]);
            }
        }
        Ok(StepReport {
            sweeps: self.count as usize,
            binned: particles.len(),
            ..Default::default()
        })
    }
    pub fn impulses(&self) -> impl Iterator<Item = Impulse> {
        std::iter::empty()
    }
    pub fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.count.to_le_bytes());
    }
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), MpmError> {
        self.count = u64::from_le_bytes(bytes.try_into().unwrap());
        Ok(())
    }
    pub fn bytes(&self) -> usize {
        0
    }
}
