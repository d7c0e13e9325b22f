//! The map of one cell at one point: position, Jacobian, gradients.

use super::Geometry;
use crate::element::{CellKind, Lagrange, NodeFamily, Piola};

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

    /// det J of a cell of the dimension of space; its sign is that of the cell's orientation.
    fn determinant(&self, dim: usize) -> f64 {
        let j = &self.jacobian;
        match dim {
            1 => j[0][0],
            2 => j[0][0] * j[1][1] - j[0][1] * j[1][0],
            _ => (0..3)
                .map(|k| {
                    let (a, b) = ((k + 1) % 3, (k + 2) % 3);
                    j[0][k] * (j[1][a] * j[2][b] - j[1][b] * j[2][a])
                })
                .sum(),
        }
    }

    /// The matrix that takes vectors of the reference cell to the cell, `[c][a]`, for cells of the
    /// dimension of space.
    pub(crate) fn push(&self, piola: Piola, dim: usize) -> [[f64; 3]; 3] {
        let scale = match piola {
            Piola::Covariant => 1.0,
            Piola::Contravariant => 1.0 / self.determinant(dim),
        };
        std::array::from_fn(|c| {
            std::array::from_fn(|a| match piola {
                Piola::Covariant => self.inverse[a][c],
                Piola::Contravariant => self.jacobian[c][a] * scale,
            })
        })
    }

    /// The matrix that takes vectors of the cell to the reference cell, the inverse of
    /// [`push`](Self::push), `[a][c]`.
    pub(crate) fn pull(&self, piola: Piola, dim: usize) -> [[f64; 3]; 3] {
        let det = self.determinant(dim);
        std::array::from_fn(|a| {
            std::array::from_fn(|c| match piola {
                Piola::Covariant => self.jacobian[c][a],
                Piola::Contravariant => self.inverse[a][c] * det,
            })
        })
    }

    /// Derivatives along the reference axes of [`push`](Self::push), `[b][c][a]`, from the second
    /// derivatives of the map.
    pub(crate) fn push_derivatives(
        &self,
        piola: Piola,
        dim: usize,
        second: &Second,
    ) -> [[[f64; 3]; 3]; 3] {
        let push = self.push(piola, dim);
        std::array::from_fn(|b| {
            let bend = |d: usize, a: usize| second[d][a][b];
            // J⁻¹ ∂J, whose trace is the relative change of det J.
            let relative = |k: usize, a: usize| -> f64 {
                (0..dim).map(|d| self.inverse[k][d] * bend(d, a)).sum()
            };
            let growth: f64 = (0..dim).map(|k| relative(k, k)).sum();
            std::array::from_fn(|c| {
                std::array::from_fn(|a| match piola {
                    Piola::Covariant => -(0..dim)
                        .map(|k| relative(a, k) * self.inverse[k][c])
                        .sum::<f64>(),
                    Piola::Contravariant => {
                        bend(c, a) / self.determinant(dim) - push[c][a] * growth
                    }
                })
            })
        })
    }
}

/// What takes a vector function from the reference cell to a point of a cell, with its gradient.
pub(crate) struct VectorPush {
    push: [[f64; 3]; 3],
    bend: [[[f64; 3]; 3]; 3],
    inverse: [[f64; 3]; 3],
    dim: usize,
}

impl VectorPush {
    /// By the map of `cell` at `xi`, whose frame is given.
    pub fn new(
        geometry: &dyn Geometry,
        cell: usize,
        xi: [f64; 3],
        frame: &Frame,
        piola: Piola,
    ) -> VectorPush {
        let dim = geometry.space_dim();
        VectorPush {
            push: frame.push(piola, dim),
            bend: frame.push_derivatives(piola, dim, &second_at(geometry, cell, xi)),
            inverse: frame.inverse,
            dim,
        }
    }

    /// Value and gradient, `[component][axis]`, from a value and its reference derivatives.
    pub fn apply(&self, value: &[f64; 3], derivative: &[[f64; 3]; 3]) -> ([f64; 3], [[f64; 3]; 3]) {
        let (push, bend, dim) = (&self.push, &self.bend, self.dim);
        let (mut pushed, mut gradient) = ([0.0; 3], [[0.0; 3]; 3]);
        for c in 0..dim {
            pushed[c] = (0..dim).map(|a| push[c][a] * value[a]).sum();
            for b in 0..dim {
                let along: f64 = (0..dim)
                    .map(|a| push[c][a] * derivative[a][b] + bend[b][c][a] * value[a])
                    .sum();
                for d in 0..dim {
                    gradient[c][d] += along * self.inverse[b][d];
                }
            }
        }
        (pushed, gradient)
    }
}

/// Second derivatives of a map, `[d][a][b]` = ∂²x_d / ∂ξ_a ∂ξ_b.
pub(crate) type Second = [[[f64; 3]; 3]; 3];

/// Second derivatives of the map of cell `cell` at reference coordinates `xi`.
fn second_at(geometry: &dyn Geometry, cell: usize, xi: [f64; 3]) -> Second {
    let map = geometry.map();
    let basis = map_element(geometry.cell_kind(), map.degree);
    let n = basis.node_count();
    let nodes = &map.cell_nodes[cell * n..(cell + 1) * n];
    let mut hessians = vec![[[0.0; 3]; 3]; n];
    basis.hessians(xi, &mut hessians);
    let mut out = [[[0.0; 3]; 3]; 3];
    for (hessian, &node) in hessians.iter().zip(nodes) {
        let x = map.nodes[node as usize];
        for d in 0..3 {
            for a in 0..3 {
                for b in 0..3 {
                    out[d][a][b] += x[d] * hessian[a][b];
                }
            }
        }
    }
    out
}

/// The frames of all cells at the same reference coordinates, cell by cell.
pub(crate) fn frames_at(
    geometry: &dyn Geometry,
    points: &[[f64; 3]],
) -> impl Fn(usize, usize) -> Frame {
    let map = geometry.map();
    let basis = map_element(geometry.cell_kind(), map.degree);
    let table = basis.tabulate(points);
    move |cell, point| {
        frame_from(
            &map,
            &basis,
            cell,
            table.values_at(point),
            table.gradients_at(point),
        )
    }
}

/// The frame of any cell anywhere, for many of them.
pub(crate) fn frames_anywhere(geometry: &dyn Geometry) -> impl Fn(usize, [f64; 3]) -> Frame + Sync {
    let map = geometry.map();
    let basis = map_element(geometry.cell_kind(), map.degree);
    move |cell, xi| frame(&map, &basis, cell, xi)
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

pub(super) fn frame(
    map: &super::GeometryMap,
    basis: &Lagrange,
    cell: usize,
    xi: [f64; 3],
) -> Frame {
    let n = basis.node_count();
    let mut values = vec![0.0; n];
    let mut gradients = vec![[0.0; 3]; n];
    basis.evaluate(xi, &mut values, &mut gradients);
    frame_from(map, basis, cell, &values, &gradients)
}

/// The frame from the values and gradients of the map's functions.
pub(crate) fn frame_from(
    map: &super::GeometryMap,
    basis: &Lagrange,
    cell: usize,
    values: &[f64],
    gradients: &[[f64; 3]],
) -> Frame {
    let n = basis.node_count();
    let td = basis.kind().dim();
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
