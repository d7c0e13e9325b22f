//! Estimated polynomial degree of an integrand: total degree on simplices, degree along each
//! axis on tensor cells.

use super::calculus::children;
use super::expr::{Expr, Op};
use super::functions::{Binary, Unary};
use super::place::{Cells, Quantity};
use crate::element::CellKind;
use crate::space::Space;
use std::collections::HashMap;
use std::sync::Arc;

/// Degree added for a function that is not a polynomial.
const NONPOLYNOMIAL: usize = 2;

/// Estimate; `map_degree` is the degree of the geometry's map, whose Jacobian is constant in each cell if `affine`.
pub(crate) fn estimate(e: &Expr, map_degree: usize, affine: bool) -> usize {
    Estimate {
        map_degree,
        affine,
        done: HashMap::new(),
    }
    .degree(e)
}

struct Estimate {
    map_degree: usize,
    affine: bool,
    done: HashMap<usize, usize>,
}

/// Degree of the measure density det J. Functionals and linear forms count it, so that volumes
/// and loads are exact; matrices, where a few points more cost much, do not.
pub(crate) fn measure_degree(kind: CellKind, map_degree: usize) -> usize {
    match (kind.dim(), kind.is_tensor()) {
        (0, _) => 0,
        (dim, true) => dim * map_degree - 1,
        (dim, false) => dim * (map_degree - 1),
    }
}

fn gradient_degree(space: &Space, map_degree: usize) -> usize {
    let p = space.degree();
    let kind = space.element().kind();
    if kind.is_tensor() && kind.dim() > 1 || map_degree > 1 {
        p
    } else {
        p.saturating_sub(1)
    }
}

impl Estimate {
    fn quantity(&self, quantity: Quantity, cells: Cells) -> usize {
        let (dim, map) = (cells.kind.dim(), self.map_degree);
        let slope = if cells.kind.is_tensor() && dim > 1 {
            map
        } else {
            map - 1
        };
        match quantity {
            Quantity::ReferencePosition => 1,
            Quantity::ElementIndex | Quantity::CellIndex | Quantity::QuadratureWeight => 0,
            _ if self.affine || slope == 0 => 0,
            Quantity::Jacobian | Quantity::SideJacobian => slope,
            Quantity::Measure | Quantity::CellMeasure if dim == cells.space_dim => {
                measure_degree(cells.kind, map)
            }
            _ => dim * slope + NONPOLYNOMIAL,
        }
    }

    fn degree(&mut self, e: &Expr) -> usize {
        let key = Arc::as_ptr(&e.0) as usize;
        if let Some(&d) = self.done.get(&key) {
            return d;
        }
        let d = self.rule(e);
        self.done.insert(key, d);
        d
    }

    fn rule(&mut self, e: &Expr) -> usize {
        let map = self.map_degree;
        let sum = |this: &mut Self, parts: &[&Expr]| -> usize {
            parts
                .iter()
                .map(|p| this.degree(p))
                .fold(0, usize::saturating_add)
        };
        match e.op() {
            Op::Position => map,
            Op::Normal => map - 1,
            Op::Quantity(q, cells) => self.quantity(*q, *cells),
            Op::Argument(_, s) => s.degree(),
            Op::Field(f) => f.space().degree(),
            Op::Gradient(a) | Op::Partial(a, ..) | Op::Divergence(a) | Op::Curl(a) => {
                match a.op() {
                    Op::Argument(_, s) => gradient_degree(s, map),
                    Op::Field(f) => gradient_degree(f.space(), map),
                    _ => self.degree(a),
                }
            }
            Op::Unary(Unary::Neg, a) => self.degree(a),
            Op::Unary(_, a) => match self.degree(a) {
                0 => 0,
                d => d.saturating_add(NONPOLYNOMIAL),
            },
            Op::Binary(b, l, r) => match b {
                Binary::Add | Binary::Sub | Binary::Min | Binary::Max => {
                    self.degree(l).max(self.degree(r))
                }
                Binary::Mul => sum(self, &[l, r]),
                Binary::Div => match self.degree(r) {
                    0 => self.degree(l),
                    d => self
                        .degree(l)
                        .saturating_add(d)
                        .saturating_add(NONPOLYNOMIAL),
                },
                Binary::Pow => match (self.degree(l), r.constant_value()) {
                    (0, _) => match self.degree(r) {
                        0 => 0,
                        d => d.saturating_add(NONPOLYNOMIAL),
                    },
                    (d, Some(c)) if c >= 0.0 && c.fract() == 0.0 => d.saturating_mul(c as usize),
                    (d, _) => d.saturating_add(NONPOLYNOMIAL),
                },
                Binary::Less | Binary::LessEqual | Binary::Equal => 0,
                Binary::Atan2 => match sum(self, &[l, r]) {
                    0 => 0,
                    d => d.saturating_add(NONPOLYNOMIAL),
                },
            },
            Op::Scale(l, r)
            | Op::Inner(l, r)
            | Op::Dot(l, r)
            | Op::Outer(l, r)
            | Op::Cross(l, r) => sum(self, &[l, r]),
            Op::Determinant(a) | Op::Inverse(a) => {
                let n = if a.shape().len() == 9 { 3 } else { 2 };
                self.degree(a).saturating_mul(n)
            }
            Op::Native(f, parts) => {
                let parts: Vec<&Expr> = parts.iter().collect();
                match (sum(self, &parts), f.degree()) {
                    (0, _) => 0,
                    (d, Some(own)) => d.saturating_mul(own),
                    (d, None) => d.saturating_add(NONPOLYNOMIAL),
                }
            }
            Op::Select(_, y, n) => self.degree(y).max(self.degree(n)),
            _ => children(e.op())
                .into_iter()
                .map(|c| self.degree(c))
                .max()
                .unwrap_or(0),
        }
    }
}
