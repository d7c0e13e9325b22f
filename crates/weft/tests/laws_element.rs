//! Laws of reference elements: exactness of quadrature, identities of shape functions, agreement of
//! neighbours on shared nodes. Each law is swept over all cell kinds, degrees and orientations.

use weft::element::{
    CellKind, ElementError, Lagrange, LineRule, MAX_CLOSED_POINTS, MAX_GAUSS_POINTS,
    MAX_LAGRANGE_DEGREE, MAX_OPEN_POINTS, MAX_SIMPLEX_DEGREE, MAX_TENSOR_DEGREE, NodeFamily,
    Quadrature, RuleFamily, map_to_cell,
};

const KINDS: [CellKind; 6] = [
    CellKind::Point,
    CellKind::Segment,
    CellKind::Triangle,
    CellKind::Quad,
    CellKind::Tet,
    CellKind::Hex,
];
const FAMILIES: [NodeFamily; 2] = [NodeFamily::Equispaced, NodeFamily::Lobatto];

/// A small generator of reproducible numbers (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A point inside the cell.
    fn point(&mut self, kind: CellKind) -> [f64; 3] {
        loop {
            let mut x = [0.0; 3];
            for c in x.iter_mut().take(kind.dim()) {
                *c = self.unit();
            }
            if kind.is_tensor() || x.iter().sum::<f64>() < 1.0 {
                return x;
            }
        }
    }

    fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.next() as usize % (i + 1));
        }
        order
    }
}

fn lagrange(kind: CellKind, degree: usize, family: NodeFamily) -> Lagrange {
    Lagrange::new(kind, degree, family).unwrap()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|d| (a[d] - b[d]).abs()).fold(0.0, f64::max)
}

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

fn exponents(kind: CellKind, degree: usize) -> Vec<[usize; 3]> {
    let mut all = Vec::new();
    let range = |axis: usize| 0..=if axis < kind.dim() { degree } else { 0 };
    for a in range(0) {
        for b in range(1) {
            for c in range(2) {
                if kind.is_tensor() || a + b + c <= degree {
                    all.push([a, b, c]);
                }
            }
        }
    }
    all
}

