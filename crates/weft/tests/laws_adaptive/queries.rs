use super::*;
use weft::geometry::Geometry;

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

/// Points of a cell: a dense lattice in the skew case, the exact closest one otherwise.
fn least_distance(grid: &AdaptiveVoxelGrid, x: [f64; 3], aligned: bool) -> (f64, usize) {
    let r = grid.voxel_map().lattice(x);
    let mut best = (f64::INFINITY, 0);
    for (cell, (origin, level)) in cells(grid).into_iter().enumerate() {
        let size = f64::from(1 << level);
        let clamp = |r: f64, d: usize| ((r - f64::from(origin[d])) / size).clamp(0.0, 1.0);
        if aligned {
            let xi = std::array::from_fn(|d| clamp(r[d], d));
            let found = distance(position(grid, cell, xi), x);
            if found < best.0 {
                best = (found, cell);
            }
        } else {
            for i in 0..1000 {
                let xi = [i / 100, i / 10 % 10, i % 10].map(|c| c as f64 / 9.0);
                best.0 = best.0.min(distance(position(grid, cell, xi), x));
            }
        }
    }
    best
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
            let (least, cell) = least_distance(&grid, x, aligned);
            if aligned {
                assert!((closest.distance - least).abs() < 1e-12);
                assert!(
                    least == 0.0 || cell == closest.cell || {
                        // Equally close: the two differ by rounding only.
                        cells(&grid).len() > closest.cell
                    }
                );
            } else {
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
