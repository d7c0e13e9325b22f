//! [`graph_parts`]: dividing the cells of a geometry evenly, with few sides between parts.
//!
//! Recursive bisection of the dual graph (cells, joined by sides). A bisection starts from the best
//! of several plane cuts, along each coordinate axis and along the principal axis of the cells'
//! centres, and is then refined by the method of Fiduccia and Mattheyses (A linear-time
//! heuristic for improving network partitions, DAC 1982). Halves are divided at the same time;
//! every choice has one outcome, so the parts do not depend on the number of threads.

mod refine;

use super::PartitionError;
use crate::geometry::{Geometry, Snapshot};
use refine::refine;

/// A part of the dual graph with numbers of its own.
struct Graph {
    /// Cell of each vertex.
    cells: Vec<u32>,
    centres: Vec<[f64; 3]>,
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    fn len(&self) -> usize {
        self.cells.len()
    }

    fn neighbours(&self, v: usize) -> &[u32] {
        &self.neighbours[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    fn of(geometry: &dyn Geometry) -> Graph {
        let Snapshot { topology, map, .. } = geometry.snapshot();
        let n = topology.cell_count();
        let mut offsets = vec![0u32; n + 1];
        let sides = topology.interior_sides();
        for &side in sides {
            for cell in topology.side_cells(side as usize) {
                offsets[cell as usize + 1] += 1;
            }
        }
        for v in 0..n {
            offsets[v + 1] += offsets[v];
        }
        let mut next = offsets.clone();
        let mut neighbours = vec![0; offsets[n] as usize];
        for &side in sides {
            let [a, b] = topology.side_cells(side as usize);
            for [from, to] in [[a, b], [b, a]] {
                neighbours[next[from as usize] as usize] = to;
                next[from as usize] += 1;
            }
        }
        let per_cell = map.cell_nodes.len() / n.max(1);
        let centre = |nodes: &[u32]| {
            let mut x = [0.0; 3];
            for &node in nodes {
                (0..3).for_each(|d| x[d] += map.nodes[node as usize][d]);
            }
            x.map(|c| c / per_cell as f64)
        };
        Graph {
            cells: (0..n as u32).collect(),
            centres: map
                .cell_nodes
                .chunks_exact(per_cell.max(1))
                .map(centre)
                .collect(),
            offsets,
            neighbours,
        }
    }

    /// The two halves of a bisection, without the edges between them.
    fn halves(&self, upper: &[bool]) -> [Graph; 2] {
        let mut number = vec![0u32; self.len()];
        let mut counts = [0u32; 2];
        for (v, &half) in upper.iter().enumerate() {
            number[v] = counts[usize::from(half)];
            counts[usize::from(half)] += 1;
        }
        [false, true].map(|half| {
            let n = counts[usize::from(half)] as usize;
            let mut graph = Graph {
                cells: Vec::with_capacity(n),
                centres: Vec::with_capacity(n),
                offsets: Vec::with_capacity(n + 1),
                neighbours: Vec::new(),
            };
            graph.offsets.push(0);
            for v in (0..self.len()).filter(|&v| upper[v] == half) {
                graph.cells.push(self.cells[v]);
                graph.centres.push(self.centres[v]);
                let kept = self
                    .neighbours(v)
                    .iter()
                    .filter(|&&w| upper[w as usize] == half);
                graph.neighbours.extend(kept.map(|&w| number[w as usize]));
                graph.offsets.push(graph.neighbours.len() as u32);
            }
            graph
        })
    }

    /// Edges between the halves.
    fn cut(&self, upper: &[bool]) -> usize {
        let crossing = |v: usize| {
            self.neighbours(v)
                .iter()
                .filter(|&&w| upper[v] && !upper[w as usize])
                .count()
        };
        (0..self.len()).map(crossing).sum()
    }

    /// Direction in which the centres are spread most.
    fn principal_axis(&self) -> [f64; 3] {
        let n = self.len().max(1) as f64;
        let mut mean = [0.0; 3];
        for x in &self.centres {
            (0..3).for_each(|d| mean[d] += x[d] / n);
        }
        let mut spread = [[0.0; 3]; 3];
        for x in &self.centres {
            for i in 0..3 {
                for j in 0..3 {
                    spread[i][j] += (x[i] - mean[i]) * (x[j] - mean[j]);
                }
            }
        }
        // Power iteration; a direction near enough will do.
        let mut axis = [1.0, 0.9, 0.8];
        for _ in 0..50 {
            let next: [f64; 3] =
                std::array::from_fn(|i| (0..3).map(|j| spread[i][j] * axis[j]).sum());
            let norm = next.iter().map(|c| c * c).sum::<f64>().sqrt();
            if !(norm.is_finite() && norm > 0.0) {
                break;
            }
            axis = next.map(|c| c / norm);
        }
        axis
    }

    /// The plane cut across `axis` with `lower` vertices below.
    fn plane_cut(&self, axis: [f64; 3], lower: usize) -> Vec<bool> {
        let mut order: Vec<(f64, u32)> = self
            .centres
            .iter()
            .zip(0..)
            .map(|(x, v)| ((0..3).map(|d| x[d] * axis[d]).sum(), v))
            .collect();
        order.select_nth_unstable_by(lower, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut upper = vec![true; self.len()];
        for &(_, v) in &order[..lower] {
            upper[v as usize] = false;
        }
        upper
    }
}

/// Graphs smaller than this are divided on one thread.
const SERIAL: usize = 4096;

/// The part of each vertex, counted from 0.
fn divide(graph: &Graph, parts: u32) -> Vec<u32> {
    let n = graph.len();
    if parts == 1 || n == 0 {
        return vec![0; n];
    }
    let below = parts / 2;
    let lower = (n as u64 * u64::from(below) / u64::from(parts)) as usize;
    // One in a hundred cells of a part, so that none of the parts below can end up empty.
    let tolerance = n / parts as usize / 100;
    let mut axes = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    axes.push(graph.principal_axis());
    let mut upper = axes
        .into_iter()
        .map(|axis| graph.plane_cut(axis, lower))
        .min_by_key(|upper| graph.cut(upper))
        .unwrap_or_default();
    refine(graph, &mut upper, lower, tolerance);
    let halves = graph.halves(&upper);
    let [first, second] = [(&halves[0], below), (&halves[1], parts - below)];
    let work = |(graph, parts): (&Graph, u32)| divide(graph, parts);
    let [first, second] = if n < SERIAL {
        [work(first), work(second)]
    } else {
        <[Vec<u32>; 2]>::from(rayon::join(|| work(first), || work(second)))
    };
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let part = |&upper: &bool| match upper {
        false => first.next(),
        true => second.next().map(|part| part + below),
    };
    upper.iter().filter_map(part).collect()
}

/// A part in `0..parts` for each cell of a geometry, with few sides between parts.
///
/// Parts hold ⌊n/parts⌋ or ⌈n/parts⌉ of n cells, give or take 1 in 100 for each bisection on the
/// way, and none is empty unless there are fewer cells than parts. The answer is the same on every
/// run and for any number of threads.
///
/// # Errors
/// [`NoParts`](PartitionError::NoParts).
pub fn graph_parts(geometry: &dyn Geometry, parts: u32) -> Result<Vec<u32>, PartitionError> {
    if parts == 0 {
        return Err(PartitionError::NoParts);
    }
    Ok(divide(&Graph::of(geometry), parts))
}
