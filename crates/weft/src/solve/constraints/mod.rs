//! Values prescribed on nodes: Dirichlet conditions along any directions.
//!
//! [`Constraints`] holds, for each constrained node, an orthonormal set of directions q with a value
//! for each: P = Σ q qᵀ is the projector on them, g = Σ value · q the target. A system A x = b
//! becomes Ã x = b̃ with Ã = (I−P) A (I−P) + s P and b̃ = (I−P)(b − A g) + s g. The scale s > 0 has
//! the size of the diagonal of A, so conditioning stays; a symmetric matrix stays symmetric.
//!
//! Invariant: directions of a node are orthonormal and g lies in their span. The operations use the
//! directions, never P itself, so they work in place and allocate nothing.

mod apply;
mod couple;

use super::error::{SolveError, check_finite, check_size};
use super::{SymmetricEigen, vector};
use crate::Real;

/// Sine of the angle below which a direction counts as lying in the span of others.
const SAME_DIRECTION: f64 = 1e-6;
/// Relative difference of values that counts as a contradiction.
const SAME_VALUE: f64 = 1e-8;
/// Difference that doesn't, relative to the largest value of all conditions: sin πx at x = 1 is 0.
const ROUNDING: f64 = 1e-12;
/// Relative size of a skew part or a negative eigenvalue that is more than rounding.
const NOT_SEMIDEFINITE: f64 = 1e-6;
/// Marks a free node.
const FREE: u32 = u32::MAX;

/// Conditions on the nodes of a system whose nodes have `block` unknowns each.
#[derive(Clone, Debug)]
pub struct Constraints {
    block: usize,
    /// Slot of each node, or `FREE`.
    slots: Vec<u32>,
    /// Number of directions of each slot.
    ranks: Vec<u32>,
    /// `block` directions of `block` components for each slot; the first `rank` are set.
    directions: Vec<f64>,
    /// Value along each direction, `block` for each slot.
    values: Vec<f64>,
    /// Target g of each slot, `block` components.
    targets: Vec<f64>,
    /// Largest absolute value prescribed so far.
    largest: f64,
}

impl Constraints {
    /// No conditions, on `node_count` nodes of `block` unknowns.
    pub fn empty(node_count: usize, block: usize) -> Constraints {
        Constraints {
            block,
            slots: vec![FREE; node_count],
            ranks: Vec::new(),
            directions: Vec::new(),
            values: Vec::new(),
            targets: Vec::new(),
            largest: 0.0,
        }
    }

    /// Tells how large the values to come are, so that rounding in the first isn't taken for a contradiction.
    pub(crate) fn expect(&mut self, values: &[f64]) {
        let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest.is_finite() {
            self.largest = self.largest.max(largest);
        }
    }

    /// Number of nodes, constrained or not.
    pub fn node_count(&self) -> usize {
        self.slots.len()
    }

