//! Functions on one cell.

use crate::common::Random;
use crate::elements;
use weft::element::{CellKind, Element, ElementFamily, LineRule, NodeFamily};

/// The polynomials that span an element, as exponents; nothing for splines.
pub(crate) fn span(element: &Element) -> Vec<[i32; 3]> {
    let (kind, degree) = (element.kind(), element.degree() as i32);
    let dim = kind.dim();
    let total = |m: &[i32; 3]| m.iter().sum::<i32>();
    let superlinear = |m: &[i32; 3]| m.iter().filter(|&&k| k > 1).sum::<i32>();
    let within = |m: &[i32; 3]| match element.family() {
        ElementFamily::Lagrange(_) => kind.is_tensor() || total(m) <= degree,
        ElementFamily::Serendipity => superlinear(m) <= degree,
        ElementFamily::Polynomial => total(m) <= degree,
        ElementFamily::CrouzeixRaviart => total(m) <= 1,
        ElementFamily::Bubble if kind.is_tensor() => m.iter().all(|&k| k <= 1),
        ElementFamily::Bubble => total(m) <= 1,
        _ => false,
    };
    let mut all = Vec::new();
    for i in 0..=degree {
        for j in 0..=degree {
            for k in 0..=degree {
                let m = [i, j, k];
                if m[dim..].iter().all(|&k| k == 0) && within(&m) {
                    all.push(m);
                }
            }
        }
    }
    all
}

fn monomial(m: [i32; 3], x: [f64; 3]) -> f64 {
    (0..3).map(|d| x[d].powi(m[d])).product()
}

#[test]
fn every_kind_of_basis_is_there() {
    let all = elements();
    for family in [
        ElementFamily::Serendipity,
        ElementFamily::Polynomial,
        ElementFamily::CrouzeixRaviart,
        ElementFamily::Bubble,
        ElementFamily::Spline,
    ] {
        assert!(all.iter().any(|e| e.family() == family), "{family}");
    }
    let counts = |kind, make: fn(CellKind, usize) -> Element| -> Vec<usize> {
        (1..=4).map(|r| make(kind, r).node_count()).collect()
    };
    let serendipity = |kind, r| Element::new_serendipity(kind, r).unwrap();
    assert_eq!(counts(CellKind::Quad, serendipity), [4, 8, 12, 17]);
    assert_eq!(counts(CellKind::Hex, serendipity), [8, 20, 32, 50]);
    let polynomial = |kind, r| Element::new_polynomial(kind, r).unwrap();
    assert_eq!(counts(CellKind::Quad, polynomial), [3, 6, 10, 15]);
    assert_eq!(counts(CellKind::Hex, polynomial), [4, 10, 20, 35]);
}

#[test]
fn functions_sum_to_one() {
    let mut random = Random(1);
    for element in elements() {
        let points: Vec<_> = (0..20).map(|_| random.point(element.kind())).collect();
        let table = element.tabulate(&points);
        for q in 0..points.len() {
            let sum: f64 = table.values_at(q).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{}: {sum}", element.name());
            for d in 0..3 {
                let sum: f64 = table.gradients_at(q).iter().map(|g| g[d]).sum();
                assert!(sum.abs() < 1e-10, "{}: {sum}", element.name());
            }
        }
    }
}

#[test]
fn functions_are_dual_to_nodes() {
    for element in elements().iter().filter(|e| e.is_nodal()) {
        let table = element.tabulate(element.nodes());
        for i in 0..element.node_count() {
            for (j, value) in table.values_at(i).iter().enumerate() {
                let expected = f64::from(i == j);
                let off = (value - expected).abs();
                assert!(off < 1e-12, "{}: {i} {j} {value}", element.name());
            }
        }
    }
}

