//! A tree of boxes over numbered items, four to a node.
//!
//! Built top down by the surface area heuristic over bins (I. Wald, "On fast construction of
//! SAH-based bounding volume hierarchies", 2007), both halves of large parts in parallel, then
//! collapsed to four children a node. Invariant: nodes come before their children, so one
//! backward sweep refits the boxes; and the tree does not depend on the number of threads.

use std::ops::Range;

use fearless_simd::{Simd, f64x4, prelude::*};
use rayon::prelude::*;

use super::vector::{Bounds, Vec3};

/// Children of a node.
const WIDTH: usize = 4;

/// Most items in a leaf, and the places it takes.
pub(super) const LEAF: usize = 4;

/// Number at a place of a leaf that holds no item.
pub(super) const NONE: u32 = u32::MAX;

const BINS: usize = 16;

/// Below this depth parts are halved by count, which bounds the depth of the tree.
const SAH_DEPTH: usize = 40;

/// Parts of this many items are split by two tasks.
const PARALLEL: usize = 4096;

/// The boxes of four children, axis by axis; unused ones are empty boxes.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Node {
    lower: [[f64; WIDTH]; 3],
    upper: [[f64; WIDTH]; 3],
    /// A node, or the first item of a leaf.
    child: [u32; WIDTH],
    /// Items of a leaf; 0 for a node.
    count: [u32; WIDTH],
    /// Smallest number of an item in the child.
    least: [u32; WIDTH],
}

impl Node {
    const EMPTY: Node = Node {
        lower: [[f64::INFINITY; WIDTH]; 3],
        upper: [[f64::NEG_INFINITY; WIDTH]; 3],
        child: [0; WIDTH],
        count: [0; WIDTH],
        least: [NONE; WIDTH],
    };

    fn set(&mut self, lane: usize, bounds: &Bounds) {
        for d in 0..3 {
            self.lower[d][lane] = bounds.lower[d];
            self.upper[d][lane] = bounds.upper[d];
        }
    }

    fn bounds(&self) -> Bounds {
        let mut bounds = Bounds::EMPTY;
        for d in 0..3 {
            bounds.lower[d] = self.lower[d].iter().copied().fold(f64::INFINITY, f64::min);
            bounds.upper[d] = self.upper[d]
                .iter()
                .copied()
                .fold(f64::NEG_INFINITY, f64::max);
        }
        bounds
    }

    fn items(&self, lane: usize) -> Option<Range<usize>> {
        let first = self.child[lane] as usize;
        (self.count[lane] > 0).then(|| first..first + self.count[lane] as usize)
    }

    /// Squared distances from a point to the boxes.
    #[inline(always)]
    fn distances2<S: Simd>(&self, simd: S, x: Vec3) -> [f64; WIDTH] {
        let mut sum = f64x4::splat(simd, 0.0);
        for d in 0..3 {
            let x = f64x4::splat(simd, x[d]);
            let below = f64x4::load_array_ref(simd, &self.lower[d]) - x;
            let above = x - f64x4::load_array_ref(simd, &self.upper[d]);
            let gap = below.max(above).max(f64x4::splat(simd, 0.0));
            sum += gap * gap;
        }
        sum.into()
    }

    /// Which boxes hold the point when widened by `tolerance` times their largest extent.
    #[inline(always)]
    fn holds(&self, x: Vec3, tolerance: f64) -> [bool; WIDTH] {
        let mut size = [0.0f64; WIDTH];
        let mut gap = [f64::NEG_INFINITY; WIDTH];
        for d in 0..3 {
            for lane in 0..WIDTH {
                let (lower, upper) = (self.lower[d][lane], self.upper[d][lane]);
                size[lane] = size[lane].max(upper - lower);
                gap[lane] = gap[lane].max((lower - x[d]).max(x[d] - upper));
            }
        }
        std::array::from_fn(|lane| gap[lane] <= tolerance * size[lane])
    }
}

/// A child still to be visited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// Bits of the squared distance, which are in its order, with the last ones replaced by the
    /// child's lane; 0 for no child.
    key: u64,
    node: u32,
}

