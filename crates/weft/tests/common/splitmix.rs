//! Random numbers and vectors for tests of algebra.
// Each binary uses a part of it.
#![allow(dead_code)]

/// Deterministic numbers in [-1, 1): splitmix64.
pub struct Random(pub u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) >> 11
    }

    pub fn next(&mut self) -> f64 {
        self.bits() as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
}

pub fn vector(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..n).map(|_| random.next()).collect()
}