    /// Unknowns of a node.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Number of constrained nodes.
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Whether no node is constrained.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Constrained nodes, ascending.
    pub fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.slots.len()).filter(|&node| self.slots[node] != FREE)
    }

    /// Whether nothing is prescribed on `node`.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn is_free(&self, node: usize) -> bool {
        self.slots[node] == FREE
    }

    /// Number of independent directions prescribed on `node`: 0 (free) to `block` (all of it).
    ///
    /// # Panics
    /// If there is no such node.
    pub fn rank(&self, node: usize) -> usize {
        self.slot(node).map_or(0, |slot| self.ranks[slot] as usize)
    }

    /// Projector P of `node`, row-major `block` × `block`; zero for a free node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn projector(&self, node: usize) -> Vec<f64> {
        let b = self.block;
        let mut p = vec![0.0; b * b];
        for q in self.basis(node) {
            for i in 0..b {
                for j in 0..b {
                    p[i * b + j] += q[i] * q[j];
                }
            }
        }
        p
    }

    /// Target g of `node`, or `None` if it is free.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn target(&self, node: usize) -> Option<&[f64]> {
        self.slot(node).map(|slot| self.slot_target(slot))
    }

    /// Prescribes all components of `node`.
    ///
    /// # Errors
    /// If there is no such node, `value` hasn't `block` entries, an entry isn't finite, or it
    /// contradicts an earlier condition.
    pub fn constrain_node(&mut self, node: usize, value: &[f64]) -> Result<(), SolveError> {
        check_size("the value prescribed on a node", value.len(), self.block)?;
        for (component, &value) in value.iter().enumerate() {
            self.constrain_component(node, component, value)?;
        }
        Ok(())
    }

    /// Prescribes one component of `node`.
    ///
    /// # Errors
    /// If there is no such node or component, `value` isn't finite, or it contradicts an earlier
    /// condition.
    pub fn constrain_component(
        &mut self,
        node: usize,
        component: usize,
        value: f64,
    ) -> Result<(), SolveError> {
        if component >= self.block {
            let reason = format!(
                "no component {component}; nodes have components 0 to below {}",
                self.block
            );
            return Err(SolveError::Constraint { node, reason });
        }
        let direction: Vec<f64> = (0..self.block)
            .map(|i| if i == component { 1.0 } else { 0.0 })
            .collect();
        self.add(node, direction, value)
    }

    /// Prescribes direction · x = `value` on `node`; `direction` is a unit vector.
    ///
    /// Conditions on one node combine: a direction in the span of earlier ones must agree with them, to 1e-8 of
    /// the values or 1e-12 of the largest value prescribed so far on any node.
    ///
    /// # Errors
    /// If there is no such node, `direction` isn't a unit vector of `block` entries (to 1e-6), `value`
    /// isn't finite, or it contradicts an earlier condition.
    pub fn constrain_direction(
        &mut self,
        node: usize,
        direction: &[f64],
        value: f64,
    ) -> Result<(), SolveError> {
        check_size("the direction of a condition", direction.len(), self.block)?;
        let length = vector::norm(direction);
        if length.is_nan() || (length - 1.0).abs() > 1e-6 {
            let reason = format!(
                "direction {direction:?} has length {length}; a unit vector is needed (divide \
                 direction and value by the length)"
            );
            return Err(SolveError::Constraint { node, reason });
        }
        self.add(
            node,
            direction.iter().map(|d| d / length).collect(),
            value / length,
        )
    }

    /// Prescribes P x = g on `node` for a symmetric positive semidefinite `p` (row-major, `block` ×
    /// `block`) as a boundary form ∫ u·v or ∫ (n·u)(n·v) assembles it, with `g` from its linear form.
    ///
    /// Eigenvectors of `p` with eigenvalue λ above 1e-6 of the trace are prescribed, to (q·g)/λ.
    ///
    /// # Errors
    /// If sizes are wrong, entries aren't finite, `p` isn't symmetric or has a negative eigenvalue (beyond 1e-6
    /// of the largest), there is no such node, or it contradicts an earlier condition.
    pub fn constrain_form(&mut self, node: usize, p: &[f64], g: &[f64]) -> Result<(), SolveError> {
        let b = self.block;
        check_size("the matrix of a condition", p.len(), b * b)?;
        check_size("the right-hand side of a condition", g.len(), b)?;
        check_finite("the matrix of a condition", p)?;
        check_finite("the right-hand side of a condition", g)?;
        let size = p.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let skew = |i: usize, j: usize| (p[i * b + j] - p[j * b + i]).abs();
        if (0..b).any(|i| (0..i).any(|j| skew(i, j) > NOT_SEMIDEFINITE * size)) {
            let reason = format!("the matrix of the condition, {p:?}, isn't symmetric");
            return Err(SolveError::Constraint { node, reason });
        }
        let trace: f64 = (0..b).map(|i| p[i * b + i]).sum();
        let eigen = SymmetricEigen::new(b, p);
        let lowest = eigen.values().iter().copied().fold(0.0, f64::min);
        if lowest < -NOT_SEMIDEFINITE * size {
            let reason = format!(
                "the matrix of the condition, {p:?}, has the negative eigenvalue {lowest}; it must be positive semidefinite"
            );
            return Err(SolveError::Constraint { node, reason });
        }
        for (k, &lambda) in eigen.values().iter().enumerate() {
            if lambda > 1e-6 * trace {
                let q = eigen.vector(k);
                let value = q.iter().zip(g).map(|(q, g)| q * g).sum::<f64>() / lambda;
                self.add(node, q.to_vec(), value)?;
            }
        }
        Ok(())
    }

    /// Adds the condition q · x = value; `direction` has length 1.
    fn add(&mut self, node: usize, direction: Vec<f64>, value: f64) -> Result<(), SolveError> {
        let b = self.block;
        if node >= self.slots.len() {
            let reason = format!("no such node; there are {}", self.slots.len());
            return Err(SolveError::Constraint { node, reason });
        }
        if !value.is_finite() {
            let reason = format!("value {value} isn't finite");
            return Err(SolveError::Constraint { node, reason });
        }
        self.largest = self.largest.max(value.abs());
        // What the earlier conditions leave of the direction, and the value they leave to it.
        let mut rest = direction.clone();
        let (mut present, mut largest) = (0.0, value.abs());
        if let Some(slot) = self.slot(node) {
            // Twice, so that the rest is orthogonal to the basis to rounding.
            for _ in 0..2 {
                for k in 0..self.ranks[slot] as usize {
                    let start = (slot * b + k) * b;
                    let q = &self.directions[start..start + b];
                    let along: f64 = q.iter().zip(&rest).map(|(q, r)| q * r).sum();
                    let known = self.values[slot * b + k];
                    present += along * known;
                    largest = largest.max(known.abs());
                    rest.iter_mut().zip(q).for_each(|(r, q)| *r -= along * q);
                }
            }
        }
        let length = vector::norm(&rest);
        if length <= SAME_DIRECTION {
            // The rest may still carry a little of a large value.
            let tolerance = (SAME_VALUE + 10.0 * length) * largest + ROUNDING * self.largest;
            if (present - value).abs() > tolerance {
                let wanted = value;
                return Err(SolveError::Conflict {
                    node,
                    direction,
                    present,
                    wanted,
                });
            }
            return Ok(());
        }
        let slot = self.slot_for(node);
        let rank = self.ranks[slot] as usize;
        let value = (value - present) / length;
        self.ranks[slot] += 1;
        self.values[slot * b + rank] = value;
        for i in 0..b {
            let q = rest[i] / length;
            self.directions[(slot * b + rank) * b + i] = q;
            self.targets[slot * b + i] += value * q;
        }
        Ok(())
    }

    fn slot(&self, node: usize) -> Option<usize> {
        let slot = self.slots[node];
        (slot != FREE).then_some(slot as usize)
    }

    fn slot_for(&mut self, node: usize) -> usize {
        let b = self.block;
        if self.slots[node] == FREE {
            self.slots[node] = self.ranks.len() as u32;
            self.ranks.push(0);
            self.directions.resize(self.directions.len() + b * b, 0.0);
            self.values.resize(self.values.len() + b, 0.0);
            self.targets.resize(self.targets.len() + b, 0.0);
        }
        self.slots[node] as usize
    }

    fn slot_target(&self, slot: usize) -> &[f64] {
        &self.targets[slot * self.block..(slot + 1) * self.block]
    }

    /// Orthonormal directions of a node.
    pub(crate) fn basis(&self, node: usize) -> impl Iterator<Item = &[f64]> + '_ {
        let b = self.block;
        let (start, rank) = match self.slot(node) {
            Some(slot) => (slot * b * b, self.ranks[slot] as usize),
            None => (0, 0),
        };
        self.directions[start..start + rank * b].chunks_exact(b.max(1))
    }

    /// v ← (I−P) v for the unknowns of one node.
    pub(crate) fn project<T: Real>(&self, node: usize, v: &mut [T]) {
        for q in self.basis(node) {
            let along: f64 = q.iter().zip(&*v).map(|(q, v)| q * v.widen()).sum();
            for (v, q) in v.iter_mut().zip(q) {
                *v = T::round(v.widen() - along * q);
            }
        }
    }
}
