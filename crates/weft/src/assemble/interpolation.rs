//! Interpolation of expressions into nodes.

use super::error::{AssembleError, check_current};
use super::integral::Rule;
use super::nodes::{NodePlaces, Place};
use super::samples::{Samples, domain};
use super::values::check_shape;
use crate::field::Field;
use crate::form::{Expr, FormError, Measure};
use crate::space::Space;
use rayon::prelude::*;

/// Nodes that one task works on.
pub(super) const NODES: usize = 512;

/// What a node gets of the values that an expression has there in several elements.
///
/// Expressions with derivatives, cell data or discontinuous fields have another value in each cell
/// that shares the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The mean weighted by the measure density at the node times the [weight of the
    /// node](crate::element::Element::node_weights): a projection with lumped mass.
    #[default]
    WeightedAverage,
    /// The mean over the elements.
    Mean,
    /// The sum over the elements.
    Sum,
    /// The largest value, component by component (of a tensor each stored number); not a number if one is
    /// not.
    Max,
    /// The smallest value, chosen as the largest.
    Min,
    /// The value in the element of the smallest number.
    First,
}

impl Reduction {
    /// Factor of one of `count` values of this weight; those of a weighted average are to be divided
    /// by the sum of weights.
    pub(super) fn factor(self, count: usize, weight: f64) -> f64 {
        match self {
            Reduction::WeightedAverage => weight,
            Reduction::Mean => 1.0 / count as f64,
            _ => 1.0,
        }
    }

    /// What the factors of a node's values are to be divided by.
    pub(super) fn total(self, places: &[Place], samples: &Samples) -> f64 {
        match self {
            Reduction::WeightedAverage => places.iter().map(|p| samples.at_place(p).1).sum(),
            _ => 1.0,
        }
    }

    /// The one of `count` values that decides, if one does.
    pub(super) fn chosen(self, count: usize, value: impl Fn(usize) -> f64) -> Option<usize> {
        if self == Reduction::First {
            return Some(0);
        }
        let better = |best, k| match self.prefers(value(k), value(best)) {
            true => k,
            false => best,
        };
        self.selects().then(|| (1..count).fold(0, better))
    }

    /// Whether `new` takes the place of `old`.
    fn prefers(self, new: f64, old: f64) -> bool {
        match self {
            _ if old.is_nan() => false,
            _ if new.is_nan() => true,
            Reduction::Max => new > old,
            Reduction::Min => new < old,
            _ => false,
        }
    }

    /// Whether one element is chosen by its value.
    pub(super) fn selects(self) -> bool {
        matches!(self, Reduction::Max | Reduction::Min)
    }
}

/// Interpolation of an expression into the nodes of a space, as often as wanted.
///
/// Nodes of which no element of the measure knows keep their values. On sides the nodes are those on
/// them, of both neighbours if the space is discontinuous; restrict the expression
/// ([`Expr::inside`], [`Expr::outside`]) for a one-sided value.
///
/// ```
/// use weft::assemble::{InterpolationPlan, Reduction};
/// use weft::field::Field;
/// use weft::form::{Expr, Measure};
/// use weft::geometry::Grid2;
/// use weft::space::Space;
///
/// let grid = Grid2::unit([2, 2])?;
/// let space = Space::lagrange(&grid, 1)?;
/// let number = Expr::cell_data("number", vec![0.0, 1.0, 2.0, 3.0]);
/// let field = Field::zeros(&space);
/// let mut plan = InterpolationPlan::new(&number, &space, &Measure::cells(&grid), Reduction::Max)?;
/// plan.interpolate(&field)?;
/// assert_eq!(field.values()[4], 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InterpolationPlan {
    samples: Samples,
    places: NodePlaces,
    space: Space,
    reduction: Reduction,
    /// For each degree of freedom of a node the coefficients that it comes from.
    sources: Vec<Source>,
    /// Room for the degrees of freedom of a field.
    values: Vec<f64>,
}

/// Coefficients, those that are not zero, with their factors.
pub(super) type Source = Vec<(usize, f64)>;

/// Where each degree of freedom of a node of `space` comes from.
pub(super) fn sources(space: &Space, samples: &Samples) -> Vec<Source> {
    let source = |dof| {
        let parts = space.value().components_of(dof);
        let of = |component| samples.slots.iter().position(|s| s.component == component);
        parts
            .filter_map(|(c, factor)| Some((of(c)?, factor)))
            .collect()
    };
    (0..space.components()).map(source).collect()
}

/// The degree of freedom that comes from `source`.
pub(super) fn value_of(source: &Source, coefficients: &[f64]) -> f64 {
    source
        .iter()
        .map(|&(k, factor)| factor * coefficients[k])
        .sum()
}

