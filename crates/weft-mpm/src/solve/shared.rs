//! Arrays whose parts are written by several threads at once.

use std::marker::PhantomData;

/// A mutable slice that threads cut disjoint parts from.
pub(super) struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<'_, T> {}

// SAFETY: it stands for a `&mut [T]`; that parts are disjoint is promised where they are cut.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub fn new(slice: &'a mut [T]) -> Self {
        Shared {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            slice: PhantomData,
        }
    }

    /// For code that only reads: nothing may be written through it, and no part cut.
    pub fn reading(slice: &'a [T]) -> Self {
        Shared {
            start: slice.as_ptr().cast_mut(),
            len: 0,
            slice: PhantomData,
        }
    }

    /// The whole, for reads and writes that the caller keeps apart.
    #[inline(always)]
    pub fn start(&self) -> *mut T {
        self.start
    }

    /// Elements `at..at + len`.
    ///
    /// # Safety
    /// Nobody else uses them while the part lives.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, at: usize, len: usize) -> &'a mut [T] {
        assert!(at <= self.len && len <= self.len - at);
        // SAFETY: within the slice; alone, as promised.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}
