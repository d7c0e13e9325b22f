//! Laws of reference elements: exactness of quadrature, identities of shape functions, agreement of
//! neighbours on shared nodes. Each law is swept over all cell kinds, degrees and orientations.

#[path = "../common/mod.rs"]
mod common;
mod entities;
mod quadrature;
mod shapes;

use common::permutations;
use weft::element::{CellKind, Lagrange, NodeFamily};

const KINDS: [CellKind; 6] = [
    CellKind::Point,
    CellKind::Segment,
    CellKind::Triangle,
    CellKind::Quad,
    CellKind::Tet,
    CellKind::Hex,
];
const FAMILIES: [NodeFamily; 2] = [NodeFamily::Equispaced, NodeFamily::Lobatto];

/// A small generator of reproducible numbers (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A point inside the cell.
    fn point(&mut self, kind: CellKind) -> [f64; 3] {
        loop {
            let mut x = [0.0; 3];
            for c in x.iter_mut().take(kind.dim()) {
                *c = self.unit();
            }
            if kind.is_tensor() || x.iter().sum::<f64>() < 1.0 {
                return x;
            }
        }
    }

    fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.next() as usize % (i + 1));
        }
        order
    }
}

fn lagrange(kind: CellKind, degree: usize, family: NodeFamily) -> Lagrange {
    Lagrange::new(kind, degree, family).unwrap()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|d| (a[d] - b[d]).abs()).fold(0.0, f64::max)
}

fn exponents(kind: CellKind, degree: usize) -> Vec<[usize; 3]> {
    let mut all = Vec::new();
    let range = |axis: usize| 0..=if axis < kind.dim() { degree } else { 0 };
    for a in range(0) {
        for b in range(1) {
            for c in range(2) {
                if kind.is_tensor() || a + b + c <= degree {
                    all.push([a, b, c]);
                }
            }
        }
    }
    all
}

fn monomial(x: [f64; 3], e: [usize; 3]) -> f64 {
    (0..3).map(|d| x[d].powi(e[d] as i32)).product()
}

/// All ways to renumber the vertices of the reference cell by its own symmetries.
fn symmetries(kind: CellKind) -> Vec<Vec<usize>> {
    let n = kind.vertex_count();
    let mut all = Vec::new();
    if kind.is_tensor() {
        let axes: Vec<Vec<usize>> = permutations(kind.dim());
        for order in &axes {
            for flips in 0..1_usize << kind.dim() {
                let image = |v: usize| {
                    let mut x = [0.0; 3];
                    for d in 0..kind.dim() {
                        let c = kind.vertices()[v][order[d]];
                        x[d] = if flips >> d & 1 == 1 { 1.0 - c } else { c };
                    }
                    kind.vertices().iter().position(|&y| y == x).unwrap()
                };
                all.push((0..n).map(image).collect());
            }
        }
    } else {
        all = permutations(n);
    }
    all
}
