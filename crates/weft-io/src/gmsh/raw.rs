//! From the sections of a file to a mesh of one cell kind with named groups.

use std::collections::BTreeMap;

use weft::element::CellKind;

use super::elements::Span;
use super::error::GmshError;
use super::kinds::{self, ElementType, Shape};
use super::sections::{self, File};

/// What a Gmsh file says, in arrays.
///
/// Groups are physical groups; one without a name is called `group_<dimension>_<tag>`. Groups
/// of one name and one role are united; groups without elements are left out, so that asking
/// for them is an error and not a silent zero.
#[derive(Clone, Debug, PartialEq)]
pub struct RawMesh {
    /// Kind of every cell: the elements of highest dimension.
    pub kind: CellKind,
    /// 1 or 2.
    pub degree: usize,
    /// Length of the vectors in which the mesh lives: 2 for triangles and quads in the plane
    /// z = 0; for segments the number of coordinates up to the last that isn't 0 everywhere;
    /// else 3.
    pub space_dim: usize,
    /// The nodes of cells in file order: first the vertices, then the nodes on edges, faces and
    /// in cells.
    pub points: Vec<[f64; 3]>,
    /// How many points are vertices.
    pub vertex_count: usize,
    /// Points of each cell. Degree 1: in the vertex order of the kind; degree 2: in Lagrange
    /// numbering.
    pub cell_nodes: Vec<u32>,
    /// Sorted cell numbers by group.
    pub cell_groups: BTreeMap<String, Vec<u32>>,
    /// Vertices of each tagged side, so many as the side kind has, by group.
    pub side_groups: BTreeMap<String, Vec<u32>>,
    /// Tag in the file of each tagged side, by group.
    pub side_tags: BTreeMap<String, Vec<u64>>,
    /// Sorted vertices by group: groups of dimension below that of sides.
    pub vertex_groups: BTreeMap<String, Vec<u32>>,
}

impl RawMesh {
    /// Reads the bytes of an MSH file of version 2.2 or 4.1.
    ///
    /// # Errors
    /// See [`GmshError`]; every error says where in the file it is.
    pub fn parse(data: &[u8]) -> Result<RawMesh, GmshError> {
        build(sections::read(data)?)
    }

    /// Number of nodes of each cell.
    pub fn nodes_per_cell(&self) -> usize {
        node_count(self.kind, self.degree)
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.cell_nodes.len() / self.nodes_per_cell()
    }
}

fn node_count(kind: CellKind, degree: usize) -> usize {
    if degree == 1 {
        kind.vertex_count()
    } else {
        kinds::second_order(kind).len()
    }
}

/// The one element type of highest dimension.
fn cell_type(file: &File) -> Result<(usize, CellKind, usize), GmshError> {
    let elements = &file.elements;
    let dim = elements
        .used()
        .map(|(_, t)| t.shape.dim())
        .max()
        .unwrap_or(0);
    if dim == 0 {
        return Err(GmshError::NoCells);
    }
    let tops: Vec<(usize, &ElementType)> = elements
        .used()
        .filter(|(_, t)| t.shape.dim() == dim)
        .collect();
    if tops.len() > 1 {
        let counts: Vec<String> = tops
            .iter()
            .map(|&(slot, t)| format!("{} {}", elements.len(slot), t.name))
            .collect();
        return Err(GmshError::MixedCells {
            counts: counts.join(", "),
        });
    }
    let (slot, top) = tops[0];
    match (top.shape, top.degree) {
        (Shape::Cell(kind), Some(degree)) => Ok((slot, kind, degree)),
        _ => Err(GmshError::UnsupportedCells {
            name: top.name,
            count: elements.len(slot),
            element: elements.stores[slot].tags[0],
        }),
    }
}

const UNUSED: u32 = u32::MAX;

