//! Problems on grids whose cells meet in unequal sizes: hanging nodes in spaces, matrices,
//! side integrals and solutions.
#![cfg(not(loom))]

use std::sync::Arc;
use weft::assemble::{integrate, interpolate, matrix, vector};
use weft::field::Field;
use weft::form::{Expr, Form, Measure, Scope, grad};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grading, Grid3, Mark, VoxelMap};
use weft::problem::{Dirichlet, PreconditionerKind, Solver, solve};
use weft::solve::{KrylovOptions, Method};
use weft::space::Space;

const CORNER: [f64; 3] = [-0.5, 0.0, 0.25];

/// A unit cube of `n`³ coarse cells, those near one corner refined, then those nearer again:
/// faces and edges hang, with jumps of one level (graded) or of two.
fn grid(n: i32, grading: Grading) -> AdaptiveVoxelGrid {
    let coarse: Vec<[i32; 3]> = (0..n * n * n)
        .map(|k| [k / (n * n) - n / 2, k / n % n, k % n])
        .collect();
    let size = 1.0 / (4 * n) as f64;
    let lower = (n / 2 * 4) as f64 * size;
    let map = VoxelMap::uniform(size)
        .unwrap()
        .with_offset([CORNER[0] + lower, CORNER[1], CORNER[2]])
        .unwrap();
    let start = AdaptiveVoxelGrid::uniform(&coarse, 2, map)
        .unwrap()
        .graded(grading)
        .unwrap();
    [0.55, 0.3].iter().fold(start, |grid, &reach| {
        let nodes = grid.map();
        let near = |cell: usize| {
            let x = nodes.mean(grid.topology().cell_vertices(cell));
            (0..3).all(|d| x[d] - CORNER[d] < reach)
        };
        let marks: Vec<Mark> = (0..grid.cell_count())
            .map(|c| {
                if near(c) && grid.cell_level(c) > 0 {
                    Mark::Refine
                } else {
                    Mark::Keep
                }
            })
            .collect();
        grid.adapted(&marks).unwrap()
    })
}

fn text(grid: &AdaptiveVoxelGrid, source: &str) -> Expr {
    Scope::new(Arc::new(grid.clone()))
        .expression(source)
        .unwrap()
}

fn tight() -> Solver {
    Solver::Krylov {
        method: Method::Cg,
        preconditioner: PreconditionerKind::Jacobi,
        options: KrylovOptions {
            tolerance: 1e-12,
            ..KrylovOptions::default()
        },
    }
}

fn norm<G: Geometry + Clone + 'static>(e: &Expr, geometry: &G) -> f64 {
    integrate(&e.inner(e).over(&Measure::cells(geometry).degree(8)))
        .unwrap()
        .sqrt()
}

/// Poisson's problem with a known solution; the errors in L² and H¹.
fn poisson(grid: &AdaptiveVoxelGrid, degree: usize, exact: &str) -> (Field, f64, f64) {
    let exact = text(grid, exact);
    let space = Space::lagrange(grid, degree).unwrap();
    assert!(!space.hanging().is_empty());
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = grad(&u).inner(&grad(&v)).dx(grid);
    // A harmonic solution leaves the zero form.
    let l: Form = (-exact.grad().div() * &v).dx(grid);
    let held = [Dirichlet::on_boundary(&space).value(exact.clone()).unwrap()];
    let u = solve(&a, &l, &held, tight()).unwrap();
    let e = u.expr() - &exact;
    let errors = (norm(&e, grid), norm(&e.grad(), grid));
    (u, errors.0, errors.1)
}

#[test]
fn poisson_converges_with_full_rates() {
    for degree in 1..=3 {
        let sizes = if degree == 3 { [4, 6] } else { [4, 8] };
        let finer = (sizes[1] as f64 / sizes[0] as f64).ln();
        let run = |n| {
            poisson(
                &grid(n, Grading::Face),
                degree,
                "sin(2*x[0])*cos(x[1])*exp(x[2])",
            )
        };
        let [(_, l0, h0), (_, l1, h1)] = sizes.map(run);
        let (l, h) = ((l0 / l1).ln() / finer, (h0 / h1).ln() / finer);
        assert!(l > degree as f64 + 0.9, "degree {degree}: L² rate {l}");
        assert!(h > degree as f64 - 0.1, "degree {degree}: H¹ rate {h}");
    }
}

