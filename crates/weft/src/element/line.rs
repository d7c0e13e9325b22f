//! Quadrature rules on `[0, 1]`: Gauss-Legendre, Gauss-Lobatto, Gauss-Jacobi, Newton-Cotes.
//!
//! The main type is [`LineRule`]. Points ascend, lie in `[0, 1]`, and the weights sum to 1
//! (for Gauss-Jacobi: the weight function is normalised to have integral 1).
//! All points and weights are accurate to a few units in the last place; nothing is tabulated.

use super::ElementError;

/// Most points of a one-dimensional Gauss rule.
pub const MAX_GAUSS_POINTS: usize = 1024;

/// Most points of a closed Newton-Cotes rule. With 9 points, and with 11 or more, some weights are
/// negative; the sum of their absolute values, by which rounding errors of the integrand grow, is
/// 20 with 15 points and more than doubles every two points.
pub const MAX_CLOSED_POINTS: usize = 15;

/// Most points of an open Newton-Cotes rule. With 3 points, and with 5 or more, some weights are
/// negative; the sum of their absolute values is 30 with 9 points and triples every two points.
pub const MAX_OPEN_POINTS: usize = 9;

/// A quadrature rule on `[0, 1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LineRule {
    points: Vec<f64>,
    weights: Vec<f64>,
    degree: usize,
}

impl LineRule {
    /// Gauss-Legendre rule with `n` points, exact to degree `2n - 1`.
    ///
    /// # Errors
    /// If `n` is 0 or more than [`MAX_GAUSS_POINTS`].
    pub fn gauss_legendre(n: usize) -> Result<LineRule, ElementError> {
        check_points("Gauss-Legendre", n, 1, MAX_GAUSS_POINTS)?;
        let mut rule = gauss(n, 0);
        rule.symmetrise();
        Ok(rule)
    }

    /// Gauss-Jacobi rule with `n` points for the weight `(alpha + 1) (1 - x)^alpha`, `alpha` 0 to 2:
    /// exact for polynomials to degree `2n - 1` times that weight.
    ///
    /// # Errors
    /// If `n` is 0 or more than [`MAX_GAUSS_POINTS`], or `alpha` is more than 2.
    pub fn gauss_jacobi(n: usize, alpha: usize) -> Result<LineRule, ElementError> {
        check_points("Gauss-Jacobi", n, 1, MAX_GAUSS_POINTS)?;
        match alpha {
            0 => LineRule::gauss_legendre(n),
            1 | 2 => Ok(gauss(n, alpha)),
            _ => Err(ElementError::JacobiExponent { alpha }),
        }
    }

    /// Gauss-Lobatto rule with `n` points, both ends among them, exact to degree `2n - 3`.
    ///
    /// # Errors
    /// If `n` is less than 2 or more than [`MAX_GAUSS_POINTS`].
    pub fn gauss_lobatto(n: usize) -> Result<LineRule, ElementError> {
        check_points("Gauss-Lobatto", n, 2, MAX_GAUSS_POINTS)?;
        // The points are the roots of (1 - t²) P'_m(t), which is proportional to
        // t P_m - P_{m-1}, with derivative (m + 1) P_m.
        let m = n - 1;
        let mut rule = LineRule::with_capacity(n, 2 * n - 3);
        for k in 0..n {
            let mut t = -(std::f64::consts::PI * k as f64 / m as f64).cos();
            if k == 0 || k == m {
                t = if k == 0 { -1.0 } else { 1.0 };
            } else {
                for _ in 0..MAX_NEWTON_STEPS {
                    let (p, previous) = jacobi(m, 0, t);
                    let step = (t * p - previous) / ((m + 1) as f64 * p);
                    t -= step;
                    if step.abs() <= NEWTON_TOLERANCE {
                        break;
                    }
                }
            }
            let (p, _) = jacobi(m, 0, t);
            rule.push(0.5 * (1.0 + t), 1.0 / ((m * n) as f64 * p * p));
        }
        rule.symmetrise();
        Ok(rule)
    }

    /// Closed Newton-Cotes rule with the `n` points `i / (n - 1)`, exact to degree `n - 1`, or `n`
    /// if `n` is odd. See [`MAX_CLOSED_POINTS`] on its accuracy.
    ///
    /// # Errors
    /// If `n` is less than 2 or more than [`MAX_CLOSED_POINTS`].
    pub fn newton_cotes_closed(n: usize) -> Result<LineRule, ElementError> {
        check_points("closed Newton-Cotes", n, 2, MAX_CLOSED_POINTS)?;
        Ok(newton_cotes(n, 0))
    }

    /// Open Newton-Cotes rule with the `n` points `(i + 1) / (n + 1)`, exact to degree `n - 1`, or
    /// `n` if `n` is odd. See [`MAX_OPEN_POINTS`] on its accuracy.
    ///
    /// # Errors
    /// If `n` is 0 or more than [`MAX_OPEN_POINTS`].
    pub fn newton_cotes_open(n: usize) -> Result<LineRule, ElementError> {
        check_points("open Newton-Cotes", n, 1, MAX_OPEN_POINTS)?;
        Ok(newton_cotes(n, 1))
    }

    /// The points, ascending.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// The weights; they sum to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Highest degree integrated exactly.
    pub fn degree(&self) -> usize {
        self.degree
    }

    fn with_capacity(n: usize, degree: usize) -> LineRule {
        LineRule {
            points: Vec::with_capacity(n),
            weights: Vec::with_capacity(n),
            degree,
        }
    }

    fn push(&mut self, point: f64, weight: f64) {
        self.points.push(point);
        self.weights.push(weight);
    }