fn monomial(x: [f64; 3], e: [usize; 3]) -> f64 {
    (0..3).map(|d| x[d].powi(e[d] as i32)).product()
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
fn numbering_is_the_stated_one() {
    let at = |kind, degree, node: usize| {
        let x = lagrange(kind, degree, NodeFamily::Equispaced).nodes()[node];
        x.map(|c| (c * degree as f64).round() as i32)
    };
    for i in 0..=4 {
        assert_eq!(at(CellKind::Segment, 4, i), [i as i32, 0, 0]);
        for j in 0..=4 {
            assert_eq!(at(CellKind::Quad, 4, i * 5 + j), [i as i32, j as i32, 0]);
            let hex = at(CellKind::Hex, 4, (i * 5 + j) * 5 + 3);
            assert_eq!(hex, [i as i32, j as i32, 3]);
        }
    }
    let triangle: Vec<[i32; 3]> = (0..15).map(|i| at(CellKind::Triangle, 4, i)).collect();
    let expected = [
        [0, 0],
        [4, 0],
        [0, 4],
        [1, 0],
        [2, 0],
        [3, 0],
        [3, 1],
        [2, 2],
        [1, 3],
        [0, 3],
        [0, 2],
        [0, 1],
        [1, 1],
        [2, 1],
        [1, 2],
    ];
    assert_eq!(triangle, expected.map(|[x, y]| [x, y, 0]));
    let tet: Vec<[i32; 3]> = (0..35).map(|i| at(CellKind::Tet, 4, i)).collect();
    assert_eq!(tet[4..7], [[1, 0, 0], [2, 0, 0], [3, 0, 0]]);
    assert_eq!(tet[7..10], [[3, 1, 0], [2, 2, 0], [1, 3, 0]]);
    assert_eq!(tet[13], [0, 0, 1]);
    assert_eq!(tet[19..22], [[0, 3, 1], [0, 2, 2], [0, 1, 3]]);
    assert_eq!(tet[22..25], [[1, 1, 0], [2, 1, 0], [1, 2, 0]]);
    assert_eq!(tet[25..28], [[2, 1, 1], [1, 2, 1], [1, 1, 2]]);
    assert_eq!(tet[28..31], [[0, 2, 1], [0, 1, 2], [0, 1, 1]]);
    assert_eq!(tet[31..34], [[1, 0, 2], [1, 0, 1], [2, 0, 1]]);
    assert_eq!(tet[34], [1, 1, 1]);
}

#[test]
fn lobatto_nodes_are_symmetric_and_restrict_to_lobatto_nodes_on_sides() {
    for kind in [
        CellKind::Triangle,
        CellKind::Quad,
        CellKind::Tet,
        CellKind::Hex,
    ] {
        for degree in 1..=6 {
            let element = lagrange(kind, degree, NodeFamily::Lobatto);
            let side_element = lagrange(kind.side_kind(), degree, NodeFamily::Lobatto);
            for side in 0..kind.side_count() {
                let vertices = kind.side_vertices(side);
                let expected = map_to_cell(kind, vertices, side_element.nodes());
                let closure = element.closure_nodes(side);
                assert_eq!(closure.len(), expected.len());
                for (&node, x) in closure.iter().zip(expected) {
                    let found = element.nodes()[node as usize];
                    assert!(
                        distance(found, x) < 1e-14,
                        "{kind:?} {degree} {found:?} {x:?}"
                    );
                }
            }
            for &x in element.nodes() {
                let image = if kind.is_tensor() {
                    [1.0 - x[0], x[1], x[2]]
                } else {
                    [1.0 - x[0] - x[1] - x[2], x[1], x[2]]
                };
                assert!(element.nodes().iter().any(|&y| distance(image, y) < 1e-14));
            }
        }
    }
    // The degree 3 nodes on an edge are at (1 ± 1/√5) / 2.
    let nodes = lagrange(CellKind::Tet, 3, NodeFamily::Lobatto)
        .nodes()
        .to_vec();
    assert!((nodes[4][0] - 0.5 * (1.0 - 0.2_f64.sqrt())).abs() < 1e-15);
}

#[test]
fn entities_partition_the_nodes() {
    for kind in KINDS {
        for degree in 0..=6 {
            let element = lagrange(kind, degree, NodeFamily::Equispaced);
            let mut seen = vec![0; element.node_count()];
            for dim in 0..=3 {
                for index in 0..kind.entity_count(dim) {
                    let nodes = element.entity_nodes(dim, index);
                    assert_eq!(nodes.len(), element.interior_count(dim));
                    assert!(nodes.windows(2).all(|w| w[0] < w[1]));
                    let vertices = kind.entity_vertices(dim, index);
                    for &node in nodes {
                        seen[node as usize] += 1;
                        let entity = element.entity(node as usize);
                        assert_eq!((entity.dim as usize, entity.index as usize), (dim, index));
                        if degree > 0 {
                            // Linear functions of vertices off the entity vanish at its nodes.
                            let linear = lagrange_vertices(kind, element.nodes()[node as usize]);
                            for (v, value) in linear.into_iter().enumerate() {
                                let on = vertices.contains(&(v as u8));
                                assert_eq!(on, value > 1e-12, "{kind:?} {degree} {node} {v}");
                            }
                        }
                    }
                }
                assert!(element.entity_nodes(dim, kind.entity_count(dim)).is_empty());
            }
            assert!(seen.iter().all(|&s| s == 1), "{kind:?} {degree}");
            if degree == 0 {
                assert_eq!(element.interior_count(kind.dim()), 1);
            }
        }
    }
}

/// Linear (multilinear) functions of the vertices in vertex order.
fn lagrange_vertices(kind: CellKind, x: [f64; 3]) -> Vec<f64> {
    if kind.is_tensor() {
        let factor = |v: &[f64; 3], d: usize| if v[d] == 1.0 { x[d] } else { 1.0 - x[d] };
        let vertices = kind.vertices().iter();
        return vertices
            .map(|v| (0..kind.dim()).map(|d| factor(v, d)).product())
            .collect();
    }
    let first = 1.0 - x[0] - x[1] - x[2];
    [first, x[0], x[1], x[2]][..kind.vertex_count()].to_vec()
}

/// All ways to renumber the vertices of the reference cell by its own symmetries.
fn symmetries(kind: CellKind) -> Vec<Vec<usize>> {
    let n = kind.vertex_count();
    let mut all = Vec::new();
    if kind.is_tensor() {
        let axes: Vec<Vec<usize>> = permutations(kind.dim());
        for order in &axes {
            for flips in 0..1_usize << kind.dim() {
                let image = |v: usize| {
                    let mut x = [0.0; 3];
                    for d in 0..kind.dim() {
                        let c = kind.vertices()[v][order[d]];
                        x[d] = if flips >> d & 1 == 1 { 1.0 - c } else { c };
                    }
                    kind.vertices().iter().position(|&y| y == x).unwrap()
                };
                all.push((0..n).map(image).collect());
            }
        }
    } else {
        all = permutations(n);
    }
    all
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(n - 1) {
        for at in 0..n {
            let mut longer = shorter.clone();
            longer.insert(at, n - 1);
            all.push(longer);
        }
    }
    all
}

/// Two cells glued along a side, the second in every orientation and on every side: at nodes that
/// coincide, entity vertices and slots agree, and slots number each entity without gaps.
#[test]
fn neighbours_give_shared_nodes_the_same_slot() {
    let mut random = Random(17);
    for kind in CellKind::CELLS {
        let n = kind.vertex_count();
        for degree in 1..=6 {
            for family in FAMILIES {
                let element = lagrange(kind, degree, family);
                for images in symmetries(kind) {
                    let side = random.next() as usize % kind.side_count();
                    // The second cell is the first one renumbered by a symmetry: seen through its
                    // own local numbering, every node of the first has its image. The global
                    // numbers are random, but the vertices off the side differ between the cells,
                    // as they do in a mesh.
                    let numbers = random.shuffled(2 * n + 5);
                    let first: Vec<u32> = (0..n).map(|v| numbers[v] as u32).collect();
                    let on_side = kind.side_vertices(side);
                    let mut second = vec![0; n];
                    for v in 0..n {
                        let shared = on_side.contains(&(v as u8));
                        let number = if shared { numbers[v] } else { numbers[n + v] };
                        second[images[v]] = number as u32;
                    }
                    check_shared(&element, side, &images, &first, &second);
                    for dim in 0..=kind.dim() {
                        for index in 0..kind.entity_count(dim) {
                            let nodes = element.entity_nodes(dim, index);
                            let mut slots: Vec<usize> = nodes
                                .iter()
                                .map(|&i| element.slot(i as usize, &first))
                                .collect();
                            slots.sort_unstable();
                            assert!(slots.into_iter().eq(0..nodes.len()));
                        }
                    }
                }
            }
        }
    }
}

fn check_shared(element: &Lagrange, side: usize, images: &[usize], first: &[u32], second: &[u32]) {
    let kind = element.kind();
    for &node in element.closure_nodes(side) {
        let x = element.nodes()[node as usize];
        // The same physical point in the second cell.
        let mut y = [0.0; 3];
        for (v, weight) in lagrange_vertices(kind, x).into_iter().enumerate() {
            for d in 0..3 {
                y[d] += weight * kind.vertices()[images[v]][d];
            }
        }
        let other = (0..element.node_count())
            .find(|&j| distance(element.nodes()[j], y) < 1e-12)
            .unwrap();
        let (a, b) = (element.entity(node as usize), element.entity(other));
        assert_eq!(a.dim, b.dim);
        let global = |entity: weft::element::Entity, cell: &[u32]| {
            let vertices = kind.entity_vertices(entity.dim as usize, entity.index as usize);
            let mut all: Vec<u32> = vertices.iter().map(|&v| cell[v as usize]).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(global(a, first), global(b, second));
        assert_eq!(
            element.slot(node as usize, first),
            element.slot(other, second),
            "{} of degree {}, node {node}",
            kind.name(),
            element.degree()
        );
    }
}

/// Side coordinates reach the right corners for every order of the side's vertices, and the map is
/// affine on simplices and bilinear on quads.
#[test]
fn side_points_reach_the_cell() {
    for kind in CellKind::CELLS {
        let side_kind = kind.side_kind();
        for side in 0..kind.side_count() {
            let base = kind.side_vertices(side);
            for order in symmetries(side_kind) {
                let vertices: Vec<u8> = order.iter().map(|&i| base[i]).collect();
                let corners = map_to_cell(kind, &vertices, side_kind.vertices());
                for (&v, x) in vertices.iter().zip(corners) {
                    assert_eq!(x, kind.vertices()[v as usize]);
                }
                let center = map_to_cell(kind, &vertices, &[side_kind.center()])[0];
                let mut expected = [0.0; 3];
                for &v in base {
                    for d in 0..3 {
                        expected[d] += kind.vertices()[v as usize][d] / base.len() as f64;
                    }
                }
                assert!(distance(center, expected) < 1e-15);
            }
        }
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
