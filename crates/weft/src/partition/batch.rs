//! [`Batch`]: copies of one geometry that know nothing of one another.

use std::sync::{Arc, PoisonError, RwLock};

use super::environment::Environments;
use crate::element::{Element, NodeFamily};
use crate::geometry::{
    Geometry, GeometryError, GeometryId, GeometryMap, Hanging, MapClass, NodeNumbering, SideMap,
    Snapshot, Tags, Topology, side_map,
};
use crate::space::{Nodes, SpaceError};

#[derive(Debug)]
pub(super) struct State {
    pub base: Snapshot,
    all: Snapshot,
}

impl State {
    fn new(
        base: &dyn Geometry,
        offsets: &[[f64; 3]],
        old: Option<&State>,
    ) -> Result<State, GeometryError> {
        let base = base.snapshot();
        let old_topology = old.filter(|old| Arc::ptr_eq(&old.base.topology, &base.topology));
        let topology = match old_topology {
            Some(old) => old.all.topology.clone(),
            None => Arc::new(base.topology.repeated(offsets.len())?),
        };
        let tags = match old_topology.filter(|old| Arc::ptr_eq(&old.base.tags, &base.tags)) {
            Some(old) => old.all.tags.clone(),
            None => Arc::new(base.tags.repeated(&base.topology, offsets.len())),
        };
        let map = match old.filter(|old| Arc::ptr_eq(&old.base.map, &base.map)) {
            Some(old) => old.all.map.clone(),
            None => Arc::new(base.map.repeated(offsets)?),
        };
        let all = Snapshot {
            topology,
            tags,
            map,
            class: base.class,
        };
        Ok(State { base, all })
    }
}

#[derive(Debug)]
struct Inner {
    id: GeometryId,
    base: Arc<dyn Geometry>,
    offsets: Vec<[f64; 3]>,
    state: RwLock<Arc<State>>,
}

/// Several copies of a base geometry as one: environments that share no side and no node, for
/// solving many small problems at once. Cloning copies a handle.
///
/// Entity `e` of copy `k` has the number `k × count + e`, where `count` is that of the base; so it is
/// with cells, vertices, sides, edges, and with the nodes of every space, which in each copy are
/// numbered as in a space on the base. (Hanging nodes come after all others, copy by copy.)
/// Tags keep their names and hold the entities of all copies.
///
/// A batch is a snapshot of its base; [`refresh`](Batch::refresh) follows changes. Points are found
/// by [`BatchLocator`](super::BatchLocator).
///
/// Only the present topology can be numbered: a continuous space on a deformed batch is refused
/// once the batch has gone on to other cells.
#[derive(Clone, Debug)]
pub struct Batch(Arc<Inner>);

impl Batch {
    /// `copies` copies in the same place.
    ///
    /// # Errors
    /// [`ZeroCount`](GeometryError::ZeroCount) for none,
    /// [`TooMany`](GeometryError::TooMany) past 32-bit indices.
    pub fn new(base: Arc<dyn Geometry>, copies: usize) -> Result<Batch, GeometryError> {
        if copies > u32::MAX as usize {
            return Err(GeometryError::TooMany {
                what: "copies",
                count: copies as u128,
                limit: u32::MAX as u128,
            });
        }
        Batch::check_cells(&*base, copies)?;
        Batch::moved(base, vec![[0.0; 3]; copies])
    }

    /// One copy for each offset, moved by it.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`BadCoordinate`](GeometryError::BadCoordinate) and
    /// [`OutsideSpace`](GeometryError::OutsideSpace), with the copy as the point, for an offset that is
    /// not finite or leaves the space.
    pub fn moved(base: Arc<dyn Geometry>, offsets: Vec<[f64; 3]>) -> Result<Batch, GeometryError> {
        if offsets.is_empty() {
            return Err(GeometryError::ZeroCount {
                what: "the number of copies",
            });
        }
        Batch::check_cells(&*base, offsets.len())?;
        let space_dim = base.space_dim();
        for (point, &position) in offsets.iter().enumerate() {
            if !position.iter().all(|x| x.abs() <= 1e100) {
                return Err(GeometryError::BadCoordinate { point, position });
            }
            if position[space_dim..].iter().any(|&x| x != 0.0) {
                return Err(GeometryError::OutsideSpace {
                    point,
                    position,
                    space_dim,
                });
            }
        }
        let state = State::new(&*base, &offsets, None)?;
        Ok(Batch(Arc::new(Inner {
            id: GeometryId::unique(),
            base,
            offsets,
            state: RwLock::new(Arc::new(state)),
        })))
    }

    /// Refuses a number of copies that cannot be numbered before anything of that size is made.
    fn check_cells(base: &dyn Geometry, copies: usize) -> Result<(), GeometryError> {
        let count = base.topology().cell_count().max(1) as u128 * copies as u128;
        let limit = u32::MAX as u128;
        if count <= limit {
            return Ok(());
        }
        Err(GeometryError::TooMany {
            what: "cells",
            count,
            limit,
        })
    }