    /// Makes the rule symmetric about 1/2 to the last bit of the weights.
    fn symmetrise(&mut self) {
        let n = self.points.len();
        for i in 0..n / 2 {
            let j = n - 1 - i;
            let x = 0.5 * (self.points[i] + (1.0 - self.points[j]));
            (self.points[i], self.points[j]) = (x, 1.0 - x);
            let w = 0.5 * (self.weights[i] + self.weights[j]);
            (self.weights[i], self.weights[j]) = (w, w);
        }
        if n % 2 == 1 {
            self.points[n / 2] = 0.5;
        }
    }
}

const MAX_NEWTON_STEPS: usize = 30;
/// Newton's method converges quadratically, so a step this small leaves an error below rounding.
const NEWTON_TOLERANCE: f64 = 1e-14;

fn check_points(
    rule: &'static str,
    points: usize,
    min: usize,
    max: usize,
) -> Result<(), ElementError> {
    if (min..=max).contains(&points) {
        Ok(())
    } else {
        Err(ElementError::RulePoints {
            rule,
            points,
            min,
            max,
        })
    }
}

/// Coefficients `(a, b, c)` of `P_{k+1} = (a t + b) P_k - c P_{k-1}` for the Jacobi polynomials
/// `P^{(alpha, 0)}` on `[-1, 1]` (Abramowitz and Stegun 22.7.1).
pub(super) fn jacobi_recurrence(k: usize, alpha: usize) -> (f64, f64, f64) {
    let (k, alpha) = (k as f64, alpha as f64);
    if k == 0.0 {
        return (0.5 * (alpha + 2.0), 0.5 * alpha, 0.0);
    }
    let s = 2.0 * k + alpha;
    let d = 2.0 * (k + 1.0) * (k + alpha + 1.0) * s;
    (
        (s + 1.0) * (s + 2.0) * s / d,
        (s + 1.0) * alpha * alpha / d,
        2.0 * (k + alpha) * k * (s + 2.0) / d,
    )
}

/// `P_n` and `P_{n-1}` at `t` for the Jacobi polynomials `P^{(alpha, 0)}`.
fn jacobi(n: usize, alpha: usize, t: f64) -> (f64, f64) {
    let (mut p, mut previous) = (1.0, 0.0);
    for k in 0..n {
        let (a, b, c) = jacobi_recurrence(k, alpha);
        (p, previous) = ((a * t + b) * p - c * previous, p);
    }
    (p, previous)
}

/// `P'_n` from `P_n` and `P_{n-1}` at `|t| < 1` (Abramowitz and Stegun 22.8.1).
fn jacobi_derivative(n: usize, alpha: usize, t: f64, p: f64, previous: f64) -> f64 {
    let (n, alpha) = (n as f64, alpha as f64);
    let s = 2.0 * n + alpha;
    (n * (alpha - s * t) * p + 2.0 * (n + alpha) * n * previous) / (s * (1.0 - t) * (1.0 + t))
}

/// Gauss rule for the weight `(alpha + 1) (1 - x)^alpha`.
fn gauss(n: usize, alpha: usize) -> LineRule {
    let mut rule = LineRule::with_capacity(n, 2 * n - 1);
    for k in (1..=n).rev() {
        // Asymptotic roots (Szegő, Orthogonal polynomials, 8.21), good enough for Newton to
        // find each root once, also for small n.
        let angle = (k as f64 + 0.5 * alpha as f64 - 0.25) * std::f64::consts::PI
            / (n as f64 + 0.5 * (alpha + 1) as f64);
        let mut t = angle.cos();
        for _ in 0..MAX_NEWTON_STEPS {
            let (p, previous) = jacobi(n, alpha, t);
            let step = p / jacobi_derivative(n, alpha, t, p, previous);
            t -= step;
            if step.abs() <= NEWTON_TOLERANCE {
                break;
            }
        }
        let (p, previous) = jacobi(n, alpha, t);
        let derivative = jacobi_derivative(n, alpha, t, p, previous);
        let weight = (alpha + 1) as f64 / ((1.0 - t) * (1.0 + t) * derivative * derivative);
        rule.push(0.5 * (1.0 + t), weight);
    }
    rule
}

/// Newton-Cotes rule of the `n` points `(i + margin) / (n - 1 + 2 margin)`.
///
/// With integer abscissae the weights are rational numbers; numerators and denominators are formed
/// exactly, and rounding happens once, in the last division.
fn newton_cotes(n: usize, margin: usize) -> LineRule {
    let steps = (n - 1 + 2 * margin).max(1) as i128;
    let degree = if n % 2 == 1 { n } else { n - 1 };
    let mut rule = LineRule::with_capacity(n, degree);
    for i in 0..n {
        // Coefficients of the product of (t - node) over the other nodes, constant first.
        let mut numerator = vec![1_i128];
        let mut denominator = 1_i128;
        for j in (0..n).filter(|&j| j != i) {
            let node = (j + margin) as i128;
            numerator.push(0);
            for k in (0..numerator.len()).rev() {
                let lower = if k > 0 { numerator[k - 1] } else { 0 };
                numerator[k] = lower - node * numerator[k];
            }
            denominator *= i as i128 - j as i128;
        }
        // (1/steps) ∫ over [0, steps], over the common denominator lcm(1..=n).
        let common = (1..=n as i128).fold(1, |l, k| l / gcd(l, k) * k);
        let mut integral = 0_i128;
        let mut power = 1_i128;
        for (k, &c) in numerator.iter().enumerate() {
            integral += common / (k as i128 + 1) * c * power;
            power *= steps;
        }
        rule.push(
            (i + margin) as f64 / steps as f64,
            integral as f64 / (common * denominator) as f64,
        );
    }
    rule
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
