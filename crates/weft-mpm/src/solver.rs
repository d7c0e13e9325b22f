//! The step: from particles to the grid, an implicit solve, and back.

use crate::bins::Bins;
use crate::bytes::sum_of_bytes;
use crate::collider::Colliders;
use crate::config::{Config, GridKind, RheologyKind, Stage, StrainBasis, VelocityBasis, WarmStart};
use crate::grid::{Cells, NodeSet, Remembered};
use crate::momentum::{Sums, elastic_average, momentum};
use crate::raster::Raster;
use crate::solve::{LANES, Lane, Node, RheologySolver, SolveOptions};
use crate::strain::{Inputs, StrainRows, site_coordinates, world_of_site};
use crate::update::{StrainFields, Update};
use crate::{Material, MpmError, Particles};
use fearless_simd::Level;
use std::time::Instant;

/// The shortest step that does anything, s.
const SHORTEST: f32 = 1e-30;

/// Seconds that the parts of a step took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseSeconds {
    /// Cells, nodes and bins.
    pub grid: f64,
    /// Distances to colliders and contacts.
    pub colliders: f64,
    /// Mass and momentum to the grid.
    pub momentum: f64,
    /// Strain rows, yield limits, elasticity, first guess.
    pub strain: f64,
    /// Stress and contact.
    pub solve: f64,
    /// Grid to particles.
    pub update: f64,
}

impl PhaseSeconds {
    /// Names and seconds, in the order of the step.
    pub fn all(&self) -> [(&'static str, f64); 6] {
        [
            ("grid", self.grid),
            ("colliders", self.colliders),
            ("momentum", self.momentum),
            ("strain", self.strain),
            ("solve", self.solve),
            ("update", self.update),
        ]
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Sweeps over strain and contact.
    pub sweeps: usize,
    /// Iterations of linear solvers.
    pub linear_iterations: usize,
    /// Root mean square of the last strain corrections.
    pub residual_l2: f32,
    /// Largest of them.
    pub residual_max: f32,
    /// Cells.
    pub cells: usize,
    /// Strain nodes with material.
    pub strain_nodes: usize,
    /// Velocity nodes.
    pub velocity_nodes: usize,
    /// Samples in contact with a collider.
    pub contacts: usize,
    /// Particles that took part.
    pub binned: usize,
    /// Active particles that did not: outside a fixed grid, or not at a finite position.
    pub dropped: usize,
    /// Where time went.
    pub seconds: PhaseSeconds,
}

/// Impulse of material on a collider in the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impulse {
    /// Where, m.
    pub position: [f64; 3],
    /// Impulse on the collider, N s.
    pub impulse: [f64; 3],
    /// Index of the collider.
    pub collider: usize,
}

/// What some of the materials have.
struct Traits {
    compliant: bool,
    hardening: bool,
    viscous: bool,
    dilatant: bool,
}

impl Traits {
    fn of(materials: &[Material]) -> Traits {
        Traits {
            compliant: materials.iter().any(Material::is_compliant),
            hardening: materials.iter().any(|m| m.hardening > 0.0),
            viscous: materials.iter().any(|m| m.viscosity > 0.0),
            dilatant: materials.iter().any(|m| m.dilatancy > 0.0),
        }
    }
}

/// Moves particles by implicit steps; owns all grid data, which is used again from step to step.
pub struct Solver {
    pub(crate) config: Config,
    materials: Vec<Material>,
    elastic_materials: Vec<[f32; 3]>,
    traits: Traits,
    /// Solvers, with `Auto` resolved.
    stages: Vec<Stage>,
    pub(crate) level: Level,
    pub(crate) worlds: usize,
    pub(crate) cells: Cells,
    bins: Bins,
    pub(crate) set: NodeSet,
    vertices: NodeSet,
    rows: StrainRows,
    pub(crate) raster: Raster,
    sums: Sums,
    pub(crate) nodes: Vec<Node>,
    average: Vec<[f32; 4]>,
    rheology: RheologySolver,
    plastic_modes: Vec<[Lane; 6]>,
    elastic_modes: Vec<[Lane; 6]>,
    critical: Vec<Lane>,
    plastic: Vec<[f32; 6]>,
    elastic: Vec<[f32; 6]>,
    stress: Vec<[f32; 6]>,
    guess: Vec<[f32; 6]>,
    /// Cells (or vertices) of the last step, and the stress there is `stress`.
    pub(crate) last_sites: Remembered,
    pub(crate) last_stress: Vec<[f32; 6]>,
    pub(crate) last_samples: Remembered,
    impulses: Vec<[f32; 3]>,
    pub(crate) last_impulses: Vec<[f32; 3]>,
    /// Whether grid data fits the cells.
    pub(crate) fresh: bool,
    /// Particles get their stress even if nothing else needs it.
    keep_stress: bool,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver")
            .field("config", &self.config)
            .field("materials", &self.materials)
            .field("cells", &self.cells.count())
            .finish_non_exhaustive()
    }
}

