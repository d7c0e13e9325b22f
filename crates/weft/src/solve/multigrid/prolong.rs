//! From near-null vectors and aggregates to a smoothed prolongation.
//!
//! Near-null vectors are stored as an array of scalar rows × vectors, row-major. Invariant: what the coarse
//! vectors prolong to without smoothing are the fine vectors, on every aggregate of full rank.

use std::sync::Arc;

use rayon::prelude::*;

use super::aggregate::{Aggregates, Couplings, NONE};
use crate::solve::SolveError;
use crate::sparse::{BlockMatrix, Pattern};

/// A column whose part orthogonal to those before it is smaller than this, of itself, counts as dependent.
const DEPENDENT: f64 = 1e-10;
/// Block rows of one parallel task.
const TASK_ROWS: usize = 512;

/// The tentative prolongation Q and the coarse near-null vectors R, with B = Q R.
pub(super) struct Tentative {
    /// Scalar rows × vectors.
    q: Vec<f64>,
    /// A square upper triangular matrix for each aggregate; the row of a dependent column is zero.
    pub(super) r: Vec<f64>,
}

impl Tentative {
    /// Orthonormal columns in each aggregate, by Gram–Schmidt.
    pub(super) fn new(aggregates: &Aggregates, vectors: &[f64], b: usize, k: usize) -> Tentative {
        let (offsets, members) = aggregates.members();
        let parts: Vec<(Vec<f64>, Vec<f64>)> = (0..aggregates.count)
            .into_par_iter()
            .map(|a| {
                let members = &members[offsets[a]..offsets[a + 1]];
                let rows = members.iter().flat_map(|&i| {
                    let first = i as usize * b * k;
                    &vectors[first..first + b * k]
                });
                orthonormal(rows.copied().collect(), k)
            })
            .collect();
        let mut q = vec![0.0; vectors.len()];
        for (a, (part, _)) in parts.iter().enumerate() {
            let members = &members[offsets[a]..offsets[a + 1]];
            for (&i, rows) in members.iter().zip(part.chunks_exact(b * k)) {
                q[i as usize * b * k..][..b * k].copy_from_slice(rows);
            }
        }
        let r = parts.into_iter().flat_map(|(_, r)| r).collect();
        Tentative { q, r }
    }

