//! Quantities of the place: measures, Jacobians, normals of cells, reference coordinates, numbers of
//! elements and weights, against the maps of the cells, on every kind of geometry.

use crate::common::{Random, all_cases, assert_close, pool, unit_mesh};
use std::sync::Arc;
use weft::assemble::{Deformation, evaluate_at, integrate};
use weft::element::{CellKind, Quadrature, RuleFamily};
use weft::form::{Expr, Measure, Scope, Shape};
use weft::geometry::{
    AdaptiveVoxelGrid, Frame, Geometry, Grid2, Grid3, Mesh, VoxelGrid, VoxelMap, frame_at, shapes,
};
use weft::particle::{Cloud, ParticleQuadrature};
use weft::partition::Batch;
use weft::space::Space;

/// Run a law on every kind of geometry there is.
macro_rules! on_every_geometry {
    ($law:ident) => {
        for case in all_cases() {
            $law(case.name, &case.mesh);
        }
        $law(
            "grid",
            &Grid2::new([3, 2], [-1.0, 0.5], [2.0, 1.0]).unwrap(),
        );
        $law(
            "grid in space",
            &Grid3::new([3, 1, 3], [0.0; 3], [1.5, 2.0, 1.0]).unwrap(),
        );
        let sheared = VoxelMap::affine(
            [[0.5, 0.1, 0.0], [0.0, 0.4, 0.1], [0.0, 0.0, 0.3]],
            [1.0; 3],
        );
        let voxels = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [-4, 2, 1]];
        $law(
            "voxels",
            &VoxelGrid::from_coordinates(&voxels, sheared.unwrap()).unwrap(),
        );
        let cells = [
            ([0, 0, 0], 1),
            ([2, 0, 0], 0),
            ([2, 1, 0], 0),
            ([2, 0, 1], 0),
        ];
        let adaptive = AdaptiveVoxelGrid::from_cells(&cells, VoxelMap::uniform(0.25).unwrap());
        $law("adaptive voxels", &adaptive.unwrap());
        let grid = Grid2::unit([3, 2]).unwrap();
        let x = Expr::position(&grid);
        let bent = x.at(0) * x.at(1);
        let to = Expr::tensor(
            Shape::Vector(2),
            vec![x.at(0) + 0.3 * &bent, x.at(1) - 0.2 * bent],
        );
        let deformed = Deformation::to(&grid, &to, 2).unwrap();
        $law("deformed grid", deformed.geometry());
        let copies = Batch::new(Arc::new(unit_mesh(CellKind::Triangle, [2, 1, 1])), 2);
        $law("batch", &copies.unwrap());
    };
}

fn some_points(kind: CellKind) -> Vec<[f64; 3]> {
    let mut random = Random(11);
    (0..3).map(|_| random.point(kind)).collect()
}

/// What the maps of the cells give at points of every cell.
fn expected(g: &dyn Geometry, points: &[[f64; 3]], f: impl Fn(&Frame) -> Vec<f64>) -> Vec<f64> {
    let cells = 0..g.topology().cell_count();
    cells
        .flat_map(|c| points.iter().map(move |&xi| (c, xi)))
        .flat_map(|(c, xi)| f(&frame_at(g, c, xi)))
        .collect()
}

