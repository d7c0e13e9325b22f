//! Vector-valued elements for H(curl) and H(div).
//!
//! Main types: [`VectorElement`] and [`VectorTabulation`]. Shape functions are dual to moments on
//! edges, on faces and in the interior: the polynomials of the element are tested with all moments
//! once, and the inverse of that matrix gives the functions (D. N. Arnold, R. S. Falk, R. Winther,
//! Finite element exterior calculus, 2006, lists the spaces and the moments).
//!
//! Neighbours agree because the moments on an edge or face can be taken in coordinates that depend on
//! global vertex numbers only. A cell's own moments are small combinations of these, one matrix for
//! each way in which an edge or face can be seen ([`Orientations`]).

mod moments;
mod span;

use super::modal::inverse;
use super::{CellKind, ElementError, Entity};
use moments::{Moments, Trace, boundary_moments, interior_moments, orientation_count};
use span::{Span, VectorJet};

/// Highest degree of vector-valued elements.
pub const MAX_VECTOR_DEGREE: usize = 3;

/// Kind of vector-valued element. Degree 1 is the lowest of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorFamily {
    /// Nédélec's first kind for H(curl), on simplices and on tensor cells. Contains all vector
    /// polynomials of one degree less (J.-C. Nédélec, Mixed finite elements in R³, 1980).
    Nedelec,
    /// Raviart-Thomas for H(div), on simplices and on tensor cells. Contains all vector polynomials
    /// of one degree less (P. A. Raviart and J.-M. Thomas, 1977; in space Nédélec 1980).
    RaviartThomas,
    /// Brezzi-Douglas-Marini for H(div), on simplices: all vector polynomials of the degree
    /// (F. Brezzi, J. Douglas and L. D. Marini, 1985; in space Nédélec 1986).
    BrezziDouglasMarini,
    /// Nédélec's second kind for H(curl), on simplices: all vector polynomials of the degree
    /// (J.-C. Nédélec, A new family of mixed finite elements in R³, 1986).
    NedelecSecond,
}

impl VectorFamily {
    /// Every family.
    pub const ALL: [VectorFamily; 4] = [
        VectorFamily::Nedelec,
        VectorFamily::RaviartThomas,
        VectorFamily::BrezziDouglasMarini,
        VectorFamily::NedelecSecond,
    ];

    /// Name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            VectorFamily::Nedelec => "Nédélec",
            VectorFamily::RaviartThomas => "Raviart-Thomas",
            VectorFamily::BrezziDouglasMarini => "Brezzi-Douglas-Marini",
            VectorFamily::NedelecSecond => "second-kind Nédélec",
        }
    }

    /// How functions are carried from the reference cell to a cell.
    pub fn piola(self) -> Piola {
        match self {
            VectorFamily::Nedelec | VectorFamily::NedelecSecond => Piola::Covariant,
            VectorFamily::RaviartThomas | VectorFamily::BrezziDouglasMarini => Piola::Contravariant,
        }
    }

    /// Cells that the family has elements on.
    pub fn cells(self) -> &'static [CellKind] {
        use CellKind::{Hex, Quad, Tet, Triangle};
        match self {
            VectorFamily::Nedelec | VectorFamily::RaviartThomas => &[Triangle, Quad, Tet, Hex],
            _ => &[Triangle, Tet],
        }
    }
}

impl std::fmt::Display for VectorFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How a vector function û of the reference cell becomes one of a cell with Jacobian J.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Piola {
    /// `u = J⁻ᵀ û`: keeps integrals along curves, so tangential components are continuous.
    Covariant,
    /// `u = J û / det J`: keeps fluxes, so normal components are continuous.
    Contravariant,
}

/// Values and derivatives of vector-valued shape functions at several points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorTabulation {
    /// Number of shape functions.
    pub functions: usize,
    /// Reference components at `[point * functions + function]`; unused ones are 0.
    pub values: Vec<[f64; 3]>,
    /// `[component][axis]` derivatives in reference coordinates, in the same order.
    pub derivatives: Vec<[[f64; 3]; 3]>,
}

