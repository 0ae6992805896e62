//! The code that ran, with the number of times each line ran.

use std::collections::HashMap;

use serde_json::json;

use crate::answer::{Answer, Page};
use crate::arguments::{Instant, Refused, on};
use crate::door::Door;
use crate::shown::{cut, name};

/// How many bytes of a line are shown.
const LINE: usize = 160;

pub(super) fn source(door: &Door, request: &str, at: Option<&Instant>, page: Page) -> Result<Answer, Refused> {
    let path = match at {
        Some(Instant::Block { path, .. }) => Some(path.clone()),
        Some(Instant::Seq(_)) => {
            return Err(Refused("argument `at`: give the path of a block, not an event".to_owned()));
        }
        None => None,
    };
    let source = door.workspace.code_of(request, path.as_deref()).map_err(on("at"))?;
    // A request that cannot be replayed has no counts.
    let covered = door.workspace.coverage(request, Some(&source.file)).ok();
    let hits: HashMap<u32, u64> = covered
        .iter()
        .flat_map(|covered| covered.files.iter().filter(|file| file.file == source.file))
        .filter(|file| file.code.as_ref().is_none_or(|code| *code == source.hash))
        .flat_map(|file| file.lines.iter().map(|line| (line.line, line.hits)))
        .collect();
    let mut sentence = format!("{} as it ran", name(&source.file));
    match (&path, source.line) {
        (Some(path), Some(_)) => sentence.push_str(&format!(", the definition of {}", name(path))),
        (Some(path), None) => sentence.push_str(&format!("; the line that defines {} is not known", name(path))),
        (None, _) => {}
    }
    sentence.push_str("; the number before | is how often a line ran.");
    if covered.is_none() {
        sentence = sentence.replace("the number before | is how often a line ran.", "lines cannot be counted.");
    }
    for note in covered.iter().filter_map(|covered| covered.note.as_deref()) {
        sentence.push_str(&format!(" {note}"));
    }
    let mut answer = Answer::new(sentence);
    let first = source.line.unwrap_or(1);
    for (line, text) in (first..).zip(source.text.lines()) {
        let count = hits.get(&line).map(|hits| format!("{hits}×")).unwrap_or_default();
        let text = cut(text, page.bytes_of_value(LINE));
        answer.row(
            format!("{line:>4} {count:>5}| {text}"),
            json!({ "line": line, "hits": hits.get(&line), "text": text }),
        );
    }
    answer.total = Some(source.text.lines().count() as u64);
    for import in &source.imports {
        let uri = crate::address::Address::Source { request: request.to_owned(), file: import.file.clone() };
        answer = answer.then("look", json!({ "uri": uri.to_string() }));
    }
    Ok(answer)
}
