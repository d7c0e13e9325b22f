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
    let one = two().pruned(|c| c != 0).unwrap();
    assert_eq!(
        one.cells().environment_offsets(),
        two().cells().environment_offsets()
    );
}

/// A sum over environments of what there is in each.
type Alone = Vec<Option<VoxelGrid>>;

/// Checks that a grid has exactly the cells of some grids, one for each environment that has any,
/// without a side, vertex or node between two environments, and places and finds them as these do.
fn as_if_alone(grid: &VoxelGrid, alone: &Alone, random: &mut Random) {
    let (cells, t) = (grid.cells(), grid.topology());
    assert_eq!(cells.environment_count(), alone.len());
    let mut total = [0; 5];
    for one in alone.iter().flatten() {
        let more = counts(one);
        (0..5).for_each(|i| total[i] += more[i]);
    }
    assert_eq!(counts(grid), total);
    for side in 0..t.side_count() {
        let [a, b] = t.side_cells(side).map(|c| cells.environment_of(c as usize));
        assert_eq!(a, b);
    }
    let labels: Vec<u32> = (0..grid.cell_count())
        .map(|c| cells.environment_of(c) as u32)
        .collect();
    // Refuses environments that share a vertex, hence a node.
    weft::partition::Environments::by_cell(grid, labels, alone.len() as u32).unwrap();
    for (environment, one) in alone.iter().enumerate() {
        let lookup = in_environment(environment);
        let Some(one) = one else {
            let x = [0.0; 3];
            assert_eq!(grid.closest(x, f64::INFINITY, &lookup).unwrap(), None);
            continue;
        };
        let own = one.cells();
        for (cell, &at) in own.all_coordinates().iter().enumerate() {
            let packed = cells.find_in(environment, at).unwrap().unwrap();
            assert_eq!(cells.environment_of(packed), environment);
            let xi = std::array::from_fn(|_| random.real(0.01, 0.99));
            let x = own.position(cell, xi);
            assert!(distance(cells.position(packed, xi), x) < 1e-12);
            assert!(distance(frame_at(grid, packed, xi).position, x) < 1e-10);
            let (found, there) = grid.locate(x, &lookup).unwrap().unwrap();
            assert_eq!(found, packed);
            assert!(distance(there, xi) < 1e-10);
        }
        for _ in 0..50 {
            let x = std::array::from_fn(|_| random.real(-30.0, 30.0));
            let packed = grid.closest(x, f64::INFINITY, &lookup).unwrap().unwrap();
            let plain = one.closest(x, f64::INFINITY, &Lookup::default());
            let plain = plain.unwrap().unwrap();
            assert_eq!(cells.environment_of(packed.cell), environment);
            assert!((packed.distance - plain.distance).abs() < 1e-10);
            let short = 0.999 * packed.distance;
            if short > 0.0 {
                assert_eq!(grid.closest(x, short, &lookup).unwrap(), None);
            }
        }
    }
}

/// Voxels of environments around the origin, some of them without any.
fn scattered(random: &mut Random, count: usize) -> Vec<(u32, [i32; 3])> {
    let mut all = Vec::new();
    for environment in (0..count as u32).filter(|e| e % 4 != 2) {
        let voxels = random.voxels(30, 3 + (environment % 2) as i32);
        all.extend(voxels.into_iter().map(|v| (environment, v)));
    }
    all
}

fn each_alone(
    voxels: &[(u32, [i32; 3])],
    count: usize,
    map: VoxelMap,
    op: impl Fn(VoxelGrid) -> VoxelGrid,
) -> Alone {
    let of = |e: u32| -> Vec<[i32; 3]> {
        let own = voxels.iter().filter(|v| v.0 == e);
        own.map(|v| v.1).collect()
    };
    (0..count as u32)
        .map(|e| VoxelGrid::from_coordinates(&of(e), map).ok().map(&op))
        .collect()
}

/// Places in a block of `n` × `n` × more, in order of nothing, each with room for 8 voxels and a
/// guard of `guard`.
fn places(count: usize, n: usize, guard: i32) -> Vec<[i32; 3]> {
    let step = 8 + guard;
    let order: Vec<usize> = (0..count).map(|k| k * 5 % count).collect();
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), count);
    let at = |k: usize| [k / (n * n), k / n % n, k % n].map(|c| step * (c as i32 - 1));
    order.into_iter().map(at).collect()
}

