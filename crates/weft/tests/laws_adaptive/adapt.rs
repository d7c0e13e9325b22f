use weft::geometry::{Geometry, Lineage};

use super::*;

/// Whether no two neighbouring cells differ by more than one level, by looking at all pairs.
fn is_graded(grid: &AdaptiveVoxelGrid, grading: Grading) -> bool {
    let all = cells(grid);
    let axes_apart = match grading {
        Grading::None => return true,
        Grading::Face => 1,
        Grading::Vertex => 3,
    };
    all.iter().enumerate().all(|(i, (a, la))| {
        all[..i].iter().all(|(b, lb)| {
            let (sa, sb) = (1 << la, 1 << lb);
            let touch = (0..3).all(|d| a[d] <= b[d] + sb && b[d] <= a[d] + sa);
            let apart = (0..3)
                .filter(|&d| a[d] == b[d] + sb || b[d] == a[d] + sa)
                .count();
            !touch || apart > axes_apart || la.abs_diff(*lb) <= 1
        })
    })
}

/// Number of finest voxels in all cells: what must never change.
fn covered(grid: &AdaptiveVoxelGrid) -> u64 {
    cells(grid).iter().map(|c| 8u64.pow(c.1.into())).sum()
}

fn marks(grid: &AdaptiveVoxelGrid, random: &mut Random) -> Vec<Mark> {
    (0..grid.cell_count())
        .map(|cell| match random.unit() {
            r if r < 0.15 && grid.cell_level(cell) > 0 => Mark::Refine,
            r if r < 0.3 => Mark::Keep,
            _ => Mark::Coarsen,
        })
        .collect()
}

#[test]
fn random_adaptation_keeps_what_it_must() {
    let voxels: Vec<[i32; 3]> = (0..12).map(|i| [i / 4 - 1, i / 2 % 2 - 1, i % 2]).collect();
    for grading in [Grading::None, Grading::Face, Grading::Vertex] {
        for seed in 0..4 {
            let start = AdaptiveVoxelGrid::uniform(&voxels, 4, skew_map()).unwrap();
            let mut grid = start.graded(grading).unwrap();
            let mut random = Random::new(seed);
            for step in 0..8 {
                let marks = marks(&grid, &mut random);
                let new = grid.adapted(&marks).unwrap();
                let again = grid.adapted(&marks).unwrap();
                assert_eq!(cells(&new), cells(&again));
                assert_eq!(covered(&new), covered(&start), "step {step}");
                assert!(
                    is_graded(&new, grading),
                    "{grading:?} seed {seed} step {step}"
                );
                check_lineage(&new, &grid, &marks, grading);
                let sorted = AdaptiveVoxelGrid::from_cells(&cells(&new), skew_map()).unwrap();
                assert_eq!(cells(&sorted), cells(&new));
                grid = new;
                if grid.cell_count() > 1500 {
                    break;
                }
            }
            // All that was cut can be joined again.
            loop {
                let new = grid
                    .adapted(&vec![Mark::Coarsen; grid.cell_count()])
                    .unwrap();
                if new.id() == grid.id() {
                    break;
                }
                assert!(is_graded(&new, grading));
                grid = new;
            }
            assert!(cells(&grid).iter().all(|c| c.1 >= 4));
        }
    }
}

fn check_lineage(
    new: &AdaptiveVoxelGrid,
    old: &AdaptiveVoxelGrid,
    marks: &[Mark],
    grading: Grading,
) {
    let (lineage, overlaps) = (new.lineage(old).unwrap(), new.overlaps(old).unwrap());
    let mut seen = vec![0.0; old.cell_count()];
    let mut same = vec![false; old.cell_count()];
    for (cell, lineage) in lineage.iter().enumerate() {
        let parts = overlaps.of(cell);
        match lineage {
            Lineage::Same(o) => {
                assert_eq!(parts[0].scale, 1.0);
                assert_eq!(parts[0].offset, [0.0; 3]);
                same[*o as usize] = true;
                assert_eq!(parts.len(), 1);
            }
            Lineage::ChildOf(o) => {
                assert!(parts[0].scale < 1.0 && parts[0].old == *o);
                assert_eq!(parts.len(), 1);
            }
            Lineage::ParentOf(range) => {
                assert_eq!(range.len(), 8);
                for o in range.clone() {
                    assert_eq!(marks[o as usize], Mark::Coarsen);
                }
            }
            Lineage::New => panic!("nothing is new"),
        }
        assert_eq!(parts.iter().map(|p| p.share).sum::<f64>(), 1.0);
        for part in parts {
            let o = part.old as usize;
            seen[o] += part.share * new.cell_volume(cell);
            let xi = [0.3, 0.6, 0.9];
            let (a, b) = match part.share < 1.0 {
                true => (position(new, cell, part.to_new(xi)), position(old, o, xi)),
                false => (position(new, cell, xi), position(old, o, part.to_old(xi))),
            };
            assert!(distance(a, b) < 1e-12);
        }
    }
    for (cell, &seen) in seen.iter().enumerate() {
        assert!((seen / old.cell_volume(cell) - 1.0).abs() < 1e-12);
        assert!(marks[cell] != Mark::Refine || !same[cell]);
        assert!(grading != Grading::None || marks[cell] != Mark::Keep || same[cell]);
    }
}

