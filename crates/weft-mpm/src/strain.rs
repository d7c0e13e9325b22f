//! Strain rows: the operator from velocity to strain, yield limits, elasticity, first guesses.

use crate::bins::Bins;
use crate::bytes::bytes_of;
use crate::config::StrainBasis;
use crate::eigen::{log_stretch, symmetric};
use crate::grid::{Cells, NONE, NodeSet, check_count};
use crate::material::INFINITE;
use crate::shape::{Group, linear, shapes, trilinear_values};
use crate::solve::{LANES, Sites};
use crate::tensor::pack;
use crate::{Material, MpmError, PROXY, Particles, VelocityBasis};
use fearless_simd::{Level, Simd, dispatch, f32x8, prelude::*};
use rayon::prelude::*;

/// Modes with less of a cell's volume are left out.
const SMALLEST_MODE: f64 = 1e-6;

/// Nodes of continuous strain with less of a cell's volume have no stress: squares of what acts on
/// them would underflow.
const SMALLEST_NODE: f32 = 1e-12;

/// Lattice coordinates of the sites of a basis: nodes for continuous strain, else cells.
pub(crate) fn site_coordinates<'a>(
    basis: StrainBasis,
    cells: &'a Cells,
    vertices: &'a NodeSet,
) -> &'a [[i32; 3]] {
    match basis {
        StrainBasis::Q1 => &vertices.coordinates,
        _ => &cells.coordinates,
    }
}

/// World of a site.
pub(crate) fn world_of_site(
    basis: StrainBasis,
    cells: &Cells,
    vertices: &NodeSet,
    site: usize,
) -> usize {
    cells.world_of(match basis {
        StrainBasis::Q1 => vertices.host(site).0,
        _ => site,
    })
}

/// Inputs of an assembly of strain rows.
pub(crate) struct Inputs<'a> {
    pub particles: &'a Particles,
    pub materials: &'a [Material],
    pub bins: &'a Bins,
    pub cells: &'a Cells,
    pub nodes: &'a NodeSet,
    pub basis: VelocityBasis,
    pub dt: f32,
    /// Averages of (E, ν, d) at the nodes, if anything is compliant.
    pub elastic: Option<&'a [[f32; 4]]>,
    /// Take the first guess of stress from the particles.
    pub stress_from_particles: bool,
    pub level: Level,
}

/// Strain space with its rows in the layout of the solver.
#[derive(Default)]
pub(crate) struct StrainRows {
    pub basis: StrainBasis,
    pub sites: Sites,
    /// Place of each site (cell, or node for Q1): block * LANES + lane.
    pub place: Vec<u32>,
    /// Site at each place, [`NONE`] in lanes out of use.
    site_at: Vec<u32>,
    /// Orthogonal matrices from nodal rows to modes, `[(block * rows + mode) * rows + node]`.
    rotation: Vec<[f32; LANES]>,
    /// Couplings by compliance, lent to `sites` while anything is compliant.
    couplings: Vec<[[f32; LANES]; 2]>,
    /// Degrees of freedom of each cell, `[cell * rows_of_cell + k]`.
    pub dofs: Vec<u32>,
    pub rows_of_cell: usize,
    pub dof_count: usize,
    /// For particle rows: the degree of freedom of each sample or [`NONE`].
    pub of_sample: Vec<u32>,
    /// Material volume of each cell.
    pub material_volume: Vec<f32>,
    /// For continuous strain: the column of each place in the reach, `[place * width + slot]`.
    column_of: Vec<u8>,
    local: Vec<Local>,
    local_b: Vec<[f32; 3]>,
    /// Places of each node in the cells around, for continuous strain.
    first: Vec<u32>,
    around: Vec<u32>,
    /// Yield parameters of the materials.
    yields: Vec<[f32; 6]>,
}

bytes_of! {
    StrainRows: sites, place, site_at, rotation, couplings, dofs, of_sample, material_volume,
        column_of, local, local_b, first, around, yields
    without basis, rows_of_cell, dof_count
}

impl StrainRows {
    pub fn new(basis: StrainBasis) -> StrainRows {
        StrainRows {
            basis,
            ..StrainRows::default()
        }
    }

