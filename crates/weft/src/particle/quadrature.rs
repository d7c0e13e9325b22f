//! Sorting particles into cells.

use super::error::ParticleError;
use super::find::{Boxes, Cells, Finder, Located, MOST};
use super::samples::{ParticleReport, ParticleSamples};
use crate::geometry::{Geometry, GeometryId, Topology};
use crate::partition::{NULL, NodeLists};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Particles that one task looks for.
const CHUNK: usize = 512;

/// Half-widths of extended particles: cubes (squares in the plane) with edges along those of the
/// cells.
#[derive(Clone, Copy, Debug)]
pub enum Half<'a> {
    /// The same for all.
    Same(f64),
    /// One for each particle.
    Each(&'a [f64]),
}

/// Particles to integrate over.
#[derive(Clone, Copy, Debug)]
pub struct Cloud<'a> {
    /// Where they are; coordinates past the space dimension are 0.
    pub positions: &'a [[f64; 3]],
    /// Volume of each (area in the plane and on surfaces, length on curves): its weight in
    /// integrals.
    pub volumes: &'a [f64],
    /// Those with `false` are left out.
    pub active: Option<&'a [bool]>,
    /// Extents, for particles spread over the cells that they overlap (GIMP); points if `None`.
    pub half_widths: Option<Half<'a>>,
    /// The environment of each, on voxel grids of several.
    pub environments: Option<&'a [u32]>,
}

impl<'a> Cloud<'a> {
    /// Particles that are points.
    pub fn new(positions: &'a [[f64; 3]], volumes: &'a [f64]) -> Cloud<'a> {
        Cloud {
            positions,
            volumes,
            active: None,
            half_widths: None,
            environments: None,
        }
    }

    fn check(&self) -> Result<(), ParticleError> {
        let expected = self.positions.len();
        let widths = match self.half_widths {
            Some(Half::Each(list)) => Some(list.len()),
            _ => None,
        };
        let lengths = [
            ("the list of volumes", Some(self.volumes.len())),
            ("the mask of active particles", self.active.map(<[_]>::len)),
            ("the list of half-widths", widths),
            (
                "the list of environments",
                self.environments.map(<[_]>::len),
            ),
        ];
        for (what, found) in lengths {
            if let Some(found) = found.filter(|&f| f != expected) {
                return Err(ParticleError::Length {
                    what,
                    found,
                    expected,
                });
            }
        }
        Ok(())
    }
}

/// A point in a known cell, which stands for a particle or a part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The particle.
    pub particle: u32,
    /// The cell.
    pub cell: u32,
    /// Reference coordinates in the cell; outside of it functions are extrapolated.
    pub xi: [f64; 3],
    /// Share of the particle; 1 if this is its only sample.
    pub share: f64,
}

/// A sample that is not sorted yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub cell: u32,
    pub xi: [f64; 3],
    pub share: f64,
}

const VACANT: Slot = Slot {
    cell: NULL,
    xi: [0.0; 3],
    share: 0.0,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Inside,
    Inactive,
    NotFinite,
    Outside,
}

/// Memory of rebuilds.
#[derive(Debug, Default)]
struct Workshop {
    located: Option<Located>,
    slots: Vec<Slot>,
    fates: Vec<Fate>,
    lists: NodeLists,
    /// The snapshot before last, to be overwritten.
    spare: Option<Arc<ParticleSamples>>,
}

#[derive(Debug)]
struct Inner {
    cells: Cells,
    geometry: Arc<dyn Geometry>,
    max_distance: f64,
    samples: RwLock<Arc<ParticleSamples>>,
    /// Out while a rebuild uses it: nothing is locked while work is done.
    workshop: Mutex<Option<Workshop>>,
}

