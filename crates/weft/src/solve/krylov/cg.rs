//! Preconditioned conjugate gradients.

use super::{End, Run, StopReason};
use crate::Real;
use crate::solve::vector::{chunk_dot, dot, over_chunks, xpby};

pub(super) fn cycle<T: Real>(
    run: &mut Run<T>,
    x: &mut [T],
    r: &mut [T],
    work: &mut [Vec<T>],
) -> End {
    let [z, p, q] = work else {
        unreachable!("CG has three work vectors");
    };
    run.m.apply(r, z);
    let mut rho = dot(r, z);
    p.copy_from_slice(z);
    let mut largest_curvature = 0.0f64;
    loop {
        if !(rho > 0.0 && rho.is_finite()) {
            let iteration = run.iterations + 1;
            return End::Failed(if rho.is_finite() {
                StopReason::PreconditionerNotPositive { iteration }
            } else {
                StopReason::NonFinite { iteration }
            });
        }
        run.a.apply(p, q);
        let [pq, pp] = over_chunks([], [p, q], &|[], [p, q]| [chunk_dot(p, q), chunk_dot(p, p)]);
        let curvature = pq / pp;
        largest_curvature = largest_curvature.max(curvature);
        // A curvature that is zero to rounding is that of a null vector.
        if curvature.is_nan() || curvature <= T::EPSILON * largest_curvature {
            let iteration = run.iterations + 1;
            return End::Failed(if curvature.is_finite() {
                StopReason::NotPositive {
                    iteration,
                    curvature,
                }
            } else {
                StopReason::NonFinite { iteration }
            });
        }
        let alpha = T::round(rho / pq);
        let [rr] = over_chunks([&mut *x, &mut *r], [p, q], &|[x, r], [p, q]| {
            for ((x, r), (p, q)) in x.iter_mut().zip(&mut *r).zip(p.iter().zip(q)) {
                *x += alpha * *p;
                *r -= alpha * *q;
            }
            [chunk_dot(r, r)]
        });
        if let Some(end) = run.record(rr.sqrt()) {
            return end;
        }
        run.m.apply(r, z);
        let next = dot(r, z);
        xpby(z, next / rho, p);
        rho = next;
    }
}
