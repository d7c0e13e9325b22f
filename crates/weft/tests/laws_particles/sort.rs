//! Sorting: every particle in its cell, faults counted, failures without a trace.

use crate::common::*;
use crate::*;
use weft::element::CellKind;
use weft::geometry::{Grid2, Grid3, VoxelGrid, VoxelMap, shapes};
use weft::particle::{Half, ParticleError, ParticleReport};

fn check(name: &str, geometry: &dyn Geometry, particles: &ParticleQuadrature, x: &[[f64; 3]]) {
    let samples = particles.samples();
    let mut seen = vec![0; x.len()];
    for cell in 0..geometry.topology().cell_count() {
        let range = samples.in_cell(cell);
        let mine = &samples.particles()[range.clone()];
        assert!(
            mine.is_sorted(),
            "{name}: particles of a cell keep their order"
        );
        for s in range {
            let particle = samples.particles()[s] as usize;
            seen[particle] += 1;
            let at = frame_at(geometry, cell, samples.xi()[s]).position;
            let distance: f64 = (0..3).map(|d| (at[d] - x[particle][d]).abs()).sum();
            assert!(
                distance < 1e-12,
                "{name}: particle {particle} is {distance} off"
            );
        }
    }
    assert!(seen.iter().all(|&n| n == 1), "{name}");
}

#[test]
fn every_particle_is_in_its_cell() {
    for case in all_cases() {
        let mesh = &case.mesh;
        let mut random = Random(9);
        let cells = mesh.topology().cell_count();
        let x: Vec<[f64; 3]> = (0..200)
            .map(|_| {
                let cell = random.below(cells);
                frame_at(mesh, cell, random.point(mesh.cell_kind())).position
            })
            .collect();
        let w = volumes(&mut random, x.len());
        check(case.name, mesh, &cloud_on(mesh, &x, &w), &x);
        let shared = ParticleQuadrature::on(shared(mesh));
        shared.rebuild(&Cloud::new(&x, &w)).unwrap();
        check(case.name, mesh, &shared, &x);
    }
}

#[test]
fn borders_belong_to_one_cell() {
    let grid = Grid3::unit([4, 4, 4]).unwrap();
    let x: Vec<[f64; 3]> = (0..125)
        .map(|k| [k / 25, k / 5 % 5, k % 5].map(|c| c as f64 / 4.0))
        .collect();
    let w = vec![1.0; x.len()];
    check("vertices", &grid, &cloud_on(&grid, &x, &w), &x);
    let mesh = unit_mesh(CellKind::Tet, [2; 3]);
    check("tets", &mesh, &cloud_on(&mesh, &x, &w), &x);
}

#[test]
fn what_is_left_out_is_counted() {
    let grid = Grid2::unit([3, 3]).unwrap();
    let x = [
        [0.1, 0.1, 0.0],
        [f64::NAN, 0.1, 0.0],
        [0.5, f64::INFINITY, 0.0],
        [1.5, 0.5, 0.0],
        [0.5, 0.5, 0.0],
        [0.5, 0.5, 0.0],
        [f64::NAN, 0.5, 0.0],
        [0.5, -1e200, 0.0],
        [0.1, 0.1, 0.0],
    ];
    let w = [1.0, 1.0, 1.0, 1.0, f64::NAN, 4.0, 1.0, 1.0, 8.0];
    let active = [true, true, true, true, true, true, false, true, true];
    let particles = ParticleQuadrature::new(&grid);
    let cloud = Cloud {
        active: Some(&active),
        ..Cloud::new(&x, &w)
    };
    let report = particles.rebuild(&cloud).unwrap();
    let expected = ParticleReport {
        particles: 9,
        inside: 3,
        inactive: 1,
        not_finite: 3,
        outside: 2,
        samples: 3,
        occupied_cells: 2,
        most_in_a_cell: 2,
    };
    assert_eq!(report, expected);
    assert_eq!(particles.samples().report(), expected);
    assert_eq!(integral(&Expr::from(1.0), &grid, &particles), 13.0);
    assert_eq!(
        particles.samples().occupied_cells().collect::<Vec<_>>(),
        [0, 4]
    );

    // None of them, and none at all.
    let nobody = vec![false; 9];
    let cloud = Cloud {
        active: Some(&nobody),
        ..cloud
    };
    assert_eq!(particles.rebuild(&cloud).unwrap().inactive, 9);
    assert!(particles.samples().is_empty());
    assert_eq!(integral(&Expr::from(1.0), &grid, &particles), 0.0);
    let report = particles.rebuild(&Cloud::new(&[], &[])).unwrap();
    assert_eq!(report, ParticleReport::default());
    assert_eq!(integral(&Expr::from(1.0), &grid, &particles), 0.0);
}

