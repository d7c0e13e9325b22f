//! Neighbours, whatever the numbering and orientation of the cells.

use std::collections::BTreeSet;

use weft::element::CellKind;
use weft::geometry::shapes::*;
use weft::geometry::*;

use super::*;

#[test]
fn renumbering_the_vertices_changes_no_count_and_moves_tags_along() {
    for mesh in unit_meshes(3) {
        let (t, map) = (mesh.topology(), mesh.map());
        for seed in 1..4 {
            let p = permutation(t.vertex_count(), seed);
            let mut points = vec![[0.0; 3]; t.vertex_count()];
            for (v, &w) in p.iter().enumerate() {
                points[w as usize] = map.nodes[v];
            }
            let cells = t.cells().iter().map(|&v| p[v as usize]).collect();
            let new = Mesh::new(mesh.cell_kind(), mesh.space_dim(), points, cells).unwrap();
            let u = new.topology();
            assert_eq!(counts(&u), counts(&t));
            check_topology(&u);
            for s in 0..t.side_count() {
                let moved: Vec<u32> = t.side_vertices(s).iter().map(|&v| p[v as usize]).collect();
                // Numbers come from cells and local sides alone, so they stay.
                assert_eq!(u.find_side(&moved), Some(s as u32));
            }
            let tags = (*mesh.tags()).clone();
            assert_eq!(*new.with_tags(tags.clone()).unwrap().tags(), tags);
        }
    }
}

/// The rotations of a hex as permutations of its vertices, found from its faces.
fn hex_rotations() -> Vec<[u8; 8]> {
    let x = |v: u8| CellKind::Hex.vertices()[v as usize].map(|c| 2.0 * c - 1.0);
    let find = |p: [f64; 3]| (0..8u8).find(|&v| x(v) == p).unwrap();
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut out = Vec::new();
    let signed: Vec<[f64; 3]> = axes.iter().flat_map(|&a| [a, a.map(|c| -c)]).collect();
    for &a in &signed {
        for &b in signed.iter().filter(|&&b| dot(a, b) == 0.0) {
            let c = cross(a, b);
            out.push(std::array::from_fn(|v| {
                let p = x(v as u8);
                find(std::array::from_fn(|d| {
                    p[0] * a[d] + p[1] * b[d] + p[2] * c[d]
                }))
            }));
        }
    }
    out
}

#[test]
fn hexes_meet_in_all_rotations() {
    let pair = box_hexes([2, 1, 1], [0.0; 3], [2.0, 1.0, 1.0]).unwrap();
    let (t, map) = (pair.topology(), pair.map());
    let rotations = hex_rotations();
    assert_eq!(rotations.len(), 24);
    let mut seen = BTreeSet::new();
    for a in &rotations {
        for b in &rotations {
            let turn = |cell: usize, r: &[u8; 8]| r.map(|v| t.cell_vertices(cell)[v as usize]);
            let cells = [turn(0, a), turn(1, b)].concat();
            let mesh = Mesh::new(CellKind::Hex, 3, map.nodes.clone(), cells).unwrap();
            let u = mesh.topology();
            check_topology(&u);
            assert_eq!(counts(&u), [2, 12, 11, 10, 20]);
            assert!(mesh.warnings().is_empty());
            let side = u.interior_sides()[0] as usize;
            let outer = u.side_cells(side)[1] as usize;
            let table = CellKind::Hex.side_vertices(u.side_locals(side)[1] as usize);
            let theirs: Vec<u32> = table
                .iter()
                .map(|&l| u.cell_vertices(outer)[l as usize])
                .collect();
            let ours = u.side_vertices(side);
            // Both are outward, so they turn in opposite ways.
            let start = theirs.iter().position(|&v| v == ours[0]).unwrap();
            for i in 0..4 {
                assert_eq!(theirs[(start + 4 - i) % 4], ours[i]);
            }
            seen.insert((u.side_locals(side), start));
        }
    }
    // Each of the 6 × 6 pairs of faces in each of the 4 turns.
    assert_eq!(seen.len(), 144);
}

