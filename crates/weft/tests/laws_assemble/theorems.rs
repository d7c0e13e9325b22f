//! The divergence theorem and its kin on cells and sides of every kind.

use crate::common::*;
use crate::{field, scope, value};
use weft::field::Field;
use weft::form::Scope;
use weft::geometry::{Geometry, Mesh};
use weft::space::Space;

/// Rule that integrates what these tests integrate, on bent cells too.
const RULE: usize = 14;

fn scope_at(mesh: &Mesh) -> Scope {
    let mut scope = Scope::new(shared(mesh));
    scope.set_degree(Some(RULE));
    scope
}

/// Polynomials of position, one for each axis.
const POLYNOMIALS: [[&str; 3]; 3] = [
    ["x[0]^3 + x[0]", "0", "0"],
    ["x[0]^2*x[1] - x[1]", "x[1]^3 + 2*x[0]*x[1]", "0"],
    [
        "x[0]*x[1]*x[2] + x[0]^2",
        "x[1]^3 - x[2]*x[0]",
        "x[2]^2*x[1] + x[2] + x[0]",
    ],
];

fn flat_cases() -> impl Iterator<Item = Case> {
    straight_cases().into_iter().chain(curved_cases())
}

#[test]
fn the_divergence_theorem_for_vectors() {
    for Case { name, mesh } in flat_cases() {
        let dim = mesh.space_dim();
        let mut scope = scope_at(&mesh);
        let w = format!("[{}]", POLYNOMIALS[dim - 1][..dim].join(", "));
        scope.set("w", scope.expression(&w).unwrap());
        let inside = value(&scope, "div(w)*dx");
        let flux = value(&scope, "dot(w, n)*ds");
        assert_close(&[flux], &[inside], 1e-12, name);
        // For a constant the flux is 0: the boundary is closed.
        let lengths = value(&scope, "1*ds");
        for d in 0..dim {
            let sum = value(&scope, &format!("n[{d}]*ds"));
            assert!(sum.abs() < 1e-12 * lengths, "{name}: {sum}");
        }
        assert!(value(&scope, "(dot(n, n) - 1)^2*ds") < 1e-25, "{name}");
        if mesh.topology().interior_sides().is_empty() {
            continue;
        }
        assert!(value(&scope, "(dot(n, n) - 1)^2*dS") < 1e-25, "{name}");
    }
}

#[test]
fn the_divergence_theorem_for_tensors() {
    for Case { name, mesh } in flat_cases() {
        let dim = mesh.space_dim();
        if dim == 1 {
            continue;
        }
        let mut scope = scope_at(&mesh);
        let entries = POLYNOMIALS[dim - 1];
        let rows: Vec<String> = (0..dim)
            .map(|i| {
                let row: Vec<String> = (0..dim)
                    .map(|j| format!("{} + {i}*x[0]", entries[(i + j) % dim]))
                    .collect();
                format!("[{}]", row.join(", "))
            })
            .collect();
        scope.set(
            "t",
            scope.expression(&format!("[{}]", rows.join(", "))).unwrap(),
        );
        for c in 0..dim {
            let inside = value(&scope, &format!("div(t)[{c}]*dx"));
            let flux = value(&scope, &format!("dot(n, t)[{c}]*ds"));
            assert_close(&[flux], &[inside], 1e-11, name);
        }
    }
}

#[test]
fn integration_by_parts_of_broken_fields() {
    let mut random = Random(31);
    for Case { name, mesh } in flat_cases() {
        // Straight meshes in random orientations, curved ones as they are.
        let mesh = if mesh.map().degree == 1 {
            scrambled(&mesh, &mut random)
        } else {
            mesh
        };
        if mesh.topology().interior_sides().is_empty() {
            continue;
        }
        let dim = mesh.space_dim();
        let space = Space::discontinuous(&mesh, 2).unwrap().vector(dim).unwrap();
        let w = field(&space, &mut random);
        let mut scope = scope_at(&mesh);
        scope.set_field("w", &w);
        let inside = value(&scope, "div(w)*dx");
        let flux = value(&scope, "dot(w, n)*ds") + value(&scope, "dot(jump(w), n)*dS");
        let scale = value(&scope, "norm(w)*ds");
        assert!(
            (inside - flux).abs() < 1e-11 * scale,
            "{name}: {inside} {flux}"
        );
        // With a product: ∫ w·grad(g) + g div(w) over cells is the same flux of g w.
        let g = field(&Space::discontinuous(&mesh, 1).unwrap(), &mut random);
        scope.set_field("g", &g);
        let inside = value(&scope, "(dot(w, grad(g)) + g*div(w))*dx");
        let flux = value(&scope, "g*dot(w, n)*ds") + value(&scope, "dot(jump(g*w), n)*dS");
        assert!(
            (inside - flux).abs() < 1e-11 * scale,
            "{name}: {inside} {flux}"
        );
        // The jump of a product.
        let left = value(&scope, "dot(jump(g*w), n)*dS");
        let right = value(
            &scope,
            "(jump(g)*dot(avg(w), n) + avg(g)*dot(jump(w), n))*dS",
        );
        assert!(
            (left - right).abs() < 1e-11 * scale,
            "{name}: {left} {right}"
        );
    }
}

#[test]
fn gradients_of_fields_integrate_to_the_boundary() {
    let mut random = Random(8);
    for Case { name, mesh } in flat_cases() {
        for p in 1..=3 {
            let space = Space::lagrange(&mesh, p).unwrap();
            let f = field(&space, &mut random);
            let mut scope = scope(&mesh, &space, &f);
            scope.set_degree(Some(RULE));
            let scale = value(&scope, "abs(f)*ds");
            for d in 0..mesh.space_dim() {
                let inside = value(&scope, &format!("grad(f)[{d}]*dx"));
                let flux = value(&scope, &format!("f*n[{d}]*ds"));
                assert!(
                    (inside - flux).abs() < 1e-11 * scale,
                    "{name}: {inside} {flux}"
                );
            }
        }
    }
}

#[test]
fn areas_of_sides_and_sizes_of_cells() {
    // One cube: six faces of area 1, and the diagonal.
    let mesh = unit_mesh(weft::element::CellKind::Hex, [1; 3]);
    let scope = scope_at(&mesh);
    assert_close(&[value(&scope, "1*ds")], &[6.0], 1e-14, "faces");
    assert_close(&[value(&scope, "h*dx")], &[3f64.sqrt()], 1e-14, "diagonal");
    let mesh = unit_mesh(weft::element::CellKind::Tet, [2; 3]);
    let scope = scope_at(&mesh);
    assert_close(&[value(&scope, "1*ds")], &[6.0], 1e-14, "faces");
    assert_close(
        &[value(&scope, "h*dx")],
        &[0.75f64.sqrt()],
        1e-14,
        "diagonal",
    );
    // The ends of a segment count 1 each.
    let mesh = unit_mesh(weft::element::CellKind::Segment, [5, 1, 1]);
    let scope = scope_at(&mesh);
    assert_close(
        &[value(&scope, "1*ds"), value(&scope, "1*dS")],
        &[2.0, 4.0],
        1e-14,
        "ends",
    );
    assert_close(&[value(&scope, "x[0]*n[0]*ds")], &[1.0], 1e-14, "outward");
}

#[test]
fn a_zero_field_needs_no_special_case() {
    let mesh = unit_mesh(weft::element::CellKind::Tet, [1; 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let scope = scope(&mesh, &space, &Field::zeros(&space));
    assert_eq!(value(&scope, "f*dx + f^2*ds"), 0.0);
}
