//! Pictures of material: the frame of each particle, and grains that move with it.

use crate::bytes::sum_of_bytes;
use crate::eigen::{left_cauchy_green, symmetric};
use crate::emit::random::symmetric as uniform;
use crate::error::check_step;
use crate::grid::Finder;
use crate::shape::values;
use crate::tensor::{IDENTITY, Mat3};
use crate::{ACTIVE, MpmError, Particles, Solver};
use rayon::prelude::*;

/// Particles that a task works on.
const GRAIN: usize = 512;

/// Deforms the frames of active particles by a step of `dt` seconds, F ← (I + dt G) F, and keeps
/// their singular values within `min_stretch` and `max_stretch` (usually 0.25 and 2).
///
/// # Errors
/// [`MpmError::TimeStep`] unless `dt` is finite and not negative; [`MpmError::Config`] unless
/// 0 < `min_stretch` ≤ `max_stretch`, both finite; those of arrays in [`Particles::check`].
pub fn update_frames(
    particles: &mut Particles,
    dt: f64,
    min_stretch: f32,
    max_stretch: f32,
) -> Result<(), MpmError> {
    check_step(dt)?;
    if !(min_stretch > 0.0 && min_stretch <= max_stretch && max_stretch.is_finite()) {
        return Err(MpmError::Config {
            option: format!("stretch from {min_stretch} to {max_stretch}"),
            reason: "expected two finite numbers above 0, the smaller first".into(),
        });
    }
    let every = usize::from(u16::MAX) + 1;
    particles.check(every)?;
    let limits = [min_stretch, max_stretch].map(f64::from);
    let Particles {
        frame,
        gradient,
        flags,
        ..
    } = particles;
    frame
        .par_iter_mut()
        .with_min_len(GRAIN)
        .zip(&*gradient)
        .zip(&*flags)
        .filter(|&(_, flags)| flags & ACTIVE != 0)
        .for_each(|((frame, gradient), _)| {
            let next = std::array::from_fn(|i| {
                std::array::from_fn(|j| {
                    let turn = |k: usize| f64::from(gradient[i][k]) * f64::from(frame[k][j]);
                    f64::from(frame[i][j]) + dt * (0..3).map(turn).sum::<f64>()
                })
            });
            *frame = limited(next, limits);
        });
    Ok(())
}

type Mat = [[f64; 3]; 3];

/// `f` with its singular values within limits. What is not finite becomes the identity.
fn limited(f: Mat, [low, high]: [f64; 2]) -> Mat3 {
    if f.iter().flatten().any(|x| !x.is_finite()) {
        return IDENTITY;
    }
    // f vᵢ = σᵢ uᵢ for the eigenvectors v of fᵀ f.
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let scale = f.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    let g = f.map(|row| row.map(|x| if scale > 0.0 { x / scale } else { 0.0 }));
    let column = |j: usize| [g[0][j], g[1][j], g[2][j]];
    let (_, v) = symmetric::<3>([0, 1, 2].map(|i| [0, 1, 2].map(|j| dot(column(i), column(j)))));
    let images = v.map(|v| g.map(|row| dot(row, v)));
    let mut order = [0, 1, 2];
    let size = images.map(|u| dot(u, u).sqrt());
    order.sort_by(|&a, &b| size[b].total_cmp(&size[a]));
    // Longest first, made orthonormal; directions that f flattens are whatever is left.
    let mut u = [[0.0; 3]; 3];
    let unit = |x: [f64; 3]| {
        let length = dot(x, x).sqrt();
        x.map(|c| c / length)
    };
    for (n, &i) in order.iter().enumerate() {
        let known = u;
        let rest = |mut x: [f64; 3]| {
            for &k in &order[..n] {
                let along = dot(x, known[k]);
                x = [0, 1, 2].map(|d| x[d] - along * known[k][d]);
            }
            x
        };
        let own = rest(images[i]);
        u[i] = match dot(own, own).sqrt() > 1e-9 {
            true => unit(own),
            false => {
                let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(rest);
                let longest =
                    (0..3).max_by(|&a, &b| dot(axes[a], axes[a]).total_cmp(&dot(axes[b], axes[b])));
                unit(axes[longest.unwrap_or(0)])
            }
        };
    }
    let stretch = size.map(|s| (s * scale).clamp(low, high));
    std::array::from_fn(|i| {
        std::array::from_fn(|j| (0..3).map(|k| stretch[k] * u[k][i] * v[k][j]).sum::<f64>() as f32)
    })
}

/// The velocity field of the last step.
struct Field<'a> {
    solver: &'a Solver,
    finder: Finder<'a>,
}

impl Field<'_> {
    fn at(&self, world: usize, x: [f64; 3]) -> Option<[f32; 3]> {
        let solver = self.solver;
        let world = if solver.config.separate_worlds {
            world
        } else {
            0
        };
        let (cell, xi) = self.finder.find(world, x)?;
        let (cell, slots) = (cell as usize, solver.set.slots());
        let of_cell = &solver.set.of_cell[cell * slots..(cell + 1) * slots];
        let mut v = [0.0; 3];
        let weights = values(solver.level, solver.config.velocity_basis, xi);
        for (weight, &node) in weights.iter().zip(of_cell) {
            for d in 0..3 {
                v[d] += weight * solver.nodes[node as usize][d];
            }
        }
        Some(v)
    }
}

