//! Operations on expressions: functions of numbers, arithmetic, tensor algebra, side operators.
//!
//! Each checks shapes and linearity and folds constants and zeros as it makes its node.

use super::error::FormError;
use super::expr::{Expr, Held, Op, Role, SideOf, mixed};
use super::functions::{Binary, Unary};
use super::shape::Shape;

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
    // ---- functions of numbers ----

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
            return Expr::make(
                Op::Unary(function, self.clone()),
                self.shape(),
                self.held().clone(),
            )
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

    /// The angle of the point (`x`, `self`) from the first axis, from −π to π.
    pub fn atan2(&self, x: impl Into<Expr>) -> Expr {
        Expr::scalar_binary(Binary::Atan2, "atan2", self, &x.into())
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
        if let Some(bad) = [condition, yes, no]
            .into_iter()
            .find(|e| e.error().is_some())
        {
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
            return if function == Binary::Add {
                b.clone()
            } else {
                b.unary(Unary::Neg)
            };
        }
        if !a.held().same(b.held()) {
            return Expr::invalid(mixed(a, b));
        }
        if let (Some(x), Some(y)) = (a.constant_value(), b.constant_value()) {
            return Expr::constant(function.eval(x, y));
        }
        Expr::make(
            Op::Binary(function, a.clone(), b.clone()),
            a.shape(),
            a.held().clone(),
        )
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
        let (factor, value) = if a.shape().is_scalar() {
            (a, b)
        } else {
            (b, a)
        };
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
            return Expr::shape_error(
                "/",
                &[a, b],
                format!("{a} / {b}"),
                "the divisor is a scalar",
            );
        }
        if !b.held().none() {
            return b.nonlinear();
        }
        // 0 / 0 is not a number.
        if b.constant_value() == Some(1.0) || (a.is_zero() && b.constant_value() != Some(0.0)) {
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
                let hint = if square {
                    "it takes a square matrix"
                } else {
                    "it takes a matrix"
                };
                Expr::shape_error(name, &[self], format!("{name}({self})"), hint)
            }
        }
    }

    /// Transposed matrix.
    pub fn transpose(&self) -> Expr {
        self.matrix_map(
            "transpose",
            false,
            |r, c| Shape::Matrix(c, r),
            Op::Transpose,
        )
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
            _ => Expr::make(
                Op::Component(self.clone(), flat),
                Shape::Scalar,
                self.held().clone(),
            ),
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
        Expr::make(
            Op::Restrict(side, self.clone()),
            self.shape(),
            self.held().clone(),
        )
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
