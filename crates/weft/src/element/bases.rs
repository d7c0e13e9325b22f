//! The element of a space: any basis behind one interface.
//!
//! Main types: [`Element`] and [`ElementFamily`]. An element says which functions a cell has, at
//! which points or entities their degrees of freedom sit, and what the functions are at a point.
//! Spaces, plans and transfers know nothing else of it, so a new basis is a new variant here.
//!
//! Functions are of one component here; those of several, which go with a Piola map and with
//! orientations of edges and faces, are a [`VectorElement`](super::VectorElement).

use super::entities::{Entities, Entity};
use super::lagrange::{Lagrange, NodeFamily, Tabulation, tabulate, tabulate_hessians};
use super::legendre::LegendreBasis;
use super::modal::inverse;
use super::nodal::{self, BubbleBasis, Parts, SideBasis};
use super::spline::{MAX_SPLINE_DEGREE, Spline};
use super::{CellKind, ElementError, Quadrature};

/// Highest degree of serendipity functions.
pub const MAX_SERENDIPITY_DEGREE: usize = 4;

/// Highest degree of discontinuous polynomials.
pub const MAX_POLYNOMIAL_DEGREE: usize = 10;

/// Which functions an element has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementFamily {
    /// Polynomials of the degree in total on simplices, in each direction on tensor cells.
    Lagrange(NodeFamily),
    /// Polynomials of the superlinear degree on quads and hexes, see [`Element::new_serendipity`].
    Serendipity,
    /// Polynomials of the total degree on quads and hexes, see [`Element::new_polynomial`].
    Polynomial,
    /// Linear functions on simplices with nodes in the middles of sides.
    CrouzeixRaviart,
    /// Lagrange functions of degree 1 and a bubble in each cell.
    Bubble,
    /// Uniform B-splines on a lattice.
    Spline,
}

impl std::fmt::Display for ElementFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ElementFamily::Lagrange(_) => f.write_str("Lagrange"),
            ElementFamily::Serendipity => f.write_str("serendipity"),
            ElementFamily::Polynomial => f.write_str("polynomial"),
            ElementFamily::CrouzeixRaviart => f.write_str("Crouzeix-Raviart"),
            ElementFamily::Bubble => f.write_str("bubble"),
            ElementFamily::Spline => f.write_str("B-spline"),
        }
    }
}

/// How the functions are evaluated.
#[derive(Clone, Debug)]
enum Basis {
    Lagrange(Lagrange),
    Legendre(LegendreBasis),
    Sides(SideBasis),
    Bubble(BubbleBasis),
    Spline(Spline),
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

    /// Serendipity functions S_r (D. N. Arnold and G. Awanou, 2011) on quads and hexes: all
    /// polynomials whose degree is at most `degree`, if variables that enter linearly are not
    /// counted. Nodes: vertices, Lobatto points on edges, in degree 4 the middles of faces; in this
    /// order.
    ///
    /// In degree 1, on segments, and on simplices to degree 2 these are the Lagrange functions.
    ///
    /// # Errors
    /// If `degree` is not 1 to [`MAX_SERENDIPITY_DEGREE`], or more than 2 on a simplex.
    pub fn new_serendipity(kind: CellKind, degree: usize) -> Result<Element, ElementError> {
        let family = ElementFamily::Serendipity;
        let product = matches!(kind, CellKind::Quad | CellKind::Hex);
        let max = if kind.is_tensor() {
            MAX_SERENDIPITY_DEGREE
        } else {
            2
        };
        check_degree(family, kind, degree, 1, max)?;
        if degree == 1 || !product {
            return Element::new_lagrange(kind, degree, NodeFamily::Lobatto);
        }
        let parts = nodal::serendipity(kind, degree)?;
        Ok(Element::of(family, kind, degree, parts, Basis::Legendre))
    }

    /// All polynomials of total degree `degree`, with nodes of the cell's own: for discontinuous
    /// spaces. On quads and hexes the nodes are approximate Fekete points; on segments and simplices
    /// these are Lagrange functions of Lobatto nodes.
    ///
    /// # Errors
    /// If `degree` is more than [`MAX_POLYNOMIAL_DEGREE`].
    pub fn new_polynomial(kind: CellKind, degree: usize) -> Result<Element, ElementError> {
        let family = ElementFamily::Polynomial;
        check_degree(family, kind, degree, 0, MAX_POLYNOMIAL_DEGREE)?;
        if !matches!(kind, CellKind::Quad | CellKind::Hex) {
            return Element::new_lagrange(kind, degree, NodeFamily::Lobatto);
        }
        let parts = nodal::polynomial(kind, degree)?;
        Ok(Element::of(family, kind, degree, parts, Basis::Legendre))
    }

