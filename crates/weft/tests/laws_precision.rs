//! Matrices, vectors and solvers of `f32` against those of `f64`.

#[path = "common/splitmix.rs"]
mod splitmix;

use splitmix::Random;
use std::sync::Arc;
use weft::Real;
use weft::assemble::{AssembleError, MatrixPlan, VectorPlan};
use weft::form::{Expr, Form, Scope};
use weft::geometry::{AdaptiveVoxelGrid, Mark, VoxelMap, shapes};
use weft::solve::{
    BlockDiagonal, BlockJacobi, BlockSystem, BlockTriangular, Constraints, Identity, Jacobi,
    Krylov, KrylovOptions, Method, Preconditioner, Scaled, SolveError, StopReason,
};
use weft::space::Space;
use weft::sparse::{BlockMatrix, MatrixMarket, ProductPlan, Symmetry};

const BLOCKS: [[usize; 2]; 6] = [[1, 1], [2, 2], [3, 3], [1, 3], [3, 1], [4, 2]];

/// Entries that `f32` holds exactly.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..n).map(|_| random.next() as f32).collect()
}

fn random_matrix(n: [usize; 2], block: [usize; 2], seed: u64) -> BlockMatrix<f32> {
    let mut random = Random(seed);
    let count = 3 * n[0];
    let r: Vec<u32> = (0..count).map(|_| random.below(n[0]) as u32).collect();
    let c: Vec<u32> = (0..count).map(|_| random.below(n[1]) as u32).collect();
    let v = numbers(count * block[0] * block[1], seed + 1);
    BlockMatrix::from_triplets(n[0], n[1], block, &r, &c, &v).unwrap()
}

fn wide(v: &[f32]) -> Vec<f64> {
    v.iter().map(|v| f64::from(*v)).collect()
}

fn assert_close(single: &[f32], double: &[f64], roundings: f64) {
    assert_eq!(single.len(), double.len());
    let size = double.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
    for (i, (s, d)) in single.iter().zip(double).enumerate() {
        let error = (f64::from(*s) - d).abs();
        assert!(
            error <= roundings * f32::EPSILON as f64 * size,
            "entry {i}: {s} against {d}"
        );
    }
}

#[test]
fn algebra_of_both_precisions_agrees() {
    for (k, block) in BLOCKS.into_iter().enumerate() {
        let n = [40, 30];
        let a = random_matrix(n, block, 10 * k as u64);
        let b = random_matrix(n, block, 10 * k as u64 + 5);
        let (a64, b64) = (a.to::<f64>(), b.to::<f64>());
        assert_eq!(a64.to::<f32>().values(), a.values());

        let x = numbers(a.cols(), 7);
        let (mut y, mut y64) = (numbers(a.rows(), 8), wide(&numbers(a.rows(), 8)));
        a.multiply_add(1.5, &x, -0.5, &mut y).unwrap();
        a64.multiply_add(1.5, &wide(&x), -0.5, &mut y64).unwrap();
        assert_close(&y, &y64, 40.0);
        let (mut z, mut z64) = (vec![0.0; a.cols()], vec![0.0; a.cols()]);
        a.multiply_transposed(2.0, &y, 0.0, &mut z).unwrap();
        a64.multiply_transposed(2.0, &wide(&y), 0.0, &mut z64)
            .unwrap();
        assert_close(&z, &z64, 40.0);

        // What doesn't compute has the same numbers.
        assert_eq!(wide(a.transpose().values()), a64.transpose().values());
        assert_eq!(wide(&a.diagonal()), a64.diagonal());
        assert_eq!(wide(&a.block_diagonal()), a64.block_diagonal());
        assert_eq!(wide(&a.to_dense()), a64.to_dense());
        let scalar = a.with_block([1, 1]).unwrap();
        assert_eq!(
            wide(scalar.values()),
            a64.with_block([1, 1]).unwrap().values()
        );
        assert_eq!(a.max_abs(), a64.max_abs());
        assert!((a.frobenius_norm() / a64.frobenius_norm() - 1.0).abs() < 1e-12);

        let sum = BlockMatrix::sum(2.0, &a, -3.0, &b).unwrap();
        let sum64 = BlockMatrix::sum(2.0, &a64, -3.0, &b64).unwrap();
        assert_close(sum.values(), sum64.values(), 8.0);
        let plan = ProductPlan::new(a.pattern(), a.transpose().pattern()).unwrap();
        let blocks = [block[0], block[0]];
        let mut product = BlockMatrix::<f32>::zeros(plan.pattern().clone(), blocks);
        let mut product64 = BlockMatrix::<f64>::zeros(plan.pattern().clone(), blocks);
        plan.multiply(&a, &a.transpose(), &mut product).unwrap();
        plan.multiply(&a64, &a64.transpose(), &mut product64)
            .unwrap();
        assert_close(product.values(), product64.values(), 60.0);

        let mut text = Vec::new();
        MatrixMarket::write(&a, Symmetry::General, &mut text).unwrap();
        let read = MatrixMarket::read(&text[..]).unwrap().matrix;
        assert_eq!(read.to::<f32>().values(), scalar.values());

        assert!(2 * a.values().len() * size_of::<f32>() <= a64.memory_bytes());
        assert!(a.memory_bytes() < a64.memory_bytes());
    }
}

