//! [`SpacePartition`]: the nodes of one part of a space, by class and owner.

use std::ops::Range;

use super::geometry::GeometryPartition;
use super::slots::{Slots, reserve};
use super::{NULL, PartitionError};
use crate::space::Space;

/// What a node is to a part. Local numbers follow this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeClass {
    /// Owned, and touched by cells of this part only: its matrix row is complete once the part's own
    /// cells are assembled.
    OwnedInterior,
    /// Owned, and touched by cells of other parts too.
    OwnedFrontier,
    /// Owned by another part, and a node of a cell of this part, of a cell across a side that this
    /// part owns, or of a cell that touches an owned node: what a complete row of an owned node, or
    /// an integral over the part's cells and sides, can refer to.
    HaloNear,
    /// Owned by another part, and reached only across frontier sides that another part owns.
    HaloFar,
}

/// All classes in order.
const CLASSES: [NodeClass; 4] = [
    NodeClass::OwnedInterior,
    NodeClass::OwnedFrontier,
    NodeClass::HaloNear,
    NodeClass::HaloFar,
];
/// The class of a node that is not in the part.
const EXTERIOR: u8 = 4;

/// The nodes of a space that one part owns or refers to.
///
/// Nodes have local numbers by class (see [`NodeClass`]), and within a class in order of their
/// numbers in the space, so that the owned nodes are the first [`owned_count`](Self::owned_count).
///
/// Over all parts each node has exactly one owner: the smallest part among those whose cells
/// touch the node, or part 0 if no cell does. (In the reference system every part that touches a
/// node owns it.) Where nodes hang, a cell touches the nodes that its hanging ones follow from;
/// hanging nodes have no degrees of freedom and are in no part.
#[derive(Clone, Debug)]
pub struct SpacePartition {
    space: Space,
    rank: u32,
    parts: u32,
    nodes: Slots,
    starts: [usize; 5],
    local: Vec<u32>,
    owners: Vec<u32>,
    classes: Vec<u8>,
    overflow: usize,
    /// Contents of the geometry partition that this was made from.
    made_from: u64,
}

/// Calls `f` with each node with degrees of freedom that a cell touches, some more than once.
pub(super) fn touched(space: &Space, cell: usize, mut f: impl FnMut(usize)) {
    let nodes = space.cell_nodes(cell);
    if space.hanging().is_empty() {
        nodes.iter().for_each(|&node| f(node as usize));
    } else {
        for &node in nodes {
            space.expansion(node).for_each(|(node, _)| f(node as usize));
        }
    }
}

/// Demands that a space and a partition know the same topology.
fn check_topology(space: &Space, partition: &GeometryPartition) -> Result<(), PartitionError> {
    if std::sync::Arc::ptr_eq(space.topology(), partition.topology()) {
        return Ok(());
    }
    Err(PartitionError::Stale {
        what: "the space and the geometry partition",
    })
}

impl SpacePartition {
    /// The nodes of `space` that belong to the cells of `partition`.
    ///
    /// # Errors
    /// [`Stale`](PartitionError::Stale) unless both are on the same topology,
    /// [`Memory`](PartitionError::Memory).
    pub fn new(
        space: &Space,
        partition: &GeometryPartition,
    ) -> Result<SpacePartition, PartitionError> {
        SpacePartition::with_slots(space, partition, None)
    }

    /// All nodes of a space as one part.
    ///
    /// # Errors
    /// [`Stale`](PartitionError::Stale) if the geometry has changed since the space was made,
    /// [`Memory`](PartitionError::Memory).
    pub fn whole(space: &Space) -> Result<SpacePartition, PartitionError> {
        let partition = GeometryPartition::whole(space.geometry().clone())?;
        SpacePartition::new(space, &partition)
    }

    /// As [`new`](Self::new) with a fixed number of slots for nodes. Where more are needed, the first
    /// ones by local number are kept and [`overflow`](Self::overflow) says so; classes and owners
    /// mean the same as without a bound.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`TooMany`](PartitionError::TooMany) for more than 2³² − 1 slots.
    pub fn bounded(
        space: &Space,
        partition: &GeometryPartition,
        capacity: usize,
    ) -> Result<SpacePartition, PartitionError> {
        if capacity > NULL as usize {
            return Err(PartitionError::TooMany {
                what: "nodes",
                count: capacity as u64,
                limit: u64::from(NULL),
            });
        }
        SpacePartition::with_slots(space, partition, Some(capacity))
    }

