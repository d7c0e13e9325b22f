//! Assembly: from forms to numbers, vectors and block-sparse matrices.
//!
//! A plan ([`MatrixPlan`], [`VectorPlan`], [`ScalarPlan`], [`PointPlan`]) holds everything that
//! stays the same; assembling again is numeric only and allocates nothing. The path of a form:
//! `form/lower` → `integral` (tables, blocks) → `engine` (one block: geometry, tape,
//! contraction by `kernel`) → `scatter` (coloured chunks, fixed order).

mod coupling;
mod deform;
mod domain;
mod engine;
mod error;
mod frame;
mod functions;
mod integral;
mod interpolation;
mod interpolation_matrix;
mod kernel;
mod lanes;
mod local;
mod moment_matrix;
mod mortar;
mod nodal;
mod nodes;
mod plan;
mod point_functions;
mod quantity;
mod samples;
mod scatter;
mod second;
mod tables;
mod tape;
mod values;
mod vector;

pub use deform::{DeformError, Deformation};
pub use error::AssembleError;
pub use interpolation::{InterpolationPlan, Reduction};
pub use interpolation_matrix::{InterpolationMatrix, prolongation};
pub use mortar::CouplingPlan;
pub use nodal::{NodalPlan, node_rule_degree};
pub use plan::{MatrixPlan, PointPlan, ScalarPlan, VectorPlan};
pub(crate) use values::interpolate_values;
pub use values::{ProjectError, evaluate_at, evaluate_at_positions, interpolate, project};

use crate::form::Form;
use crate::sparse::BlockMatrix;

/// Assemble a bilinear form once. Keep a [`MatrixPlan`] to do it again.
pub fn matrix(form: &Form) -> Result<BlockMatrix, AssembleError> {
    let mut plan = MatrixPlan::new(form)?;
    let mut matrix = plan.matrix();
    plan.assemble(&mut matrix)?;
    Ok(matrix)
}

/// Assemble a linear form once: one entry for each degree of freedom of its test space.
pub fn vector(form: &Form) -> Result<Vec<f64>, AssembleError> {
    let mut plan = VectorPlan::new(form)?;
    let mut vector = vec![0.0; plan.test_space().dof_count()];
    plan.assemble(&mut vector)?;
    Ok(vector)
}

/// The value of a functional.
pub fn integrate(form: &Form) -> Result<f64, AssembleError> {
    ScalarPlan::new(form)?.evaluate()
}