#[test]
fn in_cells_they_are_those_of_the_map() {
    fn law<G: Geometry + Clone + 'static>(name: &str, g: &G) {
        let shared: Arc<dyn Geometry> = Arc::new(g.clone());
        let (kind, space, own) = (g.cell_kind(), g.space_dim(), g.cell_kind().dim());
        let points = some_points(kind);
        let values = |e: Expr| evaluate_at(&e, &shared, &points).unwrap();
        let compare = |e: Expr, f: &dyn Fn(&Frame) -> Vec<f64>| {
            let what = format!("{name}: {e}");
            assert_close(&values(e), &expected(g, &points, f), 1e-13, &what);
        };
        let reference = kind.reference_measure();
        let measure = |f: &Frame| vec![f.measure * reference];
        compare(Expr::measure(g), &measure);
        compare(Expr::cell_measure(g), &measure);
        compare(Expr::measure_ratio(g), &|_| vec![1.0]);
        let rows = |m: &[[f64; 3]; 3], rows: usize, columns: usize| -> Vec<f64> {
            let row = |r: &[f64; 3]| r[..columns].to_vec();
            m[..rows].iter().flat_map(row).collect()
        };
        compare(Expr::jacobian(g), &|f| rows(&f.jacobian, space, own));
        compare(Expr::inverse_jacobian(g), &|f| rows(&f.inverse, own, space));
        let xi = points.iter().flat_map(|p| p[..own].to_vec());
        let xi: Vec<f64> = xi.collect();
        let cells = g.topology().cell_count();
        assert_eq!(
            values(Expr::reference_position(g)),
            xi.repeat(cells),
            "{name}"
        );
        let numbers: Vec<f64> = (0..3 * cells).map(|k| (k / 3) as f64).collect();
        assert_eq!(values(Expr::element_index(g)), numbers, "{name}");
        assert_eq!(values(Expr::cell_index(g)), numbers, "{name}");
    }
    on_every_geometry!(law);
}

/// The derivative of ξ by position is the inverse Jacobian, and the chain rule leads back to x.
#[test]
fn reference_coordinates_have_a_gradient() {
    fn law<G: Geometry + Clone + 'static>(name: &str, g: &G) {
        let shared: Arc<dyn Geometry> = Arc::new(g.clone());
        let points = some_points(g.cell_kind());
        let values = |e: &Expr| evaluate_at(e, &shared, &points).unwrap();
        let xi = Expr::reference_position(g);
        let inverse = Expr::inverse_jacobian(g);
        let what = format!("{name}: grad(xi)");
        assert_close(&values(&xi.grad()), &values(&inverse), 1e-15, &what);
        // ∂(ξ₀²)/∂x = 2 ξ₀ ∂ξ₀/∂x.
        let square = xi.at(0) * xi.at(0);
        let row = (0..g.space_dim()).map(|d| 2.0 * xi.at(0) * inverse.at2(0, d));
        let row = Expr::tensor(Shape::Vector(g.space_dim()), row.collect());
        assert_close(&values(&square.grad()), &values(&row), 1e-14, name);
    }
    on_every_geometry!(law);
}

#[test]
fn normals_of_cells_are_unit_and_orthogonal_to_them() {
    for case in all_cases() {
        let g = &case.mesh;
        let (space, own) = (g.space_dim(), g.cell_kind().dim());
        let n = Expr::cell_normal(g);
        if own + 1 != space {
            let message = n.check().unwrap_err().to_string();
            assert!(
                message.contains("`cell_normal` does not exist"),
                "{message}"
            );
            continue;
        }
        let square = |e: Expr| integrate(&(&e * &e).dx(g)).unwrap();
        let off = square(n.dot(&n) - 1.0);
        assert!(off < 1e-24, "{}: |n|² − 1 = {off:e}", case.name);
        let slope = n.dot(&Expr::jacobian(g));
        let slope = integrate(&slope.dot(&slope).dx(g)).unwrap();
        assert!(slope.abs() < 1e-24, "{}: {slope:e}", case.name);
        // With the normal first, the columns of J are positively oriented.
        let j = Expr::jacobian(g);
        let entry = |d: usize, k: usize| match k {
            0 => n.at(d),
            _ => j.at2(d, k - 1),
        };
        let parts = (0..space * space).map(|k| entry(k / space, k % space));
        let det = Expr::tensor(Shape::Matrix(space, space), parts.collect()).det();
        let off = square(det * g.cell_kind().reference_measure() - Expr::measure(g));
        assert!(off < 1e-24, "{}: det − measure = {off:e}", case.name);
    }
    // A sphere: outward, and a rotated plane.
    let sphere = shapes::sphere(2).unwrap();
    let n = Expr::cell_normal(&sphere);
    let x = Expr::position(&sphere);
    let flux = integrate(&x.dot(&n).dx(&sphere)).unwrap() / 3.0;
    assert!(
        (flux / (4.0 / 3.0 * std::f64::consts::PI) - 1.0).abs() < 0.1,
        "{flux}"
    );
}

