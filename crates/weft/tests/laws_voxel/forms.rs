//! Integrals and problems on voxel grids.

use super::*;
use std::f64::consts::PI;
use weft::assemble::integrate;
use weft::form::{Expr, Measure, Unary, div, dot, grad, inner};
use weft::problem::{Dirichlet, Solver, solve};
use weft::space::Space;

fn blob(map: VoxelMap) -> VoxelGrid {
    VoxelGrid::from_coordinates(&Random(71).voxels(150, 4), map).unwrap()
}

#[test]
fn volumes_and_the_divergence_theorem() {
    for map in maps() {
        let grid = blob(map);
        let one = Expr::constant(1.0);
        let volume = integrate(&one.dx(&grid)).unwrap();
        let exact = map.volume() * grid.cell_count() as f64;
        assert!((volume - exact).abs() < 1e-12 * exact);

        let x = Expr::position(&grid);
        let f = Expr::vector(&[1.0, 2.0, 3.0]) * (x.at(0) * x.at(1))
            + x.clone() * x.at(2)
            + Expr::vector(&[0.0, 1.0, -1.0]) * (x.at(0) * x.at(0));
        let inside = integrate(&div(&f).dx(&grid)).unwrap();
        let flux = dot(&f, &Expr::normal(&grid)).over(&Measure::boundary(&grid));
        let outside = integrate(&flux).unwrap();
        let scale = integrate(&dot(&f, &f).over(&Measure::boundary(&grid))).unwrap();
        assert!(
            (inside - outside).abs() < 1e-12 * scale.max(1.0),
            "{inside} {outside}"
        );

        // A field that is continuous has no jump across any side.
        let mut space = Space::lagrange(&grid, 2).unwrap();
        space = space.vector(1).unwrap();
        let field = weft::field::Field::from_values(
            &space,
            (0..space.dof_count())
                .map(|n| (n as f64 * 0.7).sin())
                .collect(),
        )
        .unwrap();
        let jump = field.expr().jump();
        let jumps = integrate(&dot(&jump, &jump).over(&Measure::interior(&grid))).unwrap();
        assert!(jumps.abs() < 1e-20, "{jumps}");
    }
}

fn energy<G: Geometry + Clone + 'static>(grid: &G, degree: usize) -> f64 {
    let space = Space::lagrange(grid, degree).unwrap();
    let values = space
        .node_positions()
        .into_iter()
        .map(|x| x[0] * x[0] * x[1] - x[2] * x[1] + x[0]);
    let field = weft::field::Field::from_values(&space, values.collect()).unwrap();
    let u = field.expr();
    integrate(&inner(&grad(&u), &grad(&u)).dx(grid)).unwrap()
}

#[test]
fn energies_are_those_of_a_dense_grid() {
    let dense = Grid3::new([5, 4, 3], [-0.5, 0.0, 1.0], [0.75, 1.0, 1.75]).unwrap();
    let map = VoxelMap::uniform(0.25)
        .unwrap()
        .with_offset([-0.5, 0.0, 1.0])
        .unwrap();
    let voxels: Vec<_> = cube(5, [0; 3])
        .into_iter()
        .filter(|v| v[1] < 4 && v[2] < 3)
        .collect();
    let sparse = VoxelGrid::from_coordinates(&voxels, map).unwrap();
    for degree in 1..=3 {
        let (a, b) = (energy(&dense, degree), energy(&sparse, degree));
        assert!((a - b).abs() < 1e-12 * a, "degree {degree}: {a} {b}");
    }
}

/// Error in L² of −Δu = f on the unit cube, u = Π sin(π x).
fn poisson_error<G: Geometry + Clone + 'static>(grid: &G, degree: usize) -> f64 {
    let space = Space::lagrange(grid, degree).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let x = Expr::position(grid);
    let sine = |d: usize| (PI * x.at(d)).unary(Unary::Sin);
    let exact = sine(0) * sine(1) * sine(2);
    let cells = Measure::cells(grid).degree(2 * degree + 4);
    let a = inner(&grad(&u), &grad(&v)).dx(grid);
    let l = (3.0 * PI * PI * exact.clone() * v).over(&cells);
    let boundary = [Dirichlet::on_boundary(&space)];
    let solution = solve(&a, &l, &boundary, Solver::cg()).unwrap();
    let error = solution.expr() - exact;
    integrate(&(error.clone() * error).over(&cells))
        .unwrap()
        .sqrt()
}

#[test]
fn poisson_converges_as_on_a_dense_grid() {
    for degree in 1..=3 {
        let mut last = None;
        for n in if degree == 1 { [4, 8] } else { [2, 4] } {
            let map = VoxelMap::uniform(1.0 / n as f64).unwrap();
            let at = [-3, 9, -8];
            // Somewhere in the lattice, moved back to the unit cube in space.
            let offset = at.map(|c| -c as f64 / n as f64);
            let map = map.with_offset(offset).unwrap();
            let sparse = VoxelGrid::from_coordinates(&cube(n, at), map).unwrap();
            let error = poisson_error(&sparse, degree);
            let dense = poisson_error(&Grid3::unit([n as usize; 3]).unwrap(), degree);
            assert!((error - dense).abs() < 1e-6 * dense, "{error} {dense}");
            if let Some(last) = last {
                let rate = f64::log2(last / error);
                assert!(rate > degree as f64 + 0.75, "degree {degree}: rate {rate}");
            }
            last = Some(error);
        }
    }
}

#[test]
fn quadratic_solutions_are_exact_on_a_skew_blob() {
    // A solution in the space is found exactly, whatever the shape of the region.
    let grid = blob(skew());
    let space = Space::lagrange(&grid, 2).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let x = Expr::position(&grid);
    let exact = x.at(0) * x.at(1) + 0.5 * (x.at(2) * x.at(2)) - x.at(1);
    let a = inner(&grad(&u), &grad(&v)).dx(&grid);
    let l = -1.0 * v.dx(&grid);
    let conditions = [Dirichlet::on_boundary(&space).value(exact.clone()).unwrap()];
    let solution = solve(&a, &l, &conditions, Solver::cg()).unwrap();
    let error = solution.expr() - exact.clone();
    let norm = |e: &Expr| {
        integrate(&(e.clone() * e.clone()).dx(&grid))
            .unwrap()
            .sqrt()
    };
    assert!(
        norm(&error) < 1e-7 * norm(&exact),
        "{} {}",
        norm(&error),
        norm(&exact)
    );
}

#[test]
fn side_tags_integrate_to_the_areas() {
    let grid = VoxelGrid::from_coordinates(
        &cube(3, [-1; 3]),
        VoxelMap::scaled([1.0, 2.0, 3.0]).unwrap(),
    );
    let grid = grid.unwrap();
    let areas = [
        ("left", 54.0),
        ("right", 54.0),
        ("front", 27.0),
        ("back", 27.0),
        ("bottom", 18.0),
        ("top", 18.0),
    ];
    for (name, area) in areas {
        let found = integrate(&Expr::constant(1.0).ds(&grid, name)).unwrap();
        assert!((found - area).abs() < 1e-12 * area, "{name}: {found}");
    }
}
