use super::*;
use weft::geometry::{Geometry, Lookup, VoxelGrid};

#[test]
fn positions_are_located() {
    for grid in samples() {
        let mut random = Random::new(11);
        for cell in 0..grid.cell_count() {
            let xi = random.point().map(|c| 0.01 + 0.98 * c);
            let (found, back) = grid.locate(position(&grid, cell, xi)).unwrap();
            assert_eq!(found, cell);
            // Far from the origin positions themselves are only so exact.
            assert!(distance(back, xi) < 1e-9, "{back:?} {xi:?}");
            // Corners belong to some cell, and are where they are said to be.
            for corner in 0..8 {
                let xi = std::array::from_fn(|d| f64::from(corner >> d & 1));
                let x = position(&grid, cell, xi);
                let (found, back) = grid.locate(x).unwrap();
                let scale = x.iter().fold(1.0f64, |m, c| m.max(c.abs()));
                assert!(distance(position(&grid, found, back), x) < 1e-9 * scale);
            }
        }
        assert_eq!(grid.locate([1e30, 0.0, 0.0]), None);
        assert_eq!(grid.locate([f64::NAN, 0.0, 0.0]), None);
        assert_eq!(grid.locate([0.0, f64::INFINITY, 0.0]), None);
    }
}

/// Distance of a cell: that of a dense lattice of points in the skew case, exact otherwise.
fn cell_distance(grid: &AdaptiveVoxelGrid, cell: usize, x: [f64; 3], aligned: bool) -> f64 {
    let to = |xi: [f64; 3]| distance(position(grid, cell, xi), x);
    if aligned {
        let (r, size) = (
            grid.voxel_map().lattice(x),
            f64::from(1 << grid.cell_level(cell)),
        );
        let origin = grid.cell_origin(cell).map(f64::from);
        return to(std::array::from_fn(|d| {
            ((r[d] - origin[d]) / size).clamp(0.0, 1.0)
        }));
    }
    (0..1000)
        .map(|i| to([i / 100, i / 10 % 10, i % 10].map(|c| c as f64 / 9.0)))
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn the_closest_cell_is_the_closest() {
    for (seed, map, aligned) in [
        (
            1,
            VoxelMap::scaled([0.5, 0.1, 0.3])
                .unwrap()
                .with_offset([1.0, 0.0, -3.0])
                .unwrap(),
            true,
        ),
        (2, skew_map(), false),
    ] {
        let grid = ragged(seed, 2, map);
        let mut random = Random::new(12);
        let mut outside = 0;
        for _ in 0..150 {
            let r = random.point().map(|c| 40.0 * c - 20.0);
            let x = map.position(r);
            let closest = grid.closest(x, f64::INFINITY).unwrap();
            let at = position(&grid, closest.cell, closest.xi);
            assert!(distance(at, closest.position) < 1e-12);
            assert!((distance(at, x) - closest.distance).abs() < 1e-12);
            let least = (0..grid.cell_count())
                .map(|cell| cell_distance(&grid, cell, x, aligned))
                .fold(f64::INFINITY, f64::min);
            let own = cell_distance(&grid, closest.cell, x, aligned);
            if aligned {
                assert!((closest.distance - least).abs() < 1e-12);
                assert!((own - least).abs() < 1e-12, "cell {}", closest.cell);
            } else {
                assert!(closest.distance >= own - 0.5 && closest.distance <= own + 1e-12);
                // The dense points are at most half their spacing from the closest.
                assert!(closest.distance <= least + 1e-12);
                assert!(closest.distance >= least - 0.5);
            }
            if closest.distance > 0.0 {
                outside += 1;
                assert_eq!(grid.closest(x, closest.distance * 0.999), None);
                assert!(grid.closest(x, closest.distance * 1.001).is_some());
            } else {
                assert!(grid.closest(x, 0.0).is_some());
            }
        }
        assert!(outside > 50);
        assert_eq!(grid.closest([f64::NAN; 3], 1.0), None);
        assert_eq!(grid.closest([100.0; 3], -1.0), None);
    }
}

#[test]
fn of_equally_close_cells_the_first_is_taken() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let grid = AdaptiveVoxelGrid::from_cells(&[([-2, 0, 0], 0), ([2, 0, 0], 0)], map).unwrap();
    let closest = grid.closest([0.5, 0.5, 0.5], 2.0).unwrap();
    assert_eq!((closest.cell, closest.distance), (0, 1.5));
    assert_eq!(closest.xi, [1.0, 0.5, 0.5]);
}

