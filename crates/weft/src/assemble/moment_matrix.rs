//! From values at points to the degrees of freedom of H(curl) and H(div) spaces, as a matrix.

use super::error::AssembleError;
use super::samples::domain;
use crate::geometry::frames_at;
use crate::space::{Space, VectorBasis};
use crate::sparse::BlockMatrix;

/// The degrees of freedom of `space` from values at the [moment
/// points](crate::element::VectorElement::moment_points) of all cells: a row for each degree of freedom, a
/// column for each point of the first cell, then of the second, in blocks of one row and as many columns
/// as space has axes. A degree of freedom that cells share takes the smallest cell.
pub(super) fn moment_matrix(
    space: &Space,
    basis: &VectorBasis,
) -> Result<BlockMatrix, AssembleError> {
    let (geometry, element) = (space.geometry(), basis.element());
    let dim = geometry.space_dim();
    let points = element.moment_points();
    let frames = frames_at(&**geometry, &points);
    let count = element.function_count();
    // What each axis of the value at each point gives the moments of the reference cell.
    let mut reference = vec![0.0; points.len() * dim * count];
    let mut unit = vec![[0.0; 3]; points.len()];
    for (k, moments) in reference.chunks_exact_mut(count).enumerate() {
        unit[k / dim][k % dim] = 1.0;
        element.moments(&unit, moments);
        unit[k / dim][k % dim] = 0.0;
    }
    let cells = space.topology().cell_count();
    let mut known = vec![false; space.dof_count()];
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut block = vec![0.0; dim * count];
    for cell in 0..cells {
        let nodes = space.cell_nodes(cell);
        let new: Vec<bool> = nodes.iter().map(|&n| !known[n as usize]).collect();
        for q in 0..points.len() {
            let pull = frames(cell, q).pull(element.piola(), dim);
            let own = &reference[q * dim * count..][..dim * count];
            for (c, dofs) in block.chunks_exact_mut(count).enumerate() {
                for (i, dof) in dofs.iter_mut().enumerate() {
                    *dof = (0..dim).map(|a| own[a * count + i] * pull[a][c]).sum();
                }
                basis.to_shared(cell, dofs);
            }
            for (i, &node) in nodes.iter().enumerate().filter(|(i, _)| new[*i]) {
                let entries = (0..dim).map(|c| block[c * count + i]);
                if entries.clone().all(|v| v == 0.0) {
                    continue;
                }
                rows.push(node);
                columns.push((cell * points.len() + q) as u32);
                values.extend(entries);
            }
        }
        for &node in nodes {
            known[node as usize] = true;
        }
    }
    let size = [space.dof_count(), cells * points.len()];
    BlockMatrix::from_triplets(size[0], size[1], [1, dim], &rows, &columns, &values)
        .map_err(|e| domain(e.to_string()))
}
