//! The sorted cells and the search for the cell that holds a voxel.

use rayon::prelude::*;

use super::error::AdaptiveError;
use super::morton::{MAX, MIN, decode, encode, in_range};
use super::{GeometryError, MAX_LEVEL};

/// With the worst boundary (see `faces`) a cell gives rise to fewer than 72 sides.
const MAX_CELLS: usize = u32::MAX as usize / 72;

/// Disjoint aligned cells, sorted by the code of their lowest voxel.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    keys: Vec<u64>,
    levels: Vec<u8>,
    /// Where the keys of each bucket begin, a bucket being `2^shift` codes from `keys[0]` on.
    buckets: Vec<u32>,
    shift: u32,
}

/// Number of voxels in a cell.
pub fn volume(level: u8) -> u64 {
    1 << (3 * u32::from(level))
}

impl Cells {
    /// Checks and sorts cells given by lowest voxel and level.
    pub fn checked(given: &[([i64; 3], usize)]) -> Result<Cells, GeometryError> {
        if given.is_empty() {
            return Err(GeometryError::NoCells);
        }
        check_count(given.len())?;
        let mut sorted = Vec::with_capacity(given.len());
        for (cell, &(origin, level)) in given.iter().enumerate() {
            if level > MAX_LEVEL {
                return Err(AdaptiveError::Level { cell, level }.into());
            }
            let size = 1i64 << level;
            let level = level as u8;
            let inside = |c: i64| c >= i64::from(MIN) && c + size <= i64::from(MAX);
            if !origin.iter().all(|&c| inside(c)) {
                return Err(AdaptiveError::Range {
                    cell,
                    origin,
                    level,
                }
                .into());
            }
            let origin = origin.map(|c| c as i32);
            if origin.iter().any(|&c| i64::from(c) & (size - 1) != 0) {
                return Err(AdaptiveError::Alignment {
                    cell,
                    origin,
                    level,
                }
                .into());
            }
            sorted.push((encode(origin), cell as u32, level));
        }
        sorted.par_sort_unstable();
        // Intervals nest or are disjoint: if any two overlap, two neighbours do.
        for pair in sorted.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            if b.0 - a.0 < volume(a.2) {
                let (low, high) = if a.1 < b.1 { (a, b) } else { (b, a) };
                return Err(AdaptiveError::Overlap {
                    cells: [low.1 as usize, high.1 as usize],
                    levels: [low.2, high.2],
                    voxel: decode(b.0),
                }
                .into());
            }
        }
        Ok(Cells::from_sorted(
            sorted.iter().map(|s| s.0).collect(),
            sorted.iter().map(|s| s.2).collect(),
        ))
    }

    /// Cells known to be sorted and disjoint.
    pub fn from_sorted(keys: Vec<u64>, levels: Vec<u8>) -> Cells {
        let (first, last) = match (keys.first(), keys.last()) {
            (Some(&first), Some(&last)) => (first, last),
            _ => (0, 0),
        };
        // About one bucket per cell.
        let mut shift = 0;
        while (last - first) >> shift > keys.len() as u64 {
            shift += 1;
        }
        let count = ((last - first) >> shift) as usize + 1;
        let mut buckets = vec![0u32; count + 1];
        for key in &keys {
            buckets[((key - first) >> shift) as usize + 1] += 1;
        }
        for b in 0..count {
            buckets[b + 1] += buckets[b];
        }
        Cells {
            keys,
            levels,
            buckets,
            shift,
        }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub fn levels(&self) -> &[u8] {
        &self.levels
    }

    pub fn level(&self, cell: usize) -> u8 {
        self.levels[cell]
    }

    pub fn origin(&self, cell: usize) -> [i32; 3] {
        decode(self.keys[cell])
    }

    /// Edge length in voxels.
    pub fn size(&self, cell: usize) -> i32 {
        1 << self.levels[cell]
    }

    /// The first code past the cell.
    pub fn end(&self, cell: usize) -> u64 {
        self.keys[cell] + volume(self.levels[cell])
    }

    /// How many keys are smaller than `code`.
    pub fn rank(&self, code: u64) -> usize {
        let Some(&first) = self.keys.first() else {
            return 0;
        };
        if code <= first {
            return 0;
        }
        let bucket = (code - first) >> self.shift;
        if bucket as usize >= self.buckets.len() - 1 {
            return self.keys.len();
        }
        let low = self.buckets[bucket as usize] as usize;
        let high = self.buckets[bucket as usize + 1] as usize;
        low + self.keys[low..high].partition_point(|&key| key < code)
    }

    /// The cell that holds the voxel with this code.
    pub fn find_code(&self, code: u64) -> Option<usize> {
        let cell = self.rank(code + 1).checked_sub(1)?;
        (code < self.end(cell)).then_some(cell)
    }

    /// The cell that holds a voxel.
    pub fn find(&self, voxel: [i32; 3]) -> Option<usize> {
        if !in_range(voxel) {
            return None;
        }
        self.find_code(encode(voxel))
    }

    /// The flagged cells, none of them of level 0, cut into eight.
    pub fn split(&self, flags: &[bool]) -> Result<Cells, GeometryError> {
        let count = self.len() + 7 * flags.iter().filter(|&&f| f).count();
        check_count(count)?;
        let mut keys = Vec::with_capacity(count);
        let mut levels = Vec::with_capacity(count);
        for (cell, &flag) in flags.iter().enumerate() {
            if flag {
                let level = self.levels[cell] - 1;
                keys.extend((0..8).map(|child| self.keys[cell] + child * volume(level)));
                levels.extend([level; 8]);
            } else {
                keys.push(self.keys[cell]);
                levels.push(self.levels[cell]);
            }
        }
        Ok(Cells::from_sorted(keys, levels))
    }

    /// The same cells on a lattice `2^by` times as fine; none if they leave its range.
    /// Levels may exceed the largest.
    pub fn on_finer(&self, by: u32) -> Option<Cells> {
        let fits = |cell: usize| {
            let (low, size) = (self.origin(cell), self.size(cell));
            low.iter().all(|&c| {
                let (low, high) = (i64::from(c) << by, i64::from(c + size) << by);
                low >= i64::from(MIN) && high <= i64::from(MAX)
            })
        };
        if by > 20 || !(0..self.len()).all(fits) {
            return None;
        }
        // In range, the top bits of each doubled coordinate say no more than its sign: order
        // stays.
        let keys = self
            .keys
            .iter()
            .map(|&k| encode(decode(k).map(|c| c << by)));
        let levels = self.levels.iter().map(|&l| l + by as u8);
        Some(Cells::from_sorted(keys.collect(), levels.collect()))
    }

    /// The same cells on a lattice `2^by` times as coarse; all levels are at least `by`.
    pub fn on_coarser(&self, by: u32) -> Cells {
        let keys = self
            .keys
            .iter()
            .map(|&k| encode(decode(k).map(|c| c >> by)));
        let levels = self.levels.iter().map(|&l| l - by as u8);
        Cells::from_sorted(keys.collect(), levels.collect())
    }

    /// Lowest and highest corner of the box around all cells.
    pub fn bounds(&self) -> [[i32; 3]; 2] {
        let mut bounds = [[i32::MAX; 3], [i32::MIN; 3]];
        for cell in 0..self.len() {
            let (low, size) = (self.origin(cell), self.size(cell));
            for d in 0..3 {
                bounds[0][d] = bounds[0][d].min(low[d]);
                bounds[1][d] = bounds[1][d].max(low[d] + size);
            }
        }
        bounds
    }
}

pub fn check_count(count: usize) -> Result<(), GeometryError> {
    if count > MAX_CELLS {
        return Err(AdaptiveError::TooManyCells {
            count,
            limit: MAX_CELLS,
        }
        .into());
    }
    Ok(())
}

/// Distinct keys in ascending order, and the place of each given key among them.
pub fn distinct<K: Ord + Copy + Send + Sync>(keys: Vec<K>) -> (Vec<K>, Vec<u32>) {
    let mut sorted = keys.clone();
    sorted.par_sort_unstable();
    sorted.dedup();
    let places = keys
        .par_iter()
        .with_min_len(4096)
        .map(|key| sorted.partition_point(|other| other < key) as u32)
        .collect();
    (sorted, places)
}
