//! Runs scenes of material points.
//!
//! [`check`] makes everything up to the solver, [`run`] goes on to march. Invariant: a run that
//! is interrupted between steps and resumed has the same bits as one that is not.

mod build;
mod checkpoint;
mod measure;
mod output;
mod summary;

use crate::diagnose::{Diagnostic, Diagnostics};
use crate::progress::Progress;
use crate::resident;
use crate::scene::{Field, Scene};
use crate::summary::{Ordered, VERSION};
use build::Driven;
use measure::Balance;
use output::Outputs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use weft::memory::Pool;
use weft_mpm::collider::{Colliders, Motion, Pose};
use weft_mpm::emit::{Emitter, KillZone};
use weft_mpm::{
    ColliderVelocity, Config, Grains, MpmError, Particles, Solver, StepReport, update_frames,
};

pub use summary::{CheckResult, MpmSummary};

/// The cloud number of particles out of an emitter.
const NO_CLOUD: u16 = u16::MAX;

/// Limits of the stretch of particles' frames.
const MIN_STRETCH: f32 = 0.25;
const MAX_STRETCH: f32 = 2.0;

/// Steps between two lines of `--memory`.
const MEMORY_STEPS: usize = 100;

/// How to run a scene.
#[derive(Clone, Debug)]
pub struct SimulateOptions<'a> {
    /// Folder for the results; exists already.
    pub out: PathBuf,
    /// Print a line about memory every hundred steps.
    pub memory: bool,
    /// Show no progress.
    pub silent: bool,
    /// Go on from the checkpoint in the folder.
    pub resume: bool,
    /// When this becomes true, the run ends after its present step, with a checkpoint.
    pub stop: &'a AtomicBool,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// What it found and used.
    pub summary: MpmSummary,
    /// Whether it was stopped before its last step.
    pub interrupted: bool,
}

/// All that changes while a scene runs.
struct State {
    particles: Particles,
    /// Cloud of each particle.
    cloud: Vec<u16>,
    colliders: Colliders,
    /// Body of each collider.
    bodies: Vec<usize>,
    /// Where colliders that stand still are.
    origins: Vec<[f64; 3]>,
    /// Where bodies were before they last moved.
    before: Vec<Pose>,
    grains: Option<Grains>,
    driven: Vec<Driven>,
    emitters: Vec<Emitter>,
    kills: Vec<KillZone>,
    /// Steps done.
    step: usize,
    /// Sum of the impulses on each collider in the last step, N s.
    impulses: Vec<[f64; 3]>,
    /// Particles outside the grid in the last step, and most of a step so far.
    dropped: u64,
    most_dropped: u64,
    /// Particles removed so far.
    removed: u64,
    /// Largest error of the balance of momentum so far.
    balance: f64,
}

impl State {
    fn new(
        particles: Particles,
        cloud: Vec<u16>,
        colliders: Colliders,
        bodies: Vec<usize>,
    ) -> State {
        State {
            particles,
            cloud,
            impulses: vec![[0.0; 3]; bodies.len()],
            origins: vec![[0.0; 3]; bodies.len()],
            before: poses(&colliders),
            grains: None,
            colliders,
            bodies,
            driven: Vec::new(),
            emitters: Vec::new(),
            kills: Vec::new(),
            step: 0,
            dropped: 0,
            most_dropped: 0,
            removed: 0,
            balance: 0.0,
        }
    }

    /// Particles that come and go at the beginning of a step.
    fn renew(&mut self, time: f64) -> Result<(), MpmError> {
        for emitter in &mut self.emitters {
            emitter.emit(&mut self.particles, time)?;
        }
        self.cloud.resize(self.particles.len(), NO_CLOUD);
        for kill in &mut self.kills {
            let inside = |x: &[f64; 3]| kill.contains(*x);
            if !self.particles.position.iter().any(inside) {
                continue;
            }
            let gone: Vec<bool> = self.particles.position.iter().map(inside).collect();
            let mut kept = gone.iter().map(|g| !g);
            self.cloud.retain(|_| kept.next().unwrap_or(true));
            self.driven.iter_mut().for_each(|d| d.removed(&gone));
            self.removed += kill.apply(&mut self.particles) as u64;
        }
        Ok(())
    }

