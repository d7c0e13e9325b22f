//! Laws of grids and meshes: counts, neighbours, orientation, refinement, errors, determinism.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use weft::element::CellKind;
use weft::geometry::shapes::*;
use weft::geometry::*;

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

/// Area vector of a planar polygon; of a segment in the plane the normal times the length.
fn area_vector(x: &[[f64; 3]]) -> [f64; 3] {
    if x.len() == 2 {
        let t = sub(x[1], x[0]);
        return [t[1], -t[0], 0.0];
    }
    let mut sum = [0.0; 3];
    for i in 2..x.len() {
        sum = add(sum, cross(sub(x[i - 1], x[0]), sub(x[i], x[0])));
    }
    sum.map(|s| s / 2.0)
}

fn positions(map: &GeometryMap, vertices: &[u32]) -> Vec<[f64; 3]> {
    vertices.iter().map(|&v| map.vertex(v)).collect()
}

fn centroid(x: &[[f64; 3]]) -> [f64; 3] {
    x.iter()
        .fold([0.0; 3], |s, &p| add(s, p))
        .map(|s| s / x.len() as f64)
}

/// Measure of a straight cell. Quads must be planar; hexes are measured by the divergence
/// theorem and must have planar faces.
fn cell_measure(g: &dyn Geometry, cell: usize) -> f64 {
    let (t, map) = (g.topology(), g.map());
    let x = positions(&map, t.cell_vertices(cell));
    match g.cell_kind() {
        CellKind::Segment => norm(sub(x[1], x[0])),
        CellKind::Triangle | CellKind::Quad => norm(area_vector(&x)),
        CellKind::Tet => dot(cross(sub(x[1], x[0]), sub(x[2], x[0])), sub(x[3], x[0])) / 6.0,
        CellKind::Hex => {
            (0..6)
                .map(|s| {
                    let table = CellKind::Hex.side_vertices(s);
                    let face: Vec<_> = table.iter().map(|&l| x[l as usize]).collect();
                    dot(sub(face[0], x[0]), area_vector(&face))
                })
                .sum::<f64>()
                / 3.0
        }
        CellKind::Point => 0.0,
    }
}

fn total(g: &dyn Geometry) -> f64 {
    (0..g.topology().cell_count())
        .map(|c| cell_measure(g, c))
        .sum()
}

fn side_measure(g: &dyn Geometry, side: usize) -> f64 {
    norm(area_vector(&positions(
        &g.map(),
        g.topology().side_vertices(side),
    )))
}

/// Everything a topology promises, checked entity by entity.
fn check_topology(t: &Topology) {
    let kind = t.cell_kind();
    let local = |cell: usize, l: usize| -> Vec<u32> {
        let table = kind.side_vertices(l);
        table
            .iter()
            .map(|&v| t.cell_vertices(cell)[v as usize])
            .collect()
    };
    let set = |v: &[u32]| v.iter().copied().collect::<BTreeSet<u32>>();
    for side in 0..t.side_count() {
        let ([inner, outer], [li, lo]) = (t.side_cells(side), t.side_locals(side));
        assert!(inner <= outer);
        assert_eq!(t.side_vertices(side), local(inner as usize, li as usize));
        assert_eq!(
            set(t.side_vertices(side)),
            set(&local(outer as usize, lo as usize))
        );
        assert_eq!(t.cell_sides(inner as usize)[li as usize] as usize, side);
        assert_eq!(t.cell_sides(outer as usize)[lo as usize] as usize, side);
        assert_eq!(t.is_boundary(side), inner == outer);
        let mut reversed = t.side_vertices(side).to_vec();
        reversed.reverse();
        assert_eq!(t.find_side(&reversed), Some(side as u32));
    }
    assert!(t.boundary_sides().is_sorted());
    assert_eq!(
        t.boundary_sides().len() + t.interior_sides().len(),
        t.side_count()
    );
    assert!(
        t.boundary_sides()
            .iter()
            .all(|&s| t.is_boundary(s as usize))
    );
    assert!(
        t.interior_sides()
            .iter()
            .all(|&s| !t.is_boundary(s as usize))
    );
    for cell in 0..t.cell_count() {
        for (l, &side) in t.cell_sides(cell).iter().enumerate() {
            assert!(t.side_cells(side as usize).contains(&(cell as u32)));
            assert_eq!(set(t.side_vertices(side as usize)), set(&local(cell, l)));
        }
        for (&edge, &[a, b]) in t.cell_edges(cell).iter().zip(kind.edges()) {
            let [a, b] = [a, b].map(|l| t.cell_vertices(cell)[l as usize]);
            assert_eq!(t.edge_vertices(edge as usize), [a.min(b), a.max(b)]);
            assert_eq!(t.find_edge(b, a), Some(edge));
        }
    }
    let mut incidences = 0;
    for v in 0..t.vertex_count() {
        let cells = t.vertex_cells(v);
        assert!(cells.is_sorted());
        assert!(
            cells
                .iter()
                .all(|&c| t.cell_vertices(c as usize).contains(&(v as u32)))
        );
        incidences += cells.len();
    }
    assert_eq!(incidences, t.cells().len());
    let edges: BTreeSet<[u32; 2]> = (0..t.edge_count()).map(|e| t.edge_vertices(e)).collect();
    assert_eq!(edges.len(), t.edge_count());
}

