//! Input at and beyond the edge: a clear error or a right answer.

use crate::elastic::STRAINS;
use crate::scene::{block, nothing, planes};
use weft_mpm::{
    Config, Integration, LinearKind, Material, MpmError, Particles, RheologyKind, Solver, Stage,
    VelocityBasis,
};

fn solver(config: &Config, particles: &Particles) -> Solver {
    let materials = vec![Material::default()];
    Solver::new(config.clone(), materials, particles, &nothing(config)).unwrap()
}

#[test]
fn no_particles_is_a_step_that_does_nothing() {
    let config = Config::default();
    let mut particles = Particles::new();
    let mut solver = solver(&config, &particles);
    let report = solver
        .step(&mut particles, &mut nothing(&config), 0.01)
        .unwrap();
    assert_eq!((report.binned, report.cells, report.sweeps), (0, 0, 0));
}

#[test]
fn one_or_coincident_or_inactive_particles() {
    let config = Config::default();
    for count in [1, 5] {
        let mut particles = Particles::new();
        for _ in 0..count {
            particles.push([0.01, 0.02, 0.03], 1.0, 0.02);
        }
        let mut solver = solver(&config, &particles);
        for _ in 0..5 {
            let report = solver
                .step(&mut particles, &mut nothing(&config), 0.01)
                .unwrap();
            assert_eq!((report.binned, report.cells), (count, 1));
        }
        for p in 0..count {
            assert_eq!(particles.position[p], particles.position[0]);
            assert!(particles.velocity[p][2] < -0.3);
        }
        particles.flags.fill(0);
        let kept = particles.clone();
        let report = solver
            .step(&mut particles, &mut nothing(&config), 0.01)
            .unwrap();
        assert_eq!((report.binned, report.dropped), (0, 0));
        assert_eq!(particles, kept);
        particles.flags.fill(1);
        let report = solver
            .step(&mut particles, &mut nothing(&config), 0.01)
            .unwrap();
        assert_eq!(report.binned, count);
    }
}

#[test]
fn positions_that_are_not_finite_take_no_part() {
    let config = Config::default();
    let mut particles = block([0.0; 3], [2, 1, 1], 0.1, 2, 1000.0);
    particles.position[3][1] = f64::NAN;
    particles.position[5][0] = f64::NEG_INFINITY;
    let mut solver = solver(&config, &particles);
    let report = solver
        .step(&mut particles, &mut nothing(&config), 0.01)
        .unwrap();
    assert_eq!((report.binned, report.dropped), (14, 2));
    let fine = |p: &usize| ![3, 5].contains(p);
    for p in (0..particles.len()).filter(fine) {
        assert!(particles.position[p].iter().all(|x| x.is_finite()));
        assert!((particles.velocity[p][2] + 0.0981).abs() < 1e-3);
    }
}

#[test]
fn particles_millions_of_cells_apart() {
    let config = Config {
        voxel_size: 0.1,
        air_drag: 0.0,
        ..Config::default()
    };
    let mut particles = Particles::new();
    particles.push([-1.9e5, 0.0, 0.0], 1.0, 0.05);
    particles.push([1.9e5, 0.0, 0.0], 1.0, 0.05);
    let mut solver = solver(&config, &particles);
    let report = solver
        .step(&mut particles, &mut nothing(&config), 0.01)
        .unwrap();
    assert_eq!((report.binned, report.cells), (2, 2));
    for p in 0..2 {
        assert!((particles.velocity[p][2] + 0.0981).abs() < 1e-5);
    }
    // Beyond the range of cells: an error, and nothing has moved.
    for far in [1e6, 1e12] {
        particles.position[1][0] = far;
        let kept = particles.clone();
        let error = solver.step(&mut particles, &mut nothing(&config), 0.01);
        let known = matches!(error, Err(MpmError::Far { .. } | MpmError::Grid(_)));
        assert!(known, "{error:?}");
        assert_eq!(particles, kept);
    }
    particles.position[1][0] = 0.0;
    let report = solver
        .step(&mut particles, &mut nothing(&config), 0.01)
        .unwrap();
    assert_eq!(report.binned, 2);
}

