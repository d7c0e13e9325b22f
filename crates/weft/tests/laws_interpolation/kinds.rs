//! Every kind of value: what is stored, what forms see, and what interpolation takes agree.

use crate::common::*;
use crate::{REDUCTIONS, random_field};
use weft::assemble::{
    InterpolationMatrix, InterpolationPlan, Reduction, evaluate_at, evaluate_at_positions,
    interpolate, matrix, project,
};
use weft::field::{CrossField, Field};
use weft::form::{Expr, Measure, Shape};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Mesh, VoxelMap};
use weft::space::{Space, ValueKind};

fn meshes() -> Vec<Case> {
    straight_cases().into_iter().chain(curved_cases()).collect()
}

/// Value of a kind from its degrees of freedom.
fn value_of(kind: ValueKind, dofs: &[f64]) -> Vec<f64> {
    let component = |c| kind.dofs_of(c).map(|(dof, f)| f * dofs[dof]).sum();
    (0..kind.shape().len()).map(component).collect()
}

/// At a node of a discontinuous Lagrange space a field is what is stored there, however it is asked.
#[test]
fn fields_are_what_is_stored() {
    let mut random = Random(41);
    for Case { name, mesh } in meshes() {
        let scalar = Space::discontinuous(&mesh, 2).unwrap();
        let nodes = scalar.element().nodes().to_vec();
        for kind in value_kinds() {
            let what = format!("{name} {kind:?}");
            let space = scalar.with_value(kind).unwrap();
            let w = random_field(&space, &mut random);
            let mut expected = Vec::new();
            for cell in 0..mesh.topology().cell_count() {
                for (i, &node) in space.cell_nodes(cell).iter().enumerate() {
                    let n = kind.components();
                    let dofs = w.values()[node as usize * n..][..n].to_vec();
                    let value = value_of(kind, &dofs);
                    let point = w.evaluate(cell, nodes[i]).unwrap();
                    assert_close(&point.value, &value, 1e-12, &what);
                    // There and back.
                    let back: Vec<f64> = (0..n).map(|d| kind.dof(d, &value)).collect();
                    assert_close(&back, &dofs, 1e-14, &what);
                    expected.extend(value);
                }
            }
            let found = evaluate_at(&w.expr(), space.geometry(), &nodes).unwrap();
            assert_close(&found, &expected, 1e-12, &what);
        }
    }
}

#[test]
fn interpolation_of_a_field_gives_its_numbers_back() {
    let mut random = Random(42);
    for Case { name, mesh } in meshes() {
        let all = Measure::cells(&mesh);
        for kind in value_kinds() {
            let what = format!("{name} {kind:?}");
            let space = Space::lagrange(&mesh, 2).unwrap();
            let space = space.with_value(kind).unwrap();
            let w = random_field(&space, &mut random);
            let copy = interpolate(&w.expr(), &space).unwrap();
            assert_close(&copy.values(), &w.values(), 1e-12, &what);
            let copy = project(&w.expr(), &space).unwrap();
            assert_close(&copy.values(), &w.values(), 1e-10, &what);
            for reduction in REDUCTIONS {
                if reduction == Reduction::Sum {
                    continue;
                }
                let mut found = vec![0.0; space.dof_count()];
                InterpolationPlan::new(&w.expr(), &space, &all, reduction)
                    .unwrap()
                    .evaluate(&mut found)
                    .unwrap();
                assert_close(&found, &w.values(), 1e-12, &what);
                let derivative =
                    InterpolationMatrix::derivative(&w.expr(), &w, &space, &all, reduction);
                let derivative = derivative.unwrap().assembled().unwrap();
                derivative.multiply(&w.values(), &mut found).unwrap();
                assert_close(&found, &w.values(), 1e-12, &what);
            }
            let u = Expr::trial(&space);
            let identity = InterpolationMatrix::new(&u, &space, &all, Reduction::First).unwrap();
            let identity = identity.assembled().unwrap();
            let mut found = vec![0.0; space.dof_count()];
            identity.multiply(&w.values(), &mut found).unwrap();
            assert_close(&found, &w.values(), 1e-12, &what);
        }
    }
}

