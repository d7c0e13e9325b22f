//! Ground under a height field.

use glam::{DVec2, DVec3};

use super::pose::{LARGEST, positive};
use super::shape::Sample;
use crate::bytes::Bytes;

/// Heights on a regular grid, with two triangles in each cell.
///
/// Sample (i, j) lies at (i dx, j dy); the diagonal of a cell runs from (i, j) to (i+1, j+1).
/// As a [shape](super::Shape::HeightField) it is solid: the ground below the surface, as deep as
/// one may ask, with upright walls round the rectangle.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightField {
    /// Samples along x and y, at least 2 each.
    pub counts: [usize; 2],
    /// Distance of samples along x and y, m, above 0.
    pub spacing: [f64; 2],
    /// Heights, m: sample (i, j) at index `i + j * counts[0]`.
    pub heights: Vec<f64>,
}

impl HeightField {
    /// Samples a function of x and y.
    pub fn from_fn(
        counts: [usize; 2],
        spacing: [f64; 2],
        f: impl Fn(f64, f64) -> f64,
    ) -> HeightField {
        let heights = (0..counts[1])
            .flat_map(|j| (0..counts[0]).map(move |i| (i, j)))
            .map(|(i, j)| f(i as f64 * spacing[0], j as f64 * spacing[1]))
            .collect();
        HeightField {
            counts,
            spacing,
            heights,
        }
    }

    /// Edges of the rectangle, m.
    pub fn size(&self) -> [f64; 2] {
        std::array::from_fn(|d| self.counts[d].saturating_sub(1) as f64 * self.spacing[d])
    }

    /// Checks the samples, and says what is wrong.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (n, s) in self.counts.iter().zip(self.spacing) {
            if *n < 2 {
                let counts = self.counts;
                return Err(format!(
                    "height field of {counts:?} samples; expected at least 2 along each axis"
                ));
            }
            positive("spacing of a height field", s)?;
            positive("size of a height field", (*n - 1) as f64 * s)?;
        }
        let expected = self.counts[0].checked_mul(self.counts[1]);
        if expected != Some(self.heights.len()) {
            return Err(format!(
                "height field of {:?} samples has {} heights; expected one a sample",
                self.counts,
                self.heights.len()
            ));
        }
        let bad = self
            .heights
            .iter()
            .position(|h| h.is_nan() || h.abs() > LARGEST);
        match bad {
            None => Ok(()),
            Some(at) => Err(format!(
                "height {at} is {}; expected finite numbers of at most 1e30 in size",
                self.heights[at]
            )),
        }
    }

    fn corner(&self, i: usize, j: usize) -> DVec3 {
        DVec3::new(
            i as f64 * self.spacing[0],
            j as f64 * self.spacing[1],
            self.heights[i + j * self.counts[0]],
        )
    }

    /// The cell along an axis at coordinate `x`, within the rectangle.
    fn cell(&self, axis: usize, x: f64) -> usize {
        // The cast saturates.
        ((x / self.spacing[axis]) as usize).min(self.counts[axis] - 2)
    }

    /// The triangle above or below a point within the rectangle.
    fn triangle_at(&self, x: f64, y: f64) -> [DVec3; 3] {
        let (i, j) = (self.cell(0, x), self.cell(1, y));
        let u = x / self.spacing[0] - i as f64;
        let v = y / self.spacing[1] - j as f64;
        self.triangles(i, j)[usize::from(v > u)]
    }

    fn triangles(&self, i: usize, j: usize) -> [[DVec3; 3]; 2] {
        let (a, c) = (self.corner(i, j), self.corner(i + 1, j + 1));
        [[a, self.corner(i + 1, j), c], [a, c, self.corner(i, j + 1)]]
    }

    /// Height at a point, taken to the rectangle first; of a field that [`check`](Self::check)
    /// accepts.
    pub(crate) fn height(&self, x: f64, y: f64) -> f64 {
        let [width, depth] = self.size();
        let (x, y) = (x.clamp(0.0, width), y.clamp(0.0, depth));
        let [a, b, c] = self.triangle_at(x, y);
        let (e, f) = (b - a, c - a);
        let at = DVec2::new(x, y) - a.truncate();
        let area = e.truncate().perp_dot(f.truncate());
        let u = at.perp_dot(f.truncate()) / area;
        let v = e.truncate().perp_dot(at) / area;
        a.z + u * e.z + v * f.z
    }
}

/// A checked height field.
#[derive(Clone, Debug)]
pub(super) struct Terrain {
    field: HeightField,
    size: DVec2,
    highest: f64,
}

impl Bytes for Terrain {
    fn bytes(&self) -> usize {
        self.field.heights.bytes()
    }
}

impl Terrain {
    pub fn new(field: HeightField) -> Result<Terrain, String> {
        field.check()?;
        Ok(Terrain {
            size: field.size().into(),
            highest: field.heights.iter().copied().fold(-LARGEST, f64::max),
            field,
        })
    }

