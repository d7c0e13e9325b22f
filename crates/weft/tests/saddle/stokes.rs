//! Taylor–Hood elements for Stokes flow: manufactured solutions, solvers, the pressure's constant.

use crate::common::{unit_mesh, zigzag_mesh};
use std::sync::Arc;
use weft::assemble::{integrate, matrix};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Scope, Shape};
use weft::geometry::{Geometry, Grid2, Grid3, Mesh};
use weft::problem::{Dirichlet, MixedProblem, MixedReport, NewtonOptions, ProblemError};
use weft::solve::{
    BlockDiagonal, BlockSystem, BlockTriangular, DirectKind, DirectSolver, Jacobi, Krylov,
    KrylovOptions, Method, Nullspace, Preconditioner, Scaled, SolveError, schur_by_diagonal,
};
use weft::space::Space;

/// Stokes flow with a known solution, u_D on the whole boundary or all but the right side.
struct Flow<G> {
    geometry: G,
    scope: Scope,
    velocity: Field,
    pressure: Field,
    problem: MixedProblem,
    exact_velocity: Expr,
    exact_pressure: Expr,
}

/// `weight` is the size of the pressure: where the mesh is coarse it has to be large, for its own error in the
/// limit to outweigh that which comes from the velocity, of higher order.
fn weighted_flow<G>(geometry: &G, enclosed: bool, weight: f64) -> Flow<G>
where
    G: Geometry + Clone + 'static,
{
    let dim = geometry.space_dim();
    let mut scope = Scope::new(Arc::new(geometry.clone()));
    let velocity = Field::zeros(&Space::lagrange(geometry, 2).unwrap().vector(dim).unwrap());
    let pressure = Field::zeros(&Space::lagrange(geometry, 1).unwrap());
    // Free of divergence: a curl in the plane, components that don't depend on their own axis in space.
    let parts = match dim {
        2 => vec![
            "-1.5*sin(2*x[0] + 0.3)*sin(1.5*x[1] - 0.2)",
            "-2*cos(2*x[0] + 0.3)*cos(1.5*x[1] - 0.2)",
        ],
        _ => vec![
            "2*sin(3.3*x[1] + 1.7*x[2])",
            "2*cos(2.8*x[0] - 1.5*x[2])",
            "2*sin(2.2*x[0] + 2.6*x[1])",
        ],
    };
    let parts = parts.iter().map(|p| scope.expression(p).unwrap()).collect();
    let exact_velocity = Expr::tensor(Shape::Vector(dim), parts);
    scope.set("k", weight);
    let exact_pressure = scope
        .expression("k*sin(3*x[0] + 0.5)*exp(1.4*x[1])")
        .unwrap();
    scope.set("w", exact_velocity.clone());
    scope.set("r", exact_pressure.clone());
    scope.set_field("u", &velocity);
    scope.set_field("p", &pressure);
    scope.set("v", Expr::test(velocity.space()));
    scope.set("q", Expr::test(pressure.space()));
    scope.set_degree(Some(6));
    let traction = match enclosed {
        true => "",
        false => " - dot(dot(2*sym(grad(w)) - r*I, n), v)*ds('right')",
    };
    let momentum = format!(
        "2*inner(sym(grad(u)), sym(grad(v)))*dx - p*div(v)*dx \
         + dot(div(2*sym(grad(w))) - grad(r), v)*dx{traction}"
    );
    let residuals = [momentum.as_str(), "-q*div(u)*dx"].map(|t| scope.form(t).unwrap());
    let space = velocity.space();
    let conditions: Vec<Dirichlet> = match enclosed {
        true => vec![Dirichlet::on_boundary(space)],
        false => ["left", "bottom", "top", "front", "back"][..2 * dim - 1]
            .iter()
            .map(|tag| Dirichlet::on(space, tag).unwrap())
            .collect(),
    };
    let conditions: Vec<Dirichlet> = conditions
        .into_iter()
        .map(|c| c.value(exact_velocity.clone()).unwrap())
        .collect();
    let unknowns = [velocity.clone(), pressure.clone()];
    let options = NewtonOptions::default();
    let problem = MixedProblem::new(&residuals, &unknowns, &conditions, options).unwrap();
    Flow {
        geometry: geometry.clone(),
        scope,
        velocity,
        pressure,
        problem,
        exact_velocity,
        exact_pressure,
    }
}

