use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grading, Grid3, VoxelMap};

use super::*;

fn counts(grid: &AdaptiveVoxelGrid) -> [usize; 4] {
    let t = grid.topology();
    [
        t.cell_count(),
        t.vertex_count(),
        t.side_count(),
        t.boundary_sides().len(),
    ]
}

/// Sides and edges level by level, each as if it were alone.
fn stacked(grid: &AdaptiveVoxelGrid) -> [usize; 2] {
    let mut sums = [0; 2];
    for level in 0..8 {
        let mut alone = cells(grid);
        alone.retain(|c| c.1 == level);
        if let Ok(alone) = AdaptiveVoxelGrid::from_cells(&alone, grid.voxel_map()) {
            let t = alone.topology();
            sums[0] += t.side_count();
            sums[1] += t.edge_count();
        }
    }
    sums
}

/// Area of a side: its corners span a parallelogram.
fn area(grid: &AdaptiveVoxelGrid, side: usize) -> f64 {
    let (topology, map) = (grid.topology(), grid.map());
    let v = topology.side_vertices(side);
    let x = |i: usize| map.vertex(v[i]);
    let sub = |a: [f64; 3], b: [f64; 3]| -> [f64; 3] { std::array::from_fn(|d| a[d] - b[d]) };
    let (a, b) = (sub(x(1), x(0)), sub(x(3), x(0)));
    let n = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ];
    distance(n, [0.0; 3])
}

#[test]
fn the_reference_hierarchy() {
    // Coarse cells of edge 1, so that finest voxels have edge 1/2.
    let grid = hierarchy(VoxelMap::uniform(0.5).unwrap());
    assert_eq!(counts(&grid), [11, 37, 50, 28]);
    // An L of three cells has 16 sides and 28 edges, 2 × 2 × 2 cells have 36 and 54.
    assert_eq!(stacked(&grid), [52, 82]);
    assert_eq!(volume(&grid), 4.0);
    let areas: f64 = (0..50).map(|side| area(&grid, side)).sum();
    assert_eq!(areas, 23.0);
    let tags = grid.tags();
    let side_counts = ["left", "right", "front", "back", "bottom", "top"]
        .map(|name| tags.sides(name).unwrap().len());
    assert_eq!(side_counts, [2, 5, 2, 5, 7, 7]);
}

/// The reference packs environments side by side with cells between them left out; the counts
/// are those of a grid with two separate parts: 8 + 27 vertices, 6 + 36 sides, 6 + 24 on the
/// boundary.
#[test]
fn two_separate_parts() {
    let fine = (0..8).map(|i| [8 + i / 4, i / 2 % 2, i % 2]).collect();
    let grid =
        AdaptiveVoxelGrid::from_hierarchy(&[fine, vec![[0; 3]]], VoxelMap::uniform(1.0).unwrap())
            .unwrap();
    assert_eq!(counts(&grid), [9, 35, 42, 30]);
    assert_eq!(stacked(&grid), [42, 66]);
    let parts = grid.topology().components();
    assert_eq!(parts, [0, 1, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn a_uniform_grid_is_a_grid() {
    for level in [0, 2] {
        let n = [3usize, 4, 5];
        let voxels: Vec<[i32; 3]> = (0..60)
            .map(|i| [i / 20 - 1, i / 5 % 4 - 2, i % 5 - 3])
            .collect();
        let grid =
            AdaptiveVoxelGrid::uniform(&voxels, level, VoxelMap::uniform(0.5).unwrap()).unwrap();
        let plain = Grid3::new(n, [0.0; 3], [1.0; 3]).unwrap();
        let t = plain.topology();
        assert_eq!(
            counts(&grid),
            [
                t.cell_count(),
                t.vertex_count(),
                t.side_count(),
                t.boundary_sides().len()
            ]
        );
        assert_eq!(grid.topology().edge_count(), t.edge_count());
        for name in ["left", "right", "front", "back", "bottom", "top"] {
            let sizes = [grid.tags(), plain.tags()].map(|t| t.sides(name).unwrap().len());
            assert_eq!(sizes[0], sizes[1], "{name}");
        }
        for p in 1..4 {
            let nodes = grid.node_numbering(&grid.topology(), p).unwrap();
            assert_eq!(nodes.count, n.iter().map(|n| n * p + 1).product());
            assert!(nodes.hanging.is_empty());
        }
    }
}

#[test]
fn cells_follow_the_curve_whatever_the_order_given() {
    for grid in samples() {
        let mut shuffled = cells(&grid);
        let mut random = Random::new(7);
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i + 1));
        }
        let again = AdaptiveVoxelGrid::from_cells(&shuffled, grid.voxel_map()).unwrap();
        assert_eq!(cells(&again), cells(&grid));
        assert_eq!(again.map(), grid.map());
        assert_eq!(again.topology().cells(), grid.topology().cells());
    }
}

