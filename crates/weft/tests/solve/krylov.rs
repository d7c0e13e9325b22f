//! Iterative methods and preconditioners.

use crate::samples::*;
use weft::solve::{
    BlockJacobi, BreakdownKind, Identity, Jacobi, Krylov, KrylovOptions, LinearOperator, Method,
    Preconditioner, SolveError, StopReason,
};
use weft::sparse::BlockMatrix;

fn krylov(method: Method, tolerance: f64) -> Krylov {
    Krylov::new(
        method,
        KrylovOptions {
            tolerance,
            ..Default::default()
        },
    )
    .unwrap()
}

const METHODS: [Method; 4] = [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres];

fn suits(method: Method, kind: Kind) -> bool {
    match method {
        Method::Cg => kind == Kind::Positive,
        Method::Minres => kind != Kind::Unsymmetric,
        Method::BiCgStab | Method::Gmres => true,
    }
}

#[test]
fn methods_reach_the_dense_solution() {
    for kind in KINDS {
        for (n, b) in [
            (1, 1),
            (1, 3),
            (2, 1),
            (2, 2),
            (50, 1),
            (50, 2),
            (33, 3),
            (25, 4),
            (333, 3),
        ] {
            let a = random_system(n, b, kind, 100 * n as u64 + b as u64);
            let rhs = vector(n * b, 3);
            let truth = dense_solve(&a, &rhs);
            let jacobi = Jacobi::new(&a).unwrap();
            let block = BlockJacobi::new(&a).unwrap();
            let preconditioners: [(&str, &dyn Preconditioner); 3] =
                [("none", &Identity), ("jacobi", &jacobi), ("block", &block)];
            for method in METHODS.into_iter().filter(|&m| suits(m, kind)) {
                for (name, m) in preconditioners {
                    // Exact inverses of indefinite blocks are indefinite, which MINRES rejects.
                    if name == "block" && kind == Kind::Indefinite && method == Method::Minres {
                        continue;
                    }
                    for guess in [0.0, 1.0] {
                        let mut x = vec![guess; n * b];
                        let mut solver = krylov(method, 1e-11);
                        let place = format!("{method} {kind:?} n={n} b={b} {name}");
                        let report = match solver.solve(&a, m, &rhs, &mut x) {
                            Ok(report) => report.clone(),
                            Err(e) => panic!("{place}: {e}"),
                        };
                        let error = relative_difference(&x, &truth);
                        assert!(error < 1e-9, "{place}: {error}");
                        let truth = residual(&a, &x, &rhs);
                        assert!(
                            (report.residual - truth).abs() <= 1e-12 * truth + 1e-14,
                            "{place}"
                        );
                        assert_eq!(report.reason, StopReason::Converged);
                        assert!(report.relative_residual <= 1e-11);
                        assert_eq!(report.history.len(), report.iterations + 1);
                    }
                }
            }
        }
    }
}

#[test]
fn methods_end_after_n_steps() {
    let a = random_system(6, 1, Kind::Positive, 9);
    let rhs = vector(6, 1);
    for method in METHODS {
        let mut solver = krylov(method, 1e-12);
        let report = solver.solve(&a, &Identity, &rhs, &mut [0.0; 6]).unwrap();
        assert!(
            report.iterations <= 7,
            "{method} took {}",
            report.iterations
        );
    }
}

/// MINRES and GMRES minimise the residual, so it never rises; recurrences report the true one.
#[test]
fn recurrences_follow_the_true_residual() {
    let a = random_system(60, 2, Kind::Indefinite, 4);
    let rhs = vector(120, 2);
    let jacobi = Jacobi::new(&a).unwrap();
    for method in [Method::Minres, Method::BiCgStab, Method::Gmres] {
        let mut previous = f64::INFINITY;
        for steps in 1..12 {
            let max_iterations = Some(steps);
            let options = KrylovOptions {
                max_iterations,
                tolerance: 1e-14,
                ..Default::default()
            };
            let mut x = vec![0.0; 120];
            let mut solver = Krylov::new(method, options).unwrap();
            let error = solver.solve(&a, &jacobi, &rhs, &mut x).unwrap_err();
            let SolveError::NotConverged { convergence, .. } = error else {
                panic!("{error}")
            };
            assert_eq!(convergence.reason, StopReason::MaxIterations);
            let recurrence = *convergence.history.last().unwrap();
            let truth = residual(&a, &x, &rhs);
            assert!(
                (recurrence - truth).abs() <= 1e-10 * truth,
                "{method}: {recurrence} {truth}"
            );
            if method == Method::Gmres {
                assert!(truth <= previous * (1.0 + 1e-12));
            }
            previous = truth;
        }
    }
}

