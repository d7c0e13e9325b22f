//! Matrices and dense truths shared by the tests.

#[path = "../common/splitmix.rs"]
mod splitmix;

pub use splitmix::{Random, vector};
use weft::sparse::BlockMatrix;

pub fn unit(v: &[f64]) -> Vec<f64> {
    let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
    v.iter().map(|v| v / length).collect()
}

/// Triplets of square blocks.
#[derive(Default)]
pub struct Triplets {
    rows: Vec<u32>,
    cols: Vec<u32>,
    values: Vec<f64>,
}

impl Triplets {
    pub fn push(&mut self, i: usize, j: usize, block: &[f64]) {
        self.rows.push(i as u32);
        self.cols.push(j as u32);
        self.values.extend_from_slice(block);
    }

    /// Block k on both diagonals, -k off them: a bond between `i` and `j`.
    pub fn bond(&mut self, i: usize, j: usize, k: &[f64]) {
        let minus: Vec<f64> = k.iter().map(|v| -v).collect();
        self.push(i, i, k);
        self.push(j, j, k);
        self.push(i, j, &minus);
        self.push(j, i, &minus);
    }

    pub fn matrix(&self, n: usize, b: usize) -> BlockMatrix {
        BlockMatrix::from_triplets(n, n, [b, b], &self.rows, &self.cols, &self.values).unwrap()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Positive,
    Indefinite,
    Unsymmetric,
}

pub const KINDS: [Kind; 3] = [Kind::Positive, Kind::Indefinite, Kind::Unsymmetric];

/// A random sparse matrix, well conditioned: couplings on a ring with chords, dominant diagonal
/// blocks, one entry in three negative if indefinite.
pub fn random_system(n: usize, b: usize, kind: Kind, seed: u64) -> BlockMatrix {
    let mut random = Random(seed);
    let mut t = Triplets::default();
    let mut sums = vec![0.0; n * b];
    for i in 0..n {
        for k in 0..3 {
            let j = if k == 0 { (i + 1) % n } else { random.below(n) };
            if i == j {
                continue;
            }
            let block: Vec<f64> = (0..b * b).map(|_| random.next() / b as f64).collect();
            let factor = if kind == Kind::Unsymmetric { -0.5 } else { 1.0 };
            let mirrored: Vec<f64> = (0..b * b)
                .map(|k| factor * block[(k % b) * b + k / b])
                .collect();
            for k in 0..b * b {
                sums[i * b + k / b] += block[k].abs();
                sums[j * b + k / b] += mirrored[k].abs();
            }
            t.push(i, j, &block);
            t.push(j, i, &mirrored);
        }
    }
    for i in 0..n {
        let mut block = vec![0.0; b * b];
        for c in 0..b {
            let row = i * b + c;
            let sign = if kind == Kind::Indefinite && row % 3 == 1 {
                -1.0
            } else {
                1.0
            };
            block[c * b + c] = sign * (sums[row] + 0.5);
        }
        t.push(i, i, &block);
    }
    t.matrix(n, b)
}

/// Dense LU with partial pivoting: the truth the solvers are compared with.
pub fn dense_solve(a: &BlockMatrix, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut m = a.to_dense();
    let mut x = b.to_vec();
    for k in 0..n {
        let size = |i: &usize| m[i * n + k].abs();
        let pivot = (k..n).max_by(|i, j| size(i).total_cmp(&size(j))).unwrap();
        for j in k..n {
            m.swap(k * n + j, pivot * n + j);
        }
        x.swap(k, pivot);
        for i in k + 1..n {
            let f = m[i * n + k] / m[k * n + k];
            if f != 0.0 {
                for j in k..n {
                    m[i * n + j] -= f * m[k * n + j];
                }
                x[i] -= f * x[k];
            }
        }
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            x[i] -= m[i * n + j] * x[j];
        }
        x[i] /= m[i * n + i];
    }
    x
}

pub fn relative_difference(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    let size: f64 = b.iter().map(|b| b * b).sum();
    if size == 0.0 {
        square.sqrt()
    } else {
        (square / size).sqrt()
    }
}

pub fn residual(a: &BlockMatrix, x: &[f64], b: &[f64]) -> f64 {
    let mut ax = vec![0.0; b.len()];
    a.multiply(x, &mut ax).unwrap();
    ax.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}

/// Graph Laplacian of a box of nodes: row sums are zero.
pub fn laplacian([nx, ny, nz]: [usize; 3]) -> BlockMatrix {
    let mut t = Triplets::default();
    let id = |i: usize, j: usize, k: usize| (k * ny + j) * nx + i;
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let here = id(i, j, k);
                if i + 1 < nx {
                    t.bond(here, id(i + 1, j, k), &[1.0]);
                }
                if j + 1 < ny {
                    t.bond(here, id(i, j + 1, k), &[1.0]);
                }
                if k + 1 < nz {
                    t.bond(here, id(i, j, k + 1), &[1.0]);
                }
            }
        }
    }
    t.matrix(nx * ny * nz, 1)
}

/// The seven-point Laplacian with fixed outside: 6 on the diagonal.
pub fn laplacian_dirichlet(size: [usize; 3]) -> BlockMatrix {
    let mut a = laplacian(size);
    for i in 0..a.rows() {
        a.get_mut(i, i).unwrap()[0] = 6.0;
    }
    a
}

/// Nodes of a box, and springs between all neighbours: only rigid motions are free.
pub fn truss([nx, ny, nz]: [usize; 3], dim: usize) -> (BlockMatrix, Vec<[f64; 3]>) {
    let mut positions = Vec::new();
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                // Shifted and stretched, so that nothing is aligned with the origin.
                positions.push([5.0 + i as f64, -3.0 + 1.5 * j as f64, 10.0 + 0.7 * k as f64]);
            }
        }
    }
    let mut t = Triplets::default();
    for p in 0..positions.len() {
        for q in 0..p {
            let d: Vec<f64> = (0..dim)
                .map(|c| positions[p][c] - positions[q][c])
                .collect();
            let square = d.iter().map(|d| d * d).sum::<f64>();
            if square < 2.3 * 2.3 {
                let k: Vec<f64> = (0..dim * dim)
                    .map(|i| d[i / dim] * d[i % dim] / square)
                    .collect();
                t.bond(p, q, &k);
            }
        }
    }
    (t.matrix(positions.len(), dim), positions)
}
