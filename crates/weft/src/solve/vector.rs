//! Vector operations of the iterative methods: fused, parallel, same bits for any thread count.
//!
//! Everything goes through [`over_chunks`]: vectors are halved at fixed places down to chunks, and
//! the sums of the halves are added in that fixed tree.

use crate::Real;

/// Entries of a leaf of the tree: small enough for L1/L2, large enough to hide a task's cost.
const CHUNK: usize = 4096;
/// Below this length one thread is faster than waking others.
const SERIAL: usize = 4 * CHUNK;

/// Runs `leaf` over matching chunks of vectors of one length; adds up what it returns.
pub(crate) fn over_chunks<T: Real, const M: usize, const N: usize, const R: usize>(
    outs: [&mut [T]; M],
    ins: [&[T]; N],
    leaf: &(impl Fn([&mut [T]; M], [&[T]; N]) -> [f64; R] + Sync),
) -> [f64; R] {
    let n = if M > 0 { outs[0].len() } else { ins[0].len() };
    debug_assert!(outs.iter().all(|v| v.len() == n) && ins.iter().all(|v| v.len() == n));
    halve(n, n > SERIAL, outs, ins, leaf)
}

fn halve<T: Real, const M: usize, const N: usize, const R: usize>(
    n: usize,
    parallel: bool,
    outs: [&mut [T]; M],
    ins: [&[T]; N],
    leaf: &(impl Fn([&mut [T]; M], [&[T]; N]) -> [f64; R] + Sync),
) -> [f64; R] {
    if n <= CHUNK {
        return leaf(outs, ins);
    }
    let middle = n.div_ceil(CHUNK).div_ceil(2) * CHUNK;
    let mut high_outs: [&mut [T]; M] = std::array::from_fn(|_| Default::default());
    let mut k = 0;
    let low_outs = outs.map(|v| {
        let (low, high) = v.split_at_mut(middle);
        high_outs[k] = high;
        k += 1;
        low
    });
    let low_ins = ins.map(|v| &v[..middle]);
    let high_ins = ins.map(|v| &v[middle..]);
    let (low, high) = if parallel {
        rayon::join(
            || halve(middle, true, low_outs, low_ins, leaf),
            || halve(n - middle, true, high_outs, high_ins, leaf),
        )
    } else {
        (
            halve(middle, false, low_outs, low_ins, leaf),
            halve(n - middle, false, high_outs, high_ins, leaf),
        )
    };
    std::array::from_fn(|i| low[i] + high[i])
}

/// Inner product of two chunks, in eight interleaved partial sums of `f64`.
pub(crate) fn chunk_dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (a, b) in a8.iter().zip(b8) {
        for i in 0..8 {
            sums[i] += a[i].widen() * b[i].widen();
        }
    }
    let mut rest = 0.0;
    for (a, b) in a_rest.iter().zip(b_rest) {
        rest += a.widen() * b.widen();
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7)) + rest
}

/// Inner product.
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let [sum] = over_chunks([], [a, b], &|[], [a, b]| [chunk_dot(a, b)]);
    sum
}

/// Euclidean norm; scaled when the plain sum of squares leaves the range of `f64`.
pub(crate) fn norm<T: Real>(a: &[T]) -> f64 {
    let square = dot(a, a);
    if square.is_finite() && square > f64::MIN_POSITIVE / f64::EPSILON {
        return square.sqrt();
    }
    let largest = a.iter().fold(0.0, |m: f64, v| match v.widen() {
        v if v.is_nan() => f64::NAN,
        v => m.max(v.abs()),
    });
    if largest == 0.0 || !largest.is_finite() {
        return if square.is_nan() { f64::NAN } else { largest };
    }
    let [sum] = over_chunks([], [a], &|[], [a]| {
        [a.iter().map(|v| (v.widen() / largest).powi(2)).sum()]
    });
    largest * sum.sqrt()
}

/// y += `alpha` x.
pub(crate) fn axpy<T: Real>(alpha: f64, x: &[T], y: &mut [T]) {
    let alpha = T::round(alpha);
    over_chunks([y], [x], &|[y], [x]| {
        for (y, x) in y.iter_mut().zip(x) {
            *y += alpha * *x;
        }
        []
    });
}

/// y = x + `beta` y.
pub(crate) fn xpby<T: Real>(x: &[T], beta: f64, y: &mut [T]) {
    let beta = T::round(beta);
    over_chunks([y], [x], &|[y], [x]| {
        for (y, x) in y.iter_mut().zip(x) {
            *y = *x + beta * *y;
        }
        []
    });
}

/// y *= `alpha`.
pub(crate) fn scale<T: Real>(alpha: f64, y: &mut [T]) {
    let alpha = T::round(alpha);
    over_chunks([y], [], &|[y], []| {
        y.iter_mut().for_each(|y| *y *= alpha);
        []
    });
}

/// r = b − r, and returns nothing; `r` holds A x before.
pub(crate) fn residual_from_product<T: Real>(b: &[T], r: &mut [T]) {
    over_chunks([r], [b], &|[r], [b]| {
        for (r, b) in r.iter_mut().zip(b) {
            *r = *b - *r;
        }
        []
    });
}
