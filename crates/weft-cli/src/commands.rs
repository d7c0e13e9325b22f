//! Does what the command line asks, and turns the result into output and an exit code.
//!
//! Invariant: standard output carries results only (one JSON object with `--json`); errors and
//! progress go to standard error.

use crate::args::{Bench, BenchOptions, CheckArgs, Cli, Command, RunArgs};
use crate::case::Case;
use crate::diagnose::{Diagnostic, Diagnostics};
use crate::run::RunOptions;
use crate::{bench, info, run};
use anyhow::Context;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The exit code of a failed run.
pub const FAILED: u8 = 1;
/// The exit code of a wrong command line.
pub const USAGE: u8 = 2;

/// Runs the program.
pub fn dispatch(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Command::Run(args) => run_case(&args),
        Command::Check(args) => check_case(&args),
        Command::Info(args) => info::describe(&args.mesh).and_then(|text| print(&text)),
        Command::Bench(args) => match args.what {
            Bench::Assembly(options) => measure(&options, bench::assembly),
            Bench::Geometry(options) => measure(&options, bench::geometry),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
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

fn run_case(args: &RunArgs) -> anyhow::Result<()> {
    let case = Case::read(&args.case, &args.settings)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => Path::new("out").join(&case.name),
    };
    std::fs::create_dir_all(&out)
        .with_context(|| format!("cannot make the folder {}", out.display()))?;
    let options = RunOptions {
        out,
        memory: args.memory,
        silent: args.quiet || args.json,
    };
    let summary = on_threads(args.threads, || run::run(&case, &options))??;
    let path = options.out.join("summary.json");
    summary
        .write(&path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    if args.json {
        print(&serde_json::to_string(&summary)?)
    } else if args.quiet {
        Ok(())
    } else {
        print(&summary)?;
        print(&format!("results in {}", options.out.display()))
    }
}

fn check_case(args: &CheckArgs) -> anyhow::Result<()> {
    let case = Case::read(&args.case, &args.settings)?;
    run::check(&case)?;
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
