//! Laws of the algebra of block-sparse matrices: sums, products, masks, shapes of blocks, files. Each
//! operation against its dense twin.

#[path = "common/counting.rs"]
mod counting;
#[path = "common/splitmix.rs"]
mod splitmix;

use counting::own_calls;
use splitmix::{Random, vector};
use std::sync::Arc;
use weft::sparse::{
    BlockMatrix, MarketError, MatrixMarket, Pattern, ProductPlan, SparseError, Symmetry,
};

fn random_matrix(rows: usize, cols: usize, block: [usize; 2], seed: u64) -> BlockMatrix {
    let mut random = Random(seed);
    let count = if rows * cols == 0 { 0 } else { 3 * rows };
    let r: Vec<u32> = (0..count).map(|_| random.below(rows) as u32).collect();
    let c: Vec<u32> = (0..count).map(|_| random.below(cols) as u32).collect();
    let v = vector(count * block[0] * block[1], seed + 1);
    BlockMatrix::from_triplets(rows, cols, block, &r, &c, &v).unwrap()
}

/// Block shapes, those with kernels of their own and others.
const BLOCKS: [[usize; 2]; 8] = [
    [1, 1],
    [2, 2],
    [3, 3],
    [1, 2],
    [2, 1],
    [3, 2],
    [4, 4],
    [1, 6],
];
/// Sizes in blocks: none, one, odd, more than one task.
const SIZES: [[usize; 2]; 6] = [[0, 0], [0, 3], [1, 1], [5, 7], [40, 33], [1500, 90]];

#[track_caller]
fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "entry {i}: {a} against {b}");
    }
}

fn dense_product(a: &BlockMatrix, b: &BlockMatrix) -> Vec<f64> {
    let (x, y) = (a.to_dense(), b.to_dense());
    let mut z = vec![0.0; a.rows() * b.cols()];
    for i in 0..a.rows() {
        for k in 0..a.cols() {
            let factor = x[i * a.cols() + k];
            if factor != 0.0 {
                for j in 0..b.cols() {
                    z[i * b.cols() + j] += factor * y[k * b.cols() + j];
                }
            }
        }
    }
    z
}

fn with_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
        .install(f)
}

#[test]
fn sums_are_the_dense_ones() {
    for [rows, cols] in SIZES {
        for block in BLOCKS {
            let a = random_matrix(rows, cols, block, 3);
            let b = random_matrix(rows, cols, block, 4);
            let sum = BlockMatrix::sum(2.0, &a, -0.5, &b).unwrap();
            let dense: Vec<f64> = a
                .to_dense()
                .iter()
                .zip(b.to_dense())
                .map(|(a, b)| 2.0 * a - 0.5 * b)
                .collect();
            assert_close(&sum.to_dense(), &dense, 1e-15);
            // A sum on one pattern shares it.
            let twice = BlockMatrix::sum(1.0, &a, 1.0, &a).unwrap();
            assert!(Arc::ptr_eq(twice.pattern(), a.pattern()));
            // The mask of a takes from the sum what a stores.
            let mut masked = a.clone();
            masked.set_masked(&sum).unwrap();
            for i in 0..rows {
                for &j in a.pattern().row(i) {
                    assert_eq!(masked.get(i, j as usize), sum.get(i, j as usize));
                }
            }
        }
    }
    let a = random_matrix(5, 7, [1, 1], 3);
    let mut lower = a.filtered(|i, j, _| j < i);
    let outside = a.pattern().row(0).first().map(|&j| SparseError::Outside {
        row: 0,
        col: j as usize,
    });
    assert_eq!(lower.add_scaled(1.0, &a).err(), outside);
    let b = random_matrix(7, 5, [1, 1], 3);
    let message = BlockMatrix::sum(1.0, &a, 1.0, &b).unwrap_err().to_string();
    assert!(message.contains("7 × 5 where 5 × 7"), "{message}");
    assert!(BlockMatrix::sum(1.0, &a, 1.0, &random_matrix(5, 7, [1, 2], 3)).is_err());
}

