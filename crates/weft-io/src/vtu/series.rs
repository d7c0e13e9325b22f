//! Series of files over time (`.pvd`), as ParaView reads them.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{VtuError, escape};

/// A list of files with their times. After each [`Series::push`] the file on disk is complete.
#[derive(Clone, Debug)]
pub struct Series {
    path: PathBuf,
    entries: Vec<(f64, String)>,
}

impl Series {
    /// A series that will stand at `path`; nothing is written yet.
    pub fn new(path: impl Into<PathBuf>) -> Series {
        Series {
            path: path.into(),
            entries: Vec::new(),
        }
    }

    /// Adds a file that belongs to `time` and rewrites the list. A file below the list's own
    /// folder is named relative to it, so that the folder can be moved.
    ///
    /// # Errors
    /// [`VtuError::Time`] if the time isn't finite or doesn't follow the last, [`VtuError::Io`];
    /// the list is then as before, in memory and on disk.
    pub fn push(&mut self, time: f64, file: impl AsRef<Path>) -> Result<(), VtuError> {
        let last = self.entries.last().map(|e| e.0);
        if !time.is_finite() || last.is_some_and(|l| time <= l) {
            return Err(VtuError::Time { time, last });
        }
        let file = file.as_ref();
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let name = file
            .strip_prefix(folder)
            .unwrap_or(file)
            .to_string_lossy()
            .replace('\\', "/");
        self.entries.push((time, name));
        self.write().inspect_err(|_| {
            self.entries.pop();
        })
    }

    fn write(&mut self) -> Result<(), VtuError> {
        crate::atomic::write(&self.path, |out| {
            writeln!(out, "<?xml version=\"1.0\"?>")?;
            writeln!(
                out,
                "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">"
            )?;
            writeln!(out, "<Collection>")?;
            for (time, file) in &self.entries {
                let file = escape(file);
                writeln!(
                    out,
                    "<DataSet timestep=\"{time:?}\" group=\"\" part=\"0\" file=\"{file}\"/>"
                )?;
            }
            writeln!(out, "</Collection>\n</VTKFile>")
        })
        .map_err(|source| VtuError::Io {
            path: self.path.clone(),
            source,
        })
    }
}
