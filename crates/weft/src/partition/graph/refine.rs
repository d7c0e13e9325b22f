//! Refinement of a bisection by single moves with look-ahead (Fiduccia and Mattheyses).
//!
//! A pass moves each vertex at most once, always one of largest gain that the balance admits, even
//! at a loss, and then goes back to the best state on the way.

use super::Graph;

const NONE: u32 = u32::MAX;
/// Passes at most; the first few do nearly all of the work.
const PASSES: usize = 8;

/// Vertices of both halves by gain, each list last in, first out.
struct Buckets {
    /// Half × gain → first vertex.
    heads: [Vec<u32>; 2],
    next: Vec<u32>,
    before: Vec<u32>,
    /// An upper bound of the largest gain in each half, as an index of `heads`.
    top: [usize; 2],
    degree: i32,
}

impl Buckets {
    fn new(vertices: usize, degree: i32) -> Buckets {
        let heads = || vec![NONE; 2 * degree as usize + 1];
        Buckets {
            heads: [heads(), heads()],
            next: vec![NONE; vertices],
            before: vec![NONE; vertices],
            top: [0; 2],
            degree,
        }
    }

    fn clear(&mut self) {
        self.heads.iter_mut().for_each(|heads| heads.fill(NONE));
        self.top = [0; 2];
    }

    fn insert(&mut self, half: usize, v: u32, gain: i32) {
        let at = (gain + self.degree) as usize;
        let first = self.heads[half][at];
        self.next[v as usize] = first;
        self.before[v as usize] = NONE;
        if first != NONE {
            self.before[first as usize] = v;
        }
        self.heads[half][at] = v;
        self.top[half] = self.top[half].max(at);
    }

    fn remove(&mut self, half: usize, v: u32, gain: i32) {
        let (next, before) = (self.next[v as usize], self.before[v as usize]);
        if before == NONE {
            self.heads[half][(gain + self.degree) as usize] = next;
        } else {
            self.next[before as usize] = next;
        }
        if next != NONE {
            self.before[next as usize] = before;
        }
    }

    /// A vertex of largest gain.
    fn best(&mut self, half: usize) -> Option<(u32, i32)> {
        loop {
            let at = self.top[half];
            let v = self.heads[half][at];
            if v != NONE {
                return Some((v, at as i32 - self.degree));
            }
            if at == 0 {
                return None;
            }
            self.top[half] -= 1;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Outside,
    Listed,
    Moved,
}

/// Improves a bisection. The lower half is to have `lower` vertices, give or take `tolerance`.
pub(super) fn refine(graph: &Graph, upper: &mut [bool], lower: usize, tolerance: usize) {
    let n = graph.len();
    if lower == 0 || lower >= n {
        return;
    }
    let degree = (0..n).map(|v| graph.neighbours(v).len()).max().unwrap_or(0) as i32;
    let mut buckets = Buckets::new(n, degree);
    let mut gains = vec![0i32; n];
    let mut places = vec![Place::Outside; n];
    let mut moves: Vec<u32> = Vec::new();
    let patience = 64 + n / 50;
    let tolerance = tolerance as i64;
    // Cells in the lower half above the target.
    let mut excess = upper.iter().filter(|&&u| !u).count() as i64 - lower as i64;
    for _ in 0..PASSES {
        buckets.clear();
        moves.clear();
        places.fill(Place::Outside);
        for v in 0..n {
            let across = graph
                .neighbours(v)
                .iter()
                .filter(|&&w| upper[w as usize] != upper[v])
                .count() as i32;
            gains[v] = 2 * across - graph.neighbours(v).len() as i32;
            if across > 0 {
                buckets.insert(usize::from(upper[v]), v as u32, gains[v]);
                places[v] = Place::Listed;
            }
        }
        let start = excess;
        let (mut gained, mut best, mut best_excess, mut kept) = (0i64, 0i64, start.abs(), 0);
        loop {
            // From the lower half (0) or the upper (1); one vertex past the tolerance is allowed
            // on the way.
            let candidate = [0, 1]
                .into_iter()
                .filter(|&half| {
                    let after = excess + if half == 0 { -1 } else { 1 };
                    after.abs() <= (tolerance + 1).max(excess.abs() - 1)
                })
                .filter_map(|half| buckets.best(half).map(|(v, gain)| (half, v, gain)))
                .max_by_key(|&(half, _, gain)| {
                    let balancing = (half == 0) == (excess > 0);
                    (gain, balancing, half == 0)
                });
            let Some((half, v, gain)) = candidate else {
                break;
            };
            buckets.remove(half, v, gain);
            places[v as usize] = Place::Moved;
            upper[v as usize] = half == 0;
            excess += if half == 0 { -1 } else { 1 };
            gained += i64::from(gain);
            moves.push(v);
            for &w in graph.neighbours(v as usize) {
                let i = w as usize;
                let change = if upper[i] == upper[v as usize] { -2 } else { 2 };
                match places[i] {
                    Place::Moved => continue,
                    Place::Listed => buckets.remove(usize::from(upper[i]), w, gains[i]),
                    Place::Outside => places[i] = Place::Listed,
                }
                gains[i] += change;
                buckets.insert(usize::from(upper[i]), w, gains[i]);
            }
            let balanced = excess.abs() <= tolerance;
            if balanced && (gained > best || (gained == best && excess.abs() < best_excess)) {
                (best, best_excess, kept) = (gained, excess.abs(), moves.len());
            }
            if moves.len() > kept + patience {
                break;
            }
        }
        for &v in &moves[kept..] {
            let half = &mut upper[v as usize];
            excess += if *half { 1 } else { -1 };
            *half = !*half;
        }
        if best == 0 {
            break;
        }
    }
}
