//! Elements at nodes, against a naive twin.

use super::*;

/// (element, local node) pairs of each node of the part.
fn naive(p: &SpacePartition, elements: &[u32], sides: bool) -> Vec<Vec<(u32, u32)>> {
    let (space, n) = (p.space(), p.space().nodes_per_cell());
    let mut found = vec![Vec::new(); p.node_count()];
    for (e, &element) in elements.iter().enumerate() {
        let cells = match sides {
            false => vec![element],
            true => {
                let [inner, outer] = space.topology().side_cells(element as usize);
                if inner == outer {
                    vec![inner]
                } else {
                    vec![inner, outer]
                }
            }
        };
        for (half, cell) in cells.into_iter().enumerate() {
            for (i, &node) in space.cell_nodes(cell as usize).iter().enumerate() {
                if let Some(local) = p.local_node(node as usize) {
                    found[local].push((e as u32, (half * n + i) as u32));
                }
            }
        }
    }
    found
}

fn check(r: &SpaceRestriction, p: &SpacePartition, elements: &[u32], sides: bool) {
    let expected = naive(p, elements, sides);
    assert_eq!(r.node_count(), expected.len());
    assert_eq!(
        r.entry_count(),
        expected.iter().map(Vec::len).sum::<usize>()
    );
    for (node, expected) in expected.into_iter().enumerate() {
        let found: Vec<(u32, u32)> = r.of(node).map(|e| (e.element, e.local)).collect();
        assert_eq!(found, expected);
        assert!(r.of(node).map(|e| e.element).is_sorted());
    }
    let slots = elements.len() * r.nodes_per_element();
    assert_eq!(r.entry_count() + r.lists().null_slots().len(), slots);
    assert!(r.lists().null_slots().is_sorted());
}

#[test]
fn restrictions_are_what_they_are_defined_to_be() {
    let mut random = Random(8);
    let first = space(&geometries()[0].1, 1, true);
    let whole = SpacePartition::whole(&first).unwrap();
    let mut cells = SpaceRestriction::on_cells(&whole, &[]).unwrap();
    let mut sides = SpaceRestriction::on_sides(&whole, &[]).unwrap();
    check(&cells, &whole, &[], false);
    for (_, g) in geometries() {
        for space in spaces(&g) {
            for owners in divisions(&g, 3, &mut random) {
                let part = GeometryPartition::by_owner(g.clone(), &owners, 1, 3).unwrap();
                let p = SpacePartition::new(&space, &part).unwrap();
                cells.rebuild(&p, part.cells()).unwrap();
                check(&cells, &p, part.cells(), false);
                sides.rebuild(&p, part.sides()).unwrap();
                check(&sides, &p, part.sides(), true);
                // Cells of other parts, in any order: nodes that are not in the part are null.
                let n = g.topology().cell_count();
                let all: Vec<u32> = random.shuffled(n).into_iter().map(|c| c as u32).collect();
                let fresh = SpaceRestriction::on_cells(&p, &all).unwrap();
                check(&fresh, &p, &all, false);
                cells.rebuild(&p, &all).unwrap();
                assert_eq!(seen_entries(&cells), seen_entries(&fresh));
            }
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let g: Shared = Arc::new(scrambled(
        &unit_mesh(CellKind::Tet, [16; 3]),
        &mut Random(9),
    ));
    let space = space(&g, 2, true);
    let mask = random_mask(g.topology().cell_count(), &mut Random(10));
    let part = GeometryPartition::by_mask(g, &mask).unwrap();
    let p = SpacePartition::new(&space, &part).unwrap();
    let run = |threads| {
        common::pool(threads)
            .install(|| seen_entries(&SpaceRestriction::on_cells(&p, part.cells()).unwrap()))
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(7));
}

#[test]
fn lists_of_any_slots() {
    let mut random = Random(11);
    let mut lists = NodeLists::new();
    assert_eq!((lists.node_count(), lists.entry_count()), (0, 0));
    for (nodes, slots) in [
        (0, 0),
        (0, 5),
        (5, 0),
        (1, 9),
        (7, 100),
        (100_000, 70_000),
        (3, 90_000),
    ] {
        let keys: Vec<u32> = (0..slots)
            .map(|_| match random.below(nodes + 1) {
                node if node == nodes => NULL,
                node => node as u32,
            })
            .collect();
        lists.rebuild(nodes, slots, |slot| keys[slot]).unwrap();
        let mut expected = vec![Vec::new(); nodes + 1];
        for (slot, &key) in keys.iter().enumerate() {
            expected[(key as usize).min(nodes)].push(slot as u32);
        }
        assert!((0..nodes).all(|node| lists.of(node) == expected[node]));
        assert_eq!(lists.null_slots(), expected[nodes]);
        assert_eq!(lists.slots().len(), slots);
    }
    let before = (lists.offsets().to_vec(), lists.slots().to_vec());
    let error = lists.rebuild(3, 10, |slot| if slot > 4 { slot as u32 } else { 0 });
    assert_eq!(
        error.unwrap_err().to_string(),
        "node 5 does not exist; there are 3"
    );
    assert!(lists.rebuild(usize::MAX, 1, |_| 0).is_err());
    assert_eq!((lists.offsets().to_vec(), lists.slots().to_vec()), before);
}

/// Speed of compression: `cargo test --release -- --ignored --nocapture compression_speed`.
#[test]
#[ignore = "a measurement"]
fn compression_speed() {
    let g: Shared = Arc::new(scrambled(
        &unit_mesh(CellKind::Tet, [40; 3]),
        &mut Random(12),
    ));
    let space = space(&g, 2, true);
    let p = SpacePartition::whole(&space).unwrap();
    let part = GeometryPartition::whole(g.clone()).unwrap();
    let mut r = SpaceRestriction::on_cells(&p, part.cells()).unwrap();
    for threads in [1, 2] {
        let pool = common::pool(threads);
        let best = (0..9)
            .map(|_| {
                let start = std::time::Instant::now();
                pool.install(|| r.rebuild(&p, part.cells()).unwrap());
                start.elapsed()
            })
            .min()
            .unwrap();
        let pairs = r.entry_count() as f64 / best.as_secs_f64();
        println!("{threads} threads: {:.1} million pairs/s", pairs / 1e6);
    }
    let keys: Vec<(u32, u32)> = (0..part.cell_count())
        .flat_map(|c| space.cell_nodes(c).iter().copied())
        .zip(0..)
        .collect();
    let best = (0..5)
        .map(|_| {
            let mut keys = keys.clone();
            let start = std::time::Instant::now();
            keys.sort_unstable();
            start.elapsed()
        })
        .min()
        .unwrap();
    let pairs = keys.len() as f64 / best.as_secs_f64();
    println!("std sort, 1 thread: {:.1} million pairs/s", pairs / 1e6);
    let start = std::time::Instant::now();
    let owners = graph_parts(&*g, 8).unwrap();
    println!(
        "8 graph parts of {} tets: {:?}",
        owners.len(),
        start.elapsed()
    );
}
