//! The cells of a geometry where they are now: boxes and closest points, cell by cell.

use std::sync::Arc;

use super::bounds::Control;
use super::general::{General, Work};
use super::shape::Shape;
use super::simplex::{self, Hit};
use super::vector::{Bounds, Vec3, along, sub};
use crate::element::CellKind;
use crate::geometry::{Geometry, GeometryMap, equispaced};

/// How closest points are found.
#[derive(Clone, Debug)]
enum Method {
    Segment,
    Triangle,
    Tet,
    General(Box<General>),
}

/// A snapshot of cells.
#[derive(Clone, Debug)]
pub(in crate::geometry) struct Cells {
    pub kind: CellKind,
    pub space_dim: usize,
    pub map: Arc<GeometryMap>,
    /// Nodes per cell.
    pub per_cell: usize,
    method: Method,
    control: Option<Control>,
}

fn control(kind: CellKind, degree: usize) -> Option<Control> {
    (degree > 1).then(|| Control::new(kind, degree))
}

fn method(kind: CellKind, degree: usize, space_dim: usize, control: Option<Control>) -> Method {
    match (kind, degree) {
        (CellKind::Segment, 1) => Method::Segment,
        (CellKind::Triangle, 1) => Method::Triangle,
        (CellKind::Tet, 1) => Method::Tet,
        _ => {
            let shape = Shape::new(kind, degree);
            Method::General(Box::new(General::new(shape, space_dim, control)))
        }
    }
}

impl Method {
    #[inline]
    fn closest(
        &self,
        mut nodes: impl Iterator<Item = Vec3>,
        x: Vec3,
        limit2: f64,
        work: &mut Work,
    ) -> Hit {
        // Only ever called with the nodes of a whole cell.
        let mut next = || nodes.next().unwrap_or_default();
        match self {
            Method::Segment => simplex::segment(next(), next(), x),
            Method::Triangle => simplex::triangle(&[next(), next(), next()], x),
            Method::Tet => simplex::tet(&[next(), next(), next(), next()], x),
            Method::General(general) => general.closest(nodes, x, limit2, work),
        }
    }
}

impl Cells {
    pub fn new(geometry: &dyn Geometry) -> Cells {
        let (kind, map, space_dim) = (geometry.cell_kind(), geometry.map(), geometry.space_dim());
        let control = control(kind, map.degree);
        Cells {
            kind,
            space_dim,
            per_cell: equispaced::node_count(kind, map.degree),
            method: method(kind, map.degree, space_dim, control.clone()),
            control,
            map,
        }
    }

    pub fn count(&self) -> usize {
        self.map.cell_nodes.len() / self.per_cell
    }

    /// Whether all cells are straight simplices, which are quick to copy and to measure.
    pub fn simplices(&self) -> bool {
        !matches!(self.method, Method::General(_))
    }

    pub fn nodes(&self, cell: usize) -> impl Iterator<Item = Vec3> {
        let numbers = &self.map.cell_nodes[cell * self.per_cell..(cell + 1) * self.per_cell];
        numbers.iter().map(|&n| self.map.nodes[n as usize])
    }

    /// Largest extent of the box of the cell's nodes, the unit of relative tolerances.
    pub fn size(&self, cell: usize) -> f64 {
        let mut bounds = Bounds::EMPTY;
        self.nodes(cell).for_each(|x| bounds.add(x));
        bounds.size()
    }

    /// A box that contains the cell, widened by the rounding errors of closest points on it.
    pub fn bounds(&self, cell: usize, work: &mut BoundsWork) -> Bounds {
        let mut bounds = Bounds::EMPTY;
        self.nodes(cell).for_each(|x| bounds.add(x));
        let mut margin = 64.0 * f64::EPSILON * bounds.reach();
        if let Some(control) = &self.control {
            // From the first node, for errors to go with the cell's size.
            let mut nodes = self.nodes(cell);
            let origin = nodes.next().unwrap_or_default();
            work.nodes.clear();
            work.nodes.push([0.0; 3]);
            work.nodes.extend(nodes.map(|x| sub(x, origin)));
            margin += control.error * bounds.size();
            let around = control.bounds(&mut work.nodes, &mut work.line);
            bounds.add(along(origin, around.lower, 1.0));
            bounds.add(along(origin, around.upper, 1.0));
        }
        bounds.widened(margin)
    }

    /// Closest point of a cell; if the squared distance is above `limit2`, any point of it.
    #[inline]
    pub fn closest(&self, cell: usize, x: Vec3, limit2: f64, work: &mut Work) -> Hit {
        self.method.closest(self.nodes(cell), x, limit2, work)
    }

    /// As [`closest`](Self::closest) for a cell with the given nodes.
    #[inline]
    pub fn closest_of(
        &self,
        nodes: impl Iterator<Item = Vec3>,
        x: Vec3,
        limit2: f64,
        work: &mut Work,
    ) -> Hit {
        self.method.closest(nodes, x, limit2, work)
    }
}

/// Arrays of [`Cells::bounds`].
#[derive(Debug, Default)]
pub(super) struct BoundsWork {
    nodes: Vec<Vec3>,
    line: Vec<Vec3>,
}

/// The point of a single cell closest to `x`, from the positions of its nodes.
pub(super) fn closest_on_cell(
    kind: CellKind,
    degree: usize,
    space_dim: usize,
    nodes: &[Vec3],
    x: Vec3,
) -> Hit {
    let method = method(kind, degree, space_dim, control(kind, degree));
    let work = &mut Work::default();
    method.closest(nodes.iter().copied(), x, f64::INFINITY, work)
}
