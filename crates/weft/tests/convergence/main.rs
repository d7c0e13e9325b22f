//! Manufactured solutions on distorted meshes: the error in L² falls with the power p + 1 of
//! the cell size, the error of the gradient with the power p, for every kind of cell.
//!
//! The meshes repeat one pattern of distortion at every size, so that rates are clean, and the
//! right-hand side comes from the exact solution by the derivatives of the library itself.

#[path = "../common/mod.rs"]
mod common;
mod voxels;

use common::{shared, zigzag_mesh};
use weft::assemble::{integrate, interpolate, matrix, vector};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Scope};
use weft::geometry::{Geometry, Mesh};
use weft::solve::{Constraints, Jacobi, Krylov, KrylovOptions, Method};
use weft::space::Space;

/// Smooth, not polynomial, and without symmetry.
fn exact(scope: &Scope, dim: usize, component: usize) -> Expr {
    let phase = 0.4 + 0.9 * component as f64;
    let text = match dim {
        1 => format!("sin(2*x[0] + {phase})*exp(0.5*x[0])"),
        2 => format!("sin(1.6*x[0] + 1.1*x[1] + {phase})*exp(0.5*x[1] - 0.3*x[0])"),
        _ => format!("sin(1.3*x[0] + 1.1*x[1] + 0.8*x[2] + {phase})*exp(0.5*x[1] - 0.3*x[2])"),
    };
    scope.expression(&text).unwrap()
}

/// The problem: bilinear form, linear form and exact solution as texts of `w`, the solution.
struct Problem {
    name: &'static str,
    vector: bool,
    bilinear: &'static str,
    load: &'static str,
}

const POISSON: Problem = Problem {
    name: "Poisson",
    vector: false,
    bilinear: "dot(grad(u), grad(v))*dx",
    load: "-div(grad(w))*v*dx",
};

const ELASTICITY: Problem = Problem {
    name: "elasticity",
    vector: true,
    bilinear: "2*inner(sym(grad(u)), sym(grad(v)))*dx + 1.5*div(u)*div(v)*dx",
    load: "-dot(div(2*sym(grad(w)) + 1.5*div(w)*I), v)*dx",
};

/// Errors of the solution on a mesh, in L² and of the gradient.
fn errors(problem: &Problem, mesh: &Mesh, p: usize) -> [f64; 2] {
    let dim = mesh.space_dim();
    let mut scope = Scope::new(shared(mesh));
    let space = Space::lagrange(mesh, p).unwrap();
    let (space, w) = if problem.vector {
        let parts: Vec<Expr> = (0..dim).map(|c| exact(&scope, dim, c)).collect();
        let w = Expr::tensor(weft::form::Shape::Vector(dim), parts);
        (space.vector(dim).unwrap(), w)
    } else {
        (space, exact(&scope, dim, 0))
    };
    scope.set("w", w.clone());
    scope.set("u", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    // Bent cells ask for more than straight ones: the rule must not be what limits the rate.
    scope.set_degree(Some(2 * p + 2));
    let mut a = matrix(&scope.form(problem.bilinear).unwrap()).unwrap();
    let mut b = vector(&scope.form(problem.load).unwrap()).unwrap();

    let data = interpolate(&w, &space).unwrap();
    let mut constraints = Constraints::empty(space.node_count(), space.components());
    let topology = mesh.topology();
    let mut nodes: Vec<u32> = topology
        .boundary_sides()
        .iter()
        .flat_map(|&side| space.side_nodes(side as usize))
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        let at = node as usize * space.components();
        let value = data.values()[at..at + space.components()].to_vec();
        constraints.constrain_node(node as usize, &value).unwrap();
    }
    constraints.apply(&mut a, &mut b).unwrap();
    let solution = Field::zeros(&space);
    let options = KrylovOptions {
        tolerance: 1e-12,
        ..KrylovOptions::default()
    };
    let mut solver = Krylov::new(Method::Cg, options).unwrap();
    solver
        .solve(
            &a,
            &Jacobi::new(&a).unwrap(),
            &b,
            &mut solution.values_mut(),
        )
        .unwrap();

    let off = solution.expr() - &w;
    let measure = Measure::cells(mesh).degree(2 * p + 4);
    let norm = |e: &Expr| integrate(&e.inner(e).over(&measure)).unwrap().sqrt();
    [norm(&off), norm(&off.grad())]
}

/// The two sizes to compare: large enough for the rate to show, small enough to be quick.
fn sizes(dim: usize, p: usize) -> [usize; 2] {
    match (dim, p) {
        (1, 1) => [32, 64],
        (1, _) => [16, 32],
        (2, 1) => [16, 32],
        (2, 2) => [12, 24],
        (2, _) => [8, 16],
        (_, 1) => [8, 16],
        (_, 2) => [4, 8],
        _ => [3, 6],
    }
}

fn check(problem: &Problem, kind: CellKind) {
    for p in 1..=4 {
        let sizes = sizes(kind.dim(), p);
        let [coarse, fine] = sizes.map(|n| errors(problem, &zigzag_mesh(kind, n), p));
        let rate = |k: usize| (coarse[k] / fine[k]).log2();
        let what = format!(
            "{} on {kind:?}, degree {p}: {:.3} {:.3} {fine:?}",
            problem.name,
            rate(0),
            rate(1)
        );
        assert!((rate(0) - (p + 1) as f64).abs() < 0.1, "L2: {what}");
        assert!((rate(1) - p as f64).abs() < 0.1, "H1: {what}");
    }
}

macro_rules! tests {
    ($($name:ident: $problem:expr, $kind:expr;)*) => {
        $(#[test] fn $name() { check(&$problem, $kind); })*
    };
}

tests! {
    poisson_on_segments: POISSON, CellKind::Segment;
    poisson_on_triangles: POISSON, CellKind::Triangle;
    poisson_on_quads: POISSON, CellKind::Quad;
    poisson_on_tets: POISSON, CellKind::Tet;
    poisson_on_hexes: POISSON, CellKind::Hex;
    elasticity_on_segments: ELASTICITY, CellKind::Segment;
    elasticity_on_triangles: ELASTICITY, CellKind::Triangle;
    elasticity_on_quads: ELASTICITY, CellKind::Quad;
    elasticity_on_tets: ELASTICITY, CellKind::Tet;
    elasticity_on_hexes: ELASTICITY, CellKind::Hex;
}
