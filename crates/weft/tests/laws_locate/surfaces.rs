//! Signed distances: sign at faces, edges and vertices of blunt and spiky bodies.

use super::*;
use proptest::prelude::*;

/// A body from corners and outward triangles.
fn body(points: &[Vec3], cells: &[[u32; 3]]) -> Mesh {
    Mesh::new(CellKind::Triangle, 3, points.to_vec(), cells.concat()).unwrap()
}

/// The surface of a mesh of tets, outward.
fn skin(tets: &Mesh) -> Mesh {
    let (t, map) = (tets.topology(), tets.map());
    let mut cells = Vec::new();
    for &side in t.boundary_sides() {
        let v = t.side_vertices(side as usize);
        let x = v.iter().map(|&v| map.vertex(v)).collect::<Vec<_>>();
        let inside = map.mean(t.cell_vertices(t.side_cells(side as usize)[0] as usize));
        let (a, b, c) = (sub(x[1], x[0]), sub(x[2], x[0]), sub(x[0], inside));
        let volume = a[0] * (b[1] * c[2] - b[2] * c[1])
            + a[1] * (b[2] * c[0] - b[0] * c[2])
            + a[2] * (b[0] * c[1] - b[1] * c[0]);
        cells.extend(if volume > 0.0 {
            [v[0], v[1], v[2]]
        } else {
            [v[0], v[2], v[1]]
        });
    }
    // Only the vertices on the surface.
    let mut number = vec![u32::MAX; t.vertex_count()];
    let mut points = Vec::new();
    for v in &mut cells {
        let n = &mut number[*v as usize];
        if *n == u32::MAX {
            *n = points.len() as u32;
            points.push(map.vertex(*v));
        }
        *v = *n;
    }
    Mesh::new(CellKind::Triangle, 3, points, cells).unwrap()
}

fn check_sign(name: &str, surface: &Surface, x: Vec3) {
    let signed = surface.signed_distance(x, f64::INFINITY).unwrap();
    let nearest = surface.locator().closest(x, f64::INFINITY).unwrap();
    assert_eq!(signed.distance.abs(), nearest.distance, "{name}");
    assert_eq!((signed.cell, signed.xi), (nearest.cell, nearest.xi));
    assert!((norm(signed.gradient) - 1.0).abs() < 1e-14, "{name} {x:?}");
    // Closer than rounding the winding number is as undecided as the sign.
    if nearest.distance > 1e-9 {
        let inside = surface.winding_number(x) > 0.5;
        assert_eq!(signed.distance < 0.0, inside, "{name} {x:?} {signed:?}");
        // Following the gradient leads to the closest point.
        for d in 0..3 {
            let back = x[d] - signed.distance * signed.gradient[d];
            assert!(
                (back - signed.position[d]).abs() < 1e-9 * (1.0 + nearest.distance),
                "{name}"
            );
        }
    }
}

fn bodies() -> Vec<(&'static str, Surface)> {
    let surface = |(name, mesh): (_, Mesh)| (name, Surface::new(&mesh).unwrap());
    body_meshes().into_iter().map(surface).collect()
}

fn body_meshes() -> Vec<(&'static str, Mesh)> {
    let tet = |apex: Vec3| {
        body(
            &[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], apex],
            &[[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]],
        )
    };
    let cube = box_tets([2, 2, 2], [0.0; 3], [1.0; 3]).unwrap();
    // An L: the cube's 8 boxes of 6 tets without the boxes in one corner column.
    let (t, map) = (cube.topology(), cube.map());
    let cells: Vec<u32> = (0..t.cell_count())
        .filter(|&c| {
            let m = map.mean(t.cell_vertices(c));
            !(m[0] > 0.5 && m[1] > 0.5)
        })
        .flat_map(|c| t.cell_vertices(c).to_vec())
        .collect();
    let l = Mesh::new(CellKind::Tet, 3, map.nodes.clone(), cells).unwrap();
    let wedge = box_tets([3, 3, 3], [0.0; 3], [1.0; 3]).unwrap();
    let wedge = wedge
        .moved(|[a, b, c]| [a, b, c * (1e-3 + 0.05 * a)])
        .unwrap();
    vec![
        ("tet", tet([0.2, 0.2, 1.0])),
        ("spike", tet([3.0, 3.0, 1.0])),
        ("needle", tet([0.3, 0.3, 40.0])),
        ("leaning spike", tet([-8.0, 0.1, 0.3])),
        ("cube", skin(&cube)),
        ("L", skin(&l)),
        ("wedge", skin(&wedge)),
        ("torus", torus(24, 12)),
    ]
}