#[test]
fn find_cell_agrees_with_looking_at_every_cell() {
    for grid in samples() {
        let cells = cells(&grid);
        let brute = |voxel: [i32; 3]| {
            cells
                .iter()
                .position(|(origin, level)| (0..3).all(|d| voxel[d] >> level == origin[d] >> level))
        };
        for (cell, (origin, level)) in cells.iter().enumerate() {
            let size = 1 << level;
            for i in 0..27 {
                let at = |step: i32, d: usize| match step {
                    0 => origin[d].saturating_sub(1),
                    1 => origin[d] + size / 2,
                    _ => origin[d] + size,
                };
                let voxel = [at(i / 9, 0), at(i / 3 % 3, 1), at(i % 3, 2)];
                assert_eq!(grid.find_cell(voxel), brute(voxel), "{voxel:?}");
            }
            assert_eq!(grid.find_cell(*origin), Some(cell));
        }
        assert_eq!(grid.find_cell([i32::MIN, i32::MAX, 0]), None);
    }
}

/// A radial field that asks for the finest of three levels near one face of a coarse cell and for
/// nothing elsewhere: by faces its neighbour has to be cut once, which makes 7 more cells.
#[test]
fn issue_004_face_grading_adds_seven_cells() {
    let near = |x: [f64; 3]| match distance(x, [0.8, 0.5, 0.5]) < 0.15 {
        true => 0.0,
        false => 2.0,
    };
    let make = |grading| {
        let map = VoxelMap::uniform(1.0).unwrap();
        AdaptiveVoxelGrid::from_field(&[[0; 3], [1, 0, 0]], map, 3, near, 4000, grading).unwrap()
    };
    // Of the eight parts of the first cell the four around the centre of the ball are cut.
    let [plain, face, vertex] = [Grading::None, Grading::Face, Grading::Vertex].map(make);
    assert_eq!(plain.cell_count(), 1 + 4 + 32);
    assert_eq!(face.cell_count(), plain.cell_count() + 7);
    assert_eq!(cells(&vertex), cells(&face));
}

#[test]
fn fields_choose_levels() {
    let coarse: Vec<[i32; 3]> = (0..64)
        .map(|i| [i / 16 - 2, i / 4 % 4 - 2, i % 4 - 2])
        .collect();
    let map = VoxelMap::uniform(0.5).unwrap();
    // Fine near the sphere of radius 0.4, nothing inside.
    let field = |x: [f64; 3]| {
        let r = distance(x, [0.0; 3]);
        if r < 0.4 { -1.0 } else { (r - 0.4) * 3.0 }
    };
    let make =
        |grading| AdaptiveVoxelGrid::from_field(&coarse, map, 4, field, 64, grading).unwrap();
    let grid = make(Grading::None);
    assert_eq!(cells(&grid), cells(&make(Grading::None)));
    let levels: Vec<usize> = (0..4)
        .map(|l| {
            cells(&grid)
                .iter()
                .filter(|c| usize::from(c.1) == l)
                .count()
        })
        .collect();
    assert!(levels.iter().all(|&n| n > 0), "{levels:?}");
    assert_eq!(grid.find_cell([0; 3]), None, "the middle is left out");
    let hole = 8.0 - volume(&grid);
    let ball = 4.0 / 3.0 * std::f64::consts::PI * 0.064;
    assert!(hole > 0.5 * ball && hole < ball, "{hole} of {ball}");
    // A cell that was kept is not much coarser than the field in its middle asks for; random
    // points can miss its corners.
    for cell in 0..grid.cell_count() {
        let level = grid.cell_level(cell);
        let least = (0..27)
            .map(|i| [i / 9, i / 3 % 3, i % 3].map(|c| (c + 1) as f64 / 4.0))
            .map(|xi| field(position(&grid, cell, xi)))
            .filter(|&f| f >= 0.0)
            .fold(f64::INFINITY, f64::min);
        assert!(
            least * 4.0 + 1.0 > f64::from(level),
            "{cell} {least} {level}"
        );
    }
    let face = make(Grading::Face);
    let vertex = make(Grading::Vertex);
    assert!(face.cell_count() >= grid.cell_count());
    assert!(vertex.cell_count() >= face.cell_count());
    // Every cut makes 7 more.
    assert_eq!((face.cell_count() - grid.cell_count()) % 7, 0);
    assert_eq!((vertex.cell_count() - face.cell_count()) % 7, 0);
    assert!((volume(&vertex) - volume(&grid)).abs() < 1e-12);
    let everywhere = AdaptiveVoxelGrid::from_field(&coarse, map, 3, |_| 0.0, 1, Grading::Face);
    assert_eq!(everywhere.unwrap().cell_count(), 64 * 64);
    let nowhere = AdaptiveVoxelGrid::from_field(&coarse, map, 3, |_| 5.0, 1, Grading::Face);
    assert_eq!(nowhere.unwrap().cell_count(), 64);
}
