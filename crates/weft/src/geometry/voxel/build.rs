//! From points to cells, in memory that is used again.
//!
//! Each task of the pool gathers the voxels of its share of the points; the gathers are merged
//! along the Morton curve. The set of voxels, and so everything made from it, does not depend on
//! how the points were shared out.

use std::sync::Arc;

use rayon::prelude::*;

use super::cells::{MAX_CELLS, VoxelCells, in_range};
use super::environments::{Extent, Packing};
use super::leaf::{Entry, Gather, LIMIT};
use super::place::VoxelMap;
use crate::geometry::GeometryError;

/// Points from which several tasks pay.
const PARALLEL: usize = 1 << 13;

/// What a build from points did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildReport {
    /// Number of cells.
    pub cells: usize,
    /// Number of leaves of 8³ cells.
    pub leaves: usize,
    /// Whether the cells are those from before; topology and numbering are then the same objects.
    pub unchanged: bool,
    /// Points that lie in a cell.
    pub points: usize,
    /// Points left out because a coordinate was NaN or infinite.
    pub skipped_not_finite: usize,
    /// Points left out because the mask was false.
    pub skipped_inactive: usize,
}

/// Where points come from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub points: &'a [[f64; 3]],
    pub mask: Option<&'a [bool]>,
    pub environments: Option<Assignment<'a>>,
}

/// Which points belong to which environment.
#[derive(Clone, Copy)]
pub(super) struct Assignment<'a> {
    /// Environment of each point; all in the only one if `None`.
    pub list: Option<&'a [u32]>,
    /// Number of environments.
    pub count: usize,
    /// Where they go.
    pub packing: &'a Packing,
}

impl Assignment<'_> {
    #[inline]
    fn of(&self, point: usize) -> u32 {
        self.list.map_or(0, |list| list[point])
    }
}

/// Limits of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoxelCapacity {
    /// Most cells.
    pub cells: usize,
    /// Most leaves of 8³ cells.
    pub leaves: usize,
}

/// One task's share.
#[derive(Debug, Default)]
struct Share {
    gather: Gather,
    extents: Vec<Extent>,
    used: usize,
    not_finite: usize,
    inactive: usize,
    /// First point that cannot be taken, and its voxel or environment.
    refused: Option<(usize, Refusal)>,
}

#[derive(Clone, Copy, Debug)]
enum Refusal {
    Range([f64; 3]),
    Environment(u32),
}

/// Scratch memory of rebuilds.
#[derive(Debug, Default)]
pub(super) struct Workshop {
    shares: Vec<Share>,
    extents: Vec<Extent>,
    order: Vec<Entry>,
    /// Cells of an earlier state, to be overwritten.
    spare: Option<Arc<VoxelCells>>,
}

impl Source<'_> {
    fn check(&self) -> Result<(), GeometryError> {
        let n = self.points.len();
        if let Some(mask) = self.mask {
            check_entries("the mask", mask.len(), "points", n)?;
        }
        match self.environments {
            Some(Assignment {
                list,
                count,
                packing,
            }) => {
                let listed = list.map_or(n, |list| list.len());
                check_environments("points", n, listed, count, packing)
            }
            None => Ok(()),
        }
    }
}

fn check_entries(
    what: &'static str,
    found: usize,
    of: &'static str,
    expected: usize,
) -> Result<(), GeometryError> {
    if found == expected {
        return Ok(());
    }
    Err(GeometryError::EntryCount {
        what,
        found,
        of,
        expected,
    })
}

/// Checks what packs environments: the length of their list, their number and places.
pub(super) fn check_environments(
    of: &'static str,
    expected: usize,
    listed: usize,
    count: usize,
    packing: &Packing,
) -> Result<(), GeometryError> {
    check_entries("the list of environments", listed, of, expected)?;
    if count == 0 {
        return Err(GeometryError::ZeroCount {
            what: "the number of environments",
        });
    }
    if let Some(offsets) = &packing.offsets {
        check_entries("the list of offsets", offsets.len(), "environments", count)?;
    }
    packing.check()
}

/// The voxel that holds a point, or why there is none.
#[inline]
fn voxel_of(map: &VoxelMap, position: [f64; 3]) -> Result<[i32; 3], [f64; 3]> {
    let u = map.lattice(position);
    const RANGE: std::ops::Range<f64> = -LIMIT as f64..LIMIT as f64;
    if u.iter().all(|c| RANGE.contains(c)) {
        Ok(u.map(floor))
    } else {
        Err(u.map(f64::floor))
    }
}

