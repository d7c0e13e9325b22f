//! Colliders: distances against independent ones, bodies against conservation laws, errors.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use weft::element::CellKind;
use weft::geometry::{Geometry, Mesh, closest_point, shapes};
use weft_mpm::collider::{
    Body, Collider, ColliderMaterial, Colliders, GROUND, HeightField, Motion, Pose, Shape,
};
use weft_mpm::{ColliderVelocity, MpmError, Particles};

/// The system's allocator, counting the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator; the counter is a thread-local.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

type V = [f64; 3];

/// splitmix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    fn within(&mut self, size: f64) -> f64 {
        size * (2.0 * self.unit() - 1.0)
    }
    fn point(&mut self, size: f64) -> V {
        std::array::from_fn(|_| self.within(size))
    }
    fn pose(&mut self) -> Pose {
        Pose {
            position: self.point(2.0),
            rotation: std::array::from_fn(|_| self.within(1.0)),
        }
    }
}

fn dot(a: V, b: V) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
fn sub(a: V, b: V) -> V {
    std::array::from_fn(|d| a[d] - b[d])
}
fn add(a: V, s: f64, b: V) -> V {
    std::array::from_fn(|d| a[d] + s * b[d])
}
fn norm(a: V) -> f64 {
    dot(a, a).sqrt()
}
fn cross(a: V, b: V) -> V {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}
fn times(m: [V; 3], v: V) -> V {
    m.map(|row| dot(row, v))
}

/// Shapes whose distance is the bare one.
fn bare() -> ColliderMaterial {
    ColliderMaterial {
        thickness: Some(0.0),
        ..ColliderMaterial::default()
    }
}

fn single(shape: Shape, pose: Pose) -> Colliders {
    let mut colliders = Colliders::new(0.1).unwrap();
    let material = bare();
    let collider = Collider {
        pose,
        material,
        ..Collider::new(shape)
    };
    colliders.add(collider).unwrap();
    colliders
}

fn cube_mesh(half: V) -> Mesh {
    let points = (0..8)
        .map(|i| std::array::from_fn(|d| if i >> d & 1 == 1 { half[d] } else { -half[d] }))
        .collect();
    #[rustfmt::skip]
    let cells = vec![
        0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
        2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5,
    ];
    Mesh::new(CellKind::Triangle, 3, points, cells).unwrap()
}

fn hills() -> HeightField {
    let mut random = Random(5);
    let mut field = HeightField::from_fn([7, 5], [0.4, 0.5], |x, y| (2.0 * x).sin() * y.cos());
    field
        .heights
        .iter_mut()
        .for_each(|h| *h += random.within(0.3));
    field
}

/// Height of the two-triangle surface, by barycentric coordinates.
fn height(f: &HeightField, x: f64, y: f64) -> f64 {
    let at = |i: usize, j: usize| f.heights[i + j * f.counts[0]];
    let (u, v) = (x / f.spacing[0], y / f.spacing[1]);
    let i = (u.floor() as usize).min(f.counts[0] - 2);
    let j = (v.floor() as usize).min(f.counts[1] - 2);
    let (u, v) = (u - i as f64, v - j as f64);
    let (a, c) = (at(i, j), at(i + 1, j + 1));
    if u >= v {
        a + u * (at(i + 1, j) - a) + v * (c - at(i + 1, j))
    } else {
        a + v * (at(i, j + 1) - a) + u * (c - at(i, j + 1))
    }
}

/// Whether a point in the shape's frame is in the solid.
fn is_inside(shape: &Shape, x: V) -> bool {
    match shape {
        Shape::Plane => x[2] < 0.0,
        Shape::Box { half } => (0..3).all(|d| x[d].abs() < half[d]),
        Shape::Sphere { radius } => norm(x) < *radius,
        Shape::Capsule {
            radius,
            half_length,
        } => {
            let end = |z| norm(sub(x, [0.0, 0.0, z])) < *radius;
            end(*half_length)
                || end(-half_length)
                || (x[2].abs() < *half_length && x[0].hypot(x[1]) < *radius)
        }
        Shape::HeightField(f) => {
            let [w, d] = f.size();
            x[0] > 0.0 && x[0] < w && x[1] > 0.0 && x[1] < d && x[2] < height(f, x[0], x[1])
        }
        Shape::Mesh(_) => unreachable!(),
    }
}

/// A random point of the shape's surface.
fn on_surface(shape: &Shape, random: &mut Random) -> V {
    match shape {
        Shape::Plane => [random.within(4.0), random.within(4.0), 0.0],
        Shape::Box { half } => {
            let mut x = half.map(|h| random.within(h));
            let axis = (random.unit() * 3.0) as usize;
            x[axis] = half[axis].copysign(random.within(1.0));
            x
        }
        Shape::Sphere { radius } => {
            let v = random.point(1.0);
            v.map(|c| c * radius / norm(v))
        }
        Shape::Capsule {
            radius,
            half_length,
        } => {
            let v = random.point(1.0);
            let along = random.within(1.0) * half_length;
            if random.unit() < 0.5 {
                let r = radius / v[0].hypot(v[1]);
                [r * v[0], r * v[1], along]
            } else {
                let p = v.map(|c| c * radius / norm(v));
                [p[0], p[1], p[2] + half_length.copysign(p[2])]
            }
        }
        Shape::HeightField(f) => {
            let [w, d] = f.size();
            let (mut x, mut y) = (random.unit() * w, random.unit() * d);
            if random.unit() < 0.5 {
                return [x, y, height(f, x, y)];
            }
            match (random.unit() * 4.0) as usize {
                0 => x = 0.0,
                1 => x = w,
                2 => y = 0.0,
                _ => y = d,
            }
            [x, y, height(f, x, y) - 4.0 * random.unit()]
        }
        Shape::Mesh(_) => unreachable!(),
    }
}

fn solids() -> Vec<Shape> {
    vec![
        Shape::Plane,
        Shape::Box {
            half: [0.5, 1.2, 0.3],
        },
        Shape::Box { half: [1.0; 3] },
        Shape::Box {
            half: [1e-3, 1.0, 1.0],
        },
        Shape::Sphere { radius: 0.8 },
        Shape::Capsule {
            radius: 0.4,
            half_length: 0.7,
        },
        Shape::Capsule {
            radius: 0.4,
            half_length: 0.0,
        },
        Shape::HeightField(hills()),
    ]
}

