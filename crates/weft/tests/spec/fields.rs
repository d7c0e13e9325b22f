//! Chapter 4 and 13.4: fields and spaces.

use crate::common::unit_mesh;
use crate::integral;
use weft::assemble::{evaluate_at, interpolate};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Param};
use weft::geometry::{Geometry, Grid2, Mesh, shapes};
use weft::space::Space;

#[test]
fn spec_13_4_uniform_fields_reach_every_node() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let five = Param::scalar("five", 5.0);
    let field = interpolate(&(&five).into(), &space).unwrap();
    assert_eq!(*field.values(), [5.0; 9]);
    let slope = field.expr().grad();
    assert!(integral(&slope.dot(&slope), &Measure::cells(&grid)).abs() < 1e-26);
    five.set(6.0);
    let again = interpolate(&(&five).into(), &space).unwrap();
    assert_eq!(*again.values(), [6.0; 9]);
}

/// (2x)³ (4y)³, by nodes and with its gradient, 2⁹·3 at the corner; a changed number gives new values.
#[test]
fn spec_13_4_formulas_are_fields() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let x = Expr::position(&grid);
    let scale = Param::scalar("scale", 1.0);
    let f = Expr::from(&scale) * (2.0 * x.at(0)).pow(3.0) * (4.0 * x.at(1)).pow(3.0);
    let exact = |p: [f64; 3]| (2.0 * p[0]).powi(3) * (4.0 * p[1]).powi(3);
    let check = |factor: f64| {
        let field = interpolate(&f, &space).unwrap();
        for (p, v) in space.node_positions().iter().zip(field.values().iter()) {
            assert_eq!(*v, factor * exact(*p));
        }
    };
    check(1.0);
    scale.set(2.0);
    check(2.0);
    scale.set(1.0);
    let corner = evaluate_at(&f.grad(), &crate::share(&grid), &[[1.0, 1.0, 0.0]]).unwrap();
    // The last cell's corner is (1, 1).
    assert_eq!(corner[6..], [512.0 * 3.0; 2]);
}

/// Meshes of the catalogue: 3 × 5 in the plane, 3 × 5 × 7 in space.
fn meshes() -> Vec<Mesh> {
    let kinds = [
        CellKind::Quad,
        CellKind::Hex,
        CellKind::Triangle,
        CellKind::Tet,
    ];
    kinds.map(|kind| unit_mesh(kind, [3, 5, 7])).to_vec()
}

fn dofs(space: &Space) -> [Field; 2] {
    let n = space.dof_count();
    let line = (0..n).map(|k| k as f64 / (n - 1) as f64).collect();
    [line, vec![1.0; n]].map(|values| Field::from_values(space, values).unwrap())
}

#[test]
fn spec_13_4_tangential_and_normal_components_are_continuous() {
    for mesh in meshes() {
        let (n, on) = (Expr::normal(&mesh), Measure::interior(&mesh));
        for (constant, u) in [false, true]
            .into_iter()
            .zip(dofs(&Space::nedelec(&mesh, 1).unwrap()))
        {
            let u = u.expr();
            let t = Expr::side_jacobian(&mesh);
            let jump = u.jump().dot(&t);
            let off = integral(&jump.dot(&jump), &on).sqrt();
            assert!(off < 1e-10, "{:?} tangential: {off:e}", mesh.cell_kind());
            let whole = integral(&u.jump().dot(&u.jump()), &on).sqrt();
            assert!(constant || whole > 1e-3, "the normal component jumps");
        }
        for (constant, u) in [false, true]
            .into_iter()
            .zip(dofs(&Space::raviart_thomas(&mesh, 1).unwrap()))
        {
            let u = u.expr();
            let jump = u.jump().dot(&n);
            let off = integral(&(&jump * &jump), &on).sqrt();
            assert!(off < 1e-10, "{:?} normal: {off:e}", mesh.cell_kind());
            let whole = integral(&u.jump().dot(&u.jump()), &on).sqrt();
            assert!(constant || whole > 1e-3, "the tangential component jumps");
        }
    }
}

/// On simplices ∇u of the lowest Nédélec space is skew, that of Raviart–Thomas a multiple of the
/// identity: of fields, and of test functions, where all entries of the vector are 0.
#[test]
fn spec_13_4_gradients_are_pure_curl_and_pure_divergence() {
    for mesh in meshes().into_iter().filter(|m| !m.cell_kind().is_tensor()) {
        let cells = Measure::cells(&mesh);
        let none = |e: Expr, what: &str| {
            let off = integral(&e.inner(&e), &cells).sqrt();
            assert!(off < 1e-9, "{:?} {what}: {off:e}", mesh.cell_kind());
        };
        let (curls, fluxes) = (
            Space::nedelec(&mesh, 1).unwrap(),
            Space::raviart_thomas(&mesh, 1).unwrap(),
        );
        for u in dofs(&curls) {
            none(u.expr().grad().sym(), "symmetric part");
        }
        for u in dofs(&fluxes) {
            none(u.expr().grad().dev(), "deviator");
        }
        let weights = (0..9).map(|k| Expr::constant(1.0 + (k * k) as f64));
        let dim = mesh.space_dim();
        let shape = weft::form::Shape::Matrix(dim, dim);
        let any = Expr::tensor(shape, weights.take(dim * dim).collect());
        let parts = [
            Expr::test(&curls).grad().sym().inner(&any),
            Expr::test(&fluxes).grad().dev().inner(&any),
        ];
        for part in parts {
            let entries = weft::assemble::vector(&part.over(&cells)).unwrap();
            assert!(
                entries.iter().all(|e| e.abs() < 1e-10),
                "{:?}",
                mesh.cell_kind()
            );
        }
    }
}

/// ∫ 1 + y over both lateral edges of the unit square.
#[test]
fn spec_13_4_the_lateral_edges() {
    let mesh = shapes::rectangle_quads([4, 4], [0.0; 2], [1.0; 2]).unwrap();
    let y = Expr::position(&mesh).at(1);
    let edges = Measure::boundary(&mesh);
    let value = integral(&(1.0 + &y), &edges.clone().tagged("left"))
        + integral(&(1.0 + &y), &edges.tagged("right"));
    assert!((value - 3.0).abs() < 1e-13, "{value}");
}