fn build(mut file: File) -> Result<RawMesh, GmshError> {
    let (slot, kind, degree) = cell_type(&file)?;
    let per_cell = node_count(kind, degree);
    let vertices = kind.vertex_count();
    let mut cell_nodes = std::mem::take(&mut file.elements.stores[slot].nodes);

    // Renumber: vertices first, then the other nodes that cells use, each in file order.
    let mut number = vec![UNUSED; file.nodes.points.len()];
    for cell in cell_nodes.chunks_exact(per_cell) {
        for (i, &node) in cell.iter().enumerate() {
            let role = &mut number[node as usize];
            *role = (*role).min(u32::from(i >= vertices));
        }
    }
    let mut points = Vec::with_capacity(number.iter().filter(|&&r| r != UNUSED).count());
    let roles = number.clone();
    let mut vertex_count = 0;
    for role in 0..=1 {
        for (node, _) in roles.iter().enumerate().filter(|&(_, &r)| r == role) {
            number[node] = points.len() as u32;
            points.push(file.nodes.points[node]);
        }
        if role == 0 {
            vertex_count = points.len();
        }
    }
    drop(roles);
    file.nodes.points = Vec::new();

    let order = if degree == 2 {
        kinds::second_order(kind)
    } else {
        &[]
    };
    let mut from = vec![0; per_cell];
    for cell in cell_nodes.chunks_exact_mut(per_cell) {
        from.copy_from_slice(cell);
        for (i, node) in cell.iter_mut().enumerate() {
            let source = order.get(i).map_or(i, |&s| s as usize);
            *node = number[from[source] as usize];
        }
    }
    let space_dim = space_dim(kind, &points);
    let mut mesh = RawMesh {
        kind,
        degree,
        space_dim,
        points,
        vertex_count,
        cell_nodes,
        cell_groups: BTreeMap::new(),
        side_groups: BTreeMap::new(),
        side_tags: BTreeMap::new(),
        vertex_groups: BTreeMap::new(),
    };
    for (&(dim, tag), spans) in &file.elements.groups {
        let name = file
            .names
            .get(&(dim, tag))
            .cloned()
            .unwrap_or_else(|| format!("group_{dim}_{tag}"));
        add_group(&mut mesh, &file, &number, dim, &name, spans)?;
    }
    for group in mesh
        .cell_groups
        .values_mut()
        .chain(mesh.vertex_groups.values_mut())
    {
        group.sort_unstable();
        group.dedup();
    }
    Ok(mesh)
}

/// Adds a physical group of dimension `dim` to the role that this dimension has.
fn add_group(
    mesh: &mut RawMesh,
    file: &File,
    number: &[u32],
    dim: usize,
    name: &str,
    spans: &[Span],
) -> Result<(), GmshError> {
    if dim == mesh.kind.dim() {
        let group = mesh.cell_groups.entry(name.to_string()).or_default();
        for span in spans {
            group.extend(span.start as u32..span.end as u32);
        }
        return Ok(());
    }
    let sides = dim + 1 == mesh.kind.dim();
    let mut found = Vec::new();
    let mut tags = Vec::new();
    for span in spans {
        let (kind, store) = (kinds::get(span.slot), &file.elements.stores[span.slot]);
        for element in span.start..span.end {
            let tag = store.tags[element];
            let nodes = &store.nodes[element * kind.nodes..][..kind.shape.vertex_count()];
            // A vertex of a cell has a number below vertex_count.
            let mut vertices = nodes.iter().map(|&n| number[n as usize]);
            if !sides {
                found.extend(vertices.filter(|&v| v < mesh.vertex_count as u32));
                continue;
            }
            if kind.shape != Shape::Cell(mesh.kind.side_kind()) {
                return Err(GmshError::SideKind {
                    group: name.to_string(),
                    element: tag,
                    found: kind.name,
                    kind: mesh.kind,
                });
            }
            if vertices.clone().any(|v| v >= mesh.vertex_count as u32) {
                return Err(GmshError::DetachedSide {
                    group: name.to_string(),
                    element: tag,
                });
            }
            found.extend(&mut vertices);
            tags.push(tag);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    if sides {
        mesh.side_groups
            .entry(name.to_string())
            .or_default()
            .extend(found);
        mesh.side_tags
            .entry(name.to_string())
            .or_default()
            .extend(tags);
    } else {
        mesh.vertex_groups
            .entry(name.to_string())
            .or_default()
            .extend(found);
    }
    Ok(())
}

fn space_dim(kind: CellKind, points: &[[f64; 3]]) -> usize {
    let flat = |axis: usize| points.iter().all(|p| p[axis] == 0.0);
    match kind.dim() {
        2 if flat(2) => 2,
        1 if flat(2) && flat(1) => 1,
        1 if flat(2) => 2,
        _ => 3,
    }
}
