//! Poisson's equation: the error in L² falls with the power p + 1 of the cell size, that of the
//! gradient with the power p, for every basis.

use crate::common::{unit_mesh, zigzag_mesh};
use std::sync::Arc;
use weft::assemble::{integrate, interpolate, matrix, project, vector};
use weft::element::{CellKind, MAX_SERENDIPITY_DEGREE};
use weft::field::Field;
use weft::form::{Expr, Measure, Scope};
use weft::geometry::{Geometry, Grid2, Grid3};
use weft::problem::{Dirichlet, PreconditionerKind, Solver, solve};
use weft::solve::{Jacobi, Krylov, KrylovOptions, Method};
use weft::space::Space;

/// How conditions on the boundary and between cells are met.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Values prescribed at nodes.
    Nodes,
    /// Nitsche's method on the boundary.
    Boundary,
    /// Interior penalty on all sides.
    Penalty,
}

fn exact(scope: &Scope, dim: usize) -> Expr {
    let text = match dim {
        1 => "sin(1.6*x[0] + 0.4)*exp(0.3*x[0])",
        2 => "sin(1.6*x[0] + 1.1*x[1] + 0.4)*exp(0.5*x[1] - 0.3*x[0])",
        _ => "sin(1.3*x[0] + 1.1*x[1] + 0.8*x[2] + 0.4)*exp(0.5*x[1] - 0.3*x[2])",
    };
    scope.expression(text).unwrap()
}

fn options() -> KrylovOptions {
    KrylovOptions {
        tolerance: 1e-13,
        ..KrylovOptions::default()
    }
}

/// Errors in L² and of the gradient; `p` is the degree of the polynomials that the space holds.
fn errors<G: Geometry + Clone + 'static>(
    geometry: &G,
    space: &Space,
    p: usize,
    way: Way,
) -> [f64; 2] {
    let mut scope = Scope::new(Arc::new(geometry.clone()));
    let w = exact(&scope, geometry.space_dim());
    scope.set("w", w.clone());
    scope.set("u", Expr::trial(space));
    scope.set("v", Expr::test(space));
    scope.set("s", Expr::from(6.0 * ((p + 1) * (p + 1)) as f64));
    scope.set_degree(Some(2 * space.degree() + 2));
    let mut a = "dot(grad(u), grad(v))*dx".to_owned();
    let mut l = "-div(grad(w))*v*dx".to_owned();
    if way != Way::Nodes {
        a += " - (dot(grad(u), n)*v + dot(grad(v), n)*u)*ds + s/h*u*v*ds";
        l += " - dot(grad(v), n)*w*ds + s/h*w*v*ds";
    }
    if way == Way::Penalty {
        a += " - (dot(avg(grad(u)), n)*jump(v) + dot(avg(grad(v)), n)*jump(u))*dS";
        a += " + s/avg(h)*jump(u)*jump(v)*dS";
    }
    let (a, l) = (scope.form(&a).unwrap(), scope.form(&l).unwrap());
    let solution = if way == Way::Nodes {
        let condition = Dirichlet::on_boundary(space).value(&w).unwrap();
        let solver = Solver::Krylov {
            method: Method::Cg,
            preconditioner: PreconditionerKind::BlockJacobi,
            options: options(),
        };
        solve(&a, &l, &[condition], solver).unwrap()
    } else {
        let (a, b) = (matrix(&a).unwrap(), vector(&l).unwrap());
        let field = Field::zeros(space);
        let mut solver = Krylov::new(Method::Cg, options()).unwrap();
        let jacobi = Jacobi::new(&a).unwrap();
        solver
            .solve(&a, &jacobi, &b, &mut field.values_mut())
            .unwrap();
        field
    };
    let off = solution.expr() - &w;
    let measure = Measure::cells(geometry).degree(2 * space.degree() + 4);
    let norm = |e: &Expr| integrate(&e.inner(e).over(&measure)).unwrap().sqrt();
    [norm(&off), norm(&off.grad())]
}

fn check_rates(name: &str, p: usize, coarse: [f64; 2], fine: [f64; 2]) {
    for (i, what) in ["L²", "gradient"].iter().enumerate() {
        let rate = (coarse[i] / fine[i]).log2();
        let expected = (p + 1 - i) as f64;
        println!(
            "{name} degree {p}, {what}: {rate:.3}, error {:.1e}",
            fine[i]
        );
        assert!(
            (rate - expected).abs() < 0.1,
            "{name} degree {p}, {what}: rate {rate:.3}, not {expected}"
        );
    }
}

/// Cells along an axis of the coarser mesh.
fn size(dim: usize, p: usize) -> usize {
    match (dim, p) {
        (2, 1) => 32,
        (2, 4) => 12,
        (2, _) => 16,
        (_, 1) => 6,
        _ => 4,
    }
}

