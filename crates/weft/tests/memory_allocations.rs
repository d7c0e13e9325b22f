//! Counts every heap allocation: a warm pool makes none, and nothing is ever left behind.
#![cfg(not(loom))]

use weft::memory::{Buffer, Pool};

#[path = "common/counting.rs"]
mod counting;

use counting::{own_bytes, own_calls};

/// A small deterministic random number generator (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }
}

#[test]
fn a_warm_pool_allocates_nothing() {
    let pool = Pool::new();
    let cycle = |i: usize| {
        let a = pool.borrow_zeroed::<f64>(1 + i % 1000);
        let mut b = pool.borrow_filled(1 + (i * 7) % 5000, 1u32);
        let _empty = pool.borrow_dirty::<u8>(0);
        b.grow(6000);
        drop(a);
        let _c = pool.borrow_from(&[[1.0f64; 3]; 20]);
    };
    (0..1000).for_each(cycle);
    let before = own_calls();
    (0..10_000).for_each(cycle);
    assert_eq!(own_calls() - before, 0);
}

#[test]
fn returning_many_at_once_allocates_nothing() {
    let pool = Pool::new();
    let held: Vec<Buffer<f64>> = (0..1000).map(|_| pool.borrow_dirty(100)).collect();
    pool.trim();
    let before = own_calls();
    drop(held);
    assert_eq!(own_calls() - before, 0);
}

/// One step of a made-up simulation, with the temporaries of a step: lists of particles and cells
/// whose number varies, element scratch, results that replace those of the step before.
fn simulation_step(pool: &Pool, random: &mut Random, size: [usize; 2], state: &mut Buffer<f64>) {
    let [particles, cells] = size;
    let mut grid = pool.borrow_zeroed::<[f64; 3]>(cells);
    let cells = pool.borrow_with(particles, |i| i as u32);
    for _ in 0..20 {
        let mut scratch = pool.borrow_dirty::<f64>(64 * (1 + random.below(27)));
        scratch[0] = 1.0;
        grid[random.below(8_000)][0] += scratch[0];
    }
    let mut next = pool.borrow_dirty::<f64>(particles);
    for (value, &cell) in next.iter_mut().zip(cells.iter()) {
        *value = grid[cell as usize % grid.len()][0];
    }
    *state = next;
}

#[test]
fn memory_is_flat_over_a_thousand_steps() {
    let pool = Pool::new();
    let mut random = Random(2);
    let mut state = pool.borrow_zeroed(1);
    // Two steps of the largest size, since each holds the result of the one before; then the
    // smaller ones, which find all they need.
    for size in [[25_000, 9_000], [25_000, 9_000]] {
        simulation_step(&pool, &mut random, size, &mut state);
    }
    (0..50).for_each(|_| simulation_step(&pool, &mut random, [20_000, 8_000], &mut state));
    let warm = pool.stats();
    let (calls, bytes) = (own_calls(), own_bytes());
    for _ in 0..1000 {
        let size = [20_000 + random.below(5_000), 8_000 + random.below(1_000)];
        simulation_step(&pool, &mut random, size, &mut state);
        let now = pool.stats();
        assert_eq!(
            now.live_bytes + now.pooled_bytes,
            warm.live_bytes + warm.pooled_bytes
        );
    }
    assert_eq!(pool.stats().misses, warm.misses);
    assert_eq!((own_calls(), own_bytes()), (calls, bytes));
}

#[test]
fn everything_is_freed_even_when_pools_go_first() {
    let start = own_bytes();
    for seed in 1..50 {
        let mut random = Random(seed);
        let mut pools: Vec<Pool> = (0..3).map(|_| Pool::new()).collect();
        let mut held: Vec<Buffer<f64>> = Vec::new();
        for _ in 0..300 {
            let p = random.below(pools.len());
            match random.below(8) {
                0..=3 => held.push(pools[p].borrow_dirty(random.below(2000))),
                4 if !held.is_empty() => drop(held.swap_remove(random.below(held.len()))),
                5 if !held.is_empty() => {
                    let buffer = held.swap_remove(random.below(held.len()));
                    held.push(buffer.detach());
                }
                6 if !held.is_empty() => {
                    let at = random.below(held.len());
                    held[at].grow(random.below(4000));
                }
                _ => {
                    // Rarely, so that buffers of old and new pools are held together.
                    if random.below(10) == 0 {
                        pools[p] = Pool::new();
                    }
                }
            }
        }
        if seed % 2 == 0 {
            drop(pools);
            drop(held);
        } else {
            drop(held);
            drop(pools);
        }
        assert_eq!(own_bytes(), start, "seed {seed}");
    }
}
