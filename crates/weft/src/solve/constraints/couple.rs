//! Conditions from assembled forms, as matrices, and on blocks that couple two spaces.

use std::sync::Arc;

use super::super::error::{check_finite, check_size};
use super::Constraints;
use crate::Real;
use crate::solve::SolveError;
use crate::sparse::{BlockMatrix, Pattern};

/// Part of the trace of a node's diagonal block up to which the sum of its row counts as none.
const NO_WEIGHT: f64 = 1e-6;
/// Diagonal entries up to this part of the largest are squares of rounding errors: shape functions that vanish
/// on the boundary.
const ROUNDING: f64 = 1e-24;

impl Constraints {
    /// Conditions P x = g from a boundary form and its right-hand side: ∫ u·v and ∫ g·v prescribe all of
    /// g, ∫ (u·n)(v·n) and ∫ g (v·n) the component along the normal.
    ///
    /// Each block row of `p` is summed up to the matrix of its node, which is its diagonal block if the form
    /// was assembled with points at the nodes only; else the value prescribed is the mean of g that the form
    /// weights. Directions with an eigenvalue up to 1e-6 of the trace are left free, so nodes inside the domain,
    /// whose rows are zero, are free altogether.
    ///
    /// # Errors
    /// If `p` isn't square with square blocks or `g` has another length, an entry isn't finite, or the matrix of a
    /// node has a negative eigenvalue or vanishes though its diagonal block doesn't: quadratic shape functions at
    /// the corners of triangles have no mean, so such forms need points at the nodes.
    pub fn from_forms(p: &BlockMatrix, g: &[f64]) -> Result<Constraints, SolveError> {
        let b = p.block()[0];
        if p.rows() != p.cols() || p.block()[1] != b {
            return Err(SolveError::NotSquare {
                rows: p.rows(),
                cols: p.cols(),
            });
        }
        check_size("the right-hand side of the conditions", g.len(), p.rows())?;
        check_finite("the matrix of the conditions", p.values())?;
        check_finite("the right-hand side of the conditions", g)?;
        let mut constraints = Constraints::empty(p.pattern().rows(), b);
        let mut sum = vec![0.0; b * b];
        let trace = |m: &[f64]| (0..b).map(|i| m[i * b + i]).sum::<f64>();
        let size = |m: &[f64]| (0..b).map(|i| m[i * b + i].abs()).sum::<f64>();
        let rounding = ROUNDING * p.max_abs();
        for node in 0..constraints.node_count() {
            let diagonal = p.get(node, node).map_or(0.0, size);
            if diagonal <= rounding {
                continue;
            }
            sum.fill(0.0);
            let (_, values) = p.row(node);
            for block in values.chunks_exact((b * b).max(1)) {
                sum.iter_mut().zip(block).for_each(|(s, v)| *s += v);
            }
            if trace(&sum) < NO_WEIGHT * diagonal {
                let reason =
                    "the form gives it no positive weight; assemble it with points at the \
                              nodes only, or prescribe the node itself"
                        .to_owned();
                return Err(SolveError::Constraint { node, reason });
            }
            constraints.constrain_form(node, &sum, &g[node * b..(node + 1) * b])?;
        }
        Ok(constraints)
    }

    /// The projector P of all nodes as a block-diagonal matrix: P² = P = Pᵀ.
    ///
    /// # Errors
    /// If there are more nodes than the index type counts.
    pub fn projector_matrix(&self) -> Result<BlockMatrix, SolveError> {
        let pattern = Arc::new(Pattern::diagonal(self.node_count())?);
        let mut matrix = BlockMatrix::zeros(pattern, [self.block, self.block]);
        let b = self.block;
        matrix.for_each_row_mut(|node, _, values| {
            for q in self.basis(node) {
                for i in 0..b {
                    for j in 0..b {
                        values[i * b + j] += q[i] * q[j];
                    }
                }
            }
        });
        Ok(matrix)
    }

    /// The targets g of all nodes; zero at free ones.
    pub fn targets(&self) -> Vec<f64> {
        let mut targets = vec![0.0; self.node_count() * self.block];
        for (node, out) in targets.chunks_exact_mut(self.block.max(1)).enumerate() {
            if let Some(g) = self.target(node) {
                out.copy_from_slice(g);
            }
        }
        targets
    }

    /// Demands that the columns of `a` are these nodes.
    fn check_columns<T: Real>(&self, a: &BlockMatrix<T>) -> Result<(), SolveError> {
        let (nodes, block) = (a.pattern().cols(), a.block()[1]);
        check_size(
            "the columns of the matrix, in nodes,",
            nodes,
            self.node_count(),
        )?;
        check_size("the columns of a block of the matrix", block, self.block)
    }

    /// b ← b − A g for a block A whose columns are these nodes, such as the divergence of a velocity that is
    /// prescribed here. To be done before [`eliminate_columns`](Self::eliminate_columns). Allocates a vector of targets.
    ///
    /// # Errors
    /// If the matrix or vector doesn't fit.
    pub fn lift_columns<T: Real>(&self, a: &BlockMatrix<T>, b: &mut [T]) -> Result<(), SolveError> {
        self.check_columns(a)?;
        let targets: Vec<T> = self.targets().into_iter().map(T::round).collect();
        a.multiply_add(-1.0, &targets, 1.0, b)?;
        Ok(())
    }

    /// A ← A (I−P) for a block whose columns are these nodes.
    ///
    /// # Errors
    /// If the matrix doesn't fit the nodes.
    pub fn eliminate_columns<T: Real>(&self, a: &mut BlockMatrix<T>) -> Result<(), SolveError> {
        self.check_columns(a)?;
        let size = a.block()[0] * a.block()[1];
        if self.is_empty() || size == 0 {
            return Ok(());
        }
        a.for_each_row_mut(|_, columns, values| {
            for (&column, block) in columns.iter().zip(values.chunks_exact_mut(size)) {
                for row in block.chunks_exact_mut(self.block) {
                    self.project(column as usize, row);
                }
            }
        });
        Ok(())
    }

    /// A ← (I−P) A for a block whose rows are these nodes.
    ///
    /// # Errors
    /// If the matrix doesn't fit the nodes.
    pub fn eliminate_rows<T: Real>(&self, a: &mut BlockMatrix<T>) -> Result<(), SolveError> {
        check_size(
            "the rows of the matrix, in nodes,",
            a.pattern().rows(),
            self.node_count(),
        )?;
        check_size(
            "the rows of a block of the matrix",
            a.block()[0],
            self.block,
        )?;
        let [b, c] = a.block();
        if self.is_empty() || b * c == 0 {
            return Ok(());
        }
        a.for_each_row_mut(|node, _, values| {
            for q in self.basis(node) {
                for block in values.chunks_exact_mut(b * c) {
                    for j in 0..c {
                        let along: f64 = (0..b).map(|i| q[i] * block[i * c + j].widen()).sum();
                        for i in 0..b {
                            let entry = &mut block[i * c + j];
                            *entry = T::round(entry.widen() - q[i] * along);
                        }
                    }
                }
            }
        });
        Ok(())
    }
}
