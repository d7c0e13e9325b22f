//! Spaces with a function for each particle.

use crate::common::*;
use crate::*;
use std::sync::Arc;
use weft::adapt::Transfer;
use weft::assemble::{
    InterpolationMatrix, InterpolationPlan, MatrixPlan, NodalPlan, PointPlan, Reduction,
    VectorPlan, evaluate_at, evaluate_at_positions, integrate, interpolate, matrix, project,
    vector,
};
use weft::element::{MAX_POINTS, NodeFamily};
use weft::field::{CrossField, Field};
use weft::form::{Form, ParticleData};
use weft::geometry::{AdaptiveVoxelGrid, Grid2, Grid3, VoxelGrid, VoxelMap};
use weft::particle::Half;
use weft::partition::{SpacePartition, SpaceRestriction};
use weft::problem::Dirichlet;
use weft::space::{Space, SpaceError};

fn says<T>(result: Result<T, impl std::fmt::Display>, words: &[&str]) {
    let Err(error) = result else {
        panic!("accepted, but should say {words:?}");
    };
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "`{message}` lacks `{word}`");
    }
}

/// Particles on a geometry: many in some cells, none in others, some outside of all.
struct Sand {
    name: String,
    geometry: Arc<dyn Geometry>,
    particles: ParticleQuadrature,
    on: Measure,
    x: Vec<[f64; 3]>,
    /// 0 for those that are left out.
    volumes: Vec<f64>,
}

impl Sand {
    fn new<G: Geometry + Clone + 'static>(name: &str, geometry: G, random: &mut Random) -> Sand {
        let n = 60;
        let (low, high) = bounds(&geometry);
        let between = |random: &mut Random, d: usize, reach: f64| {
            low[d] + (high[d] - low[d]) * reach * random.unit()
        };
        let mut x: Vec<[f64; 3]> = (0..n)
            .map(|k| {
                // Half of them in a corner.
                let reach = if k % 2 == 0 { 0.3 } else { 1.05 };
                std::array::from_fn(|d| between(random, d, reach))
            })
            .collect();
        x[7] = [f64::NAN; 3];
        let mut volumes = volumes(random, n);
        let active: Vec<bool> = (0..n).map(|k| k % 11 != 3).collect();
        let cloud = Cloud {
            active: Some(&active),
            ..Cloud::new(&x, &volumes)
        };
        let particles = ParticleQuadrature::within(&geometry, 0.1);
        particles.rebuild(&cloud).unwrap();
        let samples = particles.samples();
        let inside: Vec<usize> = samples.particles().iter().map(|&p| p as usize).collect();
        (0..n)
            .filter(|k| !inside.contains(k))
            .for_each(|k| volumes[k] = 0.0);
        assert!(inside.len() > 5, "{name}");
        Sand {
            name: name.to_owned(),
            on: over(&geometry, &particles),
            geometry: Arc::new(geometry),
            particles,
            x,
            volumes,
        }
    }

    fn space(&self) -> Space {
        Space::particles(&self.particles).unwrap()
    }

    /// Whether a particle takes part.
    fn has(&self, particle: usize) -> bool {
        self.volumes[particle] > 0.0
    }
}

fn bounds(geometry: &dyn Geometry) -> ([f64; 3], [f64; 3]) {
    let mut bounds = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for x in &geometry.map().nodes {
        for d in 0..3 {
            bounds.0[d] = bounds.0[d].min(x[d]);
            bounds.1[d] = bounds.1[d].max(x[d]);
        }
    }
    bounds
}

/// On geometries of every kind, straight, curved and embedded.
fn each(mut f: impl FnMut(&Sand)) {
    let mut random = Random(31);
    for case in all_cases() {
        f(&Sand::new(case.name, case.mesh, &mut random));
    }
    let map = VoxelMap::uniform(0.5).unwrap();
    let voxels = [[0, 0, 0], [1, 0, 0], [2, 1, 1]];
    let voxels = VoxelGrid::from_coordinates(&voxels, map).unwrap();
    let unequal = [([0; 3], 1), ([2, 0, 0], 0), ([2, 1, 0], 0)];
    let unequal = AdaptiveVoxelGrid::from_cells(&unequal, map).unwrap();
    f(&Sand::new(
        "grid",
        Grid2::unit([4, 3]).unwrap(),
        &mut random,
    ));
    f(&Sand::new(
        "box",
        Grid3::unit([2, 3, 2]).unwrap(),
        &mut random,
    ));
    f(&Sand::new("voxels", voxels, &mut random));
    f(&Sand::new("unequal voxels", unequal, &mut random));
}

