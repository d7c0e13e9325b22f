//! Named groups of cells, sides and vertices.

use std::collections::BTreeMap;

use super::{GeometryError, Topology};

/// Groups of cells, sides and vertices by name; each group is sorted and without duplicates.
///
/// The three kinds have separate names: a cell tag and a side tag may share one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    cells: BTreeMap<String, Vec<u32>>,
    sides: BTreeMap<String, Vec<u32>>,
    vertices: BTreeMap<String, Vec<u32>>,
}

fn insert(groups: &mut BTreeMap<String, Vec<u32>>, name: String, mut items: Vec<u32>) {
    let group = groups.entry(name).or_default();
    group.append(&mut items);
    group.sort_unstable();
    group.dedup();
}

fn check(
    groups: &BTreeMap<String, Vec<u32>>,
    entity: &'static str,
    limit: usize,
) -> Result<(), GeometryError> {
    for (name, items) in groups {
        if name.is_empty() {
            return Err(GeometryError::TagName { entity });
        }
        if let Some(&index) = items.iter().find(|&&i| i as usize >= limit) {
            return Err(GeometryError::TagIndex {
                entity,
                tag: name.clone(),
                index,
                limit,
            });
        }
    }
    Ok(())
}

impl Tags {
    /// No tags.
    pub fn new() -> Tags {
        Tags::default()
    }

    /// Adds cells to the cell tag `name`, making it if it is new.
    pub fn insert_cells(&mut self, name: impl Into<String>, cells: Vec<u32>) {
        insert(&mut self.cells, name.into(), cells);
    }

    /// Adds sides to the side tag `name`, making it if it is new.
    pub fn insert_sides(&mut self, name: impl Into<String>, sides: Vec<u32>) {
        insert(&mut self.sides, name.into(), sides);
    }

    /// Adds vertices to the vertex tag `name`, making it if it is new.
    pub fn insert_vertices(&mut self, name: impl Into<String>, vertices: Vec<u32>) {
        insert(&mut self.vertices, name.into(), vertices);
    }

    /// Cells of the tag `name`, ascending; `None` if there is no such tag.
    pub fn cells(&self, name: &str) -> Option<&[u32]> {
        self.cells.get(name).map(Vec::as_slice)
    }

    /// Sides of the tag `name`, ascending; `None` if there is no such tag.
    pub fn sides(&self, name: &str) -> Option<&[u32]> {
        self.sides.get(name).map(Vec::as_slice)
    }

    /// Vertices of the tag `name`, ascending; `None` if there is no such tag.
    pub fn vertices(&self, name: &str) -> Option<&[u32]> {
        self.vertices.get(name).map(Vec::as_slice)
    }

    /// Names of the cell tags, in alphabetical order.
    pub fn cell_names(&self) -> impl Iterator<Item = &str> {
        self.cells.keys().map(String::as_str)
    }

    /// Names of the side tags, in alphabetical order.
    pub fn side_names(&self) -> impl Iterator<Item = &str> {
        self.sides.keys().map(String::as_str)
    }

    /// Names of the vertex tags, in alphabetical order.
    pub fn vertex_names(&self) -> impl Iterator<Item = &str> {
        self.vertices.keys().map(String::as_str)
    }

    /// Whether there is no tag at all.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.sides.is_empty() && self.vertices.is_empty()
    }

    /// Checks that the names are not empty and all entities exist in `topology`.
    ///
    /// # Errors
    /// [`GeometryError::TagName`], [`GeometryError::TagIndex`].
    pub fn check(&self, topology: &Topology) -> Result<(), GeometryError> {
        check(&self.cells, "cell", topology.cell_count())?;
        check(&self.sides, "side", topology.side_count())?;
        check(&self.vertices, "vertex", topology.vertex_count())
    }
}
