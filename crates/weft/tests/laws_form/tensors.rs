//! Gradients and divergences of matrices and tensors: against component-wise forms, scalar forms and
//! differences, for every kind of value on every kind of cell.

use crate::common::{Random, assert_close, component, scale_of, unit_mesh, value_kinds};
use crate::{one_cell, read, scope, values};
use weft::assemble::{integrate, matrix};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Form, Scope, Shape};
use weft::geometry::{Geometry, Mesh};
use weft::space::{Space, ValueKind};
use weft::sparse::BlockMatrix;

/// One mesh of each kind of cell, skewed, with few cells.
fn meshes() -> Vec<Mesh> {
    let skewed = |kind| {
        let mesh = unit_mesh(kind, [2, 1, 1]);
        mesh.moved(|x| [x[0] + 0.2 * x[1], 1.3 * x[1] - 0.1 * x[2], 0.8 * x[2]])
            .unwrap()
    };
    CellKind::CELLS.into_iter().map(skewed).collect()
}

/// `A` and `B`: trial and test function; `F`: a field of their space.
struct World {
    scope: Scope,
    trial: Expr,
    test: Expr,
    field: Field,
}

fn world(mesh: &Mesh, space: &Space, random: &mut Random) -> World {
    let mut scope = scope(mesh);
    let (trial, test) = (Expr::trial(space), Expr::test(space));
    let field = Field::from_values(space, random.numbers(space.dof_count())).unwrap();
    scope.set("A", trial.clone());
    scope.set("B", test.clone());
    scope.set_field("F", &field);
    World {
        scope,
        trial,
        test,
        field,
    }
}