    /// P = (I − `omega` D⁻¹ Aᶠ) Q, where Aᶠ is A with strong couplings only.
    ///
    /// A weak coupling to a node acts as if that node belonged to the aggregate of the row, with the near-null
    /// vectors extended to it: for constants this is the usual addition to the diagonal, and in general
    /// Aᶠ B = A B, so near-null vectors stay in the range of P.
    pub(super) fn smoothed(
        &self,
        a: &BlockMatrix,
        inverses: &[f64],
        omega: f64,
        couplings: &Couplings,
        aggregates: &Aggregates,
        vectors: &[f64],
        k: usize,
    ) -> Result<BlockMatrix, SolveError> {
        let b = a.block()[0];
        let pattern = &**a.pattern();
        let n = pattern.rows();
        let of = &aggregates.of;
        let acts = |i: usize, position: usize| {
            let j = pattern.columns()[position] as usize;
            i == j || couplings.is_strong(position)
        };
        let starts: Vec<usize> = (0..n).step_by(TASK_ROWS).collect();
        let rows: Vec<(Vec<usize>, Vec<u32>)> = starts
            .into_par_iter()
            .map(|start| {
                let (mut counts, mut columns) = (Vec::new(), Vec::new());
                let mut row = Vec::new();
                for i in start..n.min(start + TASK_ROWS) {
                    row.clear();
                    if of[i] != NONE {
                        let near = pattern.row_range(i).filter(|&p| acts(i, p));
                        row.extend(near.map(|p| of[pattern.columns()[p] as usize]));
                        row.retain(|&c| c != NONE);
                        row.push(of[i]);
                        row.sort_unstable();
                        row.dedup();
                    }
                    counts.push(row.len());
                    columns.extend_from_slice(&row);
                }
                (counts, columns)
            })
            .collect();
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0);
        let mut end = 0;
        for count in rows.iter().flat_map(|(counts, _)| counts) {
            end += count;
            offsets.push(end);
        }
        let columns = rows.iter().flat_map(|(_, c)| c).copied().collect();
        let target = Pattern::new(n, aggregates.count, offsets, columns)?;
        let mut p = BlockMatrix::zeros(Arc::new(target), [b, k]);
        p.for_each_row_mut(|i, columns, values| {
            if columns.is_empty() {
                return;
            }
            let here = of[i];
            let place = |column: u32| columns.partition_point(|&c| c < column) * b * k;
            let mut extended = vec![0.0; b * k];
            for position in pattern.row_range(i) {
                let j = pattern.columns()[position] as usize;
                let block = &a.values()[a.value_range(position)];
                if of[j] == NONE || block.iter().all(|v| *v == 0.0) {
                    continue;
                }
                let strong = acts(i, position);
                let (column, rows) = if strong {
                    (of[j], &self.q[j * b * k..][..b * k])
                } else {
                    extended.copy_from_slice(&vectors[j * b * k..][..b * k]);
                    divide(&mut extended, &self.r[here as usize * k * k..][..k * k], k);
                    (here, &extended[..])
                };
                let sums = &mut values[place(column)..][..b * k];
                for (sums, entries) in sums.chunks_exact_mut(k).zip(block.chunks_exact(b)) {
                    for (v, row) in entries.iter().zip(rows.chunks_exact(k)) {
                        for (sum, q) in sums.iter_mut().zip(row) {
                            *sum += v * q;
                        }
                    }
                }
            }
            let inverse = &inverses[i * b * b..][..b * b];
            let mut product = vec![0.0; b * k];
            for sums in values.chunks_exact_mut(b * k) {
                product.fill(0.0);
                for (to, entries) in product.chunks_exact_mut(k).zip(inverse.chunks_exact(b)) {
                    for (v, row) in entries.iter().zip(sums.chunks_exact(k)) {
                        for (to, s) in to.iter_mut().zip(row) {
                            *to -= omega * v * s;
                        }
                    }
                }
                sums.copy_from_slice(&product);
            }
            let own = &mut values[place(here)..][..b * k];
            for (own, q) in own.iter_mut().zip(&self.q[i * b * k..]) {
                *own += q;
            }
        });
        Ok(p)
    }
}

/// Q and R of a matrix of `k` columns, row-major; a dependent column becomes zero, and so does its row of R.
fn orthonormal(mut q: Vec<f64>, k: usize) -> (Vec<f64>, Vec<f64>) {
    let dot = |q: &[f64], i: usize, j: usize| -> f64 {
        q.chunks_exact(k).map(|row| row[i] * row[j]).sum()
    };
    let mut r = vec![0.0; k * k];
    for j in 0..k {
        let before = dot(&q, j, j).sqrt();
        // Twice: once leaves an error as large as what cancelled.
        for _ in 0..2 {
            for i in 0..j {
                let along = dot(&q, i, j);
                r[i * k + j] += along;
                q.chunks_exact_mut(k)
                    .for_each(|row| row[j] -= along * row[i]);
            }
        }
        let length = dot(&q, j, j).sqrt();
        let kept = length > DEPENDENT * before;
        let factor = if kept { 1.0 / length } else { 0.0 };
        r[j * k + j] = if kept { length } else { 0.0 };
        q.chunks_exact_mut(k).for_each(|row| row[j] *= factor);
    }
    (q, r)
}

/// X with X R = `rows`; columns where R has a zero on the diagonal become zero.
fn divide(rows: &mut [f64], r: &[f64], k: usize) {
    for row in rows.chunks_exact_mut(k) {
        for j in 0..k {
            let sum: f64 = (0..j).map(|i| row[i] * r[i * k + j]).sum();
            let diagonal = r[j * k + j];
            row[j] = if diagonal == 0.0 {
                0.0
            } else {
                (row[j] - sum) / diagonal
            };
        }
    }
}
