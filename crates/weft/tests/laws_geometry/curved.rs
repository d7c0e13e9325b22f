//! Curved meshes.

use weft::element::CellKind;
use weft::geometry::shapes::*;
use weft::geometry::*;

use super::*;

/// If two cells disagreed about the order of the nodes they share, the map of one would not be
/// affine.
#[test]
fn elevated_meshes_are_the_same_meshes() {
    for mesh in unit_meshes(2) {
        let t = mesh.topology();
        // Renumber the vertices so that edges and faces are seen in many orders.
        let p = permutation(t.vertex_count(), 7);
        let mut points = vec![[0.0; 3]; t.vertex_count()];
        for (v, &w) in p.iter().enumerate() {
            points[w as usize] = mesh.map().nodes[v];
        }
        let cells = t.cells().iter().map(|&v| p[v as usize]).collect();
        let base = Mesh::new(mesh.cell_kind(), mesh.space_dim(), points, cells).unwrap();
        let base = base.with_tags((*mesh.tags()).clone()).unwrap();
        for degree in 1..=5 {
            let high = base.elevated(degree).unwrap();
            let u = high.topology();
            assert_eq!(counts(&u), counts(&t));
            assert_eq!(u.cells(), base.topology().cells());
            assert_eq!(high.tags(), base.tags());
            assert_eq!(high.map_class(), MapClass::Affine);
            assert!(high.warnings().is_empty(), "{:?}", high.warnings());
            close(total(&high), 1.0);
            // All lattice points of the unit body, each once.
            let nodes = &high.map().nodes;
            let vertex_count = match mesh.cell_kind() {
                CellKind::Tet => {
                    // Vertices, edges, faces, cells by the interior node counts.
                    let q = degree - 1;
                    u.vertex_count()
                        + u.edge_count() * q
                        + u.side_count() * q * degree.saturating_sub(2) / 2
                        + u.cell_count() * q * degree.saturating_sub(2) * degree.saturating_sub(3)
                            / 6
                }
                _ => (2 * degree + 1).pow(mesh.space_dim() as u32),
            };
            assert_eq!(nodes.len(), vertex_count);
        }
    }
    let mesh = sphere(0).unwrap().elevated(3).unwrap();
    assert_eq!(
        mesh.elevated(2).unwrap_err().to_string(),
        "a mesh of degree 3 cannot have its degree lowered to 2"
    );
    assert!(mesh.elevated(11).is_err() && mesh.elevated(0).is_err());
}

#[test]
fn refined_curved_meshes_lie_on_their_parents() {
    // A quadratic map of the unit body; a curved mesh of degree 2 represents it exactly, so its
    // refinement is the refinement of the straight mesh under the same map.
    let bend = |[x, y, z]: [f64; 3]| {
        [
            x + 0.2 * x * y,
            y - 0.1 * x * x + 0.05 * z * y,
            z + 0.1 * x * y,
        ]
    };
    let bend2 = |[x, y, _]: [f64; 3]| [x + 0.2 * x * y, y - 0.1 * x * x, 0.0];
    let bend1 = |[x, _, _]: [f64; 3]| [x + 0.2 * x * x, 0.0, 0.0];
    for mesh in unit_meshes(2) {
        let map = |x: [f64; 3]| match mesh.space_dim() {
            1 => bend1(x),
            2 => bend2(x),
            _ => bend(x),
        };
        for degree in 2..=4 {
            let curved = mesh.elevated(degree).unwrap().moved(map).unwrap();
            let fine = curved.refined().unwrap();
            let expected = mesh
                .refined()
                .unwrap()
                .elevated(degree)
                .unwrap()
                .moved(map)
                .unwrap();
            assert_eq!(fine.tags(), expected.tags());
            assert_eq!(fine.topology().cells(), expected.topology().cells());
            let (a, b) = (fine.map(), expected.map());
            assert_eq!(a.cell_nodes, b.cell_nodes);
            for (x, y) in a.nodes.iter().zip(&b.nodes) {
                assert!(norm(sub(*x, *y)) < 1e-14, "{:?} {degree}", mesh.cell_kind());
            }
            check_topology(&fine.topology());
        }
    }
}

#[test]
fn a_curved_sphere_converges_to_the_sphere() {
    // Interpolation of degree p is off by O(h^(p+1)); by symmetry even degrees gain one more.
    let onto = |x: [f64; 3]| x.map(|c| c / norm(x));
    let shapes: [fn(usize) -> Result<Mesh, GeometryError>; 2] = [sphere, sphere_quads];
    for shape in shapes {
        for degree in 1..=4 {
            let gap = |level: usize| {
                let curved = shape(level).unwrap().elevated(degree).unwrap();
                let fine = curved.moved(onto).unwrap().refined().unwrap();
                let map = fine.map();
                let off = map.nodes.iter().map(|&x| (norm(x) - 1.0).abs());
                off.fold(0.0, f64::max)
            };
            let rate = (gap(2) / gap(3)).log2();
            let expected = (degree + 1 + (degree + 1) % 2) as f64;
            assert!(rate > expected - 0.3, "degree {degree}: rate {rate}");
        }
    }
}

