//! Particles sorted by cell: the quadrature points of a step.

use crate::bytes::bytes_of;
use crate::grid::{Cells, INSET, NONE, world_of};
use crate::{ACTIVE, Integration, MpmError, Particles};
use rayon::prelude::*;

/// Most samples of a particle: corners of its cube.
const CORNERS: usize = 8;
/// Particles from which several tasks pay.
const PARALLEL: usize = 1 << 12;

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
    /// Cell of each sample.
    pub cell: Vec<u32>,
    /// Particles with a sample.
    pub binned: usize,
    /// Active particles without: outside a fixed grid, or at a position that is not finite.
    pub dropped: usize,
    /// Samples of each particle, in its order: `most` places each, the unused ones last.
    pub found: Vec<Found>,
    /// Number of the sample in each place, [`NONE`] in those unused.
    pub number: Vec<u32>,
    /// Place of each sample.
    order: Vec<u32>,
    /// Next sample of each cell for each part of the particles: `[part * cells + cell]`.
    cursors: Vec<u32>,
    /// Particles with a sample and active particles of each part.
    tallies: Vec<[usize; 2]>,
}

bytes_of! {
    Bins: first, particle, xi, weight, cell, found, number, order, cursors, tallies
    without most, binned, dropped
}

/// A sample of a particle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Its cell, or [`NONE`].
    pub cell: u32,
    /// Reference coordinates.
    pub xi: [f32; 3],
    /// Part of the particle that it stands for.
    pub share: f32,
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
        let count = cells.count();
        let tasks = match n {
            0..PARALLEL => 1,
            _ => rayon::current_num_threads(),
        };
        // More parts than threads, as particles of a part may take longer.
        let part = n.div_ceil(if tasks > 1 { 4 * tasks } else { 1 }).max(1);
        self.find(particles, cells, integration, worlds, part);
        let parts = self.tallies.len();
        let sum = |k: usize| self.tallies.iter().map(|t| t[k]).sum::<usize>();
        self.binned = sum(0);
        self.dropped = sum(1) - self.binned;
        // A stable counting sort: of each cell first the samples of the first part.
        self.first.clear();
        let mut total = 0;
        for cell in 0..count {
            self.first.push(total);
            for part in 0..parts {
                let cursor = &mut self.cursors[part * count + cell];
                total += std::mem::replace(cursor, total);
            }
        }
        self.first.push(total);
        let used = total as usize;
        self.number.resize(n * most, NONE);
        let lists = (
            self.number.par_chunks_mut(part * most),
            self.found.par_chunks(part * most),
            self.cursors.par_chunks_mut(count.max(1)),
        );
        lists.into_par_iter().for_each(|(number, found, cursors)| {
            for (number, found) in number.iter_mut().zip(found) {
                *number = match found.cell {
                    NONE => NONE,
                    cell => {
                        let cursor = &mut cursors[cell as usize];
                        *cursor += 1;
                        *cursor - 1
                    }
                };
            }
        });
        // The inverse: each task looks for the samples of its part.
        self.order.resize(used, 0);
        let size = used.div_ceil(tasks).max(1);
        let number = &self.number;
        let parts = self.order.par_chunks_mut(size).enumerate();
        parts.for_each(|(part, order)| {
            let first = (part * size) as u32;
            for (place, number) in number.iter().enumerate() {
                // Samples before the first, and none, are far past the end.
                if let Some(at) = order.get_mut(number.wrapping_sub(first) as usize) {
                    *at = place as u32;
                }
            }
        });
        self.particle.resize(used, 0);
        self.cell.resize(used, 0);
        self.xi.resize(used, [0.0; 3]);
        self.weight.resize(used, 0.0);
        let h = cells.size;
        let inverse = 1.0 / (h * h * h);
        let (found, order) = (&self.found, &self.order);
        let gather = (
            &mut self.particle[..],
            &mut self.cell[..],
            &mut self.xi[..],
            &mut self.weight[..],
            &order[..],
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
        Ok(())
    }

    /// Finds the samples of all particles, and counts those of each cell and part of the particles.
    fn find(
        &mut self,
        particles: &Particles,
        cells: &Cells,
        integration: Integration,
        worlds: usize,
        part: usize,
    ) {
        let (most, h, count) = (self.most, cells.size, cells.count());
        let parts = particles.len().div_ceil(part);
        self.tallies.clear();
        self.tallies.resize(parts, [0; 2]);
        self.cursors.clear();
        self.cursors.resize(parts * count, 0);
        let finder = cells.finder();
        let find = |i: usize, found: &mut [Found]| {
            found.fill(NOT_FOUND);
            let Some(finder) = &finder else {
                return;
            };
            let (world, x) = (world_of(particles, i, worlds), particles.position[i]);
            match integration {
                Integration::Pic => {
                    if let Some((cell, xi)) = finder.find(world, x) {
                        let share = 1.0;
                        found[0] = Found { cell, xi, share };
                    }
                }
                Integration::Gimp => {
                    let radius = f64::from(particles.radius[i]);
                    spread(x, radius, h, found, |y| finder.find(world, y));
                }
            }
        };
        let one =
            |part_of_all: usize, all: &mut [Found], tally: &mut [usize; 2], counts: &mut [u32]| {
                for (i, found) in all.chunks_mut(most).enumerate() {
                    let i = part_of_all * part + i;
                    if particles.flags[i] & ACTIVE == 0 {
                        found.fill(NOT_FOUND);
                        continue;
                    }
                    find(i, found);
                    tally[1] += 1;
                    tally[0] += usize::from(found[0].cell != NONE);
                    let used = found.iter().take_while(|f| f.cell != NONE);
                    used.for_each(|f| counts[f.cell as usize] += 1);
                }
            };
        if count == 0 {
            // No cells to count in.
            for (k, (all, tally)) in self
                .found
                .chunks_mut(part * most)
                .zip(&mut self.tallies)
                .enumerate()
            {
                one(k, all, tally, &mut []);
            }
            return;
        }
        let lists = (
            self.found.par_chunks_mut(part * most),
            &mut self.tallies[..],
            self.cursors.par_chunks_mut(count),
        );
        lists
            .into_par_iter()
            .enumerate()
            .for_each(|(k, (all, tally, counts))| one(k, all, tally, counts));
    }

    /// Samples of a cell.
    pub fn of(&self, cell: usize) -> std::ops::Range<usize> {
        self.first[cell] as usize..self.first[cell + 1] as usize
    }
}

