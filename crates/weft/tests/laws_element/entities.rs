//! Numbering, entities and the slots on which neighbours agree.

use crate::{FAMILIES, KINDS, Random, distance, lagrange, symmetries};
use weft::element::{CellKind, Entity, Lagrange, NodeFamily, map_to_cell};

#[test]
fn numbering_is_the_stated_one() {
    let at = |kind, degree, node: usize| {
        let x = lagrange(kind, degree, NodeFamily::Equispaced).nodes()[node];
        x.map(|c| (c * degree as f64).round() as i32)
    };
    for i in 0..=4 {
        assert_eq!(at(CellKind::Segment, 4, i), [i as i32, 0, 0]);
        for j in 0..=4 {
            assert_eq!(at(CellKind::Quad, 4, i * 5 + j), [i as i32, j as i32, 0]);
            let hex = at(CellKind::Hex, 4, (i * 5 + j) * 5 + 3);
            assert_eq!(hex, [i as i32, j as i32, 3]);
        }
    }
    let triangle: Vec<[i32; 3]> = (0..15).map(|i| at(CellKind::Triangle, 4, i)).collect();
    let expected = [
        [0, 0],
        [4, 0],
        [0, 4],
        [1, 0],
        [2, 0],
        [3, 0],
        [3, 1],
        [2, 2],
        [1, 3],
        [0, 3],
        [0, 2],
        [0, 1],
        [1, 1],
        [2, 1],
        [1, 2],
    ];
    assert_eq!(triangle, expected.map(|[x, y]| [x, y, 0]));
    let tet: Vec<[i32; 3]> = (0..35).map(|i| at(CellKind::Tet, 4, i)).collect();
    assert_eq!(tet[4..7], [[1, 0, 0], [2, 0, 0], [3, 0, 0]]);
    assert_eq!(tet[7..10], [[3, 1, 0], [2, 2, 0], [1, 3, 0]]);
    assert_eq!(tet[13], [0, 0, 1]);
    assert_eq!(tet[19..22], [[0, 3, 1], [0, 2, 2], [0, 1, 3]]);
    assert_eq!(tet[22..25], [[1, 1, 0], [2, 1, 0], [1, 2, 0]]);
    assert_eq!(tet[25..28], [[2, 1, 1], [1, 2, 1], [1, 1, 2]]);
    assert_eq!(tet[28..31], [[0, 2, 1], [0, 1, 2], [0, 1, 1]]);
    assert_eq!(tet[31..34], [[1, 0, 2], [1, 0, 1], [2, 0, 1]]);
    assert_eq!(tet[34], [1, 1, 1]);
}

#[test]
fn lobatto_nodes_are_symmetric_and_restrict_to_lobatto_nodes_on_sides() {
    for kind in [
        CellKind::Triangle,
        CellKind::Quad,
        CellKind::Tet,
        CellKind::Hex,
    ] {
        for degree in 1..=6 {
            let element = lagrange(kind, degree, NodeFamily::Lobatto);
            let side_element = lagrange(kind.side_kind(), degree, NodeFamily::Lobatto);
            for side in 0..kind.side_count() {
                let vertices = kind.side_vertices(side);
                let expected = map_to_cell(kind, vertices, side_element.nodes());
                let closure = element.closure_nodes(side);
                assert_eq!(closure.len(), expected.len());
                for (&node, x) in closure.iter().zip(expected) {
                    let found = element.nodes()[node as usize];
                    assert!(
                        distance(found, x) < 1e-14,
                        "{kind:?} {degree} {found:?} {x:?}"
                    );
                }
            }
            for &x in element.nodes() {
                let image = if kind.is_tensor() {
                    [1.0 - x[0], x[1], x[2]]
                } else {
                    [1.0 - x[0] - x[1] - x[2], x[1], x[2]]
                };
                assert!(element.nodes().iter().any(|&y| distance(image, y) < 1e-14));
            }
        }
    }
    // The degree 3 nodes on an edge are at (1 ± 1/√5) / 2.
    let nodes = lagrange(CellKind::Tet, 3, NodeFamily::Lobatto)
        .nodes()
        .to_vec();
    assert!((nodes[4][0] - 0.5 * (1.0 - 0.2_f64.sqrt())).abs() < 1e-15);
}

#[test]
fn entities_partition_the_nodes() {
    for kind in KINDS {
        for degree in 0..=6 {
            let element = lagrange(kind, degree, NodeFamily::Equispaced);
            let mut seen = vec![0; element.node_count()];
            for dim in 0..=3 {
                for index in 0..kind.entity_count(dim) {
                    let nodes = element.entity_nodes(dim, index);
                    assert_eq!(nodes.len(), element.interior_count(dim));
                    assert!(nodes.windows(2).all(|w| w[0] < w[1]));
                    let vertices = kind.entity_vertices(dim, index);
                    for &node in nodes {
                        seen[node as usize] += 1;
                        let entity = element.entity(node as usize);
                        assert_eq!((entity.dim as usize, entity.index as usize), (dim, index));
                        if degree > 0 {
                            // Linear functions of vertices off the entity vanish at its nodes.
                            let linear = lagrange_vertices(kind, element.nodes()[node as usize]);
                            for (v, value) in linear.into_iter().enumerate() {
                                let on = vertices.contains(&(v as u8));
                                assert_eq!(on, value > 1e-12, "{kind:?} {degree} {node} {v}");
                            }
                        }
                    }
                }
                assert!(element.entity_nodes(dim, kind.entity_count(dim)).is_empty());
            }
            assert!(seen.iter().all(|&s| s == 1), "{kind:?} {degree}");
            if degree == 0 {
                assert_eq!(element.interior_count(kind.dim()), 1);
            }
        }
    }
}

