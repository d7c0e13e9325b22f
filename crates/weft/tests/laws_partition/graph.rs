//! Even parts with short frontiers.

use super::*;

fn cut(geometry: &dyn Geometry, owners: &[u32]) -> usize {
    let t = geometry.topology();
    let crosses = |&&side: &&u32| {
        let [a, b] = t.side_cells(side as usize);
        owners[a as usize] != owners[b as usize]
    };
    t.interior_sides().iter().filter(crosses).count()
}

fn sizes(owners: &[u32], parts: u32) -> Vec<usize> {
    let size = |part| owners.iter().filter(|&&o| o == part).count();
    (0..parts).map(size).collect()
}

#[test]
fn parts_are_even() {
    for (name, g) in geometries() {
        let n = g.topology().cell_count();
        for parts in 1..=7 {
            let owners = graph_parts(&*g, parts).unwrap();
            assert_eq!(owners.len(), n);
            // Fewer than 100 cells a part: exact balance.
            for size in sizes(&owners, parts) {
                let (low, high) = (n / parts as usize, n.div_ceil(parts as usize));
                assert!(
                    (low..=high).contains(&size),
                    "{name}: {size} of {n} in {parts}"
                );
            }
        }
        let owners = graph_parts(&*g, 1000).unwrap();
        assert!(sizes(&owners, 1000).iter().all(|&s| s <= 1));
    }
    assert_eq!(
        graph_parts(&Grid2::unit([2, 2]).unwrap(), 0),
        Err(PartitionError::NoParts)
    );
}

#[test]
fn grids_are_cut_straight() {
    let square = Grid2::unit([16, 16]).unwrap();
    assert_eq!(cut(&square, &graph_parts(&square, 2).unwrap()), 16);
    assert_eq!(cut(&square, &graph_parts(&square, 4).unwrap()), 32);
    let plank = Grid2::unit([40, 5]).unwrap();
    assert_eq!(cut(&plank, &graph_parts(&plank, 4).unwrap()), 15);
    let cube = Grid3::unit([8; 3]).unwrap();
    assert_eq!(cut(&cube, &graph_parts(&cube, 2).unwrap()), 64);
    assert_eq!(cut(&cube, &graph_parts(&cube, 8).unwrap()), 192);
}

#[test]
fn numbers_of_the_mesh_do_not_matter_much() {
    let mut random = Random(3);
    for (kind, n) in [(CellKind::Triangle, 24), (CellKind::Tet, 8)] {
        let mesh = unit_mesh(kind, [n; 3]);
        let shuffled = scrambled(&mesh, &mut random);
        for parts in [2, 3, 8] {
            let owners = graph_parts(&shuffled, parts).unwrap();
            let found = cut(&shuffled, &owners);
            // Layers of cells, the best that a plain numbering gives.
            let run = mesh.topology().cell_count().div_ceil(parts as usize);
            let layers: Vec<u32> = (0..mesh.topology().cell_count())
                .map(|c| (c / run) as u32)
                .collect();
            let layered = cut(&mesh, &layers);
            assert!(
                found * 10 <= layered * 11,
                "{kind:?} {parts}: {found}, layers {layered}"
            );
            for size in sizes(&owners, parts) {
                let even = shuffled.topology().cell_count() as f64 / f64::from(parts);
                assert!((size as f64 - even).abs() <= 1.0 + 0.03 * even);
            }
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let mesh = scrambled(&unit_mesh(CellKind::Tet, [14; 3]), &mut Random(4));
    let run = |threads| common::pool(threads).install(|| graph_parts(&mesh, 7).unwrap());
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}
