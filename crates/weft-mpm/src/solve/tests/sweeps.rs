use super::problem::*;
use super::twin;
use crate::solve::flow::twin::norm;
use crate::solve::{LANES, Lane, RheologySolver};

fn recipes() -> Vec<Recipe> {
    let sand = [1e15, 0.0, 0.0, 0.5, 0.0, 0.0];
    let mut all = Vec::new();
    for basis in [Basis::Constant, Basis::Particles(3), Basis::Nodes] {
        for yields in [
            sand,
            [1e15, 0.0, 20.0, 0.0, 0.0, 0.0],
            [1e4, 0.05, 3.0, 0.3, 0.4, 0.0],
            [50.0, 0.0, 1.0, 0.6, 1.0, 0.0],
            [1e3, 0.1, 1.0, 0.2, 0.3, 30.0],
        ] {
            for compliance in [[0.0; 2], [4e-6, 1e-5]] {
                all.push(Recipe {
                    n: 3,
                    basis,
                    yields,
                    compliance,
                    strain: if compliance[0] > 0.0 { 1e-3 } else { 0.0 },
                    ..Recipe::default()
                });
            }
        }
    }
    all
}

#[test]
fn lanes_do_what_the_twin_does() {
    for recipe in recipes() {
        for (relaxation, legacy) in [(1.0, false), (0.6, false), (1.0, true)] {
            let mut problem = recipe.build();
            let twin = twin::sweep(&problem, 4, relaxation, if legacy { 0.5 } else { 1.0 });
            let mut options = options(GAUSS_SEIDEL);
            options.max_iterations = 4;
            options.relaxation = relaxation as f32;
            options.legacy_half_adjoint = legacy;
            let report = problem.solve(&options);
            assert_eq!(report.sweeps, 4);
            for (node, velocity) in problem.nodes.iter().zip(&twin.velocity) {
                for d in 0..3 {
                    let difference = (f64::from(node[d]) - velocity[d]).abs();
                    assert!(difference < 2e-4, "{recipe:?} {relaxation}: {difference}");
                }
            }
            let size =
                (twin.stress.iter().flatten().flatten()).fold(1.0, |m: f64, r| m.max(r.abs()));
            for (at, stress) in problem.sites.stress.iter().enumerate() {
                for lane in 0..LANES {
                    for i in 0..6 {
                        let difference =
                            (f64::from(stress[i][lane]) - twin.stress[at][lane][i]).abs();
                        let used = lane < usize::from(problem.sites.used[at / problem.sites.rows]);
                        assert!(
                            !used || difference < 2e-3 * size,
                            "{recipe:?}: {difference} of {size}"
                        );
                    }
                }
            }
            let error = (f64::from(report.residual_l2) - twin.residual).abs();
            assert!(
                error < 2e-3 * twin.residual + 1e-7,
                "{error} of {}",
                twin.residual
            );
        }
    }
}

/// After many sweeps every row obeys the flow law with its own strain.
#[test]
fn solutions_obey_the_flow_law() {
    for recipe in recipes() {
        let start = recipe.build();
        let mut problem = recipe.build();
        let mut options = options(GAUSS_SEIDEL);
        options.max_iterations = 1500;
        options.tolerance = 1e-6;
        let report = problem.solve(&options);
        assert!(report.residual_l2 < 1e-5, "{recipe:?} {report:?}");
        let velocity: Vec<[f64; 3]> = problem
            .nodes
            .iter()
            .map(|n| std::array::from_fn(|d| f64::from(n[d])))
            .collect();
        let rows = problem.sites.rows;
        let mut plastic = Vec::new();
        let mut elastic = Vec::new();
        let mut solver = RheologySolver::default();
        let mut again = recipe.build();
        solver.solve(
            &mut again.sites,
            &mut again.contacts,
            &mut again.nodes,
            &options,
        );
        assert_eq!(again.nodes, problem.nodes);
        solver.increments(&again.sites, &again.nodes, &mut plastic, &mut elastic, &[]);
        for block in 0..problem.sites.used.len() {
            for lane in 0..usize::from(problem.sites.used[block]) {
                let stress: Vec<[f64; 6]> = (0..rows)
                    .map(|row| problem.sites.stress[block * rows + row].map(|r| f64::from(r[lane])))
                    .collect();
                for row in 0..rows {
                    let at = block * rows + row;
                    if problem.sites.volume[at][lane] <= 0.0 {
                        assert_eq!(stress[row], [0.0; 6]);
                        assert!(plastic[at].iter().all(|u| u[lane] == 0.0));
                        assert!(elastic[at].iter().all(|u| u[lane] == 0.0));
                        continue;
                    }
                    let line = twin::line(&start, block, row, lane);
                    let u = line.strain(&velocity, &stress);
                    let local = line.to_local(&u);
                    let r = line.to_local(&stress[row]);
                    let d = line.values;
                    let b = std::array::from_fn(|i| local[i] - d[i] * r[i]);
                    let (wanted, _) = line.law.solve(&d, &b);
                    let error: f64 = (0..6).map(|i| (wanted[i] - local[i]).powi(2)).sum();
                    assert!(error.sqrt() < 3e-5, "{recipe:?} {}", error.sqrt());
                    // Plastic increments are the strain, elastic ones what stress and offset leave.
                    let offset = line.offset;
                    for i in 0..6 {
                        let bent: f64 = line
                            .compliance
                            .iter()
                            .zip(&stress)
                            .map(|(c, r)| c[i] * r[i])
                            .sum();
                        let error = (f64::from(plastic[at][i][lane]) - u[i]).abs();
                        assert!(error < 1e-4, "{error}");
                        let error = (f64::from(elastic[at][i][lane]) + offset[i] + bent).abs();
                        assert!(error < 1e-5, "{error}");
                    }
                    assert!(norm(&stress[row]).is_finite());
                }
            }
        }
    }
}

