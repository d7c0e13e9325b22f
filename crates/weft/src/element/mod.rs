//! Reference cells, quadrature rules and shape functions.
//!
//! - [`CellKind`]: the reference cells, their vertices, edges, faces and sides.
//! - [`Quadrature`]: points and weights on a cell; [`LineRule`] for one dimension.
//! - [`Element`]: the basis of a space, of any [`ElementFamily`].
//! - [`Kernel`]: what the functions of an element of points are around these.
//! - [`Lagrange`]: shape functions of any degree up to [`MAX_LAGRANGE_DEGREE`], and the slots that
//!   make neighbours agree on shared nodes; [`Tabulation`] for their values at given points.
//! - [`VectorElement`]: elements of H(curl) and H(div) with moments as degrees of freedom.
//! - [`map_to_cell`]: from side coordinates to cell coordinates.
//!
//! Quadrature weights sum to 1 on every cell: the physical measure carries the reference measure.

mod bases;
mod basis;
mod cell;
mod entities;
mod error;
mod lagrange;
mod lattice;
mod legendre;
mod line;
mod modal;
mod nodal;
mod points;
mod quadrature;
mod sides;
mod simplex_rules;
mod simplex_tables;
mod spline;
mod vector;

pub use bases::{Element, ElementFamily, MAX_POLYNOMIAL_DEGREE, MAX_SERENDIPITY_DEGREE};
pub use cell::CellKind;
pub use entities::Entity;
pub use error::ElementError;
pub use lagrange::{Lagrange, MAX_LAGRANGE_DEGREE, NodeFamily, Tabulation};
pub use line::{LineRule, MAX_CLOSED_POINTS, MAX_GAUSS_POINTS, MAX_OPEN_POINTS};
pub use points::{Kernel, MAX_POINTS};
pub use quadrature::{MAX_SIMPLEX_DEGREE, MAX_TENSOR_DEGREE, Quadrature, RuleFamily};
pub use sides::map_to_cell;
pub use spline::MAX_SPLINE_DEGREE;
pub(crate) use vector::orientation_bits;
pub use vector::{
    MAX_VECTOR_DEGREE, Orientations, Piola, VectorElement, VectorFamily, VectorTabulation,
};
