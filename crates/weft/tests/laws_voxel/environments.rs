//! Several environments in one grid.

use super::*;

fn two() -> VoxelGrid {
    let mut voxels = cube(2, [0; 3]);
    voxels.extend([[0, 0, 0], [1, 0, 0]]);
    let environments: Vec<u32> = (0..10).map(|n| (n >= 8) as u32).collect();
    VoxelGrid::from_environments(&voxels, &environments, 2, 3, unit()).unwrap()
}

fn in_environment(environment: usize) -> Lookup<'static> {
    Lookup {
        environment: Some(environment),
        ..Lookup::default()
    }
}

#[test]
fn packed_environments_have_the_counts_of_both() {
    let grid = two();
    assert_eq!(counts(&grid), [10, 39, 47, 34, 74]);
    let cells = grid.cells();
    assert_eq!(cells.environment_offsets(), [[0, 0, 0], [5, 0, 0]]);
    assert_eq!(cells.environment_count(), 2);
    let of: Vec<usize> = (0..10).map(|c| cells.environment_of(c)).collect();
    assert_eq!(of.iter().filter(|&&e| e == 0).count(), 8);
    // No side joins two of them.
    let t = grid.topology();
    for side in 0..t.side_count() {
        let [a, b] = t.side_cells(side).map(|c| of[c as usize]);
        assert_eq!(a, b);
    }
    assert_eq!(cells.find_in(1, [1, 0, 0]).unwrap(), cells.find([6, 0, 0]));
    assert_eq!(
        cells.find_in(0, [5, 0, 0]).unwrap(),
        None,
        "that is the other's"
    );
    assert_eq!(cells.find_in(1, [i32::MAX; 3]).unwrap(), None);
    assert!(cells.find_in(2, [0; 3]).is_err());
}

#[test]
fn environments_overlap_in_space_and_lookups_tell_them_apart() {
    let grid = two();
    let cells = grid.cells();
    let x = [0.25, 0.5, 0.75];
    for environment in 0..2 {
        let (cell, xi) = grid
            .locate(x, &in_environment(environment))
            .unwrap()
            .unwrap();
        assert_eq!(cells.environment_of(cell), environment);
        assert_eq!(xi, x);
        assert_eq!(cells.position(cell, xi), x);
        assert_eq!(frame_at(&grid, cell, xi).position, x);
        // A guess says which environment is meant.
        let guess = Lookup {
            guess: Some(cell),
            ..Lookup::default()
        };
        assert_eq!(grid.locate(x, &guess).unwrap(), Some((cell, xi)));
    }
    let plain = Lookup::default();
    assert!(matches!(
        grid.locate(x, &plain),
        Err(GeometryError::NeedsEnvironment { count: 2 })
    ));
    assert!(grid.closest(x, 1.0, &plain).is_err());
    assert!(grid.locate(x, &in_environment(2)).is_err());
    // Nothing is found next door: (0.5, 1.5, 0.5) is in environment 0 only.
    let y = [0.5, 1.5, 0.5];
    assert_eq!(grid.locate(y, &in_environment(1)).unwrap(), None);
    let near = grid.closest(y, 10.0, &in_environment(1)).unwrap().unwrap();
    assert_eq!((cells.environment_of(near.cell), near.distance), (1, 0.5));
    // The slab of environment 1 begins at x = 5: from environment 0 it is not to be seen.
    let near = grid
        .closest([5.5, 0.5, 0.5], 10.0, &in_environment(0))
        .unwrap()
        .unwrap();
    assert_eq!((cells.environment_of(near.cell), near.distance), (0, 3.5));
    assert_eq!(
        grid.closest([5.5, 0.5, 0.5], 3.0, &in_environment(0))
            .unwrap(),
        None
    );
}

#[test]
fn empty_environments_have_no_cells() {
    let voxels = [[-3, 1, 1], [4, 1, 1]];
    let grid = VoxelGrid::from_environments(&voxels, &[1, 3], 5, 1, skew()).unwrap();
    let cells = grid.cells();
    assert_eq!(cells.environment_count(), 5);
    assert_eq!(cells.environment_offsets()[1], [0; 3]);
    assert_eq!(cells.environment_offsets()[3], [-5, 0, 0]);
    for environment in 0..5 {
        let x = skew().position([-2.5, 1.5, 1.5]);
        let found = grid.locate(x, &in_environment(environment)).unwrap();
        assert_eq!(found.is_some(), environment == 1);
        let near = grid
            .closest(x, 100.0, &in_environment(environment))
            .unwrap();
        assert_eq!(near.is_some(), [1, 3].contains(&environment));
    }
}

