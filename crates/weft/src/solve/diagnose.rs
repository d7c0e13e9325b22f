//! Names what leaves a system singular: motions that nothing fixes.
//!
//! The matrix graph is split into connected parts. In each part the constant fields, and the
//! rotations if the unknowns of a node are a vector in space, are projected on what the constraints
//! leave free; [`diagnose`] then looks for combinations u with A u = 0. With d the largest absolute
//! entry of each row, the measure is Σ (A u)² / d over Σ d u²: it doesn't depend on units, and needs
//! no positive diagonal, so that saddle points and unsymmetric matrices are judged as well.

use std::fmt;

use super::constraints::Constraints;
use super::eigen::SymmetricEigen;
use super::error::{SolveError, check_size};
use crate::sparse::BlockMatrix;

/// Measure (a square) below which A u counts as zero: a relative residual of 1e-10.
const NULL: f64 = 1e-20;
/// Part of the measure of a mode that constraints must leave for it to count.
const LEFT: f64 = 1e-13;
/// Length of a component of a unit vector below which it counts as zero.
const ALIGNED: f64 = 1e-6;
/// Largest number of modes: twelve constants, or three translations and three rotations.
const MAX_MODES: usize = 12;

/// What leaves a system singular.
#[derive(Clone, Debug, PartialEq)]
pub enum Singularity {
    /// A row of the matrix holds only zeros: no equation for this unknown.
    EmptyRow {
        /// The node.
        node: usize,
        /// Its component.
        component: usize,
        /// Whether nodes have one unknown only.
        scalar: bool,
    },
    /// Motions of a connected part that nothing fixes.
    Free {
        /// Names of the motions, such as "translation along y" or "the constant".
        motions: Vec<String>,
        /// The first node of the part.
        node: usize,
        /// Number of nodes of the part.
        nodes: usize,
    },
}

impl fmt::Display for Singularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system is singular: ")?;
        match self {
            Singularity::EmptyRow {
                node, scalar: true, ..
            } => {
                write!(f, "node {node} has no equation (its row is empty)")
            }
            Singularity::EmptyRow {
                node, component, ..
            } => {
                write!(
                    f,
                    "component {component} of node {node} has no equation (its row is empty)"
                )
            }
            Singularity::Free {
                motions,
                node,
                nodes,
            } => {
                let plural = if *nodes == 1 { "node" } else { "nodes" };
                write!(
                    f,
                    "nothing fixes {} of the part that holds node {node} ({nodes} {plural})",
                    motions.join(", ")
                )
            }
        }
    }
}

/// Looks for what leaves the matrix `a` singular, after [`Constraints::eliminate`]; `None` if neither
/// an empty row nor a free rigid motion or constant is found.
///
/// `positions` are the places of the nodes; `space_dim` of their coordinates are used. Rotations are
/// tried if nodes have `space_dim` unknowns, more than one.
///
/// # Errors
/// If the matrix, positions and constraints aren't of one size, or `space_dim` exceeds 3.
pub fn diagnose(
    a: &BlockMatrix,
    positions: &[[f64; 3]],
    constraints: &Constraints,
    space_dim: usize,
) -> Result<Option<Singularity>, SolveError> {
    let b = constraints.block();
    let n = constraints.node_count();
    if a.rows() != a.cols() || a.block()[0] != a.block()[1] {
        return Err(SolveError::NotSquare {
            rows: a.rows(),
            cols: a.cols(),
        });
    }
    check_size("the block of the matrix", a.block()[0], b)?;
    check_size("the matrix, in nodes,", a.pattern().rows(), n)?;
    check_size("the list of positions", positions.len(), n)?;
    if space_dim > 3 {
        let (name, accepted) = ("space_dim", "it must be 1, 2 or 3");
        return Err(SolveError::Option {
            name,
            value: space_dim as f64,
            accepted,
        });
    }
    let mut sizes = vec![0.0f64; n * b];
    for node in 0..n {
        let (_, values) = a.row(node);
        for block in values.chunks_exact((b * b).max(1)) {
            for (i, row) in block.chunks_exact(b).enumerate() {
                let size = &mut sizes[node * b + i];
                *size = row.iter().fold(*size, |m, v| m.max(v.abs()));
            }
        }
        if let Some(component) = sizes[node * b..(node + 1) * b]
            .iter()
            .position(|&s| s == 0.0)
        {
            return Ok(Some(Singularity::EmptyRow {
                node,
                component,
                scalar: b == 1,
            }));
        }
    }
    let (order, starts) = parts(a);
    for part in starts.windows(2) {
        let nodes = &order[part[0]..part[1]];
        if nodes
            .iter()
            .all(|&node| constraints.rank(node as usize) == b)
        {
            continue;
        }
        let modes = Modes::new(nodes, positions, b, space_dim);
        let motions = modes.free_motions(a, &sizes, constraints);
        if !motions.is_empty() {
            let (node, nodes) = (nodes[0] as usize, nodes.len());
            return Ok(Some(Singularity::Free {
                motions,
                node,
                nodes,
            }));
        }
    }
    Ok(None)
}