/// Spreads a cube of half edge `r` over the cells that its corners lie in. The share of a corner
/// is its distance to the nearest face of its cell; corners of one cell count together, and the
/// sample is at the point of the cell closest to the centre. A cube whose corners all lie on faces
/// counts at its centre.
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
    if used == 0
        && let Some((cell, xi)) = find(x)
    {
        let share = 1.0;
        found[0] = Found { cell, xi, share };
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
                    let s = bins.number[p * bins.most + k];
                    assert!(s == NONE || bins.particle[s as usize] as usize == p);
                    let found = bins.found[p * bins.most + k];
                    assert_eq!(s == NONE, found.cell == NONE);
                    assert!(s == NONE || bins.cell[s as usize] == found.cell);
                }
            }
        }
    }

    #[test]
    fn samples_are_those_of_a_plain_stable_sort_on_any_number_of_threads() {
        for integration in [Integration::Pic, Integration::Gimp] {
            let mut particles = cloud(3 * PARALLEL);
            for i in 0..particles.len() {
                // Half of them in a few cells.
                if i % 2 == 0 {
                    particles.position[i] = particles.position[i].map(|x| 0.2 * x);
                }
                if i % 7 == 0 {
                    particles.flags[i] = 0;
                }
            }
            particles.position[11][1] = f64::NAN;
            for threads in [1, 2, 3, 8] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| {
                    let mut cells = Cells::new(&Config::default(), 1).unwrap();
                    cells.rebuild(&particles).unwrap();
                    let mut bins = Bins::default();
                    bins.fill(&particles, &cells, integration, 1).unwrap();
                    let mut plain: Vec<(u32, usize)> = bins
                        .found
                        .iter()
                        .enumerate()
                        .filter(|(_, f)| f.cell != NONE)
                        .map(|(place, f)| (f.cell, place))
                        .collect();
                    plain.sort();
                    assert!(plain.len() > 10_000 && bins.cell.len() == plain.len());
                    for (s, &(cell, place)) in plain.iter().enumerate() {
                        assert_eq!(bins.cell[s], cell);
                        assert_eq!(bins.particle[s] as usize, place / bins.most);
                        assert_eq!(bins.xi[s], bins.found[place].xi);
                        assert!(bins.of(cell as usize).contains(&s));
                    }
                    assert_eq!(bins.first.len(), cells.count() + 1);
                    let active = particles.flags.iter().filter(|&&f| f & ACTIVE != 0).count();
                    assert_eq!((bins.binned, bins.dropped), (active - 1, 1));
                });
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

    #[test]
    fn issue_005_gimp_aligned() {
        // Cubes that fill their cells: every corner lies on faces.
        let mut particles = Particles::new();
        for i in -3..3 {
            particles.push([0.1 * f64::from(i), 0.3, -0.2], 1.0, 0.05);
        }
        let mut cells = Cells::new(&Config::default(), 1).unwrap();
        cells.rebuild(&particles).unwrap();
        let mut bins = Bins::default();
        bins.fill(&particles, &cells, Integration::Gimp, 1).unwrap();
        assert_eq!((bins.binned, bins.dropped), (6, 0));
        assert_eq!(bins.cell.len(), 6);
        for s in 0..6 {
            assert!((bins.weight[s] - 1.0).abs() < 1e-5);
            assert!(bins.xi[s].iter().all(|x| (x - 0.5).abs() < 1e-5));
        }
    }
}
