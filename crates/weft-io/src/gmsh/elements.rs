//! Elements as they stand in the file: nodes by element type, and which belong to which group.

use std::collections::BTreeMap;

use super::error::GmshError;
use super::kinds::{self, ElementType, TYPE_COUNT};
use super::nodes::{Nodes, block_offset};
use super::scan::Cursor;

/// A range of the elements of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Position of the type in the table of types.
    pub slot: usize,
    pub start: usize,
    pub end: usize,
}

/// The elements of one type.
#[derive(Default)]
pub(super) struct Store {
    /// Positions of the nodes, so many for each element.
    pub nodes: Vec<u32>,
    pub tags: Vec<u64>,
}

/// All elements of a file.
pub(super) struct Elements {
    /// By position in the table of types.
    pub stores: Vec<Store>,
    /// Physical groups by dimension and absolute tag.
    pub groups: BTreeMap<(usize, u64), Vec<Span>>,
    /// First element of each block, counted over all types, and the block's byte offset.
    blocks: Vec<(usize, usize)>,
    count: usize,
}

impl Elements {
    pub fn new() -> Self {
        Elements {
            stores: (0..TYPE_COUNT).map(|_| Store::default()).collect(),
            groups: BTreeMap::new(),
            blocks: Vec::new(),
            count: 0,
        }
    }

    /// How many elements of a type there are.
    pub fn len(&self, slot: usize) -> usize {
        self.stores[slot].tags.len()
    }

    /// How many elements were read, before equal ones were merged.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Notes that a block starts at byte `at`.
    pub fn start_block(&mut self, at: usize) {
        self.blocks.push((self.count, at));
    }

    /// Makes room for the elements of a block.
    pub fn reserve(&mut self, slot: usize, count: usize) {
        let store = &mut self.stores[slot];
        store.tags.reserve(count);
        store.nodes.reserve(count * kinds::get(slot).nodes);
    }

    /// Reads the nodes of an element whose tag is already read.
    #[inline]
    pub fn push(
        &mut self,
        file: &mut Cursor<'_>,
        slot: usize,
        tag: u64,
        nodes: &Nodes,
        node_tag: impl Fn(&mut Cursor<'_>) -> Result<u64, GmshError>,
    ) -> Result<(), GmshError> {
        let store = &mut self.stores[slot];
        for _ in 0..kinds::get(slot).nodes {
            let at = file.at();
            let node = node_tag(file)?;
            let Some(position) = nodes.find(node) else {
                // Only here is it worth knowing where the number itself starts.
                let at = if file.binary {
                    at
                } else {
                    file.at().saturating_sub(1)
                };
                return Err(GmshError::UnknownNode {
                    place: file.place(at),
                    element: tag,
                    node,
                });
            };
            store.nodes.push(position);
        }
        if self.count >= u32::MAX as usize {
            return Err(GmshError::TooMany {
                place: file.place(file.at()),
                what: "elements",
            });
        }
        store.tags.push(tag);
        self.count += 1;
        Ok(())
    }

    /// Drops the last element of a type if it has the nodes of the one before it: version 2.2
    /// writes an element once for each of its groups.
    pub fn merge_last(&mut self, slot: usize) {
        let n = kinds::get(slot).nodes;
        let store = &mut self.stores[slot];
        let len = store.nodes.len();
        if len >= 2 * n && store.nodes[len - n..] == store.nodes[len - 2 * n..len - n] {
            store.nodes.truncate(len - n);
            store.tags.pop();
        }
    }

    /// Puts the elements of a span into a physical group.
    pub fn add_to_group(&mut self, group: (usize, u64), span: Span) {
        if span.start == span.end {
            return;
        }
        let spans = self.groups.entry(group).or_default();
        match spans.last_mut() {
            Some(last)
                if last.slot == span.slot && last.end >= span.start && last.start <= span.start =>
            {
                last.end = last.end.max(span.end);
            }
            _ => spans.push(span),
        }
    }

    /// An error if two elements have one tag. `tags` holds them all in file order.
    pub fn check_tags(&self, file: &Cursor<'_>, tags: Vec<u64>) -> Result<(), GmshError> {
        if tags.windows(2).all(|w| w[0] < w[1]) {
            return Ok(());
        }
        let mut order: Vec<u32> = (0..tags.len() as u32).collect();
        order.sort_unstable_by_key(|&i| (tags[i as usize], i));
        let same = |w: &&[u32]| tags[w[0] as usize] == tags[w[1] as usize];
        match order.windows(2).find(same) {
            None => Ok(()),
            Some(w) => Err(GmshError::DuplicateElement {
                place: file.place(block_offset(&self.blocks, w[1] as usize)),
                tag: tags[w[1] as usize],
            }),
        }
    }

    /// Types that occur, lowest number first.
    pub fn used(&self) -> impl Iterator<Item = (usize, &'static ElementType)> {
        (0..TYPE_COUNT)
            .filter(|&s| self.len(s) > 0)
            .map(|s| (s, kinds::get(s)))
    }
}
