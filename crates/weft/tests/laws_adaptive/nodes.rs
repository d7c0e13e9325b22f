use weft::element::{CellKind, Lagrange, NodeFamily};
use weft::geometry::{Geometry, NodeNumbering};

use super::*;

fn hex(p: usize) -> Lagrange {
    Lagrange::new(CellKind::Hex, p, NodeFamily::Equispaced).unwrap()
}

/// Values at all nodes, from those at the free ones.
fn complete(nodes: &NodeNumbering, free: &[f64]) -> Vec<f64> {
    let mut values = free.to_vec();
    for k in 0..nodes.hanging.len() {
        values.push(
            nodes
                .hanging
                .masters(k)
                .map(|(m, w)| w * free[m as usize])
                .sum(),
        );
    }
    values
}

fn value(
    element: &Lagrange,
    nodes: &NodeNumbering,
    values: &[f64],
    cell: usize,
    xi: [f64; 3],
) -> f64 {
    let n = element.node_count();
    let (mut shape, mut gradients) = (vec![0.0; n], vec![[0.0; 3]; n]);
    element.evaluate(xi, &mut shape, &mut gradients);
    (0..n)
        .map(|i| shape[i] * values[nodes.cell_nodes[cell * n + i] as usize])
        .sum()
}

/// Lattice coordinates of every node.
fn places(grid: &AdaptiveVoxelGrid, element: &Lagrange, nodes: &NodeNumbering) -> Vec<[f64; 3]> {
    let n = element.node_count();
    let mut places = vec![[f64::NAN; 3]; nodes.count + nodes.hanging.len()];
    for cell in 0..grid.cell_count() {
        let (origin, level) = (grid.cell_origin(cell), grid.cell_level(cell));
        for (i, xi) in element.nodes().iter().enumerate() {
            let r: [f64; 3] =
                std::array::from_fn(|d| f64::from(origin[d]) + f64::from(1 << level) * xi[d]);
            let place = &mut places[nodes.cell_nodes[cell * n + i] as usize];
            assert!(
                place[0].is_nan() || distance(*place, r) < 1e-9,
                "one place per node"
            );
            *place = r;
        }
    }
    places
}

fn grids() -> Vec<AdaptiveVoxelGrid> {
    let map = VoxelMap::uniform(1.0).unwrap();
    let mut grids = vec![
        hierarchy(map),
        ragged(3, 3, map),
        ragged(4, 2, map),
        ragged(5, 3, map).graded(Grading::Face).unwrap(),
        ragged(6, 3, map).graded(Grading::Vertex).unwrap(),
    ];
    // A tower of levels 3, 0 and 3, 2, 1, 0 around one edge.
    let tower = [
        ([-8, -8, -8], 3),
        ([-8, 0, -8], 3),
        ([0, -4, -4], 2),
        ([0, 0, -2], 1),
        ([0, 0, 0], 0),
        ([-1, -1, 0], 0),
        ([-1, 0, 0], 0),
        ([0, -1, 0], 0),
    ];
    grids.push(AdaptiveVoxelGrid::from_cells(&tower, map).unwrap());
    grids
}

#[test]
fn places_are_distinct_and_weights_sum_to_one() {
    for grid in grids() {
        for p in 1..=4 {
            let nodes = grid.node_numbering(&grid.topology(), p).unwrap();
            let mut at: Vec<[i64; 3]> = places(&grid, &hex(p), &nodes)
                .into_iter()
                .map(|r| r.map(|c| (c * p as f64).round() as i64))
                .collect();
            at.sort_unstable();
            at.dedup();
            assert_eq!(at.len(), nodes.count + nodes.hanging.len());
            for k in 0..nodes.hanging.len() {
                let masters: Vec<_> = nodes.hanging.masters(k).collect();
                assert!(masters.windows(2).all(|w| w[0].0 < w[1].0));
                assert!(masters.iter().all(|m| (m.0 as usize) < nodes.count));
                let sum: f64 = masters.iter().map(|m| m.1).sum();
                assert!((sum - 1.0).abs() < 1e-13, "{sum}");
            }
        }
    }
    let grid = hierarchy(VoxelMap::uniform(1.0).unwrap());
    let p1 = grid.node_numbering(&grid.topology(), 1).unwrap();
    // Of the 19 new vertices of the refined cell, those on its two inner faces hang: 5 + 5
    // midpoints less the common one of the edge between them.
    assert_eq!((p1.count, p1.hanging.len()), (28, 9));
}

