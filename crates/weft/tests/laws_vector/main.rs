//! Laws of vector-valued elements and spaces: duality, spans, the de Rham sequence, continuity of
//! tangential and normal components under every numbering, convergence. Each law is swept over all
//! families, cells and degrees.

#[path = "../common/mod.rs"]
mod common;
mod convergence;
mod elements;
mod independent;
mod spaces;
#[path = "../common/tables.rs"]
mod tables;

use weft::element::{CellKind, MAX_VECTOR_DEGREE, VectorElement, VectorFamily};

const DEGREES: std::ops::RangeInclusive<usize> = 1..=MAX_VECTOR_DEGREE;

/// Every element there is.
fn all_elements() -> impl Iterator<Item = VectorElement> {
    VectorFamily::ALL.into_iter().flat_map(|family| {
        family.cells().iter().flat_map(move |&kind| {
            DEGREES.map(move |degree| VectorElement::new(family, kind, degree).unwrap())
        })
    })
}

/// The families that have elements on a kind of cell.
fn families(kind: CellKind) -> impl Iterator<Item = VectorFamily> {
    let all = VectorFamily::ALL.into_iter();
    all.filter(move |family| family.cells().contains(&kind))
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
