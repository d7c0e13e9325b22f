//! [`Environments`]: independent sets of cells in one geometry, and nodes ordered by them.

use std::ops::Range;
use std::sync::Arc;

use super::slots::{Slots, reserve};
use super::space::{SpacePartition, touched};
use super::{NULL, PartitionError};
use crate::geometry::{Geometry, Topology};

/// Which environment each cell of a geometry is in. Environments share no side and no vertex, and no
/// node hangs between them, so that what happens in one has no effect on another.
#[derive(Clone, Debug)]
pub struct Environments {
    topology: Arc<Topology>,
    of_cell: Vec<u32>,
    offsets: Vec<usize>,
    cells: Vec<u32>,
}

impl Environments {
    /// Environments by a label of each cell, `0..count`. One may be empty.
    ///
    /// # Errors
    /// [`Length`](PartitionError::Length) unless there is one label for each cell,
    /// [`Label`](PartitionError::Label) for one that is not below `count`,
    /// [`CrossingSide`](PartitionError::CrossingSide),
    /// [`CrossingVertex`](PartitionError::CrossingVertex) or
    /// [`CrossingNode`](PartitionError::CrossingNode) where environments touch.
    pub fn by_cell(
        geometry: &dyn Geometry,
        labels: Vec<u32>,
        count: u32,
    ) -> Result<Environments, PartitionError> {
        let topology = geometry.topology();
        if labels.len() != topology.cell_count() {
            return Err(PartitionError::Length {
                what: "cell environments",
                expected: topology.cell_count(),
                found: labels.len(),
            });
        }
        if let Some(cell) = labels.iter().position(|&label| label >= count) {
            return Err(PartitionError::Label {
                cell,
                label: labels[cell],
                count,
            });
        }
        for &side in topology.interior_sides() {
            let cells = topology.side_cells(side as usize);
            let environments = cells.map(|c| labels[c as usize]);
            if environments[0] != environments[1] {
                return Err(PartitionError::CrossingSide {
                    side,
                    cells,
                    environments,
                });
            }
        }
        let vertices = |cell: usize| topology.cell_vertices(cell).iter().copied();
        if let Some((vertex, cells)) = shared(&labels, topology.vertex_count(), vertices) {
            return Err(PartitionError::CrossingVertex {
                vertex,
                cells,
                environments: cells.map(|c| labels[c as usize]),
            });
        }
        // A small cell can lie on an edge of a large one and share no side and no vertex with it.
        // Its vertices then hang, and they do in any degree if they do in the first.
        if geometry.nodes_may_hang()
            && let Some(nodes) = geometry.node_numbering(&topology, 1)
        {
            let per_cell = geometry.cell_kind().vertex_count();
            if nodes.cell_nodes.len() != labels.len() * per_cell {
                return Err(PartitionError::Stale {
                    what: "the labels and the geometry",
                });
            }
            let (count, hanging) = (nodes.count, &nodes.hanging);
            let masters = |cell: usize| {
                let own = nodes.cell_nodes[cell * per_cell..][..per_cell].iter();
                own.flat_map(move |&node| {
                    let hung = (node as usize).checked_sub(count);
                    let free = hung.is_none().then_some(node);
                    let masters = hung.into_iter().flat_map(|k| hanging.masters(k));
                    free.into_iter().chain(masters.map(|(node, _)| node))
                })
            };
            if let Some((node, cells)) = shared(&labels, nodes.count, masters) {
                return Err(PartitionError::CrossingNode {
                    node,
                    cells,
                    environments: cells.map(|c| labels[c as usize]),
                });
            }
        }
        Ok(Environments::known(topology, labels, count))
    }

    /// From labels known to be right.
    pub(super) fn known(topology: Arc<Topology>, of_cell: Vec<u32>, count: u32) -> Environments {
        let mut offsets = vec![0; count as usize + 1];
        for &label in &of_cell {
            offsets[label as usize + 1] += 1;
        }
        for e in 0..count as usize {
            offsets[e + 1] += offsets[e];
        }
        let mut next = offsets.clone();
        let mut cells = vec![0; of_cell.len()];
        for (cell, &label) in of_cell.iter().enumerate() {
            let at = &mut next[label as usize];
            cells[*at] = cell as u32;
            *at += 1;
        }
        Environments {
            topology,
            of_cell,
            offsets,
            cells,
        }
    }

