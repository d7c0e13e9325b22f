//! The flow law of a strain row: from the stress that would stop all strain to the stress that the
//! material can bear.
//!
//! Stress r and strain increment u have a spherical part N (number 0) and a deviatoric part T
//! (numbers 1..6), in axes where the local block D is diagonal: u = D r + b. The yield surface
//! bounds r_N by `lowest` and `highest` and |r_T| by the strength
//! f(r_N) = cohesion + slope · min(r_N - lowest, highest / 2, highest - r_N).
//! Inside there is no strain. On the surface u_T = -κ r_T with κ ≥ 0, and u_N follows |u_T| with
//! dilatancy · f′(r_N), up to what the bounds of r_N add.
//!
//! With e = 1/D and the trial stress r⁰ = -b/D, sliding with a = |u_T| means
//! r_T = F w, w = r⁰_T / (a e + F), |w| = 1, F = c + g a, where F is the strength at the r_N that
//! the dilatancy leads to. 1/|w| is a concave increasing function of a (a mean of order -2 of
//! linear functions), so that Newton's method on it never overshoots and takes very few steps.

use super::lanes::{Wide, each, load_wide, splat};
use fearless_simd::{Simd, f32x8, mask32x8, prelude::*};

/// Most Newton steps; a handful is usual.
const MOST_STEPS: usize = 16;
/// |w|² is 1 up to this.
const SLIDE_TOLERANCE: f32 = 1e-5;

/// Numbers of a stored surface: bounds, slope, cohesion, dilatancy.
pub(super) const SURFACE: usize = 5;

/// The yield surface of eight rows.
#[derive(Clone, Copy)]
pub(super) struct Surface<S: Simd> {
    pub lowest: f32x8<S>,
    pub highest: f32x8<S>,
    pub slope: f32x8<S>,
    pub cohesion: f32x8<S>,
    pub dilatancy: f32x8<S>,
}

/// Bounds, slope, cohesion and dilatancy from yield parameters (pressure, tension, stress, friction,
/// dilatancy, viscosity) that are divided by the volume.
pub(super) fn surface(yields: &[f32; 6]) -> [f32; SURFACE] {
    let [pressure, tension, stress, friction, dilatancy, _] = *yields;
    let slope = if pressure > 0.0 {
        (friction / pressure).max(0.0)
    } else {
        0.0
    };
    [
        -tension.max(0.0),
        pressure.max(0.0),
        slope,
        stress.max(0.0),
        dilatancy.clamp(0.0, 1.0),
    ]
}

/// The nearest bearable stress: r_N clamped, then r_T scaled.
pub(crate) fn project(yields: &[f32; 6], stress: &[f32; 6]) -> [f32; 6] {
    let [lowest, highest, slope, cohesion, _] = surface(yields);
    let normal = stress[0].clamp(lowest, highest);
    let height = (normal - lowest).min(highest - normal).min(0.5 * highest);
    let strength = cohesion + slope * height.max(0.0);
    let norm = stress[1..].iter().map(|r| r * r).sum::<f32>().sqrt();
    let scale = if norm > strength {
        strength / norm
    } else {
        1.0
    };
    std::array::from_fn(|i| if i == 0 { normal } else { stress[i] * scale })
}

impl<S: Simd> Surface<S> {
    #[inline(always)]
    pub fn load(simd: S, lanes: &[Wide; SURFACE]) -> Self {
        let [lowest, highest, slope, cohesion, dilatancy] = load_wide(simd, lanes);
        Surface {
            lowest,
            highest,
            slope,
            cohesion,
            dilatancy,
        }
    }

    #[inline(always)]
    fn strength(&self, normal: f32x8<S>) -> f32x8<S> {
        let height = (normal - self.lowest)
            .min(self.highest - normal)
            .min(self.highest * 0.5);
        self.slope.mul_add(height, self.cohesion)
    }

    /// The nearest bearable stress.
    #[inline(always)]
    pub fn project(&self, simd: S, stress: [f32x8<S>; 6]) -> [f32x8<S>; 6] {
        let normal = stress[0].max(self.lowest).min(self.highest);
        let strength = self.strength(normal);
        let norm = squares(&stress).sqrt();
        let one = splat(simd, 1.0);
        let scale = norm.simd_gt(strength).select(strength / norm, one);
        let mut out = each!(simd, |i| stress[i] * scale);
        out[0] = normal;
        out
    }

    /// The stress that the material bears for a trial stress; `inverse` is 1/D.
    #[inline(always)]
    pub fn flow(
        &self,
        simd: S,
        trial: [f32x8<S>; 6],
        inverse: &[f32x8<S>; 6],
        dilatant: bool,
    ) -> [f32x8<S>; 6] {
        let normal = trial[0].max(self.lowest).min(self.highest);
        let strength = self.strength(normal);
        let mut out = trial;
        out[0] = normal;
        let sliding = squares(&trial).simd_gt(strength * strength);
        if !sliding.any_true() {
            return out;
        }
        let zero = splat(simd, 0.0);
        let slid = if dilatant {
            self.slide_dilatant(simd, &trial, inverse, normal, strength, sliding)
        } else {
            let mut slid = slide(simd, &trial, inverse, strength, zero, sliding).stress;
            slid[0] = normal;
            slid
        };
        each!(simd, |i| sliding.select(slid[i], out[i]))
    }

