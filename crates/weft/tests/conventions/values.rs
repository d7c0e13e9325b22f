//! "Values and derivatives", "Integrals" and "Tensors".

use super::{close, kind_named, meshes, table};
use std::sync::Arc;
use weft::assemble::{evaluate_at, integrate, interpolate};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Shape};
use weft::geometry::{Geometry, Mesh, Tags, shapes};
use weft::space::{Space, ValueKind};

fn plane() -> Mesh {
    shapes::rectangle_triangles([2, 2], [0.0; 2], [1.0; 2]).unwrap()
}

fn space3() -> Mesh {
    shapes::box_tets([1, 1, 1], [0.0; 3], [1.0; 3]).unwrap()
}

/// Values of an expression at the centre of cell 1, and the position there.
fn at_centre(mesh: &Mesh, e: &Expr) -> (Vec<f64>, [f64; 3]) {
    let geometry: Arc<dyn Geometry> = Arc::new(mesh.clone());
    let centre = [mesh.cell_kind().center()];
    let n = e.shape().len();
    let values = evaluate_at(e, &geometry, &centre).unwrap();
    (
        values[n..2 * n].to_vec(),
        weft::geometry::frame_at(mesh, 1, centre[0]).position,
    )
}

#[test]
fn gradients_have_a_row_for_each_component() {
    let mesh = plane();
    let x = Expr::position(&mesh);
    let (x0, x1) = (x.at(0), x.at(1));
    let u = Expr::tensor(Shape::Vector(2), vec![&x0 * &x1, &x0 + 3.0 * &x1]);
    let rows = |p: [f64; 3]| [p[1], p[0], 1.0, 3.0];
    let (g, p) = at_centre(&mesh, &u.grad());
    for (a, b) in g.iter().zip(rows(p)) {
        close(*a, b);
    }
    // The same for a field, from a form and from the field itself.
    let space = Space::lagrange(&mesh, 2).unwrap().vector(2).unwrap();
    let field = interpolate(&u, &space).unwrap();
    let (g, p) = at_centre(&mesh, &field.expr().grad());
    let point = field.evaluate(1, mesh.cell_kind().center()).unwrap();
    for c in 0..2 {
        for d in 0..2 {
            close(g[2 * c + d], rows(p)[2 * c + d]);
            close(point.gradient[c][d], rows(p)[2 * c + d]);
        }
    }
    let (entry, _) = at_centre(&mesh, &u.grad().at2(0, 1));
    close(entry[0], p[0]);
    // Of a 2 × 3 matrix.
    let entries: Vec<Expr> = (0..6)
        .map(|k| k as f64 * &x0 + (k * k) as f64 * &x1)
        .collect();
    let tau = Expr::tensor(Shape::Matrix(2, 3), entries);
    for (i, j) in [(0, 0), (0, 2), (1, 0), (1, 2)] {
        let k = (3 * i + j) as f64;
        for (d, slope) in [k, k * k].into_iter().enumerate() {
            let (entry, _) = at_centre(&mesh, &tau.grad().at2(3 * i + j, d));
            close(entry[0], slope);
        }
    }
}

#[test]
fn divergence_sums_over_the_row_index() {
    let mesh = plane();
    let x = Expr::position(&mesh);
    let (x0, x1) = (x.at(0), x.at(1));
    let (d, _) = at_centre(&mesh, &(2.0 * &x0 * Expr::vector(&[1.0, 0.0])).div());
    close(d[0], 2.0);
    // τ = [[x0, 10 x0], [100 x1, 1000 x1]]: Σ_d ∂τ_dc/∂x_d = (1 + 100, 10 + 1000).
    let tau = Expr::tensor(
        Shape::Matrix(2, 2),
        vec![x0.clone(), 10.0 * &x0, 100.0 * &x1, 1000.0 * &x1],
    );
    let (d, _) = at_centre(&mesh, &tau.div());
    assert_eq!(d, [101.0, 1010.0]);
}

#[test]
fn curl_is_the_classical_one() {
    let mesh = plane();
    let x = Expr::position(&mesh);
    let turn = Expr::tensor(Shape::Vector(2), vec![-x.at(1), x.at(0)]);
    assert_eq!(at_centre(&mesh, &turn.curl()).0, [2.0]);
    assert_eq!(
        at_centre(&mesh, &(5.0 * x.at(0) + 7.0 * x.at(1)).curl()).0,
        [7.0, -5.0]
    );
    let mesh = space3();
    let x = Expr::position(&mesh);
    let turn = Expr::vector(&[1.0, 2.0, 3.0]).cross(&x);
    assert_eq!(at_centre(&mesh, &turn.curl()).0, [2.0, 4.0, 6.0]);
}

