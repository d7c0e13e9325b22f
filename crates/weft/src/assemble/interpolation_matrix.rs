//! Interpolation as a sparse matrix.

use super::error::{AssembleError, check_made};
use super::functions::Functions;
use super::integral::Rule;
use super::interpolation::{Reduction, Source, check_target, sources, value_of};
use super::moment_matrix::moment_matrix;
use super::nodes::{NodePlaces, Place};
use super::samples::{Samples, domain};
use super::values::check_shape;
use crate::field::Field;
use crate::form::{DomainKind, Expr, FormError, Measure, SideOf};
use crate::geometry::Locator;
use crate::particle::{Cloud, ParticleQuadrature};
use crate::space::Space;
use crate::sparse::{BlockMatrix, Pattern};
use rayon::prelude::*;
use std::sync::Arc;

/// Part of a row: a coefficient times a slot of the trial functions.
struct Term {
    factor: f64,
    coefficient: usize,
    /// Whose functions.
    functions: usize,
    /// Numbers of slots of a function, and the one.
    axis: (usize, usize),
    /// Component at the trial node.
    dof: usize,
}

/// The matrix from the degrees of freedom of a trial function to the values of an expression that is
/// linear in it: at the nodes of a space, at points of every element, or at free points.
///
/// For [`Reduction::Max`] and [`Reduction::Min`] the row of a node is that of the element which is
/// chosen by the values at present: the derivative where there is one.
///
/// ```
/// use weft::assemble::{InterpolationMatrix, Reduction};
/// use weft::form::{Expr, Measure};
/// use weft::geometry::Grid2;
/// use weft::space::Space;
///
/// let grid = Grid2::unit([4, 4])?;
/// let (coarse, fine) = (Space::lagrange(&grid, 1)?, Space::lagrange(&grid, 3)?);
/// let u = Expr::trial(&coarse);
/// let plan = InterpolationMatrix::new(&u, &fine, &Measure::cells(&grid), Reduction::First);
/// let matrix = plan?.assembled()?;
/// let mut ones = vec![0.0; fine.dof_count()];
/// matrix.multiply(&vec![1.0; coarse.dof_count()], &mut ones)?;
/// assert!(ones.iter().all(|v| (v - 1.0).abs() < 1e-14));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InterpolationMatrix {
    samples: Samples,
    /// Values that choose an element.
    choice: Option<(Samples, Vec<Source>)>,
    rows: NodePlaces,
    reduction: Reduction,
    functions: Vec<Functions>,
    /// For each component of a row.
    terms: Vec<Vec<Term>>,
    trial: Space,
    pattern: Arc<Pattern>,
}

impl InterpolationMatrix {
    /// Rows are the nodes of `space` on the elements of `measure`, as in
    /// [`InterpolationPlan::new`](super::InterpolationPlan::new); those that no element has are empty.
    /// `expression` is linear in a trial function on the same geometry.
    ///
    /// # Errors
    /// As there; for an expression without a trial function, and for maxima and minima, which need
    /// values to choose by: use [`derivative`](Self::derivative).
    pub fn new(
        expression: &Expr,
        space: &Space,
        measure: &Measure,
        reduction: Reduction,
    ) -> Result<InterpolationMatrix, AssembleError> {
        InterpolationMatrix::at_nodes(expression, space, measure, reduction, None)
    }

    /// As [`new`](Self::new), with a trial function on another geometry, of which `locator` is: its
    /// value at a node is that at the node's position. Nodes [outside](Self::outside) have empty rows.
    ///
    /// # Errors
    /// As there, and for another locator or another dimension of space.
    pub fn across(
        expression: &Expr,
        space: &Space,
        measure: &Measure,
        reduction: Reduction,
        locator: &Locator,
    ) -> Result<InterpolationMatrix, AssembleError> {
        InterpolationMatrix::at_nodes(expression, space, measure, reduction, Some(locator))
    }

    fn at_nodes(
        expression: &Expr,
        space: &Space,
        measure: &Measure,
        reduction: Reduction,
        locator: Option<&Locator>,
    ) -> Result<InterpolationMatrix, AssembleError> {
        check_shape(expression, space)?;
        let trial = trial_of(expression)?;
        if reduction.selects() {
            return Err(FormError::Arguments(format!(
                "a maximum or minimum needs values to choose by; use `derivative` for `{expression}`"
            ))
            .into());
        }
        check_target(space, measure)?;
        let rows = NodePlaces::new(space, measure)?;
        let rule = Rule::Given(&rows.points, &rows.weights);
        let samples = Samples::new(expression, measure, rule)?;
        let parts = dof_sources(space);
        InterpolationMatrix::build(samples, rows, parts, trial, reduction, locator)
    }

