//! Chapter 6 and 13.5: integration and interpolation.

use crate::common::{Random, assert_close, unit_mesh};
use crate::{integral, share};
use weft::assemble::{MatrixPlan, PointPlan, evaluate_at, integrate, interpolate, matrix, vector};
use weft::element::{CellKind, Quadrature};
use weft::field::Field;
use weft::form::{Expr, Measure, Param};
use weft::geometry::{Geometry, Grid2, Grid3, shapes};
use weft::partition::GeometryPartition;
use weft::space::Space;

fn random_field(space: &Space, seed: u64) -> Field {
    Field::from_values(space, Random(seed).numbers(space.dof_count())).unwrap()
}

/// The derivative of ∫u by the field is ∫v, and its entries add up to 1; that of Σ ∫ s·v by s is the sum.
#[test]
fn spec_6_5_and_13_5_the_derivative_of_an_integral_is_a_linear_form() {
    let grid = Grid2::unit([5, 5]).unwrap();
    let space = Space::lagrange(&grid, 3).unwrap();
    let u = random_field(&space, 1);
    let v = Expr::test(&space);
    let derivative = vector(&u.expr().dx(&grid).deriv(&u, &v)).unwrap();
    let direct = vector(&v.dx(&grid)).unwrap();
    assert_close(&derivative, &direct, 1e-8, "∫v");
    assert!((direct.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let scale = Param::scalar("s", 2.0);
    let form = (Expr::from(&scale) * &v).dx(&grid);
    let sum = || vector(&form).unwrap().iter().sum::<f64>();
    let before = sum();
    scale.set(3.0);
    // Linear in s, so the difference is the derivative.
    assert!((sum() - before - 0.5 * before).abs() < 1e-12);
}

/// The gradient of a field of degree 2 on one quad of size 2, at its centre, by each of its nodes.
#[test]
fn spec_13_5_the_gradient_at_a_point_by_the_nodes() {
    let grid = Grid2::new([1, 1], [0.0; 2], [2.0; 2]).unwrap();
    let space = Space::lagrange(&grid, 2).unwrap();
    let x = Expr::position(&grid);
    let at = [[0.5, 0.5, 0.0]];
    let slope = |field: &Field| -> [f64; 2] {
        let mut plan = PointPlan::new(&field.expr().grad(), &share(&grid), &at).unwrap();
        let mut out = [0.0; 2];
        plan.evaluate(&mut out).unwrap();
        out
    };
    assert_eq!(
        slope(&interpolate(&(x.at(0) * x.at(1)), &space).unwrap()),
        [1.0, 1.0]
    );
    let mut entries = Vec::new();
    for node in 0..9 {
        let unit = Field::zeros(&space);
        unit.values_mut()[node] = 1.0;
        let position = space.node_positions()[node];
        for (axis, s) in slope(&unit).into_iter().enumerate() {
            if s.abs() > 1e-14 {
                entries.push((axis, position, s));
            }
        }
    }
    let wanted = [
        (1, [1.0, 0.0, 0.0], -0.5),
        (0, [0.0, 1.0, 0.0], -0.5),
        (0, [2.0, 1.0, 0.0], 0.5),
        (1, [1.0, 2.0, 0.0], 0.5),
    ];
    assert_eq!(entries.len(), 4);
    for entry in wanted {
        assert!(entries.contains(&entry), "{entry:?} is not in {entries:?}");
    }
}

/// ∫ div u = ∮ u·n and ∫ q div u + ∫ u·∇q = ∮ q u·n of random fields, vectors and tensors.
#[test]
fn spec_13_5_the_divergence_theorem() {
    let mesh = shapes::rectangle_triangles([4, 3], [0.0; 2], [1.0; 2]).unwrap();
    check(&Grid2::unit([4, 3]).unwrap());
    check(&mesh);

    fn check<G: Geometry + Clone + 'static>(g: &G) {
        let nodes = Space::lagrange(g, 2).unwrap();
        let q = random_field(&nodes, 1).expr();
        let u = random_field(&nodes.vector(2).unwrap(), 2).expr();
        let tau = random_field(&nodes.matrix(2, 2).unwrap(), 3).expr();
        let w = random_field(&nodes.vector(2).unwrap(), 4).expr();
        let n = Expr::normal(g);
        let (inside, edge) = (Measure::cells(g), Measure::boundary(g));
        let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-10, "{a} {b}");
        same(integral(&u.div(), &inside), integral(&u.dot(&n), &edge));
        same(
            integral(&(&q * u.div()), &inside) + integral(&u.dot(&q.grad()), &inside),
            integral(&(&q * u.dot(&n)), &edge),
        );
        for c in 0..2 {
            same(
                integral(&tau.div().at(c), &inside),
                integral(&n.dot(&tau).at(c), &edge),
            );
        }
        same(
            integral(&w.dot(&tau.div()), &inside)
                + integral(&tau.inner(&w.grad().transpose()), &inside),
            integral(&n.dot(&tau).dot(&w), &edge),
        );
    }
}

#[test]
fn spec_13_5_gradients_are_symmetric_and_skew_parts() {
    let grid = Grid3::unit([5, 5, 5]).unwrap();
    let space = Space::lagrange(&grid, 2).unwrap().vector(3).unwrap();
    let g = random_field(&space, 7).expr().grad();
    let off = &g - (g.sym() + g.skew());
    let off = integral(&off.inner(&off), &Measure::cells(&grid)).sqrt();
    assert!(off < 1e-8, "{off:e}");
}

