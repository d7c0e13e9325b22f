//! Rebuilding partitions allocates nothing after warm-up, survives memory running out, and leaves
//! nothing behind.

use std::sync::Arc;

use weft::element::{CellKind, NodeFamily};
use weft::geometry::{Geometry, Grid3, Mesh, shapes};
use weft::partition::*;
use weft::space::Space;

#[path = "common/mod.rs"]
mod common;
#[path = "common/counting.rs"]
mod counting;

use common::Random;
use counting::{grant, own_bytes, own_calls};

/// In a pool of one thread all work is done, and counted, on that thread.
fn on_one_thread(work: impl FnOnce() + Send) {
    common::pool(1).install(work);
}

struct All {
    cells: GeometryPartition,
    nodes: SpacePartition,
    restriction: SpaceRestriction,
    order: EnvironmentOrder,
}

impl All {
    fn new(space: &Space, environments: &Environments, mask: &[bool]) -> All {
        let cells = GeometryPartition::by_mask(space.geometry().clone(), mask).unwrap();
        let nodes = SpacePartition::new(space, &cells).unwrap();
        let restriction = SpaceRestriction::on_cells(&nodes, cells.cells()).unwrap();
        let order = EnvironmentOrder::new(&nodes, environments).unwrap();
        All {
            cells,
            nodes,
            restriction,
            order,
        }
    }

    fn rebuild(
        &mut self,
        space: &Space,
        environments: &Environments,
        mask: &[bool],
    ) -> Result<(), PartitionError> {
        self.cells.rebuild(mask)?;
        self.nodes.rebuild(space, &self.cells)?;
        self.restriction.rebuild(&self.nodes, self.cells.cells())?;
        self.order.rebuild(&self.nodes, environments)
    }

    fn seen(&self) -> Vec<Vec<u32>> {
        vec![
            self.cells.cells().to_vec(),
            self.cells.sides().to_vec(),
            self.cells.boundary_sides().to_vec(),
            self.cells.frontier_sides().to_vec(),
            self.nodes.nodes().to_vec(),
            self.nodes.local_nodes().to_vec(),
            self.nodes.node_offsets().map(|n| n as u32).to_vec(),
            self.restriction.elements().to_vec(),
            self.restriction.lists().slots().to_vec(),
            self.restriction.lists().offsets().to_vec(),
            self.order.nodes().to_vec(),
            self.order
                .node_offsets()
                .iter()
                .map(|&n| n as u32)
                .collect(),
        ]
    }
}

fn random_mask(mask: &mut [bool], random: &mut Random) {
    let share = random.unit();
    mask.iter_mut().for_each(|m| *m = random.unit() < share);
}

fn setup(geometry: Arc<dyn Geometry>, degree: usize) -> (Space, Environments) {
    let count = geometry.topology().cell_count();
    let environments = Environments::by_cell(&*geometry, vec![0; count], 1).unwrap();
    let space = Space::on(geometry, degree, NodeFamily::Lobatto, true).unwrap();
    (space, environments)
}

#[test]
fn a_thousand_rebuilds_allocate_nothing() {
    on_one_thread(|| {
        let mut random = Random(1);
        let tets = shapes::box_tets([3; 3], [0.0; 3], [1.0; 3]).unwrap();
        for geometry in [
            Arc::new(Grid3::unit([5; 3]).unwrap()) as Arc<dyn Geometry>,
            Arc::new(tets),
        ] {
            let (space, environments) = setup(geometry.clone(), 2);
            let n = geometry.topology().cell_count();
            let mut mask = vec![true; n];
            let mut all = All::new(&space, &environments, &mask);
            all.rebuild(&space, &environments, &mask).unwrap();
            for step in 0..1000 {
                random_mask(&mut mask, &mut random);
                let before = own_calls();
                all.rebuild(&space, &environments, &mask).unwrap();
                assert_eq!(own_calls() - before, 0, "step {step}");
                if step % 50 == 0 {
                    assert_eq!(all.seen(), All::new(&space, &environments, &mask).seen());
                }
            }
        }
    });
}

