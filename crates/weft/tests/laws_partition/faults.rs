//! Bad input is refused, and a refused rebuild changes nothing.

use super::*;

#[test]
fn bad_requests_to_geometry_partitions() {
    let g: Shared = Arc::new(Grid2::unit([2, 2]).unwrap());
    let message = |p: Result<GeometryPartition, PartitionError>| p.unwrap_err().to_string();
    assert_eq!(
        message(GeometryPartition::linear(g.clone(), 0, 0)),
        "a geometry is divided into at least 1 part, not 0"
    );
    assert_eq!(
        message(GeometryPartition::linear(g.clone(), 3, 3)),
        "part 3 does not exist: there are 3 parts, numbered from 0"
    );
    assert_eq!(
        message(GeometryPartition::by_owner(
            g.clone(),
            &[0, 1, 2, NULL],
            0,
            3
        )),
        "cell 3 belongs to part 4294967295; there are 3 parts, numbered from 0"
    );
    assert_eq!(
        message(GeometryPartition::by_owner(g.clone(), &[0], 0, 3)),
        "the owners has 1 entries; the geometry has 4 cells, one entry for each is needed"
    );
    assert!(GeometryPartition::by_mask(g.clone(), &[]).is_err());
    let mut whole = GeometryPartition::whole(g.clone()).unwrap();
    assert_eq!(
        whole.rebuild(&[true; 4]).unwrap_err().to_string(),
        "this partition was made by rule 'whole'; it cannot be rebuilt from a mask"
    );
    assert!(whole.rebuild_owners(&[0; 4]).is_err());
    assert!(whole.complement().is_err());
    for capacity in [usize::MAX, 1 << 32] {
        let capacity = Capacity {
            cells: 1,
            sides: capacity,
        };
        assert!(whole.clone().bounded(capacity).is_err());
    }
}

#[test]
fn a_refused_rebuild_changes_nothing() {
    let mut random = Random(15);
    for (_, g) in geometries() {
        let n = g.topology().cell_count();
        let mask = random_mask(n, &mut random);
        let owners: Vec<u32> = (0..n).map(|_| random.below(4) as u32).collect();
        let space = space(&g, 2, true);
        let mut by_mask = GeometryPartition::by_mask(g.clone(), &mask).unwrap();
        let mut by_owner = GeometryPartition::by_owner(g.clone(), &owners, 2, 4).unwrap();
        let mut nodes = SpacePartition::new(&space, &by_mask).unwrap();
        let mut cells = SpaceRestriction::on_cells(&nodes, by_mask.cells()).unwrap();
        let before = [seen(&by_mask), seen(&by_owner), seen_nodes(&nodes)];
        let entries = seen_entries(&cells);
        assert!(by_mask.rebuild(&vec![true; n + 1]).is_err());
        assert!(by_mask.rebuild_owners(&owners).is_err());
        assert!(by_owner.rebuild(&mask).is_err());
        let mut bad = owners.clone();
        bad[n - 1] = 4;
        assert!(by_owner.rebuild_owners(&bad).is_err());
        assert!(by_owner.rebuild_owners(&[]).is_err());
        let other: Shared = Arc::new(Grid2::unit([1, 1]).unwrap());
        let other = GeometryPartition::whole(other).unwrap();
        assert_eq!(
            nodes.rebuild(&space, &other).unwrap_err().to_string(),
            "the space and the geometry partition are on different topologies; rebuild both on the geometry as it is now"
        );
        assert_eq!(
            cells.rebuild(&nodes, &[0, n as u32]).unwrap_err(),
            PartitionError::Index {
                what: "cell",
                index: n as u32,
                limit: n
            }
        );
        assert_eq!(
            [seen(&by_mask), seen(&by_owner), seen_nodes(&nodes)],
            before
        );
        assert_eq!(seen_entries(&cells), entries);
        // And a good one works as before.
        by_owner.rebuild_owners(&owners).unwrap();
        by_mask.rebuild(&mask).unwrap();
        nodes.rebuild(&space, &by_mask).unwrap();
        cells.rebuild(&nodes, by_mask.cells()).unwrap();
        assert_eq!(
            [seen(&by_mask), seen(&by_owner), seen_nodes(&nodes)],
            before
        );
        assert_eq!(seen_entries(&cells), entries);
        assert!(matches!(
            Exchange::new(&nodes, &by_owner),
            Err(PartitionError::Parts {
                space: [0, 2],
                geometry: [2, 4]
            })
        ));
    }
}

/// Nodes and cells of different rebuilds have no exchange lists.
#[test]
fn issue_004_outdated_pairs_are_refused() {
    let mut random = Random(41);
    for (_, g) in geometries() {
        let n = g.topology().cell_count();
        let space = space(&g, 1, true);
        let mut part = GeometryPartition::by_mask(g.clone(), &random_mask(n, &mut random)).unwrap();
        let mut nodes = SpacePartition::new(&space, &part).unwrap();
        let lists = Exchange::new(&nodes, &part).unwrap();
        let copy = part.clone();
        part.rebuild(&random_mask(n, &mut random)).unwrap();
        assert_eq!(
            Exchange::new(&nodes, &part).unwrap_err().to_string(),
            "the space partition was not made from the geometry partition as it is now; rebuild it from that"
        );
        // A copy from before still fits, a refused rebuild changes nothing.
        assert_eq!(Exchange::new(&nodes, &copy).unwrap(), lists);
        nodes.rebuild(&space, &part).unwrap();
        assert_eq!(
            Exchange::new(&nodes, &copy).unwrap_err(),
            PartitionError::Outdated
        );
        assert!(part.rebuild(&[]).is_err());
        Exchange::new(&nodes, &part).unwrap();
    }
}
