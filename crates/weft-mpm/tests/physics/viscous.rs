//! Viscous flows against closed forms.

use crate::scene::{Scene, block, planes};
use weft_mpm::collider::{Collider, ColliderMaterial, Pose, Shape};
use weft_mpm::{Config, GridKind, Material, WarmStart};

/// Cells across the channel.
const ACROSS: usize = 16;
/// Cells along it. What the open ends change decays as exp(-2.28 x / H) without resistance to
/// compression (sin 2λ = 2λ/3 of a clamped strip), and for a film of half that height alike.
const ALONG: usize = 96;
const H: f64 = 0.1;
const DENSITY: f64 = 1000.0;
const VISCOSITY: f64 = 1000.0;

/// Flow in x between z = 0, which is at rest, and a height of `across` cells, between side walls without friction.
/// Steps are long and flows slow: the state is steady and the particles have hardly moved.
struct Channel {
    across: usize,
    gravity: f64,
    yield_stress: f64,
    /// 0 for a fluid that does not resist compression: its flow does not depend on how fluid enters
    /// and leaves the channel.
    yield_pressure: f32,
    /// Speed of the upper plate; `None` for a free surface.
    top: Option<f64>,
    /// A floor that sticks instead of kinematic particles.
    sticky_floor: bool,
    steps: usize,
}

/// Of a run at the middle of the length.
struct Middle {
    /// Heights and velocities.
    profile: Vec<(f64, f64)>,
    /// Shear stress on the floor, Pa, if it is a collider.
    floor: f64,
}

/// Length of a step, s.
const DT: f64 = 2.0;

impl Channel {
    fn run(&self) -> Middle {
        let config = Config {
            voxel_size: H,
            air_drag: 0.0,
            grid: GridKind::Dense,
            gravity: vec![[self.gravity as f32, 0.0, 0.0]],
            warm_start: WarmStart::Grid,
            tolerance: 1e-10,
            max_iterations: 1500,
            ..Config::default()
        };
        let fluid = Material {
            friction: 0.0,
            // Bears tension too.
            tensile_yield_ratio: 1.0,
            viscosity: VISCOSITY as f32,
            yield_stress: self.yield_stress as f32,
            yield_pressure: self.yield_pressure,
            ..Material::default()
        };
        let height = self.across as f64 * H;
        let mut particles = block([0.0; 3], [ALONG, 1, self.across], H, 2, DENSITY);
        let count = particles.len();
        if !self.sticky_floor {
            particles.append(block([0.0, 0.0, -H], [ALONG, 1, 1], H, 2, 0.0));
        }
        if let Some(speed) = self.top {
            let mut plate = block([0.0, 0.0, height], [ALONG, 1, 1], H, 2, 0.0);
            plate.velocity.fill([speed as f32, 0.0, 0.0]);
            particles.append(plate);
        }
        let walls = [
            ([0.0; 3], [0.0, 1.0, 0.0], 0.0),
            ([0.0, H, 0.0], [0.0, -1.0, 0.0], 0.0),
        ];
        let mut colliders = planes(&config, &walls);
        if self.sticky_floor {
            colliders
                .add(sticky([0.0; 3], [0.0, 0.0, 1.0], 10.0, 1.0))
                .unwrap();
        }
        let start = particles.position.clone();
        let mut scene = Scene::new(&config, &[fluid], particles, colliders);
        let mut sweeps = 0;
        for _ in 0..self.steps {
            sweeps += scene.step(DT).sweeps;
        }
        let middle = ALONG as f64 * H / 2.0;
        let near = |p: &usize| (start[*p][0] - middle).abs() < H && start[*p][1] < 0.5 * H;
        let mut profile: Vec<(f64, f64)> = (0..count)
            .filter(near)
            .map(|p| (start[p][2], f64::from(scene.particles.velocity[p][0])))
            .collect();
        profile.sort_by(|a, b| a.0.total_cmp(&b.0));
        println!("{sweeps} sweeps");
        // Means of the two columns next to the middle.
        let profile = profile
            .chunks(2)
            .map(|c| (c[0].0, 0.5 * (c[0].1 + c[1].1)))
            .collect();
        // Impulses weighted by a hat of a third of the length.
        let reach = ALONG as f64 * H / 6.0;
        let pushed = scene
            .solver
            .impulses()
            .map(|i| i.impulse[0] * (1.0 - (i.position[0] - middle).abs() / reach).max(0.0));
        let floor = pushed.sum::<f64>() / (reach * H * DT);
        Middle { profile, floor }
    }
}

