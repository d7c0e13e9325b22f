//! Classes and owners of nodes, and exchange between parts.

use super::*;
use std::collections::BTreeSet;

/// Nodes with degrees of freedom behind those of a cell.
fn dofs(space: &Space, cell: usize) -> Vec<u32> {
    let expand = |&node: &u32| match (node as usize).checked_sub(space.node_count()) {
        Some(k) => space.hanging().masters(k).map(|(node, _)| node).collect(),
        None => vec![node],
    };
    space.cell_nodes(cell).iter().flat_map(expand).collect()
}

/// Owner of each node by definition.
fn owners_of_nodes(space: &Space, owners: &[u32]) -> Vec<u32> {
    let mut found = vec![NULL; space.node_count()];
    for (cell, &owner) in owners.iter().enumerate() {
        for node in dofs(space, cell) {
            found[node as usize] = found[node as usize].min(owner);
        }
    }
    found
        .into_iter()
        .map(|o| if o == NULL { 0 } else { o })
        .collect()
}

/// The four classes by definition.
fn classes(space: &Space, owners: &[u32], rank: u32) -> [Vec<u32>; 4] {
    let t = space.topology();
    let node_owner = owners_of_nodes(space, owners);
    let nodes_of = |cell: usize| dofs(space, cell).into_iter();
    let mine = |cell: usize| owners[cell] == rank;
    let owned: BTreeSet<u32> = (0..space.node_count() as u32)
        .filter(|&n| node_owner[n as usize] == rank)
        .collect();
    let cells = 0..t.cell_count();
    let of_others: BTreeSet<u32> = cells
        .clone()
        .filter(|&c| !mine(c))
        .flat_map(nodes_of)
        .collect();
    let [mut near, mut far] = [BTreeSet::new(), BTreeSet::new()];
    for cell in cells {
        if mine(cell) || nodes_of(cell).any(|n| owned.contains(&n)) {
            near.extend(nodes_of(cell));
        }
    }
    for side in 0..t.side_count() {
        let [inner, outer] = t.side_cells(side).map(|c| c as usize);
        if mine(inner) {
            near.extend(nodes_of(outer));
        } else if mine(outer) {
            far.extend(nodes_of(inner));
        }
    }
    let sorted = |set: BTreeSet<u32>| set.into_iter().collect::<Vec<u32>>();
    [
        sorted(&owned - &of_others),
        sorted(&owned & &of_others),
        sorted(&near - &owned),
        sorted(&(&far - &near) - &owned),
    ]
}

const CLASSES: [NodeClass; 4] = [
    NodeClass::OwnedInterior,
    NodeClass::OwnedFrontier,
    NodeClass::HaloNear,
    NodeClass::HaloFar,
];

fn check(p: &SpacePartition, owners: &[u32]) {
    let space = p.space();
    let mut expected = Vec::new();
    for (nodes, class) in classes(space, owners, p.rank()).into_iter().zip(CLASSES) {
        assert_eq!(p.nodes()[p.class(class)], nodes, "{class:?}");
        assert!(p.class(class).all(|local| p.class_of(local) == class));
        expected.extend(nodes);
    }
    assert_eq!(p.nodes(), expected);
    assert_eq!(p.node_count(), expected.len());
    assert_eq!([p.owned_nodes(), p.halo_nodes()].concat(), expected);
    for (node, owner) in owners_of_nodes(space, owners).into_iter().enumerate() {
        assert_eq!(p.owner(node), owner);
        let place = expected.iter().position(|&n| n as usize == node);
        assert_eq!(p.local_node(node), place);
    }
    let dofs = p.node_offsets().map(|n| n * space.components());
    assert_eq!(p.dof_offsets(), dofs);
}

/// Every part's lists against those of its partners.
fn check_exchange(parts: &[SpacePartition], geometry: &[GeometryPartition]) {
    let lists: Vec<Exchange> = parts
        .iter()
        .zip(geometry)
        .map(|(nodes, cells)| Exchange::new(nodes, cells).unwrap())
        .collect();
    for (p, exchange) in lists.iter().enumerate() {
        let mut received = Vec::new();
        for (k, &q) in exchange.neighbours().iter().enumerate() {
            assert_ne!(q as usize, p);
            let back = &lists[q as usize];
            let at = back
                .neighbours()
                .iter()
                .position(|&r| r as usize == p)
                .unwrap();
            let global = |part: usize, local: &[u32]| -> Vec<u32> {
                local
                    .iter()
                    .map(|&l| parts[part].nodes()[l as usize])
                    .collect()
            };
            let sent = global(p, exchange.send(k));
            assert_eq!(sent, global(q as usize, back.receive(at)));
            assert!(sent.is_sorted_by(|a, b| a < b));
            assert!(
                exchange
                    .send(k)
                    .iter()
                    .all(|&l| (l as usize) < parts[p].owned_count())
            );
            received.extend_from_slice(exchange.receive(k));
        }
        received.sort_unstable();
        let halo = parts[p].owned_count() as u32..parts[p].node_count() as u32;
        assert!(received.into_iter().eq(halo));
    }
}

