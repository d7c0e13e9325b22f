//! Sides, vertices and tags of an adaptive grid.
//!
//! A side is a square on which one pair of cells touches, or a part of a cell's face on which
//! no cell touches it. Squares are found by cutting a face into quadrants until each has one
//! neighbour, or none.

use std::sync::Arc;

use rayon::prelude::*;

use super::cells::{Cells, distinct, volume};
use super::morton::{MAX, MIN, decode, encode};
use crate::element::CellKind;
use crate::geometry::lattice::side_names;
use crate::geometry::side_map::SideMap;
use crate::geometry::sides::{FaceSides, Sides};
use crate::geometry::{Tags, Topology};

/// Topology, and the lattice points of its vertices.
#[derive(Debug)]
pub struct Tables {
    pub topology: Arc<Topology>,
    /// Codes of the vertices: first those of cells, ascending, then those that only parts of
    /// boundary faces have, ascending.
    pub vertices: Vec<u64>,
}

/// A square part of face `face` of `cell`; `other` is the cell across, if any.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    cell: u32,
    other: Option<u32>,
    face: u8,
    level: u8,
    /// Lowest corner.
    origin: [i32; 3],
}

/// Corners of local side `face` with edge length `size` and lowest corner `origin`, in local
/// order.
fn corners(face: usize, origin: [i32; 3], size: i32) -> [[i32; 3]; 4] {
    let vertices = CellKind::Hex.side_vertices(face);
    std::array::from_fn(|i| {
        let at = CellKind::Hex.vertices()[vertices[i] as usize];
        std::array::from_fn(|d| match d == face / 2 {
            true => origin[d],
            false => origin[d] + size * at[d] as i32,
        })
    })
}

/// Appends the pieces of a square of face `face` of `cell`. `block` is the lowest voxel of the
/// block of the square's size across it.
fn pieces_of(
    cells: &Cells,
    cell: usize,
    face: usize,
    level: u8,
    block: [i32; 3],
    pieces: &mut Vec<Piece>,
) {
    let (axis, size) = (face / 2, 1 << level);
    let mut origin = block;
    // Across an upper face the square is the block's lower end, across a lower one its upper.
    if face & 1 == 0 {
        origin[axis] += size;
    }
    let piece = |other| Piece {
        cell: cell as u32,
        other,
        face: face as u8,
        level,
        origin,
    };
    if block[axis] < MIN || block[axis] >= MAX {
        pieces.push(piece(None));
        return;
    }
    let code = encode(block);
    if let Some(other) = cells.find_code(code)
        && cells.level(other) >= level
    {
        pieces.push(piece(Some(other as u32)));
        return;
    }
    if cells.rank(code + volume(level)) == cells.rank(code) {
        pieces.push(piece(None));
        return;
    }
    let (start, half) = (pieces.len(), size / 2);
    for quadrant in 0..4 {
        let mut part = block;
        if face & 1 == 0 {
            part[axis] += half;
        }
        part[(axis + 1) % 3] += half * (quadrant / 2);
        part[(axis + 2) % 3] += half * (quadrant % 2);
        pieces_of(cells, cell, face, level - 1, part, pieces);
    }
    // The cells of the block may all lie away from the square.
    if pieces[start..].iter().all(|p| p.other.is_none()) {
        pieces.truncate(start);
        pieces.push(piece(None));
    }
}

/// All sides in order: by cell, local face and quadrant, an interior side at the smaller cell
/// number.
fn pieces(cells: &Cells) -> Vec<Piece> {
    const CHUNK: usize = 1024;
    let chunks = cells.len().div_ceil(CHUNK);
    let found: Vec<Vec<Piece>> = (0..chunks)
        .into_par_iter()
        .map(|chunk| {
            let mut found = Vec::with_capacity(4 * CHUNK);
            for cell in chunk * CHUNK..cells.len().min((chunk + 1) * CHUNK) {
                for face in 0..6 {
                    let (mut block, size) = (cells.origin(cell), cells.size(cell));
                    block[face / 2] += if face & 1 == 0 { -size } else { size };
                    let start = found.len();
                    pieces_of(cells, cell, face, cells.level(cell), block, &mut found);
                    let mut kept = start;
                    for i in start..found.len() {
                        if found[i].other.is_none_or(|other| other > cell as u32) {
                            found[kept] = found[i];
                            kept += 1;
                        }
                    }
                    found.truncate(kept);
                }
            }
            found
        })
        .collect();
    found.concat()
}

