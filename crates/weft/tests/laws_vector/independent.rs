//! Vector-valued bases against tables of independent codes.

use crate::all_elements;
use crate::common::{Random, shared};
use crate::tables::{spans, spectra};
use weft::element::{CellKind, VectorElement, VectorFamily};
use weft::geometry::Mesh;
use weft::space::Space;

fn family(name: &str) -> Option<VectorFamily> {
    Some(match name {
        "nedelec" => VectorFamily::Nedelec,
        "nedelec2" => VectorFamily::NedelecSecond,
        "raviart-thomas" => VectorFamily::RaviartThomas,
        "bdm" => VectorFamily::BrezziDouglasMarini,
        _ => return None,
    })
}

/// Components of each function at the points.
fn functions(element: &VectorElement, points: &[[f64; 3]]) -> Vec<Vec<f64>> {
    let table = element.tabulate(points);
    let dim = element.kind().dim();
    let of = |i: usize| {
        let at = |q: usize| table.values_at(q)[i][..dim].to_vec();
        (0..points.len()).flat_map(at).collect()
    };
    (0..element.function_count()).map(of).collect()
}

#[test]
fn bases_span_the_spaces_of_independent_tables() {
    let mut checked = 0;
    for kind in CellKind::CELLS {
        for span in spans(kind) {
            let Some(family) = family(&span.name) else {
                continue;
            };
            let element = VectorElement::new(family, kind, span.degree).unwrap();
            for (dim, &count) in span.dofs.iter().enumerate() {
                let name = format!("{} {} {}", span.name, span.degree, kind.name());
                assert_eq!(
                    element.interior_count(dim),
                    count,
                    "{name}, dimension {dim}"
                );
            }
            span.check(kind, functions(&element, &span.points));
            checked += 1;
        }
    }
    assert_eq!(checked, all_elements().count());
}

#[test]
fn matrices_have_the_spectra_of_independent_tables() {
    let mut random = Random(43);
    let mut checked = 0;
    for spectrum in spectra() {
        let Some(family) = family(&spectrum.name) else {
            continue;
        };
        let of = |mesh: &Mesh| Space::of_vectors(shared(mesh), family, spectrum.degree).unwrap();
        spectrum.check(of, &mut random);
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}
