//! Values of every kind on every basis.

use crate::common::{Random, unit_mesh};
use weft::assemble::{integrate, interpolate, matrix};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Measure, Shape};
use weft::geometry::{Geometry, Grid3};
use weft::space::{Space, ValueKind};

fn spaces<G: Geometry + Clone + 'static>(geometry: &G) -> Vec<Space> {
    let mut all = vec![Space::bubble(geometry).unwrap()];
    all.extend(Space::crouzeix_raviart(geometry));
    all.extend((1..=3).map(|p| Space::polynomials(geometry, p).unwrap()));
    all.extend((1..=4).filter_map(|p| Space::serendipity(geometry, p).ok()));
    all.extend((1..=3).filter_map(|p| Space::splines(geometry, p).ok()));
    all
}

/// A value whose degrees of freedom are different linear functions of the position.
fn linear(x: &Expr, kind: ValueKind, dim: usize) -> Expr {
    let dof = |k: usize| x.at(k % dim) * (1.0 + k as f64) + (0.5 - k as f64);
    let entries = (0..kind.shape().len()).map(|c| {
        let terms = kind.dofs_of(c).map(|(k, factor)| factor * dof(k));
        terms.fold(Expr::zero(Shape::Scalar), |sum, term| sum + term)
    });
    Expr::tensor(kind.shape(), entries.collect())
}

fn check<G: Geometry + Clone + 'static>(geometry: &G) {
    let mut random = Random(21);
    let dim = geometry.space_dim();
    let x = Expr::position(geometry);
    for scalar in spaces(geometry) {
        let name = scalar.element().name();
        let kinds = [
            ValueKind::Vector(dim),
            ValueKind::Matrix(2, 3),
            ValueKind::Symmetric(dim.max(2)),
            ValueKind::Deviatoric(dim.max(2)),
            ValueKind::Skew(dim.max(2)),
        ];
        for kind in kinds {
            let space = scalar.with_value(kind).unwrap();
            assert_eq!(space.dof_count(), scalar.node_count() * kind.components());
            let exact = linear(&x, kind, dim);
            let field = interpolate(&exact, &space).unwrap();
            let off = field.expr() - &exact;
            let error = integrate(&off.inner(&off).over(&Measure::cells(geometry))).unwrap();
            assert!(error < 1e-24, "{name} {kind:?}: {error:e}");
            // A field at a point is what forms see there: compare with the scalar functions.
            let values = random.numbers(space.dof_count());
            let field = Field::from_values(&space, values.clone()).unwrap();
            let xi = random.point(geometry.cell_kind());
            let at = field.evaluate(0, xi).unwrap();
            let table = scalar.element().tabulate(&[xi]);
            for (component, value) in at.value.iter().enumerate() {
                let nodes = || scalar.cell_nodes(0).iter().zip(table.values_at(0));
                let of = |node: u32, dof| values[node as usize * kind.components() + dof];
                let part = |(dof, factor)| -> f64 {
                    nodes()
                        .map(|(&node, phi)| factor * phi * of(node, dof))
                        .sum()
                };
                let expected: f64 = kind.dofs_of(component).map(part).sum();
                assert!((value - expected).abs() < 1e-12, "{name} {kind:?}");
            }
        }
        // Functions sum to 1: the entries of the mass matrix to the volume, once a component.
        let space = scalar.vector(dim).unwrap();
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let mass = matrix(&u.inner(&v).over(&Measure::cells(geometry))).unwrap();
        let ones = vec![1.0; space.dof_count()];
        let mut sums = vec![0.0; space.dof_count()];
        mass.multiply(&ones, &mut sums).unwrap();
        let total: f64 = sums.iter().sum();
        assert!((total - dim as f64).abs() < 1e-12, "{name}: {total}");
    }
}

#[test]
fn values_of_all_kinds_work_on_every_basis() {
    for kind in CellKind::CELLS {
        check(&unit_mesh(kind, [2; 3]));
    }
    check(&Grid3::unit([2, 1, 3]).unwrap());
}