#[test]
fn products_are_the_dense_ones() {
    for [rows, inner] in SIZES {
        for block in BLOCKS {
            for width in [1, 2, 3] {
                let a = random_matrix(rows, inner, block, 5);
                let b = random_matrix(inner, 11, [block[1], width], 6);
                let product = a.times(&b).unwrap();
                assert_eq!(product.block(), [block[0], width]);
                assert_close(&product.to_dense(), &dense_product(&a, &b), 1e-13);
                let p = product.pattern();
                let (offsets, columns) = (p.offsets().to_vec(), p.columns().to_vec());
                assert!(Pattern::new(rows, 11, offsets, columns).is_ok());
            }
        }
    }
    let a = random_matrix(4, 5, [1, 1], 1);
    assert!(matches!(a.times(&a), Err(SparseError::Size { .. })));
    let wide = random_matrix(5, 3, [2, 1], 1);
    assert!(a.times(&wide).is_err());
}

#[test]
fn planned_products_take_new_numbers_and_allocate_nothing() {
    with_threads(1, || {
        for block in [[1, 1], [2, 2], [1, 2], [3, 1]] {
            let mut a = random_matrix(300, 200, block, 7);
            let b = random_matrix(200, 250, [block[1], 2], 8);
            let plan = ProductPlan::new(a.pattern(), b.pattern()).unwrap();
            let mut c = BlockMatrix::zeros(plan.pattern().clone(), [block[0], 2]);
            plan.multiply(&a, &b, &mut c).unwrap();
            let first = c.to_dense();
            a.scale(3.0);
            let (pattern, source) = a.pattern().transpose();
            let mut transposed = BlockMatrix::zeros(Arc::new(pattern), [block[1], block[0]]);
            let target = c.clone();
            let mut sum = c.clone();
            let before = own_calls();
            plan.multiply_add(2.0, &a, &b, -1.0, &mut c).unwrap();
            a.transpose_into(&source, &mut transposed).unwrap();
            sum.add_scaled(2.0, &target).unwrap();
            sum.set_masked(&target).unwrap();
            assert_eq!(own_calls(), before);
            let expected: Vec<f64> = first.iter().map(|v| 5.0 * v).collect();
            assert_close(&c.to_dense(), &expected, 1e-12);
            assert_eq!(transposed.to_dense(), a.transpose().to_dense());
            // Another pattern is refused, and an equal one accepted.
            let other = random_matrix(300, 200, block, 9);
            let refused = plan.multiply(&other, &b, &mut c).unwrap_err();
            assert_eq!(
                refused,
                SparseError::OtherPattern {
                    what: "the left factor"
                }
            );
            let equal = random_matrix(300, 200, block, 7);
            plan.multiply(&equal, &b, &mut c).unwrap();
            assert_eq!(c.to_dense(), first);
        }
    });
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let n = 6000;
    let mut random = Random(1);
    let count = 20 * n;
    let r: Vec<u32> = (0..count).map(|_| random.below(n) as u32).collect();
    let c: Vec<u32> = (0..count).map(|_| random.below(n) as u32).collect();
    for block in [[1, 1], [2, 2], [1, 3]] {
        let v = vector(count * block[0] * block[1], 2);
        let all = |threads| {
            with_threads(threads, || {
                let a = BlockMatrix::from_triplets(n, n, block, &r, &c, &v).unwrap();
                let t = a.transpose();
                let square = a.times(&t).unwrap();
                let mut y = vec![1.0; a.cols()];
                a.multiply_transposed(0.3, &vector(a.rows(), 4), 2.0, &mut y)
                    .unwrap();
                let sum = BlockMatrix::sum(0.1, &square, 0.7, &square).unwrap();
                (
                    a.into_csr().unwrap(),
                    square.into_csr().unwrap(),
                    sum.values().to_vec(),
                    y,
                )
            })
        };
        let one = all(1);
        assert!(one == all(2) && one == all(3) && one == all(8));
    }
}

