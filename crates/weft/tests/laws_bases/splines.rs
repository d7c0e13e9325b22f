//! B-splines on grids and voxel grids.

use crate::common::Random;
use std::sync::Arc;
use weft::assemble::{integrate, interpolate, matrix, project};
use weft::field::Field;
use weft::form::{Expr, Measure, Scope};
use weft::geometry::{Geometry, Grid2, Grid3, VoxelGrid, VoxelMap};
use weft::space::Space;

/// The integral of the product of two centred B-splines of degree `p` whose vertices are `apart`
/// steps apart: the centred B-spline of degree `2p + 1` there.
fn overlap(p: usize, apart: i32) -> f64 {
    let n = 2 * p + 1;
    let x = f64::from(apart) + (n + 1) as f64 / 2.0;
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let term = |k: usize| {
        let choose = factorial(n + 1) / factorial(k) / factorial(n + 1 - k);
        let sign = (-1.0_f64).powi(k as i32);
        sign * choose * (x - k as f64).max(0.0).powi(n as i32)
    };
    (0..=n + 1).map(term).sum::<f64>() / factorial(n)
}

#[test]
fn nodes_of_grids_are_one_lattice() {
    for p in 1..=3 {
        let around = 2 * (p / 2);
        let space = Space::splines(&Grid2::unit([3, 5]).unwrap(), p).unwrap();
        assert_eq!(space.node_count(), (4 + around) * (6 + around));
        assert_eq!(space.nodes_per_cell(), (2 + around).pow(2));
        let grid = Grid3::unit([2, 3, 4]).unwrap();
        let space = Space::splines(&grid, p).unwrap();
        let sizes = [3 + around, 4 + around, 5 + around];
        assert_eq!(space.node_count(), sizes.iter().product());
        for (node, x) in space.node_positions().iter().enumerate() {
            let index = [
                node / (sizes[1] * sizes[2]),
                node / sizes[2] % sizes[1],
                node % sizes[2],
            ];
            for d in 0..3 {
                let vertex = index[d] as f64 - (p / 2) as f64;
                let at = vertex * grid.cell_size()[d];
                assert!((x[d] - at).abs() < 1e-14, "{p} {node} {d}");
            }
        }
    }
}

#[test]
fn mass_matrices_are_exact() {
    let grid = Grid2::new([9, 8], [0.0; 2], [9.0, 8.0]).unwrap();
    for p in 1..=3 {
        let space = Space::splines(&grid, p).unwrap();
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let mass = matrix(&(u * v).dx(&grid)).unwrap();
        // A node in the middle, whose function lies within the grid.
        let places = space.node_positions();
        let middle = places
            .iter()
            .position(|x| x[0] == 4.0 && x[1] == 4.0)
            .unwrap();
        let mut unit = vec![0.0; space.node_count()];
        unit[middle] = 1.0;
        let mut column = vec![0.0; space.node_count()];
        mass.multiply(&unit, &mut column).unwrap();
        for (node, value) in column.iter().enumerate() {
            let apart = [0, 1].map(|d| (places[node][d] - 4.0) as i32);
            let expected = overlap(p, apart[0]) * overlap(p, apart[1]);
            assert!(
                (value - expected).abs() < 1e-15,
                "{p} {apart:?} {value} {expected}"
            );
        }
    }
}

#[test]
fn splines_hold_their_polynomials_and_interpolate_linear_ones() {
    let grid = Grid3::new([3, 2, 4], [-1.0, 0.0, 0.5], [1.0, 1.0, 2.5]).unwrap();
    let voxels = [
        [0, 0, 0],
        [1, 0, 0],
        [1, 1, 0],
        [-1, 0, 0],
        [-1, 0, 1],
        [20, 3, 3],
    ];
    let map = VoxelMap::uniform(0.5).unwrap();
    let cells = VoxelGrid::from_coordinates(&voxels, map).unwrap();
    check(&grid, grid.cell_size());
    check(&cells, [0.5; 3]);
}

/// Since the variance of a B-spline is (p + 1)/12, the coefficients of x² are those of the vertices
/// less that, and so on.
fn check<G: Geometry + Clone + 'static>(geometry: &G, h: [f64; 3]) {
    let mut scope = Scope::new(Arc::new(geometry.clone()));
    for p in 1..=3 {
        let space = Space::splines(geometry, p).unwrap();
        for (name, h) in ["r", "s", "t"].into_iter().zip(h) {
            scope.set(name, Expr::from((p + 1) as f64 / 12.0 * h * h));
        }
        let linear = "1 + x[0] - 2*x[1] + 3*x[2]*x[0]*x[1]";
        for (text, coefficients, degree) in [
            (linear, linear, 1),
            ("x[0]^2 - x[1]^2*x[2]", "x[0]^2 - r - (x[1]^2 - s)*x[2]", 2),
            (
                "x[0]^3 + x[1]^3*x[2]^2",
                "x[0]^3 - 3*r*x[0] + (x[1]^3 - 3*s*x[1])*(x[2]^2 - t)",
                3,
            ),
        ] {
            let coefficients = scope.expression(coefficients).unwrap();
            let field = interpolate(&coefficients, &space).unwrap();
            let off = field.expr() - scope.expression(text).unwrap();
            let measure = Measure::cells(geometry).degree(8);
            let error = integrate(&(&off * &off).over(&measure)).unwrap().sqrt();
            // Coordinates go up to 11.
            assert_eq!(error < 1e-10, degree <= p, "{p} {text}: {error:e}");
        }
    }
}

