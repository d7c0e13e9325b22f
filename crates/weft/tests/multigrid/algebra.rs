//! Matrices given by their entries.

#[path = "../common/splitmix.rs"]
mod splitmix;

use splitmix::vector;
use weft::Real;
use weft::solve::{
    Amg, AmgOptions, Identity, Krylov, KrylovOptions, Method, Preconditioner, Smoother, SolveError,
    rigid_body_modes,
};
use weft::sparse::BlockMatrix;

/// Iterations of conjugate gradients for a right-hand side of all frequencies.
pub fn iterations<T: Real>(a: &BlockMatrix<T>, m: &dyn Preconditioner<T>, tolerance: f64) -> usize {
    let b: Vec<T> = vector(a.rows(), 7).into_iter().map(T::round).collect();
    iterations_for(a, m, &b, tolerance)
}

fn iterations_for<T: Real>(
    a: &BlockMatrix<T>,
    m: &dyn Preconditioner<T>,
    b: &[T],
    tolerance: f64,
) -> usize {
    let options = KrylovOptions {
        tolerance,
        max_iterations: Some(20_000),
        ..KrylovOptions::default()
    };
    let mut x = vec![T::ZERO; a.rows()];
    let mut cg = Krylov::new(Method::Cg, options).unwrap();
    cg.solve(a, m, b, &mut x).unwrap().iterations
}

/// More unknowns may take up to 30 % more iterations, and no more than `most`.
pub fn check_growth(name: &str, small: usize, large: usize, most: usize) {
    println!("{name}: {small} and {large} iterations");
    assert!(
        large as f64 <= 1.3 * small as f64,
        "{name}: {small}, {large}"
    );
    assert!(large <= most, "{name}: {large} iterations, not {most}");
}

