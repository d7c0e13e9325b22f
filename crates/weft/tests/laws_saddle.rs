//! Laws of systems of blocks, of conditions by projectors, and of problems of several unknowns.

#[path = "common/mod.rs"]
mod common;
#[path = "common/counting.rs"]
mod counting;

#[path = "saddle/blocks.rs"]
mod blocks;
#[path = "saddle/projector.rs"]
mod projector;
#[cfg(feature = "direct")]
#[path = "saddle/stokes.rs"]
mod stokes;

use common::Random;
use weft::sparse::BlockMatrix;

/// A random matrix with `per_row` blocks in each row, and one on the diagonal of a square one.
fn random_matrix(
    rows: usize,
    cols: usize,
    block: [usize; 2],
    per_row: usize,
    random: &mut Random,
) -> BlockMatrix {
    let (mut r, mut c) = (Vec::new(), Vec::new());
    for i in 0..rows {
        for _ in 0..per_row {
            r.push(i as u32);
            c.push(random.below(cols) as u32);
        }
        if rows == cols {
            r.push(i as u32);
            c.push(i as u32);
        }
    }
    let v = random.numbers(r.len() * block[0] * block[1]);
    BlockMatrix::from_triplets(rows, cols, block, &r, &c, &v).unwrap()
}

/// A dense matrix as one block.
fn one_block(rows: usize, cols: usize, dense: Vec<f64>) -> BlockMatrix {
    BlockMatrix::from_triplets(1, 1, [rows, cols], &[0], &[0], &dense).unwrap()
}

/// Product of dense matrices, n × m and m × k.
fn dense_product([n, m, k]: [usize; 3], a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; n * k];
    for i in 0..n {
        for l in 0..m {
            for j in 0..k {
                c[i * k + j] += a[i * m + l] * b[l * k + j];
            }
        }
    }
    c
}
