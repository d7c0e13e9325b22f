//! Nodal assembly.

use crate::common::*;
use crate::{random_field, spaces};
use weft::assemble::{NodalPlan, integrate, matrix, node_rule_degree, vector};
use weft::element::{CellKind, Element, ElementFamily, NodeFamily};
use weft::form::{Expr, Form, Measure, Param};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grid2, Mesh, VoxelMap, frame_at};
use weft::space::Space;

fn nodal_vector(form: &Form) -> Vec<f64> {
    let mut plan = NodalPlan::new(form).unwrap();
    let mut out = vec![0.0; plan.space().dof_count()];
    plan.assemble_vector(&mut out).unwrap();
    out
}

fn nodal_matrix(form: &Form) -> weft::sparse::BlockMatrix {
    let mut plan = NodalPlan::new(form).unwrap();
    let mut out = plan.matrix();
    plan.assemble_matrix(&mut out).unwrap();
    out
}

/// Lumped masses of all nodes, plainly.
fn masses(space: &Space) -> Vec<f64> {
    let element = space.element();
    let weights = element.node_weights().unwrap();
    let mut out = vec![0.0; space.node_count()];
    for cell in 0..space.topology().cell_count() {
        for (i, &node) in space.cell_nodes(cell).iter().enumerate() {
            let frame = frame_at(&**space.geometry(), cell, element.nodes()[i]);
            out[node as usize] += weights[i] * element.kind().reference_measure() * frame.measure;
        }
    }
    out
}

/// Vectors and matrices are node by node coefficient times mass, whatever the coefficient.
#[test]
fn nodes_carry_their_masses() {
    let mut random = Random(31);
    for Case { name, mesh } in all_cases() {
        for space in spaces(&mesh) {
            let truth = masses(&space);
            assert!(truth.iter().all(|&m| m > 0.0), "{name}");
            let f = random_field(&space, &mut random);
            let (u, v) = (Expr::trial(&space), Expr::test(&space));
            let conforming = space.element().family() != ElementFamily::CrouzeixRaviart;
            if conforming {
                let found = nodal_vector(&f.expr().inner(&v).dx(&mesh));
                let expected: Vec<f64> = truth
                    .iter()
                    .zip(f.values().iter())
                    .map(|(m, f)| m * f)
                    .collect();
                assert_close(&found, &expected, 1e-12, name);
            }
            let found = nodal_matrix(&u.inner(&v).dx(&mesh));
            assert_close(found.values(), &truth, 1e-13, name);
            // A full matrix as coefficient makes full blocks, in the right order.
            let vectors = space.vector(2).unwrap();
            let (u, v) = (Expr::trial(&vectors), Expr::test(&vectors));
            let a = Expr::tensor(
                weft::form::Shape::Matrix(2, 2),
                [1.0, 2.0, -3.0, 5.0].map(Expr::constant).to_vec(),
            );
            let found = nodal_matrix(&v.dot(&a.dot(&u)).dx(&mesh));
            let expected: Vec<f64> = truth
                .iter()
                .flat_map(|m| [1.0, 2.0, -3.0, 5.0].map(|a| a * m))
                .collect();
            assert_close(found.values(), &expected, 1e-13, name);
        }
    }
}

/// Volume and first moments of straight cells are exact, on sides too where nodes make a rule.
#[test]
fn constants_and_linear_functions_are_exact() {
    for Case { name, mesh } in straight_cases() {
        let dim = mesh.space_dim();
        for space in spaces(&mesh) {
            let affine = !matches!(mesh.cell_kind(), CellKind::Quad | CellKind::Hex);
            let degree = node_rule_degree(space.element());
            let (u, v) = (Expr::trial(&space), Expr::test(&space));
            let x = Expr::position(&mesh);
            if affine {
                let one = Expr::constant(1.0);
                let mut polynomials = vec![(0, one)];
                polynomials.extend((0..dim).map(|d| (1, x.at(d))));
                for (p, e) in polynomials {
                    if p > degree {
                        continue;
                    }
                    let found: f64 = nodal_vector(&(&e * &v).dx(&mesh)).iter().sum();
                    let truth = integrate(&e.dx(&mesh)).unwrap();
                    assert!(
                        (found - truth).abs() < 1e-12 * truth.abs().max(1.0),
                        "{name}"
                    );
                }
            }
            let boundary = Measure::boundary(&mesh);
            let Ok(mut plan) = NodalPlan::new(&u.inner(&v).over(&boundary)) else {
                let family = space.element().family();
                let none = matches!(
                    family,
                    ElementFamily::Polynomial | ElementFamily::CrouzeixRaviart
                );
                assert!(
                    none || space.degree() == 0,
                    "{name} {}",
                    space.element().name()
                );
                continue;
            };
            let mut mass = plan.matrix();
            plan.assemble_matrix(&mut mass).unwrap();
            if mesh.cell_kind() != CellKind::Hex {
                let truth = integrate(&Expr::constant(1.0).over(&boundary)).unwrap();
                let found: f64 = mass.values().iter().sum();
                assert!(
                    (found - truth).abs() < 1e-12 * truth,
                    "{name} {}",
                    space.element().name()
                );
            }
            assert!(mass.values().iter().all(|&m| m >= 0.0));
        }
    }
}

