//! Laws of integrals over particles: sums, agreement with rules, sorting, spreading, gradients,
//! functions of particles.

mod forms;
mod functions;
mod gradients;
mod sort;
mod spread;
mod values;

#[path = "../common/mod.rs"]
mod common;

use common::Random;
use weft::element::Quadrature;
use weft::form::{Expr, Measure};
use weft::geometry::{Geometry, frame_at};
use weft::particle::{Cloud, ParticleQuadrature, ParticleSamples, Sample};

/// Points of the unit square or cube, in three coordinates.
fn points(random: &mut Random, n: usize, dim: usize) -> Vec<[f64; 3]> {
    let point =
        |random: &mut Random| std::array::from_fn(|d| if d < dim { random.unit() } else { 0.0 });
    (0..n).map(|_| point(random)).collect()
}

fn volumes(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.between(0.1, 2.0)).collect()
}

fn cloud_on<G: Geometry + Clone + 'static>(
    geometry: &G,
    positions: &[[f64; 3]],
    volumes: &[f64],
) -> ParticleQuadrature {
    let particles = ParticleQuadrature::new(geometry);
    particles.rebuild(&Cloud::new(positions, volumes)).unwrap();
    particles
}

fn over<G: Geometry + Clone + 'static>(geometry: &G, particles: &ParticleQuadrature) -> Measure {
    Measure::cells(geometry).on_particles(particles)
}

/// The points of a Gauss rule in every cell, as samples with physical weights.
fn gauss(geometry: &dyn Geometry, degree: usize) -> (Vec<Sample>, Vec<f64>, Vec<[f64; 3]>) {
    let kind = geometry.cell_kind();
    let rule = Quadrature::new(kind, degree).unwrap();
    let (mut samples, mut weights, mut positions) = (Vec::new(), Vec::new(), Vec::new());
    for cell in 0..geometry.topology().cell_count() {
        for (&xi, w) in rule.points().iter().zip(rule.weights()) {
            let frame = frame_at(geometry, cell, xi);
            samples.push(Sample {
                particle: weights.len() as u32,
                cell: cell as u32,
                xi,
                share: 1.0,
            });
            weights.push(w * kind.reference_measure() * frame.measure);
            positions.push(frame.position);
        }
    }
    (samples, weights, positions)
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Every number of a snapshot.
fn snapshot(samples: &ParticleSamples) -> Vec<u64> {
    let cells = 0..samples.topology().cell_count();
    cells
        .flat_map(|c| {
            [
                samples.in_cell(c).start as u64,
                samples.in_cell(c).end as u64,
            ]
        })
        .chain(samples.particles().iter().map(|&p| p as u64))
        .chain(bits(samples.xi().as_flattened()))
        .chain(bits(samples.shares()))
        .chain(bits(samples.weights()))
        .chain([samples.particle_count() as u64])
        .collect()
}

fn integral<G: Geometry + Clone + 'static>(
    e: &Expr,
    geometry: &G,
    particles: &ParticleQuadrature,
) -> f64 {
    weft::assemble::integrate(&e.over(&over(geometry, particles))).unwrap()
}
