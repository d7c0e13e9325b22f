//! Random problems on n × n × n cells.

use crate::solve::{Contacts, LANES, Lane, Node, RheologySolver, Sites, SolveOptions, SolveReport};
use crate::{RheologyKind, Stage};

/// Numbers in [0, 1), always the same.
pub(crate) struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn signed(&mut self) -> f64 {
        2.0 * self.draw() - 1.0
    }
}

/// Which strain rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// One row a cell.
    Constant,
    /// So many particles a cell, one row each.
    Particles(usize),
    /// One row a node, up to 27 columns.
    Nodes,
}

/// What to build.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub n: usize,
    pub seed: u64,
    pub basis: Basis,
    /// Pressure bound, tension ratio, yield stress, friction, dilatancy, viscosity / dt.
    pub yields: [f64; 6],
    /// Spherical and deviatoric compliance (1/Pa) of the material; 0: rigid.
    pub compliance: [f64; 2],
    /// Size of random elastic strain.
    pub strain: f64,
    /// Speed of random motion.
    pub speed: f64,
    /// Speed towards the centre, a cell away from it.
    pub squeeze: f64,
    pub worlds: usize,
}

impl Default for Recipe {
    fn default() -> Recipe {
        Recipe {
            n: 4,
            seed: 1,
            basis: Basis::Constant,
            yields: [1e15, 0.0, 0.0, 0.5, 0.0, 0.0],
            compliance: [0.0; 2],
            strain: 0.0,
            speed: 1.0,
            squeeze: 0.5,
            worlds: 1,
        }
    }
}

pub struct Problem {
    pub sites: Sites,
    pub nodes: Vec<Node>,
    pub contacts: Contacts,
}

pub const H: f64 = 0.1;
pub const DT: f64 = 0.01;
const DENSITY: f64 = 1000.0;

/// A row before it is put into lanes.
#[derive(Clone, Default)]
struct Line {
    columns: Vec<(usize, [f64; 3])>,
    volume: f64,
    strain: [f64; 6],
}

/// Weights and gradients of the corners of a cell at reference coordinates.
pub fn corners(x: [f64; 3]) -> [(f64, [f64; 3]); 8] {
    std::array::from_fn(|corner| {
        let bit = |d: usize| (corner >> (2 - d)) & 1;
        let value = |d: usize| if bit(d) == 1 { x[d] } else { 1.0 - x[d] };
        let slope = |d: usize| if bit(d) == 1 { 1.0 } else { -1.0 };
        let gradient = std::array::from_fn(|d| {
            (0..3)
                .map(|k| if k == d { slope(k) / H } else { value(k) })
                .product()
        });
        (value(0) * value(1) * value(2), gradient)
    })
}