    /// Number of environments.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The topology the cells belong to.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Environment of a cell.
    ///
    /// # Panics
    /// Like all accessors here, if there is no such entity.
    pub fn of_cell(&self, cell: usize) -> usize {
        self.of_cell[cell] as usize
    }

    /// Environment of each cell.
    pub fn cell_environments(&self) -> &[u32] {
        &self.of_cell
    }

    /// Environment of a side: that of its cells.
    pub fn of_side(&self, side: usize) -> usize {
        self.of_cell(self.topology.side_cells(side)[0] as usize)
    }

    /// Whether a cell is in an environment: a filter for [`Search::among`] and
    /// [`Locator::find_among`] where environments overlap in space.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weft::geometry::{Grid2, Locator, Search};
    /// use weft::partition::Batch;
    ///
    /// let batch = Batch::new(Arc::new(Grid2::unit([2, 2])?), 3)?;
    /// let environments = batch.environments();
    /// let second = environments.filter(1);
    /// let search = Search::within(1.0).among(&second);
    /// let found = Locator::new(&batch).closest_with([0.1, 0.1, 0.0], &search);
    /// assert_eq!(found.map(|at| at.cell), Some(4));
    /// # Ok::<(), weft::geometry::GeometryError>(())
    /// ```
    ///
    /// [`Search::among`]: crate::geometry::Search::among
    /// [`Locator::find_among`]: crate::geometry::Locator::find_among
    pub fn filter(&self, environment: usize) -> impl Fn(usize) -> bool + Sync + '_ {
        move |cell| {
            let own = self.of_cell.get(cell);
            own.is_some_and(|&own| own as usize == environment)
        }
    }

    /// Cells of an environment, ascending.
    pub fn cells(&self, environment: usize) -> &[u32] {
        &self.cells[self.offsets[environment]..self.offsets[environment + 1]]
    }
}

/// The first of `count` entities that cells of two labels have, and two such cells.
fn shared<I: Iterator<Item = u32>>(
    labels: &[u32],
    count: usize,
    entities: impl Fn(usize) -> I,
) -> Option<(u32, [u32; 2])> {
    let mut first = vec![NULL; count];
    for cell in 0..labels.len() {
        for entity in entities(cell) {
            let other = &mut first[entity as usize];
            if *other == NULL {
                *other = cell as u32;
            }
            if labels[*other as usize] != labels[cell] {
                return Some((entity, [*other, cell as u32]));
            }
        }
    }
    None
}

/// The owned nodes of a part, environment by environment: first all nodes of environment 0, and so
/// on; last those that no environment has, because no cell touches them.
///
/// Within an environment the nodes are in their local order of the part. With
/// [`SpacePartition::whole`] this orders the nodes of a whole space, by number in each environment.
#[derive(Clone, Debug)]
pub struct EnvironmentOrder {
    nodes: Slots,
    positions: Vec<u32>,
    offsets: Vec<usize>,
    components: usize,
    of_node: Vec<u32>,
    next: Vec<usize>,
    overflow: usize,
}

impl EnvironmentOrder {
    /// Orders the owned nodes of a part.
    ///
    /// # Errors
    /// [`Stale`](PartitionError::Stale) unless both are on the same topology,
    /// [`Memory`](PartitionError::Memory).
    pub fn new(
        partition: &SpacePartition,
        environments: &Environments,
    ) -> Result<EnvironmentOrder, PartitionError> {
        EnvironmentOrder::with_slots(partition, environments, None)
    }

