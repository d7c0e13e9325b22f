//! A list of indices that may have a fixed number of slots, empty ones holding [`NULL`].

use super::NULL;
use std::collections::TryReserveError;

/// Makes room for `most` entries in all.
pub(super) fn reserve<T>(items: &mut Vec<T>, most: usize) -> Result<(), TryReserveError> {
    items.try_reserve_exact(most.saturating_sub(items.len()))
}

#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    items: Vec<u32>,
    live: usize,
    /// Fixed number of slots; none: as many as entries.
    pub capacity: Option<usize>,
}

impl Slots {
    pub fn bounded(capacity: Option<usize>) -> Slots {
        Slots {
            capacity,
            ..Slots::default()
        }
    }

    /// Makes room for `most` entries, or for the capacity.
    pub fn reserve(&mut self, most: usize) -> Result<(), TryReserveError> {
        reserve(&mut self.items, self.capacity.unwrap_or(most))
    }

    /// Replaces the entries by as many as there is room for; returns how many there were.
    pub fn fill(&mut self, entries: impl Iterator<Item = u32>) -> usize {
        let room = self.capacity.unwrap_or(usize::MAX);
        let mut needed = 0;
        self.items.clear();
        for entry in entries {
            if needed < room {
                self.items.push(entry);
            }
            needed += 1;
        }
        self.live = self.items.len();
        if let Some(capacity) = self.capacity {
            self.items.resize(capacity, NULL);
        }
        needed
    }

    /// Replaces entry `at`.
    pub fn set(&mut self, at: usize, entry: u32) {
        self.items[at] = entry;
    }

    /// The entries.
    pub fn live(&self) -> &[u32] {
        &self.items[..self.live]
    }

    /// All slots.
    pub fn all(&self) -> &[u32] {
        &self.items
    }
}