/// On sides, with the value of each side by itself.
#[test]
fn on_sides_they_are_those_of_the_side_and_its_cells() {
    fn law<G: Geometry + Clone + 'static>(name: &str, g: &G) {
        let topology = g.topology();
        let one = Expr::constant(1.0);
        let (element, cell) = (Expr::element_index(g), Expr::cell_index(g));
        let numbers = (0..topology.side_count()).map(|s| 7.0 - 0.5 * s as f64);
        let data = Expr::side_data("d", numbers.collect());
        for side in 0..topology.side_count() as u32 {
            let measure = match topology.is_boundary(side as usize) {
                true => Measure::boundary(g),
                false => Measure::interior(g),
            };
            let measure = measure.listed(vec![side]);
            let area = integrate(&one.over(&measure)).unwrap();
            let mean = |e: &Expr| integrate(&e.over(&measure)).unwrap() / area;
            let what = format!("{name}, side {side}");
            let [inner, outer] = topology.side_cells(side as usize).map(f64::from);
            let close = |a: f64, b: f64| assert_close(&[a], &[b], 1e-12, &what);
            close(mean(&element), side as f64);
            close(mean(&data), 7.0 - 0.5 * side as f64);
            close(mean(&cell), inner);
            close(mean(&cell.inside()), inner);
            close(mean(&cell.outside()), outer);
        }
        let sides = [Measure::boundary(g), Measure::interior(g)];
        let (n, j) = (Expr::normal(g), Expr::jacobian(g));
        let own = g.cell_kind().dim();
        for measure in sides.map(|m| m.degree(4)) {
            let area = integrate(&one.over(&measure)).unwrap();
            let largest = |e: Expr| {
                let form = e.inner(&e).over(&measure);
                integrate(&form).unwrap() / area.max(1.0)
            };
            // Both cells put the point in the same place: dx along the side is the same.
            let inverse = Expr::inverse_jacobian(g);
            for of in [Expr::inside, Expr::outside] {
                let identity = of(&inverse).dot(&of(&j)) - Expr::identity(own);
                let off = largest(identity);
                assert!(off < 1e-24, "{name}: J⁻¹J − I = {off:e}");
            }
            if own > 1 {
                let t = Expr::side_jacobian(g);
                let off = largest(n.dot(&t));
                assert!(off < 1e-24, "{name}: n·t = {off:e}");
                let gram = transpose_product(&t);
                let reference = g.cell_kind().side_kind().reference_measure();
                let size = gram.unary(weft::form::Unary::Sqrt) * reference;
                let off = largest(size - Expr::measure(g));
                assert!(off < 1e-24, "{name}: |t| − measure = {off:e}");
            }
            let (inside, outside) = {
                let m = Expr::cell_measure(g);
                (m.inside(), m.outside())
            };
            let ratio = Expr::measure_ratio(g) * inside.min(outside) - Expr::measure(g);
            let off = largest(ratio);
            assert!(off < 1e-24, "{name}: ratio off by {off:e}");
        }
    }
    /// det(TᵀT).
    fn transpose_product(t: &Expr) -> Expr {
        t.transpose().dot(t).det()
    }
    on_every_geometry!(law);
}

#[test]
fn measures_add_up_to_numbers_of_elements() {
    fn law<G: Geometry + Clone + 'static>(name: &str, g: &G) {
        let one = Expr::constant(1.0);
        let topology = g.topology();
        let counts = [
            (Measure::cells(g), topology.cell_count()),
            (Measure::boundary(g), topology.boundary_sides().len()),
            (Measure::interior(g), topology.interior_sides().len()),
        ];
        for (measure, count) in counts {
            let sum = integrate(&(&one / Expr::measure(g)).over(&measure)).unwrap();
            assert!(
                (sum - count as f64).abs() < 1e-11,
                "{name}: {sum} of {count}"
            );
        }
    }
    on_every_geometry!(law);
}

