//! Colliders that are hard to meet: holes, walls that jump, walls that are thin.

use crate::scene::{block, momentum};
use weft::element::CellKind;
use weft::geometry::Mesh;
use weft_mpm::collider::{Body, Collider, Colliders, Pose, Shape};
use weft_mpm::{ColliderVelocity, Config, Material, Solver};

/// The square [-2, 2]² of the plane z = 0 without the square [-0.5, 0.5]².
fn sheet_with_hole() -> Mesh {
    let steps = [-2.0, -0.5, 0.5, 2.0];
    let mut points = Vec::new();
    for y in steps {
        for x in steps {
            points.push([x, y, 0.0]);
        }
    }
    let mut cells = Vec::new();
    for j in 0..3 {
        for i in 0..3 {
            if (i, j) == (1, 1) {
                continue;
            }
            let at = 4 * j + i;
            cells.extend([at, at + 1, at + 5, at, at + 5, at + 4]);
        }
    }
    Mesh::new(CellKind::Triangle, 3, points, cells).unwrap()
}

#[test]
fn a_sheet_bears_and_its_hole_does_not() {
    let config = Config {
        air_drag: 0.0,
        gravity: vec![[0.0, 0.0, -10.0]],
        ..Config::default()
    };
    let mut sheet = Colliders::new(config.voxel_size).unwrap();
    sheet
        .add(Collider::new(Shape::Mesh(sheet_with_hole())))
        .unwrap();
    let mut particles = block([-0.15, -0.15, 0.05], [3, 3, 2], 0.1, 2, 1000.0);
    let through = particles.len();
    particles.append(block([1.05, -0.15, 0.05], [3, 3, 2], 0.1, 2, 1000.0));
    let start = particles.clone();
    let mut solver = Solver::new(config, vec![Material::default()], &particles, &sheet).unwrap();
    let (dt, n) = (0.01, 40);
    for _ in 0..n {
        solver.step(&mut particles, &mut sheet, dt).unwrap();
    }
    let fall = 10.0 * dt * dt * f64::from(n * (n + 1)) / 2.0;
    for p in 0..particles.len() {
        let way = start.position[p][2] - particles.position[p][2];
        if p < through {
            assert!((way - fall).abs() < 1e-4 * fall, "{way} {fall}");
        } else {
            assert!(particles.position[p][2] > -0.01 && way < 0.2, "{way}");
        }
    }
}

#[test]
fn a_mesh_without_triangles_is_refused() {
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let Ok(mesh) = Mesh::new(CellKind::Triangle, 3, points, Vec::new()) else {
        return;
    };
    let refused = Colliders::new(0.1)
        .unwrap()
        .add(Collider::new(Shape::Mesh(mesh)));
    assert!(refused.is_err());
}

/// What a wall did that came along x and went on for `steps` steps.
#[derive(Debug)]
// Read by `Debug` only, in the messages of assertions.
#[allow(dead_code)]
struct Push {
    /// Part of the particles that are behind its middle.
    behind: f64,
    /// Least place of those before it, from its front, m.
    depth: f64,
    /// Mean velocity of the material over that of the wall.
    speed: f64,
    /// Momentum of the material plus all impulses on the wall, over the momentum.
    balance: f64,
}

/// A wall of half thickness `half` that goes `cells` cells a step pushes a block in free space.
fn push(half: f64, cells: f64, mode: ColliderVelocity, steps: usize) -> Push {
    let config = Config {
        air_drag: 0.0,
        gravity: vec![[0.0; 3]],
        collider_velocity: mode,
        ..Config::default()
    };
    let (h, dt) = (config.voxel_size, 0.01);
    let speed = cells * h / dt;
    let mut particles = block([0.013, -0.2, -0.2], [4, 4, 4], h, 2, 1000.0);
    let mut wall = Colliders::new(h).unwrap();
    let linear = match mode {
        ColliderVelocity::Forward => [speed, 0.0, 0.0],
        ColliderVelocity::Backward => [0.0; 3],
    };
    let mut x = -half - 0.25;
    let body = wall
        .add_body(Body::kinematic(Pose::at([x, 0.0, 0.0]), linear, [0.0; 3]))
        .unwrap();
    wall.add(Collider {
        body,
        ..Collider::new(Shape::Box {
            half: [half, 2.0, 2.0],
        })
    })
    .unwrap();
    let mut solver = Solver::new(config, vec![Material::default()], &particles, &wall).unwrap();
    let mut received = 0.0;
    for _ in 0..steps {
        if mode == ColliderVelocity::Backward {
            x += speed * dt;
            wall.set_pose(body, Pose::at([x, 0.0, 0.0])).unwrap();
        }
        solver.step(&mut particles, &mut wall, dt).unwrap();
        received += solver.impulses().map(|i| i.impulse[0]).sum::<f64>();
        if mode == ColliderVelocity::Forward {
            wall.integrate(dt, [0.0; 3]).unwrap();
            x += speed * dt;
        }
    }
    let n = particles.len() as f64;
    let behind = particles.position.iter().filter(|p| p[0] < x).count();
    let before = particles.position.iter().filter(|p| p[0] >= x);
    let total = momentum(&particles)[0];
    let mass: f64 = particles.mass.iter().map(|&m| f64::from(m)).sum();
    Push {
        behind: behind as f64 / n,
        depth: before.fold(f64::INFINITY, |m, p| m.min(p[0] - x - half)),
        speed: total / mass / speed,
        balance: (total + received) / total,
    }
}

#[test]
fn walls_that_jump_a_cell_take_the_material_along() {
    use ColliderVelocity::{Backward, Forward};
    for (half, cells, mode) in [
        (0.3, 1.0, Forward),
        (0.3, 1.0, Backward),
        (0.3, 0.5, Forward),
        (0.3, 2.0, Forward),
        (0.3, 2.0, Backward),
        (0.05, 1.0, Forward),
        (0.005, 0.25, Forward),
        (0.005, 0.25, Backward),
        (0.005, 0.5, Forward),
        (0.005, 0.5, Backward),
        (0.005, 1.0, Forward),
        (0.005, 1.0, Backward),
    ] {
        let push = push(half, cells, mode, 40);
        let what = format!("{half} m, {cells} cells, {mode:?}: {push:?}");
        println!("{what}");
        assert_eq!(push.behind, 0.0, "{what}");
        // Backward, contact is where the wall is at the end of the step; forward, where it was.
        let lag = if mode == Forward { 0.1 * cells } else { 0.0 };
        assert!(push.depth > -lag - 1e-5, "{what}");
        assert!(push.speed > 0.9 && push.speed < 1.01, "{what}");
        assert!(push.balance.abs() < 1e-5, "{what}");
    }
}
