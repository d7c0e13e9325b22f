//! Values at points of elements, on sides, and at free points.

use crate::common::*;
use crate::random_field;
use std::sync::Arc;
use weft::assemble::{
    InterpolationMatrix, InterpolationPlan, NodalPlan, PointPlan, Reduction, evaluate_at,
    evaluate_at_positions, integrate,
};
use weft::element::CellKind;
use weft::field::{CrossField, Field};
use weft::form::{Expr, Measure, Param, Shape, point_function};
use weft::geometry::{Geometry, frame_at};
use weft::particle::ParticleQuadrature;
use weft::space::Space;

#[test]
fn every_kind_of_field_at_free_points() {
    let mut random = Random(51);
    for Case { name, mesh } in straight_cases().into_iter().chain(curved_cases()) {
        let geometry = shared(&mesh);
        let cells = mesh.topology().cell_count();
        let field = random_field(&Space::lagrange(&mesh, 2).unwrap(), &mut random);
        let edges = Space::nedelec(&mesh, 1);
        let k = Param::scalar("k", 3.0);
        let x = Expr::position(&mesh);
        let mut kinds = vec![
            field.expr(),
            field.expr().grad(),
            Expr::from(&k),
            Expr::vector(&[1.0, 2.0, 3.0]),
            Expr::cell_data("d", random.numbers(cells)),
            x.dot(&x) * field.expr(),
            CrossField::new(&field).unwrap().or(7.0),
        ];
        if let Ok(edges) = edges {
            let w = random_field(&edges, &mut random);
            kinds.push(CrossField::new(&w).unwrap().expr());
        }
        // Points by their cells, and as positions.
        let xi: Vec<[f64; 3]> = (0..4).map(|_| random.point(mesh.cell_kind())).collect();
        let mut positions: Vec<[f64; 3]> = (0..cells)
            .flat_map(|c| xi.iter().map(move |&x| (c, x)))
            .map(|(c, x)| frame_at(&mesh, c, x).position)
            .collect();
        let inside = positions.len();
        positions.extend([[9.0; 3], [f64::NAN; 3], [f64::INFINITY, 0.0, 0.0]]);
        for e in kinds {
            let len = e.shape().len();
            let truth = evaluate_at(&e, &geometry, &xi).unwrap();
            let found = evaluate_at_positions(&e, &geometry, &positions, -5.0).unwrap();
            let what = format!("{name} {e}");
            assert_close(&found[..inside * len], &truth, 1e-6, &what);
            assert!(found[inside * len..].iter().all(|&v| v == -5.0), "{what}");
        }
        assert!(
            evaluate_at_positions(&field.expr(), &geometry, &[], 0.0)
                .unwrap()
                .is_empty()
        );
    }
}

/// Functions given by closures, in forms and at points, with their gradients.
#[test]
fn closures_with_gradients() {
    for Case { name, mesh } in all_cases() {
        let dim = mesh.space_dim();
        let (e, f) = closure_on(&mesh);
        let geometry = shared(&mesh);
        let xi = [mesh.cell_kind().center()];
        let values = evaluate_at(&e, &geometry, &xi).unwrap();
        let slopes = evaluate_at(&e.grad(), &geometry, &xi).unwrap();
        for cell in 0..mesh.topology().cell_count() {
            let x = frame_at(&mesh, cell, xi[0]).position;
            assert!((values[cell] - f(x)).abs() < 1e-12, "{name}");
            for d in 0..dim {
                let at = |t: f64| {
                    let mut y = x;
                    y[d] += t;
                    f(y)
                };
                let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((slopes[cell * dim + d] - slope).abs() < 1e-6, "{name}");
            }
        }
        assert!(integrate(&e.dx(&mesh)).unwrap().is_finite());
    }
}

/// A function given by closures for value and gradient.
fn closure_on(mesh: &weft::geometry::Mesh) -> (Expr, impl Fn([f64; 3]) -> f64) {
    let dim = mesh.space_dim();
    let f = |x: [f64; 3]| (2.0 * x[0]).powi(3) + x[1] * x[0] - x[2];
    let value = move |x: &[f64], y: &mut [f64]| {
        let mut all = [0.0; 3];
        all[..x.len()].copy_from_slice(x);
        y[0] = f(all);
    };
    let slope = |x: &[f64], g: &mut [f64]| {
        let y = x.get(1).copied().unwrap_or(0.0);
        let all = [24.0 * x[0] * x[0] + y, x[0], -1.0];
        g.copy_from_slice(&all[..x.len()]);
    };
    let shapes = [Shape::Vector(dim)];
    let function = point_function("f", &shapes, Shape::Scalar, value, Some(Arc::new(slope)));
    (
        Expr::native(function.unwrap(), vec![Expr::position(mesh)]),
        f,
    )
}