/// Distance, normal and closest point belong together; the sign is right; no point of the
/// surface is nearer; and the closest point is one of the surface.
#[test]
fn distance_fields_agree_with_brute_force() {
    let mut random = Random(1);
    for shape in solids() {
        for turn in 0..3 {
            let pose = if turn == 0 {
                Pose::IDENTITY
            } else {
                random.pose()
            };
            let colliders = single(shape.clone(), pose);
            let surface: Vec<V> = (0..2000)
                .map(|_| pose.apply(on_surface(&shape, &mut random)))
                .collect();
            for _ in 0..2000 {
                let local = random.point(2.0);
                let x = pose.apply(local);
                let c = colliders.query(x, f64::INFINITY, None).unwrap();
                assert!((norm(c.normal) - 1.0).abs() < 1e-12);
                let back = add(c.point, c.distance, c.normal);
                assert!(
                    norm(sub(back, x)) < 1e-12 * 10.0,
                    "{shape:?} {local:?} {c:?}"
                );
                assert_eq!(
                    c.distance < 0.0,
                    is_inside(&shape, local),
                    "{shape:?} {local:?}"
                );
                let nearest = surface.iter().map(|s| norm(sub(*s, x)));
                let nearest = nearest.fold(f64::INFINITY, f64::min);
                assert!(
                    c.distance.abs() <= nearest + 1e-12,
                    "{shape:?} {local:?} {c:?}"
                );
                let again = colliders.query(c.point, f64::INFINITY, None).unwrap();
                assert!(
                    again.distance.abs() < 1e-12 * 10.0,
                    "{shape:?} {local:?} {c:?}"
                );
            }
            for s in &surface {
                let c = colliders.query(*s, f64::INFINITY, None).unwrap();
                assert!(c.distance.abs() < 1e-12 * 10.0, "{shape:?} {s:?} {c:?}");
            }
        }
    }
}

/// Central differences of the distance are the normal, but at the few points where two parts of
/// the surface are equally near.
#[test]
fn normals_are_the_gradient_of_length_one() {
    let mut random = Random(2);
    let step = 1e-6;
    for shape in solids() {
        let pose = random.pose();
        let colliders = single(shape.clone(), pose);
        let distance = |x: V| colliders.query(x, f64::INFINITY, None).unwrap().distance;
        let mut kinks = 0;
        for _ in 0..4000 {
            let x = pose.apply(random.point(2.0));
            let c = colliders.query(x, f64::INFINITY, None).unwrap();
            let gradient: V = std::array::from_fn(|d| {
                let mut e = [0.0; 3];
                e[d] = step;
                (distance(add(x, 1.0, e)) - distance(add(x, -1.0, e))) / (2.0 * step)
            });
            if norm(sub(gradient, c.normal)) > 1e-4 {
                kinks += 1;
            }
        }
        assert!(kinks <= 8, "{shape:?}: {kinks} of 4000");
    }
}

#[test]
fn box_at_faces_edges_corners_and_centre() {
    let half = [1.0, 2.0, 3.0];
    let colliders = single(Shape::Box { half }, Pose::IDENTITY);
    let at = |x| {
        let c = colliders.query(x, f64::INFINITY, None).unwrap();
        (c.distance, c.normal)
    };
    assert_eq!(at([2.0, 0.0, 0.0]), (1.0, [1.0, 0.0, 0.0]));
    assert_eq!(at([-2.0, 0.5, 0.5]), (1.0, [-1.0, 0.0, 0.0]));
    assert_eq!(at([0.0, 0.0, 2.5]), (-0.5, [0.0, 0.0, 1.0]));
    assert_eq!(at([0.0, -1.75, 0.0]), (-0.25, [0.0, -1.0, 0.0]));
    assert_eq!(at([4.0, 6.0, 0.0]), (5.0, [0.6, 0.8, 0.0]));
    let corner = at([2.0, 3.0, 4.0]);
    assert!((corner.0 - 3f64.sqrt()).abs() < 1e-15);
    // On the surface: faces, edges, corners.
    assert_eq!(at([1.0, 0.0, 0.0]), (0.0, [1.0, 0.0, 0.0]));
    assert_eq!(at([-1.0, 2.0, 0.0]), (0.0, [-1.0, 0.0, 0.0]));
    assert_eq!(at([1.0, 2.0, -3.0]), (0.0, [1.0, 0.0, 0.0]));
    // Where all is equally near, and where squares underflow.
    assert_eq!(at([0.0; 3]), (-1.0, [1.0, 0.0, 0.0]));
    let shift = single(Shape::Box { half: [1e-30; 3] }, Pose::IDENTITY);
    let c = shift.query([1e-200, 0.0, 2e-30], 1.0, None).unwrap();
    assert!((norm(c.normal) - 1.0).abs() < 1e-12 && c.distance > 0.0);
}

#[test]
fn centres_have_some_normal() {
    let capsule = Shape::Capsule {
        radius: 0.5,
        half_length: 1.0,
    };
    for (shape, x) in [
        (Shape::Sphere { radius: 0.5 }, [0.0; 3]),
        (capsule.clone(), [0.0; 3]),
        (capsule.clone(), [0.0, 0.0, 0.3]),
        (capsule, [0.0, 0.0, -1.0]),
    ] {
        let c = single(shape, Pose::IDENTITY).query(x, 0.1, None).unwrap();
        assert_eq!((c.distance, norm(c.normal)), (-0.5, 1.0));
        assert!((norm(sub(c.point, x)) - 0.5).abs() < 1e-15);
    }
}

/// Above the ground nothing but its triangles counts: each of them asked by the library.
#[test]
fn height_field_agrees_with_all_triangles() {
    let field = hills();
    let [w, d] = field.size();
    let corner = |i: usize, j: usize| {
        let h = field.heights[i + j * field.counts[0]];
        [i as f64 * field.spacing[0], j as f64 * field.spacing[1], h]
    };
    let mut triangles = Vec::new();
    for j in 0..field.counts[1] - 1 {
        for i in 0..field.counts[0] - 1 {
            let (a, c) = (corner(i, j), corner(i + 1, j + 1));
            triangles.push([a, corner(i + 1, j), c]);
            triangles.push([a, c, corner(i, j + 1)]);
        }
    }
    let colliders = single(Shape::HeightField(field.clone()), Pose::IDENTITY);
    let mut random = Random(3);
    for _ in 0..4000 {
        let x = [
            random.within(w) + w / 2.0,
            random.within(d) + d / 2.0,
            random.within(3.0),
        ];
        let foot = [x[0].clamp(0.0, w), x[1].clamp(0.0, d)];
        let sideways = (x[0] - foot[0]).hypot(x[1] - foot[1]);
        let above = x[2] - height(&field, foot[0], foot[1]);
        let surface = triangles.iter().fold(f64::INFINITY, |m, t| {
            m.min(
                closest_point(CellKind::Triangle, 1, 3, t, x)
                    .unwrap()
                    .distance,
            )
        });
        let expected = if above > 0.0 {
            surface
        } else if sideways > 0.0 {
            sideways
        } else {
            let walls = [(0, 0.0), (0, w), (1, 0.0), (1, d)].map(|(axis, at)| {
                let mut foot = foot;
                foot[axis] = at;
                let covered = height(&field, foot[0], foot[1]) >= x[2];
                if covered {
                    (x[axis] - at).abs()
                } else {
                    f64::INFINITY
                }
            });
            -walls.into_iter().fold(surface, f64::min)
        };
        let found = colliders.query(x, f64::INFINITY, None).unwrap();
        assert!(
            (found.distance - expected).abs() < 1e-12,
            "{x:?} {found:?} {expected}"
        );
        // With a limit: the same, or nothing, as the distance says.
        let limit = 0.3;
        let near = colliders.query(x, limit, None);
        assert_eq!(near.is_some(), expected <= limit, "{x:?} {expected}");
        if let Some(near) = near {
            assert!((near.distance - expected).abs() < 1e-12);
        }
    }
    // A flat field is the top of a box.
    let flat = HeightField::from_fn([3, 4], [0.5, 0.5], |_, _| 0.25);
    let flat = single(Shape::HeightField(flat), Pose::IDENTITY);
    for x in [
        [0.3, 0.4, 0.5],
        [0.5, 0.5, 0.25],
        [0.9, 0.75, 0.2],
        [1.4, 1.9, 0.85],
    ] {
        let c = flat.query(x, f64::INFINITY, None).unwrap();
        let out = [(x[0] - 1.0).max(0.0), (x[1] - 1.5).max(0.0)];
        let expected = match out {
            [0.0, 0.0] => x[2] - 0.25,
            [a, b] => norm([a, b, x[2] - 0.25]),
        };
        assert!((c.distance - expected).abs() < 1e-14, "{x:?} {c:?}");
    }
}