/// Any polynomial of degree p in each coordinate is in the space.
#[test]
fn polynomials_are_reproduced_at_hanging_nodes() {
    for grid in grids() {
        for p in 1..=4 {
            let nodes = grid.node_numbering(&grid.topology(), p).unwrap();
            let places = places(&grid, &hex(p), &nodes);
            let mut random = Random::new(p as u64);
            let c: Vec<f64> = (0..(p + 1).pow(3)).map(|_| random.unit() - 0.5).collect();
            let f = |r: [f64; 3]| {
                let r = r.map(|c| c / 16.0);
                (0..c.len())
                    .map(|i| {
                        let e = [i / ((p + 1) * (p + 1)), i / (p + 1) % (p + 1), i % (p + 1)];
                        c[i] * (0..3).map(|d| r[d].powi(e[d] as i32)).product::<f64>()
                    })
                    .sum::<f64>()
            };
            let exact: Vec<f64> = places.into_iter().map(f).collect();
            let values = complete(&nodes, &exact[..nodes.count]);
            for (a, b) in values.iter().zip(&exact) {
                assert!((a - b).abs() < 1e-13, "degree {p}: {a} {b}");
            }
        }
    }
}

#[test]
fn traces_agree_from_both_sides() {
    for grid in grids() {
        let topology = grid.topology();
        for p in 1..=4 {
            let (element, nodes) = (hex(p), grid.node_numbering(&grid.topology(), p).unwrap());
            let mut random = Random::new(100 + p as u64);
            let free: Vec<f64> = (0..nodes.count).map(|_| random.unit() - 0.5).collect();
            let values = complete(&nodes, &free);
            for &side in topology.interior_sides() {
                let maps = grid.side_maps(&topology, side as usize);
                let pair = topology.side_cells(side as usize);
                for st in [random.point(), random.point(), [0.0, random.unit(), 0.0]] {
                    let seen = [0, 1].map(|k| {
                        let cell = pair[k] as usize;
                        value(&element, &nodes, &values, cell, maps[k].apply(st))
                    });
                    assert!((seen[0] - seen[1]).abs() < 1e-11, "degree {p}: {seen:?}");
                }
            }
        }
    }
}

/// Also where cells have no more than an edge or a vertex in common.
#[test]
fn values_agree_at_every_common_point() {
    for grid in grids() {
        let all = cells(&grid);
        for p in 1..=3 {
            let (element, nodes) = (hex(p), grid.node_numbering(&grid.topology(), p).unwrap());
            let mut random = Random::new(200 + p as u64);
            let free: Vec<f64> = (0..nodes.count).map(|_| random.unit() - 0.5).collect();
            let values = complete(&nodes, &free);
            for cell in 0..all.len() {
                for edge in CellKind::Hex.edges() {
                    let t = random.unit();
                    let [a, b] = edge.map(|v| CellKind::Hex.vertices()[v as usize]);
                    for xi in [a, std::array::from_fn(|d| a[d] + t * (b[d] - a[d]))] {
                        let here = value(&element, &nodes, &values, cell, xi);
                        let size = f64::from(1 << all[cell].1);
                        let r: [f64; 3] =
                            std::array::from_fn(|d| f64::from(all[cell].0[d]) + size * xi[d]);
                        for (other, (origin, level)) in all.iter().enumerate() {
                            let size = f64::from(1 << level);
                            let xi: [f64; 3] =
                                std::array::from_fn(|d| (r[d] - f64::from(origin[d])) / size);
                            if xi.iter().all(|c| (0.0..=1.0).contains(c)) {
                                let there = value(&element, &nodes, &values, other, xi);
                                assert!((here - there).abs() < 1e-11, "degree {p}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn numbering_follows_the_curve_and_repeats() {
    for grid in samples() {
        let first = grid.node_numbering(&grid.topology(), 2).unwrap();
        assert_eq!(first, grid.node_numbering(&grid.topology(), 2).unwrap());
        assert!(grid.node_numbering(&grid.topology(), 0).is_none());
    }
}
