//! What `docs/conventions.md` and `docs/forms.md` say, compared with what the library does.
//!
//! Tables are read from the documents themselves, so a number printed there cannot go stale; the
//! pictures are drawn from the library's tables and compared with the files. After a change on
//! purpose, `WEFT_WRITE_PICTURES=1 cargo test -p weft-fem --test conventions` draws them again.

mod cells;
mod forms;
mod numbering;
mod pictures;
mod sides;
mod svg;
mod values;

use std::path::PathBuf;
use weft::element::CellKind;
use weft::geometry::{Mesh, shapes};

fn docs() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))
}

fn document(name: &str) -> String {
    let path = docs().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Rows of the first table after the heading or caption line `title` of `docs/conventions.md`,
/// without its head.
fn table(title: &str) -> Vec<Vec<String>> {
    let text = document("conventions.md");
    let mut lines = text.lines().skip_while(|l| l.trim() != title);
    assert!(
        lines.next().is_some(),
        "no line \"{title}\" in docs/conventions.md"
    );
    let rows: Vec<Vec<String>> = lines
        .skip_while(|l| !l.starts_with('|'))
        .take_while(|l| l.starts_with('|'))
        .skip(2)
        .map(|l| {
            l.trim_matches('|')
                .split('|')
                .map(|c| c.trim().to_string())
                .collect()
        })
        .collect();
    assert!(!rows.is_empty(), "no table after \"{title}\"");
    rows
}

fn kind_named(name: &str) -> CellKind {
    CellKind::CELLS
        .into_iter()
        .find(|k| k.name() == name)
        .unwrap_or_else(|| panic!("{name}"))
}

/// Small meshes of every cell kind, of more than one cell.
fn meshes() -> Vec<Mesh> {
    let (l2, u2) = ([0.0; 2], [2.0, 1.0]);
    let (l3, u3) = ([0.0; 3], [2.0, 1.0, 1.0]);
    vec![
        shapes::segments(3, 0.0, 1.0).unwrap(),
        shapes::rectangle_triangles([3, 2], l2, u2).unwrap(),
        shapes::rectangle_quads([3, 2], l2, u2).unwrap(),
        shapes::box_tets([2, 1, 2], l3, u3).unwrap(),
        shapes::box_hexes([2, 3, 1], l3, u3).unwrap(),
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

#[track_caller]
fn close(a: f64, b: f64) {
    assert!(
        (a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs())),
        "{a} is not {b}"
    );
}