#[test]
fn time_steps() {
    let config = Config::default();
    let mut particles = block([0.0; 3], [1, 1, 1], 0.1, 2, 1000.0);
    let mut solver = solver(&config, &particles);
    let kept = particles.clone();
    solver
        .step(&mut particles, &mut nothing(&config), 0.0)
        .unwrap();
    assert_eq!(particles, kept);
    for dt in [-0.1, f64::NAN, f64::INFINITY, 1e300] {
        let error = solver.step(&mut particles, &mut nothing(&config), dt);
        assert!(
            matches!(error, Err(MpmError::TimeStep { .. })),
            "{dt}: {error:?}"
        );
        assert_eq!(particles, kept);
    }
    for dt in [1e-30, 1e30] {
        let mut copy = kept.clone();
        // Either moves far away or reports that the grid cannot follow.
        let _ = solver.step(&mut copy, &mut nothing(&config), dt);
    }
}

#[test]
fn bad_values_are_named() {
    let config = Config::default();
    let check = |change: &dyn Fn(&mut Particles), text: &str| {
        let mut particles = block([0.0; 3], [1, 1, 1], 0.1, 2, 1000.0);
        change(&mut particles);
        let error = Solver::new(
            config.clone(),
            vec![Material::default()],
            &particles,
            &nothing(&config),
        );
        let error = error.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    check(&|p| p.mass[2] = -1.0, "particle 2: mass is -1");
    check(&|p| p.mass[2] = f32::NAN, "particle 2: mass is NaN");
    check(&|p| p.radius[1] = 0.0, "particle 1: radius is 0");
    check(&|p| p.material[0] = 7, "particle 0: material is 7");
    check(
        &|p| p.plastic_volume[0] = 0.0,
        "particle 0: plastic_volume is 0",
    );
    check(
        &|p| p.velocity.truncate(3),
        "velocity has 3 entries, expected 8",
    );
    for (name, value) in [
        ("young_modulus", -1.0),
        ("young_modulus", f32::NAN),
        ("poisson_ratio", 0.5),
        ("friction", f32::INFINITY),
        ("dilatancy", 2.0),
    ] {
        let mut material = Material::default();
        *material.value_mut(name).unwrap() = value;
        let error = Solver::new(
            config.clone(),
            vec![material],
            &Particles::new(),
            &nothing(&config),
        );
        let error = error.map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains("expected"),
            "{error}"
        );
    }
}

#[test]
fn capacity_is_an_error_that_changes_nothing() {
    let config = Config {
        max_active_cell_count: 4,
        ..Config::default()
    };
    let mut particles = block([-0.05; 3], [4, 1, 1], 0.1, 2, 1000.0);
    let mut solver = solver(&config, &particles);
    solver
        .step(&mut particles, &mut nothing(&config), 1e-4)
        .unwrap();
    particles.position[0][2] += 1.0;
    let kept = particles.clone();
    let error = solver
        .step(&mut particles, &mut nothing(&config), 1e-4)
        .unwrap_err();
    assert_eq!(
        error,
        MpmError::Capacity {
            needed: 5,
            capacity: 4
        }
    );
    assert_eq!(particles, kept);
    particles.position[0][2] -= 1.0;
    solver
        .step(&mut particles, &mut nothing(&config), 1e-4)
        .unwrap();
}

#[test]
fn particles_that_leave_a_fixed_grid_are_counted() {
    let config = Config {
        grid: weft_mpm::GridKind::Fixed,
        grid_padding: 1,
        air_drag: 0.0,
        ..Config::default()
    };
    let mut particles = block([-0.05; 3], [2, 1, 1], 0.1, 2, 1000.0);
    let mut solver = solver(&config, &particles);
    let mut dropped = 0;
    for _ in 0..100 {
        dropped = solver
            .step(&mut particles, &mut nothing(&config), 0.01)
            .unwrap()
            .dropped;
    }
    assert_eq!(dropped, particles.len());
    // They stay where they left, less than a step's way below the padding.
    for p in 0..particles.len() {
        assert!((-0.3..-0.1).contains(&particles.position[p][2]));
        assert_eq!(particles.velocity[p], [0.0; 3]);
    }
}

