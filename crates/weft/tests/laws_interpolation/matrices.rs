//! Matrices of interpolation.
