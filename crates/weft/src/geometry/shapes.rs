//! Meshes of simple bodies and surfaces.
//!
//! Boxes and rectangles have their vertices numbered as [`Grid2`](super::Grid2) and
//! [`Grid3`](super::Grid3) do and the same side tags: `left`, `right` (lower and upper x), then
//! `bottom`, `top` (y) in the plane, and `front`, `back` (y), `bottom`, `top` (z) in space.

use super::lattice::Lattice;
use super::mesh::State;
use super::{GeometryError, Mesh, Tags};
use crate::element::CellKind;

/// A mesh on the vertices of a lattice; `fill` lists the cells at one place of it.
fn on_lattice(
    kind: CellKind,
    lattice: &Lattice,
    fill: impl Fn([usize; 3], &mut Vec<u32>),
) -> Result<Mesh, GeometryError> {
    let mut cells = Vec::new();
    for cell in 0..lattice.cell_count() {
        fill(lattice.cell_place(cell), &mut cells);
    }
    let state = State::straight(kind, lattice.dim, lattice.points(), cells)?;
    let tags = lattice.side_tags(&state.topology);
    Ok(Mesh::from_state(lattice.dim, state.with_tags(tags)?))
}

/// A rectangle of triangles: each of the `cells` rectangles is cut from its lower left to its
/// upper right corner.
///
/// # Errors
/// As [`Grid2::new`](super::Grid2::new).
pub fn rectangle_triangles(
    cells: [usize; 2],
    lower: [f64; 2],
    upper: [f64; 2],
) -> Result<Mesh, GeometryError> {
    let lattice = Lattice::new(2, &cells, &lower, &upper, CellKind::Triangle, 2)?;
    on_lattice(CellKind::Triangle, &lattice, |[i, j, _], cells| {
        let at = |a: usize, b: usize| lattice.vertex([i + a, j + b, 0]);
        cells.extend([at(0, 0), at(1, 0), at(1, 1)]);
        cells.extend([at(0, 0), at(1, 1), at(0, 1)]);
    })
}

/// A rectangle of equal quads.
///
/// # Errors
/// As [`Grid2::new`](super::Grid2::new).
pub fn rectangle_quads(
    cells: [usize; 2],
    lower: [f64; 2],
    upper: [f64; 2],
) -> Result<Mesh, GeometryError> {
    let kind = CellKind::Quad;
    let lattice = Lattice::new(2, &cells, &lower, &upper, kind, 1)?;
    on_lattice(kind, &lattice, |place, cells| {
        cells.extend(lattice.cell_vertices(kind, place));
    })
}

/// A box of equal hexes.
///
/// # Errors
/// As [`Grid3::new`](super::Grid3::new).
pub fn box_hexes(
    cells: [usize; 3],
    lower: [f64; 3],
    upper: [f64; 3],
) -> Result<Mesh, GeometryError> {
    let kind = CellKind::Hex;
    let lattice = Lattice::new(3, &cells, &lower, &upper, kind, 1)?;
    on_lattice(kind, &lattice, |place, cells| {
        cells.extend(lattice.cell_vertices(kind, place));
    })
}

/// A box of tets, six to each of the `cells` boxes (Kuhn's: one for each order of the axes,
/// all around the diagonal from the lower to the upper corner).
///
/// # Errors
/// As [`Grid3::new`](super::Grid3::new).
pub fn box_tets(
    cells: [usize; 3],
    lower: [f64; 3],
    upper: [f64; 3],
) -> Result<Mesh, GeometryError> {
    let lattice = Lattice::new(3, &cells, &lower, &upper, CellKind::Tet, 6)?;
    // Orders of the axes, and whether the path along them is positively oriented.
    let paths = [
        ([0, 1, 2], true),
        ([1, 2, 0], true),
        ([2, 0, 1], true),
        ([0, 2, 1], false),
        ([2, 1, 0], false),
        ([1, 0, 2], false),
    ];
    on_lattice(CellKind::Tet, &lattice, |place, cells| {
        for (axes, positive) in paths {
            let mut p = place;
            let mut tet = [lattice.vertex(p); 4];
            for (step, axis) in axes.into_iter().enumerate() {
                p[axis] += 1;
                tet[step + 1] = lattice.vertex(p);
            }
            if !positive {
                tet.swap(1, 2);
            }
            cells.extend(tet);
        }
    })
}

/// A box of tets, five to each of the `cells` boxes: one around the centre and one at every
/// other corner, mirrored from box to box so that they fit.
///
/// # Errors
/// As [`Grid3::new`](super::Grid3::new).
pub fn box_tets5(
    cells: [usize; 3],
    lower: [f64; 3],
    upper: [f64; 3],
) -> Result<Mesh, GeometryError> {
    let lattice = Lattice::new(3, &cells, &lower, &upper, CellKind::Tet, 5)?;
    on_lattice(CellKind::Tet, &lattice, |place, cells| {
        let odd = place.iter().sum::<usize>() % 2;
        // In an odd box everything is mirrored along x, so two vertices of each tet swap.
        let at = |[a, b, c]: [usize; 3]| {
            let a = if odd == 1 { 1 - a } else { a };
            lattice.vertex([place[0] + a, place[1] + b, place[2] + c])
        };
        let tets = [
            [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]],
            [[0, 1, 0], [0, 0, 0], [1, 1, 0], [0, 1, 1]],
            [[0, 0, 1], [0, 0, 0], [0, 1, 1], [1, 0, 1]],
            [[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 0, 1]],
            [[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]],
        ];
        for tet in tets {
            let mut tet = tet.map(at);
            if odd == 1 {
                tet.swap(2, 3);
            }
            cells.extend(tet);
        }
    })
}

