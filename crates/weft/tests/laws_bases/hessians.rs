//! Second derivatives of functions on one cell.

use crate::common::Random;
use crate::elements;
use crate::functions::span;
use weft::element::{CellKind, Element, MAX_LAGRANGE_DEGREE, NodeFamily};

type Hessian = [[f64; 3]; 3];

/// All elements, Lagrange functions of both families of nodes to the highest degree among them.
fn all() -> Vec<Element> {
    let mut all = elements();
    for kind in CellKind::CELLS {
        for family in [NodeFamily::Equispaced, NodeFamily::Lobatto] {
            let degrees = 3..=MAX_LAGRANGE_DEGREE;
            all.extend(degrees.map(|p| Element::new_lagrange(kind, p, family).unwrap()));
        }
    }
    all
}

fn hessians(element: &Element, x: [f64; 3]) -> Vec<Hessian> {
    let mut out = vec![[[f64::NAN; 3]; 3]; element.node_count()];
    element.hessians(x, &mut out);
    out
}

#[test]
fn hessians_are_derivatives_of_the_gradients() {
    const H: f64 = 1e-3;
    let mut random = Random(21);
    for element in all() {
        let dim = element.kind().dim();
        for _ in 0..3 {
            let x = random.point(element.kind());
            let second = hessians(&element, x);
            let all = second.iter().flatten().flatten();
            let size = all.fold(1.0, |m: f64, h| m.max(h.abs()));
            for d in 0..dim {
                let [a, b, c, e] = [-2.0, -1.0, 1.0, 2.0].map(|steps| {
                    let mut y = x;
                    y[d] += steps * H;
                    element.tabulate(&[y]).gradients
                });
                for (i, second) in second.iter().enumerate() {
                    for k in 0..3 {
                        let slope =
                            (a[i][k] - 8.0 * b[i][k] + 8.0 * c[i][k] - e[i][k]) / (12.0 * H);
                        let off = (slope - second[k][d]).abs();
                        // Second derivatives of splines have kinks or jumps at knots.
                        let near = |x: &f64| (x - 0.5).abs() < 3.0 * H;
                        let tolerance = match element.is_nodal() {
                            true => 1e-7,
                            false if x[..dim].iter().any(near) => 10.0,
                            false => 2.0 * H,
                        };
                        let name = element.name();
                        assert!(off < tolerance * size, "{name}: {i} {k} {d} {off:e}");
                    }
                }
            }
            for h in &second {
                for a in 0..3 {
                    for b in 0..3 {
                        assert_eq!(h[a][b], h[b][a], "{}", element.name());
                        assert!(a.max(b) < dim || h[a][b] == 0.0, "{}", element.name());
                    }
                }
            }
        }
    }
}

/// Second derivative of a monomial.
fn monomial(m: [i32; 3], x: [f64; 3], a: usize, b: usize) -> f64 {
    let mut factor = 1.0;
    let mut m = m;
    for axis in [a, b] {
        factor *= f64::from(m[axis]);
        m[axis] -= 1;
    }
    match factor == 0.0 {
        true => 0.0,
        false => factor * (0..3).map(|d| x[d].powi(m[d])).product::<f64>(),
    }
}

#[test]
fn hessians_of_reproduced_polynomials_are_exact() {
    let mut random = Random(22);
    for element in elements().iter().filter(|e| e.is_nodal()) {
        for _ in 0..5 {
            let x = random.point(element.kind());
            let second = hessians(element, x);
            for m in span(element) {
                for a in 0..3 {
                    for b in 0..3 {
                        let at =
                            |n: &[f64; 3]| -> f64 { (0..3).map(|d| n[d].powi(m[d])).product() };
                        let parts = element.nodes().iter().zip(&second);
                        let sum: f64 = parts.map(|(n, h)| at(n) * h[a][b]).sum();
                        let truth = monomial(m, x, a, b);
                        let name = element.name();
                        let off = (sum - truth).abs();
                        assert!(off < 1e-8, "{name}: {m:?} {a} {b}, {sum} not {truth}");
                    }
                }
            }
        }
    }
}

/// Splines reproduce linear functions, and in degree 2 and 3 squares up to a constant.
#[test]
fn hessians_of_splines_are_exact_for_quadratic_functions() {
    let mut random = Random(23);
    for element in elements().iter().filter(|e| !e.is_nodal()) {
        let dim = element.kind().dim();
        for _ in 0..10 {
            let x = random.point(element.kind());
            let second = hessians(element, x);
            for (i, j) in (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j))) {
                for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
                    let parts = element.nodes().iter().zip(&second);
                    let sum: f64 = parts.map(|(n, h)| n[i] * n[j] * h[a][b]).sum();
                    let truth = f64::from((a, b) == (i, j)) + f64::from((b, a) == (i, j));
                    assert!((sum - truth).abs() < 1e-12, "{}: {sum}", element.name());
                }
            }
        }
    }
}

#[test]
fn a_table_holds_the_same_numbers() {
    let mut random = Random(24);
    for element in elements() {
        let points: Vec<_> = (0..3).map(|_| random.point(element.kind())).collect();
        let table = element.tabulate_second(&points);
        let plain = element.tabulate(&points);
        assert!(plain.hessians.is_empty());
        assert_eq!(
            (&table.values, &table.gradients),
            (&plain.values, &plain.gradients)
        );
        let each = points.iter().flat_map(|&x| hessians(&element, x));
        assert!(each.eq(table.hessians.iter().copied()));
    }
}