impl Visit {
    const LANE: u64 = WIDTH as u64 - 1;
    /// A bit that tells a child at distance 0 from none.
    const CHILD: u64 = WIDTH as u64;

    #[inline(always)]
    fn key(distance2: f64, lane: usize) -> u64 {
        distance2.to_bits() & !(Visit::CHILD | Visit::LANE) | Visit::CHILD | lane as u64
    }

    #[inline(always)]
    fn lane(self) -> usize {
        (self.key & Visit::LANE) as usize
    }

    /// The squared distance, at most a few units in the last place too small.
    #[inline(always)]
    fn distance2(self) -> f64 {
        f64::from_bits(self.key & !(Visit::CHILD | Visit::LANE))
    }
}

/// How far a search goes, and among which items.
pub(super) struct Limit {
    /// Largest squared distance; finite.
    pub distance2: f64,
    /// Only items with smaller numbers are still of interest.
    pub number: u32,
}

impl Limit {
    /// All items up to this squared distance.
    pub fn new(distance2: f64) -> Limit {
        Limit {
            distance2,
            number: NONE,
        }
    }
}

/// What is done at the leaves near a point. A trait and not a closure, for `visit` to be inlined
/// where the instruction set is known.
pub(super) trait Leaves {
    /// Looks at the items at these places; may lower the limit.
    fn visit<S: Simd>(&mut self, simd: S, items: Range<usize>, limit: &mut Limit);
}

/// The tree. Each leaf has [`LEAF`] places in `order`, which hold its items' numbers; the places
/// of a range are the first ones of a leaf.
#[derive(Clone, Debug)]
pub(super) struct Bvh {
    nodes: Vec<Node>,
    pub order: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Item {
    bounds: Bounds,
    number: u32,
}

impl Item {
    /// Twice the centre of the box.
    fn center(&self, axis: usize) -> f64 {
        self.bounds.lower[axis] + self.bounds.upper[axis]
    }
}

/// A node of the binary tree over `k` items, which lies in `2k − 1` slots: itself, the left
/// part, the right part.
#[derive(Clone, Copy)]
struct Binary {
    bounds: Bounds,
    /// Slots from this node to its right child; 0 for a leaf.
    right: u32,
    first: u32,
    count: u32,
}

impl Bvh {
    /// The tree over these boxes.
    pub fn build(boxes: Vec<Bounds>) -> Bvh {
        let mut items: Vec<Item> = boxes
            .into_par_iter()
            .enumerate()
            .map(|(i, bounds)| Item {
                bounds,
                number: i as u32,
            })
            .collect();
        let mut bvh = Bvh {
            nodes: Vec::with_capacity(items.len() / 4 + 1),
            order: Vec::with_capacity(2 * items.len()),
        };
        if !items.is_empty() {
            let empty = Binary {
                bounds: Bounds::EMPTY,
                right: 0,
                first: 0,
                count: 0,
            };
            let mut binary = vec![empty; 2 * items.len() - 1];
            split(&mut items, &mut binary, 0, 0);
            bvh.collapse(&binary, 0, &items);
        }
        bvh
    }

    /// New boxes for the same tree: `bounds` gives the box of an item by its number.
    pub fn refit<W: Default + Send>(&mut self, bounds: impl Fn(usize, &mut W) -> Bounds + Sync) {
        let order = &self.order;
        let nodes = self.nodes.par_iter_mut().with_min_len(256);
        nodes.for_each_init(W::default, |work, node| {
            for lane in 0..WIDTH {
                if let Some(items) = node.items(lane) {
                    let mut all = Bounds::EMPTY;
                    for &number in &order[items] {
                        all.join(&bounds(number as usize, work));
                    }
                    node.set(lane, &all);
                }
            }
        });
        for n in (0..self.nodes.len()).rev() {
            for lane in 0..WIDTH {
                let child = self.nodes[n].child[lane] as usize;
                if self.nodes[n].count[lane] == 0 && child > n {
                    let bounds = self.nodes[child].bounds();
                    self.nodes[n].set(lane, &bounds);
                }
            }
        }
    }

