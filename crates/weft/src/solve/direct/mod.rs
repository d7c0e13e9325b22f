//! Sparse direct solvers: Cholesky, LDLᵀ and LU (faer), ordered by nested dissection (feral-metis).
//!
//! - [`DirectSolver`]: factorises, factorises again on the same pattern, solves;
//! - [`DirectKind`]: which factorisation; `Auto` tries what the matrix allows, fastest first.
//!
//! The ordering works on the graph of blocks, so the unknowns of a node stay together. Exact zeros are
//! dropped. Every factorisation runs in one thread: faer's parallel products have been wrong before
//! (faer-rs #273), and results must not depend on the number of threads. Invariant: a solver that exists
//! has solved a probe right-hand side to rounding.

mod accuracy;
mod factor;
mod matching;
mod ordering;
mod scalar;

use std::fmt;
use std::sync::Mutex;

use faer::dyn_stack::MemBuffer;

use super::error::{SolveError, check_finite, check_size};
use super::operator::LinearOperator;
use super::precondition::Preconditioner;
use super::vector;
use crate::sparse::BlockMatrix;
use accuracy::Probe;
use factor::Factor;

/// A factorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectKind {
    /// Symmetric: Cholesky; if it isn't positive definite, LDLᵀ; if that is unstable, LU.
    /// Unsymmetric: LU.
    Auto,
    /// LLᵀ of a symmetric positive definite matrix.
    Cholesky,
    /// LDLᵀ of a symmetric matrix, with Bunch–Kaufman pivots inside supernodes.
    Ldlt,
    /// LU with partial pivoting of any square matrix. Its columns are ordered by COLAMD, so it takes much
    /// longer than the others on large three-dimensional meshes: prefer GMRES or BiCGSTAB there. (Nested
    /// dissection of the columns was tried: 2.5 times slower on a 30³ Laplacian.)
    Lu,
}

impl fmt::Display for DirectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DirectKind::Auto => "Auto",
            DirectKind::Cholesky => "Cholesky",
            DirectKind::Ldlt => "LDLᵀ",
            DirectKind::Lu => "LU",
        })
    }
}

/// Largest |a_ij − a_ji| / max |a| of a matrix that counts as symmetric.
const SYMMETRIC: f64 = 1e-12;
/// Largest relative residual of a solution.
const RESIDUAL_LIMIT: f64 = 1e-8;
/// A residual above the limit still passes if it is this small against |A| |x| + |b|, row by row: then
/// no algorithm in double precision does better.
const BACKWARD_LIMIT: f64 = 1e-12;

/// A factorised matrix.
#[derive(Debug)]
pub struct DirectSolver {
    requested: DirectKind,
    matrix: BlockMatrix,
    factor: Factor,
    /// Work space of solves that have ended, for those to come.
    spaces: Mutex<Vec<Workspace>>,
}

/// Memory of one solve.
struct Workspace {
    memory: MemBuffer,
    residual: Vec<f64>,
    correction: Vec<f64>,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("size", &self.residual.len())
            .finish_non_exhaustive()
    }
}

impl DirectSolver {
    /// Factorises `a`, and solves a probe system to see whether the factors are right.
    ///
    /// # Errors
    /// If `a` isn't square, holds numbers that aren't finite, is singular to working precision, or
    /// isn't symmetric (positive definite) though `kind` needs it.
    pub fn new(a: &BlockMatrix, kind: DirectKind) -> Result<DirectSolver, SolveError> {
        let factor = factorise(a, kind)?;
        Ok(DirectSolver {
            requested: kind,
            matrix: a.clone(),
            factor,
            spaces: Mutex::new(Vec::new()),
        })
    }

