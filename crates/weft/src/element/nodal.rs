//! Elements that are neither Lagrange nor splines: their nodes, entities and functions.
//!
//! Each function here makes the [`Parts`] of one element on one kind of cell. Nodes on a side are those
//! of the side's own element, so that neighbours agree.

use super::basis::Hessian;
use super::entities::{Entities, Entity};
use super::lagrange::{Lagrange, NodeFamily};
use super::legendre::{LegendreBasis, fekete, superlinear, total};
use super::line::LineRule;
use super::modal::{hessian_of, times};
use super::sides::map_to_cell;
use super::{CellKind, ElementError};

/// Nodes, where they sit, and which lie on each side.
pub(super) struct Parts<B> {
    pub nodes: Vec<[f64; 3]>,
    pub entities: Entities,
    pub basis: B,
}

fn middle(kind: CellKind, vertices: &[u8]) -> [f64; 3] {
    std::array::from_fn(|d| {
        let sum: f64 = vertices
            .iter()
            .map(|&v| kind.vertices()[v as usize][d])
            .sum();
        sum / vertices.len() as f64
    })
}

/// Arnold and Awanou's S_r on a quad or hex, r = 2 to 4: values at the vertices, at Lobatto points
/// of the edges and, for r = 4, at the middles of faces determine its functions.
pub(super) fn serendipity(
    kind: CellKind,
    degree: usize,
) -> Result<Parts<LegendreBasis>, ElementError> {
    let line = LineRule::gauss_lobatto(degree + 1)?;
    let mut nodes = Vec::new();
    let mut places = Vec::new();
    for dim in 0..=2 {
        for index in 0..kind.entity_count(dim) {
            let vertices = kind.entity_vertices(dim, index);
            let entity = Entity {
                dim: dim as u8,
                index: index as u8,
            };
            let at = |v: u8| kind.vertices()[v as usize];
            match dim {
                0 => {
                    nodes.push(at(vertices[0]));
                    places.push((entity, [0; 3]));
                }
                1 => {
                    let (a, b) = (at(vertices[0]), at(vertices[1]));
                    for k in 1..degree {
                        let t = line.points()[k];
                        nodes.push(std::array::from_fn(|d| a[d] + t * (b[d] - a[d])));
                        places.push((entity, [k as u8, 0, 0]));
                    }
                }
                _ if degree >= 4 => {
                    nodes.push(middle(kind, vertices));
                    places.push((entity, [1, 1, 0]));
                }
                _ => {}
            }
        }
    }
    let side_nodes = match kind.side_kind() {
        CellKind::Segment => line.points().iter().map(|&t| [t, 0.0, 0.0]).collect(),
        side => serendipity(side, degree)?.nodes,
    };
    let closures = (0..kind.side_count())
        .map(|side| {
            let on_side = map_to_cell(kind, kind.side_vertices(side), &side_nodes);
            on_side.iter().map(|&x| nearest(&nodes, x)).collect()
        })
        .collect();
    // A face has one node in its interior, the middle of a lattice of degree 2.
    let entities = Entities::of_nodes(kind, [0, degree, 2, 0], &places, closures);
    let basis = LegendreBasis::new(superlinear(kind.dim(), degree), &nodes);
    Ok(Parts {
        nodes,
        entities,
        basis,
    })
}

fn nearest(nodes: &[[f64; 3]], x: [f64; 3]) -> u16 {
    let distance = |n: &[f64; 3]| (0..3).map(|d| (n[d] - x[d]).powi(2)).sum::<f64>();
    let of = |i: &usize| distance(&nodes[*i]);
    let closest = (0..nodes.len()).min_by(|a, b| of(a).total_cmp(&of(b)));
    closest.unwrap_or(0) as u16
}

/// Polynomials of total degree `degree` on a quad or hex; all nodes belong to the cell.
pub(super) fn polynomial(
    kind: CellKind,
    degree: usize,
) -> Result<Parts<LegendreBasis>, ElementError> {
    let modes = total(kind.dim(), degree);
    let nodes = fekete(kind, &modes)?;
    let places = vec![(interior(kind), [0; 3]); nodes.len()];
    Ok(Parts {
        entities: Entities::of_nodes(kind, [0; 4], &places, vec![Vec::new(); kind.side_count()]),
        basis: LegendreBasis::new(modes, &nodes),
        nodes,
    })
}

fn interior(kind: CellKind) -> Entity {
    Entity {
        dim: kind.dim() as u8,
        index: 0,
    }
}

/// The linear functions that are 1 in the middle of one side and 0 in the middles of the others.
#[derive(Clone, Debug)]
pub(super) struct SideBasis {
    /// Barycentric coordinate that vanishes on each side.
    opposite: Vec<u8>,
    dim: usize,
}

