use weft::element::CellKind;
use weft::geometry::Geometry;

use super::*;

/// Area vector of a side by one cell's map: J⁻ᵀ n det J.
fn area_vector(grid: &AdaptiveVoxelGrid, cell: usize, n: [f64; 3]) -> [f64; 3] {
    let frame = weft::geometry::frame_at(grid, cell, [0.3; 3]);
    std::array::from_fn(|d| frame.measure * (0..3).map(|k| frame.inverse[k][d] * n[k]).sum::<f64>())
}

/// Size of the cell's largest edge and of its coordinates, for tolerances.
fn scale(grid: &AdaptiveVoxelGrid, cell: usize) -> f64 {
    let x = [[0.0; 3], [1.0; 3]].map(|xi| position(grid, cell, xi));
    x.iter()
        .flatten()
        .fold(distance(x[0], x[1]), |m, c| m.max(c.abs()))
}

#[test]
fn positions_are_those_of_the_lattice() {
    for grid in samples() {
        let (map, topology) = (grid.map(), grid.topology());
        for cell in 0..grid.cell_count() {
            let eps = 1e-14 * scale(&grid, cell);
            for (&v, &xi) in topology
                .cell_vertices(cell)
                .iter()
                .zip(CellKind::Hex.vertices())
            {
                assert!(distance(map.vertex(v), position(&grid, cell, xi)) <= eps);
            }
            for i in 0..8 {
                let xi = [i / 4, i / 2 % 2, i % 2].map(|c| c as f64);
                let x = map.nodes[map.cell_nodes[8 * cell + i] as usize];
                assert!(distance(x, position(&grid, cell, xi)) <= eps);
            }
        }
    }
}

#[test]
fn both_cells_see_a_side_at_the_same_place() {
    for grid in samples() {
        let (topology, map) = (grid.topology(), grid.map());
        for side in 0..topology.side_count() {
            let pair = topology.side_cells(side);
            let locals = topology.side_locals(side);
            let maps = grid.side_maps(&topology, side);
            let eps = 1e-13 * scale(&grid, pair[0] as usize);
            let vertices = topology.side_vertices(side);
            let corners = [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
            for k in 0..2 {
                let cell = pair[k] as usize;
                for (&v, st) in vertices.iter().zip(corners) {
                    let xi = maps[k].apply(st);
                    assert!(xi.iter().all(|c| (0.0..=1.0).contains(c)));
                    assert!(distance(position(&grid, cell, xi), map.vertex(v)) <= eps);
                }
                let face = usize::from(locals[k]);
                let xi = maps[k].apply([0.4, 0.7, 0.0]);
                assert_eq!(xi[face / 2], (face % 2) as f64, "on the named face");
                assert!(topology.face_sides(cell, face).contains(&(side as u32)));
                assert_eq!(
                    topology.cell_sides(cell)[face],
                    topology.face_sides(cell, face)[0]
                );
            }
            let seen =
                [0, 1].map(|k| position(&grid, pair[k] as usize, maps[k].apply([0.37, 0.81, 0.0])));
            assert!(distance(seen[0], seen[1]) <= eps);
            let normals =
                [0, 1].map(|k| area_vector(&grid, pair[k] as usize, maps[k].normal(CellKind::Hex)));
            let sign = if topology.is_boundary(side) {
                1.0
            } else {
                -1.0
            };
            let size = distance(normals[0], [0.0; 3]);
            assert!(distance(normals[0], normals[1].map(|c| sign * c)) <= 1e-12 * size);
            // Outward: away from the inner cell.
            let center = position(&grid, pair[0] as usize, [0.5; 3]);
            let out: f64 = (0..3)
                .map(|d| normals[0][d] * (seen[0][d] - center[d]))
                .sum();
            assert!(out > 0.0);
            assert_eq!(topology.find_side(vertices), Some(side as u32));
            if !topology.is_boundary(side) {
                let [inner, outer] = locals.map(usize::from);
                assert_eq!(
                    (inner % 2, outer),
                    (1, inner - 1),
                    "inner cell on the minus side"
                );
            }
        }
    }
}

/// The area vectors of a cell's sides sum to nothing, and its sides cover each face once.
#[test]
fn sides_close_every_cell() {
    for grid in samples() {
        let topology = grid.topology();
        let mut sums = vec![[0.0; 3]; grid.cell_count()];
        let mut shares = vec![[0.0; 6]; grid.cell_count()];
        for side in 0..topology.side_count() {
            let pair = topology.side_cells(side);
            let maps = grid.side_maps(&topology, side);
            let ends = if topology.is_boundary(side) { 1 } else { 2 };
            for k in 0..ends {
                let cell = pair[k] as usize;
                let n = maps[k].normal(CellKind::Hex);
                let area = area_vector(&grid, cell, n);
                (0..3).for_each(|d| sums[cell][d] += area[d]);
                let face = usize::from(topology.side_locals(side)[k]);
                shares[cell][face] += n[face / 2].abs();
            }
        }
        for cell in 0..grid.cell_count() {
            assert_eq!(shares[cell], [1.0; 6], "dyadic shares are exact");
            let surface = distance(area_vector(&grid, cell, [1.0, 1.0, 1.0]), [0.0; 3]);
            assert!(distance(sums[cell], [0.0; 3]) <= 1e-12 * surface);
        }
    }
}

#[test]
fn boundary_parts_are_as_large_as_can_be() {
    // One small cell in the middle of a face of edge 8: three quarters of the face, and twice
    // three quarters of what is left, stay whole.
    let map = VoxelMap::uniform(1.0).unwrap();
    let grid = AdaptiveVoxelGrid::from_cells(&[([-8, 0, 0], 3), ([0, 3, 4], 0)], map).unwrap();
    let topology = grid.topology();
    assert_eq!(topology.side_count(), 5 + (3 + 3 + 3 + 1) + 5);
    let mut areas: Vec<f64> = topology
        .face_sides(0, 1)
        .iter()
        .map(|&side| {
            let n = grid.side_maps(&topology, side as usize)[0].normal(CellKind::Hex);
            64.0 * n[0].abs()
        })
        .collect();
    areas.sort_by(f64::total_cmp);
    assert_eq!(areas, [1.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 16.0, 16.0, 16.0]);
    assert_eq!(topology.boundary_sides().len(), topology.side_count() - 1);
    assert_eq!(topology.components(), [0, 0], "the two touch");
    // A cell in the same block that touches nothing leaves the face whole.
    let apart = AdaptiveVoxelGrid::from_cells(&[([-8, 0, 0], 3), ([1, 3, 4], 0)], map).unwrap();
    assert_eq!(apart.topology().side_count(), 12);
    assert_eq!(apart.topology().components(), [0, 1]);
}
