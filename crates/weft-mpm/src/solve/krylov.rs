//! Krylov methods for elastic materials: W r = -b, b = B v* + offset, without yield limits.
//!
//! W = B M⁻¹ Bᵀ + C is symmetric; the preconditioner is 1/D, diagonal in local axes. Vectors have
//! six numbers a row. Worlds have scalars of their own, as if each were solved alone; one that has
//! converged stays as it is. Sums are made block by block and added in order: the same for any
//! number of threads.

use super::blocks::{Blocks, chunks};
use super::crew::Crew;
use super::lanes::Wide;
use super::rows::{INVERSE, STRESS};
use super::shared::Shared;
use super::{LANES, Node, Sites};
use crate::LinearKind;
use crate::bytes::{Bytes, sum_of_bytes};
use fearless_simd::{Level, Simd, dispatch};

/// Iterations between two looks at the residual.
const CHECK: usize = 10;
/// Vectors of GMRES before it starts again.
const RESTART: usize = 20;

/// Vectors and scalars, kept from solve to solve.
#[derive(Default)]
pub(super) struct Krylov {
    solution: Vec<Wide>,
    residual: Vec<Wide>,
    preconditioned: Vec<Wide>,
    direction: Vec<Wide>,
    image: Vec<Wide>,
    other: Vec<Wide>,
    /// Orthonormal vectors of GMRES, one after another.
    basis: Vec<Wide>,
    /// Nodes for the product with W.
    work: Vec<Node>,
    /// Sums of the blocks.
    partial: Vec<Wide>,
    /// Scalars of each world.
    bound: Vec<f64>,
    active: Vec<bool>,
    scalars: [Vec<f64>; 4],
    /// Of GMRES: columns of the triangle, rotations, right-hand side.
    triangle: Vec<f64>,
    turns: Vec<[f64; 2]>,
    rest: Vec<f64>,
}

impl Bytes for Krylov {
    fn bytes(&self) -> usize {
        let Self {
            solution,
            residual,
            preconditioned,
            direction,
            image,
            other,
            basis,
            work,
            partial,
            bound,
            active,
            scalars,
            triangle,
            turns,
            rest,
        } = self;
        sum_of_bytes!(
            solution,
            residual,
            preconditioned,
            direction,
            image,
            other,
            basis,
            work,
            partial,
            bound,
            active,
            scalars,
            triangle,
            turns,
            rest
        )
    }
}

/// Where vectors live.
struct Space<'a> {
    crew: &'a Crew,
    blocks: &'a Blocks,
    adjoint: f32,
    /// Numbers of a block in a vector.
    size: usize,
}

impl Krylov {
    /// Finds the stress without yield limits, from the first guess in the records, and leaves it and
    /// its residual there. Velocity stays. Gives the number of iterations.
    ///
    /// # Safety
    /// Columns are indices of nodes, and sites of one colour share none.
    pub unsafe fn solve(
        &mut self,
        crew: &Crew,
        blocks: &mut Blocks,
        sites: &mut Sites,
        nodes: &[Node],
        kind: LinearKind,
        adjoint: f32,
        (most, tolerance): (usize, f32),
        rows: impl Iterator<Item = usize>,
    ) -> usize {
        let space = Space {
            crew,
            blocks,
            adjoint,
            size: 6 * sites.rows,
        };
        let len = sites.used.len() * space.size;
        for vector in [
            &mut self.solution,
            &mut self.residual,
            &mut self.preconditioned,
            &mut self.direction,
            &mut self.image,
            &mut self.other,
        ] {
            vector.clear();
            vector.resize(len, Wide::default());
        }
        self.partial.resize(sites.used.len(), Wide::default());
        let worlds = sites.worlds.max(1);
        for scalar in &mut self.scalars {
            scalar.clear();
            scalar.resize(worlds, 0.0);
        }
        // SAFETY: promised by the caller; the solution is 0 so far.
        unsafe {
            let zero = Some(&self.solution[..]);
            blocks.strain(crew, sites, nodes, zero, true, &mut self.residual);
        }
        space.dot(
            sites,
            &mut self.partial,
            [&self.residual; 2],
            &mut self.scalars[0],
        );
        self.bound.clear();
        let sizes = self.scalars[0].iter().zip(rows);
        let tolerance = f64::from(tolerance);
        self.bound.extend(
            sizes.map(|(norm, rows)| tolerance * norm.sqrt().max((1.0 + rows as f64).sqrt())),
        );
        self.active.clear();
        self.active.resize(worlds, true);
        let size = blocks.layout.size;
        for (row, out) in self.solution.chunks_exact_mut(6).enumerate() {
            let at = row * size + STRESS;
            out.copy_from_slice(&blocks.records[at..at + 6]);
        }
        self.work.clear();
        self.work.extend_from_slice(nodes);
        // SAFETY: promised by the caller.
        let iterations = unsafe {
            space.residual(
                sites,
                nodes,
                &mut self.work,
                &self.solution,
                &mut self.residual,
            );
            match kind {
                LinearKind::Cg => self.conjugate_gradients(&space, sites, most),
                LinearKind::Cr => self.conjugate_residuals(&space, sites, most),
                LinearKind::Gmres => self.gmres(&space, sites, nodes, most),
            }
        };
        blocks.set_stress(&self.solution);
        blocks.set_residual(&self.residual);
        iterations
    }

