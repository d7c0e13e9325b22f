//! The Gateaux derivative against central differences, in every form it comes in.

use crate::common::{Random, assert_close, unit_mesh};
use crate::generate::Grammar;
use crate::{read, scope};
use std::sync::Arc;
use weft::assemble::{MatrixPlan, ScalarPlan, VectorPlan, integrate, matrix, vector};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::*;
use weft::geometry::Mesh;
use weft::space::Space;

/// Step of central differences: its square and the rounding of values over it are both far
/// below the tolerance.
const STEP: f64 = 1e-5;
const TOLERANCE: f64 = 1e-6;
/// Below this a derivative is 0 but for rounding, and differences show nothing else.
const NEGLIGIBLE: f64 = 1e-9;

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0f64, |m, v| m.max(v.abs()))
}

struct World {
    mesh: Mesh,
    scope: Scope,
    /// Scalar of degree 2 and vector of degree 1.
    s: Field,
    w: Field,
}

fn world(seed: u64) -> World {
    let mut random = Random(seed);
    let mesh = unit_mesh(CellKind::Triangle, [2, 1, 1]);
    let mesh = mesh
        .moved(|x| [x[0] + 0.2 * x[1], x[1] - 0.1 * x[0] * x[1], 0.0])
        .unwrap();
    let space = Space::lagrange(&mesh, 2).unwrap();
    let vector = Space::lagrange(&mesh, 1).unwrap().vector(2).unwrap();
    let s = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
    let w = Field::from_values(&vector, random.numbers(vector.dof_count())).unwrap();
    let mut scope = scope(&mesh);
    scope.set("k", &Param::scalar("k", 0.7));
    scope.set_field("s", &s);
    scope.set_field("w", &w);
    World { mesh, scope, s, w }
}

impl World {
    /// One rule for a functional and its derivatives: then they are derivatives exactly.
    fn measure(&self) -> Measure {
        Measure::cells(&self.mesh).degree(5)
    }
}

/// Central difference of `f` along degree of freedom `dof`.
fn difference<T>(field: &Field, dof: usize, mut f: impl FnMut() -> T) -> [T; 2] {
    let start = field.values()[dof];
    let mut at = |value: f64| {
        field.values_mut()[dof] = value;
        f()
    };
    let both = [at(start + STEP), at(start - STEP)];
    field.values_mut()[dof] = start;
    both
}

/// Derivative of a linear form along every degree of freedom of `field`, one in each column.
fn columns_by_difference(residual: &Form, field: &Field) -> Vec<f64> {
    let n = field.space().dof_count();
    let mut plan = VectorPlan::new(residual).unwrap();
    let mut columns = vec![0.0; n * n];
    for dof in 0..n {
        let [plus, minus] = difference(field, dof, || {
            let mut out = vec![0.0; n];
            plan.assemble(&mut out).unwrap();
            out
        });
        for i in 0..n {
            columns[i * n + dof] = (plus[i] - minus[i]) / (2.0 * STEP);
        }
    }
    columns
}

/// Derivative of the functional of `e` along every degree of freedom of `field`, and the
/// second derivative: the action on each basis function, and its symmetry.
fn check(world: &World, e: &Expr, field: &Field, what: &str) {
    let measure = world.measure();
    let space = field.space();
    let functional = e.over(&measure);
    let residual = functional.deriv(field, &Expr::test(space));
    let n = space.dof_count();
    let mut plan = ScalarPlan::new(&functional).unwrap();
    let by_difference: Vec<f64> = (0..n)
        .map(|dof| {
            let [plus, minus] = difference(field, dof, || plan.evaluate().unwrap());
            (plus - minus) / (2.0 * STEP)
        })
        .collect();
    if residual.is_zero() {
        assert!(by_difference.iter().all(|d| *d == 0.0), "{what}");
        return;
    }
    let gradient = vector(&residual).unwrap();
    if largest(&gradient) < NEGLIGIBLE {
        assert!(largest(&by_difference) < NEGLIGIBLE, "{what}");
        return;
    }
    assert_close(&gradient, &by_difference, TOLERANCE, what);

    let tangent = residual.deriv(field, &Expr::trial(space));
    let dense = if tangent.is_zero() {
        vec![0.0; n * n]
    } else {
        matrix(&tangent).unwrap().to_dense()
    };
    let columns = columns_by_difference(&residual, field);
    if largest(&columns) > NEGLIGIBLE {
        assert_close(
            &dense,
            &columns,
            TOLERANCE,
            &format!("second derivative of {what}"),
        );
        let transposed: Vec<f64> = (0..n * n).map(|k| dense[(k % n) * n + k / n]).collect();
        assert_close(&dense, &transposed, 1e-12, &format!("symmetry of {what}"));
    }
}

