//! Finds the files of a workspace that may be flow files.
//!
//! If `flowglass.json` names `flows`, only those files and folders. Otherwise all files in `flows/`, and in the rest of
//! the folder those that call `defineFlow` (`script::may_define_flow`). Installed, built and hidden files and tests are
//! left out. Must not load a file.

use std::collections::{BTreeSet, HashMap};
use std::fs::{DirEntry, FileType};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::core::fault::Fault;
use crate::core::ordinary_files;

/// Folders of installed packages and of generated files.
const NOT_SOURCES: [&str; 7] = ["node_modules", "dist", "build", "out", "coverage", "target", "bower_components"];
/// Folders of tests, whose flows are only for testing.
const TESTS: [&str; 6] = ["test", "tests", "__tests__", "__mocks__", "__fixtures__", "e2e"];
/// The maximum size of a file, equal to that of the bundler.
const MAX_BYTES: u64 = 16 << 20;
/// The maximum number of files and folders. A home folder or a disk has more.
const MAX_ENTRIES: usize = 200_000;

/// How many files without a flow are named.
const MOST_NAMED: usize = 3;

/// The result of a search for flow files.
#[derive(Debug, Default)]
pub(crate) struct FlowFiles {
    /// The files that may define a flow, sorted.
    pub(super) files: Vec<PathBuf>,
    /// The number of all TypeScript files.
    seen: usize,
    /// Folders that could not be read.
    unreadable: Vec<PathBuf>,
    /// Whether there were more than [`MAX_ENTRIES`].
    is_cut: bool,
}

/// Known files, which are read again only if they change.
pub(super) type Sightings = HashMap<PathBuf, Sighting>;

/// The version of a file, and whether it may define a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sighting {
    modified: Option<SystemTime>,
    bytes: u64,
    may_define_flow: bool,
}

/// Searches for flow files.
///
/// A link in `flows` to a folder outside the workspace is listed like a file, so that its refusal is shown.
pub(super) fn flow_files(
    workspace: &Path,
    folders: Option<&[PathBuf]>,
    sightings: &mut Sightings,
) -> Result<FlowFiles, Fault> {
    let mut walk = Walk { workspace, entered: BTreeSet::new(), found: FlowFiles::default(), entries: 0 };
    match folders {
        Some(folders) => {
            for folder in folders {
                walk.add_named(folder)?;
            }
        }
        None => {
            let mut now = Sightings::new();
            walk.look_into(workspace, sightings, &mut now);
            *sightings = now;
            let inner = workspace.join("flows");
            if inner.is_dir() {
                walk.enter(&inner)?;
            }
        }
    }
    let mut found = walk.found;
    found.files.sort();
    found.files.dedup();
    for folder in &found.unreadable {
        tracing::warn!(folder = %folder.display(), "a folder cannot be read, so its flows are not known");
    }
    if found.is_cut {
        tracing::warn!("there are more than {MAX_ENTRIES} files; name the folders of flows in flowglass.json");
    }
    Ok(found)
}

impl FlowFiles {
    /// Describes where flows were searched, and what to do if none was found.
    pub(super) fn whereabouts(&self, workspace: &Path, folders: Option<&[PathBuf]>) -> String {
        let counted = |count: usize| match count {
            1 => "1 TypeScript file".to_owned(),
            count => format!("{count} TypeScript files"),
        };
        let mut text = match folders {
            Some(folders) => {
                let named: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
                format!(
                    "no flow found: \"flows\" in flowglass.json names {}, where {} export none; write: export default \
                     defineFlow({{ … }})",
                    if named.is_empty() { "nothing".to_owned() } else { named.join(", ") },
                    counted(self.seen)
                )
            }
            None => format!(
                "no flow found in {}: looked into {} in it and its folders, of which {}. Left out are hidden folders, \
                 {}, and tests ({}). A flow is a file that exports what defineFlow makes, like flows/main.ts; a file \
                 that exports what a function of another one makes is looked into where it lies in flows/ or is called \
                 *.flow.ts; \"flows\" in flowglass.json names other places",
                workspace.display(),
                counted(self.seen),
                self.without_flow(workspace),
                NOT_SOURCES.join(", "),
                TESTS.join(", "),
            ),
        };
        for folder in &self.unreadable {
            let shown = folder.strip_prefix(workspace).unwrap_or(folder);
            text.push_str(&format!(". {} cannot be read", shown.display()));
        }
        if self.is_cut {
            text.push_str(&format!(". There are more than {MAX_ENTRIES} files, and the rest was not looked into"));
        }
        text
    }

