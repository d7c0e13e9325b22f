//! Locators of meshes against brute force over their cells.

use super::*;
use proptest::prelude::*;
use weft::element::Quadrature;

/// Points in, around and far from the unit box, and every kind of special place of the mesh.
fn points(random: &mut Random, g: &dyn Geometry) -> Vec<Vec3> {
    let dim = g.space_dim();
    let mut points: Vec<Vec3> = (0..60).map(|_| random.point(dim, -0.3, 1.3)).collect();
    points.extend((0..10).map(|_| random.point(dim, -30.0, 30.0)));
    points.extend((0..4).map(|_| random.point(dim, -1e6, 1e6)));
    let (t, map) = (g.topology(), g.map());
    points.extend((0..t.vertex_count().min(40)).map(|v| map.vertex(v as u32)));
    points.extend((0..t.side_count().min(40)).map(|s| map.mean(t.side_vertices(s))));
    points.extend((0..t.cell_count().min(20)).map(|c| map.mean(t.cell_vertices(c))));
    points
}

#[test]
fn nearest_cells_are_those_of_brute_force() {
    let mut random = Random(23);
    for (name, mesh) in meshes() {
        let locator = Locator::new(&mesh);
        assert_eq!(locator.cell_count(), mesh.topology().cell_count());
        assert_eq!(locator.geometry_id(), mesh.id());
        for x in points(&mut random, &mesh) {
            let exact = brute(&mesh, x, |_| true);
            assert_eq!(locator.closest(x, f64::INFINITY), exact, "{name} {x:?}");
            // A guess changes nothing, be it good, bad or no cell.
            for guess in [0, exact.unwrap().cell, usize::MAX] {
                let search = Search::within(f64::INFINITY).near(guess);
                assert_eq!(locator.closest_with(x, &search), exact, "{name} {x:?}");
            }
            // The distance is the limit, exactly.
            let distance = exact.unwrap().distance;
            assert_eq!(locator.closest(x, distance), exact, "{name} {x:?}");
            if distance > 0.0 {
                // Another cell at the same level may be nearer by a rounding error.
                if let Some(other) = locator.closest(x, distance.next_down()) {
                    assert!(other.distance < distance && other.distance > distance * (1.0 - 1e-13));
                }
                assert_eq!(locator.closest(x, distance * (1.0 - 1e-13)), None, "{name}");
                assert_eq!(locator.closest(x, 0.0), None);
            }
            let odd = |cell: usize| cell % 2 == 1;
            let search = Search::within(f64::INFINITY).among(&odd).near(2);
            assert_eq!(
                locator.closest_with(x, &search),
                brute(&mesh, x, odd),
                "{name}"
            );
            let none = |_: usize| false;
            let search = Search::within(f64::INFINITY).among(&none).near(0);
            assert_eq!(locator.closest_with(x, &search), None);
        }
    }
}

#[test]
fn bodies_hold_the_points_of_their_cells() {
    for (name, mesh) in meshes() {
        let (locator, kind) = (Locator::new(&mesh), mesh.cell_kind());
        let rule = Quadrature::new(kind, 3).unwrap();
        let body = kind.dim() == mesh.space_dim();
        for cell in 0..mesh.topology().cell_count() {
            for &xi in rule.points() {
                let x = frame_at(&mesh, cell, xi).position;
                let found = locator.find(x, 1e-12).unwrap();
                assert_eq!(found.cell, cell, "{name}");
                // Quadrature points are inside, so that the place is unique.
                assert!(
                    norm(sub(found.xi, xi)) < 1e-10,
                    "{name} {:?} {xi:?}",
                    found.xi
                );
                assert_eq!(locate(&mesh, x, 1e-12), Some((cell, found.xi)));
                let there = frame_at(&mesh, cell, found.xi).position;
                assert!(norm(sub(there, x)) < 1e-10);
                if body {
                    let nearest = locator.closest(x, f64::INFINITY).unwrap();
                    assert_eq!((nearest.cell, nearest.distance), (cell, 0.0), "{name}");
                }
            }
        }
    }
}

#[test]
fn the_smallest_cell_holds_a_shared_vertex() {
    for (name, mesh) in meshes() {
        let (t, map) = (mesh.topology(), mesh.map());
        let locator = Locator::new(&mesh);
        for vertex in 0..t.vertex_count() {
            let x = map.vertex(vertex as u32);
            let smallest = t.vertex_cells(vertex)[0] as usize;
            assert_eq!(
                locator.find(x, 0.0).map(|f| f.cell),
                Some(smallest),
                "{name}"
            );
            let nearest = locator.closest(x, 0.0).unwrap();
            assert_eq!((nearest.cell, nearest.distance), (smallest, 0.0), "{name}");
            let large = |cell: usize| cell > smallest;
            let next = t.vertex_cells(vertex).get(1).map(|&c| c as usize);
            let found = locator.find_among(x, 0.0, &large).map(|f| f.cell);
            assert_eq!(found, next, "{name}");
        }
        if mesh.map().degree > 1 || mesh.cell_kind().is_tensor() {
            continue;
        }
        for side in 0..t.side_count() {
            let x = map.mean(t.side_vertices(side));
            let smallest = t.side_cells(side)[0] as usize;
            assert_eq!(
                locator.find(x, 1e-14).map(|f| f.cell),
                Some(smallest),
                "{name}"
            );
            assert_eq!(
                locator.closest(x, 1e-14).map(|f| f.cell),
                Some(smallest),
                "{name}"
            );
        }
    }
}

