//! The visible surface of a geometry as triangles.
//!
//! Main type: [`Skin`]. The invariant: curved cells and fields of high degree look smooth, since
//! every face is cut into as many triangles as its degree asks for, and only cells that are seen
//! are evaluated.

use std::sync::Arc;

use super::{PictureError, Surface};
use weft::assemble::PointPlan;
use weft::element::{CellKind, Lagrange, NodeFamily};
use weft::form::Expr;
use weft::geometry::Geometry;

/// The boundary of a body, or all cells of a plane or curved surface, as triangles with a value
/// at each corner.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    positions: Vec<[f64; 3]>,
    values: Vec<f64>,
    outlines: Vec<u8>,
}

/// Triangles of a face in terms of the nodes of a cell, and their outline masks.
type Face = Vec<([usize; 3], u8)>;

impl Skin {
    /// Cuts each visible face of `geometry` into `degree`² quads or triangles (1 to 10), moves
    /// their corners by a displacement times a factor (a vector of at most three components;
    /// further ones are 0), and takes the scalar `color` at them.
    ///
    /// # Errors
    /// [`PictureError::NoFaces`] for cells of dimension 1, [`PictureError::Shape`] for values
    /// of other shapes, [`PictureError::Evaluate`], [`PictureError::Degree`].
    pub fn new(
        geometry: &Arc<dyn Geometry>,
        degree: usize,
        displacement: Option<(&Expr, f64)>,
        color: &Expr,
    ) -> Result<Skin, PictureError> {
        let kind = geometry.cell_kind();
        if kind.dim() < 2 {
            return Err(PictureError::NoFaces(kind));
        }
        if !color.shape().is_scalar() {
            return Err(PictureError::shape("colors", "a scalar", color));
        }
        let element = Lagrange::new(kind, degree, NodeFamily::Equispaced)
            .map_err(|_| PictureError::Degree(degree))?;
        let faces = faces(kind, &element);
        let visible = visible(&**geometry);
        let mut cells: Vec<u32> = visible.iter().map(|&(cell, _)| cell).collect();
        cells.sort_unstable();
        cells.dedup();
        let evaluate = |e: &Expr| -> Result<Vec<f64>, PictureError> {
            let mut plan = PointPlan::on_cells(e, geometry, &cells, element.nodes())?;
            let mut out = vec![0.0; plan.len()];
            plan.evaluate(&mut out)?;
            Ok(out)
        };
        let place = evaluate(&Expr::position(&**geometry))?;
        let dim = geometry.space_dim();
        let moved = match displacement {
            None => None,
            Some((u, _)) if u.shape().rank() != 1 || u.shape().len() > 3 => {
                let wanted = "a vector of at most 3 components";
                return Err(PictureError::shape("displacements", wanted, u));
            }
            Some((u, factor)) => Some((evaluate(u)?, u.shape().len(), factor)),
        };
        let values = evaluate(color)?;
        let n = element.node_count();
        let mut skin = Skin::default();
        for (cell, face) in visible {
            for (corners, outline) in &faces[face] {
                for corner in corners {
                    let at = cell as usize * n + corner;
                    let mut x = [0.0; 3];
                    x[..dim].copy_from_slice(&place[at * dim..(at + 1) * dim]);
                    if let Some((u, len, factor)) = &moved {
                        for d in 0..*len {
                            x[d] += factor * u[at * len + d];
                        }
                    }
                    skin.positions.push(x);
                    skin.values.push(values[at]);
                }
                skin.outlines.push(*outline);
            }
        }
        Ok(skin)
    }

    /// The triangles, to be drawn.
    pub fn surface(&self) -> Surface<'_> {
        Surface {
            positions: &self.positions,
            values: &self.values,
            outlines: &self.outlines,
        }
    }
}

/// Cell and local face of everything that is seen.
fn visible(geometry: &dyn Geometry) -> Vec<(u32, usize)> {
    let topology = geometry.topology();
    if geometry.cell_kind().dim() == 2 {
        return (0..topology.cell_count() as u32).map(|c| (c, 0)).collect();
    }
    let sides = topology.boundary_sides().iter();
    sides
        .map(|&side| {
            let side = side as usize;
            let local = topology.side_locals(side)[0];
            (topology.side_cells(side)[0], usize::from(local))
        })
        .collect()
}

/// The faces of a cell that may be seen: its sides, or itself.
fn faces(kind: CellKind, element: &Lagrange) -> Vec<Face> {
    let own: Vec<u8> = (0..kind.vertex_count() as u8).collect();
    match kind.dim() {
        2 => vec![face(kind, kind, &own, element)],
        _ => (0..kind.side_count())
            .map(|s| face(kind, kind.side_kind(), kind.side_vertices(s), element))
            .collect(),
    }
}