#[test]
fn joining_what_was_cut_gives_the_grid_back() {
    for grid in samples() {
        let grid =
            AdaptiveVoxelGrid::uniform(&[[-1, 0, 0], [0, 0, 0], [2, 2, 2]], 2, grid.voxel_map())
                .unwrap();
        let cut = grid
            .adapted(&vec![Mark::Refine; grid.cell_count()])
            .unwrap();
        assert_eq!(cut.cell_count(), 8 * grid.cell_count());
        let back = cut.adapted(&vec![Mark::Coarsen; cut.cell_count()]).unwrap();
        assert_eq!(cells(&back), cells(&grid));
        // One sibling that disagrees keeps its family, and no other.
        let mut marks = vec![Mark::Coarsen; cut.cell_count()];
        marks[11] = Mark::Keep;
        assert_eq!(
            cut.adapted(&marks).unwrap().cell_count(),
            grid.cell_count() + 7
        );
    }
}

#[test]
fn the_lattice_becomes_finer_when_it_must() {
    for map in [VoxelMap::uniform(1.0).unwrap(), skew_map()] {
        let grid = hierarchy(map);
        let mut marks = vec![Mark::Keep; 11];
        let fine = (0..11).find(|&c| grid.cell_level(c) == 0).unwrap();
        marks[fine] = Mark::Refine;
        let cut = grid.adapted(&marks).unwrap();
        assert_eq!(cut.cell_count(), 18);
        assert!((volume(&cut) - volume(&grid)).abs() < 1e-12);
        check_lineage(&cut, &grid, &marks, Grading::None);
        let coarsen: Vec<Mark> = (0..18)
            .map(|c| {
                if cut.cell_level(c) == 0 {
                    Mark::Coarsen
                } else {
                    Mark::Keep
                }
            })
            .collect();
        let back = cut.adapted(&coarsen).unwrap();
        assert_eq!(back.cell_count(), 11);
        assert!(back.cell_level(fine) == 1);
        let trimmed = back.trimmed();
        assert_eq!(cells(&trimmed), cells(&grid));
        assert_eq!(trimmed.voxel_map(), grid.voxel_map());
        assert_eq!(trimmed.trimmed().id(), trimmed.id());
        for (cell, lineage) in back.lineage(&grid).unwrap().into_iter().enumerate() {
            assert_eq!(lineage, Lineage::Same(cell as u32));
        }
    }
}

#[test]
fn grading_is_the_least_that_is_needed() {
    let map = VoxelMap::uniform(1.0).unwrap();
    // Level 3 beside level 0: the large cell is cut twice towards the small one.
    let grid = AdaptiveVoxelGrid::from_cells(&[([-8, 0, 0], 3), ([0, 0, 0], 0)], map).unwrap();
    let graded = grid.graded(Grading::Face).unwrap();
    assert!(is_graded(&graded, Grading::Face));
    assert_eq!(graded.cell_count(), 2 + 7 + 7);
    assert_eq!(graded.graded(Grading::Face).unwrap().id(), graded.id());
    // Cells that meet in an edge or a vertex matter only to the vertex grading.
    let corner = AdaptiveVoxelGrid::from_cells(&[([-8, -8, -8], 3), ([0, 0, 0], 0)], map).unwrap();
    assert_eq!(corner.graded(Grading::Face).unwrap().cell_count(), 2);
    assert_eq!(corner.graded(Grading::Vertex).unwrap().cell_count(), 16);
    for seed in 0..3 {
        let ragged = ragged(seed, 4, map);
        for grading in [Grading::Face, Grading::Vertex] {
            let graded = ragged.graded(grading).unwrap();
            assert!(is_graded(&graded, grading));
            assert_eq!(covered(&graded), covered(&ragged));
        }
    }
}

#[test]
fn grids_with_gaps_overlap_where_they_do() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let old = AdaptiveVoxelGrid::from_cells(&[([0, 0, 0], 0), ([1, 0, 0], 0)], map).unwrap();
    let new = AdaptiveVoxelGrid::from_cells(&[([0, 0, 0], 1), ([2, 0, 0], 0)], map).unwrap();
    assert_eq!(
        new.lineage(&old).unwrap(),
        [Lineage::ParentOf(0..2), Lineage::New]
    );
    let overlaps = new.overlaps(&old).unwrap();
    assert_eq!(overlaps.of(0).iter().map(|o| o.share).sum::<f64>(), 0.25);
    assert!(overlaps.of(1).is_empty());
    assert_eq!((overlaps.len(), overlaps.is_empty()), (2, false));
    let other =
        AdaptiveVoxelGrid::from_cells(&[([0; 3], 0)], VoxelMap::uniform(1.5).unwrap()).unwrap();
    assert!(new.lineage(&other).is_err());
}
