//! Diffusion on a quarter of an annulus, −Δu = 1, u = 0 on its two straight edges and no flux through its arcs.
//! The annulus is the unit square moved by (x, y) ↦ r (sin φ, cos φ) with r = y + ½, φ = πx/2.
//!
//! ```sh
//! cargo run --release -p weft-fem --example deformed_geometry
//! ```

use std::error::Error;
use std::f64::consts::PI;

use weft::assemble::{Deformation, integrate};
use weft::field::CrossField;
use weft::form::{Expr, Measure, Shape, Unary};
use weft::geometry::shapes;
use weft::problem::{Dirichlet, Solver, solve};
use weft::space::Space;

/// What came of a solve.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Area; π/2.
    pub area: f64,
    /// Length of the inner and the outer arc; π/4 and 3π/4.
    pub arcs: [f64; 2],
    /// u halfway between the arcs and at an angle of 30° and 60°; [`exact`] there.
    pub halfway: [f64; 2],
}

/// The solution at radius `r` and angle `t`, as a series in sin 2kφ over odd k: each coefficient g(r) solves
/// g″ + g′/r − 4k² g/r² = −4/(πk), g′ = 0 at r = ½ and r = 3/2.
pub fn exact(r: f64, t: f64) -> f64 {
    let (low, high) = (0.5f64, 1.5f64);
    let term = |k: f64| {
        let c = 4.0 / (PI * k);
        // A solution of the equation, and r times its slope; for k = 1 the source is resonant.
        let own = |r: f64| match k {
            1.0 => [
                -c / 4.0 * r * r * r.ln(),
                -c / 4.0 * r * r * (2.0 * r.ln() + 1.0),
            ],
            _ => [
                c * r * r / (4.0 * k * k - 4.0),
                2.0 * c * r * r / (4.0 * k * k - 4.0),
            ],
        };
        // Plus α (r/high)^2k + β (low/r)^2k without slope at both ends.
        let q = (low / high).powf(2.0 * k);
        let (at_low, at_high) = (own(low)[1] / (2.0 * k), own(high)[1] / (2.0 * k));
        let alpha = (q * at_low - at_high) / (1.0 - q * q);
        let beta = (at_low - q * at_high) / (1.0 - q * q);
        let g = own(r)[0] + alpha * (r / high).powf(2.0 * k) + beta * (low / r).powf(2.0 * k);
        g * (2.0 * k * t).sin()
    };
    (0..2000).map(|j| term(2.0 * f64::from(j) + 1.0)).sum()
}

/// Solves on 2 `n` × `n` triangles with maps and functions of degree `p`.
pub fn run(n: usize, p: usize) -> Result<Outcome, Box<dyn Error>> {
    // 1. The square, and where its points go.
    let square = shapes::rectangle_triangles([n; 2], [0.0; 2], [1.0; 2])?;
    let x = Expr::position(&square);
    let (r, t) = (x.at(1) + 0.5, PI / 2.0 * x.at(0));
    // The angle is counted from the second axis, so that the map does not turn the square over.
    let place = vec![&r * t.unary(Unary::Sin), &r * t.unary(Unary::Cos)];
    let bent = Deformation::to(&square, &Expr::tensor(Shape::Vector(2), place), p)?;
    let annulus = bent.geometry();
    // 2. Space, weak form, conditions.
    let space = Space::lagrange(annulus, p)?;
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = u.grad().dot(&v.grad()).dx(annulus);
    let edges = [
        Dirichlet::on(&space, "left")?,
        Dirichlet::on(&space, "right")?,
    ];
    // 3. Solution.
    let u = CrossField::new(&solve(&a, &v.dx(annulus), &edges, Solver::cg())?)?;
    // 4. Measures and values. How long a curve is has no degree: the rule is given.
    let one = Expr::constant(1.0);
    let arc = |side: &str| {
        let measure = Measure::boundary(annulus).tagged(side).degree(2 * p);
        integrate(&one.over(&measure))
    };
    let halfway = |t: f64| -> Result<f64, Box<dyn Error>> {
        let at = u.evaluate([t.cos(), t.sin(), 0.0])?;
        Ok(at.ok_or("the point is in no cell")?.value[0])
    };
    Ok(Outcome {
        area: integrate(&one.dx(annulus))?,
        arcs: [arc("bottom")?, arc("top")?],
        halfway: [halfway(PI / 6.0)?, halfway(PI / 3.0)?],
    })
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    println!("exact: {:.8}", exact(1.0, PI / 6.0));
    for n in [8, 16, 32] {
        let done = run(n, 2)?;
        let area = done.area - PI / 2.0;
        println!(
            "{n:3}: u = {:.8}, error of the area {area:8.1e}",
            done.halfway[0]
        );
    }
    Ok(())
}
