//! Counts every heap allocation: a step makes none once the cells are those that were seen
//! before, memory does not grow, and a solver says how much it keeps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use weft::geometry::shapes;
use weft_mpm::collider::{Body, Collider, ColliderMaterial, Colliders, HeightField, Pose, Shape};
use weft_mpm::emit::{Fill, KillZone, Zone};
use weft_mpm::{
    ColliderBasis, Config, GridKind, Integration, LinearKind, Material, Particles, RheologyKind,
    Solver, Stage, StrainBasis, Transfer, VelocityBasis, WarmStart, update_frames,
};

/// The system's allocator, counting what the threads that are watched do with it.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: everything is passed on to the system's allocator; the counters are atomic and the flag
// a plain thread-local without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if WATCHED.get() {
            CALLS.fetch_add(1, Ordering::Relaxed);
            BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if WATCHED.get() {
            BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The counters are everyone's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Allocations and live bytes so far.
fn counted() -> (usize, isize) {
    (CALLS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed))
}

/// Nothing was allocated since, and nothing is kept. What threads hand to each other may be freed
/// late.
fn same(before: (usize, isize), place: impl Fn() -> String) {
    let now = counted();
    assert_eq!(now.0, before.0, "allocations, {}", place());
    assert!(now.1 <= before.1, "{now:?} {before:?}, {}", place());
    if rayon::current_num_threads() == 1 {
        assert_eq!(now.1, before.1, "bytes, {}", place());
    }
}

/// Runs on a thread of a watched pool: handing work to a pool from outside allocates.
fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler(|_| WATCHED.set(true))
        .build()
        .unwrap();
    pool.install(work)
}

/// One of everything that materials can have.
fn materials() -> Vec<Material> {
    let snow = Material {
        young_modulus: 1e5,
        damping: 0.01,
        yield_pressure: 1e4,
        tensile_yield_ratio: 0.1,
        hardening: 5.0,
        dilatancy: 0.3,
        ..Material::default()
    };
    let mud = Material {
        viscosity: 10.0,
        yield_stress: 100.0,
        ..Material::default()
    };
    vec![Material::default(), snow, mud]
}

/// Elastic material only, for linear solvers.
fn jelly() -> Vec<Material> {
    let jelly = Material {
        young_modulus: 1e5,
        damping: 0.01,
        ..Material::default()
    };
    vec![jelly; 3]
}

/// A block of n³ particles, two a cell and axis, on the ground.
fn block(n: usize, h: f64) -> Particles {
    let spacing = 0.5 * h;
    let mut particles = Fill {
        jitter: 0.5,
        ..Fill::default()
    }
    .lattice([0.25 * h; 3], [n; 3], [spacing; 3])
    .unwrap();
    for i in 0..particles.len() {
        particles.material[i] = (i % 3) as u16;
        particles.world[i] = (i % 2) as u32;
        particles.plastic_volume[i] = 0.95;
    }
    particles
}

/// The ground, and a small ball that moves and yields.
fn surroundings(h: f64) -> Colliders {
    let mut colliders = Colliders::new(h).unwrap();
    let ground = ColliderMaterial {
        friction: 0.5,
        adhesion: 10.0,
        ..ColliderMaterial::default()
    };
    colliders
        .add(Collider {
            material: ground,
            ..Collider::new(Shape::Plane)
        })
        .unwrap();
    let at = Pose::at([1.5 * h, 1.5 * h, 3.5 * h]);
    let ball = colliders
        .add_body(Body::solid_ball(at, 0.5 * h, 1.0))
        .unwrap();
    colliders
        .add(Collider {
            body: ball,
            world: Some(0),
            ..Collider::new(Shape::Sphere { radius: 0.5 * h })
        })
        .unwrap();
    colliders
}

/// Steps after which the cloud is where it was.
const CYCLE: usize = 8;

/// Puts a cloud to its place in a cycle, as if it had never deformed.
fn place(particles: &mut Particles, rest: &Particles, h: f64, step: usize) {
    let angle = std::f64::consts::TAU * (step % CYCLE) as f64 / CYCLE as f64;
    let (s, c) = angle.sin_cos();
    // Field by field: cloning the whole would allocate.
    particles.position.clone_from(&rest.position);
    particles.velocity.clone_from(&rest.velocity);
    particles.gradient.clone_from(&rest.gradient);
    particles.elastic.clone_from(&rest.elastic);
    particles.plastic_volume.clone_from(&rest.plastic_volume);
    particles.stress.clone_from(&rest.stress);
    for x in &mut particles.position {
        x[0] += 1.3 * h * s;
        x[1] += 0.8 * h * (1.0 - c);
        x[2] *= 1.0 + 0.2 * s;
    }
}

