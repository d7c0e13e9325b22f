//! Where a lattice lies in space.

use crate::geometry::GeometryError;

/// An affine map from lattice coordinates to space, for [`VoxelGrid`](super::VoxelGrid) and, with
/// the finest voxels as cells, for [`AdaptiveVoxelGrid`](crate::geometry::AdaptiveVoxelGrid).
///
/// $x = A\,(u + o) + t$ with lattice coordinates $u$ in which cell `(i, j, k)` spans
/// $[i, i+1) \times [j, j+1) \times [k, k+1)$. The origin $o$ is 0, or −½ along each axis for
/// [`centred`](Self::centred) maps, whose cells have their centres at the images of integers
/// (the convention of VDB grids). Columns of $A$ are the edges of a cell: any lengths, rotation
/// and shear are fine, a mirror image is not, as its cells would be inverted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoxelMap {
    matrix: [[f64; 3]; 3],
    offset: [f64; 3],
    inverse: [[f64; 3]; 3],
    origin: f64,
}

const UNIT: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn refuse<T>(reason: impl Into<String>) -> Result<T, GeometryError> {
    Err(GeometryError::VoxelMap {
        reason: reason.into(),
    })
}

impl VoxelMap {
    /// Unit cubes with a corner at the origin.
    pub(super) const IDENTITY: VoxelMap = VoxelMap {
        matrix: UNIT,
        offset: [0.0; 3],
        inverse: UNIT,
        origin: 0.0,
    };

    /// Cubes with edges of length `size`, a corner of cell `(0, 0, 0)` at the origin.
    ///
    /// # Errors
    /// [`VoxelMap`](GeometryError::VoxelMap) unless the size is positive, from 1e-100 to 1e100.
    pub fn uniform(size: f64) -> Result<VoxelMap, GeometryError> {
        VoxelMap::scaled([size; 3])
    }

    /// Boxes with edges of these lengths along the axes.
    ///
    /// # Errors
    /// As [`uniform`](Self::uniform).
    pub fn scaled(sizes: [f64; 3]) -> Result<VoxelMap, GeometryError> {
        let [x, y, z] = sizes;
        VoxelMap::affine([[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]], [0.0; 3])
    }

    /// Any map: `x = matrix·u + offset`, the matrix given by rows.
    ///
    /// # Errors
    /// [`VoxelMap`](GeometryError::VoxelMap) unless all numbers are finite, the columns of the
    /// matrix have lengths from 1e-100 to 1e100 and are, up to rounding, not in one plane, and
    /// the determinant is positive.
    pub fn affine(matrix: [[f64; 3]; 3], offset: [f64; 3]) -> Result<VoxelMap, GeometryError> {
        let length = lengths(&matrix);
        check_lengths(length)?;
        check_offset(offset)?;
        // Columns of length 1, so that the determinant measures flatness alone.
        let unit: [[f64; 3]; 3] =
            std::array::from_fn(|r| std::array::from_fn(|c| matrix[r][c] / length[c]));
        let cofactor = |r: usize, c: usize| {
            let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
            unit[r1][c1] * unit[r2][c2] - unit[r1][c2] * unit[r2][c1]
        };
        let det: f64 = (0..3).map(|r| unit[r][0] * cofactor(r, 0)).sum();
        if det.abs() < 1e-9 {
            return refuse(format!(
                "the cells are flat: their volume is {det:e} of that of a box with the same edges; \
                 at least 1e-9 is needed"
            ));
        }
        if det < 0.0 {
            return refuse(
                "the determinant is negative, so the cells would be mirror images; \
                 swap two axes or negate one",
            );
        }
        let inverse =
            std::array::from_fn(|c| std::array::from_fn(|r| cofactor(r, c) / det / length[c]));
        Ok(VoxelMap {
            matrix,
            offset,
            inverse,
            origin: 0.0,
        })
    }

    /// The same map with another offset: the image of `u = -o`.
    ///
    /// # Errors
    /// [`VoxelMap`](GeometryError::VoxelMap) unless it is finite and at most 1e100 in size.
    pub fn with_offset(self, offset: [f64; 3]) -> Result<VoxelMap, GeometryError> {
        check_offset(offset)?;
        Ok(VoxelMap { offset, ..self })
    }

    /// The same map moved by half a cell, so that cell `(i, j, k)` has its centre (instead of
    /// its lowest corner) at `matrix·(i, j, k) + offset`.
    pub fn centred(self) -> VoxelMap {
        VoxelMap {
            origin: -0.5,
            ..self
        }
    }

    /// Whether cells have their centres at the images of integers.
    pub fn is_centred(&self) -> bool {
        self.origin == -0.5
    }

    /// The matrix by rows; its columns are the edges of a cell.
    pub fn matrix(&self) -> [[f64; 3]; 3] {
        self.matrix
    }

    /// The inverse of the matrix, by rows.
    pub fn inverse(&self) -> [[f64; 3]; 3] {
        self.inverse
    }

    /// The offset.
    pub fn offset(&self) -> [f64; 3] {
        self.offset
    }

