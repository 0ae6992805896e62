//! JSON that arguments give: the argument itself, a file that it names, or standard input.

use std::io::Read;
use std::path::Path;

use runner::{Edits, Fault};
use serde_json::Value;

use super::args::Fork;

/// JSON of an argument, of a file that it names, or of standard input.
pub(super) fn read_json(flag: &str, given: &str) -> Result<Value, Fault> {
    let (text, place) = match given.strip_prefix('@') {
        _ if given == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| invalid(format!("{flag} -: {error}")))?;
            (text, "standard input".to_owned())
        }
        Some(file) => {
            let text = runner::read_text(file.as_ref()).map_err(|error| invalid(format!("{flag} @{file}: {error}")))?;
            (text, file.to_owned())
        }
        None => (given.to_owned(), flag.to_owned()),
    };
    parsed(&text, &place, "; a text needs quotes, like '\"hello\"'")
}

/// JSON of a file, for a flag that takes nothing but the name of one.
pub(super) fn read_json_file(flag: &str, file: &Path) -> Result<Value, Fault> {
    let place = format!("{flag} {}", file.display());
    let text = runner::read_text(file).map_err(|error| invalid(format!("{place}: {error}")))?;
    parsed(&text, &place, "")
}

/// JSON of a text; `place` says where it is, and `advice` what may have been meant.
fn parsed(text: &str, place: &str, advice: &str) -> Result<Value, Fault> {
    engine::json::parse_input(text).map_err(|error| {
        let message = error.to_string();
        if message.starts_with("nested deeper") {
            return invalid(format!("{place} is {message}"));
        }
        // It is JSON, but no value of JavaScript.
        if message.starts_with("the integer") || message.starts_with("the number") {
            return invalid(format!("{place}: {message}"));
        }
        invalid(format!("{place} is not JSON: {message}{advice}"))
    })
}

fn invalid(message: String) -> Fault {
    Fault::Invalid { message, details: Vec::new() }
}

/// What a fork changes.
pub(super) fn read_edits(fork: &Fork) -> Result<Edits, Fault> {
    let set = fork.set.iter().map(|text| {
        let at = end_of_place(text).ok_or_else(|| Fault::Invalid {
            message: format!("--set {text:?} has no \"=\"; write it like session.topic='\"tea\"'"),
            details: Vec::new(),
        })?;
        let (place, value) = (&text[..at], &text[at + 1..]);
        Ok((place.to_owned(), read_json(&format!("--set {place}"), value)?))
    });
    Ok(Edits {
        input: match (&fork.input, &fork.action_input) {
            (Some(given), _) => Some(read_json("--input", given)?),
            (None, Some(given)) => Some(read_json("--action-input", given)?),
            (None, None) => None,
        },
        output: fork.output.as_deref().map(|given| read_json("--output", given)).transpose()?,
        set: set.collect::<Result<_, Fault>>()?,
        ..Edits::default()
    })
}

/// Where the `=` after a place stands; one inside brackets belongs to a name.
pub(super) fn end_of_place(text: &str) -> Option<usize> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' if depth > 0 => is_quoted = !is_quoted,
            '[' if !is_quoted => depth += 1,
            ']' if !is_quoted => depth -= 1,
            '=' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}
