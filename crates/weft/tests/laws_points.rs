//! Laws of functions of points: with values at the points of a rule only, and radial.
#![cfg(not(loom))]

mod common;

use common::*;
use std::sync::Arc;
use weft::adapt::Transfer;
use weft::assemble::{
    CouplingPlan, InterpolationMatrix, NodalPlan, Reduction, evaluate_at, evaluate_at_positions,
    integrate, interpolate, matrix, project, vector,
};
use weft::element::{CellKind, Element, Kernel, MAX_POINTS, Quadrature, RuleFamily};
use weft::field::{CrossField, Field};
use weft::form::{Expr, Measure};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grid2, Grid3, Locator, VoxelGrid, VoxelMap};
use weft::problem::Dirichlet;
use weft::space::Space;

fn says<T>(result: Result<T, impl std::fmt::Display>, words: &[&str]) {
    let Err(error) = result else {
        panic!("accepted, but should say {words:?}");
    };
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "`{message}` lacks `{word}`");
    }
}

const EVERYWHERE: [CellKind; 6] = [
    CellKind::Point,
    CellKind::Segment,
    CellKind::Triangle,
    CellKind::Quad,
    CellKind::Tet,
    CellKind::Hex,
];

/// A geometry with the measure of all its cells.
struct Place {
    name: String,
    geometry: Arc<dyn Geometry>,
    cells: Measure,
}

fn place<G: Geometry + Clone + 'static>(name: &str, geometry: G) -> Place {
    Place {
        name: name.to_owned(),
        cells: Measure::cells(&geometry),
        geometry: Arc::new(geometry),
    }
}

/// Geometries of every kind, straight, curved and embedded, lattices and cells of unequal size.
fn geometries() -> Vec<Place> {
    let meshes = all_cases().into_iter().map(|c| place(c.name, c.mesh));
    let map = VoxelMap::uniform(0.5).unwrap();
    let voxels = [[0, 0, 0], [1, 0, 0], [9, -4, 2]];
    let voxels = VoxelGrid::from_coordinates(&voxels, map).unwrap();
    let unequal = [([0; 3], 1), ([2, 0, 0], 0), ([2, 1, 0], 0)];
    let unequal = AdaptiveVoxelGrid::from_cells(&unequal, map).unwrap();
    let grids = [
        place("grid", Grid2::unit([3, 2]).unwrap()),
        place("box", Grid3::unit([2, 1, 3]).unwrap()),
        place("voxels", voxels),
        place("unequal voxels", unequal),
    ];
    meshes.chain(grids).collect()
}

fn points(geometry: &Arc<dyn Geometry>, rule: &Quadrature, kernel: &Kernel) -> Space {
    let element = Element::new_points(rule, kernel).unwrap();
    Space::with_element(geometry.clone(), element, false).unwrap()
}

/// Weights of a rule times the measure of every cell at its points.
fn weights(geometry: &Arc<dyn Geometry>, rule: &Quadrature) -> Vec<f64> {
    let measures = evaluate_at(&Expr::measure(&**geometry), geometry, rule.points()).unwrap();
    let repeated = rule.weights().iter().cycle();
    measures.iter().zip(repeated).map(|(m, w)| m * w).collect()
}

fn gaussian(radius: f64) -> Kernel {
    Kernel::gaussian(radius).unwrap()
}

