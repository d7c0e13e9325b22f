//! Matrices of interpolation.

use crate::common::*;
use crate::{REDUCTIONS, jumping, random_field, spaces};
use weft::assemble::{InterpolationMatrix, InterpolationPlan, Reduction, evaluate_at};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Shape};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, VoxelMap};
use weft::space::{Space, ValueKind};

/// Expressions linear in a function w, of every shape: with derivatives, fields and data.
fn linear(w: &Expr, mesh: &weft::geometry::Mesh, rough: &Field, random: &mut Random) -> Vec<Expr> {
    let dim = mesh.space_dim();
    let c = jumping(mesh, rough, random);
    match w.shape() {
        Shape::Scalar => vec![
            w.clone(),
            &c * w + w.grad().at(dim - 1) * Expr::position(mesh).at(0),
            w.grad() + Expr::position(mesh) * w,
        ],
        _ => vec![&c * w, w.grad().trace() * c],
    }
}

fn value_kind(shape: Shape) -> ValueKind {
    match shape {
        Shape::Scalar => ValueKind::Scalar,
        Shape::Vector(n) => ValueKind::Vector(n),
        Shape::Matrix(r, c) => ValueKind::Matrix(r, c),
    }
}

/// The matrix times degrees of freedom is the interpolation of the expression with the field put
/// in, for every reduction: maxima and minima at the field that they are taken at.
#[test]
fn matrix_times_field_is_the_interpolation() {
    let mut random = Random(17);
    for Case { name, mesh } in all_cases() {
        let dim = mesh.space_dim();
        let rough = random_field(&Space::lagrange(&mesh, 2).unwrap(), &mut random);
        let scalar = Space::lagrange(&mesh, 2).unwrap();
        let mut sources = vec![scalar.clone(), scalar.vector(dim).unwrap()];
        sources.push(Space::discontinuous(&mesh, 1).unwrap());
        for source in sources {
            let w = random_field(&source, &mut random);
            let mut again = Random(random.next());
            let mut copy = Random(again.0);
            let forms = linear(&Expr::trial(&source), &mesh, &rough, &mut again);
            let values = linear(&w.expr(), &mesh, &rough, &mut copy);
            for (form, value) in forms.iter().zip(&values) {
                for target in spaces(&mesh) {
                    let target = target.with_value(value_kind(form.shape())).unwrap();
                    for measure in [Measure::cells(&mesh), Measure::boundary(&mesh)] {
                        for reduction in REDUCTIONS {
                            let mut plan =
                                InterpolationPlan::new(value, &target, &measure, reduction)
                                    .unwrap();
                            let mut expected = vec![0.0; target.dof_count()];
                            plan.evaluate(&mut expected).unwrap();
                            let derivative = InterpolationMatrix::derivative(
                                value, &w, &target, &measure, reduction,
                            );
                            let mut all = vec![derivative.unwrap().assembled().unwrap()];
                            let selects = matches!(reduction, Reduction::Max | Reduction::Min);
                            let plan = InterpolationMatrix::new(form, &target, &measure, reduction);
                            match plan {
                                Ok(plan) => all.push(plan.assembled().unwrap()),
                                Err(error) => {
                                    assert!(selects && error.to_string().contains("derivative"));
                                }
                            }
                            for matrix in all {
                                let mut found = vec![0.0; target.dof_count()];
                                matrix.multiply(&w.values(), &mut found).unwrap();
                                let what = format!("{name} {form} {reduction:?}");
                                assert_close(&found, &expected, 1e-11, &what);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One-sided values on interior sides, from both cells.
#[test]
fn jumps_between_cells() {
    let mut random = Random(18);
    for Case { name, mesh } in straight_cases() {
        let source = Space::discontinuous(&mesh, 2).unwrap();
        let target = Space::lagrange(&mesh, 2).unwrap();
        let w = random_field(&source, &mut random);
        let u = Expr::trial(&source);
        let interior = Measure::interior(&mesh);
        for (form, value) in [
            (u.jump(), w.expr().jump()),
            (u.grad().outside().at(0), w.expr().grad().outside().at(0)),
        ] {
            for reduction in [Reduction::WeightedAverage, Reduction::Sum, Reduction::First] {
                let mut plan =
                    InterpolationPlan::new(&value, &target, &interior, reduction).unwrap();
                let mut expected = vec![0.0; target.dof_count()];
                plan.evaluate(&mut expected).unwrap();
                let plan = InterpolationMatrix::new(&form, &target, &interior, reduction);
                let mut found = vec![0.0; target.dof_count()];
                let matrix = plan.unwrap().assembled().unwrap();
                matrix.multiply(&w.values(), &mut found).unwrap();
                assert_close(&found, &expected, 1e-12, name);
            }
        }
    }
}

/// The derivative of a nonlinear interpolation against differences, maxima included.
#[test]
fn derivatives_agree_with_differences() {
    let mut random = Random(19);
    for Case { name, mesh } in straight_cases() {
        let source = Space::lagrange(&mesh, 2).unwrap();
        let target = Space::lagrange(&mesh, 1).unwrap();
        let w = random_field(&source, &mut random);
        let e = w.expr() * w.expr() + w.expr().grad().dot(&w.expr().grad());
        let cells = Measure::cells(&mesh);
        for reduction in REDUCTIONS {
            let plan = InterpolationMatrix::derivative(&e, &w, &target, &cells, reduction);
            let matrix = plan.unwrap().assembled().unwrap();
            let direction = random.numbers(source.dof_count());
            let mut slope = vec![0.0; target.dof_count()];
            matrix.multiply(&direction, &mut slope).unwrap();
            let mut plan = InterpolationPlan::new(&e, &target, &cells, reduction).unwrap();
            let start = w.values().to_vec();
            let mut at = |t: f64| {
                for ((w, s), d) in w.values_mut().iter_mut().zip(&start).zip(&direction) {
                    *w = s + t * d;
                }
                let mut out = vec![0.0; target.dof_count()];
                plan.evaluate(&mut out).unwrap();
                out
            };
            let t = 1e-6;
            let (up, down) = (at(t), at(-t));
            at(0.0);
            let difference: Vec<f64> = up
                .iter()
                .zip(&down)
                .map(|(u, d)| (u - d) / (2.0 * t))
                .collect();
            assert_close(&slope, &difference, 1e-7, &format!("{name} {reduction:?}"));
        }
    }
}

#[test]
fn points_of_elements_and_free_points() {
    let mut random = Random(20);
    for Case { name, mesh } in straight_cases().into_iter().chain(curved_cases()) {
        let dim = mesh.space_dim();
        let kind = mesh.cell_kind();
        let mut sources = vec![Space::lagrange(&mesh, 2).unwrap()];
        sources.extend(Space::nedelec(&mesh, 2));
        sources.extend(Space::raviart_thomas(&mesh, 2));
        sources.extend(Space::bdm(&mesh, 1));
        for source in sources {
            let w = random_field(&source, &mut random);
            let of = |e: &Expr| match e.shape() {
                Shape::Scalar => vec![e.clone(), e.grad()],
                _ => vec![e.clone(), e.grad(), e.div(), e.curl()],
            };
            let points: Vec<[f64; 3]> = (0..3).map(|_| random.point(kind)).collect();
            for (form, value) in of(&Expr::trial(&source)).iter().zip(&of(&w.expr())) {
                let expected = evaluate_at(value, source.geometry(), &points).unwrap();
                let plan = InterpolationMatrix::at_points(form, &Measure::cells(&mesh), &points);
                let matrix = plan.unwrap().assembled().unwrap();
                let mut found = vec![0.0; expected.len()];
                matrix.multiply(&w.values(), &mut found).unwrap();
                assert_close(&found, &expected, 1e-11, &format!("{name} {form}"));
                // The same points by position, and one outside.
                let x = Expr::position(&mesh);
                let places = evaluate_at(&x, source.geometry(), &points).unwrap();
                let mut positions: Vec<[f64; 3]> = places
                    .chunks_exact(dim)
                    .map(|x| std::array::from_fn(|d| if d < dim { x[d] } else { 0.0 }))
                    .collect();
                positions.push([40.0; 3]);
                positions.push([f64::NAN; 3]);
                let plan = InterpolationMatrix::at_positions(form, &positions).unwrap();
                let matrix = plan.assembled().unwrap();
                let mut at_positions = vec![7.0; expected.len() + 2 * form.shape().len()];
                matrix.multiply(&w.values(), &mut at_positions).unwrap();
                let (inside, outside) = at_positions.split_at(expected.len());
                assert_close(inside, &expected, 1e-8, &format!("{name} {form}"));
                assert!(outside.iter().all(|&v| v == 0.0));
            }
        }
    }
}

#[test]
fn hanging_nodes_are_their_masters() {
    let coarse = [[2, 0, 0], [0, 2, 0], [2, 2, 0]].map(|x| (x, 1));
    let fine = (0..8).map(|k| ([k & 1, k >> 1 & 1, k >> 2], 0));
    let cells: Vec<([i32; 3], u8)> = fine.chain(coarse).collect();
    let grid = AdaptiveVoxelGrid::from_cells(&cells, VoxelMap::uniform(0.5).unwrap()).unwrap();
    let mut random = Random(21);
    for p in [1, 2] {
        let source = Space::lagrange(&grid, p).unwrap();
        assert!(!source.hanging().is_empty());
        let w = random_field(&source, &mut random);
        for target in [
            Space::lagrange(&grid, 3 - p),
            Space::discontinuous(&grid, 2),
        ] {
            let target = target.unwrap();
            let all = Measure::cells(&grid);
            for reduction in [
                Reduction::Mean,
                Reduction::First,
                Reduction::WeightedAverage,
            ] {
                let u = Expr::trial(&source);
                let plan = InterpolationMatrix::new(&u, &target, &all, reduction).unwrap();
                let mut found = vec![0.0; target.dof_count()];
                plan.assembled()
                    .unwrap()
                    .multiply(&w.values(), &mut found)
                    .unwrap();
                let mut plan = InterpolationPlan::new(&w.expr(), &target, &all, reduction).unwrap();
                let mut expected = vec![0.0; target.dof_count()];
                plan.evaluate(&mut expected).unwrap();
                assert_close(&found, &expected, 1e-13, "hanging");
            }
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_after_motion() {
    let mesh = zigzag_mesh(CellKind::Tet, 4);
    let source = Space::lagrange(&mesh, 2).unwrap();
    let target = Space::lagrange(&mesh, 1).unwrap().vector(3).unwrap();
    let form = Expr::trial(&source).grad();
    let all = Measure::cells(&mesh);
    let make =
        || InterpolationMatrix::new(&form, &target, &all, Reduction::WeightedAverage).unwrap();
    let run = |threads| pool(threads).install(|| make().assembled().unwrap().values().to_vec());
    let one = run(1);
    assert!(one == run(2) && one == run(3));
    // A plan follows cells that move.
    let mut plan = make();
    let mut matrix = plan.matrix();
    plan.assemble(&mut matrix).unwrap();
    assert!(matrix.values() == one);
    mesh.move_vertices(
        (0..mesh.topology().vertex_count() as u32)
            .map(|v| bend(mesh.map().vertex(v), 3))
            .collect(),
    )
    .unwrap();
    plan.assemble(&mut matrix).unwrap();
    assert!(matrix.values() != one);
    assert!(matrix.values() == make().assembled().unwrap().values());
}

#[test]
fn faults_are_named() {
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let other = unit_mesh(CellKind::Triangle, [3, 3, 1]);
    let (here, there) = (
        Space::lagrange(&mesh, 1).unwrap(),
        Space::lagrange(&other, 1).unwrap(),
    );
    let all = Measure::cells(&mesh);
    let new = |e: &Expr| match InterpolationMatrix::new(e, &here, &all, Reduction::Mean) {
        Ok(_) => panic!("{e}"),
        Err(error) => error.to_string(),
    };
    assert!(new(&Expr::constant(1.0)).contains("trial function"));
    assert!(new(&Expr::test(&here)).contains("trial function"));
    assert!(new(&Expr::trial(&there)).contains("another geometry"));
    let u = Expr::trial(&here);
    let mut plan = InterpolationMatrix::new(&u, &here, &all, Reduction::Mean).unwrap();
    let mut wrong = InterpolationMatrix::new(&u, &here, &all, Reduction::Mean)
        .unwrap()
        .matrix();
    assert!(plan.assemble(&mut wrong).is_err());
    let locator = weft::geometry::Locator::new(&mesh);
    let u = Expr::trial(&there);
    let across = InterpolationMatrix::across(&u, &here, &all, Reduction::First, &locator);
    assert!(across.err().unwrap().to_string().contains("locator"));
    let none = InterpolationMatrix::at_positions(&u, &[]).unwrap();
    assert_eq!(none.assembled().unwrap().rows(), 0);
}
