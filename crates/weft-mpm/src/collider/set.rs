//! All colliders of a simulation.

use glam::{DMat3, DVec3};

use super::body::{Body, Motion, State};
use super::pose::{LARGEST, Pose, Rigid, not_negative, positive, vector};
use super::shape::{Shape, Solid};
use crate::bytes::{Bytes, sum_of_bytes};
use crate::{ColliderVelocity, MpmError};

/// The body that all colliders belong to unless they name another: it stands still.
pub const GROUND: usize = 0;

/// How a collider meets material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColliderMaterial {
    /// Layer around the shape that counts as part of it, m; `None`: 0.01 cells.
    pub thickness: Option<f64>,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Tension that contact bears, Pa.
    pub adhesion: f64,
    /// Depth up to which [`Colliders::project_outside`] leaves particles alone, m; `None`:
    /// 0.01 cells.
    pub projection_threshold: Option<f64>,
}

impl Default for ColliderMaterial {
    fn default() -> ColliderMaterial {
        ColliderMaterial {
            thickness: None,
            friction: 0.5,
            adhesion: 0.0,
            projection_threshold: None,
        }
    }
}

/// A shape, fixed to a body.
#[derive(Clone, Debug)]
pub struct Collider {
    /// The shape.
    pub shape: Shape,
    /// From the shape's frame to the body's.
    pub pose: Pose,
    /// How it meets material.
    pub material: ColliderMaterial,
    /// The body, [`GROUND`] or out of [`Colliders::add_body`].
    pub body: usize,
    /// The world it exists in; `None`: all of them. A solver heeds it where worlds are separate: on
    /// one grid all material meets all colliders. [`Colliders::query`] and
    /// [`Colliders::project_outside`] always do.
    pub world: Option<u32>,
}

impl Collider {
    /// A shape of the usual material that stands still in all worlds.
    pub fn new(shape: Shape) -> Collider {
        Collider {
            shape,
            pose: Pose::IDENTITY,
            material: ColliderMaterial::default(),
            body: GROUND,
            world: None,
        }
    }
}

/// The collider nearest to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Signed distance from the shape less its thickness, m.
    pub distance: f64,
    /// The thickness, m.
    pub thickness: f64,
    /// Outward unit normal of the shape.
    pub normal: [f64; 3],
    /// The closest point of the shape's surface (without thickness).
    pub point: [f64; 3],
    /// Index of the collider.
    pub collider: usize,
    /// Index of its body.
    pub body: usize,
    /// Friction coefficient.
    pub friction: f64,
    /// Adhesion, Pa.
    pub adhesion: f64,
    /// Projection threshold, m.
    pub threshold: f64,
}

#[derive(Clone, Debug)]
struct Entry {
    solid: Solid,
    local: Rigid,
    world: Option<u32>,
    body: usize,
    material: ColliderMaterial,
    thickness: f64,
    threshold: f64,
    // Where it is now.
    turn: DMat3,
    origin: DVec3,
    center: DVec3,
    reach: f64,
}

impl Entry {
    fn place(&mut self, body: &Rigid) {
        let pose = body.after(&self.local);
        self.turn = pose.matrix();
        self.origin = pose.position;
        self.center = pose.apply(self.solid.bounds().0);
    }

    fn resolve(&mut self, voxel_size: f64) {
        self.thickness = self.material.thickness.unwrap_or(0.01 * voxel_size);
        let threshold = self.material.projection_threshold;
        self.threshold = threshold.unwrap_or(0.01 * voxel_size);
    }
}

/// Shapes, the bodies that carry them, and how they meet material.
///
/// Colliders and bodies are numbered in the order they are added, and keep their numbers.
///
/// ```
/// use weft_mpm::collider::{Collider, Colliders, Pose, Shape};
///
/// let mut colliders = Colliders::new(0.1)?;
/// colliders.add(Collider::new(Shape::Plane))?;
/// let half = [0.5, 2.0, 0.8];
/// colliders.add(Collider { pose: Pose::at([0.75, 0.0, 0.8]), ..Collider::new(Shape::Box { half }) })?;
/// let contact = colliders.query([0.75, 0.0, 1.65], colliders.search_range(), None);
/// assert!(contact.is_some_and(|c| c.collider == 1 && c.normal == [0.0, 0.0, 1.0]));
/// # Ok::<(), weft_mpm::MpmError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Colliders {
    voxel_size: f64,
    bodies: Vec<State>,
    entries: Vec<Entry>,
}

