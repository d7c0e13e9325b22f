//! Scalar bases against tables of independent codes.

use crate::common::Random;
use crate::elements;
use crate::tables::{NODES, Span, distance_from, spans, spectra};
use weft::element::{CellKind, Element, ElementFamily};
use weft::geometry::Mesh;
use weft::space::Space;

/// The elements that have the space of a table; none if its functions are vectors.
fn named(kind: CellKind, name: &str, degree: usize) -> Vec<Element> {
    let made = match name {
        "lagrange" => {
            let of = |family| Element::new_lagrange(kind, degree, family).unwrap();
            return NODES.map(of).to_vec();
        }
        "serendipity" => Element::new_serendipity(kind, degree),
        "polynomial" => Element::new_polynomial(kind, degree),
        "crouzeix-raviart" => Element::new_crouzeix_raviart(kind),
        "bubble" => Element::new_bubble(kind),
        _ => return Vec::new(),
    };
    vec![made.unwrap()]
}

/// Values of each function at the points.
fn functions(element: &Element, points: &[[f64; 3]]) -> Vec<Vec<f64>> {
    let table = element.tabulate(points);
    let of = |i: usize| (0..points.len()).map(|q| table.values_at(q)[i]).collect();
    (0..element.node_count()).map(of).collect()
}

#[test]
fn bases_span_the_spaces_of_independent_tables() {
    let mut checked = 0;
    for kind in CellKind::CELLS {
        for span in spans(kind) {
            for element in named(kind, &span.name, span.degree) {
                for (dim, &count) in span.dofs.iter().enumerate() {
                    assert_eq!(element.interior_count(dim), count, "{}", element.name());
                }
                span.check(kind, functions(&element, &span.points));
                checked += 1;
            }
        }
    }
    // Lagrange: 6 degrees, 5 cells, 2 families; serendipity 2 × 4; polynomials 2 × 7; the rest 4.
    assert_eq!(checked, 60 + 8 + 14 + 4);
}

#[test]
fn tables_refuse_spaces_that_lack_a_function() {
    for kind in CellKind::CELLS {
        let larger = |s: &Span| s.degree > 1 || s.name == "bubble";
        for span in spans(kind).iter().filter(|s| larger(s)) {
            let name = match span.name.as_str() {
                "bubble" => "crouzeix-raviart",
                name => name,
            };
            let degree = if name == span.name {
                span.degree - 1
            } else {
                1
            };
            for element in named(kind, name, degree) {
                for member in &span.members {
                    let off = distance_from(functions(&element, &span.points), member);
                    assert!(off > 1e-4, "{} {}: {off:e}", span.name, span.degree);
                }
            }
        }
    }
}

/// The conforming space of a table, or the discontinuous one.
fn space(mesh: &Mesh, name: &str, degree: usize) -> Option<Space> {
    let made = match name {
        "lagrange" => Space::lagrange(mesh, degree),
        "serendipity" => Space::serendipity(mesh, degree),
        "polynomial" => Space::polynomials(mesh, degree),
        "crouzeix-raviart" => Space::crouzeix_raviart(mesh),
        "bubble" => Space::bubble(mesh),
        _ => return None,
    };
    Some(made.unwrap())
}

#[test]
fn matrices_have_the_spectra_of_independent_tables() {
    let mut random = Random(41);
    let mut checked = 0;
    for spectrum in spectra() {
        if space(&spectrum.mesh, &spectrum.name, spectrum.degree).is_some() {
            let of = |mesh: &Mesh| space(mesh, &spectrum.name, spectrum.degree).unwrap();
            spectrum.check(of, &mut random);
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn tables_hold_every_element_but_those_of_high_degree_and_splines() {
    let all: Vec<_> = CellKind::CELLS
        .into_iter()
        .flat_map(|kind| spans(kind).into_iter().map(move |span| (kind, span)))
        .flat_map(|(kind, span)| named(kind, &span.name, span.degree))
        .collect();
    for element in elements() {
        let left_out = match element.family() {
            ElementFamily::Lagrange(_) => element.degree() == 0 || element.degree() > 6,
            ElementFamily::Polynomial => element.degree() > 6,
            ElementFamily::Bubble => element.kind().is_tensor(),
            ElementFamily::CrouzeixRaviart => element.kind() == CellKind::Segment,
            _ => element.family() == ElementFamily::Spline,
        };
        let there = all.iter().any(|e| e.same_functions(&element));
        let left_out = left_out || element.kind() == CellKind::Segment && !there;
        assert!(there || left_out, "{}", element.name());
    }
}