/// Every strain basis × velocity basis × solver.
fn kinds() -> Vec<Config> {
    use RheologyKind::{Batched, GaussSeidel, Jacobi};
    let solvers = [
        vec![Stage::Rheology(GaussSeidel)],
        vec![Stage::Rheology(Batched)],
        vec![Stage::Rheology(Jacobi)],
        vec![Stage::Linear(LinearKind::Cg), Stage::Rheology(GaussSeidel)],
        vec![
            Stage::Linear(LinearKind::Cr),
            Stage::Rheology(Jacobi),
            Stage::Rheology(Batched),
        ],
        vec![Stage::Linear(LinearKind::Gmres), Stage::Rheology(Jacobi)],
    ];
    let mut all = Vec::new();
    for velocity_basis in [VelocityBasis::Q1, VelocityBasis::B2, VelocityBasis::B3] {
        for strain_basis in STRAINS {
            for (i, solver) in solvers.iter().enumerate() {
                all.push(Config {
                    velocity_basis,
                    strain_basis,
                    solver: solver.clone(),
                    max_iterations: 10,
                    integration: [Integration::Pic, Integration::Gimp][i % 2],
                    ..Config::default()
                });
            }
        }
    }
    all
}

/// Sand without cohesion, and a material with all that there is.
fn both_materials() -> [Material; 2] {
    let all = Material {
        young_modulus: 1e6,
        damping: 0.01,
        yield_pressure: 1e5,
        tensile_yield_ratio: 0.1,
        yield_stress: 100.0,
        viscosity: 10.0,
        hardening: 2.0,
        dilatancy: 0.5,
        ..Material::default()
    };
    [Material::default(), all]
}

/// Three steps on a floor: finite numbers in all that take part, or an error that says something
/// and leaves the particles alone. Whether they went through.
#[track_caller]
fn survives(config: &Config, material: Material, mut particles: Particles, dt: f64) -> bool {
    let what = || {
        format!(
            "{:?} {:?} {:?}, dt {dt}, gravity {:?}, {material:?}",
            config.velocity_basis, config.strain_basis, config.solver, config.gravity
        )
    };
    let floor = [([0.0, 0.0, -0.02], [0.0, 0.0, 1.0], 0.5)];
    let mut colliders = planes(config, &floor);
    let mut solver = match Solver::new(config.clone(), vec![material], &particles, &colliders) {
        Ok(solver) => solver,
        Err(error) => {
            assert!(error.to_string().len() > 10, "{}: {error}", what());
            return false;
        }
    };
    for step in 0..3 {
        let before = particles.clone();
        if let Err(error) = solver.step(&mut particles, &mut colliders, dt) {
            assert!(error.to_string().len() > 10, "{}: {error}", what());
            assert!(same(&particles, &before), "{}: {error}", what());
            return false;
        }
        for p in 0..particles.len() {
            if particles.position[p].iter().any(|x| !x.is_finite()) {
                continue;
            }
            let values = [
                &particles.velocity[p][..],
                particles.gradient[p].as_flattened(),
                particles.elastic[p].as_flattened(),
                &particles.stress[p][..],
                &[particles.plastic_volume[p]],
            ];
            assert!(
                values.iter().all(|v| v.iter().all(|x| x.is_finite())),
                "{}: particle {p} after step {step}: {values:?}",
                what()
            );
        }
    }
    true
}

/// Equal, with NaN equal to itself.
fn same(a: &Particles, b: &Particles) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

fn small_block() -> Particles {
    let mut particles = block([0.0; 3], [2, 1, 2], 0.1, 2, 1000.0);
    particles.plastic_volume.fill(0.9);
    for (p, velocity) in particles.velocity.iter_mut().enumerate() {
        *velocity = [0.1 * p as f32 - 1.0, 0.3, -1.0];
    }
    particles
}

