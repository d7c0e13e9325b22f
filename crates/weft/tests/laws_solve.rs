//! Laws of the solvers, constraints and the diagnosis of singular systems.

#[path = "solve/samples.rs"]
mod samples;

#[path = "solve/constraints.rs"]
mod constraints;
#[path = "solve/diagnose.rs"]
mod diagnose;
#[cfg(feature = "direct")]
#[path = "solve/direct.rs"]
mod direct;
#[path = "solve/krylov.rs"]
mod krylov;
