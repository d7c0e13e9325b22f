//! Searches for many points, in parallel on the current rayon pool.
//!
//! Each answer depends on its point alone, so the number of threads changes nothing.

use rayon::prelude::*;

use super::{Location, Locator, Nearest, Search, nearest, with_scratch};

/// Points searched by one task.
const CHUNK: usize = 256;

/// Fills `out` chunk by chunk: `each` gets the scratch arrays and the number of a point.
pub(in crate::geometry) fn fill<T: Send>(
    out: &mut [T],
    each: impl Fn(usize, &mut super::Scratch) -> T + Sync,
) {
    let chunks = out.par_chunks_mut(CHUNK).enumerate();
    chunks.for_each(|(chunk, out)| {
        with_scratch(|scratch| {
            for (i, slot) in out.iter_mut().enumerate() {
                *slot = each(chunk * CHUNK + i, scratch);
            }
        });
    });
}

impl Locator {
    /// [`find`](Self::find) for each of `points`. Allocates nothing after the first search of
    /// each thread.
    ///
    /// # Panics
    /// If `out` is not as long as `points`.
    pub fn find_many(&self, points: &[[f64; 3]], tolerance: f64, out: &mut [Option<Location>]) {
        assert_eq!(points.len(), out.len(), "one answer per point");
        fill(out, |i, scratch| {
            self.find_in(points[i], tolerance, None, scratch)
        });
    }

    /// [`closest`](Self::closest) for each of `points`. Allocates nothing after the first
    /// search of each thread.
    ///
    /// # Panics
    /// If `out` is not as long as `points`.
    pub fn closest_many(&self, points: &[[f64; 3]], max_dist: f64, out: &mut [Option<Nearest>]) {
        self.closest_many_with(points, &Search::within(max_dist), &[], out);
    }

    /// [`closest_with`](Self::closest_with) for each of `points`, with the guess `guesses[i]`
    /// for point `i` where there are guesses (cells of the last step, say).
    ///
    /// # Panics
    /// If `out` is not as long as `points`, or `guesses` is neither as long nor empty.
    pub fn closest_many_with(
        &self,
        points: &[[f64; 3]],
        search: &Search,
        guesses: &[usize],
        out: &mut [Option<Nearest>],
    ) {
        assert_eq!(points.len(), out.len(), "one answer per point");
        let guessed = !guesses.is_empty();
        assert!(
            !guessed || guesses.len() == points.len(),
            "one guess per point"
        );
        fill(out, |i, scratch| {
            let search = match guessed {
                true => search.near(guesses[i]),
                false => *search,
            };
            let found = self.closest_in(points[i], &search, scratch);
            found.map(|(cell, hit)| nearest(cell, &hit))
        });
    }
}
