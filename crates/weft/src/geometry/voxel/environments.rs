//! Independent environments packed into one lattice.
//!
//! Each environment's voxels are moved along x by an offset of its own, into a slab that no
//! other environment touches; positions subtract it again, so that environments overlap in
//! space. The environment of a voxel follows from its x coordinate alone.

use super::leaf::LIMIT;
use crate::geometry::GeometryError;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Environments {
    shifts: Vec<[i32; 3]>,
    /// First x of the slab of each environment with voxels, ascending, and which it is.
    slabs: Vec<(i32, u32)>,
}

/// Range of x of the voxels of an environment; none if `low > high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub low: i32,
    pub high: i32,
}

impl Extent {
    pub const NONE: Extent = Extent {
        low: i32::MAX,
        high: i32::MIN,
    };

    pub fn add(&mut self, x: i32) {
        self.low = self.low.min(x);
        self.high = self.high.max(x);
    }

    pub fn join(&mut self, other: Extent) {
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

impl Environments {
    pub fn single() -> Environments {
        Environments {
            shifts: vec![[0; 3]],
            slabs: Vec::new(),
        }
    }

    /// Makes it one environment again.
    pub fn reset(&mut self) {
        self.shifts.clear();
        self.shifts.push([0; 3]);
        self.slabs.clear();
    }

    /// Packs slabs side by side with `guard` vacant layers between; the first with voxels stays
    /// where it is. Reuses the memory.
    pub fn pack(&mut self, extents: &[Extent], guard: i32) -> Result<(), GeometryError> {
        self.shifts.clear();
        self.slabs.clear();
        let mut next = None;
        for (number, extent) in extents.iter().enumerate() {
            if extent.low > extent.high {
                self.shifts.push([0; 3]);
                continue;
            }
            let start = next.unwrap_or(extent.low as i64);
            let end = start + (extent.high as i64 - extent.low as i64);
            if end >= LIMIT as i64 {
                return Err(GeometryError::VoxelRange {
                    what: "environment",
                    index: number,
                    voxel: [end as f64, 0.0, 0.0],
                    limit: LIMIT,
                });
            }
            self.shifts.push([(start - extent.low as i64) as i32, 0, 0]);
            self.slabs.push((start as i32, number as u32));
            next = Some(end + 1 + guard as i64);
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.shifts.len()
    }

    pub fn shifts(&self) -> &[[i32; 3]] {
        &self.shifts
    }

    pub fn check(&self, environment: usize) -> Result<(), GeometryError> {
        if environment < self.count() {
            return Ok(());
        }
        Err(GeometryError::EnvironmentIndex {
            environment,
            count: self.count(),
        })
    }

    pub fn shift(&self, environment: usize) -> Result<[i32; 3], GeometryError> {
        self.check(environment)?;
        Ok(self.shifts[environment])
    }

    /// Environment of a voxel (or a vertex) of the grid, by its x coordinate.
    #[inline]
    pub fn at(&self, x: i32) -> usize {
        match self.slabs.partition_point(|&(start, _)| start <= x) {
            0 => 0,
            n => self.slabs[n - 1].1 as usize,
        }
    }

    /// What the voxels at `x` were moved by.
    #[inline]
    pub fn shift_at(&self, x: i32) -> [i32; 3] {
        self.shifts[self.at(x)]
    }

    /// The x range that voxels of an environment can have, half open.
    pub fn slab(&self, environment: usize) -> [f64; 2] {
        if self.slabs.is_empty() {
            return [f64::NEG_INFINITY, f64::INFINITY];
        }
        match self.slabs.iter().position(|s| s.1 as usize == environment) {
            None => [0.0; 2],
            Some(n) => {
                let end = self.slabs.get(n + 1).map_or(f64::INFINITY, |s| s.0 as f64);
                [self.slabs[n].0 as f64, end]
            }
        }
    }
}
