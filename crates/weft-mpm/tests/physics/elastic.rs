//! Elastic solids against closed forms.

use crate::scene::{Draws, Scene, block, elastic, nothing};
use weft_mpm::{
    Config, GridKind, Integration, LinearKind, Material, Particles, Stage, StrainBasis, Transfer,
    VelocityBasis, WarmStart,
};

fn config(h: f64) -> Config {
    Config {
        voxel_size: h,
        air_drag: 0.0,
        gravity: vec![[0.0; 3]],
        grid: GridKind::Dense,
        tolerance: 1e-8,
        max_iterations: 500,
        ..Config::default()
    }
}

/// Isotropic stress of a small strain over its moduli 3K and 2G.
fn stress(strain: [[f64; 3]; 3], e: f64, nu: f64) -> [[f64; 3]; 3] {
    let mean = (strain[0][0] + strain[1][1] + strain[2][2]) / 3.0;
    let (bulk, shear) = (e / (1.0 - 2.0 * nu), e / (1.0 + nu));
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let part = if i == j { mean } else { 0.0 };
            bulk * part + shear * (strain[i][j] - part)
        })
    })
}

fn symmetric(a: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (a[i][j] + a[j][i])))
}

/// 25.4: eight particles in a cell of trilinear velocity and constant stress, moved by a linear
/// field about the cell's middle. With nodes of mass ρh³/8 at ±h/2 the equation of motion of the
/// field's gradient g is ρh²/4 dg/dt = -σ: the force on a face is σh².
#[test]
fn a_single_cell_is_as_stiff_as_declared() {
    let (h, density, dt) = (0.2, 500.0, 1e-3);
    let mut draws = Draws::new(5);
    for (e, nu, damping) in [
        (2e5, 0.0, 0.0),
        (2e5, 0.3, 0.0),
        (1e7, -0.4, 0.0),
        (3e4, 0.45, 2e-3),
    ] {
        for legacy in [false, true] {
            for mode in 0..8 {
                // Axial, then shear, then any gradient.
                let start: [[f64; 3]; 3] = std::array::from_fn(|i| {
                    std::array::from_fn(|j| match mode {
                        0..3 if i == j && i == mode => 0.3,
                        3..6 if i == (mode + 1) % 3 && j == (mode + 2) % 3 => 0.3,
                        6.. => 0.6 * (draws.draw() - 0.5),
                        _ => 0.0,
                    })
                });
                let mut particles = block([0.0; 3], [1; 3], h, 2, density);
                for p in 0..8 {
                    for i in 0..3 {
                        let v = |j: usize| start[i][j] * (particles.position[p][j] - 0.5 * h);
                        particles.velocity[p][i] = (v(0) + v(1) + v(2)) as f32;
                        particles.gradient[p][i] = start[i].map(|g| g as f32);
                    }
                }
                let config = Config {
                    legacy_half_adjoint: legacy,
                    tolerance: 1e-12,
                    ..config(h)
                };
                let material = Material {
                    damping,
                    ..elastic(e, nu)
                };
                let mut scene = Scene::new(&config, &[material], particles, nothing(&config));
                let (e, nu, damping) = (f64::from(e), f64::from(nu), f64::from(damping));
                let factor = if legacy { 0.5 } else { 1.0 };
                let c = factor * 4.0 * dt / (density * h * h);
                let (mut g, mut strain) = (start, [[0.0; 3]; 3]);
                let found_force = |scene: &Scene, before: [[f64; 3]; 3]| -> [[f64; 3]; 3] {
                    std::array::from_fn(|i| {
                        std::array::from_fn(|j| {
                            let after = f64::from(scene.particles.gradient[3][i][j]);
                            0.25 * density * h.powi(4) * (before[i][j] - after) / dt
                        })
                    })
                };
                for step in 0..2 {
                    // g' + c C:(ε + (1 + d/dt) dt sym g') = g, by its spherical and deviatoric
                    // parts.
                    let relax = 1.0 + damping / dt;
                    let old = stress(strain, e, nu);
                    let mut rest = g;
                    for i in 0..3 {
                        for j in 0..3 {
                            rest[i][j] -= c * old[i][j];
                            // Particles have moved with their velocity: a node gets (v·∇)v of its
                            // own, at a quarter of its arm.
                            if step > 0 {
                                let carried = |k: usize| g[i][k] * g[k][j];
                                rest[i][j] -= 0.25 * dt * (carried(0) + carried(1) + carried(2));
                            }
                        }
                    }
                    let sym = symmetric(rest);
                    let mean = (sym[0][0] + sym[1][1] + sym[2][2]) / 3.0;
                    let bulk = 1.0 + c * relax * dt * e / (1.0 - 2.0 * nu);
                    let shear = 1.0 + c * relax * dt * e / (1.0 + nu);
                    let mut next = rest;
                    for i in 0..3 {
                        for j in 0..3 {
                            let part = if i == j { mean } else { 0.0 };
                            let new = part / bulk + (sym[i][j] - part) / shear;
                            next[i][j] += new - sym[i][j];
                            strain[i][j] += dt * new;
                        }
                    }
                    scene.step(dt);
                    let found = found_force(&scene, g);
                    // Later, strain of 3e-4 is the difference of a deformation to 1.
                    let accepted = if step == 0 { 1e-4 } else { 1e-3 };
                    let size =
                        |a: [[f64; 3]; 3]| a.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
                    let exact: [[f64; 3]; 3] = std::array::from_fn(|i| {
                        std::array::from_fn(|j| {
                            0.25 * density * h.powi(4) * (g[i][j] - next[i][j]) / dt
                        })
                    });
                    for i in 0..3 {
                        for j in 0..3 {
                            let error = (found[i][j] - exact[i][j]).abs();
                            assert!(
                                error < accepted * size(exact),
                                "E {e} ν {nu} d {damping} legacy {legacy} mode {mode} step {step}: \
                                 {found:?} N, exact {exact:?} N"
                            );
                        }
                    }
                    g = next;
                }
            }
        }
    }
}

