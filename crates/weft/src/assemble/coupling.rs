//! Which nodes couple: patterns of matrices, places of local entries in them, and condensation
//! of hanging nodes.

use super::error::AssembleError;
use super::integral::{IntegralPlan, Parts};
use super::lanes::LANES;
use crate::form::FormError;
use crate::space::Space;
use crate::sparse::{BlockMatrix, Pattern};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows of a pattern that one task works on.
const ROWS: usize = 1024;

/// Which nodes are rows and columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nodes {
    /// All, hanging ones included.
    All,
    /// Those with degrees of freedom; hanging nodes stand for their masters.
    Free,
}

impl Nodes {
    fn count(self, space: &Space) -> usize {
        match self {
            Nodes::All => space.all_node_count(),
            Nodes::Free => space.node_count(),
        }
    }

    /// Append the nodes of a cell; masters of several hanging nodes more than once.
    fn of_cell(self, space: &Space, cell: u32, out: &mut Vec<u32>) {
        let nodes = space.cell_nodes(cell as usize);
        match self {
            Nodes::All => out.extend_from_slice(nodes),
            Nodes::Free => {
                out.extend(
                    nodes
                        .iter()
                        .flat_map(|&n| space.expansion(n).map(|(node, _)| node)),
                );
            }
        }
    }
}

/// Cells that couple with cells, as (row cell, column cell).
fn couples(integrals: &[IntegralPlan]) -> Vec<[u32; 2]> {
    let mut couples = Vec::new();
    for integral in integrals {
        let Parts::Matrix(parts) = &integral.parts else {
            continue;
        };
        for block in &integral.blocks {
            for lane in 0..block.count as usize {
                let cells = [block.inside[lane], block.outside[lane]];
                for part in parts {
                    couples.push([cells[part.test_side], cells[part.trial_side]]);
                }
            }
        }
    }
    couples.sort_unstable();
    couples.dedup();
    couples
}

/// Union of the couplings of all integrals.
pub(super) fn pattern(
    integrals: &[IntegralPlan],
    test: &Space,
    trial: &Space,
    nodes: Nodes,
) -> Result<Pattern, AssembleError> {
    let rows = nodes.count(test);
    let couples = couples(integrals);
    // For each row node the cells whose nodes are its columns, by counting.
    let mut starts = vec![0usize; rows + 1];
    let mut row_nodes = Vec::new();
    for &[row_cell, _] in &couples {
        row_nodes.clear();
        nodes.of_cell(test, row_cell, &mut row_nodes);
        for &node in &row_nodes {
            starts[node as usize + 1] += 1;
        }
    }
    for r in 0..rows {
        starts[r + 1] += starts[r];
    }
    let mut cells = vec![0u32; starts[rows]];
    let mut next = starts.clone();
    for &[row_cell, column_cell] in &couples {
        row_nodes.clear();
        nodes.of_cell(test, row_cell, &mut row_nodes);
        for &node in &row_nodes {
            cells[next[node as usize]] = column_cell;
            next[node as usize] += 1;
        }
    }
    drop(couples);
    let parts: Vec<(Vec<usize>, Vec<u32>)> = (0..rows.div_ceil(ROWS))
        .into_par_iter()
        .map(|part| {
            let mut counts = Vec::with_capacity(ROWS);
            let mut columns: Vec<u32> = Vec::new();
            let mut row: Vec<u32> = Vec::new();
            for r in part * ROWS..((part + 1) * ROWS).min(rows) {
                row.clear();
                for &cell in &cells[starts[r]..starts[r + 1]] {
                    nodes.of_cell(trial, cell, &mut row);
                }
                row.sort_unstable();
                row.dedup();
                counts.push(row.len());
                columns.extend_from_slice(&row);
            }
            (counts, columns)
        })
        .collect();
    let total: usize = parts.iter().map(|(_, c)| c.len()).sum();
    if total as u64 >= u32::MAX as u64 {
        return Err(AssembleError::TooManyEntries(total as u64));
    }
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut columns = Vec::with_capacity(total);
    offsets.push(0);
    for (counts, part) in parts {
        for count in counts {
            offsets.push(offsets[offsets.len() - 1] + count);
        }
        columns.extend(part);
    }
    Pattern::new(rows, nodes.count(trial), offsets, columns).map_err(|error| {
        // Rows are sorted and in range by construction.
        FormError::Domain(error.to_string()).into()
    })
}

