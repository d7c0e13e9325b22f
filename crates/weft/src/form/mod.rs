//! Weak forms as data.
//!
//! An [`Expr`] is a graph that is checked as it is built, with Rust operators or from text
//! through [`Scope`]. [`Form`] sums integrals of expressions. Assembly lowers each integrand to
//! scalar operations on blocks of points, with the linear structure in test and trial
//! functions split off.

mod algebra;
mod calculus;
mod degree;
mod error;
mod expr;
mod functions;
mod integral;
pub(crate) mod lower;
mod native;
mod param;
mod parse;
mod particle_data;
mod place;
mod point_data;
mod print;
mod shape;
mod text;

pub use error::FormError;
pub use expr::{CellData, Expr, Role, SideOf};
pub use functions::{Binary, Unary};
pub use integral::{DomainKind, Form, Measure, Subset};
pub use native::{NativeFunction, point_function};
pub use param::Param;
pub use parse::Scope;
pub use particle_data::{ParticleData, ParticleValues, ParticleValuesMut};
pub use point_data::PointData;
pub use shape::Shape;
pub use text::nearest;

pub(crate) use degree::{estimate as estimate_degree, measure_degree};
pub(crate) use integral::Integral;
pub(crate) use native::MAX_COMPONENTS;
pub(crate) use place::Quantity;

/// Gradient of an expression, see [`Expr::grad`].
pub fn grad(e: &Expr) -> Expr {
    e.grad()
}

/// Divergence, see [`Expr::div`].
pub fn div(e: &Expr) -> Expr {
    e.div()
}

/// Classical curl, see [`Expr::curl`].
pub fn curl(e: &Expr) -> Expr {
    e.curl()
}

/// Symmetric part of a matrix.
pub fn sym(e: &Expr) -> Expr {
    e.sym()
}

/// Full contraction of two values of one shape.
pub fn inner(a: &Expr, b: &Expr) -> Expr {
    a.inner(b)
}

/// Contraction of neighbouring indices.
pub fn dot(a: &Expr, b: &Expr) -> Expr {
    a.dot(b)
}
