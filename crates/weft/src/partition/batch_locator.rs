//! [`BatchLocator`]: which cell of one copy holds a point.

use super::batch::Batch;
use crate::geometry::{Frozen, GeometryError, Location, Locator, Nearest, Search};

/// Finds cells of a [`Batch`] by environment and position, wherever the copies lie: in one place,
/// or moved. One [`Locator`] of the base serves all copies.
///
/// Positions are kept from when the locator was made.
#[derive(Clone, Debug)]
pub struct BatchLocator {
    base: Locator,
    offsets: Vec<[f64; 3]>,
}

impl BatchLocator {
    /// A locator for the present positions of a batch.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weft::geometry::{Grid2, Search};
    /// use weft::partition::{Batch, BatchLocator};
    ///
    /// let batch = Batch::new(Arc::new(Grid2::unit([2, 2])?), 3)?;
    /// let locator = BatchLocator::new(&batch);
    /// let found = locator.find(2, [0.1, 0.1, 0.0], 0.0)?;
    /// assert_eq!(found.map(|at| at.cell), Some(8));
    /// let nearest = locator.closest(1, [2.0, 0.1, 0.0], &Search::within(1.0))?;
    /// assert_eq!(nearest.map(|at| (at.cell, at.distance)), Some((6, 1.0)));
    /// # Ok::<(), weft::geometry::GeometryError>(())
    /// ```
    pub fn new(batch: &Batch) -> BatchLocator {
        // The base as the batch knows it, which may have changed since.
        let base = Frozen::at(&**batch.base(), batch.state().base.clone());
        BatchLocator {
            base: Locator::new(&base),
            offsets: batch.offsets().to_vec(),
        }
    }

    fn check(&self, environment: usize) -> Result<[f64; 3], GeometryError> {
        let offset = self.offsets.get(environment);
        offset.copied().ok_or(GeometryError::EnvironmentIndex {
            environment,
            count: self.offsets.len(),
        })
    }

    /// The smallest cell of a copy that holds `x`, as [`Locator::find`] says it.
    ///
    /// # Errors
    /// [`EnvironmentIndex`](GeometryError::EnvironmentIndex).
    pub fn find(
        &self,
        environment: usize,
        x: [f64; 3],
        tolerance: f64,
    ) -> Result<Option<Location>, GeometryError> {
        let offset = self.check(environment)?;
        let at = std::array::from_fn(|d| x[d] - offset[d]);
        let found = self.base.find(at, tolerance);
        Ok(found.map(|found| Location {
            cell: found.cell + environment * self.base.cell_count(),
            ..found
        }))
    }

    /// The nearest cell of a copy, as [`Locator::closest_with`] says it; filter and guess have the
    /// batch's numbers of cells.
    ///
    /// # Errors
    /// [`EnvironmentIndex`](GeometryError::EnvironmentIndex).
    pub fn closest(
        &self,
        environment: usize,
        x: [f64; 3],
        search: &Search,
    ) -> Result<Option<Nearest>, GeometryError> {
        let offset = self.check(environment)?;
        let first = environment * self.base.cell_count();
        let at = std::array::from_fn(|d| x[d] - offset[d]);
        let accepted = |cell: usize| search.filter.is_none_or(|filter| filter(first + cell));
        let inner = Search {
            max_dist: search.max_dist,
            filter: search.filter.is_some().then_some(&accepted),
            guess: search.guess.and_then(|guess| guess.checked_sub(first)),
        };
        let found = self.base.closest_with(at, &inner);
        Ok(found.map(|found| Nearest {
            cell: first + found.cell,
            position: std::array::from_fn(|d| found.position[d] + offset[d]),
            ..found
        }))
    }
}