impl Tables {
    pub fn build(cells: &Cells) -> Tables {
        let hex = CellKind::Hex;
        let corner_keys: Vec<u64> = (0..cells.len())
            .into_par_iter()
            .with_min_len(1024)
            .flat_map_iter(|cell| {
                let (origin, size) = (cells.origin(cell), cells.size(cell));
                hex.vertices()
                    .iter()
                    .map(move |v| encode(std::array::from_fn(|d| origin[d] + size * v[d] as i32)))
            })
            .collect();
        let (mut vertices, cell_vertices) = distinct(corner_keys);
        let own = vertices.len();
        let pieces = pieces(cells);

        // Local side of the inner cell, whose vertex order the side has.
        let inner_face = |piece: &Piece| match piece.other {
            Some(_) => usize::from(piece.face | 1),
            None => piece.face.into(),
        };
        let side_keys: Vec<u64> = pieces
            .par_iter()
            .with_min_len(1024)
            .flat_map_iter(|piece| {
                corners(inner_face(piece), piece.origin, 1 << piece.level).map(encode)
            })
            .collect();
        let mut extra: Vec<u64> = Vec::new();
        for (piece, keys) in pieces.iter().zip(side_keys.chunks_exact(4)) {
            if piece.other.is_none() && piece.level < cells.level(piece.cell as usize) {
                extra.extend(keys.iter().filter(|k| vertices.binary_search(k).is_err()));
            }
        }
        extra.sort_unstable();
        extra.dedup();
        let place = |key: &u64| match vertices.binary_search(key) {
            Ok(at) => at as u32,
            Err(_) => (own + extra.partition_point(|other| other < key)) as u32,
        };
        let side_vertices = side_keys.par_iter().with_min_len(1024).map(place).collect();

        let mut sides = Sides {
            cell_sides: vec![u32::MAX; 6 * cells.len()],
            vertices: side_vertices,
            cells: Vec::with_capacity(pieces.len()),
            locals: Vec::with_capacity(pieces.len()),
            faces: None,
        };
        let mut slots = Vec::with_capacity(2 * pieces.len());
        for (side, piece) in pieces.iter().enumerate() {
            let (cell, face) = (piece.cell, piece.face);
            let (both, locals) = match piece.other {
                None => ([cell; 2], [face; 2]),
                // The inner cell is the one before the side along the axis.
                Some(other) if face & 1 == 0 => ([other, cell], [face | 1, face]),
                Some(other) => ([cell, other], [face, face & !1]),
            };
            sides.cells.push(both);
            sides.locals.push(locals);
            let count = if piece.other.is_none() { 1 } else { 2 };
            for k in 0..count {
                let slot = 6 * both[k] as usize + usize::from(locals[k]);
                slots.push(slot);
                let first = &mut sides.cell_sides[slot];
                *first = (*first).min(side as u32);
            }
        }
        // Sides of each face, ascending: a counting sort that goes over the sides in order.
        let mut offsets = vec![0u32; 6 * cells.len() + 1];
        for &slot in &slots {
            offsets[slot + 1] += 1;
        }
        let split = offsets.iter().any(|&n| n > 1);
        if split {
            for slot in 0..6 * cells.len() {
                offsets[slot + 1] += offsets[slot];
            }
            let mut next = offsets.clone();
            let mut list = vec![0u32; slots.len()];
            let mut entries = slots.iter();
            for (side, piece) in pieces.iter().enumerate() {
                let count = if piece.other.is_none() { 1 } else { 2 };
                for &slot in entries.by_ref().take(count) {
                    list[next[slot] as usize] = side as u32;
                    next[slot] += 1;
                }
            }
            sides.faces = Some(FaceSides {
                offsets,
                sides: list,
            });
        }
        vertices.extend(extra);
        let topology = Topology::from_sides(hex, vertices.len(), cell_vertices, sides);
        Tables {
            topology: Arc::new(topology),
            vertices,
        }
    }

    /// How both cells see a side: by its corners, whichever part of their faces it is.
    pub fn side_maps(&self, cells: &Cells, side: usize) -> [SideMap; 2] {
        let vertices = self.topology.side_vertices(side);
        let corner = |i: usize| decode(self.vertices[vertices[i] as usize]);
        let [start, along_s, along_t] = [corner(0), corner(1), corner(3)];
        self.topology.side_cells(side).map(|cell| {
            let origin = cells.origin(cell as usize);
            // Dyadic numbers: nothing here rounds.
            let scale = 1.0 / f64::from(cells.size(cell as usize));
            let between = |a: [i32; 3], b: [i32; 3]| -> [f64; 3] {
                std::array::from_fn(|d| f64::from(b[d] - a[d]) * scale)
            };
            SideMap {
                origin: between(origin, start),
                axes: [between(start, along_s), between(start, along_t)],
            }
        })
    }

    /// Boundary sides on the planes of the box around all cells, named as in a grid.
    pub fn tags(&self, bounds: [[i32; 3]; 2]) -> Tags {
        let mut groups: [Vec<u32>; 6] = Default::default();
        for &side in self.topology.boundary_sides() {
            let face = usize::from(self.topology.side_locals(side as usize)[0]);
            let vertex = self.topology.side_vertices(side as usize)[0];
            let plane = decode(self.vertices[vertex as usize])[face / 2];
            if plane == bounds[face % 2][face / 2] {
                groups[face].push(side);
            }
        }
        let mut tags = Tags::new();
        for (name, group) in side_names(3).iter().flatten().zip(groups) {
            tags.insert_sides(*name, group);
        }
        tags
    }
}
