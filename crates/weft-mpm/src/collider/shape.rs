//! Signed distances to shapes, in their own frames.

use glam::DVec3;

use super::field::{HeightField, Terrain};
use super::mesh::Triangles;
use super::pose::{not_negative, positive};
use crate::bytes::Bytes;
use weft::geometry::Mesh;

/// A shape, in its own frame.
///
/// Distances are negative inside, exact, and normals point outward. Where several points of the
/// surface are equally near, one of them is chosen by a fixed rule.
#[derive(Clone, Debug)]
pub enum Shape {
    /// The half-space z ≤ 0.
    Plane,
    /// The box |x_i| ≤ half_i.
    Box {
        /// Half extents, m, above 0.
        half: [f64; 3],
    },
    /// A ball about the origin.
    Sphere {
        /// Radius, m, above 0.
        radius: f64,
    },
    /// All points within `radius` of the segment of the z axis from -half_length to half_length.
    Capsule {
        /// Radius, m, above 0.
        radius: f64,
        /// Half the length of the axis, m, at least 0.
        half_length: f64,
    },
    /// Solid ground under a height field.
    HeightField(HeightField),
    /// Straight triangles in space, normals towards the material.
    ///
    /// Of a closed surface the side of a point is exact everywhere. An open one (with holes, or
    /// a sheet) is two-sided: a point is inside if it lies against the pseudo-normal of the
    /// part of the surface nearest to it, also beyond the border. Nothing is found farther than
    /// the search distance from the surface, on either side. The positions are those at the
    /// time that the collider is added.
    Mesh(Mesh),
}

/// The surface as seen from a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub distance: f64,
    pub normal: DVec3,
    pub point: DVec3,
}

/// A checked shape, ready for questions.
#[derive(Clone, Debug)]
pub(super) enum Solid {
    Plane,
    Box(DVec3),
    Sphere(f64),
    Capsule { radius: f64, half_length: f64 },
    Terrain(Terrain),
    Triangles(Box<Triangles>),
}

impl Bytes for Solid {
    fn bytes(&self) -> usize {
        match self {
            Solid::Plane | Solid::Box(_) | Solid::Sphere(_) | Solid::Capsule { .. } => 0,
            Solid::Terrain(terrain) => terrain.bytes(),
            Solid::Triangles(triangles) => size_of::<Triangles>() + triangles.bytes(),
        }
    }
}

impl Solid {
    pub fn new(shape: Shape) -> Result<Solid, String> {
        Ok(match shape {
            Shape::Plane => Solid::Plane,
            Shape::Box { half } => {
                for h in half {
                    positive("half extent of a box", h)?;
                }
                Solid::Box(half.into())
            }
            Shape::Sphere { radius } => Solid::Sphere(positive("radius of a sphere", radius)?),
            Shape::Capsule {
                radius,
                half_length,
            } => Solid::Capsule {
                radius: positive("radius of a capsule", radius)?,
                half_length: not_negative("half length of a capsule", half_length)?,
            },
            Shape::HeightField(field) => Solid::Terrain(Terrain::new(field)?),
            Shape::Mesh(mesh) => Solid::Triangles(Box::new(Triangles::new(&mesh)?)),
        })
    }

    /// Centre and radius of a ball that holds the surface.
    pub fn bounds(&self) -> (DVec3, f64) {
        match self {
            Solid::Plane | Solid::Terrain(_) => (DVec3::ZERO, f64::INFINITY),
            Solid::Box(half) => (DVec3::ZERO, half.length()),
            Solid::Sphere(radius) => (DVec3::ZERO, *radius),
            Solid::Capsule {
                radius,
                half_length,
            } => (DVec3::ZERO, radius + half_length),
            Solid::Triangles(triangles) => triangles.bounds(),
        }
    }

    /// The surface as seen from `x`, if its distance is at most `limit`. Distances up to `flat`
    /// are too small to take directions from.
    #[inline]
    pub fn sample(&self, x: DVec3, limit: f64, flat: f64) -> Option<Sample> {
        let sample = match self {
            Solid::Plane => Sample {
                distance: x.z,
                normal: DVec3::Z,
                point: DVec3::new(x.x, x.y, 0.0),
            },
            Solid::Box(half) => sample_box(*half, x),
            Solid::Sphere(radius) => sample_ball(DVec3::ZERO, *radius, DVec3::Z, x),
            Solid::Capsule {
                radius,
                half_length,
            } => {
                let center = DVec3::new(0.0, 0.0, x.z.clamp(-half_length, *half_length));
                sample_ball(center, *radius, DVec3::X, x)
            }
            Solid::Terrain(terrain) => terrain.sample(x, limit, flat)?,
            Solid::Triangles(triangles) => triangles.sample(x, limit, flat)?,
        };
        (sample.distance <= limit).then_some(sample)
    }
}

/// `fallback` is the normal at the centre, where every direction is as good.
#[inline]
fn sample_ball(center: DVec3, radius: f64, fallback: DVec3, x: DVec3) -> Sample {
    let offset = x - center;
    let distance = offset.length();
    let normal = if distance > 0.0 {
        offset / distance
    } else {
        fallback
    };
    Sample {
        distance: distance - radius,
        normal,
        point: center + radius * normal,
    }
}

#[inline]
fn sample_box(half: DVec3, x: DVec3) -> Sample {
    let nearest = x.clamp(-half, half);
    let offset = x - nearest;
    let distance = offset.length();
    if distance > 0.0 {
        return Sample {
            distance,
            normal: offset / distance,
            point: nearest,
        };
    }
    // Inside, and just outside where squares underflow: the nearest face, the first of several.
    let depth = half - x.abs();
    let axis = if depth.x <= depth.y && depth.x <= depth.z {
        0
    } else if depth.y <= depth.z {
        1
    } else {
        2
    };
    let sign = 1f64.copysign(x[axis]);
    let mut normal = DVec3::ZERO;
    normal[axis] = sign;
    let mut point = nearest;
    point[axis] = sign * half[axis];
    Sample {
        distance: -depth[axis],
        normal,
        point,
    }
}
