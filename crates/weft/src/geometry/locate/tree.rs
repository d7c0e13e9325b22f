//! Location by a tree of boxes.

use std::ops::Range;
use std::sync::Arc;

use fearless_simd::{Level, Simd, dispatch};

use super::bvh::{Bvh, LEAF, Leaves, Limit, NONE};
use super::cells::{BoundsWork, Cells};
use super::facets::{Lane, tet_distances2, triangle_distances2};
use super::general::Work;
use super::simplex::Hit;
use super::vector::{Bounds, Vec3, norm2};
use super::{LocateError, Location, Scratch, Search};
use crate::element::CellKind;
use crate::geometry::Geometry;

/// Cells and the tree over their boxes.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub cells: Cells,
    bvh: Bvh,
    /// Corners of straight simplices, leaf by leaf, corner by corner, axis by axis; empty for
    /// other cells.
    corners: Vec<Lane>,
    /// Squared size of the largest coordinate.
    reach2: f64,
    level: Level,
}

/// A finite limit of squared distances a little above the square of `max_dist`, for a final
/// comparison of roots to be exact.
pub(super) fn limit2(max_dist: f64) -> f64 {
    (max_dist * max_dist * (1.0 + 8.0 * f64::EPSILON)).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// Units in the last place of a squared distance that make one level.
const LEVEL: u64 = 256;

/// Squared distances of one level (some 5e-14 apart at most) count as the same: that is how far
/// apart the answers of two curved cells for a point on their common side may be. A rounded
/// number, unlike a tolerance, gives the same order whichever cells are compared first.
fn level(distance2: f64) -> u64 {
    // Distances are finite and not negative, so that their bits are in order too.
    (distance2.to_bits() + LEVEL / 2) & !(LEVEL - 1)
}

impl Tree {
    pub fn new(geometry: &dyn Geometry) -> Tree {
        use rayon::prelude::*;
        let cells = Cells::new(geometry);
        let boxes: Vec<Bounds> = (0..cells.count())
            .into_par_iter()
            .with_min_len(1024)
            .map_init(BoundsWork::default, |work, cell| cells.bounds(cell, work))
            .collect();
        let bvh = Bvh::build(boxes);
        let lanes = match cells.simplices() {
            true => bvh.order.len() / LEAF * 3 * cells.per_cell,
            false => 0,
        };
        let mut tree = Tree {
            corners: vec![[0.0; LEAF]; lanes],
            cells,
            bvh,
            reach2: 0.0,
            level: Level::new(),
        };
        tree.copy_corners();
        tree
    }

    fn copy_corners(&mut self) {
        let Tree {
            cells,
            bvh,
            corners,
            reach2,
            ..
        } = self;
        let largest = |most: f64, x: &Vec3| x.iter().fold(most, |m, c| m.max(c.abs()));
        *reach2 = cells.map.nodes.iter().fold(0.0, largest).powi(2);
        let leaves = corners.chunks_exact_mut(3 * cells.per_cell);
        for (lanes, numbers) in leaves.zip(bvh.order.chunks_exact(LEAF)) {
            for (lane, &number) in numbers.iter().enumerate() {
                // Places without a cell repeat the first.
                let cell = if number == NONE { numbers[0] } else { number };
                for (i, x) in cells.nodes(cell as usize).enumerate() {
                    (0..3).for_each(|d| lanes[3 * i + d][lane] = x[d]);
                }
            }
        }
    }

    pub fn refit(&mut self, geometry: &dyn Geometry) -> Result<(), LocateError> {
        let map = geometry.map();
        let old = &self.cells.map;
        let same = geometry.cell_kind() == self.cells.kind
            && geometry.space_dim() == self.cells.space_dim
            && map.degree == old.degree
            && (Arc::ptr_eq(&map.cell_nodes, &old.cell_nodes) || map.cell_nodes == old.cell_nodes);
        if !same {
            return Err(LocateError::CellsChanged {
                kind: self.cells.kind,
                degree: old.degree,
                built: self.cells.count(),
                found: geometry.topology().cell_count(),
            });
        }
        self.cells.map = map;
        let Tree { cells, bvh, .. } = self;
        bvh.refit(|cell, work: &mut BoundsWork| cells.bounds(cell, work));
        self.copy_corners();
        Ok(())
    }

    /// Lanes of the corners in the leaf that place `item` is in.
    #[inline(always)]
    fn leaf(&self, item: usize) -> &[Lane] {
        let size = 3 * self.cells.per_cell;
        &self.corners[item / LEAF * size..][..size]
    }

    /// Closest point of the cell at place `item`.
    #[inline(always)]
    fn measure(&self, item: usize, x: Vec3, limit2: f64, work: &mut Work) -> Hit {
        if self.corners.is_empty() {
            return self
                .cells
                .closest(self.bvh.order[item] as usize, x, limit2, work);
        }
        let corners = self.leaf(item).chunks_exact(3);
        let lane = item % LEAF;
        let nodes = corners.map(|c| [c[0][lane], c[1][lane], c[2][lane]]);
        self.cells.closest_of(nodes, x, limit2, work)
    }

    pub fn find(
        &self,
        x: Vec3,
        tolerance: f64,
        filter: Option<&(dyn Fn(usize) -> bool + Sync)>,
        scratch: &mut Scratch,
    ) -> Option<Location> {
        let Scratch { stack, work } = scratch;
        let mut best: Option<Location> = None;
        self.bvh.holding(x, tolerance, stack, |items| {
            for item in items {
                let cell = self.bvh.order[item] as usize;
                let larger = best.is_some_and(|b| b.cell <= cell);
                if larger || filter.is_some_and(|accept| !accept(cell)) {
                    continue;
                }
                let reach = tolerance * self.cells.size(cell);
                let limit2 = super::tree::limit2(reach);
                let hit = self.measure(item, x, limit2, work);
                let holds = hit.distance2.sqrt() <= reach;
                if holds {
                    best = Some(Location { cell, xi: hit.xi });
                }
            }
        });
        best
    }

    pub fn closest(&self, x: Vec3, search: &Search, scratch: &mut Scratch) -> Option<(usize, Hit)> {
        dispatch!(self.level, simd => self.closest_with(simd, x, search, scratch))
    }

    #[inline(always)]
    fn closest_with<S: Simd>(
        &self,
        simd: S,
        x: Vec3,
        search: &Search,
        scratch: &mut Scratch,
    ) -> Option<(usize, Hit)> {
        let Scratch { stack, work } = scratch;
        let mut limit = Limit::new(limit2(search.max_dist));
        let mut nearest = NearestLeaves {
            tree: self,
            x,
            search,
            // Rounding errors e of distances d: (d + e)² ≤ (1 + 1e-10)·d² + (1 + 1e10)·e².
            slack: 1e-18 * (self.reach2 + norm2(x)),
            sieve: !self.corners.is_empty(),
            work,
            best: None,
        };
        if let Some(guess) = search.guess.filter(|&g| g < self.cells.count()) {
            let hit = self.cells.closest(guess, x, limit.distance2, nearest.work);
            nearest.take(guess, hit, &mut limit);
        }
        self.bvh.nearest(simd, x, &mut limit, stack, &mut nearest);
        nearest.best
    }
}

/// A search for the nearest cell under way.
struct NearestLeaves<'a> {
    tree: &'a Tree,
    x: Vec3,
    search: &'a Search<'a>,
    slack: f64,
    sieve: bool,
    work: &'a mut Work,
    best: Option<(usize, Hit)>,
}