/// Nodes sorted by connected part (parts by their first node), and where each part starts.
fn parts(a: &BlockMatrix) -> (Vec<u32>, Vec<usize>) {
    let n = a.pattern().rows();
    let size = a.block()[0] * a.block()[1];
    let mut root: Vec<u32> = (0..n as u32).collect();
    fn find(root: &mut [u32], mut i: u32) -> u32 {
        while root[i as usize] != i {
            root[i as usize] = root[root[i as usize] as usize];
            i = root[i as usize];
        }
        i
    }
    for node in 0..n {
        let (columns, values) = a.row(node);
        for (&column, block) in columns.iter().zip(values.chunks_exact(size.max(1))) {
            if block.iter().any(|&v| v != 0.0) {
                let (i, j) = (find(&mut root, node as u32), find(&mut root, column));
                // The smaller index is the root, so a part's root is its first node.
                root[i.max(j) as usize] = i.min(j);
            }
        }
    }
    for i in 0..n as u32 {
        root[i as usize] = find(&mut root, i);
    }
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&i| root[i as usize]);
    let mut starts: Vec<usize> = (0..n)
        .filter(|&k| k == 0 || root[order[k] as usize] != root[order[k - 1] as usize])
        .collect();
    starts.push(n);
    (order, starts)
}

/// Constants and rotations of a part.
struct Modes<'a> {
    nodes: &'a [u32],
    positions: &'a [[f64; 3]],
    block: usize,
    centre: [f64; 3],
    rotations: usize,
}

