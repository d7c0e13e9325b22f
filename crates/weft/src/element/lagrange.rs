//! Lagrange shape functions: nodes, values, gradients, entities.
//!
//! Main types: [`Lagrange`] and [`Tabulation`]. Local nodes follow the Lagrange numbering (vertices,
//! edges, faces, interior on simplices; x-major lattice on tensor cells), and
//! [`Lagrange::slot`] places them on shared entities in an order on which all cells agree.

use super::basis::{Hessian, LineBasis, ProductBasis, evaluate_tensor, tensor_hessians};
use super::entities::{Entities, Entity};
use super::lattice::{LatticePoint, lattice};
use super::line::LineRule;
use super::modal::ModalBasis;
use super::{CellKind, ElementError};

/// Highest degree of Lagrange shape functions.
pub const MAX_LAGRANGE_DEGREE: usize = 10;

/// Where the nodes of a Lagrange element lie. Both families contain the vertices and agree to degree 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeFamily {
    /// The equispaced lattice.
    Equispaced,
    /// Gauss-Lobatto points on every edge; on simplices the recursive interpolation of T. Isaac
    /// (Recursive, parameter-free, explicitly defined interpolation nodes for simplices, 2020).
    Lobatto,
}

impl std::fmt::Display for NodeFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NodeFamily::Equispaced => "equispaced",
            NodeFamily::Lobatto => "Lobatto",
        })
    }
}

/// Values and gradients of shape functions at several points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tabulation {
    /// Number of shape functions.
    pub nodes: usize,
    /// Values at `[point * nodes + node]`.
    pub values: Vec<f64>,
    /// Gradients in reference coordinates, in the same order; unused entries are 0.
    pub gradients: Vec<[f64; 3]>,
    /// Second derivatives in reference coordinates, in the same order, unused entries 0; empty unless
    /// they were asked for.
    pub hessians: Vec<[[f64; 3]; 3]>,
}

impl Tabulation {
    /// Number of points.
    pub fn point_count(&self) -> usize {
        self.values.len() / self.nodes.max(1)
    }

    /// Values of all shape functions at point `point`.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn values_at(&self, point: usize) -> &[f64] {
        &self.values[point * self.nodes..(point + 1) * self.nodes]
    }

    /// Gradients of all shape functions at point `point`.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn gradients_at(&self, point: usize) -> &[[f64; 3]] {
        &self.gradients[point * self.nodes..(point + 1) * self.nodes]
    }
}

/// Tabulates `nodes` functions with `evaluate` for one point.
pub(super) fn tabulate(
    nodes: usize,
    points: &[[f64; 3]],
    evaluate: impl Fn([f64; 3], &mut [f64], &mut [[f64; 3]]),
) -> Tabulation {
    let mut table = Tabulation {
        nodes,
        values: vec![0.0; nodes * points.len()],
        gradients: vec![[0.0; 3]; nodes * points.len()],
        hessians: Vec::new(),
    };
    for (i, &point) in points.iter().enumerate() {
        let row = i * nodes..(i + 1) * nodes;
        evaluate(
            point,
            &mut table.values[row.clone()],
            &mut table.gradients[row],
        );
    }
    table
}

/// Adds second derivatives, with `evaluate` for one point, to a table of the functions at `points`.
pub(super) fn tabulate_hessians(
    table: &mut Tabulation,
    points: &[[f64; 3]],
    evaluate: impl Fn([f64; 3], &mut [Hessian]),
) {
    let n = table.nodes;
    table.hessians = vec![[[0.0; 3]; 3]; n * points.len()];
    for (i, &point) in points.iter().enumerate() {
        evaluate(point, &mut table.hessians[i * n..(i + 1) * n]);
    }
}

/// How the shape functions are evaluated.
#[derive(Clone, Debug)]
enum Basis {
    Constant,
    Tensor(LineBasis),
    Product(ProductBasis),
    Modal(ModalBasis),
}

/// Lagrange shape functions of one degree on one kind of cell: total degree on simplices, degree in
/// each direction on tensor cells. Degree 0 has one node, at the centre.
#[derive(Clone, Debug)]
pub struct Lagrange {
    kind: CellKind,
    degree: usize,
    family: NodeFamily,
    nodes: Vec<[f64; 3]>,
    basis: Basis,
    entities: Entities,
}

