//! [`Buffer`]: an aligned array of plain numbers on loan from a pool.
//!
//! Invariant: `start` points to `len` initialised elements inside `block`, which no other buffer
//! and no free list holds; with no block, they take no bytes.

use super::block::{ALIGNMENT, Block};
use super::pool::{class_of, fail};
use super::shelves::Shelves;
use super::{MemoryError, Pod};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::Weak;

/// An array of plain numbers, aligned to [`ALIGNMENT`] bytes, that goes back to its pool on drop.
///
/// It is used as the slice `[T]` that it derefs to.
pub struct Buffer<T: Pod> {
    start: NonNull<T>,
    len: usize,
    block: Option<Block>,
    pool: Weak<Shelves>,
}

// SAFETY: a buffer owns its elements, which are plain numbers.
unsafe impl<T: Pod> Send for Buffer<T> {}
// SAFETY: as above; shared access only reads them.
unsafe impl<T: Pod> Sync for Buffer<T> {}

impl<T: Pod> Buffer<T> {
    /// A buffer on `block`, which must have room for `len` elements; none if they take no bytes.
    pub(super) fn new(len: usize, block: Option<Block>, pool: Weak<Shelves>) -> Self {
        const {
            assert!(align_of::<T>() <= ALIGNMENT);
        }
        debug_assert!(len * size_of::<T>() <= block.as_ref().map_or(0, |b| b.class().bytes()));
        Buffer {
            start: block
                .as_ref()
                .map_or(aligned_dangling(), Block::start)
                .cast(),
            len,
            block,
            pool,
        }
    }

    /// Lengthens the buffer to `len` elements and keeps the present ones. The new elements are
    /// some numbers, as in [`Pool::borrow_dirty`](super::Pool::borrow_dirty). A `len` that is not
    /// larger changes nothing.
    ///
    /// The memory stays where it is if its block has room; else it comes from the pool, or from
    /// the system if the pool is gone or the buffer detached.
    ///
    /// # Panics
    /// As [`Pool::borrow_dirty`](super::Pool::borrow_dirty). See [`Buffer::try_grow`].
    pub fn grow(&mut self, len: usize) {
        self.try_grow(len).unwrap_or_else(fail)
    }

    /// [`Buffer::grow`] for a length that comes from input. After an error the buffer is as it was.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`] if no allocation can have this size,
    /// [`MemoryError::OutOfMemory`] if the system refuses it.
    pub fn try_grow(&mut self, len: usize) -> Result<(), MemoryError> {
        if len <= self.len {
            return Ok(());
        }
        let Some(class) = class_of::<T>(len)? else {
            self.len = len;
            return Ok(());
        };
        let present = self.block.as_ref().map_or(0, |b| b.class().bytes());
        if class.bytes() > present {
            let pool = self.pool.upgrade();
            let block = match &pool {
                Some(pool) => pool.take(class)?,
                None => Block::allocate(class)?,
            };
            let mut larger = Buffer::<T>::new(self.len, Some(block), self.pool.clone());
            larger.copy_from_slice(self);
            *self = larger;
        }
        self.len = len;
        Ok(())
    }

    /// Takes the memory out of the pool's hands for good: it is freed when the buffer is dropped.
    pub fn detach(mut self) -> Buffer<T> {
        if let (Some(block), Some(pool)) = (&self.block, self.pool.upgrade()) {
            pool.forget(block);
        }
        self.pool = Weak::new();
        self
    }
}

/// A pointer for elements that take no bytes, aligned like all others.
fn aligned_dangling() -> NonNull<u8> {
    #[repr(align(64))]
    struct Line;
    const {
        assert!(align_of::<Line>() == ALIGNMENT);
    }
    NonNull::<Line>::dangling().cast()
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `start` is aligned and points to `len` initialised elements (of no bytes if
        // there is no block) that live as long as `self`; every bit pattern is a `T`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take()
            && let Some(pool) = self.pool.upgrade()
        {
            pool.put(block);
        }
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
