//! `weft bench`: how fast the engine is on this machine.

mod assembly;
mod geometry;
mod mpm;

pub use assembly::{Measurement, Measurements, assembly};
pub use geometry::{Rate, Rates, geometry};
pub use mpm::{Kernel, MpmRates, SceneRate, mpm};

use std::time::Instant;

/// Runs that are measured, after one that warms up; their median counts.
const REPEATS: usize = 7;

/// Median seconds of `work`, after a run to warm up.
fn median(mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    work()?;
    let mut times = [0.0; REPEATS];
    for time in &mut times {
        let start = Instant::now();
        work()?;
        *time = start.elapsed().as_secs_f64();
    }
    Ok(middle(&mut times))
}

/// The median; 0 of nothing.
fn middle(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}
