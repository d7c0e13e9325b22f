//! `weft bench`: how fast the engine is on this machine.

mod assembly;
mod geometry;

pub use assembly::{Measurement, Measurements, assembly};
pub use geometry::{Rate, Rates, geometry};

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
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[REPEATS / 2])
}
