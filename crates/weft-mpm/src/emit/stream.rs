//! Streams of particles, and where they end.

use super::{Fill, Lattice, MAX_PARTICLES, sampler, whole};
use crate::collider::{Pose, Rigid, positive, vector};
use crate::{MpmError, Particles};

/// How much an emitter gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// As much as fills the stream: layers of particles one spacing apart.
    Full,
    /// Particles a second; at most those of a full stream.
    Particles(f64),
    /// Kilograms a second; at most those of a full stream.
    Mass(f64),
}

/// A rectangular nozzle that gives a stream of particles.
///
/// The stream is a lattice: layers of nx × ny particles leave along the z axis of `pose`, all at
/// the same distance from each other, whatever the time steps are. Particles have the volume of
/// a cube of the spacing, to which the nozzle's rectangle is divided.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitter {
    fill: Fill,
    pose: Rigid,
    layer: Lattice,
    speed: f64,
    interval: f64,
    start: f64,
    stop: f64,
    next: u64,
}

impl Emitter {
    /// An emitter with a nozzle of `size` (m) along the x and y axes of `pose`, about its origin.
    /// `speed` (m/s) is that of the particles along z; `fill` says everything but their
    /// velocity. It gives particles from `start` on and until just before `stop` (s, may be
    /// infinite).
    ///
    /// # Errors
    /// [`MpmError::Sampler`] for values out of range, or a rate above that of a full stream.
    pub fn new(
        fill: Fill,
        pose: Pose,
        size: [f64; 2],
        spacing: f64,
        speed: f64,
        rate: Rate,
        [start, stop]: [f64; 2],
    ) -> Result<Emitter, MpmError> {
        let pose = pose.checked().map_err(sampler)?;
        for (name, value) in [
            ("width of the nozzle", size[0]),
            ("depth of the nozzle", size[1]),
            ("spacing", spacing),
            ("speed", speed),
        ] {
            positive(name, value).map_err(sampler)?;
        }
        if !(start.is_finite() && stop >= start) {
            return Err(sampler(format!(
                "emits from {start} s to {stop} s; expected a finite start and a stop not before it"
            )));
        }
        let counts = size.map(|s| whole(s / spacing).max(1));
        let steps: [f64; 2] = std::array::from_fn(|d| size[d] / counts[d] as f64);
        let layer = Lattice::new(
            [0.5 * (steps[0] - size[0]), 0.5 * (steps[1] - size[1]), 0.0],
            [counts[0], counts[1], 1],
            [steps[0], steps[1], spacing],
        )?;
        let direction = pose.rotation * glam::DVec3::Z;
        let fill = Fill {
            velocity: (speed * direction).to_array().map(|c| c as f32),
            ..fill
        };
        fill.check()?;
        let (mass, _) = fill.size(layer.spacing)?;
        let full = layer.len() as f64 * speed / spacing;
        let particles = match rate {
            Rate::Full => full,
            Rate::Particles(n) => n,
            Rate::Mass(m) => m / f64::from(mass),
        };
        if !(particles > 0.0 && particles <= full * (1.0 + 1e-6)) {
            return Err(sampler(format!(
                "{rate:?} a second is {particles} particles; expected more than 0 and at most the {full} of a full stream"
            )));
        }
        Ok(Emitter {
            fill,
            pose,
            speed,
            interval: layer.len() as f64 / particles,
            layer,
            start,
            stop,
            next: 0,
        })
    }

    /// Particles of a layer.
    pub fn layer_len(&self) -> usize {
        self.layer.len()
    }

    /// Time between two layers, s.
    pub fn interval(&self) -> f64 {
        self.interval
    }

