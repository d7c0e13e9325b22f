//! What an integrand can ask of the place it is evaluated at, besides position, normal and size:
//! measures, derivatives of the cell's map, reference coordinates, numbers of elements.

use super::error::FormError;
use super::expr::{CellData, Expr, Op};
use super::shape::Shape;
use crate::element::CellKind;
use crate::geometry::Geometry;
use crate::partition::Environments;
use std::sync::Arc;

/// A quantity of an element or of the map of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Quantity {
    Measure,
    CellMeasure,
    Jacobian,
    InverseJacobian,
    SideJacobian,
    CellNormal,
    ReferencePosition,
    ElementIndex,
    CellIndex,
    QuadratureWeight,
}

impl Quantity {
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Measure => "measure",
            Quantity::CellMeasure => "cell_measure",
            Quantity::Jacobian => "jacobian",
            Quantity::InverseJacobian => "inverse_jacobian",
            Quantity::SideJacobian => "side_jacobian",
            Quantity::CellNormal => "cell_normal",
            Quantity::ReferencePosition => "xi",
            Quantity::ElementIndex => "element_index",
            Quantity::CellIndex => "cell_index",
            Quantity::QuadratureWeight => "quadrature_weight",
        }
    }

    /// Whether the two cells of a side have values of their own.
    pub fn is_sided(self) -> bool {
        !matches!(
            self,
            Quantity::Measure
                | Quantity::SideJacobian
                | Quantity::ElementIndex
                | Quantity::QuadratureWeight
        )
    }

    /// Whether it is a number of an element, the same everywhere on it.
    pub fn is_index(self) -> bool {
        matches!(self, Quantity::ElementIndex | Quantity::CellIndex)
    }

    fn shape(self, cells: Cells) -> Option<Shape> {
        let (space, own) = (cells.space_dim, cells.kind.dim());
        match self {
            Quantity::Jacobian => Some(Shape::Matrix(space, own)),
            Quantity::InverseJacobian => Some(Shape::Matrix(own, space)),
            Quantity::SideJacobian => (own > 1).then_some(Shape::Matrix(space, own - 1)),
            Quantity::CellNormal => (own + 1 == space).then_some(Shape::Vector(space)),
            Quantity::ReferencePosition => Some(Shape::Vector(own)),
            _ => Some(Shape::Scalar),
        }
    }
}

/// The cells of a geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cells {
    pub kind: CellKind,
    pub space_dim: usize,
}

impl Cells {
    fn of<G: Geometry + ?Sized>(geometry: &G) -> Cells {
        Cells {
            kind: geometry.cell_kind(),
            space_dim: geometry.space_dim(),
        }
    }
}

/// Names of these quantities in texts, with their expressions.
pub(super) fn names<G: Geometry + ?Sized>(geometry: &G) -> Vec<(&'static str, Expr)> {
    let cells = Cells::of(geometry);
    let all = [
        Quantity::Measure,
        Quantity::CellMeasure,
        Quantity::Jacobian,
        Quantity::InverseJacobian,
        Quantity::SideJacobian,
        Quantity::CellNormal,
        Quantity::ReferencePosition,
        Quantity::ElementIndex,
        Quantity::CellIndex,
        Quantity::QuadratureWeight,
    ];
    let single = all
        .into_iter()
        .map(|q| (q.name(), Expr::quantity(q, cells)));
    single
        .chain([("measure_ratio", Expr::measure_ratio(geometry))])
        .collect()
}

impl Expr {
    pub(super) fn quantity(quantity: Quantity, cells: Cells) -> Expr {
        let Some(shape) = quantity.shape(cells) else {
            return Expr::invalid(FormError::Domain(format!(
                "`{}` does not exist for cells of dimension {} in space of dimension {}",
                quantity.name(),
                cells.kind.dim(),
                cells.space_dim,
            )));
        };
        Expr::leaf(Op::Quantity(quantity, cells), shape)
    }

    /// Measure of the element integrated over: the density √det(JᵀJ) of its map at the point, times the
    /// measure of the reference element. On straight simplices and parallelepipeds it is the volume,
    /// area or length of the cell (`dx`) or side (`ds`, `dS`); the measure of a point is 1.
    pub fn measure<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::Measure, Cells::of(geometry))
    }

    /// Measure of the cell at the point, on sides that of the inner or outer cell; see
    /// [`measure`](Expr::measure).
    pub fn cell_measure<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::CellMeasure, Cells::of(geometry))
    }

    /// Measure of the side over that of the smaller of its cells, about 1/h: the factor of interior
    /// penalties. 1 in cells.
    pub fn measure_ratio<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        let cell = Expr::cell_measure(geometry);
        Expr::measure(geometry) / cell.inside().min(cell.outside())
    }

    /// Derivative of the map from the reference cell, `J[d, k]` = ∂x_d/∂ξ_k: axes of space × axes
    /// of the cell, also on sides (see [`side_jacobian`](Expr::side_jacobian)).
    pub fn jacobian<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::Jacobian, Cells::of(geometry))
    }

    /// Inverse of the [`jacobian`](Expr::jacobian), `[k, d]` = ∂ξ_k/∂x_d; the left pseudo-inverse
    /// (JᵀJ)⁻¹Jᵀ where cells have fewer axes than space.
    pub fn inverse_jacobian<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::InverseJacobian, Cells::of(geometry))
    }

    /// Derivative of the position along the reference coordinates of a side: columns are tangents.
    /// For cells of two or three axes, in `ds` and `dS`.
    pub fn side_jacobian<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::SideJacobian, Cells::of(geometry))
    }

    /// Unit normal of a cell that has one axis fewer than space: of a surface ∂x/∂ξ₀ × ∂x/∂ξ₁, of a
    /// curve in the plane its tangent turned clockwise, scaled to 1.
    pub fn cell_normal<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::CellNormal, Cells::of(geometry))
    }

    /// Coordinates ξ of the point in the reference cell, on sides those of the inner or outer cell.
    pub fn reference_position<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::ReferencePosition, Cells::of(geometry))
    }

    /// Number of the element integrated over: of the cell in `dx`, of the side in `ds` and `dS`.
    pub fn element_index<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::ElementIndex, Cells::of(geometry))
    }

    /// Number of the cell, on sides of the inner or outer one.
    pub fn cell_index<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::CellIndex, Cells::of(geometry))
    }

    /// Weight of the quadrature point: Σ weight = 1 in each element, and weight times
    /// [`measure`](Expr::measure) is what an integral multiplies its integrand with. Of a particle it is
    /// the volume over the measure of its cell.
    pub fn quadrature_weight<G: Geometry + ?Sized>(geometry: &G) -> Expr {
        Expr::quantity(Quantity::QuadratureWeight, Cells::of(geometry))
    }

    /// A number for each side of the geometry, for integrals over sides.
    pub fn side_data(name: &str, values: Vec<f64>) -> Expr {
        let data = CellData {
            name: name.to_owned(),
            values,
        };
        Expr::leaf(Op::SideData(Arc::new(data)), Shape::Scalar)
    }

    /// Number of the environment that the cell is in, on sides of either cell.
    pub fn environment_index(environments: &Environments) -> Expr {
        let labels = environments.cell_environments().iter();
        Expr::cell_data("environment_index", labels.map(|&e| e as f64).collect())
    }
}
