//! Balance of momentum in every basis, and angular momentum of a spinning cube.

use crate::elastic::STRAINS;
use crate::scene::{Scene, block, calm, elastic, momentum, nothing, planes};
use weft_mpm::{Config, GridKind, Integration, Material, Particles, Transfer, VelocityBasis};

const GRAVITY: [f64; 3] = [1.0, -0.5, -10.0];

/// Σ m Δv over each step is gravity and the impulses of the colliders, to 1e-4 of their sizes.
fn balanced(scene: &mut Scene, dt: f64, steps: usize, what: &str) {
    let mass: f64 = scene.particles.mass.iter().map(|&m| f64::from(m)).sum();
    let mut before = momentum(&scene.particles);
    let mut touched = false;
    for step in 0..steps {
        scene.step(dt);
        let after = momentum(&scene.particles);
        let pushed = scene.impulse();
        let size: f64 = scene
            .solver
            .impulses()
            .map(|i| i.impulse.iter().map(|x| x * x).sum::<f64>().sqrt())
            .sum();
        touched |= size > 0.1 * mass * 10.0 * dt;
        let scale = mass * 10.0 * dt + size + before.iter().map(|x| x.abs()).sum::<f64>();
        for d in 0..3 {
            let wanted = before[d] + mass * GRAVITY[d] * dt - pushed[d];
            let error = (after[d] - wanted).abs() / scale;
            assert!(
                error < 1e-4,
                "{what}, step {step}: {after:?} {before:?} {pushed:?}"
            );
        }
        assert!(calm(&scene.particles, 5.0), "{what}, step {step}");
        before = after;
    }
    assert!(touched, "{what}: never touched the floor");
}

/// §28, and each basis carries an elastic block and a heap of sand.
#[test]
fn momentum_is_balanced_in_every_basis() {
    let sand = Material::default();
    for velocity_basis in [VelocityBasis::Q1, VelocityBasis::B2, VelocityBasis::B3] {
        for strain_basis in STRAINS {
            for integration in [Integration::Pic, Integration::Gimp] {
                for (name, material) in [("elastic", elastic(2e5, 0.3)), ("sand", sand)] {
                    let config = Config {
                        voxel_size: 0.1,
                        air_drag: 0.0,
                        gravity: vec![GRAVITY.map(|g| g as f32)],
                        velocity_basis,
                        strain_basis,
                        integration,
                        grid_padding: usize::from(integration == Integration::Gimp),
                        max_iterations: 60,
                        ..Config::default()
                    };
                    let particles = block([0.0, 0.0, 0.02], [2, 2, 2], 0.1, 2, 1000.0);
                    let floor = [([0.0; 3], [0.0, 0.0, 1.0], 0.5)];
                    let colliders = planes(&config, &floor);
                    let mut scene = Scene::new(&config, &[material], particles, colliders);
                    let what =
                        format!("{velocity_basis:?} {strain_basis:?} {integration:?} {name}");
                    balanced(&mut scene, 0.01, 20, &what);
                    let lowest = scene
                        .particles
                        .position
                        .iter()
                        .fold(1.0f64, |m, x| m.min(x[2]));
                    assert!(lowest > -0.05, "{what}: {lowest}");
                }
            }
        }
    }
}

/// Angular momentum about the origin, and kinetic energy, with what the velocity gradients carry:
/// with trilinear functions the grid around a particle has second moments h² ξ (1 - ξ).
fn spin(particles: &Particles, h: f64, affine: bool) -> ([f64; 3], f64) {
    let mut sum = [0.0; 3];
    let mut energy = 0.0;
    for p in 0..particles.len() {
        let m = f64::from(particles.mass[p]);
        let (x, v) = (particles.position[p], particles.velocity[p].map(f64::from));
        for d in 0..3 {
            let (i, j) = ((d + 1) % 3, (d + 2) % 3);
            sum[d] += m * (x[i] * v[j] - x[j] * v[i]);
            energy += 0.5 * m * v[d] * v[d];
        }
        if affine {
            let moment = x.map(|x| {
                let xi = (x / h).rem_euclid(1.0);
                h * h * xi * (1.0 - xi)
            });
            let g = particles.gradient[p].map(|row| row.map(f64::from));
            for d in 0..3 {
                let (i, j) = ((d + 1) % 3, (d + 2) % 3);
                sum[d] += m * (g[j][i] * moment[i] - g[i][j] * moment[j]);
                for k in 0..3 {
                    energy += 0.5 * m * g[d][k] * g[d][k] * moment[k];
                }
            }
        }
    }
    (sum, energy)
}

