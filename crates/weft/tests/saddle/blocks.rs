//! Systems of blocks against the matrices they stand for.

use crate::common::{Random, assert_close};
use crate::counting::own_calls;
use crate::{dense_product, one_block, random_matrix};
use weft::Real;
use weft::solve::{
    Block, BlockDiagonal, BlockJacobi, BlockSystem, BlockTriangular, Identity, Jacobi, Krylov,
    KrylovOptions, LinearOperator, Method, Preconditioner, Scaled, SolveError, schur_by_diagonal,
};
use weft::sparse::BlockMatrix;

fn apply(a: &dyn LinearOperator, x: &[f64]) -> Vec<f64> {
    let mut y = vec![f64::NAN; a.rows()];
    a.apply(x, &mut y);
    y
}

#[test]
fn the_operator_is_its_matrix() {
    let mut random = Random(3);
    for (p, q, r) in [(1, 1, 1), (4, 7, 2), (30, 11, 5)] {
        let a = random_matrix(p, p, [2, 2], 3, &mut random);
        let b = random_matrix(q, p, [1, 2], 3, &mut random);
        let c = random_matrix(q, r, [1, 3], 2, &mut random);
        let d = random_matrix(r, r, [3, 3], 2, &mut random);
        let system = BlockSystem::new(vec![
            Block::Matrix(&a),
            Block::Transposed(&b),
            Block::Zero,
            Block::Matrix(&b),
            Block::Zero,
            Block::Matrix(&c),
            Block::Zero,
            Block::Transposed(&c),
            Block::Operator(&d),
        ])
        .unwrap();
        let n = 2 * p + q + 3 * r;
        assert_eq!((system.count(), system.size()), (3, n));
        assert_eq!(system.range(1), 2 * p..2 * p + q);
        // The same by its entries.
        assert_eq!(system.monolithic().unwrap_err(), SolveError::Unassembled);
        let mut dense = vec![0.0; n * n];
        let mut put = |m: &BlockMatrix, row: usize, col: usize, transposed: bool| {
            let entries = m.to_dense();
            for i in 0..m.rows() {
                for j in 0..m.cols() {
                    let (k, l) = if transposed { (j, i) } else { (i, j) };
                    dense[(row + k) * n + col + l] = entries[i * m.cols() + j];
                }
            }
        };
        put(&a, 0, 0, false);
        put(&b, 0, 2 * p, true);
        put(&b, 2 * p, 0, false);
        put(&c, 2 * p, 2 * p + q, false);
        put(&c, 2 * p + q, 2 * p, true);
        put(&d, 2 * p + q, 2 * p + q, false);
        let x = random.numbers(n);
        let expected = dense_product([n, n, 1], &dense, &x);
        assert_close(&apply(&system, &x), &expected, 1e-14, "three blocks");
        let mut y = x.clone();
        system.apply_add(2.0, &x, -1.0, &mut y);
        let sum: Vec<f64> = expected.iter().zip(&x).map(|(e, x)| 2.0 * e - x).collect();
        assert_close(&y, &sum, 1e-14, "y = 2 A x - y");
        let known = BlockSystem::new(vec![
            Block::Matrix(&a),
            Block::Transposed(&b),
            Block::Matrix(&b),
            Block::Zero,
        ])
        .unwrap();
        let m = known.monolithic().unwrap();
        let n = known.size();
        let x = random.numbers(n);
        assert_close(&apply(&m, &x), &apply(&known, &x), 1e-14, "monolithic");
        assert!((0..n).all(|i| m.pattern().position(i, i).is_some()));
        let saddle = BlockSystem::saddle(&a, &b).unwrap();
        assert_eq!(apply(&saddle, &x), apply(&known, &x));
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let mut random = Random(5);
    let a = random_matrix(4, 4, [1, 1], 2, &mut random);
    let b = random_matrix(3, 5, [1, 1], 2, &mut random);
    assert!(matches!(
        BlockSystem::saddle(&a, &b),
        Err(SolveError::Size {
            found: 5,
            expected: 4,
            ..
        })
    ));
    assert!(BlockSystem::new(vec![Block::Matrix(&a); 3]).is_err());
    assert!(BlockSystem::new(vec![Block::Matrix(&b)]).is_err());
    let hollow = vec![Block::Matrix(&a), Block::Zero, Block::Zero, Block::Zero];
    assert!(matches!(
        BlockSystem::new(hollow),
        Err(SolveError::Singular { .. })
    ));
    assert_eq!(BlockSystem::<f64>::new(Vec::new()).unwrap().size(), 0);
    let system = BlockSystem::new(vec![Block::Matrix(&a)]).unwrap();
    assert!(BlockDiagonal::new(&system, vec![]).is_err());
    let other = Jacobi::new(&random_matrix(3, 3, [1, 1], 1, &mut random)).unwrap();
    assert!(BlockDiagonal::new(&system, vec![&other]).is_err());
    assert!(BlockTriangular::new(&system, vec![&other]).is_err());
}

/// A, B and S = B A⁻¹ Bᵀ with inverses that are exact, for A symmetric positive definite or not.
struct Exact {
    a: BlockMatrix,
    b: BlockMatrix,
    a_inverse: BlockJacobi,
    s_inverse: BlockJacobi,
}

fn exact(n: usize, m: usize, symmetric: bool, random: &mut Random) -> Exact {
    let r = random.numbers(n * n);
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            a[i * n + j] = match symmetric {
                true => (0..n).map(|k| r[i * n + k] * r[j * n + k]).sum(),
                false => r[i * n + j],
            };
        }
        a[i * n + i] += n as f64;
    }
    let b = random.numbers(m * n);
    let a = one_block(n, n, a);
    let b = one_block(m, n, b);
    let a_inverse = BlockJacobi::new(&a).unwrap();
    let mut s = vec![0.0; m * m];
    let dense = b.to_dense();
    for j in 0..m {
        let mut column = vec![0.0; n];
        a_inverse.apply(&dense[j * n..(j + 1) * n], &mut column);
        for i in 0..m {
            s[i * m + j] = (0..n).map(|k| dense[i * n + k] * column[k]).sum();
        }
    }
    Exact {
        a_inverse,
        s_inverse: BlockJacobi::new(&one_block(m, m, s)).unwrap(),
        a,
        b,
    }
}