impl Solver {
    /// A solver for particles of these materials among colliders.
    ///
    /// # Errors
    /// Those of [`Config::check`], [`Material::check`], [`Particles::check`] and
    /// [`Colliders::check`]; [`MpmError::Config`] for colliders of another cell size, and for a
    /// fixed grid without an active particle; [`MpmError::Grid`] for one around positions out of
    /// range.
    pub fn new(
        config: Config,
        materials: Vec<Material>,
        particles: &Particles,
        colliders: &Colliders,
    ) -> Result<Solver, MpmError> {
        config.check(!colliders.is_empty())?;
        config.check_size(colliders)?;
        for (i, material) in materials.iter().enumerate() {
            material.check(i)?;
        }
        particles.check(materials.len())?;
        colliders.check(config.separate_worlds)?;
        let worlds = match config.separate_worlds {
            true => particles.world.iter().max().map_or(1, |&w| w as usize + 1),
            false => 1,
        };
        let mut cells = Cells::new(&config, worlds)?;
        if config.grid == GridKind::Fixed {
            cells.fix(particles)?;
        }
        let set = match config.velocity_basis {
            VelocityBasis::Q1 => NodeSet::vertices(),
            VelocityBasis::B2 | VelocityBasis::B3 => NodeSet::splines(),
        };
        let resolve = |stage: &Stage| match (stage, config.velocity_basis) {
            (Stage::Rheology(RheologyKind::Auto), VelocityBasis::Q1) => {
                Stage::Rheology(RheologyKind::GaussSeidel)
            }
            (Stage::Rheology(RheologyKind::Auto), _) => Stage::Rheology(RheologyKind::Batched),
            (other, _) => *other,
        };
        let of = |m: &Material| [m.young_modulus, m.poisson_ratio, m.damping];
        Ok(Solver {
            elastic_materials: materials.iter().map(of).collect(),
            traits: Traits::of(&materials),
            stages: config.solver.iter().map(resolve).collect(),
            level: Level::new(),
            worlds,
            cells,
            bins: Bins::default(),
            set,
            vertices: NodeSet::vertices(),
            rows: StrainRows::new(config.strain_basis),
            raster: Raster::new(config.collider_basis),
            sums: Sums::default(),
            nodes: Vec::new(),
            average: Vec::new(),
            rheology: RheologySolver::default(),
            plastic_modes: Vec::new(),
            elastic_modes: Vec::new(),
            critical: Vec::new(),
            plastic: Vec::new(),
            elastic: Vec::new(),
            stress: Vec::new(),
            guess: Vec::new(),
            last_sites: Remembered::default(),
            last_stress: Vec::new(),
            last_samples: Remembered::default(),
            impulses: Vec::new(),
            last_impulses: Vec::new(),
            fresh: false,
            keep_stress: false,
            config,
            materials,
        })
    }

    /// The options.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The materials.
    pub fn materials(&self) -> &[Material] {
        &self.materials
    }

