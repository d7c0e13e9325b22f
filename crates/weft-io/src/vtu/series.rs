//! Series of files over time (`.pvd`), as ParaView reads them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::VtuError;
use super::xml::{escape, unescape};

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

    /// The series at `path` up to and including `time`, to be continued by a run that restarts
    /// there; an empty one if there is no file. Later entries go with the next push; their files
    /// are left alone.
    ///
    /// # Errors
    /// [`VtuError::Io`], [`VtuError::Series`] for what isn't a list of files with rising times.
    pub fn resume(path: impl Into<PathBuf>, time: f64) -> Result<Series, VtuError> {
        let path = path.into();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Series::new(path)),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                return Err(VtuError::Series {
                    path,
                    line: 1,
                    what: "text in UTF-8 is expected".to_string(),
                });
            }
            Err(source) => return Err(VtuError::Read { path, source }),
        };
        match parse(&text) {
            Ok(mut entries) => {
                entries.retain(|e| e.0 <= time);
                Ok(Series { path, entries })
            }
            Err((at, what)) => Err(VtuError::Series {
                path,
                line: 1 + text[..at].matches('\n').count(),
                what,
            }),
        }
    }

    /// How many files are listed.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The last time; the next one must be later.
    pub fn last_time(&self) -> Option<f64> {
        self.entries.last().map(|e| e.0)
    }

    /// Adds a file that belongs to `time` and rewrites the list. A file below the list's own
    /// folder is named relative to it, so that the folder can be moved.
    ///
    /// # Errors
    /// [`VtuError::Time`] if the time isn't finite or doesn't follow the last, [`VtuError::Io`];
    /// the list is then as before, in memory and on disk.
    pub fn push(&mut self, time: f64, file: impl AsRef<Path>) -> Result<(), VtuError> {
        let last = self.last_time();
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

/// Times and names of a list, or what is wrong at which byte.
fn parse(text: &str) -> Result<Vec<(f64, String)>, (usize, String)> {
    let fail = |at: usize, what: &str| Err((at, what.to_string()));
    if !text.contains("type=\"Collection\"") {
        return fail(0, "no collection of files (type=\"Collection\") is here");
    }
    if !text.trim_end().ends_with("</VTKFile>") {
        return fail(text.len(), "the file ends before </VTKFile>");
    }
    let mut entries: Vec<(f64, String)> = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("<DataSet") {
        at += found;
        let Some(length) = text[at..].find('>') else {
            return fail(at, "a DataSet without end");
        };
        let tag = &text[at..at + length];
        let Some(file) = attribute(tag, "file").and_then(unescape) else {
            return fail(at, "a DataSet needs a readable attribute file");
        };
        let time = attribute(tag, "timestep").and_then(|t| t.trim().parse::<f64>().ok());
        let last = entries.last().map_or(f64::NEG_INFINITY, |e| e.0);
        match time {
            Some(time) if time.is_finite() && time > last => entries.push((time, file)),
            Some(time) => {
                let what = format!("the time {time:?} cannot follow {last:?}");
                return Err((at, what));
            }
            None => return fail(at, "a DataSet needs an attribute timestep that is a number"),
        }
        at += length;
    }
    Ok(entries)
}

/// The value of an attribute of a tag. Values hold no `"` and no `>` as they are escaped.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    Some(&tag[start..start + tag[start..].find('"')?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_series_goes_on_after_any_of_its_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.pvd");
        let name = |i: usize| format!("<{i}> & \"it's\"\n.vtp");
        // Times that have no short decimal form.
        let time = |i: usize| i as f64 / 60.0;
        let mut whole = Series::resume(&path, 1.0).unwrap();
        assert!(whole.is_empty() && whole.last_time().is_none());
        (0..7).for_each(|i| whole.push(time(i), name(i)).unwrap());
        let before = std::fs::read(&path).unwrap();
        for last in 0..7 {
            for (at, kept) in [
                (time(last), last + 1),
                (time(last) - 1e-9, last),
                (f64::INFINITY, 7),
                (-1.0, 0),
                (f64::NAN, 0),
            ] {
                std::fs::write(&path, &before).unwrap();
                let mut series = Series::resume(&path, at).unwrap();
                assert_eq!(series.len(), kept);
                assert_eq!(series.entries, whole.entries[..kept]);
                // Nothing was written yet; going on as before gives the same file.
                assert_eq!(std::fs::read(&path).unwrap(), before);
                (kept..7).for_each(|i| series.push(time(i), name(i)).unwrap());
                assert_eq!(std::fs::read(&path).unwrap(), before);
            }
        }
    }

    #[test]
    fn what_is_no_series_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.pvd");
        let refuse = |bytes: &[u8], part: &str| {
            std::fs::write(&path, bytes).unwrap();
            let message = Series::resume(&path, 1.0).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        };
        refuse(b"", "run.pvd:1: no collection");
        refuse(b"\xff\xfe", "UTF-8");
        let list = |body: &str| {
            format!("<VTKFile type=\"Collection\">\n<Collection>\n{body}\n</Collection></VTKFile>")
        };
        refuse(
            list("<DataSet ").replace('>', " ").as_bytes(),
            "ends before",
        );
        refuse(
            list("<DataSet timestep=\"0\"/>").as_bytes(),
            ":3: a DataSet needs a readable",
        );
        refuse(
            list("<DataSet timestep=\"0\" file=\"&no;\"/>").as_bytes(),
            "attribute file",
        );
        refuse(list("<DataSet file=\"a\"/>").as_bytes(), "timestep");
        refuse(
            list("<DataSet timestep=\"nan\" file=\"a\"/>").as_bytes(),
            "cannot follow",
        );
        let twice = "<DataSet timestep=\"1\" file=\"a\"/>\n".repeat(2);
        refuse(
            list(&twice).as_bytes(),
            ":4: the time 1.0 cannot follow 1.0",
        );
        std::fs::create_dir(folder.path().join("dir.pvd")).unwrap();
        let read = Series::resume(folder.path().join("dir.pvd"), 0.0);
        assert!(matches!(read, Err(VtuError::Read { .. })));
    }

    proptest! {
        #[test]
        fn any_name_survives(name in "\\PC*") {
            prop_assert_eq!(unescape(&escape(&name)), Some(name));
        }

        #[test]
        fn any_text_is_answered(text in "[<>/= \"&;#0-9a-zA-Z]*") {
            let _ = parse(&text);
            let _ = parse(&format!("type=\"Collection\"<DataSet {text}</VTKFile>"));
            let _ = unescape(&text);
        }
    }
}
