//! Numbers at the points of a rule: read back what was evaluated there, on every cell and on sides.

use crate::common::{Random, all_cases, assert_close, pool, shared, unit_mesh};
use weft::assemble::{
    MatrixPlan, PointPlan, ScalarPlan, VectorPlan, evaluate_at, integrate, matrix, vector,
};
use weft::element::{CellKind, Quadrature};
use weft::field::Field;
use weft::form::{Expr, Measure, ParticleData, PointData, Shape};
use weft::geometry::Geometry;
use weft::particle::{Cloud, ParticleQuadrature};
use weft::space::Space;

/// What was evaluated at the points of a rule integrates like the expression itself.
#[test]
fn values_at_the_points_of_a_rule_are_read_back() {
    for case in all_cases() {
        let mesh = &case.mesh;
        let geometry = shared(mesh);
        let space = Space::lagrange(mesh, 1).unwrap();
        let v = Expr::test(&space);
        let u = Expr::trial(&space);
        for degree in [1, 4, 9] {
            let measure = Measure::cells(mesh).degree(degree);
            let rule = Quadrature::new(mesh.cell_kind(), degree).unwrap();
            let x = Expr::position(mesh);
            let f = (1.0 + x.at(0) * x.at(0)).unary(weft::form::Unary::Ln);
            let values = evaluate_at(&f, &geometry, rule.points()).unwrap();
            let data = PointData::scalar("f", &values);
            assert_eq!(
                data.point_count(),
                rule.len() * mesh.topology().cell_count()
            );
            let d = Expr::from(&data);
            let what = format!("{}, degree {degree}", case.name);
            let a = integrate(&d.over(&measure)).unwrap();
            let b = integrate(&f.over(&measure)).unwrap();
            assert_close(&[a], &[b], 1e-14, &what);
            let a = vector(&(&d * &v).over(&measure)).unwrap();
            let b = vector(&(&f * &v).over(&measure)).unwrap();
            assert_close(&a, &b, 1e-13, &what);
            let a = matrix(&(&d * &u * &v).over(&measure)).unwrap();
            let b = matrix(&(&f * &u * &v).over(&measure)).unwrap();
            assert_close(a.values(), b.values(), 1e-13, &what);
            // Parts have the numbers of their own cells.
            let part = measure.listed(vec![0]);
            let a = integrate(&d.over(&part)).unwrap();
            assert_close(&[a], &[integrate(&f.over(&part)).unwrap()], 1e-14, &what);
            // And at the same points the numbers themselves.
            assert_eq!(evaluate_at(&d, &geometry, rule.points()).unwrap(), values);
        }
    }
}

#[test]
fn vectors_and_matrices_have_their_components_in_order() {
    let mesh = unit_mesh(CellKind::Triangle, [3, 2, 1]);
    let geometry = shared(&mesh);
    let space = Space::lagrange(&mesh, 2).unwrap().vector(2).unwrap();
    let u = Field::from_values(&space, Random(3).numbers(space.dof_count())).unwrap();
    let strain = u.expr().grad();
    let rule = Quadrature::new(CellKind::Triangle, 4).unwrap();
    let mut plan = PointPlan::new(&strain, &geometry, rule.points()).unwrap();
    let stress = PointData::zeros("stress", Shape::Matrix(2, 2), plan.len() / 4);
    plan.evaluate(&mut stress.values_mut()).unwrap();
    let v = Expr::test(&space);
    let measure = Measure::cells(&mesh).degree(4);
    let from_data = vector(&Expr::from(&stress).inner(&v.grad()).over(&measure)).unwrap();
    let direct = vector(&strain.inner(&v.grad()).over(&measure)).unwrap();
    assert_close(&from_data, &direct, 1e-13, "internal forces");
}

/// Values of sides are by the number of the side, boundary and interior ones together.
#[test]
fn sides_have_points_of_their_own() {
    for case in all_cases() {
        let mesh = &case.mesh;
        let topology = mesh.topology();
        let rule = Quadrature::new(mesh.cell_kind().side_kind(), 2).unwrap();
        let n = rule.len();
        let values: Vec<f64> = (0..topology.side_count() * n).map(|k| k as f64).collect();
        let data = Expr::from(&PointData::scalar("k", &values));
        // Σ w m (k − point − n side)² = 0, with the weights given as data too.
        let (w, m) = (Expr::quadrature_weight(mesh), Expr::measure(mesh));
        let weights: Vec<f64> = (0..topology.side_count())
            .flat_map(|_| rule.weights().to_vec())
            .collect();
        let weights = Expr::from(&PointData::scalar("w", &weights));
        for measure in [Measure::boundary(mesh), Measure::interior(mesh)] {
            let measure = measure.degree(2);
            let off = &weights - &w;
            let off = integrate(&(&off * &off).over(&measure)).unwrap();
            assert!(off < 1e-28, "{}: {off:e}", case.name);
            // Points of one side add up: k = n side + 0 … n − 1.
            let sum = (&data - n as f64 * Expr::element_index(mesh)) / (&w * &m);
            let sum = integrate(&sum.over(&measure)).unwrap();
            let count = topology.boundary_sides().len();
            let sides = match integrate(&(1.0 / &m).over(&measure)).unwrap().round() as usize {
                sides if sides == count => count,
                _ => topology.interior_sides().len(),
            };
            let wanted = (sides * n * (n - 1) / 2) as f64;
            assert!(
                (sum - wanted).abs() < 1e-9 * (1.0 + wanted),
                "{}: {sum} {wanted}",
                case.name
            );
        }
    }
}

