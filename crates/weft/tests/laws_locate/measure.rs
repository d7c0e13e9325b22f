//! Measurements, run by hand: `cargo test --release --test laws_locate -- --ignored --nocapture`.

use std::time::Instant;

use super::*;

fn best<T>(mut f: impl FnMut() -> T) -> f64 {
    (0..3)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(f());
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn measure(name: &str, mesh: &Mesh, points: &[Vec3]) {
    let cells = mesh.topology().cell_count();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let build = best(|| Locator::new(mesh));
            let mut locator = Locator::new(mesh);
            let refit = best(|| locator.refit(mesh).unwrap());
            let mut out = vec![None; points.len()];
            let closest = best(|| locator.closest_many(points, f64::INFINITY, &mut out));
            let guesses: Vec<usize> = out.iter().map(|n| n.unwrap().cell).collect();
            let search = Search::within(f64::INFINITY);
            let guessed = best(|| locator.closest_many_with(points, &search, &guesses, &mut out));
            let mut found = vec![None; points.len()];
            let find = best(|| locator.find_many(points, 1e-9, &mut found));
            let n = points.len() as f64 / 1e6;
            println!(
                "{name}: {cells} cells, {threads} threads: build {:.1} ms, refit {:.1} ms, \
                 closest {:.3} µs, with good guess {:.3} µs, find {:.3} µs a point",
                build * 1e3,
                refit * 1e3,
                closest / n,
                guessed / n,
                find / n
            );
            if let Ok(surface) = Surface::new(mesh) {
                let mut signed = vec![None; points.len()];
                let time =
                    best(|| surface.signed_distance_many(points, f64::INFINITY, &mut signed));
                println!("{name}: signed distance {:.3} µs a point", time / n);
            }
        });
    }
}

#[test]
#[ignore = "a measurement of minutes"]
fn figures() {
    let mut random = Random(97);
    let near: Vec<Vec3> = (0..1_000_000).map(|_| random.point(3, -1.2, 1.2)).collect();
    let inside: Vec<Vec3> = (0..1_000_000).map(|_| random.point(3, -0.1, 1.1)).collect();
    let ball = sphere(6).unwrap();
    let bumpy = ball
        .moved(|x| {
            let r = 1.0 + 0.1 * (7.0 * x[0]).sin() * (5.0 * x[1]).cos() * (6.0 * x[2]).sin();
            x.map(|c| c * r)
        })
        .unwrap();
    measure("bumpy sphere", &bumpy, &near);
    let close: Vec<Vec3> = near
        .iter()
        .map(|x| {
            let length = norm(*x);
            x.map(|c| c / length * (0.95 + 0.1 * length.fract()))
        })
        .collect();
    measure("bumpy sphere, near it", &bumpy, &close);
    let tets = box_tets([26, 26, 26], [0.0; 3], [1.0; 3]).unwrap();
    measure("tets", &tets.moved(wavy).unwrap(), &inside);
    let hexes = box_hexes([30, 30, 30], [0.0; 3], [1.0; 3]).unwrap();
    measure("hexes", &hexes.moved(wavy).unwrap(), &inside[..100_000]);
    let curved = tets.elevated(2).unwrap().moved(wavy).unwrap();
    measure("curved tets", &curved, &inside[..100_000]);
}
