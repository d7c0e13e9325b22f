//! Finding the sides of cells, and checking that they can have any.

use super::GeometryError;
use super::group::first_slots;
use crate::element::CellKind;

/// Side tables filled by whoever builds a topology.
#[derive(Default)]
pub(super) struct Sides {
    /// Cells × sides per cell.
    pub cell_sides: Vec<u32>,
    /// Sides × vertices per side.
    pub vertices: Vec<u32>,
    /// Inner and outer cell.
    pub cells: Vec<[u32; 2]>,
    /// Local side in inner and outer cell.
    pub locals: Vec<[u8; 2]>,
    /// Sides of each face, where a face can have several.
    pub faces: Option<FaceSides>,
}

/// The sides of each face of each cell.
pub(super) struct FaceSides {
    /// Where each face's sides begin: (cells × faces per cell) + 1.
    pub offsets: Vec<u32>,
    /// Ascending for each face.
    pub sides: Vec<u32>,
}

/// Checks that `count` cells of `kind` and `vertex_count` vertices can be numbered, with all
/// the (cell, local entity) pairs, by 32-bit indices.
pub(super) fn check_counts(
    kind: CellKind,
    vertex_count: u128,
    count: u128,
) -> Result<(), GeometryError> {
    let per_cell = kind
        .vertex_count()
        .max(kind.side_count())
        .max(kind.edges().len()) as u128;
    let limit = u32::MAX as u128;
    if vertex_count > limit {
        return Err(GeometryError::TooMany {
            what: "vertices",
            count: vertex_count,
            limit,
        });
    }
    if count > limit / per_cell {
        return Err(GeometryError::TooMany {
            what: "cells",
            count,
            limit: limit / per_cell,
        });
    }
    Ok(())
}

/// Checks an array of cells on its own.
pub(super) fn check_cells(
    kind: CellKind,
    vertex_count: usize,
    cells: &[u32],
) -> Result<(), GeometryError> {
    if kind == CellKind::Point {
        return Err(GeometryError::UnsupportedKind { kind });
    }
    let n = kind.vertex_count();
    if !cells.len().is_multiple_of(n) {
        return Err(GeometryError::Length {
            kind,
            length: cells.len(),
            per_cell: n,
        });
    }
    check_counts(kind, vertex_count as u128, (cells.len() / n) as u128)?;
    for (cell, vertices) in cells.chunks_exact(n).enumerate() {
        for (local, &index) in vertices.iter().enumerate() {
            if index as usize >= vertex_count {
                return Err(GeometryError::IndexOutOfRange {
                    cell,
                    local,
                    index,
                    limit: vertex_count,
                });
            }
            if let Some(earlier) = vertices[..local].iter().position(|&v| v == index) {
                return Err(GeometryError::RepeatedVertex {
                    cell,
                    vertex: index,
                    locals: [earlier, local],
                });
            }
        }
    }
    Ok(())
}

/// Finds the sides of valid cells.
pub(super) fn find_sides(
    kind: CellKind,
    vertex_count: usize,
    cells: &[u32],
) -> Result<Sides, GeometryError> {
    let first = match kind.side_kind().vertex_count() {
        1 => pair_sides::<0>(kind, vertex_count, cells),
        2 => pair_sides::<1>(kind, vertex_count, cells),
        3 => pair_sides::<2>(kind, vertex_count, cells),
        _ => pair_sides::<3>(kind, vertex_count, cells),
    }?;
    let (n, m) = (kind.vertex_count(), kind.side_count());
    let side_count = first
        .iter()
        .enumerate()
        .filter(|&(slot, &f)| slot == f as usize)
        .count();
    let k = kind.side_kind().vertex_count();
    let mut sides = Sides {
        cell_sides: vec![0; first.len()],
        vertices: Vec::with_capacity(side_count * k),
        cells: Vec::with_capacity(side_count),
        locals: Vec::with_capacity(side_count),
        faces: None,
    };
    for slot in 0..first.len() {
        let (cell, local) = (slot / m, slot % m);
        let table = kind.side_vertices(local);
        let vertices = table.iter().map(|&l| cells[cell * n + l as usize]);
        let found = first[slot] as usize;
        if found == slot {
            sides.cell_sides[slot] = sides.cells.len() as u32;
            sides.vertices.extend(vertices);
            sides.cells.push([cell as u32; 2]);
            sides.locals.push([local as u8; 2]);
            continue;
        }
        let side = sides.cell_sides[found];
        let s = side as usize;
        if k == 4 {
            let inner = &sides.vertices[s * 4..s * 4 + 4];
            let start = vertices.clone().position(|v| v == inner[0]).unwrap_or(0);
            if cells[cell * n + table[(start + 2) % 4] as usize] != inner[2] {
                return Err(GeometryError::TwistedSide {
                    vertices: inner.to_vec(),
                    cells: [sides.cells[s][0], cell as u32],
                });
            }
        }
        sides.cell_sides[slot] = side;
        sides.cells[s][1] = cell as u32;
        sides.locals[s][1] = local as u8;
    }
    Ok(sides)
}

/// For each (cell, local side) the first one with the same vertices. `N` is one less than the
/// number of vertices of a side.
fn pair_sides<const N: usize>(
    kind: CellKind,
    vertex_count: usize,
    cells: &[u32],
) -> Result<Vec<u32>, GeometryError> {
    let (n, m) = (kind.vertex_count(), kind.side_count());
    let tables: Vec<&[u8]> = (0..m).map(|s| kind.side_vertices(s)).collect();
    let key = |slot: usize| {
        let cell = slot / m * n;
        let mut v = [0u32; 4];
        for (i, &l) in tables[slot % m].iter().enumerate() {
            v[i] = cells[cell + l as usize];
        }
        v[..=N].sort_unstable();
        let mut rest = [0u32; N];
        rest.copy_from_slice(&v[1..=N]);
        (v[0], rest)
    };
    first_slots(vertex_count, cells.len() / n * m, 2, true, key).map_err(|slots| {
        let (cell, local) = (slots[0] as usize / m, slots[0] as usize % m);
        GeometryError::NonManifoldSide {
            vertices: tables[local]
                .iter()
                .map(|&l| cells[cell * n + l as usize])
                .collect(),
            cells: slots.iter().map(|&s| s / m as u32).collect(),
        }
    })
}
