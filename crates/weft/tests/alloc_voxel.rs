//! Rebuilding a voxel grid from a moving cloud allocates nothing once it is warm.
#![cfg(not(loom))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use weft::geometry::{Geometry, VoxelGrid, VoxelMap};

/// The system's allocator, counting what all threads do with it.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicIsize = AtomicIsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A cloud that sloshes around the origin and breathes; step `n` repeats after 40 steps.
fn move_cloud(rest: &[[f64; 3]], step: usize, cloud: &mut [[f64; 3]]) {
    let angle = std::f64::consts::TAU * (step % 40) as f64 / 40.0;
    let (s, c) = angle.sin_cos();
    for (to, x) in cloud.iter_mut().zip(rest) {
        let grow = 1.0 + 0.2 * s;
        *to = [x[0] * grow + 3.0 * c, x[1] * grow + 2.0 * s, x[2] + s * c];
    }
}

// One test in this binary: the counters are everyone's.
#[test]
fn warm_rebuilds_allocate_nothing_and_nothing_is_left_behind() {
    let mut seed = 1u64;
    let mut random = || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    let rest: Vec<[f64; 3]> = (0..20_000)
        .map(|_| std::array::from_fn(|_| random()))
        .collect();
    let environments: Vec<u32> = (0..rest.len()).map(|n| n as u32 % 3).collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    // Inside, as handing work to a pool from outside allocates now and then.
    pool.install(|| {
        let map = VoxelMap::uniform(0.1).unwrap();
        let mut cloud = rest.clone();
        let start = BYTES.load(Ordering::Relaxed);
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
        let (calls, bytes) = (CALLS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
        cycle(120..1120);
        // Formatting the errors' messages is none of the grid's business: they are not formatted.
        assert_eq!(CALLS.load(Ordering::Relaxed) - calls, 0);
        assert_eq!(BYTES.load(Ordering::Relaxed), bytes);
        assert!(different > 1000);

        // Tables are released with the cells they were made for.
        let with_tables = |step: usize| {
            let mut cloud = rest.clone();
            move_cloud(&rest, step, &mut cloud);
            grid.rebuild(&cloud, None).unwrap();
            (
                grid.topology().edge_count(),
                grid.map().nodes.len(),
                grid.tags().is_empty(),
            );
        };
        (0..80).for_each(with_tables);
        let settled = BYTES.load(Ordering::Relaxed);
        (80..240).for_each(with_tables);
        assert_eq!(BYTES.load(Ordering::Relaxed), settled);
        drop((grid, packed));
        assert_eq!(BYTES.load(Ordering::Relaxed), start);
    });
}
