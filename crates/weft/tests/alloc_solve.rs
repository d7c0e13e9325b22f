//! A repeated solve allocates nothing: not in the methods, not in constraints, not in products.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use weft::solve::{
    Amg, AmgOptions, BlockJacobi, Constraints, Jacobi, Krylov, KrylovOptions, Method,
    Preconditioner,
};
use weft::sparse::BlockMatrix;

/// Counts the allocations of the thread that asks.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to `System` unchanged; the counter is a plain thread-local cell
// without destructor, so it may be used at any time and never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; the block came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(f: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    f();
    COUNT.with(Cell::get) - before
}

/// A chain of `n` nodes with `b` unknowns: 3 on the diagonal, -1 beside it.
fn chain(n: usize, b: usize) -> BlockMatrix {
    let (mut r, mut c, mut v) = (Vec::new(), Vec::new(), Vec::new());
    let mut push = |i: usize, j: usize, value: f64| {
        r.push(i as u32);
        c.push(j as u32);
        v.extend((0..b * b).map(|k| if k % (b + 1) == 0 { value } else { 0.0 }));
    };
    for i in 0..n {
        push(i, i, 3.0);
        if i > 0 {
            push(i, i - 1, -1.0);
            push(i - 1, i, -1.0);
        }
    }
    BlockMatrix::from_triplets(n, n, [b, b], &r, &c, &v).unwrap()
}

#[test]
fn repeated_solves_allocate_nothing() {
    // In a pool of one thread all work is done, and counted, on that thread.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    pool.install(|| {
        for (n, b) in [(100, 1), (50, 3), (30_000, 2)] {
            let a = chain(n, b);
            let jacobi = Jacobi::new(&a).unwrap();
            let block = BlockJacobi::new(&a).unwrap();
            let amg = Amg::new(&a, AmgOptions::default()).unwrap();
            let rhs = vec![1.0; n * b];
            let mut x = vec![0.0; n * b];
            for method in [Method::Cg, Method::Minres, Method::BiCgStab, Method::Gmres] {
                let mut solver = Krylov::new(method, KrylovOptions::default()).unwrap();
                for m in [&jacobi as &dyn Preconditioner, &block, &amg] {
                    solver.solve(&a, m, &rhs, &mut x).unwrap();
                    x.fill(0.0);
                    let count = allocations(|| {
                        solver.solve(&a, m, &rhs, &mut x).unwrap();
                    });
                    assert_eq!(count, 0, "{method}, {n} nodes of {b}");
                    x.fill(0.0);
                }
            }
        }
    });
}

#[test]
fn constraints_and_updates_allocate_nothing() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    pool.install(|| {
        let n = 20_000;
        let mut a = chain(n, 2);
        let mut jacobi = Jacobi::new(&a).unwrap();
        let mut block = BlockJacobi::new(&a).unwrap();
        let mut c = Constraints::empty(n, 2);
        for node in (0..n).step_by(3) {
            c.constrain_direction(node, &[0.6, -0.8], 1.0).unwrap();
        }
        let (mut b, mut x) = (vec![1.0; 2 * n], vec![0.0; 2 * n]);
        let u = vec![0.5; 2 * n];
        let count = allocations(|| {
            c.lift(&a, &mut b).unwrap();
            c.lift_increment(&a, &u, &mut b).unwrap();
            c.lift_homogeneous(&mut b).unwrap();
            c.set(&mut x).unwrap();
            c.eliminate(&mut a).unwrap();
            jacobi.update(&a).unwrap();
            block.update(&a).unwrap();
            a.multiply(&b, &mut x).unwrap();
            a.fill_zero();
        });
        assert_eq!(count, 0);
    });
}

#[cfg(feature = "direct")]
#[test]
fn repeated_direct_solves_allocate_nothing() {
    use weft::solve::{DirectKind, DirectSolver};
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    pool.install(|| {
        for n in [50, 3000] {
            let a = chain(n, 2);
            for kind in [DirectKind::Cholesky, DirectKind::Ldlt, DirectKind::Lu] {
                let solver = DirectSolver::new(&a, kind).unwrap();
                let rhs = vec![1.0; 2 * n];
                let mut x = vec![0.0; 2 * n];
                solver.solve(&rhs, &mut x).unwrap();
                let count = allocations(|| {
                    solver.solve(&rhs, &mut x).unwrap();
                });
                assert_eq!(count, 0, "{kind}, {n} nodes");
            }
        }
    });
}
