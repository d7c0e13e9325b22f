//! Axis-aligned grids: bounds and counts, with tables built only when asked for.

use std::sync::{Arc, OnceLock};

use super::lattice::{Lattice, side_names};
use super::sides::Sides;
use super::{Geometry, GeometryError, GeometryId, GeometryMap, MapClass, Tags, Topology};
use crate::element::CellKind;

#[derive(Debug)]
struct Grid {
    id: GeometryId,
    kind: CellKind,
    lattice: Lattice,
    topology: OnceLock<Arc<Topology>>,
    tags: OnceLock<Arc<Tags>>,
    map: OnceLock<Arc<GeometryMap>>,
}

/// Local side at the lower and upper end of each axis.
fn local_sides(kind: CellKind, axis: usize) -> [usize; 2] {
    match kind {
        CellKind::Quad => [[3, 1], [0, 2]][axis],
        _ => [2 * axis, 2 * axis + 1],
    }
}

impl Grid {
    fn new(
        kind: CellKind,
        cells: &[usize],
        lower: &[f64],
        upper: &[f64],
    ) -> Result<Grid, GeometryError> {
        Ok(Grid {
            id: GeometryId::unique(),
            kind,
            lattice: Lattice::new(kind.dim(), cells, lower, upper, kind, 1)?,
            topology: OnceLock::new(),
            tags: OnceLock::new(),
            map: OnceLock::new(),
        })
    }

    /// Sides in one layer across `axis`.
    fn layer(&self, axis: usize) -> usize {
        self.lattice.cell_count() / self.lattice.cells[axis]
    }

    fn boundary_side_count(&self) -> usize {
        (0..self.kind.dim()).map(|axis| 2 * self.layer(axis)).sum()
    }

    fn side_count(&self) -> usize {
        (0..self.kind.dim())
            .map(|axis| self.lattice.cell_count() + self.layer(axis))
            .sum()
    }

    /// The `ordinal`-th cell of the first or last layer across `axis`, in cell order.
    fn layer_cells(&self, axis: usize, place: usize) -> impl Iterator<Item = usize> {
        (0..self.lattice.cell_count()).filter(move |&c| self.lattice.cell_place(c)[axis] == place)
    }

    fn topology(&self) -> Arc<Topology> {
        self.topology
            .get_or_init(|| Arc::new(self.build_topology()))
            .clone()
    }

    fn build_topology(&self) -> Topology {
        let (kind, lattice, n) = (self.kind, &self.lattice, self.lattice.cell_count());
        let mut cells = Vec::with_capacity(n * kind.vertex_count());
        for cell in 0..n {
            cells.extend(lattice.cell_vertices(kind, lattice.cell_place(cell)));
        }
        let mut sides = Sides {
            cell_sides: vec![0; n * kind.side_count()],
            ..Sides::default()
        };
        let mut push = |of: [usize; 2], locals: [usize; 2]| {
            for (cell, local) in of.into_iter().zip(locals) {
                sides.cell_sides[cell * kind.side_count() + local] = sides.cells.len() as u32;
            }
            let vertices = &cells[of[0] * kind.vertex_count()..];
            let table = kind.side_vertices(locals[0]);
            sides
                .vertices
                .extend(table.iter().map(|&l| vertices[l as usize]));
            sides.cells.push(of.map(|c| c as u32));
            sides.locals.push(locals.map(|l| l as u8));
        };
        for axis in 0..kind.dim() {
            let [low, high] = local_sides(kind, axis);
            let step: usize = lattice.cells[axis + 1..].iter().product();
            for cell in 0..n {
                match lattice.cell_place(cell)[axis] {
                    0 => push([cell, cell], [low, low]),
                    _ => push([cell - step, cell], [high, low]),
                }
            }
        }
        for axis in 0..kind.dim() {
            let [_, high] = local_sides(kind, axis);
            for cell in self.layer_cells(axis, lattice.cells[axis] - 1) {
                push([cell, cell], [high, high]);
            }
        }
        Topology::from_sides(kind, lattice.vertex_count(), cells, sides)
    }

    fn tags(&self) -> Arc<Tags> {
        let build = || {
            let dim = self.kind.dim();
            let mut tags = Tags::new();
            let mut closing = dim * self.lattice.cell_count();
            for axis in 0..dim {
                let [low, high] = side_names(dim)[axis];
                let base = axis * self.lattice.cell_count();
                let first = self.layer_cells(axis, 0).map(|c| (base + c) as u32);
                tags.insert_sides(low, first.collect());
                let end = closing + self.layer(axis);
                tags.insert_sides(high, (closing as u32..end as u32).collect());
                closing = end;
            }
            Arc::new(tags)
        };
        self.tags.get_or_init(build).clone()
    }

    fn map(&self) -> Arc<GeometryMap> {
        let build = || {
            let lattice = &self.lattice;
            let mut cell_nodes = Vec::new();
            for cell in 0..lattice.cell_count() {
                let [i, j, k] = lattice.cell_place(cell);
                // Lattice order within the cell: last axis fastest.
                for a in 0..2 {
                    for b in 0..2 {
                        match lattice.dim {
                            2 => cell_nodes.push(lattice.vertex([i + a, j + b, 0])),
                            _ => cell_nodes
                                .extend((0..2).map(|c| lattice.vertex([i + a, j + b, k + c]))),
                        }
                    }
                }
            }
            Arc::new(GeometryMap {
                degree: 1,
                nodes: lattice.points(),
                cell_nodes: Arc::new(cell_nodes),
                vertex_nodes: None,
            })
        };
        self.map.get_or_init(build).clone()
    }
}

