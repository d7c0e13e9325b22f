//! The cloud of particles.

use crate::MpmError;
use crate::bytes::sum_of_bytes;
use crate::tensor::{IDENTITY, unpack};
use rayon::prelude::*;

/// Flag of a particle that takes part.
pub const ACTIVE: u8 = 1;
/// Flag of a particle that stands for something outside: it has mass and momentum, no stress.
pub const PROXY: u8 = 2;

/// Particles that a task checks.
const GRAIN: usize = 1 << 12;

/// Largest density, kg/m³: what is beyond is as good as kinematic.
const DENSEST: f32 = 1e12;

/// State of all particles, one array a quantity, all of one length.
///
/// A particle of mass 0 is kinematic: its velocity is prescribed and the material around yields
/// to it. A particle without [`ACTIVE`] is left as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles {
    /// Positions, m.
    pub position: Vec<[f64; 3]>,
    /// Velocities, m/s.
    pub velocity: Vec<[f32; 3]>,
    /// Velocity gradients ∂v_i/∂x_j as `[i][j]`, 1/s.
    pub gradient: Vec<[[f32; 3]; 3]>,
    /// Elastic deformation gradients `[i][j]`.
    pub elastic: Vec<[[f32; 3]; 3]>,
    /// Plastic volume ratios Jp.
    pub plastic_volume: Vec<f32>,
    /// Stress, compression positive, Pa: components of the orthonormal map
    /// ([spherical, (xx-yy)/2, √3/2 (zz - tr/3), yz, xz, xy]).
    pub stress: Vec<[f32; 6]>,
    /// Deformation for pictures, `[i][j]`: starts as the identity.
    pub frame: Vec<[[f32; 3]; 3]>,
    /// Mass, kg; 0 for kinematic particles.
    pub mass: Vec<f32>,
    /// Half the edge of the cube that a particle fills, m; its volume is 8 r³.
    pub radius: Vec<f32>,
    /// Index into the materials.
    pub material: Vec<u16>,
    /// [`ACTIVE`] and [`PROXY`].
    pub flags: Vec<u8>,
    /// World (environment) of each particle.
    pub world: Vec<u32>,
}

impl Particles {
    /// No particles.
    pub fn new() -> Particles {
        Particles::default()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// Adds a particle at rest, of material 0 and world 0: the index.
    pub fn push(&mut self, position: [f64; 3], mass: f32, radius: f32) -> usize {
        self.position.push(position);
        self.velocity.push([0.0; 3]);
        self.gradient.push([[0.0; 3]; 3]);
        self.elastic.push(IDENTITY);
        self.plastic_volume.push(1.0);
        self.stress.push([0.0; 6]);
        self.frame.push(IDENTITY);
        self.mass.push(mass);
        self.radius.push(radius);
        self.material.push(0);
        self.flags.push(ACTIVE);
        self.world.push(0);
        self.len() - 1
    }

    /// Adds all of another cloud.
    pub fn append(&mut self, mut other: Particles) {
        self.position.append(&mut other.position);
        self.velocity.append(&mut other.velocity);
        self.gradient.append(&mut other.gradient);
        self.elastic.append(&mut other.elastic);
        self.plastic_volume.append(&mut other.plastic_volume);
        self.stress.append(&mut other.stress);
        self.frame.append(&mut other.frame);
        self.mass.append(&mut other.mass);
        self.radius.append(&mut other.radius);
        self.material.append(&mut other.material);
        self.flags.append(&mut other.flags);
        self.world.append(&mut other.world);
    }

    /// Keeps the particles for which `keep` says so, in their order: how many were removed. `keep`
    /// is asked about each in turn, when those before may have moved already. Allocates nothing.
    pub fn retain(&mut self, keep: impl Fn(&Particles, usize) -> bool) -> usize {
        let before = self.len();
        let mut kept = 0;
        for i in 0..before {
            if keep(self, i) {
                self.copy(i, kept);
                kept += 1;
            }
        }
        self.truncate(kept);
        before - kept
    }

    /// Overwrites a particle by another.
    fn copy(&mut self, from: usize, to: usize) {
        self.position[to] = self.position[from];
        self.velocity[to] = self.velocity[from];
        self.gradient[to] = self.gradient[from];
        self.elastic[to] = self.elastic[from];
        self.plastic_volume[to] = self.plastic_volume[from];
        self.stress[to] = self.stress[from];
        self.frame[to] = self.frame[from];
        self.mass[to] = self.mass[from];
        self.radius[to] = self.radius[from];
        self.material[to] = self.material[from];
        self.flags[to] = self.flags[from];
        self.world[to] = self.world[from];
    }

    fn truncate(&mut self, len: usize) {
        self.position.truncate(len);
        self.velocity.truncate(len);
        self.gradient.truncate(len);
        self.elastic.truncate(len);
        self.plastic_volume.truncate(len);
        self.stress.truncate(len);
        self.frame.truncate(len);
        self.mass.truncate(len);
        self.radius.truncate(len);
        self.material.truncate(len);
        self.flags.truncate(len);
        self.world.truncate(len);
    }

    /// Bytes of all arrays, with room for later.
    pub fn bytes(&self) -> usize {
        let Self {
            position,
            velocity,
            gradient,
            elastic,
            plastic_volume,
            stress,
            frame,
            mass,
            radius,
            material,
            flags,
            world,
        } = self;
        sum_of_bytes!(
            position,
            velocity,
            gradient,
            elastic,
            plastic_volume,
            stress,
            frame,
            mass,
            radius,
            material,
            flags,
            world
        )
    }

    /// Pressure of a particle, Pa: that of the last step that gave it one, see
    /// [`Solver::keep_particle_stress`](crate::Solver::keep_particle_stress).
    pub fn pressure(&self, i: usize) -> f64 {
        f64::from(self.stress[i][0]) * (2.0f64 / 3.0).sqrt()
    }

    /// Stress of a particle as a matrix, Pa, tension positive.
    pub fn stress_matrix(&self, i: usize) -> [[f32; 3]; 3] {
        unpack(&self.stress[i]).map(|row| row.map(|s| -s))
    }

    /// Volume of a particle, m³.
    pub fn volume(&self, i: usize) -> f32 {
        let edge = 2.0 * self.radius[i];
        edge * edge * edge
    }

    /// Checks lengths and values; `materials` is how many there are.
    ///
    /// # Errors
    /// [`MpmError::Length`], [`MpmError::Particle`]. Positions that are not finite are no error:
    /// such particles take no part and are counted.
    pub fn check(&self, materials: usize) -> Result<(), MpmError> {
        self.check_lengths()?;
        self.check_all(|i| self.check_values(i, materials))
    }

    /// Checks as well what active particles carry.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn check_for_step(&self, materials: usize) -> Result<(), MpmError> {
        self.check_lengths()?;
        self.check_all(|i| {
            self.check_values(i, materials)?;
            match self.flags[i] & ACTIVE {
                0 => Ok(()),
                _ => self.check_state(i),
            }
        })
    }