    /// Bytes of its arrays.
    fn bytes(&self) -> usize {
        fn of<T>(array: &Vec<T>) -> usize {
            array.capacity() * size_of::<T>()
        }
        let driven = self.driven.iter().map(|d| of(&d.index) + of(&d.rest));
        self.particles.bytes()
            + self.colliders.bytes()
            + self.grains.as_ref().map_or(0, Grains::bytes)
            + driven.sum::<usize>()
            + of(&self.cloud)
            + of(&self.bodies)
            + of(&self.origins)
            + of(&self.before)
            + of(&self.impulses)
    }
}

/// Where all bodies are.
fn poses(colliders: &Colliders) -> Vec<Pose> {
    let all = 0..colliders.body_count();
    all.map(|body| colliders.pose(body).unwrap_or_default())
        .collect()
}

/// A scene with its state and solver.
struct Prepared {
    state: State,
    solver: Solver,
}

fn prepare(scene: &Scene) -> Result<Prepared, Diagnostics> {
    let mut state = build::state(scene)?;
    for (origin, collider) in state.origins.iter_mut().zip(&scene.colliders) {
        *origin = collider.position;
    }
    if let Some(grains) = &scene.grains {
        let made = Grains::new(&state.particles, grains.per_particle, grains.seed);
        state.grains = Some(made.map_err(|e| Diagnostic::new(e.to_string()).at(&scene.mpm))?);
    }
    let materials = scene.materials.iter().map(|m| m.material).collect();
    let mut solver = Solver::new(
        scene.config.clone(),
        materials,
        &state.particles,
        &state.colliders,
    )
    .map_err(|error| Diagnostic::new(error.to_string()).at(&scene.mpm))?;
    solver.keep_particle_stress(scene.shows_stress());
    Ok(Prepared { state, solver })
}

/// Makes particles, colliders and solver, without a step.
///
/// # Errors
/// All faults that show then.
pub fn check(scene: &Scene) -> Result<(), Diagnostics> {
    prepare(scene).map(|_| ())
}

/// What is kept of the steps for the summary.
struct Record {
    start: Instant,
    first_step: Option<f64>,
    step_seconds: Vec<f64>,
    sweeps: Vec<usize>,
    last: StepReport,
    phases: Ordered<f64>,
    rss: Ordered<f64>,
}

impl Record {
    fn add(&mut self, report: &StepReport, seconds: f64) {
        self.first_step
            .get_or_insert_with(|| self.start.elapsed().as_secs_f64());
        self.step_seconds.push(seconds);
        self.sweeps.push(report.sweeps);
        for (name, seconds) in report.seconds.all() {
            *self.phases.entry(name) += seconds;
        }
        self.last = *report;
    }

    fn resident(&mut self, step: usize) {
        if let Some(mib) = resident::rss_mib() {
            self.rss.insert(&step.to_string(), mib);
        }
    }
}

