//! Kinds of value at a node, and the map from degrees of freedom to components.

use super::SpaceError;
use crate::form::Shape;
use std::f64::consts::SQRT_2;

/// What a space stores at each node.
///
/// The degrees of freedom of [`Symmetric`](Self::Symmetric), [`Deviatoric`](Self::Deviatoric) (Daviet and
/// Bertails-Descoubes 2016) and [`Skew`](Self::Skew) are orthonormal for ½ τ:τ, those of other kinds are the
/// components.
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
            ValueKind::Symmetric(n) | ValueKind::Deviatoric(n) => {
                n.saturating_mul(n.saturating_add(1)) / 2
            }
            ValueKind::Skew(n) => n.saturating_mul(n.saturating_sub(1)) / 2,
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
    /// The tensors of two degrees of freedom of one kind are orthogonal.
    pub fn entry(self, component: usize, dof: usize) -> f64 {
        let n = match self.tensor_size() {
            None => return f64::from(component == dof),
            Some(n @ (2 | 3)) => n,
            // No space has such values.
            Some(_) => return 0.0,
        };
        let (i, j) = (component / n, component % n);
        // Off the diagonal, yz, xz, xy: the axis that is absent counts.
        let pair = if n == 2 { 0 } else { (6 - i - j) % 3 };
        match self {
            ValueKind::Skew(2) => [[0.0, -1.0], [1.0, 0.0]][i][j],
            ValueKind::Skew(_) if i == j || pair != dof => 0.0,
            // ω × a: rows and columns in cyclic order take a minus.
            ValueKind::Skew(_) if (i + 1) % 3 == j => -1.0,
            ValueKind::Skew(_) => 1.0,
            _ if i != j => f64::from(dof == n + pair),
            _ if dof >= n => 0.0,
            ValueKind::Symmetric(_) => SQRT_2 * f64::from(dof == i),
            _ if n == 2 => [[1.0, 1.0], [1.0, -1.0]][i][dof],
            _ => {
                let spherical = (2.0f64 / 3.0).sqrt();
                let axial = 1.0 / 3.0f64.sqrt();
                [
                    [spherical, 1.0, -axial],
                    [spherical, -1.0, -axial],
                    [spherical, 0.0, 2.0 * axial],
                ][i][dof]
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

    fn value_of(kind: ValueKind, dofs: &[f64]) -> Vec<f64> {
        let component = |c| kind.dofs_of(c).map(|(dof, f)| f * dofs[dof]).sum();
        (0..kind.shape().len()).map(component).collect()
    }

    fn kinds() -> Vec<ValueKind> {
        let tensors = [2, 3].into_iter().flat_map(|n| {
            [
                ValueKind::Symmetric(n),
                ValueKind::Deviatoric(n),
                ValueKind::Skew(n),
            ]
        });
        [
            ValueKind::Scalar,
            ValueKind::Vector(4),
            ValueKind::Matrix(2, 3),
        ]
        .into_iter()
        .chain(tensors)
        .collect()
    }

    #[test]
    fn unit_numbers_are_orthonormal_values_and_come_back() {
        for kind in kinds() {
            let scale = if kind.tensor_size().is_some() {
                0.5
            } else {
                1.0
            };
            let count = kind.components();
            let unit = |a: usize| {
                let dofs: Vec<f64> = (0..count).map(|b| f64::from(a == b)).collect();
                value_of(kind, &dofs)
            };
            for a in 0..count {
                for b in 0..count {
                    let product: f64 = unit(a).iter().zip(unit(b)).map(|(x, y)| x * y).sum();
                    let expected = f64::from(a == b);
                    assert!((scale * product - expected).abs() < 1e-15, "{kind:?}");
                    assert!((kind.dof(b, &unit(a)) - expected).abs() < 1e-15, "{kind:?}");
                }
            }
        }
    }

    #[test]
    fn tensors_are_symmetric_or_skew_and_one_number_holds_the_trace() {
        for kind in kinds() {
            let Some(n) = kind.tensor_size() else {
                continue;
            };
            let sign = match kind {
                ValueKind::Skew(_) => -1.0,
                _ => 1.0,
            };
            for dof in 0..kind.components() {
                let at = |i: usize, j: usize| kind.entry(i * n + j, dof);
                for (i, j) in (0..n * n).map(|c| (c / n, c % n)) {
                    assert_eq!(at(i, j), sign * at(j, i), "{kind:?} {dof}");
                }
                let trace: f64 = (0..n).map(|i| at(i, i)).sum();
                let expected = match kind {
                    ValueKind::Symmetric(_) if dof < n => SQRT_2,
                    ValueKind::Deviatoric(_) if dof == 0 => (2.0 * n as f64).sqrt(),
                    _ => 0.0,
                };
                assert!((trace - expected).abs() < 1e-15, "{kind:?} {dof}: {trace}");
            }
        }
    }

    #[test]
    fn numbers_are_what_the_kinds_say() {
        let dofs = |kind: ValueKind, value: &[f64]| -> Vec<f64> {
            (0..kind.components()).map(|d| kind.dof(d, value)).collect()
        };
        let close = |a: &[f64], b: &[f64]| {
            assert_eq!(a.len(), b.len());
            assert!(
                a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-15),
                "{a:?} {b:?}"
            );
        };
        let r = SQRT_2;
        // xx = 1, yy = 2, zz = 3, yz = 4, xz = 5, xy = 6.
        let tau = [1.0, 6.0, 5.0, 6.0, 2.0, 4.0, 5.0, 4.0, 3.0];
        let voigt = [1.0 / r, 2.0 / r, 3.0 / r, 4.0, 5.0, 6.0];
        close(&dofs(ValueKind::Symmetric(3), &tau), &voigt);
        let parts = [6.0 / 6f64.sqrt(), -0.5, 3.0 / 12f64.sqrt(), 4.0, 5.0, 6.0];
        close(&dofs(ValueKind::Deviatoric(3), &tau), &parts);
        let plane = [1.0, 6.0, 6.0, 2.0];
        close(
            &dofs(ValueKind::Symmetric(2), &plane),
            &[1.0 / r, 2.0 / r, 6.0],
        );
        close(&dofs(ValueKind::Deviatoric(2), &plane), &[1.5, -0.5, 6.0]);
        // A turn by a quarter, and ω × a.
        assert_eq!(value_of(ValueKind::Skew(2), &[1.0]), [0.0, -1.0, 1.0, 0.0]);
        let (omega, a) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
        let turn = value_of(ValueKind::Skew(3), &omega);
        let row = |i: usize| (0..3).map(|j| turn[3 * i + j] * a[j]).sum();
        let product: [f64; 3] = std::array::from_fn(row);
        assert_eq!(product, [-3.0, 6.0, -3.0]);
    }

    #[test]
    fn other_matrices_count_by_the_part_that_fits() {
        let value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0];
        let part = |sign: f64| -> Vec<f64> {
            let at = |i: usize, j: usize| value[3 * i + j];
            let both = |c: usize| 0.5 * (at(c / 3, c % 3) + sign * at(c % 3, c / 3));
            (0..9).map(both).collect()
        };
        for (kind, part) in [
            (ValueKind::Symmetric(3), part(1.0)),
            (ValueKind::Deviatoric(3), part(1.0)),
            (ValueKind::Skew(3), part(-1.0)),
        ] {
            let dofs: Vec<f64> = (0..kind.components())
                .map(|d| kind.dof(d, &value))
                .collect();
            let back = value_of(kind, &dofs);
            assert!(
                back.iter().zip(&part).all(|(a, b)| (a - b).abs() < 1e-14),
                "{kind:?}"
            );
        }
        // What is no number stays where it is.
        let hole = [f64::NAN, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        for dof in 0..6 {
            assert_eq!(ValueKind::Symmetric(3).dof(dof, &hole).is_nan(), dof == 0);
            assert_eq!(ValueKind::Deviatoric(3).dof(dof, &hole).is_nan(), dof < 3);
        }
    }

    #[test]
    fn impossible_kinds_are_refused_and_harmless() {
        for n in [0, 1, 4, usize::MAX] {
            for (kind, name) in [
                (ValueKind::Symmetric(n), "symmetric"),
                (ValueKind::Deviatoric(n), "symmetric"),
                (ValueKind::Skew(n), "skew-symmetric"),
            ] {
                let error = kind.validate().unwrap_err().to_string();
                let expected = format!("a {name} tensor has 2 or 3 rows, not {n}");
                assert_eq!(error, expected);
                kind.components();
                assert_eq!(kind.entry(0, 0), 0.0);
            }
        }
        for kind in [
            ValueKind::Vector(0),
            ValueKind::Vector(17),
            ValueKind::Matrix(usize::MAX, 2),
        ] {
            assert!(kind.validate().is_err());
        }
        assert!(kinds().into_iter().all(|kind| kind.validate().is_ok()));
    }
}