    fn with_slots(
        space: &Space,
        partition: &GeometryPartition,
        capacity: Option<usize>,
    ) -> Result<SpacePartition, PartitionError> {
        let mut nodes = SpacePartition {
            space: space.clone(),
            rank: partition.rank(),
            parts: partition.part_count(),
            nodes: Slots::bounded(capacity),
            starts: [0; 5],
            local: Vec::new(),
            owners: Vec::new(),
            classes: Vec::new(),
            overflow: 0,
            made_from: 0,
        };
        nodes.rebuild(space, partition)?;
        Ok(nodes)
    }

    /// Replaces everything after `partition` was rebuilt, or for another space. Reuses memory and
    /// allocates nothing while the space does not grow.
    ///
    /// # Errors
    /// As [`new`](Self::new); the partition is then as it was.
    pub fn rebuild(
        &mut self,
        space: &Space,
        partition: &GeometryPartition,
    ) -> Result<(), PartitionError> {
        check_topology(space, partition)?;
        let count = space.node_count();
        reserve(&mut self.local, count)?;
        reserve(&mut self.owners, count)?;
        reserve(&mut self.classes, count)?;
        self.nodes.reserve(count)?;

        self.space = space.clone();
        self.rank = partition.rank();
        self.parts = partition.part_count();
        self.made_from = partition.contents();
        self.find_owners(partition);
        self.find_classes(partition);
        let mut counts = [0; 5];
        self.classes.iter().for_each(|&c| counts[c as usize] += 1);
        let classes = &self.classes;
        let of_class = |class: u8| (0..count as u32).filter(move |&n| classes[n as usize] == class);
        let needed = self.nodes.fill((0..EXTERIOR).flat_map(of_class));
        let room = self.nodes.live().len();
        if needed > room {
            self.overflow = self.overflow.max(needed);
        }
        for k in 0..4 {
            self.starts[k + 1] = (self.starts[k] + counts[k]).min(room);
        }
        self.local.clear();
        self.local.resize(count, NULL);
        for (local, &node) in self.nodes.live().iter().enumerate() {
            self.local[node as usize] = local as u32;
        }
        Ok(())
    }

    fn find_owners(&mut self, partition: &GeometryPartition) {
        let owners = &mut self.owners;
        owners.clear();
        owners.resize(self.space.node_count(), NULL);
        for cell in 0..partition.topology().cell_count() {
            let owner = partition.owner(cell);
            touched(&self.space, cell, |node| {
                owners[node] = owners[node].min(owner);
            });
        }
    }

    fn find_classes(&mut self, partition: &GeometryPartition) {
        let space = &self.space;
        let [interior, frontier, near, far] = CLASSES.map(|class| class as u8);
        let classes = &mut self.classes;
        classes.clear();
        classes.resize(space.node_count(), EXTERIOR);
        for &cell in partition.cells() {
            touched(space, cell as usize, |node| {
                classes[node] = match self.owners[node] == self.rank {
                    true => interior,
                    false => near,
                };
            });
        }
        for (owner, class) in self.owners.iter_mut().zip(classes.iter_mut()) {
            // No cell touches the node: the first part has it.
            if *owner == NULL {
                *owner = 0;
                if self.rank == 0 {
                    *class = interior;
                }
            }
        }
        let topology = partition.topology();
        for cell in (0..topology.cell_count()).filter(|&c| !partition.contains(c)) {
            let mut shares = false;
            touched(space, cell, |node| {
                if classes[node] <= frontier {
                    classes[node] = frontier;
                    shares = true;
                }
            });
            if shares {
                touched(space, cell, |node| {
                    if classes[node] == EXTERIOR {
                        classes[node] = near;
                    }
                });
            }
        }
        // Cells across sides, those of owned sides first.
        for (class, mine) in [(near, true), (far, false)] {
            for side in 0..topology.side_count() {
                let [inner, outer] = topology.side_cells(side).map(|c| c as usize);
                let within = [inner, outer].map(|c| partition.contains(c));
                if within == [mine, !mine] {
                    touched(space, if mine { outer } else { inner }, |node| {
                        if classes[node] == EXTERIOR {
                            classes[node] = class;
                        }
                    });
                }
            }
        }
    }