/// Cycles of a moving cloud after two to warm up: no allocation, and the same bytes at the end of
/// each step.
fn sloshing(config: &Config, materials: Vec<Material>, with_colliders: bool) {
    let h = config.voxel_size;
    let rest = block(5, h);
    let mut particles = rest.clone();
    let mut colliders = match with_colliders {
        true => surroundings(h),
        false => Colliders::new(h).unwrap(),
    };
    let mut config = config.clone();
    if config.grid == GridKind::Fixed {
        config.grid_padding = 2;
    }
    let mut solver = Solver::new(config.clone(), materials, &particles, &colliders).unwrap();
    let mut cells = [0; CYCLE];
    let mut run = |step: usize| {
        place(&mut particles, &rest, h, step);
        let report = solver.step(&mut particles, &mut colliders, 1e-3).unwrap();
        let body = colliders.body_count() - 1;
        if body > 0 {
            colliders
                .set_pose(body, Pose::at([1.5 * h, 1.5 * h, 3.5 * h]))
                .unwrap();
        }
        assert!(report.binned > 0 && report.sweeps > 0);
        let lattice = !matches!(config.collider_basis, ColliderBasis::Particle(_));
        let near = with_colliders && lattice && config.grid != GridKind::Fixed;
        assert!(!near || report.contacts > 0);
        cells[step % CYCLE] = report.cells;
    };
    // Twice round, since two sets of cells take turns.
    (0..2 * CYCLE).for_each(&mut run);
    let before = counted();
    for step in 2 * CYCLE..3 * CYCLE {
        run(step);
        same(before, || format!("step {step} of {config:?}"));
    }
    if config.grid != GridKind::Fixed {
        assert!(cells.iter().any(|&c| c != cells[0]), "{cells:?}");
    }
}

/// What the sweep varies: options of the configuration, by number.
const COUNTS: [usize; 12] = [3, 5, 3, 4, 8, 5, 2, 2, 2, 2, 2, 2];

fn configuration(choice: [usize; 12]) -> (Config, Vec<Material>, bool) {
    let rheology = |kind| vec![Stage::Rheology(kind)];
    let chain = |kind| vec![Stage::Linear(kind), Stage::Rheology(RheologyKind::Auto)];
    let [
        grid,
        strain,
        velocity,
        collider,
        solver,
        warm,
        transfer,
        integration,
        padded,
        worlds,
        normals,
        compacts,
    ] = choice;
    let linear_alone = solver == 7;
    let config = Config {
        voxel_size: 0.1,
        max_iterations: 7,
        tolerance: 0.0,
        grid: [GridKind::Sparse, GridKind::Dense, GridKind::Fixed][grid],
        strain_basis: [
            StrainBasis::P0,
            StrainBasis::P1d,
            StrainBasis::Q1,
            StrainBasis::Q1d,
            StrainBasis::Particle(5),
        ][strain],
        velocity_basis: [VelocityBasis::Q1, VelocityBasis::B2, VelocityBasis::B3][velocity],
        collider_basis: [
            ColliderBasis::S2,
            ColliderBasis::Q1,
            ColliderBasis::S3,
            ColliderBasis::Particle(3),
        ][collider],
        solver: match solver {
            0 => rheology(RheologyKind::Auto),
            1 => rheology(RheologyKind::GaussSeidel),
            2 => rheology(RheologyKind::Batched),
            3 => rheology(RheologyKind::Jacobi),
            4 => chain(LinearKind::Cg),
            5 => chain(LinearKind::Cr),
            6 => chain(LinearKind::Gmres),
            _ => vec![Stage::Linear(LinearKind::Gmres)],
        },
        warm_start: [
            WarmStart::Auto,
            WarmStart::None,
            WarmStart::Particles,
            WarmStart::Grid,
            WarmStart::Smoothed,
        ][warm],
        transfer: [Transfer::Apic, Transfer::Pic][transfer],
        integration: [Integration::Pic, Integration::Gimp][integration],
        grid_padding: padded,
        separate_worlds: worlds == 1,
        normals_from_distance: normals == 1,
        // Particles as samples do not tell how much room there is.
        critical_fraction: if collider == 3 {
            0.0
        } else {
            0.5 * compacts as f32
        },
        ..Config::default()
    };
    let materials = if linear_alone { jelly() } else { materials() };
    (config, materials, !linear_alone)
}

