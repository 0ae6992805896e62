//! An error of a flow for people: what it is, what it says, which block failed, and where in the author's file.

use std::fmt::Write as _;

use runner::{ErrorInfo, Json};
use serde_json::Value;

use super::{cut, cut_to};

/// Longer messages are cut.
const MAX_MESSAGE: usize = 1_000;

/// How many lines of details are shown.
const MAX_DETAILS: usize = 10;

/// How many causes and gathered errors are shown.
const MAX_CAUSES: usize = 20;

/// Where the values of a request's or a block's head begin.
const INDENT: &str = "        ";

/// A flow's own error, on stderr: what, and where.
pub(crate) fn flow_error(error: &ErrorInfo) {
    let place = place(error).map(|place| format!("\n    at {place}")).unwrap_or_default();
    let path = error.path.as_ref().map(|path| format!(" (block {path})")).unwrap_or_default();
    let mut text = format!("{}: {}{path}{place}", class(error), message(&error.message, ""));
    for cause in causes(error) {
        let _ = write!(text, "\n    {}", message(&cause, "    "));
    }
    crate::terminal::tell(&text);
}

/// The lines of an error below what came in and out.
pub(super) fn lines(error: &ErrorInfo) -> String {
    let mut text = format!("error   {}: {}\n", class(error), message(&error.message, INDENT));
    let mut line = |line: &str| {
        let _ = writeln!(text, "{INDENT}{line}");
    };
    if let Some(path) = &error.path {
        line(&format!("block {path}"));
    }
    if let Some(place) = place(error) {
        line(&format!("at {place}"));
    }
    causes(error).iter().for_each(|cause| line(&message(cause, INDENT)));
    if let Some(given) = error.details.as_ref().and_then(|Json(given)| without_causes(given)) {
        details(&given).iter().for_each(|one| line(one));
    }
    text
}

/// The value that was thrown in place of an error, the causes of an error and the errors that it gathers, a line each,
/// outermost first.
fn causes(error: &ErrorInfo) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(Json(details)) = &error.details {
        if let Some(thrown) = thrown(details) {
            // A thrown text is the message: what is a text here has no JSON form, like `undefined`.
            let text =
                thrown.as_str().filter(|text| !text.is_empty()).map_or_else(|| thrown.to_string(), str::to_owned);
            lines.push(format!("threw {}", cut_to(&text, MAX_MESSAGE)));
        }
        add_causes(details, 0, &mut lines);
    }
    let more = lines.len().saturating_sub(MAX_CAUSES);
    if more > 0 {
        lines.truncate(MAX_CAUSES);
        lines.push(format!("and {more} more"));
    }
    lines
}

/// The thrown value, if it was no error.
fn thrown(details: &Value) -> Option<&Value> {
    details.as_object().filter(|fields| fields.len() == 1)?.get("thrown")
}

/// Adds the causes that details, or a cause, tell of.
fn add_causes(details: &Value, depth: usize, lines: &mut Vec<String>) {
    let mut add = |word: &str, told: &Value| {
        let Some(text) = told["message"].as_str() else { return };
        let name = told["name"].as_str().unwrap_or("Error");
        let code = told["code"].as_str().map(|code| format!(" [{code}]")).unwrap_or_default();
        lines.push(format!("{}{word} {name}{code}: {text}", "  ".repeat(depth)));
        add_causes(told, depth + 1, lines);
    };
    details["errors"].as_array().into_iter().flatten().for_each(|told| add("error", told));
    add("caused by", &details["cause"]);
}

/// Returns details without the thrown value and the causes, which have lines of their own; `None` if there are no
/// others.
fn without_causes(details: &Value) -> Option<Value> {
    let Value::Object(fields) = details else { return Some(details.clone()) };
    let is_told = |value: &Value| value["message"].is_string() || value.is_array();
    if thrown(details).is_some() {
        return None;
    }
    let mut rest = fields.clone();
    rest.retain(|name, value| !(name == "cause" || name == "errors") || !is_told(value));
    (!rest.is_empty()).then_some(Value::Object(rest))
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
fn message(text: &str, indent: &str) -> String {
    let mut shown: String = text.chars().take(MAX_MESSAGE).collect();
    if shown.len() < text.len() {
        let _ = write!(shown, "… ({} bytes)", text.len());
    }
    shown.trim_end().replace("\r\n", "\n").replace('\n', &format!("\n{indent}"))
}

/// What schemas found wrong, a line each; any other details on one line.
fn details(details: &Value) -> Vec<String> {
    let issues = details.as_array().or_else(|| details["issues"].as_array());
    let lines: Option<Vec<String>> = issues.and_then(|issues| issues.iter().map(issue).collect());
    let Some(mut lines) = lines.filter(|lines| !lines.is_empty()) else {
        return vec![format!("details {}", cut_to(&details.to_string(), MAX_MESSAGE))];
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