impl Solver {
    /// Velocity of the last step at points of a world, m/s, in their order; `None` where no cell
    /// was, and for all before the first step.
    pub fn velocity_at<'a>(
        &'a self,
        world: usize,
        points: &'a [[f64; 3]],
    ) -> impl Iterator<Item = Option<[f32; 3]>> + 'a {
        let field = self.field();
        let at = move |x: &[f64; 3]| field.as_ref().and_then(|f| f.at(world, *x));
        points.iter().map(at)
    }

    fn field(&self) -> Option<Field<'_>> {
        if !self.fresh || self.nodes.len() != self.set.count() {
            return None;
        }
        let finder = self.cells.finder()?;
        Some(Field {
            solver: self,
            finder,
        })
    }
}

/// Grains for pictures: points that move with the material and stay within the ellipsoids of
/// their particles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grains {
    /// Positions, m: those of the first particle, then those of the next.
    pub position: Vec<[f64; 3]>,
    per_particle: usize,
    /// Where the particles were.
    before: Vec<[f64; 3]>,
}

impl Grains {
    /// `per_particle` grains in the cube of each particle, at random places that `seed` chooses.
    ///
    /// # Errors
    /// Those of arrays in [`Particles::check`].
    pub fn new(particles: &Particles, per_particle: usize, seed: u64) -> Result<Grains, MpmError> {
        particles.check(usize::from(u16::MAX) + 1)?;
        let mut position = Vec::with_capacity(particles.len() * per_particle);
        for (p, x) in particles.position.iter().enumerate() {
            let r = f64::from(particles.radius[p]);
            for k in 0..per_particle {
                let index = (p * per_particle + k) as u64;
                position.push([0, 1, 2].map(|d| x[d] + r * uniform(seed, index, d as u64)));
            }
        }
        Ok(Grains {
            position,
            per_particle,
            before: particles.position.clone(),
        })
    }

    /// Bytes of all arrays, with room for later.
    pub fn bytes(&self) -> usize {
        sum_of_bytes!(&self.position, &self.before)
    }

    /// How many belong to a particle.
    pub fn per_particle(&self) -> usize {
        self.per_particle
    }

    /// Moves the grains as the particles did since the last call, in a step of `dt` seconds: with
    /// the grid's velocity where there are cells, else with their particle and its velocity
    /// gradient; then into the ellipsoid of the particle, of half axes radius times stretch of its
    /// frame. Before the solver's first step nothing moves.
    ///
    /// # Errors
    /// [`MpmError::TimeStep`]; [`MpmError::Length`] if there are not as many particles as the
    /// grains were made for. Nothing has moved then.
    pub fn update(
        &mut self,
        solver: &Solver,
        particles: &Particles,
        dt: f64,
    ) -> Result<(), MpmError> {
        check_step(dt)?;
        if particles.len() != self.before.len() {
            return Err(MpmError::Length {
                name: "position",
                found: particles.len(),
                expected: self.before.len(),
            });
        }
        particles.check(solver.materials().len())?;
        let Some(field) = solver.field().filter(|_| self.per_particle > 0) else {
            return Ok(());
        };
        let before = &self.before;
        self.position
            .par_chunks_mut(self.per_particle)
            .with_min_len(GRAIN)
            .enumerate()
            .filter(|&(p, _)| particles.flags[p] & ACTIVE != 0)
            .for_each(|(p, grains)| {
                let (x, g) = (particles.position[p], &particles.gradient[p]);
                let inverse = inverse_of_ellipsoid(&particles.frame[p], particles.radius[p]);
                for y in grains {
                    let next = match field.at(particles.world[p] as usize, *y) {
                        Some(v) => std::array::from_fn(|d| y[d] + dt * f64::from(v[d])),
                        None => std::array::from_fn(|d| {
                            let turn = |e: usize| f64::from(g[d][e]) * (y[e] - before[p][e]);
                            y[d] + x[d] - before[p][d] + dt * (0..3).map(turn).sum::<f64>()
                        }),
                    };
                    *y = pulled(next, x, &inverse);
                }
            });
        self.before.clone_from(&particles.position);
        Ok(())
    }
}

/// (r² F Fᵀ)⁻¹; zero for a flat frame, so that nothing is pulled.
fn inverse_of_ellipsoid(frame: &Mat3, radius: f32) -> Mat {
    let (values, v) = symmetric::<3>(left_cauchy_green(frame));
    let r = f64::from(radius);
    let inverse = values.map(|s| if s > 1e-12 { 1.0 / (r * r * s) } else { 0.0 });
    std::array::from_fn(|i| {
        std::array::from_fn(|j| (0..3).map(|k| inverse[k] * v[k][i] * v[k][j]).sum())
    })
}

/// The point on the way to the centre that lies within the ellipsoid.
fn pulled(y: [f64; 3], centre: [f64; 3], inverse: &Mat) -> [f64; 3] {
    let z: [f64; 3] = std::array::from_fn(|d| y[d] - centre[d]);
    let far: f64 = (0..3)
        .map(|i| z[i] * (0..3).map(|j| inverse[i][j] * z[j]).sum::<f64>())
        .sum();
    match far > 1.0 {
        true => std::array::from_fn(|d| centre[d] + z[d] / far.sqrt()),
        false => y,
    }
}
