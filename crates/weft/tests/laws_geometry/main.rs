//! Laws of grids and meshes: counts, neighbours, orientation, refinement, errors, determinism.

mod counts;
mod curved;
mod every_geometry;
mod faults;
mod neighbours;
mod transforms;

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeSet;

use weft::element::CellKind;
use weft::geometry::shapes::*;
use weft::geometry::*;

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

/// Area vector of a planar polygon; of a segment in the plane the normal times the length.
fn area_vector(x: &[[f64; 3]]) -> [f64; 3] {
    if x.len() == 2 {
        let t = sub(x[1], x[0]);
        return [t[1], -t[0], 0.0];
    }
    let mut sum = [0.0; 3];
    for i in 2..x.len() {
        sum = add(sum, cross(sub(x[i - 1], x[0]), sub(x[i], x[0])));
    }
    sum.map(|s| s / 2.0)
}

fn positions(map: &GeometryMap, vertices: &[u32]) -> Vec<[f64; 3]> {
    vertices.iter().map(|&v| map.vertex(v)).collect()
}

fn centroid(x: &[[f64; 3]]) -> [f64; 3] {
    x.iter()
        .fold([0.0; 3], |s, &p| add(s, p))
        .map(|s| s / x.len() as f64)
}

/// Measure of a straight cell. Quads must be planar; hexes are measured by the divergence
/// theorem and must have planar faces.
fn cell_measure(g: &dyn Geometry, cell: usize) -> f64 {
    let (t, map) = (g.topology(), g.map());
    let x = positions(&map, t.cell_vertices(cell));
    match g.cell_kind() {
        CellKind::Segment => norm(sub(x[1], x[0])),
        CellKind::Triangle | CellKind::Quad => norm(area_vector(&x)),
        CellKind::Tet => dot(cross(sub(x[1], x[0]), sub(x[2], x[0])), sub(x[3], x[0])) / 6.0,
        CellKind::Hex => {
            (0..6)
                .map(|s| {
                    let table = CellKind::Hex.side_vertices(s);
                    let face: Vec<_> = table.iter().map(|&l| x[l as usize]).collect();
                    dot(sub(face[0], x[0]), area_vector(&face))
                })
                .sum::<f64>()
                / 3.0
        }
        CellKind::Point => 0.0,
    }
}

fn total(g: &dyn Geometry) -> f64 {
    (0..g.topology().cell_count())
        .map(|c| cell_measure(g, c))
        .sum()
}

fn side_measure(g: &dyn Geometry, side: usize) -> f64 {
    norm(area_vector(&positions(
        &g.map(),
        g.topology().side_vertices(side),
    )))
}

