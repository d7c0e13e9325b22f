//! The pictures of `docs/conventions.md`, drawn from the library's own tables.

use super::docs;
use super::numbering::{two_quads, two_triangles};
use super::svg::{CELL, EDGE, FACE, FAINT, INK, NORMAL, Point, Svg, VERTEX};
use weft::element::{CellKind, Lagrange, NodeFamily};
use weft::geometry::{Geometry, Grid2, Mesh};
use weft::space::Space;

/// Compares a picture with its file, or writes the file where that is asked for.
fn check(name: &str, picture: String) {
    let path = docs().join("images").join(name);
    if std::env::var_os("WEFT_WRITE_PICTURES").is_some() {
        std::fs::write(&path, picture).unwrap();
        return;
    }
    let drawn = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        drawn == picture,
        "docs/images/{name} is not what the tables say; draw it again with \
         WEFT_WRITE_PICTURES=1 and look at it"
    );
}

/// From reference coordinates to the page: plain in the plane, a parallel view in space.
#[derive(Clone, Copy)]
struct View {
    origin: Point,
    scale: f64,
    space: bool,
}

impl View {
    fn at(&self, x: [f64; 3]) -> Point {
        let [a, b] = self.direction(x);
        [self.origin[0] + a, self.origin[1] + b]
    }

    fn direction(&self, x: [f64; 3]) -> Point {
        let s = self.scale;
        if self.space {
            [
                s * (0.62 * x[0] + 1.05 * x[1]),
                -s * (x[2] - 0.30 * x[0] + 0.22 * x[1]),
            ]
        } else {
            [s * x[0], -s * x[1]]
        }
    }

    /// Whether a face with this outward normal is seen.
    fn sees(&self, n: [f64; 3]) -> bool {
        !self.space || 1.05 * n[0] - 0.62 * n[1] + 0.4514 * n[2] > 0.0
    }
}

/// Edges and faces of a reference cell, hidden edges dashed.
fn draw_cell(svg: &mut Svg, view: View, kind: CellKind) {
    let corner = |v: u8| view.at(kind.vertices()[v as usize]);
    if kind.dim() == 2 {
        let all: Vec<Point> = (0..kind.vertex_count() as u8).map(corner).collect();
        svg.polygon(&all, VERTEX);
    }
    let visible = |edge: &[u8; 2]| {
        kind.dim() < 3
            || (0..kind.side_count()).any(|side| {
                let vertices = kind.side_vertices(side);
                view.sees(kind.side_normal(side)) && edge.iter().all(|v| vertices.contains(v))
            })
    };
    if kind.dim() == 3 {
        for side in 0..kind.side_count() {
            if view.sees(kind.side_normal(side)) {
                let face: Vec<Point> = kind
                    .side_vertices(side)
                    .iter()
                    .map(|&v| corner(v))
                    .collect();
                svg.polygon(&face, VERTEX);
            }
        }
    }
    for pass in [false, true] {
        for edge in kind.edges().iter().filter(|e| visible(e) == pass) {
            let color = if pass { INK } else { FAINT };
            svg.line(corner(edge[0]), corner(edge[1]), color, 1.5, !pass);
        }
    }
}

fn mean(points: &[[f64; 3]]) -> [f64; 3] {
    std::array::from_fn(|d| points.iter().map(|p| p[d]).sum::<f64>() / points.len() as f64)
}

fn middle(kind: CellKind, vertices: &[u8]) -> [f64; 3] {
    let corners: Vec<[f64; 3]> = vertices
        .iter()
        .map(|&v| kind.vertices()[v as usize])
        .collect();
    mean(&corners)
}

fn vertex_numbers(svg: &mut Svg, view: View, kind: CellKind) {
    for (v, &x) in kind.vertices().iter().enumerate() {
        svg.node(view.at(x), &v.to_string(), VERTEX);
    }
}

/// Edge numbers, with a small arrow for the direction of each edge.
fn edge_numbers(svg: &mut Svg, view: View, kind: CellKind) {
    for (number, edge) in kind.edges().iter().enumerate() {
        let [a, b] = edge.map(|v| kind.vertices()[v as usize]);
        let along = |t: f64| -> [f64; 3] { std::array::from_fn(|d| a[d] + t * (b[d] - a[d])) };
        // Off the middle, and lower on upright edges: labels of crossing edges stay apart.
        let shift = if kind.dim() == 3 && kind.is_tensor() && number >= 8 {
            0.2
        } else {
            0.0
        };
        svg.arrow(
            view.at(along(0.58 - shift)),
            view.at(along(0.75 - shift)),
            EDGE,
            1.6,
        );
        svg.tag(view.at(along(0.43 - shift)), &number.to_string(), EDGE);
    }
}