#[test]
fn exact_preconditioners_end_in_two_and_three_iterations() {
    // Murphy, Golub & Wathen, SIAM J. Sci. Comput. 21 (2000): the preconditioned matrices have minimal
    // polynomials of degree 2 (triangular) and 3 (diagonal).
    let mut random = Random(11);
    for symmetric in [true, false] {
        let e = exact(12, 5, symmetric, &mut random);
        let system = BlockSystem::saddle(&e.a, &e.b).unwrap();
        let rhs = random.numbers(17);
        let solve = |method, m: &dyn Preconditioner| {
            let mut x = vec![0.0; 17];
            let mut solver = Krylov::new(method, KrylovOptions::default()).unwrap();
            let count = solver.solve(&system, m, &rhs, &mut x).unwrap().iterations;
            assert_close(&apply(&system, &x), &rhs, 1e-9, "residual");
            count
        };
        let schur = Scaled {
            factor: -1.0,
            inner: &e.s_inverse,
        };
        let triangular = BlockTriangular::new(&system, vec![&e.a_inverse, &schur]).unwrap();
        assert!(solve(Method::Gmres, &triangular) <= 2);
        let diagonal = BlockDiagonal::new(&system, vec![&e.a_inverse, &e.s_inverse]).unwrap();
        assert!(solve(Method::Gmres, &diagonal) <= 3);
        if symmetric {
            assert!(solve(Method::Minres, &diagonal) <= 3);
        }
        assert!(solve(Method::Gmres, &Identity) > 3);
    }
}

#[test]
fn applying_allocates_nothing() {
    let mut random = Random(13);
    let e = exact(12, 5, true, &mut random);
    let system = BlockSystem::saddle(&e.a, &e.b).unwrap();
    let diagonal = BlockDiagonal::new(&system, vec![&e.a_inverse, &e.s_inverse]).unwrap();
    let triangular = BlockTriangular::new(&system, vec![&e.a_inverse, &e.s_inverse]).unwrap();
    let x = random.numbers(17);
    let mut y = vec![0.0; 17];
    let before = own_calls();
    system.apply(&x, &mut y);
    diagonal.apply(&x, &mut y);
    triangular.apply(&x, &mut y);
    assert_eq!(own_calls(), before);
}

#[test]
fn schur_complement_by_the_diagonal() {
    let mut random = Random(17);
    let mut a = random_matrix(20, 20, [2, 2], 2, &mut random);
    let b = random_matrix(9, 20, [1, 2], 4, &mut random);
    let s = schur_by_diagonal(&a, &b).unwrap();
    assert_eq!((s.rows(), s.block()), (9, [1, 1]));
    let d = a.diagonal();
    let dense = b.to_dense();
    let expected: Vec<f64> = (0..81)
        .map(|k| {
            (0..40)
                .map(|l| dense[k / 9 * 40 + l] * dense[k % 9 * 40 + l] / d[l])
                .sum()
        })
        .collect();
    assert_close(&s.to_dense(), &expected, 1e-13, "B diag(A)^-1 B'");
    a.get_mut(3, 3).unwrap()[3] = 0.0;
    let error = schur_by_diagonal(&a, &b).unwrap_err();
    assert!(
        matches!(error, SolveError::NonFinite { index: 7, .. }),
        "{error}"
    );
}

