//! "Nodes of a cell", "Nodes of a mesh", "Grids" and "Shared edges and faces".

use super::{close, kind_named, meshes, table};
use std::collections::BTreeMap;
use weft::element::{CellKind, Lagrange, NodeFamily, map_to_cell};
use weft::field::Field;
use weft::geometry::{Geometry, Grid2, Grid3, Mesh};
use weft::space::Space;

fn numbers(text: &str) -> Vec<usize> {
    text.split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect()
}

#[test]
fn local_nodes_follow_the_tables() {
    let rows = table("## Nodes of a cell");
    assert_eq!(rows.len(), 14);
    for row in rows {
        let kind = kind_named(&row[0]);
        let degree: usize = row[1].parse().unwrap();
        let element = Lagrange::new(kind, degree, NodeFamily::Equispaced).unwrap();
        let listed: Vec<&str> = row[2].split_whitespace().collect();
        assert_eq!(listed.len(), element.node_count(), "{row:?}");
        for (node, digits) in listed.iter().enumerate() {
            assert_eq!(digits.len(), kind.dim(), "{row:?}");
            for (axis, digit) in digits.bytes().enumerate() {
                let at = f64::from(digit - b'0') / degree as f64;
                close(element.nodes()[node][axis], at);
            }
        }
    }
}

#[test]
fn both_families_of_nodes_are_numbered_alike_and_agree_to_degree_two() {
    for kind in CellKind::CELLS {
        for degree in 0..=10 {
            let even = Lagrange::new(kind, degree, NodeFamily::Equispaced).unwrap();
            let lobatto = Lagrange::new(kind, degree, NodeFamily::Lobatto).unwrap();
            for node in 0..even.node_count() {
                assert_eq!(even.entity(node), lobatto.entity(node));
                if degree <= 2 {
                    for d in 0..3 {
                        close(even.nodes()[node][d], lobatto.nodes()[node][d]);
                    }
                }
            }
        }
    }
}

#[test]
fn the_nodes_of_a_side_are_numbered_as_a_cell_of_its_kind() {
    for kind in CellKind::CELLS {
        for degree in 1..=5 {
            let cell = Lagrange::new(kind, degree, NodeFamily::Lobatto).unwrap();
            let side_kind = kind.side_kind();
            let side_element = Lagrange::new(side_kind, degree, NodeFamily::Lobatto).unwrap();
            for side in 0..kind.side_count() {
                let vertices = kind.side_vertices(side);
                let expected = map_to_cell(kind, vertices, side_element.nodes());
                let nodes = cell.closure_nodes(side);
                assert_eq!(nodes.len(), expected.len());
                for (&node, at) in nodes.iter().zip(expected) {
                    for d in 0..3 {
                        close(cell.nodes()[node as usize][d], at[d]);
                    }
                }
            }
        }
    }
}

#[test]
fn meshes_number_their_nodes_in_groups() {
    let rows = table("## Nodes of a mesh");
    for mesh in meshes() {
        let kind = mesh.cell_kind();
        let row = rows.iter().find(|r| r[0] == kind.name()).unwrap();
        for degree in 1..=5 {
            let space = Space::lagrange(&mesh, degree).unwrap();
            let topology = mesh.topology();
            let element = space.element();
            let dim = |group: &str| match group {
                "vertices" => 0,
                "edges" => 1,
                "faces" => 2,
                "interiors" => kind.dim(),
                other => panic!("{other}"),
            };
            let count = |d: usize| match d {
                0 => topology.vertex_count(),
                d if d == kind.dim() => topology.cell_count(),
                1 => topology.edge_count(),
                _ => topology.side_count(),
            };
            let mut start = BTreeMap::new();
            let mut next = 0;
            for group in row[1].split(", ") {
                start.insert(dim(group), next);
                next += count(dim(group)) * element.interior_count(dim(group));
            }
            assert_eq!(next, space.node_count(), "{kind:?} {degree}");
            for cell in 0..topology.cell_count() {
                for (local, &node) in space.cell_nodes(cell).iter().enumerate() {
                    let entity = element.entity(local);
                    let d = entity.dim as usize;
                    let index = match d {
                        0 => topology.cell_vertices(cell)[entity.index as usize] as usize,
                        d if d == kind.dim() => cell,
                        1 => topology.cell_edges(cell)[entity.index as usize] as usize,
                        _ => topology.cell_sides(cell)[entity.index as usize] as usize,
                    };
                    let slot = element.slot(local, topology.cell_vertices(cell));
                    let expected = start[&d] + index * element.interior_count(d) + slot;
                    assert_eq!(node as usize, expected, "{kind:?} {degree} {cell} {local}");
                }
            }
        }
    }
}

