//! Nodes of conforming spaces: which carry degrees of freedom, and what the others hang on.
//!
//! Of all cells whose closure holds a node, the coarsest decides: if it is a node of that cell
//! it is free, otherwise the cell's polynomial gives its value. Two cells meet in a whole face,
//! edge or vertex of the smaller one, all nodes of which lie in the larger, so both have the
//! same trace there. No grading is needed.

use rayon::prelude::*;

use super::cells::{Cells, distinct};
use super::morton::{decode, encode};
use crate::geometry::{Hanging, NodeNumbering};

/// Weights smaller than this are rounding.
const NEGLIGIBLE: f64 = 1e-14;

/// A lattice point in voxels and, row by row, the fraction of a voxel in `1/degree`.
type Place = (u64, u32);

fn place(point: [i64; 3], degree: i64) -> Place {
    let voxel = point.map(|c| c.div_euclid(degree) as i32);
    let rest = point.map(|c| c.rem_euclid(degree) as u32);
    let p = degree as u32;
    (encode(voxel), (rest[0] * p + rest[1]) * p + rest[2])
}

fn point(place: Place, degree: i64) -> [i64; 3] {
    let voxel = decode(place.0);
    let (rest, p) = (i64::from(place.1), degree);
    let rest = [rest / (p * p), rest / p % p, rest % p];
    std::array::from_fn(|d| i64::from(voxel[d]) * p + rest[d])
}

/// The coarsest cell whose closure holds the place; of equal ones the first.
fn coarsest(cells: &Cells, place: Place, degree: i64) -> usize {
    let voxel = decode(place.0);
    let p = point(place, degree);
    let back: [i32; 3] = std::array::from_fn(|d| i32::from(p[d] % degree == 0));
    let mut best: Option<usize> = None;
    for corner in 0..8 {
        let step: [i32; 3] = std::array::from_fn(|d| corner >> (2 - d) & 1);
        if (0..3).any(|d| step[d] > back[d]) {
            continue;
        }
        let near = std::array::from_fn(|d| voxel[d] - step[d]);
        // The upper corner of the last cells is in range, a voxel there is in no cell.
        let Some(cell) = cells.find(near) else {
            continue;
        };
        let rank = |cell: usize| (cells.level(cell), std::cmp::Reverse(cell));
        if best.is_none_or(|best| rank(cell) > rank(best)) {
            best = Some(cell);
        }
    }
    match best {
        Some(cell) => cell,
        None => unreachable!("a node lies in the cell it came from"),
    }
}

/// Values at `t` of the Lagrange polynomials on the nodes 0, 1, …, p.
fn lagrange(p: usize, t: f64) -> Vec<f64> {
    (0..=p)
        .map(|i| {
            (0..=p)
                .filter(|&j| j != i)
                .map(|j| (t - j as f64) / (i as f64 - j as f64))
                .product()
        })
        .collect()
}

/// Numbers the nodes of degree `p`; beyond 32-bit numbers only the count is filled in.
pub fn number(cells: &Cells, p: usize) -> NodeNumbering {
    let degree = p as i64;
    let n = (p + 1).pow(3);
    let keys: Vec<Place> = (0..cells.len())
        .into_par_iter()
        .with_min_len(256)
        .flat_map_iter(|cell| {
            let (origin, level) = (cells.origin(cell), cells.level(cell));
            (0..n).map(move |node| {
                let local = [
                    node / ((p + 1) * (p + 1)),
                    node / (p + 1) % (p + 1),
                    node % (p + 1),
                ];
                let at = |d: usize| i64::from(origin[d]) * degree + ((local[d] as i64) << level);
                place(std::array::from_fn(at), degree)
            })
        })
        .collect();
    let (places, slots) = distinct(keys);
    if places.len() >= u32::MAX as usize {
        return NodeNumbering {
            count: places.len(),
            ..NodeNumbering::default()
        };
    }

    // Which cell decides about each node, and whether the node hangs on it.
    let owners: Vec<(u32, bool)> = places
        .par_iter()
        .with_min_len(1024)
        .map(|&place| {
            let owner = coarsest(cells, place, degree);
            let (origin, level) = (cells.origin(owner), cells.level(owner));
            let p = point(place, degree);
            let mask = (1i64 << level) - 1;
            let hangs = (0..3).any(|d| (p[d] - i64::from(origin[d]) * degree) & mask != 0);
            (owner as u32, hangs)
        })
        .collect();
    let hang_count = owners.iter().filter(|o| o.1).count();
    let count = places.len() - hang_count;
    let mut numbers = Vec::with_capacity(places.len());
    let (mut free, mut hung) = (0, count as u32);
    // Hanging nodes by level of the cell they hang on.
    let mut by_level: [Vec<u32>; 32] = Default::default();
    for (index, &(owner, hangs)) in owners.iter().enumerate() {
        let next = if hangs { &mut hung } else { &mut free };
        numbers.push(*next);
        *next += 1;
        if hangs {
            by_level[usize::from(cells.level(owner as usize))].push(index as u32);
        }
    }

    // Masters of a node hang, if at all, on still coarser cells, which are done before.
    let mut done: Vec<Vec<(u32, f64)>> = vec![Vec::new(); hang_count];
    for group in by_level.iter().rev() {
        let expand = |&index: &u32| {
            let owner = owners[index as usize].0 as usize;
            let (origin, level) = (cells.origin(owner), cells.level(owner));
            let at = point(places[index as usize], degree);
            let [x, y, z]: [Vec<f64>; 3] = std::array::from_fn(|d| {
                let steps = at[d] - i64::from(origin[d]) * degree;
                lagrange(p, steps as f64 / (1i64 << level) as f64)
            });
            let mut masters: Vec<(u32, f64)> = Vec::new();
            for local in 0..n {
                let weight = x[local / ((p + 1) * (p + 1))]
                    * y[local / (p + 1) % (p + 1)]
                    * z[local % (p + 1)];
                if weight.abs() < NEGLIGIBLE {
                    continue;
                }
                let number = numbers[slots[owner * n + local] as usize];
                match (number as usize).checked_sub(count) {
                    None => masters.push((number, weight)),
                    Some(hanging) => {
                        masters.extend(done[hanging].iter().map(|&(m, w)| (m, weight * w)))
                    }
                }
            }
            // Stable, so that equal masters are summed in one order.
            masters.sort_by_key(|m| m.0);
            masters.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
            masters.retain(|m| m.1.abs() >= NEGLIGIBLE);
            masters
        };
        let expanded: Vec<_> = group.par_iter().with_min_len(64).map(expand).collect();
        for (&index, masters) in group.iter().zip(expanded) {
            done[numbers[index as usize] as usize - count] = masters;
        }
    }
    let mut hanging = Hanging::default();
    for masters in done {
        hanging.push(masters);
    }
    let cell_nodes = slots
        .par_iter()
        .with_min_len(4096)
        .map(|&s| numbers[s as usize]);
    NodeNumbering {
        count,
        cell_nodes: cell_nodes.collect(),
        hanging,
    }
}