/// Runs a scene on rayon's current pool of threads and writes its results.
///
/// # Errors
/// [`Diagnostics`] for what the file has wrong, others for what fails while running.
pub fn run(scene: &Scene, options: &SimulateOptions) -> anyhow::Result<Done> {
    let start = Instant::now();
    let mut progress = Progress::new(options.silent);
    progress.phase("set-up");
    let Prepared {
        mut state,
        mut solver,
    } = prepare(scene)?;
    if options.resume {
        checkpoint::resume(scene, &options.out, &mut state, &mut solver)?;
        progress.line(&format!("resumed after step {}", state.step));
    }
    let mut outputs = Outputs::new(scene, &options.out, state.step, options.resume)?;
    progress.line(&format!(
        "{} particles, {} colliders, cells of {} m, steps of {} s",
        state.particles.len(),
        state.colliders.len(),
        scene.config.voxel_size,
        scene.dt
    ));
    warn_of_strength(scene, &state, &progress);
    let left = scene.steps.saturating_sub(state.step);
    let mut record = Record {
        start,
        first_step: None,
        // Kept small for runs that are meant to be stopped.
        step_seconds: Vec::with_capacity(left.min(1 << 20)),
        sweeps: Vec::with_capacity(left.min(1 << 20)),
        last: StepReport::default(),
        phases: Ordered::default(),
        rss: Ordered::default(),
    };
    let set_up = start.elapsed().as_secs_f64();
    let mut seconds_output = 0.0;
    if state.step == 0 {
        seconds_output += timed(|| outputs.write(scene, &state))?;
    }
    progress.phase("steps");
    let mut interrupted = false;
    while state.step < scene.steps {
        let begin = Instant::now();
        let report = advance(scene, &mut state, &mut solver)?;
        record.add(&report, begin.elapsed().as_secs_f64());
        let step = state.step;
        seconds_output += timed(|| outputs.write(scene, &state))?;
        interrupted = step < scene.steps && options.stop.load(Ordering::Relaxed);
        let every = scene.output.checkpoint;
        if interrupted || (every > 0 && step.is_multiple_of(every)) {
            seconds_output += timed(|| checkpoint::write(scene, &options.out, &state, &solver))?;
        }
        progress.step(step, scene.steps);
        if step == 10 || step == 50 || step == scene.steps || interrupted {
            record.resident(step);
        }
        if options.memory && step.is_multiple_of(MEMORY_STEPS) {
            record.resident(step);
            let line = memory_line(step, live_bytes(&state, &solver));
            if options.silent {
                // Asked for, so shown; standard output stays with the results.
                eprintln!("{line}");
            } else {
                progress.line(&line);
            }
        }
        if interrupted {
            progress.line(&format!(
                "stopped after step {step}; a checkpoint is written"
            ));
            break;
        }
    }
    progress.phase("output");
    let (reports, checks) = measured(scene, &state);
    if !interrupted {
        seconds_output += timed(|| outputs.finish(scene, &state))?;
    }
    for file in outputs.written() {
        progress.line(&format!("wrote {file}"));
    }
    progress.finish();
    let mut seconds = Ordered::default();
    seconds.insert("set-up", set_up);
    for (name, sum) in record.phases.iter() {
        seconds.insert(name, *sum);
    }
    seconds.insert("output", seconds_output);
    let summary = MpmSummary {
        particles: state.particles.len(),
        steps: state.step,
        step_seconds_median: summary::median(&mut record.step_seconds),
        first_step_seconds: record.first_step,
        sweeps_median: summary::median_count(&mut record.sweeps),
        residual_l2: f64::from(record.last.residual_l2),
        residual_max: f64::from(record.last.residual_max),
        particles_binned: record.last.binned,
        particles_dropped: state.dropped as usize,
        particles_dropped_most: state.most_dropped as usize,
        live_bytes: live_bytes(&state, &solver),
        pooled_bytes: Pool::default_pool().stats().pooled_bytes,
        rss_mib: record.rss,
        peak_rss_mib: resident::peak_rss_mib(),
        seconds,
        reports,
        checks,
        threads: rayon::current_num_threads(),
        version: VERSION,
    };
    Ok(Done {
        summary,
        interrupted,
    })
}

/// One step: particles come and go, material, bodies.
fn advance(scene: &Scene, state: &mut State, solver: &mut Solver) -> anyhow::Result<StepReport> {
    let dt = scene.dt;
    let failed = |state: &State| {
        let step = state.step + 1;
        move |error: MpmError| anyhow::anyhow!("step {step}: {error}")
    };
    let fail = failed(state);
    state.renew(state.step as f64 * dt).map_err(&fail)?;
    let before = Balance::of(state, &scene.config);
    // Before the material's step, whose contacts then take up a body's weight before it moves.
    accelerate(state, &scene.config, dt).map_err(&fail)?;
    let report = solver
        .step(&mut state.particles, &mut state.colliders, dt)
        .map_err(&fail)?;
    state.impulses.fill([0.0; 3]);
    for contact in solver.impulses() {
        if let Some(sum) = state.impulses.get_mut(contact.collider) {
            (0..3).for_each(|d| sum[d] += contact.impulse[d]);
        }
    }
    let after = Balance::of(state, &scene.config);
    let error = before.error(&after, dt, state);
    if error > state.balance || error.is_nan() {
        state.balance = error;
    }
    if scene.project_outside {
        // Looks ahead to where bodies are at the end of the step: they move by their velocities.
        let mode = ColliderVelocity::Forward;
        state
            .colliders
            .project_outside(&mut state.particles, dt, None, mode)
            .map_err(&fail)?;
    }
    let parts = scene.rigid_substeps;
    for (body, pose) in state.before.iter_mut().enumerate() {
        *pose = state.colliders.pose(body).unwrap_or_default();
    }
    for _ in 0..parts {
        state
            .colliders
            .integrate(dt / parts as f64, [0.0; 3])
            .map_err(&fail)?;
    }
    settle(&mut state.colliders).map_err(&fail)?;
    state.step += 1;
    let time = state.step as f64 * dt;
    for driven in &state.driven {
        driven.place(&mut state.particles, time);
    }
    if let Some(grains) = &mut state.grains {
        update_frames(&mut state.particles, dt, MIN_STRETCH, MAX_STRETCH).map_err(&fail)?;
        grains.update(solver, &state.particles, dt).map_err(&fail)?;
    } else if scene.output.fields.contains(&Field::Frame) {
        update_frames(&mut state.particles, dt, MIN_STRETCH, MAX_STRETCH).map_err(&fail)?;
    }
    state.dropped = report.dropped as u64;
    state.most_dropped = state.most_dropped.max(state.dropped);
    Ok(report)
}

