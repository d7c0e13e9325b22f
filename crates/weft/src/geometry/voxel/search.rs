//! Which cell holds a point, and which is closest to it.
//!
//! The leaves along the Morton curve are an octree without further tables: an octant is a run of
//! them. The closest cell is found by descending into octants in order of distance, with a bound
//! that never exceeds the distance in space, whatever the lattice's rotation and shear.

use crate::geometry::Nearest;
use rayon::prelude::*;

use super::build::floor;
use super::cells::VoxelCells;
use super::leaf::{LIMIT, corner, morton};
use crate::geometry::GeometryError;
use crate::geometry::metric::Metric;

/// What cells a query accepts, and a hint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookup<'a> {
    /// Cells that count: one entry per cell. All if `None`.
    pub mask: Option<&'a [bool]>,
    /// A cell that may be the answer or near it. It makes the query faster and never changes the
    /// answer; a cell that does not exist is no hint. In grids of several environments a guess
    /// without [`environment`](Self::environment) also says which one is meant.
    pub guess: Option<usize>,
    /// The environment to look in; needed in grids of several.
    pub environment: Option<usize>,
}

/// A cell and reference coordinates in it.
pub type CellPoint = (usize, [f64; 3]);

/// A checked query.
struct Query<'a> {
    mask: Option<&'a [bool]>,
    guess: Option<usize>,
    environment: usize,
    shift: [i32; 3],
}

