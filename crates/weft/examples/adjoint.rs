//! The gradient of an objective by its adjoint: flow through porous rock, −∇·(exp(m) ∇p) = 0 with p = 1 on the
//! left and 0 on the right. What flows through, J = ∫ exp(m) |∇p|², depends on the field m; the derivatives by
//! all of its values take one solve with the transposed matrix, and are used to find rock with a given flow.
//!
//! ```sh
//! cargo run --release -p weft-fem --example adjoint
//! ```

use std::error::Error;
use std::sync::Arc;

use weft::assemble::{integrate, matrix, vector};
use weft::field::Field;
use weft::form::{Expr, Form, Scope};
use weft::geometry::Grid2;
use weft::problem::{Dirichlet, LinearProblem, Solver};
use weft::solve::{Jacobi, Krylov, KrylovOptions, Method};
use weft::space::Space;

/// Rock, flow and adjoint.
pub struct Rock {
    /// Logarithm of the permeability.
    pub m: Field,
    pressure: Field,
    adjoint: Field,
    problem: LinearProblem,
    residual: Form,
    flux: Form,
    mass: Form,
}

impl Rock {
    /// Uniform rock, m = 0, on `n` × `n` cells, with functions of degree 2 for p and 1 for m.
    pub fn new(n: usize) -> Result<Rock, Box<dyn Error>> {
        // 1. Grid, spaces, fields.
        let grid = Grid2::unit([n; 2])?;
        let (space, rocks) = (Space::lagrange(&grid, 2)?, Space::lagrange(&grid, 1)?);
        let (m, adjoint) = (Field::zeros(&rocks), Field::zeros(&space));
        let mut scope = Scope::new(Arc::new(grid.clone()));
        scope.set_degree(Some(6));
        scope.set_field("m", &m);
        scope.set("u", Expr::trial(&space));
        scope.set("v", Expr::test(&space));
        // 2. The problem.
        let a = scope.form("exp(m)*dot(grad(u), grad(v))*dx")?;
        let ends = [
            Dirichlet::on(&space, "left")?.value(1.0)?,
            Dirichlet::on(&space, "right")?,
        ];
        let problem = LinearProblem::new(&a, &Form::zero(), &ends, Solver::cg())?;
        let pressure = problem.solution().clone();
        // 3. Objective, and the residual tested with the adjoint.
        scope.set_field("p", &pressure);
        scope.set_field("q", &adjoint);
        let flux = scope.form("exp(m)*dot(grad(p), grad(p))*dx")?;
        let residual = scope.form("exp(m)*dot(grad(p), grad(q))*dx")?;
        Ok(Rock {
            m,
            pressure,
            adjoint,
            problem,
            residual,
            flux,
            mass: (Expr::trial(&rocks) * Expr::test(&rocks)).dx(&grid),
        })
    }

    /// The flow J.
    pub fn flow(&mut self) -> Result<f64, Box<dyn Error>> {
        self.problem.solve()?;
        Ok(integrate(&self.flux)?)
    }

    /// The flow and its derivatives by the values of m: dJ/dm = ∂J/∂m − ∂R/∂m with Aᵀ q = ∂J/∂p, where R is
    /// the residual tested with q.
    pub fn gradient(&mut self) -> Result<(f64, Vec<f64>), Box<dyn Error>> {
        let flow = self.flow()?;
        // 4. The adjoint, zero where p is prescribed. The matrix has its conditions put in.
        let direction = Expr::test(self.pressure.space());
        let mut load = vector(&self.flux.deriv(&self.pressure, &direction))?;
        for tag in ["left", "right"] {
            for node in self.pressure.space().tagged_nodes(tag)? {
                load[node as usize] = 0.0;
            }
        }
        let transposed = self.problem.matrix().transpose();
        let mut q = vec![0.0; load.len()];
        Krylov::new(Method::Cg, KrylovOptions::default())?.solve(
            &transposed,
            &Jacobi::new(&transposed)?,
            &load,
            &mut q,
        )?;
        self.adjoint.values_mut().copy_from_slice(&q);
        // 5. Both derivatives by m are exact derivatives of forms.
        let change = Expr::test(self.m.space());
        let mut gradient = vector(&self.flux.deriv(&self.m, &change))?;
        let other = vector(&self.residual.deriv(&self.m, &change))?;
        gradient.iter_mut().zip(other).for_each(|(g, r)| *g -= r);
        Ok((flow, gradient))
    }

    /// Changes m until the flow is `wanted`: Newton's method for the flow along the gradient in L². Returns the
    /// flow after each step.
    pub fn reach(&mut self, wanted: f64, steps: usize) -> Result<Vec<f64>, Box<dyn Error>> {
        let mass = matrix(&self.mass)?;
        let preconditioner = Jacobi::new(&mass)?;
        let mut cg = Krylov::new(Method::Cg, KrylovOptions::default())?;
        let mut flows = Vec::new();
        for _ in 0..steps {
            let (flow, gradient) = self.gradient()?;
            flows.push(flow);
            let mut uphill = vec![0.0; gradient.len()];
            cg.solve(&mass, &preconditioner, &gradient, &mut uphill)?;
            let slope: f64 = gradient.iter().zip(&uphill).map(|(g, u)| g * u).sum();
            let mut m = self.m.values_mut();
            for (m, u) in m.iter_mut().zip(&uphill) {
                *m += (wanted - flow) / slope * u;
            }
        }
        flows.push(self.flow()?);
        Ok(flows)
    }
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    let mut rock = Rock::new(32)?;
    for (step, flow) in rock.reach(3.0, 6)?.iter().enumerate() {
        println!("step {step}: flow {flow:.12}");
    }
    Ok(())
}
