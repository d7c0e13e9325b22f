//! [`Pool`]: where buffers come from and return to.
//!
//! Invariant: the pool never keeps hold of memory that is in use; only buffers do.

use super::block::Class;
use super::shelves::{PoolStats, Shelves};
use super::{Buffer, MemoryError, Pod};
use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A handle to a set of free memory blocks that buffers are cut from.
///
/// Cloning gives another handle to the same pool, and any thread may use it. Blocks come in sizes
/// 2ᵏ and 3·2ᵏ⁻¹ bytes from 64 up; the smallest free block that fits is taken, unless it is more
/// than twice the size that a new one would have. When the last handle goes, the free blocks are
/// freed; buffers still in use stay valid and free their memory themselves.
#[derive(Clone)]
pub struct Pool {
    shelves: Arc<Shelves>,
}

impl Pool {
    /// A new, empty pool.
    pub fn new() -> Pool {
        Pool {
            shelves: Arc::new(Shelves::new()),
        }
    }

    /// The pool of the process, for those who need no pool of their own.
    pub fn default_pool() -> &'static Pool {
        static DEFAULT: OnceLock<Pool> = OnceLock::new();
        DEFAULT.get_or_init(Pool::new)
    }

    /// A buffer whose elements are some numbers: zeros in fresh memory, whatever an earlier user
    /// left in reused memory. For results that are overwritten in full.
    ///
    /// # Panics
    /// If the size is more than any allocation can have, as `Vec` does; memory running out ends
    /// the process, as with `Vec`. See [`Pool::try_borrow_dirty`].
    pub fn borrow_dirty<T: Pod>(&self, len: usize) -> Buffer<T> {
        self.try_borrow_dirty(len).unwrap_or_else(fail)
    }

    /// A buffer of zeros.
    ///
    /// # Panics
    /// As [`Pool::borrow_dirty`].
    pub fn borrow_zeroed<T: Pod>(&self, len: usize) -> Buffer<T> {
        self.borrow_filled(len, T::ZERO)
    }

    /// A buffer whose elements all equal `value`.
    ///
    /// # Panics
    /// As [`Pool::borrow_dirty`].
    pub fn borrow_filled<T: Pod>(&self, len: usize, value: T) -> Buffer<T> {
        let mut buffer = self.borrow_dirty(len);
        buffer.fill(value);
        buffer
    }

    /// A buffer whose element `i` is `value(i)`.
    ///
    /// # Panics
    /// As [`Pool::borrow_dirty`].
    pub fn borrow_with<T: Pod>(&self, len: usize, mut value: impl FnMut(usize) -> T) -> Buffer<T> {
        let mut buffer = self.borrow_dirty(len);
        for (i, element) in buffer.iter_mut().enumerate() {
            *element = value(i);
        }
        buffer
    }

    /// A buffer with a copy of `values`.
    ///
    /// # Panics
    /// As [`Pool::borrow_dirty`].
    pub fn borrow_from<T: Pod>(&self, values: &[T]) -> Buffer<T> {
        let mut buffer = self.borrow_dirty(values.len());
        buffer.copy_from_slice(values);
        buffer
    }

    /// [`Pool::borrow_dirty`] for a length that comes from input.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`] if no allocation can have this size,
    /// [`MemoryError::OutOfMemory`] if the system refuses it.
    pub fn try_borrow_dirty<T: Pod>(&self, len: usize) -> Result<Buffer<T>, MemoryError> {
        let block = match class_of::<T>(len)? {
            Some(class) => Some(self.shelves.take(class)?),
            None => None,
        };
        Ok(Buffer::new(len, block, Arc::downgrade(&self.shelves)))
    }

    /// [`Pool::borrow_zeroed`] for a length that comes from input.
    ///
    /// # Errors
    /// As [`Pool::try_borrow_dirty`].
    pub fn try_borrow_zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>, MemoryError> {
        let mut buffer = self.try_borrow_dirty(len)?;
        buffer.fill(T::ZERO);
        Ok(buffer)
    }

    /// Frees all free blocks, and returns how many bytes they were.
    pub fn trim(&self) -> usize {
        self.shelves.trim()
    }

    /// What the pool holds now and has done so far.
    pub fn stats(&self) -> PoolStats {
        self.shelves.stats()
    }
}

impl Default for Pool {
    fn default() -> Self {
        Pool::new()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({})", self.stats())
    }
}

/// The class of a block for `len` elements; nothing if they take no memory.
pub(super) fn class_of<T: Pod>(len: usize) -> Result<Option<Class>, MemoryError> {
    let element_bytes = size_of::<T>();
    match len.checked_mul(element_bytes) {
        Some(0) => Ok(None),
        Some(bytes) => Class::fitting(bytes)
            .map(Some)
            .ok_or(MemoryError::TooLarge { len, element_bytes }),
        None => Err(MemoryError::TooLarge { len, element_bytes }),
    }
}

/// What `Vec` does about the same failures.
#[cold]
pub(super) fn fail<T>(error: MemoryError) -> T {
    match error {
        MemoryError::TooLarge { .. } => panic!("{error}"),
        MemoryError::OutOfMemory { bytes } => {
            let layout = Layout::from_size_align(bytes, super::ALIGNMENT);
            handle_alloc_error(layout.unwrap_or(Layout::new::<u8>()))
        }
    }
}