    /// Linear functions on a simplex with a node in the middle of each side, where neighbours agree
    /// (M. Crouzeix and P.-A. Raviart, Conforming and nonconforming finite element methods for
    /// solving the stationary Stokes equations, 1973).
    ///
    /// # Errors
    /// If `kind` is not a simplex.
    pub fn new_crouzeix_raviart(kind: CellKind) -> Result<Element, ElementError> {
        let family = ElementFamily::CrouzeixRaviart;
        if !matches!(kind, CellKind::Segment | CellKind::Triangle | CellKind::Tet) {
            let hint = "use a segment, triangle or tet";
            return Err(ElementError::BasisCell { family, kind, hint });
        }
        let parts = nodal::crouzeix_raviart(kind);
        Ok(Element::of(family, kind, 1, parts, Basis::Sides))
    }

    /// Lagrange functions of degree 1 and a bubble that vanishes on the cell's boundary: the
    /// velocity of the MINI element (D. N. Arnold, F. Brezzi and M. Fortin, A stable finite element
    /// for the Stokes equations, 1984). The last node is the centre, and the functions of the vertices
    /// are 0 there.
    ///
    /// # Errors
    /// If `kind` is a point.
    pub fn new_bubble(kind: CellKind) -> Result<Element, ElementError> {
        let family = ElementFamily::Bubble;
        if kind == CellKind::Point {
            let hint = "a point has no interior";
            return Err(ElementError::BasisCell { family, kind, hint });
        }
        let degree = BubbleBasis::degree(kind);
        Ok(Element::of(
            family,
            kind,
            degree,
            nodal::bubble(kind)?,
            Basis::Bubble,
        ))
    }

    /// Uniform B-splines on the cells of a lattice, with nodes at its vertices. In degree 1 these are
    /// Lagrange functions; from degree 2 on each cell sees four nodes an axis, those around it
    /// included, and the values at nodes are not the degrees of freedom.
    ///
    /// # Errors
    /// If `kind` is not a segment, quad or hex, or the degree not 1 to [`MAX_SPLINE_DEGREE`].
    pub fn new_spline(kind: CellKind, degree: usize) -> Result<Element, ElementError> {
        let family = ElementFamily::Spline;
        if !kind.is_tensor() {
            let hint = "use the quads or hexes of a grid";
            return Err(ElementError::BasisCell { family, kind, hint });
        }
        check_degree(family, kind, degree, 1, MAX_SPLINE_DEGREE)?;
        if degree == 1 {
            return Element::new_lagrange(kind, 1, NodeFamily::Lobatto);
        }
        let spline = Spline::new(kind, degree);
        let parts = Parts {
            nodes: spline.nodes(),
            entities: spline.entities(kind),
            basis: spline,
        };
        Ok(Element::of(family, kind, degree, parts, Basis::Spline))
    }

    fn of<B>(
        family: ElementFamily,
        kind: CellKind,
        degree: usize,
        parts: Parts<B>,
        basis: fn(B) -> Basis,
    ) -> Element {
        Element {
            family,
            kind,
            degree,
            nodes: parts.nodes,
            entities: parts.entities,
            basis: basis(parts.basis),
        }
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
            _ => None,
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
        !matches!(self.basis, Basis::Spline(_))
    }

    /// Whether functions are continuous where neighbours share nodes.
    pub fn is_conforming(&self) -> bool {
        match self.family {
            ElementFamily::Lagrange(_) => self.degree > 0,
            ElementFamily::Polynomial | ElementFamily::CrouzeixRaviart => false,
            _ => true,
        }
    }

    /// Parts of the cell along each axis on which all functions are polynomials: 2 for splines of
    /// degree 2, else 1. Quadrature rules are [cut](super::Quadrature::composite) accordingly.
    pub fn pieces(&self) -> usize {
        match &self.basis {
            Basis::Spline(spline) => spline.pieces(),
            _ => 1,
        }
    }

    /// Whether both have the same functions in the same order.
    pub fn same_functions(&self, other: &Element) -> bool {
        let families = match (self.family, other.family) {
            // Families of nodes agree to degree 2.
            (ElementFamily::Lagrange(a), ElementFamily::Lagrange(b)) => a == b || self.degree <= 2,
            (a, b) => a == b,
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
            Basis::Legendre(legendre) => legendre.evaluate(point, values, gradients),
            Basis::Sides(sides) => sides.evaluate(point, values, gradients),
            Basis::Bubble(bubble) => bubble.evaluate(point, values, gradients),
            Basis::Spline(spline) => spline.evaluate(point, values, gradients),
        }
    }

