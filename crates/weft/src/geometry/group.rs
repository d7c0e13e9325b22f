//! Finding equal keys among the sides or edges of cells, by sorting.

use std::ops::Range;

use rayon::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<const N: usize> {
    rest: [u32; N],
    slot: u32,
}

/// Entries sorted by one task; about the size of the second-level cache.
const CHUNK: usize = 1 << 15;

/// For each slot the smallest slot with the same key.
///
/// A key is the smallest vertex and the `N` others in ascending order. Slots are counted into
/// buckets by smallest vertex and sorted there: linear work for bounded valence, no hashing, and
/// the same answer for any number of threads.
///
/// `Err` holds the slots of the first group (by key) with more than `limit` members.
///
/// `parallel` sorts the buckets on rayon's pool. Inside a `OnceLock`'s initialisation that is
/// not allowed: a waiting worker may steal a task that asks for the same lock.
pub(super) fn first_slots<const N: usize>(
    vertex_count: usize,
    slots: usize,
    limit: usize,
    parallel: bool,
    key: impl Fn(usize) -> (u32, [u32; N]),
) -> Result<Vec<u32>, Vec<u32>> {
    let mut offsets = vec![0u32; vertex_count + 1];
    for slot in 0..slots {
        offsets[key(slot).0 as usize + 1] += 1;
    }
    for v in 0..vertex_count {
        offsets[v + 1] += offsets[v];
    }
    let empty = Entry {
        rest: [0; N],
        slot: 0,
    };
    let mut entries = vec![empty; slots];
    let mut next = offsets.clone();
    for slot in 0..slots {
        let (vertex, rest) = key(slot);
        let place = &mut next[vertex as usize];
        entries[*place as usize] = Entry {
            rest,
            slot: slot as u32,
        };
        *place += 1;
    }
    drop(next);
    if parallel {
        sort_parallel(&mut entries, &offsets);
    } else {
        sort_buckets(&mut entries, &offsets, 0..vertex_count);
    }

    let mut first = vec![0u32; slots];
    for v in 0..vertex_count {
        let bucket = &entries[offsets[v] as usize..offsets[v + 1] as usize];
        for group in bucket.chunk_by(|a, b| a.rest == b.rest) {
            if group.len() > limit {
                return Err(group.iter().map(|e| e.slot).collect());
            }
            for entry in group {
                first[entry.slot as usize] = group[0].slot;
            }
        }
    }
    Ok(first)
}

/// Sorts the buckets of `vertices`, which `entries` holds.
fn sort_buckets<const N: usize>(entries: &mut [Entry<N>], offsets: &[u32], vertices: Range<usize>) {
    let start = offsets[vertices.start];
    for v in vertices {
        let bucket = (offsets[v] - start) as usize..(offsets[v + 1] - start) as usize;
        entries[bucket].sort_unstable();
    }
}

fn sort_parallel<const N: usize>(entries: &mut [Entry<N>], offsets: &[u32]) {
    let vertex_count = offsets.len() - 1;
    let mut tasks = Vec::new();
    let mut rest = entries;
    let mut begin = 0;
    while begin < vertex_count {
        let start = offsets[begin] as usize;
        let mut end = begin + 1;
        while end < vertex_count && offsets[end + 1] as usize - start <= CHUNK {
            end += 1;
        }
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(offsets[end] as usize - start);
        tasks.push((head, begin..end));
        rest = tail;
        begin = end;
    }
    tasks
        .into_par_iter()
        .for_each(|(part, vertices)| sort_buckets(part, offsets, vertices));
}