#[test]
fn products_contract_the_indices_that_touch() {
    let mesh = plane();
    let a = Expr::tensor(
        Shape::Matrix(2, 2),
        [1.0, 2.0, 3.0, 4.0].map(Expr::from).to_vec(),
    );
    let v = Expr::vector(&[1.0, 10.0]);
    let value = |e: &Expr| at_centre(&mesh, e).0;
    assert_eq!(value(&a.dot(&v)), [21.0, 43.0]);
    assert_eq!(value(&v.dot(&a)), [31.0, 42.0]);
    assert_eq!(value(&a.dot(&a)), [7.0, 10.0, 15.0, 22.0]);
    assert_eq!(value(&a.inner(&a)), [30.0]);
    assert_eq!(
        value(&v.outer(&Expr::vector(&[2.0, 3.0]))),
        [2.0, 3.0, 20.0, 30.0]
    );
    assert_eq!(value(&v.cross(&Expr::vector(&[2.0, 3.0]))), [-17.0]);
    assert_eq!(value(&a.transpose()), [1.0, 3.0, 2.0, 4.0]);
}

/// The factor of each entry in a formula such as `(2zz-xx-yy)/√12`.
fn entries(formula: &str, n: usize) -> Vec<f64> {
    let (sum, divisor) = formula.split_once('/').unwrap_or((formula, "1"));
    let number = |text: &str| text.parse::<f64>().unwrap();
    let divisor = match divisor.strip_prefix('√') {
        Some(square) => number(square).sqrt(),
        None => number(divisor),
    };
    let sum = sum.trim_matches(['(', ')']).replace('-', "+-");
    let mut factors = vec![0.0; n * n];
    for term in sum.split('+') {
        let (factor, axes) = term.split_at(term.len() - 2);
        let factor = match factor {
            "" => 1.0,
            "-" => -1.0,
            other => number(other),
        };
        let axis: Vec<usize> = axes.bytes().map(|b| (b - b'x') as usize).collect();
        factors[axis[0] * n + axis[1]] += factor / divisor;
    }
    factors
}

#[test]
fn tensors_are_stored_as_printed() {
    for row in table("## Tensors") {
        let n = if row[1].starts_with('2') { 2 } else { 3 };
        let (kind, sign) = match row[0].trim_matches('`') {
            "Symmetric" => (ValueKind::Symmetric(n), 1.0),
            "Deviatoric" => (ValueKind::Deviatoric(n), 1.0),
            "Skew" => (ValueKind::Skew(n), -1.0),
            other => panic!("{other}"),
        };
        let formulas: Vec<&str> = row[2].split(", ").collect();
        assert_eq!(formulas.len(), kind.components());
        let mesh = if n == 2 { plane() } else { space3() };
        let space = Space::lagrange(&mesh, 1).unwrap().with_value(kind).unwrap();
        for dof in 0..formulas.len() {
            let field = Field::zeros(&space);
            for value in field
                .values_mut()
                .iter_mut()
                .skip(dof)
                .step_by(formulas.len())
            {
                *value = 1.0;
            }
            let tensor = field.evaluate(0, mesh.cell_kind().center()).unwrap().value;
            for (other, formula) in formulas.iter().enumerate() {
                let terms = entries(formula, n).into_iter().zip(&tensor);
                let found: f64 = terms.map(|(factor, t)| factor * t).sum();
                close(found, f64::from(other == dof));
            }
            for c in 0..n * n {
                close(tensor[c], sign * tensor[c % n * n + c / n]);
            }
            // Orthonormal for half the full contraction.
            close(tensor.iter().map(|t| 0.5 * t * t).sum(), 1.0);
        }
        // Of another matrix the part that fits.
        let full: Vec<f64> = (0..n * n).map(|c| (c * c) as f64 + 1.0).collect();
        let e = Expr::tensor(
            Shape::Matrix(n, n),
            full.iter().map(|v| Expr::from(*v)).collect(),
        );
        let field = interpolate(&e, &space).unwrap();
        let tensor = field.evaluate(0, mesh.cell_kind().center()).unwrap().value;
        for c in 0..n * n {
            close(tensor[c], 0.5 * (full[c] + sign * full[c % n * n + c / n]));
        }
    }
}

#[test]
fn skew_tensors_are_their_axial_vectors() {
    let mesh = space3();
    let space = Space::lagrange(&mesh, 1).unwrap().skew(3).unwrap();
    let values = [1.0, -2.0, 3.0].repeat(space.node_count());
    let tau = Field::from_values(&space, values).unwrap();
    let a = Expr::vector(&[0.5, 4.0, -1.0]);
    let turned = tau.expr().dot(&a) - Expr::vector(&[1.0, -2.0, 3.0]).cross(&a);
    for value in at_centre(&mesh, &turned).0 {
        close(value, 0.0);
    }
}

