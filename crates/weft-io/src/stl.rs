//! Reading of STL surfaces, text and binary.
//!
//! [`read`] gives a mesh of triangles, [`parse`] plain arrays. STL repeats the vertices in each
//! triangle; they are welded where equal or, on request, where close ([`Weld`]). Vertices are
//! numbered as they first appear. Normals, colours and names are passed over: the order of the
//! vertices orients a triangle. Text may hold several solids.
//!
//! The invariant: whatever the bytes, the answer is a surface or a [`TrianglesError`] with the
//! line or byte.

use std::collections::HashMap;
use std::path::Path;

use weft::geometry::Mesh;

use crate::gmsh::Place;
use crate::triangles::{
    Result, Triangles, TrianglesError, Words, finite, number, read as read_file, unexpected,
};

/// Bytes before the triangles of a binary file: a comment and their number.
const HEADER: usize = 84;

/// Bytes of a triangle: normal, three vertices, an attribute.
const TRIANGLE: usize = 50;

/// Which vertices are the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weld {
    /// Those with equal coordinates.
    Equal,
    /// A vertex is the first one before it that is at most this far away.
    Within(f64),
}

/// Reads a surface from a file.
///
/// # Errors
/// [`TrianglesError::InFile`] with the path and what is wrong.
pub fn read(path: impl AsRef<Path>, weld: Weld) -> Result<Mesh> {
    read_file(path.as_ref(), |data| parse(data, weld))
}

/// Reads a surface from the bytes of a file. A file of exactly the size that a binary header
/// promises is binary; otherwise one that starts with `solid` is text.
///
/// # Errors
/// [`TrianglesError`] with the line or byte.
pub fn parse(data: &[u8], weld: Weld) -> Result<Triangles> {
    let promised = data.get(80..HEADER).map(|n| {
        // The slice has four bytes.
        let count = n.iter().rev().fold(0u64, |sum, &b| sum << 8 | u64::from(b));
        (count, HEADER as u64 + TRIANGLE as u64 * count)
    });
    let fits = promised.is_some_and(|(_, size)| size == data.len() as u64);
    let corners = if !fits && starts_with_solid(data) {
        text(data)?
    } else {
        match promised {
            None => {
                return Err(TrianglesError::Truncated {
                    place: Place::Byte(data.len()),
                    expected: "\"solid\" or the header of a binary STL file".to_string(),
                });
            }
            Some((promised, expected)) if !fits => {
                return Err(TrianglesError::Size {
                    promised,
                    expected,
                    found: data.len() as u64,
                });
            }
            Some(_) => binary(&data[HEADER..])?,
        }
    };
    let (points, numbers) = match weld {
        Weld::Equal => equal(&corners),
        Weld::Within(tolerance) => within(&corners, tolerance)?,
    };
    if points.len() > u32::MAX as usize {
        return Err(TrianglesError::TooMany);
    }
    let mut out = Triangles {
        points,
        ..Triangles::default()
    };
    for v in numbers.chunks_exact(3) {
        out.push([v[0], v[1], v[2]]);
    }
    out.checked()
}

fn starts_with_solid(data: &[u8]) -> bool {
    let start = data.trim_ascii_start();
    start.len() >= 5 && start[..5].eq_ignore_ascii_case(b"solid")
}

/// Corners of the triangles after the header; the size is right.
fn binary(data: &[u8]) -> Result<Vec<[f64; 3]>> {
    let mut corners = Vec::with_capacity(data.len() / TRIANGLE * 3);
    for (t, triangle) in data.chunks_exact(TRIANGLE).enumerate() {
        for v in 0..3 {
            let mut point = [0.0; 3];
            for (d, c) in point.iter_mut().enumerate() {
                let at = 12 + 12 * v + 4 * d;
                let mut bytes = [0; 4];
                bytes.copy_from_slice(&triangle[at..at + 4]);
                let place = Place::Byte(HEADER + TRIANGLE * t + at);
                *c = finite(f64::from(f32::from_le_bytes(bytes)), place)?;
            }
            corners.push(point);
        }
    }
    Ok(corners)
}