/// Where the nodes are Gauss-Lobatto points the sums are those of assembly with that rule.
#[test]
fn lobatto_nodes_integrate_their_functions() {
    for p in 1..=4 {
        let grid = Grid2::new([3, 2], [-1.0, 0.5], [2.0, 1.0]).unwrap();
        let space = Space::lagrange(&grid, p).unwrap();
        assert_eq!(node_rule_degree(space.element()), 2 * p - 1);
        let v = Expr::test(&space);
        let x = Expr::position(&grid);
        let e = (x.at(0) - 0.3).pow(p as f64 - 1.0) * x.at(1).pow(p as f64 - 1.0);
        let found = nodal_vector(&(&e * &v).dx(&grid));
        assert_close(
            &found,
            &vector(&(&e * &v).dx(&grid)).unwrap(),
            1e-12,
            "lobatto",
        );
    }
}

#[test]
fn rules_state_their_degree() {
    let lagrange = |kind, p| Element::new_lagrange(kind, p, NodeFamily::Lobatto).unwrap();
    for (kind, degrees) in [
        (CellKind::Segment, [1, 3, 5]),
        (CellKind::Quad, [1, 3, 5]),
        (CellKind::Hex, [1, 3, 5]),
    ] {
        for p in 1..=3 {
            assert_eq!(node_rule_degree(&lagrange(kind, p)), degrees[p - 1]);
        }
    }
    for kind in [CellKind::Triangle, CellKind::Tet] {
        assert_eq!(node_rule_degree(&lagrange(kind, 1)), 1);
        assert_eq!(node_rule_degree(&lagrange(kind, 2)), 1);
    }
    assert!(node_rule_degree(&lagrange(CellKind::Triangle, 3)) >= 3);
    // No positive weights on these nodes do better in degree 2: on the triangle x² and the symmetry
    // of the nodes demand 0 at the vertices, on the tet less.
    for (kind, corner) in [(CellKind::Triangle, 0.0), (CellKind::Tet, -1.0 / 20.0)] {
        let element = lagrange(kind, 2);
        let rule = weft::element::Quadrature::new(kind, 2).unwrap();
        let table = element.tabulate(rule.points());
        let weight: f64 = (0..rule.points().len())
            .map(|q| rule.weights()[q] * table.values_at(q)[0])
            .sum();
        assert!((weight - corner).abs() < 1e-14, "{weight}");
    }
}

/// A lumped mass with positive weights solves the projection of constants exactly.
#[test]
fn lumped_projection_keeps_constants_and_totals() {
    let mut random = Random(33);
    for Case { name, mesh } in all_cases() {
        for space in spaces(&mesh) {
            let (u, v) = (Expr::trial(&space), Expr::test(&space));
            let data = Expr::cell_data("d", random.numbers(mesh.topology().cell_count()));
            let mass = nodal_matrix(&u.inner(&v).dx(&mesh));
            let load = nodal_vector(&(&data * &v).dx(&mesh));
            let mut plan = weft::assemble::InterpolationPlan::new(
                &data,
                &space,
                &Measure::cells(&mesh),
                weft::assemble::Reduction::WeightedAverage,
            )
            .unwrap();
            let mut average = vec![0.0; space.dof_count()];
            plan.evaluate(&mut average).unwrap();
            let quotient: Vec<f64> = load.iter().zip(mass.values()).map(|(b, m)| b / m).collect();
            assert_close(&average, &quotient, 1e-13, name);
        }
    }
}

