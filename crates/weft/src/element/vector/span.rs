//! Spaces of vector polynomials on a reference cell, each with a basis.
//!
//! The main type is [`Span`]. The same spaces serve twice: as what the shape functions span, and as
//! what they are tested with on edges, faces and in the interior.

use super::super::CellKind;
use super::super::legendre::legendre;
use super::super::modal::{Jet, orthonormal, times};

/// Highest degree of the elements, one of the polynomials of simplices in three dimensions.
const P: usize = 3;
/// Polynomials of degree [`P`] on a tet, and of degree `P` in each direction of a hex.
const SIMPLEX_MODES: usize = (P + 1) * (P + 2) * (P + 3) / 6;

/// A vector polynomial at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct VectorJet {
    pub value: [f64; 3],
    /// `derivative[a][b]` = ∂ of component a along axis b.
    pub derivative: [[f64; 3]; 3],
}

impl VectorJet {
    pub(super) const ZERO: VectorJet = VectorJet {
        value: [0.0; 3],
        derivative: [[0.0; 3]; 3],
    };

    fn set(&mut self, component: usize, jet: Jet) {
        self.value[component] = jet[0];
        self.derivative[component] = [jet[1], jet[2], jet[3]];
    }

    /// Adds `factor * other`.
    #[inline(always)]
    pub(super) fn add(&mut self, factor: f64, other: &VectorJet) {
        for a in 0..3 {
            self.value[a] += factor * other.value[a];
            for b in 0..3 {
                self.derivative[a][b] += factor * other.derivative[a][b];
            }
        }
    }
}

/// A space of polynomials on a cell of dimension d. `y` is the position less the cell's centre; P are
/// all polynomials of a total degree, H the homogeneous ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Span {
    Empty,
    /// The first component is in P of this degree (in each direction on tensor cells), others are 0.
    Scalar(usize),
    /// `P^d`.
    Full(usize),
    /// `P^d + y H` with degree k - 1: Raviart-Thomas of degree k.
    Divergence(usize),
    /// `P^d + y × H^d` with degree k - 1: Nédélec of the first kind of degree k.
    Curl(usize),
    /// On tensor cells: component c has degree `own` along axis c and `other` along the others.
    Tensor {
        own: usize,
        other: usize,
    },
}

impl Span {
    /// Dimension of the space.
    pub(super) fn len(self, kind: CellKind) -> usize {
        let d = kind.dim();
        match self {
            Span::Empty => 0,
            Span::Scalar(p) => scalar_count(kind, p),
            Span::Full(p) => d * scalar_count(kind, p),
            Span::Divergence(k) => d * scalar_count(kind, k - 1) + homogeneous(d, k - 1).count(),
            Span::Curl(k) => {
                let rotated = if d == 2 { k } else { k * (k + 2) };
                d * scalar_count(kind, k - 1) + rotated
            }
            Span::Tensor { own, other } => d * (own + 1) * (other + 1).pow(d as u32 - 1),
        }
    }