    /// Bytes of all arrays that it keeps, with room for later; those of sparse grids are reckoned
    /// from their numbers of cells.
    pub fn bytes(&self) -> usize {
        let Self {
            config,
            materials,
            elastic_materials,
            stages,
            cells,
            bins,
            set,
            vertices,
            rows,
            raster,
            sums,
            nodes,
            average,
            rheology,
            plastic_modes,
            elastic_modes,
            critical,
            plastic,
            elastic,
            stress,
            guess,
            last_sites,
            last_stress,
            last_samples,
            impulses,
            last_impulses,
            traits: _,
            level: _,
            worlds: _,
            fresh: _,
            keep_stress: _,
        } = self;
        sum_of_bytes!(
            &config.solver,
            &config.gravity,
            materials,
            elastic_materials,
            stages,
            cells,
            bins,
            set,
            vertices,
            rows,
            raster,
            sums,
            nodes,
            average,
            rheology,
            plastic_modes,
            elastic_modes,
            critical,
            plastic,
            elastic,
            stress,
            guess,
            last_sites,
            last_stress,
            last_samples,
            impulses,
            last_impulses
        )
    }

    pub(crate) fn warm_start(&self) -> WarmStart {
        match (self.config.warm_start, self.config.strain_basis) {
            (WarmStart::None, _) => WarmStart::None,
            (_, StrainBasis::Particle(_)) => WarmStart::Particles,
            (WarmStart::Auto, StrainBasis::P1d | StrainBasis::Q1d) => WarmStart::Particles,
            (WarmStart::Auto, _) => WarmStart::Grid,
            (chosen, _) => chosen,
        }
    }

    /// Whether each step gives the particles their stress and plastic volume ratio, for those who
    /// look at them. Without it a step does so only where a next one needs it: with materials that
    /// harden or deform elastically, and with [`WarmStart::Particles`]. The motion is the same.
    pub fn keep_particle_stress(&mut self, keep: bool) {
        self.keep_stress = keep;
    }

    /// Whether particles get anything that strain or stress changes.
    fn needs_strain(&self) -> bool {
        let from_particles = self.warm_start() == WarmStart::Particles;
        self.traits.compliant || self.traits.hardening || from_particles || self.keep_stress
    }

    /// Moves the particles by `dt` seconds. Bodies that yield get the material's impulses; moving
    /// them is left to the caller, see [`Colliders::integrate`].
    ///
    /// # Errors
    /// [`MpmError::TimeStep`] unless `dt` is finite and not negative (0 moves nothing),
    /// [`MpmError::Config`] for colliders that do not go with the options, those of [`Particles::check`], [`MpmError::Particle`] for what an active particle carries that is not
    /// finite, or a density above 1e12 kg/m³, [`MpmError::Capacity`], [`MpmError::Grid`] for positions beyond the
    /// range of cells, [`MpmError::NotFinite`]. Particles have not moved then.
    pub fn step(
        &mut self,
        particles: &mut Particles,
        colliders: &mut Colliders,
        dt: f64,
    ) -> Result<StepReport, MpmError> {
        if !(dt.is_finite() && dt >= 0.0 && (dt as f32).is_finite()) {
            return Err(MpmError::TimeStep { dt });
        }
        self.config.check_size(colliders)?;
        self.config.check_linear(!colliders.is_empty())?;
        particles.check_for_step(self.materials.len())?;
        self.check_worlds(particles)?;
        let mut report = StepReport::default();
        let step = dt as f32;
        // Nothing moves in so short a step, whose inverse would overflow.
        colliders.begin_step();
        if step < SHORTEST || particles.is_empty() {
            self.raster.clear_contacts();
            // Without cells there is no velocity.
            self.fresh &= !particles.is_empty();
            colliders.end_step();
            return Ok(report);
        }
        let mut clock = Clock::start();

        self.grid(particles)?;
        report.cells = self.cells.count();
        report.velocity_nodes = self.set.count();
        report.binned = self.bins.binned;
        report.dropped = self.bins.dropped;
        report.seconds.grid = clock.lap();

        momentum(
            self.level,
            &self.config,
            particles,
            &self.bins,
            &self.cells,
            &self.set,
            step,
            &mut self.sums,
            &mut self.nodes,
        );
        report.seconds.momentum = clock.lap();

        self.raster.sample(
            colliders,
            &self.cells,
            particles,
            &self.bins,
            &self.config,
            dt,
        );
        self.raster.contacts(
            self.level,
            colliders,
            &self.cells,
            &self.set,
            &self.sums.of_node,
            &self.config,
            step,
        );
        report.contacts = self.raster.contacts.count;
        report.seconds.colliders = clock.lap();

        self.strain(particles, step);
        self.guess_impulses();
        let volumes = &self.rows.sites.volume;
        report.strain_nodes = volumes.iter().flatten().filter(|&&v| v > 0.0).count();
        report.seconds.strain = clock.lap();

        let options = SolveOptions {
            max_iterations: self.config.max_iterations,
            tolerance: self.config.tolerance,
            relaxation: self.config.relaxation,
            legacy_half_adjoint: self.config.legacy_half_adjoint,
            check_every: self.config.check_every,
            stages: &self.stages,
            viscous: self.traits.viscous,
            dilatant: self.traits.dilatant,
        };
        let solved = self.rheology.solve(
            &mut self.rows.sites,
            &mut self.raster.contacts,
            &mut self.nodes,
            &options,
        );
        report.sweeps = solved.sweeps;
        report.linear_iterations = solved.linear_iterations;
        report.residual_l2 = solved.residual_l2;
        report.residual_max = solved.residual_max;
        let residual = solved.residual_max;
        if !(residual.is_finite() && self.nodes.iter().flatten().all(|x| x.is_finite())) {
            self.forget();
            return Err(MpmError::NotFinite { residual });
        }
        self.keep_results()?;
        self.push_bodies(colliders)?;
        report.seconds.solve = clock.lap();

        Update {
            level: self.level,
            basis: self.config.velocity_basis,
            bins: &self.bins,
            set: &self.set,
            nodes: &self.nodes,
            strain: self.needs_strain().then_some(StrainFields {
                rows: &self.rows,
                plastic: &self.plastic,
                elastic: &self.elastic,
                stress: &self.stress,
            }),
            materials: &self.materials,
            h: self.cells.size as f32,
            dt: step,
            max_velocity: self.config.max_velocity,
        }
        .run(particles);
        colliders.end_step();
        report.seconds.update = clock.lap();
        Ok(report)
    }

