//! Plans: what does not change between assemblies of one form.

use super::coupling::{Condensation, Nodes, pattern, place};
use super::engine::{Sink, Snapshot, run_chunk};
use super::error::AssembleError;
use super::integral::{IntegralPlan, Parts, Points};
use super::lanes::Lane;
use super::scatter::Shared;
use crate::form::{Expr, Form, FormError, Integral, Measure, Shape};
use crate::geometry::{Geometry, MapClass};
use crate::memory::Pool;
use crate::space::Space;
use crate::sparse::{BlockMatrix, Pattern};
use rayon::prelude::*;
use std::sync::Arc;

/// The integrals of a form with the memory that assembly needs besides block arrays.
struct Plan {
    integrals: Vec<IntegralPlan>,
    uniforms: Vec<f64>,
    fields: Vec<Vec<f64>>,
    sums: Vec<f64>,
    pool: Pool,
}

impl Plan {
    fn new(form: &Form) -> Result<Plan, AssembleError> {
        form.check()?;
        let integrals = form
            .integrals
            .iter()
            .map(|i| IntegralPlan::new(i, Points::Quadrature))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Plan::with(integrals))
    }

    fn with(integrals: Vec<IntegralPlan>) -> Plan {
        let most = |f: &dyn Fn(&IntegralPlan) -> usize| integrals.iter().map(f).max().unwrap_or(0);
        let uniforms = vec![0.0; most(&|i| i.program.uniforms.len())];
        let sums = vec![0.0; most(&|i| i.colours.iter().map(Vec::len).sum())];
        // One array for each field of the integral that has most; grown to fit on first use.
        let fields = vec![Vec::new(); most(&|i| i.program.fields.len())];
        let pool = Pool::default_pool().clone();
        for integral in &integrals {
            // Block arrays of all threads at once: whichever thread does what in the first
            // assembly, later ones find what they need.
            let threads = 0..rayon::current_num_threads();
            let _held: Vec<_> = threads
                .map(|_| pool.borrow_dirty::<Lane>(integral.layout.total()))
                .collect();
        }
        Plan {
            integrals,
            uniforms,
            fields,
            sums,
            pool,
        }
    }

    /// Run integral `number` into `target`; returns the total of the chunks' sums.
    fn run(&mut self, number: usize, target: &mut [f64]) -> Result<f64, AssembleError> {
        let plan = &self.integrals[number];
        if !Arc::ptr_eq(&plan.topology, &plan.geometry.topology()) {
            return Err(AssembleError::MeshRebuilt);
        }
        let map = plan.geometry.map();
        plan.program.evaluate_uniforms(&mut self.uniforms);
        // A copy of the values as they are now: nothing that runs later can change them.
        for (copy, field) in self.fields.iter_mut().zip(&plan.program.fields) {
            let values = field.values();
            copy.clear();
            copy.extend_from_slice(&values);
            field.space().append_hanging(copy);
        }
        let snapshot = Snapshot {
            nodes: &map.nodes,
            cell_nodes: &map.cell_nodes,
            // Asked for each time: moved vertices may bend cells that were straight.
            stride: (plan.geometry.map_class() == MapClass::General) as usize,
            uniforms: &self.uniforms,
            fields: &self.fields,
        };
        let out = Shared::new(target);
        let sums = Shared::new(&mut self.sums);
        let mut first = 0;
        for colour in &plan.colours {
            colour
                .par_iter()
                .enumerate()
                .with_max_len(1)
                .for_each(|(k, chunk)| {
                    let sink = match &plan.parts {
                        Parts::Matrix(_) => Sink::Matrix(&out),
                        Parts::Vector(_) => Sink::Vector(&out),
                        Parts::Scalar(_) => Sink::Scalar(&sums, first + k),
                        Parts::Values(_) => Sink::Values(&out),
                    };
                    run_chunk(plan, chunk.clone(), &snapshot, &self.pool, sink);
                });
            first += colour.len();
        }
        if matches!(plan.parts, Parts::Scalar(_)) {
            return Ok(self.sums[..first].iter().sum());
        }
        Ok(0.0)
    }

    fn run_all(&mut self, target: &mut [f64]) -> Result<(), AssembleError> {
        for number in 0..self.integrals.len() {
            self.run(number, target)?;
        }
        Ok(())
    }
}

