use weft::geometry::{AdaptiveError, GeometryError};

use super::*;

fn refusal(cells: &[([i32; 3], u8)]) -> (AdaptiveError, String) {
    let error = AdaptiveVoxelGrid::from_cells(cells, VoxelMap::uniform(1.0).unwrap()).unwrap_err();
    let text = error.to_string();
    match error {
        GeometryError::Adaptive(error) => (error, text),
        other => panic!("{other}"),
    }
}

#[test]
fn bad_cells_are_named() {
    let (error, text) = refusal(&[([0; 3], 0), ([0, 2, 1], 1)]);
    assert!(matches!(error, AdaptiveError::Alignment { cell: 1, .. }));
    assert_eq!(
        text,
        "cell 1 of level 1 begins at voxel (0, 2, 1); each index must be a multiple of 2"
    );
    let (error, text) = refusal(&[([4; 3], 1), ([0; 3], 0), ([0; 3], 3)]);
    assert!(
        matches!(
            error,
            AdaptiveError::Overlap {
                cells: [1, 2],
                levels: [0, 3],
                voxel: [0, 0, 0]
            }
        ),
        "{text}"
    );
    let (error, text) = refusal(&[([-1; 3], 0), ([7; 3], 0), ([-1; 3], 0)]);
    assert!(matches!(
        error,
        AdaptiveError::Overlap { cells: [0, 2], .. }
    ));
    assert_eq!(
        text,
        "cells 0 (level 0) and 2 (level 0) both hold voxel (-1, -1, -1); cells must be disjoint"
    );
    let (error, _) = refusal(&[([0; 3], 8)]);
    assert_eq!(error, AdaptiveError::Level { cell: 0, level: 8 });
    for far in [[1 << 20, 0, 0], [0, i32::MIN, 0], [0, 0, (1 << 20) - 1]] {
        let (error, text) = refusal(&[(far, 0)]);
        assert!(
            matches!(error, AdaptiveError::Range { cell: 0, .. }),
            "{text}"
        );
    }
    let empty = AdaptiveVoxelGrid::from_cells(&[], VoxelMap::uniform(1.0).unwrap()).unwrap_err();
    assert_eq!(empty, GeometryError::NoCells);
}

#[test]
fn bad_hierarchies_and_fields_are_refused() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let one = || vec![[0; 3]];
    let both = AdaptiveVoxelGrid::from_hierarchy(&[one(), one()], map).unwrap_err();
    assert!(matches!(
        both,
        GeometryError::Adaptive(AdaptiveError::Overlap { cells: [0, 1], .. })
    ));
    let deep = AdaptiveVoxelGrid::from_hierarchy(&vec![one(); 9], map).unwrap_err();
    assert_eq!(deep, AdaptiveError::LevelCount { levels: 9 }.into());
    let far = AdaptiveVoxelGrid::uniform(&[[1 << 19, 0, 0]], 1, map).unwrap_err();
    assert!(
        matches!(far, GeometryError::Adaptive(AdaptiveError::Range { .. })),
        "{far}"
    );
    let high = AdaptiveVoxelGrid::uniform(&one(), 8, map).unwrap_err();
    assert!(matches!(
        high,
        GeometryError::Adaptive(AdaptiveError::Level { .. })
    ));
    let field = |levels, samples, value: f64| {
        AdaptiveVoxelGrid::from_field(&one(), map, levels, |_| value, samples, Grading::None)
            .unwrap_err()
    };
    assert_eq!(
        field(0, 1, 1.0),
        AdaptiveError::LevelCount { levels: 0 }.into()
    );
    assert_eq!(
        field(9, 1, 1.0),
        AdaptiveError::LevelCount { levels: 9 }.into()
    );
    assert!(matches!(field(2, 0, 1.0), GeometryError::ZeroCount { .. }));
    assert_eq!(field(2, 4, -1.0), GeometryError::NoCells);
    assert_eq!(field(2, 4, f64::NAN), GeometryError::NoCells);
}

#[test]
fn maps_that_leave_no_digits_are_refused() {
    let cube = VoxelMap::uniform(1.0).unwrap();
    let thin = VoxelMap::scaled([1.0, 1e-20, 1.0]).unwrap();
    for map in [
        thin.with_offset([0.0, 1.0, 0.0]).unwrap(),
        cube.with_offset([1e18, 0.0, 0.0]).unwrap(),
        VoxelMap::uniform(1e100).unwrap(),
    ] {
        let error = AdaptiveVoxelGrid::from_cells(&[([2; 3], 0)], map).unwrap_err();
        assert!(
            matches!(error, GeometryError::Adaptive(AdaptiveError::Reach { .. })),
            "{error}"
        );
    }
    for size in [1e-95, 1e90] {
        AdaptiveVoxelGrid::from_cells(&[([1; 3], 0)], VoxelMap::uniform(size).unwrap()).unwrap();
    }
    // Voxels that become too small by refinement.
    let small = VoxelMap::uniform(1e-100).unwrap();
    let grid = AdaptiveVoxelGrid::from_cells(&[([1; 3], 0)], small).unwrap();
    let error = grid.adapted(&[Mark::Refine]).unwrap_err();
    assert!(matches!(error, GeometryError::VoxelMap { .. }), "{error}");
}

#[test]
fn bad_marks_are_refused() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let grid = AdaptiveVoxelGrid::from_cells(&[([0; 3], 7), ([128, 0, 0], 0)], map).unwrap();
    assert_eq!(
        grid.adapted(&[Mark::Keep]).unwrap_err(),
        AdaptiveError::MarkCount {
            expected: 2,
            found: 1
        }
        .into()
    );
    let error = grid.adapted(&[Mark::Keep, Mark::Refine]).unwrap_err();
    assert!(matches!(
        error,
        GeometryError::Adaptive(AdaptiveError::Finest { cell: 1, .. })
    ));
    let far = AdaptiveVoxelGrid::from_cells(&[([1 << 19, 0, 0], 0)], map).unwrap();
    let error = far.adapted(&[Mark::Refine]).unwrap_err();
    assert!(error.to_string().contains("range"), "{error}");
}
