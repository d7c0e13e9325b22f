//! Conditions on nodes, against their definition carried out on dense matrices.

use crate::samples::*;
use weft::solve::{Constraints, SolveError, SymmetricEigen};
use weft::sparse::BlockMatrix;

fn multiply(n: usize, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut z = vec![0.0; n * n];
    for i in 0..n {
        for k in 0..n {
            for j in 0..n {
                z[i * n + j] += x[i * n + k] * y[k * n + j];
            }
        }
    }
    z
}

/// Ã and b̃ formed from their definition.
fn eliminate_by_hand(a: &BlockMatrix, rhs: &[f64], c: &Constraints) -> (Vec<f64>, Vec<f64>) {
    let (n, b) = (a.rows(), c.block());
    let dense = a.to_dense();
    let mut p = vec![0.0; n * n];
    let mut g = vec![0.0; n];
    for node in 0..c.node_count() {
        let block = c.projector(node);
        for k in 0..b * b {
            p[(node * b + k / b) * n + node * b + k % b] = block[k];
        }
        if let Some(target) = c.target(node) {
            g[node * b..(node + 1) * b].copy_from_slice(target);
        }
    }
    let s = c.scale(a).unwrap();
    let free: Vec<f64> = (0..n * n)
        .map(|k| if k / n == k % n { 1.0 - p[k] } else { -p[k] })
        .collect();
    let mut matrix = multiply(n, &multiply(n, &free, &dense), &free);
    matrix.iter_mut().zip(&p).for_each(|(m, p)| *m += s * p);
    let reduced: Vec<f64> = (0..n)
        .map(|i| rhs[i] - (0..n).map(|j| dense[i * n + j] * g[j]).sum::<f64>())
        .collect();
    let b = (0..n)
        .map(|i| (0..n).map(|j| free[i * n + j] * reduced[j]).sum::<f64>() + s * g[i])
        .collect();
    (matrix, b)
}

fn sample(n: usize, b: usize) -> Constraints {
    let mut c = Constraints::empty(n, b);
    let mut random = Random(77);
    c.constrain_node(3, &vector(b, 4)).unwrap();
    c.constrain_component(0, b - 1, 0.7).unwrap();
    if b > 1 {
        for node in [5, 1, 5] {
            let direction = unit(&(0..b).map(|_| random.next()).collect::<Vec<_>>());
            c.constrain_direction(node, &direction, random.next())
                .unwrap();
        }
    }
    c
}

#[test]
fn elimination_is_the_one_by_hand() {
    for b in 1..=4 {
        for kind in [Kind::Positive, Kind::Unsymmetric] {
            let mut a = random_system(8, b, kind, 11);
            let n = a.rows();
            let c = sample(8, b);
            let rhs = vector(n, 6);
            let (matrix, by_hand) = eliminate_by_hand(&a, &rhs, &c);
            let mut lifted = rhs.clone();
            let original = a.clone();
            c.apply(&mut a, &mut lifted).unwrap();
            assert!(relative_difference(&a.to_dense(), &matrix) < 1e-14);
            assert!(relative_difference(&lifted, &by_hand) < 1e-14);
            assert_eq!(a.is_symmetric(1e-15), kind == Kind::Positive);
            // The solution meets the conditions, and the equations in the free directions.
            let x = dense_solve(&a, &lifted);
            let mut set = x.clone();
            c.set(&mut set).unwrap();
            assert!(relative_difference(&set, &x) < 1e-12);
            let mut r = vec![0.0; n];
            original.multiply(&x, &mut r).unwrap();
            r.iter_mut().zip(&rhs).for_each(|(r, b)| *r = b - *r);
            c.lift_homogeneous(&mut r).unwrap();
            assert!(r.iter().all(|r| r.abs() < 1e-12));
            // A Newton step from any state arrives at the same solution.
            let u = vector(n, 12);
            let mut step = vec![0.0; n];
            original.multiply(&u, &mut step).unwrap();
            step.iter_mut().zip(&rhs).for_each(|(r, b)| *r = b - *r);
            c.lift_increment(&original, &u, &mut step).unwrap();
            let d = dense_solve(&a, &step);
            let reached: Vec<f64> = u.iter().zip(&d).map(|(u, d)| u + d).collect();
            assert!(relative_difference(&reached, &x) < 1e-12);
            let positive = SymmetricEigen::new(n, &a.to_dense()).values()[0] > 0.0;
            assert!(positive || kind == Kind::Unsymmetric);
        }
    }
}