/// Inner stress changes no momentum.
#[test]
fn momentum_stays() {
    for recipe in recipes() {
        for stages in [GAUSS_SEIDEL, BATCHED, JACOBI] {
            let mut problem = recipe.build();
            let before = problem.momentum();
            problem.solve(&options(stages));
            let mass: f64 = problem.nodes.iter().map(|n| 1.0 / f64::from(n[3])).sum();
            for (before, after) in before.iter().zip(problem.momentum()) {
                assert!((before - after).abs() < 2e-6 * mass, "{recipe:?}");
            }
        }
    }
}

#[test]
fn residuals_fall() {
    for recipe in recipes() {
        let residual = |sweeps: usize| {
            let mut options = options(GAUSS_SEIDEL);
            options.max_iterations = sweeps;
            recipe.build().solve(&options).residual_l2
        };
        let (first, second, third) = (residual(5), residual(50), residual(400));
        assert!(
            second < first.max(1e-6) && third < second.max(1e-6),
            "{recipe:?} {first} {second} {third}"
        );
    }
}

/// Gauss–Seidel, batched and Jacobi sweeps have the same fixed point. It is unique where flow is
/// associated, so with dilatancy 1 or without friction.
#[test]
fn all_sweeps_reach_the_same_velocity() {
    let tolerance = 2e-6;
    for basis in [Basis::Constant, Basis::Particles(2), Basis::Nodes] {
        for yields in [
            [1e15, 0.0, 20.0, 0.0, 0.0, 0.0],
            [1e3, 0.1, 1.0, 0.2, 1.0, 30.0],
        ] {
            for compliance in [[0.0; 2], [4e-6, 1e-5]] {
                let recipe = Recipe {
                    n: 3,
                    basis,
                    yields,
                    compliance,
                    strain: 1e-3,
                    ..Recipe::default()
                };
                let run = |stages, sweeps| {
                    let mut problem = recipe.build();
                    let mut options = options(stages);
                    options.max_iterations = sweeps;
                    options.tolerance = tolerance;
                    let report = problem.solve(&options);
                    (problem, report)
                };
                let (gauss, report) = run(GAUSS_SEIDEL, 4000);
                for stages in [BATCHED, JACOBI] {
                    let (other, second) = run(stages, 20000);
                    let error = difference(&gauss.nodes, &other.nodes);
                    assert!(
                        error < 5e-3,
                        "{recipe:?} {stages:?} {error} {report:?} {second:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn threads_change_no_bit() {
    for recipe in recipes() {
        for stages in [GAUSS_SEIDEL, BATCHED, JACOBI] {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let mut problem = recipe.build();
                let mut options = options(stages);
                options.max_iterations = 20;
                let report = pool.install(|| problem.solve(&options));
                (problem.nodes, problem.sites.stress, report)
            };
            let one = run(1);
            for threads in [2, 3] {
                let other = run(threads);
                assert!(
                    one.0 == other.0 && one.2 == other.2,
                    "{recipe:?} {stages:?} {threads}"
                );
                assert!(one.1 == other.1);
            }
        }
    }
}

/// A first guess changes the way, not the end.
#[test]
fn warm_starts_save_sweeps() {
    let recipe = Recipe {
        n: 4,
        yields: [1e15, 0.0, 20.0, 0.0, 0.0, 0.0],
        ..Recipe::default()
    };
    let mut options = options(GAUSS_SEIDEL);
    options.tolerance = 1e-5;
    options.max_iterations = 2000;
    options.check_every = 1;
    let mut cold = recipe.build();
    let first = cold.solve(&options);
    let mut warm = recipe.build();
    warm.sites.stress.clone_from(&cold.sites.stress);
    let second = warm.solve(&options);
    assert!(second.sweeps < first.sweeps / 4, "{first:?} {second:?}");
    assert!(difference(&cold.nodes, &warm.nodes) < 1e-3);
}

#[test]
fn sweeps_are_counted_exactly() {
    for most in [0, 1, 2, 3, 7, 26] {
        let mut options = options(GAUSS_SEIDEL);
        options.max_iterations = most;
        assert_eq!(Recipe::default().build().solve(&options).sweeps, most);
        // Checked every five sweeps, and after the last.
        options.tolerance = 1e9;
        let sweeps = Recipe::default().build().solve(&options).sweeps;
        assert_eq!(sweeps, most.min(5));
    }
}

/// Each world has to meet the tolerance by its own count of rows.
#[test]
fn worlds_have_their_own_norms() {
    let mut recipe = Recipe {
        worlds: 2,
        ..Recipe::default()
    };
    let mut options = options(GAUSS_SEIDEL);
    options.max_iterations = 1;
    let mut problem = recipe.build();
    let report = problem.solve(&options);
    recipe.worlds = 1;
    let single = recipe.build().solve(&options);
    assert!(report.residual_l2 > single.residual_l2);
    assert_eq!(report.residual_max, single.residual_max);
    // Two equal halves: squares of their norms add up, but for the 1 in 1 + rows.
    assert!(report.residual_l2 < single.residual_l2 * 1.5);
}

#[test]
fn nothing_to_solve_is_no_trouble() {
    let mut empty = Problem {
        sites: crate::solve::Sites {
            width: 8,
            rows: 1,
            colours: vec![0],
            ..Default::default()
        },
        nodes: vec![],
        contacts: Default::default(),
    };
    let report = empty.solve(&options(GAUSS_SEIDEL));
    assert_eq!((report.residual_l2, report.residual_max), (0.0, 0.0));
    // Rows without volume, without stiffness, and nodes of infinite mass.
    for edit in [
        |problem: &mut Problem| problem.sites.volume.fill([0.0; LANES]),
        |problem: &mut Problem| problem.sites.b.fill([[0.0; LANES]; 3]),
        |problem: &mut Problem| problem.nodes.iter_mut().for_each(|node| node[3] = 0.0),
    ] {
        for stages in [GAUSS_SEIDEL, BATCHED, JACOBI] {
            let mut problem = Recipe::default().build();
            edit(&mut problem);
            problem.sites.stress.fill([[7.0; LANES]; 6]);
            let before = problem.nodes.clone();
            let report = problem.solve(&options(stages));
            assert_eq!(report.residual_max, 0.0);
            assert_eq!(problem.nodes, before);
            assert!(
                problem
                    .sites
                    .stress
                    .iter()
                    .flatten()
                    .flatten()
                    .all(|r| *r == 0.0)
            );
        }
    }
}

/// A number that is not finite doesn't hang or crash, and is seen in the report.
#[test]
fn not_finite_is_reported() {
    for bad in [f32::NAN, f32::INFINITY] {
        let mut problem = Recipe::default().build();
        problem.nodes[5][1] = bad;
        let report = problem.solve(&options(GAUSS_SEIDEL));
        assert!(!report.residual_l2.is_finite(), "{report:?}");
    }
}

/// Nodes a million times heavier than others, as those of particles that are moved by hand.
#[test]
fn heavy_nodes_stay_finite() {
    let mut problem = Recipe::default().build();
    for (i, node) in problem.nodes.iter_mut().enumerate() {
        if i % 3 == 0 {
            node[3] = 1e-12;
        }
    }
    problem.solve(&options(GAUSS_SEIDEL));
    assert!(problem.fastest() < 10.0, "{}", problem.fastest());
}

/// The second solve needs no more memory: sizes of the scratch stay.
#[test]
fn rigid_motion_needs_no_stress() {
    let mut problem = Recipe::default().build();
    let side = 5;
    for (at, node) in problem.nodes.iter_mut().enumerate() {
        let x = [at / (side * side), at / side % side, at % side].map(|i| i as f32 * H as f32);
        let (w, t) = ([0.3, -0.7, 0.2], [1.0, 2.0, -0.5]);
        for d in 0..3 {
            let (a, b) = ((d + 1) % 3, (d + 2) % 3);
            node[d] = t[d] + w[a] * x[b] - w[b] * x[a];
        }
    }
    let before = problem.nodes.clone();
    problem.solve(&options(GAUSS_SEIDEL));
    assert!(difference(&before, &problem.nodes) < 1e-5);
}

#[test]
fn critical_offsets_are_no_elastic_strain() {
    let recipe = Recipe {
        compliance: [4e-6, 1e-5],
        strain: 1e-3,
        ..Recipe::default()
    };
    let mut problem = recipe.build();
    let mut solver = RheologySolver::default();
    solver.solve(
        &mut problem.sites,
        &mut problem.contacts,
        &mut problem.nodes,
        &options(GAUSS_SEIDEL),
    );
    let critical: Vec<Lane> = vec![[0.25; LANES]; problem.sites.volume.len()];
    let mut sets = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    let [plastic, elastic, same, other] = &mut sets;
    solver.increments(&problem.sites, &problem.nodes, plastic, elastic, &[]);
    solver.increments(&problem.sites, &problem.nodes, same, other, &critical);
    assert_eq!(plastic, same);
    for (at, (a, b)) in elastic.iter().zip(other.iter()).enumerate() {
        for lane in 0..usize::from(problem.sites.used[at]) {
            assert!((b[0][lane] - a[0][lane] - 0.25).abs() < 1e-6);
            for i in 1..6 {
                assert!((b[i][lane] - a[i][lane]).abs() < 1e-6);
            }
        }
    }
}