impl VectorTabulation {
    /// Values of all shape functions at point `point`.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn values_at(&self, point: usize) -> &[[f64; 3]] {
        &self.values[point * self.functions..(point + 1) * self.functions]
    }

    /// Derivatives of all shape functions at point `point`.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn derivatives_at(&self, point: usize) -> &[[[f64; 3]; 3]] {
        &self.derivatives[point * self.functions..(point + 1) * self.functions]
    }
}

/// Between the functions of an edge or face as its cell sees it and as all cells see it.
///
/// Both sets have `count` members. Entry `k` of a matrix belongs to row `rows[k]` and column
/// `columns[k]`; what is not listed is 0 in all orientations.
#[derive(Clone, Debug, Default)]
pub struct Orientations {
    /// Functions of one entity.
    pub count: usize,
    /// Row of each entry.
    pub rows: Vec<u8>,
    /// Column of each entry.
    pub columns: Vec<u8>,
    /// For each orientation the entries of the matrix K: shared degrees of freedom c are K c as the
    /// cell sees them.
    pub to_cell: Vec<Vec<f64>>,
    /// For each orientation the entries of the inverse of K.
    pub to_shared: Vec<Vec<f64>>,
}

/// A vector-valued element on one kind of cell.
///
/// Functions are grouped: edges, faces, interior, as in [`CellKind`]. In the plane, edges are what
/// normal components are continuous across; in space H(div) elements have no functions on edges.
#[derive(Clone, Debug)]
pub struct VectorElement {
    family: VectorFamily,
    kind: CellKind,
    degree: usize,
    span: Span,
    /// Row `i` holds the coefficients of function `i` in the basis of `span`.
    coefficients: Vec<f64>,
    moments: Vec<Moments>,
    entities: Vec<Entity>,
    /// Of edges and of faces.
    orientations: [Orientations; 2],
}

impl VectorElement {
    /// The element of `family` and `degree` on `kind`.
    ///
    /// # Errors
    /// If the family has no element there, or the degree is not 1 to [`MAX_VECTOR_DEGREE`].
    pub fn new(
        family: VectorFamily,
        kind: CellKind,
        degree: usize,
    ) -> Result<VectorElement, ElementError> {
        if !family.cells().contains(&kind) {
            let cells: Vec<&str> = family.cells().iter().map(|k| k.name()).collect();
            return Err(ElementError::VectorCell {
                family,
                kind,
                allowed: cells.join(", "),
            });
        }
        if !(1..=MAX_VECTOR_DEGREE).contains(&degree) {
            return Err(ElementError::VectorDegree {
                family,
                kind,
                degree,
                max: MAX_VECTOR_DEGREE,
            });
        }
        let spans = Spans::new(family, kind, degree);
        let moments = spans.moments(kind, degree)?;
        let n = spans.own.len(kind);
        let mut element = VectorElement {
            family,
            kind,
            degree,
            span: spans.own,
            coefficients: dual(spans.own, kind, &moments, n),
            entities: moments
                .iter()
                .flat_map(|m| std::iter::repeat_n(m.entity, m.count))
                .collect(),
            moments,
            orientations: [Orientations::default(), Orientations::default()],
        };
        for dim in 1..kind.dim() {
            element.orientations[dim - 1] = element.orientations_of(dim, &spans)?;
        }
        Ok(element)
    }

