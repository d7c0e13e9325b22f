//! The expression graph.
//!
//! [`Expr`] is a node of an immutable, shared graph. Shapes and linearity in the test and
//! trial functions are checked when a node is made. Operators cannot return a `Result`, so a
//! wrong operation makes an *invalid* node that carries its error; everything built on it
//! carries the same error, and the first fallible use reports it.

use super::calculus::children;
use super::error::FormError;
use super::functions::{Binary, Unary};
use super::native::NativeFunction;
use super::param::Param;
use super::particle_data::ParticleData;
use super::place::{Cells, Quantity};
use super::point_data::PointData;
use super::shape::Shape;
use crate::field::Field;
use crate::geometry::Geometry;
use crate::space::Space;
use std::sync::Arc;

/// A scalar, vector or matrix expression at a point.
#[derive(Clone, Debug)]
pub struct Expr(pub(crate) Arc<Node>);

/// Test or trial function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The function that the equation is tested with.
    Test,
    /// The unknown of a linear problem.
    Trial,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Test => "test",
            Role::Trial => "trial",
        }
    }
}

/// Side of an interior side that a quantity is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SideOf {
    /// The inner cell, which the normal leaves.
    Inside,
    /// The outer cell.
    Outside,
}

/// Number given for each cell or side of a geometry: a piecewise constant coefficient.
#[derive(Debug)]
pub struct CellData {
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
}

#[derive(Debug)]
pub(crate) enum Op {
    Zero,
    Constant(f64),
    Param(Param),
    CellData(Arc<CellData>),
    ParticleData(ParticleData),
    Position,
    Normal,
    CellSize,
    /// Quantity of the place, for cells of this kind.
    Quantity(Quantity, Cells),
    SideData(Arc<CellData>),
    Argument(Role, Space),
    Field(Field),
    /// Gradient of an argument or a field.
    Gradient(Expr),
    /// Derivative of one component of an argument or a field along one axis.
    Partial(Expr, usize, usize),
    /// Divergence of an argument or a field of an H(div) space.
    Divergence(Expr),
    /// Curl of an argument or a field of an H(curl) space.
    Curl(Expr),
    Tensor(Vec<Expr>),
    Component(Expr, usize),
    Unary(Unary, Expr),
    Binary(Binary, Expr, Expr),
    /// Scalar times anything.
    Scale(Expr, Expr),
    Select(Expr, Expr, Expr),
    Inner(Expr, Expr),
    /// Contraction of the last index of the left with the first of the right.
    Dot(Expr, Expr),
    Outer(Expr, Expr),
    Cross(Expr, Expr),
    Transpose(Expr),
    Trace(Expr),
    Determinant(Expr),
    Inverse(Expr),
    Symmetric(Expr),
    Skew(Expr),
    Deviator(Expr),
    Restrict(SideOf, Expr),
    Native(Arc<dyn NativeFunction>, Vec<Expr>),
    Invalid(FormError),
}

/// Which arguments a node holds, each at most linearly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    pub test: Option<Space>,
    pub trial: Option<Space>,
}

impl Held {
    pub(crate) fn same(&self, other: &Held) -> bool {
        let eq = |a: &Option<Space>, b: &Option<Space>| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => a.same(b),
            _ => false,
        };
        eq(&self.test, &other.test) && eq(&self.trial, &other.trial)
    }

    pub(super) fn none(&self) -> bool {
        self.test.is_none() && self.trial.is_none()
    }

    fn describe(&self) -> &'static str {
        match (&self.test, &self.trial) {
            (None, None) => "holds neither",
            (Some(_), None) => "holds the test function",
            (None, Some(_)) => "holds the trial function",
            (Some(_), Some(_)) => "holds both",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub op: Op,
    pub shape: Shape,
    pub held: Held,
    /// Operations on the longest path to a leaf.
    depth: usize,
}

/// Longest path in a graph: what walks it recurses, and the stack is finite.
const MAX_DEPTH: usize = 1000;

impl Expr {
    pub(crate) fn make(op: Op, shape: Shape, held: Held) -> Expr {
        let depth = 1 + children(&op)
            .into_iter()
            .map(|c| c.0.depth)
            .max()
            .unwrap_or(0);
        if depth > MAX_DEPTH {
            return Expr::invalid(FormError::TooLarge(format!(
                "an expression holds at most {MAX_DEPTH} operations inside one another"
            )));
        }
        Expr(Arc::new(Node {
            op,
            shape,
            held,
            depth,
        }))
    }

