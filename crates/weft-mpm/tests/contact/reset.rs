//! Worlds that start anew.

use crate::scene::block;
use weft_mpm::collider::{Collider, Colliders, Shape};
use weft_mpm::{Config, Material, MpmError, Particles, Solver, WarmStart};

const IDENTITY: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn snow() -> Vec<Material> {
    vec![Material {
        young_modulus: 2e5,
        yield_pressure: 1e4,
        tensile_yield_ratio: 0.2,
        hardening: 5.0,
        dilatancy: 1.0,
        ..Material::default()
    }]
}

fn start() -> Particles {
    let mut all = Particles::new();
    for world in 0..3 {
        let mut part = block([0.0, 0.0, 0.0], [2, 2, 2], 0.1, 2, 400.0);
        part.world.fill(world);
        part.plastic_volume.fill(0.97);
        all.append(part);
    }
    all
}

fn scene(warm_start: WarmStart) -> (Solver, Particles, Colliders) {
    let config = Config {
        separate_worlds: true,
        warm_start,
        max_iterations: 10,
        tolerance: 0.0,
        ..Config::default()
    };
    let particles = start();
    let mut ground = Colliders::new(config.voxel_size).unwrap();
    ground.add(Collider::new(Shape::Plane)).unwrap();
    let solver = Solver::new(config, snow(), &particles, &ground).unwrap();
    (solver, particles, ground)
}

fn steps(solver: &mut Solver, particles: &mut Particles, ground: &mut Colliders, n: usize) {
    for _ in 0..n {
        solver.step(particles, ground, 0.005).unwrap();
    }
}

#[test]
fn a_world_that_is_reset_runs_as_at_first_and_others_go_on() {
    for warm_start in [WarmStart::Particles, WarmStart::Grid, WarmStart::Smoothed] {
        let (mut solver, mut particles, mut ground) = scene(warm_start);
        let n = 10;
        steps(&mut solver, &mut particles, &mut ground, n);
        let first = particles.clone();
        let (mut twin, mut goes_on, mut twin_ground) = scene(warm_start);
        steps(&mut twin, &mut goes_on, &mut twin_ground, n);
        assert_eq!(first, goes_on);

        solver
            .reset(&mut particles, &[false, true, false], |_| 0.97)
            .unwrap();
        let begin = start();
        let mut changed = false;
        for p in 0..particles.len() {
            if particles.world[p] == 1 {
                changed |= first.elastic[p] != IDENTITY && first.plastic_volume[p] != 0.97;
                assert_eq!(particles.elastic[p], IDENTITY);
                assert_eq!(particles.frame[p], IDENTITY);
                assert_eq!(particles.gradient[p], [[0.0; 3]; 3]);
                assert_eq!(particles.stress[p], [0.0; 6]);
                assert_eq!(particles.plastic_volume[p], 0.97);
                particles.position[p] = begin.position[p];
                particles.velocity[p] = begin.velocity[p];
            } else {
                assert_eq!(particles.elastic[p], first.elastic[p]);
                assert_eq!(particles.stress[p], first.stress[p]);
                assert_eq!(particles.plastic_volume[p], first.plastic_volume[p]);
            }
        }
        assert!(changed);
        steps(&mut solver, &mut particles, &mut ground, n);
        steps(&mut twin, &mut goes_on, &mut twin_ground, n);
        for p in 0..particles.len() {
            let expected = if particles.world[p] == 1 {
                &first
            } else {
                &goes_on
            };
            for d in 0..3 {
                let error = particles.position[p][d] - expected.position[p][d];
                let slip = particles.velocity[p][d] - expected.velocity[p][d];
                let what = format!("{warm_start:?} {p}: {error} {slip}");
                assert!(error.abs() < 1e-6 && slip.abs() < 2e-5, "{what}");
            }
        }
    }
}

#[test]
fn what_cannot_be_reset_is_left_alone() {
    let (mut solver, mut particles, mut ground) = scene(WarmStart::Auto);
    steps(&mut solver, &mut particles, &mut ground, 3);
    let (mut twin, mut other, mut twin_ground) = scene(WarmStart::Auto);
    steps(&mut twin, &mut other, &mut twin_ground, 3);
    let kept = particles.clone();
    let too_few = solver.reset(&mut particles, &[true; 2], |_| 1.0);
    assert!(matches!(too_few, Err(MpmError::Config { .. })));
    let last = particles.len() - 1;
    for jp in [f32::NAN, 0.0, -1.0, f32::INFINITY] {
        let bad = solver.reset(
            &mut particles,
            &[true; 3],
            |p| if p == last { jp } else { 1.0 },
        );
        let text = bad.unwrap_err().to_string();
        assert!(
            text.contains(&format!("particle {last}: plastic_volume")),
            "{text}"
        );
    }
    particles.world[last] = 7;
    let beyond = solver.reset(&mut particles, &[true; 3], |_| 1.0);
    assert!(beyond.unwrap_err().to_string().contains("world is 7"));
    particles.world[last] = 2;
    assert_eq!(particles, kept);
    // Neither has the solver forgotten anything.
    steps(&mut solver, &mut particles, &mut ground, 2);
    steps(&mut twin, &mut other, &mut twin_ground, 2);
    assert_eq!(particles, other);
}

#[test]
fn worlds_that_share_a_grid_are_reset_together() {
    let (_, mut particles, ground) = scene(WarmStart::Auto);
    let mut solver = Solver::new(Config::default(), snow(), &particles, &ground).unwrap();
    let kept = particles.clone();
    let some = solver.reset(&mut particles, &[true, false, true], |_| 1.0);
    assert!(matches!(some, Err(MpmError::Config { .. })));
    assert_eq!(particles, kept);
    solver.reset(&mut particles, &[false; 3], |_| 1.0).unwrap();
    assert_eq!(particles, kept);
    solver.reset(&mut particles, &[true; 3], |_| 0.5).unwrap();
    assert!(particles.plastic_volume.iter().all(|&jp| jp == 0.5));
}
