//! Values of every function and operator of the text syntax, and printing read back.

use crate::common::{Random, assert_close};
use crate::generate::Grammar;
use crate::{one_cell, read, scope, values};
use weft::assemble::interpolate;
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Param, Scope};
use weft::geometry::{Geometry, Mesh};
use weft::space::Space;

type Point = [f64; 3];
/// What a text means at a point.
type Truth = fn(Point) -> Vec<f64>;

/// Names in the plane or in space: parameters `a` (scalar) and `b` (vector), and fields
/// `f = 1 + x₀ + 2x₁ − x₂` and `w = (x₁, 3x₀, x₀ − x₂)`.
fn named(mesh: &Mesh) -> (Scope, Vec<Field>) {
    let mut scope = scope(mesh);
    let space = Space::lagrange(mesh, 1).unwrap();
    let solid = mesh.space_dim() == 3;
    scope.set("a", &Param::scalar("a", 1.5));
    scope.set(
        "b",
        &Param::vector(
            "b",
            if solid {
                &[2.0, -1.0, 0.5]
            } else {
                &[2.0, -1.0]
            },
        ),
    );
    let f = if solid {
        "1 + x[0] + 2*x[1] - x[2]"
    } else {
        "1 + x[0] + 2*x[1]"
    };
    let w = if solid {
        "[x[1], 3*x[0], x[0] - x[2]]"
    } else {
        "[x[1], 3*x[0]]"
    };
    let f = interpolate(&read(&scope, f), &space).unwrap();
    let vector = space.vector(if solid { 3 } else { 2 }).unwrap();
    let w = interpolate(&read(&scope, w), &vector).unwrap();
    scope.set_field("f", &f);
    scope.set_field("w", &w);
    (scope, vec![f, w])
}

fn points(kind: CellKind) -> Vec<Point> {
    let mut random = Random(77);
    (0..7).map(|_| random.point(kind)).collect()
}

/// Compare texts with closures, and what their printed form means with both.
fn check(kind: CellKind, cases: &[(&str, Truth)]) {
    let mesh = one_cell(kind);
    let (mut scope, fields) = named(&mesh);
    for field in &fields {
        scope.set_field(&format!("field{}", field.id()), field);
    }
    let points = points(kind);
    for (text, expected) in cases {
        let e = read(&scope, text);
        let found = values(&e, &mesh, &points);
        let expected: Vec<f64> = points.iter().flat_map(|&x| expected(x)).collect();
        assert_close(&found, &expected, 1e-14, text);
        let printed = e.to_string();
        let again = scope
            .expression(&printed)
            .unwrap_or_else(|m| panic!("{text} printed\n{m}"));
        assert_eq!(again.shape(), e.shape(), "{text} printed as {printed}");
        assert_close(&values(&again, &mesh, &points), &found, 1e-15, &printed);
    }
}