impl VoxelCells {
    fn query<'a>(&self, lookup: &Lookup<'a>) -> Result<Query<'a>, GeometryError> {
        if let Some(mask) = lookup.mask
            && mask.len() != self.cell_count()
        {
            return Err(GeometryError::EntryCount {
                what: "the mask of a lookup",
                found: mask.len(),
                of: "cells",
                expected: self.cell_count(),
            });
        }
        let guess = lookup.guess.filter(|&g| g < self.cell_count());
        let environment = match (lookup.environment, self.environment_count(), guess) {
            (Some(environment), ..) => environment,
            (None, 1, _) => 0,
            (None, _, Some(guess)) => self.environment_of(guess),
            (None, count, None) => return Err(GeometryError::NeedsEnvironment { count }),
        };
        Ok(Query {
            mask: lookup.mask,
            guess,
            environment,
            shift: self.environments.shift(environment)?,
        })
    }

    fn accepts(&self, query: &Query, cell: usize) -> bool {
        query.mask.is_none_or(|mask| mask[cell])
            && self
                .environments
                .holds(query.environment, self.coordinates[cell])
    }

    /// The cell that holds `position` and its reference coordinates there.
    ///
    /// A point belongs to the cell whose half-open box `[i, i+1)` holds it, as in building from
    /// points. If that cell is not there, a cell with the point on its closed boundary (up to
    /// rounding) is taken, of several the smallest.
    ///
    /// # Errors
    /// [`EntryCount`](GeometryError::EntryCount) for a mask of the wrong length,
    /// [`NeedsEnvironment`](GeometryError::NeedsEnvironment),
    /// [`EnvironmentIndex`](GeometryError::EnvironmentIndex).
    pub fn locate(
        &self,
        position: [f64; 3],
        lookup: &Lookup,
    ) -> Result<Option<CellPoint>, GeometryError> {
        let query = self.query(lookup)?;
        Ok(self.locate_checked(position, &query))
    }

    fn locate_checked(&self, position: [f64; 3], query: &Query) -> Option<CellPoint> {
        let u = self.map.lattice(position);
        const REACH: f64 = LIMIT as f64 + 1.0;
        if !u.iter().all(|c| c.abs() <= REACH) {
            return None;
        }
        let own = u.map(floor);
        let part: [f64; 3] = std::array::from_fn(|d| u[d] - own[d] as f64);
        let at = |step: [i32; 3]| std::array::from_fn(|d| own[d] + step[d] + query.shift[d]);
        if let Some(guess) = query.guess
            && self.coordinates[guess] == at([0; 3])
            && self.accepts(query, guess)
        {
            return Some((guess, part));
        }
        let accepted = |step| self.find(at(step)).filter(|&c| self.accepts(query, c));
        if let Some(cell) = accepted([0; 3]) {
            return Some((cell, part));
        }
        let rounding = self.map.rounding(position);
        let steps: [i32; 3] = std::array::from_fn(|d| {
            (part[d] >= 1.0 - rounding[d]) as i32 - (part[d] <= rounding[d]) as i32
        });
        let near = (1..8).filter_map(|n| {
            let step: [i32; 3] =
                std::array::from_fn(|d| if n >> d & 1 == 1 { steps[d] } else { 0 });
            (step != [0; 3]).then(|| accepted(step))?.map(|c| (c, step))
        });
        let (cell, step) = near.min()?;
        let xi = std::array::from_fn(|d| (part[d] - step[d] as f64).clamp(0.0, 1.0));
        Some((cell, xi))
    }

    /// The cell closest to `position`, not further than `max_distance` (which may be infinite):
    /// the one that holds it if there is one, else the closest, of several the smallest.
    ///
    /// # Errors
    /// As [`locate`](Self::locate).
    pub fn closest(
        &self,
        position: [f64; 3],
        max_distance: f64,
        lookup: &Lookup,
    ) -> Result<Option<Nearest>, GeometryError> {
        let query = self.query(lookup)?;
        Ok(self.closest_checked(position, max_distance, &query))
    }

    fn closest_checked(&self, x: [f64; 3], max_distance: f64, query: &Query) -> Option<Nearest> {
        if max_distance.is_nan() || max_distance < 0.0 {
            return None;
        }
        if let Some((cell, xi)) = self.locate_checked(x, query) {
            return Some(Nearest {
                cell,
                xi,
                position: x,
                distance: 0.0,
            });
        }
        let u = self.map.lattice(x);
        let shifted: [f64; 3] = std::array::from_fn(|d| u[d] + query.shift[d] as f64);
        if !shifted.iter().all(|c| c.is_finite()) {
            return None;
        }
        let mut search = Search::new(self, query, shifted, max_distance);
        if let Some(guess) = query.guess {
            search.candidate(guess);
        }
        search.leaves(0, self.leaf_count());
        let (cell, xi) = search.found?;
        let distance = search.best.sqrt();
        (distance <= max_distance && distance.is_finite()).then(|| Nearest {
            cell,
            xi,
            position: self.position(cell, xi),
            distance,
        })
    }

    /// [`locate`](Self::locate) for many points in parallel; `environments` has one for each.
    ///
    /// # Errors
    /// As [`locate`](Self::locate); [`EntryCount`](GeometryError::EntryCount) for a list of
    /// environments of the wrong length.
    pub fn locate_all(
        &self,
        positions: &[[f64; 3]],
        environments: Option<&[u32]>,
        lookup: &Lookup,
    ) -> Result<Vec<Option<CellPoint>>, GeometryError> {
        self.for_all(positions, environments, lookup, |x, query| {
            let found = self.locate_checked(x, query);
            (found, found.map(|f| f.0))
        })
    }

    /// [`closest`](Self::closest) for many points in parallel; `environments` has one for each.
    ///
    /// # Errors
    /// As [`locate_all`](Self::locate_all).
    pub fn closest_all(
        &self,
        positions: &[[f64; 3]],
        max_distance: f64,
        environments: Option<&[u32]>,
        lookup: &Lookup,
    ) -> Result<Vec<Option<Nearest>>, GeometryError> {
        self.for_all(positions, environments, lookup, |x, query| {
            let found = self.closest_checked(x, max_distance, query);
            (found, found.map(|f| f.cell))
        })
    }

    /// Runs a query for each point; the answer to one is the guess for the next in its chunk,
    /// which changes no answer.
    fn for_all<T: Send + Default + Clone>(
        &self,
        positions: &[[f64; 3]],
        environments: Option<&[u32]>,
        lookup: &Lookup,
        one: impl Fn([f64; 3], &Query) -> (T, Option<usize>) + Sync,
    ) -> Result<Vec<T>, GeometryError> {
        const CHUNK: usize = 1024;
        if let Some(list) = environments {
            if list.len() != positions.len() {
                return Err(GeometryError::EntryCount {
                    what: "the list of environments",
                    found: list.len(),
                    of: "points",
                    expected: positions.len(),
                });
            }
            for &environment in list {
                self.environments.check(environment as usize)?;
            }
        }
        let first = environments
            .and_then(|list| list.first())
            .map(|&e| e as usize);
        let environment = lookup.environment.or(first);
        if positions.is_empty() {
            return Ok(Vec::new());
        }
        let query = self.query(&Lookup {
            environment,
            ..*lookup
        })?;
        let mut out = vec![T::default(); positions.len()];
        out.par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(chunk, out)| {
                let mut query = Query { ..query };
                for (i, to) in out.iter_mut().enumerate() {
                    let n = chunk * CHUNK + i;
                    if let Some(list) = environments {
                        query.environment = list[n] as usize;
                        query.shift = self.environments.shifts()[query.environment];
                    }
                    let (answer, cell) = one(positions[n], &query);
                    *to = answer;
                    query.guess = cell.or(query.guess);
                }
            });
        Ok(out)
    }
}