/// Choices such that every two options of two kinds meet.
fn choices() -> Vec<[usize; 12]> {
    let pairs = || {
        (0..12)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .flat_map(|(a, b)| {
                (0..COUNTS[a]).flat_map(move |i| (0..COUNTS[b]).map(move |j| [(a, i), (b, j)]))
            })
    };
    let mut left: std::collections::BTreeSet<_> = pairs().collect();
    let mut all = Vec::new();
    let mut seed = 1u64;
    let mut draw = |below: usize| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) as usize % below
    };
    while let Some(&pair) = left.first() {
        // The best of some at random that have this pair.
        let of = |choice: &[usize; 12]| {
            let met = |pair: &&[(usize, usize); 2]| pair.iter().all(|&(k, v)| choice[k] == v);
            left.iter().filter(met).count()
        };
        let mut random = || {
            let mut choice = COUNTS.map(&mut draw);
            pair.iter().for_each(|&(k, v)| choice[k] = v);
            choice
        };
        let tries: Vec<[usize; 12]> = (0..30).map(|_| random()).collect();
        let best = tries.into_iter().max_by_key(of).unwrap();
        left.retain(|pair| !pair.iter().all(|&(k, v)| best[k] == v));
        all.push(best);
    }
    all
}

#[test]
fn a_cloud_that_moves_among_seen_cells_allocates_nothing() {
    let _alone = ALONE.lock();
    let choices = choices();
    println!("{} configurations", choices.len());
    for threads in [1, 2] {
        on_threads(threads, || {
            for &choice in &choices {
                let (config, materials, with_colliders) = configuration(choice);
                sloshing(&config, materials, with_colliders);
            }
        });
    }
}

#[test]
fn a_heap_at_rest_allocates_nothing() {
    let _alone = ALONE.lock();
    for threads in [1, 2] {
        on_threads(threads, || {
            let h = 0.1;
            let mut particles = block(12, h);
            particles.world.fill(0);
            particles.material.fill(0);
            let mut colliders = Colliders::new(h).unwrap();
            colliders.add(Collider::new(Shape::Plane)).unwrap();
            // A trough that holds the heap.
            for (at, normal) in [
                ([-0.02, 0.0, 0.0], [1.0, 0.0, 0.0]),
                ([0.62, 0.0, 0.0], [-1.0, 0.0, 0.0]),
                ([0.0, -0.02, 0.0], [0.0, 1.0, 0.0]),
                ([0.0, 0.62, 0.0], [0.0, -1.0, 0.0]),
            ] {
                let wall = Collider {
                    pose: Pose::facing(at, normal),
                    ..Collider::new(Shape::Plane)
                };
                colliders.add(wall).unwrap();
            }
            let config = Config {
                max_iterations: 30,
                ..Config::default()
            };
            let mut solver =
                Solver::new(config, vec![Material::default()], &particles, &colliders).unwrap();
            let mut run = |_: usize| {
                solver.step(&mut particles, &mut colliders, 0.01).unwrap();
                solver.bytes() + particles.bytes() + colliders.bytes()
            };
            (0..100).for_each(|step| {
                run(step);
            });
            let (before, kept) = (counted(), run(100));
            for step in 101..300 {
                assert_eq!(run(step), kept, "step {step}");
                same(before, || format!("step {step}, {threads} threads"));
            }
            let speed = |v: &[f32; 3]| v.iter().map(|c| c * c).sum::<f32>().sqrt();
            let fastest = particles.velocity.iter().map(speed).fold(0.0, f32::max);
            assert!(fastest < 0.2, "{fastest} m/s");
        });
    }
}

