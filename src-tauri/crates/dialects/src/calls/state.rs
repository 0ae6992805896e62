//! The state that Calls write, for people who look at it or edit it: it is part of the context, not of any scope.

use std::collections::BTreeMap;

use serde_json::Value;

use super::messages::{instance, merged};
use super::references::{Reference, message_with};
use engine::error::FlowError;

/// Returns the state that a context holds: by instance what is there for it alone, and under `None` what is there for
/// all.
pub fn of_context<'c>(context: impl Iterator<Item = &'c Value>) -> BTreeMap<Option<String>, Value> {
    let mut messages: BTreeMap<Option<&str>, Vec<&Value>> = BTreeMap::new();
    for message in context {
        messages.entry(instance(message)).or_default().push(message);
    }
    let state =
        |(of, those): (Option<&str>, Vec<&Value>)| Some((of.map(str::to_owned), merged(those.into_iter(), "state")?));
    messages.into_iter().filter_map(state).collect()
}

/// Returns the message that gives a place of the state a value, like `state.error` or `state.list[0]`.
pub fn message(place: &str, value: Value) -> Result<Value, FlowError> {
    let dotted = place.trim_start_matches('\u{2020}').replace('[', ".").replace(']', "");
    let place = Reference::parse(&format!("\u{2020}{dotted}"))?;
    let mut message = message_with(&place, value, None, "")?;
    if let Some(fields) = message.as_object_mut() {
        // No Call wrote it.
        fields.shift_remove("_call");
    }
    Ok(message)
}