    /// Compares the moments of the first entity of dimension `dim` as seen in every orientation with
    /// those of the cell.
    fn orientations_of(&self, dim: usize, spans: &Spans) -> Result<Orientations, ElementError> {
        let entity = Entity {
            dim: dim as u8,
            index: 0,
        };
        let own = self.functions_of(entity);
        let m = own.len();
        let ways = orientation_count(self.kind.entity_vertices(dim, 0).len());
        let mut to_shared = Vec::new();
        for orientation in 0..ways {
            let Some((trace, span)) = spans.boundary[dim - 1].filter(|_| m > 0) else {
                return Ok(Orientations::default());
            };
            let degree = 2 * self.degree;
            let seen = boundary_moments(self.kind, entity, orientation, trace, span, degree)?;
            let table = self.tabulate(&seen.points);
            let entry = |i: usize, j: usize| {
                let value = seen.apply(i, |q| table.values_at(q)[own.start + j]);
                // These are ratios of small integers and square roots; 0 and ±1 are made exact.
                let whole = value.round();
                let near = (value - whole).abs() < ROUNDING && whole.abs() <= 1.0;
                if near { whole } else { value }
            };
            to_shared.push(
                (0..m * m)
                    .map(|k| entry(k / m, k % m))
                    .collect::<Vec<f64>>(),
            );
        }
        let to_cell: Vec<Vec<f64>> = to_shared
            .iter()
            .map(|a| tidy(inverse(a.clone(), m)))
            .collect();
        let used = |&k: &usize| {
            let all = to_shared.iter().chain(&to_cell);
            all.into_iter().any(|a| a[k] != 0.0)
        };
        let entries: Vec<usize> = (0..m * m).filter(used).collect();
        let pick = |all: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let one = |a: &Vec<f64>| entries.iter().map(|&k| a[k]).collect();
            all.iter().map(one).collect()
        };
        Ok(Orientations {
            count: m,
            rows: entries.iter().map(|k| (k / m) as u8).collect(),
            columns: entries.iter().map(|k| (k % m) as u8).collect(),
            to_cell: pick(&to_cell),
            to_shared: pick(&to_shared),
        })
    }

    /// The family.
    pub fn family(&self) -> VectorFamily {
        self.family
    }

    /// The cell.
    pub fn kind(&self) -> CellKind {
        self.kind
    }

    /// Degree; also the highest polynomial degree of the functions (in each direction on tensor cells).
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// How functions are carried to a cell.
    pub fn piola(&self) -> Piola {
        self.family.piola()
    }

    /// Number of shape functions.
    pub fn function_count(&self) -> usize {
        self.entities.len()
    }

    /// The edge, face or interior that a function belongs to.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn entity(&self, function: usize) -> Entity {
        self.entities[function]
    }

    /// Functions of an entity, which follow one another.
    pub fn functions_of(&self, entity: Entity) -> std::ops::Range<usize> {
        let first = self.entities.partition_point(|&e| e < entity);
        let last = self.entities.partition_point(|&e| e <= entity);
        first..last
    }

    /// Functions of each entity of dimension `dim`.
    pub fn interior_count(&self, dim: usize) -> usize {
        let entity = Entity {
            dim: dim as u8,
            index: 0,
        };
        self.functions_of(entity).len()
    }

    /// Values and derivatives at one point. Allocates nothing.
    ///
    /// # Panics
    /// If an array is shorter than [`function_count`](Self::function_count).
    pub fn evaluate(
        &self,
        point: [f64; 3],
        values: &mut [[f64; 3]],
        derivatives: &mut [[[f64; 3]; 3]],
    ) {
        let n = self.function_count();
        let mut basis = [VectorJet::ZERO; MAX_FUNCTIONS];
        self.span.evaluate(self.kind, point, &mut basis);
        for (i, row) in self.coefficients.chunks_exact(n).enumerate() {
            let mut sum = VectorJet::ZERO;
            for (&c, jet) in row.iter().zip(&basis) {
                if c != 0.0 {
                    sum.add(c, jet);
                }
            }
            values[i] = sum.value;
            derivatives[i] = sum.derivative;
        }
    }

    /// Values and derivatives at several points.
    pub fn tabulate(&self, points: &[[f64; 3]]) -> VectorTabulation {
        let n = self.function_count();
        let mut table = VectorTabulation {
            functions: n,
            values: vec![[0.0; 3]; n * points.len()],
            derivatives: vec![[[0.0; 3]; 3]; n * points.len()],
        };
        let rows = table.values.chunks_exact_mut(n);
        let rows = rows.zip(table.derivatives.chunks_exact_mut(n));
        for (&point, (values, derivatives)) in points.iter().zip(rows) {
            self.evaluate(point, values, derivatives);
        }
        table
    }

    /// Points at which the moments of a function are taken.
    pub fn moment_points(&self) -> Vec<[f64; 3]> {
        let all = self.moments.iter();
        all.flat_map(|m| m.points.iter().copied()).collect()
    }

    /// The moments of a reference function with these values at
    /// [`moment_points`](Self::moment_points): its degrees of freedom as the cell sees them.
    ///
    /// # Panics
    /// If an array is too short.
    pub fn moments(&self, values: &[[f64; 3]], out: &mut [f64]) {
        let (mut first, mut next) = (0, 0);
        for m in &self.moments {
            for i in 0..m.count {
                out[next] = m.apply(i, |q| values[first + q]);
                next += 1;
            }
            first += m.points.len();
        }
    }

    /// Between shared functions and those of the cell on entities of dimension `dim`, edges (1) or
    /// faces (2). Functions in the interior are not shared.
    ///
    /// # Panics
    /// If `dim` is neither 1 nor 2.
    pub fn orientations(&self, dim: usize) -> &Orientations {
        &self.orientations[dim - 1]
    }

    /// How a cell with these global vertices sees its edges and faces, in [`CellKind`]'s order of the
    /// entities that functions are shared on: one bit for an edge, three for a face.
    pub fn orientation(&self, cell_vertices: &[u32]) -> u32 {
        let (mut code, mut shift) = (0, 0);
        for dim in 1..self.kind.dim() {
            for index in 0..self.kind.entity_count(dim) {
                code |= (orientation_of(self.kind, dim, index, cell_vertices) as u32) << shift;
                shift += orientation_bits(dim);
            }
        }
        code
    }
}

