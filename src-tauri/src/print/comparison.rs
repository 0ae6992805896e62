//! In what two requests differ besides their state, as text.

use runner::{
    ComparedStatement, DifferingLocal, EndOfRequest, ErrorInfo, Json, LocalsCompared, PrintedValue, RequestsCompared,
};

use super::{counted, cut, inside, short};

/// A line for each of status, input, output and error that differs, and how many blocks do.
pub(crate) fn ends(compared: &RequestsCompared) -> String {
    let RequestsCompared { left, right, blocks, differing } = compared;
    let value = |value: &Option<Json>| value.as_ref().map_or("(nothing)".to_owned(), |Json(value)| short(value));
    let error = |error: &Option<ErrorInfo>| {
        error.as_ref().map_or("(nothing)".to_owned(), |error| cut(&format!("{}: {}", error.name, error.message)))
    };
    let status = |end: &EndOfRequest| end.request.status.as_str().to_owned();
    let sides = [
        ("status", status(left), status(right)),
        ("input", value(&left.input), value(&right.input)),
        ("output", value(&left.output), value(&right.output)),
        ("error", error(&left.request.error), error(&right.request.error)),
    ];
    let differs = [
        left.request.status != right.request.status,
        left.input != right.input,
        left.output != right.output,
        what_failed(left) != what_failed(right),
    ];
    let mut text = String::new();
    for ((name, left, right), _) in sides.iter().zip(differs).filter(|(_, differs)| *differs) {
        text.push_str(&format!("{name:<8}{left} → {right}\n"));
    }
    if text.is_empty() {
        text.push_str("status, input, output and error are the same\n");
    }
    let verb = if *differing == 1 { "differs" } else { "differ" };
    text.push_str(&format!("{differing} of {} {verb}\n", counted(*blocks, "block")));
    text
}

/// The first statement at which two executions of a block differ, and the locals that do.
pub(crate) fn locals(compared: &LocalsCompared) -> String {
    let LocalsCompared { equal, left, right, locals, note } = compared;
    let mut text = String::new();
    let equal = counted(*equal, "statement");
    let place = |side: &Option<ComparedStatement>| match side {
        Some(at) => {
            let instant = at.instant.clone().unwrap_or_else(|| "the code of today".to_owned());
            format!("{}:{} in {}  ({}, {instant})", at.file, at.line, at.function, at.request_id)
        }
        None => "it has ended".to_owned(),
    };
    match (left, right) {
        (None, None) => text.push_str(&format!("the locals are the same at all of {equal}\n")),
        _ if locals.is_empty() => {
            text.push_str(&format!("the same for {equal}, and then they go another way\n"));
            text.push_str(&format!("A  {}\nB  {}\n", place(left), place(right)));
        }
        _ => {
            text.push_str(&format!("A  {}\nB  {}\n", place(left), place(right)));
            let shown =
                |value: &Option<PrintedValue>| value.as_ref().map_or("(not in scope)".to_owned(), inside::value);
            for DifferingLocal { name, old, new } in locals {
                text.push_str(&format!("  {name}  {} → {}\n", shown(old), shown(new)));
            }
        }
    }
    if let Some(note) = note {
        text.push_str(&format!("{note}\n"));
    }
    text
}

/// An error without its place, which differs wherever the file was edited.
fn what_failed(end: &EndOfRequest) -> Option<(&str, Option<&str>, &str)> {
    end.request.error.as_ref().map(|error| (error.name.as_str(), error.code.as_deref(), error.message.as_str()))
}