#[test]
fn many_nodes_are_handled_as_few() {
    // More nodes than one parallel task holds: conditions every seventh node.
    let n = 9000;
    let mut a = random_system(n, 2, Kind::Positive, 2);
    let mut c = Constraints::empty(n, 2);
    for node in (0..n).step_by(7) {
        c.constrain_direction(node, &[0.6, 0.8], node as f64)
            .unwrap();
    }
    assert_eq!(c.len(), n.div_ceil(7));
    let mut b = vector(2 * n, 1);
    c.apply(&mut a, &mut b).unwrap();
    assert!(a.is_symmetric(0.0));
    let mut x = vector(2 * n, 2);
    c.set(&mut x).unwrap();
    let s = a.clone();
    for node in (0..n).step_by(7) {
        let value = 0.6 * x[2 * node] + 0.8 * x[2 * node + 1];
        assert!((value - node as f64).abs() <= 1e-12 * (1.0 + node as f64));
        // Ã has the direction as eigenvector, and b̃ its multiple of the target.
        let mut e = vec![0.0; 2 * n];
        (e[2 * node], e[2 * node + 1]) = (0.6, 0.8);
        if node % 63 == 0 {
            let mut image = vec![0.0; 2 * n];
            s.multiply(&e, &mut image).unwrap();
            let scale = 0.6 * image[2 * node] + 0.8 * image[2 * node + 1];
            let along = 0.6 * b[2 * node] + 0.8 * b[2 * node + 1];
            e.iter_mut().for_each(|e| *e *= scale);
            assert!(relative_difference(&image, &e) < 1e-14);
            assert!((along - scale * node as f64).abs() <= 1e-12 * (1.0 + scale * node as f64));
        }
    }
}