    /// Visits leaves from near to far while their boxes are within `limit` of `x`.
    #[inline(always)]
    pub fn nearest<S: Simd>(
        &self,
        simd: S,
        x: Vec3,
        limit: &mut Limit,
        stack: &mut Vec<Visit>,
        leaves: &mut impl Leaves,
    ) {
        stack.clear();
        if self.nodes.is_empty() {
            return;
        }
        let mut node = 0;
        loop {
            let n = &self.nodes[node as usize];
            let distances = n.distances2(simd, x);
            let mut keys = [0; WIDTH];
            let mut count = 0;
            for lane in 0..WIDTH {
                // Empty boxes are infinitely far, limits are finite. Without branches, which
                // could not be foreseen.
                let near = distances[lane] <= limit.distance2;
                let near = near & (n.least[lane] < limit.number);
                keys[lane] = if near {
                    Visit::key(distances[lane], lane)
                } else {
                    0
                };
                count += usize::from(near);
            }
            // The nearest comes to the top.
            sort_down(&mut keys);
            let base = stack.len();
            stack.extend_from_slice(&keys.map(|key| Visit { key, node }));
            stack.truncate(base + count);
            node = loop {
                let Some(next) = stack.pop() else { return };
                let (n, lane) = (&self.nodes[next.node as usize], next.lane());
                if next.distance2() > limit.distance2 || n.least[lane] >= limit.number {
                    continue;
                }
                match n.items(lane) {
                    Some(items) => leaves.visit(simd, items, limit),
                    None => break n.child[lane],
                }
            };
        }
    }

    /// Visits the leaves whose box, widened by `tolerance` times its largest extent, holds `x`.
    pub fn holding(
        &self,
        x: Vec3,
        tolerance: f64,
        stack: &mut Vec<Visit>,
        mut visit: impl FnMut(Range<usize>),
    ) {
        stack.clear();
        let mut next = (!self.nodes.is_empty()).then_some(0);
        while let Some(node) = next {
            let n = &self.nodes[node as usize];
            let holds = n.holds(x, tolerance);
            for lane in 0..WIDTH {
                if !holds[lane] {
                    continue;
                }
                match n.items(lane) {
                    Some(items) => visit(items),
                    None => stack.push(Visit {
                        key: Visit::key(0.0, lane),
                        node,
                    }),
                }
            }
            let child = |v: Visit| self.nodes[v.node as usize].child[v.lane()];
            next = stack.pop().map(child);
        }
    }

    /// Appends the binary node at `root` with its children's children; returns its number.
    fn collapse(&mut self, binary: &[Binary], root: usize, items: &[Item]) -> u32 {
        let mut children = [root; WIDTH];
        let mut count = 1;
        while count < WIDTH {
            // The largest child that is no leaf is replaced by its two.
            let area = |c: usize| binary[c].bounds.half_area();
            let open = (0..count).filter(|&i| binary[children[i]].right != 0);
            let Some(i) = open.max_by(|&a, &b| area(children[a]).total_cmp(&area(children[b])))
            else {
                break;
            };
            children[count] = children[i] + binary[children[i]].right as usize;
            children[i] += 1;
            count += 1;
        }
        let number = self.nodes.len();
        self.nodes.push(Node::EMPTY);
        for lane in 0..count {
            let child = &binary[children[lane]];
            let (target, items_here, least) = match child.right {
                0 => {
                    let first = self.order.len();
                    let range = child.first as usize..(child.first + child.count) as usize;
                    self.order.extend(items[range].iter().map(|i| i.number));
                    let least = self.order[first..].iter().copied().fold(NONE, u32::min);
                    self.order.resize(first + LEAF, NONE);
                    (first as u32, child.count, least)
                }
                _ => {
                    let below = self.collapse(binary, children[lane], items);
                    let least = self.nodes[below as usize].least;
                    (below, 0, least.into_iter().fold(NONE, u32::min))
                }
            };
            let node = &mut self.nodes[number];
            node.least[lane] = least;
            node.set(lane, &child.bounds);
            node.child[lane] = target;
            node.count[lane] = items_here;
        }
        number as u32
    }
}

/// Sorts from large to small, without branches.
#[inline(always)]
fn sort_down(keys: &mut [u64; WIDTH]) {
    for (a, b) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
        (keys[a], keys[b]) = (keys[a].max(keys[b]), keys[a].min(keys[b]));
    }
}