/// A triangle of degree 2 with its edge 12 bent outwards.
fn bent_triangle(bulge: f64) -> (Vec<[f64; 3]>, Vec<u32>) {
    let nodes = vec![
        [0.5, 0.0, 0.0], // edge 01
        [0.0, 0.0, 0.0],
        [0.5 + bulge, 0.5 + bulge, 0.0], // edge 12
        [1.0, 0.0, 0.0],
        [0.0, 0.5, 0.0], // edge 20
        [0.0, 1.0, 0.0],
    ];
    (nodes, vec![1, 3, 5, 0, 2, 4])
}

#[test]
fn curved_meshes_keep_vertices_in_node_order() {
    let (nodes, cells) = bent_triangle(0.1);
    let mesh = Mesh::curved(CellKind::Triangle, 2, 2, nodes.clone(), cells.clone()).unwrap();
    let map = mesh.map();
    assert_eq!(map.degree, 2);
    assert_eq!(map.vertex_nodes.as_deref(), Some(&vec![1, 3, 5]));
    assert_eq!(mesh.topology().cell_vertices(0), [0, 1, 2]);
    assert_eq!(map.vertex(1), [1.0, 0.0, 0.0]);
    assert_eq!(mesh.map_class(), MapClass::General);
    let (straight, _) = bent_triangle(0.0);
    let mesh = Mesh::curved(CellKind::Triangle, 2, 2, straight, cells.clone()).unwrap();
    assert_eq!(mesh.map_class(), MapClass::Affine);
    // Bent so far in that the map folds at a node; the exact limit is a quarter of the edge.
    let (folded, _) = bent_triangle(-0.3);
    let error = Mesh::curved(CellKind::Triangle, 2, 2, folded, cells).unwrap_err();
    assert!(
        matches!(error, GeometryError::FoldedCell { cell: 0, .. }),
        "{error}"
    );
    let mirrored = Mesh::curved(
        CellKind::Triangle,
        2,
        2,
        nodes.clone(),
        vec![1, 5, 3, 4, 2, 0],
    );
    assert!(matches!(mirrored, Err(GeometryError::InvertedCell { .. })));
    let turned =
        Mesh::curved_reoriented(CellKind::Triangle, 2, 2, nodes, vec![1, 5, 3, 4, 2, 0]).unwrap();
    assert_eq!(turned.map().cell_nodes[..], [1, 3, 5, 0, 2, 4]);
}

#[test]
fn curved_meshes_of_every_kind_and_degree() {
    // Lattice numbering of tensor cells stated once more, independently.
    for p in 1..=4usize {
        let m = p + 1;
        let x = |i: usize| i as f64 / p as f64;
        let quads: Vec<[f64; 3]> = (0..m * m).map(|n| [x(n / m), x(n % m), 0.0]).collect();
        let mesh = Mesh::curved(CellKind::Quad, 2, p, quads, (0..(m * m) as u32).collect());
        let mesh = mesh.unwrap();
        close(total(&mesh), 1.0);
        let hexes = (0..m * m * m).map(|n| [x(n / (m * m)), x(n / m % m), x(n % m)]);
        let mesh = Mesh::curved(
            CellKind::Hex,
            3,
            p,
            hexes.collect(),
            (0..(m * m * m) as u32).collect(),
        )
        .unwrap();
        close(total(&mesh), 1.0);
        assert_eq!(mesh.map_class(), MapClass::Affine);
        assert_eq!(mesh.topology().vertex_count(), 8);
        let mirrored = mesh.scaled([1.0, -1.0, 1.0]).unwrap();
        close(total(&mirrored), 1.0);
    }
}

#[test]
fn curved_neighbours_must_share_side_nodes() {
    // Two quadratic triangles on the edge from (1,0) to (0,1), its midpoint doubled.
    let (mut nodes, mut cells) = bent_triangle(0.0);
    nodes.extend([
        [1.0, 1.0, 0.0],
        [1.0, 0.5, 0.0],
        [0.5, 1.0, 0.0],
        [0.5, 0.5, 0.0],
    ]);
    cells.extend([3, 6, 5, 7, 8, 9]);
    let error = Mesh::curved(CellKind::Triangle, 2, 2, nodes.clone(), cells.clone()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cells 0 and 1 share the side (1, 2) but not all geometry nodes on it"
    );
    cells[11] = 2;
    let mesh = Mesh::curved(CellKind::Triangle, 2, 2, nodes, cells).unwrap();
    assert_eq!(mesh.topology().side_count(), 5);
    assert_eq!(
        mesh.warnings(),
        [MeshWarning::UnusedPoints { points: vec![9] }]
    );
}
