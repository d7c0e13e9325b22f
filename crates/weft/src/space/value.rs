//! Kinds of value at a node, and the map from degrees of freedom to components.

use super::SpaceError;
use crate::form::Shape;
use std::f64::consts::SQRT_2;

/// What a space stores at each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// One number.
    Scalar,
    /// A vector of this many components.
    Vector(usize),
    /// A matrix of rows × columns, row-major.
    Matrix(usize, usize),
    /// A symmetric n × n tensor, n = 2 or 3, stored as n(n+1)/2 numbers: first the diagonal entries
    /// τᵢᵢ/√2, then the off-diagonal ones in the order yz, xz, xy (3-D) or xy (2-D).
    Symmetric(usize),
    /// A symmetric n × n tensor, n = 2 or 3, stored as its spherical part and its deviator: the trace
    /// over √6 (3-D) or 2 (2-D), then (τxx − τyy)/2, in 3-D (2τzz − τxx − τyy)/√12, then the off-diagonal
    /// entries as [`Symmetric`](Self::Symmetric).
    Deviatoric(usize),
    /// A skew-symmetric n × n tensor τ, n = 2 or 3, stored as its axial vector ω, τ a = ω × a, in 2-D as
    /// the one number τyx.
    Skew(usize),
}

impl ValueKind {
    pub(super) fn validate(self) -> Result<(), SpaceError> {
        if let Some(n) = self.tensor_size()
            && !(n == 2 || n == 3)
        {
            return Err(SpaceError::TensorSize {
                kind: self.name(),
                size: n,
            });
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
            ValueKind::Symmetric(n) | ValueKind::Deviatoric(n) | ValueKind::Skew(n) => {
                Shape::Matrix(n, n)
            }
        }
    }

    /// Degrees of freedom at a node.
    pub fn components(self) -> usize {
        match self {
            ValueKind::Symmetric(n) | ValueKind::Deviatoric(n) => n * (n + 1) / 2,
            ValueKind::Skew(n) => n * (n - 1) / 2,
            other => other.shape().len(),
        }
    }

    /// Rows of a tensor with fewer degrees of freedom than entries.
    fn tensor_size(self) -> Option<usize> {
        match self {
            ValueKind::Symmetric(n) | ValueKind::Deviatoric(n) | ValueKind::Skew(n) => Some(n),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            ValueKind::Skew(_) => "a skew-symmetric tensor",
            _ => "a symmetric tensor",
        }
    }

    /// What value component `component` (row-major) gets from degree of freedom `dof`:
    /// `value = Σ_dof entry(component, dof) · dof`.
    ///
    /// The tensors of two degrees of freedom of one kind are orthogonal, and those of
    /// [`Symmetric`](Self::Symmetric), [`Deviatoric`](Self::Deviatoric) and [`Skew`](Self::Skew) have
    /// ½ τ:τ = 1.
    pub fn entry(self, component: usize, dof: usize) -> f64 {
        let Some(n) = self.tensor_size() else {
            return if component == dof { 1.0 } else { 0.0 };
        };
        let (i, j) = (component / n, component % n);
        // Off the diagonal, yz, xz, xy: the axis that is absent counts.
        let pair = if n == 2 { 0 } else { 3 - i.max(j) - i.min(j) };
        match self {
            ValueKind::Skew(2) => [[0.0, -1.0], [1.0, 0.0]][i][j],
            ValueKind::Skew(_) if i == j || pair != dof => 0.0,
            // ω × a: rows and columns in cyclic order take a minus.
            ValueKind::Skew(_) => {
                if (i + 1) % 3 == j {
                    -1.0
                } else {
                    1.0
                }
            }
            _ if i != j => {
                if dof == n + pair {
                    1.0
                } else {
                    0.0
                }
            }
            ValueKind::Symmetric(_) => {
                if dof == i {
                    SQRT_2
                } else {
                    0.0
                }
            }
            _ if n == 2 => [[1.0, 1.0], [1.0, -1.0]][i]
                .get(dof)
                .copied()
                .unwrap_or(0.0),
            _ => {
                let spherical = (2.0f64 / 3.0).sqrt();
                let axial = 1.0 / 3.0f64.sqrt();
                let rows = [
                    [spherical, 1.0, -axial],
                    [spherical, -1.0, -axial],
                    [spherical, 0.0, 2.0 * axial],
                ];
                rows[i].get(dof).copied().unwrap_or(0.0)
            }
        }
    }

    /// Degrees of freedom that a value component depends on, with their factors.
    pub fn dofs_of(self, component: usize) -> impl Iterator<Item = (usize, f64)> {
        (0..self.components())
            .map(move |dof| (dof, self.entry(component, dof)))
            .filter(|(_, factor)| *factor != 0.0)
    }

    /// Value components that a degree of freedom is made of, with their factors: the inverse of
    /// [`dofs_of`](Self::dofs_of) on values that the kind can hold. Of others it takes the nearest that it
    /// can hold, such as the symmetric part.
    pub fn components_of(self, dof: usize) -> impl Iterator<Item = (usize, f64)> {
        // The tensors of the degrees of freedom have τ:τ = 2.
        let scale = if self.tensor_size().is_some() {
            0.5
        } else {
            1.0
        };
        (0..self.shape().len())
            .map(move |component| (component, scale * self.entry(component, dof)))
            .filter(|(_, factor)| *factor != 0.0)
    }

    /// Degree of freedom `dof` of a value, row-major: the sum over [`components_of`](Self::components_of).
    pub fn dof(self, dof: usize, value: &[f64]) -> f64 {
        let terms = self.components_of(dof);
        terms
            .map(|(component, factor)| factor * value[component])
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_orthonormal_and_round_trip() {
        for n in [2, 3] {
            for kind in [
                ValueKind::Symmetric(n),
                ValueKind::Deviatoric(n),
                ValueKind::Skew(n),
            ] {
                let sign = if matches!(kind, ValueKind::Skew(_)) {
                    -1.0
                } else {
                    1.0
                };
                for a in 0..kind.components() {
                    let tensor: Vec<f64> = (0..n * n).map(|c| kind.entry(c, a)).collect();
                    for b in 0..kind.components() {
                        let expected = if a == b { 1.0 } else { 0.0 };
                        assert!((kind.dof(b, &tensor) - expected).abs() < 1e-15, "{kind:?}");
                    }
                    for i in 0..n {
                        for j in 0..n {
                            assert_eq!(tensor[i * n + j], sign * tensor[j * n + i]);
                        }
                    }
                    let trace: f64 = (0..n).map(|i| tensor[i * n + i]).sum();
                    let spherical = matches!(kind, ValueKind::Deviatoric(_)) && a == 0;
                    let diagonal = matches!(kind, ValueKind::Symmetric(_)) && a < n;
                    assert_eq!(trace.abs() > 1e-15, spherical || diagonal, "{kind:?} {a}");
                }
            }
        }
        // ω × a.
        let (omega, a) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
        let product: Vec<f64> = (0..3)
            .map(|i| {
                let row = (0..3).map(|j| {
                    let terms = ValueKind::Skew(3).dofs_of(3 * i + j);
                    terms.map(|(d, f)| f * omega[d]).sum::<f64>() * a[j]
                });
                row.sum()
            })
            .collect();
        assert_eq!(product, [-3.0, 6.0, -3.0]);
    }
}
