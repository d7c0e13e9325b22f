//! Batches of copies, environments by label, and nodes ordered by environment.

use super::*;
use common::assert_close;
use weft::assemble::{integrate, matrix};
use weft::form::{Expr, Measure, dot, grad};
use weft::geometry::{AdaptiveVoxelGrid, Deformed, Locator, Search, frame_at};

fn bases() -> Vec<(String, Shared)> {
    let mut all = geometries();
    all.retain(|(name, _)| name != "batch");
    all
}

/// Entities of each copy are those of the base, shifted.
#[test]
fn copies_are_the_base_over_and_over() {
    for (name, base) in bases() {
        let (b, map) = (base.topology(), base.map());
        for copies in [1, 3] {
            let offsets: Vec<[f64; 3]> = (0..copies).map(|k| [2.0 * k as f64, 0.0, 0.0]).collect();
            let batch = Batch::moved(base.clone(), offsets).unwrap();
            let t = batch.topology();
            assert_eq!(batch.lattice(), None);
            assert_eq!(batch.map_class(), base.map_class());
            let counts = |t: &weft::geometry::Topology| {
                let boundary = t.boundary_sides().len();
                [
                    t.cell_count(),
                    t.vertex_count(),
                    t.side_count(),
                    boundary,
                    t.edge_count(),
                ]
            };
            assert_eq!(counts(&t), counts(&b).map(|n| n * copies), "{name}");
            for k in 0..copies {
                let shifted = |items: &[u32], count: usize| -> Vec<u32> {
                    items.iter().map(|i| i + (k * count) as u32).collect()
                };
                for c in 0..b.cell_count() {
                    let cell = k * b.cell_count() + c;
                    assert_eq!(batch.cell_environment(cell), k);
                    assert_eq!(
                        t.cell_vertices(cell),
                        shifted(b.cell_vertices(c), b.vertex_count())
                    );
                    assert_eq!(t.cell_sides(cell), shifted(b.cell_sides(c), b.side_count()));
                    assert_eq!(t.cell_edges(cell), shifted(b.cell_edges(c), b.edge_count()));
                }
                for s in 0..b.side_count() {
                    let side = k * b.side_count() + s;
                    assert_eq!(
                        t.side_vertices(side),
                        shifted(b.side_vertices(s), b.vertex_count())
                    );
                    assert_eq!(
                        t.side_cells(side).to_vec(),
                        shifted(&b.side_cells(s), b.cell_count())
                    );
                    assert_eq!(t.side_locals(side), b.side_locals(s));
                    assert_eq!(batch.side_maps(&t, side), base.side_maps(&b, s));
                }
                for v in 0..b.vertex_count() as u32 {
                    let mut x = map.vertex(v);
                    x[0] += 2.0 * k as f64;
                    assert_eq!(batch.map().vertex(v + (k * b.vertex_count()) as u32), x);
                }
            }
            let (tags, of_base) = (batch.tags(), base.tags());
            for tag in of_base.side_names() {
                let expected: Vec<u32> = (0..copies)
                    .flat_map(|k| {
                        let sides = of_base.sides(tag).unwrap().iter();
                        let shift = (k * b.side_count()) as u32;
                        sides.map(move |s| s + shift)
                    })
                    .collect();
                assert_eq!(tags.sides(tag).unwrap(), expected);
            }
            tags.check(&t).unwrap();
        }
    }
}

/// Node `n` of copy `k` is `k × count + n`, and copies share none.
#[test]
fn nodes_of_copies_are_those_of_the_base() {
    for (name, base) in bases() {
        let batch: Shared = Arc::new(Batch::new(base.clone(), 3).unwrap());
        let cells = base.topology().cell_count();
        for family in [NodeFamily::Lobatto, NodeFamily::Equispaced] {
            for degree in 1..=4 {
                let small = Space::on(base.clone(), degree, family, true).unwrap();
                let large = Space::on(batch.clone(), degree, family, true).unwrap();
                assert_eq!(large.node_count(), 3 * small.node_count());
                for cell in 0..3 * cells {
                    let shift = (cell / cells * small.node_count()) as u32;
                    let expected: Vec<u32> = small
                        .cell_nodes(cell % cells)
                        .iter()
                        .map(|n| n + shift)
                        .collect();
                    assert_eq!(large.cell_nodes(cell), expected, "{name}");
                }
            }
        }
    }
}

