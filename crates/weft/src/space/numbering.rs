//! Numbering of the nodes of a space.
//!
//! Continuous Lagrange spaces on grids use one lattice, last axis fastest. Others are
//! grouped: vertices, edges, faces, interiors (on quads: vertices, interiors, edges), and
//! the order inside an entity follows its global vertex numbers, so that any degree conforms.
//! Nodes of splines are the vertices of a lattice, those around the cells included.
//! Geometries whose cells meet in unequal sizes number the nodes themselves, hanging ones last.

use super::SpaceError;
use crate::element::{CellKind, Element, ElementFamily, Lagrange, NodeFamily};
use crate::geometry::{Geometry, Hanging, NodeNumbering, Topology};

#[derive(Debug)]
pub(crate) struct Nodes {
    /// Nodes with degrees of freedom.
    pub count: usize,
    /// Hanging nodes have numbers from `count` on.
    pub cell_nodes: Vec<u32>,
    pub hanging: Hanging,
}

impl Nodes {
    pub fn new(
        geometry: &dyn Geometry,
        topology: &Topology,
        element: &Element,
        shared: bool,
    ) -> Result<Nodes, SpaceError> {
        let cells = topology.cell_count();
        let n = element.node_count();
        if !shared {
            let count = check(cells as u64 * n as u64)?;
            return Ok(Nodes {
                count,
                cell_nodes: (0..count as u32).collect(),
                hanging: Hanging::default(),
            });
        }
        match element.lagrange() {
            Some(lagrange) => {
                if let Some(nodes) = prescribed(geometry, topology, lagrange)? {
                    return Ok(nodes);
                }
            }
            None if element.family() == ElementFamily::Spline => {
                return spline_nodes(geometry, topology, element);
            }
            None if geometry.nodes_may_hang() => {
                let vertices = geometry.node_numbering(topology, 1).unwrap_or_default();
                if vertices.cell_nodes.is_empty() && cells > 0 {
                    return Err(SpaceError::MeshRebuilt);
                }
                if !vertices.hanging.is_empty() {
                    return Err(SpaceError::Hanging(element.name()));
                }
            }
            None => {}
        }
        let kind = element.kind();
        let per = |dim: usize| element.interior_count(dim) as u64;
        let face_count = if kind.dim() == 3 {
            topology.side_count()
        } else {
            0
        };
        let edge_count = if kind.dim() > 1 && per(1) > 0 {
            topology.edge_count()
        } else {
            0
        };
        let sizes = [
            topology.vertex_count() as u64 * per(0),
            edge_count as u64 * per(1),
            face_count as u64 * if kind.dim() == 3 { per(2) } else { 0 },
            cells as u64 * per(kind.dim()),
        ];
        let count = check(sizes.iter().sum())?;
        // Group offsets for vertices, edges, faces, interiors.
        let mut start = [
            0,
            sizes[0],
            sizes[0] + sizes[1],
            sizes[0] + sizes[1] + sizes[2],
        ];
        if kind == CellKind::Quad {
            start[3] = sizes[0];
            start[1] = sizes[0] + sizes[3];
        }
        let entities: Vec<_> = (0..n).map(|i| element.entity(i)).collect();
        let mut cell_nodes = Vec::with_capacity(cells * n);
        for cell in 0..cells {
            let vertices = topology.cell_vertices(cell);
            for (i, entity) in entities.iter().enumerate() {
                let (group, index) = match entity.dim as usize {
                    0 => (0, vertices[entity.index as usize] as u64),
                    d if d == kind.dim() => (3, cell as u64),
                    1 => (1, topology.cell_edges(cell)[entity.index as usize] as u64),
                    _ => (2, topology.cell_sides(cell)[entity.index as usize] as u64),
                };
                let slot = element.slot(i, vertices) as u64;
                cell_nodes.push((start[group] + index * per(entity.dim as usize) + slot) as u32);
            }
        }
        Ok(Nodes {
            count,
            cell_nodes,
            hanging: Hanging::default(),
        })
    }

    /// Positions of the nodes through the map of the first cell that holds each; `at` are their
    /// reference coordinates.
    pub fn positions(&self, geometry: &dyn Geometry, at: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let map = geometry.map();
        let basis = crate::geometry::map_element(geometry.cell_kind(), map.degree);
        let table = basis.tabulate(at);
        let n = at.len();
        let m = basis.node_count();
        let mut positions = vec![[f64::NAN; 3]; self.count + self.hanging.len()];
        for (cell, nodes) in self.cell_nodes.chunks_exact(n).enumerate() {
            let corners = &map.cell_nodes[cell * m..(cell + 1) * m];
            for (i, &node) in nodes.iter().enumerate() {
                if positions[node as usize][0].is_nan() {
                    let mut x = [0.0; 3];
                    for (k, &corner) in corners.iter().enumerate() {
                        let weight = table.values[i * m + k];
                        for d in 0..3 {
                            x[d] += weight * map.nodes[corner as usize][d];
                        }
                    }
                    positions[node as usize] = x;
                }
            }
        }
        positions.truncate(self.count);
        positions
    }
}

