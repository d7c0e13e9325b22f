//! `weft bench mpm`: steps of material points and their parts.

use super::middle;
use crate::resident;
use crate::summary::Ordered;
use serde::Serialize;
use std::fmt;
use std::time::Instant;
use weft_mpm::collider::{Collider, ColliderMaterial, Colliders, Pose, Shape};
use weft_mpm::emit::Fill;
use weft_mpm::{
    Config, GridKind, LinearKind, Material, MpmError, Particles, RheologyKind, Solver, Stage,
    StepReport, StrainBasis, Transfer, VelocityBasis, WarmStart,
};

/// A scene after it has warmed up; all but `steps` are medians over the steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SceneRate {
    /// Number of particles.
    pub particles: usize,
    /// Number of cells.
    pub cells: usize,
    /// Strain nodes with material.
    pub strain_nodes: usize,
    /// Samples in contact.
    pub contacts: usize,
    /// Steps that were measured.
    pub steps: usize,
    /// Seconds of one step.
    pub seconds: f64,
    /// Seconds of each phase of a step.
    pub phases: Ordered<f64>,
    /// Sweeps, or iterations of a linear solver.
    pub sweeps: usize,
    /// Nanoseconds of the solve for each strain node and sweep.
    pub ns_per_node_sweep: f64,
    /// Bytes that all arrays together grew by, a step; 0 while cells are such as were seen before.
    pub bytes_per_step: f64,
    /// Bytes of all arrays: particles, colliders, what the solver keeps.
    pub live_bytes: usize,
}

/// A part of a step alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Kernel {
    /// Number of particles.
    pub particles: usize,
    /// Seconds for all of them.
    pub seconds: f64,
    /// Particles in a second.
    pub particles_per_second: f64,
}

/// Measurements by name; what `--json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MpmRates {
    /// Scenes, such as `granular_61`.
    pub scenes: Ordered<SceneRate>,
    /// Parts of a step: `p2g`, `g2p` and `bins`, with linear velocity (`q1`) and quadratic splines
    /// (`b2`).
    pub kernels: Ordered<Kernel>,
    /// Largest resident size of the process in MiB; null where the system doesn't say.
    pub peak_rss_mib: Option<f64>,
}

impl fmt::Display for MpmRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<14}{:>10}{:>8}{:>8}{:>9}{:>7}{:>10}{:>9}{:>10}  seconds of a step's phases",
            "", "particles", "cells", "nodes", "contacts", "sweeps", "seconds", "ns/sweep", "grown"
        )?;
        for (name, s) in self.scenes.iter() {
            write!(
                f,
                "\n{name:<14}{:>10}{:>8}{:>8}{:>9}{:>7}{:>10.5}{:>9.2}{:>10.0} ",
                s.particles,
                s.cells,
                s.strain_nodes,
                s.contacts,
                s.sweeps,
                s.seconds,
                s.ns_per_node_sweep,
                s.bytes_per_step
            )?;
            for (phase, seconds) in s.phases.iter() {
                write!(f, " {phase} {seconds:.5}")?;
            }
        }
        for (name, k) in self.kernels.iter() {
            write!(
                f,
                "\n{name:<14}{:>10}{:>12.6} s{:>12.4e} particles/s",
                k.particles, k.seconds, k.particles_per_second
            )?;
        }
        match self.peak_rss_mib {
            Some(mib) => write!(f, "\nlargest resident size {mib:.1} MiB"),
            None => Ok(()),
        }
    }
}