#[test]
fn scalar_operators_and_functions() {
    check(
        CellKind::Triangle,
        &[
            ("1 + 2*3 - 4/8", |_| vec![6.5]),
            ("2^3^2", |_| vec![512.0]),
            ("2**3", |_| vec![8.0]),
            ("-2^2", |_| vec![-4.0]),
            ("(-2)^2", |_| vec![4.0]),
            ("2^-2", |_| vec![0.25]),
            ("8/4/2", |_| vec![1.0]),
            ("8 - 4 - 2", |_| vec![2.0]),
            ("+3 - -3", |_| vec![6.0]),
            (".5 + 1. + 1e-1 + 2.5E+1", |_| vec![27.1 - 0.5]),
            ("pi", |_| vec![std::f64::consts::PI]),
            ("a*x[0] - x[1]/a", |x| vec![1.5 * x[0] - x[1] / 1.5]),
            ("x[0] - (x[1] - a)", |x| vec![x[0] - (x[1] - 1.5)]),
            ("x[0]/(x[1]*a + 1)/a", |x| {
                vec![x[0] / (x[1] * 1.5 + 1.0) / 1.5]
            }),
            ("x[0] - (-x[1])", |x| vec![x[0] + x[1]]),
            ("x[0]*(-x[1])", |x| vec![-x[0] * x[1]]),
            ("-x[0]*x[1]", |x| vec![-x[0] * x[1]]),
            ("-(x[0] + x[1])", |x| vec![-x[0] - x[1]]),
            ("-x[0]^2", |x| vec![-x[0] * x[0]]),
            ("x[0]^0.5", |x| vec![x[0].sqrt()]),
            ("pow(x[0] + 1, x[1])", |x| vec![(x[0] + 1.0).powf(x[1])]),
            ("(x[0] + 1)^(-3)", |x| vec![(x[0] + 1.0).powi(-3)]),
            ("sin(x[0])", |x| vec![x[0].sin()]),
            ("cos(x[0])", |x| vec![x[0].cos()]),
            ("tan(x[0])", |x| vec![x[0].tan()]),
            ("asin(x[0])", |x| vec![x[0].asin()]),
            ("floor(5*x[0] - 2)", |x| vec![(5.0 * x[0] - 2.0).floor()]),
            ("atan2(x[0] - 0.4, x[1] - 0.6)", |x| {
                vec![(x[0] - 0.4).atan2(x[1] - 0.6)]
            }),
            ("acos(x[0])", |x| vec![x[0].acos()]),
            ("atan(x[0])", |x| vec![x[0].atan()]),
            ("sinh(x[0])", |x| vec![x[0].sinh()]),
            ("cosh(x[0])", |x| vec![x[0].cosh()]),
            ("tanh(x[0])", |x| vec![x[0].tanh()]),
            ("exp(x[0])", |x| vec![x[0].exp()]),
            ("ln(x[0] + 1)", |x| vec![(x[0] + 1.0).ln()]),
            ("sqrt(x[0])", |x| vec![x[0].sqrt()]),
            ("abs(x[0] - x[1])", |x| vec![(x[0] - x[1]).abs()]),
            ("sign(x[0] - x[1])", |x| vec![(x[0] - x[1]).signum()]),
            ("sign(0)", |_| vec![0.0]),
            ("min(x[0], x[1])", |x| vec![x[0].min(x[1])]),
            ("max(x[0], 0.3)", |x| vec![x[0].max(0.3)]),
            ("x[0] < x[1]", |x| vec![(x[0] < x[1]) as u8 as f64]),
            ("x[0] <= x[1]", |x| vec![(x[0] <= x[1]) as u8 as f64]),
            ("x[0] > x[1]", |x| vec![(x[0] > x[1]) as u8 as f64]),
            ("x[0] >= x[1]", |x| vec![(x[0] >= x[1]) as u8 as f64]),
            ("x[0] == x[0]", |_| vec![1.0]),
            ("less(x[0], x[1])", |x| vec![(x[0] < x[1]) as u8 as f64]),
            ("less_equal(x[0], x[0])", |_| vec![1.0]),
            ("equal(x[0], x[1])", |x| vec![(x[0] == x[1]) as u8 as f64]),
            ("(x[0] < x[1])*2 + 1", |x| {
                vec![if x[0] < x[1] { 3.0 } else { 1.0 }]
            }),
            ("select(x[0] < x[1], 1, x[0])", |x| {
                vec![if x[0] < x[1] { 1.0 } else { x[0] }]
            }),
            ("select(x[0] < 2, a, 0)", |_| vec![1.5]),
            ("h", |_| vec![2f64.sqrt()]),
            ("f", |x| vec![1.0 + x[0] + 2.0 * x[1]]),
            ("f^2*a", |x| vec![(1.0 + x[0] + 2.0 * x[1]).powi(2) * 1.5]),
            ("inside(f) + outside(f)", |x| {
                vec![2.0 * (1.0 + x[0] + 2.0 * x[1])]
            }),
            ("jump(f)", |_| vec![0.0]),
            ("avg(f)", |x| vec![1.0 + x[0] + 2.0 * x[1]]),
        ],
    );
}

