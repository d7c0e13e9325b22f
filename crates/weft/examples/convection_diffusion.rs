//! Convection and diffusion, ∂c/∂t + v·∇c = ν Δc, of a hill that turns half around the origin: each step
//! takes c where the flow comes from, by looking it up in the old field, and diffuses it implicitly.
//!
//! ```sh
//! cargo run --release -p weft-fem --example convection_diffusion
//! ```

use std::error::Error;
use std::f64::consts::PI;
use std::sync::Arc;

use weft::assemble::{VectorPlan, integrate, interpolate, matrix};
use weft::field::CrossField;
use weft::form::{Expr, Scope, Shape};
use weft::geometry::Grid2;
use weft::solve::{Jacobi, Krylov, KrylovOptions, Method};
use weft::space::Space;

/// The diffusivity ν.
pub const DIFFUSIVITY: f64 = 1e-3;
/// Square of the width of the hill at the start.
pub const WIDTH: f64 = 0.01;

/// What came of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Error in L², relative to the solution.
    pub error: f64,
    /// Change of ∫ c, relative to its size at the start.
    pub mass: f64,
    /// Largest value at the end.
    pub peak: f64,
}

/// Half a turn in `steps` steps on `n` × `n` cells of degree 2 in the square [−1, 1]².
pub fn run(n: usize, steps: usize) -> Result<Outcome, Box<dyn Error>> {
    // 1. Grid, space, the hill.
    let grid = Grid2::new([n; 2], [-1.0; 2], [1.0; 2])?;
    let space = Space::lagrange(&grid, 2)?;
    let mut scope = Scope::new(Arc::new(grid.clone()));
    scope.set("s", WIDTH);
    let hill = scope.expression("exp(-((x[0] - 0.3)^2 + x[1]^2)/(2*s))")?;
    let c = interpolate(&hill, &space)?;
    scope.set_field("c", &c);
    let before = integrate(&scope.form("c*dx")?)?;
    // 2. Where the flow, which turns with speed 1, comes from: exact, as the flow is rigid.
    let dt = PI / steps as f64;
    let x = Expr::position(&grid);
    let (cos, sin) = (dt.cos(), dt.sin());
    let foot = vec![cos * x.at(0) + sin * x.at(1), cos * x.at(1) - sin * x.at(0)];
    let foot = Expr::tensor(Shape::Vector(2), foot);
    // 3. A step: (c, v) + dt ν (∇c, ∇v) = (old c at the foot, v).
    scope.set("old", CrossField::new(&c)?.at(&foot, 0.0));
    scope.set("k", dt * DIFFUSIVITY);
    scope.set("u", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    let a = matrix(&scope.form("u*v*dx + k*dot(grad(u), grad(v))*dx")?)?;
    let mut plan = VectorPlan::new(&scope.form("old*v*dx(degree = 6)")?)?;
    let mut b = vec![0.0; space.dof_count()];
    let mut new = c.values().to_vec();
    let preconditioner = Jacobi::new(&a)?;
    let mut cg = Krylov::new(Method::Cg, KrylovOptions::default())?;
    for _ in 0..steps {
        plan.assemble(&mut b)?;
        cg.solve(&a, &preconditioner, &b, &mut new)?;
        c.values_mut().copy_from_slice(&new);
    }
    // 4. In the plane a Gaussian hill stays one and widens, its square width by 2νt.
    scope.set("t", WIDTH + 2.0 * DIFFUSIVITY * PI);
    let exact = scope.expression("s/t*exp(-((x[0] + 0.3)^2 + x[1]^2)/(2*t))")?;
    scope.set("e", exact);
    let off = integrate(&scope.form("(c - e)^2*dx(degree = 8)")?)?;
    let size = integrate(&scope.form("e^2*dx(degree = 8)")?)?;
    Ok(Outcome {
        error: (off / size).sqrt(),
        mass: integrate(&scope.form("c*dx")?)? / before - 1.0,
        peak: c.values().iter().fold(0.0, |m, c| c.max(m)),
    })
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    println!("cells  steps      error    change of mass  peak");
    for (n, steps) in [(20, 25), (40, 50), (80, 100)] {
        let Outcome { error, mass, peak } = run(n, steps)?;
        println!("{n:5} {steps:6} {error:10.3e} {mass:17.1e} {peak:5.3}");
    }
    Ok(())
}