/// How large everything is.
struct Sizes {
    /// Steps to warm up and to measure of the granular scenes.
    granular: [usize; 2],
    /// The same of the others.
    others: [usize; 2],
    /// Edges of cells of the granular scenes, by name.
    cells: [(&'static str, f64); 2],
    /// Particles along the edges of the cubes of the first scene and of the kernels.
    cubes: [usize; 2],
    /// Length of the beam, m.
    beam: f64,
}

/// Measures on rayon's current pool of threads: a small fixed grid with ten Jacobi sweeps (`asv`),
/// sand that falls on a box with cells of 0.1 and 0.2 m (`granular_61`, `granular_31`), the
/// twisted beam with conjugate residuals, a cube of sand that falls on a plane; transfer to the
/// grid and back and the sorting of 226 981 particles alone.
///
/// # Errors
/// Those of the engine.
pub fn mpm() -> anyhow::Result<MpmRates> {
    measured(&Sizes {
        granular: [60, 20],
        others: [5, 20],
        cells: [("granular_61", 0.1), ("granular_31", 0.2)],
        cubes: [14, 61],
        beam: 5.0,
    })
}

fn measured(sizes: &Sizes) -> anyhow::Result<MpmRates> {
    let mut scenes = Ordered::default();
    scenes.insert("asv", asv(sizes.cubes[0])?.rate([5, 10])?);
    for (name, h) in sizes.cells {
        scenes.insert(name, granular(h)?.rate(sizes.granular)?);
    }
    scenes.insert("beam_twist", beam(sizes.beam)?.rate(sizes.others)?);
    scenes.insert("sand_cube", sand_cube()?.rate([0, 25])?);
    let mut kernels = Ordered::default();
    for (name, basis) in [("q1", VelocityBasis::Q1), ("b2", VelocityBasis::B2)] {
        let mut scene = cube(sizes.cubes[1], basis)?;
        let rate = scene.rate([3, 20])?;
        for (kernel, phase) in [("p2g", "momentum"), ("g2p", "update"), ("bins", "grid")] {
            let seconds = *rate.phases.get(phase).unwrap_or(&f64::NAN);
            let kernel = format!("{kernel}_{name}");
            let particles = rate.particles;
            kernels.insert(
                &kernel,
                Kernel {
                    particles,
                    seconds,
                    particles_per_second: particles as f64 / seconds,
                },
            );
        }
    }
    Ok(MpmRates {
        scenes,
        kernels,
        peak_rss_mib: resident::peak_rss_mib(),
    })
}

/// Something that steps.
struct Scene {
    particles: Particles,
    colliders: Colliders,
    solver: Solver,
    dt: f64,
    /// Push particles out of colliders after each step.
    project: bool,
    turned: Option<Turned>,
    /// Steps done.
    step: usize,
}

/// Particles that turn about an axis along x.
struct Turned {
    /// Particles, and where they are at first.
    rest: Vec<(usize, [f64; 3])>,
    center: [f64; 2],
    /// Angular velocity, 1/s.
    speed: f64,
}

impl Scene {
    fn new(
        config: Config,
        material: Material,
        particles: Particles,
        colliders: Colliders,
        dt: f64,
    ) -> Result<Scene, MpmError> {
        Ok(Scene {
            solver: Solver::new(config, vec![material], &particles, &colliders)?,
            particles,
            colliders,
            dt,
            project: false,
            turned: None,
            step: 0,
        })
    }

    fn step(&mut self) -> Result<StepReport, MpmError> {
        let (particles, colliders) = (&mut self.particles, &mut self.colliders);
        if let Some(turned) = &self.turned {
            turned.place(particles, self.step as f64 * self.dt);
        }
        self.step += 1;
        let report = self.solver.step(particles, colliders, self.dt)?;
        if self.project {
            let mode = self.solver.config().collider_velocity;
            colliders.project_outside(particles, self.dt, None, mode)?;
        }
        Ok(report)
    }

    fn bytes(&self) -> usize {
        self.particles.bytes() + self.colliders.bytes() + self.solver.bytes()
    }

    /// Steps to warm up and steps to measure.
    fn rate(&mut self, [warm, steps]: [usize; 2]) -> Result<SceneRate, MpmError> {
        for _ in 0..warm {
            self.step()?;
        }
        let before = self.bytes();
        let mut reports = Vec::with_capacity(steps);
        let mut seconds = Vec::with_capacity(steps);
        for _ in 0..steps {
            let start = Instant::now();
            reports.push(self.step()?);
            seconds.push(start.elapsed().as_secs_f64());
        }
        let count = |of: fn(&StepReport) -> usize| {
            let mut all: Vec<f64> = reports.iter().map(|r| of(r) as f64).collect();
            middle(&mut all) as usize
        };
        let mut phases = Ordered::default();
        for phase in 0..StepReport::default().seconds.all().len() {
            let name = StepReport::default().seconds.all()[phase].0;
            let mut all: Vec<f64> = reports.iter().map(|r| r.seconds.all()[phase].1).collect();
            phases.insert(name, middle(&mut all));
        }
        let mut sweeps: Vec<f64> = reports
            .iter()
            .map(|r| 1e9 * r.seconds.solve / (r.strain_nodes * r.sweeps).max(1) as f64)
            .collect();
        Ok(SceneRate {
            particles: self.particles.len(),
            cells: count(|r| r.cells),
            strain_nodes: count(|r| r.strain_nodes),
            contacts: count(|r| r.contacts),
            steps,
            seconds: middle(&mut seconds),
            phases,
            sweeps: count(|r| r.sweeps),
            ns_per_node_sweep: middle(&mut sweeps),
            bytes_per_step: self.bytes().saturating_sub(before) as f64 / steps.max(1) as f64,
            live_bytes: self.bytes(),
        })
    }
}

impl Turned {
    /// Puts the particles where they are at `time` (s), with their velocities.
    fn place(&self, particles: &mut Particles, time: f64) {
        let w = self.speed;
        let (sin, cos) = (w * time).sin_cos();
        for &(i, rest) in &self.rest {
            let [y, z] = [rest[1] - self.center[0], rest[2] - self.center[1]];
            let [y, z] = [cos * y - sin * z, sin * y + cos * z];
            particles.position[i] = [rest[0], self.center[0] + y, self.center[1] + z];
            particles.velocity[i] = [0.0, -w * z, w * y].map(|c| c as f32);
            particles.gradient[i] = [[0.0; 3], [0.0, 0.0, -w as f32], [0.0, w as f32, 0.0]];
        }
    }
}

fn with_friction(friction: f64) -> ColliderMaterial {
    ColliderMaterial {
        friction,
        ..ColliderMaterial::default()
    }
}

/// n³ elastic particles on a fixed grid.
fn asv(n: usize) -> Result<Scene, MpmError> {
    let fill = Fill {
        density: 640.0,
        ..Fill::default()
    };
    let config = Config {
        voxel_size: 0.05,
        grid: GridKind::Fixed,
        grid_padding: 3,
        transfer: Transfer::Pic,
        solver: vec![Stage::Rheology(RheologyKind::Jacobi)],
        max_iterations: 10,
        tolerance: 0.0,
        warm_start: WarmStart::None,
        gravity: vec![[0.0; 3]],
        ..Config::default()
    };
    let material = Material {
        young_modulus: 1e4,
        poisson_ratio: 0.2,
        ..Material::default()
    };
    let particles = fill.lattice([0.0; 3], [n; 3], [0.025; 3])?;
    Scene::new(config, material, particles, Colliders::new(0.05)?, 1e-3)
}

/// A block of sand that falls on the ground and a box.
fn granular(h: f64) -> Result<Scene, MpmError> {
    let fill = Fill {
        jitter: 1.0,
        ..Fill::default()
    };
    let config = Config {
        voxel_size: h,
        gravity: vec![[0.0, 0.0, -10.0]],
        ..Config::default()
    };
    let material = Material {
        friction: 0.68,
        yield_pressure: 1e12,
        ..Material::default()
    };
    let mut colliders = Colliders::new(h)?;
    colliders.add(Collider {
        material: with_friction(0.5),
        ..Collider::new(Shape::Plane)
    })?;
    let half = [0.5, 2.0, 0.8];
    colliders.add(Collider {
        pose: Pose::at([0.75, 0.0, 0.8]),
        material: with_friction(0.1),
        ..Collider::new(Shape::Box { half })
    })?;
    let particles = fill.block([-1.0, -1.0, 1.5], [1.0, 1.0, 3.5], h / 3.0)?;
    let scene = Scene::new(config, material, particles, colliders, 1.0 / 60.0)?;
    Ok(Scene {
        project: true,
        ..scene
    })
}

/// A soft beam held at one end and twisted at the other, once round in a thousand steps.
fn beam(length: f64) -> Result<Scene, MpmError> {
    let (h, dt) = (0.25, 1.0 / 240.0);
    let config = Config {
        voxel_size: h,
        tolerance: 1e-6,
        solver: vec![Stage::Linear(LinearKind::Cr)],
        strain_basis: StrainBasis::P1d,
        warm_start: WarmStart::Particles,
        gravity: vec![[0.0, 0.0, -10.0]],
        ..Config::default()
    };
    let material = Material {
        young_modulus: 5e6,
        poisson_ratio: 0.45,
        damping: 0.001,
        tensile_yield_ratio: 1.0,
        ..Material::default()
    };
    let mut particles = Fill::default().block([0.0; 3], [length, 1.0, 1.0], h / 3.0)?;
    let mut rest = Vec::new();
    for (i, x) in particles.position.iter().enumerate() {
        if x[0].min(length - x[0]) <= 0.5 * h + 1e-6 {
            particles.mass[i] = 0.0;
        }
        if length - x[0] <= 0.5 * h + 1e-6 {
            rest.push((i, *x));
        }
    }
    let scene = Scene::new(config, material, particles, Colliders::new(h)?, dt)?;
    Ok(Scene {
        turned: Some(Turned {
            rest,
            center: [0.5; 2],
            speed: std::f64::consts::TAU / (1000.0 * dt),
        }),
        ..scene
    })
}

/// 12³ particles that fall on a plane, with long steps.
fn sand_cube() -> Result<Scene, MpmError> {
    let (h, s) = (0.5, 0.5 / 3.0);
    let config = Config {
        voxel_size: h,
        grid: GridKind::Dense,
        gravity: vec![[0.0, -9.81, 0.0]],
        ..Config::default()
    };
    let material = Material {
        friction: 0.6,
        ..Material::default()
    };
    let mut particles = Fill::default().lattice([0.5 * s; 3], [12; 3], [s; 3])?;
    particles.radius.fill(0.1);
    particles.mass.fill(1.0);
    let mut colliders = Colliders::new(h)?;
    colliders.add(Collider {
        pose: Pose::facing([0.0; 3], [0.0, 1.0, 0.0]),
        material: with_friction(0.5),
        ..Collider::new(Shape::Plane)
    })?;
    Scene::new(config, material, particles, colliders, 0.04)
}

/// n³ particles, 27 a cell, that hardly move, and hardly any solve.
fn cube(n: usize, basis: VelocityBasis) -> Result<Scene, MpmError> {
    let h = 0.1;
    let config = Config {
        voxel_size: h,
        velocity_basis: basis,
        max_iterations: 1,
        warm_start: WarmStart::None,
        gravity: vec![[0.0; 3]],
        ..Config::default()
    };
    let fill = Fill {
        jitter: 1.0,
        ..Fill::default()
    };
    let particles = fill.lattice([0.0; 3], [n; 3], [h / 3.0; 3])?;
    let colliders = Colliders::new(h)?;
    Scene::new(config, Material::default(), particles, colliders, 1e-5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_all_keys_and_the_numbers_are_sound() {
        let rates = measured(&Sizes {
            granular: [1, 2],
            others: [1, 2],
            cells: [("granular_61", 0.5), ("granular_31", 0.8)],
            cubes: [4, 9],
            beam: 1.0,
        })
        .unwrap();
        let json: serde_json::Value = serde_json::to_value(&rates).unwrap();
        let scenes = json["scenes"].as_object().unwrap();
        let names: Vec<&str> = scenes.keys().map(String::as_str).collect();
        for name in [
            "asv",
            "granular_61",
            "granular_31",
            "beam_twist",
            "sand_cube",
        ] {
            assert!(names.contains(&name), "{names:?}");
        }
        for (name, scene) in scenes {
            for key in [
                "particles",
                "cells",
                "strain_nodes",
                "contacts",
                "steps",
                "seconds",
                "sweeps",
                "ns_per_node_sweep",
                "bytes_per_step",
                "live_bytes",
            ] {
                let number = scene[key].as_f64().unwrap();
                let may_vanish = key == "contacts" || key == "bytes_per_step";
                assert!(
                    number > 0.0 || (may_vanish && number == 0.0),
                    "{name}: {key}"
                );
            }
            let phases = scene["phases"].as_object().unwrap();
            let sum: f64 = phases.values().map(|s| s.as_f64().unwrap()).sum();
            for phase in ["grid", "colliders", "momentum", "strain", "solve", "update"] {
                assert!(phases[phase].as_f64().unwrap() > 0.0, "{name}: {phase}");
            }
            assert!(sum > 0.0);
        }
        let kernels = json["kernels"].as_object().unwrap();
        for name in ["p2g_q1", "g2p_q1", "bins_q1", "p2g_b2", "g2p_b2", "bins_b2"] {
            assert_eq!(kernels[name]["particles"], 729);
            assert!(kernels[name]["particles_per_second"].as_f64().unwrap() > 0.0);
            assert!(kernels[name]["seconds"].as_f64().unwrap() > 0.0);
        }
        assert!(json.get("peak_rss_mib").is_some());
        let text = rates.to_string();
        assert!(
            text.contains("granular_61") && text.contains("p2g_q1"),
            "{text}"
        );
    }
}
