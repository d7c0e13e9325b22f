//! Transfers between particles and grid: what they reproduce and conserve.

use crate::scene::{Draws, block, momentum, run};
use weft_mpm::{Config, Material, Particles, Transfer, VelocityBasis};

/// Material without any strength: transfers only.
fn dust() -> Material {
    Material {
        yield_pressure: 0.0,
        ..Material::default()
    }
}

fn config(velocity_basis: VelocityBasis) -> Config {
    Config {
        voxel_size: 0.25,
        air_drag: 0.0,
        gravity: vec![[0.0; 3]],
        velocity_basis,
        ..Config::default()
    }
}

#[test]
fn apic_reproduces_rigid_motion() {
    // v = a + ω × x goes through the grid unchanged, with its gradient.
    let omega = [0.3f32, -1.0, 0.5];
    let spin = [
        [0.0, -omega[2], omega[1]],
        [omega[2], 0.0, -omega[0]],
        [-omega[1], omega[0], 0.0],
    ];
    for basis in [VelocityBasis::Q1, VelocityBasis::B2, VelocityBasis::B3] {
        let mut particles = block([-0.5; 3], [4, 4, 4], 0.25, 2, 100.0);
        let mut expected = Vec::new();
        for p in 0..particles.len() {
            let x = particles.position[p].map(|x| x as f32);
            let v = [0, 1, 2].map(|i| 0.2 + (0..3).map(|j| spin[i][j] * x[j]).sum::<f32>());
            particles.velocity[p] = v;
            particles.gradient[p] = spin;
            expected.push(v);
        }
        run(&config(basis), &[dust()], &mut particles, 1e-3, 1);
        for p in 0..particles.len() {
            for i in 0..3 {
                assert!(
                    (particles.velocity[p][i] - expected[p][i]).abs() < 1e-5,
                    "{basis:?}"
                );
                for j in 0..3 {
                    let found = particles.gradient[p][i][j];
                    assert!(
                        (found - spin[i][j]).abs() < 2e-5,
                        "{basis:?} {found} {}",
                        spin[i][j]
                    );
                }
            }
        }
    }
}

fn random_cloud(seed: u64) -> Particles {
    let mut draws = Draws::new(seed);
    let mut particles = block([-0.3; 3], [3, 3, 3], 0.2, 2, 500.0);
    for p in 0..particles.len() {
        for d in 0..3 {
            particles.position[p][d] += 0.05 * (draws.draw() - 0.5);
            particles.velocity[p][d] = draws.draw() as f32 - 0.3;
        }
        particles.mass[p] *= 0.5 + draws.draw() as f32;
    }
    particles
}

#[test]
fn linear_momentum_is_conserved() {
    for basis in [VelocityBasis::Q1, VelocityBasis::B2, VelocityBasis::B3] {
        for transfer in [Transfer::Apic, Transfer::Pic] {
            let mut particles = random_cloud(3);
            let config = Config {
                transfer,
                ..config(basis)
            };
            let before = momentum(&particles);
            let mut colliders = crate::scene::nothing(&config);
            let mut solver =
                weft_mpm::Solver::new(config, vec![Material::default()], &particles, &colliders)
                    .unwrap();
            let scale = before.iter().map(|x| x * x).sum::<f64>().sqrt();
            let mut last = before;
            for _ in 0..100 {
                solver.step(&mut particles, &mut colliders, 0.01).unwrap();
                let now = momentum(&particles);
                for d in 0..3 {
                    assert!(
                        (now[d] - last[d]).abs() < 2e-6 * scale,
                        "{basis:?} {transfer:?}"
                    );
                }
                last = now;
            }
            for d in 0..3 {
                assert!((last[d] - before[d]).abs() < 1e-4 * scale);
            }
        }
    }
}
