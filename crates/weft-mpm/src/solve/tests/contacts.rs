use super::problem::*;
use crate::solve::{BodyResponse, Contacts, LANES};

/// What lies on a floor.
struct Floor {
    friction: f32,
    adhesion: f32,
    /// Two nodes a contact: each node and its neighbour.
    pairs: bool,
    body: Option<BodyResponse>,
}

fn floor(problem: &mut Problem, n: usize, floor: &Floor) {
    let side = n + 1;
    let ground: Vec<usize> = (0..side * side).map(|at| at * side).collect();
    let width = if floor.pairs { 2 } else { 1 };
    let blocks = ground.len().div_ceil(LANES);
    let mut contacts = Contacts {
        width,
        count: ground.len(),
        columns: vec![[0; LANES]; blocks * width],
        weights: vec![[0.0; LANES]; blocks * width],
        normal: vec![[[0.0; LANES], [0.0; LANES], [1.0; LANES]]; blocks],
        target: vec![[[0.0; LANES]; 3]; blocks],
        friction: vec![[floor.friction; LANES]; blocks],
        adhesion: vec![[floor.adhesion; LANES]; blocks],
        impulse: vec![[[0.0; LANES]; 3]; blocks],
        body: vec![[u32::MAX; LANES]; blocks],
        arm: vec![[[0.0; LANES]; 3]; blocks],
        bodies: vec![],
        cell_volume: (H * H * H) as f32,
    };
    if let Some(body) = floor.body {
        contacts.bodies.push(body);
        contacts.body.fill([0; LANES]);
    }
    for (at, node) in ground.iter().enumerate() {
        let (block, lane) = (at / LANES, at % LANES);
        let next = ground[(at + 1) % ground.len()];
        let parts = if floor.pairs {
            vec![(*node, 0.5), (next, 0.5)]
        } else {
            vec![(*node, 1.0)]
        };
        for (c, (node, weight)) in parts.into_iter().enumerate() {
            contacts.columns[block * width + c][lane] = node as u32;
            contacts.weights[block * width + c][lane] = weight;
        }
        let (i, j) = (at / side, at % side);
        for (d, x) in [i as f64, j as f64, 0.0].into_iter().enumerate() {
            contacts.arm[block][d][lane] = (H * (x - 0.5 * n as f64)) as f32;
        }
    }
    problem.contacts = contacts;
}

fn impulses(problem: &Problem) -> Vec<[f32; 3]> {
    (0..problem.contacts.count)
        .map(|at| problem.contacts.impulse[at / LANES].map(|x| x[at % LANES]))
        .collect()
}

/// Momentum gained is the sum of impulses; impulses are in the shifted cone; nothing sinks in.
#[test]
fn impulses_balance_momentum() {
    for pairs in [false, true] {
        for (friction, adhesion) in [(0.0, 0.0), (0.5, 0.0), (0.4, 3.0)] {
            for body in [None, Some(body(50.0))] {
                let recipe = Recipe {
                    yields: [1e15, 0.0, 5.0, 0.3, 0.0, 0.0],
                    ..Recipe::default()
                };
                let mut problem = recipe.build();
                for node in &mut problem.nodes {
                    node[2] -= 2.0;
                }
                floor(
                    &mut problem,
                    4,
                    &Floor {
                        friction,
                        adhesion,
                        pairs,
                        body,
                    },
                );
                let before = problem.momentum();
                let mut options = options(GAUSS_SEIDEL);
                options.max_iterations = 400;
                problem.solve(&options);
                let after = problem.momentum();
                let all = impulses(&problem);
                for d in 0..3 {
                    let sum: f64 = all.iter().map(|x| f64::from(x[d])).sum();
                    let gained = after[d] - before[d];
                    let size = 1.0 + before.iter().map(|x| x.abs()).fold(0.0, f64::max);
                    assert!((sum - gained).abs() < 1e-5 * size, "{sum} {gained}");
                }
                for impulse in &all {
                    let [x, y, z] = impulse;
                    let normal = z + adhesion;
                    assert!(normal >= -1e-4);
                    let tangent = (x * x + y * y).sqrt();
                    assert!(tangent <= friction * normal * 1.0001 + 1e-4);
                }
                if let Some(start) = body {
                    // The body takes what the material gives.
                    let moved = problem.contacts.bodies[0];
                    let volume = f64::from(problem.contacts.cell_volume);
                    for d in 0..3 {
                        let sum: f64 = all.iter().map(|x| f64::from(x[d])).sum();
                        let wanted = -sum * volume * f64::from(start.inverse_mass);
                        let error = (f64::from(moved.linear[d]) - wanted).abs();
                        assert!(error < 1e-5 * (1.0 + wanted.abs()), "{error}");
                    }
                } else if !pairs {
                    for at in 0..25 {
                        assert!(
                            problem.nodes[at * 5][2] > -2e-3,
                            "{}",
                            problem.nodes[at * 5][2]
                        );
                    }
                }
            }
        }
    }
}

