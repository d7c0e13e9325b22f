//! What a run of material points found and used: printed, and kept as `summary.json`.
//!
//! Invariant: the keys of [`MpmSummary`] are those of `--json` and stay as they are.

use crate::summary::{Ordered, ReportValue};
use serde::Serialize;
use std::fmt;

/// The result of `weft run` on a scene, serialised for `--json` and `summary.json`. What concerns
/// steps is about those of this run, not of one that it goes on from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MpmSummary {
    /// Particles at the end.
    pub particles: usize,
    /// Steps done, with those before a restart.
    pub steps: usize,
    /// Median of the seconds of a step without output; null if there was none.
    pub step_seconds_median: Option<f64>,
    /// Seconds from the start of the run to the end of its first step; null if there was none.
    pub first_step_seconds: Option<f64>,
    /// Median of the sweeps of a step; null if there was none.
    pub sweeps_median: Option<f64>,
    /// Root mean square of the strain corrections in the last sweep of the last step.
    pub residual_l2: f64,
    /// The largest of them.
    pub residual_max: f64,
    /// Particles in cells in the last step.
    pub particles_binned: usize,
    /// Particles outside all cells in the last step.
    pub particles_dropped: usize,
    /// Most of them in a step, with those before a restart.
    pub particles_dropped_most: usize,
    /// Bytes in use at the end: those of particles, colliders, the solver and the pool.
    pub live_bytes: usize,
    /// Bytes of free blocks in the pool at the end.
    pub pooled_bytes: usize,
    /// Step → resident size of the process in MiB.
    pub rss_mib: Ordered<f64>,
    /// The largest resident size; null where the system doesn't say.
    pub peak_rss_mib: Option<f64>,
    /// Phase → seconds.
    pub seconds: Ordered<f64>,
    /// Probe → number or vector at the end.
    pub reports: Ordered<ReportValue>,
    /// Check → its outcome.
    pub checks: Ordered<CheckResult>,
    /// Number of threads used.
    pub threads: usize,
    /// Version of the program.
    pub version: &'static str,
}

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CheckResult {
    /// The value found; null if it is no finite number.
    pub value: Option<f64>,
    /// The least accepted.
    pub at_least: Option<f64>,
    /// The most accepted.
    pub at_most: Option<f64>,
    /// Whether it holds.
    pub passed: bool,
}

impl MpmSummary {
    /// Names of the checks that do not hold.
    pub fn failed(&self) -> Vec<&str> {
        let failed = self.checks.iter().filter(|(_, check)| !check.passed);
        failed.map(|(name, _)| name).collect()
    }
}

impl fmt::Display for CheckResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.passed { "holds: " } else { "FAILS: " })?;
        if let Some(low) = self.at_least {
            write!(f, "{low} ≤ ")?;
        }
        match self.value {
            Some(value) => write!(f, "{value:.6}")?,
            None => f.write_str("no finite number")?,
        }
        match self.at_most {
            Some(high) => write!(f, " ≤ {high}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for MpmSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.reports.iter().map(|(name, _)| name);
        let names = names.chain(self.checks.iter().map(|(name, _)| name));
        let width = names.map(|n| n.chars().count()).max().unwrap_or(0);
        for (name, value) in self.reports.iter() {
            writeln!(f, "{name:<width$}  {value}")?;
        }
        for (name, check) in self.checks.iter() {
            writeln!(f, "{name:<width$}  {check}")?;
        }
        let mib = |bytes: usize| bytes as f64 / (1024.0 * 1024.0);
        writeln!(
            f,
            "{} particles ({} in cells, {} dropped, {} at most), {} steps",
            self.particles,
            self.particles_binned,
            self.particles_dropped,
            self.particles_dropped_most,
            self.steps
        )?;
        if let (Some(step), Some(first), Some(sweeps)) = (
            self.step_seconds_median,
            self.first_step_seconds,
            self.sweeps_median,
        ) {
            writeln!(
                f,
                "median {:.2} ms a step, {sweeps} sweeps; first step after {first:.3} s; residuals \
                 {:.1e} (l2), {:.1e} (max)",
                1e3 * step,
                self.residual_l2,
                self.residual_max
            )?;
        }
        write!(
            f,
            "live {:.2} MiB, pooled {:.2} MiB",
            mib(self.live_bytes),
            mib(self.pooled_bytes)
        )?;
        // Those of `--memory` have been printed.
        let last = self.rss_mib.iter().last().map_or("", |(step, _)| step);
        let shown = self.rss_mib.iter();
        let shown = shown.filter(|(step, _)| ["10", "50", last].contains(step));
        for (i, (step, mib)) in shown.enumerate() {
            let before = if i == 0 { "; resident" } else { "," };
            write!(f, "{before} {mib:.1} MiB at step {step}")?;
        }
        let total: f64 = self.seconds.iter().map(|(_, seconds)| seconds).sum();
        write!(f, "\n{total:.3} s on {} threads", self.threads)
    }
}

/// The median; of an even number of values the mean of the middle two.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    let n = values.len();
    values.sort_unstable_by(f64::total_cmp);
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(values[n / 2]),
        _ => Some(0.5 * (values[n / 2 - 1] + values[n / 2])),
    }
}

/// The median of counts.
pub(super) fn median_count(values: &mut [usize]) -> Option<f64> {
    let mut values: Vec<f64> = values.iter().map(|&v| v as f64).collect();
    median(&mut values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [5.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median_count(&mut [4, 1, 2, 9]), Some(3.0));
    }

    #[test]
    fn checks_say_what_they_found() {
        let mut check = CheckResult {
            value: Some(0.25),
            at_least: Some(0.0),
            at_most: Some(0.2),
            passed: false,
        };
        assert_eq!(check.to_string(), "FAILS: 0 ≤ 0.250000 ≤ 0.2");
        check.value = None;
        check.at_most = None;
        assert_eq!(check.to_string(), "FAILS: 0 ≤ no finite number");
    }
}
