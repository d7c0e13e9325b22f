//! The parts of the program `weft`, as a library so that tests and other programs can use them.
//!
//! A command goes from [`args`] to [`commands`]; a case file from [`document`] (TOML with places)
//! through [`schema`] (which keys exist) to [`case`] (typed), and then to [`run`]; one of material
//! points to [`scene`] and [`simulate`]. Everything that a user can get wrong ends as a
//! [`diagnose::Diagnostic`], which shows the line.

pub mod args;
pub mod bench;
pub mod case;
pub mod commands;
pub mod diagnose;
pub mod document;
pub mod info;
pub mod names;
pub mod progress;
pub mod resident;
pub mod run;
pub mod scene;
pub mod schema;
pub mod simulate;
pub mod summary;
