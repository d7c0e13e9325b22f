//! Distance to surfaces of triangles, closed or open.

use crate::bytes::{Bytes, sum_of_bytes};
use glam::DVec3;
use weft::geometry::{Geometry, Locator, Mesh, Surface, SurfaceError, Topology};

use super::shape::Sample;

/// Reference coordinates up to this count as lying on the edge.
const ON_EDGE: f64 = 1e-10;

/// Triangles, ready for questions.
#[derive(Clone, Debug)]
pub(super) struct Triangles {
    finder: Finder,
    normals: Normals,
    center: DVec3,
    reach: f64,
}

#[derive(Clone, Debug)]
enum Finder {
    Closed(Surface),
    Open(Locator),
}

/// Bytes a triangle that a search for the nearest and a surface with its topology take, about.
const SEARCH_BYTES: usize = 270;
const SURFACE_BYTES: usize = 350;

impl Bytes for Triangles {
    fn bytes(&self) -> usize {
        let each = match &self.finder {
            Finder::Closed(_) => SURFACE_BYTES,
            Finder::Open(_) => SEARCH_BYTES,
        };
        let Normals { faces, parts } = &self.normals;
        sum_of_bytes!(faces, parts) + each * faces.len()
    }
}

impl Triangles {
    pub fn new(mesh: &Mesh) -> Result<Triangles, String> {
        let finder = match Surface::new(mesh) {
            Ok(surface) => Finder::Closed(surface),
            Err(SurfaceError::Open { .. }) => {
                if let Some([a, b]) = disagreement(&mesh.topology()) {
                    return Err(format!(
                        "the triangles of the mesh disagree about orientation at the edge between vertices {a} and {b}; reverse one of the two"
                    ));
                }
                Finder::Open(Locator::new(mesh))
            }
            Err(error) => return Err(format!("mesh: {error}")),
        };
        let map = mesh.map();
        let used = mesh.topology();
        let corner = |v: &u32| DVec3::from(map.vertex(*v));
        let (lower, upper) = used.cells().iter().map(corner).fold(
            (DVec3::INFINITY, DVec3::NEG_INFINITY),
            |(lower, upper), p| (lower.min(p), upper.max(p)),
        );
        Ok(Triangles {
            finder,
            normals: Normals::new(mesh),
            center: 0.5 * (lower + upper),
            reach: 0.5 * lower.distance(upper),
        })
    }

    pub fn bounds(&self) -> (DVec3, f64) {
        (self.center, self.reach)
    }

    pub fn sample(&self, x: DVec3, limit: f64, flat: f64) -> Option<Sample> {
        let (cell, xi, point, side) = match &self.finder {
            Finder::Closed(surface) => {
                let s = surface.signed_distance(x.into(), limit)?;
                (s.cell, s.xi, s.position, Some(s.distance < 0.0))
            }
            Finder::Open(locator) => {
                let n = locator.closest(x.into(), limit)?;
                (n.cell, n.xi, n.position, None)
            }
        };
        let point = DVec3::from(point);
        let offset = x - point;
        let distance = offset.length();
        let pseudo = self.normals.at(cell, xi);
        let inside = side.unwrap_or_else(|| offset.dot(pseudo) < 0.0);
        let sign = if inside { -1.0 } else { 1.0 };
        let normal = if distance > flat {
            sign * offset / distance
        } else {
            pseudo
        };
        Some(Sample {
            distance: sign * distance,
            normal,
            point,
        })
    }
}

/// Normals of faces, edges and vertices (J. A. Bærentzen, H. Aanæs, "Signed distance computation
/// using the angle weighted pseudonormal", 2005); past a border as if nothing were there.
#[derive(Clone, Debug)]
struct Normals {
    faces: Vec<DVec3>,
    /// Three edges and three vertices of each triangle: few enough to need no tables.
    parts: Vec<[DVec3; 6]>,
}

impl Normals {
    fn new(mesh: &Mesh) -> Normals {
        let (topology, map) = (mesh.topology(), mesh.map());
        let corners = |cell: usize| -> [DVec3; 3] {
            let v = topology.cell_vertices(cell);
            std::array::from_fn(|i| map.vertex(v[i]).into())
        };
        let mut faces = Vec::with_capacity(topology.cell_count());
        let mut vertices = vec![DVec3::ZERO; topology.vertex_count()];
        for cell in 0..topology.cell_count() {
            let x = corners(cell);
            let unit = |i: usize, j: usize| (x[j] - x[i]).normalize_or_zero();
            let face = unit(0, 1).cross(unit(0, 2)).normalize_or_zero();
            faces.push(face);
            for i in 0..3 {
                let (u, v) = (unit(i, (i + 1) % 3), unit(i, (i + 2) % 3));
                let angle = u.cross(v).length().atan2(u.dot(v));
                vertices[topology.cell_vertices(cell)[i] as usize] += angle * face;
            }
        }
        let parts = (0..topology.cell_count()).map(|cell| {
            let or_face = |v: DVec3| v.try_normalize().unwrap_or(faces[cell]);
            std::array::from_fn(|i| match i {
                // Both are the same cell on the border.
                0..3 => {
                    let side = topology.cell_sides(cell)[i] as usize;
                    let [a, b] = topology.side_cells(side);
                    or_face(faces[a as usize] + faces[b as usize])
                }
                _ => or_face(vertices[topology.cell_vertices(cell)[i - 3] as usize]),
            })
        });
        Normals {
            parts: parts.collect(),
            faces,
        }
    }

    /// The normal of the part of a triangle that `xi` lies on.
    fn at(&self, cell: usize, xi: [f64; 3]) -> DVec3 {
        // Weights of the corners; edge e runs from corner e to the next.
        let weight = [1.0 - xi[0] - xi[1], xi[0], xi[1]];
        let gone = weight.map(|w| w <= ON_EDGE);
        let parts = &self.parts[cell];
        match gone {
            [false, false, true] => parts[0],
            [true, false, false] => parts[1],
            [false, true, false] => parts[2],
            [false, true, true] => parts[3],
            [true, false, true] => parts[4],
            [true, true, false] => parts[5],
            _ => self.faces[cell],
        }
    }
}

/// Vertices of an edge that both of its triangles run along in the same direction.
fn disagreement(t: &Topology) -> Option<[u32; 2]> {
    let agrees = |side: usize| {
        let outer = t.side_cells(side)[1] as usize;
        let local = t.side_locals(side)[1] as usize;
        let [a, b] = [local, (local + 1) % 3].map(|l| t.cell_vertices(outer)[l]);
        t.side_vertices(side) == [b, a]
    };
    t.interior_sides()
        .iter()
        .find(|&&s| !agrees(s as usize))
        .map(|&s| t.edge_vertices(s as usize))
}
