//! Refinement, coarsening and the 2:1 rule.

use rayon::prelude::*;

use super::cells::{Cells, volume};
use super::morton::decode;
use super::{GeometryError, MAX_LEVEL};

/// Which neighbours may differ by one level at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Grading {
    /// Any levels next to each other.
    #[default]
    None,
    /// Cells with a common part of a face.
    Face,
    /// Cells with a common point.
    Vertex,
}

/// What [`adapted`](super::AdaptiveVoxelGrid::adapted) is to do with a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Cut it into eight.
    Refine,
    /// Leave it, unless the grading needs smaller cells here.
    Keep,
    /// Join it with its seven siblings, if they all agree and the grading allows it.
    Coarsen,
}

impl Grading {
    /// Whether cells that lie apart like this are neighbours; each offset is -1, 0 or 1.
    fn counts(self, offset: [i32; 3]) -> bool {
        match (self, offset.iter().filter(|&&o| o != 0).count()) {
            (Grading::None, _) | (_, 0) => false,
            (Grading::Face, axes) => axes == 1,
            (Grading::Vertex, _) => true,
        }
    }

    fn offsets(self) -> Vec<[i32; 3]> {
        (0..27)
            .map(|i| [i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1])
            .filter(|&offset| self.counts(offset))
            .collect()
    }
}

/// Which of the given cells have which neighbours that are too large, as (small, large).
fn conflicts(cells: &Cells, small: &[u32], grading: Grading) -> Vec<[u32; 2]> {
    let offsets = grading.offsets();
    small
        .par_iter()
        .with_min_len(1024)
        .flat_map_iter(|&small| {
            let cell = small as usize;
            let (origin, size) = (cells.origin(cell), cells.size(cell));
            let level = cells.level(cell);
            // A larger neighbour holds the whole block of this size next door.
            offsets.iter().filter_map(move |offset| {
                let near = std::array::from_fn(|d| origin[d] + offset[d] * size);
                let other = cells.find(near)?;
                (cells.level(other) > level + 1).then_some([small, other as u32])
            })
        })
        .collect()
}

/// The coarsest refinement that satisfies the grading.
pub fn graded(cells: Cells, grading: Grading) -> Result<Cells, GeometryError> {
    let all = (0..cells.len() as u32).collect();
    graded_around(cells, all, grading)
}

/// The same where only `fresh` cells can be too small for their neighbours.
fn graded_around(
    mut cells: Cells,
    mut fresh: Vec<u32>,
    grading: Grading,
) -> Result<Cells, GeometryError> {
    if grading == Grading::None {
        return Ok(cells);
    }
    loop {
        let conflicts = conflicts(&cells, &fresh, grading);
        if conflicts.is_empty() {
            return Ok(cells);
        }
        let mut flags = vec![false; cells.len()];
        let mut asked = vec![false; cells.len()];
        for [small, large] in conflicts {
            asked[small as usize] = true;
            flags[large as usize] = true;
        }
        let split = cells.split(&flags)?;
        // Besides the children, the cells that asked: a neighbour may still be too large.
        fresh.clear();
        let mut place = 0;
        for (&flag, &asked) in flags.iter().zip(&asked) {
            let count = if flag { 8 } else { 1 };
            if flag || asked {
                fresh.extend(place..place + count);
            }
            place += count;
        }
        cells = split;
    }
}

/// Indices of the children after [`Cells::split`].
fn children(flags: &[bool]) -> Vec<u32> {
    let (mut children, mut place) = (Vec::new(), 0);
    for &flag in flags {
        if flag {
            children.extend(place..place + 8);
        }
        place += if flag { 8 } else { 1 };
    }
    children
}

/// Refines, grades, then joins families from the finest level up. No cell of level 0 may be
/// marked for refinement, and the grading must hold.
pub fn adapted(cells: &Cells, marks: &[Mark], grading: Grading) -> Result<Cells, GeometryError> {
    let flags: Vec<bool> = marks.iter().map(|&m| m == Mark::Refine).collect();
    let mut new = graded_around(cells.split(&flags)?, children(&flags), grading)?;
    let mut joins: Vec<bool> = (0..new.len())
        .map(|cell| {
            let old = cells.rank(new.keys()[cell]);
            old < cells.len()
                && cells.keys()[old] == new.keys()[cell]
                && cells.level(old) == new.level(cell)
                && marks[old] == Mark::Coarsen
        })
        .collect();
    for level in 0..MAX_LEVEL as u8 {
        let families: Vec<usize> = (0..new.len())
            .into_par_iter()
            .with_min_len(1024)
            .filter(|&first| {
                is_family(&new, &joins, first, level) && may_join(&new, first, level, grading)
            })
            .collect();
        if families.is_empty() {
            continue;
        }
        let (mut keys, mut levels) = (Vec::new(), Vec::new());
        let (mut kept, mut cell) = (Vec::new(), 0);
        let mut families = families.into_iter().peekable();
        while cell < new.len() {
            let joined = families.next_if_eq(&cell).is_some();
            keys.push(new.keys()[cell]);
            levels.push(new.level(cell) + u8::from(joined));
            kept.push(!joined && joins[cell]);
            cell += if joined { 8 } else { 1 };
        }
        new = Cells::from_sorted(keys, levels);
        joins = kept;
    }
    Ok(new)
}

/// Whether eight siblings of this level that agree begin at a cell.
fn is_family(cells: &Cells, joins: &[bool], first: usize, level: u8) -> bool {
    let size = volume(level);
    let key = cells.keys()[first];
    // Lattice coordinates are offset by a multiple of the largest cell, so codes are aligned.
    key.is_multiple_of(8 * size)
        && first + 8 <= cells.len()
        && (0..8).all(|i| {
            joins[first + i]
                && cells.level(first + i) == level
                && cells.keys()[first + i] == key + i as u64 * size
        })
}

/// Whether no cell next to the family is two levels finer than their parent. As the grading
/// holds, such a cell is one level finer than the family.
fn may_join(cells: &Cells, first: usize, level: u8, grading: Grading) -> bool {
    if level == 0 || grading == Grading::None {
        return true;
    }
    let origin = decode(cells.keys()[first]);
    let (finer, size) = (level - 1, 1 << (level - 1));
    let side = |step: i32| match step {
        -1 => -1,
        4 => 1,
        _ => 0,
    };
    (0..216).all(|i| {
        let step = [i / 36 - 1, i / 6 % 6 - 1, i % 6 - 1];
        !grading.counts(step.map(side))
            || cells
                .find(std::array::from_fn(|d| origin[d] + step[d] * size))
                .is_none_or(|other| cells.level(other) > finer)
    })
}