#[test]
fn classes_owners_and_exchange_by_definition() {
    let mut random = Random(5);
    for (_, g) in geometries() {
        for space in spaces(&g) {
            for parts in 1..=5 {
                for owners in divisions(&g, parts, &mut random) {
                    let cells = all_parts(&g, &owners, parts);
                    let nodes: Vec<SpacePartition> = cells
                        .iter()
                        .map(|p| SpacePartition::new(&space, p).unwrap())
                        .collect();
                    nodes.iter().for_each(|p| check(p, &owners));
                    let owned: usize = nodes.iter().map(|p| p.owned_count()).sum();
                    assert_eq!(owned, space.node_count());
                    check_exchange(&nodes, &cells);
                }
            }
        }
    }
}

#[test]
fn masks_and_their_complements_share_the_nodes() {
    let mut random = Random(6);
    for (_, g) in geometries() {
        let n = g.topology().cell_count();
        let space = space(&g, 2, true).vector(3).unwrap();
        for mask in [vec![false; n], vec![true; n], random_mask(n, &mut random)] {
            let first = GeometryPartition::by_mask(g.clone(), &mask).unwrap();
            let second = first.complement().unwrap();
            let owners: Vec<u32> = mask.iter().map(|&m| u32::from(!m)).collect();
            let parts = [first, second];
            let nodes = parts
                .each_ref()
                .map(|p| SpacePartition::new(&space, p).unwrap());
            nodes.iter().for_each(|p| check(p, &owners));
            check_exchange(&nodes, &parts);
        }
    }
}

#[test]
fn the_whole_space_is_interior() {
    for (_, g) in geometries() {
        for space in spaces(&g) {
            let p = SpacePartition::whole(&space).unwrap();
            let n = space.node_count();
            assert_eq!(p.node_offsets(), [0, n, n, n, n]);
            assert!(p.nodes().iter().copied().eq(0..n as u32));
        }
    }
}

#[test]
fn counts_on_halves_of_a_grid() {
    // 4 × 2 cells in halves at x = 2: 3 nodes a column, columns 0 1 2 to the left part.
    let g: Shared = Arc::new(Grid2::unit([4, 2]).unwrap());
    let space = space(&g, 1, true).vector(2).unwrap();
    let [left, right] = [0, 1].map(|rank| {
        let p = GeometryPartition::linear(g.clone(), rank, 2).unwrap();
        SpacePartition::new(&space, &p).unwrap()
    });
    // Column 3 is in cells that touch the owned column 2.
    assert_eq!(left.node_offsets(), [0, 6, 9, 12, 12]);
    assert_eq!(left.dof_offsets(), [0, 12, 18, 24, 24]);
    // Column 2 is a halo of the right part's own cells; column 1 is across sides of the left part.
    assert_eq!(right.node_offsets(), [0, 6, 6, 9, 12]);
    assert_eq!(right.nodes(), [9, 10, 11, 12, 13, 14, 6, 7, 8, 3, 4, 5]);
}

#[test]
fn bounded_partitions_keep_classes() {
    let g: Shared = Arc::new(Grid2::unit([4, 2]).unwrap());
    let space = space(&g, 1, true);
    let cells = GeometryPartition::linear(g.clone(), 1, 2).unwrap();
    let free = SpacePartition::new(&space, &cells).unwrap();
    let p = SpacePartition::bounded(&space, &cells, 15).unwrap();
    assert_eq!(
        (p.nodes(), p.node_offsets()),
        (free.nodes(), free.node_offsets())
    );
    assert_eq!(p.node_slots()[12..], [NULL; 3]);
    assert_eq!(p.overflow(), None);
    Exchange::new(&p, &cells).unwrap();
    let mut p = SpacePartition::bounded(&space, &cells, 8).unwrap();
    assert_eq!(p.nodes(), &free.nodes()[..8]);
    assert_eq!(p.node_offsets(), [0, 6, 6, 8, 8]);
    assert_eq!(p.overflow(), Some(12));
    assert_eq!(
        Exchange::new(&p, &cells).unwrap_err().to_string(),
        "the partition needs 12 nodes and has room for 8; its exchange lists would not match those of the other parts"
    );
    p.clear_overflow();
    assert_eq!(p.overflow(), None);

    // A geometry partition without room for all its cells: owners stay, rows are incomplete.
    let cells = cells.bounded(Capacity { cells: 2, sides: 0 }).unwrap();
    let p = SpacePartition::new(&space, &cells).unwrap();
    assert_eq!(p.class(NodeClass::OwnedFrontier).len(), 3);
    assert!(Exchange::new(&p, &cells).is_err());
}

