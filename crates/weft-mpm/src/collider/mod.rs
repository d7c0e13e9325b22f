//! Bodies that material meets.
//!
//! [`Colliders`] holds [`Shape`]s fixed to [`Body`]s and answers where the nearest surface is and
//! how it moves. Dynamic bodies take the impulses of the material; they are moved as free rigid
//! bodies by [`Colliders::integrate`], or by another engine through [`Colliders::impulse`],
//! [`Colliders::set_pose`] and [`Colliders::set_velocity`].
//!
//! The invariant: whatever was accepted has finite numbers, unit quaternions and positive sizes,
//! and numbers of colliders and bodies never change.

mod body;
mod field;
mod mesh;
mod pose;
mod project;
mod set;
mod shape;

pub use body::{Body, Motion};
pub use field::HeightField;
pub use pose::Pose;
pub(crate) use pose::{Rigid, not_negative, positive, vector};
pub use set::{Collider, ColliderMaterial, Colliders, Contact, GROUND};
pub use shape::Shape;
