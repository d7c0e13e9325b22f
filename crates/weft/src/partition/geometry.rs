//! [`GeometryPartition`]: the cells of one part of a geometry, its sides and its frontier.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::slots::{Slots, reserve};
use super::{NULL, PartitionError};
use crate::geometry::{Geometry, Topology};

/// How a partition chooses its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionRule {
    /// All cells.
    Whole,
    /// A run of cells of one length in every part (shorter at the end).
    Linear,
    /// Those a mask selects.
    Mask,
    /// Those an array of owners gives to the part.
    Owner,
}

impl PartitionRule {
    fn name(self) -> &'static str {
        match self {
            PartitionRule::Whole => "whole",
            PartitionRule::Linear => "linear",
            PartitionRule::Mask => "mask",
            PartitionRule::Owner => "owner",
        }
    }
}

/// Fixed numbers of slots of a bounded partition, [`NULL`] in those not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Slots for cells.
    pub cells: usize,
    /// Slots for each list of sides: all, boundary, frontier. With 0 there are no lists of sides,
    /// and leaving them out is no overflow.
    pub sides: usize,
}

/// The largest numbers that a bounded partition had no room for, since it was made or cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Cells needed; 0 if there always was room.
    pub cells: usize,
    /// Sides needed in the longest list; 0 if there always was room.
    pub sides: usize,
}

/// Owner of each cell.
#[derive(Clone, Debug)]
enum Owners {
    /// Part `cell / length`.
    Runs(usize),
    Listed(Vec<u32>),
}

impl Owners {
    fn of(&self, cell: usize) -> u32 {
        match self {
            Owners::Runs(length) => (cell / length) as u32,
            Owners::Listed(owners) => owners[cell],
        }
    }

