//! Named parameters: numbers that may change between assemblies without rebuilding a plan.

use super::shape::Shape;
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Debug)]
struct Inner {
    name: String,
    shape: Shape,
    values: RwLock<Vec<f64>>,
}

/// A named scalar or vector. Cloning copies a handle; all see the same value.
#[derive(Clone, Debug)]
pub struct Param(Arc<Inner>);

impl Param {
    /// A scalar parameter.
    pub fn scalar(name: &str, value: f64) -> Param {
        Param::new(name, Shape::Scalar, vec![value])
    }

    /// A vector parameter.
    pub fn vector(name: &str, values: &[f64]) -> Param {
        Param::new(name, Shape::Vector(values.len()), values.to_vec())
    }

    fn new(name: &str, shape: Shape, values: Vec<f64>) -> Param {
        Param(Arc::new(Inner {
            name: name.to_owned(),
            shape,
            values: RwLock::new(values),
        }))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.0.shape
    }

    /// Component in row-major order; 0 past the end.
    pub fn get(&self, component: usize) -> f64 {
        let values = self.0.values.read().unwrap_or_else(PoisonError::into_inner);
        values.get(component).copied().unwrap_or(0.0)
    }

    /// Replace the value of a scalar parameter, or all components of another.
    pub fn set(&self, value: f64) {
        self.0
            .values
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .fill(value);
    }

    /// Replace one component; components past the end are ignored.
    pub fn set_component(&self, component: usize, value: f64) {
        let mut values = self
            .0
            .values
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(v) = values.get_mut(component) {
            *v = value;
        }
    }

    /// Whether both handles name the same parameter.
    pub fn same(&self, other: &Param) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}
