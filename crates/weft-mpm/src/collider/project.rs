//! Repair of particles that ended up inside colliders.

use glam::DVec3;
use rayon::prelude::*;

use super::Colliders;
use crate::error::check_step;
use crate::{ACTIVE, ColliderVelocity, MpmError, Particles};

/// Particles that one task handles.
const CHUNK: usize = 512;

impl Colliders {
    /// Moves active particles with mass that would be inside a collider at the end of a step
    /// to its surface: how many there were.
    ///
    /// Such a particle is deeper than the projection threshold after the collider moves for `dt`
    /// (s; 0: where it stands). Its velocity relative to the collider loses the part that enters
    /// and, by friction, some of the tangential part; its position follows, is pushed out along
    /// the normal for what is left, and its velocity gradient keeps only rotation. It is a
    /// repair: particles may end up closer together. `gap` is how far to look for surfaces (m;
    /// `None`: [`search_range`](Self::search_range)).
    ///
    /// # Errors
    /// [`MpmError::TimeStep`] for a negative step or one that is not finite,
    /// [`MpmError::Config`] for such a gap, [`MpmError::Length`]. Nothing has moved then.
    pub fn project_outside(
        &self,
        particles: &mut Particles,
        dt: f64,
        gap: Option<f64>,
        mode: ColliderVelocity,
    ) -> Result<usize, MpmError> {
        check_step(dt)?;
        let range = gap.unwrap_or_else(|| self.search_range());
        if !(range >= 0.0 && range.is_finite()) {
            return Err(MpmError::Config {
                option: format!("gap = {range}"),
                reason: "expected a finite number of at least 0".into(),
            });
        }
        let Particles {
            position,
            velocity,
            gradient,
            mass,
            flags,
            world,
            ..
        } = particles;
        let expected = position.len();
        for (name, found) in [
            ("velocity", velocity.len()),
            ("gradient", gradient.len()),
            ("mass", mass.len()),
            ("flags", flags.len()),
            ("world", world.len()),
        ] {
            if found != expected {
                return Err(MpmError::Length {
                    name,
                    found,
                    expected,
                });
            }
        }
        let moved = position
            .par_chunks_mut(CHUNK)
            .zip(velocity.par_chunks_mut(CHUNK))
            .zip(gradient.par_chunks_mut(CHUNK))
            .enumerate()
            .map(|(chunk, ((position, velocity), gradient))| {
                let mut moved = 0;
                for i in 0..position.len() {
                    let p = chunk * CHUNK + i;
                    if flags[p] & ACTIVE == 0 || mass[p] == 0.0 {
                        continue;
                    }
                    let (x, v) = (&mut position[i], &mut velocity[i]);
                    if self.project(x, v, dt, range, world[p], mode) {
                        let g = gradient[i];
                        gradient[i] = std::array::from_fn(|r| {
                            std::array::from_fn(|c| 0.5 * (g[r][c] - g[c][r]))
                        });
                        moved += 1;
                    }
                }
                moved
            })
            .sum();
        Ok(moved)
    }

    /// Whether one particle had to move.
    fn project(
        &self,
        position: &mut [f64; 3],
        velocity: &mut [f32; 3],
        dt: f64,
        range: f64,
        world: u32,
        mode: ColliderVelocity,
    ) -> bool {
        let Some(contact) = self.query(*position, range, Some(world)) else {
            return false;
        };
        let normal = DVec3::from(contact.normal);
        let wall = DVec3::from(self.velocity_at(contact.collider, contact.point, dt, mode));
        let end = contact.distance - dt * wall.dot(normal) + contact.threshold;
        let before = DVec3::from(velocity.map(f64::from));
        if end >= 0.0 || !before.is_finite() {
            return false;
        }
        let after = wall + slide(before - wall, normal, contact.friction);
        let change = after - before;
        let left = (end + dt * change.dot(normal)).min(0.0);
        *position = (DVec3::from(*position) + dt * change - left * normal).into();
        *velocity = after.to_array().map(|c| c as f32);
        true
    }
}

/// Velocity relative to a wall after an inelastic touch with Coulomb friction.
fn slide(velocity: DVec3, normal: DVec3, friction: f64) -> DVec3 {
    let entering = velocity.dot(normal);
    if entering >= 0.0 {
        return velocity;
    }
    let tangential = velocity - entering * normal;
    let speed = tangential.length();
    let lost = friction * -entering;
    if speed <= lost {
        DVec3::ZERO
    } else {
        tangential * (1.0 - lost / speed)
    }
}
