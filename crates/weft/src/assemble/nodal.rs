//! Nodal assembly: quadrature at the nodes of a space, so that vectors and matrices are lumped.

use super::error::{AssembleError, check_made};
use super::integral::Rule;
use super::interpolation::{NODES, check_target};
use super::nodes::NodePlaces;
use super::samples::{Samples, domain};
use crate::element::{CellKind, Element, Quadrature};
use crate::form::{DomainKind, Form, FormError};
use crate::space::Space;
use crate::sparse::{BlockMatrix, Pattern};
use rayon::prelude::*;
use std::sync::Arc;

/// One integral of the form, evaluated at nodes.
struct Part {
    samples: Samples,
    places: NodePlaces,
}

/// Nodal assembly of a linear or bilinear form over cells and boundary sides: every integral is a sum
/// over the nodes of the test space, weighted by the [weights of the
/// nodes](crate::element::Element::node_weights) times the measure there, as often as wanted.
///
/// A function of the space is 1 at its own node and 0 at all others, so a bilinear form has one
/// block for each node on the diagonal and none elsewhere: with ∫ u v the lumped mass matrix. For
/// positive coefficients it is positive, since the weights are. Sums are exact for polynomials to
/// [`node_rule_degree`], the product with the test function included.
///
/// ```
/// use weft::assemble::NodalPlan;
/// use weft::form::Expr;
/// use weft::geometry::Grid2;
/// use weft::space::Space;
///
/// let grid = Grid2::unit([8, 8])?;
/// let space = Space::lagrange(&grid, 2)?;
/// let (u, v) = (Expr::trial(&space), Expr::test(&space));
/// let mut plan = NodalPlan::new(&u.inner(&v).dx(&grid))?;
/// let mut mass = plan.matrix();
/// plan.assemble_matrix(&mut mass)?;
/// assert_eq!(mass.pattern().entry_count(), space.node_count());
/// assert!((mass.diagonal().iter().sum::<f64>() - 1.0).abs() < 1e-13);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NodalPlan {
    parts: Vec<Part>,
    space: Space,
    bilinear: bool,
    pattern: Arc<Pattern>,
    /// Entries of all nodes, if some hang.
    all: Vec<f64>,
}

impl NodalPlan {
    /// Plan `form`, which holds a test function and may hold the trial function of the same space.
    ///
    /// # Errors
    /// For spaces whose functions do not vanish at the other nodes or that have no nodes; for
    /// derivatives of the test or trial function, which do not vanish there; for interior sides and
    /// particles; for bilinear forms where nodes hang, since these couple with their masters; for
    /// sides on which the nodes make no rule.
    pub fn new(form: &Form) -> Result<NodalPlan, AssembleError> {
        form.check()?;
        let arguments = |message: String| AssembleError::from(FormError::Arguments(message));
        let Some(space) = form.test_space() else {
            return Err(arguments(
                "nodal assembly needs a form with a test function".to_owned(),
            ));
        };
        let bilinear = match form.trial_space() {
            None => false,
            Some(trial) if trial.same(&space) => true,
            Some(_) => {
                return Err(arguments(
                    "nodal assembly needs test and trial functions of one space".to_owned(),
                ));
            }
        };
        if !space.element().is_nodal() && space.vector_basis().is_none() {
            return Err(domain(format!(
                "functions of a {} do not vanish at each other's nodes, so nodal assembly is not for them",
                space.element().name()
            )));
        }
        if bilinear && !space.hanging().is_empty() {
            return Err(domain(
                "nodes that hang couple with their masters, so nodal matrices are not block-diagonal; assemble the form with `matrix`"
                    .to_owned(),
            ));
        }
        let mut parts = Vec::new();
        for integral in &form.integrals {
            let (measure, integrand) = (&integral.measure, &integral.integrand);
            if measure.kind == DomainKind::InteriorSides {
                return Err(domain(format!(
                    "nodal assembly is over cells and boundary sides, not over the interior sides of `{integrand}`"
                )));
            }
            check_target(&space, measure)?;
            let places = NodePlaces::with_hanging(&space, measure)?;
            if !places.full {
                return Err(domain(format!(
                    "the nodes of a {} make no rule on the sides of `{integrand}`",
                    space.element().name()
                )));
            }
            let rule = Rule::Given(&places.points, &places.weights);
            let samples = Samples::new(integrand, measure, rule)?;
            let slots = samples.slots.iter();
            let mut slots = slots.flat_map(|s| s.test.into_iter().chain(s.trial));
            if slots.any(|slot| slot.derivative > 0) {
                return Err(domain(format!(
                    "derivatives of test and trial functions do not vanish at other nodes, so nodal assembly is not for `{integrand}`"
                )));
            }
            parts.push(Part { samples, places });
        }
        let all = match space.hanging().is_empty() {
            true => Vec::new(),
            false => vec![0.0; space.all_node_count() * space.components()],
        };
        let pattern = Pattern::diagonal(space.node_count()).map_err(|e| domain(e.to_string()))?;
        Ok(NodalPlan {
            parts,
            space,
            bilinear,
            pattern: Arc::new(pattern),
            all,
        })
    }

