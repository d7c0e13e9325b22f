//! 3.7 and 13.2: functions of points and particles.

use crate::integral;
use weft::assemble::{InterpolationMatrix, Reduction, integrate, interpolate, matrix, vector};
use weft::element::{CellKind, Element, Kernel, Quadrature};
use weft::form::{Expr, Measure};
use weft::geometry::Grid2;
use weft::particle::{Cloud, ParticleQuadrature};
use weft::space::Space;

/// Each function of Dirac type, integrated over its own points, gives the weight of its point, and
/// all of them on the unit square 1.
#[test]
fn spec_3_7_dirac_functions_integrate_to_one() {
    let grid = Grid2::unit([3, 4]).unwrap();
    for degree in 0..6 {
        let space = Space::points(&grid, degree).unwrap();
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let sum: f64 = vector(&v.dx(&grid)).unwrap().iter().sum();
        assert!((sum - 1.0).abs() < 1e-13, "degree {degree}: {sum}");
        let sum: f64 = matrix(&(u * v).dx(&grid)).unwrap().values().iter().sum();
        assert!((sum - 1.0).abs() < 1e-13, "degree {degree}: {sum}");
    }
}

/// exp(-r²/0.01) around the points of a rule, to 2e-7.
#[test]
fn spec_3_7_radial_functions_have_the_values_of_their_kernel() {
    let rule = Quadrature::new(CellKind::Quad, 3).unwrap();
    let element = Element::new_points(&rule, &Kernel::gaussian(0.1).unwrap()).unwrap();
    for k in 0..100 {
        let x = [(0.618 * k as f64).fract(), (0.414 * k as f64).fract(), 0.0];
        let table = element.tabulate(&[x]);
        for (value, p) in table.values.iter().zip(rule.points()) {
            let square = (x[0] - p[0]).powi(2) + (x[1] - p[1]).powi(2);
            assert!((value - (-square / 0.01).exp()).abs() < 2e-7);
        }
    }
}

/// Nine vertices against three particles: a matrix of 9 × 3 blocks, of which each particle has the four of
/// its cell.
#[test]
fn spec_3_7_the_divergence_at_particles_couples_each_with_its_cell() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let sand = ParticleQuadrature::new(&grid);
    let x = [[0.2, 0.3, 0.0], [0.7, 0.1, 0.0], [0.8, 0.4, 0.0]];
    sand.rebuild(&Cloud::new(&x, &[1.0, 2.0, 3.0])).unwrap();
    let on = Measure::cells(&grid).on_particles(&sand);
    let velocity = Space::lagrange(&grid, 1).unwrap().vector(2).unwrap();
    let pressure = Space::particles(&sand).unwrap();
    let (v, p) = (Expr::test(&velocity), Expr::trial(&pressure));
    let mixed = matrix(&(v.div() * p).over(&on)).unwrap();
    let pattern = mixed.pattern();
    assert_eq!(
        (pattern.rows(), pattern.cols(), pattern.entry_count()),
        (9, 3, 12)
    );
    assert_eq!(mixed.block(), [2, 1]);
    // A velocity of divergence 3 - 2.
    let of = |x: &[f64; 3]| [3.0 * x[0], -2.0 * x[1]];
    let velocities: Vec<f64> = velocity.node_positions().iter().flat_map(of).collect();
    let mut found = vec![0.0; 3];
    let turned = mixed.transpose();
    turned.multiply(&velocities, &mut found).unwrap();
    for (found, volume) in found.iter().zip([1.0, 2.0, 3.0]) {
        assert!((found - volume).abs() < 1e-14);
    }
    let sum = integral(&Expr::from(1.0), &on);
    assert!((sum - 6.0).abs() < 1e-14);
}

/// The slope of a quadratic function at the centre of a cell is that between two middles of edges.
#[test]
fn spec_3_7_and_13_5_the_derivative_of_a_slope_at_a_point_has_two_entries() {
    let grid = Grid2::new([1, 1], [0.0; 2], [2.0; 2]).unwrap();
    let space = Space::lagrange(&grid, 2).unwrap();
    let point = Space::points(&grid, 1).unwrap();
    let u = Expr::trial(&space);
    let cells = Measure::cells(&grid);
    for axis in 0..2 {
        let slope = u.grad().at(axis);
        let plan = InterpolationMatrix::new(&slope, &point, &cells, Reduction::First).unwrap();
        let row = plan.assembled().unwrap();
        let nonzero = |v: &&f64| v.abs() > 1e-14;
        let mut entries: Vec<f64> = row.values().iter().filter(nonzero).copied().collect();
        entries.sort_by(f64::total_cmp);
        assert_eq!(entries.len(), 2);
        assert!((entries[0] + 0.5).abs() < 1e-14 && (entries[1] - 0.5).abs() < 1e-14);
    }
    // x y has the gradient (1, 1) at (1, 1).
    let x = Expr::position(&grid);
    let xy = interpolate(&(x.at(0) * x.at(1)), &space).unwrap();
    let vectors = point.vector(2).unwrap();
    let slope = interpolate(&xy.expr().grad(), &vectors).unwrap();
    let off = |v: &f64| (v - 1.0).abs() < 1e-14;
    assert!(slope.values().iter().all(off));
    assert!((integrate(&slope.expr().at(0).dx(&grid)).unwrap() - 4.0).abs() < 1e-13);
}
