//! Discontinuous Galerkin methods in time: a bump that turns once, with upwind fluxes, and Burgers'
//! equation with local Lax–Friedrichs fluxes.
//!
//! ```sh
//! cargo run --release -p weft-fem --example transport
//! ```

use std::error::Error;
use std::f64::consts::PI;
use std::sync::Arc;

use weft::assemble::{VectorPlan, integrate, matrix, project};
use weft::field::Field;
use weft::form::{Expr, Form, Measure, Scope};
use weft::geometry::{Grid2, Mesh, shapes};
use weft::solve::{BlockJacobi, Preconditioner};
use weft::space::Space;

/// M du/dt = F(u) by the classical Runge–Kutta method. Nothing is allocated in a step.
pub struct March {
    field: Field,
    plan: VectorPlan,
    /// Cells share no nodes, so the mass matrix is a row of blocks, one for each cell.
    inverse: BlockJacobi,
    start: Vec<f64>,
    sum: Vec<f64>,
    force: Vec<f64>,
    rate: Vec<f64>,
}

impl March {
    /// `force` is F, tested with the space of `field`; `mass` is ∫ u v.
    pub fn new(field: &Field, force: &Form, mass: &Form) -> Result<March, Box<dyn Error>> {
        let nodes = field.space().nodes_per_cell();
        let inverse = BlockJacobi::new(&matrix(mass)?.with_block([nodes, nodes])?)?;
        let zeros = || vec![0.0; field.space().dof_count()];
        Ok(March {
            field: field.clone(),
            plan: VectorPlan::new(force)?,
            inverse,
            start: zeros(),
            sum: zeros(),
            force: zeros(),
            rate: zeros(),
        })
    }

    /// One step of length `dt`.
    pub fn step(&mut self, dt: f64) -> Result<(), Box<dyn Error>> {
        self.start.copy_from_slice(&self.field.values());
        self.sum.copy_from_slice(&self.start);
        for (weight, next) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
            self.plan.assemble(&mut self.force)?;
            self.inverse.apply(&self.force, &mut self.rate);
            let mut values = self.field.values_mut();
            for (k, rate) in self.rate.iter().enumerate() {
                self.sum[k] += dt * weight / 6.0 * rate;
                values[k] = self.start[k] + dt * next * rate;
            }
        }
        self.field.values_mut().copy_from_slice(&self.sum);
        Ok(())
    }

    /// Steps no longer than `longest` to time `end`.
    pub fn run(&mut self, end: f64, longest: f64) -> Result<usize, Box<dyn Error>> {
        let count = (end / longest).ceil() as usize;
        for _ in 0..count {
            self.step(end / count as f64)?;
        }
        Ok(count)
    }
}

/// What came of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Error at the end in L².
    pub error: f64,
    /// Change of ∫ u, relative to its size at the start.
    pub mass: f64,
    /// Steps.
    pub steps: usize,
}

