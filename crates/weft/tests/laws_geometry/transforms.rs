//! Meshes made from meshes, and meshes that change.

use std::sync::Arc;

use weft::element::CellKind;
use weft::geometry::shapes::*;
use weft::geometry::*;

use super::*;

#[test]
fn refined_meshes_keep_measure_tags_and_laws() {
    for mesh in unit_meshes(2) {
        let dim = mesh.space_dim();
        let half = mesh.with_tag_cells("half", |x| x[0] < 0.5).unwrap();
        let half = half
            .with_tag_vertices("corner", |x| norm(x) == 0.0)
            .unwrap();
        let mut tags = (*half.tags()).clone();
        let t = half.topology();
        tags.insert_sides("inside", t.interior_sides().to_vec());
        let coarse = half.with_tags(tags).unwrap();
        let fine = coarse.refined().unwrap();
        let f = fine.topology();
        check_topology(&f);
        assert_eq!(f.cell_count(), t.cell_count() << dim);
        assert_eq!(
            f.boundary_sides().len(),
            t.boundary_sides().len() << (dim - 1)
        );
        assert_eq!(euler(&f), 1);
        close(total(&fine), 1.0);
        assert!(fine.warnings().is_empty());
        for c in 0..t.cell_count() {
            let children = (c << dim)..((c + 1) << dim);
            let measure = cell_measure(&coarse, c);
            close(
                children
                    .clone()
                    .map(|k| cell_measure(&fine, k))
                    .sum::<f64>(),
                measure,
            );
            for k in children {
                close(cell_measure(&fine, k), measure / (1 << dim) as f64);
            }
        }
        let tags = fine.tags();
        let measure: f64 = tags
            .cells("half")
            .unwrap()
            .iter()
            .map(|&c| cell_measure(&fine, c as usize))
            .sum();
        close(measure, 0.5);
        let corner = tags.vertices("corner").unwrap();
        assert_eq!(positions(&fine.map(), corner), [[0.0; 3]]);
        let coarse_tags = coarse.tags();
        for name in coarse_tags.side_names() {
            let old = coarse_tags.sides(name).unwrap();
            let new = tags.sides(name).unwrap();
            assert_eq!(new.len(), old.len() << (dim - 1), "{name}");
            if dim > 1 {
                let sum = |g: &Mesh, s: &[u32]| -> f64 {
                    s.iter().map(|&s| side_measure(g, s as usize)).sum()
                };
                close(sum(&fine, new), sum(&coarse, old));
            }
            if name == "left" {
                for &s in new {
                    let x = positions(&fine.map(), f.side_vertices(s as usize));
                    assert!(x.iter().all(|x| x[0] == 0.0));
                }
            }
        }
    }
}

#[test]
fn refined_warped_hex_halves_the_trilinear_map() {
    let mut points = CellKind::Hex.vertices().to_vec();
    points[6] = [1.3, 1.2, 1.1];
    let mesh = Mesh::new(CellKind::Hex, 3, points.clone(), (0..8).collect()).unwrap();
    assert_eq!(mesh.map_class(), MapClass::General);
    let fine = mesh.refined().unwrap();
    // Vertices of the child at vertex 0 are images of the half cube.
    let t = fine.topology();
    for (&v, xi) in t.cell_vertices(0).iter().zip(CellKind::Hex.vertices()) {
        let xi = xi.map(|c| c / 2.0);
        let mut image = [0.0; 3];
        for (p, corner) in points.iter().zip(CellKind::Hex.vertices()) {
            let w: f64 = (0..3)
                .map(|d| if corner[d] == 1.0 { xi[d] } else { 1.0 - xi[d] })
                .product();
            image = add(image, p.map(|c| w * c));
        }
        assert!(norm(sub(fine.map().vertex(v), image)) < 1e-14);
    }
}

#[test]
fn scaled_moved_and_mirrored() {
    for mesh in unit_meshes(2) {
        let dim = mesh.space_dim();
        let scaled = mesh.scaled([2.0, 3.0, 0.5]).unwrap();
        close(total(&scaled), [2.0, 6.0, 3.0][dim - 1]);
        assert!(Arc::ptr_eq(&scaled.topology(), &mesh.topology()));
        assert_ne!(scaled.id(), mesh.id());
        let mirrored = mesh.scaled([-1.0, 1.0, 1.0]).unwrap();
        let t = mirrored.topology();
        check_topology(&t);
        close(total(&mirrored), 1.0);
        for name in ["left", "right"] {
            let sides = mirrored.tags();
            let sides = sides.sides(name).unwrap();
            assert_eq!(sides.len(), mesh.tags().sides(name).unwrap().len());
            for &s in sides {
                let x = mirrored.map().mean(t.side_vertices(s as usize))[0];
                close(x, if name == "left" { 0.0 } else { -1.0 });
            }
        }
        let moved = mesh.moved(|x| {
            let mut y = x;
            y[0] += 0.25 * x[dim - 1];
            y
        });
        close(total(&moved.unwrap()), if dim == 1 { 1.25 } else { 1.0 });
    }
    let inside_out = sphere(1).unwrap().scaled([-1.0, -1.0, -1.0]).unwrap();
    let (t, map) = (inside_out.topology(), inside_out.map());
    for c in 0..t.cell_count() {
        let x = positions(&map, t.cell_vertices(c));
        assert!(dot(area_vector(&x), x[0]) > 0.0);
    }
}

