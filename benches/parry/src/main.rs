//! Closest points and tree builds of Weft and parry, side by side: the same meshes, points and
//! threads in one run, both libraries in turn in every round. A ratio is parry's time over
//! Weft's, the median over the rounds: above 1, Weft is faster.
//!
//! `cargo run --release -- [rounds] [points]` in this folder; 5 rounds of a million by default.

mod parry;

use std::hint::black_box;
use std::time::Instant;

use weft::geometry::{Geometry, Locator, Mesh, Nearest, shapes};

type Vec3 = [f64; 3];

/// Closest points of one library.
trait Closest {
    type Answer: Clone + Default;

    /// Fills in the answers for all points, on the current pool.
    fn ask(&self, points: &[Vec3], out: &mut [Self::Answer]);

    fn distance(answer: &Self::Answer) -> f64;
}

struct Weft(Locator);

impl Closest for Weft {
    type Answer = Option<Nearest>;

    fn ask(&self, points: &[Vec3], out: &mut [Option<Nearest>]) {
        self.0.closest_many(points, f64::INFINITY, out);
    }

    fn distance(answer: &Option<Nearest>) -> f64 {
        answer.map_or(f64::NAN, |nearest| nearest.distance)
    }
}

fn seconds<T>(f: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(f());
    start.elapsed().as_secs_f64()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Takes `count` rounds after one that does not count, and prints medians of both times and of
/// their ratio.
fn rounds(count: usize, name: &str, scale: f64, mut each: impl FnMut() -> [f64; 2]) {
    each();
    let times: Vec<[f64; 2]> = (0..count).map(|_| each()).collect();
    let [ours, theirs] = [0, 1].map(|i| median(times.iter().map(|t| t[i])) * scale);
    let ratio = median(times.iter().map(|t| t[1] / t[0]));
    println!("{name:<52}{ours:>10.3}{theirs:>10.3}{ratio:>8.2}");
}

/// Pseudo-random numbers in [0, 1): splitmix64 (Steele et al. 2014).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The points along a curve through space, as a simulation that sorts its particles has them.
fn in_order(points: &[Vec3]) -> Vec<Vec3> {
    let spread = |x: f64| {
        let place = ((x + 2.0) * 256.0) as u64;
        (0..10).fold(0u64, |code, bit| code | ((place >> bit) & 1) << (3 * bit))
    };
    let mut points = points.to_vec();
    points.sort_by_key(|x| spread(x[0]) | spread(x[1]) << 1 | spread(x[2]) << 2);
    points
}

fn compare<P: Closest + Send>(
    name: &str,
    mesh: &Mesh,
    theirs: impl Fn(&Mesh) -> P + Sync,
    tolerance: f64,
    points: &[Vec3],
    count: usize,
) {
    let build = || Weft(Locator::new(mesh));
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool of threads").install(|| {
            let label = format!("{name}, {threads} thread{}", &"s"[..threads - 1]);
            rounds(count, &format!("{label}: build, ms"), 1e3, || {
                [seconds(build), seconds(|| theirs(mesh))]
            });
            let (ours, theirs) = (build(), theirs(mesh));
            let mut a = vec![Default::default(); points.len()];
            let mut b = vec![Default::default(); points.len()];
            for (order, points) in [("", points.to_vec()), (" in order", in_order(points))] {
                let name = format!("{label}: points{order}, µs each");
                rounds(count, &name, 1e6 / points.len() as f64, || {
                    let ours = seconds(|| ours.ask(&points, &mut a));
                    [ours, seconds(|| theirs.ask(&points, &mut b))]
                });
                for ((a, b), x) in a.iter().zip(&b).zip(&points) {
                    let (a, b) = (Weft::distance(a), P::distance(b));
                    // Relative to the size of the mesh where the distance is smaller.
                    let agree = (a - b).abs() <= tolerance * a.max(1.0);
                    assert!(agree, "{name}: distances {a} and {b} of {x:?}");
                }
            }
        });
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|a| a.parse::<usize>());
    let mut next = |default: usize| match numbers.next() {
        None => default,
        Some(n) => n.expect("usage: [rounds] [points]").max(1),
    };
    let (count, points) = (next(5), next(1_000_000));
    let mut random = Random(2);
    let points: Vec<Vec3> = (0..points)
        .map(|_| std::array::from_fn(|_| 2.4 * random.unit() - 1.2))
        .collect();
    // Bumpy, so that no symmetry helps; 20 · 4⁶ = 81 920 triangles, 26³ · 6 = 105 456 tets.
    let bumpy = |mesh: Mesh| {
        mesh.moved(|x| {
            let bump = 1.0 + 0.1 * (5.0 * x[0]).sin() * (4.0 * x[1]).cos();
            x.map(|c| c * bump)
        })
    };
    let surface = shapes::sphere(6).and_then(bumpy).expect("a surface");
    let tets = shapes::box_tets([26; 3], [-1.0; 3], [1.0; 3]);
    let tets = tets.and_then(bumpy).expect("a mesh of tets");
    println!(
        "{count} rounds, {} points, {} triangles, {} tets",
        points.len(),
        surface.topology().cell_count(),
        tets.topology().cell_count()
    );
    println!("{:<52}{:>10}{:>10}{:>8}", "", "Weft", "parry", "ratio");
    use parry::{double, single};
    compare(
        "triangles",
        &surface,
        double::Triangles::new,
        1e-9,
        &points,
        count,
    );
    compare("tets", &tets, double::Tets::new, 1e-9, &points, count);
    println!("against parry in single precision:");
    compare(
        "triangles",
        &surface,
        single::Triangles::new,
        1e-5,
        &points,
        count,
    );
    compare("tets", &tets, single::Tets::new, 1e-5, &points, count);
}