fn side_normals(svg: &mut Svg, view: View, kind: CellKind, length: f64) {
    for side in 0..kind.side_count() {
        let n = kind.side_normal(side);
        let at = middle(kind, kind.side_vertices(side));
        let size = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
        let tip: [f64; 3] = std::array::from_fn(|d| at[d] + length * n[d] / size);
        let color = if view.sees(n) { NORMAL } else { FAINT };
        svg.arrow(view.at(at), view.at(tip), color, 1.8);
        let color = if view.sees(n) { FACE } else { FAINT };
        svg.tag(view.at(at), &format!("s{side}"), color);
    }
}

fn axes(svg: &mut Svg, view: View, dim: usize) {
    for (axis, name) in ["x", "y", "z"].iter().enumerate().take(dim) {
        let mut unit = [0.0; 3];
        unit[axis] = 1.0;
        let d = view.direction(unit);
        let size = (d[0] * d[0] + d[1] * d[1]).sqrt();
        let o = view.origin;
        let tip = [o[0] + 30.0 * d[0] / size, o[1] + 30.0 * d[1] / size];
        let text = [o[0] + 40.0 * d[0] / size, o[1] + 40.0 * d[1] / size];
        svg.arrow(o, tip, INK, 1.2);
        svg.middle(text, name, INK, 13.0, false);
    }
}

fn flat(x: f64, y: f64, scale: f64) -> View {
    View {
        origin: [x, y],
        scale,
        space: false,
    }
}

fn deep(x: f64, y: f64, scale: f64) -> View {
    View {
        origin: [x, y],
        scale,
        space: true,
    }
}

#[test]
fn reference_cells_in_the_plane() {
    let mut svg = Svg::new(860.0, 350.0);
    let views = [
        (CellKind::Segment, flat(70.0, 200.0, 150.0)),
        (CellKind::Triangle, flat(320.0, 280.0, 170.0)),
        (CellKind::Quad, flat(610.0, 280.0, 170.0)),
    ];
    for (kind, view) in views {
        draw_cell(&mut svg, view, kind);
        if kind.dim() == 2 {
            for side in 0..kind.side_count() {
                let n = kind.side_normal(side);
                let at = middle(kind, kind.side_vertices(side));
                let size = (n[0] * n[0] + n[1] * n[1]).sqrt();
                let tip = [at[0] + 0.27 * n[0] / size, at[1] + 0.27 * n[1] / size, 0.0];
                svg.arrow(view.at(at), view.at(tip), NORMAL, 1.8);
            }
            edge_numbers(&mut svg, view, kind);
        } else {
            for side in 0..2 {
                let n = kind.side_normal(side)[0];
                let at = kind.vertices()[side][0];
                svg.arrow(
                    view.at([at, 0.0, 0.0]),
                    view.at([at + 0.3 * n, 0.0, 0.0]),
                    NORMAL,
                    1.8,
                );
            }
        }
        vertex_numbers(&mut svg, view, kind);
        svg.middle(
            [view.origin[0] + view.scale / 2.0, 338.0],
            kind.name(),
            INK,
            14.0,
            true,
        );
    }
    axes(&mut svg, flat(28.0, 320.0, 1.0), 2);
    svg.node([120.0, 18.0], "0", VERTEX);
    svg.text([136.0, 22.0], "vertex (on a segment: side too)", INK, 12.0);
    svg.tag([400.0, 18.0], "0", EDGE);
    svg.text([416.0, 22.0], "edge = side, with its direction", INK, 12.0);
    svg.arrow([660.0, 18.0], [690.0, 18.0], NORMAL, 1.8);
    svg.text([700.0, 22.0], "outward normal", INK, 12.0);
    check(
        "cells_plane.svg",
        svg.finish("Reference cells in one and two dimensions"),
    );
}

