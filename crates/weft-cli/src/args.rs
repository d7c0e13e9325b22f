//! The command line. Invariant: what [`Cli`] holds is complete and in range; only paths, and the
//! keys of `--set`, remain to be checked.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Examples for `weft --help`.
const EXAMPLES: &str = "\
Examples:
  weft run cases/bracket.toml                       solve, write out/bracket/
  weft run cases/bracket.toml --set spaces.u.degree=1 --out out/p1
  weft run cases/bracket.toml --set mesh.file=cases/data/bracket_v22.msh --json
  weft run cases/granular.toml --memory             material points; Ctrl-C writes a checkpoint
  weft run cases/granular.toml --resume             and this goes on from it
  weft check cases/bracket.toml                     find mistakes without solving
  weft info cases/data/bracket.msh                  cells, groups and quality of a mesh
  weft bench assembly --threads 2 --json            measure assembly on this machine

Exit codes: 0 done, 1 failed, 2 wrong command line, 130 stopped by Ctrl-C.";

/// Examples for `weft run --help`.
const RUN_EXAMPLES: &str = "\
Examples:
  weft run cases/bracket.toml
  weft run cases/bracket.toml --set parameters.E=70e9 --set 'parameters.t=[0, 0, -1e6]'
  weft run cases/coils.toml --json --threads 2 > coils.json
  weft run cases/granular.toml --small
  weft run cases/granular.toml --set steps=6500 --set mpm.voxel_size=0.25 --memory";

/// Finite elements from a case file.
#[derive(Parser, Debug)]
#[command(name = "weft", version, about, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of the program.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Solve a case file and write its results
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Check a case file without solving it
    Check(CheckArgs),
    /// Describe a mesh file: cells, groups, bounds, warnings
    Info(InfoArgs),
    /// Measure the engine on this machine
    Bench(BenchArgs),
}

/// `weft run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Case file (TOML)
    pub case: PathBuf,
    /// Folder for the results [default: out/ and the name of the case file]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Change a value of the case file, such as spaces.u.degree=1 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Print one JSON object on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Print a line about memory after each phase, or every 100 steps
    #[arg(long)]
    pub memory: bool,
    /// Go on from the checkpoint in the folder for the results (material points)
    #[arg(long)]
    pub resume: bool,
    /// Run the quick version that the case file's `small` table describes (material points)
    #[arg(long)]
    pub small: bool,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// `weft check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Case file (TOML)
    pub case: PathBuf,
    /// Check the quick version that the case file's `small` table describes (material points)
    #[arg(long)]
    pub small: bool,
    /// Change a value of the case file, such as spaces.u.degree=1 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
}

/// `weft info`.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// Mesh file
    pub mesh: PathBuf,
}

/// `weft bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub what: Bench,
}

/// The benchmarks.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// Numeric reassembly of Poisson and elasticity matrices on hexes and tets
    Assembly(BenchOptions),
    /// Sparse grids from points, closest points, topology
    Geometry(BenchOptions),
    /// Steps of material points and their parts
    Mpm(BenchOptions),
}

/// Options of every benchmark.
#[derive(Args, Debug)]
pub struct BenchOptions {
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
}

/// One `--set KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Dotted path of the value in the case file.
    pub key: String,
    /// TOML, or else plain text.
    pub value: String,
}

fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok(Setting {
            key: key.trim().to_string(),
            value: value.trim().to_string(),
        }),
        _ => Err("write it as key=value, such as spaces.u.degree=1".to_string()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("the number of threads is from 1 to 1024".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn settings_split_at_the_first_equals_sign() {
        let parsed = setting("problem.a = u*v*dx('a=b')").unwrap();
        assert_eq!(parsed.key, "problem.a");
        assert_eq!(parsed.value, "u*v*dx('a=b')");
        assert!(setting("mesh.file").is_err() && setting("=3").is_err());
        assert_eq!(setting("a=").unwrap().value, "");
    }
}
