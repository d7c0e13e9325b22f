//! Jacobians, their inverses, measures and normals for a block of elements.

use super::lanes::{Lane, load, splat};
use super::tables::Table;
use fearless_simd::{Simd, f64x8, prelude::*};

/// Fill inverse Jacobians `inverse[(q * TD + k) * GD + d] = ∂ξ_k/∂x_d` and measure densities
/// `measure[q]` (√det JᵀJ) for `points` points from node coordinates `coords[i * GD + d]`.
/// Embedded cells (GD > TD) get the left pseudo-inverse (JᵀJ)⁻¹Jᵀ.
#[inline(always)]
pub(crate) fn jacobians<S: Simd, T: Table, const GD: usize, const TD: usize>(
    simd: S,
    table: T,
    coords: &[Lane],
    points: usize,
    inverse: &mut [Lane],
    measure: &mut [Lane],
) {
    for q in 0..points {
        let mut j = [[splat(simd, 0.0); TD]; GD];
        for (i, x) in coords.chunks_exact(GD).enumerate() {
            let mut g = [splat(simd, 0.0); TD];
            for k in 0..TD {
                g[k] = table.gradient(simd, q * table.nodes() + i, k);
            }
            for d in 0..GD {
                let x = load(simd, &x[d]);
                for k in 0..TD {
                    j[d][k] = x.mul_add(g[k], j[d][k]);
                }
            }
        }
        let (inv, m) = invert::<S, GD, TD>(simd, &j);
        measure[q] = m.into();
        let out = &mut inverse[q * TD * GD..(q + 1) * TD * GD];
        for k in 0..TD {
            for d in 0..GD {
                out[k * GD + d] = inv[k][d].into();
            }
        }
    }
}

#[inline(always)]
fn invert<S: Simd, const GD: usize, const TD: usize>(
    simd: S,
    j: &[[f64x8<S>; TD]; GD],
) -> ([[f64x8<S>; GD]; TD], f64x8<S>) {
    let zero = splat(simd, 0.0);
    let one = splat(simd, 1.0);
    let mut out = [[zero; GD]; TD];
    if GD == TD {
        let mut square = [[zero; TD]; TD];
        for k in 0..TD {
            for d in 0..TD {
                square[d][k] = j[d][k];
            }
        }
        let (adjugate, det) = adjugate::<S, TD>(simd, &square);
        let r = one / det;
        for k in 0..TD {
            for d in 0..GD {
                out[k][d] = adjugate[k][d] * r;
            }
        }
        return (out, det.abs());
    }
    // Gram matrix JᵀJ.
    let mut gram = [[zero; TD]; TD];
    for a in 0..TD {
        for b in 0..TD {
            for row in j.iter() {
                gram[a][b] = row[a].mul_add(row[b], gram[a][b]);
            }
        }
    }
    let (adjugate, det) = adjugate::<S, TD>(simd, &gram);
    let r = one / det;
    for k in 0..TD {
        for d in 0..GD {
            let mut sum = zero;
            for a in 0..TD {
                sum = adjugate[k][a].mul_add(j[d][a], sum);
            }
            out[k][d] = sum * r;
        }
    }
    (out, det.sqrt())
}

/// Adjugate (transposed cofactors) and determinant of an N × N matrix, N ≤ 3.
#[inline(always)]
pub(super) fn adjugate<S: Simd, const N: usize>(
    simd: S,
    a: &[[f64x8<S>; N]; N],
) -> ([[f64x8<S>; 3]; 3], f64x8<S>) {
    let zero = splat(simd, 0.0);
    let mut out = [[zero; 3]; 3];
    let det;
    match N {
        1 => {
            out[0][0] = splat(simd, 1.0);
            det = a[0][0];
        }
        2 => {
            out[0][0] = a[1][1];
            out[0][1] = -a[0][1];
            out[1][0] = -a[1][0];
            out[1][1] = a[0][0];
            det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
        }
        _ => {
            for i in 0..3 {
                for k in 0..3 {
                    let (i1, i2, k1, k2) = ((i + 1) % 3, (i + 2) % 3, (k + 1) % 3, (k + 2) % 3);
                    out[k][i] = a[i1][k1] * a[i2][k2] - a[i1][k2] * a[i2][k1];
                }
            }
            det = a[0][0] * out[0][0] + a[0][1] * out[1][0] + a[0][2] * out[2][0];
        }
    }
    (out, det)
}

/// Turn cell measures into side measures and find unit normals: `reference` is the side's
/// outward normal in reference space, `normal[q * GD + d]` receives the normals.
#[inline(always)]
pub(crate) fn side_frames<S: Simd>(
    simd: S,
    gd: usize,
    td: usize,
    reference: [f64; 3],
    points: usize,
    stride: usize,
    inverse: &[Lane],
    measure: &mut [Lane],
    normal: &mut [Lane],
) {
    for q in 0..points {
        let at = q * stride;
        let inv = &inverse[at * td * gd..(at + 1) * td * gd];
        let mut n = [splat(simd, 0.0); 3];
        let mut square = splat(simd, 0.0);
        for d in 0..gd {
            for k in 0..td {
                n[d] = load(simd, &inv[k * gd + d]).mul_add(splat(simd, reference[k]), n[d]);
            }
            square = n[d].mul_add(n[d], square);
        }
        let length = square.sqrt();
        for d in 0..gd {
            normal[q * gd + d] = (n[d] / length).into();
        }
        measure[q] = (load(simd, &measure[q]) * length).into();
    }
}