    /// Adds all particles that have left the nozzle by `time` (s) and were not given yet, each as
    /// far from the nozzle as it has come: how many. Call it once a step, with the time at which
    /// the step begins.
    ///
    /// # Errors
    /// [`MpmError::Sampler`] for a time that is not finite, or more than [`MAX_PARTICLES`] at
    /// once. Nothing has been added then.
    pub fn emit(&mut self, particles: &mut Particles, time: f64) -> Result<usize, MpmError> {
        let end = self.end(time)?;
        let layers = end - self.next;
        let count = layers as f64 * self.layer.len() as f64;
        if count > MAX_PARTICLES as f64 {
            return Err(sampler(format!(
                "{count} particles to emit at {time} s; expected at most {MAX_PARTICLES} at once"
            )));
        }
        let size = self.fill.size(self.layer.spacing)?;
        for layer in self.next..end {
            let age = time - (self.start + layer as f64 * self.interval);
            let shift = self.speed * age.max(0.0);
            for i in 0..self.layer.len() {
                let index = layer.wrapping_mul(self.layer.len() as u64) + i as u64;
                let x = self.layer.point(i);
                let mut x = self.fill.jittered(x, self.layer.spacing, index);
                x[2] += shift;
                let x = self.pose.apply(x.into()).into();
                self.fill.push(particles, x, size);
            }
        }
        self.next = end;
        Ok(layers as usize * self.layer.len())
    }

    /// Goes on as if all particles that have left the nozzle by `time` (s) had been given: for
    /// those who have them already.
    ///
    /// # Errors
    /// [`MpmError::Sampler`] for a time that is not finite.
    pub fn skip_to(&mut self, time: f64) -> Result<(), MpmError> {
        self.next = self.end(time)?;
        Ok(())
    }

    /// Number of the first layer that is not due at `time` or has not been given.
    fn end(&self, time: f64) -> Result<u64, MpmError> {
        if !time.is_finite() {
            let reason = format!("time {time} s of an emitter; expected a finite number");
            return Err(sampler(reason));
        }
        if time < self.start {
            return Ok(self.next);
        }
        // Layers by now, and layers ever; the casts saturate.
        let due = ((time - self.start) / self.interval).floor() as u64;
        let ever = whole((self.stop - self.start) / self.interval) as u64;
        Ok(due.saturating_add(1).min(ever).max(self.next))
    }
}

/// A part of space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Zone {
    /// Between two corners, with its boundary.
    Box {
        /// Lower corner, m.
        lower: [f64; 3],
        /// Upper corner, m.
        upper: [f64; 3],
    },
    /// All points x with (x - point) · normal < 0.
    Below {
        /// A point of the plane, m.
        point: [f64; 3],
        /// Points away from the zone; of any length but 0.
        normal: [f64; 3],
    },
}

/// Removes the particles that come into a part of space.
#[derive(Clone, Debug, PartialEq)]
pub struct KillZone {
    zone: Zone,
}

impl KillZone {
    /// A zone that removes what is in it.
    ///
    /// # Errors
    /// [`MpmError::Sampler`] for a box that is empty, a normal of length 0, or numbers that are
    /// not finite.
    pub fn new(zone: Zone) -> Result<KillZone, MpmError> {
        let check = |name, v| vector(name, v).map_err(sampler);
        match zone {
            Zone::Box { lower, upper } => {
                let (low, high) = (check("lower corner", lower)?, check("upper corner", upper)?);
                if low.cmpgt(high).any() {
                    return Err(sampler(format!(
                        "zone from {lower:?} to {upper:?} is empty; expected lower ≤ upper"
                    )));
                }
            }
            Zone::Below { point, normal } => {
                check("point", point)?;
                if check("normal", normal)? == glam::DVec3::ZERO {
                    return Err(sampler(
                        "normal of a zone is 0; expected a direction".into(),
                    ));
                }
            }
        }
        Ok(KillZone { zone })
    }

    /// Whether a point is in it; never if a coordinate is no number.
    pub fn contains(&self, x: [f64; 3]) -> bool {
        match self.zone {
            Zone::Box { lower, upper } => (0..3).all(|d| lower[d] <= x[d] && x[d] <= upper[d]),
            Zone::Below { point, normal } => {
                (0..3).map(|d| (x[d] - point[d]) * normal[d]).sum::<f64>() < 0.0
            }
        }
    }

    /// Removes all particles in it, active or not; the others keep their order: how many.
    pub fn apply(&self, particles: &mut Particles) -> usize {
        if !particles.position.iter().any(|&x| self.contains(x)) {
            return 0;
        }
        particles.retain(|p, i| !self.contains(p.position[i]))
    }
}