#[test]
fn transposed_products_are_those_of_the_transposed() {
    for [rows, cols] in SIZES {
        for block in BLOCKS {
            let a = random_matrix(rows, cols, block, 5);
            let x = vector(a.rows(), 1);
            let start = vector(a.cols(), 2);
            for (alpha, beta) in [(1.0, 0.0), (-2.0, 0.5)] {
                let (mut y, mut z) = (start.clone(), start.clone());
                if beta == 0.0 {
                    y.fill(f64::NAN);
                }
                a.multiply_transposed(alpha, &x, beta, &mut y).unwrap();
                a.transpose().multiply_add(alpha, &x, beta, &mut z).unwrap();
                assert_close(&y, &z, 1e-12);
            }
        }
    }
    let a = random_matrix(4, 5, [1, 2], 1);
    assert!(
        a.multiply_transposed(1.0, &[0.0; 5], 0.0, &mut [0.0; 10])
            .is_err()
    );
    assert!(
        a.multiply_transposed(1.0, &[0.0; 4], 0.0, &mut [0.0; 9])
            .is_err()
    );
}

#[test]
fn identities_and_diagonals() {
    for b in [1, 2, 3, 5] {
        let a = random_matrix(20, 20, [b, b], 2);
        let identity = BlockMatrix::identity(20, b).unwrap();
        assert_eq!(identity.times(&a).unwrap().to_dense(), a.to_dense());
        assert_eq!(a.times(&identity).unwrap().to_dense(), a.to_dense());
        let blocks = vector(20 * b * b, 3);
        let diagonal = BlockMatrix::from_block_diagonal([b, b], blocks.clone()).unwrap();
        assert_eq!(diagonal.block_diagonal(), blocks);
        let mut full = BlockMatrix::sum(1.0, &a, 1.0, &identity).unwrap();
        full.set_block_diagonal(&blocks).unwrap();
        assert_eq!(full.block_diagonal(), blocks);
        let without = a.filtered(|i, j, _| i != j);
        let refused = without.clone().set_block_diagonal(&blocks).unwrap_err();
        assert_eq!(refused, SparseError::Outside { row: 0, col: 0 });
        assert_eq!(
            BlockMatrix::sum(1.0, &full, -1.0, &diagonal)
                .unwrap()
                .without_zeros()
                .to_dense(),
            without.to_dense()
        );
    }
    assert!(BlockMatrix::from_block_diagonal([2, 2], vec![0.0; 7]).is_err());
}

#[test]
fn scaled_rows_and_columns_are_products_with_diagonals() {
    for [r, c] in BLOCKS {
        let a = random_matrix(20, 15, [r, c], 2);
        let (left, right) = (vector(20 * r, 3), vector(15 * c, 4));
        let mut scaled = a.clone();
        scaled.scale_rows(&left).unwrap();
        scaled.scale_columns(&right).unwrap();
        let dense = a.to_dense();
        let cols = a.cols();
        let expected: Vec<f64> = (0..dense.len())
            .map(|k| dense[k] * left[k / cols] * right[k % cols])
            .collect();
        assert_eq!(scaled.to_dense(), expected);
        assert!(scaled.scale_rows(&right[..1]).is_err());
        assert!(scaled.scale_columns(&left[..1]).is_err());
    }
}

#[test]
fn masks_keep_what_they_are_told_to() {
    let a = random_matrix(30, 20, [2, 3], 9);
    let rows = a.filtered(|i, _, _| i % 3 == 0);
    for i in 0..30 {
        if i % 3 == 0 {
            assert_eq!(rows.row(i), a.row(i));
        } else {
            assert!(rows.row(i).0.is_empty());
        }
    }
    let none = a.filtered(|_, _, _| false);
    assert_eq!((none.values().len(), none.rows(), none.cols()), (0, 60, 60));
    // Zeros stay until they are dropped.
    let padded =
        BlockMatrix::from_triplets(2, 2, [1, 1], &[0, 0, 1], &[0, 1, 0], &[0.0, 0.0, 3.0]).unwrap();
    assert_eq!(padded.values().len(), 3);
    assert_eq!(padded.without_zeros().values(), [3.0]);
    // What is laid out can be filled later; what isn't can't.
    let mut later = padded.clone();
    later.set_triplets(&[0, 0], &[1, 1], &[1.0, 2.0]).unwrap();
    assert_eq!(later.to_dense(), [0.0, 3.0, 0.0, 0.0]);
    let refused = later
        .set_triplets(&[0, 1], &[1, 1], &[5.0, 5.0])
        .unwrap_err();
    assert_eq!(refused, SparseError::Outside { row: 1, col: 1 });
    assert_eq!(later.to_dense(), [0.0, 3.0, 0.0, 0.0]);
    let all = a.pattern().filtered(|_, _| true);
    assert_eq!(all, **a.pattern());
    let union = rows.pattern().union(a.pattern()).unwrap();
    assert_eq!(union, **a.pattern());
}

