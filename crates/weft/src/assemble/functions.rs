//! Slots of the functions of a space at the points of samples: in the same cells, or in those of
//! another geometry where the points are located.

use super::error::AssembleError;
use super::samples::{Samples, domain};
use crate::form::lower::vector_slot;
use crate::geometry::{Frame, GeometryMap, Locator, VectorPush, frames_anywhere};
use crate::space::{Space, VectorBasis};
use rayon::prelude::*;
use std::sync::Arc;

/// A point counts for a cell whose size times this it is away from, at most.
const TOLERANCE: f64 = 1e-8;

/// Stands for no cell.
const NONE: u32 = u32::MAX;

/// Values and physical derivatives of the functions of a space.
pub(super) struct Functions {
    space: Space,
    /// Slots that are tabulated, ascending.
    wanted: Vec<u8>,
    side: usize,
    points: usize,
    /// Positions of the functions' geometry and, if points are located there, of the points'.
    maps: [Arc<GeometryMap>; 2],
    located: bool,
    /// The cell of each element, or of each point if located.
    cells: Vec<u32>,
    /// Whether one table serves all elements.
    common: bool,
    /// `[element][point][function][slot]`.
    table: Vec<f64>,
    /// First point that was not found.
    missing: Option<[f64; 3]>,
}

impl Functions {
    /// Functions of `space` in the cells that the samples are in, of sides the inner or outer ones.
    pub fn here(
        space: &Space,
        samples: &Samples,
        side: usize,
        slots: impl Iterator<Item = u8>,
    ) -> Result<Functions, AssembleError> {
        if space.geometry().id() != samples.geometry().id() {
            return Err(domain(format!(
                "a function in `{}` lives on another geometry than the measure; locate the points in it",
                samples.text()
            )));
        }
        if space.check_current().is_err() {
            return Err(AssembleError::MeshRebuilt);
        }
        let mut functions = Functions::empty(space, samples, side, slots);
        let cell = |e| samples.place(e, side).map_or(NONE, |(cell, _)| cell as u32);
        functions.cells = (0..samples.elements.len()).map(cell).collect();
        functions.common = samples.same_in_all_cells()
            && space.vector_basis().is_none()
            && functions.wanted.iter().all(|&w| w == 0);
        functions.tabulate(samples);
        Ok(functions)
    }

    /// Functions of `space` in the cells of its geometry that the points of the samples lie in: the
    /// cell around the centre of their element if it holds the point, so that nested meshes fit, else
    /// any.
    pub fn located(
        space: &Space,
        samples: &Samples,
        locator: &Locator,
        slots: impl Iterator<Item = u8>,
    ) -> Result<Functions, AssembleError> {
        if locator.geometry_id() != space.geometry().id() {
            return Err(domain(format!(
                "the locator is for another geometry than that of the trial function in `{}`",
                samples.text()
            )));
        }
        if space.check_current().is_err() {
            return Err(AssembleError::MeshRebuilt);
        }
        if samples.geometry().space_dim() != space.geometry().space_dim() {
            return Err(domain(format!(
                "the trial function in `{}` lives in {} dimensions, the measure in {}",
                samples.text(),
                space.geometry().space_dim(),
                samples.geometry().space_dim()
            )));
        }
        let mut functions = Functions::empty(space, samples, 0, slots);
        functions.located = true;
        let points = functions.points;
        let here = frames_anywhere(&**samples.geometry());
        let there = frames_anywhere(&**space.geometry());
        let width = functions.width();
        let kind = samples.geometry().cell_kind();
        functions.cells = vec![NONE; samples.elements.len() * points];
        functions.table = vec![0.0; functions.cells.len() * width];
        let wanted = &functions.wanted;
        let lost: Vec<Option<[f64; 3]>> = functions
            .table
            .par_chunks_mut((points * width).max(1))
            .zip(functions.cells.par_chunks_mut(points.max(1)))
            .enumerate()
            .map(|(e, (table, cells))| {
                let (cell, at) = samples.place(e, 0)?;
                let centre = here(cell, kind.center()).position;
                let host = locator.find(centre, TOLERANCE).map(|found| found.cell);
                let mut lost = None;
                for (q, &xi) in at.iter().enumerate() {
                    let x = here(cell, xi).position;
                    let in_host = host
                        .and_then(|host| locator.find_among(x, TOLERANCE, &|cell| cell == host));
                    match in_host.or_else(|| locator.find(x, TOLERANCE)) {
                        Some(found) => {
                            cells[q] = found.cell as u32;
                            let frame = there(found.cell, found.xi);
                            let out = &mut table[q * width..(q + 1) * width];
                            slots_at(space, wanted, found.cell, found.xi, &frame, out);
                        }
                        None => lost = lost.or(Some(x)),
                    }
                }
                lost
            })
            .collect();
        functions.missing = lost.into_iter().flatten().next();
        Ok(functions)
    }

