//! Node compression: from the node of each slot to the slots of each node.

use rayon::prelude::*;

use super::radix::Radix;
use super::slots::reserve;
use super::{NULL, PartitionError};

/// Nodes whose ranges one task finds.
const CHUNK: usize = 1 << 13;

/// The slots at each node, ascending.
///
/// A slot is a place in a list of node numbers, such as element × nodes per element + local node;
/// slots that hold [`NULL`] are sorted behind all others. The routine: slot numbers as payload, a
/// stable radix sort by node over as many bits as the number of nodes has, and the start of each
/// node's run, which is the run-length encoding and its scan in one. All steps are parallel,
/// and the result does not depend on the number of threads. Work is linear and memory is reused.
#[derive(Clone, Debug)]
pub struct NodeLists {
    keys: Vec<u32>,
    slots: Vec<u32>,
    offsets: Vec<u32>,
    radix: Radix,
}

impl Default for NodeLists {
    fn default() -> NodeLists {
        NodeLists {
            keys: Vec::new(),
            slots: Vec::new(),
            offsets: vec![0],
            radix: Radix::default(),
        }
    }
}

impl NodeLists {
    /// No nodes.
    pub fn new() -> NodeLists {
        NodeLists::default()
    }

    /// Lists the slots `0..slot_count` at each of `node_count` nodes; `node` tells the node of a
    /// slot, or [`NULL`].
    ///
    /// # Errors
    /// [`TooMany`](PartitionError::TooMany), [`Index`](PartitionError::Index) with the node of the
    /// first slot whose node does not exist, [`Memory`](PartitionError::Memory). The lists are then
    /// as they were.
    pub fn rebuild(
        &mut self,
        node_count: usize,
        slot_count: usize,
        node: impl Fn(usize) -> u32 + Sync,
    ) -> Result<(), PartitionError> {
        let limit = NULL as usize - 1;
        for (what, count) in [("nodes", node_count), ("slots", slot_count)] {
            if count > limit {
                return Err(PartitionError::TooMany {
                    what,
                    count: count as u64,
                    limit: limit as u64,
                });
            }
        }
        reserve(&mut self.keys, slot_count)?;
        reserve(&mut self.slots, slot_count)?;
        reserve(&mut self.offsets, node_count + 1)?;
        self.radix.reserve(slot_count)?;

        // Keys are scratch that nobody sees: they may be written before all is known to be well.
        self.keys.resize(slot_count, 0);
        self.keys
            .par_iter_mut()
            .enumerate()
            .with_min_len(CHUNK)
            .for_each(|(slot, key)| {
                *key = match node(slot) {
                    NULL => node_count as u32,
                    node if (node as usize) < node_count => node,
                    _ => NULL,
                }
            });
        let keys = self.keys.par_iter().with_min_len(CHUNK);
        if let Some(slot) = keys.position_first(|&key| key == NULL) {
            return Err(PartitionError::Index {
                what: "node",
                index: node(slot),
                limit: node_count,
            });
        }
        self.slots.resize(slot_count, 0);
        self.offsets.resize(node_count + 1, 0);
        self.slots
            .par_iter_mut()
            .enumerate()
            .with_min_len(CHUNK)
            .for_each(|(slot, payload)| *payload = slot as u32);
        let largest = node_count as u32;
        self.radix.sort(&mut self.keys, &mut self.slots, largest);
        let keys = &self.keys;
        self.offsets
            .par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(chunk, offsets)| {
                let first = (chunk * CHUNK) as u32;
                let mut at = keys.partition_point(|&key| key < first);
                for (offset, node) in offsets.iter_mut().zip(first..) {
                    while keys.get(at).is_some_and(|&key| key < node) {
                        at += 1;
                    }
                    *offset = at as u32;
                }
            });
        Ok(())
    }

    /// Number of nodes, those without slots included.
    pub fn node_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Slots of node `node`, ascending.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.slots[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Where the slots of each node begin in [`slots`](Self::slots), and at the end where the null
    /// slots do.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// All slots by node, null ones last.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Number of slots with a node.
    pub fn entry_count(&self) -> usize {
        self.offsets[self.node_count()] as usize
    }

    /// The slots without a node, ascending.
    pub fn null_slots(&self) -> &[u32] {
        &self.slots[self.entry_count()..]
    }
}