#[test]
fn points_of_elements_and_free_points_see_one_value() {
    let mut random = Random(43);
    for Case { name, mesh } in meshes() {
        let (dim, cell) = (mesh.space_dim(), mesh.cell_kind());
        let points: Vec<[f64; 3]> = (0..3).map(|_| random.point(cell)).collect();
        let place = evaluate_at(&Expr::position(&mesh), &shared(&mesh), &points).unwrap();
        let positions: Vec<[f64; 3]> = place
            .chunks_exact(dim)
            .map(|x| std::array::from_fn(|d| if d < dim { x[d] } else { 0.0 }))
            .collect();
        for kind in value_kinds() {
            let what = format!("{name} {kind:?}");
            let space = Space::lagrange(&mesh, 2).unwrap();
            let space = space.with_value(kind).unwrap();
            let w = random_field(&space, &mut random);
            let u = Expr::trial(&space);
            for (form, value) in [(u.clone(), w.expr()), (u.grad(), w.expr().grad())] {
                let expected = evaluate_at(&value, space.geometry(), &points).unwrap();
                let mut found = vec![0.0; expected.len()];
                let plan = InterpolationMatrix::at_points(&form, &Measure::cells(&mesh), &points);
                let matrix = plan.unwrap().assembled().unwrap();
                matrix.multiply(&w.values(), &mut found).unwrap();
                assert_close(&found, &expected, 1e-11, &what);
                let plan = InterpolationMatrix::at_positions(&form, &positions);
                let matrix = plan.unwrap().assembled().unwrap();
                matrix.multiply(&w.values(), &mut found).unwrap();
                assert_close(&found, &expected, 1e-8, &what);
                let found =
                    evaluate_at_positions(&value, space.geometry(), &positions, f64::NAN).unwrap();
                assert_close(&found, &expected, 1e-8, &what);
            }
        }
    }
}

/// A field of another mesh in a form.
#[test]
fn fields_of_other_meshes_have_the_same_values() {
    let mut random = Random(44);
    for Case { name, mesh } in straight_cases() {
        let kind_of_cell = mesh.cell_kind();
        let points: Vec<[f64; 3]> = (0..2).map(|_| random.point(kind_of_cell)).collect();
        let other = Mesh::clone(&mesh).moved(|x| x).unwrap();
        for kind in value_kinds() {
            let space = Space::lagrange(&mesh, 2).unwrap();
            let w = random_field(&space.with_value(kind).unwrap(), &mut random);
            let cross = CrossField::new(&w).unwrap();
            let there = cross.expr();
            let expected = evaluate_at(&w.expr(), &shared(&mesh), &points).unwrap();
            let found = evaluate_at(&there, &shared(&other), &points).unwrap();
            // Points are located to some 1e-9 of a cell.
            assert_close(&found, &expected, 1e-7, &format!("{name} {kind:?}"));
        }
    }
}

/// The products of two functions are those of their degrees of freedom.
#[test]
fn mass_matrices_couple_no_two_numbers_of_a_value() {
    for Case { name, mesh } in straight_cases() {
        let scalar = Space::lagrange(&mesh, 1).unwrap();
        let mass = |space: &Space| {
            let (u, v) = (Expr::trial(space), Expr::test(space));
            matrix(&u.inner(&v).dx(&mesh)).unwrap()
        };
        let plain = mass(&scalar);
        for kind in value_kinds() {
            let full = mass(&scalar.with_value(kind).unwrap());
            let n = kind.components();
            let mut expected = Vec::new();
            for value in plain.values() {
                for k in 0..n * n {
                    let diagonal = f64::from(k % (n + 1) == 0);
                    expected.push(scale_of(kind) * diagonal * value);
                }
            }
            assert_close(full.values(), &expected, 1e-14, &format!("{name} {kind:?}"));
        }
    }
}