#[test]
fn near_particles_count_for_the_closest_cell() {
    let x = [[1.05, 0.5, 0.5], [1.2, 0.5, 0.5], [0.5, 0.5, 0.5]];
    let all: Vec<[i32; 3]> = (0..8).map(|k| [k / 4, k / 2 % 2, k % 2]).collect();
    let voxels = VoxelGrid::from_coordinates(&all, VoxelMap::uniform(0.5).unwrap()).unwrap();
    let grid = Grid3::unit([2; 3]).unwrap();
    let mesh = unit_mesh(CellKind::Tet, [2; 3]);
    for particles in [
        ParticleQuadrature::within(&voxels, 0.1),
        ParticleQuadrature::within(&grid, 0.1),
        ParticleQuadrature::within(&mesh, 0.1),
    ] {
        let report = particles.rebuild(&Cloud::new(&x, &[1.0; 3])).unwrap();
        assert_eq!((report.inside, report.outside), (2, 1));
        let samples = particles.samples();
        let at = samples.particles().iter().position(|&p| p == 0).unwrap();
        let cell = (0..samples.topology().cell_count())
            .find(|&c| samples.in_cell(c).contains(&at))
            .unwrap();
        let frame = frame_at(&**particles.geometry(), cell, samples.xi()[at]);
        assert!((frame.position[0] - 1.0).abs() < 1e-14);
    }
}

#[test]
fn a_failed_rebuild_leaves_no_trace() {
    let grid = Grid3::unit([3; 3]).unwrap();
    let mut random = Random(6);
    let (x, w) = (points(&mut random, 50, 3), volumes(&mut random, 50));
    let particles = cloud_on(&grid, &x, &w);
    let before = snapshot(&particles.samples());
    let held = particles.samples();
    let faults = |particles: &ParticleQuadrature| {
        let cloud = Cloud::new(&x, &w);
        let short = Cloud::new(&x, &w[..49]);
        let environments = vec![0; 50];
        let mut wide = vec![0.1; 50];
        wide[31] = 0.2;
        let mut negative = vec![0.1; 50];
        negative[7] = -0.1;
        let sample = Sample {
            particle: 0,
            cell: 0,
            xi: [0.5; 3],
            share: 1.0,
        };
        let far = Sample { cell: 27, ..sample };
        let nobody = Sample {
            particle: 50,
            ..sample
        };
        vec![
            particles.rebuild(&short),
            particles.rebuild(&Cloud {
                active: Some(&[true]),
                ..cloud
            }),
            particles.rebuild(&Cloud {
                environments: Some(&environments),
                ..cloud
            }),
            particles.rebuild(&Cloud {
                environments: Some(&[]),
                ..cloud
            }),
            particles.rebuild(&Cloud {
                half_widths: Some(Half::Each(&wide)),
                ..cloud
            }),
            particles.rebuild(&Cloud {
                half_widths: Some(Half::Each(&negative)),
                ..cloud
            }),
            particles.rebuild(&Cloud {
                half_widths: Some(Half::Each(&wide[..3])),
                ..cloud
            }),
            particles.rebuild_from_samples(&[sample, far], &w),
            particles.rebuild_from_samples(&[sample, sample, nobody], &w),
        ]
    };
    for (k, fault) in faults(&particles).into_iter().enumerate() {
        let error = fault.expect_err("a fault");
        assert!(!error.to_string().is_empty());
        let right = match k {
            0 | 1 | 3 | 6 => matches!(error, ParticleError::Length { expected: 50, .. }),
            2 => matches!(error, ParticleError::NoEnvironments),
            4 => matches!(error, ParticleError::HalfWidth { particle: 31, .. }),
            5 => matches!(error, ParticleError::HalfWidth { particle: 7, .. }),
            7 => matches!(
                error,
                ParticleError::Index {
                    sample: 1,
                    what: "cell",
                    index: 27,
                    count: 27
                }
            ),
            _ => matches!(
                error,
                ParticleError::Index {
                    sample: 2,
                    what: "particle",
                    index: 50,
                    count: 50
                }
            ),
        };
        assert!(right, "{k}: {error}");
        assert_eq!(snapshot(&particles.samples()), before);
    }
    // A snapshot stays what it was when rebuilds succeed.
    for _ in 0..3 {
        particles.rebuild(&Cloud::new(&x[..9], &w[..9])).unwrap();
    }
    assert_eq!(snapshot(&held), before);
    let mesh = unit_mesh(CellKind::Tet, [2; 3]);
    let cloud = Cloud {
        half_widths: Some(Half::Same(0.01)),
        ..Cloud::new(&x, &w)
    };
    let error = ParticleQuadrature::new(&mesh).rebuild(&cloud).unwrap_err();
    assert!(matches!(error, ParticleError::NeedsGrid));
}

