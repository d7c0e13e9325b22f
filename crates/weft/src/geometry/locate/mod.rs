//! Point location: which cell holds a point, and which cell is nearest to it.
//!
//! [`Locator`] answers for a snapshot of a geometry: by arithmetic on grids, by a tree of boxes
//! on everything else. Cells may be straight or curved, in the plane, in space or embedded.
//! [`closest_point`] measures a single cell from its raw nodes, [`locate`] looks at all cells
//! without a tree.
//!
//! The invariant: an answer depends on the positions and the point alone, not on the tree, the
//! number of threads or earlier questions. Of several cells at the same distance (up to rounding,
//! at shared vertices, edges and sides) the smallest is returned.

mod bounds;
mod bvh;
mod cells;
mod facets;
mod general;
mod lattice;
mod many;
mod search;
mod shape;
mod simplex;
mod tree;
pub(in crate::geometry) mod vector;

use super::{Geometry, GeometryId, MapClass};
use crate::element::CellKind;
use bvh::Visit;
use cells::{BoundsWork, Cells};
use general::Work;
use lattice::Planes;
use tree::{Tree, limit2};
use vector::Vec3;

pub(in crate::geometry) use many::fill;
pub use search::Search;
pub(in crate::geometry) use simplex::{Hit, INTERIOR};

/// Coordinates above this have squares that overflow; such points are near nothing.
const FARTHEST: f64 = 1e150;

/// A cell and reference coordinates in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// The cell.
    pub cell: usize,
    /// Reference coordinates, inside the cell or on its boundary.
    pub xi: [f64; 3],
}

/// The nearest cell and the point of it that is closest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// The cell.
    pub cell: usize,
    /// Reference coordinates of the closest point, inside the cell or on its boundary.
    pub xi: [f64; 3],
    /// The closest point.
    pub position: [f64; 3],
    /// Its distance; 0 if it cannot be told from 0 in rounding.
    pub distance: f64,
}

/// Why a locator could not be refitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LocateError {
    /// The geometry's cells are not those that the tree was built over.
    #[error(
        "the locator was built over {built} {}s of degree {degree} with other nodes than the {found} cells now; rebuild it",
        kind.name()
    )]
    CellsChanged {
        /// Kind of the cells at the time.
        kind: CellKind,
        /// Degree of their map at the time.
        degree: usize,
        /// Number of cells at the time.
        built: usize,
        /// Number of cells now.
        found: usize,
    },
}

/// Finds cells by position.
///
/// A locator keeps the positions it was built from: when the geometry moves, the answers stay
/// those of before until [`refit`](Self::refit).
///
/// ```
/// use weft::geometry::{Locator, shapes};
///
/// let sphere = shapes::sphere(3)?;
/// let locator = Locator::new(&sphere);
/// let nearest = locator.closest([0.0, 0.0, 3.0], f64::INFINITY);
/// assert!(nearest.is_some_and(|n| (n.distance - 2.0).abs() < 0.01));
/// assert_eq!(locator.closest([0.0, 0.0, 3.0], 1.5), None);
/// # Ok::<(), weft::geometry::GeometryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Locator {
    id: GeometryId,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Grid(Planes),
    Tree(Box<Tree>),
}

/// Arrays of one search, kept for the next one on the same thread.
#[derive(Debug, Default)]
pub(in crate::geometry) struct Scratch {
    stack: Vec<Visit>,
    work: Work,
}

/// Runs `f` with this thread's scratch arrays. A search from within `f` gets new ones.
pub(in crate::geometry) fn with_scratch<T>(f: impl FnOnce(&mut Scratch) -> T) -> T {
    thread_local! {
        static KEPT: std::cell::Cell<Option<Box<Scratch>>> = const { std::cell::Cell::new(None) };
    }
    let mut scratch = KEPT.take().unwrap_or_default();
    let result = f(&mut scratch);
    KEPT.set(Some(scratch));
    result
}

impl Locator {
    /// A locator for the present positions of the cells.
    pub fn new(geometry: &dyn Geometry) -> Locator {
        let place = match uniform_lattice(geometry) {
            Some(cells) => {
                let map = geometry.map();
                // A grid has at least one cell, and its nodes run from corner to corner.
                let corner = |x: Option<&Vec3>| x.copied().unwrap_or_default();
                Place::Grid(Planes {
                    dim: geometry.cell_kind().dim(),
                    cells,
                    lower: corner(map.nodes.first()),
                    upper: corner(map.nodes.last()),
                })
            }
            None => Place::Tree(Box::new(Tree::new(geometry))),
        };
        Locator {
            id: geometry.id(),
            place,
        }
    }

