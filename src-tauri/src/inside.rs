//! The commands for the inside of blocks: `print`, `step`, `coverage`.

use std::sync::Mutex;

use runner::{PassProgress, Workspace};
use serde_json::{Value, json};

use crate::cli::args::{Print, Step};
use crate::cli::{Outcome, Stop, exit};
use crate::print;
use crate::terminal::{ProgressLine, tell};

/// Shows the progress of the first pass over a request on a terminal. Ctrl+C ends the program without losing data.
pub(crate) fn show_progress(workspace: &Workspace) {
    let line = Mutex::new(ProgressLine::new());
    workspace.follow_first_pass(move |progress| {
        let Ok(mut line) = line.lock() else { return };
        match progress {
            Some(PassProgress { done, events }) => {
                line.tell(|| format!("running the request again: {done} of {events} events (Ctrl+C cancels)"));
            }
            None => line.end(),
        }
    });
}

/// `flowglass print`.
pub(crate) fn print(workspace: &Workspace, asked: Print) -> Result<Outcome, Stop> {
    show_progress(workspace);
    if asked.alone {
        workspace.ask_blocks_alone();
    }
    if let Some(handle) = &asked.open {
        let opened = workspace.open_value(handle)?;
        return Ok(Outcome::done(json!(opened), print::inside::opened(&opened)));
    }
    let mut query = asked.query();
    query.file = file_from_here(workspace, query.file);
    let found = workspace.print(&query)?;
    let is_cut = found.notes.iter().any(|known| known.ended_by_limit);
    Ok(cut(is_cut, json!(found), print::inside::printed(&found, &query.expressions)))
}

/// The outcome of an answer. An answer that a limit of memory or time has cut off is also a failure.
fn cut(is_cut: bool, json: Value, text: String) -> Outcome {
    Outcome { json, text, code: if is_cut { exit::FAILURE } else { exit::DONE } }
}

/// Resolves a file of the command line. A path that the shell has completed is relative to the shell's folder.
fn file_from_here(workspace: &Workspace, file: String) -> String {
    if workspace.file_in(&file).is_ok() {
        return file;
    }
    std::fs::canonicalize(&file).map_or(file, |real| real.display().to_string())
}

/// `flowglass step`.
pub(crate) fn step(workspace: &Workspace, asked: Step) -> Result<Outcome, Stop> {
    show_progress(workspace);
    if asked.alone {
        workspace.ask_blocks_alone();
    }
    let (request, query) = asked.query();
    let mut at = workspace.step(&request, &query)?;
    at.state = workspace.scopes_seen(&request, &at)?;
    let files = workspace.files_that_ran(&request, Some(&at.code))?;
    let text = files.iter().find(|file| file.file == at.file).map(|file| file.text.as_str()).unwrap_or_default();
    let line = text.lines().nth(at.line as usize - 1).unwrap_or_default();
    Ok(Outcome::done(json!(at), print::inside::instant(&at, line, &query.watches)))
}

/// `flowglass coverage`.
pub(crate) fn coverage(workspace: &Workspace, request: &str, file: Option<&str>) -> Result<Outcome, Stop> {
    show_progress(workspace);
    let file = file.map(|file| file_from_here(workspace, file.to_owned()));
    let covered = workspace.coverage(request, file.as_deref())?;
    if let Some(note) = &covered.note {
        tell(&format!("flowglass: {note}"));
    }
    let is_cut = covered.files.iter().any(|file| file.ended_by_limit);
    Ok(cut(is_cut, json!(covered.files), print::inside::coverage(&covered.files)))
}
