//! The element of a space: any basis behind one interface.
//!
//! Main types: [`Element`] and [`ElementFamily`]. An element says which functions a cell has, at
//! which points or entities their degrees of freedom sit, and what the functions are at a point.
//! Spaces, plans and transfers know nothing else of it, so a new basis is a new variant here.
//!
//! **Vector-valued elements hook in here**: as a further `Basis` and [`ElementFamily`], with one node
//! for each function. Entities, slots and node counts then serve numbering as they are; what is
//! new is an accessor beside [`Element::lagrange`] for the vector-valued functions, since
//! [`Element::evaluate`] and [`Tabulation`] are for functions of one component, and a sign (or a
//! small matrix) for each cell and entity, which belongs to the numbering of a space.

use super::entities::{Entities, Entity};
use super::lagrange::{Lagrange, NodeFamily, Tabulation, tabulate};
use super::{CellKind, ElementError};

/// Which functions an element has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementFamily {
    /// Polynomials of the degree in total on simplices, in each direction on tensor cells.
    Lagrange(NodeFamily),
}

impl std::fmt::Display for ElementFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ElementFamily::Lagrange(_) => f.write_str("Lagrange"),
        }
    }
}

/// How the functions are evaluated.
#[derive(Clone, Debug)]
enum Basis {
    Lagrange(Lagrange),
}

/// Basis functions of one family and degree on one kind of cell. Each has a node: a place in the
/// cell, on an entity that neighbours may share.
#[derive(Clone, Debug)]
pub struct Element {
    family: ElementFamily,
    kind: CellKind,
    degree: usize,
    nodes: Vec<[f64; 3]>,
    entities: Entities,
    basis: Basis,
}

impl From<Lagrange> for Element {
    fn from(lagrange: Lagrange) -> Element {
        Element {
            family: ElementFamily::Lagrange(lagrange.family()),
            kind: lagrange.kind(),
            degree: lagrange.degree(),
            nodes: lagrange.nodes().to_vec(),
            entities: lagrange.entities().clone(),
            basis: Basis::Lagrange(lagrange),
        }
    }
}

impl Element {
    /// Lagrange functions, see [`Lagrange::new`].
    ///
    /// # Errors
    /// If `degree` is more than [`MAX_LAGRANGE_DEGREE`](super::MAX_LAGRANGE_DEGREE).
    pub fn new_lagrange(
        kind: CellKind,
        degree: usize,
        family: NodeFamily,
    ) -> Result<Element, ElementError> {
        Ok(Lagrange::new(kind, degree, family)?.into())
    }

    /// The cell.
    pub fn kind(&self) -> CellKind {
        self.kind
    }

    /// Which functions these are.
    pub fn family(&self) -> ElementFamily {
        self.family
    }

    /// Highest polynomial degree of the functions: total on simplices, along each axis on tensor
    /// cells. Quadrature rules are chosen by it.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Name for messages: family, degree and cell.
    pub fn name(&self) -> String {
        format!(
            "{} of degree {} on a {}",
            self.family,
            self.degree,
            self.kind.name()
        )
    }

    /// The Lagrange element that this is, if it is one.
    pub fn lagrange(&self) -> Option<&Lagrange> {
        match &self.basis {
            Basis::Lagrange(lagrange) => Some(lagrange),
        }
    }

    /// Number of nodes, which is the number of functions.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Reference coordinates of the nodes.
    pub fn nodes(&self) -> &[[f64; 3]] {
        &self.nodes
    }

    /// Whether each function is 1 at its own node and 0 at all others, so that a degree of freedom
    /// is the value at its node.
    pub fn is_nodal(&self) -> bool {
        match &self.basis {
            Basis::Lagrange(_) => true,
        }
    }

    /// Whether functions are continuous where neighbours share nodes.
    pub fn is_conforming(&self) -> bool {
        match &self.basis {
            Basis::Lagrange(_) => self.degree > 0,
        }
    }

    /// Whether both have the same functions in the same order.
    pub fn same_functions(&self, other: &Element) -> bool {
        let families = match (self.family, other.family) {
            // Families of nodes agree to degree 2.
            (ElementFamily::Lagrange(a), ElementFamily::Lagrange(b)) => a == b || self.degree <= 2,
        };
        families && self.kind == other.kind && self.degree == other.degree
    }

    /// Values and reference gradients at one point, which may lie outside the cell. Allocates
    /// nothing.
    ///
    /// # Panics
    /// If `values` or `gradients` is shorter than [`node_count`](Self::node_count).
    pub fn evaluate(&self, point: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        match &self.basis {
            Basis::Lagrange(lagrange) => lagrange.evaluate(point, values, gradients),
        }
    }

    /// Values and gradients at several points.
    pub fn tabulate(&self, points: &[[f64; 3]]) -> Tabulation {
        tabulate(self.node_count(), points, |x, values, gradients| {
            self.evaluate(x, values, gradients);
        })
    }

    /// The vertex, edge, face or interior on which a node lies.
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

    /// Nodes of all functions that do not vanish on a side, in the numbering of the side's own
    /// element where it has one; empty if they are not tied to sides, as in degree 0.
    ///
    /// # Panics
    /// If `side >= self.kind().side_count()`.
    pub fn closure_nodes(&self, side: usize) -> &[u16] {
        self.entities.closure(side)
    }

    /// The place of a node among the interior nodes of its entity, in an order on which all cells
    /// that share the entity agree; see [`Lagrange::slot`].
    ///
    /// # Panics
    /// If `node >= self.node_count()` or `cell_vertices` is shorter than the cell's vertices.
    pub fn slot(&self, node: usize, cell_vertices: &[u32]) -> usize {
        self.entities.slot(node, cell_vertices)
    }
}
