//! Clouds of particles from boxes, balls, cones, meshes and height fields; streams that add
//! particles while time goes on, and zones that remove them.
//!
//! Every sampler places particles on a lattice, so their number does not depend on chance, and
//! a [`Fill`] says what they are. The invariant: a particle of a lattice with spacing (a, b, c)
//! has mass a b c ρ and half edge max(a, b, c) / 2, and never more than [`MAX_PARTICLES`] are
//! asked for at once.

pub(crate) mod random;
mod stream;

use weft::geometry::{Geometry, Mesh, Surface};

use crate::collider::{HeightField, Pose, not_negative, positive, vector};
use crate::{MpmError, Particles};
use random::symmetric;

pub use stream::{Emitter, KillZone, Rate, Zone};

/// Most lattice points that one call looks at.
pub const MAX_PARTICLES: usize = 1 << 27;

/// What a sampler makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Density, kg/m³; 0 makes kinematic particles.
    pub density: f64,
    /// Index of the material.
    pub material: u16,
    /// World of the particles.
    pub world: u32,
    /// Velocity, m/s.
    pub velocity: [f32; 3],
    /// Plastic volume ratio Jp to start with.
    pub plastic_volume: f32,
    /// Width of the interval about its lattice point that a particle falls into, along each
    /// axis, as a part of the spacing: from 0 (none) to 1 (all of its cell).
    pub jitter: f64,
    /// Chooses the places within those intervals; the same on every platform.
    pub seed: u64,
}

impl Default for Fill {
    fn default() -> Fill {
        Fill {
            density: 1000.0,
            material: 0,
            world: 0,
            velocity: [0.0; 3],
            plastic_volume: 1.0,
            jitter: 0.0,
            seed: 0,
        }
    }
}

fn sampler(reason: String) -> MpmError {
    MpmError::Sampler(reason)
}

/// Points lower + (i, j, k) spacing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lattice {
    lower: [f64; 3],
    counts: [usize; 3],
    spacing: [f64; 3],
}

impl Lattice {
    fn new(lower: [f64; 3], counts: [usize; 3], spacing: [f64; 3]) -> Result<Lattice, MpmError> {
        vector("lower corner", lower).map_err(sampler)?;
        for s in spacing {
            positive("spacing", s).map_err(sampler)?;
        }
        let points = counts.iter().map(|&n| n as f64).product::<f64>();
        if points > MAX_PARTICLES as f64 {
            return Err(sampler(format!(
                "{} × {} × {} lattice points; expected at most {MAX_PARTICLES}, with a larger spacing",
                counts[0], counts[1], counts[2]
            )));
        }
        Ok(Lattice {
            lower,
            counts,
            spacing,
        })
    }

    /// Cells of edge `spacing` that cover a box, about its centre; points in their middles.
    fn covering(lower: [f64; 3], upper: [f64; 3], spacing: f64) -> Result<Lattice, MpmError> {
        positive("spacing", spacing).map_err(sampler)?;
        vector("lower corner", lower).map_err(sampler)?;
        vector("upper corner", upper).map_err(sampler)?;
        let counts = std::array::from_fn(|d| whole((upper[d] - lower[d]) / spacing).max(1));
        let first = std::array::from_fn(|d| {
            0.5 * (lower[d] + upper[d]) - 0.5 * (counts[d] - 1) as f64 * spacing
        });
        Lattice::new(first, counts, [spacing; 3])
    }

    fn len(&self) -> usize {
        self.counts.iter().product()
    }

    fn point(&self, index: usize) -> [f64; 3] {
        let [nx, ny, _] = self.counts;
        let place = [index % nx, index / nx % ny, index / nx / ny];
        std::array::from_fn(|d| self.lower[d] + place[d] as f64 * self.spacing[d])
    }
}

/// The least whole number that is not below `ratio`, up to rounding of the ratio.
fn whole(ratio: f64) -> usize {
    // The cast saturates.
    (ratio * (1.0 - 1e-9)).ceil() as usize
}

impl Fill {
    fn check(&self) -> Result<(), MpmError> {
        let within = |name, value: f64, most: f64| {
            if (0.0..=most).contains(&value) {
                return Ok(());
            }
            Err(sampler(format!(
                "{name} = {value}; expected a number from 0 to {most}"
            )))
        };
        within("density", self.density, 1e30)?;
        within("jitter", self.jitter, 1.0)?;
        vector("velocity", self.velocity.map(f64::from)).map_err(sampler)?;
        positive("plastic_volume", f64::from(self.plastic_volume)).map_err(sampler)?;
        Ok(())
    }

