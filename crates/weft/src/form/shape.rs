//! Shapes of values: scalars, vectors and matrices.

use std::fmt;

/// Shape of a value at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One number.
    Scalar,
    /// A column of numbers.
    Vector(usize),
    /// Rows × columns.
    Matrix(usize, usize),
}

impl Shape {
    /// Number of components, row-major.
    pub fn len(self) -> usize {
        match self {
            Shape::Scalar => 1,
            Shape::Vector(n) => n,
            Shape::Matrix(r, c) => r.saturating_mul(c),
        }
    }

    /// Whether there are no components at all.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether this is [`Shape::Scalar`].
    pub fn is_scalar(self) -> bool {
        self == Shape::Scalar
    }

    /// Number of indices: 0, 1 or 2.
    pub fn rank(self) -> usize {
        match self {
            Shape::Scalar => 0,
            Shape::Vector(_) => 1,
            Shape::Matrix(..) => 2,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Scalar => write!(f, "scalar"),
            Shape::Vector(n) => write!(f, "vector of {n}"),
            Shape::Matrix(r, c) => write!(f, "{r}×{c} matrix"),
        }
    }
}