#[test]
fn masses_of_dirac_functions_are_the_weights_of_their_points() {
    for Place {
        name,
        geometry,
        cells,
    } in geometries()
    {
        for degree in 0..5 {
            let rule = Quadrature::new(geometry.cell_kind(), degree).unwrap();
            let space = points(&geometry, &rule, &Kernel::dirac());
            let expected = weights(&geometry, &rule);
            let (u, v) = (Expr::trial(&space), Expr::test(&space));
            let mass = matrix(&u.inner(&v).over(&cells)).unwrap();
            for (i, expected) in expected.iter().enumerate() {
                let (columns, values) = mass.row(i);
                for (&j, value) in columns.iter().zip(values) {
                    let truth = if j as usize == i { *expected } else { 0.0 };
                    let close = (value - truth).abs() <= 1e-14 * expected.abs();
                    assert!(close, "{name}, degree {degree}: {i}, {j} has {value}");
                }
            }
            let load = vector(&v.over(&cells)).unwrap();
            assert_close(&load, &expected, 1e-14, &name);
            let mut nodal = NodalPlan::new(&v.over(&cells)).unwrap();
            let mut lumped = vec![0.0; load.len()];
            nodal.assemble_vector(&mut lumped).unwrap();
            assert_close(&lumped, &expected, 1e-14, &name);
        }
    }
}

#[test]
fn interpolated_values_are_those_at_the_points() {
    let mut random = Random(1);
    for Place {
        name,
        geometry,
        cells,
    } in geometries()
    {
        let dim = geometry.space_dim();
        let x = Expr::position(&*geometry);
        let f = (x.at(dim - 1) * 2.0 + 1.0).pow(2.0) * x.at(0);
        for degree in [0, 1, 3, 6] {
            let rule = Quadrature::new(geometry.cell_kind(), degree).unwrap();
            let space = points(&geometry, &rule, &Kernel::dirac());
            assert_eq!(
                space.node_count(),
                space.topology().cell_count() * rule.len()
            );
            assert!(!space.is_continuous());
            let field = interpolate(&f, &space).unwrap();
            let truth = evaluate_at(&f, &geometry, rule.points()).unwrap();
            assert_eq!(&*field.values(), &truth[..], "{name}");
            let again = evaluate_at(&field.expr(), &geometry, rule.points()).unwrap();
            assert_eq!(again, truth, "{name}");
            let projected = project(&f, &space).unwrap();
            assert_close(&projected.values(), &truth, 1e-12, &name);
            let direct = integrate(&f.over(&cells.clone().degree(degree))).unwrap();
            for measure in [cells.clone(), cells.clone().degree(degree)] {
                let sum = integrate(&field.expr().over(&measure)).unwrap();
                assert!((sum - direct).abs() <= 1e-13 * direct.abs(), "{name}");
            }
            // Vectors and products with other fields.
            let vectors = space.vector(dim).unwrap();
            let a = Field::from_values(&vectors, random.numbers(vectors.dof_count())).unwrap();
            let b = interpolate(&a.expr(), &vectors).unwrap();
            assert_eq!(&*a.values(), &*b.values(), "{name}");
        }
    }
}

#[test]
fn fields_of_points_are_projected_exactly() {
    let mut random = Random(2);
    for case in straight_cases() {
        let geometry = shared(&case.mesh);
        let space = Space::lagrange(&case.mesh, 2).unwrap();
        let field = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
        let rule = Quadrature::new(geometry.cell_kind(), 9).unwrap();
        let at_points = interpolate(&field.expr(), &points(&geometry, &rule, &Kernel::dirac()));
        let back = project(&at_points.unwrap().expr(), &space).unwrap();
        assert_close(&back.values(), &field.values(), 1e-9, case.name);
    }
}

