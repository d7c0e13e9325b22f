//! Plans: what does not change between assemblies of one form.

use super::coupling::{Condensation, Nodes, pattern, place};
use super::engine::{Sink, Snapshot, run_chunk};
use super::error::{AssembleError, check_made};
use super::integral::{IntegralPlan, Parts, Points};
use super::lanes::Lane;
use super::scatter::Shared;
use crate::Real;
use crate::form::{Expr, Form, FormError, Integral, Measure, Shape};
use crate::geometry::{Geometry, MapClass};
use crate::memory::Pool;
use crate::particle::{ParticleQuadrature, ParticleSamples};
use crate::space::Space;
use crate::sparse::{BlockMatrix, Pattern};
use rayon::prelude::*;
use std::sync::Arc;

/// The integrals of a form with the memory that assembly needs besides block arrays.
pub(super) struct Plan {
    pub integrals: Vec<IntegralPlan>,
    uniforms: Vec<f64>,
    fields: Vec<Vec<f64>>,
    particle_data: Vec<Vec<f64>>,
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

    pub fn with(integrals: Vec<IntegralPlan>) -> Plan {
        let most = |f: &dyn Fn(&IntegralPlan) -> usize| integrals.iter().map(f).max().unwrap_or(0);
        let uniforms = vec![0.0; most(&|i| i.program.uniforms.len())];
        let sums = vec![0.0; most(&|i| i.colours.iter().map(Vec::len).sum())];
        // One array for each field of the integral that has most; grown to fit on first use.
        let fields = vec![Vec::new(); most(&|i| i.program.fields.len())];
        let particle_data = vec![Vec::new(); most(&|i| i.program.particle_data.len())];
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
            particle_data,
            sums,
            pool,
        }
    }

    /// Run integral `number` into `target`; returns the total of the chunks' sums.
    fn run(&mut self, number: usize, target: &mut [f64]) -> Result<f64, AssembleError> {
        let particles = &self.integrals[number].particles;
        let samples = particles.as_ref().map(|p| p.quadrature.samples());
        self.run_on(number, samples.as_deref(), target)
    }

    /// As [`run`](Plan::run) over the particles as they were.
    fn run_on(
        &mut self,
        number: usize,
        samples: Option<&ParticleSamples>,
        target: &mut [f64],
    ) -> Result<f64, AssembleError> {
        let plan = &self.integrals[number];
        if !Arc::ptr_eq(&plan.topology, &plan.geometry.topology()) {
            return Err(AssembleError::MeshRebuilt);
        }
        if samples.is_some_and(|s| !Arc::ptr_eq(s.topology(), &plan.topology)) {
            return Err(AssembleError::StaleParticles);
        }
        let general = plan.geometry.map_class() == MapClass::General;
        let map = plan.geometry.map();
        plan.program.evaluate_uniforms(&mut self.uniforms);
        // A copy of the values as they are now: nothing that runs later can change them.
        for (copy, field) in self.fields.iter_mut().zip(&plan.program.fields) {
            let values = field.values();
            copy.clear();
            copy.extend_from_slice(&values);
            field.space().append_hanging(copy);
        }
        let particles = samples.map_or(0, ParticleSamples::particle_count);
        let points = plan.element_count() * plan.points;
        for (copy, data) in self
            .particle_data
            .iter_mut()
            .zip(&plan.program.particle_data)
        {
            let values = data.values();
            let at_points = data.is_at_points();
            let expected = if at_points { points } else { particles };
            if values.len() != expected * data.shape().len() {
                let (name, got) = (data.name().to_owned(), values.len() / data.shape().len());
                return Err(match at_points {
                    false => AssembleError::ParticleData {
                        name,
                        got,
                        expected,
                    },
                    true => AssembleError::PointData {
                        name,
                        got,
                        expected,
                        points: plan.points,
                    },
                });
            }
            copy.clear();
            copy.extend_from_slice(&values);
        }
        let snapshot = Snapshot {
            nodes: &map.nodes,
            cell_nodes: &map.cell_nodes,
            // Asked for each time: moved vertices may bend cells that were straight.
            stride: general as usize,
            uniforms: &self.uniforms,
            fields: &self.fields,
            particle_data: &self.particle_data,
            samples,
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
                        Parts::Values { .. } => Sink::Values(&out),
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

    pub fn run_all(&mut self, target: &mut [f64]) -> Result<(), AssembleError> {
        for number in 0..self.integrals.len() {
            self.run(number, target)?;
        }
        Ok(())
    }
}

/// Numbers that one thread zeroes or rounds at least.
const SERIAL: usize = 1 << 14;

/// Fills `target` itself if it is of `f64`, else by way of `sums`; it keeps its values on an error then.
fn fill_rounded<T: Real>(
    target: &mut [T],
    sums: &mut Vec<f64>,
    fill: impl FnOnce(&mut [f64]) -> Result<(), AssembleError>,
) -> Result<(), AssembleError> {
    if let Some(target) = T::doubles(target) {
        return fill(target);
    }
    sums.resize(target.len(), 0.0);
    fill(sums)?;
    let pairs = target.par_iter_mut().zip(&*sums).with_min_len(SERIAL);
    pairs.for_each(|(to, from)| *to = T::round(*from));
    Ok(())
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
    /// Sums for a matrix of `f32`.
    sums: Vec<f64>,
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
            sums: Vec::new(),
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

    /// Replace the values of `matrix` by the form with its parameters and fields as they are. A matrix
    /// of `f32` ([`BlockMatrix::to`]) gets the sums of `f64`, rounded once; they stay in the plan's memory.
    ///
    /// # Errors
    /// If the plan did not make the matrix, or the mesh was rebuilt since.
    pub fn assemble<T: Real>(&mut self, matrix: &mut BlockMatrix<T>) -> Result<(), AssembleError> {
        check_made(matrix, &self.pattern, self.block)?;
        let mut sums = std::mem::take(&mut self.sums);
        let done = fill_rounded(matrix.values_mut(), &mut sums, |v| self.fill(v));
        self.sums = sums;
        done
    }

    fn fill(&mut self, values: &mut [f64]) -> Result<(), AssembleError> {
        match &mut self.condensation {
            None => {
                values
                    .par_iter_mut()
                    .with_min_len(SERIAL)
                    .for_each(|v| *v = 0.0);
                self.plan.run_all(values)
            }
            Some(condensation) => {
                condensation.all.fill_zero();
                self.plan.run_all(condensation.all.values_mut())?;
                condensation.condense(values);
                Ok(())
            }
        }
    }
}

/// Plan of a linear form.
pub struct VectorPlan {
    plan: Plan,
    test: Space,
    /// Entries of all nodes, if some hang.
    all: Vec<f64>,
    /// Sums for a vector of `f32`.
    sums: Vec<f64>,
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
                    sums: Vec::new(),
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

    /// Replace `vector`, one entry for each degree of freedom of the test space. For `f32` sums of
    /// `f64` are rounded once.
    ///
    /// # Errors
    /// If the vector has the wrong length, or the mesh was rebuilt since.
    pub fn assemble<T: Real>(&mut self, vector: &mut [T]) -> Result<(), AssembleError> {
        if vector.len() != self.test.dof_count() {
            return Err(AssembleError::Target {
                what: "the vector",
                got: vector.len(),
                expected: self.test.dof_count(),
            });
        }
        let mut sums = std::mem::take(&mut self.sums);
        let done = fill_rounded(vector, &mut sums, |v| self.fill(v));
        self.sums = sums;
        done
    }

    fn fill(&mut self, vector: &mut [f64]) -> Result<(), AssembleError> {
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

/// Values of an expression at points of every cell or at particles, evaluated as often as wanted.
pub struct PointPlan {
    plan: Plan,
    place: Place,
    shape: Shape,
}

enum Place {
    /// In every cell: how many numbers.
    Cells(usize),
    /// At particles; room for values at samples, where a particle has several.
    Particles(ParticleQuadrature, Vec<f64>),
}

impl PointPlan {
    /// Plan `expression` at the given reference coordinates of all cells of `geometry`.
    pub fn new(
        expression: &Expr,
        geometry: &Arc<dyn Geometry>,
        points: &[[f64; 3]],
    ) -> Result<PointPlan, AssembleError> {
        let all = Measure::new(crate::form::DomainKind::Cells, geometry.clone());
        PointPlan::over(expression, all, Points::Listed(points))
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
        PointPlan::over(expression, all.listed(cells), Points::Listed(points))
    }

    /// Plan `expression` at points of the elements of `measure`, cells or sides, given by reference
    /// coordinates in them. [`PointPlan::evaluate`] writes `[element][point][component]` for the
    /// elements of the measure by ascending number.
    ///
    /// # Errors
    /// For test and trial functions, functions on another geometry, and particles.
    pub fn on_elements(
        expression: &Expr,
        measure: &Measure,
        points: &[[f64; 3]],
    ) -> Result<PointPlan, AssembleError> {
        if measure.particles.is_some() {
            return Err(FormError::Domain(format!(
                "points of elements are asked for `{expression}`, not particles; use `on_particles`"
            ))
            .into());
        }
        let mut plan = PointPlan::over(expression, measure.clone(), Points::Listed(points))?;
        let integral = &mut plan.plan.integrals[0];
        let count = integral.number_elements().len();
        plan.place = Place::Cells(count * integral.points * plan.shape.len());
        Ok(plan)
    }

    /// Plan `expression` at particles: those of the quadrature at each evaluation. The value of
    /// a particle that is spread over several samples is their mean, weighted by their shares.
    ///
    /// [`PointPlan::evaluate`] writes `[particle][component]` and leaves the values of particles
    /// that are inactive or in no cell as they are.
    pub fn on_particles(
        expression: &Expr,
        particles: &ParticleQuadrature,
    ) -> Result<PointPlan, AssembleError> {
        PointPlan::at_particles(expression, particles, false)
    }

    /// Plan the derivatives of Σ w f(x_p) with respect to the particles' positions: w ∇f(x_p) for
    /// the scalar `integrand` f. Weights and particle data are held fixed. On a border between
    /// cells, where ∇f may jump, it is that of the cell which the particle is sorted into.
    ///
    /// [`PointPlan::evaluate`] writes `[particle][axis]` and leaves the values of particles that
    /// are inactive or in no cell as they are. Integrands with a gradient of a discrete function
    /// have none, since second derivatives are not available.
    pub fn position_gradient(
        integrand: &Expr,
        particles: &ParticleQuadrature,
    ) -> Result<PointPlan, AssembleError> {
        integrand.check()?;
        if !integrand.shape().is_scalar() {
            return Err(FormError::NotScalar {
                expression: integrand.to_string(),
                shape: integrand.shape().to_string(),
            }
            .into());
        }
        let axes = particles.geometry().space_dim();
        PointPlan::at_particles(&integrand.grad_in(Some(axes)), particles, true)
    }

    fn at_particles(
        expression: &Expr,
        particles: &ParticleQuadrature,
        weighted: bool,
    ) -> Result<PointPlan, AssembleError> {
        let geometry = particles.geometry().clone();
        let all = Measure::new(crate::form::DomainKind::Cells, geometry);
        PointPlan::over(
            expression,
            all.on_particles(particles),
            Points::Particles { weighted },
        )
    }

    fn over(
        expression: &Expr,
        measure: Measure,
        points: Points,
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
        let plan = IntegralPlan::new(&integral, points)?;
        let shape = expression.shape();
        let place = match &plan.particles {
            None => Place::Cells(plan.topology.cell_count() * plan.points * shape.len()),
            Some(particles) => Place::Particles(particles.quadrature.clone(), Vec::new()),
        };
        Ok(PointPlan {
            plan: Plan::with(vec![plan]),
            place,
            shape,
        })
    }

    /// Shape of a value.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Length of the array that [`PointPlan::evaluate`] takes; with particles, as they are now.
    pub fn len(&self) -> usize {
        match &self.place {
            Place::Cells(len) => *len,
            Place::Particles(particles, _) => {
                particles.samples().particle_count() * self.shape.len()
            }
        }
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Write all values: `[cell][point][component]`, or `[particle][component]`.
    pub fn evaluate(&mut self, out: &mut [f64]) -> Result<(), AssembleError> {
        let check = |expected: usize| match out.len() == expected {
            true => Ok(()),
            false => Err(AssembleError::Target {
                what: "the array of values",
                got: out.len(),
                expected,
            }),
        };
        let components = self.shape.len();
        match &mut self.place {
            Place::Cells(len) => {
                check(*len)?;
                self.plan.run_all(out)
            }
            Place::Particles(particles, at_samples) => {
                let samples = particles.samples();
                check(samples.particle_count() * components)?;
                if !samples.several() {
                    self.plan.run_on(0, Some(&samples), out)?;
                    return Ok(());
                }
                at_samples.resize(samples.len() * components, 0.0);
                self.plan.run_on(0, Some(&samples), at_samples)?;
                sum_samples(&samples, at_samples, components, out);
                Ok(())
            }
        }
    }
}

/// From the parts at samples to the values at particles that have any.
fn sum_samples(samples: &ParticleSamples, parts: &[f64], components: usize, out: &mut [f64]) {
    const PARTICLES: usize = 1024;
    let components = components.max(1);
    out.par_chunks_mut(PARTICLES * components)
        .enumerate()
        .for_each(|(chunk, out)| {
            for (k, out) in out.chunks_exact_mut(components).enumerate() {
                let of = samples.of_particle(chunk * PARTICLES + k);
                if of.is_empty() {
                    continue;
                }
                for (c, out) in out.iter_mut().enumerate() {
                    let part = |&s: &u32| parts[s as usize * components + c];
                    *out = of.iter().map(part).sum();
                }
            }
        });
}