impl Lagrange {
    /// Shape functions of degree `degree` with nodes of `family`. On a point there is one constant
    /// function whatever the degree.
    ///
    /// # Errors
    /// If `degree` is more than [`MAX_LAGRANGE_DEGREE`].
    pub fn new(
        kind: CellKind,
        degree: usize,
        family: NodeFamily,
    ) -> Result<Lagrange, ElementError> {
        if degree > MAX_LAGRANGE_DEGREE {
            return Err(ElementError::LagrangeDegree {
                kind,
                family,
                degree,
                max: MAX_LAGRANGE_DEGREE,
            });
        }
        let entities = Entities::new(kind, degree);
        if degree == 0 || kind == CellKind::Point {
            return Ok(Lagrange {
                kind,
                degree,
                family,
                nodes: vec![kind.center()],
                basis: Basis::Constant,
                entities,
            });
        }
        let lines = (0..=degree)
            .map(|n| line_nodes(n, family))
            .collect::<Result<Vec<_>, _>>()?;
        let points = lattice(kind, degree);
        let nodes: Vec<[f64; 3]> = points
            .iter()
            .map(|&a| node_position(kind, family, &lines, a))
            .collect();
        let basis = if kind.is_tensor() {
            Basis::Tensor(LineBasis::new(lines[degree].clone()))
        } else if family == NodeFamily::Equispaced || degree <= 2 {
            Basis::Product(ProductBasis::new(degree, points))
        } else {
            Basis::Modal(ModalBasis::new(kind, degree, &nodes))
        };
        Ok(Lagrange {
            kind,
            degree,
            family,
            nodes,
            basis,
            entities,
        })
    }

    /// The cell.
    pub fn kind(&self) -> CellKind {
        self.kind
    }

    /// Polynomial degree.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Where the nodes lie.
    pub fn family(&self) -> NodeFamily {
        self.family
    }

    /// Number of nodes, which is the number of shape functions.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Reference coordinates of the nodes, in Lagrange numbering.
    pub fn nodes(&self) -> &[[f64; 3]] {
        &self.nodes
    }

    /// Values and gradients at one point, which may lie outside the cell. Allocates nothing.
    ///
    /// # Panics
    /// If `values` or `gradients` is shorter than [`node_count`](Self::node_count).
    pub fn evaluate(&self, point: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        let n = self.node_count();
        let (values, gradients) = (&mut values[..n], &mut gradients[..n]);
        match &self.basis {
            Basis::Constant => {
                values[0] = 1.0;
                gradients[0] = [0.0; 3];
            }
            Basis::Tensor(line) => {
                evaluate_tensor(line, self.kind.dim(), point, values, gradients);
            }
            Basis::Product(product) => product.evaluate(point, values, gradients),
            Basis::Modal(modal) => modal.evaluate(point, values, gradients),
        }
        if self.kind == CellKind::Triangle {
            for g in gradients {
                g[2] = 0.0;
            }
        }
    }

    /// Second derivatives in reference coordinates at one point, which may lie outside the cell;
    /// unused entries are 0. Allocates nothing.
    ///
    /// # Panics
    /// If `hessians` is shorter than [`node_count`](Self::node_count).
    pub fn hessians(&self, point: [f64; 3], hessians: &mut [[[f64; 3]; 3]]) {
        let hessians = &mut hessians[..self.node_count()];
        match &self.basis {
            Basis::Constant => hessians[0] = [[0.0; 3]; 3],
            Basis::Tensor(line) => tensor_hessians(line, self.kind.dim(), point, hessians),
            Basis::Product(product) => product.hessians(point, hessians),
            Basis::Modal(modal) => modal.hessians(point, hessians),
        }
        if self.kind == CellKind::Triangle {
            for h in hessians {
                (h[0][2], h[1][2], h[2]) = (0.0, 0.0, [0.0; 3]);
            }
        }
    }

    /// Values, gradients and second derivatives at several points.
    pub fn tabulate_second(&self, points: &[[f64; 3]]) -> Tabulation {
        let mut table = self.tabulate(points);
        tabulate_hessians(&mut table, points, |x, out| self.hessians(x, out));
        table
    }

    /// Values and gradients at several points.
    pub fn tabulate(&self, points: &[[f64; 3]]) -> Tabulation {
        tabulate(self.node_count(), points, |x, values, gradients| {
            self.evaluate(x, values, gradients);
        })
    }

    pub(super) fn entities(&self) -> &Entities {
        &self.entities
    }

