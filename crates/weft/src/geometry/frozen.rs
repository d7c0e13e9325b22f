//! A geometry as it was at one moment.

use std::sync::Arc;

use super::{
    Geometry, GeometryId, GeometryMap, MapClass, NodeNumbering, SideMap, Snapshot, Tags, Topology,
};
use crate::element::CellKind;

/// A geometry that answers from one snapshot, whatever happens to it meanwhile.
#[derive(Debug)]
pub(crate) struct Frozen<'a> {
    now: &'a dyn Geometry,
    then: Snapshot,
}

impl<'a> Frozen<'a> {
    pub fn new(geometry: &'a dyn Geometry) -> Frozen<'a> {
        Frozen::at(geometry, geometry.snapshot())
    }

    /// The geometry at an earlier snapshot of it.
    pub fn at(geometry: &'a dyn Geometry, then: Snapshot) -> Frozen<'a> {
        Frozen {
            now: geometry,
            then,
        }
    }
}

impl Geometry for Frozen<'_> {
    fn id(&self) -> GeometryId {
        self.now.id()
    }
    fn cell_kind(&self) -> CellKind {
        self.now.cell_kind()
    }
    fn space_dim(&self) -> usize {
        self.now.space_dim()
    }
    fn topology(&self) -> Arc<Topology> {
        self.then.topology.clone()
    }
    fn tags(&self) -> Arc<Tags> {
        self.then.tags.clone()
    }
    fn map(&self) -> Arc<GeometryMap> {
        self.then.map.clone()
    }
    fn map_class(&self) -> MapClass {
        self.then.class
    }
    fn side_maps(&self, topology: &Topology, side: usize) -> [SideMap; 2] {
        self.now.side_maps(topology, side)
    }
    fn nodes_may_hang(&self) -> bool {
        self.now.nodes_may_hang()
    }
    fn node_numbering(&self, topology: &Topology, degree: usize) -> Option<NodeNumbering> {
        self.now.node_numbering(topology, degree)
    }
    fn lattice_cells(&self, topology: &Topology) -> Option<Vec<[i32; 4]>> {
        self.now.lattice_cells(topology)
    }
    fn lattice(&self) -> Option<[usize; 3]> {
        self.now.lattice()
    }
}
