//! Sand on a plane and on a platform that somebody else moves.

use crate::scene::block;
use weft_mpm::collider::{Body, Collider, ColliderMaterial, Colliders, Pose, Shape};
use weft_mpm::{ColliderVelocity, Config, GridKind, Material, Particles, Solver};

/// Least and largest coordinates.
fn bounds(particles: &Particles) -> [[f64; 3]; 2] {
    let mut out = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for x in &particles.position {
        for d in 0..3 {
            out[0][d] = out[0][d].min(x[d]);
            out[1][d] = out[1][d].max(x[d]);
        }
    }
    out
}

#[test]
fn sand_cube_on_plane() {
    let config = Config {
        voxel_size: 0.5,
        grid: GridKind::Dense,
        gravity: vec![[0.0, -9.81, 0.0]],
        ..Config::default()
    };
    let spacing = 0.5 / 3.0;
    let mut particles = Particles::new();
    for i in 0..12 {
        for j in 0..12 {
            for k in 0..12 {
                let x = [i, j, k].map(|n| (f64::from(n) + 0.5) * spacing);
                particles.push(x, 1.0, 0.1);
            }
        }
    }
    let [start, _] = bounds(&particles);
    let mut colliders = Colliders::new(config.voxel_size).unwrap();
    colliders
        .add(Collider {
            pose: Pose::facing([0.0; 3], [0.0, 1.0, 0.0]),
            ..Collider::new(Shape::Plane)
        })
        .unwrap();
    let material = Material {
        friction: 0.6,
        ..Material::default()
    };
    let mut solver = Solver::new(config, vec![material], &particles, &colliders).unwrap();
    for step in 0..25 {
        solver.step(&mut particles, &mut colliders, 0.04).unwrap();
        let mut sum = [0.0; 3];
        for hit in solver.impulses() {
            for d in 0..3 {
                sum[d] += hit.impulse[d];
            }
            let size = hit.impulse.iter().map(|x| x * x).sum::<f64>().sqrt();
            if size > 0.01 {
                assert_eq!(hit.position[1], 0.0, "step {step}: {hit:?}");
                assert!(hit.impulse[1] < 0.0, "step {step}: {hit:?}");
            }
        }
        assert!(
            sum[1] < 0.0,
            "step {step}: the ground bears nothing: {sum:?}"
        );
    }
    let [low, high] = bounds(&particles);
    assert!(low[1] > -0.5, "{low:?}");
    assert!(high[1] > 0.5 && high[1] < 2.0, "{high:?}");
    for d in 0..3 {
        assert!(low[d] > -2.0 && low[d] < start[d], "{low:?} {start:?}");
        assert!(high[d] < 4.0, "{high:?}");
    }
}

/// Mean way along x of a small heap on a platform whose pose alone says that it moves.
fn carried(mode: ColliderVelocity) -> f64 {
    let config = Config {
        voxel_size: 0.1,
        grid: GridKind::Dense,
        gravity: vec![[0.0, -9.81, 0.0]],
        collider_velocity: mode,
        ..Config::default()
    };
    let mut particles = block([-0.075, 0.095, -0.075], [2, 2, 2], 0.1, 2, 1000.0);
    let mut colliders = Colliders::new(config.voxel_size).unwrap();
    let platform = colliders
        .add_body(Body::kinematic(Pose::IDENTITY, [0.0; 3], [0.0; 3]))
        .unwrap();
    colliders
        .add(Collider {
            body: platform,
            material: ColliderMaterial {
                thickness: Some(0.02),
                friction: 1.0,
                ..ColliderMaterial::default()
            },
            ..Collider::new(Shape::Box {
                half: [0.5, 0.1, 0.5],
            })
        })
        .unwrap();
    let material = Material {
        friction: 1.0,
        ..Material::default()
    };
    let mut solver = Solver::new(config, vec![material], &particles, &colliders).unwrap();
    let mean = |particles: &Particles| {
        let sum: f64 = particles.position.iter().map(|x| x[0]).sum();
        sum / particles.len() as f64
    };
    let (start, dt) = (mean(&particles), 0.02);
    for step in 1..=15 {
        let at = [0.5 * dt * f64::from(step), 0.0, 0.0];
        colliders.set_pose(platform, Pose::at(at)).unwrap();
        solver.step(&mut particles, &mut colliders, dt).unwrap();
    }
    mean(&particles) - start
}

#[test]
fn finite_difference_collider() {
    let forward = carried(ColliderVelocity::Forward);
    let backward = carried(ColliderVelocity::Backward);
    assert!(forward.abs() < 0.02, "{forward}");
    // The platform goes 0.15 m.
    assert!(backward > 0.05 && backward < 0.15 + 1e-6, "{backward}");
    assert!(backward - forward > 0.03, "{forward} {backward}");
    println!("{forward} {backward}");
}
