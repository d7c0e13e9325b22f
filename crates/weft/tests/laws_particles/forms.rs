//! Sums over particles in every kind of form.

use crate::common::*;
use crate::*;
use std::sync::Arc;
use weft::assemble::{
    AssembleError, MatrixPlan, ScalarPlan, VectorPlan, integrate, matrix, vector,
};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Form, ParticleData, Scope, Shape, dot, grad, inner, sym};
use weft::geometry::{AdaptiveVoxelGrid, Grading, Grid2, Grid3, Mesh, VoxelGrid, VoxelMap};
use weft::space::Space;

/// Does something with every kind of geometry that covers the unit square or cube.
fn on_each(f: &dyn Fn(&str, &dyn Probe)) {
    f("Grid2", &Grid2::unit([5, 3]).unwrap());
    f("Grid3", &Grid3::unit([3, 4, 2]).unwrap());
    for kind in [
        CellKind::Segment,
        CellKind::Triangle,
        CellKind::Quad,
        CellKind::Tet,
        CellKind::Hex,
    ] {
        f(&format!("{kind:?}"), &unit_mesh(kind, [3, 2, 2]));
    }
    let all: Vec<[i32; 3]> = (0..27).map(|k| [k / 9, k / 3 % 3, k % 3]).collect();
    let map = VoxelMap::uniform(1.0 / 3.0).unwrap();
    f(
        "VoxelGrid",
        &VoxelGrid::from_coordinates(&all, map).unwrap(),
    );
    let map = VoxelMap::uniform(0.25).unwrap();
    let cells: Vec<([i32; 3], u8)> = (0..8)
        .flat_map(|k| {
            let corner = [k / 4 * 2, k / 2 % 2 * 2, k % 2 * 2];
            match k {
                0 => (0..8)
                    .map(|j| ([j / 4, j / 2 % 2, j % 2], 0))
                    .collect::<Vec<_>>(),
                _ => vec![(corner, 1)],
            }
        })
        .collect();
    let grid = AdaptiveVoxelGrid::from_cells(&cells, map).unwrap();
    f(
        "AdaptiveVoxelGrid",
        &grid.graded(Grading::default()).unwrap(),
    );
}

/// What the sums are compared on: geometries of different types behind one face.
trait Probe {
    fn probe(&self, name: &str);
}

impl<G: Geometry + Clone + 'static> Probe for G {
    fn probe(&self, name: &str) {
        let dim = self.space_dim();
        let mut random = Random(11);
        let n = 300;
        let (x, w) = (points(&mut random, n, dim), volumes(&mut random, n));
        let particles = cloud_on(self, &x, &w);
        let report = particles.samples().report();
        assert_eq!((report.inside, report.samples), (n, n), "{name}");

        let total: f64 = w.iter().sum();
        let one = integral(&Expr::from(1.0), self, &particles);
        assert!(
            (one - total).abs() <= 1e-13 * total,
            "{name}: {one} {total}"
        );

        let at = Expr::position(self);
        let f = |x: &[f64; 3]| {
            let last = x[dim - 1];
            1.0 + x[0] * x[0] * last - 3.0 * last.powi(3)
        };
        let (a, b) = (at.at(0), at.at(dim - 1));
        let e = 1.0 + &a * &a * &b - 3.0 * (&b * &b * &b);
        let sum: f64 = x.iter().zip(&w).map(|(x, w)| w * f(x)).sum();
        let found = integral(&e, self, &particles);
        assert!(
            (found - sum).abs() <= 1e-12 * total,
            "{name}: {found} {sum}"
        );

        // Lumped mass: the functions sum to 1.
        let rho = volumes(&mut random, n);
        let data = ParticleData::scalar("rho", &rho);
        for degree in 1..=3 {
            let space = Space::lagrange(self, degree).unwrap();
            let mass: f64 = rho.iter().zip(&w).map(|(a, b)| a * b).sum();
            let form = (Expr::from(&data) * Expr::test(&space)).over(&over(self, &particles));
            let lumped: f64 = vector(&form).unwrap().iter().sum();
            assert!(
                (lumped - mass).abs() <= 1e-12 * mass,
                "{name} {degree}: {lumped} {mass}"
            );
        }
    }
}

#[test]
fn integrals_are_sums_on_every_geometry() {
    on_each(&|name, geometry| geometry.probe(name));
}