fn flow<G: Geometry + Clone + 'static>(geometry: &G, enclosed: bool) -> Flow<G> {
    weighted_flow(geometry, enclosed, 3.0)
}

impl<G: Geometry + Clone + 'static> Flow<G> {
    /// Errors in L² of the velocity and of the pressure less its mean.
    fn errors(&self) -> [f64; 2] {
        let measure = Measure::cells(&self.geometry).degree(8);
        let number = |e: Expr| integrate(&e.over(&measure)).unwrap();
        let off = self.velocity.expr() - &self.exact_velocity;
        let pressure = self.pressure.expr() - &self.exact_pressure;
        let mean = number(pressure.clone()) / number(Expr::constant(1.0));
        let pressure = pressure - mean;
        [
            number(off.inner(&off)).sqrt(),
            number(&pressure * &pressure).sqrt(),
        ]
    }

    fn clear(&self) {
        self.velocity.values_mut().fill(0.0);
        self.pressure.values_mut().fill(0.0);
    }
}

fn check_rates<G: Geometry + Clone + 'static>(
    name: &str,
    make: impl Fn(usize) -> G,
    sizes: [usize; 2],
    weight: f64,
) {
    for enclosed in [true, false] {
        let [coarse, fine] = sizes.map(|n| {
            let mut flow = weighted_flow(&make(n), enclosed, weight);
            let report = flow.problem.solve().unwrap();
            assert!(
                report.iterations <= 2,
                "{name}: a linear problem, {report:?}"
            );
            let expected = if enclosed { vec![(1, 0)] } else { vec![] };
            assert_eq!(report.free, expected, "{name}");
            assert!(report.imbalance < 1e-2, "{name}: {report:?}");
            flow.errors()
        });
        let rates = [0, 1].map(|k: usize| (coarse[k] / fine[k]).log2());
        let what = format!("{name}, enclosed {enclosed}: {rates:?}, {fine:?}");
        assert!((rates[0] - 3.0).abs() < 0.1, "velocity on {what}");
        assert!((rates[1] - 2.0).abs() < 0.1, "pressure on {what}");
    }
}

#[test]
fn rates_on_grids() {
    check_rates("Grid2", |n| Grid2::unit([n; 2]).unwrap(), [12, 24], 3.0);
    check_rates("Grid3", |n| Grid3::unit([n; 3]).unwrap(), [3, 6], 3.0);
}

#[test]
fn rates_on_triangles() {
    check_rates(
        "triangles",
        |n| zigzag_mesh(CellKind::Triangle, n),
        [12, 24],
        3.0,
    );
}

#[test]
fn rates_on_quads() {
    check_rates("quads", |n| zigzag_mesh(CellKind::Quad, n), [12, 24], 3.0);
}

#[test]
fn rates_on_tets() {
    check_rates("tets", |n| zigzag_mesh(CellKind::Tet, n), [3, 6], 30.0);
}

#[test]
fn rates_on_hexes() {
    let make = |n| zigzag_mesh(CellKind::Hex, n);
    check_rates("hexes", make, [4, 8], 6.0);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// MINRES with A and the pressure's mass.
    Minres,
    /// GMRES with A above the diagonal, and minus the mass.
    Gmres,
    /// MINRES with A and B diag(A)⁻¹ Bᵀ, made regular by a little mass.
    Schur,
}