    /// Describes the files that may define a flow but do not.
    fn without_flow(&self, workspace: &Path) -> String {
        let name = |file: &PathBuf| file.strip_prefix(workspace).unwrap_or(file).display().to_string();
        let mut names: Vec<String> = self.files.iter().take(MOST_NAMED).map(name).collect();
        let more = self.files.len() - names.len();
        if more > 0 {
            names.push(format!("{more} more"));
        }
        match (names.pop(), names.is_empty()) {
            (None, _) => "none may define a flow".to_owned(),
            (Some(only), true) => format!("{only} may define a flow and does not"),
            (Some(last), false) => format!("{} and {last} may define a flow and none does", names.join(", ")),
        }
    }
}

/// Whether a folder looks like a workspace: it has settings, flow files or recorded runs.
pub(crate) fn is_workspace(folder: &Path) -> bool {
    [".flowglass", "flowglass.json", "flows"].iter().any(|name| folder.join(name).exists())
        || (!holds_everything(folder, std::env::home_dir().as_deref()) && has_flows(folder))
}

/// Whether a folder is the root or a person's home, in which desktops start programs. Flow files below it belong to
/// other folders, and a search would read all files of the person.
fn holds_everything(folder: &Path, home: Option<&Path>) -> bool {
    let real = |folder: &Path| std::fs::canonicalize(folder).ok();
    real(folder).is_some_and(|folder| folder.parent().is_none() || home.and_then(real).as_ref() == Some(&folder))
}

/// Whether a folder has flow files in the default places, or settings that may name them.
pub(crate) fn has_flows(folder: &Path) -> bool {
    folder.join("flowglass.json").exists()
        || std::fs::canonicalize(folder)
            .is_ok_and(|real| flow_files(&real, None, &mut HashMap::new()).is_ok_and(|found| !found.files.is_empty()))
}

struct Walk<'w> {
    workspace: &'w Path,
    /// The real folders that were entered, because links may form cycles.
    entered: BTreeSet<PathBuf>,
    found: FlowFiles,
    entries: usize,
}

