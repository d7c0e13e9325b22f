//! Matrices, vectors and numbers of the engine against the plain twin.

use crate::common::*;
use crate::twin::{Basis, Over, Pair, Place, dense, load, visit};
use crate::{field, form, scope};
use weft::assemble::{MatrixPlan, integrate, matrix, vector};
use weft::form::{Expr, Form, Measure, Scope};
use weft::geometry::{Geometry, Mesh};
use weft::space::Space;

/// Agreement that different orders of summation allow.
const TOLERANCE: f64 = 1e-12;

type Integrand<'a> = &'a dyn Fn(&Place, &Pair, &Pair) -> f64;

#[track_caller]
fn compare(form: &Form, spaces: [&Space; 2], over: Over, degree: usize, f: Integrand, what: &str) {
    let geometry = &**spaces[0].geometry();
    let engine = matrix(form).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_close(
        &engine.to_dense(),
        &dense(geometry, over, degree, spaces, f),
        TOLERANCE,
        what,
    );
}

/// Points enough to see every entry, few enough to be quick.
fn rule(degree: usize) -> usize {
    2 * degree
}

fn degrees(mesh: &Mesh) -> std::ops::RangeInclusive<usize> {
    // The plain twin takes its time: in 3-D high degrees are left to the smallest meshes.
    match (mesh.cell_kind().dim(), mesh.topology().cell_count()) {
        (3, 7..) => 1..=2,
        (3, 2..) => 1..=3,
        _ => 1..=4,
    }
}

#[test]
fn scalar_forms() {
    for Case { name, mesh } in all_cases() {
        for p in degrees(&mesh) {
            let space = Space::lagrange(&mesh, p).unwrap();
            let mut scope = scope(&mesh, &space, &field(&space, &mut Random(3)));
            scope.set_degree(Some(rule(p)));
            let gd = mesh.space_dim();
            let check = |text: &str, f: Integrand| {
                let what = format!("{text} on {name}, degree {p}");
                compare(
                    &form(&scope, text),
                    [&space, &space],
                    Over::Cells,
                    rule(p),
                    f,
                    &what,
                );
            };
            check("u*v*dx", &|_, u, v| u.inside.value[0] * v.inside.value[0]);
            check("inner(grad(u), grad(v))*dx", &|_, u, v| {
                (0..gd)
                    .map(|d| u.inside.gradient[0][d] * v.inside.gradient[0][d])
                    .sum()
            });
            // Not symmetric: derivatives on one side only, and along one axis.
            check(
                "(x[0]*grad(u)[0]*v + 2*u*dot(x, grad(v)))*dx",
                &|place, u, v| {
                    let slope: f64 = (0..gd).map(|d| place.x[d] * v.inside.gradient[0][d]).sum();
                    place.x[0] * u.inside.gradient[0][0] * v.inside.value[0]
                        + 2.0 * u.inside.value[0] * slope
                },
            );
            if gd > 1 {
                check(
                    "(1 + x[1]^2)*grad(u)[1]*grad(v)[0]*dx + exp(x[0])*u*v*dx",
                    &|place, u, v| {
                        (1.0 + place.x[1].powi(2))
                            * u.inside.gradient[0][1]
                            * v.inside.gradient[0][0]
                            + place.x[0].exp() * u.inside.value[0] * v.inside.value[0]
                    },
                );
            }
        }
    }
}

#[test]
fn boundary_forms() {
    for Case { name, mesh } in all_cases() {
        let space = Space::lagrange(&mesh, 2).unwrap();
        let mut scope = scope(&mesh, &space, &field(&space, &mut Random(3)));
        scope.set_degree(Some(4));
        let gd = mesh.space_dim();
        let text = "(x[0]*u*v + dot(grad(u), n)*v)*ds";
        let twin = |place: &Place, u: &Pair, v: &Pair| {
            let flux: f64 = (0..gd)
                .map(|d| u.inside.gradient[0][d] * place.normal[d])
                .sum();
            (place.x[0] * u.inside.value[0] + flux) * v.inside.value[0]
        };
        let what = format!("{text} on {name}");
        compare(
            &form(&scope, text),
            [&space, &space],
            Over::Boundary,
            4,
            &twin,
            &what,
        );
    }
}