    /// Sorts the sites by colour into blocks, finds their velocity nodes and notes their worlds.
    ///
    /// # Errors
    /// [`MpmError::TooManyCells`].
    pub fn lay_out(
        &mut self,
        cells: &Cells,
        nodes: &NodeSet,
        vertices: &NodeSet,
        bins: &Bins,
    ) -> Result<(), MpmError> {
        let nodal = self.basis == StrainBasis::Q1;
        let rows = match self.basis {
            StrainBasis::P0 | StrainBasis::Q1 => 1,
            StrainBasis::P1d => 4,
            StrainBasis::Q1d => 8,
            StrainBasis::Particle(most) => {
                let fullest = (0..cells.count()).map(|c| bins.of(c).len()).max();
                most.min(fullest.unwrap_or(0)).max(1)
            }
        };
        let reach = if nodes.slots() == 8 { 2 } else { 4 };
        let stride = if nodal { reach + 1 } else { reach };
        let coordinates = site_coordinates(self.basis, cells, vertices);
        let width = match (nodal, reach) {
            (false, _) => nodes.slots(),
            (true, 2) => 27,
            (true, _) => 125,
        };
        let count = coordinates.len();
        check_count(count, rows)?;
        self.rows_of_cell = if nodal { 8 } else { rows };
        self.dof_count = count * rows;
        self.dofs.clear();
        if nodal {
            self.dofs.extend_from_slice(&vertices.of_cell);
            self.first.clone_from(&vertices.first);
            self.around.clone_from(&vertices.around);
        } else {
            self.dofs.extend(0..(count * rows) as u32);
        }
        // Of the place in space, so that worlds side by side are swept as each alone.
        let basis = self.basis;
        let world = |site: usize| world_of_site(basis, cells, vertices, site);
        let colour = |site: usize| {
            let shift = cells.shifts[world(site)];
            let at = |d: usize| (coordinates[site][d] - shift[d]).rem_euclid(stride) as usize;
            (at(0) * stride as usize + at(1)) * stride as usize + at(2)
        };
        let colours = (stride * stride * stride) as usize;
        let sites = &mut self.sites;
        sites.width = width;
        sites.rows = rows;
        let mut sizes = [0usize; 125];
        for site in 0..count {
            sizes[colour(site)] += 1;
        }
        sites.colours.clear();
        sites.colours.push(0);
        let mut cursor = [0usize; 125];
        for c in 0..colours {
            let start = sites.colours[c];
            cursor[c] = start * LANES;
            sites.colours.push(start + sizes[c].div_ceil(LANES));
        }
        let blocks = sites.colours[colours];
        sites.used.clear();
        sites.used.resize(blocks, 0);
        self.place.resize(count, 0);
        self.site_at.clear();
        self.site_at.resize(blocks * LANES, NONE);
        for site in 0..count {
            let at = &mut cursor[colour(site)];
            self.place[site] = *at as u32;
            self.site_at[*at] = site as u32;
            sites.used[*at / LANES] += 1;
            *at += 1;
        }
        sites.columns.resize(blocks * width, [0; LANES]);
        self.column_of.resize(blocks * LANES * width, 0);
        let grid = nodes.grid();
        let (site_at, slots) = (&self.site_at, nodes.slots());
        sites
            .columns
            .par_chunks_mut(width)
            .zip(self.column_of.par_chunks_mut(LANES * width))
            .with_min_len(32)
            .enumerate()
            .for_each(|(block, (columns, column_of))| {
                for lane in 0..LANES {
                    let own = site_at[block * LANES + lane];
                    // The first lane of a block is in use.
                    let site = if own == NONE {
                        site_at[block * LANES]
                    } else {
                        own
                    } as usize;
                    if !nodal {
                        for (slot, column) in columns.iter_mut().enumerate() {
                            column[lane] = nodes.of_cell[site * slots + slot];
                        }
                        continue;
                    }
                    let at = coordinates[site];
                    let find = |step: [i32; 3]| {
                        let to = std::array::from_fn(|d| at[d] + step[d]);
                        grid.as_ref().and_then(|g| g.find(to))
                    };
                    let low = -(reach / 2);
                    let side = reach + 1;
                    // Nodes that are not there leave their place to the next; those places that
                    // remain repeat the first.
                    let mut used = 0;
                    for slot in 0..width {
                        let at = slot as i32;
                        let step = [at / (side * side), at / side % side, at % side];
                        if let Some(found) = find(step.map(|s| s + low)) {
                            columns[used][lane] = found as u32;
                            column_of[lane * width + slot] = used as u8;
                            used += 1;
                        }
                    }
                    for column in used..width {
                        columns[column][lane] = columns[0][lane];
                    }
                }
            });
        sites.worlds = cells.shifts.len();
        sites.world.clear();
        if sites.worlds > 1 {
            let of = |&site: &u32| match site {
                NONE => 0,
                site => world(site as usize) as u32,
            };
            let blocks = site_at.chunks(LANES);
            let lanes = |lanes: &[u32]| std::array::from_fn(|lane| of(&lanes[lane]));
            sites.world.extend(blocks.map(lanes));
        }
        Ok(())
    }

