//! The background grid: cells with particles, and the nodes around them.
//!
//! Cells are those of a [`VoxelGrid`]. A set of nodes is the voxel grid of the lattice points that
//! the cells' stencils reach, so it is numbered along the same curve and rebuilt in place.

use crate::bytes::{Room, bytes_of};
use crate::{Config, GridKind, MpmError, Particles};
use rayon::prelude::*;
use weft::geometry::{VoxelCapacity, VoxelGrid, VoxelMap};

/// No cell, node or sample.
pub(crate) const NONE: u32 = u32::MAX;

/// Cells lie within this many of the origin, so that points on their edges have room too.
const FARTHEST: i32 = 2_000_000;

/// Layers of vacant cells between worlds, padding aside: more than the reach of any stencil.
const GUARD: i32 = 4;

/// Cells with particles.
#[derive(Debug)]
pub(crate) struct Cells {
    map: VoxelMap,
    /// Cells that hold particles.
    occupied: Option<VoxelGrid>,
    /// These and the padding around.
    padded: Option<VoxelGrid>,
    /// All cells of a fixed grid.
    fixed: Option<VoxelGrid>,
    /// Room in these three.
    rooms: [Room; 3],
    worlds: usize,
    padding: usize,
    capacity: usize,
    points: Vec<[f64; 3]>,
    mask: Vec<bool>,
    /// Lattice coordinates of the cells, with worlds side by side.
    pub coordinates: Vec<[i32; 3]>,
    /// World of each cell; empty if they are not separate.
    pub world: Vec<u32>,
    padded_world: Vec<u32>,
    /// What the cells of each world were moved by.
    pub shifts: Vec<[i32; 3]>,
    pub size: f64,
}

bytes_of! {
    Cells: rooms, points, mask, coordinates, world, padded_world, shifts
    without occupied, padded, fixed, map, worlds, padding, capacity, size
}

impl Cells {
    pub fn new(config: &Config, worlds: usize) -> Result<Cells, MpmError> {
        let map = VoxelMap::uniform(config.voxel_size)?;
        let map = match config.grid {
            GridKind::Dense => map,
            GridKind::Sparse | GridKind::Fixed => map.centred(),
        };
        Ok(Cells {
            map,
            occupied: None,
            padded: None,
            fixed: None,
            rooms: Default::default(),
            worlds: if config.separate_worlds { worlds } else { 1 },
            padding: config.grid_padding,
            capacity: config.max_active_cell_count,
            points: Vec::new(),
            mask: Vec::new(),
            coordinates: Vec::new(),
            world: Vec::new(),
            padded_world: Vec::new(),
            shifts: vec![[0; 3]],
            size: config.voxel_size,
        })
    }

    /// Makes the cells of a fixed grid: those with particles and the padding around.
    pub fn fix(&mut self, particles: &Particles) -> Result<(), MpmError> {
        self.mask(particles);
        if !self.mask.contains(&true) {
            return Err(MpmError::Config {
                option: "grid = Fixed".into(),
                reason: "there is no active particle to make the grid around; expected one, or \
                         a sparse or dense grid"
                    .into(),
            });
        }
        let grid = self.around(particles)?;
        let grid = grid.dilated(self.padding)?;
        self.rooms[2].see(&grid);
        self.fixed = Some(grid);
        self.padding = 0;
        Ok(())
    }

    /// Worlds and lattice coordinates of the cells of a fixed grid.
    pub fn fixed(&self) -> Option<(Vec<u32>, Vec<[i32; 3]>)> {
        let cells = self.fixed.as_ref()?.cells();
        let shifts = cells.environment_offsets();
        let of = |(at, c): (usize, &[i32; 3])| {
            let world = cells.environment_of(at);
            let shift = shifts[world];
            (world as u32, std::array::from_fn(|d| c[d] - shift[d]))
        };
        Some(cells.all_coordinates().iter().enumerate().map(of).unzip())
    }