/// The operator from particle velocities to those after a step, without APIC, is
/// A = N (M + dt² K)⁻¹ Nᵀ m with N the shape functions: m A is symmetric, 0 ≤ m A ≤ m, exactly if
/// the force of a stress is the adjoint of strain, and strain in all bases is taken of the same
/// functions.
#[test]
fn velocities_are_reciprocal_in_every_basis() {
    let mut draws = Draws::new(11);
    let cloud = {
        let mut particles = block([-0.2, 0.0, 0.1], [2, 2, 3], 0.1, 2, 400.0);
        for p in 0..particles.len() {
            for d in 0..3 {
                particles.position[p][d] += 0.03 * (draws.draw() - 0.5);
            }
            particles.mass[p] *= 0.5 + draws.draw() as f32;
        }
        particles
    };
    let mut field = || -> Vec<[f32; 3]> {
        (0..cloud.len())
            .map(|_| [0; 3].map(|_| draws.draw() as f32 - 0.5))
            .collect()
    };
    let (a, b) = (field(), field());
    let dot = |x: &[[f32; 3]], y: &[[f32; 3]]| -> f64 {
        (0..cloud.len())
            .map(|p| {
                let xy: f64 = (0..3)
                    .map(|d| f64::from(x[p][d]) * f64::from(y[p][d]))
                    .sum();
                f64::from(cloud.mass[p]) * xy
            })
            .sum()
    };
    for velocity_basis in [VelocityBasis::Q1, VelocityBasis::B2, VelocityBasis::B3] {
        for strain_basis in STRAINS {
            for integration in [Integration::Pic, Integration::Gimp] {
                let config = Config {
                    velocity_basis,
                    strain_basis,
                    integration,
                    transfer: Transfer::Pic,
                    grid_padding: usize::from(integration == Integration::Gimp),
                    max_iterations: 400,
                    ..config(0.1)
                };
                let run = |start: &[[f32; 3]]| {
                    let mut particles = cloud.clone();
                    particles.velocity.copy_from_slice(start);
                    let material = elastic(1e5, 0.3);
                    let mut scene = Scene::new(&config, &[material], particles, nothing(&config));
                    scene.step(0.01);
                    scene.particles.velocity
                };
                let (after_a, after_b) = (run(&a), run(&b));
                let (ab, ba) = (dot(&a, &after_b), dot(&b, &after_a));
                let (aa, bb) = (dot(&a, &after_a), dot(&b, &after_b));
                let what = format!("{velocity_basis:?} {strain_basis:?} {integration:?}");
                let scale = (aa * bb).sqrt();
                assert!(
                    (ab - ba).abs() < 2e-5 * scale,
                    "{what}: {ab} {ba} of {scale}"
                );
                assert!(ab.abs() > 1e-3 * scale, "{what}: too little to compare");
                assert!(aa > 0.0 && aa < dot(&a, &a), "{what}: {aa} {}", dot(&a, &a));
            }
        }
    }
}

