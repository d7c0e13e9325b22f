//! Long validations against experiments, as tables:
//! `cargo run --release -p weft-mpm --example validate -- [dam] [slice] [round] [silo]`.
//!
//! Lengths are in units of the column's width (or the silo's cell), and gravity is 9.81.
//! docs/mpm.md holds what they print.

use weft_mpm::collider::{Collider, ColliderMaterial, Colliders, Pose, Shape};
use weft_mpm::{Config, GridKind, Material, MpmError, Particles, Solver};

const G: f64 = 9.81;
const DENSITY: f64 = 1000.0;

/// Material, walls and solver of a scene.
struct Scene {
    particles: Particles,
    colliders: Colliders,
    solver: Solver,
    dt: f64,
}

impl Scene {
    fn new(
        h: f64,
        dt: f64,
        material: Material,
        particles: Particles,
        walls: Vec<Wall>,
    ) -> Result<Scene, MpmError> {
        let config = Config {
            voxel_size: h,
            grid: GridKind::Dense,
            air_drag: 0.0,
            gravity: vec![[0.0, 0.0, -G as f32]],
            ..Config::default()
        };
        let mut colliders = Colliders::new(h)?;
        for wall in walls {
            colliders.add(Collider {
                pose: wall.pose,
                material: ColliderMaterial {
                    thickness: Some(0.0),
                    friction: wall.friction,
                    ..ColliderMaterial::default()
                },
                ..Collider::new(wall.shape)
            })?;
        }
        let solver = Solver::new(config, vec![material], &particles, &colliders)?;
        Ok(Scene {
            particles,
            colliders,
            solver,
            dt,
        })
    }

    fn step(&mut self) -> Result<(), MpmError> {
        self.solver
            .step(&mut self.particles, &mut self.colliders, self.dt)?;
        Ok(())
    }

    /// Fastest particle.
    fn speed(&self) -> f32 {
        let square = |v: &[f32; 3]| v.iter().map(|x| x * x).sum::<f32>();
        self.particles
            .velocity
            .iter()
            .map(square)
            .fold(0.0, f32::max)
            .sqrt()
    }
}

struct Wall {
    shape: Shape,
    pose: Pose,
    friction: f64,
}

fn plane(at: [f64; 3], normal: [f64; 3], friction: f64) -> Wall {
    Wall {
        shape: Shape::Plane,
        pose: Pose::facing(at, normal),
        friction,
    }
}

/// The faces of a slice 0 ≤ y ≤ `width`, without friction.
fn faces(width: f64) -> [Wall; 2] {
    [
        plane([0.0; 3], [0.0, 1.0, 0.0], 0.0),
        plane([0.0, width, 0.0], [0.0, -1.0, 0.0], 0.0),
    ]
}

/// Particles in a box where `inside` says so, `n` along each edge of a cell.
fn fill(
    lower: [f64; 3],
    upper: [f64; 3],
    h: f64,
    n: usize,
    inside: impl Fn([f64; 3]) -> bool,
) -> Particles {
    let spacing = h / n as f64;
    let counts = [0, 1, 2].map(|d| ((upper[d] - lower[d]) / spacing).round() as usize);
    let mut particles = Particles::new();
    for k in 0..counts[2] {
        for j in 0..counts[1] {
            for i in 0..counts[0] {
                let at = [i, j, k];
                let x = [0, 1, 2].map(|d| lower[d] + (at[d] as f64 + 0.5) * spacing);
                if inside(x) {
                    let mass = DENSITY * spacing.powi(3);
                    particles.push(x, mass as f32, (0.5 * spacing) as f32);
                }
            }
        }
    }
    particles
}

/// The value at `x` on a polygon through points of ascending first number.
fn at(line: &[(f64, f64)], x: f64) -> f64 {
    let next = line.partition_point(|p| p.0 < x).clamp(1, line.len() - 1);
    let ((a, fa), (b, fb)) = (line[next - 1], line[next]);
    fa + (fb - fa) * (x - a) / (b - a)
}

/// Slope of log y over log x.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|p| (p.0.ln(), p.1.ln())).collect();
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    mean(&|p| (p.0 - x) * (p.1 - y)) / mean(&|p| (p.0 - x) * (p.0 - x))
}

