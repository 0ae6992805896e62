//! Prints the answers of `print`, `step`, `debug` and `coverage` as text.

use runner::{EndOfBlock, FileCoverage, Instant, OpenedValue, Printed, PrintedValue, ScopeSeen};

/// How many characters of a scope's state are shown.
const MAX_STATE: usize = 400;

/// The hits of `print`, one per line, grouped by request.
pub(crate) fn printed(found: &Printed, expressions: &[String]) -> String {
    let mut text = String::new();
    let mut request = "";
    for hit in &found.hits {
        if hit.request_id != request {
            request = &hit.request_id;
            text.push_str(&format!("{request}\n"));
        }
        let values = hit.values.iter().zip(expressions);
        let values: Vec<String> = match &hit.values[..] {
            [only] => vec![value(only)],
            _ => values.map(|(one, expression)| format!("{expression} = {}", value(one))).collect(),
        };
        text.push_str(&format!("  {}#{}+{}  {}\n", hit.path, hit.attempt, hit.tick, values.join("  ")));
    }
    if found.truncated {
        let least = if found.total_is_at_least { "at least " } else { "" };
        let shown = found.hits.len();
        text.push_str(&format!("{shown} of {least}{} hits; --limit N shows more\n", found.total));
    }
    for not_asked in &found.not_asked {
        text.push_str(&format!("{}: {}\n", not_asked.request_id, not_asked.why));
    }
    for known in &found.notes {
        text.push_str(&format!("{}: {}\n", known.request_id, known.note));
    }
    if let Some(note) = &found.note {
        text.push_str(&format!("{note}\n"));
    }
    text
}

/// The state of every scope, one per line.
pub(crate) fn state(scopes: &[ScopeSeen]) -> String {
    let line = |scope: &ScopeSeen| {
        let pending = &scope.not_in_force;
        let pending =
            if pending.is_empty() { String::new() } else { format!("  (not committed yet: {})", pending.join(", ")) };
        format!("  {} state  {}{pending}\n", scope.scope, short(&scope.value.0.to_string()))
    };
    scopes.iter().map(line).collect()
}

/// Cuts a text to [`MAX_STATE`] characters.
fn short(text: &str) -> String {
    let cut: String = text.chars().take(MAX_STATE).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// A value on one line.
pub(crate) fn value(value: &PrintedValue) -> String {
    match value {
        PrintedValue::Captured(captured) => on_a_line(&captured.preview),
        PrintedValue::Failed { error } => on_a_line(&format!("<{}: {}>", error.name, error.message)),
    }
}

/// A text without line breaks: the message of an error, or a name, may have some.
fn on_a_line(text: &str) -> String {
    text.replace('\r', "\\r").replace('\n', "\\n")
}

/// A value and its entries.
pub(crate) fn opened(opened: &OpenedValue) -> String {
    let mut text = format!("{}\n", opened.preview);
    for entry in &opened.entries {
        text.push_str(&format!("  {}: {}\n", on_a_line(&entry.name), on_a_line(&entry.value.preview)));
    }
    let shown = opened.entries.len() as u64;
    let letters = opened.preview.encode_utf16().count() as u64;
    if opened.kind == "string" && opened.total > letters {
        text.push_str(&format!("… {} more characters\n", opened.total - letters));
    }
    if opened.kind != "string" && opened.total > shown {
        text.push_str(&format!("  … {} more\n", opened.total - shown));
    }
    text
}

/// The position of an instant, its source line, and the values of locals, state and watches there.
pub(crate) fn instant(at: &Instant, line: &str, watches: &[String]) -> String {
    let ended = match at.ended {
        Some(EndOfBlock::Start) => "  before the first statement",
        Some(EndOfBlock::End) => "  after the last statement",
        Some(EndOfBlock::Error) => "  the block has failed",
        None => "",
    };
    let mut text = format!("{}  of {}{ended}\n{}:{}:{}", at.instant, at.ticks, at.file, at.line, at.column);
    text.push_str(&format!("  in {}  after event {}\n", at.function, at.seq));
    text.push_str(&format!("    {}\n", line.trim()));
    if let Some(error) = &at.error {
        text.push_str(&format!("throws {}: {}\n", error.name, error.message));
    }
    let width = at.locals.iter().map(|local| local.name.chars().count()).max().unwrap_or(0).min(24);
    for local in &at.locals {
        text.push_str(&format!("  {:width$}  {}\n", local.name, value(&local.value)));
    }
    text.push_str(&state(&at.state));
    for (watch, expression) in at.watches.iter().zip(watches) {
        text.push_str(&format!("  {expression} = {}\n", value(watch)));
    }
    for frame in at.stack.iter().skip(1) {
        text.push_str(&format!("  called from {} ({}:{})\n", frame.function, frame.file, frame.line));
    }
    if let Some(note) = &at.note {
        text.push_str(&format!("{note}\n"));
    }
    text
}

/// How often the lines of files ran.
pub(crate) fn coverage(files: &[FileCoverage]) -> String {
    let mut text = String::new();
    for file in files {
        let from = file.from_seq.map(|seq| format!("  (the version that ran from event {seq} on)")).unwrap_or_default();
        text.push_str(&format!("{}{from}\n", file.file));
        for line in &file.lines {
            text.push_str(&format!(
                "{:>7}  {}\n",
                line.line,
                if line.hits == 0 { "-".to_owned() } else { line.hits.to_string() }
            ));
        }
    }
    text
}