/// Cuts the face of kind `shape` with these vertices of the cell.
fn face(kind: CellKind, shape: CellKind, vertices: &[u8], element: &Lagrange) -> Face {
    let p = element.degree();
    // The node at step (i, j) of the face, found by its place.
    let node = |i: usize, j: usize| {
        let at = [i as f64 / p as f64, j as f64 / p as f64];
        let mut x = [0.0; 3];
        for (corner, &v) in shape.vertices().iter().zip(vertices) {
            let weight = if shape.is_tensor() {
                let along = |d: usize| corner[d] * at[d] + (1.0 - corner[d]) * (1.0 - at[d]);
                along(0) * along(1)
            } else {
                match (corner[0], corner[1]) {
                    (1.0, _) => at[0],
                    (_, 1.0) => at[1],
                    _ => 1.0 - at[0] - at[1],
                }
            };
            let vertex = kind.vertices()[usize::from(v)];
            (0..3).for_each(|d| x[d] += weight * vertex[d]);
        }
        let distance = |y: &[f64; 3]| (0..3).map(|d| (x[d] - y[d]).abs()).sum::<f64>();
        let nodes = element.nodes().iter().enumerate();
        nodes
            .min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
            .map_or(0, |(i, _)| i)
    };
    let mask = |edges: [bool; 3]| (0..3).map(|e| u8::from(edges[e]) << e).sum::<u8>();
    let mut triangles = Face::new();
    for i in 0..p {
        let row = if shape.is_tensor() { p } else { p - i };
        for j in 0..row {
            let corner = [node(i, j), node(i + 1, j), node(i, j + 1)];
            if shape.is_tensor() {
                let far = node(i + 1, j + 1);
                let edges = [j == 0, i + 1 == p, false];
                triangles.push(([corner[0], corner[1], far], mask(edges)));
                let edges = [false, j + 1 == p, i == 0];
                triangles.push(([corner[0], far, corner[2]], mask(edges)));
                continue;
            }
            triangles.push((corner, mask([j == 0, i + j + 1 == p, i == 0])));
            if i + j + 2 <= p {
                triangles.push(([corner[1], node(i + 1, j + 1), corner[2]], 0));
            }
        }
    }
    triangles
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft::geometry::shapes;

    fn area(skin: &Skin) -> f64 {
        let triangles = skin.positions.chunks_exact(3);
        triangles
            .map(|t| {
                let e = |i: usize| [0, 1, 2].map(|d| t[i][d] - t[0][d]);
                let n = super::super::cross(e(1), e(2));
                0.5 * super::super::dot(n, n).sqrt()
            })
            .sum()
    }

    fn outline(skin: &Skin) -> f64 {
        let mut length = 0.0;
        for (t, mask) in skin.positions.chunks_exact(3).zip(&skin.outlines) {
            for e in (0..3).filter(|e| mask >> e & 1 == 1) {
                let (a, b) = (t[e], t[(e + 1) % 3]);
                length += (0..3).map(|d| (a[d] - b[d]).powi(2)).sum::<f64>().sqrt();
            }
        }
        length
    }

    #[test]
    fn faces_cover_the_surface_and_outlines_the_edges() {
        let unit = [0.0; 3];
        let diagonal = 2f64.sqrt();
        let meshes: [(Arc<dyn Geometry>, f64, f64); 4] = [
            (
                Arc::new(shapes::box_hexes([2, 2, 2], unit, [1.0; 3]).unwrap()),
                6.0,
                6.0 * 8.0,
            ),
            (
                Arc::new(shapes::box_tets([1, 1, 1], unit, [1.0; 3]).unwrap()),
                6.0,
                6.0 * (4.0 + 2.0 * diagonal),
            ),
            (
                Arc::new(shapes::rectangle_quads([2, 2], [0.0; 2], [1.0; 2]).unwrap()),
                1.0,
                8.0,
            ),
            (
                Arc::new(shapes::rectangle_triangles([1, 1], [0.0; 2], [1.0; 2]).unwrap()),
                1.0,
                4.0 + 2.0 * diagonal,
            ),
        ];
        for (geometry, faces, edges) in meshes {
            let x = Expr::position(&*geometry);
            for degree in 1..=4 {
                let skin = Skin::new(&geometry, degree, None, &x.at(0)).unwrap();
                assert!((area(&skin) - faces).abs() < 1e-12, "{geometry:?}");
                assert!((outline(&skin) - edges).abs() < 1e-12, "{geometry:?}");
                for (p, value) in skin.positions.iter().zip(&skin.values) {
                    assert!((p[0] - value).abs() < 1e-15);
                }
                let skin = Skin::new(&geometry, degree, Some((&x, 1.0)), &x.at(0)).unwrap();
                assert!((area(&skin) - 4.0 * faces).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn what_has_no_faces_or_no_colour_is_refused() {
        let line: Arc<dyn Geometry> = Arc::new(shapes::segments(2, 0.0, 1.0).unwrap());
        let plane: Arc<dyn Geometry> =
            Arc::new(shapes::rectangle_quads([1, 1], [0.0; 2], [1.0; 2]).unwrap());
        let one = Expr::constant(1.0);
        let x = Expr::position(&*plane);
        let made = Skin::new(&line, 1, None, &one);
        assert!(matches!(made, Err(PictureError::NoFaces(_))));
        let made = Skin::new(&plane, 1, None, &x);
        assert!(matches!(made, Err(PictureError::Shape { .. })));
        let made = Skin::new(&plane, 1, Some((&one, 1.0)), &one);
        assert!(matches!(made, Err(PictureError::Shape { .. })));
        let made = Skin::new(&plane, 99, None, &one);
        assert!(matches!(made, Err(PictureError::Degree(99))));
    }
}
