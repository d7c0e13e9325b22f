//! Random numbers that are a function of seed and place, so that they depend neither on order
//! nor on platform: the output function of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast
//! splittable pseudorandom number generators", 2014) as a hash.

fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The step of SplitMix64, 2⁶⁴ over the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number in [-1, 1), the same for the same arguments.
pub(crate) fn symmetric(seed: u64, index: u64, axis: u64) -> f64 {
    let stream = mix(seed.wrapping_add(STEP));
    let counter = index.wrapping_mul(3).wrapping_add(axis + 1);
    let bits = mix(stream.wrapping_add(counter.wrapping_mul(STEP)));
    (bits >> 11) as f64 * (2.0 / (1u64 << 53) as f64) - 1.0
}