    /// Takes over the cells of another fixed grid.
    pub fn set_fixed(&mut self, cells: Option<(Vec<u32>, Vec<[i32; 3]>)>) -> Result<(), MpmError> {
        self.fixed = match cells {
            None => None,
            Some((worlds, cells)) if self.worlds > 1 => {
                let (count, map) = (self.worlds, self.map);
                let grid = VoxelGrid::from_environments(&cells, &worlds, count, GUARD, map)?;
                Some(grid)
            }
            Some((_, cells)) => Some(VoxelGrid::from_coordinates(&cells, self.map)?),
        };
        if let Some(grid) = &self.fixed {
            self.rooms[2].see(grid);
            self.padding = 0;
        }
        Ok(())
    }

    fn mask(&mut self, particles: &Particles) {
        self.mask.resize(particles.len(), false);
        self.mask
            .par_iter_mut()
            .with_min_len(1 << 12)
            .enumerate()
            .for_each(|(i, mask)| {
                *mask = particles.flags[i] & crate::ACTIVE != 0
                    && particles.position[i].iter().all(|x| x.is_finite());
            });
        if let Some(fixed) = &self.fixed {
            let cells = fixed.cells();
            let worlds = cells.environment_count();
            self.mask
                .par_iter_mut()
                .with_min_len(1 << 12)
                .enumerate()
                .for_each(|(i, mask)| {
                    if *mask {
                        let world = world_of(particles, i, worlds);
                        let (voxel, _) = place(&self.map, particles.position[i]);
                        // Not a cell of another world.
                        *mask = matches!(cells.find_in(world, voxel), Ok(Some(_)));
                    }
                });
        }
    }

    fn around(&self, particles: &Particles) -> Result<VoxelGrid, MpmError> {
        let (points, mask) = (&particles.position, Some(&self.mask[..]));
        let (grid, _) = if self.worlds > 1 {
            let worlds = &particles.world;
            // Both worlds are padded.
            let guard = GUARD + 2 * self.padding as i32;
            VoxelGrid::from_environment_points(points, mask, worlds, self.worlds, guard, self.map)?
        } else {
            VoxelGrid::from_points(points, mask, self.map)?
        };
        grid.set_capacity((self.capacity > 0).then_some(VoxelCapacity {
            cells: self.capacity,
            leaves: self.capacity,
        }));
        Ok(grid)
    }

    /// Makes the cells that hold active particles: whether they differ from those before.
    pub fn rebuild(&mut self, particles: &Particles) -> Result<bool, MpmError> {
        self.mask(particles);
        if !self.mask.contains(&true) {
            let changed = !self.coordinates.is_empty();
            self.coordinates.clear();
            self.world.clear();
            self.occupied = None;
            return Ok(changed);
        }
        let capacity = self.capacity;
        let needed = |error| match error {
            weft::geometry::GeometryError::VoxelCapacity { needed, .. } => MpmError::Capacity {
                needed: needed as usize,
                capacity,
            },
            other => MpmError::Grid(other),
        };
        let mut unchanged = false;
        match &self.occupied {
            Some(grid) => {
                let (points, mask) = (&particles.position, Some(&self.mask[..]));
                let report = if self.worlds > 1 {
                    grid.rebuild_environments(points, mask, &particles.world)
                } else {
                    grid.rebuild(points, mask)
                };
                unchanged = report.map_err(needed)?.unchanged;
            }
            None => {
                let grid = self.around(particles)?;
                if self.capacity > 0 && grid.cell_count() > self.capacity {
                    return Err(MpmError::Capacity {
                        needed: grid.cell_count(),
                        capacity: self.capacity,
                    });
                }
                self.occupied = Some(grid);
            }
        }
        if unchanged && !self.coordinates.is_empty() {
            return Ok(false);
        }
        // Proven: made or rebuilt above.
        let Some(grid) = &self.occupied else {
            return Ok(true);
        };
        self.rooms[0].see(grid);
        let cells = grid.cells();
        let far = |c: &&[i32; 3]| c.iter().any(|x| !(-FARTHEST..FARTHEST).contains(x));
        if let Some(&cell) = cells.all_coordinates().iter().find(far) {
            self.coordinates.clear();
            return Err(MpmError::Far {
                cell,
                limit: FARTHEST,
            });
        }
        self.shifts.clear();
        self.shifts.extend_from_slice(cells.environment_offsets());
        self.world.clear();
        self.coordinates.clear();
        self.coordinates.extend_from_slice(cells.all_coordinates());
        if self.worlds > 1 {
            let world = |c| cells.environment_of(c) as u32;
            self.world.extend((0..cells.cell_count()).map(world));
        }
        if self.padding > 0 {
            let padded = (0..3).try_for_each(|axis| self.pad(axis));
            padded.inspect_err(|_| self.coordinates.clear())?;
        }
        Ok(true)
    }