#[test]
fn closed_mesh_agrees_with_the_box_it_is() {
    let half = [0.5, 1.0, 0.25];
    let mut random = Random(4);
    let pose = random.pose();
    let exact = single(Shape::Box { half }, pose);
    let mesh = single(Shape::Mesh(cube_mesh(half)), pose);
    for _ in 0..4000 {
        let x = pose.apply(random.point(1.5));
        let a = exact.query(x, f64::INFINITY, None).unwrap();
        let b = mesh.query(x, f64::INFINITY, None).unwrap();
        assert!((a.distance - b.distance).abs() < 1e-12, "{x:?} {a:?} {b:?}");
        // Inside, several faces may be equally near.
        if a.distance > 0.0 {
            assert!(norm(sub(a.normal, b.normal)) < 1e-6, "{x:?} {a:?} {b:?}");
        }
    }
    // On edges and corners: the sum of the normals there.
    let plain = single(Shape::Mesh(cube_mesh(half)), Pose::IDENTITY);
    let corner = plain.query(half, 0.1, None).unwrap();
    assert_eq!(corner.distance, 0.0);
    assert!(
        corner
            .normal
            .iter()
            .all(|c| (c - 1.0 / 3f64.sqrt()).abs() < 1e-12)
    );
    let edge = plain.query([0.5, 1.0, 0.1], 0.1, None).unwrap();
    assert!(norm(sub(edge.normal, [0.5f64.sqrt(), 0.5f64.sqrt(), 0.0])) < 1e-12);
}

#[test]
fn open_mesh_has_two_sides_and_a_container_is_hollow() {
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let sheet = Mesh::new(
        CellKind::Triangle,
        3,
        points.clone(),
        vec![0, 1, 2, 0, 2, 3],
    )
    .unwrap();
    let sheet = single(Shape::Mesh(sheet), Pose::IDENTITY);
    let at = |x| sheet.query(x, 0.5, None).map(|c| (c.distance, c.normal));
    for z in [0.25, -0.25, 0.0] {
        for (x, y) in [(0.3, 0.6), (0.6, 0.3), (0.5, 0.5), (0.0, 0.0), (1.0, 0.5)] {
            let (distance, normal) = at([x, y, z]).unwrap();
            assert!((distance - z).abs() < 1e-15, "{x} {y} {z}");
            assert!(norm(sub(normal, [0.0, 0.0, 1.0])) < 1e-14, "{x} {y} {z}");
        }
    }
    assert_eq!(at([0.3, 0.6, -0.75]), None);
    let beyond = at([1.3, 0.5, 0.4]).unwrap();
    assert!((beyond.0 - 0.5).abs() < 1e-12 && norm(sub(beyond.1, [0.6, 0.0, 0.8])) < 1e-12);
    let below = at([1.3, 0.5, -0.4]).unwrap();
    assert!((below.0 + 0.5).abs() < 1e-12);

    let turned = Mesh::new(CellKind::Triangle, 3, points, vec![0, 1, 2, 0, 3, 2]).unwrap();
    let error = Colliders::new(0.1)
        .unwrap()
        .add(Collider::new(Shape::Mesh(turned)));
    assert!(error.unwrap_err().to_string().contains("orientation"));

    // A sphere with a hole: right except near the hole.
    let sphere = shapes::sphere(3).unwrap();
    let cells = sphere.topology().cells()[3..].to_vec();
    let points = sphere.map().nodes.clone();
    let hole = Mesh::new(CellKind::Triangle, 3, points, cells).unwrap();
    let (whole, hole) = (
        single(Shape::Mesh(sphere.clone()), Pose::IDENTITY),
        single(Shape::Mesh(hole), Pose::IDENTITY),
    );
    let first = sphere.map().vertex(sphere.topology().cell_vertices(0)[0]);
    let mut random = Random(6);
    for _ in 0..2000 {
        let x = random.point(1.5);
        let radius = norm(x);
        let away = norm(sub(x.map(|c| c / radius), first)) > 0.5;
        if (radius - 1.0).abs() < 0.15 && away {
            let (a, b) = (whole.query(x, 1.0, None), hole.query(x, 1.0, None));
            assert!((a.unwrap().distance - b.unwrap().distance).abs() < 1e-12);
        }
    }

    // Normals inward: a vessel that holds material.
    let cube = cube_mesh([1.0; 3]);
    let mut cells = cube.topology().cells().to_vec();
    cells.chunks_exact_mut(3).for_each(|c| c.swap(1, 2));
    let vessel = Mesh::new(CellKind::Triangle, 3, cube.map().nodes.clone(), cells).unwrap();
    let vessel = single(Shape::Mesh(vessel), Pose::IDENTITY);
    for distance in [0.25, -0.25] {
        let c = vessel.query([0.0, 0.1, distance - 1.0], 0.5, None).unwrap();
        assert!((c.distance - distance).abs() < 1e-15);
        assert!(norm(sub(c.normal, [0.0, 0.0, 1.0])) < 1e-14);
    }
}

