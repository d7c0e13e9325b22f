//! Building from points, in place.

use super::*;
use std::sync::Arc;

fn expected(points: &[[f64; 3]], map: &VoxelMap) -> BTreeSet<[i32; 3]> {
    let finite = points.iter().filter(|x| x.iter().all(|c| c.is_finite()));
    finite
        .map(|&x| map.lattice(x).map(|c| c.floor() as i32))
        .collect()
}

#[test]
fn points_activate_the_cells_that_hold_them() {
    let mut random = Random(31);
    for map in maps() {
        for count in [1, 100, 20_000] {
            let mut points = random.points(count, 5.0);
            points.push([f64::NAN, 0.0, 0.0]);
            points.push([0.0, f64::NEG_INFINITY, 0.0]);
            points.push([0.0, 0.0, f64::INFINITY]);
            let (grid, report) = VoxelGrid::from_points(&points, None, map).unwrap();
            assert_eq!(voxel_set(&grid), expected(&points, &map));
            assert_eq!((report.points, report.skipped_not_finite), (count, 3));
            assert_eq!(report.cells, grid.cell_count());
            assert_eq!(report.leaves, grid.cells().leaf_count());
            for &x in &points[..count.min(50)] {
                let (cell, xi) = grid.locate(x, &Lookup::default()).unwrap().unwrap();
                assert!(distance(grid.cells().position(cell, xi), x) < 1e-10);
            }
        }
    }
}

#[test]
fn negative_points_are_rounded_down() {
    let points = [[-0.25, -1.0, -1.0 - 1e-12], [-0.0, 0.0, -1e-300]];
    let (grid, _) = VoxelGrid::from_points(&points, None, unit()).unwrap();
    assert_eq!(voxel_set(&grid), BTreeSet::from([[-1, -1, -2], [0, 0, -1]]));
    let (grid, _) = VoxelGrid::from_points(&[[-0.25, -0.5, 0.5]], None, unit().centred()).unwrap();
    assert_eq!(grid.cells().coordinates(0), [0, 0, 1]);
}

#[test]
fn rebuilds_follow_the_points_and_keep_what_did_not_change() {
    let points = [[1.5, 0.5, 0.5], [5.5, 0.5, 0.5], [6.5, 0.5, 0.5]];
    let (grid, _) = VoxelGrid::from_points(&points, None, unit()).unwrap();
    let other = grid.clone();
    assert_eq!(counts(&grid), [3, 20, 17, 16, 32]);
    let (topology, map, id) = (grid.topology(), grid.map(), grid.id());

    let moved = points.map(|x| x.map(|c| c + 0.4));
    let report = grid
        .rebuild(&[moved[2], moved[0], moved[1], moved[0]], None)
        .unwrap();
    assert!(report.unchanged);
    assert!(Arc::ptr_eq(&topology, &grid.topology()) && Arc::ptr_eq(&map, &grid.map()));

    let report = grid.rebuild(&points, Some(&[false, true, false])).unwrap();
    assert!(!report.unchanged);
    assert_eq!((report.cells, report.skipped_inactive), (1, 2));
    assert_eq!(counts(&other), [1, 8, 6, 6, 12]);
    assert_eq!(other.id(), id);
    assert!(!Arc::ptr_eq(&topology, &grid.topology()));
    // Snapshots from before are as they were.
    assert_eq!((topology.cell_count(), map.nodes.len()), (3, 20));
}

#[test]
fn a_snapshot_outlives_rebuilds() {
    let (grid, _) = VoxelGrid::from_points(&[[0.5; 3]], None, unit()).unwrap();
    let held = grid.cells();
    for n in 1..5 {
        grid.rebuild(&[[n as f64 + 0.5; 3]], None).unwrap();
        assert_eq!(grid.cells().coordinates(0), [n; 3]);
        assert_eq!(held.coordinates(0), [0; 3]);
    }
}

