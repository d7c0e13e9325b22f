//! Waves that leave: −Δu − k²u = 0 in the unit square for the complex u, with the absorbing condition
//! ∂u/∂n − iku = g on its boundary. For g of a plane wave exp(ik d·x) that wave is the solution.
//!
//! ```sh
//! cargo run --release -p weft-fem --example helmholtz
//! ```

use std::error::Error;
use std::sync::Arc;

use weft::assemble::{integrate, matrix, vector};
use weft::field::Field;
use weft::form::{Expr, Scope};
use weft::geometry::Grid2;
use weft::solve::{BlockJacobi, Krylov, KrylovOptions, Method};
use weft::space::Space;

/// What came of a solve.
pub struct Outcome {
    /// Real and imaginary part of u.
    pub field: Field,
    /// Error in L²; the wave's norm is 1.
    pub error: f64,
    /// Power that flows out through the boundary, Im ∫ ū ∂u/∂n by the condition; 0 for a plane wave.
    pub power: f64,
}

/// Solves for wave number `k` on `n` × `n` cells of degree `p`.
pub fn run(n: usize, p: usize, k: f64) -> Result<Outcome, Box<dyn Error>> {
    // 1. Grid, and a space of pairs: real and imaginary part.
    let grid = Grid2::unit([n; 2])?;
    let space = Space::lagrange(&grid, p)?.vector(2)?;
    let mut scope = Scope::new(Arc::new(grid));
    scope.set_degree(Some(2 * p + 2));
    // 2. The wave w and its slope along its direction, ik w.
    scope.set("k", k);
    scope.set("d", Expr::vector(&[0.8, 0.6]));
    let wave = scope.expression("[cos(k*dot(d, x)), sin(k*dot(d, x))]")?;
    scope.set("w", wave);
    // 3. Weak form; i (a, b) = (−b, a), and g = ik (d·n − 1) w.
    scope.set("u", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    let a = scope
        .form("inner(grad(u), grad(v))*dx - k^2*dot(u, v)*dx - k*(u[0]*v[1] - u[1]*v[0])*ds")?;
    let l = scope.form("k*(dot(d, n) - 1)*(w[0]*v[1] - w[1]*v[0])*ds")?;
    // 4. Solution: the matrix is neither symmetric nor definite.
    let (a, b) = (matrix(&a)?, vector(&l)?);
    let mut x = vec![0.0; b.len()];
    let options = KrylovOptions {
        tolerance: 1e-10,
        restart: 300,
        ..KrylovOptions::default()
    };
    Krylov::new(Method::Gmres, options)?.solve(&a, &BlockJacobi::new(&a)?, &b, &mut x)?;
    let field = Field::from_values(&space, x)?;
    // 5. Error and balance.
    scope.set_field("u", &field);
    let error = integrate(&scope.form("dot(u - w, u - w)*dx")?)?.sqrt();
    let power = integrate(&scope.form("k*dot(u, u)*ds + k*(dot(d, n) - 1)*dot(u, w)*ds")?)?;
    Ok(Outcome {
        field,
        error,
        power,
    })
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    println!("p  cells      error  outflow of power");
    // GMRES without a better preconditioner does not reach finer waves: 32 cells of degree 3 stagnate.
    for p in [1, 2, 3] {
        for n in [4, 8, 16] {
            let Outcome { error, power, .. } = run(n, p, 10.0)?;
            println!("{p} {n:6} {error:10.3e} {power:17.1e}");
        }
    }
    Ok(())
}