#[test]
fn matrices_are_stored_row_by_row() {
    let mesh = plane();
    let space = Space::discontinuous(&mesh, 0)
        .unwrap()
        .matrix(2, 3)
        .unwrap();
    let values = (0..space.dof_count()).map(|k| k as f64).collect();
    let field = Field::from_values(&space, values).unwrap();
    let value = field.evaluate(1, [0.25, 0.25, 0.0]).unwrap().value;
    assert_eq!(value, [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    assert_eq!(at_centre(&mesh, &field.expr().at2(1, 0)).0, [9.0]);
}

#[test]
fn values_at_points_come_cell_by_cell() {
    let mesh = plane();
    let geometry: Arc<dyn Geometry> = Arc::new(mesh.clone());
    let points = [[0.0; 3], [1.0, 0.0, 0.0]];
    let values = evaluate_at(&Expr::position(&mesh), &geometry, &points).unwrap();
    assert_eq!(values.len(), 8 * 2 * 2);
    for cell in 0..8 {
        for point in 0..2 {
            let vertex = mesh.topology().cell_vertices(cell)[point];
            let at = (cell * 2 + point) * 2;
            assert_eq!(values[at..at + 2], mesh.map().vertex(vertex)[..2]);
        }
    }
}

#[test]
fn measures_carry_the_size_of_cells_and_sides() {
    let one = Expr::constant(1.0);
    for mesh in meshes() {
        let size = if mesh.cell_kind() == CellKind::Segment {
            1.0
        } else {
            2.0
        };
        close(integrate(&one.dx(&mesh)).unwrap(), size);
    }
    // A surface in space: the square of a cube's side, embedded and turned.
    let flat = shapes::rectangle_quads([2, 2], [0.0; 2], [1.0; 2]).unwrap();
    let points = flat
        .map()
        .nodes
        .iter()
        .map(|x| [0.6 * x[0], x[1], 0.8 * x[0]])
        .collect();
    let surface = Mesh::new(CellKind::Quad, 3, points, flat.topology().cells().to_vec()).unwrap();
    close(integrate(&one.dx(&surface)).unwrap(), 1.0);
}

#[test]
fn rules_follow_the_degree_of_the_integrand() {
    for mesh in meshes().into_iter().skip(1) {
        let x = Expr::position(&mesh).at(0);
        for power in 0..=12 {
            // The first coordinate runs over [0, 2], the others over [0, 1].
            let exact = 2f64.powi(power + 1) / f64::from(power + 1);
            close(
                integrate(&x.pow(f64::from(power)).dx(&mesh)).unwrap(),
                exact,
            );
        }
        let coarse = Measure::cells(&mesh).degree(1);
        let value = integrate(&x.pow(12.0).over(&coarse)).unwrap();
        assert!((value - 2f64.powi(13) / 13.0).abs() > 1.0);
    }
}

#[test]
fn cell_size_is_the_largest_distance_of_two_vertices() {
    for row in table("Size `h` of the cells of a unit box:") {
        let kind = kind_named(&row[0]);
        let (l, u) = ([0.0; 3], [1.0; 3]);
        let mesh = match kind {
            CellKind::Segment => shapes::segments(1, 0.0, 1.0),
            CellKind::Triangle => shapes::rectangle_triangles([1, 1], [0.0; 2], [1.0; 2]),
            CellKind::Quad => shapes::rectangle_quads([1, 1], [0.0; 2], [1.0; 2]),
            CellKind::Tet => shapes::box_tets([1, 1, 1], l, u),
            _ => shapes::box_hexes([1, 1, 1], l, u),
        };
        let mean = integrate(&Expr::cell_size().dx(&mesh.unwrap())).unwrap();
        let under: f64 = row[1].trim_start_matches('√').parse().unwrap();
        close(mean, under.sqrt());
    }
}

#[test]
fn named_groups_add_up_without_counting_twice() {
    let mesh = plane();
    let mut tags = Tags::new();
    tags.insert_cells("a", vec![0, 1, 2]);
    tags.insert_cells("b", vec![2, 3]);
    let mesh = mesh.with_tags(tags).unwrap();
    let both = Measure::cells(&mesh).tagged("a").tagged("b");
    close(
        integrate(&Expr::constant(1.0).over(&both)).unwrap(),
        4.0 / 8.0,
    );
}

#[test]
fn box_sides_have_names() {
    for (mesh, dim) in [(plane(), 2), (space3(), 3)] {
        let rows = table("Names of the sides of boxes, rectangles and grids:");
        for row in rows
            .iter()
            .filter(|r| r[0].starts_with(if dim == 2 { '2' } else { '3' }))
        {
            let axis = (row[1].as_bytes()[0] - b'x') as usize;
            for (name, end) in [(&row[2], 0.0), (&row[3], 1.0)] {
                let x = Expr::position(&mesh).at(axis);
                let name = name.trim_matches('`');
                close(integrate(&x.ds(&mesh, name)).unwrap(), end);
                close(
                    integrate(&Expr::constant(1.0).ds(&mesh, name)).unwrap(),
                    1.0,
                );
            }
        }
    }
}
