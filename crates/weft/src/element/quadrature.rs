//! Quadrature rules on the reference cells.
//!
//! The main type is [`Quadrature`]: points in reference coordinates with weights that sum to 1, so
//! that the measure of the physical cell carries that of the reference cell. Default rules have
//! positive weights and points strictly inside the cell; the symmetric ones on simplices do not
//! change when the vertices are renumbered.

use super::line::{LineRule, MAX_CLOSED_POINTS, MAX_OPEN_POINTS};
use super::simplex_rules::{Orbit, tet_orbits, triangle_orbits};
use super::{CellKind, ElementError};

/// Highest degree of a Gauss rule on a segment, quad or hex.
pub const MAX_TENSOR_DEGREE: usize = 127;

/// Highest degree of a rule on a triangle or tet.
pub const MAX_SIMPLEX_DEGREE: usize = 40;

/// Sums of weights and of monomials agree to this.
const SUM_TOLERANCE: f64 = 1e-12;

/// Points may lie this far outside the cell by rounding.
const INSIDE: f64 = 1e-12;

/// Whether a point is in the reference cell.
fn within(kind: CellKind, x: [f64; 3]) -> bool {
    let used = &x[..kind.dim()];
    let unused = x[kind.dim()..].iter().all(|&c| c == 0.0);
    let sum: f64 = used.iter().sum();
    let far = kind.is_tensor() || kind == CellKind::Point || sum <= 1.0 + INSIDE;
    unused && far && used.iter().all(|c| (-INSIDE..=1.0 + INSIDE).contains(c))
}

/// Family of one-dimensional rules from which rules on tensor cells are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleFamily {
    /// Gauss-Legendre: fewest points for a degree, all inside.
    GaussLegendre,
    /// Gauss-Lobatto: both ends are points.
    GaussLobatto,
    /// Equispaced points, both ends among them.
    NewtonCotesClosed,
    /// Equispaced points inside.
    NewtonCotesOpen,
}

impl std::fmt::Display for RuleFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl RuleFamily {
    /// Every family.
    pub const ALL: [RuleFamily; 4] = [
        RuleFamily::GaussLegendre,
        RuleFamily::GaussLobatto,
        RuleFamily::NewtonCotesClosed,
        RuleFamily::NewtonCotesOpen,
    ];

    /// Name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            RuleFamily::GaussLegendre => "Gauss-Legendre",
            RuleFamily::GaussLobatto => "Gauss-Lobatto",
            RuleFamily::NewtonCotesClosed => "closed Newton-Cotes",
            RuleFamily::NewtonCotesOpen => "open Newton-Cotes",
        }
    }

    /// Highest degree per direction on a tensor cell.
    pub fn max_degree(self) -> usize {
        match self {
            RuleFamily::GaussLegendre | RuleFamily::GaussLobatto => MAX_TENSOR_DEGREE,
            RuleFamily::NewtonCotesClosed => MAX_CLOSED_POINTS,
            RuleFamily::NewtonCotesOpen => MAX_OPEN_POINTS,
        }
    }

    /// The smallest rule of the family that is exact to `degree`.
    ///
    /// # Errors
    /// If `degree` is more than [`max_degree`](Self::max_degree).
    pub fn line_rule(self, degree: usize) -> Result<LineRule, ElementError> {
        if degree > self.max_degree() {
            return Err(ElementError::RuleDegree {
                family: self.name(),
                kind: CellKind::Segment,
                degree,
                max: self.max_degree(),
            });
        }
        // An equispaced rule with an odd number of points gains one degree by symmetry.
        let odd = 2 * (degree / 2) + 1;
        match self {
            RuleFamily::GaussLegendre => LineRule::gauss_legendre(degree / 2 + 1),
            RuleFamily::GaussLobatto => LineRule::gauss_lobatto(degree / 2 + 2),
            RuleFamily::NewtonCotesClosed => LineRule::newton_cotes_closed(odd.max(2)),
            RuleFamily::NewtonCotesOpen => LineRule::newton_cotes_open(odd),
        }
    }
}

/// Points and weights on a reference cell. The weights sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Quadrature {
    kind: CellKind,
    degree: usize,
    points: Vec<[f64; 3]>,
    weights: Vec<f64>,
}