    /// Notes which worlds have still to be solved.
    fn any_active(&mut self, space: &Space, sites: &Sites) -> bool {
        let norms = &mut self.scalars[3];
        space.dot(sites, &mut self.partial, [&self.residual; 2], norms);
        for ((active, norm), bound) in self.active.iter_mut().zip(norms).zip(&self.bound) {
            // Not a number is given up.
            *active &= norm.sqrt() > *bound;
        }
        self.active.iter().any(|active| *active)
    }

    /// # Safety
    /// As [`Krylov::solve`].
    unsafe fn conjugate_gradients(
        &mut self,
        space: &Space,
        sites: &mut Sites,
        most: usize,
    ) -> usize {
        if !self.any_active(space, sites) {
            return 0;
        }
        space.precondition(&self.residual, &mut self.preconditioned);
        self.direction.copy_from_slice(&self.preconditioned);
        let pair = [&self.residual[..], &self.preconditioned[..]];
        space.dot(sites, &mut self.partial, pair, &mut self.scalars[0]);
        for iteration in 1..=most {
            // SAFETY: promised by the caller.
            unsafe { space.operator(sites, &mut self.work, &self.direction, &mut self.image) };
            let [rho, curvature, factor, _] = &mut self.scalars;
            let pair = [&self.direction[..], &self.image[..]];
            space.dot(sites, &mut self.partial, pair, curvature);
            quotients(factor, rho, curvature, &mut self.active);
            space.add(sites, &mut self.solution, factor, 1.0, &self.direction);
            space.add(sites, &mut self.residual, factor, -1.0, &self.image);
            if iteration % CHECK == 0 && !self.any_active(space, sites) {
                return iteration;
            }
            space.precondition(&self.residual, &mut self.preconditioned);
            let [rho, new, factor, _] = &mut self.scalars;
            let pair = [&self.residual[..], &self.preconditioned[..]];
            space.dot(sites, &mut self.partial, pair, new);
            quotients(factor, new, rho, &mut self.active);
            rho.copy_from_slice(new);
            space.advance(sites, &mut self.direction, factor, &self.preconditioned);
        }
        most
    }