/// V − E + F (− C).
fn euler(t: &Topology) -> i64 {
    let [v, e, s, c] = [
        t.vertex_count(),
        t.edge_count(),
        t.side_count(),
        t.cell_count(),
    ]
    .map(|n| n as i64);
    match t.cell_kind().dim() {
        1 => v - c,
        2 => v - e + c,
        _ => v - e + s - c,
    }
}

/// The outward area vectors of the boundary of a body add up to 0, as do those of each cell.
fn check_closed(g: &dyn Geometry) {
    let (t, map) = (g.topology(), g.map());
    let mut sum = [0.0; 3];
    for &side in t.boundary_sides() {
        let x = positions(&map, t.side_vertices(side as usize));
        let cell = t.side_cells(side as usize)[0] as usize;
        let inside = centroid(&positions(&map, t.cell_vertices(cell)));
        let a = area_vector(&x);
        let sign = dot(a, sub(centroid(&x), inside)).signum();
        sum = add(sum, a.map(|c| sign * c));
    }
    assert!(norm(sum) < 1e-12, "{sum:?}");
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
}

fn counts(t: &Topology) -> [usize; 5] {
    [
        t.cell_count(),
        t.vertex_count(),
        t.side_count(),
        t.boundary_sides().len(),
        t.edge_count(),
    ]
}

const UNIT2: ([f64; 2], [f64; 2]) = ([0.0; 2], [1.0; 2]);
const UNIT3: ([f64; 3], [f64; 3]) = ([0.0; 3], [1.0; 3]);

/// One mesh of each kind, all of the unit segment, square or cube.
fn unit_meshes(n: usize) -> Vec<Mesh> {
    vec![
        segments(n, 0.0, 1.0).unwrap(),
        rectangle_triangles([n; 2], UNIT2.0, UNIT2.1).unwrap(),
        rectangle_quads([n; 2], UNIT2.0, UNIT2.1).unwrap(),
        box_tets([n; 3], UNIT3.0, UNIT3.1).unwrap(),
        box_tets5([n; 3], UNIT3.0, UNIT3.1).unwrap(),
        box_hexes([n; 3], UNIT3.0, UNIT3.1).unwrap(),
    ]
}

#[test]
fn grid2_counts_and_measures() {
    for n in [1, 2, 3, 7] {
        let g = Grid2::unit([n, n]).unwrap();
        let t = g.topology();
        assert_eq!(
            counts(&t),
            [
                n * n,
                (n + 1) * (n + 1),
                2 * n * (n + 1),
                4 * n,
                2 * n * (n + 1)
            ]
        );
        check_topology(&t);
        check_closed(&g);
        for side in 0..t.side_count() {
            close(side_measure(&g, side), 1.0 / n as f64);
        }
        for cell in 0..t.cell_count() {
            close(cell_measure(&g, cell), 1.0 / (n * n) as f64);
        }
    }
}

#[test]
fn grid3_counts_and_measures() {
    for n in [1, 2, 3, 5] {
        let g = Grid3::unit([n; 3]).unwrap();
        let t = g.topology();
        let m = n + 1;
        assert_eq!(
            counts(&t),
            [
                n * n * n,
                m * m * m,
                3 * n * n * m,
                6 * n * n,
                3 * n * m * m
            ]
        );
        check_topology(&t);
        check_closed(&g);
        for side in 0..t.side_count() {
            close(side_measure(&g, side), 1.0 / (n * n) as f64);
        }
        for cell in 0..t.cell_count() {
            close(cell_measure(&g, cell), 1.0 / (n * n * n) as f64);
        }
    }
}