#[test]
fn offsets_that_are_given_are_kept() {
    let mut random = Random(67);
    for map in maps() {
        for (count, n, guard) in [(1, 1, 1), (7, 1, 2), (12, 2, 1), (36, 3, 3), (9, 9, 1)] {
            let given = scattered(&mut random, count);
            let (list, voxels): (Vec<u32>, Vec<[i32; 3]>) = given.iter().copied().unzip();
            let offsets = places(count, n, guard);
            let grid = VoxelGrid::from_environments_at(&voxels, &list, &offsets, guard, map);
            let grid = grid.unwrap();
            assert_eq!(grid.cells().environment_offsets(), offsets);
            let alone = each_alone(&given, count, map, |one| one);
            as_if_alone(&grid, &alone, &mut random);
            // From points at the centres, and rebuilt in place.
            let centre = |v: &[i32; 3]| map.position(v.map(|c| c as f64 + 0.5));
            let points: Vec<[f64; 3]> = voxels.iter().map(centre).collect();
            let made =
                VoxelGrid::from_environment_points_at(&points, None, &list, &offsets, guard, map);
            let (made, _) = made.unwrap();
            assert_eq!(voxel_set(&made), voxel_set(&grid));
            let again = grid.rebuild_environments(&points, None, &list).unwrap();
            assert!(again.unchanged);
            let fewer = &points[..points.len() / 2];
            let some = &list[..fewer.len()];
            grid.rebuild_environments(fewer, None, some).unwrap();
            assert_eq!(grid.cells().environment_offsets(), offsets);
            let alone = each_alone(&given[..fewer.len()], count, map, |one| one);
            as_if_alone(&grid, &alone, &mut random);
        }
    }
}

