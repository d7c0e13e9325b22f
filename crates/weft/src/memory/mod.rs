//! Temporaries with an owner: [`Pool`] hands out [`Buffer`]s, aligned arrays of plain numbers that
//! go back to the pool the moment they are dropped.
//!
//! ```
//! use weft::memory::Pool;
//!
//! let pool = Pool::new();
//! for _step in 0..1000 {
//!     let mut loads = pool.borrow_zeroed::<f64>(3000);
//!     loads[7] += 1.0;
//! } // `loads` returns to the pool here, in every path
//! assert_eq!(pool.stats().misses, 1); // one allocation served all steps
//! assert_eq!(pool.stats().live_bytes, 0);
//! ```
//!
//! **Invariant.** A block of memory has one owner at any time: a buffer, or the free lists of the
//! pool. The pool holds free blocks only, a buffer holds only a weak reference to its pool, and
//! elements are plain numbers ([`Pod`]) that can hold no reference at all. So no cycle can be
//! written, nothing waits for a collector, and a buffer may outlive its pool (it then frees its
//! memory itself).
//!
//! A slice of a buffer cannot outlive it:
//!
//! ```compile_fail,E0505
//! # use weft::memory::Pool;
//! let buffer = Pool::new().borrow_zeroed::<f64>(8);
//! let slice: &[f64] = &buffer;
//! drop(buffer);
//! println!("{}", slice[0]);
//! ```
//!
//! and a buffer cannot hold another one, or anything else that is not a number:
//!
//! ```compile_fail,E0277
//! # use weft::memory::{Buffer, Pool};
//! let cycle = Pool::new().borrow_zeroed::<Buffer<f64>>(1);
//! ```
//!
//! **Errors.** `borrow_*` and [`Buffer::grow`] are for scratch whose size the program has
//! established; they treat an impossible size or exhausted memory as `Vec` does. Where the length
//! comes from input (a file header, a user's number), use `try_borrow_*` and [`Buffer::try_grow`],
//! which return a [`MemoryError`].

mod block;
mod buffer;
mod pod;
mod pool;
mod shelves;

pub use block::ALIGNMENT;
pub use buffer::Buffer;
pub use pod::Pod;
pub use pool::Pool;
pub use shelves::PoolStats;

/// The lock of the free lists, replaced by loom's in its model (`tests/loom_memory.rs`).
mod sync {
    #[cfg(loom)]
    pub(super) use loom::sync::{Mutex, MutexGuard};
    #[cfg(not(loom))]
    pub(super) use std::sync::{Mutex, MutexGuard};
}

/// Why a buffer could not be handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The size in bytes is more than any allocation can have.
    #[error(
        "a buffer of {len} elements of {element_bytes} bytes is larger than any allocation can be \
         (at most {} bytes)",
        isize::MAX
    )]
    TooLarge {
        /// Number of elements asked for.
        len: usize,
        /// Size of one element in bytes.
        element_bytes: usize,
    },
    /// The system has no memory for it.
    #[error("the system refused {bytes} bytes of memory for a buffer")]
    OutOfMemory {
        /// Size of the block asked for, in bytes.
        bytes: usize,
    },
}
