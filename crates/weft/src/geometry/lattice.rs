//! The lattice under grids and box meshes: counts, numbering and positions.
//!
//! Cells and vertices are numbered with the last axis fastest. Unused axes of a plane lattice
//! have one cell and one layer of vertices, so that one formula serves both dimensions.

use super::sides::check_counts;
use super::{GeometryError, Tags, Topology};
use crate::element::CellKind;

/// Names of the side tags: lower and upper end of each axis.
pub(super) fn side_names(dim: usize) -> &'static [[&'static str; 2]] {
    match dim {
        2 => &[["left", "right"], ["bottom", "top"]],
        _ => &[["left", "right"], ["front", "back"], ["bottom", "top"]],
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lattice {
    pub dim: usize,
    pub cells: [usize; 3],
    pub lower: [f64; 3],
    pub upper: [f64; 3],
}

impl Lattice {
    /// Checks the counts, with `per_cell` mesh cells of `kind` in each lattice cell, and bounds.
    pub fn new(
        dim: usize,
        cells: &[usize],
        lower: &[f64],
        upper: &[f64],
        kind: CellKind,
        per_cell: u128,
    ) -> Result<Lattice, GeometryError> {
        let mut lattice = Lattice {
            dim,
            cells: [1; 3],
            lower: [0.0; 3],
            upper: [0.0; 3],
        };
        for axis in 0..dim {
            let (n, a, b) = (cells[axis], lower[axis], upper[axis]);
            if n == 0 {
                return Err(GeometryError::ZeroCount {
                    what: "the number of cells along each axis",
                });
            }
            let size = a.abs().max(b.abs());
            // Neighbouring vertices must be told apart with some digits to spare.
            let room = (b - a) / n as f64 > 64.0 * f64::EPSILON * size;
            if !(size <= 1e100 && a < b && room) {
                return Err(GeometryError::Bounds {
                    axis,
                    lower: a,
                    upper: b,
                    cells: n,
                });
            }
            lattice.cells[axis] = n;
            lattice.lower[axis] = a;
            lattice.upper[axis] = b;
        }
        let product = |extra: u128| {
            (0..dim).fold(1u128, |p, a| {
                p.saturating_mul(lattice.cells[a] as u128 + extra)
            })
        };
        check_counts(kind, product(1), product(0).saturating_mul(per_cell))?;
        Ok(lattice)
    }

    pub fn cell_count(&self) -> usize {
        self.cells.iter().product()
    }

    /// Vertices per axis, 1 for unused axes.
    pub fn layers(&self) -> [usize; 3] {
        let mut layers = [1; 3];
        for axis in 0..self.dim {
            layers[axis] = self.cells[axis] + 1;
        }
        layers
    }

    pub fn vertex_count(&self) -> usize {
        self.layers().iter().product()
    }

    pub fn cell_place(&self, cell: usize) -> [usize; 3] {
        place(self.cells, cell)
    }

    pub fn vertex_place(&self, vertex: usize) -> [usize; 3] {
        place(self.layers(), vertex)
    }

    /// Number of the vertex at a place.
    pub fn vertex(&self, [i, j, k]: [usize; 3]) -> u32 {
        let m = self.layers();
        ((i * m[1] + j) * m[2] + k) as u32
    }

    /// Vertices of the quad or hex at a place, in the order of [`CellKind`].
    pub fn cell_vertices(&self, kind: CellKind, place: [usize; 3]) -> impl Iterator<Item = u32> {
        kind.vertices().iter().map(move |v| {
            let mut p = place;
            for axis in 0..self.dim {
                p[axis] += v[axis] as usize;
            }
            self.vertex(p)
        })
    }

    pub fn points(&self) -> Vec<[f64; 3]> {
        let axis = |a: usize| -> Vec<f64> {
            let n = self.layers()[a];
            (0..n)
                .map(|i| match i {
                    0 => self.lower[a],
                    _ if i == n - 1 => self.upper[a],
                    _ => {
                        let t = i as f64 / (n - 1) as f64;
                        self.lower[a] + t * (self.upper[a] - self.lower[a])
                    }
                })
                .collect()
        };
        let [x, y, z] = [axis(0), axis(1), axis(2)];
        let mut points = Vec::with_capacity(self.vertex_count());
        for &x in &x {
            for &y in &y {
                points.extend(z.iter().map(|&z| [x, y, z]));
            }
        }
        points
    }

    /// Tags of the boundary sides of a mesh on the lattice's vertices, by the end they lie on.
    pub fn side_tags(&self, topology: &Topology) -> Tags {
        let mut groups = vec![[Vec::new(), Vec::new()]; self.dim];
        for &side in topology.boundary_sides() {
            let places = || {
                let vertices = topology.side_vertices(side as usize);
                vertices.iter().map(|&v| self.vertex_place(v as usize))
            };
            for axis in 0..self.dim {
                for (end, layer) in [0, self.cells[axis]].into_iter().enumerate() {
                    if places().all(|p| p[axis] == layer) {
                        groups[axis][end].push(side);
                    }
                }
            }
        }
        let mut tags = Tags::new();
        for (names, sides) in side_names(self.dim).iter().zip(groups) {
            for (name, sides) in names.iter().zip(sides) {
                tags.insert_sides(*name, sides);
            }
        }
        tags
    }
}

fn place([_, b, c]: [usize; 3], index: usize) -> [usize; 3] {
    [index / (b * c), index / c % b, index % c]
}
