//! View: the text an event holds, and whether a text stands in it.
//!
//! Values are read as a person sees them: JSON without its escapes, so that a quotation or a line break
//! in a text is found as it is written. Letters count without their case. Must not know how a store
//! finds the events that are worth reading.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value};

use super::model_requests::own_part;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Recorded, RecordedReturn};
use crate::model::operation::Operation;

/// The sigma at the end of a word.
const FINAL_SIGMA: char = 'ς';

/// How much of a text is shown around a hit, in characters.
const BEFORE: usize = 40;
const AFTER: usize = 80;

/// In what a text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// What a request or a block was given.
    Input,
    /// What it gave.
    Output,
    /// An emitted item.
    Item,
    /// A write to a state, or its first values.
    State,
    /// What failed it.
    Error,
    /// A line of `console`.
    Log,
    /// What a flow asked of the outside, and the answer.
    Effect,
    /// What a flow asked somebody, and the answer.
    Question,
    /// An entry of the session's journal.
    Journal,
    /// The session's metadata.
    Metadata,
    /// What the engine had to say.
    Note,
    /// A span of a foreign request.
    Span,
}

impl Where {
    /// The name as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Where::Input => "input",
            Where::Output => "output",
            Where::Item => "item",
            Where::State => "state",
            Where::Error => "error",
            Where::Log => "log",
            Where::Effect => "effect",
            Where::Question => "question",
            Where::Journal => "journal",
            Where::Metadata => "metadata",
            Where::Note => "note",
            Where::Span => "span",
        }
    }
}

/// Tells the texts of an event. A value that only refers to an earlier event is that event's.
pub fn texts(kind: &EventKind, tell: &mut dyn FnMut(Where, &str)) {
    let mut of = |place: Where, value: &Value| match value {
        Value::String(text) => tell(place, text),
        value => tell(place, &plain(value)),
    };
    if let EventKind::RequestStarted { foreign: Some(foreign), .. } = kind {
        foreign.resources.iter().chain(&foreign.scopes).for_each(|shared| of(Where::Span, shared));
    }
    match kind {
        EventKind::RequestStarted { input: Recorded::Value(input), .. }
        | EventKind::InputEdited { input: Recorded::Value(input) }
        | EventKind::BlockStarted { input: Recorded::Value(input), .. }
        | EventKind::BlockInput { input: Recorded::Value(input) } => of(Where::Input, input),
        EventKind::RequestFinished { output, error, .. } | EventKind::BlockFinished { output, error, .. } => {
            if let Some(Recorded::Value(output)) = output {
                of(Where::Output, output);
            }
            if let Some(error) = error {
                tell(Where::Error, &failure(error));
            }
        }
        EventKind::HookReturned { before, after, error } => {
            if let Some(Recorded::Value(before)) = before {
                of(Where::Input, before);
            }
            if let Some(Recorded::Value(after)) = after {
                of(Where::Output, after);
            }
            if let Some(error) = error {
                tell(Where::Error, &failure(error));
            }
        }
        EventKind::StateInitialized { state, .. } => of(Where::State, state),
        EventKind::StateChanged { operation, value, .. } => {
            // The sums of an increment say more than what was added.
            let written = value.clone().unwrap_or_else(|| written(operation));
            of(Where::State, &written);
        }
        EventKind::ItemAdded { item } => fields(&item.payload, |text| tell(Where::Item, text)),
        EventKind::ItemUpdated { patch, .. } | EventKind::ItemDone { patch, .. } => {
            fields(patch, |text| tell(Where::Item, text));
        }
        EventKind::ItemDelta { text, .. } => tell(Where::Item, text),
        // A message that stands in another event is told of there.
        EventKind::EffectStarted { request: Some(request), .. } => of(Where::Effect, &own_part(request)),
        EventKind::EffectFinished { request, result, error, .. } => {
            if let Some(request) = request {
                of(Where::Effect, request);
            }
            of(Where::Effect, result);
            if let Some(error) = error {
                tell(Where::Effect, &failure(error));
            }
        }
        EventKind::CallbackReturned { returned: Some(RecordedReturn::Value(value)), .. } => of(Where::Output, value),
        EventKind::OutputEdited { output: Recorded::Value(value) } => of(Where::Output, value),
        EventKind::StateEdited { operation, .. } => of(Where::State, &written(operation)),
        EventKind::Suspended(asking) => {
            let searched = serde_json::json!([asking.reason, asking.message, asking.data]);
            of(Where::Question, &searched);
        }
        EventKind::SuspensionResolved(resolved) => {
            let searched = serde_json::json!([resolved.by, resolved.data]);
            of(Where::Question, &searched);
        }
        EventKind::Logged { text, .. } => tell(Where::Log, text),
        EventKind::ReactionsDue { reactions, .. } => {
            reactions.iter().for_each(|reaction| of(Where::Input, &reaction.change));
        }
        EventKind::JournalAppended { entry } => of(Where::Journal, entry),
        EventKind::MetadataSet { metadata } => of(Where::Metadata, metadata),
        EventKind::Noted { text } | EventKind::Drift { text, .. } => tell(Where::Note, text),
        EventKind::SpanReceived { span } => of(Where::Span, span),
        EventKind::RequestStarted { .. }
        | EventKind::RequestResumed { .. }
        | EventKind::RequestAdopted { .. }
        | EventKind::EffectStarted { .. }
        | EventKind::Unknown { .. }
        | EventKind::CallbackReturned { .. }
        | EventKind::InputEdited { .. }
        | EventKind::OutputEdited { .. }
        | EventKind::ModelEdited(_)
        | EventKind::SuspensionReopened { .. }
        | EventKind::RequestStatus { .. }
        | EventKind::BlockStarted { .. }
        | EventKind::BlockResumed { .. }
        | EventKind::BlockInput { .. }
        | EventKind::HookStarted { .. }
        | EventKind::Committed { .. }
        | EventKind::CommitRefused { .. }
        | EventKind::RecordsSeen { .. }
        | EventKind::RouteDecided { .. } => {}
    }
}