#[test]
fn gradients_are_those_of_the_values() {
    const H: f64 = 1e-3;
    let mut random = Random(2);
    for element in elements() {
        let n = element.node_count();
        for _ in 0..5 {
            let x = random.point(element.kind());
            let at = |d: usize, steps: f64| {
                let mut y = x;
                y[d] += steps * H;
                element.tabulate(&[y]).values
            };
            let table = element.tabulate(&[x]);
            let size = table
                .gradients
                .iter()
                .flatten()
                .fold(1.0, |m: f64, g| m.max(g.abs()));
            for d in 0..element.kind().dim() {
                let [a, b, c, e] = [-2.0, -1.0, 1.0, 2.0].map(|s| at(d, s));
                for i in 0..n {
                    let slope = (a[i] - 8.0 * b[i] + 8.0 * c[i] - e[i]) / (12.0 * H);
                    let off = (slope - table.gradients[i][d]).abs();
                    // Near a knot the difference is of low order.
                    let tolerance = if element.is_nodal() { 1e-7 } else { 2.0 * H };
                    assert!(
                        off < tolerance * size,
                        "{}: {i} {d} {off:e}",
                        element.name()
                    );
                }
            }
            for g in &table.gradients {
                assert!(g[element.kind().dim()..].iter().all(|&c| c == 0.0));
            }
        }
    }
}

#[test]
fn bases_span_the_polynomials_they_promise() {
    let mut random = Random(3);
    for element in elements().iter().filter(|e| e.is_nodal()) {
        let span = span(element);
        let bubbles = usize::from(element.family() == ElementFamily::Bubble);
        assert_eq!(
            span.len() + bubbles,
            element.node_count(),
            "{}",
            element.name()
        );
        let points: Vec<_> = (0..10).map(|_| random.point(element.kind())).collect();
        let table = element.tabulate(&points);
        for m in span {
            for (q, &x) in points.iter().enumerate() {
                let nodes = element.nodes().iter().zip(table.values_at(q));
                let sum: f64 = nodes.map(|(&node, phi)| monomial(m, node) * phi).sum();
                let off = (sum - monomial(m, x)).abs();
                assert!(off < 1e-12, "{}: {m:?} {off:e}", element.name());
            }
        }
    }
}

#[test]
fn bubbles_vanish_on_the_boundary() {
    for kind in CellKind::CELLS {
        let element = Element::new_bubble(kind).unwrap();
        let last = element.node_count() - 1;
        for &x in kind.vertices() {
            let middle = std::array::from_fn(|d| 0.5 * (x[d] + kind.vertices()[0][d]));
            for x in [x, middle] {
                let on_side = (0..kind.side_count()).any(|side| {
                    let n = kind.side_normal(side);
                    let v = kind.vertices()[kind.side_vertices(side)[0] as usize];
                    (0..3).map(|d| n[d] * (x[d] - v[d])).sum::<f64>().abs() < 1e-14
                });
                let value = element.tabulate(&[x]).values[last];
                assert!(!on_side || value.abs() < 1e-14, "{kind:?} {x:?}: {value}");
            }
        }
        assert!((element.tabulate(&[kind.center()]).values[last] - 1.0).abs() < 1e-14);
    }
}

/// The Lebesgue constant bounds how much worse interpolation is than the best approximation, and
/// is large where nodes hardly determine the functions.
#[test]
fn nodes_determine_functions_well() {
    let mut random = Random(4);
    for element in elements().iter().filter(|e| e.is_nodal()) {
        let mut points: Vec<_> = (0..500).map(|_| random.point(element.kind())).collect();
        points.extend(element.kind().vertices());
        let table = element.tabulate(&points);
        let sums = (0..points.len()).map(|q| table.values_at(q).iter().map(|v| v.abs()).sum());
        let worst = sums.fold(0.0, f64::max);
        let bound = match element.family() {
            ElementFamily::Polynomial => 4.0 * (1.0 + element.degree() as f64).powi(2),
            _ => 12.0,
        };
        assert!(worst < bound, "{}: {worst}", element.name());
    }
}