pub fn two_triangles() -> Mesh {
    let points = vec![
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
    ];
    Mesh::new(CellKind::Triangle, 2, points, vec![0, 1, 2, 0, 2, 3]).unwrap()
}

pub fn two_quads() -> Mesh {
    let points = (0..6)
        .map(|v| [f64::from(v % 3), f64::from(v / 3), 0.0])
        .collect();
    Mesh::new(CellKind::Quad, 2, points, vec![0, 1, 4, 3, 1, 2, 5, 4]).unwrap()
}

#[test]
fn the_two_examples_have_the_nodes_printed() {
    let rows = table("Nodes of the two meshes in the picture:");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let mesh = if row[0] == "triangles" {
            two_triangles()
        } else {
            two_quads()
        };
        let space = Space::lagrange(&mesh, row[1].parse().unwrap()).unwrap();
        let cell: usize = row[2].parse().unwrap();
        let printed = numbers(&row[3]);
        let found: Vec<usize> = space.cell_nodes(cell).iter().map(|&n| n as usize).collect();
        assert_eq!(printed, found, "{row:?}");
    }
}

#[test]
fn discontinuous_nodes_and_components_count_in_cell_and_node_order() {
    for mesh in meshes() {
        let space = Space::discontinuous(&mesh, 2).unwrap();
        let n = space.nodes_per_cell();
        for cell in 0..mesh.topology().cell_count() {
            for (local, &node) in space.cell_nodes(cell).iter().enumerate() {
                assert_eq!(node as usize, cell * n + local);
            }
        }
        // Degree of freedom = node · components + component.
        let vectors = Space::lagrange(&mesh, 1).unwrap().vector(3).unwrap();
        let field = Field::zeros(&vectors);
        let node = vectors.cell_nodes(1)[0] as usize;
        field.values_mut()[node * 3 + 2] = 7.0;
        let corner = vectors.element().nodes()[0];
        assert_eq!(field.evaluate(1, corner).unwrap().value, [0.0, 0.0, 7.0]);
    }
}

#[test]
fn grids_number_cells_vertices_and_nodes_with_the_last_axis_fastest() {
    let grid = Grid3::new([2, 3, 4], [0.0; 3], [2.0, 3.0, 4.0]).unwrap();
    let positions = |degree: usize| Space::lagrange(&grid, degree).unwrap().node_positions();
    let lower = |cell: usize| {
        let vertex = grid.topology().cell_vertices(cell)[0];
        grid.map().vertex(vertex)
    };
    for x in 0..2 {
        for y in 0..3 {
            for z in 0..4 {
                assert_eq!(lower((x * 3 + y) * 4 + z), [x as f64, y as f64, z as f64]);
            }
        }
    }
    let nodes = positions(2);
    assert_eq!(nodes.len(), 5 * 7 * 9);
    for (i, x) in nodes.iter().enumerate() {
        let place = [i / 63, i / 9 % 7, i % 9];
        for d in 0..3 {
            close(x[d], place[d] as f64 / 2.0);
        }
    }
    let plane = Grid2::new([3, 2], [0.0; 2], [3.0, 2.0]).unwrap();
    let nodes = Space::lagrange(&plane, 2).unwrap().node_positions();
    assert_eq!(nodes.len(), 7 * 5);
    for (i, x) in nodes.iter().enumerate() {
        close(x[0], (i / 5) as f64 / 2.0);
        close(x[1], (i % 5) as f64 / 2.0);
    }
}

#[test]
fn grid_sides_are_the_lower_ones_of_each_axis_then_the_closing_layers() {
    let grid = Grid2::new([3, 2], [0.0; 2], [3.0, 2.0]).unwrap();
    let topology = grid.topology();
    let rows = table("Sides of a grid of 3 × 2 cells:");
    let mut seen = 0;
    for row in rows {
        let numbers = numbers(&row[1]);
        for (k, &side) in numbers.iter().enumerate() {
            let [inner, outer] = topology.side_cells(side);
            let pairs: Vec<&str> = row[2].split_whitespace().collect();
            assert_eq!(pairs[k], format!("{inner}-{outer}"), "side {side}");
            // The axis across which the side lies is the one its vertices agree on.
            let axis = if row[0].ends_with('x') { 0 } else { 1 };
            let v = topology
                .side_vertices(side)
                .iter()
                .map(|&v| grid.map().vertex(v)[axis]);
            let v: Vec<f64> = v.collect();
            assert_eq!(v[0], v[1]);
            seen += 1;
        }
    }
    assert_eq!(seen, topology.side_count());
    // The rule, in space.
    let grid = Grid3::unit([2, 3, 4]).unwrap();
    let topology = grid.topology();
    for axis in 0..3 {
        for cell in 0..24 {
            assert_eq!(
                topology.cell_sides(cell)[2 * axis] as usize,
                axis * 24 + cell
            );
        }
    }
    assert_eq!(topology.cell_sides(23)[1] as usize, 72 + 11);
    assert_eq!(topology.cell_sides(23)[3] as usize, 72 + 12 + 7);
    assert_eq!(topology.cell_sides(23)[5] as usize, 72 + 12 + 8 + 5);
}

