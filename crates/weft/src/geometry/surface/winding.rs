//! How often a surface winds round a point.

use rayon::prelude::*;

use super::Surface;
use crate::geometry::locate::vector::{Vec3, cross, dot, norm2, sub};

/// Triangles summed by one task; fixed, so that the sum does not depend on the threads.
const CHUNK: usize = 4096;

impl Surface {
    /// How often the surface winds round `x`: 1 inside and 0 outside of a simple surface with
    /// outward normals, −1 inside of one with inward normals. Sums the solid angles of all
    /// triangles (A. van Oosterom, J. Strackee, "The solid angle of a plane triangle", 1983),
    /// so it takes time proportional to their number.
    pub fn winding_number(&self, x: [f64; 3]) -> f64 {
        let cells: Vec<f64> = self
            .topology
            .cells()
            .par_chunks(3 * CHUNK)
            .map(|cells| {
                let angles = cells.chunks_exact(3).map(|cell| {
                    let [a, b, c]: [Vec3; 3] =
                        std::array::from_fn(|i| sub(self.map.vertex(cell[i]), x));
                    let [la, lb, lc] = [a, b, c].map(|v| norm2(v).sqrt());
                    let height = dot(a, cross(b, c));
                    let base = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
                    2.0 * height.atan2(base)
                });
                angles.sum()
            })
            .collect();
        cells.iter().sum::<f64>() / (4.0 * std::f64::consts::PI)
    }

    /// Whether the normals of the surface point away from the region that `x` is in.
    pub(super) fn is_inside(&self, x: [f64; 3]) -> bool {
        let turns = self.winding_number(x);
        if self.volume >= 0.0 {
            turns > 0.5
        } else {
            turns > -0.5
        }
    }
}
