//! What the user sees while a case runs, and how long each phase took.
//!
//! A bar on a terminal, a line for each phase elsewhere, nothing when asked for quiet or JSON.
//! Invariant: the bar goes to standard error and never mixes with results.

use crate::summary::Ordered;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How to show progress.
enum View {
    Bar(ProgressBar),
    Lines,
    Silent,
}

/// Shows and times the phases of a run.
pub struct Progress {
    view: View,
    seconds: Ordered<f64>,
    current: Option<(&'static str, Instant)>,
}

impl Progress {
    /// A bar if standard error is a terminal, else lines; nothing if `silent`.
    pub fn new(silent: bool) -> Progress {
        let view = if silent {
            View::Silent
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::no_length();
            bar.set_style(spinner());
            bar.enable_steady_tick(Duration::from_millis(100));
            View::Bar(bar)
        } else {
            View::Lines
        };
        Progress {
            view,
            seconds: Ordered::default(),
            current: None,
        }
    }

    /// Ends the present phase and begins `name` ("mesh", "assembly", "solve", "output", ...). A
    /// phase entered again adds to its time.
    pub fn phase(&mut self, name: &'static str) {
        self.end_phase();
        self.current = Some((name, Instant::now()));
        if let View::Bar(bar) = &self.view {
            bar.set_style(spinner());
            bar.set_message(name);
        }
    }

    /// Shows step `step` of `steps` of the present phase, if there is a bar.
    pub fn step(&self, step: usize, steps: usize) {
        if let View::Bar(bar) = &self.view {
            if bar.length() != Some(steps as u64) {
                bar.set_style(counted());
                bar.set_length(steps as u64);
            }
            bar.set_position(step as u64);
        }
    }

    /// Prints a line that stays, unless silent.
    pub fn line(&self, text: &str) {
        match &self.view {
            View::Bar(bar) => bar.println(text),
            View::Lines => eprintln!("{text}"),
            View::Silent => {}
        }
    }

    /// Ends the last phase; gives the seconds of each phase, in the order they began.
    pub fn finish(mut self) -> Ordered<f64> {
        self.end_phase();
        if let View::Bar(bar) = &self.view {
            bar.finish_and_clear();
        }
        std::mem::take(&mut self.seconds)
    }

    fn end_phase(&mut self) {
        if let Some((name, start)) = self.current.take() {
            let seconds = start.elapsed().as_secs_f64();
            *self.seconds.entry(name) += seconds;
            if let View::Lines = self.view {
                eprintln!("{name:<12} {seconds:>9.3} s");
            }
        }
    }
}

impl Drop for Progress {
    /// After an error the bar must not stay on the terminal.
    fn drop(&mut self) {
        if let View::Bar(bar) = &self.view {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressStyle {
    style("{spinner} {msg} {elapsed}")
}

fn counted() -> ProgressStyle {
    style("{spinner} {msg} [{bar:30}] {pos}/{len} {elapsed}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_timed_in_order_and_add_up() {
        let mut progress = Progress::new(true);
        for name in ["solve", "assembly", "solve"] {
            progress.phase(name);
            progress.step(1, 2);
        }
        let seconds = progress.finish();
        let names: Vec<&str> = seconds.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["solve", "assembly"]);
        assert!(seconds.iter().all(|(_, s)| *s >= 0.0));
    }
}
