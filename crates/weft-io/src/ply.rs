//! Reading of PLY surfaces: text, and binary of either byte order.
//!
//! [`read`] gives a mesh of triangles, [`parse`] plain arrays. Read are the properties `x`, `y`,
//! `z` of `vertex` and the list `vertex_indices` (or `vertex_index`) of `face`; other elements
//! and properties are passed over. Faces with more than three vertices are cut into a fan round
//! their first, which is right for convex ones.
//!
//! The invariant: whatever the bytes, the answer is a surface or a [`TrianglesError`] with the
//! line or byte; counts of the header are compared with what is there, never trusted.

use std::path::Path;

use weft::geometry::Mesh;

use crate::gmsh::Place;
use crate::triangles::{
    Result, Triangles, TrianglesError, Words, finite, number, read as read_file, shown, unexpected,
};

/// Reads a surface from a file.
///
/// # Errors
/// [`TrianglesError::InFile`] with the path and what is wrong.
pub fn read(path: impl AsRef<Path>) -> Result<Mesh> {
    read_file(path.as_ref(), parse)
}

/// A scalar type of the format.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    fn named(name: &[u8]) -> Option<Scalar> {
        Some(match name {
            b"char" | b"int8" => Scalar::I8,
            b"uchar" | b"uint8" => Scalar::U8,
            b"short" | b"int16" => Scalar::I16,
            b"ushort" | b"uint16" => Scalar::U16,
            b"int" | b"int32" => Scalar::I32,
            b"uint" | b"uint32" => Scalar::U32,
            b"float" | b"float32" => Scalar::F32,
            b"double" | b"float64" => Scalar::F64,
            _ => return None,
        })
    }

    fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }

    fn size(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::F64 => 8,
        }
    }

    /// The value of little-endian bytes, the unused ones 0; exact for all types.
    fn value(self, b: [u8; 8]) -> f64 {
        let [b0, b1, b2, b3, ..] = b;
        match self {
            Scalar::I8 => f64::from(b0 as i8),
            Scalar::U8 => f64::from(b0),
            Scalar::I16 => f64::from(i16::from_le_bytes([b0, b1])),
            Scalar::U16 => f64::from(u16::from_le_bytes([b0, b1])),
            Scalar::I32 => f64::from(i32::from_le_bytes([b0, b1, b2, b3])),
            Scalar::U32 => f64::from(u32::from_le_bytes([b0, b1, b2, b3])),
            Scalar::F32 => f64::from(f32::from_le_bytes([b0, b1, b2, b3])),
            Scalar::F64 => f64::from_le_bytes(b),
        }
    }
}

struct Property<'a> {
    name: &'a [u8],
    /// Type of the length, for lists.
    length: Option<Scalar>,
    scalar: Scalar,
}

struct Element<'a> {
    name: &'a [u8],
    count: u64,
    properties: Vec<Property<'a>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Text,
    Little,
    Big,
}

/// Numbers after the header.
enum Body<'a> {
    Text(Words<'a>),
    Binary {
        data: &'a [u8],
        at: usize,
        big: bool,
    },
}

impl Body<'_> {
    fn scalar(&mut self, scalar: Scalar, expected: &str) -> Result<(f64, Place)> {
        match self {
            Body::Text(words) => {
                let word = words.expect(expected)?;
                let place = words.place();
                if scalar.is_float() {
                    return Ok((number(word, place, expected)?, place));
                }
                // 32 bits fit exactly.
                let whole: i64 = number(word, place, expected)?;
                Ok((whole as f64, place))
            }
            Body::Binary { data, at, big } => {
                let size = scalar.size();
                let place = Place::Byte(*at);
                let Some(source) = data.get(*at..*at + size) else {
                    return Err(TrianglesError::Truncated {
                        place: Place::Byte(data.len()),
                        expected: expected.to_string(),
                    });
                };
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(source);
                if *big {
                    bytes[..size].reverse();
                }
                *at += size;
                Ok((scalar.value(bytes), place))
            }
        }
    }

    /// The length of a list.
    fn length(&mut self, scalar: Scalar) -> Result<u64> {
        let expected = "the length of a list";
        let (length, place) = self.scalar(scalar, expected)?;
        // Integers of up to 32 bits, or 64 in text: too long a list meets the file's end.
        if length < 0.0 {
            return Err(unexpected(place, expected, length.to_string().as_bytes()));
        }
        Ok(length as u64)
    }
}

