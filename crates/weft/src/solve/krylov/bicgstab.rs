//! BiCGSTAB, preconditioned from the right.

use super::{BreakdownKind, End, Run};
use crate::Real;
use crate::solve::vector::{axpy, chunk_dot, dot, over_chunks};

/// A product of two vectors is zero if it is this much smaller than the product of their norms.
const VANISHED: f64 = 1e-15;

pub(super) fn cycle<T: Real>(
    run: &mut Run<T>,
    x: &mut [T],
    r: &mut [T],
    work: &mut [Vec<T>],
) -> End {
    let [shadow, p, v, p_hat, s_hat, t] = work else {
        unreachable!("BiCGSTAB has six work vectors");
    };
    shadow.copy_from_slice(r);
    p.copy_from_slice(r);
    let shadow_norm = dot(shadow, shadow).sqrt();
    let mut rho = shadow_norm * shadow_norm;
    loop {
        run.m.apply(p, p_hat);
        run.a.apply(p_hat, v);
        let [sv, vv] = over_chunks([], [&*shadow, &*v], &|[], [s, v]| {
            [chunk_dot(s, v), chunk_dot(v, v)]
        });
        if sv.is_finite() && sv.abs() <= VANISHED * T::COARSENESS * shadow_norm * vv.sqrt() {
            return run.breakdown(BreakdownKind::Direction);
        }
        let alpha = rho / sv;
        // From here to the end of the step r is the intermediate residual s.
        let step = T::round(alpha);
        let [ss] = over_chunks([&mut *r], [&*v], &|[r], [v]| {
            for (r, v) in r.iter_mut().zip(v) {
                *r -= step * *v;
            }
            [chunk_dot(r, r)]
        });
        if ss.sqrt() <= run.target {
            axpy(alpha, p_hat, x);
            return run.record(ss.sqrt()).unwrap_or(End::Target);
        }
        run.m.apply(r, s_hat);
        run.a.apply(s_hat, t);
        let [ts, tt] = over_chunks([], [&*t, &*r], &|[], [t, s]| {
            [chunk_dot(t, s), chunk_dot(t, t)]
        });
        if ts.is_finite() && ts.abs() <= VANISHED * T::COARSENESS * tt.sqrt() * ss.sqrt() {
            axpy(alpha, p_hat, x);
            return match run.record(ss.sqrt()) {
                Some(end) => end,
                None => run.breakdown(BreakdownKind::Stabilisation),
            };
        }
        let omega = ts / tt;
        let correction = T::round(omega);
        let [rr, next] = over_chunks(
            [&mut *x, &mut *r],
            [&*p_hat, &*s_hat, &*t, &*shadow],
            &|[x, r], [p_hat, s_hat, t, shadow]| {
                for i in 0..x.len() {
                    x[i] += step * p_hat[i] + correction * s_hat[i];
                    r[i] -= correction * t[i];
                }
                [chunk_dot(r, r), chunk_dot(shadow, r)]
            },
        );
        if let Some(end) = run.record(rr.sqrt()) {
            return end;
        }
        if next.abs() <= VANISHED * T::COARSENESS * shadow_norm * rr.sqrt() {
            return run.breakdown(BreakdownKind::Shadow);
        }
        let beta = T::round((next / rho) * (alpha / omega));
        over_chunks([&mut *p], [&*r, &*v], &|[p], [r, v]| {
            for (p, (r, v)) in p.iter_mut().zip(r.iter().zip(v)) {
                *p = *r + beta * (*p - correction * *v);
            }
            []
        });
        rho = next;
    }
}
