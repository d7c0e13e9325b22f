//! Fields carried from one adaptive grid to another.

use std::sync::Arc;

use rayon::prelude::*;
use thiserror::Error;

use super::dense::Cholesky;
use crate::assemble::{AssembleError, matrix};
use crate::element::{CellKind, Element, ElementError, Quadrature};
use crate::field::Field;
use crate::form::{DomainKind, Expr, Measure};
use crate::geometry::{AdaptiveVoxelGrid, Geometry, GeometryError, Overlaps};
use crate::solve::{Jacobi, Krylov, KrylovOptions, Method, SolveError};
use crate::space::{Space, SpaceError, ValueKind};

/// Why a field could not be carried over.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The grids do not fit onto each other.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// A cell of the new grid lies, wholly or partly, outside the old one.
    #[error(
        "cell {cell} of the new grid is covered by the old grid to {} % only; it must be covered wholly",
        share * 100.0
    )]
    Gap {
        /// The cell.
        cell: usize,
        /// Part of its volume in cells of the old grid.
        share: f64,
    },
    /// The field or the space is on another geometry.
    #[error("the {what} is not on the {grid} grid of the transfer")]
    OtherGrid {
        /// "field" or "space".
        what: &'static str,
        /// "old" or "new".
        grid: &'static str,
    },
    /// Functions that have values at some points only, and are taken at others.
    #[error("functions of an {0} have values at these points only; a transfer takes others")]
    Points(String),
    /// Field and space have different kinds of values.
    #[error(
        "the field has values of kind {field:?} and the space {space:?}; they must be the same"
    )]
    Value {
        /// Of the field.
        field: ValueKind,
        /// Of the space.
        space: ValueKind,
    },
    /// The product of both bases is beyond the quadrature rules.
    #[error(transparent)]
    Element(#[from] ElementError),
    /// The scalar version of the space.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The mass matrix could not be assembled.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// The mass matrix could not be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

/// The relation between an old grid and a new one that covers no more, on one lattice up to a
/// power of two: what [`AdaptiveVoxelGrid::adapted`] makes, in any number of steps.
#[derive(Clone, Debug)]
pub struct Transfer {
    old: AdaptiveVoxelGrid,
    new: AdaptiveVoxelGrid,
    overlaps: Overlaps,
}

/// A function on the old grid, with values at hanging nodes filled in.
struct Source<'a> {
    space: &'a Space,
    values: Vec<f64>,
}

/// Shape functions at one point, in reused memory.
struct Shape {
    values: Vec<f64>,
    gradients: Vec<[f64; 3]>,
}

impl Shape {
    fn new(element: &Element) -> Shape {
        let n = element.node_count();
        Shape {
            values: vec![0.0; n],
            gradients: vec![[0.0; 3]; n],
        }
    }

    fn at(&mut self, element: &Element, xi: [f64; 3]) -> &[f64] {
        element.evaluate(xi, &mut self.values, &mut self.gradients);
        &self.values
    }
}

impl Source<'_> {
    fn new(field: &Field) -> Source<'_> {
        let mut values = field.values().to_vec();
        field.space().append_hanging(&mut values);
        Source {
            space: field.space(),
            values,
        }
    }

    /// One number for each degree of freedom of a node.
    fn at(&self, cell: u32, xi: [f64; 3], shape: &mut Shape, out: &mut [f64]) {
        out.fill(0.0);
        let per_node = out.len();
        let weights = shape.at(self.space.element(), xi);
        for (&node, weight) in self.space.cell_nodes(cell as usize).iter().zip(weights) {
            let values = &self.values[node as usize * per_node..];
            for (out, value) in out.iter_mut().zip(values) {
                *out += weight * value;
            }
        }
    }
}

impl Transfer {
    /// Relates two grids.
    ///
    /// # Errors
    /// [`TransferError::Geometry`] if their lattices differ by more than a power of two,
    /// [`TransferError::Gap`] if a new cell is not covered.
    pub fn new(
        old: &AdaptiveVoxelGrid,
        new: &AdaptiveVoxelGrid,
    ) -> Result<Transfer, TransferError> {
        let overlaps = new.overlaps(old)?;
        for cell in 0..overlaps.len() {
            // Shares are powers of 1/8: the sum is exact unless levels differ by 17.
            let share: f64 = overlaps.of(cell).iter().map(|o| o.share).sum();
            if share < 1.0 - 1e-12 {
                return Err(TransferError::Gap { cell, share });
            }
        }
        Ok(Transfer {
            old: old.clone(),
            new: new.clone(),
            overlaps,
        })
    }