/// Every `part`th of the cases that are numbered by it: so that each case meets several kinds, each
/// kind several cases, and the sweep takes seconds.
struct Turns {
    part: usize,
    next: usize,
}

impl Turns {
    fn now(&mut self) -> bool {
        self.next += 1;
        self.next.is_multiple_of(self.part)
    }
}

#[test]
fn absurd_materials() {
    // No divisor of the 96 values.
    let mut turns = Turns { part: 7, next: 0 };
    for config in kinds() {
        for material in both_materials() {
            assert!(survives(&config, material, small_block(), 0.01));
            for name in Material::NAMES {
                for value in [
                    f32::NAN,
                    f32::INFINITY,
                    -1.0,
                    0.0,
                    f32::MAX,
                    1e38,
                    1e-38,
                    1e-45,
                ] {
                    let mut absurd = material;
                    *absurd.value_mut(name).unwrap() = value;
                    if turns.now() {
                        survives(&config, absurd, small_block(), 0.01);
                    }
                }
            }
        }
    }
}

#[test]
fn absurd_particles() {
    type Change<'a> = &'a dyn Fn(&mut Particles);
    let changes: [Change; 30] = [
        &|p| _ = p.retain(|_, _| false),
        &|p| _ = p.retain(|_, i| i == 0),
        &|p| p.position.fill([0.01, 0.02, 0.03]),
        &|p| p.position.fill([0.0; 3]),
        &|p| p.position.fill([0.05; 3]),
        &|p| p.position[1] = [f64::NAN; 3],
        &|p| p.position[1][0] = f64::INFINITY,
        &|p| p.position[1][0] = 1e5,
        &|p| p.position[1][0] = 1e6,
        &|p| p.position[1][0] = f64::MAX,
        &|p| p.velocity[1][2] = f32::NAN,
        &|p| p.velocity[1][2] = f32::NEG_INFINITY,
        &|p| p.velocity[1][2] = 1e30,
        &|p| p.velocity[1][2] = f32::MAX,
        &|p| p.gradient[1][2][0] = f32::NAN,
        &|p| p.gradient[1][2][0] = 1e38,
        &|p| p.elastic[1][2][0] = f32::NAN,
        &|p| p.elastic[1] = [[0.0; 3]; 3],
        &|p| p.elastic[1] = [[1e38; 3]; 3],
        &|p| p.stress[1][0] = f32::NAN,
        &|p| p.stress[1][0] = 1e38,
        &|p| p.mass[1] = 1e38,
        &|p| p.mass.fill(1e38),
        &|p| p.mass.fill(1e-38),
        &|p| p.mass.fill(0.0),
        &|p| p.radius[1] = 1e-30,
        &|p| p.radius[1] = 1e30,
        &|p| p.plastic_volume.fill(1e38),
        &|p| p.plastic_volume.fill(1e-38),
        &|p| p.flags.fill(0),
    ];
    let mut turns = Turns { part: 7, next: 0 };
    for config in kinds() {
        for material in both_materials() {
            for change in changes.iter().filter(|_| turns.now()) {
                let mut particles = small_block();
                change(&mut particles);
                survives(&config, material, particles, 0.01);
            }
        }
    }
}

#[test]
fn absurd_steps_and_gravity() {
    let mut turns = Turns { part: 5, next: 0 };
    for config in kinds() {
        for material in both_materials() {
            for dt in [
                0.0,
                -0.0,
                -1.0,
                f64::NAN,
                1e-300,
                1e-45,
                1e-38,
                1e-30,
                1e-10,
                1.0,
                1e10,
                1e30,
                1e38,
            ] {
                if turns.now() {
                    survives(&config, material, small_block(), dt);
                }
            }
            for g in [f32::NAN, f32::INFINITY, 1e10, 1e30, f32::MAX, 1e-38] {
                let config = Config {
                    gravity: vec![[g, 0.0, -g]],
                    ..config.clone()
                };
                if turns.now() {
                    survives(&config, material, small_block(), 0.01);
                }
            }
            for air_drag in [0.0, 1e-38, 1e30, f32::MAX] {
                let config = Config {
                    air_drag,
                    ..config.clone()
                };
                if turns.now() {
                    survives(&config, material, small_block(), 0.01);
                }
            }
            for voxel_size in [1e-300, 1e-30, 1e-5, 1e5, 1e30, 1e300] {
                let config = Config {
                    voxel_size,
                    ..config.clone()
                };
                if nothing(&Config::default())
                    .clone()
                    .set_voxel_size(voxel_size)
                    .is_ok()
                    && turns.now()
                {
                    survives(&config, material, small_block(), 0.01);
                }
            }
        }
    }
}

