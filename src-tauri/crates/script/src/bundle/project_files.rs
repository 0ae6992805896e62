//! Checks of `tsconfig.json` and `package.json` before the bundler reads them.
//!
//! The bundler's errors name neither the file nor the place, and it follows any path. So each file is checked here
//! first: an ordinary file of limited size, in the workspace, and valid JSON. Must not quote a file's content.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::shown;

/// The maximum size of a source or settings file, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Reads an ordinary file. Nothing else is opened, because a device or a pipe may never end.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("is not an ordinary file".to_owned());
    }
    if about.len() > MAX_BYTES {
        return Err(format!("is larger than {} MB", MAX_BYTES >> 20));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Removes `.` and `..` from a path, without reading links.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Fails if a `package.json` exists and is not valid.
pub(crate) fn check_package(workspace: &Path, file: &Path) -> Result<(), LoadError> {
    match std::fs::symlink_metadata(file) {
        Ok(_) => parse(workspace, file, |text| text).map(drop),
        Err(_) => Ok(()),
    }
}

/// Returns the name in the `package.json` of a folder.
pub(crate) fn package_name(folder: &Path) -> Option<String> {
    let text = read(&folder.join("package.json")).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    value["name"].as_str().map(str::to_owned)
}

/// Reads a settings file as JSON, after `prepare`.
fn parse(workspace: &Path, file: &Path, prepare: fn(String) -> String) -> Result<(Value, String), LoadError> {
    let wrong = |line, column, message: String| LoadError {
        kind: LoadErrorKind::Import,
        message,
        file: Some(shown(workspace, file)),
        line,
        column,
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = read(file).map_err(|reason| wrong(None, None, format!("{name} {reason}")))?;
    let text = prepare(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned());
    match serde_json::from_str(&text) {
        Ok(value) => Ok((value, text)),
        Err(error) => {
            let (line, column) = (error.line() as u32, error.column().max(1) as u32);
            // The parser's message ends with the place.
            let reason = error.to_string();
            let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
            Err(wrong(Some(line), Some(column), format!("{name} is not JSON: {reason}")))
        }
    }
}

/// The settings of imports in a workspace's `tsconfig.json`.
#[derive(Debug, Default)]
pub(crate) struct TsSettings {
    /// The file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// That file and the files it extends.
    pub(crate) read: Vec<PathBuf>,
    /// Files that they extend but that are not read, because they are outside the workspace or not installed.
    pub(crate) unread: Vec<PathBuf>,
    /// Files that do not exist, but would be read if they did.
    pub(crate) absent: Vec<PathBuf>,
    /// `experimentalDecorators`.
    decorators: Option<bool>,
    /// The patterns of `paths`, and their targets.
    paths: Vec<(String, Vec<PathBuf>)>,
    workspace: PathBuf,
}

impl TsSettings {
    /// Reads the nearest `tsconfig.json` of a flow file in its workspace, with everything it extends.
    pub(crate) fn find(workspace: &Path, flow: &Path) -> Result<TsSettings, LoadError> {
        let mut settings = TsSettings { workspace: workspace.to_owned(), ..TsSettings::default() };
        let folders = flow.ancestors().skip(1).take_while(|folder| folder.starts_with(workspace));
        for file in folders.map(|folder| folder.join("tsconfig.json")) {
            if std::fs::symlink_metadata(&file).is_err() {
                settings.absent.push(file);
                continue;
            }
            settings.add(workspace, &file)?;
            // The bundler would also read the unread files. Without the file, `mapped` returns the known paths.
            settings.file = Some(file).filter(|_| settings.unread.is_empty());
            break;
        }
        Ok(settings)
    }

    /// Whether the bundler lowers TypeScript's decorators from before the standard.
    pub(crate) fn lowers_decorators(&self) -> bool {
        self.decorators == Some(true)
    }

    /// Returns whether a bare import matches `paths`.
    pub(crate) fn maps(&self, specifier: &str) -> bool {
        self.paths.iter().any(|(pattern, _)| matches(pattern, specifier))
    }

    /// Returns whether `paths` map an import to a target outside the workspace.
    pub(crate) fn leads_out(&self, specifier: &str) -> bool {
        let is_outside = |target: &PathBuf| !target.starts_with(&self.workspace);
        self.paths.iter().any(|(pattern, targets)| matches(pattern, specifier) && targets.iter().any(is_outside))
    }

    /// Returns the files that `paths` map an import to, if the bundler does not know them.
    pub(crate) fn mapped(&self, specifier: &str) -> Vec<PathBuf> {
        if self.file.is_some() {
            return Vec::new();
        }
        let fitting = self.paths.iter().filter(|(pattern, _)| matches(pattern, specifier));
        // The longest pattern wins.
        let best = fitting.max_by_key(|(pattern, _)| pattern.split('*').next().map_or(0, str::len));
        let Some((pattern, targets)) = best else { return Vec::new() };
        let (head, tail) = pattern.split_once('*').unwrap_or((pattern, ""));
        let rest = specifier.get(head.len()..specifier.len().saturating_sub(tail.len())).unwrap_or_default();
        let target = |target: &PathBuf| normal(Path::new(&target.to_string_lossy().replacen('*', rest, 1)));
        targets.iter().map(target).filter(|target| target.starts_with(&self.workspace)).collect()
    }

    fn add(&mut self, workspace: &Path, file: &Path) -> Result<(), LoadError> {
        if self.read.iter().any(|known| known == file) {
            return Ok(());
        }
        let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        if !real.starts_with(workspace) {
            return Err(outside(workspace, file, None, &file.display().to_string()));
        }
        let (value, text) = parse(workspace, file, without_comments)?;
        self.read.push(file.to_owned());
        let folder = file.parent().unwrap_or(workspace);
        let options = &value["compilerOptions"];
        // A file comes before the files that it extends.
        self.decorators = self.decorators.or(options["experimentalDecorators"].as_bool());
        let base = folder.join(options["baseUrl"].as_str().unwrap_or_default());
        for (pattern, targets) in options["paths"].as_object().into_iter().flatten() {
            let targets = targets.as_array().into_iter().flatten().filter_map(Value::as_str);
            self.paths.push((pattern.clone(), targets.map(|target| normal(&base.join(target))).collect()));
        }
        let extends = match &value["extends"] {
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().into_iter().collect::<Vec<_>>(),
        };
        for named in extends {
            self.extend(workspace, file, &text, named)?;
        }
        for named in value["references"].as_array().into_iter().flatten().filter_map(|one| one["path"].as_str()) {
            let target = normal(&folder.join(named));
            // A reference is another project with its own files.
            if !target.starts_with(workspace) {
                self.unread.push(target);
                continue;
            }
            let target = if target.is_dir() { target.join("tsconfig.json") } else { target };
            match std::fs::symlink_metadata(&target) {
                Ok(_) => self.add(workspace, &target)?,
                // The bundler would fail if it is missing.
                Err(_) => {
                    self.absent.push(target.clone());
                    self.unread.push(target);
                }
            }
        }
        Ok(())
    }

    /// Follows one `extends` of a file with this text.
    fn extend(&mut self, workspace: &Path, file: &Path, text: &str, named: &str) -> Result<(), LoadError> {
        let folder = file.parent().unwrap_or(workspace);
        let is_path = named.starts_with('.') || Path::new(named).is_absolute();
        let found = if is_path {
            let target = normal(&folder.join(named));
            if !target.starts_with(workspace) {
                self.unread.push(target);
                return Ok(());
            }
            self.settings_file(&target)
        } else {
            let mut inside = folder.ancestors().take_while(|folder| folder.starts_with(workspace));
            inside.find_map(|folder| self.settings_file(&folder.join("node_modules").join(named)))
        };
        if found.is_none() && !is_path {
            self.unread.push(PathBuf::from(named));
            return Ok(());
        }
        let Some(target) = found else {
            return Err(LoadError {
                kind: LoadErrorKind::Import,
                message: format!("\"extends\" names \"{named}\", which is not in the workspace"),
                file: Some(shown(workspace, file)),
                line: place_of(text, named).map(|place| place.0),
                column: place_of(text, named).map(|place| place.1),
            });
        };
        let real = std::fs::canonicalize(&target).unwrap_or_else(|_| target.clone());
        if !real.starts_with(workspace) {
            return Err(outside(workspace, file, place_of(text, named), named));
        }
        self.add(workspace, &target)
    }

    /// Returns the file that an `extends` refers to: the path itself, with `.json`, or the `tsconfig.json` in it.
    fn settings_file(&mut self, target: &Path) -> Option<PathBuf> {
        let with_ending = PathBuf::from(format!("{}.json", target.display()));
        for file in [target.to_owned(), with_ending, target.join("tsconfig.json")] {
            match std::fs::metadata(&file) {
                Ok(about) if about.is_dir() => {}
                Ok(_) => return Some(file),
                Err(_) => self.absent.push(file),
            }
        }
        None
    }
}

/// Returns the message for an import that leads out of the workspace.
pub(crate) fn outside_message(specifier: &str) -> String {
    format!(
        "\"{specifier}\" leads out of the workspace: a flow may import files inside the workspace and installed \
         packages; to use it, open the folder that holds both"
    )
}

fn outside(workspace: &Path, file: &Path, place: Option<(u32, u32)>, specifier: &str) -> LoadError {
    LoadError {
        kind: LoadErrorKind::Import,
        message: outside_message(specifier),
        file: Some(shown(workspace, file)),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
    }
}

/// Finds the line and column of an import in a text, both 1-based.
pub(crate) fn place_of(text: &str, specifier: &str) -> Option<(u32, u32)> {
    text.lines().enumerate().find_map(|(at, line)| {
        let found = ['"', '\'', '`'].iter().find_map(|quote| line.find(&format!("{quote}{specifier}{quote}")))?;
        Some((at as u32 + 1, line[..found].chars().count() as u32 + 1))
    })
}

/// Returns whether a pattern of `paths`, which may contain one `*`, matches an import.
fn matches(pattern: &str, specifier: &str) -> bool {
    match pattern.split_once('*') {
        Some((head, tail)) => {
            specifier.len() >= head.len() + tail.len() && specifier.starts_with(head) && specifier.ends_with(tail)
        }
        None => pattern == specifier,
    }
}

/// Replaces comments and trailing commas, which `tsconfig.json` may have, by spaces.
fn without_comments(text: String) -> String {
    let mut plain = text.into_bytes();
    let mut at = 0;
    // The last comma, if no value has followed it yet.
    let mut comma = None;
    while let Some(byte) = plain.get(at).copied() {
        match (byte, plain.get(at + 1).copied()) {
            (b'"', _) => {
                comma = None;
                at += 1;
                while plain.get(at).is_some_and(|byte| *byte != b'"' && *byte != b'\n') {
                    at += if plain.get(at) == Some(&b'\\') { 2 } else { 1 };
                }
            }
            (b'/', Some(b'/')) => at = blank(&mut plain, at, b"\n"),
            (b'/', Some(b'*')) => at = blank(&mut plain, at, b"*/"),
            (b',', _) => comma = Some(at),
            (b'}' | b']', _) => {
                if let Some(comma) = comma.take().and_then(|comma| plain.get_mut(comma)) {
                    *comma = b' ';
                }
            }
            (byte, _) if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    String::from_utf8(plain).unwrap_or_default()
}

/// Replaces a comment by spaces, except line ends. Returns its last byte.
fn blank(text: &mut [u8], start: usize, end: &[u8]) -> usize {
    let from = (start + 2).min(text.len());
    let found = text[from..].windows(end.len()).position(|part| part == end);
    let stop = found.map_or(text.len(), |found| from + found + end.len());
    for byte in &mut text[start..stop] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
    stop.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_removed() {
        let text = "{\n // one\n \"a\": [1, 2, /* ü */], \"b//\": \"x, }\",\n}";
        let plain = without_comments(text.to_owned());
        assert_eq!(plain.lines().count(), text.lines().count());
        let value: Value = serde_json::from_str(&plain).expect("it is JSON");
        assert_eq!(value, serde_json::json!({"a": [1, 2], "b//": "x, }"}));
    }

    #[test]
    fn patterns_of_paths_match_imports() {
        assert!(matches("@/*", "@/a/b") && matches("a", "a") && matches("*", "x"));
        assert!(!matches("@/*", "a") && !matches("ab*bc", "abc"));
    }
}
