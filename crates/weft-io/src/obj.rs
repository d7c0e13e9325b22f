//! Reading of Wavefront OBJ surfaces.
//!
//! [`read`] gives a mesh of triangles, [`parse`] plain arrays. Read are vertices (`v`, whose
//! weight or colour is left out) and faces (`f`) with indices from 1 or, negative, from the
//! end; faces with more than three vertices are cut into a fan round their first, which is right
//! for convex ones. Texture coordinates, normals, groups, materials, lines and points are passed
//! over. Curves and surfaces of higher degree are refused, not passed over.
//!
//! The invariant: whatever the bytes, the answer is a surface or a [`TrianglesError`] with the
//! line.

use std::path::Path;

use weft::geometry::Mesh;

use crate::gmsh::Place;
use crate::triangles::{
    Result, Triangles, TrianglesError, finite, number, read as read_file, unexpected,
};

/// Statements that have no part in the shape.
const PASSED: &[&str] = &[
    "vt",
    "vn",
    "vp",
    "l",
    "p",
    "g",
    "o",
    "s",
    "mg",
    "usemtl",
    "mtllib",
    "usemap",
    "maplib",
    "lod",
    "bevel",
    "c_interp",
    "d_interp",
    "shadow_obj",
    "trace_obj",
    "cstype",
    "deg",
    "step",
    "bmat",
    "ctech",
    "stech",
];

/// Reads a surface from a file.
///
/// # Errors
/// [`TrianglesError::InFile`] with the path and what is wrong.
pub fn read(path: impl AsRef<Path>) -> Result<Mesh> {
    read_file(path.as_ref(), parse)
}

/// Reads a surface from the bytes of a file.
///
/// # Errors
/// [`TrianglesError`] with the line.
pub fn parse(data: &[u8]) -> Result<Triangles> {
    let mut out = Triangles::default();
    let mut polygon = Vec::new();
    // The largest vertex any face has, and where: vertices may come after faces.
    let mut largest: Option<(u32, Place)> = None;
    let mut joined = Vec::new();
    let mut lines = data.split(|&b| b == b'\n').enumerate();
    while let Some((i, line)) = lines.next() {
        let place = Place::Line(i + 1);
        let mut line = line.trim_ascii();
        // A backslash at its end joins a line with the next.
        if line.ends_with(b"\\") {
            joined.clear();
            while let Some(part) = line.strip_suffix(b"\\") {
                joined.extend_from_slice(part);
                joined.push(b' ');
                line = lines.next().map_or(&[][..], |(_, next)| next.trim_ascii());
            }
            joined.extend_from_slice(line);
            line = &joined;
        }
        let line = line.split(|&b| b == b'#').next().unwrap_or_default();
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty());
        let Some(keyword) = words.next() else {
            continue;
        };
        match keyword {
            b"v" => {
                let mut point = [0.0; 3];
                for c in &mut point {
                    let expected = "three coordinates of a vertex";
                    let word = words.next().unwrap_or_default();
                    *c = finite(number(word, place, expected)?, place)?;
                }
                out.points.push(point);
                if out.points.len() > u32::MAX as usize {
                    return Err(TrianglesError::TooMany);
                }
            }
            b"f" => {
                polygon.clear();
                for word in words {
                    let vertex = index(word, out.points.len(), place)?;
                    if largest.is_none_or(|(l, _)| vertex > l) {
                        largest = Some((vertex, place));
                    }
                    polygon.push(vertex);
                }
                if polygon.len() < 3 {
                    return Err(TrianglesError::Face {
                        place,
                        count: polygon.len(),
                    });
                }
                out.push_fan(&polygon);
            }
            _ if PASSED.iter().any(|p| p.as_bytes() == keyword) => {}
            _ => {
                let expected = "a statement of an OBJ file of polygons, such as v or f";
                return Err(unexpected(place, expected, keyword));
            }
        }
    }
    match largest {
        Some((vertex, place)) if vertex as usize >= out.points.len() => {
            Err(TrianglesError::Vertex {
                place,
                index: i64::from(vertex) + 1,
                count: out.points.len(),
                from_one: true,
            })
        }
        _ => out.checked(),
    }
}

/// The vertex (from 0) of one corner `v`, `v/vt`, `v//vn` or `v/vt/vn`.
fn index(word: &[u8], points: usize, place: Place) -> Result<u32> {
    let expected = "a vertex index, from 1 or negative";
    let mut parts = word.split(|&b| b == b'/');
    let digits = parts.next().unwrap_or_default();
    let found: i64 = number(digits, place, expected)?;
    for part in parts {
        if !part.is_empty() {
            number::<i64>(part, place, "an index")?;
        }
    }
    let vertex = match found {
        0 => return Err(unexpected(place, expected, word)),
        1.. => found - 1,
        // At most the number of vertices is added to a negative number.
        _ => found + points as i64,
    };
    u32::try_from(vertex).map_err(|_| TrianglesError::Vertex {
        place,
        index: found,
        count: points,
        from_one: true,
    })
}
