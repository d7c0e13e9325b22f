//! Counts every heap allocation: interpolating, assembling at nodes and coupling meshes again makes
//! none.
#![cfg(not(loom))]

#[path = "common/counting.rs"]
mod counting;

use weft::assemble::{
    CouplingPlan, InterpolationMatrix, InterpolationPlan, NodalPlan, PointPlan, Reduction,
    VectorPlan,
};
use weft::field::{CrossField, Field};
use weft::form::{Expr, Measure, Param};
use weft::geometry::{Geometry, Locator, shapes};
use weft::space::Space;

/// Everything with a plan, on cells, on sides and between two meshes.
struct Step {
    k: Param,
    field: Field,
    target: Field,
    into_nodes: Vec<InterpolationPlan>,
    on_sides: PointPlan,
    matrices: Vec<InterpolationMatrix>,
    loads: NodalPlan,
    masses: NodalPlan,
    coupling: CouplingPlan,
    across: VectorPlan,
}

impl Step {
    fn new() -> Step {
        let here = shapes::box_hexes([6, 5, 5], [0.0; 3], [1.0; 3]).unwrap();
        let there = shapes::box_tets([3, 3, 3], [0.1; 3], [0.8; 3]).unwrap();
        let space = Space::lagrange(&here, 1).unwrap();
        let other = Space::lagrange(&there, 2).unwrap();
        let (field, target) = (Field::zeros(&other), Field::zeros(&space));
        let k = Param::scalar("k", 1.0);
        let cells = here.topology().cell_count();
        let data = Expr::cell_data("d", (0..cells).map(|c| c as f64).collect());
        let cross = CrossField::new(&field).unwrap();
        let e = &data * Expr::from(&k) + cross.or(2.0) + target.expr().grad().at(1);
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let measure = Measure::cells(&here);
        let new = |r| InterpolationPlan::new(&e, &space, &measure, r).unwrap();
        let matrix = InterpolationMatrix::derivative(&e, &target, &space, &measure, Reduction::Max);
        let linear = InterpolationMatrix::new(
            &(Expr::from(&k) * u.grad()),
            &space.vector(3).unwrap(),
            &measure,
            Reduction::WeightedAverage,
        );
        let far = Expr::from(&k) * Expr::trial(&other) * &v;
        let form = cross.expr() * &v + cross.expr().grad().dot(&v.grad());
        Step {
            into_nodes: [Reduction::WeightedAverage, Reduction::Max, Reduction::First]
                .map(new)
                .into(),
            on_sides: PointPlan::on_elements(&e, &Measure::boundary(&here), &[[0.5, 0.5, 0.0]])
                .unwrap(),
            matrices: vec![matrix.unwrap(), linear.unwrap()],
            loads: NodalPlan::new(&(&e * &v).dx(&here)).unwrap(),
            masses: NodalPlan::new(&(&e * u.inner(&v)).over(&measure)).unwrap(),
            coupling: CouplingPlan::new(&far.dx(&here), &Locator::new(&there)).unwrap(),
            across: VectorPlan::new(&form.dx(&here)).unwrap(),
            k,
            field,
            target,
        }
    }
}

#[test]
fn doing_it_again_allocates_nothing() {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .start_handler(|_| counting::watch())
            .build()
            .unwrap();
        let calls = pool.install(|| {
            let mut step = Step::new();
            let mut matrices: Vec<_> = step.matrices.iter().map(|m| m.matrix()).collect();
            let mut mass = step.masses.matrix();
            let mut coupled = step.coupling.matrix();
            let mut vector = vec![0.0; step.target.space().dof_count()];
            let mut points = vec![0.0; step.on_sides.len()];
            let mut run = |round: usize| {
                step.k.set(1.0 + round as f64);
                step.field.values_mut().fill(0.01 * round as f64);
                for plan in &mut step.into_nodes {
                    plan.interpolate(&step.target).unwrap();
                }
                step.on_sides.evaluate(&mut points).unwrap();
                for (plan, matrix) in step.matrices.iter_mut().zip(&mut matrices) {
                    plan.assemble(matrix).unwrap();
                }
                step.loads.assemble_vector(&mut vector).unwrap();
                step.masses.assemble_matrix(&mut mass).unwrap();
                step.coupling.assemble(&mut coupled).unwrap();
                step.across.assemble(&mut vector).unwrap();
            };
            // Each thread searches for the first time, and borrows what it will borrow again.
            (0..5).for_each(&mut run);
            let before = counting::calls();
            (5..25).for_each(&mut run);
            assert!(vector.iter().chain(&points).all(|v| v.is_finite()));
            counting::calls() - before
        });
        assert_eq!(calls, 0, "{threads} threads");
    }
}
