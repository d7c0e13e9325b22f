//! Sets of lattice points in leaves of 8³: keys, bit masks, an index for each point.
//!
//! Cells, vertices and sides of a voxel grid are such sets. [`Gather`] collects points in any
//! order, [`LeafSet`] holds them in their final order: leaves along the Morton curve of their
//! coordinates, and in a leaf x, then y, then z, the last fastest. The one invariant: a finished
//! set depends on its points only, not on the order or the number of gathers they came from.

use rayon::prelude::*;

use super::table::Table;
use crate::geometry::morton::spread;

/// Cells of a grid have coordinates from `-LIMIT` to `LIMIT - 1`; one leaf beyond stays free,
/// so that neighbours and vertices of any cell have a key.
pub(super) const LIMIT: i32 = (1 << 23) - 8;

/// Leaf coordinates are stored in offset binary with 21 bits, which keeps their order.
const OFFSET: i32 = 1 << 20;

/// Bit `y·8 + z` of word `x` is the point `(x, y, z)` of the leaf.
pub(super) type Mask = [u64; 8];

pub(super) const EMPTY: Mask = [0; 8];

/// Place of an axis in a key.
const SHIFT: [u32; 3] = [42, 21, 0];

/// Key of the leaf that holds a point.
#[inline]
pub(super) fn key_of(point: [i32; 3]) -> u64 {
    let part = |a: usize| (((point[a] >> 3) + OFFSET) as u64) << SHIFT[a];
    part(0) | part(1) | part(2)
}

/// Position of a point in its leaf, 0 to 511.
#[inline]
pub(super) fn bit_of([x, y, z]: [i32; 3]) -> usize {
    (((x & 7) << 6) | ((y & 7) << 3) | (z & 7)) as usize
}

/// Lowest point of a leaf.
#[inline]
pub(super) fn corner(key: u64) -> [i32; 3] {
    SHIFT.map(|s| (((key >> s) & 0x1f_ffff) as i32 - OFFSET) * 8)
}

/// Point number `bit` of the leaf with this lowest point.
#[inline]
pub(super) fn point(corner: [i32; 3], bit: usize) -> [i32; 3] {
    [
        corner[0] + (bit >> 6) as i32,
        corner[1] + (bit >> 3 & 7) as i32,
        corner[2] + (bit & 7) as i32,
    ]
}

/// Key of the leaf `step` leaves further along each axis.
#[inline]
pub(super) fn neighbour(key: u64, step: [i32; 3]) -> u64 {
    (0..3).fold(key, |k, a| {
        k.wrapping_add((step[a] as i64 as u64).wrapping_shl(SHIFT[a]))
    })
}

/// Place of a leaf on the Morton curve, x in the highest bit of each group of three.
pub(super) fn morton(key: u64) -> u64 {
    spread(key >> 42) << 2 | spread(key >> 21) << 1 | spread(key)
}

/// The positions of the points of a mask, ascending.
pub(super) fn bits(mask: &Mask) -> impl Iterator<Item = usize> + Clone + '_ {
    mask.iter().enumerate().flat_map(|(word, &bits)| {
        let mut rest = bits;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                word * 64 + bit
            })
        })
    })
}

/// A mask moved by one point along an axis: what stays in the leaf, and what enters the next.
fn shifted(mask: &Mask, axis: usize, up: bool) -> (Mask, Mask) {
    let mut carry = EMPTY;
    let stay = match (axis, up) {
        (0, true) => {
            carry[0] = mask[7];
            std::array::from_fn(|x| if x == 0 { 0 } else { mask[x - 1] })
        }
        (0, false) => {
            carry[7] = mask[0];
            std::array::from_fn(|x| if x == 7 { 0 } else { mask[x + 1] })
        }
        (1, true) => {
            carry = mask.map(|w| w >> 56);
            mask.map(|w| w << 8)
        }
        (1, false) => {
            carry = mask.map(|w| w << 56);
            mask.map(|w| w >> 8)
        }
        (_, true) => {
            carry = mask.map(|w| w >> 7 & 0x0101_0101_0101_0101);
            mask.map(|w| w << 1 & 0xfefe_fefe_fefe_fefe)
        }
        (_, false) => {
            carry = mask.map(|w| w << 7 & 0x8080_8080_8080_8080);
            mask.map(|w| w >> 1 & 0x7f7f_7f7f_7f7f_7f7f)
        }
    };
    (stay, carry)
}

/// Points collected in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Gather {
    table: Table,
    keys: Vec<u64>,
    masks: Vec<Mask>,
    /// Leaf found last: points come in clusters.
    last: Option<(u64, usize)>,
}

impl Gather {
    pub fn new() -> Gather {
        let mut gather = Gather::default();
        gather.clear();
        gather
    }