    fn empty(
        space: &Space,
        samples: &Samples,
        side: usize,
        slots: impl Iterator<Item = u8>,
    ) -> Functions {
        let mut wanted: Vec<u8> = slots.collect();
        wanted.sort_unstable();
        wanted.dedup();
        Functions {
            space: space.clone(),
            wanted,
            side,
            points: samples.points.len(),
            maps: [space.geometry().map(), samples.geometry().map()],
            located: false,
            cells: Vec::new(),
            common: false,
            table: Vec::new(),
            missing: None,
        }
    }

    /// Numbers of all functions at a point.
    fn width(&self) -> usize {
        self.space.nodes_per_cell() * self.wanted.len()
    }

    fn tabulate(&mut self, samples: &Samples) {
        let (width, points) = (self.width(), self.points);
        let count = match self.common {
            true => self.cells.len().min(1),
            false => self.cells.len(),
        };
        self.table.clear();
        self.table.resize(count * points * width, 0.0);
        let frames = frames_anywhere(&**self.space.geometry());
        let (space, wanted, side) = (&self.space, &self.wanted, self.side);
        self.table
            .par_chunks_mut((points * width).max(1))
            .enumerate()
            .for_each(|(e, table)| {
                let Some((cell, at)) = samples.place(e, side) else {
                    return;
                };
                for (&xi, out) in at.iter().zip(table.chunks_exact_mut(width.max(1))) {
                    slots_at(space, wanted, cell, xi, &frames(cell, xi), out);
                }
            });
    }

    /// Follow cells that moved. Allocates nothing if they did not.
    ///
    /// # Errors
    /// If points are located in other cells than their own.
    pub fn refresh(&mut self, samples: &Samples) -> Result<(), AssembleError> {
        let maps = [self.space.geometry().map(), samples.geometry().map()];
        if maps.iter().zip(&self.maps).all(|(a, b)| Arc::ptr_eq(a, b)) {
            return Ok(());
        }
        if self.located {
            return Err(AssembleError::Moved(samples.text().to_owned()));
        }
        self.maps = maps;
        if !self.common {
            self.tabulate(samples);
        }
        Ok(())
    }

    /// The nodes of the cell at a point, and the slots of its functions there, `[function][slot]`;
    /// `None` in no cell.
    pub fn at(&self, element: usize, point: usize) -> Option<(&[u32], &[f64])> {
        let cell = match self.located {
            true => self.cells[element * self.points + point],
            false => self.cells[element],
        };
        if cell == NONE {
            return None;
        }
        let element = if self.common { 0 } else { element };
        let width = self.width();
        let at = (element * self.points + point) * width;
        let nodes = self.space.cell_nodes(cell as usize);
        Some((nodes, &self.table[at..at + width]))
    }

    /// Adds the nodes with degrees of freedom that the functions at a point belong to.
    pub fn collect_nodes(&self, element: usize, point: usize, out: &mut Vec<u32>) {
        if let Some((nodes, _)) = self.at(element, point) {
            let all = nodes.iter().flat_map(|&n| self.space.expansion(n));
            out.extend(all.map(|(node, _)| node));
        }
    }