/// A matrix on a batch has the base's matrix for each copy and nothing between copies; integrals
/// over cells and sides are those of the base, as often.
#[test]
fn assembly_on_a_batch_is_block_diagonal() {
    let grid2: Shared = Arc::new(Grid2::new([3, 2], [0.0; 2], [1.5, 1.0]).unwrap());
    let grid3: Shared = Arc::new(Grid3::unit([2, 1, 2]).unwrap());
    let mesh: Shared = Arc::new(scrambled(
        &unit_mesh(CellKind::Tet, [2, 1, 1]),
        &mut Random(13),
    ));
    for base in [grid2, grid3, mesh, Arc::new(voxels())] {
        let far = vec![[0.0; 3], [10.0, 0.0, 0.0], [0.0, 3.0, 0.0]];
        let batch = Batch::moved(base.clone(), far).unwrap();
        for degree in 1..=3 {
            let stiffness = |geometry: Shared, measure: Measure, sides: Measure| {
                let space = space(&geometry, degree, true);
                let (u, v) = (Expr::trial(&space), Expr::test(&space));
                let form = (dot(&grad(&u), &grad(&v)) + &u * &v).over(&measure);
                matrix(&(form + (&u * &v).over(&sides))).unwrap()
            };
            let shared: Shared = Arc::new(batch.clone());
            let large = stiffness(shared, Measure::cells(&batch), Measure::boundary(&batch));
            let handle = Batch::new(base.clone(), 1).unwrap();
            let single: Shared = Arc::new(handle.clone());
            let small = stiffness(single, Measure::cells(&handle), Measure::boundary(&handle));
            let n = small.rows();
            assert_eq!(large.rows(), 3 * n);
            for row in 0..3 * n {
                let (columns, values) = large.row(row);
                let (of_base, expected) = small.row(row % n);
                let shift = (row / n * n) as u32;
                assert!(
                    columns
                        .iter()
                        .copied()
                        .eq(of_base.iter().map(|c| c + shift))
                );
                // Positions far from the origin lose some digits of edge lengths.
                let scale = small.max_abs();
                assert!(
                    values
                        .iter()
                        .zip(expected)
                        .all(|(a, b)| (a - b).abs() < 1e-13 * scale)
                );
            }
        }
    }
}

#[test]
fn measures_multiply_and_a_moved_base_is_followed() {
    let mesh = unit_mesh(CellKind::Triangle, [3, 3, 1]);
    let batch = Batch::new(Arc::new(mesh.clone()), 4).unwrap();
    let area = || integrate(&Expr::from(1.0).over(&Measure::cells(&batch))).unwrap();
    assert_close(&[area()], &[4.0], 1e-14, "area");
    assert!(!batch.refresh().unwrap());
    let before = batch.topology();
    let stretched = mesh
        .map()
        .nodes
        .iter()
        .map(|x| [2.0 * x[0], x[1], 0.0])
        .collect();
    mesh.move_vertices(stretched).unwrap();
    assert_close(&[area()], &[4.0], 1e-14, "the snapshot");
    assert!(batch.refresh().unwrap());
    assert_close(&[area()], &[8.0], 1e-14, "the moved mesh");
    assert!(Arc::ptr_eq(&before, &batch.topology()));
    let other = unit_mesh(CellKind::Triangle, [1, 1, 1]);
    mesh.rebuild(other.map().nodes.clone(), other.topology().cells().to_vec())
        .unwrap();
    assert_eq!(batch.topology().cell_count(), 72);
    assert!(batch.refresh().unwrap());
    assert_eq!(batch.topology().cell_count(), 8);
    // A deformed batch keeps the numbering of its nodes.
    let grid: Shared = Arc::new(Grid2::unit([2, 2]).unwrap());
    let batch = Batch::new(grid, 2).unwrap();
    let map = batch.map();
    let deformed = Deformed::new(
        Arc::new(batch.clone()),
        1,
        map.nodes.clone(),
        map.cell_nodes.to_vec(),
    )
    .unwrap();
    let [a, b]: [Shared; 2] = [Arc::new(batch), Arc::new(deformed)];
    let [a, b] = [a, b].map(|g| space(&g, 3, true));
    assert!((0..8).all(|cell| a.cell_nodes(cell) == b.cell_nodes(cell)));
}