#[test]
fn new_values_need_no_new_plan_and_no_thread_matters() {
    let mesh = unit_mesh(CellKind::Hex, [3, 3, 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let points = 27 * Quadrature::new(CellKind::Hex, 3).unwrap().len();
    let data = PointData::zeros("k", Shape::Scalar, points);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let form = (Expr::from(&data) * u.grad().dot(&v.grad())).over(&Measure::cells(&mesh).degree(3));
    let mut plan = MatrixPlan::new(&form).unwrap();
    let mut a = plan.matrix();
    plan.assemble(&mut a).unwrap();
    assert_eq!(a.max_abs(), 0.0);
    data.set(&Random(4).numbers(points)).unwrap();
    let mut first = None;
    for threads in [1, 2, 5] {
        pool(threads).install(|| plan.assemble(&mut a).unwrap());
        let first = first.get_or_insert_with(|| a.values().to_vec());
        assert_eq!(a.values(), first);
    }
    assert!(a.max_abs() > 0.0);
}

#[test]
fn numbers_for_other_points_are_refused() {
    let mesh = unit_mesh(CellKind::Quad, [2, 2, 1]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let data = |n: usize| Expr::from(&PointData::zeros("k", Shape::Scalar, n));
    let measure = Measure::cells(&mesh).degree(3);
    let refused = |e: &Expr, measure: &Measure| {
        let mut plan = ScalarPlan::new(&e.over(measure)).unwrap();
        plan.evaluate().unwrap_err().to_string()
    };
    assert!(
        ScalarPlan::new(&data(16).over(&measure))
            .unwrap()
            .evaluate()
            .is_ok()
    );
    for n in [0, 1, 15, 17, 36] {
        let message = refused(&data(n), &measure);
        assert!(
            message.contains(&format!(
                "`k` is of {n} points where the rule has 16, 4 in each"
            )),
            "{message}"
        );
    }
    let message = refused(&data(16), &Measure::cells(&mesh).degree(5));
    assert!(message.contains("has 36, 9 in each"), "{message}");
    let message = refused(&data(16), &Measure::boundary(&mesh).degree(3));
    assert!(message.contains("has 24, 2 in each"), "{message}");
    let form = (data(3) * Expr::test(&space)).over(&measure);
    let mut plan = VectorPlan::new(&form).unwrap();
    let mut out = vec![7.0; 9];
    assert!(plan.assemble(&mut out).is_err());
    // Not at particles, and not differentiated.
    let particles = ParticleQuadrature::new(&mesh);
    particles
        .rebuild(&Cloud::new(&[[0.2, 0.2, 0.0]], &[1.0]))
        .unwrap();
    let on = Measure::cells(&mesh).on_particles(&particles);
    let message = integrate(&data(1).over(&on)).unwrap_err().to_string();
    assert!(
        message.contains("at the points of a rule, not at particles"),
        "{message}"
    );
    let mixed = data(16) * Expr::from(&ParticleData::scalar("m", &[1.0]));
    assert!(integrate(&mixed.over(&on)).is_err());
    assert!(
        integrate(&mixed.over(&measure))
            .unwrap_err()
            .to_string()
            .contains("particles only")
    );
    let slope = (data(16) * Expr::position(&mesh).at(0)).grad();
    assert!(
        slope
            .check()
            .unwrap_err()
            .to_string()
            .contains("numbers at points")
    );
    let matrices = PointData::zeros("F", Shape::Matrix(2, 2), 3);
    assert!(
        matrices
            .set(&[1.0; 6])
            .unwrap_err()
            .to_string()
            .contains("of each point of `F`")
    );
    assert!(matrices.set(&[1.0; 8]).is_ok());
    assert_eq!(
        (matrices.point_count(), matrices.shape()),
        (2, Shape::Matrix(2, 2))
    );
}

/// Nothing is known between the points, so no derivative of what holds such numbers is taken for zero.
#[test]
fn issue_006_numbers_at_points_have_no_derivatives() {
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let count = 3 * mesh.topology().cell_count();
    let number = Expr::from(&PointData::zeros("k", Shape::Scalar, count));
    let vector = Expr::from(&PointData::zeros("q", Shape::Vector(2), count));
    let matrix = Expr::from(&PointData::zeros("s", Shape::Matrix(2, 2), count));
    let solid = Expr::from(&PointData::zeros("w", Shape::Vector(3), count));
    let x = Expr::position(&mesh);
    let mut all = vec![
        (&number * &x).grad(),
        (&number * &x).div(),
        (&vector + &x).div(),
        (&vector + &x).curl(),
        vector.div(),
        vector.curl(),
        matrix.div(),
        solid.curl(),
        number.curl(),
    ];
    for space in [
        Space::raviart_thomas(&mesh, 1).unwrap(),
        Space::nedelec(&mesh, 1).unwrap(),
    ] {
        let w = Field::zeros(&space).expr();
        for w in [w, Expr::trial(&space)] {
            all.extend([(&number * &w).div(), (&number * &w).curl()]);
            all.extend([(&vector.at(0) * &w).div(), (&vector.at(0) * &w).curl()]);
        }
    }
    let taken: Vec<String> = all
        .iter()
        .enumerate()
        .filter(|(_, e)| match e.check() {
            Err(error) => !error
                .to_string()
                .contains("a derivative of numbers at points"),
            Ok(()) => true,
        })
        .map(|(k, e)| format!("{k}: {e}"))
        .collect();
    assert!(taken.is_empty(), "{taken:#?}");
    // Numbers of cells do not vary in a cell.
    let constant = Expr::cell_data("c", vec![1.0; mesh.topology().cell_count()]);
    let w = Expr::trial(&Space::raviart_thomas(&mesh, 1).unwrap());
    (&constant * &w).div().check().unwrap();
}
