//! Which files of a workspace may be flow files.
//!
//! Where `flowglass.json` names `flows`, those files and folders and nothing else. Otherwise all of `flows/`, and in
//! the rest of the folder what calls `defineFlow` (`script::may_define_flow`), wherever the project keeps it. What is
//! installed, built, hidden or a test is left out. Must not load a file.

use std::collections::{BTreeSet, HashMap};
use std::fs::{DirEntry, FileType};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::core::fault::Fault;
use crate::core::ordinary_files;

/// Folders that hold what others wrote or a tool made.
const NOT_SOURCES: [&str; 7] = ["node_modules", "dist", "build", "out", "coverage", "target", "bower_components"];
/// Folders of tests, which define flows to test with.
const TESTS: [&str; 6] = ["test", "tests", "__tests__", "__mocks__", "__fixtures__", "e2e"];
/// The longest file that is looked into. The bundler reads none that is longer.
const MAX_BYTES: u64 = 16 << 20;
/// How many files and folders are looked at. A home folder or a disk has more.
const MAX_ENTRIES: usize = 200_000;

/// How many files without a flow are named.
const MOST_NAMED: usize = 3;

/// What a look at the files found.
#[derive(Debug, Default)]
pub(crate) struct FlowFiles {
    /// Those that may define a flow, sorted.
    pub(super) files: Vec<PathBuf>,
    /// How many TypeScript files there are, those among them.
    seen: usize,
    /// Folders that could not be read.
    unreadable: Vec<PathBuf>,
    /// Whether there was more than is looked at.
    is_cut: bool,
}

/// What is known of files that were looked into, so that they are read again only when they change.
pub(super) type Sightings = HashMap<PathBuf, Sighting>;

/// A file as it was, and whether it may define a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sighting {
    modified: Option<SystemTime>,
    bytes: u64,
    may_define_flow: bool,
}

/// Looks for flow files.
///
/// A folder in `flows` that a link leads out of the workspace to is named like a file, so that its refusal is seen.
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
    /// Where flows were looked for, and what to do where none was found.
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

    /// Which files may define a flow, of which none does.
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

/// Whether a folder looks like one that is worked in: it has settings, flow files, or what was recorded of their runs.
pub(crate) fn is_workspace(folder: &Path) -> bool {
    [".flowglass", "flowglass.json", "flows"].iter().any(|name| folder.join(name).exists())
        || (!holds_everything(folder, std::env::home_dir().as_deref()) && has_flows(folder))
}

/// Whether a folder is the root or a person's home, in which a menu of programs starts one: flow files that lie
/// somewhere below belong to folders of their own, and the search for them reads all that the person has.
fn holds_everything(folder: &Path, home: Option<&Path>) -> bool {
    let real = |folder: &Path| std::fs::canonicalize(folder).ok();
    real(folder).is_some_and(|folder| folder.parent().is_none() || home.and_then(real).as_ref() == Some(&folder))
}

/// Whether a folder has flow files where they are looked for without settings, or settings that may name them.
pub(crate) fn has_flows(folder: &Path) -> bool {
    folder.join("flowglass.json").exists()
        || std::fs::canonicalize(folder)
            .is_ok_and(|real| flow_files(&real, None, &mut HashMap::new()).is_ok_and(|found| !found.files.is_empty()))
}

struct Walk<'w> {
    workspace: &'w Path,
    /// The real folders that were entered: links may lead around in circles.
    entered: BTreeSet<PathBuf>,
    found: FlowFiles,
    entries: usize,
}

impl Walk<'_> {
    /// A file or folder that `flowglass.json` names.
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

    /// A folder with all it holds, once.
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

    /// The files of a folder and of all in it that may define flows. Links are passed over: what they lead to inside
    /// the workspace is found in its own place, and nothing else can be imported. In the folder that was opened itself
    /// links and pipes are named like files, so that their refusal is seen.
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

/// Whether folders of this name hold no sources of the project.
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

/// Looks into a file, unless it is as it was. `None` if it is gone.
fn sight(entry: &DirEntry, path: &Path, before: Option<&Sighting>) -> Option<Sighting> {
    let about = entry.metadata().ok()?;
    let (modified, bytes) = (about.modified().ok(), about.len());
    let is_same = |known: &&Sighting| known.bytes == bytes && known.modified == modified && modified.is_some();
    if let Some(known) = before.filter(is_same) {
        return Some(*known);
    }
    let text = if bytes > MAX_BYTES { None } else { ordinary_files::read(path, MAX_BYTES).ok() };
    // A film may end in `.ts` as well.
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
