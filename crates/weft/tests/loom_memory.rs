//! Loom's model of the pool: every order in which threads can reach its lock.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --no-default-features -p weft-fem --test loom_memory`
//!
//! The lock is loom's; the reference counts between a buffer and its pool are the standard
//! library's. Loom stops at each lock and at each `yield_now` below, so that a pool can go between
//! the moment a buffer finds it alive and the moment the block is put back.
#![cfg(loom)]

use loom::thread;
use weft::memory::Pool;

#[test]
fn two_threads_never_hold_the_same_memory() {
    loom::model(|| {
        let pool = Pool::new();
        drop(pool.borrow_dirty::<u64>(8));
        let other = pool.clone();
        let worker = thread::spawn(move || {
            let mut buffer = other.borrow_filled(8, 1u64);
            thread::yield_now();
            assert_eq!(*buffer, [1; 8]);
            buffer[0] = 3;
            buffer.as_ptr().addr()
        });
        let buffer = pool.borrow_filled(8, 2u64);
        thread::yield_now();
        assert_eq!(*buffer, [2; 8]);
        drop(buffer);
        worker.join().unwrap();
        let stats = pool.stats();
        assert_eq!((stats.live_bytes, stats.live_buffers), (0, 0));
        assert_eq!(stats.hits + stats.misses, 3);
        assert_eq!(stats.pooled_bytes, 64 * stats.misses as usize);
        assert_eq!(stats.peak_bytes, stats.pooled_bytes);
    });
}

#[test]
fn borrow_grow_detach_and_trim_keep_the_counts() {
    loom::model(|| {
        let pool = Pool::new();
        let other = pool.clone();
        let worker = thread::spawn(move || {
            let mut buffer = other.borrow_filled(8, 1u64);
            buffer.grow(16);
            assert_eq!(buffer[..8], [1; 8]);
            buffer.detach()
        });
        drop(pool.borrow_filled(8, 2u64));
        pool.trim();
        let stats = pool.stats();
        assert!(stats.peak_bytes >= stats.live_bytes + stats.pooled_bytes);
        let kept = worker.join().unwrap();
        let stats = pool.stats();
        assert_eq!((stats.live_bytes, stats.live_buffers), (0, 0));
        assert_eq!(pool.trim(), stats.pooled_bytes);
        assert_eq!(kept[..8], [1; 8]);
    });
}

#[test]
fn a_pool_may_go_while_buffers_return() {
    loom::model(|| {
        let pool = Pool::new();
        let buffers = [pool.borrow_filled(8, 1u64), pool.borrow_filled(8, 2u64)];
        let workers = buffers.map(|mut buffer| {
            thread::spawn(move || {
                thread::yield_now();
                buffer.grow(16);
                drop(buffer);
            })
        });
        thread::yield_now();
        drop(pool);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}