impl InterpolationPlan {
    /// Plan the interpolation of `expression` into the nodes of `space` on the elements of `measure`,
    /// whose degree means nothing here. Functions of splines don't have the values at their nodes, so
    /// what is interpolated into them is smoothed.
    ///
    /// # Errors
    /// For another shape than that of the space, test and trial functions, another geometry than that
    /// of the measure, and spaces without nodes: those of H(curl) and H(div), which
    /// [`interpolate`](super::interpolate) takes moments for.
    pub fn new(
        expression: &Expr,
        space: &Space,
        measure: &Measure,
        reduction: Reduction,
    ) -> Result<InterpolationPlan, AssembleError> {
        check_shape(expression, space)?;
        let held = expression.held();
        if held.test.is_some() || held.trial.is_some() {
            return Err(FormError::Arguments(format!(
                "test and trial functions have no values; in `{expression}`"
            ))
            .into());
        }
        check_target(space, measure)?;
        let places = NodePlaces::new(space, measure)?;
        let rule = Rule::Given(&places.points, &places.weights);
        let samples = Samples::new(expression, measure, rule)?;
        Ok(InterpolationPlan {
            sources: sources(space, &samples),
            values: vec![0.0; space.dof_count()],
            samples,
            places,
            space: space.clone(),
            reduction,
        })
    }

    /// The space of the nodes.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Number of nodes that some element of the measure has.
    pub fn reached(&self) -> usize {
        let all = 0..self.places.node_count();
        all.filter(|&n| !self.places.of(n).is_empty()).count()
    }

    /// Write the values of the nodes that are reached, with fields and parameters as they are, into
    /// the degrees of freedom of the space. Allocates nothing; the same bits for any number of
    /// threads. A node whose cells all have measure zero keeps its value in a weighted average.
    ///
    /// # Errors
    /// If `values` has another length, or the mesh was rebuilt.
    pub fn evaluate(&mut self, values: &mut [f64]) -> Result<(), AssembleError> {
        if values.len() != self.space.dof_count() {
            return Err(AssembleError::Target {
                what: "the array of degrees of freedom",
                got: values.len(),
                expected: self.space.dof_count(),
            });
        }
        self.samples.evaluate()?;
        let per_node = self.sources.len();
        let this = &*self;
        values
            .par_chunks_mut(NODES * per_node)
            .enumerate()
            .for_each(|(chunk, values)| {
                for (k, values) in values.chunks_exact_mut(per_node).enumerate() {
                    let places = this.places.of(chunk * NODES + k);
                    if !places.is_empty() {
                        this.reduce(places, values);
                    }
                }
            });
        Ok(())
    }

    /// [`evaluate`](Self::evaluate) into a field of the space.
    ///
    /// # Errors
    /// As there, and if the field is of another space.
    pub fn interpolate(&mut self, field: &Field) -> Result<(), AssembleError> {
        if !field.space().same(&self.space) {
            return Err(domain(
                "the field is of another space than the interpolation was planned for".to_owned(),
            ));
        }
        // The expression may hold the field itself, so it is not locked while that is evaluated.
        let mut values = std::mem::take(&mut self.values);
        values.copy_from_slice(&field.values());
        let result = self.evaluate(&mut values);
        field.values_mut().copy_from_slice(&values);
        self.values = values;
        result
    }

    fn reduce(&self, places: &[Place], out: &mut [f64]) {
        let at = |place: &Place| self.samples.at_place(place);
        let total = self.reduction.total(places, &self.samples);
        if total == 0.0 {
            return;
        }
        for (out, source) in out.iter_mut().zip(&self.sources) {
            let value = |place: &Place| value_of(source, at(place).0);
            let chosen = self.reduction.chosen(places.len(), |k| value(&places[k]));
            *out = match chosen {
                Some(k) => value(&places[k]),
                None => {
                    let share = |p: &Place| self.reduction.factor(places.len(), at(p).1);
                    places.iter().map(|p| share(p) * value(p)).sum::<f64>() / total
                }
            };
        }
    }
}

/// A target of interpolation has nodes and lives where the measure is.
pub(super) fn check_target(space: &Space, measure: &Measure) -> Result<(), AssembleError> {
    if let Some(element) = space.vector_element() {
        return Err(domain(format!(
            "a {} space has moments in place of nodes; use `interpolate` or `project`",
            element.family()
        )));
    }
    if space.particle_quadrature().is_some() {
        return Err(domain(
            "the nodes of a space of particles are not the same in all cells; use `interpolate`, or \
             `InterpolationMatrix::at_positions` for a matrix"
                .to_owned(),
        ));
    }
    if space.geometry().id() != measure.geometry.id() {
        return Err(domain(
            "the space lives on another geometry than the measure".to_owned(),
        ));
    }
    check_current(space)
}
