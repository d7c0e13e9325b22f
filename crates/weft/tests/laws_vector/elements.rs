//! Elements on the reference cell.

use super::common::Random;
use super::{DEGREES, all_elements, dot};
use weft::element::{
    CellKind, Entity, Lagrange, NodeFamily, Piola, VectorElement, VectorFamily, map_to_cell,
};

type Vector = [f64; 3];

fn name(e: &VectorElement) -> String {
    format!("{} {} on {}", e.family(), e.degree(), e.kind().name())
}

fn moments(e: &VectorElement, f: impl Fn(Vector) -> Vector) -> Vec<f64> {
    let values: Vec<Vector> = e.moment_points().into_iter().map(f).collect();
    let mut out = vec![0.0; e.function_count()];
    e.moments(&values, &mut out);
    out
}

/// Value and derivatives of the function with these degrees of freedom.
fn combine(e: &VectorElement, dofs: &[f64], x: Vector) -> (Vector, [[f64; 3]; 3]) {
    let table = e.tabulate(&[x]);
    let (mut value, mut derivative) = ([0.0; 3], [[0.0; 3]; 3]);
    for (i, c) in dofs.iter().enumerate() {
        for a in 0..3 {
            value[a] += c * table.values[i][a];
            for b in 0..3 {
                derivative[a][b] += c * table.derivatives[i][a][b];
            }
        }
    }
    (value, derivative)
}

fn curl(g: [[f64; 3]; 3]) -> Vector {
    [g[2][1] - g[1][2], g[0][2] - g[2][0], g[1][0] - g[0][1]]
}

/// Largest difference between a function and its interpolant at some points.
fn distance(e: &VectorElement, f: impl Fn(Vector) -> Vector) -> f64 {
    let dofs = moments(e, &f);
    let mut random = Random(17);
    (0..20)
        .map(|_| {
            let x = random.point(e.kind());
            let (u, v) = (combine(e, &dofs, x).0, f(x));
            (0..3).map(|d| (u[d] - v[d]).abs()).fold(0.0, f64::max)
        })
        .fold(0.0, f64::max)
}

#[test]
fn dimensions_are_those_of_theory() {
    for e in all_elements() {
        let k = e.degree();
        let d = e.kind().dim();
        let expected = match (e.family(), e.kind()) {
            (VectorFamily::Nedelec | VectorFamily::RaviartThomas, CellKind::Triangle) => {
                k * (k + 2)
            }
            (VectorFamily::Nedelec, CellKind::Tet) => k * (k + 2) * (k + 3) / 2,
            (VectorFamily::RaviartThomas, CellKind::Tet) => k * (k + 1) * (k + 3) / 2,
            (VectorFamily::Nedelec, _) => d * k * (k + 1).pow(d as u32 - 1),
            (VectorFamily::RaviartThomas, _) => d * (k + 1) * k.pow(d as u32 - 1),
            (_, CellKind::Triangle) => (k + 1) * (k + 2),
            (_, _) => (k + 1) * (k + 2) * (k + 3) / 2,
        };
        assert_eq!(e.function_count(), expected, "{}", name(&e));
        let by_entity: usize = (1..=d)
            .map(|dim| e.interior_count(dim) * e.kind().entity_count(dim))
            .sum();
        assert_eq!(by_entity, expected, "{}", name(&e));
    }
}

#[test]
fn functions_are_dual_to_moments() {
    for e in all_elements() {
        let n = e.function_count();
        let table = e.tabulate(&e.moment_points());
        let mut worst = 0.0_f64;
        for j in 0..n {
            let values: Vec<Vector> = (0..e.moment_points().len())
                .map(|q| table.values_at(q)[j])
                .collect();
            let mut out = vec![0.0; n];
            e.moments(&values, &mut out);
            for (i, m) in out.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                worst = worst.max((m - expected).abs());
            }
        }
        assert!(worst < 1e-11, "{}: {worst:e}", name(&e));
    }
}