/// Finite volumes on a square of `n` × `n` cells, with `b` independent unknowns each: `k` gives the conductivities
/// of a cell along x and y; zero is prescribed outside, unless `free`.
fn volumes(n: usize, b: usize, free: bool, k: impl Fn(usize, usize) -> [f64; 2]) -> BlockMatrix {
    let (mut rows, mut cols, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut push = |i: usize, j: usize, value: f64| {
        rows.push(i as u32);
        cols.push(j as u32);
        values.extend((0..b * b).map(|e| if e % (b + 1) == 0 { value } else { 0.0 }));
    };
    for y in 0..n {
        for x in 0..n {
            let i = x + n * y;
            push(i, i, 0.0);
            for d in 0..2 {
                let here = k(x, y)[d];
                let [step, at] = [[1, x], [n, y]][d];
                if at + 1 < n {
                    let there = k(x + (d == 0) as usize, y + (d == 1) as usize)[d];
                    let between = 2.0 * here * there / (here + there);
                    push(i, i, between);
                    push(i + step, i + step, between);
                    push(i, i + step, -between);
                    push(i + step, i, -between);
                }
                let ends = (at == 0) as usize + (at + 1 == n) as usize;
                if !free && ends > 0 {
                    push(i, i, 2.0 * here * ends as f64);
                }
            }
        }
    }
    BlockMatrix::from_triplets(n * n, n * n, [b, b], &rows, &cols, &values).unwrap()
}

fn laplace(n: usize, b: usize) -> BlockMatrix {
    volumes(n, b, false, |_, _| [1.0, 1.0])
}

fn amg<T: Real>(a: &BlockMatrix<T>) -> Amg<T> {
    Amg::new(a, AmgOptions::default()).unwrap()
}

fn smoothers() -> [Smoother; 5] {
    let chebyshev = |degree, ratio| Smoother::Chebyshev { degree, ratio };
    [
        chebyshev(1, 4.0),
        chebyshev(2, 8.0),
        chebyshev(3, 20.0),
        Smoother::Jacobi { sweeps: 1 },
        Smoother::Jacobi { sweeps: 3 },
    ]
}

#[test]
fn strong_directions_are_found() {
    for ratio in [1.0, 0.1, 1e-2, 1e-3, 1e-6] {
        for turned in [false, true] {
            let count = |n| {
                let a = volumes(n, 1, false, |_, _| {
                    if turned { [ratio, 1.0] } else { [1.0, ratio] }
                });
                iterations(&a, &amg(&a), 1e-8)
            };
            check_growth(&format!("anisotropy {ratio}"), count(80), count(160), 14);
        }
    }
}

/// Counts scatter with the way in which aggregates meet the jumps, so they are bounded alone.
#[test]
fn jumps_of_six_orders_do_no_harm() {
    for width in [1, 4, 7] {
        for n in [40, 80, 160] {
            let jumps = |x: usize, y: usize| match (x / width + y / (width + 2)) % 2 {
                0 => [1.0; 2],
                _ => [1e6; 2],
            };
            let a = volumes(n, 1, false, jumps);
            let count = iterations(&a, &amg(&a), 1e-8);
            println!("jumps, width {width}, {n}: {count} iterations");
            assert!(count <= 25, "width {width}, {n}: {count}");
        }
    }
}

#[test]
fn constants_may_be_free() {
    let count = |n| {
        let a = volumes(n, 1, true, |_, _| [1.0; 2]);
        // In the range of the matrix.
        let mut b = vec![0.0; n * n];
        a.multiply(&vector(n * n, 3), &mut b).unwrap();
        iterations_for(&a, &amg(&a), &b, 1e-8)
    };
    // 15² unknowns are one level, which is singular.
    assert!(count(15) <= 2);
    check_growth("no value prescribed", count(40), count(80), 14);
}

#[test]
fn unknowns_of_a_node_go_together() {
    for b in 1..=4 {
        let count = |n| {
            let a = laplace(n, b);
            iterations(&a, &amg(&a), 1e-8)
        };
        check_growth(&format!("blocks of {b}"), count(30), count(60), 14);
    }
}

#[test]
fn every_smoother_makes_a_symmetric_positive_operator() {
    let jumps = |x: usize, y: usize| [1.0 + (x % 3) as f64, 10f64.powi((y % 5) as i32)];
    for a in [laplace(30, 1), laplace(20, 3), volumes(33, 2, false, jumps)] {
        let n = a.rows();
        for smoother in smoothers() {
            for strength in [0.0, 0.3, 1.0] {
                let options = AmgOptions {
                    smoother,
                    strength,
                    coarsest: 50,
                };
                let m = Amg::new(&a, options).unwrap();
                let apply = |x: &[f64]| {
                    let mut z = vec![f64::NAN; n];
                    m.apply(x, &mut z);
                    z
                };
                let dot =
                    |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
                for seed in 0..4 {
                    let (x, y) = (vector(n, 2 * seed), vector(n, 2 * seed + 1));
                    let (mx, my) = (apply(&x), apply(&y));
                    let size = (dot(&x, &mx) * dot(&y, &my)).sqrt();
                    assert!(size > 0.0);
                    let difference = dot(&x, &my) - dot(&y, &mx);
                    assert!(difference.abs() <= 1e-12 * size, "{difference} of {size}");
                }
                // Of (I − M A) x, the energy is less than that of x.
                let x = vector(n, 9);
                let mut ax = vec![0.0; n];
                a.multiply(&x, &mut ax).unwrap();
                let rest: Vec<f64> = x.iter().zip(apply(&ax)).map(|(x, m)| x - m).collect();
                let mut a_rest = vec![0.0; n];
                a.multiply(&rest, &mut a_rest).unwrap();
                assert!(
                    dot(&rest, &a_rest) < dot(&x, &ax),
                    "{smoother:?} {strength}"
                );
            }
            let options = AmgOptions {
                smoother,
                ..AmgOptions::default()
            };
            let m = Amg::new(&a, options).unwrap();
            assert!(iterations(&a, &m, 1e-8) < iterations(&a, &Identity, 1e-8) / 2);
        }
    }
}

#[test]
fn single_precision_takes_as_many_iterations() {
    for b in 1..=3 {
        let a = laplace(40, b);
        let rounded = a.to::<f32>();
        let double = iterations(&a, &amg(&a), 1e-4);
        let single = iterations(&rounded, &amg(&rounded), 1e-4);
        assert!(single <= double + 1, "{single}, {double}");
    }
    let free = volumes(40, 1, true, |_, _| [1.0; 2]);
    let mut b = vec![0.0; free.rows()];
    free.multiply(&vector(free.rows(), 3), &mut b).unwrap();
    let b: Vec<f32> = b.into_iter().map(|v| v as f32).collect();
    let free = free.to::<f32>();
    assert!(iterations_for(&free, &amg(&free), &b, 1e-4) < 10);
}

#[test]
fn the_bits_are_the_same_for_any_number_of_threads() {
    let bits = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut bits = Vec::new();
            for (n, b) in [(170, 1), (90, 3)] {
                let a = laplace(n, b);
                let m = amg(&a);
                let mut z = vec![0.0; a.rows()];
                for seed in 0..2 {
                    m.apply(&vector(a.rows(), seed), &mut z);
                    bits.extend(z.iter().map(|z| z.to_bits()));
                }
            }
            bits
        })
    };
    let one = bits(1);
    for threads in [2, 5] {
        assert!(bits(threads) == one, "{threads} threads");
    }
}

