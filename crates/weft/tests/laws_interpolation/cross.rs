//! Fields evaluated on other meshes.

use crate::common::*;
use crate::{random_field, spaces};
use weft::assemble::{
    InterpolationPlan, Reduction, evaluate_at, evaluate_at_positions, integrate, interpolate,
    vector,
};
use weft::element::CellKind;
use weft::field::{CrossField, Field};
use weft::form::{Expr, Measure, Shape};
use weft::geometry::{AdaptiveVoxelGrid, Deformed, Geometry, Grid2, Grid3, VoxelMap, shapes};
use weft::space::{Space, ValueKind};

/// On the field's own mesh, at points inside of cells, it is the field, gradient included.
#[test]
fn on_its_own_mesh_it_is_the_field() {
    let mut random = Random(41);
    for Case { name, mesh } in all_cases() {
        let dim = mesh.space_dim();
        let mut all = spaces(&mesh);
        all.push(Space::lagrange(&mesh, 2).unwrap().vector(3).unwrap());
        all.push(Space::lagrange(&mesh, 1).unwrap().symmetric(2).unwrap());
        all.extend(Space::nedelec(&mesh, 2));
        all.extend(Space::raviart_thomas(&mesh, 1));
        for space in all {
            let field = random_field(&space, &mut random);
            let cross = CrossField::new(&field).unwrap();
            let points: Vec<[f64; 3]> = (0..3).map(|_| random.point(mesh.cell_kind())).collect();
            let geometry = shared(&mesh);
            let of = |e: &Expr| evaluate_at(e, &geometry, &points).unwrap();
            let what = format!("{name} {}", space.element().name());
            assert_close(&of(&cross.expr()), &of(&field.expr()), 1e-8, &what);
            assert!(of(&cross.found()).iter().all(|&f| f == 1.0), "{what}");
            if matches!(space.value(), ValueKind::Scalar | ValueKind::Vector(_))
                && dim == mesh.cell_kind().dim()
            {
                let (found, truth) = (of(&cross.expr().grad()), of(&field.expr().grad()));
                assert_close(&found, &truth, 1e-6, &what);
            }
            // One point at a time.
            let at = weft::geometry::frame_at(&mesh, 0, points[0]).position;
            let one = cross.evaluate(at).unwrap().unwrap();
            let truth = field.evaluate(0, points[0]).unwrap();
            assert_close(&one.value, &truth.value, 1e-7, &what);
            let flat = |g: &[[f64; 3]]| g.as_flattened().to_vec();
            assert_close(&flat(&one.gradient), &flat(&truth.gradient), 1e-5, &what);
        }
    }
}

/// Polynomials of the field's space are exact in forms on any other mesh, on cells and on sides.
#[test]
fn polynomials_are_exact_in_forms_of_other_meshes() {
    let kinds = [CellKind::Triangle, CellKind::Quad];
    for source in kinds.map(|k| unit_mesh(k, [3, 2, 1])) {
        for target in kinds.map(|k| unit_mesh(k, [2, 5, 1])) {
            for p in 1..=3 {
                let x = Expr::position(&source);
                let polynomial =
                    |x: &Expr| (x.at(0) - 2.0 * x.at(1) + 0.3).pow(p as f64) - x.at(1) * 0.7;
                let space = Space::lagrange(&source, p).unwrap();
                let field = interpolate(&polynomial(&x), &space).unwrap();
                let cross = CrossField::new(&field).unwrap();
                let here = polynomial(&Expr::position(&target));
                let v = Expr::test(&Space::lagrange(&target, 2).unwrap());
                for measure in [Measure::cells(&target), Measure::boundary(&target)] {
                    let measure = measure.degree(2 * p + 3);
                    for (found, truth) in [
                        (cross.expr().inner(&v), here.inner(&v)),
                        (
                            cross.expr().grad().inner(&v.grad()),
                            here.grad().inner(&v.grad()),
                        ),
                    ] {
                        let found = vector(&found.over(&measure)).unwrap();
                        let truth = vector(&truth.over(&measure)).unwrap();
                        assert_close(&found, &truth, 1e-11, &format!("degree {p}"));
                    }
                }
            }
        }
    }
}