/// Largest integer not above a number within the range of `i32`.
#[inline]
pub(super) fn floor(u: f64) -> i32 {
    // Truncation is one instruction everywhere; `f64::floor` is a call on older processors.
    let cut = u as i32;
    cut - (u < cut as f64) as i32
}

impl Share {
    fn clear(&mut self) {
        self.used = 0;
        self.not_finite = 0;
        self.inactive = 0;
        self.refused = None;
        self.gather.clear();
    }

    fn refuse(&mut self, point: usize, why: Refusal) {
        self.refused.get_or_insert((point, why));
    }

    /// Calls `f(self, point, voxel)` for each point of a part that counts.
    #[inline]
    fn each(
        &mut self,
        source: &Source,
        map: &VoxelMap,
        part: std::ops::Range<usize>,
        f: impl Fn(&mut Share, usize, [i32; 3]),
    ) {
        for n in part {
            if source.mask.is_some_and(|mask| !mask[n]) {
                self.inactive += 1;
                continue;
            }
            let position = source.points[n];
            match voxel_of(map, position) {
                Ok(voxel) => {
                    self.used += 1;
                    f(self, n, voxel);
                }
                Err(_) if position.iter().any(|c| !c.is_finite()) => self.not_finite += 1,
                Err(voxel) => self.refuse(n, Refusal::Range(voxel)),
            }
        }
    }
}

impl Workshop {
    /// Makes the cells of `source`, as an error or as `(cells, report)`; the cells are nobody
    /// else's yet. `current` is what they are compared with.
    pub fn build(
        &mut self,
        source: &Source,
        map: &VoxelMap,
        capacity: Option<VoxelCapacity>,
        current: Option<&VoxelCells>,
    ) -> Result<(Arc<VoxelCells>, RebuildReport), GeometryError> {
        source.check()?;
        let mut target = self.spare();
        let result = match Arc::get_mut(&mut target) {
            Some(cells) => {
                cells.map = *map;
                self.fill(source, cells, capacity, current)
            }
            None => unreachable!("`spare` returns cells with one owner"),
        };
        match result {
            Ok(report) => Ok((target, report)),
            Err(error) => {
                self.spare = Some(target);
                Err(error)
            }
        }
    }

    /// Cells with one owner.
    fn spare(&mut self) -> Arc<VoxelCells> {
        if let Some(mut spare) = self.spare.take()
            && Arc::get_mut(&mut spare).is_some()
        {
            return spare;
        }
        Arc::new(VoxelCells::vacant(VoxelMap::IDENTITY))
    }

    /// Takes back cells that are no longer needed; their tables are released at once. If someone
    /// else holds them, they are theirs.
    pub fn retire(&mut self, mut cells: Arc<VoxelCells>) {
        if let Some(inner) = Arc::get_mut(&mut cells) {
            inner.forget_tables();
            self.spare = Some(cells);
        }
    }

