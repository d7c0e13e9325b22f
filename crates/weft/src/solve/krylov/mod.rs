//! Iterative methods: conjugate gradients, MINRES, BiCGSTAB, restarted GMRES.
//!
//! A method works in cycles. [`Krylov::solve`] computes the true residual, hands it to the method's
//! cycle, and computes it again when the cycle thinks it is done; what it reports is always the true
//! residual. A cycle that ends early (restart, breakdown, drift of the recurrence) is followed by
//! another as long as the residual falls.

mod bicgstab;
mod cg;
mod gmres;
mod minres;
mod report;

pub use report::{BreakdownKind, Convergence, KrylovOptions, Method, StopReason};

use super::error::{SolveError, check_finite, check_size};
use super::operator::LinearOperator;
use super::precondition::Preconditioner;
use super::vector;
use crate::Real;

/// An iterative solver with its work vectors: solving again at the same size allocates nothing.
#[derive(Debug)]
pub struct Krylov<T: Real = f64> {
    method: Method,
    options: KrylovOptions,
    residual: Vec<T>,
    work: Vec<Vec<T>>,
    small: Vec<f64>,
    convergence: Convergence,
}

/// How a cycle ended.
pub(crate) enum End {
    /// The recurrence says the tolerance is reached.
    Target,
    /// The limit on iterations is reached.
    Iterations,
    /// Start again from the present solution.
    Restart,
    /// The space is exhausted: nothing better can be found from this start.
    Exhausted,
    /// It can't go on.
    Failed(StopReason),
}

/// What a cycle sees of the solve it belongs to.
pub(crate) struct Run<'a, T: Real> {
    pub(crate) a: &'a dyn LinearOperator<T>,
    pub(crate) m: &'a dyn Preconditioner<T>,
    pub(crate) target: f64,
    pub(crate) max_iterations: usize,
    pub(crate) restart: usize,
    pub(crate) iterations: usize,
    /// Largest |A M⁻¹ v| over the unit vectors v met so far: the size of the operator.
    pub(crate) size: f64,
    pub(crate) history: &'a mut Vec<f64>,
}

impl<T: Real> Run<'_, T> {
    /// Counts an iteration that left a residual of this norm; tells how to end, if at all.
    pub(crate) fn record(&mut self, residual: f64) -> Option<End> {
        self.iterations += 1;
        self.history.push(residual);
        if residual <= self.target {
            Some(End::Target)
        } else if !residual.is_finite() {
            Some(End::Failed(StopReason::NonFinite {
                iteration: self.iterations,
            }))
        } else if self.iterations >= self.max_iterations {
            Some(End::Iterations)
        } else {
            None
        }
    }

    pub(crate) fn breakdown(&self, kind: BreakdownKind) -> End {
        End::Failed(StopReason::Breakdown {
            iteration: self.iterations + 1,
            kind,
        })
    }
}