/// A plane grid of equal rectangles; a cheap handle.
///
/// Cell `(x, y)` has number `x·ny + y`, and vertices likewise with `ny + 1`: the last axis is
/// fastest. Cells have their vertices counter-clockwise from the origin.
///
/// Sides: first the lower side of each cell across each axis (number `axis·cells + cell`), then
/// for each axis the closing layer at its upper end, in the order of its cells. Across axis 0 the
/// sides are vertical. A side's inner cell is the one before it, so that its normal points along
/// the axis; at the lower end the only cell is both inner and outer, and the normal points out.
///
/// Side tags: `left`, `right` (lower and upper x), `bottom`, `top` (lower and upper y).
#[derive(Clone, Debug)]
pub struct Grid2(Arc<Grid>);

/// A grid of equal boxes; a cheap handle.
///
/// Numbered as [`Grid2`]: cell `(x, y, z)` is `(x·ny + y)·nz + z`, sides are the lower ones per
/// axis, then the closing layers. Cells have their vertices in the order of [`CellKind::Hex`].
///
/// Side tags: `left`, `right` (lower and upper x), `front`, `back` (y), `bottom`, `top` (z).
#[derive(Clone, Debug)]
pub struct Grid3(Arc<Grid>);

macro_rules! grid {
    ($name:ident, $dim:literal, $kind:expr) => {
        impl $name {
            /// A grid of `cells` cells per axis between the corners `lower` and `upper`.
            ///
            /// # Errors
            /// [`ZeroCount`](GeometryError::ZeroCount) for no cells along an axis,
            /// [`Bounds`](GeometryError::Bounds) unless `lower < upper`, finite and far enough
            /// apart for the cells, [`TooMany`](GeometryError::TooMany) past 32-bit indices.
            pub fn new(
                cells: [usize; $dim],
                lower: [f64; $dim],
                upper: [f64; $dim],
            ) -> Result<$name, GeometryError> {
                Grid::new($kind, &cells, &lower, &upper).map(|grid| $name(Arc::new(grid)))
            }

            /// The unit square or cube with `cells` cells per axis.
            ///
            /// # Errors
            /// As [`new`](Self::new).
            pub fn unit(cells: [usize; $dim]) -> Result<$name, GeometryError> {
                $name::new(cells, [0.0; $dim], [1.0; $dim])
            }

            /// Cells per axis.
            pub fn cells(&self) -> [usize; $dim] {
                std::array::from_fn(|a| self.0.lattice.cells[a])
            }

            /// Lower corner.
            pub fn lower(&self) -> [f64; $dim] {
                std::array::from_fn(|a| self.0.lattice.lower[a])
            }

            /// Upper corner.
            pub fn upper(&self) -> [f64; $dim] {
                std::array::from_fn(|a| self.0.lattice.upper[a])
            }

            /// Lengths of a cell's edges.
            pub fn cell_size(&self) -> [f64; $dim] {
                let l = &self.0.lattice;
                std::array::from_fn(|a| (l.upper[a] - l.lower[a]) / l.cells[a] as f64)
            }

            /// Number of cells; like the other counts it builds no table.
            pub fn cell_count(&self) -> usize {
                self.0.lattice.cell_count()
            }

            /// Number of vertices.
            pub fn vertex_count(&self) -> usize {
                self.0.lattice.vertex_count()
            }

            /// Number of sides.
            pub fn side_count(&self) -> usize {
                self.0.side_count()
            }

            /// Number of sides on the boundary.
            pub fn boundary_side_count(&self) -> usize {
                self.0.boundary_side_count()
            }
        }

        impl Geometry for $name {
            fn id(&self) -> GeometryId {
                self.0.id
            }
            fn cell_kind(&self) -> CellKind {
                $kind
            }
            fn space_dim(&self) -> usize {
                $dim
            }
            fn topology(&self) -> Arc<Topology> {
                self.0.topology()
            }
            fn tags(&self) -> Arc<Tags> {
                self.0.tags()
            }
            fn map(&self) -> Arc<GeometryMap> {
                self.0.map()
            }
            fn map_class(&self) -> MapClass {
                MapClass::Uniform
            }
            fn lattice(&self) -> Option<[usize; 3]> {
                Some(self.0.lattice.cells)
            }
        }
    };
}

grid!(Grid2, 2, CellKind::Quad);
grid!(Grid3, 3, CellKind::Hex);

impl Grid2 {
    /// Number of edges, which are the sides.
    pub fn edge_count(&self) -> usize {
        self.0.side_count()
    }
}

impl Grid3 {
    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        let n = self.0.lattice.cells;
        (0..3)
            .map(|a| n[a] * (n[(a + 1) % 3] + 1) * (n[(a + 2) % 3] + 1))
            .sum()
    }
}
