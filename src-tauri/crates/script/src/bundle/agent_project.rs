//! Projects of agents as `@standardagents/builder` lays them out: a folder with the folders `agents`, `prompts`,
//! `tools`, `models` and `hooks`, and in each file one definition, its default export.
//!
//! An agent's file there is bundled with all definitions of its project, because prompts, tools and other agents are
//! known by their names and not imported. Must not read a file.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::bundle::embedded;
use crate::bundle::shown;

/// The folders that hold definitions.
const FOLDERS: [&str; 5] = ["models", "tools", "hooks", "prompts", "agents"];
/// Endings of names that belong to no definition.
const OTHERS: [&str; 3] = [".d", ".test", ".spec"];

/// The definitions of one project.
#[derive(Debug)]
pub(crate) struct AgentProject {
    /// The folders that are there: a file that comes or goes in one changes the project.
    pub(crate) folders: Vec<PathBuf>,
    /// Each file, with the name of its folder.
    files: Vec<(&'static str, PathBuf)>,
}

impl AgentProject {
    /// Returns the project of an agent's file. `None` if the file is not in the folder `agents` of a project.
    pub(crate) fn of(flow: &Path) -> Option<AgentProject> {
        let folder = flow.parent().filter(|folder| folder.ends_with("agents"))?;
        let root = folder.parent().filter(|root| root.ends_with("agents"))?;
        let folders = FOLDERS.map(|name| (name, root.join(name))).into_iter().filter(|(_, folder)| folder.is_dir());
        let folders: Vec<(&'static str, PathBuf)> = folders.collect();
        if folders.len() < 2 {
            // Files that hold all that they need.
            return None;
        }
        let files = folders.iter().flat_map(|(name, folder)| files(folder).into_iter().map(|file| (*name, file)));
        let files = files.collect();
        Some(AgentProject { folders: folders.into_iter().map(|(_, folder)| folder).collect(), files })
    }

    /// Returns the text of the entry module: it imports each definition, and hands over what the files export.
    pub(crate) fn entry(&self, flow: &Path, workspace: &Path) -> String {
        let quoted = |text: &str| json!(text).to_string();
        let mut text = format!("import {{ bootProject }} from '{}';\n", embedded::START);
        let mut list = Vec::new();
        for (at, (folder, file)) in self.files.iter().enumerate() {
            text.push_str(&format!("import * as file{at} from {};\n", quoted(&file.display().to_string())));
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let place = quoted(&shown(workspace, file));
            let is_run = file == flow;
            list.push(format!("[{}, {}, {place}, file{at}, {is_run}]", quoted(folder), quoted(stem)));
        }
        text.push_str(&format!("bootProject([{}], import.meta);\n", list.join(", ")));
        text
    }
}

/// The files of a folder that may hold a definition, by their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|file| is_definition(file)).collect();
    files.sort();
    files
}

fn is_definition(file: &Path) -> bool {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["ts", "tsx", "mts", "js", "mjs"].contains(&ending)
        && !stem.starts_with('.')
        && !OTHERS.iter().any(|other| stem.ends_with(other))
        && file.is_file()
}

/// Returns the names in a folder as one text, so that a reader notices files that come and go. `None` if it is no
/// folder.
pub fn listing(folder: &Path) -> Option<String> {
    let about = std::fs::symlink_metadata(folder).ok()?;
    about.is_dir().then(|| {
        let names =
            files(folder).into_iter().map(|file| file.file_name().unwrap_or_default().to_string_lossy().into_owned());
        names.collect::<Vec<_>>().join("\n")
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn project(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "export default 1;\n").unwrap();
        }
        folder
    }

    #[test]
    fn an_agent_is_bundled_with_all_definitions_of_its_project() {
        let folder = project(&[
            "agents/agents/support.ts",
            "agents/prompts/main.ts",
            "agents/tools/look_up.ts",
            "agents/tools/look_up.test.ts",
            "agents/tools/types.d.ts",
            "agents/tools/notes.md",
        ]);
        let flow = folder.path().join("agents/agents/support.ts");
        let entry = AgentProject::of(&flow).unwrap().entry(&flow, folder.path());
        for part in [
            r#"["tools", "look_up", "agents/tools/look_up.ts", file0, false]"#,
            r#"["prompts", "main", "agents/prompts/main.ts", file1, false]"#,
            r#"["agents", "support", "agents/agents/support.ts", file2, true]"#,
        ] {
            assert!(entry.contains(part), "{entry}");
        }
        assert!(!entry.contains("file3"), "{entry}");
    }

    #[test]
    fn other_files_have_no_project() {
        let folder =
            project(&["agents/agents/alone.ts", "agents/support.ts", "agents/prompts/main.ts", "b/agents/x.ts"]);
        let has_project = |file: &str| AgentProject::of(&folder.path().join(file)).is_some();
        assert!(has_project("agents/agents/alone.ts"));
        assert!(!has_project("agents/support.ts") && !has_project("b/agents/x.ts"));
    }

    #[test]
    fn a_listing_changes_with_the_names_in_a_folder() {
        let folder = project(&["tools/a.ts"]);
        let tools = folder.path().join("tools");
        assert_eq!(listing(&tools).unwrap(), "a.ts");
        std::fs::write(tools.join("b.ts"), "").unwrap();
        assert_eq!(listing(&tools).unwrap(), "a.ts\nb.ts");
        assert_eq!(listing(&tools.join("a.ts")), None);
    }
}