    fn check_worlds(&self, particles: &Particles) -> Result<(), MpmError> {
        if !self.config.separate_worlds {
            return Ok(());
        }
        let beyond = |&w: &u32| w as usize >= self.worlds;
        match particles.world.iter().position(beyond) {
            None => Ok(()),
            Some(particle) => Err(MpmError::Particle {
                particle,
                name: "world",
                value: particles.world[particle].to_string(),
                accepted: "expected a world that a particle had when the solver was made",
            }),
        }
    }

    /// Cells, nodes and bins.
    fn grid(&mut self, particles: &Particles) -> Result<(), MpmError> {
        let changed = self.cells.rebuild(particles)? || !self.fresh;
        if changed {
            self.fresh = false;
            self.set.rebuild(&self.cells.coordinates)?;
            if matches!(self.config.strain_basis, StrainBasis::Q1)
                || self.warm_start() == WarmStart::Smoothed
            {
                self.vertices.rebuild(&self.cells.coordinates)?;
            }
            self.raster.lay_out(&self.cells)?;
        }
        self.bins.fill(
            particles,
            &self.cells,
            self.config.integration,
            self.cells.shifts.len(),
        )?;
        let particle_rows = matches!(self.config.strain_basis, StrainBasis::Particle(_));
        if changed || particle_rows {
            self.rows
                .lay_out(&self.cells, &self.set, &self.vertices, &self.bins)?;
        }
        self.fresh = true;
        Ok(())
    }

    /// Cells and sums of a step, to look at.
    #[cfg(test)]
    pub(crate) fn sums_for_tests<R>(
        &mut self,
        particles: &Particles,
        dt: f32,
        look: impl FnOnce(&Bins, &Cells, &NodeSet, &Sums) -> R,
    ) -> R {
        self.grid(particles).unwrap();
        let (sums, nodes) = (&mut self.sums, &mut self.nodes);
        let (level, config) = (self.level, &self.config);
        momentum(
            level,
            config,
            particles,
            &self.bins,
            &self.cells,
            &self.set,
            dt,
            sums,
            nodes,
        );
        look(&self.bins, &self.cells, &self.set, sums)
    }