/// The default rule knows the field's degree.
#[test]
fn the_degree_of_the_field_counts() {
    let source = Grid2::unit([1, 1]).unwrap();
    let target = Grid2::new([2, 3], [0.1, 0.2], [0.7, 1.0]).unwrap();
    for p in 1..=6 {
        let x = Expr::position(&source);
        let e = |x: &Expr| (x.at(0) + 0.5 * x.at(1)).pow(p as f64);
        let field = interpolate(&e(&x), &Space::lagrange(&source, p).unwrap()).unwrap();
        let cross = CrossField::new(&field).unwrap().expr();
        let found = integrate(&cross.dx(&target)).unwrap();
        let truth = integrate(&e(&Expr::position(&target)).dx(&target)).unwrap();
        assert!((found - truth).abs() < 1e-12, "{p}: {found} {truth}");
    }
}

/// What the reference system's test asks for, and more: constants, expressions and other fields
/// outside, with their gradients.
#[test]
fn outside_is_the_background() {
    let source = Grid2::unit([4, 4]).unwrap();
    let x = Expr::position(&source);
    let square = 8.0 * x.at(0) * x.at(0) + 8.0 * x.at(1) * x.at(1);
    let field = interpolate(&square, &Space::lagrange(&source, 2).unwrap()).unwrap();
    let cross = CrossField::new(&field).unwrap();
    let target = Grid2::new([1, 1], [0.25, 0.25], [2.0, 2.0]).unwrap();
    let space = Space::lagrange(&target, 1).unwrap();
    let at_nodes = |e: &Expr| {
        let vector = e.shape().len() == 2;
        let space = if vector {
            space.vector(2).unwrap()
        } else {
            space.clone()
        };
        interpolate(e, &space).unwrap().values().to_vec()
    };
    assert_close(
        &at_nodes(&cross.or(5.0)),
        &[1.0, 5.0, 5.0, 5.0],
        1e-14,
        "value",
    );
    let slope = [4.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_close(&at_nodes(&cross.or(5.0).grad()), &slope, 1e-12, "gradient");
    assert_close(
        &at_nodes(&cross.expr()),
        &[1.0, 0.0, 0.0, 0.0],
        1e-14,
        "zero",
    );
    // An expression, and another field, which reaches the corner (2, 2) only.
    let y = Expr::position(&target);
    let line = y.at(0) + 10.0 * y.at(1);
    let expected = [1.0, 0.25 + 20.0, 2.0 + 2.5, 22.0];
    assert_close(&at_nodes(&cross.or(&line)), &expected, 1e-14, "expression");
    let other = Grid2::new([2, 2], [1.5, 1.5], [2.0, 2.0]).unwrap();
    let nine = interpolate(&Expr::constant(9.0), &Space::lagrange(&other, 1).unwrap()).unwrap();
    let nine = CrossField::new(&nine).unwrap();
    let both = cross.or(nine.or(-1.0));
    assert_close(&at_nodes(&both), &[1.0, -1.0, -1.0, 9.0], 1e-14, "field");
    // Close by.
    let near = CrossField::within(&field, 1.01).unwrap();
    let expected = [1.0, 8.5, 8.5, 0.0];
    assert_close(&at_nodes(&near.expr()), &expected, 1e-13, "near");
    assert!(cross.evaluate([3.0, 3.0, 0.0]).unwrap().is_none());
    assert!(cross.evaluate([f64::NAN, 0.5, 0.0]).unwrap().is_none());
    assert!(cross.evaluate([1e300, 0.5, 0.0]).unwrap().is_none());
}

#[test]
fn hanging_nodes_and_other_geometries() {
    let coarse = [[2, 0, 0], [0, 2, 0], [2, 2, 0]].map(|x| (x, 1));
    let fine = (0..8).map(|k| ([k & 1, k >> 1 & 1, k >> 2], 0));
    let cells: Vec<([i32; 3], u8)> = fine.chain(coarse).collect();
    let grid = AdaptiveVoxelGrid::from_cells(&cells, VoxelMap::uniform(0.25).unwrap()).unwrap();
    let polynomial = |x: &Expr| x.at(0) * x.at(1) - x.at(2) * x.at(0) + 2.0 * x.at(1);
    let e = polynomial(&Expr::position(&grid));
    let field = interpolate(&e, &Space::lagrange(&grid, 2).unwrap()).unwrap();
    let cross = CrossField::new(&field).unwrap();
    let low = [0.05; 3];
    let there = shapes::box_tets([3, 2, 2], low, [0.9, 0.95, 0.45]).unwrap();
    let shared = shared(&there);
    let points = [[0.2, 0.3, 0.1], [0.0, 0.0, 1.0]];
    let truth = evaluate_at(&polynomial(&Expr::position(&there)), &shared, &points).unwrap();
    let found = evaluate_at(&cross.expr(), &shared, &points).unwrap();
    assert_close(&found, &truth, 1e-11, "hanging");
    // Onto a deformed grid, at its moved points.
    let base = Grid3::new([2, 2, 2], low, [0.4; 3]).unwrap();
    let x = Expr::position(&base);
    let shift = Expr::vector(&[0.02, -0.01, 0.01]) * x.at(0);
    let deformed = weft::assemble::Deformation::by(&base, &shift, 2).unwrap();
    let deformed: &Deformed = deformed.geometry();
    let truth = integrate(&polynomial(&Expr::position(deformed)).dx(deformed)).unwrap();
    let found = integrate(&cross.expr().over(&Measure::cells(deformed).degree(6))).unwrap();
    assert!(
        (truth - found).abs() < 1e-9 * truth.abs(),
        "{truth} {found}"
    );
}

/// Several fields, values in place, and motion.
#[test]
fn values_are_read_when_evaluated_and_motion_is_followed() {
    let source = unit_mesh(CellKind::Triangle, [4, 4, 1]);
    let space = Space::lagrange(&source, 1).unwrap();
    let field = Field::zeros(&space);
    let cross = CrossField::new(&field).unwrap();
    let target = Grid2::new([2, 2], [0.2, 0.2], [0.8, 0.8]).unwrap();
    let nodes = Space::lagrange(&target, 1).unwrap();
    let all = Measure::cells(&target);
    let mut plan = InterpolationPlan::new(&cross.or(-1.0), &nodes, &all, Reduction::Mean).unwrap();
    let mut out = vec![0.0; nodes.dof_count()];
    for value in [1.0, 4.0] {
        field.values_mut().fill(value);
        plan.evaluate(&mut out).unwrap();
        assert_close(&out, &[value; 9], 1e-13, "value");
    }
    let away = source
        .map()
        .nodes
        .iter()
        .map(|x| [x[0] + 5.0, x[1], 0.0])
        .collect();
    source.move_vertices(away).unwrap();
    plan.evaluate(&mut out).unwrap();
    assert_close(&out, &[4.0; 9], 1e-13, "as it was");
    cross.refit().unwrap();
    plan.evaluate(&mut out).unwrap();
    assert_close(&out, &[-1.0; 9], 1e-13, "moved");
    let topology = source.topology();
    let cells = (0..topology.cell_count())
        .flat_map(|c| topology.cell_vertices(c).to_vec())
        .collect();
    source.rebuild(source.map().nodes.clone(), cells).unwrap();
    assert!(cross.evaluate([5.5, 0.5, 0.0]).is_err());
    assert!(CrossField::new(&field).is_err());
    plan.evaluate(&mut out).unwrap();
    assert!(out.iter().all(|v| v.is_nan()), "{out:?}");
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let mut random = Random(5);
    let source = zigzag_mesh(CellKind::Tet, 4);
    let field = random_field(&Space::lagrange(&source, 2).unwrap(), &mut random);
    let cross = CrossField::new(&field).unwrap();
    let target = zigzag_mesh(CellKind::Hex, 5);
    let v = Expr::test(&Space::lagrange(&target, 1).unwrap());
    let form = (cross.or(2.0) * &v + cross.expr().grad().dot(&v.grad())).dx(&target);
    let run = |threads| pool(threads).install(|| vector(&form).unwrap());
    assert!(run(1) == run(2) && run(1) == run(4));
}

#[test]
fn dimensions_must_agree() {
    let source = Grid3::unit([2, 2, 2]).unwrap();
    let field = Field::zeros(&Space::lagrange(&source, 1).unwrap());
    let cross = CrossField::new(&field).unwrap();
    let target = Grid2::unit([2, 2]).unwrap();
    let error = integrate(&cross.expr().dx(&target)).unwrap_err();
    assert!(error.to_string().contains("axis"), "{error}");
    let geometry: std::sync::Arc<dyn Geometry> = std::sync::Arc::new(target);
    assert!(evaluate_at_positions(&cross.expr(), &geometry, &[[0.5; 3]], 0.0).is_err());
    // Second derivatives are refused.
    assert!(cross.expr().grad().grad().error().is_some());
}

/// A value at another place: transport along the characteristics, mirrors, periods; with the chain
/// rule for its gradient, and errors for what is no position.
#[test]
fn values_at_other_places() {
    let mesh = unit_mesh(CellKind::Quad, [4, 4, 1]);
    let x = Expr::position(&mesh);
    let e = |x: &Expr| x.at(0) * x.at(0) - 3.0 * x.at(0) * x.at(1);
    let space = Space::lagrange(&mesh, 2).unwrap();
    let field = interpolate(&e(&x), &space).unwrap();
    let cross = CrossField::new(&field).unwrap();
    let geometry = shared(&mesh);
    let points = [[0.3, 0.8, 0.0], [0.6, 0.15, 0.0]];
    let of = |e: &Expr| evaluate_at(e, &geometry, &points).unwrap();
    let turn = |x: &Expr| Expr::tensor(Shape::Vector(2), vec![1.0 - x.at(1), x.at(0)]);
    let moved = cross.at(&turn(&x), -4.0);
    let truth = e(&turn(&x));
    assert_close(&of(&moved), &of(&truth), 1e-12, "turned");
    assert_close(&of(&moved.grad()), &of(&truth.grad()), 1e-10, "gradient");
    // Upstream by 1/4 in x: what comes from outside is the inflow.
    let upstream = &x - Expr::vector(&[0.25, 0.0]);
    let advected = interpolate(&cross.at(&upstream, x.at(1)), &space).unwrap();
    for (node, at) in space.node_positions().iter().enumerate() {
        let from = at[0] - 0.25;
        let truth = match from < 0.0 {
            true => at[1],
            false => from * from - 3.0 * from * at[1],
        };
        assert!((advected.values()[node] - truth).abs() < 1e-12, "{at:?}");
    }
    assert!(cross.at(&x.at(0), 0.0).error().is_some());
    assert!(
        cross
            .at(&Expr::trial(&space.vector(2).unwrap()), 0.0)
            .error()
            .is_some()
    );
    assert!(cross.or(Expr::vector(&[1.0, 2.0])).error().is_some());
}

/// One lock at a time: a writer that waits between two reads of one thread would stop both.
#[test]
fn issue_006_a_writer_does_not_stop_readers() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let mesh = shapes::rectangle_triangles([4, 4], [0.0; 2], [1.0; 2]).unwrap();
    let field = Field::zeros(&Space::nedelec(&mesh, 1).unwrap());
    let integrand = CrossField::new(&field).unwrap().expr().at(0).dx(&mesh);
    let done = std::sync::Arc::new(AtomicBool::new(false));
    let (sender, receiver) = std::sync::mpsc::channel();
    let over = done.clone();
    std::thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            field.values_mut()[0] = 0.0;
            std::thread::sleep(std::time::Duration::from_micros(10));
        }
    });
    std::thread::spawn(move || {
        let sum: f64 = (0..100).map(|_| integrate(&integrand).unwrap()).sum();
        sender.send(sum).unwrap();
    });
    let sum = receiver.recv_timeout(std::time::Duration::from_secs(60));
    done.store(true, Ordering::Relaxed);
    assert_eq!(sum, Ok(0.0));
}
