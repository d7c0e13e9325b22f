//! The mesh of a case: from a file or a built-in shape, distorted where asked.

use crate::case::{Case, MeshSource, Shape, ShapeKind};
use crate::diagnose::{Diagnostic, Place};
use crate::names;
use std::sync::Arc;
use weft::geometry::{Geometry, GeometryError, Grid2, Grid3, Mesh, MeshWarning, shapes};

type Built = (Arc<dyn Geometry>, Vec<MeshWarning>);

/// Builds the mesh; also gives what is odd about it.
pub(super) fn build(case: &Case) -> Result<Built, Diagnostic> {
    let (mesh, at) = match &case.mesh.source {
        MeshSource::File(file) => {
            let read = weft_io::gmsh::read(&file.value);
            let fault = |error| Diagnostic::new(format!("{error}")).at(&file.at);
            (read.map_err(fault)?, &file.at)
        }
        MeshSource::Shape(shape) => {
            let fault = |error: GeometryError| Diagnostic::new(error.to_string()).at(&shape.at);
            match shape.kind {
                ShapeKind::Grid2 => {
                    let grid = Grid2::new(
                        array(&shape.cells),
                        array(&shape.lower),
                        array(&shape.upper),
                    );
                    return Ok((Arc::new(grid.map_err(fault)?), Vec::new()));
                }
                ShapeKind::Grid3 => {
                    let grid = Grid3::new(
                        array(&shape.cells),
                        array(&shape.lower),
                        array(&shape.upper),
                    );
                    return Ok((Arc::new(grid.map_err(fault)?), Vec::new()));
                }
                _ => (mesh_of(shape).map_err(fault)?, &shape.at),
            }
        }
    };
    let mesh = distorted(mesh, case.mesh.distort, at)?;
    let warnings = mesh.warnings();
    Ok((Arc::new(mesh), warnings))
}

/// The first numbers of a list; case files give as many as the shape has axes.
fn array<T: Copy + Default, const N: usize>(list: &[T]) -> [T; N] {
    std::array::from_fn(|i| list.get(i).copied().unwrap_or_default())
}

fn mesh_of(shape: &Shape) -> Result<Mesh, GeometryError> {
    let Shape {
        cells,
        lower,
        upper,
        ..
    } = shape;
    match shape.kind {
        ShapeKind::Segments => {
            let ([n], [a], [b]) = (array(cells), array(lower), array(upper));
            shapes::segments(n, a, b)
        }
        ShapeKind::RectangleTriangles => {
            shapes::rectangle_triangles(array(cells), array(lower), array(upper))
        }
        ShapeKind::RectangleQuads | ShapeKind::Grid2 => {
            shapes::rectangle_quads(array(cells), array(lower), array(upper))
        }
        ShapeKind::BoxTets => shapes::box_tets(array(cells), array(lower), array(upper)),
        ShapeKind::BoxHexes | ShapeKind::Grid3 => {
            shapes::box_hexes(array(cells), array(lower), array(upper))
        }
        ShapeKind::Disk => shapes::disk(array::<_, 1>(cells)[0]),
        ShapeKind::Sphere => shapes::sphere(array::<_, 1>(cells)[0]),
    }
}

/// Moves each inner vertex in a direction of its own, by `part` of the shortest edge it touches.
fn distorted(mesh: Mesh, part: f64, at: &Place) -> Result<Mesh, Diagnostic> {
    if part == 0.0 {
        return Ok(mesh);
    }
    let map = mesh.map();
    if map.degree > 1 {
        return Err(Diagnostic::new("`mesh.distort` moves vertices of straight cells only").at(at));
    }
    let positions = moved(&mesh, part);
    mesh.move_vertices(positions).map_err(|error| {
        Diagnostic::new(format!("distorted by {part}: {error}"))
            .at(at)
            .note("a smaller `mesh.distort` folds no cell")
    })?;
    Ok(mesh)
}

/// Where [`distorted`] puts the vertices.
pub(crate) fn moved(mesh: &Mesh, part: f64) -> Vec<[f64; 3]> {
    let (map, topology) = (mesh.map(), mesh.topology());
    let dim = mesh.space_dim();
    let mut size = vec![f64::INFINITY; map.nodes.len()];
    for cell in 0..topology.cell_count() {
        let vertices = topology.cell_vertices(cell);
        for edge in mesh.cell_kind().edges() {
            let [a, b] = edge.map(|v| vertices[v as usize] as usize);
            let (x, y) = (map.nodes[a], map.nodes[b]);
            let square = (0..3).map(|d| (x[d] - y[d]).powi(2)).sum::<f64>();
            let length = square.sqrt();
            size[a] = size[a].min(length);
            size[b] = size[b].min(length);
        }
    }
    for &side in topology.boundary_sides() {
        for &v in topology.side_vertices(side as usize) {
            size[v as usize] = 0.0;
        }
    }
    let mut positions = map.nodes.clone();
    for (v, x) in positions.iter_mut().enumerate() {
        if size[v] > 0.0 && size[v].is_finite() {
            let shift: [f64; 3] = std::array::from_fn(|d| {
                if d < dim {
                    noise((v * 3 + d) as u64)
                } else {
                    0.0
                }
            });
            let length = shift.iter().map(|s| s * s).sum::<f64>().sqrt().max(1.0);
            (0..3).for_each(|d| x[d] += part * size[v] * shift[d] / length);
        }
    }
    positions
}

/// A number in [−1, 1) that depends on `seed` only (splitmix64, Steele et al. 2014).
fn noise(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Counts and groups in a line.
pub(super) fn describe(geometry: &dyn Geometry) -> String {
    let topology = geometry.topology();
    let tags = geometry.tags();
    let mut text = format!(
        "{} {}, {} vertices, {} boundary sides",
        topology.cell_count(),
        names::cells(geometry.cell_kind()),
        topology.vertex_count(),
        topology.boundary_sides().len()
    );
    let degree = geometry.map().degree;
    if degree > 1 {
        text += &format!(", curved (degree {degree})");
    }
    let groups: [(&str, Vec<&str>); 3] = [
        ("cell", tags.cell_names().collect()),
        ("side", tags.side_names().collect()),
        ("vertex", tags.vertex_names().collect()),
    ];
    for (what, names) in groups {
        if !names.is_empty() {
            text += &format!("; {what} groups {}", names.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distortion_keeps_the_boundary_and_is_the_same_every_time() {
        let mesh = shapes::box_hexes([4, 4, 4], [0.0; 3], [1.0; 3]).unwrap();
        let positions = moved(&mesh, 0.2);
        assert_eq!(positions, moved(&mesh, 0.2));
        let mut changed = 0;
        for (x, y) in positions.iter().zip(&mesh.map().nodes) {
            let inner = y.iter().all(|c| *c > 0.01 && *c < 0.99);
            assert!(inner || x == y);
            let shift = (0..3).map(|d| (x[d] - y[d]).powi(2)).sum::<f64>().sqrt();
            assert!(shift <= 0.2 * 0.25 + 1e-12);
            changed += usize::from(x != y);
        }
        assert_eq!(changed, 27);
        mesh.move_vertices(positions).unwrap();
    }
}
