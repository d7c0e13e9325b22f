//! Rebuilding a voxel grid from a moving cloud allocates nothing once it is warm, and the process
//! stays as large as it is.
#![cfg(not(loom))]

use weft::geometry::{Geometry, VoxelCapacity, VoxelGrid, VoxelMap};

#[path = "common/counting.rs"]
mod counting;

use counting::{bytes, calls};

/// What the library of threads may keep for later, in bytes: far less than one grid's tables.
const LIBRARY: usize = 32 << 10;

/// Resident memory of the process, in bytes; `None` where the system does not say.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: usize = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

/// A cloud that sloshes around the origin and breathes; step `n` repeats after 40 steps.
fn move_cloud(rest: &[[f64; 3]], step: usize, cloud: &mut [[f64; 3]]) {
    let angle = std::f64::consts::TAU * (step % 40) as f64 / 40.0;
    let (s, c) = angle.sin_cos();
    for (to, x) in cloud.iter_mut().zip(rest) {
        let grow = 1.0 + 0.2 * s;
        *to = [x[0] * grow + 3.0 * c, x[1] * grow + 2.0 * s, x[2] + s * c];
    }
}

/// A small deterministic random number generator (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }

    fn points(&mut self, count: usize, reach: f64) -> Vec<[f64; 3]> {
        let mut real = || ((self.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0) * reach;
        (0..count)
            .map(|_| std::array::from_fn(|_| real()))
            .collect()
    }
}

/// A number that changes with anything one can see of a grid.
fn fingerprint(grid: &VoxelGrid) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hash = std::hash::DefaultHasher::new();
    let (cells, t) = (grid.cells(), grid.topology());
    cells.all_coordinates().hash(&mut hash);
    cells.environment_offsets().hash(&mut hash);
    t.cells().hash(&mut hash);
    for side in 0..t.side_count() {
        (
            t.side_cells(side),
            t.side_locals(side),
            t.side_vertices(side),
        )
            .hash(&mut hash);
    }
    for x in &grid.map().nodes {
        x.map(f64::to_bits).hash(&mut hash);
    }
    hash.finish()
}

/// Makes, rebuilds, spoils and drops grids at random.
fn random_lives(random: &mut Random) {
    let map = VoxelMap::uniform(0.5).unwrap();
    let mut grids: Vec<VoxelGrid> = Vec::new();
    for _ in 0..1000 {
        let count = 1 + random.below(300);
        let points = random.points(count, 2.0);
        if grids.len() < 2 {
            grids.push(VoxelGrid::from_points(&points, None, map).unwrap().0);
        }
        let at = random.below(grids.len());
        let grid = grids[at].clone();
        match random.below(8) {
            0 => drop(grids.swap_remove(at)),
            1 => grids.push(grid.dilated(1).unwrap().pruned(|c| c % 5 != 1).unwrap()),
            2 if grid.cell_count() < 500 => grids.push(grid.refined().unwrap()),
            2 => grids.push(grid.coarsened().unwrap()),
            3 => grids.push(grid.clone()),
            4 | 5 => {
                let held = (random.below(2) == 0).then(|| (grid.cells(), grid.topology()));
                grid.rebuild(&points, None).unwrap();
                drop(held);
            }
            _ => {
                let before = fingerprint(&grid);
                let mut bad = points.clone();
                match random.below(4) {
                    0 => bad[0] = [0.0, 0.0, -1e200],
                    1 => bad.iter_mut().for_each(|x| x[2] = f64::NAN),
                    2 => grid.set_capacity(Some(VoxelCapacity {
                        cells: 0,
                        leaves: 9,
                    })),
                    _ => bad.clear(),
                }
                grid.rebuild(&bad, None).unwrap_err();
                grid.set_capacity(None);
                assert_eq!(fingerprint(&grid), before);
                assert!(!grid.status().is_ok());
            }
        }
        grids.truncate(6);
    }
}

// One test in this binary: the counters are everyone's.
#[test]
fn warm_rebuilds_allocate_nothing_and_nothing_is_left_behind() {
    let mut random = Random(1);
    let rest = random.points(20_000, 1.0);
    let environments: Vec<u32> = (0..rest.len()).map(|n| n as u32 % 3).collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(|_| counting::watch())
        .build()
        .unwrap();
    // Inside, as handing work to a pool from outside allocates now and then.
    pool.install(|| {
        let map = VoxelMap::uniform(0.1).unwrap();
        let mut cloud = rest.clone();
        let start = bytes();
        let (grid, _) = VoxelGrid::from_points(&cloud, None, map).unwrap();
        let (packed, _) =
            VoxelGrid::from_environment_points(&cloud, None, &environments, 3, 3, map).unwrap();
        let mut different = 0;
        let mut cycle = |steps: std::ops::Range<usize>| {
            for step in steps {
                move_cloud(&rest, step, &mut cloud);
                different += !grid.rebuild(&cloud, None).unwrap().unchanged as usize;
                assert!(grid.rebuild(&cloud, None).unwrap().unchanged);
                packed
                    .rebuild_environments(&cloud, None, &environments)
                    .unwrap();
                if step % 100 == 7 {
                    cloud[5][1] = 1e30;
                    grid.rebuild(&cloud, None).unwrap_err();
                    packed
                        .rebuild_environments(&cloud, None, &environments)
                        .unwrap_err();
                }
            }
        };
        // Twice round, since the two sets of arrays take turns.
        cycle(0..120);
        let mut counted = |steps: std::ops::Range<usize>| {
            let before = (calls(), bytes());
            cycle(steps);
            assert_eq!((calls(), bytes()), before);
            resident()
        };
        let (early, late) = (counted(120..500), counted(500..10_120));
        println!("resident after 500 and 10120 steps: {early:?} and {late:?} bytes");
        if cfg!(target_os = "linux") {
            let grown = late.unwrap().abs_diff(early.unwrap());
            assert!(grown <= 1 << 20, "from {early:?} to {late:?} bytes");
        }
        assert!(different > 10_000);

        // Tables are released with the cells they were made for.
        let with_tables = |step: usize| {
            let mut cloud = rest.clone();
            move_cloud(&rest, step, &mut cloud);
            grid.rebuild(&cloud, None).unwrap();
            drop((grid.topology(), grid.map(), grid.tags()));
        };
        (0..80).for_each(with_tables);
        let settled = bytes();
        (80..240).for_each(with_tables);
        let near = |wanted: isize| bytes().abs_diff(wanted) < LIBRARY;
        assert!(near(settled), "{settled}");
        drop((grid, packed));
        assert!(near(start), "{start}");

        random_lives(&mut random);
        assert!(near(start), "{start}");
    });
}
