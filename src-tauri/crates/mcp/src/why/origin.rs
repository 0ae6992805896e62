//! The origin of a value or a text of a block, as rows. Each row is one step back towards the cause.

use runner::{WhyEdge, WhyKind, WhyPlace, WhyQuery, WhySpot, WhyView};
use serde_json::{Value, json};

use crate::answer::{Answer, Page};
use crate::arguments::{Refused, on};
use crate::door::Door;
use crate::shown::{cut, name, quoted};

/// The maximum number of steps.
const EDGES: u32 = 200;
/// How many bytes of a text or a value are shown.
const TEXT: usize = 120;
/// How many other origins of a value are named.
const TIES: usize = 2;

pub(super) fn origin(door: &Door, request: &str, query: &WhyQuery, page: Page) -> Result<Answer, Refused> {
    let argument = if query.text.is_some() { "at` or `text" } else { "at` or `value" };
    let query = WhyQuery { limit: Some(EDGES), ..query.clone() };
    let view = door.workspace.why(request, &query).map_err(on(argument))?;
    let mut answer = Answer::new(view.answer.clone());
    answer.total = Some(view.edges.len() as u64);
    for edge in &view.edges {
        answer.row(line(&view, edge, page), row(edge, page));
    }
    if view.truncated {
        let text = format!("there are more than these {EDGES} steps; ask `why` about the last one");
        answer.row(text, json!({ "truncated": true }));
    }
    let end = view.edges.last().map(|edge| edge.of.as_ref().unwrap_or(&edge.spot));
    Ok(match end {
        Some(WhySpot { path: Some(path), request_id, attempt, .. }) => {
            let at = attempt.map_or(path.clone(), |attempt| format!("{path}#{attempt}"));
            answer.then("look", json!({ "request": request_id, "at": at }))
        }
        Some(WhySpot { request_id, .. }) => answer.then("look", json!({ "request": request_id })),
        None => answer,
    })
}

fn line(view: &WhyView, edge: &WhyEdge, page: Page) -> String {
    let mut text = "  ".repeat(edge.depth.min(12) as usize);
    text.push_str(match edge.kind {
        WhyKind::Recorded => "recorded: ",
        WhyKind::Copied if edge.proven => "copied: ",
        WhyKind::Copied => "same content: ",
        WhyKind::Computed if edge.proven || edge.operation.is_some() => "computed: ",
        WhyKind::Computed => "computed or copied, not known: ",
        WhyKind::Written => "written: ",
    });
    text.push_str(&spot(view, &edge.spot));
    if let Some(of) = &edge.of {
        text.push_str(&format!(" from {}", spot(view, of)));
    }
    if let Some(by) = &edge.by {
        let word = if edge.kind == WhyKind::Copied { "or text of the code of" } else { "by" };
        text.push_str(&format!(" {word} {}", name(&by.path)));
        if let (Some(file), Some(line)) = (&by.file, by.line) {
            text.push_str(&format!(" ({}:{line})", name(file)));
        }
    }
    if let Some(operation) = &edge.operation {
        text.push_str(&format!(" · {}", operation.replace('_', " ")));
    }
    if edge.old.is_some() || edge.new.is_some() {
        text.push_str(&format!(" · {} -> {}", side(edge.old.as_ref(), page), side(edge.new.as_ref(), page)));
    }
    if let Some(words) = &edge.text {
        text.push_str(&format!(" · {}", quoted(words, page.bytes_of_value(TEXT))));
    }
    for tie in edge.ties.iter().take(TIES) {
        text.push_str(&format!(" or from {}", spot(view, tie)));
    }
    if let Some(others) = edge.others {
        text.push_str(&match edge.kind {
            WhyKind::Copied | WhyKind::Computed => format!(" · {others} more like it"),
            _ => format!(" · {others} other writes before"),
        });
    }
    text
}

fn side(value: Option<&runner::Json>, page: Page) -> String {
    let text = value.map_or("nothing".to_owned(), |value| value.0.to_string());
    cut(&text, page.bytes_of_value(TEXT))
}

fn spot(view: &WhyView, spot: &WhySpot) -> String {
    let mut text = spot.place.as_str().to_owned();
    if let Some(scope) = &spot.scope {
        text.push_str(&format!(" {}", name(scope)));
    }
    if let Some(pointer) = spot.pointer.as_deref().filter(|pointer| !pointer.is_empty()) {
        text.push_str(&format!(" {}", name(pointer)));
    }
    if let (Some(from), Some(to)) = (spot.from, spot.to) {
        let json = if spot.as_json { " of its JSON" } else { "" };
        text.push_str(&format!(" bytes {from}..{to}{json}"));
    }
    if let Some(path) = &spot.path {
        text.push_str(&format!(" of {}", name(path)));
    }
    if spot.request_id != view.request_id {
        text.push_str(&format!(" of {}", name(&spot.request_id)));
    }
    if spot.place != WhyPlace::RequestInput {
        text.push_str(&format!(" (event {})", spot.seq));
    }
    text
}

/// A step as JSON, without the parts that may be long.
fn row(edge: &WhyEdge, page: Page) -> Value {
    let of = |spot: &WhySpot| {
        json!({ "where": spot.place, "request": spot.request_id, "path": spot.path, "seq": spot.seq,
            "pointer": spot.pointer, "from": spot.from, "to": spot.to, "asJson": spot.as_json.then_some(true) })
    };
    json!({
        "kind": edge.kind, "proven": edge.proven, "in": of(&edge.spot), "of": edge.of.as_ref().map(of), "by": edge.by,
        "operation": edge.operation, "old": edge.old.as_ref().map(|value| short_json(&value.0, page)),
        "new": edge.new.as_ref().map(|value| short_json(&value.0, page)), "others": edge.others,
        "ties": edge.ties.iter().take(TIES).map(of).collect::<Vec<_>>(),
        "text": edge.text.as_deref().map(|text| cut(text, page.bytes_of_value(TEXT))),
    })
}

/// A value, or its beginning as a text if it is long.
fn short_json(value: &Value, page: Page) -> Value {
    let text = value.to_string();
    if text.len() <= page.bytes_of_value(TEXT) {
        return value.clone();
    }
    Value::String(cut(&text, page.bytes_of_value(TEXT)))
}