    /// Adds the padding along one axis.
    fn pad(&mut self, axis: usize) -> Result<(), MpmError> {
        let p = self.padding as i32;
        self.points.clear();
        for &cell in &self.coordinates {
            for step in -p..=p {
                let mut at = cell;
                at[axis] += step;
                self.points.push(at.map(|x| f64::from(x) + 0.5));
            }
        }
        renew(&mut self.padded, &mut self.rooms[1], &self.points)?;
        // Proven: made or rebuilt above.
        let Some(padded) = &self.padded else {
            return Ok(());
        };
        let all = padded.cells();
        if self.worlds > 1 {
            // Each world's padding is its own: others are further away.
            self.padded_world.resize(all.cell_count(), 0);
            let points = self.points.chunks_exact(2 * self.padding + 1);
            for (points, &world) in points.zip(&self.world) {
                for found in points
                    .iter()
                    .filter_map(|x| all.find(x.map(|x| x.floor() as i32)))
                {
                    self.padded_world[found] = world;
                }
            }
            std::mem::swap(&mut self.world, &mut self.padded_world);
        }
        self.coordinates.clear();
        self.coordinates.extend_from_slice(all.all_coordinates());
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.coordinates.len()
    }

    /// Finds cells for many points; see [`Finder`].
    pub fn finder(&self) -> Option<Finder<'_>> {
        if self.coordinates.is_empty() {
            return None;
        }
        let grid = match self.padding {
            0 => self.occupied.as_ref(),
            _ => self.padded.as_ref(),
        }?;
        Some(Finder {
            cells: grid.cells(),
            map: &self.map,
            shifts: &self.shifts,
            world: &self.world,
        })
    }

    /// World of a cell.
    pub fn world_of(&self, cell: usize) -> usize {
        self.world.get(cell).map_or(0, |&w| w as usize)
    }

    /// Place in space of a point of the lattice in a world.
    pub fn position(&self, world: usize, lattice: [f64; 3]) -> [f64; 3] {
        let shift = self.shifts[world.min(self.shifts.len() - 1)];
        self.map
            .position(std::array::from_fn(|d| lattice[d] - f64::from(shift[d])))
    }
}

/// World of a particle, where `worlds` are kept apart.
pub(crate) fn world_of(particles: &Particles, i: usize, worlds: usize) -> usize {
    if worlds > 1 {
        particles.world[i] as usize
    } else {
        0
    }
}

/// Points are kept this far (in reference coordinates) off the faces of their cells: a node on the
/// other side of the cell would have no mass but a gradient.
pub(crate) const INSET: f32 = 1e-5;

/// The voxel of a point and where in it the point is, inside [0, 1].
#[inline]
fn place(map: &VoxelMap, x: [f64; 3]) -> ([i32; 3], [f32; 3]) {
    let at = map.lattice(x);
    let low = at.map(f64::floor);
    (
        low.map(|v| v as i32),
        std::array::from_fn(|d| ((at[d] - low[d]) as f32).clamp(INSET, 1.0 - INSET)),
    )
}

#[inline]
fn moved(voxel: [i32; 3], shift: [i32; 3]) -> Option<[i32; 3]> {
    Some([
        voxel[0].checked_add(shift[0])?,
        voxel[1].checked_add(shift[1])?,
        voxel[2].checked_add(shift[2])?,
    ])
}

/// Finds the cell of a point.
pub(crate) struct Finder<'a> {
    cells: std::sync::Arc<weft::geometry::VoxelCells>,
    map: &'a VoxelMap,
    shifts: &'a [[i32; 3]],
    world: &'a [u32],
}

