//! Who owns memory: random lives of every kind of object, with failures in between, end where
//! they began; a failed change leaves its object as it was.
#![cfg(not(loom))]

use std::sync::Arc;
use weft::adapt::Transfer;
use weft::assemble::{Deformation, MatrixPlan, PointPlan, ScalarPlan, VectorPlan};
use weft::field::Field;
use weft::form::{Expr, Measure, Scope, grad};
use weft::geometry::{
    AdaptiveVoxelGrid, Geometry, Grading, Locator, Mark, Mesh, Surface, VoxelGrid, VoxelMap, shapes,
};
use weft::memory::Pool;
use weft::partition::{Batch, BatchLocator, EnvironmentOrder, GeometryPartition, SpacePartition};
use weft::problem::{Dirichlet, LinearProblem, Solver};
use weft::space::Space;

#[path = "common/counting.rs"]
mod counting;

struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        self.next(1 << 30) as f64 / (1u64 << 30) as f64
    }
}

fn mesh(random: &mut Random) -> Mesh {
    let n = 1 + random.next(3);
    match random.next(4) {
        0 => shapes::rectangle_triangles([n, 2], [0.0; 2], [1.0; 2]),
        1 => shapes::rectangle_quads([n, 2], [0.0; 2], [1.0; 2]),
        2 => shapes::box_tets([n, 1, 1], [0.0; 3], [1.0; 3]),
        _ => shapes::box_hexes([n, 1, 1], [0.0; 3], [1.0; 3]),
    }
    .unwrap()
}

/// Changes of a mesh, half of which fail and must leave it bit for bit as it was.
fn mesh_life(random: &mut Random) {
    let mesh = mesh(random);
    for _ in 0..4 {
        let (map, topology, tags) = (mesh.map(), mesh.topology(), mesh.tags());
        let mut nodes = map.nodes.clone();
        let cells = topology.cells().to_vec();
        let failed = match random.next(5) {
            0 => {
                nodes[0][0] = f64::NAN;
                mesh.move_vertices(nodes).is_err()
            }
            1 => mesh
                .move_vertices(nodes.iter().map(|_| [0.5; 3]).collect())
                .is_err(),
            2 => {
                let mut cells = cells;
                cells[0] = 1 << 30;
                mesh.rebuild(nodes, cells).is_err()
            }
            3 => {
                mesh.move_vertices(nodes.iter().map(|x| x.map(|c| 1.5 * c)).collect())
                    .unwrap();
                continue;
            }
            _ => {
                mesh.rebuild(nodes, cells).unwrap();
                continue;
            }
        };
        assert!(failed);
        assert!(Arc::ptr_eq(&map, &mesh.map()) && Arc::ptr_eq(&topology, &mesh.topology()));
        assert!(Arc::ptr_eq(&tags, &mesh.tags()));
    }
    drop(mesh.refined().unwrap());
}

fn cloud(random: &mut Random) -> Vec<[f64; 3]> {
    let count = 1 + random.next(40);
    (0..count)
        .map(|_| std::array::from_fn(|_| 6.0 * random.unit() - 3.0))
        .collect()
}

fn voxel_life(random: &mut Random) {
    let map = VoxelMap::uniform(0.5).unwrap();
    let (grid, _) = VoxelGrid::from_points(&cloud(random), None, map).unwrap();
    for _ in 0..4 {
        let points = cloud(random);
        if random.next(2) == 0 {
            grid.rebuild(&points, None).unwrap();
            continue;
        }
        let (cells, topology, nodes) = (grid.cells(), grid.topology(), grid.map());
        let lost = match random.next(3) {
            0 => grid.rebuild(&[], None).is_err(),
            1 => grid
                .rebuild(&points, Some(&vec![false; points.len()]))
                .is_err(),
            _ => {
                grid.rebuild(&points, Some(&[true; 3][..points.len().min(2)]))
                    .is_err()
                    || points.len() <= 2
            }
        };
        assert!(lost);
        if points.len() > 2 {
            assert!(Arc::ptr_eq(&cells, &grid.cells()));
            assert!(Arc::ptr_eq(&topology, &grid.topology()) && Arc::ptr_eq(&nodes, &grid.map()));
        }
    }
    drop(grid.dilated(1).unwrap());
}

