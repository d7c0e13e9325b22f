//! The affine map from lattice coordinates to space.

use super::error::AdaptiveError;
use crate::geometry::check::{cross, dot, norm};

/// Where the lattice of an adaptive grid lies: `x = offset + matrix · (size ∘ r)` for lattice
/// coordinates `r`, in which the finest voxel `(i, j, k)` is the cube from `(i, j, k)` to
/// `(i + 1, j + 1, k + 1)`. Checked when a grid is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatticeMap {
    /// Size of a voxel along each axis, before the matrix.
    pub size: [f64; 3],
    /// Rotation, shear or any other linear map that keeps orientation.
    pub matrix: [[f64; 3]; 3],
    /// Position of the lattice's origin.
    pub offset: [f64; 3],
}

impl LatticeMap {
    /// Voxels of this size, parallel to the axes.
    pub fn new(size: [f64; 3]) -> LatticeMap {
        LatticeMap {
            size,
            matrix: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            offset: [0.0; 3],
        }
    }

    /// Cubes of this edge length.
    pub fn cubes(size: f64) -> LatticeMap {
        LatticeMap::new([size; 3])
    }

    /// The same with this position of the lattice's origin.
    pub fn with_offset(self, offset: [f64; 3]) -> LatticeMap {
        LatticeMap { offset, ..self }
    }

    /// The same with this matrix (rows) applied to the scaled lattice.
    pub fn with_matrix(self, matrix: [[f64; 3]; 3]) -> LatticeMap {
        LatticeMap { matrix, ..self }
    }

    /// The same lattice with voxels `2^-levels` times as large.
    pub(super) fn finer(self, levels: i32) -> LatticeMap {
        let factor = (-f64::from(levels)).exp2();
        LatticeMap {
            size: self.size.map(|s| s * factor),
            ..self
        }
    }

    /// Edge vectors of a voxel: `edges()[a]` belongs to lattice axis `a`.
    pub fn edges(&self) -> [[f64; 3]; 3] {
        std::array::from_fn(|a| std::array::from_fn(|d| self.matrix[d][a] * self.size[a]))
    }

    /// Position of a point given in lattice coordinates.
    pub fn position(&self, r: [f64; 3]) -> [f64; 3] {
        let edges = self.edges();
        std::array::from_fn(|d| {
            self.offset[d] + (edges[0][d] * r[0] + edges[1][d] * r[1] + edges[2][d] * r[2])
        })
    }

    /// Volume of a voxel.
    pub fn voxel_volume(&self) -> f64 {
        let [a, b, c] = self.edges();
        dot(cross(a, b), c)
    }

    /// Lattice coordinates of a position.
    pub fn lattice_point(&self, x: [f64; 3]) -> [f64; 3] {
        let edges = self.edges();
        let y: [f64; 3] = std::array::from_fn(|d| x[d] - self.offset[d]);
        let volume = self.voxel_volume();
        std::array::from_fn(|a| dot(cross(edges[(a + 1) % 3], edges[(a + 2) % 3]), y) / volume)
    }

    /// Checks the map for lattice points between two corners.
    pub(super) fn check(&self, bounds: [[i32; 3]; 2]) -> Result<(), AdaptiveError> {
        let fail = |what, value, accepted| AdaptiveError::Map {
            size: self.size,
            what,
            value,
            accepted,
        };
        let numbers = self.matrix.iter().flatten().chain(&self.offset);
        if let Some(&number) = numbers.into_iter().find(|n| n.is_nan() || n.abs() > 1e100) {
            let accepted = "entries must be finite and at most 1e100 in size";
            return Err(fail("an entry", number, accepted));
        }
        // Scaled columns, so that neither tiny nor huge voxels decide.
        let edges = self.edges();
        let lengths = edges.map(norm);
        let usable = |l: f64, s: f64| s > 0.0 && (1e-100..=1e100).contains(&l);
        if let Some(a) = (0..3).find(|&a| !usable(lengths[a], self.size[a])) {
            let accepted = "sizes must be positive, and lengths from 1e-100 to 1e100";
            return Err(fail("a voxel edge of length", lengths[a], accepted));
        }
        let unit: [[f64; 3]; 3] = std::array::from_fn(|a| edges[a].map(|c| c / lengths[a]));
        let volume = dot(cross(unit[0], unit[1]), unit[2]);
        if volume.is_nan() || volume <= 1e-10 {
            let accepted = "it must keep orientation, with a positive determinant, and not be flat";
            return Err(fail("a relative determinant of", volume, accepted));
        }
        let mut reach = 0.0f64;
        for corner in 0..8 {
            let r = std::array::from_fn(|d| f64::from(bounds[corner >> d & 1][d]));
            reach = self.position(r).iter().fold(reach, |m, c| m.max(c.abs()));
        }
        // Neighbouring vertices must be told apart with some digits to spare.
        let smallest = lengths.iter().fold(f64::INFINITY, |m, &l| m.min(l)) * volume;
        if !(reach <= 1e100 && smallest > 64.0 * f64::EPSILON * reach) {
            let accepted = "positions must be at most 1e100 and voxels large enough to tell apart";
            return Err(fail("positions up to", reach, accepted));
        }
        Ok(())
    }

    /// The power of two by which the voxels of `self` are larger than those of `other`.
    pub(super) fn levels_above(&self, other: &LatticeMap) -> Option<i32> {
        let ratio = self.size[0] / other.size[0];
        let levels = ratio.log2().round();
        let same = levels.abs() <= 20.0
            && self.matrix == other.matrix
            && self.offset == other.offset
            && (0..3).all(|d| self.size[d] == other.size[d] * levels.exp2());
        same.then_some(levels as i32)
    }
}
