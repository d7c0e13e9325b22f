//! Free fall: the scheme is symplectic, so positions and velocities are known exactly.

use crate::scene::{block, run};
use weft_mpm::{Config, GridKind, Integration, Material, StrainBasis, Transfer, VelocityBasis};

fn config() -> Config {
    Config {
        voxel_size: 0.1,
        air_drag: 0.0,
        gravity: vec![[1.0, -2.0, -10.0]],
        ..Config::default()
    }
}

#[test]
fn free_fall_is_exact_for_every_basis_grid_and_transfer() {
    let dt = 0.01;
    for velocity_basis in [VelocityBasis::Q1, VelocityBasis::B2, VelocityBasis::B3] {
        for strain_basis in [
            StrainBasis::P0,
            StrainBasis::P1d,
            StrainBasis::Q1,
            StrainBasis::Q1d,
            StrainBasis::Particle(27),
        ] {
            for (grid, transfer, integration) in [
                (GridKind::Sparse, Transfer::Apic, Integration::Pic),
                (GridKind::Dense, Transfer::Pic, Integration::Pic),
                (GridKind::Sparse, Transfer::Apic, Integration::Gimp),
            ] {
                let mut particles = block([-0.13, 0.02, 0.5], [2, 3, 2], 0.1, 2, 1000.0);
                let start = particles.position.clone();
                let config = Config {
                    velocity_basis,
                    strain_basis,
                    grid,
                    transfer,
                    integration,
                    grid_padding: usize::from(integration == Integration::Gimp),
                    ..config()
                };
                let n = 10;
                run(&config, &[Material::default()], &mut particles, dt, n);
                for p in 0..particles.len() {
                    for d in 0..3 {
                        let g = f64::from(config.gravity[0][d]);
                        let v = g * dt * n as f64;
                        let drop = g * dt * dt * (n * (n + 1)) as f64 / 2.0;
                        let found = f64::from(particles.velocity[p][d]);
                        let moved = particles.position[p][d] - start[p][d];
                        let what = format!(
                            "{velocity_basis:?} {strain_basis:?} {grid:?} {integration:?} {transfer:?}"
                        );
                        assert!((found - v).abs() < 2e-5 * v.abs(), "{what}: {found} {v}");
                        assert!(
                            (moved - drop).abs() < 2e-5 * drop.abs(),
                            "{what}: {moved} {drop}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn drag_follows_its_closed_form() {
    // One particle at a cell's centre: all nodes have m = ρ V / (8 h³), so each step scales v by
    // m / (m + c dt).
    let mut particles = weft_mpm::Particles::new();
    particles.push([0.0; 3], 1.0, 0.05);
    particles.velocity[0] = [1e-3, 0.0, 0.0];
    let config = Config {
        air_drag: 5.0,
        transfer: Transfer::Pic,
        gravity: vec![[0.0; 3]],
        ..config()
    };
    let (dt, n) = (0.01, 20);
    run(&config, &[Material::default()], &mut particles, dt, n);
    let node = 1000.0 / 8.0;
    let exact = 1e-3 * (node / (node + 5.0 * dt)).powi(n as i32);
    let found = f64::from(particles.velocity[0][0]);
    assert!((found - exact).abs() < 1e-5 * exact, "{found} {exact}");
}

#[test]
fn gravity_is_that_of_the_world() {
    let config = Config {
        gravity: vec![[0.0, 0.0, -1.0], [0.0, 0.0, 2.0], [3.0, 0.0, 0.0]],
        separate_worlds: true,
        ..config()
    };
    let mut particles = weft_mpm::Particles::new();
    for world in 0..4 {
        let mut part = block([0.0; 3], [1, 1, 1], 0.1, 2, 1000.0);
        part.world.fill(world);
        particles.append(part);
    }
    run(&config, &[Material::default()], &mut particles, 0.01, 5);
    let exact = [
        [0.0, 0.0, -0.05],
        [0.0, 0.0, 0.1],
        [0.15, 0.0, 0.0],
        [0.15, 0.0, 0.0],
    ];
    for p in 0..particles.len() {
        for d in 0..3 {
            let v = exact[particles.world[p] as usize][d];
            assert!((f64::from(particles.velocity[p][d]) - v).abs() < 1e-6);
        }
    }
}