fn body(mass: f32) -> BodyResponse {
    let inertia = 1.0 / (mass * 0.02);
    BodyResponse {
        inverse_mass: 1.0 / mass,
        inverse_inertia: [
            [inertia, 0.0, 0.0],
            [0.0, inertia, 0.0],
            [0.0, 0.0, inertia],
        ],
        ..Default::default()
    }
}

/// Loose nodes on a floor: a node that falls stops, one that rises flies, one that slides is slowed
/// by friction times its fall.
#[test]
fn nodes_obey_coulomb() {
    let mut problem = Recipe::default().build();
    problem.sites.volume.fill([0.0; LANES]);
    for (at, node) in problem.nodes.iter_mut().enumerate() {
        let kind = at / 5 % 4;
        let velocity = [
            [0.0, 0.0, -1.0],
            [0.3, 0.0, 1.0],
            [3.0, 4.0, -2.0],
            [0.3, 0.4, -2.0],
        ][kind];
        node[..3].copy_from_slice(&velocity);
    }
    floor(
        &mut problem,
        4,
        &Floor {
            friction: 0.5,
            adhesion: 0.0,
            pairs: false,
            body: None,
        },
    );
    problem.solve(&options(GAUSS_SEIDEL));
    for at in 0..25 {
        let node = problem.nodes[at * 5];
        let wanted = [[0.0; 3], [0.3, 0.0, 1.0], [2.4, 3.2, 0.0], [0.0; 3]][at % 4];
        for d in 0..3 {
            assert!(
                (node[d] - wanted[d]).abs() < 1e-5,
                "{at}: {node:?} {wanted:?}"
            );
        }
    }
}

/// A light body is thrown up by what falls on it; a body of rigid material
/// ends with the same velocity.
#[test]
fn two_way_contact_shares_momentum() {
    for mass in [1e-2, 1.0, 100.0] {
        let mut problem = Recipe {
            speed: 0.0,
            squeeze: 0.0,
            yields: [1e15, 1.0, 1e6, 0.0, 0.0, 0.0],
            ..Recipe::default()
        }
        .build();
        for node in &mut problem.nodes {
            node[2] = -1.0;
        }
        let start = body(mass);
        let case = Floor {
            friction: 0.5,
            adhesion: 50.0,
            pairs: false,
            body: Some(start),
        };
        floor(&mut problem, 4, &case);
        let volume = f64::from(problem.contacts.cell_volume);
        let before = problem.momentum()[2] * volume;
        let mut options = options(GAUSS_SEIDEL);
        options.max_iterations = 3000;
        problem.solve(&options);
        let velocity = f64::from(problem.contacts.bodies[0].linear[2]);
        let after = problem.momentum()[2] * volume + velocity * f64::from(mass);
        assert!(
            (before - after).abs() < 1e-4 * before.abs(),
            "{mass}: {before} {after}"
        );
        let material: f64 = problem.nodes.iter().map(|n| volume / f64::from(n[3])).sum();
        let together = before / (material + f64::from(mass));
        assert!(
            (velocity - together).abs() < 0.05 * together.abs(),
            "{mass} {velocity} {together}"
        );
    }
}

#[test]
fn threads_change_no_bit() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut problem = Recipe {
            n: 6,
            ..Recipe::default()
        }
        .build();
        let case = Floor {
            friction: 0.5,
            adhesion: 1.0,
            pairs: true,
            body: Some(body(3.0)),
        };
        floor(&mut problem, 6, &case);
        pool.install(|| problem.solve(&options(GAUSS_SEIDEL)));
        (
            problem.nodes,
            problem.contacts.impulse,
            problem.contacts.bodies[0].angular,
        )
    };
    let one = run(1);
    for threads in [2, 3] {
        assert!(one == run(threads));
    }
}

/// A good first guess of impulses is kept.
#[test]
fn impulses_start_warm() {
    let recipe = Recipe {
        yields: [1e15, 0.0, 20.0, 0.0, 0.0, 0.0],
        ..Recipe::default()
    };
    let case = Floor {
        friction: 0.5,
        adhesion: 0.0,
        pairs: true,
        body: None,
    };
    let build = || {
        let mut problem = recipe.build();
        for node in &mut problem.nodes {
            node[2] -= 2.0;
        }
        floor(&mut problem, 4, &case);
        problem
    };
    let mut options = options(GAUSS_SEIDEL);
    options.max_iterations = 2000;
    let mut cold = build();
    cold.solve(&options);
    let mut warm = build();
    warm.contacts.impulse.clone_from(&cold.contacts.impulse);
    warm.sites.stress.clone_from(&cold.sites.stress);
    options.max_iterations = 1;
    let report = warm.solve(&options);
    assert!(difference(&cold.nodes, &warm.nodes) < 1e-3, "{report:?}");
}
