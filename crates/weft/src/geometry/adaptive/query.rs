//! Which cell holds a position, and which is the closest.

use super::cells::{Cells, volume};
use super::morton::decode;
use crate::geometry::check::dot;
use crate::geometry::{Nearest, VoxelMap};

/// A position counts as inside a voxel up to this fraction of the voxel.
const TOLERANCE: f64 = 1e-10;

/// Reference coordinates of a lattice point, clamped to the cell.
fn reference(cells: &Cells, cell: usize, r: [f64; 3]) -> [f64; 3] {
    let (origin, size) = (cells.origin(cell), f64::from(cells.size(cell)));
    std::array::from_fn(|d| ((r[d] - f64::from(origin[d])) / size).clamp(0.0, 1.0))
}

/// The cell that holds the lattice point `r`, boundary included.
pub fn locate(cells: &Cells, r: [f64; 3]) -> Option<(usize, [f64; 3])> {
    // Also refuses what is not a number.
    if !r.iter().all(|c| c.abs() < 2e6) {
        return None;
    }
    let voxel = r.map(|c| c.floor() as i32);
    if let Some(cell) = cells.find(voxel) {
        return Some((cell, reference(cells, cell, r)));
    }
    // On the upper boundary, or just outside by rounding.
    let other: [i32; 3] = std::array::from_fn(|d| {
        let within = r[d] - r[d].floor();
        i32::from(within > 1.0 - TOLERANCE) - i32::from(within < TOLERANCE)
    });
    (1..8)
        .filter(|i| (0..3).all(|d| i >> d & 1 == 0 || other[d] != 0))
        .find_map(|i| {
            let near = std::array::from_fn(|d| voxel[d] + other[d] * (i >> d & 1));
            let cell = cells.find(near)?;
            Some((cell, reference(cells, cell, r)))
        })
}

/// Distances in space between lattice points and boxes.
struct Metric {
    gram: [[f64; 3]; 3],
    orthogonal: bool,
}

impl Metric {
    fn new(map: &VoxelMap) -> Metric {
        let rows = map.matrix();
        let edges: [[f64; 3]; 3] = std::array::from_fn(|a| rows.map(|row| row[a]));
        let gram: [[f64; 3]; 3] =
            std::array::from_fn(|a| std::array::from_fn(|b| dot(edges[a], edges[b])));
        let small = |a: usize, b: usize| {
            gram[a][b].abs() <= f64::EPSILON * (gram[a][a] * gram[b][b]).sqrt()
        };
        Metric {
            orthogonal: small(0, 1) && small(0, 2) && small(1, 2),
            gram,
        }
    }

    fn squared(&self, v: [f64; 3]) -> f64 {
        if self.orthogonal {
            return (0..3).map(|a| self.gram[a][a] * v[a] * v[a]).sum();
        }
        (0..3).map(|a| v[a] * dot(self.gram[a], v)).sum()
    }

    /// The closest point of a box to `r`, and the squared distance.
    fn closest(&self, r: [f64; 3], low: [f64; 3], high: [f64; 3]) -> ([f64; 3], f64) {
        let clamped: [f64; 3] = std::array::from_fn(|a| r[a].clamp(low[a], high[a]));
        let distance = |y: [f64; 3]| self.squared(std::array::from_fn(|a| y[a] - r[a]));
        if self.orthogonal || clamped == r {
            return (clamped, distance(clamped));
        }
        // A convex quadratic on a box is least on the inside of one of its 27 faces, edges,
        // vertices (or itself), where it is least without bounds too.
        let mut best = (clamped, distance(clamped));
        for face in 0..27 {
            let state = [face / 9, face / 3 % 3, face % 3];
            let Some(y) = self.least(r, low, high, state) else {
                continue;
            };
            let d = distance(y);
            if d < best.1 {
                best = (y, d);
            }
        }
        best
    }

    /// Where the distance is least with coordinates of state 0 and 1 at their lower and upper
    /// bound and the others free; none if that is outside the box.
    fn least(
        &self,
        r: [f64; 3],
        low: [f64; 3],
        high: [f64; 3],
        state: [usize; 3],
    ) -> Option<[f64; 3]> {
        let free = |a: usize| state[a] == 2;
        let mut v: [f64; 3] = std::array::from_fn(|a| match state[a] {
            0 => low[a] - r[a],
            1 => high[a] - r[a],
            _ => 0.0,
        });
        // Rows of fixed coordinates are those of the identity.
        let mut m = [[0.0; 4]; 3];
        for a in 0..3 {
            if free(a) {
                for b in 0..3 {
                    match free(b) {
                        true => m[a][b] = self.gram[a][b],
                        false => m[a][3] -= self.gram[a][b] * v[b],
                    }
                }
            } else {
                m[a][a] = 1.0;
                m[a][3] = v[a];
            }
        }
        // Positive definite: elimination without pivoting is stable.
        for a in 0..3 {
            for b in a + 1..3 {
                let factor = m[b][a] / m[a][a];
                for c in a..4 {
                    m[b][c] -= factor * m[a][c];
                }
            }
        }
        for a in (0..3).rev() {
            let rest: f64 = (a + 1..3).map(|b| m[a][b] * v[b]).sum();
            v[a] = (m[a][3] - rest) / m[a][a];
        }
        let y: [f64; 3] = std::array::from_fn(|a| match state[a] {
            0 => low[a],
            1 => high[a],
            _ => r[a] + v[a],
        });
        (0..3)
            .all(|a| low[a] <= y[a] && y[a] <= high[a])
            .then_some(y)
    }
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
    fn to_box(&self, origin: [i32; 3], size: f64) -> ([f64; 3], f64) {
        let low = origin.map(f64::from);
        self.metric.closest(self.r, low, low.map(|c| c + size))
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
                parts[count] = (squared, start, end);
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
    if let Some((cell, xi)) = locate(cells, r) {
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
        limit: max_dist * max_dist,
    };
    search.visit(0, cells.len());
    let (squared, cell, y) = search.best?;
    Some(Nearest {
        cell,
        xi: reference(cells, cell, y),
        position: map.position(y),
        distance: squared.sqrt(),
    })
}
