//! Laws of algebraic multigrid: iterations that hardly grow, symmetry, the same bits for any number of threads.

#[path = "common/mod.rs"]
mod common;

#[path = "multigrid/algebra.rs"]
mod algebra;
#[path = "multigrid/forms.rs"]
mod forms;