    /// How the cells of the two grids lie in each other.
    pub fn overlaps(&self) -> &Overlaps {
        &self.overlaps
    }

    fn check(&self, field: &Field, space: &Space) -> Result<(), TransferError> {
        let other = |what, grid| TransferError::OtherGrid { what, grid };
        if field.space().geometry().id() != self.old.id() {
            return Err(other("field", "old"));
        }
        if space.geometry().id() != self.new.id() {
            return Err(other("space", "new"));
        }
        if field.space().element().is_dirac() {
            return Err(TransferError::Points(field.space().element().name()));
        }
        if space.particle_quadrature().is_some() {
            return Err(TransferError::Points(space.element().name()));
        }
        let (field, space) = (field.space().value(), space.value());
        if field != space {
            return Err(TransferError::Value { field, space });
        }
        Ok(())
    }

    /// The function of `space` that has the field's values at the nodes. Where the field jumps,
    /// a node takes the value in the first cell of the new grid, and in it the first old cell,
    /// that holds it.
    ///
    /// A continuous field on a refined grid is so kept exactly, if the degree is not lowered.
    ///
    /// # Errors
    /// If field or space are on other geometries, or have values of different kinds.
    pub fn interpolate(&self, field: &Field, space: &Space) -> Result<Field, TransferError> {
        self.check(field, space)?;
        let per_node = space.components();
        let n = space.nodes_per_cell();
        let mut first = vec![u32::MAX; space.node_count()];
        let mut place = vec![0u32; space.node_count()];
        for cell in 0..self.new.cell_count() {
            for (local, &node) in space.cell_nodes(cell).iter().enumerate().take(n) {
                // Hanging nodes have no value of their own.
                if let Some(slot) = first.get_mut(node as usize)
                    && *slot == u32::MAX
                {
                    *slot = cell as u32;
                    place[node as usize] = local as u32;
                }
            }
        }
        let source = Source::new(field);
        let mut values = vec![0.0; space.dof_count()];
        values
            .par_chunks_exact_mut(per_node)
            .with_min_len(256)
            .enumerate()
            .for_each_init(
                || Shape::new(source.space.element()),
                |shape, (node, out)| {
                    let xi = space.element().nodes()[place[node] as usize];
                    let parts = self.overlaps.of(first[node] as usize);
                    // Dyadic coordinates of cell corners are exact; others need no care.
                    let holds = |xi: [f64; 3]| xi.iter().all(|c| (0.0..=1.0).contains(c));
                    let part = parts.iter().find(|part| holds(part.to_old(xi)));
                    if let Some(part) = part.or(parts.first()) {
                        source.at(part.old, part.to_old(xi), shape, out);
                    }
                },
            );
        let new = Field::zeros(space);
        new.values_mut().copy_from_slice(&values);
        Ok(new)
    }

