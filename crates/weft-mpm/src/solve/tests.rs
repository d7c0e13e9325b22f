//! Tests of the whole solve, on small grids with random particles.

mod chains;
mod contacts;
mod problem;
mod sweeps;
mod timing;
mod twin;

pub(crate) use problem::Draws;
