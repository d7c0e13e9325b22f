//! Counts every heap allocation: assembling again makes none, and a thousand steps of a
//! simulation leave the memory as the first few did.
#![cfg(not(loom))]

#[path = "common/counting.rs"]
mod counting;

use std::sync::Mutex;
use weft::assemble::{MatrixPlan, PointPlan, ScalarPlan, VectorPlan};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Param, Scope, Shape, point_function};
use weft::geometry::{Geometry, Mesh, shapes};
use weft::solve::{Jacobi, Krylov, KrylovOptions, Method};
use weft::space::Space;

/// The default pool of block arrays and the resident size are the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn mesh() -> Mesh {
    let mesh = shapes::box_hexes([7, 6, 5], [0.0; 3], [1.0; 3]).unwrap();
    mesh.moved(|x| [x[0] + 0.1 * x[1] * x[2], x[1] + 0.05 * x[0] * x[2], x[2]])
        .unwrap()
}

/// Everything that a nonlinear step assembles, on cells and on sides of both kinds.
struct Step {
    k: Param,
    field: Field,
    matrices: MatrixPlan,
    vectors: VectorPlan,
    scalars: ScalarPlan,
    points: PointPlan,
}

impl Step {
    fn new(mesh: &Mesh) -> Step {
        let space = Space::lagrange(mesh, 1).unwrap().vector(3).unwrap();
        let field = Field::zeros(&space);
        let k = Param::scalar("k", 1.0);
        let mut scope = Scope::new(std::sync::Arc::new(mesh.clone()));
        scope.set("u", weft::form::Expr::trial(&space));
        scope.set("v", weft::form::Expr::test(&space));
        scope.set("k", &k);
        scope.set_field("w", &field);
        let square = point_function(
            "square",
            &[Shape::Scalar],
            Shape::Scalar,
            |x, y| y[0] = x[0] * x[0],
            None,
        );
        let square =
            weft::form::Expr::native(square.unwrap(), vec![scope.expression("w[0]").unwrap()]);
        scope.set("square", square);
        let form = |text: &str| scope.form(text).unwrap();
        let a = form(
            "(k + square)*inner(sym(grad(u)), sym(grad(v)))*dx + dot(u, v)*ds('left') \
             + dot(jump(u), avg(v))*dS + inner(grad(div(u)), grad(div(v)))*dx",
        );
        let l = form("dot(w + x, v)*dx + k*dot(n, v)*ds + dot(avg(w), v)*dS");
        let j = form("exp(k*dot(w, w))*dx + h*ds + grad(div(w))[0]*dx");
        let e = scope.expression("grad(w)").unwrap();
        let points = [CellKind::Hex.center(), [0.1, 0.2, 0.3]];
        Step {
            matrices: MatrixPlan::new(&a).unwrap(),
            vectors: VectorPlan::new(&l).unwrap(),
            scalars: ScalarPlan::new(&j).unwrap(),
            points: PointPlan::new(&e, space.geometry(), &points).unwrap(),
            k,
            field,
        }
    }
}

#[test]
fn assembling_again_allocates_nothing() {
    let _alone = ALONE.lock();
    let mesh = mesh();
    assert!(mesh.topology().cell_count() > 200);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .start_handler(|_| counting::watch())
            .build()
            .unwrap();
        let calls = pool.install(|| {
            let mut step = Step::new(&mesh);
            let mut matrix = step.matrices.matrix();
            let mut vector = vec![0.0; step.field.space().dof_count()];
            let (mut matrix32, mut vector32) = (matrix.to::<f32>(), vec![0.0f32; vector.len()]);
            let mut values = vec![0.0; step.points.len()];
            let mut total = 0.0;
            let mut run = |round: usize| {
                step.k.set(1.0 + round as f64);
                step.field.values_mut().fill(0.01 * round as f64);
                step.matrices.assemble(&mut matrix).unwrap();
                step.vectors.assemble(&mut vector).unwrap();
                step.matrices.assemble(&mut matrix32).unwrap();
                step.vectors.assemble(&mut vector32).unwrap();
                total += step.scalars.evaluate().unwrap();
                step.points.evaluate(&mut values).unwrap();
            };
            run(0);
            let before = counting::calls();
            (1..30).for_each(&mut run);
            assert!(total.is_finite());
            counting::calls() - before
        });
        assert_eq!(calls, 0, "{threads} threads");
    }
}

/// Resident memory in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<usize>()
        .unwrap()
        * 4096
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_steps_keep_the_resident_size() {
    let _alone = ALONE.lock();
    let mesh = shapes::box_tets([5, 5, 5], [0.0; 3], [1.0; 3]).unwrap();
    let space = Space::lagrange(&mesh, 1).unwrap();
    let solution = Field::zeros(&space);
    let k = Param::scalar("k", 1.0);
    let mut scope = Scope::new(std::sync::Arc::new(mesh.clone()));
    scope.set("u", weft::form::Expr::trial(&space));
    scope.set("v", weft::form::Expr::test(&space));
    scope.set("k", &k);
    scope.set_field("w", &solution);
    let a = scope
        .form("k*dot(grad(u), grad(v))*dx + (1 + w^2)*u*v*dx")
        .unwrap();
    let l = scope.form("sin(x[0])*v*dx + w*v*ds").unwrap();
    let mut matrices = MatrixPlan::new(&a).unwrap();
    let mut vectors = VectorPlan::new(&l).unwrap();
    let mut matrix = matrices.matrix();
    let mut b = vec![0.0; space.dof_count()];
    let mut jacobi = None;
    let mut solver = Krylov::new(Method::Cg, KrylovOptions::default()).unwrap();
    let mut tenth = 0;
    for round in 0..1000 {
        k.set(1.0 + 0.001 * round as f64);
        matrices.assemble(&mut matrix).unwrap();
        vectors.assemble(&mut b).unwrap();
        let jacobi = jacobi.get_or_insert_with(|| Jacobi::new(&matrix).unwrap());
        jacobi.update(&matrix).unwrap();
        solver
            .solve(&matrix, jacobi, &b, &mut solution.values_mut())
            .unwrap();
        if round == 9 {
            tenth = resident();
        }
    }
    let change = resident() as isize - tenth as isize;
    assert!(
        change.abs() <= 1 << 20,
        "{change} bytes more than after the tenth"
    );
}
