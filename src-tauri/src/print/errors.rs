//! An error of a flow for people: what it is, what it says, which block failed, and where in the author's file.

use std::fmt::Write as _;

use runner::{ErrorInfo, Json};
use serde_json::Value;

use super::{cut, short};

/// Longer messages are cut.
const MAX_MESSAGE: usize = 1_000;

/// How many lines of details are shown.
const MAX_DETAILS: usize = 10;

/// Where the values of a request's or a block's head begin.
const INDENT: &str = "        ";

/// A flow's own error, on stderr: what, and where.
pub(crate) fn flow_error(error: &ErrorInfo) {
    let place = place(error).map(|place| format!("\n    at {place}")).unwrap_or_default();
    let path = error.path.as_ref().map(|path| format!(" (block {path})")).unwrap_or_default();
    crate::cli::tell(&format!("{}: {}{path}{place}", class(error), error.message));
}

/// The lines of an error below what came in and out.
pub(super) fn lines(error: &ErrorInfo) -> String {
    let mut text = format!("error   {}: {}\n", class(error), message(&error.message));
    let mut line = |line: &str| {
        let _ = writeln!(text, "{INDENT}{line}");
    };
    if let Some(path) = &error.path {
        line(&format!("block {path}"));
    }
    if let Some(place) = place(error) {
        line(&format!("at {place}"));
    }
    if let Some(Json(given)) = &error.details {
        details(given).iter().for_each(|one| line(one));
    }
    text
}

/// Its name, and its code where it has one of its own: the code of every other error says nothing to a person.
fn class(error: &ErrorInfo) -> String {
    match error.code.as_deref().filter(|code| *code != "execution_error") {
        Some(code) => format!("{} [{code}]", error.name),
        None => error.name.clone(),
    }
}

fn place(error: &ErrorInfo) -> Option<String> {
    let (file, line) = (error.file.as_ref()?, error.line?);
    Some(format!("{file}:{line}:{}", error.column.unwrap_or(1)))
}

/// A message with its own lines, each below the first.
fn message(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_MESSAGE).collect();
    if shown.len() < text.len() {
        let _ = write!(shown, "… ({} bytes)", text.len());
    }
    shown.trim_end().replace("\r\n", "\n").replace('\n', &format!("\n{INDENT}"))
}

/// What schemas found wrong, a line each; any other details on one line.
fn details(details: &Value) -> Vec<String> {
    let issues = details.as_array().or_else(|| details["issues"].as_array());
    let lines: Option<Vec<String>> = issues.and_then(|issues| issues.iter().map(issue).collect());
    let Some(mut lines) = lines.filter(|lines| !lines.is_empty()) else {
        return vec![format!("details {}", short(details))];
    };
    let more = lines.len().saturating_sub(MAX_DETAILS);
    if more > 0 {
        lines.truncate(MAX_DETAILS);
        lines.push(format!("and {more} more"));
    }
    lines
}

/// What a schema found wrong at one place.
fn issue(issue: &Value) -> Option<String> {
    let (path, message) = (issue["path"].as_str()?, issue["message"].as_str()?);
    Some(if path.is_empty() { cut(message) } else { format!("{}: {}", cut(path), cut(message)) })
}
