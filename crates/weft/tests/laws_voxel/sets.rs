//! Operations against a plain set of coordinates.

use super::*;

#[test]
fn random_operations_agree_with_a_plain_set() {
    let mut random = Random(77);
    for round in 0..12 {
        let start = random.voxels(200, 4 + round);
        let mut grid = grid(&start);
        let mut model: BTreeSet<[i32; 3]> = start.into_iter().collect();
        for _ in 0..5 {
            match random.int(0, 5) {
                0 => {
                    grid = grid.dilated(1).unwrap();
                    let mut grown = BTreeSet::new();
                    for &at in &model {
                        for n in 0..27 {
                            let step = [n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1];
                            grown.insert(std::array::from_fn(|d| at[d] + step[d]));
                        }
                    }
                    model = grown;
                }
                1 => {
                    let more = random.voxels(50, 10);
                    let other = VoxelGrid::from_coordinates(&more, grid.voxel_map()).unwrap();
                    grid = grid.merged(&other).unwrap();
                    model.extend(more);
                }
                2 => {
                    let third = |at: [i32; 3]| (at[0] + 2 * at[1] + at[2]).rem_euclid(3) != 0;
                    let cells = grid.cells();
                    grid = grid.pruned(|c| third(cells.coordinates(c))).unwrap();
                    model.retain(|&at| third(at));
                }
                3 => {
                    grid = grid.coarsened().unwrap();
                    model = model.iter().map(|at| at.map(|c| c.div_euclid(2))).collect();
                }
                _ if model.len() < 20_000 => {
                    grid = grid.refined().unwrap();
                    let mut finer = BTreeSet::new();
                    for at in &model {
                        for n in 0..8 {
                            let step = [n >> 2, n >> 1 & 1, n & 1];
                            finer.insert(std::array::from_fn(|d| 2 * at[d] + step[d]));
                        }
                    }
                    model = finer;
                }
                _ => {}
            }
            assert_eq!(voxel_set(&grid), model);
            assert_eq!(grid.cell_count(), model.len());
        }
    }
}

#[test]
fn dilating_twice_is_dilating_by_two() {
    let grid = grid(&Random(4).voxels(40, 9));
    let twice = grid.dilated(1).unwrap().dilated(1).unwrap();
    let cells = grid.dilated(2).unwrap().cells();
    assert_eq!(twice.cells().all_coordinates(), cells.all_coordinates());
    assert_eq!(voxel_set(&grid.dilated(0).unwrap()), voxel_set(&grid));
}

#[test]
fn refining_keeps_the_region_and_coarsening_undoes_it() {
    for map in maps() {
        let grid = VoxelGrid::from_coordinates(&[[0, 0, 0], [-1, 2, -3]], map).unwrap();
        let fine = grid.refined().unwrap();
        let (a, b) = (grid.cells(), fine.cells());
        assert_eq!(b.cell_count(), 16);
        for cell in 0..16 {
            let x = b.position(cell, [0.5; 3]);
            let (parent, xi) = a.locate(x, &Lookup::default()).unwrap().unwrap();
            assert_eq!(
                a.coordinates(parent),
                b.coordinates(cell).map(|c| c.div_euclid(2))
            );
            assert!(
                xi.iter()
                    .all(|c| (c - 0.25).abs().min((c - 0.75).abs()) < 1e-12)
            );
        }
        let back = fine.coarsened().unwrap();
        assert_eq!(voxel_set(&back), voxel_set(&grid));
        let (x, y) = (back.cells().position(0, [0.0; 3]), a.position(0, [0.0; 3]));
        assert!(distance(x, y) < 1e-13);
        assert_eq!(back.voxel_map().is_centred(), map.is_centred());
    }
}

