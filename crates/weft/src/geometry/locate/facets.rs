//! Squared distances to four triangles at a time: a sieve before the exact closest point.

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

/// Squared distances from `x` to the triangles with the corners `corners` (corner by corner,
/// axis by axis), up to rounding.
#[inline(always)]
pub(super) fn triangle_distances2<S: Simd>(simd: S, corners: &[Lane], x: Vec3) -> Lane {
    let corner = |i: usize| -> Vector<S> {
        std::array::from_fn(|d| f64x4::load_array_ref(simd, &corners[3 * i + d]))
    };
    let (a, b, c) = (corner(0), corner(1), corner(2));
    let x: Vector<S> = x.map(|c| f64x4::splat(simd, c));
    let (ab, ac, ax) = (sub(b, a), sub(c, a), sub(x, a));
    let zero = f64x4::splat(simd, 0.0);
    let one = f64x4::splat(simd, 1.0);
    let least = f64x4::splat(simd, f64::MIN_POSITIVE);
    let edge = |from: Vector<S>, along: Vector<S>| {
        let t = dot(from, along) / dot(along, along).max(least);
        let off = less(from, t.max(zero).min(one), along);
        dot(off, off)
    };
    let edges = edge(ax, ab)
        .min(edge(ax, ac))
        .min(edge(sub(ax, ab), sub(ac, ab)));
    let normal = cross(ab, ac);
    let area = dot(normal, normal);
    let wb = dot(normal, cross(ax, ac));
    let wc = dot(normal, cross(ab, ax));
    let inside = (area - wb - wc).min(wb).min(wc).simd_gt(zero);
    let scale = one / area.max(least);
    let off = less(less(ax, wb * scale, ab), wc * scale, ac);
    inside.select(dot(off, off).min(edges), edges).into()
}
