//! Implicit material points: sand, snow, mud and soft solids on sparse grids.
//!
//! A cloud of [`Particles`] carries mass, velocity and strain; a [`Solver`] moves it by steps that
//! are implicit in stress, so that a step's length is not bound by the speed of sound.
//! Everything is in SI units. Grid quantities and particle state are single precision, positions
//! double.

mod bins;
mod bytes;
mod checkpoint;
pub mod collider;
mod config;
mod eigen;
pub mod emit;
mod error;
mod grains;
mod grid;
mod material;
mod momentum;
mod particles;
mod raster;
mod reset;
mod shape;
mod solve;
mod solver;
mod strain;
mod tensor;
mod update;

pub use config::{
    ColliderBasis, ColliderVelocity, Config, GridKind, Integration, LinearKind, RheologyKind,
    Stage, StrainBasis, Transfer, VelocityBasis, WarmStart,
};
pub use error::MpmError;
pub use grains::{Grains, update_frames};
pub use material::Material;
pub use particles::{ACTIVE, PROXY, Particles};
pub use solver::{Impulse, PhaseSeconds, Solver, StepReport};
