//! Opens a file of the workspace in the user's editor, at a line.
//!
//! The editor is the one in the user's settings, in `VISUAL` or in `EDITOR`; otherwise an installed editor with a
//! window, and finally the system's program for such files. The file is passed as an argument, never through a shell.

use std::path::Path;
use std::process::{Command, Stdio};

use runner::{Fault, OwnSettings};

/// Editors with a window, tried in this order if none is configured.
const WITH_A_WINDOW: [&str; 5] = ["code", "codium", "cursor", "zed", "subl"];
/// Editors that need a terminal, and terminals that can be opened for them.
const IN_A_TERMINAL: [&str; 8] = ["vi", "vim", "nvim", "nano", "hx", "helix", "micro", "kak"];
const TERMINALS: [(&str, &[&str]); 5] = [
    ("x-terminal-emulator", &["-e"]),
    ("gnome-terminal", &["--"]),
    ("konsole", &["-e"]),
    ("alacritty", &["-e"]),
    ("xterm", &["-e"]),
];

/// A place in a file.
pub(crate) struct Place<'p> {
    /// Its full path.
    pub(crate) file: &'p Path,
    /// From 1.
    pub(crate) line: u32,
    /// From 1.
    pub(crate) column: u32,
}

/// Opens a place without waiting for the editor to exit. Returns the started program.
pub(crate) fn open(place: &Place<'_>) -> Result<String, Fault> {
    let own = OwnSettings::read().settings.get("editor").and_then(|editor| editor.as_str().map(str::to_owned));
    let named = own.into_iter().chain(["VISUAL", "EDITOR"].iter().filter_map(|name| std::env::var(name).ok()));
    if let Some(editor) = named.map(|editor| editor.trim().to_owned()).find(|editor| !editor.is_empty()) {
        return start(words(&editor), place);
    }
    for editor in WITH_A_WINDOW {
        if is_installed(editor) {
            return start(vec![editor.to_owned()], place);
        }
    }
    let shown = place.file.display();
    open::that_detached(place.file)
        .map(|()| "the system's editor".to_owned())
        .map_err(|error| internal(format!("{shown} cannot be opened: {error}; name an editor in VISUAL or EDITOR")))
}

/// The words of a setting like `code --wait`; quotes keep a name with spaces together.
fn words(setting: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    for c in setting.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()))
            }
            (_, c) => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

fn start(mut command: Vec<String>, place: &Place<'_>) -> Result<String, Fault> {
    let program = command.first().cloned().unwrap_or_default();
    let name = Path::new(&program).file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    command.extend(arguments(&name, place));
    if IN_A_TERMINAL.contains(&name.as_str()) {
        let terminal = TERMINALS.iter().find(|(terminal, _)| is_installed(terminal));
        let (terminal, flags) = terminal.ok_or_else(|| {
            internal(format!("{name} needs a terminal, and none was found; name an editor with a window in VISUAL"))
        })?;
        let opened = std::iter::once(*terminal).chain(flags.iter().copied()).map(str::to_owned);
        command = opened.chain(command).collect();
    }
    let mut started = Command::new(&command[0]);
    started.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = started
        .spawn()
        .map_err(|error| internal(format!("{program} cannot be started: {error}; see VISUAL, EDITOR")))?;
    // Wait for its exit in a thread, so that it does not become a zombie process.
    std::thread::spawn(move || child.wait());
    Ok(program)
}

/// The arguments with which an editor opens a file at a line.
fn arguments(name: &str, Place { file, line, column }: &Place<'_>) -> Vec<String> {
    let file = file.display();
    match name {
        "code" | "code-insiders" | "codium" | "vscodium" | "cursor" | "windsurf" => {
            vec!["-g".to_owned(), format!("{file}:{line}:{column}")]
        }
        "zed" | "zeditor" | "subl" | "hx" | "helix" | "micro" => vec![format!("{file}:{line}:{column}")],
        "idea" | "webstorm" | "rustrover" => vec!["--line".to_owned(), line.to_string(), file.to_string()],
        "kate" => {
            vec!["--line".to_owned(), line.to_string(), "--column".to_owned(), column.to_string(), file.to_string()]
        }
        // The syntax of vi and most other editors.
        _ => vec![format!("+{line}"), file.to_string()],
    }
}

fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

fn internal(message: String) -> Fault {
    Fault::Internal { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_gets_the_line_in_its_own_syntax() {
        let place = Place { file: Path::new("/w/flows/a b.ts"), line: 12, column: 3 };
        assert_eq!(arguments("code", &place), ["-g", "/w/flows/a b.ts:12:3"]);
        assert_eq!(arguments("zed", &place), ["/w/flows/a b.ts:12:3"]);
        assert_eq!(arguments("my-editor", &place), ["+12", "/w/flows/a b.ts"]);
    }

    #[test]
    fn a_setting_may_have_flags_and_quotes() {
        assert_eq!(words("code --wait"), ["code", "--wait"]);
        assert_eq!(words("\"/opt/my editor/bin/ed\"  -n"), ["/opt/my editor/bin/ed", "-n"]);
    }
}
