//! The numbering of nodes that users rely on.

use crate::common::*;
use weft::element::{CellKind, Lagrange, MAX_LAGRANGE_DEGREE, NodeFamily};
use weft::geometry::{Geometry, Grid2, Grid3, Mesh};
use weft::space::{Space, SpaceError, ValueKind};

fn near(a: [f64; 3], b: [f64; 3]) -> bool {
    (0..3).all(|d| (a[d] - b[d]).abs() < 1e-12)
}

#[test]
fn grids_number_one_lattice_last_axis_fastest() {
    let grid = Grid2::unit([3, 2]).unwrap();
    let solid = Grid3::unit([2, 3, 2]).unwrap();
    for p in 1..=4 {
        // Positions along one axis: Lobatto points of each cell.
        let line = Lagrange::new(CellKind::Segment, p, NodeFamily::Lobatto).unwrap();
        let along = |k: usize, n: usize| {
            let (cell, local) = if k == n * p {
                (n - 1, p)
            } else {
                (k / p, k % p)
            };
            (cell as f64 + line.nodes()[local][0]) / n as f64
        };
        let plane = Space::lagrange(&grid, p).unwrap().node_positions();
        assert_eq!(plane.len(), (3 * p + 1) * (2 * p + 1));
        for (node, &x) in plane.iter().enumerate() {
            let (i, j) = (node / (2 * p + 1), node % (2 * p + 1));
            assert!(near(x, [along(i, 3), along(j, 2), 0.0]), "{p} {node}");
        }
        let space = Space::lagrange(&solid, p).unwrap().node_positions();
        let [ny, nz] = [3 * p + 1, 2 * p + 1];
        for (node, &x) in space.iter().enumerate() {
            let (i, j, k) = (node / (ny * nz), node / nz % ny, node % nz);
            assert!(
                near(x, [along(i, 2), along(j, 3), along(k, 2)]),
                "{p} {node}"
            );
        }
    }
}

/// Groups of nodes in order: dimension of the entity, its number, nodes on each.
fn groups(mesh: &Mesh, p: usize) -> Vec<(usize, usize)> {
    let t = mesh.topology();
    let q = p - 1;
    match mesh.cell_kind() {
        CellKind::Segment => vec![(t.vertex_count(), 1), (t.cell_count(), q)],
        CellKind::Triangle => {
            vec![
                (t.vertex_count(), 1),
                (t.edge_count(), q),
                (t.cell_count(), q * q.saturating_sub(1) / 2),
            ]
        }
        // On quads the interiors come before the edges.
        CellKind::Quad => vec![
            (t.vertex_count(), 1),
            (t.cell_count(), q * q),
            (t.edge_count(), q),
        ],
        CellKind::Tet => vec![
            (t.vertex_count(), 1),
            (t.edge_count(), q),
            (t.side_count(), q * q.saturating_sub(1) / 2),
            (
                t.cell_count(),
                q * q.saturating_sub(1) * q.saturating_sub(2) / 6,
            ),
        ],
        _ => vec![
            (t.vertex_count(), 1),
            (t.edge_count(), q),
            (t.side_count(), q * q),
            (t.cell_count(), q * q * q),
        ],
    }
}