#[test]
fn tensors_in_the_plane() {
    check(
        CellKind::Triangle,
        &[
            ("x", |x| vec![x[0], x[1]]),
            ("b", |_| vec![2.0, -1.0]),
            ("2*x - b/2", |x| vec![2.0 * x[0] - 1.0, 2.0 * x[1] + 0.5]),
            ("-x", |x| vec![-x[0], -x[1]]),
            ("(x + b)[1]", |x| vec![x[1] - 1.0]),
            ("[x[1], 2]", |x| vec![x[1], 2.0]),
            ("[[1, x[0]], [x[1], 4]]", |x| vec![1.0, x[0], x[1], 4.0]),
            ("[[1, 2], [3, 4]][1, 0]", |_| vec![3.0]),
            ("[[1, 2, 3], [x[0], 5, 6]]", |x| {
                vec![1.0, 2.0, 3.0, x[0], 5.0, 6.0]
            }),
            ("[[x[0], 1], [2, x[1]]]*2", |x| {
                vec![2.0 * x[0], 2.0, 4.0, 2.0 * x[1]]
            }),
            ("I", |_| vec![1.0, 0.0, 0.0, 1.0]),
            ("identity(2)*a", |_| vec![1.5, 0.0, 0.0, 1.5]),
            ("dot(x, b)", |x| vec![2.0 * x[0] - x[1]]),
            ("inner(x, b)", |x| vec![2.0 * x[0] - x[1]]),
            ("outer(x, b)", |x| {
                vec![2.0 * x[0], -x[0], 2.0 * x[1], -x[1]]
            }),
            ("cross(x, b)", |x| vec![-x[0] - 2.0 * x[1]]),
            ("dot(outer(x, b), x)", |x| {
                let d = 2.0 * x[0] - x[1];
                vec![x[0] * d, x[1] * d]
            }),
            ("dot(x, [[1, 2], [3, 4]])", |x| {
                vec![x[0] + 3.0 * x[1], 2.0 * x[0] + 4.0 * x[1]]
            }),
            ("dot([[1, 2], [3, 4]], [[5, 6], [7, x[0]]])", |x| {
                vec![19.0, 6.0 + 2.0 * x[0], 43.0, 18.0 + 4.0 * x[0]]
            }),
            ("inner(outer(x, b), [[1, 2], [3, 4]])", |x| {
                vec![6.0 * x[1] - 4.0 * x[1]]
            }),
            ("transpose([[1, 2, 3], [4, 5, x[0]]])", |x| {
                vec![1.0, 4.0, 2.0, 5.0, 3.0, x[0]]
            }),
            ("tr(outer(x, b))", |x| vec![2.0 * x[0] - x[1]]),
            ("sym(outer(x, b))", |x| {
                let s = 0.5 * (2.0 * x[1] - x[0]);
                vec![2.0 * x[0], s, s, -x[1]]
            }),
            ("skew(outer(x, b))", |x| {
                let s = 0.5 * (-x[0] - 2.0 * x[1]);
                vec![0.0, s, -s, 0.0]
            }),
            ("dev(outer(x, b))", |x| {
                let m = 0.5 * (2.0 * x[0] - x[1]);
                vec![2.0 * x[0] - m, -x[0], 2.0 * x[1], -x[1] - m]
            }),
            ("det([[x[0], 2], [3, x[1]]])", |x| vec![x[0] * x[1] - 6.0]),
            ("inv([[x[0], 2], [3, x[1]]])", |x| {
                let d = x[0] * x[1] - 6.0;
                vec![x[1] / d, -2.0 / d, -3.0 / d, x[0] / d]
            }),
            ("det([[x[0]]])", |x| vec![x[0]]),
            ("inv([[x[0] + 1]])", |x| vec![1.0 / (x[0] + 1.0)]),
            ("norm(x)", |x| vec![x[0].hypot(x[1])]),
            ("norm(outer(x, b))", |x| {
                vec![x[0].hypot(x[1]) * 5f64.sqrt()]
            }),
            ("norm(-a)", |_| vec![1.5]),
            ("select(x[0] < x[1], x, b)", |x| {
                if x[0] < x[1] {
                    vec![x[0], x[1]]
                } else {
                    vec![2.0, -1.0]
                }
            }),
            ("grad(f)", |_| vec![1.0, 2.0]),
            ("grad(w)", |_| vec![0.0, 1.0, 3.0, 0.0]),
            ("div(w)", |_| vec![0.0]),
            ("curl(w)", |_| vec![2.0]),
            ("curl(f)", |_| vec![2.0, -1.0]),
            ("grad(f*w)[0, 1]", |x| {
                vec![2.0 * x[1] + 1.0 + x[0] + 2.0 * x[1]]
            }),
            ("jump(w)", |_| vec![0.0, 0.0]),
            ("avg(grad(f))", |_| vec![1.0, 2.0]),
            ("grad(x[0]^2*x[1])", |x| {
                vec![2.0 * x[0] * x[1], x[0] * x[0]]
            }),
            ("grad(x)", |_| vec![1.0, 0.0, 0.0, 1.0]),
            ("div(x)", |_| vec![2.0]),
            ("div(outer(x, b))", |_| vec![4.0, -2.0]),
            ("curl([x[1]^2, x[0]^2])", |x| vec![2.0 * x[0] - 2.0 * x[1]]),
            ("deriv(f^2, f, x[0])", |x| {
                vec![2.0 * (1.0 + x[0] + 2.0 * x[1]) * x[0]]
            }),
            ("deriv(dot(grad(f), b), f, x[0]*x[1])", |x| {
                vec![2.0 * x[1] - x[0]]
            }),
            ("deriv(dot(w, w), w, b)", |x| {
                vec![2.0 * (2.0 * x[1] - 3.0 * x[0])]
            }),
        ],
    );
}