/// The part of a matrix that a kind of tensors can hold.
fn part(kind: ValueKind, e: &Expr) -> Expr {
    match kind {
        ValueKind::Symmetric(_) | ValueKind::Deviatoric(_) => e.sym(),
        ValueKind::Skew(_) => e.skew(),
        _ => e.clone(),
    }
}

/// No entry of a matrix is lost silently when it is put where only symmetric or skew-symmetric ones are:
/// both of a pair count alike, in every way of interpolation and in projection.
#[test]
fn of_other_matrices_the_part_that_fits_counts() {
    let mut random = Random(45);
    for Case { name, mesh } in straight_cases() {
        let all = Measure::cells(&mesh);
        let scalar = Space::lagrange(&mesh, 2).unwrap();
        for n in [2, 3] {
            let full = scalar.matrix(n, n).unwrap();
            let w = random_field(&full, &mut random);
            let u = Expr::trial(&full);
            for kind in value_kinds() {
                let fits = kind.shape() == Shape::Matrix(n, n);
                if !fits || matches!(kind, ValueKind::Matrix(..)) {
                    continue;
                }
                let what = format!("{name} {kind:?}");
                let space = scalar.with_value(kind).unwrap();
                let truth = interpolate(&part(kind, &w.expr()), &space).unwrap();
                let off = truth.expr() - part(kind, &w.expr());
                let off = weft::assemble::integrate(&off.inner(&off).dx(&mesh)).unwrap();
                assert!(off < 1e-22, "{what}: {off:e}");
                let size = truth.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
                assert!(size > 0.1, "{what}");

                let found = interpolate(&w.expr(), &space).unwrap();
                assert_close(&found.values(), &truth.values(), 1e-13, &what);
                let found = project(&w.expr(), &space).unwrap();
                assert_close(&found.values(), &truth.values(), 1e-10, &what);
                for reduction in REDUCTIONS {
                    let expected = {
                        let e = part(kind, &w.expr());
                        let mut out = vec![0.0; space.dof_count()];
                        let plan = InterpolationPlan::new(&e, &space, &all, reduction);
                        plan.unwrap().evaluate(&mut out).unwrap();
                        out
                    };
                    let mut found = vec![0.0; space.dof_count()];
                    let plan = InterpolationPlan::new(&w.expr(), &space, &all, reduction);
                    plan.unwrap().evaluate(&mut found).unwrap();
                    assert_close(&found, &expected, 1e-12, &what);
                    let plan =
                        InterpolationMatrix::derivative(&w.expr(), &w, &space, &all, reduction);
                    let matrix = plan.unwrap().assembled().unwrap();
                    matrix.multiply(&w.values(), &mut found).unwrap();
                    assert_close(&found, &expected, 1e-12, &what);
                    if let Ok(plan) = InterpolationMatrix::new(&u, &space, &all, reduction) {
                        let matrix = plan.assembled().unwrap();
                        matrix.multiply(&w.values(), &mut found).unwrap();
                        assert_close(&found, &expected, 1e-12, &what);
                    }
                }
            }
        }
    }
}