    /// The derivative of the interpolation of `expression` by the degrees of freedom of `field`, at
    /// the values that the field has when the matrix is assembled. The expression need not be linear.
    ///
    /// # Errors
    /// As [`new`](Self::new); if the expression can't be differentiated.
    pub fn derivative(
        expression: &Expr,
        field: &Field,
        space: &Space,
        measure: &Measure,
        reduction: Reduction,
    ) -> Result<InterpolationMatrix, AssembleError> {
        check_shape(expression, space)?;
        check_target(space, measure)?;
        let trial = field.space().clone();
        let rows = NodePlaces::new(space, measure)?;
        let rule = Rule::Given(&rows.points, &rows.weights);
        let slope = expression.deriv(field, &Expr::trial(&trial));
        let samples = Samples::new(&slope, measure, rule)?;
        let choice = match reduction.selects() {
            false => None,
            true => {
                let values = Samples::new(expression, measure, rule)?;
                let sources = sources(space, &values);
                Some((values, sources))
            }
        };
        let parts = dof_sources(space);
        let mut matrix = InterpolationMatrix::build(samples, rows, parts, trial, reduction, None)?;
        matrix.choice = choice;
        Ok(matrix)
    }

    /// Rows are the points with reference coordinates `points` of the elements of `measure`: all of
    /// the first element, then of the second. Blocks have a row for each component of the expression.
    ///
    /// # Errors
    /// For an expression without a trial function.
    pub fn at_points(
        expression: &Expr,
        measure: &Measure,
        points: &[[f64; 3]],
    ) -> Result<InterpolationMatrix, AssembleError> {
        InterpolationMatrix::at_points_across(expression, measure, points, None)
    }

    /// The same with a trial function on the geometry of `locator`, if there is one.
    fn at_points_across(
        expression: &Expr,
        measure: &Measure,
        points: &[[f64; 3]],
        locator: Option<&Locator>,
    ) -> Result<InterpolationMatrix, AssembleError> {
        let trial = trial_of(expression)?;
        let weights = vec![1.0; points.len()];
        let samples = Samples::new(expression, measure, Rule::Given(points, &weights))?;
        let rows = NodePlaces::points(samples.elements.len(), points.len());
        let parts = component_sources(expression);
        InterpolationMatrix::build(samples, rows, parts, trial, Reduction::First, locator)
    }

    /// Rows are free points, given by their positions, in the geometry of the trial function. Points
    /// in no cell have empty rows.
    ///
    /// # Errors
    /// For an expression without a trial function; for more points than can be counted.
    pub fn at_positions(
        expression: &Expr,
        positions: &[[f64; 3]],
    ) -> Result<InterpolationMatrix, AssembleError> {
        let trial = trial_of(expression)?;
        let particles = free_points(trial.geometry().clone(), positions)?;
        let samples = Samples::at_particles(expression, &particles)?;
        let rows = NodePlaces::points(positions.len(), 1);
        let parts = component_sources(expression);
        InterpolationMatrix::build(samples, rows, parts, trial, Reduction::First, None)
    }