#[test]
fn the_ratio_of_measures_is_one_over_the_cell_size() {
    for n in [1, 4, 7] {
        for kind in [CellKind::Segment, CellKind::Quad, CellKind::Hex] {
            let mesh = unit_mesh(kind, [n; 3]);
            let scope = Scope::new(Arc::new(mesh.clone()));
            let area = |d: &str| integrate(&scope.form(&format!("1*{d}")).unwrap()).unwrap();
            for d in ["ds", "dS"] {
                let sum = integrate(&scope.form(&format!("measure_ratio*{d}")).unwrap()).unwrap();
                assert!(
                    (sum - n as f64 * area(d)).abs() < 1e-12 * (1.0 + sum),
                    "{kind:?} {n} {d}"
                );
            }
        }
    }
    // Two cells of lengths 1 and 3: the ratio of the side between is that of the smaller.
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [4.0, 0.0, 0.0]];
    let mesh = Mesh::new(CellKind::Segment, 1, points, vec![0, 1, 1, 2]).unwrap();
    let ratio = Expr::measure_ratio(&mesh);
    let between = integrate(&ratio.over(&Measure::interior(&mesh))).unwrap();
    let ends = integrate(&ratio.over(&Measure::boundary(&mesh))).unwrap();
    assert_close(
        &[between, ends],
        &[1.0, 1.0 + 1.0 / 3.0],
        1e-15,
        "unequal cells",
    );
}

#[test]
fn weights_are_those_of_the_rule_and_of_particles() {
    for case in all_cases() {
        let g = &case.mesh;
        let kinds = [g.cell_kind(), g.cell_kind().side_kind()];
        let topology = g.topology();
        let counts = [topology.cell_count(), topology.boundary_sides().len()];
        for (k, measure) in [Measure::cells(g), Measure::boundary(g)]
            .into_iter()
            .enumerate()
        {
            for degree in [0, 1, 4, 9] {
                let measure = measure.clone().degree(degree);
                let (w, m) = (Expr::quadrature_weight(g), Expr::measure(g));
                let squares = integrate(&(&w / &m).over(&measure)).unwrap();
                let points = integrate(&(1.0 / (&w * &m)).over(&measure)).unwrap();
                let rule = Quadrature::new(kinds[k], degree).unwrap();
                let sum: f64 = rule.weights().iter().map(|w| w * w).sum();
                let expected = [sum, rule.len() as f64].map(|s| s * counts[k] as f64);
                let what = format!("{}, degree {degree}", case.name);
                assert_close(&[squares], &expected[..1], 1e-12, &what);
                assert_close(&[points], &expected[1..], 1e-12, &what);
            }
        }
    }
    // Weight × measure of a particle is its volume.
    let grid = Grid2::new([4, 3], [0.0; 2], [2.0, 1.0]).unwrap();
    let mut random = Random(5);
    let positions: Vec<[f64; 3]> = (0..57)
        .map(|_| [random.between(0.0, 2.0), random.unit(), 0.0])
        .collect();
    let volumes: Vec<f64> = (0..57).map(|_| random.between(0.1, 1.0)).collect();
    let particles = ParticleQuadrature::new(&grid);
    particles
        .rebuild(&Cloud::new(&positions, &volumes))
        .unwrap();
    let on = Measure::cells(&grid).on_particles(&particles);
    let f = Expr::quadrature_weight(&grid) * Expr::measure(&grid);
    let sum: f64 = volumes.iter().map(|v| v * v).sum();
    assert_close(
        &[integrate(&f.over(&on)).unwrap()],
        &[sum],
        1e-14,
        "particles",
    );
    // The place of a particle: x = lower + (cell + ξ) h.
    let xi = Expr::reference_position(&grid);
    let [h0, h1] = grid.cell_size();
    for (axis, h) in [h0, h1].into_iter().enumerate() {
        let data = (0..12).map(|c| [c / 3, c % 3][axis] as f64).collect();
        let place = (Expr::cell_data("place", data) + xi.at(axis)) * h;
        let off = place - Expr::position(&grid).at(axis);
        let off = integrate(&(&off * &off).over(&on)).unwrap();
        assert!(off < 1e-28, "{off:e}");
    }
}