    /// Factorises another matrix of the same pattern. The ordering and the symbolic factorisation are
    /// kept, unless an entry that was zero no longer is or the kind of factorisation must change.
    ///
    /// # Errors
    /// As [`DirectSolver::new`], and if the pattern or block size differs. After an error other than
    /// that the solver still holds the old matrix but refuses to solve until a `refactor` succeeds.
    pub fn refactor(&mut self, a: &BlockMatrix) -> Result<(), SolveError> {
        let same = std::sync::Arc::ptr_eq(a.pattern(), self.matrix.pattern())
            || **a.pattern() == **self.matrix.pattern();
        if !same || a.block() != self.matrix.block() {
            return Err(SolveError::PatternChanged);
        }
        check_finite("the matrix", a.values())?;
        let symmetric = a.is_symmetric(SYMMETRIC);
        let again = match (self.requested, self.factor.kind()) {
            (DirectKind::Auto, DirectKind::Lu) => !symmetric,
            (DirectKind::Auto, _) => symmetric,
            (DirectKind::Lu, _) => true,
            _ => symmetric,
        };
        let probe = Probe::new(a).inspect_err(|_| self.factor.invalidate())?;
        if again && self.factor.refactor(a)? {
            match self.factor.check(a, &probe) {
                Ok(()) => {
                    self.matrix.values_mut().copy_from_slice(a.values());
                    return Ok(());
                }
                Err(error) if self.requested != DirectKind::Auto => {
                    self.factor.invalidate();
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        self.factor.invalidate();
        self.factor = factorise(a, self.requested)?;
        // Other factors need work space of another size.
        self.lock().clear();
        self.matrix.values_mut().copy_from_slice(a.values());
        Ok(())
    }

    /// The factorisation in use: never `Auto`.
    pub fn kind(&self) -> DirectKind {
        self.factor.kind()
    }

    /// Number of unknowns.
    pub fn size(&self) -> usize {
        self.matrix.rows()
    }

    /// Bytes held by the factors (LU: 0, unknown).
    pub fn factor_bytes(&self) -> usize {
        self.factor.bytes()
    }

    /// Solves A x = b with one step of iterative refinement; returns |b − A x| / |b| (0 if b = 0).
    ///
    /// After the first solve nothing is allocated, unless several threads solve at once.
    ///
    /// # Errors
    /// If a vector has the wrong size, `b` has an entry that isn't finite, or the residual exceeds 1e-8
    /// without being at rounding level.
    pub fn solve(&self, b: &[f64], x: &mut [f64]) -> Result<f64, SolveError> {
        let n = self.size();
        check_size("the right-hand side", b.len(), n)?;
        check_size("the solution vector", x.len(), n)?;
        check_finite("the right-hand side", b)?;
        let mut space = match self.lock().pop() {
            Some(space) => space,
            None => Workspace {
                memory: self.factor.solve_memory()?,
                residual: vec![0.0; n],
                correction: vec![0.0; n],
            },
        };
        let result = self.solve_with(b, x, &mut space);
        self.lock().push(space);
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Workspace>> {
        // A poisoned lock is harmless: work spaces hold nothing between solves.
        self.spaces
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn solve_with(
        &self,
        b: &[f64],
        x: &mut [f64],
        space: &mut Workspace,
    ) -> Result<f64, SolveError> {
        let Workspace {
            memory,
            residual,
            correction,
        } = space;
        let rhs = vector::norm(b);
        if rhs == 0.0 {
            x.fill(0.0);
            return Ok(0.0);
        }
        let remaining =
            self.factor
                .solve_refined(&self.matrix, b, x, residual, correction, memory)?;
        let relative = remaining / rhs;
        if relative.is_nan() {
            let reason = "its solution isn't finite".to_string();
            return Err(SolveError::Singular { reason });
        }
        if relative > RESIDUAL_LIMIT
            && accuracy::backward_error(&self.matrix, b, x, residual) > BACKWARD_LIMIT
        {
            return Err(SolveError::Inaccurate {
                residual: relative,
                limit: RESIDUAL_LIMIT,
            });
        }
        Ok(relative)
    }
}

/// Factorises and checks, whichever way `kind` says.
fn factorise(a: &BlockMatrix, kind: DirectKind) -> Result<Factor, SolveError> {
    let [r, c] = a.block();
    if r != c || a.rows() != a.cols() {
        return Err(SolveError::NotSquare {
            rows: a.rows(),
            cols: a.cols(),
        });
    }
    check_finite("the matrix", a.values())?;
    let probe = Probe::new(a)?;
    let symmetric = a.is_symmetric(SYMMETRIC);
    let checked = |kind| {
        let factor = Factor::new(a, kind)?;
        factor.check(a, &probe)?;
        Ok(factor)
    };
    match kind {
        DirectKind::Cholesky | DirectKind::Ldlt if !symmetric => {
            let kind = if kind == DirectKind::Ldlt {
                "LDLᵀ"
            } else {
                "Cholesky"
            };
            Err(SolveError::NotSymmetric { kind })
        }
        DirectKind::Auto if symmetric => match checked(DirectKind::Cholesky) {
            Err(SolveError::NotPositive { .. }) => match checked(DirectKind::Ldlt) {
                // Pivots outside a supernode are out of reach of LDLᵀ, but not of LU.
                Err(SolveError::Inaccurate { .. } | SolveError::Factorisation { .. }) => {
                    checked(DirectKind::Lu)
                }
                result => result,
            },
            result => result,
        },
        DirectKind::Auto => checked(DirectKind::Lu),
        kind => checked(kind),
    }
}

/// A direct solver is the inverse as an operator: handy in products of operators.
impl LinearOperator for DirectSolver {
    fn rows(&self) -> usize {
        self.size()
    }

    fn cols(&self) -> usize {
        self.size()
    }

    /// y = A⁻¹ x; NaN where the solve fails.
    fn apply(&self, x: &[f64], y: &mut [f64]) {
        if self.solve(x, y).is_err() {
            y.fill(f64::NAN);
        }
    }
}

/// And as a preconditioner: for a block of a larger system, or a matrix near the one at hand.
impl Preconditioner for DirectSolver {
    /// z = A⁻¹ r; NaN where the solve fails.
    fn apply(&self, r: &[f64], z: &mut [f64]) {
        LinearOperator::apply(self, r, z);
    }

    fn size(&self) -> Option<usize> {
        Some(DirectSolver::size(self))
    }
}