/// Plan of a bilinear form: pattern, tables, and where every local entry goes.
///
/// `assemble` may be called as often as parameters, fields or positions change; it allocates
/// nothing and gives the same bits for any number of threads.
pub struct MatrixPlan {
    plan: Plan,
    pattern: Arc<Pattern>,
    block: [usize; 2],
    test: Space,
    trial: Space,
    /// If a space has hanging nodes.
    condensation: Option<Condensation>,
}

impl MatrixPlan {
    /// Plan `form`, which holds a test and a trial function.
    pub fn new(form: &Form) -> Result<MatrixPlan, AssembleError> {
        form.check()?;
        let (Some(test), Some(trial)) = (form.test_space(), form.trial_space()) else {
            return Err(FormError::Arguments(
                "a matrix needs a form with a test and a trial function".to_owned(),
            )
            .into());
        };
        let mut plan = Plan::new(form)?;
        let block = [test.components(), trial.components()];
        let all = Arc::new(pattern(&plan.integrals, &test, &trial, Nodes::All)?);
        for integral in &mut plan.integrals {
            place(integral, &test, &trial, &all);
        }
        let (pattern, condensation) = if test.hanging().is_empty() && trial.hanging().is_empty() {
            (all, None)
        } else {
            let free = Arc::new(pattern(&plan.integrals, &test, &trial, Nodes::Free)?);
            let all = BlockMatrix::zeros(all, block);
            let condensation = Condensation::new(all, &test, &trial, &free);
            (free, Some(condensation))
        };
        Ok(MatrixPlan {
            plan,
            pattern,
            block,
            test,
            trial,
            condensation,
        })
    }

    /// A zero matrix to assemble into. All matrices of a plan share its pattern.
    pub fn matrix(&self) -> BlockMatrix {
        BlockMatrix::zeros(self.pattern.clone(), self.block)
    }

    /// Space of the rows.
    pub fn test_space(&self) -> &Space {
        &self.test
    }

    /// Space of the columns.
    pub fn trial_space(&self) -> &Space {
        &self.trial
    }

    /// Replace the values of `matrix` by the form with its parameters and fields as they are.
    pub fn assemble(&mut self, matrix: &mut BlockMatrix) -> Result<(), AssembleError> {
        if !Arc::ptr_eq(matrix.pattern(), &self.pattern) {
            return Err(AssembleError::Target {
                what: "a matrix that this plan did not make",
                got: matrix.values().len(),
                expected: self.pattern.entry_count() * self.block[0] * self.block[1],
            });
        }
        match &mut self.condensation {
            None => {
                matrix.fill_zero();
                self.plan.run_all(matrix.values_mut())?;
            }
            Some(condensation) => {
                condensation.all.fill_zero();
                self.plan.run_all(condensation.all.values_mut())?;
                condensation.condense(matrix.values_mut());
            }
        }
        Ok(())
    }
}

/// Plan of a linear form.
pub struct VectorPlan {
    plan: Plan,
    test: Space,
    /// Entries of all nodes, if some hang.
    all: Vec<f64>,
}

impl VectorPlan {
    /// Plan `form`, which holds a test function only.
    pub fn new(form: &Form) -> Result<VectorPlan, AssembleError> {
        form.check()?;
        match (form.test_space(), form.trial_space()) {
            (Some(test), None) => {
                let all = match test.hanging().is_empty() {
                    true => Vec::new(),
                    false => vec![0.0; test.all_node_count() * test.components()],
                };
                Ok(VectorPlan {
                    plan: Plan::new(form)?,
                    test,
                    all,
                })
            }
            _ => Err(FormError::Arguments(
                "a vector needs a form with a test function and no trial function".to_owned(),
            )
            .into()),
        }
    }