impl Recipe {
    pub fn build(&self) -> Problem {
        let mut draws = Draws::new(self.seed);
        let n = self.n;
        let side = n + 1;
        let node = |i: usize, j: usize, k: usize| (i * side + j) * side + k;
        let mut nodes = vec![[0.0; 4]; side * side * side];
        let mut mass = vec![0.0; nodes.len()];
        let mut node_lines = vec![Line::default(); nodes.len()];
        // (colour, rows) of each site
        let mut sites: Vec<(usize, u32, Vec<Line>)> = Vec::new();
        for cell in 0..n * n * n {
            let (i, j, k) = (cell / (n * n), cell / n % n, cell % n);
            let corner: [usize; 8] =
                std::array::from_fn(|c| node(i + (c >> 2), j + (c >> 1 & 1), k + (c & 1)));
            let count = match self.basis {
                Basis::Particles(count) => count,
                _ => 3 + (draws.draw() * 6.0) as usize,
            };
            let mut lines = Vec::new();
            let mut whole = Line::default();
            for particle in 0..count {
                let volume = (0.5 + draws.draw()) / count as f64;
                let x = std::array::from_fn(|_| draws.draw());
                let strain: [f64; 6] =
                    std::array::from_fn(|_| 2.0 * volume * self.strain * draws.signed());
                let mut line = Line::default();
                let values = corners(x);
                for (c, (value, gradient)) in values.iter().enumerate() {
                    mass[corner[c]] += DENSITY * volume * value;
                    let b = gradient.map(|g| DT * volume * g);
                    line.columns.push((corner[c], b));
                    for (d, (value, _)) in values.iter().enumerate() {
                        let columns = &mut node_lines[corner[d]].columns;
                        let b = b.map(|b| b * value);
                        match columns.iter_mut().find(|(node, _)| *node == corner[c]) {
                            Some((_, sum)) => (0..3).for_each(|d| sum[d] += b[d]),
                            None => columns.push((corner[c], b)),
                        }
                    }
                    node_lines[corner[c]].volume += volume * value;
                    for (sum, strain) in node_lines[corner[c]].strain.iter_mut().zip(strain) {
                        *sum += strain * value;
                    }
                }
                line.volume = volume;
                line.strain = strain;
                whole.volume += volume;
                if whole.columns.is_empty() {
                    whole = line.clone();
                } else {
                    for (sum, (_, b)) in whole.columns.iter_mut().zip(&line.columns) {
                        (0..3).for_each(|d| sum.1[d] += b[d]);
                    }
                    for (sum, strain) in whole.strain.iter_mut().zip(strain) {
                        *sum += strain;
                    }
                }
                // Not every row of every site is there.
                if particle > 0 && draws.draw() < 0.1 {
                    line.volume = 0.0;
                }
                lines.push(line);
            }
            let colour = (i % 2) * 4 + (j % 2) * 2 + k % 2;
            let world = (i * self.worlds / n) as u32;
            match self.basis {
                Basis::Constant => sites.push((colour, world, vec![whole])),
                Basis::Particles(_) => sites.push((colour, world, lines)),
                Basis::Nodes => {}
            }
        }
        if self.basis == Basis::Nodes {
            for (at, line) in node_lines.into_iter().enumerate() {
                let (i, j, k) = (at / (side * side), at / side % side, at % side);
                let colour = (i % 3) * 9 + (j % 3) * 3 + k % 3;
                sites.push((colour, 0, vec![line]));
            }
        }
        for (at, (node, mass)) in nodes.iter_mut().zip(&mass).enumerate() {
            let place = [at / (side * side), at / side % side, at % side];
            for d in 0..3 {
                let centre = place[d] as f64 - 0.5 * n as f64;
                node[d] = (self.speed * draws.signed() - self.squeeze * centre) as f32;
            }
            node[3] = (1.0 / mass.max(1e-3)) as f32;
        }
        let colours = if self.basis == Basis::Nodes { 27 } else { 8 };
        Problem {
            sites: self.lanes(&sites, colours),
            nodes,
            contacts: Contacts::default(),
        }
    }

    fn lanes(&self, lines: &[(usize, u32, Vec<Line>)], colours: usize) -> Sites {
        let (width, rows) = match self.basis {
            Basis::Constant => (8, 1),
            Basis::Particles(rows) => (8, rows),
            Basis::Nodes => (27, 1),
        };
        let mut sites = Sites {
            width,
            rows,
            worlds: self.worlds,
            colours: vec![0],
            ..Sites::default()
        };
        for colour in 0..colours {
            let of: Vec<_> = lines.iter().filter(|line| line.0 == colour).collect();
            for block in of.chunks(LANES) {
                let start = sites.used.len();
                sites.used.push(block.len() as u8);
                sites.columns.resize((start + 1) * width, [0; LANES]);
                sites
                    .b
                    .resize((start + 1) * rows * width, [[0.0; LANES]; 3]);
                sites.volume.resize((start + 1) * rows, [0.0; LANES]);
                sites.offset.resize((start + 1) * rows, [[0.0; LANES]; 6]);
                sites.yields.resize((start + 1) * rows, [[0.0; LANES]; 6]);
                sites.stress.resize((start + 1) * rows, [[0.0; LANES]; 6]);
                if self.compliance[1] > 0.0 {
                    let size = (start + 1) * rows * rows;
                    sites.compliance.resize(size, [[0.0; LANES]; 2]);
                }
                let mut worlds = [0; LANES];
                for lane in 0..LANES {
                    // Unused lanes repeat the last site.
                    let (_, world, site) = block[lane.min(block.len() - 1)];
                    worlds[lane] = *world;
                    for row in 0..rows {
                        self.row(&mut sites, start * rows + row, lane, &site[row]);
                    }
                    for column in 0..width {
                        let (node, _) = *site[0].columns.get(column).unwrap_or(&site[0].columns[0]);
                        sites.columns[start * width + column][lane] = node as u32;
                    }
                }
                if self.worlds > 1 {
                    sites.world.push(worlds);
                }
            }
            sites.colours.push(sites.used.len());
        }
        sites
    }

