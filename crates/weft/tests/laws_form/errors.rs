//! Wrong shapes, nonlinear uses, missing names: what the messages say.

use crate::common::{shared, unit_mesh};
use crate::scope;
use std::sync::Arc;
use weft::assemble::{AssembleError, integrate, matrix, vector};
use weft::element::CellKind;
use weft::form::*;
use weft::geometry::{Geometry, Mesh};
use weft::particle::ParticleQuadrature;
use weft::space::Space;

struct World {
    mesh: Mesh,
    vector: Space,
    scalar: Space,
}

fn world() -> World {
    let mesh = unit_mesh(CellKind::Triangle, [2; 3])
        .with_tag_cells("steel", |x| x[0] < 0.5)
        .unwrap();
    let scalar = Space::lagrange(&mesh, 1).unwrap();
    World {
        vector: scalar.vector(2).unwrap(),
        scalar,
        mesh,
    }
}

/// The message of an invalid expression holds every part.
#[track_caller]
fn refused(e: &Expr, parts: &[&str]) {
    let message = e.check().unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

#[test]
fn operators_refuse_shapes_and_print_the_place() {
    let w = world();
    let x = Expr::position(&w.mesh);
    let a = Param::vector("a", &[1.0, 2.0, 3.0]);
    let a = Expr::from(&a);
    refused(
        &(&x + 1.0),
        &[
            "+ does not take a vector of 2 (`x`) and a scalar (`1`)",
            "in `x + 1`",
        ],
    );
    refused(
        &(&x - &a),
        &[
            "-",
            "a vector of 2 (`x`)",
            "a vector of 3 (`a`)",
            "one shape",
        ],
    );
    refused(&(&x * &a), &["x * a", "dot, inner or outer"]);
    refused(&(1.0 / &x), &["1 / x", "the divisor is a scalar"]);
    refused(&x.dot(&a), &["dot(x, a)", "the last size of the left"]);
    refused(&x.inner(&a), &["inner(x, a)", "both have one shape"]);
    refused(&x.outer(&x.at(0)), &["outer(x, x[0])", "two vectors"]);
    refused(&x.cross(&a), &["cross(x, a)"]);
    refused(&x.transpose(), &["transpose(x)", "takes a matrix"]);
    refused(
        &x.outer(&a).trace(),
        &["tr(outer(x, a))", "2×3 matrix", "a square matrix"],
    );
    refused(
        &x.outer(&a).det(),
        &["det(outer(x, a))", "square matrix of at most 3 rows"],
    );
    refused(&x.unary(Unary::Sin), &["sin(x)", "a scalar"]);
    refused(&x.pow(1.0), &["pow(x, 1)", "two scalars"]);
    refused(&x.pow(2.0), &["pow(x, 2)", "two scalars"]);
    refused(&x.min(1.0), &["min(x, 1)", "two scalars"]);
    refused(&x.at(2), &["component [2] is outside `x`, a vector of 2"]);
    refused(&x.at2(0, 0), &["component [0, 0]"]);
    refused(
        &Expr::tensor(Shape::Vector(2), vec![x.clone(), x.clone()]),
        &["`x` is a vector of 2"],
    );
    refused(
        &Expr::tensor(Shape::Vector(2), vec![x.at(0)]),
        &["1 parts", "it takes 2"],
    );
    refused(
        &Expr::select(&x, &x, &x),
        &["select(x, x, x)", "the condition is a scalar"],
    );
    refused(
        &Expr::select(&x.at(0), &x, &a),
        &["both values have one shape"],
    );
    refused(
        &(&x * x.at(0)).outer(&a).transpose().div(),
        &["div(transpose(", "as many rows, as space has axes"],
    );
    refused(&a.grad(), &["gradient", "`a`"]);
    let mut often = x.outer(&x) * x.at(0).unary(Unary::Sin);
    while often.error().is_none() {
        assert!(often.shape().len() <= 256);
        often = often.grad();
    }
    refused(&often, &["a gradient of more than 256 components"]);
    refused(
        &Expr::normal(&w.mesh).div(),
        &["a derivative of the normal"],
    );
    refused(
        &Expr::from(1.0).grad(),
        &["gradient", "does not vary in space", "`1`"],
    );
}

#[test]
fn an_error_travels_to_the_first_fallible_use() {
    let w = world();
    let x = Expr::position(&w.mesh);
    let wrong = 2.0 * (&x + 1.0).dot(&x).unary(Unary::Sin);
    refused(&wrong, &["in `x + 1`"]);
    let form = wrong.dx(&w.mesh);
    assert!(
        integrate(&form)
            .unwrap_err()
            .to_string()
            .contains("in `x + 1`")
    );
    assert!((form + Expr::from(1.0).dx(&w.mesh)).check().is_err());
}

#[test]
fn nonlinear_uses_of_arguments_are_refused() {
    let w = world();
    let (u, v) = (Expr::trial(&w.scalar), Expr::test(&w.scalar));
    let vector = Expr::test(&w.vector);
    refused(&(&u * &u), &["linear in its trial function", "`u*u`"]);
    refused(&(&v * &v), &["linear in its test function", "`v*v`"]);
    refused(&(1.0 / &u), &["trial", "`u`"]);
    refused(&u.unary(Unary::Exp), &["trial", "exp(u)"]);
    refused(&u.unary(Unary::Abs), &["trial", "abs(u)"]);
    refused(&v.pow(2.0), &["test", "`v`"]);
    refused(&u.max(0.0), &["trial", "`u`"]);
    refused(&u.less(0.0), &["trial", "`u`"]);
    refused(&Expr::select(&u, &v, &v), &["trial", "`u`"]);
    refused(&vector.grad().det(), &["test", "grad(v)"]);
    refused(&vector.norm(), &["test", "`v`"]);
    refused(
        &vector.grad().inner(&vector.grad()),
        &["test", "inner(grad(v), grad(v))"],
    );
    refused(&(&u * (1.0 + &u)), &["u"]);
    let native = point_function(
        "f",
        &[Shape::Scalar],
        Shape::Scalar,
        |x, y| y[0] = x[0],
        None,
    );
    refused(
        &Expr::native(native.unwrap(), vec![u.clone()]),
        &["trial", "`u`"],
    );
}

#[test]
fn terms_of_a_sum_hold_the_same_functions() {
    let w = world();
    let (u, v) = (Expr::trial(&w.scalar), Expr::test(&w.scalar));
    refused(
        &(&u * &v + &v),
        &["`u*v` holds both", "`v` holds the test function"],
    );
    refused(
        &(1.0 + &v),
        &["`1` holds neither", "`v` holds the test function"],
    );
    let other = Expr::test(&Space::lagrange(&w.mesh, 2).unwrap());
    refused(
        &(&v + &other),
        &["holds the test function, of another space"],
    );
    let sum = (&u * &v).dx(&w.mesh) + v.dx(&w.mesh);
    assert!(
        sum.check()
            .unwrap_err()
            .to_string()
            .contains("same test and trial")
    );
}

#[test]
fn forms_of_the_wrong_kind_are_refused() {
    let w = world();
    let (u, v) = (Expr::trial(&w.scalar), Expr::test(&w.scalar));
    let says = |r: Result<(), AssembleError>, part: &str| {
        let message = r.unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    says(
        matrix(&v.dx(&w.mesh)).map(drop),
        "test and a trial function",
    );
    says(
        vector(&(&u * &v).dx(&w.mesh)).map(drop),
        "no trial function",
    );
    says(vector(&u.dx(&w.mesh)).map(drop), "a test function");
    says(
        integrate(&v.dx(&w.mesh)).map(drop),
        "without test and trial",
    );
    says(
        integrate(&Expr::position(&w.mesh).dx(&w.mesh)).map(drop),
        "an integrand must be a scalar, `x` is a vector of 2",
    );
    let other = unit_mesh(CellKind::Triangle, [1; 3]);
    says(vector(&v.dx(&other)).map(drop), "another geometry");
    says(
        integrate(&Expr::normal(&w.mesh).at(0).dx(&w.mesh)).map(drop),
        "sides only",
    );
    let data = Expr::cell_data("density", vec![1.0; 3]);
    says(
        integrate(&data.dx(&w.mesh)).map(drop),
        "`density` has 3 values; the geometry has 8 cells",
    );
    let far = Expr::from(1.0).over(&Measure::cells(&w.mesh).degree(400));
    says(integrate(&far).map(drop), "400");
    let deep = Expr::position(&unit_mesh(CellKind::Tet, [1; 3])).at(2);
    says(integrate(&deep.dx(&w.mesh)).map(drop), "axis 2");
}

#[test]
fn missing_groups_name_the_nearest() {
    let w = world();
    let one = Expr::from(1.0);
    let message = |form: Form| integrate(&form).unwrap_err().to_string();
    let cells = message(one.over(&Measure::cells(&w.mesh).tagged("stel")));
    assert!(
        cells.contains("no group of cells is called \"stel\""),
        "{cells}"
    );
    assert!(cells.contains("did you mean \"steel\"?"), "{cells}");
    let sides = message(one.ds(&w.mesh, "lft"));
    assert!(
        sides.contains("\"left\"") && sides.contains("did you mean"),
        "{sides}"
    );
    let far = message(one.ds(&w.mesh, "nothing alike"));
    assert!(
        far.contains("\"bottom\"") && !far.contains("did you mean"),
        "{far}"
    );
    let inner = message(one.over(&Measure::interior(&w.mesh).tagged("left")));
    assert!(
        inner.contains("on the boundary") && inner.contains("ds"),
        "{inner}"
    );
}

#[test]
fn text_errors_have_a_caret_under_the_place() {
    let w = world();
    let mut scope = scope(&w.mesh);
    scope.set("u", Expr::trial(&w.scalar));
    scope.set("v", Expr::test(&w.scalar));
    scope.set("lambda", &Param::scalar("lambda", 1.0));
    // Text, the character under the caret, and a part of the message.
    let cases = [
        ("1 + x", 2, "+ does not take"),
        ("2*(1 + x)", 5, "in `1 + x`"),
        ("lamda*2", 0, "did you mean `lambda`?"),
        ("1 + gradd(x)", 4, "did you mean `grad`?"),
        ("sin(1, 2)", 0, "`sin` takes 1 argument, got 2"),
        ("dot(x)", 0, "`dot` takes 2 arguments, got 1"),
        ("(1 + 2", 6, "expected `)` but found the end"),
        ("1 + * 2", 4, "expected a value but found `*`"),
        ("x[2]", 1, "component [2]"),
        ("x[0.5]", 2, "whole number"),
        ("x[-1]", 2, "whole number"),
        ("1 # 2", 2, "`#` has no meaning"),
        ("ä + $", 4, "`$` has no meaning"),
        ("1 2", 2, "does not continue"),
        ("1..2", 2, "does not continue"),
        (".", 0, "not a finite number"),
        ("1 + 1e999", 4, "not a finite number"),
        ("x('a", 2, "no closing '"),
        ("u*u", 1, "linear in its trial"),
        ("sin(u)", 0, "linear in its trial"),
        ("[1, [2]]", 0, "must be a scalar"),
        ("[[1, 2], [3]]", 0, "must be a scalar"),
        ("[]", 1, "expected a value"),
        ("deriv(x[0], x, x)", 0, "a field, and a direction"),
        ("identity(7)", 0, "from 1 to 4"),
        ("dx", 0, "a measure without an integrand"),
        ("dx + 1", 3, "cannot add"),
        ("u*v*dx*dx", 6, "cannot multiply"),
        ("u*v*dx/0*dx", 8, "cannot multiply"),
        ("-dx", 0, "no sign"),
        ("(u*v*dx)[0]", 8, "only an expression has components"),
        ("(u*v*dx)^2", 8, "only scalars have powers"),
        ("sin(dx)", 0, "cannot be an argument"),
        ("1 < dx", 2, "only expressions can be compared"),
        ("v*dx(degree=1.5)", 12, "whole number"),
        ("v*dx(steel)", 5, "'tag' names"),
        ("v*dx('steel' 'iron')", 13, "expected `)`"),
        ("v*dx + u*v*dx", 5, "same test and trial"),
        ("x*dx", 1, "an integrand must be a scalar"),
    ];
    for (text, column, part) in cases {
        let error = scope.expression(text).map(drop).unwrap_err();
        let FormError::Parse {
            message,
            text: line,
            caret,
            position,
        } = &error
        else {
            panic!("{text}: {error}");
        };
        assert!(message.contains(part), "{text}: {message}");
        assert_eq!(line, text);
        assert_eq!(caret.chars().count(), column + 1, "{text}\n{error}");
        assert_eq!(text[..*position].chars().count(), column);
    }
    let long = scope.expression("1 +\n2 + x\n+ 3").unwrap_err().to_string();
    assert!(long.ends_with("  2 + x\n    ^"), "{long}");
}

#[test]
fn a_form_needs_measures_and_a_number_none() {
    let mesh = unit_mesh(CellKind::Triangle, [1; 3]);
    let scope = scope(&mesh);
    let says = |text: &str, part: &str| {
        let message = scope.form(text).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    says("1 + 2", "multiply by dx, ds or dS");
    says("dx", "a measure without an integrand");
    assert!(scope.form("0").unwrap().is_zero());
    assert!(scope.form("0*dx").unwrap().is_zero());
    assert_eq!(scope.number("2*pi").unwrap(), std::f64::consts::TAU);
    assert!(
        scope
            .number("x[0]")
            .unwrap_err()
            .to_string()
            .contains("not a number")
    );
    let without = Scope::numbers();
    assert!(
        without
            .form("1*dx")
            .unwrap_err()
            .to_string()
            .contains("`dx`")
    );
    let geometry: Arc<dyn Geometry> = Arc::new(mesh);
    assert!(
        Scope::new(geometry)
            .expression("y")
            .unwrap_err()
            .to_string()
            .contains("known are")
    );
}

#[test]
fn issue_006_zero_over_zero_is_no_number() {
    let zero = Expr::from(0.0);
    assert_eq!((&zero / &zero).to_string(), "NaN");
    assert_eq!((&zero / Expr::from(2.0)).to_string(), "0");
}

#[test]
fn names_that_no_text_can_use_are_refused() {
    let w = world();
    let x = Expr::position(&w.mesh);
    let refuse = |name: &str, part: &str| {
        let mut scope = Scope::new(shared(&w.mesh));
        scope.set("a", 1.0);
        scope.set(name, x.at(0));
        // A later good name does not hide it.
        scope.set("b", 1.0);
        for error in [
            scope.expression("a").map(drop).unwrap_err(),
            scope.form("a*dx").map(drop).unwrap_err(),
            scope.number("a").map(drop).unwrap_err(),
        ] {
            let message = error.to_string();
            assert!(message.contains(part), "{name:?}: {message}");
            assert!(message.contains(&format!("`{name}`")), "{message}");
        }
    };
    for name in [
        "", " ", "a b", "a ", "1", "2a", "a-b", "a.b", "a[0]", "'a'", "a\n", "dx ",
    ] {
        refuse(name, "letters, digits and _");
    }
    for name in ["dx", "ds", "dS"] {
        refuse(name, "is a measure");
    }
    // Where there are no measures, these are names like others.
    let mut numbers = Scope::numbers();
    numbers.set("dx", 0.5);
    assert_eq!(numbers.number("2*dx").unwrap(), 1.0);
    // Every name that is accepted can be used.
    for name in [
        "a",
        "_",
        "_1",
        "é2",
        "d",
        "dxx",
        "DX",
        "degree",
        "particles",
        "x",
        "pi",
    ] {
        let mut scope = Scope::new(shared(&w.mesh));
        scope.set(name, 3.0);
        assert_eq!(scope.number(name).unwrap(), 3.0, "{name}");
    }
    let cloud = ParticleQuadrature::new(&w.mesh);
    let mut scope = Scope::new(shared(&w.mesh));
    scope.set_particles("dx", &cloud);
    scope.form("1*dx(particles = dx)").unwrap();
    scope.set_particles("some sand", &cloud);
    let error = scope.form("1*dx").unwrap_err().to_string();
    assert!(error.contains("`some sand` is no name"), "{error}");
}