#[test]
fn serendipity_converges() {
    for kind in [CellKind::Quad, CellKind::Hex] {
        // On hexes, sizes at which boundary cells no longer dominate degree 3 are too large.
        let highest = if kind == CellKind::Quad { 4 } else { 2 };
        for p in 1..=highest {
            // Degree 3 is slow to reach its rate.
            let n = match (kind, p) {
                (CellKind::Quad, 3) => 24,
                _ => size(kind.dim(), p),
            };
            let of = |n: usize| {
                let mesh = unit_mesh(kind, [n; 3]);
                let space = Space::serendipity(&mesh, p).unwrap();
                errors(&mesh, &space, p, Way::Nodes)
            };
            check_rates(&format!("serendipity {}", kind.name()), p, of(n), of(2 * n));
        }
    }
}

/// Local, so without the influence of the boundary that high degrees feel on coarse meshes.
#[test]
fn interpolation_by_serendipity_functions_converges() {
    for kind in [CellKind::Quad, CellKind::Hex] {
        for p in 1..=MAX_SERENDIPITY_DEGREE {
            let of = |n: usize| {
                let mesh = unit_mesh(kind, [n; 3]);
                let space = Space::serendipity(&mesh, p).unwrap();
                let w = exact(&Scope::new(Arc::new(mesh.clone())), kind.dim());
                let off = interpolate(&w, &space).unwrap().expr() - &w;
                let measure = Measure::cells(&mesh).degree(2 * p + 4);
                let norm = |e: &Expr| integrate(&e.inner(e).over(&measure)).unwrap().sqrt();
                [norm(&off), norm(&off.grad())]
            };
            let name = format!("interpolation, serendipity {}", kind.name());
            check_rates(&name, p, of(6), of(12));
        }
    }
}

#[test]
fn crouzeix_raviart_and_bubbles_converge() {
    for kind in [CellKind::Triangle, CellKind::Tet] {
        let n = size(kind.dim(), 1);
        let of = |n: usize| {
            let mesh = zigzag_mesh(kind, n);
            let sides = Space::crouzeix_raviart(&mesh).unwrap();
            let bubble = Space::bubble(&mesh).unwrap();
            [
                errors(&mesh, &sides, 1, Way::Nodes),
                errors(&mesh, &bubble, 1, Way::Nodes),
            ]
        };
        let (coarse, fine) = (of(n), of(2 * n));
        let name = kind.name();
        check_rates(&format!("Crouzeix-Raviart {name}"), 1, coarse[0], fine[0]);
        check_rates(&format!("bubble {name}"), 1, coarse[1], fine[1]);
    }
}

#[test]
fn splines_converge() {
    for p in 1..=3 {
        let of = |n: usize| {
            let grid = Grid2::unit([n, n]).unwrap();
            errors(&grid, &Space::splines(&grid, p).unwrap(), p, Way::Boundary)
        };
        let n = if p == 1 { 32 } else { 16 };
        check_rates("spline quad", p, of(n), of(2 * n));
    }
    let of = |n: usize| {
        let grid = Grid3::unit([n; 3]).unwrap();
        errors(&grid, &Space::splines(&grid, 2).unwrap(), 2, Way::Boundary)
    };
    check_rates("spline hex", 2, of(5), of(10));
}

#[test]
fn discontinuous_polynomials_converge() {
    for kind in [CellKind::Triangle, CellKind::Quad] {
        for p in 1..=3 {
            let n = size(2, p);
            let of = |n: usize| {
                let mesh = unit_mesh(kind, [n; 3]);
                let space = Space::polynomials(&mesh, p).unwrap();
                errors(&mesh, &space, p, Way::Penalty)
            };
            check_rates(&format!("polynomial {}", kind.name()), p, of(n), of(2 * n));
        }
    }
}

#[test]
fn projections_into_discontinuous_polynomials_converge() {
    for kind in [
        CellKind::Triangle,
        CellKind::Quad,
        CellKind::Tet,
        CellKind::Hex,
    ] {
        let highest = if kind.dim() == 2 { 6 } else { 4 };
        for p in 0..=highest {
            let n = if kind.dim() == 2 { 4 } else { 3 };
            let of = |n: usize| {
                let mesh = unit_mesh(kind, [n; 3]);
                let space = Space::polynomials(&mesh, p).unwrap();
                let w = exact(&Scope::new(Arc::new(mesh.clone())), kind.dim());
                let off = project(&w, &space).unwrap().expr() - &w;
                let measure = Measure::cells(&mesh).degree(2 * p + 6);
                integrate(&off.inner(&off).over(&measure)).unwrap().sqrt()
            };
            let rate = (of(n) / of(2 * n)).log2();
            let name = kind.name();
            assert!(
                (rate - (p + 1) as f64).abs() < 0.1,
                "{name} degree {p}: {rate:.3}"
            );
        }
    }
}

/// With natural conditions, so without the layer of cells at a boundary of prescribed values, which
/// in degree 3 and 4 on hexes dominates on meshes that are not fine.
#[test]
fn serendipity_converges_with_natural_conditions() {
    for kind in [CellKind::Quad, CellKind::Hex] {
        for p in 1..=MAX_SERENDIPITY_DEGREE {
            let of = |n: usize| {
                let mesh = unit_mesh(kind, [n; 3]);
                natural(&mesh, &Space::serendipity(&mesh, p).unwrap())
            };
            let n = match (kind, p) {
                (CellKind::Quad, _) => 12,
                (_, 1) => 8,
                _ => 4,
            };
            let name = format!("natural conditions, serendipity {}", kind.name());
            check_rates(&name, p, of(n), of(2 * n));
        }
    }
}

