//! Derivatives of expressions: in space (`grad`, `div`, `curl`) and with respect to a field
//! (`deriv`, the Gateaux derivative). Both are one engine: the chain rule with given
//! derivatives at the leaves.

use super::error::FormError;
use super::expr::{Expr, Op, Role};
use super::functions::{Binary, Unary};
use super::native::MAX_COMPONENTS;
use super::place::Quantity;
use super::shape::Shape;
use crate::element::Piola;
use crate::field::Field;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Parts of an expression that is still differentiated. Repeated derivatives multiply the
/// parts, so a short text could otherwise fill the memory.
const MAX_NODES: usize = 50_000;

/// Derivative at a leaf; `None` stands for zero.
type Seed<'a> = dyn Fn(&Expr) -> Option<Expr> + 'a;

struct Chain<'a> {
    seed: &'a Seed<'a>,
    done: HashMap<usize, Expr>,
}

fn address(e: &Expr) -> usize {
    Arc::as_ptr(&e.0) as usize
}

impl Chain<'_> {
    fn derive(&mut self, e: &Expr) -> Expr {
        if let Some(d) = self.done.get(&address(e)) {
            return d.clone();
        }
        if self.done.len() >= MAX_NODES {
            return Expr::invalid(FormError::TooLarge(format!(
                "only expressions of up to {MAX_NODES} parts are differentiated"
            )));
        }
        let d = self.rule(e);
        self.done.insert(address(e), d.clone());
        d
    }

    fn rule(&mut self, e: &Expr) -> Expr {
        let zero = || Expr::zero(e.shape());
        match e.op() {
            Op::Zero | Op::Constant(_) => zero(),
            Op::Param(_)
            | Op::CellData(_)
            | Op::ParticleData(_)
            | Op::Position
            | Op::Normal
            | Op::CellSize
            | Op::Quantity(..)
            | Op::SideData(_)
            | Op::Argument(..)
            | Op::Field(_)
            | Op::Gradient(_)
            | Op::Partial(..)
            | Op::Second(..)
            | Op::Divergence(_)
            | Op::Curl(_) => (self.seed)(e).unwrap_or_else(zero),
            Op::Tensor(parts) => {
                Expr::tensor(e.shape(), parts.iter().map(|p| self.derive(p)).collect())
            }
            Op::Component(a, k) => {
                let d = self.derive(a);
                if d.error().is_some() {
                    d
                } else {
                    d.component(*k)
                }
            }
            Op::Unary(u, a) => {
                let d = self.derive(a);
                if d.is_zero() {
                    zero()
                } else {
                    unary_rule(*u, a, &d)
                }
            }
            Op::Binary(b, l, r) => {
                let (dl, dr) = (self.derive(l), self.derive(r));
                binary_rule(*b, e, l, r, &dl, &dr)
            }
            Op::Scale(l, r) => self.derive(l) * r + l * self.derive(r),
            Op::Select(c, y, n) => Expr::select(c, &self.derive(y), &self.derive(n)),
            Op::Inner(l, r) => self.derive(l).inner(r) + l.inner(&self.derive(r)),
            Op::Dot(l, r) => self.derive(l).dot(r) + l.dot(&self.derive(r)),
            Op::Outer(l, r) => self.derive(l).outer(r) + l.outer(&self.derive(r)),
            Op::Cross(l, r) => self.derive(l).cross(r) + l.cross(&self.derive(r)),
            Op::Transpose(a) => self.derive(a).transpose(),
            Op::Trace(a) => self.derive(a).trace(),
            Op::Symmetric(a) => self.derive(a).sym(),
            Op::Skew(a) => self.derive(a).skew(),
            Op::Deviator(a) => self.derive(a).dev(),
            Op::Determinant(a) => {
                let d = self.derive(a);
                if d.is_zero() {
                    zero()
                } else {
                    cofactor(a).inner(&d)
                }
            }
            Op::Inverse(a) => {
                let d = self.derive(a);
                -e.dot(&d).dot(e)
            }
            Op::Restrict(super::SideOf::Inside, a) => self.derive(a).inside(),
            Op::Restrict(super::SideOf::Outside, a) => self.derive(a).outside(),
            Op::Native(f, arguments) => {
                let parts: Vec<Expr> = arguments.iter().map(|a| self.derive(a)).collect();
                if parts.iter().all(Expr::is_zero) {
                    return zero();
                }
                let Some(jacobian) = f.jacobian() else {
                    return Expr::invalid(FormError::Unavailable {
                        what: format!("the derivative of the native function `{}`", f.name()),
                        expression: e.to_string(),
                    });
                };
                let columns = arguments.iter().map(|a| a.shape().len()).sum();
                let wanted = Shape::Matrix(e.shape().len(), columns);
                if jacobian.result() != wanted {
                    return Expr::invalid(FormError::Shape {
                        operation: format!("the derivative of `{}`", f.name()),
                        shapes: format!("a Jacobian that is a {}", jacobian.result()),
                        expression: e.to_string(),
                        hint: format!("; it must be a {wanted}"),
                    });
                }
                let jacobian = Expr::native(jacobian, arguments.clone());
                let directions: Vec<Expr> = parts
                    .iter()
                    .flat_map(|p| (0..p.shape().len()).map(move |k| p.component(k)))
                    .collect();
                let rows = (0..e.shape().len()).map(|i| {
                    directions
                        .iter()
                        .enumerate()
                        .fold(Expr::zero(Shape::Scalar), |sum, (k, d)| {
                            sum + jacobian.component(i * columns + k) * d
                        })
                });
                Expr::tensor(e.shape(), rows.collect())
            }
            Op::Invalid(_) => e.clone(),
        }
    }
}