/// Solves with an iterative method; the matrix of velocities is factorised.
fn iterate<G: Geometry + Clone + 'static>(flow: &mut Flow<G>, way: Way) -> MixedReport {
    let mut scope = Scope::new(Arc::new(flow.geometry.clone()));
    scope.set("p", Expr::trial(flow.pressure.space()));
    scope.set("q", Expr::test(flow.pressure.space()));
    scope.set("u", Expr::trial(flow.velocity.space()));
    scope.set("v", Expr::test(flow.velocity.space()));
    let mass = matrix(&scope.form("p*q*dx").unwrap()).unwrap();
    let mut viscous = matrix(
        &scope
            .form("2*inner(sym(grad(u)), sym(grad(v)))*dx")
            .unwrap(),
    )
    .unwrap();
    let mut divergence = matrix(&scope.form("-q*div(u)*dx").unwrap()).unwrap();
    let mut constraints = weft::solve::Constraints::empty(
        flow.velocity.space().node_count(),
        flow.velocity.space().components(),
    );
    Dirichlet::on_boundary(flow.velocity.space())
        .apply(&mut constraints)
        .unwrap();
    constraints.eliminate(&mut viscous).unwrap();
    constraints.eliminate_columns(&mut divergence).unwrap();
    let a = DirectSolver::new(&viscous, DirectKind::Cholesky).unwrap();
    let jacobi = Jacobi::new(&mass).unwrap();
    let schur = schur_by_diagonal(&viscous, &divergence).unwrap();
    let ratio = 1e-3 * schur.max_abs() / mass.max_abs();
    let schur = weft::sparse::BlockMatrix::sum(1.0, &schur, ratio, &mass).unwrap();
    let schur = DirectSolver::new(&schur, DirectKind::Cholesky).unwrap();
    let options = KrylovOptions {
        tolerance: 1e-10,
        max_iterations: Some(2000),
        restart: 100,
        ..KrylovOptions::default()
    };
    flow.problem
        .solve_with(
            |system: &BlockSystem, _: &Nullspace, b, x| -> Result<usize, SolveError> {
                let minus = Scaled {
                    factor: -1.0,
                    inner: &jacobi,
                };
                let (diagonal, by_diagonal, triangular);
                let (method, m): (Method, &dyn Preconditioner) = match way {
                    Way::Minres => {
                        diagonal = BlockDiagonal::new(system, vec![&a, &jacobi])?;
                        (Method::Minres, &diagonal)
                    }
                    Way::Schur => {
                        by_diagonal = BlockDiagonal::new(system, vec![&a, &schur])?;
                        (Method::Minres, &by_diagonal)
                    }
                    Way::Gmres => {
                        triangular = BlockTriangular::new(system, vec![&a, &minus])?;
                        (Method::Gmres, &triangular)
                    }
                };
                let mut solver = Krylov::new(method, options)?;
                Ok(solver.solve(system, m, b, x)?.iterations)
            },
        )
        .unwrap()
}

#[test]
fn iterations_do_not_grow_with_the_grid() {
    for (way, most) in [(Way::Minres, 80), (Way::Gmres, 50)] {
        let mut counts = Vec::new();
        for n in [4, 8, 16, 32] {
            let mut flow = flow(&Grid2::unit([n; 2]).unwrap(), true);
            let report = iterate(&mut flow, way);
            assert_eq!(report.free, [(1, 0)]);
            counts.push(report.linear_iterations / report.iterations);
        }
        println!("{way:?}: {counts:?} iterations");
        assert!(counts.iter().all(|&c| c <= most), "{way:?}: {counts:?}");
        // From one size to the next the growth ends.
        assert!(
            counts[3] <= counts[2] + counts[2] / 5,
            "{way:?}: {counts:?}"
        );
    }
}

