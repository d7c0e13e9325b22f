//! Matrices of weak forms.

use crate::algebra::{check_growth, iterations};
use crate::common::unit_mesh;
use weft::assemble::MatrixPlan;
use weft::element::CellKind;
use weft::form::{Expr, Form, div, grad, inner, sym};
use weft::problem::{Dirichlet, LinearProblem, PreconditionerKind, Solver};
use weft::solve::{
    Amg, AmgOptions, Constraints, KrylovOptions, Method, Preconditioner, rigid_body_modes,
};
use weft::space::Space;
use weft::sparse::BlockMatrix;

/// A matrix with zeros prescribed, and the positions of its nodes.
struct System {
    a: BlockMatrix,
    positions: Vec<[f64; 3]>,
}

/// Prescribes component `d` at x where `held(x, d)`.
fn hold(
    mut a: BlockMatrix,
    positions: Vec<[f64; 3]>,
    held: impl Fn([f64; 3], usize) -> bool,
) -> System {
    let b = a.block()[0];
    let mut constraints = Constraints::empty(positions.len(), b);
    for (node, &x) in positions.iter().enumerate() {
        for d in (0..b).filter(|&d| held(x, d)) {
            let mut direction = vec![0.0; b];
            direction[d] = 1.0;
            constraints
                .constrain_direction(node, &direction, 0.0)
                .unwrap();
        }
    }
    constraints.eliminate(&mut a).unwrap();
    System { a, positions }
}

fn outer(dim: usize) -> impl Fn([f64; 3], usize) -> bool {
    move |x, _| (0..dim).any(|d| x[d] < 1e-9 || x[d] > 1.0 - 1e-9)
}

fn poisson(kind: CellKind, degree: usize, n: usize) -> System {
    let mesh = unit_mesh(kind, [n; 3]);
    let space = Space::lagrange(&mesh, degree).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let mut plan = MatrixPlan::new(&inner(&grad(&u), &grad(&v)).dx(&mesh)).unwrap();
    let mut a = plan.matrix();
    plan.assemble(&mut a).unwrap();
    hold(a, space.node_positions(), outer(kind.dim()))
}

/// Young's modulus 1, Poisson's ratio 0.3.
fn elasticity(
    kind: CellKind,
    degree: usize,
    n: usize,
    held: impl Fn([f64; 3], usize) -> bool,
) -> System {
    let mesh = unit_mesh(kind, [n; 3]);
    let space = Space::lagrange(&mesh, degree)
        .unwrap()
        .vector(kind.dim())
        .unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let (mu, lambda) = (1.0 / 2.6, 0.3 / (1.3 * 0.4));
    let form = 2.0 * mu * inner(&sym(&grad(&u)), &sym(&grad(&v))) + lambda * div(&u) * div(&v);
    let mut plan = MatrixPlan::new(&form.dx(&mesh)).unwrap();
    let mut a = plan.matrix();
    plan.assemble(&mut a).unwrap();
    hold(a, space.node_positions(), held)
}

#[test]
fn iterations_for_poisson_hardly_grow() {
    use CellKind::*;
    for (kind, degree, small, large, most) in [
        (Segment, 1, 1000, 4000, 14),
        (Triangle, 1, 40, 80, 14),
        (Quad, 1, 40, 80, 14),
        (Triangle, 2, 20, 40, 18),
        (Quad, 2, 20, 40, 18),
        (Tet, 1, 12, 19, 16),
        (Hex, 1, 12, 19, 14),
        (Tet, 2, 6, 10, 20),
        (Hex, 2, 6, 10, 20),
    ] {
        let count = |n| {
            let System { a, .. } = poisson(kind, degree, n);
            iterations(&a, &Amg::new(&a, AmgOptions::default()).unwrap(), 1e-8)
        };
        check_growth(
            &format!("{kind:?} {degree}"),
            count(small),
            count(large),
            most,
        );
    }
}

