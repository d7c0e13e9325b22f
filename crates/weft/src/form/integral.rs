//! Forms: sums of integrals over cells, boundary sides and interior sides.

use super::error::FormError;
use super::expr::{Expr, Held, mixed};
use crate::element::RuleFamily;
use crate::field::Field;
use crate::geometry::Geometry;
use crate::particle::ParticleQuadrature;
use crate::space::Space;
use std::sync::Arc;

/// Kind of elements that an integral runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DomainKind {
    /// Cells (`dx`).
    Cells,
    /// Sides with one cell (`ds`).
    BoundarySides,
    /// Sides between two cells (`dS`).
    InteriorSides,
}

/// Which elements of the kind take part.
#[derive(Clone, Debug)]
pub enum Subset {
    /// All of them.
    All,
    /// Those in any of the named groups.
    Tagged(Vec<String>),
    /// Those listed: cell or side numbers of the geometry. The list is owned, so it cannot
    /// dangle.
    Listed(Arc<[u32]>),
    /// Those whose entry is true; one entry for each cell or side of the geometry.
    Masked(Arc<[bool]>),
}

/// Where to integrate, and how finely.
#[derive(Clone, Debug)]
pub struct Measure {
    pub(crate) kind: DomainKind,
    pub(crate) geometry: Arc<dyn Geometry>,
    pub(crate) subset: Subset,
    pub(crate) degree: Option<usize>,
    pub(crate) family: Option<RuleFamily>,
    pub(crate) particles: Option<ParticleQuadrature>,
}

impl Measure {
    pub(crate) fn new(kind: DomainKind, geometry: Arc<dyn Geometry>) -> Measure {
        Measure {
            kind,
            geometry,
            subset: Subset::All,
            degree: None,
            family: None,
            particles: None,
        }
    }

