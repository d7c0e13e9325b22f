//! Identities of vector calculus on analytic expressions of position.

use crate::common::{Random, assert_close};
use crate::generate::Grammar;
use crate::{one_cell, read, scope, values};
use weft::element::CellKind;
use weft::form::Scope;
use weft::geometry::{Geometry, Mesh};

const PLANE: Grammar = Grammar {
    scalars: &["x[0]", "x[1]", "x[0]*x[1]"],
    vectors: &["x", "[x[1], x[0]^2]", "[sin(x[1]), 1]"],
    matrices: &["outer(x, x)", "[[x[0], x[1]^2], [1, x[0]]]"],
    dim: 2,
};

const SPACE: Grammar = Grammar {
    scalars: &["x[0]", "x[1]", "x[2]*x[0]"],
    vectors: &[
        "x",
        "[x[1]*x[2], x[0]^2, x[1]]",
        "[sin(x[1]), 1, exp(x[2])]",
    ],
    matrices: &[
        "outer(x, x)",
        "[[x[0], x[1]^2, 1], [1, x[2], x[0]], [0, x[1], 2]]",
    ],
    dim: 3,
};

/// Names and points to compare at.
struct World {
    mesh: Mesh,
    scope: Scope,
    points: Vec<[f64; 3]>,
}

impl World {
    fn new(kind: CellKind) -> World {
        let mesh = one_cell(kind);
        let mut random = Random(9);
        let points = (0..6).map(|_| random.point(kind)).collect();
        World {
            scope: scope(&mesh),
            mesh,
            points,
        }
    }

    /// Demand that two texts have equal values.
    fn equal(&self, a: &str, b: &str, what: &str) {
        let [a, b] = [a, b].map(|text| {
            let e = read(&self.scope, text);
            (e.shape(), values(&e, &self.mesh, &self.points))
        });
        assert!(a.0 == b.0 || b.1.iter().all(|v| *v == 0.0), "{what}");
        let scale = a.1.iter().chain(&b.1).fold(1.0f64, |m, v| m.max(v.abs()));
        for (k, a) in a.1.iter().enumerate() {
            let b = if b.1.len() > k { b.1[k] } else { 0.0 };
            assert!((a - b).abs() <= 1e-11 * scale, "{what}: {a} and {b}");
        }
    }
}

/// Run a check with random scalars f, g and vectors v, w of both grammars in the scope.
fn sweep(depth: usize, check: impl Fn(&World, &str)) {
    for (kind, grammar) in [(CellKind::Triangle, PLANE), (CellKind::Tet, SPACE)] {
        for seed in 1..=12 {
            let mut world = World::new(kind);
            let mut random = Random(seed * 104_729);
            let mut what = format!("{kind:?}");
            for name in ["f", "g", "v", "w"] {
                let text = match name {
                    "f" | "g" => format!("x[0]*{}", grammar.scalar(&mut random, depth)),
                    _ => format!("x + {}", grammar.vector(&mut random, depth)),
                };
                world.scope.set(name, read(&world.scope, &text));
                what = format!("{what}, {name} = {text}");
            }
            check(&world, &what);
        }
    }
}

#[test]
fn the_curl_of_a_gradient_and_the_divergence_of_a_curl_vanish() {
    sweep(2, |world, what| {
        world.equal("curl(grad(f))", "0", what);
        let solid = world.mesh.space_dim() == 3;
        world.equal(
            if solid {
                "div(curl(v))"
            } else {
                "div(curl(f))"
            },
            "0",
            what,
        );
    });
}

#[test]
fn product_rules() {
    let everywhere = [
        ("grad(f*g)", "f*grad(g) + g*grad(f)"),
        ("div(f*v)", "f*div(v) + dot(grad(f), v)"),
        ("grad(f*v)", "f*grad(v) + outer(v, grad(f))"),
        ("div(outer(v, w))", "w*div(v) + dot(grad(w), v)"),
        ("grad(dot(v, w))", "dot(v, grad(w)) + dot(w, grad(v))"),
        ("curl(f*v)", "f*curl(v) + cross(grad(f), v)"),
        ("div(grad(f))", "tr(grad(grad(f)))"),
        (
            "grad(f/(2 + g^2))",
            "grad(f)/(2 + g^2) - 2*f*g*grad(g)/(2 + g^2)^2",
        ),
    ];
    let in_space = [
        ("div(cross(v, w))", "dot(w, curl(v)) - dot(v, curl(w))"),
        // The Laplacian of a vector is the divergence of each row of its gradient.
        ("curl(curl(v))", "grad(div(v)) - div(transpose(grad(v)))"),
    ];
    sweep(2, |world, what| {
        let solid = world.mesh.space_dim() == 3;
        let laws = everywhere.iter().chain(in_space.iter().filter(|_| solid));
        for (a, b) in laws {
            world.equal(a, b, &format!("{a} = {b} for {what}"));
        }
    });
}

#[test]
fn gradients_agree_with_differences() {
    let step = 1e-5;
    sweep(3, |world, what| {
        for e in ["f", "v"].map(|name| read(&world.scope, name)) {
            let gradient = values(&e.grad(), &world.mesh, &world.points);
            let dim = gradient.len() / world.points.len() / e.shape().len();
            let mut by_difference = vec![0.0; gradient.len()];
            for d in 0..dim {
                let moved = |sign: f64| {
                    let moved: Vec<[f64; 3]> = world
                        .points
                        .iter()
                        .map(|x| {
                            std::array::from_fn(|k| x[k] + if k == d { sign * step } else { 0.0 })
                        })
                        .collect();
                    values(&e, &world.mesh, &moved)
                };
                for (k, (plus, minus)) in moved(1.0).iter().zip(moved(-1.0)).enumerate() {
                    by_difference[k * dim + d] = (plus - minus) / (2.0 * step);
                }
            }
            assert_close(&gradient, &by_difference, 1e-5, what);
        }
    });
}

#[test]
fn derivatives_of_constants_vanish() {
    for kind in [CellKind::Triangle, CellKind::Tet] {
        let world = World::new(kind);
        // The gradient of a linear function is a constant, and may be derived again.
        for text in [
            "div(grad(x[0] + 2*x[1]))",
            "div(grad(x)[0, 0]*x) - div(x)",
            "div([1, 2])",
            "div(outer([1, 2], [3, 4]))[0]",
        ] {
            world.equal(text, "0", text);
        }
        let zero = if kind.dim() == 2 {
            "[0, 0]"
        } else {
            "[0, 0, 0]"
        };
        world.equal("grad(2)", zero, "grad(2)");
        world.equal("curl(grad(x[0]))", "0", "curl");
    }
}
