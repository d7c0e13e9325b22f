//! Tables against the generic ones, positions, neighbours.

use super::*;
use weft::element::CellKind;

#[test]
fn counts_of_cubes_and_of_a_few_cells() {
    for n in [1i32, 2, 7, 8, 9] {
        for at in [[0; 3], [-3, 5, -8], [-1, -1, -1]] {
            let (m, k) = (n as usize, n as usize + 1);
            assert_eq!(
                counts(&grid(&cube(n, at))),
                [
                    m * m * m,
                    k * k * k,
                    3 * m * m * k,
                    6 * m * m,
                    3 * m * k * k
                ]
            );
        }
    }
    assert_eq!(
        counts(&grid(&[[1, 0, 0], [5, 0, 0], [6, 0, 0]])),
        [3, 20, 17, 16, 32]
    );
    assert_eq!(counts(&grid(&[[-9, 3, 4]])), [1, 8, 6, 6, 12]);
    // Cells that touch in a vertex or an edge only share just that.
    assert_eq!(
        counts(&grid(&[[-1, -1, -1], [0, 0, 0]])),
        [2, 15, 12, 12, 24]
    );
    assert_eq!(
        counts(&grid(&[[-1, -1, 0], [0, 0, 0]])),
        [2, 14, 12, 12, 23]
    );
}

/// The tables agree with those that the generic search makes of the same cells, up to numbering.
fn agrees_with_the_generic_tables(grid: &VoxelGrid) {
    let t = grid.topology();
    let generic = Topology::build(CellKind::Hex, t.vertex_count(), t.cells().to_vec()).unwrap();
    assert_eq!(t.side_count(), generic.side_count());
    assert_eq!(t.boundary_sides().len(), generic.boundary_sides().len());
    for side in 0..t.side_count() {
        let other = generic.find_side(t.side_vertices(side)).unwrap() as usize;
        assert_eq!(t.side_cells(side), generic.side_cells(other));
        assert_eq!(t.side_locals(side), generic.side_locals(other));
        assert_eq!(t.side_vertices(side), generic.side_vertices(other));
        for (cell, local) in t.side_cells(side).into_iter().zip(t.side_locals(side)) {
            assert_eq!(t.cell_sides(cell as usize)[local as usize] as usize, side);
        }
    }
    assert!(t.boundary_sides().is_sorted());
}

#[test]
fn tables_are_those_of_the_generic_search() {
    let mut random = Random(5);
    for (count, reach) in [(1, 1), (50, 3), (400, 6), (800, 20)] {
        agrees_with_the_generic_tables(&grid(&random.voxels(count, reach)));
    }
    let far = VoxelCells::LIMIT;
    agrees_with_the_generic_tables(&grid(&[
        [far - 1; 3],
        [-far; 3],
        [far - 1, far - 1, far - 2],
        [-far, -far + 1, -far],
    ]));
}

#[test]
fn numbering_is_leaf_by_leaf_and_goes_up_along_each_axis() {
    let mut random = Random(11);
    let grid = grid(&random.voxels(3000, 12));
    let cells = grid.cells();
    for (cell, &at) in cells.all_coordinates().iter().enumerate() {
        assert_eq!(cells.find(at), Some(cell));
        assert_eq!(cells.coordinates(cell), at);
        for (side, next) in cells.neighbours(cell).into_iter().enumerate() {
            let mut there = at;
            there[side / 2] += if side % 2 == 0 { -1 } else { 1 };
            assert_eq!(next, cells.find(there));
            assert!(next.is_none_or(|next| (next > cell) == (side % 2 == 1)));
        }
    }
    // Cells of one leaf are consecutive, by x, then y, then z.
    for pair in cells.all_coordinates().windows(2) {
        let leaf = |at: [i32; 3]| at.map(|c| c.div_euclid(8));
        assert!(leaf(pair[0]) != leaf(pair[1]) || pair[0] < pair[1]);
    }
    let vertices = cells.vertex_coordinates();
    assert_eq!(vertices.len(), grid.topology().vertex_count());
    for (vertex, &at) in vertices.iter().enumerate() {
        assert_eq!(cells.find_vertex(at), Some(vertex));
    }
    assert_eq!(cells.find_vertex([i32::MAX; 3]), None);
    assert_eq!(cells.find([i32::MIN; 3]), None);
    let t = grid.topology();
    for cell in 0..cells.cell_count() {
        for (&v, corner) in t.cell_vertices(cell).iter().zip(CellKind::Hex.vertices()) {
            let at = cells.coordinates(cell);
            let expected: [i32; 3] = std::array::from_fn(|d| at[d] + corner[d] as i32);
            assert_eq!(vertices[v as usize], expected);
        }
    }
}

#[test]
fn flags_tell_missing_neighbours() {
    let mut random = Random(3);
    let grid = grid(&random.voxels(500, 5));
    let (cells, t, tags) = (grid.cells(), grid.topology(), grid.tags());
    let flags = cells.missing_neighbours();
    for cell in 0..cells.cell_count() {
        for (local, &side) in t.cell_sides(cell).iter().enumerate() {
            let missing = flags[cell] >> local & 1 == 1;
            assert_eq!(missing, cells.neighbours(cell)[local].is_none());
            assert_eq!(missing, t.is_boundary(side as usize));
            assert_eq!(cells.side_axis(side as usize), local / 2);
            let of_side = cells.side_missing(side as usize);
            assert_eq!(of_side[local % 2], missing);
            let name = ["left", "right", "front", "back", "bottom", "top"][local];
            assert_eq!(tags.sides(name).unwrap().contains(&side), missing);
        }
    }
}