#[test]
fn masses_of_particles_are_their_volumes() {
    each(|sand| {
        let space = sand.space();
        assert_eq!(space.node_count(), sand.x.len());
        assert_eq!(space.degree(), 0);
        assert!(!space.is_continuous());
        for space in [space.clone(), space.symmetric(2).unwrap()] {
            let (u, v) = (Expr::trial(&space), Expr::test(&space));
            let mass = matrix(&u.inner(&v).over(&sand.on)).unwrap();
            let one = Field::from_values(&space, vec![1.0; space.dof_count()]).unwrap();
            let load = vector(&one.expr().inner(&v).over(&sand.on)).unwrap();
            let per_node = space.components();
            for node in 0..space.node_count() {
                let (columns, values) = mass.row(node);
                let all = columns.iter().zip(values.chunks_exact(per_node * per_node));
                for (&j, block) in all {
                    for (k, value) in block.iter().enumerate() {
                        let diagonal = j as usize == node && k % (per_node + 1) == 0;
                        // Components of symmetric tensors are orthonormal up to a factor.
                        let truth = if diagonal { load[node * per_node] } else { 0.0 };
                        let near = (value - truth).abs() <= 1e-13 * truth.abs();
                        assert!(near, "{}: {node}, {j} has {value}", sand.name);
                    }
                }
                if per_node == 1 {
                    assert_eq!(load[node], sand.volumes[node], "{}", sand.name);
                }
            }
        }
    });
}

#[test]
fn interpolated_values_are_those_at_the_particles() {
    let mut random = Random(32);
    each(|sand| {
        let dim = sand.geometry.space_dim();
        let space = sand.space();
        let at = Expr::position(&*sand.geometry);
        let f = (at.at(dim - 1) * 2.0 + 1.0).pow(2.0) * at.at(0);
        let field = interpolate(&f, &space).unwrap();
        let truth = |e: &Expr, len: usize| {
            let mut plan = PointPlan::on_particles(e, &sand.particles).unwrap();
            let mut out = vec![0.0; sand.x.len() * len];
            plan.evaluate(&mut out).unwrap();
            out
        };
        assert_eq!(&*field.values(), &truth(&f, 1)[..], "{}", sand.name);
        assert_eq!(truth(&field.expr(), 1), truth(&f, 1), "{}", sand.name);
        let projected = project(&f, &space).unwrap();
        assert_eq!(&*projected.values(), &*field.values());
        for space in [
            space.vector(dim).unwrap(),
            space.matrix(2, 3).unwrap(),
            space.symmetric(3).unwrap(),
        ] {
            let mut values = random.numbers(space.dof_count());
            let field = Field::from_values(&space, values.clone()).unwrap();
            let again = interpolate(&field.expr(), &space).unwrap();
            let per_node = space.components();
            for node in (0..space.node_count()).filter(|&n| !sand.has(n)) {
                values[node * per_node..][..per_node].fill(0.0);
            }
            assert_close(&again.values(), &values, 1e-15, &sand.name);
        }
        // Nodes are where the particles are.
        let positions = space.node_positions();
        let truth = truth(&at, dim);
        for (node, x) in positions.iter().enumerate() {
            match sand.has(node) {
                true => assert_close(&x[..dim], &truth[node * dim..][..dim], 1e-14, &sand.name),
                false => assert!(x[0].is_nan()),
            }
        }
    });
}

