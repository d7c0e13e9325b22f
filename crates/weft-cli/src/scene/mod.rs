//! A scene of material points, typed: a case file that has `[mpm]`.
//!
//! Main type: [`Scene`]. Invariant: names that refer to something else in the file (a material, a
//! collider, a cloud of particles) exist there, files exist, numbers are in range, formulas are
//! read. What needs particles or shapes to be made is checked by [`crate::simulate`].

mod collider;
mod config;
mod formula;
mod particles;
mod read;
mod wanted;

use crate::args::Setting;
use crate::case::mesh::files_like;
use crate::diagnose::{Diagnostic, Diagnostics, Located, Place, Text};
use crate::document::{Document, Table};
use std::path::{Path, PathBuf};
use weft_mpm::emit::Zone;
use weft_mpm::{Config, Material};

pub use formula::{PointFormula, Velocity};
pub use wanted::QUANTITIES;

/// Everything a scene's file says.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Path of the file.
    pub path: PathBuf,
    /// Name of the file without its ending; names the folder of the results.
    pub name: String,
    /// A line that says what the scene is.
    pub title: Option<String>,
    /// Number of steps.
    pub steps: usize,
    /// Length of a step, s, above 0.
    pub dt: f64,
    /// Parts of a step in which free bodies move, at least 1.
    pub rigid_substeps: usize,
    /// Particles that end a step inside a collider are moved to its surface.
    pub project_outside: bool,
    /// `[mpm]`.
    pub config: Config,
    /// Where `[mpm]` begins.
    pub mpm: Place,
    /// `[materials.NAME]` in the order of the file, at least one.
    pub materials: Vec<NamedMaterial>,
    /// `[[particles]]`.
    pub particles: Vec<Cloud>,
    /// `[[motion]]`: particles whose motion is prescribed.
    pub motions: Vec<Motion>,
    /// `[[collider]]`.
    pub colliders: Vec<Collider>,
    /// `[[emitter]]`.
    pub emitters: Vec<Emitter>,
    /// `[[kill]]`.
    pub kills: Vec<Kill>,
    /// `[grains]`: rendering grains.
    pub grains: Option<Grains>,
    /// `[[probe]]`; names differ.
    pub probes: Vec<Probe>,
    /// `[[check]]`; names differ.
    pub checks: Vec<Check>,
    /// `[output]`.
    pub output: Output,
    /// What decides the course of the simulation, as text: a checkpoint of another one is refused.
    pub fingerprint: String,
}

impl Scene {
    /// Reads a file, applies `[small]` if asked, and then the settings of the command line.
    ///
    /// # Errors
    /// All faults found, each with its place.
    pub fn read(path: &Path, settings: &[Setting], small: bool) -> Result<Scene, Diagnostics> {
        Scene::parse(path, &text_of(path)?, settings, small)
    }

    /// [`Scene::read`] for text at hand; `path` names it, and files are relative to its folder.
    ///
    /// # Errors
    /// As [`Scene::read`].
    pub fn parse(
        path: &Path,
        text: &str,
        settings: &[Setting],
        small: bool,
    ) -> Result<Scene, Diagnostics> {
        let mut document = Document::parse(&path.display().to_string(), text)?;
        let mut faults = Vec::new();
        if small || document.root.get("small").is_some() {
            // Tried in any case, so that its mistakes show before it is needed.
            let mut reduced = document.clone();
            match reduced.make_small() {
                Ok(()) if small => document = reduced,
                Ok(()) => {}
                Err(found) => faults = found,
            }
        }
        for setting in settings {
            document.set(setting)?;
        }
        read::scene(path, &document, faults)
    }

    /// Whether anything that is asked for shows the particles' stress or plastic volume ratio.
    pub fn shows_stress(&self) -> bool {
        let probes = self.probes.iter().map(|p| &p.quantity);
        let mut quantities = probes.chain(self.checks.iter().map(|c| &c.quantity));
        let fields = [Field::Pressure, Field::Stress, Field::PlasticVolume];
        let out = &self.output;
        let colored = |p: &Picture| matches!(p.color, Color::Pressure | Color::PlasticVolume);
        quantities.any(|q| q.kind == QuantityKind::Pressure)
            || (out.frames > 0 && out.fields.iter().any(|f| fields.contains(f)))
            || out.grid > 0
            || out.picture.as_ref().is_some_and(colored)
    }
}