    /// Forgets the points and keeps the memory.
    pub fn clear(&mut self) {
        self.table.reset(self.keys.len());
        self.keys.clear();
        self.masks.clear();
        self.last = None;
    }

    #[inline]
    fn leaf(&mut self, key: u64) -> &mut Mask {
        if let Some((last, place)) = self.last
            && last == key
        {
            return &mut self.masks[place];
        }
        let place = match self.table.probe(&self.keys, key) {
            Ok(place) => place,
            Err(slot) => self.enter(key, slot),
        };
        self.last = Some((key, place));
        &mut self.masks[place]
    }

    #[cold]
    fn enter(&mut self, key: u64, slot: usize) -> usize {
        let place = self.keys.len();
        self.keys.push(key);
        self.masks.push(EMPTY);
        if !self.table.has_room(self.keys.len()) {
            // Room for twice as many, or each new key would fill the table anew.
            self.table.fill(&self.keys, 2 * self.keys.len());
        } else {
            self.table.enter(slot, place);
        }
        place
    }

    /// Adds a point.
    #[inline]
    pub fn insert(&mut self, point: [i32; 3]) {
        let bit = bit_of(point);
        self.leaf(key_of(point))[bit >> 6] |= 1 << (bit & 63);
    }

    /// Adds all points of `mask` in leaf `key`.
    pub fn add(&mut self, key: u64, mask: &Mask) {
        if *mask != EMPTY {
            let leaf = self.leaf(key);
            for (to, from) in leaf.iter_mut().zip(mask) {
                *to |= from;
            }
        }
    }
}

/// Where a leaf of a gather is: its place on the Morton curve, the gather, its number there.
pub(super) type Entry = (u64, u32, u32);

/// Entries from which sorting in parallel pays.
const PARALLEL: usize = 1 << 14;

/// Points in their final order, each with an index.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafSet {
    keys: Vec<u64>,
    morton: Vec<u64>,
    masks: Vec<Mask>,
    /// Index of the first point of each leaf, and the number of points.
    first: Vec<u32>,
    /// Points of the leaf in the words before each.
    before: Vec<[u16; 8]>,
    table: Table,
}

impl LeafSet {
    /// The set of the points of one gather.
    pub fn from_gather(gather: &Gather) -> LeafSet {
        let mut set = LeafSet::default();
        set.fill(1, |_| gather, &mut Vec::new());
        set.finish();
        set
    }

