//! Sweeps over strain rows and contacts until the strain corrections are small.

use super::blocks::{Blocks, Coupling};
use super::contact::Touch;
use super::crew::{Crew, with_crew};
use super::kernels::Sweep;
use super::krylov::Krylov;
use super::rows::MOST_COLUMNS;
use super::{Contacts, LANES, Lane, Node, Sites};
use crate::bytes::{Bytes, sum_of_bytes};
use crate::{RheologyKind, Stage};

/// Iterations of a rheology stage that is only a first guess.
const GUESS_ITERATIONS: usize = 5;

/// How to solve.
#[derive(Clone, Debug)]
pub(crate) struct SolveOptions<'a> {
    /// Most sweeps.
    pub max_iterations: usize,
    /// Stop when strain corrections are below this; 0: never.
    pub tolerance: f32,
    /// Part of each local correction that is applied, in (0, 1].
    pub relaxation: f32,
    /// Stress acts on velocity with half its weight.
    pub legacy_half_adjoint: bool,
    /// Sweeps between two checks of the tolerance.
    pub check_every: usize,
    /// Solvers from first guess to last. `Auto` is taken as Gauss–Seidel.
    pub stages: &'a [Stage],
    /// Some row has a viscosity.
    pub viscous: bool,
    /// Some row has a dilatancy.
    pub dilatant: bool,
}

/// How a solve went.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(crate) struct SolveReport {
    /// Sweeps of the last stage.
    pub sweeps: usize,
    /// Root of the summed squared strain corrections of the last sweep over 1 + rows (largest of
    /// the worlds). Corrections count before relaxation. NaN if the solution is not finite.
    pub residual_l2: f32,
    /// Largest strain correction of a row in the last sweep.
    pub residual_max: f32,
    /// Iterations of linear solvers.
    pub linear_iterations: usize,
}

/// Solves the steps of a simulation. Owns all scratch memory, kept from step to step; nothing is
/// allocated once sizes stop growing.
#[derive(Default)]
pub(crate) struct RheologySolver {
    blocks: Blocks,
    touch: Touch,
    krylov: Krylov,
    /// Velocity before the solve, for stages that are only a guess.
    start: Vec<Node>,
    worlds: Vec<World>,
}

impl Bytes for RheologySolver {
    fn bytes(&self) -> usize {
        let Self {
            blocks,
            touch,
            krylov,
            start,
            worlds,
        } = self;
        sum_of_bytes!(blocks, touch, krylov, start, worlds)
    }
}

/// Rows of a world, and the sum and largest of their squared corrections.
type World = (usize, f64, f32);

impl RheologySolver {
    /// Finds velocity, stress and impulses; `nodes` come with the velocity v* that momentum alone
    /// gives.
    pub fn solve(
        &mut self,
        sites: &mut Sites,
        contacts: &mut Contacts,
        nodes: &mut [Node],
        options: &SolveOptions,
    ) -> SolveReport {
        check(sites, contacts, nodes.len());
        with_crew(|crew| self.run(crew, sites, contacts, nodes, options))
    }

    /// After a solve: integrated plastic and elastic strain increments of each row, in global axes.
    /// `critical` is the part of each row's d0 offset to leave out of the elastic one; it may be
    /// empty.
    pub fn increments(
        &self,
        sites: &Sites,
        nodes: &[Node],
        plastic: &mut Vec<[Lane; 6]>,
        elastic: &mut Vec<[Lane; 6]>,
        critical: &[Lane],
    ) {
        plastic.resize(sites.stress.len(), [[0.0; LANES]; 6]);
        elastic.resize(sites.stress.len(), [[0.0; LANES]; 6]);
        check_columns(&sites.columns, nodes.len());
        with_crew(|crew| {
            // SAFETY: columns are checked.
            unsafe {
                self.blocks
                    .increments(crew, sites, nodes, critical, plastic, elastic);
            }
        });
    }

    fn run(
        &mut self,
        crew: &Crew,
        sites: &mut Sites,
        contacts: &mut Contacts,
        nodes: &mut [Node],
        options: &SolveOptions,
    ) -> SolveReport {
        self.touch.prepare(crew, contacts, nodes);
        let mut report = SolveReport::default();
        let (last, guesses) = match options.stages.split_last() {
            Some((last, guesses)) => (*last, guesses),
            None => (Stage::Rheology(RheologyKind::GaussSeidel), &[][..]),
        };
        for guess in guesses {
            self.start.clear();
            self.start.extend_from_slice(nodes);
            self.stage(crew, sites, None, nodes, options, *guess, &mut report);
            nodes.copy_from_slice(&self.start);
        }
        self.stage(
            crew,
            sites,
            Some(contacts),
            nodes,
            options,
            last,
            &mut report,
        );
        report
    }