#[test]
fn sides_are_where_both_cells_see_them() {
    let mut random = Random(9);
    for map in maps() {
        let voxels = random.voxels(60, 3);
        let grid = VoxelGrid::from_coordinates(&voxels, map).unwrap();
        let t = grid.topology();
        for side in 0..t.side_count() {
            let (cells, locals) = (t.side_cells(side), t.side_locals(side));
            let weights = [0.1, 0.2, 0.3, 0.4];
            // The same convex combination of the side's vertices, seen from either cell.
            let place = |n: usize| {
                let cell = cells[n] as usize;
                let mut xi = [0.0; 3];
                for (v, w) in t.side_vertices(side).iter().zip(weights) {
                    let local = t.cell_vertices(cell).iter().position(|u| u == v).unwrap();
                    let at = CellKind::Hex.vertices()[local];
                    (0..3).for_each(|d| xi[d] += w * at[d]);
                }
                (
                    frame_at(&grid, cell, xi).position,
                    grid.cells().position(cell, xi),
                )
            };
            let ((a, b), (c, d)) = (place(0), place(1));
            assert!(distance(a, b) < 1e-13 && distance(c, d) < 1e-13 && distance(a, c) < 1e-13);
            // The normal points from the inner cell to the outer, or out.
            let frame = frame_at(&grid, cells[0] as usize, [0.5; 3]);
            let normal = frame.push_gradient(CellKind::Hex.side_normal(locals[0] as usize));
            let centre = |cell: u32| frame_at(&grid, cell as usize, [0.5; 3]).position;
            let (inner, outer) = (centre(cells[0]), centre(cells[1]));
            let to = if t.is_boundary(side) { a } else { outer };
            let along: f64 = (0..3).map(|d| normal[d] * (to[d] - inner[d])).sum();
            assert!(along > 0.0);
        }
    }
}

#[test]
fn positions_follow_the_map() {
    let size = [0.5, 0.25, 2.0];
    let map = VoxelMap::scaled(size)
        .unwrap()
        .with_offset([1.0, 2.0, 3.0])
        .unwrap();
    for (map, half) in [(map, 0.0), (map.centred(), 0.5)] {
        let grid = VoxelGrid::from_coordinates(&[[-3, 0, 7]], map).unwrap();
        let x = grid.cells().position(0, [0.25, 0.5, 1.0]);
        let u = [-3.0 + 0.25 - half, 0.5 - half, 8.0 - half];
        for d in 0..3 {
            assert!((x[d] - (1.0 + d as f64 + size[d] * u[d])).abs() < 1e-14);
        }
        assert_eq!(grid.map().nodes.len(), 8);
        assert_eq!(grid.voxel_map().is_centred(), half != 0.0);
    }
    let det = skew().volume();
    let measure = frame_at(
        &VoxelGrid::from_coordinates(&[[4, 5, 6]], skew()).unwrap(),
        0,
        [0.3; 3],
    )
    .measure;
    assert!((det - measure).abs() < 1e-15);
}

#[test]
fn maps_that_cannot_place_cells_are_refused() {
    let says = |result: Result<VoxelMap, GeometryError>, part: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    says(VoxelMap::uniform(0.0), "length 0");
    says(VoxelMap::uniform(f64::NAN), "length");
    says(VoxelMap::uniform(1e101), "length");
    says(VoxelMap::scaled([1.0, -1.0, 1.0]), "mirror");
    says(
        VoxelMap::affine(
            [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [0.0; 3],
        ),
        "flat",
    );
    says(unit().with_offset([0.0, f64::INFINITY, 0.0]), "inf");
}

#[test]
fn a_full_box_has_the_measures_of_a_dense_grid() {
    let n = [5usize, 3, 9];
    let dense = Grid3::new(n, [-1.0, 0.0, 2.0], [1.5, 1.5, 6.5]).unwrap();
    let map = VoxelMap::uniform(0.5)
        .unwrap()
        .with_offset([-1.0, 0.0, 2.0])
        .unwrap();
    let mut voxels = Vec::new();
    for i in 0..n[0] {
        for j in 0..n[1] {
            voxels.extend((0..n[2]).map(|k| [i as i32, j as i32, k as i32]));
        }
    }
    let sparse = VoxelGrid::from_coordinates(&voxels, map).unwrap();
    let (a, b) = (dense.topology(), sparse.topology());
    assert_eq!(a.cell_count(), b.cell_count());
    assert_eq!(a.side_count(), b.side_count());
    assert_eq!(a.edge_count(), b.edge_count());
    for name in ["left", "right", "front", "back", "bottom", "top"] {
        let [x, y] = [dense.tags(), sparse.tags()].map(|t| t.sides(name).unwrap().len());
        assert_eq!(x, y, "{name}");
    }
    let mut nodes = [dense.map(), sparse.map()].map(|m| m.nodes.clone());
    nodes
        .iter_mut()
        .for_each(|n| n.sort_by(|a, b| a.partial_cmp(b).unwrap()));
    for (x, y) in nodes[0].iter().zip(&nodes[1]) {
        assert!(distance(*x, *y) < 1e-14);
    }
}