    pub(super) fn leaf(op: Op, shape: Shape) -> Expr {
        Expr::make(op, shape, Held::default())
    }

    pub(crate) fn invalid(error: FormError) -> Expr {
        Expr::leaf(Op::Invalid(error), Shape::Scalar)
    }

    pub(crate) fn op(&self) -> &Op {
        &self.0.op
    }

    pub(crate) fn held(&self) -> &Held {
        &self.0.held
    }

    /// Shape of the value.
    pub fn shape(&self) -> Shape {
        self.0.shape
    }

    /// The error carried by an invalid expression, if any.
    pub fn error(&self) -> Option<&FormError> {
        match self.op() {
            Op::Invalid(e) => Some(e),
            _ => None,
        }
    }

    /// `Ok` if the expression is valid, else its error.
    pub fn check(&self) -> Result<(), FormError> {
        self.error().map_or(Ok(()), |e| Err(e.clone()))
    }

    /// Space of an argument or field; `None` for anything else.
    pub(crate) fn function_space(&self) -> Option<&Space> {
        match self.op() {
            Op::Argument(_, space) => Some(space),
            Op::Field(field) => Some(field.space()),
            _ => None,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self.op(), Op::Zero) || matches!(self.op(), Op::Constant(c) if *c == 0.0)
    }

    pub(crate) fn constant_value(&self) -> Option<f64> {
        match self.op() {
            Op::Constant(c) => Some(*c),
            Op::Zero if self.shape().is_scalar() => Some(0.0),
            _ => None,
        }
    }

    // ---- leaves ----

    /// A number.
    pub fn constant(value: f64) -> Expr {
        Expr::leaf(Op::Constant(value), Shape::Scalar)
    }

    /// Zero of any shape.
    pub fn zero(shape: Shape) -> Expr {
        Expr::leaf(Op::Zero, shape)
    }

    /// A vector of numbers.
    pub fn vector(values: &[f64]) -> Expr {
        Expr::tensor(
            Shape::Vector(values.len()),
            values.iter().map(|&v| v.into()).collect(),
        )
    }

    /// The `n × n` identity.
    pub fn identity(n: usize) -> Expr {
        let parts = (0..n * n).map(|k| if k % (n + 1) == 0 { 1.0 } else { 0.0 }.into());
        Expr::tensor(Shape::Matrix(n, n), parts.collect())
    }

    /// A vector or matrix from scalar parts, row-major.
    pub fn tensor(shape: Shape, parts: Vec<Expr>) -> Expr {
        if let Some(bad) = parts.iter().find(|p| p.error().is_some()) {
            return bad.clone();
        }
        if parts.len() != shape.len() || shape.is_empty() {
            return Expr::invalid(FormError::Shape {
                operation: format!("a {shape}"),
                shapes: format!("{} parts", parts.len()),
                expression: list(&parts),
                hint: format!("; it takes {}", shape.len()),
            });
        }
        if let Some(bad) = parts.iter().find(|p| !p.shape().is_scalar()) {
            return Expr::invalid(FormError::NotScalar {
                expression: bad.to_string(),
                shape: bad.shape().to_string(),
            });
        }
        if parts.iter().all(Expr::is_zero) {
            return Expr::zero(shape);
        }
        if shape.is_scalar() {
            return parts
                .into_iter()
                .next()
                .unwrap_or_else(|| Expr::zero(shape));
        }
        let mut held: Option<&Expr> = None;
        for part in parts.iter().filter(|p| !p.is_zero()) {
            match held {
                Some(first) if !first.held().same(part.held()) => {
                    return Expr::invalid(mixed(first, part));
                }
                _ => held = Some(part),
            }
        }
        let held = held.map(|p| p.held().clone()).unwrap_or_default();
        Expr::make(Op::Tensor(parts), shape, held)
    }