    /// # Safety
    /// As [`Krylov::solve`].
    unsafe fn conjugate_residuals(
        &mut self,
        space: &Space,
        sites: &mut Sites,
        most: usize,
    ) -> usize {
        if !self.any_active(space, sites) {
            return 0;
        }
        let Self { work, .. } = self;
        space.precondition(&self.residual, &mut self.preconditioned);
        self.direction.copy_from_slice(&self.preconditioned);
        // W times the preconditioned residual, in `other`, and times the direction, in `image`.
        // SAFETY: promised by the caller.
        unsafe { space.operator(sites, work, &self.preconditioned, &mut self.other) };
        self.image.copy_from_slice(&self.other);
        let pair = [&self.preconditioned[..], &self.other[..]];
        space.dot(sites, &mut self.partial, pair, &mut self.scalars[0]);
        for iteration in 1..=most {
            // `other` serves as 1/D times the image for a moment.
            space.precondition(&self.image, &mut self.other);
            let [rho, size, factor, _] = &mut self.scalars;
            let pair = [&self.image[..], &self.other[..]];
            space.dot(sites, &mut self.partial, pair, size);
            quotients(factor, rho, size, &mut self.active);
            space.add(sites, &mut self.solution, factor, 1.0, &self.direction);
            space.add(sites, &mut self.residual, factor, -1.0, &self.image);
            if iteration % CHECK == 0 && !self.any_active(space, sites) {
                return iteration;
            }
            space.precondition(&self.residual, &mut self.preconditioned);
            // SAFETY: promised by the caller.
            unsafe {
                space.operator(sites, &mut self.work, &self.preconditioned, &mut self.other);
            }
            let [rho, new, factor, _] = &mut self.scalars;
            let pair = [&self.preconditioned[..], &self.other[..]];
            space.dot(sites, &mut self.partial, pair, new);
            quotients(factor, new, rho, &mut self.active);
            rho.copy_from_slice(new);
            space.advance(sites, &mut self.direction, factor, &self.preconditioned);
            space.advance(sites, &mut self.image, factor, &self.other);
        }
        most
    }

    /// Right-preconditioned, so that its residual is the true one.
    ///
    /// # Safety
    /// As [`Krylov::solve`].
    unsafe fn gmres(
        &mut self,
        space: &Space,
        sites: &mut Sites,
        nodes: &[Node],
        most: usize,
    ) -> usize {
        let worlds = self.active.len();
        let len = self.residual.len();
        self.basis.resize((RESTART + 1) * len, Wide::default());
        self.triangle.resize(RESTART * RESTART * worlds, 0.0);
        self.turns.resize(RESTART * worlds, [0.0; 2]);
        self.rest.resize((RESTART + 1) * worlds, 0.0);
        let entry = |i: usize, j: usize, world: usize| (i * RESTART + j) * worlds + world;
        let mut iterations = 0;
        while iterations < most && self.any_active(space, sites) {
            let steps = RESTART.min(most - iterations);
            // The first vector: the residual over its norm.
            self.rest.fill(0.0);
            self.scalars[0].fill(0.0);
            for world in 0..worlds {
                if self.active[world] {
                    self.rest[world] = self.scalars[3][world].sqrt();
                    self.scalars[0][world] = 1.0 / self.rest[world];
                }
            }
            let (start, _) = self.basis.split_at_mut(len);
            start.fill(Wide::default());
            space.add(sites, start, &self.scalars[0], 1.0, &self.residual);
            let mut done = 0;
            while done < steps {
                let j = done;
                let (old, new) = self.basis.split_at_mut((j + 1) * len);
                space.precondition(&old[j * len..], &mut self.preconditioned);
                // SAFETY: promised by the caller.
                unsafe {
                    space.operator(sites, &mut self.work, &self.preconditioned, &mut self.image)
                };
                for i in 0..=j {
                    let vector = &old[i * len..(i + 1) * len];
                    space.dot(
                        sites,
                        &mut self.partial,
                        [vector, &self.image],
                        &mut self.scalars[0],
                    );
                    space.add(sites, &mut self.image, &self.scalars[0], -1.0, vector);
                    for world in 0..worlds {
                        self.triangle[entry(i, j, world)] = self.scalars[0][world];
                    }
                }
                space.dot(
                    sites,
                    &mut self.partial,
                    [&self.image; 2],
                    &mut self.scalars[0],
                );
                let mut open = false;
                for world in 0..worlds {
                    let below = self.scalars[0][world].sqrt();
                    let column = &mut self.triangle;
                    for i in 0..j {
                        let [c, s] = self.turns[i * worlds + world];
                        let (a, b) = (column[entry(i, j, world)], column[entry(i + 1, j, world)]);
                        column[entry(i, j, world)] = c * a + s * b;
                        column[entry(i + 1, j, world)] = c * b - s * a;
                    }
                    let last = column[entry(j, j, world)];
                    let size = last.hypot(below);
                    let [c, s] = if size > 0.0 {
                        [last / size, below / size]
                    } else {
                        [1.0, 0.0]
                    };
                    column[entry(j, j, world)] = size;
                    self.turns[j * worlds + world] = [c, s];
                    let rest = self.rest[j * worlds + world];
                    self.rest[j * worlds + world] = c * rest;
                    self.rest[(j + 1) * worlds + world] = -s * rest;
                    open |= self.active[world] && (s * rest).abs() > self.bound[world];
                    self.scalars[0][world] = if below > 0.0 { 1.0 / below } else { 0.0 };
                }
                let next = &mut new[..len];
                next.fill(Wide::default());
                space.add(sites, next, &self.scalars[0], 1.0, &self.image);
                done += 1;
                if !open {
                    break;
                }
            }
            iterations += done;
            // Back substitution, the vectors' sum, and the true residual.
            self.direction.fill(Wide::default());
            for j in (0..done).rev() {
                for world in 0..worlds {
                    let diagonal = self.triangle[entry(j, j, world)];
                    let y = if diagonal > 0.0 && self.active[world] {
                        self.rest[j * worlds + world] / diagonal
                    } else {
                        0.0
                    };
                    self.scalars[0][world] = y;
                    for i in 0..j {
                        self.rest[i * worlds + world] -= y * self.triangle[entry(i, j, world)];
                    }
                }
                let vector = &self.basis[j * len..(j + 1) * len];
                space.add(sites, &mut self.direction, &self.scalars[0], 1.0, vector);
            }
            space.precondition(&self.direction, &mut self.preconditioned);
            self.scalars[0].fill(1.0);
            let (one, solution) = (&self.scalars[0], &mut self.solution);
            space.add(sites, solution, one, 1.0, &self.preconditioned);
            // SAFETY: promised by the caller.
            unsafe {
                space.residual(
                    sites,
                    nodes,
                    &mut self.work,
                    &self.solution,
                    &mut self.residual,
                );
            }
        }
        iterations
    }
}