#[test]
fn polynomials_are_exact_across_every_junction() {
    let solutions = [
        "1 + x[0] - 2*x[1] + 3*x[2]",
        "x[0]^2 + x[0]*x[1]*x[2] - x[2]^2",
        "x[0]^3 - x[1]^2*x[2]",
    ];
    for grading in [Grading::None, Grading::Face, Grading::Vertex] {
        let grid = grid(2, grading);
        for degree in 1..=3 {
            let (u, l2, h1) = poisson(&grid, degree, solutions[degree - 1]);
            assert!(
                l2 < 1e-10 && h1 < 1e-9,
                "{grading:?} degree {degree}: {l2:e} {h1:e}"
            );
            // Continuous: no jump on any side between cells.
            let jump = u.expr().jump();
            let sides = Measure::interior(&grid).degree(2 * degree);
            let total = integrate(&(&jump * &jump).over(&sides)).unwrap();
            assert!(total < 1e-20, "{grading:?} degree {degree}: {total:e}");
        }
    }
}

/// Cells of every size from 1 to 16 in one place, some of the largest missing and with `gaps` some
/// of others: faces and edges hang by up to four levels, under a rotated and sheared map.
fn ragged(seed: u64, gaps: bool) -> AdaptiveVoxelGrid {
    let mut state = seed;
    let mut one_in = |n: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33).is_multiple_of(n)
    };
    let mut cells: Vec<([i32; 3], u8)> = Vec::new();
    let mut open: Vec<([i32; 3], u8)> = (0..12)
        .map(|n| [n / 4 - 2, n / 2 % 2 - 1, n % 2 - 1].map(|c| 16 * c))
        .map(|origin| (origin, 4))
        .collect();
    while let Some((origin, level)) = open.pop() {
        match level {
            0 => cells.push((origin, 0)),
            _ if (gaps || level == 4) && one_in(8) => {}
            _ if one_in(3) && cells.len() < 120 => open.extend((0..8).map(|n| {
                let step = [n / 4, n / 2 % 2, n % 2].map(|c| c << (level - 1));
                (std::array::from_fn(|d| origin[d] + step[d]), level - 1)
            })),
            _ => cells.push((origin, level)),
        }
    }
    let matrix = [
        [0.04, -0.03, 0.006],
        [0.03, 0.07, -0.01],
        [0.005, 0.015, 0.06],
    ];
    let map = VoxelMap::affine(matrix, [-3.0, 2.0, 0.5]).unwrap();
    AdaptiveVoxelGrid::from_cells(&cells, map).unwrap()
}

#[test]
fn a_linear_field_is_exact_across_every_junction() {
    let slopes = [3.0, -2.0, 0.5];
    let value = |x: [f64; 3]| 1.0 + (0..3).map(|d| slopes[d] * x[d]).sum::<f64>();
    let mut jumps = [0; 4];
    for seed in 1..=4 {
        let gaps = seed % 2 == 0;
        let grid = ragged(seed, gaps);
        let topology = grid.topology();
        let linear = text(&grid, "1 + 3*x[0] - 2*x[1] + 0.5*x[2]");
        for degree in 1..=3 {
            let space = Space::lagrange(&grid, degree).unwrap();
            let set = interpolate(&linear, &space).unwrap();
            let mut fields = vec![(set, 1e-12)];
            // Without gaps every boundary side is a whole face, so that its nodes hold the
            // solution on all of it.
            if !gaps {
                let (u, v) = (Expr::trial(&space), Expr::test(&space));
                let held = Dirichlet::on_boundary(&space).value(linear.clone());
                let a = grad(&u).inner(&grad(&v)).dx(&grid);
                let load = (0.0 * &v).dx(&grid);
                fields.push((solve(&a, &load, &[held.unwrap()], tight()).unwrap(), 1e-9));
            }
            for side in 0..topology.side_count() {
                let maps = grid.side_maps(&topology, side);
                let cells = topology.side_cells(side).map(|c| c as usize);
                let levels = cells.map(|c| grid.cell_level(c));
                if levels[0] == levels[1] {
                    continue;
                }
                jumps[usize::from(levels[0].abs_diff(levels[1])) - 1] += 1;
                for point in [[0.0; 3], [1.0, 0.0, 0.0], [0.3, 0.6, 0.0], [1.0, 1.0, 0.0]] {
                    for (cell, map) in cells.into_iter().zip(&maps) {
                        let xi = map.apply(point);
                        let wanted = value(weft::geometry::frame_at(&grid, cell, xi).position);
                        for (field, eps) in &fields {
                            let found = field.evaluate(cell, xi).unwrap();
                            let off = (found.value[0] - wanted).abs();
                            assert!(off < *eps, "degree {degree} side {side}: {off:e}");
                            for d in 0..3 {
                                let off = (found.gradient[0][d] - slopes[d]).abs();
                                assert!(off < 100.0 * eps, "degree {degree} side {side}: {off:e}");
                            }
                        }
                    }
                }
            }
        }
    }
    // Every size met every other.
    assert!(jumps.iter().all(|&n| n > 0), "{jumps:?}");
}

