//! Writing of VTK files: unstructured grids (`.vtu`) and series of them (`.pvd`).
//!
//! [`write()`] writes fields, [`NodalGrid`] expressions. Both make a [`VtuGrid`], a mesh of one
//! cell kind and degree with data on points and cells; degrees above 1 become VTK's Lagrange
//! cells, which ParaView and PyVista draw curved. [`Voxels`] makes such a grid of cubes;
//! [`Series`] lists files with their times.
//!
//! The invariant: a file is whole or absent. It is written beside its place, flushed and
//! renamed.

pub(crate) mod encode;
mod nodal;
mod order;
mod series;
mod voxels;
pub(crate) mod xml;

pub use encode::Encoding;
pub use nodal::{NodalGrid, write};
pub use series::Series;
pub use voxels::Voxels;

use std::io;
use std::path::{Path, PathBuf};

use encode::{Array, Numbers};
use xml::Document;

use crate::Values;
use weft::assemble::AssembleError;
use weft::element::CellKind;
use weft::geometry::GeometryMap;
use weft::space::SpaceError;

/// The highest degree of a cell: that of the Lagrange cells that VTK promises to draw.
pub const MAX_DEGREE: usize = 10;

/// Why a VTK file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VtuError {
    /// The file system refused.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A degree of 0 or above [`MAX_DEGREE`].
    #[error("cells of degree {0} cannot be written; accepted are 1 to {MAX_DEGREE}")]
    Degree(usize),
    /// The node list is no whole number of cells.
    #[error("{found} cell nodes are no multiple of the {per_cell} nodes of a {} of degree {degree}", kind.name())]
    CellNodes {
        /// Cell kind.
        kind: CellKind,
        /// Degree.
        degree: usize,
        /// Nodes of a cell.
        per_cell: usize,
        /// Length of the list.
        found: usize,
    },
    /// A node number that is no point.
    #[error("cell {cell} has node {node}, but there are {points} points")]
    Node {
        /// The cell.
        cell: usize,
        /// The node number.
        node: u32,
        /// How many points there are.
        points: usize,
    },
    /// An array of the wrong length, or without components.
    #[error("array \"{name}\" has {found} values; {items} items of {components} components need {}", items * components)]
    Length {
        /// Name of the array.
        name: String,
        /// Number of points or cells.
        items: usize,
        /// Components of each.
        components: usize,
        /// Length of the array.
        found: usize,
    },
    /// Two arrays on points, or two on cells, with one name.
    #[error("two arrays are called \"{0}\"")]
    RepeatedName(String),
    /// No field was given to [`write()`], so there is no geometry.
    #[error("a file needs at least one field")]
    NoFields,
    /// Fields of different geometries.
    #[error("the fields \"{first}\" and \"{other}\" live on different geometries")]
    Geometries {
        /// The first field.
        first: String,
        /// One that lives elsewhere.
        other: String,
    },
    /// An expression that has no values at the nodes.
    #[error("\"{name}\": {source}")]
    Evaluate {
        /// Name of the array.
        name: String,
        /// Why.
        source: Box<AssembleError>,
    },
    /// Nodes of this degree can't be numbered.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// A file that could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Positions of particles that are no triples of real numbers.
    #[error(
        "positions are items of {components} numbers of type {number}; 3 of type Float64 or Float32 are accepted"
    )]
    Points {
        /// Numbers of a position.
        components: usize,
        /// VTK's name of their type.
        number: &'static str,
    },
    /// A lattice of voxels that is none.
    #[error(
        "voxels of edge {h} from {origin:?} are impossible; the edge must be positive, all finite"
    )]
    Lattice {
        /// Edge of a voxel.
        h: f64,
        /// Where the lattice begins.
        origin: [f64; 3],
    },
    /// More points than 32-bit numbers can tell apart.
    #[error("{0} points are too many; at most 2³² - 1 are accepted")]
    TooManyPoints(usize),
    /// A file that is not a list of files.
    #[error("{}:{line}: {what}", path.display())]
    Series {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// A time that is not a finite number, or not after the last one.
    #[error("time {time} cannot follow {last:?}; times must be finite and increase")]
    Time {
        /// The time.
        time: f64,
        /// The one before it.
        last: Option<f64>,
    },
}

/// Named values on points or cells, all components of an item together.
///
/// Vectors of two components are written with a zero third one, 2×2 matrices (row by row) as the upper
/// left of 3×3 ones.
#[derive(Clone, Debug, PartialEq)]
pub struct VtuArray {
    /// Any text; what XML can't hold is escaped or replaced.
    pub name: String,
    /// Values of each item: 1 scalar, 2 or 3 vector, 4 or 9 matrix, or any other number.
    pub components: usize,
    /// Whether 4 components are a vector, such as a quaternion, and no 2×2 matrix.
    pub vectors: bool,
    /// Items × components. Values that are no number are written as such.
    pub values: Vec<f64>,
}