/// Reads a surface from the bytes of a file.
///
/// # Errors
/// [`TrianglesError`] with the line or byte.
pub fn parse(data: &[u8]) -> Result<Triangles> {
    let (encoding, elements, at, line) = header(data)?;
    let mut body = match encoding {
        Encoding::Text => Body::Text(Words::new(data, at, line)),
        _ => Body::Binary {
            data,
            at,
            big: encoding == Encoding::Big,
        },
    };
    let mut out = Triangles::default();
    // The first of the largest and of the smallest index: vertices may come after faces.
    let mut extremes: [Option<(f64, Place)>; 2] = [None; 2];
    for element in &elements {
        match element.name {
            b"vertex" => vertices(element, &mut body, &mut out)?,
            b"face" => faces(element, &mut body, &mut out, &mut extremes)?,
            // One without properties takes no room, whatever its count.
            _ if element.properties.is_empty() => {}
            _ => {
                for _ in 0..element.count {
                    element
                        .properties
                        .iter()
                        .try_for_each(|p| skip(p, &mut body))?;
                }
            }
        }
    }
    for (index, place) in extremes.into_iter().flatten() {
        if !(0.0..out.points.len() as f64).contains(&index) {
            return Err(TrianglesError::Vertex {
                place,
                index: index as i64,
                count: out.points.len(),
                from_one: false,
            });
        }
    }
    out.checked()
}

fn skip(property: &Property, body: &mut Body) -> Result<()> {
    let count = match property.length {
        Some(length) => body.length(length)?,
        None => 1,
    };
    for _ in 0..count {
        body.scalar(property.scalar, "a property")?;
    }
    Ok(())
}

fn vertices(element: &Element, body: &mut Body, out: &mut Triangles) -> Result<()> {
    for _ in 0..element.count {
        let mut point = [0.0; 3];
        for property in &element.properties {
            match [&b"x"[..], b"y", b"z"]
                .iter()
                .position(|n| *n == property.name)
            {
                Some(axis) => {
                    let (value, place) = body.scalar(property.scalar, "a coordinate")?;
                    point[axis] = finite(value, place)?;
                }
                None => skip(property, body)?,
            }
        }
        out.points.push(point);
        if out.points.len() > u32::MAX as usize {
            return Err(TrianglesError::TooMany);
        }
    }
    Ok(())
}

fn is_indices(name: &[u8]) -> bool {
    name == b"vertex_indices" || name == b"vertex_index"
}

fn faces(
    element: &Element,
    body: &mut Body,
    out: &mut Triangles,
    extremes: &mut [Option<(f64, Place)>; 2],
) -> Result<()> {
    let mut polygon = Vec::new();
    for _ in 0..element.count {
        for property in &element.properties {
            let length = match property.length {
                Some(length) if is_indices(property.name) => body.length(length)?,
                _ => {
                    skip(property, body)?;
                    continue;
                }
            };
            let mut first = None;
            polygon.clear();
            for _ in 0..length {
                let (index, place) = body.scalar(property.scalar, "a vertex index")?;
                first.get_or_insert(place);
                let [least, largest] = extremes;
                if least.is_none_or(|(l, _)| index < l) {
                    *least = Some((index, place));
                }
                if largest.is_none_or(|(l, _)| index > l) {
                    *largest = Some((index, place));
                }
                // Those out of range saturate here and are refused at the end.
                polygon.push(index as u32);
            }
            if polygon.len() < 3 {
                let here = match body {
                    Body::Text(words) => words.place(),
                    Body::Binary { at, .. } => Place::Byte(*at),
                };
                return Err(TrianglesError::Face {
                    place: first.unwrap_or(here),
                    count: polygon.len(),
                });
            }
            out.push_fan(&polygon);
        }
    }
    Ok(())
}

