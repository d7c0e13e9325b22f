//! Options of the solver.

use crate::MpmError;
use crate::collider::Colliders;

/// How cells are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum GridKind {
    /// Each step anew, from the cells with particles; cells are centred on multiples of h.
    #[default]
    Sparse,
    /// As sparse, with cell faces on multiples of h.
    Dense,
    /// Once, around the active particles that a solver is made with, at least one; particles that
    /// leave take no part and are counted.
    Fixed,
}

/// What particles carry to the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Transfer {
    /// Velocity and its gradient.
    #[default]
    Apic,
    /// Velocity only: dissipates.
    Pic,
}

/// How particles serve as quadrature points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Integration {
    /// A point in the cell that contains it.
    #[default]
    Pic,
    /// A cube, spread over the cells that its corners lie in.
    Gimp,
}

/// Shape functions of the velocity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum VelocityBasis {
    /// Trilinear.
    #[default]
    Q1,
    /// Quadratic B-splines.
    B2,
    /// Cubic B-splines.
    B3,
}

/// Shape functions of stress and strain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StrainBasis {
    /// Constant in a cell.
    #[default]
    P0,
    /// Linear in a cell, discontinuous.
    P1d,
    /// Trilinear, continuous.
    Q1,
    /// Trilinear in a cell, discontinuous.
    Q1d,
    /// One for each particle, at most so many in a cell.
    Particle(usize),
}

/// Where contact is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ColliderBasis {
    /// Cell vertices.
    Q1,
    /// Vertices and middles of edges.
    #[default]
    S2,
    /// Vertices and two points on each edge.
    S3,
    /// Particles, at most so many in a cell.
    Particle(usize),
}

/// Where the first guess of stress comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WarmStart {
    /// Zero, for contact too.
    None,
    /// `Particles` for P1d and Q1d, else `Grid`.
    #[default]
    Auto,
    /// Stress of the particles. Strain by particles takes this for all but `None`.
    Particles,
    /// The last step's stress at the same cells (for Q1 nodes), 0 at others.
    Grid,
    /// The last step's stress at the same vertices, as means over the material around.
    Smoothed,
}

/// Which velocity a kinematic collider has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ColliderVelocity {
    /// The body's.
    #[default]
    Forward,
    /// The difference of its last two poses.
    Backward,
}

/// Sweeps over strain nodes with yield limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RheologyKind {
    /// `GaussSeidel` for Q1 velocity, `Batched` for B-splines.
    #[default]
    Auto,
    /// Colour after colour.
    GaussSeidel,
    /// Some colours at once.
    Batched,
    /// All nodes at once.
    Jacobi,
}

/// Krylov methods for elastic materials, without yield limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearKind {
    /// Conjugate gradients.
    Cg,
    /// Conjugate residuals.
    Cr,
    /// GMRES.
    Gmres,
}

/// One solver of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Sweeps with yield limits and contact.
    Rheology(RheologyKind),
    /// A linear solver: first guess of what follows, or alone without colliders.
    Linear(LinearKind),
}

/// Options of the [solver](crate::Solver).
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Edge of a cell, m.
    pub voxel_size: f64,
    /// Most sweeps a step.
    pub max_iterations: usize,
    /// Stop when the strain corrections of a sweep are below this (mean square and maximum).
    pub tolerance: f32,
    /// Solvers, from first guess to last.
    pub solver: Vec<Stage>,
    /// Part of each local correction that is applied, in (0, 1].
    pub relaxation: f32,
    /// Stress acts on velocity with half its weight, as in the reference system: for comparison.
    pub legacy_half_adjoint: bool,
    /// Sweeps between checks of the tolerance.
    pub check_every: usize,
    /// First guess of stress.
    pub warm_start: WarmStart,
    /// Velocity of kinematic colliders.
    pub collider_velocity: ColliderVelocity,
    /// How cells are made.
    pub grid: GridKind,
    /// Rings of cells around those with particles, at most [`MAX_PADDING`](Self::MAX_PADDING).
    pub grid_padding: usize,
    /// Most cells; 0: no limit.
    pub max_active_cell_count: usize,
    /// What particles carry to the grid.
    pub transfer: Transfer,
    /// How particles serve as quadrature points.
    pub integration: Integration,
    /// Packing fraction under which material compacts freely, in [0, 1]; 0: never.
    pub critical_fraction: f32,
    /// Drag of the air, kg/(m³ s).
    pub air_drag: f32,
    /// Largest speed of a particle, m/s.
    pub max_velocity: f32,
    /// Contact normals from the gradient of the sampled distance.
    pub normals_from_distance: bool,
    /// Where contact is sampled.
    pub collider_basis: ColliderBasis,
    /// Shape functions of stress and strain.
    pub strain_basis: StrainBasis,
    /// Shape functions of velocity.
    pub velocity_basis: VelocityBasis,
    /// Worlds don't touch each other.
    pub separate_worlds: bool,
    /// Gravity of each world, m/s²; the last entry serves all further worlds.
    pub gravity: Vec<[f32; 3]>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            voxel_size: 0.1,
            max_iterations: 250,
            tolerance: 1e-4,
            solver: vec![Stage::Rheology(RheologyKind::Auto)],
            relaxation: 1.0,
            legacy_half_adjoint: false,
            check_every: 5,
            warm_start: WarmStart::Auto,
            collider_velocity: ColliderVelocity::Forward,
            grid: GridKind::Sparse,
            grid_padding: 0,
            max_active_cell_count: 0,
            transfer: Transfer::Apic,
            integration: Integration::Pic,
            critical_fraction: 0.0,
            air_drag: 1.0,
            max_velocity: 1e5,
            normals_from_distance: false,
            collider_basis: ColliderBasis::S2,
            strain_basis: StrainBasis::P0,
            velocity_basis: VelocityBasis::Q1,
            separate_worlds: false,
            gravity: vec![[0.0, 0.0, -9.81]],
        }
    }
}