    /// The space of the test function.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// A zero matrix with one block for each node. All matrices of a plan share its pattern.
    pub fn matrix(&self) -> BlockMatrix {
        let n = self.space.components();
        BlockMatrix::zeros(self.pattern.clone(), [n, n])
    }

    /// Replace `vector`, one entry for each degree of freedom, by a linear form with parameters and
    /// fields as they are. Allocates nothing; the same bits for any number of threads.
    ///
    /// # Errors
    /// For a bilinear form or another length; if the mesh was rebuilt.
    pub fn assemble_vector(&mut self, vector: &mut [f64]) -> Result<(), AssembleError> {
        self.check_kind(false)?;
        if vector.len() != self.space.dof_count() {
            return Err(AssembleError::Target {
                what: "the vector",
                got: vector.len(),
                expected: self.space.dof_count(),
            });
        }
        if self.all.is_empty() {
            return self.run(vector, 1);
        }
        let mut all = std::mem::take(&mut self.all);
        let result = self.run(&mut all, 1);
        self.space.fold_hanging(&all, vector);
        self.all = all;
        result
    }

    /// Replace the values of `matrix` by a bilinear form, in the same way.
    ///
    /// # Errors
    /// For a linear form, or a matrix that this plan did not make; if the mesh was rebuilt.
    pub fn assemble_matrix(&mut self, matrix: &mut BlockMatrix) -> Result<(), AssembleError> {
        self.check_kind(true)?;
        let n = self.space.components();
        check_made(matrix, &self.pattern, [n, n])?;
        self.run(matrix.values_mut(), n)
    }

    fn check_kind(&self, bilinear: bool) -> Result<(), AssembleError> {
        if self.bilinear == bilinear {
            return Ok(());
        }
        let message = match bilinear {
            true => "a nodal matrix needs a form with a trial function",
            false => "a nodal vector needs a form without a trial function",
        };
        Err(FormError::Arguments(message.to_owned()).into())
    }

    /// Sums over the places of each node, in their order: `[node][test component][trial component]`.
    fn run(&mut self, out: &mut [f64], columns: usize) -> Result<(), AssembleError> {
        out.fill(0.0);
        let size = self.space.components() * columns;
        for part in &mut self.parts {
            part.samples.evaluate()?;
            let part = &*part;
            let chunks = out.par_chunks_mut(NODES * size).enumerate();
            chunks.for_each(|(chunk, out)| {
                for (k, block) in out.chunks_exact_mut(size).enumerate() {
                    for place in part.places.of(chunk * NODES + k) {
                        let (element, point) = (place.element as usize, place.point as usize);
                        let (coefficients, weight) = part.samples.at(element, point);
                        for (slot, value) in part.samples.slots.iter().zip(coefficients) {
                            let row = slot.test.map_or(0, |t| t.dof as usize);
                            let column = slot.trial.map_or(0, |t| t.dof as usize);
                            block[row * columns + column] += weight * value;
                        }
                    }
                }
            });
        }
        Ok(())
    }
}

/// The highest total degree to which the [weights of an element's
/// nodes](crate::element::Element::node_weights) integrate all polynomials exactly.
///
/// On simplices of degree 2 it is 1: there the weights that are exact for the functions are zero at
/// the vertices (negative in space), so no positive ones are exact for all of degree 2. Triangles of
/// degree 3 and Gauss-Lobatto nodes on tensor cells do better.
pub fn node_rule_degree(element: &Element) -> usize {
    /// No rule of this library's elements reaches further.
    const MOST: usize = 24;
    let Ok(weights) = element.node_weights() else {
        return 0;
    };
    let kind = element.kind();
    let sum = |points: &[[f64; 3]], weights: &[f64], power: [i32; 3]| -> f64 {
        let term = |x: &[f64; 3]| (0..3).map(|d| (x[d] - 0.3).powi(power[d])).product::<f64>();
        points.iter().zip(weights).map(|(x, w)| w * term(x)).sum()
    };
    let exact = |degree: usize| {
        let Ok(rule) = Quadrature::new(kind, degree) else {
            return false;
        };
        powers(kind, degree as i32).all(|power| {
            let truth = sum(rule.points(), rule.weights(), power);
            (sum(element.nodes(), &weights, power) - truth).abs() < 1e-12
        })
    };
    (1..=MOST).find(|&d| !exact(d)).map_or(MOST, |d| d - 1)
}

/// Exponents of the monomials of a total degree.
fn powers(kind: CellKind, degree: i32) -> impl Iterator<Item = [i32; 3]> {
    let dim = kind.dim();
    let all = (0..=degree).flat_map(move |a| (0..=degree - a).map(move |b| [a, b, degree - a - b]));
    all.filter(move |p| p[dim.max(1)..].iter().all(|&e| e == 0))
}