#[test]
fn threads_may_share_one() {
    let a = laplace(50, 1);
    let m = amg(&a);
    let r = vector(a.rows(), 1);
    let mut alone = vec![0.0; a.rows()];
    m.apply(&r, &mut alone);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let mut z = vec![0.0; r.len()];
                    m.apply(&r, &mut z);
                    assert!(z == alone);
                }
            });
        }
    });
}

#[test]
fn small_and_diagonal_matrices_are_inverted() {
    let none: BlockMatrix = BlockMatrix::from_triplets(0, 0, [2, 2], &[], &[], &[]).unwrap();
    amg(&none).apply(&[], &mut []);
    for n in [1, 7, 300] {
        for b in 1..=3 {
            let mut a: BlockMatrix = BlockMatrix::identity(n, b).unwrap();
            a.scale(4.0);
            let (r, mut z) = (vector(n * b, 5), vec![f64::NAN; n * b]);
            if n * b <= 300 {
                amg(&a).apply(&r, &mut z);
                assert!(r.iter().zip(&z).all(|(r, z)| (z - r / 4.0).abs() < 1e-15));
            }
            assert!(iterations(&a, &amg(&a), 1e-12) <= 2);
        }
    }
    let mut tiny = laplace(12, 1);
    for scale in [1e-150, 1e300] {
        tiny.scale(scale);
        assert!(iterations(&laplace(12, 1), &amg(&laplace(12, 1)), 1e-8) <= 2);
        let m = amg(&tiny);
        let mut z = vec![0.0; tiny.rows()];
        m.apply(&vector(tiny.rows(), 1), &mut z);
        assert!(z.iter().all(|z| z.is_finite()));
    }
}

#[test]
fn what_cannot_be_used_is_refused() {
    let new = |a: &BlockMatrix| Amg::new(a, AmgOptions::default()).map(|_| ());
    let one = |b: [usize; 2], rows: usize, cols: usize| -> BlockMatrix {
        BlockMatrix::from_triplets(rows, cols, b, &[0], &[0], &vec![1.0; b[0] * b[1]]).unwrap()
    };
    for a in [one([1, 1], 1, 2), one([1, 2], 2, 1), one([2, 1], 1, 1)] {
        assert!(matches!(new(&a), Err(SolveError::NotSquare { .. })));
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut a = laplace(5, 2);
        a.values_mut()[9] = value;
        let error = new(&a).unwrap_err();
        assert!(
            matches!(error, SolveError::NonFinite { index: 9, .. }),
            "{error}"
        );
    }
    for value in [0.0, -0.0, -3.0] {
        let mut a = laplace(5, 2);
        a.get_mut(3, 3).unwrap()[3] = value;
        assert_eq!(new(&a), Err(SolveError::Diagonal { index: 7, value }));
    }
    assert!(matches!(
        new(&one([1, 1], 2, 2)),
        Err(SolveError::Diagonal { index: 1, .. })
    ));

    let a = laplace(5, 2);
    let with = |vectors: &[Vec<f64>]| {
        Amg::with_near_nullspace(&a, vectors, AmgOptions::default()).map(|_| ())
    };
    assert!(matches!(with(&[]), Err(SolveError::Option { .. })));
    assert!(matches!(
        with(&[vec![1.0; 49]]),
        Err(SolveError::Size { .. })
    ));
    let mut vector = vec![1.0; 50];
    vector[3] = f64::NAN;
    assert!(matches!(
        with(&[vector]),
        Err(SolveError::NonFinite { index: 3, .. })
    ));

    let chebyshev = |degree, ratio| AmgOptions {
        smoother: Smoother::Chebyshev { degree, ratio },
        ..AmgOptions::default()
    };
    let strength = |strength| AmgOptions {
        strength,
        ..AmgOptions::default()
    };
    for options in [
        chebyshev(0, 8.0),
        chebyshev(2, 1.0),
        chebyshev(2, f64::NAN),
        chebyshev(2, f64::INFINITY),
        strength(-0.1),
        strength(1.1),
        strength(f64::NAN),
        AmgOptions {
            smoother: Smoother::Jacobi { sweeps: 0 },
            ..AmgOptions::default()
        },
        AmgOptions {
            coarsest: 100_000,
            ..AmgOptions::default()
        },
    ] {
        let refused = Amg::new(&a, options);
        assert!(
            matches!(refused, Err(SolveError::Option { .. })),
            "{options:?}"
        );
    }
    for dim in [0, 4] {
        assert!(rigid_body_modes(dim, &[[0.0; 3]]).is_err());
    }
    let error = rigid_body_modes(2, &[[0.0; 3], [0.0, f64::NAN, 0.0]]).unwrap_err();
    assert!(matches!(error, SolveError::NonFinite { index: 1, .. }));
}
