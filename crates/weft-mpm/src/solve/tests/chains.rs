use super::problem::*;
use crate::solve::SolveReport;
use crate::{LinearKind, RheologyKind, Stage};

/// Elastic, far from yielding.
fn elastic(basis: Basis) -> Recipe {
    Recipe {
        n: 3,
        basis,
        yields: [1e15, 1.0, 1e12, 0.0, 0.0, 0.0],
        compliance: [4e-6, 1e-5],
        strain: 1e-3,
        ..Recipe::default()
    }
}

fn run(recipe: &Recipe, stages: &[Stage], most: usize, tolerance: f32) -> (Problem, SolveReport) {
    let mut problem = recipe.build();
    let mut options = options(stages);
    options.max_iterations = most;
    options.tolerance = tolerance;
    let report = problem.solve(&options);
    (problem, report)
}

const KINDS: [LinearKind; 3] = [LinearKind::Cg, LinearKind::Cr, LinearKind::Gmres];

/// Linear solvers and sweeps have the same answer where nothing yields.
#[test]
fn linear_solvers_agree_with_sweeps() {
    for basis in [Basis::Constant, Basis::Particles(2), Basis::Nodes] {
        let recipe = elastic(basis);
        let (gauss, _) = run(&recipe, GAUSS_SEIDEL, 5000, 1e-7);
        for kind in KINDS {
            let (linear, report) = run(&recipe, &[Stage::Linear(kind)], 1000, 1e-7);
            assert_eq!(report.sweeps, report.linear_iterations);
            assert!(
                report.sweeps > 0 && report.sweeps < 1000,
                "{kind:?} {report:?}"
            );
            assert!(report.residual_l2 < 1e-6, "{kind:?} {report:?}");
            let error = difference(&gauss.nodes, &linear.nodes);
            assert!(error < 1e-3, "{basis:?} {kind:?} {error}");
            let (error, size) =
                stress_difference(&gauss.sites, &gauss.sites.stress, &linear.sites.stress);
            assert!(error < 2e-2 * size, "{basis:?} {kind:?} {error} of {size}");
        }
    }
}

#[test]
fn linear_first_guesses_save_sweeps() {
    let recipe = Recipe {
        n: 5,
        ..elastic(Basis::Constant)
    };
    let (cold, first) = run(&recipe, GAUSS_SEIDEL, 3000, 1e-6);
    for kind in KINDS {
        let chain = [
            Stage::Linear(kind),
            Stage::Rheology(RheologyKind::Jacobi),
            Stage::Rheology(RheologyKind::GaussSeidel),
        ];
        let (warm, second) = run(&recipe, &chain, 3000, 1e-6);
        assert!(second.linear_iterations > 0);
        assert!(
            2 * second.sweeps < first.sweeps,
            "{kind:?} {first:?} {second:?}"
        );
        assert!(difference(&cold.nodes, &warm.nodes) < 1e-3);
    }
}

/// A guess that yields is brought back to the surface, and the end is the same.
#[test]
fn chains_end_where_the_last_solver_ends() {
    let recipe = Recipe {
        yields: [1e15, 0.0, 20.0, 0.0, 0.0, 0.0],
        ..elastic(Basis::Constant)
    };
    let (alone, _) = run(&recipe, GAUSS_SEIDEL, 4000, 1e-6);
    let chain = [Stage::Linear(LinearKind::Cg), GAUSS_SEIDEL[0]];
    let (chained, _) = run(&recipe, &chain, 4000, 1e-6);
    assert!(difference(&alone.nodes, &chained.nodes) < 2e-3);
}

/// Two worlds in one solve: each as if alone.
#[test]
fn worlds_are_solved_alone() {
    for kind in KINDS {
        let recipe = Recipe {
            n: 4,
            worlds: 2,
            ..elastic(Basis::Constant)
        };
        let (both, _) = run(&recipe, &[Stage::Linear(kind)], 1000, 1e-7);
        // They share nodes here, so that only the answer can be compared.
        let one = Recipe {
            worlds: 1,
            ..recipe
        };
        let (single, _) = run(&one, GAUSS_SEIDEL, 5000, 1e-7);
        // Scalars by worlds fit only worlds that share nothing: here the method may be slower or
        // stop, but must stay finite.
        assert!(both.fastest().is_finite() && single.fastest().is_finite());
    }
}

#[test]
fn threads_change_no_bit() {
    for kind in KINDS {
        let solve = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let recipe = Recipe {
                    n: 5,
                    ..elastic(Basis::Particles(2))
                };
                let (problem, report) = run(&recipe, &[Stage::Linear(kind)], 45, 0.0);
                (problem.nodes, problem.sites.stress, report)
            })
        };
        let one = solve(1);
        assert_eq!(one.2.linear_iterations, 45);
        for threads in [2, 3] {
            assert!(one == solve(threads));
        }
    }
}

#[test]
fn nothing_to_solve_is_no_trouble() {
    for kind in KINDS {
        let stages = [Stage::Linear(kind)];
        let mut empty = Problem {
            sites: crate::solve::Sites {
                rows: 1,
                width: 8,
                colours: vec![0],
                ..Default::default()
            },
            nodes: vec![],
            contacts: Default::default(),
        };
        assert_eq!(empty.solve(&options(&stages)).linear_iterations, 0);
        // At rest.
        let recipe = Recipe {
            speed: 0.0,
            squeeze: 0.0,
            strain: 0.0,
            ..elastic(Basis::Constant)
        };
        let (problem, report) = run(&recipe, &stages, 100, 1e-6);
        assert_eq!(report.linear_iterations, 0);
        assert_eq!(problem.fastest(), 0.0);
        // Not a number.
        let mut problem = recipe.build();
        problem.nodes[3][0] = f32::NAN;
        assert!(!problem.solve(&options(&stages)).residual_l2.is_finite());
    }
}
