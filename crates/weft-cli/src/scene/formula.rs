//! Numbers and functions of the position in scenes: numbers, or texts in the language of forms.

use crate::case::convert::{Mismatch, Read, number};
use crate::diagnose::Place;
use crate::document::{Node, Value};
use std::sync::Arc;
use weft::assemble::PointPlan;
use weft::form::{Expr, FormError, Scope, Shape};
use weft::geometry::{Geometry, Grid3};

/// Points that are evaluated at a time.
const CHUNK: usize = 4096;

/// A function of the position, with one value.
#[derive(Clone, Debug)]
pub struct PointFormula {
    function: Function,
    /// Where it is written.
    pub at: Place,
}

#[derive(Clone, Debug)]
enum Function {
    Constant(f64),
    Varying(Expr),
}

impl PointFormula {
    /// Its values at points.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn evaluate(&self, points: &[[f64; 3]]) -> Result<Vec<f64>, String> {
        match &self.function {
            Function::Constant(value) => Ok(vec![*value; points.len()]),
            Function::Varying(expression) => evaluate(expression, points),
        }
    }

    fn constant(&self) -> Option<f64> {
        match self.function {
            Function::Constant(value) => Some(value),
            Function::Varying(_) => None,
        }
    }
}

/// A velocity, the same everywhere or a function of the position.
#[derive(Clone, Debug)]
pub enum Velocity {
    /// m/s.
    Constant([f64; 3]),
    /// Its components.
    Varying(Box<[PointFormula; 3]>),
}

/// The values of a scalar expression at points.
fn evaluate(expression: &Expr, points: &[[f64; 3]]) -> Result<Vec<f64>, String> {
    let mut values = Vec::with_capacity(points.len());
    for chunk in points.chunks(CHUNK) {
        // A box about the points is one cell, of which they are points.
        let mut lower = [f64::INFINITY; 3];
        let mut upper = [f64::NEG_INFINITY; 3];
        for x in chunk {
            for d in 0..3 {
                lower[d] = lower[d].min(x[d]);
                upper[d] = upper[d].max(x[d]);
            }
        }
        for d in 0..3 {
            let room = 1e-3 * (upper[d] - lower[d]).max(lower[d].abs()).max(1e-3);
            lower[d] -= room;
            upper[d] += room;
        }
        let grid = Grid3::new([1; 3], lower, upper).map_err(|e| e.to_string())?;
        let geometry: Arc<dyn Geometry> = Arc::new(grid);
        let places: Vec<[f64; 3]> = chunk
            .iter()
            .map(|x| std::array::from_fn(|d| (x[d] - lower[d]) / (upper[d] - lower[d])))
            .collect();
        let mut plan = PointPlan::new(expression, &geometry, &places).map_err(|e| e.to_string())?;
        let start = values.len();
        values.resize(start + plan.len(), 0.0);
        plan.evaluate(&mut values[start..])
            .map_err(|e| e.to_string())?;
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(format!("the value is {} at {:?}", values[i], points[i])),
        None => Ok(values),
    }
}

/// Reads numbers and formulas with the names that a scene has given a meaning.
pub(super) struct Formulas {
    numbers: Scope,
    points: Scope,
}

impl Formulas {
    pub fn new() -> Formulas {
        // Proven: a cube is a grid. Only its dimension matters for the meaning of x.
        let grid = Grid3::new([1; 3], [0.0; 3], [1.0; 3]).expect("a cube is a grid");
        Formulas {
            numbers: Scope::numbers(),
            points: Scope::new(Arc::new(grid)),
        }
    }

    /// Gives a name a value.
    pub fn set(&mut self, name: &str, value: f64) {
        self.numbers.set(name, Expr::constant(value));
        self.points.set(name, Expr::constant(value));
    }

