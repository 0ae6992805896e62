//! Files that are written under a temporary name and then renamed: `NAME.PID.part`.
//!
//! A process that is killed leaves one behind. A file is locked while it is written, so one without a lock is a
//! leftover.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The ending of the names of such files.
const END: &str = ".part";

/// A file that is being written. Dropping the value removes it, unless it was renamed to its final name.
pub(crate) struct UnfinishedFile {
    pub(crate) path: PathBuf,
    /// Locked.
    pub(crate) file: File,
}

impl UnfinishedFile {
    /// Creates the temporary file of `place`, in the same folder.
    pub(crate) fn beside(place: &Path) -> io::Result<UnfinishedFile> {
        let mut name = place.as_os_str().to_owned();
        name.push(format!(".{}{END}", std::process::id()));
        let path = PathBuf::from(name);
        loop {
            let file = File::create_new(&path)?;
            match file.try_lock() {
                // Another process is removing it as a leftover.
                Err(TryLockError::WouldBlock) => {
                    while path.exists() && file.try_lock().is_err() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                // Without locks, as on some network file systems, another process may remove it; then writing fails.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // Another process may have removed it before it was locked.
            if path.exists() {
                return Ok(UnfinishedFile { path, file });
            }
        }
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes the temporary files that killed processes left in the folders of `files`, if their final name would end in
/// `ending`. Errors are ignored.
pub(crate) fn remove_leftovers_beside(files: &[PathBuf], ending: &str) {
    // A link is written at its target.
    let place = |file: &PathBuf| std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
    let folders: HashSet<PathBuf> = files.iter().filter_map(|file| Some(place(file).parent()?.to_owned())).collect();
    folders.iter().for_each(|folder| remove_leftovers(folder, ending));
}

fn remove_leftovers(folder: &Path, ending: &str) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_leftover = name.to_str().is_some_and(|name| is_unfinished(name, ending));
        if !is_leftover || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        // Keep the lock until the file is removed; a live process holds the lock itself.
        if file.try_lock().is_ok() {
            let _ = std::fs::remove_file(path);
        }
        drop(file);
    }
}

/// Whether a name is `NAME.PID.part`, with a `NAME` that ends in `ending`.
fn is_unfinished(name: &str, ending: &str) -> bool {
    let place = name.strip_suffix(END).and_then(|rest| rest.rsplit_once('.'));
    place.is_some_and(|(place, id)| {
        place.ends_with(ending) && !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_leftover_is_removed_but_not_a_file_that_is_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let others = ["a.run", "a.run.part", "a.run.x.part", "a.txt.7.part"];
        for name in others.iter().chain(&["a.run.7.part"]) {
            std::fs::write(at(name), "x").unwrap();
        }
        let written = UnfinishedFile::beside(&at("b.run")).unwrap();
        remove_leftovers_beside(&[at("b.run")], ".run");
        assert!(others.iter().all(|name| at(name).exists()) && written.path.exists());
        assert!(!at("a.run.7.part").exists());
        let path = written.path.clone();
        drop(written);
        assert!(!path.exists());
    }
}