fn text(data: &[u8]) -> Result<Vec<[f64; 3]>> {
    let mut words = Words::new(data, 0, 1);
    let mut corners = Vec::new();
    while let Some(word) = words.next() {
        if !word.eq_ignore_ascii_case(b"solid") {
            return Err(unexpected(words.place(), "\"solid\"", word));
        }
        // Its name, which may be any words.
        words.skip_line();
        loop {
            let word = words.expect("\"facet\" or \"endsolid\"")?;
            if word.eq_ignore_ascii_case(b"endsolid") {
                words.skip_line();
                break;
            }
            if !word.eq_ignore_ascii_case(b"facet") {
                return Err(unexpected(words.place(), "\"facet\" or \"endsolid\"", word));
            }
            keyword(&mut words, "normal")?;
            for _ in 0..3 {
                words.expect("three coordinates of a normal")?;
            }
            keyword(&mut words, "outer")?;
            keyword(&mut words, "loop")?;
            for _ in 0..3 {
                keyword(&mut words, "vertex")?;
                let mut point = [0.0; 3];
                for c in &mut point {
                    let expected = "three coordinates of a vertex";
                    let word = words.expect(expected)?;
                    *c = finite(number(word, words.place(), expected)?, words.place())?;
                }
                corners.push(point);
            }
            keyword(&mut words, "endloop")?;
            keyword(&mut words, "endfacet")?;
        }
    }
    Ok(corners)
}

fn keyword(words: &mut Words, expected: &str) -> Result<()> {
    let quoted = format!("\"{expected}\"");
    let word = words.expect(&quoted)?;
    match word.eq_ignore_ascii_case(expected.as_bytes()) {
        true => Ok(()),
        false => Err(unexpected(words.place(), &quoted, word)),
    }
}

/// Distinct points in order of appearance, and the number of each corner's.
fn equal(corners: &[[f64; 3]]) -> (Vec<[f64; 3]>, Vec<u32>) {
    let mut order: Vec<usize> = (0..corners.len()).collect();
    // Zeros have one sign, so that equal numbers have equal bits.
    order.sort_unstable_by_key(|&i| (corners[i].map(f64::to_bits), i));
    let mut first = vec![0; corners.len()];
    for group in order.chunk_by(|&a, &b| corners[a] == corners[b]) {
        group.iter().for_each(|&i| first[i] = group[0]);
    }
    let mut points = Vec::new();
    let mut numbers = vec![0u32; corners.len()];
    for i in 0..corners.len() {
        if first[i] == i {
            numbers[i] = points.len() as u32;
            points.push(corners[i]);
        } else {
            numbers[i] = numbers[first[i]];
        }
    }
    (points, numbers)
}

fn within(corners: &[[f64; 3]], tolerance: f64) -> Result<(Vec<[f64; 3]>, Vec<u32>)> {
    let sizes = corners.iter().flatten().map(|c| c.abs());
    let largest = sizes.fold(0.0, f64::max);
    // A NaN fails. Boxes of the tolerance's size are numbered by integers below 1e15.
    if !(tolerance > 0.0 && tolerance.is_finite() && tolerance >= 1e-15 * largest) {
        return Err(TrianglesError::Tolerance { tolerance, largest });
    }
    // Kept points of a box are more than the tolerance apart, so that they are few.
    let mut boxes: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
    let mut points: Vec<[f64; 3]> = Vec::new();
    let mut numbers = Vec::with_capacity(corners.len());
    for x in corners {
        let home = x.map(|c| (c / tolerance).floor() as i64);
        let mut nearest: Option<u32> = None;
        for i in 0..27 {
            let place = [i / 9, i / 3 % 3, i % 3];
            let neighbour = std::array::from_fn(|d| home[d] + place[d] - 1);
            for &p in boxes.get(&neighbour).map_or(&[][..], Vec::as_slice) {
                let y = points[p as usize];
                let distance2: f64 = (0..3).map(|d| (x[d] - y[d]).powi(2)).sum();
                if distance2.sqrt() <= tolerance && nearest.is_none_or(|n| p < n) {
                    nearest = Some(p);
                }
            }
        }
        numbers.push(nearest.unwrap_or_else(|| {
            let number = points.len() as u32;
            points.push(*x);
            boxes.entry(home).or_default().push(number);
            number
        }));
    }
    Ok((points, numbers))
}