#[test]
fn finding_is_the_closest_within_a_tolerance_of_the_cell() {
    let mut random = Random(29);
    for (name, mesh) in meshes() {
        let locator = Locator::new(&mesh);
        let cells = mesh.topology().cell_count();
        let sizes: Vec<f64> = (0..cells)
            .map(|c| {
                let nodes = nodes(&mesh, c);
                let extent = |d: usize| {
                    let all = nodes.iter().map(|x| x[d]);
                    let low = all.clone().fold(f64::INFINITY, f64::min);
                    all.fold(f64::NEG_INFINITY, f64::max) - low
                };
                extent(0).max(extent(1)).max(extent(2))
            })
            .collect();
        for tolerance in [0.0, 1e-3, 0.1, 1.0, 1e3] {
            for _ in 0..30 {
                let x = random.point(mesh.space_dim(), -0.5, 1.5);
                let exact = (0..cells).find_map(|c| {
                    let found = on_cell(&mesh, c, x);
                    (found.distance <= tolerance * sizes[c]).then_some((c, found.xi))
                });
                let found = locator.find(x, tolerance).map(|f| (f.cell, f.xi));
                assert_eq!(found, exact, "{name} {tolerance} {x:?}");
                assert_eq!(locate(&mesh, x, tolerance), exact, "{name} {tolerance}");
            }
        }
        for odd in [-1.0, f64::NAN] {
            let x = mesh.map().vertex(0);
            assert_eq!(locator.find(x, odd), locator.find(x, 0.0));
        }
    }
}

#[test]
fn tolerances_go_with_the_cell_and_not_with_the_world() {
    // The same small square near the origin and far away, at many sizes.
    for size in [1e-12, 1e-3, 1.0, 1e12] {
        let plane = rectangle_triangles([2, 2], [0.0; 2], [size, size]).unwrap();
        let locator = Locator::new(&plane);
        let off = [1.0005 * size, 0.25 * size, 0.0];
        assert!(locator.find(off, 2e-3).is_some());
        assert!(locator.find(off, 5e-4).is_none());
        let found = locator.closest(off, f64::INFINITY).unwrap();
        assert!((found.distance / size - 0.0005).abs() < 1e-12);
    }
}

#[test]
fn a_closer_point_on_the_way_has_the_same_closest_point() {
    let mut random = Random(31);
    for (name, mesh) in meshes() {
        let locator = Locator::new(&mesh);
        for _ in 0..40 {
            let x = random.point(mesh.space_dim(), -1.0, 2.0);
            let found = locator.closest(x, f64::INFINITY).unwrap();
            let p = found.position;
            let nearer = std::array::from_fn(|d| p[d] + 0.1 * (x[d] - p[d]));
            let again = locator.closest(nearer, f64::INFINITY).unwrap();
            // The closest point is only as well determined as the distance is curved.
            assert!(norm(sub(again.position, p)) < 1e-6, "{name}");
            assert!(
                (again.distance - 0.1 * found.distance).abs() < 1e-12,
                "{name}"
            );
        }
    }
}

#[test]
fn points_without_an_answer() {
    let mesh = sphere(1).unwrap();
    let locator = Locator::new(&mesh);
    for x in [
        [f64::NAN, 0.0, 0.0],
        [f64::INFINITY, 0.0, 0.0],
        [0.0, 1e200, 0.0],
    ] {
        assert_eq!(locator.closest(x, f64::INFINITY), None);
        assert_eq!(locator.find(x, 1.0), None);
        assert_eq!(locate(&mesh, x, 1.0), None);
    }
    for limit in [f64::NAN, -1.0, f64::NEG_INFINITY] {
        assert_eq!(locator.closest([1.0, 0.0, 0.0], limit), None);
    }
    // Far away is no obstacle.
    let far = locator.closest([1e100, 0.0, 0.0], f64::INFINITY).unwrap();
    assert!((far.distance / 1e100 - 1.0).abs() < 1e-15);
}

