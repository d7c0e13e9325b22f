//! 3.5, 3.6, 3.9 and 13.3: nodes, weights and shape functions.

use crate::common::Random;
use weft::assemble::interpolate;
use weft::element::{CellKind, Element, ElementFamily, NodeFamily, VectorElement, VectorFamily};
use weft::form::Expr;
use weft::geometry::Grid2;
use weft::partition::{SpacePartition, SpaceRestriction};
use weft::space::{Space, ValueKind};

const KINDS: [CellKind; 4] = [
    CellKind::Quad,
    CellKind::Hex,
    CellKind::Triangle,
    CellKind::Tet,
];

/// Scalar elements of the catalogue, with more degrees.
fn elements() -> Vec<Element> {
    let mut all = Vec::new();
    for kind in KINDS {
        for degree in 1..=4 {
            all.push(Element::new_lagrange(kind, degree, NodeFamily::Lobatto));
            all.push(Element::new_lagrange(kind, degree, NodeFamily::Equispaced));
            all.push(Element::new_polynomial(kind, degree));
            if kind.is_tensor() && degree > 1 {
                all.push(Element::new_serendipity(kind, degree));
            }
            if kind.is_tensor() && degree < 4 {
                all.push(Element::new_spline(kind, degree));
            }
        }
    }
    all.into_iter().map(|e| e.unwrap()).collect()
}

#[test]
fn spec_13_3_each_function_is_one_at_its_node() {
    for element in elements().iter().filter(|e| e.is_nodal()) {
        let table = element.tabulate(element.nodes());
        for i in 0..element.node_count() {
            for (j, value) in table.values_at(i).iter().enumerate() {
                let wanted = (i == j) as usize as f64;
                assert!((value - wanted).abs() < 1e-10, "{} {i} {j}", element.name());
            }
        }
    }
}

#[test]
fn spec_13_3_functions_add_up_to_one() {
    let mut random = Random(3);
    for element in elements() {
        let points: Vec<[f64; 3]> = (0..100).map(|_| random.point(element.kind())).collect();
        let table = element.tabulate(&points);
        for q in 0..100 {
            let sum: f64 = table.values_at(q).iter().sum();
            assert!((sum - 1.0).abs() < 1e-10, "{}: {sum}", element.name());
        }
    }
}

#[test]
fn spec_13_3_gradients_are_differences() {
    let (mut random, step) = (Random(4), 0.003);
    for element in elements() {
        // Splines have kinks in higher derivatives, and are differentiated within a piece.
        let pieces = element.pieces() as f64;
        let n = element.node_count();
        let (mut up, mut down, mut none) = (vec![0.0; n], vec![0.0; n], vec![[0.0; 3]; n]);
        for _ in 0..20 {
            let x = random.point(element.kind()).map(|c| 0.02 + 0.9 * c);
            let table = element.tabulate(&[x]);
            for d in 0..element.kind().dim() {
                let near_kink = (x[d] * pieces - (x[d] * pieces).round()).abs() < step * pieces;
                if pieces > 1.0 && near_kink {
                    continue;
                }
                let moved = |s: f64| {
                    let mut y = x;
                    y[d] += s * step;
                    y
                };
                element.evaluate(moved(1.0), &mut up, &mut none);
                element.evaluate(moved(-1.0), &mut down, &mut none);
                for i in 0..n {
                    let slope = (up[i] - down[i]) / (2.0 * step);
                    let given = table.gradients_at(0)[i][d];
                    // The error of the difference is ε²/6 times the third derivative.
                    let bound =
                        1e-4 * (1.0 + given.abs()) * 20f64.powi(element.degree() as i32 / 3);
                    assert!(
                        (slope - given).abs() < bound,
                        "{}: {slope} {given}",
                        element.name()
                    );
                }
            }
        }
    }
}

fn weigh(element: &Element) -> (f64, [f64; 3]) {
    let weights = element.node_weights().unwrap();
    let mut centre = [0.0; 3];
    for (x, w) in element.nodes().iter().zip(&weights) {
        for d in 0..3 {
            centre[d] += w * x[d];
        }
    }
    assert!(weights.iter().all(|w| *w > 0.0), "{}", element.name());
    (weights.iter().sum(), centre)
}

#[test]
fn spec_3_5_and_13_3_node_weights_have_the_sum_and_the_centre_of_the_cell() {
    for element in elements() {
        let (sum, centre) = weigh(&element);
        assert!((sum - 1.0).abs() < 1e-10, "{}: {sum}", element.name());
        if element.family() == ElementFamily::Polynomial && element.kind().is_tensor() {
            // Their nodes are a simplex in the square; equal weights are exact for constants only.
            continue;
        }
        let wanted = element.kind().center();
        for d in 0..element.kind().dim() {
            assert!(
                (centre[d] - wanted[d]).abs() < 1e-4,
                "{}: {centre:?}",
                element.name()
            );
        }
    }
}

