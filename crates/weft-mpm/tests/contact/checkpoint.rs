//! Saved and restored solvers.

use crate::scene::block;
use weft_mpm::collider::{Collider, Colliders, Shape};
use weft_mpm::{
    ColliderBasis, Config, GridKind, Material, MpmError, Particles, Solver, StrainBasis, WarmStart,
};

fn materials() -> Vec<Material> {
    vec![Material {
        young_modulus: 2e5,
        yield_pressure: 1e4,
        tensile_yield_ratio: 0.1,
        ..Material::default()
    }]
}

fn start() -> Particles {
    let mut all = Particles::new();
    for world in 0..2 {
        let mut part = block([0.01, 0.0, 0.0], [2, 2, 3], 0.1, 2, 900.0);
        part.velocity.fill([1.0 + world as f32, 0.2, -1.0]);
        part.world.fill(world);
        all.append(part);
    }
    all
}

fn scene(config: &Config) -> (Solver, Particles, Colliders) {
    let particles = start();
    let mut ground = Colliders::new(config.voxel_size).unwrap();
    ground.add(Collider::new(Shape::Plane)).unwrap();
    let solver = Solver::new(config.clone(), materials(), &particles, &ground).unwrap();
    (solver, particles, ground)
}

fn saved(solver: &Solver) -> Vec<u8> {
    let mut bytes = Vec::new();
    solver.save(&mut bytes);
    bytes
}

fn configs() -> Vec<Config> {
    let base = Config {
        max_iterations: 8,
        tolerance: 0.0,
        gravity: vec![[0.0, 0.0, -9.81], [0.0, 0.0, -3.0]],
        ..Config::default()
    };
    let mut all = Vec::new();
    for separate_worlds in [false, true] {
        for (grid, grid_padding) in [
            (GridKind::Sparse, 0),
            (GridKind::Dense, 1),
            (GridKind::Fixed, 3),
        ] {
            for (strain_basis, warm_start) in [
                (StrainBasis::P0, WarmStart::Grid),
                (StrainBasis::P0, WarmStart::Smoothed),
                (StrainBasis::Q1, WarmStart::Grid),
                (StrainBasis::Q1d, WarmStart::Grid),
                (StrainBasis::P1d, WarmStart::Auto),
            ] {
                all.push(Config {
                    separate_worlds,
                    grid,
                    grid_padding,
                    strain_basis,
                    warm_start,
                    ..base.clone()
                });
            }
        }
    }
    all
}

#[test]
fn a_run_that_is_resumed_has_the_bits_of_one_that_is_not() {
    for config in configs() {
        let (mut solver, mut particles, mut ground) = scene(&config);
        for _ in 0..6 {
            solver.step(&mut particles, &mut ground, 0.005).unwrap();
        }
        let (bytes, kept) = (saved(&solver), particles.clone());
        // The solver that goes on is made around the particles as they are now.
        let mut again = Solver::new(config.clone(), materials(), &kept, &ground).unwrap();
        again.restore(&bytes).unwrap();
        assert_eq!(saved(&again), bytes);
        let (mut resumed, mut other_ground) = (kept.clone(), ground.clone());
        let mut cold = Solver::new(config.clone(), materials(), &kept, &ground).unwrap();
        let mut without = kept.clone();
        for step in 0..4 {
            let a = solver.step(&mut particles, &mut ground, 0.005).unwrap();
            let b = again.step(&mut resumed, &mut other_ground, 0.005).unwrap();
            assert!(particles == resumed, "{config:?}, step {step}");
            assert_eq!(
                (a.cells, a.dropped, a.contacts),
                (b.cells, b.dropped, b.contacts)
            );
            cold.step(&mut without, &mut ground.clone(), 0.005).unwrap();
        }
        // The test can fail: the saved state matters.
        assert!(without != particles, "{config:?}");
    }
}

#[test]
fn fresh_and_empty_solvers_can_be_saved() {
    let (solver, ..) = scene(&Config::default());
    let bytes = saved(&solver);
    let (mut other, mut particles, mut ground) = scene(&Config::default());
    other.restore(&bytes).unwrap();
    other.step(&mut particles, &mut ground, 0.005).unwrap();
    // Back to the beginning.
    other.restore(&bytes).unwrap();
    assert_eq!(saved(&other), bytes);
}

#[test]
fn damaged_and_foreign_state_is_refused_and_changes_nothing() {
    let config = Config {
        grid: GridKind::Fixed,
        grid_padding: 1,
        separate_worlds: true,
        ..Config::default()
    };
    let (mut solver, mut particles, mut ground) = scene(&config);
    for _ in 0..2 {
        solver.step(&mut particles, &mut ground, 0.005).unwrap();
    }
    let bytes = saved(&solver);
    for end in 0..bytes.len() {
        assert!(
            matches!(solver.restore(&bytes[..end]), Err(MpmError::Saved(_))),
            "{end}"
        );
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(matches!(solver.restore(&longer), Err(MpmError::Saved(_))));
    assert_eq!(saved(&solver), bytes);
    // Whatever a byte becomes, there is an error or a solver that works.
    for at in 0..bytes.len().min(4000) {
        let (mut other, mut particles, mut ground) = scene(&config);
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        if other.restore(&damaged).is_ok() && at % 16 == 0 {
            let _ = other.step(&mut particles, &mut ground, 0.005);
        }
    }
    for foreign in [
        Config {
            voxel_size: 0.2,
            ..config.clone()
        },
        Config {
            strain_basis: StrainBasis::Q1d,
            ..config.clone()
        },
        Config {
            collider_basis: ColliderBasis::Q1,
            ..config.clone()
        },
        Config {
            grid: GridKind::Sparse,
            ..config.clone()
        },
        Config {
            separate_worlds: false,
            ..config.clone()
        },
    ] {
        let (mut other, ..) = scene(&foreign);
        assert!(
            matches!(other.restore(&bytes), Err(MpmError::Saved(_))),
            "{foreign:?}"
        );
    }
}
