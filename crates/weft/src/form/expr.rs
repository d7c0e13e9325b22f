//! The expression graph.
//!
//! [`Expr`] is a node of an immutable, shared graph. Shapes and linearity in the test and
//! trial functions are checked when a node is made. Operators cannot return a `Result`, so a
//! wrong operation makes an *invalid* node that carries its error; everything built on it
//! carries the same error, and the first fallible use reports it.

use super::calculus::children;
use super::error::FormError;
use super::native::NativeFunction;
use super::param::Param;
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

/// Functions of one number, taken component by component where noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Unary {
    Neg,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Exp,
    Ln,
    Sqrt,
    Abs,
    Sign,
}

impl Unary {
    pub(crate) const NAMED: [(&'static str, Unary); 14] = [
        ("sin", Unary::Sin),
        ("cos", Unary::Cos),
        ("tan", Unary::Tan),
        ("asin", Unary::Asin),
        ("acos", Unary::Acos),
        ("atan", Unary::Atan),
        ("sinh", Unary::Sinh),
        ("cosh", Unary::Cosh),
        ("tanh", Unary::Tanh),
        ("exp", Unary::Exp),
        ("ln", Unary::Ln),
        ("sqrt", Unary::Sqrt),
        ("abs", Unary::Abs),
        ("sign", Unary::Sign),
    ];

    pub(crate) fn name(self) -> &'static str {
        Unary::NAMED.iter().find(|(_, u)| *u == self).map_or("-", |(n, _)| n)
    }

    /// The function of one number.
    pub fn eval(self, x: f64) -> f64 {
        match self {
            Unary::Neg => -x,
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tan => x.tan(),
            Unary::Asin => x.asin(),
            Unary::Acos => x.acos(),
            Unary::Atan => x.atan(),
            Unary::Sinh => x.sinh(),
            Unary::Cosh => x.cosh(),
            Unary::Tanh => x.tanh(),
            Unary::Exp => x.exp(),
            Unary::Ln => x.ln(),
            Unary::Sqrt => x.sqrt(),
            Unary::Abs => x.abs(),
            Unary::Sign => {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            }
        }
    }
}

/// Functions of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
    Less,
    LessEqual,
    Equal,
}

impl Binary {
    /// The function of two numbers; comparisons give 1 or 0.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        let truth = |t: bool| if t { 1.0 } else { 0.0 };
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => {
                // Small whole powers by multiplication: exact for negative bases and fast.
                if b.fract() == 0.0 && b.abs() <= 64.0 { a.powi(b as i32) } else { a.powf(b) }
            }
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::Less => truth(a < b),
            Binary::LessEqual => truth(a <= b),
            Binary::Equal => truth(a == b),
        }
    }
}