#[test]
fn offsets_that_bring_environments_together_are_refused() {
    let voxels = [[0, 0, 0], [4, 1, 1], [0, 0, 0], [2, 0, 0]];
    let list = [0, 0, 2, 2];
    let at = |offset: [i32; 3], guard: i32| {
        let offsets = [[0; 3], [0; 3], offset];
        VoxelGrid::from_environments_at(&voxels, &list, &offsets, guard, unit())
    };
    // Environment 0 fills x from 0 to 4 and y, z from 0 to 1.
    for (near, far) in [
        ([7, 0, 0], [8, 0, 0]),
        ([-5, 0, 0], [-6, 0, 0]),
        ([1, 4, 0], [1, 5, 0]),
        ([1, 0, -3], [1, 0, -4]),
        ([7, 4, 4], [7, 5, 4]),
    ] {
        assert!(at(far, 3).is_ok(), "{far:?}");
        let error = at(near, 3).unwrap_err();
        let GeometryError::EnvironmentOverlap {
            environments,
            guard: 3,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(BTreeSet::from(environments), BTreeSet::from([0, 2]));
        assert!(at(near, 2).is_ok(), "{near:?}");
    }
    assert_eq!(
        at([1, 2, 0], 1).unwrap_err().to_string(),
        "environments 0 and 2 would lie at voxels [0, 0, 0] to [4, 1, 1] and [1, 2, 0] to \
         [3, 2, 0]; between them must be at least 1 vacant layers along some axis: move their \
         offsets apart"
    );
    let limit = VoxelCells::LIMIT;
    assert!(at([limit - 3, 0, 0], 1).is_ok());
    for far in [limit - 2, i32::MAX, i32::MIN] {
        let error = at([far, 0, 0], 1).unwrap_err();
        assert!(matches!(error, GeometryError::VoxelRange { .. }), "{error}");
    }
    assert!(matches!(
        at([9, 0, 0], 0),
        Err(GeometryError::EnvironmentGuard { guard: 0 })
    ));
    let none = VoxelGrid::from_environments_at(&voxels, &list, &[], 1, unit());
    assert!(matches!(none, Err(GeometryError::ZeroCount { .. })));
    let few = VoxelGrid::from_environments_at(&voxels, &list, &[[0; 3]], 1, unit());
    assert!(matches!(few, Err(GeometryError::EnvironmentIndex { .. })));

    // A rebuild that would bring them together leaves the grid as it is.
    let grid = at([8, 0, 0], 3).unwrap();
    let before = (grid.cells(), grid.topology());
    let points = [[4.5, 0.5, 0.5], [-0.5, 0.5, 0.5]];
    let result = grid.rebuild_environments(&points, None, &[0, 2]);
    assert!(matches!(
        result,
        Err(GeometryError::EnvironmentOverlap { .. })
    ));
    assert!(Arc::ptr_eq(&before.0, &grid.cells()));
    assert!(Arc::ptr_eq(&before.1, &grid.topology()));
    // The same voxels in other environments.
    let moved = [[4.5, 0.5, 0.5], [-0.5, 0.5, 0.5]];
    grid.rebuild_environments(&moved, None, &[2, 0]).unwrap();
    assert_eq!(grid.cells().environment_offsets()[2], [8, 0, 0]);
}

#[test]
fn operations_keep_environments_apart() {
    let mut random = Random(71);
    for map in [unit(), skew().centred()] {
        for (count, given_offsets) in [(1, false), (6, false), (12, true)] {
            let given = scattered(&mut random, count);
            let more = scattered(&mut random, count);
            let pack = |given: &[(u32, [i32; 3])], guard: i32| {
                let (list, voxels): (Vec<u32>, Vec<[i32; 3]>) = given.iter().copied().unzip();
                if given_offsets {
                    // Room for growth.
                    let offsets = places(count, 2, guard + 6);
                    return VoxelGrid::from_environments_at(&voxels, &list, &offsets, guard, map);
                }
                VoxelGrid::from_environments(&voxels, &list, count, guard, map)
            };
            for guard in [1, 3] {
                let grid = pack(&given, guard).unwrap();
                let offsets = |g: &VoxelGrid| g.cells().environment_offsets().to_vec();
                for n in 0..3 {
                    let large = grid.dilated(n).unwrap();
                    let alone = each_alone(&given, count, map, |one| one.dilated(n).unwrap());
                    as_if_alone(&large, &alone, &mut random);
                    assert!(!given_offsets || offsets(&large) == offsets(&grid));
                }
                let other = pack(&more, 2).unwrap();
                let both: Vec<_> = given.iter().chain(&more).copied().collect();
                let merged = grid.merged(&other).unwrap();
                let alone = each_alone(&both, count, map, |one| one);
                as_if_alone(&merged, &alone, &mut random);
                assert!(!given_offsets || offsets(&merged) == offsets(&grid));
                let coarse = grid.coarsened().unwrap();
                let alone = each_alone(&given, count, map, |one| one.coarsened().unwrap());
                as_if_alone(&coarse, &alone, &mut random);
                let fine = grid.refined().unwrap();
                let alone = each_alone(&given, count, map, |one| one.refined().unwrap());
                as_if_alone(&fine, &alone, &mut random);
                // And cells are still where they were.
                let cells = grid.cells();
                let local = |c: usize| {
                    let shift = cells.environment_offsets()[cells.environment_of(c)];
                    let at = cells.coordinates(c);
                    std::array::from_fn::<i32, 3, _>(|d| at[d] - shift[d])
                };
                let keep = |at: [i32; 3]| (at[0] + at[1] + at[2]).rem_euclid(2) == 0;
                let pruned = grid.pruned(|c| keep(local(c))).unwrap();
                assert_eq!(offsets(&pruned), offsets(&grid));
                let mut kept = given.clone();
                kept.retain(|v| keep(v.1));
                let alone = each_alone(&kept, count, map, |one| one);
                as_if_alone(&pruned, &alone, &mut random);
                // Packing goes on as before.
                let (list, points): (Vec<u32>, Vec<[f64; 3]>) = given
                    .iter()
                    .map(|&(e, v)| (e, map.position(v.map(|c| c as f64 + 0.5))))
                    .unzip();
                pruned.rebuild_environments(&points, None, &list).unwrap();
                assert_eq!(voxel_set(&pruned), voxel_set(&grid));
                assert_eq!(offsets(&pruned), offsets(&grid));
            }
        }
    }
    // Offsets leave no room to grow, and are no use on another lattice.
    let voxels = [[0; 3], [0; 3]];
    let offsets = [[0; 3], [0, 0, 4]];
    let tight = VoxelGrid::from_environments_at(&voxels, &[0, 1], &offsets, 3, unit()).unwrap();
    assert!(matches!(
        tight.dilated(1),
        Err(GeometryError::EnvironmentOverlap { .. })
    ));
    let coarse = tight.coarsened().unwrap();
    assert_eq!(coarse.cells().environment_offsets(), [[0; 3], [4, 0, 0]]);
    assert!(matches!(
        tight.merged(&grid(&[[0; 3]])),
        Err(GeometryError::EnvironmentCounts { counts: [2, 1] })
    ));
}

/// A grid packed with one environment keeps its offset over plain rebuilds.
#[test]
fn issue_004_one_packed_environment_keeps_its_offset() {
    let mut random = Random(51);
    let mut points = random.points(300, 5.0);
    points[7] = [f64::NAN; 3];
    let zeros = vec![0; 300];
    let mask: Vec<bool> = (0..300).map(|n| n % 3 != 0).collect();
    for offset in [[0; 3], [16, 0, -8], [3, -5, 7]] {
        let make = || {
            let offsets = [offset];
            VoxelGrid::from_environment_points_at(&points, None, &zeros, &offsets, 1, unit())
                .unwrap()
                .0
        };
        let (grid, twin) = (make(), make());
        let before = grid.cells();
        assert!(grid.rebuild(&points, None).unwrap().unchanged);
        assert!(Arc::ptr_eq(&before, &grid.cells()));
        for (points, mask) in [(&points[..], Some(&mask[..])), (&points[..80], None)] {
            let report = grid.rebuild(points, mask).unwrap();
            let wanted = twin
                .rebuild_environments(points, mask, &zeros[..points.len()])
                .unwrap();
            assert_eq!(report, wanted);
            let (a, b) = (grid.cells(), twin.cells());
            assert_eq!(a.environment_offsets(), [offset]);
            assert_eq!(a.all_coordinates(), b.all_coordinates());
        }
        assert!(grid.rebuild(&points, Some(&[true])).is_err());
        assert!(grid.rebuild(&[], None).is_err());
        assert_eq!(grid.cells().environment_offsets(), [offset]);
    }
    let (grid, _) =
        VoxelGrid::from_environment_points(&points, None, &zeros, 1, 4, unit()).unwrap();
    assert!(grid.rebuild(&points, None).unwrap().unchanged);
}
