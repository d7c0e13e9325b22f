//! The factorisations themselves, through faer's low-level interface: memory passed in, one thread.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltError;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, IntranodeLbltRef, LltRef, SymbolicCholesky, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::{
    LuRef, LuSymbolicParams, NumericLu, SymbolicLu, factorize_symbolic_lu,
};
use faer::sparse::linalg::{LuError, SupernodalThreshold};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

use super::accuracy::{self, Probe};
use super::scalar::Scalar;
use super::{DirectKind, matching, ordering};
use crate::solve::{SolveError, vector};
use crate::sparse::BlockMatrix;

/// Factors of a matrix.
pub(super) struct Factor {
    scalar: Scalar,
    /// Work space of the factorisation, kept for the next.
    memory: MemBuffer,
    factors: Factors,
    /// Whether `factors` belong to `scalar`.
    valid: bool,
}

enum Factors {
    Llt {
        symbolic: SymbolicCholesky<usize>,
        values: Vec<f64>,
    },
    Lblt {
        symbolic: SymbolicCholesky<usize>,
        values: Vec<f64>,
        pivots: Pivots,
    },
    /// Of the transposed matrix: its columns are the rows at hand.
    Lu {
        symbolic: SymbolicLu<usize>,
        numeric: NumericLu<usize, f64>,
    },
}

/// What Bunch–Kaufman pivoting adds to the factors.
struct Pivots {
    subdiagonal: Vec<f64>,
    forward: Vec<usize>,
    inverse: Vec<usize>,
}

impl fmt::Debug for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factor")
            .field("kind", &self.kind())
            .field("size", &self.scalar.size())
            .finish_non_exhaustive()
    }
}

impl Factor {
    /// Orders and factorises; `kind` isn't `Auto`.
    pub(super) fn new(a: &BlockMatrix, kind: DirectKind) -> Result<Factor, SolveError> {
        let scalar = Scalar::new(a, kind != DirectKind::Lu);
        let (factors, request) = match kind {
            DirectKind::Cholesky | DirectKind::Auto => {
                let symbolic = symbolic_cholesky(a, &scalar, SupernodalThreshold::AUTO)?;
                let request =
                    symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
                let values = zeros(symbolic.len_val(), scalar.size())?;
                (Factors::Llt { symbolic, values }, request)
            }
            DirectKind::Ldlt => {
                // Only supernodes are pivoted.
                let threshold = SupernodalThreshold::FORCE_SUPERNODAL;
                let symbolic = symbolic_cholesky(a, &scalar, threshold)?;
                let request = symbolic
                    .factorize_numeric_intranode_lblt_scratch::<f64>(Par::Seq, Default::default());
                let values = zeros(symbolic.len_val(), scalar.size())?;
                let n = scalar.size();
                let pivots = Pivots {
                    subdiagonal: vec![0.0; n],
                    forward: vec![0; n],
                    inverse: vec![0; n],
                };
                (
                    Factors::Lblt {
                        symbolic,
                        values,
                        pivots,
                    },
                    request,
                )
            }
            DirectKind::Lu => {
                let symbolic = guarded(scalar.size(), || {
                    factorize_symbolic_lu(symbolic_view(&scalar), LuSymbolicParams::default())
                })?
                .map_err(|error| failure(scalar.size(), error))?;
                let request =
                    symbolic.factorize_numeric_lu_scratch::<f64>(Par::Seq, Default::default());
                (
                    Factors::Lu {
                        symbolic,
                        numeric: NumericLu::new(),
                    },
                    request,
                )
            }
        };
        let memory = memory(request, scalar.size())?;
        let mut factor = Factor {
            scalar,
            memory,
            factors,
            valid: false,
        };
        factor.factorise(a.block()[0])?;
        Ok(factor)
    }

