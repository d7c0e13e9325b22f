//! Choice of linear solver, and the state it keeps between solves.

use super::ProblemError;
use crate::solve::{
    Amg, AmgOptions, BlockJacobi, Identity, Jacobi, Krylov, KrylovOptions, Method, Preconditioner,
    SolveError,
};
#[cfg(feature = "direct")]
use crate::solve::{DirectKind, DirectSolver};
use crate::sparse::BlockMatrix;

/// Preconditioners of the iterative methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreconditionerKind {
    /// None.
    Identity,
    /// Inverse diagonal.
    Jacobi,
    /// Inverses of the diagonal blocks of the nodes.
    BlockJacobi,
    /// Algebraic multigrid with constants as near-null vectors, for symmetric positive definite problems. Set up
    /// anew for every matrix.
    Amg,
}

/// How to solve linear systems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Solver {
    /// Sparse factorisation.
    #[cfg(feature = "direct")]
    Direct(DirectKind),
    /// An iterative method.
    Krylov {
        /// The method.
        method: Method,
        /// The preconditioner.
        preconditioner: PreconditionerKind,
        /// Tolerances and limits.
        options: KrylovOptions,
    },
}

impl Default for Solver {
    /// A direct solver if there is one, else conjugate gradients with block-Jacobi.
    fn default() -> Solver {
        #[cfg(feature = "direct")]
        return Solver::Direct(DirectKind::Auto);
        #[cfg(not(feature = "direct"))]
        return Solver::cg();
    }
}

impl Solver {
    /// Conjugate gradients with block-Jacobi and default tolerances.
    pub fn cg() -> Solver {
        Solver::Krylov {
            method: Method::Cg,
            preconditioner: PreconditionerKind::BlockJacobi,
            options: KrylovOptions::default(),
        }
    }
}

/// What a solve took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Iterations of an iterative method; 1 for a direct one.
    pub iterations: usize,
    /// |b − A x| / |b|.
    pub relative_residual: f64,
}

enum Scaling {
    Identity,
    Jacobi(Jacobi),
    BlockJacobi(BlockJacobi),
    Amg(Box<Amg>),
}

/// Factorisation or work vectors, kept between solves.
enum State {
    Unset,
    #[cfg(feature = "direct")]
    Direct(Box<DirectSolver>),
    Krylov(Box<(Krylov, Scaling)>),
}

pub(super) struct System {
    solver: Solver,
    state: State,
}

impl System {
    pub fn new(solver: Solver) -> System {
        System {
            solver,
            state: State::Unset,
        }
    }

    /// Take in a matrix: factorise it or set up the preconditioner.
    pub fn prepare(&mut self, matrix: &BlockMatrix) -> Result<(), SolveError> {
        match (&mut self.state, self.solver) {
            #[cfg(feature = "direct")]
            (State::Direct(solver), _) => solver.refactor(matrix),
            #[cfg(feature = "direct")]
            (_, Solver::Direct(kind)) => {
                self.state = State::Direct(Box::new(DirectSolver::new(matrix, kind)?));
                Ok(())
            }
            (State::Krylov(state), _) => match &mut state.1 {
                Scaling::Identity => Ok(()),
                Scaling::Jacobi(m) => m.update(matrix),
                Scaling::BlockJacobi(m) => m.update(matrix),
                Scaling::Amg(m) => {
                    **m = Amg::new(matrix, AmgOptions::default())?;
                    Ok(())
                }
            },
            (
                _,
                Solver::Krylov {
                    method,
                    preconditioner,
                    options,
                },
            ) => {
                let scaling = match preconditioner {
                    PreconditionerKind::Identity => Scaling::Identity,
                    PreconditionerKind::Jacobi => Scaling::Jacobi(Jacobi::new(matrix)?),
                    PreconditionerKind::BlockJacobi => {
                        Scaling::BlockJacobi(BlockJacobi::new(matrix)?)
                    }
                    PreconditionerKind::Amg => {
                        Scaling::Amg(Box::new(Amg::new(matrix, AmgOptions::default())?))
                    }
                };
                self.state = State::Krylov(Box::new((Krylov::new(method, options)?, scaling)));
                Ok(())
            }
        }
    }

    /// Solve with the matrix given to `prepare`; iterative methods start from `x`.
    pub fn solve(
        &mut self,
        matrix: &BlockMatrix,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<SolveReport, ProblemError> {
        match &mut self.state {
            State::Unset => Err(ProblemError::Mismatch(
                "solve called before prepare".to_owned(),
            )),
            #[cfg(feature = "direct")]
            State::Direct(solver) => {
                let relative_residual = solver.solve(b, x)?;
                Ok(SolveReport {
                    iterations: 1,
                    relative_residual,
                })
            }
            State::Krylov(state) => {
                let (krylov, scaling) = &mut **state;
                let m: &dyn Preconditioner = match scaling {
                    Scaling::Identity => &Identity,
                    Scaling::Jacobi(m) => m,
                    Scaling::BlockJacobi(m) => m,
                    Scaling::Amg(m) => &**m,
                };
                let done = krylov.solve(matrix, m, b, x)?;
                Ok(SolveReport {
                    iterations: done.iterations,
                    relative_residual: done.relative_residual,
                })
            }
        }
    }
}
