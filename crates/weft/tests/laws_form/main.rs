//! Laws of expressions and forms: shapes, linearity, the text syntax, derivatives, degrees.

mod degree;
mod deriv;
mod errors;
mod generate;
mod hostile;
mod identities;
mod parameters;
mod place;
mod points;
mod tensors;
mod text;

#[path = "../common/mod.rs"]
mod common;

use std::sync::Arc;
use weft::assemble::evaluate_at;
use weft::element::CellKind;
use weft::form::{Expr, Scope};
use weft::geometry::{Geometry, Mesh};

/// The reference cell as a mesh: reference coordinates are positions.
fn one_cell(kind: CellKind) -> Mesh {
    let n = kind.vertex_count() as u32;
    Mesh::new(kind, kind.dim(), kind.vertices().to_vec(), (0..n).collect()).unwrap()
}

/// Values of an expression at points of the one-cell mesh, one after another.
fn values(e: &Expr, mesh: &Mesh, points: &[[f64; 3]]) -> Vec<f64> {
    let geometry: Arc<dyn Geometry> = Arc::new(mesh.clone());
    evaluate_at(e, &geometry, points).unwrap_or_else(|error| panic!("{e}: {error}"))
}

fn scope(mesh: &Mesh) -> Scope {
    Scope::new(Arc::new(mesh.clone()))
}

/// The expression that a text means.
#[track_caller]
fn read(scope: &Scope, text: &str) -> Expr {
    scope
        .expression(text)
        .unwrap_or_else(|error| panic!("{error}"))
}