/// The text of a case file.
pub(crate) fn text_of(path: &Path) -> Result<String, Diagnostic> {
    std::fs::read_to_string(path).map_err(|error| {
        let fault = Diagnostic::new(format!("cannot read {}: {error}", path.display()));
        match files_like(path) {
            Some(near) => fault.note(near),
            None => fault,
        }
    })
}

/// Whether a case file is a scene of material points.
pub fn is_scene(root: &Table) -> bool {
    root.get("mpm").is_some()
}

/// `[materials.NAME]`.
#[derive(Clone, Debug)]
pub struct NamedMaterial {
    /// Its name.
    pub name: Text,
    /// Its values.
    pub material: Material,
}

/// `[[particles]]`: particles that are there from the start.
#[derive(Clone, Debug)]
pub struct Cloud {
    /// Name by which others refer to it.
    pub name: Option<Text>,
    /// Where particles are.
    pub region: Region,
    /// Half the edge of a particle's cube if not half the spacing, m; it has the mass of that.
    pub particle_radius: Option<f64>,
    /// Only where this is above 0.
    pub selection: Option<PointFormula>,
    /// What they are.
    pub fill: Fill,
    /// Velocity, m/s.
    pub velocity: Velocity,
    /// Which of them have mass 0.
    pub kinematic: Kinematic,
    /// First world, and number of worlds that have a copy each.
    pub worlds: (u32, u32),
    /// Where it is written.
    pub at: Place,
}

/// What particles of a cloud or emitter are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Distance of particles, m, above 0.
    pub spacing: f64,
    /// Density, kg/m³, above 0.
    pub density: f64,
    /// Index of the material.
    pub material: usize,
    /// Plastic volume ratio to start with.
    pub plastic_volume: f32,
    /// Width of random displacements as a part of the spacing, from 0 to 1.
    pub jitter: f64,
    /// Chooses those displacements.
    pub seed: u64,
}

/// A region that is filled with particles.
#[derive(Clone, Debug)]
pub enum Region {
    /// A box.
    Box {
        /// Lower corner, m.
        lower: [f64; 3],
        /// Upper corner, m.
        upper: [f64; 3],
        /// Particles lie on the faces of the box too, instead of in the middles of cells.
        corners: bool,
    },
    /// A ball.
    Sphere {
        /// Its centre, m.
        center: [f64; 3],
        /// Its radius, m.
        radius: f64,
    },
    /// A truncated cone about the z axis.
    Cone {
        /// Middle of its lower face, m.
        base: [f64; 3],
        /// Radius of the lower face, m.
        lower: f64,
        /// Radius of the upper face, m.
        upper: f64,
        /// Height, m.
        height: f64,
    },
    /// A layer over a height field.
    Layer {
        /// The ground.
        field: Ground,
        /// Corner of the field, m.
        position: [f64; 3],
        /// From this height above the ground, m.
        bottom: f64,
        /// To this one, m.
        top: f64,
    },
    /// The inside of a surface of triangles.
    Mesh {
        /// Where from.
        file: Located<PathBuf>,
        /// Added to all positions, m.
        position: [f64; 3],
        /// Factor of all positions.
        scale: f64,
    },
}

/// A height field by its formula.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Edges along x and y, m.
    pub size: [f64; 2],
    /// Samples along x and y, at least 2.
    pub samples: [usize; 2],
    /// Height of the point x.
    pub height: PointFormula,
}

/// Which particles of a cloud have a prescribed velocity.
#[derive(Clone, Debug)]
pub enum Kinematic {
    /// None.
    None,
    /// All.
    All,
    /// Those where this is above 0.
    Where(PointFormula),
}

/// `[[motion]]`: kinematic particles that move as a rigid body.
#[derive(Clone, Debug)]
pub struct Motion {
    /// Index of the cloud; all clouds if not given.
    pub cloud: Option<usize>,
    /// Those whose first position makes this positive; all if not given.
    pub selection: Option<PointFormula>,
    /// Velocity of the centre, m/s.
    pub velocity: [f64; 3],
    /// Angular velocity, rad/s.
    pub angular_velocity: [f64; 3],
    /// A point of the axis at the start, m.
    pub center: [f64; 3],
    /// Where it is written.
    pub at: Place,
}

