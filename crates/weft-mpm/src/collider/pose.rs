//! Where a body or shape is.

use glam::{DMat3, DQuat, DVec3};

/// Largest length, coordinate and speed that is accepted: squares stay far from overflow.
pub(crate) const LARGEST: f64 = 1e30;

/// Smallest size that is accepted.
const SMALLEST: f64 = 1e-30;

/// A rotation and a shift: x ↦ R x + position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Image of the origin, m.
    pub position: [f64; 3],
    /// Rotation as a quaternion (x, y, z, w) of any length but 0.
    pub rotation: [f64; 4],
}

impl Default for Pose {
    fn default() -> Pose {
        Pose::IDENTITY
    }
}

impl Pose {
    /// The pose that moves nothing.
    pub const IDENTITY: Pose = Pose::at([0.0; 3]);

    /// A shift.
    pub const fn at(position: [f64; 3]) -> Pose {
        Pose {
            position,
            rotation: [0.0, 0.0, 0.0, 1.0],
        }
    }

    /// A shift, and a rotation by `angle` (radians) about `axis` (of any length but 0).
    pub fn turned(position: [f64; 3], axis: [f64; 3], angle: f64) -> Pose {
        let axis = DVec3::from(axis).normalize();
        Pose {
            position,
            rotation: DQuat::from_axis_angle(axis, angle).to_array(),
        }
    }

    /// A pose whose z axis points along `direction` (of any length but 0): the pose of a
    /// [plane](super::Shape::Plane) through `position` with this normal.
    pub fn facing(position: [f64; 3], direction: [f64; 3]) -> Pose {
        let direction = DVec3::from(direction).normalize();
        Pose {
            position,
            rotation: DQuat::from_rotation_arc(DVec3::Z, direction).to_array(),
        }
    }

    /// The image of a point.
    pub fn apply(&self, x: [f64; 3]) -> [f64; 3] {
        let rotation = DQuat::from_array(self.rotation).normalize();
        (rotation * DVec3::from(x) + DVec3::from(self.position)).into()
    }

    /// The point that has this image.
    pub fn apply_inverse(&self, x: [f64; 3]) -> [f64; 3] {
        let rotation = DQuat::from_array(self.rotation).normalize();
        (rotation.conjugate() * (DVec3::from(x) - DVec3::from(self.position))).into()
    }

    /// First `inner`, then this.
    pub fn after(&self, inner: &Pose) -> Pose {
        let [outer, own] = [self, inner].map(|p| DQuat::from_array(p.rotation).normalize());
        Pose {
            position: self.apply(inner.position),
            rotation: (outer * own).to_array(),
        }
    }

    /// The same with a unit quaternion, or what is wrong.
    pub(crate) fn checked(&self) -> Result<Rigid, String> {
        let position = vector("position", self.position)?;
        let rotation = DQuat::from_array(self.rotation);
        let length = rotation.length();
        if !(length > 0.0 && length.is_finite()) {
            return Err(format!(
                "rotation = {:?}; expected a quaternion (x, y, z, w) of finite length above 0",
                self.rotation
            ));
        }
        Ok(Rigid {
            position,
            rotation: rotation / length,
        })
    }
}

/// A pose with a unit quaternion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rigid {
    pub position: DVec3,
    pub rotation: DQuat,
}

impl Rigid {
    pub fn pose(&self) -> Pose {
        Pose {
            position: self.position.into(),
            rotation: self.rotation.to_array(),
        }
    }

    /// First `inner`, then this.
    pub fn after(&self, inner: &Rigid) -> Rigid {
        Rigid {
            position: self.apply(inner.position),
            rotation: (self.rotation * inner.rotation).normalize(),
        }
    }

    pub fn apply(&self, x: DVec3) -> DVec3 {
        self.rotation * x + self.position
    }

    pub fn apply_inverse(&self, x: DVec3) -> DVec3 {
        self.rotation.conjugate() * (x - self.position)
    }

    pub fn matrix(&self) -> DMat3 {
        DMat3::from_quat(self.rotation)
    }
}

/// A vector with usable components.
pub(crate) fn vector(name: &str, v: [f64; 3]) -> Result<DVec3, String> {
    if v.iter().all(|c| c.abs() <= LARGEST) {
        return Ok(v.into());
    }
    Err(format!(
        "{name} = {v:?}; expected finite numbers of at most 1e30 in size"
    ))
}

/// A number above 0.
pub(crate) fn positive(name: &str, value: f64) -> Result<f64, String> {
    if (SMALLEST..=LARGEST).contains(&value) {
        return Ok(value);
    }
    Err(format!(
        "{name} = {value}; expected a number above 0, from 1e-30 to 1e30"
    ))
}

/// A number of at least 0.
pub(crate) fn not_negative(name: &str, value: f64) -> Result<f64, String> {
    if (0.0..=LARGEST).contains(&value) {
        return Ok(value);
    }
    Err(format!(
        "{name} = {value}; expected a number from 0 to 1e30"
    ))
}
