//! Many worlds in one solver: each is as if it were alone.

use crate::scene::{block, nothing, run};
use weft_mpm::collider::{Collider, Colliders, Pose, Shape};
use weft_mpm::{
    Config, GridKind, Integration, Material, Particles, RheologyKind, Solver, Stage, StrainBasis,
    Transfer, VelocityBasis,
};

const GRAVITY: [[f32; 3]; 4] = [
    [0.0, 0.0, -9.81],
    [2.0, 0.0, -5.0],
    [0.0, 0.0, 0.0],
    [-3.0, 1.0, -9.81],
];

fn materials() -> Vec<Material> {
    vec![
        Material::default(),
        Material {
            young_modulus: 1e5,
            yield_pressure: 2e4,
            tensile_yield_ratio: 0.2,
            ..Material::default()
        },
    ]
}

/// What is in a world: nothing in world 2, else a block that spreads, of a length of its own.
fn cloud(world: u32) -> Particles {
    if world == 2 {
        return Particles::new();
    }
    let size = [2 + world as usize, 2, 3];
    let mut cloud = block([-0.07, 0.03 * f64::from(world), 0.004], size, 0.1, 2, 800.0);
    for p in 0..cloud.len() {
        cloud.velocity[p] = [cloud.position[p][2] as f32, 0.1, -0.5];
        cloud.material[p] = u16::from(world == 1);
    }
    cloud
}

/// The ground, of one world or all, and a wall in world 3.
fn colliders(h: f64, only: Option<u32>) -> Colliders {
    let mut all = Colliders::new(h).unwrap();
    all.add(Collider::new(Shape::Plane)).unwrap();
    if only.is_none_or(|w| w == 3) {
        all.add(Collider {
            pose: Pose::facing([-0.12, 0.0, 0.0], [1.0, 0.0, 0.0]),
            world: only.is_none().then_some(3),
            ..Collider::new(Shape::Plane)
        })
        .unwrap();
    }
    all
}

fn config() -> Config {
    Config {
        max_iterations: 20,
        tolerance: 0.0,
        gravity: GRAVITY.to_vec(),
        ..Config::default()
    }
}

/// Largest differences of position, velocity, gradient and elastic deformation, against sizes.
fn differences(a: &Particles, b: &Particles) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut worst = 0.0f64;
    let mut note = |x: f64, y: f64| {
        assert!(x.is_finite() && y.is_finite());
        worst = worst.max((x - y).abs() / (1e-6 + 1e-5 * y.abs()));
    };
    for p in 0..a.len() {
        for i in 0..3 {
            note(a.position[p][i], b.position[p][i]);
            note(a.velocity[p][i].into(), b.velocity[p][i].into());
            for j in 0..3 {
                note(a.elastic[p][i][j].into(), b.elastic[p][i][j].into());
            }
        }
    }
    worst
}

#[test]
#[ignore = "open: not met yet, cause unknown"]
fn isolated_worlds_are_independent_runs() {
    let bases = [
        (VelocityBasis::Q1, StrainBasis::P0),
        (VelocityBasis::Q1, StrainBasis::P1d),
        (VelocityBasis::Q1, StrainBasis::Q1),
        (VelocityBasis::B2, StrainBasis::P0),
    ];
    let grids = [
        (GridKind::Dense, Transfer::Pic, Integration::Pic, 0),
        (GridKind::Dense, Transfer::Apic, Integration::Gimp, 1),
        (GridKind::Fixed, Transfer::Pic, Integration::Pic, 2),
        (GridKind::Sparse, Transfer::Apic, Integration::Pic, 0),
        (GridKind::Sparse, Transfer::Pic, Integration::Gimp, 3),
    ];
    for (velocity_basis, strain_basis) in bases {
        for (grid, transfer, integration, grid_padding) in grids {
            let config = Config {
                velocity_basis,
                strain_basis,
                grid,
                transfer,
                integration,
                grid_padding,
                solver: vec![Stage::Rheology(RheologyKind::GaussSeidel)],
                ..config()
            };
            let what = format!("{velocity_basis:?} {strain_basis:?} {grid:?} {integration:?}");
            // World 4 is empty too, but for a particle that takes no part.
            let mut together = Particles::new();
            for world in 0..4 {
                let mut part = cloud(world);
                part.world.fill(world);
                together.append(part);
            }
            let last = together.push([0.0; 3], 1.0, 0.05);
            together.world[last] = 4;
            together.flags[last] = 0;
            let start = together.clone();
            let mut walls = colliders(config.voxel_size, None);
            let separate = Config {
                separate_worlds: true,
                ..config.clone()
            };
            let mut solver = Solver::new(separate, materials(), &together, &walls).unwrap();
            let steps = 5;
            for _ in 0..steps {
                solver.step(&mut together, &mut walls, 0.01).unwrap();
            }
            assert_eq!(together.position[last], [0.0; 3]);
            let mut first = 0;
            for world in [0, 1, 3] {
                let mut alone = cloud(world);
                let mut walls = colliders(config.voxel_size, Some(world));
                let config = Config {
                    gravity: vec![GRAVITY[world as usize]],
                    ..config.clone()
                };
                let mut solver = Solver::new(config, materials(), &alone, &walls).unwrap();
                for _ in 0..steps {
                    solver.step(&mut alone, &mut walls, 0.01).unwrap();
                }
                let n = alone.len();
                let mut part = together.clone();
                let of_world: Vec<bool> = (0..part.len()).map(|p| part.world[p] == world).collect();
                part.retain(|_, p| of_world[p]);
                let worst = differences(&part, &alone);
                assert!(worst < 1.0, "{what}, world {world}: {worst} of tolerance");
                let moved: f64 = (first..first + n)
                    .map(|p| (together.position[p][2] - start.position[p][2]).abs())
                    .sum();
                assert!(moved > 1e-4 * n as f64, "{what}, world {world}");
                first += n;
            }
        }
    }
}