#[test]
fn constants_are_found_taken_out_and_pinned() {
    // Differences along a ring: both the matrix and its transpose map the constant to zero.
    let n = 12;
    let mut random = Random(23);
    let (mut r, mut c, mut v) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n as u32 {
        for (j, value) in [(i, 1.0), ((i + 1) % n as u32, -1.0)] {
            r.push(i);
            c.push(j);
            // Two components: the second isn't constant-free.
            v.extend([value, 0.0, 0.0, if i == j { 2.0 } else { 0.0 }]);
        }
    }
    let a = BlockMatrix::from_triplets(n, n, [2, 2], &r, &c, &v).unwrap();
    let b = random_matrix(5, 5, [1, 1], 2, &mut random);
    let system = BlockSystem::new(vec![
        Block::Matrix(&a),
        Block::Zero,
        Block::Zero,
        Block::Matrix(&b),
    ])
    .unwrap();
    let null = system.constants();
    assert_eq!(null.constants().collect::<Vec<_>>(), [(0, 0)]);
    let mut rhs = random.numbers(2 * n + 5);
    let before = rhs.clone();
    let removed = null.project(&mut rhs).unwrap();
    let length = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let difference: Vec<f64> = rhs.iter().zip(&before).map(|(a, b)| a - b).collect();
    assert!((removed - length(&difference) / length(&before)).abs() < 1e-14);
    assert!(null.project(&mut rhs).unwrap() < 1e-14);
    assert!(null.project(&mut rhs[1..]).is_err());
    // Pinned, the matrix is regular, and its solution one of the system.
    let mut pinned = system.monolithic().unwrap();
    null.pin(&mut pinned).unwrap();
    let mut b = rhs.clone();
    null.pin_rhs(&mut b).unwrap();
    let inverse = BlockJacobi::new(&pinned.with_block([29, 29]).unwrap()).unwrap();
    let mut x = vec![0.0; 29];
    inverse.apply(&b, &mut x);
    assert_eq!(x[0], 0.0);
    assert_close(&apply(&system, &x), &rhs, 1e-12, "a solution");
    null.project(&mut x).unwrap();
    assert_close(&apply(&system, &x), &rhs, 1e-12, "the one of mean zero");
    // A row that sees the constant, or a column, ends it.
    for (row, col) in [(3, 3), (0, 1)] {
        let mut other = a.clone();
        other.get_mut(row, col).unwrap()[0] += 1e-6;
        let system = BlockSystem::new(vec![Block::Matrix(&other)]).unwrap();
        assert!(system.constants().is_empty());
    }
    let mut bad = a.clone();
    bad.values_mut()[0] = f64::NAN;
    assert!(
        BlockSystem::new(vec![Block::Matrix(&bad)])
            .unwrap()
            .constants()
            .is_empty()
    );
    // Operators can't be looked into.
    assert!(
        BlockSystem::new(vec![Block::Operator(&a)])
            .unwrap()
            .constants()
            .is_empty()
    );
}

/// Springs in a row, the last one held by another to the ground: regular.
fn springs(stiffness: &[f64], ground: f64) -> BlockMatrix {
    let n = stiffness.len() + 1;
    let mut dense = vec![0.0; n * n];
    for (i, k) in stiffness.iter().enumerate() {
        for (a, b, v) in [
            (i, i, k),
            (i + 1, i + 1, k),
            (i, i + 1, &-k),
            (i + 1, i, &-k),
        ] {
            dense[a * n + b] += v;
        }
    }
    dense[n * n - 1] += ground;
    let rows: Vec<u32> = (0..n * n).map(|k| (k / n) as u32).collect();
    let columns: Vec<u32> = (0..n * n).map(|k| (k % n) as u32).collect();
    BlockMatrix::from_triplets(n, n, [1, 1], &rows, &columns, &dense).unwrap()
}

#[test]
fn issue_006_contrast_is_no_null_space() {
    fn free<T: Real>(a: &BlockMatrix<T>) -> usize {
        let system = BlockSystem::new(vec![Block::Matrix(a)]).unwrap();
        system.constants().len()
    }
    let free32 = |a: &BlockMatrix| free(&a.to::<f32>());
    for contrast in [1.0, 1e3, 1e6] {
        assert_eq!(
            free32(&springs(&[contrast, contrast, 1.0], 1.0)),
            0,
            "{contrast:e}"
        );
        assert_eq!(
            free32(&springs(&[contrast, contrast, 1.0], 0.0)),
            1,
            "{contrast:e}"
        );
    }
    for contrast in [1.0, 1e6, 1e9, 1e12] {
        assert_eq!(
            free(&springs(&[contrast, contrast, 1.0], 1.0)),
            0,
            "{contrast:e}"
        );
        assert_eq!(
            free(&springs(&[1.0, contrast, 0.1], 0.0)),
            1,
            "{contrast:e}"
        );
    }
}

#[test]
fn issue_006_inverses_beyond_single_precision() {
    let tiny = BlockMatrix::<f32>::from_block_diagonal([1, 1], vec![1e-39]).unwrap();
    let one = BlockMatrix::<f32>::identity(1, 1).unwrap();
    assert!(matches!(
        schur_by_diagonal(&tiny, &one),
        Err(SolveError::NonFinite { .. })
    ));
    for values in [[1e-39f32, 0.0, 0.0, 1e-39], [1e-39, 1e-40, 0.0, 1e-39]] {
        let a = BlockMatrix::<f32>::from_block_diagonal([2, 2], values.to_vec()).unwrap();
        let mut z = [0.0f32; 2];
        BlockJacobi::new(&a).unwrap().apply(&[1.0, 1.0], &mut z);
        assert!(z.iter().all(|v| v.is_finite()), "{z:?}");
    }
}
