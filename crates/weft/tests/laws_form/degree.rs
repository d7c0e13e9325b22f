//! The estimated degree integrates polynomials exactly and refuses what no rule can do.

use crate::common::{Random, assert_close, curved_cases, straight_cases, unit_mesh};
use crate::{read, scope};
use weft::assemble::{integrate, matrix, vector};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure};
use weft::geometry::Mesh;
use weft::space::Space;

/// An affine image of the unit mesh of each kind.
fn affine_meshes() -> Vec<Mesh> {
    CellKind::CELLS
        .into_iter()
        .map(|kind| {
            let mesh = unit_mesh(kind, [2, 1, 1]);
            let map = |[a, b, c]: [f64; 3]| {
                let y = [
                    1.0 + 2.0 * a + 0.3 * b,
                    b - 0.4 * a + 0.2 * c,
                    0.5 * c + 0.1 * a,
                ];
                std::array::from_fn(|d| if d < kind.dim() { y[d] } else { 0.0 })
            };
            mesh.moved(map).unwrap()
        })
        .collect()
}

#[test]
fn polynomials_of_position_are_integrated_exactly() {
    for mesh in affine_meshes() {
        let scope = scope(&mesh);
        let dim = weft::geometry::Geometry::space_dim(&mesh);
        for total in 0..=7usize {
            for first in 0..=total {
                let text = if dim == 1 {
                    format!("x[0]^{total}")
                } else {
                    format!("x[0]^{first}*x[{}]^{}", dim - 1, total - first)
                };
                let e = read(&scope, &text);
                for measure in [Measure::cells(&mesh), Measure::boundary(&mesh)] {
                    let estimated = integrate(&e.over(&measure)).unwrap();
                    let exact = integrate(&e.over(&measure.degree(16))).unwrap();
                    assert_close(&[estimated], &[exact], 1e-13, &text);
                }
            }
        }
    }
}

#[test]
fn forms_of_polynomial_functions_are_exact_on_affine_cells() {
    let mut random = Random(21);
    for mesh in affine_meshes() {
        let x = Expr::position(&mesh);
        for degree in 1..=3 {
            let space = Space::lagrange(&mesh, degree).unwrap();
            let field = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
            let (u, v, f) = (Expr::trial(&space), Expr::test(&space), Expr::from(&field));
            let cells = Measure::cells(&mesh);
            let fine = cells.clone().degree(16);
            let bilinear = &u * &v * &f + x.at(0) * u.grad().dot(&v.grad()) + u.grad().dot(&x) * &v;
            let [a, b] = [&cells, &fine].map(|m| matrix(&bilinear.over(m)).unwrap());
            assert_close(a.values(), b.values(), 1e-12, "matrix");
            let linear = &f * &f * &v + f.grad().dot(&v.grad()) * f.pow(2.0);
            let [a, b] = [&cells, &fine].map(|m| vector(&linear.over(m)).unwrap());
            assert_close(&a, &b, 1e-12, "vector");
        }
    }
}

#[test]
fn volumes_of_bent_cells_are_exact() {
    for case in straight_cases().into_iter().chain(curved_cases()) {
        let one = Expr::from(1.0);
        let estimated = integrate(&one.dx(&case.mesh)).unwrap();
        let exact = integrate(&one.over(&Measure::cells(&case.mesh).degree(14))).unwrap();
        assert_close(&[estimated], &[exact], 1e-14, case.name);
    }
}

#[test]
fn a_degree_that_no_rule_reaches_is_an_error() {
    let mesh = unit_mesh(CellKind::Tet, [1; 3]);
    let scope = scope(&mesh);
    for text in ["x[0]^100", "x[0]^1e9", "(x[0]*x[1])^1e19"] {
        let message = integrate(&read(&scope, text).dx(&mesh))
            .unwrap_err()
            .to_string();
        assert!(message.contains("degree"), "{message}");
    }
    let e = read(&scope, "x[0]^100");
    assert!(integrate(&e.over(&Measure::cells(&mesh).degree(6))).is_ok());
}

/// Functions that are not polynomials count as two degrees more, a power of a constant too.
#[test]
fn issue_006_powers_of_constants_are_no_polynomials() {
    let mesh = crate::one_cell(CellKind::Quad);
    let x = Expr::position(&mesh).at(0);
    let power = Expr::from(2.0).pow(x.clone());
    let e = x.unary(weft::form::Unary::Exp);
    let [power, e] = [power, e].map(|f| {
        let exact = integrate(&f.clone().over(&Measure::cells(&mesh).degree(14))).unwrap();
        (integrate(&f.dx(&mesh)).unwrap() - exact).abs()
    });
    // The error of a one-point rule would be 2e-2.
    assert!(power < 1e-3 && e < 5e-3, "{power} {e}");
}