    /// The function of `space` closest to the field in L². It has the same integral, and the
    /// same moments with all functions of `space`; if these are discontinuous, cell by cell.
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate); if the degrees add up to more than quadrature
    /// rules have; if the mass matrix of a continuous space cannot be solved to 1e-13.
    pub fn project(&self, field: &Field, space: &Space) -> Result<Field, TransferError> {
        self.check(field, space)?;
        if space.element().is_dirac() {
            return Err(TransferError::Points(space.element().name()));
        }
        let degree = field.space().degree() + space.degree();
        let rule = Quadrature::new(CellKind::Hex, degree)?;
        let values = if space.shares_nodes() {
            self.project_continuous(field, space, &rule)?
        } else {
            self.project_cells(field, space, &rule)?
        };
        let new = Field::zeros(space);
        new.values_mut().copy_from_slice(&values);
        Ok(new)
    }

    /// Adds ∫ u φ over a new cell to `out` (nodes × degrees of freedom of a node), as a part of
    /// the cell's volume.
    fn load(
        &self,
        source: &Source,
        space: &Space,
        rule: &Quadrature,
        cell: usize,
        scratch: &mut (Shape, Shape, Vec<f64>),
        out: &mut [f64],
    ) {
        let (old_shape, new_shape, value) = scratch;
        for part in self.overlaps.of(cell) {
            for (&xi, weight) in rule.points().iter().zip(rule.weights()) {
                // The rule belongs to the smaller cell, where both are polynomials.
                let (old_xi, new_xi) = match part.scale <= 1.0 {
                    true => (part.to_old(xi), xi),
                    false => (xi, part.to_new(xi)),
                };
                source.at(part.old, old_xi, old_shape, value);
                let shape = new_shape.at(space.element(), new_xi);
                for (out, phi) in out.chunks_exact_mut(value.len()).zip(shape) {
                    for (out, u) in out.iter_mut().zip(&*value) {
                        *out += part.share * weight * phi * u;
                    }
                }
            }
        }
    }

    fn scratch(&self, source: &Source, space: &Space) -> (Shape, Shape, Vec<f64>) {
        (
            Shape::new(source.space.element()),
            Shape::new(space.element()),
            vec![0.0; space.components()],
        )
    }

    fn project_cells(
        &self,
        field: &Field,
        space: &Space,
        rule: &Quadrature,
    ) -> Result<Vec<f64>, TransferError> {
        let (n, per_node) = (space.nodes_per_cell(), space.components());
        let exact = Quadrature::new(CellKind::Hex, 2 * space.degree())?;
        let table = space.element().tabulate(exact.points());
        let mut mass = vec![0.0; n * n];
        for (q, weight) in exact.weights().iter().enumerate() {
            let phi = &table.values[q * n..(q + 1) * n];
            for i in 0..n {
                for j in 0..=i {
                    mass[i * n + j] += weight * phi[i] * phi[j];
                }
            }
        }
        let mass = Cholesky::new(n, mass);
        let source = Source::new(field);
        // Nodes of a discontinuous space are numbered cell by cell.
        let mut values = vec![0.0; space.dof_count()];
        values
            .par_chunks_exact_mut(n * per_node)
            .with_min_len(64)
            .enumerate()
            .for_each_init(
                || self.scratch(&source, space),
                |scratch, (cell, out)| {
                    self.load(&source, space, rule, cell, scratch, out);
                    for c in 0..per_node {
                        mass.solve(out, c, per_node);
                    }
                },
            );
        Ok(values)
    }

    fn project_continuous(
        &self,
        field: &Field,
        space: &Space,
        rule: &Quadrature,
    ) -> Result<Vec<f64>, TransferError> {
        /// Cells whose loads are held at once.
        const BATCH: usize = 8192;
        let (n, per_node) = (space.nodes_per_cell(), space.components());
        let source = Source::new(field);
        let mut all = vec![0.0; space.all_node_count() * per_node];
        let mut local = vec![0.0; BATCH.min(self.new.cell_count()) * n * per_node];
        for start in (0..self.new.cell_count()).step_by(BATCH) {
            let count = BATCH.min(self.new.cell_count() - start);
            local.fill(0.0);
            local[..count * n * per_node]
                .par_chunks_exact_mut(n * per_node)
                .with_min_len(64)
                .enumerate()
                .for_each_init(
                    || self.scratch(&source, space),
                    |scratch, (i, out)| self.load(&source, space, rule, start + i, scratch, out),
                );
            for (i, loads) in local.chunks_exact(n * per_node).take(count).enumerate() {
                let volume = self.new.cell_volume(start + i);
                let nodes = space.cell_nodes(start + i);
                for (&node, load) in nodes.iter().zip(loads.chunks_exact(per_node)) {
                    for c in 0..per_node {
                        all[node as usize * per_node + c] += volume * load[c];
                    }
                }
            }
        }
        let mut loads = vec![0.0; space.dof_count()];
        space.fold_hanging(&all, &mut loads);

        // Components do not couple: one scalar mass matrix serves them all.
        let scalar = space.with_value(ValueKind::Scalar)?;
        let (u, v) = (Expr::trial(&scalar), Expr::test(&scalar));
        let geometry: Arc<dyn Geometry> = Arc::new(self.new.clone());
        let measure = Measure::new(DomainKind::Cells, geometry);
        let mass = matrix(&u.inner(&v).over(&measure))?;
        let jacobi = Jacobi::new(&mass)?;
        let options = KrylovOptions {
            tolerance: 1e-13,
            ..KrylovOptions::default()
        };
        let mut solver = Krylov::new(Method::Cg, options)?;
        let mut values = vec![0.0; space.dof_count()];
        for c in 0..per_node {
            let b: Vec<f64> = loads.iter().skip(c).step_by(per_node).copied().collect();
            let mut x = vec![0.0; b.len()];
            solver.solve(&mass, &jacobi, &b, &mut x)?;
            for (value, x) in values.iter_mut().skip(c).step_by(per_node).zip(x) {
                *value = x;
            }
        }
        Ok(values)
    }
}
