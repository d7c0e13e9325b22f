//! Geometries moved by fields and expressions.

use super::error::AssembleError;
use super::plan::PointPlan;
use super::values::spread;
use crate::element::NodeFamily;
use crate::form::{Expr, FormError};
use crate::geometry::{Deformed, Geometry, GeometryError};
use crate::space::{Space, SpaceError};
use std::sync::Arc;
use thiserror::Error;

/// Why a deformation was refused.
#[derive(Debug, Error)]
pub enum DeformError {
    /// The expression could not be evaluated.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// No nodes of this degree.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The moved cells are not valid.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
}

/// A geometry that follows an expression of the position and of fields on its base.
///
/// The map of each cell is the polynomial of the given degree that agrees with the expression
/// at Lobatto nodes: exact for a field of at most that degree, and accurate to the power of
/// twice the degree in measures.
pub struct Deformation {
    space: Space,
    /// Numbering of the equispaced nodes that a geometry stores.
    stored: Space,
    plan: PointPlan,
    geometry: Deformed,
}

impl Deformation {
    /// Move every point of `base` to `position`, a vector expression on `base`.
    pub fn to<G: Geometry + Clone + 'static>(
        base: &G,
        position: &Expr,
        degree: usize,
    ) -> Result<Deformation, DeformError> {
        let base: Arc<dyn Geometry> = Arc::new(base.clone());
        let dim = base.space_dim();
        let wanted = crate::form::Shape::Vector(dim);
        position.check().map_err(AssembleError::from)?;
        if position.shape() != wanted {
            return Err(AssembleError::Form(FormError::Shape {
                operation: "a deformation".to_owned(),
                shapes: format!("a {}", position.shape()),
                expression: position.to_string(),
                hint: format!("; it takes a {wanted}"),
            })
            .into());
        }
        let space = Space::on(base.clone(), degree, NodeFamily::Lobatto, true)?.vector(dim)?;
        let stored = Space::on(base.clone(), degree, NodeFamily::Equispaced, true)?;
        let mut plan = PointPlan::new(position, &base, space.element().nodes())?;
        let nodes = positions(&mut plan, &space, &stored)?;
        let cells = space.topology().cell_count();
        let cell_nodes = (0..cells)
            .flat_map(|c| stored.cell_nodes(c).to_vec())
            .collect();
        let geometry = Deformed::new(base, degree, nodes, cell_nodes)?;
        Ok(Deformation {
            space,
            stored,
            plan,
            geometry,
        })
    }

    /// Move every point x of `base` to x + `displacement`.
    pub fn by<G: Geometry + Clone + 'static>(
        base: &G,
        displacement: &Expr,
        degree: usize,
    ) -> Result<Deformation, DeformError> {
        let degree = degree.max(base.map().degree);
        Deformation::to(base, &(Expr::position(base) + displacement), degree)
    }

    /// The moved geometry.
    pub fn geometry(&self) -> &Deformed {
        &self.geometry
    }

    /// Follow the fields and parameters as they are now; all or nothing.
    pub fn update(&mut self) -> Result<(), DeformError> {
        let nodes = positions(&mut self.plan, &self.space, &self.stored)?;
        Ok(self.geometry.move_nodes(nodes)?)
    }
}

/// Positions of the stored nodes: the polynomials through the Lobatto nodes, evaluated.
fn positions(
    plan: &mut PointPlan,
    space: &Space,
    stored: &Space,
) -> Result<Vec<[f64; 3]>, AssembleError> {
    let mut values = vec![0.0; plan.len()];
    plan.evaluate(&mut values)?;
    let mut dofs = vec![0.0; space.dof_count()];
    spread(&values, space, &mut dofs);
    let dim = space.components();
    let table = space.element().tabulate(stored.element().nodes());
    let mut positions = vec![[0.0; 3]; stored.node_count()];
    // Backwards, so that the smallest cell that has a node places it.
    for cell in (0..space.topology().cell_count()).rev() {
        for (k, &node) in stored.cell_nodes(cell).iter().enumerate() {
            let mut x = [0.0; 3];
            for (weight, &from) in table.values_at(k).iter().zip(space.cell_nodes(cell)) {
                for d in 0..dim {
                    x[d] += weight * dofs[from as usize * dim + d];
                }
            }
            positions[node as usize] = x;
        }
    }
    Ok(positions)
}
