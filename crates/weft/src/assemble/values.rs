//! Values of expressions at points, interpolation and projection into spaces.

use super::error::{AssembleError, check_current};
use super::integral::measure_degree;
use super::interpolation_matrix::free_points;
use super::plan::PointPlan;
use super::point_functions::dirac_rule;
use super::samples::domain;
use crate::field::Field;
use crate::form::lower::lower;
use crate::form::{Expr, FormError};
use crate::geometry::{Geometry, MapClass, frames_at};
use crate::solve::{Jacobi, Krylov, KrylovOptions, Method, SolveError};
use crate::space::{Space, VectorBasis};
use std::sync::Arc;
use thiserror::Error;

/// Why a projection failed.
#[derive(Debug, Error)]
pub enum ProjectError {
    /// The expression or the space.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// The mass matrix.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

/// Values of `expression` at the given reference coordinates of every cell:
/// `[cell][point][component]`.
pub fn evaluate_at(
    expression: &Expr,
    geometry: &Arc<dyn Geometry>,
    points: &[[f64; 3]],
) -> Result<Vec<f64>, AssembleError> {
    let mut plan = PointPlan::new(expression, geometry, points)?;
    let mut out = vec![0.0; plan.len()];
    plan.evaluate(&mut out)?;
    Ok(out)
}

/// Values of `expression` at free points, given by their positions: `[point][component]`, and
/// `outside` for points in no cell (or with a coordinate that is not finite).
///
/// Keep a [`ParticleQuadrature`](crate::particle::ParticleQuadrature) and
/// [`PointPlan::on_particles`] to do it again. Functions of H(curl) and H(div) spaces are evaluated
/// at free points through a [`CrossField`](crate::field::CrossField).
///
/// # Errors
/// As [`PointPlan::on_particles`].
pub fn evaluate_at_positions(
    expression: &Expr,
    geometry: &Arc<dyn Geometry>,
    positions: &[[f64; 3]],
    outside: f64,
) -> Result<Vec<f64>, AssembleError> {
    let particles = free_points(geometry.clone(), positions)?;
    let mut plan = PointPlan::on_particles(expression, &particles)?;
    let mut out = vec![outside; plan.len()];
    plan.evaluate(&mut out)?;
    Ok(out)
}

/// The field of `space` that has the degrees of freedom of `expression`: its values at the nodes, or
/// its moments on edges, faces and cells in H(curl) and H(div) spaces, by quadrature. A node that
/// several cells share takes the value of the cell with the smallest number, and one of a spline that
/// lies in no cell that of the nearest, extrapolated. Particles in no cell take 0. In a space of tensors
/// a matrix that they can't be counts by its part that they can: the symmetric or the skew-symmetric one.
pub fn interpolate(expression: &Expr, space: &Space) -> Result<Field, AssembleError> {
    let values = interpolate_values(expression, space)?;
    let field = Field::zeros(space);
    field.values_mut().copy_from_slice(&values);
    Ok(field)
}

/// The degrees of freedom of [`interpolate`].
pub(crate) fn interpolate_values(
    expression: &Expr,
    space: &Space,
) -> Result<Vec<f64>, AssembleError> {
    check_shape(expression, space)?;
    let mut out = vec![0.0; space.dof_count()];
    match (space.vector_basis(), space.particle_quadrature()) {
        (Some(basis), _) => moments(expression, space, basis, &mut out)?,
        (None, Some(particles)) => {
            check_current(space)?;
            let mut plan = PointPlan::on_particles(expression, particles)?;
            let components = space.shape().len();
            let mut values = vec![0.0; space.node_count() * components];
            plan.evaluate(&mut values)?;
            for (node, value) in values.chunks_exact(components).enumerate() {
                set_node(value, space, node, &mut out);
            }
        }
        (None, None) => {
            let values = evaluate_at(expression, space.geometry(), space.element().nodes())?;
            spread(&values, space, &mut out);
        }
    }
    Ok(out)
}

/// Moments of `expression`, pulled back to the reference cell.
fn moments(
    expression: &Expr,
    space: &Space,
    basis: &VectorBasis,
    out: &mut [f64],
) -> Result<(), AssembleError> {
    let geometry = space.geometry();
    let element = basis.element();
    let points = element.moment_points();
    let values = evaluate_at(expression, geometry, &points)?;
    let frames = frames_at(&**geometry, &points);
    let dim = geometry.space_dim();
    let mut pulled = vec![[0.0; 3]; points.len()];
    let mut dofs = vec![0.0; element.function_count()];
    // Backwards, so that the smallest cell writes last.
    for cell in (0..space.topology().cell_count()).rev() {
        for (q, pulled) in pulled.iter_mut().enumerate() {
            let u = &values[(cell * points.len() + q) * dim..][..dim];
            let pull = frames(cell, q).pull(element.piola(), dim);
            *pulled = pull.map(|row| row.iter().zip(u).map(|(p, u)| p * u).sum());
        }
        element.moments(&pulled, &mut dofs);
        basis.to_shared(cell, &mut dofs);
        for (&node, &dof) in space.cell_nodes(cell).iter().zip(&dofs) {
            out[node as usize] = dof;
        }
    }
    Ok(())
}

/// From values at the element's nodes in every cell, `[cell][node][component]`, to degrees of
/// freedom. A shared node takes the value of the cell with the smallest number, of those nearest to it.
pub(super) fn spread(values: &[f64], space: &Space, out: &mut [f64]) {
    let components = space.shape().len();
    let nodes = space.nodes_per_cell();
    let far = space.element().node_distances();
    let mut least = vec![f64::INFINITY; space.node_count()];
    for cell in 0..space.topology().cell_count() {
        for (i, &node) in space.cell_nodes(cell).iter().enumerate() {
            // Hanging nodes have no degrees of freedom.
            let Some(least) = least.get_mut(node as usize).filter(|l| far[i] < **l) else {
                continue;
            };
            *least = far[i];
            let value = &values[(cell * nodes + i) * components..][..components];
            set_node(value, space, node as usize, out);
        }
    }
}

/// The degrees of freedom of a node from its value.
fn set_node(value: &[f64], space: &Space, node: usize, out: &mut [f64]) {
    let per_node = space.components();
    for (dof, out) in out[node * per_node..][..per_node].iter_mut().enumerate() {
        *out = space.value().dof(dof, value);
    }
}

pub(super) fn check_shape(expression: &Expr, space: &Space) -> Result<(), AssembleError> {
    expression.check()?;
    if expression.shape() != space.shape() {
        return Err(FormError::Shape {
            operation: "a field".to_owned(),
            shapes: format!("a {}", expression.shape()),
            expression: expression.to_string(),
            hint: format!("; its values are a {}", space.shape()),
        }
        .into());
    }
    Ok(())
}

/// The L² projection of `expression` into `space`, solved to 1e-13. Into [values at
/// particles](Space::particles) it is what [`interpolate`] gives.
pub fn project(expression: &Expr, space: &Space) -> Result<Field, ProjectError> {
    if space.particle_quadrature().is_some() {
        return Ok(interpolate(expression, space)?);
    }
    check_shape(expression, space)?;
    let (u, v) = (Expr::trial(space), Expr::test(space));
    // One rule for both sides, so that functions of the space are reproduced.
    let map_degree = space.geometry().map().degree;
    let affine = space.geometry().map_class() != MapClass::General;
    let degree = crate::form::estimate_degree(expression, map_degree, affine)
        .max(space.degree())
        .saturating_add(space.degree())
        .saturating_add(measure_degree(space.element().kind(), map_degree));
    let own = crate::form::Measure::new(crate::form::DomainKind::Cells, space.geometry().clone());
    // Functions with values at some points only have a rule of their own, which has to do for the others.
    let least = match space.element().is_dirac() {
        true => 0,
        false => 2 * space.degree(),
    };
    let integral = |f: Expr| match dirac_rule(&lower(&f, false)?) {
        Some(rule) if rule.degree() < least => Err(domain(format!(
            "`{expression}` has values at the points of a rule of degree {} only; a projection into functions of \
             degree {} needs one of degree {least}",
            rule.degree(),
            space.degree()
        ))),
        Some(_) => Ok(f.over(&own)),
        None => Ok(f.over(&own.clone().degree(degree))),
    };
    let mass = super::matrix(&integral(u.inner(&v))?)?;
    let load = integral(expression.inner(&v))?;
    if load.is_zero() {
        return Ok(Field::zeros(space));
    }
    let b = super::vector(&load)?;
    let mut x = vec![0.0; b.len()];
    let options = KrylovOptions {
        tolerance: 1e-13,
        // The condition of splines that are cut off by the boundary needs many.
        max_iterations: Some(100_000),
        ..KrylovOptions::default()
    };
    let jacobi = Jacobi::new(&mass)?;
    Krylov::new(Method::Cg, options)?.solve(&mass, &jacobi, &b, &mut x)?;
    let field = Field::zeros(space);
    field.values_mut().copy_from_slice(&x);
    Ok(field)
}