#[test]
fn stress_at_points_meets_the_strain_of_a_displacement() {
    let mut random = Random(3);
    for case in straight_cases().into_iter().chain(curved_cases()) {
        let Place {
            geometry, cells, ..
        } = place(case.name, case.mesh.clone());
        let dim = geometry.space_dim();
        let rule = Quadrature::new(geometry.cell_kind(), 2).unwrap();
        let stress = points(&geometry, &rule, &Kernel::dirac())
            .matrix(dim, dim)
            .unwrap();
        let space = Space::lagrange(&case.mesh, 2).unwrap().vector(dim).unwrap();
        let (tau, u) = (Expr::test(&stress), Expr::trial(&space));
        let mixed = matrix(&tau.inner(&u.grad()).over(&cells)).unwrap();
        let field = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
        let mut found = vec![0.0; stress.dof_count()];
        mixed.multiply(&field.values(), &mut found).unwrap();
        let slopes = evaluate_at(&field.expr().grad(), &geometry, rule.points()).unwrap();
        let weights = weights(&geometry, &rule);
        let each = slopes.chunks_exact(dim * dim).zip(&weights);
        let truth: Vec<f64> = each
            .flat_map(|(s, w)| s.iter().map(move |s| s * w))
            .collect();
        assert_close(&found, &truth, 1e-12, case.name);
        // The matrix of the values has the same rows, without weights.
        let plan = InterpolationMatrix::new(&u.grad(), &stress, &cells, Reduction::WeightedAverage);
        plan.unwrap()
            .assembled()
            .unwrap()
            .multiply(&field.values(), &mut found)
            .unwrap();
        assert_close(&found, &slopes, 1e-12, case.name);
    }
}

