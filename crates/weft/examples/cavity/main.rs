//! The lid-driven cavity with Taylor–Hood elements (Q2 velocity, Q1 pressure) on a grid: Stokes flow, then
//! Navier–Stokes with rising Reynolds number, compared with published velocities on the centre lines.
//!
//! ```sh
//! cargo run --release -p weft-fem --example cavity -- 64
//! ```

#[cfg(feature = "direct")]
mod flow;

#[cfg(feature = "direct")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = match std::env::args().nth(1) {
        Some(n) => n.parse()?,
        None => 32,
    };
    let mut cavity = flow::Cavity::new(n)?;
    let report = cavity.solve(0.0)?;
    println!(
        "Stokes flow on {n} x {n} cells: {} unknowns, {} Newton step(s), free constants (unknown, component): {:?}",
        cavity
            .fields()
            .iter()
            .map(|f| f.space().dof_count())
            .sum::<usize>(),
        report.iterations,
        report.free
    );
    println!(
        "velocity at the centre: {:?}",
        cavity.velocity_at([0.5, 0.5])?
    );
    for published in &flow::PUBLISHED {
        let report = cavity.solve(published.reynolds)?;
        let [u, v] = cavity.differences(published)?;
        println!(
            "Re = {}: {} Newton steps; largest difference from Ghia, Ghia & Shin: u {u:.4}, v {v:.4}",
            published.reynolds, report.iterations
        );
    }
    Ok(())
}

#[cfg(not(feature = "direct"))]
fn main() {
    println!("This example solves with the direct solver: build it with the feature `direct`.");
}
