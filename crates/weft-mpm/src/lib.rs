//! Implicit material points: sand, snow, mud and soft solids on sparse grids.
//!
//! A cloud of [`Particles`] carries mass, velocity and strain; a [`Solver`] moves it by steps that
//! are implicit in stress, so that a step's length is not bound by the speed of sound.
//! Everything is in SI units. Grid quantities and particle state are single precision, positions
//! double.

pub mod collider;
mod config;
pub mod emit;
mod error;
mod material;
mod particles;
#[allow(dead_code)]
mod solve;
mod tensor;

pub use config::{
    ColliderBasis, ColliderVelocity, Config, GridKind, Integration, LinearKind, RheologyKind,
    Stage, StrainBasis, Transfer, VelocityBasis, WarmStart,
};
pub use error::MpmError;
pub use material::Material;
pub use particles::{ACTIVE, PROXY, Particles};
