//! Lagrange numbering: which lattice point of a cell each local node is.
//!
//! A lattice point of a cell of degree `p` is four small integers. On a simplex they are the
//! barycentric multi-index (entry `v` belongs to vertex `v`, the sum is `p`); on a tensor cell the
//! first `dim` entries are the steps along the axes, each 0 to `p`. Numbers follow the VTK Lagrange
//! cells on simplices and x-major order on tensor cells.

use super::CellKind;

/// A lattice point; unused entries are 0.
pub(super) type LatticePoint = [u8; 4];

/// Lattice points of the nodes of degree `degree >= 1`, in Lagrange numbering.
pub(super) fn lattice(kind: CellKind, degree: usize) -> Vec<LatticePoint> {
    let p = degree as u8;
    let mut points = Vec::new();
    match kind {
        CellKind::Point => points.push([0; 4]),
        CellKind::Triangle => push_triangle(degree, &mut |a| points.push([a[0], a[1], a[2], 0])),
        CellKind::Tet => push_tet(degree, 0, &mut points),
        CellKind::Segment => points.extend((0..=p).map(|i| [i, 0, 0, 0])),
        CellKind::Quad => {
            points.extend((0..=p).flat_map(|i| (0..=p).map(move |j| [i, j, 0, 0])));
        }
        CellKind::Hex => {
            points.extend(
                (0..=p).flat_map(|i| (0..=p).flat_map(move |j| (0..=p).map(move |k| [i, j, k, 0]))),
            );
        }
    }
    points
}

/// Calls `push` with the multi-indices of a triangle of degree `degree`: vertices, edges, then the
/// interior as a triangle of degree `degree - 3`.
fn push_triangle(degree: usize, push: &mut impl FnMut([u8; 3])) {
    let (mut p, mut shift) = (degree as u8, 0);
    loop {
        if p == 0 {
            push([shift; 3]);
            return;
        }
        for v in 0..3 {
            let mut a = [shift; 3];
            a[v] += p;
            push(a);
        }
        for edge in CellKind::Triangle.edges() {
            for k in 1..p {
                let mut a = [shift; 3];
                a[edge[0] as usize] += p - k;
                a[edge[1] as usize] += k;
                push(a);
            }
        }
        if p < 3 {
            return;
        }
        (p, shift) = (p - 3, shift + 1);
    }
}

/// The same on a tet: vertices, edges, faces (interiors as triangles), interior as a smaller tet.
fn push_tet(degree: usize, shift: u8, points: &mut Vec<LatticePoint>) {
    if degree == 0 {
        points.push([shift; 4]);
        return;
    }
    let p = degree as u8;
    for v in 0..4 {
        let mut a = [shift; 4];
        a[v] += p;
        points.push(a);
    }
    for edge in CellKind::Tet.edges() {
        for k in 1..p {
            let mut a = [shift; 4];
            a[edge[0] as usize] += p - k;
            a[edge[1] as usize] += k;
            points.push(a);
        }
    }
    if degree >= 3 {
        for side in 0..4 {
            let face = CellKind::Tet.side_vertices(side);
            push_triangle(degree - 3, &mut |b| {
                let mut a = [shift; 4];
                for i in 0..3 {
                    a[face[i] as usize] += b[i] + 1;
                }
                points.push(a);
            });
        }
    }
    if degree >= 4 {
        push_tet(degree - 4, shift + 1, points);
    }
}

/// Bit mask of the vertices of the smallest entity on which a lattice point lies: those with a
/// non-zero entry on a simplex, those that agree in every fixed coordinate on a tensor cell.
pub(super) fn support(kind: CellKind, degree: usize, point: LatticePoint) -> u8 {
    let on = |v: usize| {
        if kind.is_tensor() {
            (0..kind.dim()).all(|axis| match point[axis] as usize {
                0 => kind.vertices()[v][axis] == 0.0,
                i if i == degree => kind.vertices()[v][axis] == 1.0,
                _ => true,
            })
        } else {
            kind == CellKind::Point || point[v] > 0
        }
    };
    (0..kind.vertex_count())
        .filter(|&v| on(v))
        .fold(0, |mask, v| mask | 1 << v)
}

/// Position of a lattice point in the lattice of an entity given by local vertices: steps from the
/// first vertex along an edge; the multi-index on a triangle; on a quad the steps towards its
/// second and last vertex.
pub(super) fn local_position(
    kind: CellKind,
    degree: usize,
    vertices: &[u8],
    point: LatticePoint,
) -> [u8; 3] {
    if !kind.is_tensor() {
        let a = |i: usize| vertices.get(i).map_or(0, |&v| point[v as usize]);
        return match vertices.len() {
            2 => [a(1), 0, 0],
            3 => [a(0), a(1), a(2)],
            _ => [0; 3],
        };
    }
    let steps = |to: u8| {
        let from = kind.vertices()[vertices[0] as usize];
        let to = kind.vertices()[to as usize];
        (0..kind.dim())
            .map(|axis| match to[axis] - from[axis] {
                d if d > 0.0 => point[axis],
                d if d < 0.0 => degree as u8 - point[axis],
                _ => 0,
            })
            .sum()
    };
    match vertices.len() {
        2 => [steps(vertices[1]), 0, 0],
        4 => [steps(vertices[1]), steps(vertices[3]), 0],
        _ => [0; 3],
    }
}

/// The lattice point of a cell at `position` (as in [`local_position`]) on one of its sides.
pub(super) fn from_side(
    kind: CellKind,
    degree: usize,
    side: usize,
    position: LatticePoint,
) -> LatticePoint {
    let vertices = kind.side_vertices(side);
    let mut point = [0; 4];
    if !kind.is_tensor() {
        // A segment side counts steps; as barycentrics they are (p - i, i).
        let barycentric = match vertices.len() {
            2 => [degree as u8 - position[0], position[0], 0, 0],
            _ => position,
        };
        for (i, &v) in vertices.iter().enumerate() {
            point[v as usize] = barycentric[i];
        }
        return point;
    }
    let corner = |i: usize| kind.vertices()[vertices[i] as usize];
    let last = vertices.len() - 1;
    for axis in 0..kind.dim() {
        let mut steps = corner(0)[axis] * degree as f64;
        if vertices.len() >= 2 {
            steps += (corner(1)[axis] - corner(0)[axis]) * position[0] as f64;
        }
        if vertices.len() == 4 {
            steps += (corner(last)[axis] - corner(0)[axis]) * position[1] as f64;
        }
        point[axis] = steps as u8;
    }
    point
}