#[test]
fn bad_batches() {
    let grid: Shared = Arc::new(Grid2::unit([100, 100]).unwrap());
    let error = |b: Result<Batch, weft::geometry::GeometryError>| b.unwrap_err().to_string();
    assert_eq!(
        error(Batch::new(grid.clone(), 0)),
        "the number of copies must be at least 1, not 0"
    );
    assert!(error(Batch::new(grid.clone(), usize::MAX)).contains("are too many"));
    assert!(error(Batch::new(grid.clone(), 400_000)).contains("are too many"));
    assert!(error(Batch::moved(grid.clone(), vec![[0.0, f64::NAN, 0.0]])).contains("NaN"));
    assert!(error(Batch::moved(grid, vec![[0.0, 0.0, 1.0]])).contains("outside the space"));
}

/// Points are found in the copy that is asked, whether copies lie in one place or apart: as a
/// locator of the whole batch finds them among the cells of that copy.
#[test]
fn lookup_takes_an_environment() {
    let mut random = Random(31);
    let fine = (0..8).map(|i| [2 + i / 4, 2 + i / 2 % 2, i % 2]).collect();
    let coarse = vec![[0, 0, 0], [0, 1, 0], [1, 0, 0]];
    let hanging =
        AdaptiveVoxelGrid::from_hierarchy(&[fine, coarse], VoxelMap::uniform(0.5).unwrap())
            .unwrap();
    let mut all = bases();
    all.push(("hanging voxels".to_string(), Arc::new(hanging)));
    for (name, base) in all {
        let dim = base.space_dim();
        let cells = base.topology().cell_count();
        for step in [0.0, 0.25, 100.0] {
            let offsets: Vec<[f64; 3]> = (0..3).map(|k| [step * k as f64, 0.0, 0.0]).collect();
            let batch = Batch::moved(base.clone(), offsets).unwrap();
            let environments = batch.environments();
            let (own, all) = (BatchLocator::new(&batch), Locator::new(&batch));
            let shared: Shared = Arc::new(batch.clone());
            // Copies of nodes keep apart where the copies lie in one place.
            let space = space(&shared, 1, true);
            for cell in 0..3 * cells {
                let environment = cell / cells;
                let nodes = space.cell_nodes(cell).iter().map(|&n| n as usize);
                let count = space.node_count() / 3;
                let hung = |n: usize| n >= space.node_count();
                assert!(
                    nodes
                        .into_iter()
                        .all(|n| hung(n) || n / count == environment)
                );
            }
            for _ in 0..60 {
                let cell = random.below(3 * cells);
                let environment = cell / cells;
                let filter = environments.filter(environment);
                let xi = random.point(base.cell_kind());
                let x = frame_at(&batch, cell, xi).position;
                let found = own.find(environment, x, 1e-9).unwrap().unwrap();
                assert_eq!(found.cell, cell, "{name}");
                assert_eq!(all.find_among(x, 1e-9, &filter).unwrap().cell, cell);
                let there = frame_at(&batch, found.cell, found.xi).position;
                assert!((0..3).all(|d| (there[d] - x[d]).abs() < 1e-10), "{name}");
                let far: [f64; 3] = std::array::from_fn(|d| match d < dim {
                    true => x[d] + random.between(-2.0, 2.0),
                    false => 0.0,
                });
                let (near, third) = (f64::INFINITY, |c: usize| c.is_multiple_of(3));
                for (max_dist, filtered, guess) in [
                    (near, false, 0),
                    (near, false, cell),
                    (near, true, 5),
                    (0.5, false, cell),
                ] {
                    let mut search = Search::within(max_dist).near(guess);
                    if filtered {
                        search = search.among(&third);
                    }
                    let found = own.closest(environment, far, &search).unwrap();
                    let both = |c: usize| filter(c) && (!filtered || third(c));
                    let search = Search::within(max_dist).among(&both);
                    let wanted = all.closest_with(far, &search);
                    assert_eq!(found.is_some(), wanted.is_some(), "{name}");
                    if let (Some(a), Some(b)) = (found, wanted) {
                        assert!(both(a.cell));
                        assert!((a.distance - b.distance).abs() < 1e-10, "{name}");
                        let there = frame_at(&batch, a.cell, a.xi).position;
                        assert!((0..3).all(|d| (there[d] - a.position[d]).abs() < 1e-10));
                    }
                }
            }
            let error = own.find(3, [0.0; 3], 0.0).unwrap_err();
            assert_eq!(
                error.to_string(),
                "environment 3 does not exist; accepted are 0 to 2"
            );
            assert!(own.closest(7, [0.0; 3], &Search::within(1.0)).is_err());
        }
    }
    // A locator keeps the positions of the batch, which follows its base only when told to.
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let batch = Batch::new(Arc::new(mesh.clone()), 2).unwrap();
    let map = mesh.map();
    let up = map.nodes.iter().map(|x| [x[0], x[1] + 5.0, 0.0]);
    mesh.move_vertices(up.collect()).unwrap();
    let low = BatchLocator::new(&batch);
    batch.refresh().unwrap();
    let high = BatchLocator::new(&batch);
    for (locator, y, off) in [(low, 0.3, 5.3), (high, 5.3, 0.3)] {
        assert!(locator.find(1, [0.2, y, 0.0], 0.0).unwrap().is_some());
        assert_eq!(locator.find(1, [0.2, off, 0.0], 0.0).unwrap(), None);
    }
}