    /// The solid as seen from `x`; `None` if it is certainly farther than `limit`.
    pub fn sample(&self, x: DVec3, limit: f64, flat: f64) -> Option<Sample> {
        let flat_x = x.truncate();
        let foot = flat_x.clamp(DVec2::ZERO, self.size);
        let sideways = flat_x.distance(foot);
        if sideways > limit || x.z - self.highest > limit {
            return None;
        }
        let above = x.z - self.field.height(foot.x, foot.y);
        if sideways > 0.0 {
            if above <= 0.0 {
                // Beside a wall.
                return Some(Sample {
                    distance: sideways,
                    normal: ((flat_x - foot) / sideways).extend(0.0),
                    point: foot.extend(x.z),
                });
            }
            return self.outside(x, foot, above.hypot(sideways).min(limit));
        }
        if above > flat {
            return self.outside(x, foot, above.min(limit));
        }
        let [a, b, c] = self.field.triangle_at(foot.x, foot.y);
        let upright = (b - a).cross(c - a).normalize();
        if above >= -flat {
            let distance = above * upright.z;
            return Some(Sample {
                distance,
                normal: upright,
                point: x - distance * upright,
            });
        }
        let surface = self.nearest(x, foot, -above);
        let surface = surface.unwrap_or(x - DVec3::new(0.0, 0.0, above));
        let mut sample = Sample {
            distance: -x.distance(surface),
            normal: (surface - x).try_normalize().unwrap_or(upright),
            point: surface,
        };
        // Walls may be nearer.
        let walls = [foot.x, self.size.x - foot.x, foot.y, self.size.y - foot.y];
        for (side, depth) in walls.into_iter().enumerate() {
            if -depth <= sample.distance {
                continue;
            }
            let (axis, upper) = (side / 2, side % 2);
            let mut point = x;
            point[axis] = [0.0, self.size[axis]][upper];
            if self.field.height(point.x, point.y) >= x.z {
                let mut normal = DVec3::ZERO;
                normal[axis] = [-1.0, 1.0][upper];
                sample = Sample {
                    distance: -depth,
                    normal,
                    point,
                };
            }
        }
        Some(sample)
    }

    /// Seen from above the surface, or from beyond the walls and above their foot.
    fn outside(&self, x: DVec3, foot: DVec2, limit: f64) -> Option<Sample> {
        let point = self.nearest(x, foot, limit)?;
        let distance = x.distance(point);
        (distance > 0.0).then(|| Sample {
            distance,
            normal: (x - point) / distance,
            point,
        })
    }

    /// The nearest point of the triangles within `limit`: rings of cells round the foot.
    fn nearest(&self, x: DVec3, foot: DVec2, limit: f64) -> Option<DVec3> {
        let field = &self.field;
        let last = [field.counts[0] - 2, field.counts[1] - 2];
        let (ci, cj) = (field.cell(0, foot.x), field.cell(1, foot.y));
        let step = field.spacing[0].min(field.spacing[1]);
        // Rounding must not lose a point at exactly the limit.
        let mut best2 = limit * limit * (1.0 + 1e-12);
        let mut best = None;
        let mut visit = |i: usize, j: usize, best2: &mut f64| {
            let triangles = field.triangles(i, j);
            let [[a, b, c], [.., d]] = triangles;
            let (low, high) = (a.min(b).min(c).min(d), a.max(b).max(c).max(d));
            let gap = (x - high).max(low - x).max(DVec3::ZERO);
            if gap.length_squared() > *best2 {
                return;
            }
            for triangle in triangles {
                let point = closest_on_triangle(triangle, x);
                let distance2 = x.distance_squared(point);
                if distance2 < *best2 || (best.is_none() && distance2 <= *best2) {
                    *best2 = distance2;
                    best = Some(point);
                }
            }
        };
        for ring in 0..=last[0].max(last[1]) {
            // Cells of a ring are at least ring - 1 cells away.
            let gap = ring.saturating_sub(1) as f64 * step;
            if gap * gap > best2 {
                break;
            }
            let rows = cj.saturating_sub(ring)..=(cj + ring).min(last[1]);
            for j in rows {
                if j.abs_diff(cj) == ring {
                    for i in ci.saturating_sub(ring)..=(ci + ring).min(last[0]) {
                        visit(i, j, &mut best2);
                    }
                } else {
                    if ci >= ring {
                        visit(ci - ring, j, &mut best2);
                    }
                    if ci + ring <= last[0] {
                        visit(ci + ring, j, &mut best2);
                    }
                }
            }
        }
        best
    }
}

fn closest_on_segment(a: DVec3, b: DVec3, x: DVec3) -> DVec3 {
    let along = b - a;
    let t = (x - a).dot(along) / along.length_squared();
    a + t.clamp(0.0, 1.0) * along
}

/// The foot of the perpendicular if it falls into the triangle, else the nearest point of the
/// edges that face `x`.
fn closest_on_triangle([a, b, c]: [DVec3; 3], x: DVec3) -> DVec3 {
    let (e, f, d) = (b - a, c - a, x - a);
    let normal = e.cross(f);
    let area2 = normal.length_squared();
    let u = d.cross(f).dot(normal) / area2;
    let v = e.cross(d).dot(normal) / area2;
    let mut nearest = a + u * e + v * f;
    let mut least = f64::INFINITY;
    for (weight, from, to) in [(v, a, b), (1.0 - u - v, b, c), (u, c, a)] {
        if weight < 0.0 {
            let point = closest_on_segment(from, to, x);
            let distance2 = x.distance_squared(point);
            if distance2 < least {
                (nearest, least) = (point, distance2);
            }
        }
    }
    nearest
}
