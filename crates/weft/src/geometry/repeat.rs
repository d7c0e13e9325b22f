//! Tables of several copies of one geometry side by side: entity `e` of copy `k` has number
//! `k × count + e`.

use std::sync::Arc;

use super::sides::{FaceSides, Sides, check_counts};
use super::{GeometryError, GeometryMap, Tags, Topology};

fn shifted(items: &[u32], copies: usize, step: usize) -> Vec<u32> {
    let mut all = Vec::with_capacity(items.len() * copies);
    for k in 0..copies {
        let shift = (k * step) as u32;
        all.extend(items.iter().map(|i| i + shift));
    }
    all
}

impl Topology {
    /// `copies` copies that share nothing.
    pub(crate) fn repeated(&self, copies: usize) -> Result<Topology, GeometryError> {
        let kind = self.cell_kind();
        let [vertices, cells, sides] =
            [self.vertex_count(), self.cell_count(), self.side_count()].map(|n| n as u128);
        let times = |n: u128| n.saturating_mul(copies as u128);
        check_counts(kind, times(vertices), times(cells))?;
        let limit = u32::MAX as u128;
        if times(sides) > limit {
            return Err(GeometryError::TooMany {
                what: "sides",
                count: times(sides),
                limit,
            });
        }
        let cell_sides: Vec<u32> = (0..self.cell_count())
            .flat_map(|c| self.cell_sides(c))
            .copied()
            .collect();
        let side_vertices: Vec<u32> = (0..self.side_count())
            .flat_map(|s| self.side_vertices(s))
            .copied()
            .collect();
        let mut side_cells = Vec::with_capacity(self.side_count() * copies);
        let mut locals = Vec::with_capacity(self.side_count() * copies);
        for k in 0..copies {
            let shift = (k * self.cell_count()) as u32;
            for s in 0..self.side_count() {
                side_cells.push(self.side_cells(s).map(|c| c + shift));
                locals.push(self.side_locals(s));
            }
        }
        let sides = Sides {
            cell_sides: shifted(&cell_sides, copies, self.side_count()),
            vertices: shifted(&side_vertices, copies, self.vertex_count()),
            cells: side_cells,
            locals,
            faces: self
                .faces
                .as_ref()
                .map(|f| f.repeated(copies, self.side_count())),
        };
        let cells = shifted(self.cells(), copies, self.vertex_count());
        let vertex_count = self.vertex_count() * copies;
        Ok(Topology::from_sides(kind, vertex_count, cells, sides))
    }
}

impl FaceSides {
    fn repeated(&self, copies: usize, side_count: usize) -> FaceSides {
        let faces = self.offsets.len() - 1;
        let mut offsets = shifted(&self.offsets[..faces], copies, self.sides.len());
        offsets.push((copies * self.sides.len()) as u32);
        FaceSides {
            offsets,
            sides: shifted(&self.sides, copies, side_count),
        }
    }
}

impl GeometryMap {
    /// One copy for each offset, moved by it.
    pub(crate) fn repeated(&self, offsets: &[[f64; 3]]) -> Result<GeometryMap, GeometryError> {
        let count = self.nodes.len() as u128 * offsets.len() as u128;
        let limit = u32::MAX as u128;
        if count > limit {
            return Err(GeometryError::TooMany {
                what: "geometry nodes",
                count,
                limit,
            });
        }
        let moved = |offset: &[f64; 3]| {
            let offset = *offset;
            self.nodes
                .iter()
                .map(move |x| std::array::from_fn(|d| x[d] + offset[d]))
        };
        let copies = offsets.len();
        let shift = |items: &[u32]| Arc::new(shifted(items, copies, self.nodes.len()));
        Ok(GeometryMap {
            degree: self.degree,
            nodes: offsets.iter().flat_map(moved).collect(),
            cell_nodes: shift(&self.cell_nodes),
            vertex_nodes: self.vertex_nodes.as_ref().map(|nodes| shift(nodes)),
        })
    }
}

impl Tags {
    /// The same names for all copies of `base`.
    pub(crate) fn repeated(&self, base: &Topology, copies: usize) -> Tags {
        let mut all = Tags::new();
        for name in self.cell_names() {
            let items = self.cells(name).unwrap_or_default();
            all.insert_cells(name, shifted(items, copies, base.cell_count()));
        }
        for name in self.side_names() {
            let items = self.sides(name).unwrap_or_default();
            all.insert_sides(name, shifted(items, copies, base.side_count()));
        }
        for name in self.vertex_names() {
            let items = self.vertices(name).unwrap_or_default();
            all.insert_vertices(name, shifted(items, copies, base.vertex_count()));
        }
        all
    }
}