#[test]
fn chosen_expressions() {
    let world = world(3);
    let texts = [
        "s^3",
        "s*s*dot(w, w)",
        "exp(s)*div(w)^2",
        "sqrt(1 + dot(grad(s), grad(s)))",
        "0.5*inner(sym(grad(w)), sym(grad(w))) + k*div(w)^2",
        "det(I + 0.3*grad(w))",
        "ln(det(3*I + grad(w)))",
        "tr(dot(transpose(I + 0.3*grad(w)), I + 0.3*grad(w))) - 2*ln(2 + det(I + 0.3*grad(w))^2)",
        "inner(inv(3*I + grad(w)), grad(w))",
        "pow(1 + s^2, 1.5)",
        "pow(2 + sin(s), s)",
        "k^s",
        "min(s, w[0])*max(s, 0.1)",
        "select(s < w[1], s^2, sin(w[0])*s)",
        "tan(0.3*s) + asin(0.3*s) + acos(0.3*w[0]) + atan(s)",
        "atan2(s, w[0] + 2) + atan2(w[1] - 3, s) + floor(0.001*s + 0.5)",
        "sinh(s) + cosh(s) + tanh(s)*abs(w[0])",
        "cos(s)*curl(w)",
        "norm(w - x)^2*norm(grad(s) + [3, 0])",
        "dot(cross(w, grad(s))*w, grad(s))",
        "dot(dot(w, grad(w)), x)*s",
        "inner(outer(w, grad(s)), dev(grad(w))) + inner(skew(outer(w, x)), grad(w))",
        "dot(grad(s*w[0]), w)/(2 + s^2)",
        "dot(grad(exp(s)), grad(s*s))",
        "div(s*w)*s",
        "sign(s)*s^2 + h*s^2",
    ];
    for text in texts {
        let e = read(&world.scope, text);
        check(&world, &e, &world.s, &format!("{text} by s"));
        check(&world, &e, &world.w, &format!("{text} by w"));
    }
}

#[test]
fn random_expressions() {
    let grammar = Grammar {
        scalars: &["s", "k", "div(w)", "w[0]"],
        vectors: &["w", "grad(s)", "x"],
        matrices: &["grad(w)", "outer(w, x)", "I"],
        dim: 2,
    };
    for seed in 1..=30 {
        let world = world(seed);
        let mut random = Random(seed * 7919);
        let text = grammar.scalar(&mut random, 3);
        let e = read(&world.scope, &text);
        // Kept moderate, so that differences have digits to show.
        let e = e.unary(Unary::Tanh) * (2.0 + Expr::from(&world.s));
        check(&world, &e, &world.s, &format!("{text} by s (seed {seed})"));
        check(&world, &e, &world.w, &format!("{text} by w (seed {seed})"));
    }
}

#[test]
fn native_functions_with_a_jacobian() {
    let world = world(11);
    let law = point_function(
        "law",
        &[Shape::Vector(2), Shape::Scalar],
        Shape::Vector(2),
        |x, y| {
            y[0] = x[0] * x[0] * x[1] + x[2].sin();
            y[1] = x[1].exp() * x[2];
        },
        Some(Arc::new(|x: &[f64], j: &mut [f64]| {
            j.copy_from_slice(&[
                2.0 * x[0] * x[1],
                x[0] * x[0],
                x[2].cos(),
                0.0,
                x[1].exp() * x[2],
                x[1].exp(),
            ]);
        })),
    )
    .unwrap();
    let s = Expr::from(&world.s);
    let flux = Expr::native(law, vec![s.grad(), &s * &s]);
    let measure = world.measure();
    let v = Expr::test(world.s.space());
    let residual = flux.dot(&v.grad()).over(&measure);
    let tangent = residual.deriv(&world.s, &Expr::trial(world.s.space()));
    let dense = matrix(&tangent).unwrap().to_dense();
    let columns = columns_by_difference(&residual, &world.s);
    assert_close(&dense, &columns, TOLERANCE, "native");
}