impl Quadrature {
    /// The default rule, exact for polynomials of total degree `degree` on a triangle or tet and of
    /// degree `degree` in each direction on a segment, quad or hex.
    ///
    /// Tensor cells get Gauss-Legendre products. Simplices get symmetric rules where tabulated
    /// (triangle to degree 20, tet to degree 10) and products of Gauss-Jacobi rules beyond. A point
    /// has one rule, exact to any degree.
    ///
    /// # Errors
    /// If `degree` is more than [`MAX_TENSOR_DEGREE`] or [`MAX_SIMPLEX_DEGREE`].
    pub fn new(kind: CellKind, degree: usize) -> Result<Quadrature, ElementError> {
        let orbits = match kind {
            CellKind::Triangle => triangle_orbits(degree),
            CellKind::Tet => tet_orbits(degree),
            _ => None,
        };
        match orbits {
            Some((exact, orbits)) => Ok(Quadrature::from_orbits(kind, exact, orbits)),
            None => Quadrature::with_family(kind, degree, RuleFamily::GaussLegendre),
        }
    }

    /// The product of one-dimensional rules of `family`, the smallest that is exact to `degree` in
    /// each direction. The last direction varies fastest.
    ///
    /// On simplices only [`RuleFamily::GaussLegendre`] is accepted and gives the collapsed
    /// (Duffy) product of Gauss-Legendre and Gauss-Jacobi rules, exact to total degree `degree`.
    /// On a point every family gives the one point.
    ///
    /// # Errors
    /// If the family has no rule of that degree on that kind of cell.
    pub fn with_family(
        kind: CellKind,
        degree: usize,
        family: RuleFamily,
    ) -> Result<Quadrature, ElementError> {
        if kind == CellKind::Point {
            return Ok(Quadrature {
                kind,
                degree: usize::MAX,
                points: vec![[0.0; 3]],
                weights: vec![1.0],
            });
        }
        let simplex = !kind.is_tensor();
        if simplex && family != RuleFamily::GaussLegendre {
            return Err(ElementError::RuleFamily {
                family,
                kind,
                allowed: "Gauss-Legendre",
            });
        }
        let max = if simplex {
            MAX_SIMPLEX_DEGREE
        } else {
            family.max_degree()
        };
        if degree > max {
            return Err(ElementError::RuleDegree {
                family: if simplex { "positive" } else { family.name() },
                kind,
                degree,
                max,
            });
        }
        if simplex {
            Quadrature::collapsed(kind, degree)
        } else {
            let rule = family.line_rule(degree)?;
            Ok(Quadrature::product(kind, rule.degree(), &[&rule; 3]))
        }
    }

    /// A rule of one's own: points in the reference cell, and weights that sum to 1, of any sign. Its
    /// degree is found by trying monomials.
    ///
    /// ```
    /// use weft::element::{CellKind, Quadrature};
    ///
    /// let ends = [[0.0; 3], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]];
    /// let simpson = Quadrature::from_points(CellKind::Segment, &ends, &[1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0])?;
    /// assert_eq!(simpson.degree(), 3);
    /// # Ok::<(), weft::element::ElementError>(())
    /// ```
    ///
    /// # Errors
    /// [`ElementError::NoRule`] for a point outside the cell, for weights that are not finite or do not
    /// sum to 1, for another number of weights, and for no points.
    pub fn from_points(
        kind: CellKind,
        points: &[[f64; 3]],
        weights: &[f64],
    ) -> Result<Quadrature, ElementError> {
        let fail = |reason| Err(ElementError::NoRule { kind, reason });
        if points.len() != weights.len() || points.is_empty() {
            let (points, weights) = (points.len(), weights.len());
            return fail(format!(
                "{points} points and {weights} weights are given; one weight for each of at least one point is accepted"
            ));
        }
        if let Some((q, x)) = points.iter().enumerate().find(|(_, x)| !within(kind, **x)) {
            return fail(format!(
                "point {q} at {x:?} lies outside the reference cell"
            ));
        }
        let sum: f64 = weights.iter().sum();
        // The rounding of a sum grows with its length.
        if (sum - 1.0).abs() < SUM_TOLERANCE.max(weights.len() as f64 * f64::EPSILON) {
            let mut rule = Quadrature {
                kind,
                degree: 0,
                points: points.to_vec(),
                weights: weights.to_vec(),
            };
            rule.degree = rule.exact_degree();
            return Ok(rule);
        }
        fail(format!("the weights sum to {sum}, not to 1"))
    }

    /// Degree to which monomials are integrated as by the default rules.
    fn exact_degree(&self) -> usize {
        let (dim, tensor) = (self.kind.dim(), self.kind.is_tensor());
        if dim == 0 {
            return usize::MAX;
        }
        let exact = |degree: usize| {
            let Ok(rule) = Quadrature::new(self.kind, degree) else {
                return false;
            };
            let count = (degree + 1).pow(dim as u32);
            let powers = |k: usize| -> [usize; 3] {
                std::array::from_fn(|d| k / (degree + 1).pow(d as u32) % (degree + 1))
            };
            (0..count).map(powers).all(|m| {
                let new = match tensor {
                    true => m.contains(&degree),
                    false => m.iter().sum::<usize>() == degree,
                };
                !new || (rule.monomial(m) - self.monomial(m)).abs() < SUM_TOLERANCE
            })
        };
        (1..).take_while(|&d| exact(d)).last().unwrap_or(0)
    }

