//! Coefficients of an integrand at points of elements: what interpolation, nodal assembly and
//! couplings of meshes are made of.

use super::error::AssembleError;
use super::integral::{IntegralPlan, Points, Rule};
use super::nodes::Place;
use super::plan::Plan;
use crate::form::lower::Coefficient;
use crate::form::{DomainKind, Expr, FormError, Integral, Measure};
use crate::geometry::{Geometry, Location, Topology};
use crate::particle::ParticleQuadrature;
use std::sync::Arc;

/// The coefficients of an expression or integrand at the points of every element of a measure.
pub(super) struct Samples {
    plan: Plan,
    /// Cells or sides, ascending. What follows counts elements by their place in this list.
    pub elements: Vec<u32>,
    /// What is evaluated: coefficients of components, or of products of slots.
    pub slots: Vec<Coefficient>,
    /// Reference coordinates of the points in an element.
    pub points: Vec<[f64; 3]>,
    on_sides: bool,
    /// Cell and coordinates of free points, each an element with one point.
    free: Option<Vec<Option<Location>>>,
    values: Vec<f64>,
}

impl Samples {
    pub fn new(integrand: &Expr, measure: &Measure, rule: Rule) -> Result<Samples, AssembleError> {
        integrand.check()?;
        if measure.particles.is_some() {
            return Err(domain(format!(
                "`{integrand}` is to be evaluated in cells or on sides, not on particles"
            )));
        }
        let integral = Integral {
            measure: measure.clone(),
            integrand: integrand.clone(),
        };
        let mut plan = IntegralPlan::new(&integral, Points::Coefficients(rule))?;
        let elements = plan.number_elements();
        let slots = plan.program.coefficients.clone();
        let len = elements.len() * plan.points * (slots.len() + 1);
        Ok(Samples {
            elements,
            slots,
            points: plan.reference.clone(),
            on_sides: measure.kind != DomainKind::Cells,
            free: None,
            values: vec![0.0; len],
            plan: Plan::with(vec![plan]),
        })
    }

    /// At particles, which must stay as they are. Coefficients of those in no cell are zero.
    pub fn at_particles(
        integrand: &Expr,
        particles: &ParticleQuadrature,
    ) -> Result<Samples, AssembleError> {
        integrand.check()?;
        let measure = Measure::new(DomainKind::Cells, particles.geometry().clone());
        let integral = Integral {
            measure: measure.on_particles(particles),
            integrand: integrand.clone(),
        };
        let plan = IntegralPlan::new(&integral, Points::Coefficients(Rule::Integrand))?;
        let samples = particles.samples();
        let mut free = vec![None; samples.particle_count()];
        for cell in samples.occupied_cells() {
            for k in samples.in_cell(cell) {
                let xi = samples.xi()[k];
                free[samples.particles()[k] as usize] = Some(Location { cell, xi });
            }
        }
        let slots = plan.program.coefficients.clone();
        Ok(Samples {
            elements: (0..free.len() as u32).collect(),
            values: vec![0.0; free.len() * (slots.len() + 1)],
            slots,
            points: vec![[0.0; 3]],
            on_sides: false,
            free: Some(free),
            plan: Plan::with(vec![plan]),
        })
    }

    fn integral(&self) -> &IntegralPlan {
        &self.plan.integrals[0]
    }

    pub fn geometry(&self) -> &Arc<dyn Geometry> {
        &self.integral().geometry
    }

    pub fn topology(&self) -> &Topology {
        &self.integral().topology
    }

    /// The integrand as text.
    pub fn text(&self) -> &str {
        &self.integral().text
    }

    /// The cell of an element, of a side the inner or outer one, with the points in it; `None` for
    /// free points in no cell.
    pub fn place(&self, element: usize, side: usize) -> Option<(usize, Vec<[f64; 3]>)> {
        if let Some(free) = &self.free {
            return free[element].map(|found| (found.cell, vec![found.xi]));
        }
        let number = self.elements[element] as usize;
        if !self.on_sides {
            return Some((number, self.points.clone()));
        }
        let cell = self.topology().side_cells(number)[side] as usize;
        let map = self.geometry().side_maps(self.topology(), number)[side];
        Some((cell, self.points.iter().map(|&x| map.apply(x)).collect()))
    }

    /// Whether all cells have the same points.
    pub fn same_in_all_cells(&self) -> bool {
        !self.on_sides && self.free.is_none()
    }

    /// Evaluate everything with parameters and fields as they are. Allocates nothing.
    pub fn evaluate(&mut self) -> Result<(), AssembleError> {
        self.plan.run_all(&mut self.values)
    }

    /// The coefficients at a point of an element, in the order of `slots`, and weight times measure
    /// density there.
    pub fn at(&self, element: usize, point: usize) -> (&[f64], f64) {
        let width = self.slots.len() + 1;
        let at = (element * self.points.len() + point) * width;
        let all = &self.values[at..at + width];
        (&all[..width - 1], all[width - 1])
    }

    /// The same at a place.
    pub fn at_place(&self, place: &Place) -> (&[f64], f64) {
        self.at(place.element as usize, place.point as usize)
    }
}

pub(super) fn domain(message: String) -> AssembleError {
    FormError::Domain(message).into()
}
