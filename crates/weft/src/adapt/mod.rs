//! Adaptive solution: moving fields from one grid to the next.
//!
//! [`Transfer`] relates two adaptive grids and carries fields over, by interpolation or by L²
//! projection. The one invariant: integrals are taken over the common refinement of the two
//! grids, on whose cells both functions are polynomials, so that they are exact.

mod dense;
mod transfer;

pub use transfer::{Transfer, TransferError};
