//! Which cells particles are in.

use super::error::ParticleError;
use super::quadrature::Slot;
use crate::geometry::{
    AdaptiveVoxelGrid, Geometry, GeometryError, GeometryMap, Locator, Lookup, MapClass, VoxelCells,
    VoxelGrid,
};
use std::any::Any;
use std::sync::Arc;

/// Most cells that an extended particle touches.
pub(super) const MOST: usize = 8;

/// The geometry as lookup sees it.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    Voxels(VoxelGrid),
    Adaptive(AdaptiveVoxelGrid),
    Any(Arc<dyn Geometry>),
}

impl Cells {
    pub fn of<G: Geometry + Clone + 'static>(geometry: &G) -> Cells {
        let any: &dyn Any = geometry;
        if let Some(grid) = any.downcast_ref::<VoxelGrid>() {
            return Cells::Voxels(grid.clone());
        }
        if let Some(grid) = any.downcast_ref::<AdaptiveVoxelGrid>() {
            return Cells::Adaptive(grid.clone());
        }
        Cells::Any(Arc::new(geometry.clone()))
    }

    pub fn geometry(&self) -> Arc<dyn Geometry> {
        match self {
            Cells::Voxels(grid) => Arc::new(grid.clone()),
            Cells::Adaptive(grid) => Arc::new(grid.clone()),
            Cells::Any(geometry) => geometry.clone(),
        }
    }
}

/// A locator and the positions it was made for.
#[derive(Debug)]
pub(super) struct Located {
    locator: Locator,
    map: Arc<GeometryMap>,
}

/// Looks for particles in the cells as they are now.
pub(super) enum Finder<'a> {
    Voxels(Arc<VoxelCells>, f64),
    Adaptive(&'a AdaptiveVoxelGrid, f64),
    Located(&'a Locator, f64),
}

impl<'a> Finder<'a> {
    /// `kept` holds the locator of last time, if one is needed.
    pub fn new(cells: &'a Cells, max_distance: f64, kept: &'a mut Option<Located>) -> Finder<'a> {
        match cells {
            Cells::Voxels(grid) => Finder::Voxels(grid.cells(), max_distance),
            Cells::Adaptive(grid) => Finder::Adaptive(grid, max_distance),
            Cells::Any(geometry) => {
                let map = geometry.map();
                let located = match kept.take() {
                    Some(located) if Arc::ptr_eq(&located.map, &map) => located,
                    Some(mut located) => {
                        if located.locator.refit(&**geometry).is_err() {
                            located.locator.rebuild(&**geometry);
                        }
                        Located { map, ..located }
                    }
                    None => Located {
                        locator: Locator::new(&**geometry),
                        map,
                    },
                };
                Finder::Located(&kept.insert(located).locator, max_distance)
            }
        }
    }

    /// Number of environments that must be named, if any.
    pub fn check_environments(&self, given: Option<&[u32]>) -> Result<(), ParticleError> {
        match (self, given) {
            (Finder::Voxels(cells, _), Some(list)) => {
                let count = cells.environment_count();
                match list.iter().find(|&&e| e as usize >= count) {
                    Some(&bad) => Err(GeometryError::EnvironmentIndex {
                        environment: bad as usize,
                        count,
                    }
                    .into()),
                    None => Ok(()),
                }
            }
            (Finder::Voxels(cells, _), None) if cells.environment_count() > 1 => {
                let count = cells.environment_count();
                Err(GeometryError::NeedsEnvironment { count }.into())
            }
            (_, Some(_)) => Err(ParticleError::NoEnvironments),
            _ => Ok(()),
        }
    }

    /// The cell that holds a finite position, or the closest one that is near enough.
    pub fn find(&self, x: [f64; 3], environment: usize) -> Option<Slot> {
        let (cell, xi) = match self {
            Finder::Voxels(cells, max) => {
                let lookup = Lookup {
                    environment: Some(environment),
                    ..Lookup::default()
                };
                // The environment was checked, and nothing else can be wrong.
                let found = cells.locate(x, &lookup).ok().flatten();
                let near = || {
                    let near = cells.closest(x, *max, &lookup).ok().flatten()?;
                    Some((near.cell, near.xi))
                };
                found.or_else(|| (*max > 0.0).then(near).flatten())
            }
            Finder::Adaptive(grid, max) => grid.locate(x).or_else(|| {
                let near = (*max > 0.0).then(|| grid.closest(x, *max)).flatten()?;
                Some((near.cell, near.xi))
            }),
            Finder::Located(locator, max) => {
                let found = locator.find(x, 0.0).map(|l| (l.cell, l.xi));
                found.or_else(|| {
                    let near = (*max > 0.0).then(|| locator.closest(x, *max)).flatten()?;
                    Some((near.cell, near.xi))
                })
            }
        }?;
        Some(Slot {
            cell: cell as u32,
            xi,
            share: 1.0,
        })
    }
}

/// The equal boxes of a grid, for particles with an extent.
pub(super) struct Boxes {
    dim: usize,
    /// Extent of a cell along each of its axes.
    pub size: [f64; 3],
    place: Place,
}

