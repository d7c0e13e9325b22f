//! What the readers of surface files share: triangles as plain arrays, their errors, and a
//! scanner of text.
//!
//! [`Triangles`] is what [`obj`](crate::obj), [`stl`](crate::stl) and [`ply`](crate::ply) read.
//!
//! The invariant: indices are in range, coordinates finite, the three vertices of a triangle
//! distinct; and nothing was allocated by a number that a file merely claims.

use std::path::{Path, PathBuf};

use weft::element::CellKind;
use weft::geometry::{GeometryError, Mesh};

use crate::gmsh::Place;

/// Triangles of a surface in space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triangles {
    /// Positions of the vertices.
    pub points: Vec<[f64; 3]>,
    /// Vertices of each triangle, in the order of the file.
    pub triangles: Vec<[u32; 3]>,
    /// How many triangles were left out because two of their vertices are the same.
    pub dropped: usize,
}

/// Why a surface file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrianglesError {
    /// The file could not be opened or read.
    #[error("cannot read the file: {0}")]
    Io(#[from] std::io::Error),
    /// Any other error, with the file's name.
    #[error("{}: {source}", path.display())]
    InFile {
        /// The file as the caller named it.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<TrianglesError>,
    },
    /// The file ends too early.
    #[error("{place}: the file ends where {expected} should be")]
    Truncated {
        /// The end of the file.
        place: Place,
        /// What is missing.
        expected: String,
    },
    /// Something else stands where a certain item must be.
    #[error("{place}: expected {expected}, found {found}")]
    Unexpected {
        /// Where it stands.
        place: Place,
        /// What is accepted there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A coordinate that is not a finite number.
    #[error("{place}: the coordinate {value} is not finite")]
    NotFinite {
        /// Where it stands.
        place: Place,
        /// The coordinate.
        value: f64,
    },
    /// A face refers to a vertex that the file does not have.
    #[error("{place}: a face refers to vertex {index}; the file has {count} vertices{}", if *.from_one { ", numbered from 1" } else { ", numbered from 0" })]
    Vertex {
        /// Where the face stands.
        place: Place,
        /// The number as the file counts.
        index: i64,
        /// Number of vertices.
        count: usize,
        /// The format counts from 1.
        from_one: bool,
    },
    /// A face with fewer than three vertices.
    #[error("{place}: a face has {count} vertices; at least 3 are needed")]
    Face {
        /// Where the face stands.
        place: Place,
        /// How many it has.
        count: usize,
    },
    /// A count disagrees with the size of the file.
    #[error(
        "the header promises {promised} triangles, which take {expected} bytes; the file has {found}"
    )]
    Size {
        /// Triangles by the header.
        promised: u64,
        /// Bytes that they need.
        expected: u64,
        /// Size of the file.
        found: u64,
    },
    /// No triangles.
    #[error("the file has no triangles{}", if *.dropped > 0 { " with three distinct vertices" } else { "" })]
    NoTriangles {
        /// How many were left out because two of their vertices are the same.
        dropped: usize,
    },
    /// A tolerance that vertices cannot be welded by.
    #[error(
        "vertices cannot be welded within {tolerance}; it must be positive, finite and at least 1e-15 of the largest coordinate, {largest}"
    )]
    Tolerance {
        /// The tolerance.
        tolerance: f64,
        /// Largest size of a coordinate.
        largest: f64,
    },
    /// More vertices than 32-bit indices can number.
    #[error("more than {} vertices are not supported", u32::MAX)]
    TooMany,
    /// The triangles do not make a mesh. Cells are numbered from 0 in the order of the file,
    /// without those that were left out.
    #[error("not a valid mesh: {0}")]
    Geometry(#[from] GeometryError),
}

pub(crate) type Result<T> = std::result::Result<T, TrianglesError>;

impl Triangles {
    /// The mesh of these triangles, in the same order.
    ///
    /// # Errors
    /// [`TrianglesError::Geometry`], for instance where three triangles share an edge or one
    /// has no area.
    pub fn into_mesh(self) -> Result<Mesh> {
        let cells = self.triangles.into_iter().flatten().collect();
        Ok(Mesh::new(CellKind::Triangle, 3, self.points, cells)?)
    }

    /// Adds a convex polygon as a fan round its first vertex.
    pub(crate) fn push_fan(&mut self, polygon: &[u32]) {
        for i in 2..polygon.len() {
            self.push([polygon[0], polygon[i - 1], polygon[i]]);
        }
    }

    pub(crate) fn push(&mut self, triangle: [u32; 3]) {
        let [a, b, c] = triangle;
        if a == b || b == c || c == a {
            self.dropped += 1;
        } else {
            self.triangles.push(triangle);
        }
    }

    /// Itself, if there are triangles.
    pub(crate) fn checked(self) -> Result<Triangles> {
        match self.triangles.is_empty() {
            true => Err(TrianglesError::NoTriangles {
                dropped: self.dropped,
            }),
            false => Ok(self),
        }
    }
}

/// Reads a file with one of the parsers.
pub(crate) fn read(path: &Path, parse: impl Fn(&[u8]) -> Result<Triangles>) -> Result<Mesh> {
    std::fs::read(path)
        .map_err(TrianglesError::Io)
        .and_then(|data| parse(&data)?.into_mesh())
        .map_err(|source| TrianglesError::InFile {
            path: path.to_path_buf(),
            source: Box::new(source),
        })
}

/// A coordinate that is finite; negative zero becomes zero.
pub(crate) fn finite(value: f64, place: Place) -> Result<f64> {
    match value.is_finite() {
        true => Ok(value + 0.0),
        false => Err(TrianglesError::NotFinite { place, value }),
    }
}

/// What stands at the start of `bytes`, for messages.
pub(crate) fn shown(bytes: &[u8]) -> String {
    match bytes {
        [] => "nothing".to_string(),
        _ => format!("\"{}\"", bytes[..bytes.len().min(40)].escape_ascii()),
    }
}

pub(crate) fn unexpected(place: Place, expected: &str, found: &[u8]) -> TrianglesError {
    TrianglesError::Unexpected {
        place,
        expected: expected.to_string(),
        found: shown(found),
    }
}

/// A number in text; place and expectation are for the error.
pub(crate) fn number<T: std::str::FromStr>(
    token: &[u8],
    place: Place,
    expected: &str,
) -> Result<T> {
    let text = std::str::from_utf8(token).ok();
    text.and_then(|t| t.parse().ok())
        .ok_or_else(|| unexpected(place, expected, token))
}

/// Reads words of a text and counts lines.
pub(crate) struct Words<'a> {
    data: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Words<'a> {
    /// Reads `data` from byte `at`, which is on line `line`.
    pub fn new(data: &'a [u8], at: usize, line: usize) -> Words<'a> {
        Words { data, at, line }
    }

    /// The line of the last word.
    pub fn place(&self) -> Place {
        Place::Line(self.line)
    }

    /// The next word, if there is one.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        while let Some(&b) = self.data.get(self.at) {
            if !b.is_ascii_whitespace() {
                break;
            }
            self.line += usize::from(b == b'\n');
            self.at += 1;
        }
        let rest = &self.data[self.at..];
        let end = rest.iter().position(u8::is_ascii_whitespace);
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        (!word.is_empty()).then_some(word)
    }

    /// The next word, which must be there.
    pub fn expect(&mut self, expected: &str) -> Result<&'a [u8]> {
        self.next().ok_or_else(|| TrianglesError::Truncated {
            place: self.place(),
            expected: expected.to_string(),
        })
    }

    /// The rest of the line.
    pub fn skip_line(&mut self) {
        let rest = &self.data[self.at..];
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }
}
