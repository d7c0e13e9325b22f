//! The solver itself: sweeps, threads and first guesses.

use crate::scene::{Scene, block, elastic, nothing, planes};
use weft_mpm::{
    Config, LinearKind, Material, Particles, RheologyKind, Stage, StrainBasis, WarmStart,
};

/// A heap of sand that falls apart on a floor.
fn heap(config: &Config) -> Scene {
    let floor = [([0.0; 3], [0.0, 0.0, 1.0], 0.5)];
    let sand = Material::default();
    let particles = block([0.0; 3], [4, 3, 5], config.voxel_size, 2, 1000.0);
    Scene::new(config, &[sand], particles, planes(config, &floor))
}

fn config() -> Config {
    Config {
        voxel_size: 0.1,
        air_drag: 0.0,
        ..Config::default()
    }
}

fn difference(a: &Particles, b: &Particles) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.velocity.iter().zip(&b.velocity) {
        sum += (0..3).map(|d| f64::from(a[d] - b[d]).powi(2)).sum::<f64>();
    }
    (sum / a.len() as f64).sqrt()
}

/// The heap a few steps on, and one more step with these options.
fn step_on(config: &Config) -> (Scene, usize, f32) {
    let settled = Config {
        max_iterations: 400,
        ..config.clone()
    };
    let mut scene = heap(&settled);
    for _ in 0..3 {
        scene.step(0.01);
    }
    let mut scene = Scene::new(
        config,
        &[Material::default()],
        scene.particles,
        scene.colliders,
    );
    let report = scene.step(0.01);
    (scene, report.sweeps, report.residual_l2)
}

/// 25.13: more sweeps come closer to the fixed point.
#[test]
fn more_sweeps_come_closer() {
    let with = |max_iterations, tolerance| {
        step_on(&Config {
            max_iterations,
            tolerance,
            ..config()
        })
    };
    let (exact, ..) = with(8000, 0.0);
    let mut last = (f64::INFINITY, f32::INFINITY);
    for sweeps in [10, 50, 250, 2000] {
        let (found, used, residual) = with(sweeps, 0.0);
        assert_eq!(used, sweeps);
        let now = difference(&found.particles, &exact.particles);
        println!("{sweeps} sweeps: velocity off by {now:.2e} m/s, residual {residual:.2e}");
        assert!(
            now < last.0 && residual < last.1,
            "{sweeps}: {now} {last:?}"
        );
        last = (now, residual);
    }
    assert!(last.0 < 1e-4, "{last:?}");
    // A check stops as soon as the tolerance is met, and not before.
    let (_, used, residual) = with(2000, 1e-4);
    assert!(
        used < 2000 && used % 5 == 0 && residual < 1e-4,
        "{used} {residual}"
    );
}

/// 25.13: the same bits for any number of threads and in each run.
#[test]
fn threads_do_not_change_a_bit() {
    for strain_basis in [StrainBasis::P0, StrainBasis::Q1, StrainBasis::P1d] {
        let config = Config {
            strain_basis,
            max_iterations: 20,
            ..config()
        };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| {
                let mut scene = heap(&config);
                for _ in 0..8 {
                    scene.step(0.01);
                }
                let impulses: Vec<_> = scene.solver.impulses().collect();
                (scene.particles, impulses)
            })
        };
        let one = run(1);
        for threads in [1, 2, 3] {
            assert_eq!(run(threads), one, "{strain_basis:?}, {threads} threads");
        }
    }
}

/// 25.13: first guesses change the way to the fixed point, not the point.
#[test]
fn warm_starts_save_sweeps_and_nothing_else() {
    let run = |warm_start| {
        let config = Config {
            warm_start,
            tolerance: 1e-7,
            max_iterations: 5000,
            ..config()
        };
        let mut scene = heap(&config);
        let mut sweeps = 0;
        for step in 0..4 {
            let used = scene.step(0.005).sweeps;
            // The first step has nothing to start from.
            sweeps += if step > 0 { used } else { 0 };
        }
        (scene.particles, sweeps)
    };
    let (cold, without) = run(WarmStart::None);
    for warm_start in [WarmStart::Grid, WarmStart::Particles, WarmStart::Smoothed] {
        let (warm, sweeps) = run(warm_start);
        let off = difference(&warm, &cold);
        println!("{warm_start:?}: {sweeps} sweeps instead of {without}, {off:.1e} m/s apart");
        assert!(off < 2e-3, "{warm_start:?}: {off}");
        assert!(sweeps < without, "{warm_start:?}: {sweeps} {without}");
    }
}

/// 25.13: all sweeps have the same fixed point.
#[test]
fn kinds_of_sweeps_agree() {
    let run = |kind| {
        step_on(&Config {
            solver: vec![Stage::Rheology(kind)],
            max_iterations: 4000,
            tolerance: 1e-7,
            ..config()
        })
    };
    let (exact, ..) = run(RheologyKind::GaussSeidel);
    for kind in [
        RheologyKind::Auto,
        RheologyKind::Batched,
        RheologyKind::Jacobi,
    ] {
        let (found, sweeps, _) = run(kind);
        let off = difference(&found.particles, &exact.particles);
        println!("{kind:?}: {sweeps} sweeps, {off:.1e} m/s off");
        assert!(off < 1e-3, "{kind:?}: {off}");
    }
}

/// 25.13: linear solvers and all sweeps find the same, for a solid that does not yield.
#[test]
fn linear_solvers_agree_with_sweeps() {
    for strain_basis in [StrainBasis::P0, StrainBasis::P1d, StrainBasis::Q1] {
        let run = |stage| {
            let config = Config {
                solver: vec![stage],
                strain_basis,
                max_iterations: 3000,
                tolerance: 1e-8,
                gravity: vec![[0.0; 3]],
                ..config()
            };
            let mut particles = block([0.0; 3], [4, 3, 2], 0.1, 2, 1000.0);
            for p in 0..particles.len() {
                let [x, y, z] = particles.position[p];
                particles.velocity[p] = [y * z, x * x, -x * y].map(|v| v as f32);
            }
            let material = elastic(1e6, 0.3);
            let mut scene = Scene::new(&config, &[material], particles, nothing(&config));
            let mut iterations = 0;
            for _ in 0..5 {
                let report = scene.step(0.005);
                iterations += report.sweeps + report.linear_iterations;
            }
            (scene.particles, iterations)
        };
        let (exact, sweeps) = run(Stage::Rheology(RheologyKind::GaussSeidel));
        let rest = block([0.0; 3], [4, 3, 2], 0.1, 2, 1000.0);
        let speed = difference(&exact, &rest);
        for stage in [
            Stage::Linear(LinearKind::Cg),
            Stage::Linear(LinearKind::Cr),
            Stage::Linear(LinearKind::Gmres),
            Stage::Rheology(RheologyKind::Batched),
            Stage::Rheology(RheologyKind::Jacobi),
        ] {
            let (found, iterations) = run(stage);
            let off = difference(&found, &exact);
            println!(
                "{strain_basis:?} {stage:?}: {iterations}, sweeps {sweeps}; {off:.1e} of {speed:.1e} m/s off"
            );
            // Ten tolerances of strain a step, across a cell.
            let limit = 10.0 * 1e-8 * 0.1 / 0.005;
            assert!(off < limit, "{strain_basis:?} {stage:?}: {off} {limit}");
        }
    }
}