#[test]
fn environments_are_told_apart() {
    let voxels = [[0, 0, 0], [1, 0, 0], [0, 0, 0]];
    let map = VoxelMap::uniform(1.0).unwrap();
    let grid = VoxelGrid::from_environments(&voxels, &[0, 0, 1], 2, 3, map).unwrap();
    let particles = ParticleQuadrature::new(&grid);
    let x = [
        [0.5, 0.5, 0.5],
        [1.5, 0.5, 0.5],
        [0.25, 0.5, 0.5],
        [1.5, 0.5, 0.5],
    ];
    let cloud = Cloud::new(&x, &[1.0; 4]);
    assert!(matches!(
        particles.rebuild(&cloud),
        Err(ParticleError::Geometry(_))
    ));
    let wrong = Cloud {
        environments: Some(&[0, 0, 1, 2]),
        ..cloud
    };
    assert!(matches!(
        particles.rebuild(&wrong),
        Err(ParticleError::Geometry(_))
    ));
    for half_widths in [None, Some(Half::Same(0.1))] {
        let cloud = Cloud {
            environments: Some(&[0, 0, 1, 1]),
            half_widths,
            ..cloud
        };
        let report = particles.rebuild(&cloud).unwrap();
        assert_eq!((report.inside, report.outside), (3, 1));
        let samples = particles.samples();
        let cells = grid.cells();
        for cell in 0..cells.cell_count() {
            for s in samples.in_cell(cell) {
                let environment = usize::from(samples.particles()[s] >= 2);
                assert_eq!(cells.environment_of(cell), environment);
            }
        }
    }
}

#[test]
fn particles_are_found_in_cells_that_moved() {
    let mesh = shapes::rectangle_triangles([4, 4], [0.0; 2], [1.0; 2]).unwrap();
    let mut random = Random(12);
    let x = points(&mut random, 100, 2);
    let w = vec![1.0; 100];
    let particles = cloud_on(&mesh, &x, &w);
    let shifted: Vec<[f64; 3]> = x.iter().map(|x| [x[0] + 5.0, x[1], 0.0]).collect();
    assert_eq!(
        particles
            .rebuild(&Cloud::new(&shifted, &w))
            .unwrap()
            .outside,
        100
    );
    let vertices = mesh
        .map()
        .nodes
        .iter()
        .map(|x| [x[0] + 5.0, x[1], 0.0])
        .collect();
    mesh.move_vertices(vertices).unwrap();
    assert_eq!(
        particles.rebuild(&Cloud::new(&shifted, &w)).unwrap().inside,
        100
    );
    check("moved", &mesh, &particles, &shifted);
}

#[test]
fn samples_in_any_order_with_shares() {
    let mesh = unit_mesh(CellKind::Quad, [2, 1, 1]);
    let sample = |particle, cell, x, share| Sample {
        particle,
        cell,
        xi: [x, 0.5, 0.0],
        share,
    };
    let particles = ParticleQuadrature::new(&mesh);
    let samples = [
        sample(1, 1, 0.5, 0.75),
        sample(0, 0, 0.0, 1.0),
        sample(1, 0, 1.0, 0.25),
        sample(2, 0, f64::NAN, 1.0),
    ];
    let report = particles
        .rebuild_from_samples(&samples, &[2.0, 4.0, 8.0, 16.0])
        .unwrap();
    assert_eq!(
        (report.inside, report.not_finite, report.outside),
        (2, 1, 1)
    );
    let found = particles.samples();
    assert_eq!(found.particles(), [0, 1, 1]);
    assert_eq!(found.shares(), [1.0, 0.25, 0.75]);
    assert_eq!(found.weights(), [2.0, 1.0, 3.0]);
    let x0 = Expr::position(&mesh).at(0);
    assert_eq!(
        integral(&x0, &mesh, &particles),
        2.0 * 0.0 + 0.5 + 3.0 * 0.75
    );
}