impl NearestLeaves<'_> {
    /// Takes a cell if it is nearer than the best, or as near and smaller.
    #[inline(always)]
    fn take(&mut self, cell: usize, hit: Hit, limit: &mut Limit) {
        let level = level(hit.distance2);
        let later = self.best.is_some_and(|(b, h)| {
            let least = self::level(h.distance2);
            least < level || least == level && b <= cell
        });
        if !later
            && hit.distance2.sqrt() <= self.search.max_dist
            && self.search.filter.is_none_or(|accept| accept(cell))
        {
            // Others of the same level are still to be seen.
            limit.distance2 = limit.distance2.min(f64::from_bits(level + LEVEL / 2 - 1));
            if hit.distance2 == 0.0 {
                limit.number = cell as u32;
            }
            self.best = Some((cell, hit));
        }
    }
}

impl Leaves for NearestLeaves<'_> {
    #[inline(always)]
    fn visit<S: Simd>(&mut self, simd: S, items: Range<usize>, limit: &mut Limit) {
        let slack = self.slack;
        let within = |limit: &Limit| limit.distance2 * (1.0 + 1e-10) + slack;
        let mut distances2 = [0.0; LEAF];
        if self.sieve {
            let leaf = self.tree.leaf(items.start);
            match self.tree.cells.kind {
                CellKind::Triangle => distances2 = triangle_distances2(simd, leaf, self.x),
                CellKind::Tet => distances2 = tet_distances2(simd, leaf, self.x, within(limit)),
                _ => {}
            }
        }
        // The nearest first: those after it are mostly too far then.
        let mut first = 0;
        for lane in 1..items.len() {
            if distances2[lane] < distances2[first] {
                first = lane;
            }
        }
        for step in 0..items.len() {
            let lane = match step {
                0 => first,
                _ if step == first => 0,
                _ => step,
            };
            let item = items.start + lane;
            let cell = self.tree.bvh.order[item];
            if distances2[lane] > within(limit) || cell >= limit.number {
                continue;
            }
            let hit = self.tree.measure(item, self.x, limit.distance2, self.work);
            if hit.distance2 <= limit.distance2 {
                self.take(cell as usize, hit, limit);
            }
        }
    }
}