fn fault(option: impl Into<String>, reason: impl Into<String>) -> MpmError {
    MpmError::Config {
        option: option.into(),
        reason: reason.into(),
    }
}

impl Config {
    /// Most rings of cells.
    pub const MAX_PADDING: usize = 64;

    /// Checks every option; `colliders` says whether there are any.
    ///
    /// # Errors
    /// [`MpmError::Config`] with the option, its value, and what would be accepted.
    pub fn check(&self, colliders: bool) -> Result<(), MpmError> {
        let positive = [
            ("voxel_size", self.voxel_size),
            ("relaxation", f64::from(self.relaxation)),
            ("max_velocity", f64::from(self.max_velocity)),
        ];
        for (name, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return Err(fault(
                    format!("{name} = {value}"),
                    "expected a finite number above 0",
                ));
            }
        }
        let not_negative = [
            ("tolerance", self.tolerance),
            ("air_drag", self.air_drag),
            ("critical_fraction", self.critical_fraction),
        ];
        for (name, value) in not_negative {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(fault(
                    format!("{name} = {value}"),
                    "expected a finite number of at least 0",
                ));
            }
        }
        if self.relaxation > 1.0 {
            let option = format!("relaxation = {}", self.relaxation);
            return Err(fault(option, "expected a number in (0, 1]"));
        }
        if self.critical_fraction > 1.0 {
            let option = format!("critical_fraction = {}", self.critical_fraction);
            return Err(fault(option, "expected a number from 0 to 1"));
        }
        if self.grid_padding > Config::MAX_PADDING {
            return Err(fault(
                format!("grid_padding = {}", self.grid_padding),
                format!("expected at most {}", Config::MAX_PADDING),
            ));
        }
        if self.check_every == 0 {
            return Err(fault("check_every = 0", "expected at least 1"));
        }
        if self.gravity.is_empty() || self.gravity.iter().flatten().any(|g| !g.is_finite()) {
            let option = format!("gravity = {:?}", self.gravity);
            return Err(fault(option, "expected one finite vector a world"));
        }
        for (name, basis) in [
            (
                "strain_basis",
                self.strain_basis == StrainBasis::Particle(0),
            ),
            (
                "collider_basis",
                self.collider_basis == ColliderBasis::Particle(0),
            ),
        ] {
            if basis {
                let option = format!("{name} = pic0");
                return Err(fault(option, "expected at least one particle a cell"));
            }
        }
        let by_particles = matches!(self.collider_basis, ColliderBasis::Particle(_));
        if colliders && by_particles && self.critical_fraction > 0.0 {
            return Err(fault(
                format!("critical_fraction = {}", self.critical_fraction),
                "needs colliders sampled at the vertices; expected collider_basis Q1, S2 or S3, or 0",
            ));
        }
        let Some(last) = self.solver.last() else {
            return Err(fault("solver = []", "expected at least one solver"));
        };
        if let (Stage::Linear(kind), true) = (last, self.solver.len() > 1) {
            return Err(fault(
                format!("solver ends with {kind:?}"),
                "a linear solver can only be the first guess in a chain, or stand alone",
            ));
        }
        self.check_linear(colliders)
    }

    /// Refuses colliders with a linear solver alone.
    pub(crate) fn check_linear(&self, colliders: bool) -> Result<(), MpmError> {
        match self.solver.last() {
            Some(Stage::Linear(kind)) if colliders => Err(fault(
                format!("solver = {kind:?}"),
                "a linear solver knows no contact; put gs after it, or remove the colliders",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses colliders that were made for cells of another size.
    pub(crate) fn check_size(&self, colliders: &Colliders) -> Result<(), MpmError> {
        match colliders.voxel_size() {
            size if size == self.voxel_size => Ok(()),
            size => Err(fault(
                format!("voxel_size = {}", self.voxel_size),
                format!("the colliders are for cells of {size} m; expected the same size"),
            )),
        }
    }

    /// Gravity of a world, m/s²; the last entry serves all further ones.
    pub fn gravity_of(&self, world: usize) -> [f32; 3] {
        let last = self.gravity.len().saturating_sub(1);
        self.gravity
            .get(world.min(last))
            .copied()
            .unwrap_or_default()
    }
}