#[test]
fn tables_of_colliders_keep_their_numbers() {
    let mut colliders = Colliders::new(0.2).unwrap();
    let body = colliders
        .add_body(Body::kinematic(
            Pose::at([0.0, 0.0, 5.0]),
            [0.0; 3],
            [0.0; 3],
        ))
        .unwrap();
    let material = ColliderMaterial {
        thickness: Some(0.05),
        friction: 0.1,
        adhesion: 7.0,
        projection_threshold: Some(0.03),
    };
    colliders.add(Collider::new(Shape::Plane)).unwrap();
    let ball = Collider {
        body,
        material,
        world: Some(3),
        pose: Pose::at([1.0, 0.0, 0.0]),
        ..Collider::new(Shape::Sphere { radius: 0.5 })
    };
    assert_eq!(colliders.add(ball).unwrap(), 1);
    assert_eq!((colliders.len(), colliders.body_count()), (2, 2));
    assert_eq!(
        (colliders.body_of(0), colliders.body_of(1)),
        (Some(GROUND), Some(body))
    );
    assert_eq!(
        (colliders.world_of(0), colliders.world_of(1)),
        (None, Some(3))
    );
    let c = colliders.query([1.0, 0.0, 5.6], 0.2, Some(3)).unwrap();
    assert_eq!(
        (c.collider, c.body, c.friction, c.adhesion, c.threshold),
        (1, body, 0.1, 7.0, 0.03)
    );
    assert!((c.distance - 0.05).abs() < 1e-12);
    // Defaults are parts of the voxel size.
    let c = colliders.query([0.0, 0.0, 0.1], 0.2, None).unwrap();
    assert_eq!(
        (c.collider, c.friction, c.adhesion, c.threshold),
        (0, 0.5, 0.0, 0.002)
    );
    assert!((c.distance - 0.098).abs() < 1e-15);
    assert!((colliders.search_range() - (0.2 * 3f64.sqrt() + 0.05)).abs() < 1e-15);
    colliders.set_voxel_size(0.1).unwrap();
    let c = colliders.query([0.0, 0.0, 0.1], 0.2, None).unwrap();
    assert!((c.distance - 0.099).abs() < 1e-15 && c.threshold == 0.001);
    // The body moves its collider.
    colliders
        .set_pose(
            body,
            Pose::turned([0.0, 0.0, 5.0], [0.0, 0.0, 2.0], 0.5 * std::f64::consts::PI),
        )
        .unwrap();
    let c = colliders.query([0.0, 1.0, 5.6], 0.2, Some(3)).unwrap();
    assert_eq!(c.collider, 1);
    assert!(colliders.query([1.0, 0.0, 5.6], 0.2, Some(3)).is_none());
}

#[test]
fn worlds_are_filtered() {
    let mut colliders = Colliders::new(0.1).unwrap();
    for (world, z) in [(Some(0), 0.0), (Some(1), 1.0), (None, -1.0)] {
        let collider = Collider {
            world,
            pose: Pose::at([0.0, 0.0, z]),
            ..Collider::new(Shape::Plane)
        };
        colliders.add(collider).unwrap();
    }
    let at = |world| {
        colliders
            .query([0.0, 0.0, 1.0], 9.0, world)
            .unwrap()
            .collider
    };
    assert_eq!(
        (at(Some(0)), at(Some(1)), at(Some(2)), at(None)),
        (0, 1, 2, 1)
    );
}

#[test]
fn ties_go_to_the_first() {
    for count in 2..5 {
        let mut colliders = Colliders::new(0.1).unwrap();
        for i in 0..count {
            let material = ColliderMaterial {
                friction: i as f64,
                ..bare()
            };
            colliders
                .add(Collider {
                    material,
                    ..Collider::new(Shape::Plane)
                })
                .unwrap();
        }
        let c = colliders.query([0.3, 0.2, 0.05], 1.0, None).unwrap();
        assert_eq!((c.collider, c.friction), (0, 0.0));
    }
    // Between two balls at equal distance, and with thickness deciding.
    let mut colliders = Colliders::new(0.1).unwrap();
    for (x, thickness) in [(-1.0, 0.0), (1.0, 0.0), (1.0, 0.01)] {
        let collider = Collider {
            pose: Pose::at([x, 0.0, 0.0]),
            material: ColliderMaterial {
                thickness: Some(thickness),
                ..bare()
            },
            ..Collider::new(Shape::Sphere { radius: 0.5 })
        };
        colliders.add(collider).unwrap();
        let c = colliders.query([0.0; 3], 1.0, None).unwrap();
        assert_eq!(c.collider, if thickness > 0.0 { 2 } else { 0 });
    }
}

#[test]
fn out_of_range_is_no_contact() {
    let colliders = single(Shape::Sphere { radius: 1.0 }, Pose::IDENTITY);
    assert!(colliders.query([0.0, 0.0, 1.5], 0.49, None).is_none());
    assert!(colliders.query([0.0, 0.0, 1.5], 0.5, None).is_some());
    assert!(colliders.query([0.0, 0.0, 0.1], 0.0, None).is_some());
    for bad in [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e300] {
        assert!(colliders.query([0.0, bad, 0.0], 1.0, None).is_none());
    }
    for bad in [f64::NAN, -1.0] {
        assert!(colliders.query([0.0; 3], bad, None).is_none());
    }
    assert!(
        Colliders::new(0.1)
            .unwrap()
            .query([0.0; 3], f64::INFINITY, None)
            .is_none()
    );
}

#[test]
fn free_bodies_of_all_worlds_are_refused_in_separate_ones() {
    let ball = Shape::Sphere { radius: 0.5 };
    let on = |body, world| Collider {
        body,
        world,
        ..Collider::new(ball.clone())
    };
    let free = Body::solid_ball(Pose::IDENTITY, 0.5, 2.0);
    let mut colliders = Colliders::new(0.1).unwrap();
    let body = colliders.add_body(free).unwrap();
    colliders.add(on(body, None)).unwrap();
    colliders.check(false).unwrap();
    let error = colliders.check(true).unwrap_err();
    assert!(matches!(error, MpmError::Collider { collider: 0, .. }));
    // Of mass 0 for contact it is as good as kinematic.
    colliders.set_contact_mass(body, 0.0).unwrap();
    colliders.check(true).unwrap();
    // A kinematic body may be everywhere, unless it is given a mass.
    let mut colliders = Colliders::new(0.1).unwrap();
    let body = colliders
        .add_body(Body::kinematic(Pose::IDENTITY, [1.0, 0.0, 0.0], [0.0; 3]))
        .unwrap();
    colliders.add(on(body, None)).unwrap();
    colliders.check(true).unwrap();
    colliders.set_contact_mass(body, 1.0).unwrap();
    assert!(colliders.check(true).is_err());
    // One world is fine, two are not; static ones are grouped by world on one body.
    let mut colliders = Colliders::new(0.1).unwrap();
    let body = colliders.add_body(free).unwrap();
    colliders.add(on(body, Some(0))).unwrap();
    colliders.add(on(GROUND, Some(0))).unwrap();
    colliders.add(on(GROUND, Some(1))).unwrap();
    colliders.add(on(GROUND, None)).unwrap();
    colliders.check(true).unwrap();
    colliders.add(on(body, Some(1))).unwrap();
    assert!(matches!(
        colliders.check(true),
        Err(MpmError::Collider { collider: 4, .. })
    ));
}

