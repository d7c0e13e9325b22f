use weft::geometry::{AdaptiveError, GeometryError};

use super::*;

fn refusal(cells: &[([i32; 3], u8)]) -> (AdaptiveError, String) {
    let error = AdaptiveVoxelGrid::from_cells(cells, LatticeMap::cubes(1.0)).unwrap_err();
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
    let empty = AdaptiveVoxelGrid::from_cells(&[], LatticeMap::cubes(1.0)).unwrap_err();
    assert_eq!(empty, GeometryError::NoCells);
}

#[test]
fn bad_hierarchies_and_fields_are_refused() {
    let map = LatticeMap::cubes(1.0);
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
fn bad_maps_are_refused() {
    let cube = LatticeMap::cubes(1.0);
    let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut mirrored = identity;
    mirrored[2][2] = -1.0;
    let mut flat = identity;
    flat[1][1] = 0.0;
    for map in [
        LatticeMap::cubes(0.0),
        LatticeMap::cubes(1e-200),
        LatticeMap::cubes(-1.0),
        LatticeMap::cubes(f64::NAN),
        LatticeMap::cubes(f64::INFINITY),
        LatticeMap::new([1.0, 1e-20, 1.0]).with_offset([0.0, 1.0, 0.0]),
        cube.with_offset([0.0, f64::NAN, 0.0]),
        cube.with_offset([1e18, 0.0, 0.0]),
        cube.with_matrix(mirrored),
        cube.with_matrix(flat),
        cube.with_matrix([[f64::NAN; 3]; 3]),
    ] {
        let error = AdaptiveVoxelGrid::from_cells(&[([0; 3], 0)], map).unwrap_err();
        assert!(
            matches!(error, GeometryError::Adaptive(AdaptiveError::Map { .. })),
            "{error}"
        );
    }
    for size in [1e-95, 1e90] {
        AdaptiveVoxelGrid::from_cells(&[([1; 3], 0)], LatticeMap::cubes(size)).unwrap();
    }
}

#[test]
fn bad_marks_are_refused() {
    let map = LatticeMap::cubes(1.0);
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