/// Bits of the orientation of an edge or face.
pub(crate) fn orientation_bits(dim: usize) -> usize {
    if dim == 1 { 1 } else { 3 }
}

fn orientation_of(kind: CellKind, dim: usize, index: usize, cell_vertices: &[u32]) -> usize {
    let mut global = [0; 4];
    let vertices = kind.entity_vertices(dim, index);
    for (g, &v) in global.iter_mut().zip(vertices) {
        *g = cell_vertices[v as usize];
    }
    moments::orientation(&global[..vertices.len()])
}

/// Functions of the largest element, the Nédélec element of degree 3 on a hex.
const MAX_FUNCTIONS: usize = 144;
/// Rounding errors of matrices between orientations stay well below this, their entries above.
const ROUNDING: f64 = 1e-11;

fn tidy(a: Vec<f64>) -> Vec<f64> {
    let near = |v: f64| (v - v.round()).abs() < ROUNDING && v.round().abs() <= 1.0;
    // The sum turns a negative zero into a positive one.
    let one = |v: f64| if near(v) { v.round() + 0.0 } else { v };
    a.into_iter().map(one).collect()
}

/// What an element spans and what it is tested with.
struct Spans {
    own: Span,
    /// On edges and on faces.
    boundary: [Option<(Trace, Span)>; 2],
    interior: Span,
}