/// The largest and smallest of what is stored, where the values differ from cell to cell.
#[test]
fn maxima_are_taken_of_stored_numbers() {
    let mut random = Random(46);
    for Case { name, mesh } in straight_cases() {
        let all = Measure::cells(&mesh);
        let cells = mesh.topology().cell_count();
        for kind in value_kinds() {
            let space = Space::lagrange(&mesh, 1).unwrap();
            let space = space.with_value(kind).unwrap();
            let n = kind.components();
            let stored: Vec<Vec<f64>> = (0..n).map(|_| random.numbers(cells)).collect();
            let entries = (0..kind.shape().len()).map(|c| {
                let term = |(dof, f): (usize, f64)| f * Expr::cell_data("d", stored[dof].clone());
                let terms = kind.dofs_of(c).map(term);
                terms.fold(Expr::zero(Shape::Scalar), |sum, term| sum + term)
            });
            let e = Expr::tensor(kind.shape(), entries.collect());
            for (reduction, better) in [
                (Reduction::Max, f64::max as fn(f64, f64) -> f64),
                (Reduction::Min, f64::min),
            ] {
                let mut expected = vec![f64::NAN; space.dof_count()];
                for cell in 0..cells {
                    for &node in space.cell_nodes(cell) {
                        for dof in 0..n {
                            let out = &mut expected[node as usize * n + dof];
                            *out = better(*out, stored[dof][cell]);
                        }
                    }
                }
                let mut found = vec![0.0; space.dof_count()];
                let mut plan = InterpolationPlan::new(&e, &space, &all, reduction).unwrap();
                plan.evaluate(&mut found).unwrap();
                assert_close(&found, &expected, 1e-13, &format!("{name} {kind:?}"));
            }
        }
    }
}

#[test]
fn hanging_nodes_of_every_kind() {
    let coarse = [[2, 0, 0], [0, 2, 0], [2, 2, 0]].map(|x| (x, 1));
    let fine = (0..8).map(|k| ([k & 1, k >> 1 & 1, k >> 2], 0));
    let cells: Vec<([i32; 3], u8)> = fine.chain(coarse).collect();
    let grid = AdaptiveVoxelGrid::from_cells(&cells, VoxelMap::uniform(0.5).unwrap()).unwrap();
    let mut random = Random(47);
    let points: Vec<[f64; 3]> = (0..3)
        .map(|_| random.point(weft::element::CellKind::Hex))
        .collect();
    for kind in value_kinds() {
        let what = format!("{kind:?}");
        let space = Space::lagrange(&grid, 2).unwrap();
        let space = space.with_value(kind).unwrap();
        assert!(!space.hanging().is_empty());
        let w = random_field(&space, &mut random);
        let copy = interpolate(&w.expr(), &space).unwrap();
        assert_close(&copy.values(), &w.values(), 1e-12, &what);
        let found = evaluate_at(&w.expr(), space.geometry(), &points).unwrap();
        let gradients = evaluate_at(&w.expr().grad(), space.geometry(), &points).unwrap();
        let len = kind.shape().len();
        for cell in 0..grid.topology().cell_count() {
            for (k, &xi) in points.iter().enumerate() {
                let point = w.evaluate(cell, xi).unwrap();
                let at = (cell * points.len() + k) * len;
                assert_close(&point.value, &found[at..at + len], 1e-12, &what);
                let gradient = point.gradient.concat();
                assert_close(&gradient, &gradients[3 * at..][..3 * len], 1e-11, &what);
            }
        }
    }
}

#[test]
fn impossible_tensors_are_refused() {
    let mesh = unit_mesh(weft::element::CellKind::Quad, [1; 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let fail = |space: Result<Space, weft::space::SpaceError>| space.err().unwrap().to_string();
    assert_eq!(
        fail(space.skew(4)),
        "a skew-symmetric tensor has 2 or 3 rows, not 4"
    );
    assert_eq!(
        fail(space.with_value(ValueKind::Deviatoric(1))),
        "a symmetric tensor has 2 or 3 rows, not 1"
    );
    assert!(fail(space.matrix(5, 4)).contains("between 1 and 16"));
    let skew = space.skew(2).unwrap();
    assert!(Field::from_values(&skew, vec![0.0; 4]).is_ok());
    assert!(Field::from_values(&skew, vec![0.0; 16]).is_err());
    let error = interpolate(&Expr::constant(1.0), &skew).err().unwrap();
    assert!(error.to_string().contains("2×2 matrix"), "{error}");
}
