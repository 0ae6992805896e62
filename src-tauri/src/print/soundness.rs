//! What a look at a whole database found, for people.

use std::fmt::Write as _;

use runner::DataCheck;

use super::counted;

/// One problem a line, and how much was looked at.
pub(crate) fn data_check(checked: &DataCheck) -> String {
    let mut text = String::new();
    for problem in &checked.problems {
        let place = match (&problem.request_id, problem.seq) {
            (Some(request), Some(seq)) => format!("{request} at event {seq}: "),
            (Some(request), None) => format!("{request}: "),
            _ => String::new(),
        };
        let _ = writeln!(text, "wrong  {place}{}", problem.what);
    }
    for (kind, count) in &checked.unknown {
        let _ = writeln!(
            text,
            "note   {} of kind \"{kind}\", which this version does not know: what they say was not looked at",
            counted(*count, "event")
        );
    }
    let _ = writeln!(
        text,
        "{} with {}: {}",
        counted(checked.requests, "request"),
        counted(checked.events, "event"),
        if checked.ok { "no problems found".to_owned() } else { counted(checked.problems.len() as u64, "problem") }
    );
    text
}
