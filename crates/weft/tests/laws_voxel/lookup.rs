//! Point location and closest points, against every cell tried.

use super::*;

const ANY: Lookup = Lookup {
    mask: None,
    guess: None,
    environment: None,
};

#[test]
fn points_of_cells_are_found_again() {
    let mut random = Random(41);
    for map in maps() {
        let grid = VoxelGrid::from_coordinates(&random.voxels(400, 9), map).unwrap();
        let cells = grid.cells();
        let mut guess = None;
        for cell in 0..cells.cell_count() {
            let xi: [f64; 3] = std::array::from_fn(|_| random.real(0.0, 1.0));
            let x = cells.position(cell, xi);
            let lookup = Lookup { guess, ..ANY };
            for lookup in [ANY, lookup] {
                let (found, at) = cells.locate(x, &lookup).unwrap().unwrap();
                assert_eq!(found, cell);
                assert!(distance(at, xi) < 1e-10);
                let nearest = cells.closest(x, 0.0, &lookup).unwrap().unwrap();
                assert_eq!((nearest.cell, nearest.distance), (cell, 0.0));
            }
            guess = Some(cell);
        }
        let far = Lookup {
            guess: Some(usize::MAX),
            ..ANY
        };
        let x = cells.position(3, [0.5; 3]);
        assert_eq!(cells.locate(x, &far).unwrap().unwrap().0, 3);
    }
}

#[test]
fn corners_of_cells_are_in_a_cell_that_has_them() {
    let mut random = Random(43);
    for map in maps() {
        let grid = VoxelGrid::from_coordinates(&random.voxels(300, 4), map).unwrap();
        let (cells, t, nodes) = (grid.cells(), grid.topology(), grid.map());
        for vertex in 0..t.vertex_count() {
            let x = nodes.nodes[vertex];
            let (cell, xi) = cells.locate(x, &ANY).unwrap().unwrap();
            assert!(t.cell_vertices(cell).contains(&(vertex as u32)));
            assert!(distance(cells.position(cell, xi), x) < 1e-10);
        }
    }
    // A shared corner belongs to the cell behind it; if that is not there, to the smallest.
    let grid = grid(&[[-1, -1, -1], [-1, 0, 0], [0, 0, 0]]);
    let at = |lookup: &Lookup| grid.locate([0.0; 3], lookup).unwrap().unwrap();
    assert_eq!(grid.cells().coordinates(at(&ANY).0), [0, 0, 0]);
    let mask: Vec<bool> = (0..3)
        .map(|c| grid.cells().coordinates(c) != [0, 0, 0])
        .collect();
    let masked = at(&Lookup {
        mask: Some(&mask),
        ..ANY
    });
    assert_eq!(grid.cells().coordinates(masked.0), [-1, -1, -1]);
    assert_eq!(masked.1, [1.0; 3]);
}

/// Distance from a point to a cell by projected gradient descent: slow, and nothing in common
/// with the search.
fn plain_distance(cells: &VoxelCells, cell: usize, x: [f64; 3]) -> f64 {
    let map = cells.voxel_map();
    let a = map.matrix();
    let trace: f64 = a.as_flattened().iter().map(|v| v * v).sum();
    let mut xi = [0.5; 3];
    for _ in 0..4000 {
        let p = cells.position(cell, xi);
        let r: [f64; 3] = std::array::from_fn(|d| p[d] - x[d]);
        for c in 0..3 {
            let gradient: f64 = (0..3).map(|d| a[d][c] * r[d]).sum();
            xi[c] = (xi[c] - gradient / trace).clamp(0.0, 1.0);
        }
    }
    distance(cells.position(cell, xi), x)
}