    /// The position, a vector of the space dimension of `geometry`.
    pub fn position<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::position_in(geometry.space_dim())
    }

    pub(crate) fn position_in(dim: usize) -> Expr {
        Expr::leaf(Op::Position, Shape::Vector(dim))
    }

    /// The unit normal of a side, outward from the (inner) cell.
    pub fn normal<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::normal_in(geometry.space_dim())
    }

    pub(crate) fn normal_in(dim: usize) -> Expr {
        Expr::leaf(Op::Normal, Shape::Vector(dim))
    }

    /// The size of the cell: the largest distance between two of its geometry nodes.
    pub fn cell_size() -> Expr {
        Expr::leaf(Op::CellSize, Shape::Scalar)
    }

    /// A number for each cell of the geometry.
    pub fn cell_data(name: &str, values: Vec<f64>) -> Expr {
        let data = CellData {
            name: name.to_owned(),
            values,
        };
        Expr::leaf(Op::CellData(Arc::new(data)), Shape::Scalar)
    }

    /// The test function of a space.
    pub fn test(space: &Space) -> Expr {
        let held = Held {
            test: Some(space.clone()),
            trial: None,
        };
        Expr::make(Op::Argument(Role::Test, space.clone()), space.shape(), held)
    }

    /// The trial function of a space.
    pub fn trial(space: &Space) -> Expr {
        let held = Held {
            test: None,
            trial: Some(space.clone()),
        };
        Expr::make(
            Op::Argument(Role::Trial, space.clone()),
            space.shape(),
            held,
        )
    }

    /// The result of a [`NativeFunction`] of the given arguments.
    pub fn native(function: Arc<dyn NativeFunction>, arguments: Vec<Expr>) -> Expr {
        if let Some(bad) = arguments.iter().find(|p| p.error().is_some()) {
            return bad.clone();
        }
        let wanted = function.arguments();
        let components: usize = wanted.iter().map(|s| s.len()).sum();
        let fits = arguments.len() == wanted.len()
            && components.max(function.result().len()) <= super::native::MAX_COMPONENTS
            && arguments.iter().zip(&wanted).all(|(a, &s)| a.shape() == s);
        if !fits {
            let shapes = |s: Vec<String>| s.join(", ");
            return Expr::invalid(FormError::Shape {
                operation: format!("the native function `{}`", function.name()),
                shapes: shapes(arguments.iter().map(|a| a.shape().to_string()).collect()),
                expression: list(&arguments),
                hint: format!(
                    "; it takes {} and gives a {}, of at most {} components",
                    shapes(wanted.iter().map(|s| s.to_string()).collect()),
                    function.result(),
                    super::native::MAX_COMPONENTS,
                ),
            });
        }
        if let Some(bad) = arguments.iter().find(|a| !a.held().none()) {
            return bad.nonlinear();
        }
        let shape = function.result();
        Expr::leaf(Op::Native(function, arguments), shape)
    }

    pub(super) fn nonlinear(&self) -> Expr {
        let role = if self.held().test.is_some() {
            Role::Test
        } else {
            Role::Trial
        };
        Expr::invalid(FormError::Nonlinear {
            role: role.name(),
            expression: self.to_string(),
        })
    }

    pub(super) fn shape_error(
        operation: &str,
        operands: &[&Expr],
        whole: String,
        hint: &str,
    ) -> Expr {
        let shapes: Vec<String> = operands
            .iter()
            .map(|e| format!("a {} (`{e}`)", e.shape()))
            .collect();
        Expr::invalid(FormError::Shape {
            operation: operation.to_owned(),
            shapes: shapes.join(" and "),
            expression: whole,
            hint: if hint.is_empty() {
                String::new()
            } else {
                format!("; {hint}")
            },
        })
    }
}

pub(super) fn mixed(a: &Expr, b: &Expr) -> FormError {
    let (left_has, mut right_has) = (a.held().describe(), b.held().describe().to_owned());
    if right_has == left_has {
        right_has.push_str(", of another space");
    }
    FormError::MixedSum {
        left: a.to_string(),
        left_has: left_has.to_owned(),
        right: b.to_string(),
        right_has,
    }
}

fn list(parts: &[Expr]) -> String {
    let parts: Vec<String> = parts.iter().map(|p| p.to_string()).collect();
    format!("[{}]", parts.join(", "))
}

impl From<f64> for Expr {
    fn from(value: f64) -> Expr {
        Expr::constant(value)
    }
}

impl From<&Expr> for Expr {
    fn from(e: &Expr) -> Expr {
        e.clone()
    }
}

impl From<&Field> for Expr {
    fn from(field: &Field) -> Expr {
        Expr::leaf(Op::Field(field.clone()), field.space().shape())
    }
}

impl From<&Param> for Expr {
    fn from(param: &Param) -> Expr {
        Expr::leaf(Op::Param(param.clone()), param.shape())
    }
}

impl From<&ParticleData> for Expr {
    fn from(data: &ParticleData) -> Expr {
        if data.shape().is_empty() {
            return Expr::invalid(FormError::Domain(format!(
                "the data `{}` has no components",
                data.name()
            )));
        }
        Expr::leaf(Op::ParticleData(data.clone()), data.shape())
    }
}

impl From<&PointData> for Expr {
    fn from(data: &PointData) -> Expr {
        Expr::from(&data.0)
    }
}
