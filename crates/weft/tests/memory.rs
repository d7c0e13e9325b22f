//! The pool and its buffers: random sequences, alignment, contents, threads, impossible sizes.
#![cfg(not(loom))]

use proptest::prelude::*;
use std::collections::BTreeMap;
use weft::memory::{ALIGNMENT, Buffer, MemoryError, Pod, Pool};

/// A step of a random sequence. Numbers select a pool or a held buffer modulo how many there are.
#[derive(Clone, Debug)]
enum Step {
    Borrow { pool: usize, len: usize },
    Drop { buffer: usize },
    Detach { buffer: usize },
    Grow { buffer: usize, by: usize },
    Trim { pool: usize },
    DropPool { pool: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pick = || 0usize..64;
    let len = prop_oneof![10 => 0usize..20, 10 => 0usize..3000, 1 => Just(100_000)];
    prop::collection::vec(
        prop_oneof![
            8 => (pick(), len).prop_map(|(pool, len)| Step::Borrow { pool, len }),
            5 => pick().prop_map(|buffer| Step::Drop { buffer }),
            1 => pick().prop_map(|buffer| Step::Detach { buffer }),
            3 => (pick(), 0usize..2000).prop_map(|(buffer, by)| Step::Grow { buffer, by }),
            1 => pick().prop_map(|pool| Step::Trim { pool }),
            1 => pick().prop_map(|pool| Step::DropPool { pool }),
        ],
        0..200,
    )
}

/// A held buffer, the number all its elements must equal, and the pool that counts it.
struct Held {
    buffer: Buffer<u64>,
    mark: u64,
    pool: Option<usize>,
}

fn counted_bytes(buffer: &Buffer<u64>) -> usize {
    size_of_val(&**buffer)
}

/// What must hold after each step.
fn check(pools: &[Pool], held: &[Held]) {
    let mut spans = BTreeMap::new();
    for h in held {
        let span = h.buffer.as_ptr_range();
        assert_eq!(span.start.addr() % ALIGNMENT, 0);
        assert!(h.buffer.iter().all(|&value| value == h.mark));
        if !h.buffer.is_empty() {
            let twin = spans.insert(span.start.addr(), span.end.addr());
            assert!(twin.is_none(), "memory handed out twice");
        }
    }
    let ends = spans.values();
    for (end, next) in ends.zip(spans.keys().skip(1)) {
        assert!(end <= next, "buffers overlap");
    }
    for (p, pool) in pools.iter().enumerate() {
        let stats = pool.stats();
        let mine: Vec<&Held> = held
            .iter()
            .filter(|h| h.pool == Some(p) && !h.buffer.is_empty())
            .collect();
        let needed: usize = mine.iter().map(|h| counted_bytes(&h.buffer)).sum();
        assert_eq!(stats.live_buffers, mine.len());
        assert!(stats.live_bytes >= needed);
        assert!(stats.live_bytes <= 3 * needed + 128 * mine.len());
        assert!(stats.peak_bytes >= stats.live_bytes + stats.pooled_bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_sequences_keep_contents_apart_and_give_everything_back(steps in steps()) {
        let mut pools: Vec<Pool> = (0..3).map(|_| Pool::new()).collect();
        let mut held: Vec<Held> = Vec::new();
        let mut mark = 0;
        for step in steps {
            mark += 1;
            match step {
                Step::Borrow { pool, len } => {
                    let p = pool % pools.len();
                    let buffer = match mark % 4 {
                        0 => pools[p].borrow_filled(len, mark),
                        1 => pools[p].borrow_with(len, |_| mark),
                        2 => pools[p].borrow_from(&vec![mark; len]),
                        _ => {
                            let mut dirty = pools[p].borrow_dirty(len);
                            dirty.fill(mark);
                            dirty
                        }
                    };
                    prop_assert_eq!(buffer.len(), len);
                    prop_assert!(pools[p].borrow_zeroed::<u64>(len).iter().all(|&v| v == 0));
                    held.push(Held { buffer, mark, pool: Some(p) });
                }
                Step::Drop { buffer } if !held.is_empty() => {
                    held.swap_remove(buffer % held.len());
                }
                Step::Detach { buffer } if !held.is_empty() => {
                    let Held { buffer, mark, .. } = held.swap_remove(buffer % held.len());
                    held.push(Held { buffer: buffer.detach(), mark, pool: None });
                }
                Step::Grow { buffer, by } if !held.is_empty() => {
                    let at = buffer % held.len();
                    let h = &mut held[at];
                    let len = h.buffer.len();
                    h.buffer.grow(len + by);
                    prop_assert!(h.buffer[..len].iter().all(|&value| value == h.mark));
                    h.buffer[len..].fill(h.mark);
                    h.buffer.grow(len / 2);
                    prop_assert_eq!(h.buffer.len(), len + by);
                }
                Step::Trim { pool } => {
                    let pool = &pools[pool % pools.len()];
                    let pooled = pool.stats().pooled_bytes;
                    prop_assert_eq!(pool.trim(), pooled);
                    prop_assert_eq!(pool.stats().pooled_bytes, 0);
                }
                // The new pool in its place does not know the buffers of the old one.
                Step::DropPool { pool } => {
                    let p = pool % pools.len();
                    pools[p] = Pool::new();
                    for h in &mut held {
                        h.pool = h.pool.filter(|&q| q != p);
                    }
                }
                _ => {}
            }
            check(&pools, &held);
        }
        held.clear();
        for pool in &pools {
            let stats = pool.stats();
            prop_assert_eq!((stats.live_bytes, stats.live_buffers), (0, 0));
            prop_assert_eq!(pool.trim(), stats.pooled_bytes);
        }
    }
}

/// Borrows, fills, grows and returns a buffer of one element type.
fn exercise<T: Pod + PartialEq>(pool: &Pool, value: T) {
    for len in [0, 1, 7, 64, 1000] {
        assert!(pool.borrow_zeroed::<T>(len).iter().all(|v| *v == T::ZERO));
        let mut buffer = pool.borrow_filled(len, value);
        assert_eq!(buffer.as_ptr().addr() % ALIGNMENT, 0);
        buffer.grow(3 * len);
        assert_eq!(buffer.as_ptr().addr() % ALIGNMENT, 0);
        assert!(buffer[..len].iter().all(|v| *v == value));
        assert_eq!(buffer.len(), 3 * len);
    }
}

#[test]
fn every_element_type_shares_the_same_memory() {
    let pool = Pool::new();
    exercise(&pool, 1.5f32);
    exercise(&pool, -2.5f64);
    exercise(&pool, 0xA5u8);
    exercise(&pool, 0xA5A5u16);
    exercise(&pool, u32::MAX);
    exercise(&pool, u64::MAX);
    exercise(&pool, usize::MAX);
    exercise(&pool, -1i32);
    exercise(&pool, i64::MIN);
    exercise(&pool, [1.0f64, 2.0, 3.0]);
    exercise(&pool, [[1u32; 4]; 2]);
    exercise(&pool, [0.0f32; 0]);
    assert_eq!(pool.stats().live_buffers, 0);
    assert!(pool.stats().hits > pool.stats().misses);
}

#[test]
fn reused_memory_is_the_best_fit() {
    let pool = Pool::new();
    let (small, large) = (pool.borrow_dirty::<u8>(1024), pool.borrow_dirty::<u8>(1536));
    let (small_at, large_at) = (small.as_ptr(), large.as_ptr());
    drop((small, large));
    // 1000 bytes fit both free blocks; 1025 only the larger; 100 would waste either.
    assert_eq!(pool.borrow_dirty::<u8>(1000).as_ptr(), small_at);
    assert_eq!(pool.borrow_dirty::<u8>(1025).as_ptr(), large_at);
    let misses = pool.stats().misses;
    drop(pool.borrow_dirty::<u8>(100));
    assert_eq!(pool.stats().misses, misses + 1);
    // With the smaller one in use, the larger serves.
    let held = pool.borrow_dirty::<u8>(1000);
    assert_eq!(pool.borrow_dirty::<u8>(1000).as_ptr(), large_at);
    drop(held);
}

#[test]
fn statistics_follow_a_known_sequence() {
    let pool = Pool::new();
    let a = pool.borrow_dirty::<f64>(8); // 64 bytes
    let b = pool.borrow_dirty::<f64>(20); // 160 -> 192
    let empty = pool.borrow_dirty::<f64>(0);
    let stats = pool.stats();
    assert_eq!((stats.live_bytes, stats.pooled_bytes), (256, 0));
    assert_eq!((stats.live_buffers, stats.hits, stats.misses), (2, 0, 2));
    drop(a);
    let kept = b.detach();
    let stats = pool.stats();
    assert_eq!((stats.live_bytes, stats.pooled_bytes), (0, 64));
    assert_eq!((stats.live_buffers, stats.peak_bytes), (0, 256));
    let again = pool.borrow_dirty::<f64>(3);
    assert_eq!((pool.stats().hits, pool.stats().pooled_bytes), (1, 0));
    drop((kept, again, empty));
    assert_eq!(pool.stats().pooled_bytes, 64);
    assert_eq!(pool.trim(), 64);
    assert_eq!(
        pool.stats().to_string(),
        "live 0.00 MiB in 0 buffers, pooled 0.00 MiB, peak 0.00 MiB, 1 hits, 2 misses"
    );
}

#[test]
fn buffers_outlive_their_pool() {
    let pool = Pool::new();
    let mut buffer = pool.borrow_with(100, |i| i as f64);
    let other_handle = pool.clone();
    drop(pool);
    drop(other_handle);
    buffer.grow(10_000);
    assert!((0..100).all(|i| buffer[i] == i as f64));
    let detached = buffer.detach();
    assert_eq!(detached.len(), 10_000);
}

#[test]
fn impossible_sizes_are_errors_and_leave_everything_as_it_was() {
    let pool = Pool::new();
    for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8 + 1] {
        let too_large = MemoryError::TooLarge {
            len,
            element_bytes: 8,
        };
        assert_eq!(pool.try_borrow_dirty::<f64>(len).unwrap_err(), too_large);
        assert_eq!(pool.try_borrow_zeroed::<f64>(len).unwrap_err(), too_large);
        let mut buffer = pool.borrow_filled(3, 1.0);
        assert_eq!(buffer.try_grow(len).unwrap_err(), too_large);
        assert_eq!(*buffer, [1.0; 3]);
    }
    // Possible as a number, but no machine has it.
    let mut buffer = pool.borrow_filled(3, 1u8);
    for error in [
        pool.try_borrow_dirty::<u8>(1 << 61).map(drop).unwrap_err(),
        buffer.try_grow(1 << 61).unwrap_err(),
    ] {
        assert_eq!(error, MemoryError::OutOfMemory { bytes: 1 << 61 });
        assert!(error.to_string().contains("2305843009213693952 bytes"));
    }
    assert_eq!(*buffer, [1; 3]);
    drop(buffer);
    assert_eq!(pool.stats().live_bytes, 0);
    // Elements without bytes take none, whatever their number.
    assert_eq!(pool.borrow_zeroed::<[f64; 0]>(usize::MAX).len(), usize::MAX);
}

#[test]
#[should_panic(expected = "larger than any allocation can be")]
fn a_scratch_borrow_of_impossible_size_panics_like_vec() {
    Pool::new().borrow_dirty::<f64>(usize::MAX);
}

#[test]
fn a_panic_while_filling_gives_the_memory_back() {
    let pool = Pool::new();
    let result = std::panic::catch_unwind(|| {
        pool.borrow_with::<f64>(100, |i| if i == 50 { panic!("user") } else { 1.0 })
    });
    assert!(result.is_err());
    assert_eq!(pool.stats().live_bytes, 0);
    assert_eq!(pool.borrow_zeroed::<f64>(100)[..], [0.0; 100]);
}

#[test]
fn many_threads_share_a_pool_and_pass_buffers_on() {
    let pool = Pool::new();
    let (sender, receiver) = std::sync::mpsc::channel::<(u64, Buffer<u64>)>();
    std::thread::scope(|scope| {
        for id in 0..4u64 {
            let (pool, sender) = (pool.clone(), sender.clone());
            scope.spawn(move || {
                for round in 0..2000u64 {
                    let mark = id << 32 | round;
                    let len = ((round * 37 + id * 101) % 500) as usize;
                    let mut buffer = pool.borrow_filled(len, mark);
                    if round % 3 == 0 {
                        buffer.grow(2 * len);
                        buffer[len..].fill(mark);
                    }
                    assert!(buffer.iter().all(|&value| value == mark));
                    match round % 10 {
                        0 => sender.send((mark, buffer)).unwrap(),
                        1 => drop(buffer.detach()),
                        2 => drop((buffer, pool.trim())),
                        _ => {}
                    }
                }
            });
        }
        drop(sender);
        scope.spawn(|| {
            for (mark, buffer) in receiver {
                assert!(buffer.iter().all(|&value| value == mark));
            }
        });
    });
    let stats = pool.stats();
    assert_eq!((stats.live_bytes, stats.live_buffers), (0, 0));
    assert_eq!(pool.trim(), stats.pooled_bytes);
}

#[test]
fn the_default_pool_is_one() {
    let before = Pool::default_pool().stats().misses;
    drop(Pool::default_pool().borrow_dirty::<u8>(1 << 20));
    assert!(Pool::default_pool().stats().misses > before);
}