    /// The basis at a point.
    ///
    /// # Panics
    /// If `out` is shorter than the space's dimension.
    pub(super) fn evaluate(self, kind: CellKind, point: [f64; 3], out: &mut [VectorJet]) {
        let d = kind.dim();
        let mut next = 0;
        let mut push = |jet: VectorJet| {
            out[next] = jet;
            next += 1;
        };
        match self {
            Span::Empty => {}
            Span::Scalar(p) => scalars(kind, p, point, |q| push(along(0, q))),
            Span::Full(p) => {
                for c in 0..d {
                    scalars(kind, p, point, |q| push(along(c, q)));
                }
            }
            Span::Divergence(k) => {
                for c in 0..d {
                    scalars(kind, k - 1, point, |q| push(along(c, q)));
                }
                let y = centred(kind, point);
                for e in homogeneous(d, k - 1) {
                    let q = monomial(&y, e);
                    let mut jet = VectorJet::ZERO;
                    for c in 0..d {
                        jet.set(c, times(y[c], q));
                    }
                    push(jet);
                }
            }
            Span::Curl(k) => {
                for c in 0..d {
                    scalars(kind, k - 1, point, |q| push(along(c, q)));
                }
                let y = centred(kind, point);
                if d == 2 {
                    for e in homogeneous(2, k - 1) {
                        let q = monomial(&y, e);
                        let mut jet = along(0, times(y[1], q).map(|v| -v));
                        jet.set(1, times(y[0], q));
                        push(jet);
                    }
                    return;
                }
                // y × (q e_c). What y H contributes vanishes; of each such class the one whose third
                // component does not hold y_2 is taken.
                for c in 0..3 {
                    for e in homogeneous(3, k - 1).filter(|e| c < 2 || e[2] == 0) {
                        let q = monomial(&y, e);
                        let (a, b) = ((c + 1) % 3, (c + 2) % 3);
                        let mut jet = along(a, times(y[b], q));
                        jet.set(b, times(y[a], q).map(|v| -v));
                        push(jet);
                    }
                }
            }
            Span::Tensor { own, other } => {
                for c in 0..d {
                    let degrees = [0, 1, 2].map(|axis| match axis {
                        _ if axis >= d => 0,
                        _ if axis == c => own,
                        _ => other,
                    });
                    products(degrees, point, |q| push(along(c, q)));
                }
            }
        }
    }
}

fn along(component: usize, jet: Jet) -> VectorJet {
    let mut out = VectorJet::ZERO;
    out.set(component, jet);
    out
}

/// The coordinates less those of the centre, with their derivatives.
fn centred(kind: CellKind, point: [f64; 3]) -> [Jet; 3] {
    let centre = kind.center();
    std::array::from_fn(|axis| {
        let mut jet = [point[axis] - centre[axis], 0.0, 0.0, 0.0];
        jet[1 + axis] = 1.0;
        jet
    })
}

/// Exponents of the homogeneous monomials of a degree in `d` variables.
fn homogeneous(d: usize, degree: usize) -> impl Iterator<Item = [usize; 3]> {
    let last = if d == 3 { degree } else { 0 };
    (0..=last).flat_map(move |c| (0..=degree - c).map(move |b| [degree - c - b, b, c]))
}

fn monomial(y: &[Jet; 3], exponents: [usize; 3]) -> Jet {
    let mut out = [1.0, 0.0, 0.0, 0.0];
    for (axis, &n) in exponents.iter().enumerate() {
        for _ in 0..n {
            out = times(out, y[axis]);
        }
    }
    out
}

fn scalar_count(kind: CellKind, p: usize) -> usize {
    match kind {
        CellKind::Triangle => (p + 1) * (p + 2) / 2,
        CellKind::Tet => (p + 1) * (p + 2) * (p + 3) / 6,
        _ => (p + 1).pow(kind.dim() as u32),
    }
}

/// Orthonormal polynomials for the mean over the cell, the first of which is 1.
fn scalars(kind: CellKind, p: usize, point: [f64; 3], mut push: impl FnMut(Jet)) {
    if kind.is_tensor() {
        let degrees = [0, 1, 2].map(|axis| if axis < kind.dim() { p } else { 0 });
        products(degrees, point, push);
        return;
    }
    let mut modes = [[0.0; 4]; SIMPLEX_MODES];
    let n = orthonormal(kind, p, point, &mut modes);
    let scale = kind.reference_measure().sqrt();
    let third = if kind == CellKind::Tet { scale } else { 0.0 };
    for &[value, x, y, z] in &modes[..n] {
        push([scale * value, scale * x, scale * y, third * z]);
    }
}

/// Products of Legendre polynomials of up to the given degree along each axis.
fn products(degrees: [usize; 3], point: [f64; 3], mut push: impl FnMut(Jet)) {
    let lines = point.map(|x| legendre(P, x));
    for i in 0..=degrees[0] {
        for j in 0..=degrees[1] {
            for k in 0..=degrees[2] {
                let ([x, dx, _], [y, dy, _], [z, dz, _]) = (lines[0][i], lines[1][j], lines[2][k]);
                push([x * y * z, dx * y * z, x * dy * z, x * y * dz]);
            }
        }
    }
}