/// A field of particles is the same as data of particles, whatever it is multiplied by.
#[test]
fn fields_of_particles_are_particle_data() {
    let mut random = Random(33);
    each(|sand| {
        let space = sand.space();
        let values = random.numbers(space.dof_count());
        let field = Field::from_values(&space, values.clone()).unwrap();
        let data = ParticleData::scalar("q", &values);
        let lagrange = Space::on(sand.geometry.clone(), 1, NodeFamily::Equispaced, true).unwrap();
        let (u, v) = (Expr::trial(&lagrange), Expr::test(&lagrange));
        let x = Expr::position(&*sand.geometry).at(0);
        let f = |q: &Expr| -> [Form; 3] {
            [
                (q * q * &x).over(&sand.on),
                (q * q * q * &v).over(&sand.on),
                (q * u.grad().inner(&v.grad()) + &u * &v).over(&sand.on),
            ]
        };
        let (ours, twins) = (f(&field.expr()), f(&Expr::from(&data)));
        let [a, b] = [&ours, &twins].map(|f| integrate(&f[0]).unwrap());
        assert!((a - b).abs() <= 1e-13 * b.abs(), "{}: {a} {b}", sand.name);
        let [a, b] = [&ours, &twins].map(|f| vector(&f[1]).unwrap());
        assert_close(&a, &b, 1e-13, &sand.name);
        let [a, b] = [&ours, &twins].map(|f| matrix(&f[2]).unwrap());
        let mut products = [(); 2].map(|()| vec![0.0; lagrange.dof_count()]);
        let p = random.numbers(lagrange.dof_count());
        a.multiply(&p, &mut products[0]).unwrap();
        b.multiply(&p, &mut products[1]).unwrap();
        assert_close(&products[0], &products[1], 1e-12, &sand.name);
    });
}

#[test]
fn stress_at_particles_meets_the_strain_of_a_displacement() {
    let mut random = Random(34);
    each(|sand| {
        let dim = sand.geometry.space_dim();
        let stress = sand.space().matrix(dim, dim).unwrap();
        let family = NodeFamily::Equispaced;
        let space = Space::on(sand.geometry.clone(), 2, family, true).unwrap();
        let space = space.vector(dim).unwrap();
        let (tau, u) = (Expr::test(&stress), Expr::trial(&space));
        let mixed = matrix(&tau.inner(&u.grad()).over(&sand.on)).unwrap();
        let field = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
        let mut found = vec![0.0; stress.dof_count()];
        mixed.multiply(&field.values(), &mut found).unwrap();
        let slopes = interpolate(&field.expr().grad(), &stress).unwrap();
        let truth: Vec<f64> = slopes
            .values()
            .chunks_exact(dim * dim)
            .zip(&sand.volumes)
            .flat_map(|(s, w)| s.iter().map(|s| s * w).collect::<Vec<_>>())
            .collect();
        assert_close(&found, &truth, 1e-12, &sand.name);
        // Test and trial functions exchanged: the transpose, the other product.
        let (sigma, v) = (Expr::trial(&stress), Expr::test(&space));
        let turned = matrix(&sigma.inner(&v.grad()).over(&sand.on)).unwrap();
        let p = random.numbers(stress.dof_count());
        let mut force = vec![0.0; space.dof_count()];
        turned.multiply(&p, &mut force).unwrap();
        let work = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (a, b) = (work(&force, &field.values()), work(&p, &found));
        assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{}", sand.name);
        // A stress field in a linear form is the same product.
        let field = Field::from_values(&stress, p).unwrap();
        let load = vector(&field.expr().inner(&v.grad()).over(&sand.on)).unwrap();
        assert_close(&load, &force, 1e-12, &sand.name);
    });
}

