//! Text files of a project that a flow names: `contentFile` of a resource, the Markdown file of a prompt.
//!
//! A flow has no file system, and the code that ran is stored without its folder. So files that a module of
//! the workspace names by string literals become part of the bundle. An import is added at the end of the module. It
//! loads another module that passes the texts to the SDK. Imports run first wherever they are, so no line moves.
//!
//! Must not read a file that an import could not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::bundle::nesting::names;
use crate::bundle::project_files::{normal, read};
use crate::bundle::{embedded, shown};

/// The prefix of the ids of these modules; the path of the module that names the texts follows.
const PREFIX: &str = "flowglass-texts:";
/// Words of modules that read texts. Modules without any of these are not changed.
const WORDS: [&str; 12] = [
    "import.meta.url",
    "import.meta.dirname",
    "import.meta.filename",
    "readFile",
    "readdir",
    "existsSync",
    "contentFile",
    "contentTemplate",
    "loadPromptFile",
    "createPromptLoader",
    "loadResourceTemplate",
    "resolveBaseDir",
];
/// The maximum number of files for one module; a folder with more files is no folder of prompts.
const MOST_FILES: usize = 500;
/// How many levels of a named folder are searched for texts.
const DEEPEST: usize = 3;

/// Returns whether an id is that of such a module.
pub(crate) fn is_module(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// Returns the module whose texts an id stands for.
pub(crate) fn module_of(id: &str) -> Option<&Path> {
    id.strip_prefix(PREFIX).map(Path::new)
}

/// Whether a module is the workspace's own.
fn is_own(workspace: &Path, id: &str) -> bool {
    Path::new(id).starts_with(workspace) && !id.contains("/node_modules/") && !id.contains('?')
}

/// Replaces `import.meta.url`, `dirname` and `filename` in a module of the workspace, because the runtime does not know
/// the paths of bundled modules. The workspace's folder is the root, so that the code is the same on every machine.
pub(crate) fn with_place(workspace: &Path, id: &str, text: String) -> String {
    if !text.contains("import.meta.") || !is_own(workspace, id) {
        return text;
    }
    let file = format!("/{}", shown(workspace, Path::new(id)));
    let folder = file.rsplit_once('/').map(|(folder, _)| folder).filter(|folder| !folder.is_empty()).unwrap_or("/");
    let mut url = "file://".to_owned();
    for c in file.chars() {
        match c {
            '%' | '#' | '?' | ' ' => url.push_str(&format!("%{:02X}", c as u32)),
            c => url.push(c),
        }
    }
    let places = [("url", url.as_str()), ("dirname", folder), ("filename", file.as_str())];
    let mut placed = String::with_capacity(text.len());
    let mut copied = 0;
    // Only in code, not in strings or comments.
    names(&text, &mut |start, end| {
        if text.get(start..end) != Some("import") {
            return;
        }
        let Some(rest) = text.get(end..).and_then(|rest| rest.strip_prefix(".meta.")) else { return };
        let word = rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().unwrap_or_default();
        if let Some((_, value)) = places.iter().find(|(name, _)| *name == word) {
            placed.push_str(text.get(copied..start).unwrap_or_default());
            placed.push_str(&Value::from(*value).to_string());
            copied = end + ".meta.".len() + word.len();
        }
    });
    placed.push_str(text.get(copied..).unwrap_or_default());
    placed
}

/// Adds the import to a module of the workspace that names texts.
pub(crate) fn with_import(workspace: &Path, id: &str, text: String) -> String {
    if !is_own(workspace, id)
        || !WORDS.iter().any(|word| text.contains(word))
        || !(text.contains("import") || text.contains("export"))
    {
        return text;
    }
    format!("{text}\nimport {};\n", Value::from(format!("{PREFIX}{id}")))
}

/// Returns the text of a module without that import.
pub(crate) fn without_import(text: &str) -> &str {
    let begin = format!("\nimport \"{PREFIX}");
    match text.rfind(&begin) {
        Some(at) if text[at + 1..].trim_end_matches('\n').lines().count() == 1 => &text[..at],
        _ => text,
    }
}

/// Returns the files that a module names, and the Markdown files next to them, which may be fragments of them.
pub(crate) fn named_in(workspace: &Path, module: &Path, text: &str) -> BTreeSet<PathBuf> {
    let folder = module.parent().unwrap_or(workspace);
    let mut found = BTreeSet::new();
    // A module that loads texts from its own folder gets their names from other modules.
    if text.contains("moduleDir") && folder != workspace {
        found.extend(markdown_in(folder, DEEPEST));
    }
    for named in plain_texts(text) {
        let relative = named.strip_prefix("file://").unwrap_or(named);
        for base in [folder, workspace] {
            let path = normal(&base.join(relative));
            if !path.starts_with(workspace) {
                continue;
            }
            if path.is_file() && !is_code(&path) {
                if path.extension().is_some_and(|end| end == "md")
                    && let Some(beside) = path.parent()
                {
                    found.extend(markdown_in(beside, 1));
                }
                found.insert(path);
            } else if path.is_dir() && path != workspace && path != folder {
                found.extend(markdown_in(&path, DEEPEST));
            }
        }
    }
    found.into_iter().take(MOST_FILES).collect()
}

fn is_code(path: &Path) -> bool {
    let ends = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
    path.extension().is_some_and(|end| ends.iter().any(|code| end == *code))
}

/// The Markdown files of a folder, and of the folders in it down to a depth.
fn markdown_in(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries.take(MOST_FILES) {
        let is_inner = path.is_dir();
        if is_inner && depth > 0 && !path.is_symlink() && !path.ends_with("node_modules") {
            found.extend(markdown_in(&path, depth - 1));
        } else if !is_inner && path.extension().is_some_and(|end| end == "md") && path.is_file() {
            found.push(path);
        }
    }
    found
}

/// The quoted texts of a source that could be paths. Text between unrelated quotes may be found, but names no file.
fn plain_texts(source: &str) -> impl Iterator<Item = &str> {
    const LONGEST: usize = 300;
    source
        .lines()
        .flat_map(|line| ['"', '\'', '`'].into_iter().flat_map(move |quote| line.split(quote).skip(1).step_by(1)))
        .filter(|text| {
            !text.is_empty() && text.len() <= LONGEST && !text.contains(['\n', '$', '\\', '*']) && *text != "."
        })
}

/// The code that passes the texts to the SDK.
pub(crate) fn code(
    workspace: &Path,
    module: &Path,
    files: impl Iterator<Item = PathBuf>,
) -> Result<String, serde_json::Error> {
    let mut texts = Map::new();
    for file in files {
        if let Ok(text) = read(&file) {
            texts.insert(shown(workspace, &file), text.into());
        }
    }
    let folder = shown(workspace, module.parent().unwrap_or(workspace));
    let folder = serde_json::to_string(if folder == workspace.display().to_string() { "" } else { &folder })?;
    let texts = serde_json::to_string(&texts)?;
    Ok(format!("import {{ keepTexts }} from '{}';\nkeepTexts({folder}, {texts});\n", embedded::TEXTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_quotes_are_found_on_their_lines() {
        let source = "const a = { contentFile: './a.md' };\nload(\"b.md\", `c.md`); // don't";
        let found: Vec<&str> = plain_texts(source).filter(|text| text.ends_with(".md")).collect();
        assert_eq!(found, ["./a.md", "b.md", "c.md"]);
    }
}
