//! How long sweeps take. `cargo test --release -p weft-mpm timing -- --ignored --nocapture`

use super::problem::*;
use std::time::Instant;

/// Seconds that this thread has run, where the system says so.
fn busy() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
}

#[test]
#[ignore = "prints times"]
fn sweeps_in_time() {
    let sand = [1e15, 0.0, 0.0, 0.5, 0.0, 0.0];
    for (name, yields, compliance) in [
        ("sand", sand, [0.0; 2]),
        ("weak sand", [1e3, 0.0, 10.0, 0.5, 0.0, 0.0], [0.0; 2]),
        ("dilatant sand", [1e15, 0.0, 0.0, 0.5, 0.5, 0.0], [0.0; 2]),
        ("mud", [1e15, 0.0, 10.0, 0.5, 0.0, 30.0], [0.0; 2]),
        ("elastic", [1e15, 0.0, 1e3, 0.5, 0.0, 0.0], [4e-6, 1e-5]),
    ] {
        let recipe = Recipe {
            n: 22,
            yields,
            compliance,
            ..Recipe::default()
        };
        let mut best = [f64::INFINITY; 2];
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            for _ in 0..5 {
                let mut problem = recipe.build();
                let mut options = options(GAUSS_SEIDEL);
                options.viscous = yields[5] > 0.0;
                options.dilatant = yields[4] > 0.0;
                options.max_iterations = 200;
                let time = pool.install(|| {
                    let start = (Instant::now(), busy());
                    problem.solve(&options);
                    // With one thread, what others on the machine take doesn't count.
                    match (threads, start.1, busy()) {
                        (1, Some(start), Some(end)) => end - start,
                        _ => start.0.elapsed().as_secs_f64(),
                    }
                });
                let time = time / (200 * recipe.n.pow(3)) as f64;
                best[threads - 1] = best[threads - 1].min(time * 1e9);
            }
        }
        println!(
            "{name}: {:.1} ns a site and sweep, {:.1} with two threads",
            best[0], best[1]
        );
    }
}
