//! Poisson's problem on voxel grids: full rates with hanging faces, at negative coordinates and
//! under a sheared map, and the answers that meshes and grids of the same cells give.

use std::sync::Arc;

use super::common::{Random, assert_close};
use super::exact;
use weft::assemble::integrate;
use weft::field::Field;
use weft::form::{Expr, Measure, Scope, grad};
use weft::geometry::{
    AdaptiveVoxelGrid, Geometry, Grid2, Grid3, Locator, VoxelGrid, VoxelMap, shapes,
};
use weft::problem::{Dirichlet, PreconditionerKind, Solver, solve};
use weft::solve::{KrylovOptions, Method};
use weft::space::Space;

type Vec3 = [f64; 3];

fn cg(tolerance: f64) -> Solver {
    Solver::Krylov {
        method: Method::Cg,
        preconditioner: PreconditionerKind::Jacobi,
        options: KrylovOptions {
            tolerance,
            ..KrylovOptions::default()
        },
    }
}

/// Edges of the body: a sheared box.
const BODY: [Vec3; 3] = [[0.9, -0.3, 0.1], [0.35, 0.8, -0.2], [-0.2, 0.3, 0.9]];
/// The unit box.
const BOX: [Vec3; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Matrix of cells of which the body has `n` along each edge, and the offset that puts lattice
/// point `first` at a corner of the body.
fn lattice(body: [Vec3; 3], n: i32, first: i32) -> ([Vec3; 3], Vec3) {
    let matrix = body.map(|row| row.map(|c| c / f64::from(n)));
    let offset = matrix.map(|row| -f64::from(first) * row.iter().sum::<f64>());
    (matrix, offset)
}

/// The places of a cube of `n`³ cells.
fn cube(n: i32) -> impl Iterator<Item = [i32; 3]> {
    (0..n * n * n).map(move |k| [k / (n * n), k / n % n, k % n])
}

/// The body in `n`³ voxels at negative coordinates.
fn sparse(body: [Vec3; 3], n: i32) -> VoxelGrid {
    let first = -n - 3;
    let (matrix, offset) = lattice(body, n, first);
    let voxels: Vec<[i32; 3]> = cube(n).map(|at| at.map(|c| c + first)).collect();
    VoxelGrid::from_coordinates(&voxels, VoxelMap::affine(matrix, offset).unwrap()).unwrap()
}

/// The body in `n`³ cells, those at one corner cut once along each axis, those at the opposite
/// one twice (`n` is even): faces, edges and vertices hang by one level and by two.
fn hanging(body: [Vec3; 3], n: i32) -> AdaptiveVoxelGrid {
    let first = -4 * (n - 1);
    let (matrix, offset) = lattice(body, 4 * n, first);
    let mut cells = Vec::new();
    for at in cube(n) {
        let level: u8 = match at.map(|c| 2 * c < n) {
            [true, true, true] => 1,
            [false, false, false] => 0,
            _ => 2,
        };
        let size = 1 << level;
        for part in cube(4 / size) {
            let origin = std::array::from_fn(|d| first + 4 * at[d] + size * part[d]);
            cells.push((origin, level));
        }
    }
    let map = VoxelMap::affine(matrix, offset).unwrap();
    AdaptiveVoxelGrid::from_cells(&cells, map).unwrap()
}

/// Errors in L² and of the gradient of Poisson's problem with a smooth solution.
fn errors<G: Geometry + Clone + 'static>(geometry: &G, degree: usize) -> [f64; 2] {
    let w = exact(&Scope::new(Arc::new(geometry.clone())), 3, 0);
    let space = Space::lagrange(geometry, degree).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let cells = Measure::cells(geometry).degree(2 * degree + 2);
    let load = (-w.grad().div() * &v).over(&cells);
    let held = [Dirichlet::on_boundary(&space).value(w.clone()).unwrap()];
    let a = grad(&u).inner(&grad(&v)).dx(geometry);
    let off = solve(&a, &load, &held, cg(1e-12)).unwrap().expr() - &w;
    let norm = |e: &Expr| integrate(&e.inner(e).over(&cells)).unwrap().sqrt();
    [norm(&off), norm(&off.grad())]
}

fn check_rates<G: Geometry + Clone + 'static>(name: &str, grid: impl Fn(i32) -> G) {
    for degree in 1..=3 {
        let n = [4, 4, 2][degree - 1];
        let [coarse, fine] = [n, 2 * n].map(|n| errors(&grid(n), degree));
        let rate = |k: usize| (coarse[k] / fine[k]).log2();
        let (l2, h1) = (rate(0), rate(1));
        println!("{name}, degree {degree}: L² rate {l2:.3}, H¹ rate {h1:.3}, errors {fine:?}");
        assert!(l2 > degree as f64 + 0.9, "{name}, degree {degree}: L² {l2}");
        assert!(h1 > degree as f64 - 0.1, "{name}, degree {degree}: H¹ {h1}");
    }
}

#[test]
fn poisson_on_voxels() {
    check_rates("voxels", |n| sparse(BOX, n));
    check_rates("sheared voxels", |n| sparse(BODY, n));
}

#[test]
fn poisson_on_hanging_voxels() {
    check_rates("hanging", |n| hanging(BOX, n));
    check_rates("sheared hanging", |n| hanging(BODY, n));
}

