//! Vertices, sides and positions of a voxel grid, made when first asked for.

use std::sync::Arc;

use rayon::prelude::*;

use super::cells::VoxelCells;
use super::leaf::{LeafSet, bit_of, bits, corner, neighbour, point};
use crate::element::CellKind;
use crate::geometry::once::once;
use crate::geometry::sides::Sides;
use crate::geometry::{GeometryMap, Tags, Topology};

/// Tables of the entities of a voxel grid.
#[derive(Debug)]
pub(super) struct Tables {
    pub topology: Arc<Topology>,
    pub vertices: LeafSet,
    /// First side across each axis, and the number of sides.
    pub side_start: [usize; 4],
}

const NONE: u32 = u32::MAX;

/// Vertices of a hex as steps from its lowest one.
fn corners() -> [[i32; 3]; 8] {
    std::array::from_fn(|v| CellKind::Hex.vertices()[v].map(|c| c as i32))
}

/// The index in `set` of each point that a leaf's points are moved to by `steps` (0 or 1 along
/// each axis): the leaf's own point set is `from`, and all moved points must be in `set`.
struct Reach<'s> {
    set: &'s LeafSet,
    leaves: [usize; 8],
}

impl Reach<'_> {
    fn new(set: &LeafSet, key: u64) -> Reach<'_> {
        let leaves = std::array::from_fn(|n| {
            let step = [n >> 2 & 1, n >> 1 & 1, n & 1].map(|s| s as i32);
            set.find_leaf(neighbour(key, step)).unwrap_or(usize::MAX)
        });
        Reach { set, leaves }
    }

    /// Index of the point at `local` coordinates (0 to 8) from the leaf's lowest point.
    #[inline]
    fn index(&self, local: [i32; 3]) -> Option<u32> {
        let next = local.map(|c| (c >> 3) as usize);
        let leaf = self.leaves[next[0] << 2 | next[1] << 1 | next[2]];
        if leaf == usize::MAX {
            return None;
        }
        self.set.rank(leaf, bit_of(local))
    }
}

impl Tables {
    fn new(cells: &VoxelCells) -> Tables {
        let set = &cells.set;
        let mut vertices = set.grown(2, false);
        for axis in [1, 0] {
            vertices = vertices.grown(axis, false);
        }
        let sides: [LeafSet; 3] = std::array::from_fn(|axis| set.grown(axis, false));
        let mut side_start = [0; 4];
        for axis in 0..3 {
            side_start[axis + 1] = side_start[axis] + sides[axis].count();
        }

        let corners = corners();
        let mut cell_vertices = vec![0u32; 8 * set.count()];
        set.for_leaves(8, &mut cell_vertices, &|leaf, part| {
            let reach = Reach::new(&vertices, set.keys()[leaf]);
            for (cell, bit) in part.chunks_exact_mut(8).zip(bits(set.mask(leaf))) {
                let at = point([0; 3], bit);
                for (to, corner) in cell.iter_mut().zip(corners) {
                    let local = std::array::from_fn(|d| at[d] + corner[d]);
                    // Present, as the vertices are the cells grown along each axis.
                    *to = reach.index(local).unwrap_or(NONE);
                }
            }
        });

        let mut cell_sides = vec![0u32; 6 * set.count()];
        set.for_leaves(6, &mut cell_sides, &|leaf, part| {
            let reach: [Reach; 3] =
                std::array::from_fn(|axis| Reach::new(&sides[axis], set.keys()[leaf]));
            for (cell, bit) in part.chunks_exact_mut(6).zip(bits(set.mask(leaf))) {
                for (local, to) in cell.iter_mut().enumerate() {
                    let axis = local / 2;
                    let mut at = point([0; 3], bit);
                    at[axis] += (local % 2) as i32;
                    let side = reach[axis].index(at).unwrap_or(NONE);
                    *to = side_start[axis] as u32 + side;
                }
            }
        });

        // Cells before and behind each side, or none.
        let mut both = vec![[NONE; 2]; side_start[3]];
        for axis in 0..3 {
            let part = &mut both[side_start[axis]..side_start[axis + 1]];
            sides[axis].for_leaves(1, part, &|leaf, part| {
                let key = sides[axis].keys()[leaf];
                let mut step = [0; 3];
                step[axis] = -1;
                let (here, before) = (set.find_leaf(key), set.find_leaf(neighbour(key, step)));
                for (to, bit) in part.iter_mut().zip(bits(sides[axis].mask(leaf))) {
                    let mut at = point([0; 3], bit);
                    let upper = here.and_then(|leaf| set.rank(leaf, bit_of(at)));
                    at[axis] -= 1;
                    let leaf = if at[axis] < 0 { before } else { here };
                    let lower = leaf.and_then(|leaf| set.rank(leaf, bit_of(at)));
                    *to = [lower, upper].map(|cell| cell.unwrap_or(NONE));
                }
            });
        }
        let axis_of = |side: usize| (side >= side_start[1]) as u8 + (side >= side_start[2]) as u8;
        let locals: Vec<[u8; 2]> = both
            .par_iter()
            .enumerate()
            .map(|(side, &[lower, upper])| {
                let low = 2 * axis_of(side);
                match (lower, upper) {
                    (NONE, _) => [low; 2],
                    (_, NONE) => [low + 1; 2],
                    _ => [low + 1, low],
                }
            })
            .collect();
        both.par_iter_mut().for_each(|pair| match *pair {
            [NONE, upper] => pair[0] = upper,
            [lower, NONE] => pair[1] = lower,
            _ => {}
        });
        let mut side_vertices = vec![0u32; 4 * both.len()];
        side_vertices
            .par_chunks_exact_mut(4)
            .enumerate()
            .for_each(|(side, to)| {
                let cell = &cell_vertices[8 * both[side][0] as usize..][..8];
                let table = CellKind::Hex.side_vertices(locals[side][0] as usize);
                to.iter_mut()
                    .zip(table)
                    .for_each(|(t, &l)| *t = cell[l as usize]);
            });
        let found = Sides {
            cell_sides,
            vertices: side_vertices,
            cells: both,
            locals,
            faces: None,
        };
        let topology = Topology::from_sides(CellKind::Hex, vertices.count(), cell_vertices, found);
        Tables {
            topology: Arc::new(topology),
            vertices,
            side_start,
        }
    }
}

