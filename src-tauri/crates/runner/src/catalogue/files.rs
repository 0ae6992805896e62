//! Which files of a workspace are flow files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::core::fault::Fault;

/// Without `flows` in the configuration: the files of the folder itself, and all of its `flows/`.
///
/// A folder that a link leads out of the workspace to is named like a file, so that its refusal is seen.
pub(super) fn flow_files(workspace: &Path, folders: Option<&[PathBuf]>) -> Result<Vec<PathBuf>, Fault> {
    let mut walk = Walk { workspace, seen: BTreeSet::new(), found: Vec::new() };
    match folders {
        Some(folders) => {
            for folder in folders {
                walk.add_named(folder)?;
            }
        }
        None => {
            walk.gather(workspace, false)?;
            let inner = workspace.join("flows");
            if inner.is_dir() {
                walk.seen.clear();
                walk.enter(&inner)?;
            }
        }
    }
    walk.found.sort();
    walk.found.dedup();
    Ok(walk.found)
}

/// Whether a folder looks like one that is worked in: it has settings, flow files, or what was recorded of their runs.
pub(crate) fn is_workspace(folder: &Path) -> bool {
    [".flowglass", "flowglass.json", "flows"].iter().any(|name| folder.join(name).exists())
        || std::fs::canonicalize(folder).is_ok_and(|real| flow_files(&real, None).is_ok_and(|files| !files.is_empty()))
}

struct Walk<'w> {
    workspace: &'w Path,
    /// The real folders that were entered: links may lead around in circles.
    seen: BTreeSet<PathBuf>,
    found: Vec<PathBuf>,
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
        self.found.push(path);
        Ok(())
    }

    /// A folder with all it holds, once.
    fn enter(&mut self, folder: &Path) -> Result<(), Fault> {
        let real = std::fs::canonicalize(folder)?;
        if !real.starts_with(self.workspace) {
            self.found.push(folder.to_owned());
            return Ok(());
        }
        if !self.seen.insert(real) {
            return Ok(());
        }
        self.gather(folder, true)
    }

    fn gather(&mut self, folder: &Path, deep: bool) -> Result<(), Fault> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with('.') || name == "node_modules" || name == "types" {
                continue;
            }
            if path.is_dir() {
                if deep {
                    self.enter(&path)?;
                }
            } else if name.ends_with(".ts")
                && ![".d.ts", ".test.ts", ".spec.ts", ".config.ts"].iter().any(|end| name.ends_with(end))
            {
                self.found.push(path);
            }
        }
        Ok(())
    }
}