/// Everything a topology promises, checked entity by entity.
fn check_topology(t: &Topology) {
    let kind = t.cell_kind();
    let local = |cell: usize, l: usize| -> Vec<u32> {
        let table = kind.side_vertices(l);
        table
            .iter()
            .map(|&v| t.cell_vertices(cell)[v as usize])
            .collect()
    };
    let set = |v: &[u32]| v.iter().copied().collect::<BTreeSet<u32>>();
    for side in 0..t.side_count() {
        let ([inner, outer], [li, lo]) = (t.side_cells(side), t.side_locals(side));
        assert!(inner <= outer);
        assert_eq!(t.side_vertices(side), local(inner as usize, li as usize));
        assert_eq!(
            set(t.side_vertices(side)),
            set(&local(outer as usize, lo as usize))
        );
        assert_eq!(t.cell_sides(inner as usize)[li as usize] as usize, side);
        assert_eq!(t.cell_sides(outer as usize)[lo as usize] as usize, side);
        assert_eq!(t.is_boundary(side), inner == outer);
        let mut reversed = t.side_vertices(side).to_vec();
        reversed.reverse();
        assert_eq!(t.find_side(&reversed), Some(side as u32));
    }
    assert!(t.boundary_sides().is_sorted());
    assert_eq!(
        t.boundary_sides().len() + t.interior_sides().len(),
        t.side_count()
    );
    assert!(
        t.boundary_sides()
            .iter()
            .all(|&s| t.is_boundary(s as usize))
    );
    assert!(
        t.interior_sides()
            .iter()
            .all(|&s| !t.is_boundary(s as usize))
    );
    for cell in 0..t.cell_count() {
        for (l, &side) in t.cell_sides(cell).iter().enumerate() {
            assert!(t.side_cells(side as usize).contains(&(cell as u32)));
            assert_eq!(set(t.side_vertices(side as usize)), set(&local(cell, l)));
        }
        for (&edge, &[a, b]) in t.cell_edges(cell).iter().zip(kind.edges()) {
            let [a, b] = [a, b].map(|l| t.cell_vertices(cell)[l as usize]);
            assert_eq!(t.edge_vertices(edge as usize), [a.min(b), a.max(b)]);
            // A segment is its own edge, so two equal segments are two edges.
            match t.find_edge(b, a) {
                Some(found) if kind.dim() == 1 => {
                    assert_eq!(t.edge_vertices(found as usize), [a.min(b), a.max(b)]);
                }
                found => assert_eq!(found, Some(edge)),
            }
        }
    }
    let mut incidences = 0;
    for v in 0..t.vertex_count() {
        let cells = t.vertex_cells(v);
        assert!(cells.is_sorted());
        assert!(
            cells
                .iter()
                .all(|&c| t.cell_vertices(c as usize).contains(&(v as u32)))
        );
        incidences += cells.len();
    }
    assert_eq!(incidences, t.cells().len());
    let edges: BTreeSet<[u32; 2]> = (0..t.edge_count()).map(|e| t.edge_vertices(e)).collect();
    // Two segments may join the same vertices, as the halves of a ring do: each is an edge.
    if t.cell_kind() == CellKind::Segment {
        assert_eq!(t.edge_count(), t.cell_count());
    } else {
        assert_eq!(edges.len(), t.edge_count());
    }
}

/// V − E + F (− C).
fn euler(t: &Topology) -> i64 {
    let [v, e, s, c] = [
        t.vertex_count(),
        t.edge_count(),
        t.side_count(),
        t.cell_count(),
    ]
    .map(|n| n as i64);
    match t.cell_kind().dim() {
        1 => v - c,
        2 => v - e + c,
        _ => v - e + s - c,
    }
}

/// The outward area vectors of the boundary of a body add up to 0.
fn check_closed(g: &dyn Geometry) {
    let (t, map) = (g.topology(), g.map());
    let mut sum = [0.0; 3];
    for &side in t.boundary_sides() {
        let x = positions(&map, t.side_vertices(side as usize));
        let cell = t.side_cells(side as usize)[0] as usize;
        let inside = centroid(&positions(&map, t.cell_vertices(cell)));
        let a = area_vector(&x);
        let sign = dot(a, sub(centroid(&x), inside)).signum();
        sum = add(sum, a.map(|c| sign * c));
    }
    assert!(norm(sum) < 1e-12, "{sum:?}");
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
}

fn counts(t: &Topology) -> [usize; 5] {
    [
        t.cell_count(),
        t.vertex_count(),
        t.side_count(),
        t.boundary_sides().len(),
        t.edge_count(),
    ]
}

const UNIT2: ([f64; 2], [f64; 2]) = ([0.0; 2], [1.0; 2]);
const UNIT3: ([f64; 3], [f64; 3]) = ([0.0; 3], [1.0; 3]);

/// One mesh of each kind, all of the unit segment, square or cube.
fn unit_meshes(n: usize) -> Vec<Mesh> {
    vec![
        segments(n, 0.0, 1.0).unwrap(),
        rectangle_triangles([n; 2], UNIT2.0, UNIT2.1).unwrap(),
        rectangle_quads([n; 2], UNIT2.0, UNIT2.1).unwrap(),
        box_tets([n; 3], UNIT3.0, UNIT3.1).unwrap(),
        box_tets5([n; 3], UNIT3.0, UNIT3.1).unwrap(),
        box_hexes([n; 3], UNIT3.0, UNIT3.1).unwrap(),
    ]
}

/// A permutation of 0..n from a linear congruential generator.
fn permutation(n: usize, mut seed: u64) -> Vec<u32> {
    let mut p: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        p.swap(i, (seed >> 33) as usize % (i + 1));
    }
    p
}

/// Corners of the unit square, counter-clockwise.
const SQUARE: [[f64; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
];
