//! Uniform B-splines on the cells of a lattice.
//!
//! The main type is [`Spline`]. A function is the centred B-spline of the distance from a lattice
//! vertex along each axis, whatever the degree. From degree 2 on, the vertices whose functions reach
//! into a cell lie in it and one layer around it. Functions of degree 2 have their knots in the
//! middles of cells.

use super::CellKind;
use super::basis::{Hessian, product_hessians};
use super::entities::{Entities, Entity};

/// Highest degree of splines.
pub const MAX_SPLINE_DEGREE: usize = 3;

/// Vertices along an axis whose functions reach into a cell; the first is one before the cell.
const REACH: usize = 4;

/// The functions of degree 2 or 3 that reach into a cell, those of the first axis slowest. (Those
/// of degree 1 are Lagrange functions.)
#[derive(Clone, Debug)]
pub(super) struct Spline {
    degree: usize,
    dim: usize,
}

impl Spline {
    pub(super) fn new(kind: CellKind, degree: usize) -> Spline {
        Spline {
            degree,
            dim: kind.dim(),
        }
    }

    /// Parts of a cell along each axis on which functions are polynomials.
    pub(super) fn pieces(&self) -> usize {
        if self.degree == 2 { 2 } else { 1 }
    }

    /// Vertices of the functions, in the cell's coordinates.
    pub(super) fn nodes(&self) -> Vec<[f64; 3]> {
        let place = |index: usize, d: usize| {
            let stride = REACH.pow((self.dim - 1 - d) as u32);
            (index / stride % REACH) as f64 - 1.0
        };
        (0..REACH.pow(self.dim as u32))
            .map(|index| std::array::from_fn(|d| if d < self.dim { place(index, d) } else { 0.0 }))
            .collect()
    }

    /// All functions belong to the cell: none is tied to one of its entities. On a side do not vanish
    /// those of the three layers of vertices around it.
    pub(super) fn entities(&self, kind: CellKind) -> Entities {
        let nodes = self.nodes();
        let cell = Entity {
            dim: self.dim as u8,
            index: 0,
        };
        let closures = (0..kind.side_count())
            .map(|side| {
                let vertices = kind.side_vertices(side).iter();
                let corners: Vec<[f64; 3]> =
                    vertices.map(|&v| kind.vertices()[v as usize]).collect();
                let near = |x: &[f64; 3]| {
                    (0..self.dim).all(|d| {
                        let level = corners[0][d];
                        let across = corners.iter().all(|c| c[d] == level);
                        !across || (x[d] - level).abs() <= 1.0
                    })
                };
                (0..nodes.len() as u16)
                    .filter(|&i| near(&nodes[i as usize]))
                    .collect()
            })
            .collect();
        Entities::of_nodes(kind, [0; 4], &vec![(cell, [0; 3]); nodes.len()], closures)
    }

    /// Value and derivatives along each axis of the functions of one axis.
    fn axes(&self, x: [f64; 3]) -> [[[f64; 3]; REACH]; 3] {
        let mut axes = [[[1.0, 0.0, 0.0]; REACH]; 3];
        for (axis, &x) in axes.iter_mut().zip(&x).take(self.dim) {
            for (i, value) in axis.iter_mut().enumerate() {
                *value = centred(self.degree, x + 1.0 - i as f64);
            }
        }
        axes
    }

    /// Functions along axis `d`.
    fn count(&self, d: usize) -> usize {
        if d < self.dim { REACH } else { 1 }
    }

    pub(super) fn hessians(&self, x: [f64; 3], hessians: &mut [Hessian]) {
        let axes = self.axes(x);
        product_hessians([0, 1, 2].map(|d| &axes[d][..self.count(d)]), hessians);
    }

    pub(super) fn evaluate(&self, x: [f64; 3], values: &mut [f64], gradients: &mut [[f64; 3]]) {
        let axes = self.axes(x);
        let mut node = 0;
        for [x, dx, _] in &axes[0][..self.count(0)] {
            for [y, dy, _] in &axes[1][..self.count(1)] {
                for [z, dz, _] in &axes[2][..self.count(2)] {
                    values[node] = x * y * z;
                    gradients[node] = [dx * y * z, x * dy * z, x * y * dz];
                    node += 1;
                }
            }
        }
    }
}

/// The centred B-spline of unit knots of degree 2 or 3, its derivative and its second derivative,
/// which in degree 2 jumps at knots.
fn centred(degree: usize, x: f64) -> [f64; 3] {
    let d = x.abs();
    let [value, slope, bend] = match degree {
        2 if d < 0.5 => [0.75 - d * d, -2.0 * d, -2.0],
        2 if d < 1.5 => [0.5 * (1.5 - d).powi(2), d - 1.5, 1.0],
        3 if d < 1.0 => [
            2.0 / 3.0 - d * d + 0.5 * d.powi(3),
            (1.5 * d - 2.0) * d,
            3.0 * d - 2.0,
        ],
        3 if d < 2.0 => [(2.0 - d).powi(3) / 6.0, -0.5 * (2.0 - d).powi(2), 2.0 - d],
        _ => [0.0; 3],
    };
    [value, x.signum() * slope, bend]
}
