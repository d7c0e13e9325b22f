//! The map of one cell at one point: position, Jacobian, gradients.

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