/// −Δu = 1 + x, or elasticity, with u = 0 on one side of a skewed box.
fn poisson(vector: bool, cells: usize) -> (Form, Form, Constraints) {
    let mesh = shapes::box_hexes([cells, cells, cells], [0.0; 3], [1.0; 3]).unwrap();
    let mesh = mesh
        .moved(|x| [x[0] + 0.1 * x[1] * x[2], x[1] + 0.05 * x[0] * x[2], x[2]])
        .unwrap();
    let scalar = Space::lagrange(&mesh, 1).unwrap();
    let space = if vector {
        scalar.vector(3).unwrap()
    } else {
        scalar
    };
    let mut scope = Scope::new(Arc::new(mesh.clone()));
    scope.set("u", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    let (a, b) = if vector {
        ("inner(sym(grad(u)), sym(grad(v)))*dx", "v[2]*dx")
    } else {
        ("dot(grad(u), grad(v))*dx", "(1 + x[0])*v*dx")
    };
    let (a, b) = (scope.form(a).unwrap(), scope.form(b).unwrap());
    let n = space.components();
    let mut constraints = Constraints::empty(space.node_count(), n);
    for (node, x) in space.node_positions().iter().enumerate() {
        if x[2].abs() < 1e-12 {
            constraints.constrain_node(node, &vec![0.0; n]).unwrap();
        }
    }
    (a, b, constraints)
}

#[test]
fn assembly_rounds_once() {
    for vector in [false, true] {
        let (a, b, constraints) = poisson(vector, 4);
        let (mut matrices, mut vectors) =
            (MatrixPlan::new(&a).unwrap(), VectorPlan::new(&b).unwrap());
        let mut double = matrices.matrix();
        let mut single = double.to::<f32>();
        matrices.assemble(&mut double).unwrap();
        matrices.assemble(&mut single).unwrap();
        assert_eq!(single.values(), double.to::<f32>().values());
        let mut rhs = vec![0.0f64; double.rows()];
        let mut rhs32 = vec![0.0f32; double.rows()];
        vectors.assemble(&mut rhs).unwrap();
        vectors.assemble(&mut rhs32).unwrap();
        assert!(rhs.iter().zip(&rhs32).all(|(d, s)| *d as f32 == *s));
        constraints.apply(&mut double, &mut rhs).unwrap();
        constraints.apply(&mut single, &mut rhs32).unwrap();
        assert_close(single.values(), double.values(), 4.0);
        assert_close(&rhs32, &rhs, 4.0);
        assert!(single.is_symmetric(0.0));
        // A matrix of another plan is refused.
        let other = BlockMatrix::<f32>::identity(3, 1).unwrap();
        let refused = matrices.assemble(&mut other.clone());
        assert!(matches!(refused, Err(AssembleError::Target { .. })));
    }
}

#[test]
fn hanging_nodes_are_condensed_in_both_precisions() {
    let coarse: Vec<[i32; 3]> = (0..8).map(|k| [k / 4, k / 2 % 2, k % 2]).collect();
    let map = VoxelMap::uniform(0.25).unwrap();
    let uniform = AdaptiveVoxelGrid::uniform(&coarse, 1, map).unwrap();
    let marks: Vec<Mark> = (0..uniform.cell_count())
        .map(|c| if c == 0 { Mark::Refine } else { Mark::Keep })
        .collect();
    let grid = uniform.adapted(&marks).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    assert!(!space.hanging().is_empty());
    let mut scope = Scope::new(Arc::new(grid.clone()));
    scope.set("u", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    let form = |text: &str| scope.form(text).unwrap();
    let mut plan = MatrixPlan::new(&form("dot(grad(u), grad(v))*dx + u*v*dx")).unwrap();
    let mut double = plan.matrix();
    let mut single = double.to::<f32>();
    plan.assemble(&mut double).unwrap();
    plan.assemble(&mut single).unwrap();
    assert_eq!(single.values(), double.to::<f32>().values());
    let mut plan = VectorPlan::new(&form("x[0]*v*dx")).unwrap();
    let mut rhs = vec![0.0f64; space.dof_count()];
    let mut rhs32 = vec![0.0f32; space.dof_count()];
    plan.assemble(&mut rhs).unwrap();
    plan.assemble(&mut rhs32).unwrap();
    assert!(rhs.iter().zip(&rhs32).all(|(d, s)| *d as f32 == *s));
}

fn solve<T: Real>(
    method: Method,
    vector: bool,
    block: bool,
    tolerance: f64,
) -> Result<Vec<f64>, SolveError> {
    solve_on::<T>(6, method, vector, block, tolerance)
}

fn solve_on<T: Real>(
    cells: usize,
    method: Method,
    vector: bool,
    block: bool,
    tolerance: f64,
) -> Result<Vec<f64>, SolveError> {
    let (a, b, constraints) = poisson(vector, cells);
    let (mut matrices, mut vectors) = (MatrixPlan::new(&a).unwrap(), VectorPlan::new(&b).unwrap());
    let mut matrix = matrices.matrix().to::<T>();
    matrices.assemble(&mut matrix).unwrap();
    let mut rhs = vec![T::ZERO; matrix.rows()];
    vectors.assemble(&mut rhs).unwrap();
    constraints.apply(&mut matrix, &mut rhs).unwrap();
    let options = KrylovOptions {
        tolerance,
        ..KrylovOptions::default()
    };
    let mut x = vec![T::ZERO; matrix.rows()];
    let (jacobi, blocks) = (
        Jacobi::new(&matrix).unwrap(),
        BlockJacobi::new(&matrix).unwrap(),
    );
    let m: &dyn Preconditioner<T> = if block { &blocks } else { &jacobi };
    Krylov::new(method, options)?.solve(&matrix, m, &rhs, &mut x)?;
    Ok(x.into_iter().map(T::widen).collect())
}

#[test]
fn every_method_solves_in_both_precisions() {
    for method in [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres] {
        for vector in [false, true] {
            for block in [false, true] {
                let exact = solve::<f64>(method, vector, block, 1e-12).unwrap();
                let single = solve::<f32>(method, vector, block, 1e-5).unwrap();
                let largest = exact.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                assert!(largest > 1e-2);
                for (e, s) in exact.iter().zip(&single) {
                    let what = format!("{method:?} {vector} {block}: {e} {s}");
                    assert!((e - s).abs() < 2e-4 * largest, "{what}");
                }
            }
        }
    }
}

/// Stokes in a box, with walls at rest: MINRES with diagonal parts, and GMRES with triangular ones.
#[test]
fn saddle_points_are_solved_in_both_precisions() {
    let double = stokes::<f64>(1e-11);
    let single = stokes::<f32>(1e-5);
    let largest = double
        .iter()
        .flatten()
        .fold(0.0, |m: f64, v| m.max(v.abs()));
    assert!(largest > 1e-4);
    for (double, single) in double.iter().zip(&single) {
        for (d, s) in double.iter().zip(single) {
            assert!((d - s).abs() < 1e-3 * largest, "{d} {s} of {largest}");
        }
    }
}

/// The solution by each way.
fn stokes<T: Real>(tolerance: f64) -> Vec<Vec<f64>> {
    let mesh = shapes::rectangle_quads([6, 6], [0.0; 2], [1.0; 2]).unwrap();
    let velocity = Space::lagrange(&mesh, 2).unwrap().vector(2).unwrap();
    let pressure = Space::lagrange(&mesh, 1).unwrap();
    let mut scope = Scope::new(Arc::new(mesh.clone()));
    scope.set("u", Expr::trial(&velocity));
    scope.set("v", Expr::test(&velocity));
    scope.set("p", Expr::trial(&pressure));
    scope.set("q", Expr::test(&pressure));
    let matrix = |text: &str| {
        let mut plan = MatrixPlan::new(&scope.form(text).unwrap()).unwrap();
        let mut matrix = plan.matrix().to::<T>();
        plan.assemble(&mut matrix).unwrap();
        matrix
    };
    let mut a = matrix("inner(grad(u), grad(v))*dx");
    let mut b = matrix("-q*div(u)*dx");
    let mass = matrix("p*q*dx");
    let mut f = vec![T::ZERO; a.rows()];
    VectorPlan::new(&scope.form("x[0]*v[1]*dx").unwrap())
        .unwrap()
        .assemble(&mut f)
        .unwrap();
    let mut walls = Constraints::empty(velocity.node_count(), 2);
    for (node, x) in velocity.node_positions().iter().enumerate() {
        if x[..2].iter().any(|x| x.min(1.0 - x).abs() < 1e-12) {
            walls.constrain_node(node, &[0.0; 2]).unwrap();
        }
    }
    walls.apply(&mut a, &mut f).unwrap();
    walls.eliminate_columns(&mut b).unwrap();
    let system = BlockSystem::saddle(&a, &b).unwrap();
    let null = system.constants();
    assert_eq!(null.constants().collect::<Vec<_>>(), [(1, 0)]);
    let mut rhs = f.clone();
    rhs.resize(system.size(), T::ZERO);
    null.project(&mut rhs).unwrap();
    let (first, second) = (BlockJacobi::new(&a).unwrap(), Jacobi::new(&mass).unwrap());
    let diagonal = BlockDiagonal::new(&system, vec![&first, &second]).unwrap();
    let minus = Scaled {
        factor: -1.0,
        inner: &second,
    };
    let triangular = BlockTriangular::new(&system, vec![&first, &minus]).unwrap();
    let ways: [(Method, &dyn Preconditioner<T>); 2] =
        [(Method::Minres, &diagonal), (Method::Gmres, &triangular)];
    let options = KrylovOptions {
        tolerance,
        restart: 300,
        ..KrylovOptions::default()
    };
    ways.into_iter()
        .map(|(method, m)| {
            let mut x = vec![T::ZERO; system.size()];
            let mut krylov = Krylov::new(method, options).unwrap();
            krylov.solve(&system, m, &rhs, &mut x).unwrap();
            null.project(&mut x).unwrap();
            x.into_iter().map(T::widen).collect()
        })
        .collect()
}

/// What `f32` can't reach is an error that says so, not an endless loop or a silent success.
#[test]
fn a_tolerance_beyond_the_precision_is_an_error() {
    for method in [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres] {
        let Err(SolveError::NotConverged { convergence, .. }) =
            solve::<f32>(method, false, false, 1e-13)
        else {
            panic!("{method:?} claims a residual of 1e-13 in single precision");
        };
        let reason = &convergence.reason;
        assert!(
            !matches!(reason, StopReason::Converged | StopReason::ZeroRhs),
            "{reason:?}"
        );
        assert!(
            convergence.relative_residual < 1e-4,
            "{method:?}: {convergence:?}"
        );
        assert!(convergence.relative_residual > 1e-13);
    }
}

#[test]
fn numbers_beyond_the_range_are_found() {
    let mut a = BlockMatrix::<f64>::identity(4, 1).unwrap();
    a.scale(1e60);
    let a = a.to::<f32>();
    assert_eq!(a.first_non_finite(), Some(0));
    assert!(matches!(Jacobi::new(&a), Err(SolveError::NonFinite { .. })));
    assert!(matches!(
        BlockJacobi::new(&a),
        Err(SolveError::NonFinite { .. })
    ));
    // The inverse of a tiny number overflows: it passes unchanged, as a zero does.
    let tiny = BlockMatrix::<f32>::from_block_diagonal([1, 1], vec![1e-40, 0.0, 2.0]).unwrap();
    let mut z = [0.0f32; 3];
    Jacobi::new(&tiny).unwrap().apply(&[1.0, 1.0, 1.0], &mut z);
    assert_eq!(z, [1.0, 1.0, 0.5]);
    let mut x = vec![0.0f32; 4];
    let b = [1.0, f32::NAN, 1.0, 1.0];
    let identity = BlockMatrix::<f32>::identity(4, 1).unwrap();
    let solved = Krylov::new(Method::Cg, KrylovOptions::default())
        .unwrap()
        .solve(&identity, &Identity, &b, &mut x)
        .map(|_| ());
    assert!(matches!(
        solved,
        Err(SolveError::NonFinite { index: 1, .. })
    ));
}

/// On a mesh that is large enough for every part of a solve to be shared by threads.
#[test]
fn threads_do_not_change_the_bits() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap()
            .install(|| solve_on::<f32>(18, Method::Cg, true, true, 1e-4).unwrap())
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}