    /// Replaces keys and masks by those of `count` gathers; [`finish`](Self::finish) must follow.
    pub fn fill<'g>(
        &mut self,
        count: usize,
        gather: impl Fn(usize) -> &'g Gather,
        order: &mut Vec<Entry>,
    ) {
        order.clear();
        for number in 0..count {
            let keys = gather(number).keys.iter().enumerate();
            order.extend(keys.map(|(place, &key)| (morton(key), number as u32, place as u32)));
        }
        if order.len() < PARALLEL {
            order.sort_unstable();
        } else {
            order.par_sort_unstable();
        }
        self.keys.clear();
        self.morton.clear();
        self.masks.clear();
        for run in order.chunk_by(|a, b| a.0 == b.0) {
            let (code, number, place) = run[0];
            self.keys.push(gather(number as usize).keys[place as usize]);
            self.morton.push(code);
            let mut mask = EMPTY;
            for &(_, number, place) in run {
                let other = &gather(number as usize).masks[place as usize];
                mask.iter_mut()
                    .zip(other)
                    .for_each(|(to, from)| *to |= from);
            }
            self.masks.push(mask);
        }
    }

    /// Number of points in the masks, known before [`finish`](Self::finish).
    pub fn tally(&self) -> u64 {
        let count = |mask: &Mask| mask.iter().map(|w| w.count_ones() as u64).sum::<u64>();
        self.masks.iter().map(count).sum()
    }

    /// Whether the points are the same.
    pub fn same_points(&self, other: &LeafSet) -> bool {
        self.keys == other.keys && self.masks == other.masks
    }

    /// Counts the points and enters the keys. There must be fewer than 2³² points.
    pub fn finish(&mut self) {
        self.first.clear();
        self.before.clear();
        let mut total = 0;
        self.first.push(0);
        for mask in &self.masks {
            let mut count = 0;
            self.before.push(mask.map(|word| {
                let before = count;
                count += word.count_ones() as u16;
                before
            }));
            total += count as u32;
            self.first.push(total);
        }
        self.table.fill(&self.keys, self.keys.len());
    }

    pub fn count(&self) -> usize {
        self.first.last().map_or(0, |&n| n as usize)
    }

    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub fn morton(&self) -> &[u64] {
        &self.morton
    }

    pub fn mask(&self, leaf: usize) -> &Mask {
        &self.masks[leaf]
    }

    /// The points, in order.
    pub fn points(&self) -> impl Iterator<Item = [i32; 3]> + Clone + '_ {
        let leaves = self.keys.iter().zip(&self.masks);
        leaves.flat_map(|(&key, mask)| bits(mask).map(move |bit| point(corner(key), bit)))
    }

    #[inline]
    pub fn find_leaf(&self, key: u64) -> Option<usize> {
        self.table.probe(&self.keys, key).ok()
    }

    /// Index of point `bit` of a leaf, if it is in the set.
    #[inline]
    pub fn rank(&self, leaf: usize, bit: usize) -> Option<u32> {
        let (word, bit) = (bit >> 6, 1u64 << (bit & 63));
        let bits = self.masks[leaf][word];
        let below = (bits & (bit - 1)).count_ones();
        (bits & bit != 0).then(|| self.first[leaf] + self.before[leaf][word] as u32 + below)
    }

    /// Index of a point, if it is in the set. The point must have a key (see [`LIMIT`]).
    #[inline]
    pub fn find(&self, point: [i32; 3]) -> Option<u32> {
        self.rank(self.find_leaf(key_of(point))?, bit_of(point))
    }

    /// The set with copies of itself moved by one point up, and down if `both`, along an axis.
    pub fn grown(&self, axis: usize, both: bool) -> LeafSet {
        let mut gather = Gather::new();
        for (&key, mask) in self.keys.iter().zip(&self.masks) {
            gather.add(key, mask);
            for up in [true, false] {
                if up || both {
                    let (stay, carry) = shifted(mask, axis, up);
                    let mut step = [0; 3];
                    step[axis] = if up { 1 } else { -1 };
                    gather.add(key, &stay);
                    gather.add(neighbour(key, step), &carry);
                }
            }
        }
        LeafSet::from_gather(&gather)
    }

    /// Calls `f(leaf, part)` for each leaf on rayon's pool; `part` are the leaf's items in
    /// `out`, which holds `n` for each point.
    pub fn for_leaves<T: Send>(
        &self,
        n: usize,
        out: &mut [T],
        f: &(impl Fn(usize, &mut [T]) + Sync),
    ) {
        self.leaves_between(0, self.keys.len(), n, out, f);
    }

    fn leaves_between<T: Send>(
        &self,
        begin: usize,
        end: usize,
        n: usize,
        out: &mut [T],
        f: &(impl Fn(usize, &mut [T]) + Sync),
    ) {
        const AT_ONCE: usize = 32;
        if end - begin <= AT_ONCE {
            let mut rest = out;
            for leaf in begin..end {
                let count = (self.first[leaf + 1] - self.first[leaf]) as usize * n;
                let (part, tail) = rest.split_at_mut(count);
                f(leaf, part);
                rest = tail;
            }
            return;
        }
        let middle = begin.midpoint(end);
        let split = (self.first[middle] - self.first[begin]) as usize * n;
        let (low, high) = out.split_at_mut(split);
        rayon::join(
            || self.leaves_between(begin, middle, n, low, f),
            || self.leaves_between(middle, end, n, high, f),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_keep_the_order_of_coordinates_around_zero() {
        for x in [
            -LIMIT - 8,
            -LIMIT,
            -9,
            -8,
            -1,
            0,
            7,
            8,
            LIMIT - 1,
            LIMIT + 7,
        ] {
            for axis in 0..3 {
                let mut p = [0; 3];
                p[axis] = x;
                assert_eq!(point(corner(key_of(p)), bit_of(p)), p);
                if x < LIMIT {
                    let mut next = p;
                    next[axis] += 8;
                    let mut step = [0; 3];
                    step[axis] = 1;
                    assert_eq!(neighbour(key_of(p), step), key_of(next));
                    step[axis] = -1;
                    assert_eq!(neighbour(key_of(next), step), key_of(p));
                    assert!(morton(key_of(p)) < morton(key_of(next)));
                }
            }
        }
    }

    #[test]
    fn growing_is_the_union_with_moved_copies() {
        let mut gather = Gather::new();
        let mut seed = 7u64;
        let mut points = BTreeSet::new();
        for _ in 0..2000 {
            let p = std::array::from_fn(|_| {
                seed = seed
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (seed >> 33) as i32 % 23 - 11
            });
            points.insert(p);
            gather.insert(p);
        }
        let set = LeafSet::from_gather(&gather);
        assert_eq!(set.count(), points.len());
        for axis in 0..3 {
            for both in [false, true] {
                let mut expected = points.clone();
                for &p in &points {
                    for step in [1, -1] {
                        if step == 1 || both {
                            let mut q = p;
                            q[axis] += step;
                            expected.insert(q);
                        }
                    }
                }
                let grown = set.grown(axis, both);
                assert_eq!(grown.count(), expected.len());
                assert!(expected.iter().all(|&p| grown.find(p).is_some()));
            }
        }
    }
}
