//! Cells chosen by a refinement field.

use rayon::prelude::*;

use super::cells::Cells;
use super::{AdaptiveError, GeometryError, MAX_LEVEL, VoxelMap};

/// A small generator of well-mixed numbers (splitmix64, Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    /// The stream of a voxel: the same on every machine and in any order of the voxels.
    fn new(level: usize, voxel: [i64; 3]) -> Random {
        let mut random = Random(level as u64);
        for c in voxel {
            random.0 = random.next() ^ c as u64;
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Cuts the coarse voxels as the field asks; `map` is that of the finest lattice.
pub fn cells(
    coarse: &[[i32; 3]],
    map: &VoxelMap,
    levels: usize,
    samples: usize,
    field: &(impl Fn([f64; 3]) -> f64 + Sync),
) -> Result<Cells, GeometryError> {
    if !(1..=MAX_LEVEL + 1).contains(&levels) {
        return Err(AdaptiveError::LevelCount { levels }.into());
    }
    if samples == 0 {
        return Err(GeometryError::ZeroCount {
            what: "the number of samples per voxel",
        });
    }
    // The level a voxel asks for; none if the field is defined nowhere in it.
    let target = |level: usize, voxel: [i64; 3]| {
        let size = (1u64 << level) as f64;
        let mut random = Random::new(level, voxel);
        let mut least: Option<f64> = None;
        for _ in 0..samples {
            let r = std::array::from_fn(|d| (voxel[d] as f64 + random.unit()) * size);
            let value = field(map.position(r));
            if value >= 0.0 {
                least = Some(least.map_or(value, |least| least.min(value)));
            }
        }
        least.map(|least| ((least * levels as f64) as usize).min(levels - 1))
    };
    let mut done = Vec::new();
    let mut open: Vec<[i64; 3]> = coarse.iter().map(|v| v.map(i64::from)).collect();
    // Invalid coarse cells are reported under their own numbers.
    let all: Vec<_> = open
        .iter()
        .map(|v| (lowest(*v, levels - 1), levels - 1))
        .collect();
    Cells::checked(&all)?;
    for level in (0..levels).rev() {
        let targets: Vec<Option<usize>> = open.par_iter().map(|&v| target(level, v)).collect();
        let mut next = Vec::new();
        for (&voxel, target) in open.iter().zip(targets) {
            match target {
                None => {}
                Some(target) if target < level => {
                    next.extend((0..8).map(|child| {
                        std::array::from_fn(|d| 2 * voxel[d] + (child >> (2 - d) & 1))
                    }))
                }
                Some(_) => done.push((lowest(voxel, level), level)),
            }
        }
        super::cells::check_count(done.len() + next.len())?;
        open = next;
    }
    Cells::checked(&done)
}

/// The lowest finest voxel of a voxel of some level.
pub fn lowest(voxel: [i64; 3], level: usize) -> [i64; 3] {
    voxel.map(|c| c << level)
}