/// `[[collider]]`.
#[derive(Clone, Debug)]
pub struct Collider {
    /// Name by which probes and checks refer to it.
    pub name: Option<Text>,
    /// Its shape in its own frame.
    pub shape: Shape,
    /// Where its origin is, m.
    pub position: [f64; 3],
    /// Axis and angle (radians) by which it is turned, about its origin.
    pub rotation: ([f64; 3], f64),
    /// Coulomb friction.
    pub friction: f64,
    /// Tension that contact bears, Pa.
    pub adhesion: f64,
    /// Layer that counts as part of it, m; a hundredth of a cell if not given.
    pub thickness: Option<f64>,
    /// Depth that `project_outside` lets pass, m; a hundredth of a cell if not given.
    pub projection_threshold: Option<f64>,
    /// How it moves.
    pub body: BodyKind,
    /// Velocity, m/s: for ever of a kinematic body, at first of a dynamic one.
    pub velocity: [f64; 3],
    /// Angular velocity, rad/s; likewise.
    pub angular_velocity: [f64; 3],
    /// The world it is in, where worlds are separate; all if not given.
    pub world: Option<u32>,
    /// Where it is written.
    pub at: Place,
}

/// How a collider moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BodyKind {
    /// Not at all.
    Static,
    /// With a given velocity.
    Kinematic,
    /// By gravity and the material's impulses.
    Dynamic {
        /// Its mass, kg, above 0.
        mass: f64,
    },
}

/// Shapes of colliders.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Half-space, with the outward normal.
    Plane {
        /// Of any length but 0.
        normal: [f64; 3],
    },
    /// A box about its origin.
    Box {
        /// Half its edges, m.
        half: [f64; 3],
    },
    /// A ball about its origin.
    Sphere {
        /// Its radius, m.
        radius: f64,
    },
    /// What is nearer than `radius` to a piece of the z axis.
    Capsule {
        /// Radius, m.
        radius: f64,
        /// Half the length of the piece, m.
        half_length: f64,
    },
    /// The ground under a height field.
    HeightField(Ground),
    /// A polygon in the half plane (r, z), turned about the z axis: a closed surface.
    Revolved {
        /// Vertices (r, z), m, counter-clockwise, at least 3.
        profile: Vec<[f64; 2]>,
        /// Number of steps of a turn, at least 3.
        segments: usize,
    },
    /// A surface of triangles.
    Mesh {
        /// Where from.
        file: Located<PathBuf>,
        /// Factor of all positions.
        scale: f64,
    },
}

/// `[[emitter]]`: a nozzle that gives particles while time goes on.
#[derive(Clone, Debug)]
pub struct Emitter {
    /// Name.
    pub name: Option<Text>,
    /// Middle of the nozzle, m.
    pub position: [f64; 3],
    /// Where the stream goes.
    pub direction: [f64; 3],
    /// Edges of the nozzle, m.
    pub size: [f64; 2],
    /// Speed of the stream, m/s.
    pub speed: f64,
    /// How much it gives.
    pub rate: Rate,
    /// What particles are.
    pub fill: Fill,
    /// Time of the first particles, s.
    pub from: f64,
    /// No particles from this time on, s.
    pub until: f64,
    /// World.
    pub world: u32,
    /// Where it is written.
    pub at: Place,
}

/// How much an emitter gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// What fills the stream.
    Full,
    /// Particles a second.
    Particles(f64),
    /// Kilograms a second.
    Mass(f64),
}

/// `[[kill]]`: where particles end.
#[derive(Clone, Debug)]
pub struct Kill {
    /// The part of space.
    pub zone: Zone,
    /// Where it is written.
    pub at: Place,
}

/// `[grains]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grains {
    /// Grains of a particle, at least 1.
    pub per_particle: usize,
    /// Chooses where they lie.
    pub seed: u64,
}

/// What is measured of a state.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// Which.
    pub kind: QuantityKind,
    /// Index of the cloud; all particles if not given.
    pub cloud: Option<usize>,
    /// Particles in this box only.
    pub within: Option<([f64; 3], [f64; 3])>,
    /// One component of a vector.
    pub component: Option<usize>,
}

