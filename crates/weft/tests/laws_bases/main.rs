//! Laws of scalar bases: what their functions are, how cells agree on shared sides, and how fast
//! solutions converge, for every basis, cell and degree.

#[path = "../common/mod.rs"]
mod common;
mod conformity;
mod convergence;
mod faults;
mod functions;
mod hessians;
mod independent;
mod splines;
#[path = "../common/tables.rs"]
mod tables;
mod values;

use weft::element::{CellKind, Element, ElementFamily, NodeFamily};

/// Every element, those that are Lagrange elements under another name left out.
fn elements() -> Vec<Element> {
    let mut all = Vec::new();
    for kind in CellKind::CELLS {
        for degree in 0..=7 {
            all.push(Element::new_lagrange(kind, degree, NodeFamily::Lobatto).unwrap());
            all.push(Element::new_polynomial(kind, degree).unwrap());
        }
        all.extend((1..=4).filter_map(|degree| Element::new_serendipity(kind, degree).ok()));
        all.extend(Element::new_crouzeix_raviart(kind));
        all.push(Element::new_bubble(kind).unwrap());
        all.extend((1..=3).filter_map(|degree| Element::new_spline(kind, degree).ok()));
    }
    let own = |e: &Element| {
        e.lagrange().is_none() || e.family() == ElementFamily::Lagrange(NodeFamily::Lobatto)
    };
    all.retain(own);
    all
}
