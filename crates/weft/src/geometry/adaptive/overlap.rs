//! How the cells of two grids on one lattice lie in each other.

use std::ops::Range;

use rayon::prelude::*;

use super::cells::Cells;

/// What a cell of a new grid was in an old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lineage {
    /// The same cell.
    Same(u32),
    /// A part of this larger cell, one or more levels up.
    ChildOf(u32),
    /// It holds these smaller cells (which fill it unless the old grid had gaps).
    ParentOf(Range<u32>),
    /// No old cell was here.
    New,
}

/// Common part of a new cell and an old one; it is the whole of the smaller of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The old cell.
    pub old: u32,
    /// Size of the new cell in units of the old one: a power of two.
    pub scale: f64,
    /// Reference coordinates in the old cell of the new cell's origin.
    pub offset: [f64; 3],
    /// Volume of the common part as a fraction of the new cell's.
    pub share: f64,
}

impl Overlap {
    /// From reference coordinates of the new cell to those of the old one.
    pub fn to_old(&self, xi: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|d| self.offset[d] + self.scale * xi[d])
    }

    /// From reference coordinates of the old cell to those of the new one.
    pub fn to_new(&self, xi: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|d| (xi[d] - self.offset[d]) / self.scale)
    }
}

/// For each new cell the old cells that lie in it or hold it.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlaps {
    offsets: Vec<usize>,
    items: Vec<Overlap>,
}

impl Overlaps {
    /// Number of new cells.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no new cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Overlaps of new cell `cell`, by old cell. Their shares sum to 1 where the old grid had
    /// no gaps.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn of(&self, cell: usize) -> &[Overlap] {
        &self.items[self.offsets[cell]..self.offsets[cell + 1]]
    }
}

/// Both on one lattice.
pub fn lineage(new: &Cells, old: &Cells) -> Vec<Lineage> {
    (0..new.len())
        .into_par_iter()
        .with_min_len(1024)
        .map(|cell| {
            let (start, end) = (new.keys()[cell], new.end(cell));
            match old.find_code(start) {
                Some(held) if old.level(held) == new.level(cell) => Lineage::Same(held as u32),
                Some(held) if old.level(held) > new.level(cell) => Lineage::ChildOf(held as u32),
                _ => match (old.rank(start), old.rank(end)) {
                    (low, high) if low < high => Lineage::ParentOf(low as u32..high as u32),
                    _ => Lineage::New,
                },
            }
        })
        .collect()
}

/// Both on one lattice.
pub fn overlaps(new: &Cells, old: &Cells) -> Overlaps {
    let mut offsets = vec![0];
    let mut items = Vec::new();
    for (cell, lineage) in lineage(new, old).into_iter().enumerate() {
        let range = match lineage {
            Lineage::Same(old) | Lineage::ChildOf(old) => old..old + 1,
            Lineage::ParentOf(range) => range,
            Lineage::New => 0..0,
        };
        let (origin, size) = (new.origin(cell), f64::from(new.size(cell)));
        for i in range {
            let (old_origin, old_size) = (old.origin(i as usize), f64::from(old.size(i as usize)));
            items.push(Overlap {
                old: i,
                scale: size / old_size,
                offset: std::array::from_fn(|d| f64::from(origin[d] - old_origin[d]) / old_size),
                share: (old_size / size).min(1.0).powi(3),
            });
        }
        offsets.push(items.len());
    }
    Overlaps { offsets, items }
}
