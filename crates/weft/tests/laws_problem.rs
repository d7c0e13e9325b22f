//! Laws of boundary-value problems: conditions, reactions, singular systems, Newton's method.

#[path = "common/mod.rs"]
mod common;

use common::{Case, Random, assert_close, straight_cases, value_kinds};
use std::sync::Arc;
use weft::assemble::{MatrixPlan, NodalPlan, integrate};
use weft::field::Field;
use weft::form::{Expr, Form, Param, Scope, Shape, Unary, div, grad, inner, sym};
use weft::geometry::{Geometry, Grid2, Mesh, shapes};
use weft::problem::{
    Dirichlet, LinearProblem, MixedProblem, NewtonOptions, NonlinearProblem, PreconditionerKind,
    ProblemError, Solver, solve,
};
use weft::solve::Constraints;
use weft::solve::{KrylovOptions, Method};
use weft::space::{Space, ValueKind};
use weft::sparse::BlockMatrix;

fn tight() -> Solver {
    Solver::Krylov {
        method: Method::Cg,
        preconditioner: PreconditionerKind::BlockJacobi,
        options: KrylovOptions {
            tolerance: 1e-13,
            ..KrylovOptions::default()
        },
    }
}

fn square(n: usize) -> Mesh {
    shapes::rectangle_triangles([n, n], [0.0; 2], [1.0; 2]).unwrap()
}

fn text(mesh: &Mesh, source: &str) -> Expr {
    Scope::new(Arc::new(mesh.clone()))
        .expression(source)
        .unwrap()
}

fn elasticity(mesh: &Mesh, space: &Space) -> Form {
    let (u, v) = (Expr::trial(space), Expr::test(space));
    (2.0 * inner(&sym(&grad(&u)), &sym(&grad(&v))) + div(&u) * div(&v)).dx(mesh)
}

fn distance(u: &Field, exact: &Expr, mesh: &Mesh) -> f64 {
    let e = u.expr() - exact;
    integrate(&e.inner(&e).dx(mesh)).unwrap().sqrt()
}

#[test]
fn jumping_coefficients_and_prescribed_values_meet_right() {
    // −(k u')' = 0 with k = 1 left, 3 right of x = ½, u(0) = 2, u(1) = 6: piecewise linear.
    let mesh = square(8).with_tag_cells("right", |x| x[0] > 0.5).unwrap();
    let space = Space::lagrange(&mesh, 1).unwrap();
    let tags = mesh.tags();
    let right = tags.cells("right").unwrap();
    let cells = mesh.topology().cell_count();
    let k: Vec<f64> = (0..cells as u32)
        .map(|c| {
            if right.binary_search(&c).is_ok() {
                3.0
            } else {
                1.0
            }
        })
        .collect();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = (Expr::cell_data("k", k) * grad(&u).inner(&grad(&v))).dx(&mesh);
    let conditions = [
        Dirichlet::on(&space, "left").unwrap().value(2.0).unwrap(),
        Dirichlet::on(&space, "right").unwrap().value(6.0).unwrap(),
    ];
    let mut problem = LinearProblem::new(&a, &Form::zero(), &conditions, tight()).unwrap();
    problem.solve().unwrap();
    // Flux q = 4 / (½ / 1 + ½ / 3) = 6.
    let exact = text(&mesh, "select(x[0] < 0.5, 2 + 6*x[0], 5 + 2*(x[0] - 0.5))");
    assert!(distance(problem.solution(), &exact, &mesh) < 1e-11);
    let reactions = problem.reactions().unwrap();
    let sum = |tag: &str| -> f64 {
        space
            .tagged_nodes(tag)
            .unwrap()
            .iter()
            .map(|&n| reactions[n as usize])
            .sum()
    };
    assert!((sum("left") + 6.0).abs() < 1e-10);
    assert!((sum("right") - 6.0).abs() < 1e-10);
}