#[test]
fn map_class_is_affine_for_parallelograms_only() {
    for mesh in unit_meshes(2) {
        assert_eq!(mesh.map_class(), MapClass::Affine);
        let sheared = mesh.moved(|x| {
            [
                x[0],
                if mesh.space_dim() > 1 {
                    x[1] + 0.3 * x[0]
                } else {
                    0.0
                },
                x[2],
            ]
        });
        assert_eq!(sheared.unwrap().map_class(), MapClass::Affine);
        let bent = mesh
            .moved(|x| [x[0] + 0.1 * x[0] * x[1], x[1], x[2]])
            .unwrap();
        let simplex = matches!(
            mesh.cell_kind(),
            CellKind::Segment | CellKind::Triangle | CellKind::Tet
        );
        let expected = if simplex {
            MapClass::Affine
        } else {
            MapClass::General
        };
        assert_eq!(bent.map_class(), expected);
    }
    assert_eq!(Grid2::unit([2, 2]).unwrap().map_class(), MapClass::Uniform);
}

#[test]
fn reoriented_turns_inverted_cells() {
    for mesh in unit_meshes(2) {
        let (t, map) = (mesh.topology(), mesh.map());
        let points: Vec<_> = map.nodes.iter().map(|&[x, y, z]| [1.0 - x, y, z]).collect();
        let kind = mesh.cell_kind();
        let dim = mesh.space_dim();
        let cells = t.cells().to_vec();
        assert!(matches!(
            Mesh::new(kind, dim, points.clone(), cells.clone()),
            Err(GeometryError::InvertedCell { cell: 0, .. })
        ));
        let turned = Mesh::reoriented(kind, dim, points, cells).unwrap();
        close(total(&turned), 1.0);
        assert_eq!(counts(&turned.topology()), counts(&t));
    }
    let bad = Mesh::reoriented(CellKind::Triangle, 2, SQUARE.to_vec(), vec![0, 1, 9]);
    assert!(matches!(
        bad,
        Err(GeometryError::IndexOutOfRange { index: 9, .. })
    ));
}

#[test]
fn changes_are_all_or_nothing_and_seen_through_every_handle() {
    let mesh = rectangle_quads([2, 2], UNIT2.0, UNIT2.1).unwrap();
    let handle = mesh.clone();
    let (t, tags, map) = (mesh.topology(), mesh.tags(), mesh.map());
    let unchanged = || {
        Arc::ptr_eq(&handle.topology(), &t)
            && Arc::ptr_eq(&handle.tags(), &tags)
            && Arc::ptr_eq(&handle.map(), &map)
    };
    assert_eq!(
        mesh.move_vertices(vec![[0.0; 3]; 3])
            .unwrap_err()
            .to_string(),
        "3 positions for a mesh of 9 points; one position per point is needed"
    );
    let mut nodes = map.nodes.clone();
    nodes[4] = [2.0, 2.0, 0.0];
    assert!(matches!(
        mesh.move_vertices(nodes.clone()),
        Err(GeometryError::FoldedCell { .. })
    ));
    nodes[4] = [f64::INFINITY, 0.5, 0.0];
    assert!(mesh.move_vertices(nodes.clone()).is_err());
    assert!(mesh.rebuild(SQUARE.to_vec(), vec![0, 1, 2, 4]).is_err());
    let mut wrong = Tags::new();
    wrong.insert_cells("x", vec![99]);
    assert!(mesh.retag(wrong).is_err());
    assert!(unchanged());

    nodes[4] = [0.6, 0.5, 0.0];
    mesh.move_vertices(nodes).unwrap();
    assert!(Arc::ptr_eq(&handle.topology(), &t) && Arc::ptr_eq(&handle.tags(), &tags));
    assert_eq!(handle.map().nodes[4], [0.6, 0.5, 0.0]);
    assert_eq!(handle.map_class(), MapClass::General);
    // The old snapshot is as it was.
    assert_eq!(map.nodes[4], [0.5, 0.5, 0.0]);

    mesh.rebuild(SQUARE.to_vec(), vec![0, 1, 2, 3]).unwrap();
    assert!(!Arc::ptr_eq(&handle.topology(), &t));
    assert_eq!(handle.topology().cell_count(), 1);
    assert!(handle.tags().is_empty());
    assert_eq!(handle.id(), mesh.id());
    let mut tags = Tags::new();
    tags.insert_cells("all", vec![0]);
    mesh.retag(tags.clone()).unwrap();
    assert_eq!(*handle.tags(), tags);
    assert_ne!(mesh.clone().with_tags(tags).unwrap().id(), mesh.id());
}

#[test]
fn flipping_an_edge_and_rebuilding_gives_the_new_neighbours() {
    // warp issue 1804: after an edge flip the side → triangle map was stale.
    let mesh = Mesh::new(
        CellKind::Triangle,
        2,
        SQUARE.to_vec(),
        vec![0, 1, 2, 0, 2, 3],
    )
    .unwrap();
    assert!(mesh.topology().find_side(&[0, 2]).is_some());
    mesh.rebuild(SQUARE.to_vec(), vec![0, 1, 3, 1, 2, 3])
        .unwrap();
    let t = mesh.topology();
    assert_eq!(t.find_side(&[0, 2]), None);
    let side = t.find_side(&[1, 3]).unwrap();
    assert_eq!(t.side_cells(side as usize), [0, 1]);
    check_topology(&t);
}
