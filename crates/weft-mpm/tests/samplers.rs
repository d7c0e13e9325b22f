//! Samplers: counts, places, masses, seeds, streams, and what they refuse.

use weft::element::CellKind;
use weft::geometry::{Geometry, Mesh, shapes};
use weft_mpm::collider::{HeightField, Pose};
use weft_mpm::emit::{Emitter, Fill, KillZone, MAX_PARTICLES, Rate, Zone};
use weft_mpm::{ACTIVE, MpmError, Particles};

fn total(p: &Particles) -> f64 {
    p.mass.iter().map(|&m| f64::from(m)).sum()
}

fn bounds(p: &Particles) -> ([f64; 3], [f64; 3]) {
    let (mut lower, mut upper) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for x in &p.position {
        for d in 0..3 {
            lower[d] = lower[d].min(x[d]);
            upper[d] = upper[d].max(x[d]);
        }
    }
    (lower, upper)
}

/// Counts of the example scenes.
#[test]
fn blocks_have_the_counts_of_the_scenes() {
    let fill = Fill::default();
    #[rustfmt::skip]
    let scenes: [([f64; 3], f64, usize); 6] = [
        ([2.0, 2.0, 2.0], 0.1 / 3.0, 61 * 61 * 61),      // granular: 226 981
        ([5.0, 1.0, 1.0], 0.25 / 3.0, 61 * 13 * 13),     // beam twist: 10 309
        ([1.0, 1.0, 2.0], 0.1 / 3.0, 31 * 31 * 61),      // grains: 58 621
        ([1.0, 1.0, 0.25], 0.05 / 3.0, 61 * 61 * 16),    // kinematic block: 59 536
        ([2.0, 2.0, 0.5], 0.05 / 3.0, 121 * 121 * 31),   // two-way: 453 871
        ([1.0, 3.0, 0.15], 0.03 / 3.0, 101 * 301 * 16),  // robot walk: 486 416
    ];
    for (edges, spacing, count) in scenes {
        let lower = [-1.0, -0.5, 1.5];
        let upper = std::array::from_fn(|d| lower[d] + edges[d]);
        let cloud = fill.block(lower, upper, spacing).unwrap();
        assert_eq!(cloud.len(), count, "{edges:?}");
        let (low, high) = bounds(&cloud);
        for d in 0..3 {
            assert!((low[d] - lower[d]).abs() < 1e-12 && (high[d] - upper[d]).abs() < 1e-12);
        }
        cloud.check(1).unwrap();
    }
}

#[test]
fn mass_radius_and_the_rest_are_as_asked() {
    let fill = Fill {
        density: 400.0,
        material: 3,
        world: 2,
        velocity: [1.0, -2.0, 3.0],
        plastic_volume: 0.975,
        ..Fill::default()
    };
    let cloud = fill.lattice([0.0; 3], [3, 4, 5], [0.1, 0.2, 0.05]).unwrap();
    assert_eq!(cloud.len(), 60);
    for i in 0..60 {
        assert!((cloud.mass[i] - 0.4).abs() < 1e-7);
        assert_eq!(cloud.radius[i], 0.1);
        assert_eq!(
            (cloud.material[i], cloud.world[i], cloud.flags[i]),
            (3, 2, ACTIVE)
        );
        assert_eq!(
            (cloud.velocity[i], cloud.plastic_volume[i]),
            ([1.0, -2.0, 3.0], 0.975)
        );
    }
    // x runs fastest.
    assert_eq!(cloud.position[1], [0.1, 0.0, 0.0]);
    assert_eq!(cloud.position[3], [0.0, 0.2, 0.0]);
    assert_eq!(cloud.position[12], [0.0, 0.0, 0.05]);
    // Equal spacing: density is mass over volume.
    let cloud = fill.lattice([0.0; 3], [2, 2, 2], [0.05; 3]).unwrap();
    assert!((cloud.mass[0] / cloud.volume(0) - 400.0).abs() < 1e-3);
    // Density 0: kinematic.
    let wall = Fill {
        density: 0.0,
        ..fill
    };
    let cloud = wall.lattice([0.0; 3], [2, 2, 2], [0.05; 3]).unwrap();
    assert_eq!(cloud.mass, [0.0; 8]);
    cloud.check(4).unwrap();
    // No points are no particles.
    assert!(
        fill.lattice([0.0; 3], [0, 9, 9], [1.0; 3])
            .unwrap()
            .is_empty()
    );
}