#[test]
fn reference_cells_in_space() {
    let mut svg = Svg::new(900.0, 800.0);
    for (row, kind) in [CellKind::Tet, CellKind::Hex].into_iter().enumerate() {
        let top = if row == 0 { 310.0 } else { 680.0 };
        let scale = if row == 0 { 230.0 } else { 200.0 };
        let left = deep(50.0, top, scale);
        draw_cell(&mut svg, left, kind);
        edge_numbers(&mut svg, left, kind);
        vertex_numbers(&mut svg, left, kind);
        let right = deep(500.0, top, scale);
        draw_cell(&mut svg, right, kind);
        side_normals(&mut svg, right, kind, 0.32);
        vertex_numbers(&mut svg, right, kind);
        svg.middle(
            [220.0, top + 88.0],
            &format!("{}: edges", kind.name()),
            INK,
            14.0,
            true,
        );
        svg.middle(
            [690.0, top + 88.0],
            &format!("{}: sides and outward normals", kind.name()),
            INK,
            14.0,
            true,
        );
    }
    axes(&mut svg, deep(420.0, 80.0, 1.0), 3);
    svg.text([396.0, 120.0], "grey: hidden", FAINT, 12.0);
    check(
        "cells_space.svg",
        svg.finish("Reference cells in three dimensions"),
    );
}

/// Node numbers of an element, coloured by the entity each lies on.
fn draw_nodes(svg: &mut Svg, view: View, kind: CellKind, degree: usize) {
    draw_cell(svg, view, kind);
    let element = Lagrange::new(kind, degree, NodeFamily::Equispaced).unwrap();
    // Nodes behind are drawn first.
    let mut order: Vec<usize> = (0..element.node_count()).collect();
    let depth = |x: [f64; 3]| 1.05 * x[0] - 0.62 * x[1] + 0.4514 * x[2];
    order.sort_by(|&a, &b| {
        let (a, b) = (element.nodes()[a], element.nodes()[b]);
        depth(a).total_cmp(&depth(b))
    });
    for node in order {
        let dim = element.entity(node).dim as usize;
        let color = if dim == kind.dim() {
            CELL
        } else {
            [VERTEX, EDGE, FACE][dim]
        };
        svg.node(view.at(element.nodes()[node]), &node.to_string(), color);
    }
}

fn legend(svg: &mut Svg, at: Point, dim: usize) {
    let all = [
        ("vertex", VERTEX),
        ("edge", EDGE),
        ("face", FACE),
        ("inside", CELL),
    ];
    let used = if dim == 2 {
        vec![all[0], all[1], all[3]]
    } else {
        all.to_vec()
    };
    for (k, (name, color)) in used.into_iter().enumerate() {
        let x = at[0] + 90.0 * k as f64;
        svg.node([x, at[1]], "", color);
        svg.text([x + 16.0, at[1] + 4.0], name, INK, 12.0);
    }
}

#[test]
fn nodes_in_the_plane() {
    let mut svg = Svg::new(900.0, 620.0);
    for (row, kind) in [CellKind::Triangle, CellKind::Quad].into_iter().enumerate() {
        for degree in 1..=3 {
            let x = 60.0 + 300.0 * (degree - 1) as f64;
            let y = if row == 0 { 250.0 } else { 555.0 };
            draw_nodes(&mut svg, flat(x, y, 190.0), kind, degree);
            let name = format!("{}, degree {degree}", kind.name());
            svg.middle([x + 95.0, y + 30.0], &name, INK, 13.0, true);
        }
    }
    legend(&mut svg, [300.0, 22.0], 2);
    check(
        "nodes_plane.svg",
        svg.finish("Nodes of triangles and quads"),
    );
}

#[test]
fn nodes_in_space() {
    let mut svg = Svg::new(900.0, 860.0);
    let views = [
        (CellKind::Tet, 2, deep(50.0, 330.0, 240.0)),
        (CellKind::Tet, 3, deep(490.0, 330.0, 240.0)),
        (CellKind::Hex, 1, deep(50.0, 730.0, 210.0)),
        (CellKind::Hex, 2, deep(470.0, 730.0, 230.0)),
    ];
    for (kind, degree, view) in views {
        draw_nodes(&mut svg, view, kind, degree);
        let name = format!("{}, degree {degree}", kind.name());
        svg.middle(
            [view.origin[0] + 180.0, view.origin[1] + 95.0],
            &name,
            INK,
            13.0,
            true,
        );
    }
    legend(&mut svg, [280.0, 22.0], 3);
    axes(&mut svg, deep(400.0, 100.0, 1.0), 3);
    check("nodes_space.svg", svg.finish("Nodes of tets and hexes"));
}

