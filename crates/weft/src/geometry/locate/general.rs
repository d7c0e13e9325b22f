//! Closest points on cells of any kind and degree.
//!
//! Minimises `f(ξ) = ½|X(ξ) − x|²` over the reference cell: in each step the quadratic model
//! (Newton's, or Gauss and Newton's where that is not convex) is minimised exactly over the
//! cell, patch by patch, and a line search guards the step. Every stop is a point from which no
//! direction within the cell leads closer. A curved cell can have several; descents start from
//! the best of a lattice of samples, so the one found is the closest unless the cell bends
//! within the distance of two samples.

use super::bounds::Control;
use super::shape::{Jet, Patch, Shape};
use super::simplex::{Hit, INTERIOR};
use super::vector::{Vec3, along, dot, norm2, sub};

/// Most steps of a descent; quadratic convergence takes some ten.
const MAX_STEPS: usize = 64;

/// Most descents into one cell.
const MAX_STARTS: usize = 3;

/// Descents that start closer than this in reference coordinates likely end in the same place.
const APART: f64 = 0.4;

/// Distances up to this many rounding errors of the coordinates are zero.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// A cell's map with the places where descents may start.
#[derive(Clone, Debug)]
pub(super) struct General {
    pub shape: Shape,
    samples: Vec<Vec3>,
    /// Basis values, samples × nodes.
    values: Vec<f64>,
    /// The distance has one minimum in the cell: planar straight cells are convex.
    convex: bool,
    /// Of curved cells.
    control: Option<Control>,
}

/// Arrays of one search, kept between searches.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Nodes of the cell, relative to the point.
    nodes: Vec<Vec3>,
    /// Squared distance and number of the samples.
    order: Vec<(f64, u32)>,
    /// Control points of the cell, relative to the point.
    hull: Vec<Vec3>,
    line: Vec<Vec3>,
}

impl General {
    pub fn new(shape: Shape, space_dim: usize, control: Option<Control>) -> General {
        let (kind, degree) = (shape.kind, shape.degree);
        let steps = (degree + 1).min(if kind.dim() == 3 { 4 } else { 11 });
        let axis = |d: usize| 0..=if d < kind.dim() { steps } else { 0 };
        let mut samples = Vec::new();
        for i in axis(0) {
            for j in axis(1) {
                for k in axis(2) {
                    if kind.is_tensor() || i + j + k <= steps {
                        samples.push([i, j, k].map(|n| n as f64 / steps as f64));
                    }
                }
            }
        }
        let mut values = vec![0.0; samples.len() * shape.node_count()];
        for (row, &xi) in values.chunks_exact_mut(shape.node_count()).zip(&samples) {
            shape.values(xi, row);
        }
        let convex = degree == 1 && kind.dim() == 2 && space_dim == 2;
        General {
            shape,
            samples,
            values,
            convex,
            control,
        }
    }

    /// Closest point of the cell with the nodes `nodes` to `x`. If its squared distance is above
    /// `limit2`, any point of the cell will do.
    pub fn closest(
        &self,
        nodes: impl Iterator<Item = Vec3>,
        x: Vec3,
        limit2: f64,
        work: &mut Work,
    ) -> Hit {
        let Work {
            nodes: local,
            order,
            hull,
            line,
        } = work;
        local.clear();
        local.extend(nodes.map(|n| sub(n, x)));
        let reach2 = local.iter().map(|&n| norm2(n)).fold(norm2(x), f64::max);
        let zero2 = ROUNDING * ROUNDING * reach2;
        let center = self.shape.kind.center();
        let mut best = self.descend(local, center, zero2);
        let mut settled = best.1 <= zero2 || self.convex;
        if !settled {
            hull.clear();
            hull.extend_from_slice(local);
            let mut error = ROUNDING;
            if let Some(control) = &self.control {
                control.bounds(hull, line);
                error += control.error;
            }
            // The cell lies in the hull of these points, so it is no nearer than a plane
            // before them all; where that touches the point found, there is no closer one.
            let length = best.1.sqrt();
            let way = best.2.map(|c| c / length);
            let least = hull.iter().map(|&c| dot(way, c));
            let bound = least.fold(f64::INFINITY, f64::min) - error * reach2.sqrt();
            settled = bound >= length * (1.0 - 1e-13) - 2.0 * error * reach2.sqrt()
                || bound > 0.0 && bound * bound > limit2;
        }
        if !settled {
            order.clear();
            let rows = self.values.chunks_exact(local.len());
            for (i, row) in rows.enumerate() {
                let mut sum = [0.0; 3];
                for (value, node) in row.iter().zip(local.iter()) {
                    sum = along(sum, *node, *value);
                }
                order.push((norm2(sum), i as u32));
            }
            order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut starts = [[f64::INFINITY; 3]; MAX_STARTS];
            let mut count = 0;
            for &(_, i) in order.iter() {
                let xi = self.samples[i as usize];
                let near = |s: &Vec3| (0..3).all(|d| (s[d] - xi[d]).abs() < APART);
                if starts[..count].iter().any(near) {
                    continue;
                }
                let found = self.descend(local, xi, zero2);
                if found.1 < best.1 {
                    best = found;
                }
                starts[count] = xi;
                count += 1;
                if count == MAX_STARTS || best.1 <= zero2 {
                    break;
                }
            }
        }
        let (xi, distance2, offset) = best;
        Hit {
            xi,
            position: along(x, offset, 1.0),
            distance2: if distance2 <= zero2 { 0.0 } else { distance2 },
            feature: INTERIOR,
        }
    }