// Martin and Moyce 1952, n² = 2: T = t √(2g/a), Z = front / a; as digitised in PySPH.
const SMALL_DAM: [(f64, f64); 10] = [
    (0.849, 1.245),
    (1.212, 1.443),
    (1.602, 1.884),
    (2.283, 2.689),
    (2.950, 3.728),
    (3.598, 4.528),
    (3.905, 4.999),
    (4.592, 5.841),
    (4.961, 6.271),
    (5.316, 6.717),
];
const LARGE_DAM: [(f64, f64); 15] = [
    (0.832, 1.217),
    (1.219, 1.474),
    (1.997, 2.292),
    (2.547, 2.995),
    (3.345, 4.134),
    (4.034, 4.944),
    (4.418, 5.881),
    (5.091, 6.980),
    (5.685, 7.945),
    (6.306, 8.966),
    (6.822, 9.986),
    (7.439, 10.963),
    (8.031, 11.977),
    (8.633, 13.005),
    (9.237, 13.970),
];

/// Column of water a × 2a: T and Z of its front over time.
fn dam(cells: usize, last: f64) -> Result<Vec<(f64, f64)>, MpmError> {
    let h = 1.0 / cells as f64;
    let unit = (1.0 / (2.0 * G)).sqrt();
    let water = Material {
        friction: 0.0,
        ..Material::default()
    };
    let particles = fill([0.0; 3], [1.0, h, 2.0], h, 2, |_| true);
    let mut walls = vec![
        plane([0.0; 3], [0.0, 0.0, 1.0], 0.0),
        plane([0.0; 3], [1.0, 0.0, 0.0], 0.0),
    ];
    walls.extend(faces(h));
    let step = 0.3 * h;
    let mut scene = Scene::new(h, step * unit, water, particles, walls)?;
    let mut line = vec![(0.0, 1.0)];
    while line[line.len() - 1].0 < last {
        scene.step()?;
        let front = scene
            .particles
            .position
            .iter()
            .map(|x| x[0])
            .fold(0.0, f64::max);
        // From the outermost particles to the edge of their cubes.
        line.push((line.len() as f64 * step, front + 0.25 * h));
    }
    Ok(line)
}

fn dam_tables() -> Result<(), MpmError> {
    for cells in [16, 32] {
        let line = dam(cells, 5.5)?;
        println!("\nDam break, {cells} cells across a:\n");
        for (name, table) in [
            ("a = 1.125 in", &SMALL_DAM[..]),
            ("a = 2.25 in", &LARGE_DAM[..]),
        ] {
            println!(
                "| {name}: T | Z measured | Z computed | error | T later by |\n|---|---|---|---|---|"
            );
            let mut shifts = Vec::new();
            for &(t, z) in table.iter().filter(|p| p.0 < 5.4) {
                let own = at(&line, t);
                let swapped: Vec<(f64, f64)> = line.iter().map(|p| (p.1, p.0)).collect();
                let shift = t - at(&swapped, z);
                shifts.push(shift);
                println!(
                    "| {t:.3} | {z:.3} | {own:.3} | {:+.1} % | {shift:.2} |",
                    100.0 * (own / z - 1.0)
                );
            }
            let mean = shifts.iter().sum::<f64>() / shifts.len() as f64;
            println!("\nmean delay of the measured front {mean:.2}");
        }
    }
    Ok(())
}

/// What a column of sand became.
struct Heap {
    runout: f64,
    height: f64,
    /// Until 99 % of the runout, in units of √(H/g).
    duration: f64,
    /// Whether the depth falls outward everywhere.
    monotone: bool,
}

/// Depth of the material in rings or strips of width `h` from the axis on.
fn depths(particles: &Particles, h: f64, round: bool) -> Vec<f64> {
    let mut volume: Vec<f64> = Vec::new();
    for (p, x) in particles.position.iter().enumerate() {
        let r = if round { x[0].hypot(x[1]) } else { x[0] };
        let bin = (r.max(0.0) / h) as usize;
        if bin < 100_000 {
            volume.resize(volume.len().max(bin + 1), 0.0);
            volume[bin] += f64::from(particles.volume(p));
        }
    }
    let area = |bin: usize| match round {
        true => std::f64::consts::FRAC_PI_4 * h * h * (2 * bin + 1) as f64,
        false => h * h,
    };
    volume
        .iter()
        .enumerate()
        .map(|(bin, v)| v / area(bin))
        .collect()
}