/// Errors of -Δu + u = f with the slope across the boundary given, and interior penalty between cells that
/// share no nodes.
fn natural<G: Geometry + Clone + 'static>(geometry: &G, space: &Space) -> [f64; 2] {
    let mut scope = Scope::new(Arc::new(geometry.clone()));
    let w = exact(&scope, geometry.space_dim());
    scope.set("w", w.clone());
    scope.set("u", Expr::trial(space));
    scope.set("v", Expr::test(space));
    scope.set_degree(Some(2 * space.degree() + 2));
    let mut a = "dot(grad(u), grad(v))*dx + u*v*dx".to_owned();
    if !space.shares_nodes() {
        let p = space.degree() as f64;
        let s = match geometry.cell_kind() {
            // On a cube the slope along an axis has degree p - 1, so its square on two opposite sides is at
            // most p (p + 1) / edge of that inside, and the form is coercive above p (p + 1) / (2 edge); h is
            // the diagonal. Much larger penalties ask for continuity, which few of these functions have.
            CellKind::Hex => 1.5 * 3f64.sqrt() * p * (p + 1.0) / 2.0,
            _ => 4.0 * (p + 1.0) * (p + 1.0),
        };
        scope.set("s", Expr::from(s));
        a += " - (dot(avg(grad(u)), n)*jump(v) + dot(avg(grad(v)), n)*jump(u))*dS";
        a += " + s/avg(h)*jump(u)*jump(v)*dS";
    }
    let a = scope.form(&a).unwrap();
    let l = scope
        .form("(w - div(grad(w)))*v*dx + dot(grad(w), n)*v*ds")
        .unwrap();
    let solver = Solver::Krylov {
        method: Method::Cg,
        preconditioner: PreconditionerKind::BlockJacobi,
        options: KrylovOptions {
            tolerance: 1e-11,
            ..KrylovOptions::default()
        },
    };
    let solution = solve(&a, &l, &[], solver).unwrap();
    let off = solution.expr() - &w;
    let measure = Measure::cells(geometry).degree(2 * space.degree() + 4);
    let norm = |e: &Expr| integrate(&e.inner(e).over(&measure)).unwrap().sqrt();
    [norm(&off), norm(&off.grad())]
}

/// Lagrange functions of the degrees that `tests/convergence` leaves out, and bubbles on tensor cells.
#[test]
fn high_degrees_and_bubbles_converge_with_natural_conditions() {
    for kind in CellKind::CELLS {
        for p in [5, 6] {
            let n = match kind.dim() {
                1 | 2 => 3,
                _ if kind == CellKind::Tet => 3,
                _ => 2,
            };
            let of = |n: usize| {
                let mesh = unit_mesh(kind, [n; 3]);
                natural(&mesh, &Space::lagrange(&mesh, p).unwrap())
            };
            let name = format!("Lagrange {}", kind.name());
            check_rates(&name, p, of(n), of(2 * n));
        }
        let n = if kind.dim() == 3 { 6 } else { 16 };
        let of = |n: usize| {
            let mesh = unit_mesh(kind, [n; 3]);
            natural(&mesh, &Space::bubble(&mesh).unwrap())
        };
        // On segments the bubble makes the quadratic functions whole.
        let p = if kind == CellKind::Segment { 2 } else { 1 };
        check_rates(&format!("bubble {}", kind.name()), p, of(n), of(2 * n));
    }
}

#[test]
fn splines_in_space_converge() {
    for p in 1..=3 {
        let of = |n: usize| {
            let grid = Grid3::unit([n; 3]).unwrap();
            natural(&grid, &Space::splines(&grid, p).unwrap())
        };
        check_rates("spline hex", p, of(6), of(12));
    }
}

/// Degrees 2 and 3 on quads are above.
#[test]
fn discontinuous_polynomials_converge_with_natural_conditions() {
    let cases: [(CellKind, &[usize]); 5] = [
        (CellKind::Segment, &[1, 2, 3, 4, 5]),
        (CellKind::Triangle, &[1, 2, 3, 4, 5]),
        (CellKind::Quad, &[1, 4, 5]),
        (CellKind::Tet, &[1, 2, 3]),
        (CellKind::Hex, &[1, 2, 3, 4, 5]),
    ];
    for (kind, degrees) in cases {
        for &p in degrees {
            let n = match (kind.dim(), p) {
                (1, 1) => 64,
                (2, 1) => 32,
                (3, 1) => 8,
                (3, 2) => 4,
                (3, _) => 3,
                _ => 6,
            };
            let of = |n: usize| {
                let mesh = unit_mesh(kind, [n; 3]);
                natural(&mesh, &Space::polynomials(&mesh, p).unwrap())
            };
            let name = format!("natural conditions, polynomial {}", kind.name());
            check_rates(&name, p, of(n), of(2 * n));
        }
    }
}