/// Nodes of a side, as an element of the side: the first face of the cell has x = 0.
#[test]
fn spec_3_5_and_13_3_nodes_on_a_side_are_those_of_the_side() {
    for kind in KINDS {
        for degree in 1..=3 {
            let cell = Element::new_lagrange(kind, degree, NodeFamily::Lobatto).unwrap();
            let side =
                Element::new_lagrange(kind.side_kind(), degree, NodeFamily::Lobatto).unwrap();
            for s in 0..kind.side_count() {
                // The nodes of the side's own element, put on the side, are those of the cell.
                let nodes = cell.closure_nodes(s);
                assert_eq!(nodes.len(), side.node_count(), "{}", cell.name());
                let map = Element::new_lagrange(kind.side_kind(), 1, NodeFamily::Lobatto).unwrap();
                let corner = |node: &[f64; 3]| {
                    let vertices = kind.side_kind().vertices();
                    let v = vertices.iter().position(|x| x == node).unwrap();
                    kind.vertices()[kind.side_vertices(s)[v] as usize]
                };
                let corners: Vec<[f64; 3]> = map.nodes().iter().map(corner).collect();
                for &at in side.nodes() {
                    let table = map.tabulate(&[at]);
                    let place: [f64; 3] = std::array::from_fn(|d| {
                        let parts = table.values.iter().zip(&corners);
                        parts.map(|(n, x)| n * x[d]).sum()
                    });
                    let same = |i: u16| {
                        let x = cell.nodes()[i as usize];
                        (0..3).all(|d| (x[d] - place[d]).abs() < 1e-12)
                    };
                    assert_eq!(
                        nodes.iter().filter(|i| same(**i)).count(),
                        1,
                        "{}",
                        cell.name()
                    );
                }
            }
            let (sum, centre) = weigh(&side);
            assert!((sum - 1.0).abs() < 1e-10);
            let wanted = kind.side_kind().center();
            for d in 0..kind.dim() - 1 {
                assert!((centre[d] - wanted[d]).abs() < 1e-4, "{}", side.name());
            }
        }
    }
}

/// On simplices the lowest Nédélec functions have a skew gradient, the lowest Raviart–Thomas ones a
/// multiple of the identity.
#[test]
fn spec_13_3_gradients_of_the_lowest_vector_functions() {
    let mut random = Random(9);
    for kind in [CellKind::Triangle, CellKind::Tet] {
        let dim = kind.dim();
        let [nedelec, raviart] = [VectorFamily::Nedelec, VectorFamily::RaviartThomas]
            .map(|family| VectorElement::new(family, kind, 1).unwrap());
        let points: Vec<[f64; 3]> = (0..10).map(|_| random.point(kind)).collect();
        let (n, r) = (nedelec.tabulate(&points), raviart.tabulate(&points));
        for q in 0..10 {
            for g in n.derivatives_at(q) {
                for c in 0..dim {
                    for d in 0..dim {
                        assert!((g[c][d] + g[d][c]).abs() < 1e-12, "{kind:?} {g:?}");
                    }
                }
            }
            for g in r.derivatives_at(q) {
                for c in 0..dim {
                    for d in 0..dim {
                        let wanted = if c == d { g[0][0] } else { 0.0 };
                        assert!((g[c][d] - wanted).abs() < 1e-12, "{kind:?} {g:?}");
                    }
                }
            }
        }
    }
}

/// ½‖τ‖² = 1 for each unit degree of freedom, and values come back.
#[test]
fn spec_3_6_and_13_4_symmetric_and_skew_tensors() {
    let grid = Grid2::unit([1, 1]).unwrap();
    for (n, make) in [2, 3].into_iter().flat_map(|n| {
        let kinds: [fn(usize) -> ValueKind; 3] =
            [ValueKind::Symmetric, ValueKind::Deviatoric, ValueKind::Skew];
        kinds.map(|kind| (n, kind))
    }) {
        let kind = make(n);
        let constants = Space::discontinuous(&grid, 0).unwrap();
        let space = constants.with_value(kind).unwrap();
        for dof in 0..kind.components() {
            let norm: f64 = (0..n * n).map(|c| 0.5 * kind.entry(c, dof).powi(2)).sum();
            assert!((norm - 1.0).abs() < 1e-6, "{kind:?} {dof}: {norm}");
        }
        // Round trip: a tensor of numbers, stored and read.
        let sign = if kind == ValueKind::Skew(n) {
            -1.0
        } else {
            1.0
        };
        let number = |k: usize| (1.0 + k as f64).sqrt();
        let entry = |k: usize| number(k) + sign * number(k % n * n + k / n);
        let parts = (0..n * n).map(|k| Expr::constant(entry(k)));
        let tensor = Expr::tensor(space.shape(), parts.collect());
        let field = interpolate(&tensor, &space).unwrap();
        let value = field.evaluate(0, [0.3, 0.6, 0.0]).unwrap().value;
        for (k, v) in value.iter().enumerate() {
            assert!((v - entry(k)).abs() < 1e-14, "{kind:?} {k}: {v}");
        }
    }
}

/// Elements of a node come in increasing order.
#[test]
fn spec_3_9_the_first_element_of_a_node_is_the_smallest() {
    let grid = Grid2::unit([4, 3]).unwrap();
    let space = Space::lagrange(&grid, 2).unwrap();
    let nodes = SpacePartition::whole(&space).unwrap();
    let all: Vec<u32> = (0..12).collect();
    let lists = SpaceRestriction::on_cells(&nodes, &all).unwrap();
    assert_eq!(lists.node_count(), space.node_count());
    for node in 0..space.node_count() {
        let cells: Vec<u32> = lists.of(node).map(|e| e.element).collect();
        assert!(cells.is_sorted(), "{cells:?}");
        let owning = (0..12).find(|&c| space.cell_nodes(c as usize).contains(&(node as u32)));
        assert_eq!(cells.first().copied(), owning);
    }
}
