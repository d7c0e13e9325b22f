//! Bilinear forms between two meshes.

use super::error::{AssembleError, check_made};
use super::functions::Functions;
use super::integral::Rule;
use super::interpolation_matrix::pattern_of;
use super::nodes::by_row;
use super::samples::Samples;
use crate::form::{Form, FormError, SideOf};
use crate::geometry::Locator;
use crate::space::Space;
use crate::sparse::{BlockMatrix, Pattern};
use std::sync::Arc;

/// A coefficient with the slots that it multiplies.
struct Term {
    coefficient: usize,
    /// Numbers of slots of a test function, the one, and its component.
    test: (usize, usize, usize),
    /// The same of a trial function.
    trial: (usize, usize, usize),
}

/// A test function in an element.
struct Entry {
    element: u32,
    /// Number of the function.
    function: u16,
    /// 0 for functions of cells and inner cells, 1 for those of outer ones.
    side: u8,
    /// Its part in the function of the row; 1 unless nodes hang.
    part: f64,
}

/// One integral of the form.
struct Part {
    samples: Samples,
    test: [Option<Functions>; 2],
    trial: Functions,
    /// For each side of the test function.
    terms: [Vec<Term>; 2],
    /// Entries of each row.
    offsets: Vec<usize>,
    entries: Vec<Entry>,
}

/// The matrix of a bilinear form whose trial function lives on another geometry than its measure and
/// test function: at every point of quadrature the trial function is that of the cell which holds the
/// point's position; on a border between cells, that of the cell around the element's centre, or else
/// of the smallest number.
///
/// This is the coupling matrix of mortar methods, on cells or on sides. Rules know nothing of the other
/// mesh's borders: sums over columns and rows are as exact as with one mesh, single entries are
/// exact where cells of the measure lie within cells of the other geometry. Points
/// [outside](Self::outside) contribute nothing.
///
/// ```
/// use weft::assemble::CouplingPlan;
/// use weft::form::Expr;
/// use weft::geometry::{Grid2, Locator, shapes};
/// use weft::space::Space;
///
/// let (here, there) = (Grid2::unit([3, 3])?, shapes::rectangle_triangles([4, 4], [0.0; 2], [1.0; 2])?);
/// let v = Expr::test(&Space::lagrange(&here, 1)?);
/// let u = Expr::trial(&Space::lagrange(&there, 1)?);
/// let mut plan = CouplingPlan::new(&u.inner(&v).dx(&here), &Locator::new(&there))?;
/// let mut coupling = plan.matrix();
/// plan.assemble(&mut coupling)?;
/// assert!((coupling.values().iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CouplingPlan {
    parts: Vec<Part>,
    test: Space,
    trial: Space,
    pattern: Arc<Pattern>,
}

impl CouplingPlan {
    /// Plan `form`; `locator` is that of the trial function's geometry.
    ///
    /// # Errors
    /// For a form without test or trial function, particles, another locator, geometries in
    /// different dimensions of space.
    pub fn new(form: &Form, locator: &Locator) -> Result<CouplingPlan, AssembleError> {
        form.check()?;
        let (Some(test), Some(trial)) = (form.test_space(), form.trial_space()) else {
            return Err(FormError::Arguments(
                "a coupling needs a form with a test and a trial function".to_owned(),
            )
            .into());
        };
        let mut parts = Vec::new();
        for integral in &form.integrals {
            let samples = Samples::new(&integral.integrand, &integral.measure, Rule::Integrand)?;
            parts.push(Part::new(samples, &test, &trial, locator)?);
        }
        let columns = |row: usize| {
            let mut columns: Vec<u32> = Vec::new();
            for part in &parts {
                for entry in part.row(row) {
                    for q in 0..part.samples.points.len() {
                        part.trial
                            .collect_nodes(entry.element as usize, q, &mut columns);
                    }
                }
            }
            columns
        };
        let pattern = pattern_of(test.node_count(), trial.node_count(), columns)?;
        Ok(CouplingPlan {
            parts,
            test,
            trial,
            pattern: Arc::new(pattern),
        })
    }

    /// Space of the rows.
    pub fn test_space(&self) -> &Space {
        &self.test
    }

    /// Space of the columns.
    pub fn trial_space(&self) -> &Space {
        &self.trial
    }

    /// How many points of quadrature lie outside the trial function's geometry.
    pub fn outside(&self) -> usize {
        self.parts.iter().map(|p| p.trial.outside().0).sum()
    }

    /// A zero matrix to assemble into. All matrices of a plan share its pattern.
    pub fn matrix(&self) -> BlockMatrix {
        BlockMatrix::zeros(self.pattern.clone(), self.block())
    }

