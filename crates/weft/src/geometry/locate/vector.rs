//! The little vector arithmetic that the search needs.

pub(in crate::geometry) type Vec3 = [f64; 3];

#[inline(always)]
pub(in crate::geometry) fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
pub(in crate::geometry) fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(in crate::geometry) fn norm2(a: Vec3) -> f64 {
    dot(a, a)
}

#[inline(always)]
pub(in crate::geometry) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// `a + t·direction`.
#[inline(always)]
pub(super) fn along(a: Vec3, direction: Vec3, t: f64) -> Vec3 {
    std::array::from_fn(|d| a[d] + t * direction[d])
}

/// An axis-aligned box; empty when a lower bound is above its upper one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub lower: Vec3,
    pub upper: Vec3,
}

impl Bounds {
    pub const EMPTY: Bounds = Bounds {
        lower: [f64::INFINITY; 3],
        upper: [f64::NEG_INFINITY; 3],
    };

    #[inline(always)]
    pub fn add(&mut self, x: Vec3) {
        for d in 0..3 {
            self.lower[d] = self.lower[d].min(x[d]);
            self.upper[d] = self.upper[d].max(x[d]);
        }
    }

    #[inline(always)]
    pub fn join(&mut self, other: &Bounds) {
        for d in 0..3 {
            self.lower[d] = self.lower[d].min(other.lower[d]);
            self.upper[d] = self.upper[d].max(other.upper[d]);
        }
    }

    /// The largest extent; negative infinity of an empty box.
    #[inline(always)]
    pub fn size(&self) -> f64 {
        (0..3)
            .map(|d| self.upper[d] - self.lower[d])
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// Half the surface area, the cost measure of a box in a tree of boxes.
    #[inline(always)]
    pub fn half_area(&self) -> f64 {
        let e = sub(self.upper, self.lower);
        if e[0] < 0.0 {
            return 0.0;
        }
        e[0] * e[1] + e[1] * e[2] + e[2] * e[0]
    }

    /// The box with `margin` more on each side.
    pub fn widened(&self, margin: f64) -> Bounds {
        Bounds {
            lower: self.lower.map(|x| x - margin),
            upper: self.upper.map(|x| x + margin),
        }
    }

    /// Largest absolute coordinate.
    pub fn reach(&self) -> f64 {
        (0..3)
            .map(|d| self.lower[d].abs().max(self.upper[d].abs()))
            .fold(0.0, f64::max)
    }

    /// Squared distance to a point.
    pub fn distance2(&self, x: Vec3) -> f64 {
        (0..3)
            .map(|d| {
                (self.lower[d] - x[d])
                    .max(x[d] - self.upper[d])
                    .max(0.0)
                    .powi(2)
            })
            .sum()
    }
}
