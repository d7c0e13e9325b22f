//! Bodies: what shapes are fixed to.

use glam::{DMat3, DQuat, DVec3};

use super::pose::{Pose, Rigid, positive, vector};
use crate::ColliderVelocity;

/// Who moves a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// Nobody: it stands still.
    Static,
    /// Its velocity and pose are prescribed.
    Kinematic,
    /// Forces, and the impulses of the material.
    Dynamic,
}

/// A rigid body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Who moves it.
    pub motion: Motion,
    /// From the body's frame to the world.
    pub pose: Pose,
    /// Velocity of the centre of mass, m/s.
    pub linear: [f64; 3],
    /// Angular velocity in the world, rad/s.
    pub angular: [f64; 3],
    /// Mass, kg; above 0 for a dynamic body. With the mass of a kinematic body its contacts
    /// yield as if it were free; 0: they don't.
    pub mass: f64,
    /// Inertia about the centre of mass in the axes of the body, kg m²; symmetric, and positive
    /// definite for a dynamic body.
    pub inertia: [[f64; 3]; 3],
    /// Centre of mass in the body's frame, m.
    pub center_of_mass: [f64; 3],
}

impl Body {
    /// A body that stands still.
    pub fn fixed(pose: Pose) -> Body {
        Body {
            motion: Motion::Static,
            pose,
            linear: [0.0; 3],
            angular: [0.0; 3],
            mass: 0.0,
            inertia: [[0.0; 3]; 3],
            center_of_mass: [0.0; 3],
        }
    }

    /// A body with prescribed velocity; its centre of mass is the origin of its frame.
    pub fn kinematic(pose: Pose, linear: [f64; 3], angular: [f64; 3]) -> Body {
        Body {
            motion: Motion::Kinematic,
            linear,
            angular,
            ..Body::fixed(pose)
        }
    }

    /// A body at rest that forces move; its centre of mass is the origin of its frame.
    pub fn dynamic(pose: Pose, mass: f64, inertia: [[f64; 3]; 3]) -> Body {
        Body {
            motion: Motion::Dynamic,
            mass,
            inertia,
            ..Body::fixed(pose)
        }
    }

    /// A solid box of even density at rest, about the origin of its frame.
    pub fn solid_box(pose: Pose, half: [f64; 3], mass: f64) -> Body {
        let [x, y, z] = half.map(|h| h * h);
        let moments = DVec3::new(y + z, x + z, x + y) * (mass / 3.0);
        Body::dynamic(pose, mass, DMat3::from_diagonal(moments).to_cols_array_2d())
    }

    /// A solid ball of even density at rest, about the origin of its frame.
    pub fn solid_ball(pose: Pose, radius: f64, mass: f64) -> Body {
        let moment = 0.4 * mass * radius * radius;
        let inertia = DMat3::from_diagonal(DVec3::splat(moment));
        Body::dynamic(pose, mass, inertia.to_cols_array_2d())
    }
}

/// A body in motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub motion: Motion,
    pub at: Rigid,
    /// Where it was in the last step.
    pub before: Rigid,
    pub linear: DVec3,
    pub angular: DVec3,
    pub mass: f64,
    pub inertia: DMat3,
    inverse_inertia: DMat3,
    pub center: DVec3,
    /// Mass that contact meets, 0 for infinite.
    pub contact_mass: f64,
    /// Sum of the impulses of this step, and of their moments about the centre of mass.
    pub impulse: DVec3,
    pub moment: DVec3,
}

impl State {
    pub fn new(body: &Body) -> Result<State, String> {
        let at = body.pose.checked()?;
        let linear = vector("linear velocity", body.linear)?;
        let angular = vector("angular velocity", body.angular)?;
        let center = vector("center_of_mass", body.center_of_mass)?;
        if body.motion == Motion::Static && (linear != DVec3::ZERO || angular != DVec3::ZERO) {
            return Err("a static body has a velocity; expected 0, or a kinematic body".into());
        }
        let dynamic = body.motion == Motion::Dynamic;
        if dynamic || body.mass != 0.0 {
            positive("mass", body.mass)?;
        }
        let (inertia, inverse_inertia) = check_inertia(body.inertia, dynamic)?;
        Ok(State {
            motion: body.motion,
            at,
            before: at,
            linear,
            angular,
            mass: body.mass,
            inertia,
            inverse_inertia,
            center,
            contact_mass: match body.motion {
                Motion::Static => 0.0,
                _ => body.mass,
            },
            impulse: DVec3::ZERO,
            moment: DVec3::ZERO,
        })
    }

    pub fn center_of_mass(&self) -> DVec3 {
        self.at.apply(self.center)
    }

    pub fn inverse_mass(&self) -> f64 {
        if self.contact_mass > 0.0 {
            1.0 / self.contact_mass
        } else {
            0.0
        }
    }

    /// In the world, of the mass that contact meets.
    pub fn inverse_inertia(&self) -> DMat3 {
        if self.contact_mass == 0.0 {
            return DMat3::ZERO;
        }
        // Another mass is another density.
        let scale = if self.mass > 0.0 {
            self.mass / self.contact_mass
        } else {
            1.0
        };
        let turn = self.at.matrix();
        turn * (scale * self.inverse_inertia) * turn.transpose()
    }