impl Colliders {
    /// No colliders, and one body, [`GROUND`]; `voxel_size` is the edge of the solver's cells,
    /// m, which default thicknesses and tolerances are parts of.
    ///
    /// # Errors
    /// [`MpmError::Config`] if it is no number above 0.
    pub fn new(voxel_size: f64) -> Result<Colliders, MpmError> {
        let mut colliders = Colliders {
            voxel_size: 1.0,
            bodies: Vec::new(),
            entries: Vec::new(),
        };
        colliders.set_voxel_size(voxel_size)?;
        colliders.add_body(Body::fixed(Pose::IDENTITY))?;
        Ok(colliders)
    }

    /// Bytes of all arrays; those of meshes are reckoned from their number of triangles.
    pub fn bytes(&self) -> usize {
        let solids = self.entries.iter().map(|entry| entry.solid.bytes());
        sum_of_bytes!(&self.bodies, &self.entries) + solids.sum::<usize>()
    }

    /// The edge of the solver's cells, m.
    pub fn voxel_size(&self) -> f64 {
        self.voxel_size
    }

    /// Changes the edge of the solver's cells, and what is a part of it.
    ///
    /// # Errors
    /// [`MpmError::Config`] if it is no number above 0.
    pub fn set_voxel_size(&mut self, voxel_size: f64) -> Result<(), MpmError> {
        positive("voxel_size", voxel_size).map_err(|_| MpmError::Config {
            option: format!("voxel_size = {voxel_size}"),
            reason: "expected a number above 0, from 1e-30 to 1e30".into(),
        })?;
        self.voxel_size = voxel_size;
        for entry in &mut self.entries {
            entry.resolve(voxel_size);
        }
        Ok(())
    }

    /// Number of colliders.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of bodies, with [`GROUND`].
    pub fn body_count(&self) -> usize {
        self.bodies.len()
    }

    /// Adds a body: its number.
    ///
    /// # Errors
    /// [`MpmError::Collider`], with the value and what would be accepted.
    pub fn add_body(&mut self, body: Body) -> Result<usize, MpmError> {
        let id = self.bodies.len();
        let state = State::new(&body).map_err(|reason| self.fault(id, reason))?;
        self.bodies.push(state);
        Ok(id)
    }

    /// Adds a collider: its number.
    ///
    /// # Errors
    /// [`MpmError::Collider`], with the value and what would be accepted.
    pub fn add(&mut self, collider: Collider) -> Result<usize, MpmError> {
        let id = self.entries.len();
        let entry = self.entry(collider).map_err(|reason| MpmError::Collider {
            collider: id,
            reason,
        })?;
        self.entries.push(entry);
        Ok(id)
    }

    fn entry(&self, collider: Collider) -> Result<Entry, String> {
        let Some(body) = self.bodies.get(collider.body) else {
            return Err(format!(
                "body {} does not exist; there are {}",
                collider.body,
                self.bodies.len()
            ));
        };
        let material = collider.material;
        not_negative("friction", material.friction)?;
        not_negative("adhesion", material.adhesion)?;
        not_negative("thickness", material.thickness.unwrap_or(0.0))?;
        let threshold = material.projection_threshold.unwrap_or(0.0);
        not_negative("projection_threshold", threshold)?;
        let local = collider.pose.checked()?;
        let solid = Solid::new(collider.shape)?;
        let mut entry = Entry {
            reach: solid.bounds().1,
            solid,
            local,
            world: collider.world,
            body: collider.body,
            material,
            thickness: 0.0,
            threshold: 0.0,
            turn: DMat3::IDENTITY,
            origin: DVec3::ZERO,
            center: DVec3::ZERO,
        };
        entry.resolve(self.voxel_size);
        entry.place(&body.at);
        Ok(entry)
    }

    /// An error of a body, at its first collider.
    fn fault(&self, body: usize, reason: String) -> MpmError {
        let first = self.entries.iter().position(|e| e.body == body);
        MpmError::Collider {
            collider: first.unwrap_or(self.entries.len()),
            reason: format!("body {body}: {reason}"),
        }
    }

    fn state(&self, body: usize) -> Result<&State, MpmError> {
        let missing = || {
            self.fault(
                body,
                format!("does not exist; there are {}", self.bodies.len()),
            )
        };
        self.bodies.get(body).ok_or_else(missing)
    }