#[test]
fn random_functions_are_continuous_and_side_integrals_agree() {
    let grid = grid(2, Grading::None);
    for degree in 1..=3 {
        let space = Space::lagrange(&grid, degree).unwrap();
        let field = Field::zeros(&space);
        let mut state = 1u64;
        for value in field.values_mut().iter_mut() {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            *value = (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5;
        }
        let u = field.expr();
        let interior = Measure::interior(&grid).degree(2 * degree);
        let jump = integrate(&(u.jump() * u.jump()).over(&interior)).unwrap();
        let size = integrate(&(u.inside() * u.inside()).over(&interior)).unwrap();
        assert!(jump < 1e-24 * size.max(1.0), "degree {degree}: {jump:e}");
        // ∫ ∂u/∂x over all cells is the flux through the boundary: gradients of hanging
        // functions are the right ones too.
        let n = Expr::normal(&grid);
        let boundary = Measure::boundary(&grid).degree(2 * degree);
        for d in 0..3 {
            let inside = integrate(&u.grad().at(d).over(&Measure::cells(&grid))).unwrap();
            let flux = integrate(&(&u * n.at(d)).over(&boundary)).unwrap();
            assert!((inside - flux).abs() < 1e-12, "degree {degree} axis {d}");
        }
        // And by parts, cell by cell: ∫ grad u · w + u div w = Σ over all sides of jumps · w·n,
        // with every side counted once, parts of large faces included.
        let w = text(&grid, "[x[1], x[2], x[0]*x[1]]");
        let volume = integrate(&u.grad().dot(&w).over(&Measure::cells(&grid).degree(6))).unwrap();
        let flux = integrate(&(&u * w.dot(&n)).over(&Measure::boundary(&grid).degree(8))).unwrap();
        assert!((volume - flux).abs() < 1e-12);
    }
}

#[test]
fn matrices_are_symmetric_and_see_rigid_motions() {
    let grid = grid(2, Grading::Face);
    let space = Space::lagrange(&grid, 2).unwrap().vector(3).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let strain = |w: &Expr| grad(w).sym();
    let k = matrix(&strain(&u).inner(&strain(&v)).dx(&grid)).unwrap();
    assert!(k.is_symmetric(1e-14));
    for motion in ["[1, 2, 3]", "[-x[1], x[0], 0]", "[0, -x[2], x[1]]"] {
        let field = interpolate(&text(&grid, motion), &space).unwrap();
        let mut y = vec![0.0; space.dof_count()];
        k.multiply(&field.values(), &mut y).unwrap();
        let largest = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!(largest < 1e-12, "{motion}: {largest:e}");
    }
    // The load of a constant adds up to the volume.
    let scalar = Space::lagrange(&grid, 2).unwrap();
    let load = vector(&Expr::test(&scalar).dx(&grid)).unwrap();
    assert!((load.iter().sum::<f64>() - 1.0).abs() < 1e-13);
}

#[test]
fn a_uniform_grid_gives_what_a_lattice_gives() {
    let n = 4;
    let cells: Vec<[i32; 3]> = (0..n * n * n)
        .map(|k| [k / (n * n), k / n % n, k % n])
        .collect();
    let map = VoxelMap::uniform(1.0 / n as f64).unwrap();
    let voxels = AdaptiveVoxelGrid::uniform(&cells, 0, map).unwrap();
    let lattice = Grid3::unit([n as usize; 3]).unwrap();
    fn energy<G: Geometry + Clone + 'static>(geometry: &G) -> f64 {
        let space = Space::lagrange(geometry, 2).unwrap();
        assert!(space.hanging().is_empty());
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let held = [Dirichlet::on_boundary(&space)];
        let a = grad(&u).inner(&grad(&v)).dx(geometry);
        let u = solve(&a, &v.dx(geometry), &held, tight()).unwrap();
        integrate(&u.expr().dx(geometry)).unwrap()
    }
    assert!((energy(&voxels) - energy(&lattice)).abs() < 1e-13);
}
