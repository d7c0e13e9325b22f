//! Values of expressions at particles.

use crate::common::*;
use crate::*;
use weft::assemble::PointPlan;
use weft::field::Field;
use weft::form::{ParticleData, Shape};
use weft::geometry::{Grid2, locate};
use weft::particle::Half;
use weft::space::Space;

#[test]
fn fields_and_gradients_are_those_of_the_field() {
    for case in all_cases() {
        let mesh = &case.mesh;
        let (dim, cells) = (mesh.space_dim(), mesh.topology().cell_count());
        let mut random = Random(31);
        let x: Vec<[f64; 3]> = (0..150)
            .map(|_| frame_at(mesh, random.below(cells), random.point(mesh.cell_kind())).position)
            .collect();
        let particles = cloud_on(mesh, &x, &vec![1.0; x.len()]);
        for degree in [1, 2, 3] {
            let space = Space::lagrange(mesh, degree).unwrap().vector(2).unwrap();
            let f = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
            let mut value = PointPlan::on_particles(&f.expr(), &particles).unwrap();
            let mut slope = PointPlan::on_particles(&f.expr().grad(), &particles).unwrap();
            let mut values = vec![0.0; value.len()];
            let mut slopes = vec![0.0; slope.len()];
            value.evaluate(&mut values).unwrap();
            slope.evaluate(&mut slopes).unwrap();
            let samples = particles.samples();
            let (mut plain, mut plain_slopes) = (values.clone(), slopes.clone());
            for cell in 0..cells {
                for s in samples.in_cell(cell) {
                    let p = samples.particles()[s] as usize;
                    let at = f.evaluate(cell, samples.xi()[s]).unwrap();
                    plain[2 * p..2 * p + 2].copy_from_slice(&at.value);
                    for c in 0..2 {
                        let to = &mut plain_slopes[(2 * p + c) * dim..][..dim];
                        to.copy_from_slice(&at.gradient[c][..dim]);
                    }
                }
            }
            assert_close(&values, &plain, 1e-12, case.name);
            assert_close(&slopes, &plain_slopes, 1e-11, case.name);
        }
    }
}

#[test]
fn particles_left_out_keep_their_values() {
    let grid = Grid2::unit([3, 3]).unwrap();
    let x = [
        [0.5, 0.5, 0.0],
        [f64::NAN, 0.0, 0.0],
        [0.2, 0.3, 0.0],
        [7.0, 0.0, 0.0],
    ];
    let at = Expr::position(&grid);
    let particles = cloud_on(&grid, &x, &[1.0; 4]);
    let mut plan = PointPlan::on_particles(&at, &particles).unwrap();
    let mut out = [-1.0; 8];
    plan.evaluate(&mut out).unwrap();
    assert_close(
        &out,
        &[0.5, 0.5, -1.0, -1.0, 0.2, 0.3, -1.0, -1.0],
        1e-15,
        "positions",
    );
    assert!(plan.evaluate(&mut out[..7]).is_err());
    // The plan follows the cloud.
    particles.rebuild(&Cloud::new(&x[2..3], &[1.0])).unwrap();
    assert_eq!(plan.len(), 2);
    plan.evaluate(&mut out[..2]).unwrap();
    assert_close(&out[..2], &[0.2, 0.3], 1e-15, "one");
    particles.rebuild(&Cloud::new(&[], &[])).unwrap();
    assert!(plan.is_empty());
    plan.evaluate(&mut []).unwrap();
}

#[test]
fn particle_data_mixes_with_fields() {
    let grid = Grid2::unit([4, 4]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let mut random = Random(33);
    let f = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
    let n = 40;
    let x = points(&mut random, n, 2);
    let particles = cloud_on(&grid, &x, &vec![1.0; n]);
    let a = ParticleData::zeros("a", Shape::Matrix(2, 2), n);
    a.set(&random.numbers(4 * n)).unwrap();
    let e = Expr::from(&a).dot(&f.expr().grad());
    let mut plan = PointPlan::on_particles(&e, &particles).unwrap();
    let mut out = vec![0.0; 2 * n];
    plan.evaluate(&mut out).unwrap();
    let plain: Vec<f64> = (0..n)
        .flat_map(|p| {
            let (cell, xi) = locate(&grid, x[p], 0.0).unwrap();
            let [g0, g1, _] = f.evaluate(cell, xi).unwrap().gradient[0];
            let a = a.values();
            [0, 2].map(|r| a[4 * p + r] * g0 + a[4 * p + r + 1] * g1)
        })
        .collect();
    assert_close(&out, &plain, 1e-12, "matrix times gradient");
}

#[test]
fn spread_particles_take_the_mean() {
    let grid = Grid2::unit([4, 4]).unwrap();
    let mut random = Random(34);
    let n = 60;
    let x: Vec<[f64; 3]> = (0..n)
        .map(|_| [random.between(0.1, 0.9), random.between(0.1, 0.9), 0.0])
        .collect();
    let particles = ParticleQuadrature::new(&grid);
    let w = vec![3.0; n];
    let cloud = Cloud {
        half_widths: Some(Half::Same(0.1)),
        ..Cloud::new(&x, &w)
    };
    let report = particles.rebuild(&cloud).unwrap();
    assert!(report.samples > n);
    let mut plan = PointPlan::on_particles(&Expr::position(&grid), &particles).unwrap();
    let mut out = vec![0.0; 2 * n];
    plan.evaluate(&mut out).unwrap();
    let flat: Vec<f64> = x.iter().flat_map(|x| [x[0], x[1]]).collect();
    assert_close(&out, &flat, 1e-14, "the mean position is the particle's");
    // Adjoint: Σ w (mean of f at p) = ∫ f.
    let e = Expr::position(&grid).at(0);
    let sum: f64 = flat.iter().step_by(2).map(|x| 3.0 * x).sum();
    assert!((integral(&e, &grid, &particles) - sum).abs() < 1e-12);
}

#[test]
fn test_functions_have_no_values() {
    let grid = Grid2::unit([1, 1]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let particles = ParticleQuadrature::new(&grid);
    assert!(PointPlan::on_particles(&Expr::test(&space), &particles).is_err());
}
