//! How a cell sees one of its sides: the affine map from side to cell coordinates.

use super::Topology;
use crate::element::CellKind;

/// Affine map from the reference coordinates (s, t) of a side to those of a cell:
/// `origin + s axes[0] + t axes[1]`. A side may cover only a part of the cell's face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideMap {
    /// Where the side's origin is.
    pub origin: [f64; 3],
    /// Images of the side's axes; zero for axes that the side does not have.
    pub axes: [[f64; 3]; 2],
}

impl SideMap {
    /// The side whose corners are these vertices of the reference cell, in the order that
    /// defines the side's coordinates.
    pub fn of_vertices(kind: CellKind, vertices: &[u8]) -> SideMap {
        let corner = |i: u8| kind.vertices()[i as usize];
        let origin = corner(vertices[0]);
        let edge = |to: u8| std::array::from_fn(|d| corner(to)[d] - origin[d]);
        let axes = match vertices {
            [_] => [[0.0; 3]; 2],
            [_, b] => [edge(*b), [0.0; 3]],
            // The last vertex of a triangle or quad is the neighbour of the first along t.
            [_, b, .., last] => [edge(*b), edge(*last)],
            [] => unreachable!("a side has vertices"),
        };
        SideMap { origin, axes }
    }

    /// Cell coordinates of a point of the side.
    pub fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|d| {
            self.origin[d] + point[0] * self.axes[0][d] + point[1] * self.axes[1][d]
        })
    }

    /// Coordinates on the side of a point of the cell's face; of any other point those of the foot of
    /// its perpendicular.
    pub fn coordinates(&self, point: [f64; 3]) -> [f64; 3] {
        let off: [f64; 3] = std::array::from_fn(|d| point[d] - self.origin[d]);
        let dot = |a: &[f64; 3], b: &[f64; 3]| -> f64 { (0..3).map(|d| a[d] * b[d]).sum() };
        // Coordinates by Cramer's rule on the Gram matrix; faces are flat in the cell.
        let [a, b] = &self.axes;
        let (aa, ab, bb) = (dot(a, a), dot(a, b), dot(b, b));
        let (ra, rb) = (dot(a, &off), dot(b, &off));
        let det = aa * bb - ab * ab;
        if det > 0.0 {
            [(ra * bb - rb * ab) / det, (rb * aa - ra * ab) / det, 0.0]
        } else if aa > 0.0 {
            [ra / aa, 0.0, 0.0]
        } else {
            [0.0; 3]
        }
    }

    /// Whether a point of the cell's face lies on the side, up to rounding.
    pub fn holds(&self, point: [f64; 3]) -> bool {
        let [s, t, _] = self.coordinates(point);
        const ROUNDING: f64 = 1e-10;
        (-ROUNDING..=1.0 + ROUNDING).contains(&s) && (-ROUNDING..=1.0 + ROUNDING).contains(&t)
    }

    /// Normal of the side in the cell's reference space, outward, scaled so that for any map
    /// with Jacobian J the side's measure density is |det J| |J⁻ᵀ n|.
    pub fn normal(&self, kind: CellKind) -> [f64; 3] {
        let [a, b] = self.axes;
        let n = match kind.dim() {
            1 => [1.0, 0.0, 0.0],
            2 => [a[1], -a[0], 0.0],
            _ => [
                a[1] * b[2] - a[2] * b[1],
                a[2] * b[0] - a[0] * b[2],
                a[0] * b[1] - a[1] * b[0],
            ],
        };
        let center = kind.center();
        let outward: f64 = (0..3).map(|d| n[d] * (self.origin[d] - center[d])).sum();
        n.map(|c| c * outward.signum())
    }
}

/// Sides of a mesh: the side's coordinates follow the inner cell's vertex order, and the outer
/// cell has the same vertices somewhere in its own.
pub(crate) fn of_topology(topology: &Topology, side: usize) -> [SideMap; 2] {
    let kind = topology.cell_kind();
    let [inner, outer] = topology
        .side_cells(side)
        .map(|c| topology.cell_vertices(c as usize));
    let [local, outer_local] = topology
        .side_locals(side)
        .map(|l| kind.side_vertices(l as usize));
    let inside = SideMap::of_vertices(kind, local);
    let mut seen = [0u8; 4];
    for (seen, &v) in seen.iter_mut().zip(local) {
        let id = inner[v as usize];
        let at = outer_local.iter().find(|&&w| outer[w as usize] == id);
        *seen = at.copied().unwrap_or(outer_local[0]);
    }
    [inside, SideMap::of_vertices(kind, &seen[..local.len()])]
}