    /// Checks what goes for all together: in separate worlds a body that yields to the material
    /// belongs to one world.
    ///
    /// # Errors
    /// [`MpmError::Collider`].
    pub fn check(&self, separate_worlds: bool) -> Result<(), MpmError> {
        if !separate_worlds {
            return Ok(());
        }
        for (id, entry) in self.entries.iter().enumerate() {
            if self.bodies[entry.body].inverse_mass() == 0.0 {
                continue;
            }
            let others = self.entries[..id].iter().filter(|e| e.body == entry.body);
            let reason = if entry.world.is_none() {
                "in all worlds"
            } else if others.into_iter().any(|e| e.world != entry.world) {
                "in several worlds"
            } else {
                continue;
            };
            return Err(MpmError::Collider {
                collider: id,
                reason: format!(
                    "body {} yields to material and is {reason}, which are separate; give its colliders one world, or set its contact mass to 0",
                    entry.body
                ),
            });
        }
        Ok(())
    }

    /// How far around a point to look for contact: the diagonal of a cell and the largest
    /// thickness, m.
    pub fn search_range(&self) -> f64 {
        let thickest = self.entries.iter().fold(0.0f64, |m, e| m.max(e.thickness));
        self.voxel_size * 3f64.sqrt() + thickest
    }

    /// The collider with the least distance at `x`, among those whose surface is at most
    /// `max_distance` away (before thickness is taken off) and that exist in `world` (`None`:
    /// in any); of several with the same the first. Inside of plane, box, sphere, capsule and
    /// height field the depth is not limited. `None` also for coordinates that are not finite.
    ///
    /// Allocates nothing (but once a thread, for meshes).
    pub fn query(&self, x: [f64; 3], max_distance: f64, world: Option<u32>) -> Option<Contact> {
        let x = DVec3::from(x);
        if !(x.is_finite() && x.abs().max_element() <= LARGEST && max_distance >= 0.0) {
            return None;
        }
        // Rounding of lengths, in which closest points are uncertain.
        let flat = 1e-6 * self.voxel_size;
        let mut best = f64::INFINITY;
        let mut found = None;
        for (id, entry) in self.entries.iter().enumerate() {
            let elsewhere = matches!((world, entry.world), (Some(a), Some(b)) if a != b);
            let range = max_distance + entry.reach;
            if elsewhere || x.distance_squared(entry.center) > range * range {
                continue;
            }
            let local = entry.turn.transpose() * (x - entry.origin);
            if let Some(sample) = entry.solid.sample(local, max_distance, flat) {
                let distance = sample.distance - entry.thickness;
                if distance < best {
                    best = distance;
                    found = Some((id, sample));
                }
            }
        }
        found.map(|(id, sample)| {
            let entry = &self.entries[id];
            Contact {
                distance: best,
                thickness: entry.thickness,
                normal: (entry.turn * sample.normal).into(),
                point: (entry.turn * sample.point + entry.origin).into(),
                collider: id,
                body: entry.body,
                friction: entry.material.friction,
                adhesion: entry.material.adhesion,
                threshold: entry.threshold,
            }
        })
    }

    /// Velocity of the point of a collider that is at `point`, m/s: the mean over the step from
    /// now on (forward) or that of the last step (backward). Without a step, `dt` = 0, it is the
    /// velocity of the moment. 0 for a collider that does not exist.
    pub fn velocity_at(
        &self,
        collider: usize,
        point: [f64; 3],
        dt: f64,
        mode: ColliderVelocity,
    ) -> [f64; 3] {
        self.entries.get(collider).map_or([0.0; 3], |entry| {
            let body = &self.bodies[entry.body];
            body.velocity_at(point.into(), dt, mode).into()
        })
    }

    /// The body of a collider.
    pub fn body_of(&self, collider: usize) -> Option<usize> {
        self.entries.get(collider).map(|e| e.body)
    }

    /// The world of a collider; `None` for all, and for a collider that does not exist.
    pub fn world_of(&self, collider: usize) -> Option<u32> {
        self.entries.get(collider).and_then(|e| e.world)
    }

    /// Who moves a body; `None` if there is no such body.
    pub fn motion(&self, body: usize) -> Option<Motion> {
        self.bodies.get(body).map(|b| b.motion)
    }

    /// Where a body is; `None` if there is no such body.
    pub fn pose(&self, body: usize) -> Option<Pose> {
        self.bodies.get(body).map(|b| b.at.pose())
    }

