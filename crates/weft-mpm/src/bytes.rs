//! How much memory arrays take.

use weft::geometry::VoxelGrid;

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

/// Reckoned from the numbers of cells and leaves, as a grid does not say what it holds: two sets of
/// cells that take turns, and what its points are gathered in.
impl Bytes for VoxelGrid {
    fn bytes(&self) -> usize {
        let cells = self.cells();
        let (count, leaves) = (cells.cell_count(), cells.leaf_count());
        let table = 4 * (2 * leaves).next_power_of_two().max(64);
        // Coordinates; of each leaf two keys, a bit a cell, and where its numbers begin.
        let set = 12 * count + 100 * leaves + table;
        // Of each leaf a key and the bits, and an entry of the sorting.
        let gather = (72 + 16) * leaves + table;
        2 * set + gather
    }
}

/// Sum of the bytes of several arrays.
macro_rules! sum_of_bytes {
    ($($array:expr),* $(,)?) => {
        0 $(+ $crate::bytes::Bytes::bytes($array))*
    };
}
pub(crate) use sum_of_bytes;
