//! Plates: Δ²w = f by continuous functions whose slopes jump, held together by interior penalty
//! (Brenner and Sung, J. Sci. Comput. 22-23, 2005), and by splines of continuous slope. Second
//! derivatives converge with the power p - 1 of the cell size, slopes with p and values with p + 1,
//! in degree 2 with 2 both.

use crate::common::unit_mesh;
use std::sync::Arc;
use weft::assemble::integrate;
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Scope};
use weft::geometry::{Geometry, Grid2, Mesh};
use weft::problem::{Dirichlet, Solver, solve};
use weft::space::Space;

const EXACT: &str = "sin(1.6*x[0] + 1.1*x[1] + 0.4)*exp(0.5*x[1] - 0.3*x[0])";

fn scope_for<G: Geometry + Clone + 'static>(geometry: &G, space: &Space) -> (Scope, Expr) {
    let mut scope = Scope::new(Arc::new(geometry.clone()));
    let w = scope.expression(EXACT).unwrap();
    scope.set("w", w.clone());
    scope.set("u", Expr::trial(space));
    scope.set("v", Expr::test(space));
    let p = space.degree();
    scope.set("s", Expr::from(2.0 * (p * p) as f64));
    scope.set_degree(Some(2 * p + 2));
    (scope, w)
}

/// Errors of values, slopes and second derivatives.
fn errors<G: Geometry + Clone + 'static>(geometry: &G, solution: &Field, w: &Expr) -> [f64; 3] {
    let measure = Measure::cells(geometry).degree(2 * solution.space().degree() + 4);
    let off = solution.expr() - w;
    let norm = |e: Expr| integrate(&e.inner(&e).over(&measure)).unwrap().sqrt();
    let slope = off.grad();
    let bend = slope.grad();
    [norm(off), norm(slope), norm(bend)]
}

/// Clamped: values at nodes, slopes on the boundary by penalty as between cells.
fn clamped<G: Geometry + Clone + 'static>(geometry: &G, space: &Space) -> [f64; 3] {
    let (scope, w) = scope_for(geometry, space);
    let a = "inner(grad(grad(u)), grad(grad(v)))*dx \
        - dot(dot(avg(grad(grad(u))), n), n)*dot(jump(grad(v)), n)*dS \
        - dot(dot(avg(grad(grad(v))), n), n)*dot(jump(grad(u)), n)*dS \
        + s/avg(h)*dot(jump(grad(u)), n)*dot(jump(grad(v)), n)*dS \
        - dot(dot(grad(grad(u)), n), n)*dot(grad(v), n)*ds \
        - dot(dot(grad(grad(v)), n), n)*dot(grad(u), n)*ds \
        + s/h*dot(grad(u), n)*dot(grad(v), n)*ds";
    let l = "div(grad(div(grad(w))))*v*dx \
        - dot(dot(grad(grad(v)), n), n)*dot(grad(w), n)*ds \
        + s/h*dot(grad(w), n)*dot(grad(v), n)*ds";
    let (a, l) = (scope.form(a).unwrap(), scope.form(l).unwrap());
    let edge = Dirichlet::on_boundary(space).value(&w).unwrap();
    let solution = solve(&a, &l, &[edge], Solver::default()).unwrap();
    errors(geometry, &solution, &w)
}

/// On springs, with the slope across the boundary prescribed by penalty and the force on it given.
/// The cells' functions have continuous slopes.
fn guided(grid: &Grid2, space: &Space) -> [f64; 3] {
    let (scope, w) = scope_for(grid, space);
    let a = "inner(grad(grad(u)), grad(grad(v)))*dx + u*v*dx \
        - dot(dot(grad(grad(u)), n), n)*dot(grad(v), n)*ds \
        - dot(dot(grad(grad(v)), n), n)*dot(grad(u), n)*ds \
        + s/h*dot(grad(u), n)*dot(grad(v), n)*ds";
    let l = "div(grad(div(grad(w))))*v*dx + w*v*dx \
        - dot(dot(grad(grad(v)), n), n)*dot(grad(w), n)*ds \
        + s/h*dot(grad(w), n)*dot(grad(v), n)*ds \
        + dot(dot(grad(grad(w)), n), grad(v) - dot(grad(v), n)*n)*ds \
        - dot(grad(div(grad(w))), n)*v*ds";
    let (a, l) = (scope.form(a).unwrap(), scope.form(l).unwrap());
    let solution = solve(&a, &l, &[], Solver::default()).unwrap();
    errors(grid, &solution, &w)
}

/// A mesh of the square with vertices inside moved to and fro in a pattern that repeats. The boundary
/// stays straight: at corners that point inwards solutions are not smooth enough for the rates.
fn mesh(kind: CellKind, n: usize) -> Mesh {
    let step = 0.15 / n as f64;
    let moved = |x: [f64; 3]| {
        let index = x.map(|c| (c * n as f64).round() as usize);
        std::array::from_fn(|d| match d < 2 && index[d] % n != 0 {
            true if (index[0] + index[1]).is_multiple_of(2) => x[d] + step,
            true => x[d] - step,
            false => x[d],
        })
    };
    unit_mesh(kind, [n; 3]).moved(moved).unwrap()
}

fn check_rates(name: &str, p: usize, coarse: [f64; 3], fine: [f64; 3]) {
    let expected = [if p == 2 { 2 } else { p + 1 }, p, p - 1];
    for (i, what) in ["values", "slopes", "second derivatives"]
        .iter()
        .enumerate()
    {
        let rate = (coarse[i] / fine[i]).log2();
        println!(
            "{name} degree {p}, {what}: {rate:.3}, error {:.1e}",
            fine[i]
        );
    }
    for (i, what) in ["values", "slopes", "second derivatives"]
        .iter()
        .enumerate()
    {
        let rate = (coarse[i] / fine[i]).log2();
        assert!(
            (rate - expected[i] as f64).abs() < 0.1,
            "{name} degree {p}, {what}: rate {rate:.3}, not {}",
            expected[i]
        );
    }
}

#[test]
fn clamped_plates_converge() {
    for kind in [CellKind::Triangle, CellKind::Quad] {
        for p in 2..=3 {
            let n = if p == 2 { 64 } else { 16 };
            let on = |n: usize| {
                let mesh = mesh(kind, n);
                clamped(&mesh, &Space::lagrange(&mesh, p).unwrap())
            };
            check_rates(kind.name(), p, on(n), on(2 * n));
        }
    }
}

#[test]
fn plates_of_splines_converge() {
    for p in 2..=3 {
        let on = |n: usize| {
            let grid = Grid2::unit([n, n]).unwrap();
            guided(&grid, &Space::splines(&grid, p).unwrap())
        };
        let n = if p == 2 { 24 } else { 12 };
        check_rates("spline", p, on(n), on(2 * n));
    }
}