#[test]
fn zero_right_hand_side_gives_zero_at_once() {
    let a = random_system(5, 2, Kind::Positive, 1);
    let empty = Triplets::default().matrix(0, 1);
    for method in METHODS {
        let mut x = vec![3.0; 10];
        let mut solver = krylov(method, 1e-10);
        let report = solver.solve(&a, &Identity, &[0.0; 10], &mut x).unwrap();
        assert_eq!((report.reason, report.iterations), (StopReason::ZeroRhs, 0));
        assert_eq!((report.residual, x), (0.0, vec![0.0; 10]));
        solver.solve(&empty, &Identity, &[], &mut []).unwrap();
    }
}

#[test]
fn exact_guess_needs_no_iteration() {
    let a = random_system(50, 1, Kind::Positive, 2);
    let truth = vector(50, 8);
    let mut rhs = vec![0.0; 50];
    a.multiply(&truth, &mut rhs).unwrap();
    for method in METHODS {
        let mut x = truth.clone();
        let mut solver = krylov(method, 1e-12);
        assert_eq!(
            solver
                .solve(&a, &Identity, &rhs, &mut x)
                .unwrap()
                .iterations,
            0
        );
        assert_eq!(x, truth);
    }
}

fn failure(method: Method, a: &BlockMatrix, rhs: &[f64]) -> StopReason {
    let mut x = vec![0.0; rhs.len()];
    match krylov(method, 1e-10).solve(a, &Identity, rhs, &mut x) {
        Err(SolveError::NotConverged { convergence, .. }) => convergence.reason,
        other => panic!("{method}: {other:?}"),
    }
}

#[test]
fn failures_are_recognised() {
    let mut t = Triplets::default();
    t.push(0, 0, &[1.0]);
    t.push(1, 1, &[-1.0]);
    let indefinite = t.matrix(2, 1);
    let reason = failure(Method::Cg, &indefinite, &[1.0, 2.0]);
    assert!(
        matches!(reason, StopReason::NotPositive { iteration: 1, curvature } if curvature < 0.0)
    );
    // Curvature 0 in the first step.
    assert!(matches!(
        failure(Method::Cg, &indefinite, &[1.0, 1.0]),
        StopReason::NotPositive { .. }
    ));

    let mut t = Triplets::default();
    t.push(0, 1, &[1.0]);
    t.push(1, 0, &[-1.0]);
    let skew = t.matrix(2, 1);
    let reason = failure(Method::BiCgStab, &skew, &[1.0, 2.0]);
    assert!(matches!(
        reason,
        StopReason::Breakdown {
            kind: BreakdownKind::Direction,
            ..
        }
    ));
    let mut x = [0.0; 2];
    krylov(Method::Gmres, 1e-12)
        .solve(&skew, &Identity, &[1.0, 2.0], &mut x)
        .unwrap();
    assert!(relative_difference(&x, &[-2.0, 1.0]) < 1e-12);

    // b outside the range.
    let mut t = Triplets::default();
    t.push(0, 0, &[1.0]);
    t.push(1, 1, &[0.0]);
    let singular = t.matrix(2, 1);
    let mut t = Triplets::default();
    t.push(0, 0, &[0.0]);
    let zero = t.matrix(1, 1);
    let mut nan = random_system(5, 1, Kind::Positive, 3);
    nan.values_mut()[3] = f64::NAN;
    for method in METHODS {
        for (a, b) in [(&singular, &[1.0, 1.0][..]), (&zero, &[1.0])] {
            let reason = failure(method, a, b);
            assert!(
                !matches!(
                    reason,
                    StopReason::MaxIterations | StopReason::NonFinite { .. }
                ),
                "{method} {reason}"
            );
        }
        assert!(
            matches!(
                failure(method, &nan, &[1.0; 5]),
                StopReason::NonFinite { .. }
            ),
            "{method}"
        );
    }
    struct Minus;
    impl Preconditioner for Minus {
        fn apply(&self, r: &[f64], z: &mut [f64]) {
            z.iter_mut().zip(r).for_each(|(z, r)| *z = -r);
        }
    }
    let a = random_system(5, 1, Kind::Positive, 3);
    for method in [Method::Cg, Method::Minres] {
        let error = krylov(method, 1e-10)
            .solve(&a, &Minus, &[1.0; 5], &mut [0.0; 5])
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("preconditioner isn't positive definite"),
            "{error}"
        );
    }
}

