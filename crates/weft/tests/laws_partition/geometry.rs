//! Cells and sides of parts.

use super::*;

/// The tables against their definitions.
fn check(p: &GeometryPartition, mine: impl Fn(u32) -> bool) {
    let t = p.topology();
    let cells: Vec<u32> = (0..t.cell_count() as u32).filter(|&c| mine(c)).collect();
    assert_eq!(p.cells(), cells);
    for cell in 0..t.cell_count() as u32 {
        let place = cells.iter().position(|&c| c == cell);
        assert_eq!(p.local_cell(cell as usize), place);
        assert_eq!(p.contains(cell as usize), mine(cell));
        assert_eq!(p.owner(cell as usize) == p.rank(), mine(cell));
    }
    let sides = |choose: &dyn Fn(bool, bool, bool) -> bool| -> Vec<u32> {
        let chosen = |&s: &u32| {
            let [a, b] = t.side_cells(s as usize);
            choose(mine(a), mine(b), a == b)
        };
        (0..t.side_count() as u32).filter(chosen).collect()
    };
    assert_eq!(p.sides(), sides(&|inner, _, _| inner));
    assert_eq!(
        p.boundary_sides(),
        sides(&|inner, _, boundary| inner && boundary)
    );
    assert_eq!(p.frontier_sides(), sides(&|inner, outer, _| inner != outer));
    assert_eq!(p.overflow(), None);
}

#[test]
fn tables_are_what_they_are_defined_to_be() {
    let mut random = Random(1);
    for (_, g) in geometries() {
        let n = g.topology().cell_count();
        check(&GeometryPartition::whole(g.clone()).unwrap(), |_| true);
        for parts in 1..=5u32 {
            let length = n.div_ceil(parts as usize);
            let mut cells = 0;
            for rank in 0..parts {
                let p = GeometryPartition::linear(g.clone(), rank, parts).unwrap();
                check(&p, |c| c as usize / length == rank as usize);
                cells += p.cell_count();
            }
            assert_eq!(cells, n);
            for owners in divisions(&g, parts, &mut random) {
                let all = all_parts(&g, &owners, parts);
                let [mut cells, mut sides, mut boundary] = [0; 3];
                for (p, rank) in all.iter().zip(0..) {
                    check(p, |c| owners[c as usize] == rank);
                    cells += p.cell_count();
                    sides += p.sides().len();
                    boundary += p.boundary_sides().len();
                }
                let t = g.topology();
                let whole = [n, t.side_count(), t.boundary_sides().len()];
                assert_eq!([cells, sides, boundary], whole);
            }
        }
    }
}

#[test]
fn masks_empty_full_and_random() {
    let mut random = Random(2);
    for (_, g) in geometries() {
        let n = g.topology().cell_count();
        let mut masks = vec![vec![false; n], vec![true; n]];
        masks.extend((0..4).map(|_| random_mask(n, &mut random)));
        let mut rebuilt = GeometryPartition::by_mask(g.clone(), &masks[1]).unwrap();
        for mask in &masks {
            let p = GeometryPartition::by_mask(g.clone(), mask).unwrap();
            check(&p, |c| mask[c as usize]);
            let other = p.complement().unwrap();
            check(&other, |c| !mask[c as usize]);
            assert_eq!(other.frontier_sides(), p.frontier_sides());
            assert_eq!(seen(&other.complement().unwrap()), seen(&p));
            rebuilt.rebuild(mask).unwrap();
            assert_eq!(seen(&rebuilt), seen(&p));
        }
    }
}

#[test]
fn counts_of_halves_of_a_grid() {
    // 4 × 3 cells; cell (x, y) is 3x + y, so the first half are the cells left of x = 2.
    let g: Shared = Arc::new(Grid2::unit([4, 3]).unwrap());
    let [left, right] = [0, 1].map(|r| GeometryPartition::linear(g.clone(), r, 2).unwrap());
    assert_eq!(left.frontier_sides(), right.frontier_sides());
    assert_eq!(left.frontier_sides().len(), 3);
    // 3 × 2 vertical and 4 × 2 horizontal sides, and the frontier, whose inner cells are left.
    assert_eq!(left.sides().len(), 6 + 8 + 3);
    assert_eq!(right.sides().len(), 6 + 8);
    assert_eq!(left.boundary_sides().len(), 3 + 4);
    assert_eq!(right.boundary_sides().len(), 3 + 4);
}

