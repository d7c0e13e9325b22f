//! Reference cells, quadrature rules and shape functions.

mod cell;

pub use cell::CellKind;