/// Find the place of every local entry in the pattern.
pub(super) fn place(integral: &mut IntegralPlan, test: &Space, trial: &Space, pattern: &Pattern) {
    let blocks = &integral.blocks;
    let Parts::Matrix(parts) = &mut integral.parts else {
        return;
    };
    let (m, n) = (test.nodes_per_cell(), trial.nodes_per_cell());
    for part in parts {
        part.positions = vec![0; blocks.len() * m * n * LANES];
        part.positions
            .par_chunks_mut(m * n * LANES)
            .zip(blocks)
            .for_each(|(positions, block)| {
                for lane in 0..LANES {
                    let rows = test.cell_nodes(block.cells(part.test_side)[lane] as usize);
                    let columns = trial.cell_nodes(block.cells(part.trial_side)[lane] as usize);
                    // A cell with fewer functions than others adds zeros to entries of its own.
                    for (i, &row) in filled(rows, m).enumerate() {
                        let range = pattern.row_range(row as usize);
                        let known = &pattern.columns()[range.clone()];
                        for (j, column) in filled(columns, n).enumerate() {
                            let at = known.partition_point(|c| c < column);
                            positions[(i * n + j) * LANES + lane] = (range.start + at) as u32;
                        }
                    }
                }
            });
    }
}

/// `count` nodes: those of a cell, and the first of them for the rest.
fn filled(nodes: &[u32], count: usize) -> impl Iterator<Item = &u32> {
    let rest = nodes.first().into_iter().cycle();
    nodes.iter().chain(rest).take(count)
}

/// A matrix over all nodes, and how its entries add up to one over the nodes with degrees of
/// freedom: A = Cᵀ B C, C the values of all nodes in terms of the free ones.
pub(super) struct Condensation {
    /// B, in which the form is assembled.
    pub all: BlockMatrix,
    /// Range of `sources` for each entry of A.
    starts: Vec<usize>,
    /// Entry of B and its weight.
    sources: Vec<(u32, f64)>,
}

impl Condensation {
    pub fn new(all: BlockMatrix, test: &Space, trial: &Space, free: &Pattern) -> Condensation {
        let pattern = Arc::clone(all.pattern());
        let mut starts = vec![0usize; free.entry_count() + 1];
        let visit = |found: &mut dyn FnMut(usize, u32, f64)| {
            for row in 0..pattern.rows() {
                for from in pattern.row_range(row) {
                    let column = pattern.columns()[from];
                    for (i, wi) in test.expansion(row as u32) {
                        for (j, wj) in trial.expansion(column) {
                            // The pattern over free nodes holds every such pair.
                            if let Some(to) = free.position(i as usize, j as usize) {
                                found(to, from as u32, wi * wj);
                            }
                        }
                    }
                }
            }
        };
        visit(&mut |to, _, _| starts[to + 1] += 1);
        for k in 0..free.entry_count() {
            starts[k + 1] += starts[k];
        }
        let mut next = starts.clone();
        let mut sources = vec![(0, 0.0); starts[free.entry_count()]];
        visit(&mut |to, from, weight| {
            sources[next[to]] = (from, weight);
            next[to] += 1;
        });
        Condensation {
            all,
            starts,
            sources,
        }
    }

    /// Replace the values of A by Cᵀ B C; every entry adds its sources in one order.
    pub fn condense(&self, out: &mut [f64]) {
        let [r, c] = self.all.block();
        let size = r * c;
        let values = self.all.values();
        out.par_chunks_mut(size * ROWS)
            .enumerate()
            .for_each(|(part, out)| {
                for (k, out) in out.chunks_exact_mut(size).enumerate() {
                    let entry = part * ROWS + k;
                    out.fill(0.0);
                    for &(from, weight) in &self.sources[self.starts[entry]..self.starts[entry + 1]]
                    {
                        let from = &values[from as usize * size..(from as usize + 1) * size];
                        for (out, value) in out.iter_mut().zip(from) {
                            *out += weight * value;
                        }
                    }
                }
            });
    }
}
