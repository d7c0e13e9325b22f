//! Errors and warnings: each with its message, and never a panic.

use proptest::prelude::*;
use weft::element::CellKind;
use weft::geometry::shapes::*;
use weft::geometry::*;

use super::*;

fn refused(kind: CellKind, dim: usize, points: &[[f64; 3]], cells: &[u32]) -> String {
    Mesh::new(kind, dim, points.to_vec(), cells.to_vec())
        .unwrap_err()
        .to_string()
}

#[test]
fn errors_say_what_where_and_what_is_accepted() {
    use CellKind::*;
    let mut points = SQUARE.to_vec();
    assert_eq!(
        refused(Triangle, 2, &points, &[0, 1, 2, 0, 2, 4]),
        "cell 1 has index 4 at local position 2; accepted are 0 to 3"
    );
    assert_eq!(
        refused(Triangle, 2, &[], &[0, 1, 2]),
        "cell 0 has index 0 at local position 0; accepted are none: there are no such entities"
    );
    assert_eq!(
        refused(Triangle, 2, &points, &[0, 1, 2, 0]),
        "4 cell indices do not divide into triangles of 3 indices each"
    );
    assert_eq!(
        refused(Quad, 2, &points, &[0, 1, 2, 0]),
        "cell 0 has vertex 0 twice, at local positions 0 and 3; its vertices must be distinct"
    );
    assert_eq!(
        refused(Quad, 2, &points, &[]),
        "the mesh has no cells; at least one is needed"
    );
    assert_eq!(
        refused(Point, 2, &points, &[0]),
        "cells of kind 'point' are not supported; use segment, triangle, quad, tet or hex"
    );
    assert_eq!(
        refused(Tet, 2, &points, &[0, 1, 2, 3]),
        "a mesh of tets needs a space dimension from 3 to 3, not 2"
    );
    assert_eq!(
        refused(Triangle, 4, &points, &[0, 1, 2]),
        "a mesh of triangles needs a space dimension from 2 to 3, not 4"
    );
    assert_eq!(
        refused(Triangle, 2, &points, &[0, 2, 1]),
        "cell 0 is inverted: its volume is -5e-1; reverse its vertices, or let Mesh::reoriented do it"
    );
    assert_eq!(
        refused(Quad, 2, &points, &[0, 3, 2, 1]),
        "cell 0 is inverted: its volume is -1e0; reverse its vertices, or let Mesh::reoriented do it"
    );
    assert_eq!(
        refused(Tet, 3, &points, &[0, 1, 2, 3]),
        "cell 0 is degenerate: its measure is 0e0, zero up to rounding"
    );
    // A bow tie, and a quad with a corner pushed in past its diagonal.
    assert!(refused(Quad, 2, &points, &[0, 2, 1, 3]).contains("cell 0 is folded"));
    points[2] = [0.25, 0.25, 0.0];
    assert_eq!(
        refused(Quad, 2, &points, &[0, 1, 2, 3]),
        "cell 0 is folded: the Jacobian of its map is -5e-1 at local node 3 and positive elsewhere"
    );
    points[2] = [1.0, f64::NAN, 0.0];
    assert_eq!(
        refused(Triangle, 2, &points, &[0, 1, 2]),
        "point 2 is at (1, NaN, 0); coordinates must be finite and at most 1e100 in size"
    );
    points[2] = [1.0, 1.0, 0.5];
    assert_eq!(
        refused(Triangle, 2, &points, &[0, 1, 2]),
        "point 2 is at (1, 1, 0.5), outside the space of dimension 2; coordinates past it must be 0"
    );
    points.push([0.5, 0.5, 1.0]);
    assert_eq!(
        refused(Triangle, 3, &points, &[0, 1, 2, 0, 1, 3, 1, 0, 4]),
        "side (0, 1) belongs to 3 cells: (0, 1, 2); at most two may share a side"
    );
    assert_eq!(
        Mesh::curved(Tet, 3, 0, vec![], vec![])
            .unwrap_err()
            .to_string(),
        "geometry of degree 0 is not supported; accepted are 1 to 10"
    );
    assert!(matches!(
        Mesh::curved(Tet, 3, 11, vec![], vec![]),
        Err(GeometryError::Degree { degree: 11, .. })
    ));
    assert!(matches!(
        Mesh::curved(Triangle, 2, 2, SQUARE.to_vec(), vec![0, 1, 2]),
        Err(GeometryError::Length { per_cell: 6, .. })
    ));
    assert!(matches!(
        Mesh::curved(Triangle, 2, 2, SQUARE.to_vec(), vec![0, 1, 2, 3, 4, 5]),
        Err(GeometryError::IndexOutOfRange {
            cell: 0,
            local: 4,
            index: 4,
            limit: 4
        })
    ));
}

