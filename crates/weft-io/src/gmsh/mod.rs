//! Reading of Gmsh meshes: MSH 2.2 and 4.1, text and binary of either byte order.
//!
//! [`read`] gives a [`Mesh`](weft::geometry::Mesh) with tags, [`RawMesh::parse`] the same as plain arrays. Cells are the
//! elements of highest dimension, all of one type (line2 line3 triangle3 triangle6 quad4 quad9
//! tet4 tet10 hex8 hex27); second order becomes curved geometry. Physical groups of that
//! dimension tag cells, those of one less tag sides, the others tag vertices.
//!
//! The invariant: whatever the bytes, the answer is a mesh or a [`GmshError`] that says where;
//! memory is bounded by a small multiple of the file's size.

mod elements;
mod error;
mod kinds;
mod mesh;
mod nodes;
mod raw;
mod scan;
mod sections;
#[cfg(test)]
mod tests;

pub use error::{GmshError, Place};
pub use mesh::read;
pub use raw::RawMesh;

use std::path::Path;

fn in_file(path: &Path, source: GmshError) -> GmshError {
    GmshError::InFile {
        path: path.to_path_buf(),
        source: Box::new(source),
    }
}

/// Reads a file into plain arrays.
///
/// # Errors
/// [`GmshError::InFile`] with the path and what is wrong.
pub fn read_raw(path: impl AsRef<Path>) -> Result<RawMesh, GmshError> {
    let path = path.as_ref();
    std::fs::read(path)
        .map_err(GmshError::Io)
        .and_then(|data| RawMesh::parse(&data))
        .map_err(|e| in_file(path, e))
}