impl VoxelCells {
    pub(super) fn tables(&self) -> &Arc<Tables> {
        once(&self.tables, || Arc::new(Tables::new(self)))
    }

    pub(super) fn geometry_map(&self) -> &Arc<GeometryMap> {
        once(&self.positions, || Arc::new(self.find_positions()))
    }

    fn find_positions(&self) -> GeometryMap {
        let tables = self.tables();
        let set = &tables.vertices;
        let mut nodes = vec![[0.0; 3]; set.count()];
        set.for_leaves(1, &mut nodes, &|leaf, part| {
            let base = corner(set.keys()[leaf]);
            for (to, bit) in part.iter_mut().zip(bits(set.mask(leaf))) {
                *to = self.vertex_position(point(base, bit));
            }
        });
        // Lattice order within the cell: last axis fastest.
        let place = corners().map(|[x, y, z]| (x << 2 | y << 1 | z) as usize);
        let cells = tables.topology.cells();
        let mut cell_nodes = vec![0u32; cells.len()];
        cell_nodes
            .par_chunks_exact_mut(8)
            .zip(cells.par_chunks_exact(8))
            .for_each(|(to, from)| (0..8).for_each(|v| to[place[v]] = from[v]));
        GeometryMap {
            degree: 1,
            nodes,
            cell_nodes: Arc::new(cell_nodes),
            vertex_nodes: None,
        }
    }

    fn vertex_position(&self, vertex: [i32; 3]) -> [f64; 3] {
        let shift = self.environments.shift_at(vertex);
        self.map
            .position(std::array::from_fn(|d| (vertex[d] - shift[d]) as f64))
    }

    pub(super) fn direction_tags(&self) -> &Arc<Tags> {
        once(&self.tags, || Arc::new(self.find_tags()))
    }

    fn find_tags(&self) -> Tags {
        let topology = &self.tables().topology;
        let mut facing: [Vec<u32>; 6] = Default::default();
        for &side in topology.boundary_sides() {
            facing[topology.side_locals(side as usize)[0] as usize].push(side);
        }
        let mut tags = Tags::new();
        let names = crate::geometry::lattice::side_names(3).as_flattened();
        for (name, sides) in names.iter().zip(facing) {
            tags.insert_sides(*name, sides);
        }
        tags
    }

    /// The vertex at lattice coordinates, if a cell has it. Makes the topology.
    pub fn find_vertex(&self, vertex: [i32; 3]) -> Option<usize> {
        let inside = vertex
            .iter()
            .all(|c| (-Self::LIMIT..=Self::LIMIT).contains(c));
        if !inside {
            return None;
        }
        self.tables().vertices.find(vertex).map(|v| v as usize)
    }

    /// Lattice coordinates of all vertices. Makes the topology.
    pub fn vertex_coordinates(&self) -> Vec<[i32; 3]> {
        let set = &self.tables().vertices;
        let mut all = vec![[0; 3]; set.count()];
        set.for_leaves(1, &mut all, &|leaf, part| {
            let base = corner(set.keys()[leaf]);
            for (to, bit) in part.iter_mut().zip(bits(set.mask(leaf))) {
                *to = point(base, bit);
            }
        });
        all
    }

    /// The lattice axis a side lies across. Makes the topology.
    ///
    /// # Panics
    /// If there is no such side.
    pub fn side_axis(&self, side: usize) -> usize {
        let start = &self.tables().side_start;
        assert!(side < start[3], "there are {} sides", start[3]);
        (side >= start[1]) as usize + (side >= start[2]) as usize
    }

    /// Whether the cell before a side (lower along its axis) and the one behind it are missing.
    /// Makes the topology.
    ///
    /// # Panics
    /// If there is no such side.
    pub fn side_missing(&self, side: usize) -> [bool; 2] {
        let topology = &self.tables().topology;
        let boundary = topology.is_boundary(side);
        let upper_end = topology.side_locals(side)[0] % 2 == 1;
        [boundary && !upper_end, boundary && upper_end]
    }
}