#[test]
fn grid_counts_by_formula_agree_with_the_tables() {
    for cells in [[1, 1, 1], [1, 4, 2], [3, 2, 5], [6, 1, 1]] {
        let g = Grid3::unit(cells).unwrap();
        let t = g.topology();
        let by_formula = [
            g.cell_count(),
            g.vertex_count(),
            g.side_count(),
            g.boundary_side_count(),
            g.edge_count(),
        ];
        assert_eq!(by_formula, counts(&t));
        check_topology(&t);
        let g = Grid2::unit([cells[0], cells[1]]).unwrap();
        let by_formula = [
            g.cell_count(),
            g.vertex_count(),
            g.side_count(),
            g.boundary_side_count(),
            g.edge_count(),
        ];
        assert_eq!(by_formula, counts(&g.topology()));
        assert_eq!(g.lattice(), Some([cells[0], cells[1], 1]));
    }
    // Counting a grid of 300 million cells builds nothing.
    let big = Grid3::unit([1000, 600, 500]).unwrap();
    assert_eq!(big.cell_count(), 300_000_000);
    assert_eq!(big.side_count(), 900_000_000 + 300_000 + 500_000 + 600_000);
}

#[test]
fn grid_numbering_is_the_stated_one() {
    let [nx, ny] = [3, 2];
    let g = Grid2::new([nx, ny], [-1.0, 2.0], [2.0, 3.0]).unwrap();
    let (t, map) = (g.topology(), g.map());
    assert_eq!(g.cell_size(), [1.0, 0.5]);
    assert_eq!(map.nodes[0], [-1.0, 2.0, 0.0]);
    assert_eq!(map.nodes[ny], [-1.0, 3.0, 0.0]);
    assert_eq!(*map.nodes.last().unwrap(), [2.0, 3.0, 0.0]);
    let n = nx * ny;
    for x in 0..nx {
        for y in 0..ny {
            let cell = x * ny + y;
            let v = |i: usize, j: usize| ((x + i) * (ny + 1) + y + j) as u32;
            assert_eq!(t.cell_vertices(cell), [v(0, 0), v(1, 0), v(1, 1), v(0, 1)]);
            assert_eq!(
                map.cell_nodes[4 * cell..4 * cell + 4],
                [v(0, 0), v(0, 1), v(1, 0), v(1, 1)]
            );
            // Low sides: axis·cells + cell.
            assert_eq!(t.cell_sides(cell)[3] as usize, cell);
            assert_eq!(t.cell_sides(cell)[0] as usize, n + cell);
            let before = if x > 0 { cell - ny } else { cell };
            assert_eq!(t.side_cells(cell), [before as u32, cell as u32]);
        }
    }
    assert_eq!(t.cell_sides((nx - 1) * ny + 1)[1] as usize, 2 * n + 1);
    assert_eq!(t.cell_sides(2 * ny + 1)[2] as usize, 2 * n + ny + 2);

    let [nx, ny, nz] = [2, 3, 4];
    let g = Grid3::unit([nx, ny, nz]).unwrap();
    let t = g.topology();
    let n = nx * ny * nz;
    for cell in 0..n {
        let [x, y, z] = [cell / (ny * nz), cell / nz % ny, cell % nz];
        let v = |a: [usize; 3]| (((x + a[0]) * (ny + 1) + y + a[1]) * (nz + 1) + z + a[2]) as u32;
        let expected = CellKind::Hex
            .vertices()
            .iter()
            .map(|p| v(p.map(|c| c as usize)));
        assert_eq!(t.cell_vertices(cell), expected.collect::<Vec<_>>());
        for axis in 0..3 {
            assert_eq!(t.cell_sides(cell)[2 * axis] as usize, axis * n + cell);
        }
    }
    let last = t.cell_sides(n - 1);
    assert_eq!(last[1] as usize, 3 * n + ny * nz - 1);
    assert_eq!(last[3] as usize, 3 * n + ny * nz + nx * nz - 1);
    assert_eq!(last[5] as usize, t.side_count() - 1);
}

