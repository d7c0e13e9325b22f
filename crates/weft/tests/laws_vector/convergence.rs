//! Rates of convergence: the mixed Poisson problem in H(div) × L², and curl curl + 1 in H(curl).
//!
//! Meshes either repeat one distortion at every size or follow a smooth map, so that rates are clean.
//! On quads of the first sort Raviart-Thomas and Nédélec functions keep their rate in L² while
//! divergence and curl lose one order (D. N. Arnold, D. Boffi and R. S. Falk, Quadrilateral H(div)
//! finite elements, 2005); on hexes only the second sort keeps rates.

use crate::common::{bend, shared, unit_mesh, zigzag_mesh};
use crate::{DEGREES, families};
use weft::assemble::{integrate, matrix, vector};
use weft::element::{CellKind, Piola, VectorFamily};
use weft::field::Field;
use weft::form::{Expr, Measure, Scope, Shape};
use weft::geometry::{Geometry, Mesh};
use weft::problem::Dirichlet;
use weft::solve::{Constraints, Jacobi, Krylov, KrylovOptions, Method, Preconditioner};
use weft::space::Space;
use weft::sparse::BlockMatrix;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cells {
    /// One pattern of distortion at every size.
    Zigzag,
    /// A smooth map of equal cells.
    Smooth,
}

fn mesh(kind: CellKind, cells: Cells, n: usize) -> Mesh {
    match cells {
        Cells::Zigzag => zigzag_mesh(kind, n),
        Cells::Smooth => unit_mesh(kind, [n; 3])
            .moved(|x| bend(x, kind.dim()))
            .unwrap(),
    }
}

fn smooth(scope: &Scope, dim: usize, component: usize) -> Expr {
    let phase = 0.4 + 0.9 * component as f64;
    let text = match dim {
        2 => format!("sin(1.6*x[0] + 1.1*x[1] + {phase})*exp(0.5*x[1] - 0.3*x[0])"),
        _ => format!("sin(1.3*x[0] + 1.1*x[1] + 0.8*x[2] + {phase})*exp(0.5*x[1] - 0.3*x[2])"),
    };
    scope.expression(&text).unwrap()
}

fn norm(e: &Expr, measure: &Measure) -> f64 {
    integrate(&e.inner(e).over(measure)).unwrap().sqrt()
}

fn is_full(family: VectorFamily) -> bool {
    matches!(
        family,
        VectorFamily::BrezziDouglasMarini | VectorFamily::NedelecSecond
    )
}

fn of_vectors(mesh: &Mesh, family: VectorFamily, k: usize) -> Space {
    Space::of_vectors(shared(mesh), family, k).unwrap()
}

/// The diagonal of a matrix and an estimate of that of the Schur complement.
struct Diagonal(Vec<f64>);

impl Preconditioner for Diagonal {
    fn apply(&self, r: &[f64], z: &mut [f64]) {
        for ((z, r), d) in z.iter_mut().zip(r).zip(&self.0) {
            *z = r / d;
        }
    }
}

/// Errors of the flux, of its divergence and of the potential.
fn mixed(mesh: &Mesh, family: VectorFamily, k: usize) -> [f64; 3] {
    let dim = mesh.space_dim();
    let scope = Scope::new(shared(mesh));
    let u = smooth(&scope, dim, 0);
    let flux = u.grad();
    let s = of_vectors(mesh, family, k);
    let p = Space::discontinuous(mesh, k - 1).unwrap();
    let dx = Measure::cells(mesh).degree(2 * k + 2);
    let ds = Measure::boundary(mesh).degree(2 * k + 3);
    let (sigma, tau, v) = (Expr::trial(&s), Expr::test(&s), Expr::test(&p));
    let m = matrix(&sigma.dot(&tau).over(&dx)).unwrap();
    let b = matrix(&(sigma.div() * &v).over(&dx)).unwrap();
    let mut right = vector(&(tau.dot(&Expr::normal(mesh)) * &u).over(&ds)).unwrap();
    right.extend(vector(&(flux.div() * &v).over(&dx)).unwrap());
    // One matrix of both.
    let (ns, np) = (s.dof_count(), p.dof_count());
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut push = |i: usize, j: usize, value: f64| {
        rows.push(i as u32);
        columns.push(j as u32);
        values.push(value);
    };
    let mut diagonal = vec![0.0; ns + np];
    for i in 0..ns {
        let (cols, row) = m.row(i);
        for (&j, &value) in cols.iter().zip(row) {
            push(i, j as usize, value);
            if i == j as usize {
                diagonal[i] = value;
            }
        }
    }
    for i in 0..np {
        let (cols, row) = b.row(i);
        for (&j, &value) in cols.iter().zip(row) {
            push(ns + i, j as usize, value);
            push(j as usize, ns + i, value);
            diagonal[ns + i] += value * value / diagonal[j as usize];
        }
    }
    let all =
        BlockMatrix::from_triplets(ns + np, ns + np, [1, 1], &rows, &columns, &values).unwrap();
    let options = KrylovOptions {
        tolerance: 1e-9,
        max_iterations: Some(40_000),
        ..KrylovOptions::default()
    };
    let mut x = vec![0.0; ns + np];
    let mut solver = Krylov::new(Method::Minres, options).unwrap();
    solver
        .solve(&all, &Diagonal(diagonal), &right, &mut x)
        .unwrap();
    let sigma = Field::from_values(&s, x[..ns].to_vec()).unwrap().expr();
    let potential = Field::from_values(&p, x[ns..].to_vec()).unwrap().expr();
    let fine = Measure::cells(mesh).degree(2 * k + 4);
    [
        norm(&(&sigma - &flux), &fine),
        norm(&(sigma.div() - flux.div()), &fine),
        norm(&(potential - &u), &fine),
    ]
}

