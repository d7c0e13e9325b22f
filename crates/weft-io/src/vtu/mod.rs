//! Writing of VTK files: unstructured grids (`.vtu`) and series of them (`.pvd`).
//!
//! [`write()`] writes fields, [`NodalGrid`] expressions. Both make a [`VtuGrid`], a mesh of one
//! cell kind and degree with data on points and cells; degrees above 1 become VTK's Lagrange
//! cells, which ParaView and PyVista draw curved. [`Series`] lists files with their times.
//!
//! The invariant: a file is whole or absent. It is written beside its place, flushed and
//! renamed.

mod encode;
mod nodal;
mod order;
mod series;

pub use encode::Encoding;
pub use nodal::{NodalGrid, write};
pub use series::Series;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use encode::{Array, Numbers};
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
/// Vectors of two components are written with a zero third one, 2×2 matrices (4 components,
/// row by row) as the upper left of 3×3 ones.
#[derive(Clone, Debug, PartialEq)]
pub struct VtuArray {
    /// Any text; what XML can't hold is escaped or replaced.
    pub name: String,
    /// Values of each item: 1 scalar, 2 or 3 vector, 4 or 9 matrix, or any other number.
    pub components: usize,
    /// Items × components. Values that are no number are written as such.
    pub values: Vec<f64>,
}

impl VtuArray {
    /// An array of `components` values an item.
    pub fn new(name: impl Into<String>, components: usize, values: Vec<f64>) -> VtuArray {
        VtuArray {
            name: name.into(),
            components,
            values,
        }
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

fn array(a: &VtuArray) -> Array<'_> {
    let written = match a.components {
        2 => 3,
        4 => 9,
        n => n,
    };
    Array {
        name: &a.name,
        numbers: Numbers::Floats {
            held: a.components,
            written,
            values: &a.values,
        },
    }
}

fn check_arrays(arrays: &[VtuArray], items: usize) -> Result<(), VtuError> {
    let mut names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
        return Err(VtuError::RepeatedName(twice[0].to_string()));
    }
    for a in arrays {
        if a.components == 0 || a.values.len() != items * a.components {
            return Err(VtuError::Length {
                name: a.name.clone(),
                items,
                components: a.components,
                found: a.values.len(),
            });
        }
    }
    Ok(())
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
        let path = path.as_ref();
        crate::atomic::write(path, |out| {
            self.write_to(out, encoding, &permutation, cells)
        })
        .map_err(|source| VtuError::Io {
            path: path.to_path_buf(),
            source,
        })
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
        check_arrays(&self.point_data, self.points.len())?;
        check_arrays(&self.cell_data, cells)?;
        Ok(cells)
    }

    fn write_to(
        &self,
        out: &mut BufWriter<std::fs::File>,
        encoding: Encoding,
        permutation: &[u32],
        cells: usize,
    ) -> io::Result<()> {
        let points = Numbers::Floats {
            held: 3,
            written: 3,
            values: self.points.as_flattened(),
        };
        let sections = [
            ("PointData", self.point_data.iter().map(array).collect()),
            ("CellData", self.cell_data.iter().map(array).collect()),
            (
                "Points",
                vec![Array {
                    name: "Points",
                    numbers: points,
                }],
            ),
            (
                "Cells",
                vec![
                    Array {
                        name: "connectivity",
                        numbers: Numbers::Connectivity {
                            cell_nodes: self.cell_nodes,
                            permutation,
                        },
                    },
                    Array {
                        name: "offsets",
                        numbers: Numbers::Offsets {
                            cells,
                            nodes: permutation.len(),
                        },
                    },
                    Array {
                        name: "types",
                        numbers: Numbers::Types {
                            cells,
                            cell_type: order::cell_type(self.kind, self.degree),
                        },
                    },
                ],
            ),
        ];
        // Version 2.2 has the present edge order of Lagrange hexahedra; older programs read 1.0.
        let version = if self.degree == 1 { "1.0" } else { "2.2" };
        let compressor = match encoding {
            Encoding::Compressed => " compressor=\"vtkZLibDataCompressor\"",
            Encoding::Raw | Encoding::Ascii => "",
        };
        writeln!(out, "<?xml version=\"1.0\"?>")?;
        writeln!(
            out,
            "<VTKFile type=\"UnstructuredGrid\" version=\"{version}\" byte_order=\"LittleEndian\" \
             header_type=\"UInt64\"{compressor}>"
        )?;
        writeln!(out, "<UnstructuredGrid>")?;
        writeln!(
            out,
            "<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{cells}\">",
            self.points.len()
        )?;
        let mut offset = 0;
        let mut compressed = Vec::new();
        for (section, arrays) in &sections {
            writeln!(out, "<{section}>")?;
            for a in arrays {
                write!(
                    out,
                    "<DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" ",
                    a.numbers.type_name(),
                    escape(a.name),
                    a.numbers.components()
                )?;
                match encoding {
                    Encoding::Ascii => {
                        writeln!(out, "format=\"ascii\">")?;
                        a.numbers.write_text(out)?;
                        writeln!(out, "</DataArray>")?;
                        continue;
                    }
                    Encoding::Raw => {
                        writeln!(out, "format=\"appended\" offset=\"{offset}\"/>")?;
                        offset += 8 + a.numbers.byte_count();
                    }
                    Encoding::Compressed => {
                        writeln!(out, "format=\"appended\" offset=\"{offset}\"/>")?;
                        let data = a.numbers.compress()?;
                        offset += data.len();
                        compressed.push(data);
                    }
                }
            }
            writeln!(out, "</{section}>")?;
        }
        writeln!(out, "</Piece>\n</UnstructuredGrid>")?;
        if encoding != Encoding::Ascii {
            write!(out, "<AppendedData encoding=\"raw\">\n_")?;
            for data in &compressed {
                out.write_all(data)?;
            }
            if encoding == Encoding::Raw {
                for a in sections.iter().flat_map(|s| &s.1) {
                    a.numbers.write_raw(out)?;
                }
            }
            writeln!(out, "\n</AppendedData>")?;
        }
        writeln!(out, "</VTKFile>")
    }
}

/// Text for an XML attribute. Characters that XML 1.0 can't hold become U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", c as u32)),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
