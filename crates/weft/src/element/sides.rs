//! From the coordinates of a side to those of a cell.

use super::CellKind;

/// Maps points on a side to the reference coordinates of a cell of which it is a side.
///
/// `side_vertices` are local vertices of the cell, in the order that defines the side's own
/// coordinates `(s, t)`: one vertex, the point itself; two, `v0 + s (v1 - v0)`; three,
/// `v0 + s (v1 - v0) + t (v2 - v0)`; four in cyclic order, bilinear with `v0` at `(0, 0)`, `v1` at
/// `(1, 0)`, `v2` at `(1, 1)`, `v3` at `(0, 1)`. Two cells that share a side list the same global
/// vertices and so reach the same physical points.
///
/// # Panics
/// If `side_vertices` is empty or names a vertex that the cell lacks.
pub fn map_to_cell(
    kind: CellKind,
    side_vertices: &[u8],
    side_points: &[[f64; 3]],
) -> Vec<[f64; 3]> {
    let corner = |i: usize| kind.vertices()[side_vertices[i] as usize];
    let mut weights = [0.0; 4];
    side_points
        .iter()
        .map(|&[s, t, _]| {
            match side_vertices.len() {
                1 => weights[0] = 1.0,
                2 => weights[..2].copy_from_slice(&[1.0 - s, s]),
                3 => weights[..3].copy_from_slice(&[1.0 - s - t, s, t]),
                _ => weights = [(1.0 - s) * (1.0 - t), s * (1.0 - t), s * t, (1.0 - s) * t],
            }
            let mut x = [0.0; 3];
            for (i, weight) in weights.iter().enumerate().take(side_vertices.len()) {
                for d in 0..3 {
                    x[d] += weight * corner(i)[d];
                }
            }
            x
        })
        .collect()
}
