//! Algebraic multigrid by smoothed aggregation.
//!
//! [`Amg`] is a [`Preconditioner`] made from a matrix alone, or from a matrix and its near-null vectors, such as
//! [`rigid_body_modes`]: after P. Vaněk, J. Mandel, M. Brezina, "Algebraic multigrid by smoothed aggregation for
//! second and fourth order elliptic problems", Computing 56 (1996), 179–196. Iterations hardly grow with the
//! number of unknowns.
//!
//! Invariant: for a symmetric, positive definite matrix the V-cycle is symmetric and positive definite too, and
//! the same bits come out for any number of threads.

mod aggregate;
mod dense;
mod modes;
mod prolong;
mod smooth;

pub use modes::rigid_body_modes;

use std::sync::{Mutex, TryLockError};

use self::aggregate::{Aggregates, Couplings};
use self::dense::Dense;
use self::prolong::Tentative;
use self::smooth::{Relaxation, scaling};
use super::error::{SolveError, check_finite, check_size};
use super::precondition::{Preconditioner, check_square};
use crate::Real;
use crate::sparse::BlockMatrix;

/// Relaxation before and after each correction by the next coarser level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoother {
    /// The Chebyshev polynomial of D⁻¹ A on the upper part of its eigenvalues, D being the diagonal blocks (M. Adams,
    /// M. Brezina, J. Hu, R. Tuminaro, J. Comput. Phys. 188 (2003), 593–610).
    Chebyshev {
        /// Degree of the polynomial, from 1: so many products with the matrix.
        degree: usize,
        /// The largest eigenvalue over the smallest that is damped; more than 1.
        ratio: f64,
    },
    /// Damped Jacobi steps with the diagonal blocks.
    Jacobi {
        /// Number of steps, from 1.
        sweeps: usize,
    },
}

/// Options of [`Amg`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmgOptions {
    /// Couplings below this part of the largest of their nodes are weak, from 0 to 1: corrections don't act along them.
    pub strength: f64,
    /// Relaxation.
    pub smoother: Smoother,
    /// A level of so few unknowns is solved directly.
    pub coarsest: usize,
}

impl Default for AmgOptions {
    fn default() -> AmgOptions {
        AmgOptions {
            strength: 0.3,
            smoother: Smoother::Chebyshev {
                degree: 2,
                ratio: 8.0,
            },
            coarsest: 300,
        }
    }
}

impl AmgOptions {
    fn check(&self) -> Result<(), SolveError> {
        let refuse = |name, value, accepted| {
            Err(SolveError::Option {
                name,
                value,
                accepted,
            })
        };
        if !(0.0..=1.0).contains(&self.strength) {
            return refuse("strength", self.strength, "it must be from 0 to 1");
        }
        if self.coarsest > DIRECT {
            return refuse("coarsest", self.coarsest as f64, "it must be at most 1000");
        }
        match self.smoother {
            Smoother::Chebyshev { degree: 0, .. } => refuse("degree", 0.0, "it must be at least 1"),
            Smoother::Jacobi { sweeps: 0 } => refuse("sweeps", 0.0, "it must be at least 1"),
            Smoother::Chebyshev { ratio, .. } if !(ratio.is_finite() && ratio > 1.0) => {
                refuse("ratio", ratio, "it must be finite and more than 1")
            }
            _ => Ok(()),
        }
    }
}

/// Most unknowns of a level that is solved directly, where coarsening ends early.
const DIRECT: usize = 1000;
/// Coarsening ends where it leaves more than this part of the nodes.
const SLOW: f64 = 0.8;
/// More levels than any matrix that fits the index type needs.
const MAX_LEVELS: usize = 40;

/// Algebraic multigrid by smoothed aggregation: one V-cycle, starting from zero.
///
/// For symmetric matrices with a positive diagonal, definite or with a null space that the near-null vectors span
/// (as pure Neumann problems have). Nodes with prescribed values may be in the matrix as rows of the identity. It
/// keeps a copy of the matrix. Applying allocates nothing, except while another thread uses the same object.
///
/// ```
/// # use weft::solve::*;
/// # use weft::sparse::BlockMatrix;
/// // −u″ = 1 on a chain.
/// let n = 1000_usize;
/// let (mut i, mut j, mut v) = (vec![], vec![], vec![]);
/// for k in 0..n {
///     for (l, value) in [(k + 1, -1.0), (k, 2.0), (k.wrapping_sub(1), -1.0)] {
///         if l < n {
///             (i.push(k as u32), j.push(l as u32), v.push(value));
///         }
///     }
/// }
/// let a: BlockMatrix = BlockMatrix::from_triplets(n, n, [1, 1], &i, &j, &v)?;
/// let amg = Amg::new(&a, AmgOptions::default())?;
/// let mut x = vec![0.0; n];
/// let mut cg = Krylov::new(Method::Cg, KrylovOptions::default())?;
/// let done = cg.solve(&a, &amg, &vec![1.0; n], &mut x)?;
/// assert!(done.iterations < 25 && amg.level_sizes().len() > 1);
/// # Ok::<(), SolveError>(())
/// ```
#[derive(Debug)]
pub struct Amg<T: Real = f64> {
    levels: Vec<Level<T>>,
    /// Of the coarsest level; none if it is too large.
    direct: Option<Dense>,
    smoother: Smoother,
    work: Mutex<Work<T>>,
}