fn unary_rule(u: Unary, a: &Expr, d: &Expr) -> Expr {
    let f = |u: Unary| a.unary(u);
    let square = || a * a;
    match u {
        Unary::Neg => -d,
        Unary::Sin => f(Unary::Cos) * d,
        Unary::Cos => -(f(Unary::Sin) * d),
        Unary::Tan => (1.0 + f(Unary::Tan) * f(Unary::Tan)) * d,
        Unary::Asin => d / (1.0 - square()).unary(Unary::Sqrt),
        Unary::Acos => -(d / (1.0 - square()).unary(Unary::Sqrt)),
        Unary::Atan => d / (1.0 + square()),
        Unary::Sinh => f(Unary::Cosh) * d,
        Unary::Cosh => f(Unary::Sinh) * d,
        Unary::Tanh => (1.0 - f(Unary::Tanh) * f(Unary::Tanh)) * d,
        Unary::Exp => f(Unary::Exp) * d,
        Unary::Ln => d / a,
        Unary::Sqrt => d / (2.0 * f(Unary::Sqrt)),
        Unary::Abs => f(Unary::Sign) * d,
        Unary::Sign | Unary::Floor => Expr::zero(Shape::Scalar),
    }
}

fn binary_rule(b: Binary, e: &Expr, l: &Expr, r: &Expr, dl: &Expr, dr: &Expr) -> Expr {
    match b {
        Binary::Add => dl + dr,
        Binary::Sub => dl - dr,
        Binary::Mul => dl * r + l * dr,
        Binary::Div => {
            if dr.is_zero() {
                dl / r
            } else {
                dl / r - e / r * dr
            }
        }
        Binary::Pow => {
            let base = if dl.is_zero() {
                Expr::zero(Shape::Scalar)
            } else {
                r * l.pow(r - &Expr::constant(1.0)) * dl
            };
            let exponent = if dr.is_zero() {
                Expr::zero(Shape::Scalar)
            } else {
                e * l.unary(Unary::Ln) * dr
            };
            base + exponent
        }
        Binary::Min => Expr::select(&l.less_equal(r), dl, dr),
        Binary::Max => Expr::select(&r.less_equal(l), dl, dr),
        Binary::Less | Binary::LessEqual | Binary::Equal => Expr::zero(Shape::Scalar),
        Binary::Atan2 => (r * dl - l * dr) / (l * l + r * r),
    }
}

/// Cofactor matrix: the derivative of the determinant, also where it is 0.
fn cofactor(a: &Expr) -> Expr {
    let Shape::Matrix(n, _) = a.shape() else {
        return a.clone();
    };
    let at = |i: usize, j: usize| a.component(i * n + j);
    let parts = match n {
        1 => vec![Expr::constant(1.0)],
        2 => vec![at(1, 1), -at(1, 0), -at(0, 1), at(0, 0)],
        _ => (0..9)
            .map(|k| {
                let (i, j) = (k / 3, k % 3);
                let (i1, i2, j1, j2) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
                at(i1, j1) * at(i2, j2) - at(i1, j2) * at(i2, j1)
            })
            .collect(),
    };
    Expr::tensor(a.shape(), parts)
}