#[test]
fn the_closest_cell_is_the_closest_of_all() {
    let mut random = Random(47);
    for map in maps() {
        let voxels = random.voxels(12, 12);
        let grid = VoxelGrid::from_coordinates(&voxels, map).unwrap();
        let cells = grid.cells();
        let n = cells.cell_count();
        for round in 0..25 {
            let u = random.points(1, 20.0)[0];
            let x = map.position(u);
            let mask: Vec<bool> = (0..n).map(|_| random.int(0, 3) > 0).collect();
            let mask = (round % 2 == 0).then_some(&mask[..]);
            let lookup = Lookup {
                mask,
                guess: (round % 3 == 0).then_some(random.int(0, n as i32) as usize),
                environment: None,
            };
            let brute = (0..n)
                .filter(|&c| mask.is_none_or(|m| m[c]))
                .map(|c| plain_distance(&cells, c, x))
                .fold(f64::INFINITY, f64::min);
            let found = cells.closest(x, f64::INFINITY, &lookup).unwrap();
            let Some(found) = found else {
                assert_eq!(brute, f64::INFINITY);
                continue;
            };
            assert!(mask.is_none_or(|m| m[found.cell]));
            assert!((found.distance - brute).abs() < 1e-10 * brute.max(1.0));
            let there = distance(cells.position(found.cell, found.xi), x);
            assert!((there - found.distance).abs() < 1e-12 * there.max(1.0));
            // The limit holds exactly.
            let within = |limit: f64| cells.closest(x, limit, &lookup).unwrap();
            assert_eq!(within(found.distance), Some(found));
            assert_eq!(within(found.distance.next_down()), None);
            assert_eq!(within(found.distance * 1.5), Some(found));
            // And a guess changes nothing.
            let plain = Lookup {
                guess: None,
                ..lookup
            };
            assert_eq!(
                cells.closest(x, f64::INFINITY, &plain).unwrap(),
                Some(found)
            );
        }
    }
}

#[test]
fn closest_point_is_its_own_closest_and_ties_go_to_the_smallest() {
    let grid = grid(&[[-1, 0, 0], [1, 0, 0], [0, 0, 9]]);
    let nearest = |x: [f64; 3]| grid.closest(x, 100.0, &ANY).unwrap().unwrap();
    let tie = nearest([0.5, 0.5, 0.5]);
    assert_eq!((tie.cell, tie.distance), (0, 0.5));
    assert_eq!(grid.cells().coordinates(0), [-1, 0, 0]);
    let far = nearest([0.5, 0.5, 60.5]);
    assert_eq!((far.distance, far.xi), (50.5, [0.5, 0.5, 1.0]));
    for x in [[-30.0, 2.0, 7.0], [4.0, -0.5, 3.0], [0.25, 40.0, 8.0]] {
        let p = nearest(x);
        let on = grid.cells().position(p.cell, p.xi);
        for t in [0.1, 0.7] {
            let between = std::array::from_fn(|d| on[d] + t * (x[d] - on[d]));
            let q = nearest(between);
            assert!(distance(grid.cells().position(q.cell, q.xi), on) < 1e-12);
        }
    }
}

#[test]
fn hopeless_queries_find_nothing() {
    let grid = grid(&[[0; 3], [5, -4, 3]]);
    let bad = [[f64::NAN, 0.0, 0.0], [f64::INFINITY; 3], [1e300, 0.0, 0.0]];
    for x in bad {
        assert_eq!(grid.locate(x, &ANY).unwrap(), None);
        assert_eq!(grid.closest(x, 1e10, &ANY).unwrap(), None);
        assert_eq!(grid.closest(x, f64::INFINITY, &ANY).unwrap(), None);
    }
    for limit in [-1.0, f64::NAN] {
        assert_eq!(grid.closest([0.5; 3], limit, &ANY).unwrap(), None);
    }
    assert!(
        grid.closest([1e100, 0.0, 0.0], f64::INFINITY, &ANY)
            .unwrap()
            .is_some()
    );
    let mask = [true; 3];
    let lookup = Lookup {
        mask: Some(&mask),
        ..ANY
    };
    assert!(matches!(
        grid.locate([0.0; 3], &lookup),
        Err(GeometryError::EntryCount { .. })
    ));
    let lookup = Lookup {
        environment: Some(1),
        ..ANY
    };
    assert!(matches!(
        grid.locate([0.0; 3], &lookup),
        Err(GeometryError::EnvironmentIndex {
            environment: 1,
            count: 1
        })
    ));
}

