//! From fields and expressions to grids with data on points.
//!
//! Main type: [`NodalGrid`]. The invariant: a file shows what the cells say. Points are shared by
//! cells only where all of them agree on all values; else each cell has points of its own.

use std::path::Path;
use std::sync::Arc;

use super::{Encoding, MAX_DEGREE, VtuArray, VtuError, VtuGrid};
use weft::assemble::{AssembleError, evaluate_at};
use weft::element::{CellKind, NodeFamily};
use weft::field::Field;
use weft::form::Expr;
use weft::geometry::Geometry;
use weft::space::Space;

/// Part of the largest value by which cells may differ at a shared node: rounding.
const AGREE: f64 = 1e-10;

/// Writes fields of one geometry, with Lagrange cells of the highest degree among them and the
/// geometry's map.
///
/// # Errors
/// [`VtuError`] for no fields, fields of several geometries, or a file that can't be written.
pub fn write(path: impl AsRef<Path>, fields: &[(&str, &Field)]) -> Result<(), VtuError> {
    let Some((first, field)) = fields.first() else {
        return Err(VtuError::NoFields);
    };
    let geometry = field.space().geometry();
    let mut degree = geometry.map().degree;
    for (name, field) in fields {
        if field.space().geometry().id() != geometry.id() {
            return Err(VtuError::Geometries {
                first: first.to_string(),
                other: name.to_string(),
            });
        }
        degree = degree.max(field.space().degree());
    }
    let values: Vec<(&str, Expr)> = fields.iter().map(|(n, f)| (*n, f.expr())).collect();
    NodalGrid::new(geometry, degree, &values)?.write(path, Encoding::Compressed)
}

/// The cells of a geometry as Lagrange cells, with values of expressions at their nodes.
#[derive(Clone, Debug)]
pub struct NodalGrid {
    kind: CellKind,
    degree: usize,
    points: Vec<[f64; 3]>,
    cell_nodes: Vec<u32>,
    arrays: Vec<VtuArray>,
}

impl NodalGrid {
    /// Evaluates expressions at the equispaced nodes of degree `degree` (1 to 10) of each cell.
    ///
    /// # Errors
    /// [`VtuError::Degree`], [`VtuError::Evaluate`], [`VtuError::Space`] past 32-bit numbers.
    pub fn new(
        geometry: &Arc<dyn Geometry>,
        degree: usize,
        expressions: &[(&str, Expr)],
    ) -> Result<NodalGrid, VtuError> {
        if !(1..=MAX_DEGREE).contains(&degree) {
            return Err(VtuError::Degree(degree));
        }
        let space = Space::on(geometry.clone(), degree, NodeFamily::Equispaced, true)?;
        let nodes = space.element().nodes();
        let evaluate = |name: &str, e: &Expr| {
            let failed = |source: AssembleError| VtuError::Evaluate {
                name: name.to_string(),
                source: Box::new(source),
            };
            evaluate_at(e, geometry, nodes).map_err(failed)
        };
        let arrays = expressions
            .iter()
            .map(|(name, e)| {
                let mut array = VtuArray::new(*name, e.shape().len(), evaluate(name, e)?);
                array.vectors = e.shape().rank() == 1;
                Ok(array)
            })
            .collect::<Result<Vec<_>, VtuError>>()?;
        let mut grid = NodalGrid {
            kind: geometry.cell_kind(),
            degree,
            points: space.node_positions(),
            cell_nodes: (0..space.topology().cell_count())
                .flat_map(|cell| space.cell_nodes(cell).iter().copied())
                .collect(),
            arrays: Vec::new(),
        };
        let shared: Option<Vec<VtuArray>> = arrays.iter().map(|a| grid.shared(a)).collect();
        grid.arrays = match shared {
            Some(shared) => shared,
            None => {
                let at = grid.cell_nodes.iter().map(|&n| grid.points[n as usize]);
                grid.points = at.collect();
                grid.cell_nodes = (0..grid.points.len() as u32).collect();
                arrays
            }
        };
        Ok(grid)
    }

    /// An array given for each cell's nodes, as one for the shared nodes; nothing if cells differ.
    fn shared(&self, array: &VtuArray) -> Option<VtuArray> {
        let n = array.components;
        let largest = array.values.iter().filter(|v| v.is_finite());
        let tolerance = AGREE * largest.fold(0.0, |m: f64, v| m.max(v.abs()));
        let mut values = vec![0.0; self.points.len() * n];
        let mut known = vec![false; self.points.len()];
        for (given, &node) in array.values.chunks_exact(n).zip(&self.cell_nodes) {
            let node = node as usize;
            let out = &mut values[node * n..(node + 1) * n];
            if !known[node] {
                known[node] = true;
                out.copy_from_slice(given);
            } else if out
                .iter()
                .zip(given)
                .any(|(a, b)| (a - b).abs() > tolerance)
            {
                return None;
            }
        }
        Some(VtuArray {
            name: array.name.clone(),
            values,
            ..*array
        })
    }

    /// Number of points.
    pub fn point_count(&self) -> usize {
        self.points.len()
    }