#[test]
fn rebuilds_equal_fresh_ones() {
    let mut random = Random(7);
    let all = geometries();
    let (_, g) = &all[0];
    let p = GeometryPartition::whole(g.clone()).unwrap();
    let mut rebuilt = SpacePartition::new(&space(g, 1, true), &p).unwrap();
    for _ in 0..200 {
        let (_, g) = random.pick(&all);
        let space = random.pick(&spaces(g)).clone();
        let mask = random_mask(g.topology().cell_count(), &mut random);
        let p = GeometryPartition::by_mask(g.clone(), &mask).unwrap();
        rebuilt.rebuild(&space, &p).unwrap();
        assert_eq!(
            seen_nodes(&rebuilt),
            seen_nodes(&SpacePartition::new(&space, &p).unwrap())
        );
    }
}

/// A grid that says of its last vertex that it hangs between two others.
#[derive(Debug)]
struct Hung(Grid2);

impl Geometry for Hung {
    fn id(&self) -> weft::geometry::GeometryId {
        self.0.id()
    }
    fn cell_kind(&self) -> CellKind {
        self.0.cell_kind()
    }
    fn space_dim(&self) -> usize {
        2
    }
    fn topology(&self) -> Arc<weft::geometry::Topology> {
        self.0.topology()
    }
    fn tags(&self) -> Arc<weft::geometry::Tags> {
        self.0.tags()
    }
    fn map(&self) -> Arc<weft::geometry::GeometryMap> {
        self.0.map()
    }
    fn map_class(&self) -> weft::geometry::MapClass {
        self.0.map_class()
    }
    fn nodes_may_hang(&self) -> bool {
        true
    }
    fn node_numbering(
        &self,
        _: &weft::geometry::Topology,
        degree: usize,
    ) -> Option<weft::geometry::NodeNumbering> {
        let base = space(&(Arc::new(self.0.clone()) as Shared), degree, true);
        let cells = 0..base.topology().cell_count();
        let mut numbering = weft::geometry::NodeNumbering {
            count: base.node_count() - 1,
            cell_nodes: cells.flat_map(|c| base.cell_nodes(c)).copied().collect(),
            ..Default::default()
        };
        numbering.hanging.push([(1, 0.25), (0, 0.75)]);
        Some(numbering)
    }
}

#[test]
fn hanging_nodes_stand_for_their_masters() {
    let mut random = Random(19);
    let g: Shared = Arc::new(Hung(Grid2::unit([4, 3]).unwrap()));
    for degree in [1, 2] {
        let space = space(&g, degree, true);
        assert_eq!(space.hanging().len(), 1);
        for parts in 1..=4 {
            for owners in divisions(&g, parts, &mut random) {
                let cells = all_parts(&g, &owners, parts);
                let nodes: Vec<SpacePartition> = cells
                    .iter()
                    .map(|p| SpacePartition::new(&space, p).unwrap())
                    .collect();
                nodes.iter().for_each(|p| check(p, &owners));
                check_exchange(&nodes, &cells);
                let owned: usize = nodes.iter().map(|p| p.owned_count()).sum();
                assert_eq!(owned, space.node_count());
            }
        }
        // In a batch all hanging nodes come last.
        let n = space.node_count() as u32;
        let batch: Shared = Arc::new(Batch::new(g.clone(), 3).unwrap());
        assert!(batch.nodes_may_hang());
        let large = Space::on(batch, degree, NodeFamily::Equispaced, true).unwrap();
        assert_eq!(
            (large.node_count(), large.hanging().len()),
            (3 * n as usize, 3)
        );
        for cell in 0..36 {
            let k = cell as u32 / 12;
            let shift = |&node: &u32| if node < n { k * n + node } else { 3 * n + k };
            assert!(
                large
                    .cell_nodes(cell)
                    .iter()
                    .copied()
                    .eq(space.cell_nodes(cell % 12).iter().map(shift))
            );
        }
        for k in 0..3 {
            let masters: Vec<(u32, f64)> = large.hanging().masters(k as usize).collect();
            assert_eq!(masters, [(k * n + 1, 0.25), (k * n, 0.75)]);
        }
    }
    // Nodes that do not hang may be of any family; nodes that do are equispaced from degree 3 on.
    let lobatto = Space::on(g, 3, NodeFamily::Lobatto, true);
    assert!(matches!(
        lobatto,
        Err(weft::space::SpaceError::NeedsEquispaced)
    ));
}
