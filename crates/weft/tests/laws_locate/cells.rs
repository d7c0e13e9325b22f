//! Closest points on single cells, from raw nodes.

use super::*;

const TRIANGLE: [Vec3; 3] = [[0.0; 3], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]];

fn closest(kind: CellKind, nodes: &[Vec3], x: Vec3) -> Nearest {
    closest_point(kind, 1, 3, nodes, x).unwrap()
}

#[test]
fn reference_cases() {
    // The rows of the reference's catalogue: point, squared distance, coordinates.
    for (x, distance2, xi) in [
        ([-1.0, -1.0, 0.0], 2.0, [0.0, 0.0, 0.0]),
        ([0.5, 0.5, 0.0], 0.0, [0.25, 0.25, 0.0]),
        ([1.0, 1.0, 0.0], 0.0, [0.5, 0.5, 0.0]),
        ([2.0, 2.0, 0.0], 2.0, [0.5, 0.5, 0.0]),
    ] {
        let found = closest(CellKind::Triangle, &TRIANGLE, x);
        assert!((found.distance.powi(2) - distance2).abs() < 1e-15);
        assert!(norm(sub(found.xi, xi)) < 1e-15, "{found:?}");
    }
    let tet = [[0.0; 3], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]];
    for (x, distance2, xi) in [
        ([-1.0; 3], 3.0, [0.0; 3]),
        ([0.5; 3], 0.0, [1.0 / 6.0; 3]),
        ([1.0; 3], 0.0, [1.0 / 3.0; 3]),
        ([2.0; 3], 3.0, [1.0 / 3.0; 3]),
    ] {
        let found = closest(CellKind::Tet, &tet, x);
        assert!((found.distance.powi(2) - distance2).abs() < 1e-14);
        assert!(norm(sub(found.xi, xi)) < 1e-15, "{found:?}");
    }
}

/// Positions by the basis of the element, which is other code than the search's.
fn position(kind: CellKind, degree: usize, nodes: &[Vec3], xi: Vec3) -> Vec3 {
    let table = map_element(kind, degree).tabulate(&[xi]);
    let mut x = [0.0; 3];
    for (node, value) in nodes.iter().zip(table.values_at(0)) {
        (0..3).for_each(|d| x[d] += value * node[d]);
    }
    x
}

fn inside(kind: CellKind, xi: Vec3) -> bool {
    let d = kind.dim();
    xi.iter().all(|&c| c >= 0.0)
        && xi[d..].iter().all(|&c| c == 0.0)
        && if kind.is_tensor() {
            xi.iter().all(|&c| c <= 1.0)
        } else {
            xi.iter().sum::<f64>() <= 1.0 + 4.0 * f64::EPSILON
        }
}

/// Nodes of a reference cell of some degree, shaken.
fn shaken(random: &mut Random, kind: CellKind, degree: usize, dim: usize, by: f64) -> Vec<Vec3> {
    let basis = map_element(kind, degree);
    let shake = |x: &Vec3| {
        let s = random.point(dim, -by, by);
        std::array::from_fn(|d| x[d] + s[d])
    };
    basis.nodes().iter().map(shake).collect()
}