    /// `parts`: for each component of a row the components of the expression, with their factors.
    fn build(
        samples: Samples,
        rows: NodePlaces,
        parts: Vec<Vec<(usize, f64)>>,
        trial: Space,
        reduction: Reduction,
        locator: Option<&Locator>,
    ) -> Result<InterpolationMatrix, AssembleError> {
        let slots = || samples.slots.iter().enumerate();
        let mut functions: Vec<Functions> = Vec::new();
        let mut numbers = [0; 2];
        for (side, of) in [SideOf::Inside, SideOf::Outside].into_iter().enumerate() {
            let here = slots().filter_map(|(_, s)| s.trial.filter(|t| t.side == of));
            let wanted: Vec<u8> = here.map(|t| t.derivative).collect();
            if wanted.is_empty() {
                continue;
            }
            numbers[side] = functions.len();
            let wanted = wanted.into_iter();
            functions.push(match locator {
                None => Functions::here(&trial, &samples, side, wanted)?,
                Some(locator) => Functions::located(&trial, &samples, locator, wanted)?,
            });
        }
        let term = |coefficient: usize, factor: f64| {
            let slot = samples.slots[coefficient].trial?;
            let number = numbers[usize::from(slot.side == SideOf::Outside)];
            Some(Term {
                factor,
                coefficient,
                functions: number,
                axis: functions[number].axis(slot.derivative),
                dof: slot.dof as usize,
            })
        };
        let row = |parts: &Vec<(usize, f64)>| {
            let terms = parts.iter().flat_map(|&(component, factor)| {
                let own = slots().filter(move |(_, s)| s.component == component);
                own.filter_map(move |(k, _)| term(k, factor))
            });
            terms.collect()
        };
        let terms = parts.iter().map(row).collect();
        let columns = |row: usize| {
            let mut columns: Vec<u32> = Vec::new();
            for place in rows.of(row) {
                for f in &functions {
                    f.collect_nodes(place.element as usize, place.point as usize, &mut columns);
                }
            }
            columns
        };
        let pattern = pattern_of(rows.node_count(), trial.node_count(), columns)?;
        Ok(InterpolationMatrix {
            samples,
            choice: None,
            rows,
            reduction,
            functions,
            terms,
            trial,
            pattern: Arc::new(pattern),
        })
    }

    /// The space of the columns.
    pub fn trial_space(&self) -> &Space {
        &self.trial
    }

    /// How many of the points that were looked for in another geometry are not in it.
    pub fn outside(&self) -> usize {
        self.functions.first().map_or(0, |f| f.outside().0)
    }

    /// An error if there are points [outside](Self::outside).
    pub(super) fn check_inside(&self) -> Result<(), AssembleError> {
        for functions in &self.functions {
            if let (count, Some(first)) = functions.outside() {
                let total = functions.point_count();
                return Err(AssembleError::Outside {
                    count,
                    total,
                    first,
                });
            }
        }
        Ok(())
    }

    /// A zero matrix to assemble into. All matrices of a plan share its pattern.
    pub fn matrix(&self) -> BlockMatrix {
        BlockMatrix::zeros(self.pattern.clone(), self.block())
    }

    fn block(&self) -> [usize; 2] {
        [self.terms.len(), self.trial.components()]
    }

    /// A matrix with the present values.
    ///
    /// # Errors
    /// As [`assemble`](Self::assemble).
    pub fn assembled(mut self) -> Result<BlockMatrix, AssembleError> {
        let mut matrix = self.matrix();
        self.assemble(&mut matrix)?;
        Ok(matrix)
    }

    /// Replace the values of `matrix`, with parameters and fields as they are. Allocates nothing
    /// unless cells moved; the same bits for any number of threads.
    ///
    /// # Errors
    /// For a matrix that this plan did not make; if the mesh was rebuilt; if cells moved and points
    /// are [located](Self::across) in other ones.
    pub fn assemble(&mut self, matrix: &mut BlockMatrix) -> Result<(), AssembleError> {
        check_made(matrix, &self.pattern, self.block())?;
        self.samples.evaluate()?;
        if let Some((values, _)) = &mut self.choice {
            values.evaluate()?;
        }
        for functions in &mut self.functions {
            functions.refresh(&self.samples)?;
        }
        let this = &*self;
        matrix.for_each_row_mut(|row, columns, values| {
            values.fill(0.0);
            let places = this.rows.of(row);
            if !columns.is_empty() {
                this.fill_row(places, columns, values);
            }
        });
        Ok(())
    }

    fn fill_row(&self, places: &[Place], columns: &[u32], values: &mut [f64]) {
        let [height, width] = self.block();
        let total = self.reduction.total(places, &self.samples);
        if total == 0.0 {
            return;
        }
        for (c, terms) in self.terms.iter().enumerate() {
            let used = match self.chosen(places, c) {
                Some(k) => &places[k..k + 1],
                None => places,
            };
            for place in used {
                let (coefficients, weight) = self.samples.at_place(place);
                let share = self.reduction.factor(places.len(), weight) / total;
                for term in terms {
                    let functions = &self.functions[term.functions];
                    let here = functions.at(place.element as usize, place.point as usize);
                    let Some(here) = here else { continue };
                    let scale = term.factor * share * coefficients[term.coefficient];
                    functions.each_column(here, term.axis, columns, |k, part, slot| {
                        values[(k * height + c) * width + term.dof] += scale * part * slot;
                    });
                }
            }
        }
    }