/// Linear (multilinear) functions of the vertices in vertex order.
fn lagrange_vertices(kind: CellKind, x: [f64; 3]) -> Vec<f64> {
    if kind.is_tensor() {
        let factor = |v: &[f64; 3], d: usize| if v[d] == 1.0 { x[d] } else { 1.0 - x[d] };
        let vertices = kind.vertices().iter();
        return vertices
            .map(|v| (0..kind.dim()).map(|d| factor(v, d)).product())
            .collect();
    }
    let first = 1.0 - x[0] - x[1] - x[2];
    [first, x[0], x[1], x[2]][..kind.vertex_count()].to_vec()
}

/// Two cells glued along a side, the second in every orientation and on every side: at nodes that
/// coincide, entity vertices and slots agree, and slots number each entity without gaps.
#[test]
fn neighbours_give_shared_nodes_the_same_slot() {
    let mut random = Random(17);
    for kind in CellKind::CELLS {
        let n = kind.vertex_count();
        for degree in 1..=6 {
            for family in FAMILIES {
                let element = lagrange(kind, degree, family);
                let all = symmetries(kind);
                let pairs = all
                    .iter()
                    .flat_map(|s| (0..kind.side_count()).map(move |i| (s, i)));
                for (images, side) in pairs {
                    // The second cell is the first one renumbered by a symmetry: seen through its
                    // own local numbering, every node of the first has its image. The global
                    // numbers are random, but the vertices off the side differ between the cells,
                    // as they do in a mesh.
                    let numbers = random.shuffled(2 * n + 5);
                    let first: Vec<u32> = (0..n).map(|v| numbers[v] as u32).collect();
                    let on_side = kind.side_vertices(side);
                    let mut second = vec![0; n];
                    for v in 0..n {
                        let shared = on_side.contains(&(v as u8));
                        let number = if shared { numbers[v] } else { numbers[n + v] };
                        second[images[v]] = number as u32;
                    }
                    check_shared(&element, side, images, &first, &second);
                    for dim in 0..=kind.dim() {
                        for index in 0..kind.entity_count(dim) {
                            let nodes = element.entity_nodes(dim, index);
                            let mut slots: Vec<usize> = nodes
                                .iter()
                                .map(|&i| element.slot(i as usize, &first))
                                .collect();
                            slots.sort_unstable();
                            assert!(slots.into_iter().eq(0..nodes.len()));
                        }
                    }
                }
            }
        }
    }
}

fn check_shared(element: &Lagrange, side: usize, images: &[usize], first: &[u32], second: &[u32]) {
    let kind = element.kind();
    for &node in element.closure_nodes(side) {
        let x = element.nodes()[node as usize];
        // The same physical point in the second cell.
        let mut y = [0.0; 3];
        for (v, weight) in lagrange_vertices(kind, x).into_iter().enumerate() {
            for d in 0..3 {
                y[d] += weight * kind.vertices()[images[v]][d];
            }
        }
        let other = (0..element.node_count())
            .find(|&j| distance(element.nodes()[j], y) < 1e-12)
            .unwrap();
        let (a, b) = (element.entity(node as usize), element.entity(other));
        assert_eq!(a.dim, b.dim);
        let global = |entity: Entity, cell: &[u32]| {
            let vertices = kind.entity_vertices(entity.dim as usize, entity.index as usize);
            let mut all: Vec<u32> = vertices.iter().map(|&v| cell[v as usize]).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(global(a, first), global(b, second));
        assert_eq!(
            element.slot(node as usize, first),
            element.slot(other, second),
            "{} of degree {}, node {node}",
            kind.name(),
            element.degree()
        );
    }
}

/// Side coordinates reach the right corners for every order of the side's vertices, and the map is
/// affine on simplices and bilinear on quads.
#[test]
fn side_points_reach_the_cell() {
    for kind in CellKind::CELLS {
        let side_kind = kind.side_kind();
        for side in 0..kind.side_count() {
            let base = kind.side_vertices(side);
            for order in symmetries(side_kind) {
                let vertices: Vec<u8> = order.iter().map(|&i| base[i]).collect();
                let corners = map_to_cell(kind, &vertices, side_kind.vertices());
                for (&v, x) in vertices.iter().zip(corners) {
                    assert_eq!(x, kind.vertices()[v as usize]);
                }
                let center = map_to_cell(kind, &vertices, &[side_kind.center()])[0];
                let mut expected = [0.0; 3];
                for &v in base {
                    for d in 0..3 {
                        expected[d] += kind.vertices()[v as usize][d] / base.len() as f64;
                    }
                }
                assert!(distance(center, expected) < 1e-15);
            }
        }
    }
}