    /// Writes the grid.
    ///
    /// # Errors
    /// As [`VtuGrid::write`].
    pub fn write(self, path: impl AsRef<Path>, encoding: Encoding) -> Result<(), VtuError> {
        let grid = VtuGrid {
            points: &self.points,
            kind: self.kind,
            degree: self.degree,
            cell_nodes: &self.cell_nodes,
            point_data: self.arrays,
            cell_data: Vec::new(),
        };
        grid.write(path, encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft::assemble::interpolate;
    use weft::geometry::{Mesh, shapes};
    use weft::space::ValueKind;

    fn meshes() -> Vec<Mesh> {
        vec![
            shapes::segments(3, 0.0, 1.0).unwrap(),
            shapes::rectangle_triangles([2, 3], [0.0; 2], [1.0, 2.0]).unwrap(),
            shapes::rectangle_quads([2, 3], [0.0; 2], [1.0, 2.0]).unwrap(),
            shapes::box_tets([2, 1, 1], [0.0; 3], [1.0; 3]).unwrap(),
            shapes::box_hexes([2, 1, 1], [0.0; 3], [1.0; 3]).unwrap(),
            shapes::sphere(1).unwrap(),
        ]
    }

    #[test]
    fn values_belong_to_their_points_on_every_kind_and_degree() {
        for mesh in meshes() {
            let geometry: Arc<dyn Geometry> = Arc::new(mesh);
            let x = Expr::position(&*geometry);
            for degree in 1..=4 {
                let grid = NodalGrid::new(&geometry, degree, &[("x", x.clone())]).unwrap();
                let dim = geometry.space_dim();
                for (point, value) in grid
                    .points
                    .iter()
                    .zip(grid.arrays[0].values.chunks_exact(dim))
                {
                    for d in 0..dim {
                        assert!((point[d] - value[d]).abs() < 1e-14);
                    }
                }
            }
        }
    }

    #[test]
    fn points_are_shared_exactly_where_the_cells_agree() {
        for mesh in meshes() {
            let cells = mesh.topology().cell_count();
            let space = Space::lagrange(&mesh, 2).unwrap();
            let x = Expr::position(&mesh).at(0);
            let field = interpolate(&x.pow(4.0), &space).unwrap();
            let geometry: Arc<dyn Geometry> = Arc::new(mesh.clone());
            let smooth = NodalGrid::new(&geometry, 2, &[("u", field.expr())]).unwrap();
            assert_eq!(smooth.point_count(), space.node_count());
            let both = [("u", field.expr()), ("du", field.expr().grad())];
            let broken = NodalGrid::new(&geometry, 2, &both).unwrap();
            assert_eq!(broken.point_count(), cells * space.nodes_per_cell());
        }
    }

    /// Files hold values, whatever a space stores of them.
    #[test]
    fn values_of_every_kind_are_whole() {
        let mut kinds = vec![
            (ValueKind::Scalar, 1),
            (ValueKind::Vector(2), 3),
            (ValueKind::Vector(3), 3),
            (ValueKind::Vector(4), 4),
            (ValueKind::Matrix(2, 2), 9),
            (ValueKind::Matrix(2, 3), 6),
            (ValueKind::Matrix(4, 4), 16),
        ];
        for n in [2, 3] {
            kinds.extend([
                (ValueKind::Symmetric(n), 9),
                (ValueKind::Deviatoric(n), 9),
                (ValueKind::Skew(n), 9),
            ]);
        }
        for mesh in meshes() {
            let geometry: Arc<dyn Geometry> = Arc::new(mesh.clone());
            for &(kind, width) in &kinds {
                let space = Space::discontinuous(&mesh, 1).unwrap();
                let space = space.with_value(kind).unwrap();
                let numbers = (0..space.dof_count()).map(|k| (k % 17) as f64 - 8.0);
                let field = Field::from_values(&space, numbers.collect()).unwrap();
                let grid = NodalGrid::new(&geometry, 1, &[("f", field.expr())]).unwrap();
                let array = &grid.arrays[0];
                assert_eq!(array.values().padded_width(), width, "{kind:?}");
                let (n, len) = (kind.components(), kind.shape().len());
                assert_eq!(array.components, len);
                let stored = field.values();
                for (node, value) in array.values.chunks_exact(len).enumerate() {
                    for (c, value) in value.iter().enumerate() {
                        let terms = kind.dofs_of(c);
                        let expected: f64 = terms.map(|(d, f)| f * stored[node * n + d]).sum();
                        assert!((value - expected).abs() < 1e-13, "{kind:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn fields_are_written_and_mixed_geometries_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.vtu");
        assert!(matches!(write(&path, &[]), Err(VtuError::NoFields)));
        let fields: Vec<Field> = meshes()[1..3]
            .iter()
            .map(|mesh| Field::zeros(&Space::lagrange(mesh, 1).unwrap()))
            .collect();
        let error = write(&path, &[("a", &fields[0]), ("b", &fields[1])]);
        assert!(matches!(error, Err(VtuError::Geometries { .. })));
        assert!(!path.exists());
        write(&path, &[("a", &fields[0])]).unwrap();
        let text = std::fs::read(&path).unwrap();
        assert!(text.windows(8).any(|w| w == b"Name=\"a\""));
    }
}