#[test]
fn radial_functions_are_their_formula() {
    let mut random = Random(4);
    type Truth = fn(f64) -> f64;
    let kernels: [(Kernel, Truth); 2] = [
        (gaussian(0.1), |r| (-r * r / 0.01).exp()),
        (
            Kernel::radial("multiquadric", |s| {
                let root = (1.0 + 4.0 * s).sqrt();
                [root, 2.0 / root, -4.0 / root.powi(3)]
            }),
            |r| (1.0 + 4.0 * r * r).sqrt(),
        ),
    ];
    for kind in CellKind::CELLS {
        for (kernel, truth) in &kernels {
            let rule = Quadrature::new(kind, 3).unwrap();
            let element = Element::new_points(&rule, kernel).unwrap();
            assert_eq!(element.nodes(), rule.points());
            let n = element.node_count();
            let at = |x: [f64; 3]| {
                let (mut values, mut slopes) = (vec![0.0; n], vec![[0.0; 3]; n]);
                element.evaluate(x, &mut values, &mut slopes);
                (values, slopes)
            };
            let bends = |x: [f64; 3]| {
                let mut bends = vec![[[f64::NAN; 3]; 3]; n];
                element.hessians(x, &mut bends);
                bends
            };
            for _ in 0..20 {
                let x = random.point(kind);
                let (values, slopes) = at(x);
                for (i, p) in rule.points().iter().enumerate() {
                    let r = (0..3).map(|d| (x[d] - p[d]).powi(2)).sum::<f64>().sqrt();
                    assert!((values[i] - truth(r)).abs() < 1e-14);
                    for d in 0..kind.dim() {
                        let step = |h: f64| {
                            let mut y = x;
                            y[d] += h;
                            at(y)
                        };
                        let (after, before) = (step(1e-5), step(-1e-5));
                        let close = |found: f64, a: f64, b: f64| {
                            let difference = (a - b) / 2e-5;
                            // Fourth derivatives are about 12/radius^4.
                            (found - difference).abs() < 1e-5 * (1.0 + difference.abs())
                        };
                        assert!(close(slopes[i][d], after.0[i], before.0[i]));
                        for k in 0..3 {
                            let found = bends(x)[i][d][k];
                            assert!(close(found, after.1[i][k], before.1[i][k]));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn radial_functions_are_integrated_like_others() {
    for Place {
        name,
        geometry,
        cells,
    } in geometries()
    {
        let kind = geometry.cell_kind();
        let rule = Quadrature::new(kind, 2).unwrap();
        let space = points(&geometry, &rule, &gaussian(0.7));
        assert_eq!(space.degree(), rule.degree());
        // Against sums over the points of a rule.
        let other = Quadrature::new(kind, 7).unwrap();
        let weights = weights(&geometry, &other);
        let n = space.nodes_per_cell();
        let table = space.element().tabulate(other.points());
        let mut truth = vec![0.0; space.dof_count()];
        for (k, weight) in weights.iter().enumerate() {
            let (cell, q) = (k / other.len(), k % other.len());
            for i in 0..n {
                truth[cell * n + i] += weight * table.values_at(q)[i];
            }
        }
        let measure = cells.clone().degree(7);
        let load = vector(&Expr::test(&space).over(&measure)).unwrap();
        assert_close(&load, &truth, 1e-13, &name);
        // The mass matrix has no zero diagonal, and slopes exist.
        let u = Expr::trial(&space);
        let stiffness = matrix(&u.grad().inner(&Expr::test(&space).grad()).over(&measure)).unwrap();
        let ones: f64 = stiffness.values().iter().sum();
        assert!(ones.is_finite(), "{name}");
        let field = Field::from_values(&space, vec![1.0; space.dof_count()]).unwrap();
        let truth: f64 = truth.iter().sum();
        let sum = integrate(&field.expr().over(&measure)).unwrap();
        assert!((sum - truth).abs() < 1e-12 * truth, "{name}");
    }
}

#[test]
fn a_radial_field_is_reproduced_by_projection() {
    let grid = Grid2::unit([2, 3]).unwrap();
    let rule = Quadrature::new(CellKind::Quad, 3).unwrap();
    let element = Element::new_points(&rule, &gaussian(0.5)).unwrap();
    let space = Space::with_element(Arc::new(grid), element, false).unwrap();
    let mut random = Random(5);
    let field = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
    let again = project(&field.expr(), &space).unwrap();
    assert_close(&again.values(), &field.values(), 1e-8, "projection");
    // Anywhere: at free points, and from another mesh.
    let x = [[0.3, 0.4, 0.0], [0.9, 0.1, 0.0]];
    let geometry = space.geometry().clone();
    let values = evaluate_at_positions(&field.expr(), &geometry, &x, 0.0).unwrap();
    let cross = CrossField::new(&field).unwrap();
    for (x, value) in x.into_iter().zip(values) {
        let there = cross.evaluate(x).unwrap().unwrap();
        assert!((there.value[0] - value).abs() < 1e-12);
    }
}

#[test]
fn dirac_functions_taken_elsewhere_are_refused() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let space = Space::points(&grid, 3).unwrap();
    let other = Space::points(&grid, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let field = Field::zeros(&space);
    let only = ["element of 4 points on a quad", "at these points only"];
    says(
        matrix(&u.inner(&v).over(&Measure::cells(&grid).degree(5))),
        &only,
    );
    says(
        matrix(&u.inner(&Expr::test(&other)).dx(&grid)),
        &["at these points only"],
    );
    says(vector(&v.over(&Measure::boundary(&grid))), &only);
    says(vector(&v.jump().over(&Measure::interior(&grid))), &only);
    says(
        vector(&v.over(&Measure::cells(&grid).family(RuleFamily::GaussLobatto))),
        &only,
    );
    let no = ["element of 4 points", "no derivatives", "by parts"];
    says(vector(&v.grad().at(0).dx(&grid)), &no);
    says(integrate(&field.expr().grad().at(1).dx(&grid)), &no);
    let geometry = space.geometry().clone();
    says(
        evaluate_at(&field.expr(), &geometry, &[[0.5, 0.5, 0.0]]),
        &only,
    );
    let x = [[0.5, 0.5, 0.0]];
    says(
        evaluate_at_positions(&field.expr(), &geometry, &x, 0.0),
        &only[..1],
    );
    says(field.evaluate(0, space.element().nodes()[0]), &only);
    says(CrossField::new(&field), &only);
    says(InterpolationMatrix::at_positions(&u, &x), &only[..1]);
    says(
        InterpolationMatrix::at_points(&u, &Measure::cells(&grid), &x),
        &only,
    );
    let there = Grid2::unit([3, 3]).unwrap();
    let w = Expr::test(&Space::lagrange(&there, 1).unwrap());
    says(
        CouplingPlan::new(&u.inner(&w).dx(&there), &Locator::new(&grid)),
        &only[..1],
    );
    let lagrange = Space::lagrange(&grid, 1).unwrap();
    says(interpolate(&field.expr(), &lagrange), &only);
    says(Dirichlet::on(&space, "left"), &["points"]);
    let map = VoxelMap::uniform(1.0).unwrap();
    let coarse = AdaptiveVoxelGrid::from_cells(&[([0; 3], 1)], map).unwrap();
    let same = AdaptiveVoxelGrid::from_cells(&[([0; 3], 1)], map).unwrap();
    let transfer = Transfer::new(&coarse, &same).unwrap();
    let old = Field::zeros(&Space::points(&coarse, 1).unwrap());
    let new = Space::points(&same, 1).unwrap();
    says(transfer.interpolate(&old, &new), &["at these points only"]);
    let smooth = Field::zeros(&Space::discontinuous(&coarse, 1).unwrap());
    says(transfer.project(&smooth, &new), &["at these points only"]);
    assert!(transfer.interpolate(&smooth, &new).is_ok());
}

#[test]
fn elements_of_no_points_or_twins_are_refused() {
    let rule = |x: &[[f64; 3]]| {
        let weights = vec![1.0 / x.len() as f64; x.len()];
        Quadrature::from_points(CellKind::Segment, x, &weights)
    };
    let twins = rule(&[[0.25, 0.0, 0.0], [0.5, 0.0, 0.0], [0.25, 0.0, 0.0]]).unwrap();
    let element = Element::new_points(&twins, &Kernel::dirac());
    says(element, &["points 0 and 2", "segment", "same point"]);
    let many = Quadrature::new(CellKind::Hex, 33).unwrap();
    assert!(many.len() > MAX_POINTS);
    let element = Element::new_points(&many, &Kernel::dirac());
    says(element, &["4913 points", "hex", "1 and 4096"]);
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
        says(
            Kernel::gaussian(radius),
            &["positive and finite", &radius.to_string()],
        );
    }
    for (x, weights, words) in [
        (vec![], vec![], ["0 points", "at least one"]),
        (vec![[0.5, 0.0, 0.0]], vec![], ["1 points", "0 weights"]),
        (vec![[0.5, 0.0, 0.0]], vec![0.9], ["0.9", "not to 1"]),
        (vec![[0.5, 0.0, 0.0]], vec![f64::NAN], ["NaN", "not to 1"]),
        (vec![[1.5, 0.0, 0.0]], vec![1.0], ["point 0", "outside"]),
        (vec![[0.5, 0.1, 0.0]], vec![1.0], ["point 0", "outside"]),
        (
            vec![[f64::NAN, 0.0, 0.0]],
            vec![1.0],
            ["point 0", "outside"],
        ),
        (vec![[-0.1, 0.0, 0.0]], vec![1.0], ["point 0", "outside"]),
    ] {
        says(
            Quadrature::from_points(CellKind::Segment, &x, &weights),
            &words,
        );
    }
    let corner = [[0.7, 0.7, 0.0]];
    says(
        Quadrature::from_points(CellKind::Triangle, &corner, &[1.0]),
        &["outside"],
    );
    assert!(Quadrature::from_points(CellKind::Quad, &corner, &[1.0]).is_ok());
}

#[test]
fn degrees_of_rules_are_found() {
    for kind in EVERYWHERE {
        for degree in 0..12 {
            let rule = Quadrature::new(kind, degree).unwrap();
            let own = Quadrature::from_points(kind, rule.points(), rule.weights()).unwrap();
            assert!(own.degree() >= rule.degree(), "{kind:?} {degree}");
            assert_eq!(own.points(), rule.points());
            if kind.dim() > 0 {
                // A Gauss rule has no more than its degree.
                let more = kind.is_tensor() && own.degree() != rule.degree();
                assert!(!more, "{kind:?} {degree}: {}", own.degree());
            }
        }
    }
}

#[test]
fn points_of_ones_own_make_a_space() {
    // Two points of a triangle with unequal weights, one of them negative.
    let x = [[0.1, 0.2, 0.0], [0.5, 0.25, 0.0]];
    let rule = Quadrature::from_points(CellKind::Triangle, &x, &[1.5, -0.5]).unwrap();
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let space = points(&shared(&mesh), &rule, &Kernel::dirac());
    let one = Expr::constant(1.0);
    let field = interpolate(&one, &space).unwrap();
    let sum = integrate(&field.expr().dx(&mesh)).unwrap();
    assert!((sum - 1.0).abs() < 1e-14);
    // Weights of nodes are positive all the same.
    assert!(
        space
            .element()
            .node_weights()
            .unwrap()
            .iter()
            .all(|&w| w > 0.0)
    );
    // Two elements of the same points have the same functions, others not.
    let same = Element::new_points(&rule, &Kernel::dirac()).unwrap();
    assert!(same.same_functions(space.element()));
    let kernel = gaussian(1.0);
    let radial = Element::new_points(&rule, &kernel).unwrap();
    assert!(!same.same_functions(&radial));
    assert!(radial.same_functions(&Element::new_points(&rule, &kernel).unwrap()));
    assert!(!radial.same_functions(&Element::new_points(&rule, &gaussian(2.0)).unwrap()));
    let swapped = Quadrature::from_points(CellKind::Triangle, &[x[1], x[0]], &[-0.5, 1.5]);
    let swapped = Element::new_points(&swapped.unwrap(), &Kernel::dirac()).unwrap();
    assert!(!same.same_functions(&swapped));
}

#[test]
fn integrals_over_no_cells_vanish() {
    let grid = Grid2::unit([2, 1]).unwrap();
    let space = Space::points(&grid, 2).unwrap();
    let none = Measure::cells(&grid).listed(Vec::new());
    let load = vector(&Expr::test(&space).over(&none)).unwrap();
    assert_eq!(load, vec![0.0; space.dof_count()]);
    // A matrix over one cell knows nothing of the other.
    let one = Measure::cells(&grid).listed(vec![1]);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let mass = matrix(&u.inner(&v).over(&one)).unwrap();
    let sum: f64 = mass.values().iter().sum();
    assert!((sum - 0.5).abs() < 1e-15);
    assert!(
        mass.diagonal()[..space.nodes_per_cell()]
            .iter()
            .all(|&w| w == 0.0)
    );
}

/// Functions at points that a rule leaves out would count for nothing.
#[test]
fn issue_006_a_rule_of_some_of_the_points_is_refused() {
    let grid = Grid2::unit([1, 1]).unwrap();
    let on = |points: usize, degree: Option<usize>| {
        let space = Space::points(&grid, points).unwrap();
        let measure = Measure::cells(&grid);
        let measure = match degree {
            Some(degree) => measure.degree(degree),
            None => measure,
        };
        vector(&Expr::test(&space).over(&measure))
    };
    // The centre is a point of both rules.
    assert!(on(5, None).is_ok());
    let error = on(5, Some(1)).unwrap_err().to_string();
    assert!(error.contains("1 of them"), "{error}");
    let nine = Field::zeros(&Space::points(&grid, 5).unwrap());
    let one = Field::zeros(&Space::points(&grid, 1).unwrap());
    for e in [nine.expr() * one.expr(), one.expr() * nine.expr()] {
        assert!(integrate(&e.dx(&grid)).is_err());
    }
}

/// A rule that is too coarse for the functions would make anything of numbers at its points.
#[test]
fn issue_006_projections_need_enough_points() {
    let grid = Grid2::unit([2, 1]).unwrap();
    let one = interpolate(&Expr::from(1.0), &Space::points(&grid, 3).unwrap()).unwrap();
    let line = project(&one.expr(), &Space::lagrange(&grid, 1).unwrap()).unwrap();
    assert!(line.values().iter().all(|v| (v - 1.0).abs() < 1e-12));
    let error = project(&one.expr(), &Space::lagrange(&grid, 2).unwrap());
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("degree 3") && error.contains("degree 4"),
        "{error}"
    );
}