    /// Strain rows and the first guess of stress.
    fn strain(&mut self, particles: &Particles, dt: f32) {
        let compliant = self.traits.compliant;
        if compliant {
            elastic_average(
                self.level,
                self.config.velocity_basis,
                particles,
                &self.elastic_materials,
                &self.bins,
                &self.cells,
                &self.set,
                &mut self.sums,
                &mut self.average,
            );
        }
        let warm = self.warm_start();
        self.rows.assemble(&Inputs {
            particles,
            materials: &self.materials,
            bins: &self.bins,
            cells: &self.cells,
            nodes: &self.set,
            basis: self.config.velocity_basis,
            dt,
            elastic: compliant.then_some(&self.average[..]),
            stress_from_particles: warm == WarmStart::Particles,
            level: self.level,
        });
        self.guess_stress(warm);
        self.critical.clear();
        if self.config.critical_fraction > 0.0 {
            let (raster, cells) = (&self.raster, &self.cells);
            self.rows.limit_compaction(
                self.config.critical_fraction,
                |cell| raster.outside(cells, cell),
                &mut self.critical,
            );
        }
    }

    fn guess_stress(&mut self, warm: WarmStart) {
        match warm {
            WarmStart::None => self.rows.sites.stress.fill([[0.0; LANES]; 6]),
            WarmStart::Grid => {
                let rows = self.rows.sites.rows;
                self.guess.clear();
                self.guess.resize(self.rows.dof_count, [0.0; 6]);
                let (basis, cells) = (self.config.strain_basis, &self.cells);
                let vertices = &self.vertices;
                let coordinates = site_coordinates(basis, cells, vertices);
                let world = |site: usize| world_of_site(basis, cells, vertices, site);
                let (guess, last) = (&mut self.guess, &self.last_stress);
                self.last_sites
                    .matches(coordinates, world, &cells.shifts, 1, |now, before| {
                        if (before + 1) * rows <= last.len() {
                            guess[now * rows..(now + 1) * rows]
                                .copy_from_slice(&last[before * rows..(before + 1) * rows]);
                        }
                    });
                self.rows.set_stress(&self.guess);
            }
            WarmStart::Smoothed => {
                // Values at vertices first, then those of each row's vertices.
                self.guess.clear();
                self.guess.resize(self.vertices.count(), [0.0; 6]);
                let (cells, vertices) = (&self.cells, &self.vertices);
                let (guess, last) = (&mut self.guess, &self.last_stress);
                self.last_sites.matches(
                    &vertices.coordinates,
                    |v| cells.world_of(vertices.host(v).0),
                    &cells.shifts,
                    1,
                    |now, before| guess[now] = last[before],
                );
                self.stress.clear();
                let rows = self.rows.sites.rows;
                let basis = self.config.strain_basis;
                match basis {
                    StrainBasis::Q1 => self.stress.extend_from_slice(&self.guess),
                    _ => {
                        for cell in 0..cells.count() {
                            let of_cell = &vertices.of_cell[cell * 8..(cell + 1) * 8];
                            for row in 0..rows {
                                let slots = slots_of_row(basis, row);
                                let mut mean = [0.0; 6];
                                for &slot in slots {
                                    for k in 0..6 {
                                        mean[k] += self.guess[of_cell[slot] as usize][k];
                                    }
                                }
                                self.stress.push(mean.map(|m| m / slots.len() as f32));
                            }
                        }
                    }
                }
                self.rows.set_stress(&self.stress);
            }
            WarmStart::Auto | WarmStart::Particles => {}
        }
    }

    /// Impulses of the last step at the samples that are still there.
    fn guess_impulses(&mut self) {
        let Some(set) = &self.raster.set else {
            return;
        };
        if self.config.warm_start == WarmStart::None {
            return;
        }
        self.impulses.clear();
        self.impulses.resize(set.count(), [0.0; 3]);
        let (impulses, last) = (&mut self.impulses, &self.last_impulses);
        let cells = &self.cells;
        self.last_samples.matches(
            &set.coordinates,
            |sample| self.raster.world_of(cells, sample),
            &cells.shifts,
            set.factor(),
            |now, before| impulses[now] = last[before],
        );
        for (k, &sample) in self.raster.active.iter().enumerate() {
            let impulse = self.impulses[sample as usize];
            for d in 0..3 {
                self.raster.contacts.impulse[k / LANES][d][k % LANES] = impulse[d];
            }
        }
    }

