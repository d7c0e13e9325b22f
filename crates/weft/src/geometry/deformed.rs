//! A geometry whose cells were moved: topology, tags and side numbering of another geometry,
//! positions of its own.

use super::check::{Judge, check_points, map_class};
use super::mesh::{check_cell_nodes, check_degree};
use super::{
    Geometry, GeometryError, GeometryId, GeometryMap, MapClass, NodeNumbering, SideMap, Tags,
    Topology,
};
use crate::element::CellKind;
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Debug)]
struct State {
    map: Arc<GeometryMap>,
    class: MapClass,
}

#[derive(Debug)]
struct Inner {
    id: GeometryId,
    base: Arc<dyn Geometry>,
    /// Of the base as it was: a base that is rebuilt later leaves this geometry alone.
    topology: Arc<Topology>,
    tags: Arc<Tags>,
    state: RwLock<State>,
}

/// A base geometry under a polynomial map of any degree in each cell. Cloning copies a handle.
///
/// [`crate::assemble::Deformation`] makes one from a field or an expression.
#[derive(Clone, Debug)]
pub struct Deformed(Arc<Inner>);

fn checked(base: &dyn Geometry, map: GeometryMap) -> Result<State, GeometryError> {
    let (kind, dim) = (base.cell_kind(), base.space_dim());
    check_points(dim, &map.nodes)?;
    Judge::new(kind, dim, map.degree).check(&map.nodes, &map.cell_nodes)?;
    let class = map_class(kind, map.degree, &map.nodes, &map.cell_nodes);
    Ok(State {
        map: Arc::new(map),
        class,
    })
}

impl Deformed {
    /// The cells of `base` as images under polynomials of degree `degree`: positions of nodes,
    /// and the nodes of each cell in Lagrange numbering on equispaced nodes.
    ///
    /// # Errors
    /// As for a curved mesh: positions that are not finite, cells turned over or flattened.
    pub fn new(
        base: Arc<dyn Geometry>,
        degree: usize,
        nodes: Vec<[f64; 3]>,
        cell_nodes: Vec<u32>,
    ) -> Result<Deformed, GeometryError> {
        let kind = base.cell_kind();
        let topology = base.topology();
        check_degree(degree)?;
        check_cell_nodes(kind, degree, nodes.len(), &cell_nodes)?;
        let per_cell = super::equispaced::node_count(kind, degree);
        let expected = topology.cell_count() * per_cell;
        if cell_nodes.len() != expected {
            return Err(GeometryError::PointCount {
                expected,
                found: cell_nodes.len(),
            });
        }
        let corners = super::equispaced::vertex_nodes(kind, degree);
        let mut vertex_nodes = vec![0; topology.vertex_count()];
        for (cell, nodes) in cell_nodes.chunks_exact(per_cell).enumerate() {
            for (&vertex, &corner) in topology.cell_vertices(cell).iter().zip(&corners) {
                vertex_nodes[vertex as usize] = nodes[corner];
            }
        }
        let map = GeometryMap {
            degree,
            nodes,
            cell_nodes,
            vertex_nodes: Some(vertex_nodes),
        };
        let state = RwLock::new(checked(&*base, map)?);
        let tags = base.tags();
        Ok(Deformed(Arc::new(Inner {
            id: GeometryId::unique(),
            base,
            topology,
            tags,
            state,
        })))
    }

    /// Move the nodes; all or nothing.
    ///
    /// # Errors
    /// As [`new`](Self::new), or if their number differs; the geometry is then as it was.
    pub fn move_nodes(&self, nodes: Vec<[f64; 3]>) -> Result<(), GeometryError> {
        let old = self.map();
        if nodes.len() != old.nodes.len() {
            return Err(GeometryError::PointCount {
                expected: old.nodes.len(),
                found: nodes.len(),
            });
        }
        let map = GeometryMap {
            degree: old.degree,
            nodes,
            cell_nodes: old.cell_nodes.clone(),
            vertex_nodes: old.vertex_nodes.clone(),
        };
        let state = checked(&*self.0.base, map)?;
        *self.0.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        Ok(())
    }

    /// The geometry that was moved.
    pub fn base(&self) -> &Arc<dyn Geometry> {
        &self.0.base
    }
}

impl Geometry for Deformed {
    fn id(&self) -> GeometryId {
        self.0.id
    }

    fn cell_kind(&self) -> CellKind {
        self.0.base.cell_kind()
    }

    fn space_dim(&self) -> usize {
        self.0.base.space_dim()
    }

    fn topology(&self) -> Arc<Topology> {
        self.0.topology.clone()
    }

    fn tags(&self) -> Arc<Tags> {
        self.0.tags.clone()
    }

    fn map(&self) -> Arc<GeometryMap> {
        self.0
            .state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .map
            .clone()
    }

    fn map_class(&self) -> MapClass {
        self.0
            .state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .class
    }

    fn side_maps(&self, topology: &Topology, side: usize) -> [SideMap; 2] {
        self.0.base.side_maps(topology, side)
    }

    fn nodes_may_hang(&self) -> bool {
        self.0.base.nodes_may_hang()
    }

    fn node_numbering(&self, degree: usize) -> Option<NodeNumbering> {
        self.0.base.node_numbering(degree)
    }

    fn lattice(&self) -> Option<[usize; 3]> {
        self.0.base.lattice()
    }
}
