//! Poisson's equation −Δu = f in the unit square, u = 0 on its boundary, for the solution u = sin πx sin πy.
//!
//! ```sh
//! cargo run --release -p weft-fem --example poisson
//! ```
use std::{error::Error, sync::Arc};
use weft::assemble::integrate;
use weft::form::{Expr, Scope};
use weft::geometry::Grid2;
use weft::problem::{Dirichlet, Solver, solve};
use weft::space::Space;

/// The error in L² on `n` × `n` cells with functions of degree `p`.
pub fn run(n: usize, p: usize) -> Result<f64, Box<dyn Error>> {
    // 1. Mesh and space.
    let grid = Grid2::unit([n, n])?;
    let space = Space::lagrange(&grid, p)?;
    // 2. Weak form.
    let mut scope = Scope::new(Arc::new(grid));
    scope.set("u", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    let a = scope.form("dot(grad(u), grad(v))*dx")?;
    let l = scope.form("2*pi^2*sin(pi*x[0])*sin(pi*x[1])*v*dx(degree = 12)")?;
    // 3. Conditions and solution.
    let u = solve(&a, &l, &[Dirichlet::on_boundary(&space)], Solver::cg())?;
    // 4. Error.
    scope.set_field("u", &u);
    Ok(integrate(&scope.form("(u - sin(pi*x[0])*sin(pi*x[1]))^2*dx(degree = 12)")?)?.sqrt())
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    for n in [8, 16, 32] {
        println!("{n:3} x {n:2} cells: error {:.3e}", run(n, 2)?);
    }
    Ok(())
}