    /// Strain and stress by node for the particles, and what the next step starts from.
    fn keep_results(&mut self) -> Result<(), MpmError> {
        if self.needs_strain() {
            self.strain_by_node();
        }
        self.rows
            .to_nodal(&self.rows.sites.stress, &mut self.stress);
        match self.warm_start() {
            WarmStart::Grid => {
                let basis = self.config.strain_basis;
                let coordinates = site_coordinates(basis, &self.cells, &self.vertices);
                self.last_sites.keep(coordinates, &self.cells.shifts)?;
                self.last_stress.clone_from(&self.stress);
            }
            WarmStart::Smoothed => self.keep_smoothed()?,
            _ => {}
        }
        if let Some(set) = &self.raster.set {
            self.last_samples
                .keep(&set.coordinates, &self.cells.shifts)?;
            self.last_impulses.clear();
            self.last_impulses.resize(set.count(), [0.0; 3]);
            for (k, &sample) in self.raster.active.iter().enumerate() {
                let of = &self.raster.contacts.impulse[k / LANES];
                self.last_impulses[sample as usize] = [0, 1, 2].map(|d| of[d][k % LANES]);
            }
        }
        Ok(())
    }

    /// Plastic and elastic strain of the step by degree of freedom.
    fn strain_by_node(&mut self) {
        self.rheology.increments(
            &self.rows.sites,
            &self.nodes,
            &mut self.plastic_modes,
            &mut self.elastic_modes,
            &self.critical,
        );
        let rows = &self.rows;
        // Integrated strain is 2 V T(ε).
        for list in [&mut self.plastic_modes, &mut self.elastic_modes] {
            for (strain, volume) in list.iter_mut().zip(&rows.sites.volume) {
                for lane in 0..LANES {
                    let v = volume[lane];
                    let scale = if v > 0.0 { 0.5 / v } else { 0.0 };
                    strain.iter_mut().for_each(|s| s[lane] *= scale);
                }
            }
        }
        rows.to_nodal(&self.plastic_modes, &mut self.plastic);
        rows.to_nodal(&self.elastic_modes, &mut self.elastic);
    }

    /// Stress at the vertices, weighted by the material around.
    fn keep_smoothed(&mut self) -> Result<(), MpmError> {
        let vertices = &self.vertices;
        self.last_sites
            .keep(&vertices.coordinates, &self.cells.shifts)?;
        self.last_stress.clear();
        let (rows, basis) = (self.rows.sites.rows, self.config.strain_basis);
        if basis == StrainBasis::Q1 {
            self.last_stress.extend_from_slice(&self.stress);
            return Ok(());
        }
        for v in 0..vertices.count() {
            let mut sum = [0.0; 6];
            let mut total = 0.0;
            for &at in &vertices.around[vertices.first[v] as usize..vertices.first[v + 1] as usize]
            {
                let (cell, slot) = (at as usize / 8, at as usize % 8);
                let row = (0..rows).find(|&r| slots_of_row(basis, r).contains(&slot));
                let weight = self.rows.material_volume[cell];
                let Some(row) = row else {
                    continue;
                };
                total += weight;
                for k in 0..6 {
                    sum[k] += weight * self.stress[cell * rows + row][k];
                }
            }
            let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
            self.last_stress.push(sum.map(|s| s * scale));
        }
        Ok(())
    }

    /// Gives the bodies that yield their impulses.
    fn push_bodies(&self, colliders: &mut Colliders) -> Result<(), MpmError> {
        for impulse in self.impulses() {
            if let Some(body) = colliders.body_of(impulse.collider) {
                colliders.apply_impulse(body, impulse.impulse, impulse.position)?;
            }
        }
        Ok(())
    }