#[test]
fn failed_rebuilds_change_nothing_and_are_remembered() {
    let mut random = Random(8);
    let points = random.points(3000, 6.0);
    let (grid, report) = VoxelGrid::from_points(&points, None, unit()).unwrap();
    // A second state, so that scratch and spare arrays exist too.
    grid.rebuild(&points[..1000], None).unwrap();
    grid.rebuild(&points, None).unwrap();
    let (cells, topology, map) = (grid.cells(), grid.topology(), grid.map());
    let before = (cells.all_coordinates().to_vec(), counts(&grid));
    assert!(grid.status().is_ok());

    let more = random.points(3000, 9.0);
    let capacity = |cells, leaves| Some(VoxelCapacity { cells, leaves });
    let mut far = more.clone();
    far[77] = [0.0, 1e30, 0.0];
    far[1500] = [0.0, f64::MAX, 0.0];
    let short = [true; 5];
    for _ in 0..3 {
        grid.set_capacity(capacity(report.cells, usize::MAX));
        let error = grid.rebuild(&more, None).unwrap_err();
        assert!(matches!(
            error,
            GeometryError::VoxelCapacity { what: "cells", .. }
        ));
        grid.set_capacity(capacity(usize::MAX, 3));
        let error = grid.rebuild(&more, None).unwrap_err();
        assert!(matches!(
            error,
            GeometryError::VoxelCapacity { what: "leaves", .. }
        ));
        grid.set_capacity(None);
        assert!(matches!(
            grid.rebuild(&far, None),
            Err(GeometryError::VoxelRange { index: 77, .. })
        ));
        let none = vec![false; more.len()];
        let error = grid.rebuild(&more, Some(&none)).unwrap_err();
        assert!(error.to_string().contains("3000 inactive"), "{error}");
        assert!(matches!(
            grid.rebuild(&more, Some(&short)),
            Err(GeometryError::EntryCount { .. })
        ));
        assert!(grid.rebuild_environments(&more, None, &[1; 3000]).is_err());
    }
    assert!(Arc::ptr_eq(&cells, &grid.cells()));
    assert!(Arc::ptr_eq(&topology, &grid.topology()) && Arc::ptr_eq(&map, &grid.map()));
    assert_eq!(
        before,
        (grid.cells().all_coordinates().to_vec(), counts(&grid))
    );

    let all = VoxelStatus {
        too_many_cells: true,
        too_many_leaves: true,
        out_of_range: true,
        no_cells: true,
    };
    assert_eq!(grid.status(), all);
    assert!(grid.rebuild(&points, None).unwrap().unchanged);
    assert_eq!(grid.status(), all, "the status is sticky");
    grid.clear_status();
    assert!(grid.status().is_ok());
    // Exactly the capacity is fine.
    grid.set_capacity(capacity(report.cells, report.leaves));
    assert!(grid.rebuild(&points, None).unwrap().unchanged);
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let points = Random(12).points(60_000, 8.0);
    let make = |threads: usize| {
        pool(threads).install(|| {
            let (grid, report) = VoxelGrid::from_points(&points, None, skew()).unwrap();
            let t = grid.topology();
            let sides: Vec<_> = (0..t.side_count())
                .map(|s| (t.side_cells(s), t.side_locals(s)))
                .collect();
            let edges: Vec<_> = (0..t.edge_count()).map(|e| t.edge_vertices(e)).collect();
            let places = grid.cells().all_coordinates().to_vec();
            (
                report,
                places,
                t.cells().to_vec(),
                sides,
                edges,
                grid.map().nodes.clone(),
            )
        })
    };
    let one = make(1);
    for threads in [2, 3, 7] {
        assert!(one == make(threads));
    }
}

#[test]
fn one_grid_may_be_rebuilt_and_read_by_many() {
    let points = Random(13).points(20_000, 6.0);
    let (grid, _) = VoxelGrid::from_points(&points, None, unit()).unwrap();
    let sizes: BTreeSet<usize> = (1..5)
        .map(|n| expected(&points[..n * 4000], &unit()).len())
        .chain([grid.cell_count()])
        .collect();
    std::thread::scope(|scope| {
        for n in 1..5 {
            let (grid, points) = (&grid, &points);
            scope.spawn(move || {
                for _ in 0..20 {
                    grid.rebuild(&points[..n * 4000], None).unwrap();
                }
            });
        }
        for _ in 0..100 {
            let t = grid.topology();
            assert!(sizes.contains(&t.cell_count()));
            assert!(sizes.contains(&grid.cell_count()));
        }
    });
}

/// Points in a moving ball, the shape of a rebuild in a particle method.
#[test]
#[ignore = "a measurement: run in release with --nocapture"]
fn speed_of_rebuilds() {
    let mut random = Random(1);
    let h = 0.01;
    for (count, side) in [(1_000_000, 0.46f64), (10_000_000, 1.0)] {
        let points: Vec<[f64; 3]> = (0..count)
            .map(|_| std::array::from_fn(|_| random.real(0.0, side)))
            .collect();
        let mut sorted = points.clone();
        sorted.sort_by_key(|x| x.map(|c| (c / h / 8.0) as i32));
        for (name, points) in [("random", &points), ("sorted", &sorted)] {
            for threads in [1, 2] {
                pool(threads).install(|| {
                    let map = VoxelMap::uniform(h).unwrap();
                    let (grid, report) = VoxelGrid::from_points(&points[..2], None, map).unwrap();
                    let _ = report;
                    let time = |points: &[[f64; 3]]| {
                        let start = std::time::Instant::now();
                        let report = grid.rebuild(points, None).unwrap();
                        (start.elapsed().as_secs_f64(), report)
                    };
                    time(points);
                    let (mut best, mut same) = (f64::INFINITY, f64::INFINITY);
                    for _ in 0..5 {
                        time(&points[..2]);
                        let (t, report) = time(points);
                        assert!(!report.unchanged);
                        best = best.min(t);
                        let (t, report) = time(points);
                        assert!(report.unchanged);
                        same = same.min(t);
                    }
                    let start = std::time::Instant::now();
                    let t = grid.topology();
                    let tables = start.elapsed().as_secs_f64();
                    println!(
                        "{name} {count} points, {} cells, {threads} threads: rebuild {best:.4} s \
                         ({:.1} M points/s), unchanged {same:.4} s ({:.1} M/s), topology {tables:.3} s",
                        t.cell_count(),
                        count as f64 / best / 1e6,
                        count as f64 / same / 1e6,
                    );
                });
            }
        }
    }
}
