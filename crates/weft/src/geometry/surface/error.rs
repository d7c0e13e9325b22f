//! What keeps a mesh from being a closed surface.

use super::Topology;
use crate::element::CellKind;
use crate::geometry::LocateError;

/// Why a mesh has no signed distance.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SurfaceError {
    /// Other cells than straight triangles in space.
    #[error(
        "a signed distance needs straight triangles in a space of dimension 3, not {}s of degree {degree} in dimension {space_dim}",
        kind.name()
    )]
    NotTriangles {
        /// Kind of the cells.
        kind: CellKind,
        /// The space dimension.
        space_dim: usize,
        /// Degree of the map.
        degree: usize,
    },
    /// Edges with one triangle.
    #[error(
        "the surface is not closed: {} edges have only one triangle, the first between vertices {} and {}",
        edges.len(),
        first(edges)[0],
        first(edges)[1]
    )]
    Open {
        /// Vertices of the edges, the smaller first; in order of side number.
        edges: Vec<[u32; 2]>,
    },
    /// Edges whose triangles are oriented differently.
    #[error(
        "the triangles disagree about orientation at {} edges, the first between vertices {} and {}; reverse one of the two there",
        edges.len(),
        first(edges)[0],
        first(edges)[1]
    )]
    Orientation {
        /// Vertices of the edges, the smaller first; in order of side number.
        edges: Vec<[u32; 2]>,
    },
    /// Positions of other triangles.
    #[error(transparent)]
    Refit(#[from] LocateError),
}

fn first(edges: &[[u32; 2]]) -> [u32; 2] {
    edges.first().copied().unwrap_or_default()
}

pub(super) fn edges(topology: &Topology, sides: &[u32]) -> Vec<[u32; 2]> {
    sides
        .iter()
        .map(|&s| topology.edge_vertices(s as usize))
        .collect()
}