/// 25.2: what a spinning elastic cube loses of its angular momentum in 100 steps, and the largest
/// energy over the first.
fn spinning_cube(transfer: Transfer) -> (f64, f64) {
    let (h, dt) = (0.25, 0.01);
    let config = Config {
        voxel_size: h,
        air_drag: 0.0,
        gravity: vec![[0.0; 3]],
        grid: GridKind::Dense,
        transfer,
        tolerance: 1e-8,
        ..Config::default()
    };
    let mut particles = block([-0.5; 3], [4, 4, 4], h, 2, 1000.0);
    let omega = [0.0f32, 0.0, 1.0];
    let turn = [
        [0.0, -omega[2], omega[1]],
        [omega[2], 0.0, -omega[0]],
        [-omega[1], omega[0], 0.0],
    ];
    for p in 0..particles.len() {
        let x = particles.position[p].map(|x| x as f32);
        particles.velocity[p] = turn.map(|row| row[0] * x[0] + row[1] * x[1] + row[2] * x[2]);
        particles.gradient[p] = turn;
    }
    let affine = transfer == Transfer::Apic;
    let (start, first) = spin(&particles, h, affine);
    let mut scene = Scene::new(&config, &[elastic(1e5, 0.3)], particles, nothing(&config));
    let mut most: f64 = 0.0;
    for _ in 0..100 {
        scene.step(dt);
        most = most.max(spin(&scene.particles, h, affine).1 / first);
    }
    let (end, _) = spin(&scene.particles, h, affine);
    assert!(end[0].abs().max(end[1].abs()) < 1e-3 * start[2]);
    (1.0 - end[2] / start[2], most)
}

#[test]
fn a_spinning_cube_keeps_its_angular_momentum() {
    let (apic, energy) = spinning_cube(Transfer::Apic);
    let (pic, pic_energy) = spinning_cube(Transfer::Pic);
    println!(
        "spin lost: APIC {apic:.2e}, PIC {pic:.2e}; energy at most {energy:.5} {pic_energy:.5}"
    );
    assert!(apic.abs() < 0.02, "{apic}");
    assert!(pic > 10.0 * apic.abs(), "{pic} {apic}");
    assert!(energy < 1.001 && pic_energy < 1.001);
}

/// What prescribed motion presses against a floor has no limit; material in its place a step later
/// must not get any of it.
#[test]
fn pressing_kinematic_particles_leave_nothing_behind() {
    let config = Config::default();
    let (h, dt) = (config.voxel_size, 0.01);
    for strain_basis in STRAINS {
        let config = Config {
            strain_basis,
            air_drag: 0.0,
            ..config.clone()
        };
        let floor = [([0.0; 3], [0.0, 0.0, 1.0], 0.5)];
        let mut particles = block([0.0; 3], [2, 2, 1], h, 2, 0.0);
        let pressing = particles.len();
        particles.append(block([0.0; 3], [2, 2, 2], h, 2, 1000.0));
        particles.flags[pressing..].fill(0);
        let (start, driven) = (particles.position.clone(), [3.0, 1.0, -5.0]);
        particles.velocity[..pressing].fill(driven);
        let colliders = planes(&config, &floor);
        let mut scene = Scene::new(&config, &[Material::default()], particles, colliders);
        for _ in 0..5 {
            scene.step(dt);
            for v in &scene.particles.velocity[..pressing] {
                assert!((0..3).all(|d| (v[d] - driven[d]).abs() < 1e-5), "{v:?}");
            }
            scene.particles.velocity[..pressing].fill(driven);
            scene.particles.position.copy_from_slice(&start);
        }
        scene.particles.flags[..pressing].fill(0);
        scene.particles.flags[pressing..].fill(1);
        scene.step(dt);
        let rest = &scene.particles.velocity[pressing..];
        let most = rest.iter().flatten().fold(0.0f32, |m, v| m.max(v.abs()));
        // At most what gravity gives in the step.
        assert!(most < 0.1, "{strain_basis:?}: {most} m/s");
    }
}