impl Finder<'_> {
    /// Cell and reference coordinates of a point of a world, if a cell is there.
    #[inline]
    pub fn find(&self, world: usize, x: [f64; 3]) -> Option<(u32, [f32; 3])> {
        if !x.iter().all(|x| x.is_finite()) {
            return None;
        }
        let (voxel, xi) = place(self.map, x);
        let cell = self.cells.find(moved(voxel, *self.shifts.get(world)?)?)?;
        // A point beyond the cells of its world may lie in one of another.
        let elsewhere = |&w: &u32| w as usize != world;
        if self.world.get(cell).is_some_and(elsewhere) {
            return None;
        }
        Some((cell as u32, xi))
    }
}

/// A grid of the lattice points in `points` (each plus a half), in place.
fn renew(
    grid: &mut Option<VoxelGrid>,
    room: &mut Room,
    points: &[[f64; 3]],
) -> Result<(), MpmError> {
    match grid {
        Some(grid) => {
            grid.rebuild(points, None)?;
            room.see(grid);
        }
        None => {
            let (made, _) = VoxelGrid::from_points(points, None, VoxelMap::uniform(1.0)?)?;
            room.see(&made);
            *grid = Some(made);
        }
    }
    Ok(())
}

/// Lattice points that keep their numbers while a new set is made.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    grid: Option<VoxelGrid>,
    room: Room,
    points: Vec<[f64; 3]>,
    empty: bool,
    /// What the points of each world were moved by; nothing for worlds that are forgotten.
    shifts: Vec<Option<[i32; 3]>>,
}

bytes_of! {
    Remembered: room, points, shifts
    without grid, empty
}

impl Remembered {
    /// Remembers points; their numbers are those in the list, which is in the order of a voxel grid.
    pub fn keep(&mut self, coordinates: &[[i32; 3]], shifts: &[[i32; 3]]) -> Result<(), MpmError> {
        self.shifts.clear();
        self.shifts.extend(shifts.iter().map(|&s| Some(s)));
        self.empty = coordinates.is_empty();
        let same = |grid: &VoxelGrid| grid.cells().all_coordinates() == coordinates;
        if !self.empty && !self.grid.as_ref().is_some_and(same) {
            self.points.clear();
            self.points
                .extend(coordinates.iter().map(|c| c.map(|x| f64::from(x) + 0.5)));
            renew(&mut self.grid, &mut self.room, &self.points)?;
        }
        Ok(())
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.empty = true;
    }

    /// Forgets those of one world.
    pub fn forget(&mut self, world: usize) {
        if let Some(shift) = self.shifts.get_mut(world) {
            *shift = None;
        }
    }

    /// What [`restored`](Self::restored) needs: the points and the shift of each world.
    pub fn saved(&self) -> (Vec<[i32; 3]>, &[Option<[i32; 3]>]) {
        let grid = self.grid.as_ref().filter(|_| !self.empty);
        let points = grid.map_or(Vec::new(), |g| g.cells().all_coordinates().to_vec());
        (points, &self.shifts)
    }

    /// The points that [`saved`](Self::saved) gave.
    pub fn restored(
        coordinates: &[[i32; 3]],
        shifts: Vec<Option<[i32; 3]>>,
    ) -> Result<Remembered, MpmError> {
        let mut all = Remembered::default();
        all.keep(coordinates, &[])?;
        all.shifts = shifts;
        Ok(all)
    }

    /// Calls `found(now, before)` for each of the new points that was there before. `worlds` holds
    /// the world of each (or nothing), `shifts` what they are moved by now, `factor` the lattice
    /// points in a cell.
    pub fn matches(
        &self,
        coordinates: &[[i32; 3]],
        world: impl Fn(usize) -> usize,
        shifts: &[[i32; 3]],
        factor: i32,
        mut found: impl FnMut(usize, usize),
    ) {
        let Some(grid) = self.grid.as_ref().filter(|_| !self.empty) else {
            return;
        };
        let cells = grid.cells();
        for (now, c) in coordinates.iter().enumerate() {
            let w = world(now);
            let (Some(Some(old)), Some(new)) = (self.shifts.get(w), shifts.get(w)) else {
                continue;
            };
            let at = std::array::from_fn(|d| c[d] + factor * (old[d] - new[d]));
            if let Some(before) = cells.find(at) {
                found(now, before);
            }
        }
    }
}