#[test]
fn bounded_partitions_pad_and_remember_overflow() {
    let g: Shared = Arc::new(Grid2::unit([4, 3]).unwrap());
    let half: Vec<bool> = (0..12).map(|c| c < 6).collect();
    let capacity = Capacity {
        cells: 8,
        sides: 20,
    };
    let p = GeometryPartition::by_mask(g.clone(), &half).unwrap();
    let free = p.clone();
    let mut p = p.bounded(capacity).unwrap();
    assert_eq!(p.capacity(), Some(capacity));
    let padded = |live: &[u32], slots: &[u32], capacity: usize| {
        assert_eq!(slots.len(), capacity);
        assert_eq!(&slots[..live.len()], live);
        assert!(slots[live.len()..].iter().all(|&s| s == NULL));
    };
    padded(free.cells(), p.cell_slots(), 8);
    padded(free.sides(), p.side_slots(), 20);
    padded(free.boundary_sides(), p.boundary_side_slots(), 20);
    padded(free.frontier_sides(), p.frontier_side_slots(), 20);
    assert_eq!(p.overflow(), None);

    // All twelve cells and 31 sides do not fit; what is kept are the first.
    p.rebuild(&[true; 12]).unwrap();
    assert_eq!(p.cells(), (0..8).collect::<Vec<u32>>());
    assert!(!p.contains(8) && p.owner(8) == p.rank());
    let overflow = p.overflow().unwrap();
    assert_eq!(overflow.cells, 12);
    // Sides of the eight cells that were kept.
    let kept: Vec<bool> = (0..12).map(|c| c < 8).collect();
    let kept = GeometryPartition::by_mask(g.clone(), &kept).unwrap();
    assert_eq!(overflow.sides, kept.sides().len());
    assert_eq!(p.sides(), &kept.sides()[..20]);

    // The status stays until it is cleared.
    p.rebuild(&half).unwrap();
    assert_eq!(p.cells(), free.cells());
    assert_eq!(p.overflow(), Some(overflow));
    p.clear_overflow();
    assert_eq!(p.overflow(), None);
    p.rebuild(&half).unwrap();
    assert_eq!(p.overflow(), None);

    // Without side slots there are no lists of sides, and that is no overflow.
    let p = free.bounded(Capacity { cells: 6, sides: 0 }).unwrap();
    assert_eq!(
        (p.cells().len(), p.sides(), p.overflow()),
        (6, &[][..], None)
    );
    assert!(p.side_slots().is_empty() && p.frontier_sides().is_empty());
}

#[test]
fn a_rebuild_follows_the_mesh() {
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let mut p = GeometryPartition::by_mask(Arc::new(mesh.clone()), &[true; 8]).unwrap();
    let larger = unit_mesh(CellKind::Triangle, [3, 3, 1]);
    let (t, map) = (larger.topology(), larger.map());
    mesh.rebuild(map.nodes.clone(), t.cells().to_vec()).unwrap();
    assert_eq!(p.cell_count(), 8);
    let before = seen(&p);
    let error = p.rebuild(&[true; 8]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the mask has 8 entries; the geometry has 18 cells, one entry for each is needed"
    );
    assert_eq!(seen(&p), before);
    let mask: Vec<bool> = (0..18).map(|c| c % 3 == 0).collect();
    p.rebuild(&mask).unwrap();
    check(&p, |c| mask[c as usize]);
}

/// Whole and linear partitions follow their geometry, and are then those made anew.
#[test]
fn issue_004_runs_follow_the_mesh() {
    let mesh = unit_mesh(CellKind::Quad, [3, 3, 1]);
    let shared: Shared = Arc::new(mesh.clone());
    let make = || {
        let mut all = vec![GeometryPartition::whole(shared.clone()).unwrap()];
        for parts in [1, 2, 5, 40] {
            for rank in [0, parts - 1] {
                all.push(GeometryPartition::linear(shared.clone(), rank, parts).unwrap());
            }
        }
        let capacity = Capacity { cells: 4, sides: 7 };
        all.push(all[3].clone().bounded(capacity).unwrap());
        all
    };
    let mut all = make();
    for n in [3, 1, 6, 2] {
        let other = unit_mesh(CellKind::Quad, [n, n, 1]);
        mesh.rebuild(other.map().nodes.clone(), other.topology().cells().to_vec())
            .unwrap();
        for (p, fresh) in all.iter_mut().zip(make()) {
            p.follow().unwrap();
            p.clear_overflow();
            // A bounded partition has its overflow from the first fill on.
            let mut fresh = fresh;
            fresh.clear_overflow();
            assert_eq!(seen(p), seen(&fresh));
            assert!(Arc::ptr_eq(p.topology(), &mesh.topology()));
        }
    }
    let mut by_mask = GeometryPartition::by_mask(shared.clone(), &[true; 4]).unwrap();
    assert_eq!(
        by_mask.follow().unwrap_err().to_string(),
        "this partition was made by rule 'mask'; it cannot be rebuilt from the number of cells alone"
    );
    let mut by_owner = GeometryPartition::by_owner(shared, &[0; 4], 0, 1).unwrap();
    assert!(by_owner.follow().is_err());
}
