//! Adding local results to global arrays from many threads.
//!
//! Blocks are gathered into chunks, and chunks that touch a common row get different colours.
//! All chunks of a colour run at once, colours one after another, so every entry receives its
//! contributions in the same order for any number of threads, and no two threads write one
//! entry at the same time.

use super::domain::Block;
use crate::space::Space;
use std::marker::PhantomData;
use std::ops::Range;

/// Blocks in a chunk, at most.
const MAX_CHUNK: usize = 32;
/// Chunks wanted, so that many threads find work in every colour.
const WANTED_CHUNKS: usize = 256;

/// Chunks of blocks by colour.
pub(crate) type Colours = Vec<Vec<Range<usize>>>;

fn chunks(blocks: usize) -> impl Iterator<Item = Range<usize>> {
    let size = (blocks / WANTED_CHUNKS).clamp(1, MAX_CHUNK);
    (0..blocks.div_ceil(size)).map(move |k| k * size..((k + 1) * size).min(blocks))
}

/// One colour for work whose results do not overlap.
pub(crate) fn uncoloured(blocks: usize) -> Colours {
    vec![chunks(blocks).collect()]
}

/// Colour the chunks so that chunks of one colour share no node of `rows`.
pub(crate) fn colour(blocks: &[Block], rows: &Space, sides: usize) -> Colours {
    let mut used = vec![0u64; rows.node_count()];
    let mut colours: Colours = Vec::new();
    for chunk in chunks(blocks.len()) {
        let cells = || {
            blocks[chunk.clone()].iter().flat_map(move |b| {
                (0..sides).flat_map(move |s| b.cells(s)[..b.count as usize].iter())
            })
        };
        let taken = cells()
            .flat_map(|&c| rows.cell_nodes(c as usize))
            .fold(0, |mask, &node| mask | used[node as usize]);
        let free = taken.trailing_ones() as usize;
        if free >= 64 {
            // Out of bits: a colour of its own, which is always safe.
            colours.resize_with(colours.len().max(64), Vec::new);
            colours.push(vec![chunk]);
            continue;
        }
        for &cell in cells() {
            for &node in rows.cell_nodes(cell as usize) {
                used[node as usize] |= 1 << free;
            }
        }
        colours.resize_with(colours.len().max(free + 1), Vec::new);
        colours[free].push(chunk);
    }
    colours.retain(|c| !c.is_empty());
    colours
}

/// A mutable array that several threads write disjoint parts of.
pub(crate) struct Shared<'a> {
    start: *mut f64,
    len: usize,
    owner: PhantomData<&'a mut [f64]>,
}

// SAFETY: the array outlives the handle (lifetime `'a`), and the one way to reach its elements
// is `part`, whose caller promises that parts in use at one time do not overlap.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    pub fn new(array: &'a mut [f64]) -> Shared<'a> {
        Shared {
            start: array.as_mut_ptr(),
            len: array.len(),
            owner: PhantomData,
        }
    }

    /// `len` elements from `at`.
    ///
    /// # Safety
    /// No other part in use at the same time, on any thread, may overlap this one. Chunks of
    /// one colour give that for the rows of their nodes.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, at: usize, len: usize) -> &mut [f64] {
        assert!(
            at <= self.len && len <= self.len - at,
            "part outside the array"
        );
        // SAFETY: in bounds by the assertion; exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}