/// The cell that holds a position is the closest one, though a smaller one touches it; of cells
/// that are equally far, the smallest is, whatever rounding makes of the blocks they are in.
#[test]
fn issue_004_ties_of_closest_cells() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let grid = AdaptiveVoxelGrid::from_cells(&[([0; 3], 0), ([1, 0, 0], 0)], map).unwrap();
    let at = [1.0, 0.5, 0.5];
    let closest = grid.closest(at, 0.0).unwrap();
    assert_eq!(Some((closest.cell, closest.xi)), grid.locate(at));
    assert_eq!(closest.cell, 1);
    // A lattice and its mirror image in the origin, in numbers that squares are exact in.
    let sheared = [[1.0, 0.5, 0.25], [0.0, 1.0, -0.375], [0.125, 0.0, 1.0]];
    let map = VoxelMap::affine(sheared, [0.0; 3]).unwrap();
    let mut random = Random::new(5);
    let mut ties = 0;
    for _ in 0..2000 {
        let level = random.below(3);
        let size = 1i32 << level;
        let origin: [i32; 3] = std::array::from_fn(|_| (random.below(9) as i32 - 4) * size);
        let mirror = origin.map(|c| -c - size);
        let extra = [random.below(60) as i32 - 30, 40, 10];
        if (0..3).all(|d| origin[d] <= 0 && 0 <= origin[d] + size) {
            continue;
        }
        let three = [origin, mirror].map(|o| (o, level as u8));
        let mut three = three.to_vec();
        three.push((extra, 0));
        let grid = AdaptiveVoxelGrid::from_cells(&three, map).unwrap();
        let alone = |cell: usize| {
            let cell = (grid.cell_origin(cell), grid.cell_level(cell));
            let grid = AdaptiveVoxelGrid::from_cells(&[cell], map).unwrap();
            grid.closest([0.0; 3], f64::INFINITY).unwrap()
        };
        let all = [0, 1, 2].map(alone);
        let found = grid.closest([0.0; 3], f64::INFINITY).unwrap();
        let least = all.map(|n| n.distance).into_iter().fold(f64::MAX, f64::min);
        assert!(found.distance <= least * (1.0 + 1e-15));
        // At corners distances are exact.
        let corner = |n: &&weft::geometry::Nearest| n.xi.iter().all(|c| *c == 0.0 || *c == 1.0);
        let tied: Vec<usize> = (0..3).filter(|&c| all[c].distance == least).collect();
        if tied.len() > 1 && tied.iter().all(|&c| corner(&&all[c])) {
            ties += 1;
            assert_eq!(found.cell, tied[0], "{three:?}");
        }
    }
    assert!(ties > 100, "{ties}");
}

/// Upper corners are in the grid wherever it lies, as in a plain voxel grid.
#[test]
fn issue_004_rounding_far_from_the_origin() {
    for size in [0.3, 0.7e-3, 11.0] {
        for far in [0.0, 1e3, -1e6, 1e9] {
            let map = VoxelMap::uniform(size).unwrap();
            let map = map.with_offset([far, 0.0, -far]).unwrap();
            let grid = AdaptiveVoxelGrid::uniform(&[[0; 3]], 0, map).unwrap();
            let twin = VoxelGrid::from_coordinates(&[[0; 3]], map).unwrap();
            for corner in 0..8 {
                let c: [f64; 3] = std::array::from_fn(|d| f64::from(corner >> d & 1));
                let x = [far + size * c[0], size * c[1], size * c[2] - far];
                let (cell, xi) = grid.locate(x).unwrap();
                let (_, wanted) = twin.locate(x, &Lookup::default()).unwrap().unwrap();
                assert_eq!(cell, 0);
                assert!(distance(xi, wanted) < 1e-12);
                assert_eq!(grid.closest(x, 0.0).map(|n| n.cell), Some(0));
                let off = [far + size * (3.0 * c[0] - 1.0), x[1], x[2]];
                assert_eq!(grid.locate(off), None, "{off:?}");
            }
        }
    }
}

/// A map whose cells have their centres at images of integers: refined and coarsened lattices have
/// the same corners, without rounding.
#[test]
fn centred_maps_keep_their_corners() {
    for map in [VoxelMap::uniform(0.3).unwrap(), skew_map()] {
        let map = map.centred();
        let grid = AdaptiveVoxelGrid::from_cells(&[([-1, 0, 2], 0), ([0; 3], 1)], map).unwrap();
        let middle = grid.map().mean(grid.topology().cell_vertices(0));
        assert!(distance(middle, position(&grid, 0, [0.5; 3])) < 1e-13);
        let fine = grid.adapted(&[Mark::Refine; 2]).unwrap();
        assert_eq!(fine.cell_count(), 16);
        for cell in 0..16 {
            let x = position(&fine, cell, [0.5; 3]);
            let (parent, _) = grid.locate(x).unwrap();
            let overlaps = fine.overlaps(&grid).unwrap();
            assert_eq!(overlaps.of(cell)[0].old as usize, parent);
        }
        let back = fine.adapted(&[Mark::Coarsen; 16]).unwrap().trimmed();
        assert_eq!(back.voxel_map(), map);
        assert_eq!(cells(&back), cells(&grid));
    }
}