/// Number given for each cell of a geometry: a piecewise constant coefficient.
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
    Position,
    Normal,
    CellSize,
    Argument(Role, Space),
    Field(Field),
    /// Gradient of an argument or a field.
    Gradient(Expr),
    /// Derivative of one component of an argument or a field along one axis.
    Partial(Expr, usize, usize),
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

    fn none(&self) -> bool {
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

/// Product of what two factors hold, or the role that would be squared.
fn product(a: &Held, b: &Held) -> Result<Held, Role> {
    if a.test.is_some() && b.test.is_some() {
        return Err(Role::Test);
    }
    if a.trial.is_some() && b.trial.is_some() {
        return Err(Role::Trial);
    }
    Ok(Held {
        test: a.test.clone().or_else(|| b.test.clone()),
        trial: a.trial.clone().or_else(|| b.trial.clone()),
    })
}

impl Expr {
    pub(crate) fn make(op: Op, shape: Shape, held: Held) -> Expr {
        let depth = 1 + children(&op).into_iter().map(|c| c.0.depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Expr::invalid(FormError::TooLarge(format!(
                "an expression holds at most {MAX_DEPTH} operations inside one another"
            )));
        }
        Expr(Arc::new(Node { op, shape, held, depth }))
    }

    fn leaf(op: Op, shape: Shape) -> Expr {
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
        Expr::tensor(Shape::Vector(values.len()), values.iter().map(|&v| v.into()).collect())
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
            return parts.into_iter().next().unwrap_or_else(|| Expr::zero(shape));
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

    /// The size of the cell: its largest distance between two vertices.
    pub fn cell_size() -> Expr {
        Expr::leaf(Op::CellSize, Shape::Scalar)
    }

    /// A number for each cell of the geometry.
    pub fn cell_data(name: &str, values: Vec<f64>) -> Expr {
        let data = CellData { name: name.to_owned(), values };
        Expr::leaf(Op::CellData(Arc::new(data)), Shape::Scalar)
    }

    /// The test function of a space.
    pub fn test(space: &Space) -> Expr {
        let held = Held { test: Some(space.clone()), trial: None };
        Expr::make(Op::Argument(Role::Test, space.clone()), space.shape(), held)
    }

    /// The trial function of a space.
    pub fn trial(space: &Space) -> Expr {
        let held = Held { test: None, trial: Some(space.clone()) };
        Expr::make(Op::Argument(Role::Trial, space.clone()), space.shape(), held)
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

    fn nonlinear(&self) -> Expr {
        let role = if self.held().test.is_some() { Role::Test } else { Role::Trial };
        Expr::invalid(FormError::Nonlinear { role: role.name(), expression: self.to_string() })
    }

    fn shape_error(operation: &str, operands: &[&Expr], whole: String, hint: &str) -> Expr {
        let shapes: Vec<String> =
            operands.iter().map(|e| format!("a {} (`{e}`)", e.shape())).collect();
        Expr::invalid(FormError::Shape {
            operation: operation.to_owned(),
            shapes: shapes.join(" and "),
            expression: whole,
            hint: if hint.is_empty() { String::new() } else { format!("; {hint}") },
        })
    }

    // ---- component-wise functions ----

    /// Apply a function of one number. Only negation takes more than scalars.
    pub fn unary(&self, function: Unary) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if function == Unary::Neg {
            if self.is_zero() {
                return self.clone();
            }
            return match self.op() {
                Op::Constant(c) => Expr::constant(-c),
                Op::Unary(Unary::Neg, inner) => inner.clone(),
                _ => Expr::make(
                    Op::Unary(function, self.clone()),
                    self.shape(),
                    self.held().clone(),
                ),
            };
        }
        let name = function.name();
        if !self.shape().is_scalar() {
            return Expr::shape_error(
                name,
                &[self],
                format!("{name}({self})"),
                "it takes a scalar",
            );
        }
        if !self.held().none() {
            return Expr::make(Op::Unary(function, self.clone()), self.shape(), self.held().clone())
                .nonlinear();
        }
        if let Some(c) = self.constant_value() {
            return Expr::constant(function.eval(c));
        }
        Expr::leaf(Op::Unary(function, self.clone()), Shape::Scalar)
    }

    /// Apply a function of two scalars that is not linear in either.
    fn scalar_binary(function: Binary, name: &str, a: &Expr, b: &Expr) -> Expr {
        if let Some(bad) = [a, b].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        let text = || format!("{name}({a}, {b})");
        if !a.shape().is_scalar() || !b.shape().is_scalar() {
            return Expr::shape_error(name, &[a, b], text(), "it takes two scalars");
        }
        if let Some(bad) = [a, b].into_iter().find(|e| !e.held().none()) {
            return bad.nonlinear();
        }
        if let (Some(x), Some(y)) = (a.constant_value(), b.constant_value()) {
            return Expr::constant(function.eval(x, y));
        }
        Expr::leaf(Op::Binary(function, a.clone(), b.clone()), Shape::Scalar)
    }

    /// Power of scalars.
    pub fn pow(&self, exponent: impl Into<Expr>) -> Expr {
        let exponent = exponent.into();
        if self.shape().is_scalar() && exponent.constant_value() == Some(1.0) {
            return self.clone();
        }
        Expr::scalar_binary(Binary::Pow, "pow", self, &exponent)
    }

    /// The smaller of two scalars.
    pub fn min(&self, other: impl Into<Expr>) -> Expr {
        Expr::scalar_binary(Binary::Min, "min", self, &other.into())
    }

    /// The larger of two scalars.
    pub fn max(&self, other: impl Into<Expr>) -> Expr {
        Expr::scalar_binary(Binary::Max, "max", self, &other.into())
    }

    /// 1 where `self < other`, else 0.
    pub fn less(&self, other: impl Into<Expr>) -> Expr {
        Expr::scalar_binary(Binary::Less, "less", self, &other.into())
    }

    /// 1 where `self ≤ other`, else 0.
    pub fn less_equal(&self, other: impl Into<Expr>) -> Expr {
        Expr::scalar_binary(Binary::LessEqual, "less_equal", self, &other.into())
    }

    /// 1 where the two are equal, else 0.
    pub fn equal(&self, other: impl Into<Expr>) -> Expr {
        Expr::scalar_binary(Binary::Equal, "equal", self, &other.into())
    }

    /// `yes` where the condition is not 0, else `no`.
    pub fn select(condition: &Expr, yes: &Expr, no: &Expr) -> Expr {
        if let Some(bad) = [condition, yes, no].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        let text = || format!("select({condition}, {yes}, {no})");
        if !condition.shape().is_scalar() {
            return Expr::shape_error("select", &[condition], text(), "the condition is a scalar");
        }
        if yes.shape() != no.shape() {
            return Expr::shape_error("select", &[yes, no], text(), "both values have one shape");
        }
        if !condition.held().none() {
            return condition.nonlinear();
        }
        if yes.is_zero() && no.is_zero() {
            return yes.clone();
        }
        if !yes.is_zero() && !no.is_zero() && !yes.held().same(no.held()) {
            return Expr::invalid(mixed(yes, no));
        }
        if let Some(c) = condition.constant_value() {
            return if c != 0.0 { yes.clone() } else { no.clone() };
        }
        let held = if yes.is_zero() { no.held() } else { yes.held() }.clone();
        let op = Op::Select(condition.clone(), yes.clone(), no.clone());
        Expr::make(op, yes.shape(), held)
    }

    // ---- arithmetic ----

    fn sum(function: Binary, a: &Expr, b: &Expr) -> Expr {
        if let Some(bad) = [a, b].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        let sign = if function == Binary::Add { "+" } else { "-" };
        if a.shape() != b.shape() {
            let text = format!("{a} {sign} {b}");
            return Expr::shape_error(sign, &[a, b], text, "both sides have one shape");
        }
        if b.is_zero() {
            return a.clone();
        }
        if a.is_zero() {
            return if function == Binary::Add { b.clone() } else { b.unary(Unary::Neg) };
        }
        if !a.held().same(b.held()) {
            return Expr::invalid(mixed(a, b));
        }
        if let (Some(x), Some(y)) = (a.constant_value(), b.constant_value()) {
            return Expr::constant(function.eval(x, y));
        }
        Expr::make(Op::Binary(function, a.clone(), b.clone()), a.shape(), a.held().clone())
    }

    /// A product that is linear in each factor, or the error of squaring an argument.
    fn bilinear(a: &Expr, b: &Expr, shape: Shape, op: impl FnOnce(Expr, Expr) -> Op) -> Expr {
        if a.is_zero() || b.is_zero() {
            return Expr::zero(shape);
        }
        match product(a.held(), b.held()) {
            Ok(held) => Expr::make(op(a.clone(), b.clone()), shape, held),
            Err(role) => {
                let whole = Expr::make(op(a.clone(), b.clone()), shape, Held::default());
                Expr::invalid(FormError::Nonlinear {
                    role: role.name(),
                    expression: whole.to_string(),
                })
            }
        }
    }

    fn multiply(a: &Expr, b: &Expr) -> Expr {
        if let Some(bad) = [a, b].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        let (factor, value) = if a.shape().is_scalar() { (a, b) } else { (b, a) };
        if !factor.shape().is_scalar() {
            let text = format!("{a} * {b}");
            let hint = "one factor is a scalar; use dot, inner or outer for the other products";
            return Expr::shape_error("*", &[a, b], text, hint);
        }
        if let (Some(x), Some(y)) = (a.constant_value(), b.constant_value()) {
            return Expr::constant(x * y);
        }
        if factor.constant_value() == Some(1.0) {
            return value.clone();
        }
        if value.constant_value() == Some(1.0) {
            return factor.clone();
        }
        if value.shape().is_scalar() {
            Expr::bilinear(a, b, Shape::Scalar, |a, b| Op::Binary(Binary::Mul, a, b))
        } else {
            Expr::bilinear(factor, value, value.shape(), Op::Scale)
        }
    }

    fn divide(a: &Expr, b: &Expr) -> Expr {
        if let Some(bad) = [a, b].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        if !b.shape().is_scalar() {
            return Expr::shape_error("/", &[a, b], format!("{a} / {b}"), "the divisor is a scalar");
        }
        if !b.held().none() {
            return b.nonlinear();
        }
        if b.constant_value() == Some(1.0) || a.is_zero() {
            return a.clone();
        }
        if let (Some(x), Some(y)) = (a.constant_value(), b.constant_value()) {
            return Expr::constant(x / y);
        }
        if a.shape().is_scalar() {
            let op = Op::Binary(Binary::Div, a.clone(), b.clone());
            Expr::make(op, Shape::Scalar, a.held().clone())
        } else {
            let inverse = Expr::divide(&Expr::constant(1.0), b);
            Expr::multiply(&inverse, a)
        }
    }

    // ---- tensors ----

    /// Full contraction of two values of one shape: `Σ aᵢⱼ bᵢⱼ`.
    pub fn inner(&self, other: &Expr) -> Expr {
        if let Some(bad) = [self, other].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        if self.shape() != other.shape() {
            let text = format!("inner({self}, {other})");
            return Expr::shape_error("inner", &[self, other], text, "both have one shape");
        }
        if self.shape().is_scalar() {
            return Expr::multiply(self, other);
        }
        Expr::bilinear(self, other, Shape::Scalar, Op::Inner)
    }

    /// Contraction of the last index of `self` with the first of `other`.
    pub fn dot(&self, other: &Expr) -> Expr {
        if let Some(bad) = [self, other].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        use Shape::{Matrix, Vector};
        let shape = match (self.shape(), other.shape()) {
            (Shape::Scalar, Shape::Scalar) => return Expr::multiply(self, other),
            (Vector(m), Vector(n)) if m == n => Shape::Scalar,
            (Matrix(r, m), Vector(n)) if m == n => Vector(r),
            (Vector(m), Matrix(n, c)) if m == n => Vector(c),
            (Matrix(r, m), Matrix(n, c)) if m == n => Matrix(r, c),
            _ => {
                let text = format!("dot({self}, {other})");
                let hint = "the last size of the left equals the first of the right";
                return Expr::shape_error("dot", &[self, other], text, hint);
            }
        };
        Expr::bilinear(self, other, shape, Op::Dot)
    }

    /// Outer product `aᵢ bⱼ` of two vectors.
    pub fn outer(&self, other: &Expr) -> Expr {
        if let Some(bad) = [self, other].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        match (self.shape(), other.shape()) {
            (Shape::Vector(m), Shape::Vector(n)) => {
                Expr::bilinear(self, other, Shape::Matrix(m, n), Op::Outer)
            }
            _ => {
                let text = format!("outer({self}, {other})");
                Expr::shape_error("outer", &[self, other], text, "it takes two vectors")
            }
        }
    }

    /// Cross product: of two 3-vectors a vector, of two 2-vectors the scalar a₀b₁ − a₁b₀.
    pub fn cross(&self, other: &Expr) -> Expr {
        if let Some(bad) = [self, other].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        let shape = match (self.shape(), other.shape()) {
            (Shape::Vector(3), Shape::Vector(3)) => Shape::Vector(3),
            (Shape::Vector(2), Shape::Vector(2)) => Shape::Scalar,
            _ => {
                let text = format!("cross({self}, {other})");
                let hint = "it takes two vectors of 3, or two of 2";
                return Expr::shape_error("cross", &[self, other], text, hint);
            }
        };
        Expr::bilinear(self, other, shape, Op::Cross)
    }

    fn matrix_map(
        &self,
        name: &str,
        square: bool,
        shape: impl FnOnce(usize, usize) -> Shape,
        op: impl FnOnce(Expr) -> Op,
    ) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        match self.shape() {
            Shape::Matrix(r, c) if !square || r == c => {
                let shape = shape(r, c);
                if self.is_zero() {
                    return Expr::zero(shape);
                }
                Expr::make(op(self.clone()), shape, self.held().clone())
            }
            _ => {
                let hint = if square { "it takes a square matrix" } else { "it takes a matrix" };
                Expr::shape_error(name, &[self], format!("{name}({self})"), hint)
            }
        }
    }

    /// Transposed matrix.
    pub fn transpose(&self) -> Expr {
        self.matrix_map("transpose", false, |r, c| Shape::Matrix(c, r), Op::Transpose)
    }

    /// Sum of the diagonal.
    pub fn trace(&self) -> Expr {
        self.matrix_map("tr", true, |_, _| Shape::Scalar, Op::Trace)
    }

    /// Symmetric part ½(A + Aᵀ).
    pub fn sym(&self) -> Expr {
        self.matrix_map("sym", true, Shape::Matrix, Op::Symmetric)
    }

    /// Skew part ½(A − Aᵀ).
    pub fn skew(&self) -> Expr {
        self.matrix_map("skew", true, Shape::Matrix, Op::Skew)
    }

    /// Deviatoric part A − tr(A)/n I.
    pub fn dev(&self) -> Expr {
        self.matrix_map("dev", true, Shape::Matrix, Op::Deviator)
    }

    fn small_square(&self, name: &str) -> Result<usize, Expr> {
        if self.error().is_some() {
            return Err(self.clone());
        }
        let text = || format!("{name}({self})");
        match self.shape() {
            Shape::Matrix(r, c) if r == c && r <= 3 => {}
            _ => {
                let hint = "it takes a square matrix of at most 3 rows";
                return Err(Expr::shape_error(name, &[self], text(), hint));
            }
        }
        if !self.held().none() {
            return Err(self.nonlinear());
        }
        Ok(self.shape().len())
    }

    /// Determinant of a matrix of at most 3 rows.
    pub fn det(&self) -> Expr {
        match self.small_square("det") {
            Ok(_) => Expr::leaf(Op::Determinant(self.clone()), Shape::Scalar),
            Err(e) => e,
        }
    }

    /// Inverse of a matrix of at most 3 rows. A singular one gives infinities, as 1/0 does.
    pub fn inverse(&self) -> Expr {
        match self.small_square("inv") {
            Ok(_) => Expr::leaf(Op::Inverse(self.clone()), self.shape()),
            Err(e) => e,
        }
    }

    /// Euclidean (Frobenius) norm.
    pub fn norm(&self) -> Expr {
        if self.shape().is_scalar() {
            return self.unary(Unary::Abs);
        }
        if self.error().is_none() && !self.held().none() {
            return self.nonlinear();
        }
        self.inner(self).unary(Unary::Sqrt)
    }

    /// Component `i` of a vector.
    pub fn at(&self, i: usize) -> Expr {
        self.index(&[i])
    }

    /// Component `(i, j)` of a matrix.
    pub fn at2(&self, i: usize, j: usize) -> Expr {
        self.index(&[i, j])
    }

    pub(crate) fn index(&self, index: &[usize]) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let flat = match (self.shape(), index) {
            (Shape::Vector(n), &[i]) if i < n => i,
            (Shape::Matrix(r, c), &[i, j]) if i < r && j < c => i * c + j,
            _ => {
                let text: Vec<String> = index.iter().map(|i| i.to_string()).collect();
                return Expr::invalid(FormError::Index {
                    index: text.join(", "),
                    expression: self.to_string(),
                    shape: self.shape().to_string(),
                });
            }
        };
        self.component(flat)
    }

    /// Component in row-major order; the caller has checked the range.
    pub(crate) fn component(&self, flat: usize) -> Expr {
        if self.shape().is_scalar() {
            return self.clone();
        }
        match self.op() {
            Op::Tensor(parts) => parts[flat].clone(),
            Op::Zero => Expr::zero(Shape::Scalar),
            _ => Expr::make(Op::Component(self.clone(), flat), Shape::Scalar, self.held().clone()),
        }
    }

    // ---- sides ----

    /// Value taken from the inner cell of an interior side.
    pub fn inside(&self) -> Expr {
        self.restrict(SideOf::Inside)
    }

    /// Value taken from the outer cell of an interior side; equal to `inside` on the boundary.
    pub fn outside(&self) -> Expr {
        self.restrict(SideOf::Outside)
    }

    fn restrict(&self, side: SideOf) -> Expr {
        if self.error().is_some() || self.is_zero() {
            return self.clone();
        }
        Expr::make(Op::Restrict(side, self.clone()), self.shape(), self.held().clone())
    }

    /// `inside − outside`.
    pub fn jump(&self) -> Expr {
        self.inside() - self.outside()
    }

    /// `½ (inside + outside)`.
    pub fn avg(&self) -> Expr {
        0.5 * (self.inside() + self.outside())
    }
}