/// Extended particles share their function between the cells they lie in.
#[test]
fn functions_of_extended_particles_are_shared_by_cells() {
    let grid = Grid2::unit([4, 3]).unwrap();
    let mut random = Random(35);
    let n = 40;
    let x: Vec<[f64; 3]> = (0..n)
        .map(|_| [random.between(0.1, 0.9), random.between(0.1, 0.9), 0.0])
        .collect();
    let w = volumes(&mut random, n);
    let particles = ParticleQuadrature::new(&grid);
    let cloud = Cloud {
        half_widths: Some(Half::Same(0.09)),
        ..Cloud::new(&x, &w)
    };
    let report = particles.rebuild(&cloud).unwrap();
    assert!(report.samples > n);
    let space = Space::particles(&particles).unwrap();
    let on = over(&grid, &particles);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    assert_close(&vector(&v.over(&on)).unwrap(), &w, 1e-14, "volumes");
    let mass = matrix(&u.inner(&v).over(&on)).unwrap();
    assert_close(&mass.diagonal(), &w, 1e-14, "masses");
    let sum: f64 = mass.values().iter().map(|m| m.abs()).sum();
    assert!((sum - w.iter().sum::<f64>()).abs() < 1e-12);
    let at = interpolate(&Expr::position(&grid), &space.vector(2).unwrap()).unwrap();
    let truth: Vec<f64> = x.iter().flat_map(|x| [x[0], x[1]]).collect();
    assert_close(&at.values(), &truth, 1e-14, "centres");
    let positions = space.node_positions();
    assert_close(positions.as_flattened(), x.as_flattened(), 1e-14, "nodes");
}

#[test]
fn a_particle_may_have_several_samples_in_a_cell() {
    let grid = Grid2::unit([2, 1]).unwrap();
    let particles = ParticleQuadrature::new(&grid);
    let sample = |particle, cell, x, share| Sample {
        particle,
        cell,
        xi: [x, 0.5, 0.0],
        share,
    };
    let samples = [
        sample(1, 0, 0.25, 0.5),
        sample(0, 0, 0.5, 1.0),
        sample(1, 0, 0.75, 0.25),
        sample(1, 1, 0.5, 0.25),
    ];
    particles
        .rebuild_from_samples(&samples, &[3.0, 2.0])
        .unwrap();
    let space = Space::particles(&particles).unwrap();
    let on = over(&grid, &particles);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let mass = matrix(&u.inner(&v).over(&on)).unwrap();
    assert_eq!(mass.diagonal(), [3.0, 2.0]);
    assert_eq!(mass.values().iter().sum::<f64>(), 5.0);
    let x = interpolate(&Expr::position(&grid).at(0), &space).unwrap();
    let mean = 0.5 * 0.125 + 0.25 * 0.375 + 0.25 * 0.75;
    assert_close(&x.values(), &[0.25, mean], 1e-15, "means");
    let sum = integrate(&(x.expr() * x.expr()).over(&on)).unwrap();
    assert!((sum - 3.0 * 0.0625 - 2.0 * mean * mean).abs() < 1e-15);
}

#[test]
fn spaces_of_few_particles() {
    let grid = Grid2::unit([3, 2]).unwrap();
    let particles = ParticleQuadrature::new(&grid);
    let on = over(&grid, &particles);
    let lagrange = Space::lagrange(&grid, 1).unwrap();
    let outside = [[2.0, 0.5, 0.0]];
    let (none, some): (&[[f64; 3]], _) = (&[], [[0.5, 0.5, 0.0], [2.0, 0.5, 0.0]]);
    for (x, inside) in [(none, 0), (&outside, 0), (&some, 1)] {
        let report = particles
            .rebuild(&Cloud::new(x, &vec![2.0; x.len()]))
            .unwrap();
        assert_eq!(report.inside, inside);
        let space = Space::particles(&particles).unwrap();
        assert_eq!(space.dof_count(), x.len());
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let mass = matrix(&u.inner(&v).over(&on)).unwrap();
        assert_eq!(mass.pattern().rows(), x.len());
        assert_eq!(mass.values(), vec![2.0; inside]);
        let load: f64 = vector(&v.over(&on)).unwrap().iter().sum();
        assert_eq!(load, 2.0 * inside as f64);
        let mixed = matrix(&(&v * Expr::trial(&lagrange)).over(&on)).unwrap();
        let sum: f64 = mixed.values().iter().sum();
        assert!((sum - load).abs() < 1e-15);
        let field = interpolate(&Expr::from(3.0), &space).unwrap();
        assert_eq!(
            integrate(&field.expr().over(&on)).unwrap(),
            6.0 * inside as f64
        );
        // Parts of the space, and lists of the cells of its nodes.
        let part = SpacePartition::whole(&space).unwrap();
        assert_eq!(part.node_count(), x.len());
        let cells: Vec<u32> = (0..6).collect();
        let lists = SpaceRestriction::on_cells(&part, &cells).unwrap();
        assert_eq!(lists.entry_count(), inside);
    }
}