#[test]
fn coincident_clouds_cancel_on_a_shared_grid_only() {
    for separate_worlds in [false, true] {
        let config = Config {
            gravity: vec![[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0]],
            separate_worlds,
            ..config()
        };
        let mut particles = block([0.0; 3], [2, 2, 2], 0.1, 2, 1000.0);
        let mut other = particles.clone();
        other.world.fill(1);
        particles.append(other);
        run(&config, &[Material::default()], &mut particles, 0.01, 3);
        for p in 0..particles.len() {
            let v = particles.velocity[p][0];
            let way = [1.0, -1.0][particles.world[p] as usize];
            match separate_worlds {
                true => assert!(v * way > 1e-3, "{v}"),
                false => assert!(v.abs() < 1e-6, "{v}"),
            }
        }
    }
}

#[test]
fn capacity_that_suffices_changes_nothing() {
    for grid in [GridKind::Sparse, GridKind::Dense, GridKind::Fixed] {
        let mut ends = Vec::new();
        for max_active_cell_count in [0, 200] {
            let config = Config {
                grid,
                grid_padding: 2,
                max_active_cell_count,
                ..config()
            };
            let mut particles = cloud(3);
            let mut walls = colliders(config.voxel_size, Some(3));
            let mut solver = Solver::new(config, materials(), &particles, &walls).unwrap();
            for _ in 0..10 {
                let report = solver.step(&mut particles, &mut walls, 0.005).unwrap();
                assert!(report.dropped == 0 && report.contacts > 0);
            }
            ends.push(particles);
        }
        assert_eq!(ends[0], ends[1], "{grid:?}");
    }
}

#[test]
fn colliders_act_in_their_world_only() {
    let config = Config {
        separate_worlds: true,
        gravity: vec![[0.0, 0.0, -10.0]],
        air_drag: 0.0,
        ..config()
    };
    let mut particles = Particles::new();
    for world in 0..3 {
        let mut part = block([0.0, 0.0, 0.02], [2, 2, 2], 0.1, 2, 1000.0);
        part.world.fill(world);
        particles.append(part);
    }
    let start = particles.clone();
    let mut walls = nothing(&config);
    for (world, z) in [(Some(1), 0.0), (None, -0.3)] {
        walls
            .add(Collider {
                pose: Pose::at([0.0, 0.0, z]),
                world,
                ..Collider::new(Shape::Plane)
            })
            .unwrap();
    }
    let mut solver = Solver::new(config, materials(), &particles, &walls).unwrap();
    let (dt, n) = (0.01, 20);
    for _ in 0..n {
        solver.step(&mut particles, &mut walls, dt).unwrap();
    }
    // Falls 0.21 m without ground, from 0.02 m above it; the plane of all worlds is below.
    let fall = 10.0 * dt * dt * f64::from(n * (n + 1)) / 2.0;
    for p in 0..particles.len() {
        let way = start.position[p][2] - particles.position[p][2];
        match particles.world[p] {
            1 => assert!(particles.position[p][2] > -0.01, "{way}"),
            _ => assert!((way - fall).abs() < 1e-5, "{way} {fall}"),
        }
    }
    for _ in 0..60 {
        solver.step(&mut particles, &mut walls, dt).unwrap();
    }
    for p in 0..particles.len() {
        let ground = if particles.world[p] == 1 { 0.0 } else { -0.3 };
        assert!(particles.position[p][2] > ground - 0.03);
    }
}

#[test]
#[ignore = "open: not met yet, cause unknown"]
fn a_particle_that_leaves_its_fixed_grid_does_not_enter_that_of_another_world() {
    // World 1 lies beyond world 0 along x in the lattice that both are packed into.
    let config = Config {
        grid: GridKind::Fixed,
        grid_padding: 1,
        separate_worlds: true,
        gravity: vec![[0.0; 3]],
        air_drag: 0.0,
        ..config()
    };
    let mut particles = block([-0.05; 3], [1, 1, 1], 0.1, 2, 1000.0);
    particles.velocity.fill([5.0, 0.0, 0.0]);
    let mut other = block([-0.05; 3], [20, 1, 1], 0.1, 2, 1000.0);
    other.world.fill(1);
    particles.append(other);
    run(&config, &[Material::default()], &mut particles, 0.01, 100);
    for p in 0..8 {
        let x = particles.position[p][0];
        assert!(x > 0.1 && x < 0.25, "{x}");
        assert_eq!(particles.velocity[p], [0.0; 3]);
    }
}
