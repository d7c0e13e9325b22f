//! Kinds of value at a node, and the map from degrees of freedom to components.

use super::SpaceError;
use crate::form::Shape;

/// What a space stores at each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// One number.
    Scalar,
    /// A vector of this many components.
    Vector(usize),
    /// A matrix of rows × columns, row-major.
    Matrix(usize, usize),
    /// A symmetric n × n tensor stored as n(n+1)/2 numbers, orthonormal for ½ τ:τ: first the
    /// diagonal entries τᵢᵢ/√2, then the off-diagonal ones in the order yz, xz, xy (3-D) or
    /// xy (2-D).
    Symmetric(usize),
}

impl ValueKind {
    pub(super) fn validate(self) -> Result<(), SpaceError> {
        if let ValueKind::Symmetric(n) = self
            && !(n == 2 || n == 3)
        {
            return Err(SpaceError::SymmetricSize(n));
        }
        match self.shape().len() {
            n @ (0 | 17..) => Err(SpaceError::ValueSize(n)),
            _ => Ok(()),
        }
    }

    /// Shape of the value.
    pub fn shape(self) -> Shape {
        match self {
            ValueKind::Scalar => Shape::Scalar,
            ValueKind::Vector(n) => Shape::Vector(n),
            ValueKind::Matrix(r, c) => Shape::Matrix(r, c),
            ValueKind::Symmetric(n) => Shape::Matrix(n, n),
        }
    }

    /// Degrees of freedom at a node.
    pub fn components(self) -> usize {
        match self {
            ValueKind::Symmetric(n) => n * (n + 1) / 2,
            other => other.shape().len(),
        }
    }

    /// The degree of freedom behind value component `component` (row-major) and its factor:
    /// `value[component] = factor · dof[index]`. Every component depends on exactly one.
    pub fn dof_of(self, component: usize) -> (usize, f64) {
        match self {
            ValueKind::Symmetric(n) => {
                let (i, j) = (component / n, component % n);
                if i == j {
                    (i, std::f64::consts::SQRT_2)
                } else if n == 2 {
                    (2, 1.0)
                } else {
                    // yz, xz, xy: the row that is absent names the pair.
                    (3 + (3 - i - j), 1.0)
                }
            }
            _ => (component, 1.0),
        }
    }

    /// The value component that determines degree of freedom `dof`, and its factor:
    /// `dof = factor · value[component]`.
    pub fn component_of(self, dof: usize) -> (usize, f64) {
        match self {
            ValueKind::Symmetric(n) => {
                if dof < n {
                    (dof * n + dof, std::f64::consts::FRAC_1_SQRT_2)
                } else if n == 2 {
                    (1, 1.0)
                } else {
                    ([5, 2, 1][dof - 3], 1.0)
                }
            }
            _ => (dof, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_round_trip_and_unit_norm() {
        for n in [2, 3] {
            let kind = ValueKind::Symmetric(n);
            for dof in 0..kind.components() {
                let mut tensor = vec![0.0; n * n];
                for (c, t) in tensor.iter_mut().enumerate() {
                    let (d, factor) = kind.dof_of(c);
                    if d == dof {
                        *t = factor;
                    }
                }
                let norm: f64 = tensor.iter().map(|t| 0.5 * t * t).sum();
                assert!((norm - 1.0).abs() < 1e-15, "dof {dof} of {n}");
                for i in 0..n {
                    for j in 0..n {
                        assert_eq!(tensor[i * n + j], tensor[j * n + i]);
                    }
                }
                let (c, factor) = kind.component_of(dof);
                assert!((factor * tensor[c] - 1.0).abs() < 1e-15);
            }
        }
    }
}
