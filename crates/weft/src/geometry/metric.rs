//! Distances in space from lattice points to boxes of a lattice.

use super::VoxelMap;

/// The metric that a map gives its lattice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    map: VoxelMap,
    /// `AᵀA` for the lattice's matrix `A`.
    pub gram: [[f64; 3]; 3],
    /// Whether the edges of a cell are orthogonal.
    pub orthogonal: bool,
}

impl Metric {
    pub fn new(map: &VoxelMap) -> Metric {
        let a = map.matrix();
        let gram: [[f64; 3]; 3] = std::array::from_fn(|r| {
            std::array::from_fn(|c| (0..3).map(|d| a[d][r] * a[d][c]).sum())
        });
        let off = |r: usize, c: usize| {
            gram[r][c].abs() <= 4.0 * f64::EPSILON * (gram[r][r] * gram[c][c]).sqrt()
        };
        Metric {
            map: *map,
            gram,
            orthogonal: off(0, 1) && off(0, 2) && off(1, 2),
        }
    }

    /// Squared length in space of a difference of lattice points.
    fn squared(&self, step: [f64; 3]) -> f64 {
        self.map.vector(step).iter().map(|v| v * v).sum()
    }

    /// The point closest to `at` of a cube with edges of `size`, and the squared distance; all
    /// coordinates from the cube's lowest corner.
    pub fn closest(&self, at: [f64; 3], size: f64) -> ([f64; 3], f64) {
        let square = |y: [f64; 3]| self.squared(std::array::from_fn(|d| y[d] - at[d]));
        if self.orthogonal {
            let y = at.map(|c| c.clamp(0.0, size));
            return (y, square(y));
        }
        // The closest point is interior to one face of the cube (of any dimension): where it is
        // fixed at an end along some axes, and along the others the gradient vanishes.
        let mut best = ([0.0; 3], f64::INFINITY);
        for face in 0..27 {
            let kind = [face / 9, face / 3 % 3, face % 3];
            let Some(y) = self.stationary(kind, at, size) else {
                continue;
            };
            let square = square(y);
            if square < best.1 {
                best = (y, square);
            }
        }
        best
    }

    /// The stationary point on one face (along each axis 0 or 1 for an end, 2 for free), if it
    /// is on the cube up to rounding.
    fn stationary(&self, kind: [usize; 3], at: [f64; 3], size: f64) -> Option<[f64; 3]> {
        let g = &self.gram;
        let end = |d: usize| if kind[d] == 0 { 0.0 } else { size };
        let free: [bool; 3] = kind.map(|k| k == 2);
        let mut step: [f64; 3] =
            std::array::from_fn(|d| if free[d] { 0.0 } else { end(d) - at[d] });
        // Rows of the free axes; the others are those of the identity.
        let m: [[f64; 3]; 3] = std::array::from_fn(|r| {
            std::array::from_fn(|c| match (free[r] && free[c], r == c) {
                (true, _) => g[r][c],
                (false, same) => f64::from(same),
            })
        });
        let right: [f64; 3] = std::array::from_fn(|r| {
            if !free[r] {
                return step[r];
            }
            -(0..3)
                .filter(|&c| !free[c])
                .map(|c| g[r][c] * step[c])
                .sum::<f64>()
        });
        let cofactor = |r: usize, c: usize| {
            let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
            m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
        };
        let det: f64 = (0..3).map(|r| m[r][0] * cofactor(r, 0)).sum();
        for c in 0..3 {
            if free[c] {
                step[c] = (0..3).map(|r| cofactor(r, c) * right[r]).sum::<f64>() / det;
            }
        }
        let y: [f64; 3] = std::array::from_fn(|d| if free[d] { at[d] + step[d] } else { end(d) });
        let near = -1e-9 * size..=(1.0 + 1e-9) * size;
        y.iter()
            .all(|c| near.contains(c))
            .then(|| y.map(|c| c.clamp(0.0, size)))
    }
}
