//! Spaces with a function for each particle of a cloud.

use super::{Inner, NEXT_ID, Nodes, Space, SpaceError, ValueKind};
use crate::element::{Element, MAX_POINTS};
use crate::geometry::{Hanging, frames_anywhere};
use crate::particle::{ParticleQuadrature, ParticleSamples};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The particles of a space, and where they were when it was made.
#[derive(Debug)]
pub(super) struct AtParticles {
    pub quadrature: ParticleQuadrature,
    pub samples: Arc<ParticleSamples>,
}

impl AtParticles {
    /// Nodes of a cell: the particles that have a sample in it.
    pub fn cell_nodes(&self, cell: usize) -> &[u32] {
        &self.samples.particles()[self.samples.in_cell(cell)]
    }

    pub fn is_current(&self) -> bool {
        Arc::ptr_eq(&self.samples, &self.quadrature.samples())
    }
}

impl Space {
    /// Scalar space of values at the particles of a cloud: the function of a particle is 1 at its
    /// samples and 0 at all others. Nodes are the particles, those left out included; how many a cell
    /// has differs.
    ///
    /// Integrals of such functions are taken [on the
    /// particles](crate::form::Measure::on_particles), where the mass matrix is diagonal with their
    /// volumes. They have no values elsewhere, and no derivatives.
    /// [`interpolate`](crate::assemble::interpolate) takes values at the particles. The space is of the
    /// particles as they are now: once the quadrature is rebuilt, it is to be made again. In plans,
    /// memory goes with the particles in the fullest cell.
    ///
    /// ```
    /// use weft::assemble::{interpolate, vector};
    /// use weft::form::{Expr, Measure};
    /// use weft::geometry::Grid2;
    /// use weft::particle::{Cloud, ParticleQuadrature};
    /// use weft::space::Space;
    ///
    /// let grid = Grid2::unit([2, 2])?;
    /// let sand = ParticleQuadrature::new(&grid);
    /// sand.rebuild(&Cloud::new(&[[0.125, 0.25, 0.0], [0.25, 0.375, 0.0]], &[2.0, 3.0]))?;
    /// let space = Space::particles(&sand)?;
    /// let height = interpolate(&Expr::position(&grid).at(1), &space)?;
    /// assert_eq!(&*height.values(), &[0.25, 0.375]);
    /// let volumes = vector(&Expr::test(&space).over(&Measure::cells(&grid).on_particles(&sand)))?;
    /// assert_eq!(volumes, [2.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SpaceError::ManyParticles`] for more than [`MAX_POINTS`] samples in a cell;
    /// [`SpaceError::MeshRebuilt`] if the mesh was rebuilt after the quadrature.
    pub fn particles(quadrature: &ParticleQuadrature) -> Result<Space, SpaceError> {
        let (geometry, samples) = (quadrature.geometry().clone(), quadrature.samples());
        let most = samples.report().most_in_a_cell;
        if most > MAX_POINTS {
            return Err(SpaceError::ManyParticles(most));
        }
        // An element has a function at least, used or not.
        let element = Element::of_particles(geometry.cell_kind(), most.max(1));
        let nodes = Nodes {
            count: samples.particle_count(),
            cell_nodes: Vec::new(),
            hanging: Hanging::default(),
        };
        let space = Space(Arc::new(Inner {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            geometry,
            topology: samples.topology().clone(),
            element,
            shared: true,
            value: ValueKind::Scalar,
            nodes: Arc::new(nodes),
            vector: None,
            particles: Some(Arc::new(AtParticles {
                quadrature: quadrature.clone(),
                samples,
            })),
        }));
        space.check_current()?;
        Ok(space)
    }

    /// The quadrature of the particles, if the space is one of [particles](Space::particles).
    pub fn particle_quadrature(&self) -> Option<&ParticleQuadrature> {
        self.0.particles.as_ref().map(|p| &p.quadrature)
    }

    /// The samples of the particles when the space was made.
    pub(crate) fn particle_samples(&self) -> Option<&Arc<ParticleSamples>> {
        self.0.particles.as_ref().map(|p| &p.samples)
    }

    /// Where the particles are: the mean of their samples by share, NaN for those without.
    pub(super) fn particle_positions(&self, samples: &ParticleSamples) -> Vec<[f64; 3]> {
        let frames = frames_anywhere(&**self.geometry());
        let mut sums = vec![([0.0; 3], 0.0); samples.particle_count()];
        for cell in samples.occupied_cells() {
            for s in samples.in_cell(cell) {
                let (at, share) = (frames(cell, samples.xi()[s]).position, samples.shares()[s]);
                let (sum, total) = &mut sums[samples.particles()[s] as usize];
                (0..3).for_each(|d| sum[d] += share * at[d]);
                *total += share;
            }
        }
        let mean = |(sum, total): ([f64; 3], f64)| sum.map(|x| x / total);
        sums.into_iter().map(mean).collect()
    }
}