/// Encoding, elements, and the byte and line where the body starts.
fn header(data: &[u8]) -> Result<(Encoding, Vec<Element<'_>>, usize, usize)> {
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    let (mut at, mut line) = (0, 0);
    loop {
        let rest = &data[at..];
        let place = Place::Line(line + 1);
        let Some(end) = rest.iter().position(|&b| b == b'\n') else {
            if line == 0 {
                return Err(unexpected(place, "\"ply\"", rest));
            }
            return Err(TrianglesError::Truncated {
                place,
                expected: "a line of the header or end_header".to_string(),
            });
        };
        let text = rest[..end].trim_ascii();
        at += end + 1;
        line += 1;
        if line == 1 {
            if text != b"ply" {
                return Err(unexpected(place, "\"ply\"", text));
            }
            continue;
        }
        let words: Vec<&[u8]> = text
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty())
            .collect();
        match words[..] {
            [] | [b"comment" | b"obj_info", ..] => {}
            [b"format", name, b"1.0"] => {
                encoding = Some(match name {
                    b"ascii" => Encoding::Text,
                    b"binary_little_endian" => Encoding::Little,
                    b"binary_big_endian" => Encoding::Big,
                    _ => {
                        let expected = "ascii, binary_little_endian or binary_big_endian";
                        return Err(unexpected(place, expected, name));
                    }
                });
            }
            [b"element", name, count] => {
                if elements.iter().any(|e| e.name == name) {
                    return Err(unexpected(place, "an element of another name", text));
                }
                elements.push(Element {
                    name,
                    count: number(count, place, "the number of elements")?,
                    properties: Vec::new(),
                });
            }
            [b"property", b"list", length, scalar, name] => {
                let length = scalar_named(length, place)?;
                if length.is_float() {
                    return Err(unexpected(
                        place,
                        "a whole number as length of a list",
                        text,
                    ));
                }
                let scalar = scalar_named(scalar, place)?;
                add(
                    &mut elements,
                    place,
                    text,
                    Property {
                        name,
                        length: Some(length),
                        scalar,
                    },
                )?;
            }
            [b"property", scalar, name] => {
                let scalar = scalar_named(scalar, place)?;
                add(
                    &mut elements,
                    place,
                    text,
                    Property {
                        name,
                        length: None,
                        scalar,
                    },
                )?;
            }
            [b"end_header"] => break,
            _ => return Err(unexpected(place, "a line of a PLY header", text)),
        }
    }
    let place = Place::Line(line);
    let missing = |what: &str| TrianglesError::Unexpected {
        place,
        expected: what.to_string(),
        found: shown(b"end_header"),
    };
    let encoding = encoding.ok_or_else(|| missing("a line \"format ascii 1.0\" or the like"))?;
    let has = |element: &[u8], test: &dyn Fn(&Property) -> bool| {
        let mut named = elements.iter().filter(|e| e.name == element);
        named.any(|e| e.properties.iter().any(test))
    };
    for axis in [b"x", b"y", b"z"] {
        if !has(b"vertex", &|p| p.name == axis && p.length.is_none()) {
            return Err(missing("an element vertex with the properties x, y and z"));
        }
    }
    let indices = |p: &Property| is_indices(p.name) && p.length.is_some() && !p.scalar.is_float();
    if !has(b"face", &indices) {
        return Err(missing(
            "an element face with a list vertex_indices of whole numbers",
        ));
    }
    Ok((encoding, elements, at, line + 1))
}

fn scalar_named(name: &[u8], place: Place) -> Result<Scalar> {
    let expected = "a type: char uchar short ushort int uint float double";
    Scalar::named(name).ok_or_else(|| unexpected(place, expected, name))
}

fn add<'a>(
    elements: &mut [Element<'a>],
    place: Place,
    text: &[u8],
    property: Property<'a>,
) -> Result<()> {
    let Some(element) = elements.last_mut() else {
        return Err(unexpected(place, "an element before its properties", text));
    };
    // Two lists of indices would be two faces in one.
    let same =
        |p: &Property| p.name == property.name || is_indices(p.name) && is_indices(property.name);
    if element.properties.iter().any(same) {
        return Err(unexpected(place, "a property of another name", text));
    }
    element.properties.push(property);
    Ok(())
}