/// Particles as the points of a quadrature, sorted by cell; a cheap handle.
///
/// The integral of f is Σ w f(x_p) over the samples, with physical weights w (no Jacobian):
/// volumes, or their shares for particles that are spread over several cells. Forms refer to a
/// quadrature through [`Measure::on_particles`](crate::form::Measure::on_particles) and see the
/// particles as they are at assembly, so a time step rebuilds and assembles again.
///
/// ```
/// use weft::form::{Expr, Measure};
/// use weft::geometry::Grid2;
/// use weft::particle::{Cloud, ParticleQuadrature};
///
/// let grid = Grid2::unit([4, 4])?;
/// let sand = ParticleQuadrature::new(&grid);
/// let report = sand.rebuild(&Cloud::new(&[[0.1, 0.2, 0.0], [2.0, 0.5, 0.0]], &[0.5, 0.5]))?;
/// assert_eq!((report.inside, report.outside), (1, 1));
///
/// let x = Expr::position(&grid);
/// let moment = x.at(1).over(&Measure::cells(&grid).on_particles(&sand));
/// assert!((weft::assemble::integrate(&moment)? - 0.5 * 0.2).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParticleQuadrature(Arc<Inner>);

impl ParticleQuadrature {
    /// No particles yet. Grids are looked up by arithmetic, voxel grids through their tables,
    /// other geometries through a [`Locator`](crate::geometry::Locator), which follows moving cells.
    pub fn new<G: Geometry + Clone + 'static>(geometry: &G) -> ParticleQuadrature {
        ParticleQuadrature::of(Cells::of(geometry), 0.0)
    }

    /// As [`new`](Self::new); a particle in no cell counts for the closest one that is at most
    /// `max_distance` away, at its closest point.
    pub fn within<G: Geometry + Clone + 'static>(
        geometry: &G,
        max_distance: f64,
    ) -> ParticleQuadrature {
        ParticleQuadrature::of(Cells::of(geometry), max_distance)
    }

    /// As [`new`](Self::new) for a shared geometry, which is always looked up through a locator.
    pub fn on(geometry: Arc<dyn Geometry>) -> ParticleQuadrature {
        ParticleQuadrature::of(Cells::Any(geometry), 0.0)
    }

    fn of(cells: Cells, max_distance: f64) -> ParticleQuadrature {
        let geometry = cells.geometry();
        let samples = Arc::new(ParticleSamples::vacant(geometry.topology()));
        ParticleQuadrature(Arc::new(Inner {
            cells,
            geometry,
            max_distance,
            samples: RwLock::new(samples),
            workshop: Mutex::new(None),
        }))
    }

    /// The geometry whose cells the particles are in.
    pub fn geometry(&self) -> &Arc<dyn Geometry> {
        &self.0.geometry
    }

    pub(crate) fn geometry_id(&self) -> GeometryId {
        self.0.geometry.id()
    }

    /// The samples as they are now. While someone keeps a snapshot, a rebuild allocates memory
    /// of its own.
    pub fn samples(&self) -> Arc<ParticleSamples> {
        // The lock guards one pointer, which is whole whatever panicked meanwhile.
        let guard = self.0.samples.read();
        guard.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether both handles name the same quadrature.
    pub fn same(&self, other: &ParticleQuadrature) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Replace all particles, seen through every handle. Particles that are inactive, in no cell, or have a
    /// coordinate, volume or half-width that is NaN or infinite are left out and counted. The
    /// result does not depend on the number of threads. Memory is used again: once sizes stop
    /// growing nothing is allocated.
    ///
    /// # Errors
    /// [`Length`](ParticleError::Length), [`TooMany`](ParticleError::TooMany),
    /// [`Memory`](ParticleError::Memory), [`Geometry`](ParticleError::Geometry) for environments;
    /// for extents [`NeedsGrid`](ParticleError::NeedsGrid) and
    /// [`HalfWidth`](ParticleError::HalfWidth). The quadrature is then as it was.
    pub fn rebuild(&self, cloud: &Cloud) -> Result<ParticleReport, ParticleError> {
        cloud.check()?;
        self.with_workshop(|inner, shop| {
            let topology = inner.geometry.topology();
            match cloud.half_widths {
                None => locate(inner, shop, cloud)?,
                Some(half) => spread(inner, shop, cloud, half)?,
            }
            let per_particle = match cloud.half_widths {
                None => 1,
                Some(_) => MOST,
            };
            let particle = |slot: usize| (slot / per_particle) as u32;
            let given = Given {
                volumes: cloud.volumes,
                several: per_particle > 1,
                particle: &particle,
            };
            finish(shop, topology, &given)
        })
    }

    /// Replace all particles by samples whose cells are known; `volumes` has one entry for each
    /// particle. Samples with a coordinate or share that is NaN or infinite are left out, and a
    /// particle without a sample left counts as not finite if it had one, else as outside.
    ///
    /// # Errors
    /// [`Index`](ParticleError::Index), [`TooMany`](ParticleError::TooMany),
    /// [`Memory`](ParticleError::Memory). The quadrature is then as it was.
    pub fn rebuild_from_samples(
        &self,
        samples: &[Sample],
        volumes: &[f64],
    ) -> Result<ParticleReport, ParticleError> {
        self.with_workshop(|inner, shop| {
            let topology = inner.geometry.topology();
            check_samples(samples, volumes.len(), topology.cell_count())?;
            let memory = ParticleError::memory(volumes.len());
            reserve(&mut shop.slots, samples.len()).map_err(&memory)?;
            reserve(&mut shop.fates, volumes.len()).map_err(&memory)?;
            shop.slots.clear();
            shop.fates.clear();
            shop.fates.resize(volumes.len(), Fate::Outside);
            for sample in samples {
                let particle = sample.particle as usize;
                let finite = sample.xi.iter().all(|c| c.is_finite())
                    && sample.share.is_finite()
                    && volumes[particle].is_finite();
                let fate = &mut shop.fates[particle];
                if finite {
                    *fate = Fate::Inside;
                } else if *fate == Fate::Outside {
                    *fate = Fate::NotFinite;
                }
                shop.slots.push(Slot {
                    cell: if finite { sample.cell } else { NULL },
                    xi: sample.xi,
                    share: sample.share,
                });
            }
            let given = Given {
                volumes,
                several: true,
                particle: &|slot| samples[slot].particle,
            };
            finish(shop, topology, &given)
        })
    }

    fn with_workshop(
        &self,
        rebuild: impl FnOnce(&Inner, &mut Workshop) -> Result<ParticleReport, ParticleError>,
    ) -> Result<ParticleReport, ParticleError> {
        let take = || {
            let shop = self.0.workshop.lock();
            shop.unwrap_or_else(PoisonError::into_inner)
        };
        let mut shop = take().take().unwrap_or_default();
        let result = rebuild(&self.0, &mut shop);
        if result.is_ok()
            && let Some(new) = shop.spare.take()
        {
            let mut samples = self
                .0
                .samples
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            shop.spare = Some(std::mem::replace(&mut *samples, new));
        }
        *take() = Some(shop);
        result
    }
}

