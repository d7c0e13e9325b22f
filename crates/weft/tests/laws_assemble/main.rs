//! Laws of assembly: agreement with a plain twin, integral theorems, numbering, subsets,
//! reproduction of polynomials, determinism.

mod determinism;
mod grids;
mod interior;
mod mechanics;
mod numbering;
mod reproduction;
mod subsets;
mod surfaces;
mod theorems;
mod twin;
mod twins;

#[path = "../common/mod.rs"]
mod common;

use common::Random;
use weft::field::Field;
use weft::form::{Expr, Form, Measure, Scope};
use weft::geometry::{Geometry, Mesh};
use weft::space::Space;

fn field(space: &Space, random: &mut Random) -> Field {
    Field::from_values(space, random.numbers(space.dof_count())).unwrap()
}

/// Names for forms in text: `u` and `v` of one space, `f` a field of it.
fn scope(mesh: &Mesh, space: &Space, f: &Field) -> Scope {
    let mut scope = Scope::new(common::shared(mesh));
    scope.set("u", Expr::trial(space));
    scope.set("v", Expr::test(space));
    scope.set_field("f", f);
    scope
}

#[track_caller]
fn form(scope: &Scope, text: &str) -> Form {
    scope.form(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The value of a functional in text.
#[track_caller]
fn value(scope: &Scope, text: &str) -> f64 {
    weft::assemble::integrate(&form(scope, text)).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn measure_of(geometry: &(impl Geometry + Clone + 'static)) -> f64 {
    weft::assemble::integrate(&Expr::from(1.0).over(&Measure::cells(geometry))).unwrap()
}
