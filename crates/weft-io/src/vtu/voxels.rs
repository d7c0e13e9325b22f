//! Voxels, given by their lattice coordinates, as hexes.

use rayon::prelude::*;
use weft::element::CellKind;

use super::{VtuError, VtuGrid};

/// Cubes of a lattice as cells that share their corners.
///
/// ```no_run
/// # use weft_io::vtu::{Encoding, Voxels, VtuArray};
/// let voxels = Voxels::new(&[[0, 0, 0], [1, 0, 0]], 0.1, [0.0; 3])?;
/// let mut grid = voxels.grid();
/// grid.cell_data.push(VtuArray::new("fill", 1, vec![0.5, 1.0]));
/// let height = voxels.corners().iter().map(|c| 0.1 * c[2] as f64).collect();
/// grid.point_data.push(VtuArray::new("height", 1, height));
/// grid.write("grid.vtu", Encoding::Compressed)?;
/// # Ok::<(), weft_io::vtu::VtuError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Voxels {
    corners: Vec<[i64; 3]>,
    points: Vec<[f64; 3]>,
    cell_nodes: Vec<u32>,
}

/// Corner `i` of a voxel in the order of a hex's nodes: x changes slowest.
fn corner(cell: [i32; 3], i: usize) -> [i64; 3] {
    let bits = [i >> 2 & 1, i >> 1 & 1, i & 1];
    [0, 1, 2].map(|d| i64::from(cell[d]) + bits[d] as i64)
}

impl Voxels {
    /// The voxels `cells`, in their order: voxel `c` is the cube from `origin + h c` to
    /// `origin + h (c + 1)`, both in length units.
    ///
    /// # Errors
    /// [`VtuError::Lattice`] for an edge that isn't positive and finite, an origin that isn't
    /// finite, or more corners than can be numbered.
    pub fn new(cells: &[[i32; 3]], h: f64, origin: [f64; 3]) -> Result<Voxels, VtuError> {
        if !(h.is_finite() && h > 0.0 && origin.iter().all(|x| x.is_finite())) {
            return Err(VtuError::Lattice { h, origin });
        }
        let mut corners: Vec<[i64; 3]> = cells
            .par_iter()
            .flat_map_iter(|&cell| (0..8).map(move |i| corner(cell, i)))
            .collect();
        corners.par_sort_unstable();
        corners.dedup();
        if corners.len() > u32::MAX as usize {
            return Err(VtuError::TooManyPoints(corners.len()));
        }
        let node = |c: [i64; 3]| corners.partition_point(|other| *other < c) as u32;
        let cell_nodes = cells
            .par_iter()
            .flat_map_iter(|&cell| (0..8).map(move |i| corner(cell, i)).map(&node))
            .collect();
        let place = |c: &[i64; 3]| [0, 1, 2].map(|d| origin[d] + h * c[d] as f64);
        Ok(Voxels {
            points: corners.iter().map(place).collect(),
            corners,
            cell_nodes,
        })
    }

    /// Lattice coordinates of the points, to which point data belongs: sorted, x first.
    pub fn corners(&self) -> &[[i64; 3]] {
        &self.corners
    }

    /// The cells, with no data yet.
    pub fn grid(&self) -> VtuGrid<'_> {
        VtuGrid {
            points: &self.points,
            kind: CellKind::Hex,
            degree: 1,
            cell_nodes: &self.cell_nodes,
            point_data: Vec::new(),
            cell_data: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALL, floats, ints, read_array};
    use super::*;
    use crate::vtu::VtuArray;
    use weft::element::{Lagrange, NodeFamily};

    #[test]
    fn corners_are_in_the_order_of_a_hex() {
        let hex = Lagrange::new(CellKind::Hex, 1, NodeFamily::Equispaced).unwrap();
        for (i, node) in hex.nodes().iter().enumerate() {
            assert_eq!(corner([0; 3], i).map(|c| c as f64), *node);
        }
    }

    #[test]
    fn written_hexes_are_the_voxels_and_share_their_corners() {
        // A block, a voxel apart, extremes of the coordinates.
        let mut cells: Vec<[i32; 3]> = (0..2 * 3 * 4)
            .map(|i| [i / 12 - 1, i / 4 % 3 - 2, i % 4])
            .collect();
        cells.extend([[9, 9, 9], [i32::MAX; 3], [i32::MIN; 3]]);
        let (h, origin) = (0.25, [1.0, -2.0, 0.5]);
        let voxels = Voxels::new(&cells, h, origin).unwrap();
        assert_eq!(voxels.corners().len(), 3 * 4 * 5 + 3 * 8);
        assert!(voxels.corners().is_sorted());
        let mut grid = voxels.grid();
        let at = |c: &[i64; 3]| c.map(|x| x as f64);
        let lattice = voxels.corners().iter().flat_map(at).collect();
        grid.point_data.push(VtuArray::new("corner", 3, lattice));
        let number = (0..cells.len()).map(|i| i as f64).collect();
        grid.cell_data.push(VtuArray::new("number", 1, number));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("voxels.vtu");
        for encoding in ALL {
            grid.write(&path, encoding).unwrap();
            let file = std::fs::read(&path).unwrap();
            let points = floats(&read_array(&file, "Points"));
            let corners = floats(&read_array(&file, "corner"));
            for (point, c) in points.chunks(3).zip(corners.chunks(3)) {
                (0..3).for_each(|d| assert_eq!(point[d], origin[d] + h * c[d]));
            }
            assert!(read_array(&file, "types").iter().all(|&t| t == 12));
            let nodes = ints(&read_array(&file, "connectivity"));
            for (cell, nodes) in cells.iter().zip(nodes.chunks(8)) {
                // VTK's hexahedron: the bottom round, then the top round.
                for (i, &node) in nodes.iter().enumerate() {
                    let round = [[0, 0], [1, 0], [1, 1], [0, 1]][i % 4];
                    let offset = [round[0], round[1], i as i64 / 4];
                    for d in 0..3 {
                        let expected = i64::from(cell[d]) + offset[d];
                        assert_eq!(corners[3 * node as usize + d], expected as f64);
                    }
                }
            }
        }
    }

    #[test]
    fn no_voxels_are_fine_and_faulty_lattices_refused() {
        let none = Voxels::new(&[], 1.0, [0.0; 3]).unwrap();
        assert_eq!(none.grid().points.len(), 0);
        for (h, x) in [
            (0.0, 0.0),
            (-1.0, 0.0),
            (f64::NAN, 0.0),
            (1.0, f64::INFINITY),
        ] {
            let made = Voxels::new(&[[0; 3]], h, [0.0, x, 0.0]);
            assert!(made.unwrap_err().to_string().contains("edge"));
        }
    }
}
