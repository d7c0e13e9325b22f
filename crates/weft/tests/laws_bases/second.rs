//! Second derivatives of test and trial functions and fields in forms.

use crate::common::{
    Case, Random, assert_close, curved_cases, difference, embedded_cases, straight_cases,
    unit_mesh, zigzag_mesh,
};
use std::sync::Arc;
use weft::assemble::{
    InterpolationMatrix, MatrixPlan, PointPlan, ScalarPlan, evaluate_at, integrate, interpolate,
    matrix, project, vector,
};
use weft::element::{CellKind, Piola, Quadrature};
use weft::field::Field;
use weft::form::{Expr, Form, Measure, Scope};
use weft::geometry::{Geometry, Grid2, Grid3, Mesh, frame_at};
use weft::particle::{Cloud, ParticleQuadrature};
use weft::space::Space;

fn random_field(space: &Space, random: &mut Random) -> Field {
    Field::from_values(space, random.numbers(space.dof_count())).unwrap()
}

/// Every kind of scalar space on a mesh.
fn spaces(mesh: &Mesh) -> Vec<Space> {
    let mut all = Vec::new();
    for p in 1..=4 {
        all.push(Space::lagrange(mesh, p).unwrap());
        all.push(Space::discontinuous(mesh, p).unwrap());
        all.push(Space::polynomials(mesh, p).unwrap());
        all.extend(Space::serendipity(mesh, p));
    }
    all.extend(Space::crouzeix_raviart(mesh));
    all.push(Space::bubble(mesh).unwrap());
    all
}

/// Compares second derivatives of a field with differences of its gradient along reference axes:
/// ∂(grad u)/∂ξ_k = H J e_k.
fn check_hessian(space: &Space, name: &str, random: &mut Random) {
    let geometry = space.geometry();
    let (kind, dim) = (geometry.cell_kind(), geometry.space_dim());
    let field = random_field(space, random);
    let gradient = field.expr().grad();
    let hessian = gradient.grad();
    let jacobian = Expr::jacobian(&**geometry);
    let step = 1e-4;
    for _ in 0..3 {
        let centre = kind.center();
        let inner = random.point(kind);
        let xi: [f64; 3] = std::array::from_fn(|d| 0.1 * centre[d] + 0.9 * inner[d]);
        let h = evaluate_at(&hessian, geometry, &[xi]).unwrap();
        let j = evaluate_at(&jacobian, geometry, &[xi]).unwrap();
        let size = h.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        for k in 0..dim {
            let at = |s: f64| {
                let mut x = xi;
                x[k] += s * step;
                evaluate_at(&gradient, geometry, &[x]).unwrap()
            };
            let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(at);
            for cell in 0..space.topology().cell_count() {
                for row in 0..dim {
                    let i = cell * dim + row;
                    let slope = (a[i] - 8.0 * b[i] + 8.0 * c[i] - d[i]) / (12.0 * step);
                    let h = &h[cell * dim * dim + row * dim..][..dim];
                    let j = &j[cell * dim * dim..][..dim * dim];
                    let own: f64 = (0..dim).map(|d| h[d] * j[d * dim + k]).sum();
                    assert!(
                        (slope - own).abs() < 1e-7 * size,
                        "{name} degree {}: {slope} not {own}",
                        space.degree()
                    );
                }
                for a in 0..dim {
                    for b in 0..a {
                        let at = |r: usize, c: usize| h[(cell * dim + r) * dim + c];
                        assert_eq!(at(a, b), at(b, a), "{name}");
                    }
                }
            }
        }
    }
}

