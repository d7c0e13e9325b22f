//! [`SpaceRestriction`]: the elements at each node of a part.

use super::compress::NodeLists;
use super::slots::reserve;
use super::space::SpacePartition;
use super::{NULL, PartitionError};

/// What the elements of a restriction are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestrictionDomain {
    /// Cells; local nodes are those of the cell.
    Cells,
    /// Sides; local nodes are those of the inner cell, then those of the outer one. On boundary
    /// sides the second half is empty.
    Sides,
}

/// An element at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Index in the list of elements.
    pub element: u32,
    /// Which of the element's local nodes the node is.
    pub local: u32,
}

/// For each node of a part, the (element, local node) pairs it occurs in, ordered by element.
///
/// Local nodes that are not in the part, and hanging ones, are left out; they are the
/// [null slots](NodeLists::null_slots) of the underlying lists.
#[derive(Clone, Debug)]
pub struct SpaceRestriction {
    domain: RestrictionDomain,
    elements: Vec<u32>,
    per_element: usize,
    lists: NodeLists,
}

impl SpaceRestriction {
    /// Restricts to some cells.
    ///
    /// # Errors
    /// [`Index`](PartitionError::Index) for a cell that does not exist,
    /// [`TooMany`](PartitionError::TooMany) pairs, [`Memory`](PartitionError::Memory).
    pub fn on_cells(
        partition: &SpacePartition,
        cells: &[u32],
    ) -> Result<SpaceRestriction, PartitionError> {
        SpaceRestriction::on(RestrictionDomain::Cells, partition, cells)
    }

    /// Restricts to some sides.
    ///
    /// # Errors
    /// As [`on_cells`](Self::on_cells), for sides.
    pub fn on_sides(
        partition: &SpacePartition,
        sides: &[u32],
    ) -> Result<SpaceRestriction, PartitionError> {
        SpaceRestriction::on(RestrictionDomain::Sides, partition, sides)
    }

    fn on(
        domain: RestrictionDomain,
        partition: &SpacePartition,
        elements: &[u32],
    ) -> Result<SpaceRestriction, PartitionError> {
        let mut restriction = SpaceRestriction {
            domain,
            elements: Vec::new(),
            per_element: 0,
            lists: NodeLists::new(),
        };
        restriction.rebuild(partition, elements)?;
        Ok(restriction)
    }

    /// Replaces everything. Reuses memory, and allocates nothing while no more is needed than at
    /// any time before.
    ///
    /// # Errors
    /// As [`on_cells`](Self::on_cells); the restriction is then as it was.
    pub fn rebuild(
        &mut self,
        partition: &SpacePartition,
        elements: &[u32],
    ) -> Result<(), PartitionError> {
        let (space, local) = (partition.space(), partition.local_nodes());
        let topology = space.topology();
        let (what, limit, cells) = match self.domain {
            RestrictionDomain::Cells => ("cell", topology.cell_count(), 1),
            RestrictionDomain::Sides => ("side", topology.side_count(), 2),
        };
        if let Some(&index) = elements.iter().find(|&&e| e as usize >= limit) {
            return Err(PartitionError::Index { what, index, limit });
        }
        reserve(&mut self.elements, elements.len())?;
        let per_cell = space.nodes_per_cell();
        let per_element = per_cell * cells;
        let known = |node: u32| local.get(node as usize).copied().unwrap_or(NULL);
        let node = |slot: usize| {
            let (element, i) = (elements[slot / per_element], slot % per_element);
            let cell = match self.domain {
                RestrictionDomain::Cells => element,
                RestrictionDomain::Sides => {
                    let [inner, outer] = topology.side_cells(element as usize);
                    if i < per_cell {
                        inner
                    } else if inner != outer {
                        outer
                    } else {
                        return NULL;
                    }
                }
            };
            let nodes = space.cell_nodes(cell as usize);
            nodes.get(i % per_cell).map_or(NULL, |&node| known(node))
        };
        let slots = elements.len() * per_element;
        self.lists.rebuild(partition.node_count(), slots, node)?;
        self.elements.clear();
        self.elements.extend_from_slice(elements);
        self.per_element = per_element;
        Ok(())
    }

    /// What the elements are.
    pub fn domain(&self) -> RestrictionDomain {
        self.domain
    }

    /// The elements: cells or sides of the geometry.
    pub fn elements(&self) -> &[u32] {
        &self.elements
    }

    /// Local nodes of each element.
    pub fn nodes_per_element(&self) -> usize {
        self.per_element
    }

    /// Number of nodes of the part, those without elements included.
    pub fn node_count(&self) -> usize {
        self.lists.node_count()
    }

    /// Number of pairs in all.
    pub fn entry_count(&self) -> usize {
        self.lists.entry_count()
    }

    /// The elements at a node (by local number), in order of their place in the list.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn of(&self, node: usize) -> impl ExactSizeIterator<Item = Entry> + '_ {
        let per_element = self.per_element as u32;
        self.lists.of(node).iter().map(move |slot| Entry {
            element: slot / per_element,
            local: slot % per_element,
        })
    }

    /// The lists behind it: slot `element × nodes per element + local node`.
    pub fn lists(&self) -> &NodeLists {
        &self.lists
    }
}