/// A plane that holds on to the material.
fn sticky(point: [f64; 3], normal: [f64; 3], friction: f64, adhesion: f64) -> Collider {
    Collider {
        pose: Pose::facing(point, normal),
        material: ColliderMaterial {
            thickness: Some(0.0),
            friction,
            adhesion,
            ..ColliderMaterial::default()
        },
        ..Collider::new(Shape::Plane)
    }
}

/// The largest difference to the exact profile, over the largest velocity.
fn error(profile: &[(f64, f64)], exact: impl Fn(f64) -> f64) -> f64 {
    let scale = profile
        .iter()
        .fold(0.0f64, |m, &(z, _)| m.max(exact(z).abs()));
    let worst = profile
        .iter()
        .fold(0.0f64, |m, &(z, u)| m.max((u - exact(z)).abs()));
    worst / scale
}

const GRAVITY: f64 = 1e-4;

/// A cap of the pressure that is never reached.
const RIGID: f32 = 1e15;

/// 25.12: u = ρ g z (H - z) / (2η).
#[test]
fn poiseuille() {
    let height = ACROSS as f64 * H;
    for yield_pressure in [RIGID, 0.0] {
        let Middle { profile, .. } = Channel {
            across: ACROSS,
            gravity: GRAVITY,
            yield_stress: 0.0,
            yield_pressure,
            top: Some(0.0),
            sticky_floor: false,
            steps: 5,
        }
        .run();
        let exact = |z: f64| DENSITY * GRAVITY * z * (height - z) / (2.0 * VISCOSITY);
        let worst = error(&profile, exact);
        let mean = profile.iter().map(|p| p.1).sum::<f64>() / profile.len() as f64;
        let most = profile.iter().fold(0.0f64, |m, p| m.max(p.1));
        println!(
            "Poiseuille: p_y {yield_pressure:.0e}, error {worst:.1e}, mean over largest {:.4}",
            mean / most
        );
        assert!(worst < 0.03, "{worst} {profile:?}");
        assert!((mean / most - 2.0 / 3.0).abs() < 0.02);
    }
}

/// 25.12: the plate drags a linear profile, and the floor bears η U / H.
#[test]
fn couette() {
    let speed = 1e-4;
    for (yield_pressure, sticky_floor) in [(RIGID, false), (0.0, false), (0.0, true)] {
        let Middle { profile, floor } = Channel {
            across: ACROSS,
            gravity: 0.0,
            yield_stress: 0.0,
            yield_pressure,
            top: Some(speed),
            sticky_floor,
            steps: 5,
        }
        .run();
        let height = ACROSS as f64 * H;
        let worst = error(&profile, |z| speed * z / height);
        println!("Couette: p_y {yield_pressure:.0e}, error {worst:.1e}");
        assert!(worst < 0.03, "{worst} {profile:?}");
        if sticky_floor {
            let exact = VISCOSITY * speed / height;
            println!(
                "Couette: stress on the floor {:.4} of the exact",
                floor / exact
            );
            assert!((floor / exact - 1.0).abs() < 0.03, "{floor} {exact}");
        }
    }
}

/// 25.12, a film with a free surface: u = ρ g (h z - z²/2) / η.
#[test]
fn film() {
    let height = (ACROSS / 2) as f64 * H;
    let Middle { profile, .. } = Channel {
        across: ACROSS / 2,
        gravity: GRAVITY,
        yield_stress: 0.0,
        yield_pressure: 0.0,
        top: None,
        sticky_floor: false,
        steps: 12,
    }
    .run();
    let exact = |z: f64| DENSITY * GRAVITY * (height * z - 0.5 * z * z) / VISCOSITY;
    let worst = error(&profile, exact);
    println!("film: error {worst:.1e}");
    assert!(worst < 0.03, "{worst} {profile:?}");
}

