//! Counts, numbering and measures of grids and simple shapes.

use std::sync::Arc;

use weft::element::CellKind;
use weft::geometry::shapes::*;
use weft::geometry::*;

use super::*;

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