    /// Mass and half edge of a particle, in single precision and still above 0.
    fn size(&self, spacing: [f64; 3]) -> Result<(f32, f32), MpmError> {
        let mass = (spacing[0] * spacing[1] * spacing[2] * self.density) as f32;
        let radius = (0.5 * spacing[0].max(spacing[1]).max(spacing[2])) as f32;
        let fine = mass.is_finite() && (mass > 0.0 || self.density == 0.0);
        // Eight times its cube has to be a number.
        if fine && radius > 1e-12 && radius < 1e12 {
            return Ok((mass, radius));
        }
        Err(sampler(format!(
            "particles of spacing {spacing:?} m and density {} kg/m³ have mass {mass} kg and radius {radius} m, out of the range of single precision",
            self.density
        )))
    }

    /// The lattice point, moved by chance.
    fn jittered(&self, x: [f64; 3], spacing: [f64; 3], index: u64) -> [f64; 3] {
        if self.jitter == 0.0 {
            return x;
        }
        std::array::from_fn(|d| {
            let part = symmetric(self.seed, index, d as u64);
            x[d] + 0.5 * self.jitter * spacing[d] * part
        })
    }

    fn push(&self, particles: &mut Particles, x: [f64; 3], (mass, radius): (f32, f32)) {
        let i = particles.push(x, mass, radius);
        particles.velocity[i] = self.velocity;
        particles.plastic_volume[i] = self.plastic_volume;
        particles.material[i] = self.material;
        particles.world[i] = self.world;
    }

    /// Fills the part of a lattice that is inside. A particle that chance would move out stays
    /// on its lattice point.
    fn fill(
        &self,
        lattice: &Lattice,
        inside: impl Fn([f64; 3]) -> bool,
    ) -> Result<Particles, MpmError> {
        self.check()?;
        let size = self.size(lattice.spacing)?;
        let mut particles = Particles::new();
        for index in 0..lattice.len() {
            let x = lattice.point(index);
            if !inside(x) {
                continue;
            }
            let moved = self.jittered(x, lattice.spacing, index as u64);
            let keep = self.jitter == 0.0 || inside(moved);
            self.push(&mut particles, if keep { moved } else { x }, size);
        }
        Ok(particles)
    }

    /// A lattice of particles at lower + (i, j, k) spacing, x fastest: exactly
    /// the product of `counts` of them.
    ///
    /// # Errors
    /// [`MpmError::Sampler`] for values out of range, or more than [`MAX_PARTICLES`].
    pub fn lattice(
        &self,
        lower: [f64; 3],
        counts: [usize; 3],
        spacing: [f64; 3],
    ) -> Result<Particles, MpmError> {
        self.fill(&Lattice::new(lower, counts, spacing)?, |_| true)
    }

    /// A box filled from face to face: ⌈edge / spacing⌉ equal intervals along each axis, and one
    /// particle more than those. A box of 2 m with ten cells a metre and three particles along
    /// each (spacing 1/30 m) gets 61³ = 226 981.
    ///
    /// ```
    /// use weft_mpm::emit::Fill;
    ///
    /// let sand = Fill { density: 2500.0, jitter: 1.0, ..Fill::default() };
    /// let cloud = sand.block([-1.0, -1.0, 0.0], [1.0, 1.0, 0.5], 0.1)?;
    /// assert_eq!(cloud.len(), 21 * 21 * 6);
    /// # Ok::<(), weft_mpm::MpmError>(())
    /// ```
    ///
    /// # Errors
    /// [`MpmError::Sampler`] for values out of range, a box without volume, or more than
    /// [`MAX_PARTICLES`].
    pub fn block(
        &self,
        lower: [f64; 3],
        upper: [f64; 3],
        spacing: f64,
    ) -> Result<Particles, MpmError> {
        positive("spacing", spacing).map_err(sampler)?;
        let mut counts = [0; 3];
        let mut steps = [0.0; 3];
        for d in 0..3 {
            let edge = upper[d] - lower[d];
            positive("edge of the box", edge).map_err(sampler)?;
            let intervals = whole(edge / spacing).max(1);
            counts[d] = intervals.saturating_add(1);
            steps[d] = edge / intervals as f64;
        }
        self.lattice(lower, counts, steps)
    }