#[test]
fn far_cells_are_found_across_the_whole_lattice() {
    let far = VoxelCells::LIMIT;
    let grid = grid(&[[-far; 3], [far - 1; 3], [-1, -1, -1], [0, -far, far - 1]]);
    let cells = grid.cells();
    for cell in 0..4 {
        let x = cells
            .coordinates(cell)
            .map(|c| c as f64 + 0.5 + 1.0e3 * (c < 0) as i32 as f64);
        let found = cells.closest(x, f64::INFINITY, &ANY).unwrap().unwrap();
        assert_eq!(found.cell, cell);
    }
}

#[test]
fn batches_are_single_queries() {
    let mut random = Random(53);
    let grid = VoxelGrid::from_coordinates(&random.voxels(300, 6), skew()).unwrap();
    let cells = grid.cells();
    let points: Vec<[f64; 3]> = random
        .points(5000, 9.0)
        .into_iter()
        .map(|u| skew().position(u))
        .collect();
    let located = cells.locate_all(&points, None, &ANY).unwrap();
    let nearest = cells.closest_all(&points, 0.5, None, &ANY).unwrap();
    for (n, &x) in points.iter().enumerate() {
        assert_eq!(located[n], cells.locate(x, &ANY).unwrap());
        assert_eq!(nearest[n], cells.closest(x, 0.5, &ANY).unwrap());
    }
    assert!(located.iter().any(Option::is_some) && located.iter().any(Option::is_none));
    assert!(nearest.iter().any(Option::is_none));
    assert!(cells.locate_all(&points, Some(&[0; 3]), &ANY).is_err());
    assert_eq!(cells.locate_all(&[], None, &ANY).unwrap(), []);
}

#[test]
#[ignore = "a measurement: run in release with --nocapture"]
fn speed_of_lookups() {
    let mut random = Random(2);
    for map in [unit(), skew()] {
        let ball = |x: [f64; 3]| distance(map.lattice(x), [0.0; 3]) - 62.0;
        let corner = |s: f64| {
            let all: Vec<[f64; 3]> = (0..8)
                .map(|n| {
                    map.position([0, 1, 2].map(|d| if n >> d & 1 == 0 { -64.0 } else { 64.0 }))
                })
                .collect();
            std::array::from_fn(|d| {
                all.iter()
                    .map(|x| x[d] * s)
                    .fold(f64::NEG_INFINITY, f64::max)
                    * s
            })
        };
        let grid = VoxelGrid::from_level_set(corner(-1.0), corner(1.0), map, ball).unwrap();
        let cells = grid.cells();
        let points: Vec<[f64; 3]> = (0..300_000)
            .map(|_| map.position(std::array::from_fn(|_| random.real(-70.0, 70.0))))
            .collect();
        for threads in [1, 2] {
            pool(threads).install(|| {
                let start = std::time::Instant::now();
                let found = cells.locate_all(&points, None, &ANY).unwrap();
                let locate = start.elapsed().as_secs_f64();
                let start = std::time::Instant::now();
                let near = cells.closest_all(&points, f64::INFINITY, None, &ANY).unwrap();
                let closest = start.elapsed().as_secs_f64();
                println!(
                    "{} cells, {threads} threads: locate {:.1} M/s ({} inside), closest {:.2} M/s ({})",
                    cells.cell_count(),
                    0.3 / locate,
                    found.iter().flatten().count(),
                    0.3 / closest,
                    near.iter().flatten().count(),
                );
            });
        }
    }
}
