//! Grids give what meshes of the same cells give.

use crate::common::*;
use crate::measure_of;
use weft::assemble::{integrate, interpolate, matrix, vector};
use weft::form::{Expr, Form, Measure};
use weft::geometry::{Geometry, Grid2, Grid3, shapes};
use weft::space::Space;

/// Everything that a comparison needs of one geometry.
struct Results {
    positions: Vec<[f64; 3]>,
    matrix: Vec<f64>,
    vector: Vec<f64>,
    numbers: Vec<f64>,
}

fn results<G: Geometry + Clone + 'static>(geometry: &G, degree: usize) -> Results {
    let space = Space::lagrange(geometry, degree).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let (x, n) = (Expr::position(geometry), Expr::normal(geometry));
    let a: Form = (u.grad().dot(&v.grad()) * (1.0 + x.at(0)) + x.dot(&u.grad()) * &v).dx(geometry)
        + (&u * &v * x.at(1)).ds(geometry, "top")
        + (&u * n.dot(&v.grad())).over(&Measure::boundary(geometry));
    let l = (&v * x.at(1)).dx(geometry) + (&v * x.dot(&n)).over(&Measure::boundary(geometry));
    let f = interpolate(&(x.at(0) * x.at(1)), &space).unwrap();
    let broken = interpolate(
        &(x.at(0) * x.at(1)),
        &Space::discontinuous(geometry, 0).unwrap(),
    )
    .unwrap();
    let jump = Expr::from(&broken).jump();
    let numbers = vec![
        measure_of(geometry),
        integrate(&Expr::from(&f).pow(2.0).dx(geometry)).unwrap(),
        integrate(&(x.at(1) * n.at(0)).ds(geometry, "right")).unwrap(),
        integrate(&jump.pow(2.0).over(&Measure::interior(geometry))).unwrap(),
        integrate(&Expr::cell_size().dx(geometry)).unwrap(),
    ];
    Results {
        positions: space.node_positions(),
        matrix: matrix(&a).unwrap().to_dense(),
        vector: vector(&l).unwrap(),
        numbers,
    }
}

/// Compare two results whose nodes lie at the same places in another order.
fn compare(a: &Results, b: &Results, what: &str) {
    let n = a.positions.len();
    assert_eq!(n, b.positions.len());
    let place: Vec<usize> = a
        .positions
        .iter()
        .map(|x| {
            let near = |y: &[f64; 3]| (0..3).all(|d| (x[d] - y[d]).abs() < 1e-12);
            b.positions.iter().position(near).unwrap()
        })
        .collect();
    let mut matrix = vec![0.0; n * n];
    let mut vector = vec![0.0; n];
    for i in 0..n {
        vector[i] = b.vector[place[i]];
        for j in 0..n {
            matrix[i * n + j] = b.matrix[place[i] * n + place[j]];
        }
    }
    assert_close(&a.matrix, &matrix, 1e-12, what);
    assert_close(&a.vector, &vector, 1e-12, what);
    assert_close(&a.numbers, &b.numbers, 1e-12, what);
}

#[test]
fn plane_grids() {
    let (lower, upper) = ([-1.0, 0.5], [2.0, 1.25]);
    let grid = Grid2::new([4, 3], lower, upper).unwrap();
    let mesh = shapes::rectangle_quads([4, 3], lower, upper).unwrap();
    for p in 1..=4 {
        compare(
            &results(&grid, p),
            &results(&mesh, p),
            &format!("degree {p}"),
        );
    }
}

#[test]
fn grids_in_space() {
    let (lower, upper) = ([-1.0, 0.5, 0.0], [2.0, 1.25, 0.8]);
    let grid = Grid3::new([3, 2, 1], lower, upper).unwrap();
    let mesh = shapes::box_hexes([3, 2, 1], lower, upper).unwrap();
    for p in 1..=3 {
        compare(
            &results(&grid, p),
            &results(&mesh, p),
            &format!("degree {p}"),
        );
    }
}