#[test]
fn mass_zero_switches_two_way_coupling_off() {
    let mut colliders = Colliders::new(0.1).unwrap();
    let free = Body::solid_box(Pose::IDENTITY, [0.5; 3], 2.0);
    let body = colliders.add_body(free).unwrap();
    assert_eq!(colliders.inverse_mass(body), 0.5);
    // m (0.5² + 0.5²) / 3 = 1/3
    assert!((colliders.inverse_inertia(body)[1][1] - 3.0).abs() < 1e-12);
    colliders.set_contact_mass(body, 4.0).unwrap();
    assert_eq!(colliders.inverse_mass(body), 0.25);
    assert!((colliders.inverse_inertia(body)[2][2] - 1.5).abs() < 1e-12);
    colliders.set_contact_mass(body, 0.0).unwrap();
    assert_eq!(colliders.inverse_mass(body), 0.0);
    assert_eq!(colliders.inverse_inertia(body), [[0.0; 3]; 3]);
    colliders
        .apply_impulse(body, [1.0, 2.0, 3.0], [1.0, 0.0, 0.0])
        .unwrap();
    assert_eq!(colliders.velocity(body), Some(([0.0; 3], [0.0; 3])));
    // It is still told.
    assert_eq!(colliders.impulse(body), ([1.0, 2.0, 3.0], [0.0, -3.0, 2.0]));
    for other in [GROUND, 77] {
        assert_eq!(colliders.inverse_mass(other), 0.0);
        assert_eq!(colliders.inverse_inertia(other), [[0.0; 3]; 3]);
    }
}

#[test]
fn history_is_forgotten_for_chosen_worlds_only() {
    let mut colliders = Colliders::new(0.1).unwrap();
    let worlds = [Some(0), Some(1), None];
    for world in worlds {
        let body = colliders
            .add_body(Body::kinematic(Pose::IDENTITY, [0.0; 3], [0.0; 3]))
            .unwrap();
        let ball = Shape::Sphere { radius: 0.5 };
        colliders
            .add(Collider {
                body,
                world,
                ..Collider::new(ball)
            })
            .unwrap();
        colliders.set_pose(body, Pose::at([1.0, 0.0, 0.0])).unwrap();
    }
    let speed = |colliders: &Colliders, i| {
        colliders.velocity_at(i, [0.0; 3], 0.5, ColliderVelocity::Backward)[0]
    };
    colliders.forget_motion(|w| w == Some(1));
    assert_eq!([0, 1, 2].map(|i| speed(&colliders, i)), [2.0, 0.0, 2.0]);
    colliders.forget_motion(|w| w.is_none());
    assert_eq!([0, 1, 2].map(|i| speed(&colliders, i)), [2.0, 0.0, 0.0]);
    colliders.end_step();
    assert_eq!([0, 1, 2].map(|i| speed(&colliders, i)), [0.0; 3]);
}

/// Forward: where the point will be after the step, exactly; backward: where it came from.
#[test]
fn velocity_is_the_exact_chord() {
    let mut random = Random(9);
    for turn in [0.0, 1e-9, 1e-5, 1e-3, 0.3, 3.0, 40.0] {
        let dt = 0.02;
        let (linear, axis) = (random.point(1.0), random.point(1.0));
        let angular = axis.map(|c| c * turn / (dt * norm(axis)));
        let mut colliders = Colliders::new(0.1).unwrap();
        let mut kinematic = Body::kinematic(random.pose(), linear, angular);
        kinematic.center_of_mass = random.point(0.5);
        let body = colliders.add_body(kinematic).unwrap();
        colliders
            .add(Collider {
                body,
                ..Collider::new(Shape::Plane)
            })
            .unwrap();
        let before = colliders.pose(body).unwrap();
        let local = random.point(1.0);
        let start = before.apply(local);
        let forward = colliders.velocity_at(0, start, dt, ColliderVelocity::Forward);
        // No step yet: previous and present pose are the same.
        let backward = colliders.velocity_at(0, start, dt, ColliderVelocity::Backward);
        assert!(norm(backward) < 1e-12);
        colliders.integrate(dt, [0.0; 3]).unwrap();
        let end = colliders.pose(body).unwrap().apply(local);
        let chord = sub(end, start).map(|c| c / dt);
        // Below the threshold the chord is the tangent, to a relative turn.
        let slack = 1e-11 + if turn <= 1e-4 { turn * turn / dt } else { 0.0 };
        assert!(
            norm(sub(forward, chord)) < slack * 10.0,
            "{turn} {forward:?} {chord:?}"
        );
        let backward = colliders.velocity_at(0, end, dt, ColliderVelocity::Backward);
        assert!(norm(sub(backward, chord)) < 1e-11);
        // Without a step: the tangent.
        let arm = sub(start, before.apply(kinematic.center_of_mass));
        let tangent = add(linear, 1.0, cross(angular, arm));
        for mode in [ColliderVelocity::Forward, ColliderVelocity::Backward] {
            // Angular velocity of the present, at the place of before.
            colliders.set_pose(body, before).unwrap();
            let now = colliders.velocity_at(0, start, 0.0, mode);
            assert!(norm(sub(now, tangent)) < 1e-9, "{now:?} {tangent:?}");
        }
    }
}

/// A pose that is rewritten without a velocity moves material only in backward mode.
#[test]
fn finite_difference_collider() {
    let mut colliders = Colliders::new(0.1).unwrap();
    let body = colliders
        .add_body(Body::kinematic(Pose::IDENTITY, [0.0; 3], [0.0; 3]))
        .unwrap();
    let half = [0.5, 0.1, 0.5];
    colliders
        .add(Collider {
            body,
            ..Collider::new(Shape::Box { half })
        })
        .unwrap();
    let dt = 0.02;
    for step in 1..=15 {
        colliders.begin_step();
        colliders
            .set_pose(body, Pose::at([0.5 * dt * f64::from(step), 0.0, 0.0]))
            .unwrap();
        let at = [0.0, 0.1, 0.0];
        let v = colliders.velocity_at(0, at, dt, ColliderVelocity::Backward);
        assert!(norm(sub(v, [0.5, 0.0, 0.0])) < 1e-12);
        assert_eq!(
            colliders.velocity_at(0, at, dt, ColliderVelocity::Forward),
            [0.0; 3]
        );
        colliders.end_step();
    }
}

fn inverse(colliders: &Colliders, body: usize) -> [V; 3] {
    colliders.inverse_inertia(body)
}

/// L and E from velocities and the inverse inertia: ω = I⁻¹ L, E = ½ ω·L.
fn momentum(colliders: &Colliders, body: usize) -> V {
    let (m, omega) = (
        inverse(colliders, body),
        colliders.velocity(body).unwrap().1,
    );
    // Cramer's rule.
    let det = dot(m[0], cross(m[1], m[2]));
    std::array::from_fn(|d| {
        let mut n = [0, 1, 2].map(|r| m[r]);
        (0..3).for_each(|r| n[r][d] = omega[r]);
        dot(n[0], cross(n[1], n[2])) / det
    })
}

