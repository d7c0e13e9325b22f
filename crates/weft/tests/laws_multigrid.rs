//! Laws of algebraic multigrid: iterations that hardly grow, symmetry, the same bits for any number of threads.

#[path = "common/mod.rs"]
mod common;

use common::{Random, unit_mesh};
use weft::Real;
use weft::assemble::MatrixPlan;
use weft::element::CellKind;
use weft::form::{Expr, div, grad, inner, sym};
use weft::geometry::Mesh;
use weft::solve::{
    Amg, AmgOptions, BlockJacobi, Constraints, Krylov, KrylovOptions, Method, Preconditioner,
    Smoother, SolveError, rigid_body_modes,
};
use weft::space::Space;
use weft::sparse::BlockMatrix;

/// A matrix with zeros prescribed at the nodes that `held` chooses, and the positions of its nodes.
struct System {
    a: BlockMatrix,
    positions: Vec<[f64; 3]>,
}

fn hold(mut a: BlockMatrix, positions: Vec<[f64; 3]>, held: impl Fn([f64; 3]) -> bool) -> System {
    let b = a.block()[0];
    let mut constraints = Constraints::empty(positions.len(), b);
    for (node, x) in positions.iter().enumerate() {
        for d in 0..b {
            let direction: Vec<f64> = (0..b).map(|c| (c == d) as i32 as f64).collect();
            if held(*x) {
                constraints.constrain_direction(node, &direction, 0.0).unwrap();
            }
        }
    }
    constraints.eliminate(&mut a).unwrap();
    System { a, positions }
}

fn poisson(kind: CellKind, degree: usize, n: usize, held: impl Fn([f64; 3]) -> bool) -> System {
    let mesh = unit_mesh(kind, [n; 3]);
    let space = Space::lagrange(&mesh, degree).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let mut plan = MatrixPlan::new(&inner(&grad(&u), &grad(&v)).dx(&mesh)).unwrap();
    let mut a = plan.matrix();
    plan.assemble(&mut a).unwrap();
    hold(a, space.node_positions(), held)
}

/// Young's modulus and Poisson's ratio 1 and 0.3, clamped at x = 0.
fn elasticity(mesh: &Mesh, degree: usize) -> System {
    let dim = mesh.topology().kind().dim();
    let space = Space::lagrange(mesh, degree).unwrap().vector(dim).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let (mu, lambda) = (1.0 / 2.6, 0.3 / (1.3 * 0.4));
    let form = 2.0 * mu * inner(&sym(&grad(&u)), &sym(&grad(&v))) + lambda * div(&u) * div(&v);
    let mut plan = MatrixPlan::new(&form.dx(mesh)).unwrap();
    let mut a = plan.matrix();
    plan.assemble(&mut a).unwrap();
    hold(a, space.node_positions(), |x| x[0] < 1e-9)
}

fn outer(dim: usize) -> impl Fn([f64; 3]) -> bool {
    move |x| (0..dim).any(|d| x[d] < 1e-9 || x[d] > 1.0 - 1e-9)
}

fn iterations<T: Real>(a: &BlockMatrix<T>, m: &dyn Preconditioner<T>, tolerance: f64) -> usize {
    let mut random = Random(7);
    let b: Vec<T> = (0..a.rows()).map(|_| T::round(random.between(-1.0, 1.0))).collect();
    let mut x = vec![T::ZERO; a.rows()];
    let options = KrylovOptions {
        tolerance,
        max_iterations: Some(20_000),
        ..KrylovOptions::default()
    };
    let mut cg = Krylov::new(Method::Cg, options).unwrap();
    cg.solve(a, m, &b, &mut x).unwrap().iterations
}

#[test]
fn explore() {
    use CellKind::*;
    for ratio in [4.0, 8.0, 16.0] {
    for strength in [0.08, 0.25] {
        let options = AmgOptions { strength, smoother: Smoother::Chebyshev { degree: 2, ratio }, ..AmgOptions::default() };
        println!("ratio {ratio} strength {strength}");
        for (kind, degree, sizes) in [
            (Triangle, 1, vec![50, 100, 200]),
            (Quad, 1, vec![50, 100, 200]),
            (Triangle, 2, vec![25, 50, 100]),
            (Tet, 1, vec![12, 20, 32]),
            (Hex, 1, vec![12, 20, 32]),
            (Tet, 2, vec![6, 10, 16]),
            (Hex, 2, vec![6, 10, 16]),
        ] {
            for n in sizes {
                let s = poisson(kind, degree, n, outer(kind.dim()));
                let amg = Amg::new(&s.a, options).unwrap();
                println!("{kind:?} {degree} {n}: {} {:?} {:.2}", iterations(&s.a, &amg, 1e-8), amg.level_sizes(), amg.operator_complexity());
            }
        }
        for (kind, degree, sizes) in [
            (Triangle, 1, vec![30, 60, 120]),
            (Quad, 1, vec![30, 60, 120]),
            (Triangle, 2, vec![15, 30, 60]),
            (Tet, 1, vec![8, 12, 18]),
            (Hex, 1, vec![8, 12, 18]),
        ] {
            for n in sizes {
                let s = elasticity(&unit_mesh(kind, [n; 3]), degree);
                let modes = rigid_body_modes(kind.dim(), &s.positions).unwrap();
                let amg = Amg::with_near_nullspace(&s.a, &modes, options).unwrap();
                let plain = Amg::new(&s.a, options).unwrap();
                println!("E {kind:?} {degree} {n}: {} {:?} {:.2} plain {}", iterations(&s.a, &amg, 1e-8), amg.level_sizes(), amg.operator_complexity(), iterations(&s.a, &plain, 1e-8));
            }
        }
    }
    }
}
