//! Closest points on straight simplices, in closed form.
//!
//! The closest point of a convex cell lies on a side that the point is outside of, so only those
//! are looked at, recursively. Where cells touch they agree bit by bit: a shared edge is
//! measured from the same end by all of them, and a distance within rounding is zero. That is
//! what makes "the smallest cell of several nearest" mean something in floating point.

use super::vector::{Vec3, along, cross, dot, norm2, sub};

/// A closest point: reference coordinates, position, squared distance and the part of the cell
/// it lies on.
#[derive(Clone, Copy, Debug)]
pub(in crate::geometry) struct Hit {
    pub xi: Vec3,
    pub position: Vec3,
    pub distance2: f64,
    /// For triangles: 0–2 vertex, 3–5 edge, 6 interior. Other cells leave it 6.
    pub feature: u8,
}

/// Feature number of the inside.
pub(in crate::geometry) const INTERIOR: u8 = 6;

/// Distances up to this many rounding errors of the coordinates are zero.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Zero if the squared distance cannot be told from it: `offset` leads from the point to a
/// corner at `corner`.
pub(super) fn snapped(distance2: f64, offset: Vec3, corner: Vec3) -> f64 {
    let unit = ROUNDING * ROUNDING;
    if distance2 <= unit * (norm2(offset) + norm2(corner)) {
        0.0
    } else {
        distance2
    }
}

/// Parameter, position and squared distance on a segment, computed from the end with the
/// smaller coordinates so that every cell at an edge gets the same numbers.
fn segment_part(a: Vec3, b: Vec3, x: Vec3) -> (f64, Vec3, f64) {
    if a <= b {
        ordered_segment(a, b, x)
    } else {
        let (t, position, distance2) = ordered_segment(b, a, x);
        (1.0 - t, position, distance2)
    }
}

fn ordered_segment(a: Vec3, b: Vec3, x: Vec3) -> (f64, Vec3, f64) {
    let direction = sub(b, a);
    let length2 = norm2(direction);
    let s = dot(sub(x, a), direction);
    let (t, position) = if s <= 0.0 || length2 == 0.0 {
        (0.0, a)
    } else if s >= length2 {
        (1.0, b)
    } else {
        let t = s / length2;
        (t, along(a, direction, t))
    };
    (t, position, norm2(sub(x, position)))
}

/// Closest point on the segment `a`–`b`.
pub(super) fn segment(a: Vec3, b: Vec3, x: Vec3) -> Hit {
    let (t, position, distance2) = segment_part(a, b, x);
    Hit {
        xi: [t, 0.0, 0.0],
        position,
        distance2: snapped(distance2, sub(x, a), a),
        feature: INTERIOR,
    }
}

/// Edge `e` of a triangle runs from vertex `e` to the next; `t` along it in reference
/// coordinates, and the feature it is part of.
fn on_edge(e: usize, t: f64) -> (Vec3, u8) {
    let xi = match e {
        0 => [t, 0.0, 0.0],
        1 => [1.0 - t, t, 0.0],
        _ => [0.0, 1.0 - t, 0.0],
    };
    let feature = if t <= 0.0 {
        e
    } else if t >= 1.0 {
        (e + 1) % 3
    } else {
        3 + e
    };
    (xi, feature as u8)
}

/// Closest point on a triangle; one without area counts as its three edges.
pub(super) fn triangle(corners: &[Vec3; 3], x: Vec3) -> Hit {
    let hit = triangle_unsnapped(corners, x);
    let distance2 = snapped(hit.distance2, sub(x, corners[0]), corners[0]);
    Hit { distance2, ..hit }
}

fn triangle_unsnapped(&[a, b, c]: &[Vec3; 3], x: Vec3) -> Hit {
    let (ab, ac, ax) = (sub(b, a), sub(c, a), sub(x, a));
    let normal = cross(ab, ac);
    let area = norm2(normal);
    // Weights of b and c times `area`, by areas of the parts seen along the normal.
    let wb = dot(normal, cross(ax, ac));
    let wc = dot(normal, cross(ab, ax));
    let wa = area - wb - wc;
    // Within rounding of an edge the edge answers, for both cells at it.
    let least = ROUNDING * area;
    let flat = area <= ROUNDING * ROUNDING * norm2(ab) * norm2(ac);
    if wa > least && wb > least && wc > least && !flat {
        let (v, w) = (wb / area, wc / area);
        let position = std::array::from_fn(|d| a[d] + v * ab[d] + w * ac[d]);
        return Hit {
            xi: [v, w, 0.0],
            position,
            distance2: norm2(sub(x, position)),
            feature: INTERIOR,
        };
    }
    let mut best = Hit {
        xi: [0.0; 3],
        position: a,
        distance2: f64::INFINITY,
        feature: 0,
    };
    for (e, (weight, from, to)) in [(wc, a, b), (wa, b, c), (wb, c, a)].into_iter().enumerate() {
        // Written so that a NaN weight looks at the edge.
        if weight > least && !flat {
            continue;
        }
        let (t, position, distance2) = segment_part(from, to, x);
        if distance2 < best.distance2 {
            let (xi, feature) = on_edge(e, t);
            best = Hit {
                xi,
                position,
                distance2,
                feature,
            };
        }
    }
    best
}

/// Local vertices of the face opposite each vertex.
const OPPOSITE: [[usize; 3]; 4] = [[1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]];

fn det(a: Vec3, b: Vec3, c: Vec3) -> f64 {
    dot(a, cross(b, c))
}

/// Closest point on a tetrahedron; one without volume counts as its four faces.
pub(super) fn tet(corners: &[Vec3; 4], x: Vec3) -> Hit {
    let v = corners.map(|c| sub(c, x));
    let weights = [
        det(v[1], v[2], v[3]),
        -det(v[0], v[2], v[3]),
        det(v[0], v[1], v[3]),
        -det(v[0], v[1], v[2]),
    ];
    let [ab, ac, ad] = [1, 2, 3].map(|i| sub(corners[i], corners[0]));
    let volume = det(ab, ac, ad);
    let scale2 = norm2(ab) * norm2(ac) * norm2(ad);
    let flat = volume * volume <= ROUNDING * ROUNDING * scale2;
    let sign = volume.signum();
    if !flat && weights.iter().all(|w| w * sign >= 0.0) {
        // The sum is the volume; dividing by it makes the coordinates add up to 1.
        let sum: f64 = weights.iter().sum();
        return Hit {
            xi: [weights[1] / sum, weights[2] / sum, weights[3] / sum],
            position: x,
            distance2: 0.0,
            feature: INTERIOR,
        };
    }
    let mut best = Hit {
        xi: [0.0; 3],
        position: corners[0],
        distance2: f64::INFINITY,
        feature: INTERIOR,
    };
    for (face, weight) in OPPOSITE.into_iter().zip(weights) {
        if !flat && weight * sign >= 0.0 {
            continue;
        }
        let hit = triangle_unsnapped(&face.map(|i| corners[i]), x);
        if hit.distance2 < best.distance2 {
            let shares = [1.0 - hit.xi[0] - hit.xi[1], hit.xi[0], hit.xi[1]];
            let mut xi = [0.0; 3];
            for (share, i) in shares.into_iter().zip(face) {
                if i > 0 {
                    xi[i - 1] = share.max(0.0);
                }
            }
            best = Hit {
                xi,
                feature: INTERIOR,
                ..hit
            };
        }
    }
    best.distance2 = snapped(best.distance2, v[0], corners[0]);
    best
}