impl Modes<'_> {
    fn new<'a>(
        nodes: &'a [u32],
        positions: &'a [[f64; 3]],
        block: usize,
        space_dim: usize,
    ) -> Modes<'a> {
        let mut centre = [0.0; 3];
        for &node in nodes {
            for i in 0..3 {
                centre[i] += positions[node as usize][i] / nodes.len() as f64;
            }
        }
        let rotations = match (block == space_dim, space_dim) {
            (true, 2) => 1,
            (true, 3) => 3,
            _ => 0,
        };
        Modes {
            nodes,
            positions,
            block,
            centre,
            rotations,
        }
    }

    fn count(&self) -> usize {
        (self.block + self.rotations).min(MAX_MODES)
    }

    /// Values at `node` of mode `mode` where the constraints leave it free.
    fn value(&self, mode: usize, node: usize, constraints: Option<&Constraints>, v: &mut [f64]) {
        v.fill(0.0);
        if mode < self.block {
            v[mode] = 1.0;
        } else {
            let p = self.positions[node];
            let d: [f64; 3] = std::array::from_fn(|i| p[i] - self.centre[i]);
            // In the plane the only rotation is that about z.
            let axis = if self.rotations == 1 {
                2
            } else {
                mode - self.block
            };
            let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
            v[i] = -d[j];
            v[j] = d[i];
        }
        if let Some(constraints) = constraints {
            constraints.project(node, v);
        }
    }

    fn free_motions(
        &self,
        a: &BlockMatrix,
        sizes: &[f64],
        constraints: &Constraints,
    ) -> Vec<String> {
        let (m, b) = (self.count(), self.block);
        let mut v = vec![0.0; b];
        // Measures of the modes: whole (for scaling) and projected.
        let mut whole = vec![0.0; m];
        let mut mass = vec![0.0; m * m];
        let mut local = vec![0.0; m * b];
        for &node in self.nodes {
            let node = node as usize;
            let d = &sizes[node * b..(node + 1) * b];
            for mode in 0..m {
                self.value(mode, node, None, &mut v);
                whole[mode] += v.iter().zip(d).map(|(v, d)| d * v * v).sum::<f64>();
                self.value(mode, node, Some(constraints), &mut v);
                local[mode * b..(mode + 1) * b].copy_from_slice(&v);
            }
            for i in 0..m {
                for j in 0..m {
                    mass[i * m + j] += (0..b)
                        .map(|c| d[c] * local[i * b + c] * local[j * b + c])
                        .sum::<f64>();
                }
            }
        }
        // A mode of no extent (rotation of a single node) has no measure; it drops out below.
        let scales: Vec<f64> = whole
            .iter()
            .map(|&w| if w > 0.0 { 1.0 / w.sqrt() } else { 0.0 })
            .collect();
        for i in 0..m {
            for j in 0..m {
                mass[i * m + j] *= scales[i] * scales[j];
            }
        }
        let mass = SymmetricEigen::new(m, &mass);
        // Combinations of unit measure that the constraints leave.
        let left: Vec<Vec<f64>> = (0..m)
            .filter(|&k| mass.values()[k] > LEFT)
            .map(|k| {
                let factor = 1.0 / mass.values()[k].sqrt();
                mass.vector(k)
                    .iter()
                    .zip(&scales)
                    .map(|(q, s)| q * s * factor)
                    .collect()
            })
            .collect();
        if left.is_empty() {
            return Vec::new();
        }
        let energy = SymmetricEigen::new(left.len(), &self.energy(a, sizes, constraints, &left));
        let candidates: Vec<Vec<f64>> = (0..left.len())
            .map(|k| {
                let q = energy.vector(k);
                (0..m)
                    .map(|i| q.iter().zip(&left).map(|(q, l)| q * l[i]).sum())
                    .collect()
            })
            .collect();
        // Eigenvalues are accurate to rounding of the largest only: measure the vectors themselves.
        let measured = self.energy(a, sizes, constraints, &candidates);
        let count = candidates.len();
        let null: Vec<Vec<f64>> = candidates
            .into_iter()
            .enumerate()
            .filter(|(k, _)| measured[k * count + k] < NULL)
            .map(|(_, c)| {
                c.iter()
                    .zip(&scales)
                    .map(|(c, s)| if *s > 0.0 { c / s } else { 0.0 })
                    .collect()
            })
            .collect();
        self.names(null, &scales)
    }

    /// Σ (A u_i)(A u_j) / d for combinations u of the projected modes.
    fn energy(
        &self,
        a: &BlockMatrix,
        sizes: &[f64],
        constraints: &Constraints,
        combinations: &[Vec<f64>],
    ) -> Vec<f64> {
        let (k, m, b) = (combinations.len(), self.count(), self.block);
        let mut energy = vec![0.0; k * k];
        let mut image = vec![0.0; k * b];
        let mut v = vec![0.0; b];
        let mut u = vec![0.0; k * b];
        for &node in self.nodes {
            let node = node as usize;
            image.fill(0.0);
            let (columns, values) = a.row(node);
            for (&column, block) in columns.iter().zip(values.chunks_exact(b * b)) {
                u.fill(0.0);
                for mode in 0..m {
                    self.value(mode, column as usize, Some(constraints), &mut v);
                    for (c, u) in combinations.iter().zip(u.chunks_exact_mut(b)) {
                        u.iter_mut().zip(&v).for_each(|(u, v)| *u += c[mode] * v);
                    }
                }
                for (u, image) in u.chunks_exact(b).zip(image.chunks_exact_mut(b)) {
                    for (image, row) in image.iter_mut().zip(block.chunks_exact(b)) {
                        *image += row.iter().zip(u).map(|(a, u)| a * u).sum::<f64>();
                    }
                }
            }
            for i in 0..k {
                for j in 0..k {
                    energy[i * k + j] += (0..b)
                        .map(|c| image[i * b + c] * image[j * b + c] / sizes[node * b + c])
                        .sum::<f64>();
                }
            }
        }
        energy
    }

    /// Names for a space of null vectors, given as coefficients of the (scaled) modes.
    fn names(&self, null: Vec<Vec<f64>>, scales: &[f64]) -> Vec<String> {
        let mut rest = orthonormal(null);
        let count = rest.len();
        let mut names = Vec::new();
        for axis in 0..self.block.min(self.count()) {
            // The axis lies in the space if its projection on it has full length.
            let inside: f64 = rest.iter().map(|r| r[axis] * r[axis]).sum();
            if inside > 1.0 - ALIGNED {
                names.push(self.constant_name(axis));
                for r in &mut rest {
                    r[axis] = 0.0;
                }
                rest = orthonormal(rest);
            }
        }
        let turning = |r: &Vec<f64>| r[self.block.min(r.len())..].to_vec();
        let mut turns = orthonormal(rest.iter().map(turning).collect());
        if turns.len() == rest.len() {
            for axis in 0..self.rotations {
                let inside: f64 = turns.iter().map(|t| t[axis] * t[axis]).sum();
                if inside > 1.0 - ALIGNED {
                    let axis_name = if self.rotations == 1 {
                        "z"
                    } else {
                        ["x", "y", "z"][axis]
                    };
                    names.push(format!("rotation about {axis_name}"));
                    for t in &mut turns {
                        t[axis] = 0.0;
                    }
                    turns = orthonormal(turns);
                }
            }
            names.extend(turns.iter().map(|t| {
                format!(
                    "rotation about an axis along {}",
                    tuple(t, &scales[self.block.min(scales.len())..])
                )
            }));
        } else {
            names.extend(rest.iter().map(|r| {
                let shift = &r[..self.block.min(r.len())];
                let turn = turning(r);
                let length: f64 = turn.iter().map(|t| t * t).sum();
                match (length > ALIGNED * ALIGNED, self.rotations > 0) {
                    (true, _) => format!(
                        "a rotation about an axis along {}",
                        tuple(&turn, &scales[self.block.min(scales.len())..])
                    ),
                    (false, true) => format!("translation along {}", tuple(shift, scales)),
                    (false, false) => format!("the constant field along {}", tuple(shift, scales)),
                }
            }));
        }
        debug_assert_eq!(names.len(), count);
        names
    }

    fn constant_name(&self, axis: usize) -> String {
        if self.block == 1 {
            "the constant".to_string()
        } else if self.rotations > 0 {
            format!("translation along {}", ["x", "y", "z"][axis])
        } else {
            format!("the constant of component {axis}")
        }
    }
}

/// Gram–Schmidt with the longest vector first; vectors that vanish are left out.
fn orthonormal(mut vectors: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let length = |v: &Vec<f64>| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while let Some(longest) =
        (0..vectors.len()).max_by(|&i, &j| length(&vectors[i]).total_cmp(&length(&vectors[j])))
    {
        let mut v = vectors.swap_remove(longest);
        let l = length(&v);
        if l <= ALIGNED {
            break;
        }
        v.iter_mut().for_each(|x| *x /= l);
        for other in &mut vectors {
            let along: f64 = other.iter().zip(&v).map(|(o, v)| o * v).sum();
            other.iter_mut().zip(&v).for_each(|(o, v)| *o -= along * v);
        }
        basis.push(v);
    }
    basis
}

/// Direction of a vector of scaled coefficients.
fn tuple(v: &[f64], scales: &[f64]) -> String {
    let v: Vec<f64> = v.iter().zip(scales).map(|(v, s)| v * s).collect();
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let parts: Vec<String> = v.iter().map(|x| format!("{:.3}", x / length)).collect();
    format!("({})", parts.join(", "))
}
