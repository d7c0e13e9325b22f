//! How much memory arrays take.

use weft::geometry::{VoxelCells, VoxelGrid};

/// What owns arrays.
pub(crate) trait Bytes {
    /// Bytes of the arrays, with room kept for later.
    fn bytes(&self) -> usize;
}

impl<T> Bytes for Vec<T> {
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T: Bytes> Bytes for Option<T> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, T::bytes)
    }
}

impl<T: Bytes, const N: usize> Bytes for [T; N] {
    fn bytes(&self) -> usize {
        self.iter().map(T::bytes).sum()
    }
}

/// Room for cells and leaves of 8³ in a voxel grid, from which its bytes are reckoned: a grid does
/// not say what it holds. Its arrays never shrink, and grow as a `Vec` does.
#[derive(Debug, Default)]
pub(crate) struct Room {
    cells: usize,
    leaves: usize,
}

impl Room {
    /// Notes how large a grid is now.
    pub fn see(&mut self, grid: &VoxelGrid) {
        let cells = grid.cells();
        for (room, count) in [
            (&mut self.cells, cells.cell_count()),
            (&mut self.leaves, cells.leaf_count()),
        ] {
            if count > *room {
                *room = count.max(2 * *room);
            }
        }
    }
}

/// Two sets of cells that take turns, and what points are gathered in.
impl Bytes for Room {
    fn bytes(&self) -> usize {
        if self.cells == 0 {
            return 0;
        }
        let table = 4 * (2 * self.leaves).next_power_of_two().max(64);
        // Coordinates; of each leaf two keys, a bit a cell, and where its numbers begin.
        let set = 12 * self.cells + 100 * self.leaves + table;
        // Of each leaf a key and the bits, and an entry of the sorting.
        let gather = (72 + 16) * self.leaves + table;
        2 * (size_of::<VoxelCells>() + set) + gather
    }
}

/// Sum of the bytes of several arrays.
macro_rules! sum_of_bytes {
    ($($array:expr),* $(,)?) => {
        0 $(+ $crate::bytes::Bytes::bytes($array))*
    };
}
pub(crate) use sum_of_bytes;

/// Makes a struct [`Bytes`] by its fields: those that own arrays, and those without.
macro_rules! bytes_of {
    ($type:ty: $($own:ident),* $(without $($other:ident),*)?) => {
        impl $crate::bytes::Bytes for $type {
            fn bytes(&self) -> usize {
                let Self { $($own,)* $($($other: _,)*)? } = self;
                $crate::bytes::sum_of_bytes!($($own),*)
            }
        }
    };
}
pub(crate) use bytes_of;