fn adaptive_life(random: &mut Random) {
    let coarse = [[0, 0, 0], [1, 0, 0], [0, 1, 0]];
    let map = VoxelMap::uniform(0.25).unwrap();
    let mut grid = AdaptiveVoxelGrid::uniform(&coarse, 2, map)
        .unwrap()
        .graded(Grading::Face)
        .unwrap();
    for _ in 0..3 {
        assert!(grid.adapted(&[Mark::Refine]).is_err() || grid.cell_count() == 1);
        let marks: Vec<Mark> = (0..grid.cell_count())
            .map(|c| match random.next(4) {
                0 if grid.cell_level(c) > 0 => Mark::Refine,
                1 => Mark::Coarsen,
                _ => Mark::Keep,
            })
            .collect();
        grid = grid.adapted(&marks).unwrap();
    }
    let space = Space::lagrange(&grid, 1 + random.next(2)).unwrap();
    let load = Expr::test(&space).dx(&grid);
    let mut plan = VectorPlan::new(&load).unwrap();
    plan.assemble(&mut vec![0.0; space.dof_count()]).unwrap();
}

fn partition_life(random: &mut Random) {
    let mesh = mesh(random);
    let cells = mesh.topology().cell_count();
    let geometry: Arc<dyn Geometry> = Arc::new(mesh.clone());
    let mut mask = vec![true; cells];
    let mut part = GeometryPartition::by_mask(geometry, &mask).unwrap();
    for _ in 0..3 {
        let lists = |part: &GeometryPartition| {
            let lists = [
                part.cells(),
                part.sides(),
                part.boundary_sides(),
                part.frontier_sides(),
            ];
            let owners: Vec<u32> = (0..cells).map(|c| part.owner(c)).collect();
            (lists.map(|list| list.to_vec()), owners)
        };
        let before = lists(&part);
        assert!(part.rebuild(&vec![true; cells + 1]).is_err());
        assert_eq!(lists(&part), before);
        mask[random.next(cells)] ^= true;
        part.rebuild(&mask).unwrap();
    }
    let space = Space::lagrange(&mesh, 2).unwrap();
    drop(SpacePartition::new(&space, &part).unwrap());
}

/// Forms, plans, fields and problems; each may be dropped early, and some fail.
fn problem_life(random: &mut Random) {
    let mesh = mesh(random);
    let space = Space::lagrange(&mesh, 1 + random.next(2)).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let field = Field::zeros(&space);
    let w = field.expr();
    let a = ((1.0 + &w * &w) * grad(&u).inner(&grad(&v))).dx(&mesh);
    let mut matrix_plan = MatrixPlan::new(&a).unwrap();
    let mut matrix = matrix_plan.matrix();
    matrix_plan.assemble(&mut matrix).unwrap();
    if random.next(3) == 0 {
        return;
    }
    let scope = Scope::new(Arc::new(mesh.clone()));
    assert!(scope.form("grad(q)*dx").is_err());
    assert!(MatrixPlan::new(&(&u * &v).over(&Measure::boundary(&mesh).tagged("none"))).is_err());
    let mut energy = ScalarPlan::new(&(&w * &w).dx(&mesh)).unwrap();
    energy.evaluate().unwrap();
    let points = PointPlan::new(&w.grad(), space.geometry(), &[[0.1; 3]]).unwrap();
    drop((points, Locator::new(&mesh)));
    let held = Dirichlet::on(&space, "left").unwrap();
    let mut problem = LinearProblem::new(&a, &v.dx(&mesh), &[held], Solver::cg()).unwrap();
    problem.solve().unwrap();
    // Without conditions the system is singular, and says so.
    assert!(
        LinearProblem::new(&a, &v.dx(&mesh), &[], Solver::cg())
            .unwrap()
            .solve()
            .is_err()
    );
    // After a rebuild the plan refuses to mix old and new.
    mesh.rebuild(mesh.map().nodes.clone(), mesh.topology().cells().to_vec())
        .unwrap();
    assert!(matrix_plan.assemble(&mut matrix).is_err());
}

fn deformation_life(random: &mut Random) {
    let mesh = mesh(random);
    let dim = mesh.space_dim();
    let space = Space::lagrange(&mesh, 2).unwrap().vector(dim).unwrap();
    let field = Field::zeros(&space);
    let mut moved = Deformation::by(&mesh, &field.expr(), 2).unwrap();
    for _ in 0..3 {
        let before = moved.geometry().map();
        if random.next(2) == 0 {
            field.values_mut().fill(f64::INFINITY);
            assert!(moved.update().is_err());
            assert!(Arc::ptr_eq(&before, &moved.geometry().map()));
        } else {
            field.values_mut().fill(random.unit());
            moved.update().unwrap();
        }
    }
}

