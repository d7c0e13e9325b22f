//! Uniform refinement of straight meshes.

use super::mesh::State;
use super::{Geometry, GeometryError, GeometryMap, Mesh, Tags, Topology};
use crate::element::CellKind;

/// Children of a simplex, as positions in its list of vertices and then edge midpoints.
/// Tets after J. Bey, "Tetrahedral grid refinement", Computing 55 (1995), all positive.
fn simplex_children(kind: CellKind) -> &'static [&'static [usize]] {
    match kind {
        CellKind::Segment => &[&[0, 2], &[2, 1]],
        CellKind::Triangle => &[&[0, 3, 5], &[3, 1, 4], &[5, 4, 2], &[3, 4, 5]],
        // Midpoints 4..9 lie on the edges 01, 12, 20, 03, 13, 23.
        _ => &[
            &[0, 4, 6, 7],
            &[4, 1, 5, 8],
            &[6, 5, 2, 9],
            &[7, 8, 9, 3],
            &[4, 6, 7, 8],
            &[4, 5, 6, 8],
            &[6, 7, 8, 9],
            &[6, 8, 5, 9],
        ],
    }
}

/// Children of a quad or hex, one at each vertex, in its list of vertices, edge midpoints,
/// (of a hex) side centres and the centre.
fn tensor_children(kind: CellKind) -> Vec<Vec<usize>> {
    // Twice the reference coordinates of each point of that list.
    let corner = |v: u8| kind.vertices()[v as usize].map(|x| x as usize);
    let mean = |vertices: &[u8]| {
        let mut sum = [0; 3];
        for &v in vertices {
            (0..3).for_each(|d| sum[d] += 2 * corner(v)[d]);
        }
        sum.map(|s| s / vertices.len())
    };
    let all: Vec<u8> = (0..kind.vertex_count() as u8).collect();
    let mut points: Vec<[usize; 3]> = all.iter().map(|&v| mean(&[v])).collect();
    points.extend(kind.edges().iter().map(|e| mean(e)));
    if kind == CellKind::Hex {
        points.extend((0..kind.side_count()).map(|s| mean(kind.side_vertices(s))));
    }
    points.push(mean(&all));
    all.iter()
        .map(|&child| {
            let place = |&v: &u8| {
                let at: [usize; 3] = std::array::from_fn(|d| corner(child)[d] + corner(v)[d]);
                // The points are all 3^d places of the halved cell.
                points.iter().position(|&p| p == at).unwrap_or(0)
            };
            all.iter().map(place).collect()
        })
        .collect()
}

/// Numbers of the new vertices: those of the parent, then one on each edge, then (hex) one on
/// each side, then (quad, hex) one in each cell.
struct NewVertices {
    edges: usize,
    sides: usize,
    cells: usize,
    total: usize,
}

impl NewVertices {
    fn new(t: &Topology) -> NewVertices {
        let kind = t.cell_kind();
        let edges = t.vertex_count();
        let sides = edges + t.edge_count();
        let hex = kind == CellKind::Hex;
        let cells = sides + if hex { t.side_count() } else { 0 };
        let centres = kind.is_tensor() && kind != CellKind::Segment;
        NewVertices {
            edges,
            sides,
            cells,
            total: cells + if centres { t.cell_count() } else { 0 },
        }
    }
}

pub(super) fn refined(mesh: &Mesh) -> Result<Mesh, GeometryError> {
    let state = mesh.state();
    let (topology, map) = (&*state.topology, &*state.map);
    if map.degree != 1 {
        return Err(GeometryError::CurvedRefinement { degree: map.degree });
    }
    let kind = topology.cell_kind();
    let new = NewVertices::new(topology);
    super::topology::check_counts(
        kind,
        new.total as u128,
        (topology.cell_count() as u128) << kind.dim(),
    )?;
    let cells = new_cells(topology, &new);
    let points = new_points(topology, map, &new);
    let fine = State::straight(kind, mesh.space_dim(), points, cells)?;
    let tags = new_tags(topology, &state.tags, &new, &fine.topology);
    Ok(Mesh::from_state(mesh.space_dim(), fine.with_tags(tags)?))
}

fn new_cells(t: &Topology, new: &NewVertices) -> Vec<u32> {
    let kind = t.cell_kind();
    let children: Vec<Vec<usize>> = match kind {
        CellKind::Quad | CellKind::Hex => tensor_children(kind),
        _ => simplex_children(kind).iter().map(|c| c.to_vec()).collect(),
    };
    let mut cells = Vec::with_capacity(t.cells().len() * children.len());
    let mut points = Vec::new();
    for cell in 0..t.cell_count() {
        points.clear();
        points.extend_from_slice(t.cell_vertices(cell));
        points.extend(t.cell_edges(cell).iter().map(|&e| new.edges as u32 + e));
        if kind == CellKind::Hex {
            points.extend(t.cell_sides(cell).iter().map(|&s| new.sides as u32 + s));
        }
        points.push((new.cells + cell) as u32);
        for child in &children {
            cells.extend(child.iter().map(|&p| points[p]));
        }
    }
    cells
}

fn new_points(t: &Topology, map: &GeometryMap, new: &NewVertices) -> Vec<[f64; 3]> {
    let mut points = Vec::with_capacity(new.total);
    points.extend_from_slice(&map.nodes);
    points.extend((0..t.edge_count()).map(|e| map.mean(&t.edge_vertices(e))));
    if t.cell_kind() == CellKind::Hex {
        points.extend((0..t.side_count()).map(|s| map.mean(t.side_vertices(s))));
    }
    if new.total > new.cells {
        points.extend((0..t.cell_count()).map(|c| map.mean(t.cell_vertices(c))));
    }
    points
}

fn new_tags(t: &Topology, tags: &Tags, new: &NewVertices, fine: &Topology) -> Tags {
    let children = 1u32 << t.cell_kind().dim();
    let mut out = Tags::new();
    for name in tags.cell_names() {
        let cells = tags.cells(name).unwrap_or_default();
        let all = cells.iter().flat_map(|c| c * children..(c + 1) * children);
        out.insert_cells(name, all.collect());
    }
    for name in tags.side_names() {
        let mut sides = Vec::new();
        for &side in tags.sides(name).unwrap_or_default() {
            for part in side_parts(t, side as usize, new) {
                // The parts are sides of the children at that side.
                sides.extend(fine.find_side(&part));
            }
        }
        out.insert_sides(name, sides);
    }
    for name in tags.vertex_names() {
        out.insert_vertices(name, tags.vertices(name).unwrap_or_default().to_vec());
    }
    out
}

/// Vertices of the sides that a refined side falls into.
fn side_parts(t: &Topology, side: usize, new: &NewVertices) -> Vec<Vec<u32>> {
    let v = t.side_vertices(side);
    let n = v.len();
    let middle = |i: usize| {
        // Neighbours on a side are joined by an edge.
        let edge = t.find_edge(v[i % n], v[(i + 1) % n]).unwrap_or(0);
        new.edges as u32 + edge
    };
    match n {
        1 => vec![v.to_vec()],
        2 => vec![vec![v[0], middle(0)], vec![middle(0), v[1]]],
        3 => {
            let m = [middle(0), middle(1), middle(2)];
            let mut parts: Vec<Vec<u32>> =
                (0..3).map(|i| vec![v[i], m[i], m[(i + 2) % 3]]).collect();
            parts.push(m.to_vec());
            parts
        }
        _ => {
            let centre = (new.sides + side) as u32;
            (0..4)
                .map(|i| vec![v[i], middle(i), centre, middle(i + 3)])
                .collect()
        }
    }
}
