//! Solvers of linear systems, and the algebra of conditions on unknowns.
//!
//! - [`Krylov`]: conjugate gradients, MINRES, BiCGSTAB and restarted GMRES over a [`LinearOperator`]
//!   and a [`Preconditioner`];
//! - [`Amg`]: algebraic multigrid as a preconditioner;
//! - `DirectSolver` (feature `direct`): sparse Cholesky, LDLᵀ and LU;
//! - [`BlockSystem`]: systems made of blocks, such as saddle points, with preconditioners from those of the
//!   blocks;
//! - [`Constraints`]: values prescribed on nodes, along any directions;
//! - [`diagnose`]: names what leaves a system singular;
//! - [`SymmetricEigen`]: eigenvalues of small symmetric matrices.
//!
//! Invariant: results have the same bits for any number of threads, and a solver that returns `Ok`
//! has computed the residual |b − A x| from the answer itself, not from a recurrence.

mod blocks;
mod constraints;
mod diagnose;
#[cfg(feature = "direct")]
mod direct;
mod eigen;
mod error;
mod krylov;
mod multigrid;
mod operator;
mod precondition;
mod vector;

pub use blocks::{
    Block, BlockDiagonal, BlockSystem, BlockTriangular, Nullspace, Scaled, schur_by_diagonal,
};
pub use constraints::Constraints;
pub use diagnose::{Singularity, diagnose};
#[cfg(feature = "direct")]
pub use direct::{DirectKind, DirectSolver};
pub use eigen::SymmetricEigen;
pub use error::SolveError;
pub use krylov::{BreakdownKind, Convergence, Krylov, KrylovOptions, Method, StopReason};
pub use multigrid::{Amg, AmgOptions, Smoother, rigid_body_modes};
pub use operator::LinearOperator;
pub use precondition::{BlockJacobi, Identity, Jacobi, Preconditioner};

pub(crate) use error::check_tolerance;
pub(crate) use vector::norm;
