//! What may change between assemblies: parameters, fields, natives; and data of cells.

use crate::common::{assert_close, unit_mesh};
use crate::scope;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use weft::assemble::{MatrixPlan, ScalarPlan, VectorPlan, integrate};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::*;
use weft::space::Space;

#[test]
fn parameters_and_fields_change_without_a_new_plan() {
    let mesh = unit_mesh(CellKind::Quad, [3, 2, 1]);
    let space = Space::lagrange(&mesh, 2).unwrap();
    let (k, b) = (Param::scalar("k", 1.0), Param::vector("b", &[1.0, 0.0]));
    let field = Field::zeros(&space);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = (Expr::from(&k) * &u * &v).dx(&mesh);
    let l = (Expr::from(&b).dot(&v.grad()) + Expr::from(&field) * &v).dx(&mesh);
    let mut matrices = MatrixPlan::new(&a).unwrap();
    let mut vectors = VectorPlan::new(&l).unwrap();
    let mut scalars = ScalarPlan::new(&Expr::from(&field).dx(&mesh)).unwrap();
    let mut mass = matrices.matrix();
    matrices.assemble(&mut mass).unwrap();
    let first = mass.values().to_vec();
    let address = mass.values().as_ptr();
    k.set(-2.5);
    matrices.assemble(&mut mass).unwrap();
    let scaled: Vec<f64> = first.iter().map(|x| -2.5 * x).collect();
    assert_close(mass.values(), &scaled, 1e-15, "k");
    assert_eq!(mass.values().as_ptr(), address);

    let mut out = vec![0.0; space.dof_count()];
    let mut assembled = |b0: f64, b1: f64, value: f64| {
        b.set_component(0, b0);
        b.set_component(1, b1);
        b.set_component(2, 1e9);
        field.values_mut().fill(value);
        vectors.assemble(&mut out).unwrap();
        out.clone()
    };
    let [x, y, one] = [
        assembled(1.0, 0.0, 0.0),
        assembled(0.0, 1.0, 0.0),
        assembled(0.0, 0.0, 1.0),
    ];
    let both: Vec<f64> = (0..x.len())
        .map(|i| 2.0 * x[i] - 3.0 * y[i] + 4.0 * one[i])
        .collect();
    assert_close(&assembled(2.0, -3.0, 4.0), &both, 1e-14, "b and the field");
    assert_close(&[scalars.evaluate().unwrap()], &[4.0], 1e-14, "the field");
}

#[test]
fn constants_of_parameters_are_folded_as_they_are_now() {
    let mesh = unit_mesh(CellKind::Triangle, [1; 3]);
    let (e, nu) = (Param::scalar("E", 10.0), Param::scalar("nu", 0.25));
    let mut scope = scope(&mesh);
    scope.set("E", &e);
    scope.set("nu", &nu);
    let form = scope
        .form("select(nu < 0.5, E/(2*(1 + nu)), max(E, sqrt(nu)))*dx")
        .unwrap();
    let mut plan = ScalarPlan::new(&form).unwrap();
    assert_close(&[plan.evaluate().unwrap()], &[4.0], 1e-15, "first");
    e.set(21.0);
    nu.set(0.05);
    assert_close(&[plan.evaluate().unwrap()], &[10.0], 1e-15, "second");
    nu.set(0.5);
    assert_close(&[plan.evaluate().unwrap()], &[21.0], 1e-15, "third");
}