    /// The one place that decides component `c`, if one does.
    fn chosen(&self, places: &[Place], c: usize) -> Option<usize> {
        // Only maxima and minima ask, and they have values to choose by.
        let value = |k: usize| {
            self.choice.as_ref().map_or(0.0, |(samples, sources)| {
                value_of(&sources[c], samples.at_place(&places[k]).0)
            })
        };
        self.reduction.chosen(places.len(), value)
    }
}

fn trial_of(expression: &Expr) -> Result<Space, AssembleError> {
    expression.check()?;
    match (&expression.held().test, &expression.held().trial) {
        (None, Some(trial)) => Ok(trial.clone()),
        _ => Err(FormError::Arguments(format!(
            "the matrix of an interpolation needs an expression with a trial function only, not `{expression}`"
        ))
        .into()),
    }
}

/// For each degree of freedom of a node the components of a value, with their factors.
fn dof_sources(space: &Space) -> Vec<Vec<(usize, f64)>> {
    let all = 0..space.components();
    all.map(|dof| space.value().components_of(dof).collect())
        .collect()
}

/// For each component of an expression itself.
fn component_sources(expression: &Expr) -> Vec<Vec<(usize, f64)>> {
    let all = 0..expression.shape().len();
    all.map(|c| vec![(c, 1.0)]).collect()
}

/// A pattern from the columns of each row, in any order and as often as they come.
pub(super) fn pattern_of(
    rows: usize,
    cols: usize,
    columns: impl Fn(usize) -> Vec<u32> + Send + Sync,
) -> Result<Pattern, AssembleError> {
    let sorted = |row| {
        let mut columns = columns(row);
        columns.sort_unstable();
        columns.dedup();
        columns
    };
    let all: Vec<Vec<u32>> = (0..rows).into_par_iter().map(sorted).collect();
    let mut offsets = vec![0; rows + 1];
    for (row, columns) in all.iter().enumerate() {
        offsets[row + 1] = offsets[row] + columns.len();
    }
    Pattern::new(rows, cols, offsets, all.concat()).map_err(|e| domain(e.to_string()))
}

/// Positions as particles of weight 1.
pub(super) fn free_points(
    geometry: Arc<dyn crate::geometry::Geometry>,
    positions: &[[f64; 3]],
) -> Result<ParticleQuadrature, AssembleError> {
    let particles = ParticleQuadrature::on(geometry);
    let ones = vec![1.0; positions.len()];
    particles
        .rebuild(&Cloud::new(positions, &ones))
        .map_err(|e| domain(e.to_string()))?;
    Ok(particles)
}

/// The matrix that takes functions of `coarse` to `fine`, by their values at its nodes, or their moments
/// if it is a space of H(curl) or H(div): exact if the spaces are nested, on one geometry or on one whose
/// cells lie within those of the other. Its [transpose](BlockMatrix::transpose) restricts residuals, and
/// with both A_H = Pᵀ A P.
///
/// # Errors
/// [`AssembleError::Outside`] if a node of `fine` lies outside the geometry of `coarse`; for other
/// shapes of value, and splines of degree 2 and more and radial functions as `fine`, whose degrees of
/// freedom are no values.
pub fn prolongation(coarse: &Space, fine: &Space) -> Result<BlockMatrix, AssembleError> {
    let u = Expr::trial(coarse);
    let here = coarse.geometry().id() == fine.geometry().id();
    let locator = (!here).then(|| Locator::new(&**coarse.geometry()));
    let cells = Measure::new(DomainKind::Cells, fine.geometry().clone());
    if let Some(basis) = fine.vector_basis() {
        check_shape(&u, fine)?;
        let points = basis.element().moment_points();
        let values = InterpolationMatrix::at_points_across(&u, &cells, &points, locator.as_ref())?;
        values.check_inside()?;
        let moments = moment_matrix(fine, basis)?;
        let product = moments.times(&values.assembled()?);
        return product.map_err(|e| domain(e.to_string()));
    }
    if !fine.element().is_nodal() {
        return Err(domain(format!(
            "the degrees of freedom of a {} are not values at its nodes, so these make no prolongation; \
             use `project`",
            fine.element().name()
        )));
    }
    let Some(locator) = locator else {
        return InterpolationMatrix::new(&u, fine, &cells, Reduction::First)?.assembled();
    };
    let plan = InterpolationMatrix::across(&u, fine, &cells, Reduction::First, &locator)?;
    plan.check_inside()?;
    plan.assembled()
}