    /// Computes all rows.
    pub fn assemble(&mut self, inputs: &Inputs) {
        let rows = self.sites.rows;
        let blocks = self.sites.used.len();
        let width = self.sites.width;
        let sites = &mut self.sites;
        if !sites.compliance.is_empty() {
            std::mem::swap(&mut sites.compliance, &mut self.couplings);
            sites.compliance.clear();
        }
        sites.b.resize(blocks * rows * width, [[0.0; LANES]; 3]);
        sites.volume.resize(blocks * rows, [0.0; LANES]);
        for list in [&mut sites.offset, &mut sites.yields, &mut sites.stress] {
            list.resize(blocks * rows, [[0.0; LANES]; 6]);
        }
        self.couplings
            .resize(blocks * rows * rows, [[0.0; LANES]; 2]);
        self.rotation.resize(blocks * rows * rows, [0.0; LANES]);
        self.material_volume.resize(inputs.cells.count(), 0.0);
        self.material_volume
            .par_iter_mut()
            .with_min_len(256)
            .enumerate()
            .for_each(|(cell, volume)| {
                *volume = material_samples(inputs, cell)
                    .map(|s| inputs.bins.weight[s])
                    .sum();
            });
        self.of_sample.clear();
        if let StrainBasis::Particle(_) = self.basis {
            self.of_sample.resize(inputs.bins.cell.len(), NONE);
            for cell in 0..inputs.cells.count() {
                for (k, s) in material_samples(inputs, cell).take(rows).enumerate() {
                    self.of_sample[s] = (cell * rows + k) as u32;
                }
            }
        }
        let mut yields = std::mem::take(&mut self.yields);
        yields.clear();
        let full = |m: &Material| yield_parameters(m, 1.0, inputs.dt);
        yields.extend(inputs.materials.iter().map(full));
        let groups = inputs.nodes.slots() / 8;
        match (self.basis, groups) {
            (StrainBasis::P0, 1) => self.cell_rows::<1, 1>(inputs, &yields),
            (StrainBasis::P0, _) => self.cell_rows::<1, 8>(inputs, &yields),
            (StrainBasis::P1d, 1) => self.cell_rows::<4, 1>(inputs, &yields),
            (StrainBasis::P1d, _) => self.cell_rows::<4, 8>(inputs, &yields),
            (StrainBasis::Q1d, 1) => self.cell_rows::<8, 1>(inputs, &yields),
            (StrainBasis::Q1d, _) => self.cell_rows::<8, 8>(inputs, &yields),
            (StrainBasis::Q1, 1) => self.node_rows::<1>(inputs, &yields),
            (StrainBasis::Q1, _) => self.node_rows::<8>(inputs, &yields),
            (StrainBasis::Particle(_), 1) => self.particle_rows::<1>(inputs, &yields),
            (StrainBasis::Particle(_), _) => self.particle_rows::<8>(inputs, &yields),
        }
        self.yields = yields;
        if inputs.elastic.is_some() {
            std::mem::swap(&mut self.sites.compliance, &mut self.couplings);
        }
    }