/// More points of one cell than sixteen bits count, and what is no element.
#[test]
fn many_points_and_faults() {
    let mesh = unit_mesh(CellKind::Triangle, [1, 1, 1]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let points: Vec<[f64; 3]> = (0..70_000).map(|k| [k as f64 / 7e4, 0.0, 0.0]).collect();
    let cells = Measure::cells(&mesh);
    let plan = InterpolationMatrix::at_points(&Expr::trial(&space), &cells, &points).unwrap();
    let x = space.node_positions();
    let values: Vec<f64> = x.iter().map(|x| x[0] - 2.0 * x[1]).collect();
    let field = Field::from_values(&space, values).unwrap();
    let truth = evaluate_at(&field.expr(), &shared(&mesh), &points).unwrap();
    let mut found = vec![0.0; truth.len()];
    plan.assembled()
        .unwrap()
        .multiply(&field.values(), &mut found)
        .unwrap();
    assert_close(&found, &truth, 1e-13, "many points");

    let sand = ParticleQuadrature::new(&mesh);
    let on_sand = cells.clone().on_particles(&sand);
    let one = Expr::constant(1.0);
    let error = PointPlan::on_elements(&one, &on_sand, &points[..1])
        .err()
        .unwrap();
    assert!(error.to_string().contains("on_particles"), "{error}");
    let error = InterpolationPlan::new(&one, &space, &on_sand, Reduction::Mean)
        .err()
        .unwrap();
    assert!(error.to_string().contains("particles"), "{error}");
    let error = NodalPlan::new(&Expr::test(&space).over(&on_sand))
        .err()
        .unwrap();
    assert!(error.to_string().contains("particles"), "{error}");
    let v = Expr::test(&space);
    assert!(PointPlan::on_elements(&v, &cells, &points[..1]).is_err());
    let mut empty = PointPlan::on_elements(&one, &cells.listed(vec![]), &points[..1]).unwrap();
    assert!(empty.is_empty() && empty.evaluate(&mut []).is_ok());
}

/// Points of sides lie where both cells say, in the order of the sides.
#[test]
fn points_of_sides() {
    for Case { name, mesh } in straight_cases().into_iter().chain(curved_cases()) {
        let dim = mesh.space_dim();
        let topology = mesh.topology();
        let at = [[0.25, 0.0, 0.0], [0.5, 0.0, 0.0]];
        let at = if dim == 3 {
            at.map(|[s, ..]| [s, 0.2, 0.0])
        } else {
            at
        };
        let at = if dim == 1 { [[0.0; 3]; 2] } else { at };
        let x = Expr::position(&mesh);
        for (measure, boundary) in [
            (Measure::boundary(&mesh), true),
            (Measure::interior(&mesh), false),
        ] {
            let mut plan = PointPlan::on_elements(&x, &measure, &at).unwrap();
            let mut found = vec![0.0; plan.len()];
            plan.evaluate(&mut found).unwrap();
            let sides = (0..topology.side_count()).filter(|&s| topology.is_boundary(s) == boundary);
            let mut expected = Vec::new();
            for side in sides {
                let map = mesh.side_maps(&topology, side)[0];
                let cell = topology.side_cells(side)[0] as usize;
                for &p in &at {
                    expected
                        .extend_from_slice(&frame_at(&mesh, cell, map.apply(p)).position[..dim]);
                }
            }
            assert_close(&found, &expected, 1e-13, name);
        }
        let number = Expr::cell_data("n", (0..topology.cell_count()).map(|c| c as f64).collect());
        let mut plan =
            PointPlan::on_elements(&number.outside(), &Measure::interior(&mesh), &at).unwrap();
        let mut found = vec![0.0; plan.len()];
        plan.evaluate(&mut found).unwrap();
        let inner = (0..topology.side_count()).filter(|&s| !topology.is_boundary(s));
        let expected: Vec<f64> = inner
            .flat_map(|s| [topology.side_cells(s)[1] as f64; 2])
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}