#[test]
fn grid_normals_point_along_the_axis_but_at_the_lower_end() {
    let g = Grid3::unit([2, 3, 2]).unwrap();
    let (t, map) = (g.topology(), g.map());
    for side in 0..t.side_count() {
        let n = area_vector(&positions(&map, t.side_vertices(side)));
        let x = centroid(&positions(&map, t.side_vertices(side)));
        let axis = (0..3).find(|&a| n[a].abs() > 1e-9).unwrap();
        assert_eq!(n[axis] > 0.0, x[axis] > 0.0, "side {side}");
    }
}

#[test]
fn box_and_grid_tags_lie_where_they_say() {
    let geometries: Vec<Arc<dyn Geometry>> = vec![
        Arc::new(Grid2::unit([3, 2]).unwrap()),
        Arc::new(Grid3::unit([3, 2, 4]).unwrap()),
        Arc::new(rectangle_triangles([3, 2], UNIT2.0, UNIT2.1).unwrap()),
        Arc::new(rectangle_quads([3, 2], UNIT2.0, UNIT2.1).unwrap()),
        Arc::new(box_tets([3, 2, 4], UNIT3.0, UNIT3.1).unwrap()),
        Arc::new(box_tets5([3, 2, 4], UNIT3.0, UNIT3.1).unwrap()),
        Arc::new(box_hexes([3, 2, 4], UNIT3.0, UNIT3.1).unwrap()),
    ];
    for g in geometries {
        let (t, map, tags) = (g.topology(), g.map(), g.tags());
        let names: &[[&str; 2]] = match g.space_dim() {
            2 => &[["left", "right"], ["bottom", "top"]],
            _ => &[["left", "right"], ["front", "back"], ["bottom", "top"]],
        };
        let mut seen = 0;
        for (axis, ends) in names.iter().enumerate() {
            for (end, name) in ends.iter().enumerate() {
                let sides = t.sides_of_tag(&tags, name).unwrap();
                let area: f64 = sides.iter().map(|&s| side_measure(&*g, s as usize)).sum();
                close(area, 1.0);
                for &s in sides {
                    assert!(t.is_boundary(s as usize));
                    for x in positions(&map, t.side_vertices(s as usize)) {
                        assert_eq!(x[axis], end as f64);
                    }
                }
                seen += sides.len();
            }
        }
        assert_eq!(seen, t.boundary_sides().len());
        assert_eq!(tags.side_names().count(), 2 * g.space_dim());
    }
}

#[test]
fn triangle_mesh_counts_flat_and_lifted() {
    for n in [1, 2, 5] {
        let flat = rectangle_triangles([n; 2], UNIT2.0, UNIT2.1).unwrap();
        let lifted = flat.lifted(|_, _| 0.25).unwrap();
        assert_eq!((flat.space_dim(), lifted.space_dim()), (2, 3));
        for mesh in [flat, lifted] {
            let t = mesh.topology();
            let sides = 2 * n * (n + 1) + n * n;
            assert_eq!(
                counts(&t),
                [2 * n * n, (n + 1) * (n + 1), sides, 4 * n, sides]
            );
            check_topology(&t);
            for c in 0..t.cell_count() {
                close(cell_measure(&mesh, c), 0.5 / (n * n) as f64);
            }
            let length: f64 = (0..t.side_count()).map(|s| side_measure(&mesh, s)).sum();
            close(length, 2.0 * (n + 1) as f64 + n as f64 * 2f64.sqrt());
            assert!(mesh.warnings().is_empty());
        }
    }
}

#[test]
fn quad_and_hex_mesh_counts_are_the_grids() {
    for n in [1, 2, 3] {
        let quads = rectangle_quads([n; 2], UNIT2.0, UNIT2.1).unwrap();
        let hexes = box_hexes([n; 3], UNIT3.0, UNIT3.1).unwrap();
        assert_eq!(
            counts(&quads.topology()),
            counts(&Grid2::unit([n; 2]).unwrap().topology())
        );
        assert_eq!(
            counts(&hexes.topology()),
            counts(&Grid3::unit([n; 3]).unwrap().topology())
        );
        for s in 0..hexes.topology().side_count() {
            close(side_measure(&hexes, s), 1.0 / (n * n) as f64);
        }
        for mesh in [quads, hexes] {
            close(total(&mesh), 1.0);
            assert_eq!(mesh.map_class(), MapClass::Affine);
        }
    }
}

