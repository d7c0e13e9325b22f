//! Spaces of vector-valued elements: numbering by edges, faces and cells, and how each cell sees
//! its edges and faces.

use super::numbering::check;
use super::{Nodes, SpaceError};
use crate::element::{Orientations, VectorElement, orientation_bits};
use crate::geometry::{Geometry, Hanging, Topology};

/// The functions of one edge or face of a cell.
#[derive(Clone, Copy, Debug)]
struct SharedEntity {
    /// First of its functions.
    first: u16,
    dim: u8,
    /// Where its bits are in the orientation of a cell.
    shift: u8,
}

/// A vector-valued element with the orientation of every cell.
#[derive(Clone, Debug)]
pub(crate) struct VectorBasis {
    element: VectorElement,
    shared: Vec<SharedEntity>,
    orientations: Vec<u32>,
    /// Functions on each side, those on its edges included.
    side_functions: Vec<Vec<u16>>,
}

impl VectorBasis {
    /// The basis with its numbering on `topology`.
    pub fn new(
        geometry: &dyn Geometry,
        topology: &Topology,
        element: VectorElement,
    ) -> Result<(VectorBasis, Nodes), SpaceError> {
        let kind = element.kind();
        if geometry.space_dim() != kind.dim() {
            return Err(SpaceError::VectorOnSurface {
                element: element.family().name(),
                cells: kind.dim(),
                space: geometry.space_dim(),
            });
        }
        if geometry.nodes_may_hang() {
            return Err(SpaceError::VectorHanging(element.family().name()));
        }
        let mut shared = Vec::new();
        let mut shift = 0;
        let mut first = 0;
        for dim in 1..kind.dim() {
            let count = element.interior_count(dim);
            for _ in 0..kind.entity_count(dim) {
                if count > 0 {
                    shared.push(SharedEntity {
                        first: first as u16,
                        dim: dim as u8,
                        shift: shift as u8,
                    });
                }
                shift += orientation_bits(dim);
                first += count;
            }
        }
        let on_side = |side: usize| {
            let vertices = kind.side_vertices(side);
            (0..element.function_count())
                .filter(|&i| {
                    let entity = element.entity(i);
                    let (dim, index) = (entity.dim as usize, entity.index as usize);
                    let own = kind.entity_vertices(dim, index);
                    dim < kind.dim() && own.iter().all(|v| vertices.contains(v))
                })
                .map(|i| i as u16)
                .collect()
        };
        let basis = VectorBasis {
            shared,
            side_functions: (0..kind.side_count()).map(on_side).collect(),
            orientations: (0..topology.cell_count())
                .map(|cell| element.orientation(topology.cell_vertices(cell)))
                .collect(),
            element,
        };
        let nodes = basis.number(topology)?;
        Ok((basis, nodes))
    }

    /// Functions are grouped: edges, faces, interiors.
    fn number(&self, topology: &Topology) -> Result<Nodes, SpaceError> {
        let element = &self.element;
        let kind = element.kind();
        let cells = topology.cell_count();
        let per: Vec<u64> = (0..=kind.dim())
            .map(|dim| {
                if dim == 0 {
                    0
                } else {
                    element.interior_count(dim) as u64
                }
            })
            .collect();
        // The first request for edges in space finds them, which takes time.
        let edges = if per[1] > 0 { topology.edge_count() } else { 0 };
        let faces = if kind.dim() == 3 {
            topology.side_count()
        } else {
            0
        };
        let mut sizes = [edges as u64 * per[1], 0, cells as u64 * per[kind.dim()]];
        if kind.dim() == 3 {
            sizes[1] = faces as u64 * per[2];
        }
        let start = [0, sizes[0], sizes[0] + sizes[1]];
        let count = check(sizes.iter().sum())?;
        let n = element.function_count();
        let mut cell_nodes = Vec::with_capacity(cells * n);
        for cell in 0..cells {
            for i in 0..n {
                let entity = element.entity(i);
                let (dim, index) = (entity.dim as usize, entity.index as usize);
                let (group, number) = match dim {
                    d if d == kind.dim() => (2, cell as u64),
                    1 => (0, topology.cell_edges(cell)[index] as u64),
                    _ => (1, topology.cell_sides(cell)[index] as u64),
                };
                let within = i - element.functions_of(entity).start;
                cell_nodes.push((start[group] + number * per[dim] + within as u64) as u32);
            }
        }
        Ok(Nodes {
            count,
            cell_nodes,
            hanging: Hanging::default(),
        })
    }

    pub fn element(&self) -> &VectorElement {
        &self.element
    }

    /// Functions on a side of the cell.
    pub fn side_functions(&self, side: usize) -> &[u16] {
        &self.side_functions[side]
    }

    /// Number of entries of the matrices of all edges and faces of a cell.
    pub fn entry_count(&self) -> usize {
        self.shared_entities().map(|(_, o)| o.rows.len()).sum()
    }

    /// First function and matrices of each edge and face with functions, in their order.
    pub fn shared_entities(&self) -> impl Iterator<Item = (usize, &Orientations)> {
        let all = self.shared.iter();
        all.map(|e| (e.first as usize, self.element.orientations(e.dim as usize)))
    }

    /// For each of these the orientation in which cell `cell` sees it.
    pub fn ways(&self, cell: usize) -> impl Iterator<Item = usize> + '_ {
        let code = self.orientations[cell];
        self.shared.iter().map(move |e| {
            let bits = orientation_bits(e.dim as usize);
            (code >> e.shift) as usize & ((1 << bits) - 1)
        })
    }

    /// From shared degrees of freedom to those of cell `cell`, in place.
    pub fn to_cell(&self, cell: usize, dofs: &mut [f64]) {
        self.transform(cell, dofs, |o, way| &o.to_cell[way]);
    }

    /// From degrees of freedom of cell `cell` to shared ones, in place.
    pub fn to_shared(&self, cell: usize, dofs: &mut [f64]) {
        self.transform(cell, dofs, |o, way| &o.to_shared[way]);
    }

    fn transform(
        &self,
        cell: usize,
        dofs: &mut [f64],
        entries: impl Fn(&Orientations, usize) -> &Vec<f64>,
    ) {
        for ((first, o), way) in self.shared_entities().zip(self.ways(cell)) {
            let own = &mut dofs[first..first + o.count];
            let mut old = [0.0; MAX_SHARED];
            old[..o.count].copy_from_slice(own);
            own.fill(0.0);
            for ((&value, &row), &column) in entries(o, way).iter().zip(&o.rows).zip(&o.columns) {
                own[row as usize] += value * old[column as usize];
            }
        }
    }

    /// The centre of the edge, face or cell of each function.
    pub fn centres(&self) -> Vec<[f64; 3]> {
        let kind = self.element.kind();
        (0..self.element.function_count())
            .map(|i| {
                let entity = self.element.entity(i);
                let vertices = kind.entity_vertices(entity.dim as usize, entity.index as usize);
                let mut x = [0.0; 3];
                for &v in vertices {
                    let corner = kind.vertices()[v as usize];
                    for d in 0..3 {
                        x[d] += corner[d] / vertices.len() as f64;
                    }
                }
                x
            })
            .collect()
    }
}

/// Most functions on one edge or face: those of the Nédélec element of degree 3 on a quad.
pub(crate) const MAX_SHARED: usize = 12;
