//! Quadrature rules against exact integrals.

use crate::{KINDS, distance, exponents, monomial};
use weft::element::{
    CellKind, ElementError, LineRule, MAX_CLOSED_POINTS, MAX_GAUSS_POINTS, MAX_OPEN_POINTS,
    MAX_SIMPLEX_DEGREE, MAX_TENSOR_DEGREE, Quadrature, RuleFamily,
};

/// Mean of `x^a y^b z^c` over the reference cell: on simplices
/// `dim! a! b! c! / (a + b + c + dim)!`, on tensor cells a product of `1 / (a + 1)`.
fn mean_of_monomial(kind: CellKind, exponents: [usize; 3]) -> f64 {
    if kind.is_tensor() {
        return exponents.iter().map(|&a| 1.0 / (a + 1) as f64).product();
    }
    let mut result = 1.0;
    let mut n = kind.dim();
    for a in exponents {
        for k in 1..=a {
            n += 1;
            result *= k as f64 / n as f64;
        }
    }
    result
}

/// Checks all monomials up to the degree the rule states. Rounding errors of sums of `n` terms stay
/// below `4 eps` times the sum of absolute weights and a growth like `sqrt(n)`.
fn check_exact(rule: &Quadrature, exponents: &[[usize; 3]]) {
    let absolute: f64 = rule.weights().iter().map(|w| w.abs()).sum();
    let tolerance = 4.0 * f64::EPSILON * absolute * (rule.len() as f64).sqrt().max(4.0);
    for &e in exponents {
        let sum: f64 = rule
            .points()
            .iter()
            .zip(rule.weights())
            .map(|(&x, w)| w * monomial(x, e))
            .sum();
        let exact = mean_of_monomial(rule.kind(), e);
        assert!(
            (sum - exact).abs() <= tolerance,
            "{} of degree {}: {e:?} gives {sum}, not {exact}",
            rule.kind().name(),
            rule.degree()
        );
    }
}

fn smallest_barycentric(x: [f64; 3]) -> f64 {
    x.iter()
        .filter(|&&c| c != 0.0)
        .fold(1.0 - x[0] - x[1] - x[2], |m, &c| m.min(c))
}

#[test]
fn default_rules_are_exact_positive_and_inside() {
    for kind in KINDS {
        let (max, sweep) = match kind {
            CellKind::Triangle | CellKind::Tet => (MAX_SIMPLEX_DEGREE, MAX_SIMPLEX_DEGREE),
            CellKind::Hex => (MAX_TENSOR_DEGREE, 14),
            _ => (MAX_TENSOR_DEGREE, 30),
        };
        for degree in 0..=sweep {
            let rule = Quadrature::new(kind, degree).unwrap();
            assert!(rule.degree() >= degree);
            assert_eq!(rule.kind(), kind);
            assert_eq!(rule.points().len(), rule.len());
            assert!(!rule.is_empty());
            assert!(rule.weights().iter().all(|&w| w > 0.0), "{kind:?} {degree}");
            for &x in rule.points() {
                for d in 0..3 {
                    if d < kind.dim() {
                        assert!(x[d] > 0.0 && x[d] < 1.0, "{kind:?} {degree} {x:?}");
                    } else {
                        assert_eq!(x[d], 0.0);
                    }
                }
                if kind == CellKind::Triangle || kind == CellKind::Tet {
                    assert!(smallest_barycentric(x) > 0.0, "{kind:?} {degree} {x:?}");
                }
            }
            // High tets: the top degree and a few below would cost much and show little more.
            let mut all = exponents(
                kind,
                if kind == CellKind::Point {
                    0
                } else {
                    rule.degree()
                },
            );
            if rule.len() * all.len() > 1_000_000 {
                all.retain(|e| e.iter().sum::<usize>() + 1 >= rule.degree() || e.contains(&0));
                let step = 1 + rule.len() * all.len() / 1_000_000;
                all = all.into_iter().step_by(step).collect();
            }
            check_exact(&rule, &all);
        }
        if kind != CellKind::Point {
            assert!(Quadrature::new(kind, max).is_ok());
            let error = Quadrature::new(kind, max + 1).unwrap_err();
            assert!(error.to_string().contains(&max.to_string()), "{error}");
            assert!(Quadrature::new(kind, usize::MAX).is_err());
        }
    }
}

#[test]
fn low_degree_simplex_rules_are_small() {
    let count = |kind, degree| Quadrature::new(kind, degree).unwrap().len();
    let triangle: Vec<usize> = (0..=8).map(|d| count(CellKind::Triangle, d)).collect();
    assert_eq!(triangle, [1, 1, 3, 6, 6, 7, 12, 15, 16]);
    let tet: Vec<usize> = (0..=8).map(|d| count(CellKind::Tet, d)).collect();
    assert_eq!(tet, [1, 1, 4, 8, 14, 14, 24, 35, 46]);
}

/// Renumbering the vertices of a simplex permutes the points of a tabulated rule.
#[test]
fn tabulated_simplex_rules_are_symmetric() {
    for (kind, top) in [(CellKind::Triangle, 20), (CellKind::Tet, 10)] {
        for degree in 1..=top {
            let rule = Quadrature::new(kind, degree).unwrap();
            for (&x, &w) in rule.points().iter().zip(rule.weights()) {
                let first = 1.0 - x[0] - x[1] - x[2];
                for image in [[x[1], x[0], x[2]], [first, x[1], x[2]]] {
                    let found = rule
                        .points()
                        .iter()
                        .zip(rule.weights())
                        .any(|(&y, &v)| distance(image, y) < 1e-14 && v == w);
                    assert!(found, "{kind:?} {degree} {x:?}");
                }
            }
        }
    }
}