    /// Calls `add(k, part, slot)` for what functions [at](Self::at) a point give column `k` of a row:
    /// the part of the function that belongs to the column's node, and the slot of the function at
    /// `axis`. All their nodes are in the sorted `columns`.
    pub fn each_column(
        &self,
        (nodes, table): (&[u32], &[f64]),
        (step, axis): (usize, usize),
        columns: &[u32],
        mut add: impl FnMut(usize, f64, f64),
    ) {
        for (&node, slots) in nodes.iter().zip(table.chunks_exact(step)) {
            for (node, part) in self.space.expansion(node) {
                if let Ok(k) = columns.binary_search(&node) {
                    add(k, part, slots[axis]);
                }
            }
        }
    }

    /// Slots of one function in a table, and the place of slot `slot` among them.
    pub fn axis(&self, slot: u8) -> (usize, usize) {
        let at = self.wanted.iter().position(|&w| w == slot);
        // Slots that occur are tabulated.
        (self.wanted.len(), at.unwrap_or(0))
    }

    /// How many points are in no cell, and the first of them.
    pub fn outside(&self) -> (usize, Option<[f64; 3]>) {
        let count = self.cells.iter().filter(|&&c| c == NONE).count();
        (count, self.missing)
    }

    pub fn point_count(&self) -> usize {
        self.cells.len()
    }
}

/// Slots of the functions of a cell at a point, `[function][slot]`.
fn slots_at(
    space: &Space,
    wanted: &[u8],
    cell: usize,
    xi: [f64; 3],
    frame: &Frame,
    out: &mut [f64],
) {
    if let Some(basis) = space.vector_basis() {
        return vector_slots_at(space, basis, wanted, cell, xi, frame, out);
    }
    let element = space.element();
    let n = element.node_count();
    let (mut values, mut gradients) = (vec![0.0; n], vec![[0.0; 3]; n]);
    element.evaluate(xi, &mut values, &mut gradients);
    for (i, out) in out.chunks_exact_mut(wanted.len().max(1)).enumerate() {
        let gradient = frame.push_gradient(gradients[i]);
        for (out, &slot) in out.iter_mut().zip(wanted) {
            *out = match slot {
                0 => values[i],
                d => gradient[d as usize - 1],
            };
        }
    }
}

/// The same for functions that are vectors, as neighbours share them.
fn vector_slots_at(
    space: &Space,
    basis: &VectorBasis,
    wanted: &[u8],
    cell: usize,
    xi: [f64; 3],
    frame: &Frame,
    out: &mut [f64],
) {
    let element = basis.element();
    let dim = space.geometry().space_dim();
    let table = element.tabulate(&[xi]);
    let push = VectorPush::new(&**space.geometry(), cell, xi, frame, element.piola());
    let n = element.function_count();
    let mut own = vec![[0.0; vector_slot::COUNT]; n];
    for ((own, value), derivative) in own.iter_mut().zip(&table.values).zip(&table.derivatives) {
        let (value, gradient) = push.apply(value, derivative);
        own[vector_slot::VALUE..][..dim].copy_from_slice(&value[..dim]);
        own[vector_slot::DIVERGENCE] = (0..dim).map(|c| gradient[c][c]).sum();
        if dim == 2 {
            own[vector_slot::CURL] = gradient[1][0] - gradient[0][1];
        } else {
            for c in 0..3 {
                let (a, b) = ((c + 1) % 3, (c + 2) % 3);
                own[vector_slot::CURL + c] = gradient[b][a] - gradient[a][b];
            }
        }
        for c in 0..3 {
            for d in 0..3 {
                own[vector_slot::GRADIENT + 3 * c + d] = gradient[c][d];
            }
        }
    }
    // A shared degree of freedom is several of the cell's own.
    let mut dofs = vec![0.0; n];
    for (j, out) in out.chunks_exact_mut(wanted.len().max(1)).enumerate() {
        dofs.fill(0.0);
        dofs[j] = 1.0;
        basis.to_cell(cell, &mut dofs);
        for (out, &slot) in out.iter_mut().zip(wanted) {
            *out = dofs
                .iter()
                .zip(&own)
                .map(|(k, own)| k * own[slot as usize])
                .sum();
        }
    }
}