    fn fill(
        &mut self,
        source: &Source,
        target: &mut VoxelCells,
        capacity: Option<VoxelCapacity>,
        current: Option<&VoxelCells>,
    ) -> Result<RebuildReport, GeometryError> {
        let n = source.points.len();
        let tasks = if n < PARALLEL {
            1
        } else {
            rayon::current_num_threads()
        };
        let size = n.div_ceil(tasks).max(1);
        let part = |task: usize| (task * size).min(n)..((task + 1) * size).min(n);
        if self.shares.len() < tasks {
            self.shares.resize_with(tasks, Share::default);
        }
        let map = target.map;

        if let Some(assigned) = source.environments {
            let Assignment { count, packing, .. } = assigned;
            self.each_share(tasks, |task, share| {
                share.clear();
                share.extents.clear();
                share.extents.resize(count, Extent::NONE);
                share.each(source, &map, part(task), |share, n, voxel| {
                    match share.extents.get_mut(assigned.of(n) as usize) {
                        Some(extent) => extent.add(voxel),
                        None => share.refuse(n, Refusal::Environment(assigned.of(n))),
                    }
                });
            });
            self.refusal(tasks, count)?;
            self.extents.clear();
            self.extents.resize(count, Extent::NONE);
            for share in &self.shares[..tasks] {
                let pairs = self.extents.iter_mut().zip(&share.extents);
                pairs.for_each(|(all, &one)| all.join(one));
            }
            target.environments.pack(&self.extents, packing)?;
            let environments = &target.environments;
            self.each_share(tasks, |task, share| {
                share.clear();
                share.each(source, &map, part(task), |share, n, voxel| {
                    // No overflow: packing checked the range of each environment.
                    let shift = environments.shifts()[assigned.of(n) as usize];
                    share
                        .gather
                        .insert(std::array::from_fn(|d| voxel[d] + shift[d]));
                });
            });
        } else {
            target.environments.reset();
            self.each_share(tasks, |task, share| {
                share.clear();
                share.each(source, &map, part(task), |share, _, voxel| {
                    share.gather.insert(voxel);
                });
            });
        }
        self.refusal(tasks, target.environments.count())?;

        let shares = &self.shares[..tasks];
        let sum = |count: fn(&Share) -> usize| shares.iter().map(count).sum::<usize>();
        let (not_finite, inactive) = (sum(|s| s.not_finite), sum(|s| s.inactive));
        let set = &mut target.set;
        set.fill(tasks, |n| &shares[n].gather, &mut self.order);
        let (cells, leaves) = (set.tally(), set.keys().len());
        if cells == 0 {
            return Err(GeometryError::NoActiveCell {
                found: format!("of {n} points {not_finite} are not finite and {inactive} inactive"),
            });
        }
        check_capacity(cells, leaves, capacity)?;
        let unchanged = current.is_some_and(|current| {
            current.set.same_points(set) && current.environments == target.environments
        });
        if !unchanged {
            target.finish();
        }
        Ok(RebuildReport {
            cells: cells as usize,
            leaves,
            unchanged,
            points: sum(|s| s.used),
            skipped_not_finite: not_finite,
            skipped_inactive: inactive,
        })
    }

    fn each_share(&mut self, tasks: usize, f: impl Fn(usize, &mut Share) + Sync) {
        match &mut self.shares[..tasks] {
            [one] => f(0, one),
            all => {
                let all = all.par_iter_mut().with_max_len(1).enumerate();
                all.for_each(|(task, share)| f(task, share));
            }
        }
    }

    /// The refusal of the first point that was refused.
    fn refusal(&self, tasks: usize, count: usize) -> Result<(), GeometryError> {
        // Shares are consecutive parts.
        let first = self.shares[..tasks].iter().find_map(|share| share.refused);
        match first {
            None => Ok(()),
            Some((index, Refusal::Range(voxel))) => Err(GeometryError::VoxelRange {
                what: "point",
                index,
                voxel,
                limit: LIMIT,
            }),
            Some((_, Refusal::Environment(environment))) => Err(GeometryError::EnvironmentIndex {
                environment: environment as usize,
                count,
            }),
        }
    }
}

/// Checks the number of cells against what can be numbered and what was allowed.
pub(super) fn check_capacity(
    cells: u64,
    leaves: usize,
    capacity: Option<VoxelCapacity>,
) -> Result<(), GeometryError> {
    if cells > MAX_CELLS {
        return Err(GeometryError::TooMany {
            what: "cells",
            count: cells as u128,
            limit: MAX_CELLS as u128,
        });
    }
    let Some(capacity) = capacity else {
        return Ok(());
    };
    let pairs = [
        ("cells", cells, capacity.cells),
        ("leaves", leaves as u64, capacity.leaves),
    ];
    for (what, needed, capacity) in pairs {
        if needed > capacity as u64 {
            return Err(GeometryError::VoxelCapacity {
                what,
                needed,
                capacity: capacity as u64,
            });
        }
    }
    Ok(())
}

/// The gather of voxels given by coordinates.
pub(super) fn gather_voxels(
    what: &'static str,
    voxels: impl Iterator<Item = [i32; 3]>,
) -> Result<Gather, GeometryError> {
    let mut gather = Gather::new();
    for (index, voxel) in voxels.enumerate() {
        if !in_range(voxel) {
            return Err(GeometryError::VoxelRange {
                what,
                index,
                voxel: voxel.map(f64::from),
                limit: LIMIT,
            });
        }
        gather.insert(voxel);
    }
    Ok(gather)
}
