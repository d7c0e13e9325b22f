//! Derivatives of sums over particles with respect to positions, against differences.

use crate::common::*;
use crate::*;
use weft::assemble::{PointPlan, ScalarPlan};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{ParticleData, dot};
use weft::geometry::Grid2;
use weft::particle::Half;
use weft::space::Space;

/// Central differences of the functional by each coordinate of each particle.
fn differences(
    plan: &mut ScalarPlan,
    particles: &ParticleQuadrature,
    x: &[[f64; 3]],
    w: &[f64],
    half_widths: Option<Half>,
    dim: usize,
) -> Vec<f64> {
    let step = 1e-6;
    let mut value = |x: &[[f64; 3]]| {
        let cloud = Cloud {
            half_widths,
            ..Cloud::new(x, w)
        };
        let report = particles.rebuild(&cloud).unwrap();
        assert_eq!(report.inside, x.len());
        plan.evaluate().unwrap()
    };
    let mut out = Vec::new();
    for p in 0..x.len() {
        for d in 0..dim {
            let mut moved = x.to_vec();
            moved[p][d] = x[p][d] + step;
            let up = value(&moved);
            moved[p][d] = x[p][d] - step;
            out.push((up - value(&moved)) / (2.0 * step));
        }
    }
    value(x);
    out
}

#[test]
fn the_position_gradient_is_that_of_differences() {
    for kind in CellKind::CELLS {
        let dim = kind.dim();
        let mesh = unit_mesh(kind, [3, 2, 2]).moved(|x| bend(x, dim)).unwrap();
        let mut random = Random(41);
        let cells = mesh.topology().cell_count();
        let n = 20;
        // Well inside the cells, so that a difference does not cross a border.
        let x: Vec<[f64; 3]> = (0..n)
            .map(|_| {
                let (xi, centre) = (random.point(kind), kind.center());
                let inner = std::array::from_fn(|d| 0.2 * centre[d] + 0.8 * xi[d]);
                frame_at(&mesh, random.below(cells), inner).position
            })
            .collect();
        let w = volumes(&mut random, n);
        let particles = cloud_on(&mesh, &x, &w);
        let space = Space::lagrange(&mesh, 2).unwrap();
        let f = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
        let vectors = space.vector(dim).unwrap();
        let g = Field::from_values(&vectors, random.numbers(vectors.dof_count())).unwrap();
        let q = ParticleData::scalar("q", &volumes(&mut random, n));
        let at = Expr::position(&mesh);
        let e = Expr::from(&q) * f.expr() * f.expr() + dot(&g.expr(), &at) * at.at(0);
        let mut functional = ScalarPlan::new(&e.over(&over(&mesh, &particles))).unwrap();
        let expected = differences(&mut functional, &particles, &x, &w, None, dim);
        let mut plan = PointPlan::position_gradient(&e, &particles).unwrap();
        let mut out = vec![0.0; plan.len()];
        plan.evaluate(&mut out).unwrap();
        assert_close(&out, &expected, 1e-7, &format!("{kind:?}"));

        // The same by hand: the weight times the gradient at the particle.
        let mut slopes = vec![0.0; out.len()];
        let mut slope = PointPlan::on_particles(&e.grad(), &particles).unwrap();
        slope.evaluate(&mut slopes).unwrap();
        for (p, row) in slopes.chunks_exact_mut(dim).enumerate() {
            row.iter_mut().for_each(|s| *s *= w[p]);
        }
        assert_close(&slopes, &out, 1e-14, "weighted gradients");
    }
}

#[test]
fn spread_particles_too() {
    let grid = Grid2::unit([4, 4]).unwrap();
    let mut random = Random(42);
    let n = 25;
    // Faces away from the borders of cells, where the second derivative of the mean jumps.
    let smooth = |c: f64| {
        let faces = [c - 0.1, c + 0.1].map(|f| 4.0 * f);
        faces.iter().all(|f| (f - f.round()).abs() > 1e-3)
    };
    let coordinate = |random: &mut Random| {
        let mut all = std::iter::repeat_with(|| random.between(0.15, 0.85));
        all.find(|&c| smooth(c)).unwrap()
    };
    let x: Vec<[f64; 3]> = (0..n)
        .map(|_| [coordinate(&mut random), coordinate(&mut random), 0.0])
        .collect();
    let w = volumes(&mut random, n);
    let half = Some(Half::Same(0.1));
    let particles = ParticleQuadrature::new(&grid);
    let space = Space::lagrange(&grid, 1).unwrap();
    let f = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
    let e = f.expr();
    let mut functional = ScalarPlan::new(&e.over(&over(&grid, &particles))).unwrap();
    let expected = differences(&mut functional, &particles, &x, &w, half, 2);
    let mut plan = PointPlan::position_gradient(&e, &particles).unwrap();
    let mut out = vec![0.0; plan.len()];
    plan.evaluate(&mut out).unwrap();
    assert_close(&out, &expected, 1e-7, "mean gradient");
}

#[test]
fn constants_and_faults() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let particles = cloud_on(&grid, &[[0.3, 0.3, 0.0]], &[2.0]);
    let mut plan = PointPlan::position_gradient(&Expr::from(3.0), &particles).unwrap();
    let mut out = [7.0; 2];
    plan.evaluate(&mut out).unwrap();
    assert_eq!(out, [0.0; 2]);
    let vector = Expr::position(&grid);
    assert!(PointPlan::position_gradient(&vector, &particles).is_err());
}
