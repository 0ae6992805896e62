//! Long values as resources, which are read in ranges. A cut value always says so.

use engine::views::items::Audience;
use rmcp::model::{MetaObject, ReadResourceResult, ResourceContents, ResourceTemplate};
use runner::{At, BlockDetail, EventQuery};
use serde_json::{Value, json};

use crate::address::{Address, FORMS, Part, Range};
use crate::answer::{Answer, Page, clean, warning};
use crate::arguments::{Refused, on};
use crate::door::Door;
use crate::shown::head;

/// The maximum size of a resource in bytes, unless its address names a range.
const USUAL_BYTES: usize = 40_000;
/// The longest range.
const MOST_BYTES: usize = 1_000_000;

/// A part of a value's text.
struct Piece {
    /// The range that was read.
    range: Range,
    text: String,
    total: usize,
    /// Where the rest begins.
    next: Option<Range>,
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, what: &str| ResourceTemplate::new(uri, name).with_description(what);
    vec![
        template("flowglass://request/{id}/{part}", "request", "input or output of a request; state/SEQ, event/SEQ"),
        template(
            "flowglass://request/{id}/block/{path}/{part}",
            "block",
            "input, output, error, prompt/N, reply/N, asked/N or answered/N of a block; ?pointer=, &from=, &to=",
        ),
    ]
}

/// `resources/read`.
pub(crate) fn read(door: &Door, uri: &str) -> Result<ReadResourceResult, Refused> {
    let is_range = Range::parse(uri).is_some_and(|range| range.to.is_some());
    let piece = piece(door, uri, if is_range { MOST_BYTES } else { USUAL_BYTES })?;
    let mut meta = MetaObject::new();
    meta.insert("from".to_owned(), json!(piece.range.from));
    meta.insert("total".to_owned(), json!(piece.total));
    let warning = warning(&door.workspace.missing_secrets());
    if let Some((_, names)) = &warning {
        meta.insert("unsetVariables".to_owned(), names.clone());
    }
    let mut contents = vec![ResourceContents::TextResourceContents {
        uri: piece.range.to_string(),
        mime_type: Some("text/plain".to_owned()),
        // Keep carriage returns, because this text is not printed.
        text: piece.text.split('\r').map(clean).collect::<Vec<_>>().join("\r"),
        meta: Some(meta),
    }];
    if let Some(next) = &piece.next {
        let text = format!("{} of {} bytes; the rest: {next}", piece.text.len(), piece.total);
        contents.push(ResourceContents::text(text, next.to_string()));
    }
    // Last, because clients read the address of the rest from the second part.
    if let Some((line, _)) = warning {
        contents.push(ResourceContents::text(line, piece.range.to_string()));
    }
    Ok(ReadResourceResult::new(contents))
}

/// Reads a resource for clients without resources, as a tool's answer.
pub(crate) fn look(door: &Door, uri: &str, page: Page) -> Result<Answer, Refused> {
    // Quotes and escapes make a text longer, so shorten it until it fits.
    let room = page.bytes().saturating_sub(2 * uri.len() + 400).max(200);
    let mut most = room;
    let piece = loop {
        let piece = piece(door, uri, most)?;
        let length = Value::String(piece.text.clone()).to_string().len();
        if length <= room || piece.text.len() <= 4 {
            break piece;
        }
        most = (piece.text.len() * room / length).saturating_sub(8).max(4);
    };
    let end = piece.range.from + piece.text.len();
    let mut answer = Answer::new(format!("Bytes {} to {end} of {}.", piece.range.from, piece.total));
    let quoted = Value::String(piece.text.clone()).to_string();
    answer.row(quoted, json!({ "text": piece.text }));
    Ok(match &piece.next {
        Some(next) => answer.then("look", json!({ "uri": next.to_string() })),
        None => answer,
    })
}

