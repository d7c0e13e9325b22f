//! Extended particles: shares, centres, means of shape functions.

use crate::common::*;
use crate::*;
use weft::assemble::vector;
use weft::element::Quadrature;
use weft::geometry::{Grid2, Grid3, VoxelGrid, VoxelMap};
use weft::particle::Half;
use weft::space::Space;

/// Sum of the shares and centre of each particle's samples.
fn centres(particles: &ParticleQuadrature) -> Vec<(f64, [f64; 3])> {
    let samples = particles.samples();
    let mut out = vec![(0.0, [0.0; 3]); samples.particle_count()];
    for cell in 0..samples.topology().cell_count() {
        for s in samples.in_cell(cell) {
            let at = frame_at(&**particles.geometry(), cell, samples.xi()[s]).position;
            let share = samples.shares()[s];
            let (sum, centre) = &mut out[samples.particles()[s] as usize];
            *sum += share;
            for d in 0..3 {
                centre[d] += share * at[d];
            }
        }
    }
    out
}

fn spread<G: Geometry + Clone + 'static>(
    geometry: &G,
    x: &[[f64; 3]],
    half: Half,
) -> ParticleQuadrature {
    let particles = ParticleQuadrature::new(geometry);
    let w: Vec<f64> = (0..x.len()).map(|k| 1.0 + k as f64).collect();
    let cloud = Cloud {
        half_widths: Some(half),
        ..Cloud::new(x, &w)
    };
    particles.rebuild(&cloud).unwrap();
    particles
}

#[test]
fn shares_sum_to_one_about_the_particle() {
    let mut random = Random(21);
    let h = 0.25;
    let grid2 = Grid2::unit([4, 4]).unwrap();
    let grid3 = Grid3::unit([4, 4, 4]).unwrap();
    let all: Vec<[i32; 3]> = (0..64).map(|k| [k / 16, k / 4 % 4, k % 4]).collect();
    let voxels = VoxelGrid::from_coordinates(&all, VoxelMap::uniform(h).unwrap()).unwrap();
    // Inside by the half-width, some on borders and some as large as a cell.
    let mut x: Vec<[f64; 3]> = (0..300)
        .map(|_| std::array::from_fn(|_| random.between(0.125, 0.875)))
        .collect();
    x.push([0.25, 0.5, 0.75]);
    x.push([0.125, 0.375, 0.875]);
    let mut r: Vec<f64> = (0..x.len()).map(|_| random.between(0.0, h / 2.0)).collect();
    r[..50].fill(h / 2.0);
    r[50] = 0.0;
    *r.last_mut().unwrap() = h / 2.0;
    let flat: Vec<[f64; 3]> = x.iter().map(|x| [x[0], x[1], 0.0]).collect();
    for (particles, x, most) in [
        (spread(&grid2, &flat, Half::Each(&r)), &flat, 4),
        (spread(&grid3, &x, Half::Each(&r)), &x, 8),
        (spread(&voxels, &x, Half::Each(&r)), &x, 8),
    ] {
        let report = particles.samples().report();
        assert_eq!(report.inside, x.len());
        assert!(report.samples > 2 * x.len() && report.samples <= most * x.len());
        for (k, (sum, centre)) in centres(&particles).into_iter().enumerate() {
            assert!((sum - 1.0).abs() < 1e-14, "{k}: {sum}");
            for d in 0..3 {
                assert!(
                    (centre[d] - x[k][d]).abs() < 1e-14,
                    "{k}: {centre:?} {:?}",
                    x[k]
                );
            }
        }
        for xi in particles.samples().xi() {
            assert!(xi.iter().all(|c| (0.0..=1.0).contains(c)));
        }
    }
}

