//! Uniform refinement, and curved nodes on straight meshes.

use super::mesh::{State, check_degree};
use super::{Geometry, GeometryError, GeometryMap, Mesh, Tags, Topology, equispaced, nodes};
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

/// Children of a quad or hex, one at each vertex, by their vertices among
/// [`reference_points`].
fn tensor_children(kind: CellKind) -> Vec<Vec<usize>> {
    let points = reference_points(kind);
    let corners = kind.vertices();
    let child = |corner: &[f64; 3]| {
        let place = |v: &[f64; 3]| {
            let at: [f64; 3] = std::array::from_fn(|d| (corner[d] + v[d]) / 2.0);
            // The points are all 3^d places of the halved cell, in exact halves.
            points.iter().position(|&p| p == at).unwrap_or(0)
        };
        corners.iter().map(place).collect()
    };
    corners.iter().map(child).collect()
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
    let kind = topology.cell_kind();
    let new = NewVertices::new(topology);
    super::sides::check_counts(
        kind,
        new.total as u128,
        (topology.cell_count() as u128) << kind.dim(),
    )?;
    let cells = new_cells(topology, &new);
    let fine = match map.degree {
        1 => {
            let points = new_points(topology, map, &new);
            State::straight(kind, mesh.space_dim(), points, cells)?
        }
        _ => {
            let fine = Topology::build(kind, new.total, cells)?;
            curved(mesh.space_dim(), &fine, map, map.degree, &children(kind))?
        }
    };
    let tags = new_tags(topology, &state.tags, &new, &fine.topology);
    Ok(Mesh::from_state(mesh.space_dim(), fine.with_tags(tags)?))
}

pub(super) fn elevated(mesh: &Mesh, degree: usize) -> Result<Mesh, GeometryError> {
    check_degree(degree)?;
    let state = mesh.state();
    if degree < state.map.degree {
        return Err(GeometryError::LowerDegree {
            degree,
            present: state.map.degree,
        });
    }
    let (t, kind) = (&*state.topology, mesh.cell_kind());
    let whole = [(0..kind.vertex_count()).collect()];
    let new = curved(mesh.space_dim(), t, &state.map, degree, &whole)?;
    let tags = (*state.tags).clone();
    Ok(Mesh::from_state(mesh.space_dim(), new.with_tags(tags)?))
}

/// The cells of `fine` with the map `coarse` at nodes of `degree`. Cells come in groups, one
/// to each cell of `coarse`; `children` has the vertices of each cell of a group among
/// [`reference_points`].
fn curved(
    space_dim: usize,
    fine: &Topology,
    coarse: &GeometryMap,
    degree: usize,
    children: &[Vec<usize>],
) -> Result<State, GeometryError> {
    let kind = fine.cell_kind();
    let (cell_nodes, total) = nodes::number_nodes(fine, degree)?;
    let n = equispaced::node_count(kind, degree);
    let m = equispaced::node_count(kind, coarse.degree);
    let corners = reference_points(kind);
    let weights = nodes::weights(kind, degree);
    let unit = nodes::unit(kind, degree) as f64;
    let tables: Vec<Vec<f64>> = children
        .iter()
        .map(|child| {
            let place = |w: &Vec<usize>| -> [f64; 3] {
                std::array::from_fn(|d| {
                    let along = |(&w, &c): (&usize, &usize)| w as f64 * corners[c][d];
                    w.iter().zip(child).map(along).sum::<f64>() / unit
                })
            };
            let points: Vec<[f64; 3]> = weights.iter().map(place).collect();
            equispaced::values(kind, coarse.degree, &points)
        })
        .collect();
    let mut nodes = vec![[0.0; 3]; total];
    for (cell, numbers) in cell_nodes.chunks_exact(n).enumerate() {
        let (parent, child) = (cell / children.len(), cell % children.len());
        let positions = nodes::evaluate(coarse, &tables[child], m, parent);
        for (&node, x) in numbers.iter().zip(positions) {
            nodes[node as usize] = x;
        }
    }
    State::curved(kind, space_dim, degree, nodes, cell_nodes)
}

/// Reference coordinates of the points that children have as vertices: vertices, edge
/// midpoints, side centres of a hex, and the centre.
fn reference_points(kind: CellKind) -> Vec<[f64; 3]> {
    let mean = |vertices: &[u8]| -> [f64; 3] {
        std::array::from_fn(|d| {
            let all = vertices.iter().map(|&v| kind.vertices()[v as usize][d]);
            all.sum::<f64>() / vertices.len() as f64
        })
    };
    let all: Vec<u8> = (0..kind.vertex_count() as u8).collect();
    let mut points = kind.vertices().to_vec();
    points.extend(kind.edges().iter().map(|e| mean(e)));
    if kind == CellKind::Hex {
        points.extend((0..kind.side_count()).map(|s| mean(kind.side_vertices(s))));
    }
    points.push(mean(&all));
    points
}

/// The children of a cell, by their vertices among [`reference_points`].
fn children(kind: CellKind) -> Vec<Vec<usize>> {
    match kind {
        CellKind::Quad | CellKind::Hex => tensor_children(kind),
        _ => simplex_children(kind).iter().map(|c| c.to_vec()).collect(),
    }
}

fn new_cells(t: &Topology, new: &NewVertices) -> Vec<u32> {
    let kind = t.cell_kind();
    let children = children(kind);
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
