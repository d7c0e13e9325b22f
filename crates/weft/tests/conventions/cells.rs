//! "Reference cells" and "Sides of a cell".

use super::{close, cross, dot, kind_named, sub, table};
use weft::element::{CellKind, Quadrature, RuleFamily};

fn list<'a>(groups: impl Iterator<Item = &'a [u8]>) -> String {
    let join = |g: &[u8]| g.iter().map(u8::to_string).collect::<String>();
    groups.map(join).collect::<Vec<_>>().join(" ")
}

fn point(x: [f64; 3], dim: usize) -> String {
    // Adding 0 turns -0 into 0.
    let parts: Vec<String> = x[..dim].iter().map(|c| (c + 0.0).to_string()).collect();
    format!("({})", parts.join(","))
}

#[test]
fn vertices_edges_and_measures() {
    let rows = table("## Reference cells");
    assert_eq!(rows.len(), CellKind::CELLS.len());
    for row in rows {
        let kind = kind_named(&row[0]);
        let vertices: Vec<String> = kind
            .vertices()
            .iter()
            .map(|&v| point(v, kind.dim()))
            .collect();
        assert_eq!(row[1], vertices.join(" "));
        assert_eq!(row[2], list(kind.edges().iter().map(|e| &e[..])));
        let (top, bottom) = row[3].split_once('/').unwrap_or((&row[3], "1"));
        close(
            top.parse::<f64>().unwrap() / bottom.parse::<f64>().unwrap(),
            kind.reference_measure(),
        );
    }
}

#[test]
fn sides_and_their_outward_normals() {
    let rows = table("## Sides of a cell");
    let expected: usize = CellKind::CELLS.iter().map(|k| k.side_count()).sum();
    assert_eq!(rows.len(), expected);
    for row in rows {
        let kind = kind_named(&row[0]);
        let side: usize = row[1].parse().unwrap();
        assert_eq!(
            row[2],
            list(std::iter::once(kind.side_vertices(side))),
            "{row:?}"
        );
        assert_eq!(row[3], point(kind.side_normal(side), kind.dim()), "{row:?}");
    }
}

#[test]
fn normals_point_out_and_carry_the_side_measure() {
    for kind in CellKind::CELLS {
        let mut total = [0.0; 3];
        for side in 0..kind.side_count() {
            let n = kind.side_normal(side);
            let first = kind.vertices()[kind.side_vertices(side)[0] as usize];
            assert!(dot(n, sub(first, kind.center())) > 0.0);
            for d in 0..3 {
                total[d] += n[d] * kind.side_kind().reference_measure();
            }
        }
        // A closed surface has no net area.
        assert!(total.iter().all(|t| t.abs() < 1e-15), "{kind:?}: {total:?}");
    }
}

#[test]
fn only_hex_sides_run_round_their_outward_normal() {
    let turns = |kind: CellKind, side: usize| {
        let v = kind.side_vertices(side);
        let p = |i: usize| kind.vertices()[v[i] as usize];
        let n = cross(sub(p(1), p(0)), sub(p(2), p(1)));
        dot(n, kind.side_normal(side)) > 0.0
    };
    assert!((0..6).all(|s| turns(CellKind::Hex, s)));
    let tet: Vec<bool> = (0..4).map(|s| turns(CellKind::Tet, s)).collect();
    assert_eq!(tet, [false, true, false, true]);
    // In the plane the outward normal is to the right of the side.
    for kind in [CellKind::Triangle, CellKind::Quad] {
        for side in 0..kind.side_count() {
            let v = kind.side_vertices(side);
            let t = sub(
                kind.vertices()[v[1] as usize],
                kind.vertices()[v[0] as usize],
            );
            assert_eq!(kind.side_normal(side), [t[1], -t[0], 0.0]);
            assert_eq!(kind.edges()[side], [v[0], v[1]]);
        }
    }
}

#[test]
fn quadrature_weights_sum_to_one() {
    for kind in CellKind::CELLS {
        for degree in 0..=20 {
            let rule = Quadrature::new(kind, degree).unwrap();
            close(rule.weights().iter().sum(), 1.0);
            assert!(rule.weights().iter().all(|&w| w > 0.0));
        }
    }
    for family in RuleFamily::ALL {
        let rule = family.line_rule(3).unwrap();
        close(rule.weights().iter().sum(), 1.0);
    }
}