#[test]
fn refitting_equals_rebuilding() {
    let mut random = Random(37);
    for (name, mesh) in meshes() {
        let mut refitted = Locator::new(&mesh);
        let before = refitted.closest([0.4, 0.0, 0.0], f64::INFINITY);
        let dim = mesh.space_dim();
        let map = mesh.map();
        let moved = map.nodes.iter().map(|x| {
            let mut y = x.map(|c| 1.7 * c);
            y[..dim].iter_mut().for_each(|c| *c += 0.25);
            y
        });
        mesh.move_vertices(moved.collect()).unwrap();
        // Nothing changes unasked.
        assert_eq!(refitted.closest([0.4, 0.0, 0.0], f64::INFINITY), before);
        refitted.refit(&mesh).unwrap();
        let mut rebuilt = refitted.clone();
        rebuilt.rebuild(&mesh);
        for x in points(&mut random, &mesh) {
            let answer = refitted.closest(x, f64::INFINITY);
            assert_eq!(answer, rebuilt.closest(x, f64::INFINITY), "{name}");
            assert_eq!(answer, brute(&mesh, x, |_| true), "{name}");
            assert_eq!(refitted.find(x, 0.01), rebuilt.find(x, 0.01), "{name}");
        }
        let other = rectangle_quads([1, 1], [0.0; 2], [1.0; 2]).unwrap();
        let answer = refitted.closest([0.4, 0.0, 0.0], f64::INFINITY);
        let error = refitted.refit(&other).unwrap_err();
        assert!(matches!(error, LocateError::CellsChanged { .. }), "{name}");
        assert_eq!(refitted.closest([0.4, 0.0, 0.0], f64::INFINITY), answer);
    }
}

#[test]
fn threads_change_nothing() {
    let pools = [1, 2, 3].map(|threads| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().unwrap()
    });
    let mesh = sphere(5).unwrap();
    let mut random = Random(41);
    let points: Vec<Vec3> = (0..3000).map(|_| random.point(3, -2.0, 2.0)).collect();
    let answers = pools.map(|pool| {
        pool.install(|| {
            let locator = Locator::new(&mesh);
            let surface = Surface::new(&mesh).unwrap();
            let mut nearest = vec![None; points.len()];
            let mut found = vec![None; points.len()];
            let mut signed = vec![None; points.len()];
            locator.closest_many(&points, 0.9, &mut nearest);
            locator.find_many(&points, 0.5, &mut found);
            surface.signed_distance_many(&points, 0.9, &mut signed);
            let guesses: Vec<usize> = nearest.iter().map(|n| n.map_or(0, |n| n.cell)).collect();
            let mut guessed = vec![None; points.len()];
            locator.closest_many_with(&points, &Search::within(0.9), &guesses, &mut guessed);
            assert_eq!(nearest, guessed);
            (nearest, found, signed)
        })
    });
    assert!(answers.iter().all(|a| *a == answers[0]));
    let locator = Locator::new(&mesh);
    for (i, &x) in points.iter().enumerate() {
        assert_eq!(answers[0].0[i], locator.closest(x, 0.9));
        assert_eq!(answers[0].1[i], locator.find(x, 0.5));
    }
}

#[test]
fn a_filter_may_search_itself() {
    let mesh = sphere(2).unwrap();
    let locator = Locator::new(&mesh);
    let centers: Vec<Vec3> = (0..mesh.topology().cell_count())
        .map(|c| mesh.map().mean(mesh.topology().cell_vertices(c)))
        .collect();
    let filter = |cell: usize| locator.closest(centers[cell], 1.0).unwrap().cell == cell;
    let search = Search::within(10.0).among(&filter);
    let x = [0.0, 0.3, 2.0];
    assert_eq!(locator.closest_with(x, &search), locator.closest(x, 10.0));
}

#[test]
fn many_cells_in_one_place() {
    // Copies of one triangle: no cut separates them, and the smallest is the answer.
    let n = 1000u32;
    let points = (0..3 * n).map(|i| [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]][i as usize % 3]);
    let mesh = Mesh::new(
        CellKind::Triangle,
        3,
        points.collect(),
        (0..3 * n).collect(),
    )
    .unwrap();
    let locator = Locator::new(&mesh);
    let found = locator.closest([0.2, 0.2, 1.0], 2.0).unwrap();
    assert_eq!((found.cell, found.distance), (0, 1.0));
    let late = |cell: usize| cell >= 777;
    let search = Search::within(2.0).among(&late);
    assert_eq!(
        locator.closest_with([0.2, 0.2, 1.0], &search).unwrap().cell,
        777
    );
    assert_eq!(locator.find([0.2, 0.2, 0.0], 0.0).unwrap().cell, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Soups of a few triangles, tets or segments at random.
    #[test]
    fn random_tiny_meshes(seed in any::<u64>(), cells in 1usize..12, pick in 0usize..3) {
        let mut random = Random(seed);
        let kind = [CellKind::Segment, CellKind::Triangle, CellKind::Tet][pick];
        let n = kind.vertex_count() * cells;
        let points: Vec<Vec3> = (0..n).map(|_| random.point(3, -1.0, 1.0)).collect();
        let made = Mesh::reoriented(kind, 3, points, (0..n as u32).collect());
        prop_assume!(made.is_ok());
        let mesh = made.unwrap();
        let locator = Locator::new(&mesh);
        for _ in 0..20 {
            let x = random.point(3, -2.0, 2.0);
            prop_assert_eq!(locator.closest(x, f64::INFINITY), brute(&mesh, x, |_| true));
            let near = brute(&mesh, x, |_| true).filter(|b| b.distance <= 0.3);
            prop_assert_eq!(locator.closest(x, 0.3), near);
        }
    }
}
