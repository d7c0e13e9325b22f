//! Polynomials in a space are reproduced by interpolation and by projection.

use crate::common::*;
use weft::assemble::{evaluate_at, integrate, interpolate, project, vector};
use weft::element::CellKind;
use weft::form::{Expr, Scope, Shape};
use weft::geometry::{Geometry, Mesh};
use weft::space::{Space, ValueKind};

/// A polynomial of position of total degree `p` that depends on all axes.
fn polynomial(scope: &Scope, dim: usize, p: usize, shift: f64) -> Expr {
    let terms: Vec<String> = (0..dim)
        .map(|d| format!("{}*x[{d}]", 1.0 - 0.4 * d as f64))
        .collect();
    let line = terms.join(" + ");
    let text = format!(
        "({line} + {shift})^{p} - x[{}]^{} + {shift}",
        dim - 1,
        p.saturating_sub(1)
    );
    scope.expression(&text).unwrap()
}

/// A value of the kind with polynomial degrees of freedom.
fn expression(mesh: &Mesh, kind: ValueKind, p: usize) -> Expr {
    let scope = Scope::new(shared(mesh));
    let shape = kind.shape();
    let parts = (0..shape.len()).map(|c| {
        kind.dofs_of(c)
            .map(|(dof, f)| f * polynomial(&scope, mesh.space_dim(), p, 0.3 + 0.2 * dof as f64))
            .fold(Expr::zero(Shape::Scalar), |sum, part| sum + part)
    });
    Expr::tensor(shape, parts.collect())
}

fn kinds(dim: usize) -> Vec<ValueKind> {
    let mut all = vec![
        ValueKind::Scalar,
        ValueKind::Vector(dim),
        ValueKind::Matrix(2, 3),
    ];
    if dim > 1 {
        all.extend([
            ValueKind::Symmetric(dim),
            ValueKind::Deviatoric(dim),
            ValueKind::Skew(dim),
        ]);
    }
    all
}

/// Compare a field and an expression at random points.
#[track_caller]
fn compare(field: &weft::field::Field, e: &Expr, what: &str) {
    let geometry = field.space().geometry();
    let mut random = Random(44);
    let points: Vec<[f64; 3]> = (0..5).map(|_| random.point(geometry.cell_kind())).collect();
    let truth = evaluate_at(e, geometry, &points).unwrap();
    let found = evaluate_at(&field.expr(), geometry, &points).unwrap();
    assert_close(&found, &truth, 1e-11, what);
    // The evaluator of single points agrees, with its gradient.
    let len = e.shape().len();
    let dim = geometry.space_dim();
    let slopes = evaluate_at(&e.grad(), geometry, &points[..1]).unwrap();
    let point = field.evaluate(0, points[0]).unwrap();
    assert_close(&point.value, &truth[..len], 1e-11, what);
    let gradient: Vec<f64> = point
        .gradient
        .iter()
        .flat_map(|g| g[..dim].to_vec())
        .collect();
    assert_close(&gradient, &slopes[..len * dim], 1e-9, what);
}

#[test]
fn interpolation() {
    for Case { name, mesh } in straight_cases() {
        for p in 1..=6 {
            for continuous in [true, false] {
                let space = if continuous {
                    Space::lagrange(&mesh, p)
                } else {
                    Space::discontinuous(&mesh, p)
                };
                let space = space.unwrap();
                for kind in kinds(mesh.space_dim()) {
                    let e = expression(&mesh, kind, p);
                    let field = interpolate(&e, &space.with_value(kind).unwrap()).unwrap();
                    compare(&field, &e, &format!("{name} {p} {kind:?}"));
                }
            }
        }
    }
}

#[test]
fn projection() {
    for Case { name, mesh } in straight_cases() {
        for p in 1..=4 {
            let space = Space::lagrange(&mesh, p).unwrap();
            for kind in kinds(mesh.space_dim()) {
                let e = expression(&mesh, kind, p);
                let field = project(&e, &space.with_value(kind).unwrap()).unwrap();
                compare(&field, &e, &format!("{name} {p} {kind:?}"));
            }
        }
        let broken = Space::discontinuous(&mesh, 2).unwrap();
        let e = expression(&mesh, ValueKind::Scalar, 2);
        compare(&project(&e, &broken).unwrap(), &e, name);
    }
}

#[test]
fn gradients_of_polynomials_are_exact() {
    for Case { name, mesh } in straight_cases() {
        for p in 1..=4 {
            let e = expression(&mesh, ValueKind::Scalar, p);
            let f = interpolate(&e, &Space::lagrange(&mesh, p).unwrap()).unwrap();
            let off = f.expr().grad() - e.grad();
            let off = integrate(&off.dot(&off).dx(&mesh)).unwrap();
            let size = integrate(&e.grad().dot(&e.grad()).dx(&mesh)).unwrap();
            assert!(off < 1e-22 * size, "{name} {p}: {off:e}");
        }
    }
}

#[test]
fn projection_is_orthogonal() {
    // A cubic into quadratics: every integral is exact, so the error is orthogonal to the space.
    let mesh = unit_mesh(CellKind::Triangle, [3, 2, 1]);
    let scope = Scope::new(shared(&mesh));
    let e = scope.expression("x[0]^3 - 2*x[0]*x[1]^2").unwrap();
    let space = Space::lagrange(&mesh, 2).unwrap();
    let off = project(&e, &space).unwrap().expr() - &e;
    let rest = vector(&(&off * Expr::test(&space)).dx(&mesh)).unwrap();
    let size = integrate(&off.pow(2.0).dx(&mesh)).unwrap().sqrt();
    assert!(size > 1e-3);
    assert!(rest.iter().all(|r| r.abs() < 1e-12 * size), "{rest:?}");
}

#[test]
fn wrong_shapes_are_refused() {
    let mesh = unit_mesh(CellKind::Triangle, [1; 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let x = Expr::position(&mesh);
    let message = interpolate(&x, &space).map(drop).unwrap_err().to_string();
    assert!(
        message.contains("vector of 2") && message.contains("scalar"),
        "{message}"
    );
    assert!(project(&x, &space).is_err());
    assert!(interpolate(&Expr::test(&space), &space).is_err());
    assert!(weft::field::Field::from_values(&space, vec![0.0; 3]).is_err());
    let field = weft::field::Field::zeros(&space);
    let message = field
        .evaluate(2, [0.0; 3])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("cell 2 does not exist; the geometry has 2 cells"),
        "{message}"
    );
}
