//! A plain assembler: loops over cells or sides, points and basis functions, one number at a
//! time. What the engine does in blocks is compared with it.

use weft::element::{Quadrature, map_to_cell};
use weft::geometry::{Frame, Geometry, frame_at};
use weft::space::Space;

/// Most components of a value.
const MOST: usize = 9;

/// Value (row-major) and gradient of a function at a point.
#[derive(Clone, Copy)]
pub struct Basis {
    pub value: [f64; MOST],
    pub gradient: [[f64; 3]; MOST],
}

impl Basis {
    const ZERO: Basis = Basis {
        value: [0.0; MOST],
        gradient: [[0.0; 3]; MOST],
    };

    pub fn div(&self) -> f64 {
        (0..3).map(|d| self.gradient[d][d]).sum()
    }

    /// Component (i, j) of the symmetric gradient of a vector.
    pub fn strain(&self, i: usize, j: usize) -> f64 {
        0.5 * (self.gradient[i][j] + self.gradient[j][i])
    }
}

/// A function seen from both sides; on cells and boundary sides `outside` is 0.
#[derive(Clone, Copy)]
pub struct Pair {
    pub inside: Basis,
    pub outside: Basis,
}

/// What else an integrand may use.
pub struct Place {
    pub x: [f64; 3],
    pub normal: [f64; 3],
    pub size: [f64; 2],
    pub cell: usize,
    pub xi: [f64; 3],
    pub weight: f64,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Over {
    Cells,
    Boundary,
    Interior,
}

/// Global number and values of every basis function at a point.
fn basis(
    space: &Space,
    cell: usize,
    xi: [f64; 3],
    frame: &Frame,
    outside: bool,
) -> Vec<(usize, Pair)> {
    let table = space.element().tabulate(&[xi]);
    let per_node = space.components();
    let mut all = Vec::new();
    for (i, &node) in space.cell_nodes(cell).iter().enumerate() {
        let gradient = frame.push_gradient(table.gradients[i]);
        for dof in 0..per_node {
            let mut here = Basis::ZERO;
            for c in 0..space.shape().len() {
                let factor = space.value().entry(c, dof);
                here.value[c] = factor * table.values[i];
                here.gradient[c] = gradient.map(|g| factor * g);
            }
            let pair = if outside {
                Pair {
                    inside: Basis::ZERO,
                    outside: here,
                }
            } else {
                Pair {
                    inside: here,
                    outside: Basis::ZERO,
                }
            };
            all.push((node as usize * per_node + dof, pair));
        }
    }
    all
}

/// Largest distance between two vertices of a straight cell.
fn size(geometry: &dyn Geometry, cell: usize) -> f64 {
    let (topology, map) = (geometry.topology(), geometry.map());
    let points: Vec<[f64; 3]> = topology
        .cell_vertices(cell)
        .iter()
        .map(|&v| map.vertex(v))
        .collect();
    let distance =
        |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|d| (a[d] - b[d]).powi(2)).sum::<f64>().sqrt();
    points
        .iter()
        .flat_map(|a| points.iter().map(move |b| distance(a, b)))
        .fold(0.0, f64::max)
}

/// Visit every quadrature point with the basis functions of the spaces there.
pub fn visit(
    geometry: &dyn Geometry,
    over: Over,
    degree: usize,
    spaces: &[&Space],
    mut f: impl FnMut(&Place, &[Vec<(usize, Pair)>]),
) {
    let (topology, kind) = (geometry.topology(), geometry.cell_kind());
    if over == Over::Cells {
        let rule = Quadrature::new(kind, degree).unwrap();
        for cell in 0..topology.cell_count() {
            for (&xi, w) in rule.points().iter().zip(rule.weights()) {
                let frame = frame_at(geometry, cell, xi);
                let place = Place {
                    x: frame.position,
                    normal: [0.0; 3],
                    size: [size(geometry, cell); 2],
                    cell,
                    xi,
                    weight: w * kind.reference_measure() * frame.measure,
                };
                let all: Vec<_> = spaces
                    .iter()
                    .map(|s| basis(s, cell, xi, &frame, false))
                    .collect();
                f(&place, &all);
            }
        }
        return;
    }
    let rule = Quadrature::new(kind.side_kind(), degree).unwrap();
    for side in 0..topology.side_count() {
        if topology.is_boundary(side) != (over == Over::Boundary) {
            continue;
        }
        let cells = topology.side_cells(side).map(|c| c as usize);
        let locals = topology.side_locals(side).map(|l| l as usize);
        // The outer cell's local vertices in the order of the inner cell's side.
        let order: Vec<u8> = topology
            .side_vertices(side)
            .iter()
            .map(|v| {
                let vertices = topology.cell_vertices(cells[1]);
                vertices.iter().position(|w| w == v).unwrap() as u8
            })
            .collect();
        let inner = map_to_cell(kind, kind.side_vertices(locals[0]), rule.points());
        let outer = map_to_cell(kind, &order, rule.points());
        for (q, w) in rule.weights().iter().enumerate() {
            let frame = frame_at(geometry, cells[0], inner[q]);
            let scaled = frame.push_gradient(kind.side_normal(locals[0]));
            let length = scaled.iter().map(|n| n * n).sum::<f64>().sqrt();
            let place = Place {
                x: frame.position,
                normal: scaled.map(|n| n / length),
                size: cells.map(|c| size(geometry, c)),
                cell: cells[0],
                xi: inner[q],
                weight: w * kind.side_kind().reference_measure() * frame.measure * length,
            };
            let all: Vec<_> = spaces
                .iter()
                .map(|s| {
                    let mut all = basis(s, cells[0], inner[q], &frame, false);
                    if over == Over::Interior {
                        let frame = frame_at(geometry, cells[1], outer[q]);
                        all.extend(basis(s, cells[1], outer[q], &frame, true));
                    }
                    all
                })
                .collect();
            f(&place, &all);
        }
    }
}

/// Dense matrix, rows of the test space: the integrand takes the place, the trial and the
/// test function.
pub fn dense(
    geometry: &dyn Geometry,
    over: Over,
    degree: usize,
    [trial, test]: [&Space; 2],
    integrand: &dyn Fn(&Place, &Pair, &Pair) -> f64,
) -> Vec<f64> {
    let columns = trial.dof_count();
    let mut out = vec![0.0; test.dof_count() * columns];
    visit(geometry, over, degree, &[trial, test], |place, all| {
        for (row, v) in &all[1] {
            for (column, u) in &all[0] {
                out[row * columns + column] += place.weight * integrand(place, u, v);
            }
        }
    });
    out
}

/// The linear form of the integrand, which takes the place and the test function.
pub fn load(
    geometry: &dyn Geometry,
    over: Over,
    degree: usize,
    test: &Space,
    integrand: &dyn Fn(&Place, &Pair) -> f64,
) -> Vec<f64> {
    let mut out = vec![0.0; test.dof_count()];
    visit(geometry, over, degree, &[test], |place, all| {
        for (row, v) in &all[0] {
            out[*row] += place.weight * integrand(place, v);
        }
    });
    out
}