/// The same mesh `copies` times over, cells interleaved between the copies.
fn interleaved(copies: usize) -> (Mesh, Vec<u32>) {
    let mesh = unit_mesh(CellKind::Triangle, [2, 2, 1]);
    let (t, map) = (mesh.topology(), mesh.map());
    let mut points = Vec::new();
    for k in 0..copies {
        points.extend(map.nodes.iter().map(|x| [x[0] + 2.0 * k as f64, x[1], 0.0]));
    }
    let (mut cells, mut labels) = (Vec::new(), Vec::new());
    for c in 0..t.cell_count() {
        for k in 0..copies {
            let shift = (k * t.vertex_count()) as u32;
            cells.extend(t.cell_vertices(c).iter().map(|v| v + shift));
            labels.push(k as u32);
        }
    }
    (
        Mesh::new(CellKind::Triangle, 2, points, cells).unwrap(),
        labels,
    )
}

fn check_order(order: &EnvironmentOrder, p: &SpacePartition, environments: &Environments) {
    let space = p.space();
    let mut of_node = vec![environments.count() as u32; space.node_count()];
    for cell in 0..space.topology().cell_count() {
        for &node in space.cell_nodes(cell) {
            of_node[node as usize] = environments.of_cell(cell) as u32;
        }
    }
    let mut expected = p.owned_nodes().to_vec();
    expected.sort_by_key(|&node| of_node[node as usize]);
    assert_eq!(order.nodes(), expected);
    let below = |e: usize| {
        expected
            .iter()
            .filter(|&&n| of_node[n as usize] < e as u32)
            .count()
    };
    let offsets: Vec<usize> = (0..=environments.count()).map(below).collect();
    assert_eq!(order.node_offsets(), offsets);
    assert!(
        order
            .dof_offsets()
            .eq(offsets.iter().map(|n| n * space.components()))
    );
    for (e, w) in offsets.windows(2).enumerate() {
        assert_eq!(order.environment(e), w[0]..w[1]);
    }
    assert_eq!(order.tail(), offsets[environments.count()]..expected.len());
    for node in 0..space.node_count() {
        assert_eq!(
            order.position(node),
            expected.iter().position(|&n| n as usize == node)
        );
    }
}

