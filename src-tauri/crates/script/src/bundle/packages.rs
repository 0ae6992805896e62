//! Packages that the bundler does not find by itself: those of a workspace whose links were not installed, and what to
//! say of the others. Must not say that a package exists somewhere else: nobody asked a registry.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::bundle::import_rules::package_name;
use crate::bundle::imported_names::{DEFAULT, WHOLE, taken};
use crate::bundle::project_files::read;
use crate::bundle::shown;

/// The framework's own packages, which a project has beside it.
const SIBLINGS: &str = "@flow-state-dev/";
/// Where workspaces keep packages, where none of their settings says so.
const USUAL: [&str; 3] = ["packages/*", "apps/*", "libs/*"];

/// The packages of a workspace: by name, with their folders.
#[derive(Debug, Default)]
pub(crate) struct Packages(OnceLock<Vec<(String, PathBuf)>>);

impl Packages {
    /// Returns the folder of a workspace's own package of which a specifier imports something. Reads the workspace's
    /// settings at the first call.
    pub(crate) fn folder(&self, workspace: &Path, specifier: &str) -> Option<PathBuf> {
        let all = self.0.get_or_init(|| find(workspace));
        let name = package_name(specifier);
        all.iter().find(|(known, _)| known == name).map(|(_, folder)| folder.clone())
    }
}

/// The packages that a workspace's `package.json` or `pnpm-workspace.yaml` names.
fn find(workspace: &Path) -> Vec<(String, PathBuf)> {
    let mut patterns = named_in_package(workspace);
    patterns.extend(named_in_pnpm(workspace));
    if patterns.is_empty() {
        patterns = USUAL.map(str::to_owned).to_vec();
    }
    let mut found = Vec::new();
    for folder in patterns.iter().flat_map(|pattern| folders(workspace, pattern)) {
        let real = std::fs::canonicalize(&folder).ok().filter(|real| real.starts_with(workspace));
        if let Some(name) = real.and_then(|_| crate::bundle::project_files::package_name(&folder)) {
            found.push((name, folder));
        }
    }
    found
}

