//! Laws of voxel grids: counts, numbering, placement, lookup, rebuilds, environments, assembly.

mod environments;
mod forms;
mod lookup;
mod rebuild;
mod sets;
mod topology;

use std::collections::BTreeSet;
use std::sync::Arc;

use weft::geometry::*;

/// A small deterministic random number generator (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// From `low` to `high - 1`.
    fn int(&mut self, low: i32, high: i32) -> i32 {
        low + ((self.next() >> 33) % (high - low) as u64) as i32
    }

    /// In `[low, high)`.
    fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn voxels(&mut self, count: usize, reach: i32) -> Vec<[i32; 3]> {
        (0..count)
            .map(|_| std::array::from_fn(|_| self.int(-reach, reach)))
            .collect()
    }

    fn points(&mut self, count: usize, reach: f64) -> Vec<[f64; 3]> {
        (0..count)
            .map(|_| std::array::from_fn(|_| self.real(-reach, reach)))
            .collect()
    }
}

fn unit() -> VoxelMap {
    VoxelMap::uniform(1.0).unwrap()
}

/// Rotated, sheared, stretched and moved.
fn skew() -> VoxelMap {
    let matrix = [
        [0.30, -0.17, 0.06],
        [0.12, 0.21, -0.05],
        [-0.08, 0.11, 0.26],
    ];
    VoxelMap::affine(matrix, [3.0, -7.0, 11.0]).unwrap()
}

/// Rotated boxes: orthogonal edges that are not along the axes.
fn turned() -> VoxelMap {
    let (s, c) = 0.4f64.sin_cos();
    let matrix = [
        [0.5 * c, -0.3 * s, 0.0],
        [0.5 * s, 0.3 * c, 0.0],
        [0.0, 0.0, 0.7],
    ];
    VoxelMap::affine(matrix, [-1.0, 2.0, 0.5])
        .unwrap()
        .centred()
}

fn maps() -> Vec<VoxelMap> {
    vec![
        unit(),
        VoxelMap::scaled([0.5, 0.25, 2.0]).unwrap(),
        unit().centred(),
        skew(),
        skew().centred(),
        turned(),
    ]
}

fn cube(n: i32, at: [i32; 3]) -> Vec<[i32; 3]> {
    let mut all = Vec::new();
    for i in 0..n {
        for j in 0..n {
            all.extend((0..n).map(|k| [at[0] + i, at[1] + j, at[2] + k]));
        }
    }
    all
}

fn grid(voxels: &[[i32; 3]]) -> VoxelGrid {
    VoxelGrid::from_coordinates(voxels, unit()).unwrap()
}

fn voxel_set(grid: &VoxelGrid) -> BTreeSet<[i32; 3]> {
    grid.cells().all_coordinates().iter().copied().collect()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|d| (a[d] - b[d]).powi(2)).sum::<f64>().sqrt()
}

/// Cells, vertices, sides, boundary sides, edges.
fn counts(grid: &VoxelGrid) -> [usize; 5] {
    let t = grid.topology();
    [
        t.cell_count(),
        t.vertex_count(),
        t.side_count(),
        t.boundary_sides().len(),
        t.edge_count(),
    ]
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}