/// Space dimension that an expression implies, from its leaves.
fn space_dim(e: &Expr, seen: &mut HashMap<usize, Option<usize>>) -> Option<usize> {
    if let Some(&known) = seen.get(&address(e)) {
        return known;
    }
    seen.insert(address(e), None);
    let found = match e.op() {
        Op::Position | Op::Normal => Some(e.shape().len()),
        Op::Quantity(_, cells) => Some(cells.space_dim),
        Op::Argument(_, s) => Some(s.geometry().space_dim()),
        Op::Field(f) => Some(f.space().geometry().space_dim()),
        _ => children(e.op())
            .into_iter()
            .find_map(|c| space_dim(c, seen)),
    };
    seen.insert(address(e), found);
    found
}

/// Direct sub-expressions.
pub(crate) fn children(op: &Op) -> Vec<&Expr> {
    match op {
        Op::Zero
        | Op::Constant(_)
        | Op::Param(_)
        | Op::CellData(_)
        | Op::ParticleData(_)
        | Op::Position
        | Op::Normal
        | Op::CellSize
        | Op::Quantity(..)
        | Op::SideData(_)
        | Op::Argument(..)
        | Op::Field(_)
        | Op::Invalid(_) => vec![],
        Op::Gradient(a)
        | Op::Partial(a, ..)
        | Op::Second(a, ..)
        | Op::Divergence(a)
        | Op::Curl(a)
        | Op::Component(a, _)
        | Op::Unary(_, a)
        | Op::Transpose(a)
        | Op::Trace(a)
        | Op::Determinant(a)
        | Op::Inverse(a)
        | Op::Symmetric(a)
        | Op::Skew(a)
        | Op::Deviator(a)
        | Op::Restrict(_, a) => vec![a],
        Op::Binary(_, l, r)
        | Op::Scale(l, r)
        | Op::Inner(l, r)
        | Op::Dot(l, r)
        | Op::Outer(l, r)
        | Op::Cross(l, r) => vec![l, r],
        Op::Select(c, y, n) => vec![c, y, n],
        Op::Tensor(parts) | Op::Native(_, parts) => parts.iter().collect(),
    }
}

impl Expr {
    fn is_basis_leaf(&self) -> bool {
        matches!(self.op(), Op::Argument(..) | Op::Field(_))
    }

    /// The map of the functions of an argument or a field of an H(curl) or H(div) space.
    fn piola(&self) -> Option<Piola> {
        match self.op() {
            Op::Argument(_, space) => space.vector_element().map(|e| e.piola()),
            Op::Field(field) => field.space().vector_element().map(|e| e.piola()),
            _ => None,
        }
    }

    /// Whether some argument or field is of a space with this map.
    fn holds(&self, piola: Piola, seen: &mut HashSet<usize>) -> bool {
        seen.insert(address(self))
            && (self.piola() == Some(piola)
                || children(self.op())
                    .into_iter()
                    .any(|c| c.holds(piola, seen)))
    }

    /// The divergence (`Piola::Contravariant`) or curl (`Covariant`) of what is made of functions
    /// that have one by themselves: taken apart down to these, so that no full gradient is needed.
    fn natural(&self, piola: Piola) -> Option<Expr> {
        self.natural_of(piola, &mut HashMap::new())
    }

    /// `done` holds the results of parts, which may be shared.
    fn natural_of(&self, piola: Piola, done: &mut HashMap<usize, Expr>) -> Option<Expr> {
        if let Some(known) = done.get(&address(self)) {
            return Some(known.clone());
        }
        let natural = self.natural_rule(piola, done)?;
        done.insert(address(self), natural.clone());
        Some(natural)
    }