#[test]
fn removing_particles_allocates_nothing() {
    let _alone = ALONE.lock();
    on_threads(1, || {
        let mut particles = block(8, 0.1);
        let zone = Zone::Below {
            point: [0.0, 0.0, 0.2],
            normal: [0.0, 0.1, 1.0],
        };
        let zone = KillZone::new(zone).unwrap();
        let kept: Vec<usize> = (0..particles.len())
            .filter(|&i| !zone.contains(particles.position[i]))
            .collect();
        let wanted = particles.clone();
        let before = counted();
        let removed = zone.apply(&mut particles);
        assert_eq!(zone.apply(&mut particles), 0);
        assert_eq!(counted(), before);
        assert!(removed > 0 && kept.len() + removed == wanted.len());
        particles.check(3).unwrap();
        for (now, &then) in kept.iter().enumerate() {
            assert_eq!(particles.position[now], wanted.position[then]);
            assert_eq!(particles.material[now], wanted.material[then]);
            assert_eq!(particles.world[now], wanted.world[then]);
            assert_eq!(particles.mass[now], wanted.mass[then]);
        }
    });
}

/// Bytes that a scene says it has after some steps, and those that the allocator counts.
fn told_and_counted(config: &Config, materials: Vec<Material>, n: usize) -> (usize, usize) {
    let h = config.voxel_size;
    let rest = block(n, h);
    let before = counted().1;
    let mut particles = rest.clone();
    let mut colliders = Colliders::new(h).unwrap();
    colliders.add(Collider::new(Shape::Plane)).unwrap();
    let field = HeightField::from_fn([40, 30], [0.1, 0.1], |x, y| 0.01 * (x + y));
    let field = Collider {
        pose: Pose::at([-1.0; 3]),
        ..Collider::new(Shape::HeightField(field))
    };
    colliders.add(field).unwrap();
    let mut solver = Solver::new(config.clone(), materials, &particles, &colliders).unwrap();
    for step in 0..2 * CYCLE {
        place(&mut particles, &rest, h, step);
        solver.step(&mut particles, &mut colliders, 1e-3).unwrap();
    }
    let counted = (counted().1 - before) as usize;
    (
        particles.bytes() + colliders.bytes() + solver.bytes(),
        counted,
    )
}

#[test]
fn bytes_are_those_of_the_allocator() {
    let _alone = ALONE.lock();
    let mut worst = 0.0f64;
    // Every option is among some ten of them.
    for choice in choices().into_iter().step_by(4) {
        let (mut config, materials, _) = configuration(choice);
        if let Some(Stage::Linear(_)) = config.solver.last() {
            config.solver = vec![Stage::Rheology(RheologyKind::Auto)];
        }
        on_threads(1, || {
            let mut sizes = Vec::new();
            for n in [8, 16] {
                let (told, counted) = told_and_counted(&config, materials.clone(), n);
                let error = told as f64 / counted as f64 - 1.0;
                worst = worst.max(error.abs());
                sizes.push(told);
            }
            assert!(sizes[1] > 2 * sizes[0], "{sizes:?}");
        });
    }
    assert!(worst < 0.02, "{worst}");
}

#[test]
fn bytes_of_colliders_are_about_those_of_the_allocator() {
    let _alone = ALONE.lock();
    on_threads(1, || {
        for (name, parts) in [("small", 3), ("large", 5)] {
            let before = counted().1;
            let mesh = shapes::sphere(parts).unwrap();
            let mut colliders = Colliders::new(0.1).unwrap();
            let collider = Collider::new(Shape::Mesh(mesh.clone()));
            colliders.add(collider).unwrap();
            drop(mesh);
            let (told, counted) = (colliders.bytes(), (counted().1 - before) as usize);
            let error = told as f64 / counted as f64 - 1.0;
            println!("{name}: {told} {counted} {error}");
            assert!(error.abs() < 0.1, "{name}: {told} {counted}");
        }
    });
}

#[test]
fn issue_005_frames_allocate_nothing() {
    let _alone = ALONE.lock();
    on_threads(1, || {
        let mut particles = block(8, 0.1);
        for (i, g) in particles.gradient.iter_mut().enumerate() {
            // Flat ones too, whose directions are completed.
            *g = [[i as f32, 1.0, 0.0], [-1.0, -(i as f32), 2.0], [0.0; 3]];
        }
        let before = counted();
        for _ in 0..3 {
            update_frames(&mut particles, 0.1, 0.25, 2.0).unwrap();
        }
        assert_eq!(counted(), before);
    });
}