#[test]
fn rules_of_each_family_are_exact() {
    for kind in CellKind::CELLS.into_iter().filter(|k| k.is_tensor()) {
        for family in RuleFamily::ALL {
            let top = family
                .max_degree()
                .min(if kind == CellKind::Hex { 9 } else { 20 });
            for degree in 0..=top {
                let rule = Quadrature::with_family(kind, degree, family).unwrap();
                assert!(rule.degree() >= degree && rule.degree() <= degree + 1);
                check_exact(&rule, &exponents(kind, rule.degree()));
            }
            let error = Quadrature::with_family(kind, family.max_degree() + 1, family).unwrap_err();
            assert!(matches!(error, ElementError::RuleDegree { .. }), "{error}");
        }
    }
    for kind in [CellKind::Triangle, CellKind::Tet] {
        for degree in 0..=10 {
            let rule = Quadrature::with_family(kind, degree, RuleFamily::GaussLegendre).unwrap();
            assert_eq!(rule.len(), (degree / 2 + 1).pow(kind.dim() as u32));
            check_exact(&rule, &exponents(kind, rule.degree()));
        }
        for family in &RuleFamily::ALL[1..] {
            let error = Quadrature::with_family(kind, 2, *family).unwrap_err();
            assert!(error.to_string().contains("use Gauss-Legendre"), "{error}");
        }
    }
}

#[test]
fn line_rules_are_exact_for_any_number_of_points() {
    for n in (1..=40).chain([64, 100, 255, MAX_GAUSS_POINTS]) {
        for alpha in 0..=2 {
            let rule = LineRule::gauss_jacobi(n, alpha).unwrap();
            assert_eq!(rule.degree(), 2 * n - 1);
            check_line(&rule, alpha, true);
        }
        if n >= 2 {
            let rule = LineRule::gauss_lobatto(n).unwrap();
            assert_eq!(rule.degree(), 2 * n - 3);
            assert_eq!((rule.points()[0], rule.points()[n - 1]), (0.0, 1.0));
            check_line(&rule, 0, true);
        }
    }
    for n in 2..=MAX_CLOSED_POINTS {
        check_line(&LineRule::newton_cotes_closed(n).unwrap(), 0, false);
    }
    for n in 1..=MAX_OPEN_POINTS {
        check_line(&LineRule::newton_cotes_open(n).unwrap(), 0, false);
    }
    // Weights known since Cotes: Boole's rule, and Milne's open rule.
    let boole = LineRule::newton_cotes_closed(5).unwrap();
    let expected = [7.0, 32.0, 12.0, 32.0, 7.0].map(|w| w / 90.0);
    assert_eq!(boole.weights(), expected);
    let milne = LineRule::newton_cotes_open(3).unwrap();
    assert_eq!(milne.weights(), [2.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0]);
    // The five-point Gauss-Legendre rule in closed form.
    let gauss = LineRule::gauss_legendre(5).unwrap();
    let t = (5.0 + 2.0 * (10.0_f64 / 7.0).sqrt()).sqrt() / 3.0;
    assert!((gauss.points()[4] - 0.5 * (1.0 + t)).abs() < 2e-16);
    let w = (322.0 - 13.0 * 70.0_f64.sqrt()) / 1800.0;
    assert!((gauss.weights()[4] - w).abs() < 1e-16);
}

fn check_line(rule: &LineRule, alpha: usize, positive: bool) {
    let n = rule.points().len();
    assert!(
        rule.points().windows(2).all(|p| p[0] < p[1]),
        "{n} points, alpha {alpha}"
    );
    assert!(rule.points()[0] >= 0.0 && rule.points()[n - 1] <= 1.0);
    assert!(!positive || rule.weights().iter().all(|&w| w > 0.0));
    let absolute: f64 = rule.weights().iter().map(|w| w.abs()).sum();
    // Errors of a few units in the last place of each weight and point, magnified by the degree
    // for powers.
    for e in (0..=rule.degree()).step_by(1 + rule.degree() / 40) {
        let sum: f64 = rule
            .points()
            .iter()
            .zip(rule.weights())
            .map(|(x, w)| w * x.powi(e as i32))
            .sum();
        // (alpha + 1) ∫ (1 - x)^alpha x^e = (alpha + 1)! e! / (e + alpha + 1)!
        let exact: f64 = (1..=alpha + 1).map(|k| k as f64 / (e + k) as f64).product();
        let tolerance = 8.0 * f64::EPSILON * absolute * (n as f64).sqrt().max(2.0);
        assert!(
            (sum - exact).abs() <= tolerance,
            "{n} points, alpha {alpha}, power {e}: {:e}",
            sum - exact
        );
    }
}

#[test]
fn rules_refuse_impossible_numbers_of_points() {
    for error in [
        LineRule::gauss_legendre(0),
        LineRule::gauss_legendre(MAX_GAUSS_POINTS + 1),
        LineRule::gauss_lobatto(1),
        LineRule::gauss_jacobi(3, 3),
        LineRule::newton_cotes_closed(1),
        LineRule::newton_cotes_closed(MAX_CLOSED_POINTS + 1),
        LineRule::newton_cotes_open(0),
        LineRule::newton_cotes_open(usize::MAX),
    ] {
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains(" takes ") || message.contains("accepted"),
            "{message}"
        );
    }
}