#[test]
fn no_sampled_point_of_a_cell_is_closer() {
    let mut random = Random(7);
    for kind in CellKind::CELLS {
        for degree in 1..=3 {
            for dim in kind.dim()..=3 {
                for _ in 0..12 {
                    let by = 0.25 / degree as f64;
                    let nodes = shaken(&mut random, kind, degree, dim, by);
                    let samples: Vec<Vec3> = (0..4000)
                        .map(|_| random.reference(kind))
                        .map(|xi| position(kind, degree, &nodes, xi))
                        .collect();
                    for reach in [0.5, 0.8, 3.0, 100.0] {
                        let x = random.point(dim, 0.5 - reach, 0.5 + reach);
                        let found = closest_point(kind, degree, dim, &nodes, x).unwrap();
                        assert!(inside(kind, found.xi), "{kind:?} {found:?}");
                        let there = position(kind, degree, &nodes, found.xi);
                        assert!(norm(sub(there, found.position)) < 1e-13 * (1.0 + reach));
                        let distance = norm(sub(x, there));
                        assert!((distance - found.distance).abs() < 1e-13 * (1.0 + reach));
                        let least = samples
                            .iter()
                            .map(|&s| norm(sub(x, s)))
                            .fold(f64::INFINITY, f64::min);
                        assert!(
                            found.distance <= least * (1.0 + 1e-14),
                            "{kind:?} degree {degree} in {dim}: {} > {least}",
                            found.distance
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn points_of_a_body_are_found_in_it() {
    let mut random = Random(11);
    for kind in CellKind::CELLS {
        for degree in 1..=4 {
            for _ in 0..60 {
                let by = 0.2 / (degree * degree) as f64;
                let nodes = shaken(&mut random, kind, degree, kind.dim(), by);
                let xi = random.reference(kind);
                let x = position(kind, degree, &nodes, xi);
                let found = closest_point(kind, degree, kind.dim(), &nodes, x).unwrap();
                assert_eq!(found.distance, 0.0, "{kind:?} {degree}");
                // The least singular value of these maps is above some 1/50.
                assert!(norm(sub(found.xi, xi)) < 1e-12, "{kind:?} {degree}");
                assert!(norm(sub(found.position, x)) < 1e-14);
            }
        }
    }
}

#[test]
fn closed_forms_agree_with_descent() {
    // The same cell with nodes of degree 2 takes the general path.
    let mut random = Random(13);
    for kind in [CellKind::Segment, CellKind::Triangle, CellKind::Tet] {
        for _ in 0..2000 {
            let corners = shaken(&mut random, kind, 1, 3, 0.4);
            let nodes: Vec<Vec3> = map_element(kind, 2)
                .nodes()
                .iter()
                .map(|&xi| position(kind, 1, &corners, xi))
                .collect();
            let x = random.point(3, -1.0, 2.0);
            let exact = closest_point(kind, 1, 3, &corners, x).unwrap();
            let found = closest_point(kind, 2, 3, &nodes, x).unwrap();
            assert!((exact.distance - found.distance).abs() < 1e-13, "{kind:?}");
            if exact.distance > 0.1 {
                assert!(norm(sub(exact.position, found.position)) < 1e-9, "{kind:?}");
            }
        }
    }
}

#[test]
fn degenerate_cells_answer_like_what_is_left_of_them() {
    let point = [1.0, 2.0, 3.0];
    let x = [1.0, 2.0, 7.0];
    for kind in CellKind::CELLS {
        for degree in 1..=2 {
            let n = map_element(kind, degree).node_count();
            let found = closest_point(kind, degree, 3, &vec![point; n], x).unwrap();
            assert!((found.distance - 4.0).abs() < 1e-14, "{kind:?}");
            assert!(norm(sub(found.position, point)) < 1e-14, "{kind:?}");
            assert!(inside(kind, found.xi));
            let there = closest_point(kind, degree, 3, &vec![point; n], point).unwrap();
            assert_eq!(there.distance, 0.0);
        }
        // Squashed to a line, and into a plane, at sizes from tiny to huge.
        for size in [1e-9, 1.0, 1e9] {
            for flat in [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]] {
                let nodes: Vec<Vec3> = kind_nodes(kind)
                    .map(|v| std::array::from_fn(|d| size * flat[d] * v[d]))
                    .collect();
                let x = [0.3 * size, 0.2 * size, 2.0 * size];
                let found = closest_point(kind, 1, 3, &nodes, x).unwrap();
                let mut best = f64::INFINITY;
                let mut random = Random(3);
                for _ in 0..20000 {
                    let p = position(kind, 1, &nodes, random.reference(kind));
                    best = best.min(norm(sub(x, p)));
                }
                assert!(
                    found.distance <= best * (1.0 + 1e-12),
                    "{kind:?} {size} {flat:?}"
                );
                assert!(
                    found.distance >= best * (1.0 - 1e-3),
                    "{kind:?} {size} {flat:?}"
                );
            }
        }
    }
}

fn kind_nodes(kind: CellKind) -> impl Iterator<Item = Vec3> {
    map_element(kind, 1).nodes().to_vec().into_iter()
}

#[test]
fn needles_keep_their_height() {
    // A triangle of height 1e-8: above its middle the face answers, not an edge 1e-8 off.
    let needle = [[0.0; 3], [1.0, 0.0, 0.0], [0.5, 1e-8, 0.0]];
    let x = [0.5, 0.25e-8, 1e-9];
    let found = closest(CellKind::Triangle, &needle, x);
    assert!((found.distance - 1e-9).abs() < 1e-15, "{found:?}");
    // Three points on a line: the edges answer.
    let line = [[0.0; 3], [1.0, 1.0, 1.0], [0.25, 0.25, 0.25]];
    let found = closest(CellKind::Triangle, &line, [1.0, 0.0, 0.5]);
    assert!((found.distance - 0.5f64.sqrt()).abs() < 1e-15);
    assert!(norm(sub(found.position, [0.5; 3])) < 1e-15);
    // A flat tet is two triangles.
    let flat = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
    let found = closest(CellKind::Tet, &flat, [0.7, 0.7, 2.0]);
    assert!((found.distance - 2.0).abs() < 1e-15);
    assert!(
        norm(sub(
            position(CellKind::Tet, 1, &flat, found.xi),
            found.position
        )) < 1e-15
    );
}

#[test]
fn cells_at_an_edge_give_it_the_same_distance() {
    let mut random = Random(17);
    for _ in 0..5000 {
        let [a, b, c, d] = std::array::from_fn(|_| random.point(3, -1.0, 1.0));
        let x = random.point(3, -2.0, 2.0);
        let one = closest(CellKind::Triangle, &[a, b, c], x);
        let other = closest(CellKind::Triangle, &[b, a, d], x);
        let edge = closest(CellKind::Segment, &[b, a], x);
        for found in [one, other] {
            assert!(found.distance <= edge.distance);
            if found.position == edge.position {
                assert_eq!(found.distance, edge.distance);
            }
        }
    }
}

#[test]
fn arguments_that_do_not_fit_have_no_answer() {
    let x = [0.0; 3];
    let t = CellKind::Triangle;
    assert!(closest_point(t, 1, 3, &TRIANGLE[..2], x).is_none());
    assert!(closest_point(t, 2, 3, &TRIANGLE, x).is_none());
    assert!(closest_point(t, 0, 3, &TRIANGLE, x).is_none());
    assert!(closest_point(t, 11, 3, &TRIANGLE, x).is_none());
    assert!(closest_point(t, 1, 1, &TRIANGLE, x).is_none());
    assert!(closest_point(t, 1, 4, &TRIANGLE, x).is_none());
    assert!(closest_point(CellKind::Point, 1, 3, &TRIANGLE[..1], x).is_none());
    assert!(closest_point(t, 1, 3, &TRIANGLE, [f64::NAN, 0.0, 0.0]).is_none());
    assert!(closest_point(t, 1, 3, &TRIANGLE, [0.0, f64::INFINITY, 0.0]).is_none());
}