/// The equation −ν Δu = 1 with ν = 2 and values on some sides.
fn diffusion<G: Geometry + Clone + 'static>(
    geometry: &G,
    degree: usize,
    sides: &[&str],
    value: f64,
) -> Field {
    let space = Space::lagrange(geometry, degree).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let held: Vec<Dirichlet> = sides
        .iter()
        .map(|side| Dirichlet::on(&space, side).unwrap().value(value).unwrap())
        .collect();
    let a = (2.0 * grad(&u).inner(&grad(&v))).dx(geometry);
    solve(&a, &v.dx(geometry), &held, cg(1e-13)).unwrap()
}

/// Values at points, and the flux out through a side.
fn answers<G: Geometry + Clone + 'static>(
    geometry: &G,
    u: &Field,
    points: &[Vec3],
    side: &str,
) -> Vec<f64> {
    let locator = Locator::new(geometry);
    let value = |&x: &Vec3| {
        let at = locator.find(x, 1e-12).unwrap();
        u.evaluate(at.cell, at.xi).unwrap().value[0]
    };
    let flux = u.expr().grad().dot(&Expr::normal(geometry));
    let mut all: Vec<f64> = points.iter().map(value).collect();
    all.push(integrate(&flux.ds(geometry, side)).unwrap());
    all
}

#[test]
fn diffusion_agrees_on_mesh_grid_and_voxels() {
    let mut random = Random(23);
    // The same cells as a mesh, a grid, voxels and adaptive voxels: a box of 1 × ½ × 2, held at
    // all faces but those across y.
    let counts = [4, 2, 8];
    let size = [1.0, 0.5, 2.0];
    let points: Vec<Vec3> = (0..60).map(|_| size.map(|s| s * random.unit())).collect();
    let first = [-7, 3, -5];
    let voxels: Vec<[i32; 3]> = (0..64)
        .map(|n| [n / 16, n / 8 % 2, n % 8])
        .map(|at| std::array::from_fn(|d| at[d] + first[d]))
        .collect();
    let offset = first.map(|c| -0.25 * f64::from(c));
    let mesh = shapes::box_hexes(counts, [0.0; 3], size).unwrap();
    let grid = Grid3::new(counts, [0.0; 3], size).unwrap();
    let map = VoxelMap::uniform(0.25)
        .unwrap()
        .with_offset(offset)
        .unwrap();
    let sparse_box = VoxelGrid::from_coordinates(&voxels, map).unwrap();
    let adaptive = AdaptiveVoxelGrid::uniform(&voxels, 0, map).unwrap();
    let sides = ["left", "right", "bottom", "top"];
    for degree in 1..=3 {
        fn run<G: Geometry + Clone + 'static>(
            geometry: &G,
            degree: usize,
            sides: &[&str],
            points: &[Vec3],
        ) -> Vec<f64> {
            let u = diffusion(geometry, degree, sides, 0.0);
            answers(geometry, &u, points, "top")
        }
        let on_mesh = run(&mesh, degree, &sides, &points);
        assert!(on_mesh.iter().any(|u| *u > 0.01));
        let others = [
            ("grid", run(&grid, degree, &sides, &points)),
            ("voxels", run(&sparse_box, degree, &sides, &points)),
            ("adaptive voxels", run(&adaptive, degree, &sides, &points)),
        ];
        for (name, found) in others {
            assert_close(&found, &on_mesh, 1e-10, &format!("{name}, degree {degree}"));
        }
    }

    // Held at 5 across x, the solution is 5 + x(1 − x)/(2ν), which degree 2 has exactly on any
    // cells, hanging ones included.
    fn check<G: Geometry + Clone + 'static>(name: &str, geometry: &G, random: &mut Random) {
        let dim = geometry.space_dim();
        let points: Vec<Vec3> = (0..40)
            .map(|_| std::array::from_fn(|d| if d < dim { random.unit() } else { 0.0 }))
            .collect();
        let u = diffusion(geometry, 2, &["left", "right"], 5.0);
        let found = answers(geometry, &u, &points, "left");
        let mut wanted: Vec<f64> = points
            .iter()
            .map(|x| 5.0 + x[0] * (1.0 - x[0]) / 4.0)
            .collect();
        wanted.push(-0.25);
        assert_close(&found, &wanted, 1e-10, name);
    }
    let r = &mut random;
    let [low, high] = [[0.0; 2], [1.0; 2]];
    let quads = shapes::rectangle_quads([5, 4], low, high).unwrap();
    let triangles = shapes::rectangle_triangles([5, 4], low, high).unwrap();
    let hexes = shapes::box_hexes([4; 3], [0.0; 3], [1.0; 3]).unwrap();
    let tets = shapes::box_tets([3; 3], [0.0; 3], [1.0; 3]).unwrap();
    check("triangles", &triangles, r);
    check("quads", &quads, r);
    check("grid 2", &Grid2::unit([5, 4]).unwrap(), r);
    check("tets", &tets, r);
    check("hexes", &hexes, r);
    check("grid 3", &Grid3::unit([4; 3]).unwrap(), r);
    check("voxels", &sparse(BOX, 4), r);
    check("hanging voxels", &hanging(BOX, 2), r);
}
