//! Errors of quadrature rules and shape functions.

use super::{CellKind, ElementFamily, NodeFamily, RuleFamily, VectorFamily};

/// Why a rule or a set of shape functions cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    /// The degree of a quadrature rule is beyond what the rule can be trusted for.
    #[error("no {family} rule of degree {degree} on a {}: the highest is {max}", kind.name())]
    RuleDegree {
        /// Family asked for, in words.
        family: &'static str,
        /// Cell the rule was meant for.
        kind: CellKind,
        /// Degree asked for.
        degree: usize,
        /// Highest degree available.
        max: usize,
    },
    /// The family has no rule on this kind of cell.
    #[error("no {family} rule on a {}: use {allowed}", kind.name())]
    RuleFamily {
        /// Family asked for.
        family: RuleFamily,
        /// Cell the rule was meant for.
        kind: CellKind,
        /// What is accepted there.
        allowed: &'static str,
    },
    /// A one-dimensional rule was asked for too few or too many points.
    #[error("a {rule} rule cannot have {points} points: it takes {min} to {max}")]
    RulePoints {
        /// Rule asked for, in words.
        rule: &'static str,
        /// Points asked for.
        points: usize,
        /// Fewest points.
        min: usize,
        /// Most points.
        max: usize,
    },
    /// The exponent of a Gauss-Jacobi rule is not among those implemented.
    #[error(
        "a Gauss-Jacobi rule cannot have the weight (1-x)^{alpha}: exponents 0, 1 and 2 are accepted"
    )]
    JacobiExponent {
        /// Exponent asked for.
        alpha: usize,
    },
    /// The basis does not exist on this kind of cell.
    #[error("no {family} element on a {}: {hint}", kind.name())]
    BasisCell {
        /// Functions asked for.
        family: ElementFamily,
        /// Cell asked for.
        kind: CellKind,
        /// What is accepted instead.
        hint: &'static str,
    },
    /// The basis does not exist in this degree.
    #[error("no {family} element of degree {degree} on a {}: degrees {min} to {max} are accepted", kind.name())]
    BasisDegree {
        /// Functions asked for.
        family: ElementFamily,
        /// Cell asked for.
        kind: CellKind,
        /// Degree asked for.
        degree: usize,
        /// Lowest degree available.
        min: usize,
        /// Highest degree available.
        max: usize,
    },
    /// No points, or more than an element can have functions for.
    #[error("an element of {points} points on a {}: between 1 and {max} are accepted", kind.name())]
    PointCount {
        /// Cell of the points.
        kind: CellKind,
        /// Points given.
        points: usize,
        /// Most points.
        max: usize,
    },
    /// Two points are one.
    #[error("points {first} and {second} of a {} are the same point", kind.name())]
    SamePoints {
        /// Cell of the points.
        kind: CellKind,
        /// The one.
        first: usize,
        /// The other.
        second: usize,
    },
    /// The radius of a kernel, printed.
    #[error("the radius of a kernel is positive and finite, not {0}")]
    KernelRadius(String),
    /// Points and weights that make no rule.
    #[error("no rule on a {}: {reason}", kind.name())]
    NoRule {
        /// Cell of the points.
        kind: CellKind,
        /// What is wrong.
        reason: String,
    },
    /// The degree of the shape functions is beyond what is supported.
    #[error("no Lagrange element of degree {degree} with {family} nodes on a {}: degrees 0 to {max} are accepted", kind.name())]
    LagrangeDegree {
        /// Cell asked for.
        kind: CellKind,
        /// Node family asked for.
        family: NodeFamily,
        /// Degree asked for.
        degree: usize,
        /// Highest degree available.
        max: usize,
    },
    /// The family of vector-valued elements has none on this kind of cell.
    #[error("no {family} element on a {}: it exists on {allowed}", kind.name())]
    VectorCell {
        /// Family asked for.
        family: VectorFamily,
        /// Cell asked for.
        kind: CellKind,
        /// Cells that have one.
        allowed: String,
    },
    /// The degree of a vector-valued element is not one of those there are.
    #[error("no {family} element of degree {degree} on a {}: degrees 1 to {max} are accepted", kind.name())]
    VectorDegree {
        /// Family asked for.
        family: VectorFamily,
        /// Cell asked for.
        kind: CellKind,
        /// Degree asked for.
        degree: usize,
        /// Highest degree available.
        max: usize,
    },
}
