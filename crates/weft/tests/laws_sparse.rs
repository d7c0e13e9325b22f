//! Laws of block-sparse matrices: each operation against its dense twin.

#[path = "common/splitmix.rs"]
mod splitmix;

use splitmix::Random;
use std::sync::Arc;
use weft::sparse::{BlockMatrix, MarketError, MatrixMarket, Pattern, SparseError, Symmetry};

fn random_matrix(rows: usize, cols: usize, block: [usize; 2], seed: u64) -> BlockMatrix {
    let mut random = Random(seed);
    let count = if rows * cols == 0 { 0 } else { 3 * rows };
    let r: Vec<u32> = (0..count).map(|_| random.below(rows) as u32).collect();
    let c: Vec<u32> = (0..count).map(|_| random.below(cols) as u32).collect();
    let v: Vec<f64> = (0..count * block[0] * block[1])
        .map(|_| random.next())
        .collect();
    BlockMatrix::from_triplets(rows, cols, block, &r, &c, &v).unwrap()
}

const SIZES: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 3], [7, 5], [50, 50], [40, 90]];
const BLOCKS: [[usize; 2]; 9] = [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
    [1, 3],
    [3, 1],
    [2, 3],
    [6, 6],
    [5, 1],
];

fn each(mut f: impl FnMut(BlockMatrix)) {
    for [rows, cols] in SIZES {
        for block in BLOCKS {
            f(random_matrix(rows, cols, block, (rows * 97 + cols) as u64));
        }
    }
}

fn vector(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..n).map(|_| random.next()).collect()
}

fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "entry {i}: {a} against {b}");
    }
}

#[test]
fn triplets_add_up_in_order() {
    // 1e16 + 1 - 1e16 is 0 in this order, 1 in one that adds the large ones first.
    let v = [1e16, 1.0, -1e16];
    let a = BlockMatrix::from_triplets(1, 1, [1, 1], &[0, 0, 0], &[0, 0, 0], &v).unwrap();
    assert_eq!(a.values(), [0.0]);
    let mut random = Random(5);
    let (rows, cols, count) = (6, 9, 200);
    let r: Vec<u32> = (0..count).map(|_| random.below(rows) as u32).collect();
    let c: Vec<u32> = (0..count).map(|_| random.below(cols) as u32).collect();
    let v = vector(count * 6, 6);
    let a = BlockMatrix::from_triplets(rows, cols, [2, 3], &r, &c, &v).unwrap();
    let mut dense = vec![0.0; a.rows() * a.cols()];
    for k in 0..count {
        for i in 0..2 {
            for j in 0..3 {
                let at = (r[k] as usize * 2 + i) * a.cols() + c[k] as usize * 3 + j;
                dense[at] += v[k * 6 + i * 3 + j];
            }
        }
    }
    assert_eq!(a.to_dense(), dense);
    let p = a.pattern();
    assert!(Pattern::new(rows, cols, p.offsets().to_vec(), p.columns().to_vec()).is_ok());
}

#[test]
fn product_is_the_dense_one() {
    each(|a| {
        let x = vector(a.cols(), 1);
        let dense = a.to_dense();
        let expected: Vec<f64> = (0..a.rows())
            .map(|i| (0..a.cols()).map(|j| dense[i * a.cols() + j] * x[j]).sum())
            .collect();
        let mut y = vec![f64::NAN; a.rows()];
        a.multiply(&x, &mut y).unwrap();
        assert_close(&y, &expected, 1e-13);
        a.multiply_add(2.0, &x, 0.0, &mut y).unwrap();
        a.multiply_add(-1.0, &x, 3.0, &mut y).unwrap();
        let combined: Vec<f64> = expected.iter().map(|v| 5.0 * v).collect();
        assert_close(&y, &combined, 1e-12);
    });
}

#[test]
fn product_has_the_same_bits_for_any_thread_count() {
    for block in [[1, 1], [2, 2], [3, 3], [4, 4]] {
        let a = random_matrix(20_000, 20_000, block, 8);
        let x = vector(a.cols(), 2);
        let product = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let mut y = vec![0.0; a.rows()];
            pool.install(|| a.multiply(&x, &mut y).unwrap());
            y
        };
        let one = product(1);
        assert_eq!(one, product(2));
        assert_eq!(one, product(4));
        let mut scaled = a.clone();
        scaled.scale(-2.0);
        assert!(
            scaled
                .values()
                .iter()
                .zip(a.values())
                .all(|(s, v)| *s == -2.0 * v)
        );
    }
}