/// Nodes on a lattice with `factor` points an edge, shared by the cells around them.
#[derive(Debug, Default)]
pub(crate) struct NodeSet {
    factor: i32,
    stencil: Vec<[i32; 3]>,
    grid: Option<VoxelGrid>,
    room: Room,
    points: Vec<[f64; 3]>,
    /// Lattice coordinates of each node.
    pub coordinates: Vec<[i32; 3]>,
    /// Nodes of each cell: `[cell * slots + slot]`.
    pub of_cell: Vec<u32>,
    /// Places in `of_cell` of each node: `around[first[node]..first[node + 1]]`, ascending.
    pub first: Vec<u32>,
    pub around: Vec<u32>,
}

bytes_of! {
    NodeSet: stencil, room, points, coordinates, of_cell, first, around
    without grid, factor
}

impl NodeSet {
    /// Nodes at the lattice points `factor * cell + s` for each `s` of the stencil.
    pub fn new(factor: i32, stencil: Vec<[i32; 3]>) -> NodeSet {
        NodeSet {
            factor,
            stencil,
            ..NodeSet::default()
        }
    }

    /// Vertices of cells, slot 4i + 2j + k.
    pub fn vertices() -> NodeSet {
        NodeSet::new(1, cube(0..2))
    }

    /// Control points of splines: four an axis, slot 16i + 4j + k.
    pub fn splines() -> NodeSet {
        NodeSet::new(1, cube(-1..3))
    }

    /// Vertices and `n - 1` points on each edge.
    pub fn edges(n: i32) -> NodeSet {
        let on_edge = |s: &[i32; 3]| s.iter().filter(|&&x| x % n != 0).count() <= 1;
        NodeSet::new(n, cube(0..n + 1).into_iter().filter(on_edge).collect())
    }

    pub fn slots(&self) -> usize {
        self.stencil.len()
    }

    pub fn count(&self) -> usize {
        self.coordinates.len()
    }

    pub fn factor(&self) -> i32 {
        self.factor
    }

    /// A slot's place in the cell, in reference coordinates.
    pub fn reference(&self, slot: usize) -> [f32; 3] {
        self.stencil[slot].map(|s| s as f32 / self.factor as f32)
    }

    /// A cell that the node belongs to, and its slot there.
    pub fn host(&self, node: usize) -> (usize, usize) {
        let at = self.around[self.first[node] as usize] as usize;
        (at / self.slots(), at % self.slots())
    }

    /// The nodes of these cells.
    pub fn rebuild(&mut self, cells: &[[i32; 3]]) -> Result<(), MpmError> {
        let (slots, factor) = (self.stencil.len(), self.factor);
        check_count(cells.len(), slots)?;
        self.of_cell.resize(cells.len() * slots, 0);
        self.coordinates.clear();
        self.first.clear();
        if cells.is_empty() {
            return Ok(());
        }
        self.points.resize(cells.len() * slots, [0.0; 3]);
        let stencil = &self.stencil;
        let at = |c: [i32; 3], s: [i32; 3]| -> [i32; 3] {
            std::array::from_fn(|d| c[d] * factor + s[d])
        };
        self.points
            .par_chunks_mut(slots)
            .with_min_len(256)
            .zip(cells)
            .for_each(|(points, &c)| {
                for (point, &s) in points.iter_mut().zip(stencil) {
                    *point = at(c, s).map(|x| f64::from(x) + 0.5);
                }
            });
        renew(&mut self.grid, &mut self.room, &self.points)?;
        // Proven: made or rebuilt above.
        let Some(grid) = &self.grid else {
            return Ok(());
        };
        let nodes = grid.cells();
        self.coordinates.extend_from_slice(nodes.all_coordinates());
        self.of_cell
            .par_chunks_mut(slots)
            .with_min_len(256)
            .zip(cells)
            .for_each(|(numbers, &c)| {
                for (number, &s) in numbers.iter_mut().zip(stencil) {
                    // Proven: the set was made from these points.
                    *number = nodes.find(at(c, s)).map_or(NONE, |n| n as u32);
                }
            });
        invert(
            &self.of_cell,
            self.coordinates.len(),
            &mut self.first,
            &mut self.around,
        );
        Ok(())
    }

