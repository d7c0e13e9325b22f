//! Pictures of material: frames and grains.

use crate::scene::{Draws, block, nothing};
use weft_mpm::{Config, Grains, Material, MpmError, Particles, Solver, update_frames};

type Mat = [[f32; 3]; 3];

fn product(a: &Mat, b: &Mat) -> Mat {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

fn transpose(a: &Mat) -> Mat {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

/// A rotation from three draws.
fn rotation(draws: &mut Draws) -> Mat {
    let mut turn = || {
        let (s, c) = (6.0 * draws.draw() as f32).sin_cos();
        (s, c)
    };
    let ((a, b), (c, d), (e, f)) = (turn(), turn(), turn());
    let x = [[1.0, 0.0, 0.0], [0.0, b, -a], [0.0, a, b]];
    let y = [[d, 0.0, c], [0.0, 1.0, 0.0], [-c, 0.0, d]];
    let z = [[f, -e, 0.0], [e, f, 0.0], [0.0, 0.0, 1.0]];
    product(&product(&x, &y), &z)
}

fn one() -> Particles {
    let mut particles = Particles::new();
    particles.push([0.0; 3], 1.0, 0.05);
    particles
}

#[test]
fn frames_keep_rotation_and_limit_stretch() {
    // F = U Σ Vᵀ given, G = 0: only the singular values are limited.
    let mut draws = Draws::new(5);
    for stretch in [
        [1.0f32, 1.5, 0.5],
        [3.0, 1.0, 0.1],
        [0.25, 2.0, 1.0],
        [5.0, 5.0, 5.0],
        [1.0, 1.0, 1e-8],
        [-1.5, 1.0, 0.3],
    ] {
        for _ in 0..20 {
            let (u, v) = (rotation(&mut draws), rotation(&mut draws));
            let diagonal = |s: [f32; 3]| -> Mat {
                std::array::from_fn(|i| std::array::from_fn(|j| if i == j { s[i] } else { 0.0 }))
            };
            let with = |s: [f32; 3]| product(&product(&u, &diagonal(s)), &transpose(&v));
            let mut particles = one();
            particles.frame[0] = with(stretch);
            update_frames(&mut particles, 0.1, 0.25, 2.0).unwrap();
            let limited = stretch.map(|s| s.signum() * s.abs().clamp(0.25, 2.0));
            let expected = with(limited);
            for i in 0..3 {
                for j in 0..3 {
                    let found = particles.frame[0][i][j];
                    // A direction that was flattened has lost its sense.
                    let tolerance = if stretch[2] < 1e-6 { 0.51 } else { 2e-5 };
                    let error = (found - expected[i][j]).abs();
                    assert!(error < tolerance, "{stretch:?}: {found} {}", expected[i][j]);
                }
            }
            let square = product(&transpose(&particles.frame[0]), &particles.frame[0]);
            let trace: f32 = (0..3).map(|i| square[i][i]).sum();
            let exact: f32 = limited.iter().map(|s| s * s).sum();
            assert!((trace - exact).abs() < 1e-4 * exact);
        }
    }
}

#[test]
fn frames_follow_the_gradient() {
    let mut particles = one();
    particles.gradient[0][0][1] = 0.5;
    for _ in 0..10 {
        update_frames(&mut particles, 0.1, 0.01, 100.0).unwrap();
    }
    // Simple shear: (I + dt G)^n = I + n dt G.
    let expected = [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for i in 0..3 {
        for j in 0..3 {
            let error: f32 = particles.frame[0][i][j] - expected[i][j];
            assert!(error.abs() < 1e-5, "{:?}", particles.frame[0]);
        }
    }
}

#[test]
fn frames_with_bad_input() {
    let mut particles = one();
    particles.gradient[0][0][1] = f32::NAN;
    let inactive = particles.push([1.0; 3], 1.0, 0.05);
    particles.flags[inactive] = 0;
    particles.gradient[inactive] = [[1.0; 3]; 3];
    let kept = particles.clone();
    for dt in [-1.0, f64::NAN, f64::INFINITY] {
        let error = update_frames(&mut particles, dt, 0.25, 2.0);
        assert!(matches!(error, Err(MpmError::TimeStep { .. })));
    }
    for (low, high) in [
        (0.0, 2.0),
        (-1.0, 2.0),
        (2.0, 1.0),
        (f32::NAN, 2.0),
        (1.0, f32::INFINITY),
    ] {
        let error = update_frames(&mut particles, 0.1, low, high);
        assert!(matches!(error, Err(MpmError::Config { .. })));
    }
    assert_eq!(particles.frame, kept.frame);
    update_frames(&mut particles, 0.1, 0.25, 2.0).unwrap();
    assert_eq!(particles.frame, kept.frame);
    particles.frame.pop();
    let error = update_frames(&mut particles, 0.1, 0.25, 2.0);
    assert!(matches!(error, Err(MpmError::Length { .. })));
    update_frames(&mut Particles::new(), 0.1, 0.25, 2.0).unwrap();
}

fn two_worlds() -> (Solver, Particles, Config) {
    let config = Config {
        separate_worlds: true,
        gravity: vec![[4.0, 0.0, 0.0], [-4.0, 0.0, 0.0]],
        ..Config::default()
    };
    let mut particles = block([0.0; 3], [2, 2, 2], 0.1, 2, 1000.0);
    let mut other = particles.clone();
    other.world.fill(1);
    particles.append(other);
    let solver = Solver::new(
        config.clone(),
        vec![Material::default()],
        &particles,
        &nothing(&config),
    )
    .unwrap();
    (solver, particles, config)
}

#[test]
fn grains_move_with_their_world() {
    let (mut solver, mut particles, config) = two_worlds();
    let dt = 0.01;
    let n = 8;
    let mut grains = Grains::new(&particles, n, 3).unwrap();
    assert_eq!(grains.position.len(), n * particles.len());
    for (p, own) in grains.position.chunks(n).enumerate() {
        let r = f64::from(particles.radius[p]);
        for y in own {
            for d in 0..3 {
                assert!((y[d] - particles.position[p][d]).abs() <= r);
            }
        }
    }
    let start = grains.clone();
    assert_eq!(start, Grains::new(&particles, n, 3).unwrap());
    assert_ne!(start, Grains::new(&particles, n, 4).unwrap());
    // No velocity field yet.
    grains.update(&solver, &particles, dt).unwrap();
    assert_eq!(grains, start);
    let mut none = Grains::new(&particles, 0, 0).unwrap();
    for _ in 0..3 {
        solver
            .step(&mut particles, &mut nothing(&config), dt)
            .unwrap();
        update_frames(&mut particles, dt, 0.25, 2.0).unwrap();
        grains.update(&solver, &particles, dt).unwrap();
        none.update(&solver, &particles, dt).unwrap();
    }
    assert!(none.position.is_empty());
    let mut mean = [0.0; 2];
    for (p, own) in grains.position.chunks(n).enumerate() {
        for (k, y) in own.iter().enumerate() {
            mean[particles.world[p] as usize] += y[0] - start.position[p * n + k][0];
            // Within the ellipsoid, here a ball: nothing has deformed.
            let far: f64 = (0..3)
                .map(|d| (y[d] - particles.position[p][d]).powi(2))
                .sum();
            assert!(far.sqrt() <= f64::from(particles.radius[p]) * 1.001);
        }
    }
    let grains_of_world = (grains.position.len() / 2) as f64;
    // As far as the particles fall: g dt² (1 + 2 + 3), but for the pull into the balls.
    let fall = 4.0 * dt * dt * 6.0;
    for (mean, way) in mean.iter().zip([1.0, -1.0]) {
        let mean = mean / grains_of_world;
        assert!((mean - way * fall).abs() < 0.1 * fall, "{mean} {fall}");
    }
}

#[test]
fn grains_without_cells_follow_their_particle() {
    // Inside cells a grain goes with the grid, outside with its particle and the gradient.
    let config = Config {
        air_drag: 0.0,
        gravity: vec![[0.0; 3]],
        ..Config::default()
    };
    let mut particles = Particles::new();
    particles.push([0.049, 0.0, 0.0], 1.0, 0.04);
    particles.velocity[0] = [0.3, 0.0, 0.0];
    let spin = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0; 3]];
    particles.gradient[0] = spin;
    let material = Material {
        yield_pressure: 0.0,
        ..Material::default()
    };
    let mut solver = Solver::new(
        config.clone(),
        vec![material],
        &particles,
        &nothing(&config),
    )
    .unwrap();
    let mut grains = Grains::new(&particles, 64, 0).unwrap();
    // Start within the ball, so that nothing is pulled at first.
    let centre = particles.position[0];
    grains
        .position
        .iter_mut()
        .for_each(|y| *y = std::array::from_fn(|d| centre[d] + 0.5 * (y[d] - centre[d])));
    let start = grains.position.clone();
    let dt = 0.01;
    solver
        .step(&mut particles, &mut nothing(&config), dt)
        .unwrap();
    let v = particles.velocity[0].map(f64::from);
    let g = particles.gradient[0];
    grains.update(&solver, &particles, dt).unwrap();
    let mut outside = 0;
    for (y, x) in grains.position.iter().zip(&start) {
        // The field of one particle is linear in the cell, up to bilinear terms that vanish here.
        let inside = x.iter().all(|c| c.abs() < 0.05);
        outside += usize::from(!inside);
        for d in 0..3 {
            let turn: f64 = (0..3)
                .map(|e| f64::from(g[d][e]) * (x[e] - centre[e]))
                .sum();
            let expected = x[d] + dt * (v[d] + turn);
            let tolerance = if inside { 1e-4 } else { 1e-7 };
            assert!((y[d] - expected).abs() < tolerance, "{y:?} {x:?}");
        }
    }
    assert!(outside > 10 && outside < 54, "{outside}");
    let found: Vec<_> = solver
        .velocity_at(0, &[[0.0; 3], [0.3, 0.0, 0.0], [f64::NAN; 3]])
        .collect();
    assert!(found[0].is_some() && found[1].is_none() && found[2].is_none());
}

#[test]
fn grains_of_other_particles_are_refused() {
    let (solver, mut particles, _) = two_worlds();
    let mut grains = Grains::new(&particles, 2, 0).unwrap();
    particles.push([0.0; 3], 1.0, 0.1);
    let error = grains.update(&solver, &particles, 0.01);
    assert!(matches!(error, Err(MpmError::Length { .. })));
}