fn split(items: &mut [Item], nodes: &mut [Binary], first: usize, depth: usize) {
    let mut bounds = Bounds::EMPTY;
    items.iter().for_each(|item| bounds.join(&item.bounds));
    nodes[0] = Binary {
        bounds,
        right: 0,
        first: first as u32,
        count: items.len() as u32,
    };
    if items.len() <= LEAF {
        return;
    }
    let middle = if depth < SAH_DEPTH {
        by_area(items)
    } else {
        None
    };
    let middle = middle.unwrap_or_else(|| by_count(items));
    nodes[0].right = 2 * middle as u32;
    let (left, right) = items.split_at_mut(middle);
    let (left_nodes, right_nodes) = nodes[1..].split_at_mut(2 * middle - 1);
    let large = left.len() + right.len() >= PARALLEL;
    let mut a = || split(left, left_nodes, first, depth + 1);
    let mut b = || split(right, right_nodes, first + middle, depth + 1);
    if large {
        rayon::join(a, b);
    } else {
        a();
        b();
    }
}

/// Sorts the items into the two parts of the cheapest cut; `None` if all centres agree.
fn by_area(items: &mut [Item]) -> Option<usize> {
    let mut centers = Bounds::EMPTY;
    for item in items.iter() {
        centers.add(std::array::from_fn(|d| item.center(d)));
    }
    let scale: Vec3 = std::array::from_fn(|d| {
        let extent = centers.upper[d] - centers.lower[d];
        if extent > 0.0 {
            BINS as f64 / extent
        } else {
            0.0
        }
    });
    let bin = |item: &Item, axis: usize| {
        // Saturating, also for the infinite scale of a subnormal extent.
        (((item.center(axis) - centers.lower[axis]) * scale[axis]) as usize).min(BINS - 1)
    };
    let mut bins = [[(Bounds::EMPTY, 0usize); BINS]; 3];
    for item in items.iter() {
        for axis in 0..3 {
            let bin = &mut bins[axis][bin(item, axis)];
            bin.0.join(&item.bounds);
            bin.1 += 1;
        }
    }
    let mut best: Option<(f64, usize, usize)> = None;
    for axis in 0..3 {
        let mut right_cost = [0.0; BINS];
        let (mut bounds, mut count) = (Bounds::EMPTY, 0);
        for b in (1..BINS).rev() {
            bounds.join(&bins[axis][b].0);
            count += bins[axis][b].1;
            right_cost[b] = bounds.half_area() * count as f64;
        }
        (bounds, count) = (Bounds::EMPTY, 0);
        for b in 1..BINS {
            bounds.join(&bins[axis][b - 1].0);
            count += bins[axis][b - 1].1;
            let cost = bounds.half_area() * count as f64 + right_cost[b];
            let cuts = count > 0 && count < items.len();
            if cuts && best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, axis, b));
            }
        }
    }
    let (_, axis, cut) = best?;
    let mut middle = 0;
    for i in 0..items.len() {
        if bin(&items[i], axis) < cut {
            items.swap(i, middle);
            middle += 1;
        }
    }
    Some(middle)
}

/// Halves the items across the widest axis of their centres.
fn by_count(items: &mut [Item]) -> usize {
    let mut centers = Bounds::EMPTY;
    for item in items.iter() {
        centers.add(std::array::from_fn(|d| item.center(d)));
    }
    let extent = |d: usize| centers.upper[d] - centers.lower[d];
    let axis = (0..3).fold(0, |a, d| if extent(d) > extent(a) { d } else { a });
    let middle = items.len() / 2;
    items.select_nth_unstable_by(middle, |a, b| {
        let by_center = a.center(axis).total_cmp(&b.center(axis));
        by_center.then(a.number.cmp(&b.number))
    });
    middle
}