/// Makes room for `most` entries in all.
fn reserve<T>(items: &mut Vec<T>, most: usize) -> Result<(), std::collections::TryReserveError> {
    items.try_reserve(most.saturating_sub(items.len()))
}

fn check_count(count: u64) -> Result<(), ParticleError> {
    match count < NULL as u64 - 1 {
        true => Ok(()),
        false => Err(ParticleError::TooMany { count }),
    }
}

fn check_samples(samples: &[Sample], particles: usize, cells: usize) -> Result<(), ParticleError> {
    check_count(samples.len() as u64)?;
    check_count(particles as u64)?;
    let bad = |s: &Sample| s.particle as usize >= particles || s.cell as usize >= cells;
    let Some(sample) = samples.par_iter().position_first(bad) else {
        return Ok(());
    };
    let Sample { particle, cell, .. } = samples[sample];
    let (what, index, count) = match (particle as usize) < particles {
        true => ("cell", cell, cells),
        false => ("particle", particle, particles),
    };
    Err(ParticleError::Index {
        sample,
        what,
        index: index as usize,
        count,
    })
}

/// `per_particle` vacant slots for each particle.
fn vacate(shop: &mut Workshop, particles: usize, per_particle: usize) -> Result<(), ParticleError> {
    check_count(particles as u64 * per_particle as u64)?;
    let memory = ParticleError::memory(particles);
    reserve(&mut shop.slots, particles * per_particle).map_err(&memory)?;
    reserve(&mut shop.fates, particles).map_err(&memory)?;
    shop.slots.resize(particles * per_particle, VACANT);
    shop.fates.resize(particles, Fate::Outside);
    Ok(())
}

