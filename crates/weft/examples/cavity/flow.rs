//! The lid-driven cavity as a problem of velocity and pressure, and published velocities on its centre lines.

use std::error::Error;
use std::sync::Arc;

use weft::field::Field;
use weft::form::{Expr, Param, Scope};
use weft::geometry::{Grid2, locate};
use weft::problem::{Dirichlet, MixedProblem, MixedReport, NewtonOptions};
use weft::space::Space;

/// Velocities on the centre lines of the cavity from Ghia, Ghia & Shin, High-Re solutions for
/// incompressible flow using the Navier–Stokes equations and a multigrid method, J. Comput. Phys. 48 (1982)
/// 387–411, Tables I and II: for each Reynolds number pairs of place and velocity.
pub struct Published {
    /// The Reynolds number.
    pub reynolds: f64,
    /// (y, u) on x = ½.
    pub vertical: [[f64; 2]; 17],
    /// (x, v) on y = ½.
    pub horizontal: [[f64; 2]; 17],
}

/// Ghia, Ghia & Shin for Re = 100 and 400. In the second table the value at x = 0.9063 for Re = 400,
/// −0.23827, doesn't lie on the curve through its neighbours −0.44993 and −0.22847: a misprint, given here as
/// printed; see [`MISPRINT`].
pub const PUBLISHED: [Published; 2] = [
    Published {
        reynolds: 100.0,
        vertical: [
            [1.0, 1.0],
            [0.9766, 0.84123],
            [0.9688, 0.78871],
            [0.9609, 0.73722],
            [0.9531, 0.68717],
            [0.8516, 0.23151],
            [0.7344, 0.00332],
            [0.6172, -0.13641],
            [0.5, -0.20581],
            [0.4531, -0.2109],
            [0.2813, -0.15662],
            [0.1719, -0.1015],
            [0.1016, -0.06434],
            [0.0703, -0.04775],
            [0.0625, -0.04192],
            [0.0547, -0.03717],
            [0.0, 0.0],
        ],
        horizontal: [
            [1.0, 0.0],
            [0.9688, -0.05906],
            [0.9609, -0.07391],
            [0.9531, -0.08864],
            [0.9453, -0.10313],
            [0.9063, -0.16914],
            [0.8594, -0.22445],
            [0.8047, -0.24533],
            [0.5, 0.05454],
            [0.2344, 0.17527],
            [0.2266, 0.17507],
            [0.1563, 0.16077],
            [0.0938, 0.12317],
            [0.0781, 0.1089],
            [0.0703, 0.10091],
            [0.0625, 0.09233],
            [0.0, 0.0],
        ],
    },
    Published {
        reynolds: 400.0,
        vertical: [
            [1.0, 1.0],
            [0.9766, 0.75837],
            [0.9688, 0.68439],
            [0.9609, 0.61756],
            [0.9531, 0.55892],
            [0.8516, 0.29093],
            [0.7344, 0.16256],
            [0.6172, 0.02135],
            [0.5, -0.11477],
            [0.4531, -0.17119],
            [0.2813, -0.32726],
            [0.1719, -0.24299],
            [0.1016, -0.14612],
            [0.0703, -0.10338],
            [0.0625, -0.09266],
            [0.0547, -0.08186],
            [0.0, 0.0],
        ],
        horizontal: [
            [1.0, 0.0],
            [0.9688, -0.12146],
            [0.9609, -0.15663],
            [0.9531, -0.19254],
            [0.9453, -0.22847],
            [0.9063, -0.23827],
            [0.8594, -0.44993],
            [0.8047, -0.38598],
            [0.5, 0.05186],
            [0.2344, 0.30174],
            [0.2266, 0.30203],
            [0.1563, 0.28124],
            [0.0938, 0.22965],
            [0.0781, 0.2092],
            [0.0703, 0.19713],
            [0.0625, 0.1836],
            [0.0, 0.0],
        ],
    },
];

/// Reynolds number and place of the misprint in the second table.
pub const MISPRINT: (f64, f64) = (400.0, 0.9063);

/// Flow in the unit square under a lid that moves to the right with speed 1.
pub struct Cavity {
    grid: Grid2,
    velocity: Field,
    pressure: Field,
    reynolds: Param,
    problem: MixedProblem,
}

impl Cavity {
    /// The problem on `n` × `n` cells, at rest and with Reynolds number 0: Stokes flow with viscosity 1.
    pub fn new(n: usize) -> Result<Cavity, Box<dyn Error>> {
        let grid = Grid2::unit([n; 2])?;
        let velocity = Field::zeros(&Space::lagrange(&grid, 2)?.vector(2)?);
        let pressure = Field::zeros(&Space::lagrange(&grid, 1)?);
        let reynolds = Param::scalar("Re", 0.0);
        let mut scope = Scope::new(Arc::new(grid.clone()));
        scope.set("Re", &reynolds);
        scope.set_field("u", &velocity);
        scope.set_field("p", &pressure);
        scope.set("v", Expr::test(velocity.space()));
        scope.set("q", Expr::test(pressure.space()));
        // Lengths by the side, velocities by the lid, pressure by viscosity: the Reynolds number stands
        // before the inertia.
        let momentum = scope.form(
            "2*inner(sym(grad(u)), sym(grad(v)))*dx + Re*dot(dot(grad(u), u), v)*dx - p*div(v)*dx",
        )?;
        let mass = scope.form("-q*div(u)*dx")?;
        // The lid ends before the corners, which belong to the walls.
        let walls = scope.expression(
            "[select((x[1] > 1 - 1e-9)*(x[0] > 1e-9)*(x[0] < 1 - 1e-9) > 0, 1, 0), 0]",
        )?;
        let still = Dirichlet::on_boundary(velocity.space()).value(walls)?;
        let options = NewtonOptions {
            tolerance: 1e-6,
            ..NewtonOptions::default()
        };
        let unknowns = [velocity.clone(), pressure.clone()];
        let problem = MixedProblem::new(&[momentum, mass], &unknowns, &[still], options)?;
        Ok(Cavity {
            grid,
            velocity,
            pressure,
            reynolds,
            problem,
        })
    }

    /// The steady flow at this Reynolds number, by Newton's method from the flow as it is.
    pub fn solve(&mut self, reynolds: f64) -> Result<MixedReport, Box<dyn Error>> {
        self.reynolds.set(reynolds);
        Ok(self.problem.solve()?)
    }

    /// The velocity at a point.
    pub fn velocity_at(&self, x: [f64; 2]) -> Result<[f64; 2], Box<dyn Error>> {
        let (cell, xi) = locate(&self.grid, [x[0], x[1], 0.0], 1e-9).ok_or("outside")?;
        let value = self.velocity.evaluate(cell, xi)?.value;
        Ok([value[0], value[1]])
    }

    /// Velocity and pressure.
    pub fn fields(&self) -> [&Field; 2] {
        [&self.velocity, &self.pressure]
    }

    /// Largest differences from the published velocities on the vertical and the horizontal centre line,
    /// without the misprint.
    pub fn differences(&self, published: &Published) -> Result<[f64; 2], Box<dyn Error>> {
        let mut largest = [0.0f64; 2];
        for &[y, u] in &published.vertical {
            let off = self.velocity_at([0.5, y])?[0] - u;
            largest[0] = largest[0].max(off.abs());
        }
        for &[x, v] in &published.horizontal {
            if (published.reynolds, x) != MISPRINT {
                let off = self.velocity_at([x, 0.5])?[1] - v;
                largest[1] = largest[1].max(off.abs());
            }
        }
        Ok(largest)
    }
}