impl<T: Real> Krylov<T> {
    /// A solver; work vectors are allocated by the first solve.
    ///
    /// # Errors
    /// If an option is outside its range.
    pub fn new(method: Method, options: KrylovOptions) -> Result<Krylov<T>, SolveError> {
        options.check()?;
        Ok(Krylov {
            method,
            options,
            residual: Vec::new(),
            work: Vec::new(),
            small: Vec::new(),
            convergence: Convergence::default(),
        })
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The options.
    pub fn options(&self) -> &KrylovOptions {
        &self.options
    }

    /// What the last solve reported.
    pub fn convergence(&self) -> &Convergence {
        &self.convergence
    }

    /// Solves A x = b to |b − A x| ≤ max(tolerance · |b|, absolute), starting from the given `x`.
    ///
    /// A zero right-hand side gives x = 0 at once.
    ///
    /// # Errors
    /// [`SolveError::NotConverged`] if the tolerance isn't reached; `x` then holds the last iterate.
    /// Other errors are about wrong sizes or numbers that aren't finite; `x` is then unchanged.
    pub fn solve(
        &mut self,
        a: &dyn LinearOperator<T>,
        m: &dyn Preconditioner<T>,
        b: &[T],
        x: &mut [T],
    ) -> Result<&Convergence, SolveError> {
        let n = a.rows();
        if a.cols() != n {
            return Err(SolveError::NotSquare {
                rows: n,
                cols: a.cols(),
            });
        }
        check_size("the right-hand side", b.len(), n)?;
        check_size("the solution vector", x.len(), n)?;
        if let Some(size) = m.size() {
            check_size("the preconditioner", size, n)?;
        }
        check_finite("the right-hand side", b)?;
        check_finite("the initial guess", x)?;
        if n > INSIDE_POOL {
            // From inside the pool each parallel operation starts in nanoseconds; from outside, every
            // one would wake the pool anew.
            rayon::scope(|_| self.solve_checked(a, m, b, x));
        } else {
            self.solve_checked(a, m, b, x);
        }
        match self.convergence.reason {
            StopReason::Converged | StopReason::ZeroRhs => Ok(&self.convergence),
            _ => Err(SolveError::NotConverged {
                method: self.method,
                convergence: Box::new(self.convergence.clone()),
            }),
        }
    }

    fn solve_checked(
        &mut self,
        a: &dyn LinearOperator<T>,
        m: &dyn Preconditioner<T>,
        b: &[T],
        x: &mut [T],
    ) {
        let n = b.len();
        let max_iterations = self.options.max_iterations.unwrap_or(n.max(1000));
        let restart = self.options.restart.min(n.max(1));
        let (vectors, scalars) = match self.method {
            Method::Cg => (3, 0),
            Method::Minres => (7, 0),
            Method::BiCgStab => (6, 0),
            Method::Gmres => (restart + 2, (restart + 3) * (restart + 1)),
        };
        self.residual.resize(n, T::ZERO);
        self.work.resize_with(vectors, Vec::new);
        for vector in &mut self.work {
            vector.resize(n, T::ZERO);
        }
        self.small.resize(scalars, 0.0);
        let history = &mut self.convergence.history;
        history.clear();
        history.reserve(max_iterations.min(HISTORY_RESERVE));

        let rhs = vector::norm(b);
        let target = (self.options.tolerance * rhs).max(self.options.absolute);
        let (mut residual, reason);
        let mut iterations = 0;
        if rhs == 0.0 {
            x.fill(T::ZERO);
            residual = 0.0;
            history.push(0.0);
            reason = StopReason::ZeroRhs;
        } else {
            let mut run = Run {
                a,
                m,
                target,
                max_iterations,
                restart,
                iterations: 0,
                size: 0.0,
                history,
            };
            let mut previous = f64::INFINITY;
            let mut best = f64::INFINITY;
            let mut slow_cycles = 0;
            let mut pending: Option<StopReason> = None;
            loop {
                a.apply(x, &mut self.residual);
                vector::residual_from_product(b, &mut self.residual);
                residual = vector::norm(&self.residual);
                if run.history.is_empty() {
                    run.history.push(residual);
                }
                if residual <= target {
                    reason = StopReason::Converged;
                    break;
                }
                if residual < T::SMALL {
                    reason = StopReason::Underflow;
                    break;
                }
                if !residual.is_finite() {
                    reason = StopReason::NonFinite {
                        iteration: run.iterations,
                    };
                    break;
                }
                // A cycle that broke down is tried again from its last iterate, if it got anywhere.
                if let Some(failure) = pending.take()
                    && (residual > 0.5 * previous || !failure.may_pass())
                {
                    reason = failure;
                    break;
                }
                if run.iterations >= max_iterations {
                    reason = StopReason::MaxIterations;
                    break;
                }
                if residual <= SLOW * best {
                    best = residual;
                    slow_cycles = 0;
                } else {
                    slow_cycles += 1;
                }
                if slow_cycles == SLOW_CYCLES {
                    reason = StopReason::Stagnated {
                        iteration: run.iterations,
                    };
                    break;
                }
                previous = residual;
                let end = match self.method {
                    Method::Cg => cg::cycle(&mut run, x, &mut self.residual, &mut self.work),
                    Method::Minres => {
                        minres::cycle(&mut run, x, &mut self.residual, &mut self.work)
                    }
                    Method::BiCgStab => {
                        bicgstab::cycle(&mut run, x, &mut self.residual, &mut self.work)
                    }
                    Method::Gmres => {
                        gmres::cycle(&mut run, x, &self.residual, &mut self.work, &mut self.small)
                    }
                };
                match end {
                    End::Target | End::Restart | End::Iterations => {}
                    End::Exhausted => {
                        pending = Some(StopReason::Stagnated {
                            iteration: run.iterations,
                        });
                    }
                    End::Failed(failure) => pending = Some(failure),
                }
            }
            iterations = run.iterations;
        }
        let report = &mut self.convergence;
        report.iterations = iterations;
        report.residual = residual;
        report.relative_residual = if rhs == 0.0 { 0.0 } else { residual / rhs };
        report.target = if rhs == 0.0 { target } else { target / rhs };
        report.reason = reason;
    }
}

/// Above this size a solve moves into the thread pool as a whole.
const INSIDE_POOL: usize = 10_000;
/// Entries reserved for the history; longer ones grow in the first solve.
const HISTORY_RESERVE: usize = 4096;
/// A cycle is slow if it leaves more than this part of the smallest residual before it.
const SLOW: f64 = 0.999;
/// So many slow cycles in a row are stagnation.
const SLOW_CYCLES: usize = 3;