#[test]
fn all_ways_to_solve_agree() {
    for kind in [CellKind::Quad, CellKind::Triangle] {
        let mesh = unit_mesh(kind, [6; 3]);
        let mut flow = flow(&mesh, true);
        flow.problem.solve().unwrap();
        let errors = flow.errors();
        let values = flow.velocity.values().to_vec();
        for way in [Way::Minres, Way::Gmres, Way::Schur] {
            flow.clear();
            iterate(&mut flow, way);
            let off = flow
                .velocity
                .values()
                .iter()
                .zip(&values)
                .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
            assert!(off < 1e-7, "{kind:?} {way:?}: {off:e}");
            let change = (flow.errors()[1] / errors[1] - 1.0).abs();
            assert!(change < 1e-4, "{kind:?} {way:?}: {change:e}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_flow() {
    let solve = |threads| {
        crate::common::pool(threads).install(|| {
            let mut flow = flow(&Grid2::unit([10; 2]).unwrap(), true);
            iterate(&mut flow, Way::Gmres);
            (
                flow.velocity.values().to_vec(),
                flow.pressure.values().to_vec(),
            )
        })
    };
    let one = solve(1);
    assert!(one == solve(2) && one == solve(4));
}

#[test]
fn several_unknowns_need_as_many_residuals() {
    let mesh = unit_mesh(CellKind::Triangle, [2; 3]);
    let other = unit_mesh(CellKind::Triangle, [2; 3]);
    let flow = flow(&mesh, true);
    let mass = flow.scope.form("q*p*dx").unwrap();
    let new = |residuals: &[weft::form::Form], unknowns: &[Field], conditions: &[Dirichlet]| {
        match MixedProblem::new(residuals, unknowns, conditions, NewtonOptions::default()) {
            Err(ProblemError::Mismatch(reason)) => reason,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("accepted"),
        }
    };
    let u = flow.velocity.clone();
    let p = flow.pressure.clone();
    let one = std::slice::from_ref(&mass);
    let reason = new(one, &[p.clone(), u.clone()], &[]);
    assert!(reason.contains("1 residuals for 2 unknowns"), "{reason}");
    let reason = new(one, std::slice::from_ref(&u), &[]);
    assert!(reason.contains("residual 0"), "{reason}");
    let own = Dirichlet::on_boundary(p.space());
    let foreign = Dirichlet::on_boundary(&Space::lagrange(&other, 1).unwrap());
    let reason = new(one, &[p], &[own, foreign]);
    assert!(
        reason.contains("condition 1 belongs to another space"),
        "{reason}"
    );
}

#[test]
fn a_pinned_pressure_has_a_diagonal_of_its_own() {
    // Enclosed, with the pressure prescribed at the vertices of one side: regular, nothing is free.
    let mesh: Mesh = unit_mesh(CellKind::Quad, [4; 3]);
    let parts = flow(&mesh, true);
    let residuals = [
        "2*inner(sym(grad(u)), sym(grad(v)))*dx - p*div(v)*dx - v[0]*dx",
        "-q*div(u)*dx",
    ]
    .map(|t| parts.scope.form(t).unwrap());
    let conditions = [
        Dirichlet::on(parts.velocity.space(), "left").unwrap(),
        Dirichlet::on(parts.velocity.space(), "top").unwrap(),
        Dirichlet::on(parts.velocity.space(), "bottom").unwrap(),
        Dirichlet::on(parts.pressure.space(), "right")
            .unwrap()
            .value(3.0)
            .unwrap(),
    ];
    let unknowns = [parts.velocity.clone(), parts.pressure.clone()];
    let options = NewtonOptions::default();
    let mut problem = MixedProblem::new(&residuals, &unknowns, &conditions, options).unwrap();
    let report = problem.solve().unwrap();
    assert!(report.free.is_empty() && report.iterations <= 2);
    let right = parts.pressure.space().tagged_nodes("right").unwrap();
    for node in right {
        assert!((parts.pressure.values()[node as usize] - 3.0).abs() < 1e-12);
    }
}

/// The matrix of an enclosed flow, pinned.
fn whole_system(mesh: &Mesh) -> weft::sparse::BlockMatrix {
    let mut whole = None;
    let take = |system: &BlockSystem, null: &Nullspace, _: &[f64], _: &mut [f64]| {
        let mut matrix = system.monolithic()?;
        null.pin(&mut matrix)?;
        whole = Some(matrix);
        Err(SolveError::Unassembled)
    };
    assert!(flow(mesh, true).problem.solve_with(take).is_err());
    whole.unwrap()
}

#[test]
fn direct_solvers_take_the_whole_system() {
    // A symmetric saddle point doesn't need LU, in the plane or in space.
    for whole in [
        whole_system(&zigzag_mesh(CellKind::Quad, 16)),
        whole_system(&zigzag_mesh(CellKind::Tet, 4)),
        whole_system(&unit_mesh(CellKind::Triangle, [2; 3])),
    ] {
        let solver = DirectSolver::new(&whole, DirectKind::Auto).unwrap();
        assert_eq!(solver.kind(), DirectKind::Ldlt);
    }
    // Natural on one side, so regular: LDLᵀ and LU of the same matrix, and of the pinned one if enclosed.
    for enclosed in [true, false] {
        for kind in [DirectKind::Ldlt, DirectKind::Lu] {
            let mut flow = flow(&zigzag_mesh(CellKind::Triangle, 12), enclosed);
            let solve = |system: &BlockSystem, null: &Nullspace, b: &[f64], x: &mut [f64]| {
                let mut whole = system.monolithic()?;
                assert!(whole.is_symmetric(1e-13));
                let mut b = b.to_vec();
                null.pin(&mut whole)?;
                null.pin_rhs(&mut b)?;
                let solver = DirectSolver::new(&whole, kind)?;
                assert_eq!(solver.kind(), kind);
                solver.solve(&b, x)?;
                Ok(1)
            };
            flow.problem.solve_with(solve).unwrap();
            let by_hand = flow.errors();
            flow.clear();
            flow.problem.solve().unwrap();
            let change = (flow.errors()[0] / by_hand[0] - 1.0).abs();
            assert!(change < 1e-7, "{kind:?}, enclosed {enclosed}: {change:e}");
        }
    }
}
