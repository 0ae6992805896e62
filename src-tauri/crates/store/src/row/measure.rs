//! The length of values as JSON, computed without serializing them.

use std::fmt::Write;

use engine::error::FlowError;
use engine::event::{EventKind, Recorded, RecordedReturn};
use engine::operation::Operation;
use serde_json::{Map, Value};

/// How much of a text is looked at before it is known whether it has escapes.
const CHUNK_BYTES: usize = 256;

/// The length of the flow's own values in an event, as JSON. Fields that the engine adds are not counted.
pub(crate) fn value_bytes(kind: &EventKind) -> usize {
    match kind {
        EventKind::RequestStarted { input, .. }
        | EventKind::BlockStarted { input, .. }
        | EventKind::InputEdited { input }
        | EventKind::BlockInput { input } => recorded(input),
        EventKind::RequestFinished { output, error, .. } | EventKind::BlockFinished { output, error, .. } => {
            output.as_ref().map_or(0, recorded) + error.as_ref().map_or(0, failure)
        }
        EventKind::HookReturned { before, after, error } => {
            let values = before.iter().chain(after).map(recorded).sum::<usize>();
            values + error.as_ref().map_or(0, failure)
        }
        EventKind::StateInitialized { state, .. } => json_bytes(state),
        EventKind::StateChanged { operation: change, value, .. } => operation(change) + optional(value),
        EventKind::ItemAdded { item } => object_bytes(&item.payload),
        EventKind::ItemUpdated { patch, .. } | EventKind::ItemDone { patch, .. } => object_bytes(patch),
        EventKind::ItemDelta { text, .. } => text_bytes(text),
        EventKind::EffectStarted { request, .. } => optional(request),
        EventKind::EffectFinished { request, result, error, .. } => {
            optional(request) + json_bytes(result) + error.as_ref().map_or(0, failure)
        }
        EventKind::Logged { text, .. } | EventKind::Noted { text } | EventKind::Drift { text, .. } => text_bytes(text),
        EventKind::ReactionsDue { reactions, .. } => {
            reactions.iter().map(|reaction| json_bytes(&reaction.change)).sum()
        }
        EventKind::JournalAppended { entry: value }
        | EventKind::MetadataSet { metadata: value }
        | EventKind::SpanReceived { span: value } => json_bytes(value),
        EventKind::CallbackReturned { returned, .. } => match returned {
            Some(RecordedReturn::Value(value)) => json_bytes(value),
            Some(RecordedReturn::Block(_)) | None => 0,
        },
        EventKind::Suspended(suspension) => {
            optional(&suspension.data)
                + suspension.message.as_deref().map_or(0, text_bytes)
                + optional(&suspension.resume_schema)
        }
        EventKind::OutputEdited { output } => recorded(output),
        EventKind::StateEdited { operation: change, .. } => operation(change),
        EventKind::ModelEdited(edit) => object_bytes(&edit.options),
        EventKind::SuspensionResolved(resolved) => optional(&resolved.data),
        EventKind::RequestResumed { .. }
        | EventKind::RequestAdopted { .. }
        | EventKind::BlockResumed { .. }
        | EventKind::Unknown { .. }
        | EventKind::SuspensionReopened { .. }
        | EventKind::RequestStatus { .. }
        | EventKind::HookStarted { .. }
        | EventKind::Committed { .. }
        | EventKind::CommitRefused { .. }
        | EventKind::RecordsSeen { .. }
        | EventKind::RouteDecided { .. } => 0,
    }
}

/// The length of a value as JSON.
pub(crate) fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => {
            let mut length = ByteCounter(0);
            // `ByteCounter` returns no errors.
            let _ = write!(length, "{number}");
            length.0
        }
        Value::String(text) => text_bytes(text),
        Value::Array(items) => 1 + items.iter().map(|item| json_bytes(item) + 1).sum::<usize>().max(1),
        Value::Object(fields) => object_bytes(fields),
    }
}

fn object_bytes(fields: &Map<String, Value>) -> usize {
    1 + fields.iter().map(|(name, value)| text_bytes(name) + 1 + json_bytes(value) + 1).sum::<usize>().max(1)
}

fn text_bytes(text: &str) -> usize {
    text.len() + 2 + text.as_bytes().chunks(CHUNK_BYTES).map(escape_bytes).sum::<usize>()
}

/// How many bytes escapes add to a chunk of a text.
fn escape_bytes(chunk: &[u8]) -> usize {
    // A loop without branches, which the compiler makes a few instructions for 64 bytes. Most chunks have no escapes.
    let is_escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    if !chunk.iter().fold(false, |any, byte| any | is_escaped(byte)) {
        return 0;
    }
    let added = |byte: &u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    };
    chunk.iter().map(added).sum()
}

fn recorded(recorded: &Recorded) -> usize {
    match recorded {
        Recorded::Value(value) => json_bytes(value),
        Recorded::Of(_) | Recorded::Undefined => 0,
    }
}

fn optional(value: &Option<Value>) -> usize {
    value.as_ref().map_or(0, json_bytes)
}

fn failure(error: &FlowError) -> usize {
    let gathered: usize = error.gathered.iter().map(failure).sum();
    text_bytes(&error.message) + optional(&error.details) + optional(&error.object) + gathered
}

fn operation(operation: &Operation) -> usize {
    match operation {
        Operation::Patch { fields } | Operation::Atomic { fields } => object_bytes(fields),
        Operation::Set { state } => object_bytes(state),
        Operation::Increment { by } => object_bytes(by),
        Operation::Update { field, value } | Operation::Push { field, value } => text_bytes(field) + json_bytes(value),
        Operation::SetRecord { field, key, value } => text_bytes(field) + text_bytes(key) + json_bytes(value),
        Operation::DeleteRecord { field, key } => text_bytes(field) + text_bytes(key),
    }
}

struct ByteCounter(usize);

impl Write for ByteCounter {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_measure_is_the_length_of_the_text() {
        let values = [
            json!(null),
            json!(false),
            json!(-12.5e30),
            json!("a \"quoted\"\n\u{1} text ü"),
            json!([]),
            json!({}),
            json!([1, [], {}, "x"]),
            json!({"a": {"b": [true, null]}, "c\\": 0}),
        ];
        for value in values {
            assert_eq!(json_bytes(&value), value.to_string().len(), "{value}");
        }
    }
}