    /// Space of the entries.
    pub fn test_space(&self) -> &Space {
        &self.test
    }

    /// Replace `vector`, one entry for each degree of freedom of the test space.
    pub fn assemble(&mut self, vector: &mut [f64]) -> Result<(), AssembleError> {
        if vector.len() != self.test.dof_count() {
            return Err(AssembleError::Target {
                what: "the vector",
                got: vector.len(),
                expected: self.test.dof_count(),
            });
        }
        if self.test.hanging().is_empty() {
            vector.fill(0.0);
            return self.plan.run_all(vector);
        }
        self.all.fill(0.0);
        self.plan.run_all(&mut self.all)?;
        self.test.fold_hanging(&self.all, vector);
        Ok(())
    }
}

/// Plan of a functional.
pub struct ScalarPlan {
    plan: Plan,
}

impl ScalarPlan {
    /// Plan `form`, which holds neither test nor trial function.
    pub fn new(form: &Form) -> Result<ScalarPlan, AssembleError> {
        form.check()?;
        if form.test_space().is_some() || form.trial_space().is_some() {
            return Err(FormError::Arguments(
                "a number needs a form without test and trial functions".to_owned(),
            )
            .into());
        }
        Ok(ScalarPlan {
            plan: Plan::new(form)?,
        })
    }

    /// The value with parameters and fields as they are.
    pub fn evaluate(&mut self) -> Result<f64, AssembleError> {
        let mut total = 0.0;
        for number in 0..self.plan.integrals.len() {
            let part = self.plan.run(number, &mut [])?;
            if !part.is_finite() {
                let text = self.plan.integrals[number].text.clone();
                return Err(AssembleError::NotFinite(text));
            }
            total += part;
        }
        Ok(total)
    }
}

/// Values of an expression at points of every cell, evaluated as often as wanted.
pub struct PointPlan {
    plan: Plan,
    len: usize,
    shape: Shape,
}

impl PointPlan {
    /// Plan `expression` at the given reference coordinates of all cells of `geometry`.
    pub fn new(
        expression: &Expr,
        geometry: &Arc<dyn Geometry>,
        points: &[[f64; 3]],
    ) -> Result<PointPlan, AssembleError> {
        let all = Measure::new(crate::form::DomainKind::Cells, geometry.clone());
        PointPlan::over(expression, all, points)
    }

    /// As [`PointPlan::new`] for the listed cells only, each once. The array of values keeps its
    /// layout; [`PointPlan::evaluate`] leaves the values of other cells as they are.
    pub fn on_cells(
        expression: &Expr,
        geometry: &Arc<dyn Geometry>,
        cells: &[u32],
        points: &[[f64; 3]],
    ) -> Result<PointPlan, AssembleError> {
        let all = Measure::new(crate::form::DomainKind::Cells, geometry.clone());
        PointPlan::over(expression, all.listed(cells), points)
    }

    fn over(
        expression: &Expr,
        measure: Measure,
        points: &[[f64; 3]],
    ) -> Result<PointPlan, AssembleError> {
        expression.check()?;
        let held = expression.held();
        if held.test.is_some() || held.trial.is_some() {
            return Err(FormError::Arguments(format!(
                "test and trial functions have no values; in `{expression}`"
            ))
            .into());
        }
        let integral = Integral {
            measure,
            integrand: expression.clone(),
        };
        let plan = IntegralPlan::new(&integral, Points::Listed(points))?;
        let shape = expression.shape();
        let len = plan.topology.cell_count() * points.len() * shape.len();
        Ok(PointPlan {
            plan: Plan::with(vec![plan]),
            len,
            shape,
        })
    }

    /// Shape of a value.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Numbers that [`PointPlan::evaluate`] writes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Write all values: `[cell][point][component]`.
    pub fn evaluate(&mut self, out: &mut [f64]) -> Result<(), AssembleError> {
        if out.len() != self.len {
            return Err(AssembleError::Target {
                what: "the array of values",
                got: out.len(),
                expected: self.len,
            });
        }
        self.plan.run_all(out)
    }
}
