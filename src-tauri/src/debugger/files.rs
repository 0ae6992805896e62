//! The author's files of a request, as they ran.

use std::path::{Path, PathBuf};

use runner::ImportedSource;

/// The files that a request ran.
pub(super) struct Files {
    all: Vec<ImportedSource>,
    /// The workspace.
    dir: PathBuf,
}

/// A line of a file.
pub(super) struct SourceLine<'f> {
    pub(super) line: u32,
    pub(super) text: &'f str,
}

impl Files {
    pub(super) fn new(all: Vec<ImportedSource>, dir: &Path) -> Files {
        Files { all, dir: std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()) }
    }

    /// Finds a file by its name, or by a full path in the workspace: its number, and its name. Fails with the files
    /// that the request ran.
    pub(super) fn find(&self, name: &str) -> Result<(usize, &str), String> {
        let path = Path::new(name);
        let real = if path.is_absolute() { std::fs::canonicalize(path).ok() } else { None };
        let path = real.as_deref().unwrap_or(path);
        let inside = path.strip_prefix(&self.dir).unwrap_or(path).display().to_string().replace('\\', "/");
        let inside = inside.trim_start_matches("./");
        let is_it = |source: &&ImportedSource| source.file == inside;
        // A name without its folders is enough if one file has it.
        let ends_so = |source: &&ImportedSource| source.file.ends_with(&format!("/{inside}"));
        let found = match self.all.iter().position(|source| is_it(&source)) {
            None if self.all.iter().filter(ends_so).count() == 1 => self.all.iter().position(|source| ends_so(&source)),
            found => found,
        };
        found.map(|at| (at, self.all[at].file.as_str())).ok_or_else(|| {
            let known: Vec<&str> = self.all.iter().map(|source| source.file.as_str()).collect();
            format!("this request did not run {inside}; it ran {}", known.join(", "))
        })
    }

    /// The file with a number.
    pub(super) fn get(&self, at: usize) -> Option<&ImportedSource> {
        self.all.get(at)
    }

    /// Where a file is on the disk.
    pub(super) fn on_disk(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    /// Whether the disk has the text that ran.
    pub(super) fn is_unchanged(&self, source: &ImportedSource) -> bool {
        std::fs::read(self.on_disk(&source.file)).is_ok_and(|today| today == source.text.as_bytes())
    }

    /// The lines of a file around one of them.
    pub(super) fn around(&self, file: &str, line: u32, reach: u32) -> Vec<SourceLine<'_>> {
        let Some(source) = self.all.iter().find(|source| source.file == file) else { return Vec::new() };
        let first = line.saturating_sub(reach).max(1);
        let numbered = source.text.lines().zip(1..).skip(first as usize - 1);
        let near = numbered.take_while(|(_, number)| *number <= line.saturating_add(reach));
        near.map(|(text, line)| SourceLine { line, text }).collect()
    }
}
