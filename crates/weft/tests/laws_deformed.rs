//! Laws of deformed geometries: measures, normals, numbering and updates.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
use std::sync::Arc;
use weft::assemble::{Deformation, evaluate_at, integrate};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Scope, Shape};
use weft::geometry::{
    AdaptiveVoxelGrid, Deformed, Geometry, GeometryError, Grid2, Mesh, VoxelMap, frame_at, locate,
    shapes,
};
use weft::partition::Batch;
use weft::space::Space;

fn text<G: Geometry + Clone + 'static>(geometry: &G, source: &str) -> Expr {
    Scope::new(Arc::new(geometry.clone()))
        .expression(source)
        .unwrap()
}

fn measure<G: Geometry + Clone + 'static>(geometry: &G) -> f64 {
    integrate(&Expr::constant(1.0).over(&Measure::cells(geometry).degree(20))).unwrap()
}

fn side_measure<G: Geometry + Clone + 'static>(geometry: &G, tag: &str) -> f64 {
    let sides = Measure::boundary(geometry).tagged(tag).degree(20);
    integrate(&Expr::constant(1.0).over(&sides)).unwrap()
}

/// The unit square mapped to a quarter annulus of radii ½ and 3/2.
fn annulus(cells: usize, degree: usize) -> Deformation {
    let grid = Grid2::unit([cells; 2]).unwrap();
    let position = text(
        &grid,
        "(x[1] + 0.5)*[cos(pi/2*(1 - x[0])), sin(pi/2*(1 - x[0]))]",
    );
    Deformation::to(&grid, &position, degree).unwrap()
}

#[test]
fn area_of_an_annulus_converges_with_twice_the_degree() {
    for degree in 1..=4 {
        let errors: Vec<f64> = [4, 8]
            .map(|n| (measure(annulus(n, degree).geometry()) - FRAC_PI_2).abs())
            .to_vec();
        let rate = (errors[0] / errors[1]).log2();
        let expected = 2.0 * degree as f64;
        assert!(
            rate > expected - 0.3,
            "degree {degree}: rate {rate}, errors {errors:?}"
        );
    }
}

#[test]
fn arcs_of_an_annulus_have_their_lengths() {
    let moved = annulus(12, 4);
    let inner = side_measure(moved.geometry(), "bottom");
    let outer = side_measure(moved.geometry(), "top");
    assert!((inner - FRAC_PI_4).abs() < 1e-9, "{inner}");
    assert!((outer - 3.0 * FRAC_PI_4).abs() < 1e-9, "{outer}");
}

#[test]
fn diffusion_on_the_annulus_is_symmetric_in_its_axes() {
    let moved = annulus(8, 2);
    let geometry = moved.geometry();
    let space = Space::lagrange(geometry, 2).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = weft::form::inner(&u.grad(), &v.grad()).dx(geometry);
    let held = ["left", "right"].map(|side| weft::problem::Dirichlet::on(&space, side).unwrap());
    let solver = weft::problem::Solver::cg();
    let u = weft::problem::solve(&a, &v.dx(geometry), &held, solver).unwrap();
    let at = |x: f64, y: f64| {
        let (cell, xi) = locate(geometry, [x, y, 0.0], 1e-9).unwrap();
        u.evaluate(cell, xi).unwrap().value[0]
    };
    let tree = weft::geometry::Locator::new(geometry);
    for (x, y) in [(0.9, 0.3), (0.2, 1.1), (0.7, 0.6)] {
        // Its lattice of nodes does not make it a grid.
        assert_eq!(
            tree.find([x, y, 0.0], 1e-9).map(|l| l.cell),
            locate(geometry, [x, y, 0.0], 1e-9).map(|l| l.0)
        );
        assert!((at(x, y) - at(y, x)).abs() < 1e-8);
    }
}

#[test]
fn a_rigid_motion_scaled_by_two() {
    let (s, c) = FRAC_PI_4.sin_cos();
    for mesh in [
        shapes::box_tets([2; 3], [0.0; 3], [1.0; 3]).unwrap(),
        shapes::box_hexes([2; 3], [0.0; 3], [1.0; 3]).unwrap(),
    ] {
        let space = Space::lagrange(&mesh, 2).unwrap().vector(3).unwrap();
        // Twice a rotation about y, moved: absolute, by a field of degree 2.
        let position = text(
            &mesh,
            &format!("[1 + 2*({c}*x[0] + {s}*x[2]), 2*x[1] - 3, 2*({c}*x[2] - {s}*x[0])]"),
        );
        let field = weft::assemble::interpolate(&position, &space).unwrap();
        let moved = Deformation::to(&mesh, &field.expr(), 2).unwrap();
        let geometry = moved.geometry();
        assert!((measure(geometry) - 8.0).abs() < 1e-12);
        assert!((side_measure(geometry, "top") - 4.0).abs() < 1e-12);
        // The normal of z = 1 turns with the body.
        let n = Expr::normal(geometry);
        let top = Measure::boundary(geometry).tagged("top");
        let flux = |e: Expr| integrate(&e.over(&top)).unwrap();
        assert!((flux(n.at(0)) - 4.0 * s).abs() < 1e-12);
        assert!(flux(n.at(1)).abs() < 1e-12);
        assert!((flux(n.at(2)) - 4.0 * c).abs() < 1e-12);
    }
}