    /// As [`new`](Self::new) with a fixed number of slots. Where more are needed the first ones are
    /// kept, offsets end at the last slot, and [`overflow`](Self::overflow) says so.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn bounded(
        partition: &SpacePartition,
        environments: &Environments,
        capacity: usize,
    ) -> Result<EnvironmentOrder, PartitionError> {
        EnvironmentOrder::with_slots(partition, environments, Some(capacity))
    }

    fn with_slots(
        partition: &SpacePartition,
        environments: &Environments,
        capacity: Option<usize>,
    ) -> Result<EnvironmentOrder, PartitionError> {
        let mut order = EnvironmentOrder {
            nodes: Slots::bounded(capacity),
            positions: Vec::new(),
            offsets: vec![0],
            components: 1,
            of_node: Vec::new(),
            next: Vec::new(),
            overflow: 0,
        };
        order.rebuild(partition, environments)?;
        Ok(order)
    }

    /// Replaces everything. Reuses memory, and allocates nothing while no more is needed than at
    /// any time before.
    ///
    /// # Errors
    /// As [`new`](Self::new); the order is then as it was.
    pub fn rebuild(
        &mut self,
        partition: &SpacePartition,
        environments: &Environments,
    ) -> Result<(), PartitionError> {
        let space = partition.space();
        if !Arc::ptr_eq(space.topology(), &environments.topology) {
            return Err(PartitionError::Stale {
                what: "the space partition and the environments",
            });
        }
        let (total, count) = (space.node_count(), environments.count());
        let owned = partition.owned_nodes();
        reserve(&mut self.of_node, total)?;
        reserve(&mut self.positions, total)?;
        reserve(&mut self.offsets, count + 1)?;
        reserve(&mut self.next, count + 1)?;
        self.nodes.reserve(total)?;

        self.components = space.components();
        self.of_node.clear();
        self.of_node.resize(total, count as u32);
        for (cell, &environment) in environments.of_cell.iter().enumerate() {
            touched(space, cell, |node| self.of_node[node] = environment);
        }
        // Places by counting, with the nodes of no environment as one more at the end.
        self.next.clear();
        self.next.resize(count + 1, 0);
        for &node in owned {
            self.next[self.of_node[node as usize] as usize] += 1;
        }
        self.offsets.clear();
        let mut sum = 0;
        for next in &mut self.next {
            self.offsets.push(sum);
            sum += std::mem::replace(next, sum);
        }
        self.positions.clear();
        self.positions.resize(total, NULL);
        let of_node = &self.of_node;
        self.nodes.fill(std::iter::repeat_n(NULL, owned.len()));
        let room = self.nodes.live().len();
        for &node in owned {
            let next = &mut self.next[of_node[node as usize] as usize];
            if *next < room {
                self.positions[node as usize] = *next as u32;
                self.nodes.set(*next, node);
            }
            *next += 1;
        }
        self.offsets.iter_mut().for_each(|o| *o = (*o).min(room));
        if owned.len() > room {
            self.overflow = self.overflow.max(owned.len());
        }
        Ok(())
    }

    /// Number in the space of each node, by position.
    pub fn nodes(&self) -> &[u32] {
        self.nodes.live()
    }

    /// [`nodes`](Self::nodes), then [`NULL`] in empty slots if the order is bounded.
    pub fn node_slots(&self) -> &[u32] {
        self.nodes.all()
    }

    /// Position of a node of the space; `None` if it is not in the order.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn position(&self, node: usize) -> Option<usize> {
        let position = self.positions[node];
        (position != NULL).then_some(position as usize)
    }

    /// Where the nodes of each environment begin, and where the last one's end: one more than there
    /// are environments.
    pub fn node_offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// [`node_offsets`](Self::node_offsets) in degrees of freedom.
    pub fn dof_offsets(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.offsets.iter().map(|n| n * self.components)
    }

    /// Positions of the nodes of an environment.
    ///
    /// # Panics
    /// If there is no such environment.
    pub fn environment(&self, environment: usize) -> Range<usize> {
        self.offsets[environment]..self.offsets[environment + 1]
    }

    /// Positions of the nodes that no environment has.
    pub fn tail(&self) -> Range<usize> {
        self.offsets[self.offsets.len() - 1]..self.nodes().len()
    }

    /// The largest number of nodes that there was no room for, since the order was made or
    /// [`clear_overflow`](Self::clear_overflow) was called.
    pub fn overflow(&self) -> Option<usize> {
        (self.overflow > 0).then_some(self.overflow)
    }

    /// Forgets past overflows.
    pub fn clear_overflow(&mut self) {
        self.overflow = 0;
    }
}
