//! Files that are whole or absent: written beside, flushed to the disk, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Removes the temporary file unless it was renamed.
struct Debris(Option<PathBuf>);

impl Drop for Debris {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nothing more can be done about a file that can't be removed.
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes `path` with what `content` writes; on any failure `path` is as it was before.
pub(crate) fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))?;
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(
        ".{}.{}.tmp",
        std::process::id(),
        COUNTER.fetch_add(1, Ordering::Relaxed)
    ));
    let temporary = path.with_file_name(beside);
    let file = File::create_new(&temporary)?;
    let mut debris = Debris(Some(temporary.clone()));
    let mut out = BufWriter::with_capacity(1 << 16, file);
    content(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, path)?;
    debris.0 = None;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn failure_leaves_the_old_file_and_no_debris() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        write(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write(&path, |w| {
            w.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "disk full");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        write(&path, |w| w.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(write(Path::new("/"), |_| Ok(())).is_err());
        assert!(write(&dir.path().join("no/such/dir"), |_| Ok(())).is_err());
        // A target that is a folder: the rename fails and the temporary goes.
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        assert!(write(&folder, |w| w.write_all(b"x")).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
