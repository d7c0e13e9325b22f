//! What is odd about a mesh but allowed.

use super::check::{cross, dot, sub};
use super::{GeometryMap, MeshWarning, Topology};
use crate::element::CellKind;

pub(super) fn warnings(topology: &Topology, map: &GeometryMap) -> Vec<MeshWarning> {
    let mut found = Vec::new();
    let points = unused(map);
    if !points.is_empty() {
        found.push(MeshWarning::UnusedPoints { points });
    }
    let pairs = coincident(map);
    if !pairs.is_empty() {
        found.push(MeshWarning::DuplicateVertices { pairs });
    }
    let pairs = duplicate_cells(topology);
    if !pairs.is_empty() {
        found.push(MeshWarning::DuplicateCells { pairs });
    }
    let sides = mismatched(topology);
    if !sides.is_empty() {
        found.push(MeshWarning::OrientationMismatch { sides });
    }
    let mut first_cells = Vec::new();
    for (cell, part) in topology.components().into_iter().enumerate() {
        if part as usize == first_cells.len() {
            first_cells.push(cell as u32);
        }
    }
    if first_cells.len() > 1 {
        found.push(MeshWarning::Disconnected { first_cells });
    }
    found
}

fn unused(map: &GeometryMap) -> Vec<u32> {
    let mut used = vec![false; map.nodes.len()];
    map.cell_nodes.iter().for_each(|&n| used[n as usize] = true);
    (0..used.len() as u32)
        .filter(|&n| !used[n as usize])
        .collect()
}

fn coincident(map: &GeometryMap) -> Vec<[u32; 2]> {
    let mut vertices: Vec<u32> = (0..map.vertex_count() as u32).collect();
    let x = |v: u32, axis: usize| map.vertex(v)[axis];
    let size = (0..3)
        .map(|axis| {
            let ends = vertices.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| {
                (a.min(x(v, axis)), b.max(x(v, axis)))
            });
            ends.1 - ends.0
        })
        .fold(0.0, f64::max);
    let mut pairs = Vec::new();
    cluster(&mut vertices, 0, 1e-12 * size, &x, &mut |group| {
        group.sort_unstable();
        pairs.extend(group[1..].iter().map(|&v| [group[0], v]));
    });
    pairs.sort_unstable();
    pairs
}

/// Splits vertices into runs that are close along each axis in turn; linear but for sorting.
fn cluster(
    vertices: &mut [u32],
    axis: usize,
    tolerance: f64,
    x: &impl Fn(u32, usize) -> f64,
    found: &mut impl FnMut(&mut [u32]),
) {
    if vertices.len() < 2 {
        return;
    }
    if axis == 3 {
        found(vertices);
        return;
    }
    vertices.sort_unstable_by(|&a, &b| x(a, axis).total_cmp(&x(b, axis)).then(a.cmp(&b)));
    for run in vertices.chunk_by_mut(|&a, &b| x(b, axis) - x(a, axis) <= tolerance) {
        cluster(run, axis + 1, tolerance, x, found);
    }
}

/// Two cells with the same vertices share all their sides with each other.
fn duplicate_cells(topology: &Topology) -> Vec<[u32; 2]> {
    let other = |cell: u32, side: u32| {
        let [a, b] = topology.side_cells(side as usize);
        if a == cell { b } else { a }
    };
    (0..topology.cell_count() as u32)
        .filter_map(|cell| {
            let sides = topology.cell_sides(cell as usize);
            let twin = other(cell, sides[0]);
            let same = twin > cell && sides.iter().all(|&s| other(cell, s) == twin);
            same.then_some([cell, twin])
        })
        .collect()
}

/// Sides whose cells lie on the same side of them, by vertex order alone.
fn mismatched(topology: &Topology) -> Vec<u32> {
    let kind = topology.cell_kind();
    let signs: Vec<i32> = (0..kind.side_count()).map(|s| outward(kind, s)).collect();
    topology
        .interior_sides()
        .iter()
        .copied()
        .filter(|&side| {
            let [inner, outer] = topology.side_locals(side as usize);
            let cell = topology.side_cells(side as usize)[1];
            let vertices = topology.cell_vertices(cell as usize);
            let theirs: Vec<u32> = kind
                .side_vertices(outer as usize)
                .iter()
                .map(|&l| vertices[l as usize])
                .collect();
            let turn = direction(topology.side_vertices(side as usize), &theirs);
            signs[inner as usize] * signs[outer as usize] * turn > 0
        })
        .collect()
}

/// 1 if the local order of a side's vertices turns about its outward normal, −1 if against it.
fn outward(kind: CellKind, side: usize) -> i32 {
    let n = kind.side_normal(side);
    let v = kind.side_vertices(side);
    let x = |i: usize| kind.vertices()[v[i] as usize];
    let value = match kind.dim() {
        1 => n[0],
        // Counter-clockwise about the cell, as the normal turned by a right angle.
        2 => {
            let t = sub(x(1), x(0));
            n[0] * t[1] - n[1] * t[0]
        }
        _ => dot(n, cross(sub(x(1), x(0)), sub(x(2), x(0)))),
    };
    if value > 0.0 { 1 } else { -1 }
}

/// 1 if two orders of the same vertices turn the same way, −1 if opposite ways.
fn direction(a: &[u32], b: &[u32]) -> i32 {
    let start = b.iter().position(|&v| v == a[0]).unwrap_or(0);
    if a.len() == 1 || b[(start + 1) % b.len()] == a[1] && (a.len() > 2 || start == 0) {
        1
    } else {
        -1
    }
}