#[test]
fn functions_of_particles_are_chosen_by_cells() {
    let grid = Grid2::unit([2, 1]).unwrap();
    let x = [[0.25, 0.5, 0.0], [0.75, 0.5, 0.0], [0.8, 0.5, 0.0]];
    let particles = cloud_on(&grid, &x, &[1.0, 2.0, 4.0]);
    let space = Space::particles(&particles).unwrap();
    assert_eq!(space.nodes_per_cell(), 2);
    assert_eq!(
        (space.cell_nodes(0), space.cell_nodes(1)),
        (&[0][..], &[1, 2][..])
    );
    let on = over(&grid, &particles);
    let load = vector(&Expr::test(&space).over(&on.clone().listed(vec![1]))).unwrap();
    assert_eq!(load, [0.0, 2.0, 4.0]);
    let load = vector(&Expr::test(&space).over(&on.listed(Vec::new()))).unwrap();
    assert_eq!(load, [0.0; 3]);
}

#[test]
fn sums_have_the_same_bits_for_any_number_of_threads() {
    let grid = Grid3::unit([6, 5, 4]).unwrap();
    let mut random = Random(36);
    let n = 1500;
    let (x, w) = (points(&mut random, n, 3), volumes(&mut random, n));
    let particles = ParticleQuadrature::new(&grid);
    let cloud = Cloud {
        half_widths: Some(Half::Same(0.04)),
        ..Cloud::new(&x, &w)
    };
    particles.rebuild(&cloud).unwrap();
    let stress = Space::particles(&particles).unwrap().symmetric(3).unwrap();
    let velocity = Space::lagrange(&grid, 1).unwrap().vector(3).unwrap();
    let on = over(&grid, &particles);
    let (tau, u) = (Expr::test(&stress), Expr::trial(&velocity));
    let mixed = tau.inner(&u.grad().sym()).over(&on);
    let field = Field::from_values(&stress, random.numbers(stress.dof_count())).unwrap();
    let load = field.expr().inner(&Expr::test(&velocity).grad()).over(&on);
    let own = field.expr().inner(&tau).over(&on);
    let run = |threads: usize| {
        pool(threads).install(|| {
            let numbers = [
                matrix(&mixed).unwrap().values().to_vec(),
                vector(&load).unwrap(),
                vector(&own).unwrap(),
            ];
            numbers.map(|n| bits(&n))
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn functions_of_particles_taken_elsewhere_are_refused() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let x = [[0.25, 0.5, 0.0], [0.75, 0.5, 0.0]];
    let particles = cloud_on(&grid, &x, &[1.0, 1.0]);
    let others = cloud_on(&grid, &x, &[1.0, 1.0]);
    let space = Space::particles(&particles).unwrap();
    let geometry = space.geometry().clone();
    let lagrange = Space::lagrange(&grid, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let field = Field::zeros(&space);
    let on = over(&grid, &particles);
    let only = ["functions of particles", "there only", "on the particles"];
    says(matrix(&u.inner(&v).dx(&grid)), &only);
    says(vector(&v.over(&Measure::boundary(&grid))), &only);
    says(vector(&v.jump().over(&Measure::interior(&grid))), &only);
    says(integrate(&field.expr().dx(&grid)), &only);
    says(evaluate_at(&field.expr(), &geometry, &[[0.5; 3]]), &only);
    says(interpolate(&field.expr(), &lagrange), &only);
    says(project(&field.expr(), &lagrange), &only);
    says(InterpolationMatrix::at_positions(&u, &x), &only);
    says(
        vector(&v.over(&over(&grid, &others))),
        &["other particles", "of a function"],
    );
    says(
        evaluate_at_positions(&field.expr(), &geometry, &x, 0.0),
        &["other particles"],
    );
    let points = Space::points(&grid, 1).unwrap();
    says(
        vector(&Expr::test(&points).over(&on)),
        &["element of 1 points", "at particles"],
    );
    says(
        vector(&v.over(&Measure::boundary(&grid).on_particles(&particles))),
        &["particles lie in cells"],
    );
    says(vector(&v.grad().at(0).over(&on)), &["no derivatives"]);
    says(
        integrate(&field.expr().grad().at(0).over(&on)),
        &["element of particles in a quad", "no derivatives"],
    );
    says(field.evaluate(0, [0.5; 3]), &["at these points only"]);
    says(CrossField::new(&field), &["at these points only"]);
    says(Dirichlet::on(&space, "left"), &["element of particles"]);
    let cells = Measure::cells(&grid);
    let one = Expr::from(1.0);
    let nodes = ["not the same in all cells", "`interpolate`"];
    says(
        InterpolationPlan::new(&one, &space, &cells, Reduction::First),
        &nodes,
    );
    says(NodalPlan::new(&v.over(&on)), &nodes);
    let map = VoxelMap::uniform(1.0).unwrap();
    let grids = [(); 2].map(|()| AdaptiveVoxelGrid::from_cells(&[([0; 3], 1)], map).unwrap());
    let transfer = Transfer::new(&grids[0], &grids[1]).unwrap();
    let [old, new] = grids
        .each_ref()
        .map(|g| Space::particles(&cloud_on(g, &[[0.5; 3]], &[1.0])).unwrap());
    let smooth = Space::discontinuous(&grids[0], 1).unwrap();
    let message = ["element of particles in a hex"];
    says(transfer.interpolate(&Field::zeros(&old), &new), &message);
    says(transfer.interpolate(&Field::zeros(&smooth), &new), &message);
    says(transfer.project(&Field::zeros(&smooth), &new), &message);
}

#[test]
fn spaces_of_particles_that_were_rebuilt_are_refused() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let x = [[0.25, 0.5, 0.0], [0.75, 0.5, 0.0]];
    let particles = cloud_on(&grid, &x, &[1.0, 2.0]);
    let space = Space::particles(&particles).unwrap();
    let on = over(&grid, &particles);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let field = Field::zeros(&space);
    let mut masses = MatrixPlan::new(&u.inner(&v).over(&on)).unwrap();
    let mut mass = masses.matrix();
    let mut loads = VectorPlan::new(&v.over(&on)).unwrap();
    let mut load = vec![0.0; 2];
    masses.assemble(&mut mass).unwrap();
    loads.assemble(&mut load).unwrap();
    // Moved within their cells: the same numbers of particles, and still not the same.
    particles.rebuild(&Cloud::new(&x, &[3.0, 4.0])).unwrap();
    let rebuilt = ["particles were rebuilt", "make the space"];
    says(masses.assemble(&mut mass), &rebuilt);
    says(loads.assemble(&mut load), &rebuilt);
    says(vector(&v.over(&on)), &rebuilt);
    says(integrate(&field.expr().over(&on)), &rebuilt);
    says(interpolate(&Expr::from(1.0), &space), &rebuilt);
    says(space.check_current(), &rebuilt);
    assert!(space.node_positions()[0][0].is_nan());
    // The new space is another one, and data moves over as numbers.
    let space = Space::particles(&particles).unwrap();
    let field = Field::from_values(&space, field.values().to_vec()).unwrap();
    assert_eq!(integrate(&field.expr().over(&on)).unwrap(), 0.0);
    assert_eq!(vector(&Expr::test(&space).over(&on)).unwrap(), [3.0, 4.0]);
}

#[test]
fn too_many_particles_in_a_cell_are_refused() {
    let grid = Grid2::unit([1, 1]).unwrap();
    for n in [MAX_POINTS, MAX_POINTS + 1] {
        let particles = cloud_on(&grid, &vec![[0.5, 0.5, 0.0]; n], &vec![1.0; n]);
        match Space::particles(&particles) {
            Ok(space) => {
                assert_eq!(n, MAX_POINTS);
                // All at one place, and still each has a function of its own.
                let load = Expr::test(&space).over(&over(&grid, &particles));
                assert_eq!(vector(&load).unwrap(), vec![1.0; n]);
            }
            Err(SpaceError::ManyParticles(count)) => assert_eq!(count, MAX_POINTS + 1),
            Err(error) => panic!("{error}"),
        }
    }
}