#[test]
fn twisted_hex_faces_are_refused() {
    let pair = box_hexes([2, 1, 1], [0.0; 3], [2.0, 1.0, 1.0]).unwrap();
    let mut cells = pair.topology().cells().to_vec();
    // The second hex crosses two vertices of the shared face.
    cells.swap(8, 11);
    let error = Topology::build(CellKind::Hex, 12, cells).unwrap_err();
    assert!(
        matches!(error, GeometryError::TwistedSide { cells: [0, 1], .. }),
        "{error}"
    );
}

#[test]
fn empty_and_absent() {
    for kind in CellKind::CELLS {
        let t = Topology::build(kind, 3, vec![]).unwrap();
        assert_eq!([t.cell_count(), t.side_count(), t.edge_count()], [0; 3]);
        assert!(t.components().is_empty() && t.vertex_cells(2).is_empty());
        assert_eq!(t.find_edge(0, 1), None);
    }
    let mesh = rectangle_triangles([1, 1], UNIT2.0, UNIT2.1).unwrap();
    let t = mesh.topology();
    assert_eq!(t.find_side(&[1, 2]), None);
    assert_eq!(t.find_side(&[0]), None);
    assert_eq!(t.find_side(&[0, 77]), None);
    assert_eq!(t.find_edge(0, u32::MAX), None);
}

#[test]
fn a_fan_around_one_vertex_is_no_trouble() {
    // All cells share a vertex: the worst case for sorting by smallest vertex.
    let n = 20_000u32;
    let angle = |i: u32| std::f64::consts::TAU * f64::from(i) / f64::from(n);
    let mut points = vec![[0.0; 3]];
    points.extend((0..n).map(|i| [angle(i).cos(), angle(i).sin(), 0.0]));
    let cells: Vec<u32> = (0..n).flat_map(|i| [0, 1 + i, 1 + (i + 1) % n]).collect();
    let mesh = Mesh::new(CellKind::Triangle, 2, points, cells).unwrap();
    assert_eq!(mesh.topology().boundary_sides().len(), n as usize);
    assert_eq!(mesh.topology().vertex_cells(0).len(), n as usize);
}

#[test]
fn tables_do_not_depend_on_the_number_of_threads() {
    let build = |threads: usize| {
        let pool = rayon_pool(threads);
        pool.install(|| {
            let mesh = box_tets([12; 3], UNIT3.0, UNIT3.1).unwrap();
            let t = mesh.topology();
            let sides: Vec<_> = (0..t.side_count())
                .map(|s| {
                    (
                        t.side_vertices(s).to_vec(),
                        t.side_cells(s),
                        t.side_locals(s),
                    )
                })
                .collect();
            let edges: Vec<_> = (0..t.edge_count()).map(|e| t.edge_vertices(e)).collect();
            (sides, edges)
        })
    };
    let one = build(1);
    assert!(one == build(2) && one == build(3) && one == build(1));
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

#[test]
fn lazy_tables_and_changes_inside_a_pool_neither_deadlock_nor_mix() {
    use rayon::prelude::*;
    let mesh = box_tets([8; 3], UNIT3.0, UNIT3.1).unwrap();
    rayon_pool(3).install(|| {
        let t = mesh.topology();
        // The first request for edges comes from many tasks at once.
        let sum: usize = (0..t.cell_count())
            .into_par_iter()
            .map(|c| t.cell_edges(c).len())
            .sum();
        assert_eq!(sum, 6 * t.cell_count());
        let nodes = mesh.map().nodes.clone();
        (1..40).into_par_iter().for_each(|k| {
            let scaled = nodes.iter().map(|x| x.map(|c| c * f64::from(k))).collect();
            mesh.move_vertices(scaled).unwrap();
            let map = mesh.map();
            let size = map.nodes[map.nodes.len() - 1];
            // Whatever change was last, a snapshot is of one change.
            assert!(size[0] == size[1] && map.nodes[8][2] == size[0]);
        });
    });
}
