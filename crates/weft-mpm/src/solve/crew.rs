//! Many short phases of work on the threads of the rayon pool.
//!
//! A solve has thousands of phases of some ten microseconds, too short to fork each. [`with_crew`]
//! starts helpers once; [`Crew::phase`] then runs the chunks of a phase on whoever is there.
//!
//! **Invariant.** A chunk is run once, by the thread that took it off the ticket, one atomic number
//! that holds the phase and the chunks that are left. The main thread takes chunks itself and
//! waits only for chunks that others have taken; so a helper that never starts, because the pool is
//! busy, holds up nothing. Nobody waits for a lock, and nothing is allocated. The main thread takes
//! chunks from the front and helpers from the back, so that a chunk tends to stay with its thread,
//! and its data in that thread's cache, from phase to phase.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::{hint, ptr, thread};

/// Bits of the ticket for each end of the chunks; the rest is the number of the phase.
const BITS: u32 = 16;
const MASK: u64 = (1 << BITS) - 1;
/// Most chunks of a phase.
pub(super) const MOST_CHUNKS: usize = MASK as usize;
/// Looks at the ticket before a thread lets others run.
const SPINS: u32 = 2000;

/// Threads that work through phases together.
pub(super) struct Crew {
    /// (phase, end, next): chunks next..end are free.
    ticket: AtomicU64,
    /// Chunks of this phase that helpers have finished.
    finished: AtomicUsize,
    /// The work of this phase: its address, and the function that runs a chunk of it.
    work: AtomicPtr<()>,
    run: AtomicPtr<()>,
    closed: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    helpers: usize,
}

/// Which end a thread takes chunks from.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Front,
    Back,
}

/// Calls `body` with a crew of all threads of the current rayon pool.
pub(super) fn with_crew<R: Send>(body: impl FnOnce(&Crew) -> R + Send) -> R {
    let helpers = rayon::current_num_threads() - 1;
    let crew = Crew {
        ticket: AtomicU64::new(0),
        finished: AtomicUsize::new(0),
        work: AtomicPtr::new(ptr::null_mut()),
        run: AtomicPtr::new(ptr::null_mut()),
        closed: AtomicBool::new(false),
        panic: Mutex::new(None),
        helpers,
    };
    if helpers == 0 {
        return body(&crew);
    }
    let main = || {
        // Helpers go home even if the body panics.
        let _close = Close(&crew.closed);
        body(&crew)
    };
    rayon::join(main, || crew.help(helpers)).0
}

struct Close<'a>(&'a AtomicBool);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Crew {
    /// Threads that may take part.
    pub fn threads(&self) -> usize {
        self.helpers + 1
    }

    /// Runs `work` for every number below `chunks` and returns when all are done.
    ///
    /// # Panics
    /// When there are more than [`MOST_CHUNKS`], or when the work does; the other chunks are still
    /// run.
    pub fn phase<F: Fn(usize) + Sync>(&self, chunks: usize, work: F) {
        assert!(chunks <= MOST_CHUNKS, "{chunks} chunks in a phase");
        if self.helpers == 0 || chunks < 2 {
            return (0..chunks).for_each(work);
        }
        let old = self.ticket.load(Ordering::Relaxed);
        let phase = (old >> (2 * BITS)).wrapping_add(1);
        self.finished.store(0, Ordering::Relaxed);
        self.work
            .store((&raw const work).cast_mut().cast(), Ordering::Relaxed);
        self.run.store(
            run::<F> as fn(*const (), usize) as *mut (),
            Ordering::Relaxed,
        );
        let ticket = (phase << (2 * BITS)) | ((chunks as u64) << BITS);
        self.ticket.store(ticket, Ordering::Release);

        let mut mine = 0;
        while let Some(chunk) = self.take(End::Front) {
            self.guarded(|| work(chunk));
            mine += 1;
        }
        let mut spins = 0;
        // Acquire: what helpers wrote in their chunks is visible from here on.
        while self.finished.load(Ordering::Acquire) != chunks - mine {
            pause(&mut spins);
        }
        let panic = self.panic.lock().ok().and_then(|mut panic| panic.take());
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn guarded(&self, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work))
            && let Ok(mut first) = self.panic.lock()
        {
            first.get_or_insert(panic);
        }
    }

    /// Takes a free chunk of the current phase.
    fn take(&self, end: End) -> Option<usize> {
        let mut ticket = self.ticket.load(Ordering::Relaxed);
        loop {
            let (last, next) = ((ticket >> BITS) & MASK, ticket & MASK);
            if next >= last {
                return None;
            }
            let (chunk, left) = match end {
                End::Front => (next, ticket + 1),
                End::Back => (last - 1, ticket - (1 << BITS)),
            };
            // Acquire: the work of the phase that this chunk belongs to is visible.
            match self.ticket.compare_exchange_weak(
                ticket,
                left,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(chunk as usize),
                Err(now) => ticket = now,
            }
        }
    }

    /// Works until the crew is closed; `left` threads may still be asked, this one included.
    fn help(&self, left: usize) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        if left > 1 {
            rayon::join(|| self.serve(), || self.help(left - 1));
        } else {
            self.serve();
        }
    }

    fn serve(&self) {
        let mut spins = 0;
        while !self.closed.load(Ordering::Acquire) {
            let Some(chunk) = self.take(End::Back) else {
                pause(&mut spins);
                continue;
            };
            spins = 0;
            // The phase cannot end before this chunk is counted, so that the work read here, after
            // the chunk was taken, is this phase's and alive.
            let work = self.work.load(Ordering::Relaxed);
            let address = self.run.load(Ordering::Relaxed);
            // SAFETY: `run` is only ever set to such a function before the first ticket is given out.
            let run: fn(*const (), usize) = unsafe { std::mem::transmute(address) };
            self.guarded(|| run(work, chunk));
            // Release: the main thread, which waits for this number, sees what the chunk wrote.
            self.finished.fetch_add(1, Ordering::Release);
        }
    }
}