#[test]
fn free_rotation_keeps_angular_momentum_and_energy() {
    let skewed = [[2.0, 0.3, -0.1], [0.3, 1.5, 0.2], [-0.1, 0.2, 0.9]];
    for inertia in [
        [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.8]],
        [[0.01, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        skewed,
    ] {
        for angular in [
            [0.1, 3.0, 0.1],
            [5.0, 0.01, 0.0],
            [1.0, 2.0, -3.0],
            [0.0, 20.0, 0.1],
        ] {
            let mut colliders = Colliders::new(0.1).unwrap();
            let free = Body {
                angular,
                center_of_mass: [0.2, -0.1, 0.3],
                ..Body::dynamic(
                    Pose::turned([1.0, 2.0, 3.0], [1.0, 1.0, 0.0], 0.7),
                    1.5,
                    inertia,
                )
            };
            let body = colliders.add_body(free).unwrap();
            let (start, center) = (momentum(&colliders, body), colliders.center_of_mass(body));
            let energy = |c: &Colliders| 0.5 * dot(momentum(c, body), c.velocity(body).unwrap().1);
            let before = energy(&colliders);
            for _ in 0..1000 {
                colliders.integrate(0.01, [0.0; 3]).unwrap();
                let l = momentum(&colliders, body);
                assert!(norm(sub(l, start)) < 1e-6 * norm(start));
                let change = (energy(&colliders) - before).abs();
                assert!(
                    change < 1e-3 * before,
                    "{inertia:?} {angular:?} {}",
                    change / before
                );
            }
            assert!(norm(sub(colliders.center_of_mass(body), center)) < 1e-11);
            let q = colliders.pose(body).unwrap().rotation;
            assert!((q.iter().map(|c| c * c).sum::<f64>() - 1.0).abs() < 1e-14);
        }
    }
}

/// However fast it spins: bounded, and the momentum stays.
#[test]
fn fast_rotation_is_stable() {
    let mut colliders = Colliders::new(0.1).unwrap();
    let free = Body {
        angular: [300.0, 1.0, 2000.0],
        ..Body::dynamic(
            Pose::IDENTITY,
            1.0,
            [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.8]],
        )
    };
    let body = colliders.add_body(free).unwrap();
    let start = momentum(&colliders, body);
    for _ in 0..1000 {
        colliders.integrate(0.1, [0.0; 3]).unwrap();
        assert!(norm(sub(momentum(&colliders, body), start)) < 1e-6 * norm(start));
        // |ω| ≤ |L| / smallest moment.
        assert!(norm(colliders.velocity(body).unwrap().1) < norm(start) * 1.001);
    }
}

#[test]
fn free_fall() {
    let mut colliders = Colliders::new(0.1).unwrap();
    let free = Body {
        linear: [1.0, 0.0, 2.0],
        ..Body::solid_ball(Pose::IDENTITY, 0.5, 3.0)
    };
    let body = colliders.add_body(free).unwrap();
    let still = colliders.add_body(Body::fixed(Pose::at([1.0; 3]))).unwrap();
    let (dt, g, steps) = (0.01, -9.81, 100);
    for _ in 0..steps {
        colliders.integrate(dt, [0.0, 0.0, g]).unwrap();
    }
    // Semi-implicit Euler: z = v t + g t (t + dt) / 2.
    let t = dt * f64::from(steps);
    let at = colliders.pose(body).unwrap().position;
    let expected = [t, 0.0, 2.0 * t + 0.5 * g * t * (t + dt)];
    assert!(norm(sub(at, expected)) < 1e-12);
    let (v, _) = colliders.velocity(body).unwrap();
    assert!((v[2] - (2.0 + g * t)).abs() < 1e-12);
    assert_eq!(colliders.pose(still).unwrap().position, [1.0; 3]);
}

/// Opposite impulses between two bodies keep momentum and angular momentum about the origin.
#[test]
fn impulses_conserve_momentum() {
    let mut random = Random(11);
    let mut colliders = Colliders::new(0.1).unwrap();
    for mass in [0.5, 40.0] {
        let body = Body {
            linear: random.point(1.0),
            angular: random.point(1.0),
            center_of_mass: random.point(0.2),
            ..Body::solid_box(random.pose(), [0.2, 0.5, 0.3], mass)
        };
        colliders.add_body(body).unwrap();
    }
    let total = |c: &Colliders| {
        let mut sum = ([0.0; 3], [0.0; 3]);
        for body in 1..3 {
            let p = c
                .velocity(body)
                .unwrap()
                .0
                .map(|v| v / c.inverse_mass(body));
            let spin = momentum(c, body);
            sum.0 = add(sum.0, 1.0, p);
            sum.1 = add(sum.1, 1.0, add(spin, 1.0, cross(c.center_of_mass(body), p)));
        }
        sum
    };
    let before = total(&colliders);
    colliders.begin_step();
    let mut told = [0.0; 3];
    let velocities = [1, 2].map(|b| colliders.velocity(b).unwrap());
    for _ in 0..100 {
        let (impulse, at) = (random.point(0.3), random.point(1.0));
        colliders.apply_impulse(1, impulse, at).unwrap();
        colliders.apply_impulse(2, impulse.map(|c| -c), at).unwrap();
        told = add(told, 1.0, impulse);
    }
    let after = total(&colliders);
    assert!(norm(sub(before.0, after.0)) < 1e-11 && norm(sub(before.1, after.1)) < 1e-10);
    assert!(norm(sub(colliders.impulse(1).0, told)) < 1e-12);
    assert!(norm(add(colliders.impulse(1).0, 1.0, colliders.impulse(2).0)) < 1e-12);
    // What the impulses did can be taken out again.
    for (body, (v, w)) in [1, 2].into_iter().zip(velocities) {
        colliders.rewind(body).unwrap();
        let now = colliders.velocity(body).unwrap();
        assert!(norm(sub(now.0, v)) < 1e-12 && norm(sub(now.1, w)) < 1e-11);
    }
    colliders.begin_step();
    assert_eq!(colliders.impulse(1), ([0.0; 3], [0.0; 3]));
}

/// ω gained by an off-centre impulse: I⁻¹ r × J, in the world.
#[test]
fn inertia_turns_with_the_body() {
    let mut colliders = Colliders::new(0.1).unwrap();
    let quarter = Pose::turned([0.0; 3], [0.0, 0.0, 1.0], 0.5 * std::f64::consts::PI);
    let inertia = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]];
    let body = colliders
        .add_body(Body::dynamic(quarter, 2.0, inertia))
        .unwrap();
    let m = colliders.inverse_inertia(body);
    // The body's x axis is now y.
    for (i, expected) in [0.5, 1.0, 0.25].into_iter().enumerate() {
        assert!((m[i][i] - expected).abs() < 1e-12);
    }
    colliders
        .apply_impulse(body, [0.0, 0.0, 3.0], [0.0, 1.0, 0.0])
        .unwrap();
    let (v, w) = colliders.velocity(body).unwrap();
    assert_eq!(v, [0.0, 0.0, 1.5]);
    assert!(norm(sub(w, times(m, [3.0, 0.0, 0.0]))) < 1e-12 && (w[0] - 1.5).abs() < 1e-12);
}

fn cloud(points: &[V], velocity: [f32; 3]) -> Particles {
    let mut particles = Particles::new();
    for &x in points {
        let i = particles.push(x, 1.0, 0.05);
        particles.velocity[i] = velocity;
        particles.gradient[i] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    }
    particles
}