/// Errors of the solution and of its curl, with tangential components prescribed.
fn curl_curl(mesh: &Mesh, family: VectorFamily, k: usize) -> [f64; 2] {
    let dim = mesh.space_dim();
    let scope = Scope::new(shared(mesh));
    let parts = (0..dim).map(|c| smooth(&scope, dim, c)).collect();
    let w = Expr::tensor(Shape::Vector(dim), parts);
    let space = of_vectors(mesh, family, k);
    let dx = Measure::cells(mesh).degree(2 * k + 2);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let mut a = matrix(&(u.curl().inner(&v.curl()) + u.dot(&v)).over(&dx)).unwrap();
    let mut b = vector(&(w.curl().curl() + &w).dot(&v).over(&dx)).unwrap();
    let mut constraints = Constraints::empty(space.node_count(), 1);
    let condition = Dirichlet::on_boundary(&space).value(w.clone()).unwrap();
    condition.apply(&mut constraints).unwrap();
    constraints.apply(&mut a, &mut b).unwrap();
    let options = KrylovOptions {
        tolerance: 1e-11,
        max_iterations: Some(40_000),
        ..KrylovOptions::default()
    };
    let solution = Field::zeros(&space);
    let mut solver = Krylov::new(Method::Cg, options).unwrap();
    let jacobi = Jacobi::new(&a).unwrap();
    solver
        .solve(&a, &jacobi, &b, &mut solution.values_mut())
        .unwrap();
    let off = solution.expr() - &w;
    let fine = Measure::cells(mesh).degree(2 * k + 4);
    let curl = solution.expr().curl() - w.curl();
    [norm(&off, &fine), norm(&curl, &fine)]
}

fn sizes(dim: usize, k: usize) -> [usize; 2] {
    match (dim, k) {
        (2, 1) => [16, 32],
        (2, 2) => [10, 20],
        (2, _) => [6, 12],
        (_, 1) => [6, 12],
        (_, 2) => [3, 6],
        _ => [3, 5],
    }
}

/// Compares rates with those expected; `None` says that theory promises less there.
fn check<const N: usize>(
    what: &str,
    kind: CellKind,
    cells: Cells,
    k: usize,
    expected: [Option<usize>; N],
    errors: impl Fn(&Mesh) -> [f64; N],
) {
    let sizes = sizes(kind.dim(), k);
    let [coarse, fine] = sizes.map(|n| errors(&mesh(kind, cells, n)));
    let ratio = sizes[1] as f64 / sizes[0] as f64;
    for (e, expected) in expected.into_iter().enumerate() {
        let Some(expected) = expected else { continue };
        let rate = (coarse[e] / fine[e]).ln() / ratio.ln();
        println!("{what} {k} on {kind:?} {cells:?}: error {e} rate {rate:.3} of {expected}");
        assert!(
            (rate - expected as f64).abs() < 0.1,
            "{what} {k} on {kind:?} {cells:?}: error {e} has rate {rate:.3}, not {expected}"
        );
    }
}

fn mixed_poisson(kind: CellKind, cells: Cells) {
    for family in families(kind).filter(|f| f.piola() == Piola::Contravariant) {
        for k in DEGREES {
            let loses = kind.is_tensor() && cells == Cells::Zigzag;
            let flux = k + is_full(family) as usize;
            let expected = [Some(flux), (!loses).then_some(k), Some(k)];
            check(family.name(), kind, cells, k, expected, |m| {
                mixed(m, family, k)
            });
        }
    }
}

fn curl_curl_and_mass(kind: CellKind, cells: Cells) {
    for family in families(kind).filter(|f| f.piola() == Piola::Covariant) {
        for k in DEGREES {
            let loses = kind.is_tensor() && cells == Cells::Zigzag;
            let value = k + is_full(family) as usize;
            let expected = [Some(value), (!loses).then_some(k)];
            check(family.name(), kind, cells, k, expected, |m| {
                curl_curl(m, family, k)
            });
        }
    }
}

macro_rules! tests {
    ($($name:ident: $problem:ident, $kind:ident, $cells:ident;)*) => {
        $(#[test] fn $name() { $problem(CellKind::$kind, Cells::$cells); })*
    };
}

tests! {
    mixed_poisson_on_triangles: mixed_poisson, Triangle, Zigzag;
    mixed_poisson_on_quads: mixed_poisson, Quad, Zigzag;
    mixed_poisson_on_smooth_quads: mixed_poisson, Quad, Smooth;
    mixed_poisson_on_tets: mixed_poisson, Tet, Zigzag;
    mixed_poisson_on_smooth_hexes: mixed_poisson, Hex, Smooth;
    curl_curl_on_triangles: curl_curl_and_mass, Triangle, Zigzag;
    curl_curl_on_quads: curl_curl_and_mass, Quad, Zigzag;
    curl_curl_on_smooth_quads: curl_curl_and_mass, Quad, Smooth;
    curl_curl_on_tets: curl_curl_and_mass, Tet, Zigzag;
    curl_curl_on_smooth_hexes: curl_curl_and_mass, Hex, Smooth;
}