#[derive(Debug)]
struct Level<T: Real> {
    relaxation: Relaxation<T>,
    /// Prolongation from the next level and its transpose; none on the coarsest.
    transfer: Option<[BlockMatrix<T>; 2]>,
}

/// Vectors of all levels.
#[derive(Debug)]
struct Work<T: Real> {
    levels: Vec<LevelWork<T>>,
    direct: Vec<f64>,
}

#[derive(Debug)]
struct LevelWork<T: Real> {
    residual: Vec<T>,
    step: Vec<T>,
    /// Right-hand side and correction of the next level.
    coarse: [Vec<T>; 2],
}

impl<T: Real> Amg<T> {
    /// With constants as near-null vectors, one for each unknown of a node: for Poisson's equation and its like.
    ///
    /// # Errors
    /// If the matrix or its blocks aren't square, an entry isn't finite, a diagonal entry isn't positive, or an option
    /// is out of its range.
    pub fn new(a: &BlockMatrix<T>, options: AmgOptions) -> Result<Amg<T>, SolveError> {
        check_square(a)?;
        let b = a.block()[0];
        let vectors = (0..a.rows() * b)
            .map(|k| ((k / b) % b == k % b) as usize as f64)
            .collect();
        Amg::set_up(a, vectors, b, options)
    }

    /// With near-null vectors of one's own, each of as many numbers as the matrix has rows: vectors x for which A x is
    /// small, before values are prescribed. More of them than three for a scalar or six for elasticity cost much.
    ///
    /// # Errors
    /// As [`Amg::new`], and if there is no vector, or one has the wrong size or a number that isn't finite.
    pub fn with_near_nullspace(
        a: &BlockMatrix<T>,
        vectors: &[Vec<f64>],
        options: AmgOptions,
    ) -> Result<Amg<T>, SolveError> {
        check_square(a)?;
        if vectors.is_empty() {
            return Err(SolveError::Option {
                name: "number of near-null vectors",
                value: 0.0,
                accepted: "at least one is needed",
            });
        }
        for vector in vectors {
            check_size("a near-null vector", vector.len(), a.rows())?;
            check_finite("a near-null vector", vector)?;
        }
        let rows = (0..a.rows()).flat_map(|i| vectors.iter().map(move |v| v[i]));
        Amg::set_up(a, rows.collect(), vectors.len(), options)
    }

    fn set_up(
        a: &BlockMatrix<T>,
        mut vectors: Vec<f64>,
        k: usize,
        options: AmgOptions,
    ) -> Result<Amg<T>, SolveError> {
        options.check()?;
        check_finite("the matrix", a.values())?;
        for (index, d) in a.diagonal().into_iter().enumerate() {
            if d.widen() <= 0.0 {
                let value = d.widen();
                return Err(SolveError::Diagonal { index, value });
            }
        }
        // Set-up is in double precision: errors of a level would be those of all coarser ones.
        let mut a = a.to::<f64>();
        let mut levels = Vec::new();
        loop {
            let (inverses, bound) = scaling(&a)?;
            let coarse = if a.rows() <= options.coarsest || levels.len() == MAX_LEVELS {
                None
            } else {
                coarsen(&a, &inverses, bound, &mut vectors, k, options.strength)?
            };
            let (transfer, next) = match coarse {
                Some((p, r, next)) => (Some([p.to(), r.to()]), Some(next)),
                None => (None, None),
            };
            levels.push(Level {
                relaxation: Relaxation {
                    a: a.to(),
                    inverses: inverses.iter().map(|v| T::round(*v)).collect(),
                    bound,
                },
                transfer,
            });
            match next {
                Some(next) => a = next,
                None => break,
            }
        }
        let n = a.rows();
        let direct = (n <= DIRECT).then(|| Dense::new(n, a.to_dense(), ROUNDING * T::COARSENESS));
        let work = Mutex::new(Work::new(&levels));
        Ok(Amg {
            levels,
            direct,
            smoother: options.smoother,
            work,
        })
    }

    /// Number of unknowns of each level, finest first.
    pub fn level_sizes(&self) -> Vec<usize> {
        let sizes = self.levels.iter().map(|l| l.relaxation.a.rows());
        sizes.collect()
    }

    /// Stored numbers of the matrices of all levels over those of the finest.
    pub fn operator_complexity(&self) -> f64 {
        let count = |l: &Level<T>| l.relaxation.a.values().len() as f64;
        let sum: f64 = self.levels.iter().map(count).sum();
        sum / self.levels.first().map_or(1.0, count).max(1.0)
    }