    /// The space whose nodes these are.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Which part this is.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of parts.
    pub fn part_count(&self) -> u32 {
        self.parts
    }

    /// Number in the space of each node of the part, by local number.
    pub fn nodes(&self) -> &[u32] {
        self.nodes.live()
    }

    /// [`nodes`](Self::nodes), then [`NULL`] in empty slots if the partition is bounded.
    pub fn node_slots(&self) -> &[u32] {
        self.nodes.all()
    }

    /// Number of nodes of the part, owned and halo.
    pub fn node_count(&self) -> usize {
        self.starts[4]
    }

    /// Number of owned nodes.
    pub fn owned_count(&self) -> usize {
        self.starts[2]
    }

    /// Owned nodes, interior ones first, by number in the space.
    pub fn owned_nodes(&self) -> &[u32] {
        &self.nodes()[..self.owned_count()]
    }

    /// Halo nodes, near ones first, by number in the space.
    pub fn halo_nodes(&self) -> &[u32] {
        &self.nodes()[self.owned_count()..]
    }

    /// Local numbers of the nodes of a class.
    pub fn class(&self, class: NodeClass) -> Range<usize> {
        self.starts[class as usize]..self.starts[class as usize + 1]
    }

    /// Where each class begins in the local numbering of nodes, and the number of nodes.
    pub fn node_offsets(&self) -> [usize; 5] {
        self.starts
    }

    /// [`node_offsets`](Self::node_offsets) in degrees of freedom.
    pub fn dof_offsets(&self) -> [usize; 5] {
        self.starts.map(|n| n * self.space.components())
    }

    /// Class of a node of the part, by local number.
    ///
    /// # Panics
    /// Like all accessors here, if there is no such node.
    pub fn class_of(&self, local: usize) -> NodeClass {
        CLASSES[self.classes[self.nodes()[local] as usize] as usize]
    }

    /// Local number of a node of the space; `None` if it is not in the part.
    pub fn local_node(&self, node: usize) -> Option<usize> {
        let local = self.local[node];
        (local != NULL).then_some(local as usize)
    }

    /// Local number of each node of the space, [`NULL`] where it is not in the part.
    pub fn local_nodes(&self) -> &[u32] {
        &self.local
    }

    /// The part that owns a node of the space, whether or not it is in this part.
    pub fn owner(&self, node: usize) -> u32 {
        self.owners[node]
    }

    /// Number of node slots, if the partition is bounded.
    pub fn capacity(&self) -> Option<usize> {
        self.nodes.capacity
    }

    /// The largest number of nodes that there was no room for, since the partition was made or
    /// [`clear_overflow`](Self::clear_overflow) was called; later rebuilds that fit do not clear it.
    pub fn overflow(&self) -> Option<usize> {
        (self.overflow > 0).then_some(self.overflow)
    }

    /// Forgets past overflows.
    pub fn clear_overflow(&mut self) {
        self.overflow = 0;
    }

    /// Demands that `partition` is what this was made from and that no node is missing.
    pub(super) fn check_with(&self, partition: &GeometryPartition) -> Result<(), PartitionError> {
        check_topology(&self.space, partition)?;
        let space = [self.rank, self.parts];
        let geometry = [partition.rank(), partition.part_count()];
        if space != geometry {
            return Err(PartitionError::Parts { space, geometry });
        }
        if self.made_from != partition.contents() {
            return Err(PartitionError::Outdated);
        }
        let needed = self.classes.iter().filter(|&&c| c != EXTERIOR).count();
        match self.capacity() {
            Some(capacity) if capacity < needed => Err(PartitionError::Overflow {
                what: "nodes",
                needed,
                capacity,
            }),
            _ => partition.complete(),
        }
    }
}