    fn block(&self) -> [usize; 2] {
        [self.test.components(), self.trial.components()]
    }

    /// Replace the values of `matrix`, with parameters and fields as they are. Allocates nothing;
    /// the same bits for any number of threads.
    ///
    /// # Errors
    /// For a matrix that this plan did not make; if a mesh was rebuilt or cells moved.
    pub fn assemble(&mut self, matrix: &mut BlockMatrix) -> Result<(), AssembleError> {
        check_made(matrix, &self.pattern, self.block())?;
        for part in &mut self.parts {
            part.samples.evaluate()?;
            part.trial.refresh(&part.samples)?;
            for functions in part.test.iter_mut().flatten() {
                functions.refresh(&part.samples)?;
            }
        }
        let block = matrix.block();
        let this = &*self;
        matrix.for_each_row_mut(|row, columns, values| {
            values.fill(0.0);
            for part in &this.parts {
                part.fill_row(row, columns, block, values);
            }
        });
        Ok(())
    }
}

impl Part {
    fn new(
        samples: Samples,
        test: &Space,
        trial: &Space,
        locator: &Locator,
    ) -> Result<Part, AssembleError> {
        let slots = || samples.slots.iter().enumerate();
        let of_trial = samples.slots.iter().filter_map(|s| s.trial);
        let of_trial: Vec<u8> = of_trial.map(|t| t.derivative).collect();
        let trial = Functions::located(trial, &samples, locator, of_trial.into_iter())?;
        let mut functions = [None, None];
        let mut terms = [Vec::new(), Vec::new()];
        for (side, of) in [SideOf::Inside, SideOf::Outside].into_iter().enumerate() {
            let here = slots().filter_map(|(k, s)| Some((k, s.test?, s.trial?)));
            let here: Vec<_> = here.filter(|(_, test, _)| test.side == of).collect();
            if here.is_empty() {
                continue;
            }
            let wanted = here.iter().map(|(_, test, _)| test.derivative);
            let own = Functions::here(test, &samples, side, wanted)?;
            terms[side] = here
                .iter()
                .map(|&(coefficient, t, r)| {
                    let (step, axis) = own.axis(t.derivative);
                    let (width, along) = trial.axis(r.derivative);
                    Term {
                        coefficient,
                        test: (step, axis, t.dof as usize),
                        trial: (width, along, r.dof as usize),
                    }
                })
                .collect();
            functions[side] = Some(own);
        }
        let mut all: Vec<(u32, Entry)> = Vec::new();
        let has_points = !samples.points.is_empty();
        for element in 0..samples.elements.len() {
            for (side, own) in functions.iter().enumerate() {
                let here = own.as_ref().filter(|_| has_points);
                let Some((nodes, _)) = here.and_then(|f| f.at(element, 0)) else {
                    continue;
                };
                for (function, &node) in nodes.iter().enumerate() {
                    all.extend(test.expansion(node).map(|(row, part)| {
                        let entry = Entry {
                            element: element as u32,
                            function: function as u16,
                            side: side as u8,
                            part,
                        };
                        (row, entry)
                    }));
                }
            }
        }
        // Stable: entries of a row stay in the order of elements.
        all.sort_by_key(|(row, _)| *row);
        let (offsets, entries) = by_row(test.node_count(), all);
        Ok(Part {
            samples,
            test: functions,
            trial,
            terms,
            offsets,
            entries,
        })
    }

    fn row(&self, row: usize) -> &[Entry] {
        &self.entries[self.offsets[row]..self.offsets[row + 1]]
    }

    fn fill_row(
        &self,
        row: usize,
        columns: &[u32],
        [height, width]: [usize; 2],
        values: &mut [f64],
    ) {
        for entry in self.row(row) {
            let (element, side) = (entry.element as usize, entry.side as usize);
            let Some(test) = &self.test[side] else {
                continue;
            };
            for q in 0..self.samples.points.len() {
                let own = test.at(element, q);
                let (Some((_, tests)), Some(trials)) = (own, self.trial.at(element, q)) else {
                    continue;
                };
                let (coefficients, weight) = self.samples.at(element, q);
                for term in &self.terms[side] {
                    let (step, axis, c) = term.test;
                    let slot = tests[entry.function as usize * step + axis];
                    let scale = weight * entry.part * coefficients[term.coefficient] * slot;
                    let (step, axis, d) = term.trial;
                    let add = |k, part, slot| {
                        values[(k * height + c) * width + d] += scale * part * slot;
                    };
                    self.trial.each_column(trials, (step, axis), columns, add);
                }
            }
        }
    }
}
