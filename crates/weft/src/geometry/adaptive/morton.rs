//! Morton codes of lattice points: 21 bits per axis, offset so that negatives sort first.
//!
//! The code of a cell's lowest voxel plus its number of voxels bounds the codes of exactly the
//! voxels in it, because cells are aligned: a cell is an interval, and intervals nest or are
//! disjoint. Everything else here follows from that.

use crate::geometry::morton::spread;

/// Smallest coordinate of a lattice point.
pub const MIN: i32 = -(1 << 20);
/// Largest coordinate of a lattice point.
pub const MAX: i32 = (1 << 20) - 1;

/// Undoes `spread`.
fn gather(x: u64) -> u32 {
    let mut x = x & 0x1249_2492_4924_9249;
    x = (x | x >> 2) & 0x10c3_0c30_c30c_30c3;
    x = (x | x >> 4) & 0x100f_00f0_0f00_f00f;
    x = (x | x >> 8) & 0x001f_0000_ff00_00ff;
    x = (x | x >> 16) & 0x001f_0000_0000_ffff;
    (x | x >> 32) as u32 & 0x1f_ffff
}

pub fn in_range(p: [i32; 3]) -> bool {
    p.iter().all(|c| (MIN..=MAX).contains(c))
}

/// Code of a lattice point in range; the last axis varies fastest.
pub fn encode(p: [i32; 3]) -> u64 {
    let [x, y, z] = p.map(|c| spread(u64::from(c.wrapping_sub(MIN) as u32)));
    x << 2 | y << 1 | z
}

/// The lattice point of a code.
pub fn decode(code: u64) -> [i32; 3] {
    [code >> 2, code >> 1, code].map(|c| gather(c) as i32 + MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_reversible_and_nest() {
        let places = [
            MIN,
            MIN + 1,
            -129,
            -128,
            -1,
            0,
            1,
            7,
            127,
            4096,
            MAX - 1,
            MAX,
        ];
        for x in places {
            for y in places {
                for z in places {
                    assert_eq!(decode(encode([x, y, z])), [x, y, z]);
                }
            }
        }
        for level in 0..8 {
            let base = encode([-256, 384, 128]);
            let last = encode([-256, 384, 128].map(|c| c + (1 << level) - 1));
            assert_eq!(last - base, (1 << (3 * level)) - 1);
        }
    }
}