/// The ordinary and the particle plan of a form, with the rule's points as particles.
fn compare(mesh: &Mesh, degree: usize, name: &str, form: impl Fn(&Measure) -> Form) {
    let (samples, weights, _) = gauss(mesh, degree);
    let particles = ParticleQuadrature::new(mesh);
    particles.rebuild_from_samples(&samples, &weights).unwrap();
    let rule = form(&Measure::cells(mesh).degree(degree));
    let cloud = form(&over(mesh, &particles));
    let (a, b) = (matrix(&cloud).unwrap(), matrix(&rule).unwrap());
    assert_eq!(a.pattern().columns(), b.pattern().columns());
    assert_close(a.values(), b.values(), 1e-13, name);
}

#[test]
fn gauss_points_as_particles_give_the_matrices_of_the_rule() {
    for case in all_cases() {
        for degree in 1..=3 {
            let space = Space::lagrange(&case.mesh, degree).unwrap();
            let (u, v) = (Expr::trial(&space), Expr::test(&space));
            let name = format!("{} of degree {degree}", case.name);
            compare(&case.mesh, 2 * degree, &name, |m| (&u * &v).over(m));
            compare(&case.mesh, 2 * degree, &name, |m| {
                dot(&grad(&u), &grad(&v)).over(m)
            });
        }
    }
}

#[test]
fn vector_spaces_fields_and_mixed_spaces_too() {
    for case in straight_cases().into_iter().chain(curved_cases()) {
        let mesh = &case.mesh;
        let dim = mesh.space_dim();
        let mut random = Random(3);
        let p1 = Space::lagrange(mesh, 1).unwrap();
        let vectors = Space::lagrange(mesh, 2).unwrap().vector(dim).unwrap();
        let f = Field::from_values(&p1, random.numbers(p1.dof_count())).unwrap();
        let (u, v) = (Expr::trial(&vectors), Expr::test(&vectors));
        let q = Expr::test(&p1);
        let h = Expr::cell_size();
        let x0 = Expr::position(mesh).at(0);
        let k = 2.0 + f.expr() * f.expr() + dot(&grad(&f.expr()), &grad(&f.expr())) * h + x0;
        compare(mesh, 4, case.name, |m| {
            (&k * inner(&sym(&grad(&u)), &sym(&grad(&v))) + dot(&u, &v)).over(m)
        });
        let p = Expr::trial(&p1);
        compare(mesh, 4, case.name, |m| (grad(&u).trace() * &q).over(m));
        compare(mesh, 4, case.name, |m| (&p * grad(&v).trace()).over(m));
    }
}

#[test]
fn particle_data_is_each_particles_own() {
    let grid = Grid3::unit([3, 2, 4]).unwrap();
    let mut random = Random(5);
    let n = 200;
    let (x, w) = (points(&mut random, n, 3), volumes(&mut random, n));
    let particles = cloud_on(&grid, &x, &w);
    let space = Space::lagrange(&grid, 1).unwrap().vector(3).unwrap();
    let v = Expr::test(&space);
    let momentum = ParticleData::zeros("p", Shape::Vector(3), n);
    let stress = ParticleData::zeros("s", Shape::Matrix(3, 3), n);
    let (p, s) = (Expr::from(&momentum), Expr::from(&stress));
    let form = (dot(&p, &v) - inner(&s, &grad(&v))).over(&over(&grid, &particles));
    let mut plan = VectorPlan::new(&form).unwrap();
    let mut found = vec![0.0; space.dof_count()];
    for _ in 0..2 {
        momentum.set(&random.numbers(3 * n)).unwrap();
        stress.set(&random.numbers(9 * n)).unwrap();
        plan.assemble(&mut found).unwrap();
        // One particle, one function, one number at a time.
        let mut sums = vec![0.0; space.dof_count()];
        let (p, s) = (momentum.values(), stress.values());
        for i in 0..n {
            let (cell, xi) = weft::geometry::locate(&grid, x[i], 0.0).unwrap();
            let frame = frame_at(&grid, cell, xi);
            let table = space.element().tabulate(&[xi]);
            for (a, &node) in space.cell_nodes(cell).iter().enumerate() {
                let g = frame.push_gradient(table.gradients[a]);
                for c in 0..3 {
                    let internal: f64 = (0..3).map(|d| s[9 * i + 3 * c + d] * g[d]).sum();
                    sums[node as usize * 3 + c] +=
                        w[i] * (p[3 * i + c] * table.values[a] - internal);
                }
            }
        }
        assert_close(&found, &sums, 1e-12, "momentum and stress");
    }

    // Wrong lengths are named, and the vector is left alone by none of them.
    momentum.set(&[1.0; 6]).unwrap();
    let error = plan.assemble(&mut found).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the particle data `p` is of 2 particles where the cloud has 200"
    );
    assert!(momentum.set(&[1.0; 7]).is_err());
    assert_eq!(momentum.particle_count(), 2);
}