fn assembled(form: &Form) -> BlockMatrix {
    matrix(form).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn same(a: &Form, b: &Form, what: &str) {
    let (a, b) = (assembled(a), assembled(b));
    assert_close(&a.to_dense(), &b.to_dense(), 1e-13, what);
}

fn sum(parts: impl Iterator<Item = Expr>) -> Expr {
    parts.fold(Expr::zero(Shape::Scalar), |sum, part| sum + part)
}

#[test]
fn products_of_gradients_are_those_of_components() {
    let mut random = Random(31);
    for mesh in meshes() {
        let scalar = Space::lagrange(&mesh, 1).unwrap();
        let (p, q) = (Expr::trial(&scalar), Expr::test(&scalar));
        let stiffness = assembled(&p.grad().inner(&q.grad()).dx(&mesh)).to_dense();
        let nodes = scalar.node_count();
        for kind in value_kinds() {
            let what = format!("{:?} {kind:?}", mesh.cell_kind());
            let space = scalar.with_value(kind).unwrap();
            let w = world(&mesh, &space, &mut random);
            let text = w.scope.form("inner(grad(A), grad(B))*dx").unwrap();
            let operators = w.trial.grad().inner(&w.test.grad()).dx(&mesh);
            assert_eq!(
                assembled(&text).values(),
                assembled(&operators).values(),
                "{what}"
            );
            let parts = (0..kind.shape().len()).map(|c| {
                let [a, b] = [&w.trial, &w.test].map(|e| component(e, c).grad());
                a.inner(&b)
            });
            same(&text, &sum(parts).dx(&mesh), &what);
            // Degrees of freedom are orthogonal, so each has the matrix of a scalar.
            let n = kind.components();
            let dense = assembled(&text).to_dense();
            let mut expected = vec![0.0; dense.len()];
            for (at, value) in stiffness.iter().enumerate() {
                let (i, j) = (at / nodes, at % nodes);
                for d in 0..n {
                    expected[(i * n + d) * nodes * n + j * n + d] = scale_of(kind) * value;
                }
            }
            assert_close(&dense, &expected, 1e-13, &what);
        }
    }
}

#[test]
fn divergences_sum_over_rows() {
    let mut random = Random(32);
    for mesh in meshes() {
        let dim = mesh.space_dim();
        for kind in value_kinds() {
            let Shape::Matrix(rows, columns) = kind.shape() else {
                continue;
            };
            let space = Space::lagrange(&mesh, 2).unwrap();
            let space = space.with_value(kind).unwrap();
            let w = world(&mesh, &space, &mut random);
            let text = w.scope.form("inner(div(A), div(B))*dx");
            if rows != dim {
                let error = text.unwrap_err().to_string();
                assert!(error.contains("as many rows, as space has axes"), "{error}");
                continue;
            }
            let what = format!("{:?} {kind:?}", mesh.cell_kind());
            let div = |e: &Expr, c: usize| sum((0..dim).map(|d| e.at2(d, c).grad().at(d)));
            let parts = (0..columns).map(|c| div(&w.trial, c) * div(&w.test, c));
            let parts = sum(parts).dx(&mesh);
            same(&text.unwrap(), &parts, &what);
            same(&w.trial.div().inner(&w.test.div()).dx(&mesh), &parts, &what);
            // The rows of the gradient are components, row-major.
            let from_gradient = |e: &Expr, c: usize| {
                let g = e.grad();
                sum((0..dim).map(|d| g.at2(d * columns + c, d)))
            };
            let again = (0..columns).map(|c| from_gradient(&w.trial, c) * div(&w.test, c));
            same(&sum(again).dx(&mesh), &parts, &what);
        }
    }
}

/// Gauss: ∫ div(F)·c = ∮ (Fᵀ n)·c for a constant c.
#[test]
fn divergences_are_the_flux_through_the_boundary() {
    let mut random = Random(33);
    for mesh in meshes() {
        let dim = mesh.space_dim();
        let kinds = [
            ValueKind::Matrix(dim, 2),
            ValueKind::Matrix(dim, dim),
            ValueKind::Symmetric(dim.max(2)),
            ValueKind::Deviatoric(dim.max(2)),
            ValueKind::Skew(dim.max(2)),
        ];
        for kind in kinds {
            let Shape::Matrix(rows, columns) = kind.shape() else {
                unreachable!()
            };
            if rows != dim {
                continue;
            }
            let space = Space::lagrange(&mesh, 2).unwrap();
            let space = space.with_value(kind).unwrap();
            let w = world(&mesh, &space, &mut random);
            for c in 0..columns {
                let value = |text: String| integrate(&w.scope.form(&text).unwrap()).unwrap();
                let inside = value(format!("div(F)[{c}]*dx"));
                let flux = value(format!("dot(n, F)[{c}]*ds"));
                assert!((inside - flux).abs() < 1e-12, "{kind:?} {inside} {flux}");
            }
        }
    }
}

#[test]
fn gradients_agree_with_differences() {
    let step = 2e-3;
    let mut random = Random(34);
    for kind in CellKind::CELLS {
        // Reference coordinates are positions here.
        let mesh = one_cell(kind);
        let dim = mesh.space_dim();
        let centre = kind.center();
        let points: Vec<[f64; 3]> = (0..4)
            .map(|_| {
                let x = random.point(kind);
                std::array::from_fn(|d| 0.8 * x[d] + 0.2 * centre[d])
            })
            .collect();
        let moved = |d: usize, by: f64| -> Vec<[f64; 3]> {
            let mut all = points.clone();
            all.iter_mut().for_each(|x| x[d] += by * step);
            all
        };
        for value in value_kinds() {
            let cubic = Space::discontinuous(&mesh, 3).unwrap();
            let w = world(&mesh, &cubic.with_value(value).unwrap(), &mut random);
            for text in ["F", "sin(x[0])*F", "-F/(2 + x[0])", "F*exp(x[0]*x[0])"] {
                let e = read(&w.scope, text);
                let gradient = read(&w.scope, &format!("grad({text})"));
                let rows = value.shape().len();
                let found = values(&gradient, &mesh, &points);
                let mut expected = vec![0.0; found.len()];
                for d in 0..dim {
                    // Exact for polynomials of degree 4.
                    let at = |by| values(&e, &mesh, &moved(d, by));
                    let (near, far) = ([at(1.0), at(-1.0)], [at(2.0), at(-2.0)]);
                    for k in 0..points.len() * rows {
                        expected[k * dim + d] = (8.0 * (near[0][k] - near[1][k])
                            - (far[0][k] - far[1][k]))
                            / (12.0 * step);
                    }
                }
                let tolerance = if text == "F" { 1e-10 } else { 1e-8 };
                assert_close(
                    &found,
                    &expected,
                    tolerance,
                    &format!("{kind:?} {value:?} {text}"),
                );
            }
        }
    }
}

#[test]
fn derivatives_of_energies_of_gradients() {
    let mut random = Random(35);
    for mesh in meshes() {
        for kind in value_kinds() {
            let what = format!("{:?} {kind:?}", mesh.cell_kind());
            let space = Space::lagrange(&mesh, 1).unwrap();
            let space = space.with_value(kind).unwrap();
            let w = world(&mesh, &space, &mut random);
            let twice = w.scope.form("inner(grad(A), grad(B))*dx").unwrap();
            let energy = "0.5*inner(grad(F), grad(F))";
            let text = format!("deriv(deriv({energy}, F, B), F, A)*dx");
            same(&w.scope.form(&text).unwrap(), &twice, &what);
            // The energy itself: ½ Fᵀ K F.
            let mut product = vec![0.0; space.dof_count()];
            assembled(&twice)
                .multiply(&w.field.values(), &mut product)
                .unwrap();
            let stored = w.field.values().to_vec();
            let parts = product.iter().zip(&stored).map(|(a, b)| a * b);
            let expected = 0.5 * parts.sum::<f64>();
            let found = integrate(&w.scope.form(&format!("{energy}*dx")).unwrap()).unwrap();
            assert!((found - expected).abs() < 1e-12 * expected, "{what}");
        }
    }
}

#[test]
fn jumps_of_gradients_are_those_of_components() {
    let mut random = Random(36);
    for mesh in meshes() {
        for kind in value_kinds() {
            let what = format!("{:?} {kind:?}", mesh.cell_kind());
            let space = Space::discontinuous(&mesh, 1).unwrap();
            let space = space.with_value(kind).unwrap();
            let w = world(&mesh, &space, &mut random);
            let text = "inner(jump(grad(A)), avg(grad(B)))*dS";
            let parts = (0..kind.shape().len()).map(|c| {
                let [a, b] = [&w.trial, &w.test].map(|e| component(e, c).grad());
                a.jump().inner(&b.avg())
            });
            let interior = weft::form::Measure::interior(&mesh);
            same(
                &w.scope.form(text).unwrap(),
                &sum(parts).over(&interior),
                &what,
            );
        }
    }
}

#[test]
fn gradients_of_gradients_of_the_position() {
    let mesh = one_cell(CellKind::Tet);
    let scope = scope(&mesh);
    // ∂²(x_i x_j)/∂x_d∂x_e = δ_id δ_je + δ_ie δ_jd: rows count i, j, d, columns e.
    let e = read(&scope, "grad(grad(outer(x, x)))");
    assert_eq!(e.shape(), Shape::Matrix(27, 3));
    let found = values(&e, &mesh, &[[0.2; 3]]);
    for (k, value) in found.iter().enumerate() {
        let (i, j, d, e) = (k / 27, k / 9 % 3, k / 3 % 3, k % 3);
        let expected = usize::from(i == d && j == e) + usize::from(i == e && j == d);
        assert_eq!(*value, expected as f64);
    }
    // No end of them is an error, at once.
    let text = format!(
        "{}sin(x[0])*outer(x, x){}",
        "grad(".repeat(60),
        ")".repeat(60)
    );
    let error = scope.expression(&text).unwrap_err().to_string();
    assert!(error.contains("more than 256 components"), "{error}");
}
