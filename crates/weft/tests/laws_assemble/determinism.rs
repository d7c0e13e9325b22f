//! The same bits for any number of threads, and from run to run.

use crate::common::*;
use crate::{field, form, scope};
use weft::assemble::{evaluate_at, integrate, matrix, vector};
use weft::element::CellKind;
use weft::geometry::Geometry;
use weft::space::Space;

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn results_do_not_depend_on_threads() {
    for (kind, n) in [
        (CellKind::Segment, [700, 1, 1]),
        (CellKind::Triangle, [20, 20, 1]),
        (CellKind::Quad, [25, 25, 1]),
        (CellKind::Tet, [5, 5, 5]),
        (CellKind::Hex, [9, 8, 7]),
    ] {
        let mesh = unit_mesh(kind, n).moved(|x| bend(x, kind.dim())).unwrap();
        let space = Space::lagrange(&mesh, 1).unwrap();
        let f = field(&space, &mut Random(1));
        let scope = scope(&mesh, &space, &f);
        let all = || {
            let a = form(
                &scope,
                "(1 + f^2)*dot(grad(u), grad(v))*dx + jump(u)*avg(v)*dS + u*v*ds",
            );
            let l = form(
                &scope,
                "exp(f)*v*dx + x[0]*v*ds + avg(v)*dot(avg(grad(f)), n)*dS",
            );
            let j = form(&scope, "sin(f)*dx + f^2*ds + dot(jump(grad(f)), n)^2*dS");
            let e = scope.expression("f*grad(f)").unwrap();
            let points = [kind.center(), kind.vertices()[0]];
            let values = evaluate_at(&e, space.geometry(), &points).unwrap();
            [
                bits(matrix(&a).unwrap().values()),
                bits(&vector(&l).unwrap()),
                vec![integrate(&j).unwrap().to_bits()],
                bits(&values),
            ]
        };
        let first = pool(1).install(all);
        for threads in [1, 2, 3, 4] {
            for round in 0..2 {
                assert!(
                    pool(threads).install(all) == first,
                    "{kind:?}, {threads} threads, {round}"
                );
            }
        }
        assert!(mesh.topology().cell_count() > 500);
    }
}