/// Same seed, same bits; other seed, other places; all of them within their cells, evenly.
#[test]
fn jitter_is_reproducible_and_even() {
    let with = |seed, jitter| Fill {
        seed,
        jitter,
        ..Fill::default()
    };
    let make = |fill: Fill| fill.lattice([0.0; 3], [30, 20, 10], [0.1; 3]).unwrap();
    let plain = make(with(1, 0.0));
    let (a, b, c) = (
        make(with(422, 1.0)),
        make(with(422, 1.0)),
        make(with(423, 1.0)),
    );
    assert_eq!(a, b);
    let same = (0..a.len())
        .filter(|&i| a.position[i] == c.position[i])
        .count();
    assert_eq!(same, 0);
    for (cloud, jitter) in [(&a, 1.0), (&c, 1.0), (&make(with(7, 0.25)), 0.25)] {
        let (mut mean, mut square, mut product) = ([0.0; 3], [0.0; 3], 0.0);
        for i in 0..cloud.len() {
            // In [-1, 1].
            let d: [f64; 3] = std::array::from_fn(|k| {
                (cloud.position[i][k] - plain.position[i][k]) / (0.05 * jitter)
            });
            for k in 0..3 {
                assert!(d[k].abs() <= 1.0 + 1e-9);
                mean[k] += d[k] / 6000.0;
                square[k] += d[k] * d[k] / 6000.0;
            }
            product += d[0] * d[1] / 6000.0;
        }
        // Five standard deviations of means of 6000 draws: 5 √(1/3 / 6000), 5 √(4/45 / 6000).
        assert!(mean.iter().all(|m| m.abs() < 0.038), "{mean:?}");
        assert!(
            square.iter().all(|s| (s - 1.0 / 3.0).abs() < 0.02),
            "{square:?}"
        );
        assert!(product.abs() < 0.022, "{product}");
    }
    // The first bits, for every platform.
    assert_eq!(a.position[1], FIRST);
}

/// Seed 422, lattice point (1, 0, 0) of spacing 0.1; from the formula, in another language.
const FIRST: [f64; 3] = [
    0.14400478508788392,
    -0.01053689070638032,
    -0.03835765950115397,
];

/// Counts are those of the lattice points inside, whatever the jitter, and all are inside.
#[test]
fn ball_and_cone_agree_with_counting() {
    for (radius, spacing) in [(1.0, 0.1), (0.5, 0.07), (0.04, 0.1), (1.0, 0.333)] {
        let center = [0.3, -0.2, 5.0];
        let n = (2.0f64 * radius / spacing - 1e-9).ceil() as i64;
        let mut expected = 0;
        for k in 0..n * n * n {
            let at =
                [k % n, k / n % n, k / n / n].map(|i| (i as f64 - 0.5 * (n - 1) as f64) * spacing);
            expected += usize::from(at.iter().map(|c| c * c).sum::<f64>() <= radius * radius);
        }
        for (seed, jitter) in [(0, 0.0), (1, 1.0), (2, 1.0)] {
            let fill = Fill {
                seed,
                jitter,
                ..Fill::default()
            };
            let ball = fill.sphere(center, radius, spacing).unwrap();
            assert!(ball.len().abs_diff(expected) == 0, "{radius} {spacing}");
            for x in &ball.position {
                let d2: f64 = (0..3).map(|d| (x[d] - center[d]).powi(2)).sum();
                assert!(d2 <= radius * radius * (1.0 + 1e-12));
            }
        }
    }
    // Volumes to the accuracy of counting: the surface times a part of the spacing.
    let pi = std::f64::consts::PI;
    let fill = Fill {
        density: 1.0,
        jitter: 1.0,
        ..Fill::default()
    };
    let ball = fill.sphere([0.0; 3], 1.0, 0.04).unwrap();
    assert!((total(&ball) - 4.0 / 3.0 * pi).abs() < 0.02);
    for (lower, upper) in [(0.5, 0.5), (0.01, 0.05), (0.0, 1.0), (1.0, 0.0)] {
        let height = 0.8;
        let widest = f64::max(lower, upper);
        let cone = fill
            .cone([1.0, 2.0, 3.0], lower, upper, height, widest / 25.0)
            .unwrap();
        let volume = pi * height / 3.0 * (lower * lower + lower * upper + upper * upper);
        assert!(
            (total(&cone) / volume - 1.0).abs() < 0.03,
            "{lower} {upper}"
        );
        for x in &cone.position {
            let up = (x[2] - 3.0) / height;
            assert!((0.0..=1.0).contains(&up));
            let radius = lower + up * (upper - lower);
            assert!((x[0] - 1.0).hypot(x[1] - 2.0) <= radius + 1e-12);
        }
    }
}

