//! Clouds of particles as quadrature: integrals that are sums over particles.
//!
//! [`ParticleQuadrature`] sorts the particles of a [`Cloud`] into the cells of a geometry; a
//! [measure](crate::form::Measure::on_particles) that refers to it makes any form an integral
//! over them. [`ParticleSamples`] is a snapshot of the sorted points, for programs of their own.
//!
//! The one invariant: a snapshot is whole. All its arrays belong to one cloud and one topology,
//! particles of a cell keep the order of their numbers, and a rebuild that fails changes nothing.

mod error;
mod find;
mod quadrature;
mod samples;

pub use error::ParticleError;
pub use quadrature::{Cloud, Half, ParticleQuadrature, Sample};
pub use samples::{ParticleReport, ParticleSamples};
