//! Functions that belong to points of a cell: one for each point of a rule.
//!
//! Main type: [`Kernel`], the function of the distance from a point.

use super::basis::Hessian;
use super::entities::{Entities, Entity};
use super::nodal::Parts;
use super::{CellKind, ElementError, Quadrature};
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// Points closer than this in reference coordinates are the same point.
const SAME: f64 = 1e-6;

/// Most points of a cell that have functions.
pub const MAX_POINTS: usize = 4096;

/// Value and two derivatives of a radial function by the squared distance.
type Radial = dyn Fn(f64) -> [f64; 3] + Send + Sync;

/// What a function of a [point element](super::Element::new_points) is at a distance from its point,
/// in reference coordinates.
#[derive(Clone, Default)]
pub struct Kernel(Option<Arc<Shape>>);

struct Shape {
    name: String,
    function: Box<Radial>,
}

impl Kernel {
    /// 1 at the point itself and 0 at the others; without values anywhere else. Integrals are sums
    /// over the points, and matrices without derivatives are diagonal.
    pub fn dirac() -> Kernel {
        Kernel(None)
    }

    /// exp(−r²/`radius`²).
    ///
    /// # Errors
    /// If the radius is not positive and finite.
    pub fn gaussian(radius: f64) -> Result<Kernel, ElementError> {
        let inverse = (radius * radius).recip();
        if !(radius > 0.0 && inverse > 0.0 && inverse.is_finite()) {
            return Err(ElementError::KernelRadius(radius.to_string()));
        }
        Ok(Kernel::radial("Gaussian", move |square| {
            let value = (-square * inverse).exp();
            [value, -inverse * value, inverse * inverse * value]
        }))
    }

    /// Any smooth function of the squared distance r²: it returns its value and its first and second
    /// derivatives by r². Nothing normalises it. `name` is for messages.
    pub fn radial(
        name: &str,
        function: impl Fn(f64) -> [f64; 3] + Send + Sync + 'static,
    ) -> Kernel {
        Kernel(Some(Arc::new(Shape {
            name: name.to_owned(),
            function: Box::new(function),
        })))
    }

    /// Whether there are values at the points only.
    pub fn is_dirac(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both are the same function, as far as can be known.
    fn same(&self, other: &Kernel) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Debug for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_ref().map_or("Dirac", |shape| &shape.name))
    }
}

/// A function for each point of a rule.
#[derive(Clone, Debug)]
pub(super) struct PointBasis {
    rule: Quadrature,
    kernel: Kernel,
}

impl PointBasis {
    pub fn rule(&self) -> &Quadrature {
        &self.rule
    }

    pub fn is_dirac(&self) -> bool {
        self.kernel.is_dirac()
    }

    /// Degree that stands for the functions: of the rule, since a function that its points do not
    /// resolve is not meant.
    pub fn degree(&self) -> usize {
        match self.kernel.is_dirac() || self.rule.kind() == CellKind::Point {
            true => 0,
            false => self.rule.degree(),
        }
    }

    pub fn same(&self, other: &PointBasis) -> bool {
        self.rule.points() == other.rule.points() && self.kernel.same(&other.kernel)
    }

    /// Whether the functions have values at a point.
    pub fn holds(&self, x: [f64; 3]) -> bool {
        !self.is_dirac()
            || self
                .rule
                .points()
                .iter()
                .any(|p| square(*p, x) < SAME * SAME)
    }

    pub fn evaluate(&self, x: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        for (i, p) in self.rule.points().iter().enumerate() {
            let square = square(*p, x);
            (values[i], gradients[i]) = match &self.kernel.0 {
                None => (f64::from(square < SAME * SAME), [0.0; 3]),
                Some(shape) => {
                    let [value, slope, _] = (shape.function)(square);
                    let gradient = std::array::from_fn(|d| 2.0 * (x[d] - p[d]) * slope);
                    (value, gradient)
                }
            };
        }
    }

    /// With d = x − p and the kernel k(d·d), the second derivatives are 2k' δ_ab + 4k'' d_a d_b.
    pub fn hessians(&self, x: [f64; 3], hessians: &mut [Hessian]) {
        let dim = self.rule.kind().dim();
        for (p, hessian) in self.rule.points().iter().zip(hessians) {
            *hessian = [[0.0; 3]; 3];
            let Some(shape) = &self.kernel.0 else {
                continue;
            };
            let [_, slope, bend] = (shape.function)(square(*p, x));
            for a in 0..dim {
                for b in 0..dim {
                    hessian[a][b] = 4.0 * bend * (x[a] - p[a]) * (x[b] - p[b]);
                }
                hessian[a][a] += 2.0 * slope;
            }
        }
    }
}

/// `most` functions of particles, in a cell that has as many at most. They are known by number only,
/// so they are 0 wherever they are evaluated, and an assembly says which is 1 at a particle.
pub(super) fn particles(kind: CellKind, most: usize) -> Parts<usize> {
    Parts {
        nodes: vec![kind.center(); most],
        entities: inside(kind, most),
        basis: most,
    }
}

/// Nodes in the interior of a cell.
fn inside(kind: CellKind, count: usize) -> Entities {
    let cell = Entity {
        dim: kind.dim() as u8,
        index: 0,
    };
    let places = vec![(cell, [0; 3]); count];
    let closures = vec![Vec::new(); kind.side_count()];
    Entities::of_nodes(kind, [0; 4], &places, closures)
}

fn square(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|d| (a[d] - b[d]).powi(2)).sum()
}

/// Functions of the points of a rule, all of the cell's interior.
pub(super) fn points(
    rule: &Quadrature,
    kernel: &Kernel,
) -> Result<Parts<PointBasis>, ElementError> {
    let kind = rule.kind();
    let nodes = rule.points().to_vec();
    if !(1..=MAX_POINTS).contains(&nodes.len()) {
        return Err(ElementError::PointCount {
            kind,
            points: nodes.len(),
            max: MAX_POINTS,
        });
    }
    for (i, a) in nodes.iter().enumerate() {
        let twin = nodes[..i]
            .iter()
            .position(|b| square(*a, *b) < 4.0 * SAME * SAME);
        if let Some(first) = twin {
            return Err(ElementError::SamePoints {
                kind,
                first,
                second: i,
            });
        }
    }
    Ok(Parts {
        entities: inside(kind, nodes.len()),
        nodes,
        basis: PointBasis {
            rule: rule.clone(),
            kernel: kernel.clone(),
        },
    })
}
