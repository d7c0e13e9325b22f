//! Interpolation into nodes.

use crate::common::*;
use crate::{REDUCTIONS, jumping, random_field, spaces};
use weft::assemble::{InterpolationPlan, Reduction, evaluate_at, interpolate};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Param};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grid2, Grid3, VoxelMap, frame_at};
use weft::space::{Space, ValueKind};

/// Values and weights at every node of some cells, in their order.
fn gathered(e: &Expr, space: &Space, cells: &[usize]) -> Vec<Vec<(f64, f64)>> {
    let element = space.element();
    let values = evaluate_at(e, space.geometry(), element.nodes()).unwrap();
    let weights = element.node_weights().unwrap();
    let mut all = vec![Vec::new(); space.node_count()];
    for &cell in cells {
        for (i, &node) in space.cell_nodes(cell).iter().enumerate() {
            let frame = frame_at(&**space.geometry(), cell, element.nodes()[i]);
            let weight = frame.measure * weights[i] * element.kind().reference_measure();
            if (node as usize) < space.node_count() {
                all[node as usize].push((values[cell * element.node_count() + i], weight));
            }
        }
    }
    all
}

fn reduce(reduction: Reduction, all: &[(f64, f64)]) -> f64 {
    let values = || all.iter().map(|(v, _)| *v);
    let n = all.len() as f64;
    match reduction {
        Reduction::WeightedAverage => {
            let (sum, total) = all
                .iter()
                .fold((0.0, 0.0), |(s, t), (v, w)| (s + v * w, t + w));
            sum / total
        }
        Reduction::Mean => values().sum::<f64>() / n,
        Reduction::Sum => values().sum(),
        Reduction::Max => values().fold(f64::NEG_INFINITY, f64::max),
        Reduction::Min => values().fold(f64::INFINITY, f64::min),
        Reduction::First => all[0].0,
    }
}

#[test]
fn every_reduction_agrees_with_a_plain_twin_and_leaves_other_nodes() {
    let mut random = Random(7);
    for Case { name, mesh } in all_cases() {
        let rough = random_field(&Space::lagrange(&mesh, 2).unwrap(), &mut random);
        let e = jumping(&mesh, &rough, &mut random);
        let count = mesh.topology().cell_count();
        let some: Vec<u32> = (0..count as u32).filter(|c| c % 3 != 1).collect();
        for space in spaces(&mesh) {
            for (measure, cells) in [
                (Measure::cells(&mesh), (0..count).collect::<Vec<_>>()),
                (
                    Measure::cells(&mesh).listed(some.clone()),
                    some.iter().map(|&c| c as usize).collect(),
                ),
            ] {
                let truth = gathered(&e, &space, &cells);
                for reduction in REDUCTIONS {
                    let mut plan = InterpolationPlan::new(&e, &space, &measure, reduction).unwrap();
                    let mut found = vec![77.0; space.dof_count()];
                    plan.evaluate(&mut found).unwrap();
                    let reached = truth.iter().filter(|all| !all.is_empty()).count();
                    assert_eq!(plan.reached(), reached, "{name}");
                    let expected: Vec<f64> = truth
                        .iter()
                        .map(|all| match all.is_empty() {
                            true => 77.0,
                            false => reduce(reduction, all),
                        })
                        .collect();
                    let what = format!("{name} {} {reduction:?}", space.element().name());
                    assert_close(&found, &expected, 1e-13, &what);
                }
            }
        }
    }
}

#[test]
fn functions_of_the_space_are_reproduced_whatever_the_reduction_but_sums() {
    let mut random = Random(8);
    for Case { name, mesh } in all_cases() {
        for space in spaces(&mesh) {
            let nodal = space.element().family() != weft::element::ElementFamily::CrouzeixRaviart;
            for kind in [
                ValueKind::Scalar,
                ValueKind::Vector(3),
                ValueKind::Symmetric(2),
            ] {
                let space = space.with_value(kind).unwrap();
                let field = random_field(&space, &mut random);
                for reduction in REDUCTIONS {
                    if reduction == Reduction::Sum || !nodal && reduction != Reduction::First {
                        continue;
                    }
                    let all = Measure::cells(&mesh);
                    let mut plan =
                        InterpolationPlan::new(&field.expr(), &space, &all, reduction).unwrap();
                    let copy = Field::zeros(&space);
                    plan.interpolate(&copy).unwrap();
                    assert_close(&copy.values(), &field.values(), 1e-12, name);
                    // In place, too.
                    plan.interpolate(&field).unwrap();
                    assert_close(&copy.values(), &field.values(), 1e-12, name);
                }
            }
        }
    }
}

