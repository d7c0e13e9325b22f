//! Bodies that yield to the material.

use crate::scene::{block, momentum};
use weft_mpm::collider::{Body, Collider, ColliderMaterial, Colliders, Pose, Shape};
use weft_mpm::{Config, Material, Particles, Solver, StepReport};

const G: f64 = 9.81;

struct Scene {
    solver: Solver,
    particles: Particles,
    colliders: Colliders,
    body: usize,
    dt: f64,
    /// Sums of the impulses on body and ground since the start.
    on_body: [f64; 3],
    on_ground: [f64; 3],
}

impl Scene {
    /// A bed of sand in a box of frictionless walls, and a box of mass `mass` above.
    fn new(mass: f64, drop: f64) -> Scene {
        let config = Config {
            air_drag: 0.0,
            tolerance: 1e-6,
            max_iterations: 250,
            ..Config::default()
        };
        let particles = block([-0.4, -0.4, 0.0], [8, 8, 3], 0.1, 2, 1600.0);
        let mut colliders = Colliders::new(config.voxel_size).unwrap();
        colliders.add(Collider::new(Shape::Plane)).unwrap();
        for normal in [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]] {
            let [x, y] = normal;
            colliders
                .add(Collider {
                    pose: Pose::facing([-0.401 * x, -0.401 * y, 0.0], [x, y, 0.0]),
                    material: ColliderMaterial {
                        friction: 0.0,
                        ..ColliderMaterial::default()
                    },
                    ..Collider::new(Shape::Plane)
                })
                .unwrap();
        }
        let half = [0.15; 3];
        let at = Pose::at([0.0, 0.0, 0.3 + half[2] + drop]);
        let body = colliders.add_body(Body::solid_box(at, half, mass)).unwrap();
        colliders
            .add(Collider {
                body,
                ..Collider::new(Shape::Box { half })
            })
            .unwrap();
        let material = Material {
            friction: 0.75,
            ..Material::default()
        };
        let solver = Solver::new(config, vec![material], &particles, &colliders).unwrap();
        Scene {
            solver,
            particles,
            colliders,
            body,
            dt: 0.01,
            on_body: [0.0; 3],
            on_ground: [0.0; 3],
        }
    }

    fn step(&mut self) -> StepReport {
        let report = self
            .solver
            .step(&mut self.particles, &mut self.colliders, self.dt)
            .unwrap();
        for hit in self.solver.impulses() {
            let own = self.colliders.body_of(hit.collider) == Some(self.body);
            let sum = if own {
                &mut self.on_body
            } else {
                &mut self.on_ground
            };
            for d in 0..3 {
                sum[d] += hit.impulse[d];
            }
        }
        self.colliders.integrate(self.dt, [0.0, 0.0, -G]).unwrap();
        report
    }
}

#[test]
#[ignore = "open: not met yet, cause unknown"]
fn a_resting_box_weighs_what_it_weighs() {
    // The bed has 307 kg; from a mass ratio of 1 to 100 below that to one above what it bears.
    for mass in [3.0, 30.0] {
        let mut scene = Scene::new(mass, 0.01);
        for _ in 0..60 {
            scene.step();
        }
        let before = scene.on_body[2];
        let n = 40;
        for _ in 0..n {
            scene.step();
        }
        let force = (scene.on_body[2] - before) / (f64::from(n) * scene.dt);
        let (linear, _) = scene.colliders.velocity(scene.body).unwrap();
        let z = scene.colliders.pose(scene.body).unwrap().position[2];
        println!("{mass}: {force} of {} at {z} {linear:?}", mass * G);
        assert!((force / (mass * G) - 1.0).abs() < 0.02, "{mass}: {force}");
        assert!(linear.iter().all(|v| v.abs() < 0.02), "{mass}: {linear:?}");
        assert!(z > 0.3, "{mass}: {z}");
    }
}

#[test]
fn momentum_of_bed_box_and_ground_balances() {
    for mass in [3.0, 300.0] {
        let mut scene = Scene::new(mass, 0.2);
        let bed: f64 = scene.particles.mass.iter().map(|&m| f64::from(m)).sum();
        for step in 1..=50 {
            scene.step();
            let (linear, _) = scene.colliders.velocity(scene.body).unwrap();
            let now = momentum(&scene.particles);
            let fallen = G * scene.dt * f64::from(step);
            // Momentum is gravity's less what the ground took.
            for d in 0..3 {
                let pull = if d == 2 { -(bed + mass) * fallen } else { 0.0 };
                let balance = now[d] + mass * linear[d] + scene.on_ground[d] - pull;
                let error = balance / ((bed + mass) * fallen);
                assert!(
                    error.abs() < 1e-4,
                    "{mass} kg, step {step}, axis {d}: {error}"
                );
                let own =
                    mass * linear[d] - scene.on_body[d] - if d == 2 { -mass * fallen } else { 0.0 };
                assert!(own.abs() < 1e-6 * mass * fallen, "{own}");
            }
        }
    }
}

#[test]
#[ignore = "open: not met yet, cause unknown"]
fn heavy_and_light_boxes_are_stable() {
    for mass in [0.3, 3.0, 300.0] {
        let mut scene = Scene::new(mass, 0.3);
        let impact = (2.0 * G * 0.3).sqrt();
        for step in 0..150 {
            scene.step();
            let (linear, angular) = scene.colliders.velocity(scene.body).unwrap();
            let z = scene.colliders.pose(scene.body).unwrap().position[2];
            for v in linear {
                assert!(v.abs() < 1.1 * impact, "{mass} kg, step {step}: {linear:?}");
            }
            assert!(
                angular.iter().all(|w| w.abs() < 5.0),
                "{mass} {step}: {angular:?}"
            );
            assert!(z > 0.1 && z < 0.8, "{mass} kg, step {step}: {z}");
        }
        let (linear, _) = scene.colliders.velocity(scene.body).unwrap();
        println!("{mass} {linear:?}");
        assert!(
            linear.iter().all(|v| v.abs() < 0.05),
            "{mass} kg: {linear:?}"
        );
        for x in &scene.particles.position {
            assert!(
                x.iter().all(|x| x.is_finite()) && x[2] > -0.1 && x[2] < 1.0,
                "{x:?}"
            );
        }
    }
}
