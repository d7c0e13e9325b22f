//! From a typed case to results: mesh, spaces, forms, solution, reports, files.

use crate::case::Case;
use crate::summary::Summary;
use std::path::PathBuf;

/// How to run a case.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Folder for the results; exists already.
    pub out: PathBuf,
    /// Print a line about memory after each phase.
    pub memory: bool,
    /// Show no progress.
    pub silent: bool,
}

/// Solves a case on rayon's current pool of threads and writes its results.
///
/// # Errors
/// A [`Diagnostic`](crate::diagnose::Diagnostic) for what the case file has wrong, others for
/// what fails while running.
pub fn run(_case: &Case, _options: &RunOptions) -> anyhow::Result<Summary> {
    anyhow::bail!("solving is not possible yet")
}

/// Checks what needs the mesh and the forms, without solving.
///
/// # Errors
/// As [`run`].
pub fn check(_case: &Case) -> anyhow::Result<()> {
    Ok(())
}