/// A batch goes on only when told to, and all at once.
fn batch_life(random: &mut Random) {
    let mesh = mesh(random);
    let base: Arc<dyn Geometry> = Arc::new(mesh.clone());
    let copies = 1 + random.next(3);
    let batch = Batch::new(base.clone(), copies).unwrap();
    assert!(Batch::new(base.clone(), 0).is_err());
    assert!(Batch::moved(base, vec![[f64::NAN; 3]]).is_err());
    for _ in 0..2 {
        let before = batch.snapshot();
        let (map, topology) = (mesh.map(), mesh.topology());
        let nodes = map.nodes.iter().map(|x| x.map(|c| 1.5 * c)).collect();
        match random.next(2) {
            0 => mesh.move_vertices(nodes).unwrap(),
            _ => mesh.rebuild(nodes, topology.cells().to_vec()).unwrap(),
        }
        let now = batch.snapshot();
        assert!(Arc::ptr_eq(&before.topology, &now.topology));
        assert!(Arc::ptr_eq(&before.map, &now.map));
        assert!(batch.refresh().unwrap());
    }
    let locator = BatchLocator::new(&batch);
    assert!(locator.find(copies, [0.0; 3], 0.0).is_err());
    let space = Space::lagrange(&batch, 1 + random.next(2)).unwrap();
    let whole = SpacePartition::whole(&space).unwrap();
    drop(EnvironmentOrder::new(&whole, &batch.environments()).unwrap());
}

/// Surfaces and locators follow what moves, and refuse other cells unchanged.
fn surface_life(random: &mut Random) {
    let ball = shapes::sphere(random.next(2)).unwrap();
    let other = shapes::sphere(2).unwrap();
    let mut surface = Surface::new(&ball).unwrap();
    let mut locator = Locator::new(&ball);
    for _ in 0..2 {
        let probe: [f64; 3] = std::array::from_fn(|_| 3.0 * random.unit());
        let seen = |surface: &Surface, locator: &Locator| {
            let far = f64::INFINITY;
            let nearest = locator.closest(probe, far);
            (
                surface.signed_distance(probe, far),
                surface.volume(),
                nearest,
            )
        };
        let before = seen(&surface, &locator);
        assert!(surface.refit(&other).is_err() && locator.refit(&other).is_err());
        assert_eq!(seen(&surface, &locator), before);
        let nodes = ball
            .map()
            .nodes
            .iter()
            .map(|x| x.map(|c| 1.5 * c))
            .collect();
        ball.move_vertices(nodes).unwrap();
        surface.refit(&ball).unwrap();
        locator.refit(&ball).unwrap();
    }
    assert!(Surface::new(&mesh(random)).is_err());
}

/// Fields go from grid to grid, and not to one that is larger or another one.
fn transfer_life(random: &mut Random) {
    let map = VoxelMap::uniform(0.25).unwrap();
    let old = AdaptiveVoxelGrid::uniform(&[[0, 0, 0], [1, 0, 0]], 2, map).unwrap();
    let mut marks = [Mark::Keep, Mark::Refine];
    marks.rotate_left(random.next(2));
    let new = old.adapted(&marks).unwrap();
    let larger = AdaptiveVoxelGrid::uniform(&[[0, 0, 0], [0, 1, 0]], 2, map).unwrap();
    assert!(Transfer::new(&old, &larger).is_err());
    let transfer = Transfer::new(&old, &new).unwrap();
    let field = Field::zeros(&Space::lagrange(&old, 1).unwrap());
    field.values_mut().fill(random.unit());
    let space = Space::lagrange(&new, 1 + random.next(2)).unwrap();
    assert!(transfer.interpolate(&Field::zeros(&space), &space).is_err());
    drop(transfer.interpolate(&field, &space).unwrap());
    drop(transfer.project(&field, &space).unwrap());
}

type Life = fn(&mut Random);

#[test]
fn a_thousand_lives_of_each_kind_leave_nothing_behind() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let lives: [(&str, Life); 9] = [
        ("mesh", mesh_life),
        ("voxel grid", voxel_life),
        ("adaptive grid", adaptive_life),
        ("partition", partition_life),
        ("problem", problem_life),
        ("deformation", deformation_life),
        ("batch", batch_life),
        ("surface", surface_life),
        ("transfer", transfer_life),
    ];
    let mut live = |life: Life, count: usize| {
        (0..count).for_each(|_| life(&mut random));
        // What stays in the pool is kept on purpose.
        Pool::default_pool().trim();
        counting::bytes()
    };
    // One thread: what other threads keep for themselves is not this test's subject.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    pool.install(|| {
        for (kind, life) in lives {
            let start = live(life, 20);
            let end = live(life, 1000);
            assert_eq!(
                end, start,
                "bytes in use after a thousand lives of a {kind}"
            );
            assert_eq!(Pool::default_pool().stats().live_bytes, 0);
        }
    });
}