    /// Finds many nodes.
    pub fn grid(&self) -> Option<std::sync::Arc<weft::geometry::VoxelCells>> {
        Some(self.grid.as_ref()?.cells())
    }
}

/// Most nodes (or strains) of all cells: their places are numbers of 32 bits, with some to spare
/// for lanes out of use.
const MOST_PLACES: usize = 1 << 31;

/// Refuses more cells with `each` nodes than can be counted.
pub(crate) fn check_count(cells: usize, each: usize) -> Result<(), MpmError> {
    match cells.checked_mul(each) {
        Some(0..=MOST_PLACES) => Ok(()),
        _ => Err(MpmError::TooManyCells {
            cells,
            each,
            limit: MOST_PLACES,
        }),
    }
}

/// For each of `count` values the places in `list` where it stands, ascending.
fn invert(list: &[u32], count: usize, first: &mut Vec<u32>, places: &mut Vec<u32>) {
    first.clear();
    first.resize(count + 1, 0);
    for &v in list {
        first[v as usize + 1] += 1;
    }
    for v in 0..count {
        first[v + 1] += first[v];
    }
    places.resize(list.len(), 0);
    // Fill from the front, with `first` as cursors, then move them back by one.
    for (place, &v) in list.iter().enumerate() {
        let cursor = &mut first[v as usize];
        places[*cursor as usize] = place as u32;
        *cursor += 1;
    }
    for v in (1..=count).rev() {
        first[v] = first[v - 1];
    }
    first[0] = 0;
}

fn cube(range: std::ops::Range<i32>) -> Vec<[i32; 3]> {
    let mut all = Vec::new();
    for i in range.clone() {
        for j in range.clone() {
            for k in range.clone() {
                all.push([i, j, k]);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn issue_005_padding() {
        for (worlds, padding) in [(1, 0), (1, 1), (1, 4), (3, 1), (3, 3)] {
            let config = Config {
                grid_padding: padding,
                separate_worlds: worlds > 1,
                ..Config::default()
            };
            let mut particles = Particles::new();
            let mut seed = 5u64;
            for i in 0..60 {
                let x = [0; 3].map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
                    (seed >> 33) as f64 / (1u64 << 31) as f64
                });
                particles.push(x, 1.0, 0.01);
                particles.world[i] = (i % worlds) as u32;
            }
            let mut cells = Cells::new(&config, worlds).unwrap();
            for step in 0..3 {
                particles
                    .position
                    .iter_mut()
                    .for_each(|x| x[1] += 0.07 * f64::from(step));
                cells.rebuild(&particles).unwrap();
                let p = padding as i32;
                let mut wanted = BTreeSet::new();
                for (x, &w) in particles.position.iter().zip(&particles.world) {
                    let own = x.map(|x| (x / 0.1 + 0.5).floor() as i32);
                    for step in cube(-p..p + 1) {
                        wanted.insert((w, [0, 1, 2].map(|d| own[d] + step[d])));
                    }
                }
                let found: BTreeSet<_> = (0..cells.count())
                    .map(|c| {
                        let w = cells.world_of(c);
                        let at = [0, 1, 2].map(|d| cells.coordinates[c][d] - cells.shifts[w][d]);
                        (w as u32, at)
                    })
                    .collect();
                assert_eq!(found.len(), cells.count());
                assert!(found == wanted, "{worlds} worlds, {padding} rings");
            }
        }
    }

    #[test]
    fn issue_005_many_cells() {
        assert_eq!(check_count(1 << 25, 64), Ok(()));
        for (cells, each) in [((1 << 25) + 1, 64), (usize::MAX, 8)] {
            let limit = MOST_PLACES;
            assert_eq!(
                check_count(cells, each),
                Err(MpmError::TooManyCells { cells, each, limit })
            );
        }
    }
}