fn cases() -> Vec<Case> {
    [straight_cases(), curved_cases()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn the_hessian_of_a_field_is_the_derivative_of_its_gradient() {
    let mut random = Random(31);
    for case in cases() {
        for space in spaces(&case.mesh) {
            check_hessian(&space, case.name, &mut random);
        }
    }
    let grid2 = Grid2::new([3, 2], [-1.0, 0.5], [1.0, 1.2]).unwrap();
    let grid3 = Grid3::new([2, 2, 3], [0.0; 3], [1.0, 0.7, 1.3]).unwrap();
    for p in 1..=3 {
        check_hessian(&Space::lagrange(&grid2, p).unwrap(), "grid", &mut random);
        check_hessian(&Space::lagrange(&grid3, p).unwrap(), "grid", &mut random);
    }
}

/// A quadratic function has constant second derivatives, which functions of degree 2 reproduce on
/// straight simplices and parallelograms, and splines too.
#[test]
fn hessians_of_quadratic_functions_are_exact() {
    let text = |dim: usize| match dim {
        1 => "1.5*x[0]*x[0] - x[0]",
        2 => "1.5*x[0]*x[0] - 0.7*x[0]*x[1] + 0.4*x[1]*x[1] + x[0]",
        _ => "1.5*x[0]*x[0] - 0.7*x[0]*x[1] + 0.4*x[1]*x[1] - x[2]*x[2] + 0.2*x[1]*x[2]",
    };
    let exact_in = |geometry: Arc<dyn Geometry>| {
        let text = text(geometry.space_dim());
        Scope::new(geometry).expression(text).unwrap()
    };
    let error = |field: &Field, exact: &Expr, measure: &Measure| {
        let off = field.expr().grad().grad() - exact.grad().grad();
        integrate(&off.inner(&off).over(measure)).unwrap().sqrt()
    };
    for kind in CellKind::CELLS {
        let dim = kind.dim();
        let sheared = |x: [f64; 3]| {
            let shear = |d: usize| if dim > 1 { x[(d + 1) % dim] } else { 0.0 };
            std::array::from_fn(|d| {
                if d < dim {
                    1.3 * x[d] + 0.2 * shear(d)
                } else {
                    0.0
                }
            })
        };
        let mesh = unit_mesh(kind, [3; 3]).moved(sheared).unwrap();
        let exact = exact_in(Arc::new(mesh.clone()));
        for p in 2..=4 {
            let field = interpolate(&exact, &Space::lagrange(&mesh, p).unwrap()).unwrap();
            let error = error(&field, &exact, &Measure::cells(&mesh).degree(4));
            assert!(error < 1e-9, "{} {p}: {error:e}", kind.name());
        }
    }
    for p in 2..=3 {
        let grid = Grid2::new([5, 4], [0.0, -1.0], [1.0, 0.5]).unwrap();
        let exact = exact_in(Arc::new(grid.clone()));
        let field = project(&exact, &Space::splines(&grid, p).unwrap()).unwrap();
        let off = error(&field, &exact, &Measure::cells(&grid).degree(4));
        assert!(off < 1e-8, "splines {p}: {off:e}");
        let grid = Grid3::unit([3, 4, 2]).unwrap();
        let exact = exact_in(Arc::new(grid.clone()));
        let field = project(&exact, &Space::splines(&grid, p).unwrap()).unwrap();
        let off = error(&field, &exact, &Measure::cells(&grid).degree(4));
        assert!(off < 1e-8, "splines {p}: {off:e}");
    }
}

/// Checks that matrices, vectors and functionals of one bilinear form in (u, v) agree: the matrix
/// times the field is the form with the field put in, and the sum of its entries with another field
/// the functional of both.
fn check_agreement(
    form: &dyn Fn(&Expr, &Expr) -> Form,
    trial: &Space,
    test: &Space,
    name: &str,
    random: &mut Random,
) {
    let (f, g) = (random_field(trial, random), random_field(test, random));
    let whole = form(&Expr::trial(trial), &Expr::test(test));
    let a = matrix(&whole).unwrap();
    let mut product = vec![0.0; test.dof_count()];
    a.multiply(&f.values(), &mut product).unwrap();
    let put_in = vector(&whole.action(&f)).unwrap();
    let size = product.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
    assert!(
        difference(&product, &put_in) < 1e-11 * size,
        "{name}: vector"
    );
    let by_fields = vector(&form(&f.expr(), &Expr::test(test))).unwrap();
    assert!(
        difference(&product, &by_fields) < 1e-11 * size,
        "{name}: fields"
    );
    let number = integrate(&form(&f.expr(), &g.expr())).unwrap();
    let sum: f64 = product.iter().zip(&*g.values()).map(|(a, b)| a * b).sum();
    let size = size * test.dof_count() as f64;
    assert!(
        (number - sum).abs() < 1e-11 * size,
        "{name}: {number} not {sum}"
    );
    // The derivative of the functional is the vector.
    let functional = form(&f.expr(), &g.expr());
    let slope = vector(&functional.deriv(&g, &Expr::test(test))).unwrap();
    assert!(
        difference(&product, &slope) < 1e-11 * size,
        "{name}: derivative"
    );
}

#[test]
fn matrices_vectors_and_functionals_agree() {
    let mut random = Random(32);
    for Case { name, mesh } in cases() {
        let dim = mesh.space_dim();
        // One rule for all kinds of forms.
        let cells = Measure::cells(&mesh).degree(6);
        let interior = Measure::interior(&mesh).degree(6);
        let boundary = Measure::boundary(&mesh).degree(6);
        let n = Expr::normal(&mesh);
        let two = Space::lagrange(&mesh, 2).unwrap();
        let three = Space::lagrange(&mesh, 3).unwrap();
        let hessian = |e: &Expr| e.grad().grad();
        let full = |u: &Expr, v: &Expr| hessian(u).inner(&hessian(v)).over(&cells);
        check_agreement(&full, &two, &two, name, &mut random);
        check_agreement(&full, &two, &three, name, &mut random);
        // One second derivative and one first, and the values too: all slots.
        let some = |u: &Expr, v: &Expr| {
            (hessian(u).trace() * v.grad().at(0) + u * hessian(v).at2(dim - 1, 0)).over(&cells)
        };
        check_agreement(&some, &two, &two, name, &mut random);
        let every = |u: &Expr, v: &Expr| {
            let terms = hessian(u).inner(&hessian(v)) + u.grad().inner(&v.grad()) + u * v;
            ((1.0 + Expr::position(&mesh).at(0)) * terms).over(&cells)
        };
        check_agreement(&every, &three, &three, name, &mut random);
        let normal = |e: &Expr| hessian(e).dot(&n).dot(&n);
        let penalty = |u: &Expr, v: &Expr| {
            let mean = normal(u).avg() * v.grad().jump().dot(&n);
            let other = normal(v).avg() * u.grad().jump().dot(&n);
            let jumps = u.grad().jump().dot(&n) * v.grad().jump().dot(&n);
            (mean + other + jumps).over(&interior) + (normal(u) * v.grad().dot(&n)).over(&boundary)
        };
        check_agreement(&penalty, &two, &two, name, &mut random);
        // Of vectors and symmetric matrices.
        let vectors = two.vector(dim).unwrap();
        let laplacian = |e: &Expr| e.grad().transpose().div();
        let elastic = |u: &Expr, v: &Expr| {
            let weak = laplacian(u).dot(&laplacian(v)) + u.div().grad().dot(&v.div().grad());
            (weak + u.dot(v)).over(&cells)
        };
        check_agreement(&elastic, &vectors, &vectors, name, &mut random);
        let mixed = |u: &Expr, v: &Expr| (laplacian(u).at(0) * v).over(&cells);
        check_agreement(&mixed, &vectors, &three, name, &mut random);
    }
    let grid = Grid2::unit([4, 3]).unwrap();
    for p in 1..=3 {
        let space = Space::splines(&grid, p).unwrap();
        let full = |u: &Expr, v: &Expr| u.grad().grad().inner(&v.grad().grad()).dx(&grid);
        check_agreement(&full, &space, &space, "splines", &mut random);
    }
}

/// Second derivatives of a vector are those of its components.
#[test]
fn components_of_vectors_have_the_second_derivatives_of_numbers() {
    let mut random = Random(33);
    for Case { mesh, .. } in cases() {
        let dim = mesh.space_dim();
        let scalar = Space::lagrange(&mesh, 3).unwrap();
        let vectors = scalar.vector(2).unwrap();
        let whole = random_field(&vectors, &mut random);
        let part = Field::zeros(&scalar);
        let values: Vec<f64> = whole.values().chunks(2).map(|c| c[1]).collect();
        part.values_mut().copy_from_slice(&values);
        let xi = [random.point(mesh.cell_kind())];
        let geometry: Arc<dyn Geometry> = Arc::new(mesh.clone());
        let at = |e: &Expr| evaluate_at(e, &geometry, &xi).unwrap();
        let own = at(&part.expr().grad().grad());
        let other = at(&whole.expr().at(1).grad().grad());
        assert_close(&own, &other, 1e-13, "component");
        for d in 0..dim {
            // ∂_d of row 1 of the gradient.
            let row = Expr::tensor(
                weft::form::Shape::Vector(dim),
                (0..dim).map(|e| whole.expr().grad().at2(1, e)).collect(),
            );
            let column = at(&row.grad().at2(d, 0));
            let expected: Vec<f64> = own.chunks(dim * dim).map(|h| h[d * dim]).collect();
            assert_close(&column, &expected, 1e-13, "row of a gradient");
        }
    }
}

/// Sums over particles at the points of a rule are integrals by the rule.
#[test]
fn particles_at_the_points_of_a_rule_agree_with_it() {
    let mut random = Random(34);
    for Case { name, mesh } in cases() {
        let kind = mesh.cell_kind();
        let rule = Quadrature::new(kind, 5).unwrap();
        let (mut x, mut w) = (Vec::new(), Vec::new());
        for cell in 0..mesh.topology().cell_count() {
            for (&xi, weight) in rule.points().iter().zip(rule.weights()) {
                let frame = frame_at(&mesh, cell, xi);
                x.push(frame.position);
                w.push(weight * kind.reference_measure() * frame.measure);
            }
        }
        let particles = ParticleQuadrature::new(&mesh);
        particles.rebuild(&Cloud::new(&x, &w)).unwrap();
        let here = Measure::cells(&mesh).degree(5);
        let there = Measure::cells(&mesh).on_particles(&particles);
        let space = Space::lagrange(&mesh, 3).unwrap();
        let field = random_field(&space, &mut random);
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let hessian = |e: &Expr| e.grad().grad();
        let a = hessian(&u).inner(&hessian(&v));
        let on = |m: &Measure| matrix(&a.over(m)).unwrap().values().to_vec();
        let (one, two) = (on(&here), on(&there));
        let size = one.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        assert!(difference(&one, &two) < 1e-9 * size, "{name}");
        let l = hessian(&field.expr()).trace() * &v;
        let on = |m: &Measure| vector(&l.over(m)).unwrap();
        let (one, two) = (on(&here), on(&there));
        let size = one.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        assert!(difference(&one, &two) < 1e-9 * size, "{name}");
    }
}

/// Integrands with gradients of discrete functions change with the positions of particles by second
/// derivatives.
#[test]
fn sums_of_gradients_over_particles_follow_their_positions() {
    const STEP: f64 = 1e-5;
    let mut random = Random(35);
    for Case { name, mesh } in cases() {
        let (kind, dim) = (mesh.cell_kind(), mesh.space_dim());
        let x: Vec<[f64; 3]> = (0..mesh.topology().cell_count())
            .map(|cell| {
                let (xi, centre) = (random.point(kind), kind.center());
                let inner = std::array::from_fn(|d| 0.2 * centre[d] + 0.8 * xi[d]);
                frame_at(&mesh, cell, inner).position
            })
            .collect();
        let w: Vec<f64> = x.iter().map(|_| random.between(0.1, 1.0)).collect();
        let particles = ParticleQuadrature::new(&mesh);
        particles.rebuild(&Cloud::new(&x, &w)).unwrap();
        let space = Space::lagrange(&mesh, 3).unwrap();
        let field = random_field(&space, &mut random);
        let slope = field.expr().grad();
        let energy = slope.dot(&slope) * field.expr();
        let mut plan = PointPlan::position_gradient(&energy, &particles).unwrap();
        let mut gradient = vec![0.0; plan.len()];
        plan.evaluate(&mut gradient).unwrap();
        let measure = Measure::cells(&mesh).on_particles(&particles);
        let mut sum = ScalarPlan::new(&energy.over(&measure)).unwrap();
        let size = gradient.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        for p in 0..x.len() {
            for d in 0..dim {
                let mut at = |s: f64| {
                    let mut moved = x.clone();
                    moved[p][d] += s * STEP;
                    particles.rebuild(&Cloud::new(&moved, &w)).unwrap();
                    sum.evaluate().unwrap()
                };
                let slope = (at(1.0) - at(-1.0)) / (2.0 * STEP);
                let off = (slope - gradient[p * dim + d]).abs();
                assert!(off < 1e-6 * size, "{name}: {off:e}");
            }
        }
    }
}

/// Rows of interpolation matrices with second derivatives, in the same cells and at free points.
#[test]
fn interpolation_matrices_hold_second_derivatives() {
    let mut random = Random(36);
    for Case { name, mesh } in cases() {
        let geometry: Arc<dyn Geometry> = Arc::new(mesh.clone());
        let space = Space::lagrange(&mesh, 3).unwrap();
        let field = random_field(&space, &mut random);
        let points: Vec<[f64; 3]> = (0..2).map(|_| random.point(mesh.cell_kind())).collect();
        let rows = Expr::trial(&space).grad().grad();
        let rows = InterpolationMatrix::at_points(&rows, &Measure::cells(&mesh), &points);
        let a = rows.unwrap().assembled().unwrap();
        let expected = evaluate_at(&field.expr().grad().grad(), &geometry, &points).unwrap();
        let mut product = vec![0.0; expected.len()];
        a.multiply(&field.values(), &mut product).unwrap();
        let size = expected.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        assert!(difference(&product, &expected) < 1e-11 * size, "{name}");
    }
}

#[test]
fn second_derivatives_that_do_not_exist_are_refused() {
    let message = |e: &Expr| e.error().map(|e| e.to_string()).unwrap_or_default();
    let mesh = zigzag_mesh(CellKind::Triangle, 2);
    let u = Expr::trial(&Space::lagrange(&mesh, 3).unwrap());
    let third = u.grad().grad().at2(0, 1).grad();
    assert!(
        message(&third).contains("a third derivative"),
        "{}",
        message(&third)
    );
    let third = u.grad().div().grad();
    assert!(message(&third).contains("a third derivative"));
    for space in [Space::nedelec(&mesh, 1), Space::bdm(&mesh, 2)] {
        let space = space.unwrap();
        let u = Expr::test(&space);
        let text = message(&u.grad().at2(0, 0).grad());
        let family = space.vector_element().unwrap().family().to_string();
        assert!(
            text.contains("second derivative") && text.contains(&family),
            "{text}"
        );
        let own = match space.vector_element().unwrap().piola() {
            Piola::Covariant => u.curl(),
            Piola::Contravariant => u.div(),
        };
        assert!(message(&own.grad()).contains("second derivative"));
    }
    for case in embedded_cases() {
        let u = Expr::from(&Field::zeros(&Space::lagrange(&case.mesh, 2).unwrap()));
        assert!(
            message(&u.grad().grad()).contains("surface or curve"),
            "{}",
            case.name
        );
    }
    // A function of a space on another geometry.
    let line = unit_mesh(CellKind::Segment, [3, 1, 1]);
    let solid = unit_mesh(CellKind::Tet, [1; 3]);
    let w = Field::zeros(&Space::lagrange(&solid, 2).unwrap());
    assert!(integrate(&w.expr().grad().grad().at2(0, 2).dx(&line)).is_err());
}

/// The text forms that print as what they are.
#[test]
fn second_derivatives_have_text_forms() {
    let mesh = zigzag_mesh(CellKind::Quad, 2);
    let mut scope = Scope::new(Arc::new(mesh.clone()));
    let scalar = Space::lagrange(&mesh, 2).unwrap();
    let vectors = scalar.vector(2).unwrap();
    let (f, g) = (Field::zeros(&scalar), Field::zeros(&vectors));
    let mut random = Random(37);
    for field in [&f, &g] {
        let n = field.values().len();
        field.values_mut().copy_from_slice(&random.numbers(n));
        scope.set_field(&format!("field{}", field.id()), field);
    }
    scope.set_field("f", &f);
    scope.set_field("g", &g);
    for text in [
        "grad(grad(f))[0, 1]",
        "div(grad(f))",
        "grad(div(g))[1]",
        "div(grad(g))[0]",
    ] {
        let e = scope.expression(text).unwrap();
        let again = scope.expression(&e.to_string()).unwrap();
        let of = |e: &Expr| integrate(&e.dx(&mesh)).unwrap();
        assert_eq!(of(&e), of(&again), "{text} as {e}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mesh = zigzag_mesh(CellKind::Hex, 3);
    let space = Space::lagrange(&mesh, 2).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = u.grad().grad().inner(&v.grad().grad()) + u.grad().inner(&v.grad()) + &u * &v;
    let on = |threads: usize| {
        crate::common::pool(threads).install(|| {
            let mut plan = MatrixPlan::new(&a.dx(&mesh)).unwrap();
            let mut matrix = plan.matrix();
            plan.assemble(&mut matrix).unwrap();
            matrix.values().to_vec()
        })
    };
    let one = on(1);
    for threads in [2, 3, 5] {
        assert!(on(threads) == one, "{threads}");
    }
}
