//! Signed distance to a closed surface of triangles.
//!
//! [`Surface`] takes the distance from a [`Locator`](super::Locator) and the sign from the
//! pseudo-normal of the part of the surface (face, edge or vertex) that the closest point lies
//! on, weighted at vertices by angles (J. A. Bærentzen, H. Aanæs, "Signed distance computation
//! using the angle weighted pseudonormal", 2005), which is right at sharp edges and spikes,
//! where the normal of any one triangle is not.
//!
//! The invariant: the surface has no boundary and its triangles agree about their orientation;
//! the distance is positive on the side that the normals point to.

mod error;
mod winding;

use std::sync::Arc;

use super::locate::vector::{Vec3, cross, dot, norm2, sub};
use super::locate::{Hit, INTERIOR, Scratch, fill, with_scratch};
use super::{Frozen, Geometry, GeometryMap, Locator, Search, Topology};
use crate::element::CellKind;

pub use error::SurfaceError;

/// Signed distance to a surface and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedDistance {
    /// Distance, negative inside (against the normals).
    pub distance: f64,
    /// Gradient of the distance, a unit vector; on the surface the (pseudo-)normal, or that of
    /// the triangle where the triangles around have none in common.
    pub gradient: [f64; 3],
    /// The closest point.
    pub position: [f64; 3],
    /// The smallest triangle that the closest point lies on.
    pub cell: usize,
    /// Reference coordinates of the closest point in it.
    pub xi: [f64; 3],
}

/// A closed, oriented surface of straight triangles in space.
///
/// ```
/// use weft::geometry::{Surface, shapes};
///
/// let surface = Surface::new(&shapes::sphere(4)?)?;
/// let inside = surface.signed_distance([0.0, 0.0, 0.5], f64::INFINITY);
/// assert!(inside.is_some_and(|s| (s.distance + 0.5).abs() < 0.01));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Surface {
    locator: Locator,
    topology: Arc<Topology>,
    map: Arc<GeometryMap>,
    /// Unit normals of the triangles.
    faces: Vec<Vec3>,
    /// Sums of the normals at each side (an edge of the surface).
    edges: Vec<Vec3>,
    /// Angle-weighted sums at each vertex; zero where parts of the surface touch only there.
    vertices: Vec<Vec3>,
    volume: f64,
}

fn unit(v: Vec3) -> Vec3 {
    // Scaled first: squares of small lengths would underflow.
    let size = v.iter().fold(0.0f64, |m, c| m.max(c.abs()));
    if size == 0.0 {
        return v;
    }
    let v = v.map(|c| c / size);
    let length = norm2(v).sqrt();
    v.map(|c| c / length)
}

impl Surface {
    /// A surface at the present positions of a mesh of triangles in space.
    ///
    /// # Errors
    /// [`NotTriangles`](SurfaceError::NotTriangles) for other cells or dimensions,
    /// [`Open`](SurfaceError::Open) if edges have only one triangle,
    /// [`Orientation`](SurfaceError::Orientation) if neighbours disagree about theirs.
    pub fn new(geometry: &dyn Geometry) -> Result<Surface, SurfaceError> {
        let geometry = &Frozen::new(geometry);
        let (topology, map) = (geometry.topology(), geometry.map());
        let (kind, space_dim) = (geometry.cell_kind(), geometry.space_dim());
        if kind != CellKind::Triangle || space_dim != 3 || map.degree != 1 {
            return Err(SurfaceError::NotTriangles {
                kind,
                space_dim,
                degree: map.degree,
            });
        }
        let open = topology.boundary_sides();
        if !open.is_empty() {
            return Err(SurfaceError::Open {
                edges: error::edges(&topology, open),
            });
        }
        let turned: Vec<u32> = (0..topology.side_count() as u32)
            .filter(|&s| !agrees(&topology, s as usize))
            .collect();
        if !turned.is_empty() {
            return Err(SurfaceError::Orientation {
                edges: error::edges(&topology, &turned),
            });
        }
        let mut surface = Surface {
            locator: Locator::new(geometry),
            faces: Vec::new(),
            edges: Vec::new(),
            vertices: Vec::new(),
            volume: 0.0,
            topology,
            map,
        };
        surface.find_normals();
        Ok(surface)
    }

    /// Follows a surface whose vertices moved; see [`Locator::refit`].
    ///
    /// # Errors
    /// [`Refit`](SurfaceError::Refit) if the triangles are not the same ones; the surface is
    /// then as it was.
    pub fn refit(&mut self, geometry: &dyn Geometry) -> Result<(), SurfaceError> {
        let geometry = &Frozen::new(geometry);
        self.locator.refit(geometry)?;
        self.map = geometry.map();
        self.find_normals();
        Ok(())
    }

    /// The locator of the triangles.
    pub fn locator(&self) -> &Locator {
        &self.locator
    }

    /// The enclosed volume; negative if the normals point inward, so that the distance is
    /// negative outside.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// The signed distance of `x`, if it is at most `max_dist` in size; `None` also for points
    /// that [`Locator::closest`] does not accept.
    pub fn signed_distance(&self, x: [f64; 3], max_dist: f64) -> Option<SignedDistance> {
        with_scratch(|scratch| self.signed_in(x, max_dist, scratch))
    }

