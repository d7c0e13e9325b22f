//! Does what the command line asks, and turns the result into output and an exit code.
//!
//! Invariant: standard output carries results only (one JSON object with `--json`); errors and
//! progress go to standard error.

use crate::args::{Bench, BenchOptions, CheckArgs, Cli, Command, RunArgs};
use crate::case::Case;
use crate::diagnose::{Diagnostic, Diagnostics};
use crate::document::Document;
use crate::run::RunOptions;
use crate::scene::{self, Scene};
use crate::simulate::{self, SimulateOptions};
use crate::summary::write_json;
use crate::{bench, info, run};
use anyhow::{Context, bail};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a failed run.
pub const FAILED: u8 = 1;
/// The exit code of a wrong command line.
pub const USAGE: u8 = 2;
/// The exit code of a run that was stopped by Ctrl-C, as shells give it.
pub const STOPPED: u8 = 130;

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// Runs the program.
pub fn dispatch(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Command::Run(args) => return finish(run_any(&args)),
        Command::Check(args) => check_any(&args),
        Command::Info(args) => info::describe(&args.mesh).and_then(|text| print(&text)),
        Command::Bench(args) => match args.what {
            Bench::Assembly(options) => measure(&options, bench::assembly),
            Bench::Geometry(options) => measure(&options, bench::geometry),
            Bench::Mpm(options) => measure(&options, bench::mpm),
        },
    };
    finish(done.map(|()| ExitCode::SUCCESS))
}

/// The exit code; an error is told on standard error.
fn finish(done: anyhow::Result<ExitCode>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(error) => {
            let (text, code) = explain(&error);
            // If standard error is closed there is nobody left to tell.
            let _ = writeln!(io::stderr(), "{text}");
            ExitCode::from(code)
        }
    }
}

/// The text for an error and the exit code: 2 if only the command line is at fault.
fn explain(error: &anyhow::Error) -> (String, u8) {
    let faults = match error.downcast_ref::<Diagnostics>() {
        Some(all) => all.faults(),
        None => error
            .downcast_ref::<Diagnostic>()
            .map_or(&[][..], std::slice::from_ref),
    };
    if faults.is_empty() {
        return (format!("error: {error:#}"), FAILED);
    }
    let text = error.to_string();
    if faults.iter().all(Diagnostic::on_command_line) {
        (text, USAGE)
    } else {
        (text, FAILED)
    }
}

/// Whether a case file is a scene of material points, and its text.
fn read_text(path: &Path) -> Result<(String, bool), Diagnostics> {
    let text = scene::text_of(path)?;
    let document = Document::parse(&path.display().to_string(), &text)?;
    let is_scene = scene::is_scene(&document.root);
    Ok((text, is_scene))
}

fn run_any(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let (text, is_scene) = read_text(&args.case)?;
    if is_scene {
        return run_scene(args, &text);
    }
    refuse(args.small, "small")?;
    refuse(args.resume, "resume")?;
    let case = Case::parse(&args.case, &text, &args.settings)?;
    let options = RunOptions {
        out: out_folder(args.out.as_ref(), &case.name)?,
        memory: args.memory,
        silent: args.quiet || args.json,
    };
    let summary = on_threads(args.threads, || run::run(&case, &options))??;
    show(args, &options.out, &summary)?;
    Ok(ExitCode::SUCCESS)
}

fn run_scene(args: &RunArgs, text: &str) -> anyhow::Result<ExitCode> {
    let scene = Scene::parse(&args.case, text, &args.settings, args.small)?;
    ctrlc::set_handler(|| {
        // Who asks twice does not want to wait for the end of the step.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(STOPPED));
        }
    })
    .context("cannot listen for Ctrl-C")?;
    let options = SimulateOptions {
        out: out_folder(args.out.as_ref(), &scene.name)?,
        memory: args.memory,
        silent: args.quiet || args.json,
        resume: args.resume,
        stop: &STOP,
    };
    let done = on_threads(args.threads, || simulate::run(&scene, &options))??;
    show(args, &options.out, &done.summary)?;
    if done.interrupted {
        return Ok(ExitCode::from(STOPPED));
    }
    let failed = done.summary.failed();
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let named: Vec<String> = failed.iter().map(|name| format!("`{name}`")).collect();
    bail!("checks that do not hold: {}", named.join(", "))
}

/// Flags that only scenes have.
fn refuse(given: bool, flag: &str) -> anyhow::Result<()> {
    if given {
        bail!("--{flag} is for scenes of material points, which have [mpm]");
    }
    Ok(())
}

/// The folder for results, made if it is not there.
fn out_folder(given: Option<&PathBuf>, name: &str) -> anyhow::Result<PathBuf> {
    let out = given.map_or_else(|| Path::new("out").join(name), PathBuf::clone);
    std::fs::create_dir_all(&out)
        .with_context(|| format!("cannot make the folder {}", out.display()))?;
    Ok(out)
}

/// Keeps a summary as `summary.json`, and prints it as asked.
fn show(args: &RunArgs, out: &Path, summary: &(impl Serialize + Display)) -> anyhow::Result<()> {
    let path = out.join("summary.json");
    write_json(summary, &path).with_context(|| format!("cannot write {}", path.display()))?;
    if args.json {
        print(&serde_json::to_string(summary)?)
    } else if args.quiet {
        Ok(())
    } else {
        print(summary)?;
        print(&format!("results in {}", out.display()))
    }
}

fn check_any(args: &CheckArgs) -> anyhow::Result<()> {
    let (text, is_scene) = read_text(&args.case)?;
    if is_scene {
        let scene = Scene::parse(&args.case, &text, &args.settings, args.small)?;
        simulate::check(&scene)?;
    } else {
        refuse(args.small, "small")?;
        run::check(&Case::parse(&args.case, &text, &args.settings)?)?;
    }
    print(&format!("{}: no mistakes found", args.case.display()))
}

fn measure<T: Serialize + Display + Send>(
    options: &BenchOptions,
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<()> {
    let measured = on_threads(options.threads, work)??;
    if options.json {
        print(&serde_json::to_string(&measured)?)
    } else {
        print(&measured)
    }
}

/// Runs `work` on that many threads, or on one for each processor.
fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> anyhow::Result<T> {
    // Rayon takes 0 to mean all processors.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .context("cannot start threads")?;
    Ok(pool.install(work))
}

/// Prints a result; a reader that has gone away (`weft info ... | head`) is no error.
fn print(text: &impl Display) -> anyhow::Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}
