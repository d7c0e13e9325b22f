//! Requests that are refused.

use crate::common::unit_mesh;
use weft::element::{CellKind, Element};
use weft::geometry::{AdaptiveVoxelGrid, Grid2, Grid3, Mark, VoxelMap};
use weft::problem::Dirichlet;
use weft::space::{Space, SpaceError};

fn says<T>(result: Result<T, impl std::fmt::Display>, words: &[&str]) {
    let Err(error) = result else {
        panic!("accepted, but should say {words:?}");
    };
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "`{message}` lacks `{word}`");
    }
}

#[test]
fn cells_and_degrees_without_a_basis_are_refused() {
    for kind in CellKind::CELLS {
        let name = kind.name();
        for degree in [0, 5, usize::MAX] {
            says(
                Element::new_serendipity(kind, degree),
                &[name, "serendipity"],
            );
        }
        for degree in [11, usize::MAX] {
            says(Element::new_polynomial(kind, degree), &[name, "0 to 10"]);
        }
        if kind.is_tensor() {
            for degree in [0, 4, usize::MAX] {
                says(
                    Element::new_spline(kind, degree),
                    &["B-spline", "1 to 3", name],
                );
            }
        } else {
            says(Element::new_serendipity(kind, 3), &["1 to 2", name]);
            says(Element::new_spline(kind, 2), &["B-spline", name, "grid"]);
        }
    }
    for kind in [CellKind::Quad, CellKind::Hex] {
        let space = Space::crouzeix_raviart(&unit_mesh(kind, [2; 3]));
        says(space, &["Crouzeix-Raviart", kind.name(), "triangle or tet"]);
    }
    says(Element::new_bubble(CellKind::Point), &["bubble", "point"]);
}

#[test]
fn splines_need_a_lattice() {
    for kind in [CellKind::Segment, CellKind::Quad, CellKind::Hex] {
        let space = Space::splines(&unit_mesh(kind, [2; 3]), 2);
        says(space, &["B-spline of degree 2", "VoxelGrid"]);
    }
}

#[test]
fn elements_of_other_cells_are_refused() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let element = Element::new_serendipity(CellKind::Hex, 2).unwrap();
    let space = Space::with_element(std::sync::Arc::new(grid), element, true);
    says(space, &["serendipity of degree 2 on a hex", "quad"]);
}

#[test]
fn hanging_nodes_are_for_lagrange_functions_only() {
    let map = VoxelMap::uniform(0.5).unwrap();
    let even = AdaptiveVoxelGrid::from_cells(&[([0; 3], 1), ([2, 0, 0], 1)], map).unwrap();
    // Without hanging nodes all bases are there.
    assert!(Space::serendipity(&even, 2).is_ok() && Space::bubble(&even).is_ok());
    let odd = even.adapted(&[Mark::Refine, Mark::Keep]).unwrap();
    for space in [Space::serendipity(&odd, 2), Space::bubble(&odd)] {
        assert!(matches!(space, Err(SpaceError::Hanging(_))));
    }
    says(
        Space::serendipity(&odd, 3),
        &["serendipity of degree 3", "Lagrange"],
    );
    says(Space::splines(&odd, 2), &["VoxelGrid"]);
    assert!(Space::polynomials(&odd, 2).is_ok());
}

#[test]
fn values_are_not_prescribed_where_nodes_do_not_hold_them() {
    let grid = Grid3::unit([2, 2, 2]).unwrap();
    for space in [
        Space::splines(&grid, 2).unwrap(),
        Space::splines(&grid, 3).unwrap(),
        Space::polynomials(&grid, 2).unwrap(),
    ] {
        says(
            Dirichlet::on(&space, "left"),
            &["weakly", &space.element().name()],
        );
    }
    assert!(Dirichlet::on(&Space::splines(&grid, 1).unwrap(), "left").is_ok());
    assert!(Dirichlet::on(&Space::serendipity(&grid, 3).unwrap(), "left").is_ok());
}
