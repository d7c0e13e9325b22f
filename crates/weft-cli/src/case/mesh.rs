//! Reads `[mesh]`.

use super::convert::{Mismatch, Read, choice, count, number, number_where, one_or_more, text};
use super::read::{Reader, Section};
use super::{Mesh, MeshSource, Shape, ShapeKind};
use crate::diagnose::{Diagnostic, Located, Origin};
use crate::document::{Document, Node};
use crate::names;
use std::path::{Path, PathBuf};

pub(super) fn mesh(r: &mut Reader, document: &Document, path: &Path) -> Option<Mesh> {
    let example = "[mesh] file = \"body.msh\"";
    let Some(s) = r.section(&document.root, "mesh") else {
        return match document.root.get("mesh") {
            None => r.missing(document, "mesh", example),
            Some(_) => None,
        };
    };
    let distort = r.optional(
        &s,
        "distort",
        number_where("a number from 0 up to 0.5", |x| (0.0..0.5).contains(&x)),
    );
    let source = match (s.table.entry("file"), s.table.entry("shape")) {
        (Some(_), Some((shape, _))) => {
            r.faults.push(
                Diagnostic::new("a mesh has either a `file` or a `shape`")
                    .at(&shape.at)
                    .label("there is a `file` too"),
            );
            None
        }
        (None, None) => {
            r.faults.push(
                Diagnostic::new("`mesh` needs a `file` or a `shape`")
                    .at(s.at)
                    .note(format!("for example: {example}")),
            );
            None
        }
        (Some(_), None) => {
            for key in ["cells", "lower", "upper"] {
                if let Some((name, _)) = s.table.entry(key) {
                    let fault = Diagnostic::new(format!("`mesh.{key}` belongs to a `shape`"));
                    r.faults
                        .push(fault.at(&name.at).label("this mesh is read from a file"));
                }
            }
            r.required(&s, "file", |node| existing_file(node, path))
                .map(MeshSource::File)
        }
        (None, Some(_)) => shape(r, &s).map(MeshSource::Shape),
    };
    Some(Mesh {
        source: source?,
        distort: distort.unwrap_or(0.0),
    })
}

/// A file named relative to the case file's folder; on the command line, to the working
/// directory first.
pub(crate) fn existing_file(node: &Node, case: &Path) -> Read<Located<PathBuf>> {
    let name = text(node)?;
    let beside = case.parent().unwrap_or(Path::new("")).join(&name.value);
    let here = PathBuf::from(&name.value);
    let on_command_line = name.at.origin() == Origin::CommandLine;
    let candidates = if on_command_line {
        vec![here, beside]
    } else {
        vec![beside]
    };
    let Some(found) = candidates.iter().find(|file| file.is_file()) else {
        let tried: Vec<String> = candidates.iter().map(|p| p.display().to_string()).collect();
        let label = files_like(&candidates[candidates.len() - 1]);
        return Err(Mismatch::new(
            &name.at,
            format!("an existing file, and {} is none", tried.join(" or ")),
            label.unwrap_or_default(),
        ));
    };
    Ok(Located {
        value: found.clone(),
        at: name.at,
    })
}

/// Suggests files of the same folder with a name like that of `path`.
pub(crate) fn files_like(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let files: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names::suggestion(name, files.iter().map(String::as_str))
}

fn shape(r: &mut Reader, s: &Section) -> Option<Shape> {
    let kind = r.required(s, "shape", choice(ShapeKind::NAMES))?;
    let axes = if kind.is_box() { kind.space_dim() } else { 1 };
    let cells = r.required(s, "cells", |node| {
        let cells = one_or_more(count(0..=1_000_000))(node)?;
        let least = usize::from(kind != ShapeKind::Sphere);
        if cells.len() == axes && cells.iter().all(|&n| n >= least) {
            return Ok(cells);
        }
        let expected = match kind {
            ShapeKind::Disk => "one number, of the rings".to_string(),
            ShapeKind::Sphere => "one number, of the refinements".to_string(),
            _ => format!("{axes} numbers from 1 up, of the cells along each axis"),
        };
        Err(Mismatch::new(&node.at, expected, ""))
    });
    if !kind.is_box() {
        for key in ["lower", "upper"] {
            if let Some((name, _)) = s.table.entry(key) {
                let fault =
                    Diagnostic::new(format!("`mesh.{key}` belongs to boxes and rectangles"));
                r.faults.push(
                    fault
                        .at(&name.at)
                        .label("this shape has radius 1 about the origin"),
                );
            }
        }
    }
    let corner = |node: &Node| {
        if !kind.is_box() {
            return Ok(Vec::new());
        }
        let corner = one_or_more(number)(node)?;
        let expected = format!("a list of {axes}, one number for each axis");
        let label = format!("these are {}", corner.len());
        (corner.len() == axes)
            .then_some(corner)
            .ok_or_else(|| Mismatch::new(&node.at, expected, label))
    };
    let lower = r.optional(s, "lower", corner).unwrap_or(vec![0.0; axes]);
    let upper = r.optional(s, "upper", |node| {
        let upper = corner(node)?;
        if upper.iter().zip(&lower).all(|(u, l)| u > l) {
            return Ok(upper);
        }
        let label = format!("the lower corner is {lower:?}");
        Err(Mismatch::new(
            &node.at,
            "above the lower corner in each direction",
            label,
        ))
    });
    Some(Shape {
        kind,
        cells: cells?,
        upper: upper.unwrap_or(vec![1.0; axes]),
        lower,
        at: s.at.clone(),
    })
}