/// A search for the closest cell; distances are squared.
struct Search<'a> {
    cells: &'a VoxelCells,
    query: &'a Query<'a>,
    /// The point, in lattice coordinates of the packed grid.
    at: [f64; 3],
    /// Corners of the box around the environment's cells.
    bounds: [[f64; 3]; 2],
    metric: Metric,
    /// Squared distance in space per squared step across lattice planes of each axis.
    plane: [f64; 3],
    best: f64,
    found: Option<CellPoint>,
}

impl<'a> Search<'a> {
    fn new(cells: &'a VoxelCells, query: &'a Query<'a>, at: [f64; 3], max: f64) -> Search<'a> {
        let inverse = cells.map.inverse();
        let plane = inverse.map(|row| 1.0 / row.iter().map(|v| v * v).sum::<f64>());
        Search {
            cells,
            query,
            at,
            bounds: cells.environments.bounds(query.environment),
            metric: Metric::new(&cells.map),
            plane,
            // Rounding must not exclude a cell at the very distance; the caller checks again.
            best: max * max * (1.0 + 8.0 * f64::EPSILON),
            found: None,
        }
    }

    /// A lower bound on the squared distance to a box of the lattice, infinite if no cell of the
    /// environment can be in it.
    fn bound(&self, low: [f64; 3], size: f64) -> f64 {
        let [first, end] = &self.bounds;
        if (0..3).any(|d| low[d] + size <= first[d] || low[d] >= end[d]) {
            return f64::INFINITY;
        }
        let out: [f64; 3] = std::array::from_fn(|d| {
            (low[d] - self.at[d])
                .max(self.at[d] - (low[d] + size))
                .max(0.0)
        });
        let Metric {
            gram, orthogonal, ..
        } = &self.metric;
        let square = if *orthogonal {
            (0..3).map(|d| gram[d][d] * out[d] * out[d]).sum()
        } else {
            let planes = (0..3).fold(0.0, |b, d| f64::max(b, self.plane[d] * out[d] * out[d]));
            if planes > self.best {
                return planes;
            }
            planes.max(self.tangent_bound(low, size))
        };
        square * (1.0 - 1e-12)
    }

    /// A lower bound on the squared distance to a box of the lattice, close to the distance.
    ///
    /// The squared distance $f(y) = (y - u)^T G (y - u)$ is convex, so it lies above its tangent
    /// plane at any point; some rounds of coordinate descent make it one near the minimum.
    fn tangent_bound(&self, low: [f64; 3], size: f64) -> f64 {
        const ROUNDS: usize = 4;
        let g = &self.metric.gram;
        let high = low.map(|c| c + size);
        let mut step: [f64; 3] =
            std::array::from_fn(|d| self.at[d].clamp(low[d], high[d]) - self.at[d]);
        for _ in 0..ROUNDS {
            for d in 0..3 {
                let (a, b) = ((d + 1) % 3, (d + 2) % 3);
                let free = -(g[d][a] * step[a] + g[d][b] * step[b]) / g[d][d];
                step[d] = free.clamp(low[d] - self.at[d], high[d] - self.at[d]);
            }
        }
        let half: [f64; 3] =
            std::array::from_fn(|r| (0..3).map(|c| g[r][c] * step[c]).sum::<f64>());
        let value: f64 = (0..3).map(|d| step[d] * half[d]).sum();
        let descent = |d: usize| {
            let end = if half[d] > 0.0 { low[d] } else { high[d] };
            half[d] * (end - self.at[d] - step[d])
        };
        value + 2.0 * (descent(0) + descent(1) + descent(2))
    }

    /// Visits up to eight parts in order of their bounds.
    fn visit<P: Copy>(&mut self, parts: &mut [(f64, P)], descend: impl Fn(&mut Self, P)) {
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        for &(bound, part) in parts.iter() {
            if bound > self.best || bound == f64::INFINITY {
                break;
            }
            descend(self, part);
        }
    }

    /// Searches a run of leaves.
    fn leaves(&mut self, begin: usize, end: usize) {
        let codes = self.cells.set.morton();
        if end - begin == 1 {
            return self.inside(begin, [0; 3], 8);
        }
        let level = (63 - (codes[begin] ^ codes[end - 1]).leading_zeros()) / 3;
        let mut parts = [(0.0, (0, 0)); 8];
        let mut count = 0;
        let mut start = begin;
        for child in 0..8 {
            let run = &codes[start..end];
            let stop = start + run.partition_point(|c| c >> (3 * level) & 7 <= child);
            if stop > start {
                let (low, size) = self.octant(start, stop);
                parts[count] = (self.bound(low, size), (start, stop));
                count += 1;
            }
            start = stop;
        }
        self.visit(&mut parts[..count], |search, (a, b)| search.leaves(a, b));
    }

    /// The smallest octant that holds a run of leaves: lowest corner and size in cells.
    fn octant(&self, begin: usize, end: usize) -> ([f64; 3], f64) {
        let keys = self.cells.set.keys();
        let codes = self.cells.set.morton();
        let differ = codes[begin] ^ codes[end - 1];
        let level = (66 - differ.leading_zeros()) / 3;
        let size = 8i64 << level;
        debug_assert_eq!(codes[begin], morton(keys[begin]));
        // Aligned to its size in offset coordinates, as the codes are.
        let zero = corner(0).map(i64::from);
        let low: [i64; 3] = std::array::from_fn(|d| {
            let c = corner(keys[begin])[d] as i64 - zero[d];
            c / size * size + zero[d]
        });
        (low.map(|c| c as f64), size as f64)
    }

    /// Searches a cube of `size` cells of one leaf, at `low` from the leaf's lowest cell.
    fn inside(&mut self, leaf: usize, low: [u8; 3], size: u8) {
        let set = &self.cells.set;
        if size == 1 {
            let bit = (low[0] as usize) << 6 | (low[1] as usize) << 3 | low[2] as usize;
            if let Some(cell) = set.rank(leaf, bit) {
                self.candidate(cell as usize);
            }
            return;
        }
        let base = corner(set.keys()[leaf]);
        let mask = set.mask(leaf);
        let half = size / 2;
        // `half` bits in each of `half` bytes.
        let row = (1u64 << half) - 1;
        let square = (0..half).fold(0, |s, y| s | row << (8 * y));
        let mut parts = [(0.0, [0u8; 3]); 8];
        let mut count = 0;
        for n in 0..8u8 {
            let at = [
                low[0] + (n >> 2) * half,
                low[1] + (n >> 1 & 1) * half,
                low[2] + (n & 1) * half,
            ];
            let pattern = square << (8 * at[1] + at[2]);
            let words = &mask[at[0] as usize..][..half as usize];
            if words.iter().any(|w| w & pattern != 0) {
                let corner = std::array::from_fn(|d| (base[d] + at[d] as i32) as f64);
                parts[count] = (self.bound(corner, half as f64), at);
                count += 1;
            }
        }
        self.visit(&mut parts[..count], |search, at| {
            search.inside(leaf, at, half)
        });
    }

    /// Compares a cell with the best so far.
    fn candidate(&mut self, cell: usize) {
        if !self.cells.accepts(self.query, cell) {
            return;
        }
        let low = self.cells.coordinates[cell].map(f64::from);
        let (square, xi) = self.nearest_in(low);
        let better = match self.found {
            Some((other, _)) => square < self.best || (square == self.best && cell < other),
            None => square <= self.best,
        };
        if better {
            self.best = square;
            self.found = Some((cell, xi));
        }
    }

    /// Squared distance to a cell and the reference coordinates of its closest point.
    fn nearest_in(&self, low: [f64; 3]) -> (f64, [f64; 3]) {
        let (xi, square) = self
            .metric
            .closest(std::array::from_fn(|d| self.at[d] - low[d]), 1.0);
        (square, xi)
    }
}