/// a / b of worlds that are active; a world without a positive b is given up.
fn quotients(out: &mut [f64], a: &[f64], b: &[f64], active: &mut [bool]) {
    for (((out, a), b), active) in out.iter_mut().zip(a).zip(b).zip(active) {
        *active &= *b > 0.0 && a.is_finite();
        *out = if *active { a / b } else { 0.0 };
    }
}

/// The factors of the sites of a block.
#[inline(always)]
fn factors(sites: &Sites, block: usize, scalars: &[f64], sign: f64) -> [f32; LANES] {
    match sites.world.get(block) {
        Some(world) if scalars.len() > 1 => {
            world.map(|world| (sign * scalars[world as usize]) as f32)
        }
        _ => [(sign * scalars[0]) as f32; LANES],
    }
}

impl Space<'_> {
    /// out = W x.
    ///
    /// # Safety
    /// As [`Krylov::solve`].
    unsafe fn operator(&self, sites: &mut Sites, work: &mut [Node], x: &[Wide], out: &mut [Wide]) {
        for node in work.iter_mut() {
            *node = [0.0, 0.0, 0.0, node[3]];
        }
        // SAFETY: promised by the caller.
        unsafe {
            self.blocks
                .apply(self.crew, sites, work, Some(x), self.adjoint);
            self.blocks
                .strain(self.crew, sites, work, Some(x), false, out);
        }
    }

    /// out = -(b + W x).
    ///
    /// # Safety
    /// As [`Krylov::solve`].
    unsafe fn residual(
        &self,
        sites: &mut Sites,
        nodes: &[Node],
        work: &mut [Node],
        x: &[Wide],
        out: &mut [Wide],
    ) {
        work.copy_from_slice(nodes);
        // SAFETY: promised by the caller.
        unsafe {
            self.blocks
                .apply(self.crew, sites, work, Some(x), self.adjoint);
            self.blocks
                .strain(self.crew, sites, work, Some(x), true, out);
        }
        for out in out.iter_mut().flat_map(|out| &mut out.0) {
            *out = -*out;
        }
    }

    /// Sums of the products of two vectors, one for each world.
    fn dot(&self, sites: &Sites, partial: &mut [Wide], pair: [&[Wide]; 2], out: &mut [f64]) {
        let sums = Shared::new(partial);
        chunks(self.crew, 0..sites.used.len(), |range| {
            // SAFETY: every block is in one chunk.
            let sums = unsafe { sums.part(range.start, range.len()) };
            let part = range.start * self.size..range.end * self.size;
            let pair = pair.map(|vector| &vector[part.clone()]);
            dispatch!(Level::new(), simd => dot_blocks(simd, self.size, pair, sums));
        });
        out.fill(0.0);
        for (block, sums) in partial.iter().enumerate() {
            for (lane, sum) in sums.0.iter().enumerate().take(sites.used[block].into()) {
                out[sites.world_of(block, lane)] += f64::from(*sum);
            }
        }
    }

    /// y += sign · factor x, with the factors of the worlds.
    fn add(&self, sites: &Sites, y: &mut [Wide], factor: &[f64], sign: f64, x: &[Wide]) {
        self.update(y, |block, y| {
            let factor = factors(sites, block, factor, sign);
            let x = &x[block * self.size..(block + 1) * self.size];
            dispatch!(Level::new(), simd => add_block(simd, &factor, x, y));
        });
    }

    /// y = x + factor y, with the factors of the worlds.
    fn advance(&self, sites: &Sites, y: &mut [Wide], factor: &[f64], x: &[Wide]) {
        self.update(y, |block, y| {
            let factor = factors(sites, block, factor, 1.0);
            let x = &x[block * self.size..(block + 1) * self.size];
            dispatch!(Level::new(), simd => advance_block(simd, &factor, x, y));
        });
    }

    /// z = x / D.
    fn precondition(&self, x: &[Wide], z: &mut [Wide]) {
        let size = self.blocks.layout.size;
        self.update(z, |block, z| {
            let first = block * self.size / 6;
            for (at, z) in z.chunks_exact_mut(6).enumerate() {
                let row = first + at;
                let inverse = &self.blocks.records[row * size + INVERSE..];
                for ((z, x), inverse) in z.iter_mut().zip(&x[6 * row..]).zip(inverse) {
                    for lane in 0..LANES {
                        z.0[lane] = x.0[lane] * inverse.0[lane];
                    }
                }
            }
        });
    }

    fn update(&self, y: &mut [Wide], work: impl Fn(usize, &mut [Wide]) + Sync) {
        let blocks = y.len() / self.size.max(1);
        let y = Shared::new(y);
        chunks(self.crew, 0..blocks, |range| {
            for block in range {
                // SAFETY: every block is in one chunk.
                work(block, unsafe { y.part(block * self.size, self.size) });
            }
        });
    }
}

#[inline(always)]
fn dot_blocks<S: Simd>(_simd: S, size: usize, pair: [&[Wide]; 2], sums: &mut [Wide]) {
    let blocks = pair[0].chunks_exact(size).zip(pair[1].chunks_exact(size));
    for (sum, (a, b)) in sums.iter_mut().zip(blocks) {
        let mut total = [0.0; LANES];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                total[lane] += a.0[lane] * b.0[lane];
            }
        }
        sum.0 = total;
    }
}

#[inline(always)]
fn add_block<S: Simd>(_simd: S, factor: &[f32; LANES], x: &[Wide], y: &mut [Wide]) {
    for (y, x) in y.iter_mut().zip(x) {
        for lane in 0..LANES {
            y.0[lane] += factor[lane] * x.0[lane];
        }
    }
}

#[inline(always)]
fn advance_block<S: Simd>(_simd: S, factor: &[f32; LANES], x: &[Wide], y: &mut [Wide]) {
    for (y, x) in y.iter_mut().zip(x) {
        for lane in 0..LANES {
            y.0[lane] = x.0[lane] + factor[lane] * y.0[lane];
        }
    }
}