#[test]
fn blocks_change_their_shape_and_nothing_else() {
    for block in BLOCKS.into_iter().chain([[6, 6], [12, 4]]) {
        for seed in 0..3 {
            let a = random_matrix(12 / block[0] * 5, 12 / block[1].min(12) * 4, block, seed);
            for to in [[1, 1], [2, 2], [3, 3], [1, 4], [4, 6], [12, 12], [2, 3]] {
                let fits = a.rows().is_multiple_of(to[0]) && a.cols().is_multiple_of(to[1]);
                let Ok(b) = a.with_block(to) else {
                    assert!(!fits);
                    continue;
                };
                assert!(fits);
                assert_eq!((b.block(), b.rows(), b.cols()), (to, a.rows(), a.cols()));
                assert_eq!(b.to_dense(), a.to_dense(), "{block:?} to {to:?}");
                let p = b.pattern();
                let (offsets, columns) = (p.offsets().to_vec(), p.columns().to_vec());
                assert!(Pattern::new(p.rows(), p.cols(), offsets, columns).is_ok());
                let back = b.with_block(block).unwrap().without_zeros();
                assert_eq!(back.to_dense(), a.to_dense());
                assert_eq!(back.pattern(), a.without_zeros().pattern());
            }
        }
    }
    let a = random_matrix(3, 3, [2, 2], 1);
    for bad in [[4, 1], [0, 1], [1, 0]] {
        assert!(matches!(
            a.with_block(bad),
            Err(SparseError::BlockShape { .. })
        ));
    }
    let hollow = BlockMatrix::<f64>::zeros(Arc::new(Pattern::diagonal(3).unwrap()), [0, 2]);
    assert_eq!(hollow.with_block([1, 1]).unwrap().rows(), 0);
}

