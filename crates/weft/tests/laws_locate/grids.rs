//! Grids by arithmetic against brute force over their cells as boxes.

use super::*;

struct Boxes {
    geometry: Box<dyn Geometry>,
    dim: usize,
}

impl Boxes {
    fn bounds(&self, cell: usize) -> [Vec3; 2] {
        let nodes = nodes(&*self.geometry, cell);
        [nodes[0], nodes[nodes.len() - 1]]
    }

    fn distance(&self, cell: usize, x: Vec3) -> f64 {
        let [low, high] = self.bounds(cell);
        let gap = std::array::from_fn(|d| (low[d] - x[d]).max(x[d] - high[d]).max(0.0));
        norm(gap)
    }

    fn nearest(&self, x: Vec3, accept: impl Fn(usize) -> bool) -> Option<(f64, usize)> {
        (0..self.geometry.topology().cell_count())
            .filter(|&c| accept(c))
            .map(|c| (self.distance(c, x), c))
            .reduce(|a, b| if b.0 < a.0 { b } else { a })
    }
}

fn grids() -> Vec<Boxes> {
    vec![
        Boxes {
            geometry: Box::new(Grid2::new([5, 3], [-1.0, 0.5], [2.0, 1.1]).unwrap()),
            dim: 2,
        },
        Boxes {
            geometry: Box::new(Grid2::unit([1, 1]).unwrap()),
            dim: 2,
        },
        Boxes {
            geometry: Box::new(Grid3::new([3, 4, 7], [-0.3; 3], [0.7, 0.1, 1.9]).unwrap()),
            dim: 3,
        },
        Boxes {
            geometry: Box::new(Grid3::new([1, 1, 9], [0.0; 3], [0.1, 0.1, 1e3]).unwrap()),
            dim: 3,
        },
    ]
}

fn special(random: &mut Random, grid: &Boxes) -> Vec<Vec3> {
    let (t, map) = (grid.geometry.topology(), grid.geometry.map());
    let mut points: Vec<Vec3> = (0..100)
        .map(|_| random.point(grid.dim, -0.5, 1.5))
        .collect();
    points.extend((0..20).map(|_| random.point(grid.dim, -1e4, 1e4)));
    points.extend((0..t.vertex_count()).map(|v| map.vertex(v as u32)));
    points.extend((0..t.side_count()).map(|s| map.mean(t.side_vertices(s))));
    for v in 0..t.vertex_count() {
        points.push(map.vertex(v as u32).map(|c| c.next_up()));
        points.push(map.vertex(v as u32).map(|c| c.next_down()));
    }
    points.iter_mut().for_each(|x| x[grid.dim..].fill(0.0));
    points
}

#[test]
fn grids_agree_with_their_boxes() {
    let mut random = Random(43);
    for grid in grids() {
        let locator = Locator::new(&*grid.geometry);
        let count = grid.geometry.topology().cell_count();
        assert_eq!(locator.cell_count(), count);
        for x in special(&mut random, &grid) {
            let (distance, cell) = grid.nearest(x, |_| true).unwrap();
            let found = locator.closest(x, f64::INFINITY).unwrap();
            // Rounding may part cells that are level: the distance decides.
            assert!(
                (found.distance - distance).abs() <= 1e-15 * distance,
                "{x:?}"
            );
            assert!(found.cell == cell || grid.distance(found.cell, x) <= distance * (1.0 + 1e-15));
            let there = frame_at(&*grid.geometry, found.cell, found.xi).position;
            let [low, high] = grid.bounds(found.cell);
            let scale = norm(low) + norm(high);
            assert!(
                norm(sub(there, found.position)) <= 4e-16 * scale.max(1.0),
                "{x:?}"
            );
            assert_eq!(locator.closest(x, found.distance), Some(found));
            if found.distance > 0.0 {
                assert_eq!(locator.closest(x, found.distance.next_down()), None);
                assert_eq!(locator.find(x, 0.0), None);
            } else {
                assert_eq!(locator.find(x, 0.0).map(|f| f.cell), Some(cell));
                assert_eq!(found.cell, cell);
            }
            for (m, r) in [(2, 1), (3, 0), (7, 3)] {
                let accept = move |c: usize| c % m == r;
                let exact = grid.nearest(x, accept);
                let search = Search::within(f64::INFINITY).among(&accept);
                let found = locator.closest_with(x, &search);
                assert_eq!(found.is_some(), exact.is_some());
                if let (Some(found), Some((distance, _))) = (found, exact) {
                    assert!(accept(found.cell));
                    assert!((found.distance - distance).abs() <= 1e-15 * distance);
                    let near = Search::within(found.distance).among(&accept);
                    assert_eq!(locator.closest_with(x, &near), Some(found));
                }
            }
        }
    }
}

#[test]
fn tolerances_on_grids() {
    let mut random = Random(47);
    for grid in grids() {
        let locator = Locator::new(&*grid.geometry);
        let [low, high] = grid.bounds(0);
        let size = sub(high, low).into_iter().fold(0.0, f64::max);
        let count = grid.geometry.topology().cell_count();
        for x in special(&mut random, &grid) {
            // Not round: the sizes of cells differ in their last digits.
            for tolerance in [1e-9, 0.0137, 0.51, 3.31] {
                let exact = (0..count).find(|&c| grid.distance(c, x) <= tolerance * size);
                let found = locator.find(x, tolerance).map(|f| f.cell);
                assert_eq!(found, exact, "{tolerance} {x:?}");
                assert_eq!(locate(&*grid.geometry, x, tolerance).map(|f| f.0), exact);
                let odd = |c: usize| c % 2 == 1;
                let exact = (0..count).find(|&c| odd(c) && grid.distance(c, x) <= tolerance * size);
                let found = locator.find_among(x, tolerance, &odd).map(|f| f.cell);
                assert_eq!(found, exact, "{tolerance} {x:?}");
            }
        }
    }
}

#[test]
fn grids_agree_with_meshes_of_the_same_cells() {
    let grid = Grid3::unit([4, 3, 5]).unwrap();
    let mesh = box_hexes([4, 3, 5], [0.0; 3], [1.0; 3]).unwrap();
    let (a, b) = (Locator::new(&grid), Locator::new(&mesh));
    let mut random = Random(53);
    for _ in 0..300 {
        let x = random.point(3, -0.2, 1.2);
        let (a, b) = (a.closest(x, 9.0).unwrap(), b.closest(x, 9.0).unwrap());
        assert!((a.distance - b.distance).abs() < 1e-14);
        assert!(norm(sub(a.position, b.position)) < 1e-12);
    }
}

#[test]
fn a_grid_takes_over_another_of_the_same_counts() {
    let mut locator = Locator::new(&Grid2::unit([4, 4]).unwrap());
    locator
        .refit(&Grid2::new([4, 4], [10.0; 2], [11.0; 2]).unwrap())
        .unwrap();
    assert_eq!(locator.find([10.1, 10.1, 0.0], 0.0).unwrap().cell, 0);
    assert!(locator.refit(&Grid2::unit([4, 5]).unwrap()).is_err());
    assert!(locator.refit(&sphere(0).unwrap()).is_err());
    assert_eq!(locator.find([10.1, 10.1, 0.0], 0.0).unwrap().cell, 0);
}
