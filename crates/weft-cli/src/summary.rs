//! What a run found and used: printed, and kept as `summary.json`.
//!
//! Invariant: the keys of [`Summary`] are those of `--json` and stay as they are.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Named values in the order they were added; a map in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered<T>(Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered(Vec::new())
    }
}

impl<T> Ordered<T> {
    /// The value of `name`, which is added at the end if new.
    pub fn entry(&mut self, name: &str) -> &mut T
    where
        T: Default,
    {
        let found = self.0.iter().position(|(n, _)| n == name);
        let at = found.unwrap_or_else(|| {
            self.0.push((name.to_string(), T::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Adds a value at the end, in place of one of the same name.
    pub fn insert(&mut self, name: &str, value: T) {
        self.0.retain(|(n, _)| n != name);
        self.0.push((name.to_string(), value));
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The value of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ReportValue {
    /// One number.
    Number(f64),
    /// A vector, such as a reaction.
    Vector(Vec<f64>),
}

impl fmt::Display for ReportValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportValue::Number(value) => write!(f, "{value:.9e}"),
            ReportValue::Vector(values) => {
                let shown: Vec<String> = values.iter().map(|v| format!("{v:.9e}")).collect();
                write!(f, "[{}]", shown.join(", "))
            }
        }
    }
}

/// The result of `weft run`, serialised for `--json` and `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Report name → number or vector, in the order of the case file.
    pub reports: Ordered<ReportValue>,
    /// Number of unknowns, constrained ones included.
    pub dofs: usize,
    /// Number of cells.
    pub elements: usize,
    /// Iterations of the linear solver, or of Newton's method for a residual; 1 for a direct solve.
    pub iterations: usize,
    /// Relative residual of the solution.
    pub residual: f64,
    /// Phase → seconds, in the order the phases began.
    pub seconds: Ordered<f64>,
    /// Largest resident size of the process in MiB; null where the system doesn't say.
    pub peak_rss_mib: Option<f64>,
    /// Number of threads used.
    pub threads: usize,
    /// Version of the program.
    pub version: &'static str,
}

/// Version of the program, for [`Summary::version`].
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Summary {
    /// Writes `summary.json` whole or not at all.
    ///
    /// # Errors
    /// As [`write_json`].
    pub fn write(&self, path: &Path) -> io::Result<()> {
        write_json(self, path)
    }
}

/// Writes a value as JSON whole or not at all: beside it first, then renamed.
///
/// # Errors
/// Those of the file system, and of a folder that doesn't exist.
pub fn write_json(value: &impl Serialize, path: &Path) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = Path::new(&beside);
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    let written = File::create(beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(beside, path));
    if renamed.is_err() {
        // The error already tells; a leftover part is all that could remain.
        let _ = std::fs::remove_file(beside);
    }
    renamed
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.reports.iter().map(|(name, _)| name.chars().count());
        let width = width.max().unwrap_or(0);
        for (name, value) in self.reports.iter() {
            writeln!(f, "{name:<width$}  {value}")?;
        }
        let total: f64 = self.seconds.iter().map(|(_, seconds)| seconds).sum();
        write!(
            f,
            "{} elements, {} dofs, {} iterations, residual {:.1e}, {total:.3} s on {} threads",
            self.elements, self.dofs, self.iterations, self.residual, self.threads
        )?;
        match self.peak_rss_mib {
            Some(peak) => write!(f, ", {peak:.0} MiB"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        let mut reports = Ordered::default();
        reports.insert("volume", ReportValue::Number(0.5));
        reports.insert("reaction", ReportValue::Vector(vec![0.0, 1.0]));
        let mut seconds = Ordered::default();
        *seconds.entry("solve") += 0.25;
        *seconds.entry("mesh") += 0.5;
        Summary {
            reports,
            dofs: 10,
            elements: 4,
            iterations: 1,
            residual: 1e-15,
            seconds,
            peak_rss_mib: None,
            threads: 2,
            version: "0.0.0",
        }
    }

    #[test]
    fn json_has_the_promised_keys_in_order() {
        assert_eq!(
            serde_json::to_string(&summary()).unwrap(),
            "{\"reports\":{\"volume\":0.5,\"reaction\":[0.0,1.0]},\"dofs\":10,\"elements\":4,\
             \"iterations\":1,\"residual\":1e-15,\"seconds\":{\"solve\":0.25,\"mesh\":0.5},\
             \"peak_rss_mib\":null,\"threads\":2,\"version\":\"0.0.0\"}"
        );
    }

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        summary().write(&path).unwrap();
        summary().write(&path).unwrap();
        let read: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read["dofs"], 10);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(
            summary()
                .write(&folder.path().join("no/summary.json"))
                .is_err()
        );
    }

    #[test]
    fn the_printed_form_lists_reports() {
        let shown = summary().to_string();
        assert!(
            shown.starts_with("volume    5.000000000e-1\nreaction  [0.0"),
            "{shown}"
        );
        assert!(shown.ends_with(
            "4 elements, 10 dofs, 1 iterations, residual 1.0e-15, 0.750 s on 2 threads"
        ));
    }
}