    /// The error of the first particle that has one.
    fn check_all(
        &self,
        check: impl Fn(usize) -> Result<(), MpmError> + Sync,
    ) -> Result<(), MpmError> {
        let all = (0..self.len()).into_par_iter().with_min_len(GRAIN);
        match all.find_map_first(|i| check(i).err()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn check_lengths(&self) -> Result<(), MpmError> {
        let expected = self.len();
        let lengths = [
            ("velocity", self.velocity.len()),
            ("gradient", self.gradient.len()),
            ("elastic", self.elastic.len()),
            ("plastic_volume", self.plastic_volume.len()),
            ("stress", self.stress.len()),
            ("frame", self.frame.len()),
            ("mass", self.mass.len()),
            ("radius", self.radius.len()),
            ("material", self.material.len()),
            ("flags", self.flags.len()),
            ("world", self.world.len()),
        ];
        for (name, found) in lengths {
            if found != expected {
                return Err(MpmError::Length {
                    name,
                    found,
                    expected,
                });
            }
        }
        Ok(())
    }

    fn check_values(&self, i: usize, materials: usize) -> Result<(), MpmError> {
        let (mass, radius, jp) = (self.mass[i], self.radius[i], self.plastic_volume[i]);
        if !(mass >= 0.0 && mass.is_finite()) {
            let accepted = "expected a finite number of at least 0 (0: kinematic)";
            return Err(fault(i, "mass", mass.to_string(), accepted));
        }
        if !(radius > 0.0 && radius.is_finite()) {
            let accepted = "expected a finite number above 0";
            return Err(fault(i, "radius", radius.to_string(), accepted));
        }
        if !(jp > 0.0 && jp.is_finite()) {
            let accepted = "expected a finite number above 0";
            return Err(fault(i, "plastic_volume", jp.to_string(), accepted));
        }
        if usize::from(self.material[i]) >= materials {
            let accepted = "expected the index of a material";
            return Err(fault(i, "material", self.material[i].to_string(), accepted));
        }
        Ok(())
    }

    fn check_state(&self, i: usize) -> Result<(), MpmError> {
        let (velocity, stress) = (&self.velocity[i][..], &self.stress[i][..]);
        let (gradient, elastic) = (
            self.gradient[i].as_flattened(),
            self.elastic[i].as_flattened(),
        );
        for (name, values) in [
            ("velocity", velocity),
            ("gradient", gradient),
            ("elastic", elastic),
            ("stress", stress),
        ] {
            if !values.iter().fold(true, |all, x| all & x.is_finite()) {
                let value = format!("{values:?}");
                return Err(fault(i, name, value, "expected finite numbers"));
            }
        }
        let density = self.mass[i] / self.volume(i);
        if density.is_nan() || density > DENSEST {
            let value = format!("{} kg in {} m³", self.mass[i], self.volume(i));
            return Err(fault(i, "density", value, "expected at most 1e12 kg/m³"));
        }
        Ok(())
    }
}

fn fault(particle: usize, name: &'static str, value: String, accepted: &'static str) -> MpmError {
    MpmError::Particle {
        particle,
        name,
        value,
        accepted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stresses_are_matrices_of_the_same_pressure_and_shear() {
        // p I with p = 6: the first component is 6 √(3/2).
        let d = [6.0 * 1.5f32.sqrt(), 1.0, -2.0, 0.5, -0.25, 0.125];
        let mut p = Particles::new();
        let i = p.push([0.0; 3], 1.0, 1.0);
        p.stress[i] = d;
        let (s, pressure) = (p.stress_matrix(i), p.pressure(i));
        let trace = s[0][0] + s[1][1] + s[2][2];
        assert!((f64::from(-trace) / 3.0 - pressure).abs() < 1e-5);
        assert!((pressure - 6.0).abs() < 1e-6);
        // J2 = ½ s:s of the deviator is the square of the other components.
        let mut j2 = 0.0;
        for (i, row) in s.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                let deviator = value - if i == j { trace / 3.0 } else { 0.0 };
                j2 += 0.5 * deviator * deviator;
            }
        }
        let wanted: f32 = d[1..].iter().map(|c| c * c).sum();
        assert!((j2 - wanted).abs() < 1e-4, "{j2} {wanted}");
        assert_eq!((s[1][2], s[0][2], s[0][1]), (-0.5, 0.25, -0.125));
    }
}