#[test]
fn order_and_duplicates_do_not_matter() {
    let mut random = Random(21);
    let mut voxels = random.voxels(500, 9);
    let first = grid(&voxels);
    voxels.reverse();
    voxels.extend_from_within(..100);
    let second = grid(&voxels);
    assert_eq!(
        first.cells().all_coordinates(),
        second.cells().all_coordinates()
    );
}

#[test]
fn the_range_is_checked_at_both_ends() {
    let far = VoxelCells::LIMIT;
    assert_eq!(
        grid(&[[far - 1, 0, -far]]).cells().coordinates(0),
        [far - 1, 0, -far]
    );
    for bad in [
        far,
        -far - 1,
        i32::MAX,
        i32::MIN,
        i32::MAX - 7,
        i32::MIN + 7,
    ] {
        for axis in 0..3 {
            let mut voxel = [1; 3];
            voxel[axis] = bad;
            let error = VoxelGrid::from_coordinates(&[[0; 3], voxel], unit()).unwrap_err();
            assert!(
                matches!(error, GeometryError::VoxelRange { index: 1, .. }),
                "{error}"
            );
        }
    }
    let edge = grid(&[[far - 1; 3], [-far; 3]]);
    assert!(matches!(
        edge.dilated(1),
        Err(GeometryError::VoxelRange { .. })
    ));
    assert!(matches!(
        edge.dilated(usize::MAX),
        Err(GeometryError::VoxelRange { .. })
    ));
    assert!(matches!(
        edge.refined(),
        Err(GeometryError::VoxelRange { .. })
    ));
    assert_eq!(edge.coarsened().unwrap().cell_count(), 2);
    assert_eq!(edge.cells().neighbours(0), [None; 6]);
}

#[test]
fn empty_grids_are_refused() {
    let says = |result: Result<VoxelGrid, GeometryError>| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("at least one active cell"), "{message}");
    };
    says(VoxelGrid::from_coordinates(&[], unit()));
    says(VoxelGrid::from_points(&[], None, unit()).map(|g| g.0));
    let nothing = [[f64::NAN; 3], [0.0; 3]];
    says(VoxelGrid::from_points(&nothing, Some(&[true, false]), unit()).map(|g| g.0));
    says(grid(&[[0; 3]]).pruned(|_| false));
    says(VoxelGrid::from_level_set(
        [0.0; 3],
        [1.0; 3],
        unit(),
        |_| f64::NAN,
    ));
}

#[test]
fn level_sets_give_the_cells_with_their_centre_inside() {
    for map in maps() {
        let ball = |x: [f64; 3]| distance(x, [0.3, -0.2, 0.1]) - 1.4;
        let (low, high) = ([-1.0, -2.0, -2.0], [1.5, 1.0, 2.0]);
        let map = map.with_offset([0.1, 0.2, 0.3]).unwrap();
        let grid = VoxelGrid::from_level_set(low, high, map, ball).unwrap();
        let mut expected = BTreeSet::new();
        for at in cube(45, [-22; 3]) {
            let x = map.position(at.map(|c| c as f64 + 0.5));
            if ball(x) < 0.0 && (0..3).all(|d| low[d] <= x[d] && x[d] <= high[d]) {
                expected.insert(at);
            }
        }
        assert_eq!(voxel_set(&grid), expected);
    }
    let bad = VoxelGrid::from_level_set([0.0, 1.0, 0.0], [1.0; 3], unit(), |_| -1.0);
    assert!(matches!(bad, Err(GeometryError::Bounds { axis: 1, .. })));
    let far = VoxelGrid::from_level_set([0.0; 3], [1e9; 3], unit(), |_| -1.0);
    assert!(matches!(far, Err(GeometryError::VoxelRange { .. })));
}

#[test]
fn only_equal_maps_merge() {
    let other = VoxelGrid::from_coordinates(&[[0; 3]], unit().centred()).unwrap();
    assert_eq!(
        grid(&[[0; 3]]).merged(&other).unwrap_err(),
        GeometryError::DifferentVoxelMaps
    );
}
