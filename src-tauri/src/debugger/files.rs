//! The author's files of a request, in the versions that ran.

use std::path::{Path, PathBuf};

use runner::{ImportedSource, Instant};

/// The files that a request ran, in each version of the code if it was resumed after an edit.
pub(super) struct Files {
    /// Each distinct text once.
    all: Vec<ImportedSource>,
    /// The versions of the code, oldest first: their hash, and the indexes of their files in `all`.
    versions: Vec<(String, Vec<usize>)>,
    /// The workspace.
    dir: PathBuf,
}

/// A line of a file.
pub(super) struct SourceLine<'f> {
    pub(super) line: u32,
    pub(super) text: &'f str,
}

impl Files {
    pub(super) fn new(ran: Vec<(String, Vec<ImportedSource>)>, dir: &Path) -> Files {
        let mut all: Vec<ImportedSource> = Vec::new();
        let mut versions = Vec::new();
        for (code, sources) in ran {
            let mut places = Vec::new();
            for source in sources {
                let known = all.iter().position(|one| one.file == source.file && one.text == source.text);
                places.push(known.unwrap_or(all.len()));
                if known.is_none() {
                    all.push(source);
                }
            }
            versions.push((code, places));
        }
        Files { all, versions, dir: std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()) }
    }

    /// The index of a file in a version of the code.
    pub(super) fn in_version(&self, code: &str, file: &str) -> Option<usize> {
        let (_, places) = self.versions.iter().find(|(hash, _)| hash == code)?;
        places.iter().copied().find(|at| self.all[*at].file == file)
    }

    /// Finds the newest version of a file by its name or by a full path in the workspace. Returns its index and name.
    /// The error lists the files that the request ran.
    pub(super) fn find(&self, name: &str) -> Result<(usize, &str), String> {
        let path = Path::new(name);
        let real = if path.is_absolute() { runner::real_path(path) } else { path.to_owned() };
        let path = real.as_path();
        let inside = path.strip_prefix(&self.dir).unwrap_or(path).display().to_string().replace('\\', "/");
        let inside = inside.trim_start_matches("./");
        let is_it = |source: &&ImportedSource| source.file == inside;
        // A name without folders is enough if only one file has it.
        let ends_so = |source: &&ImportedSource| source.file.ends_with(&format!("/{inside}"));
        let found = match self.all.iter().rposition(|source| is_it(&source)) {
            None => self.all.iter().rposition(|source| ends_so(&source)).filter(|at| {
                let mut alike = self.all.iter().filter(ends_so);
                alike.all(|source| source.file == self.all[*at].file)
            }),
            found => found,
        };
        found.map(|at| (at, self.all[at].file.as_str())).ok_or_else(|| {
            let mut known: Vec<&str> = Vec::new();
            for source in &self.all {
                if !known.contains(&source.file.as_str()) {
                    known.push(&source.file);
                }
            }
            format!("this request did not run {inside}; it ran {}", known.join(", "))
        })
    }

    /// The file at an index.
    pub(super) fn get(&self, at: usize) -> Option<&ImportedSource> {
        self.all.get(at)
    }

    /// The path of a file on the disk.
    pub(super) fn on_disk(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    /// Whether the file on the disk is the version that ran.
    pub(super) fn is_unchanged(&self, source: &ImportedSource) -> bool {
        std::fs::read(self.on_disk(&source.file)).is_ok_and(|today| today == source.text.as_bytes())
    }

    /// The lines around the statement of an instant, as they ran.
    pub(super) fn around(&self, here: &Instant, reach: u32) -> Vec<SourceLine<'_>> {
        let Some(source) = self.in_version(&here.code, &here.file).map(|at| &self.all[at]) else { return Vec::new() };
        let line = here.line;
        let first = line.saturating_sub(reach).max(1);
        let numbered = source.text.lines().zip(1..).skip(first as usize - 1);
        let near = numbered.take_while(|(_, number)| *number <= line.saturating_add(reach));
        near.map(|(text, line)| SourceLine { line, text }).collect()
    }
}
