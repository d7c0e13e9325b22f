//! Which nodes lie on which vertex, edge, face or interior, and in which order neighbours see them.
//!
//! The main type is [`Entities`]. The invariant that makes spaces conforming: the slot of a node
//! among the interior nodes of its edge or face depends on global vertex numbers only, never on the
//! cell from which it is seen.

use super::CellKind;
use super::lattice::{LatticePoint, from_side, lattice, local_position, support};

/// A vertex (`dim` 0), edge (1), face (2) or cell (3, or the cell's own dimension).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entity {
    /// Dimension of the entity.
    pub dim: u8,
    /// Local number among the cell's entities of that dimension.
    pub index: u8,
}

/// The nodes of an element sorted by entity.
#[derive(Clone, Debug)]
pub(super) struct Entities {
    kind: CellKind,
    /// Degree of the lattice of an entity, by dimension.
    degrees: [usize; 4],
    /// For each node its entity and its position in the entity's lattice.
    nodes: Vec<(Entity, [u8; 3])>,
    /// For each node its place among the interior nodes of its entity, in local order.
    local_slots: Vec<u16>,
    /// Interior nodes of each entity, dimension by dimension, ascending.
    interiors: Vec<Vec<u16>>,
    /// Nodes on each side, in the side's own Lagrange numbering.
    closures: Vec<Vec<u16>>,
}

impl Entities {
    pub(super) fn new(kind: CellKind, degree: usize) -> Entities {
        let cell = Entity {
            dim: kind.dim() as u8,
            index: 0,
        };
        let mut entities = Entities {
            kind,
            degrees: [degree; 4],
            nodes: Vec::new(),
            local_slots: Vec::new(),
            interiors: vec![Vec::new(); (0..=kind.dim()).map(|d| kind.entity_count(d)).sum()],
            closures: vec![Vec::new(); kind.side_count()],
        };
        if degree == 0 {
            entities.push(cell, [0; 3]);
            return entities;
        }
        let points = lattice(kind, degree);
        for &point in &points {
            let mask = support(kind, degree, point);
            let entity = entity_of(kind, mask).unwrap_or(cell);
            let vertices = kind.entity_vertices(entity.dim as usize, entity.index as usize);
            entities.push(entity, local_position(kind, degree, vertices, point));
        }
        let mut sorted: Vec<(LatticePoint, u16)> = points.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        for side in 0..kind.side_count() {
            for position in lattice(kind.side_kind(), degree) {
                let point = from_side(kind, degree, side, position);
                if let Ok(at) = sorted.binary_search_by_key(&point, |&(p, _)| p) {
                    entities.closures[side].push(sorted[at].1);
                }
            }
        }
        entities
    }

    /// Nodes at given entities and positions in lattices of the given degrees, by dimension of the
    /// entity; `closures` are the nodes on each side.
    pub(super) fn of_nodes(
        kind: CellKind,
        degrees: [usize; 4],
        places: &[(Entity, [u8; 3])],
        closures: Vec<Vec<u16>>,
    ) -> Entities {
        let mut entities = Entities {
            kind,
            degrees,
            nodes: Vec::new(),
            local_slots: Vec::new(),
            interiors: vec![Vec::new(); (0..=kind.dim()).map(|d| kind.entity_count(d)).sum()],
            closures,
        };
        for &(entity, position) in places {
            entities.push(entity, position);
        }
        entities
    }

    fn push(&mut self, entity: Entity, position: [u8; 3]) {
        let node = self.nodes.len() as u16;
        let at = self.interior_index(entity.dim as usize) + entity.index as usize;
        self.local_slots.push(self.interiors[at].len() as u16);
        self.interiors[at].push(node);
        self.nodes.push((entity, position));
    }

    fn interior_index(&self, dim: usize) -> usize {
        (0..dim).map(|d| self.kind.entity_count(d)).sum()
    }

    pub(super) fn entity(&self, node: usize) -> Entity {
        self.nodes[node].0
    }

    pub(super) fn interior(&self, dim: usize, index: usize) -> &[u16] {
        if index < self.kind.entity_count(dim) {
            &self.interiors[self.interior_index(dim) + index]
        } else {
            &[]
        }
    }

    pub(super) fn closure(&self, side: usize) -> &[u16] {
        &self.closures[side]
    }

    pub(super) fn slot(&self, node: usize, cell_vertices: &[u32]) -> usize {
        let (entity, position) = self.nodes[node];
        let (dim, index) = (entity.dim as usize, entity.index as usize);
        if dim == self.kind.dim() || dim == 0 {
            return self.local_slots[node] as usize;
        }
        let vertices = self.kind.entity_vertices(dim, index);
        let global = |i: usize| cell_vertices[vertices[i] as usize];
        let p = self.degrees[dim];
        match vertices.len() {
            2 => {
                let steps = position[0] as usize;
                if global(0) < global(1) {
                    steps - 1
                } else {
                    p - 1 - steps
                }
            }
            3 => triangle_slot(p, position, [global(0), global(1), global(2)]),
            _ => quad_slot(p, position, [global(0), global(1), global(2), global(3)]),
        }
    }
}

/// Row-major place of an interior lattice point of a triangle in the lattice of its sorted vertices.
fn triangle_slot(degree: usize, position: [u8; 3], global: [u32; 3]) -> usize {
    let mut order = [0, 1, 2];
    order.sort_unstable_by_key(|&i| global[i]);
    let steps = |i: usize| position[order[i]] as usize - 1;
    let (row, column) = (steps(2), steps(1));
    // Rows of degree - 2, degree - 3, ... interior points precede.
    let before: usize = (0..row).map(|r| degree - 2 - r).sum();
    before + column
}

/// Row-major place of an interior lattice point of a quad in the lattice whose origin is the
/// smallest vertex and whose first axis leads to the smaller neighbour of that vertex.
fn quad_slot(degree: usize, position: [u8; 3], global: [u32; 4]) -> usize {
    let (i, j) = (position[0] as usize, position[1] as usize);
    let origin = (1..4).fold(0, |m, v| if global[v] < global[m] { v } else { m });
    // Steps from the origin towards the next and the previous vertex of the cycle.
    let (next, previous) = match origin {
        0 => (i, j),
        1 => (j, degree - i),
        2 => (degree - i, degree - j),
        _ => (degree - j, i),
    };
    let (first, second) = if global[(origin + 1) % 4] < global[(origin + 3) % 4] {
        (next, previous)
    } else {
        (previous, next)
    };
    (first - 1) * (degree - 1) + second - 1
}

/// The entity whose vertices are those of `mask`.
fn entity_of(kind: CellKind, mask: u8) -> Option<Entity> {
    (0..=kind.dim()).find_map(|dim| {
        (0..kind.entity_count(dim)).find_map(|index| {
            let vertices = kind.entity_vertices(dim, index);
            let own = vertices.iter().fold(0_u8, |m, &v| m | 1 << v);
            (own == mask).then_some(Entity {
                dim: dim as u8,
                index: index as u8,
            })
        })
    })
}
