//! The hash table from leaf keys to leaves.
//!
//! It holds places in an array of keys, not the keys; the one invariant is that it never is more
//! than half full, so that every probe ends soon.

const VACANT: u32 = u32::MAX;

/// Open addressing from keys to their places in an array of keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    slots: Vec<u32>,
    shift: u32,
}

impl Table {
    /// Empties the table and makes room for `count` keys at half load.
    pub fn reset(&mut self, count: usize) {
        let size = (2 * count).next_power_of_two().max(64);
        self.slots.clear();
        self.slots.resize(size, VACANT);
        self.shift = 64 - size.trailing_zeros();
    }

    #[inline]
    fn start(&self, key: u64) -> usize {
        // Fibonacci hashing: the high bits depend on all bits of the key.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The place of `key` in `keys`, or the vacant slot where it belongs.
    #[inline]
    pub fn probe(&self, keys: &[u64], key: u64) -> Result<usize, usize> {
        let mut slot = self.start(key);
        loop {
            let place = self.slots[slot];
            if place == VACANT {
                return Err(slot);
            }
            if keys[place as usize] == key {
                return Ok(place as usize);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Enters a key at the vacant slot that [`probe`](Self::probe) found.
    #[inline]
    pub fn enter(&mut self, slot: usize, place: usize) {
        self.slots[slot] = place as u32;
    }

    /// Whether the table has room for this many keys at half load.
    pub fn has_room(&self, count: usize) -> bool {
        2 * count <= self.slots.len()
    }

    /// Enters all of `keys`, which must be distinct, with room for `count`.
    pub fn fill(&mut self, keys: &[u64], count: usize) {
        self.reset(count);
        for (place, &key) in keys.iter().enumerate() {
            let mut slot = self.start(key);
            while self.slots[slot] != VACANT {
                slot = (slot + 1) & (self.slots.len() - 1);
            }
            self.slots[slot] = place as u32;
        }
    }
}