impl Walk<'_> {
    /// Adds a file or folder that `flowglass.json` names.
    fn add_named(&mut self, named: &Path) -> Result<(), Fault> {
        let path = self.workspace.join(named);
        let Ok(real) = std::fs::canonicalize(&path) else {
            return Err(Fault::invalid(format!(
                "flowglass.json: \"flows\" names {}, which does not exist",
                named.display()
            )));
        };
        if !real.starts_with(self.workspace) {
            return Err(Fault::invalid(format!(
                "flowglass.json: \"flows\" names {}, which leads out of the workspace; open the folder that holds both",
                named.display()
            )));
        }
        if real.is_dir() {
            return self.enter(&path);
        }
        self.add(path);
        Ok(())
    }

    fn add(&mut self, file: PathBuf) {
        self.found.seen += 1;
        self.found.files.push(file);
    }

    /// Adds a folder with everything in it, once.
    fn enter(&mut self, folder: &Path) -> Result<(), Fault> {
        let real = std::fs::canonicalize(folder)?;
        if !real.starts_with(self.workspace) {
            self.add(folder.to_owned());
            return Ok(());
        }
        if !self.entered.insert(real) {
            return Ok(());
        }
        for entry in self.entries_of(folder) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_left_out(&name) || name == "types" {
                continue;
            }
            if path.is_dir() {
                self.enter(&path)?;
            } else if name.ends_with(".ts") && is_source(&name) {
                self.add(path);
            }
        }
        Ok(())
    }

    /// Adds the files in a folder, at any depth, that may define flows. Links are skipped: their targets inside the
    /// workspace are found at their own places, and others cannot be imported. In the opened folder itself, links and
    /// pipes are listed like files, so that their refusal is shown.
    fn look_into(&mut self, folder: &Path, before: &Sightings, now: &mut Sightings) {
        for entry in self.entries_of(folder) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is = |of: fn(&FileType) -> bool| entry.file_type().is_ok_and(|kind| of(&kind));
            if is(FileType::is_dir) {
                // `flows` has its own rule.
                let is_flows = folder == self.workspace && name == "flows";
                if !is_left_out(&name) && !is_flows {
                    self.look_into(&entry.path(), before, now);
                }
            } else if is(FileType::is_file) && is_source(&name) {
                self.found.seen += 1;
                let path = entry.path();
                let Some(sighting) = sight(&entry, &path, before.get(&path)) else { continue };
                if sighting.may_define_flow {
                    self.found.files.push(path.clone());
                }
                now.insert(path, sighting);
            } else if folder == self.workspace && is_source(&name) && !entry.path().is_dir() {
                let leads_in = std::fs::canonicalize(entry.path()).is_ok_and(|real| real.starts_with(self.workspace));
                if !is(FileType::is_symlink) || !leads_in {
                    self.add(entry.path());
                }
            }
        }
    }

    fn entries_of(&mut self, folder: &Path) -> Vec<DirEntry> {
        let Ok(entries) = std::fs::read_dir(folder) else {
            self.found.unreadable.push(folder.to_owned());
            return Vec::new();
        };
        let left = MAX_ENTRIES - self.entries;
        let entries: Vec<_> = entries.flatten().take(left + 1).collect();
        self.found.is_cut |= entries.len() > left;
        self.entries += entries.len().min(left);
        entries
    }
}

/// Whether folders of this name have no sources of the project.
pub(super) fn is_left_out(name: &str) -> bool {
    name.starts_with('.') || NOT_SOURCES.contains(&name) || TESTS.contains(&name)
}

/// Whether a file of this name may be a flow file: TypeScript, and not declarations, tests or settings of a tool. The
/// settings of a host list its flows.
fn is_source(name: &str) -> bool {
    const OTHERS: [&str; 6] = [".d", ".test", ".spec", ".config", ".stories", ".bench"];
    if script::is_host_settings(name) {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    ["ts", "tsx", "mts"].contains(&ending)
        && !stem.starts_with('.')
        && !OTHERS.iter().any(|other| stem.ends_with(other))
}

/// Examines a file, unless it is unchanged. `None` if it no longer exists.
fn sight(entry: &DirEntry, path: &Path, before: Option<&Sighting>) -> Option<Sighting> {
    let about = entry.metadata().ok()?;
    let (modified, bytes) = (about.modified().ok(), about.len());
    let is_same = |known: &&Sighting| known.bytes == bytes && known.modified == modified && modified.is_some();
    if let Some(known) = before.filter(is_same) {
        return Some(*known);
    }
    let text = if bytes > MAX_BYTES { None } else { ordinary_files::read(path, MAX_BYTES).ok() };
    // Video files may also end in `.ts`.
    let text = text.filter(|text| !text.contains(&0));
    let may_define_flow = text.is_some_and(|text| script::may_define_flow(path, &String::from_utf8_lossy(&text)));
    Some(Sighting { modified, bytes, may_define_flow })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_somewhere_in_a_home_do_not_make_it_a_workspace() {
        let home = tempfile::tempdir().expect("a folder is made");
        let project = home.path().join("project");
        std::fs::create_dir(&project).expect("a folder is made");
        assert!(holds_everything(Path::new("/"), None));
        assert!(holds_everything(home.path(), Some(home.path())));
        assert!(holds_everything(&project.join(".."), Some(home.path())));
        assert!(!holds_everything(&project, Some(home.path())));
        assert!(!holds_everything(home.path(), None));
    }
}