    /// The vertex, edge, face or interior on which a node lies. The node of degree 0 belongs to the
    /// interior.
    ///
    /// # Panics
    /// If `node >= self.node_count()`.
    pub fn entity(&self, node: usize) -> Entity {
        self.entities.entity(node)
    }

    /// Nodes in the interior of an entity (not on its boundary), ascending; empty if the cell has no
    /// such entity.
    pub fn entity_nodes(&self, dim: usize, index: usize) -> &[u16] {
        self.entities.interior(dim, index)
    }

    /// Number of nodes in the interior of each entity of dimension `dim`.
    pub fn interior_count(&self, dim: usize) -> usize {
        self.entities.interior(dim, 0).len()
    }

    /// All nodes on a side, its boundary included, in the Lagrange numbering of the side with its
    /// vertices as in [`CellKind::side_vertices`]. Empty for degree 0.
    ///
    /// # Panics
    /// If `side >= self.kind().side_count()`.
    pub fn closure_nodes(&self, side: usize) -> &[u16] {
        self.entities.closure(side)
    }

    /// The place of a node among the interior nodes of its entity, in an order that depends only on
    /// the global numbers of the entity's vertices, so that all cells that share an edge or a face
    /// give the same slot to the same point.
    ///
    /// Edges run from the smaller to the larger vertex. Nodes of a triangular face are ordered as a
    /// lattice of its sorted vertices; those of a quadrilateral face as a lattice with its origin at
    /// the smallest vertex and the first axis toward the smaller of that vertex's two neighbours.
    /// Nodes in the interior of the cell keep their local order. `cell_vertices` are the global
    /// vertices of the cell in local order.
    ///
    /// # Panics
    /// If `node >= self.node_count()` or `cell_vertices` is shorter than the cell's vertices.
    pub fn slot(&self, node: usize, cell_vertices: &[u32]) -> usize {
        self.entities.slot(node, cell_vertices)
    }
}

/// The `degree + 1` nodes on a line; the midpoint for degree 0.
fn line_nodes(degree: usize, family: NodeFamily) -> Result<Vec<f64>, ElementError> {
    Ok(match (degree, family) {
        (0, _) => vec![0.5],
        (_, NodeFamily::Equispaced) => (0..=degree).map(|i| i as f64 / degree as f64).collect(),
        (_, NodeFamily::Lobatto) => LineRule::gauss_lobatto(degree + 1)?.points().to_vec(),
    })
}

/// Reference coordinates of a lattice point; `lines[n]` holds the nodes of degree `n` on a line.
fn node_position(
    kind: CellKind,
    family: NodeFamily,
    lines: &[Vec<f64>],
    point: LatticePoint,
) -> [f64; 3] {
    let mut position = [0.0; 3];
    let line = &lines[lines.len() - 1];
    if kind.is_tensor() {
        for axis in 0..kind.dim() {
            position[axis] = line[point[axis] as usize];
        }
    } else if family == NodeFamily::Equispaced {
        for axis in 0..kind.dim() {
            position[axis] = line[point[axis + 1] as usize];
        }
    } else {
        let barycentric = recursive_node(&point[..kind.vertex_count()], lines);
        position[..kind.dim()].copy_from_slice(&barycentric[1..kind.vertex_count()]);
    }
    position
}

/// Barycentric coordinates of the node with a multi-index: the average of the nodes obtained by
/// leaving out one entry each, weighted by the line nodes of the remaining degree (Isaac 2020).
fn recursive_node(index: &[u8], lines: &[Vec<f64>]) -> [f64; 4] {
    let mut out = [0.0; 4];
    let degree: usize = index.iter().map(|&a| a as usize).sum();
    if index.len() == 2 {
        out[0] = lines[degree][index[0] as usize];
        out[1] = lines[degree][index[1] as usize];
        return out;
    }
    let mut total = 0.0;
    for left_out in 0..index.len() {
        let mut rest = [0; 3];
        let others = (0..index.len()).filter(|&i| i != left_out);
        for (slot, i) in rest.iter_mut().zip(others.clone()) {
            *slot = index[i];
        }
        let node = recursive_node(&rest[..index.len() - 1], lines);
        let weight = lines[degree][degree - index[left_out] as usize];
        for (slot, i) in others.enumerate() {
            out[i] += weight * node[slot];
        }
        total += weight;
    }
    out.map(|c| c / total)
}