/// Each particle's fate before it is looked for; `None` if it is to be looked for.
fn fate(cloud: &Cloud, particle: usize) -> Option<Fate> {
    if cloud.active.is_some_and(|a| !a[particle]) {
        return Some(Fate::Inactive);
    }
    let finite = cloud.positions[particle].iter().all(|c| c.is_finite())
        && cloud.volumes[particle].is_finite();
    (!finite).then_some(Fate::NotFinite)
}

fn environment(cloud: &Cloud, particle: usize) -> usize {
    cloud.environments.map_or(0, |e| e[particle] as usize)
}

/// Find the cells of points.
fn locate(inner: &Inner, shop: &mut Workshop, cloud: &Cloud) -> Result<(), ParticleError> {
    vacate(shop, cloud.positions.len(), 1)?;
    let finder = Finder::new(&inner.cells, inner.max_distance, &mut shop.located);
    finder.check_environments(cloud.environments)?;
    let slots = shop.slots.par_chunks_mut(CHUNK);
    let fates = shop.fates.par_chunks_mut(CHUNK);
    slots
        .zip(fates)
        .enumerate()
        .for_each(|(chunk, (slots, fates))| {
            for (k, (slot, to)) in slots.iter_mut().zip(fates).enumerate() {
                let particle = chunk * CHUNK + k;
                *slot = VACANT;
                *to = match fate(cloud, particle) {
                    Some(fate) => fate,
                    None => {
                        let x = cloud.positions[particle];
                        match finder.find(x, environment(cloud, particle)) {
                            Some(found) => {
                                *slot = found;
                                Fate::Inside
                            }
                            None => Fate::Outside,
                        }
                    }
                };
            }
        });
    Ok(())
}

/// Find the cells that extended particles overlap.
fn spread(
    inner: &Inner,
    shop: &mut Workshop,
    cloud: &Cloud,
    half: Half,
) -> Result<(), ParticleError> {
    let boxes = Boxes::new(&inner.cells)?;
    vacate(shop, cloud.positions.len(), MOST)?;
    let finder = Finder::new(&inner.cells, inner.max_distance, &mut shop.located);
    finder.check_environments(cloud.environments)?;
    let limit = 0.5 * boxes.size.iter().copied().fold(f64::INFINITY, f64::min);
    let width = |particle: usize| match half {
        Half::Same(r) => r,
        Half::Each(list) => list[particle],
    };
    let count = cloud.positions.len();
    let wrong = |&p: &usize| {
        let r = width(p);
        // Cells fit into one another up to rounding.
        fate(cloud, p).is_none() && r.is_finite() && !(0.0..=limit * (1.0 + 1e-9)).contains(&r)
    };
    if let Some(particle) = (0..count).into_par_iter().find_first(wrong) {
        return Err(ParticleError::HalfWidth {
            particle,
            half_width: width(particle),
            limit,
        });
    }
    let slots = shop.slots.par_chunks_mut(CHUNK * MOST);
    let fates = shop.fates.par_chunks_mut(CHUNK);
    slots
        .zip(fates)
        .enumerate()
        .for_each(|(chunk, (slots, fates))| {
            let (slots, _) = slots.as_chunks_mut::<MOST>();
            for (k, (slots, to)) in slots.iter_mut().zip(fates).enumerate() {
                let particle = chunk * CHUNK + k;
                *slots = [VACANT; MOST];
                let (x, r) = (cloud.positions[particle], width(particle));
                let here = environment(cloud, particle);
                *to = match fate(cloud, particle) {
                    Some(fate) => fate,
                    None if !r.is_finite() => Fate::NotFinite,
                    None => {
                        let found = match r > 0.0 {
                            true => boxes.spread(x, r, here, slots) > 0,
                            false => finder.find(x, here).map(|s| slots[0] = s).is_some(),
                        };
                        if found { Fate::Inside } else { Fate::Outside }
                    }
                };
            }
        });
    Ok(())
}

