//! The map of a cell backwards, boxes around cells, coordinates of sides.

use crate::common::{Random, all_cases};
use weft::geometry::*;

#[test]
fn coordinates_are_those_that_lead_to_the_point() {
    let mut random = Random(17);
    for case in all_cases() {
        let (mesh, kind) = (&case.mesh, case.mesh.cell_kind());
        let straight = mesh.map_class() != MapClass::General;
        for cell in 0..mesh.topology().cell_count() {
            for _ in 0..10 {
                let xi = random.point(kind);
                let x = frame_at(mesh, cell, xi).position;
                let back = cell_coordinates(mesh, cell, x).unwrap();
                for d in 0..3 {
                    assert!(
                        (back[d] - xi[d]).abs() < 1e-11,
                        "{} {xi:?} {back:?}",
                        case.name
                    );
                }
                // Outside: far where the map is affine, near where it is bent.
                let far = if straight { 10.0 } else { 1.2 };
                let center = kind.center();
                let out: [f64; 3] = std::array::from_fn(|d| center[d] + far * (xi[d] - center[d]));
                let x = frame_at(mesh, cell, out).position;
                let back = cell_coordinates(mesh, cell, x).unwrap();
                let again = frame_at(mesh, cell, back).position;
                for d in 0..3 {
                    assert!(
                        (again[d] - x[d]).abs() < 1e-11 * far,
                        "{} {out:?}",
                        case.name
                    );
                }
            }
        }
    }
}

/// Beside a surface or curve: of the point straight below.
#[test]
fn points_beside_a_surface_have_the_coordinates_of_their_foot() {
    let mut random = Random(18);
    let mesh = shapes::rectangle_triangles([3, 2], [0.0; 2], [2.0, 1.0]).unwrap();
    let mesh = mesh.lifted(|x, y| 0.5 * x - y).unwrap();
    let normal = [-0.5, 1.0, 1.0].map(|c| c / 1.5);
    for cell in 0..mesh.topology().cell_count() {
        let xi = random.point(mesh.cell_kind());
        let foot = frame_at(&mesh, cell, xi).position;
        let x = std::array::from_fn(|d| foot[d] + 0.7 * normal[d]);
        let back = cell_coordinates(&mesh, cell, x).unwrap();
        assert!(
            (0..3).all(|d| (back[d] - xi[d]).abs() < 1e-13),
            "{xi:?} {back:?}"
        );
    }
}

#[test]
fn what_has_no_coordinates_has_none() {
    for case in all_cases() {
        let mesh = &case.mesh;
        let cells = mesh.topology().cell_count();
        let inside = frame_at(mesh, 0, mesh.cell_kind().center()).position;
        assert!(cell_coordinates(mesh, 0, inside).is_some());
        assert_eq!(cell_coordinates(mesh, cells, inside), None);
        assert_eq!(cell_coordinates(mesh, usize::MAX, inside), None);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(
                cell_coordinates(mesh, 0, [bad, 0.0, 0.0]),
                None,
                "{}",
                case.name
            );
        }
        assert_eq!(cell_bounds(mesh, cells), None);
    }
    // A parabola bends back: no point of it has x > 1.
    let nodes = vec![[0.0; 3], [0.0, 1.0, 0.0], [1.0, 0.5, 0.0]];
    let arc = Mesh::curved(weft::element::CellKind::Segment, 2, 2, nodes, vec![0, 2, 1]).unwrap();
    if let Some(xi) = cell_coordinates(&arc, 0, [50.0, 0.5, 0.0]) {
        // Stationary, then.
        let at = frame_at(&arc, 0, xi);
        let off = [50.0 - at.position[0], 0.5 - at.position[1]];
        let slope = off[0] * at.jacobian[0][0] + off[1] * at.jacobian[1][0];
        assert!(slope.abs() < 1e-8, "{xi:?} {slope}");
    }
}

#[test]
fn boxes_contain_their_cells() {
    let mut random = Random(19);
    for case in all_cases() {
        let (mesh, kind) = (&case.mesh, case.mesh.cell_kind());
        let (map, topology) = (mesh.map(), mesh.topology());
        for cell in 0..topology.cell_count() {
            let [low, high] = cell_bounds(mesh, cell).unwrap();
            for _ in 0..20 {
                let x = frame_at(mesh, cell, random.point(kind)).position;
                assert!(
                    (0..3).all(|d| low[d] <= x[d] && x[d] <= high[d]),
                    "{}",
                    case.name
                );
            }
            for d in mesh.space_dim()..3 {
                assert_eq!((low[d], high[d]), (0.0, 0.0));
            }
            if map.degree == 1 {
                // Tight up to rounding.
                for d in 0..mesh.space_dim() {
                    let of = |v: &u32| map.vertex(*v)[d];
                    let vertices = topology.cell_vertices(cell).iter().map(of);
                    let least = vertices.clone().fold(f64::INFINITY, f64::min);
                    let most = vertices.fold(f64::NEG_INFINITY, f64::max);
                    assert!(
                        least - low[d] < 1e-12 && high[d] - most < 1e-12,
                        "{}",
                        case.name
                    );
                }
            }
        }
    }
}

#[test]
fn sides_have_coordinates_of_their_own() {
    let mut random = Random(20);
    for case in all_cases() {
        let mesh = &case.mesh;
        let (topology, kind) = (mesh.topology(), mesh.cell_kind());
        for side in 0..topology.side_count() {
            for map in mesh.side_maps(&topology, side) {
                let s = random.point(kind.side_kind());
                let back = map.coordinates(map.apply(s));
                assert!(
                    (0..3).all(|d| (back[d] - s[d]).abs() < 1e-13),
                    "{}",
                    case.name
                );
                assert!(map.holds(map.apply(s)));
            }
        }
    }
}