/// What can be measured. Particles are those that take part, with a finite position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuantityKind {
    /// Number of particles.
    Count,
    /// Mass, kg.
    Mass,
    /// Momentum, N s.
    Momentum,
    /// Angular momentum of the particles' centres about the origin, N m s.
    AngularMomentum,
    /// Kinetic energy of the particles' velocities, J.
    KineticEnergy,
    /// Energy in gravity, 0 at the origin, J.
    PotentialEnergy,
    /// Both, J.
    Energy,
    /// Centre of mass, m.
    Center,
    /// Quantile of the positions along a direction, m; 0 is the least, 1 the largest.
    Quantile {
        /// Unit vector.
        along: [f64; 3],
        /// From 0 to 1.
        part: f64,
    },
    /// Mean of the positions along a direction, m.
    Mean {
        /// Unit vector.
        along: [f64; 3],
    },
    /// Largest speed, m/s.
    MaxSpeed,
    /// Mean pressure by volume, Pa.
    Pressure,
    /// Impulse on a collider in the last step, N s.
    Impulse(usize),
    /// Mean force on a collider in the last step, N.
    Force(usize),
    /// Where a collider is, m.
    Position(usize),
    /// Its velocity, m/s.
    Velocity(usize),
    /// Particles outside the grid in the last step.
    Dropped,
    /// Particles with a position or velocity that is not finite.
    NotFinite,
    /// Particles removed by `[[kill]]` so far.
    Removed,
    /// Largest error of the balance of momentum of a step so far: what momentum changed by, less
    /// gravity's part, plus the impulses on colliders, relative to the sizes of these parts.
    MomentumBalance,
}

impl QuantityKind {
    /// Whether it has three components.
    pub fn is_vector(self) -> bool {
        use QuantityKind::*;
        matches!(
            self,
            Momentum | AngularMomentum | Center | Impulse(_) | Force(_) | Position(_) | Velocity(_)
        )
    }
}

/// `[[probe]]`: a quantity that is written down as time goes on.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Name of its column.
    pub name: Text,
    /// What.
    pub quantity: Quantity,
}

/// `[[check]]`: what must hold at the end.
#[derive(Clone, Debug)]
pub struct Check {
    /// Name in the results.
    pub name: String,
    /// What, a scalar.
    pub quantity: Quantity,
    /// The least that is accepted.
    pub at_least: Option<f64>,
    /// The most that is accepted.
    pub at_most: Option<f64>,
}

/// `[output]`; 0 stands for never.
#[derive(Clone, Debug)]
pub struct Output {
    /// Particle files every so many steps.
    pub frames: usize,
    /// Arrays of the particle files; the velocity unless the file says otherwise.
    pub fields: Vec<Field>,
    /// Grid fields every so many steps.
    pub grid: usize,
    /// Rows of the probes' table every so many steps.
    pub probes: usize,
    /// Checkpoints every so many steps.
    pub checkpoint: usize,
    /// Pictures.
    pub picture: Option<Picture>,
}

/// An array of the particle files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Velocity.
    Velocity,
    /// Mass.
    Mass,
    /// Half edge of the particle's cube.
    Radius,
    /// Index of the material.
    Material,
    /// World.
    World,
    /// Pressure.
    Pressure,
    /// Stress as a matrix, tension positive.
    Stress,
    /// Plastic volume ratio.
    PlasticVolume,
    /// Elastic deformation gradient.
    Elastic,
    /// Frame for rendering.
    Frame,
}

impl Field {
    /// Names in case files and in the particle files.
    pub const NAMES: &[(&str, Field)] = &[
        ("velocity", Field::Velocity),
        ("mass", Field::Mass),
        ("radius", Field::Radius),
        ("material", Field::Material),
        ("world", Field::World),
        ("pressure", Field::Pressure),
        ("stress", Field::Stress),
        ("plastic_volume", Field::PlasticVolume),
        ("elastic", Field::Elastic),
        ("frame", Field::Frame),
    ];
}

/// `[output.picture]`.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Every so many steps; 0: only at the end.
    pub every: usize,
    /// What the colours show.
    pub color: Color,
    /// Direction from the particles to the viewer.
    pub view: [f64; 3],
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// The box that is shown; chosen by the first particles if not given.
    pub window: Option<([f64; 3], [f64; 3])>,
}

/// What colours of particles show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Speed.
    Speed,
    /// Height.
    Height,
    /// Pressure.
    Pressure,
    /// Plastic volume ratio.
    PlasticVolume,
    /// Index of the material.
    Material,
    /// World.
    World,
}

impl Color {
    /// Names in case files.
    pub const NAMES: &[(&str, Color)] = &[
        ("speed", Color::Speed),
        ("height", Color::Height),
        ("pressure", Color::Pressure),
        ("plastic_volume", Color::PlasticVolume),
        ("material", Color::Material),
        ("world", Color::World),
    ];

    /// With its unit, for the legend.
    pub fn label(self) -> &'static str {
        match self {
            Color::Speed => "speed, m/s",
            Color::Height => "height, m",
            Color::Pressure => "pressure, Pa",
            Color::PlasticVolume => "plastic volume ratio",
            Color::Material => "material",
            Color::World => "world",
        }
    }
}