#[test]
fn nodes_by_environment() {
    let mut random = Random(14);
    for copies in [1, 2, 5] {
        let (mesh, labels) = interleaved(copies);
        let environments = Environments::by_cell(&mesh, labels.clone(), copies as u32).unwrap();
        assert_eq!(environments.cell_environments(), labels);
        for e in 0..copies {
            let cells: Vec<u32> = (0..labels.len() as u32)
                .filter(|&c| labels[c as usize] == e as u32)
                .collect();
            assert_eq!(environments.cells(e), cells);
        }
        for side in 0..mesh.topology().side_count() {
            let cells = mesh.topology().side_cells(side);
            assert!(
                cells
                    .iter()
                    .all(|&c| labels[c as usize] as usize == environments.of_side(side))
            );
        }
        let mesh: Shared = Arc::new(mesh);
        for space in spaces(&mesh) {
            let space = space.vector(2).unwrap();
            let whole = SpacePartition::whole(&space).unwrap();
            let mut order = EnvironmentOrder::new(&whole, &environments).unwrap();
            check_order(&order, &whole, &environments);
            for owners in divisions(&mesh, 3, &mut random) {
                for part in all_parts(&mesh, &owners, 3) {
                    let p = SpacePartition::new(&space, &part).unwrap();
                    order.rebuild(&p, &environments).unwrap();
                    check_order(&order, &p, &environments);
                }
            }
        }
    }
    for (_, base) in bases() {
        let batch = Batch::new(base, 2).unwrap();
        let environments = batch.environments();
        let shared: Shared = Arc::new(batch.clone());
        // The labels of a batch pass the check of labels.
        let labels = environments.cell_environments().to_vec();
        Environments::by_cell(&batch, labels, 2).unwrap();
        let whole = SpacePartition::whole(&space(&shared, 2, true)).unwrap();
        check_order(
            &EnvironmentOrder::new(&whole, &environments).unwrap(),
            &whole,
            &environments,
        );
    }
}

/// Offsets with empty environments, capped ones, and a tail of nodes without environment.
#[test]
fn offsets_empty_capped_and_tail() {
    let grid: Shared = Arc::new(Grid2::unit([1, 1]).unwrap());
    let batch: Shared = Arc::new(Batch::new(grid, 2).unwrap());
    let dg = space(&batch, 0, false);
    let whole = SpacePartition::whole(&dg).unwrap();
    let two = Environments::by_cell(&*batch, vec![0, 1], 2).unwrap();
    let order = EnvironmentOrder::new(&whole, &two).unwrap();
    assert_eq!(order.node_offsets(), [0, 1, 2]);
    let mut order = EnvironmentOrder::bounded(&whole, &two, 1).unwrap();
    assert_eq!(
        (order.node_offsets(), order.nodes()),
        (&[0, 1, 1][..], &[0][..])
    );
    assert_eq!(order.overflow(), Some(2));
    assert_eq!(order.position(1), None);
    order.clear_overflow();
    let three = Environments::by_cell(&*batch, vec![0, 1], 3).unwrap();
    assert!(three.cells(2).is_empty());
    let order = EnvironmentOrder::new(&whole, &three).unwrap();
    assert_eq!(order.node_offsets(), [0, 1, 2, 2]);
    let order = EnvironmentOrder::bounded(&whole, &three, 4).unwrap();
    assert_eq!((order.nodes(), order.overflow()), (&[0, 1][..], None));
    assert_eq!(order.node_slots(), [0, 1, NULL, NULL]);

    // Vertex 8 has no cell. The two triangles at one vertex are one environment.
    let mesh: Shared = Arc::new(pieces());
    let environments = Environments::by_cell(&*mesh, vec![1, 1, 0], 2).unwrap();
    let whole = SpacePartition::whole(&space(&mesh, 1, true)).unwrap();
    let order = EnvironmentOrder::new(&whole, &environments).unwrap();
    assert_eq!(order.nodes(), [5, 6, 7, 0, 1, 2, 3, 4, 8]);
    assert_eq!((order.node_offsets(), order.tail()), (&[0, 3, 8][..], 8..9));
}