    /// The sum for a monomial.
    fn monomial(&self, m: [usize; 3]) -> f64 {
        let value = |x: &[f64; 3]| -> f64 { (0..3).map(|d| x[d].powi(m[d] as i32)).product() };
        let all = self.points.iter().zip(&self.weights);
        all.map(|(x, w)| w * value(x)).sum()
    }

    /// The same rule on each part of a cell cut into `parts` along each axis: exact for functions
    /// that are polynomials on each. Simplices and points stay whole.
    ///
    /// ```
    /// use weft::element::{CellKind, Quadrature};
    ///
    /// let rule = Quadrature::new(CellKind::Segment, 1)?.composite(2);
    /// let kink = |x: f64| (x - 0.5).abs();
    /// let integral: f64 = (0..rule.len()).map(|q| rule.weights()[q] * kink(rule.points()[q][0])).sum();
    /// assert_eq!(integral, 0.25);
    /// # Ok::<(), weft::element::ElementError>(())
    /// ```
    #[must_use]
    pub fn composite(&self, parts: usize) -> Quadrature {
        if parts <= 1 || !self.kind.is_tensor() {
            return self.clone();
        }
        let dim = self.kind.dim();
        let count = parts.pow(dim as u32);
        let (mut points, mut weights) = (Vec::new(), Vec::new());
        for part in 0..count {
            let at = |d: usize| part / parts.pow((dim - 1 - d) as u32) % parts;
            for (x, weight) in self.points.iter().zip(&self.weights) {
                let scaled = |d: usize| (x[d] + at(d) as f64) / parts as f64;
                points.push(std::array::from_fn(
                    |d| if d < dim { scaled(d) } else { 0.0 },
                ));
                weights.push(weight / count as f64);
            }
        }
        Quadrature {
            kind: self.kind,
            degree: self.degree,
            points,
            weights,
        }
    }

    /// The cell the rule is for.
    pub fn kind(&self) -> CellKind {
        self.kind
    }

    /// The degree to which the rule is exact: total on simplices, per direction on tensor cells,
    /// `usize::MAX` on a point. It may exceed the degree asked for.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The points, in reference coordinates.
    pub fn points(&self) -> &[[f64; 3]] {
        &self.points
    }

    /// The weights, one for each point; they sum to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether the rule has no points: never.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Product of one rule for each direction of the cell, on the unit segment, square or cube.
    fn product(kind: CellKind, degree: usize, rules: &[&LineRule; 3]) -> Quadrature {
        let (mut points, mut weights) = (vec![[0.0; 3]], vec![1.0]);
        for (axis, rule) in rules.iter().enumerate().take(kind.dim()) {
            let mut next_points = Vec::with_capacity(points.len() * rule.points().len());
            let mut next_weights = Vec::with_capacity(points.len() * rule.points().len());
            for (point, weight) in points.iter().zip(&weights) {
                for (&x, &w) in rule.points().iter().zip(rule.weights()) {
                    let mut p: [f64; 3] = *point;
                    p[axis] = x;
                    next_points.push(p);
                    next_weights.push(weight * w);
                }
            }
            (points, weights) = (next_points, next_weights);
        }
        Quadrature {
            kind,
            degree,
            points,
            weights,
        }
    }

    /// The product rule on the square or cube, collapsed onto the simplex. The Jacobian of the
    /// collapse, `(1 - y)` or `(1 - y)(1 - z)²`, is in the Gauss-Jacobi weights.
    fn collapsed(kind: CellKind, degree: usize) -> Result<Quadrature, ElementError> {
        let n = degree / 2 + 1;
        let rules = [
            &LineRule::gauss_jacobi(n, 0)?,
            &LineRule::gauss_jacobi(n, 1)?,
            &LineRule::gauss_jacobi(n, 2)?,
        ];
        let mut rule = Quadrature::product(kind, 2 * n - 1, &rules);
        for p in &mut rule.points {
            p[1] *= 1.0 - p[2];
            p[0] *= (1.0 - p[2]) - p[1];
        }
        Ok(rule)
    }

    fn from_orbits(kind: CellKind, degree: usize, orbits: &[Orbit]) -> Quadrature {
        let (mut points, mut weights) = (Vec::new(), Vec::new());
        for orbit in orbits {
            orbit.for_each(kind.vertex_count(), |barycentric| {
                let mut p = [0.0; 3];
                p[..kind.dim()].copy_from_slice(&barycentric[1..]);
                points.push(p);
                weights.push(orbit.weight());
            });
        }
        Quadrature {
            kind,
            degree,
            points,
            weights,
        }
    }
}