    /// Impulses of material on colliders in the last step, one for each sample in contact.
    pub fn impulses(&self) -> impl Iterator<Item = Impulse> + '_ {
        let contacts = &self.raster.contacts;
        let volume = self.cells.size.powi(3);
        (0..contacts.count).map(move |k| {
            let of = &contacts.impulse[k / LANES];
            let (position, collider) = self.raster.contact(k);
            Impulse {
                position,
                impulse: [0, 1, 2].map(|d| -volume * f64::from(of[d][k % LANES])),
                collider,
            }
        })
    }

    /// Forgets the last step's stress and impulses.
    pub fn forget(&mut self) {
        self.last_sites.clear();
        self.last_samples.clear();
    }
}

/// Vertices whose stress a row of a cell is made from.
fn slots_of_row(basis: StrainBasis, row: usize) -> &'static [usize] {
    const ALL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
    // Origin, x, y, z.
    const LINEAR: [usize; 4] = [0, 4, 2, 1];
    match basis {
        StrainBasis::P1d => &LINEAR[row..row + 1],
        StrainBasis::Q1d => &ALL[row..row + 1],
        _ => &ALL,
    }
}

struct Clock(Instant);

impl Clock {
    fn start() -> Clock {
        Clock(Instant::now())
    }

    fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let lap = (now - self.0).as_secs_f64();
        self.0 = now;
        lap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collider::{Collider, Pose, Shape};

    /// One cell, half of it filled by eight particles, about the middle of [0, h]³.
    fn half_full(config: Config, colliders: &mut Colliders) -> Solver {
        let mut particles = Particles::new();
        let h = config.voxel_size;
        // Eight cubes of this half edge are half a cell.
        let radius = (0.25 * h * 0.5f64.cbrt()) as f32;
        for i in 0..8 {
            let x = [4, 2, 1].map(|bit| h * if i & bit == 0 { 0.25 } else { 0.75 });
            particles.push(x, 1.0, radius);
        }
        let materials = vec![Material::default()];
        let mut solver = Solver::new(config, materials, &particles, colliders).unwrap();
        solver.step(&mut particles, colliders, 0.01).unwrap();
        solver
    }

    fn critical(strain_basis: StrainBasis) -> Config {
        Config {
            critical_fraction: 0.9,
            grid: GridKind::Dense,
            strain_basis,
            ..Config::default()
        }
    }

    /// The strain that each row may be compacted by without pressure.
    fn free(solver: &Solver) -> Vec<f32> {
        let rows = solver.critical.iter().flatten();
        let rows = rows.zip(solver.rows.sites.volume.iter().flatten());
        rows.filter(|(_, v)| **v > 0.0)
            .map(|(added, volume)| added / (volume * (2.0f32 / 3.0).sqrt()))
            .collect()
    }

    #[test]
    fn issue_005_critical_particle_rows() {
        for (basis, rows) in [
            (StrainBasis::P0, 1),
            (StrainBasis::Particle(1), 1),
            (StrainBasis::Particle(8), 8),
        ] {
            let mut none = Colliders::new(0.1).unwrap();
            let all = free(&half_full(critical(basis), &mut none));
            assert_eq!(all.len(), rows, "{basis:?}");
            // (0.9 - 0.5) / 0.5.
            assert!(
                all.iter().all(|s| (s - 0.8).abs() < 1e-5),
                "{basis:?} {all:?}"
            );
        }
    }

    #[test]
    fn issue_005_critical_walls_on_vertices() {
        // Gaps between the walls and the faces of the cell, and the part of the cell between them.
        for (gap, part) in [
            (0.0, 1.0),
            (1e-9, 1.0),
            (-1e-9, 1.0),
            (-0.003, 1.0),
            (0.026, 0.0),
        ] {
            let mut walls = Colliders::new(0.1).unwrap();
            for (y, normal) in [(gap, [0.0, 1.0, 0.0]), (0.1 - gap, [0.0, -1.0, 0.0])] {
                let pose = Pose::facing([0.0, y, 0.0], normal);
                let plane = Collider {
                    pose,
                    ..Collider::new(Shape::Plane)
                };
                walls.add(plane).unwrap();
            }
            let solver = half_full(critical(StrainBasis::P0), &mut walls);
            let all = free(&solver);
            let wanted = (0.9 * part - 0.5f32).max(0.0) / 0.5;
            assert!((all[0] - wanted).abs() < 1e-5, "{gap}: {all:?} {wanted}");
        }
    }
}