pub const STRAINS: [StrainBasis; 5] = [
    StrainBasis::P0,
    StrainBasis::P1d,
    StrainBasis::Q1,
    StrainBasis::Q1d,
    StrainBasis::Particle(27),
];

/// A bar of 25 cells in its first axial mode, fixed at x = 0: period and amplitude after one
/// period.
fn bar(steps: usize, transfer: Transfer, legacy: bool) -> (f64, f64) {
    let (length, e, density, v0) = (25.0, 100.0f32, 1.0, 0.1);
    let period = 4.0 * length * (density / f64::from(e)).sqrt();
    let mut particles = block([0.0; 3], [25, 1, 1], 1.0, 2, density);
    for p in 0..particles.len() {
        let k = std::f64::consts::PI / (2.0 * length);
        let x = particles.position[p][0];
        particles.velocity[p][0] = (v0 * (k * x).sin()) as f32;
        particles.gradient[p][0][0] = (v0 * k * (k * x).cos()) as f32;
    }
    let bar = particles.len();
    particles.append(block([-1.0, 0.0, 0.0], [1, 1, 1], 1.0, 2, 0.0));
    let config = Config {
        transfer,
        legacy_half_adjoint: legacy,
        ..config(1.0)
    };
    let mean = |particles: &Particles| -> f64 {
        let v = &particles.velocity[..bar];
        v.iter().map(|v| f64::from(v[0])).sum::<f64>() / bar as f64
    };
    let dt = period / steps as f64;
    let mut v = vec![mean(&particles)];
    // 2 v0 / π, to the midpoint rule.
    assert!((v[0] / (2.0 * v0 / std::f64::consts::PI) - 1.0).abs() < 1e-3);
    let mut scene = Scene::new(&config, &[elastic(e, 0.0)], particles, nothing(&config));
    let wanted = if legacy { 1.9 } else { 1.3 };
    for _ in 0..(wanted * steps as f64) as usize {
        scene.step(dt);
        v.push(mean(&scene.particles));
    }
    // Falling zeros at a quarter and five quarters of a period.
    let falls: Vec<f64> = (1..v.len())
        .filter(|&n| v[n - 1] > 0.0 && v[n] <= 0.0)
        .map(|n| dt * ((n - 1) as f64 + v[n - 1] / (v[n - 1] - v[n])))
        .collect();
    let found = falls[1] - falls[0];
    // One period on, between the steps around.
    let at = found / dt;
    let n = at as usize;
    let last = v[n] + (at - n as f64) * (v[n + 1] - v[n]);
    (found / period, last / v[0])
}

