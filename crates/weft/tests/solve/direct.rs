//! Direct solvers against dense LU, and on everything that may go wrong.

use crate::samples::*;
use weft::solve::{
    Constraints, DirectKind, DirectSolver, Jacobi, Krylov, KrylovOptions, Method, SolveError,
};
use weft::sparse::BlockMatrix;

/// The kind `Auto` is expected to settle for.
fn expected(kind: Kind) -> DirectKind {
    match kind {
        Kind::Positive => DirectKind::Cholesky,
        Kind::Indefinite => DirectKind::Ldlt,
        Kind::Unsymmetric => DirectKind::Lu,
    }
}

#[test]
fn solutions_are_the_dense_ones() {
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
            (1000, 1),
        ] {
            let a = random_system(n, b, kind, 10 * n as u64 + b as u64);
            let rhs = vector(n * b, 3);
            let truth = dense_solve(&a, &rhs);
            let mut kinds = vec![DirectKind::Auto, DirectKind::Lu];
            if kind != Kind::Unsymmetric {
                kinds.push(DirectKind::Ldlt);
            }
            if kind == Kind::Positive {
                kinds.push(DirectKind::Cholesky);
            }
            for which in kinds {
                let solver = match DirectSolver::new(&a, which) {
                    Ok(solver) => solver,
                    Err(e) => panic!("{which} {kind:?} n={n} b={b}: {e}"),
                };
                // A single node is a diagonal block, symmetric whatever the kind.
                if which == DirectKind::Auto && n > 1 {
                    assert_eq!(solver.kind(), expected(kind), "n={n} b={b}");
                }
                let mut x = vec![f64::NAN; n * b];
                let relative = solver.solve(&rhs, &mut x).unwrap();
                assert!(relative < 1e-14, "{which} {kind:?} n={n} b={b}: {relative}");
                assert!((residual(&a, &x, &rhs) - relative * norm(&rhs)).abs() < 1e-14);
                let error = relative_difference(&x, &truth);
                assert!(error < 1e-12, "{which} {kind:?} n={n} b={b}: {error}");
                assert_eq!(solver.solve(&vec![0.0; n * b], &mut x).unwrap(), 0.0);
                assert!(x.iter().all(|&x| x == 0.0));
            }
        }
    }
    let empty = DirectSolver::new(&Triplets::default().matrix(0, 2), DirectKind::Auto).unwrap();
    assert_eq!(empty.solve(&[], &mut []).unwrap(), 0.0);
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Large enough for supernodes and nested dissection, compared with conjugate gradients.
#[test]
fn large_systems_agree_with_conjugate_gradients() {
    let a = laplacian_dirichlet([17, 16, 15]);
    let (mut elastic, positions) = truss([9, 9, 9], 3);
    let mut clamp = Constraints::empty(positions.len(), 3);
    for node in 0..81 {
        clamp.constrain_node(node, &[0.0; 3]).unwrap();
    }
    clamp.eliminate(&mut elastic).unwrap();
    for a in [a, elastic] {
        let rhs = vector(a.rows(), 1);
        let mut x = vec![0.0; a.rows()];
        let options = KrylovOptions {
            tolerance: 1e-13,
            ..Default::default()
        };
        let mut cg = Krylov::new(Method::Cg, options).unwrap();
        cg.solve(&a, &Jacobi::new(&a).unwrap(), &rhs, &mut x)
            .unwrap();
        for kind in [DirectKind::Auto, DirectKind::Ldlt, DirectKind::Lu] {
            let solver = DirectSolver::new(&a, kind).unwrap();
            let mut direct = vec![0.0; a.rows()];
            assert!(solver.solve(&rhs, &mut direct).unwrap() < 1e-13);
            assert!(relative_difference(&direct, &x) < 1e-9, "{kind}");
        }
    }
}

