//! Numbers given for each particle: coefficients that may change between assemblies.

use super::error::FormError;
use super::shape::Shape;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[derive(Debug)]
struct Inner {
    name: String,
    shape: Shape,
    values: RwLock<Vec<f64>>,
    /// At the points of a rule instead of particles.
    at_points: bool,
}

/// A named scalar, vector or matrix for each particle of a cloud. Cloning copies a handle; all
/// see the same values.
///
/// In a form it has values at particles only, so the integral must be taken
/// [on particles](super::Measure::on_particles). Spatial derivatives take it for a constant: the
/// gradient of `q*f` at a particle is that of f times the particle's own q, which is how the
/// integral changes when the particle moves and takes its q along.
#[derive(Clone, Debug)]
pub struct ParticleData(Arc<Inner>);

/// Read access to particle data: `[particle][component]`, matrices row-major.
pub struct ParticleValues<'a>(RwLockReadGuard<'a, Vec<f64>>);

impl Deref for ParticleValues<'_> {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

/// Write access to particle data; the number of particles cannot change.
pub struct ParticleValuesMut<'a>(RwLockWriteGuard<'a, Vec<f64>>);

impl Deref for ParticleValuesMut<'_> {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl DerefMut for ParticleValuesMut<'_> {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}

impl ParticleData {
    /// Zeros of a shape for each of `particles` particles.
    pub fn zeros(name: &str, shape: Shape, particles: usize) -> ParticleData {
        ParticleData::new(name, shape, vec![0.0; particles * shape.len()], false)
    }

    /// A number for each particle.
    pub fn scalar(name: &str, values: &[f64]) -> ParticleData {
        ParticleData::new(name, Shape::Scalar, values.to_vec(), false)
    }

    /// At the points of a rule.
    pub(super) fn at_points(name: &str, shape: Shape, values: Vec<f64>) -> ParticleData {
        ParticleData::new(name, shape, values, true)
    }

    fn new(name: &str, shape: Shape, values: Vec<f64>, at_points: bool) -> ParticleData {
        ParticleData(Arc::new(Inner {
            name: name.to_owned(),
            shape,
            values: RwLock::new(values),
            at_points,
        }))
    }

    pub(crate) fn is_at_points(&self) -> bool {
        self.0.at_points
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Shape of the value of a particle.
    pub fn shape(&self) -> Shape {
        self.0.shape
    }

    /// Number of particles.
    pub fn particle_count(&self) -> usize {
        self.values().len() / self.0.shape.len().max(1)
    }

    /// Replace the values of all particles, `[particle][component]`; their number may change.
    /// Allocates nothing unless there are more than ever before.
    ///
    /// # Errors
    /// If the values do not divide into particles; nothing is changed then.
    pub fn set(&self, values: &[f64]) -> Result<(), FormError> {
        let components = self.0.shape.len().max(1);
        if !values.len().is_multiple_of(components) {
            return Err(FormError::Domain(format!(
                "{} numbers do not divide into the {components} of each {} of `{}`",
                values.len(),
                if self.0.at_points {
                    "point"
                } else {
                    "particle"
                },
                self.0.name
            )));
        }
        let mut to = self.write();
        to.clear();
        to.extend_from_slice(values);
        Ok(())
    }

    /// The values, for reading. Assembly that uses them waits for writers.
    pub fn values(&self) -> ParticleValues<'_> {
        // A panic while writing leaves plain numbers behind: nothing to protect.
        ParticleValues(self.0.values.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The values, for writing.
    pub fn values_mut(&self) -> ParticleValuesMut<'_> {
        ParticleValuesMut(self.write())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<f64>> {
        let values = self.0.values.write();
        values.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both handles name the same data.
    pub fn same(&self, other: &ParticleData) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}