#[test]
fn native_functions_see_blocks_of_points() {
    #[derive(Debug)]
    struct Counted(AtomicUsize);
    impl NativeFunction for Counted {
        fn name(&self) -> &str {
            "counted"
        }
        fn arguments(&self) -> Vec<Shape> {
            vec![Shape::Vector(2), Shape::Scalar, Shape::Matrix(2, 2)]
        }
        fn result(&self) -> Shape {
            Shape::Matrix(2, 2)
        }
        fn evaluate(&self, inputs: &[&[f64]], outputs: &mut [&mut [f64]]) {
            self.0.fetch_add(1, Ordering::Relaxed);
            assert_eq!((inputs.len(), outputs.len()), (7, 4));
            for p in 0..outputs[0].len() {
                for k in 0..4 {
                    outputs[k][p] = inputs[k / 2][p] * inputs[2][p] + inputs[3 + k][p];
                }
            }
        }
        fn jacobian(&self) -> Option<Arc<dyn NativeFunction>> {
            None
        }
    }
    let mesh = unit_mesh(CellKind::Quad, [5, 3, 1]);
    let counted = Arc::new(Counted(AtomicUsize::new(0)));
    let x = Expr::position(&mesh);
    // A uniform argument, a varying one, and a tensor with both.
    let k = Expr::from(&Param::scalar("k", 3.0));
    let tensor = Expr::identity(2) * x.at(1);
    let result = Expr::native(counted.clone(), vec![x.clone(), k, tensor]);
    // ∫ (3 x₀ + x₁) and ∫ 3 x₁ over the unit square.
    let total = integrate(&result.at2(0, 0).dx(&mesh)).unwrap();
    assert_close(&[total], &[2.0], 1e-14, "component 0");
    let total = integrate(&(result.at2(1, 0) + result.at2(0, 0)).dx(&mesh)).unwrap();
    assert_close(&[total], &[3.5], 1e-14, "both");
    assert_eq!(
        counted.0.load(Ordering::Relaxed),
        4,
        "one call a block of eight cells"
    );
}

#[test]
fn native_functions_check_their_arguments() {
    let mesh = unit_mesh(CellKind::Quad, [1; 3]);
    let f = point_function(
        "f",
        &[Shape::Vector(2)],
        Shape::Scalar,
        |x, y| y[0] = x[0],
        None,
    )
    .unwrap();
    let message = Expr::native(f.clone(), vec![Expr::from(1.0)])
        .check()
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("`f`") && message.contains("it takes vector of 2"),
        "{message}"
    );
    assert!(Expr::native(f, vec![]).check().is_err());
    let large = point_function("g", &[Shape::Vector(300)], Shape::Scalar, |_, _| {}, None);
    assert!(large.is_none());
    // No arguments at all: a number.
    let seven = point_function("seven", &[], Shape::Scalar, |_, y| y[0] = 7.0, None).unwrap();
    let total = integrate(&Expr::native(seven, vec![]).dx(&mesh)).unwrap();
    assert_close(&[total], &[7.0], 1e-15, "seven");
}

#[test]
fn cell_data_is_constant_in_cells() {
    let mesh = unit_mesh(CellKind::Quad, [4, 1, 1]);
    let data = Expr::cell_data("k", vec![1.0, 2.0, 3.0, 4.0]);
    let total = integrate(&data.dx(&mesh)).unwrap();
    assert_close(&[total], &[2.5], 1e-15, "dx");
    let jumps = integrate(&data.jump().pow(2.0).over(&Measure::interior(&mesh))).unwrap();
    assert_close(&[jumps], &[3.0], 1e-15, "jumps");
    let mean = integrate(&data.avg().over(&Measure::interior(&mesh))).unwrap();
    assert_close(&[mean], &[7.5], 1e-15, "means");
}

#[test]
fn measures_in_text_name_groups_and_degrees() {
    let mesh = unit_mesh(CellKind::Quad, [4, 4, 1])
        .with_tag_cells("west", |x| x[0] < 0.5)
        .unwrap()
        .with_tag_cells("corner", |x| x[0] > 0.75 && x[1] > 0.75)
        .unwrap();
    let scope = scope(&mesh);
    let value = |text: &str| integrate(&scope.form(text).unwrap()).unwrap();
    let cases = [
        ("1*dx", 1.0),
        ("1*dx()", 1.0),
        ("dx*2", 2.0),
        ("1*dx('west')", 0.5),
        ("1*dx(\"west\", 'corner')", 0.5625),
        ("1*dx('west', 'west')", 0.5),
        ("1*ds", 4.0),
        ("1*ds('left')", 1.0),
        ("x[0]*ds('left', 'right')", 1.0),
        ("1*dS", 6.0),
        ("n[0]*ds('right') - n[0]*ds('left')", 2.0),
        ("x[0]^2*dx(degree=0)", 21.0 / 64.0),
        ("2*(x[0]*dx + 1*ds)/4", 2.25),
        ("-(1*dx) + 3*dx('west')", 0.5),
    ];
    for (text, expected) in cases {
        assert_close(&[value(text)], &[expected], 1e-14, text);
    }
}