    /// Particles in the middles of the cubes of a lattice about the centre of a box, where
    /// `inside` says so.
    ///
    /// # Errors
    /// As [`block`](Self::block), but the box may be flat.
    pub fn region(
        &self,
        lower: [f64; 3],
        upper: [f64; 3],
        spacing: f64,
        inside: impl Fn([f64; 3]) -> bool,
    ) -> Result<Particles, MpmError> {
        self.fill(&Lattice::covering(lower, upper, spacing)?, inside)
    }

    /// A ball, with a lattice about its centre.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn sphere(
        &self,
        center: [f64; 3],
        radius: f64,
        spacing: f64,
    ) -> Result<Particles, MpmError> {
        positive("radius", radius).map_err(sampler)?;
        let lower = center.map(|c| c - radius);
        let upper = center.map(|c| c + radius);
        self.region(lower, upper, spacing, |x| {
            (0..3).map(|d| (x[d] - center[d]).powi(2)).sum::<f64>() <= radius * radius
        })
    }

    /// A truncated cone about the z axis through `base`, of height `height` and with the radii
    /// `lower` at its base and `upper` at its top; one of them may be 0, and both equal make a
    /// cylinder.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn cone(
        &self,
        base: [f64; 3],
        lower: f64,
        upper: f64,
        height: f64,
        spacing: f64,
    ) -> Result<Particles, MpmError> {
        positive("height of the cone", height).map_err(sampler)?;
        for r in [lower, upper] {
            not_negative("radius of the cone", r).map_err(sampler)?;
        }
        let widest = lower.max(upper);
        positive("larger radius of the cone", widest).map_err(sampler)?;
        let [x, y, z] = base;
        let from = [x - widest, y - widest, z];
        let to = [x + widest, y + widest, z + height];
        self.region(from, to, spacing, |p| {
            let up = (p[2] - z) / height;
            let radius = lower + up * (upper - lower);
            (0.0..=1.0).contains(&up) && (p[0] - x).hypot(p[1] - y) <= radius
        })
    }

    /// The inside of a closed mesh of triangles, wherever its normals point.
    ///
    /// # Errors
    /// As [`block`](Self::block); also if the mesh is not a closed surface.
    pub fn mesh(&self, mesh: &Mesh, spacing: f64) -> Result<Particles, MpmError> {
        let surface = Surface::new(mesh).map_err(|e| sampler(e.to_string()))?;
        let (topology, map) = (mesh.topology(), mesh.map());
        let (mut lower, mut upper) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for &v in topology.cells() {
            let x = map.vertex(v);
            for d in 0..3 {
                lower[d] = lower[d].min(x[d]);
                upper[d] = upper[d].max(x[d]);
            }
        }
        let inward = surface.volume() < 0.0;
        self.region(lower, upper, spacing, |x| {
            let found = surface.signed_distance(x, f64::INFINITY);
            found.is_some_and(|s| (s.distance < 0.0) != inward)
        })
    }

    /// The layer over a height field between `bottom` and `top` above its surface (m): equal
    /// columns of particles that follow the ground, ⌈edge / spacing⌉ along x and y and
    /// ⌈(top - bottom) / spacing⌉ high, in the middles of their cells. `pose` is the field's.
    ///
    /// # Errors
    /// As [`block`](Self::block); also for a height field that is none.
    pub fn layer(
        &self,
        field: &HeightField,
        pose: Pose,
        bottom: f64,
        top: f64,
        spacing: f64,
    ) -> Result<Particles, MpmError> {
        field.check().map_err(sampler)?;
        let pose = pose.checked().map_err(sampler)?;
        positive("spacing", spacing).map_err(sampler)?;
        positive("thickness of the layer", top - bottom).map_err(sampler)?;
        let [width, depth] = field.size();
        let edges = [width, depth, top - bottom];
        let counts = edges.map(|e| whole(e / spacing).max(1));
        let steps: [f64; 3] = std::array::from_fn(|d| edges[d] / counts[d] as f64);
        let lower = [0.5 * steps[0], 0.5 * steps[1], bottom + 0.5 * steps[2]];
        let mut particles = self.lattice(lower, counts, steps)?;
        for x in &mut particles.position {
            x[2] += field.height(x[0], x[1]);
            *x = pose.apply((*x).into()).into();
        }
        Ok(particles)
    }
}