/// Gives free bodies what gravity adds in a step, each that of its world.
fn accelerate(state: &mut State, config: &Config, dt: f64) -> Result<(), MpmError> {
    for body in 0..state.colliders.body_count() {
        if state.colliders.motion(body) == Some(Motion::Dynamic) {
            let (mut linear, angular) = state.colliders.velocity(body).unwrap_or_default();
            let gravity = measure::gravity(config, measure::world_of(&state.colliders, body));
            (0..3).for_each(|d| linear[d] += dt * gravity[d]);
            state.colliders.set_velocity(body, linear, angular)?;
        }
    }
    Ok(())
}

/// Makes the rotations of bodies such that setting them again leaves every bit as it is: a
/// checkpoint holds poses, and setting one makes its quaternion a unit again.
fn settle(colliders: &mut Colliders) -> Result<(), MpmError> {
    for body in 0..colliders.body_count() {
        if colliders.motion(body) == Some(Motion::Static) {
            continue;
        }
        // Once or twice is enough.
        for _ in 0..16 {
            let pose = colliders.pose(body).unwrap_or_default();
            colliders.set_pose(body, pose)?;
            if colliders.pose(body) == Some(pose) {
                break;
            }
        }
    }
    Ok(())
}

/// The values of all probes and the outcome of all checks.
fn measured(
    scene: &Scene,
    state: &State,
) -> (Ordered<crate::summary::ReportValue>, Ordered<CheckResult>) {
    let mut reports = Ordered::default();
    for probe in &scene.probes {
        let value = measure::measure(&probe.quantity, state, &scene.config, scene.dt);
        reports.insert(&probe.name.value, value);
    }
    let mut checks = Ordered::default();
    for check in &scene.checks {
        let value = match measure::measure(&check.quantity, state, &scene.config, scene.dt) {
            crate::summary::ReportValue::Number(value) => value,
            // Proven: a check of a vector has a component.
            crate::summary::ReportValue::Vector(_) => f64::NAN,
        };
        // No number passes no bound.
        let passed = !value.is_nan()
            && check.at_least.is_none_or(|low| value >= low)
            && check.at_most.is_none_or(|high| value <= high);
        let result = CheckResult {
            value: Some(value).filter(|v| v.is_finite()),
            at_least: check.at_least,
            at_most: check.at_most,
            passed,
        };
        checks.insert(&check.name, result);
    }
    (reports, checks)
}

/// A material that hardens has no strength while its plastic volume ratio is 1.
fn warn_of_strength(scene: &Scene, state: &State, progress: &Progress) {
    for (number, named) in scene.materials.iter().enumerate() {
        let p = &state.particles;
        let weak = (0..p.len())
            .filter(|&i| usize::from(p.material[i]) == number && p.plastic_volume[i] >= 1.0)
            .count();
        if named.material.hardening > 0.0 && weak > 0 {
            progress.line(&format!(
                "warning: {weak} particles of material `{}` have hardening and no strength: give \
                 them initial_plastic_volume below 1",
                named.name.value
            ));
        }
    }
}

/// Seconds that some work took.
fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Bytes in use: those of the state, the solver and the pool.
fn live_bytes(state: &State, solver: &Solver) -> usize {
    state.bytes() + solver.bytes() + Pool::default_pool().stats().live_bytes
}

fn memory_line(step: usize, live: usize) -> String {
    let pooled = Pool::default_pool().stats().pooled_bytes;
    let resident = resident::rss_mib().map_or("unknown".to_string(), |mib| format!("{mib:.2}"));
    format!(
        "memory: step {step}, live {live} bytes, pooled {pooled} bytes, resident {resident} MiB"
    )
}
