//! Native point functions: whatever the expression language lacks, written in Rust.
//!
//! A [`NativeFunction`] turns values at points into values at points, a block of points at a
//! time. [`point_function`] makes one from a closure on a single point.

use super::shape::Shape;
use std::fmt::Debug;
use std::sync::Arc;

/// A function of values at points, evaluated for many points at once.
pub trait NativeFunction: Debug + Send + Sync {
    /// Name used in messages.
    fn name(&self) -> &str;
    /// Shapes of the arguments.
    fn arguments(&self) -> Vec<Shape>;
    /// Shape of the result.
    fn result(&self) -> Shape;
    /// Evaluate: `inputs[k]` is component `k` (arguments in order, each row-major) at every
    /// point, `outputs[k]` component `k` of the result.
    fn evaluate(&self, inputs: &[&[f64]], outputs: &mut [&mut [f64]]);
    /// The function that gives the Jacobian, result components × argument components as a
    /// row-major matrix, of the same arguments; `None` if it cannot be differentiated.
    fn jacobian(&self) -> Option<Arc<dyn NativeFunction>>;
    /// Polynomial degree of the result if the arguments are linear, for quadrature rules; `None` if
    /// it is not known.
    fn degree(&self) -> Option<usize> {
        None
    }
}

type PointClosure = dyn Fn(&[f64], &mut [f64]) + Send + Sync;

struct PointFunction {
    name: String,
    arguments: Vec<Shape>,
    result: Shape,
    function: Arc<PointClosure>,
    jacobian: Option<Arc<PointClosure>>,
}

impl Debug for PointFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PointFunction({})", self.name)
    }
}

/// Most components of all arguments of a function together, and of its result.
pub(crate) const MAX_COMPONENTS: usize = 256;

impl NativeFunction for PointFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Vec<Shape> {
        self.arguments.clone()
    }

    fn result(&self) -> Shape {
        self.result
    }

    fn evaluate(&self, inputs: &[&[f64]], outputs: &mut [&mut [f64]]) {
        let mut input = [0.0; MAX_COMPONENTS];
        let mut output = [0.0; MAX_COMPONENTS];
        let points = outputs.first().map_or(0, |o| o.len());
        for p in 0..points {
            for (x, column) in input.iter_mut().zip(inputs) {
                *x = column[p];
            }
            (self.function)(&input[..inputs.len()], &mut output[..outputs.len()]);
            for (column, &y) in outputs.iter_mut().zip(&output) {
                column[p] = y;
            }
        }
    }

    fn jacobian(&self) -> Option<Arc<dyn NativeFunction>> {
        let function = self.jacobian.clone()?;
        let columns = self.arguments.iter().map(|s| s.len()).sum();
        Some(Arc::new(PointFunction {
            name: format!("{}'", self.name),
            arguments: self.arguments.clone(),
            result: Shape::Matrix(self.result.len(), columns),
            function,
            jacobian: None,
        }))
    }
}

/// A native function from a closure on one point: `function(input, output)` with the
/// components of all arguments in order, each row-major. `jacobian`, if given, writes
/// ∂output/∂input row-major and makes the function differentiable.
///
/// Returns `None` if arguments, result or Jacobian have more than 256 components.
pub fn point_function(
    name: &str,
    arguments: &[Shape],
    result: Shape,
    function: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    jacobian: Option<Arc<PointClosure>>,
) -> Option<Arc<dyn NativeFunction>> {
    let columns: usize = arguments.iter().map(|s| s.len()).sum();
    if columns > MAX_COMPONENTS || result.len() * columns.max(1) > MAX_COMPONENTS {
        return None;
    }
    Some(Arc::new(PointFunction {
        name: name.to_owned(),
        arguments: arguments.to_vec(),
        result,
        function: Arc::new(function),
        jacobian,
    }))
}
