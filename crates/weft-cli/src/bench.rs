//! `weft bench`: how fast the engine is on this machine.

use crate::summary::Ordered;
use serde::Serialize;
use std::fmt;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Number of cells.
    pub elements: usize,
    /// Number of unknowns.
    pub dofs: usize,
    /// Seconds of one numeric assembly.
    pub seconds: f64,
    /// Cells assembled in a second.
    pub elements_per_second: f64,
}

/// Measurements by name, such as `poisson_hex_q1`; what `--json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Measurements(pub Ordered<Measurement>);

impl fmt::Display for Measurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<22}{:>10}{:>10}{:>12}{:>16}",
            "", "elements", "dofs", "seconds", "elements/s"
        )?;
        for (name, m) in self.0.iter() {
            write!(
                f,
                "\n{name:<22}{:>10}{:>10}{:>12.6}{:>16.4e}",
                m.elements, m.dofs, m.seconds, m.elements_per_second
            )?;
        }
        Ok(())
    }
}

/// Measures numeric reassembly, on rayon's current pool of threads.
///
/// # Errors
/// Those of the engine.
pub fn assembly() -> anyhow::Result<Measurements> {
    anyhow::bail!("measuring assembly is not possible yet")
}