#[test]
fn transpose_moves_every_entry() {
    each(|a| {
        let t = a.transpose();
        let (d, dt) = (a.to_dense(), t.to_dense());
        for i in 0..a.rows() {
            for j in 0..a.cols() {
                assert_eq!(d[i * a.cols() + j], dt[j * a.rows() + i]);
            }
        }
        assert_eq!(t.transpose().to_dense(), d);
    });
}

#[test]
fn norms_and_diagonals_are_the_dense_ones() {
    each(|a| {
        let dense = a.to_dense();
        let sum: f64 = dense.iter().map(|v| v * v).sum();
        assert!((a.frobenius_norm() - sum.sqrt()).abs() <= 1e-13 * sum.sqrt());
        assert_eq!(
            a.max_abs(),
            dense.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
        );
        let diagonal = a.diagonal();
        assert_eq!(diagonal.len(), a.rows().min(a.cols()));
        for (i, d) in diagonal.iter().enumerate() {
            assert_eq!(*d, dense[i * a.cols() + i]);
        }
        let [r, c] = a.block();
        for (n, block) in a.block_diagonal().chunks(r * c).enumerate() {
            for k in 0..r * c {
                assert_eq!(block[k], dense[(n * r + k / c) * a.cols() + n * c + k % c]);
            }
        }
    });
    let huge = BlockMatrix::from_triplets(1, 2, [1, 1], &[0, 0], &[0, 1], &[3e200, 4e200]).unwrap();
    assert!((huge.frobenius_norm() - 5e200).abs() < 1e186);
    let bad = BlockMatrix::from_triplets(1, 1, [1, 1], &[0], &[0], &[f64::NAN]).unwrap();
    assert!(bad.max_abs().is_nan() && bad.frobenius_norm().is_nan() && !bad.is_symmetric(1.0));
    assert_eq!(bad.first_non_finite(), Some(0));
}

#[test]
fn symmetry_is_recognised() {
    for n in [1usize, 2, 30] {
        for b in 1..=4 {
            let a = random_matrix(n, n, [b, b], n as u64 + 3);
            let t = a.transpose();
            // A + Aᵀ + I by triplets.
            let (mut r, mut c, mut v) = (Vec::new(), Vec::new(), Vec::new());
            for i in 0..n {
                for m in [&a, &t] {
                    r.extend(m.pattern().row(i).iter().map(|_| i as u32));
                    c.extend(m.pattern().row(i));
                    v.extend(m.row(i).1);
                }
                r.push(i as u32);
                c.push(i as u32);
                v.extend((0..b * b).map(|k| if k % (b + 1) == 0 { 1.0 } else { 0.0 }));
            }
            let mut s = BlockMatrix::from_triplets(n, n, [b, b], &r, &c, &v).unwrap();
            assert!(s.is_symmetric(1e-15));
            let off = s.pattern().row(0).iter().rfind(|&&j| b > 1 || j > 0);
            if let Some(j) = off.map(|&j| j as usize) {
                let change = 1e-3 * s.max_abs();
                s.get_mut(0, j).unwrap()[b - 1] += change;
                assert!(!s.is_symmetric(1e-4) && s.is_symmetric(1e-2));
            }
        }
    }
    let lower = BlockMatrix::from_triplets(2, 2, [1, 1], &[1], &[0], &[1.0]).unwrap();
    assert!(!lower.is_symmetric(1e-3) && !lower.transpose().is_symmetric(1e-3));
    assert!(!random_matrix(2, 3, [1, 1], 1).is_symmetric(1.0));
}

#[test]
fn positions_are_found() {
    let a = random_matrix(40, 90, [1, 1], 4);
    let p = a.pattern();
    let mut stored = 0;
    for i in 0..41 {
        for j in 0..91 {
            if let Some(k) = p.position(i, j) {
                assert!(p.row_range(i).contains(&k) && p.columns()[k] as usize == j);
                stored += 1;
            }
        }
    }
    assert_eq!(stored, p.entry_count());
    assert!(a.memory_bytes() >= 12 * p.entry_count());
}