/// The unit disk about the origin in triangles: `rings` rings, `6·rings²` triangles, the
/// vertices of ring `k` equally spaced on the circle of radius `k/rings`. All boundary sides are
/// in the side tags `boundary` and `circle`.
///
/// # Errors
/// [`ZeroCount`](GeometryError::ZeroCount), [`TooMany`](GeometryError::TooMany).
pub fn disk(rings: usize) -> Result<Mesh, GeometryError> {
    if rings == 0 {
        return Err(GeometryError::ZeroCount {
            what: "the number of rings of a disk",
        });
    }
    let squared = (rings as u128).saturating_mul(rings as u128);
    super::sides::check_counts(
        CellKind::Triangle,
        squared.saturating_mul(4).saturating_add(1),
        squared.saturating_mul(6),
    )?;
    let mut points = vec![[0.0; 3]];
    for ring in 1..=rings {
        let radius = ring as f64 / rings as f64;
        for i in 0..6 * ring {
            let angle = std::f64::consts::TAU * i as f64 / (6 * ring) as f64;
            points.push([radius * angle.cos(), radius * angle.sin(), 0.0]);
        }
    }
    // Ring k begins at vertex 1 + 6 (1 + … + (k−1)).
    let vertex = |ring: usize, i: usize| match ring {
        0 => 0,
        _ => (1 + 3 * ring * (ring - 1) + i % (6 * ring)) as u32,
    };
    let mut cells = Vec::new();
    for ring in 1..=rings {
        for sector in 0..6 {
            for i in 0..ring {
                let (inner, outer) = (sector * (ring - 1) + i, sector * ring + i);
                let next = vertex(ring, outer + 1);
                cells.extend([vertex(ring - 1, inner), vertex(ring, outer), next]);
                if i + 1 < ring {
                    cells.extend([vertex(ring - 1, inner), next, vertex(ring - 1, inner + 1)]);
                }
            }
        }
    }
    let state = State::straight(CellKind::Triangle, 2, points, cells)?;
    let mut tags = Tags::new();
    for name in ["boundary", "circle"] {
        tags.insert_sides(name, state.topology.boundary_sides().to_vec());
    }
    Ok(Mesh::from_state(2, state.with_tags(tags)?))
}

/// The unit sphere as a closed surface of `20·4^level` triangles with outward normals: an
/// icosahedron, refined and projected `level` times.
///
/// # Errors
/// [`TooMany`](GeometryError::TooMany) past 32-bit indices (level 12).
pub fn sphere(level: usize) -> Result<Mesh, GeometryError> {
    let g = (1.0 + 5f64.sqrt()) / 2.0;
    let mut points = Vec::new();
    // Vertices 4k..4k+4: the golden rectangle across axis k.
    for axis in 0..3 {
        for (a, b) in [(1.0, g), (-1.0, g), (1.0, -g), (-1.0, -g)] {
            let mut x = [0.0; 3];
            x[(axis + 1) % 3] = a;
            x[(axis + 2) % 3] = b;
            points.push(x);
        }
    }
    // Faces are the triples of vertices at the edge length 2, outward.
    let distance = |a: usize, b: usize| {
        let d = super::check::sub(points[a], points[b]);
        super::check::dot(d, d)
    };
    let near = |a: usize, b: usize| (distance(a, b) - 4.0).abs() < 1e-9;
    let mut cells = Vec::new();
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                if near(a, b) && near(b, c) && near(c, a) {
                    let n = super::check::cross(points[a], points[b]);
                    let outward = super::check::dot(n, points[c]) > 0.0;
                    let (b, c) = if outward { (b, c) } else { (c, b) };
                    cells.extend([a as u32, b as u32, c as u32]);
                }
            }
        }
    }
    round(CellKind::Triangle, points, cells, level)
}

/// The unit sphere as a closed surface of `6·4^level` quads with outward normals: a cube,
/// refined and projected `level` times.
///
/// # Errors
/// [`TooMany`](GeometryError::TooMany) past 32-bit indices (level 14).
pub fn sphere_quads(level: usize) -> Result<Mesh, GeometryError> {
    let cube = CellKind::Hex;
    let points = cube.vertices().iter().map(|v| v.map(|x| 2.0 * x - 1.0));
    let cells = (0..6).flat_map(|s| cube.side_vertices(s).iter().map(|&v| v as u32));
    round(CellKind::Quad, points.collect(), cells.collect(), level)
}

fn round(
    kind: CellKind,
    points: Vec<[f64; 3]>,
    cells: Vec<u32>,
    level: usize,
) -> Result<Mesh, GeometryError> {
    // Refused here, before the levels below it are built.
    let faces = (cells.len() / kind.vertex_count()) as u128;
    let count = faces.saturating_mul(4u128.saturating_pow(level.min(60) as u32));
    super::sides::check_counts(kind, count.saturating_add(2), count)?;
    let project = |x: [f64; 3]| {
        let length = super::check::norm(x);
        x.map(|c| c / length)
    };
    let mut mesh = Mesh::new(kind, 3, points, cells)?.moved(project)?;
    for _ in 0..level {
        mesh = mesh.refined()?.moved(project)?;
    }
    Ok(mesh)
}

/// The segment from `lower` to `upper` in `cells` equal cells. Its end points are the side tags
/// `left` and `right`.
///
/// # Errors
/// As [`Grid2::new`](super::Grid2::new).
pub fn segments(cells: usize, lower: f64, upper: f64) -> Result<Mesh, GeometryError> {
    let lattice = Lattice::new(1, &[cells], &[lower], &[upper], CellKind::Segment, 1)?;
    on_lattice(CellKind::Segment, &lattice, |[i, _, _], cells| {
        cells.extend([i as u32, i as u32 + 1]);
    })
}