/// [K B; Bᵀ 0]: no pivot on the diagonal of the second field.
fn saddle(n: usize, together: bool) -> BlockMatrix {
    let k = laplacian_dirichlet([n, n, 1]);
    let count = k.rows();
    let mut t = Triplets::default();
    // B couples unknown i of the first field with i and i + 1 of the second.
    let b = |i: usize, j: usize| {
        if i == j {
            1.0
        } else if j == i + 1 {
            -0.5
        } else {
            0.0
        }
    };
    let stored = |i: usize, j: usize| i.abs_diff(j) < 2 || k.get(i, j).is_some();
    for i in 0..count {
        for j in (0..count).filter(|&j| stored(i, j)) {
            let v = k.get(i, j).map_or(0.0, |v| v[0]);
            if together {
                t.push(i, j, &[v, b(i, j), b(j, i), 0.0]);
            } else {
                t.push(i, j, &[v]);
                t.push(i, count + j, &[b(i, j)]);
                t.push(count + j, i, &[b(i, j)]);
            }
        }
    }
    if together {
        return t.matrix(count, 2);
    }
    for i in 0..count {
        t.push(count + i, count + i, &[0.0]);
    }
    t.matrix(2 * count, 1)
}

#[test]
fn saddle_points_are_solved() {
    for n in [2, 5, 30] {
        for together in [true, false] {
            let a = saddle(n, together);
            let rhs = vector(a.rows(), 4);
            let solver = DirectSolver::new(&a, DirectKind::Auto).unwrap();
            println!("{n} {together}: {}", solver.kind());
            assert!(solver.kind() != DirectKind::Cholesky);
            let mut x = vec![0.0; a.rows()];
            assert!(solver.solve(&rhs, &mut x).unwrap() < 1e-12);
            if n < 10 {
                assert!(relative_difference(&x, &dense_solve(&a, &rhs)) < 1e-10);
            }
        }
    }
}

fn singular(a: &BlockMatrix, kind: DirectKind) -> String {
    match DirectSolver::new(a, kind) {
        Err(error @ SolveError::Singular { .. }) => error.to_string(),
        // Cholesky and LDLᵀ can't tell in every case.
        Err(error @ SolveError::NotPositive { .. }) if kind == DirectKind::Cholesky => {
            error.to_string()
        }
        Err(error @ SolveError::Factorisation { .. }) if kind == DirectKind::Ldlt => {
            error.to_string()
        }
        other => panic!("{kind}, {} unknowns: {other:?}", a.rows()),
    }
}

#[test]
fn singular_matrices_are_recognised() {
    let all = [
        DirectKind::Auto,
        DirectKind::Cholesky,
        DirectKind::Ldlt,
        DirectKind::Lu,
    ];
    for size in [[2, 1, 1], [5, 5, 1], [30, 30, 1], [12, 12, 12]] {
        for kind in all {
            singular(&laplacian(size), kind);
        }
    }
    for (size, dim) in [([4, 4, 1], 2), ([6, 6, 6], 3)] {
        for kind in all {
            singular(&truss(size, dim).0, kind);
        }
    }
    // Nothing but zeros; an empty row; two equal rows.
    let mut t = Triplets::default();
    t.push(0, 0, &[0.0]);
    assert!(singular(&t.matrix(1, 1), DirectKind::Auto).contains("node 0"));
    let mut t = Triplets::default();
    t.push(0, 0, &[1.0, 0.0, 0.0, 1.0]);
    t.push(1, 1, &[1.0, 0.0, 0.0, 0.0]);
    for kind in all {
        assert!(singular(&t.matrix(2, 2), kind).contains("node 1, component 1"));
    }
    for n in [2, 60, 700] {
        let mut a = random_system(n, 1, Kind::Unsymmetric, 7).to_dense();
        for j in 0..n {
            a[j] = a[n + j];
        }
        let mut t = Triplets::default();
        for k in (0..n * n).filter(|&k| a[k] != 0.0) {
            t.push(k / n, k % n, &[a[k]]);
        }
        singular(&t.matrix(n, 1), DirectKind::Lu);
    }
    // Structurally: three rows with entries in two columns.
    let mut t = Triplets::default();
    for i in 0..3 {
        for j in 0..2 {
            t.push(i, j, &[1.0 + (i * 2 + j * 3) as f64]);
        }
    }
    t.push(0, 2, &[0.0]);
    t.push(3, 3, &[1.0]);
    t.push(3, 2, &[1.0]);
    assert!(singular(&t.matrix(4, 1), DirectKind::Lu).contains("depends on others"));
}

