//! Curves and surfaces in space: measures and tangential derivatives.

use crate::common::*;
use crate::{field, scope, value};
use std::f64::consts::PI;
use weft::assemble::interpolate;
use weft::element::CellKind;
use weft::form::Expr;
use weft::geometry::{Mesh, shapes};
use weft::space::Space;

fn round(x: [f64; 3]) -> [f64; 3] {
    let r = x.iter().map(|c| c * c).sum::<f64>().sqrt();
    x.map(|c| c / r)
}

#[test]
fn the_sphere() {
    // Third-order maps of triangles and quads: measures err with the fourth power of the size
    // or better, gradients with the third.
    for make in [shapes::sphere, shapes::sphere_quads] {
        let errors = [1, 2].map(|level| {
            let mesh = make(level)
                .unwrap()
                .elevated(3)
                .unwrap()
                .moved(round)
                .unwrap();
            let space = Space::lagrange(&mesh, 3).unwrap();
            let z = interpolate(&Expr::position(&mesh).at(2), &space).unwrap();
            let mut scope = scope(&mesh, &space, &z);
            scope.set_degree(Some(10));
            [
                value(&scope, "1*dx") / (4.0 * PI) - 1.0,
                value(&scope, "f^2*dx") / (4.0 * PI / 3.0) - 1.0,
                // z is an eigenfunction of the Laplace–Beltrami operator, of value 2.
                value(&scope, "dot(grad(f), grad(f))*dx") / (8.0 * PI / 3.0) - 1.0,
                value(&scope, "sqrt(dot(grad(f), x)^2 + 1e-30)*dx") / (4.0 * PI),
            ]
            .map(|e| e.abs())
        });
        for (k, least) in [3.5, 3.5, 3.5, 2.5].into_iter().enumerate() {
            let rate = (errors[0][k] / errors[1][k]).log2();
            assert!(rate > least && errors[1][k] < 1e-2, "{k}: {errors:?}");
        }
    }
}

#[test]
fn straight_spheres_converge_to_the_area() {
    for make in [shapes::sphere, shapes::sphere_quads] {
        let off =
            [1, 2, 3].map(|level| (crate::measure_of(&make(level).unwrap()) - 4.0 * PI).abs());
        for pair in off.windows(2) {
            let rate = (pair[0] / pair[1]).log2();
            assert!((rate - 2.0).abs() < 0.15, "{off:?}");
        }
    }
}

#[test]
fn a_circle_in_the_plane_and_a_helix() {
    let n = 40;
    let curve = |space_dim: usize, rise: f64| {
        let cells: Vec<u32> = (0..n).flat_map(|k| [k, k + 1]).collect();
        let at = |k: u32| {
            let t = 2.0 * PI * k as f64 / n as f64;
            [t.cos(), t.sin(), rise * t]
        };
        let mesh = Mesh::new(
            CellKind::Segment,
            space_dim,
            (0..=n).map(at).collect(),
            cells,
        );
        let mesh = mesh.unwrap().elevated(4).unwrap();
        // Straight cells to the curve: the angle of a point on a chord gives its place.
        mesh.moved(|x| {
            let r = x[0].hypot(x[1]);
            [x[0] / r, x[1] / r, x[2]]
        })
        .unwrap()
    };
    let length = |mesh: Mesh| {
        let measure = weft::form::Measure::cells(&mesh).degree(12);
        weft::assemble::integrate(&Expr::from(1.0).over(&measure)).unwrap()
    };
    assert_close(&[length(curve(2, 0.0))], &[2.0 * PI], 1e-9, "circle");
    // Heights stay those of the chords, which the angle does not follow exactly.
    assert_close(
        &[length(curve(3, 0.5))],
        &[2.0 * PI * 1.25f64.sqrt()],
        1e-5,
        "helix",
    );
}

#[test]
fn gradients_on_surfaces_are_projections() {
    for Case { name, mesh } in embedded_cases() {
        let dim = weft::geometry::Geometry::space_dim(&mesh);
        let space = Space::lagrange(&mesh, 3).unwrap();
        // A linear function of position is in the space; its gradient is the projection of a
        // constant onto the tangents, and the projection is idempotent.
        let c: Vec<f64> = [1.0, -2.0, 0.5][..dim].to_vec();
        let e = Expr::position(&mesh).dot(&Expr::vector(&c));
        let f = interpolate(&e, &space).unwrap();
        let mut scope = scope(&mesh, &space, &f);
        scope.set("c", Expr::vector(&c));
        scope.set_degree(Some(6));
        let a = value(&scope, "dot(grad(f), grad(f))*dx");
        let b = value(&scope, "dot(grad(f), c)*dx");
        assert_close(&[a], &[b], 1e-11, name);
    }
}

#[test]
fn surfaces_have_conormals() {
    // A cylinder's mantle: the conormal of its rims is the axis.
    let mesh = unit_mesh(CellKind::Quad, [12, 3, 1]);
    let mesh = mesh.lifted(|_, _| 0.0).unwrap();
    let mesh = mesh
        .moved(|x| [(PI * x[0]).cos(), (PI * x[0]).sin(), x[1]])
        .unwrap();
    let space = Space::lagrange(&mesh, 1).unwrap();
    let scope = scope(&mesh, &space, &field(&space, &mut Random(1)));
    let rim = value(&scope, "1*ds('top')");
    assert_close(&[value(&scope, "n[2]*ds('top')")], &[rim], 1e-13, "top");
    assert_close(
        &[value(&scope, "n[2]*ds('bottom')")],
        &[-rim],
        1e-13,
        "bottom",
    );
    let across = value(&scope, "jump(f)^2*dS");
    assert!(across < 1e-25, "{across:e}");
}