#[test]
fn many_environments_are_as_if_each_were_alone() {
    let mut random = Random(61);
    for map in maps() {
        let mut points = Vec::new();
        let mut list = Vec::new();
        for environment in 0..6u32 {
            for _ in 0..2000 * (environment % 3) {
                points.push(std::array::from_fn(|_| random.real(-2.0, 2.0)));
                list.push(environment);
            }
        }
        points.push([f64::NAN; 3]);
        list.push(0);
        let (grid, report) =
            VoxelGrid::from_environment_points(&points, None, &list, 6, 2, map).unwrap();
        assert_eq!(report.skipped_not_finite, 1);
        let cells = grid.cells();
        let found = cells
            .locate_all(&points, Some(&list), &Lookup::default())
            .unwrap();
        for (n, found) in found.iter().enumerate().take(points.len() - 1) {
            let (cell, xi) = found.unwrap();
            assert_eq!(cells.environment_of(cell), list[n] as usize);
            assert!(distance(cells.position(cell, xi), points[n]) < 1e-10);
        }
        let mut total = [0; 4];
        for environment in 0..6u32 {
            let own: Vec<_> = (0..points.len())
                .filter(|&n| list[n] == environment && points[n][0].is_finite())
                .map(|n| points[n])
                .collect();
            if !own.is_empty() {
                let alone = VoxelGrid::from_points(&own, None, map).unwrap().0;
                let more = counts(&alone);
                (0..4).for_each(|i| total[i] += more[i]);
                for &voxel in alone.cells().all_coordinates() {
                    assert!(
                        cells
                            .find_in(environment as usize, voxel)
                            .unwrap()
                            .is_some()
                    );
                }
            }
        }
        assert_eq!(counts(&grid)[..4], total);
    }
}

#[test]
fn rebuilding_moves_cells_and_offsets() {
    let points = [[1.5, 0.5, 0.5], [0.5, 0.5, 0.5], [1.5, 0.5, 0.5]];
    let list = [0, 1, 1];
    let (grid, _) = VoxelGrid::from_environment_points(&points, None, &list, 2, 3, unit()).unwrap();
    assert_eq!(counts(&grid), [3, 20, 17, 16, 32]);
    let cells = grid.cells();
    let of = |voxel| cells.find(voxel).map(|c| cells.environment_of(c));
    assert_eq!(
        [of([1, 0, 0]), of([5, 0, 0]), of([6, 0, 0])],
        [Some(0), Some(1), Some(1)]
    );
    drop(cells);
    assert!(
        grid.rebuild_environments(&points, None, &list)
            .unwrap()
            .unchanged
    );
    // The same packed cells under other offsets are another grid.
    let moved = [[1.5, 0.5, 0.5], [-3.5, 0.5, 0.5], [-2.5, 0.5, 0.5]];
    assert!(
        !grid
            .rebuild_environments(&moved, None, &list)
            .unwrap()
            .unchanged
    );
    assert_eq!(grid.cells().environment_offsets(), [[0, 0, 0], [9, 0, 0]]);
    assert!(
        grid.locate([-3.25, 0.5, 0.5], &in_environment(1))
            .unwrap()
            .is_some()
    );
    assert!(matches!(
        grid.rebuild(&points, None),
        Err(GeometryError::NeedsEnvironment { .. })
    ));
    let none = grid.rebuild_environments(&points, None, &[0, 1, 2]);
    assert!(matches!(
        none,
        Err(GeometryError::EnvironmentIndex {
            environment: 2,
            count: 2
        })
    ));
}

#[test]
fn packing_is_checked() {
    let far = VoxelCells::LIMIT;
    let pack = |voxels: &[[i32; 3]], list: &[u32], count, guard| {
        VoxelGrid::from_environments(voxels, list, count, guard, unit())
            .map(drop)
            .unwrap_err()
    };
    let v = [[0; 3], [1; 3]];
    assert!(matches!(
        pack(&v, &[0], 1, 3),
        GeometryError::EntryCount { .. }
    ));
    assert!(matches!(
        pack(&v, &[0, 0], 0, 3),
        GeometryError::ZeroCount { .. }
    ));
    assert!(matches!(
        pack(&v, &[0, 1], 2, 0),
        GeometryError::EnvironmentGuard { guard: 0 }
    ));
    assert!(matches!(
        pack(&v, &[0, 7], 2, 1),
        GeometryError::EnvironmentIndex { .. }
    ));
    let wide = [[0; 3], [far - 1, 0, 0], [0; 3]];
    assert!(matches!(
        pack(&wide, &[0, 0, 1], 2, 3),
        GeometryError::VoxelRange { .. }
    ));
    assert!(matches!(
        pack(&[[i32::MIN; 3]], &[0], 1, 3),
        GeometryError::VoxelRange { .. }
    ));
    for result in [
        two().dilated(1),
        two().coarsened(),
        two().refined(),
        two().merged(&two()),
    ] {
        assert!(matches!(
            result,
            Err(GeometryError::SeveralEnvironments { count: 2, .. })
        ));
    }
    let one = two().pruned(|c| c != 0).unwrap();
    assert_eq!(
        one.cells().environment_offsets(),
        two().cells().environment_offsets()
    );
}