    /// [`signed_distance`](Self::signed_distance) for each of `points`, in parallel.
    ///
    /// # Panics
    /// If `out` is not as long as `points`.
    pub fn signed_distance_many(
        &self,
        points: &[[f64; 3]],
        max_dist: f64,
        out: &mut [Option<SignedDistance>],
    ) {
        assert_eq!(points.len(), out.len(), "one answer per point");
        fill(out, |i, scratch| {
            self.signed_in(points[i], max_dist, scratch)
        });
    }

    fn signed_in(&self, x: Vec3, max_dist: f64, scratch: &mut Scratch) -> Option<SignedDistance> {
        let (cell, hit) = self
            .locator
            .closest_in(x, &Search::within(max_dist), scratch)?;
        let normal = self.normal(cell, &hit);
        let offset = sub(x, hit.position);
        let distance = hit.distance2.sqrt();
        let height = dot(offset, normal);
        let negative = if hit.distance2 == 0.0 {
            false
        } else if height != 0.0 {
            height < 0.0
        } else {
            self.is_inside(x)
        };
        let gradient = if hit.feature == INTERIOR || hit.distance2 == 0.0 {
            // Where fans touch in a vertex, or a fold is shut, there is no common normal.
            match normal == [0.0; 3] {
                true => self.faces[cell],
                false => unit(normal),
            }
        } else {
            unit(if negative { offset.map(|c| -c) } else { offset })
        };
        Some(SignedDistance {
            distance: if negative { -distance } else { distance },
            gradient,
            position: hit.position,
            cell,
            xi: hit.xi,
        })
    }

    /// Pseudo-normal where a closest point lies.
    fn normal(&self, cell: usize, hit: &Hit) -> Vec3 {
        match hit.feature as usize {
            v @ 0..3 => self.vertices[self.topology.cell_vertices(cell)[v] as usize],
            e @ 3..6 => self.edges[self.topology.cell_sides(cell)[e - 3] as usize],
            _ => self.faces[cell],
        }
    }

    fn find_normals(&mut self) {
        let Surface {
            topology: t,
            map,
            faces,
            edges,
            vertices,
            volume,
            ..
        } = self;
        let corners = |cell: usize| -> [Vec3; 3] {
            let v = t.cell_vertices(cell);
            std::array::from_fn(|i| map.vertex(v[i]))
        };
        faces.clear();
        vertices.clear();
        vertices.resize(t.vertex_count(), [0.0; 3]);
        let origin = corners(0)[0];
        *volume = 0.0;
        for cell in 0..t.cell_count() {
            let x = corners(cell);
            let normal = unit(cross(sub(x[1], x[0]), sub(x[2], x[0])));
            faces.push(normal);
            let [a, b, c] = x.map(|p| sub(p, origin));
            *volume += dot(a, cross(b, c)) / 6.0;
            for i in 0..3 {
                let (u, v) = (sub(x[(i + 1) % 3], x[i]), sub(x[(i + 2) % 3], x[i]));
                // Accurate for all angles, unlike the inverse cosine.
                let angle = norm2(cross(unit(u), unit(v)))
                    .sqrt()
                    .atan2(dot(unit(u), unit(v)));
                let sum = &mut vertices[t.cell_vertices(cell)[i] as usize];
                (0..3).for_each(|d| sum[d] += angle * normal[d]);
            }
        }
        edges.clear();
        for side in 0..t.side_count() {
            let [a, b] = t.side_cells(side).map(|c| faces[c as usize]);
            edges.push(std::array::from_fn(|d| a[d] + b[d]));
        }
        for vertex in 0..t.vertex_count() {
            if !is_one_fan(t, vertex) {
                vertices[vertex] = [0.0; 3];
            }
        }
    }
}

/// Whether the two triangles at a side run along it in opposite directions.
fn agrees(t: &Topology, side: usize) -> bool {
    let outer = t.side_cells(side)[1] as usize;
    let local = t.side_locals(side)[1] as usize;
    let [a, b] = [local, (local + 1) % 3].map(|l| t.cell_vertices(outer)[l]);
    t.side_vertices(side) == [b, a]
}

/// Whether all triangles at a vertex are neighbours of each other round it. Where they are not,
/// parts of the surface touch in a point, and no normal at it tells inside from outside.
fn is_one_fan(t: &Topology, vertex: usize) -> bool {
    let cells = t.vertex_cells(vertex);
    let Some(&start) = cells.first() else {
        return true;
    };
    let mut cell = start;
    for turns in 1..=cells.len() {
        // Across the side that leaves the vertex, to the triangle that it enters.
        let at = t.cell_vertices(cell as usize).iter();
        let local = at.take_while(|&&v| v as usize != vertex).count();
        let side = t.cell_sides(cell as usize)[local] as usize;
        let [inner, outer] = t.side_cells(side);
        cell = if inner == cell { outer } else { inner };
        if cell == start {
            return turns == cells.len();
        }
    }
    false
}