#[test]
fn a_surface_in_space_follows() {
    let flat = shapes::rectangle_quads([6, 6], [0.0; 2], [1.0; 2]).unwrap();
    let sheet = flat.lifted(|_, _| 0.0).unwrap();
    // Rolled to a quarter cylinder of radius 2/π, which keeps its area.
    let rolled = text(
        &sheet,
        "[2/pi*sin(pi/2*x[0]), x[1], 2/pi*(1 - cos(pi/2*x[0]))]",
    );
    let moved = Deformation::to(&sheet, &rolled, 3).unwrap();
    assert!((measure(moved.geometry()) - 1.0).abs() < 1e-6);
}

#[test]
fn relative_motion_of_a_curved_mesh_keeps_its_degree() {
    let disk = shapes::disk(3).unwrap().elevated(2).unwrap();
    let still = Deformation::by(&disk, &Expr::zero(Shape::Vector(2)), 1).unwrap();
    assert_eq!(still.geometry().map().degree, 2);
    assert!((measure(still.geometry()) - measure(&disk)).abs() < 1e-14);
}

#[test]
fn updates_follow_the_field_and_fail_whole() {
    let mesh = shapes::rectangle_triangles([3, 3], [0.0; 2], [1.0; 2]).unwrap();
    let space = Space::lagrange(&mesh, 1).unwrap().vector(2).unwrap();
    let field = Field::zeros(&space);
    let mut moved = Deformation::by(&mesh, &field.expr(), 1).unwrap();
    let geometry = moved.geometry().clone();
    let stretch = weft::assemble::interpolate(&text(&mesh, "[x[0], 0]"), &space).unwrap();
    field.values_mut().copy_from_slice(&stretch.values());
    assert!(
        (measure(&geometry) - 1.0).abs() < 1e-14,
        "not before the update"
    );
    moved.update().unwrap();
    assert!((measure(&geometry) - 2.0).abs() < 1e-14);
    let before = geometry.map();
    for bad in ["[-3*x[0], 0]", "[ln(x[0] - 1), 0]"] {
        let turned = weft::assemble::interpolate(&text(&mesh, bad), &space).unwrap();
        field.values_mut().copy_from_slice(&turned.values());
        assert!(moved.update().is_err(), "{bad}");
        assert!(
            Arc::ptr_eq(&before, &geometry.map()),
            "a failed update changes nothing"
        );
    }
}

#[test]
fn numbering_and_vertices_are_the_base_s() {
    let grid = Grid2::new([3, 2], [0.0, 0.0], [3.0, 2.0]).unwrap();
    let moved = Deformation::by(&grid, &text(&grid, "[0.1*x[1], 0.05*x[0]]"), 2).unwrap();
    let geometry = moved.geometry();
    let (plain, deformed) = (
        Space::lagrange(&grid, 3).unwrap(),
        Space::lagrange(geometry, 3).unwrap(),
    );
    for cell in 0..6 {
        assert_eq!(plain.cell_nodes(cell), deformed.cell_nodes(cell));
    }
    let (from, to) = (grid.map(), geometry.map());
    for vertex in 0..12 {
        let (x, y) = (from.vertex(vertex), to.vertex(vertex));
        assert!((y[0] - x[0] - 0.1 * x[1]).abs() < 1e-14);
        assert!((y[1] - x[1] - 0.05 * x[0]).abs() < 1e-14);
    }
    let frame = frame_at(geometry, 0, [0.5, 0.5, 0.0]);
    assert!((frame.measure - (1.0 - 0.1 * 0.05)).abs() < 1e-14);
    let x = evaluate_at(
        &Expr::position(geometry),
        &(Arc::new(geometry.clone()) as Arc<dyn Geometry>),
        &[[0.0; 3]],
    )
    .unwrap();
    assert!(x[..2].iter().all(|c| c.abs() < 1e-14));
}

fn image([x, y, z]: [f64; 3]) -> [f64; 3] {
    [x + 0.1 * y * z, y - 0.05 * x, z + 0.02 * x * x]
}

const IMAGE: &str = "[x[0] + 0.1*x[1]*x[2], x[1] - 0.05*x[0], x[2] + 0.02*x[0]*x[0]]";

fn check_vertices(geometry: &Deformed, base: &dyn Geometry, factor: f64) {
    let (from, to) = (base.map(), geometry.map());
    assert_eq!(to.vertex_count(), base.topology().vertex_count());
    for vertex in 0..to.vertex_count() as u32 {
        let wanted = image(from.vertex(vertex)).map(|c| factor * c);
        let found = to.vertex(vertex);
        let off = (0..3).map(|d| (wanted[d] - found[d]).abs());
        assert!(
            off.fold(0.0, f64::max) < 1e-13,
            "{vertex}: {found:?} {wanted:?}"
        );
    }
}

