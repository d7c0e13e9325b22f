//! Particles sorted by cell: the quadrature points of a step.

use crate::bytes::{Bytes, sum_of_bytes};
use crate::grid::{Cells, INSET, NONE, invert, world_of};
use crate::{ACTIVE, Integration, MpmError, Particles};
use rayon::prelude::*;

/// Most samples of a particle: corners of its cube.
const CORNERS: usize = 8;

/// Samples of particles in cells, sorted by cell, then by particle.
#[derive(Debug, Default)]
pub(crate) struct Bins {
    /// Samples a particle has at most.
    pub most: usize,
    /// Samples of each cell: `first[cell]..first[cell + 1]`.
    pub first: Vec<u32>,
    /// Particle of each sample.
    pub particle: Vec<u32>,
    /// Reference coordinates.
    pub xi: Vec<[f32; 3]>,
    /// Particle volume over cell volume, times the sample's share.
    pub weight: Vec<f32>,
    /// Samples of each particle, `most` places each, [`NONE`] in those unused.
    pub of_particle: Vec<u32>,
    /// Cell of each sample.
    pub cell: Vec<u32>,
    /// Particles with a sample.
    pub binned: usize,
    /// Active particles without: outside a fixed grid, or at a position that is not finite.
    pub dropped: usize,
    found: Vec<Found>,
    key: Vec<u32>,
    order: Vec<u32>,
}

impl Bytes for Bins {
    fn bytes(&self) -> usize {
        let Self {
            first,
            particle,
            xi,
            weight,
            of_particle,
            cell,
            found,
            key,
            order,
            most: _,
            binned: _,
            dropped: _,
        } = self;
        sum_of_bytes!(
            first,
            particle,
            xi,
            weight,
            of_particle,
            cell,
            found,
            key,
            order
        )
    }
}

#[derive(Clone, Copy, Debug)]
struct Found {
    cell: u32,
    xi: [f32; 3],
    share: f32,
}

const NOT_FOUND: Found = Found {
    cell: NONE,
    xi: [0.0; 3],
    share: 0.0,
};

impl Bins {
    /// Finds cells for all particles.
    pub fn fill(
        &mut self,
        particles: &Particles,
        cells: &Cells,
        integration: Integration,
        worlds: usize,
    ) -> Result<(), MpmError> {
        let n = particles.len();
        self.most = match integration {
            Integration::Pic => 1,
            Integration::Gimp => CORNERS,
        };
        let most = self.most;
        let limit = NONE as usize;
        if n.checked_mul(most).is_none_or(|total| total >= limit) {
            return Err(MpmError::Config {
                option: format!("{n} particles"),
                reason: format!("expected fewer than {}", limit / most),
            });
        }
        self.found.resize(n * most, NOT_FOUND);
        self.of_particle.resize(n * most, NONE);
        self.of_particle.fill(NONE);
        let Some(finder) = cells.finder() else {
            self.found.fill(NOT_FOUND);
            self.first.clear();
            self.first.push(0);
            for list in [&mut self.particle, &mut self.cell] {
                list.clear();
            }
            self.xi.clear();
            self.weight.clear();
            self.binned = 0;
            self.dropped = count_active(particles);
            return Ok(());
        };
        let h = cells.size;
        self.found
            .par_chunks_mut(most)
            .with_min_len(1 << 10)
            .enumerate()
            .for_each(|(i, found)| {
                found.fill(NOT_FOUND);
                if particles.flags[i] & ACTIVE == 0 {
                    return;
                }
                let (world, x) = (world_of(particles, i, worlds), particles.position[i]);
                if most == 1 {
                    if let Some((cell, xi)) = finder.find(world, x) {
                        let share = 1.0;
                        found[0] = Found { cell, xi, share };
                    }
                    return;
                }
                spread(x, f64::from(particles.radius[i]), h, found, |y| {
                    finder.find(world, y)
                });
            });
        drop(finder);
        // Counting sort of the samples by cell; empty places go to one cell past the end.
        let count = cells.count();
        self.key.clear();
        let none = count as u32;
        self.key.extend(
            self.found
                .iter()
                .map(|f| if f.cell == NONE { none } else { f.cell }),
        );
        invert(&self.key, count + 1, &mut self.first, &mut self.order);
        self.first.pop();
        let used = self.first[count] as usize;
        self.particle.resize(used, 0);
        self.cell.resize(used, 0);
        self.xi.resize(used, [0.0; 3]);
        self.weight.resize(used, 0.0);
        let inverse = 1.0 / (h * h * h);
        let (found, order) = (&self.found, &self.order);
        let gather = (
            &mut self.particle[..],
            &mut self.cell[..],
            &mut self.xi[..],
            &mut self.weight[..],
            &order[..used],
        );
        gather.into_par_iter().with_min_len(1 << 12).for_each(
            |(particle, cell, xi, weight, &place)| {
                let sample = &found[place as usize];
                *particle = place / most as u32;
                *cell = sample.cell;
                *xi = sample.xi;
                let edge = 2.0 * f64::from(particles.radius[*particle as usize]);
                *weight = (f64::from(sample.share) * edge * edge * edge * inverse) as f32;
            },
        );
        for (sample, &place) in self.order[..used].iter().enumerate() {
            self.of_particle[place as usize] = sample as u32;
        }
        self.binned = self
            .found
            .chunks(most)
            .filter(|found| found.iter().any(|f| f.cell != NONE))
            .count();
        self.dropped = count_active(particles) - self.binned;
        Ok(())
    }

