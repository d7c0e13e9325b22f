//! Interpolation with reductions and as matrices, fields of other meshes, sums over nodes: 4, 6.4, 13.2, 13.4 and
//! 13.5.

use crate::common::assert_close;
use weft::assemble::{
    InterpolationMatrix, InterpolationPlan, NodalPlan, Reduction, evaluate_at, integrate,
    interpolate,
};
use weft::field::{CrossField, Field};
use weft::form::{Expr, Measure};
use weft::geometry::{Geometry, Grid2};
use weft::space::Space;
use weft::sparse::BlockMatrix;

/// Numbers of cells in the nodes of a 2 × 2 grid.
#[test]
fn spec_6_4_and_13_5_six_reductions() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let index = Expr::cell_index(&grid);
    let wanted = [
        (
            Reduction::WeightedAverage,
            [0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0],
        ),
        (
            Reduction::Mean,
            [0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0],
        ),
        (
            Reduction::Sum,
            [0.0, 1.0, 1.0, 2.0, 6.0, 4.0, 2.0, 5.0, 3.0],
        ),
        (
            Reduction::Max,
            [0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 2.0, 3.0, 3.0],
        ),
        (
            Reduction::Min,
            [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0],
        ),
        (
            Reduction::First,
            [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0],
        ),
    ];
    for (reduction, wanted) in wanted {
        let field = Field::zeros(&space);
        let plan = InterpolationPlan::new(&index, &space, &Measure::cells(&grid), reduction);
        plan.unwrap().interpolate(&field).unwrap();
        assert_close(&field.values(), &wanted, 1e-6, &format!("{reduction:?}"));
    }
}

/// From the boundary eight of nine nodes change, and the centre keeps its value.
#[test]
fn spec_4_and_13_4_a_part_of_the_nodes() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let field = Field::from_values(&space, vec![5.0; 9]).unwrap();
    let edge = Measure::boundary(&grid);
    let mut plan =
        InterpolationPlan::new(&Expr::constant(1.0), &space, &edge, Reduction::Mean).unwrap();
    plan.interpolate(&field).unwrap();
    let changed = field.values().iter().filter(|v| **v == 1.0).count();
    assert_eq!((changed, field.values()[4]), (8, 5.0));
}

/// The gradient at the centre of one quad, as a matrix: at a point, at nodes, and with the first element.
#[test]
fn spec_13_5_the_gradient_as_a_matrix() {
    let grid = Grid2::new([1, 1], [0.0; 2], [2.0; 2]).unwrap();
    let space = Space::lagrange(&grid, 2).unwrap();
    let target = Space::discontinuous(&grid, 0).unwrap().vector(2).unwrap();
    let (slope, cells) = (Expr::trial(&space).grad(), Measure::cells(&grid));
    let centre = [[0.5, 0.5, 0.0]];
    let at_nodes = |reduction| InterpolationMatrix::new(&slope, &target, &cells, reduction);
    let matrices = [
        InterpolationMatrix::at_points(&slope, &cells, &centre),
        at_nodes(Reduction::WeightedAverage),
        at_nodes(Reduction::First),
    ];
    let y = Expr::position(&grid).at(1);
    let field = interpolate(&(0.5 * y), &space).unwrap();
    for matrix in matrices {
        let matrix: BlockMatrix = matrix.unwrap().assembled().unwrap();
        let entries = matrix.values().iter().filter(|v| v.abs() > 1e-14).count();
        assert_eq!(entries, 4);
        let mut product = [0.0; 2];
        matrix.multiply(&field.values(), &mut product).unwrap();
        assert_close(&product, &[0.0, 0.5], 1e-14, "slope");
    }
}

/// A field of the unit square on a grid over [0.25, 2]²: the corner inside takes its value and gradient,
/// the others the background 5 and 0.
#[test]
fn spec_4_and_13_4_a_field_of_another_mesh_in_an_integrand() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let other = Grid2::new([1, 1], [0.25; 2], [2.0; 2]).unwrap();
    let x = Expr::position(&grid);
    let field = interpolate(
        &(8.0 * x.at(0) * x.at(1) + 1.5),
        &Space::lagrange(&grid, 1).unwrap(),
    );
    let across = CrossField::new(&field.unwrap()).unwrap();
    let nodes = interpolate(&across.or(5.0), &Space::lagrange(&other, 1).unwrap()).unwrap();
    assert_close(&nodes.values(), &[2.0, 5.0, 5.0, 5.0], 1e-14, "values");
    let corners = other.cell_kind().vertices();
    let slopes = evaluate_at(&across.or(5.0).grad(), &crate::share(&other), corners).unwrap();
    assert_close(&slopes[..2], &[2.0, 2.0], 1e-13, "inside");
    assert!(slopes[2..].iter().all(|s| *s == 0.0), "{slopes:?}");
}

/// Sums over nodes in place of integrals: the nine nodes of each cell, and blocks of one node only.
#[test]
fn spec_6_2_and_13_2_sums_over_nodes() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let space = Space::discontinuous(&grid, 2).unwrap();
    let (u, v, x) = (
        Expr::trial(&space),
        Expr::test(&space),
        Expr::position(&grid),
    );
    let f = x.at(0).pow(3.0) * x.at(1).pow(3.0);
    let mut load = vec![0.0; space.dof_count()];
    let mut plan = NodalPlan::new(&(f * &v).dx(&grid)).unwrap();
    plan.assemble_vector(&mut load).unwrap();
    let sum: f64 = load.iter().sum();
    assert!((sum - 1.0 / 16.0).abs() < 1e-14, "{sum}");
    let mut plan = NodalPlan::new(&(&u * &v).dx(&grid)).unwrap();
    let mut mass = plan.matrix();
    plan.assemble_matrix(&mut mass).unwrap();
    assert_eq!(mass.pattern().entry_count(), 36);
    let area = integrate(&Expr::constant(1.0).dx(&grid)).unwrap();
    assert!((mass.values().iter().sum::<f64>() - area).abs() < 1e-14);
    assert!(mass.values().iter().all(|m| *m > 0.0));
}