/// Farthest place up to which the material is deeper than a quarter of a cell.
fn front(depths: &[f64], h: f64) -> f64 {
    let end = depths.iter().position(|&d| d < 0.25 * h);
    end.unwrap_or(depths.len()) as f64 * h
}

/// Column of aspect ratio `aspect` of sand of friction angle 31°, on a base of friction 0.5.
fn column(aspect: f64, cells: usize, round: bool) -> Result<Heap, MpmError> {
    let h = 1.0 / cells as f64;
    let sand = Material {
        friction: 0.515,
        ..Material::default()
    };
    let upper = [1.0, if round { 1.0 } else { h }, aspect];
    let particles = fill([0.0; 3], upper, h, 2, |x| !round || x[0].hypot(x[1]) < 1.0);
    let mut walls = vec![
        plane([0.0; 3], [0.0, 0.0, 1.0], 0.5),
        plane([0.0; 3], [1.0, 0.0, 0.0], 0.0),
    ];
    match round {
        true => walls.push(plane([0.0; 3], [0.0, 1.0, 0.0], 0.0)),
        false => walls.extend(faces(h)),
    }
    let dt = 0.02 / G.sqrt();
    let mut scene = Scene::new(h, dt, sand, particles, walls)?;
    let unit = (aspect / G).sqrt();
    let mut fronts = Vec::new();
    while (fronts.len() as f64) * dt < 8.0 * unit {
        scene.step()?;
        let reach = front(&depths(&scene.particles, h, round), h);
        fronts.push(reach);
        if fronts.len() as f64 * dt > 2.0 * unit && scene.speed() < 1e-3 {
            break;
        }
    }
    let depths = depths(&scene.particles, h, round);
    let reach = front(&depths, h);
    let there = fronts.iter().position(|&f| f - 1.0 >= 0.99 * (reach - 1.0));
    let inner = &depths[..(reach / h) as usize];
    Ok(Heap {
        runout: reach - 1.0,
        height: depths[..2].iter().sum::<f64>() / 2.0,
        duration: (there.unwrap_or(0) + 1) as f64 * dt / unit,
        monotone: inner.windows(2).all(|w| w[1] < w[0] + 0.15 * h),
    })
}

fn column_tables(round: bool, cells: &[usize]) -> Result<(), MpmError> {
    let kind = if round {
        "Round column"
    } else {
        "Slice of a column"
    };
    for &cells in cells {
        println!("\n{kind}, {cells} cells across:\n");
        println!(
            "| a | runout | Lube | error | height | Lube | duration/√(H/g) | falls outward |\n|---|---|---|---|---|---|---|---|"
        );
        let mut points = Vec::new();
        for aspect in [0.5, 1.0, 2.0, 5.0] {
            let heap = column(aspect, cells, round)?;
            let (runout, height): (f64, f64) = match (round, aspect) {
                (true, a) if a < 1.7 => {
                    (1.24 * a, if a < 1.0 { a } else { 0.88 * a.powf(1.0 / 6.0) })
                }
                (true, a) => (1.6 * a.sqrt(), 0.88 * a.powf(1.0 / 6.0)),
                (false, a) => (
                    if a < 2.1 {
                        1.2 * a
                    } else {
                        1.9 * a.powf(2.0 / 3.0)
                    },
                    if a < 1.15 {
                        a.min(0.65 * a.powf(0.4))
                    } else {
                        0.65 * a.powf(0.4)
                    },
                ),
            };
            let error = 100.0 * (heap.runout / runout - 1.0);
            println!(
                "| {aspect} | {:.2} | {runout:.2} | {error:+.0} % | {:.2} | {height:.2} | {:.1} | {} |",
                heap.runout,
                heap.height,
                heap.duration,
                if heap.monotone { "yes" } else { "no" }
            );
            points.push((aspect, heap.runout));
        }
        println!(
            "\nexponent below a = 2: {:.2}, above: {:.2}",
            exponent(&points[..3]),
            exponent(&points[2..])
        );
    }
    Ok(())
}