#[test]
fn meshes_are_filled_whichever_way_they_face() {
    let sphere = shapes::sphere(3).unwrap();
    let fill = Fill {
        density: 1.0,
        jitter: 1.0,
        ..Fill::default()
    };
    // As many as lattice points that the surface winds round; 20 cells across.
    let spacing = 0.1;
    let inside = fill.mesh(&sphere, spacing).unwrap();
    let surface = weft::geometry::Surface::new(&sphere).unwrap();
    let (lower, upper) = bounds(&Particles {
        position: sphere.map().nodes.clone(),
        ..Particles::new()
    });
    let wound = (0..8000usize).filter(|k| {
        let place = [k % 20, k / 20 % 20, k / 400];
        let x = std::array::from_fn(|d| {
            0.5 * (lower[d] + upper[d]) + (place[d] as f64 - 9.5) * spacing
        });
        surface.winding_number(x) > 0.5
    });
    assert_eq!(inside.len(), wound.count());
    assert!(
        inside
            .position
            .iter()
            .all(|x| x.iter().map(|c| c * c).sum::<f64>() <= 1.0)
    );
    let mut cells = sphere.topology().cells().to_vec();
    cells.chunks_exact_mut(3).for_each(|c| c.swap(0, 1));
    let inward = Mesh::new(CellKind::Triangle, 3, sphere.map().nodes.clone(), cells).unwrap();
    assert_eq!(fill.mesh(&inward, spacing).unwrap().len(), inside.len());
    // An open one has no inside.
    let cells = sphere.topology().cells()[3..].to_vec();
    let open = Mesh::new(CellKind::Triangle, 3, sphere.map().nodes.clone(), cells).unwrap();
    let error = fill.mesh(&open, spacing).unwrap_err();
    assert!(error.to_string().contains("not closed"), "{error}");
}

#[test]
fn layers_follow_the_ground() {
    // The snow of a scene: 96 · 396 · 16 at full size; here a quarter of each.
    let slope = |x: f64, y: f64| 0.5 * x - 0.25 * y;
    let field = HeightField::from_fn([9, 13], [0.15, 0.4125], slope);
    let fill = Fill {
        density: 400.0,
        jitter: 1.0,
        ..Fill::default()
    };
    let snow = fill.layer(&field, Pose::IDENTITY, 0.1, 0.3, 0.05).unwrap();
    assert_eq!(snow.len(), 24 * 99 * 4);
    assert!((total(&snow) / (400.0 * 1.2 * 4.95 * 0.2) - 1.0).abs() < 1e-5);
    for x in &snow.position {
        let above = x[2] - slope(x[0], x[1]);
        assert!((0.1 - 1e-12..=0.3 + 1e-12).contains(&above), "{x:?}");
        assert!((0.0..=1.2).contains(&x[0]) && (0.0..=4.95).contains(&x[1]));
    }
    let pose = Pose::turned([1.0, 2.0, 3.0], [0.3, 1.0, 0.2], 0.4);
    let turned = fill.layer(&field, pose, 0.1, 0.3, 0.05).unwrap();
    for (a, b) in snow.position.iter().zip(&turned.position) {
        let back = pose.apply_inverse(*b);
        assert!((0..3).all(|d| (a[d] - back[d]).abs() < 1e-12));
    }
    let snow = fill.layer(
        &HeightField::from_fn([2, 2], [4.8, 19.8], |_, _| 0.0),
        Pose::IDENTITY,
        0.0,
        0.8,
        0.05,
    );
    assert_eq!(snow.unwrap().len(), 96 * 396 * 16);
}