#[test]
fn the_first_value_is_what_interpolate_takes() {
    let mut random = Random(9);
    let plane = Grid2::unit([4, 3]).unwrap();
    let cube = Grid3::unit([2, 3, 2]).unwrap();
    let mut all = vec![
        (Space::splines(&plane, 2).unwrap(), Measure::cells(&plane)),
        (Space::splines(&cube, 3).unwrap(), Measure::cells(&cube)),
        (Space::lagrange(&cube, 2).unwrap(), Measure::cells(&cube)),
    ];
    for Case { mesh, .. } in straight_cases() {
        let here = spaces(&mesh).into_iter();
        all.extend(here.map(|s| (s, Measure::cells(&mesh))));
    }
    for (space, measure) in all {
        let geometry = space.geometry().clone();
        let cells = geometry.topology().cell_count();
        let e = Expr::cell_data("d", random.numbers(cells)) * Expr::position(&*geometry).at(0);
        let mut plan = InterpolationPlan::new(&e, &space, &measure, Reduction::First).unwrap();
        let mut found = vec![0.0; space.dof_count()];
        plan.evaluate(&mut found).unwrap();
        assert_eq!(found, *interpolate(&e, &space).unwrap().values());
    }
}

/// On sides: the normal, one-sided values, and untouched nodes inside.
#[test]
fn sides_reach_their_own_nodes_only() {
    let mut random = Random(10);
    for Case { name, mesh } in straight_cases().into_iter().chain(curved_cases()) {
        let dim = mesh.space_dim();
        for space in [1, 2, 3].map(|p| Space::lagrange(&mesh, p).unwrap()) {
            let boundary: Vec<bool> = {
                let mut on = vec![false; space.node_count()];
                for &side in mesh.topology().boundary_sides() {
                    space
                        .side_nodes(side as usize)
                        .for_each(|n| on[n as usize] = true);
                }
                on
            };
            let f = random_field(&space, &mut random);
            let measure = Measure::boundary(&mesh);
            let mut plan =
                InterpolationPlan::new(&f.expr(), &space, &measure, Reduction::WeightedAverage)
                    .unwrap();
            let mut found = vec![77.0; space.dof_count()];
            plan.evaluate(&mut found).unwrap();
            for (node, on) in boundary.iter().enumerate() {
                let expected = if *on { f.values()[node] } else { 77.0 };
                assert!((found[node] - expected).abs() < 1e-12, "{name} node {node}");
            }
            // The mean of unit normals is no longer than 1, and the largest component no smaller.
            let n = Expr::normal(&mesh);
            let vectors = space.vector(dim).unwrap();
            let of = |reduction| {
                let mut plan = InterpolationPlan::new(&n, &vectors, &measure, reduction).unwrap();
                let mut values = vec![0.0; vectors.dof_count()];
                plan.evaluate(&mut values).unwrap();
                values
            };
            let (mean, max, min) = (of(Reduction::Mean), of(Reduction::Max), of(Reduction::Min));
            for k in 0..mean.len() {
                assert!(min[k] <= mean[k] + 1e-14 && mean[k] <= max[k] + 1e-14);
            }
            for (node, n) in mean.chunks_exact(dim).enumerate() {
                let length = n.iter().map(|c| c * c).sum::<f64>().sqrt();
                assert!(
                    length <= 1.0 + 1e-14 && (length > 0.0) == boundary[node],
                    "{name}"
                );
            }
        }
        // One-sided values of discontinuous functions between cells.
        let space = Space::discontinuous(&mesh, 2).unwrap();
        let number = Expr::cell_data(
            "number",
            (0..mesh.topology().cell_count())
                .map(|c| c as f64)
                .collect(),
        );
        let interior = Measure::interior(&mesh);
        for (side, e) in [number.inside(), number.outside()].iter().enumerate() {
            let first = InterpolationPlan::new(e, &space, &interior, Reduction::Max);
            let mut found = vec![-1.0; space.dof_count()];
            first.unwrap().evaluate(&mut found).unwrap();
            let mut expected = vec![-1.0; space.dof_count()];
            let topology = mesh.topology();
            for s in 0..topology.side_count() {
                if topology.is_boundary(s) {
                    continue;
                }
                let value = topology.side_cells(s)[side] as f64;
                for node in space.side_nodes(s) {
                    expected[node as usize] = value.max(expected[node as usize]);
                }
            }
            assert_eq!(found, expected, "{name} side {side}");
        }
    }
}