#[test]
fn tensors_in_space() {
    check(
        CellKind::Tet,
        &[
            ("cross(x, b)", |x| {
                vec![
                    0.5 * x[1] + x[2],
                    2.0 * x[2] - 0.5 * x[0],
                    -x[0] - 2.0 * x[1],
                ]
            }),
            ("curl(w)", |_| vec![0.0, -1.0, 2.0]),
            ("div(w)", |_| vec![-1.0]),
            ("grad(w)[2, 2]", |_| vec![-1.0]),
            ("curl([x[1]*x[2], x[0]^2, x[0]*x[1]])", |x| {
                vec![x[0], x[1] - x[1], 2.0 * x[0] - x[2]]
            }),
            ("det([[x[0], 1, 2], [0, x[1], 3], [4, 0, 1]])", |x| {
                vec![x[0] * x[1] + 12.0 - 8.0 * x[1]]
            }),
            (
                "dot(inv([[2, 1, 0], [0, x[1] + 1, 3], [1, 0, 1]]), b)",
                |x| {
                    // Cramer's rule by hand.
                    let c = x[1] + 1.0;
                    let det = 2.0 * c + 3.0;
                    let first = 2.0 * c + 1.0 + 1.5;
                    let y = first / det;
                    let z = 2.0 - 2.0 * y;
                    vec![y, z, 0.5 - y]
                },
            ),
            ("tr(I)", |_| vec![3.0]),
            ("dev(I)", |_| vec![0.0; 9]),
            ("norm(b)", |_| vec![5.25f64.sqrt()]),
            ("h", |_| vec![2f64.sqrt()]),
        ],
    );
}

#[test]
fn values_on_a_segment() {
    let mesh = one_cell(CellKind::Segment);
    let scope = scope(&mesh);
    let points = points(CellKind::Segment);
    let e = read(&scope, "grad(sin(x[0]))[0] + div(x)*x[0]");
    let expected: Vec<f64> = points.iter().map(|x| x[0].cos() + x[0]).collect();
    assert_close(&values(&e, &mesh, &points), &expected, 1e-15, "segment");
}

#[test]
fn random_expressions_print_and_read_back() {
    let mesh = one_cell(CellKind::Triangle);
    let (mut scope, fields) = named(&mesh);
    for field in &fields {
        scope.set_field(&format!("field{}", field.id()), field);
    }
    let grammar = Grammar {
        scalars: &["a", "f", "x[0]", "div(w)"],
        vectors: &["x", "b", "w", "grad(f)"],
        matrices: &["grad(w)", "I", "[[1, x[0]], [a, 2]]"],
        dim: 2,
    };
    let points = points(CellKind::Triangle);
    let mut random = Random(5);
    let mut read_back = 0;
    for k in 0..400 {
        let text = match k % 3 {
            0 => grammar.scalar(&mut random, 3),
            1 => grammar.vector(&mut random, 2),
            _ => grammar.matrix(&mut random, 2),
        };
        let e = read(&scope, &text);
        let printed = e.to_string();
        let truth = values(&e, &mesh, &points);
        assert!(truth.iter().all(|v| v.is_finite()), "{text}");
        if printed.ends_with('…') {
            continue;
        }
        read_back += 1;
        let again: Expr = scope
            .expression(&printed)
            .unwrap_or_else(|m| panic!("{text}\n{m}"));
        // A zero tensor is printed as the number.
        if again.shape() == e.shape() {
            assert_close(&values(&again, &mesh, &points), &truth, 1e-13, &text);
        } else {
            assert_eq!(printed, "0", "{text}");
        }
    }
    assert!(read_back > 250, "{read_back}");
}