/// The stream is one lattice, whatever the steps.
#[test]
fn streams_are_lattices() {
    let pose = Pose::turned([1.0, 2.0, 3.0], [0.0, 1.0, 0.0], 0.5 * std::f64::consts::PI);
    let make = |rate| {
        Emitter::new(
            Fill::default(),
            pose,
            [0.4, 0.2],
            0.1,
            2.0,
            rate,
            [0.5, 1.5],
        )
        .unwrap()
    };
    let mut full = make(Rate::Full);
    assert_eq!(full.layer_len(), 8);
    assert!((full.interval() - 0.05).abs() < 1e-15);
    // Steps of any length: particles fly on between them.
    let steps = [0.013, 0.1, 0.0071, 0.05, 0.2];
    let mut cloud = Particles::new();
    let mut time = 0.0;
    let mut given = 0;
    for i in 0..60 {
        given += full.emit(&mut cloud, time).unwrap();
        assert_eq!(given, cloud.len());
        let dt = steps[i % 5];
        for k in 0..cloud.len() {
            let v = cloud.velocity[k];
            (0..3).for_each(|d| cloud.position[k][d] += dt * f64::from(v[d]));
        }
        time += dt;
    }
    // One second at 20 layers a second.
    assert_eq!(given, 160);
    for (i, x) in cloud.position.iter().enumerate() {
        let (layer, place) = (i / 8, i % 8);
        let born = 0.5 + 0.05 * layer as f64;
        let local = pose.apply_inverse(*x);
        let expected = [
            -0.15 + 0.1 * (place % 4) as f64,
            -0.05 + 0.1 * (place / 4) as f64,
            2.0 * (time - born),
        ];
        assert!(
            (0..3).all(|d| (local[d] - expected[d]).abs() < 1e-5),
            "{i} {local:?} {expected:?}"
        );
    }
    // The direction is the z axis of the pose, here x.
    assert!((cloud.velocity[0][0] - 2.0).abs() < 1e-6);
    assert!((cloud.mass[0] - 1.0).abs() < 1e-6 && (cloud.radius[0] - 0.05).abs() < 1e-9);

    // Half the rate, in particles and in kilograms: layers twice as far apart.
    for rate in [Rate::Particles(80.0), Rate::Mass(80.0)] {
        let mut half = make(rate);
        assert!((half.interval() - 0.1).abs() < 1e-6);
        let mut cloud = Particles::new();
        assert_eq!(half.emit(&mut cloud, 0.49).unwrap(), 0);
        assert_eq!(half.emit(&mut cloud, 0.5).unwrap(), 8);
        assert_eq!(half.emit(&mut cloud, 0.5).unwrap(), 0);
        assert_eq!(half.emit(&mut cloud, 0.2).unwrap(), 0);
        assert_eq!(half.emit(&mut cloud, 100.0).unwrap(), 72);
        assert_eq!(half.emit(&mut cloud, 200.0).unwrap(), 0);
        assert_eq!(cloud.len(), 80);
    }
    // Jitter comes from the layer and the place, not from the steps.
    let jittered = || {
        let fill = Fill {
            jitter: 1.0,
            seed: 3,
            ..Fill::default()
        };
        Emitter::new(
            fill,
            Pose::IDENTITY,
            [0.3; 2],
            0.1,
            1.0,
            Rate::Full,
            [0.0, 1.0],
        )
        .unwrap()
    };
    let (mut a, mut b) = (Particles::new(), Particles::new());
    let (mut once, mut often) = (jittered(), jittered());
    once.emit(&mut a, 0.95).unwrap();
    for i in 0..=19 {
        often.emit(&mut b, 0.05 * f64::from(i)).unwrap();
    }
    assert_eq!((a.len(), b.len()), (90, 90));
    assert!((0..90).all(|i| a.position[i][0] == b.position[i][0]));
    assert!((9..18).any(|i| a.position[i][0] != a.position[i - 9][0]));
}

