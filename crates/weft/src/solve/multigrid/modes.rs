//! Near-null vectors of elasticity.

use crate::solve::SolveError;

/// The rigid motions of a body with nodes at these positions: `dim` translations, then infinitesimal rotations
/// about the centre of the nodes, one in the plane and three in space.
///
/// Each vector has `dim` numbers for every node, node by node; rotations are in the unit of the positions and
/// turn x to y, y to z and z to x. Elastic energy of small strains vanishes for these and no other fields.
///
/// # Errors
/// If `dim` isn't 1, 2 or 3, or a position isn't finite.
pub fn rigid_body_modes(dim: usize, positions: &[[f64; 3]]) -> Result<Vec<Vec<f64>>, SolveError> {
    let planes: &[[usize; 2]] = match dim {
        1 => &[],
        2 => &[[0, 1]],
        3 => &[[0, 1], [1, 2], [2, 0]],
        _ => {
            return Err(SolveError::Option {
                name: "dim",
                value: dim as f64,
                accepted: "rigid motions are known in 1, 2 and 3 dimensions",
            });
        }
    };
    for (node, x) in positions.iter().enumerate() {
        if let Some(value) = x[..dim].iter().find(|v| !v.is_finite()) {
            return Err(SolveError::NonFinite {
                what: "the list of positions",
                index: node,
                value: *value,
            });
        }
    }
    let count = positions.len().max(1) as f64;
    let centre: [f64; 3] = std::array::from_fn(|d| positions.iter().map(|x| x[d] / count).sum());
    let mut modes = vec![vec![0.0; dim * positions.len()]; dim + planes.len()];
    for (node, x) in positions.iter().enumerate() {
        for d in 0..dim {
            modes[d][node * dim + d] = 1.0;
        }
        for (mode, &[p, q]) in modes[dim..].iter_mut().zip(planes) {
            mode[node * dim + p] = centre[q] - x[q];
            mode[node * dim + q] = x[p] - centre[p];
        }
    }
    Ok(modes)
}
