//! Matrices between two meshes.

use crate::common::*;
use crate::random_field;
use weft::assemble::{AssembleError, CouplingPlan, interpolate, matrix, prolongation, vector};
use weft::element::CellKind;
use weft::field::CrossField;
use weft::form::{Expr, Form, Measure};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grid2, Grid3, Locator, Mesh, VoxelMap, shapes};
use weft::space::Space;
use weft::sparse::BlockMatrix;

fn coupled(form: &Form, there: &dyn Geometry) -> BlockMatrix {
    let mut plan = CouplingPlan::new(form, &Locator::new(there)).unwrap();
    let mut matrix = plan.matrix();
    plan.assemble(&mut matrix).unwrap();
    matrix
}

/// Forms on `here` for a function w of the other mesh.
fn forms(here: &Mesh, w: &Expr, v: &Expr) -> Vec<Form> {
    let cells = Measure::cells(here).degree(5);
    let sides = Measure::boundary(here).degree(5);
    let x = Expr::position(here).at(0);
    let mut all = Vec::new();
    if w.shape().is_scalar() {
        let w = w * (1.0 + &x);
        all.push((&w * v).over(&cells) + (&w * v).over(&sides));
        all.push((w.grad().dot(&v.grad()) + w.grad().at(0) * v).over(&cells));
        all.push((w * v.jump()).over(&Measure::interior(here).degree(4)));
    } else {
        all.push((w.dot(v) + w.div() * v.at(0)).over(&cells));
        all.push((w.dot(&Expr::normal(here)) * v.at(0)).over(&sides));
    }
    all
}

/// The matrix times degrees of freedom is the linear form with the field put in, evaluated across
/// the meshes point by point.
#[test]
fn matrix_times_field_is_the_form_of_the_field() {
    let mut random = Random(71);
    let kinds = [
        CellKind::Triangle,
        CellKind::Quad,
        CellKind::Tet,
        CellKind::Hex,
    ];
    for (kind, other) in kinds.iter().flat_map(|a| kinds.map(|b| (*a, b))) {
        if kind.dim() != other.dim() {
            continue;
        }
        let here = zigzag_mesh(kind, 2);
        // A part of it sticks out.
        // So that no point lies on a border, where gradients have several values.
        let (scale, offset) = ([0.913, 0.874, 0.931], [0.0213, 0.0337, 0.0171]);
        let shift = |x: [f64; 3]| -> [f64; 3] {
            let at = |d| match d < other.dim() {
                true => scale[d] * x[d] + offset[d] + 0.01 * x[(d + 1) % 3],
                false => 0.0,
            };
            std::array::from_fn(at)
        };
        let there = zigzag_mesh(other, 3).moved(shift).unwrap();
        let lagrange = |mesh: &Mesh, p| Space::lagrange(mesh, p).unwrap();
        let dim = kind.dim();
        let mut pairs = vec![
            (lagrange(&there, 2), lagrange(&here, 1)),
            (lagrange(&there, 1), Space::discontinuous(&here, 1).unwrap()),
            (
                lagrange(&there, 1).vector(dim).unwrap(),
                lagrange(&here, 2).vector(dim).unwrap(),
            ),
        ];
        let edges = Space::nedelec(&there, 1).unwrap();
        pairs.push((edges, Space::raviart_thomas(&here, 1).unwrap()));
        for (trial, test) in pairs {
            let w = random_field(&trial, &mut random);
            let cross = CrossField::new(&w).unwrap().expr();
            let (u, v) = (Expr::trial(&trial), Expr::test(&test));
            let both = forms(&here, &u, &v)
                .into_iter()
                .zip(forms(&here, &cross, &v));
            for (bilinear, linear) in both {
                let matrix = coupled(&bilinear, &there);
                let mut found = vec![0.0; test.dof_count()];
                matrix.multiply(&w.values(), &mut found).unwrap();
                let truth = vector(&linear).unwrap();
                let what = format!("{} {}", kind.name(), other.name());
                // Jumps of continuous functions vanish, so no difference is relative.
                for (found, truth) in found.iter().zip(&truth) {
                    assert!((found - truth).abs() < 1e-11, "{what}: {found} {truth}");
                }
            }
        }
    }
}

/// Rows sum to the loads of 1, columns to the integrals of the other mesh's functions, and shared
/// polynomials are those of one mesh.
#[test]
fn partition_of_unity_and_polynomials() {
    for kind in [CellKind::Triangle, CellKind::Quad] {
        let here = unit_mesh(kind, [3, 4, 1]);
        let there = shapes::rectangle_triangles([5, 2], [0.0; 2], [1.0; 2]).unwrap();
        for p in 1..=2 {
            let test = Space::lagrange(&here, p).unwrap();
            let trial = Space::lagrange(&there, p).unwrap();
            let (u, v) = (Expr::trial(&trial), Expr::test(&test));
            let form = (u * &v).over(&Measure::cells(&here).degree(3 * p));
            let matrix = coupled(&form, &there);
            let e = |x: &Expr| (x.at(0) - 0.5 * x.at(1) + 0.2).pow(p as f64);
            let polynomial = interpolate(&e(&Expr::position(&there)), &trial).unwrap();
            let ones = vec![1.0; trial.dof_count()];
            for (values, e) in [
                (ones, Expr::constant(1.0)),
                (polynomial.values().to_vec(), e(&Expr::position(&here))),
            ] {
                let mut found = vec![0.0; test.dof_count()];
                matrix.multiply(&values, &mut found).unwrap();
                let truth = vector(&(e * &v).dx(&here)).unwrap();
                assert_close(&found, &truth, 1e-12, kind.name());
            }
            let total: f64 = matrix.values().iter().sum();
            assert!((total - 1.0).abs() < 1e-12);
        }
    }
}

