//! Structural rank: can every row be given a column of its own with a nonzero entry?
//!
//! If not the matrix is singular whatever its values, and LU would find no pivot. Augmenting paths with
//! look-ahead (Duff 1981, the algorithm known as MC21).

use super::scalar::Scalar;

const NONE: usize = usize::MAX;

/// A row that can't be matched, or `None` if all can.
pub(super) fn unmatched_row(a: &Scalar) -> Option<usize> {
    let n = a.size();
    let mut row_of = vec![NONE; n];
    // Next entry of each row to be looked at: for free columns, and for the search.
    let mut free = a.offsets[..n].to_vec();
    let mut next = vec![0usize; n];
    let mut seen = vec![NONE; n];
    let mut path: Vec<usize> = Vec::new();
    let nonzero = |k: usize| a.values[k] != 0.0;
    // The diagonal first: usually that is all.
    let mut matched = vec![false; n];
    for row in 0..n {
        if let Ok(k) = a.row(row).binary_search(&row)
            && nonzero(a.offsets[row] + k)
        {
            row_of[row] = row;
            matched[row] = true;
        }
    }
    for start in 0..n {
        if matched[start] {
            continue;
        }
        path.clear();
        path.push(start);
        next[start] = a.offsets[start];
        let mut found = false;
        'search: while let Some(&row) = path.last() {
            let end = a.offsets[row + 1];
            while free[row] < end {
                let k = free[row];
                free[row] += 1;
                if nonzero(k) && row_of[a.columns[k]] == NONE {
                    // Shift the columns along the path.
                    let mut column = a.columns[k];
                    while let Some(row) = path.pop() {
                        row_of[column] = row;
                        if let Some(&before) = path.last() {
                            column = a.columns[next[before] - 1];
                        }
                    }
                    found = true;
                    break 'search;
                }
            }
            while next[row] < end {
                let k = next[row];
                next[row] += 1;
                let column = a.columns[k];
                if nonzero(k) && seen[column] != start {
                    seen[column] = start;
                    let owner = row_of[column];
                    next[owner] = a.offsets[owner];
                    path.push(owner);
                    continue 'search;
                }
            }
            path.pop();
        }
        if !found {
            return Some(start);
        }
    }
    None
}