/// The mean of each shape function and of its gradient over a particle's square, by Gauss rules on
/// the parts of the square in each cell.
#[test]
fn bilinear_functions_are_averaged_exactly() {
    let grid = Grid2::unit([4, 4]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let v = Expr::test(&space);
    let mut random = Random(22);
    let rule = Quadrature::new(weft::element::CellKind::Quad, 2).unwrap();
    for _ in 0..30 {
        let x = [random.between(0.1, 0.9), random.between(0.1, 0.9), 0.0];
        let r = random.between(0.01, 0.1);
        let particles = spread(&grid, &[x], Half::Same(r));
        let m = over(&grid, &particles);
        let (mut samples, mut weights) = (Vec::new(), Vec::new());
        for cell in 0..16u32 {
            let low = [(cell / 4) as f64 / 4.0, (cell % 4) as f64 / 4.0];
            let part: [[f64; 2]; 2] =
                std::array::from_fn(|d| [(x[d] - r).max(low[d]), (x[d] + r).min(low[d] + 0.25)]);
            if part.iter().any(|[a, b]| a >= b) {
                continue;
            }
            let area: f64 = part.iter().map(|[a, b]| b - a).product();
            for (q, w) in rule.points().iter().zip(rule.weights()) {
                let xi: [f64; 3] = std::array::from_fn(|d| match d {
                    2 => 0.0,
                    _ => (part[d][0] + q[d] * (part[d][1] - part[d][0]) - low[d]) * 4.0,
                });
                samples.push(Sample {
                    particle: weights.len() as u32,
                    cell,
                    xi,
                    share: 1.0,
                });
                weights.push(w * area / (4.0 * r * r));
            }
        }
        let exact = ParticleQuadrature::new(&grid);
        exact.rebuild_from_samples(&samples, &weights).unwrap();
        let e = over(&grid, &exact);
        let pairs = [
            (v.over(&m), v.over(&e)),
            (v.grad().at(0).over(&m), v.grad().at(0).over(&e)),
            (v.grad().at(1).over(&m), v.grad().at(1).over(&e)),
        ];
        for (a, b) in pairs {
            assert_close(&vector(&a).unwrap(), &vector(&b).unwrap(), 1e-12, "mean");
        }
    }
}

#[test]
fn missing_cells_leave_the_volume() {
    let grid = Grid2::unit([2, 2]).unwrap();
    // Across the boundary, at a corner, with its centre outside, and out of reach.
    let x = [
        [0.05, 0.5, 0.0],
        [0.0, 0.0, 0.0],
        [1.1, 0.3, 0.0],
        [1.3, 0.3, 0.0],
    ];
    let particles = spread(&grid, &x, Half::Same(0.2));
    let report = particles.samples().report();
    assert_eq!((report.inside, report.outside), (3, 1));
    for (sum, _) in &centres(&particles)[..3] {
        assert!((sum - 1.0).abs() < 1e-14);
    }
    let total = integral(&Expr::from(1.0), &grid, &particles);
    assert!((total - 6.0).abs() < 1e-13);
}

#[test]
fn half_widths_that_are_no_numbers_are_left_out() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let particles = ParticleQuadrature::new(&grid);
    let x = [[0.3, 0.3, 0.0]; 3];
    let r = [0.1, f64::NAN, f64::INFINITY];
    let cloud = Cloud {
        half_widths: Some(Half::Each(&r)),
        ..Cloud::new(&x, &[1.0; 3])
    };
    let report = particles.rebuild(&cloud).unwrap();
    assert_eq!((report.inside, report.not_finite), (1, 2));
}

#[test]
fn rotated_lattices_spread_along_their_own_axes() {
    let (c, s) = (0.6, 0.8);
    let h = 0.5;
    let matrix = [[c * h, -s * h, 0.0], [s * h, c * h, 0.0], [0.0, 0.0, h]];
    let map = VoxelMap::affine(matrix, [0.3, -0.2, 0.1]).unwrap();
    let all: Vec<[i32; 3]> = (0..64).map(|k| [k / 16, k / 4 % 4, k % 4]).collect();
    let grid = VoxelGrid::from_coordinates(&all, map).unwrap();
    let mut random = Random(23);
    let x: Vec<[f64; 3]> = (0..50)
        .map(|_| map.position(std::array::from_fn(|_| random.between(0.5, 3.5))))
        .collect();
    let particles = spread(&grid, &x, Half::Same(0.2));
    for (k, (sum, centre)) in centres(&particles).into_iter().enumerate() {
        assert!((sum - 1.0).abs() < 1e-14);
        assert!((0..3).all(|d| (centre[d] - x[k][d]).abs() < 1e-13));
    }
}