#[test]
fn environments_must_not_touch() {
    let mesh = pieces();
    let error = |labels: Vec<u32>, count| Environments::by_cell(&mesh, labels, count).unwrap_err();
    assert_eq!(
        error(vec![0, 1, 2], 3).to_string(),
        "vertex 0 belongs to cell 0 of environment 0 and to cell 1 of environment 1; environments must not share vertices"
    );
    assert_eq!(
        error(vec![0, 0], 1).to_string(),
        "the cell environments has 2 entries; the geometry has 3 cells, one entry for each is needed"
    );
    assert_eq!(
        error(vec![0, 0, 2], 2).to_string(),
        "cell 2 is in environment 2; there are 2 environments, numbered from 0"
    );
    let grid = Grid2::unit([2, 1]).unwrap();
    assert_eq!(
        Environments::by_cell(&grid, vec![0, 1], 2).unwrap_err(),
        PartitionError::CrossingSide {
            side: 1,
            cells: [0, 1],
            environments: [0, 1]
        }
    );
    let whole = SpacePartition::whole(&space(&(Arc::new(grid) as Shared), 1, true)).unwrap();
    let environments = Environments::by_cell(&mesh, vec![0, 0, 1], 2).unwrap();
    assert!(matches!(
        EnvironmentOrder::new(&whole, &environments),
        Err(PartitionError::Stale { .. })
    ));
}

/// A batch numbers its own state of the base, not the one that the base is in by now.
#[test]
fn issue_004_batch_numbers_its_snapshot() {
    for kind in CellKind::CELLS {
        let mesh = unit_mesh(kind, [3, 2, 1]);
        let batch: Shared = Arc::new(Batch::new(Arc::new(mesh.clone()), 3).unwrap());
        let (old, map) = (mesh.topology(), mesh.map());
        let before: Vec<Space> = (1..=3).map(|p| space(&batch, p, true)).collect();
        let smaller = unit_mesh(kind, [1; 3]);
        let states = [
            (map.nodes.clone(), old.cells().to_vec()),
            (
                smaller.map().nodes.clone(),
                smaller.topology().cells().to_vec(),
            ),
        ];
        for (nodes, cells) in states {
            mesh.rebuild(nodes, cells).unwrap();
            for (was, p) in before.iter().zip(1..) {
                let is = space(&batch, p, true);
                assert_eq!(is.node_count(), was.node_count());
                for cell in 0..3 * old.cell_count() {
                    assert_eq!(is.cell_nodes(cell), was.cell_nodes(cell), "{kind:?} {p}");
                }
            }
        }
    }
}

