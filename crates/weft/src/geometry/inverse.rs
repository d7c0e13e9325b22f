//! The map of one cell backwards.

use super::Geometry;
use super::frame::{frame, map_element};

/// Steps of Newton's method, at most: it ends in one on affine cells and in a few on others.
const MAX_STEPS: usize = 64;

/// Reference coordinates of `x` in the map of cell `cell`, inside the cell or not; on cells with
/// fewer axes than space those of the point of the (continued) cell where the distance to `x` is
/// stationary. By Newton's method from the centre of the cell (Gauss-Newton on curves and surfaces).
///
/// `None` if there is no such cell, and where the method finds no answer: `x` is not finite, or so
/// far outside of a bent cell that its map does not reach it.
///
/// ```
/// use weft::geometry::{Grid2, cell_coordinates};
///
/// let grid = Grid2::unit([2, 2])?;
/// assert_eq!(cell_coordinates(&grid, 0, [0.75, 0.25, 0.0]), Some([1.5, 0.5, 0.0]));
/// # Ok::<(), weft::geometry::GeometryError>(())
/// ```
pub fn cell_coordinates(geometry: &dyn Geometry, cell: usize, x: [f64; 3]) -> Option<[f64; 3]> {
    let map = geometry.map();
    let kind = geometry.cell_kind();
    let basis = map_element(kind, map.degree);
    if cell >= map.cell_nodes.len() / basis.node_count() {
        return None;
    }
    let mut xi = kind.center();
    for _ in 0..MAX_STEPS {
        let at = frame(&map, &basis, cell, xi);
        let off: [f64; 3] = std::array::from_fn(|d| x[d] - at.position[d]);
        let step: [f64; 3] =
            std::array::from_fn(|k| (0..3).map(|d| at.inverse[k][d] * off[d]).sum());
        let size = |v: [f64; 3]| v.into_iter().fold(0.0, |m: f64, c| m.max(c.abs()));
        xi = std::array::from_fn(|k| xi[k] + step[k]);
        if !xi.iter().all(|c| c.is_finite()) {
            return None;
        }
        // Rounding of positions, seen from the reference cell.
        let noise = at.inverse.map(size).into_iter().sum::<f64>() * size(x);
        if size(step) <= 16.0 * f64::EPSILON * (1.0 + size(xi) + noise) {
            return Some(xi);
        }
    }
    None
}