#[test]
fn conditions_on_one_node_combine() {
    let mut c = Constraints::empty(4, 3);
    let (d, e) = (unit(&[1.0, 1.0, 0.0]), unit(&[1.0, 0.0, 1.0]));
    let x = [0.3, -0.4, 2.0];
    let along = |d: &[f64]| d.iter().zip(&x).map(|(d, x)| d * x).sum::<f64>();
    c.constrain_direction(2, &d, along(&d)).unwrap();
    assert_eq!(c.rank(2), 1);
    c.constrain_direction(2, &e, along(&e)).unwrap();
    assert_eq!(c.rank(2), 2);
    // In their span: must agree.
    let f = unit(&[2.0, 1.0, 1.0]);
    c.constrain_direction(2, &f, along(&f)).unwrap();
    assert_eq!(c.rank(2), 2);
    let error = c.constrain_direction(2, &f, along(&f) + 1e-3).unwrap_err();
    assert!(
        matches!(error, SolveError::Conflict { node: 2, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("node 2"));
    c.constrain_component(2, 1, x[1]).unwrap();
    assert_eq!(c.rank(2), 3);
    assert!(relative_difference(c.target(2).unwrap(), &x) < 1e-14);
    c.constrain_node(2, &x).unwrap();
    assert!(c.constrain_node(2, &[0.3, -0.4, 1.0]).is_err());
    let p = c.projector(2);
    for k in 0..9 {
        assert!((p[k] - if k % 4 == 0 { 1.0 } else { 0.0 }).abs() < 1e-14);
    }
    assert_eq!((c.len(), c.nodes().collect::<Vec<_>>()), (1, vec![2]));
    assert!(c.is_free(0) && !c.is_free(2) && !c.is_empty());
}

#[test]
fn conditions_from_forms() {
    // A weighted projector on two directions, as an integral over a boundary assembles it.
    let (d, e) = (unit(&[1.0, 2.0, 2.0]), unit(&[2.0, 1.0, -2.0]));
    let x = [1.0, -1.0, 0.5];
    let mut p = [0.0; 9];
    for (q, lambda) in [(&d, 0.01), (&e, 0.03)] {
        for k in 0..9 {
            p[k] += lambda * q[k / 3] * q[k % 3];
        }
    }
    let g: Vec<f64> = (0..3)
        .map(|i| (0..3).map(|j| p[i * 3 + j] * x[j]).sum())
        .collect();
    let mut c = Constraints::empty(1, 3);
    c.constrain_form(0, &p, &g).unwrap();
    assert_eq!(c.rank(0), 2);
    let mut v = [0.0; 3];
    c.set(&mut v).unwrap();
    for q in [&d, &e] {
        let difference: f64 = q
            .iter()
            .zip(v.iter().zip(&x))
            .map(|(q, (v, x))| q * (v - x))
            .sum();
        assert!(difference.abs() < 1e-13);
    }
}

#[test]
fn bad_conditions_are_named() {
    let mut c = Constraints::empty(3, 2);
    assert!(
        c.constrain_node(3, &[0.0, 0.0])
            .unwrap_err()
            .to_string()
            .contains("node 3")
    );
    assert!(c.constrain_node(0, &[0.0]).is_err());
    assert!(
        c.constrain_component(0, 2, 0.0)
            .unwrap_err()
            .to_string()
            .contains("component 2")
    );
    assert!(c.constrain_component(0, 1, f64::NAN).is_err());
    for direction in [[0.0, 0.0], [1.0, 1.0], [f64::NAN, 0.0]] {
        assert!(c.constrain_direction(0, &direction, 0.0).is_err());
    }
    assert!(c.is_empty());
    c.constrain_node(1, &[1.0, 2.0]).unwrap();
    let mut a = random_system(4, 2, Kind::Positive, 1);
    assert!(matches!(c.eliminate(&mut a), Err(SolveError::Size { .. })));
    let mut t = Triplets::default();
    t.push(0, 0, &[1.0, 0.0, 0.0, 1.0]);
    t.push(2, 2, &[1.0, 0.0, 0.0, 1.0]);
    let error = c.eliminate(&mut t.matrix(3, 2)).unwrap_err();
    assert!(error.to_string().contains("node 1") && error.to_string().contains("diagonal"));
    assert!(c.set(&mut [0.0; 5]).is_err());
}

#[test]
fn no_conditions_change_nothing() {
    let a = random_system(5, 2, Kind::Unsymmetric, 1);
    let c = Constraints::empty(5, 2);
    let mut b = vector(10, 1);
    let mut m = a.clone();
    c.apply(&mut m, &mut b).unwrap();
    c.set(&mut b).unwrap();
    assert_eq!((m.values(), b), (a.values(), vector(10, 1)));
}

#[test]
fn small_eigenproblems_are_exact() {
    for n in 0..=12 {
        let mut random = Random(n as u64);
        let half: Vec<f64> = (0..n * n).map(|_| random.next()).collect();
        let a: Vec<f64> = (0..n * n)
            .map(|k| half[k] + half[(k % n) * n + k / n])
            .collect();
        let e = SymmetricEigen::new(n, &a);
        assert!(e.values().windows(2).all(|w| w[0] <= w[1]));
        for k in 0..n {
            let q = e.vector(k);
            for i in 0..n {
                let aq: f64 = (0..n).map(|j| a[i * n + j] * q[j]).sum();
                assert!((aq - e.values()[k] * q[i]).abs() < 1e-13);
            }
            for l in 0..n {
                let product: f64 = q.iter().zip(e.vector(l)).map(|(a, b)| a * b).sum();
                assert!((product - if k == l { 1.0 } else { 0.0 }).abs() < 1e-13);
            }
        }
    }
    // Rank one: eigenvalues 0, 0, 0, |v|².
    let v = [1.0, -2.0, 3.0, 0.5];
    let a: Vec<f64> = (0..16).map(|k| v[k / 4] * v[k % 4]).collect();
    let e = SymmetricEigen::new(4, &a);
    assert!(e.values()[..3].iter().all(|l| l.abs() < 1e-14));
    assert!((e.values()[3] - 14.25).abs() < 1e-13);
}

#[test]
fn issue_006_rounding_is_no_conflict() {
    use std::f64::consts::PI;
    let mut c = Constraints::empty(3, 1);
    c.constrain_node(0, &[PI.sin()]).unwrap();
    c.constrain_node(1, &[1.0]).unwrap();
    c.constrain_node(0, &[0.0]).unwrap();
    // Small values that stand alone are as good as large ones.
    let mut c = Constraints::empty(2, 1);
    c.constrain_node(0, &[1e-20]).unwrap();
    assert!(c.constrain_node(0, &[2e-20]).is_err());
    let mut c = Constraints::empty(2, 1);
    c.constrain_node(1, &[1.0]).unwrap();
    c.constrain_node(0, &[0.0]).unwrap();
    assert!(c.constrain_node(0, &[1e-9]).is_err());
}

#[test]
fn issue_006_forms_of_conditions_are_semidefinite() {
    let refused = |p: &[f64]| {
        let error = Constraints::empty(1, 2).constrain_form(0, p, &[1.0; 2]);
        matches!(error, Err(SolveError::Constraint { node: 0, .. }))
    };
    assert!(refused(&[-1.0, 0.0, 0.0, 0.0]));
    assert!(refused(&[-3.0, 0.0, 0.0, 1.0]));
    assert!(refused(&[1.0, 5.0, 0.0, 1.0]));
    assert!(refused(&[1.0, 2.0, 2.0, 1.0]));
    assert!(!refused(&[2.0, 1.0, 1.0, 2.0]));
    assert!(!refused(&[0.0; 4]));
    let mut c = Constraints::empty(1, 2);
    let nan = c.constrain_form(0, &[1.0, 0.0, 0.0, 1.0], &[f64::NAN, 0.0]);
    assert!(matches!(nan, Err(SolveError::NonFinite { .. })), "{nan:?}");
    for diagonal in [[-1.0, -1.0], [-1.0, 1.0], [0.0, -1.0]] {
        let values = vec![diagonal[0], 0.0, 0.0, diagonal[1]];
        let p = BlockMatrix::from_block_diagonal([2, 2], values).unwrap();
        assert!(
            Constraints::from_forms(&p, &[1.0; 2]).is_err(),
            "{diagonal:?}"
        );
    }
}
