//! Numbers given for each point of a quadrature rule: what a material remembers.

use super::error::FormError;
use super::particle_data::{ParticleData, ParticleValues, ParticleValuesMut};
use super::shape::Shape;

/// A named scalar, vector or matrix for each point of a rule in each element: plastic strains,
/// temperatures of a table, anything computed outside of forms. Cloning copies a handle; all see the
/// same values.
///
/// Values are `[element][point][component]`, for all cells of the geometry in integrals over cells
/// and for all sides in integrals over sides, also where a part is integrated over. The measure has
/// to have the [degree](super::Measure::degree) of that rule; the points of
/// [`Quadrature::new`](crate::element::Quadrature::new) and the layout are also those that
/// [`PointPlan`](crate::assemble::PointPlan) writes, so a step computes strains at the points, turns
/// them into stresses, and assembles these:
///
/// ```
/// use std::sync::Arc;
/// use weft::assemble::{integrate, evaluate_at};
/// use weft::element::{CellKind, Quadrature};
/// use weft::form::{Expr, Measure, PointData};
/// use weft::geometry::{Geometry, Grid2};
///
/// let grid = Grid2::unit([2, 2])?;
/// let rule = Quadrature::new(CellKind::Quad, 3)?;
/// let shared: Arc<dyn Geometry> = Arc::new(grid.clone());
/// let mut values = evaluate_at(&Expr::position(&grid).at(0), &shared, rule.points())?;
/// values.iter_mut().for_each(|x| *x = x.max(0.5));
/// let stress = PointData::scalar("stress", &values);
/// let sum = integrate(&Expr::from(&stress).over(&Measure::cells(&grid).degree(3)))?;
/// assert!((sum - 0.625).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PointData(pub(super) ParticleData);

impl PointData {
    /// Zeros of a shape for each of `points` points, of all elements together.
    pub fn zeros(name: &str, shape: Shape, points: usize) -> PointData {
        PointData(ParticleData::at_points(
            name,
            shape,
            vec![0.0; points * shape.len()],
        ))
    }

    /// A number for each point.
    pub fn scalar(name: &str, values: &[f64]) -> PointData {
        PointData(ParticleData::at_points(
            name,
            Shape::Scalar,
            values.to_vec(),
        ))
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Shape of the value at a point.
    pub fn shape(&self) -> Shape {
        self.0.shape()
    }

    /// Number of points, of all elements together.
    pub fn point_count(&self) -> usize {
        self.0.particle_count()
    }

    /// Replace all values; the number of points may change. Allocates nothing unless there are more
    /// than ever before.
    ///
    /// # Errors
    /// If the values do not divide into points; nothing is changed then.
    pub fn set(&self, values: &[f64]) -> Result<(), FormError> {
        self.0.set(values)
    }

    /// The values, for reading. Assembly that uses them waits for writers.
    pub fn values(&self) -> ParticleValues<'_> {
        self.0.values()
    }

    /// The values, for writing.
    pub fn values_mut(&self) -> ParticleValuesMut<'_> {
        self.0.values_mut()
    }

    /// Whether both handles name the same data.
    pub fn same(&self, other: &PointData) -> bool {
        self.0.same(&other.0)
    }
}