    /// Identity of the geometry the locator was built from.
    pub fn geometry_id(&self) -> GeometryId {
        self.id
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        match &self.place {
            Place::Grid(planes) => planes.cells.iter().product(),
            Place::Tree(tree) => tree.cells.count(),
        }
    }

    /// Follows cells that moved: the tree keeps its shape and memory and gets new boxes. Answers are the same as from a new locator; after large motions they come
    /// more slowly.
    ///
    /// # Errors
    /// [`CellsChanged`](LocateError::CellsChanged) if the cells are not the same ones; the
    /// locator is then as it was.
    pub fn refit(&mut self, geometry: &dyn Geometry) -> Result<(), LocateError> {
        match &mut self.place {
            // Grids never move; another one is as quickly taken over.
            Place::Grid(_) => {
                let new = Locator::new(geometry);
                match (&self.place, &new.place) {
                    (Place::Grid(a), Place::Grid(b)) if a.cells == b.cells && a.dim == b.dim => {
                        *self = new;
                        Ok(())
                    }
                    (Place::Grid(a), _) => Err(LocateError::CellsChanged {
                        kind: [CellKind::Quad, CellKind::Hex][usize::from(a.dim == 3)],
                        degree: 1,
                        built: a.cells.iter().product(),
                        found: new.cell_count(),
                    }),
                    _ => Ok(()),
                }
            }
            Place::Tree(tree) => {
                tree.refit(geometry)?;
                self.id = geometry.id();
                Ok(())
            }
        }
    }

    /// Builds the locator anew, for other cells or after large motions.
    pub fn rebuild(&mut self, geometry: &dyn Geometry) {
        *self = Locator::new(geometry);
    }

    /// The smallest cell that holds `x`. A cell holds the points whose distance from it is at
    /// most `tolerance` times the cell's size (the largest extent of the box of its nodes);
    /// 0 stands for a tolerance that is negative or no number. The reference coordinates are
    /// those of the closest point of the cell.
    ///
    /// Allocates nothing after the first search of a thread.
    pub fn find(&self, x: [f64; 3], tolerance: f64) -> Option<Location> {
        with_scratch(|scratch| self.find_in(x, tolerance, None, scratch))
    }

    /// As [`find`](Self::find), among the cells that `filter` accepts.
    pub fn find_among(
        &self,
        x: [f64; 3],
        tolerance: f64,
        filter: &(dyn Fn(usize) -> bool + Sync),
    ) -> Option<Location> {
        with_scratch(|scratch| self.find_in(x, tolerance, Some(filter), scratch))
    }

    /// The nearest cell to `x` at a distance of at most `max_dist` (which may be infinite), the
    /// smallest of several at the same distance up to rounding; `None` if there is none, if `max_dist` is negative or no number, or
    /// if a coordinate is not finite (or past 1e150).
    ///
    /// Allocates nothing after the first search of a thread.
    pub fn closest(&self, x: [f64; 3], max_dist: f64) -> Option<Nearest> {
        self.closest_with(x, &Search::within(max_dist))
    }

    /// As [`closest`](Self::closest), with a filter or a guess.
    pub fn closest_with(&self, x: [f64; 3], search: &Search) -> Option<Nearest> {
        with_scratch(|scratch| self.closest_in(x, search, scratch))
            .map(|(cell, hit)| nearest(cell, &hit))
    }

    fn find_in(
        &self,
        x: Vec3,
        tolerance: f64,
        filter: Option<&(dyn Fn(usize) -> bool + Sync)>,
        scratch: &mut Scratch,
    ) -> Option<Location> {
        if !within_reach(x) {
            return None;
        }
        let tolerance = tolerance.max(0.0);
        match (&self.place, filter) {
            (Place::Grid(planes), None) => {
                let cell = planes.find(x, tolerance)?;
                let (xi, ..) = planes.closest_of(cell, x);
                Some(Location { cell, xi })
            }
            (Place::Grid(planes), Some(filter)) => {
                // Cells within the tolerance are few unless it is large.
                planes.find_accepted(x, tolerance, filter).map(|cell| {
                    let (xi, ..) = planes.closest_of(cell, x);
                    Location { cell, xi }
                })
            }
            (Place::Tree(tree), filter) => tree.find(x, tolerance, filter, scratch),
        }
    }