fn monomials(kind: CellKind, degree: usize) -> Vec<[i32; 3]> {
    let mut all = Vec::new();
    let most = |axis: usize| if axis < kind.dim() { degree as i32 } else { 0 };
    for a in 0..=most(0) {
        for b in 0..=most(1) {
            for c in 0..=most(2) {
                if kind.is_tensor() || a + b + c <= degree as i32 {
                    all.push([a, b, c]);
                }
            }
        }
    }
    all
}

fn power(x: Vector, e: [i32; 3]) -> f64 {
    x[0].powi(e[0]) * x[1].powi(e[1]) * x[2].powi(e[2])
}

fn along(axis: usize, value: f64) -> Vector {
    let mut v = [0.0; 3];
    v[axis] = value;
    v
}

#[test]
fn elements_hold_the_polynomials_they_should_and_no_more() {
    for e in all_elements() {
        let full = matches!(
            e.family(),
            VectorFamily::BrezziDouglasMarini | VectorFamily::NedelecSecond
        );
        let degree = if full { e.degree() } else { e.degree() - 1 };
        for c in 0..e.kind().dim() {
            for m in monomials(e.kind(), degree) {
                let d = distance(&e, |x| along(c, power(x, m)));
                assert!(d < 1e-11, "{} component {c} {m:?}: {d:e}", name(&e));
            }
        }
        // A gradient is not added by Nédélec's first kind, a curl not by Raviart and Thomas.
        let next = degree as i32 + 1;
        let c = match e.piola() {
            Piola::Covariant => 0,
            Piola::Contravariant => 1,
        };
        let d = distance(&e, |x| along(c, power(x, [next, 0, 0])));
        assert!(d > 1e-3, "{} holds x^{next} e_{c}", name(&e));
    }
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    let h = 1e-5;
    for e in all_elements() {
        let mut random = Random(3);
        for _ in 0..3 {
            let x = random.point(e.kind());
            let exact = e.tabulate(&[x]);
            for b in 0..e.kind().dim() {
                let at = |s: f64| {
                    let mut y = x;
                    y[b] += s;
                    e.tabulate(&[y])
                };
                let (plus, minus) = (at(h), at(-h));
                for i in 0..e.function_count() {
                    for a in 0..3 {
                        let slope = (plus.values[i][a] - minus.values[i][a]) / (2.0 * h);
                        let got = exact.derivatives[i][a][b];
                        let scale = 1.0 + got.abs();
                        assert!(
                            (slope - got).abs() < 2e-6 * scale,
                            "{} {i} {a} {b}",
                            name(&e)
                        );
                    }
                }
            }
        }
    }
}