/// A smooth bump in the square [−1, 1]² that turns once around the origin, on `n` × `n` cells of degree `p`. The
/// velocity is a rigid rotation up to radius 0.7 and fades to nothing before the boundary.
pub fn turn(n: usize, p: usize) -> Result<Outcome, Box<dyn Error>> {
    let grid = Grid2::new([n; 2], [-1.0; 2], [1.0; 2])?;
    let space = Space::discontinuous(&grid, p)?;
    let mut scope = Scope::new(Arc::new(grid.clone()));
    scope.set_degree(Some(2 * p + 2));
    // 1 up to radius 0.7, 0 from 0.95, with two continuous derivatives between.
    let t = scope.expression("max(0, min(1, (0.95 - sqrt(dot(x, x)))/0.25))")?;
    scope.set("t", t);
    let b = scope.expression("t*t*t*(10 - 15*t + 6*t*t)*[-x[1], x[0]]")?;
    scope.set("b", b);
    let bump = scope.expression("max(0, 1 - ((x[0] - 0.35)^2 + x[1]^2)/0.33^2)^5")?;
    let field = project(&bump, &space)?;
    scope.set_field("u", &field);
    scope.set("w", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    // Upwind: the mean, and half the jump times the speed through the side.
    let force = scope.form(
        "u*dot(b, grad(v))*dx - (dot(b, n)*avg(u) + 0.5*abs(dot(b, n))*jump(u))*jump(v)*dS",
    )?;
    let mut march = March::new(&field, &force, &scope.form("w*v*dx")?)?;
    let before = integrate(&scope.form("u*dx")?)?;
    // Limits of the classical Runge–Kutta method for degrees 0 to 3, with a margin (Cockburn & Shu 2001).
    let courant = [0.6, 0.3, 0.18, 0.12][p.min(3)];
    let steps = march.run(2.0 * PI, courant * 2.0 / n as f64)?;
    let after = integrate(&scope.form("u*dx")?)?;
    let off = field.expr() - bump;
    let measure = Measure::cells(&grid).degree(2 * p + 4);
    Ok(Outcome {
        error: integrate(&(&off * &off).over(&measure))?.sqrt(),
        mass: (after - before) / before,
        steps,
    })
}

/// Burgers' equation u_t + (u²/2)_x = 0 on a segment, with the state `outside` beyond its ends.
pub struct Burgers {
    mesh: Mesh,
    field: Field,
    march: March,
    /// Longest stable step for speed 1.
    longest: f64,
}

impl Burgers {
    /// On `n` cells of degree `p` between −1 and 3, from the values that `start` has.
    pub fn new(n: usize, p: usize, start: &str, outside: &str) -> Result<Burgers, Box<dyn Error>> {
        let mesh = shapes::segments(n, -1.0, 3.0)?;
        let space = Space::discontinuous(&mesh, p)?;
        let mut scope = Scope::new(Arc::new(mesh.clone()));
        scope.set_degree(Some(3 * p + 1));
        let field = project(&scope.expression(start)?, &space)?;
        scope.set_field("u", &field);
        let outside = scope.expression(outside)?;
        scope.set("g", outside);
        scope.set("w", Expr::trial(&space));
        scope.set("v", Expr::test(&space));
        // Local Lax–Friedrichs: half the jump times the faster of the two speeds.
        let force = scope.form(
            "0.5*u*u*grad(v)[0]*dx \
             - (0.5*avg(u*u)*n[0] + 0.5*max(abs(inside(u)), abs(outside(u)))*jump(u))*jump(v)*dS \
             - (0.25*(u*u + g*g)*n[0] + 0.5*max(abs(u), abs(g))*(u - g))*v*ds",
        )?;
        let march = March::new(&field, &force, &scope.form("w*v*dx")?)?;
        let courant = [0.6, 0.3, 0.18, 0.12][p.min(3)];
        Ok(Burgers {
            mesh,
            field,
            march,
            longest: courant * 4.0 / n as f64,
        })
    }

    /// To time `end`, with speeds up to `fastest`.
    pub fn run(&mut self, end: f64, fastest: f64) -> Result<usize, Box<dyn Error>> {
        self.march.run(end, self.longest / fastest)
    }

    /// ∫ u.
    pub fn mass(&self) -> Result<f64, Box<dyn Error>> {
        Ok(integrate(&self.field.expr().dx(&self.mesh))?)
    }

    /// Error in L², against values that `exact` has at nodes of three degrees more.
    pub fn error(&self, exact: impl Fn(f64) -> f64) -> Result<f64, Box<dyn Error>> {
        let degree = self.field.space().degree() + 3;
        let space = Space::discontinuous(&self.mesh, degree)?;
        let values = space.node_positions().iter().map(|x| exact(x[0])).collect();
        let off = self.field.expr() - Field::from_values(&space, values)?.expr();
        let measure = Measure::cells(&self.mesh).degree(2 * degree);
        Ok(integrate(&(&off * &off).over(&measure))?.sqrt())
    }

    /// The solution.
    pub fn field(&self) -> &Field {
        &self.field
    }
}

/// Start of the smooth run: a bump on the state 1.
pub const BUMP: &str = "1 + 0.5*max(0, 1 - 4*x[0]^2)^5";

/// The exact solution from [`BUMP`] before the shock forms at t = 0.48: u = u₀(x − u t), by Newton's method.
pub fn exact_bump(x: f64, t: f64) -> f64 {
    let start = |y: f64| 1.0 + 0.5 * (1.0 - 4.0 * y * y).max(0.0).powi(5);
    let slope = |y: f64| -20.0 * y * (1.0 - 4.0 * y * y).max(0.0).powi(4);
    // The foot of the characteristic: y + t u₀(y) = x, increasing in y.
    let mut y = x - t;
    let (mut low, mut high) = (x - 1.5 * t, x - t);
    for _ in 0..100 {
        let off = y + t * start(y) - x;
        if off > 0.0 {
            high = y;
        } else {
            low = y;
        }
        let next = y - off / (1.0 + t * slope(y));
        y = if next > low && next < high {
            next
        } else {
            0.5 * (low + high)
        };
    }
    start(y)
}

/// The smooth run of Burgers' equation to t = 0.25.
pub fn steepen(n: usize, p: usize) -> Result<Outcome, Box<dyn Error>> {
    let mut burgers = Burgers::new(n, p, BUMP, "1")?;
    let before = burgers.mass()?;
    let steps = burgers.run(0.25, 1.5)?;
    Ok(Outcome {
        error: burgers.error(|x| exact_bump(x, 0.25))?,
        mass: (burgers.mass()? - before) / before,
        steps,
    })
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    for (name, run) in [
        ("one turn", turn as fn(usize, usize) -> _),
        ("Burgers", steepen),
    ] {
        println!("{name}\np  cells  steps      error  order  change of mass");
        for p in 1..=3 {
            let mut last: Option<f64> = None;
            for n in [16, 32, 64] {
                let n = if name == "Burgers" { 4 * n } else { n };
                let Outcome { error, mass, steps } = run(n, p)?;
                let order = last.map_or(f64::NAN, |last| (last / error).log2());
                println!("{p} {n:6} {steps:6} {error:10.3e} {order:6.2} {mass:15.1e}");
                last = Some(error);
            }
        }
    }
    Ok(())
}