fn mixed(a: &Expr, b: &Expr) -> FormError {
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

macro_rules! operator {
    ($trait:ident, $method:ident, $call:expr) => {
        impl std::ops::$trait<Expr> for Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                $call(&self, &other)
            }
        }
        impl std::ops::$trait<&Expr> for &Expr {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                $call(self, other)
            }
        }
        impl std::ops::$trait<&Expr> for Expr {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                $call(&self, other)
            }
        }
        impl std::ops::$trait<Expr> for &Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                $call(self, &other)
            }
        }
        impl std::ops::$trait<f64> for Expr {
            type Output = Expr;
            fn $method(self, other: f64) -> Expr {
                $call(&self, &other.into())
            }
        }
        impl std::ops::$trait<f64> for &Expr {
            type Output = Expr;
            fn $method(self, other: f64) -> Expr {
                $call(self, &other.into())
            }
        }
        impl std::ops::$trait<Expr> for f64 {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                $call(&self.into(), &other)
            }
        }
        impl std::ops::$trait<&Expr> for f64 {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                $call(&self.into(), other)
            }
        }
    };
}

operator!(Add, add, |a: &Expr, b: &Expr| Expr::sum(Binary::Add, a, b));
operator!(Sub, sub, |a: &Expr, b: &Expr| Expr::sum(Binary::Sub, a, b));
operator!(Mul, mul, Expr::multiply);
operator!(Div, div, Expr::divide);

impl std::ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self.unary(Unary::Neg)
    }
}

impl std::ops::Neg for &Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self.unary(Unary::Neg)
    }
}