/// A step that does nothing leaves no contacts and no impulses of an earlier one.
#[test]
fn issue_005_stale_contacts() {
    let config = Config::default();
    for tiny in [false, true] {
        let mut colliders = planes(&config, &[([0.0; 3], [0.0, 0.0, 1.0], 0.5)]);
        let mut particles = block([0.0; 3], [2, 2, 1], 0.1, 2, 1000.0);
        let materials = vec![Material::default()];
        let mut solver = Solver::new(config.clone(), materials, &particles, &colliders).unwrap();
        solver.step(&mut particles, &mut colliders, 0.01).unwrap();
        assert!(solver.impulses().count() > 0);
        assert!(colliders.impulse(0).0[2] < 0.0);
        let dt = match tiny {
            true => 0.0,
            false => {
                particles = Particles::new();
                0.01
            }
        };
        let report = solver.step(&mut particles, &mut colliders, dt).unwrap();
        assert_eq!((report.contacts, solver.impulses().count()), (0, 0));
        assert_eq!(colliders.impulse(0), ([0.0; 3], [0.0; 3]));
    }
}

/// A fixed grid is made around particles that are there.
#[test]
fn issue_005_fixed_grid_of_nothing() {
    let config = Config {
        grid: weft_mpm::GridKind::Fixed,
        ..Config::default()
    };
    let mut inactive = block([0.0; 3], [1, 1, 1], 0.1, 2, 1000.0);
    inactive.flags.fill(0);
    for particles in [Particles::new(), inactive] {
        let none = nothing(&config);
        let made = Solver::new(config.clone(), vec![Material::default()], &particles, &none);
        let shown = made.unwrap_err().to_string();
        assert!(shown.contains("no active particle"), "{shown}");
    }
}

/// Colliders that do not go with the options are refused, at first and later.
#[test]
fn issue_005_colliders_of_another_solver() {
    let config = Config {
        solver: vec![Stage::Linear(LinearKind::Cg)],
        ..Config::default()
    };
    let mut particles = block([0.0; 3], [1, 1, 1], 0.1, 2, 1000.0);
    let kept = particles.clone();
    let mut made = solver(&config, &particles);
    let mut plane = planes(&config, &[([0.0; 3], [0.0, 0.0, 1.0], 0.5)]);
    let shown = made
        .step(&mut particles, &mut plane, 0.01)
        .unwrap_err()
        .to_string();
    assert!(shown.contains("knows no contact"), "{shown}");
    let mut coarse = nothing(&Config {
        voxel_size: 0.2,
        ..Config::default()
    });
    let shown = made
        .step(&mut particles, &mut coarse, 0.01)
        .unwrap_err()
        .to_string();
    assert!(
        shown.contains("voxel_size") && shown.contains("0.2 m"),
        "{shown}"
    );
    let again = Solver::new(config, vec![Material::default()], &particles, &coarse);
    assert!(again.is_err());
    assert_eq!(particles, kept);
}

#[test]
fn issue_005_refused_options() {
    for (config, part) in [
        (
            Config {
                grid_padding: 65,
                ..Config::default()
            },
            "grid_padding = 65: expected at most 64",
        ),
        (
            Config {
                collider_basis: weft_mpm::ColliderBasis::Particle(4),
                critical_fraction: 0.5,
                ..Config::default()
            },
            "critical_fraction = 0.5: needs colliders sampled at the vertices",
        ),
    ] {
        let shown = config.check(true).unwrap_err().to_string();
        assert!(shown.contains(part), "{shown}");
    }
}
