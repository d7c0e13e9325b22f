//! The functionals that define the elements: moments on edges, on faces and in the interior.
//!
//! Each moment is taken in coordinates of its edge or face that start at a chosen vertex, so that two
//! cells which choose by global vertex numbers mean the same functional.

use super::super::{CellKind, ElementError, Entity, Quadrature};
use super::span::{Span, VectorJet};

/// What a moment on an edge or face takes of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Trace {
    /// The components along the entity.
    Tangential,
    /// The component across it, times its measure density.
    Normal,
}

/// The moments on one entity: moment `i` of `u` is the sum over points of `weights[i][point] · u`.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    pub entity: Entity,
    pub count: usize,
    pub points: Vec<[f64; 3]>,
    /// `[moment * points + point]`.
    pub weights: Vec<[f64; 3]>,
}

impl Moments {
    /// Moment `i` of a function given at the points.
    pub(super) fn apply(&self, i: usize, u: impl Fn(usize) -> [f64; 3]) -> f64 {
        let n = self.points.len();
        let weights = &self.weights[i * n..(i + 1) * n];
        let terms = weights.iter().enumerate().map(|(q, w)| {
            let u = u(q);
            w[0] * u[0] + w[1] * u[1] + w[2] * u[2]
        });
        terms.sum()
    }
}

/// Number of ways to see an entity with this many vertices.
pub(super) fn orientation_count(vertices: usize) -> usize {
    [1, 1, 2, 6, 8][vertices]
}

const TRIANGLES: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

/// Vertices that start the coordinates of an entity: the origin, and the end of each axis.
/// Orientation 0 is that of the entity's own vertices.
fn axes(vertices: usize, orientation: usize) -> [usize; 3] {
    match vertices {
        2 => [orientation, 1 - orientation, 0],
        3 => TRIANGLES[orientation],
        _ => {
            let origin = orientation / 2;
            let (next, previous) = ((origin + 1) % 4, (origin + 3) % 4);
            if orientation.is_multiple_of(2) {
                [origin, next, previous]
            } else {
                [origin, previous, next]
            }
        }
    }
}

/// How an entity with these global vertices is seen: edges run from the smaller to the larger
/// vertex, triangles have sorted vertices, quads start at the smallest vertex and their first axis
/// leads to its smaller neighbour.
pub(super) fn orientation(global: &[u32]) -> usize {
    match *global {
        [a, b] => (a > b) as usize,
        [a, b, c] => match (a < b, b < c, a < c) {
            (true, true, _) => 0,
            (true, false, true) => 1,
            (false, _, true) => 2,
            (true, false, false) => 4,
            (false, true, false) => 3,
            (false, false, false) => 5,
        },
        [_, _, _, _] => {
            let origin = (1..4).fold(0, |m, v| if global[v] < global[m] { v } else { m });
            let flipped = global[(origin + 3) % 4] < global[(origin + 1) % 4];
            2 * origin + flipped as usize
        }
        _ => 0,
    }
}

/// The moments on an edge or face against the polynomials of `span` in its coordinates, as seen in
/// `orientation`. `degree` is that of the rule.
pub(super) fn boundary_moments(
    cell: CellKind,
    entity: Entity,
    orientation: usize,
    trace: Trace,
    span: Span,
    degree: usize,
) -> Result<Moments, ElementError> {
    let vertices = cell.entity_vertices(entity.dim as usize, entity.index as usize);
    let kind = match vertices.len() {
        2 => CellKind::Segment,
        3 => CellKind::Triangle,
        _ => CellKind::Quad,
    };
    let corner = |i: usize| cell.vertices()[vertices[i] as usize];
    let [origin, first, second] = axes(vertices.len(), orientation).map(corner);
    let axis = |to: [f64; 3]| [0, 1, 2].map(|d| to[d] - origin[d]);
    let (s, t) = (axis(first), axis(second));
    let normal = match kind {
        CellKind::Segment => [s[1], -s[0], 0.0],
        _ => [
            s[1] * t[2] - s[2] * t[1],
            s[2] * t[0] - s[0] * t[2],
            s[0] * t[1] - s[1] * t[0],
        ],
    };
    let rule = Quadrature::new(kind, degree)?;
    let count = span.len(kind);
    let mut test = vec![VectorJet::ZERO; count];
    let mut points = Vec::with_capacity(rule.len());
    let mut weights = vec![[0.0; 3]; count * rule.len()];
    for (q, (&x, &w)) in rule.points().iter().zip(rule.weights()).enumerate() {
        span.evaluate(kind, x, &mut test);
        points.push([0, 1, 2].map(|d| origin[d] + x[0] * s[d] + x[1] * t[d]));
        let w = w * kind.reference_measure();
        for (i, test) in test.iter().enumerate() {
            weights[i * rule.len() + q] = [0, 1, 2].map(|d| match (trace, kind) {
                (Trace::Normal, _) => w * test.value[0] * normal[d],
                (Trace::Tangential, CellKind::Segment) => w * test.value[0] * s[d],
                (Trace::Tangential, _) => w * (test.value[0] * s[d] + test.value[1] * t[d]),
            });
        }
    }
    Ok(Moments {
        entity,
        count,
        points,
        weights,
    })
}

/// The moments over the cell against the vector polynomials of `span`.
pub(super) fn interior_moments(
    cell: CellKind,
    span: Span,
    degree: usize,
) -> Result<Moments, ElementError> {
    let rule = Quadrature::new(cell, degree)?;
    let count = span.len(cell);
    let mut test = vec![VectorJet::ZERO; count];
    let mut weights = vec![[0.0; 3]; count * rule.len()];
    for (q, (&x, &w)) in rule.points().iter().zip(rule.weights()).enumerate() {
        span.evaluate(cell, x, &mut test);
        for (i, test) in test.iter().enumerate() {
            weights[i * rule.len() + q] = test.value.map(|v| w * cell.reference_measure() * v);
        }
    }
    Ok(Moments {
        entity: Entity {
            dim: cell.dim() as u8,
            index: 0,
        },
        count,
        points: rule.points().to_vec(),
        weights,
    })
}