    fn natural_rule(&self, piola: Piola, done: &mut HashMap<usize, Expr>) -> Option<Expr> {
        let mut of = |e: &Expr| match (e.natural_of(piola, done), piola) {
            (Some(natural), _) => natural,
            (None, Piola::Contravariant) => e.div(),
            (None, Piola::Covariant) => e.curl(),
        };
        if self.piola() == Some(piola) {
            let shape = match (piola, self.shape().len()) {
                (Piola::Covariant, 3) => Shape::Vector(3),
                _ => Shape::Scalar,
            };
            let op = match piola {
                Piola::Contravariant => Op::Divergence(self.clone()),
                Piola::Covariant => Op::Curl(self.clone()),
            };
            return Some(Expr::make(op, shape, self.held().clone()));
        }
        if !self.holds(piola, &mut HashSet::new()) {
            return None;
        }
        Some(match self.op() {
            Op::Unary(Unary::Neg, a) => -of(a),
            Op::Binary(Binary::Add, l, r) => of(l) + of(r),
            Op::Binary(Binary::Sub, l, r) => of(l) - of(r),
            Op::Restrict(super::SideOf::Inside, a) => of(a).inside(),
            Op::Restrict(super::SideOf::Outside, a) => of(a).outside(),
            Op::Scale(f, a) => {
                let whole = f * of(a);
                if space_dim(f, &mut HashMap::new()).is_none() {
                    return Some(f.if_fixed(whole));
                }
                let slope = f.grad();
                whole
                    + match piola {
                        Piola::Contravariant => slope.dot(a),
                        Piola::Covariant => slope.cross(a),
                    }
            }
            _ => return None,
        })
    }

    /// `value` if this, which names no axes of space, does not vary in it: a number or a
    /// parameter. Numbers at points may vary and have no derivatives: an error.
    fn if_fixed(&self, value: Expr) -> Expr {
        let slope = self.along(0);
        match slope.error() {
            Some(_) => slope,
            None => value,
        }
    }

    /// Derivative of component `c` of an argument or field along axis `d`.
    fn partial(&self, c: usize, d: usize) -> Expr {
        Expr::make(
            Op::Partial(self.clone(), c, d),
            Shape::Scalar,
            self.held().clone(),
        )
    }

    /// Second derivative of component `c` of an argument or field along two axes.
    fn second(&self, c: usize, axes: [usize; 2]) -> Expr {
        let Some(space) = self.function_space() else {
            return self.unavailable("the second derivative of this");
        };
        if let Some(element) = space.vector_element() {
            return self.unavailable(&format!(
                "a second derivative of functions of a {} space",
                element.family()
            ));
        }
        let geometry = space.geometry();
        if geometry.cell_kind().dim() < geometry.space_dim() {
            return self.unavailable("a second derivative of functions on a surface or curve");
        }
        let [a, b] = axes;
        Expr::make(
            Op::Second(self.clone(), c, [a.min(b), a.max(b)]),
            Shape::Scalar,
            self.held().clone(),
        )
    }

    fn unavailable(&self, what: &str) -> Expr {
        Expr::invalid(FormError::Unavailable {
            what: what.to_owned(),
            expression: self.to_string(),
        })
    }

    /// Derivative along axis `d`, of the same shape.
    fn along(&self, d: usize) -> Expr {
        let seed = |leaf: &Expr| -> Option<Expr> {
            match leaf.op() {
                Op::Position => {
                    let n = leaf.shape().len();
                    let unit: Vec<f64> = (0..n).map(|k| if k == d { 1.0 } else { 0.0 }).collect();
                    Some(Expr::vector(&unit))
                }
                Op::Argument(..) | Op::Field(_) => {
                    let parts = (0..leaf.shape().len()).map(|c| leaf.partial(c, d));
                    Some(Expr::tensor(leaf.shape(), parts.collect()))
                }
                Op::Gradient(a) => {
                    let axes = leaf.shape().len() / a.shape().len();
                    let parts = (0..leaf.shape().len()).map(|k| a.second(k / axes, [k % axes, d]));
                    Some(Expr::tensor(leaf.shape(), parts.collect()))
                }
                Op::Partial(a, c, b) => Some(a.second(*c, [*b, d])),
                Op::Divergence(a) | Op::Curl(a) => Some(a.second(0, [0, d])),
                Op::Second(..) => {
                    Some(leaf.unavailable("a third derivative of a discrete function"))
                }
                Op::Normal => Some(leaf.unavailable("a derivative of the normal")),
                Op::ParticleData(data) if data.is_at_points() => {
                    Some(leaf.unavailable("a derivative of numbers at points"))
                }
                Op::Quantity(Quantity::ReferencePosition, cells) => {
                    let inverse = Expr::quantity(Quantity::InverseJacobian, *cells);
                    let axes = cells.space_dim;
                    let parts = (0..leaf.shape().len()).map(|k| inverse.component(k * axes + d));
                    Some(Expr::tensor(leaf.shape(), parts.collect()))
                }
                Op::Quantity(q, _) if !q.is_index() => {
                    Some(leaf.unavailable(&format!("a derivative of `{}`", q.name())))
                }
                _ => None,
            }
        };
        Chain {
            seed: &seed,
            done: HashMap::new(),
        }
        .derive(self)
    }