/// What an operation writes, under the names it writes to.
fn written(operation: &Operation) -> Value {
    match operation {
        Operation::Push { field, value } => Value::Object(Map::from_iter([(field.clone(), value.clone())])),
        other => other.delta(),
    }
}

fn failure(error: &FlowError) -> String {
    let mut text = format!("{}: {}", error.name, error.message);
    if let Some(code) = &error.code {
        let _ = write!(text, " [{code}]");
    }
    if let Some(details) = &error.details {
        text.push(' ');
        write_plain(details, &mut text);
    }
    text
}

fn fields(fields: &Map<String, Value>, tell: impl FnOnce(&str)) {
    let mut text = String::new();
    write_fields(fields, &mut text);
    tell(&text);
}

/// JSON as a person reads it: nothing is escaped.
fn plain(value: &Value) -> String {
    let mut text = String::new();
    write_plain(value, &mut text);
    text
}

fn write_plain(value: &Value, text: &mut String) {
    match value {
        Value::String(inner) => {
            text.push('"');
            text.push_str(inner);
            text.push('"');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_plain(item, text);
            }
            text.push(']');
        }
        Value::Object(inner) => write_fields(inner, text),
        leaf => {
            // Writing to memory cannot fail.
            let _ = write!(text, "{leaf}");
        }
    }
}

fn write_fields(fields: &Map<String, Value>, text: &mut String) {
    text.push('{');
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push('"');
        text.push_str(name);
        text.push_str("\":");
        write_plain(value, text);
    }
    text.push('}');
}

/// The letters of a text without their case: the one rule for what is looked for and what is looked in. A final sigma
/// counts as any other sigma, because its capital letter is the same.
pub fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(fold)
}