#[test]
fn large_incompatible_systems_stop() {
    let a = laplacian([12, 12, 1]);
    for method in METHODS {
        for rhs in [vec![1.0; a.rows()], vector(a.rows(), 2)] {
            let reason = failure(method, &a, &rhs);
            let recognised = match method {
                Method::Cg => matches!(reason, StopReason::NotPositive { .. }),
                Method::Gmres => {
                    matches!(
                        reason,
                        StopReason::Stagnated { .. } | StopReason::Breakdown { .. }
                    )
                }
                // Nothing tells these that the residual won't fall any further.
                _ => !matches!(reason, StopReason::NonFinite { .. }),
            };
            assert!(recognised, "{method}: {reason}");
        }
    }
}

#[test]
fn singular_systems_with_a_solution_are_solved() {
    // Pure Neumann Laplacian; b orthogonal to the constants.
    let a = laplacian([8, 7, 6]);
    let n = a.rows();
    let mut rhs = vector(n, 5);
    let mean = rhs.iter().sum::<f64>() / n as f64;
    rhs.iter_mut().for_each(|v| *v -= mean);
    for method in METHODS {
        let mut x = vec![0.0; n];
        if let Err(e) = krylov(method, 1e-9).solve(&a, &Identity, &rhs, &mut x) {
            panic!("{method}: {e}");
        }
        assert!(residual(&a, &x, &rhs) < 1e-8);
    }
}

#[test]
fn bad_input_is_named() {
    let a = random_system(5, 1, Kind::Positive, 3);
    let mut solver = krylov(Method::Cg, 1e-10);
    let mut x = [0.0; 5];
    let mut fail = |a: &BlockMatrix, m: &dyn Preconditioner, b: &[f64], x: &mut [f64]| {
        solver.solve(a, m, b, x).unwrap_err()
    };
    let ones = [1.0; 5];
    assert!(matches!(
        fail(&a, &Identity, &ones[..4], &mut x),
        SolveError::Size { .. }
    ));
    assert!(matches!(
        fail(&a, &Identity, &ones, &mut [0.0; 6]),
        SolveError::Size { .. }
    ));
    let other = Jacobi::new(&random_system(6, 1, Kind::Positive, 3)).unwrap();
    assert!(matches!(
        fail(&a, &other, &ones, &mut x),
        SolveError::Size { .. }
    ));
    let infinite = [1.0, 1.0, f64::INFINITY, 1.0, 1.0];
    assert!(matches!(
        fail(&a, &Identity, &infinite, &mut x),
        SolveError::NonFinite { index: 2, .. }
    ));
    let wide = BlockMatrix::from_triplets(1, 2, [1, 1], &[0], &[1], &[1.0]).unwrap();
    assert!(matches!(
        fail(&wide, &Identity, &[1.0], &mut [1.0]),
        SolveError::NotSquare { .. }
    ));
    assert!(Jacobi::new(&wide).is_err() && BlockJacobi::new(&wide).is_err());
    for (tolerance, restart) in [(-1.0, 5), (f64::NAN, 5), (1e-8, 0), (1e-8, usize::MAX)] {
        let options = KrylovOptions {
            tolerance,
            restart,
            ..Default::default()
        };
        assert!(matches!(
            Krylov::<f64>::new(Method::Gmres, options),
            Err(SolveError::Option { .. })
        ));
    }
}

#[test]
fn extreme_scales_are_solved() {
    let base = random_system(20, 2, Kind::Positive, 3);
    let rhs = vector(40, 1);
    let truth = dense_solve(&base, &rhs);
    for factor in [1e-100, 1e100] {
        let mut a = base.clone();
        a.scale(factor);
        for method in METHODS {
            let mut x = vec![0.0; 40];
            krylov(method, 1e-10)
                .solve(&a, &Identity, &rhs, &mut x)
                .unwrap();
            x.iter_mut().for_each(|x| *x *= factor);
            assert!(relative_difference(&x, &truth) < 1e-8, "{method} {factor}");
        }
    }
}

#[test]
fn same_bits_for_any_thread_count() {
    let a = laplacian_dirichlet([40, 40, 30]);
    let n = a.rows();
    let rhs = vector(n, 5);
    let jacobi = Jacobi::new(&a).unwrap();
    for method in METHODS {
        let solve = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let mut x = vec![0.0; n];
                let mut solver = krylov(method, 1e-8);
                let report = solver.solve(&a, &jacobi, &rhs, &mut x).unwrap().clone();
                (x, report)
            })
        };
        let one = solve(1);
        assert!(one == solve(2) && one == solve(4), "{method}");
    }
}