#[test]
fn zones_remove_and_count() {
    let mut cloud = Fill::default()
        .lattice([0.0; 3], [10, 10, 10], [0.1; 3])
        .unwrap();
    (0..1000).for_each(|i| cloud.material[i] = i as u16);
    cloud.position[999] = [f64::NAN; 3];
    let ground = Zone::Below {
        point: [0.0, 0.0, 0.25],
        normal: [0.0, 0.0, 2.0],
    };
    let zone = KillZone::new(ground).unwrap();
    assert_eq!(zone.apply(&mut cloud), 300);
    assert_eq!(zone.apply(&mut cloud), 0);
    assert_eq!(
        (cloud.len(), cloud.material[0], cloud.material[699]),
        (700, 300, 999)
    );
    let zone = KillZone::new(Zone::Box {
        lower: [0.15, -1.0, 0.0],
        upper: [0.35, 1.0, 2.0],
    })
    .unwrap();
    assert_eq!((zone.apply(&mut cloud), cloud.len()), (140, 560));
    cloud.check(1000).unwrap();
    assert_eq!(zone.apply(&mut Particles::new()), 0);
    for bad in [
        Zone::Box {
            lower: [1.0, 0.0, 0.0],
            upper: [0.0, 1.0, 1.0],
        },
        Zone::Box {
            lower: [f64::NAN; 3],
            upper: [1.0; 3],
        },
        Zone::Below {
            point: [0.0; 3],
            normal: [0.0; 3],
        },
        Zone::Below {
            point: [f64::INFINITY; 3],
            normal: [1.0; 3],
        },
    ] {
        assert!(
            matches!(KillZone::new(bad), Err(MpmError::Sampler(_))),
            "{bad:?}"
        );
    }
}