/// Crouzeix-Raviart functions on a simplex: `1 - d λ`, λ the barycentric coordinate that vanishes on
/// the node's side.
pub(super) fn crouzeix_raviart(kind: CellKind) -> Parts<SideBasis> {
    let dim = kind.dim();
    let sides: Vec<&[u8]> = (0..kind.side_count())
        .map(|s| kind.side_vertices(s))
        .collect();
    let places: Vec<(Entity, [u8; 3])> = (0..sides.len())
        .map(|side| {
            let entity = Entity {
                dim: dim as u8 - 1,
                index: side as u8,
            };
            (entity, [1; 3])
        })
        .collect();
    let closures = (0..sides.len()).map(|s| vec![s as u16]).collect();
    let opposite = sides
        .iter()
        .map(|side| (0..=dim as u8).find(|v| !side.contains(v)).unwrap_or(0));
    Parts {
        nodes: sides.iter().map(|side| middle(kind, side)).collect(),
        // One node is the middle of the smallest lattice with an inside.
        entities: Entities::of_nodes(kind, [0, 2, 3, 0], &places, closures),
        basis: SideBasis {
            opposite: opposite.collect(),
            dim,
        },
    }
}

impl SideBasis {
    pub(super) fn evaluate(&self, x: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        let d = self.dim as f64;
        for (i, &v) in self.opposite.iter().enumerate() {
            let (lambda, slope) = barycentric(self.dim, x, v as usize);
            values[i] = 1.0 - d * lambda;
            gradients[i] = slope.map(|s| -d * s);
        }
    }
}

/// A barycentric coordinate of a simplex and its gradient.
fn barycentric(dim: usize, x: [f64; 3], vertex: usize) -> (f64, [f64; 3]) {
    let mut slope = [0.0; 3];
    if vertex == 0 {
        slope[..dim].fill(-1.0);
        (1.0 - x[..dim].iter().sum::<f64>(), slope)
    } else {
        slope[vertex - 1] = 1.0;
        (x[vertex - 1], slope)
    }
}

/// Linear (on quads and hexes multilinear) functions and one that vanishes on the boundary.
#[derive(Clone, Debug)]
pub(super) struct BubbleBasis {
    linear: Lagrange,
    /// Values of the linear functions at the centre.
    centre: f64,
}

/// Degree 1 and a bubble of height 1 at the centre. The functions of the vertices are made 0 at the
/// centre, so that all are nodal.
pub(super) fn bubble(kind: CellKind) -> Result<Parts<BubbleBasis>, ElementError> {
    let linear = Lagrange::new(kind, 1, NodeFamily::Lobatto)?;
    let mut nodes = linear.nodes().to_vec();
    let mut places: Vec<(Entity, [u8; 3])> = (0..nodes.len())
        .map(|i| (linear.entity(i), [0; 3]))
        .collect();
    let closures = (0..kind.side_count())
        .map(|side| linear.closure_nodes(side).to_vec())
        .collect();
    nodes.push(kind.center());
    places.push((interior(kind), [0; 3]));
    Ok(Parts {
        nodes,
        entities: Entities::of_nodes(kind, [0; 4], &places, closures),
        basis: BubbleBasis {
            centre: 1.0 / linear.node_count() as f64,
            linear,
        },
    })
}

impl BubbleBasis {
    /// Polynomial degree of the bubble: total on simplices, along each axis on tensor cells.
    pub(super) fn degree(kind: CellKind) -> usize {
        if kind.is_tensor() { 2 } else { kind.dim() + 1 }
    }

    pub(super) fn evaluate(&self, x: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        self.linear.evaluate(x, values, gradients);
        let n = self.linear.node_count();
        let [b, db @ .., _, _, _, _, _, _] = self.bubble(x);
        for i in 0..n {
            values[i] -= self.centre * b;
            for d in 0..3 {
                gradients[i][d] -= self.centre * db[d];
            }
        }
        (values[n], gradients[n]) = (b, db);
    }

    pub(super) fn hessians(&self, x: [f64; 3], hessians: &mut [Hessian]) {
        self.linear.hessians(x, hessians);
        let n = self.linear.node_count();
        let bubble = hessian_of(&self.bubble(x));
        for hessian in &mut hessians[..n] {
            for (out, row) in hessian.iter_mut().zip(&bubble) {
                for (out, b) in out.iter_mut().zip(row) {
                    *out -= self.centre * b;
                }
            }
        }
        hessians[n] = bubble;
    }

    /// A product of factors that vanish on a side each, with first and second derivatives.
    fn bubble(&self, x: [f64; 3]) -> [f64; 10] {
        let kind = self.linear.kind();
        let dim = kind.dim();
        let factor = |k: usize| -> [f64; 10] {
            let mut jet = [0.0; 10];
            if kind.is_tensor() {
                jet[0] = 4.0 * x[k] * (1.0 - x[k]);
                jet[1 + k] = 4.0 - 8.0 * x[k];
                jet[[4, 7, 9][k]] = -8.0;
                return jet;
            }
            let (value, slope) = barycentric(dim, x, k);
            jet[0] = value;
            jet[1..4].copy_from_slice(&slope);
            jet.map(|v| (dim + 1) as f64 * v)
        };
        let count = if kind.is_tensor() { dim } else { dim + 1 };
        (1..count).fold(factor(0), |product, k| times(product, factor(k)))
    }
}