    /// Samples of a cell.
    pub fn of(&self, cell: usize) -> std::ops::Range<usize> {
        self.first[cell] as usize..self.first[cell + 1] as usize
    }
}

fn count_active(particles: &Particles) -> usize {
    particles.flags.iter().filter(|&&f| f & ACTIVE != 0).count()
}

/// Spreads a cube of half edge `r` over the cells that its corners lie in. The share of a corner
/// is its distance to the nearest face of its cell; corners of one cell count together, and the
/// sample is at the point of the cell closest to the centre.
fn spread(
    x: [f64; 3],
    r: f64,
    h: f64,
    found: &mut [Found],
    find: impl Fn([f64; 3]) -> Option<(u32, [f32; 3])>,
) {
    let mut used = 0;
    let mut total = 0.0;
    for corner in 0..CORNERS {
        let step: [f64; 3] =
            std::array::from_fn(|d| if corner >> (2 - d) & 1 == 1 { r } else { -r });
        let y = std::array::from_fn(|d| x[d] + step[d]);
        let Some((cell, xi)) = find(y) else {
            continue;
        };
        let share = xi
            .iter()
            .map(|&c| c.min(1.0 - c))
            .fold(f32::INFINITY, f32::min);
        if share <= INSET {
            continue;
        }
        total += share;
        if let Some(same) = found[..used].iter_mut().find(|f| f.cell == cell) {
            same.share += share;
            continue;
        }
        let nearest = std::array::from_fn(|d| {
            (f64::from(xi[d]) - step[d] / h).clamp(f64::from(INSET), 1.0 - f64::from(INSET)) as f32
        });
        found[used] = Found {
            cell,
            xi: nearest,
            share,
        };
        used += 1;
    }
    for sample in &mut found[..used] {
        sample.share /= total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn cloud(n: usize) -> Particles {
        let mut particles = Particles::new();
        let mut seed = 7u64;
        let mut next = || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / (1u64 << 31) as f64
        };
        for _ in 0..n {
            let x = [next() - 0.5, next() - 0.5, next() - 0.5];
            particles.push(x, 1.0, 0.01 + 0.03 * next() as f32);
        }
        particles
    }

    #[test]
    fn every_sample_lies_in_its_cell_and_shares_sum_to_one() {
        for integration in [Integration::Pic, Integration::Gimp] {
            let particles = cloud(1000);
            let config = Config {
                grid_padding: 1,
                ..Config::default()
            };
            let mut cells = Cells::new(&config, 1).unwrap();
            cells.rebuild(&particles).unwrap();
            let mut bins = Bins::default();
            bins.fill(&particles, &cells, integration, 1).unwrap();
            assert_eq!((bins.binned, bins.dropped), (1000, 0));
            let mut sum = vec![0.0f32; particles.len()];
            let mut centre = vec![[0.0f64; 3]; particles.len()];
            for c in 0..cells.count() {
                for s in bins.of(c) {
                    assert_eq!(bins.cell[s] as usize, c);
                    let p = bins.particle[s] as usize;
                    let share = bins.weight[s] / (particles.volume(p) / 1e-3);
                    sum[p] += share;
                    let at: [f64; 3] = std::array::from_fn(|d| {
                        f64::from(cells.coordinates[c][d]) + f64::from(bins.xi[s][d])
                    });
                    let x = cells.position(0, at);
                    for d in 0..3 {
                        centre[p][d] += x[d] * f64::from(share);
                    }
                    let r = f64::from(particles.radius[p]) + 1e-6;
                    for d in 0..3 {
                        assert!((x[d] - particles.position[p][d]).abs() < r);
                    }
                }
            }
            for p in 0..particles.len() {
                assert!((sum[p] - 1.0).abs() < 1e-5);
                if integration == Integration::Pic {
                    for d in 0..3 {
                        assert!((centre[p][d] - particles.position[p][d]).abs() < 2e-6);
                    }
                }
                for k in 0..bins.most {
                    let s = bins.of_particle[p * bins.most + k];
                    assert!(s == NONE || bins.particle[s as usize] as usize == p);
                }
            }
        }
    }

    #[test]
    fn particles_that_are_nowhere_are_counted() {
        let mut particles = cloud(4);
        particles.position[1][2] = f64::NAN;
        particles.position[2][0] = f64::INFINITY;
        particles.flags[3] = 0;
        let mut cells = Cells::new(&Config::default(), 1).unwrap();
        cells.rebuild(&particles).unwrap();
        let mut bins = Bins::default();
        bins.fill(&particles, &cells, Integration::Pic, 1).unwrap();
        assert_eq!((bins.binned, bins.dropped, cells.count()), (1, 2, 1));
    }
}
