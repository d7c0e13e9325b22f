//! Preconditioned MINRES.
//!
//! Algorithm 6.1 of Elman, Silvester & Wathen, Finite Elements and Fast Iterative Solvers; the
//! residual vector follows r_k = s² r_{k−1} + c η_k v_{k+1} (Choi, Paige & Saunders 2011, Lemma 3.3),
//! so that the stopping test is about the Euclidean norm whatever the preconditioner.

use super::{End, Run, StopReason};
use crate::Real;
use crate::solve::vector::{chunk_dot, dot, over_chunks, scale};

pub(super) fn cycle<T: Real>(
    run: &mut Run<T>,
    x: &mut [T],
    r: &mut [T],
    work: &mut [Vec<T>],
) -> End {
    let [v_old, v, v_new, z, w_old, w, w_new] = work else {
        unreachable!("MINRES has seven work vectors");
    };
    v_old.fill(T::ZERO);
    w_old.fill(T::ZERO);
    w.fill(T::ZERO);
    v.copy_from_slice(r);
    run.m.apply(v, z);
    let square = dot(v, z);
    if !(square > 0.0 && square.is_finite()) {
        return failed(run, square);
    }
    let mut gamma_old = 1.0;
    let mut gamma = square.sqrt();
    let mut eta = gamma;
    let (mut s_old, mut s, mut c_old, mut c) = (0.0, 0.0, 1.0, 1.0);
    let mut size = 0.0f64;
    loop {
        scale(1.0 / gamma, z);
        run.a.apply(z, v_new);
        let delta = dot(v_new, z);
        let [f, g] = [delta / gamma, gamma / gamma_old].map(T::round);
        over_chunks([&mut *v_new], [&*v, &*v_old], &|[v_new], [v, v_old]| {
            for (n, (v, o)) in v_new.iter_mut().zip(v.iter().zip(v_old)) {
                *n -= f * *v + g * *o;
            }
            []
        });
        // z is still needed for w: w_new serves as the next z until then.
        run.m.apply(v_new, w_new);
        let square = dot(v_new, w_new);
        // Rounding may leave a tiny negative square when the space is exhausted.
        let scale_of_square = T::EPSILON * (size * size).max(delta * delta);
        if square.is_nan() || square < -scale_of_square || !delta.is_finite() {
            return failed(run, if delta.is_finite() { square } else { delta });
        }
        let gamma_new = square.max(0.0).sqrt();
        size = size.max(delta.hypot(gamma_new));
        let a0 = c * delta - c_old * s * gamma;
        // |M^(-1/2) A r| relative to |A| |r|: where it vanishes x is a least-squares solution.
        if a0.hypot(c * gamma_new) <= 1e-11 * T::COARSENESS * size {
            return End::Exhausted;
        }
        let a1 = a0.hypot(gamma_new);
        let a2 = s * delta + c_old * c * gamma;
        let a3 = s_old * gamma;
        let (c_new, s_new) = (a0 / a1, gamma_new / a1);
        let step = c_new * eta;
        let exhausted = gamma_new <= T::EPSILON * size;
        eta *= -s_new;
        let along = if exhausted {
            0.0
        } else {
            c_new * eta / gamma_new
        };
        let [s2, inverse, along] = [s_new * s_new, 1.0 / a1, along].map(T::round);
        let [a2, a3, step] = [a2, a3, step].map(T::round);
        let [rr] = over_chunks(
            [&mut *x, &mut *r, &mut *w_old],
            [&*z, &*w, &*v_new],
            &|[x, r, w_old], [z, w, v_new]| {
                for i in 0..x.len() {
                    // The new w takes the place of the oldest.
                    w_old[i] = (z[i] - a3 * w_old[i] - a2 * w[i]) * inverse;
                    x[i] += step * w_old[i];
                    r[i] = s2 * r[i] + along * v_new[i];
                }
                [chunk_dot(r, r)]
            },
        );
        if let Some(end) = run.record(rr.sqrt()) {
            return end;
        }
        if exhausted {
            return End::Exhausted;
        }
        std::mem::swap(w_old, w);
        std::mem::swap(z, w_new);
        std::mem::swap(v_old, v);
        std::mem::swap(v, v_new);
        (gamma_old, gamma) = (gamma, gamma_new);
        (s_old, s, c_old, c) = (s, s_new, c, c_new);
    }
}

fn failed<T: Real>(run: &Run<T>, square: f64) -> End {
    let iteration = run.iterations + 1;
    End::Failed(if square.is_finite() {
        StopReason::PreconditionerNotPositive { iteration }
    } else {
        StopReason::NonFinite { iteration }
    })
}