#[test]
fn block_jacobi_inverts_and_survives_singular_blocks() {
    for b in 1..=5 {
        let mut random = Random(b as u64);
        let mut t = Triplets::default();
        for i in 0..7 {
            let block: Vec<f64> = (0..b * b)
                .map(|k| random.next() + if k % (b + 1) == 0 { 3.0 } else { 0.0 })
                .collect();
            t.push(i, i, &block);
        }
        let a = t.matrix(7, b);
        let r = vector(7 * b, 2);
        let mut z = vec![0.0; 7 * b];
        BlockJacobi::new(&a).unwrap().apply(&r, &mut z);
        assert!(residual(&a, &z, &r) < 1e-12);
    }
    // A rank-1 symmetric block: exact on the range, positive definite beyond it.
    let mut t = Triplets::default();
    t.push(0, 0, &[2.0, 2.0, 2.0, 2.0]);
    t.push(1, 1, &[0.0, 1.0, 0.0, 0.0]);
    let m = BlockJacobi::new(&t.matrix(2, 2)).unwrap();
    let mut z = [0.0; 4];
    m.apply(&[1.0, 1.0, 1.0, -1.0], &mut z);
    assert!(relative_difference(&z[..2], &[0.25, 0.25]) < 1e-14);
    assert_eq!(z[2..], [1.0, -1.0]);
    m.apply(&[1.0, -1.0, 0.0, 0.0], &mut z);
    assert!(z[0] - z[1] > 0.1);
    // A missing diagonal block passes the residual.
    let mut t = Triplets::default();
    t.push(0, 0, &[4.0]);
    t.push(0, 1, &[1.0]);
    let a = t.matrix(2, 1);
    for m in [
        &BlockJacobi::new(&a).unwrap() as &dyn Preconditioner,
        &Jacobi::new(&a).unwrap(),
    ] {
        let mut z = [0.0; 2];
        m.apply(&[8.0, 3.0], &mut z);
        assert_eq!(z, [2.0, 3.0]);
    }
}

#[test]
fn operators_may_be_matrix_free() {
    struct Doubled(usize);
    impl LinearOperator for Doubled {
        fn rows(&self) -> usize {
            self.0
        }
        fn cols(&self) -> usize {
            self.0
        }
        fn apply(&self, x: &[f64], y: &mut [f64]) {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * x);
        }
    }
    let mut x = [0.0; 4];
    let mut solver = krylov(Method::Cg, 1e-14);
    solver
        .solve(&Doubled(4), &Identity, &[2.0, 4.0, 6.0, 8.0], &mut x)
        .unwrap();
    assert_eq!(x, [1.0, 2.0, 3.0, 4.0]);
}

/// Time of each method on 97 336 unknowns; run with `--release -- --ignored --nocapture times_of`.
#[test]
#[ignore = "a measurement"]
fn times_of_krylov_solves() {
    let a = laplacian_dirichlet([46, 46, 46]);
    let rhs = vector(a.rows(), 1);
    let jacobi = Jacobi::new(&a).unwrap();
    for method in METHODS {
        let mut solver = krylov(method, 1e-10);
        for _ in 0..2 {
            let mut x = vec![0.0; a.rows()];
            let start = std::time::Instant::now();
            let report = solver.solve(&a, &jacobi, &rhs, &mut x).unwrap();
            let seconds = start.elapsed().as_secs_f64();
            println!("{method}: {} iterations, {seconds:.3} s", report.iterations);
        }
    }
}

#[test]
fn issue_006_underflow_has_its_own_reason() {
    for method in [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres] {
        let a: BlockMatrix = BlockMatrix::identity(3, 1).unwrap();
        let solve = |size: f64| {
            let mut krylov = Krylov::new(method, KrylovOptions::default()).unwrap();
            let mut x = [0.0; 3];
            let done = krylov.solve(&a, &Identity, &[size, 0.0, 2.0 * size], &mut x);
            done.map(|_| x[2])
        };
        assert!((solve(1e-120).unwrap() - 2e-120).abs() < 1e-129);
        match solve(1e-170) {
            Err(SolveError::NotConverged { convergence, .. }) => {
                assert_eq!(convergence.reason, StopReason::Underflow)
            }
            other => panic!("{other:?}"),
        }
    }
}
