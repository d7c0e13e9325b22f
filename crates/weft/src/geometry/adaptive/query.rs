//! Which cell holds a position, and which is the closest.

use super::cells::{Cells, volume};
use super::morton::decode;
use crate::geometry::metric::Metric;
use crate::geometry::{Nearest, VoxelMap};

/// Reference coordinates of a lattice point, clamped to the cell.
fn reference(cells: &Cells, cell: usize, r: [f64; 3]) -> [f64; 3] {
    let (origin, size) = (cells.origin(cell), f64::from(cells.size(cell)));
    std::array::from_fn(|d| ((r[d] - f64::from(origin[d])) / size).clamp(0.0, 1.0))
}

/// The cell that holds the position `x`, boundary included.
pub fn locate(cells: &Cells, map: &VoxelMap, x: [f64; 3]) -> Option<(usize, [f64; 3])> {
    let r = map.lattice(x);
    // Also refuses what is not a number.
    if !r.iter().all(|c| c.abs() < 2e6) {
        return None;
    }
    let voxel = r.map(|c| c.floor() as i32);
    if let Some(cell) = cells.find(voxel) {
        return Some((cell, reference(cells, cell, r)));
    }
    // On the upper boundary, or just outside by rounding; at most one voxel is near.
    let rounding = map.rounding(x).map(|error| error.min(0.5));
    let other: [i32; 3] = std::array::from_fn(|d| {
        let within = r[d] - r[d].floor();
        i32::from(within > 1.0 - rounding[d]) - i32::from(within < rounding[d])
    });
    let cell = (1..8)
        .filter(|i| (0..3).all(|d| i >> d & 1 == 0 || other[d] != 0))
        .filter_map(|i| cells.find(std::array::from_fn(|d| voxel[d] + other[d] * (i >> d & 1))))
        .min()?;
    Some((cell, reference(cells, cell, r)))
}

struct Search<'a> {
    cells: &'a Cells,
    metric: Metric,
    r: [f64; 3],
    /// Squared distance, cell, lattice point.
    best: Option<(f64, usize, [f64; 3])>,
    limit: f64,
}

impl Search<'_> {
    /// The closest lattice point of a cube, and the squared distance.
    fn to_box(&self, origin: [i32; 3], size: f64) -> ([f64; 3], f64) {
        let low = origin.map(f64::from);
        let (y, squared) = self
            .metric
            .closest(std::array::from_fn(|d| self.r[d] - low[d]), size);
        (std::array::from_fn(|d| low[d] + y[d]), squared)
    }

    fn hopeless(&self, squared: f64) -> bool {
        squared > self.best.map_or(self.limit, |best| best.0)
    }

    /// Visits cells `low..high`, nearest blocks first.
    fn visit(&mut self, low: usize, high: usize) {
        if high - low == 1 {
            let size = f64::from(self.cells.size(low));
            let (y, squared) = self.to_box(self.cells.origin(low), size);
            let closer = match self.best {
                None => squared <= self.limit,
                Some(best) => squared < best.0 || (squared == best.0 && low < best.1),
            };
            if closer {
                self.best = Some((squared, low, y));
            }
            return;
        }
        // The smallest block that holds all these cells, and its eight parts.
        let keys = self.cells.keys();
        let level = (63 - (keys[low] ^ keys[high - 1]).leading_zeros()) / 3;
        let part = volume(level as u8);
        let block = keys[low] / (8 * part) * (8 * part);
        let mut parts = [(0.0, 0, 0); 8];
        let (mut count, mut start) = (0, low);
        for child in 0..8 {
            let code = block + child * part;
            let end = start + keys[start..high].partition_point(|&key| key < code + part);
            if end > start {
                let (_, squared) = self.to_box(decode(code), f64::from(1 << level));
                // Rounding must not hide a smaller cell at the same distance.
                parts[count] = (squared * (1.0 - 1e-12), start, end);
                count += 1;
            }
            start = end;
        }
        parts[..count].sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &(squared, start, end) in &parts[..count] {
            if !self.hopeless(squared) {
                self.visit(start, end);
            }
        }
    }
}

/// The closest cell within `max_dist`.
pub fn closest(cells: &Cells, map: &VoxelMap, x: [f64; 3], max_dist: f64) -> Option<Nearest> {
    let r = map.lattice(x);
    if max_dist.is_nan() || max_dist < 0.0 || !r.iter().all(|c| c.is_finite()) {
        return None;
    }
    if let Some((cell, xi)) = locate(cells, map, x) {
        return Some(Nearest {
            cell,
            xi,
            position: x,
            distance: 0.0,
        });
    }
    let mut search = Search {
        cells,
        metric: Metric::new(map),
        r,
        best: None,
        // Rounding must not exclude a cell at the very distance, which is compared below.
        limit: max_dist * max_dist * (1.0 + 8.0 * f64::EPSILON),
    };
    search.visit(0, cells.len());
    let (squared, cell, y) = search.best?;
    let distance = squared.sqrt();
    (distance <= max_dist && distance.is_finite()).then(|| Nearest {
        cell,
        xi: reference(cells, cell, y),
        position: map.position(y),
        distance,
    })
}