#[test]
fn project_outside_slides_and_pushes() {
    let plane = |friction| {
        let mut colliders = Colliders::new(0.1).unwrap();
        let material = ColliderMaterial {
            friction,
            projection_threshold: Some(0.0),
            ..bare()
        };
        colliders
            .add(Collider {
                material,
                ..Collider::new(Shape::Plane)
            })
            .unwrap();
        colliders
    };
    let forward = ColliderVelocity::Forward;
    // Velocity (2, 0, -1): friction 0.5 takes 0.5 of the tangential 2.
    let mut p = cloud(&[[0.0, 0.0, -0.05], [0.0, 0.0, 0.05]], [2.0, 0.0, -1.0]);
    let moved = plane(0.5)
        .project_outside(&mut p, 0.1, None, forward)
        .unwrap();
    assert_eq!(moved, 1);
    assert_eq!(p.velocity[0], [1.5, 0.0, 0.0]);
    // Moved back by what the velocity lost, here further than to the surface.
    assert!(norm(sub(p.position[0], [-0.05, 0.0, 0.05])) < 1e-12);
    assert_eq!(
        p.gradient[0],
        [[0.0, -1.0, -2.0], [1.0, 0.0, -1.0], [2.0, 1.0, 0.0]]
    );
    assert_eq!(p.velocity[1], [2.0, 0.0, -1.0]);
    assert_eq!(p.position[1], [0.0, 0.0, 0.05]);
    // Much friction stops it; leaving, it only gets pushed out.
    let mut p = cloud(&[[0.0, 0.0, -0.05]], [2.0, 0.0, -1.0]);
    plane(3.0)
        .project_outside(&mut p, 0.0, None, forward)
        .unwrap();
    assert_eq!((p.velocity[0], p.position[0]), ([0.0; 3], [0.0; 3]));
    let mut p = cloud(&[[0.0, 0.0, -0.05]], [2.0, 0.0, 1.0]);
    plane(0.5)
        .project_outside(&mut p, 0.0, None, forward)
        .unwrap();
    assert_eq!((p.velocity[0], p.position[0]), ([2.0, 0.0, 1.0], [0.0; 3]));
    // Inactive and kinematic particles, bad numbers, and shallow ones stay.
    let mut p = cloud(&[[0.0, 0.0, -0.05]; 4], [0.0; 3]);
    p.flags[0] = 0;
    p.mass[1] = 0.0;
    p.position[2][1] = f64::NAN;
    p.velocity[3][0] = f32::INFINITY;
    assert_eq!(
        plane(0.5).project_outside(&mut p, 0.1, None, forward),
        Ok(0)
    );
    let mut p = cloud(&[[0.0, 0.0, -0.0005], [0.0, 0.0, -0.0015]], [0.0; 3]);
    let default = single(Shape::Plane, Pose::IDENTITY);
    assert_eq!(default.project_outside(&mut p, 0.1, None, forward), Ok(1));
    assert!((p.position[1][2] + 0.001).abs() < 1e-12);
    // A wall that will have moved into a particle takes it along.
    let mut colliders = Colliders::new(0.1).unwrap();
    let lift = Body::kinematic(Pose::IDENTITY, [0.0, 0.0, 1.0], [0.0; 3]);
    let body = colliders.add_body(lift).unwrap();
    colliders
        .add(Collider {
            body,
            ..Collider::new(Shape::Plane)
        })
        .unwrap();
    let mut p = cloud(&[[0.0, 0.0, 0.05]], [0.0; 3]);
    assert_eq!(colliders.project_outside(&mut p, 0.1, None, forward), Ok(1));
    assert_eq!(p.velocity[0], [0.0, 0.0, 1.0]);
    // Errors before anything moves.
    let mut p = cloud(&[[0.0, 0.0, -0.05]], [0.0; 3]);
    let copy = p.clone();
    for dt in [-1.0, f64::NAN, f64::INFINITY] {
        let error = default.project_outside(&mut p, dt, None, forward);
        assert!(matches!(error, Err(MpmError::TimeStep { .. })));
    }
    assert!(
        default
            .project_outside(&mut p, 0.1, Some(-1.0), forward)
            .is_err()
    );
    p.world.clear();
    let error = default.project_outside(&mut p, 0.1, None, forward);
    assert!(matches!(error, Err(MpmError::Length { name: "world", .. })));
    assert_eq!(p.position, copy.position);
}

#[test]
fn project_outside_is_filtered_by_world() {
    let mut random = Random(13);
    let points: Vec<V> = (0..3000).map(|_| random.point(1.0)).collect();
    let scene = |worlds: &[Option<u32>]| {
        let mut colliders = Colliders::new(0.5).unwrap();
        for &world in worlds {
            let collider = Collider {
                world,
                ..Collider::new(Shape::Sphere { radius: 0.7 })
            };
            colliders.add(collider).unwrap();
        }
        colliders
    };
    let start = {
        let mut p = cloud(&points, [0.3, 0.1, -0.5]);
        (0..p.len()).for_each(|i| p.world[i] = (i % 3) as u32);
        p
    };
    let run = |worlds: &[Option<u32>]| {
        let mut p = start.clone();
        let forward = ColliderVelocity::Forward;
        let moved = scene(worlds).project_outside(&mut p, 0.01, None, forward);
        (p, moved.unwrap())
    };
    let (all, count) = run(&[None]);
    let (each, same) = run(&[Some(0), Some(1), Some(2)]);
    let (one, fewer) = run(&[Some(1)]);
    assert_eq!((count, &all), (same, &each));
    assert!(fewer > 0 && fewer < count);
    for i in 0..points.len() {
        let reference = if i % 3 == 1 { &all } else { &start };
        assert_eq!(one.position[i], reference.position[i]);
    }
    // Any number of threads.
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        assert_eq!(pool.install(|| run(&[None])).0, all);
    }
}

#[test]
fn queries_allocate_nothing() {
    let mut colliders = Colliders::new(0.1).unwrap();
    for shape in solids().into_iter().chain([
        Shape::Mesh(shapes::sphere(3).unwrap()),
        Shape::Mesh(cube_mesh([0.5; 3])),
    ]) {
        colliders.add(Collider::new(shape)).unwrap();
    }
    let mut random = Random(17);
    let mut ask = || {
        for _ in 0..1000 {
            let c = colliders.query(random.point(2.0), 0.5, Some(0));
            c.map(|c| colliders.velocity_at(c.collider, c.point, 0.1, ColliderVelocity::Forward));
        }
    };
    ask();
    let before = CALLS.get();
    ask();
    assert_eq!(CALLS.get(), before);
}