#[test]
fn scalar_blocks_are_compressed_rows_without_a_copy() {
    let values = vec![1.0, 2.0, 3.0];
    let address = values.as_ptr();
    let a = BlockMatrix::from_csr(2, 3, vec![0, 2, 3], vec![0, 2, 1], values).unwrap();
    assert_eq!(a.to_dense(), [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
    let columns_address = a.pattern().columns().as_ptr();
    let (offsets, columns, values) = a.into_csr().unwrap();
    assert_eq!(
        (offsets, values.as_ptr(), columns.as_ptr()),
        (vec![0, 2, 3], address, columns_address)
    );
    // Shared patterns and larger blocks are copied.
    let b = random_matrix(4, 5, [2, 3], 1);
    let (offsets, columns, values) = b.clone().into_csr().unwrap();
    let again = BlockMatrix::from_csr(b.rows(), b.cols(), offsets, columns, values).unwrap();
    assert_eq!(again.to_dense(), b.to_dense());
    assert!(BlockMatrix::<f64>::from_csr(1, 1, vec![0, 1], vec![0], vec![]).is_err());
    assert!(BlockMatrix::from_csr(1, 1, vec![0, 1], vec![1], vec![1.0]).is_err());
}

fn read(text: &str) -> Result<MatrixMarket, MarketError> {
    MatrixMarket::read(text.as_bytes())
}

#[test]
fn files_give_back_what_was_written() {
    let mut out = Vec::new();
    for [rows, cols] in SIZES {
        for block in [[1, 1], [2, 3]] {
            let mut a = random_matrix(rows, cols, block, 3);
            for (k, v) in a.values_mut().iter_mut().enumerate() {
                *v *= [1.0, 1e300, 5e-324, -0.0, 1e-17][k % 5];
            }
            out.clear();
            MatrixMarket::write(&a, Symmetry::General, &mut out).unwrap();
            let back = MatrixMarket::read(&out[..]).unwrap();
            assert_eq!(back.symmetry, Symmetry::General);
            let same = a.with_block([1, 1]).unwrap();
            assert_eq!(back.matrix.pattern(), same.pattern());
            assert_eq!(back.matrix.values(), same.values());
        }
    }
    let a = random_matrix(30, 30, [2, 2], 3);
    for (sign, symmetry) in [(1.0, Symmetry::Symmetric), (-1.0, Symmetry::Skew)] {
        let s = BlockMatrix::sum(1.0, &a, sign, &a.transpose()).unwrap();
        out.clear();
        MatrixMarket::write(&s, symmetry, &mut out).unwrap();
        let back = MatrixMarket::read(&out[..]).unwrap();
        assert_eq!(back.symmetry, symmetry);
        assert_eq!(back.matrix.to_dense(), s.to_dense());
        let lines = out.iter().filter(|&&b| b == b'\n').count();
        assert!(lines <= s.values().len() / 2 + 62);
        let wrong = MatrixMarket::write(&a, symmetry, &mut out).unwrap_err();
        assert!(matches!(wrong, MarketError::NotSymmetric(_)), "{wrong}");
    }
    let bad = BlockMatrix::from_csr(1, 2, vec![0, 1], vec![1], vec![f64::NAN]).unwrap();
    let wrong = MatrixMarket::write(&bad, Symmetry::General, &mut out).unwrap_err();
    assert!(wrong.to_string().contains("(0, 1) is NaN"), "{wrong}");
}

#[test]
fn files_of_others_are_read() {
    let text = "%%MatrixMarket MATRIX Coordinate Integer General\r\n% by hand\r\n\r\n 2 3  4 \r\n\
                1 1 5\r\n% between\r\n2 3 -1\r\n2 3 -1.5e0\r\n\t1 2 1e-3";
    let file = read(text).unwrap();
    assert_eq!(file.matrix.to_dense(), [5.0, 1e-3, 0.0, 0.0, 0.0, -2.5]);
    let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 1 3\n";
    assert_eq!(read(text).unwrap().matrix.to_dense(), [4.0, 3.0, 3.0, 0.0]);
    let text = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n";
    assert_eq!(read(text).unwrap().matrix.to_dense(), [0.0, -3.0, 3.0, 0.0]);
    let empty = read("%%MatrixMarket matrix coordinate real general\n0 0 0\n").unwrap();
    assert_eq!(empty.matrix.rows(), 0);
}

#[test]
fn wrong_files_are_named_by_their_line() {
    let general = "%%MatrixMarket matrix coordinate real general\n";
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
    let skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n";
    let huge = format!("{general}4000000000 4000000000 3\n1 1 1\n");
    let with = |body: &str| format!("{general}{body}");
    for (text, line, part) in [
        (String::new(), 1, "a file starts with"),
        ("1 1 1\n".into(), 1, "a file starts with"),
        (
            "%%MatrixMarket matrix coordinate real\n".into(),
            1,
            "a file starts with",
        ),
        (
            "%%MatrixMarket matrix coordinate complex general\n".into(),
            1,
            "`complex`",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern general\n".into(),
            1,
            "`pattern`",
        ),
        (
            "%%MatrixMarket matrix coordinate real hermitian\n".into(),
            1,
            "`hermitian`",
        ),
        (
            "%%MatrixMarket matrix array real general\n".into(),
            1,
            "dense arrays",
        ),
        (general.into(), 2, "ends before"),
        (with("% only\n%comments\n"), 4, "ends before"),
        (with("2 2\n"), 2, "3 whole numbers"),
        (with("2 2 1 1\n"), 2, "3 whole numbers"),
        (with("-2 2 1\n"), 2, "`-2`"),
        (with("2.0 2 1\n"), 2, "`2.0`"),
        (with("99999999999999999999999 2 1\n"), 2, "whole number"),
        (
            with("2 2 18446744073709551615\n1 1 1\n"),
            4,
            "ends after 1 entries",
        ),
        (huge, 2, "too large"),
        (with("2 4000000000 1\n"), 2, "too large"),
        (with("5000000000 1 18446744073709551615\n"), 2, "too large"),
        (with("2 2 1\n3 1 1\n"), 3, "row `3` isn't in 1 to 2"),
        (with("2 2 1\n0 1 1\n"), 3, "row `0`"),
        (with("2 2 1\n1 3 1\n"), 3, "column `3`"),
        (with("2 2 1\n1 x 1\n"), 3, "column `x`"),
        (with("2 2 1\n1 1\n"), 3, "isn't `row column value`"),
        (with("2 2 1\n1 1 1 1\n"), 3, "isn't `row column value`"),
        (with("2 2 1\n1 1 nan\n"), 3, "`nan`"),
        (with("2 2 1\n1 1 inf\n"), 3, "`inf`"),
        (with("2 2 1\n1 1 1e999\n"), 3, "`1e999`"),
        (with("2 2 1\n1 1 one\n"), 3, "`one`"),
        (with("2 2 1\n1 1 1\n1 2 1\n"), 4, "beyond the 1 of line 2"),
        (with("2 2 3\n1 1 1\n\n"), 5, "ends after 1 entries of the 3"),
        (format!("{symmetric}2 3 0\n"), 2, "square"),
        (
            format!("{symmetric}2 2 1\n1 2 1\n"),
            3,
            "above the diagonal",
        ),
        (
            format!("{skew}2 2 1\n1 1 1\n"),
            3,
            "on or above the diagonal",
        ),
        (
            with(&format!("2 2 1\n1 1 {}\n", "é".repeat(10_000))),
            3,
            "…",
        ),
    ] {
        match read(&text) {
            Err(MarketError::Line {
                line: found,
                reason,
            }) => {
                assert_eq!(found, line, "{text:.80}: {reason}");
                assert!(reason.contains(part), "{text:.80}: {reason}");
                assert!(reason.chars().count() < 200);
            }
            other => panic!("{text:.80}: {other:?}"),
        }
    }
    let bytes = [general.as_bytes(), b"2 2 1\n1 1 \xff\n"].concat();
    let error = MatrixMarket::read(&bytes[..]).unwrap_err().to_string();
    assert!(
        error.contains("line 3") && error.contains("UTF-8"),
        "{error}"
    );
}

#[test]
fn any_bytes_give_a_matrix_or_an_error() {
    let a = random_matrix(6, 6, [1, 1], 2);
    let s = BlockMatrix::sum(1.0, &a, 1.0, &a.transpose()).unwrap();
    let mut random = Random(77);
    for symmetry in [Symmetry::General, Symmetry::Symmetric] {
        let mut whole = Vec::new();
        MatrixMarket::write(&s, symmetry, &mut whole).unwrap();
        for end in 0..whole.len() - 1 {
            // Cut anywhere but in the last number, a file is incomplete.
            if end < whole.len() - 4 {
                let cut = MatrixMarket::read(&whole[..end]);
                let in_number = whole[end] != b'\n' && cut.is_ok();
                assert!(cut.is_err() || in_number);
            }
        }
        for _ in 0..3000 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => bytes[at] = b"0123456789 -+.eE%\n"[random.below(18)],
                    _ => {
                        bytes.remove(at);
                    }
                }
            }
            if let Ok(file) = MatrixMarket::read(&bytes[..]) {
                assert!(file.matrix.first_non_finite().is_none());
            }
        }
    }
}

/// Seconds for products of matrices; run with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn times_of_products() {
    for (block, n) in [([1, 1], 60), ([2, 2], 40), ([3, 3], 30)] {
        // Seven neighbours of each point of a box.
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
        let start = std::time::Instant::now();
        let plan = ProductPlan::new(a.pattern(), a.pattern()).unwrap();
        let planned = start.elapsed().as_secs_f64();
        let mut c = BlockMatrix::zeros(plan.pattern().clone(), block);
        let best = (0..5)
            .map(|_| {
                let start = std::time::Instant::now();
                plan.multiply(&a, &a, &mut c).unwrap();
                start.elapsed().as_secs_f64()
            })
            .fold(f64::INFINITY, f64::min);
        let products: usize = (0..count).map(|i| a.pattern().row(i).len().pow(2)).sum();
        println!(
            "{block:?}: plan {planned:.3} s, product {best:.4} s, {:.2} Gflop/s",
            2.0 * (products * block[0].pow(3)) as f64 / best / 1e9
        );
    }
}
