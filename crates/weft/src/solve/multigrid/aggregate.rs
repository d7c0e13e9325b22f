//! Which nodes are strongly coupled, and groups of them that become the nodes of the next level.
//!
//! Serial where order matters and in the order of the nodes, so that the groups are always the same.

use rayon::prelude::*;

use crate::sparse::{BlockMatrix, Pattern};

/// Of a node without an aggregate: nothing couples it to others.
pub(super) const NONE: u32 = u32::MAX;

/// Couplings of a matrix, entry by entry of its pattern.
pub(super) struct Couplings {
    /// Size of each coupling; 0 if it is weak or on the diagonal.
    strong: Vec<f64>,
    /// Whether a node has any coupling, strong or weak.
    coupled: Vec<bool>,
}

impl Couplings {
    /// A coupling c of nodes i and j is strong if c² ≥ `threshold`² m_i m_j, where m is the largest of a node.
    ///
    /// That is the symmetric measure of Vaněk, Mandel and Brezina with the largest coupling in place of the
    /// diagonal, which for cells with many neighbours is much larger than any coupling.
    pub(super) fn new(a: &BlockMatrix, threshold: f64) -> Couplings {
        let pattern = &**a.pattern();
        let n = pattern.rows();
        let (largest, coupled): (Vec<f64>, Vec<bool>) = (0..n)
            .into_par_iter()
            .map(|i| {
                let others = pattern.row_range(i).filter(|&k| column(pattern, k) != i);
                others.fold((0.0, false), |(largest, coupled), k| {
                    let block = &a.values()[a.value_range(k)];
                    let any = coupled || block.iter().any(|v| *v != 0.0);
                    (size(block).max(largest), any)
                })
            })
            .unzip();
        let strong = (0..n)
            .into_par_iter()
            .flat_map_iter(|i| {
                let largest = &largest;
                pattern.row_range(i).map(move |k| {
                    let j = column(pattern, k);
                    let size = size(&a.values()[a.value_range(k)]);
                    // A product of roots: squares of large entries would overflow.
                    let limit = threshold * largest[i].sqrt() * largest[j].sqrt();
                    if i != j && size > 0.0 && size >= limit {
                        size
                    } else {
                        0.0
                    }
                })
            })
            .collect();
        Couplings { strong, coupled }
    }

    /// Whether the coupling at `position` of the pattern is strong.
    pub(super) fn is_strong(&self, position: usize) -> bool {
        self.strong[position] > 0.0
    }

    pub(super) fn coupled_count(&self) -> usize {
        self.coupled.iter().filter(|c| **c).count()
    }
}

fn column(pattern: &Pattern, position: usize) -> usize {
    pattern.columns()[position] as usize
}

/// Size of a coupling. Errors that relaxation leaves vary little along negative couplings; positive ones of
/// scalars don't count.
fn size(block: &[f64]) -> f64 {
    match block {
        [a] => (-a).max(0.0),
        _ => {
            let largest = block.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            if largest == 0.0 {
                return 0.0;
            }
            let sum: f64 = block.iter().map(|v| (v / largest).powi(2)).sum();
            largest * sum.sqrt()
        }
    }
}

/// A partition of the coupled nodes.
pub(super) struct Aggregates {
    /// Aggregate of each node, or [`NONE`].
    pub(super) of: Vec<u32>,
    /// Number of aggregates.
    pub(super) count: usize,
}

impl Aggregates {
    /// Nodes with all their strong neighbours where these are free; then what is left joins the aggregate that it
    /// is coupled to most; then the rest among themselves (Vaněk, Mandel, Brezina 1996, algorithm 5.1).
    pub(super) fn new(pattern: &Pattern, couplings: &Couplings) -> Aggregates {
        let n = pattern.rows();
        let neighbours = |i: usize| {
            let strong = pattern
                .row_range(i)
                .filter(|&k| couplings.is_strong(k) && couplings.coupled[column(pattern, k)]);
            strong.map(|k| (column(pattern, k), couplings.strong[k]))
        };
        let mut of = vec![NONE; n];
        let mut count = 0;
        let free = |of: &[u32], i: usize| couplings.coupled[i] && of[i] == NONE;
        for i in 0..n {
            if free(&of, i) && neighbours(i).all(|(j, _)| of[j] == NONE) {
                of[i] = count as u32;
                neighbours(i).for_each(|(j, _)| of[j] = count as u32);
                count += 1;
            }
        }
        let cores = of.clone();
        for i in 0..n {
            if free(&of, i) {
                let mut best = 0.0;
                for (j, size) in neighbours(i) {
                    if cores[j] != NONE && size > best {
                        best = size;
                        of[i] = cores[j];
                    }
                }
            }
        }
        for i in 0..n {
            if free(&of, i) {
                of[i] = count as u32;
                for (j, _) in neighbours(i) {
                    if of[j] == NONE {
                        of[j] = count as u32;
                    }
                }
                count += 1;
            }
        }
        Aggregates { of, count }
    }

    /// Nodes sorted by aggregate, and where those of each begin.
    pub(super) fn members(&self) -> (Vec<usize>, Vec<u32>) {
        let mut offsets = vec![0; self.count + 1];
        let grouped = || self.of.iter().enumerate().filter(|(_, a)| **a != NONE);
        for (_, &a) in grouped() {
            offsets[a as usize + 1] += 1;
        }
        for a in 0..self.count {
            offsets[a + 1] += offsets[a];
        }
        let mut next = offsets.clone();
        let mut members = vec![0; offsets[self.count]];
        for (i, &a) in grouped() {
            members[next[a as usize]] = i as u32;
            next[a as usize] += 1;
        }
        (offsets, members)
    }
}
