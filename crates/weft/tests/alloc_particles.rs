//! Counts every heap allocation: rebuilding a cloud, assembling over it and evaluating at it make
//! none once sizes have stopped growing.
#![cfg(not(loom))]

#[path = "common/counting.rs"]
mod counting;

use weft::assemble::{MatrixPlan, PointPlan, ScalarPlan, VectorPlan};
use weft::field::Field;
use weft::form::{Expr, Measure, ParticleData, Shape, dot, grad};
use weft::geometry::{Geometry, Grid3, VoxelGrid, VoxelMap, shapes};
use weft::particle::{Cloud, Half, ParticleQuadrature, Sample};
use weft::space::Space;

fn position(k: usize, round: usize) -> [f64; 3] {
    // Golden ratios fill the cube evenly; the drift takes particles from cell to cell.
    let t = k as f64 + 0.37 * round as f64;
    [0.754_877_666, 0.569_840_29, 0.430_159_71].map(|a| (a * t).fract())
}

/// Allocations of a hundred steps after the first few.
fn steady<G: Geometry + Clone + 'static>(geometry: &G, half_widths: Option<Half>) -> usize {
    let n = 800;
    let space = Space::lagrange(geometry, 1).unwrap();
    let vectors = space.vector(3).unwrap();
    let (u, v, q) = (
        Expr::trial(&space),
        Expr::test(&space),
        Expr::test(&vectors),
    );
    let f = Field::zeros(&space);
    let momentum = ParticleData::zeros("p", Shape::Vector(3), n);
    let particles = ParticleQuadrature::new(geometry);
    let m = Measure::cells(geometry).on_particles(&particles);
    let mut matrices =
        MatrixPlan::new(&(dot(&grad(&u), &grad(&v)) + f.expr() * &u * &v).over(&m)).unwrap();
    let mut vectors = VectorPlan::new(&dot(&Expr::from(&momentum), &q).over(&m)).unwrap();
    let mut scalars = ScalarPlan::new(&f.expr().over(&m)).unwrap();
    let mut values = PointPlan::on_particles(&grad(&f.expr()), &particles).unwrap();
    let mut slopes = PointPlan::position_gradient(&f.expr(), &particles).unwrap();
    let mut matrix = matrices.matrix();
    let mut vector = vec![0.0; vectors.test_space().dof_count()];
    let (mut x, w) = (vec![[0.0; 3]; n], vec![1.0; n]);
    let mut out = vec![0.0; 3 * n];
    let mut run = |round: usize| {
        for (k, x) in x.iter_mut().enumerate() {
            *x = position(k, round);
        }
        let cloud = Cloud {
            half_widths,
            ..Cloud::new(&x, &w)
        };
        let report = particles.rebuild(&cloud).unwrap();
        assert_eq!(report.inside, n);
        f.values_mut().fill(round as f64);
        momentum.values_mut().fill(round as f64);
        matrices.assemble(&mut matrix).unwrap();
        vectors.assemble(&mut vector).unwrap();
        assert!(scalars.evaluate().unwrap().is_finite());
        values.evaluate(&mut out).unwrap();
        slopes.evaluate(&mut out).unwrap();
    };
    // Samples of extended particles vary in number: see the largest one first.
    (0..100).for_each(&mut run);
    let before = counting::calls();
    (0..100).for_each(&mut run);
    counting::calls() - before
}

/// Allocations of a hundred sortings of given samples after the first few.
fn listed() -> usize {
    let grid = Grid3::unit([4; 3]).unwrap();
    let particles = ParticleQuadrature::new(&grid);
    let samples: Vec<Sample> = (0..500)
        .map(|k| Sample {
            particle: k / 2,
            cell: k * 7 % 64,
            xi: [0.5; 3],
            share: 0.5,
        })
        .collect();
    let w = vec![1.0; 250];
    let run = |_| {
        let report = particles.rebuild_from_samples(&samples, &w).unwrap();
        assert_eq!(report.samples, 500);
    };
    (0..100).for_each(run);
    let before = counting::calls();
    (0..100).for_each(run);
    counting::calls() - before
}

/// Allocations of a hundred assemblies with functions of particles after the first.
fn functions() -> usize {
    let n = 500;
    let grid = Grid3::unit([4; 3]).unwrap();
    let particles = ParticleQuadrature::new(&grid);
    let x: Vec<[f64; 3]> = (0..n).map(|k| position(k, 0)).collect();
    particles.rebuild(&Cloud::new(&x, &vec![1.0; n])).unwrap();
    let stress = Space::particles(&particles).unwrap().symmetric(3).unwrap();
    let velocity = Space::lagrange(&grid, 1).unwrap().vector(3).unwrap();
    let on = Measure::cells(&grid).on_particles(&particles);
    let f = Field::zeros(&stress);
    let (tau, u) = (Expr::test(&stress), Expr::trial(&velocity));
    let v = Expr::test(&velocity);
    let mut matrices = MatrixPlan::new(&tau.inner(&grad(&u)).over(&on)).unwrap();
    let mut vectors = VectorPlan::new(&f.expr().inner(&grad(&v)).over(&on)).unwrap();
    let mut values = PointPlan::on_particles(&f.expr(), &particles).unwrap();
    let mut matrix = matrices.matrix();
    let mut vector = vec![0.0; velocity.dof_count()];
    let mut out = vec![0.0; 9 * n];
    let mut run = |round: usize| {
        f.values_mut().fill(round as f64);
        matrices.assemble(&mut matrix).unwrap();
        vectors.assemble(&mut vector).unwrap();
        values.evaluate(&mut out).unwrap();
    };
    run(0);
    let before = counting::calls();
    (0..100).for_each(&mut run);
    counting::calls() - before
}

// One test: threads of a pool that ends may allocate while another test counts.
#[test]
fn stepping_allocates_nothing() {
    let grid = Grid3::unit([6, 5, 4]).unwrap();
    let mesh = shapes::box_tets([3, 3, 3], [0.0; 3], [1.0; 3]).unwrap();
    let all: Vec<[i32; 3]> = (0..64).map(|k| [k / 16, k / 4 % 4, k % 4]).collect();
    let voxels = VoxelGrid::from_coordinates(&all, VoxelMap::uniform(0.25).unwrap()).unwrap();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .start_handler(|_| counting::watch())
            .build()
            .unwrap();
        pool.install(|| {
            assert_eq!(steady(&grid, None), 0, "grid, {threads} threads");
            assert_eq!(steady(&mesh, None), 0, "mesh, {threads} threads");
            assert_eq!(steady(&voxels, None), 0, "voxels, {threads} threads");
            let half = Some(Half::Same(0.05));
            assert_eq!(steady(&grid, half), 0, "extended, {threads} threads");
            assert_eq!(steady(&voxels, half), 0, "extended, {threads} threads");
            assert_eq!(listed(), 0, "listed, {threads} threads");
            assert_eq!(functions(), 0, "functions, {threads} threads");
        });
    }
}
