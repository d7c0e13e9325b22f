//! Fields: a space with a number for every degree of freedom.
//!
//! [`Field`] is a handle: forms that use a field see its values as they are at assembly, so
//! a Newton step or a time step changes values and assembles again. References point one way
//! (form → field → space → geometry), so a cycle cannot be built.

mod cross;

pub use cross::CrossField;

use crate::form::Expr;
use crate::geometry::{Frame, VectorPush};
use crate::space::{Space, SpaceError, VectorBasis};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use thiserror::Error;

/// What can go wrong with the values of a field.
#[derive(Debug, Error)]
pub enum FieldError {
    /// Wrong number of values.
    #[error("the field has {expected} degrees of freedom, got {got} values")]
    WrongLength {
        /// Degrees of freedom of the space.
        expected: usize,
        /// Values given.
        got: usize,
    },
    /// A cell number past the end.
    #[error("cell {cell} does not exist; the geometry has {count} cells")]
    NoSuchCell {
        /// The number asked for.
        cell: usize,
        /// Cells of the geometry.
        count: usize,
    },
    /// The functions have values at some points only.
    #[error("functions of an {element} have values at these points only, and no derivatives")]
    PointsOnly {
        /// Name of the element.
        element: String,
    },
    /// The mesh was rebuilt.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

#[derive(Debug)]
struct Inner {
    id: u64,
    space: Space,
    values: RwLock<Vec<f64>>,
}

/// A discrete function of a [`Space`]. Cloning copies a handle; both see the same values.
#[derive(Clone, Debug)]
pub struct Field(Arc<Inner>);

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Read access to the values of a field, node by node.
pub struct Values<'a>(RwLockReadGuard<'a, Vec<f64>>);

impl Deref for Values<'_> {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

/// Write access to the values of a field; their number cannot change.
pub struct ValuesMut<'a>(RwLockWriteGuard<'a, Vec<f64>>);

impl Deref for ValuesMut<'_> {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl std::ops::DerefMut for ValuesMut<'_> {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}

impl Field {
    /// The zero function.
    pub fn zeros(space: &Space) -> Field {
        Field(Arc::new(Inner {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            space: space.clone(),
            values: RwLock::new(vec![0.0; space.dof_count()]),
        }))
    }

    /// A field with these values, one for each degree of freedom.
    pub fn from_values(space: &Space, values: Vec<f64>) -> Result<Field, FieldError> {
        if values.len() != space.dof_count() {
            return Err(FieldError::WrongLength {
                expected: space.dof_count(),
                got: values.len(),
            });
        }
        let field = Field::zeros(space);
        field.values_mut().copy_from_slice(&values);
        Ok(field)
    }

    /// The space of the field.
    pub fn space(&self) -> &Space {
        &self.0.space
    }

    /// The values, for reading. Assembly that uses the field waits for writers.
    pub fn values(&self) -> Values<'_> {
        // A panic while writing leaves plain numbers behind: nothing to protect.
        Values(self.0.values.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The values, for writing.
    pub fn values_mut(&self) -> ValuesMut<'_> {
        ValuesMut(
            self.0
                .values
                .write()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// The field as an expression: its value at a point.
    pub fn expr(&self) -> Expr {
        Expr::from(self)
    }

    /// Whether both handles name the same field.
    pub fn same(&self, other: &Field) -> bool {
        self.0.id == other.0.id
    }

    /// A number that no other field of this process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Value (row-major components) and gradient (`[component][axis]`) in cell `cell` at
    /// reference coordinates `xi`. Coordinates outside the cell extrapolate.
    ///
    /// # Errors
    /// For a cell that is none, if the mesh was rebuilt, and for [functions of
    /// points](crate::element::Kernel::dirac) without values and derivatives elsewhere.
    pub fn evaluate(&self, cell: usize, xi: [f64; 3]) -> Result<PointValue, FieldError> {
        let space = &self.0.space;
        let geometry = space.geometry();
        space.check_current()?;
        let count = space.topology().cell_count();
        if cell >= count {
            return Err(FieldError::NoSuchCell { cell, count });
        }
        check_anywhere(space)?;
        let frame = crate::geometry::frame_at(&**geometry, cell, xi);
        if let Some(basis) = space.vector_basis() {
            let values = self.values();
            return Ok(self.evaluate_vector(basis, cell, xi, &frame, &values));
        }
        let table = space.element().tabulate(&[xi]);
        let len = space.shape().len();
        let dim = geometry.space_dim();
        let values = self.values();
        let nodes = space.cell_nodes(cell);
        let mut out = PointValue {
            value: vec![0.0; len],
            gradient: vec![[0.0; 3]; len],
        };
        for (i, &node) in nodes.iter().enumerate() {
            let gradient = frame.push_gradient(table.gradients[i]);
            for c in 0..len {
                let u = component_at(space, &values, node, c);
                out.value[c] += u * table.values[i];
                for d in 0..dim {
                    out.gradient[c][d] += u * gradient[d];
                }
            }
        }
        Ok(out)
    }

    /// At a point of a cell; `values` are those of the field, which the caller has locked: locking again here
    /// would wait forever for a writer in between.
    fn evaluate_vector(
        &self,
        basis: &VectorBasis,
        cell: usize,
        xi: [f64; 3],
        frame: &Frame,
        values: &[f64],
    ) -> PointValue {
        let space = &self.0.space;
        let dim = space.geometry().space_dim();
        let nodes = space.cell_nodes(cell).iter();
        let mut dofs: Vec<f64> = nodes.map(|&node| values[node as usize]).collect();
        basis.to_cell(cell, &mut dofs);
        let element = basis.element();
        let table = element.tabulate(&[xi]);
        let (mut value, mut derivative) = ([0.0; 3], [[0.0; 3]; 3]);
        for ((u, v), dv) in dofs.iter().zip(&table.values).zip(&table.derivatives) {
            for a in 0..dim {
                value[a] += u * v[a];
                for b in 0..dim {
                    derivative[a][b] += u * dv[a][b];
                }
            }
        }
        let push = VectorPush::new(&**space.geometry(), cell, xi, frame, element.piola());
        let (value, gradient) = push.apply(&value, &derivative);
        PointValue {
            value: value[..dim].to_vec(),
            gradient: gradient[..dim].to_vec(),
        }
    }
}

/// Demands functions that have values and derivatives anywhere.
fn check_anywhere(space: &Space) -> Result<(), FieldError> {
    match space.element().is_dirac() {
        false => Ok(()),
        true => Err(FieldError::PointsOnly {
            element: space.element().name(),
        }),
    }
}

/// Value component `c` at a node, which may hang, from the degrees of freedom.
fn component_at(space: &Space, values: &[f64], node: u32, c: usize) -> f64 {
    let per_node = space.components();
    let dof = |dof: usize| -> f64 {
        let part = |(n, weight): (u32, f64)| weight * values[n as usize * per_node + dof];
        space.expansion(node).map(part).sum()
    };
    let terms = space.value().dofs_of(c);
    terms.map(|(k, factor)| factor * dof(k)).sum()
}

/// Value and gradient of a field at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointValue {
    /// Components, row-major.
    pub value: Vec<f64>,
    /// For each component the derivatives along the axes; unused axes are 0.
    pub gradient: Vec<[f64; 3]>,
}
