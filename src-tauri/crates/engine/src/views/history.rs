//! View: a session's earlier requests as the messages a model sees (core-semantics §7.6).

use serde_json::Value;

use super::Events;
use super::items::{Audience, Item, items};
use crate::effects::Message;
use crate::log::RequestEvents;

/// The messages of completed requests, oldest first.
pub fn messages(requests: &[RequestEvents]) -> Vec<Message> {
    requests
        .iter()
        .flat_map(|(request, events)| items(request, Events::new(events), true))
        .filter(|item| Audience::History.sees(item))
        .filter_map(|item| message(&item))
        .collect()
}

/// The message an item stands for; empty text is dropped.
pub fn message(item: &Item) -> Option<Message> {
    let (role, parts) = match item.item_type.as_str() {
        "message" => (item.payload.get("role")?.as_str()?, item.payload.get("content")?),
        "reasoning" => ("assistant", item.payload.get("summary")?),
        _ => return None,
    };
    let text = joined_text(parts);
    (!text.is_empty()).then(|| Message { role: role.to_owned(), content: text.into() })
}

/// The text of content parts, joined.
pub fn joined_text(parts: &Value) -> String {
    match parts {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("")
        }
        _ => String::new(),
    }
}