/// 25.3. Backward Euler multiplies the amplitude by (1 + ω²dt²)^(-1/2) a step and turns the phase
/// by atan(ω dt).
#[test]
fn an_elastic_bar_swings_with_its_period_and_no_damping_but_that_of_the_scheme() {
    for (steps, amplitude, stretch) in [
        (50, 0.676, 1.005),
        (100, 0.821, 1.0013),
        (200, 0.906, 1.0003),
        (500, 0.961, 1.00005),
    ] {
        let (period, found) = bar(steps, Transfer::Apic, false);
        println!(
            "bar: {steps} steps: period {period:.5} ({stretch}), amplitude {found:.4} ({amplitude})"
        );
        assert!((period / stretch - 1.0).abs() < 0.02, "{steps}: {period}");
        let (decay, exact) = (-f64::ln(found), -f64::ln(amplitude));
        assert!(
            (decay / exact - 1.0).abs() < 0.1,
            "{steps}: {found} {amplitude}"
        );
    }
}

/// The switch halves the force of stress, so that a bar swings √2 slower.
#[test]
fn the_legacy_switch_makes_a_bar_swing_slower_by_root_two() {
    let (period, _) = bar(200, Transfer::Apic, true);
    println!("bar, legacy: period {period:.5}");
    assert!((period / 2f64.sqrt() - 1.0).abs() < 0.02, "{period}");
}

const CANTILEVER: [f64; 2] = [4.0, 1.0];

/// A cantilever in x, 4 m long and 1 m high, `cells` through the height and `wide` across, clamped
/// at x = 0, and the number of particles that move.
fn cantilever(cells: usize, wide: usize, config: &Config) -> (Scene, usize) {
    let h = config.voxel_size;
    let mut particles = block([0.0; 3], [4 * cells, wide, cells], h, 2, 1000.0);
    let moving = particles.len();
    particles.append(block([-h, 0.0, 0.0], [1, wide, cells], h, 2, 0.0));
    let material = elastic(1e8, 0.3);
    let scene = Scene::new(config, &[material], particles, nothing(config));
    (scene, moving)
}

fn cantilever_config(cells: usize, strain_basis: StrainBasis) -> Config {
    Config {
        strain_basis,
        max_iterations: 4000,
        tolerance: 1e-9,
        warm_start: WarmStart::Particles,
        ..config(1.0 / cells as f64)
    }
}

/// 25.5: how far the end sinks under the weight, over that of a shear beam,
/// 1.5 ρ g L⁴/(E h²) + ρ g L²/(2 κ G).
fn sag(cells: usize, wide: usize, config: &Config) -> f64 {
    let g = 1.0;
    let config = Config {
        gravity: vec![[0.0, 0.0, -g as f32]],
        ..config.clone()
    };
    let (mut scene, moving) = cantilever(cells, wide, &config);
    let start = scene.particles.position.clone();
    // Sixteen steps a period: the scheme damps the motion by three in each.
    for _ in 0..80 {
        scene.step(0.02);
    }
    let [length, height] = CANTILEVER;
    let end = |p: &usize| start[*p][0] > length - config.voxel_size;
    let sunk: Vec<f64> = (0..moving)
        .filter(end)
        .map(|p| start[p][2] - scene.particles.position[p][2])
        .collect();
    let (e, rho, shear) = (1e8, 1000.0, 1e8 / 2.6);
    // Half a cell before the end, where the deflection has its slope at the end.
    let bend = 1.5 * rho * g * length.powi(4) / (e * height * height);
    let slope = 2.0 * rho * g * length.powi(3) / (e * height * height);
    let by_shear = rho * g * length * length / (2.0 * 5.0 / 6.0 * shear);
    let exact = bend + by_shear - slope * 0.5 * config.voxel_size;
    sunk.iter().sum::<f64>() / sunk.len() as f64 / exact
}