#[test]
fn tet_mesh_counts() {
    for n in [1, 2, 3, 4] {
        let mesh = box_tets5([n; 3], UNIT3.0, UNIT3.1).unwrap();
        let t = mesh.topology();
        let m = n + 1;
        let sides = 6 * m * n * n + 4 * n * n * n;
        let edges = 3 * n * m * (2 * n + 1);
        assert_eq!(
            counts(&t),
            [5 * n * n * n, m * m * m, sides, 12 * n * n, edges]
        );
        close(total(&mesh), 1.0);
        let area: f64 = (0..t.side_count()).map(|s| side_measure(&mesh, s)).sum();
        close(area, 3.0 * m as f64 + 2.0 * 3f64.sqrt() * n as f64);
    }
    // Kuhn: 6 tets, 18 faces of which 6 are inside, 19 edges in one cube.
    let mesh = box_tets([1; 3], UNIT3.0, UNIT3.1).unwrap();
    assert_eq!(counts(&mesh.topology()), [6, 8, 18, 12, 19]);
}

#[test]
fn every_unit_mesh_keeps_the_laws() {
    for n in [1, 2, 3] {
        for mesh in unit_meshes(n) {
            let t = mesh.topology();
            check_topology(&t);
            assert_eq!(euler(&t), 1);
            close(total(&mesh), 1.0);
            assert!(mesh.warnings().is_empty(), "{:?}", mesh.warnings());
            assert_eq!(t.components(), vec![0; t.cell_count()]);
            if mesh.space_dim() > 1 {
                check_closed(&mesh);
            }
        }
    }
}

#[test]
fn disk_and_spheres() {
    for rings in [1, 2, 5] {
        let disk = disk(rings).unwrap();
        let t = disk.topology();
        assert_eq!(t.cell_count(), 6 * rings * rings);
        assert_eq!(euler(&t), 1);
        check_topology(&t);
        check_closed(&disk);
        assert_eq!(disk.tags().sides("circle").unwrap(), t.boundary_sides());
        // The area of the regular polygon with 6·rings corners.
        let corners = 6.0 * rings as f64;
        close(
            total(&disk),
            corners / 2.0 * (std::f64::consts::TAU / corners).sin(),
        );
    }
    for level in 0..4usize {
        for mesh in [sphere(level).unwrap(), sphere_quads(level).unwrap()] {
            let (t, map) = (mesh.topology(), mesh.map());
            let faces = if mesh.cell_kind() == CellKind::Triangle {
                20
            } else {
                6
            };
            assert_eq!(t.cell_count(), faces << (2 * level));
            assert_eq!(euler(&t), 2);
            assert!(t.boundary_sides().is_empty());
            check_topology(&t);
            assert!(mesh.warnings().is_empty(), "{:?}", mesh.warnings());
            for c in 0..t.cell_count() {
                let x = positions(&map, t.cell_vertices(c));
                assert!(dot(area_vector(&x), x[0]) > 0.0);
                assert!(x.iter().all(|&p| (norm(p) - 1.0).abs() < 1e-14));
            }
        }
    }
}

#[test]
fn side_numbers_follow_first_appearance() {
    for mesh in unit_meshes(2) {
        let t = mesh.topology();
        let mut next = 0;
        for c in 0..t.cell_count() {
            for &s in t.cell_sides(c) {
                assert!(s <= next);
                next = next.max(s + 1);
            }
        }
        let mut next = 0;
        for c in 0..t.cell_count() {
            for &e in t.cell_edges(c) {
                assert!(e <= next);
                next = next.max(e + 1);
            }
        }
    }
}

/// A permutation of 0..n from a linear congruential generator.
fn permutation(n: usize, mut seed: u64) -> Vec<u32> {
    let mut p: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        p.swap(i, (seed >> 33) as usize % (i + 1));
    }
    p
}

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

/// Node of a side or edge seen from all its cells: the nodes each cell lists must lie where the
/// map of degree 1 puts them, which fixes their order.
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
    assert_eq!(map.vertex_nodes.as_deref(), Some(&[1, 3, 5][..]));
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
    assert_eq!(turned.map().cell_nodes, [1, 3, 5, 0, 2, 4]);
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

const SQUARE: [[f64; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
];

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
