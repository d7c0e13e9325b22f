//! `weft bench geometry`: sparse grids from points, closest points, topology.

use super::median;
use crate::summary::Ordered;
use serde::Serialize;
use std::fmt;
use weft::geometry::{Geometry, Locator, Mesh, Surface, Topology, VoxelGrid, VoxelMap, shapes};

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Points or cells worked on.
    pub items: usize,
    /// Cells of the geometry.
    pub cells: usize,
    /// Seconds for all items.
    pub seconds: f64,
    /// Items in a second.
    pub items_per_second: f64,
}

/// Measurements by name; what `--json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Rates(pub Ordered<Rate>);

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<22}{:>10}{:>10}{:>12}{:>16}",
            "", "items", "cells", "seconds", "items/s"
        )?;
        for (name, r) in self.0.iter() {
            write!(
                f,
                "\n{name:<22}{:>10}{:>10}{:>12.6}{:>16.4e}",
                r.items, r.cells, r.seconds, r.items_per_second
            )?;
        }
        Ok(())
    }
}

fn rate(items: usize, cells: usize, seconds: f64) -> Rate {
    Rate {
        items,
        cells,
        seconds,
        items_per_second: items as f64 / seconds,
    }
}

/// Pseudo-random numbers in [0, 1): the same at every run (splitmix64, Steele et al. 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn point(&mut self, low: f64, high: f64) -> [f64; 3] {
        std::array::from_fn(|_| low + (high - low) * self.next())
    }
}

/// Points of a heap of grains, eight to a voxel of size 1: the order of a simulation, cell by
/// cell, with a little disorder.
fn heap(count: usize) -> Vec<[f64; 3]> {
    let mut random = Random(1);
    let side = (count as f64 / 8.0).cbrt().ceil();
    (0..count)
        .map(|k| {
            let voxel = (k / 8) as f64;
            let corner = [
                (voxel / (side * side)).floor(),
                (voxel / side).floor() % side,
                voxel % side,
            ];
            let inside = random.point(0.0, 1.0);
            std::array::from_fn(|d| corner[d] + inside[d] - side / 2.0)
        })
        .collect()
}

/// The points in random order.
fn scattered(mut points: Vec<[f64; 3]>) -> Vec<[f64; 3]> {
    let mut random = Random(3);
    for last in (1..points.len()).rev() {
        points.swap(last, (random.next() * (last + 1) as f64) as usize);
    }
    points
}

/// Measures on rayon's current pool of threads: voxel grids from 1 and 10 million points, made new
/// from points in random order, rebuilt in place from points in order of the cells and with
/// unchanged cells; a million closest points on a surface of 100 thousand triangles and in
/// 100 thousand tets, signed distances, and the topology of a million tets.
///
/// # Errors
/// Those of the engine.
pub fn geometry() -> anyhow::Result<Rates> {
    let mut all = Ordered::default();
    let map = VoxelMap::uniform(1.0)?;
    for (name, new, count) in [
        ("voxels_1m", "voxels_new_1m", 1_000_000),
        ("voxels_10m", "voxels_new_10m", 10_000_000),
    ] {
        let points = scattered(heap(count));
        let mut cells = 0;
        let seconds = median(|| {
            cells = VoxelGrid::from_points(&points, None, map)?.1.cells;
            Ok(())
        })?;
        all.insert(new, rate(count, cells, seconds));
        let points = heap(count);
        let shifted: Vec<[f64; 3]> = points.iter().map(|x| x.map(|c| c + 1.0)).collect();
        let (grid, _) = VoxelGrid::from_points(&points, None, map)?;
        // Turn about, so that the cells change every time.
        let mut turn = false;
        let seconds = median(|| {
            turn = !turn;
            grid.rebuild(if turn { &shifted } else { &points }, None)?;
            Ok(())
        })?;
        all.insert(name, rate(count, grid.cell_count(), seconds));
        if count == 1_000_000 {
            let seconds = median(|| {
                grid.rebuild(&points, None)?;
                Ok(())
            })?;
            all.insert(
                "voxels_unchanged_1m",
                rate(count, grid.cell_count(), seconds),
            );
        }
    }

    let mut random = Random(2);
    let points: Vec<[f64; 3]> = (0..1_000_000).map(|_| random.point(-1.2, 1.2)).collect();
    // 20 · 4⁶ = 81 920 triangles, bumpy so that no symmetry helps.
    let ball = shapes::sphere(6)?.moved(|x| {
        let bump = 1.0 + 0.1 * (5.0 * x[0]).sin() * (4.0 * x[1]).cos();
        x.map(|c| c * bump)
    })?;
    closest("closest_surface", &ball, &points, &mut all)?;
    let surface = Surface::new(&ball)?;
    let mut signed = vec![None; points.len()];
    let seconds = median(|| {
        surface.signed_distance_many(&points, f64::INFINITY, &mut signed);
        Ok(())
    })?;
    let cells = ball.topology().cell_count();
    all.insert("signed_distance", rate(points.len(), cells, seconds));
    // 26³ · 6 = 105 456 tets.
    let tets = shapes::box_tets([26; 3], [-1.0; 3], [1.0; 3])?;
    closest("closest_tets", &tets, &points, &mut all)?;

    let many = shapes::box_tets([56; 3], [0.0; 3], [1.0; 3])?;
    let topology = many.topology();
    let (vertices, cells) = (topology.vertex_count(), topology.cells().to_vec());
    let seconds = median(|| {
        Topology::build(topology.cell_kind(), vertices, cells.clone())?;
        Ok(())
    })?;
    let count = topology.cell_count();
    all.insert("topology_tets", rate(count, count, seconds));
    Ok(Rates(all))
}

fn closest(
    name: &str,
    mesh: &Mesh,
    points: &[[f64; 3]],
    all: &mut Ordered<Rate>,
) -> anyhow::Result<()> {
    let locator = Locator::new(mesh);
    let mut out = vec![None; points.len()];
    let seconds = median(|| {
        locator.closest_many(points, f64::INFINITY, &mut out);
        Ok(())
    })?;
    all.insert(
        name,
        rate(points.len(), mesh.topology().cell_count(), seconds),
    );
    Ok(())
}
