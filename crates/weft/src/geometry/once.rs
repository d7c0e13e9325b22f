//! Tables made when first asked for.

use std::sync::OnceLock;

/// What is in `cell`, made by `make` if it is vacant.
///
/// It is made before the cell is entered: work on rayon's pool inside of it could deadlock, as a
/// worker that waits may steal a task which asks for the same cell. Two threads may so both make
/// it; one result is kept.
pub(in crate::geometry) fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(made) => made,
        None => {
            let new = make();
            cell.get_or_init(|| new)
        }
    }
}