#[test]
fn hostile_numbers_are_refused() {
    let fill = Fill::default();
    let (zero, one) = ([0.0; 3], [1.0; 3]);
    let field = HeightField::from_fn([2, 2], [1.0; 2], |_, _| 0.0);
    let sphere = shapes::sphere(1).unwrap();
    // Also so small that the counts overflow: no particle is made.
    for bad in [
        0.0,
        -0.1,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e-9,
        1e-29,
        1e-300,
        1e31,
    ] {
        let results = [
            fill.lattice(zero, [2, 2, 2], [1.0, bad, 1.0]),
            fill.block(zero, one, bad),
            fill.sphere(zero, 1.0, bad),
            fill.cone(zero, 1.0, 0.5, 1.0, bad),
            fill.region(zero, one, bad, |_| true),
            fill.layer(&field, Pose::IDENTITY, 0.0, 1.0, bad),
            fill.mesh(&sphere, bad),
        ];
        for (i, result) in results.into_iter().enumerate() {
            // Eight particles, however near to each other, are fine.
            if i == 0 && (bad == 1e-9 || bad == 1e-29) {
                continue;
            }
            assert!(matches!(result, Err(MpmError::Sampler(_))), "{i} {bad}");
        }
        let emitter = Emitter::new(
            fill,
            Pose::IDENTITY,
            [1.0; 2],
            bad,
            1.0,
            Rate::Full,
            [0.0, 1.0],
        );
        assert!(emitter.is_err(), "{bad}");
        if bad == 1e-9 || bad == 1e-29 {
            continue;
        }
        for axis in 0..3 {
            let mut upper = one;
            upper[axis] = bad;
            assert!(fill.block(zero, upper, 0.1).is_err(), "{bad}");
        }
        assert!(fill.sphere(zero, bad, 0.1).is_err());
        assert!(fill.cone(zero, 1.0, 1.0, bad, 0.1).is_err());
        assert!(
            fill.layer(&field, Pose::IDENTITY, 1.0, 1.0 + bad, 0.1)
                .is_err()
        );
        for size in [[bad, 1.0], [1.0, bad]] {
            assert!(
                Emitter::new(fill, Pose::IDENTITY, size, 0.1, 1.0, Rate::Full, [0.0, 1.0]).is_err()
            );
        }
        assert!(
            Emitter::new(
                fill,
                Pose::IDENTITY,
                [1.0; 2],
                0.1,
                bad,
                Rate::Full,
                [0.0, 1.0]
            )
            .is_err()
        );
    }
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1e31] {
        for fill in [
            Fill {
                density: bad,
                ..fill
            },
            Fill {
                jitter: bad,
                ..fill
            },
            Fill {
                plastic_volume: bad as f32,
                ..fill
            },
            Fill {
                velocity: [0.0, if bad < 0.0 { f32::NAN } else { bad as f32 }, 0.0],
                ..fill
            },
        ] {
            assert!(fill.block(zero, one, 0.5).is_err(), "{fill:?}");
        }
        assert!(fill.cone(zero, bad, 1.0, 1.0, 0.1).is_err());
    }
    assert!(fill.cone(zero, 0.0, 0.0, 1.0, 0.1).is_err());
    assert!(fill.lattice([f64::NAN, 0.0, 0.0], [1, 1, 1], one).is_err());
    assert!(fill.lattice(zero, [usize::MAX; 3], one).is_err());
    assert!(fill.lattice(zero, [MAX_PARTICLES, 2, 1], one).is_err());
    // Masses that single precision cannot hold.
    for density in [1e-30, 1e30] {
        let extreme = Fill { density, ..fill };
        let spacing = if density < 1.0 { 1e-6 } else { 1e6 };
        assert!(extreme.lattice(zero, [1, 1, 1], [spacing; 3]).is_err());
    }
    let bad_field = HeightField {
        heights: vec![],
        ..field
    };
    assert!(
        fill.layer(&bad_field, Pose::IDENTITY, 0.0, 1.0, 0.1)
            .is_err()
    );
    for rate in [
        Rate::Particles(0.0),
        Rate::Particles(-1.0),
        Rate::Particles(f64::NAN),
        Rate::Particles(1001.0),
        Rate::Mass(f64::INFINITY),
        Rate::Mass(1002.0),
        Rate::Mass(0.0),
    ] {
        let emitter = Emitter::new(fill, Pose::IDENTITY, [1.0; 2], 0.1, 1.0, rate, [0.0, 1.0]);
        assert!(emitter.is_err(), "{rate:?}");
    }
    for times in [
        [1.0, 0.5],
        [f64::NAN, 1.0],
        [0.0, f64::NAN],
        [f64::NEG_INFINITY, 0.0],
    ] {
        let emitter = Emitter::new(fill, Pose::IDENTITY, [1.0; 2], 0.1, 1.0, Rate::Full, times);
        assert!(emitter.is_err(), "{times:?}");
    }
    let times = [0.0, f64::INFINITY];
    let mut endless =
        Emitter::new(fill, Pose::IDENTITY, [1.0; 2], 0.1, 1.0, Rate::Full, times).unwrap();
    let mut cloud = Particles::new();
    for time in [f64::NAN, f64::INFINITY, 1e12, 1e300] {
        assert!(endless.emit(&mut cloud, time).is_err());
        assert!(cloud.is_empty());
    }
    assert_eq!(endless.emit(&mut cloud, 0.0).unwrap(), 100);
}

/// An emitter that skips goes on like one that has given.
#[test]
fn issue_005_skip_to() {
    let made = |stop| {
        let fill = Fill::default();
        let (size, times) = ([0.4, 0.2], [0.05, stop]);
        Emitter::new(fill, Pose::IDENTITY, size, 0.1, 1.0, Rate::Full, times).unwrap()
    };
    for stop in [0.3, f64::INFINITY] {
        for time in [0.0, 0.05, 0.06, 0.29, 0.3, 1.0] {
            let (mut given, mut skipped) = (made(stop), made(stop));
            given.emit(&mut Particles::new(), time).unwrap();
            skipped.skip_to(time).unwrap();
            assert_eq!(given, skipped);
            skipped.skip_to(0.0).unwrap();
            assert_eq!(given, skipped, "nothing is given twice");
        }
    }
    // More than can be given at once.
    let mut old = made(f64::INFINITY);
    old.skip_to(1e9).unwrap();
    assert_eq!(old.emit(&mut Particles::new(), 1e9 + 0.15).unwrap() % 8, 0);
    assert!(made(1.0).skip_to(f64::NAN).is_err());
}