#[test]
fn thin_but_sound_cells_pass_at_any_size_and_place() {
    for scale in [1e-30, 1e-3, 1.0, 1e20] {
        for aspect in [1.0, 1e-6, 1e-9] {
            let points = SQUARE.map(|[x, y, z]| [scale * x, scale * aspect * y, z]);
            for (kind, cells) in [
                (CellKind::Triangle, vec![0, 1, 2]),
                (CellKind::Quad, vec![0, 1, 2, 3]),
            ] {
                Mesh::new(kind, 2, points.to_vec(), cells.clone()).unwrap();
                Mesh::new(kind, 3, points.to_vec(), cells).unwrap();
            }
        }
    }
    // Collinear only up to rounding is degenerate, near the origin and away from it.
    for offset in [0.0, 1.0, 1e6] {
        let points = [0.1, 0.2, 0.7].map(|t: f64| [offset + t, offset + 3.0 * t, 0.0]);
        let error = Mesh::new(CellKind::Triangle, 2, points.to_vec(), vec![0, 1, 2]).unwrap_err();
        assert!(
            matches!(error, GeometryError::DegenerateCell { .. }),
            "{error}"
        );
    }
}

#[test]
fn grid_errors() {
    let text = |r: Result<Grid2, GeometryError>| r.unwrap_err().to_string();
    assert_eq!(
        text(Grid2::unit([3, 0])),
        "the number of cells along each axis must be at least 1, not 0"
    );
    assert_eq!(
        text(Grid2::new([1, 1], [0.0, 1.0], [1.0, 1.0])),
        "bounds 1 to 1 along axis 1 leave no room for 1 cells; the lower must be smaller, both finite and at most 1e100 in size"
    );
    for (a, b) in [
        (1.0, 0.0),
        (f64::NAN, 1.0),
        (0.0, f64::INFINITY),
        (1e15, 1e15 + 1.0),
    ] {
        assert!(matches!(
            Grid3::new([1, 1, 8], [0.0, 0.0, a], [1.0, 1.0, b]),
            Err(GeometryError::Bounds { axis: 2, .. })
        ));
    }
    assert_eq!(
        text(Grid2::unit([100_000, 100_000])),
        "10000200001 vertices are too many; at most 4294967295 can be numbered"
    );
    assert!(Grid3::unit([usize::MAX; 3]).is_err());
    assert!(box_tets([1 << 40, 1, 1], UNIT3.0, UNIT3.1).is_err());
    assert!(disk(0).is_err() && disk(usize::MAX).is_err());
    assert!(sphere(40).is_err() && sphere_quads(usize::MAX).is_err());
}

#[test]
fn tag_errors() {
    let mesh = rectangle_triangles([1, 1], UNIT2.0, UNIT2.1).unwrap();
    let with = |f: &dyn Fn(&mut Tags)| {
        let mut tags = Tags::new();
        f(&mut tags);
        mesh.clone().with_tags(tags).unwrap_err().to_string()
    };
    assert_eq!(
        with(&|t| t.insert_cells("a", vec![2])),
        "tag 'a' lists cell 2; accepted are 0 to 1"
    );
    assert_eq!(
        with(&|t| t.insert_sides("a", vec![5])),
        "tag 'a' lists side 5; accepted are 0 to 4"
    );
    assert_eq!(
        with(&|t| t.insert_vertices("a", vec![0, 4])),
        "tag 'a' lists vertex 4; accepted are 0 to 3"
    );
    assert_eq!(
        with(&|t| t.insert_sides("", vec![0])),
        "a side tag has an empty name"
    );
    assert_eq!(
        mesh.topology()
            .sides_of_tag(&mesh.tags(), "wall")
            .unwrap_err()
            .to_string(),
        "no side tag is named 'wall'; there are: 'bottom', 'left', 'right', 'top'"
    );
    assert_eq!(
        mesh.with_tag_sides("far", |x| x[0] > 5.0)
            .unwrap_err()
            .to_string(),
        "no boundary side was selected for tag 'far'"
    );
    let both = mesh.with_tag_sides("ends", |x| x[0] == 0.0).unwrap();
    let both = both.with_tag_sides("ends", |x| x[0] == 1.0).unwrap();
    assert_eq!(both.tags().sides("ends").unwrap().len(), 2);
    let mut tags = Tags::new();
    tags.insert_cells("a", vec![1, 0, 1]);
    assert_eq!(tags.cells("a"), Some(&[0, 1][..]));
    assert_eq!(
        mesh.scaled([1.0, 0.0, 1.0]).unwrap_err().to_string(),
        "scale factor 0 along axis 1; it must be finite and not 0"
    );
    assert!(mesh.lifted(|_, _| 0.0).unwrap().lifted(|_, _| 0.0).is_err());
}