    /// Lets material that fills less than `fraction` of its cell's free volume compact without
    /// pressure: adds the missing volume to the strain, and takes away tension. `free` is the part
    /// of a cell outside colliders. `added` gets what was added to each row.
    pub fn limit_compaction(
        &mut self,
        fraction: f32,
        free: impl Fn(usize) -> f32,
        added: &mut Vec<[f32; LANES]>,
    ) {
        let rows = self.sites.rows;
        added.resize(self.sites.volume.len(), [0.0; LANES]);
        for site in 0..self.place.len() {
            let place = self.place[site] as usize;
            let (block, lane) = (place / LANES, place % LANES);
            let (room, filled) = match self.basis {
                StrainBasis::Q1 => {
                    let around = self.first[site] as usize..self.first[site + 1] as usize;
                    let cells = self.around[around].iter().map(|&at| at as usize / 8);
                    (
                        cells.map(|c| free(c) / 8.0).sum(),
                        self.sites.volume[block][lane],
                    )
                }
                _ => (free(site), self.material_volume[site]),
            };
            let missing = fraction * room - filled;
            if missing <= 0.0 || filled <= 0.0 {
                continue;
            }
            for row in 0..rows {
                let at = block * rows + row;
                // A strain that is constant in the cell: each row gets its part of the volume.
                let along: f32 = match (self.basis, rows) {
                    (StrainBasis::Particle(_), _) => self.sites.volume[at][lane],
                    (_, 1) => filled,
                    _ => {
                        let turn = |k: usize| self.rotation[at * rows + k][lane];
                        (0..rows).map(turn).sum::<f32>() * self.sites.volume[at][lane]
                    }
                };
                // T((2/3) o I) has d0 = √(2/3) o.
                let offset = missing / filled * along * (2.0f32 / 3.0).sqrt();
                self.sites.offset[at][0][lane] += offset;
                self.sites.yields[at][1][lane] = 0.0;
                added[at][lane] = offset;
            }
        }
    }

    /// Nodal values from values of the modes (the transpose of the rotation), by degree of freedom.
    pub fn to_nodal(&self, modes: &[[[f32; LANES]; 6]], nodal: &mut Vec<[f32; 6]>) {
        let rows = self.sites.rows;
        nodal.resize(self.dof_count, [0.0; 6]);
        nodal
            .par_chunks_mut(rows)
            .with_min_len(512)
            .enumerate()
            .for_each(|(site, out)| {
                let place = self.place[site] as usize;
                let (block, lane) = (place / LANES, place % LANES);
                for (node, out) in out.iter_mut().enumerate() {
                    *out = [0.0; 6];
                    for mode in 0..rows {
                        let turn = match rows {
                            1 => 1.0,
                            _ => self.rotation[(block * rows + mode) * rows + node][lane],
                        };
                        for k in 0..6 {
                            out[k] += turn * modes[block * rows + mode][k][lane];
                        }
                    }
                }
            });
    }

    /// Sets stress from nodal values by degree of freedom (the rotation).
    pub fn set_stress(&mut self, nodal: &[[f32; 6]]) {
        let rows = self.sites.rows;
        let (rotation, site_at) = (&self.rotation, &self.site_at);
        self.sites
            .stress
            .par_chunks_mut(rows)
            .with_min_len(64)
            .enumerate()
            .for_each(|(block, out)| {
                for lane in 0..LANES {
                    let site = site_at[block * LANES + lane];
                    if site == NONE {
                        continue;
                    }
                    for mode in 0..rows {
                        for k in 0..6 {
                            let mut sum = 0.0;
                            for node in 0..rows {
                                let turn = match rows {
                                    1 => 1.0,
                                    _ => rotation[(block * rows + mode) * rows + node][lane],
                                };
                                sum += turn * nodal[site as usize * rows + node][k];
                            }
                            out[mode][k][lane] = sum;
                        }
                    }
                }
            });
    }

    fn cell_rows<const R: usize, const G: usize>(&mut self, inputs: &Inputs, yields: &Yields) {
        let site_at = &self.site_at;
        blocks(&mut self.sites, &mut self.couplings, &mut self.rotation).for_each(
            |(block, mut out)| {
                for lane in 0..LANES {
                    let cell = site_at[block * LANES + lane];
                    if cell == NONE {
                        out.clear(lane);
                        continue;
                    }
                    dispatch!(inputs.level, simd => {
                        let sum = CellSums::<_, R, G>::of(simd, inputs, yields, cell as usize);
                        sum.write(lane, &mut out)
                    });
                }
            },
        );
    }