    /// All cells.
    pub fn cells<G: Geometry + Clone + 'static>(geometry: &G) -> Measure {
        Measure::new(DomainKind::Cells, Arc::new(geometry.clone()))
    }

    /// All sides of one cell only.
    pub fn boundary<G: Geometry + Clone + 'static>(geometry: &G) -> Measure {
        Measure::new(DomainKind::BoundarySides, Arc::new(geometry.clone()))
    }

    /// All sides between two cells.
    pub fn interior<G: Geometry + Clone + 'static>(geometry: &G) -> Measure {
        Measure::new(DomainKind::InteriorSides, Arc::new(geometry.clone()))
    }

    /// Only elements in the group `name` (of cells or of sides). Repeat to add groups.
    pub fn tagged(mut self, name: &str) -> Measure {
        match &mut self.subset {
            Subset::Tagged(names) => names.push(name.to_owned()),
            other => *other = Subset::Tagged(vec![name.to_owned()]),
        }
        self
    }

    /// Only the listed elements: cell or side numbers, in any order, without repetition.
    pub fn listed(mut self, elements: impl Into<Arc<[u32]>>) -> Measure {
        self.subset = Subset::Listed(elements.into());
        self
    }

    /// Only elements whose entry in the mask is true; one entry for each cell or side.
    pub fn masked(mut self, mask: impl Into<Arc<[bool]>>) -> Measure {
        self.subset = Subset::Masked(mask.into());
        self
    }

    /// Whether both select the same elements and the same rule.
    fn same(&self, other: &Measure) -> bool {
        let subsets = match (&self.subset, &other.subset) {
            (Subset::All, Subset::All) => true,
            (Subset::Tagged(a), Subset::Tagged(b)) => a == b,
            (Subset::Listed(a), Subset::Listed(b)) => Arc::ptr_eq(a, b),
            (Subset::Masked(a), Subset::Masked(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        let points = match (&self.particles, &other.particles) {
            (None, None) => true,
            (Some(a), Some(b)) => a.same(b),
            _ => false,
        };
        subsets
            && points
            && self.kind == other.kind
            && self.degree == other.degree
            && self.family == other.family
            && self.geometry.id() == other.geometry.id()
    }

    /// Use a rule exact to this degree instead of the estimated one.
    pub fn degree(mut self, degree: usize) -> Measure {
        self.degree = Some(degree);
        self
    }

    /// Use the rule of a family on segments, quads and hexes instead of Gauss points, for
    /// instance [Gauss-Lobatto](RuleFamily::GaussLobatto) points, which include the vertices. A
    /// degree that the family does not reach is an error at planning, and so is a family that has
    /// no rule on the cells.
    pub fn family(mut self, family: RuleFamily) -> Measure {
        self.family = Some(family);
        self
    }

    /// Sum over the particles in the selected cells instead of using a rule. Weights are the
    /// particles' volumes. The particles are those of the quadrature at assembly; a
    /// [`degree`](Measure::degree) means nothing here.
    pub fn on_particles(mut self, particles: &ParticleQuadrature) -> Measure {
        self.particles = Some(particles.clone());
        self
    }
}

/// One integrand over one domain.
#[derive(Clone, Debug)]
pub(crate) struct Integral {
    pub measure: Measure,
    pub integrand: Expr,
}

/// A sum of integrals that all hold the same test and trial functions.
///
/// Without arguments it is a functional, with a test function a linear form, with both a
/// bilinear form.
#[derive(Clone, Debug)]
pub struct Form {
    pub(crate) integrals: Vec<Integral>,
    error: Option<FormError>,
}

impl Form {
    /// The empty sum.
    pub fn zero() -> Form {
        Form {
            integrals: Vec::new(),
            error: None,
        }
    }

    fn failed(error: FormError) -> Form {
        Form {
            integrals: Vec::new(),
            error: Some(error),
        }
    }

    pub(crate) fn integral(integrand: &Expr, measure: Measure) -> Form {
        if let Some(e) = integrand.error() {
            return Form::failed(e.clone());
        }
        if !integrand.shape().is_scalar() {
            return Form::failed(FormError::NotScalar {
                expression: integrand.to_string(),
                shape: integrand.shape().to_string(),
            });
        }
        if integrand.is_zero() {
            return Form::zero();
        }
        Form {
            integrals: vec![Integral {
                measure,
                integrand: integrand.clone(),
            }],
            error: None,
        }
    }

    /// `Ok` if every part is valid.
    pub fn check(&self) -> Result<(), FormError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn held(&self) -> Held {
        self.integrals
            .first()
            .map(|i| i.integrand.held().clone())
            .unwrap_or_default()
    }

    /// Space of the test function, if there is one.
    pub fn test_space(&self) -> Option<Space> {
        self.held().test
    }

    /// Space of the trial function, if there is one.
    pub fn trial_space(&self) -> Option<Space> {
        self.held().trial
    }

    /// Whether no integral is left.
    pub fn is_zero(&self) -> bool {
        self.integrals.is_empty() && self.error.is_none()
    }

    fn combine(mut self, other: Form) -> Form {
        if let Some(e) = self.error.or(other.error) {
            return Form::failed(e);
        }
        self.error = None;
        if let (Some(a), Some(b)) = (self.integrals.first(), other.integrals.first())
            && !a.integrand.held().same(b.integrand.held())
        {
            return Form::failed(mixed(&a.integrand, &b.integrand));
        }
        for new in other.integrals {
            let same = |old: &&mut Integral| old.measure.same(&new.measure);
            match self.integrals.iter_mut().find(same) {
                // One pass over the elements for both, unless the sum grows too deep.
                Some(old) if (&old.integrand + &new.integrand).error().is_none() => {
                    old.integrand = &old.integrand + &new.integrand;
                }
                _ => self.integrals.push(new),
            }
        }
        self.integrals.retain(|i| !i.integrand.is_zero());
        self
    }

    fn map(&self, f: impl Fn(&Expr) -> Expr) -> Form {
        let start = Form {
            integrals: Vec::new(),
            error: self.error.clone(),
        };
        self.integrals.iter().fold(start, |sum, i| {
            sum.combine(Form::integral(&f(&i.integrand), i.measure.clone()))
        })
    }

    /// Gateaux derivative of every integrand, see [`Expr::deriv`].
    pub fn deriv(&self, field: &Field, direction: &Expr) -> Form {
        self.map(|e| e.deriv(field, direction))
    }

    /// A bilinear form with `field` put in for the trial function: a linear form.
    pub fn action(&self, field: &Field) -> Form {
        match self.trial_space() {
            Some(space) if space.shape() == field.space().shape() => {}
            Some(space) => {
                return Form::failed(FormError::Arguments(format!(
                    "the field put in is a {}, the trial function a {}",
                    field.space().shape(),
                    space.shape()
                )));
            }
            None => {
                let message = "the form has no trial function to put a field in for";
                return Form::failed(FormError::Arguments(message.to_owned()));
            }
        }
        self.map(|e| e.with_trial(field))
    }
}

impl Expr {
    /// Integral over all cells.
    pub fn dx<G: Geometry + Clone + 'static>(&self, geometry: &G) -> Form {
        Form::integral(self, Measure::cells(geometry))
    }

    /// Integral over the boundary sides called `tag`.
    pub fn ds<G: Geometry + Clone + 'static>(&self, geometry: &G, tag: &str) -> Form {
        Form::integral(self, Measure::boundary(geometry).tagged(tag))
    }

    /// Integral over any [`Measure`].
    pub fn over(&self, measure: &Measure) -> Form {
        Form::integral(self, measure.clone())
    }
}

impl std::ops::Add for Form {
    type Output = Form;
    fn add(self, other: Form) -> Form {
        self.combine(other)
    }
}

impl std::ops::Sub for Form {
    type Output = Form;
    fn sub(self, other: Form) -> Form {
        self.combine(-other)
    }
}

impl std::ops::Neg for Form {
    type Output = Form;
    fn neg(self) -> Form {
        self.map(|e| -e)
    }
}

impl std::ops::Mul<Form> for f64 {
    type Output = Form;
    fn mul(self, form: Form) -> Form {
        form.map(|e| self * e)
    }
}