    pub(in crate::geometry) fn closest_in(
        &self,
        x: Vec3,
        search: &Search,
        scratch: &mut Scratch,
    ) -> Option<(usize, Hit)> {
        if !within_reach(x) || search.max_dist.is_nan() || search.max_dist < 0.0 {
            return None;
        }
        let found = match &self.place {
            Place::Grid(planes) => {
                let limit2 = limit2(search.max_dist);
                let cell = match search.filter {
                    None => planes.nearest(x),
                    Some(filter) => planes.nearest_accepted(x, limit2, &|cell| filter(cell))?,
                };
                let (xi, position, distance2) = planes.closest_of(cell, x);
                let hit = Hit {
                    xi,
                    position,
                    distance2,
                    feature: INTERIOR,
                };
                Some((cell, hit))
            }
            Place::Tree(tree) => tree.closest(x, search, scratch),
        };
        found.filter(|(_, hit)| hit.distance2.sqrt() <= search.max_dist)
    }
}

fn within_reach(x: Vec3) -> bool {
    x.iter().all(|c| c.abs() <= FARTHEST)
}

fn nearest(cell: usize, hit: &Hit) -> Nearest {
    Nearest {
        cell,
        xi: hit.xi,
        position: hit.position,
        distance: hit.distance2.sqrt(),
    }
}

/// The point closest to `x` of a cell given by the positions of its nodes (in Lagrange numbering
/// of `degree` on equispaced nodes), in a space of `space_dim` dimensions. The cell may be
/// degenerate: without length, area or volume. `None` if the number of nodes or a dimension does
/// not fit, or the degree is not from 1 to 10. The result's `cell` is 0.
pub fn closest_point(
    kind: CellKind,
    degree: usize,
    space_dim: usize,
    nodes: &[[f64; 3]],
    x: [f64; 3],
) -> Option<Nearest> {
    let fits = (1..=10).contains(&degree)
        && (kind.dim()..=3).contains(&space_dim)
        && kind != CellKind::Point
        && nodes.len() == super::equispaced::node_count(kind, degree)
        && within_reach(x);
    fits.then(|| {
        nearest(
            0,
            &cells::closest_on_cell(kind, degree, space_dim, nodes, x),
        )
    })
}

/// A box around cell `cell`, from its lower to its upper corner: of straight cells that of the
/// vertices, of curved ones that of their Bézier points, both wider by rounding errors. Past the space
/// dimension it is 0. `None` if there is no such cell.
pub fn cell_bounds(geometry: &dyn Geometry, cell: usize) -> Option<[[f64; 3]; 2]> {
    let cells = Cells::new(geometry);
    let axes = geometry.space_dim();
    (cell < cells.count()).then(|| {
        let bounds = cells.bounds(cell, &mut BoundsWork::default());
        [bounds.lower, bounds.upper]
            .map(|corner| std::array::from_fn(|d| if d < axes { corner[d] } else { 0.0 }))
    })
}

/// The first cell that holds `x`, with its reference coordinates, as
/// [`Locator::find`] says it. Looks at every cell, so for many points build a [`Locator`].
pub fn locate(geometry: &dyn Geometry, x: [f64; 3], tolerance: f64) -> Option<(usize, [f64; 3])> {
    if uniform_lattice(geometry).is_some() {
        let found = Locator::new(geometry).find(x, tolerance)?;
        return Some((found.cell, found.xi));
    }
    if !within_reach(x) {
        return None;
    }
    let tolerance = tolerance.max(0.0);
    let cells = Cells::new(geometry);
    let mut bounds_work = BoundsWork::default();
    with_scratch(|scratch| {
        (0..cells.count()).find_map(|cell| {
            let limit = tolerance * cells.size(cell);
            let bounds = cells.bounds(cell, &mut bounds_work);
            if bounds.distance2(x).sqrt() > limit {
                return None;
            }
            let hit = cells.closest(cell, x, limit2(limit), &mut scratch.work);
            (hit.distance2.sqrt() <= limit).then_some((cell, hit.xi))
        })
    })
}

/// Cells per axis of a grid whose cells lie where arithmetic says: a deformed grid has a lattice
/// of nodes, but its cells may be anywhere.
fn uniform_lattice(geometry: &dyn Geometry) -> Option<[usize; 3]> {
    geometry
        .lattice()
        .filter(|_| geometry.map_class() == MapClass::Uniform)
}