    /// Gradient: of a scalar the vector `∂f/∂x_d`, of a vector the matrix `∂u_c/∂x_d`, of an m × n matrix
    /// a matrix with a row `∂τ/∂x_d` for each of its m n components, row-major.
    ///
    /// Numbers and parameters do not say how many axes space has, so they have no gradient.
    pub fn grad(&self) -> Expr {
        self.grad_in(None)
    }

    /// Gradient where space is known to have `axes` axes.
    pub(crate) fn grad_in(&self, axes: Option<usize>) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if let Op::Restrict(side, a) = self.op() {
            let g = a.grad_in(axes);
            return match side {
                super::SideOf::Inside => g.inside(),
                super::SideOf::Outside => g.outside(),
            };
        }
        let Some(dim) = space_dim(self, &mut HashMap::new()).or(axes) else {
            return self.unavailable("the gradient of something that does not vary in space");
        };
        let shape = match self.shape() {
            Shape::Scalar => Shape::Vector(dim),
            Shape::Vector(n) => Shape::Matrix(n, dim),
            Shape::Matrix(r, c) if r * c * dim <= MAX_COMPONENTS => Shape::Matrix(r * c, dim),
            Shape::Matrix(..) => {
                let what = format!("a gradient of more than {MAX_COMPONENTS} components");
                return self.unavailable(&what);
            }
        };
        if self.is_basis_leaf() {
            return Expr::make(Op::Gradient(self.clone()), shape, self.held().clone());
        }
        let columns: Vec<Expr> = (0..dim).map(|d| self.along(d)).collect();
        if let Some(bad) = columns.iter().find(|c| c.error().is_some()) {
            return bad.clone();
        }
        let rows = self.shape().len();
        let parts = (0..rows * dim).map(|k| columns[k % dim].component(k / dim));
        Expr::tensor(shape, parts.collect())
    }

    /// Divergence: of a vector `Σ ∂u_d/∂x_d`, of a matrix the vector `Σ_d ∂τ_dc/∂x_d`
    /// (contraction over the row index).
    pub fn div(&self) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if let Some(natural) = self.natural(Piola::Contravariant) {
            return natural;
        }
        let dim = space_dim(self, &mut HashMap::new());
        match self.shape() {
            Shape::Vector(_) if dim.is_none() => self.if_fixed(Expr::zero(Shape::Scalar)),
            Shape::Matrix(_, c) if dim.is_none() => self.if_fixed(Expr::zero(Shape::Vector(c))),
            Shape::Vector(n) if dim == Some(n) => self.grad().trace(),
            Shape::Matrix(r, c) if dim == Some(r) => {
                let columns: Vec<Expr> = (0..r).map(|d| self.along(d)).collect();
                if let Some(bad) = columns.iter().find(|e| e.error().is_some()) {
                    return bad.clone();
                }
                let parts = (0..c).map(|j| {
                    (0..r).fold(Expr::zero(Shape::Scalar), |sum, d| {
                        sum + columns[d].component(d * c + j)
                    })
                });
                Expr::tensor(Shape::Vector(c), parts.collect())
            }
            _ => Expr::invalid(FormError::Shape {
                operation: "div".to_owned(),
                shapes: format!("a {}", self.shape()),
                expression: format!("div({self})"),
                hint: "; it takes a vector, or a matrix with as many rows, as space has axes"
                    .to_owned(),
            }),
        }
    }

    /// The classical curl: of a 3-vector a vector, of a 2-vector the scalar
    /// `∂u₁/∂x₀ − ∂u₀/∂x₁`, of a scalar in the plane the vector `(∂f/∂x₁, −∂f/∂x₀)`.
    pub fn curl(&self) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if let Some(natural) = self.natural(Piola::Covariant) {
            return natural;
        }
        let dim = space_dim(self, &mut HashMap::new());
        match self.shape() {
            Shape::Scalar if dim.is_none() => {
                return self.if_fixed(Expr::zero(Shape::Vector(2)));
            }
            Shape::Vector(3) if dim.is_none() => {
                return self.if_fixed(Expr::zero(self.shape()));
            }
            Shape::Vector(2) if dim.is_none() => {
                return self.if_fixed(Expr::zero(Shape::Scalar));
            }
            _ => {}
        }
        let g = self.grad();
        if g.error().is_some() {
            return g;
        }
        match (self.shape(), dim) {
            (Shape::Vector(3), Some(3)) => {
                let at = |i: usize, j: usize| g.component(3 * i + j);
                let parts = vec![
                    at(2, 1) - at(1, 2),
                    at(0, 2) - at(2, 0),
                    at(1, 0) - at(0, 1),
                ];
                Expr::tensor(Shape::Vector(3), parts)
            }
            (Shape::Vector(2), Some(2)) => g.component(2) - g.component(1),
            (Shape::Scalar, Some(2)) => {
                Expr::tensor(Shape::Vector(2), vec![g.component(1), -g.component(0)])
            }
            _ => Expr::invalid(FormError::Shape {
                operation: "curl".to_owned(),
                shapes: format!("a {}", self.shape()),
                expression: format!("curl({self})"),
                hint: "; it takes a vector of the space dimension, or a scalar in the plane"
                    .to_owned(),
            }),
        }
    }

    /// Gateaux derivative with respect to `field` in the direction `direction`, which has the
    /// shape of the field: `d/dε self(field + ε direction)` at ε = 0.
    pub fn deriv(&self, field: &Field, direction: &Expr) -> Expr {
        if let Some(bad) = [self, direction].into_iter().find(|e| e.error().is_some()) {
            return bad.clone();
        }
        if direction.shape() != field.space().shape() {
            return Expr::invalid(FormError::Shape {
                operation: "deriv".to_owned(),
                shapes: format!("a direction that is a {}", direction.shape()),
                expression: direction.to_string(),
                hint: format!("; the field is a {}", field.space().shape()),
            });
        }
        let partial = |c: usize, d: usize| -> Expr {
            if direction.is_basis_leaf() {
                direction.partial(c, d)
            } else {
                let along = direction.along(d);
                if along.error().is_some() {
                    along
                } else {
                    along.component(c)
                }
            }
        };
        let second = |c: usize, [a, b]: [usize; 2]| -> Expr {
            match direction.is_basis_leaf() {
                true => direction.second(c, [a, b]),
                false => partial(c, a).along(b),
            }
        };
        let seed = |leaf: &Expr| -> Option<Expr> {
            match leaf.op() {
                Op::Field(f) if f.same(field) => Some(direction.clone()),
                Op::Gradient(a) if is_field(a, field) => {
                    Some(direction.grad_in(Some(field.space().geometry().space_dim())))
                }
                Op::Partial(a, c, d) if is_field(a, field) => Some(partial(*c, *d)),
                Op::Second(a, c, axes) if is_field(a, field) => Some(second(*c, *axes)),
                Op::Divergence(a) if is_field(a, field) => Some(direction.div()),
                Op::Curl(a) if is_field(a, field) => Some(direction.curl()),
                _ => None,
            }
        };
        Chain {
            seed: &seed,
            done: HashMap::new(),
        }
        .derive(self)
    }

    /// The expression with its trial function replaced by `field`.
    pub(crate) fn with_trial(&self, field: &Field) -> Expr {
        // Linear in the trial function, so the derivative along it with the field put in is
        // the substitution itself.
        let value = field.expr();
        let is_trial = |e: &Expr| matches!(e.op(), Op::Argument(Role::Trial, _));
        let seed = |leaf: &Expr| -> Option<Expr> {
            match leaf.op() {
                Op::Argument(Role::Trial, _) => Some(value.clone()),
                Op::Gradient(a) if is_trial(a) => Some(value.grad()),
                Op::Partial(a, c, d) if is_trial(a) => Some(value.partial(*c, *d)),
                Op::Second(a, c, axes) if is_trial(a) => Some(value.second(*c, *axes)),
                Op::Divergence(a) if is_trial(a) => Some(value.div()),
                Op::Curl(a) if is_trial(a) => Some(value.curl()),
                _ => None,
            }
        };
        Chain {
            seed: &seed,
            done: HashMap::new(),
        }
        .derive(self)
    }
}

fn is_field(e: &Expr, field: &Field) -> bool {
    matches!(e.op(), Op::Field(f) if f.same(field))
}