    fn particle_rows<const G: usize>(&mut self, inputs: &Inputs, yields: &Yields) {
        let site_at = &self.site_at;
        let rows = self.sites.rows;
        blocks(&mut self.sites, &mut self.couplings, &mut self.rotation).for_each(
            |(block, mut out)| {
                for lane in 0..LANES {
                    out.clear(lane);
                    let cell = site_at[block * LANES + lane];
                    if cell == NONE {
                        continue;
                    }
                    let cell = cell as usize;
                    for (row, sample) in material_samples(inputs, cell).take(rows).enumerate() {
                        dispatch!(inputs.level, simd => {
                            let mut sum = CellSums::<_, 1, G>::zero(simd);
                            sum.add(simd, inputs, yields, cell, sample, [1.0]);
                            sum.write_row(row, lane, &mut out)
                        });
                        out.rotation[row * rows + row][lane] = 1.0;
                    }
                }
            },
        );
    }

    fn node_rows<const G: usize>(&mut self, inputs: &Inputs, yields: &Yields) {
        // Rows of each cell first, then their sums at the nodes.
        let width = inputs.nodes.slots();
        self.local.resize(inputs.cells.count(), Local::default());
        self.local_b
            .resize(inputs.cells.count() * 8 * width, [0.0; 3]);
        let both = (&mut self.local[..], self.local_b.par_chunks_mut(8 * width));
        both.into_par_iter()
            .with_min_len(32)
            .enumerate()
            .for_each(|(cell, (local, b))| {
                dispatch!(inputs.level, simd => {
                    let sum = CellSums::<_, 8, G>::of(simd, inputs, yields, cell);
                    sum.to_local(local, b)
                });
            });
        let (site_at, column_of) = (&self.site_at, &self.column_of);
        let (local, local_b) = (&self.local, &self.local_b);
        let (first, around) = (&self.first, &self.around);
        let reach = if G == 1 { 2 } else { 4 };
        let side = reach + 1;
        blocks(&mut self.sites, &mut self.couplings, &mut self.rotation).for_each(
            |(block, mut out)| {
                for lane in 0..LANES {
                    out.clear(lane);
                    let node = site_at[block * LANES + lane];
                    if node == NONE {
                        continue;
                    }
                    let node = node as usize;
                    let mut total = Local1::default();
                    for &at in &around[first[node] as usize..first[node + 1] as usize] {
                        let (cell, slot) = (at as usize / 8, at as usize % 8);
                        total.add(&local[cell], slot);
                        // The cell's corner relative to the node.
                        let corner = [slot / 4, slot / 2 % 2, slot % 2];
                        for column in 0..width {
                            // Lattice place of the velocity node relative to the cell.
                            let to = match G {
                                1 => [column / 4, column / 2 % 2, column % 2],
                                _ => [column / 16, column / 4 % 4, column % 4],
                            };
                            // Relative to the node, from the lower end of its reach: for linear
                            // functions to - corner + 1, for splines (to - 1) - corner + 2.
                            let slot27 = [0, 1, 2].map(|d| to[d] + 1 - corner[d]);
                            let target = (slot27[0] * side + slot27[1]) * side + slot27[2];
                            let add = local_b[(cell * 8 + slot) * width + column];
                            let at = (block * LANES + lane) * out.width + target;
                            for d in 0..3 {
                                out.b[usize::from(column_of[at])][d][lane] += add[d];
                            }
                        }
                    }
                    total.write(lane, &mut out);
                    out.rotation[0][lane] = 1.0;
                }
            },
        );
    }
}

/// Arrays of one block.
struct BlockRows<'a> {
    rows: usize,
    width: usize,
    b: &'a mut [[[f32; LANES]; 3]],
    volume: &'a mut [[f32; LANES]],
    offset: &'a mut [[[f32; LANES]; 6]],
    yields: &'a mut [[[f32; LANES]; 6]],
    stress: &'a mut [[[f32; LANES]; 6]],
    compliance: &'a mut [[[f32; LANES]; 2]],
    rotation: &'a mut [[f32; LANES]],
}

impl BlockRows<'_> {
    /// Empties a lane.
    fn clear(&mut self, lane: usize) {
        self.b.iter_mut().flatten().for_each(|b| b[lane] = 0.0);
        self.volume.iter_mut().for_each(|v| v[lane] = 0.0);
        for list in [&mut self.offset, &mut self.yields, &mut self.stress] {
            list.iter_mut().flatten().for_each(|x| x[lane] = 0.0);
        }
        self.compliance
            .iter_mut()
            .flatten()
            .for_each(|c| c[lane] = 0.0);
        self.rotation.iter_mut().for_each(|r| r[lane] = 0.0);
    }
}

