//! Laws of adaptive voxel grids: counts, sides, hanging nodes, adaptation, queries, errors.

mod adapt;
mod counts;
mod faults;
mod nodes;
mod queries;
mod sides;
mod transfer;

use weft::geometry::{AdaptiveVoxelGrid, Grading, Mark, VoxelMap};

/// A small generator of numbers for tests (Knuth's 64-bit linear congruence, upper bits).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        (0..4).for_each(|_| _ = random.unit());
        random
    }

    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    fn point(&mut self) -> [f64; 3] {
        std::array::from_fn(|_| self.unit())
    }
}

/// Rotated, sheared and scaled, away from the origin.
fn skew_map() -> VoxelMap {
    let (c, s) = (0.8, 0.6);
    let shear = [
        [c, -s + 0.3 * c, 0.1],
        [s, c + 0.3 * s, -0.2],
        [0.0, 0.1, 1.0],
    ];
    let size = [0.5, 0.25, 0.75];
    let matrix = shear.map(|row| std::array::from_fn(|d| row[d] * size[d]));
    VoxelMap::affine(matrix, [3.0, -2.0, 0.5]).unwrap()
}

/// 3 coarse and 8 fine cells, 2 × 2 × 1 coarse ones in all.
fn hierarchy(map: VoxelMap) -> AdaptiveVoxelGrid {
    let fine = (0..8).map(|i| [2 + i / 4, 2 + i / 2 % 2, i % 2]).collect();
    let coarse = vec![[0, 0, 0], [0, 1, 0], [1, 0, 0]];
    AdaptiveVoxelGrid::from_hierarchy(&[fine, coarse], map).unwrap()
}

/// Some of the 3³ voxels of level `level` around the origin, cut at random; not graded.
fn ragged(seed: u64, level: usize, map: VoxelMap) -> AdaptiveVoxelGrid {
    let mut random = Random::new(seed);
    let mut voxels: Vec<[i32; 3]> = (0..27)
        .map(|i| [i / 9 - 2, i / 3 % 3 - 1, i % 3 - 1])
        .collect();
    voxels.retain(|_| random.unit() < 0.6);
    voxels.push([1, 1, 1]);
    let mut grid = AdaptiveVoxelGrid::uniform(&voxels, level, map).unwrap();
    for _ in 0..level {
        let marks: Vec<Mark> = (0..grid.cell_count())
            .map(
                |cell| match grid.cell_level(cell) > 0 && random.unit() < 0.2 {
                    true => Mark::Refine,
                    false => Mark::Keep,
                },
            )
            .collect();
        grid = grid.adapted(&marks).unwrap();
    }
    // Gaps on every level.
    let mut cells = cells(&grid);
    cells.retain(|_| random.unit() < 0.9);
    AdaptiveVoxelGrid::from_cells(&cells, map).unwrap()
}

fn cells(grid: &AdaptiveVoxelGrid) -> Vec<([i32; 3], u8)> {
    (0..grid.cell_count())
        .map(|c| (grid.cell_origin(c), grid.cell_level(c)))
        .collect()
}

/// Grids of every make: plain, ragged, skew, graded, one cell, far from the origin.
fn samples() -> Vec<AdaptiveVoxelGrid> {
    let plain = VoxelMap::uniform(0.125).unwrap();
    let ragged2 = ragged(2, 3, skew_map());
    vec![
        hierarchy(VoxelMap::uniform(0.5).unwrap()),
        hierarchy(skew_map()),
        ragged(1, 3, plain),
        ragged2.graded(Grading::Face).unwrap(),
        ragged2.graded(Grading::Vertex).unwrap(),
        ragged2,
        AdaptiveVoxelGrid::from_cells(&[([-8, 8, 0], 3)], plain).unwrap(),
        // A large cell beside one three levels finer, in the middle of its face.
        AdaptiveVoxelGrid::from_cells(&[([-8, 0, 0], 3), ([0, 3, 4], 0)], plain).unwrap(),
        AdaptiveVoxelGrid::from_cells(
            &[([-(1 << 20); 3], 0), ([(1 << 20) - 128 - 128; 3], 7)],
            VoxelMap::uniform(1.0).unwrap(),
        )
        .unwrap(),
    ]
}

/// Position of a cell's point, from the definition of the lattice.
fn position(grid: &AdaptiveVoxelGrid, cell: usize, xi: [f64; 3]) -> [f64; 3] {
    let (origin, level) = (grid.cell_origin(cell), grid.cell_level(cell));
    let r = std::array::from_fn(|d| f64::from(origin[d]) + f64::from(1 << level) * xi[d]);
    grid.voxel_map().position(r)
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|d| (a[d] - b[d]).powi(2)).sum::<f64>().sqrt()
}

fn volume(grid: &AdaptiveVoxelGrid) -> f64 {
    (0..grid.cell_count()).map(|c| grid.cell_volume(c)).sum()
}