    /// Velocity of a body's centre of mass (m/s) and its angular velocity (rad/s); `None` if
    /// there is no such body.
    pub fn velocity(&self, body: usize) -> Option<([f64; 3], [f64; 3])> {
        self.bodies
            .get(body)
            .map(|b| (b.linear.into(), b.angular.into()))
    }

    /// Moves a body; what it was before stays its last pose until the end of the step.
    ///
    /// # Errors
    /// [`MpmError::Collider`] for a static or missing body, or numbers that are no pose.
    pub fn set_pose(&mut self, body: usize, pose: Pose) -> Result<(), MpmError> {
        self.movable(body)?;
        let at = pose.checked().map_err(|reason| self.fault(body, reason))?;
        self.bodies[body].at = at;
        self.place(body);
        Ok(())
    }

    /// Gives a body a velocity of its centre of mass (m/s) and an angular velocity (rad/s).
    ///
    /// # Errors
    /// [`MpmError::Collider`] for a static or missing body, or numbers that are not finite.
    pub fn set_velocity(
        &mut self,
        body: usize,
        linear: [f64; 3],
        angular: [f64; 3],
    ) -> Result<(), MpmError> {
        self.movable(body)?;
        let check = |name, v| vector(name, v).map_err(|reason| self.fault(body, reason));
        let linear = check("linear velocity", linear)?;
        let angular = check("angular velocity", angular)?;
        let state = &mut self.bodies[body];
        (state.linear, state.angular) = (linear, angular);
        Ok(())
    }

    fn movable(&self, body: usize) -> Result<(), MpmError> {
        match self.state(body)?.motion {
            Motion::Static => {
                Err(self.fault(body, "is static; add a kinematic body to move".into()))
            }
            _ => Ok(()),
        }
    }

    fn place(&mut self, body: usize) {
        for entry in self.entries.iter_mut().filter(|e| e.body == body) {
            entry.place(&self.bodies[body].at);
        }
    }

    /// Sets the mass that contact with material meets, kg, with inertia in proportion. 0: the
    /// body moves as it does, whatever the material does (one-way coupling).
    ///
    /// # Errors
    /// [`MpmError::Collider`] for a static or missing body, or a mass that is negative or not
    /// finite.
    pub fn set_contact_mass(&mut self, body: usize, mass: f64) -> Result<(), MpmError> {
        self.movable(body)?;
        if mass != 0.0 {
            positive("contact mass", mass).map_err(|reason| self.fault(body, reason))?;
        }
        self.bodies[body].contact_mass = mass;
        Ok(())
    }

    /// 1/m for contact, 1/kg; 0 for bodies that don't yield and for missing ones.
    pub fn inverse_mass(&self, body: usize) -> f64 {
        self.bodies.get(body).map_or(0.0, State::inverse_mass)
    }

    /// Inverse inertia about the centre of mass for contact, in the world, 1/(kg m²), symmetric;
    /// 0 for bodies that don't yield and for missing ones.
    pub fn inverse_inertia(&self, body: usize) -> [[f64; 3]; 3] {
        let state = self.bodies.get(body);
        state.map_or([[0.0; 3]; 3], |b| b.inverse_inertia().to_cols_array_2d())
    }

    /// Centre of mass in the world, m; the origin for a missing body.
    pub fn center_of_mass(&self, body: usize) -> [f64; 3] {
        let state = self.bodies.get(body);
        state.map_or([0.0; 3], |b| b.center_of_mass().into())
    }

    /// Begins a step: forgets the impulses of the last one.
    pub fn begin_step(&mut self) {
        for body in &mut self.bodies {
            (body.impulse, body.moment) = (DVec3::ZERO, DVec3::ZERO);
        }
    }

    /// Ends a step: where bodies are becomes where they were.
    pub fn end_step(&mut self) {
        for body in &mut self.bodies {
            body.before = body.at;
        }
    }

    /// Forgets where bodies were, as if they had always been where they are now: those with a
    /// collider whose world `selected` accepts (`None` stands for all worlds).
    pub fn forget_motion(&mut self, selected: impl Fn(Option<u32>) -> bool) {
        for entry in self.entries.iter().filter(|e| selected(e.world)) {
            let body = &mut self.bodies[entry.body];
            body.before = body.at;
        }
    }