#[test]
fn subsets_select_the_particles_in_their_cells() {
    let mesh = unit_mesh(CellKind::Quad, [4, 4, 1]);
    let mut random = Random(8);
    let (x, w) = (points(&mut random, 99, 2), volumes(&mut random, 99));
    let particles = cloud_on(&mesh, &x, &w);
    let cells = [1u32, 5, 14];
    let form = Expr::from(1.0).over(&over(&mesh, &particles).listed(cells));
    let samples = particles.samples();
    let sum: f64 = cells
        .iter()
        .flat_map(|&c| samples.weights()[samples.in_cell(c as usize)].to_vec())
        .sum();
    assert!((integrate(&form).unwrap() - sum).abs() < 1e-13);
    // Integrals over cells and over particles add up and stay apart.
    let both = Expr::from(1.0).dx(&mesh) + form;
    assert!((integrate(&both).unwrap() - 1.0 - sum).abs() < 1e-13);
}

#[test]
fn the_text_syntax_names_particles() {
    let mesh = unit_mesh(CellKind::Triangle, [4, 4, 1]);
    let (x, w) = ([[0.25, 0.5, 0.0], [0.75, 0.1, 0.0]], [2.0, 3.0]);
    let sand = cloud_on(&mesh, &x, &w);
    let rho = ParticleData::scalar("rho", &[10.0, 100.0]);
    let mut scope = Scope::new(shared(&mesh));
    scope.set_particles("sand", &sand);
    scope.set("rho", &rho);
    let value = |text: &str| integrate(&scope.form(text).unwrap()).unwrap();
    assert_eq!(value("rho*dx(particles = sand)"), 320.0);
    assert_eq!(value("x[0]*dx(particles=sand) + 1*dx"), 3.75);
    let message = |text: &str| match scope.form(text) {
        Err(e) => e.to_string(),
        Ok(form) => integrate(&form).unwrap_err().to_string(),
    };
    assert!(message("rho*dx(particles = sandy)").contains("did you mean `sand`"));
    assert!(message("rho*dx(particles = 3)").contains("by a name"));
    assert!(message("rho*dx").contains("values at particles only"));
    assert!(message("rho*ds(particles = sand)").contains("over cells (dx)"));
    let other = unit_mesh(CellKind::Quad, [1, 1, 1]);
    let form = Expr::from(1.0).over(&over(&other, &sand));
    assert!(
        integrate(&form)
            .unwrap_err()
            .to_string()
            .contains("another geometry")
    );
}