#[test]
fn bad_input_is_named() {
    let pattern = |offsets: &[usize], columns: &[u32]| {
        Pattern::new(2, 3, offsets.to_vec(), columns.to_vec()).unwrap_err()
    };
    assert!(matches!(
        pattern(&[0, 1], &[0]),
        SparseError::Length {
            found: 2,
            expected: 3,
            ..
        }
    ));
    assert!(matches!(
        pattern(&[1, 1, 1], &[0]),
        SparseError::Offsets { row: 0, .. }
    ));
    assert!(matches!(
        pattern(&[0, 2, 1], &[0, 1]),
        SparseError::Offsets { row: 2, .. }
    ));
    assert!(matches!(
        pattern(&[0, 9, 1], &[0]),
        SparseError::Offsets {
            row: 1,
            value: 9,
            ..
        }
    ));
    assert!(matches!(
        pattern(&[0, 1, 1], &[0, 1]),
        SparseError::Offsets { row: 2, .. }
    ));
    assert!(matches!(
        pattern(&[0, 1, 2], &[0, 3]),
        SparseError::Column {
            row: 1,
            column: 3,
            ..
        }
    ));
    assert!(matches!(
        pattern(&[0, 2, 2], &[1, 1]),
        SparseError::Unsorted { row: 0, .. }
    ));
    let a = random_matrix(2, 3, [1, 1], 1);
    let mut y = vec![7.0; 2];
    assert!(a.multiply(&[1.0; 2], &mut y).is_err());
    assert!(a.multiply(&[1.0; 3], &mut y[..1]).is_err());
    assert_eq!(y, [7.0; 2]);
    let triplets = |r: &[u32], c: &[u32], v: &[f64]| {
        BlockMatrix::from_triplets(2, 2, [1, 1], r, c, v)
            .unwrap_err()
            .to_string()
    };
    assert!(triplets(&[2], &[0], &[1.0]).contains("row 2"));
    assert!(triplets(&[1], &[5], &[1.0]).contains("column 5"));
    assert!(triplets(&[1], &[], &[1.0]).contains("column indices"));
    let p = Arc::new(Pattern::diagonal(2).unwrap());
    assert!(BlockMatrix::new(p.clone(), [2, 2], vec![0.0; 7]).is_err());
    // Blocks of no size make an empty matrix, not a panic.
    let empty = BlockMatrix::zeros(p, [0, 2]);
    empty.multiply(&[1.0; 4], &mut []).unwrap();
    assert_eq!((empty.rows(), empty.max_abs()), (0, 0.0));
}

/// Bytes a second of y = A x on matrices that don't fit the cache; run with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn bandwidth_of_the_product() {
    for (block, n) in [([1, 1], 120), ([2, 2], 90), ([3, 3], 70), ([4, 4], 60)] {
        let count = n * n * n;
        let (mut offsets, mut columns) = (vec![0], Vec::new());
        for i in 0..count as isize {
            let n = n as isize;
            for d in [-n * n, -n, -1, 0, 1, n, n * n] {
                if (0..count as isize).contains(&(i + d)) {
                    columns.push((i + d) as u32);
                }
            }
            offsets.push(columns.len());
        }
        let pattern = Arc::new(Pattern::new(count, count, offsets, columns).unwrap());
        let mut a = BlockMatrix::zeros(pattern, block);
        a.values_mut().fill(0.5);
        let x = vector(a.cols(), 1);
        let mut y = vec![0.0; a.rows()];
        let bytes =
            a.values().len() * 8 + a.pattern().entry_count() * 4 + (count + 1) * 8 + 16 * a.rows();
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let best = (0..10)
                .map(|_| {
                    let start = std::time::Instant::now();
                    pool.install(|| a.multiply(&x, &mut y).unwrap());
                    start.elapsed().as_secs_f64()
                })
                .fold(f64::INFINITY, f64::min);
            println!(
                "{block:?} {threads} thread(s): {:.1} GB/s",
                bytes as f64 / best / 1e9
            );
        }
    }
}

#[test]
fn issue_006_identity_of_empty_blocks() {
    let empty: BlockMatrix = BlockMatrix::identity(3, 0).unwrap();
    assert_eq!(
        (empty.pattern().rows(), empty.block(), empty.rows()),
        (3, [0, 0], 0)
    );
    assert_eq!(empty.values(), [0.0; 0]);
    let two: BlockMatrix = BlockMatrix::identity(2, 2).unwrap();
    assert_eq!(two.values(), [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    // Refused before memory is taken for it.
    assert!(BlockMatrix::<f64>::identity(1 << 40, 1).is_err());
}

#[test]
fn issue_006_matrix_market_nan() {
    for symmetry in [Symmetry::General, Symmetry::Symmetric, Symmetry::Skew] {
        let mut a: BlockMatrix = BlockMatrix::identity(2, 1).unwrap();
        a.values_mut()[1] = f64::NAN;
        let refused = MatrixMarket::write(&a, symmetry, &mut Vec::new());
        assert!(
            matches!(refused, Err(MarketError::NonFinite { row: 1, col: 1, .. })),
            "{refused:?}"
        );
    }
}
