//! In what two requests differ besides their state, as text.

use runner::{EndOfRequest, ErrorInfo, Json, RequestsCompared};

use super::{counted, cut, short};

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

/// An error without its place, which differs wherever the file was edited.
fn what_failed(end: &EndOfRequest) -> Option<(&str, Option<&str>, &str)> {
    end.request.error.as_ref().map(|error| (error.name.as_str(), error.code.as_deref(), error.message.as_str()))
}