/// A matching exists, but not on the diagonal: no false alarm.
#[test]
fn permuted_matrices_are_solved() {
    for n in [3usize, 40, 600] {
        let mut t = Triplets::default();
        for i in 0..n {
            t.push(i, (i * 7 + 3) % n, &[2.0 + i as f64 / n as f64]);
            t.push(i, (i * 7 + 5) % n, &[0.5]);
        }
        let a = t.matrix(n, 1);
        let rhs = vector(n, 2);
        let mut x = vec![0.0; n];
        DirectSolver::new(&a, DirectKind::Auto)
            .unwrap()
            .solve(&rhs, &mut x)
            .unwrap();
        assert!(relative_difference(&x, &dense_solve(&a, &rhs)) < 1e-10);
    }
}

#[test]
fn wrong_input_is_named() {
    let indefinite = random_system(20, 2, Kind::Indefinite, 1);
    let unsymmetric = random_system(20, 2, Kind::Unsymmetric, 1);
    let error = |a: &BlockMatrix, kind| DirectSolver::new(a, kind).unwrap_err();
    assert!(matches!(
        error(&indefinite, DirectKind::Cholesky),
        SolveError::NotPositive { .. }
    ));
    for kind in [DirectKind::Cholesky, DirectKind::Ldlt] {
        assert!(matches!(
            error(&unsymmetric, kind),
            SolveError::NotSymmetric { .. }
        ));
    }
    let mut nan = unsymmetric.clone();
    nan.values_mut()[7] = f64::NAN;
    assert!(matches!(
        error(&nan, DirectKind::Auto),
        SolveError::NonFinite { index: 7, .. }
    ));
    let wide = BlockMatrix::from_triplets(1, 2, [1, 1], &[0], &[1], &[1.0]).unwrap();
    assert!(matches!(
        error(&wide, DirectKind::Auto),
        SolveError::NotSquare { .. }
    ));
    let solver = DirectSolver::new(&indefinite, DirectKind::Auto).unwrap();
    let mut x = [0.0; 40];
    assert!(solver.solve(&[1.0; 39], &mut x).is_err());
    assert!(solver.solve(&[1.0; 40], &mut x[1..]).is_err());
    assert!(solver.solve(&[f64::NAN; 40], &mut x).is_err());
}

#[test]
fn refactoring_follows_the_values() {
    for kind in KINDS {
        let a = random_system(200, 2, kind, 5);
        let mut solver = DirectSolver::new(&a, DirectKind::Auto).unwrap();
        let rhs = vector(400, 1);
        let check = |solver: &DirectSolver, a: &BlockMatrix| {
            let mut x = vec![0.0; 400];
            solver.solve(&rhs, &mut x).unwrap();
            assert!(relative_difference(&x, &dense_solve(a, &rhs)) < 1e-11);
        };
        let mut scaled = a.clone();
        scaled.scale(3.0);
        solver.refactor(&scaled).unwrap();
        check(&solver, &scaled);
        // Another kind of matrix on the same pattern, and back.
        let mut negative = a.clone();
        let diagonal = negative.get_mut(17, 17).unwrap();
        diagonal[0] = -diagonal[0];
        solver.refactor(&negative).unwrap();
        check(&solver, &negative);
        assert_eq!(solver.kind() == DirectKind::Lu, kind == Kind::Unsymmetric);
        solver.refactor(&a).unwrap();
        check(&solver, &a);
        // A failed factorisation leaves nothing to solve with, until the next.
        let mut empty = a.clone();
        empty.fill_zero();
        assert!(matches!(
            solver.refactor(&empty),
            Err(SolveError::Singular { .. })
        ));
        solver.refactor(&a).unwrap();
        check(&solver, &a);
        let other = random_system(200, 2, kind, 6);
        assert!(matches!(
            solver.refactor(&other),
            Err(SolveError::PatternChanged)
        ));
        check(&solver, &a);
    }
}

