//! `weft info`: what a mesh file holds.

use crate::names;
use crate::run::bounds;
use anyhow::Context;
use std::fmt::Write;
use std::path::Path;
use weft::assemble;
use weft::element::CellKind;
use weft::form::{Expr, Measure};
use weft::geometry::{Geometry, Mesh};
use weft::space::Space;

/// Describes the mesh in `path` in a few lines.
///
/// # Errors
/// Those of the reader.
pub fn describe(path: &Path) -> anyhow::Result<String> {
    let mesh = weft_io::gmsh::read(path)?;
    let text = describe_mesh(&mesh).with_context(|| path.display().to_string())?;
    Ok(format!("{}\n{text}", path.display()))
}

fn describe_mesh(mesh: &Mesh) -> anyhow::Result<String> {
    let (topology, tags, map) = (mesh.topology(), mesh.tags(), mesh.map());
    let kind = mesh.cell_kind();
    let cells = sizes(mesh)?;
    let mut text = String::new();
    let shape = match map.degree {
        1 => String::new(),
        degree => format!(", curved (degree {degree})"),
    };
    let mut line = |name: &str, value: String| writeln!(text, "{name:<12}{value}");
    line(
        "cells",
        format!(
            "{} {} in {} dimensions{shape}",
            topology.cell_count(),
            names::cells(kind),
            mesh.space_dim()
        ),
    )?;
    line("vertices", topology.vertex_count().to_string())?;
    line(
        "sides",
        format!(
            "{}, {} of them on the boundary",
            topology.side_count(),
            topology.boundary_sides().len()
        ),
    )?;
    if kind.dim() == 3 {
        line("edges", topology.edge_count().to_string())?;
    }
    line("bounds", bounds(mesh))?;
    line(measure(kind.dim()), number(cells.iter().sum()))?;
    let (smallest, largest) = extremes(&cells);
    line(
        "cell size",
        format!(
            "{} (cell {smallest}) to {} (cell {largest})",
            number(cells[smallest]),
            number(cells[largest])
        ),
    )?;
    let quality = quality(mesh);
    let (worst, _) = extremes(&quality);
    let mean = quality.iter().sum::<f64>() / quality.len() as f64;
    line(
        "quality",
        format!(
            "scaled Jacobian from {:.3} (cell {worst}), mean {mean:.3}",
            quality[worst]
        ),
    )?;

    let one = Expr::constant(1.0);
    let mut groups = Vec::new();
    for name in tags.cell_names() {
        let size = assemble::integrate(&one.over(&Measure::cells(mesh).tagged(name)))?;
        let count = tags.cells(name).unwrap_or_default().len();
        let size = format!("{} {}", measure(kind.dim()), number(size));
        groups.push((name, format!("{count} cells"), size));
    }
    for name in tags.side_names() {
        let sides = tags.sides(name).unwrap_or_default();
        let (outer, inner): (Vec<u32>, Vec<u32>) = sides
            .iter()
            .partition(|&&s| topology.is_boundary(s as usize));
        let mut size = 0.0;
        if !outer.is_empty() {
            size += assemble::integrate(&one.over(&Measure::boundary(mesh).listed(outer)))?;
        }
        if !inner.is_empty() {
            size += assemble::integrate(&one.over(&Measure::interior(mesh).listed(inner)))?;
        }
        let size = format!("{} {}", measure(kind.dim() - 1), number(size));
        groups.push((name, format!("{} sides", sides.len()), size));
    }
    for name in tags.vertex_names() {
        let count = tags.vertices(name).unwrap_or_default().len();
        groups.push((name, format!("{count} vertices"), String::new()));
    }
    let width = |f: fn(&(&str, String, String)) -> usize| groups.iter().map(f).max().unwrap_or(0);
    let name_width = width(|g| g.0.chars().count());
    let count_width = width(|g| g.1.chars().count());
    for (i, (name, count, size)) in groups.iter().enumerate() {
        let label = if i == 0 { "groups" } else { "" };
        let row = format!("{name:<name_width$}  {count:>count_width$}  {size}");
        writeln!(text, "{label:<12}{}", row.trim_end())?;
    }
    let warnings = mesh.warnings();
    if warnings.is_empty() {
        text += "warnings    none";
    }
    for (i, warning) in warnings.iter().enumerate() {
        let label = if i == 0 { "warnings" } else { "\n" };
        write!(text, "{label:<12}{warning}")?;
    }
    Ok(text)
}