#[test]
fn a_native_function_without_a_jacobian_says_so() {
    let world = world(12);
    let law = point_function(
        "law",
        &[Shape::Scalar],
        Shape::Scalar,
        |x, y| y[0] = x[0],
        None,
    );
    let e = Expr::native(law.unwrap(), vec![Expr::from(&world.s)]);
    let message = e
        .deriv(&world.s, &Expr::test(world.s.space()))
        .check()
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("the derivative of the native function `law`"),
        "{message}"
    );
    // Where the field does not enter, nothing is asked for.
    assert!(
        e.deriv(&world.w, &Expr::test(world.w.space()))
            .check()
            .is_ok()
    );
}

#[test]
fn the_direction_may_be_any_expression() {
    let world = world(13);
    let e = read(&world.scope, "exp(s)*dot(grad(s), grad(s)) + s*div(w)");
    let measure = world.measure();
    let direction = read(&world.scope, "sin(x[0])*x[1]");
    let exact = integrate(&e.deriv(&world.s, &direction).over(&measure)).unwrap();
    // The same with the direction added to the field inside the expression.
    let shifted = |step: f64| {
        let text = format!(
            "exp(s + {step}*d)*dot(grad(s + {step}*d), grad(s + {step}*d)) + (s + {step}*d)*div(w)"
        );
        let mut scope = world.scope.clone();
        scope.set("d", direction.clone());
        integrate(&read(&scope, &text).over(&measure)).unwrap()
    };
    let by_difference = (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP);
    assert_close(&[exact], &[by_difference], TOLERANCE, "direction");
    let one = e.deriv(&world.s, &Expr::from(1.0)).over(&measure);
    let by_hand = read(&world.scope, "exp(s)*dot(grad(s), grad(s)) + div(w)").over(&measure);
    assert_close(
        &[integrate(&one).unwrap()],
        &[integrate(&by_hand).unwrap()],
        1e-14,
        "along 1",
    );
    let wrong = e
        .deriv(&world.s, &Expr::from(&world.w))
        .check()
        .unwrap_err()
        .to_string();
    assert!(
        wrong.contains("deriv") && wrong.contains("the field is a scalar"),
        "{wrong}"
    );
}

#[test]
fn deriv_in_text_takes_forms_and_needs_the_field_itself() {
    let world = world(14);
    let mut scope = world.scope.clone();
    scope.set("u", Expr::trial(world.s.space()));
    scope.set("v", Expr::test(world.s.space()));
    let tangent = scope
        .form("deriv(s^2*v*dx(degree=5) + s*v*ds(degree=5), s, u)")
        .unwrap();
    let by_hand = scope
        .form("2*s*u*v*dx(degree=5) + u*v*ds(degree=5)")
        .unwrap();
    let (a, b) = (matrix(&tangent).unwrap(), matrix(&by_hand).unwrap());
    assert_close(a.values(), b.values(), 1e-14, "deriv of a form");
    for wrong in [
        "deriv(s^2*v, s + 1, u)",
        "deriv(s, x[0], u)",
        "deriv(s, s)",
        "deriv(dx, s, u)",
    ] {
        assert!(scope.expression(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_action_of_a_bilinear_form_is_its_matrix_times_the_values() {
    let world = world(15);
    let space = world.s.space();
    let (u, v) = (Expr::trial(space), Expr::test(space));
    let x = Expr::position(&world.mesh);
    let a = (u.grad().dot(&x) * &v + u.grad().dot(&v.grad()) * x.at(0)).dx(&world.mesh);
    let measure = Measure::boundary(&world.mesh);
    let a = a + (&u * &v * x.at(1)).over(&measure);
    let mut plan = MatrixPlan::new(&a).unwrap();
    let mut matrix = plan.matrix();
    plan.assemble(&mut matrix).unwrap();
    let mut product = vec![0.0; space.dof_count()];
    matrix.multiply(&world.s.values(), &mut product).unwrap();
    let action = vector(&a.action(&world.s)).unwrap();
    assert_close(&action, &product, 1e-13, "action");
}