#[test]
fn dropped_zeros_may_come_back() {
    let full = random_system(100, 2, Kind::Positive, 5);
    let mut sparse = full.clone();
    for i in 0..100 {
        let block = sparse.get_mut(i, i).unwrap();
        (block[1], block[2]) = (0.0, 0.0);
    }
    let mut solver = DirectSolver::new(&sparse, DirectKind::Cholesky).unwrap();
    let mut coupled = sparse.clone();
    for i in 0..100 {
        let block = coupled.get_mut(i, i).unwrap();
        (block[1], block[2]) = (0.25, 0.25);
    }
    solver.refactor(&coupled).unwrap();
    let rhs = vector(200, 1);
    let mut x = vec![0.0; 200];
    solver.solve(&rhs, &mut x).unwrap();
    assert!(relative_difference(&x, &dense_solve(&coupled, &rhs)) < 1e-12);
}

#[test]
fn ill_conditioned_systems_still_pass() {
    // A clamped chain of bending stiffness: condition n^4, about 1e12.
    let n = 1000;
    let mut t = Triplets::default();
    for i in 0..n {
        for (d, v) in [(0, 6.0), (1, -4.0), (2, 1.0)] {
            if i + d < n {
                t.push(i, i + d, &[v]);
                if d > 0 {
                    t.push(i + d, i, &[v]);
                }
            }
        }
    }
    let a = t.matrix(n, 1);
    let solver = DirectSolver::new(&a, DirectKind::Auto).unwrap();
    assert_eq!(solver.kind(), DirectKind::Cholesky);
    let mut x = vec![0.0; n];
    solver.solve(&vec![1.0; n], &mut x).unwrap();
    // Units of the rows don't matter: a diagonal from 1e-8 to 1e8.
    let base = laplacian_dirichlet([8, 8, 8]);
    let mut t = Triplets::default();
    let unit = |i: usize| 10f64.powi((i % 9) as i32 - 4);
    for i in 0..base.rows() {
        for (&j, v) in base.pattern().row(i).iter().zip(base.row(i).1) {
            t.push(i, j as usize, &[v * unit(i) * unit(j as usize)]);
        }
    }
    for kind in [DirectKind::Auto, DirectKind::Ldlt, DirectKind::Lu] {
        let scaled = DirectSolver::new(&t.matrix(base.rows(), 1), kind).unwrap();
        let truth = vector(base.rows(), 3);
        let mut rhs = vec![0.0; base.rows()];
        base.multiply(&truth, &mut rhs).unwrap();
        let scaled_rhs: Vec<f64> = rhs.iter().enumerate().map(|(i, v)| v * unit(i)).collect();
        let mut x = vec![0.0; base.rows()];
        scaled.solve(&scaled_rhs, &mut x).unwrap();
        let x: Vec<f64> = x.iter().enumerate().map(|(i, v)| v * unit(i)).collect();
        assert!(relative_difference(&x, &truth) < 1e-9, "{kind}");
    }
}

/// Times of the phases; run with `--release -- --ignored --nocapture times_of`.
#[test]
#[ignore = "a measurement"]
fn times_of_direct_solves() {
    let seconds = |start: std::time::Instant| start.elapsed().as_secs_f64();
    for n in [30, 46] {
        let a = laplacian_dirichlet([n, n, n]);
        let rhs = vector(a.rows(), 1);
        let mut x = vec![0.0; a.rows()];
        for kind in [DirectKind::Auto, DirectKind::Ldlt, DirectKind::Lu] {
            if kind == DirectKind::Lu && n > 30 {
                continue;
            }
            let start = std::time::Instant::now();
            let mut solver = DirectSolver::new(&a, kind).unwrap();
            let new = seconds(start);
            let start = std::time::Instant::now();
            solver.refactor(&a).unwrap();
            let refactor = seconds(start);
            solver.solve(&rhs, &mut x).unwrap();
            let start = std::time::Instant::now();
            let relative = solver.solve(&rhs, &mut x).unwrap();
            println!(
                "{n}^3 {}: new {new:.3} s, refactor {refactor:.3} s, solve {:.4} s, residual {relative:.1e}, \
                 factors {} MB",
                solver.kind(),
                seconds(start),
                solver.factor_bytes() >> 20
            );
        }
    }
}
