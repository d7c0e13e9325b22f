//! A catalogue of properties that a library of this kind has to show, one test by the number and name of each
//! item, with the criterion that the item gives. Most were taken over from the tests of `warp.fem`. Laws on every
//! cell, degree and number of threads are tested in the `laws_*` binaries; here one finds an item by its number.
//!
//! | items | where |
//! |---|---|
//! | 2.3, 2.5, 13.2 quadrature | [`quadrature`] |
//! | 3.5, 3.6, 3.9, 13.3 nodes and functions | [`functions`] |
//! | 3.7, 13.2 point bases | [`points`] |
//! | 4, 13.4 fields and spaces | [`fields`] |
//! | 6.2, 6.3, 6.5, 13.5 integration | [`integration`] |
//! | 6.4 and parts of 4, 13.2, 13.4, 13.5: interpolation, other meshes, nodes | [`interpolation`] |
//! | 8.2, 13.6 linear algebra | [`algebra`] |
//! | 1, 13.1 geometry; 7 domains | `laws_geometry`, `laws_locate`, `laws_voxel`, `laws_adaptive`, `laws_partition`, `laws_assemble/subsets.rs` |
//! | 9 adaptivity | `laws_adaptive`, `hanging` |
//! | 11, 13.8 environments | `laws_partition`, `laws_voxel` |
//! | 13.7 precision | `laws_precision` |
//!
//! Items that have no test here:
//!
//! | item | why |
//! |---|---|
//! | 2.5, derivatives of an integral by the volumes of particles | the integrand at the particles: `laws_particles/gradients.rs` |
//! | 3.7 kernels in distances of the physical space | kernels are functions of the distance in the reference cell |
//! | 13.2 test dof index in nodal assembly | an integrand does not know which functions it is multiplied with |
//! | 13.4 periodic lookup through cells | no lookup in integrands; the value of the integral is tested |
//! | 13.5 zeroing a tape, derivatives by vertices and by points of a rule | derivatives are forms (`Form::deriv`), by fields and by positions of particles |
//! | 13.5 row capacities, capture in a graph | patterns are planned once and exact; there is nothing to capture |
//! | 13.5 names of arguments | checked by the compiler; names in texts: `laws_form/errors.rs` |
//! | 13.6 `array_axpy` | slices |

mod algebra;
mod fields;
mod functions;
mod integration;
mod interpolation;
mod points;
mod quadrature;

#[path = "../common/mod.rs"]
mod common;

use std::sync::Arc;
use weft::assemble::integrate;
use weft::form::{Expr, Measure};
use weft::geometry::Geometry;

/// An integral without arguments.
fn integral(e: &Expr, measure: &Measure) -> f64 {
    integrate(&e.over(measure)).unwrap_or_else(|error| panic!("{e}: {error}"))
}

fn share<G: Geometry + Clone + 'static>(geometry: &G) -> Arc<dyn Geometry> {
    Arc::new(geometry.clone())
}