#[test]
fn sums_of_integrals_parameters_and_threads() {
    let mesh = zigzag_mesh(CellKind::Triangle, 6);
    let space = Space::lagrange(&mesh, 2).unwrap();
    let k = Param::scalar("k", 2.0);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let uv = u.inner(&v);
    let form = (Expr::from(&k) * &uv).dx(&mesh) + uv.over(&Measure::boundary(&mesh));
    let cells = nodal_matrix(&uv.dx(&mesh));
    let sides = nodal_matrix(&uv.over(&Measure::boundary(&mesh)));
    let mut plan = NodalPlan::new(&form).unwrap();
    let mut found = plan.matrix();
    for value in [2.0, -1.0] {
        k.set(value);
        plan.assemble_matrix(&mut found).unwrap();
        let both = cells.values().iter().zip(sides.values());
        let expected: Vec<f64> = both.map(|(c, s)| value * c + s).collect();
        assert_close(found.values(), &expected, 1e-14, "sum");
    }
    let run = |threads| pool(threads).install(|| nodal_matrix(&form).values().to_vec());
    assert!(run(1) == run(2) && run(1) == run(7));
}

#[test]
fn hanging_loads_go_to_their_masters() {
    let coarse = [[2, 0, 0], [0, 2, 0], [2, 2, 0]].map(|x| (x, 1));
    let fine = (0..8).map(|k| ([k & 1, k >> 1 & 1, k >> 2], 0));
    let cells: Vec<([i32; 3], u8)> = fine.chain(coarse).collect();
    let grid = AdaptiveVoxelGrid::from_cells(&cells, VoxelMap::uniform(0.5).unwrap()).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let v = Expr::test(&space);
    // Trapezoids are exact for the functions themselves.
    let found = nodal_vector(&v.dx(&grid));
    assert_close(&found, &vector(&v.dx(&grid)).unwrap(), 1e-14, "hanging");
    let u = Expr::trial(&space);
    let error = NodalPlan::new(&u.inner(&v).dx(&grid)).err().unwrap();
    assert!(error.to_string().contains("masters"), "{error}");
}

#[test]
fn faults_are_named() {
    let mesh: Mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let other = Space::lagrange(&mesh, 2).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let fail = |form: &Form| NodalPlan::new(form).err().unwrap().to_string();
    let one = Expr::constant(1.0);
    assert!(fail(&one.dx(&mesh)).contains("test function"));
    assert!(fail(&Expr::trial(&other).inner(&v).dx(&mesh)).contains("one space"));
    assert!(fail(&u.grad().inner(&v.grad()).dx(&mesh)).contains("erivatives"));
    assert!(fail(&v.inside().over(&Measure::interior(&mesh))).contains("interior sides"));
    let w = Expr::test(&Space::nedelec(&mesh, 1).unwrap());
    assert!(fail(&w.at(0).dx(&mesh)).contains("moments"));
    let grid = Grid2::unit([4, 4]).unwrap();
    let s = Expr::test(&Space::splines(&grid, 2).unwrap());
    assert!(fail(&s.dx(&grid)).contains("B-spline"));
    let mut plan = NodalPlan::new(&v.dx(&mesh)).unwrap();
    let mut matrix = plan.matrix();
    assert!(plan.assemble_matrix(&mut matrix).is_err());
    assert!(plan.assemble_vector(&mut [0.0]).is_err());
    let mut plan = NodalPlan::new(&u.inner(&v).dx(&mesh)).unwrap();
    assert!(
        plan.assemble_vector(&mut vec![0.0; space.dof_count()])
            .is_err()
    );
}

/// In degree 1 on simplices lumping is summing rows.
#[test]
fn lumped_masses_are_row_sums() {
    for kind in [CellKind::Segment, CellKind::Triangle, CellKind::Tet] {
        let mesh = zigzag_mesh(kind, 3);
        let space = Space::lagrange(&mesh, 1).unwrap();
        let form = Expr::trial(&space).inner(&Expr::test(&space)).dx(&mesh);
        let full = matrix(&form).unwrap();
        let mut sums = vec![0.0; full.rows()];
        full.multiply(&vec![1.0; full.cols()], &mut sums).unwrap();
        assert_close(nodal_matrix(&form).values(), &sums, 1e-13, kind.name());
    }
}
