//! Node coordinates and the map from Gmsh's sparse node tags to positions.

use super::error::GmshError;
use super::scan::Cursor;

/// Nodes in file order.
#[derive(Default)]
pub(super) struct Nodes {
    pub points: Vec<[f64; 3]>,
    pub tags: Vec<u64>,
    /// First node of each block and the block's byte offset.
    pub blocks: Vec<(usize, usize)>,
    lookup: Lookup,
}

/// Tag to position. A table costs no more than a few words a node, else a sorted list.
#[derive(Default)]
enum Lookup {
    #[default]
    Empty,
    Table {
        first: u64,
        positions: Vec<u32>,
    },
    Sorted(Vec<(u64, u32)>),
}

const MISSING: u32 = u32::MAX;

/// The block that holds item `item`; `blocks` is sorted by first item.
pub(super) fn block_offset(blocks: &[(usize, usize)], item: usize) -> usize {
    let after = blocks.partition_point(|&(first, _)| first <= item);
    after.checked_sub(1).map_or(0, |i| blocks[i].1)
}

impl Nodes {
    /// Adds a node whose coordinates come next in the file.
    pub fn push(&mut self, file: &mut Cursor<'_>, tag: u64) -> Result<(), GmshError> {
        let mut point = [0.0; 3];
        for x in &mut point {
            let at = file.next_at();
            *x = file.float("a node coordinate")?;
            if !x.is_finite() {
                return Err(GmshError::NotFinite {
                    place: file.place(at),
                    node: tag,
                    value: *x,
                });
            }
        }
        if self.points.len() >= MISSING as usize {
            return Err(GmshError::TooMany {
                place: file.place(file.at()),
                what: "nodes",
            });
        }
        self.points.push(point);
        Ok(())
    }

    /// Builds the map; an error names a tag that occurs twice.
    pub fn index(&mut self, file: &Cursor<'_>) -> Result<(), GmshError> {
        debug_assert_eq!(self.tags.len(), self.points.len());
        let (Some(&first), Some(&last)) = (self.tags.iter().min(), self.tags.iter().max()) else {
            return Ok(());
        };
        let duplicate = |item: usize, tag| GmshError::DuplicateNode {
            place: file.place(block_offset(&self.blocks, item)),
            tag,
        };
        let limit = 4 * self.tags.len() as u64 + 1024;
        self.lookup = if last - first < limit {
            let mut positions = vec![MISSING; (last - first) as usize + 1];
            for (i, &tag) in self.tags.iter().enumerate() {
                let entry = &mut positions[(tag - first) as usize];
                if *entry != MISSING {
                    return Err(duplicate(i, tag));
                }
                *entry = i as u32;
            }
            Lookup::Table { first, positions }
        } else {
            let mut sorted: Vec<_> = self.tags.iter().zip(0u32..).map(|(&t, i)| (t, i)).collect();
            sorted.sort_unstable();
            if let Some(w) = sorted.windows(2).find(|w| w[0].0 == w[1].0) {
                return Err(duplicate(w[1].1 as usize, w[1].0));
            }
            Lookup::Sorted(sorted)
        };
        Ok(())
    }

    /// Position of the node with this tag.
    #[inline]
    pub fn find(&self, tag: u64) -> Option<u32> {
        match &self.lookup {
            Lookup::Empty => None,
            Lookup::Table { first, positions } => {
                let offset = usize::try_from(tag.checked_sub(*first)?).ok()?;
                positions.get(offset).copied().filter(|&p| p != MISSING)
            }
            Lookup::Sorted(sorted) => sorted
                .binary_search_by_key(&tag, |e| e.0)
                .ok()
                .map(|i| sorted[i].1),
        }
    }
}
