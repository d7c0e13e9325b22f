//! An allocator that counts what chosen threads ask of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counting the calls of the threads that are watched.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: everything is passed on to the system's allocator; the counter is atomic and the flag a
// plain thread-local without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(WATCHED.get() as usize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
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