/// A shared node takes the value of the smallest cell.
#[test]
fn spec_13_5_the_reduction_first() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let field = interpolate(&Expr::cell_index(&grid), &space).unwrap();
    // Nodes and cells are numbered along the last axis first.
    assert_eq!(
        *field.values(),
        [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0]
    );
}

/// There is one way to assemble; it agrees with itself taken apart, entry by entry, on a cell of degree 4.
#[test]
fn spec_6_2_and_13_5_high_order_by_columns() {
    let grid = Grid3::unit([1, 1, 1]).unwrap();
    let space = Space::lagrange(&grid, 4).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let form = (u.grad().dot(&v.grad()) + &u * &v).dx(&grid);
    let whole = matrix(&form).unwrap();
    assert_eq!(whole.pattern().entry_count(), 125 * 125);
    let dense = whole.to_dense();
    for column in [0, 1, 31, 62, 124] {
        let unit = Field::zeros(&space);
        unit.values_mut()[column] = 1.0;
        let by_vector = vector(&form.action(&unit)).unwrap();
        let by_matrix: Vec<f64> = (0..125).map(|row| dense[row * 125 + column]).collect();
        assert_close(&by_vector, &by_matrix, 1e-10, "column");
    }
}

/// Assembled again, a matrix keeps its arrays and gives the same numbers.
#[test]
fn spec_6_3_and_13_5_the_pattern_is_kept() {
    let grid = Grid3::unit([4, 4, 4]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let k = Param::scalar("k", 1.0);
    let mut plan = MatrixPlan::new(&(Expr::from(&k) * u.grad().dot(&v.grad())).dx(&grid)).unwrap();
    let mut a = plan.matrix();
    plan.assemble(&mut a).unwrap();
    let (first, at, columns) = (
        a.values().to_vec(),
        a.values().as_ptr(),
        a.pattern().columns().as_ptr(),
    );
    k.set(2.0);
    plan.assemble(&mut a).unwrap();
    assert_eq!(
        (a.values().as_ptr(), a.pattern().columns().as_ptr()),
        (at, columns)
    );
    let doubled: Vec<f64> = first.iter().map(|x| 2.0 * x).collect();
    assert_close(a.values(), &doubled, 1e-15, "twice");
    // Times a vector, as of another plan of the same form.
    let x = Random(3).numbers(125);
    let (mut y, mut z) = (vec![0.0; 125], vec![0.0; 125]);
    a.multiply(&x, &mut y).unwrap();
    let mut other = MatrixPlan::new(&(2.0 * u.grad().dot(&v.grad())).dx(&grid)).unwrap();
    let mut b = other.matrix();
    other.assemble(&mut b).unwrap();
    b.multiply(&x, &mut z).unwrap();
    assert_close(&y, &z, 1e-5, "product");
}

/// Cells 16 to 31 of a 4³ grid, a part of its own: the matrix of a part is that of its cells.
#[test]
fn spec_13_5_a_part_of_the_cells() {
    let grid = Grid3::unit([4, 4, 4]).unwrap();
    let mask: Vec<bool> = (0..64).map(|c| (16..32).contains(&c)).collect();
    let part = GeometryPartition::by_mask(share(&grid), &mask).unwrap();
    assert_eq!(part.cells(), (16..32).collect::<Vec<u32>>());
    let space = Space::lagrange(&grid, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let form = (&u * &v).over(&Measure::cells(&grid).listed(part.cells()));
    let mut plan = MatrixPlan::new(&form).unwrap();
    let mut a = plan.matrix();
    plan.assemble(&mut a).unwrap();
    let first = a.values().to_vec();
    for _ in 0..3 {
        plan.assemble(&mut a).unwrap();
        assert_eq!(a.values(), first);
    }
    let sum: f64 = first.iter().sum();
    assert!((sum - 0.25).abs() < 1e-14, "{sum}");
    // 5 × 5 × 2 nodes lie in the part; rows of others are empty.
    let rows = (0..125).filter(|&r| !a.pattern().row(r).is_empty()).count();
    assert_eq!(rows, 50);
}

/// A form of a cell of each kind gives the sum over the rule, done by hand.
#[test]
fn spec_6_1_integrals_are_weights_times_measures() {
    for kind in CellKind::CELLS {
        let mesh = unit_mesh(kind, [2, 1, 1]);
        let x = Expr::position(&mesh).at(0);
        let value = integrate(&(&x * &x).dx(&mesh)).unwrap();
        let rule = Quadrature::new(kind, 6).unwrap();
        let at = |e: &Expr| evaluate_at(e, &share(&mesh), rule.points()).unwrap();
        let terms = at(&(&x * &x)).into_iter().zip(at(&Expr::measure(&mesh)));
        let weights = rule.weights().iter().cycle();
        let sum: f64 = terms.zip(weights).map(|((f, m), w)| f * m * w).sum();
        assert!((value - sum).abs() < 1e-14, "{kind:?}");
        assert!((value - 1.0 / 3.0).abs() < 1e-14, "{kind:?}");
        // One over the weight and the measure: the number of points.
        let each = Expr::quadrature_weight(&mesh) * Expr::measure(&mesh);
        let count = integral(&(1.0 / each), &Measure::cells(&mesh).degree(6));
        let points = rule.points().len() * mesh.topology().cell_count();
        assert!((count - points as f64).abs() < 1e-9, "{kind:?}: {count}");
    }
}
