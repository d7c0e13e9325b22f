//! Chapter 8 and 13.6: linear algebra.

use crate::common::Random;
use weft::assemble::{integrate, matrix, vector};
use weft::form::{Expr, Measure, Shape};
use weft::geometry::Grid2;
use weft::solve::{Constraints, SymmetricEigen};
use weft::space::Space;

/// ‖VᵀDV − A‖², with the extreme eigenvalues and the trace.
fn check(n: usize, a: &[f64], bound: f64) {
    let eigen = SymmetricEigen::new(n, a);
    let mut off = 0.0;
    for i in 0..n {
        for j in 0..n {
            let term = |k: usize| eigen.values()[k] * eigen.vector(k)[i] * eigen.vector(k)[j];
            let sum: f64 = (0..n).map(term).sum();
            off += (sum - a[i * n + j]).powi(2);
        }
    }
    assert!(off <= bound, "{off:e}");
    let trace: f64 = (0..n).map(|i| a[i * (n + 1)]).sum();
    let sum: f64 = eigen.values().iter().sum();
    assert!(
        (trace - sum).abs() < 1e-10 * (1.0 + trace.abs()),
        "{trace} {sum}"
    );
    // Rayleigh quotients lie between the extreme values.
    let low = eigen.values().iter().copied().fold(f64::INFINITY, f64::min);
    let high = eigen
        .values()
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    for i in 0..n {
        let q = a[i * (n + 1)];
        assert!(low - 1e-10 <= q && q <= high + 1e-10, "{low} {q} {high}");
    }
}

fn sum_of_squares(n: usize, vectors: &[Vec<f64>]) -> Vec<f64> {
    let entry = |k: usize| vectors.iter().map(|v| v[k / n] * v[k % n]).sum();
    (0..n * n).map(entry).collect()
}

#[test]
fn spec_8_2_and_13_6_symmetric_eigenvalues() {
    let n = 4;
    check(n, &[0.0; 16], 5e-7);
    let identity: Vec<f64> = (0..16).map(|k| (k % 5 == 0) as usize as f64).collect();
    check(n, &identity, 5e-7);
    let mut random = Random(8);
    for rank in [1, 2, 4] {
        let vectors: Vec<Vec<f64>> = (0..rank).map(|_| random.numbers(n)).collect();
        check(n, &sum_of_squares(n, &vectors), 5e-7);
    }
    // Nearly equal eigenvalues.
    let mut close: Vec<f64> = (0..36).map(|k| (k % 7 == 0) as usize as f64).collect();
    for (k, e) in random.numbers(36).iter().enumerate() {
        let (i, j) = (k / 6, k % 6);
        close[i * 6 + j] += 1e-9 * e;
        close[j * 6 + i] = close[i * 6 + j];
    }
    check(6, &close, 1e-13);
}

/// ‖M M⁻¹ − I‖² and ‖M⁻¹ M − I‖² of 100 matrices with entries up to 10.
#[test]
fn spec_8_2_and_13_6_inverses() {
    let grid = Grid2::unit([1, 1]).unwrap();
    let mut random = Random(12);
    for _ in 0..100 {
        let entries = (0..9).map(|_| Expr::constant(random.between(0.0, 10.0)));
        let m = Expr::tensor(Shape::Matrix(3, 3), entries.collect());
        let identity = Expr::identity(3);
        for product in [m.dot(&m.inverse()), m.inverse().dot(&m)] {
            let off = product - &identity;
            let off = integrate(&off.inner(&off).dx(&grid)).unwrap();
            assert!(off < 1e-8, "{off:e}");
        }
    }
}

/// A boundary form ∫u·v with ∫g·v is a projector and its value: the solution has it on the boundary.
#[test]
fn spec_8_1_projectors_of_boundary_forms() {
    let grid = Grid2::unit([4, 4]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let edge = Measure::boundary(&grid);
    let p = matrix(&(&u * &v).over(&edge)).unwrap();
    let g = vector(&(3.0 * &v).over(&edge)).unwrap();
    let mut constraints = Constraints::empty(space.node_count(), 1);
    let lumped: Vec<f64> = (0..25).map(|r| p.row(r).1.iter().sum()).collect();
    for (node, (p, g)) in lumped.iter().zip(&g).enumerate() {
        constraints.constrain_form(node, &[*p], &[*g]).unwrap();
    }
    // 16 nodes on the edge, each with the value 3.
    assert_eq!(constraints.nodes().count(), 16);
    for node in constraints.nodes() {
        assert_eq!(constraints.projector(node), [1.0]);
        assert!((constraints.target(node).unwrap()[0] - 3.0).abs() < 1e-14);
    }
    let mut a = matrix(&u.grad().dot(&v.grad()).dx(&grid)).unwrap();
    let mut b = vector(&v.dx(&grid)).unwrap();
    constraints.apply(&mut a, &mut b).unwrap();
    // Rows and columns of the constrained nodes are a multiple of the identity's.
    for node in 0..25 {
        let (columns, values) = a.row(node);
        for (&column, &value) in columns.iter().zip(values) {
            let fixed = |n: usize| !constraints.is_free(n);
            if fixed(node) || fixed(column as usize) {
                assert_eq!(value != 0.0, column as usize == node, "{node} {column}");
            }
        }
        if !constraints.is_free(node) {
            assert!((b[node] / a.get(node, node).unwrap()[0] - 3.0).abs() < 1e-13);
        }
    }
}