#[test]
fn meshes_number_entity_by_entity() {
    let mut random = Random(4);
    for Case { name, mesh } in straight_cases() {
        let mesh = scrambled(&mesh, &mut random);
        let (topology, map) = (mesh.topology(), mesh.map());
        for p in 1..=5 {
            let space = Space::lagrange(&mesh, p).unwrap();
            let groups = groups(&mesh, p);
            let count: usize = groups.iter().map(|(n, each)| n * each).sum();
            assert_eq!(space.node_count(), count, "{name} {p}");
            let positions = space.node_positions();
            assert!(positions.iter().flatten().all(|x| x.is_finite()));
            for v in 0..topology.vertex_count() {
                assert!(
                    near(positions[v], map.vertex(v as u32)),
                    "{name} {p}: vertex {v}"
                );
            }
            // Nodes of edges lie on them, from the smaller vertex number to the larger.
            let dim = mesh.cell_kind().dim();
            if dim > 1 {
                let before = if mesh.cell_kind() == CellKind::Quad {
                    2
                } else {
                    1
                };
                let start: usize = groups[..before].iter().map(|(n, each)| n * each).sum();
                let line = Lagrange::new(CellKind::Segment, p, NodeFamily::Lobatto).unwrap();
                for edge in 0..topology.edge_count() {
                    let [a, b] = topology.edge_vertices(edge).map(|v| map.vertex(v));
                    for k in 0..p - 1 {
                        let s = line.nodes()[k + 1][0];
                        let on = std::array::from_fn(|d| a[d] + s * (b[d] - a[d]));
                        let node = start + edge * (p - 1) + k;
                        assert!(near(positions[node], on), "{name} {p}: edge {edge}");
                    }
                }
            }
            // Interiors belong to their cell.
            for cell in 0..topology.cell_count() {
                let nodes = space.cell_nodes(cell);
                let (at, each) = if mesh.cell_kind() == CellKind::Quad {
                    (1, groups[1].1)
                } else {
                    (groups.len() - 1, groups[groups.len() - 1].1)
                };
                let start: usize = groups[..at].iter().map(|(n, each)| n * each).sum();
                for k in 0..each {
                    assert!(
                        nodes.contains(&((start + cell * each + k) as u32)),
                        "{name} {p}"
                    );
                }
            }
        }
        for p in 0..=3 {
            let space = Space::discontinuous(&mesh, p).unwrap();
            let n = space.nodes_per_cell() as u32;
            for cell in 0..topology.cell_count() as u32 {
                let expected: Vec<u32> = (0..n).map(|k| cell * n + k).collect();
                assert_eq!(space.cell_nodes(cell as usize), expected, "{name}");
            }
        }
    }
}

#[test]
fn tagged_nodes_lie_on_their_sides() {
    let mut all = vec![
        unit_mesh(CellKind::Quad, [2; 3]),
        unit_mesh(CellKind::Tet, [2; 3]),
    ];
    all.push(unit_mesh(CellKind::Hex, [1, 2, 1]));
    for mesh in all {
        let mesh = mesh
            .with_tag_vertices("corner", |x| near(x, [0.0; 3]))
            .unwrap();
        for p in 1..=3 {
            let space = Space::lagrange(&mesh, p).unwrap();
            let positions = space.node_positions();
            let left = space.tagged_nodes("left").unwrap();
            let expected: Vec<u32> = (0..positions.len() as u32)
                .filter(|&n| positions[n as usize][0].abs() < 1e-12)
                .collect();
            assert_eq!(left, expected);
            assert_eq!(space.tagged_nodes("corner").unwrap().len(), 1);
            let broken = Space::discontinuous(&mesh, p).unwrap();
            let positions = broken.node_positions();
            for node in broken.tagged_nodes("corner").unwrap() {
                assert!(near(positions[node as usize], [0.0; 3]));
            }
        }
        let space = Space::lagrange(&mesh, 1).unwrap();
        let message = space.tagged_nodes("lef").unwrap_err().to_string();
        assert!(
            message.contains("\"lef\"") && message.contains("\"left\""),
            "{message}"
        );
    }
}

#[test]
fn impossible_spaces_are_refused() {
    let mesh = unit_mesh(CellKind::Triangle, [1; 3]);
    assert!(matches!(
        Space::lagrange(&mesh, 0),
        Err(SpaceError::ContinuousDegreeZero)
    ));
    assert!(matches!(
        Space::lagrange(&mesh, MAX_LAGRANGE_DEGREE + 1),
        Err(SpaceError::Element(_))
    ));
    assert!(matches!(
        Space::discontinuous(&mesh, 70),
        Err(SpaceError::Element(_))
    ));
    let space = Space::lagrange(&mesh, 1).unwrap();
    for (rows, columns) in [(0, 1), (1, 0), (5, 4), (usize::MAX, 2)] {
        assert!(matches!(
            space.matrix(rows, columns),
            Err(SpaceError::ValueSize(_))
        ));
    }
    assert!(space.vector(0).is_err() && space.vector(17).is_err());
    for n in [0, 1, 4, usize::MAX] {
        let message = space.symmetric(n).unwrap_err().to_string();
        assert!(message.contains("2 or 3 rows"), "{message}");
    }
    assert_eq!(space.symmetric(3).unwrap().value(), ValueKind::Symmetric(3));
    assert_eq!(space.symmetric(3).unwrap().dof_count(), 6 * 4);
}