/// Global node numbers of a mesh in the plane, coloured by group.
fn draw_global(svg: &mut Svg, view: View, mesh: &Mesh, degree: usize) {
    let space = Space::on(
        std::sync::Arc::new(mesh.clone()),
        degree,
        NodeFamily::Equispaced,
        true,
    )
    .unwrap();
    let topology = mesh.topology();
    let map = mesh.map();
    for cell in 0..topology.cell_count() {
        let corners: Vec<Point> = topology
            .cell_vertices(cell)
            .iter()
            .map(|&v| view.at(map.vertex(v)))
            .collect();
        svg.polygon(&corners, VERTEX);
    }
    for edge in 0..topology.edge_count() {
        let [a, b] = topology.edge_vertices(edge).map(|v| map.vertex(v));
        svg.line(view.at(a), view.at(b), INK, 1.5, false);
        // The direction of its nodes: from the smaller vertex.
        let along = |t: f64| -> [f64; 3] { std::array::from_fn(|d| a[d] + t * (b[d] - a[d])) };
        svg.arrow(view.at(along(0.42)), view.at(along(0.585)), EDGE, 1.6);
    }
    let positions = space.node_positions();
    for cell in 0..topology.cell_count() {
        for (local, &node) in space.cell_nodes(cell).iter().enumerate() {
            let dim = space.element().entity(local).dim as usize;
            let color = [VERTEX, EDGE, CELL][dim];
            svg.node(view.at(positions[node as usize]), &node.to_string(), color);
        }
    }
}

#[test]
fn nodes_of_two_meshes() {
    let mut svg = Svg::new(900.0, 340.0);
    draw_global(&mut svg, flat(60.0, 280.0, 220.0), &two_triangles(), 3);
    svg.middle([170.0, 318.0], "two triangles, degree 3", INK, 13.0, true);
    draw_global(&mut svg, flat(420.0, 280.0, 210.0), &two_quads(), 3);
    svg.middle([630.0, 318.0], "two quads, degree 3", INK, 13.0, true);
    legend(&mut svg, [330.0, 20.0], 2);
    check(
        "nodes_mesh.svg",
        svg.finish("Global nodes of two small meshes"),
    );
}

#[test]
fn numbers_of_a_grid() {
    let grid = Grid2::new([3, 2], [0.0; 2], [3.0, 2.0]).unwrap();
    let topology = grid.topology();
    let map = grid.map();
    let mut svg = Svg::new(900.0, 370.0);
    let views = [flat(50.0, 290.0, 120.0), flat(490.0, 290.0, 120.0)];
    for view in views {
        svg.polygon(
            &[[0.0, 0.0], [3.0, 0.0], [3.0, 2.0], [0.0, 2.0]].map(|[x, y]| view.at([x, y, 0.0])),
            VERTEX,
        );
        for side in 0..topology.side_count() {
            let v = topology.side_vertices(side);
            let [a, b] = [v[0], v[1]].map(|v| map.vertex(v));
            svg.line(view.at(a), view.at(b), INK, 1.5, false);
        }
    }
    for side in 0..topology.side_count() {
        let vertices = topology.side_vertices(side);
        let at = map.mean(vertices);
        let [inner, outer] = topology.side_cells(side);
        let center = map.mean(topology.cell_vertices(inner as usize));
        let vertical = map.vertex(vertices[0])[0] == map.vertex(vertices[1])[0];
        let axis = usize::from(!vertical);
        let sign = (at[axis] - center[axis]).signum();
        let mut tip = at;
        tip[axis] += 0.27 * sign;
        let view = views[0];
        // Grey: the sides of the boundary.
        let color = if inner == outer { FAINT } else { NORMAL };
        svg.arrow(view.at(at), view.at(tip), color, 1.6);
        svg.tag(view.at(at), &side.to_string(), EDGE);
    }
    for cell in 0..topology.cell_count() {
        let mut at = map.mean(topology.cell_vertices(cell));
        at[0] += 0.22;
        at[1] += 0.22;
        svg.middle(views[0].at(at), &cell.to_string(), CELL, 15.0, true);
    }
    for vertex in 0..topology.vertex_count() as u32 {
        svg.node(views[0].at(map.vertex(vertex)), &vertex.to_string(), VERTEX);
    }
    let space = Space::lagrange(&grid, 2).unwrap();
    for (node, &x) in space.node_positions().iter().enumerate() {
        let halves = x[..2].iter().filter(|c| c.fract() != 0.0).count();
        svg.node(
            views[1].at(x),
            &node.to_string(),
            [VERTEX, EDGE, CELL][halves],
        );
    }
    svg.middle(
        [230.0, 350.0],
        "cells, vertices, sides with normals",
        INK,
        13.0,
        true,
    );
    svg.middle([670.0, 350.0], "nodes of degree 2", INK, 13.0, true);
    check("grid.svg", svg.finish("Numbers of a grid of 3 by 2 cells"));
}