    /// Where a descent from `xi` ends, its squared distance, and the way there from the point.
    fn descend(&self, nodes: &[Vec3], mut xi: Vec3, zero2: f64) -> (Vec3, f64, Vec3) {
        let mut jet = self.shape.jet(nodes, xi);
        let mut f = 0.5 * norm2(jet.x);
        for _ in 0..MAX_STEPS {
            let Some(target) = self.model_minimum(&jet, xi) else {
                break;
            };
            let step = sub(target, xi);
            let length = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
            if length <= 2.0 * f64::EPSILON {
                break;
            }
            let slope: f64 = (0..3).map(|k| step[k] * dot(jet.first[k], jet.x)).sum();
            // Near the minimum f changes by less than its own rounding error.
            let slack = 4.0 * f64::EPSILON * f + f64::EPSILON * zero2;
            let mut share = 1.0;
            let moved = loop {
                // The whole step ends exactly on the side that it was clipped at.
                let trial = if share == 1.0 {
                    target
                } else {
                    along(xi, step, share)
                };
                let trial_jet = self.shape.jet(nodes, trial);
                let trial_f = 0.5 * norm2(trial_jet.x);
                if trial_f <= f + 1e-4 * share * slope + slack {
                    (xi, jet, f) = (trial, trial_jet, trial_f);
                    break true;
                }
                share *= 0.5;
                if share < 1e-12 {
                    break false;
                }
            };
            // Convergence is quadratic, so that the next step would be below rounding.
            if !moved || length < 1e-9 {
                break;
            }
        }
        (xi, 2.0 * f, jet.x)
    }

    /// The minimum over the cell of the quadratic model of `f` at `xi`; `None` where the map
    /// does not move at all.
    fn model_minimum(&self, jet: &Jet, xi: Vec3) -> Option<Vec3> {
        let dim = self.shape.kind.dim();
        let gradient: Vec3 = std::array::from_fn(|k| dot(jet.first[k], jet.x));
        let mut gram = [[0.0; 3]; 3];
        let mut hessian = [[0.0; 3]; 3];
        for k in 0..dim {
            for l in k..dim {
                let g = dot(jet.first[k], jet.first[l]);
                let h = g + dot(jet.second[k][l], jet.x);
                (gram[k][l], gram[l][k]) = (g, g);
                (hessian[k][l], hessian[l][k]) = (h, h);
            }
        }
        let trace: f64 = (0..dim).map(|k| gram[k][k]).sum();
        // False for NaN too.
        let moves = trace > 0.0;
        if !moves {
            return None;
        }
        if !positive(&hessian, dim, 1e-8 * trace) {
            hessian = gram;
            // A degenerate cell has directions in which it does not move.
            (0..dim).for_each(|k| hessian[k][k] += 1e-13 * trace);
        }
        let mut best: Option<(f64, Vec3)> = None;
        for patch in &self.shape.patches {
            let Some(target) = self.patch_minimum(patch, &gradient, &hessian, xi) else {
                continue;
            };
            if patch.dim == dim {
                return Some(target);
            }
            let d = sub(target, xi);
            let value = dot(gradient, d) + 0.5 * dot(d, times(&hessian, d));
            if best.is_none_or(|(least, _)| value < least) {
                best = Some((value, target));
            }
        }
        best.map(|(_, target)| target)
    }

    /// The minimum of the model on the plane of a patch, if it lies in the patch.
    fn patch_minimum(
        &self,
        patch: &Patch,
        gradient: &Vec3,
        hessian: &[Vec3; 3],
        xi: Vec3,
    ) -> Option<Vec3> {
        let n = patch.dim;
        // From the present point where that is in the whole cell, for the sake of rounding.
        if n == self.shape.kind.dim() {
            let s = solve(hessian, &gradient.map(|g| -g), n)?;
            let target = along(xi, s, 1.0);
            return self.shape.in_patch(n, &target).then_some(target);
        }
        let start = sub(patch.origin, xi);
        let at = times(hessian, start);
        let slope: Vec3 = std::array::from_fn(|k| gradient[k] + at[k]);
        let mut reduced = [[0.0; 3]; 3];
        let mut right = [0.0; 3];
        for i in 0..n {
            right[i] = -dot(patch.directions[i], slope);
            let column = times(hessian, patch.directions[i]);
            for j in 0..n {
                reduced[i][j] = dot(column, patch.directions[j]);
            }
        }
        let s = solve(&reduced, &right, n)?;
        if !self.shape.in_patch(n, &s) {
            return None;
        }
        let mut target = patch.origin;
        for i in 0..n {
            target = along(target, patch.directions[i], s[i]);
        }
        Some(target)
    }
}

fn times(m: &[Vec3; 3], v: Vec3) -> Vec3 {
    m.map(|row| dot(row, v))
}

/// Whether the leading `n × n` block is positive definite with pivots above `least`.
fn positive(m: &[Vec3; 3], n: usize, least: f64) -> bool {
    let mut a = *m;
    for k in 0..n {
        // False for NaN too.
        let above = a[k][k] > least;
        if !above {
            return false;
        }
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k + 1..n {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    true
}

/// Solves the leading `n × n` block, symmetric and positive definite; `None` if it is not.
fn solve(m: &[Vec3; 3], right: &Vec3, n: usize) -> Option<Vec3> {
    let (mut a, mut b) = (*m, *right);
    for k in 0..n {
        let above = a[k][k] > 0.0;
        if !above {
            return None;
        }
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k + 1..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    let mut s = [0.0; 3];
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| a[k][j] * s[j]).sum();
        s[k] = (b[k] - rest) / a[k][k];
    }
    Some(s)
}