fn named_in_package(workspace: &Path) -> Vec<String> {
    let json = read(&workspace.join("package.json")).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let Some(json) = json else { return Vec::new() };
    let list = match &json["workspaces"] {
        Value::Object(fields) => fields.get("packages").cloned().unwrap_or_default(),
        list => list.clone(),
    };
    list.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// The list under `packages:`; that file has nothing else of interest, so it is read by its lines.
fn named_in_pnpm(workspace: &Path) -> Vec<String> {
    let text = read(&workspace.join("pnpm-workspace.yaml")).unwrap_or_default();
    let lines = text.lines().skip_while(|line| line.trim_end() != "packages:").skip(1);
    let entries = lines.take_while(|line| line.trim().is_empty() || line.starts_with([' ', '-', '#']));
    let entry = |line: &str| {
        let plain = line.trim().strip_prefix('-')?.split(" #").next()?.trim();
        Some(plain.trim_matches(['"', '\'']).to_owned())
    };
    entries.filter_map(entry).collect()
}

/// The folders that a pattern names: `*` is any name, `**` any folders as well.
fn folders(workspace: &Path, pattern: &str) -> Vec<PathBuf> {
    /// Deeper ones are no packages of anybody's.
    const DEEPEST: usize = 4;
    if pattern.starts_with('!') {
        return Vec::new();
    }
    let mut all = vec![workspace.to_owned()];
    for part in pattern.trim_start_matches("./").split('/').filter(|part| !part.is_empty()) {
        all = match part {
            "**" => {
                let mut level = all.clone();
                for _ in 0..DEEPEST {
                    level = level.iter().flat_map(|folder| inner(folder)).collect();
                    all.extend(level.iter().cloned());
                }
                all
            }
            "*" => all.iter().flat_map(|folder| inner(folder)).collect(),
            ".." => return Vec::new(),
            part => all.into_iter().map(|folder| folder.join(part)).collect(),
        };
    }
    all
}

fn inner(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_meant = |name: &str| !name.starts_with('.') && name != "node_modules";
    let meant = entries.filter(|entry| is_meant(&entry.file_name().to_string_lossy()));
    meant.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Returns what to say of an import that finds no package. `importer` is the file that imports it, `unread` a settings
/// file that leads out of the workspace and may have told where it is.
pub(crate) fn missing(workspace: &Path, importer: &Path, specifier: &str, unread: Option<&str>) -> String {
    let name = package_name(specifier);
    let unread =
        unread.map(|file| format!(" ({file} may say where it is, but leads out of the workspace and was not read)"));
    let unread = unread.unwrap_or_default();
    if specifier.starts_with('#') {
        return format!("\"{specifier}\" is not found: no \"imports\" of a package.json above names it{unread}");
    }
    let above = || importer.ancestors().skip(1);
    if let Some(folder) = above().map(|folder| folder.join("node_modules").join(name)).find(|folder| folder.is_dir()) {
        let folder = shown(workspace, &folder);
        return format!(
            "\"{specifier}\" is not found: package \"{name}\" is in {folder}, but has no such file or export"
        );
    }
    let declaring = above().map(|folder| folder.join("package.json")).find(|file| declares(file, name));
    if let Some(file) = declaring {
        let (file, install) = (shown(workspace, &file), install_command(importer));
        return format!("cannot find package \"{name}\": {file} depends on it, but it is not installed; run {install}");
    }
    if name.starts_with(SIBLINGS) {
        let text = read(importer).unwrap_or_default();
        let taken = taken(&text, specifier).into_iter().filter(|name| ![DEFAULT, WHOLE].contains(name));
        let taken = taken.collect::<Vec<_>>().join(", ");
        let needed =
            if taken.is_empty() { taken } else { format!(", which {} needs for {taken}", shown(workspace, importer)) };
        return format!(
            "cannot find package \"{name}\"{needed}: it belongs to the framework, and Flowglass brings only \
             @flow-state-dev/core; add it to the project, or open the folder of the workspace that has it{unread}"
        );
    }
    format!(
        "cannot find package \"{name}\": it is not installed, and no package.json above depends on it; correct the \
         name, or add it to a package.json and run {}{unread}",
        install_command(importer)
    )
}

fn declares(file: &Path, name: &str) -> bool {
    let json = read(file).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let lists = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
    json.is_some_and(|json| lists.iter().any(|list| json[*list].get(name).is_some()))
}

/// The command of the package manager that the project uses.
fn install_command(importer: &Path) -> &'static str {
    const LOCKS: [(&str, &str); 4] = [
        ("pnpm-lock.yaml", "pnpm install"),
        ("yarn.lock", "yarn install"),
        ("bun.lock", "bun install"),
        ("package-lock.json", "npm install"),
    ];
    let used = importer
        .ancestors()
        .skip(1)
        .find_map(|folder| LOCKS.iter().find(|(lock, _)| folder.join(lock).is_file()).map(|(_, command)| *command));
    used.unwrap_or("npm install")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn place(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(folder.path()).unwrap();
        for (name, text) in files {
            std::fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
            std::fs::write(dir.join(name), text).unwrap();
        }
        (folder, dir)
    }

    #[test]
    fn packages_of_a_workspace_are_found_by_name() {
        let one = ("libs/a/package.json", "{\"name\": \"@x/a\"}");
        for settings in [
            ("package.json", "{\"workspaces\": [\"libs/*\"]}"),
            ("package.json", "{\"workspaces\": {\"packages\": [\"**\"]}}"),
            ("pnpm-workspace.yaml", "# ours\npackages:\n  - 'libs/*' # all\n  - \"!libs/b\"\ncatalog:\n  - no\n"),
            ("package.json", "{}"),
        ] {
            let (_folder, dir) = place(&[one, settings]);
            assert_eq!(Packages::default().folder(&dir, "@x/a/sub"), Some(dir.join("libs/a")), "{settings:?}");
            assert_eq!(Packages::default().folder(&dir, "@x/b"), None);
        }
    }

    #[test]
    fn what_is_missing_says_what_to_do() {
        let (_folder, dir) = place(&[
            ("package.json", "{\"dependencies\": {\"left\": \"1\"}}"),
            ("pnpm-lock.yaml", ""),
            ("node_modules/there/package.json", "{\"name\": \"there\"}"),
        ]);
        let says = |specifier: &str| missing(&dir, &dir.join("src/flow.ts"), specifier, None);
        assert!(says("left/sub").ends_with("package.json depends on it, but it is not installed; run pnpm install"));
        assert!(says("there/x").contains("\"there\" is in node_modules/there, but has no such file or export"));
        assert!(says("@flow-state-dev/memory").contains("belongs to the framework"));
        assert!(says("right").contains("no package.json above depends on it"));
        assert!(says("#x").contains("\"imports\""));
    }
}