/// 25.12: a Bingham fluid moves as a plug where |τ| < s, and not at all below the yield stress.
#[test]
fn bingham() {
    let height = ACROSS as f64 * H;
    let yield_stress = DENSITY * GRAVITY * height / 8.0;
    let Middle { profile, .. } = Channel {
        across: ACROSS,
        gravity: GRAVITY,
        yield_stress,
        yield_pressure: 0.0,
        top: Some(0.0),
        sticky_floor: false,
        steps: 5,
    }
    .run();
    let plug = yield_stress / (DENSITY * GRAVITY);
    let exact = |z: f64| {
        let off = ((z - 0.5 * height).abs() - plug).max(0.0);
        let reach = 0.5 * height - plug;
        DENSITY * GRAVITY * (reach * reach - off * off) / (2.0 * VISCOSITY)
    };
    let worst = error(&profile, exact);
    println!("Bingham: error {worst:.1e}");
    assert!(worst < 0.05, "{worst} {profile:?}");
    // ρ g H / 2 < s: rest.
    let Middle { profile, .. } = Channel {
        across: ACROSS,
        gravity: GRAVITY,
        yield_stress: DENSITY * GRAVITY * height * 0.55,
        yield_pressure: 0.0,
        top: Some(0.0),
        sticky_floor: false,
        steps: 3,
    }
    .run();
    let most = profile.iter().fold(0.0f64, |m, p| m.max(p.1.abs()));
    println!("Bingham at rest: {most:.1e} of {:.1e}", exact(0.5 * height));
    assert!(most < 0.01 * exact(0.5 * height), "{most}");
}

/// 25.12, Taylor-Green in a box of side 1 with free slip: what the kinetic energy loses in each of
/// the last steps, as a rate of decay of velocity.
fn taylor_green(cells: usize, viscosity: f64) -> f64 {
    let dt = 0.02;
    let h = 1.0 / cells as f64;
    let config = Config {
        voxel_size: h,
        air_drag: 0.0,
        grid: GridKind::Dense,
        gravity: vec![[0.0; 3]],
        tolerance: 1e-10,
        max_iterations: 1500,
        ..Config::default()
    };
    let fluid = Material {
        friction: 0.0,
        tensile_yield_ratio: 1.0,
        viscosity: (DENSITY * viscosity) as f32,
        ..Material::default()
    };
    let mut particles = block([0.0; 3], [cells, 1, cells], h, 2, DENSITY);
    let pi = std::f64::consts::PI;
    for p in 0..particles.len() {
        let [x, _, z] = particles.position[p];
        let (sx, cx) = (pi * x).sin_cos();
        let (sz, cz) = (pi * z).sin_cos();
        let v = 1e-3;
        particles.velocity[p] = [(v * sx * cz) as f32, 0.0, (-v * cx * sz) as f32];
        let g = &mut particles.gradient[p];
        (g[0][0], g[0][2]) = ((v * pi * cx * cz) as f32, (-v * pi * sx * sz) as f32);
        (g[2][0], g[2][2]) = ((v * pi * sx * sz) as f32, (-v * pi * cx * cz) as f32);
    }
    let mut colliders = planes(&config, &[]);
    for (point, normal) in [
        ([0.0; 3], [1.0, 0.0, 0.0]),
        ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]),
        ([0.0; 3], [0.0, 1.0, 0.0]),
        ([0.0, h, 0.0], [0.0, -1.0, 0.0]),
        ([0.0; 3], [0.0, 0.0, 1.0]),
        ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0]),
    ] {
        colliders.add(sticky(point, normal, 0.0, 30.0)).unwrap();
    }
    let mut scene = Scene::new(&config, &[fluid], particles, colliders);
    let mut last = 0.0;
    let mut rate = 0.0;
    for _ in 0..4 {
        scene.step(dt);
        let v = &scene.particles.velocity;
        let energy: f64 = v.iter().flatten().map(|&v| f64::from(v).powi(2)).sum();
        // Backward Euler: v' (1 + rate dt) = v.
        rate = ((last / energy).sqrt() - 1.0) / dt;
        last = energy;
    }
    rate
}

#[test]
fn taylor_green_decays_with_its_viscosity() {
    let viscosity = 0.5;
    let exact = 2.0 * std::f64::consts::PI.powi(2) * viscosity;
    let (found, without) = (taylor_green(32, viscosity), taylor_green(32, 0.0));
    let coarse = taylor_green(16, viscosity);
    println!(
        "Taylor-Green: {found:.4} {exact:.4} 1/s, on 16 cells {coarse:.4}, \
         without viscosity {without:.2e}"
    );
    assert!((found / exact - 1.0).abs() < 0.05, "{found} {exact}");
    assert!(
        (found / exact - 1.0).abs() < 0.5 * (coarse / exact - 1.0).abs(),
        "{found} {coarse}"
    );
    assert!(without.abs() < 0.05 * exact, "{without}");
}
