//! Seconds of the phases of a step: the granular scene, 226,981 particles on a floor with a box.
//!
//! `cargo run --release -p weft-mpm --example phases -- [steps] [sweeps] [voxel size]`

use weft_mpm::collider::{Body, Collider, ColliderMaterial, Colliders, GROUND, Pose, Shape};
use weft_mpm::{Config, Material, Particles, Solver};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let steps: usize = arguments.next().map_or(Ok(20), |a| a.parse())?;
    let sweeps: usize = arguments.next().map_or(Ok(250), |a| a.parse())?;
    let h: f64 = arguments.next().map_or(Ok(0.1), |a| a.parse())?;
    let side = (2.0 * 3.0 / h).round() as usize + 1;
    let spacing = 2.0 / (side - 1) as f64;
    let mut particles = Particles::new();
    let mut seed = 1u64;
    let mut jitter = || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((seed >> 40) as f64 / (1u64 << 24) as f64 - 0.5) * 2.0 * spacing
    };
    for i in 0..side {
        for j in 0..side {
            for k in 0..side {
                let at = [i, j, k].map(|x| x as f64 * spacing);
                let x = [
                    at[0] - 1.0 + jitter(),
                    at[1] - 1.0 + jitter(),
                    at[2] + 1.5 + jitter(),
                ];
                particles.push(x, (1000.0 * spacing.powi(3)) as f32, (0.5 * spacing) as f32);
            }
        }
    }
    let mut colliders = Colliders::new(h)?;
    let material = |friction| ColliderMaterial {
        friction,
        ..ColliderMaterial::default()
    };
    colliders.add(Collider {
        material: material(0.5),
        ..Collider::new(Shape::Plane)
    })?;
    let body = colliders.add_body(Body::fixed(Pose {
        position: [0.75, 0.0, 0.8],
        ..Pose::default()
    }))?;
    colliders.add(Collider {
        material: material(0.1),
        body,
        ..Collider::new(Shape::Box {
            half: [0.5, 2.0, 0.8],
        })
    })?;
    let _ = GROUND;
    let config = Config {
        voxel_size: h,
        max_iterations: sweeps,
        gravity: vec![[0.0, 0.0, -10.0]],
        ..Config::default()
    };
    let sand = Material {
        friction: 0.68,
        yield_pressure: 1e12,
        ..Material::default()
    };
    let mut solver = Solver::new(config, vec![sand], &particles, &colliders)?;
    println!("{} particles", particles.len());
    for step in 0..steps {
        let start = std::time::Instant::now();
        let report = solver.step(&mut particles, &mut colliders, 1.0 / 60.0)?;
        let total = start.elapsed().as_secs_f64();
        colliders.project_outside(
            &mut particles,
            1.0 / 60.0,
            None,
            weft_mpm::ColliderVelocity::Forward,
        )?;
        let whole = start.elapsed().as_secs_f64();
        let phases: Vec<String> = report
            .seconds
            .all()
            .iter()
            .map(|(name, s)| format!("{name} {:.1}", s * 1e3))
            .collect();
        println!(
            "{step}: {:.1} ms, project {:.1}, {} cells, {} nodes, {} contacts, {} sweeps, residual {:.2e} {:.2e}; {}",
            total * 1e3,
            (whole - total) * 1e3,
            report.cells,
            report.velocity_nodes,
            report.contacts,
            report.sweeps,
            report.residual_l2,
            report.residual_max,
            phases.join(", ")
        );
    }
    Ok(())
}