    /// Takes over the present state of the base; tells whether anything had changed. Spaces and
    /// partitions made before stay with the state they were made on.
    ///
    /// # Errors
    /// [`TooMany`](GeometryError::TooMany); the batch is then as it was.
    pub fn refresh(&self) -> Result<bool, GeometryError> {
        let old = self.state();
        let new = State::new(&*self.0.base, &self.0.offsets, Some(&old))?;
        let changed = !(Arc::ptr_eq(&old.all.topology, &new.all.topology)
            && Arc::ptr_eq(&old.all.tags, &new.all.tags)
            && Arc::ptr_eq(&old.all.map, &new.all.map));
        *self.0.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        Ok(changed)
    }

    pub(super) fn state(&self) -> Arc<State> {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        state.clone()
    }

    /// The geometry that is copied.
    pub fn base(&self) -> &Arc<dyn Geometry> {
        &self.0.base
    }

    /// Number of copies.
    pub fn copies(&self) -> usize {
        self.0.offsets.len()
    }

    /// How far each copy is moved.
    pub fn offsets(&self) -> &[[f64; 3]] {
        &self.0.offsets
    }

    /// Which copy a cell is in. There must be such a cell.
    pub fn cell_environment(&self, cell: usize) -> usize {
        cell / self.state().base.topology.cell_count().max(1)
    }

    /// The copies as environments.
    pub fn environments(&self) -> Environments {
        let state = self.state();
        let per_copy = state.base.topology.cell_count();
        let copies = self.copies() as u32;
        let labels = (0..copies).flat_map(|k| std::iter::repeat_n(k, per_copy));
        Environments::known(state.all.topology.clone(), labels.collect(), copies)
    }
}

/// The numbering of `base` for each of `copies` copies.
fn repeated(base: &Nodes, copies: usize) -> NodeNumbering {
    let (free, hung) = (base.count as u64, base.hanging.len() as u64);
    let total = free * copies as u64;
    if (free + hung) * copies as u64 >= u64::from(u32::MAX) {
        return too_many(total);
    }
    let mut numbering = NodeNumbering {
        count: total as usize,
        cell_nodes: Vec::with_capacity(copies * base.cell_nodes.len()),
        hanging: Hanging::default(),
    };
    for k in 0..copies as u64 {
        let shift = |node: u32| match u64::from(node) {
            node if node < free => (k * free + node) as u32,
            node => (total + k * hung + node - free) as u32,
        };
        let nodes = base.cell_nodes.iter().map(|&node| shift(node));
        numbering.cell_nodes.extend(nodes);
        for h in 0..hung as usize {
            let masters = base.hanging.masters(h);
            numbering
                .hanging
                .push(masters.map(|(node, weight)| (shift(node), weight)));
        }
    }
    numbering
}

/// More nodes than can be numbered: the space refuses the count, there is no need to write out
/// the nodes.
fn too_many(count: u64) -> NodeNumbering {
    NodeNumbering {
        count: usize::try_from(count.max(u64::from(u32::MAX))).unwrap_or(usize::MAX),
        ..NodeNumbering::default()
    }
}

impl Geometry for Batch {
    fn id(&self) -> GeometryId {
        self.0.id
    }

    fn cell_kind(&self) -> crate::element::CellKind {
        self.0.base.cell_kind()
    }

    fn space_dim(&self) -> usize {
        self.0.base.space_dim()
    }

    fn topology(&self) -> Arc<Topology> {
        self.state().all.topology.clone()
    }

    fn tags(&self) -> Arc<Tags> {
        self.state().all.tags.clone()
    }

    fn map(&self) -> Arc<GeometryMap> {
        self.state().all.map.clone()
    }

    fn map_class(&self) -> MapClass {
        self.state().all.class
    }

    fn snapshot(&self) -> Snapshot {
        self.state().all.clone()
    }

    fn side_maps(&self, topology: &Topology, side: usize) -> [SideMap; 2] {
        let state = self.state();
        if !std::ptr::eq(topology, &*state.all.topology) {
            // Of an earlier base. One whose sides are parts of faces never changes its cells.
            return side_map::of_topology(topology, side);
        }
        let base = &state.base.topology;
        self.0.base.side_maps(base, side % base.side_count())
    }

    fn nodes_may_hang(&self) -> bool {
        self.0.base.nodes_may_hang()
    }

    fn node_numbering(&self, topology: &Topology, degree: usize) -> Option<NodeNumbering> {
        let state = self.state();
        if !std::ptr::eq(topology, &*state.all.topology) {
            return Some(NodeNumbering::default());
        }
        // Numbers do not depend on where the nodes lie in the cell. A degree that no element has
        // is refused when the space on the batch is made.
        let element =
            Element::new_lagrange(self.cell_kind(), degree, NodeFamily::Equispaced).ok()?;
        if degree == 0 {
            return None;
        }
        let base = &state.base.topology;
        Some(match Nodes::new(&*self.0.base, base, &element, true) {
            Ok(nodes) => repeated(&nodes, self.copies()),
            Err(SpaceError::TooManyNodes(count)) => too_many(count),
            Err(_) => NodeNumbering::default(),
        })
    }
}
