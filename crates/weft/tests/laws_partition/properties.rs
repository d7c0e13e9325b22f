//! Random grids, owners and degrees.

use super::*;
use proptest::prelude::*;

fn case() -> impl Strategy<Value = (Shared, Vec<u32>, u32, usize)> {
    (any::<bool>(), [1..5usize, 1..5, 1..3], 1..6u32, 1..4usize).prop_flat_map(
        |(flat, [x, y, z], parts, degree)| {
            let geometry: Shared = match flat {
                true => Arc::new(Grid2::unit([x, y]).unwrap()),
                false => Arc::new(Grid3::unit([x, y, z]).unwrap()),
            };
            let n = geometry.topology().cell_count();
            let owners = prop::collection::vec(0..parts, n);
            (Just(geometry), owners, Just(parts), Just(degree))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Owned nodes divide the space; own cells and cells at owned nodes lie in the part; what
    /// one part sends is what the other receives.
    #[test]
    fn parts_fit_together((geometry, owners, parts, degree) in case()) {
        let space = space(&geometry, degree, true);
        let cells = all_parts(&geometry, &owners, parts);
        let nodes: Vec<SpacePartition> =
            cells.iter().map(|p| SpacePartition::new(&space, p).unwrap()).collect();
        let mut owned: Vec<u32> = nodes.iter().flat_map(|p| p.owned_nodes()).copied().collect();
        owned.sort_unstable();
        prop_assert!(owned.into_iter().eq(0..space.node_count() as u32));
        for (p, part) in nodes.iter().zip(&cells) {
            for cell in 0..owners.len() {
                let of_cell = space.cell_nodes(cell);
                let owns = |&n: &u32| p.owner(n as usize) == p.rank();
                if part.contains(cell) || of_cell.iter().any(owns) {
                    prop_assert!(of_cell.iter().all(|&n| p.local_node(n as usize).is_some()));
                }
                if of_cell.iter().any(|&n| {
                    let local = p.local_node(n as usize);
                    local.is_some_and(|l| p.class(NodeClass::OwnedInterior).contains(&l))
                }) {
                    prop_assert!(part.contains(cell));
                }
            }
            let exchange = Exchange::new(p, part).unwrap();
            for (k, &q) in exchange.neighbours().iter().enumerate() {
                let other = &nodes[q as usize];
                for &local in exchange.send(k) {
                    let node = p.nodes()[local as usize] as usize;
                    prop_assert!(other.local_node(node).unwrap() >= other.owned_count());
                }
                let received: usize = exchange.receive(k).len();
                let halo = p.halo_nodes().iter().filter(|&&n| p.owner(n as usize) == q).count();
                prop_assert_eq!(received, halo);
            }
        }
    }
}