#[test]
fn hanging_nodes_follow_their_masters() {
    let coarse = [[2, 0, 0], [0, 2, 0], [2, 2, 0]].map(|x| (x, 1));
    let fine = (0..8).map(|k| ([k & 1, k >> 1 & 1, k >> 2], 0));
    let cells: Vec<([i32; 3], u8)> = fine.chain(coarse).collect();
    let grid = AdaptiveVoxelGrid::from_cells(&cells, VoxelMap::uniform(0.5).unwrap()).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    assert!(!space.hanging().is_empty());
    let x = Expr::position(&grid);
    let e = x.at(0) + 2.0 * x.at(1) - x.at(2);
    for reduction in [Reduction::WeightedAverage, Reduction::Max, Reduction::First] {
        let mut plan =
            InterpolationPlan::new(&e, &space, &Measure::cells(&grid), reduction).unwrap();
        let field = Field::zeros(&space);
        plan.interpolate(&field).unwrap();
        assert_eq!(
            field.values().len(),
            interpolate(&e, &space).unwrap().values().len()
        );
        assert_close(
            &field.values(),
            &interpolate(&e, &space).unwrap().values(),
            1e-14,
            "hang",
        );
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let mesh = zigzag_mesh(CellKind::Tet, 5);
    let space = Space::lagrange(&mesh, 2).unwrap();
    let mut random = Random(3);
    let f = random_field(&space, &mut random);
    let e = jumping(&mesh, &f, &mut random);
    for reduction in REDUCTIONS {
        let run = |threads| {
            pool(threads).install(|| {
                let all = Measure::cells(&mesh);
                let mut plan = InterpolationPlan::new(&e, &space, &all, reduction).unwrap();
                let mut out = vec![0.0; space.dof_count()];
                plan.evaluate(&mut out).unwrap();
                out
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(5));
    }
}

#[test]
fn not_a_number_is_not_hidden() {
    let grid = Grid2::unit([2, 1]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    for values in [vec![f64::NAN, 1.0], vec![1.0, f64::NAN]] {
        let e = Expr::cell_data("d", values);
        for reduction in REDUCTIONS {
            if reduction == Reduction::First {
                continue;
            }
            let all = Measure::cells(&grid);
            let mut plan = InterpolationPlan::new(&e, &space, &all, reduction).unwrap();
            let mut out = vec![0.0; 6];
            plan.evaluate(&mut out).unwrap();
            let nan = out.iter().filter(|v| v.is_nan()).count();
            assert_eq!(nan, 4, "{reduction:?} {out:?}");
        }
    }
}

#[test]
fn empty_domains_change_nothing_and_parameters_are_read_again() {
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let space = Space::lagrange(&mesh, 2).unwrap();
    let k = Param::scalar("k", 2.0);
    let e = Expr::from(&k) * Expr::position(&mesh).at(0);
    let none = Measure::cells(&mesh).listed(vec![]);
    let mut plan = InterpolationPlan::new(&e, &space, &none, Reduction::Mean).unwrap();
    let mut out = vec![5.0; space.dof_count()];
    plan.evaluate(&mut out).unwrap();
    assert!(plan.reached() == 0 && out.iter().all(|&v| v == 5.0));
    let all = Measure::cells(&mesh);
    let mut plan = InterpolationPlan::new(&e, &space, &all, Reduction::Mean).unwrap();
    let x = space.node_positions();
    for value in [2.0, -3.0] {
        k.set(value);
        plan.evaluate(&mut out).unwrap();
        let expected: Vec<f64> = x.iter().map(|x| value * x[0]).collect();
        assert_close(&out, &expected, 1e-14, "parameter");
    }
}

#[test]
fn faults_are_named() {
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let other = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let all = Measure::cells(&mesh);
    let fail = |e: &Expr, space: &Space, measure: &Measure| match InterpolationPlan::new(
        e,
        space,
        measure,
        Reduction::Mean,
    ) {
        Ok(_) => panic!("{e} is accepted"),
        Err(error) => error.to_string(),
    };
    let one = Expr::constant(1.0);
    let x = Expr::position(&mesh);
    assert!(fail(&x, &space, &all).contains("vector"));
    assert!(fail(&Expr::trial(&space), &space, &all).contains("no values"));
    assert!(fail(&one, &space, &Measure::cells(&other)).contains("another geometry"));
    let there = Field::zeros(&Space::lagrange(&other, 1).unwrap());
    assert!(fail(&there.expr(), &space, &all).contains("another geometry"));
    let edges = Space::nedelec(&mesh, 1).unwrap();
    assert!(fail(&x, &edges, &all).contains("moments"));
    assert!(fail(&Expr::normal(&mesh).at(0), &space, &all).contains("normal"));
    assert!(fail(&one, &space, &all.clone().tagged("nothing")).contains("nothing"));
    let mut plan = InterpolationPlan::new(&one, &space, &all, Reduction::Mean).unwrap();
    let error = plan.evaluate(&mut [0.0; 3]).unwrap_err();
    assert!(error.to_string().contains("3 entries"), "{error}");
    let error = plan.interpolate(&there).unwrap_err();
    assert!(error.to_string().contains("another space"), "{error}");
    mesh.rebuild(
        mesh.map().nodes.clone(),
        (0..mesh.topology().cell_count())
            .flat_map(|c| mesh.topology().cell_vertices(c).to_vec())
            .collect(),
    )
    .unwrap();
    assert!(plan.evaluate(&mut vec![0.0; space.dof_count()]).is_err());
}