/// Each object refuses to grow when memory runs out at any allocation, and is then as it was.
#[test]
fn memory_that_runs_out_changes_nothing() {
    on_one_thread(|| {
        let small = shapes::box_tets([1; 3], [0.0; 3], [1.0; 3]).unwrap();
        let large = shapes::box_tets([3; 3], [0.0; 3], [1.0; 3]).unwrap();
        let mesh = Mesh::new(
            CellKind::Tet,
            3,
            small.map().nodes.clone(),
            small.topology().cells().to_vec(),
        )
        .unwrap();
        let (space, environments) = setup(Arc::new(mesh.clone()), 2);
        let mask: Vec<bool> = (0..mesh.topology().cell_count())
            .map(|c| c % 2 == 0)
            .collect();
        let mut all = All::new(&space, &environments, &mask);
        let before = all.seen();
        mesh.rebuild(large.map().nodes.clone(), large.topology().cells().to_vec())
            .unwrap();
        let (space, environments) = setup(Arc::new(mesh.clone()), 2);
        let mask: Vec<bool> = (0..mesh.topology().cell_count())
            .map(|c| c % 3 == 0)
            .collect();
        let expected = All::new(&space, &environments, &mask);
        let mut failures = 0;
        let run = |step: &mut dyn FnMut() -> Result<(), PartitionError>, failures: &mut usize| {
            for granted in 0.. {
                grant(granted);
                let result = step();
                grant(usize::MAX);
                match result {
                    Ok(()) => return granted,
                    Err(error) => assert_eq!(error, PartitionError::Memory),
                }
                *failures += 1;
            }
            unreachable!()
        };
        // One object after another, so that what comes later is still the old one.
        let granted = {
            let (cells, mask) = (&mut all.cells, &mask);
            let old = [cells.cells().to_vec(), cells.sides().to_vec()];
            let mut step = || {
                let result = cells.rebuild(mask);
                if result.is_err() {
                    assert!(cells.cells() == old[0] && cells.sides() == old[1]);
                }
                result
            };
            // The comparison allocates nothing, so it may run while memory is refused.
            run(&mut step, &mut failures)
        };
        assert!(granted > 0);
        let rest = |all: &All| all.seen()[4..].to_vec();
        assert_eq!(rest(&all), before[4..]);
        let cells = all.cells.clone();
        run(&mut || all.nodes.rebuild(&space, &cells), &mut failures);
        assert_eq!(all.seen()[7..], before[7..]);
        let nodes = all.nodes.clone();
        run(
            &mut || all.restriction.rebuild(&nodes, cells.cells()),
            &mut failures,
        );
        assert_eq!(all.seen()[10..], before[10..]);
        run(
            &mut || all.order.rebuild(&nodes, &environments),
            &mut failures,
        );
        assert!(failures > 10, "{failures}");
        assert_eq!(all.seen(), expected.seen());
    });
}

/// Made, rebuilt, failed and dropped at random, they leave no byte behind.
#[test]
fn nothing_is_left_behind() {
    on_one_thread(|| {
        let geometry: Arc<dyn Geometry> = Arc::new(Grid3::unit([4; 3]).unwrap());
        let (space, environments) = setup(geometry.clone(), 1);
        let n = geometry.topology().cell_count();
        let mut random = Random(2);
        let mut mask = vec![true; n];
        geometry.topology().interior_sides();
        let mut cycles = |steps: usize| {
            let mut kept: Vec<Option<All>> = (0..5).map(|_| None).collect();
            for _ in 0..steps {
                random_mask(&mut mask, &mut random);
                let slot = &mut kept[random.below(5)];
                match (random.below(4), slot.as_mut()) {
                    (0, _) => *slot = None,
                    (1, Some(all)) => {
                        let before = all.seen();
                        assert!(all.cells.rebuild(&mask[1..]).is_err());
                        assert!(all.restriction.rebuild(&all.nodes, &[n as u32]).is_err());
                        assert_eq!(all.seen(), before);
                    }
                    (2, Some(all)) => {
                        Exchange::new(&all.nodes, &all.cells).unwrap();
                        let owners = graph_parts(&*geometry, 3).unwrap();
                        GeometryPartition::by_owner(geometry.clone(), &owners, 1, 3).unwrap();
                    }
                    (_, Some(all)) => all.rebuild(&space, &environments, &mask).unwrap(),
                    (_, None) => *slot = Some(All::new(&space, &environments, &mask)),
                }
            }
        };
        // The first round also makes what the thread pool keeps for itself.
        cycles(200);
        let start = own_bytes();
        cycles(1000);
        assert_eq!(own_bytes(), start);
    });
}

/// Whole and linear partitions follow a geometry that changes without allocating, and stay as they
/// are where memory runs out.
#[test]
fn issue_004_following_runs_allocates_nothing() {
    on_one_thread(|| {
        let states = [3, 2].map(|n| {
            let mesh = shapes::box_tets([n; 3], [0.0; 3], [1.0; 3]).unwrap();
            (mesh.map().nodes.clone(), mesh.topology().cells().to_vec())
        });
        let mesh = shapes::box_tets([1; 3], [0.0; 3], [1.0; 3]).unwrap();
        let shared: Arc<dyn Geometry> = Arc::new(mesh.clone());
        let mut all = [
            GeometryPartition::whole(shared.clone()).unwrap(),
            GeometryPartition::linear(shared, 1, 3).unwrap(),
        ];
        for step in 0..20 {
            let (nodes, cells) = states[step % 2].clone();
            mesh.rebuild(nodes, cells).unwrap();
            for part in &mut all {
                let old = [part.cells().to_vec(), part.sides().to_vec()];
                let mut failures = 0;
                let before = own_calls();
                for granted in 0.. {
                    grant(granted);
                    let result = part.follow();
                    grant(usize::MAX);
                    match result {
                        Ok(()) => break,
                        Err(error) => assert_eq!(error, PartitionError::Memory),
                    }
                    assert!(part.cells() == old[0] && part.sides() == old[1]);
                    failures += 1;
                }
                assert_eq!(failures > 0, step == 0, "step {step}");
                assert!(step == 0 || own_calls() == before);
            }
        }
    });
}
