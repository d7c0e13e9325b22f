//! Readers and writers for Weft.
//!
//! - [`obj`], [`stl`] and [`ply`] read surfaces of triangles.
//! - [`gmsh`] reads meshes in Gmsh's MSH format, with their physical groups.
//! - [`vtu`] writes meshes and fields for ParaView and PyVista, single or as a series.
//! - [`vtp`] writes clouds of particles for the same programs.
//! - [`checkpoint`] writes and reads named arrays, from which a run goes on.
//! - [`picture`] draws surfaces, particles and plots into a PNG, without a window system.
//!
//! The invariant: a reader answers any bytes with a result or a typed error that names the
//! place; a written file is whole or absent.

#![forbid(unsafe_code)]

mod atomic;
pub mod checkpoint;
pub mod gmsh;
pub mod obj;
pub mod picture;
pub mod ply;
pub mod stl;
mod triangles;
mod values;
pub mod vtp;
pub mod vtu;

pub use triangles::{Triangles, TrianglesError};
pub use values::{Item, Values};