#[test]
fn projection_reproduces_polynomials() {
    let grid = Grid2::unit([6, 5]).unwrap();
    let scope = Scope::new(Arc::new(grid.clone()));
    for (p, text) in [
        (1, "1 - x[0]*x[1]"),
        (2, "x[0]^2*x[1]^2 - x[1]"),
        (3, "x[0]^3 - x[1]^3"),
    ] {
        let space = Space::splines(&grid, p).unwrap();
        let exact = scope.expression(text).unwrap();
        let off = project(&exact, &space).unwrap().expr() - &exact;
        let error = integrate(&(&off * &off).dx(&grid)).unwrap().sqrt();
        assert!(error < 1e-10, "{p}: {error:e}");
    }
}

#[test]
fn splines_are_smooth_across_sides() {
    let mut random = Random(11);
    let grid = Grid3::unit([3, 3, 2]).unwrap();
    for p in 1..=3 {
        let space = Space::splines(&grid, p).unwrap();
        let field = Field::from_values(&space, random.numbers(space.node_count())).unwrap();
        let mut scope = Scope::new(Arc::new(grid.clone()));
        scope.set_field("f", &field);
        let value = |text: &str| integrate(&scope.form(text).unwrap()).unwrap();
        assert!(value("jump(f)^2*dS") < 1e-26);
        let kink = value("dot(jump(grad(f)), jump(grad(f)))*dS");
        assert_eq!(kink < 1e-24, p > 1, "{p}: {kink:e}");
    }
}

#[test]
fn voxel_grids_number_the_vertices_in_reach() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let one = VoxelGrid::from_coordinates(&[[-3, 5, 7]], map).unwrap();
    for (p, n) in [(1, 8), (2, 64), (3, 64)] {
        let space = Space::splines(&one, p).unwrap();
        assert_eq!(space.node_count(), n);
        let mut nodes = space.cell_nodes(0).to_vec();
        nodes.sort_unstable();
        assert_eq!(nodes, (0..n as u32).collect::<Vec<_>>());
    }
    // A box of voxels is a grid.
    let mut voxels = Vec::new();
    for i in 0..3 {
        for j in 0..2 {
            voxels.extend((0..4).map(|k| [i, j, k]));
        }
    }
    let voxels = VoxelGrid::from_coordinates(&voxels, map).unwrap();
    let grid = Grid3::new([3, 2, 4], [0.0; 3], [3.0, 2.0, 4.0]).unwrap();
    let order = voxels.cells();
    for p in 2..=3 {
        let [a, b] = [
            Space::splines(&voxels, p).unwrap(),
            Space::splines(&grid, p).unwrap(),
        ];
        assert_eq!(a.node_positions(), b.node_positions());
        for (cell, &[i, j, k]) in order.all_coordinates().iter().enumerate() {
            let of_grid = ((i * 2 + j) * 4 + k) as usize;
            assert_eq!(a.cell_nodes(cell), b.cell_nodes(of_grid));
        }
    }
}

#[test]
fn environments_share_no_nodes() {
    let voxels = [[0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0]];
    let map = VoxelMap::uniform(1.0).unwrap();
    for guard in [1, 3] {
        let grid = VoxelGrid::from_environments(&voxels, &[0, 0, 1, 1], 2, guard, map).unwrap();
        let cells = grid.cells();
        let space = Space::splines(&grid, 2).unwrap();
        assert_eq!(space.node_count(), 2 * 5 * 4 * 4);
        for a in 0..4 {
            for b in 0..4 {
                let apart = cells.environment_of(a) != cells.environment_of(b);
                let common = space
                    .cell_nodes(a)
                    .iter()
                    .any(|n| space.cell_nodes(b).contains(n));
                assert_eq!(common, !apart);
            }
        }
    }
}

#[test]
fn a_rebuilt_voxel_grid_makes_spaces_stale() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let grid = VoxelGrid::from_coordinates(&[[0, 0, 0]], map).unwrap();
    let space = Space::splines(&grid, 2).unwrap();
    grid.rebuild(&[[3.5, 0.5, 0.5]], None).unwrap();
    assert!(space.check_current().is_err());
    assert!(Space::splines(&grid, 2).is_ok());
}
