//! Laws of interpolation into nodes and points, of its matrices, of nodal assembly, and of fields
//! and couplings across meshes: against plain twins, on every kind of cell.
#![cfg(not(loom))]

#[path = "../common/mod.rs"]
mod common;

mod coupling;
mod cross;
mod kinds;
mod matrices;
mod nodal;
mod nodes;
mod points;
mod splines;
mod transfer;

use common::*;
use weft::assemble::Reduction;
use weft::field::Field;
use weft::form::Expr;
use weft::geometry::Mesh;
use weft::space::Space;

const REDUCTIONS: [Reduction; 6] = [
    Reduction::WeightedAverage,
    Reduction::Mean,
    Reduction::Sum,
    Reduction::Max,
    Reduction::Min,
    Reduction::First,
];

/// Scalar spaces with nodes of every family that the cells have.
fn spaces(mesh: &Mesh) -> Vec<Space> {
    let all = [
        Space::lagrange(mesh, 1),
        Space::lagrange(mesh, 2),
        Space::lagrange(mesh, 3),
        Space::discontinuous(mesh, 0),
        Space::discontinuous(mesh, 2),
        Space::serendipity(mesh, 2),
        Space::serendipity(mesh, 3),
        Space::polynomials(mesh, 2),
        Space::crouzeix_raviart(mesh),
        Space::bubble(mesh),
    ];
    all.into_iter().flatten().collect()
}

/// A field with random values.
fn random_field(space: &Space, random: &mut Random) -> Field {
    Field::from_values(space, random.numbers(space.dof_count())).unwrap()
}

/// An expression that has another value in each cell that shares a node.
fn jumping(mesh: &Mesh, field: &Field, random: &mut Random) -> Expr {
    use weft::geometry::Geometry;
    let data = Expr::cell_data("data", random.numbers(mesh.topology().cell_count()));
    data * (1.0 + Expr::position(mesh).at(0)) + field.expr().grad().at(0)
}