#[test]
fn elasticity() {
    for Case { name, mesh } in all_cases() {
        let gd = mesh.space_dim();
        let highest = if mesh.cell_kind().dim() == 3 { 2 } else { 4 };
        for p in 1..=highest {
            let space = Space::lagrange(&mesh, p).unwrap().vector(gd).unwrap();
            let mut scope = scope(&mesh, &space, &field(&space, &mut Random(3)));
            scope.set_degree(Some(rule(p)));
            let text = "2*0.7*inner(sym(grad(u)), sym(grad(v)))*dx + 1.3*div(u)*div(v)*dx";
            let twin = |_: &Place, u: &Pair, v: &Pair| {
                let strains: f64 = (0..gd * gd)
                    .map(|k| u.inside.strain(k / gd, k % gd) * v.inside.strain(k / gd, k % gd))
                    .sum();
                1.4 * strains + 1.3 * u.inside.div() * v.inside.div()
            };
            let what = format!("elasticity on {name}, degree {p}");
            let form = if gd == 1 {
                // A vector of one component has a 1 × 1 gradient.
                scope
                    .form("1.4*inner(grad(u), grad(v))*dx + 1.3*div(u)*div(v)*dx")
                    .unwrap()
            } else {
                scope.form(text).unwrap()
            };
            compare(&form, [&space, &space], Over::Cells, rule(p), &twin, &what);
        }
    }
}

/// A scope with a trial function of one space and a test function of another.
fn mixed_scope(mesh: &Mesh, trial: &Space, test: &Space, degree: usize) -> Scope {
    let mut scope = scope(mesh, trial, &weft::field::Field::zeros(trial));
    scope.set("v", Expr::test(test));
    scope.set_degree(Some(degree));
    scope
}

#[test]
fn rectangular_forms() {
    for Case { name, mesh } in all_cases() {
        let gd = mesh.space_dim();
        let velocity = Space::lagrange(&mesh, 2).unwrap().vector(gd).unwrap();
        let pressure = Space::lagrange(&mesh, 1).unwrap();
        let broken = Space::discontinuous(&mesh, 0).unwrap();
        for (q, kind) in [(&pressure, "P1"), (&broken, "P0")] {
            let scope = mixed_scope(&mesh, &velocity, q, 3);
            let what = format!("div(u)*v on {name} with {kind}");
            let by = form(&scope, "div(u)*v*dx");
            compare(
                &by,
                [&velocity, q],
                Over::Cells,
                3,
                &|_, u, v| u.inside.div() * v.inside.value[0],
                &what,
            );
            let scope = mixed_scope(&mesh, q, &velocity, 3);
            let what = format!("u*div(v) on {name} with {kind}");
            let by = form(&scope, "(u*div(v) + x[0]*u*v[0])*dx");
            let twin = |place: &Place, u: &Pair, v: &Pair| {
                u.inside.value[0] * (v.inside.div() + place.x[0] * v.inside.value[0])
            };
            compare(&by, [q, &velocity], Over::Cells, 3, &twin, &what);
        }
    }
}

#[test]
fn symmetric_and_matrix_values() {
    for Case { name, mesh } in all_cases() {
        let gd = mesh.space_dim();
        if gd < 2 {
            continue;
        }
        let base = Space::lagrange(&mesh, 1).unwrap();
        let displacement = Space::lagrange(&mesh, 2).unwrap().vector(gd).unwrap();
        let n = gd * gd;
        let inner = |a: &Pair, b: &Pair| -> f64 {
            (0..n).map(|c| a.inside.value[c] * b.inside.value[c]).sum()
        };
        for stress in [base.symmetric(gd).unwrap(), base.matrix(gd, gd).unwrap()] {
            let what = format!("{:?} on {name}", stress.value());
            let scope = mixed_scope(&mesh, &stress, &stress, 3);
            let text = "(inner(u, v) + x[0]*tr(u)*v[0, 1] + inner(dot(outer(x, x), u), v))*dx";
            let twin = |place: &Place, u: &Pair, v: &Pair| {
                let trace: f64 = (0..gd).map(|d| u.inside.value[d * (gd + 1)]).sum();
                let mut product = 0.0;
                for k in 0..n * gd {
                    let (i, j, m) = (k / n, (k / gd) % gd, k % gd);
                    product += place.x[i]
                        * place.x[m]
                        * u.inside.value[m * gd + j]
                        * v.inside.value[i * gd + j];
                }
                inner(u, v) + place.x[0] * trace * v.inside.value[1] + product
            };
            compare(
                &form(&scope, text),
                [&stress, &stress],
                Over::Cells,
                3,
                &twin,
                &what,
            );

            let scope = mixed_scope(&mesh, &displacement, &stress, 3);
            let twin = |_: &Place, u: &Pair, v: &Pair| -> f64 {
                (0..n)
                    .map(|k| u.inside.gradient[k / gd][k % gd] * v.inside.value[k])
                    .sum()
            };
            let by = form(&scope, "inner(grad(u), v)*dx");
            compare(
                &by,
                [&displacement, &stress],
                Over::Cells,
                3,
                &twin,
                &format!("grad(u):v, {what}"),
            );

            let scope = mixed_scope(&mesh, &stress, &displacement, 3);
            let twin = |_: &Place, u: &Pair, v: &Pair| -> f64 {
                // Divergence over the row index.
                (0..gd)
                    .map(|c| {
                        let div: f64 = (0..gd).map(|d| u.inside.gradient[d * gd + c][d]).sum();
                        div * v.inside.value[c]
                    })
                    .sum()
            };
            let by = form(&scope, "dot(div(u), v)*dx");
            compare(
                &by,
                [&stress, &displacement],
                Over::Cells,
                3,
                &twin,
                &format!("div(u)·v, {what}"),
            );
        }
    }
}

