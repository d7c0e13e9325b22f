//! Whether factors are right: a probe system, and errors measured row by row.

use crate::solve::SolveError;
use crate::sparse::BlockMatrix;

/// |A| |x| / |b| of the probe beyond which no digit of a solution is sure.
pub(super) const GROWTH_LIMIT: f64 = 1e14;
/// Backward error of the probe beyond which the factors are wrong.
pub(super) const PROBE_LIMIT: f64 = 1e-8;

/// A right-hand side with, in each row, the size of that row, times 0.5 to 1.5: it excites constants,
/// and everything else a little, whatever the units of the rows.
pub(super) struct Probe {
    pub(super) rhs: Vec<f64>,
}

impl Probe {
    /// # Errors
    /// If a row holds only zeros.
    pub(super) fn new(a: &BlockMatrix) -> Result<Probe, SolveError> {
        let mut rhs = vec![0.0; a.rows()];
        each_row(a, |row, entries| {
            rhs[row] = entries.fold(0.0, |m: f64, (_, v)| m.max(v.abs()));
        });
        let mut state = 1u64;
        for (row, size) in rhs.iter_mut().enumerate() {
            if *size == 0.0 {
                let b = a.block()[0];
                let (node, component) = (row / b, row % b);
                let reason = format!("the row of node {node}, component {component}, is empty");
                return Err(SolveError::Singular { reason });
            }
            // Knuth's MMIX generator; its upper bits are random enough here.
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            *size *= 0.5 + (state >> 11) as f64 / (1u64 << 53) as f64;
        }
        Ok(Probe { rhs })
    }
}

/// Largest |r_i| / ((|A| |x|)_i + |b_i|): the relative change of A and b for which x is exact (Oettli &
/// Prager 1964).
pub(super) fn backward_error(a: &BlockMatrix, b: &[f64], x: &[f64], residual: &[f64]) -> f64 {
    let mut error = 0.0f64;
    each_row(a, |row, entries| {
        let size = entries.fold(b[row].abs(), |s, (column, v)| s + (v * x[column]).abs());
        let this = if residual[row] == 0.0 {
            0.0
        } else {
            residual[row].abs() / size
        };
        // NaN must not be lost by max.
        error = if this.is_nan() {
            f64::INFINITY
        } else {
            error.max(this)
        };
    });
    error
}

/// Largest (|A| |x|)_i / |b_i|.
pub(super) fn growth(a: &BlockMatrix, b: &[f64], x: &[f64]) -> f64 {
    let mut growth = 0.0f64;
    each_row(a, |row, entries| {
        let size = entries.fold(0.0, |s: f64, (column, v)| s + (v * x[column]).abs());
        let this = size / b[row].abs();
        growth = if this.is_nan() {
            f64::INFINITY
        } else {
            growth.max(this)
        };
    });
    growth
}

/// Calls `f(row, entries)` for each scalar row; entries are pairs of column and value.
fn each_row(a: &BlockMatrix, mut f: impl FnMut(usize, &mut dyn Iterator<Item = (usize, f64)>)) {
    let [r, c] = a.block();
    for node in 0..a.pattern().rows() {
        let (columns, values) = a.row(node);
        for i in 0..r {
            let mut entries = columns.iter().enumerate().flat_map(|(k, &column)| {
                let start = (k * r + i) * c;
                (0..c).map(move |j| (column as usize * c + j, values[start + j]))
            });
            f(node * r + i, &mut entries);
        }
    }
}