#[test]
fn a_plan_follows_its_particles() {
    let grid = Grid2::unit([6, 6]).unwrap();
    let space = Space::lagrange(&grid, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let particles = ParticleQuadrature::new(&grid);
    let mut masses = MatrixPlan::new(&(&u * &v).over(&over(&grid, &particles))).unwrap();
    let mut counts = ScalarPlan::new(&Expr::from(1.0).over(&over(&grid, &particles))).unwrap();
    let mut mass = masses.matrix();
    let mut random = Random(2);
    // No particles, a few, many in one cell, fewer: never a new plan.
    for n in [0, 1, 7, 400, 3, 0] {
        let (mut x, w) = (points(&mut random, n, 2), volumes(&mut random, n));
        if n == 400 {
            x.iter_mut().for_each(|x| *x = x.map(|c| 0.1 * c));
        }
        particles.rebuild(&Cloud::new(&x, &w)).unwrap();
        masses.assemble(&mut mass).unwrap();
        let total: f64 = w.iter().sum();
        assert!((mass.values().iter().sum::<f64>() - total).abs() <= 1e-12 * total.max(1.0));
        assert!((counts.evaluate().unwrap() - total).abs() <= 1e-13 * total);
        let fresh = matrix(&(&u * &v).over(&over(&grid, &particles))).unwrap();
        assert_eq!(bits(fresh.values()), bits(mass.values()));
    }
}

#[test]
fn changed_cells_are_refused_until_all_is_made_again() {
    let points = [[0.5, 0.5, 0.5], [1.5, 0.5, 0.5]];
    let map = VoxelMap::uniform(1.0).unwrap();
    let (grid, _) = VoxelGrid::from_points(&points, None, map).unwrap();
    let particles = cloud_on(&grid, &points, &[1.0, 2.0]);
    let form = |g: &VoxelGrid| Expr::from(1.0).over(&over(g, &particles));
    let mut plan = ScalarPlan::new(&form(&grid)).unwrap();
    assert_eq!(plan.evaluate().unwrap(), 3.0);
    let moved = points.map(|x| [x[0] + 1.0, x[1], x[2]]);
    grid.rebuild(&moved, None).unwrap();
    assert!(matches!(plan.evaluate(), Err(AssembleError::MeshRebuilt)));
    let mut new = ScalarPlan::new(&form(&grid)).unwrap();
    assert!(matches!(new.evaluate(), Err(AssembleError::StaleParticles)));
    particles.rebuild(&Cloud::new(&moved, &[1.0, 2.0])).unwrap();
    assert_eq!(new.evaluate().unwrap(), 3.0);
}

#[test]
fn an_integrand_counts_where_particles_are_only() {
    // 1/(x - ½) is infinite at the centre of the cell, the logarithm is none of 0.
    let grid = Grid2::unit([1, 9]).unwrap();
    let x = [[0.25, 0.05, 0.0], [0.75, 0.95, 0.0], [0.25, 0.06, 0.0]];
    let particles = cloud_on(&grid, &x, &[1.0; 3]);
    let at = Expr::position(&grid);
    let mass = ParticleData::scalar("m", &[1.0, 2.0, 4.0]);
    let e = 1.0 / (at.at(0) - 0.5) * Expr::from(&mass);
    assert_eq!(integral(&e, &grid, &particles), 4.0 * (-1.0 + 2.0 - 4.0));
    let space = Space::lagrange(&grid, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let m = over(&grid, &particles);
    let a = matrix(&(&e * &u * &v).over(&m)).unwrap();
    let b = vector(&(&e * &v).over(&m)).unwrap();
    assert!((a.values().iter().sum::<f64>() + 12.0).abs() < 1e-13);
    assert!((b.iter().sum::<f64>() + 12.0).abs() < 1e-13);
}

#[test]
fn results_do_not_depend_on_threads() {
    let mesh = unit_mesh(CellKind::Hex, [9, 8, 7])
        .moved(|x| bend(x, 3))
        .unwrap();
    let mut random = Random(4);
    let n = 5000;
    let (x, w) = (points(&mut random, n, 3), volumes(&mut random, n));
    let space = Space::lagrange(&mesh, 1).unwrap();
    let f = Field::from_values(&space, random.numbers(space.dof_count())).unwrap();
    let rho = ParticleData::scalar("rho", &volumes(&mut random, n));
    let mut scope = Scope::new(Arc::new(mesh.clone()));
    scope.set("u", Expr::trial(&space));
    scope.set("v", Expr::test(&space));
    scope.set("rho", &rho);
    scope.set_field("f", &f);
    let all = || {
        let particles = cloud_on(&mesh, &x, &w);
        let mut scope = scope.clone();
        scope.set_particles("p", &particles);
        let form = |text: &str| scope.form(text).unwrap();
        let a = form("rho*(1 + f^2)*dot(grad(u), grad(v))*dx(particles = p)");
        let l = form("exp(f)*rho*v*dx(particles = p)");
        let j = form("sin(f)*x[1]*dx(particles = p)");
        [
            snapshot(&particles.samples()),
            bits(matrix(&a).unwrap().values()),
            bits(&vector(&l).unwrap()),
            vec![integrate(&j).unwrap().to_bits()],
        ]
    };
    let first = pool(1).install(all);
    for threads in [1, 2, 3] {
        assert!(pool(threads).install(all) == first, "{threads} threads");
    }
}

#[test]
fn more_particles_in_a_cell_than_are_worked_on_at_a_time() {
    for n in [1, 15, 16, 17, 33, 1000] {
        let grid = Grid2::unit([2, 1]).unwrap();
        let space = Space::lagrange(&grid, 3).unwrap();
        let x = vec![[0.3, 0.4, 0.0]; n];
        let w = vec![1.0; n];
        let many = cloud_on(&grid, &x, &w);
        let one = cloud_on(&grid, &x[..1], &[n as f64]);
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let form = |p| dot(&grad(&u), &grad(&v)).over(&over(&grid, p));
        let (a, b) = (matrix(&form(&many)).unwrap(), matrix(&form(&one)).unwrap());
        assert_close(a.values(), b.values(), 1e-13, "coincident particles");
    }
}