#[test]
fn vectors_and_numbers_with_fields() {
    for Case { name, mesh } in all_cases() {
        let gd = mesh.space_dim();
        for p in degrees(&mesh) {
            let space = Space::lagrange(&mesh, p).unwrap();
            let f = field(&space, &mut Random(p as u64));
            let mut scope = scope(&mesh, &space, &f);
            scope.set_degree(Some(rule(p)));
            let at = |place: &Place| {
                let point = f.evaluate(place.cell, place.xi).unwrap();
                (point.value[0], point.gradient[0])
            };
            let what = format!("{name}, degree {p}");
            let by = form(
                &scope,
                "(1 + f^2)*dot(grad(f), grad(v))*dx + sin(x[0])*v*dx",
            );
            let expected = load(&mesh, Over::Cells, rule(p), &space, &|place, v| {
                let (value, slope) = at(place);
                let dot: f64 = (0..gd).map(|d| slope[d] * v.inside.gradient[0][d]).sum();
                (1.0 + value * value) * dot + place.x[0].sin() * v.inside.value[0]
            });
            assert_close(&vector(&by).unwrap(), &expected, TOLERANCE, &what);

            let by = form(&scope, "(f*dot(grad(f), n) + 1)*v*ds");
            let expected = load(&mesh, Over::Boundary, rule(p), &space, &|place, v| {
                let (value, slope) = at(place);
                let flux: f64 = (0..gd).map(|d| slope[d] * place.normal[d]).sum();
                (value * flux + 1.0) * v.inside.value[0]
            });
            assert_close(
                &vector(&by).unwrap(),
                &expected,
                TOLERANCE,
                &format!("ds, {what}"),
            );

            let mut expected = 0.0;
            visit(&mesh, Over::Cells, rule(p), &[], |place, _| {
                let (value, slope) = at(place);
                expected +=
                    place.weight * (value * value + slope.iter().map(|s| s * s).sum::<f64>());
            });
            let number = integrate(&form(&scope, "(f^2 + dot(grad(f), grad(f)))*dx")).unwrap();
            assert_close(&[number], &[expected], TOLERANCE, &what);
        }
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (0..3).map(|d| a[d] * b[d]).sum()
}

#[test]
fn interior_penalty_and_upwind() {
    let mut random = Random(17);
    for Case { name, mesh } in straight_cases() {
        let mesh = scrambled(&mesh, &mut random);
        for p in 0..=2 {
            let space = Space::discontinuous(&mesh, p).unwrap();
            let mut scope = scope(&mesh, &space, &field(&space, &mut Random(3)));
            scope.set_degree(Some(rule(p) + 1));
            let jump = |u: &Pair| u.inside.value[0] - u.outside.value[0];
            let check = |text: &str, over: Over, f: Integrand| {
                let what = format!("{text} on {name}, degree {p}");
                compare(
                    &form(&scope, text),
                    [&space, &space],
                    over,
                    rule(p) + 1,
                    f,
                    &what,
                );
            };
            check(
                "(4/avg(h)*jump(u)*jump(v) - dot(avg(grad(u)), n)*jump(v) - dot(avg(grad(v)), n)*jump(u))*dS",
                Over::Interior,
                &|place, u, v| {
                    let mean = |u: &Pair| {
                        0.5 * (dot(&u.inside.gradient[0], &place.normal)
                            + dot(&u.outside.gradient[0], &place.normal))
                    };
                    8.0 / (place.size[0] + place.size[1]) * jump(u) * jump(v)
                        - mean(u) * jump(v)
                        - mean(v) * jump(u)
                },
            );
            let last = mesh.space_dim() - 1;
            check(
                "dot(x, n)*select(dot(x, n) > 0, inside(u), outside(u))*jump(v)*dS",
                Over::Interior,
                &|place, u, v| {
                    let b = dot(&place.x, &place.normal);
                    b * if b > 0.0 {
                        u.inside.value[0]
                    } else {
                        u.outside.value[0]
                    } * jump(v)
                },
            );
            check(
                &format!("inside(u)*outside(grad(v))[{last}]*dS"),
                Over::Interior,
                &|_, u, v| u.inside.value[0] * v.outside.gradient[0][last],
            );
        }
    }
}

#[test]
fn broken_vectors_and_mixed_spaces_on_interior_sides() {
    let mut random = Random(23);
    for Case { name, mesh } in all_cases() {
        if mesh.topology().interior_sides().is_empty() {
            continue;
        }
        let gd = mesh.space_dim();
        let velocity = Space::discontinuous(&mesh, 1).unwrap().vector(gd).unwrap();
        let pressure = Space::lagrange(&mesh, 1).unwrap();
        let k = field(&pressure, &mut random);
        let mut scope = mixed_scope(&mesh, &velocity, &velocity, 4);
        scope.set_field("k", &k);
        let flux = |w: &Basis, n: &[f64; 3]| (0..gd).map(|c| w.value[c] * n[c]).sum::<f64>();
        let twin = |place: &Place, u: &Pair, v: &Pair| {
            let n = &place.normal;
            let k = k.evaluate(place.cell, place.xi).unwrap().value[0];
            (flux(&u.inside, n) - flux(&u.outside, n)) * 0.5 * (v.inside.div() + v.outside.div())
                + k * u.outside.value[0] * v.inside.value[gd - 1]
        };
        let last = gd - 1;
        let text = format!("(dot(jump(u), n)*avg(div(v)) + k*outside(u[0])*inside(v)[{last}])*dS");
        let what = format!("{text} on {name}");
        let by = form(&scope, &text);
        compare(&by, [&velocity, &velocity], Over::Interior, 4, &twin, &what);

        let scope = mixed_scope(&mesh, &pressure, &velocity, 3);
        let by = form(&scope, "inside(u)*dot(jump(v), n)*dS + u*dot(v, n)*ds");
        let mut expected = dense(
            &mesh,
            Over::Interior,
            3,
            [&pressure, &velocity],
            &|place, u, v| {
                let n = &place.normal;
                u.inside.value[0] * (flux(&v.inside, n) - flux(&v.outside, n))
            },
        );
        let boundary = dense(
            &mesh,
            Over::Boundary,
            3,
            [&pressure, &velocity],
            &|place, u, v| u.inside.value[0] * flux(&v.inside, &place.normal),
        );
        expected.iter_mut().zip(boundary).for_each(|(e, b)| *e += b);
        assert_close(&matrix(&by).unwrap().to_dense(), &expected, TOLERANCE, name);
    }
}

#[test]
fn plans_of_several_integrals_add_up() {
    let Case { mesh, .. } = straight_cases().remove(1);
    let space = Space::discontinuous(&mesh, 1).unwrap();
    let scope = scope(&mesh, &space, &field(&space, &mut Random(3)));
    let texts = [
        "u*v*dx",
        "dot(grad(u), grad(v))*ds",
        "jump(u)*avg(v)*dS",
        "u*v*ds('left')",
    ];
    let whole = form(&scope, &texts.join(" + "));
    let mut plan = MatrixPlan::new(&whole).unwrap();
    let mut matrix_ = plan.matrix();
    plan.assemble(&mut matrix_).unwrap();
    let mut sum = vec![0.0; space.dof_count().pow(2)];
    for text in texts {
        let part = matrix(&form(&scope, text)).unwrap().to_dense();
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
    }
    assert_close(&matrix_.to_dense(), &sum, 1e-14, "sum");
    // A plan refuses a matrix of another plan.
    let mut other = MatrixPlan::new(&form(&scope, "u*v*dx")).unwrap().matrix();
    assert!(plan.assemble(&mut other).is_err());
    let measure = Measure::cells(&mesh);
    let mut short = vec![0.0; 3];
    let mut plan = weft::assemble::VectorPlan::new(&Expr::test(&space).over(&measure)).unwrap();
    assert!(
        plan.assemble(&mut short)
            .unwrap_err()
            .to_string()
            .contains("3 entries")
    );
}