    #[inline(always)]
    fn slide_dilatant(
        &self,
        simd: S,
        trial: &[f32x8<S>; 6],
        inverse: &[f32x8<S>; 6],
        normal: f32x8<S>,
        strength: f32x8<S>,
        sliding: mask32x8<S>,
    ) -> [f32x8<S>; 6] {
        let zero = splat(simd, 0.0);
        let half = self.highest * 0.5;
        let rising = normal.simd_lt(self.lowest + half);
        let falling = normal.simd_gt(half);
        let slope = rising.select(self.slope, falling.select(-self.slope, zero));
        // The part of the surface that the trial stress is at: its ends.
        let low = rising.select(self.lowest, falling.select(half, self.lowest + half));
        let high = rising.select(self.lowest + half, falling.select(self.highest, half));
        // Strength as if the straight part went on to the trial stress, and what dilatancy adds.
        let start = strength - slope * (normal - trial[0]);
        let gain = self.dilatancy * slope * slope * inverse[0];
        let first = slide(simd, trial, inverse, start, gain, sliding);
        let moved = trial[0] + self.dilatancy * slope * first.strain * inverse[0];
        let inside = moved.simd_ge(low) & moved.simd_le(high) & first.strength.simd_ge(zero);
        let mut out = first.stress;
        out[0] = moved;
        let left = sliding & !inside;
        if left.any_true() {
            // At a corner or beyond: the spherical part is held there.
            let corner = first.strength.simd_ge(zero).select(moved, normal);
            let corner = corner.max(low).min(high);
            let again = slide(simd, trial, inverse, self.strength(corner), zero, left);
            for i in 1..6 {
                out[i] = left.select(again.stress[i], out[i]);
            }
            out[0] = left.select(corner, moved);
        }
        out
    }
}

struct Slide<S: Simd> {
    /// Deviatoric part in 1..6.
    stress: [f32x8<S>; 6],
    /// |u_T|.
    strain: f32x8<S>,
    /// F.
    strength: f32x8<S>,
}

/// Deviatoric stress of sliding lanes for the strength `start` + `gain` |u_T|.
#[inline(always)]
fn slide<S: Simd>(
    simd: S,
    trial: &[f32x8<S>; 6],
    inverse: &[f32x8<S>; 6],
    start: f32x8<S>,
    gain: f32x8<S>,
    sliding: mask32x8<S>,
) -> Slide<S> {
    let one = splat(simd, 1.0);
    let zero = splat(simd, 0.0);
    let norm = squares(trial).sqrt();
    let scale = one / norm;
    let mut part = [zero; 6];
    for i in 1..6 {
        let unit = trial[i] * scale;
        part[i] = unit * unit * inverse[i];
    }
    let mean = (part[1] + part[2]) + (part[3] + part[4]) + part[5];
    // One Newton step from 0, and at least where the strength is 0: both are left of the root.
    let floor = start.simd_lt(zero).select(-start / gain, zero);
    let mut strain = ((norm - start) / (mean + gain)).max(floor);
    let mut step = 0;
    loop {
        let strength = gain.mul_add(strain, start);
        let mut direction = *trial;
        let mut square = [zero; 6];
        let mut slope = [zero; 6];
        for i in 1..6 {
            let factor = one / inverse[i].mul_add(strain, strength);
            direction[i] = trial[i] * factor;
            square[i] = direction[i] * direction[i];
            slope[i] = square[i] * (inverse[i] + gain) * factor;
        }
        let total = (square[1] + square[2]) + (square[3] + square[4]) + square[5];
        let root = total.sqrt();
        let open = sliding & (total - one).abs().simd_gt(splat(simd, SLIDE_TOLERANCE));
        if step == MOST_STEPS || !open.any_true() {
            // Normalised: the stress is on the surface whatever the error in `strain`.
            let scale = strength / root;
            return Slide {
                stress: each!(simd, |i| direction[i] * scale),
                strain,
                strength,
            };
        }
        let slope = (slope[1] + slope[2]) + (slope[3] + slope[4]) + slope[5];
        // A lane that is done stays: its bits must not depend on the others.
        strain = open.select(strain + total * (root - one) / slope, strain);
        step += 1;
    }
}

/// |r_T|².
#[inline(always)]
fn squares<S: Simd>(r: &[f32x8<S>; 6]) -> f32x8<S> {
    let first = r[1].mul_add(r[1], r[2] * r[2]);
    let second = r[3].mul_add(r[3], r[4] * r[4]);
    r[5].mul_add(r[5], first + second)
}

#[cfg(test)]
pub(super) mod twin;

#[cfg(test)]
mod tests;
