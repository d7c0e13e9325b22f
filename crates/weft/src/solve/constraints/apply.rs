//! Imposing conditions on matrices, right-hand sides and solutions: in place, without allocation.

use rayon::prelude::*;

use super::Constraints;
use crate::Real;
use crate::solve::SolveError;
use crate::solve::error::check_size;
use crate::sparse::BlockMatrix;

impl Constraints {
    fn check_matrix<T: Real>(&self, a: &BlockMatrix<T>) -> Result<(), SolveError> {
        if a.rows() != a.cols() || a.block()[0] != a.block()[1] {
            return Err(SolveError::NotSquare {
                rows: a.rows(),
                cols: a.cols(),
            });
        }
        check_size("the block of the matrix", a.block()[0], self.block)?;
        check_size(
            "the matrix, in nodes,",
            a.pattern().rows(),
            self.slots.len(),
        )
    }

    fn check_vector<T: Real>(&self, what: &'static str, v: &[T]) -> Result<(), SolveError> {
        check_size(what, v.len(), self.slots.len() * self.block)
    }

    /// The scale s: the mean of the nonzero absolute diagonal entries of `a`, or 1 if there is none.
    ///
    /// # Errors
    /// If the matrix doesn't fit the nodes.
    pub fn scale<T: Real>(&self, a: &BlockMatrix<T>) -> Result<f64, SolveError> {
        self.check_matrix(a)?;
        let b = self.block;
        let (mut sum, mut count) = (0.0, 0usize);
        for node in 0..self.slots.len() {
            if let Some(block) = a.get(node, node) {
                for i in 0..b {
                    let d = block[i * b + i].widen().abs();
                    if d > 0.0 {
                        sum += d;
                        count += 1;
                    }
                }
            }
        }
        let mean = sum / count as f64;
        Ok(if mean.is_finite() && mean > 0.0 {
            mean
        } else {
            1.0
        })
    }

    /// b ← (I−P)(b − A g) + s g, with `a` as it was before [`eliminate`](Self::eliminate).
    ///
    /// # Errors
    /// If the matrix or vector doesn't fit the nodes.
    pub fn lift<T: Real>(&self, a: &BlockMatrix<T>, b: &mut [T]) -> Result<(), SolveError> {
        self.lift_targets(a, b, |_, slot, i| self.targets[slot * self.block + i])
    }

    /// Like [`lift`](Self::lift) for the increment of a Newton step from `u`: the target is g − P u,
    /// so that u + increment satisfies the conditions.
    ///
    /// # Errors
    /// If the matrix or a vector doesn't fit the nodes.
    pub fn lift_increment<T: Real>(
        &self,
        a: &BlockMatrix<T>,
        u: &[T],
        b: &mut [T],
    ) -> Result<(), SolveError> {
        self.check_vector("the state of a Newton step", u)?;
        let n = self.block;
        self.lift_targets(a, b, |node, slot, i| {
            let u = &u[node * n..(node + 1) * n];
            let projected: f64 = self
                .basis(node)
                .map(|q| q[i] * q.iter().zip(u).map(|(q, u)| q * u.widen()).sum::<f64>())
                .sum();
            self.targets[slot * n + i] - projected
        })
    }

    /// b ← (I−P) b: [`lift`](Self::lift) with g = 0.
    ///
    /// # Errors
    /// If the vector doesn't fit the nodes.
    pub fn lift_homogeneous<T: Real>(&self, b: &mut [T]) -> Result<(), SolveError> {
        self.check_vector("the right-hand side", b)?;
        self.each_node(b, |node, b| self.project(node, b));
        Ok(())
    }

    fn lift_targets<T: Real>(
        &self,
        a: &BlockMatrix<T>,
        b: &mut [T],
        target: impl Fn(usize, usize, usize) -> f64 + Sync,
    ) -> Result<(), SolveError> {
        self.check_matrix(a)?;
        self.check_vector("the right-hand side", b)?;
        if self.is_empty() {
            return Ok(());
        }
        let s = self.scale(a)?;
        let n = self.block;
        self.each_node(b, |node, b| {
            let (columns, values) = a.row(node);
            for (&column, block) in columns.iter().zip(values.chunks_exact(n * n)) {
                let column = column as usize;
                let Some(slot) = self.slot(column) else {
                    continue;
                };
                for j in 0..n {
                    let g = target(column, slot, j);
                    for i in 0..n {
                        b[i] = T::round(b[i].widen() - block[i * n + j].widen() * g);
                    }
                }
            }
            if let Some(slot) = self.slot(node) {
                self.project(node, b);
                for (i, b) in b.iter_mut().enumerate() {
                    *b = T::round(b.widen() + s * target(node, slot, i));
                }
            }
        });
        Ok(())
    }