impl VtuArray {
    /// An array of `components` values an item; 4 are a 2×2 matrix.
    pub fn new(name: impl Into<String>, components: usize, values: Vec<f64>) -> VtuArray {
        VtuArray {
            name: name.into(),
            components,
            vectors: false,
            values,
        }
    }

    fn values(&self) -> Values<'_> {
        Values::flat(self.components, &self.values).as_vectors(self.vectors)
    }
}

/// An unstructured grid of one cell kind with data.
#[derive(Clone, Debug)]
pub struct VtuGrid<'a> {
    /// Coordinates.
    pub points: &'a [[f64; 3]],
    /// Kind of all cells.
    pub kind: CellKind,
    /// Polynomial degree of the cells' maps, 1 to [`MAX_DEGREE`].
    pub degree: usize,
    /// Points of each cell in Lagrange numbering of `degree` (so a quad of degree 1 has its
    /// points in lattice order, not around).
    pub cell_nodes: &'a [u32],
    /// Arrays on points.
    pub point_data: Vec<VtuArray>,
    /// Arrays on cells.
    pub cell_data: Vec<VtuArray>,
}

impl<'a> VtuGrid<'a> {
    /// The cells of a geometry, with no data yet.
    pub fn of_map(kind: CellKind, map: &'a GeometryMap) -> VtuGrid<'a> {
        VtuGrid {
            points: &map.nodes,
            kind,
            degree: map.degree,
            cell_nodes: &map.cell_nodes,
            point_data: Vec::new(),
            cell_data: Vec::new(),
        }
    }

    /// Writes the grid.
    ///
    /// # Errors
    /// [`VtuError`] for arrays that don't fit together or a file that can't be written; then
    /// what stood at `path` before still does.
    pub fn write(&self, path: impl AsRef<Path>, encoding: Encoding) -> Result<(), VtuError> {
        if !(1..=MAX_DEGREE).contains(&self.degree) {
            return Err(VtuError::Degree(self.degree));
        }
        let permutation = order::permutation(self.kind, self.degree);
        let cells = self.check(permutation.len())?;
        let array = |name, numbers| Array { name, numbers };
        let connectivity = Numbers::Connectivity {
            cell_nodes: self.cell_nodes,
            permutation: &permutation,
        };
        let offsets = Numbers::Steps {
            first: permutation.len(),
            step: permutation.len(),
            count: cells,
        };
        let types = Numbers::Types {
            cells,
            cell_type: order::cell_type(self.kind, self.degree),
        };
        let document = Document {
            kind: "UnstructuredGrid",
            // Version 2.2 has the present edge order of Lagrange hexahedra; older programs
            // read 1.0.
            version: if self.degree == 1 { "1.0" } else { "2.2" },
            counts: vec![
                ("NumberOfPoints", self.points.len()),
                ("NumberOfCells", cells),
            ],
            sections: vec![
                ("PointData", held(&self.point_data)),
                ("CellData", held(&self.cell_data)),
                ("Points", vec![Array::held("Points", self.points.into())]),
                (
                    "Cells",
                    vec![
                        array("connectivity", connectivity),
                        array("offsets", offsets),
                        array("types", types),
                    ],
                ),
            ],
        };
        document.write(path.as_ref(), encoding)
    }

    /// Checks all lengths and indices; gives the number of cells.
    fn check(&self, per_cell: usize) -> Result<usize, VtuError> {
        if !self.cell_nodes.len().is_multiple_of(per_cell) {
            return Err(VtuError::CellNodes {
                kind: self.kind,
                degree: self.degree,
                per_cell,
                found: self.cell_nodes.len(),
            });
        }
        if let Some(i) = self
            .cell_nodes
            .iter()
            .position(|&n| n as usize >= self.points.len())
        {
            return Err(VtuError::Node {
                cell: i / per_cell,
                node: self.cell_nodes[i],
                points: self.points.len(),
            });
        }
        let cells = self.cell_nodes.len() / per_cell;
        for (arrays, items) in [
            (&self.point_data, self.points.len()),
            (&self.cell_data, cells),
        ] {
            let named = arrays.iter().map(|a| (a.name.as_str(), a.values()));
            xml::check_arrays(named, items)?;
        }
        Ok(cells)
    }
}

fn held(arrays: &[VtuArray]) -> Vec<Array<'_>> {
    let arrays = arrays.iter();
    arrays.map(|a| Array::held(&a.name, a.values())).collect()
}

#[cfg(test)]
pub(crate) mod tests;