/// Discharge of half a silo through half a slot: times and the area that has left, in cells.
fn silo(
    half_slot: f64,
    friction: f64,
    half_width: f64,
    height: f64,
) -> Result<Vec<(f64, f64)>, MpmError> {
    let (h, floor) = (1.0, 6.0);
    let sand = Material {
        friction: friction as f32,
        ..Material::default()
    };
    let particles = fill(
        [0.0, 0.0, floor],
        [half_width, h, floor + height],
        h,
        2,
        |_| true,
    );
    let wall = if friction > 0.0 { 0.5 } else { 0.0 };
    let size = 100.0;
    let mut walls = vec![
        Wall {
            shape: Shape::Box {
                half: [size, 10.0, size],
            },
            pose: Pose::at([half_slot + size, 0.0, floor - size]),
            friction: wall,
        },
        plane([half_width, 0.0, 0.0], [-1.0, 0.0, 0.0], wall),
        plane([0.0; 3], [1.0, 0.0, 0.0], 0.0),
    ];
    walls.extend(faces(h));
    let dt = 0.02 * (2.0 * half_slot / G).sqrt();
    let mut scene = Scene::new(h, dt, sand, particles, walls)?;
    let total = scene.particles.len() as f64;
    let mut line = vec![(0.0, 0.0)];
    let area = half_width * height;
    while line[line.len() - 1].1 < 0.8 * area && line.len() < 20_000 {
        scene.step()?;
        scene.particles.retain(|p, i| p.position[i][2] > 0.0);
        // Through the slot, whether or not still in sight.
        let inside = scene
            .particles
            .position
            .iter()
            .filter(|x| x[2] > floor)
            .count();
        line.push((line.len() as f64 * dt, area * (1.0 - inside as f64 / total)));
    }
    Ok(line)
}

/// Rates between 25 % and 75 % of the contents, in five parts.
fn rates(line: &[(f64, f64)], area: f64) -> [f64; 5] {
    let swapped: Vec<(f64, f64)> = line.iter().map(|p| (p.1, p.0)).collect();
    let time = |part: f64| at(&swapped, part * area);
    std::array::from_fn(|n| {
        let (a, b) = (0.25 + 0.1 * n as f64, 0.35 + 0.1 * n as f64);
        0.1 * area / (time(b) - time(a))
    })
}

fn silo_tables() -> Result<(), MpmError> {
    let (half_width, height) = (20.0, 60.0);
    let area = half_width * height;
    println!("\nSlot silo, {half_width} × {height} cells (half of it):\n");
    println!(
        "| slot D / cell | rate | spread over the middle half | rate / (ρ √g D^1.5) |\n|---|---|---|---|"
    );
    let mut points = Vec::new();
    for half_slot in [3.0, 4.0, 5.0, 6.0] {
        let line = silo(half_slot, 0.515, half_width, height)?;
        let parts = rates(&line, area);
        let mean = parts.iter().sum::<f64>() / 5.0;
        let spread = parts
            .iter()
            .fold(0.0f64, |m, r| m.max((r / mean - 1.0).abs()));
        let d: f64 = 2.0 * half_slot;
        let rate = 2.0 * mean;
        println!(
            "| {d} | {rate:.2} | ±{:.1} % | {:.3} |",
            100.0 * spread,
            rate / (G.sqrt() * d.powf(1.5))
        );
        points.push((d, rate));
    }
    println!("\nexponent {:.3}", exponent(&points));
    // rate^(2/3) is linear in D: the slot that would be closed.
    let line: Vec<(f64, f64)> = points.iter().map(|p| (p.0, p.1.powf(2.0 / 3.0))).collect();
    let n = line.len() as f64;
    let (x, y) = (
        line.iter().map(|p| p.0).sum::<f64>() / n,
        line.iter().map(|p| p.1).sum::<f64>() / n,
    );
    let slope = line.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
        / line.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    println!(
        "rate^(2/3) = {:.3} (D - {:.2}) : C = {:.3}",
        slope,
        x - y / slope,
        slope.powf(1.5) / G.sqrt()
    );
    let water = silo(4.0, 0.0, half_width, height)?;
    let parts = rates(&water, area);
    println!(
        "\nwater, D = 8: rates {parts:.2?}; falls with √height to {:.2} of the first, computed {:.2}",
        (0.30f64 / 0.70).sqrt(),
        parts[4] / parts[0]
    );
    Ok(())
}

fn main() -> Result<(), MpmError> {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let all = chosen.is_empty();
    let is = |name: &str| all || chosen.iter().any(|c| c == name);
    if is("dam") {
        dam_tables()?;
    }
    if is("slice") {
        column_tables(false, &[10, 20])?;
    }
    if is("round") {
        column_tables(true, &[10])?;
    }
    if is("silo") {
        silo_tables()?;
    }
    Ok(())
}