    pub(super) fn kind(&self) -> DirectKind {
        match self.factors {
            Factors::Llt { .. } => DirectKind::Cholesky,
            Factors::Lblt { .. } => DirectKind::Ldlt,
            Factors::Lu { .. } => DirectKind::Lu,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.factors {
            Factors::Llt { values, .. } | Factors::Lblt { values, .. } => {
                values.len() * size_of::<f64>()
            }
            Factors::Lu { .. } => 0,
        }
    }

    /// Factorises new values on the old symbolic factorisation; false if that doesn't do.
    pub(super) fn refactor(&mut self, a: &BlockMatrix) -> Result<bool, SolveError> {
        self.valid = false;
        if !self.scalar.update(a) {
            return Ok(false);
        }
        match self.factorise(a.block()[0]) {
            Ok(()) => Ok(true),
            Err(SolveError::NotPositive { .. } | SolveError::Singular { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes solves fail until the next factorisation.
    pub(super) fn invalidate(&mut self) {
        self.valid = false;
    }

    /// Numeric factorisation of `scalar`; `block` serves to name a row.
    fn factorise(&mut self, block: usize) -> Result<(), SolveError> {
        let n = self.scalar.size();
        if n == 0 {
            self.valid = true;
            return Ok(());
        }
        let view = SparseColMatRef::new(symbolic_view(&self.scalar), self.scalar.values.as_slice());
        let stack = MemStack::new(&mut self.memory);
        match &mut self.factors {
            Factors::Llt { symbolic, values } => {
                let result = guarded(n, || {
                    symbolic
                        .factorize_numeric_llt(
                            values,
                            view,
                            Side::Lower,
                            Default::default(),
                            Par::Seq,
                            stack,
                            Default::default(),
                        )
                        .map(|_| ())
                })?;
                result.map_err(
                    |LltError::NonPositivePivot { index }| SolveError::NotPositive { pivot: index },
                )?;
            }
            Factors::Lblt {
                symbolic,
                values,
                pivots,
            } => {
                guarded(n, || {
                    symbolic.factorize_numeric_intranode_lblt(
                        values,
                        &mut pivots.subdiagonal,
                        &mut pivots.forward,
                        &mut pivots.inverse,
                        view,
                        Side::Lower,
                        Par::Seq,
                        stack,
                        Default::default(),
                    );
                })?;
            }
            Factors::Lu { symbolic, numeric } => {
                if let Some(row) = matching::unmatched_row(&self.scalar) {
                    let (node, component) = (row / block, row % block);
                    let reason = format!(
                        "whatever its values, the row of node {node}, component {component}, \
                         depends on others (no pivot is left for it)"
                    );
                    return Err(SolveError::Singular { reason });
                }
                let result = guarded(n, || {
                    symbolic
                        .factorize_numeric_lu(numeric, view, Par::Seq, stack, Default::default())
                        .map(|_| ())
                });
                let result = result.inspect_err(|_| *numeric = NumericLu::new())?;
                result.map_err(|error| match error {
                    LuError::SymbolicSingular { index } => SolveError::Singular {
                        reason: format!("no pivot is left at step {index}"),
                    },
                    LuError::Generic(error) => failure(n, error),
                })?;
            }
        }
        self.valid = true;
        Ok(())
    }

    /// Memory that one solve needs.
    pub(super) fn solve_memory(&self) -> Result<MemBuffer, SolveError> {
        let request = match &self.factors {
            Factors::Llt { symbolic, .. } | Factors::Lblt { symbolic, .. } => {
                symbolic.solve_in_place_scratch::<f64>(1, Par::Seq)
            }
            Factors::Lu { symbolic, .. } => {
                symbolic.solve_transpose_in_place_scratch::<f64>(1, Par::Seq)
            }
        };
        memory(request, self.scalar.size())
    }

    /// x ← A⁻¹ x.
    fn solve_in_place(&self, x: &mut [f64], memory: &mut MemBuffer) {
        let n = x.len();
        if n == 0 {
            return;
        }
        let x = MatMut::from_column_major_slice_mut(x, n, 1);
        let stack = MemStack::new(memory);
        match &self.factors {
            Factors::Llt { symbolic, values } => {
                let factors = LltRef::new(symbolic, values);
                factors.solve_in_place_with_conj(Conj::No, x, Par::Seq, stack);
            }
            Factors::Lblt {
                symbolic,
                values,
                pivots,
            } => {
                let order = PermRef::new_checked(&pivots.forward, &pivots.inverse, n);
                let factors = IntranodeLbltRef::new(symbolic, values, &pivots.subdiagonal, order);
                factors.solve_in_place_with_conj(Conj::No, x, Par::Seq, stack);
            }
            Factors::Lu { symbolic, numeric } => {
                let factors = LuRef::new_unchecked(symbolic, numeric);
                factors.solve_transpose_in_place_with_conj(Conj::No, x, Par::Seq, stack);
            }
        }
    }

    /// Solves A x = b with one step of refinement; leaves b − A x in `residual` and returns its norm.
    pub(super) fn solve_refined(
        &self,
        a: &BlockMatrix,
        b: &[f64],
        x: &mut [f64],
        residual: &mut [f64],
        correction: &mut [f64],
        memory: &mut MemBuffer,
    ) -> Result<f64, SolveError> {
        if !self.valid {
            let reason = "the last factorisation failed".to_string();
            return Err(SolveError::Factorisation {
                size: x.len(),
                reason,
            });
        }
        x.copy_from_slice(b);
        self.solve_in_place(x, memory);
        let first = residual_of(a, b, x, residual)?;
        if first == 0.0 || !first.is_finite() {
            return Ok(first);
        }
        correction.copy_from_slice(residual);
        self.solve_in_place(correction, memory);
        vector::axpy(1.0, correction, x);
        let second = residual_of(a, b, x, residual)?;
        if second <= first {
            return Ok(second);
        }
        vector::axpy(-1.0, correction, x);
        residual_of(a, b, x, residual)
    }

    /// Solves the probe system.
    ///
    /// # Errors
    /// `Singular` if the solution is stable and huge, `Factorisation` if it isn't finite, `Inaccurate` if
    /// the factors are wrong otherwise.
    pub(super) fn check(&self, a: &BlockMatrix, probe: &Probe) -> Result<(), SolveError> {
        let b = &probe.rhs;
        let n = b.len();
        let [mut x, mut residual, mut correction] = [(); 3].map(|()| vec![0.0; n]);
        let mut memory = self.solve_memory()?;
        let norm = self.solve_refined(a, b, &mut x, &mut residual, &mut correction, &mut memory)?;
        let error = accuracy::backward_error(a, b, &x, &residual);
        let growth = accuracy::growth(a, b, &x);
        let broken = !norm.is_finite() || error > accuracy::PROBE_LIMIT;
        // LU pivots for stability, so only a singular matrix breaks it.
        if growth > accuracy::GROWTH_LIMIT && (!broken || self.kind() == DirectKind::Lu) {
            let reason = format!(
                "its condition is beyond double precision (a solution of size 1 grows to {growth:.1e})"
            );
            return Err(SolveError::Singular { reason });
        }
        if !norm.is_finite() {
            let reason = format!(
                "{} met a zero pivot that it can't exchange: the matrix is singular, or LU must do",
                self.kind()
            );
            return Err(SolveError::Factorisation { size: n, reason });
        }
        if broken {
            let residual = norm / vector::norm(b);
            return Err(SolveError::Inaccurate {
                residual,
                limit: super::RESIDUAL_LIMIT,
            });
        }
        Ok(())
    }
}

fn residual_of(a: &BlockMatrix, b: &[f64], x: &[f64], r: &mut [f64]) -> Result<f64, SolveError> {
    a.multiply(x, r)?;
    vector::residual_from_product(b, r);
    Ok(vector::norm(r))
}

fn symbolic_view(scalar: &Scalar) -> SymbolicSparseColMatRef<'_, usize> {
    let n = scalar.size();
    SymbolicSparseColMatRef::new_checked(n, n, &scalar.offsets, None, &scalar.columns)
}

fn symbolic_cholesky(
    a: &BlockMatrix,
    scalar: &Scalar,
    threshold: SupernodalThreshold,
) -> Result<SymbolicCholesky<usize>, SolveError> {
    let n = scalar.size();
    let forward = ordering::order(a);
    let inverse: Option<Vec<usize>> = forward.as_ref().map(|forward| {
        let mut inverse = vec![0; n];
        for (new, &old) in forward.iter().enumerate() {
            inverse[old] = new;
        }
        inverse
    });
    let order = match (&forward, &inverse) {
        (Some(forward), Some(inverse)) => {
            SymmetricOrdering::Custom(PermRef::new_checked(forward, inverse, n))
        }
        _ => SymmetricOrdering::Amd,
    };
    let params = CholeskySymbolicParams {
        supernodal_flop_ratio_threshold: threshold,
        ..Default::default()
    };
    guarded(n, || {
        factorize_symbolic_cholesky(symbolic_view(scalar), Side::Lower, order, params)
    })?
    .map_err(|error| failure(n, error))
}

fn failure(size: usize, error: impl fmt::Display) -> SolveError {
    SolveError::Factorisation {
        size,
        reason: error.to_string(),
    }
}

fn memory(request: StackReq, size: usize) -> Result<MemBuffer, SolveError> {
    MemBuffer::try_new(request).map_err(|_| {
        failure(
            size,
            format!("{} bytes of memory aren't there", request.size_bytes()),
        )
    })
}

fn zeros(count: usize, size: usize) -> Result<Vec<f64>, SolveError> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| {
        failure(
            size,
            format!("the factors need {} bytes", count.saturating_mul(8)),
        )
    })?;
    values.resize(count, 0.0);
    Ok(values)
}

/// Runs a factorisation; a panic in it (faer-rs #232: LU meets a pivot that is zero) is an error.
fn guarded<T>(size: usize, f: impl FnOnce() -> T) -> Result<T, SolveError> {
    // What the closure writes is thrown away or marked invalid when it panics.
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| SolveError::Singular {
        reason: format!("the factorisation of size {size} met a zero pivot and gave up"),
    })
}