/// With the measure on the finer of two nested meshes every entry is exact: C = M P.
#[test]
fn nested_meshes_are_exact() {
    for kind in CellKind::CELLS {
        let there = unit_mesh(kind, [2, 1, 1]);
        let here = there.refined().unwrap();
        let (trial, test) = (
            Space::lagrange(&there, 1).unwrap(),
            Space::lagrange(&here, 1).unwrap(),
        );
        let v = Expr::test(&test);
        let found = coupled(&(Expr::trial(&trial) * &v).dx(&here), &there);
        let mass = matrix(&(Expr::trial(&test) * &v).dx(&here)).unwrap();
        let truth = mass.times(&prolongation(&trial, &test).unwrap()).unwrap();
        assert_close(&found.to_dense(), &truth.to_dense(), 1e-12, kind.name());
    }
}

#[test]
fn hanging_nodes_on_either_mesh() {
    let coarse = [[2, 0, 0], [0, 2, 0], [2, 2, 0]].map(|x| (x, 1));
    let fine = (0..8).map(|k| ([k & 1, k >> 1 & 1, k >> 2], 0));
    let cells: Vec<([i32; 3], u8)> = fine.chain(coarse).collect();
    let hanging = AdaptiveVoxelGrid::from_cells(&cells, VoxelMap::uniform(0.25).unwrap()).unwrap();
    let cube = Grid3::new([2, 3, 2], [0.0; 3], [1.0, 1.0, 0.5]).unwrap();
    let (a, b) = (
        Space::lagrange(&hanging, 1).unwrap(),
        Space::lagrange(&cube, 1).unwrap(),
    );
    // Nodes hang in the space of the trial function, then in that of the test function.
    let both = [
        (&a, &b, Measure::cells(&cube), 3, "trial"),
        (&b, &a, Measure::cells(&hanging), 4, "test"),
    ];
    for (trial, test, cells, seed, what) in both {
        let w = random_field(trial, &mut Random(seed));
        let v = Expr::test(test);
        let measure = cells.degree(4);
        let mut found = vec![0.0; test.dof_count()];
        let matrix = coupled(
            &(Expr::trial(trial) * &v).over(&measure),
            &**trial.geometry(),
        );
        matrix.multiply(&w.values(), &mut found).unwrap();
        let cross = CrossField::new(&w).unwrap().expr();
        let expected = vector(&(cross * &v).over(&measure)).unwrap();
        assert_close(&found, &expected, 1e-12, what);
    }
}

#[test]
fn threads_motion_and_faults() {
    let here = zigzag_mesh(CellKind::Tet, 3);
    let there = zigzag_mesh(CellKind::Hex, 3);
    let (trial, test) = (
        Space::lagrange(&there, 1).unwrap(),
        Space::lagrange(&here, 2).unwrap(),
    );
    let (u, v) = (Expr::trial(&trial), Expr::test(&test));
    let form = (&u * &v).dx(&here);
    let run = |threads| pool(threads).install(|| coupled(&form, &there).values().to_vec());
    assert!(run(1) == run(2) && run(1) == run(3));
    let mut plan = CouplingPlan::new(&form, &Locator::new(&there)).unwrap();
    let mut matrix = plan.matrix();
    plan.assemble(&mut matrix).unwrap();
    there
        .move_vertices(
            there
                .map()
                .nodes
                .iter()
                .map(|x| x.map(|c| 2.0 * c))
                .collect(),
        )
        .unwrap();
    assert!(matches!(
        plan.assemble(&mut matrix),
        Err(AssembleError::Moved(_))
    ));
    let other = Locator::new(&here);
    let error = CouplingPlan::new(&form, &other).err().unwrap().to_string();
    assert!(error.contains("locator"), "{error}");
    let error = CouplingPlan::new(&v.dx(&here), &other)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("trial"), "{error}");
    // Nothing in common, and nothing at all.
    let far = shapes::box_tets([1, 1, 1], [7.0; 3], [8.0; 3]).unwrap();
    let w = Expr::test(&Space::lagrange(&far, 1).unwrap());
    let plan = CouplingPlan::new(&(&u * &w).dx(&far), &Locator::new(&there)).unwrap();
    assert!(plan.outside() > 0 && plan.matrix().values().is_empty());
    let none = Measure::cells(&here).listed(vec![]);
    let plan = CouplingPlan::new(&(&u * &v).over(&none), &Locator::new(&there)).unwrap();
    assert!(plan.outside() == 0 && plan.matrix().values().is_empty());
    let plane = Grid2::unit([2, 2]).unwrap();
    let s = Expr::test(&Space::lagrange(&plane, 1).unwrap());
    let error = CouplingPlan::new(&(&u * &s).dx(&plane), &Locator::new(&there));
    assert!(error.err().unwrap().to_string().contains("dimensions"));
}