    /// What an impulse and a moment do to the velocities.
    pub fn response(&self, impulse: DVec3, moment: DVec3) -> (DVec3, DVec3) {
        (
            self.inverse_mass() * impulse,
            self.inverse_inertia() * moment,
        )
    }

    /// Velocity of the point of the body that is at `x`, as the mean over a step if `dt` > 0.
    pub fn velocity_at(&self, x: DVec3, dt: f64, mode: ColliderVelocity) -> DVec3 {
        if self.motion == Motion::Static {
            return DVec3::ZERO;
        }
        // Others move by their velocity, which the material's impulses change.
        let given = self.motion == Motion::Kinematic;
        if given && mode == ColliderVelocity::Backward && dt > 0.0 {
            return (x - self.before.apply(self.at.apply_inverse(x))) / dt;
        }
        let arm = x - self.center_of_mass();
        let turn = self.angular * dt.max(0.0);
        let swing = self.angular.cross(arm);
        let angle = turn.length();
        if angle <= 1e-4 {
            return self.linear + swing;
        }
        // (exp(ω dt) r - r) / dt = sin θ / θ ω × r + (1 - cos θ) / θ² ω dt × (ω × r).
        let half = (0.5 * angle).sin() / (0.5 * angle);
        self.linear + (angle.sin() / angle) * swing + (0.5 * half * half) * turn.cross(swing)
    }

    /// The body after a step without contact; `None` if it leaves the range of numbers.
    ///
    /// Semi-implicit Euler for the centre of mass. The rotation keeps the angular momentum L:
    /// the angular velocity of a (part of a) step is that of L at the orientation half-way through
    /// it, so a step back undoes a step forward and the energy has no trend.
    pub fn advanced(&self, dt: f64, gravity: DVec3) -> Option<State> {
        let mut next = *self;
        match self.motion {
            Motion::Static => return Some(next),
            Motion::Kinematic => next.at.rotation = turned(self.angular * dt, self.at.rotation),
            Motion::Dynamic => {
                next.linear += dt * gravity;
                let momentum = rotate(self.at.rotation, &self.inertia, self.angular);
                let spin = |q| rotate(q, &self.inverse_inertia, momentum);
                // The error in energy is of the order of the square of a part's angle.
                let parts = (self.angular.length() * dt / SPIN_ANGLE).ceil();
                let parts = parts.clamp(1.0, SPIN_PARTS);
                let part = dt / parts;
                for _ in 0..parts as usize {
                    let start = next.at.rotation;
                    let mut middle = next.angular;
                    for _ in 0..SPIN_ITERATIONS {
                        middle = spin(turned(0.5 * part * middle, start));
                    }
                    next.at.rotation = turned(part * middle, start);
                    next.angular = spin(next.at.rotation);
                }
            }
        }
        let center = self.center_of_mass() + dt * next.linear;
        next.at.position = center - next.at.rotation * self.center;
        let finite = next.at.position.is_finite()
            && next.at.rotation.is_finite()
            && next.linear.is_finite()
            && next.angular.is_finite();
        finite.then_some(next)
    }
}

/// Angle of a part of a step, and most parts of a step.
const SPIN_ANGLE: f64 = 0.1;
const SPIN_PARTS: f64 = 16.0;

/// Fixed-point iterations for the half-way orientation: each gains a factor of some |ω| dt / 2.
const SPIN_ITERATIONS: usize = 8;

/// R A Rᵀ v.
fn rotate(q: DQuat, a: &DMat3, v: DVec3) -> DVec3 {
    q * (*a * (q.conjugate() * v))
}

/// The rotation `q`, then that by the vector `turn`.
fn turned(turn: DVec3, q: DQuat) -> DQuat {
    (DQuat::from_scaled_axis(turn) * q).normalize()
}

/// The inertia and its inverse; without inertia a body does not start to turn.
fn check_inertia(inertia: [[f64; 3]; 3], needed: bool) -> Result<(DMat3, DMat3), String> {
    let fault = |what: &str| {
        Err(format!(
            "inertia = {inertia:?} {what}; expected a symmetric, positive definite matrix"
        ))
    };
    let largest = inertia.iter().flatten().fold(0.0f64, |m, c| m.max(c.abs()));
    if inertia.iter().flatten().any(|c| !c.is_finite()) || largest > super::pose::LARGEST {
        return fault("is not finite or above 1e30");
    }
    if largest == 0.0 {
        if needed {
            return fault("is zero");
        }
        return Ok((DMat3::ZERO, DMat3::ZERO));
    }
    let asymmetry =
        (0..3).any(|i| (0..i).any(|j| (inertia[i][j] - inertia[j][i]).abs() > 1e-9 * largest));
    if asymmetry {
        return fault("is not symmetric");
    }
    // Scaled, so that products neither overflow nor underflow.
    let a = DMat3::from_cols_array_2d(&inertia.map(|row| row.map(|c| c / largest)));
    let a = 0.5 * (a + a.transpose());
    let minor = a.x_axis.x * a.y_axis.y - a.x_axis.y * a.x_axis.y;
    if !(a.x_axis.x > 0.0 && minor > 0.0 && a.determinant() > 0.0) {
        return fault("is not positive definite");
    }
    Ok((largest * a, a.inverse() * (1.0 / largest)))
}
