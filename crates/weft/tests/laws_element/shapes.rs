//! Shape functions against identities and exact polynomials.

use crate::{FAMILIES, KINDS, Random, exponents, lagrange, monomial};
use weft::element::{CellKind, Lagrange, MAX_LAGRANGE_DEGREE, NodeFamily};

fn dimension(kind: CellKind, p: usize) -> usize {
    match kind {
        CellKind::Point => 1,
        CellKind::Segment => p + 1,
        CellKind::Triangle => (p + 1) * (p + 2) / 2,
        CellKind::Quad => (p + 1) * (p + 1),
        CellKind::Tet => (p + 1) * (p + 2) * (p + 3) / 6,
        CellKind::Hex => (p + 1) * (p + 1) * (p + 1),
    }
}

/// Largest degree for the slower sweeps.
fn top_degree(kind: CellKind) -> usize {
    if kind.dim() == 3 {
        7
    } else {
        MAX_LAGRANGE_DEGREE
    }
}

#[test]
fn shape_functions_are_a_partition_of_unity_and_interpolate() {
    let mut random = Random(7);
    for kind in KINDS {
        for family in FAMILIES {
            for degree in 0..=top_degree(kind) {
                let element = lagrange(kind, degree, family);
                let n = element.node_count();
                assert_eq!(n, dimension(kind, degree));
                assert_eq!((element.kind(), element.degree()), (kind, degree));
                assert_eq!(element.family(), family);
                let table = element.tabulate(element.nodes());
                assert_eq!(table.point_count(), n);
                for i in 0..n {
                    for (j, &value) in table.values_at(i).iter().enumerate() {
                        let expected = if i == j { 1.0 } else { 0.0 };
                        assert!(
                            (value - expected).abs() < 1e-12,
                            "{kind:?} {degree} {i} {j}"
                        );
                    }
                }
                let mut points: Vec<[f64; 3]> = (0..8).map(|_| random.point(kind)).collect();
                points.extend_from_slice(kind.vertices());
                let table = element.tabulate(&points);
                for q in 0..points.len() {
                    let sum: f64 = table.values_at(q).iter().sum();
                    // The tolerance allows for a Lebesgue constant of some hundreds at degree 10.
                    assert!(
                        (sum - 1.0).abs() < 1e-12,
                        "{kind:?} {degree} {family}: {sum}"
                    );
                    for d in 0..3 {
                        let sum: f64 = table.gradients_at(q).iter().map(|g| g[d]).sum();
                        assert!(sum.abs() < 1e-10, "{kind:?} {degree} {family}: {sum}");
                    }
                    if kind.dim() < 3 {
                        assert!(table.gradients_at(q).iter().all(|g| g[2] == 0.0));
                    }
                }
            }
        }
    }
}

#[test]
fn shape_functions_reproduce_polynomials_and_their_gradients() {
    let mut random = Random(11);
    for kind in CellKind::CELLS {
        for family in FAMILIES {
            for degree in 1..=top_degree(kind) {
                let element = lagrange(kind, degree, family);
                // A random polynomial of the space, about the centre so that it stays of size 1.
                let terms: Vec<([usize; 3], f64)> = exponents(kind, degree)
                    .into_iter()
                    .map(|e| (e, random.unit() - 0.5))
                    .collect();
                let center = kind.center();
                let shifted = |x: [f64; 3]| [0, 1, 2].map(|d| x[d] - center[d]);
                let value = |x: [f64; 3]| -> f64 {
                    terms
                        .iter()
                        .map(|&(e, c)| c * monomial(shifted(x), e))
                        .sum()
                };
                let slope = |x: [f64; 3], d: usize| -> f64 {
                    terms
                        .iter()
                        .filter(|(e, _)| e[d] > 0)
                        .map(|&(mut e, c)| {
                            let power = e[d] as f64;
                            e[d] -= 1;
                            c * power * monomial(shifted(x), e)
                        })
                        .sum()
                };
                let nodal: Vec<f64> = element.nodes().iter().map(|&x| value(x)).collect();
                let points: Vec<[f64; 3]> = (0..10).map(|_| random.point(kind)).collect();
                let table = element.tabulate(&points);
                for (q, &x) in points.iter().enumerate() {
                    let sum: f64 = nodal
                        .iter()
                        .zip(table.values_at(q))
                        .map(|(u, v)| u * v)
                        .sum();
                    assert!((sum - value(x)).abs() < 1e-12, "{kind:?} {degree} {family}");
                    for d in 0..kind.dim() {
                        let gradients = table.gradients_at(q).iter();
                        let sum: f64 = nodal.iter().zip(gradients).map(|(u, g)| u * g[d]).sum();
                        assert!(
                            (sum - slope(x, d)).abs() < 1e-10,
                            "{kind:?} {degree} {family}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    let mut random = Random(13);
    // The truncation error is h² times a third derivative, which is at most of size degree⁶.
    let h = 1e-5;
    for kind in CellKind::CELLS {
        for family in FAMILIES {
            for degree in 1..=6 {
                let element = lagrange(kind, degree, family);
                let x = random.point(kind);
                let table = element.tabulate(&[x]);
                for d in 0..kind.dim() {
                    let (mut a, mut b) = (x, x);
                    a[d] -= h;
                    b[d] += h;
                    let shifted = element.tabulate(&[a, b]);
                    for i in 0..element.node_count() {
                        let difference =
                            (shifted.values_at(1)[i] - shifted.values_at(0)[i]) / (2.0 * h);
                        let error = (difference - table.gradients_at(0)[i][d]).abs();
                        assert!(error < 1e-6, "{kind:?} {degree} {family} {i}: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn single_evaluation_equals_tabulation_also_into_longer_slices() {
    for kind in KINDS {
        let element = lagrange(kind, 3, NodeFamily::Lobatto);
        let n = element.node_count();
        let x = kind.center();
        let (mut values, mut gradients) = (vec![9.0; n + 2], vec![[9.0; 3]; n + 2]);
        element.evaluate(x, &mut values, &mut gradients);
        let table = element.tabulate(&[x]);
        assert_eq!(&values[..n], table.values_at(0));
        assert_eq!(&gradients[..n], table.gradients_at(0));
        assert_eq!((values[n], gradients[n]), (9.0, [9.0; 3]));
        assert_eq!(element.tabulate(&[]).point_count(), 0);
    }
}

#[test]
fn degrees_beyond_the_limit_are_refused() {
    for kind in KINDS {
        for family in FAMILIES {
            for degree in [MAX_LAGRANGE_DEGREE + 1, usize::MAX] {
                let message = Lagrange::new(kind, degree, family).unwrap_err().to_string();
                assert!(message.contains(kind.name()), "{message}");
                assert!(message.contains(&degree.to_string()), "{message}");
                assert!(
                    message.contains(&MAX_LAGRANGE_DEGREE.to_string()),
                    "{message}"
                );
            }
        }
    }
}