fn piece(door: &Door, uri: &str, most: usize) -> Result<Piece, Refused> {
    let range = Range::parse(uri).ok_or_else(|| Refused(format!("argument `uri` is none of {FORMS}")))?;
    if let Some(to) = range.to.filter(|to| *to < range.from) {
        return Err(Refused(format!("argument `uri`: to={to} is before from={}", range.from)));
    }
    let value = door.workspace.hide_secrets(value(door, &range.address)?);
    let at = match value.pointer(&range.pointer) {
        Some(at) => at,
        None => return Err(Refused(format!("argument `uri`: {}", missing(&value, &range.pointer)))),
    };
    let text = match at {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let total = text.len();
    let mut from = range.from.min(total);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let wanted = range.to.map_or(most, |to| to.saturating_sub(from)).min(most);
    let mut shown = head(&text[from..], wanted);
    if shown.is_empty() {
        // At least one character, so that reading makes progress.
        shown = head(&text[from..], 4);
    }
    let end = from + shown.len();
    let asked = range.to.unwrap_or(total).min(total);
    let next = (end < asked).then(|| Range { from: end, ..range.clone() });
    Ok(Piece { text: shown.to_owned(), total, next, range: Range { from, ..range } })
}

/// Describes the valid part of a wrong pointer.
fn missing(value: &Value, pointer: &str) -> String {
    let mut at = value;
    let mut known = String::new();
    for part in pointer.split('/').skip(1) {
        let further = format!("{known}/{part}");
        match value.pointer(&further) {
            Some(inside) => (at, known) = (inside, further),
            None => break,
        }
    }
    let there = match at {
        Value::Object(fields) => {
            let names: Vec<&str> = fields.keys().take(20).map(String::as_str).collect();
            format!("an object with {}", names.join(", "))
        }
        Value::Array(entries) => format!("a list of {}", entries.len()),
        other => head(&other.to_string(), 80).to_owned(),
    };
    format!("the pointer leads nowhere; at \"{known}\" is {there}")
}

fn value(door: &Door, address: &Address) -> Result<Value, Refused> {
    let workspace = &door.workspace;
    let found = match address {
        Address::Input(id) | Address::Output(id) => {
            workspace.request(id).map_err(on("uri"))?;
            let (input, output) = workspace.asked_and_answered(id)?;
            if matches!(address, Address::Input(_)) { input } else { output }.map(|value| value.0)
        }
        Address::Block { request, path, attempt, part } => {
            let detail = workspace.block_at(request, path, *attempt).map_err(on("uri"))?;
            part_of(detail, *part)
        }
        Address::State { request, seq } => {
            let state = workspace.state_at(request, Some(&At::Seq(*seq))).map_err(on("uri"))?;
            Some(json!(state))
        }
        Address::Item { request, id } => {
            let items = workspace.items(None, Some(request), Audience::All, None).map_err(on("uri"))?;
            items.into_iter().find(|item| item.id == *id).map(|item| json!(item))
        }
        Address::Event { request, seq } => {
            let query = EventQuery { from: Some(*seq), limit: Some(1), ..EventQuery::default() };
            let events = workspace.events(request, query).map_err(on("uri"))?;
            events.into_iter().find(|event| event.seq == *seq).map(|event| json!(event))
        }
        Address::Source { request, file } => {
            let files = workspace.files_that_ran(request, None).map_err(on("uri"))?;
            files.into_iter().find(|one| one.file == *file).map(|one| Value::String(one.text))
        }
    };
    found.ok_or_else(|| Refused("argument `uri`: nothing was recorded there".to_owned()))
}

fn part_of(detail: BlockDetail, part: Part) -> Option<Value> {
    match part {
        Part::Input => detail.input.map(|value| value.0),
        Part::Output => detail.output.map(|value| value.0),
        Part::Error => detail.block.error.map(|error| json!(error)),
        Part::Span => detail.span.map(|value| value.0),
        Part::Prompt(n) => detail.model_calls.into_iter().nth(n)?.effect.request.map(|value| value.0),
        Part::Reply(n) => detail.model_calls.into_iter().nth(n)?.effect.result.map(|value| value.0),
        Part::Asked(n) => detail.effects.into_iter().nth(n)?.request.map(|value| value.0),
        Part::Answered(n) => detail.effects.into_iter().nth(n)?.result.map(|value| value.0),
    }
}