    /// Values and gradients at several points.
    pub fn tabulate(&self, points: &[[f64; 3]]) -> Tabulation {
        tabulate(self.node_count(), points, |x, values, gradients| {
            self.evaluate(x, values, gradients);
        })
    }

    /// Second derivatives in reference coordinates at one point, which may lie outside the cell;
    /// unused entries are 0. Allocates nothing.
    ///
    /// # Panics
    /// If `hessians` is shorter than [`node_count`](Self::node_count).
    pub fn hessians(&self, point: [f64; 3], hessians: &mut [[[f64; 3]; 3]]) {
        match &self.basis {
            Basis::Lagrange(lagrange) => lagrange.hessians(point, hessians),
            Basis::Legendre(legendre) => legendre.hessians(point, hessians),
            // Linear functions.
            Basis::Sides(_) => hessians[..self.node_count()].fill([[0.0; 3]; 3]),
            Basis::Bubble(bubble) => bubble.hessians(point, hessians),
            Basis::Spline(spline) => spline.hessians(point, hessians),
        }
    }

    /// Values, gradients and second derivatives at several points.
    pub fn tabulate_second(&self, points: &[[f64; 3]]) -> Tabulation {
        let mut table = self.tabulate(points);
        tabulate_hessians(&mut table, points, |x, out| self.hessians(x, out));
        table
    }

    /// Weights of the nodes for sums in place of integrals over the reference cell, all positive; they
    /// sum to 1. For lumped matrices.
    ///
    /// They are the integrals of the functions, exact for all functions of the element, where none is
    /// zero or negative: on Lagrange nodes of tensor cells this is the Gauss-Lobatto rule (exact to
    /// degree 2p - 1 along each axis), and splines have such weights too. Elsewhere, as in degree 2 on
    /// simplices and for serendipity functions, they are those nearest to equal weights that are exact
    /// for linear functions; or equal weights, exact for constants only, if those are not positive, as
    /// for discontinuous polynomials of degree 1 on a quad.
    ///
    /// # Errors
    /// If there is no rule for integrals of the functions: not in the present degrees.
    pub fn node_weights(&self) -> Result<Vec<f64>, ElementError> {
        let rule = Quadrature::new(self.kind, self.degree)?.composite(self.pieces());
        let table = self.tabulate(rule.points());
        let mut integrals = vec![0.0; self.node_count()];
        for (q, weight) in rule.weights().iter().enumerate() {
            for (sum, phi) in integrals.iter_mut().zip(table.values_at(q)) {
                *sum += weight * phi;
            }
        }
        // Integrals that vanish are rounding errors of either sign.
        let least = 1e-10 / self.node_count() as f64;
        if integrals.iter().all(|&w| w > least) {
            return Ok(integrals);
        }
        let linear = linear_weights(&self.nodes, self.kind);
        if linear.iter().all(|&w| w > least) {
            return Ok(linear);
        }
        Ok(vec![1.0 / self.node_count() as f64; self.node_count()])
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

fn check_degree(
    family: ElementFamily,
    kind: CellKind,
    degree: usize,
    min: usize,
    max: usize,
) -> Result<(), ElementError> {
    if (min..=max).contains(&degree) {
        return Ok(());
    }
    Err(ElementError::BasisDegree {
        family,
        kind,
        degree,
        min,
        max,
    })
}

/// Equal weights, changed by a linear function of the node's place so that their centroid is the
/// cell's.
fn linear_weights(nodes: &[[f64; 3]], kind: CellKind) -> Vec<f64> {
    let (n, dim) = (nodes.len() as f64, kind.dim());
    let mean: [f64; 3] = std::array::from_fn(|d| nodes.iter().map(|x| x[d]).sum::<f64>() / n);
    let mut spread = vec![0.0; dim * dim];
    for x in nodes {
        for i in 0..dim {
            for j in 0..dim {
                spread[i * dim + j] += (x[i] - mean[i]) * (x[j] - mean[j]) / n;
            }
        }
    }
    let spread = inverse(spread, dim);
    let centre = kind.center();
    let slope = |i: usize| -> f64 {
        let row = &spread[i * dim..(i + 1) * dim];
        row.iter()
            .enumerate()
            .map(|(j, s)| s * (centre[j] - mean[j]))
            .sum()
    };
    let slopes: Vec<f64> = (0..dim).map(slope).collect();
    let weight = |x: &[f64; 3]| {
        let along = slopes.iter().enumerate().map(|(d, s)| s * (x[d] - mean[d]));
        (1.0 + along.sum::<f64>()) / n
    };
    nodes.iter().map(weight).collect()
}
