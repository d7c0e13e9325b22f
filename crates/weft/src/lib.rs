//! Weft: finite elements with forms as data.
//!
//! Modules build on one another in this order and never the other way:
//! [`memory`] ← [`geometry`] ← [`element`]/[`space`] ← [`partition`]/[`field`] ← [`form`] ← [`assemble`] ← [`solve`] ← [`adapt`].

pub mod adapt;
pub mod assemble;
pub mod element;
pub mod field;
pub mod form;
pub mod geometry;
pub mod memory;
pub mod partition;
pub mod problem;
pub mod solve;
pub mod space;
pub mod sparse;