#[test]
fn warnings_name_what_is_odd() {
    use CellKind::*;
    let text = |kind, dim, points: &[[f64; 3]], cells: &[u32]| -> Vec<String> {
        let mesh = Mesh::new(kind, dim, points.to_vec(), cells.to_vec()).unwrap();
        mesh.warnings().iter().map(|w| w.to_string()).collect()
    };
    let mut points = SQUARE.to_vec();
    points.push([0.0, 1.0 + 1e-14, 0.0]);
    assert_eq!(
        text(Triangle, 2, &points, &[0, 1, 2, 0, 2, 3]),
        [
            "1 points belong to no cell: (4)",
            "1 vertices lie where another vertex lies: 3 and 4"
        ]
    );
    assert_eq!(
        text(Triangle, 2, &SQUARE, &[0, 1, 2, 1, 2, 0])[1..],
        [
            "1 cells have the same vertices as another cell: 0 and 1",
            "at 3 sides the two cells overlap or disagree about orientation: (0, 1, 2)"
        ]
    );
    // A surface whose second triangle is turned over.
    assert_eq!(
        text(Triangle, 3, &SQUARE, &[0, 1, 2, 0, 3, 2]),
        ["at 1 sides the two cells overlap or disagree about orientation: (2)"]
    );
    let mut two = SQUARE.to_vec();
    two.extend(SQUARE.map(|[x, y, z]| [x + 2.0, y, z]));
    assert_eq!(
        text(Quad, 2, &two, &[4, 5, 6, 7, 0, 1, 2, 3]),
        ["the mesh has 2 parts without a common vertex, beginning at cells (0, 1)"]
    );
    // A tet folded over its neighbour's face, onto the same side of it.
    let tets = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.2, 0.2, 0.5],
    ];
    assert_eq!(
        text(Tet, 3, &tets, &[0, 1, 2, 3, 1, 2, 0, 4]),
        ["at 1 sides the two cells overlap or disagree about orientation: (0)"]
    );
    // Segments head to head.
    assert_eq!(
        text(Segment, 2, &SQUARE[..3], &[0, 1, 2, 1]),
        ["at 1 sides the two cells overlap or disagree about orientation: (1)"]
    );
    let many: Vec<[f64; 3]> = (0..14).map(|i| [i as f64, (i * i) as f64, 0.0]).collect();
    assert_eq!(
        text(Triangle, 2, &many, &[0, 1, 2]),
        ["11 points belong to no cell: (3, 4, 5, 6, 7, 8, 9, 10, … (3 more))"]
    );
}

fn kind_strategy() -> impl Strategy<Value = CellKind> {
    prop::sample::select(CellKind::CELLS.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_indices_never_panic(
        kind in kind_strategy(),
        vertices in 0usize..12,
        cells in prop::collection::vec(0u32..13, 0..40),
    ) {
        if let Ok(t) = Topology::build(kind, vertices, cells) {
            check_topology(&t);
            t.components();
        }
    }

    #[test]
    fn random_meshes_never_panic(
        kind in kind_strategy(),
        space_dim in 0usize..5,
        degree in 0usize..4,
        points in prop::collection::vec(
            prop::array::uniform3(prop::sample::select(
                vec![0.0, 1.0, -1.0, 0.5, 1e-300, 1e99, 1e200, f64::NAN, f64::INFINITY],
            )),
            0..12,
        ),
        cells in prop::collection::vec(0u32..12, 0..28),
    ) {
        for mesh in [
            Mesh::new(kind, space_dim, points.clone(), cells.clone()),
            Mesh::reoriented(kind, space_dim, points.clone(), cells.clone()),
            Mesh::curved(kind, space_dim, degree, points.clone(), cells.clone()),
            Mesh::curved_reoriented(kind, space_dim, degree, points.clone(), cells.clone()),
        ].into_iter().flatten() {
            mesh.warnings();
            check_topology(&mesh.topology());
            let _ = mesh.refined();
            let _ = mesh.scaled([-1.0, 2.0, 1e-200]);
        }
    }

    #[test]
    fn random_planar_cells_agree_with_the_shoelace(
        x in prop::array::uniform4(prop::array::uniform2(-8i8..8)),
    ) {
        // With small integers everything is exact.
        let points: Vec<[f64; 3]> = x.iter().map(|p| [f64::from(p[0]), f64::from(p[1]), 0.0]).collect();
        let corner = |i: usize| {
            let (a, b) = (sub(points[(i + 1) % 4], points[i]), sub(points[(i + 3) % 4], points[i]));
            cross(a, b)[2]
        };
        let corners = [0, 1, 2, 3].map(corner);
        let result = Mesh::new(CellKind::Quad, 2, points.clone(), vec![0, 1, 2, 3]);
        if corners.iter().all(|&c| c > 0.0) {
            prop_assert!(result.is_ok());
        } else if corners.iter().all(|&c| c < 0.0) {
            let inverted = matches!(result, Err(GeometryError::InvertedCell { .. }));
            prop_assert!(inverted);
            prop_assert!(Mesh::reoriented(CellKind::Quad, 2, points, vec![0, 1, 2, 3]).is_ok());
        } else {
            let bad = matches!(
                result,
                Err(GeometryError::FoldedCell { .. } | GeometryError::DegenerateCell { .. })
            );
            prop_assert!(bad);
        }
    }
}
