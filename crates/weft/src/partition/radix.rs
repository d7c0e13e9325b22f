//! A parallel stable radix sort of 32-bit keys with 32-bit payloads.
//!
//! Least significant digit first. Each pass counts the digits of fixed chunks of the input,
//! turns the counts into places (digit by digit, within a digit chunk by chunk), and moves every
//! chunk there, all chunks at once. A stable sort has one answer, so it depends neither on the
//! number of threads nor on the size of the chunks.

use rayon::prelude::*;
use std::collections::TryReserveError;
use std::sync::atomic::{AtomicU32, Ordering};

use super::slots::reserve;

/// Largest number of bits in a digit. Eight and eleven bits measure alike (80 to 100 million pairs/s
/// on one thread for 3.8 million pairs with 20-bit keys); eight keep the counts small.
const MAX_DIGIT: u32 = 8;
/// Pairs moved by one task.
const CHUNK: usize = 1 << 15;

/// Scratch memory of the sort, reused from call to call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Radix {
    keys: Vec<u32>,
    payload: Vec<u32>,
    counts: Vec<u32>,
}

impl Radix {
    /// Gets the memory to sort `n` pairs.
    pub fn reserve(&mut self, n: usize) -> Result<(), TryReserveError> {
        reserve(&mut self.keys, n)?;
        reserve(&mut self.payload, n)?;
        reserve(&mut self.counts, n.div_ceil(CHUNK) << MAX_DIGIT)
    }

    /// Sorts pairs by key; pairs with equal keys keep their order. No key is above `largest`, and
    /// the fewer bits that has, the fewer passes are made. Allocates nothing after
    /// [`reserve`](Self::reserve) for as many pairs, if `keys` and `payload` have as much room.
    ///
    /// # Panics
    /// If the two arrays differ in length, or hold `u32::MAX` pairs or more.
    pub fn sort(&mut self, keys: &mut Vec<u32>, payload: &mut Vec<u32>, largest: u32) {
        let n = keys.len();
        assert!(payload.len() == n && n < u32::MAX as usize);
        let bits = u32::BITS - largest.leading_zeros();
        let passes = bits.div_ceil(MAX_DIGIT);
        if n < 2 || passes == 0 {
            return;
        }
        let digit = bits.div_ceil(passes);
        self.keys.resize(n, 0);
        self.payload.resize(n, 0);
        self.counts.resize(n.div_ceil(CHUNK) << digit, 0);
        for pass in 0..passes {
            let pick = Digit {
                shift: pass * digit,
                mask: (1 << digit) - 1,
            };
            count(keys, &mut self.counts, pick);
            places(&mut self.counts, 1 << digit);
            let target = [&mut self.keys[..], &mut self.payload[..]].map(shared);
            scatter(keys, payload, target, &mut self.counts, pick);
            std::mem::swap(keys, &mut self.keys);
            std::mem::swap(payload, &mut self.payload);
        }
    }
}

#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    mask: u32,
}

impl Digit {
    #[inline(always)]
    fn of(self, key: u32) -> usize {
        (key >> self.shift & self.mask) as usize
    }

    fn values(self) -> usize {
        self.mask as usize + 1
    }
}

/// How often each digit occurs in each chunk: chunk × digit.
fn count(keys: &[u32], counts: &mut [u32], digit: Digit) {
    counts
        .par_chunks_mut(digit.values())
        .zip(keys.par_chunks(CHUNK))
        .for_each(|(counts, keys)| {
            counts.fill(0);
            for &key in keys {
                counts[digit.of(key)] += 1;
            }
        });
}

/// From counts to the place of the first pair of each chunk and digit.
fn places(counts: &mut [u32], values: usize) {
    let mut next = [0u32; 1 << MAX_DIGIT];
    let next = &mut next[..values];
    for chunk in counts.chunks_exact(values) {
        for (total, count) in next.iter_mut().zip(chunk) {
            *total += count;
        }
    }
    let mut sum = 0;
    for total in next.iter_mut() {
        sum += std::mem::replace(total, sum);
    }
    for chunk in counts.chunks_exact_mut(values) {
        for (next, place) in next.iter_mut().zip(chunk) {
            let count = std::mem::replace(place, *next);
            *next += count;
        }
    }
}

/// An array that several threads may store to. Relaxed stores compile to plain ones.
fn shared(array: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: AtomicU32 has the size and alignment of u32, and the exclusive borrow goes on for
    // as long as the result lives, so all access in that time is atomic.
    unsafe { &*(std::ptr::from_mut(array) as *const [AtomicU32]) }
}

fn scatter(
    keys: &[u32],
    payload: &[u32],
    [to_keys, to_payload]: [&[AtomicU32]; 2],
    places: &mut [u32],
    digit: Digit,
) {
    places
        .par_chunks_mut(digit.values())
        .zip(keys.par_chunks(CHUNK).zip(payload.par_chunks(CHUNK)))
        .for_each(|(places, (keys, payload))| {
            for (&key, &value) in keys.iter().zip(payload) {
                let place = &mut places[digit.of(key)];
                to_keys[*place as usize].store(key, Ordering::Relaxed);
                to_payload[*place as usize].store(value, Ordering::Relaxed);
                *place += 1;
            }
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(n: usize, largest: u32, threads: usize) {
        let mut state = 88172645463325252u64 ^ n as u64;
        let mut keys: Vec<u32> = (0..n)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                ((state >> 32) % (largest as u64 + 1)) as u32
            })
            .collect();
        let mut payload: Vec<u32> = (0..n as u32).collect();
        let mut expected: Vec<(u32, u32)> = keys.iter().copied().zip(0..).collect();
        expected.sort();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let mut radix = Radix::default();
        radix.reserve(n).unwrap();
        pool.unwrap()
            .install(|| radix.sort(&mut keys, &mut payload, largest));
        let found: Vec<(u32, u32)> = keys.into_iter().zip(payload).collect();
        assert!(found == expected, "{n} keys up to {largest}");
    }

    #[test]
    fn sorts_and_is_stable() {
        for n in [0, 1, 2, 100, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17] {
            for largest in [0, 1, 2, 2047, 2048, 100_000, 1 << 22, u32::MAX] {
                for threads in [1, 3] {
                    check(n, largest, threads);
                }
            }
        }
    }

    #[test]
    fn scratch_of_another_size_does_no_harm() {
        let mut radix = Radix::default();
        for n in [70_000, 3, 40_000, 0, 100_000] {
            let mut keys: Vec<u32> = (0..n).rev().collect();
            let mut payload: Vec<u32> = (0..n).collect();
            radix.sort(&mut keys, &mut payload, n);
            assert!(keys.iter().copied().eq(0..n));
            assert!(payload.iter().copied().eq((0..n).rev()));
        }
    }
}