fn torus(around: u32, across: u32) -> Mesh {
    let mut points = Vec::new();
    let mut cells = Vec::new();
    let turn = |i: u32, n: u32| 2.0 * std::f64::consts::PI * i as f64 / n as f64;
    for i in 0..around {
        for j in 0..across {
            let (u, v) = (turn(i, around), turn(j, across));
            let r = 1.0 + 0.4 * v.cos();
            points.push([r * u.cos(), r * u.sin(), 0.4 * v.sin()]);
            let at = |a: u32, b: u32| (i + a) % around * across + (j + b) % across;
            cells.extend([at(0, 0), at(1, 0), at(1, 1), at(0, 0), at(1, 1), at(0, 1)]);
        }
    }
    Mesh::new(CellKind::Triangle, 3, points, cells).unwrap()
}

#[test]
fn signs_agree_with_winding_numbers() {
    let mut random = Random(59);
    for (name, surface) in bodies() {
        assert!(surface.volume() > 0.0, "{name}");
        for _ in 0..400 {
            check_sign(name, &surface, random.point(3, -1.5, 1.5));
            check_sign(name, &surface, random.point(3, -0.1, 1.1));
        }
    }
}

#[test]
fn signs_near_vertices_edges_and_faces() {
    // A sphere of directions round every vertex and edge midpoint, near and nearer.
    let mut random = Random(61);
    for (name, mesh) in body_meshes() {
        let surface = Surface::new(&mesh).unwrap();
        let mut places = Vec::new();
        for cell in 0..mesh.topology().cell_count().min(60) {
            for xi in [
                [0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [0.5, 0.0, 0.0],
                [0.5, 0.5, 0.0],
                [0.3, 0.3, 0.0],
            ] {
                places.push(frame_at(&mesh, cell, xi).position);
            }
        }
        for p in places {
            for size in [0.1, 1e-3, 1e-6] {
                for _ in 0..12 {
                    let d = random.point(3, -1.0, 1.0);
                    check_sign(name, &surface, std::array::from_fn(|i| p[i] + size * d[i]));
                }
            }
            let on = surface.signed_distance(p, 1.0).unwrap();
            assert!(on.distance.abs() < 1e-14, "{name}");
            assert!((norm(on.gradient) - 1.0).abs() < 1e-14, "{name}");
        }
    }
}

#[test]
fn the_cube_has_its_exact_distance() {
    let (_, cube) = bodies().swap_remove(4);
    let mut random = Random(67);
    for _ in 0..2000 {
        let x = random.point(3, -1.0, 2.0);
        let out = x.map(|c| (-c).max(c - 1.0));
        let outside = norm(out.map(|c| c.max(0.0)));
        let exact = if outside > 0.0 {
            outside
        } else {
            out.into_iter().fold(f64::NEG_INFINITY, f64::max)
        };
        let found = cube.signed_distance(x, 10.0).unwrap();
        assert!((found.distance - exact).abs() < 1e-15, "{x:?}");
    }
    assert!((cube.volume() - 1.0).abs() < 1e-14);
    // On the planes of the faces but off the cube, the sign is that of outside.
    let beside = cube.signed_distance([2.0, 0.5, 1.0], 10.0).unwrap();
    assert_eq!(beside.distance, 1.0);
    assert_eq!(cube.signed_distance([2.0, 0.5, 1.0], 0.5), None);
}

#[test]
fn the_sphere_has_its_distance_up_to_its_facets() {
    let mesh = sphere(4).unwrap();
    let ball = Surface::new(&mesh).unwrap();
    let (t, map) = (mesh.topology(), mesh.map());
    let edge = |s: usize| {
        let [a, b] = t.edge_vertices(s).map(|v| map.vertex(v));
        norm(sub(a, b))
    };
    // Facets without obtuse angles have circumcircles of radius h/√2 at most, of sagitta h²/4.
    let longest = (0..t.side_count()).map(edge).fold(0.0, f64::max);
    let sag = longest * longest / 4.0;
    let mut random = Random(71);
    for _ in 0..2000 {
        let x = random.point(3, -2.0, 2.0);
        let found = ball.signed_distance(x, 10.0).unwrap();
        let exact = norm(x) - 1.0;
        assert!(
            (found.distance - exact).abs() < sag,
            "{x:?} {found:?} {exact}"
        );
        if norm(x) > 1.2 {
            let radial = x.map(|c| c / norm(x));
            // Normals of facets are off by their size over the radius at most.
            assert!(
                norm(sub(found.gradient, radial)) < 0.1,
                "{x:?} {found:?} {radial:?}"
            );
        }
    }
}

#[test]
fn an_inward_surface_is_negative_outside() {
    let cube = skin(&box_tets([1, 1, 1], [0.0; 3], [1.0; 3]).unwrap());
    let outward = Surface::new(&cube).unwrap();
    let map = cube.map();
    let turned: Vec<u32> = cube
        .topology()
        .cells()
        .chunks(3)
        .flat_map(|c| [c[0], c[2], c[1]])
        .collect();
    let inward = Mesh::new(CellKind::Triangle, 3, map.nodes.clone(), turned).unwrap();
    let inward = Surface::new(&inward).unwrap();
    assert_eq!(inward.volume(), -outward.volume());
    let mut random = Random(73);
    for _ in 0..300 {
        let x = random.point(3, -0.5, 1.5);
        let (a, b) = (
            outward.signed_distance(x, 9.0),
            inward.signed_distance(x, 9.0),
        );
        assert_eq!(a.unwrap().distance, -b.unwrap().distance);
    }
}

#[test]
fn bodies_that_touch_in_a_vertex() {
    // Two tets tip to tip: no single normal at the tip, so the winding number decides.
    let low = [
        [0.0; 3],
        [1.0, 0.0, -1.0],
        [0.0, 1.0, -1.0],
        [-1.0, -1.0, -1.0],
    ];
    let high = low.map(|[a, b, c]| [a, b, -c]);
    let points = [low[0], low[1], low[2], low[3], high[1], high[2], high[3]];
    let cells = [
        [1, 3, 2],
        [0, 1, 2],
        [0, 2, 3],
        [0, 3, 1],
        [4, 5, 6],
        [0, 5, 4],
        [0, 6, 5],
        [0, 4, 6],
    ];
    let surface = Surface::new(&body(&points, &cells)).unwrap();
    assert!((surface.volume() - 1.0).abs() < 1e-14);
    let mut random = Random(79);
    for _ in 0..2000 {
        check_sign("tips", &surface, random.point(3, -0.2, 0.2));
        check_sign("tips", &surface, random.point(3, -1.5, 1.5));
    }
}

#[test]
fn what_is_no_closed_surface_says_so() {
    let plane = rectangle_triangles([1, 1], [0.0; 2], [1.0; 2]).unwrap();
    assert!(matches!(
        Surface::new(&plane),
        Err(SurfaceError::NotTriangles { space_dim: 2, .. })
    ));
    let quads = sphere_quads(1).unwrap();
    assert!(matches!(
        Surface::new(&quads),
        Err(SurfaceError::NotTriangles { .. })
    ));
    let curved = sphere(1).unwrap().elevated(2).unwrap();
    assert!(matches!(
        Surface::new(&curved),
        Err(SurfaceError::NotTriangles { degree: 2, .. })
    ));
    let open = plane.lifted(|_, _| 0.0).unwrap();
    let Err(SurfaceError::Open { edges }) = Surface::new(&open) else {
        panic!("an open surface was accepted");
    };
    assert_eq!(edges.len(), 4);
    assert!(edges.iter().all(|e| e[0] < e[1] && *e != [0, 3]));
    let message = SurfaceError::Open { edges }.to_string();
    assert!(message.contains("4 edges"), "{message}");
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let cells = vec![0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 2, 3];
    let mixed = Mesh::new(CellKind::Triangle, 3, points, cells).unwrap();
    let Err(SurfaceError::Orientation { edges }) = Surface::new(&mixed) else {
        panic!("a surface without orientation was accepted");
    };
    assert_eq!(edges.len(), 3);
    assert!(edges.iter().all(|e| e.contains(&3) || *e == [0, 2]));
}

#[test]
fn a_surface_follows_its_mesh() {
    let mesh = sphere(2).unwrap();
    let mut surface = Surface::new(&mesh).unwrap();
    let map = mesh.map();
    let moved = map
        .nodes
        .iter()
        .map(|x| [2.0 * x[0] + 5.0, 2.0 * x[1], 2.0 * x[2]]);
    mesh.move_vertices(moved.collect()).unwrap();
    surface.refit(&mesh).unwrap();
    let fresh = Surface::new(&mesh).unwrap();
    let mut random = Random(83);
    for _ in 0..300 {
        let x = random.point(3, -3.0, 8.0);
        assert_eq!(
            surface.signed_distance(x, 20.0),
            fresh.signed_distance(x, 20.0)
        );
    }
    assert_eq!(surface.volume(), fresh.volume());
    let other = sphere(1).unwrap();
    assert!(matches!(surface.refit(&other), Err(SurfaceError::Refit(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Random tets, from fat to flat: signs against winding numbers.
    #[test]
    fn random_tets(seed in any::<u64>(), squash in 0u32..4) {
        let mut random = Random(seed);
        let squash = 10f64.powi(-(squash as i32));
        let points: Vec<Vec3> = (0..4)
            .map(|_| random.point(3, -1.0, 1.0))
            .map(|[a, b, c]| [a, b, c * squash])
            .collect();
        let tet = Mesh::reoriented(CellKind::Tet, 3, points, vec![0, 1, 2, 3]);
        prop_assume!(tet.is_ok());
        let surface = Surface::new(&skin(&tet.unwrap())).unwrap();
        for _ in 0..30 {
            check_sign("random tet", &surface, random.point(3, -1.0, 1.0));
            let [a, b, c] = random.point(3, -1.0, 1.0);
            check_sign("random tet", &surface, [a, b, c * squash]);
        }
    }
}

/// On the surface the gradient has length 1 even where its triangles have no normal in common: at
/// a vertex where two bodies touch, and on the shut edges of a bag without volume.
#[test]
fn issue_004_gradient_without_a_common_normal() {
    let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let corners = corners.map(|[x, y]| [x, y, 0.0]);
    let bag = body(&corners, &[[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]);
    let bag = Surface::new(&bag).unwrap();
    assert_eq!(bag.volume(), 0.0);
    for x in corners.into_iter().chain([
        [0.5, 0.0, 0.0],
        [1.0, 0.25, 0.0],
        [0.5, 0.5, 0.0],
        [0.2, 0.3, 0.0],
    ]) {
        let on = bag.signed_distance(x, 1.0).unwrap();
        assert_eq!(on.distance, 0.0);
        assert_eq!(on.gradient.map(f64::abs), [0.0, 0.0, 1.0], "{x:?}");
    }
    let cells = [
        [1, 3, 2],
        [0, 1, 2],
        [0, 2, 3],
        [0, 3, 1],
        [4, 5, 6],
        [0, 5, 4],
        [0, 6, 5],
        [0, 4, 6],
    ];
    let ring = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]];
    let mut points = vec![[0.0; 3]];
    points.extend(ring.map(|[x, y]| [x, y, -1.0]));
    points.extend(ring.map(|[x, y]| [x, y, 1.0]));
    let tips = Surface::new(&body(&points, &cells)).unwrap();
    check_sign("the tip", &tips, [0.0; 3]);
}
