//! The map of one cell at one point: position, Jacobian, gradients; and plain point location.

use super::Geometry;
use crate::element::{CellKind, Lagrange, NodeFamily};

/// The shape functions of a geometry's map.
///
/// # Panics
/// Never for geometries made by this library: their map degrees are degrees that elements
/// have, which their constructors check.
pub fn map_element(kind: CellKind, degree: usize) -> Lagrange {
    match Lagrange::new(kind, degree, NodeFamily::Equispaced) {
        Ok(element) => element,
        Err(error) => unreachable!("the map of a geometry has an element: {error}"),
    }
}

/// Position and Jacobian of a cell's map at one point.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Position; unused coordinates are 0.
    pub position: [f64; 3],
    /// `jacobian[d][k] = ∂x_d/∂ξ_k`.
    pub jacobian: [[f64; 3]; 3],
    /// `inverse[k][d] = ∂ξ_k/∂x_d`, the left pseudo-inverse for embedded cells.
    pub inverse: [[f64; 3]; 3],
    /// Measure density √det(JᵀJ) with respect to the reference cell.
    pub measure: f64,
}

impl Frame {
    /// From derivatives along reference axes to derivatives along space axes.
    pub fn push_gradient(&self, reference: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|d| (0..3).map(|k| self.inverse[k][d] * reference[k]).sum())
    }
}

/// The frame of cell `cell` at reference coordinates `xi`.
///
/// # Panics
/// If there is no such cell.
pub fn frame_at(geometry: &dyn Geometry, cell: usize, xi: [f64; 3]) -> Frame {
    let map = geometry.map();
    let basis = map_element(geometry.cell_kind(), map.degree);
    frame(&map, &basis, cell, xi)
}

fn frame(map: &super::GeometryMap, basis: &Lagrange, cell: usize, xi: [f64; 3]) -> Frame {
    let n = basis.node_count();
    let td = basis.kind().dim();
    let mut values = vec![0.0; n];
    let mut gradients = vec![[0.0; 3]; n];
    basis.evaluate(xi, &mut values, &mut gradients);
    let mut position = [0.0; 3];
    let mut jacobian = [[0.0; 3]; 3];
    for (i, &node) in map.cell_nodes[cell * n..(cell + 1) * n].iter().enumerate() {
        let x = map.nodes[node as usize];
        for d in 0..3 {
            position[d] += values[i] * x[d];
            for k in 0..td {
                jacobian[d][k] += gradients[i][k] * x[d];
            }
        }
    }
    let (inverse, measure) = pseudo_inverse(&jacobian, td);
    Frame {
        position,
        jacobian,
        inverse,
        measure,
    }
}

/// `(JᵀJ)⁻¹Jᵀ` and `√det(JᵀJ)` for the first `td` columns.
fn pseudo_inverse(j: &[[f64; 3]; 3], td: usize) -> ([[f64; 3]; 3], f64) {
    // Unused diagonal entries are 1, so that the 3 × 3 formulas serve every dimension.
    let gram: [[f64; 3]; 3] = std::array::from_fn(|a| {
        std::array::from_fn(|b| {
            if a < td && b < td {
                (0..3).map(|d| j[d][a] * j[d][b]).sum()
            } else if a == b {
                1.0
            } else {
                0.0
            }
        })
    });
    let cofactor = |a: usize, b: usize| {
        let (a1, a2, b1, b2) = ((a + 1) % 3, (a + 2) % 3, (b + 1) % 3, (b + 2) % 3);
        gram[a1][b1] * gram[a2][b2] - gram[a1][b2] * gram[a2][b1]
    };
    let det: f64 = (0..3).map(|b| gram[0][b] * cofactor(0, b)).sum();
    let inverse = std::array::from_fn(|k| {
        std::array::from_fn(|d| {
            if k < td {
                (0..td).map(|a| cofactor(a, k) / det * j[d][a]).sum()
            } else {
                0.0
            }
        })
    });
    (inverse, det.max(0.0).sqrt())
}

/// Most Newton steps of an inverse map.
const MAX_STEPS: usize = 48;

/// The first cell that contains `x`, with its reference coordinates; `tolerance` is relative
/// to the cell. Looks at every cell whose bounds hold the point.
pub fn locate(geometry: &dyn Geometry, x: [f64; 3], tolerance: f64) -> Option<(usize, [f64; 3])> {
    let map = geometry.map();
    let kind = geometry.cell_kind();
    let basis = map_element(kind, map.degree);
    let n = basis.node_count();
    let cells = map.cell_nodes.len() / n;
    (0..cells).find_map(|cell| {
        let mut low = [f64::INFINITY; 3];
        let mut high = [f64::NEG_INFINITY; 3];
        for &node in &map.cell_nodes[cell * n..(cell + 1) * n] {
            for d in 0..3 {
                low[d] = low[d].min(map.nodes[node as usize][d]);
                high[d] = high[d].max(map.nodes[node as usize][d]);
            }
        }
        let size = (0..3).map(|d| high[d] - low[d]).fold(0.0, f64::max);
        // Curved cells bulge out of the box of their nodes.
        let margin = size * if map.degree > 1 { 0.25 } else { tolerance };
        if (0..3).any(|d| x[d] < low[d] - margin || x[d] > high[d] + margin) {
            return None;
        }
        let xi = invert(&map, &basis, cell, x)?;
        let inside = inside(kind, xi, tolerance);
        let off = frame(&map, &basis, cell, xi).position;
        let distance = (0..3).map(|d| (off[d] - x[d]).powi(2)).sum::<f64>().sqrt();
        (inside && distance <= tolerance * size.max(f64::MIN_POSITIVE)).then_some((cell, xi))
    })
}

fn invert(
    map: &super::GeometryMap,
    basis: &Lagrange,
    cell: usize,
    x: [f64; 3],
) -> Option<[f64; 3]> {
    let mut xi = basis.kind().center();
    for _ in 0..MAX_STEPS {
        let f = frame(map, basis, cell, xi);
        let residual: [f64; 3] = std::array::from_fn(|d| x[d] - f.position[d]);
        let mut change = 0.0f64;
        for k in 0..basis.kind().dim() {
            let step: f64 = (0..3).map(|d| f.inverse[k][d] * residual[d]).sum();
            xi[k] += step;
            change = change.max(step.abs());
        }
        if !change.is_finite() {
            return None;
        }
        if change < 1e-14 {
            return Some(xi);
        }
    }
    Some(xi)
}

fn inside(kind: CellKind, xi: [f64; 3], tolerance: f64) -> bool {
    let td = kind.dim();
    let low = xi[..td].iter().all(|&c| c >= -tolerance);
    if kind.is_tensor() {
        low && xi[..td].iter().all(|&c| c <= 1.0 + tolerance)
    } else {
        low && xi[..td].iter().sum::<f64>() <= 1.0 + tolerance
    }
}