    /// Runs of the length that fits the topology.
    fn on(self, topology: &Topology, parts: u32) -> Owners {
        match self {
            Owners::Runs(_) => {
                let length = topology.cell_count().div_ceil(parts as usize);
                Owners::Runs(length.max(1))
            }
            listed => listed,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Sides {
    owned: Slots,
    boundary: Slots,
    frontier: Slots,
}

/// The cells of one part of a geometry.
///
/// Cells have local indices in ascending order of their numbers. A part owns the sides whose inner
/// cell it owns; its *frontier* are the sides with exactly one of two cells in the part, whoever
/// owns them. All lists are ascending.
///
/// The tables describe the topology that the geometry had when the partition was made or last
/// rebuilt.
#[derive(Clone, Debug)]
pub struct GeometryPartition {
    geometry: Arc<dyn Geometry>,
    topology: Arc<Topology>,
    rule: PartitionRule,
    rank: u32,
    parts: u32,
    owners: Owners,
    cells: Slots,
    local: Vec<u32>,
    sides: Sides,
    capacity: Option<Capacity>,
    overflow: Overflow,
    /// Which contents these are: no others of this process have the number.
    contents: u64,
}

fn check_rank(rank: u32, parts: u32) -> Result<(), PartitionError> {
    match parts {
        0 => Err(PartitionError::NoParts),
        _ if rank < parts => Ok(()),
        _ => Err(PartitionError::Rank { rank, parts }),
    }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), PartitionError> {
    if expected == found {
        return Ok(());
    }
    Err(PartitionError::Length {
        what,
        expected,
        found,
    })
}

fn check_owners(owners: &[u32], parts: u32) -> Result<(), PartitionError> {
    match owners.iter().position(|&owner| owner >= parts) {
        Some(cell) => Err(PartitionError::Owner {
            cell,
            owner: owners[cell],
            parts,
        }),
        None => Ok(()),
    }
}

impl GeometryPartition {
    fn new(
        geometry: Arc<dyn Geometry>,
        rule: PartitionRule,
        [rank, parts]: [u32; 2],
        owners: Owners,
    ) -> Result<GeometryPartition, PartitionError> {
        check_rank(rank, parts)?;
        let topology = geometry.topology();
        let mut partition = GeometryPartition {
            geometry,
            topology: topology.clone(),
            rule,
            rank,
            parts,
            owners: Owners::Runs(1),
            cells: Slots::default(),
            local: Vec::new(),
            sides: Sides::default(),
            capacity: None,
            overflow: Overflow::default(),
            contents: 0,
        };
        partition.owners = owners.on(&topology, parts);
        partition.reserve(&topology)?;
        partition.fill();
        Ok(partition)
    }

    /// All cells as one part.
    ///
    /// # Errors
    /// [`Memory`](PartitionError::Memory).
    pub fn whole(geometry: Arc<dyn Geometry>) -> Result<GeometryPartition, PartitionError> {
        GeometryPartition::new(geometry, PartitionRule::Whole, [0, 1], Owners::Runs(1))
    }

    /// Part `rank` of `parts` runs of ⌈cells / parts⌉ cells each; the last runs may be shorter or
    /// empty.
    ///
    /// # Errors
    /// [`NoParts`](PartitionError::NoParts), [`Rank`](PartitionError::Rank),
    /// [`Memory`](PartitionError::Memory).
    pub fn linear(
        geometry: Arc<dyn Geometry>,
        rank: u32,
        parts: u32,
    ) -> Result<GeometryPartition, PartitionError> {
        check_rank(rank, parts)?;
        let runs = Owners::Runs(1);
        GeometryPartition::new(geometry, PartitionRule::Linear, [rank, parts], runs)
    }

    /// The cells whose entry in `mask` is true, as part 0 of two; the others are part 1, which
    /// [`complement`](Self::complement) gives.
    ///
    /// # Errors
    /// [`Length`](PartitionError::Length) unless there is one entry for each cell,
    /// [`Memory`](PartitionError::Memory).
    pub fn by_mask(
        geometry: Arc<dyn Geometry>,
        mask: &[bool],
    ) -> Result<GeometryPartition, PartitionError> {
        check_length("mask", geometry.topology().cell_count(), mask.len())?;
        let owners = mask.iter().map(|&inside| u32::from(!inside)).collect();
        let owners = Owners::Listed(owners);
        GeometryPartition::new(geometry, PartitionRule::Mask, [0, 2], owners)
    }

    /// The cells that `owners` gives to part `rank` of `parts`.
    ///
    /// # Errors
    /// [`NoParts`](PartitionError::NoParts), [`Rank`](PartitionError::Rank),
    /// [`Length`](PartitionError::Length) unless there is one owner for each cell,
    /// [`Owner`](PartitionError::Owner) for one that does not exist,
    /// [`Memory`](PartitionError::Memory).
    pub fn by_owner(
        geometry: Arc<dyn Geometry>,
        owners: &[u32],
        rank: u32,
        parts: u32,
    ) -> Result<GeometryPartition, PartitionError> {
        check_rank(rank, parts)?;
        check_length("owners", geometry.topology().cell_count(), owners.len())?;
        check_owners(owners, parts)?;
        let owners = Owners::Listed(owners.to_vec());
        GeometryPartition::new(geometry, PartitionRule::Owner, [rank, parts], owners)
    }

    /// The other part of a partition by mask.
    ///
    /// # Errors
    /// [`Rule`](PartitionError::Rule) if the partition was not made by mask,
    /// [`Memory`](PartitionError::Memory).
    pub fn complement(&self) -> Result<GeometryPartition, PartitionError> {
        self.expect(PartitionRule::Mask, "its complement")?;
        let owners = self.owners.clone();
        let rank = [1 - self.rank, 2];
        GeometryPartition::new(self.geometry.clone(), PartitionRule::Mask, rank, owners)
    }

    /// The same part with fixed numbers of slots. Where a list needs more, its first entries are
    /// kept and [`overflow`](Self::overflow) says so; cells left out count as outside the part.
    ///
    /// # Errors
    /// [`TooMany`](PartitionError::TooMany) for more than 2³² − 1 slots,
    /// [`Memory`](PartitionError::Memory).
    pub fn bounded(mut self, capacity: Capacity) -> Result<GeometryPartition, PartitionError> {
        for (what, slots) in [("cells", capacity.cells), ("sides", capacity.sides)] {
            if slots > NULL as usize {
                return Err(PartitionError::TooMany {
                    what,
                    count: slots as u64,
                    limit: u64::from(NULL),
                });
            }
        }
        self.capacity = Some(capacity);
        self.cells = Slots::bounded(Some(capacity.cells));
        let list = || Slots::bounded(Some(capacity.sides));
        self.sides = Sides {
            owned: list(),
            boundary: list(),
            frontier: list(),
        };
        self.reserve(self.topology.clone().as_ref())?;
        self.fill();
        Ok(self)
    }

    /// Replaces the mask, on the geometry's topology as it is now. Reuses memory and allocates
    /// nothing while the geometry does not grow.
    ///
    /// # Errors
    /// [`Rule`](PartitionError::Rule) if the partition was not made by mask, otherwise as
    /// [`by_mask`](Self::by_mask); the partition is then as it was.
    pub fn rebuild(&mut self, mask: &[bool]) -> Result<(), PartitionError> {
        self.expect(PartitionRule::Mask, "a mask")?;
        let topology = self.geometry.topology();
        check_length("mask", topology.cell_count(), mask.len())?;
        self.reserve(&topology)?;
        self.topology = topology;
        self.set_owners(mask.iter().map(|&inside| u32::from(!inside)));
        self.fill();
        Ok(())
    }

    /// Replaces the owners, on the geometry's topology as it is now. Reuses memory and allocates
    /// nothing while the geometry does not grow.
    ///
    /// # Errors
    /// [`Rule`](PartitionError::Rule) if the partition was not made by owner, otherwise as
    /// [`by_owner`](Self::by_owner); the partition is then as it was.
    pub fn rebuild_owners(&mut self, owners: &[u32]) -> Result<(), PartitionError> {
        self.expect(PartitionRule::Owner, "an array of owners")?;
        let topology = self.geometry.topology();
        check_length("owners", topology.cell_count(), owners.len())?;
        check_owners(owners, self.parts)?;
        self.reserve(&topology)?;
        self.topology = topology;
        self.set_owners(owners.iter().copied());
        self.fill();
        Ok(())
    }

    /// Follows the geometry's topology as it is now, as whole and linear partitions can: all cells,
    /// or a run of those there are. Reuses memory and allocates nothing while the geometry does
    /// not grow.
    ///
    /// # Errors
    /// [`Rule`](PartitionError::Rule) if the partition was made by mask or by owner,
    /// [`Memory`](PartitionError::Memory); the partition is then as it was.
    pub fn follow(&mut self) -> Result<(), PartitionError> {
        let Owners::Runs(before) = self.owners else {
            return Err(PartitionError::Rule {
                from: "the number of cells alone",
                found: self.rule.name(),
            });
        };
        let topology = self.geometry.topology();
        self.owners = Owners::Runs(before).on(&topology, self.parts);
        if let Err(error) = self.reserve(&topology) {
            self.owners = Owners::Runs(before);
            return Err(error);
        }
        self.topology = topology;
        self.fill();
        Ok(())
    }

    fn expect(&self, rule: PartitionRule, from: &'static str) -> Result<(), PartitionError> {
        if self.rule == rule {
            return Ok(());
        }
        Err(PartitionError::Rule {
            from,
            found: self.rule.name(),
        })
    }

    fn set_owners(&mut self, new: impl Iterator<Item = u32>) {
        if let Owners::Listed(owners) = &mut self.owners {
            owners.clear();
            owners.extend(new);
        }
    }

    /// Makes room for any part of `topology` (the right room where the part cannot change).
    fn reserve(&mut self, topology: &Topology) -> Result<(), PartitionError> {
        let cells = topology.cell_count();
        if let Owners::Listed(owners) = &mut self.owners {
            reserve(owners, cells)?;
        }
        reserve(&mut self.local, cells)?;
        let [mut own, mut sides, mut boundary, mut frontier] = [
            cells,
            topology.side_count(),
            topology.boundary_sides().len(),
            topology.side_count() - topology.boundary_sides().len(),
        ];
        if let Owners::Runs(_) = self.owners {
            let mine = |cell: u32| self.owners.of(cell as usize) == self.rank;
            own = (0..cells as u32).filter(|&c| mine(c)).count();
            [sides, boundary, frontier] = [0; 3];
            for side in 0..topology.side_count() {
                let [inner, outer] = topology.side_cells(side);
                sides += usize::from(mine(inner));
                boundary += usize::from(inner == outer && mine(inner));
                frontier += usize::from(mine(inner) != mine(outer));
            }
        }
        self.cells.reserve(own)?;
        self.sides.owned.reserve(sides)?;
        self.sides.boundary.reserve(boundary)?;
        self.sides.frontier.reserve(frontier)?;
        Ok(())
    }

    /// Writes all lists; everything that could fail has been done.
    fn fill(&mut self) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.contents = NEXT.fetch_add(1, Ordering::Relaxed);
        let topology = &self.topology;
        let (owners, rank) = (&self.owners, self.rank);
        let count = topology.cell_count();
        let mine = (0..count as u32).filter(|&c| owners.of(c as usize) == rank);
        let cells = self.cells.fill(mine);
        self.local.clear();
        self.local.resize(count, NULL);
        for (local, &cell) in self.cells.live().iter().enumerate() {
            self.local[cell as usize] = local as u32;
        }
        let mut sides = 0;
        if self.capacity.is_none_or(|c| c.sides > 0) {
            let local = &self.local;
            let within = |cell: u32| local[cell as usize] != NULL;
            let all = || 0..topology.side_count() as u32;
            let owned = |side: &u32| within(topology.side_cells(*side as usize)[0]);
            let frontier = |side: &u32| {
                let [inner, outer] = topology.side_cells(*side as usize);
                within(inner) != within(outer)
            };
            let boundary = topology.boundary_sides().iter().copied();
            sides = self.sides.owned.fill(all().filter(owned));
            self.sides.boundary.fill(boundary.filter(owned));
            sides = sides.max(self.sides.frontier.fill(all().filter(frontier)));
        }
        if let Some(capacity) = self.capacity {
            if cells > capacity.cells {
                self.overflow.cells = self.overflow.cells.max(cells);
            }
            if sides > capacity.sides {
                self.overflow.sides = self.overflow.sides.max(sides);
            }
        }
    }

    /// The geometry that is divided.
    pub fn geometry(&self) -> &Arc<dyn Geometry> {
        &self.geometry
    }

    /// The topology the tables describe.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// How the partition chooses its cells.
    pub fn rule(&self) -> PartitionRule {
        self.rule
    }

    /// Which part this is.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of parts.
    pub fn part_count(&self) -> u32 {
        self.parts
    }

    /// The part that owns a cell, in this or another part.
    ///
    /// # Panics
    /// Like all accessors here, if the index is out of range.
    pub fn owner(&self, cell: usize) -> u32 {
        assert!(cell < self.topology.cell_count(), "no such cell");
        self.owners.of(cell)
    }

    /// Cells of the part, ascending.
    pub fn cells(&self) -> &[u32] {
        self.cells.live()
    }

    /// Cells of the part, then [`NULL`] in empty slots if the partition is bounded.
    pub fn cell_slots(&self) -> &[u32] {
        self.cells.all()
    }

    /// Number of cells in the part.
    pub fn cell_count(&self) -> usize {
        self.cells().len()
    }

    /// Local index of a cell in [`cells`](Self::cells); `None` if it is not in the part.
    pub fn local_cell(&self, cell: usize) -> Option<usize> {
        let local = self.local[cell];
        (local != NULL).then_some(local as usize)
    }

    /// Whether a cell is in the part.
    pub fn contains(&self, cell: usize) -> bool {
        self.local[cell] != NULL
    }

    /// Sides whose inner cell is in the part.
    pub fn sides(&self) -> &[u32] {
        self.sides.owned.live()
    }

    /// [`sides`](Self::sides), then [`NULL`] in empty slots if the partition is bounded.
    pub fn side_slots(&self) -> &[u32] {
        self.sides.owned.all()
    }

    /// Sides of the part on the geometry's boundary.
    pub fn boundary_sides(&self) -> &[u32] {
        self.sides.boundary.live()
    }

    /// [`boundary_sides`](Self::boundary_sides), then [`NULL`] in empty slots if the partition is
    /// bounded.
    pub fn boundary_side_slots(&self) -> &[u32] {
        self.sides.boundary.all()
    }

    /// Sides with exactly one of their two cells in the part.
    pub fn frontier_sides(&self) -> &[u32] {
        self.sides.frontier.live()
    }

    /// [`frontier_sides`](Self::frontier_sides), then [`NULL`] in empty slots if the partition is
    /// bounded.
    pub fn frontier_side_slots(&self) -> &[u32] {
        self.sides.frontier.all()
    }

    /// Fixed numbers of slots, if the partition is bounded.
    pub fn capacity(&self) -> Option<Capacity> {
        self.capacity
    }

    /// What there was no room for at any time since the partition was bounded or
    /// [`clear_overflow`](Self::clear_overflow) was called; later rebuilds that fit do not clear it.
    pub fn overflow(&self) -> Option<Overflow> {
        (self.overflow != Overflow::default()).then_some(self.overflow)
    }

    /// Forgets past overflows.
    pub fn clear_overflow(&mut self) {
        self.overflow = Overflow::default();
    }

    /// A number that no partition with other contents has.
    pub(super) fn contents(&self) -> u64 {
        self.contents
    }

    /// The number of cells now missing, as an error.
    pub(super) fn complete(&self) -> Result<(), PartitionError> {
        let Some(capacity) = self.capacity else {
            return Ok(());
        };
        let needed = (0..self.topology.cell_count())
            .filter(|&c| self.owners.of(c) == self.rank)
            .count();
        if needed <= capacity.cells {
            return Ok(());
        }
        Err(PartitionError::Overflow {
            what: "cells",
            needed,
            capacity: capacity.cells,
        })
    }
}
