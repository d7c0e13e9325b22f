//! Checks of positions and of the cells' maps.

use rayon::prelude::*;

use super::equispaced;
use super::{GeometryError, MapClass};
use crate::element::CellKind;

/// Largest size of a coordinate: cubes of differences must not overflow.
const LARGEST: f64 = 1e100;

pub(super) fn check_dims(kind: CellKind, space_dim: usize) -> Result<(), GeometryError> {
    if kind == CellKind::Point {
        return Err(GeometryError::UnsupportedKind { kind });
    }
    if space_dim < kind.dim() || space_dim > 3 {
        return Err(GeometryError::SpaceDim { kind, space_dim });
    }
    Ok(())
}

pub(super) fn check_points(space_dim: usize, points: &[[f64; 3]]) -> Result<(), GeometryError> {
    for (point, &position) in points.iter().enumerate() {
        // A NaN fails the comparison.
        if !position.iter().all(|x| x.abs() <= LARGEST) {
            return Err(GeometryError::BadCoordinate { point, position });
        }
        if position[space_dim..].iter().any(|&x| x != 0.0) {
            return Err(GeometryError::OutsideSpace {
                point,
                position,
                space_dim,
            });
        }
    }
    Ok(())
}

/// What the Jacobian of a cell says about it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Good,
    Inverted { volume: f64 },
    Degenerate { measure: f64 },
    Folded { node: usize, jacobian: f64 },
}

/// Judges cells by the Jacobians at their nodes (one place is enough for straight simplices).
pub(super) struct Judge {
    kind: CellKind,
    space_dim: usize,
    degree: usize,
    /// Basis gradients, places × nodes.
    gradients: Vec<[f64; 3]>,
    nodes_per_cell: usize,
}

impl Judge {
    pub fn new(kind: CellKind, space_dim: usize, degree: usize) -> Judge {
        let p = degree as f64;
        let mut places: Vec<[f64; 3]> = equispaced::places(kind, degree)
            .iter()
            .map(|place| place.map(|i| i as f64 / p))
            .collect();
        if degree == 1 && (!kind.is_tensor() || kind == CellKind::Segment) {
            places.truncate(1);
        }
        Judge {
            kind,
            space_dim,
            degree,
            gradients: equispaced::gradients(kind, degree, &places),
            nodes_per_cell: equispaced::node_count(kind, degree),
        }
    }

    /// The first cell that is not good, as an error.
    pub fn check(&self, nodes: &[[f64; 3]], cell_nodes: &[u32]) -> Result<(), GeometryError> {
        let bad = cell_nodes
            .par_chunks_exact(self.nodes_per_cell)
            .with_min_len(1024)
            .enumerate()
            .find_map_first(|(cell, local)| match self.verdict(nodes, local) {
                Verdict::Good => None,
                Verdict::Inverted { volume } => Some(GeometryError::InvertedCell { cell, volume }),
                Verdict::Degenerate { measure } => {
                    Some(GeometryError::DegenerateCell { cell, measure })
                }
                Verdict::Folded { node, jacobian } => Some(GeometryError::FoldedCell {
                    cell,
                    node,
                    jacobian,
                }),
            });
        bad.map_or(Ok(()), Err)
    }

    /// Whether the cell is good once turned round.
    pub fn is_inverted(&self, nodes: &[[f64; 3]], cell_nodes: &[u32]) -> bool {
        matches!(self.verdict(nodes, cell_nodes), Verdict::Inverted { .. })
    }