/// 25.5: the first frequency, Hz.
fn frequency(cells: usize, strain_basis: StrainBasis) -> f64 {
    let config = cantilever_config(cells, strain_basis);
    let (mut scene, moving) = cantilever(cells, 1, &config);
    // The static shape under an even load is close to the first mode.
    let length = CANTILEVER[0];
    for p in 0..moving {
        let s = scene.particles.position[p][0] / length;
        let shape = s * s * (6.0 - 4.0 * s + s * s) / 3.0;
        scene.particles.velocity[p][2] = (0.01 * shape) as f32;
        let slope = (12.0 * s - 12.0 * s * s + 4.0 * s * s * s) / (3.0 * length);
        scene.particles.gradient[p][2][0] = (0.01 * slope) as f32;
        // Sections stay normal to the axis.
        let z = scene.particles.position[p][2] - 0.5;
        scene.particles.velocity[p][0] = (-0.01 * slope * z) as f32;
        scene.particles.gradient[p][0][2] = (-0.01 * slope) as f32;
    }
    let dt = 0.0025;
    let mut last = 1.0;
    let mut falls = Vec::new();
    for step in 1.. {
        scene.step(dt);
        let v = &scene.particles.velocity[..moving];
        let now = v.iter().map(|v| f64::from(v[2])).sum::<f64>();
        if last > 0.0 && now <= 0.0 {
            falls.push(dt * (step as f64 - now / (now - last)));
        }
        if falls.len() == 2 || step == 400 {
            break;
        }
        last = now;
    }
    // Backward Euler: atan(ω dt) a step.
    let turn = std::f64::consts::TAU * dt / (falls[1] - falls[0]);
    turn.tan() / (std::f64::consts::TAU * dt)
}

/// 25.5, with linear strain.
#[test]
fn a_cantilever_bends_as_a_shear_beam() {
    for strain_basis in [StrainBasis::P1d, StrainBasis::Q1d] {
        let found = sag(4, 1, &cantilever_config(4, strain_basis));
        println!("cantilever, {strain_basis:?}, 4 cells: sag {found:.4} of the beam's");
        assert!((found - 1.0).abs() < 0.05, "{strain_basis:?}: {found}");
        let found = frequency(8, strain_basis);
        println!("cantilever, {strain_basis:?}, 8 cells: {found:.3} Hz (3.07)");
        assert!(
            (found / 3.07 - 1.0).abs() < 0.05,
            "{strain_basis:?}: {found}"
        );
    }
}

/// 25.5. Constant strain is that of one point in a cell. It does not lock: linear strain across n
/// cells has 1 - 1/n² of its energy, and a beam bends by the inverse of that more. Modes of a cell
/// without strain at its middle have no stiffness, so that a beam of a single cell's width gives
/// way sideways: it takes several.
#[test]
fn a_cantilever_of_constant_strain_is_softer_by_its_cells() {
    let config = Config {
        solver: vec![Stage::Linear(LinearKind::Cg)],
        ..cantilever_config(4, StrainBasis::P0)
    };
    let found = sag(4, 4, &config);
    println!("cantilever, P0, 4 × 4 cells: sag {found:.4} of the beam's");
    let cells = found * (1.0 - 1.0 / 16.0);
    assert!((cells - 1.0).abs() < 0.05, "{found}");
}

/// Each particle gets the strain of the even field that it moves with, over all cells that its cube
/// reaches.
#[test]
fn issue_005_particle_rows_gimp() {
    let (dt, rate) = (0.01, 0.2f32);
    for strain_basis in [StrainBasis::P0, StrainBasis::Particle(125)] {
        for integration in [Integration::Pic, Integration::Gimp] {
            let config = Config {
                strain_basis,
                integration,
                grid_padding: 1,
                ..config(0.1)
            };
            let mut particles = block([0.03, 0.01, -0.02], [3, 2, 2], 0.1, 2, 1000.0);
            for p in 0..particles.len() {
                particles.velocity[p][0] = rate * particles.position[p][0] as f32;
                particles.gradient[p][0][0] = rate;
            }
            let soft = elastic(1e-3, 0.3);
            let mut scene = Scene::new(&config, &[soft], particles, nothing(&config));
            scene.step(dt);
            for f in &scene.particles.elastic {
                let error = (f[0][0] - 1.0 - dt as f32 * rate).abs() / (dt as f32 * rate);
                // Samples of a cube have its velocity, but not its place.
                let limit = if integration == Integration::Gimp {
                    0.1
                } else {
                    1e-3
                };
                assert!(error < limit, "{strain_basis:?} {integration:?}: {error}");
            }
        }
    }
}