#[test]
fn normal_conditions_hold_on_faces_corners_and_curves() {
    // A box between smooth walls: only uniform compression along z is left free to choose.
    let mesh = shapes::box_hexes([2; 3], [0.0; 3], [1.0; 3]).unwrap();
    let mesh = mesh.with_tag_sides("walls", |x| x[2] < 1.0 - 1e-9).unwrap();
    let space = Space::lagrange(&mesh, 2).unwrap().vector(3).unwrap();
    let conditions = [
        Dirichlet::on(&space, "walls").unwrap().normal().unwrap(),
        Dirichlet::on(&space, "top")
            .unwrap()
            .component(2)
            .unwrap()
            .value(-0.1)
            .unwrap(),
    ];
    let u = solve(
        &elasticity(&mesh, &space),
        &Form::zero(),
        &conditions,
        tight(),
    )
    .unwrap();
    assert!(distance(&u, &text(&mesh, "[0, 0, -0.1*x[2]]"), &mesh) < 1e-11);

    // A rigid rotation satisfies u·n = 0 on a circle at its nodes; facets share a mean normal,
    // so the rotation stays free and the system is singular, by exactly that motion.
    let disk = shapes::disk(6).unwrap();
    let tag = disk.tags().side_names().next().unwrap().to_owned();
    let space = Space::lagrange(&disk, 1).unwrap().vector(2).unwrap();
    let held = [Dirichlet::on(&space, &tag).unwrap().normal().unwrap()];
    match solve(&elasticity(&disk, &space), &Form::zero(), &held, tight()) {
        Err(ProblemError::Singular(text)) => assert!(text.contains("rotation"), "{text}"),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

/// Conditions prescribe what the space stores, whatever kind of value it has.
#[test]
fn conditions_of_every_kind_of_value() {
    let mut random = Random(51);
    for Case { name, mesh } in straight_cases() {
        for kind in value_kinds() {
            let what = format!("{name} {kind:?}");
            let space = Space::lagrange(&mesh, 2).unwrap();
            let space = space.with_value(kind).unwrap();
            let n = space.components();
            let numbers = random.numbers(space.dof_count());
            let w = Field::from_values(&space, numbers.clone()).unwrap();
            let prescribed = |value: &Expr| {
                let condition = Dirichlet::on_boundary(&space).value(value).unwrap();
                let mut constraints = Constraints::empty(space.node_count(), n);
                condition.apply(&mut constraints).unwrap();
                constraints
            };
            let constraints = prescribed(&w.expr());
            assert!(!constraints.is_empty());
            for node in constraints.nodes() {
                assert_eq!(constraints.rank(node), n, "{what}");
                let target = constraints.target(node).unwrap();
                assert_close(target, &numbers[node * n..][..n], 1e-12, &what);
            }
            // In a problem: the smooth function with these values at the boundary. Here it is linear.
            let x = Expr::position(&mesh).at(0);
            let entries = (0..kind.shape().len()).map(|c| {
                let terms = kind.dofs_of(c).map(|(d, f)| f * (d as f64 + 1.0) * &x);
                terms.fold(Expr::zero(Shape::Scalar), |sum, term| sum + term)
            });
            let exact = Expr::tensor(kind.shape(), entries.collect());
            let (u, v) = (Expr::trial(&space), Expr::test(&space));
            let a = grad(&u).inner(&grad(&v)).dx(&mesh);
            let l = Expr::zero(kind.shape()).inner(&v).dx(&mesh);
            let fixed = Dirichlet::on_boundary(&space).value(&exact).unwrap();
            let found = solve(&a, &l, &[fixed], tight()).unwrap();
            assert!(distance(&found, &exact, &mesh) < 1e-10, "{what}");
        }
    }
}

#[test]
fn conditions_take_the_part_of_a_matrix_that_fits() {
    let mesh = square(2);
    let scalar = Space::lagrange(&mesh, 1).unwrap();
    let value = text(&mesh, "[[1, 2 + x[0]], [5, 3]]");
    for (kind, part) in [
        (ValueKind::Symmetric(2), value.sym()),
        (ValueKind::Deviatoric(2), value.sym()),
        (ValueKind::Skew(2), value.skew()),
    ] {
        let space = scalar.with_value(kind).unwrap();
        let targets = |value: &Expr| {
            let condition = Dirichlet::on_boundary(&space).value(value).unwrap();
            let mut constraints = Constraints::empty(space.node_count(), space.components());
            condition.apply(&mut constraints).unwrap();
            let targets = |node| constraints.target(node).unwrap().to_vec();
            constraints.nodes().flat_map(targets).collect::<Vec<f64>>()
        };
        assert_close(
            &targets(&value),
            &targets(&part),
            1e-15,
            &format!("{kind:?}"),
        );
        // One number for all entries makes no skew-symmetric tensor.
        let all = Dirichlet::on_boundary(&space).value(2.0);
        match kind {
            ValueKind::Skew(_) => {
                let error = all.unwrap_err().to_string();
                assert!(error.contains("cannot all be `2`"), "{error}");
            }
            _ => drop(all.unwrap()),
        }
        let zero = Dirichlet::on_boundary(&space).value(0.0).unwrap();
        let mut constraints = Constraints::empty(space.node_count(), space.components());
        zero.apply(&mut constraints).unwrap();
        let first = constraints.nodes().next().unwrap();
        assert_eq!(
            constraints.target(first).unwrap(),
            vec![0.0; space.components()]
        );
    }
}

#[test]
fn singular_systems_are_named() {
    let mesh = square(3);
    let scalar = Space::lagrange(&mesh, 1).unwrap();
    let (u, v) = (Expr::trial(&scalar), Expr::test(&scalar));
    let laplace = grad(&u).inner(&grad(&v)).dx(&mesh);
    let named = |result: Result<Field, ProblemError>, word: &str| match result {
        Err(ProblemError::Singular(text)) => assert!(text.contains(word), "{text}"),
        other => panic!("{:?}", other.map(|_| ())),
    };
    named(solve(&laplace, &v.dx(&mesh), &[], tight()), "constant");
    let space = scalar.vector(2).unwrap();
    let left = Dirichlet::on(&space, "left").unwrap().component(0).unwrap();
    let form = elasticity(&mesh, &space);
    named(solve(&form, &Form::zero(), &[left], tight()), "along y");
    // Two squares that do not touch, one of them held.
    let mut points = mesh.map().nodes.clone();
    let count = points.len() as u32;
    points.extend(mesh.map().nodes.iter().map(|x| [x[0] + 2.0, x[1], 0.0]));
    let mut cells = mesh.topology().cells().to_vec();
    cells.extend(mesh.topology().cells().iter().map(|v| v + count));
    let pair = Mesh::new(mesh.cell_kind(), 2, points, cells)
        .unwrap()
        .with_tag_sides("left", |x| x[0] < 1e-9)
        .unwrap();
    let space = Space::lagrange(&pair, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let held = [Dirichlet::on(&space, "left").unwrap()];
    let form = grad(&u).inner(&grad(&v)).dx(&pair);
    named(solve(&form, &v.dx(&pair), &held, tight()), "constant");
}

#[test]
fn mistakes_are_errors() {
    let mesh = square(2);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let vector = space.vector(2).unwrap();
    assert!(
        Dirichlet::on(&space, "lef")
            .unwrap_err()
            .to_string()
            .contains("left")
    );
    assert!(Dirichlet::on(&space, "left").unwrap().component(0).is_err());
    assert!(Dirichlet::on(&space, "left").unwrap().normal().is_err());
    assert!(
        Dirichlet::on(&vector, "left")
            .unwrap()
            .component(2)
            .is_err()
    );
    let wrong = Dirichlet::on(&space, "left")
        .unwrap()
        .value(Expr::vector(&[0.0, 1.0]));
    assert!(wrong.is_err());
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = u.inner(&v).dx(&mesh);
    let other = Dirichlet::on(&vector, "left").unwrap();
    assert!(solve(&a, &Form::zero(), &[other], tight()).is_err());
    let mixed = u
        .inner(&Expr::test(&Space::lagrange(&mesh, 1).unwrap()))
        .dx(&mesh);
    assert!(solve(&mixed, &Form::zero(), &[], tight()).is_err());
    let nan = Dirichlet::on(&space, "left")
        .unwrap()
        .value(text(&mesh, "ln(-1 - x[0])"))
        .unwrap();
    assert!(solve(&a, &Form::zero(), &[nan], tight()).is_err());
    let clash = [
        Dirichlet::on(&space, "left").unwrap().value(1.0).unwrap(),
        Dirichlet::on(&space, "bottom").unwrap().value(2.0).unwrap(),
    ];
    assert!(solve(&a, &Form::zero(), &clash, tight()).is_err());
}

/// −∇·((1 + u²) ∇u) = f with a known solution.
#[test]
fn newton_converges_quadratically() {
    let mesh = square(6);
    let space = Space::lagrange(&mesh, 2).unwrap();
    let exact = text(&mesh, "1 + x[0]*x[1]");
    let f = -((1.0 + &exact * &exact) * exact.grad()).div();
    let u = Field::zeros(&space);
    let v = Expr::test(&space);
    let flux = (1.0 + u.expr() * u.expr()) * grad(&u.expr());
    let residual = (flux.inner(&grad(&v)) - f * &v).dx(&mesh);
    let held = [Dirichlet::on_boundary(&space).value(exact.clone()).unwrap()];
    let options = NewtonOptions {
        tolerance: 1e-12,
        ..NewtonOptions::default()
    };
    let mut problem = NonlinearProblem::new(&residual, &u, &held, tight(), options).unwrap();
    let report = problem.solve().unwrap();
    assert!(distance(&u, &exact, &mesh) < 1e-9, "{:?}", report.history);
    let h = &report.history;
    assert!(h.len() <= 9, "{h:?}");
    // Digits double: the last full step gains more than half of all digits again.
    let k = h.len() - 2;
    assert!(h[k] / h[0] < (h[k - 1] / h[0]).powf(1.5), "{h:?}");
}

#[test]
fn newton_says_why_it_stopped() {
    let mesh = square(2);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let u = Field::zeros(&space);
    let v = Expr::test(&space);
    let held = [Dirichlet::on(&space, "left").unwrap()];
    // No dependence on the unknown.
    let constant = v.dx(&mesh);
    let options = NewtonOptions::default();
    assert!(NonlinearProblem::new(&constant, &u, &held, tight(), options).is_err());
    // The Bratu problem −Δu = λ exp(u) has no solution for a large λ.
    let residual = grad(&u.expr()).inner(&grad(&v)) - 1e3 * u.expr().unary(Unary::Exp) * &v;
    let gmres = Solver::Krylov {
        method: Method::Gmres,
        preconditioner: PreconditionerKind::Jacobi,
        options: KrylovOptions::default(),
    };
    let form = residual.dx(&mesh);
    let options = NewtonOptions::default();
    let mut problem = NonlinearProblem::new(&form, &u, &held, gmres, options).unwrap();
    match problem.solve() {
        Err(ProblemError::Newton { reason, .. }) => assert!(!reason.is_empty()),
        Err(other) => panic!("{other}"),
        Ok(report) => panic!("{:?}", report.history),
    }
}

#[test]
fn parameters_and_fields_change_between_solves() {
    let mesh = square(4);
    let space = Space::lagrange(&mesh, 2).unwrap();
    let load = Param::scalar("load", 1.0);
    let top = Param::scalar("top", 0.0);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = grad(&u).inner(&grad(&v)).dx(&mesh);
    let l = (Expr::from(&load) * &v).dx(&mesh);
    let held = [Dirichlet::on_boundary(&space).value(&top).unwrap()];
    let mut problem = LinearProblem::new(&a, &l, &held, tight()).unwrap();
    problem.solve().unwrap();
    let first = problem.solution().values().to_vec();
    load.set(3.0);
    top.set(5.0);
    problem.solve().unwrap();
    for (x, y) in problem.solution().values().iter().zip(&first) {
        assert!((x - 3.0 * y - 5.0).abs() < 1e-10);
    }
    // The solver starts from the last solution: solving again takes no iterations to speak of.
    assert!(problem.solve().unwrap().iterations <= 1);
}

#[test]
fn issue_006_rounding_at_corners_is_no_conflict() {
    let grid = Grid2::unit([4, 4]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let bump = (Expr::position(&grid).at(0) * std::f64::consts::PI).unary(Unary::Sin);
    let sides = ["left", "right", "bottom", "top"];
    // Each order in which sides can meet the bump at the bottom.
    for first in 0..4 {
        let held: Vec<Dirichlet> = (0..4)
            .map(|k| {
                let side = sides[(first + k) % 4];
                let condition = Dirichlet::on(&space, side).unwrap();
                match side {
                    "bottom" => condition.value(bump.clone()).unwrap(),
                    _ => condition,
                }
            })
            .collect();
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let a = grad(&u).inner(&grad(&v)).dx(&grid);
        solve(&a, &Form::zero(), &held, tight()).unwrap();
    }
}

#[test]
fn issue_006_conditions_where_there_are_no_values() {
    let mesh = square(3).with_tag_vertices("pin", |x| x[0] == 0.0).unwrap();
    let constants = Space::discontinuous(&mesh, 0).unwrap();
    assert!(Dirichlet::on(&constants, "left").is_err());
    let nodes = Constraints::empty(constants.node_count(), 1);
    assert!(
        Dirichlet::on_boundary(&constants)
            .apply(&mut nodes.clone())
            .is_err()
    );
    let spaces = [
        Space::crouzeix_raviart(&mesh),
        Space::nedelec(&mesh, 1),
        Space::raviart_thomas(&mesh, 2),
        Space::bdm(&mesh, 1),
    ];
    for space in spaces.into_iter().map(Result::unwrap) {
        let refused = Dirichlet::on(&space, "pin").map(|_| ());
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("no values at the vertices of \"pin\""),
            "{message}"
        );
        let mut nodes = Constraints::empty(space.node_count(), space.components());
        Dirichlet::on(&space, "left")
            .unwrap()
            .apply(&mut nodes)
            .unwrap();
        assert!(!nodes.is_empty());
    }
    for space in [Space::lagrange(&mesh, 2), Space::discontinuous(&mesh, 1)] {
        let mut nodes = Constraints::empty(space.as_ref().unwrap().node_count(), 1);
        Dirichlet::on(&space.unwrap(), "pin")
            .unwrap()
            .apply(&mut nodes)
            .unwrap();
        assert!(nodes.len() >= 4);
    }
}

#[test]
fn issue_006_matrices_of_another_block() {
    let grid = Grid2::unit([3, 3]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let form = (Expr::trial(&space) * Expr::test(&space)).dx(&grid);
    let mut plan = MatrixPlan::new(&form).unwrap();
    let mut nodal = NodalPlan::new(&form).unwrap();
    for block in [[0, 0], [1, 2], [2, 2]] {
        let other = |made: BlockMatrix| BlockMatrix::<f64>::zeros(made.pattern().clone(), block);
        assert!(
            plan.assemble(&mut other(plan.matrix())).is_err(),
            "{block:?}"
        );
        assert!(nodal.assemble_matrix(&mut other(nodal.matrix())).is_err());
    }
}

/// −Δu = 1 of any size, from the first guess or from the solution.
fn scaled_poisson(scale: f64, options: NewtonOptions) -> Result<(Vec<usize>, f64), ProblemError> {
    let mesh = square(4);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let u = Field::zeros(&space);
    let v = Expr::test(&space);
    let form = (scale * grad(&u.expr()).inner(&grad(&v)) - scale * v).dx(&mesh);
    let held = [Dirichlet::on_boundary(&space)];
    let mut problem = NonlinearProblem::new(&form, &u, &held, tight(), options)?;
    let steps = [problem.solve()?.iterations, problem.solve()?.iterations];
    let largest = u.values().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    Ok((steps.to_vec(), largest))
}

#[test]
fn issue_006_newton_knows_no_scale() {
    let (_, expected) = scaled_poisson(1.0, NewtonOptions::default()).unwrap();
    for scale in [1e-30, 1e-13, 1.0, 1e13, 1e30] {
        let (steps, largest) = scaled_poisson(scale, NewtonOptions::default()).unwrap();
        assert_eq!(steps, [1, 0], "{scale:e}");
        assert!(
            (largest / expected - 1.0).abs() < 1e-9,
            "{scale:e}: {largest}"
        );
    }
}

#[test]
fn issue_006_newton_options_are_checked() {
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let fresh = NewtonOptions::default();
        for options in [
            NewtonOptions {
                tolerance: bad,
                ..fresh
            },
            NewtonOptions {
                absolute: bad,
                ..fresh
            },
        ] {
            assert!(scaled_poisson(1.0, options).is_err(), "{options:?}");
            assert!(MixedProblem::new(&[], &[], &[], options).is_err());
        }
    }
}
