//! Decaying vortices of Taylor and Green, ∂u/∂t + (u·∇)u + ∇p = ν Δu, ∇·u = 0: u = (−cos 2πx sin 2πy,
//! sin 2πx cos 2πy) exp(−8π²νt), p = −¼ (cos 4πx + cos 4πy) exp(−16π²νt). Q2 velocity and Q1 pressure, the
//! time derivative by two steps back (BDF2), Newton's method in each step.
//!
//! ```sh
//! cargo run --release -p weft-fem --example taylor_green
//! ```

use std::error::Error;
use std::sync::Arc;

use weft::assemble::{integrate, interpolate};
use weft::field::Field;
use weft::form::{Expr, Param, Scope};
use weft::geometry::Grid2;
use weft::problem::{Dirichlet, MixedProblem, NewtonOptions};
use weft::space::Space;

/// The viscosity ν.
pub const VISCOSITY: f64 = 0.01;

/// What came of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Error of the velocity in L², relative.
    pub velocity: f64,
    /// Error of the pressure in L² without its mean, relative.
    pub pressure: f64,
    /// Kinetic energy at the end over that at the start.
    pub decay: f64,
}

/// Runs to time `end` in `steps` steps on `n` × `n` cells of the unit square.
pub fn run(n: usize, steps: usize, end: f64) -> Result<Outcome, Box<dyn Error>> {
    // 1. Grid, spaces, fields: the velocity now, one and two steps ago.
    let grid = Grid2::unit([n; 2])?;
    let space = Space::lagrange(&grid, 2)?.vector(2)?;
    let [u, last, before] = [0; 3].map(|_| Field::zeros(&space));
    let p = Field::zeros(&Space::lagrange(&grid, 1)?);
    let (dt, time) = (end / steps as f64, Param::scalar("t", 0.0));
    let mut scope = Scope::new(Arc::new(grid));
    // 2. The exact flow, at any time.
    scope.set("nu", VISCOSITY);
    scope.set("t", &time);
    let exact = scope.expression(
        "exp(-8*pi^2*nu*t)*[-cos(2*pi*x[0])*sin(2*pi*x[1]), sin(2*pi*x[0])*cos(2*pi*x[1])]",
    )?;
    let pressure =
        scope.expression("-0.25*(cos(4*pi*x[0]) + cos(4*pi*x[1]))*exp(-16*pi^2*nu*t)")?;
    for (field, at) in [(&before, -dt), (&last, 0.0)] {
        time.set(at);
        let start = interpolate(&exact, &space)?;
        field.values_mut().copy_from_slice(&start.values());
    }
    // 3. Weak form: skew-symmetric inertia isn't needed, as the flow is resolved.
    scope.set("dt", dt);
    for (name, field) in [("u", &u), ("a", &last), ("b", &before), ("p", &p)] {
        scope.set_field(name, field);
    }
    scope.set("v", Expr::test(&space));
    scope.set("q", Expr::test(p.space()));
    let momentum = scope.form(
        "dot(1.5*u - 2*a + 0.5*b, v)/dt*dx + dot(dot(grad(u), u), v)*dx - p*div(v)*dx \
         + nu*inner(grad(u), grad(v))*dx",
    )?;
    let mass = scope.form("-q*div(u)*dx")?;
    // 4. The exact velocity on the boundary, and a problem that is solved in each step.
    let walls = Dirichlet::on_boundary(&space).value(exact.clone())?;
    let options = NewtonOptions {
        tolerance: 1e-8,
        ..NewtonOptions::default()
    };
    let unknowns = [u.clone(), p.clone()];
    let mut problem = MixedProblem::new(&[momentum, mass], &unknowns, &[walls], options)?;
    let energy = integrate(&scope.form("dot(a, a)*dx")?)?;
    u.values_mut().copy_from_slice(&last.values());
    for step in 1..=steps {
        time.set(step as f64 * dt);
        problem.solve()?;
        before.values_mut().copy_from_slice(&last.values());
        last.values_mut().copy_from_slice(&u.values());
    }
    // 5. Errors.
    scope.set("e", exact);
    scope.set("s", pressure);
    let number = |text: &str| -> Result<f64, Box<dyn Error>> { Ok(integrate(&scope.form(text)?)?) };
    let mean = number("(p - s)*dx(degree = 8)")?;
    let off = number("(p - s)^2*dx(degree = 8)")? - mean * mean;
    Ok(Outcome {
        velocity: (number("dot(u - e, u - e)*dx(degree = 8)")?
            / number("dot(e, e)*dx(degree = 8)")?)
        .sqrt(),
        pressure: (off / number("s^2*dx(degree = 8)")?).sqrt(),
        decay: number("dot(u, u)*dx")? / energy,
    })
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    println!("cells  steps  error of u  error of p  energy");
    for (n, steps) in [(8, 8), (16, 16), (32, 32)] {
        let Outcome {
            velocity,
            pressure,
            decay,
        } = run(n, steps, 0.5)?;
        println!("{n:5} {steps:6} {velocity:11.2e} {pressure:11.2e} {decay:7.4}");
    }
    Ok(())
}