    fn row(&self, sites: &mut Sites, at: usize, lane: usize, line: &Line) {
        let (width, rows) = (sites.width, sites.rows);
        for (column, (_, b)) in line.columns.iter().enumerate() {
            for d in 0..3 {
                sites.b[at * width + column][d][lane] = b[d] as f32;
            }
        }
        sites.volume[at][lane] = line.volume as f32;
        let [pressure, tension, stress, friction, dilatancy, viscosity] = self.yields;
        let bound = pressure * 1.5f64.sqrt();
        let yields = [
            bound,
            tension * bound,
            stress,
            friction * pressure,
            dilatancy,
            viscosity,
        ];
        for i in 0..6 {
            sites.yields[at][i][lane] = yields[i] as f32;
            sites.offset[at][i][lane] = line.strain[i] as f32;
        }
        if let Some(c) = sites.compliance.get_mut(at * rows + at % rows) {
            for i in 0..2 {
                c[i][lane] = (2.0 * line.volume * self.compliance[i]) as f32;
            }
            // A little of the other rows' stress too.
            for other in 0..rows {
                if other != at % rows {
                    let c = &mut sites.compliance[at * rows + other];
                    for i in 0..2 {
                        c[i][lane] = (0.02 * self.compliance[i]) as f32;
                    }
                }
            }
        }
    }
}

pub fn options(stages: &[Stage]) -> SolveOptions<'_> {
    SolveOptions {
        max_iterations: 100,
        tolerance: 0.0,
        relaxation: 1.0,
        legacy_half_adjoint: false,
        check_every: 5,
        stages,
        viscous: true,
        dilatant: true,
    }
}

pub const GAUSS_SEIDEL: &[Stage] = &[Stage::Rheology(RheologyKind::GaussSeidel)];
pub const BATCHED: &[Stage] = &[Stage::Rheology(RheologyKind::Batched)];
pub const JACOBI: &[Stage] = &[Stage::Rheology(RheologyKind::Jacobi)];

impl Problem {
    pub fn solve(&mut self, options: &SolveOptions) -> SolveReport {
        RheologySolver::default().solve(
            &mut self.sites,
            &mut self.contacts,
            &mut self.nodes,
            options,
        )
    }

    /// Σ v / m⁻¹.
    pub fn momentum(&self) -> [f64; 3] {
        std::array::from_fn(|d| {
            let part = |node: &Node| f64::from(node[d]) / f64::from(node[3]);
            self.nodes.iter().map(part).sum()
        })
    }

    pub fn fastest(&self) -> f32 {
        let sizes = self.nodes.iter().flat_map(|node| node[..3].iter());
        sizes.fold(0.0, |most, v| v.abs().max(most))
    }
}

/// Largest difference of velocities.
pub fn difference(a: &[Node], b: &[Node]) -> f32 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.fold(0.0, |most, (a, b)| (a - b).abs().max(most))
}

/// Largest difference of stresses in lanes that are in use, and the largest stress.
pub fn stress_difference(sites: &Sites, a: &[[Lane; 6]], b: &[[Lane; 6]]) -> (f32, f32) {
    let (mut most, mut size) = (0.0f32, 0.0f32);
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        for i in 0..6 {
            for lane in 0..usize::from(sites.used[at / sites.rows]) {
                most = most.max((a[i][lane] - b[i][lane]).abs());
                size = size.max(a[i][lane].abs());
            }
        }
    }
    (most, size)
}
