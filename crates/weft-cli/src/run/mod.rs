//! From a typed case to results: mesh, spaces, forms, solution, reports, files.
//!
//! [`check`] does everything up to the plans, [`run`] goes on to solve. Invariant: whatever is
//! wrong with a case is found before anything is solved, so a long run doesn't end in a typo.

mod formula;
mod mesh;
mod output;
mod parameters;
mod problem;
mod report;

pub(crate) use mesh::moved;
pub(crate) use report::bounds;

use crate::case::{Case, MeshSource};
use crate::diagnose::{Diagnostic, Diagnostics};
use crate::progress::Progress;
use crate::resident;
use crate::summary::{Ordered, Summary, VERSION};
use problem::Problem;
use report::Report;
use std::path::PathBuf;
use std::sync::Arc;
use weft::form::Scope;
use weft::geometry::Geometry;

/// How to run a case.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Folder for the results; exists already.
    pub out: PathBuf,
    /// Print a line about memory after each phase.
    pub memory: bool,
    /// Show no progress.
    pub silent: bool,
}

/// Progress, with a line about memory after each phase where asked.
struct Watch {
    progress: Progress,
    memory: bool,
    silent: bool,
    phases: usize,
}

impl Watch {
    fn new(memory: bool, silent: bool) -> Watch {
        Watch {
            progress: Progress::new(silent),
            memory,
            silent,
            phases: 0,
        }
    }

    fn phase(&mut self, name: &'static str) {
        self.memory_line();
        self.progress.phase(name);
        self.phases += 1;
    }

    fn line(&self, text: &str) {
        self.progress.line(text);
    }

    fn memory_line(&self) {
        if !self.memory || self.phases == 0 {
            return;
        }
        let line = resident::memory_line(self.phases);
        if self.silent {
            // Asked for, so shown; standard output stays with the results.
            eprintln!("{line}");
        } else {
            self.progress.line(&line);
        }
    }

    fn finish(self) -> Ordered<f64> {
        self.memory_line();
        self.progress.finish()
    }
}

/// A case with its plans, ready to be solved.
struct Prepared<'c> {
    geometry: Arc<dyn Geometry>,
    problem: Problem,
    reports: Vec<Report<'c>>,
    output: output::Plan,
}

/// Solves a case on rayon's current pool of threads and writes its results.
///
/// # Errors
/// A [`Diagnostic`] for what the case file has wrong, others for what fails while running.
pub fn run(case: &Case, options: &RunOptions) -> anyhow::Result<Summary> {
    let mut watch = Watch::new(options.memory, options.silent);
    let mut prepared = prepare(case, &mut watch)?;
    let outcome = prepared.problem.solve(case, &mut watch)?;

    watch.phase("reports");
    let mut reports = Ordered::default();
    for report in &mut prepared.reports {
        let value = report.evaluate(&mut prepared.problem)?;
        reports.insert(report.name(), value);
    }
    watch.phase("output");
    let solution = prepared.problem.solution();
    for file in prepared.output.write(case, solution, &options.out)? {
        watch.line(&format!("wrote {}", file.display()));
    }
    Ok(Summary {
        reports,
        dofs: solution.space().dof_count(),
        elements: prepared.geometry.topology().cell_count(),
        iterations: outcome.iterations,
        residual: outcome.residual,
        seconds: watch.finish(),
        peak_rss_mib: resident::peak_rss_mib(),
        threads: rayon::current_num_threads(),
        version: VERSION,
    })
}

/// Checks what needs the mesh and the forms, without solving.
///
/// # Errors
/// As [`run`].
pub fn check(case: &Case) -> anyhow::Result<()> {
    prepare(case, &mut Watch::new(false, true)).map(|_| ())
}

fn prepare<'c>(case: &'c Case, watch: &mut Watch) -> anyhow::Result<Prepared<'c>> {
    watch.phase("mesh");
    let (geometry, warnings) = mesh::build(case)?;
    watch.line(&mesh::describe(&*geometry));
    for warning in warnings {
        watch.line(&match &case.mesh.source {
            MeshSource::File(file) => format!("warning: {}: {warning}", file.value.display()),
            MeshSource::Shape(_) => format!("warning: {warning}"),
        });
    }

    watch.phase("plan");
    let spaces = problem::spaces(case, &geometry)?;
    let mut scope = Scope::new(geometry.clone());
    scope.set_degree(case.problem.quadrature_degree);
    parameters::define(&mut scope, case, &*geometry)?;
    // Spaces that aren't solved for are zero fields.
    for (name, space) in &spaces {
        scope.set_field(name, &weft::field::Field::zeros(space));
    }
    let unknown = case.unknown();
    let space = spaces
        .into_iter()
        .find_map(|(name, space)| (name == unknown.name.value).then_some(space))
        .ok_or_else(|| Diagnostic::new("the unknown has no space"))?;
    watch.line(&problem::describe(&unknown.name.value, &space));
    let problem = Problem::new(case, &scope, &space)?;

    // What is wanted of the solution sees it by the name of the unknown.
    scope.set_field(&unknown.name.value, problem.solution());
    let mut faults = Vec::new();
    let mut reports = Vec::new();
    for wanted in &case.reports {
        match Report::new(wanted, &scope, &geometry, problem.solution().space()) {
            Ok(report) => reports.push(report),
            Err(fault) => {
                faults.push(fault.about(&format!("report `{}`", wanted.name.value)));
            }
        }
    }
    let output = output::Plan::new(case, &scope, problem.solution(), &mut faults);
    let output = Diagnostics::unless_empty(faults, output)?;
    Ok(Prepared {
        geometry,
        problem,
        reports,
        output,
    })
}
