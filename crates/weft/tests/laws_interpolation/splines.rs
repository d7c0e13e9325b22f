//! Interpolation into splines, whose nodes lie around the cells too.

use crate::common::*;
use crate::{REDUCTIONS, random_field};
use std::sync::Arc;
use weft::assemble::{
    InterpolationMatrix, InterpolationPlan, Reduction, interpolate, prolongation,
};
use weft::element::{CellKind, Element, Kernel, Quadrature};
use weft::field::Field;
use weft::form::{Expr, Measure};
use weft::geometry::{Geometry, Grid2, Grid3, VoxelGrid, VoxelMap, frame_at};
use weft::space::Space;

/// What a node takes of a field of its own geometry: the value in the cell that holds it, or the
/// extrapolation from the nearest, in each case the one with the smallest number.
fn truth(field: &Field, space: &Space) -> Vec<f64> {
    let geometry = &**space.geometry();
    let map = geometry.map();
    let nodes = space.node_positions();
    let per_cell = 1 << geometry.cell_kind().dim();
    let value = |x: &[f64; 3]| {
        // Cells are equal boxes.
        let boxes = map.cell_nodes.chunks_exact(per_cell).map(|nodes| {
            let corner = |k: usize| map.nodes[nodes[k] as usize];
            (corner(0), corner(per_cell - 1))
        });
        let distance = |(low, high): ([f64; 3], [f64; 3])| -> f64 {
            let beyond = |d: usize| x[d] - x[d].clamp(low[d], high[d]);
            (0..3).map(|d| beyond(d).powi(2)).sum()
        };
        let mut nearest = (0, f64::INFINITY);
        for (cell, distance) in boxes.map(distance).enumerate() {
            if distance < nearest.1 - 1e-9 {
                nearest = (cell, distance);
            }
        }
        let origin = frame_at(geometry, nearest.0, [0.0; 3]).position;
        let end = frame_at(geometry, nearest.0, [1.0; 3]).position;
        let xi = std::array::from_fn(|d| match end[d] > origin[d] {
            true => (x[d] - origin[d]) / (end[d] - origin[d]),
            false => 0.0,
        });
        field.evaluate(nearest.0, xi).unwrap().value[0]
    };
    nodes.iter().map(value).collect()
}

fn check<G: Geometry + Clone + 'static>(geometry: &G, random: &mut Random, name: &str) {
    let cells = Measure::cells(geometry);
    for p in 1..=3 {
        let space = Space::splines(geometry, p).unwrap();
        // Continuous, with kinks at the sides: what a cell says beyond itself is another number.
        let kinked = Space::lagrange(geometry, 1).unwrap();
        let field = random_field(&kinked, random);
        let found = interpolate(&field.expr(), &space).unwrap();
        let truth = truth(&field, &space);
        assert_close(&found.values(), &truth, 1e-12, name);
        // Inside, all cells that hold a node agree.
        let at = space.node_positions();
        let inside = |x: &[f64; 3]| {
            let nodes = &geometry.map().nodes;
            nodes
                .iter()
                .any(|y| (0..3).all(|d| (x[d] - y[d]).abs() < 1e-9))
        };
        let inside: Vec<usize> = (0..at.len()).filter(|&k| inside(&at[k])).collect();
        assert_eq!(inside.len(), kinked.node_count(), "{name}");
        for reduction in REDUCTIONS {
            if reduction == Reduction::Sum {
                continue;
            }
            let plan = InterpolationPlan::new(&field.expr(), &space, &cells, reduction);
            let mut values = vec![f64::NAN; space.dof_count()];
            plan.unwrap().evaluate(&mut values).unwrap();
            assert!(values.iter().all(|v| v.is_finite()));
            for &k in &inside {
                let near = (values[k] - truth[k]).abs() < 1e-12;
                assert!(near, "{name} {reduction:?}: {} {}", values[k], truth[k]);
            }
        }
        let u = Expr::trial(&kinked);
        let matrix = InterpolationMatrix::new(&u, &space, &cells, Reduction::First).unwrap();
        let mut values = vec![0.0; space.dof_count()];
        let matrix = matrix.assembled().unwrap();
        matrix.multiply(&field.values(), &mut values).unwrap();
        assert_close(&values, &truth, 1e-12, name);
    }
}

/// They took the extrapolation from any cell that a node's function reaches into.
#[test]
fn issue_006_splines_take_values_where_their_nodes_are() {
    let mut random = Random(91);
    check(&Grid2::unit([4, 3]).unwrap(), &mut random, "grid");
    check(&Grid2::unit([1, 1]).unwrap(), &mut random, "one cell");
    check(&Grid3::unit([3, 1, 2]).unwrap(), &mut random, "box");
    let map = VoxelMap::uniform(0.5).unwrap();
    let voxels = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, -1], [9, 4, 2]];
    let voxels = VoxelGrid::from_coordinates(&voxels, map).unwrap();
    check(&voxels, &mut random, "voxels");
}

/// The degrees of freedom of a spline are not values, so values are no prolongation into splines.
#[test]
fn issue_006_prolongation_into_splines() {
    let grid = Grid2::unit([3, 3]).unwrap();
    let coarse = Space::lagrange(&grid, 1).unwrap();
    let refuse = |fine: &Space, words: &[&str]| {
        let error = prolongation(&coarse, fine).map(|_| ()).unwrap_err();
        let message = error.to_string();
        for word in words
            .iter()
            .chain(&["not values at its nodes", "`project`"])
        {
            assert!(message.contains(word), "{message}");
        }
    };
    for p in 2..=3 {
        refuse(&Space::splines(&grid, p).unwrap(), &["B-spline"]);
    }
    let rule = Quadrature::new(CellKind::Quad, 1).unwrap();
    let radial = Element::new_points(&rule, &Kernel::gaussian(1.0).unwrap()).unwrap();
    let radial = Space::with_element(Arc::new(grid.clone()), radial, false).unwrap();
    refuse(&radial, &["1 points"]);
    // Splines of degree 1 are Lagrange functions, and from splines into others all is well.
    let fine = Space::splines(&grid, 1).unwrap();
    assert!(prolongation(&coarse, &fine).is_ok());
    let mut random = Random(92);
    let cubic = random_field(&Space::splines(&grid, 3).unwrap(), &mut random);
    let fine = Space::lagrange(&grid, 3).unwrap();
    let mut found = vec![0.0; fine.dof_count()];
    let p = prolongation(cubic.space(), &fine).unwrap();
    p.multiply(&cubic.values(), &mut found).unwrap();
    let truth = interpolate(&cubic.expr(), &fine).unwrap();
    assert_close(&found, &truth.values(), 1e-13, "cubics");
}
