//! The state that Calls write, for people who look at it or edit it: it is part of the context, not of any scope.

use serde_json::Value;

use super::messages::merged;
use super::references::{Reference, message_with};
use engine::error::FlowError;

/// Returns the state that a context holds for all Calls; `None` if it has none.
pub fn of_context<'c>(context: impl Iterator<Item = &'c Value> + Clone) -> Option<Value> {
    merged(context.filter(|message| message.get("_instance").is_none()), "state")
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