/// The blocks of all arrays, in parallel.
fn blocks<'a>(
    sites: &'a mut Sites,
    couplings: &'a mut [[[f32; LANES]; 2]],
    rotation: &'a mut [[f32; LANES]],
) -> impl IndexedParallelIterator<Item = (usize, BlockRows<'a>)> {
    let (rows, width) = (sites.rows, sites.width);
    let lists = (
        sites.b.par_chunks_mut(rows * width),
        sites.volume.par_chunks_mut(rows),
        sites.offset.par_chunks_mut(rows),
        sites.yields.par_chunks_mut(rows),
        sites.stress.par_chunks_mut(rows),
        couplings.par_chunks_mut(rows * rows),
        rotation.par_chunks_mut(rows * rows),
    );
    lists.into_par_iter().with_min_len(4).enumerate().map(
        move |(block, (b, volume, offset, yields, stress, compliance, rotation))| {
            let out = BlockRows {
                rows,
                width,
                b,
                volume,
                offset,
                yields,
                stress,
                compliance,
                rotation,
            };
            (block, out)
        },
    )
}

/// Yield parameters of the materials at full strength, as [`yield_parameters`] gives them.
type Yields = [[f32; 6]];

/// Yield parameters of a material with its strength scaled by `factor`:
/// [p_max, tension, cohesion, friction p_y] in the units of the tensor map, dilatancy, η/dt.
pub(crate) fn yield_parameters(m: &Material, factor: f32, dt: f32) -> [f32; 6] {
    let root = 1.5f32.sqrt();
    let p = m.yield_pressure * factor;
    let viscous = if dt > 0.0 { m.viscosity / dt } else { 0.0 };
    [
        p * root,
        m.tensile_yield_ratio * p * root,
        m.yield_stress * factor,
        m.friction * p,
        m.dilatancy,
        viscous,
    ]
}

/// Sums over the samples of a cell for R rows.
struct CellSums<S: Simd, const R: usize, const G: usize> {
    b: [[[f32x8<S>; 3]; G]; R],
    volume: [f32; R],
    mass: [[f32; R]; R],
    offset: [[f32; 6]; R],
    yields: [f32; 6],
    total: f32,
    compliance: [[[f32; 2]; R]; R],
    stress: [[f32; 6]; R],
}

impl<S: Simd, const R: usize, const G: usize> CellSums<S, R, G> {
    #[inline(always)]
    fn zero(simd: S) -> Self {
        CellSums {
            b: [[[f32x8::splat(simd, 0.0); 3]; G]; R],
            volume: [0.0; R],
            mass: [[0.0; R]; R],
            offset: [[0.0; 6]; R],
            yields: [0.0; 6],
            total: 0.0,
            compliance: [[[0.0; 2]; R]; R],
            stress: [[0.0; 6]; R],
        }
    }

    #[inline(always)]
    fn of(simd: S, inputs: &Inputs, yields: &Yields, cell: usize) -> Self {
        let mut sum = Self::zero(simd);
        for sample in material_samples(inputs, cell) {
            let xi = inputs.bins.xi[sample];
            let mut phi = [1.0; R];
            match R {
                4 => phi.copy_from_slice(&linear(xi)),
                8 => phi.copy_from_slice(&trilinear_values(xi)),
                _ => {}
            }
            sum.add(simd, inputs, yields, cell, sample, phi);
        }
        sum
    }

