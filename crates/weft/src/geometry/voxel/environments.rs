//! Independent environments packed into one lattice.
//!
//! Each environment's voxels are moved by an offset of its own to where a box around them is
//! clear of all others; positions subtract it again, so that environments overlap in space. The
//! environment of a voxel, or of a vertex, is the one whose box it lies in.

use super::leaf::LIMIT;
use crate::geometry::GeometryError;

/// Where environments go.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packing {
    /// Vacant layers between them, at least 1.
    pub guard: i32,
    /// What the voxels of each are moved by; side by side along x if `None`.
    pub offsets: Option<Vec<[i32; 3]>>,
}

impl Packing {
    pub fn side_by_side(guard: i32) -> Packing {
        Packing {
            guard,
            offsets: None,
        }
    }

    pub fn check(&self) -> Result<(), GeometryError> {
        if !(1..=1 << 20).contains(&self.guard) {
            return Err(GeometryError::EnvironmentGuard { guard: self.guard });
        }
        // Larger ones move every voxel out of range.
        let far = |o: &[i32; 3]| o.iter().any(|c| !(-2 * LIMIT..=2 * LIMIT).contains(c));
        let offsets = self.offsets.as_deref().unwrap_or_default();
        match offsets.iter().position(far) {
            None => Ok(()),
            Some(index) => Err(GeometryError::VoxelRange {
                what: "the offset of environment",
                index,
                voxel: offsets[index].map(f64::from),
                limit: 2 * LIMIT,
            }),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Environments {
    shifts: Vec<[i32; 3]>,
    /// The voxels of each environment lie in its box of the packed lattice.
    boxes: Vec<Extent>,
    /// The environments with voxels, ascending along `axis`; none in an ordinary grid.
    order: Vec<Entry>,
    axis: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    /// Lower end of its box along the axis.
    low: i32,
    /// Upper end of its box and of those of all entries before.
    reach: i32,
    environment: u32,
}

/// A box of voxels, both ends included; none if `low > high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    low: [i32; 3],
    high: [i32; 3],
}

impl Extent {
    pub const NONE: Extent = Extent {
        low: [i32::MAX; 3],
        high: [i32::MIN; 3],
    };

    #[inline]
    pub fn add(&mut self, voxel: [i32; 3]) {
        self.join(Extent {
            low: voxel,
            high: voxel,
        });
    }

    #[inline]
    pub fn join(&mut self, other: Extent) {
        for d in 0..3 {
            self.low[d] = self.low[d].min(other.low[d]);
            self.high[d] = self.high[d].max(other.high[d]);
        }
    }

    fn is_none(&self) -> bool {
        self.low[0] > self.high[0]
    }

    fn holds(&self, voxel: [i32; 3]) -> bool {
        (0..3).all(|d| (self.low[d]..=self.high[d]).contains(&voxel[d]))
    }

    fn holds_vertex(&self, vertex: [i32; 3]) -> bool {
        (0..3).all(|d| self.low[d] <= vertex[d] && vertex[d] - 1 <= self.high[d])
    }

    /// The box moved, or its first corner that leaves the lattice.
    fn moved(&self, by: [i64; 3]) -> Result<Extent, [f64; 3]> {
        let [low, high] = [self.low, self.high]
            .map(|corner| std::array::from_fn::<i64, 3, _>(|d| i64::from(corner[d]) + by[d]));
        const RANGE: std::ops::Range<i64> = -(LIMIT as i64)..LIMIT as i64;
        match [low, high]
            .iter()
            .find(|at| !at.iter().all(|c| RANGE.contains(c)))
        {
            Some(outside) => Err(outside.map(|c| c as f64)),
            None => Ok(Extent {
                low: low.map(|c| c as i32),
                high: high.map(|c| c as i32),
            }),
        }
    }

    /// Vacant layers to another box, along the axis where there are most.
    fn gap(&self, other: &Extent) -> i32 {
        let along = |d: usize| {
            let after = other.low[d] - self.high[d];
            after.max(self.low[d] - other.high[d]) - 1
        };
        along(0).max(along(1)).max(along(2))
    }
}

impl Environments {
    pub fn single() -> Environments {
        Environments {
            shifts: vec![[0; 3]],
            boxes: Vec::new(),
            order: Vec::new(),
            axis: 0,
        }
    }

    /// Makes it one environment again.
    pub fn reset(&mut self) {
        self.shifts.clear();
        self.shifts.push([0; 3]);
        self.boxes.clear();
        self.order.clear();
        self.axis = 0;
    }

    /// Moves environments with voxels in these boxes to their places, which must be `guard`
    /// layers apart. Side by side, the first with voxels stays where it is. Reuses the memory.
    pub fn pack(&mut self, extents: &[Extent], packing: &Packing) -> Result<(), GeometryError> {
        self.shifts.clear();
        self.boxes.clear();
        self.order.clear();
        self.axis = 0;
        let mut next = None;
        for (number, extent) in extents.iter().enumerate() {
            let shift = match &packing.offsets {
                Some(offsets) => offsets[number].map(i64::from),
                None if extent.is_none() => [0; 3],
                None => [
                    next.map_or(0, |start| start - i64::from(extent.low[0])),
                    0,
                    0,
                ],
            };
            let mut placed = Extent::NONE;
            if !extent.is_none() {
                placed = extent
                    .moved(shift)
                    .map_err(|voxel| GeometryError::VoxelRange {
                        what: "environment",
                        index: number,
                        voxel,
                        limit: LIMIT,
                    })?;
                next = Some(i64::from(placed.high[0]) + 1 + i64::from(packing.guard));
                self.order.push(Entry {
                    low: 0,
                    reach: 0,
                    environment: number as u32,
                });
            }
            // Within three times the range, see `Packing::check`.
            self.shifts.push(shift.map(|c| c as i32));
            self.boxes.push(placed);
        }
        if packing.offsets.is_some() {
            self.axis = self.longest();
        }
        self.sort();
        self.check_gaps(packing.guard)
    }

    /// The axis along which the boxes lie side by side most.
    fn longest(&self) -> usize {
        let places = |axis: usize| {
            let boxes = self.boxes.iter().filter(|b| !b.is_none());
            let [mut low, mut high, mut lengths] = [f64::INFINITY, f64::NEG_INFINITY, 1.0];
            for b in boxes {
                low = low.min(f64::from(b.low[axis]));
                high = high.max(f64::from(b.low[axis]));
                lengths += f64::from(b.high[axis]) - f64::from(b.low[axis]) + 1.0;
            }
            (high - low) / lengths
        };
        let places = [0, 1, 2].map(places);
        (1..3).fold(0, |best, d| if places[d] > places[best] { d } else { best })
    }

    fn sort(&mut self) {
        let (boxes, axis) = (&self.boxes, self.axis);
        for entry in &mut self.order {
            let own = &boxes[entry.environment as usize];
            (entry.low, entry.reach) = (own.low[axis], own.high[axis]);
        }
        self.order.sort_unstable_by_key(|e| (e.low, e.environment));
        let mut reach = i32::MIN;
        for entry in &mut self.order {
            reach = reach.max(entry.reach);
            entry.reach = reach;
        }
    }

    fn check_gaps(&self, guard: i32) -> Result<(), GeometryError> {
        for (n, entry) in self.order.iter().enumerate() {
            let own = &self.boxes[entry.environment as usize];
            let near = self.order[..n].iter().rev();
            for before in near.take_while(|before| entry.low - before.reach - 1 < guard) {
                let other = &self.boxes[before.environment as usize];
                if own.gap(other) < guard {
                    return Err(GeometryError::EnvironmentOverlap {
                        environments: [before, entry].map(|e| e.environment as usize),
                        voxels: [other, own].map(|b| [b.low, b.high]),
                        guard,
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether it is an ordinary grid, of one environment that was not moved.
    pub fn is_single(&self) -> bool {
        self.order.is_empty()
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

    /// Environment of a voxel or a vertex of the grid.
    #[inline]
    pub fn at(&self, point: [i32; 3]) -> usize {
        let x = point[self.axis];
        let begun = self.order.partition_point(|e| e.low <= x);
        let near = self.order[..begun].iter().rev();
        // A vertex is at most one past its box.
        near.take_while(|e| e.reach >= x - 1)
            .map(|e| e.environment as usize)
            .find(|&e| self.boxes[e].holds_vertex(point))
            .unwrap_or(0)
    }

    /// What a voxel or a vertex of the grid was moved by.
    #[inline]
    pub fn shift_at(&self, point: [i32; 3]) -> [i32; 3] {
        self.shifts[self.at(point)]
    }

    /// Whether a voxel of the packed lattice would belong to an environment.
    #[inline]
    pub fn holds(&self, environment: usize, voxel: [i32; 3]) -> bool {
        self.is_single() || self.boxes[environment].holds(voxel)
    }

    /// Corners of the box that voxels of an environment fill at most.
    pub fn bounds(&self, environment: usize) -> [[f64; 3]; 2] {
        if self.is_single() {
            return [[f64::NEG_INFINITY; 3], [f64::INFINITY; 3]];
        }
        let own = &self.boxes[environment];
        [own.low.map(f64::from), own.high.map(|c| f64::from(c) + 1.0)]
    }
}
