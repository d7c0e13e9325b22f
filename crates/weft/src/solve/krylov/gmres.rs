//! Restarted GMRES, preconditioned from the right: the residual it minimises is the true one.
//!
//! Modified Gram–Schmidt, Givens rotations (Saad, Iterative Methods for Sparse Linear Systems,
//! 2nd ed., §6.5.3). One cycle is one restart.

use super::{BreakdownKind, End, Run, StopReason};
use crate::Real;
use crate::solve::vector::{axpy, dot, norm, over_chunks, scale};

pub(super) fn cycle<T: Real>(
    run: &mut Run<T>,
    x: &mut [T],
    r: &[T],
    work: &mut [Vec<T>],
    small: &mut [f64],
) -> End {
    let restart = run.restart;
    let [basis @ .., z] = work else {
        unreachable!("GMRES has restart + 2 work vectors");
    };
    // Columns of the triangular factor (restart × restart), then cosines, sines, right-hand side.
    let (h, rest) = small.split_at_mut(restart * restart);
    let (cosines, rest) = rest.split_at_mut(restart);
    let (sines, g) = rest.split_at_mut(restart);
    let beta = norm(r);
    basis[0].copy_from_slice(r);
    scale(1.0 / beta, &mut basis[0]);
    g.fill(0.0);
    g[0] = beta;
    let mut columns = 0;
    let mut end = End::Restart;
    while columns < restart {
        let j = columns;
        run.m.apply(&basis[j], z);
        let (old, new) = basis.split_at_mut(j + 1);
        let w = &mut new[0];
        run.a.apply(z, w);
        let before = norm(w);
        run.size = run.size.max(before);
        let column = &mut h[j * restart..(j + 1) * restart];
        for (i, v) in old.iter().enumerate() {
            let projection = dot(v, w);
            column[i] = projection;
            axpy(-projection, v, w);
        }
        let mut after = norm(w);
        if !after.is_finite() {
            end = End::Failed(StopReason::NonFinite {
                iteration: run.iterations + 1,
            });
            break;
        }
        // Cancellation has cost digits: orthogonalise once more (Kahan's "twice is enough").
        if after < 0.1 * before {
            for (i, v) in old.iter().enumerate() {
                let projection = dot(v, w);
                column[i] += projection;
                axpy(-projection, v, w);
            }
            after = norm(w);
        }
        let exhausted = after <= 1e-14 * T::COARSENESS * before;
        for i in 0..j {
            let (a, b) = (column[i], column[i + 1]);
            column[i] = cosines[i] * a + sines[i] * b;
            column[i + 1] = cosines[i] * b - sines[i] * a;
        }
        let below = if exhausted { 0.0 } else { after };
        let pivot = column[j].hypot(below);
        if pivot <= 1e-14 * T::COARSENESS * run.size || pivot == 0.0 {
            end = run.breakdown(BreakdownKind::Hessenberg);
            break;
        }
        (cosines[j], sines[j]) = (column[j] / pivot, below / pivot);
        column[j] = pivot;
        g[j + 1] = -sines[j] * g[j];
        g[j] *= cosines[j];
        columns += 1;
        if let Some(stop) = run.record(g[j + 1].abs()) {
            end = stop;
            break;
        }
        if exhausted {
            end = End::Exhausted;
            break;
        }
        scale(1.0 / after, w);
    }
    if matches!(end, End::Failed(StopReason::NonFinite { .. })) {
        return end;
    }
    // Back substitution in place: g becomes the coefficients of the basis.
    for i in (0..columns).rev() {
        let mut sum = g[i];
        for k in i + 1..columns {
            sum -= h[k * restart + i] * g[k];
        }
        g[i] = sum / h[i * restart + i];
    }
    if columns > 0 {
        let (first, others) = basis.split_at_mut(columns);
        let sum = &mut others[0];
        sum.fill(T::ZERO);
        for (v, &coefficient) in first.iter().zip(g.iter()) {
            axpy(coefficient, v, sum);
        }
        run.m.apply(sum, z);
        over_chunks([x], [&*z], &|[x], [z]| {
            for (x, z) in x.iter_mut().zip(z) {
                *x += *z;
            }
            []
        });
    }
    end
}