    /// A number, or a text that is one, such as "1/60".
    pub fn number(&self, node: &Node) -> Read<f64> {
        let Value::Text(text) = &node.value else {
            return number(node).map_err(|_| {
                let label = format!("this is {}", node.value.kind());
                Mismatch::new(&node.at, "a number, or a formula for one", label)
            });
        };
        let value = self
            .numbers
            .number(text)
            .map_err(|error| fault(&error, "a number, or a formula for one", node, text))?;
        if value.is_finite() {
            return Ok(value);
        }
        let label = format!("the value is {value}");
        Err(Mismatch::new(&node.at, "a finite number", label))
    }

    /// A number in a range, described by `expected`.
    pub fn number_where(
        &self,
        expected: &'static str,
        accept: impl Fn(f64) -> bool,
    ) -> impl Fn(&Node) -> Read<f64> {
        move |node| match self.number(node) {
            Ok(value) if !accept(value) => {
                let label = format!("this is {value}");
                Err(Mismatch::new(&node.at, expected, label))
            }
            other => other,
        }
    }

    /// A number above 0.
    pub fn positive(&self) -> impl Fn(&Node) -> Read<f64> {
        self.number_where("a number above 0", |x| x > 0.0)
    }

    /// A number of at least 0.
    pub fn not_negative(&self) -> impl Fn(&Node) -> Read<f64> {
        self.number_where("a number of at least 0", |x| x >= 0.0)
    }

    /// A list of `N` numbers.
    pub fn vector<const N: usize>(&self, node: &Node) -> Read<[f64; N]> {
        crate::case::convert::array(|node: &Node| self.number(node))(node)
    }

    /// Three numbers that are not all 0.
    pub fn direction(&self, node: &Node) -> Read<[f64; 3]> {
        crate::case::convert::direction(|node: &Node| self.number(node))(node)
    }

    /// A number or a formula in x.
    pub fn at_points(&self, node: &Node) -> Read<PointFormula> {
        const EXPECTED: &str = "a number, or a formula in x[0], x[1] and x[2]";
        let function = match &node.value {
            Value::Text(text) if self.numbers.number(text).is_err() => {
                let expression = self
                    .points
                    .expression(text)
                    .map_err(|error| fault(&error, EXPECTED, node, text))?;
                if expression.shape() != Shape::Scalar {
                    let label = format!("this is a {}", expression.shape());
                    return Err(Mismatch::new(&node.at, EXPECTED, label));
                }
                Function::Varying(expression)
            }
            _ => Function::Constant(self.number(node)?),
        };
        let formula = PointFormula {
            function,
            at: node.at.clone(),
        };
        // Names such as a measure's or a side's have no value at a point; any point tells.
        match formula.evaluate(&[[0.25, 0.5, 0.75]]) {
            Err(reason) if !reason.starts_with("the value is") => {
                Err(Mismatch::new(&node.at, EXPECTED, reason))
            }
            _ => Ok(formula),
        }
    }

    /// Three numbers or formulas in x.
    pub fn velocity(&self, node: &Node) -> Read<Velocity> {
        if let Value::List(items) = &node.value
            && items
                .iter()
                .any(|item| matches!(item.value, Value::Text(_)))
        {
            let parts: [PointFormula; 3] =
                crate::case::convert::array(|node: &Node| self.at_points(node))(node)?;
            let numbers = parts.each_ref().map(|p: &PointFormula| p.constant());
            return Ok(match numbers {
                [Some(x), Some(y), Some(z)] => Velocity::Constant([x, y, z]),
                _ => Velocity::Varying(Box::new(parts)),
            });
        }
        self.vector(node).map(Velocity::Constant)
    }
}

/// The fault of a text that is no such formula, at the place inside it that is wrong.
fn fault(error: &FormError, expected: &str, node: &Node, text: &str) -> Mismatch {
    let written = crate::diagnose::Text {
        value: text.to_string(),
        at: node.at.clone(),
    };
    let at = match error {
        FormError::Parse { position, .. } => written.part(*position..*position + 1),
        _ => node.at.clone(),
    };
    let label = match error {
        FormError::Parse { message, .. } => message.clone(),
        other => other.to_string(),
    };
    Mismatch::new(&at, expected, label)
}