/// Corners of parts of boundary faces, which no cell has, move with the cell they lie on.
#[test]
fn issue_004_corners_that_no_cell_has() {
    let map = VoxelMap::uniform(0.5).unwrap();
    for cells in [
        vec![([0; 3], 1), ([2, 0, 0], 0)],
        vec![([0; 3], 2), ([4, 1, 1], 0), ([0, 4, 3], 0), ([-2, 0, 2], 1)],
    ] {
        let grid = AdaptiveVoxelGrid::from_cells(&cells, map).unwrap();
        let moved = Deformation::to(&grid, &text(&grid, IMAGE), 2).unwrap();
        let geometry = moved.geometry();
        check_vertices(geometry, &grid, 1.0);
        let given = Space::lagrange(&grid, 2).unwrap().all_node_count();
        let mut nodes = geometry.map().nodes.clone();
        assert!(nodes.len() > given, "the grid has such corners");
        assert!(matches!(
            geometry.move_nodes(nodes.clone()),
            Err(GeometryError::PointCount { expected, .. }) if expected == given
        ));
        nodes.truncate(given);
        let twice = nodes.iter().map(|x| x.map(|c| 2.0 * c)).collect();
        geometry.move_nodes(twice).unwrap();
        check_vertices(geometry, &grid, 2.0);
        nodes[0] = [f64::NAN; 3];
        assert!(matches!(
            geometry.move_nodes(nodes),
            Err(GeometryError::BadCoordinate { point: 0, .. })
        ));
        check_vertices(geometry, &grid, 2.0);
        let batch = Batch::new(Arc::new(grid), 2).unwrap();
        let moved = Deformation::to(&batch, &text(&batch, IMAGE), 2).unwrap();
        check_vertices(moved.geometry(), &batch, 1.0);
    }
    // A vertex that nothing uses stays where it is.
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [5.0, 5.0, 0.0], [0.0, 1.0, 0.0]];
    let mesh = Mesh::new(CellKind::Triangle, 2, points, vec![0, 1, 3]).unwrap();
    let moved = Deformation::to(&mesh, &text(&mesh, "[x[0] + 1, x[1]]"), 2).unwrap();
    let map = moved.geometry().map();
    let vertices = [0, 1, 2, 3].map(|v| map.vertex(v));
    assert_eq!(vertices[2], [5.0, 5.0, 0.0]);
    assert!((vertices[1][0] - 2.0).abs() < 1e-14);
}

/// Neighbours must have the nodes of their common side in common, in every degree.
#[test]
fn issue_004_gaps_at_sides_are_refused() {
    for kind in CellKind::CELLS {
        let mesh = match kind {
            CellKind::Segment => shapes::segments(2, 0.0, 1.0),
            CellKind::Triangle => shapes::rectangle_triangles([1, 1], [0.0; 2], [1.0; 2]),
            CellKind::Quad => shapes::rectangle_quads([2, 1], [0.0; 2], [1.0; 2]),
            CellKind::Tet => shapes::box_tets([1; 3], [0.0; 3], [1.0; 3]),
            _ => shapes::box_hexes([2, 1, 1], [0.0; 3], [1.0; 3]),
        };
        let mesh = mesh.unwrap();
        for degree in 1..=3 {
            let map = match degree {
                1 => mesh.map(),
                _ => mesh.elevated(degree).unwrap().map(),
            };
            let base: Arc<dyn Geometry> = Arc::new(mesh.clone());
            let shared = map.cell_nodes.to_vec();
            Deformed::new(base.clone(), degree, map.nodes.clone(), shared.clone()).unwrap();
            // Each cell with nodes of its own, in the same places.
            let own: Vec<[f64; 3]> = shared.iter().map(|&n| map.nodes[n as usize]).collect();
            let numbers = (0..own.len() as u32).collect();
            assert!(
                matches!(
                    Deformed::new(base, degree, own, numbers),
                    Err(GeometryError::SideNodes { .. })
                ),
                "{kind:?} {degree}"
            );
        }
    }
}

/// Maps that differ in positions only share their connectivity.
#[test]
fn issue_004_moves_share_connectivity() {
    let mesh = shapes::disk(3).unwrap().elevated(2).unwrap();
    let moved = Deformation::by(&mesh, &Expr::zero(Shape::Vector(2)), 2).unwrap();
    let geometry = moved.geometry();
    let [a, b] = [mesh.map(), geometry.map()];
    let larger = |nodes: &[[f64; 3]]| nodes.iter().map(|x| x.map(|c| 2.0 * c)).collect();
    mesh.move_vertices(larger(&a.nodes)).unwrap();
    geometry.move_nodes(larger(&b.nodes)).unwrap();
    let copy = mesh.moved(|x| [x[0] + 1.0, x[1], 0.0]).unwrap();
    for (old, new) in [(&a, mesh.map()), (&a, copy.map()), (&b, geometry.map())] {
        assert!(Arc::ptr_eq(&old.cell_nodes, &new.cell_nodes));
        let vertices = [&old.vertex_nodes, &new.vertex_nodes].map(|v| v.as_ref().unwrap());
        assert!(Arc::ptr_eq(vertices[0], vertices[1]));
    }
}
