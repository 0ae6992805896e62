//! Temporary folders, which are removed with what is in them, also if the program ends at once.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use tempfile::TempDir;

use crate::core::sync::lock;

/// Those that are there.
static FOLDERS: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// A temporary folder.
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes one. Fails if the folder of temporary files is not writable.
    pub fn new() -> io::Result<Scratch> {
        let folder = tempfile::tempdir()?;
        lock(&FOLDERS).insert(folder.path().to_owned());
        Ok(Scratch(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        lock(&FOLDERS).remove(self.path());
    }
}

/// Removes all temporary folders: for a program that ends at once. What uses one fails from then on.
pub fn remove_scratch() {
    for folder in lock(&FOLDERS).drain() {
        // The system removes what is left.
        let _ = std::fs::remove_dir_all(folder);
    }
}
