//! Interior sides in all relative orientations: both sides see the same points.

use crate::common::*;
use crate::{field, scope, value};
use weft::assemble::interpolate;
use weft::element::CellKind;
use weft::form::Expr;
use weft::geometry::{Geometry, Mesh};
use weft::space::Space;

fn bent(kind: CellKind, n: usize) -> Mesh {
    unit_mesh(kind, [n; 3])
        .moved(|x| bend(x, kind.dim()))
        .unwrap()
}

#[test]
fn continuous_functions_do_not_jump() {
    let mut random = Random(99);
    for kind in CellKind::CELLS {
        for round in 0..4 {
            let mesh = scrambled(&bent(kind, 2), &mut random);
            for p in 1..=4 {
                // In space, high degrees on one round only: they are slow to assemble.
                if kind.dim() == 3 && p > 3 && round > 0 {
                    continue;
                }
                let space = Space::lagrange(&mesh, p).unwrap();
                let scope = scope(&mesh, &space, &field(&space, &mut random));
                let jump = value(&scope, "jump(f)^2*dS");
                let size = value(&scope, "inside(f)^2*dS");
                assert!(jump < 1e-24 * size, "{kind:?} degree {p}: {jump:e}");
            }
        }
    }
}

#[test]
fn both_sides_see_the_same_positions() {
    let mut random = Random(5);
    let curved = curved_cases()
        .into_iter()
        .filter(|c| !c.mesh.topology().interior_sides().is_empty());
    let straight = CellKind::CELLS.into_iter().flat_map(|kind| {
        (0..3)
            .map(|_| scrambled(&bent(kind, 2), &mut random))
            .collect::<Vec<_>>()
    });
    for mesh in straight.chain(curved.map(|c| c.mesh)) {
        let dim = mesh.space_dim();
        let degree = mesh.map().degree;
        let broken = Space::discontinuous(&mesh, degree).unwrap();
        let places = broken.vector(dim).unwrap();
        let y = interpolate(&Expr::position(&mesh), &places).unwrap();
        let mut scope = scope(&mesh, &places, &y);
        let off = value(
            &scope,
            "dot(inside(f) - outside(f), inside(f) - outside(f))*dS",
        );
        assert!(off < 1e-24, "{:?}: {off:e}", mesh.cell_kind());
        let off = value(
            &scope,
            "(dot(inside(f) - x, inside(f) - x) + dot(outside(f) - x, outside(f) - x))*dS",
        );
        assert!(off < 1e-24, "{:?}: {off:e}", mesh.cell_kind());
        // The normal leaves the inner cell: it points from its centre to the outer one's.
        let cell_kind = mesh.cell_kind();
        let middle = Space::discontinuous(&mesh, 0).unwrap().vector(dim).unwrap();
        let centres = interpolate(&Expr::position(&mesh), &middle).unwrap();
        scope.set_field("c", &centres);
        let wrong = value(&scope, "(dot(outside(c) - inside(c), n) <= 0)*dS");
        assert_eq!(wrong, 0.0, "{cell_kind:?}");
    }
}

#[test]
fn interior_sums_do_not_depend_on_the_numbering() {
    let mut random = Random(12);
    for kind in CellKind::CELLS {
        let plain = bent(kind, 2);
        // A function of position, broken, so that jumps are not 0.
        let text = |dim: usize| {
            let last = dim - 1;
            format!("sin(3*x[0]) + x[{last}]^2")
        };
        let mut results = Vec::new();
        for round in 0..5 {
            let mesh = if round == 0 {
                plain.clone()
            } else {
                scrambled(&plain, &mut random)
            };
            let space = Space::discontinuous(&mesh, 0).unwrap();
            let mut scope = scope(&mesh, &space, &weft::field::Field::zeros(&space));
            let e = scope.expression(&text(mesh.space_dim())).unwrap();
            scope.set_field("g", &interpolate(&e, &space).unwrap());
            scope.set_degree(Some(8));
            results.push([
                value(&scope, "jump(g)^2*dS"),
                value(&scope, "avg(g)*dot(x, x)*dS"),
                value(&scope, "avg(h)*dS"),
                value(&scope, "jump(g)*n[0]*dS"),
            ]);
        }
        for r in &results[1..] {
            assert_close(r, &results[0], 1e-12, &format!("{kind:?}"));
        }
    }
}
