//! Numbering the geometry nodes of a curved mesh on a topology.
//!
//! Nodes are numbered vertices first (node `v` is vertex `v`), then along edges, on sides of
//! three-dimensional cells, and inside cells. Where cells share an edge or side, its nodes are
//! put in one order by the weights of the vertices at them, read in order of vertex number.

use super::equispaced;
use super::{GeometryError, GeometryMap, Topology};
use crate::element::CellKind;

/// Weights of the vertices at each node of degree `p`: the degree 1 basis there, as integers
/// with the sum [`unit`].
pub(super) fn weights(kind: CellKind, p: usize) -> Vec<Vec<usize>> {
    let weight = |v: &[f64; 3], place: &[usize; 3]| {
        if kind.is_tensor() {
            let along = |d: usize| if v[d] == 1.0 { place[d] } else { p - place[d] };
            (0..kind.dim()).map(along).product()
        } else {
            match (0..3).find(|&d| v[d] == 1.0) {
                Some(d) => place[d],
                None => p - place.iter().sum::<usize>(),
            }
        }
    };
    let places = equispaced::places(kind, p);
    let at = |place| kind.vertices().iter().map(|v| weight(v, place)).collect();
    places.iter().map(at).collect()
}

/// What the weights of one node add up to.
pub(super) fn unit(kind: CellKind, p: usize) -> usize {
    match kind.is_tensor() {
        true => p.pow(kind.dim() as u32),
        false => p,
    }
}

/// Local nodes inside one entity of the cell, and its local vertices.
struct Entity {
    nodes: Vec<usize>,
    vertices: Vec<usize>,
}

impl Entity {
    fn new(weights: &[Vec<usize>], vertices: &[u8]) -> Entity {
        let inside = |w: &[usize]| {
            (0..w.len()).all(|v| (w[v] > 0) == vertices.iter().any(|&u| usize::from(u) == v))
        };
        Entity {
            nodes: (0..weights.len())
                .filter(|&n| inside(&weights[n]))
                .collect(),
            vertices: vertices.iter().map(|&v| v.into()).collect(),
        }
    }

    /// The nodes in the order that all cells at this entity agree on.
    fn ordered(&self, weights: &[Vec<usize>], cell: &[u32]) -> Vec<usize> {
        let mut vertices = self.vertices.clone();
        vertices.sort_unstable_by_key(|&v| cell[v]);
        let mut nodes = self.nodes.clone();
        nodes.sort_by_cached_key(|&n| -> Vec<usize> {
            vertices.iter().map(|&v| weights[n][v]).collect()
        });
        nodes
    }
}

/// Numbers the nodes of degree `p` of each cell (cells × nodes per cell, Lagrange numbering);
/// also returns how many there are.
pub(super) fn number_nodes(t: &Topology, p: usize) -> Result<(Vec<u32>, usize), GeometryError> {
    let kind = t.cell_kind();
    let weights = weights(kind, p);
    let n = weights.len();
    let corners = equispaced::vertex_nodes(kind, p);
    let all: Vec<u8> = (0..kind.vertex_count() as u8).collect();
    let edges: Vec<Entity> = match kind.dim() {
        1 => Vec::new(),
        _ => kind
            .edges()
            .iter()
            .map(|e| Entity::new(&weights, e))
            .collect(),
    };
    let sides: Vec<Entity> = match kind.dim() {
        3 => (0..kind.side_count())
            .map(|s| Entity::new(&weights, kind.side_vertices(s)))
            .collect(),
        _ => Vec::new(),
    };
    let inside = Entity::new(&weights, &all);
    let per = |entities: &[Entity]| entities.first().map_or(0, |e| e.nodes.len());
    let edge_base = t.vertex_count();
    let side_base = edge_base + t.edge_count() * per(&edges);
    let cell_base = side_base + t.side_count() * per(&sides);
    let total = cell_base + t.cell_count() * inside.nodes.len();
    if total > u32::MAX as usize {
        return Err(GeometryError::TooMany {
            what: "geometry nodes",
            count: total as u128,
            limit: u32::MAX as u128,
        });
    }
    let mut numbers = vec![0u32; t.cell_count() * n];
    for (cell, out) in numbers.chunks_exact_mut(n).enumerate() {
        let vertices = t.cell_vertices(cell);
        for (v, &node) in corners.iter().enumerate() {
            out[node] = vertices[v];
        }
        let mut fill = |entity: &Entity, base: usize, index: usize| {
            let first = base + index * entity.nodes.len();
            for (rank, node) in entity.ordered(&weights, vertices).into_iter().enumerate() {
                out[node] = (first + rank) as u32;
            }
        };
        for (entity, &edge) in edges.iter().zip(t.cell_edges(cell)) {
            fill(entity, edge_base, edge as usize);
        }
        for (entity, &side) in sides.iter().zip(t.cell_sides(cell)) {
            fill(entity, side_base, side as usize);
        }
        fill(&inside, cell_base, cell);
    }
    Ok((numbers, total))
}

/// Positions under the map of each of its cells: `values` is the basis of the map's degree at
/// some points, point × node.
pub(super) fn evaluate(map: &GeometryMap, values: &[f64], n: usize, cell: usize) -> Vec<[f64; 3]> {
    let cell_nodes = &map.cell_nodes[cell * n..(cell + 1) * n];
    let at = |phi: &[f64]| {
        let mut x = [0.0; 3];
        for (&node, &value) in cell_nodes.iter().zip(phi) {
            let y = map.nodes[node as usize];
            (0..3).for_each(|d| x[d] += value * y[d]);
        }
        x
    };
    values.chunks_exact(n).map(at).collect()
}