fn fold(letter: char) -> impl Iterator<Item = char> {
    let letter = if letter == FINAL_SIGMA { 'σ' } else { letter };
    // Nearly every letter, without a table.
    let ascii = letter.is_ascii().then(|| letter.to_ascii_lowercase());
    ascii.into_iter().chain(ascii.is_none().then(|| letter.to_lowercase()).into_iter().flatten())
}

/// A text to look for.
#[derive(Clone, Debug)]
pub struct Needle(String);

impl Needle {
    /// Looks for this text, whatever its case; nothing in it is a pattern.
    pub fn new(text: &str) -> Needle {
        Needle(folded(text).collect())
    }

    /// The text without its case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text stands in another.
    pub fn is_in(&self, text: &str) -> bool {
        self.position(text).is_some()
    }

    /// The text around its first place in another, if it stands there.
    pub fn snippet(&self, text: &str) -> Option<String> {
        let at = self.position(text)?;
        // Folding changes lengths, so that places are counted anew.
        let mut length = 0;
        let mut begins = Vec::new();
        for (place, letter) in text.char_indices() {
            if length > at + self.0.len() {
                break;
            }
            begins.push((place, length));
            length += fold(letter).map(char::len_utf8).sum::<usize>();
        }
        let first = begins.iter().rposition(|(_, folded)| *folded <= at)?;
        let end = begins.iter().rposition(|(_, folded)| *folded < at + self.0.len())?;
        let start = begins[first.saturating_sub(BEFORE)].0;
        let rest = &text[begins[end].0..];
        let shown = rest.char_indices().nth(AFTER).map_or(text.len(), |(length, _)| begins[end].0 + length);
        let (before, after) = (if start > 0 { "…" } else { "" }, if shown < text.len() { "…" } else { "" });
        Some(format!("{before}{}{after}", &text[start..shown]))
    }

    /// Where it begins in the folded text.
    fn position(&self, text: &str) -> Option<usize> {
        if text.is_ascii() {
            text.to_ascii_lowercase().find(&self.0)
        } else {
            folded(text).collect::<String>().find(&self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_read_without_its_escapes() {
        let value = json!({ "by": 2, "said": ["he \"said\"\nit", null, true], "in": { "ü": -1.5 } });
        assert_eq!(plain(&value), "{\"by\":2,\"said\":[\"he \"said\"\nit\",null,true],\"in\":{\"ü\":-1.5}}");
    }

    #[test]
    fn case_does_not_matter_and_nothing_is_a_pattern() {
        for (needle, text) in [
            ("ÜBER%", "hat über% x"),
            ("a_b", "A_B"),
            ("ß'\"\\", "x ß'\"\\ y"),
            ("i̇", "İ"),
            ("ΟΔΟΣ", "οδος"),
            ("οδος", "ΟΔΟΣ"),
            ("οδοσ", "Οδος"),
        ] {
            assert!(Needle::new(needle).is_in(text), "{needle} in {text}");
        }
        for (needle, text) in [("a_b", "axb"), ("a%b", "a to b"), ("ue", "ü"), ("abc", "ab")] {
            assert!(!Needle::new(needle).is_in(text), "{needle} in {text}");
        }
    }

    #[test]
    fn a_snippet_is_the_text_around_the_hit() {
        let snippet = |needle: &str, text: &str| Needle::new(needle).snippet(text);
        assert_eq!(snippet("CAT", "a cat.").as_deref(), Some("a cat."));
        assert_eq!(snippet("dog", "a cat."), None);
        let long = format!("{}Needle{}", "İ".repeat(200), "ß".repeat(200));
        let found = snippet("needle", &long);
        let expected = format!("…{}Needle{}…", "İ".repeat(BEFORE), "ß".repeat(AFTER - 1));
        assert_eq!(found, Some(expected));
        let at_the_end = format!("{} end", "x".repeat(100));
        assert_eq!(snippet("END", &at_the_end), Some(format!("…{} end", "x".repeat(BEFORE - 1))));
    }
}
