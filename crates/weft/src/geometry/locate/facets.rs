//! Squared distances to four triangles or tets at a time: a sieve before the exact closest point.
//!
//! Everything here is inlined by force and has no closures: code outside the function that
//! chose the instruction set would call each vector operation as a function.

use fearless_simd::{Simd, f64x4, prelude::*};

use super::bvh::LEAF;
use super::vector::Vec3;

/// One coordinate of the corners of the cells of a leaf.
pub(super) type Lane = [f64; LEAF];

type Vector<S> = [f64x4<S>; 3];

#[inline(always)]
fn sub<S: Simd>(a: Vector<S>, b: Vector<S>) -> Vector<S> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
fn dot<S: Simd>(a: Vector<S>, b: Vector<S>) -> f64x4<S> {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn cross<S: Simd>(a: Vector<S>, b: Vector<S>) -> Vector<S> {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// `a − s·b`.
#[inline(always)]
fn less<S: Simd>(a: Vector<S>, s: f64x4<S>, b: Vector<S>) -> Vector<S> {
    [a[0] - s * b[0], a[1] - s * b[1], a[2] - s * b[2]]
}

#[inline(always)]
fn load<S: Simd>(simd: S, lanes: &[Lane]) -> Vector<S> {
    [
        f64x4::load_array_ref(simd, &lanes[0]),
        f64x4::load_array_ref(simd, &lanes[1]),
        f64x4::load_array_ref(simd, &lanes[2]),
    ]
}

/// Squared distances to edges that begin at minus `from` and run along `along`.
#[inline(always)]
fn edge_distance2<S: Simd>(simd: S, from: Vector<S>, along: Vector<S>) -> f64x4<S> {
    let length2 = dot(along, along).max(f64x4::splat(simd, f64::MIN_POSITIVE));
    let t = dot(from, along) / length2;
    let t = t.max(f64x4::splat(simd, 0.0)).min(f64x4::splat(simd, 1.0));
    let off = less(from, t, along);
    dot(off, off)
}

/// Squared distances to the insides of triangles with a corner at minus `from`, edges `u` and
/// `v` from there, and `normal` = `u × v`; infinite where the closest point is on an edge.
#[inline(always)]
fn inside_distance2<S: Simd>(
    simd: S,
    from: Vector<S>,
    u: Vector<S>,
    v: Vector<S>,
    normal: Vector<S>,
) -> f64x4<S> {
    let area = dot(normal, normal);
    let wu = dot(normal, cross(from, v));
    let wv = dot(normal, cross(u, from));
    let least = (area - wu - wv).min(wu).min(wv);
    let scale = f64x4::splat(simd, 1.0) / area.max(f64x4::splat(simd, f64::MIN_POSITIVE));
    let off = less(less(from, wu * scale, u), wv * scale, v);
    let inside = least.simd_gt(f64x4::splat(simd, 0.0));
    inside.select(dot(off, off), f64x4::splat(simd, f64::INFINITY))
}

#[inline(always)]
fn splat<S: Simd>(simd: S, x: Vec3) -> Vector<S> {
    [
        f64x4::splat(simd, x[0]),
        f64x4::splat(simd, x[1]),
        f64x4::splat(simd, x[2]),
    ]
}

/// Squared distances from `x` to the triangles with the corners `corners` (corner by corner,
/// axis by axis), up to rounding.
#[inline(always)]
pub(super) fn triangle_distances2<S: Simd>(simd: S, corners: &[Lane], x: Vec3) -> Lane {
    let (a, b, c) = (
        load(simd, &corners[..3]),
        load(simd, &corners[3..6]),
        load(simd, &corners[6..9]),
    );
    let (ab, ac, ax) = (sub(b, a), sub(c, a), sub(splat(simd, x), a));
    edge_distance2(simd, ax, ab)
        .min(edge_distance2(simd, ax, ac))
        .min(edge_distance2(simd, sub(ax, ab), sub(ac, ab)))
        .min(inside_distance2(simd, ax, ab, ac, cross(ab, ac)))
        .into()
}

/// Squared distances from `x` to the tets with the corners `corners`, up to rounding; 0 where
/// rounding may hide that `x` is inside. If all are above `limit2`, they may be too small.
#[inline(always)]
pub(super) fn tet_distances2<S: Simd>(simd: S, corners: &[Lane], x: Vec3, limit2: f64) -> Lane {
    let x = splat(simd, x);
    let a = sub(x, load(simd, &corners[..3]));
    let b = sub(x, load(simd, &corners[3..6]));
    let c = sub(x, load(simd, &corners[6..9]));
    let d = sub(x, load(simd, &corners[9..12]));
    let (ab, ac, ad) = (sub(a, b), sub(a, c), sub(a, d));
    let (bc, bd) = (sub(b, c), sub(b, d));
    // Normals of the faces opposite a, b, c, d, and volumes above them with one sign inside.
    let (na, nb, nc, nd) = (cross(bc, bd), cross(ad, ac), cross(ab, ad), cross(ac, ab));
    let (wa, wb, wc, wd) = (dot(b, na), dot(a, nb), dot(a, nc), dot(a, nd));
    let volume = wa + wb + wc + wd;
    let size2 = dot(a, a).max(dot(b, b)).max(dot(c, c)).max(dot(d, d));
    let error = size2 * size2.sqrt() * f64x4::splat(simd, 32.0 * f64::EPSILON);
    // The rounding error of a normal, and 1e6 times its square: (n + e)² ≤ (1 + 1e-6)·n² + …
    let unit = size2 * f64x4::splat(simd, 32.0e3 * f64::EPSILON);
    let floor = (unit * unit).max(f64x4::splat(simd, f64::MIN_POSITIVE));
    let zero = f64x4::splat(simd, 0.0);
    let sign = volume
        .simd_gt(zero)
        .select(f64x4::splat(simd, -1.0), f64x4::splat(simd, 1.0));
    // No tet is nearer than the plane of a face that the point is outside of.
    let bound = plane2(simd, wa * sign - error, na, floor)
        .max(plane2(simd, wb * sign - error, nb, floor))
        .max(plane2(simd, wc * sign - error, nc, floor))
        .max(plane2(simd, wd * sign - error, nd, floor));
    // Without volume nothing tells inside from outside.
    let solid = volume.abs().simd_gt(error * f64x4::splat(simd, 4.0));
    let bound = solid.select(bound, zero);
    let bounds: Lane = bound.into();
    let above = |lane: usize| bounds[lane] > limit2;
    if above(0) && above(1) && above(2) && above(3) {
        return bounds;
    }
    let faces = edge_distance2(simd, a, ab)
        .min(edge_distance2(simd, a, ac))
        .min(edge_distance2(simd, a, ad))
        .min(edge_distance2(simd, b, bc))
        .min(edge_distance2(simd, b, bd))
        .min(edge_distance2(simd, c, sub(c, d)))
        .min(inside_distance2(simd, b, bc, bd, na))
        .min(inside_distance2(simd, a, ad, ac, nb))
        .min(inside_distance2(simd, a, ab, ad, nc))
        .min(inside_distance2(simd, a, ac, ab, nd));
    bound.simd_gt(zero).select(faces, zero).into()
}

/// Square of `height/|normal|`, 0 for heights below 0, with a normal that may be off by rounding.
#[inline(always)]
fn plane2<S: Simd>(simd: S, height: f64x4<S>, normal: Vector<S>, floor: f64x4<S>) -> f64x4<S> {
    let height = height.max(f64x4::splat(simd, 0.0));
    height * height / (dot(normal, normal) * (1.0 + 1e-6) + floor)
}