#[test]
fn hostile_shapes_are_refused() {
    let bad_sizes = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e31, 1e-31];
    let mut shapes = Vec::new();
    for bad in bad_sizes {
        for axis in 0..3 {
            let mut half = [1.0; 3];
            half[axis] = bad;
            shapes.push(Shape::Box { half });
        }
        let half_length = 1.0;
        shapes.push(Shape::Sphere { radius: bad });
        shapes.push(Shape::Capsule {
            radius: bad,
            half_length,
        });
        let mut field = HeightField::from_fn([2, 2], [1.0; 2], |_, _| 0.0);
        field.spacing[1] = bad;
        shapes.push(Shape::HeightField(field));
        if bad != 0.0 && bad != 1e-31 {
            let half_length = if bad > 0.0 { f64::INFINITY } else { bad };
            shapes.push(Shape::Capsule {
                radius: 1.0,
                half_length,
            });
        }
    }
    for bad in [f64::NAN, f64::NEG_INFINITY, 1e31] {
        let field = HeightField::from_fn([3, 3], [1.0; 2], |x, y| if x == y { bad } else { 0.0 });
        shapes.push(Shape::HeightField(field));
    }
    for counts in [[0, 0], [1, 5], [5, 1], [usize::MAX, 2], [3, 3]] {
        shapes.push(Shape::HeightField(HeightField {
            counts,
            spacing: [1.0; 2],
            heights: vec![0.0; 5],
        }));
    }
    let quads = weft::geometry::shapes::sphere_quads(1).unwrap();
    shapes.push(Shape::Mesh(quads));
    let flat = weft::geometry::shapes::rectangle_triangles([1, 1], [0.0; 2], [1.0; 2]).unwrap();
    shapes.push(Shape::Mesh(flat));
    let mut colliders = Colliders::new(0.1).unwrap();
    for shape in shapes {
        let text = format!("{shape:?}");
        let error = colliders.add(Collider::new(shape)).expect_err(&text);
        assert!(
            matches!(error, MpmError::Collider { collider: 0, .. }),
            "{text}"
        );
    }
    assert!(colliders.is_empty());
    // An empty mesh cannot be made.
    assert!(Mesh::new(CellKind::Triangle, 3, vec![[0.0; 3]], vec![]).is_err());
    for bad in bad_sizes {
        assert!(matches!(Colliders::new(bad), Err(MpmError::Config { .. })));
    }
}

#[test]
fn hostile_materials_poses_and_bodies_are_refused() {
    let mut colliders = Colliders::new(0.1).unwrap();
    let good = Collider::new(Shape::Plane);
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1e31] {
        let material = good.material;
        for material in [
            ColliderMaterial {
                friction: bad,
                ..material
            },
            ColliderMaterial {
                adhesion: bad,
                ..material
            },
            ColliderMaterial {
                thickness: Some(bad),
                ..material
            },
            ColliderMaterial {
                projection_threshold: Some(bad),
                ..material
            },
        ] {
            let collider = Collider {
                material,
                ..good.clone()
            };
            assert!(colliders.add(collider).is_err(), "{material:?}");
        }
    }
    let poses = [
        Pose::at([0.0, f64::NAN, 0.0]),
        Pose::at([1e31, 0.0, 0.0]),
        Pose::turned([0.0; 3], [0.0; 3], 1.0),
        Pose::facing([0.0; 3], [0.0; 3]),
        Pose {
            rotation: [0.0; 4],
            ..Pose::IDENTITY
        },
        Pose {
            rotation: [f64::INFINITY, 0.0, 0.0, 1.0],
            ..Pose::IDENTITY
        },
    ];
    let moving = colliders
        .add_body(Body::kinematic(Pose::IDENTITY, [0.0; 3], [0.0; 3]))
        .unwrap();
    for pose in poses {
        let collider = Collider {
            pose,
            ..good.clone()
        };
        assert!(colliders.add(collider).is_err(), "{pose:?}");
        assert!(colliders.add_body(Body::fixed(pose)).is_err());
        assert!(colliders.set_pose(moving, pose).is_err());
    }
    assert_eq!(colliders.pose(moving), Some(Pose::IDENTITY));
    let ball = Body::solid_ball(Pose::IDENTITY, 1.0, 1.0);
    let mut bodies = vec![
        Body {
            motion: Motion::Static,
            linear: [1.0, 0.0, 0.0],
            ..ball
        },
        Body {
            center_of_mass: [f64::NAN; 3],
            ..ball
        },
        Body {
            angular: [0.0, f64::INFINITY, 0.0],
            ..ball
        },
    ];
    for mass in [0.0, -1.0, f64::NAN, 1e31] {
        bodies.push(Body { mass, ..ball });
    }
    for inertia in [
        [[0.0; 3]; 3],
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
        [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
        [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
        [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[f64::NAN; 3]; 3],
        [[1e31, 0.0, 0.0], [0.0, 1e31, 0.0], [0.0, 0.0, 1e31]],
    ] {
        bodies.push(Body { inertia, ..ball });
    }
    for body in bodies {
        assert!(colliders.add_body(body).is_err(), "{body:?}");
    }
    assert_eq!(colliders.body_count(), 2);
    // Bodies that are not there, or don't move.
    let missing = Collider {
        body: 9,
        ..good.clone()
    };
    assert!(
        colliders
            .add(missing)
            .unwrap_err()
            .to_string()
            .contains("body 9")
    );
    for body in [GROUND, 9] {
        assert!(colliders.set_pose(body, Pose::IDENTITY).is_err());
        assert!(colliders.set_velocity(body, [0.0; 3], [0.0; 3]).is_err());
        assert!(colliders.set_contact_mass(body, 1.0).is_err());
        assert!(colliders.rewind(body).is_err());
    }
    assert!(colliders.apply_impulse(9, [0.0; 3], [0.0; 3]).is_err());
    assert!(
        colliders
            .apply_impulse(moving, [f64::NAN; 3], [0.0; 3])
            .is_err()
    );
    assert!(
        colliders
            .set_velocity(moving, [f64::NAN; 3], [0.0; 3])
            .is_err()
    );
    assert!(colliders.set_contact_mass(moving, -1.0).is_err());
    for dt in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = colliders.integrate(dt, [0.0; 3]);
        assert!(matches!(error, Err(MpmError::TimeStep { .. })));
    }
    let free = colliders.add_body(ball).unwrap();
    assert!(colliders.integrate(1e300, [0.0, 0.0, -1e300]).is_err());
    assert_eq!(colliders.pose(free), Some(Pose::IDENTITY));
}

/// Backward velocities are for bodies whose poses are given.
#[test]
fn issue_005_backward_is_kinematic() {
    for (body, wanted) in [
        (
            Body::kinematic(Pose::IDENTITY, [0.0; 3], [0.0; 3]),
            [2.0, 0.0, 0.0],
        ),
        (Body::solid_ball(Pose::IDENTITY, 0.5, 1.0), [0.0, 3.0, 0.0]),
    ] {
        let mut colliders = Colliders::new(0.1).unwrap();
        let body = colliders.add_body(body).unwrap();
        let shape = Shape::Sphere { radius: 0.5 };
        colliders
            .add(Collider {
                body,
                ..Collider::new(shape)
            })
            .unwrap();
        colliders.set_pose(body, Pose::at([0.2, 0.0, 0.0])).unwrap();
        colliders
            .set_velocity(body, [0.0, 3.0, 0.0], [0.0; 3])
            .unwrap();
        let found = colliders.velocity_at(0, [0.2, 0.0, 0.0], 0.1, ColliderVelocity::Backward);
        assert!(norm(sub(found, wanted)) < 1e-12, "{found:?}");
    }
}
