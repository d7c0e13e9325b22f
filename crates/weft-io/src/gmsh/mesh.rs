//! From the arrays of a file to a mesh with tags.

use std::path::Path;

use weft::geometry::{Geometry, Mesh, Tags};

use super::{GmshError, RawMesh, in_file, read_raw};

/// Reads a mesh with its physical groups as tags. Cells of second order become curved
/// geometry; inverted cells are turned round.
///
/// # Errors
/// [`GmshError::InFile`] with the path and what is wrong.
pub fn read(path: impl AsRef<Path>) -> Result<Mesh, GmshError> {
    let path = path.as_ref();
    read_raw(path)?.into_mesh().map_err(|e| in_file(path, e))
}

impl RawMesh {
    /// The mesh; vertices keep their numbers, groups become tags.
    ///
    /// # Errors
    /// [`GmshError::Geometry`] if the cells do not make a mesh, [`GmshError::DetachedSide`] if
    /// a tagged side is no side of any cell.
    pub fn into_mesh(self) -> Result<Mesh, GmshError> {
        let (kind, dim) = (self.kind, self.space_dim);
        let mesh = if self.degree == 1 {
            Mesh::reoriented(kind, dim, self.points, self.cell_nodes)?
        } else {
            Mesh::curved_reoriented(kind, dim, self.degree, self.points, self.cell_nodes)?
        };
        let topology = mesh.topology();
        let mut tags = Tags::new();
        for (name, cells) in self.cell_groups {
            tags.insert_cells(name, cells);
        }
        for (name, vertices) in self.side_groups {
            let elements = self.side_tags.get(&name).map_or(&[][..], Vec::as_slice);
            let sides = vertices
                .chunks_exact(kind.side_kind().vertex_count())
                .enumerate()
                .map(|(i, side)| {
                    topology
                        .find_side(side)
                        .ok_or_else(|| GmshError::DetachedSide {
                            group: name.clone(),
                            element: elements.get(i).copied().unwrap_or(0),
                        })
                })
                .collect::<Result<Vec<u32>, GmshError>>()?;
            tags.insert_sides(name, sides);
        }
        for (name, vertices) in self.vertex_groups {
            tags.insert_vertices(name, vertices);
        }
        Ok(mesh.with_tags(tags)?)
    }
}
