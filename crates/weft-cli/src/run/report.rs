//! `[[report]]`: numbers of the solution.

use super::formula;
use super::problem::{Problem, tagged};
use crate::case::{self, Formula, ReportKind};
use crate::diagnose::{Diagnostic, Text};
use crate::summary::ReportValue;
use std::sync::Arc;
use weft::assemble::{AssembleError, PointPlan, ScalarPlan};
use weft::form::Scope;
use weft::geometry::{Geometry, locate};
use weft::space::Space;

/// Part of a cell's size by which a point may lie outside it.
const ON_THE_EDGE: f64 = 1e-9;

/// A planned report.
pub(super) struct Report<'c> {
    name: &'c Text,
    plan: Plan,
}

enum Plan {
    Integral(ScalarPlan),
    /// Values at the vertices of all cells, of which the largest or smallest is wanted.
    Extreme(PointPlan, fn(f64, f64) -> f64),
    /// Values in one cell.
    Point(PointPlan, usize),
    /// Nodes whose reactions are summed, and components of each.
    Reaction(Vec<u32>, usize),
}

impl<'c> Report<'c> {
    /// Plans a report; `scope` has the solution by its name.
    pub fn new(
        report: &'c case::Report,
        scope: &Scope,
        geometry: &Arc<dyn Geometry>,
        space: &Space,
    ) -> Result<Report<'c>, Diagnostic> {
        let plan = match &report.kind {
            ReportKind::Integral(text) => {
                let form = formula::form(scope, text, &geometry.tags())?;
                let plan = ScalarPlan::new(&form).map_err(|error| match &error {
                    AssembleError::Form(error) => formula::fault(error, text),
                    _ => Diagnostic::new(error.to_string()).at(&text.at),
                })?;
                Plan::Integral(plan)
            }
            ReportKind::Max(value) => extreme(scope, value, geometry, f64::max)?,
            ReportKind::Min(value) => extreme(scope, value, geometry, f64::min)?,
            ReportKind::Point { point, value } => {
                let dim = geometry.space_dim();
                if point.value.len() != dim {
                    return Err(Diagnostic::new(format!(
                        "a point of this mesh has {dim} coordinates"
                    ))
                    .at(&point.at)
                    .label(format!("these are {}", point.value.len())));
                }
                let mut x = [0.0; 3];
                x[..dim].copy_from_slice(&point.value);
                let Some((cell, xi)) = locate(&**geometry, x, ON_THE_EDGE) else {
                    return Err(Diagnostic::new("the point lies outside the mesh")
                        .at(&point.at)
                        .note(format!("the mesh lies in {}", bounds(&**geometry))));
                };
                let e = formula::expression(scope, value)?;
                let plan = PointPlan::on_cells(&e, geometry, &[cell as u32], &[xi])
                    .map_err(|error| plan_fault(&error, value))?;
                Plan::Point(plan, cell)
            }
            ReportKind::Reaction(groups) => {
                let mut nodes = Vec::new();
                for group in groups {
                    nodes.extend(tagged(space, group)?);
                }
                nodes.sort_unstable();
                nodes.dedup();
                Plan::Reaction(nodes, space.components())
            }
        };
        Ok(Report {
            name: &report.name,
            plan,
        })
    }

    /// Its name.
    pub fn name(&self) -> &'c str {
        &self.name.value
    }

    /// Its value for the solution as it is now.
    pub fn evaluate(&mut self, problem: &mut Problem) -> Result<ReportValue, Diagnostic> {
        let name = self.name;
        let fail = |message: String| {
            let fault = Diagnostic::new(message).at(&name.at);
            fault.about(&format!("report `{}`", name.value))
        };
        let value = match &mut self.plan {
            Plan::Integral(plan) => {
                ReportValue::Number(plan.evaluate().map_err(|e| fail(e.to_string()))?)
            }
            Plan::Extreme(plan, better) => {
                let mut values = vec![0.0; plan.len()];
                plan.evaluate(&mut values)
                    .map_err(|e| fail(e.to_string()))?;
                if let Some(bad) = values.iter().find(|v| v.is_nan()) {
                    return Err(fail(format!("the value is {bad} at a vertex")));
                }
                // A mesh has a cell, so there is a value.
                let first = values.first().copied().unwrap_or(0.0);
                ReportValue::Number(values.iter().fold(first, |a, &b| better(a, b)))
            }
            Plan::Point(plan, cell) => {
                let mut values = vec![0.0; plan.len()];
                plan.evaluate(&mut values)
                    .map_err(|e| fail(e.to_string()))?;
                let len = plan.shape().len();
                let value = values[*cell * len..(*cell + 1) * len].to_vec();
                number_or_vector(value)
            }
            Plan::Reaction(nodes, components) => {
                let all = problem.reactions().map_err(|e| fail(e.to_string()))?;
                let mut sum = vec![0.0; *components];
                for &node in nodes.iter() {
                    let at = node as usize * *components;
                    for (s, r) in sum.iter_mut().zip(&all[at..at + *components]) {
                        *s += r;
                    }
                }
                number_or_vector(sum)
            }
        };
        let numbers = match &value {
            ReportValue::Number(number) => std::slice::from_ref(number),
            ReportValue::Vector(numbers) => numbers,
        };
        match numbers.iter().find(|v| !v.is_finite()) {
            Some(bad) => Err(fail(format!("the value is {bad}"))),
            None => Ok(value),
        }
    }
}

fn number_or_vector(values: Vec<f64>) -> ReportValue {
    match values[..] {
        [number] => ReportValue::Number(number),
        _ => ReportValue::Vector(values),
    }
}

fn plan_fault(error: &AssembleError, value: &Formula) -> Diagnostic {
    match error {
        AssembleError::Form(error) => formula::formula_fault(error, value),
        _ => Diagnostic::new(error.to_string()).at(value.at()),
    }
}

fn extreme(
    scope: &Scope,
    value: &Formula,
    geometry: &Arc<dyn Geometry>,
    better: fn(f64, f64) -> f64,
) -> Result<Plan, Diagnostic> {
    let e = formula::scalar(scope, value)?;
    let vertices = geometry.cell_kind().vertices();
    let plan = PointPlan::new(&e, geometry, vertices).map_err(|error| plan_fault(&error, value))?;
    Ok(Plan::Extreme(plan, better))
}

/// The box around a mesh, such as `[0, 1] × [-2, 2]`.
pub(crate) fn bounds(geometry: &dyn Geometry) -> String {
    let map = geometry.map();
    let interval = |d: usize| {
        let all = map.nodes.iter().map(|x| x[d]);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
            (l.min(x), h.max(x))
        });
        format!("[{low}, {high}]")
    };
    let all: Vec<String> = (0..geometry.space_dim()).map(interval).collect();
    all.join(" × ")
}