    /// Adds a sample with the values of its strain functions.
    #[inline(always)]
    fn add(
        &mut self,
        simd: S,
        inputs: &Inputs,
        yields: &Yields,
        cell: usize,
        sample: usize,
        phi: [f32; R],
    ) {
        let (particles, weight) = (inputs.particles, inputs.bins.weight[sample]);
        let p = inputs.bins.particle[sample] as usize;
        let inverse = 1.0 / inputs.cells.size as f32;
        let shape: [Group<S>; G] = shapes(simd, inputs.basis, inputs.bins.xi[sample], inverse);
        self.total += weight;
        for r in 0..R {
            let w = weight * phi[r];
            self.volume[r] += w;
            let step = f32x8::splat(simd, w * inputs.dt);
            for g in 0..G {
                for d in 0..3 {
                    self.b[r][g][d] = shape[g][1 + d].mul_add(step, self.b[r][g][d]);
                }
            }
            if R > 1 {
                for k in 0..R {
                    self.mass[r][k] += w * phi[k];
                }
            }
            if inputs.stress_from_particles {
                for k in 0..6 {
                    self.stress[r][k] += w * particles.stress[p][k];
                }
            }
        }
        let material = usize::from(particles.material[p]);
        let factor = match inputs.materials[material].hardening {
            0.0 => 1.0,
            _ => inputs.materials[material].hardening_factor(particles.plastic_volume[p]),
        };
        for k in 0..6 {
            let scale = if k < 4 { factor } else { 1.0 };
            self.yields[k] += weight * scale * yields[material][k];
        }
        if let Some(average) = inputs.elastic {
            let slots = inputs.nodes.slots();
            let nodes = &inputs.nodes.of_cell[cell * slots..(cell + 1) * slots];
            let mut at = [0.0; 3];
            for g in 0..G {
                let values = shape[g][0].as_slice();
                for l in 0..8 {
                    let parameters = average[nodes[g * 8 + l] as usize];
                    for k in 0..3 {
                        at[k] += values[l] * parameters[k];
                    }
                }
            }
            let [e, nu, damping] = at;
            let relax = 1.0 + damping / inputs.dt;
            let (alpha, gamma) = (1.0 / relax, 1.0 / (e * relax));
            let strain = pack(&log_stretch(&particles.elastic[p]));
            let compliance = match e < INFINITE {
                true => [gamma * (1.0 - 2.0 * nu), gamma * (1.0 + nu)],
                false => [0.0; 2],
            };
            for r in 0..R {
                let w = 2.0 * weight * phi[r];
                for k in 0..6 {
                    self.offset[r][k] += w * alpha * strain[k];
                }
                for other in 0..R {
                    for part in 0..2 {
                        self.compliance[r][other][part] += w * phi[other] * compliance[part];
                    }
                }
            }
        }
    }

    /// Writes the rows of a cell, turned into modes if there are several.
    #[inline(always)]
    fn write(mut self, lane: usize, out: &mut BlockRows) {
        if R == 1 {
            out.rotation[0][lane] = 1.0;
            self.write_row(0, lane, out);
            return;
        }
        let mass = self.mass.map(|row| row.map(f64::from));
        let (values, mut turn) = symmetric(mass);
        let mut volume = [0.0; R];
        for e in 0..R {
            let along: f64 = (0..R).map(|k| turn[e][k] * f64::from(self.volume[k])).sum();
            if along < 0.0 {
                turn[e] = turn[e].map(|t| -t);
            }
            if values[e] > SMALLEST_MODE {
                volume[e] = values[e] as f32;
            } else {
                turn[e] = [0.0; R];
            }
        }
        let turn = turn.map(|row| row.map(|t| t as f32));
        for e in 0..R {
            for k in 0..R {
                out.rotation[e * R + k][lane] = turn[e][k];
            }
        }
        let stress = self.nodal_stress();
        let rotate = |x: &[[f32; 6]; R]| -> [[f32; 6]; R] {
            std::array::from_fn(|e| {
                std::array::from_fn(|k| (0..R).map(|i| turn[e][i] * x[i][k]).sum())
            })
        };
        let (offset, stress) = (rotate(&self.offset), rotate(&stress));
        let scale = if self.total > 0.0 {
            1.0 / self.total
        } else {
            0.0
        };
        for e in 0..R {
            for g in 0..G {
                for d in 0..3 {
                    let mut sum = self.b[0][g][d] * turn[e][0];
                    for i in 1..R {
                        sum += self.b[i][g][d] * turn[e][i];
                    }
                    for (l, value) in sum.as_slice().iter().enumerate() {
                        out.b[e * out.width + g * 8 + l][d][lane] = *value;
                    }
                }
            }
            out.volume[e][lane] = volume[e];
            for k in 0..6 {
                out.offset[e][k][lane] = offset[e][k];
                out.stress[e][k][lane] = stress[e][k];
                // Limits are those of the cell's average material.
                out.yields[e][k][lane] = self.yields[k] * scale;
            }
            for f in 0..R {
                for part in 0..2 {
                    let mut sum = 0.0;
                    for i in 0..R {
                        for j in 0..R {
                            sum += turn[e][i] * self.compliance[i][j][part] * turn[f][j];
                        }
                    }
                    out.compliance[e * R + f][part][lane] = sum;
                }
            }
        }
    }

