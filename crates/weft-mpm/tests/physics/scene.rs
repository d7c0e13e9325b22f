//! What the tests share.

use weft_mpm::collider::{Collider, ColliderMaterial, Colliders, Pose, Shape};
use weft_mpm::{Config, Material, Particles, Solver, StepReport};

/// Numbers from a counter: the same on all machines.
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    /// Uniform in [0, 1).
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / 2f64.powi(64)
    }
}

/// A block of particles, `per_cell` an axis and cell of size `h`, with corners on cell corners.
pub fn block(
    lower: [f64; 3],
    cells: [usize; 3],
    h: f64,
    per_cell: usize,
    density: f64,
) -> Particles {
    let spacing = h / per_cell as f64;
    let mut particles = Particles::new();
    for i in 0..cells[0] * per_cell {
        for j in 0..cells[1] * per_cell {
            for k in 0..cells[2] * per_cell {
                let at = [i, j, k];
                let x = std::array::from_fn(|d| lower[d] + (at[d] as f64 + 0.5) * spacing);
                let mass = density * spacing.powi(3);
                particles.push(x, mass as f32, (0.5 * spacing) as f32);
            }
        }
    }
    particles
}

/// No colliders.
pub fn nothing(config: &Config) -> Colliders {
    Colliders::new(config.voxel_size).unwrap()
}

/// Runs `steps` steps without colliders: the last report.
pub fn run(
    config: &Config,
    materials: &[Material],
    particles: &mut Particles,
    dt: f64,
    steps: usize,
) -> StepReport {
    let mut colliders = nothing(config);
    let mut solver =
        Solver::new(config.clone(), materials.to_vec(), particles, &colliders).unwrap();
    let mut report = StepReport::default();
    for _ in 0..steps {
        report = solver.step(particles, &mut colliders, dt).unwrap();
    }
    report
}

/// Σ m v.
pub fn momentum(particles: &Particles) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for p in 0..particles.len() {
        for d in 0..3 {
            sum[d] += f64::from(particles.mass[p]) * f64::from(particles.velocity[p][d]);
        }
    }
    sum
}

/// An elastic material that never yields.
pub fn elastic(young_modulus: f32, poisson_ratio: f32) -> Material {
    Material {
        young_modulus,
        poisson_ratio,
        yield_pressure: 1e15,
        yield_stress: 1e15,
        tensile_yield_ratio: 1.0,
        ..Material::default()
    }
}

/// A solver with what it moves.
pub struct Scene {
    pub solver: Solver,
    pub particles: Particles,
    pub colliders: Colliders,
}

impl Scene {
    pub fn new(
        config: &Config,
        materials: &[Material],
        particles: Particles,
        colliders: Colliders,
    ) -> Scene {
        let solver =
            Solver::new(config.clone(), materials.to_vec(), &particles, &colliders).unwrap();
        Scene {
            solver,
            particles,
            colliders,
        }
    }

    pub fn step(&mut self, dt: f64) -> StepReport {
        let report = self
            .solver
            .step(&mut self.particles, &mut self.colliders, dt)
            .unwrap();
        assert_eq!(report.dropped, 0);
        report
    }

    /// Sum of the impulses on colliders in the last step.
    pub fn impulse(&self) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for impulse in self.solver.impulses() {
            for d in 0..3 {
                sum[d] += impulse.impulse[d];
            }
        }
        sum
    }
}

/// Pressure and √J2 of a particle, Pa.
pub fn invariants(particles: &Particles, p: usize) -> (f64, f64) {
    let s = particles.stress[p].map(f64::from);
    let shear = s[1..].iter().map(|x| x * x).sum::<f64>().sqrt();
    (s[0] / 1.5f64.sqrt(), shear)
}

/// Whether all positions and velocities are finite and slower than `limit`.
pub fn calm(particles: &Particles, limit: f32) -> bool {
    let fine = |v: &[f32; 3]| v.iter().map(|x| x * x).sum::<f32>().sqrt() < limit;
    particles.velocity.iter().all(fine)
        && particles.position.iter().flatten().all(|x| x.is_finite())
}

/// Half-spaces without thickness: a point on the surface, the normal, the friction.
pub fn planes(config: &Config, planes: &[([f64; 3], [f64; 3], f64)]) -> Colliders {
    let mut colliders = Colliders::new(config.voxel_size).unwrap();
    for &(point, normal, friction) in planes {
        let material = ColliderMaterial {
            thickness: Some(0.0),
            friction,
            ..ColliderMaterial::default()
        };
        let pose = Pose::facing(point, normal);
        let plane = Collider {
            pose,
            material,
            ..Collider::new(Shape::Plane)
        };
        colliders.add(plane).unwrap();
    }
    colliders
}