    fn cycle(
        &self,
        level: usize,
        work: &mut [LevelWork<T>],
        direct: &mut [f64],
        b: &[T],
        x: &mut [T],
    ) {
        let Level {
            relaxation,
            transfer,
        } = &self.levels[level];
        let (here, below) = work.split_first_mut().expect("work of each level");
        let LevelWork {
            residual,
            step,
            coarse: [coarse_b, coarse_x],
        } = here;
        let Some([p, r]) = transfer else {
            if let Some(dense) = &self.direct {
                dense.solve(|i| b[i].widen(), direct);
                x.fill(T::ZERO);
                for (&i, v) in dense.order().iter().zip(&*direct) {
                    x[i] = T::round(*v);
                }
            } else {
                relaxation.relax(COARSEST, true, b, x, residual, step);
            }
            return;
        };
        relaxation.relax(self.smoother, true, b, x, residual, step);
        relaxation.residual(b, x, residual);
        r.multiply(residual, coarse_b)
            .expect("vectors of the levels' sizes");
        self.cycle(level + 1, below, direct, coarse_b, coarse_x);
        p.multiply_add(1.0, coarse_x, 1.0, x)
            .expect("vectors of the levels' sizes");
        relaxation.relax(self.smoother, false, b, x, residual, step);
    }
}

/// On a coarsest level that is too large to be solved.
const COARSEST: Smoother = Smoother::Chebyshev {
    degree: 8,
    ratio: 60.0,
};
/// Pivots of the coarsest level that count as zero, relative to the diagonal.
const ROUNDING: f64 = 1e-12;

/// Prolongation, its transpose and the matrix of the next level; `vectors` become those of that level. `None` if
/// coarsening leads no further.
fn coarsen(
    a: &BlockMatrix,
    inverses: &[f64],
    bound: f64,
    vectors: &mut Vec<f64>,
    k: usize,
    strength: f64,
) -> Result<Option<(BlockMatrix, BlockMatrix, BlockMatrix)>, SolveError> {
    let b = a.block()[0];
    let couplings = Couplings::new(a, strength);
    let aggregates = Aggregates::new(a.pattern(), &couplings);
    let slow = aggregates.count as f64 > SLOW * couplings.coupled_count() as f64;
    if aggregates.count == 0 || slow || aggregates.count * k >= a.rows() {
        return Ok(None);
    }
    release_prescribed(a, vectors, k);
    let tentative = Tentative::new(&aggregates, vectors, b, k);
    let omega = 4.0 / (3.0 * bound);
    let p = tentative.smoothed(a, inverses, omega, &couplings, &aggregates, vectors, k)?;
    let r = p.transpose();
    let mut next = r.times(&a.times(&p)?)?;
    // Columns of the prolongation that are zero leave rows without a diagonal.
    for (node, r) in tentative.r.chunks_exact(k * k).enumerate() {
        let block = next.get_mut(node, node).expect("every aggregate has nodes");
        let size = (0..k).fold(0.0, |m: f64, i| m.max(block[i * k + i]));
        for i in (0..k).filter(|i| r[i * k + i] == 0.0) {
            block[i * k + i] = if size > 0.0 { size } else { 1.0 };
        }
    }
    *vectors = tentative.r;
    Ok(Some((p, r, next)))
}

/// Sets near-null vectors to zero where nothing but the diagonal is in a row: that value is known, and corrections
/// have to leave it.
fn release_prescribed(a: &BlockMatrix, vectors: &mut [f64], k: usize) {
    let b = a.block()[0];
    for node in 0..a.pattern().rows() {
        let (columns, values) = a.row(node);
        for i in 0..b {
            let alone = columns
                .iter()
                .zip(values.chunks_exact(b * b))
                .all(|(&j, block)| {
                    (0..b).all(|c| block[i * b + c] == 0.0 || (j as usize == node && c == i))
                });
            if alone {
                vectors[(node * b + i) * k..][..k].fill(0.0);
            }
        }
    }
}

impl<T: Real> Work<T> {
    fn new(levels: &[Level<T>]) -> Work<T> {
        let zeros = |n: usize| vec![T::ZERO; n];
        let vectors = levels.iter().map(|level| {
            let n = level.relaxation.a.rows();
            let coarse = level.transfer.as_ref().map_or(0, |[p, _]| p.cols());
            LevelWork {
                residual: zeros(n),
                step: zeros(n),
                coarse: [zeros(coarse), zeros(coarse)],
            }
        });
        Work {
            levels: vectors.collect(),
            direct: vec![0.0; levels.last().map_or(0, |l| l.relaxation.a.rows())],
        }
    }
}

impl<T: Real> Preconditioner<T> for Amg<T> {
    fn apply(&self, r: &[T], z: &mut [T]) {
        // Waiting could wait for this very thread, if it took up another task while its own was in here.
        let mut fresh;
        let mut held = match self.work.try_lock() {
            Ok(work) => Some(work),
            // Harmless: nothing is kept from one use to the next.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let work = match &mut held {
            Some(work) => &mut **work,
            None => {
                fresh = Work::new(&self.levels);
                &mut fresh
            }
        };
        self.cycle(0, &mut work.levels, &mut work.direct, r, z);
    }

    fn size(&self) -> Option<usize> {
        self.levels.first().map(|l| l.relaxation.a.rows())
    }
}
