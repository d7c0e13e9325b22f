//! "Sides of a mesh": inner and outer cell, normals, jumps, what an expression means on a side.

use super::{close, dot, meshes, sub};
use weft::assemble::integrate;
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure};
use weft::geometry::{Geometry, Grid2, Grid3};
use weft::space::Space;

fn center<G: Geometry>(geometry: &G, cell: u32) -> [f64; 3] {
    let topology = geometry.topology();
    geometry.map().mean(topology.cell_vertices(cell as usize))
}

/// ∫ n over one side.
fn normal<G: Geometry + Clone + 'static>(geometry: &G, side: u32) -> [f64; 3] {
    let measure = if geometry.topology().is_boundary(side as usize) {
        Measure::boundary(geometry)
    } else {
        Measure::interior(geometry)
    };
    let n = Expr::normal(geometry);
    let mut out = [0.0; 3];
    for (d, out) in out.iter_mut().enumerate().take(geometry.space_dim()) {
        let form = n.at(d).over(&measure.clone().listed([side]));
        *out = integrate(&form).unwrap();
    }
    out
}

fn check_normals<G: Geometry + Clone + 'static>(geometry: &G) {
    let topology = geometry.topology();
    let map = geometry.map();
    for side in 0..topology.side_count() as u32 {
        let [inner, outer] = topology.side_cells(side as usize);
        let n = normal(geometry, side);
        let middle = map.mean(topology.side_vertices(side as usize));
        assert!(dot(n, sub(middle, center(geometry, inner))) > 0.0);
        if inner != outer {
            assert!(dot(n, sub(center(geometry, outer), middle)) > 0.0);
        }
    }
}

#[test]
fn normals_leave_the_inner_cell() {
    for mesh in meshes() {
        check_normals(&mesh);
    }
    check_normals(&Grid2::unit([3, 2]).unwrap());
    check_normals(&Grid3::unit([2, 2, 3]).unwrap());
}

#[test]
fn the_inner_cell_is_the_smaller_one_and_boundary_sides_have_one_cell() {
    for mesh in meshes() {
        let topology = mesh.topology();
        let kind = mesh.cell_kind();
        for side in 0..topology.side_count() {
            let [inner, outer] = topology.side_cells(side);
            let locals = topology.side_locals(side);
            assert_eq!(topology.is_boundary(side), inner == outer);
            assert!(inner <= outer);
            assert!(inner != outer || locals[0] == locals[1]);
            for (cell, local) in [inner, outer].into_iter().zip(locals) {
                assert_eq!(
                    topology.cell_sides(cell as usize)[local as usize] as usize,
                    side
                );
            }
            // Its vertices stand in the inner cell's order.
            let cell = topology.cell_vertices(inner as usize);
            let order = kind.side_vertices(locals[0] as usize);
            let expected: Vec<u32> = order.iter().map(|&v| cell[v as usize]).collect();
            assert_eq!(topology.side_vertices(side), expected);
        }
    }
}

#[test]
fn sides_of_meshes_are_numbered_by_first_appearance() {
    for mesh in meshes() {
        let topology = mesh.topology();
        let mut next = 0;
        for cell in 0..topology.cell_count() {
            for &side in topology.cell_sides(cell) {
                assert!(side <= next);
                next = next.max(side + 1);
            }
        }
        if mesh.cell_kind().dim() == 2 {
            assert_eq!(topology.edge_count(), topology.side_count());
            assert_eq!(topology.cell_edges(1), topology.cell_sides(1));
        }
    }
}

#[test]
fn the_normal_of_a_grid_side_points_along_its_axis_except_at_the_lower_end() {
    let grid = Grid2::unit([3, 2]).unwrap();
    let topology = grid.topology();
    for side in 0..topology.side_count() as u32 {
        let axis = if side < 6 || (12..14).contains(&side) {
            0
        } else {
            1
        };
        let [inner, outer] = topology.side_cells(side as usize);
        let lower_end = side < 12 && inner == outer;
        let n = normal(&grid, side);
        assert!(
            if lower_end {
                n[axis] < 0.0
            } else {
                n[axis] > 0.0
            },
            "side {side}"
        );
        close(n[1 - axis], 0.0);
        assert!(lower_end || inner == outer || inner < outer);
    }
}