/// The numbering of Lagrange nodes that a geometry prescribes, or that of a lattice.
fn prescribed(
    geometry: &dyn Geometry,
    topology: &Topology,
    element: &Lagrange,
) -> Result<Option<Nodes>, SpaceError> {
    let degree = element.degree();
    if let Some(numbering) = geometry.node_numbering(topology, degree) {
        let NodeNumbering {
            count,
            cell_nodes,
            hanging,
        } = numbering;
        let equispaced = degree <= 2 || element.family() == NodeFamily::Equispaced;
        if !hanging.is_empty() && !equispaced {
            return Err(SpaceError::NeedsEquispaced);
        }
        check(count as u64 + hanging.len() as u64)?;
        if cell_nodes.len() != topology.cell_count() * element.node_count() {
            return Err(SpaceError::MeshRebuilt);
        }
        return Ok(Some(Nodes {
            count,
            cell_nodes,
            hanging,
        }));
    }
    let dim = element.kind().dim();
    let lattice = geometry.lattice();
    lattice
        .map(|cells| lattice_nodes(dim, degree, cells))
        .transpose()
}

/// Numbers the lattice vertices whose splines reach into a cell: environment by environment, last
/// axis fastest. A grid's are so one larger lattice.
fn spline_nodes(
    geometry: &dyn Geometry,
    topology: &Topology,
    element: &Element,
) -> Result<Nodes, SpaceError> {
    let Some(cells) = geometry.lattice_cells(topology) else {
        return Err(SpaceError::NoLattice(element.name()));
    };
    if cells.len() != topology.cell_count() {
        return Err(SpaceError::MeshRebuilt);
    }
    let dim = element.kind().dim();
    // Vertices around the cells, grown along one axis after the other.
    let mut vertices = cells.clone();
    for axis in 1..=dim {
        let around = vertices.iter().flat_map(|&v| {
            (-1..3).map(move |step| {
                let mut to = v;
                to[axis] += step;
                to
            })
        });
        vertices = around.collect();
        vertices.sort_unstable();
        vertices.dedup();
    }
    let count = check(vertices.len() as u64)?;
    let n = element.node_count();
    let mut cell_nodes = Vec::with_capacity(cells.len() * n);
    for cell in cells {
        for x in element.nodes().iter().step_by(4) {
            let mut first = cell;
            for d in 0..dim {
                first[d + 1] += x[d] as i32;
            }
            // The four along the last axis follow each other.
            let at = vertices.partition_point(|v| *v < first) as u32;
            cell_nodes.extend(at..at + 4);
        }
    }
    Ok(Nodes {
        count,
        cell_nodes,
        hanging: Hanging::default(),
    })
}

pub(super) fn check(count: u64) -> Result<usize, SpaceError> {
    if count >= u32::MAX as u64 {
        Err(SpaceError::TooManyNodes(count))
    } else {
        Ok(count as usize)
    }
}

fn lattice_nodes(dim: usize, degree: usize, cells: [usize; 3]) -> Result<Nodes, SpaceError> {
    let mut size = [1usize; 3];
    let mut total = 1u64;
    for d in 0..dim {
        size[d] = cells[d] * degree + 1;
        total = total.saturating_mul(size[d] as u64);
    }
    let count = check(total)?;
    let local = |d: usize| if d < dim { degree + 1 } else { 1 };
    let mut cell_nodes = Vec::new();
    for cx in 0..cells[0] {
        for cy in 0..if dim > 1 { cells[1] } else { 1 } {
            for cz in 0..if dim > 2 { cells[2] } else { 1 } {
                for i in 0..local(0) {
                    for j in 0..local(1) {
                        for k in 0..local(2) {
                            let x = cx * degree + i;
                            let y = cy * degree + j;
                            let z = cz * degree + k;
                            cell_nodes.push(((x * size[1] + y) * size[2] + z) as u32);
                        }
                    }
                }
            }
        }
    }
    Ok(Nodes {
        count,
        cell_nodes,
        hanging: Hanging::default(),
    })
}
