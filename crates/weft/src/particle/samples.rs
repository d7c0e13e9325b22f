//! The sorted samples of a cloud.

use crate::geometry::Topology;
use crate::partition::NodeLists;
use std::ops::Range;
use std::sync::Arc;

/// What became of the particles of a cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParticleReport {
    /// Particles given.
    pub particles: usize,
    /// Those that take part.
    pub inside: usize,
    /// Those masked out.
    pub inactive: usize,
    /// Those with a position, volume or extent that is NaN or infinite.
    pub not_finite: usize,
    /// Those in no cell.
    pub outside: usize,
    /// Points of the quadrature: one for each particle inside, more for extended ones.
    pub samples: usize,
    /// Cells with a sample.
    pub occupied_cells: usize,
    /// Samples in the fullest cell.
    pub most_in_a_cell: usize,
}

/// A snapshot of the samples of a quadrature, cell by cell, and in a cell by the number of the
/// particle.
#[derive(Debug)]
pub struct ParticleSamples {
    pub(super) topology: Arc<Topology>,
    /// Where each cell's samples begin, and their number.
    pub(super) offsets: Vec<u32>,
    pub(super) particles: Vec<u32>,
    pub(super) xi: Vec<[f64; 3]>,
    pub(super) shares: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// Samples of each particle, if some may have several.
    pub(super) of_particle: NodeLists,
    pub(super) several: bool,
    pub(super) report: ParticleReport,
}

impl ParticleSamples {
    pub(super) fn vacant(topology: Arc<Topology>) -> ParticleSamples {
        ParticleSamples {
            offsets: vec![0; topology.cell_count() + 1],
            topology,
            particles: Vec::new(),
            xi: Vec::new(),
            shares: Vec::new(),
            weights: Vec::new(),
            of_particle: NodeLists::new(),
            several: false,
            report: ParticleReport::default(),
        }
    }

    /// The cells that the particles were sorted into.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Particles of the cloud, those left out included.
    pub fn particle_count(&self) -> usize {
        self.report.particles
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.particles.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.particles.is_empty()
    }

    /// The samples in a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn in_cell(&self, cell: usize) -> Range<usize> {
        self.offsets[cell] as usize..self.offsets[cell + 1] as usize
    }

    /// The cells with samples, ascending.
    pub fn occupied_cells(&self) -> impl Iterator<Item = usize> + '_ {
        let cells = self.offsets.windows(2).enumerate();
        cells.filter(|(_, w)| w[0] < w[1]).map(|(cell, _)| cell)
    }

    /// The particle of each sample.
    pub fn particles(&self) -> &[u32] {
        &self.particles
    }

    /// Reference coordinates of each sample in its cell.
    pub fn xi(&self) -> &[[f64; 3]] {
        &self.xi
    }

    /// Share of its particle that each sample stands for; 1 for particles without extent.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Weight of each sample: its share of the particle's volume.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// What became of the particles.
    pub fn report(&self) -> ParticleReport {
        self.report
    }

    /// Whether a particle may have several samples, so that values at particles are sums.
    pub(crate) fn several(&self) -> bool {
        self.several
    }

    /// Samples of a particle, ascending; only if [`several`](Self::several).
    pub(crate) fn of_particle(&self, particle: usize) -> &[u32] {
        self.of_particle.of(particle)
    }
}
