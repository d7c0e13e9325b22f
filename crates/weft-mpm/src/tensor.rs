//! Symmetric tensors as six numbers, and small matrices.
//!
//! The map T keeps half the inner product, T(A)·T(B) = ½ A:B: d0 = tr(A)/√6, d1 = (A00 - A11)/2,
//! d2 = √3/2 (A22 - tr(A)/3), d3 = A12, d4 = A02, d5 = A01. A pressure p is d0 = p √(3/2), and
//! the norm of d1..d5 is √J2.

/// A 3 × 3 matrix, `[row][column]`.
pub(crate) type Mat3 = [[f32; 3]; 3];

pub(crate) const IDENTITY: Mat3 = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

const SQRT_3: f32 = 1.732_050_8;
const SQRT_6: f32 = 2.449_489_7;

/// T(sym(A)).
#[inline(always)]
pub(crate) fn pack(a: &Mat3) -> [f32; 6] {
    let trace = a[0][0] + a[1][1] + a[2][2];
    [
        trace / SQRT_6,
        0.5 * (a[0][0] - a[1][1]),
        0.5 * SQRT_3 * (a[2][2] - trace / 3.0),
        0.5 * (a[1][2] + a[2][1]),
        0.5 * (a[0][2] + a[2][0]),
        0.5 * (a[0][1] + a[1][0]),
    ]
}

/// T⁻¹(d).
#[inline(always)]
pub(crate) fn unpack(d: &[f32; 6]) -> Mat3 {
    let a = d[0] * (SQRT_6 / 3.0);
    let b = d[2] / SQRT_3;
    [
        [a + d[1] - b, d[5], d[4]],
        [d[5], a - d[1] - b, d[3]],
        [d[4], d[3], a + 2.0 * b],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft::space::ValueKind;

    /// T is the map of the library's deviatoric tensors, and takes the symmetric part of others.
    #[test]
    fn tensors_are_those_of_the_library() {
        let kind = ValueKind::Deviatoric(3);
        let a: Mat3 = [[1.0, 2.0, -3.0], [0.5, 4.0, 2.5], [7.0, -1.5, -2.0]];
        let flat: Vec<f64> = a.iter().flatten().map(|&v| f64::from(v)).collect();
        let packed = pack(&a);
        for (dof, &d) in packed.iter().enumerate() {
            assert!((f64::from(d) - kind.dof(dof, &flat)).abs() < 1e-6, "{dof}");
        }
        let back = unpack(&packed);
        for c in 0..9 {
            let (i, j) = (c / 3, c % 3);
            assert!((back[i][j] - 0.5 * (a[i][j] + a[j][i])).abs() < 1e-6);
            let terms = kind.dofs_of(c);
            let value: f64 = terms.map(|(dof, f)| f * f64::from(packed[dof])).sum();
            assert!((f64::from(back[i][j]) - value).abs() < 1e-6, "{c}");
        }
    }
}