/// What the size of something of this dimension is called.
fn measure(dim: usize) -> &'static str {
    ["count", "length", "area", "volume"][dim.min(3)]
}

fn number(x: f64) -> String {
    format!("{x:.6e}")
}

/// Indices of the smallest and the largest; the first ones if there are several.
fn extremes(values: &[f64]) -> (usize, usize) {
    let mut found = (0, 0);
    for (i, value) in values.iter().enumerate() {
        if *value < values[found.0] {
            found.0 = i;
        }
        if *value > values[found.1] {
            found.1 = i;
        }
    }
    found
}

/// Length, area or volume of each cell.
fn sizes(mesh: &Mesh) -> anyhow::Result<Vec<f64>> {
    let space = Space::discontinuous(mesh, 0)?;
    Ok(assemble::vector(&Expr::test(&space).dx(mesh))?)
}

/// For each cell the least Jacobian at a corner over the product of the edges there, scaled so
/// that the ideal cell has 1 (Knupp 2000). Only corners are looked at, also of curved cells.
fn quality(mesh: &Mesh) -> Vec<f64> {
    let (topology, map) = (mesh.topology(), mesh.map());
    let kind = mesh.cell_kind();
    let ideal = match kind {
        CellKind::Triangle => 2.0 / 3f64.sqrt(),
        CellKind::Tet => 2f64.sqrt(),
        _ => 1.0,
    };
    let neighbours: Vec<Vec<usize>> = (0..kind.vertex_count())
        .map(|v| {
            let edges = kind.edges().iter().map(|e| e.map(usize::from));
            edges
                .filter(|e| e.contains(&v))
                .map(|[a, b]| if a == v { b } else { a })
                .collect()
        })
        .collect();
    let cell_quality = |cell: usize| {
        let vertices = topology.cell_vertices(cell);
        let x = |v: usize| map.vertex(vertices[v]);
        let corner = |v: usize| {
            let edges: Vec<[f64; 3]> = neighbours[v]
                .iter()
                .map(|&w| [0, 1, 2].map(|d| x(w)[d] - x(v)[d]))
                .collect();
            let lengths: f64 = edges.iter().map(|e| dot(*e, *e).sqrt()).product();
            let jacobian = match edges[..] {
                [a, b, c] => dot(cross(a, b), c).abs(),
                [a, b] => {
                    let n = cross(a, b);
                    dot(n, n).sqrt()
                }
                _ => lengths,
            };
            ideal * jacobian / lengths
        };
        (0..kind.vertex_count())
            .map(corner)
            .fold(f64::INFINITY, f64::min)
    };
    (0..topology.cell_count()).map(cell_quality).collect()
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft::geometry::shapes;

    #[test]
    fn ideal_cells_have_quality_1() {
        let s = 3f64.sqrt() / 2.0;
        let triangle = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.5, s, 0.0]];
        let mesh = Mesh::new(CellKind::Triangle, 2, triangle, vec![0, 1, 2]).unwrap();
        assert!((quality(&mesh)[0] - 1.0).abs() < 1e-14);
        let tet = vec![[0.0; 3], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]];
        let mesh = Mesh::reoriented(CellKind::Tet, 3, tet, vec![0, 1, 2, 3]).unwrap();
        assert!((quality(&mesh)[0] - 1.0).abs() < 1e-14);
        let mesh = shapes::box_hexes([2, 2, 2], [0.0; 3], [1.0; 3]).unwrap();
        assert!(quality(&mesh).iter().all(|q| (q - 1.0).abs() < 1e-14));
    }

    #[test]
    fn a_description_has_counts_sizes_and_groups() {
        let mesh = shapes::box_hexes([2, 1, 1], [0.0; 3], [2.0, 1.0, 1.0]).unwrap();
        let text = describe_mesh(&mesh).unwrap();
        for part in [
            "2 hexes in 3 dimensions",
            "vertices    12",
            "11, 10 of them on the boundary",
            "[0, 2] × [0, 1] × [0, 1]",
            "volume      2.000000e0",
            "1.000000e0 (cell 0)",
            "groups      back",
            "area 2.000000e0",
            "warnings    none",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
    }
}