#[test]
fn nodes_on_sides_are_those_where_functions_do_not_vanish() {
    let mut random = Random(5);
    for element in elements() {
        let kind = element.kind();
        if element.family() == ElementFamily::Polynomial
            || element.family() == ElementFamily::CrouzeixRaviart
            || element.degree() == 0
        {
            continue;
        }
        for side in 0..kind.side_count() {
            let points: Vec<_> = (0..200).map(|_| random.point(kind.side_kind())).collect();
            let on_side = weft::element::map_to_cell(kind, kind.side_vertices(side), &points);
            let table = element.tabulate(&on_side);
            for node in 0..element.node_count() {
                let size = (0..200).map(|q| table.values_at(q)[node].abs());
                let size = size.fold(0.0, f64::max);
                let listed = element.closure_nodes(side).contains(&(node as u16));
                assert_eq!(listed, size > 1e-10, "{}: {side} {node}", element.name());
            }
        }
    }
}

#[test]
fn node_weights_are_positive_and_exact_for_linear_functions() {
    for element in elements() {
        let name = element.name();
        let weights = element.node_weights().unwrap();
        assert_eq!(weights.len(), element.node_count());
        assert!(weights.iter().all(|&w| w > 0.0), "{name}: {weights:?}");
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-13, "{name}");
        // Few nodes without symmetry may have no positive weights: they get equal ones.
        let equal = weights.iter().all(|&w| w == weights[0]);
        if equal && element.family() == ElementFamily::Polynomial {
            continue;
        }
        for d in 0..element.kind().dim() {
            let places = element.nodes().iter().zip(&weights);
            let centre: f64 = places.map(|(x, w)| w * x[d]).sum();
            assert!(
                (centre - element.kind().center()[d]).abs() < 1e-13,
                "{name}"
            );
        }
    }
}

#[test]
fn node_weights_are_those_of_known_rules() {
    let of = |e: Result<Element, _>| e.unwrap().node_weights().unwrap();
    let lagrange = |kind, p| of(Element::new_lagrange(kind, p, NodeFamily::Lobatto));
    for p in 1..=7 {
        let line = LineRule::gauss_lobatto(p + 1).unwrap();
        let line = line.weights();
        let weights = lagrange(CellKind::Hex, p);
        for (node, weight) in weights.iter().enumerate() {
            let n = p + 1;
            let expected = line[node / (n * n)] * line[node / n % n] * line[node % n];
            assert!((weight - expected).abs() < 1e-13, "{p} {node}");
        }
    }
    let close = |weights: Vec<f64>, expected: &[f64]| {
        assert_eq!(weights.len(), expected.len());
        for (a, b) in weights.iter().zip(expected) {
            assert!((a - b).abs() < 1e-13, "{weights:?}");
        }
    };
    close(lagrange(CellKind::Triangle, 1), &[1.0 / 3.0; 3]);
    close(lagrange(CellKind::Tet, 1), &[0.25; 4]);
    close(lagrange(CellKind::Triangle, 2), &[1.0 / 6.0; 6]);
    close(lagrange(CellKind::Tet, 2), &[0.1; 10]);
    // The mean of 27 λ₀λ₁λ₂ is 27 · 2 / 5!.
    let vertex = (1.0 - 0.45) / 3.0;
    let bubble = of(Element::new_bubble(CellKind::Triangle));
    close(bubble, &[vertex, vertex, vertex, 0.45]);
    close(of(Element::new_crouzeix_raviart(CellKind::Tet)), &[0.25; 4]);
    let spline = of(Element::new_spline(CellKind::Segment, 3));
    close(spline, &[1.0 / 24.0, 11.0 / 24.0, 11.0 / 24.0, 1.0 / 24.0]);
    let spline = of(Element::new_spline(CellKind::Segment, 2));
    close(spline, &[1.0 / 48.0, 23.0 / 48.0, 23.0 / 48.0, 1.0 / 48.0]);
}