/// What the slots in the workshop are of.
struct Given<'a> {
    volumes: &'a [f64],
    /// Whether a particle may have several slots.
    several: bool,
    /// The particle of a slot.
    particle: &'a (dyn Fn(usize) -> u32 + Sync),
}

/// Sort the slots into the spare snapshot.
fn finish(
    shop: &mut Workshop,
    topology: Arc<Topology>,
    given: &Given,
) -> Result<ParticleReport, ParticleError> {
    let particles = given.volumes.len();
    let sorting = ParticleError::sorting(particles);
    let memory = ParticleError::memory(particles);
    let cells = topology.cell_count();
    let slots = &shop.slots;
    shop.lists
        .rebuild(cells, slots.len(), |slot| slots[slot].cell)
        .map_err(&sorting)?;
    let count = shop.lists.entry_count();

    let mut spare = shop.spare.take();
    let reused = spare.as_mut().is_some_and(|s| Arc::get_mut(s).is_some());
    let mut spare = match spare {
        Some(spare) if reused => spare,
        _ => Arc::new(ParticleSamples::vacant(topology.clone())),
    };
    if let Some(new) = Arc::get_mut(&mut spare) {
        reserve(&mut new.offsets, cells + 1).map_err(&memory)?;
        reserve(&mut new.particles, count).map_err(&memory)?;
        reserve(&mut new.xi, count).map_err(&memory)?;
        reserve(&mut new.shares, count).map_err(&memory)?;
        reserve(&mut new.weights, count).map_err(&memory)?;
        new.topology = topology;
        new.offsets.clear();
        new.offsets.extend_from_slice(shop.lists.offsets());
        new.particles.resize(count, 0);
        new.xi.resize(count, [0.0; 3]);
        new.shares.resize(count, 0.0);
        new.weights.resize(count, 0.0);
        let order = &shop.lists.slots()[..count];
        let chunks = new.particles.par_chunks_mut(CHUNK);
        let chunks = chunks.zip(new.xi.par_chunks_mut(CHUNK));
        let chunks = chunks.zip(new.shares.par_chunks_mut(CHUNK));
        let chunks = chunks.zip(new.weights.par_chunks_mut(CHUNK));
        chunks.zip(order.par_chunks(CHUNK)).for_each(
            |((((particles, xi), shares), weights), order)| {
                for (k, &slot) in order.iter().enumerate() {
                    let from = &slots[slot as usize];
                    particles[k] = (given.particle)(slot as usize);
                    xi[k] = from.xi;
                    shares[k] = from.share;
                    weights[k] = from.share * given.volumes[particles[k] as usize];
                }
            },
        );
        new.several = given.several;
        if given.several {
            let of = &new.particles;
            new.of_particle
                .rebuild(particles, count, |sample| of[sample])
                .map_err(&sorting)?;
        }
        new.report = report(&shop.fates, &new.offsets);
    }
    let report = spare.report;
    shop.spare = Some(spare);
    Ok(report)
}

fn report(fates: &[Fate], offsets: &[u32]) -> ParticleReport {
    let of = |fate: Fate| fates.iter().filter(|&&f| f == fate).count();
    let sizes = || offsets.windows(2).map(|w| (w[1] - w[0]) as usize);
    ParticleReport {
        particles: fates.len(),
        inside: of(Fate::Inside),
        inactive: of(Fate::Inactive),
        not_finite: of(Fate::NotFinite),
        outside: of(Fate::Outside),
        samples: sizes().sum(),
        occupied_cells: sizes().filter(|&n| n > 0).count(),
        most_in_a_cell: sizes().max().unwrap_or(0),
    }
}
