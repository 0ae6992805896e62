//! Prints items, one per line: the block that emitted it, its audience, and its content.

use engine::item::ItemStatus;
use engine::views::history::joined_text;
use runner::ItemRow;
use serde_json::Value;

use super::{cut, cut_to, plain, table};

/// The value of a missing field.
const NOTHING: &Value = &Value::Null;

/// How wide a tool's arguments are at most, to leave room for its result.
const WIDEST_ARGUMENTS: usize = 48;

/// Names of spans may be of any length.
const WIDEST_NAME: usize = 48;

pub(crate) fn items(items: &[ItemRow]) -> String {
    let rows: Vec<_> = items
        .iter()
        .map(|item| {
            let audience = match (item.visibility.client, item.visibility.history) {
                // It was streamed only; no persistent view contains it.
                _ if item.transient => "transient",
                (true, true) => "client history",
                (true, false) => "client",
                (false, true) => "history",
                (false, false) => "trace",
            };
            let is_cut_off = item.status == ItemStatus::Incomplete;
            vec![
                item.item_index.to_string(),
                item.item_type.clone(),
                cut_to(&item.provenance.block_name, WIDEST_NAME),
                audience.to_owned(),
                if is_cut_off { format!("[cut off] {}", gist(item)) } else { gist(item) },
            ]
        })
        .collect();
    table(&["#", "TYPE", "BY", "SEEN BY", "CONTENT"], &rows)
}

/// The content of an item on one line.
fn gist(item: &ItemRow) -> String {
    let payload = &item.payload;
    let value = |key: &str| payload.get(key).unwrap_or(NOTHING);
    let text = |key: &str| value(key).as_str().unwrap_or_default();
    let words = |parts: &[String]| {
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        cut(&parts.join(" "))
    };
    let given = |key: &str| payload.get(key).map(plain).unwrap_or_default();
    match item.item_type.as_str() {
        "message" => {
            let said = joined_text(value("content"));
            let said = if said.is_empty() { given("content") } else { said };
            cut(&format!("{}: {said}", text("role")))
        }
        // Traces stored by earlier versions have `content` instead of `summary`.
        "reasoning" => match joined_text(value("summary")) {
            text if text.is_empty() => cut(&joined_text(value("content"))),
            text => cut(&text),
        },
        "block_tool_output" => tool(item),
        "status" => cut(text("message")),
        "error" | "step_error" => {
            let name = text("name");
            let at = if text("path").is_empty() { String::new() } else { format!(" (block {})", text("path")) };
            cut(&format!("{name}{}{}{at}", if name.is_empty() { "" } else { ": " }, text("message")))
        }
        "component" => words(&[given("component"), given("data")]),
        "container" => words(&[given("component"), given("label")]),
        "source" => words(&[given("title"), given("url")]),
        "state_change" => words(&[given("scope"), given("operation"), given("path"), given("value")]),
        "resource_change" => {
            let resource = format!("{}/{}", text("scope"), text("resourcePath"));
            words(&[resource, given("changeType"), given("delta")])
        }
        "block_output" => given("output"),
        "router_decision" => cut(text("selectedRoute")),
        "state_snapshot" => given("state"),
        "suspension" => cut(&format!("{}: {}", text("reason"), text("message"))),
        "suspension_resume" => {
            let by = if text("resolvedBy").is_empty() { String::new() } else { format!("by {}", text("resolvedBy")) };
            let refused = payload.get("refused").map(|_| "[refused]".to_owned()).unwrap_or_default();
            words(&[given("resolution"), refused, by, given("resumeData")])
        }
        "continuation" => words(&[given("trigger"), given("resumedAtPath")]),
        _ => {
            let main = ["message", "text", "title", "content"].into_iter().find(|key| !text(key).is_empty());
            main.map_or_else(|| cut(&Value::Object(payload.clone()).to_string()), |key| cut(text(key)))
        }
    }
}

/// A tool call, its result, and whether the result was cached or the call denied.
fn tool(item: &ItemRow) -> String {
    let call = item.payload.get("toolCall").unwrap_or(NOTHING);
    let name = call["name"].as_str().unwrap_or(&item.provenance.block_name);
    let came = match (item.payload.get("error"), item.payload.get("output")) {
        (Some(error), _) => format!("✗ {}", plain(&error["message"])),
        (None, Some(output)) => plain(output),
        (None, None) => "…".to_owned(),
    };
    let is = |mark: &&str| item.payload.get(*mark) == Some(&Value::Bool(true));
    let marks: String = ["cached", "denied"].iter().filter(|mark| is(mark)).map(|mark| format!(" [{mark}]")).collect();
    let arguments = cut_to(call["arguments"].as_str().unwrap_or_default(), WIDEST_ARGUMENTS);
    format!("{name}({arguments}) → {came}{marks}")
}