    fn verdict(&self, nodes: &[[f64; 3]], cell_nodes: &[u32]) -> Verdict {
        let origin = nodes[cell_nodes[0] as usize];
        let (mut size, mut reach) = (0.0f64, 0.0f64);
        for &n in cell_nodes {
            let x = nodes[n as usize];
            for d in 0..3 {
                size = size.max((x[d] - origin[d]).abs());
                reach = reach.max(x[d].abs());
            }
        }
        if size == 0.0 {
            return Verdict::Degenerate { measure: 0.0 };
        }
        // Jacobians are taken of the cell scaled to size 1; a coordinate's rounding error,
        // half a unit in the last place of `reach`, is what cannot be told from zero.
        let degree = self.degree as f64;
        let tolerance = 16.0 * f64::EPSILON * degree * degree * (1.0 + reach / size);
        let unit = size.powi(self.kind.dim() as i32) * self.kind.reference_measure();
        let columns = |place: usize| {
            let gradients = &self.gradients[place * cell_nodes.len()..][..cell_nodes.len()];
            let mut j = [[0.0; 3]; 3];
            for (&n, g) in cell_nodes.iter().zip(gradients) {
                let x = nodes[n as usize];
                for d in 0..3 {
                    let y = (x[d] - origin[d]) / size;
                    for k in 0..3 {
                        j[k][d] += y * g[k];
                    }
                }
            }
            j
        };
        let places = self.gradients.len() / cell_nodes.len();
        let signed = self.space_dim == self.kind.dim();
        // In an embedded straight surface corners are judged against the mean normal.
        let mut mean = [0.0; 3];
        if !signed && self.kind.dim() == 2 && self.degree == 1 {
            for place in 0..places {
                let [a, b, _] = columns(place);
                let n = cross(a, b);
                (0..3).for_each(|d| mean[d] += n[d] / places as f64);
            }
            let length = norm(mean);
            if length <= tolerance {
                return Verdict::Degenerate {
                    measure: length * unit,
                };
            }
            mean = mean.map(|m| m / length);
        }
        let jacobian = |place: usize| {
            let [a, b, c] = columns(place);
            match (self.kind.dim(), signed) {
                (1, true) => a[0],
                (1, false) => norm(a),
                (2, true) => a[0] * b[1] - a[1] * b[0],
                (2, false) if self.degree == 1 => dot(cross(a, b), mean),
                (2, false) => norm(cross(a, b)),
                _ => dot(cross(a, b), c),
            }
        };
        let (mut low, mut high, mut sum) = ((f64::INFINITY, 0), f64::NEG_INFINITY, 0.0);
        for place in 0..places {
            let value = jacobian(place);
            if value < low.0 {
                low = (value, place);
            }
            high = high.max(value);
            sum += value;
        }
        let measure = sum / places as f64 * unit;
        if low.0 > tolerance {
            Verdict::Good
        } else if high < -tolerance {
            Verdict::Inverted { volume: measure }
        } else if low.0 >= -tolerance && high <= tolerance {
            Verdict::Degenerate { measure }
        } else {
            Verdict::Folded {
                node: low.1,
                jacobian: low.0 * unit / self.kind.reference_measure(),
            }
        }
    }
}

/// [`MapClass::Affine`] if every cell's map is affine up to 1e-12 of its size.
pub(super) fn map_class(
    kind: CellKind,
    degree: usize,
    nodes: &[[f64; 3]],
    cell_nodes: &[u32],
) -> MapClass {
    if degree == 1 && (!kind.is_tensor() || kind == CellKind::Segment) {
        return MapClass::Affine;
    }
    let places = equispaced::places(kind, degree);
    let corners = equispaced::vertex_nodes(kind, degree);
    // The neighbours of vertex 0 along the reference axes.
    let axes: &[usize] = match kind {
        CellKind::Segment => &[1],
        CellKind::Triangle => &[1, 2],
        CellKind::Quad => &[1, 3],
        CellKind::Tet => &[1, 2, 3],
        _ => &[1, 3, 4],
    };
    let is_affine = |cell: &[u32]| {
        let x = |local: usize| nodes[cell[local] as usize];
        let origin = x(corners[0]);
        let spokes: Vec<[f64; 3]> = axes.iter().map(|&v| sub(x(corners[v]), origin)).collect();
        let size = spokes.iter().flatten().fold(0.0f64, |m, s| m.max(s.abs()));
        places.iter().enumerate().all(|(n, place)| {
            let y = sub(x(n), origin);
            (0..3).all(|d| {
                let affine: f64 = (0..spokes.len())
                    .map(|a| spokes[a][d] * place[a] as f64 / degree as f64)
                    .sum();
                (y[d] - affine).abs() <= 1e-12 * size
            })
        })
    };
    let affine = cell_nodes
        .par_chunks_exact(places.len())
        .with_min_len(1024)
        .all(is_affine);
    if affine {
        MapClass::Affine
    } else {
        MapClass::General
    }
}

pub(super) fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}
