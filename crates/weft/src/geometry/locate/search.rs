//! What a closest-point search may be told.

/// Limits of a search for the nearest cell: how far, among which cells, and where to look first.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// Cells farther than this are not found; may be infinite.
    pub max_dist: f64,
    /// Cells for which this is false are not found.
    pub filter: Option<&'a (dyn Fn(usize) -> bool + Sync)>,
    /// A cell that is likely near. It makes the search faster and never changes the answer;
    /// one that does not exist is ignored.
    pub guess: Option<usize>,
}

impl<'a> Search<'a> {
    /// Cells up to this distance.
    pub fn within(max_dist: f64) -> Search<'a> {
        Search {
            max_dist,
            filter: None,
            guess: None,
        }
    }

    /// The same, among the cells that `filter` accepts. A mask is `&|cell| mask[cell]`.
    pub fn among(self, filter: &'a (dyn Fn(usize) -> bool + Sync)) -> Search<'a> {
        Search {
            filter: Some(filter),
            ..self
        }
    }

    /// The same, looking at cell `guess` first.
    pub fn near(self, guess: usize) -> Search<'a> {
        Search {
            guess: Some(guess),
            ..self
        }
    }
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("max_dist", &self.max_dist)
            .field("filter", &self.filter.is_some())
            .field("guess", &self.guess)
            .finish()
    }
}