#[test]
fn jump_is_inside_minus_outside() {
    for mesh in meshes()
        .into_iter()
        .filter(|m| m.cell_kind() != CellKind::Segment)
    {
        let space = Space::discontinuous(&mesh, 0).unwrap();
        let field = Field::zeros(&space);
        for (cell, value) in field.values_mut().iter_mut().enumerate() {
            *value = (cell * cell) as f64;
        }
        let f = field.expr();
        let value = |e: &Expr, side: u32| {
            let here = Measure::interior(&mesh).listed([side]);
            let size = integrate(&Expr::constant(1.0).over(&here)).unwrap();
            integrate(&e.over(&here)).unwrap() / size
        };
        let topology = mesh.topology();
        for &side in topology.interior_sides() {
            let [inner, outer] = topology.side_cells(side as usize).map(|c| (c * c) as f64);
            close(value(&f.inside(), side), inner);
            close(value(&f.outside(), side), outer);
            close(value(&f.jump(), side), inner - outer);
            close(value(&f.avg(), side), 0.5 * (inner + outer));
            // Without a word it is the inside.
            close(value(&f, side), inner);
        }
    }
}

#[test]
fn on_the_boundary_and_in_cells_inside_and_outside_are_the_same() {
    for mesh in meshes() {
        let space = Space::lagrange(&mesh, 2).unwrap();
        let field = Field::zeros(&space);
        for (k, value) in field.values_mut().iter_mut().enumerate() {
            *value = (k as f64).sin();
        }
        let f = field.expr();
        for measure in [Measure::boundary(&mesh), Measure::cells(&mesh)] {
            close(integrate(&f.jump().over(&measure)).unwrap(), 0.0);
            let one = integrate(&f.over(&measure)).unwrap();
            close(integrate(&f.outside().over(&measure)).unwrap(), one);
        }
    }
}

#[test]
fn both_cells_see_the_same_points_of_a_side() {
    for mesh in meshes() {
        // Each cell's own copy of the coordinates, so that a mismatch would show as a jump.
        let x = Expr::position(&mesh);
        let space = Space::discontinuous(&mesh, 1)
            .unwrap()
            .vector(mesh.space_dim())
            .unwrap();
        let copy = weft::assemble::interpolate(&x, &space).unwrap();
        let jump = copy.expr().jump();
        let total = jump.inner(&jump).over(&Measure::interior(&mesh));
        assert!(integrate(&total).unwrap() < 1e-28);
    }
}

#[test]
fn every_side_counts_once() {
    let one = Expr::constant(1.0);
    // The unit square in 3 × 2 squares, and each cut in two triangles.
    let quads = weft::geometry::shapes::rectangle_quads([3, 2], [0.0; 2], [1.0; 2]).unwrap();
    close(
        integrate(&one.over(&Measure::boundary(&quads))).unwrap(),
        4.0,
    );
    close(
        integrate(&one.over(&Measure::interior(&quads))).unwrap(),
        3.0,
    );
    // The boundary has no net normal, and ∫ x·n is the dimension times the volume.
    for mesh in meshes().into_iter().skip(1) {
        let (x, n) = (Expr::position(&mesh), Expr::normal(&mesh));
        let all = Measure::boundary(&mesh);
        let volume = integrate(&one.dx(&mesh)).unwrap();
        close(
            integrate(&x.dot(&n).over(&all)).unwrap(),
            mesh.space_dim() as f64 * volume,
        );
        for d in 0..mesh.space_dim() {
            close(integrate(&n.at(d).over(&all)).unwrap(), 0.0);
        }
    }
}