#[test]
fn shared_edges_and_faces() {
    let mut svg = Svg::new(900.0, 330.0);
    // A face of degree 5 with vertices a < b < c: its six nodes by slot.
    let view = flat(60.0, 270.0, 220.0);
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.35, 0.95, 0.0]];
    svg.polygon(&corners.map(|c| view.at(c)), FACE);
    for k in 0..3 {
        svg.line(
            view.at(corners[k]),
            view.at(corners[(k + 1) % 3]),
            INK,
            1.5,
            false,
        );
    }
    let element = Lagrange::new(CellKind::Tet, 5, NodeFamily::Equispaced).unwrap();
    // Face 0 of a tet has the local vertices 0, 1, 2; here they are a, b, c.
    for &node in element.entity_nodes(2, 0) {
        let x = element.nodes()[node as usize];
        let weights = [1.0 - x[0] - x[1], x[0], x[1]];
        let at = std::array::from_fn(|d| (0..3).map(|k| weights[k] * corners[k][d]).sum());
        let slot = element.slot(node as usize, &[10, 20, 30, 40]);
        svg.node(view.at(at), &slot.to_string(), FACE);
    }
    for (name, x) in ["a", "b", "c"].iter().zip(corners) {
        svg.node(view.at(x), name, VERTEX);
    }
    svg.middle(
        [170.0, 312.0],
        "triangular face, degree 5, a &lt; b &lt; c",
        INK,
        13.0,
        true,
    );
    // A quadrilateral face of degree 4 whose smallest vertex is a, b the smaller neighbour.
    let view = flat(400.0, 270.0, 220.0);
    let hex = Lagrange::new(CellKind::Hex, 4, NodeFamily::Equispaced).unwrap();
    let square = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
    ];
    svg.polygon(&square.map(|c| view.at(c)), FACE);
    for k in 0..4 {
        svg.line(
            view.at(square[k]),
            view.at(square[(k + 1) % 4]),
            INK,
            1.5,
            false,
        );
    }
    // Face 5 (top) of a hex has the local vertices 4, 5, 6, 7.
    for &node in hex.entity_nodes(2, 5) {
        let slot = hex.slot(node as usize, &[90, 91, 92, 93, 10, 20, 40, 30]);
        let x = hex.nodes()[node as usize];
        svg.node(view.at([x[0], x[1], 0.0]), &slot.to_string(), FACE);
    }
    for (name, x) in ["a", "b", "d", "c"].iter().zip(square) {
        svg.node(view.at(x), name, VERTEX);
    }
    svg.middle(
        [510.0, 312.0],
        "quadrilateral face, degree 4",
        INK,
        13.0,
        true,
    );
    // Two cells, the side between them, and its normal.
    let view = flat(700.0, 240.0, 150.0);
    let p = |x: f64, y: f64| view.at([x, y, 0.0]);
    svg.polygon(
        &[p(0.0, 0.0), p(0.55, 0.1), p(0.55, 1.0), p(0.0, 0.85)],
        VERTEX,
    );
    svg.polygon(
        &[p(0.55, 0.1), p(1.15, 0.0), p(1.1, 0.9), p(0.55, 1.0)],
        CELL,
    );
    let outline = [
        (p(0.0, 0.0), p(0.55, 0.1)),
        (p(0.55, 1.0), p(0.0, 0.85)),
        (p(0.0, 0.85), p(0.0, 0.0)),
        (p(0.55, 0.1), p(1.15, 0.0)),
        (p(1.15, 0.0), p(1.1, 0.9)),
        (p(1.1, 0.9), p(0.55, 1.0)),
    ];
    for (a, b) in outline {
        svg.line(a, b, INK, 1.5, false);
    }
    svg.line(p(0.55, 0.1), p(0.55, 1.0), EDGE, 3.0, false);
    svg.arrow(p(0.55, 0.55), p(0.85, 0.55), NORMAL, 2.2);
    svg.middle(p(0.72, 0.67), "n", NORMAL, 15.0, true);
    svg.middle(p(0.27, 0.5), "inner", VERTEX, 14.0, true);
    svg.middle(p(0.85, 0.3), "outer", CELL, 14.0, true);
    svg.middle(
        p(0.58, -0.2),
        "jump(e) = inside(e) − outside(e)",
        INK,
        12.0,
        false,
    );
    svg.middle([786.0, 312.0], "a side and its two cells", INK, 13.0, true);
    check(
        "sides.svg",
        svg.finish("Shared faces, and the two cells of a side"),
    );
}