/// Runs a chunk of the work at an address.
fn run<F: Fn(usize) + Sync>(work: *const (), chunk: usize) {
    // SAFETY: `phase` stores the address of its F together with this function, and returns only
    // when all chunks that were taken are finished. F is shared between threads: it is Sync.
    let work = unsafe { &*work.cast::<F>() };
    work(chunk);
}

#[inline]
fn pause(spins: &mut u32) {
    if *spins < SPINS {
        *spins += 1;
        hint::spin_loop();
    } else {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    }

    /// Every chunk of every phase runs once, and before the next phase.
    fn work_through(phases: usize) {
        let counts: Vec<AtomicU32> = (0..57).map(|_| AtomicU32::new(0)).collect();
        with_crew(|crew| {
            for phase in 0..phases {
                let chunks = phase % counts.len();
                crew.phase(chunks, |chunk| {
                    counts[chunk].fetch_add(1, Ordering::Relaxed);
                });
                for (chunk, count) in counts.iter().enumerate() {
                    assert_eq!(count.swap(0, Ordering::Relaxed), u32::from(chunk < chunks));
                }
            }
        });
    }

    #[test]
    fn every_chunk_runs_once() {
        for threads in [1, 2, 3, 4] {
            pool(threads).install(|| work_through(5000));
        }
        work_through(1000);
    }

    #[test]
    fn two_solves_share_a_pool() {
        for threads in [1, 2, 3] {
            pool(threads).install(|| rayon::join(|| work_through(3000), || work_through(3000)));
        }
    }

    #[test]
    fn solves_nest_in_parallel_loops() {
        use rayon::prelude::*;
        for threads in [1, 2, 4] {
            pool(threads).install(|| (0..20).into_par_iter().for_each(|_| work_through(200)));
        }
    }

    #[test]
    fn results_come_back() {
        let sum = pool(3).install(|| {
            with_crew(|crew| {
                let sum = AtomicUsize::new(0);
                crew.phase(100, |chunk| {
                    sum.fetch_add(chunk, Ordering::Relaxed);
                });
                sum.into_inner()
            })
        });
        assert_eq!(sum, 4950);
    }

    #[test]
    fn a_panic_comes_out_after_all_chunks() {
        for threads in [1, 2, 4] {
            for bad in [0, 17, 39] {
                let done = AtomicUsize::new(0);
                let result = catch_unwind(AssertUnwindSafe(|| {
                    pool(threads).install(|| {
                        with_crew(|crew| {
                            crew.phase(40, |chunk| {
                                assert_ne!(chunk, bad, "this one");
                                done.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    });
                }));
                assert!(result.is_err());
                if threads > 1 {
                    assert_eq!(done.into_inner(), 39);
                }
            }
        }
    }
}
