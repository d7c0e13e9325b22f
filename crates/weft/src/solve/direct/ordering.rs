//! Fill-reducing order: nested dissection of the graph of blocks, and multipliers after what they act on.

use feral_metis::{CscPattern, metis_order};

use crate::sparse::BlockMatrix;

/// Below this many nodes minimum degree is as good and faster.
const SMALL: usize = 500;

/// Order of the scalar unknowns, first eliminated first: `order[new] = old`. `None` if the graph is
/// small, or too large for the indices of the dissection: the factorisation then orders by degree.
///
/// In a saddle point [A Bᵀ; B 0] multipliers have no diagonal entry, and no pivot before the unknowns that they
/// act on are eliminated. Once all of these are, the pivots of a definite A and a B of full rank are those of
/// −B A⁻¹ Bᵀ: never zero, and all of one sign (Vanderbei 1995). So each unknown without a diagonal entry is moved
/// behind its last neighbour that has one.
pub(super) fn order(a: &BlockMatrix) -> Option<Vec<usize>> {
    let multipliers = multipliers(a);
    let order = nested_dissection(a, multipliers.is_some());
    let Some(multipliers) = multipliers else {
        return order;
    };
    let mut order = order.unwrap_or_else(|| (0..a.rows()).collect());
    let mut place = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = new;
    }
    let [b, _] = a.block();
    let mut key = place.clone();
    for row in (0..a.rows()).filter(|&row| multipliers[row]) {
        let (columns, values) = a.row(row / b);
        for (&column, block) in columns.iter().zip(values.chunks_exact(b * b)) {
            for (j, v) in block[row % b * b..][..b].iter().enumerate() {
                let other = column as usize * b + j;
                if *v != 0.0 && !multipliers[other] {
                    key[row] = key[row].max(place[other]);
                }
            }
        }
    }
    order.sort_by_key(|&old| (key[old], multipliers[old], place[old]));
    Some(order)
}

/// Unknowns whose diagonal entry is zero; `None` if there are none.
fn multipliers(a: &BlockMatrix) -> Option<Vec<bool>> {
    let zero: Vec<bool> = a.diagonal().iter().map(|&d| d == 0.0).collect();
    zero.contains(&true).then_some(zero)
}

fn nested_dissection(a: &BlockMatrix, always: bool) -> Option<Vec<usize>> {
    let n = a.pattern().rows();
    let b = a.block()[0];
    if n < SMALL && !always {
        return None;
    }
    let (offsets, neighbours) = graph(a)?;
    let pattern = CscPattern::new(n, &offsets, &neighbours)?;
    let order = metis_order(&pattern).ok()?;
    let mut seen = vec![false; n];
    let mut scalars = Vec::with_capacity(n * b);
    for &node in &order {
        let node = usize::try_from(node).ok()?;
        // A faulty order must not reach the factorisation, which trusts it.
        if node >= n || std::mem::replace(&mut seen[node], true) {
            return None;
        }
        scalars.extend(node * b..(node + 1) * b);
    }
    (scalars.len() == n * b).then_some(scalars)
}

/// Neighbours of each node: A + Aᵀ without blocks of zeros and without the diagonal; sorted.
fn graph(a: &BlockMatrix) -> Option<(Vec<i32>, Vec<i32>)> {
    let pattern = a.pattern();
    let n = pattern.rows();
    let size = a.block()[0] * a.block()[1];
    i32::try_from(n).ok()?;
    i32::try_from(2 * pattern.entry_count()).ok()?;
    let (transposed, source) = pattern.transpose();
    let nonzero = |k: usize| {
        a.values()[k * size..(k + 1) * size]
            .iter()
            .any(|&v| v != 0.0)
    };
    let mut offsets = Vec::with_capacity(n + 1);
    let mut neighbours: Vec<i32> = Vec::with_capacity(pattern.entry_count());
    offsets.push(0);
    for row in 0..n {
        let start = neighbours.len();
        let ahead = pattern
            .row_range(row)
            .filter(|&k| nonzero(k))
            .map(|k| pattern.columns()[k]);
        let back = transposed.row_range(row).filter(|&k| nonzero(source[k]));
        let back = back.map(|k| transposed.columns()[k]);
        neighbours.extend(
            ahead
                .chain(back)
                .filter(|&c| c as usize != row)
                .map(|c| c as i32),
        );
        neighbours[start..].sort_unstable();
        let mut kept = start;
        for k in start..neighbours.len() {
            if k == start || neighbours[k] != neighbours[kept - 1] {
                neighbours[kept] = neighbours[k];
                kept += 1;
            }
        }
        neighbours.truncate(kept);
        offsets.push(neighbours.len() as i32);
    }
    Some((offsets, neighbours))
}
