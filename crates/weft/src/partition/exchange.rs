//! [`Exchange`]: the nodes whose values travel between parts.

use super::PartitionError;
use super::geometry::GeometryPartition;
use super::space::{SpacePartition, touched};

/// For each neighbour of a part: the owned nodes that it needs, and the halo nodes that it owns.
///
/// What part p sends to q are, one for one, the nodes that q receives from p: both lists are in
/// order of the nodes' numbers in the space. Each part finds its lists from the owners of
/// the cells alone. To update the halo, values travel from senders to receivers; to add up
/// contributions that parts assembled on halo nodes, they travel the other way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    neighbours: Vec<u32>,
    send: Lists,
    receive: Lists,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Lists {
    offsets: Vec<usize>,
    nodes: Vec<u32>,
}

impl Lists {
    /// From sorted (part, node) pairs.
    fn new(neighbours: &[u32], pairs: &[(u32, u32)], local: impl Fn(u32) -> u32) -> Lists {
        let start = |&part: &u32| pairs.partition_point(|&(p, _)| p < part);
        let mut offsets: Vec<usize> = neighbours.iter().map(start).collect();
        offsets.push(pairs.len());
        let nodes = pairs.iter().map(|&(_, node)| local(node)).collect();
        Lists { offsets, nodes }
    }

    fn of(&self, k: usize) -> &[u32] {
        &self.nodes[self.offsets[k]..self.offsets[k + 1]]
    }
}

impl Exchange {
    /// The lists of a space partition; `partition` is the geometry partition it was made from.
    ///
    /// # Errors
    /// [`Stale`](PartitionError::Stale), [`Parts`](PartitionError::Parts) or
    /// [`Outdated`](PartitionError::Outdated) if it was made from another one, or from this one
    /// before it was rebuilt; [`Overflow`](PartitionError::Overflow) if cells or nodes are missing.
    pub fn new(
        nodes: &SpacePartition,
        partition: &GeometryPartition,
    ) -> Result<Exchange, PartitionError> {
        nodes.check_with(partition)?;
        let (space, topology, rank) = (nodes.space(), partition.topology(), nodes.rank());
        let mut receive: Vec<(u32, u32)> = nodes
            .halo_nodes()
            .iter()
            .map(|&node| (nodes.owner(node as usize), node))
            .collect();
        receive.sort_unstable();

        // Part q holds a node if it owns a cell at the node, a cell across a side from one, or
        // another node of one.
        let owns = |node: usize| nodes.owner(node) == rank;
        let mut near = vec![false; topology.cell_count()];
        for (cell, near) in near.iter_mut().enumerate() {
            touched(space, cell, |node| *near |= owns(node));
        }
        let mut sees: Vec<(u32, u32)> = Vec::new();
        for &side in topology.interior_sides() {
            let [a, b] = topology.side_cells(side as usize);
            for [cell, other] in [[a, b], [b, a]] {
                if near[cell as usize] {
                    sees.push((cell, partition.owner(other as usize)));
                }
            }
        }
        for cell in (0..topology.cell_count()).filter(|&cell| near[cell]) {
            sees.push((cell as u32, partition.owner(cell)));
            touched(space, cell, |node| {
                sees.push((cell as u32, nodes.owner(node)));
            });
        }
        sees.retain(|&(_, part)| part != rank);
        sees.sort_unstable();
        sees.dedup();
        let mut send: Vec<(u32, u32)> = Vec::new();
        for (cell, part) in sees {
            touched(space, cell as usize, |node| {
                if owns(node) {
                    send.push((part, node as u32));
                }
            });
        }
        send.sort_unstable();
        send.dedup();

        let mut neighbours: Vec<u32> = send.iter().chain(&receive).map(|&(part, _)| part).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        let local = |node: u32| nodes.local_nodes()[node as usize];
        Ok(Exchange {
            send: Lists::new(&neighbours, &send, local),
            receive: Lists::new(&neighbours, &receive, local),
            neighbours,
        })
    }

    /// Parts to exchange with, ascending.
    pub fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// Local numbers of the owned nodes that neighbour `k` (an index into
    /// [`neighbours`](Self::neighbours)) needs.
    ///
    /// # Panics
    /// If there is no such neighbour.
    pub fn send(&self, k: usize) -> &[u32] {
        self.send.of(k)
    }

    /// Local numbers of the halo nodes that neighbour `k` owns.
    ///
    /// # Panics
    /// If there is no such neighbour.
    pub fn receive(&self, k: usize) -> &[u32] {
        self.receive.of(k)
    }
}