    /// An impulse (N s) that acts on a body at a point of the world: changes the velocities of
    /// a body that yields, and is added to what [`impulse`](Self::impulse) tells.
    ///
    /// # Errors
    /// [`MpmError::Collider`] for a missing body or numbers that are not finite.
    pub fn apply_impulse(
        &mut self,
        body: usize,
        impulse: [f64; 3],
        at: [f64; 3],
    ) -> Result<(), MpmError> {
        let state = self.state(body)?;
        let check = |name, v| vector(name, v).map_err(|reason| self.fault(body, reason));
        let impulse = check("impulse", impulse)?;
        let moment = (check("point", at)? - state.center_of_mass()).cross(impulse);
        let (linear, angular) = state.response(impulse, moment);
        let state = &mut self.bodies[body];
        state.impulse += impulse;
        state.moment += moment;
        if state.motion == Motion::Dynamic {
            state.linear += linear;
            state.angular += angular;
        }
        Ok(())
    }

    /// Sum of the impulses on a body since the step began (N s), and of their moments about its
    /// centre of mass (N m s); over the time step they are the force and torque for a rigid-body
    /// engine. 0 for a missing body.
    pub fn impulse(&self, body: usize) -> ([f64; 3], [f64; 3]) {
        let state = self.bodies.get(body);
        state.map_or(Default::default(), |b| (b.impulse.into(), b.moment.into()))
    }

    /// Takes the impulses since the step began out of the velocity of a dynamic body again. An
    /// engine that has applied them as forces calls this before the next step, which applies
    /// its own.
    ///
    /// # Errors
    /// [`MpmError::Collider`] for a static or missing body.
    pub fn rewind(&mut self, body: usize) -> Result<(), MpmError> {
        self.movable(body)?;
        let state = &mut self.bodies[body];
        if state.motion == Motion::Dynamic {
            let (linear, angular) = state.response(state.impulse, state.moment);
            state.linear -= linear;
            state.angular -= angular;
        }
        Ok(())
    }

    /// Adds what `gravity` (m/s²) gives in `dt` (s) to the velocities of dynamic bodies.
    ///
    /// Called before a step of the material, with [`integrate`](Self::integrate) without gravity
    /// after it, the step's contacts take up a body's weight before it moves: a body at rest stays
    /// where it is. (With gravity in `integrate`, it would sink at the speed `gravity` times `dt`.)
    ///
    /// # Errors
    /// [`MpmError::TimeStep`] unless `dt` is a finite number above 0; [`MpmError::Collider`] if a
    /// velocity would leave the range of numbers. Nothing has changed then.
    pub fn accelerate(&mut self, dt: f64, gravity: [f64; 3]) -> Result<(), MpmError> {
        if !(dt > 0.0 && dt.is_finite()) {
            return Err(MpmError::TimeStep { dt });
        }
        let gain = dt * DVec3::from(gravity);
        let beyond = |b: &State| b.motion == Motion::Dynamic && !(b.linear + gain).is_finite();
        if let Some(id) = self.bodies.iter().position(beyond) {
            let reason =
                format!("gains a velocity out of the range of numbers in a step of {dt} s");
            return Err(self.fault(id, reason));
        }
        for body in &mut self.bodies {
            if body.motion == Motion::Dynamic {
                body.linear += gain;
            }
        }
        Ok(())
    }

    /// Moves kinematic bodies by their velocities, and dynamic ones as free rigid bodies under
    /// `gravity` (m/s²), over `dt` (s). Leave it out where another engine moves the bodies.
    ///
    /// Angular momentum is kept to rounding, and energy without a trend; any step is stable.
    ///
    /// # Errors
    /// [`MpmError::TimeStep`]; [`MpmError::Collider`] if a body would leave the range of
    /// numbers. Nothing has moved then.
    pub fn integrate(&mut self, dt: f64, gravity: [f64; 3]) -> Result<(), MpmError> {
        if !(dt > 0.0 && dt.is_finite()) {
            return Err(MpmError::TimeStep { dt });
        }
        let gravity = DVec3::from(gravity);
        for (id, body) in self.bodies.iter().enumerate() {
            if body.advanced(dt, gravity).is_none() {
                let reason = format!("moves out of the range of numbers in a step of {dt} s");
                return Err(self.fault(id, reason));
            }
        }
        for body in &mut self.bodies {
            *body = body.advanced(dt, gravity).unwrap_or(*body);
        }
        for entry in &mut self.entries {
            let body = &self.bodies[entry.body];
            if body.motion != Motion::Static {
                entry.place(&body.at);
            }
        }
        Ok(())
    }
}
