//! [`Shelves`]: the free blocks of a pool by size class, and the counts kept with them.
//!
//! Invariants, under one lock: each class's list has room for all blocks of that class that the
//! pool knows, so that taking one back never allocates; and the counts always agree with the
//! lists. One lock is enough because it is held for a few instructions: buffers are borrowed for
//! each block of elements or each call, never for each element.

use super::MemoryError;
use super::block::{Block, CLASS_COUNT, Class};
use super::sync::{Mutex, MutexGuard};
use std::fmt;
use std::sync::PoisonError;

/// What a pool holds and has done; all values belong to one moment.
///
/// Bytes are those of whole blocks: from 64 bytes up, and (past 128 bytes) less than three times
/// what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes in buffers that are in use.
    pub live_bytes: usize,
    /// Bytes in free blocks, ready to be handed out.
    pub pooled_bytes: usize,
    /// The largest sum of live and pooled bytes there has been.
    pub peak_bytes: usize,
    /// Number of buffers in use that hold memory; empty buffers hold none, detached ones don't count.
    pub live_buffers: usize,
    /// Number of requests served from a free block.
    pub hits: u64,
    /// Number of requests that needed a new allocation.
    pub misses: u64,
}

impl fmt::Display for PoolStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes as f64 / (1024.0 * 1024.0);
        write!(
            f,
            "live {:.2} MiB in {} buffers, pooled {:.2} MiB, peak {:.2} MiB, {} hits, {} misses",
            mib(self.live_bytes),
            self.live_buffers,
            mib(self.pooled_bytes),
            mib(self.peak_bytes),
            self.hits,
            self.misses
        )
    }
}

/// The blocks of one size class.
#[derive(Default)]
struct Shelf {
    free: Vec<Block>,
    /// Blocks of this class in buffers that will come back.
    lent: usize,
}

struct State {
    shelves: [Shelf; CLASS_COUNT],
    stats: PoolStats,
}

/// The shared part of a pool.
pub(super) struct Shelves {
    state: Mutex<State>,
}

impl Shelves {
    pub fn new() -> Shelves {
        Shelves {
            state: Mutex::new(State {
                shelves: std::array::from_fn(|_| Shelf::default()),
                stats: PoolStats::default(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock and no step between two of its states can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out the smallest free block that fits, or a new one.
    pub fn take(&self, class: Class) -> Result<Block, MemoryError> {
        let mut state = self.lock();
        for candidate in class.up_to_double() {
            let shelf = &mut state.shelves[candidate.index()];
            if let Some(block) = shelf.free.pop() {
                shelf.lent += 1;
                let stats = &mut state.stats;
                stats.pooled_bytes -= candidate.bytes();
                stats.live_bytes += candidate.bytes();
                stats.live_buffers += 1;
                stats.hits += 1;
                return Ok(block);
            }
        }
        drop(state);

        let block = Block::allocate(class)?;
        let mut state = self.lock();
        let shelf = &mut state.shelves[class.index()];
        let known = shelf.lent + 1 + shelf.free.len();
        shelf
            .free
            .try_reserve(known - shelf.free.len())
            .map_err(|_| MemoryError::OutOfMemory {
                bytes: known * size_of::<Block>(),
            })?;
        shelf.lent += 1;
        let stats = &mut state.stats;
        stats.live_bytes += class.bytes();
        stats.live_buffers += 1;
        stats.misses += 1;
        stats.peak_bytes = stats.peak_bytes.max(stats.live_bytes + stats.pooled_bytes);
        Ok(block)
    }

    /// Takes a block back.
    pub fn put(&self, block: Block) {
        let bytes = block.class().bytes();
        let mut state = self.lock();
        let shelf = &mut state.shelves[block.class().index()];
        debug_assert!(shelf.free.len() < shelf.free.capacity());
        shelf.free.push(block);
        shelf.lent -= 1;
        let stats = &mut state.stats;
        stats.live_bytes -= bytes;
        stats.live_buffers -= 1;
        stats.pooled_bytes += bytes;
    }

    /// Forgets a block that was handed out: it will not come back.
    pub fn forget(&self, block: &Block) {
        let mut state = self.lock();
        state.shelves[block.class().index()].lent -= 1;
        state.stats.live_bytes -= block.class().bytes();
        state.stats.live_buffers -= 1;
    }

    /// Frees all free blocks; returns their bytes.
    pub fn trim(&self) -> usize {
        let mut state = self.lock();
        for shelf in &mut state.shelves {
            shelf.free.clear();
            shelf.free.shrink_to(shelf.lent);
        }
        std::mem::take(&mut state.stats.pooled_bytes)
    }

    pub fn stats(&self) -> PoolStats {
        self.lock().stats
    }
}