/// Interpolant of the gradient of Lagrange function `i`.
#[test]
fn gradients_of_lagrange_functions_are_in_nedelec_spaces_and_have_no_curl() {
    for family in [VectorFamily::Nedelec, VectorFamily::NedelecSecond] {
        for &kind in family.cells() {
            for k in DEGREES {
                let e = VectorElement::new(family, kind, k).unwrap();
                let degree = k + (family == VectorFamily::NedelecSecond) as usize;
                let lagrange = Lagrange::new(kind, degree, NodeFamily::Lobatto).unwrap();
                let table = lagrange.tabulate(&e.moment_points());
                let mut random = Random(5);
                let points: Vec<Vector> = (0..5).map(|_| random.point(kind)).collect();
                let exact = lagrange.tabulate(&points);
                for i in 0..lagrange.node_count() {
                    let values: Vec<Vector> = (0..e.moment_points().len())
                        .map(|q| table.gradients_at(q)[i])
                        .collect();
                    let mut dofs = vec![0.0; e.function_count()];
                    e.moments(&values, &mut dofs);
                    for (q, &x) in points.iter().enumerate() {
                        let (u, g) = combine(&e, &dofs, x);
                        let v = exact.gradients_at(q)[i];
                        for d in 0..3 {
                            assert!((u[d] - v[d]).abs() < 1e-10, "{} {i}", name(&e));
                            assert!(curl(g)[d].abs() < 1e-9, "{} {i}", name(&e));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn curls_of_nedelec_functions_are_in_raviart_thomas_spaces_and_have_no_divergence() {
    for kind in [CellKind::Tet, CellKind::Hex] {
        for k in DEGREES {
            let e = VectorElement::new(VectorFamily::Nedelec, kind, k).unwrap();
            let rt = VectorElement::new(VectorFamily::RaviartThomas, kind, k).unwrap();
            check_curls(&e, &rt);
            if kind == CellKind::Tet && k > 1 {
                let e = VectorElement::new(VectorFamily::NedelecSecond, kind, k).unwrap();
                let family = VectorFamily::BrezziDouglasMarini;
                check_curls(&e, &VectorElement::new(family, kind, k - 1).unwrap());
            }
        }
    }
}

fn check_curls(e: &VectorElement, rt: &VectorElement) {
    let table = e.tabulate(&rt.moment_points());
    let mut random = Random(7);
    let points: Vec<Vector> = (0..4).map(|_| random.point(e.kind())).collect();
    let exact = e.tabulate(&points);
    for i in 0..e.function_count() {
        let values: Vec<Vector> = (0..rt.moment_points().len())
            .map(|q| curl(table.derivatives_at(q)[i]))
            .collect();
        let mut dofs = vec![0.0; rt.function_count()];
        rt.moments(&values, &mut dofs);
        for (q, &x) in points.iter().enumerate() {
            let (u, g) = combine(rt, &dofs, x);
            let v = curl(exact.derivatives_at(q)[i]);
            let scale = 1.0 + dot(v, v).sqrt();
            for d in 0..3 {
                assert!((u[d] - v[d]).abs() < 1e-10 * scale, "{} {i}", name(e));
            }
            assert!(
                (g[0][0] + g[1][1] + g[2][2]).abs() < 1e-8 * scale,
                "{}",
                name(e)
            );
        }
    }
}

#[test]
fn divergences_fill_the_polynomials_of_one_degree_less() {
    for e in all_elements().filter(|e| e.piola() == Piola::Contravariant) {
        let kind = e.kind();
        let k = e.degree();
        // In the plane divergences of H(div) are curls of turned functions: one test serves both.
        let lagrange = Lagrange::new(kind, k - 1, NodeFamily::Lobatto).unwrap();
        let at_nodes = e.tabulate(lagrange.nodes());
        let mut random = Random(9);
        let x = random.point(kind);
        let (at_x, weights) = (e.tabulate(&[x]), lagrange.tabulate(&[x]));
        let div = |g: &[[f64; 3]; 3]| g[0][0] + g[1][1] + g[2][2];
        let n = lagrange.node_count();
        let mut rows = Vec::new();
        for i in 0..e.function_count() {
            let nodal: Vec<f64> = (0..n)
                .map(|q| div(&at_nodes.derivatives_at(q)[i]))
                .collect();
            let here: f64 = nodal.iter().zip(&weights.values).map(|(a, b)| a * b).sum();
            let exact = div(&at_x.derivatives[i]);
            assert!(
                (here - exact).abs() < 1e-9 * (1.0 + exact.abs()),
                "{} {i}",
                name(&e)
            );
            rows.push(nodal);
        }
        assert_eq!(rank(rows), n, "{}", name(&e));
    }
}

fn rank(mut rows: Vec<Vec<f64>>) -> usize {
    let width = rows.first().map_or(0, Vec::len);
    let mut rank = 0;
    for c in 0..width {
        let best =
            (rank..rows.len()).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()));
        let Some(best) = best.filter(|&b| rows[b][c].abs() > 1e-8) else {
            continue;
        };
        rows.swap(rank, best);
        let pivot = rows[rank].clone();
        for row in &mut rows[rank + 1..] {
            let f = row[c] / pivot[c];
            for (a, b) in row.iter_mut().zip(&pivot) {
                *a -= f * b;
            }
        }
        rank += 1;
    }
    rank
}

/// Vertices of the sides' vertices: those entities whose vertices are all on the side.
fn on_side(kind: CellKind, entity: Entity, side: usize) -> bool {
    let (dim, index) = (entity.dim as usize, entity.index as usize);
    let vertices = kind.entity_vertices(dim, index);
    dim < kind.dim()
        && vertices
            .iter()
            .all(|v| kind.side_vertices(side).contains(v))
}

#[test]
fn traces_on_a_side_come_from_functions_on_it_only() {
    for e in all_elements() {
        let kind = e.kind();
        let mut random = Random(11);
        for side in 0..kind.side_count() {
            let s = random.point(kind.side_kind());
            let x = map_to_cell(kind, kind.side_vertices(side), &[s])[0];
            let normal = kind.side_normal(side);
            let table = e.tabulate(&[x]);
            for i in (0..e.function_count()).filter(|&i| !on_side(kind, e.entity(i), side)) {
                let u = table.values[i];
                let trace = match e.piola() {
                    Piola::Contravariant => dot(u, normal).abs(),
                    Piola::Covariant => {
                        let across = [
                            u[1] * normal[2] - u[2] * normal[1],
                            u[2] * normal[0] - u[0] * normal[2],
                            u[0] * normal[1] - u[1] * normal[0],
                        ];
                        dot(across, across).sqrt()
                    }
                };
                assert!(
                    trace < 1e-10,
                    "{} function {i} side {side}: {trace:e}",
                    name(&e)
                );
            }
        }
    }
}

#[test]
fn orientations_undo_each_other() {
    for e in all_elements() {
        for dim in 1..e.kind().dim() {
            let o = e.orientations(dim);
            let m = e.interior_count(dim);
            assert_eq!(o.count, m, "{}", name(&e));
            let full = |entries: &[f64]| {
                let mut a = vec![0.0; m * m];
                for (k, v) in entries.iter().enumerate() {
                    a[o.rows[k] as usize * m + o.columns[k] as usize] = *v;
                }
                a
            };
            for (to_cell, to_shared) in o.to_cell.iter().zip(&o.to_shared) {
                let (a, b) = (full(to_cell), full(to_shared));
                for i in 0..m {
                    for j in 0..m {
                        let sum: f64 = (0..m).map(|l| a[i * m + l] * b[l * m + j]).sum();
                        let expected = if i == j { 1.0 } else { 0.0 };
                        assert!((sum - expected).abs() < 1e-10, "{}", name(&e));
                    }
                }
            }
            if m > 0 {
                let own = full(&o.to_cell[0]);
                let expected = |k: usize| if k.is_multiple_of(m + 1) { 1.0 } else { 0.0 };
                assert!((0..m * m).all(|k| own[k] == expected(k)), "{}", name(&e));
            }
        }
    }
}

#[test]
fn what_does_not_exist_is_refused_in_words() {
    let message = |family, kind, degree| {
        VectorElement::new(family, kind, degree)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(VectorFamily::BrezziDouglasMarini, CellKind::Hex, 1),
        "no Brezzi-Douglas-Marini element on a hex: it exists on triangle, tet"
    );
    assert_eq!(
        message(VectorFamily::Nedelec, CellKind::Tet, 4),
        "no Nédélec element of degree 4 on a tet: degrees 1 to 3 are accepted"
    );
    for degree in [0, 4, usize::MAX] {
        for family in VectorFamily::ALL {
            for &kind in family.cells() {
                assert!(VectorElement::new(family, kind, degree).is_err());
            }
        }
    }
    for family in VectorFamily::ALL {
        for kind in [CellKind::Point, CellKind::Segment] {
            assert!(VectorElement::new(family, kind, 1).is_err());
        }
    }
}