#[test]
fn iterations_for_elasticity_hardly_grow_with_rigid_motions() {
    use CellKind::*;
    let clamped = |x: [f64; 3], _: usize| x[0] < 1e-9;
    // Clamped in one point, and otherwise only kept from moving along the normal.
    let rollers = |x: [f64; 3], d: usize| x[d] < 1e-9;
    for (kind, degree, small, large, most) in [
        (Triangle, 1, 24, 48, 20),
        (Quad, 1, 24, 48, 20),
        (Triangle, 2, 12, 24, 30),
        (Tet, 1, 6, 10, 24),
        (Hex, 1, 6, 10, 18),
    ] {
        for (place, held) in [
            ("clamped", &clamped as &dyn Fn([f64; 3], usize) -> bool),
            ("on rollers", &rollers),
        ] {
            let counts = |n| {
                let System { a, positions } = elasticity(kind, degree, n, held);
                let modes = rigid_body_modes(kind.dim(), &positions).unwrap();
                let options = AmgOptions {
                    coarsest: 100,
                    ..AmgOptions::default()
                };
                let rigid = Amg::with_near_nullspace(&a, &modes, options).unwrap();
                let constant = Amg::new(&a, options).unwrap();
                [rigid, constant].map(|m| iterations(&a, &m, 1e-8))
            };
            let (small, [large, constant]) = (counts(small)[0], counts(large));
            let name = format!("{kind:?} {degree}, {place}");
            check_growth(&name, small, large, most);
            println!("{constant} with constants");
            assert!(
                place != "clamped" || large < constant,
                "{name}: {large}, {constant}"
            );
        }
    }
}

#[test]
fn rigid_motions_have_no_energy() {
    for kind in [
        CellKind::Segment,
        CellKind::Triangle,
        CellKind::Quad,
        CellKind::Tet,
        CellKind::Hex,
    ] {
        let dim = kind.dim();
        let System { a, positions } = elasticity(kind, 2, 3, |_, _| false);
        let modes = rigid_body_modes(dim, &positions).unwrap();
        assert_eq!(modes.len(), dim * (dim + 1) / 2);
        for mode in &modes {
            let mut force = vec![0.0; a.rows()];
            a.multiply(mode, &mut force).unwrap();
            assert!(force.iter().all(|f| f.abs() < 1e-12), "{kind:?}");
            assert!(mode.iter().any(|v| *v != 0.0));
        }
    }
}

#[test]
fn prescribed_values_stay() {
    let held = |x: [f64; 3], d: usize| x[0] < 1e-9 || (d == 1 && x[1] < 1e-9);
    let System { a, positions } = elasticity(CellKind::Quad, 1, 30, held);
    let modes = rigid_body_modes(2, &positions).unwrap();
    let m = Amg::with_near_nullspace(&a, &modes, AmgOptions::default()).unwrap();
    assert!(m.level_sizes().len() > 1 && m.operator_complexity() < 1.5);
    let is_held = |i: usize| held(positions[i / 2], i % 2);
    let r: Vec<f64> = (0..a.rows())
        .map(|i| if is_held(i) { 0.0 } else { (i as f64).sin() })
        .collect();
    let mut z = vec![f64::NAN; a.rows()];
    m.apply(&r, &mut z);
    for (i, z) in z.iter().enumerate() {
        assert_eq!(*z == 0.0, is_held(i), "unknown {i}: {z}");
    }
}

#[test]
fn problems_are_solved_with_it() {
    // −Δu = 0 with u = x − 2 y on the boundary, and twice, since the set-up is made again.
    let mesh = unit_mesh(CellKind::Triangle, [24; 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let x = Expr::position(&mesh);
    let exact = x.at(0) - 2.0 * x.at(1);
    let solver = Solver::Krylov {
        method: Method::Cg,
        preconditioner: PreconditionerKind::Amg,
        options: KrylovOptions::default(),
    };
    let edge = Dirichlet::on_boundary(&space).value(exact).unwrap();
    let form = inner(&grad(&u), &grad(&v)).dx(&mesh);
    let mut problem = LinearProblem::new(&form, &Form::zero(), &[edge], solver).unwrap();
    for _ in 0..2 {
        assert!(problem.solve().unwrap().iterations < 15);
        let values = problem.solution().values().to_vec();
        for (value, x) in values.iter().zip(space.node_positions()) {
            assert!((value - x[0] + 2.0 * x[1]).abs() < 1e-9);
        }
    }
}