impl Spans {
    fn new(family: VectorFamily, kind: CellKind, k: usize) -> Spans {
        let at_least = |degree: usize, span: fn(usize) -> Span| match k.checked_sub(degree) {
            Some(p) => span(p),
            None => Span::Empty,
        };
        // Lowest degrees of the spans below are 1.
        let positive = |degree: usize, span: fn(usize) -> Span| match k.checked_sub(degree) {
            Some(p) if p > 0 => span(p),
            _ => Span::Empty,
        };
        let tensor = |own: usize, other: usize| match (k.checked_sub(own), k.checked_sub(other)) {
            (Some(own), Some(other)) => Span::Tensor { own, other },
            _ => Span::Empty,
        };
        let edge = |degree: usize| Some((Trace::Tangential, Span::Scalar(degree)));
        let across = |degree: usize| {
            let moments = Some((Trace::Normal, Span::Scalar(degree)));
            if kind.dim() == 2 {
                [moments, None]
            } else {
                [None, moments]
            }
        };
        let face = |span: Span| (kind.dim() == 3).then_some((Trace::Tangential, span));
        let flat = kind.dim() == 2;
        match (family, kind.is_tensor()) {
            (VectorFamily::Nedelec, false) => Spans {
                own: Span::Curl(k),
                boundary: [edge(k - 1), face(at_least(2, Span::Full))],
                interior: at_least(if flat { 2 } else { 3 }, Span::Full),
            },
            (VectorFamily::Nedelec, true) => Spans {
                own: Span::Tensor {
                    own: k - 1,
                    other: k,
                },
                boundary: [edge(k - 1), face(tensor(1, 2))],
                interior: tensor(1, 2),
            },
            (VectorFamily::RaviartThomas, false) => Spans {
                own: Span::Divergence(k),
                boundary: across(k - 1),
                interior: at_least(2, Span::Full),
            },
            (VectorFamily::RaviartThomas, true) => Spans {
                own: Span::Tensor {
                    own: k,
                    other: k - 1,
                },
                boundary: across(k - 1),
                interior: tensor(2, 1),
            },
            (VectorFamily::BrezziDouglasMarini, _) => Spans {
                own: Span::Full(k),
                boundary: across(k),
                interior: positive(1, Span::Curl),
            },
            (VectorFamily::NedelecSecond, _) => Spans {
                own: Span::Full(k),
                boundary: [edge(k), face(positive(1, Span::Divergence))],
                interior: positive(if flat { 1 } else { 2 }, Span::Divergence),
            },
        }
    }

    /// All moments as the cell sees them. Rules are exact for products with the element's functions.
    fn moments(&self, kind: CellKind, k: usize) -> Result<Vec<Moments>, ElementError> {
        let mut out = Vec::new();
        for dim in 1..kind.dim() {
            let Some((trace, span)) = self.boundary[dim - 1].filter(|b| b.1 != Span::Empty) else {
                continue;
            };
            for index in 0..kind.entity_count(dim) {
                let entity = Entity {
                    dim: dim as u8,
                    index: index as u8,
                };
                out.push(boundary_moments(kind, entity, 0, trace, span, 2 * k)?);
            }
        }
        if self.interior != Span::Empty {
            out.push(interior_moments(kind, self.interior, 2 * k)?);
        }
        Ok(out)
    }
}

/// Coefficients, function by function, of the polynomials that are dual to the moments.
fn dual(span: Span, kind: CellKind, moments: &[Moments], n: usize) -> Vec<f64> {
    let mut basis = vec![VectorJet::ZERO; n];
    // matrix[j * n + i] is moment i of polynomial j, so that coefficients × matrix = identity.
    let mut matrix = vec![0.0; n * n];
    let mut first = 0;
    for m in moments {
        for (q, &point) in m.points.iter().enumerate() {
            span.evaluate(kind, point, &mut basis);
            for i in 0..m.count {
                let w = m.weights[i * m.points.len() + q];
                for (j, jet) in basis.iter().enumerate() {
                    let u = jet.value;
                    matrix[j * n + first + i] += w[0] * u[0] + w[1] * u[1] + w[2] * u[2];
                }
            }
        }
        first += m.count;
    }
    let mut coefficients = inverse(matrix, n);
    for c in &mut coefficients {
        // What is rounding only would cost time in every evaluation.
        if c.abs() < ROUNDING {
            *c = 0.0;
        }
    }
    coefficients
}
