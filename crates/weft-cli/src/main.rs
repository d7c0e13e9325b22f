//! The program `weft`.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    weft_cli::commands::dispatch(weft_cli::args::Cli::parse())
}
