//! An allocator that counts what is asked of it, and refuses when told to.
// Each binary uses a part of it.
#![allow(dead_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

/// The system's allocator, with counters.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static OWN_CALLS: Cell<usize> = const { Cell::new(0) };
    static OWN_BYTES: Cell<isize> = const { Cell::new(0) };
    /// Allocations still granted.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: what is granted is passed on to the system's allocator, a null pointer is the answer to
// the rest; counters are atomic or plain thread-locals without destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(WATCHED.get() as usize, Ordering::Relaxed);
        OWN_CALLS.set(OWN_CALLS.get() + 1);
        match LEFT.get() {
            usize::MAX => {}
            0 => return std::ptr::null_mut(),
            left => LEFT.set(left - 1),
        }
        BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        OWN_BYTES.set(OWN_BYTES.get() + layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        OWN_BYTES.set(OWN_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts this thread's allocations from now on.
pub fn watch() {
    WATCHED.set(true);
}

/// Allocations of watched threads so far.
pub fn calls() -> usize {
    CALLS.load(Ordering::Relaxed)
}

/// Bytes in use by the whole process.
pub fn bytes() -> isize {
    BYTES.load(Ordering::Relaxed)
}

/// Allocations of this thread so far.
pub fn own_calls() -> usize {
    OWN_CALLS.get()
}

/// Bytes that this thread allocated less those that it freed.
pub fn own_bytes() -> isize {
    OWN_BYTES.get()
}

/// Grants this thread so many more allocations, `usize::MAX` for any number.
pub fn grant(count: usize) {
    LEFT.set(count);
}
