//! A steel bracket: −∇·σ(u) = 0 with σ = 2μ ε + λ tr(ε) I, held at its bolt holes and loaded on
//! one face. Sample run: `cargo run --release -p weft-io --example bracket`

use std::error::Error;
use weft::form::{Expr, div, dot, grad, inner, sym};
use weft::problem::{Dirichlet, Solver, solve};
use weft::space::Space;
use weft_io::{gmsh, vtu};

fn main() -> Result<(), Box<dyn Error>> {
    // 1. Mesh and space: quadratic displacements.
    let mesh = gmsh::read("cases/data/bracket.msh")?;
    let space = Space::lagrange(&mesh, 2)?.vector(3)?;
    // 2. Weak form.
    let (young, poisson) = (210e9, 0.3);
    let mu = young / (2.0 * (1.0 + poisson));
    let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let strain = |w: &Expr| sym(&grad(w));
    let a = (2.0 * mu * inner(&strain(&u), &strain(&v)) + lambda * div(&u) * div(&v)).dx(&mesh);
    let l = dot(&Expr::vector(&[0.0, 0.0, -2e6]), &v).ds(&mesh, "load");
    // 3. Conditions, solution, result.
    let bolts = Dirichlet::on(&space, "bolts")?;
    let u = solve(&a, &l, &[bolts], Solver::default())?;
    vtu::write("bracket.vtu", &[("displacement", &u)])?;
    Ok(())
}