/// A deformed batch is not mixed up with what the batch becomes.
#[test]
fn issue_004_deformed_batch_after_a_refresh() {
    let mesh = unit_mesh(CellKind::Triangle, [3, 3, 1]);
    let batch = Batch::new(Arc::new(mesh.clone()), 2).unwrap();
    let map = batch.map();
    let cell_nodes = map.cell_nodes.to_vec();
    let deformed = Deformed::new(Arc::new(batch.clone()), 1, map.nodes.clone(), cell_nodes);
    let deformed = deformed.unwrap();
    let topology = deformed.topology();
    let seen: Vec<_> = (0..topology.side_count())
        .map(|side| deformed.side_maps(&topology, side))
        .collect();
    // The same number of cells, in another order, and fewer.
    let turned = scrambled(&mesh, &mut Random(3));
    for other in [turned, unit_mesh(CellKind::Triangle, [1; 3])] {
        let (nodes, cells) = (other.map().nodes.clone(), other.topology().cells().to_vec());
        mesh.rebuild(nodes, cells).unwrap();
        assert!(batch.refresh().unwrap());
        assert!(matches!(
            Space::lagrange(&deformed, 1),
            Err(weft::space::SpaceError::MeshRebuilt)
        ));
        let own = Space::discontinuous(&deformed, 1).unwrap();
        assert_eq!(own.node_count(), 3 * topology.cell_count());
        for (side, seen) in seen.iter().enumerate() {
            assert_eq!(deformed.side_maps(&topology, side), *seen);
        }
    }
}

/// Cells of different sizes that share an edge, or a face, and no vertex.
#[test]
fn issue_004_hanging_nodes_join_environments() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let grid = |cells: &[([i32; 3], u8)]| AdaptiveVoxelGrid::from_cells(cells, map).unwrap();
    let large = ([0; 3], 2);
    for near in [[4, 4, 1], [4, -1, 2], [-1, 1, 4], [1, -1, -1]] {
        let grid = grid(&[large, (near, 0)]);
        assert_eq!(grid.topology().interior_sides().len(), 0);
        let error = Environments::by_cell(&grid, vec![0, 1], 2).unwrap_err();
        assert!(
            matches!(
                error,
                PartitionError::CrossingNode {
                    cells: [0, 1],
                    environments: [0, 1],
                    ..
                }
            ),
            "{near:?} {error}"
        );
        Environments::by_cell(&grid, vec![1, 1], 2).unwrap();
    }
    // Over a third cell, larger than both, that belongs to one of them.
    let three = grid(&[large, ([4, 4, 1], 0), ([4, 4, 3], 0)]);
    assert!(Environments::by_cell(&three, vec![0, 0, 1], 2).is_err());
    // Apart by one voxel they are independent, and so are copies of hanging nodes.
    let apart = grid(&[large, ([5, 4, 1], 0)]);
    Environments::by_cell(&apart, vec![0, 1], 2).unwrap();
    let base = grid(&[large, ([4, 0, 0], 1), ([4, 0, 2], 0)]);
    let batch = Batch::new(Arc::new(base), 3).unwrap();
    let labels = batch.environments().cell_environments().to_vec();
    Environments::by_cell(&batch, labels, 3).unwrap();
}

/// Snapshots are whole while another thread changes the geometry, and are what the single
/// questions answer while nobody does.
#[test]
fn issue_004_snapshots_are_whole() {
    for (name, g) in geometries() {
        let whole = g.snapshot();
        assert!(Arc::ptr_eq(&whole.topology, &g.topology()), "{name}");
        assert!(Arc::ptr_eq(&whole.tags, &g.tags()) && Arc::ptr_eq(&whole.map, &g.map()));
        assert_eq!(whole.class, g.map_class());
    }
    let sizes = [1, 2].map(|n| shapes::sphere(n).unwrap());
    let states = sizes.map(|s| (s.map().nodes.clone(), s.topology().cells().to_vec()));
    let mesh = shapes::sphere(1).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..200 {
                let (nodes, cells) = states[turn % 2].clone();
                mesh.rebuild(nodes, cells).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            let whole = mesh.snapshot();
            assert_eq!(whole.topology.cells().len(), whole.map.cell_nodes.len());
            let surface = weft::geometry::Surface::new(&mesh).unwrap();
            assert!(surface.volume() > 3.0 && surface.volume() < 4.2);
            let parts = graph_parts(&mesh, 3).unwrap();
            assert!([80, 320].contains(&parts.len()));
            let batch = Batch::new(Arc::new(mesh.clone()), 2).unwrap();
            let whole = batch.snapshot();
            assert_eq!(whole.topology.cells().len(), whole.map.cell_nodes.len());
        }
    });
}