enum Place {
    /// Cells per axis, lowest and highest corner.
    Grid([usize; 3], [f64; 3], [f64; 3]),
    Voxels(Arc<VoxelCells>),
}

impl Boxes {
    pub fn new(cells: &Cells) -> Result<Boxes, ParticleError> {
        match cells {
            Cells::Voxels(grid) => {
                let m = grid.voxel_map().matrix();
                let length = |c: usize| (0..3).map(|d| m[d][c] * m[d][c]).sum::<f64>().sqrt();
                Ok(Boxes {
                    dim: 3,
                    size: std::array::from_fn(length),
                    place: Place::Voxels(grid.cells()),
                })
            }
            Cells::Any(geometry) => {
                let counts = geometry
                    .lattice()
                    .filter(|_| geometry.map_class() == MapClass::Uniform)
                    .ok_or(ParticleError::NeedsGrid)?;
                let dim = geometry.cell_kind().dim();
                let map = geometry.map();
                // The nodes of a grid run from corner to corner.
                let (Some(&lower), Some(&upper)) = (map.nodes.first(), map.nodes.last()) else {
                    return Err(ParticleError::NeedsGrid);
                };
                let size = |d: usize| match d < dim {
                    true => (upper[d] - lower[d]) / counts[d] as f64,
                    false => f64::INFINITY,
                };
                Ok(Boxes {
                    dim,
                    size: std::array::from_fn(size),
                    place: Place::Grid(counts, lower, upper),
                })
            }
            Cells::Adaptive(_) => Err(ParticleError::NeedsGrid),
        }
    }

    fn lattice(&self, x: [f64; 3]) -> [f64; 3] {
        match &self.place {
            Place::Voxels(cells) => cells.voxel_map().lattice(x),
            Place::Grid(counts, lower, upper) => std::array::from_fn(|d| match d < self.dim {
                true => (x[d] - lower[d]) / (upper[d] - lower[d]) * counts[d] as f64,
                false => 0.0,
            }),
        }
    }

    fn cell(&self, at: [i32; 3], environment: usize) -> Option<usize> {
        match &self.place {
            // The environment was checked.
            Place::Voxels(cells) => cells.find_in(environment, at).ok().flatten(),
            Place::Grid(counts, ..) => {
                let mut number = 0;
                for d in 0..3 {
                    let place = usize::try_from(at[d]).ok().filter(|&i| i < counts[d])?;
                    number = number * counts[d] + place;
                }
                Some(number)
            }
        }
    }

    /// Spread a particle, a box around `x` with edges along those of the cells, over the cells
    /// that it overlaps. Each cell's share is its part of the overlap, and the sample lies at
    /// the centre of the overlap: the mean over the box of any function that is multilinear in
    /// each cell is then the weighted sum of its samples, and so is the mean of its gradient
    /// (uGIMP: S. G. Bardenhagen, E. M. Kober, The Generalized Interpolation Material Point
    /// Method, 2004). Parts in no cell are left out, and the shares still sum to 1.
    ///
    /// `half` is the half-width, at most half a cell (up to rounding). Returns how many cells.
    pub fn spread(
        &self,
        x: [f64; 3],
        half: f64,
        environment: usize,
        out: &mut [Slot; MOST],
    ) -> usize {
        let u = self.lattice(x);
        // Past this, neighbouring numbers are more than cells apart.
        if !u.iter().all(|c| c.abs() < 1e9) {
            return 0;
        }
        // Along each axis the first cell, and length and centre of the parts in it and the next.
        let mut first = [0i32; 3];
        let mut parts = [[(1.0, 0.0), (0.0, 0.0)]; 3];
        for d in 0..self.dim {
            let h = half / self.size[d];
            let (low, high) = (u[d] - h, u[d] + h);
            let base = low.floor();
            let (low, high) = (low - base, (high - base).min(2.0));
            first[d] = base as i32;
            parts[d] = match high > 1.0 {
                true => [
                    (1.0 - low, 0.5 * (low + 1.0)),
                    (high - 1.0, 0.5 * (high - 1.0)),
                ],
                false => [(high - low, 0.5 * (low + high)), (0.0, 0.0)],
            };
        }
        let mut count = 0;
        let mut total = 0.0;
        for corner in 0..1usize << self.dim {
            let step: [usize; 3] = std::array::from_fn(|d| corner >> d & 1);
            let share: f64 = (0..3).map(|d| parts[d][step[d]].0).product();
            if share <= 0.0 {
                continue;
            }
            let at = std::array::from_fn(|d| first[d] + step[d] as i32);
            let Some(cell) = self.cell(at, environment) else {
                continue;
            };
            out[count] = Slot {
                cell: cell as u32,
                xi: std::array::from_fn(|d| parts[d][step[d]].1),
                share,
            };
            total += share;
            count += 1;
        }
        for slot in &mut out[..count] {
            slot.share /= total;
        }
        count
    }
}