    /// One solver of a chain; without contacts it is a guess.
    fn stage(
        &mut self,
        crew: &Crew,
        sites: &mut Sites,
        mut contacts: Option<&mut Contacts>,
        nodes: &mut [Node],
        options: &SolveOptions,
        stage: Stage,
        report: &mut SolveReport,
    ) {
        let coupling = match stage {
            Stage::Rheology(RheologyKind::Jacobi) => Coupling::Split(1),
            Stage::Rheology(RheologyKind::Batched) => Coupling::Split(match sites.colours.len() {
                28 => 9,
                offsets => offsets.saturating_sub(1).min(16),
            }),
            _ => Coupling::Sequential,
        };
        let mut sweep = Sweep {
            relaxation: options.relaxation,
            adjoint: if options.legacy_half_adjoint {
                0.5
            } else {
                1.0
            },
            measure: false,
        };
        // SAFETY, here and below: `check` has looked at all columns; that sites of one colour share
        // no node is the invariant of `Sites`.
        unsafe {
            let (viscous, dilatant) = (options.viscous, options.dilatant);
            self.blocks
                .prepare(crew, sites, nodes, coupling, viscous, dilatant);
        }
        if let Stage::Linear(kind) = stage {
            self.count(sites);
            let Self { blocks, krylov, .. } = self;
            let limits = (options.max_iterations, options.tolerance);
            let rows = self.worlds.iter().map(|world| world.0);
            // SAFETY: as above.
            let iterations = unsafe {
                krylov.solve(
                    crew,
                    blocks,
                    sites,
                    nodes,
                    kind,
                    sweep.adjoint,
                    limits,
                    rows,
                )
            };
            report.linear_iterations += iterations;
            blocks.globalise(crew, sites, None);
            self.converged(sites, options.tolerance, report);
            if contacts.is_some() {
                report.sweeps = iterations;
                // SAFETY: as above.
                unsafe { self.blocks.apply(crew, sites, nodes, None, sweep.adjoint) };
            }
            return;
        }
        self.blocks.project(crew, sites);
        // SAFETY: as above.
        unsafe { self.blocks.apply(crew, sites, nodes, None, sweep.adjoint) };
        if let Some(contacts) = contacts.as_deref_mut() {
            self.touch.first(crew, contacts, nodes);
        }
        let most = match contacts {
            Some(_) => options.max_iterations,
            None => GUESS_ITERATIONS,
        };
        self.count(sites);
        for iteration in 1..=most {
            if let Some(contacts) = contacts.as_deref_mut() {
                self.touch.sweep(crew, contacts, nodes);
            }
            sweep.measure = iteration % options.check_every.max(1) == 0 || iteration == most;
            // SAFETY: as above.
            unsafe { self.blocks.sweep(crew, sites, nodes, sweep) };
            report.sweeps = iteration;
            if sweep.measure && self.converged(sites, options.tolerance, report) {
                break;
            }
        }
        self.blocks.globalise(crew, sites, None);
    }

    /// Counts the rows of each world.
    fn count(&mut self, sites: &Sites) {
        self.worlds.clear();
        self.worlds.resize(sites.worlds.max(1), World::default());
        for (block, used) in sites.used.iter().enumerate() {
            for row in &sites.volume[block * sites.rows..(block + 1) * sites.rows] {
                for (lane, volume) in row.iter().enumerate().take((*used).into()) {
                    let world = sites.world_of(block, lane);
                    self.worlds[world].0 += usize::from(*volume > 0.0);
                }
            }
        }
    }

    /// Whether every world's corrections are below the tolerance.
    fn converged(&mut self, sites: &Sites, tolerance: f32, report: &mut SolveReport) -> bool {
        for world in &mut self.worlds {
            (world.1, world.2) = (0.0, 0.0);
        }
        for (block, [sum, worst]) in self.blocks.residual.iter().enumerate() {
            for lane in 0..usize::from(sites.used[block]) {
                let entry = &mut self.worlds[sites.world_of(block, lane)];
                entry.1 += f64::from(sum.0[lane]);
                entry.2 = entry.2.max(worst.0[lane]);
            }
        }
        report.residual_l2 = 0.0;
        report.residual_max = 0.0;
        for &(rows, sum, worst) in &self.worlds {
            let l2 = (sum / (1 + rows) as f64).sqrt() as f32;
            // A NaN stays.
            if l2.is_nan() || l2 > report.residual_l2 {
                report.residual_l2 = l2;
            }
            report.residual_max = report.residual_max.max(worst.sqrt());
        }
        report.residual_l2 < tolerance && report.residual_max < tolerance
    }
}

/// Sizes agree and columns are nodes: what the sweeps' unchecked reads rely on.
fn check(sites: &Sites, contacts: &Contacts, nodes: usize) {
    let blocks = sites.used.len();
    let rows = blocks * sites.rows;
    assert!(sites.width <= MOST_COLUMNS, "{} columns", sites.width);
    assert_eq!(sites.colours.last().copied().unwrap_or(0), blocks);
    assert!(sites.colours.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(sites.columns.len(), blocks * sites.width);
    assert_eq!(sites.b.len(), rows * sites.width);
    assert_eq!(sites.volume.len(), rows);
    assert_eq!(sites.offset.len(), rows);
    assert_eq!(sites.yields.len(), rows);
    assert_eq!(sites.stress.len(), rows);
    assert!(sites.compliance.is_empty() || sites.compliance.len() == rows * sites.rows);
    assert!(sites.used.iter().all(|used| usize::from(*used) <= LANES));
    let worlds = sites.worlds.max(1) as u32;
    assert!(worlds == 1 || sites.world.len() == blocks);
    assert!(worlds == 1 || sites.world.iter().flatten().all(|world| *world < worlds));
    check_columns(&sites.columns, nodes);
    check_columns(&contacts.columns, nodes);
}

fn check_columns(columns: &[[u32; LANES]], nodes: usize) {
    let most = columns.iter().flatten().copied().max();
    assert!(
        most.is_none_or(|most| (most as usize) < nodes),
        "column {most:?} of {nodes} nodes"
    );
}
