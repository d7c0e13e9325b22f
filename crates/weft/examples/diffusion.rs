//! Diffusion with a uniform source, −ν Δu = 1 in the unit square, u = 5 on its left and right side and no
//! flux through the others, on a grid and on meshes. The solution is u = 5 + x (1 − x)/(2ν).
//!
//! ```sh
//! cargo run --release -p weft-fem --example diffusion
//! ```

use std::error::Error;

use weft::assemble::integrate;
use weft::field::Field;
use weft::form::{Expr, Measure};
use weft::geometry::{Geometry, Grid2, shapes};
use weft::problem::{Dirichlet, Solver, solve};
use weft::space::Space;

/// The viscosity ν.
pub const VISCOSITY: f64 = 2.0;

/// Cells and functions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A grid, Lagrange functions.
    Grid,
    /// A mesh of triangles, Lagrange functions.
    Triangles,
    /// A mesh of quads, serendipity functions.
    Quads,
}

/// What came of a solve.
pub struct Outcome {
    /// The solution.
    pub field: Field,
    /// Its error in L².
    pub error: f64,
    /// What flows out on the left and the right.
    pub outflow: f64,
}

/// Solves on `n` × `n` cells (twice as many triangles) with functions of degree `p`.
pub fn run(kind: Kind, n: usize, p: usize) -> Result<Outcome, Box<dyn Error>> {
    // 1. Geometry and space.
    match kind {
        Kind::Grid => {
            let grid = Grid2::unit([n; 2])?;
            solve_on(&grid, &Space::lagrange(&grid, p)?)
        }
        Kind::Triangles => {
            let mesh = shapes::rectangle_triangles([n; 2], [0.0; 2], [1.0; 2])?;
            solve_on(&mesh, &Space::lagrange(&mesh, p)?)
        }
        Kind::Quads => {
            let mesh = shapes::rectangle_quads([n; 2], [0.0; 2], [1.0; 2])?;
            solve_on(&mesh, &Space::serendipity(&mesh, p)?)
        }
    }
}

fn solve_on<G>(geometry: &G, space: &Space) -> Result<Outcome, Box<dyn Error>>
where
    G: Geometry + Clone + 'static,
{
    // 2. Weak form.
    let (u, v) = (Expr::trial(space), Expr::test(space));
    let a = (VISCOSITY * u.grad().dot(&v.grad())).dx(geometry);
    let l = v.dx(geometry);
    // 3. Conditions and solution.
    let sides = ["left", "right"]
        .iter()
        .map(|side| Dirichlet::on(space, side)?.value(5.0))
        .collect::<Result<Vec<_>, _>>()?;
    let field = solve(&a, &l, &sides, Solver::cg())?;
    // 4. Error and balance.
    let x = Expr::position(geometry).at(0);
    let off = field.expr() - 5.0 - &x * (1.0 - &x) / (2.0 * VISCOSITY);
    let error = integrate(&(&off * &off).over(&Measure::cells(geometry).degree(8)))?.sqrt();
    let flux = -VISCOSITY * field.expr().grad().dot(&Expr::normal(geometry));
    let outflow = integrate(&(flux.ds(geometry, "left") + flux.ds(geometry, "right")))?;
    Ok(Outcome {
        field,
        error,
        outflow,
    })
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    println!("cells        degree   error in L2  outflow");
    for kind in [Kind::Grid, Kind::Triangles, Kind::Quads] {
        for p in [1, 2] {
            let Outcome { error, outflow, .. } = run(kind, 50, p)?;
            println!(
                "{:12} {p:6} {error:13.3e} {outflow:8.5}",
                format!("{kind:?}")
            );
        }
    }
    Ok(())
}
