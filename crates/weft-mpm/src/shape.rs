//! Shape functions in a cell, eight nodes side by side.

use crate::VelocityBasis;
use fearless_simd::{Simd, f32x8, prelude::*};

/// Values and the three physical derivatives of eight shape functions.
pub(crate) type Group<S> = [f32x8<S>; 4];

const BIT_X: [f32; 8] = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
const BIT_Y: [f32; 8] = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0];
const BIT_Z: [f32; 8] = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];

/// Trilinear functions at `xi`; `inverse` is 1/h.
#[inline(always)]
pub(crate) fn trilinear<S: Simd>(simd: S, xi: [f32; 3], inverse: f32) -> Group<S> {
    let one = f32x8::splat(simd, 1.0);
    let axis = |bits: &[f32; 8], x: f32| {
        let bit = f32x8::load_array_ref(simd, bits);
        let sign = bit + bit - one;
        // 1 - x at the lower end, x at the upper.
        (sign.mul_add(f32x8::splat(simd, x), one - bit), sign)
    };
    let (nx, sx) = axis(&BIT_X, xi[0]);
    let (ny, sy) = axis(&BIT_Y, xi[1]);
    let (nz, sz) = axis(&BIT_Z, xi[2]);
    let scale = f32x8::splat(simd, inverse);
    let yz = ny * nz;
    [
        nx * yz,
        sx * yz * scale,
        sy * (nx * nz) * scale,
        sz * (nx * ny) * scale,
    ]
}

/// Values and derivatives (in reference coordinates) of the four splines that reach into a cell.
fn spline(basis: VelocityBasis, x: f32) -> [[f32; 4]; 2] {
    let mut out = [[0.0; 4]; 2];
    for i in 0..4 {
        let at = x - (i as f32 - 1.0);
        let (d, sign) = (at.abs(), at.signum());
        let (value, slope) = match basis {
            VelocityBasis::B3 if d < 1.0 => {
                (2.0 / 3.0 - d * d + 0.5 * d * d * d, -2.0 * d + 1.5 * d * d)
            }
            VelocityBasis::B3 if d < 2.0 => {
                let e = 2.0 - d;
                (e * e * e / 6.0, -0.5 * e * e)
            }
            VelocityBasis::B2 if d < 0.5 => (0.75 - d * d, -2.0 * d),
            VelocityBasis::B2 if d < 1.5 => {
                let e = 1.5 - d;
                (0.5 * e * e, -e)
            }
            _ => (0.0, 0.0),
        };
        out[0][i] = value;
        out[1][i] = sign * slope;
    }
    out
}

/// Shape functions of the nodes of a cell at `xi`, in groups of eight.
#[inline(always)]
pub(crate) fn shapes<S: Simd, const G: usize>(
    simd: S,
    basis: VelocityBasis,
    xi: [f32; 3],
    inverse: f32,
) -> [Group<S>; G] {
    if G == 1 {
        let group = trilinear(simd, xi, inverse);
        return [group; G];
    }
    let [x, y, z] = xi.map(|x| spline(basis, x));
    std::array::from_fn(|g| {
        let i = g / 2;
        let pick = |of: &[f32; 4], of_z: &[f32; 4]| {
            let lanes: [f32; 8] = std::array::from_fn(|l| of[(g % 2) * 2 + l / 4] * of_z[l % 4]);
            f32x8::load_array(simd, lanes)
        };
        let value = pick(&y[0], &z[0]);
        let by = |a: f32| f32x8::splat(simd, a);
        [
            value * by(x[0][i]),
            value * by(x[1][i] * inverse),
            pick(&y[1], &z[0]) * by(x[0][i] * inverse),
            pick(&y[0], &z[1]) * by(x[0][i] * inverse),
        ]
    })
}

/// Places of the nodes of a cell in reference coordinates.
#[inline(always)]
pub(crate) fn places<S: Simd, const G: usize>(simd: S) -> [[f32x8<S>; 3]; G] {
    std::array::from_fn(|g| {
        if G == 1 {
            return [&BIT_X, &BIT_Y, &BIT_Z].map(|bits| f32x8::load_array_ref(simd, bits));
        }
        let lanes = |of: &dyn Fn(usize) -> usize| {
            let lanes: [f32; 8] = std::array::from_fn(|l| of(l) as f32 - 1.0);
            f32x8::load_array(simd, lanes)
        };
        [
            lanes(&|_| g / 2),
            lanes(&|l| (g % 2) * 2 + l / 4),
            lanes(&|l| l % 4),
        ]
    })
}

/// Values of the linear functions on the tetrahedron with corners 0, x, y, z, at `xi`.
#[inline(always)]
pub(crate) fn linear(xi: [f32; 3]) -> [f32; 4] {
    [1.0 - xi[0] - xi[1] - xi[2], xi[0], xi[1], xi[2]]
}

/// Values of the trilinear functions at `xi`, slot 4i + 2j + k.
#[inline(always)]
pub(crate) fn trilinear_values(xi: [f32; 3]) -> [f32; 8] {
    std::array::from_fn(|l| {
        let axis = |bits: &[f32; 8], x: f32| if bits[l] == 1.0 { x } else { 1.0 - x };
        axis(&BIT_X, xi[0]) * axis(&BIT_Y, xi[1]) * axis(&BIT_Z, xi[2])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::{Level, dispatch};

    #[test]
    fn shapes_sum_to_one_reproduce_position_and_have_right_gradients() {
        fn check<const G: usize>(basis: VelocityBasis) {
            let level = Level::new();
            for at in [[0.1, 0.6, 0.9], [0.5, 0.0, 1.0], [0.25, 0.75, 0.49]] {
                dispatch!(level, simd => {
                    let s: [Group<_>; G] = shapes(simd, basis, at, 2.0);
                    let p = places::<_, G>(simd);
                    let sum = |f: &dyn Fn(usize, usize) -> f32| -> f32 {
                        (0..G).map(|g| (0..8).map(|l| f(g, l)).sum::<f32>()).sum()
                    };
                    assert!((sum(&|g, l| s[g][0].as_slice()[l]) - 1.0).abs() < 1e-6);
                    for d in 0..3 {
                        assert!(sum(&|g, l| s[g][1 + d].as_slice()[l]).abs() < 1e-5);
                        let x = sum(&|g, l| s[g][0].as_slice()[l] * p[g][d].as_slice()[l]);
                        assert!((x - at[d]).abs() < 1e-6, "{basis:?} {d}: {x}");
                        for e in 0..3 {
                            let slope = sum(&|g, l| s[g][1 + e].as_slice()[l] * p[g][d].as_slice()[l]);
                            let exact = if d == e { 2.0 } else { 0.0 };
                            assert!((slope - exact).abs() < 1e-5, "{basis:?} {d} {e}: {slope}");
                        }
                        // Finite differences of each function.
                        let step = 1e-2f32;
                        let (mut up, mut down) = (at, at);
                        up[d] += step;
                        down[d] -= step;
                        let a: [Group<_>; G] = shapes(simd, basis, up, 2.0);
                        let b: [Group<_>; G] = shapes(simd, basis, down, 2.0);
                        for g in 0..G {
                            for l in 0..8 {
                                let slope = (a[g][0].as_slice()[l] - b[g][0].as_slice()[l]) / step;
                                let given = s[g][1 + d].as_slice()[l];
                                assert!((slope - given).abs() < 2e-2, "{basis:?}: {slope} {given}");
                            }
                        }
                    }
                });
            }
        }
        check::<1>(VelocityBasis::Q1);
        check::<8>(VelocityBasis::B2);
        check::<8>(VelocityBasis::B3);
    }
}