#[test]
fn nodes_inside_an_edge_run_from_its_smaller_vertex() {
    for kind in [
        CellKind::Triangle,
        CellKind::Quad,
        CellKind::Tet,
        CellKind::Hex,
    ] {
        let degree = 5;
        let element = Lagrange::new(kind, degree, NodeFamily::Equispaced).unwrap();
        for reverse in [false, true] {
            let n = kind.vertex_count() as u32;
            let vertices: Vec<u32> = (0..n)
                .map(|v| if reverse { n - 1 - v } else { v })
                .collect();
            for (edge, ends) in kind.edges().iter().enumerate() {
                let mut ends = *ends;
                ends.sort_by_key(|&v| vertices[v as usize]);
                let [a, b] = ends.map(|v| kind.vertices()[v as usize]);
                for &node in element.entity_nodes(1, edge) {
                    let slot = element.slot(node as usize, &vertices);
                    let t = (slot + 1) as f64 / degree as f64;
                    for d in 0..3 {
                        close(element.nodes()[node as usize][d], a[d] + t * (b[d] - a[d]));
                    }
                }
            }
        }
    }
}

/// All orders of `0..n`.
fn permutations(n: usize) -> Vec<Vec<u32>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let smaller = permutations(n - 1);
    let insert = |p: &Vec<u32>, at: usize| {
        let mut q = p.clone();
        q.insert(at, n as u32 - 1);
        q
    };
    smaller
        .iter()
        .flat_map(|p| (0..n).map(move |at| insert(p, at)))
        .collect()
}

#[test]
fn nodes_inside_a_triangular_face_follow_its_sorted_vertices() {
    let degree = 5;
    let rows = table("Nodes inside a triangular face of degree 5, vertices a < b < c:");
    let element = Lagrange::new(CellKind::Tet, degree, NodeFamily::Equispaced).unwrap();
    for vertices in permutations(4) {
        for face in 0..4 {
            let mut sorted = CellKind::Tet.side_vertices(face).to_vec();
            sorted.sort_by_key(|&v| vertices[v as usize]);
            let corners: Vec<[f64; 3]> = sorted
                .iter()
                .map(|&v| CellKind::Tet.vertices()[v as usize])
                .collect();
            for &node in element.entity_nodes(2, face) {
                let slot = element.slot(node as usize, &vertices);
                let steps = numbers(&rows[slot][1..].join(" "));
                assert_eq!(steps.iter().sum::<usize>(), degree);
                for d in 0..3 {
                    let at: f64 = (0..3).map(|i| steps[i] as f64 * corners[i][d]).sum();
                    close(element.nodes()[node as usize][d], at / degree as f64);
                }
            }
        }
    }
}

#[test]
fn nodes_inside_a_quadrilateral_face_follow_its_smallest_vertex() {
    let degree = 4;
    let rows = table("Nodes inside a quadrilateral face of degree 4:");
    let hex = CellKind::Hex;
    let element = Lagrange::new(hex, degree, NodeFamily::Equispaced).unwrap();
    for order in permutations(4) {
        for face in 0..6 {
            let cycle = hex.side_vertices(face);
            let mut vertices = vec![9; 8];
            for (k, &v) in cycle.iter().enumerate() {
                vertices[v as usize] = order[k];
            }
            let origin = (0..4).min_by_key(|&k| order[k]).unwrap();
            let mut neighbours = [(origin + 1) % 4, (origin + 3) % 4];
            neighbours.sort_by_key(|&k| order[k]);
            let at = |k: usize| hex.vertices()[cycle[k] as usize];
            for &node in element.entity_nodes(2, face) {
                let row = &rows[element.slot(node as usize, &vertices)];
                let steps = numbers(&row[1..].join(" "));
                for d in 0..3 {
                    let o = at(origin)[d];
                    let x = o
                        + steps[0] as f64 / degree as f64 * (at(neighbours[0])[d] - o)
                        + steps[1] as f64 / degree as f64 * (at(neighbours[1])[d] - o);
                    close(element.nodes()[node as usize][d], x);
                }
            }
        }
    }
}
