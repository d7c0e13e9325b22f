//! Weft: finite elements with forms as data.
//!
//! Modules build on one another in this order:
//! [`memory`] ← [`element`] ← [`geometry`] ← [`space`] ← [`partition`]/[`field`] ← [`particle`] ← [`form`] ← [`sparse`] ← [`solve`] ← [`assemble`] ← [`adapt`]/[`problem`].
//! Two places look ahead: a space knows the [`form::Shape`] of its values, and a field gives its
//! expression.

pub mod adapt;
pub mod assemble;
pub mod element;
pub mod field;
pub mod form;
pub mod geometry;
pub mod memory;
pub mod particle;
pub mod partition;
pub mod problem;
mod real;
pub mod solve;
pub mod space;
pub mod sparse;

pub use real::Real;
