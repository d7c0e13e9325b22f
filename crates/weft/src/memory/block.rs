//! [`Block`]: one allocation, and the [`Class`]es of sizes that allocations come in.
//!
//! Invariant: a block's `class.bytes()` bytes are initialised and belong to it alone; it frees
//! them when dropped.

use super::MemoryError;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Every buffer starts at a multiple of this many bytes: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;

/// What a block asks of the allocator. Asking for [`ALIGNMENT`] directly would make the standard
/// allocator clear the memory by hand; up to this alignment it takes `calloc`, which gets pages
/// from the system that are zero already and are not touched until used.
const ALLOCATOR_ALIGNMENT: usize = 16;

/// Room to move the start of the block up to [`ALIGNMENT`].
const SLACK: usize = ALIGNMENT - ALLOCATOR_ALIGNMENT;

/// Exponent of the largest power of two that is a class.
const LARGEST_EXPONENT: u32 = usize::BITS - 2;

/// Number of size classes.
pub(super) const CLASS_COUNT: usize = 2 * (LARGEST_EXPONENT as usize - 6) + 1;

/// A size that blocks come in: 64, 128, 192, 256, 384, 512, ... bytes, that is 2ᵏ and 3·2ᵏ⁻¹.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// The smallest class of at least `bytes` bytes, or nothing if there is none.
    pub fn fitting(bytes: usize) -> Option<Class> {
        if bytes <= 64 {
            return Some(Class(0));
        }
        // 2^floor < bytes <= 2^(floor + 1), with floor >= 6.
        let floor = (bytes - 1).ilog2();
        let step = floor as usize - 6;
        let index = if floor >= 7 && bytes <= 3 << (floor - 1) {
            2 * step
        } else {
            2 * step + 1
        };
        (index < CLASS_COUNT).then_some(Class(index as u8))
    }

    /// Size of a block of this class.
    pub fn bytes(self) -> usize {
        match self.0 {
            0 => 64,
            odd if odd % 2 == 1 => 128 << (odd / 2),
            even => 192 << (even / 2 - 1),
        }
    }

    /// Position in a list of all classes.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The classes from this one up to twice its size, smallest first: where best fit looks.
    /// Beyond that, holding a large block for a small need costs more than a new allocation.
    pub fn up_to_double(self) -> impl Iterator<Item = Class> {
        // The step from 64 to 128 is the only one without a size between.
        let steps = if self.0 == 0 { 1 } else { 2 };
        let last = (self.0 + steps).min(CLASS_COUNT as u8 - 1);
        (self.0..=last).map(Class)
    }
}

/// An owned piece of initialised memory.
#[derive(Debug)]
pub(super) struct Block {
    /// First byte, aligned to [`ALIGNMENT`].
    start: NonNull<u8>,
    /// Bytes between the start of the allocation and `start`.
    shift: u8,
    class: Class,
}

// SAFETY: a block owns its memory; nothing about it is tied to a thread.
unsafe impl Send for Block {}
// SAFETY: a shared block gives no access to its memory.
unsafe impl Sync for Block {}

impl Block {
    /// A new block, all bytes zero.
    pub fn allocate(class: Class) -> Result<Block, MemoryError> {
        let layout = Block::layout(class);
        // SAFETY: the layout has a size of at least 64 bytes.
        let base =
            NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(MemoryError::OutOfMemory {
                bytes: class.bytes(),
            })?;
        let shift = base.addr().get().wrapping_neg() % ALIGNMENT;
        Ok(Block {
            // SAFETY: `base` is a multiple of 16, so `shift` is at most SLACK, and the layout has
            // that much room beyond the class's bytes.
            start: unsafe { base.add(shift) },
            shift: shift as u8,
            class,
        })
    }

    fn layout(class: Class) -> Layout {
        Layout::from_size_align(class.bytes() + SLACK, ALLOCATOR_ALIGNMENT)
            // Proven: the largest class is 3/4 of isize::MAX, rounded up.
            .expect("every class fits an allocation")
    }

    /// First byte; valid for reads and writes of `self.class().bytes()` initialised bytes for as
    /// long as the block is not dropped.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its size class.
    pub fn class(&self) -> Class {
        self.class
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `start - shift` is what `alloc_zeroed` returned for this layout, and a block is
        // dropped once.
        unsafe {
            dealloc(
                self.start.sub(self.shift as usize).as_ptr(),
                Block::layout(self.class),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_grow_by_at_most_a_half_and_fit_their_own_size() {
        let mut last = 0;
        for index in 0..CLASS_COUNT {
            let class = Class(index as u8);
            let bytes = class.bytes();
            assert!(bytes > last && bytes.is_multiple_of(ALIGNMENT));
            assert!(last < 128 || bytes <= last + last / 2, "{last} -> {bytes}");
            assert_eq!(Class::fitting(bytes), Some(class));
            assert_eq!(Class::fitting(last + 1), Some(class));
            // The layout exists, without allocating it.
            assert!(Block::layout(class).size() >= bytes);
            for larger in class.up_to_double() {
                assert!(larger.bytes() >= bytes && larger.bytes() / 2 <= bytes);
            }
            last = bytes;
        }
        assert_eq!(Class::fitting(0), Some(Class(0)));
        assert_eq!(Class::fitting(last + 1), None);
        assert_eq!(Class::fitting(usize::MAX), None);
        assert_eq!(Class::fitting(isize::MAX as usize), None);
    }

    #[test]
    fn an_impossible_block_is_an_error() {
        let class = Class::fitting(1 << (usize::BITS - 3)).unwrap();
        assert!(matches!(
            Block::allocate(class),
            Err(MemoryError::OutOfMemory { .. })
        ));
    }
}
