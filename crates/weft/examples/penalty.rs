//! Diffusion with broken functions: the symmetric interior penalty method, −Δu = f with u given on the
//! boundary through the form itself.
//!
//! ```sh
//! cargo run --release -p weft-fem --example penalty
//! ```

use std::error::Error;
use std::sync::Arc;

use weft::assemble::{integrate, matrix, vector};
use weft::field::Field;
use weft::form::{Expr, Measure, Scope};
use weft::geometry::{Geometry, Mesh, shapes};
use weft::solve::{BlockJacobi, Krylov, KrylovOptions, Method};
use weft::space::Space;
use weft::sparse::BlockMatrix;

/// What came of a solve.
pub struct Solved {
    /// The matrix, in blocks of cells.
    pub matrix: BlockMatrix,
    /// The solution.
    pub field: Field,
    /// Errors in L², of the solution and of its gradient in the cells.
    pub errors: [f64; 2],
    /// Iterations of the solver.
    pub iterations: usize,
}

/// Solves −Δu = f on `mesh` with functions of degree `p`, for the solution that `exact` tells.
pub fn solve(mesh: &Mesh, p: usize, exact: &str) -> Result<Solved, Box<dyn Error>> {
    let space = Space::discontinuous(mesh, p)?;
    let mut scope = Scope::new(Arc::new(mesh.clone()));
    scope.set_degree(Some(2 * p + 2));
    let exact = scope.expression(exact)?;
    scope.set("g", exact.clone());
    scope.set("u", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    // Grows with the degree as the inverse inequality does, (p + 1)² (Warburton & Hesthaven 2003).
    scope.set("c", 6.0 * ((p + 1) * (p + 1)) as f64);
    let form = scope.form(
        "dot(grad(u), grad(v))*dx \
         - (avg(dot(grad(u), n))*jump(v) + jump(u)*avg(dot(grad(v), n)))*dS \
         + c/avg(h)*jump(u)*jump(v)*dS \
         - (dot(grad(u), n)*v + u*dot(grad(v), n))*ds + c/h*u*v*ds",
    )?;
    let load = scope.form("-div(grad(g))*v*dx - g*dot(grad(v), n)*ds + c/h*g*v*ds")?;
    // A block for each cell: its inverse is a good preconditioner, and cheap.
    let nodes = space.nodes_per_cell();
    let matrix = matrix(&form)?.with_block([nodes, nodes])?;
    let b = vector(&load)?;
    let field = Field::zeros(&space);
    let options = KrylovOptions {
        tolerance: 1e-12,
        ..KrylovOptions::default()
    };
    let preconditioner = BlockJacobi::new(&matrix)?;
    let mut x = vec![0.0; b.len()];
    let iterations = Krylov::new(Method::Cg, options)?
        .solve(&matrix, &preconditioner, &b, &mut x)?
        .iterations;
    field.values_mut().copy_from_slice(&x);
    let off = field.expr() - &exact;
    let measure = Measure::cells(mesh).degree(2 * p + 4);
    let norm = |e: &Expr| integrate(&e.inner(e).over(&measure)).map(f64::sqrt);
    Ok(Solved {
        errors: [norm(&off)?, norm(&off.grad())?],
        matrix,
        field,
        iterations,
    })
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    println!("p  cells  iterations   error in L2  order   of the gradient  order");
    for p in 1..=3 {
        let mut last: Option<[f64; 2]> = None;
        for n in [8, 16, 32] {
            let mesh = shapes::rectangle_triangles([n, n], [0.0; 2], [1.0; 2])?;
            let solved = solve(&mesh, p, "sin(2*x[0] + 0.3)*exp(x[1])")?;
            let [value, gradient] = solved.errors;
            let [first, second] = last.map_or([f64::NAN; 2], |last| {
                [(last[0] / value).log2(), (last[1] / gradient).log2()]
            });
            println!(
                "{p} {:6} {:11} {value:13.3e} {first:6.2} {gradient:17.3e} {second:6.2}",
                mesh.topology().cell_count(),
                solved.iterations
            );
            last = Some(solved.errors);
        }
    }
    Ok(())
}
