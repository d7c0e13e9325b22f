//! Closest points by parry, in both of its precisions.

/// The same code over a crate of parry and its kind of number.
macro_rules! with {
    ($name:ident, $parry:ident, $real:ty) => {
        pub mod $name {
            use rayon::prelude::*;
            use weft::geometry::{Geometry, Mesh};
            use $parry::bounding_volume::Aabb;
            use $parry::math::Vector;
            use $parry::partitioning::{Bvh, BvhBuildStrategy};
            use $parry::query::{PointProjection, PointQuery, PointQueryWithLocation};
            use $parry::shape::{Tetrahedron, TriMesh};

            use crate::{Closest, Vec3};

            /// Points that a task asks about.
            const CHUNK: usize = 256;

            fn vector(x: Vec3) -> Vector {
                Vector::new(x[0] as $real, x[1] as $real, x[2] as $real)
            }

            /// Number of the cell, closest point and distance.
            #[derive(Clone, Copy, Default)]
            pub struct Answer {
                _cell: u32,
                _position: Vector,
                distance: $real,
            }

            impl Answer {
                fn new(x: Vector, cell: u32, projection: &PointProjection) -> Answer {
                    Answer {
                        _cell: cell,
                        _position: projection.point,
                        distance: (projection.point - x).length(),
                    }
                }
            }

            fn fill(points: &[Vec3], out: &mut [Answer], each: impl Fn(Vector) -> Answer + Sync) {
                let chunks = out.par_chunks_mut(CHUNK).zip(points.par_chunks(CHUNK));
                chunks.for_each(|(out, points)| {
                    for (slot, &x) in out.iter_mut().zip(points) {
                        *slot = each(vector(x));
                    }
                });
            }

            fn positions(mesh: &Mesh) -> Vec<Vector> {
                let count = mesh.topology().vertex_count() as u32;
                (0..count).map(|v| vector(mesh.map().vertex(v))).collect()
            }

            /// Parry's mesh of triangles.
            pub struct Triangles(TriMesh);

            impl Triangles {
                pub fn new(mesh: &Mesh) -> Triangles {
                    let topology = mesh.topology();
                    let cells = topology.cells().chunks_exact(3);
                    let cells = cells.map(|c| [c[0], c[1], c[2]]).collect();
                    Triangles(TriMesh::new(positions(mesh), cells).expect("a mesh of triangles"))
                }
            }

            impl Closest for Triangles {
                type Answer = Answer;

                fn ask(&self, points: &[Vec3], out: &mut [Answer]) {
                    fill(points, out, |x| {
                        let (found, (cell, _)) =
                            self.0.project_local_point_and_get_location(x, false);
                        Answer::new(x, cell, &found)
                    });
                }

                fn distance(answer: &Answer) -> f64 {
                    answer.distance as f64
                }
            }

            /// Parry has no mesh of tets: its tree of boxes over its tetrahedra.
            pub struct Tets {
                bvh: Bvh,
                tets: Vec<Tetrahedron>,
            }

            impl Tets {
                pub fn new(mesh: &Mesh) -> Tets {
                    let x = positions(mesh);
                    let topology = mesh.topology();
                    let cells = topology.cells().chunks_exact(4);
                    let tets: Vec<Tetrahedron> = cells
                        .map(|c| {
                            let [a, b, c, d] = [0, 1, 2, 3].map(|i| x[c[i] as usize]);
                            Tetrahedron::new(a, b, c, d)
                        })
                        .collect();
                    let boxes = tets.iter().map(|t| {
                        let lower = t.a.min(t.b).min(t.c.min(t.d));
                        Aabb::new(lower, t.a.max(t.b).max(t.c.max(t.d)))
                    });
                    let bvh = Bvh::from_iter(BvhBuildStrategy::Binned, boxes.enumerate());
                    Tets { bvh, tets }
                }
            }

            impl Closest for Tets {
                type Answer = Answer;

                fn ask(&self, points: &[Vec3], out: &mut [Answer]) {
                    fill(points, out, |x| {
                        let found = self.bvh.find_best(
                            <$real>::MAX,
                            |node, _| node.aabb().distance_to_local_point(x, true),
                            |cell, _| {
                                let found = self.tets[cell as usize].project_local_point(x, true);
                                Some(((found.point - x).length(), found))
                            },
                        );
                        let (cell, (_, found)) = found.expect("a nearest tet");
                        Answer::new(x, cell, &found)
                    });
                }

                fn distance(answer: &Answer) -> f64 {
                    answer.distance as f64
                }
            }
        }
    };
}

with!(double, parry3d_f64, f64);
with!(single, parry3d, f32);