    /// A ← (I−P) A (I−P) + s P.
    ///
    /// # Errors
    /// If the matrix doesn't fit the nodes, or a constrained node has no diagonal block.
    pub fn eliminate<T: Real>(&self, a: &mut BlockMatrix<T>) -> Result<(), SolveError> {
        self.check_matrix(a)?;
        if self.is_empty() {
            return Ok(());
        }
        for node in self.nodes() {
            if a.pattern().position(node, node).is_none() {
                let reason =
                    "the matrix has no diagonal block there; the pattern must hold one for \
                              each constrained node"
                        .to_string();
                return Err(SolveError::Constraint { node, reason });
            }
        }
        let s = self.scale(a)?;
        let n = self.block;
        a.for_each_row_mut(|row, columns, values| {
            for (&column, block) in columns.iter().zip(values.chunks_exact_mut(n * n)) {
                let column = column as usize;
                // Mirrored blocks see mirrored operations: the result is symmetric to the last bit.
                let symmetric = column == row && is_symmetric(n, block);
                if column < row {
                    self.project_columns(column, block);
                    self.project_rows(row, block);
                } else {
                    self.project_rows(row, block);
                    self.project_columns(column, block);
                }
                if symmetric {
                    for i in 0..n {
                        for j in 0..i {
                            block[i * n + j] = block[j * n + i];
                        }
                    }
                }
                if column == row {
                    for q in self.basis(row) {
                        for i in 0..n {
                            for j in 0..n {
                                let entry = &mut block[i * n + j];
                                *entry = T::round(entry.widen() + s * (q[i] * q[j]));
                            }
                        }
                    }
                }
            }
        });
        Ok(())
    }

    /// [`lift`](Self::lift), then [`eliminate`](Self::eliminate).
    ///
    /// # Errors
    /// As these two.
    pub fn apply<T: Real>(&self, a: &mut BlockMatrix<T>, b: &mut [T]) -> Result<(), SolveError> {
        self.lift(a, b)?;
        self.eliminate(a)
    }

    /// x ← (I−P) x + g.
    ///
    /// # Errors
    /// If the vector doesn't fit the nodes.
    pub fn set<T: Real>(&self, x: &mut [T]) -> Result<(), SolveError> {
        self.check_vector("the solution vector", x)?;
        self.each_node(x, |node, x| {
            if let Some(slot) = self.slot(node) {
                self.project(node, x);
                x.iter_mut()
                    .zip(self.slot_target(slot))
                    .for_each(|(x, g)| *x = T::round(x.widen() + g));
            }
        });
        Ok(())
    }

    /// block ← (I−P) block.
    fn project_rows<T: Real>(&self, node: usize, block: &mut [T]) {
        let n = self.block;
        for q in self.basis(node) {
            for j in 0..n {
                let along: f64 = (0..n).map(|i| q[i] * block[i * n + j].widen()).sum();
                for i in 0..n {
                    let entry = &mut block[i * n + j];
                    *entry = T::round(entry.widen() - q[i] * along);
                }
            }
        }
    }

    /// block ← block (I−P).
    fn project_columns<T: Real>(&self, node: usize, block: &mut [T]) {
        let n = self.block;
        for q in self.basis(node) {
            for row in block.chunks_exact_mut(n) {
                let along: f64 = (0..n).map(|j| q[j] * row[j].widen()).sum();
                for j in 0..n {
                    row[j] = T::round(row[j].widen() - q[j] * along);
                }
            }
        }
    }

    /// Calls `f(node, its entries of v)` for every node, in parallel when there are many.
    fn each_node<T: Real>(&self, v: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
        const TASK_NODES: usize = 4096;
        let b = self.block;
        if b == 0 {
            return;
        }
        if self.slots.len() <= TASK_NODES {
            v.chunks_exact_mut(b)
                .enumerate()
                .for_each(|(node, v)| f(node, v));
            return;
        }
        v.par_chunks_mut(TASK_NODES * b)
            .enumerate()
            .for_each(|(task, v)| {
                for (k, v) in v.chunks_exact_mut(b).enumerate() {
                    f(task * TASK_NODES + k, v);
                }
            });
    }
}

fn is_symmetric<T: Real>(n: usize, block: &[T]) -> bool {
    (0..n).all(|i| (0..i).all(|j| block[i * n + j] == block[j * n + i]))
}