    /// Averages of the particles' stress at the nodes; where there is little material the functions'
    /// volume can vanish or be negative, so then the cell's average.
    #[inline(always)]
    fn nodal_stress(&mut self) -> [[f32; 6]; R] {
        std::array::from_fn(|r| {
            let fine = self.volume[r] > 1e-3 * self.total;
            std::array::from_fn(|k| {
                if fine {
                    return self.stress[r][k] / self.volume[r];
                }
                let sum: f32 = (0..R).map(|i| self.stress[i][k]).sum();
                if self.total > 0.0 {
                    sum / self.total
                } else {
                    0.0
                }
            })
        })
    }

    /// Writes the first row as row `row` of a lane.
    #[inline(always)]
    fn write_row(&self, row: usize, lane: usize, out: &mut BlockRows) {
        let scale = match self.volume[0] > 0.0 {
            true => 1.0 / self.volume[0],
            false => 0.0,
        };
        for g in 0..G {
            for d in 0..3 {
                for (l, value) in self.b[0][g][d].as_slice().iter().enumerate() {
                    out.b[row * out.width + g * 8 + l][d][lane] = *value;
                }
            }
        }
        out.volume[row][lane] = self.volume[0];
        for k in 0..6 {
            out.offset[row][k][lane] = self.offset[0][k];
            out.yields[row][k][lane] = self.yields[k] * scale;
            out.stress[row][k][lane] = self.stress[0][k] * scale;
        }
        for part in 0..2 {
            out.compliance[row * out.rows + row][part][lane] = self.compliance[0][0][part];
        }
    }

    #[inline(always)]
    fn to_local(&self, local: &mut Local, b: &mut [[f32; 3]]) {
        for r in 0..R {
            local.volume[r] = self.volume[r];
            local.offset[r] = self.offset[r];
            local.stress[r] = self.stress[r];
            // Lumped: a function's compliance is that of all functions with it, which sum to one.
            let lumped = |part: usize| (0..R).map(|k| self.compliance[r][k][part]).sum();
            local.compliance[r] = [lumped(0), lumped(1)];
            for g in 0..G {
                for d in 0..3 {
                    for (l, value) in self.b[r][g][d].as_slice().iter().enumerate() {
                        b[(r * G + g) * 8 + l][d] = *value;
                    }
                }
            }
        }
        local.yields = self.yields;
        local.total = self.total;
    }
}

/// Rows of one cell with continuous strain, before they are added up at the nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Local {
    volume: [f32; 8],
    offset: [[f32; 6]; 8],
    stress: [[f32; 6]; 8],
    compliance: [[f32; 2]; 8],
    yields: [f32; 6],
    total: f32,
}

/// A row of continuous strain.
#[derive(Default)]
struct Local1 {
    volume: f32,
    offset: [f32; 6],
    stress: [f32; 6],
    yields: [f32; 6],
    compliance: [f32; 2],
}

impl Local1 {
    fn add(&mut self, local: &Local, slot: usize) {
        self.volume += local.volume[slot];
        let share = match local.total > 0.0 {
            true => local.volume[slot] / local.total,
            false => 0.0,
        };
        for k in 0..6 {
            self.offset[k] += local.offset[slot][k];
            self.stress[k] += local.stress[slot][k];
            self.yields[k] += share * local.yields[k];
        }
        for part in 0..2 {
            self.compliance[part] += local.compliance[slot][part];
        }
    }

    fn write(&self, lane: usize, out: &mut BlockRows) {
        if self.volume <= SMALLEST_NODE {
            return;
        }
        out.volume[0][lane] = self.volume;
        for k in 0..6 {
            out.offset[0][k][lane] = self.offset[k];
            out.stress[0][k][lane] = self.stress[k] / self.volume;
            out.yields[0][k][lane] = self.yields[k] / self.volume;
        }
        out.compliance[0] = {
            let mut c = out.compliance[0];
            for part in 0..2 {
                c[part][lane] = self.compliance[part];
            }
            c
        };
    }
}

/// Samples of a cell that have stress.
fn material_samples<'a>(inputs: &'a Inputs, cell: usize) -> impl Iterator<Item = usize> + 'a {
    let has_stress = |&s: &usize| {
        let particle = inputs.bins.particle[s] as usize;
        inputs.particles.flags[particle] & PROXY == 0
    };
    inputs.bins.of(cell).filter(has_stress)
}