    /// Volume of a cell.
    pub fn volume(&self) -> f64 {
        let m = &self.matrix;
        let minor = |c: usize| {
            let (a, b) = ((c + 1) % 3, (c + 2) % 3);
            m[1][a] * m[2][b] - m[1][b] * m[2][a]
        };
        (0..3).map(|c| m[0][c] * minor(c)).sum()
    }

    /// Place in space of lattice coordinates, in which a cell spans `[i, i+1)`.
    #[inline]
    pub fn position(&self, lattice: [f64; 3]) -> [f64; 3] {
        let u = lattice.map(|c| c + self.origin);
        let v = self.vector(u);
        std::array::from_fn(|d| v[d] + self.offset[d])
    }

    /// Lattice coordinates of a place in space: cell `floor` of them holds it.
    #[inline]
    pub fn lattice(&self, position: [f64; 3]) -> [f64; 3] {
        let d: [f64; 3] = std::array::from_fn(|i| position[i] - self.offset[i]);
        self.inverse
            .map(|row| row[0] * d[0] + row[1] * d[1] + row[2] * d[2] - self.origin)
    }

    /// Image of a difference of lattice coordinates.
    #[inline]
    pub(in crate::geometry) fn vector(&self, u: [f64; 3]) -> [f64; 3] {
        self.matrix
            .map(|row| row[0] * u[0] + row[1] * u[1] + row[2] * u[2])
    }

    /// A bound on the rounding error of [`lattice`](Self::lattice), for each coordinate.
    pub(in crate::geometry) fn rounding(&self, position: [f64; 3]) -> [f64; 3] {
        self.inverse.map(|row| {
            let size: f64 = (0..3)
                .map(|d| row[d].abs() * (position[d].abs() + self.offset[d].abs()))
                .sum();
            16.0 * f64::EPSILON * (1.0 + self.origin.abs() + size)
        })
    }

    /// The map with cells `2^-levels` times as long: cell corners `r` of this one are its corners
    /// `2^levels r`, without rounding.
    pub(in crate::geometry) fn finer(&self, levels: i32) -> VoxelMap {
        let factor = f64::from(levels).exp2();
        VoxelMap {
            matrix: self.matrix.map(|row| row.map(|v| v / factor)),
            offset: self.offset,
            inverse: self.inverse.map(|row| row.map(|v| v * factor)),
            origin: self.origin * factor,
        }
    }

    /// Checks the lengths of edges again, after [`finer`](Self::finer).
    pub(in crate::geometry) fn checked(self) -> Result<VoxelMap, GeometryError> {
        check_lengths(lengths(&self.matrix))?;
        Ok(self)
    }

    /// `k` if this is a map `2^k` times as coarse as the other one, with the same corners.
    pub(in crate::geometry) fn levels_above(&self, other: &VoxelMap) -> Option<i32> {
        const MOST: f64 = 20.0;
        let ratio = lengths(&self.matrix)[0] / lengths(&other.matrix)[0];
        let levels = ratio.log2().round();
        if levels.is_nan() || levels.abs() > MOST {
            return None;
        }
        let as_coarse = other.finer(-(levels as i32));
        let same = self.matrix == as_coarse.matrix
            && self.offset == as_coarse.offset
            && self.origin == as_coarse.origin;
        same.then_some(levels as i32)
    }

    /// Least distance between two opposite faces of a cell.
    pub(in crate::geometry) fn thickness(&self) -> f64 {
        let squared = |row: &[f64; 3]| row.iter().map(|v| v * v).sum::<f64>();
        let largest = self.inverse.iter().map(squared).fold(0.0, f64::max);
        1.0 / largest.sqrt()
    }
}

/// Lengths of the edges of a cell: the columns of the matrix.
fn lengths(matrix: &[[f64; 3]; 3]) -> [f64; 3] {
    std::array::from_fn(|c| {
        let [x, y, z] = [matrix[0][c], matrix[1][c], matrix[2][c]];
        // Scaled, so that squares neither overflow nor vanish.
        let largest = x.abs().max(y.abs()).max(z.abs());
        if largest == 0.0 {
            return x + y + z; // 0, or NaN if one is
        }
        let part = |v: f64| (v / largest) * (v / largest);
        largest * (part(x) + part(y) + part(z)).sqrt()
    })
}

fn check_lengths(lengths: [f64; 3]) -> Result<(), GeometryError> {
    for (axis, length) in lengths.into_iter().enumerate() {
        if !(1e-100..=1e100).contains(&length) {
            return refuse(format!(
                "the cells' edge along lattice axis {axis} has length {length}; \
                 accepted are 1e-100 to 1e100"
            ));
        }
    }
    Ok(())
}

fn check_offset(offset: [f64; 3]) -> Result<(), GeometryError> {
    match offset.iter().find(|v| v.is_nan() || v.abs() > 1e100) {
        Some(value) => refuse(format!(
            "the offset has a coordinate {value}; it must be finite and at most 1e100 in size"
        )),
        None => Ok(()),
    }
}
