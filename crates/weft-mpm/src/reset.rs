//! Worlds that start anew.

use crate::{MpmError, Particles, Solver};

const IDENTITY: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

impl Solver {
    /// Makes the material of chosen worlds as if it had never deformed: elastic deformation and
    /// frame become the identity, velocity gradient and stress 0, and the plastic volume ratio what
    /// `plastic_volume` says of the particle. The solver forgets stress and impulses there, so the
    /// next step starts as the first. Positions and velocities are the caller's to set, and
    /// [`Colliders::forget_motion`](crate::collider::Colliders::forget_motion) makes colliders
    /// forget where they were.
    ///
    /// `worlds` has an entry for each world that the solver was made for.
    ///
    /// # Errors
    /// [`MpmError::Config`] for another number of worlds, and for some but not all of several
    /// worlds that share a grid; those of [`Particles::check`]; [`MpmError::Particle`] for a world
    /// beyond these, or a plastic volume ratio that is not a finite number above 0. Nothing has
    /// changed then.
    pub fn reset(
        &mut self,
        particles: &mut Particles,
        worlds: &[bool],
        plastic_volume: impl Fn(usize) -> f32,
    ) -> Result<(), MpmError> {
        particles.check(self.materials().len())?;
        let separate = self.config.separate_worlds;
        if separate && worlds.len() != self.worlds {
            return Err(MpmError::Config {
                option: format!("reset of {} worlds", worlds.len()),
                reason: format!("expected an entry for each of {}", self.worlds),
            });
        }
        if !separate && worlds.contains(&true) && worlds.contains(&false) {
            return Err(MpmError::Config {
                option: format!("reset of worlds {worlds:?}"),
                reason: "worlds share a grid, and with it what stress starts from; expected all or none, or separate_worlds".into(),
            });
        }
        for p in 0..particles.len() {
            let Some(&chosen) = worlds.get(particles.world[p] as usize) else {
                return Err(MpmError::Particle {
                    particle: p,
                    name: "world",
                    value: particles.world[p].to_string(),
                    accepted: "expected a world with an entry in the list of worlds to reset",
                });
            };
            let jp = if chosen { plastic_volume(p) } else { 1.0 };
            if !(jp > 0.0 && jp.is_finite()) {
                return Err(MpmError::Particle {
                    particle: p,
                    name: "plastic_volume",
                    value: jp.to_string(),
                    accepted: "expected a finite number above 0",
                });
            }
        }
        for p in 0..particles.len() {
            if !worlds[particles.world[p] as usize] {
                continue;
            }
            particles.elastic[p] = IDENTITY;
            particles.frame[p] = IDENTITY;
            particles.gradient[p] = [[0.0; 3]; 3];
            particles.stress[p] = [0.0; 6];
            particles.plastic_volume[p] = plastic_volume(p);
        }
        let grids = if separate { worlds.len() } else { 1 };
        for world in (0..grids).filter(|&w| worlds.get(w) == Some(&true)) {
            self.last_sites.forget(world);
            self.last_samples.forget(world);
        }
        Ok(())
    }
}