#[test]
fn penalties_with_them_are_the_same_for_any_number_of_threads() {
    let mesh = unit_mesh(CellKind::Tet, [3, 2, 2]);
    let space = Space::discontinuous(&mesh, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let jumps = Expr::measure_ratio(&mesh) * u.jump() * v.jump();
    let form = jumps.over(&Measure::interior(&mesh));
    let values = |threads| pool(threads).install(|| weft::assemble::matrix(&form).unwrap());
    let one = values(1);
    for threads in [2, 3, 8] {
        assert_eq!(values(threads).values(), one.values(), "{threads}");
    }
    // The kernel of the jumps: continuous functions.
    let x = Expr::position(&mesh);
    let field = weft::assemble::interpolate(&(1.0 + x.at(0) - 2.0 * x.at(2)), &space).unwrap();
    let mut out = vec![0.0; space.dof_count()];
    one.multiply(&field.values(), &mut out).unwrap();
    assert!(out.iter().all(|r| r.abs() < 1e-13));
}

#[test]
fn environments_number_their_cells() {
    let batch = Batch::new(Arc::new(unit_mesh(CellKind::Quad, [2, 2, 1])), 3).unwrap();
    let e = Expr::environment_index(&batch.environments());
    let sum = integrate(&e.dx(&batch)).unwrap();
    assert_close(&[sum], &[0.0 + 1.0 + 2.0], 1e-14, "one unit of area each");
    let edge = integrate(&e.over(&Measure::boundary(&batch))).unwrap();
    assert_close(&[edge], &[4.0 * 3.0], 1e-14, "boundaries");
}

#[test]
fn what_does_not_exist_is_refused() {
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let other = unit_mesh(CellKind::Quad, [2, 2, 1]);
    let shared: Arc<dyn Geometry> = Arc::new(mesh.clone());
    let refuses = |form: &weft::form::Form, wanted: &str| {
        let message = integrate(form).unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    };
    let one = Expr::constant(1.0);
    let t = Expr::side_jacobian(&mesh).inner(&Expr::side_jacobian(&mesh));
    refuses(&t.dx(&mesh), "`side_jacobian` exists on sides only");
    refuses(
        &Expr::measure(&other).dx(&mesh),
        "`measure` in `measure` is that of a quad",
    );
    let sides = mesh.topology().side_count();
    let data = |n: usize| Expr::side_data("d", vec![1.0; n]);
    refuses(&data(sides).dx(&mesh), "values on sides only");
    refuses(&data(3).over(&Measure::boundary(&mesh)), "has 3 values");
    refuses(&data(0).over(&Measure::interior(&mesh)), "has 0 values");
    let weight = evaluate_at(&Expr::quadrature_weight(&mesh), &shared, &[[0.2, 0.2, 0.0]]);
    let message = weight.unwrap_err().to_string();
    assert!(message.contains("have no weights"), "{message}");
    for e in [
        Expr::jacobian(&mesh).at2(0, 0),
        Expr::measure(&mesh),
        Expr::quadrature_weight(&mesh),
        Expr::cell_measure(&mesh) * Expr::position(&mesh).at(0),
    ] {
        let message = e.grad().check().unwrap_err().to_string();
        assert!(message.contains("a derivative of `"), "{message}");
    }
    for index in [Expr::element_index(&mesh), Expr::cell_index(&mesh)] {
        let zero = index.grad();
        assert_eq!(zero.shape(), Shape::Vector(2));
        assert_eq!(integrate(&zero.dot(&zero).dx(&mesh)).unwrap(), 0.0);
    }
    let line = unit_mesh(CellKind::Segment, [3, 1, 1]);
    for e in [Expr::side_jacobian(&line), Expr::cell_normal(&line)] {
        let message = e.check().unwrap_err().to_string();
        assert!(
            message.contains("does not exist for cells of dimension 1"),
            "{message}"
        );
    }
    assert!(integrate(&one.dx(&mesh)).is_ok());
}

/// A plan made before vertices move reads the maps as they are.
#[test]
fn they_follow_the_vertices() {
    let mesh = unit_mesh(CellKind::Quad, [3, 2, 1]);
    let form = (Expr::jacobian(&mesh).det() - Expr::measure(&mesh)).dx(&mesh);
    let mut plan = weft::assemble::ScalarPlan::new(&form).unwrap();
    let mut cells =
        weft::assemble::ScalarPlan::new(&(1.0 / Expr::measure(&mesh)).dx(&mesh)).unwrap();
    for scale in [1.0, 0.5, 3.0] {
        let map = mesh.map();
        let points = map.nodes.iter().map(|x| x.map(|c| c * scale));
        mesh.move_vertices(points.collect()).unwrap();
        let (off, count) = (plan.evaluate().unwrap(), cells.evaluate().unwrap());
        assert!(off.abs() < 1e-14, "{off:e}");
        assert!((count - 6.0).abs() < 1e-12, "{count}");
    }
}

/// Points of Lobatto rules include the vertices: the mass matrix of degree 1 is diagonal.
#[test]
fn measures_take_families_of_rules() {
    for kind in [CellKind::Segment, CellKind::Quad, CellKind::Hex] {
        let mesh = unit_mesh(kind, [2; 3]);
        let space = Space::lagrange(&mesh, 1).unwrap();
        let mass = Expr::trial(&space) * Expr::test(&space);
        let measure = Measure::cells(&mesh).degree(1);
        let lobatto = measure.clone().family(RuleFamily::GaussLobatto);
        let a = weft::assemble::matrix(&mass.over(&lobatto)).unwrap();
        let n = space.node_count();
        let dense = a.to_dense();
        for (k, entry) in dense.iter().enumerate() {
            assert_eq!(*entry != 0.0, k % (n + 1) == 0, "{kind:?} {k}");
        }
        assert!((dense.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        let x = Expr::position(&mesh).at(0);
        for family in [
            RuleFamily::GaussLegendre,
            RuleFamily::GaussLobatto,
            RuleFamily::NewtonCotesClosed,
            RuleFamily::NewtonCotesOpen,
        ] {
            for measure in [Measure::cells(&mesh), Measure::boundary(&mesh)] {
                let measure = measure.degree(5);
                let with = integrate(&x.pow(5.0).over(&measure.clone().family(family))).unwrap();
                let plain = integrate(&x.pow(5.0).over(&measure)).unwrap();
                assert!((with - plain).abs() < 1e-13, "{kind:?} {family:?}");
            }
            let far = Measure::cells(&mesh).degree(500).family(family);
            assert!(integrate(&x.over(&far)).is_err(), "{family:?}");
        }
        // Two terms with different rules stay apart.
        let sum = x.over(&lobatto) - x.over(&measure);
        assert!(integrate(&sum).unwrap().abs() < 1e-14);
    }
    let triangles = unit_mesh(CellKind::Triangle, [2; 3]);
    let measure = Measure::cells(&triangles).family(RuleFamily::GaussLobatto);
    let message = integrate(&Expr::constant(1.0).over(&measure))
        .unwrap_err()
        .to_string();
    assert!(message.contains("Gauss"), "{message}");
}

/// Quantities of cells of different kinds are different, whichever comes first.
#[test]
fn issue_006_quantities_of_two_kinds_of_cells_are_not_mixed_up() {
    let here = unit_mesh(CellKind::Quad, [2, 2, 1]);
    let there = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let (own, other) = (Expr::measure(&here), Expr::measure(&there));
    for e in [&own + &other, &other + &own] {
        let error = integrate(&e.dx(&here)).unwrap_err().to_string();
        assert!(error.contains("that of a triangle"), "{error}");
    }
}
